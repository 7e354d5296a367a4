"""Precision-recall and ROC curves in bounded memory, with an interval for every number."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, final

import numpy as np
import numpy.typing as npt

from streameval.accumulators.base import BufferedAccumulator
from streameval.accumulators.pending import (
    LABELS,
    BufferedState,
    LooseRows,
    RowBuffer,
    Rows,
    numbers_within,
)
from streameval.accumulators.scored_rows import ScoredBatch, read_scored
from streameval.configs.curve import CurveConfig
from streameval.errors import IncompatibleStateError, InvalidInputError
from streameval.exact.array_types import Array
from streameval.inputs.batches import all_have_weight
from streameval.inputs.classes import Label
from streameval.inputs.row_scores import as_rows_of_items
from streameval.states.curve import ScoredRows, ScoreTables
from streameval.states.sorted_rows import SortedRows
from streameval.states.stack import Stack

if TYPE_CHECKING:
    from streameval.metrics.points import CellTable
    from streameval.results.class_curves import ClassCurves
    from streameval.results.curve import Curve

BufferedTables = BufferedState[ScoreTables]

_ENTRIES = 2**18  # float64 scores of all curves: enough to justify a pass over the cells
_SOME_CURVES = 16  # whose scores tell whether most of all are distinct
_MAX_ENTRIES = 2**24  # pending scores, if a cell for each would take more memory
_MIN_ROWS = 1024
_CELL_BYTES = 20  # rows travel uncounted up to so many a cell, which takes half in a state
_FEW_ROWS = 4096


def _read_rows(config: CurveConfig, arrays: Mapping[str, Any]) -> Rows | None:
    """Read the rows of many groups at once; None if each group has to be updated alone."""
    batch = read_scored(**{"sample_weight": None, **arrays}, config=config)
    is_only_rows = batch.counted is None and not batch.negative_label  # nor skipped
    has_entry_weights = batch.rows.weights is not None and batch.rows.weights.ndim > 1
    return batch.rows if is_only_rows and not has_entry_weights else None


def _count_groups(
    config: CurveConfig, rows: Rows, groups: Array, n_groups: int
) -> Mapping[str, Stack] | None:
    """Count the rows of many groups at once; None if each group has to be counted alone."""
    if config.has_pairs:
        return None
    scored = _scored(config, rows)
    if scored.weights is not None and not scored.weights.is_whole:
        return None
    return ScoreTables.of_groups(config, scored, groups, n_groups)


def _rows_to_ship(config: CurveConfig, buffered: BufferedTables) -> Rows | None:
    """Copy all rows, if they are pending and take little memory beside the cells."""
    state, used = buffered.state, buffered.used
    if not used or not _has_only_unweighted_rows(buffered):
        return None
    if state.negative_label or state.skipped.is_positive().any():
        return None
    scores, positive = buffered.rows.columns
    narrow = _as_single(scores)
    size = narrow.nbytes + positive.nbytes
    if config.budget is not None and size > _CELL_BYTES * config.budget * config.n_curves:
        return None
    return Rows((narrow.copy("F"), positive.copy("F")))


@final
class PRCurveSketch(
    BufferedAccumulator[CurveConfig, ScoreTables],
    type_id=3,
    config=CurveConfig,
    state=ScoreTables,
):
    """Keep a curve of scores against truth in bounded memory, batch by batch.

    While the distinct scores fit the budget, every number is exact and equal to scikit-learn's.
    Beyond it, neighboring scores share a cell, and every number is an estimate with an interval
    that contains the exact value for any data. State and numbers are the same bytes however the
    data is cut, spread over workers and merged.

    Parameters
    ----------
    budget : int, "auto" or None
        The number of bins kept for each curve; None keeps every distinct score. ``"auto"`` is
        65,536 for up to 64 curves. More share 4,194,304 bins, and each has at least 1,024.
    scores : {"probability", "real"}
        Whether scores lie in [0, 1]. ``"real"`` takes any number, infinities too, such as
        logits and margins. Logits of several classes need a softmax: those of one class alone
        have other curves than its probabilities.
    classes : int, sequence of labels, or mapping from label to name, optional
        One curve for each class, from a score for each: an integer K means the labels 0..K-1, a
        sequence lists the labels in the order of the score columns. A mapping names them, as for
        `ConfusionAccumulator`.
    multilabel : bool
        Whether each of the `classes` is present or absent independently.
    pos_label : label, optional
        The positive one of any two labels; by default they are 0 and 1.
    nan : {"raise", "skip"}
        Whether a row with a score of NaN is refused, or left out and counted as skipped.
    ignore_label : label, optional
        Rows (for multilabel, entries) whose truth is this do not count.
    measures : sequence of str
        Additional curves to keep: ``"roc_auc_ovo"``, or ``"one_vs_one"``, of at most 64 classes a
        curve of each against each other one. It takes K (K - 1) more curves, each of the budget.

    Notes
    -----
    A cell holds the scores whose keys agree in all but their lowest bits (see
    `streameval.states.cells`), so cells are finest near 0 and 1, where a linear grid is blind.
    Counts are exact up to 2**63 - 1, and weights to 2**-63. An update of n rows costs at most
    O(n log n); 65,536 bins take at most 4 MB. Without a budget, up to 2**24 mostly distinct
    scores are kept as rows of 5 or 9 bytes, and later ones in cells of 24.

    Examples
    --------
    >>> import streameval as se
    >>> sketch = se.PRCurveSketch()
    >>> curve = sketch.update([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).compute()
    >>> curve.roc_auc
    0.75
    >>> f"{curve.average_precision:.4f}"
    '0.8333'

    With a budget of 2 bins, the same scores give intervals:

    >>> small = se.PRCurveSketch(budget=2).update([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> auc = small.compute().roc_auc
    >>> auc.low <= 0.75 <= auc.high
    True

    Each class against each other one, as in Hand and Till's measure:

    >>> pairs = se.PRCurveSketch(classes=3, measures=["one_vs_one"])
    >>> scores = [[0.8, 0.1, 0.1], [0.2, 0.5, 0.3], [0.6, 0.3, 0.1], [0.3, 0.1, 0.6]]
    >>> curves = pairs.update([0, 1, 2, 2], scores).compute()
    >>> f"{curves.roc_auc_ovo:.4f}", f"{curves.versus(2, 1).roc_auc:.1f}"
    ('0.8750', '0.5')
    """

    __slots__ = ()

    _arrays = ("y_true", "y_score")

    _loose_rows = LooseRows(_read_rows, _count_groups, _rows_to_ship)

    def __init__(
        self,
        budget: int | Literal["auto"] | None = "auto",
        *,
        scores: Literal["probability", "real"] = "probability",
        classes: int | Any = None,
        multilabel: bool = False,
        pos_label: Label | None = None,
        nan: Literal["raise", "skip"] = "raise",
        ignore_label: Label | None = None,
        measures: Sequence[str] | str = (),
    ) -> None:
        self._configure(locals())

    def update(self, y_true: Any, y_score: Any = None, *, sample_weight: Any = None) -> Self:
        """Count one batch: the truth first, as in scikit-learn; torchmetrics takes it second.

        Parameters
        ----------
        y_true : array of shape (n,), or (n, K) of 0 and 1 for multilabel
            The true labels. With `classes`, tokens (B, T) and pixels (N, H, W) are counted item by
            item, with scores (B, T, K) or (N, K, H, W). Alone, a batch: a tuple or list of the
            arrays in this order, or a mapping, data frame or Arrow table with columns of these
            names.
        y_score : array of shape (n,), or (n, K) with `classes`
            The scores; higher means more likely positive. Of (n, 2) for labels 0 and 1, the
            probability of 1 is the score, or with ``scores="real"`` the difference. Two numbers
            are a row.
        sample_weight : array of shape (n,), or (n, K) for multilabel, optional
            Non-negative weights: 2 counts a row twice, 0 leaves it out, whatever it holds. (n, K)
            are weights of entries, and in `n` a row has the largest of its own.

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
        held = self._held
        if (
            sample_weight is None
            and held.counted is None  # rows that have been read join the state below
            and held.block.put_one(held, y_score, y_true)
        ):
            return self
        has_items = self._reads_items and getattr(y_true, "ndim", 1) > 1
        if not has_items and all_have_weight(y_true, y_score, sample_weight):
            return self._count_arrays(y_true, y_score, sample_weight)
        return self._take_batch(y_true, y_score, optional=(sample_weight,))

    def compute(self) -> Curve | ClassCurves:
        """Compute the curve, or one for each class.

        Returns
        -------
        Curve, or ClassCurves with `classes`
            Frozen: later updates do not change it.
        """
        from streameval.results.class_curves import ClassCurves  # noqa: PLC0415 (rendering too)
        from streameval.results.curve import Curve  # noqa: PLC0415 (rendering too)

        buffered, labels = self._held, self._config.labels
        tables, skipped = tuple(self._tables(buffered)), buffered.state.skipped
        if self._config.classes is not None:
            names = self._config.class_names
            return ClassCurves.of(buffered.n, labels, tables, skipped, names, self._config.budget)
        return Curve(tables[0], skipped)

    def _tables(self, buffered: BufferedTables) -> Iterator[CellTable]:
        """Yield the table of each curve: of rows, if there are only these and they fit."""
        from streameval.metrics.points import CellTable  # noqa: PLC0415 (for results alone)

        scale, budget = self._config.scores, self._config.budget
        fits = budget is None or buffered.used <= budget
        if (
            buffered.used
            and fits
            and _has_only_unweighted_rows(buffered)
            and buffered.counted is None
        ):
            for scores, positive, _ in _scored(self._config, buffered.rows).curves():
                yield CellTable(SortedRows.of(scores, scale, positive), scale)
        else:
            for level, cells in buffered.state_by(self._with_rows).tables():
                yield CellTable(cells, scale, level)

    @property
    def _reads_items(self) -> bool:
        """Whether labels may have more dimensions, with a score of each class."""
        return self._config.classes is not None and not self._config.multilabel

    def _named(self, *arrays: Any, optional: tuple[Any, ...]) -> dict[str, Any]:
        given = super()._named(*arrays, optional=optional)
        if not self._reads_items:
            return given
        return as_rows_of_items(given, self._config.n_scores, name="y_score")

    def _count_arrays(self, y_true: Any, y_score: Any, sample_weight: Any) -> Self:
        config = self._config
        batch = read_scored(y_true, y_score, sample_weight, config)
        try:
            self._held = self._with_batch(self._held, batch)
        except IncompatibleStateError:
            raise InvalidInputError(
                f"must hold two labels, {config.pos_label!r} and "
                f"{self._held.state.negative_label[0]!r} as before, "
                f"got {batch.negative_label[0]!r} too",
                argument="y_true",
            ) from None
        return self

    def _with_rows(self, state: ScoreTables, rows: Rows) -> ScoreTables:
        return state.with_rows(_scored(self._config, rows), self._config.budget)

    def _with_batch(self, buffered: BufferedTables, batch: ScoredBatch) -> BufferedTables:
        """Add a batch, with its skipped rows and the label of its negatives."""
        buffered = buffered.restarted()
        if batch.skipped is not None or batch.negative_label:
            state = buffered.state.noting(batch.skipped, batch.negative_label)
            buffered = BufferedState(state, buffered.block, buffered.used, buffered.spare)
        return self._appended(buffered, batch.rows)

    def _appended(self, buffered: BufferedTables, rows: Rows) -> BufferedTables:
        if rows.weights is not None and self._is_large_block(buffered):
            # weights for all rows of the block would take too much memory
            buffered = BufferedState.of(buffered.state_by(self._with_rows))
        elif not buffered.has_capacity_for(rows, 0) and self._can_stay_rows(buffered, rows):
            # columns of a much larger block touch pages, huge ones maybe, that no row needs
            block = self._rows_block(rows, min(2 * (buffered.used + rows.size), self._max_rows))
            empty: BufferedTables = BufferedState.of(buffered.state, block)
            buffered = empty.extended(buffered.rows, 0) if buffered.used else empty
        return super()._appended(buffered, rows)

    def _rows_block(self, rows: Rows, capacity: int) -> RowBuffer:
        config, limits = self._config, None
        if config.has_default_labels:
            largest = sys.float_info.max
            ends = (0.0, 1.0) if config.scores == "probability" else (-largest, largest)
            limits = numbers_within(*ends), LABELS
        # in columns, because a curve is counted at a time
        block = RowBuffer.like(rows, capacity, order="F", limits=limits)
        block.keeps_counted = self._config.budget is not None  # else cells may take more than rows
        return block

    def _is_large_block(self, buffered: BufferedTables) -> bool:
        """Check whether the block has the largest size, for rows that are kept without cells."""
        size = buffered.block.capacity * self._config.n_scores
        return not len(buffered.state.lo) and size >= _MAX_ENTRIES // 2

    def _block(self, state: ScoreTables, rows: Rows) -> RowBuffer:
        # proportional to the cells, so that a row costs the same however many there are
        entries = max(_ENTRIES * 8 // max(rows.columns[0].itemsize, 4), 2 * len(state.lo))
        return self._rows_block(rows, max(entries // self._config.n_scores, _MIN_ROWS))

    @property
    def _max_rows(self) -> int:
        """The most rows that stay pending before there are cells.

        With a budget, these are as many as beside full cells, see `_block`.
        """
        n_scores, budget = self._config.n_scores, self._config.budget
        limit = _MAX_ENTRIES // n_scores
        return limit if budget is None else min(limit, 2 * budget)

    def _can_stay_rows(self, buffered: BufferedTables, rows: Rows) -> bool:
        """Check whether all rows so far and these may stay pending in a block of the largest size.

        If most scores are distinct, a cell takes at least three times the memory of a row, the
        area under the ROC curve is read from rows in a quarter of the time, and rows that are
        gathered from other processes are counted once.
        """
        if not _has_only_unweighted_rows(buffered):
            return False
        if rows.weights is not None or buffered.used + rows.size > self._max_rows:
            return False
        if buffered.used * self._config.n_scores > 2 * _ENTRIES:
            return True  # so many are pending because these have stayed
        known = (buffered.rows if buffered.used else rows).columns[0]
        sample = known[: -(-_ENTRIES // self._config.n_scores)]
        if sample.size <= _ENTRIES // 2:
            return False
        some = sample[:, :: max(self._config.n_scores // _SOME_CURVES, 1)]
        return _n_distinct(some) > some.size // 2

    def _fold(self, alike: Sequence[Any]) -> BufferedTables:
        first = alike[0]
        buffered: BufferedTables = first._held
        if self is not first:  # a new one does not write into the block of the first
            held = buffered.restarted()
            buffered = BufferedState.of(held.state)
            if held.used:
                buffered = self._appended(buffered, held.rows)
        for other in alike[1:]:
            buffered = self._joined(buffered, other._held)
        return buffered

    def _joined(self, buffered: BufferedTables, other: BufferedTables) -> BufferedTables:
        """Add the contents of another accumulator: as rows if they are few, else by a join."""
        rows = self._as_rows(other, max(len(buffered.state.lo), _FEW_ROWS))
        if rows is None:
            joined = buffered.state_by(self._with_rows).joined(
                other.state_by(self._with_rows), self._config.budget
            )
            return BufferedState.of(joined)
        state = other.state
        return self._with_batch(buffered, ScoredBatch(rows, state.skipped, state.negative_label))

    def _as_rows(self, buffered: BufferedTables, limit: int) -> Rows | None:
        """Convert to rows, if these are pending rows, or a state of at most `limit` rows."""
        if not len(buffered.state.lo):
            return buffered.rows if buffered.used else ScoredBatch.none(self._config.n_scores).rows
        if self._config.has_pairs:  # which scores belong to the same row is unknown
            return None
        scored = buffered.state_by(self._with_rows).to_rows(self._config.scores, limit)
        if scored is None or (scored.has_gaps and not self._config.has_gaps):
            return None  # pending rows would need weights of their entries
        return Rows((scored.scores.T, scored.positive.T))


def _has_only_unweighted_rows(buffered: BufferedTables) -> bool:
    """Check whether there are only pending rows without weights."""
    return buffered.block.weights is None and not len(buffered.state.lo)


def _scored(config: CurveConfig, rows: Rows) -> ScoredRows:
    """Read pending rows as the scores and classes of each curve."""
    scores, positive = (column.T for column in rows.columns)
    weights = rows.fixed_weights
    return ScoredRows(
        scores,
        config.scores,
        positive,
        weights,
        has_gaps=config.has_gaps or (weights is not None and len(weights.shape) > 1),
        has_pairs=config.has_pairs,
    )


def _as_single(scores: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.floating[Any]]:
    """Halve the width of scores if that changes none: those of most models are float32."""
    if scores.itemsize <= np.dtype(np.float32).itemsize:
        return scores
    with np.errstate(over="ignore"):
        narrow = scores.astype(np.float32)
    return narrow if (narrow == scores).all() else scores


def _n_distinct(scores: npt.NDArray[np.floating[Any]]) -> int:
    """Count the distinct scores of all curves."""
    ordered = np.sort(scores.T, axis=1)
    return len(ordered) + int(np.count_nonzero(ordered[:, 1:] > ordered[:, :-1]))
