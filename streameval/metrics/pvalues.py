"""The p-value of Student's t-test, and Holm's correction of several p-values."""

from __future__ import annotations

import math
from collections.abc import Sequence

_SMALLEST = 1e-300
_LARGE = 100.0  # from here on, the series of the gamma ratio is exact to the last bits


def student_pvalue(t: float, degrees: float) -> float:
    """Compute the two-sided p-value of a t statistic.

    It is the regularized incomplete beta function ``I_x(degrees / 2, 1 / 2)`` at
    ``x = degrees / (degrees + t**2)`` (Abramowitz and Stegun, 1964, 26.5.27), by its continued
    fraction (26.5.8), to nine digits and more.

    Parameters
    ----------
    t : float
        The statistic; infinite ones have the p-value 0.
    degrees : float
        The degrees of freedom, above 0.

    Returns
    -------
    float
        In [0, 1]; nan for a nan.

    Examples
    --------
    >>> round(student_pvalue(2.0, 10), 6)
    0.073388
    """
    a, square = degrees / 2.0, t * t
    if not math.isfinite(square):
        return math.nan if math.isnan(t) else 0.0
    x, rest = degrees / (degrees + square), square / (degrees + square)
    # x**a * (1 - x)**(1 / 2) / B(a, 1 / 2)
    front = math.exp(_log_gamma_ratio(a) - a * math.log1p(square / degrees))
    front *= math.sqrt(rest / math.pi)
    if x < (a + 1.0) / (a + 2.5):
        return front * _fraction(x, a, 0.5) / a
    return 1.0 - front * _fraction(rest, 0.5, a) / 0.5


def _log_gamma_ratio(a: float) -> float:
    """Compute ``log(gamma(a + 1 / 2) / gamma(a))``, without cancellation for large numbers."""
    if a < _LARGE:
        return math.lgamma(a + 0.5) - math.lgamma(a)
    return math.log(a) / 2.0 - 1.0 / (8.0 * a) + 1.0 / (192.0 * a**3) - 1.0 / (640.0 * a**5)


def _fraction(x: float, a: float, b: float) -> float:
    """Compute the continued fraction of the incomplete beta function (Lentz's method)."""
    d = 1.0 / _away_from_zero(1.0 - (a + b) * x / (a + 1.0))
    c, value, m = 1.0, d, 0
    while True:
        m += 1
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        for term in (even, odd):
            d = 1.0 / _away_from_zero(1.0 + term * d)
            c = _away_from_zero(1.0 + term / c)
            value *= c * d
        if abs(c * d - 1.0) < 1e-15:
            return value


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _SMALLEST else _SMALLEST


def holm(pvalues: Sequence[float]) -> list[float]:
    """Correct p-values for their number, so that errors of the first kind are rare among all.

    The i-th smallest of m is multiplied by ``m - i + 1``, and is at least the one before it. If the
    corrected ones up to alpha are called significant, the probability of any false one is at most
    alpha, however the tests depend on each other (Holm, A simple sequentially rejective multiple
    test procedure, 1979).

    Parameters
    ----------
    pvalues : sequence of float
        nan stays nan and is not counted.

    Returns
    -------
    list of float
        In the same order, at most 1.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    corrected = [math.nan] * len(pvalues)
    known = [index for index, one in enumerate(pvalues) if not math.isnan(one)]
    highest = 0.0
    for rank, index in enumerate(sorted(known, key=lambda index: pvalues[index])):
        highest = max(highest, min((len(known) - rank) * pvalues[index], 1.0))
        corrected[index] = highest
    return corrected
