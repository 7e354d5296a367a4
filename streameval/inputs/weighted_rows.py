"""Rows that have weight: one of weight 0 is left out before anything else of it is looked at.

Padding and rows that a caller masks by a weight of 0 may hold anything: labels of no class, NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self, TypeVar

import attrs
import numpy as np

from streameval.errors import InvalidInputError
from streameval.exact.array_types import Array, Indices
from streameval.inputs.arrays import as_array, to_host
from streameval.inputs.coded import CodedTexts

CountedT = TypeVar("CountedT")


@attrs.frozen(eq=False, repr=False)
class WeightedRows:
    """The rows of a batch that have weight, where some have none.

    Parameters
    ----------
    arrays : dict from name to array
        What `update` takes, without the other rows.
    index : int array
        The positions of the rows in the batch.
    """

    arrays: dict[str, Any]
    index: Indices

    @classmethod
    def among(cls, arrays: Mapping[str, Any], *, may_weigh_entries: bool = True) -> Self | None:
        """Take out the rows that have a `sample_weight`; None if all have, as in `of`."""
        weights: Any = arrays.get("sample_weight")
        index = weighted_rows(weights)
        if index is not None and np.ndim(weights) > 1:
            is_read = may_weigh_entries and _are_of_entries(weights, arrays)
            index = index if is_read else None
        return None if index is None else cls.of(arrays, index, rows=len(weights))

    @classmethod
    def of(cls, arrays: Mapping[str, Any], index: Indices, *, rows: int) -> Self | None:
        """Take rows out of the arrays of a batch.

        None if an array has another number of rows: whoever reads the arrays says so.
        """
        hosted = {name: to_host(value, name=name) for name, value in arrays.items()}
        if any(_length(value) not in (None, rows) for value in hosted.values()):
            return None
        return cls({name: _taken(value, index) for name, value in hosted.items()}, index)

    def count_by(self, update: Callable[..., CountedT]) -> CountedT:
        """Update by these rows; the position in an error is that in the whole batch.

        An error without a position may give a shape, which is that of these rows: it says so.
        """
        try:
            return update(**self.arrays)
        except InvalidInputError as error:
            if error.position is None:
                raise error.within("rows with weight") from None
            raise error.moved(self.index.tolist()) from None


def are_positive(weights: Any) -> bool:
    """Tell whether weights are certainly above 0, in a fraction of the time of all checks."""
    if type(weights) is not np.ndarray or weights.dtype.kind not in "iuf" or not weights.size:
        return False
    return bool(weights.item(weights.argmin()) > 0)


def weighted_rows(weights: Any) -> Indices | None:
    """Find the rows that have weight; None if all have, or if these are no weights.

    A row with weights of its entries has weight if one of them has.
    """
    if weights is None or are_positive(weights):
        return None
    try:
        array = as_array(weights, name="sample_weight")
    except InvalidInputError:  # whoever reads the weights says what is wrong
        return None
    if not array.ndim or array.dtype.kind not in "biuf" or not array.size:
        return None
    if array.item(array.argmin()) != 0:  # NaN if there is one
        return None
    has_weight = array.any(axis=tuple(range(1, array.ndim)))
    return None if has_weight.all() else np.flatnonzero(has_weight)


def _are_of_entries(weights: Any, arrays: Mapping[str, Any]) -> bool:
    """Tell whether weights have the shape of the first array; whoever reads others refuses them."""
    try:
        return bool(np.shape(weights) == np.shape(next(iter(arrays.values()))))
    except ValueError:  # rows of several lengths
        return False


def rows_of_units(index: Indices, labels: Array) -> Indices:
    """Find the rows that share their label with one of these: those of the same queries."""
    known = labels.tolist()
    units = set(map(known.__getitem__, index.tolist()))
    return np.array([row for row, label in enumerate(known) if label in units], dtype=np.intp)


def _length(value: Any) -> int | None:
    """Count the rows of an array; None for what belongs to no row, such as a mapping."""
    if value is None or isinstance(value, Mapping):
        return None
    if isinstance(value, (str, bytes)):
        return -1
    try:
        return len(value)
    except TypeError:  # another scalar
        return -1


def _taken(value: Any, index: Indices) -> Any:
    """Take rows out of an array, a sequence, or a column or table of any library."""
    if _length(value) is None:
        return value
    if isinstance(value, (list, tuple)):
        return [value[row] for row in index.tolist()]
    if hasattr(value, "iloc"):
        return value.iloc[index]
    if hasattr(value, "to_pylist"):
        return value.take(index)
    is_indexed = isinstance(value, CodedTexts) or hasattr(value, "to_arrow")
    return value[index] if is_indexed else np.asarray(value)[index]
