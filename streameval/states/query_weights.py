"""The weights of queries; none are kept if every query counts once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from streameval.errors import InvalidInputError
from streameval.exact.fixed_point import FixedPoint
from streameval.inputs.labels import canonical_label

Ints = npt.NDArray[np.int64]

NO_WEIGHTS = FixedPoint.zeros(0)
"""The weights if every query counts once."""


def canonical_weights(weights: FixedPoint) -> FixedPoint:
    """Drop weights that are all 1, and fractions that are all 0."""
    if weights.fraction is not None and not weights.fraction.any():
        weights = FixedPoint(weights.whole)
    is_usual = weights.is_whole and bool((weights.whole == 1).all())
    return NO_WEIGHTS if is_usual else weights


def listed_weights(weights: FixedPoint, size: int) -> FixedPoint:
    """List the weights of some queries."""
    return weights if weights.whole.size else FixedPoint(np.ones(size, dtype=np.int64))


def weights_of(weights: FixedPoint, kept: Any) -> FixedPoint:
    """Select the weights of some queries by indices, a slice or a mask."""
    return canonical_weights(weights[kept]) if weights.whole.size else weights


def joined_weights(one: FixedPoint, other: FixedPoint, mine: Ints, theirs: Ints) -> FixedPoint:
    """Join the weights of two sides, given the indices of their queries in the whole."""
    if not one.whole.size and not other.whole.size:
        return NO_WEIGHTS
    size = max(int(index.max(initial=-1)) for index in (mine, theirs)) + 1
    whole, fraction = np.zeros((2, size), dtype=np.int64)
    for weights, index in ((one, mine), (other, theirs)):
        listed = listed_weights(weights, len(index))
        whole[index] = listed.whole
        fraction[index] = 0 if listed.fraction is None else listed.fraction
    return canonical_weights(FixedPoint(whole, fraction))


def check_same_weights(
    one: FixedPoint, other: FixedPoint, ids: npt.NDArray[Any], among: str
) -> None:
    """Refuse a query with two different weights, in rows or batches, given the id of each item."""
    apart = one - other
    differ = apart.whole != 0
    if apart.fraction is not None:
        differ |= apart.fraction != 0
    if differ.any():
        first = int(differ.argmax())
        two = " and ".join(f"{each[first].to_floats():.12g}" for each in (one, other))
        raise InvalidInputError(
            f"must be the same in all {among} of a query, got {two} for query "
            f"{canonical_label(ids[first], name='query')!r}",
            argument="query_weight",
        )
