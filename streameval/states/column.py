"""Columns of a state: plain arrays that identify its rows."""

from __future__ import annotations

import attrs
import numpy as np

from streameval.exact.array_types import Array


@attrs.frozen(eq=False)
class Column:
    """A vector of int64, uint64, or strings.

    Counts are `FixedPoint`; keys, levels and names are columns.

    Parameters
    ----------
    values : array, shape (n,)
        int64 or uint64, or objects that are strings.
    """

    values: Array

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self.values)

    @property
    def kind(self) -> str:
        """What the column holds, "int64", "uint64" or "text"."""
        return "text" if self.values.dtype == object else self.values.dtype.name

    def __eq__(self, other: object) -> bool:
        """Return whether type and items are equal."""
        if not isinstance(other, Column):
            return NotImplemented
        return self.kind == other.kind and bool(np.array_equal(self.values, other.values))

    __hash__ = None  # type: ignore[assignment]
