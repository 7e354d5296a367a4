"""Squared and absolute error, R2, bias and other errors of predicted numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, final

from streameval.accumulators.base import BufferedAccumulator
from streameval.accumulators.pending import (
    ROWS_A_GROUP,
    LooseRows,
    RowBuffer,
    Rows,
    numbers_within,
)
from streameval.configs import USUAL_BUDGET
from streameval.configs.error_measures import MOMENTS
from streameval.configs.regression import RegressionConfig
from streameval.errors import InvalidInputError, Named
from streameval.exact.array_types import Array, Floats
from streameval.inputs.arrays import (
    LARGEST_NUMBER,
    as_numbers,
    as_vector,
    check_matrix,
    have_rows,
    lack_rows,
    read_weights,
)
from streameval.states.error_terms import Range, ranges_of
from streameval.states.regression import MeasuredSums, RegressionSums
from streameval.states.regression_outputs import OutputSums
from streameval.states.stack import Stack

if TYPE_CHECKING:
    from streameval.results.regression import Regression
    from streameval.results.regression_outputs import RegressionOutputs

Sums = RegressionSums | MeasuredSums | OutputSums

_ROWS = (
    "Pass ",
    Named("outputs", ""),
    " for rows of several numbers, or ravel() both arrays to count item by item.",
)
_CAPACITY = 2**14  # from this many rows on, adding up takes longer than the calls


def _state_of(config: RegressionConfig) -> type[Sums]:
    """Choose the class of the states."""
    if config.outputs is not None:
        return OutputSums
    return RegressionSums if config.has_default_sums else MeasuredSums


def _read_rows(config: RegressionConfig, arrays: Mapping[str, Any]) -> Rows | None:
    """Read a batch of which all rows have weight; None if it is empty."""
    sample_weight = arrays.get("sample_weight")
    truth = as_numbers(arrays["y_true"], name="y_true")
    prediction = as_numbers(arrays["y_pred"], name="y_pred")
    if config.outputs is None:
        truth, prediction = as_vector(truth), as_vector(prediction)
        vectors = {"y_true": truth, "y_pred": prediction}
        if not have_rows(vectors, sample_weight, remedy=_ROWS):
            return None
    elif lack_rows(truth, prediction, sample_weight=sample_weight):
        return None
    else:
        outputs = config.n_outputs
        check_matrix(truth, rows=None, columns=outputs, name="y_true", option="outputs")
        check_matrix(prediction, rows=len(truth), columns=outputs, name="y_pred", option="outputs")
    if not config.has_default_sums:
        _check_ranges(truth, prediction, config)
    return Rows((truth, prediction), read_weights(sample_weight, rows=len(truth)))


def _count_groups(
    config: RegressionConfig, rows: Rows, groups: Array, n_groups: int
) -> Mapping[str, Stack] | None:
    """Count the rows of many groups at once; None if each group has to be counted alone."""
    is_many = len(groups) <= ROWS_A_GROUP * n_groups
    if not is_many or rows.weights is not None or _state_of(config) is not RegressionSums:
        return None
    truth, prediction = rows.columns
    return RegressionSums.of_groups(truth, prediction, groups, n_groups)


@final
class RegressionAccumulator(
    BufferedAccumulator[RegressionConfig, Sums],
    type_id=2,
    config=RegressionConfig,
    state=_state_of,
):
    """Sum the errors of predicted numbers, batch by batch, exactly.

    The state is a handful of exact sums, so its size does not depend on the data, no digit is
    lost however long the stream and however large the mean beside the spread, and workers merge
    to the same bytes in any order.

    Parameters
    ----------
    measures : sequence of str
        Metrics that need more than the sums that are always kept, such as "mape" or
        "huber(delta=1)"; `Regression` lists them all. With other measures accumulators do not
        merge.
    budget : int or None
        The number of bins kept for the median and quantiles of the absolute error; None keeps
        every distinct error.
    intervals : bool
        Whether RMSE, MSE and R2 have sampling intervals, which takes five more sums; those of MAE
        and bias take none.
    outputs : int or sequence of str, optional
        The number of numbers that each row predicts, at most 1,024, or a name for each: arrays
        have shape ``(n, outputs)``, and `compute` returns the errors of each output and their
        averages.

    Notes
    -----
    The error of a row is rounded once, when it is taken; nothing is rounded after that until a
    metric is read. What measures sum of a row is rounded to within a few units in the last place,
    deviances to that of the distance of prediction and truth. Squares of numbers below 2**-484 in
    magnitude lose digits, and those below 2**-538 are 0. An update of n rows costs O(n), and that
    again for each measure. The sums are exact, however the data is cut.

    Examples
    --------
    >>> import streameval as se
    >>> acc = se.RegressionAccumulator()
    >>> result = acc.update([3.0, -0.5, 2.0, 7.0], [2.5, 0.0, 2.0, 8.0]).compute()
    >>> result.mse, result.mae, result.bias
    (0.375, 0.5, 0.25)
    >>> round(result.r2, 4)
    0.9486

    More is counted where it is asked for, and past the budget quantiles have certified bounds:

    >>> acc = se.RegressionAccumulator(["mape", "huber(delta=1)", "median_absolute_error"])
    >>> result = acc.update([4.0, -0.5, 2.0, 8.0], [5.0, 0.0, 2.0, 8.0]).compute()
    >>> result.mape, result.huber(1.0), result.median_absolute_error
    (0.3125, 0.15625, 0.25)

    Rows may predict several numbers, with names if you like:

    >>> acc = se.RegressionAccumulator(outputs=["width", "height"])
    >>> result = acc.update([[0.5, 1], [-1, 1], [7, -6]], [[0, 2], [-1, 2], [8, -5]]).compute()
    >>> result.mae, result.mae("raw_values"), result["height"].mae, result.mae([3, 1])
    (0.75, array([0.5, 1. ]), 1.0, 0.625)
    >>> round(result.r2("variance_weighted"), 4)
    0.9383
    """

    __slots__ = ()

    _loose_rows = LooseRows(_read_rows, _count_groups)

    _arrays = ("y_true", "y_pred")

    def __init__(
        self,
        measures: Sequence[str] | str = (),
        *,
        budget: int | None = USUAL_BUDGET,
        intervals: bool = False,
        outputs: int | Sequence[str] | None = None,
    ) -> None:
        self._configure(locals())

    def update(self, y_true: Any, y_pred: Any = None, *, sample_weight: Any = None) -> Self:
        """Count one batch: the truth first, then the prediction, as in scikit-learn.

        torchmetrics takes them the other way round, which turns the sign of the bias and changes
        R2 silently.

        Parameters
        ----------
        y_true : array of shape (n,), or (n, d) with `outputs`
            The true numbers, finite and at most 2**400 in magnitude. Alone, a batch: a tuple
            or list of the arrays in this order, or a mapping, data frame or Arrow table with
            columns of these names.
        y_pred : array of shape (n,), or (n, d) with `outputs`
            The predicted numbers. (n, 1) is taken as (n,), here and in `y_true`; two numbers are a
            row.
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
        if sample_weight is None and held.block.put_one(held, y_true, y_pred):
            return self
        of_rows = self._config.outputs is None
        return self._take_batch(
            *(y_true, y_pred), optional=(sample_weight,), may_weigh_entries=of_rows
        )

    def compute(self) -> Regression | RegressionOutputs:
        """Compute the metrics.

        Returns
        -------
        Regression, or RegressionOutputs with `outputs`
            Frozen: later updates do not change it.
        """
        from streameval.results.regression import Regression  # noqa: PLC0415 (rendering too)

        if isinstance(state := self._state, OutputSums):
            from streameval.results.regression_outputs import RegressionOutputs  # noqa: PLC0415

            return RegressionOutputs(state, self._config)
        return Regression(state, self._config)

    def _count_arrays(self, /, **arrays: Any) -> Self:
        rows = _read_rows(self._config, arrays)
        return self if rows is None else self._append(rows)

    def _with_rows(self, state: Sums, rows: Rows) -> Sums:
        truth, prediction = rows.columns
        counted = type(state).of(self._config, truth, prediction, rows.fixed_weights)
        return self._sum(state, counted)

    def _block(self, state: Sums, rows: Rows) -> RowBuffer:  # noqa: ARG002
        numbers = numbers_within(-LARGEST_NUMBER, LARGEST_NUMBER)
        is_simple = self._config.has_default_sums and self._config.outputs is None
        return RowBuffer.like(rows, _CAPACITY, limits=(numbers, numbers) if is_simple else None)


def _check_ranges(truth: Floats, prediction: Floats, config: RegressionConfig) -> None:
    """Raise InvalidInputError unless every requested measure is defined for every row."""
    asked = [(one.name, one.terms) for one in config.parsed]
    if config.intervals:
        asked.append(("intervals", MOMENTS[:1]))
    for what, terms in asked:
        for term in terms:
            of_truth, of_prediction = ranges_of(term)
            _check_range(truth, of_truth, what, "y_true")
            _check_range(prediction, of_prediction, what, "y_pred")


def _check_range(values: Floats, allowed: Range | None, what: str, name: str) -> None:
    if allowed is None or (values.min() >= allowed.low and values.max() <= allowed.high):
        return
    outside = (values < allowed.low) | (values > allowed.high)
    position = int(outside.argmax()) // (values.size // len(values))  # the index of the row
    found = float(values[outside][0])
    raise InvalidInputError(
        f"must lie in {allowed.text} for {what}, got {found!r}",
        argument=name,
        position=position,
    )
