"""Precision-recall and ROC curves in bounded memory, with an interval for every number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self, final

from streameval.accumulators.base import Accumulator
from streameval.accumulators.scored_rows import read_rows
from streameval.accumulators.waiting_rows import WaitingRows
from streameval.configs.curve import CurveConfig
from streameval.errors import IncompatibleStateError, InvalidInputError
from streameval.exact.fixed_point import FixedPoint
from streameval.inputs.labels import Label
from streameval.results.class_curves import ClassCurves
from streameval.results.curve import Curve
from streameval.states.curve import ScoredRows, ScoreTables

__all__ = ["PRCurveSketch"]


@final
class PRCurveSketch(
    Accumulator[CurveConfig, ScoreTables], type_id=3, config=CurveConfig, state=ScoreTables
):
    """Keep a curve of scores against truth in bounded memory, batch by batch.

    Exact while the distinct scores fit the budget: every number is scikit-learn's then. Past
    it, neighbouring scores share a cell, and every number is an estimate with an interval that
    contains the exact value, whatever the data. State and numbers are the same bytes however
    the data is cut, spread over workers and merged.

    Parameters
    ----------
    budget : int or None
        The number of cells kept for each curve; None never gives up a score.
    scores : {"probability", "real"}
        Whether scores lie in [0, 1]. ``"real"`` takes any number, infinities too, such as
        logits and margins.
    classes : int or sequence of labels, optional
        One curve for each class, from a score for each: a number K stands for the labels
        0..K-1, a sequence lists the labels in the order of the score columns.
    multilabel : bool
        Whether each of the `classes` is present or absent on its own.
    pos_label : label, optional
        The positive one of two labels, which may be any then; else they are 0 and 1.
    nan : {"raise", "skip"}
        What to do with a row that has a score of NaN; skipped ones are counted.

    Notes
    -----
    A cell holds the scores whose keys agree in all but their lowest bits (see
    `streameval.states.cells`), so cells are finest near 0 and 1, where a linear grid is blind.
    Counts are exact up to 2**63 - 1, and weights to 2**-63. An update of n rows costs
    O(n log n) at most; 65,536 cells take at most 4 MB. Without a budget up to 2**24 scores,
    most of which occur once, are held as rows of 5 or 9 bytes, and later ones in cells of 24.

    Examples
    --------
    >>> import streameval as se
    >>> sketch = se.PRCurveSketch()
    >>> curve = sketch.update([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).compute()
    >>> curve.roc_auc
    0.75
    >>> f"{curve.average_precision:.4f}"
    '0.8333'

    With a budget of 2 cells, the same scores give intervals:

    >>> small = se.PRCurveSketch(budget=2).update([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> auc = small.compute().roc_auc
    >>> auc.low <= 0.75 <= auc.high
    True
    """

    __slots__ = ()

    _arrays = ("y_true", "y_score")

    _held: WaitingRows

    def __init__(
        self,
        budget: int | None = 65_536,
        *,
        scores: Literal["probability", "real"] = "probability",
        classes: int | Any = None,
        multilabel: bool = False,
        pos_label: Label | None = None,
        nan: Literal["raise", "skip"] = "raise",
    ) -> None:
        super().__init__(
            CurveConfig.of(
                budget=budget,
                scores=scores,
                classes=classes,
                multilabel=multilabel,
                pos_label=pos_label,
                nan=nan,
            )
        )

    def update(self, y_true: Any, y_score: Any = None, *, sample_weight: Any = None) -> Self:
        """Count one batch.

        Parameters
        ----------
        y_true : array of shape (n,), or (n, K) of 0 and 1 for multilabel
            The true labels. Alone, a batch: a tuple or list of the arrays in this order, or
            a mapping, data frame or Arrow table with columns of these names.
        y_score : array of shape (n,), or (n, K) with `classes`
            The scores; higher means more likely positive.
        sample_weight : array of shape (n,), optional
            Non-negative weights: 2 counts a row twice, 0 leaves it out.

        Returns
        -------
        The accumulator itself.

        Raises
        ------
        InvalidInputError
            When an array has the wrong shape, type or values; the message names it and says
            where. Nothing of the batch has been counted then.
        CountOverflowError
            When the total would pass 2**63 - 1. Nothing has been counted then.
        """
        if y_true is None or y_score is None:  # one batch holds them, or something is missing
            given = self._named(y_true, y_score, optional=(sample_weight,))
            return self._count(read_rows(**given, config=self._config))
        return self._count(read_rows(y_true, y_score, sample_weight, self._config))

    def compute(self) -> Curve | ClassCurves:
        """Compute the curve, or one for each class.

        Returns
        -------
        Curve, or ClassCurves with `classes`
            Frozen: later updates do not change it.
        """
        held, labels = self._held, self._config.labels
        tables, skipped = tuple(held.tables()), held.state.skipped
        if self._config.classes is not None:
            return ClassCurves.of(held.n, labels, tables, skipped)
        return Curve(tables[0], skipped)

    @property
    def _state(self) -> ScoreTables:
        return self._held.counted

    @_state.setter
    def _state(self, state: ScoreTables) -> None:
        self._held = WaitingRows.none(state, self._config.budget, self._config.scores)

    @property
    def _total(self) -> FixedPoint:
        return self._held.n

    def _fold(self, alike: Sequence[Self]) -> None:
        held = self._held
        for other in alike[1:]:
            held = held.joined(other._held)
        self._held = held

    def _sum_of(self, alike: Sequence[Self]) -> ScoreTables:
        first = alike[0].copy()  # with room for rows of its own
        first._fold([first, *alike[1:]])
        return first._state

    def _count(self, rows: ScoredRows) -> Self:
        try:
            self._held = self._held.updated(rows)
        except IncompatibleStateError:
            raise InvalidInputError(
                f"must hold two labels, {self._config.pos_label!r} and "
                f"{self._held.state.negative_label[0]!r} as before, "
                f"got {rows.negative_label[0]!r} too",
                argument="y_true",
            ) from None
        return self
