"""Counts of rows by which of two models is right."""

from __future__ import annotations

from typing import Any, Self, final

import attrs
import numpy as np
import numpy.typing as npt

from streameval.errors import require
from streameval.exact.fixed_point import FixedPoint
from streameval.states.stack import SummableState
from streameval.states.state import check_numbers


@final
@attrs.frozen
class PairedCounts(SummableState):
    """Weights by whether model A, and whether model B, is right.

    Parameters
    ----------
    n : FixedPoint, shape ()
        The sum of the weights.
    outcomes : FixedPoint, shape (2, 2)
        Rows are A, columns B: wrong, then right.
    """

    outcomes: FixedPoint

    @classmethod
    def zero(cls, config: Any) -> Self:  # noqa: ARG003 - one signature for all
        """Return empty counts."""
        return cls(FixedPoint.zeros(()), FixedPoint.zeros((2, 2)))

    @classmethod
    def of(cls, codes: npt.NDArray[np.uint8], weights: FixedPoint | None) -> Self:
        """Count rows by code: 2 if A is right, and 1 more if B is."""
        if weights is None:
            outcomes = FixedPoint(np.bincount(codes, minlength=4).astype(np.int64))
            n = FixedPoint(np.array(len(codes), dtype=np.int64))
        else:
            outcomes, n = weights.scatter(codes.astype(np.intp), 4), weights.total()
        return cls(n, outcomes.reshape(2, 2))

    def __add__(self, other: Self) -> Self:
        """Add cell by cell; the total comes first, so that it overflows first."""
        return type(self)(self.n + other.n, self.outcomes + other.outcomes)

    def check(self, config: Any) -> None:  # noqa: ARG002 - one signature for all
        """Check shapes, ranges and that the cells add up to the total."""
        check_numbers(self.n, (), "n")
        check_numbers(self.outcomes, (2, 2), "outcomes")
        require(self.outcomes.reshape(-1).total() == self.n, "outcomes do not add up to n")
