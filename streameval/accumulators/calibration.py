"""Log loss, Brier score and calibration of probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np

from streameval.accumulators.base import BufferedAccumulator
from streameval.accumulators.best_scores import first_highest
from streameval.accumulators.pending import (
    LABELS,
    ROWS_A_GROUP,
    LooseRows,
    RowBuffer,
    Rows,
    numbers_within,
)
from streameval.configs.calibration import CalibrationConfig
from streameval.exact.array_types import Array, Floats, Ints
from streameval.exact.fixed_point import FixedPoint
from streameval.inputs.arrays import (
    as_array,
    as_labels,
    as_labels_or_scores,
    as_scores,
    as_vector,
    check_matrix,
    check_probabilities,
    check_vector,
    lack_rows,
    read_weights,
)
from streameval.inputs.classes import Label, without_names
from streameval.inputs.labels import encode, in_class_order, is_ignored
from streameval.inputs.row_scores import (
    LOGITS,
    are_pairs,
    as_rows_of_items,
    check_row_sums,
    positive_scores,
    sum_tolerance,
)
from streameval.inputs.weighted_rows import WeightedRows
from streameval.states.calibration import CalibrationMoments, CalibrationSums
from streameval.states.stack import Stack

if TYPE_CHECKING:
    from streameval.results.calibration import Calibration


_ENTRIES = 2**14  # pending probabilities: for more, the sum takes longer than the calls
_MAX_ENTRIES = 2**16  # if there are many sums to add: half a megabyte
_BLOCK = 2**17  # probabilities summed at once: a weighted one takes some 100 bytes
_BINARY_BLOCK = 2**16  # less, because longer columns are allocated anew each time
_LARGE_BLOCK = 2**20  # if there are many sums to add after each block
_ROWS_A_SUM = 8
_MAX_BINS = 2**20  # of many groups
_ONE_HOT = (
    "Pass y_true.argmax(axis=1) for one-hot rows, or ravel() both arrays for several labels a row; "
    "Sliced by a column of the names of the labels measures each."
)


def _read(
    config: CalibrationConfig, arrays: Mapping[str, Any], truth: Array, ignored: Any
) -> Rows | None:
    """Read a batch of which all rows have weight; None if it is empty."""
    given = in_class_order(arrays["y_prob"], config, name="y_prob")
    probability = as_array(given, name="y_prob")
    if lack_rows(truth, probability, sample_weight=arrays.get("sample_weight")):
        return None
    labels = as_vector(as_labels(truth, name="y_true"))
    check_vector(labels, rows=None, name="y_true", remedy=_ONE_HOT)
    codes = encode(labels, without_names(config.classes or 2), name="y_true", ignored=ignored)
    tolerance = sum_tolerance(given, probability)
    scores = _probabilities(probability, len(labels), tolerance, config)
    return Rows((codes, scores), read_weights(arrays.get("sample_weight"), rows=len(labels)))


def _read_rows(config: CalibrationConfig, arrays: Mapping[str, Any]) -> Rows | None:
    """Read the rows of many groups at once; None if each group has to be updated alone."""
    truth = as_labels_or_scores(arrays["y_true"], name="y_true")
    ignored = is_ignored(truth, config.ignore_label)
    return None if truth.ndim > 1 or ignored is not None else _read(config, arrays, truth, None)


def _count_groups(
    config: CalibrationConfig, rows: Rows, groups: Array, n_groups: int
) -> Mapping[str, Stack] | None:
    """Count the rows of many groups at once; None if each group has to be counted alone."""
    is_usual = rows.weights is None and config.classes is None and not config.intervals
    is_many = len(groups) <= ROWS_A_GROUP * n_groups and n_groups * config.bins <= _MAX_BINS
    if not (is_usual and is_many):
        return None
    truth, probability = rows.columns
    return CalibrationSums.of_groups(truth, probability, groups, n_groups, config)


@final
class CalibrationAccumulator(
    BufferedAccumulator[CalibrationConfig, CalibrationSums],
    type_id=4,
    config=CalibrationConfig,
    state=lambda config: CalibrationMoments if config.intervals else CalibrationSums,
):
    """Measure the quality and the calibration of probabilities, batch by batch.

    Log loss, Brier score, expected calibration error and reliability curve, and predicted over
    observed positives (PCOPC), of two classes or of K. The state is a few exact sums for each
    bin and class, so its size does not depend on the data, and any number of workers can merge.

    Parameters
    ----------
    bins : int
        How many bins of equal width predictions fall into for `ece` and `reliability_curve`:
        ``[i / bins, (i + 1) / bins)``, the last one closed; at most 2**16, fewer with many
        classes, since bins and classes together must leave a state below 16 MiB (some 55,000).
    classes : int, sequence of labels, or mapping from label to name, optional
        For K classes, each with a probability: K stands for the labels 0..K-1, a sequence lists
        the labels (integers or strings) in the order of the columns, and a mapping names them, as
        for `ConfusionAccumulator`. By default there are two classes, 0 and 1, and the
        probability of 1 is given.
    intervals : bool
        Whether log loss and Brier score have sampling intervals, which need three more sums.
    ignore_label : label, optional
        Rows whose truth is this do not count, whatever their probabilities are.

    Notes
    -----
    The loss and the error of a row are rounded once, when they are taken; the logarithm is within
    1 unit in the last place and the same on every CPU. Nothing is rounded after that until a
    metric is read. An update of n rows costs O(n + bins), or O(n K + bins).

    Examples
    --------
    >>> import streameval as se
    >>> acc = se.CalibrationAccumulator(bins=2)
    >>> result = acc.update([1, 0, 1, 0], [0.75, 0.25, 0.5, 0.5]).compute()
    >>> result.brier, result.ece, result.pcopc
    (0.15625, 0.125, 1.0)
    >>> round(result.log_loss, 4)
    0.4904
    >>> result.reliability_curve()
    (array([0.25      , 0.58333333]), array([0.        , 0.66666667]), array([1, 3]))

    >>> acc = se.CalibrationAccumulator(classes=["cat", "dog", "owl"])
    >>> acc.update(["dog", "owl"], [[0.25, 0.75, 0.0], [0.5, 0.25, 0.25]]).compute().brier
    0.5
    """

    __slots__ = ()

    _loose_rows = LooseRows(_read_rows, _count_groups)

    _arrays = ("y_true", "y_prob")

    def __init__(
        self,
        bins: int = 15,
        classes: int | Any = None,
        *,
        intervals: bool = False,
        ignore_label: Label | None = None,
    ) -> None:
        self._configure(locals())

    def update(self, y_true: Any, y_prob: Any = None, *, sample_weight: Any = None) -> Self:
        """Count one batch: the truth first, as in scikit-learn; torchmetrics takes it second.

        Parameters
        ----------
        y_true : array of shape (n,), or with `classes` (B, T) or (N, H, W)
            The true labels: 0 and 1 (or bool), or the labels of `classes`; tokens and pixels are
            counted item by item, with probabilities (B, T, K) or (N, K, H, W). Alone, a batch: a
            tuple or list of the arrays in this order, or a mapping, data frame or Arrow table
            with columns of these names.
        y_prob : array of shape (n,), or (n, K) with `classes`
            Probabilities in [0, 1]: of 1, of 0 and 1, or of each class. Rows of several must sum
            to 1 within 0.01, which rounding to four digits keeps; float16 within 0.031, bfloat16
            0.088. Two numbers are a row.
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
            When the sum of the weights would pass 2**63 - 1. Nothing has been counted then.
        """
        held = self._held
        if sample_weight is None and held.block.put_one(held, y_true, y_prob):
            return self
        return self._take_batch(y_true, y_prob, optional=(sample_weight,))

    def compute(self) -> Calibration:
        """Compute the metrics.

        Returns
        -------
        Calibration
            Frozen: later updates do not change it.
        """
        from streameval.results.calibration import Calibration  # noqa: PLC0415 (rendering too)

        return Calibration(self._state, self._config)

    def _named(self, *arrays: Any, optional: tuple[Any, ...]) -> dict[str, Any]:
        given = super()._named(*arrays, optional=optional)
        return as_rows_of_items(given, self._config.n_classes, name="y_prob")

    def _count_arrays(self, /, **arrays: Any) -> Self:
        truth = as_labels_or_scores(arrays["y_true"], name="y_true")
        ignored = is_ignored(as_vector(truth), self._config.ignore_label)
        if ignored is not None and ignored.ndim == 1:
            counted = WeightedRows.of(arrays, np.flatnonzero(~ignored), rows=len(truth))
            if counted is not None:
                return counted.count_by(self._count_arrays)
        rows = _read(self._config, arrays, truth, ignored)
        return self if rows is None else self._append(rows)

    def _with_rows(self, state: CalibrationSums, rows: Rows) -> CalibrationSums:
        truth, probability = rows.columns
        return state + _sum(truth, probability, rows.fixed_weights, self._config)

    def _block(self, state: CalibrationSums, rows: Rows) -> RowBuffer:  # noqa: ARG002
        config = self._config
        columns = max(config.n_classes, 1)
        # as many as sums, which are added after each block
        capacity = max(_ENTRIES, min(columns * config.n_classes, _MAX_ENTRIES)) // columns or 1
        is_simple = config.classes is None and config.ignore_label is None
        limits = (LABELS, numbers_within(0.0, 1.0)) if is_simple else None
        return RowBuffer.like(rows, capacity, limits=limits)


def _rows_a_block(config: CalibrationConfig) -> int:
    """Choose how many rows are summed at once: more if there are many sums to add after each."""
    columns, sums = max(config.n_classes, 1), config.bins + config.n_classes
    entries = _BINARY_BLOCK if config.classes is None else _BLOCK
    return max(entries // columns, min(_ROWS_A_SUM * sums, _LARGE_BLOCK // columns), 1)


def _sum(
    truth: Ints, probability: Floats, weights: FixedPoint | None, config: CalibrationConfig
) -> CalibrationSums:
    """Sum a batch in blocks of rows, to use little extra memory."""
    step = _rows_a_block(config)
    blocks = [slice(start, start + step) for start in range(0, len(truth), step)]
    total = _sum_block(blocks[0], truth, probability, weights, config)
    for block in blocks[1:]:
        total += _sum_block(block, truth, probability, weights, config)
    return total


def _sum_block(
    rows: slice,
    truth: Ints,
    probability: Floats,
    weights: FixedPoint | None,
    config: CalibrationConfig,
) -> CalibrationSums:
    y, p = truth[rows], probability[rows]
    w = None if weights is None else weights.select(np.arange(rows.start, rows.start + len(y)))
    counted = CalibrationMoments if config.intervals else CalibrationSums
    if config.classes is None:
        return counted.of_binary(y, p, w, config)
    top, _ = first_highest(p)
    return counted.of_classes(y, p, top, w, config)


def _probabilities(array: Array, rows: int, tolerance: float, config: CalibrationConfig) -> Floats:
    if config.classes is None:
        array = as_vector(array)
        if are_pairs(array):
            array = positive_scores(array, tolerance, scale="probability", name="y_prob")
        check_vector(array, rows=rows, name="y_prob")
    else:
        check_matrix(array, rows=rows, columns=config.n_classes, name="y_prob", option="classes")
    scores = as_scores(array, name="y_prob")
    check_probabilities(scores, name="y_prob", remedy=LOGITS)
    if config.classes is not None:
        check_row_sums(scores, tolerance, name="y_prob")
    return scores
