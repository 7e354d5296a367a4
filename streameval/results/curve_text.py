"""A `Curve` as text of at most 80 columns, and in words."""

from __future__ import annotations

import html as escaping
import math
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from streameval.errors import InvalidInputError
from streameval.metrics.bounded import Bounded
from streameval.metrics.intervals import normal_quantile
from streameval.metrics.points import CellTable

if TYPE_CHECKING:
    from streameval.results.curve import Curve

__all__ = ["explain", "html", "interval_text", "number", "report"]

_TIES_WORTH_SAYING = 0.001
_SATURATION_WORTH_SAYING = 0.01


def report(curve: Curve, *, level: float) -> str:
    """Lay out the metrics with what the cells leave open and how far a sample may be off."""
    normal_quantile(level)  # refuses what is no level, even where no interval will be shown
    metrics = curve.metrics()
    sampled = _sampled(curve, level)
    width = max(map(len, metrics))
    head = f"{'metric':<{width}}  {'value':>9}"
    open_ones = not curve.exact
    if open_ones:
        head += "  certified interval"
    lines = [*textwrap.wrap(_sizes(curve), 80), "", head]
    for name, value in metrics.items():
        line = f"{name:<{width}}  {number(value):>9}"
        if open_ones:
            line += f"  {interval_text(value.low, value.high)}"
        lines.append(line.rstrip())
    if sampled:
        lines += ["", f"{100 * level:.6g}% of samples: roc_auc in {sampled}"]
    return "\n".join(lines)


def number(value: float) -> str:
    """Write a metric with six decimals, and small or large ones with six digits."""
    if math.isfinite(value) and (abs(value) >= 100 or 0 < abs(value) < 1e-3):
        return f"{value:.6g}"
    return f"{value:.6f}"


def interval_text(low: float, high: float) -> str:
    """Write an interval; nan ends are no interval."""
    return "" if math.isnan(low) else f"[{number(low)}, {number(high)}]"


def html(curve: Curve) -> str:
    """Lay the report out for a notebook."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{name}</th><td>{number(value)}</td>"
        f"<td>{'' if value.exact else interval_text(value.low, value.high)}</td></tr>"
        for name, value in curve.metrics().items()
    )
    return f"<table><caption>{escaping.escape(_sizes(curve))}</caption>{rows}</table>"


def explain(curve: Curve, table: CellTable, finer: int | None) -> str:
    """Say what limits the numbers: classes, ties, saturation, cells and the budget."""
    findings = _findings(curve, table, finer)
    return "\n".join(
        textwrap.fill(line, 80, initial_indent="* ", subsequent_indent="  ") for line in findings
    )


def _sizes(curve: Curve) -> str:
    cells = f"{curve.cells:,} {'cell' if curve.cells == 1 else 'cells'}"
    parts = [f"n = {curve.n:,} ({curve.n_pos:,} positive)"]
    if curve.n_skipped:
        parts.append(f"{curve.n_skipped:,} skipped")
    parts.append(f"exact, {cells}" if curve.exact else f"{cells} of several scores")
    return ", ".join(parts)


def _sampled(curve: Curve, level: float) -> str:
    """Give the sampling interval of ROC AUC; there is none for weights with fractions."""
    if not level:
        return ""
    try:
        return interval_text(*curve.confidence("roc_auc", level=level))
    except InvalidInputError:
        return ""


def _findings(curve: Curve, table: CellTable, finer: int | None) -> Iterator[str]:
    if not curve.cells:
        yield "Nothing has been counted yet."
        return
    yield from _about_classes(curve)
    yield from _about_scores(curve, table)
    yield from _about_cells(curve, table, finer)


def _about_classes(curve: Curve) -> Iterator[str]:
    for count, absent, lost in (
        (curve.n_pos, "positive", "Every metric but the losses"),
        (curve.n_neg, "negative", "ROC AUC and KS"),
    ):
        if not count:
            yield f"No {absent} has been seen: one class only. {lost} cannot be computed."


def _about_scores(curve: Curve, table: CellTable) -> Iterator[str]:
    least, most = float(table.lo[-1]), float(table.hi[0])
    if least == most:
        yield f"All scores are {least:.6g}: a constant ranks nothing."
    pos, neg = table.pos.near_floats(), table.neg.near_floats()
    if table.scale == "probability":
        ends = ~table.is_wide & ((table.lo == 0.0) | (table.lo == 1.0))
        share = math.fsum((pos + neg)[ends]) / curve.n
        if share >= _SATURATION_WORTH_SAYING:
            yield (
                f"{share:.1%} of the scores are exactly 0 or 1: the model is saturated, or its "
                "scores were rounded, and their order is lost. Scores before the sigmoid keep it."
            )
    elif least < 0.0 or most > 1.0:
        yield (
            f"Scores reach from {least:.6g} to {most:.6g}: they look like logits or margins. "
            "Ranking metrics do not mind; log loss, Brier and ECE need probabilities."
        )
    else:
        yield (
            'All scores lie in [0, 1]: scores="probability" would give log loss, Brier and ECE '
            "too, and finer cells near 1."
        )
    pairs = _pairs(curve)
    tied = math.fsum((pos * neg)[~table.is_wide]) / pairs if pairs else 0.0
    if tied >= _TIES_WORTH_SAYING and least < most:
        yield f"{tied:.1%} of the pairs of a positive and a negative tie: each counts half."


def _about_cells(curve: Curve, table: CellTable, finer: int | None) -> Iterator[str]:
    if curve.exact:
        yield f"Every number is exact: each of {curve.cells:,} distinct scores has its own cell."
        return
    wide = int(np.count_nonzero(table.is_wide))
    yield (
        f"{wide:,} of {curve.cells:,} cells hold several scores; the widest spans "
        f"{curve.resolution:.3g}."
    )
    if _pairs(curve):
        auc: Bounded = curve.roc_auc
        yield (
            f"ROC AUC is open by {auc.high - auc.low:.2g}: so many of the pairs of a positive "
            "and a negative share a cell of several scores."
        )
    if finer is not None:
        yield (
            f"budget={finer:,} would have kept these data one bit finer, which halves the "
            "intervals where scores are spread evenly."
        )


def _pairs(curve: Curve) -> float:
    return float(curve.n_pos) * float(curve.n_neg)
