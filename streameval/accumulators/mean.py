"""Means, sums, extremes and quantiles of values of any kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, final

import numpy as np

from streameval.accumulators.base import BufferedAccumulator
from streameval.accumulators.pending import RowBuffer, Rows
from streameval.configs import USUAL_BUDGET
from streameval.configs.values import MeanConfig
from streameval.errors import InvalidInputError
from streameval.exact.array_types import Array, Mask
from streameval.inputs.arrays import (
    as_array,
    as_values,
    as_vector,
    have_rows,
    read_weights,
)
from streameval.inputs.weighted_rows import WeightedRows
from streameval.states.values import ValueSums

if TYPE_CHECKING:
    from streameval.results.collection import CollectionResult
    from streameval.results.values import Summary


_ENTRIES = 2**14  # from this many values on, adding up takes longer than the calls


@final
class MeanAccumulator(
    BufferedAccumulator[MeanConfig, ValueSums], type_id=16, config=MeanConfig, state=ValueSums
):
    """Sum values of any kind, batch by batch, exactly.

    Losses, latencies, numbers of tokens, rewards, scores of a judge, the F1 of an answer, the IoU
    of an image: whatever has a mean. The state is a few exact sums for each column, and cells where
    quantiles are wanted, so its size does not depend on the data, and workers merge to the same
    bytes in any order. A perplexity is the same for every batch size.

    Parameters
    ----------
    columns : sequence of str, optional
        The names of several values that each row has, such as loss and latency, which a batch
        holds as columns; by default a row has one value. `compute` returns the result of each.
    quantiles : sequence of float
        The quantiles to report, such as 0.5 and 0.99. With one or more, bins of the values are
        kept, from which any quantile can be read.
    budget : int or None
        The number of bins kept for the quantiles of each column; None keeps every distinct
        value. While the distinct values fit, quantiles are exact; beyond, they have certified
        bounds.
    nan : {"raise", "skip"}
        Whether NaN is refused, or left out and counted as skipped. Each column has its own.

    Notes
    -----
    Sums are exact, and rounded once when a number is read; counts are exact up to 2**63 - 1, and
    weights to 2**-63. An update of n values costs O(n), and a sort of some 16,384 where there are
    quantiles. 65,536 bins take 1.6 MB a column.

    Examples
    --------
    >>> import streameval as se
    >>> acc = se.MeanAccumulator()
    >>> for loss, tokens in [(2.0, 30), (1.0, 10)]:
    ...     acc = acc.update(loss, sample_weight=tokens)
    >>> result = acc.compute()
    >>> result.mean, round(result.exp_mean, 3), result.max
    (1.75, 5.755, 2.0)

    Several columns, one of which has gaps, and quantiles:

    >>> acc = se.MeanAccumulator(["loss", "latency"], quantiles=[0.5, 0.9], nan="skip")
    >>> batch = {"loss": [0.5, 1.5, 1.0], "latency": [120, float("nan"), 80]}
    >>> result = acc.update(batch).compute()
    >>> result["loss"].mean, result["latency"].mean, result["latency"].quantile(0.5)
    (1.0, 100.0, 100.0)
    """

    __slots__ = ()

    _arrays = ("value",)

    def __init__(
        self,
        columns: Sequence[str] | str | None = None,
        *,
        quantiles: Sequence[float] | float = (),
        budget: int | None = USUAL_BUDGET,
        nan: Literal["raise", "skip"] = "raise",
    ) -> None:
        self._configure(locals())

    def update(self, value: Any, *rest: Any, sample_weight: Any = None) -> Self:
        """Count one batch, or a single value.

        Parameters
        ----------
        value : number, or array of any shape
            The values, finite and at most 2**400 in magnitude; or NaN, with ``nan="skip"``. With
            `columns`, a mapping, data frame or Arrow table with these columns, or a tuple or list
            of the arrays in their order; without, also one with a column ``value``.
        *rest
            With `columns`, the arrays after the first, if they are not one batch.
        sample_weight : number for a number, or array of shape (n,) or that of the values, optional
            Non-negative weights, such as numbers of tokens: 2 counts a value twice, 0 leaves it
            out, whatever it is.

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
        names = self._config.names
        if rest and len(rest) + 1 != len(names):
            raise InvalidInputError(
                f"takes {', '.join(names)}, and sample_weight by keyword; got {len(rest) + 1} "
                "arrays",
                argument="update",
            )
        return self._take_batch(value, *rest, optional=(sample_weight,), may_weigh_entries=False)

    def compute(self) -> Summary | CollectionResult:
        """Compute the numbers.

        Returns
        -------
        Summary, or CollectionResult with `columns`
            Frozen: later updates do not change it. The latter maps each column to its `Summary`.
        """
        from streameval.results.values import values_of  # noqa: PLC0415 (rendering too)

        return values_of(self._state, self._config)

    def _count_arrays(self, /, **arrays: Any) -> Self:
        arrays = _as_items(arrays)
        weighted = WeightedRows.among(arrays)  # of a block, weights may be a mask
        if weighted is not None:
            return weighted.count_by(self._count_arrays)
        sample_weight = arrays.pop("sample_weight", None)
        nan = self._config.nan
        weights = read_weights(sample_weight, rows=len(next(iter(arrays.values()))))
        arrays = {name: as_values(array, name=name, nan=nan) for name, array in arrays.items()}
        if not have_rows(arrays, weights):
            return self
        values = list(arrays.values())
        table = values[0][:, np.newaxis] if len(values) == 1 else np.stack(values).T
        held, rows = self._held, Rows((table,), weights)
        if nan == "skip":
            held, rows = held.skipping(rows, _gaps(table))
        self._held = self._appended(held, rows)
        return self

    def _with_rows(self, state: ValueSums, rows: Rows) -> ValueSums:
        counted = ValueSums.of(self._config, rows.columns[0], rows.fixed_weights)
        return self._sum(state, counted)

    def _block(self, state: ValueSums, rows: Rows) -> RowBuffer:  # noqa: ARG002
        return RowBuffer.like(rows, max(_ENTRIES // self._config.n_columns, 1))


def _as_items(given: Mapping[str, Any]) -> dict[str, Any]:
    """Read single numbers, and arrays of several dimensions, as vectors of items.

    Whatever has another shape than the first array is left as it is: whoever reads it says so.
    """
    arrays = {
        name: as_vector(as_array(one, name=name, allow_missing=True))
        for name, one in given.items()
        if one is not None or name != "sample_weight"
    }
    shape = next(iter(arrays.values())).shape
    if len(shape) != 1:
        arrays = {
            name: array.reshape(-1) if array.shape == shape else array
            for name, array in arrays.items()
        }
    return arrays


def _gaps(rows: Array) -> Mask:
    """Find the rows without any value."""
    is_gap: Mask = np.isnan(rows[:, 0])
    for column in rows.T[1:]:
        if not is_gap.any():
            break
        is_gap &= np.isnan(column)
    return is_gap
