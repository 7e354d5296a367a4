"""How evenly a recommender exposes the items of a catalog."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from streameval.exact.exact_sum import ExactSum
from streameval.exact.fixed_point import FixedPoint


def coverage(n_recommended: int, n_items: int) -> float:
    """Compute the share of the catalog that has been recommended.

    >>> coverage(3, 4)
    0.75

    References
    ----------
    Ge, Delgado-Battenfeld and Jannach, Beyond accuracy: evaluating recommender systems by coverage
    and serendipity (RecSys 2010).
    """
    return n_recommended / n_items


def gini(exposures: FixedPoint, n_items: int) -> float:
    """Compute the Gini coefficient of the exposures of all items; nan without any exposure.

    With the exposures in rising order, of items that were never recommended too,
    ``sum((2 i - n - 1) c_i) / (n sum(c))``, in integers up to the division.

    >>> gini(FixedPoint(np.array([1, 3])), 4)
    0.625

    References
    ----------
    Shani and Gunawardana, Evaluating recommendation systems (Recommender Systems Handbook, 2011).
    """
    before, total, ranked = n_items - len(exposures.whole), 0, 0
    for exposure, size in _sizes(exposures):
        total += exposure * size
        ranked += exposure * size * (2 * before + size - n_items)
        before += size
    return ranked / (n_items * total) if total else math.nan


def entropy(exposures: FixedPoint) -> float:
    """Compute the entropy of the exposures in bits; nan without any exposure.

    >>> entropy(FixedPoint(np.array([2, 1, 1])))
    1.5

    References
    ----------
    Vargas and Castells, Rank and relevance in novelty and diversity metrics for recommender systems
    (RecSys 2011).
    """
    sizes = _sizes(exposures)
    total = sum(exposure * size for exposure, size in sizes)
    terms = (size * (one / total) * math.log2(total / one) for one, size in sizes)
    return math.fsum(terms) if total else math.nan


def mean_of(total: ExactSum, n: FixedPoint) -> float:
    """Divide a sum by the weight of its rows; nan without any.

    >>> mean_of(ExactSum.of(np.array([0.5, 0.25])), FixedPoint(np.array(2)))
    0.375
    """
    weight = n.to_fraction()
    return float(total.to_fraction() / weight) if weight else math.nan


def _sizes(exposures: FixedPoint) -> list[tuple[int, int]]:
    """List the distinct exposures in rising order, in their units, and how many items have each."""
    if exposures.fraction is None:
        values, sizes = np.unique(exposures.whole, return_counts=True)
        return list(zip(values.tolist(), sizes.tolist(), strict=True))
    return sorted(Counter(exposures.units()).items())
