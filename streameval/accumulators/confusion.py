"""Accuracy, precision, recall, F and their kin from counts of truth against prediction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, Self, TypeAlias, cast, final

import numpy as np
import numpy.typing as npt

from streameval.accumulators.base import Accumulator
from streameval.accumulators.decisions import decide, decide_multilabel, present
from streameval.accumulators.plain_batches import PlainBatches, PlainCodes
from streameval.configs.confusion import ConfusionConfig
from streameval.errors import IncompatibleStateError, InvalidInputError, Named
from streameval.exact.fixed_point import MAX_TOTAL, FixedPoint
from streameval.inputs.arrays import (
    are_empty,
    as_array,
    as_labels,
    as_labels_or_scores,
    as_weights,
    check_matrix,
    check_vector,
)
from streameval.inputs.labels import Classes, Label, encode, equal, meet
from streameval.metrics.confusion import ConfusionCounts, LabelCounts
from streameval.results.confusion import Confusion
from streameval.states.confusion import (
    MatrixCounts,
    MetCounts,
    MultilabelCounts,
    TopKCredit,
)

__all__ = ["ConfusionAccumulator"]

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int64]
Counted: TypeAlias = tuple[ConfusionCounts, Codes, int]
"""A state, a tally of rows that are not in it yet, and how many there are."""

_NO_TALLY = np.zeros((), dtype=np.int64)
_SMALL_TALLY = 2**10  # numbers: to add so few to a state takes far longer than to add them


@final
class ConfusionAccumulator(
    Accumulator[ConfusionConfig, ConfusionCounts], type_id=1, config=ConfusionConfig
):
    """Count truth against prediction, batch by batch.

    Binary, multiclass and multilabel classification from labels or scores; the state is the
    confusion matrix, so memory depends on the number of classes alone and any number of
    workers can merge.

    Parameters
    ----------
    classes : int, sequence of labels, or "auto"
        A number K stands for the labels 0..K-1; a sequence lists the labels (integers or
        strings) in the order of rows, columns and scores; ``"auto"`` takes labels as they
        come (at most 4096) and sorts them.
    multilabel : bool
        Whether each of the `classes` is present or absent on its own.
    threshold : float
        A score of at least this is a positive prediction, for two classes and multilabel.
        Scores are widened to float64 before they are compared.
    pos_label : label, optional
        The positive one of two classes: by default 1, or the second of two listed.
    from_scores : bool, optional
        Whether `y_pred` holds scores. By default a floating dtype does and others do not; an
        integer array that could be either is refused.
    top_k : int
        Among how many of the best scores the true class must be for `top_k_accuracy`.
    ignore_label : label, optional
        Rows (for multilabel, entries) whose truth is this do not count.
    include_unseen : bool
        Whether macro means keep classes that occur in neither truth nor prediction, as zeros.

    Notes
    -----
    Counts are exact up to 2**63 - 1, and weights to 2**-63. An update of n rows costs O(n);
    the state holds K * K cells and top_k * K more.

    Examples
    --------
    >>> import streameval as se
    >>> acc = se.ConfusionAccumulator(classes=["ham", "spam"])
    >>> acc.update(["spam", "ham", "spam"], ["spam", "ham", "ham"]).compute().recall()
    0.5
    >>> other = se.ConfusionAccumulator(classes=["ham", "spam"])
    >>> other.update(["ham"], [0.9])  # a score: at least 0.5 is spam
    ConfusionAccumulator(classes=('ham', 'spam'), pos_label='spam', n=1)
    >>> (acc + other).compute().matrix
    array([[1, 1],
           [1, 1]])
    """

    __slots__ = ()

    _arrays = ("y_true", "y_pred")

    # what is counted, the codes of rows that are not, and how many there are; replaced as one,
    # so that no reader sees a mix; and the memory that the rows of large batches pass through
    _held: tuple[Counted, PlainCodes | None, int, PlainCodes | None]

    def __init__(
        self,
        classes: Classes | Any = 2,
        *,
        multilabel: bool = False,
        threshold: float = 0.5,
        pos_label: Label | None = None,
        from_scores: bool | None = None,
        top_k: int = 1,
        ignore_label: Label | None = None,
        include_unseen: bool = False,
    ) -> None:
        super().__init__(
            ConfusionConfig.of(
                classes=classes,
                multilabel=multilabel,
                threshold=threshold,
                pos_label=pos_label,
                from_scores=from_scores,
                top_k=top_k,
                ignore_label=ignore_label,
                include_unseen=include_unseen,
            )
        )

    def update(self, y_true: Any, y_pred: Any = None, *, sample_weight: Any = None) -> Self:
        """Count one batch.

        Parameters
        ----------
        y_true : array of shape (n,), or (n, K) of 0 and 1 for multilabel
            The true labels. Alone, a batch: a tuple or list of the arrays in this order, or
            a mapping, data frame or Arrow table with columns of these names.
        y_pred : array of shape (n,) or (n, K)
            Labels of shape (n,); for two classes scores (n,), for more scores (n, K);
            for multilabel (n, K) labels 0 and 1, or scores.
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
        if y_true is None or y_pred is None:  # one batch holds them, or something is missing
            given = self._named(y_true, y_pred, optional=(sample_weight,))
            y_true, y_pred = given["y_true"], given["y_pred"]
            sample_weight = given["sample_weight"]
        are_arrays = type(y_true) is type(y_pred) is np.ndarray
        if not are_arrays:
            y_true = as_labels_or_scores(y_true, name="y_true")
            y_pred = as_labels_or_scores(y_pred, name="y_pred")
        if sample_weight is None and self._count_plain(y_true, y_pred):
            return self
        if are_arrays:  # nobody has looked at their dtypes so far
            y_true, y_pred = as_array(y_true, name="y_true"), as_array(y_pred, name="y_pred")
        counts = _count(self._config, y_true, y_pred, sample_weight)
        try:
            return self._absorb(counts)
        except IncompatibleStateError:
            raise InvalidInputError(
                "and ",
                Named("y_pred"),
                " must hold labels of the type met before: all numbers or all strings",
                argument="y_true",
            ) from None

    def compute(self) -> Confusion:
        """Compute the matrix and everything that follows from it.

        Returns
        -------
        Confusion
            Frozen: later updates do not change it.
        """
        return Confusion(LabelCounts.of(self._config, self._state))

    @property
    def _state(self) -> ConfusionCounts:
        (state, tally, rows), waiting, used, _ = self._held
        if rows:
            state = _with_tally(state, tally, rows)
        return state if waiting is None else _with_tally(state, waiting.tally(used), used)

    @_state.setter
    def _state(self, state: ConfusionCounts) -> None:
        self._held = (state, _NO_TALLY, 0), None, 0, None

    @property
    def _total(self) -> FixedPoint:
        (state, _, rows), _, used, _ = self._held
        return state.n + FixedPoint(np.array(rows + used))

    def _sum_of(self, alike: Sequence[Any]) -> ConfusionCounts:
        """Count the rows that wait in all of them together, and add them once."""
        held = [one._held for one in alike]
        total = self._sum_all(state for (state, _, _), *_ in held)
        plain = PlainBatches.under(self._config)
        if plain is None:  # nothing waits
            return total
        passed = ((tally, rows) for (_, tally, rows), *_ in held if rows)
        codes = plain.tallies((codes, used) for _, codes, used, _ in held if codes is not None)
        waiting, n_waiting = _NO_TALLY, 0
        for tally, rows in chain(passed, codes):
            waiting = waiting + tally if n_waiting else tally
            n_waiting += rows
        if not n_waiting:
            return total
        FixedPoint.total_of([total.n, FixedPoint(np.array(n_waiting))])  # raises if it overflows
        return _with_tally(total, waiting, n_waiting)

    def _sum_all(self, states: Iterable[ConfusionCounts]) -> ConfusionCounts:
        if self._state_type(self._config) is not MatrixCounts:
            return super()._sum_all(states)
        return MatrixCounts.sum_of(list(cast("Iterable[MatrixCounts]", states)))

    def _count_plain(self, y_true: Array, y_pred: Array) -> bool:
        """Keep the rows of a plain batch until there are enough of them to be worth counting."""
        counted, waiting, used, scratch = self._held
        end = waiting.put(y_true, y_pred, used) if waiting is not None else 0
        if not end:
            return self._make_room(y_true, y_pred)
        self._held = counted, waiting, end, scratch
        return True

    def _make_room(self, y_true: Array, y_pred: Array) -> bool:
        """Count a large plain batch; for a small one count what waits, and let it wait."""
        (state, _, passed), waiting, used, scratch = self._held
        plain = PlainBatches.under(self._config) if scratch is None else scratch.plain
        if plain is None or not plain.fit(y_true, y_pred):
            return False
        rows = len(y_true)
        if waiting is not None and used + rows <= plain.room:
            return False  # there was room
        if state.n.whole > MAX_TOTAL - 2 * plain.room - passed - rows:
            return False  # near the largest total, which rows that wait never pass
        if rows > plain.room // 2:
            return self._pass_through(plain, y_true, y_pred)
        waiting = PlainCodes.of(plain, plain.room)
        end = waiting.put(y_true, y_pred, 0)
        if end:
            self._held = (self._state, _NO_TALLY, 0), waiting, end, scratch
        return end > 0

    def _pass_through(self, plain: PlainBatches, y_true: Array, y_pred: Array) -> bool:
        """Count a large plain batch, in memory that its codes only pass through."""
        (state, tally, passed), waiting, used, scratch = self._held
        scratch = scratch or PlainCodes.of(plain, plain.piece)
        more = scratch.pass_through(y_true, y_pred)
        if more is None:
            return False
        counted = state, tally + more if passed else more, passed + len(y_true)
        self._held = _settled(*counted), waiting, used, scratch
        return True

    @classmethod
    def _state_type(cls, config: ConfusionConfig) -> type[ConfusionCounts]:
        if config.multilabel:
            return MultilabelCounts
        return MetCounts if config.is_open else MatrixCounts


def _settled(state: ConfusionCounts, tally: Codes, rows: int) -> Counted:
    """Add a tally to its state, unless it is so small that others had better be added to it."""
    if tally.size <= _SMALL_TALLY:
        return state, tally, rows
    return _with_tally(state, tally, rows), _NO_TALLY, 0


def _with_tally(state: ConfusionCounts, tally: Codes, rows: int) -> ConfusionCounts:
    assert not isinstance(state, MetCounts)  # noqa: S101 - only fixed classes are plain
    return state.with_tally(tally, rows)


def _count(
    config: ConfusionConfig, truth: Array, prediction: Array, sample_weight: Any
) -> ConfusionCounts:
    """Count one batch as a state of its own."""
    if are_empty(truth, prediction):
        as_weights(sample_weight, rows=0)
        return ConfusionAccumulator._state_type(config).zero(config)
    if config.multilabel:
        return _count_multilabel(config, truth, prediction, sample_weight)
    labels = as_labels(truth, name="y_true")
    check_vector(labels, rows=None, name="y_true")
    weights = as_weights(sample_weight, rows=len(labels))
    ignored = _ignored(labels, config.ignore_label)
    if config.is_open:
        return _count_met(labels, _met_labels(prediction, labels, config), ignored, weights)

    places = encode(labels, config.fixed_classes, name="y_true", ignored=ignored)
    predicted, credit = decide(prediction, places, config)
    if ignored is not None:
        kept = ~ignored
        places, predicted = places[kept], predicted[kept]
        credit = None if credit is None else credit.select(kept)
        weights = None if weights is None else weights.select(kept)
    if weights is None and credit is None:
        cells = places * config.n_classes + predicted
        tally = np.bincount(cells, minlength=config.n_classes**2)
        return MatrixCounts.zero(config).with_tally(tally, len(cells))
    credit = credit or TopKCredit.of_hits(places == predicted)
    return MatrixCounts.of(places, predicted, credit, weights, config)


def _count_met(
    truth: Array, prediction: Array, ignored: Mask | None, weights: FixedPoint | None
) -> MetCounts:
    kept = np.ones(len(truth), dtype=bool) if ignored is None else ~ignored
    if weights is not None:
        kept &= weights.is_positive()  # a label without weight has not been met
        weights = weights.select(kept)
    labels, places = meet(np.concatenate([truth[kept], prediction[kept]]))
    true_places, predicted_places = np.split(places, 2)
    return MetCounts.of(labels, true_places, predicted_places, weights)


def _met_labels(prediction: Array, truth: Array, config: ConfusionConfig) -> Array:
    if prediction.dtype.kind == "f" and config.from_scores is None:
        raise InvalidInputError(
            "holds floats, and ",
            Named("classes", '"auto"'),
            " takes labels",
            argument="y_pred",
            remedy="Pass from_scores=False if these are labels, or list the classes in the order "
            "of the score columns.",
        )
    labels = as_labels(prediction, name="y_pred")
    check_vector(labels, rows=len(truth), name="y_pred")
    if (labels.dtype == object) != (truth.dtype == object):
        raise InvalidInputError(
            "and ", Named("y_pred"), " must both be numbers or both be strings", argument="y_true"
        )
    return labels


def _count_multilabel(
    config: ConfusionConfig, y_true: Array, y_pred: Array, sample_weight: Any
) -> MultilabelCounts:
    check_matrix(y_true, rows=None, columns=config.n_classes, name="y_true")
    check_matrix(y_pred, rows=len(y_true), columns=config.n_classes, name="y_pred")
    weights = as_weights(sample_weight, rows=len(y_true))
    labels = as_labels(y_true, name="y_true")
    ignored = _ignored(labels, config.ignore_label)
    truth = present(labels, name="y_true", ignored=ignored)
    prediction = decide_multilabel(y_pred, config)
    known = None if ignored is None else ~ignored
    return MultilabelCounts.of(truth, prediction, known, weights, config)


def _ignored(labels: Array, ignore_label: Label | None) -> Mask | None:
    """Mark the rows or entries whose truth does not count; None if all do."""
    if ignore_label is None or isinstance(ignore_label, str) != (labels.dtype == object):
        return None
    ignored = equal(labels, ignore_label)
    return ignored if ignored.any() else None
