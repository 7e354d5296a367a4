"""What limits the numbers of a curve, in sentences: classes, ties, saturation, the budget."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from streameval.metrics import envelope
from streameval.metrics.points import CellTable

_TIES_WORTH_SAYING = 0.001
_SATURATION_WORTH_SAYING = 0.01


def findings(table: CellTable, *, limits_only: bool) -> Iterator[str]:
    """Yield the sentences; `limits_only` leaves out the one that every number is exact."""
    if not table.n:
        yield "Nothing has been counted yet."
        return
    yield from _about_classes(table)
    yield from _about_scores(table)
    if not (limits_only and table.is_exact):
        yield from _about_cells(table)


def _about_classes(table: CellTable) -> Iterator[str]:
    for count, absent, lost in (
        (table.n_pos, "positive", "Every metric but the losses"),
        (table.n_neg, "negative", "ROC AUC and KS"),
    ):
        if not count:
            yield f"No {absent} has been seen: one class only. {lost} cannot be computed."


def _about_scores(table: CellTable) -> Iterator[str]:
    low, high = float(table.lo[-1]), float(table.hi[0])
    if low == high:
        yield f"All scores are {low:.6g}: a constant ranks nothing."
    pos, neg = table.pos.near_floats(), table.neg.near_floats()
    if table.scale == "probability":
        ends = ~table.is_wide & ((table.lo == 0.0) | (table.lo == 1.0))
        share = math.fsum((pos + neg)[ends]) / table.n
        if share >= _SATURATION_WORTH_SAYING:
            yield (
                f"{share:.1%} of the scores are exactly 0 or 1: the model is saturated, or its "
                "scores were rounded, and their order is lost. Scores before the sigmoid keep it."
            )
    elif low < 0.0 or high > 1.0:
        yield (
            f"Scores reach from {low:.6g} to {high:.6g}: they look like logits or margins. "
            "Ranking metrics do not mind; log loss, Brier and ECE need probabilities."
        )
    else:
        yield (
            'All scores lie in [0, 1]: scores="probability" would give log loss, Brier and ECE '
            "too, and finer cells near 1."
        )
    pairs = _pairs(table)
    tied = math.fsum((pos * neg)[~table.is_wide]) / pairs if pairs else 0.0
    if tied >= _TIES_WORTH_SAYING and low < high:
        yield f"{tied:.1%} of the pairs of a positive and a negative tie: each counts half."


def _about_cells(table: CellTable) -> Iterator[str]:
    if table.is_exact:
        yield f"Every number is exact: each of {len(table.lo):,} distinct scores has its own cell."
        return
    wide = int(np.count_nonzero(table.is_wide))
    yield (
        f"{wide:,} of {len(table.lo):,} cells hold several scores; the widest spans "
        f"{table.resolution:.3g}."
    )
    if _pairs(table):
        auc = envelope.roc_auc(table)
        yield (
            f"The interval of ROC AUC is {auc.high - auc.low:.2g} wide: in that share of the "
            "pairs, a positive and a negative are in one cell of several scores."
        )
    if table.level:
        finer = table.cells.n_cells_at(table.level - 1)
        yield (
            f"budget={finer:,} would have kept these data one bit finer, which halves the "
            "intervals if scores are spread evenly."
        )


def _pairs(table: CellTable) -> float:
    return float(table.n_pos) * float(table.n_neg)
