"""Squared and absolute error, R2 and bias of predicted numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self, final

from streameval.accumulators.buffered import BufferedAccumulator
from streameval.accumulators.pending import Rows
from streameval.configs.regression import RegressionConfig
from streameval.inputs.arrays import are_empty, as_numbers, as_vector, check_vector, read_weights
from streameval.states.regression import RegressionSums

if TYPE_CHECKING:
    from streameval.results.regression import Regression

__all__ = ["RegressionAccumulator"]

_CAPACITY = 2**14  # from so many rows on, adding up takes longer than the calls for it


@final
class RegressionAccumulator(
    BufferedAccumulator[RegressionConfig, RegressionSums],
    type_id=2,
    config=RegressionConfig,
    state=RegressionSums,
):
    """Sum the errors of predicted numbers, batch by batch, exactly.

    The state is a handful of exact sums, so its size does not depend on the data, no digit is
    lost however long the stream and however large the mean beside the spread, and workers merge
    to the same bytes in any order.

    Notes
    -----
    The error of a row is rounded once, when it is taken; nothing is rounded after that until a
    metric is read. An update of n rows costs O(n).

    Examples
    --------
    >>> import streameval as se
    >>> acc = se.RegressionAccumulator()
    >>> result = acc.update([3.0, -0.5, 2.0, 7.0], [2.5, 0.0, 2.0, 8.0]).compute()
    >>> result.mse, result.mae, result.bias
    (0.375, 0.5, 0.25)
    >>> round(result.r2, 4)
    0.9486
    """

    __slots__ = ()

    _arrays = ("y_true", "y_pred")

    def __init__(self) -> None:
        super().__init__(RegressionConfig.of())

    def update(self, y_true: Any, y_pred: Any = None, *, sample_weight: Any = None) -> Self:
        """Count one batch: the truth first, then the prediction, as in scikit-learn.

        torchmetrics takes them the other way round, which turns the sign of the bias and changes
        R2 silently.

        Parameters
        ----------
        y_true : array of shape (n,)
            The true numbers, finite and at most 2**400 in magnitude. Alone, a batch: a tuple
            or list of the arrays in this order, or a mapping, data frame or Arrow table with
            columns of these names.
        y_pred : array of shape (n,)
            The predicted numbers. (n, 1) is taken as (n,), here and in `y_true`.
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
        given = self._named(y_true, y_pred, optional=(sample_weight,))
        truth = as_vector(as_numbers(given["y_true"], name="y_true"))
        prediction = as_vector(as_numbers(given["y_pred"], name="y_pred"))
        if are_empty(truth, prediction):
            read_weights(given["sample_weight"], rows=0)
            return self
        check_vector(truth, rows=None, name="y_true")
        check_vector(prediction, rows=len(truth), name="y_pred")
        weights = read_weights(given["sample_weight"], rows=len(truth))
        return self._append(Rows((truth, prediction), weights))

    def compute(self) -> Regression:
        """Compute the metrics.

        Returns
        -------
        Regression
            Frozen: later updates do not change it.
        """
        from streameval.results.regression import Regression  # noqa: PLC0415 (rendering too)

        return Regression(self._state)

    def _count(self, rows: Rows) -> RegressionSums:
        truth, prediction = rows.columns
        return RegressionSums.of(truth, prediction, rows.fixed_weights)

    def _capacity(self, state: RegressionSums, rows: Rows) -> int:  # noqa: ARG002
        return _CAPACITY

    def _sum_all(self, states: Iterable[RegressionSums]) -> RegressionSums:
        return RegressionSums.sum_of(states)
