"""Sums over long runs of ranks, in a number of steps that hardly grows with their length.

Only + - * / and what `streameval.exact.log` has are used, element by element.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from streameval.exact.log import exp, expm1, log, log1p

__all__ = ["LAID_OUT", "SmoothTerm", "chance_of_none", "geometric_sums", "power", "smooth_sums"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
SmoothTerm = Callable[[Floats, Ints], Floats]
"""From ranks, which need not be whole, and the numbers of their sums to terms."""

LAID_OUT = 2**8
"""How many ranks of a run are added one by one; what follows is smooth."""

_NODES = (  # of the Gauss-Legendre rule of 12 points on [-1, 1], half of them, and the weights
    (0.12523340851146892, 0.2491470458134028),
    (0.3678314989981802, 0.2334925365383548),
    (0.5873179542866175, 0.2031674267230659),
    (0.7699026741943047, 0.1600783285433462),
    (0.9041172563704749, 0.1069393259953184),
    (0.9815606342467192, 0.0471753363865118),
)
_LEAST_POWER = -700.0  # of e: below it is nothing
_FEW_FACTORS = 32
_LEAST_FOR_STIRLING = 32


def smooth_sums(term: SmoothTerm, first: Ints, last: Ints, scale: SmoothTerm) -> Floats:
    """Add up terms over the whole numbers from `first` to `last`, for each pair of these.

    The integral from ``first - 1/2`` to ``last + 1/2``, corrected at both ends as Euler and
    Maclaurin have it, with central differences in place of derivatives.

    Parameters
    ----------
    term : callable
        The terms, which change slowly from one rank to the next, a bit past both ends too.
    first, last : int64 array, shape (n,)
        The ends, `first` not above `last` + 1.
    scale : callable
        How far from a rank one polynomial of degree 23 still fits the terms.

    Returns
    -------
    float64 array, shape (n,)
        To some 1e-15 of the sum where it has more than `LAID_OUT` terms like those before it.
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
    """Raise a number between 0 and 1 to whole powers."""
    return _exp(_logarithm(base) * exponents)


def geometric_sums(base: float, sizes: Ints) -> Floats:
    """Give ``1 + base + ... + base**(size - 1)``, of a base between 0 and 1."""
    return -expm1(np.maximum(_logarithm(base) * sizes, _LEAST_POWER)) / (1.0 - base)


def _logarithm(base: float) -> Floats:
    return log1p(base - 1.0) if base > 0.5 else log(base)


def _exp(x: Floats) -> Floats:
    return np.where(x < _LEAST_POWER, 0.0, exp(np.maximum(x, _LEAST_POWER)))


def chance_of_none(drawn: Floats, size: Floats, relevant: Floats) -> Floats:
    """Give the probability that the first `drawn` documents of a level are not relevant.

    ``C(size - drawn, relevant) / C(size, relevant)``, at numbers that need not be whole: a
    product where few are relevant, else by Stirling's formula, rearranged so that no two large
    numbers are subtracted. Zero where fewer than 32 of the others are left, which has no chance.
    """
    chance = np.ones(len(drawn))
    few = np.flatnonzero(relevant <= _FEW_FACTORS)
    for number in range(int(relevant[few].max(initial=0.0))):
        some = few[relevant[few] > number]
        chance[some] *= (size[some] - drawn[some] - number) / (size[some] - number)
    many = np.flatnonzero(relevant > _FEW_FACTORS)
    x, m, r = drawn[many], size[many], relevant[many]
    left = np.maximum(m - r - x, _LEAST_FOR_STIRLING)
    logarithm = _log_chance(m - r - left, m, r)
    chance[many] = np.where(m - r - x >= _LEAST_FOR_STIRLING, _exp(logarithm), 0.0)
    return chance


def _log_chance(x: Floats, m: Floats, r: Floats) -> Floats:
    n = m - r
    main = (m - x + 0.5) * log1p(x * r / (m * (n - x))) + r * log1p(-x / n) - x * log1p(r / n)
    return main + (_stirling(m - x) - _stirling(n - x) + _stirling(n) - _stirling(m))


def _stirling(z: Floats) -> Floats:
    """Give what the logarithm of a factorial has past ``(z + 1/2) log z - z`` and a constant."""
    square = 1.0 / (z * z)
    return (1.0 / 12.0 - square * (1.0 / 360.0 - square / 1260.0)) / z
