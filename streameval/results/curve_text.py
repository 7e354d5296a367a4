"""A `Curve` as text of at most 80 columns."""

from __future__ import annotations

import html as escaping
import textwrap
from collections.abc import Mapping

from streameval.errors import InvalidInputError
from streameval.metrics.bounded import Bounded
from streameval.metrics.intervals import normal_quantile
from streameval.metrics.points import CellTable
from streameval.results.curve_values import confidence
from streameval.results.number_text import interval_text, number

__all__ = ["html", "report"]


def report(
    table: CellTable, metrics: Mapping[str, Bounded], n_skipped: float, *, level: float
) -> str:
    """Lay out the metrics with what the cells leave open and how far a sample may be off."""
    normal_quantile(level)  # refuses what is no level, even where no interval will be shown
    width = max(map(len, metrics))
    head = f"{'metric':<{width}}  {'value':>9}"
    if not table.is_exact:
        head += "  certified interval"
    lines = [*textwrap.wrap(_sizes(table, n_skipped), 80), "", head]
    for name, value in metrics.items():
        line = f"{name:<{width}}  {number(value):>9}"
        if not table.is_exact:
            line += f"  {interval_text(value.low, value.high)}"
        lines.append(line.rstrip())
    sampled = _sampled(table, level)
    if sampled:
        lines += ["", f"{100 * level:.6g}% sampling interval of roc_auc: {sampled}"]
    return "\n".join(lines)


def html(table: CellTable, metrics: Mapping[str, Bounded], n_skipped: float) -> str:
    """Lay the report out for a notebook."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{name}</th><td>{number(value)}</td>"
        f"<td>{'' if value.exact else interval_text(value.low, value.high)}</td></tr>"
        for name, value in metrics.items()
    )
    caption = escaping.escape(_sizes(table, n_skipped))
    return f"<table><caption>{caption}</caption>{rows}</table>"


def _sizes(table: CellTable, n_skipped: float) -> str:
    count = len(table.lo)
    cells = f"{count:,} {'cell' if count == 1 else 'cells'}"
    parts = [f"n = {table.n:,} ({table.n_pos:,} positive)"]
    if n_skipped:
        parts.append(f"{n_skipped:,} skipped")
    parts.append(f"exact, {cells}" if table.is_exact else f"{cells} of several scores")
    return ", ".join(parts)


def _sampled(table: CellTable, level: float) -> str:
    """Give the sampling interval of ROC AUC; there is none for weights with fractions."""
    if not level:
        return ""
    try:
        return interval_text(*confidence(table, "roc_auc", level=level))
    except InvalidInputError:
        return ""
