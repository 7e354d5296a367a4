"""Sums over long runs of ranks, in a number of steps that hardly grows with their length.

Only + - * / and the functions of `streameval.exact.log` are used, element by element.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from streameval.exact.array_types import Floats, Ints
from streameval.exact.log import exp, expm1, log, log1p

SmoothTerm = Callable[[Floats, Ints], Floats]
"""Maps ranks, which need not be integers, and the indices of their sums to terms."""

LAID_OUT = 2**8
"""The number of ranks of a run that are added one by one; the rest is summed by smooth formulas."""

_NODES = (  # half the nodes of the Gauss-Legendre rule of 12 points on [-1, 1], with weights
    (0.12523340851146892, 0.2491470458134028),
    (0.3678314989981802, 0.2334925365383548),
    (0.5873179542866175, 0.2031674267230659),
    (0.7699026741943047, 0.1600783285433462),
    (0.9041172563704749, 0.1069393259953184),
    (0.9815606342467192, 0.0471753363865118),
)
_MIN_POWER = -700.0  # smaller powers of e count as 0
_FEW_FACTORS = 32
_MIN_FOR_STIRLING = 32


def smooth_sums(term: SmoothTerm, first: Ints, last: Ints, scale: SmoothTerm) -> Floats:
    """Add up terms over the integers from `first` to `last`, for each pair of these.

    The integral from ``first - 1/2`` to ``last + 1/2`` with the Euler-Maclaurin corrections at
    both ends, which use central differences instead of derivatives.

    Parameters
    ----------
    term : callable
        The terms, which change slowly from rank to rank, also just beyond both ends.
    first, last : int64 array, shape (n,)
        The ends, with `first` at most `last` + 1.
    scale : callable
        The distance from a rank within which a polynomial of degree 23 fits the terms.

    Returns
    -------
    float64 array, shape (n,)
        The relative error is about 1e-15 for sums of more than `LAID_OUT` terms.
    """
    which = np.arange(len(first))
    low, high = first.astype(np.float64), last.astype(np.float64)
    at, end, total = low - 0.5, high + 0.5, np.zeros(len(first))
    active = np.flatnonzero(at < end)
    while len(active):
        start = at[active]
        half = 0.5 * np.minimum(scale(start, active), end[active] - start)
        middle = start + half
        part = np.zeros(len(active))
        for node, weight in _NODES:
            reach = node * half
            part += weight * (term(middle - reach, active) + term(middle + reach, active))
        total[active] += half * part
        at[active] = start + 2.0 * half
        active = active[at[active] < end[active]]
    for sign, edge in ((1.0, low - 1.0), (-1.0, high)):  # the terms on both sides of each end
        a, b, c, d = (term(edge + step, which) for step in (-1.0, 0.0, 1.0, 2.0))
        total += sign * ((c - b) / 24.0 - 17.0 / 5760.0 * (d - 3.0 * c + 3.0 * b - a))
    return total


def power(base: float, exponents: Ints) -> Floats:
    """Raise a number between 0 and 1 to integer powers."""
    return _exp(_logarithm(base) * exponents)


def geometric_sums(base: float, sizes: Ints) -> Floats:
    """Compute ``1 + base + ... + base**(size - 1)`` for a base between 0 and 1."""
    return -expm1(np.maximum(_logarithm(base) * sizes, _MIN_POWER)) / (1.0 - base)


def _logarithm(base: float) -> Floats:
    return log1p(base - 1.0) if base > 0.5 else log(base)


def _exp(x: Floats) -> Floats:
    return np.where(x < _MIN_POWER, 0.0, exp(np.maximum(x, _MIN_POWER)))


def chance_of_none(drawn: Floats, size: Floats, relevant: Floats) -> Floats:
    """Compute the probability that the first `drawn` documents of a level are not relevant.

    ``C(size - drawn, relevant) / C(size, relevant)`` for real numbers: a product if few are
    relevant, else Stirling's formula, rearranged so that no two large numbers are subtracted.
    It is 0 if fewer than 32 nonrelevant documents are left, when it is negligible.
    """
    chance = np.ones(len(drawn))
    few = np.flatnonzero(relevant <= _FEW_FACTORS)
    for number in range(int(relevant[few].max(initial=0.0))):
        some = few[relevant[few] > number]
        chance[some] *= (size[some] - drawn[some] - number) / (size[some] - number)
    many = np.flatnonzero(relevant > _FEW_FACTORS)
    x, m, r = drawn[many], size[many], relevant[many]
    left = np.maximum(m - r - x, _MIN_FOR_STIRLING)
    logarithm = _log_chance(m - r - left, m, r)
    chance[many] = np.where(m - r - x >= _MIN_FOR_STIRLING, _exp(logarithm), 0.0)
    return chance


def _log_chance(x: Floats, m: Floats, r: Floats) -> Floats:
    n = m - r
    main = (m - x + 0.5) * log1p(x * r / (m * (n - x))) + r * log1p(-x / n) - x * log1p(r / n)
    return main + (_stirling(m - x) - _stirling(n - x) + _stirling(n) - _stirling(m))


def _stirling(z: Floats) -> Floats:
    """Compute the terms of a log factorial beyond ``(z + 1/2) log z - z`` and a constant."""
    square = 1.0 / (z * z)
    return (1.0 / 12.0 - square * (1.0 / 360.0 - square / 1260.0)) / z
