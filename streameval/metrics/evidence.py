"""Evidence that a metric has passed a limit, which stays valid however often you look.

A pane gives a likelihood ratio. It is at most 1 on average, given everything before the pane, as
long as the metric of the source keeps its limit. The sum of the products of all runs of panes that
end now is the Shiryaev-Roberts e-detector (Shin, Ramdas and Rinaldo, E-detectors: a nonparametric
framework for sequential change detection, 2023): until the limit is broken, it is at most the
number of panes on average, so it first reaches A after A panes on average, or later. A ratio bets
on one alternative. There are 32 alternatives, from close to the limit to far from it; each has its
own sum, and the evidence is the mean of the sums.

The product of all ratios from the first row on is an e-process (Ville, 1939): with a uniform
mixture over the alternatives, it depends only on two counts (Robbins, Statistical methods related
to the law of the iterated logarithm, 1970). The values that it does not reject form a confidence
sequence.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import ClassVar, Self, final

import attrs
import numpy as np

from streameval.configs.options import finite_number, real_number
from streameval.errors import InvalidInputError
from streameval.exact.array_types import Floats
from streameval.metrics.bounded import Interval

TILTS: Floats = 2.0 ** np.linspace(-8.0, 3.0, 32)
"""The distances of the alternatives from the limit, on the scale of log odds."""

_LOG_TILTS = math.log(len(TILTS))
_DROPS: Floats = 2.0 ** np.linspace(-10.0, 0.0, len(TILTS))
_SERIES_FROM = 16.0  # from here on, the series of Stirling's error is accurate to all digits
_MAX_SUMMED = 2**40  # discordant pairs; summing a tail of these takes at most a second
_CHUNK = 2**16


@attrs.frozen(repr=False)
class Limit:
    """The limit of a metric: at least a floor, or at most a ceiling.

    Parameters
    ----------
    value : float
    is_floor : bool
    """

    value: float
    is_floor: bool

    @classmethod
    def of(cls, at_least: float | None, at_most: float | None) -> Self:
        """Read whichever of two arguments is given."""
        if (at_least is None) == (at_most is None):
            raise InvalidInputError("or `at_most`: pass one of the two", argument="at_least")
        if at_most is None:
            return cls(finite_number(at_least, name="at_least"), is_floor=True)
        return cls(finite_number(at_most, name="at_most"), is_floor=False)

    @property
    def name(self) -> str:
        """The name of the argument that set it."""
        return "at_least" if self.is_floor else "at_most"

    @property
    def sign(self) -> float:
        """The direction of the alternatives: below a floor, above a ceiling."""
        return -1.0 if self.is_floor else 1.0

    def is_broken(self, value: float) -> bool:
        """Whether a value is beyond the limit."""
        return value < self.value if self.is_floor else value > self.value

    def within(self, low: float, high: float) -> float:
        """Return the value, which must lie strictly between two numbers."""
        if not low < self.value < high:
            raise InvalidInputError(
                f"must lie strictly between {low:g} and {high:g}, which the metric cannot pass, "
                f"got {self.value!r}",
                argument=self.name,
            )
        return self.value

    def __str__(self) -> str:
        """Write the limit as a condition."""
        return f"{'>=' if self.is_floor else '<='} {self.value:g}"


class Statistic(ABC):
    """The statistic that a test of a metric reads, for one pane or for a total."""

    __slots__ = ()

    is_exact: ClassVar[bool] = True
    """Whether ratios are at most 1 on average without any approximation."""

    @property
    @abstractmethod
    def is_empty(self) -> bool:
        """Whether the statistic has no data."""

    @property
    @abstractmethod
    def value(self) -> float:
        """The value of the metric, or the middle of its bounds; there must be data."""

    @abstractmethod
    def checked(self, limit: Limit) -> float:
        """Return the value of a limit, which the metric must be able to pass."""

    @abstractmethod
    def log_ratios(self, limit: Limit) -> Floats:
        """Compute the logarithm of the likelihood ratio of each alternative to the limit."""

    @abstractmethod
    def interval(self, level: float) -> Interval:
        """Compute the interval that covers the metric of the source at all times at once."""


@final
@attrs.frozen(repr=False)
class Share(Statistic):
    """A sequence of draws in [0, 1]: hits and misses, or parts of both.

    Parameters
    ----------
    low, high : (hits, misses)
        The counts with which the metric is lowest and highest, if they are not known exactly.
    worth : int
        The weight of a hit in the metric ``worth hits / (worth hits + misses)``; 2 for F1.
    """

    low: tuple[float, float]
    high: tuple[float, float]
    worth: int = 1

    @classmethod
    def of(cls, hits: float, misses: float, worth: int = 1) -> Self:
        """Use counts that are known exactly."""
        return cls((hits, misses), (hits, misses), worth)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was drawn."""
        return not any((*self.low, *self.high))

    @property
    def value(self) -> float:
        """The value of the metric; an uncertain draw counts as half a hit."""
        hits, misses = (math.fsum(ends) / 2.0 for ends in zip(self.low, self.high, strict=True))
        return self._value(hits / (hits + misses))

    def checked(self, limit: Limit) -> float:
        """Return a limit between 0 and 1."""
        return limit.within(0.0, 1.0)

    def log_ratios(self, limit: Limit) -> Floats:
        """Bet on the counts that give the least evidence for an alarm."""
        share = self._share(self.checked(limit))
        hits, misses = self.high if limit.is_floor else self.low
        return share_ratios(hits, misses, share, is_floor=limit.is_floor)

    def interval(self, level: float) -> Interval:
        """Compute the hull of the intervals of all possible counts."""
        low, high = share_interval(*self.low, level)[0], share_interval(*self.high, level)[1]
        return self._value(low), self._value(high)

    def _share(self, value: float) -> float:
        """Return the share of hits among draws for a value of the metric."""
        return value / (self.worth - (self.worth - 1) * value)

    def _value(self, share: float) -> float:
        """Return the value of the metric for a share of hits among draws."""
        return self.worth * share / (self.worth * share + 1.0 - share)


@final
@attrs.frozen(repr=False)
class Mean(Statistic):
    """Draws of at least 0, known by their sum and their sum of squares.

    Parameters
    ----------
    n : float
        The number of draws.
    low, high : float
        The bounds of the sum.
    squares : float
        The sum of squares; ignored if the sum is not known exactly.
    upper : float
        The upper bound of a draw; may be infinite.
    """

    n: float
    low: float
    high: float
    squares: float
    upper: float

    @property
    def is_empty(self) -> bool:
        """Whether nothing was drawn."""
        return not self.n

    @property
    def value(self) -> float:
        """The mean."""
        return (self.low + self.high) / 2.0 / self.n

    def checked(self, limit: Limit) -> float:
        """Return a limit between 0 and the upper bound of a draw; a floor needs a finite bound."""
        if limit.is_floor and math.isinf(self.upper):
            raise InvalidInputError(
                "needs a metric with an upper bound: without one, few draws can hold up any mean",
                argument=limit.name,
            )
        return limit.within(0.0, self.upper)

    def log_ratios(self, limit: Limit) -> Floats:
        """Bet on deviations, using the possible sum with the least evidence for an alarm."""
        value = self.checked(limit)
        reach = self.upper - value if limit.is_floor else value
        ends = {self.low, self.high}
        totals = []
        for total in ends:
            squares = self.squares if len(ends) == 1 else self._max_squares(total)
            deviation = limit.sign * (total - self.n * value) / reach
            spread = (squares - 2.0 * value * total + self.n * value * value) / (reach * reach)
            totals.append(mean_ratios(deviation, max(spread, 0.0)))
        return np.asarray(np.minimum.reduce(totals))

    def interval(self, level: float) -> Interval:
        """Compute the interval of a share: a draw in [0, 1] is partly a hit and partly a miss."""
        if math.isinf(self.upper):
            raise InvalidInputError(
                "there is no interval that covers the mean of numbers without an upper bound at "
                "all times"
            )
        ends = (total / self.upper for total in (self.low, self.high))
        low, high = (share_interval(hits, max(self.n - hits, 0.0), level) for hits in ends)
        return low[0] * self.upper, high[1] * self.upper

    def _max_squares(self, total: float) -> float:
        """Bound the sum of squares by the sum."""
        return self.upper * total if math.isfinite(self.upper) else math.inf


@final
@attrs.frozen(repr=False)
class Area(Statistic):
    """An area under the ROC curve and its variance, treated as normal.

    Parameters
    ----------
    low, high : (area, variance)
        The values on the data sets with the lowest and the highest area that the cells allow.
    n_pos, n_neg : float
        The number of examples of each class.
    """

    low: tuple[float, float]
    high: tuple[float, float]
    n_pos: float
    n_neg: float

    is_exact = False

    @property
    def is_empty(self) -> bool:
        """Whether a class has fewer than two examples, so that the variance is undefined."""
        return self.n_pos < 2 or self.n_neg < 2

    @property
    def value(self) -> float:
        """The area."""
        return (self.low[0] + self.high[0]) / 2.0

    def checked(self, limit: Limit) -> float:
        """Return a limit between 0 and 1."""
        return limit.within(0.0, 1.0)

    def log_ratios(self, limit: Limit) -> Floats:
        """Bet on the area that gives the least evidence for an alarm."""
        self.checked(limit)
        area, variance = self.high if limit.is_floor else self.low
        return area_ratios(area, variance, self.n_pos, self.n_neg, limit)

    def interval(self, level: float) -> Interval:  # noqa: ARG002 - there is none
        """Refuse, because an area has no such interval."""
        raise InvalidInputError(
            "has no interval that covers at all times: DeLong's variance is for one look",
            argument="roc_auc",
        )


def share_ratios(
    hits: float | Floats, misses: float | Floats, share: float, *, is_floor: bool
) -> Floats:
    """Compute the log likelihood ratios of draws, for each alternative to a share of hits.

    If the log odds of the alternative are lower, or higher, by a tilt ``d``, a hit has the ratio
    ``q / p = exp(-d) / m`` and a miss ``(1 - q) / (1 - p) = 1 / m``, where
    ``m = 1 - p + p exp(-d)``. The average over any draw in [0, 1] is at most 1 if the mean of the
    draw is at least p, because the exponential function is convex.

    Parameters
    ----------
    hits, misses : float or array of any shape
        Counts, possibly with fractions.
    share : float
        The share of hits p, strictly between 0 and 1.
    is_floor : bool
        Whether alternatives are below the share.

    Returns
    -------
    array of that shape, with an axis more for the alternatives
    """
    tilts = -TILTS if is_floor else TILTS
    of_miss = -np.log1p(share * np.expm1(tilts))
    hits, misses = np.asarray(hits)[..., None], np.asarray(misses)[..., None]
    return np.asarray(hits * (tilts + of_miss) + misses * of_miss)


def mean_ratios(deviations: float | Floats, spreads: float | Floats) -> Floats:
    """Compute log ratios of numbers ``x >= -1``, whose mean is at most 0 while a limit is kept.

    For ``b = 1 - exp(-d)`` it is ``exp(b x - (d - b) x**2)`` that is at most ``1 + b x``, and that
    is at most 1 on average (Fan, Grama and Liu, Exponential inequalities for martingales, 2015).

    Parameters
    ----------
    deviations, spreads : float or array of any shape
        The sums of x and of its squares.

    Returns
    -------
    array of that shape, with one more axis for the tilts d
    """
    bets = -np.expm1(-TILTS)
    deviations, spreads = np.asarray(deviations)[..., None], np.asarray(spreads)[..., None]
    return np.asarray(bets * deviations - (TILTS - bets) * spreads)


def area_ratios(
    area: float | Floats, variance: float | Floats, n_pos: float, n_neg: float, limit: Limit
) -> Floats:
    """Compute log likelihood ratios of normal areas to one at the limit.

    The variance is the higher of two: estimated, and that of exponential scores with an area at
    the limit (Hanley and McNeil, 1982), since with few examples the estimate may be 0.

    Parameters
    ----------
    area, variance : float or array of any shape

    Returns
    -------
    array of that shape, with an axis more for the alternatives
    """
    value = limit.value
    square, of_two_pos, of_two_neg = value**2, value / (2.0 - value), 2.0 * value**2 / (1.0 + value)
    at_limit = value - square
    at_limit += (n_pos - 1.0) * (of_two_pos - square) + (n_neg - 1.0) * (of_two_neg - square)
    variance = np.maximum(variance, at_limit / (n_pos * n_neg))
    drops = _DROPS * (value if limit.is_floor else 1.0 - value)
    off = np.asarray(limit.sign * (np.asarray(area) - value))[..., None]
    return np.asarray(drops * (off - drops / 2.0) / np.asarray(variance)[..., None])


def next_sums(log_sums: Floats, log_ratios: Floats) -> Floats:
    """Advance by a pane: compute ``(sum + 1) ratio`` for each alternative, in logarithms."""
    return np.asarray(np.logaddexp(log_sums, 0.0) + log_ratios)


def mixed(log_sums: Floats) -> Floats:
    """Average the sums over the alternatives, the last axis."""
    return np.asarray(np.logaddexp.reduce(log_sums, axis=-1) - _LOG_TILTS)


@final
@attrs.frozen(eq=False, repr=False)
class Detector:
    """The running sums of the e-detector, pane by pane.

    Parameters
    ----------
    log_sums : array of shape (32,)
        The logarithm of the sum of each alternative.
    log_runs : array of shape (32,)
        The logarithm of the highest product of a run of panes that ends now (Page, 1954).
    ages : array of shape (32,)
        How many panes ago that run began: the likeliest change, if the alternative is true.
    """

    log_sums: Floats
    log_runs: Floats
    ages: Floats

    @classmethod
    def zero(cls) -> Self:
        """Return the sums before the first pane."""
        nothing = np.full(len(TILTS), -math.inf)
        return cls(nothing, nothing, np.zeros(len(TILTS)))

    @classmethod
    def of_means(cls, log_sums: Floats, log_ages: Floats) -> Self:
        """Read the sums of an older release, which held the mean age of runs and no best run."""
        with np.errstate(invalid="ignore"):  # -inf both, before the first pane
            ages = np.rint(np.exp(log_ages - log_sums))
        return cls(log_sums, log_sums, np.nan_to_num(ages))

    def after(self, pane: Statistic, limit: Limit, n_empty: int = 0) -> Self:
        """Advance by a pane, and by the empty panes before it, which do not change the sums."""
        if pane.is_empty:
            return attrs.evolve(self, ages=self.ages + (n_empty + 1.0))
        ratios = pane.log_ratios(limit)
        goes_on = self.log_runs > 0.0
        return type(self)(
            next_sums(self.log_sums, ratios),
            np.where(goes_on, self.log_runs, 0.0) + ratios,
            np.where(goes_on, self.ages + n_empty, 0.0) + 1.0,
        )

    @property
    def log_evidence(self) -> float:
        """The logarithm of the evidence; -inf before the first pane that is not empty."""
        return float(mixed(self.log_sums))

    @property
    def age(self) -> int:
        """The number of panes from the likeliest change on: of the run with the highest product."""
        return int(self.ages[self.log_runs.argmax()])


def accumulated(panes: Iterable[Statistic], limit: Limit) -> Iterator[float]:
    """Yield the logarithm of the evidence after each pane; an empty pane does not change it."""
    detector = Detector.zero()
    for pane in panes:
        detector = detector.after(pane, limit)
        yield detector.log_evidence


def share_interval(hits: float, misses: float, level: float) -> Interval:
    """Compute the shares that a uniform mixture does not reject, at all times at once.

    It contains p if ``(n + 1) C(n, k) p**k (1 - p)**(n - k) > 1 - level`` (Robbins, 1970; Howard,
    Ramdas, McAuliffe and Sekhon, 2021). If draws are parts of hits, it covers the mean
    of draws in [0, 1].

    Parameters
    ----------
    level : float
        The probability of covering the share after every draw, in [0, 1).

    Returns
    -------
    (low, high)
        [0, 1] without draws; rounding moves the ends outward.
    """
    level = real_number(level, name="level")
    if not 0.0 <= level < 1.0:
        raise InvalidInputError(f"must lie in [0, 1), got {level!r}", argument="level")
    n = hits + misses
    if not n:
        return 0.0, 1.0
    enough = math.log(1.0 - level) - math.log1p(n)

    def is_rejected(share: float) -> bool:
        return log_binomial(hits, misses, share) < enough

    value = hits / n
    return _last(is_rejected, 0.0, value), _last(is_rejected, 1.0, value)


def log_binomial(hits: float, misses: float, share: float) -> float:
    """Compute the logarithm of ``C(n, k) p**k (1 - p)**(n - k)``.

    It uses deviances and Stirling's error, which avoid cancellation for large counts (Loader, Fast
    and accurate computation of binomial probabilities, 2000); counts may have fractions.
    """
    n = hits + misses
    if not hits or not misses:
        chance = share if hits else 1.0 - share
        if not n:
            return 0.0
        if not chance:
            return -math.inf
        return n * (math.log(share) if hits else math.log1p(-share))
    if not 0.0 < share < 1.0:
        return -math.inf
    off = deviance(hits, n * share) + deviance(misses, n * (1.0 - share))
    error = _stirling_error(n) - _stirling_error(hits) - _stirling_error(misses)
    return error - off + 0.5 * math.log(n / hits / misses / math.tau)


def paired_evidence(only_a: float, only_b: float) -> float:
    """Compute the logarithm of the evidence that two models are not equally good.

    If they are, a row that only one of them gets right is equally likely to be either model's,
    whatever came before: 2**n over ``(n + 1) C(n, k)`` is a uniform mixture of likelihood ratios.
    """
    return 0.0 - math.log1p(only_a + only_b) - log_binomial(only_a, only_b, 0.5)


def mcnemar_pvalue(only_a: int, only_b: int) -> float:
    """Compute the two-sided p-value of McNemar's exact test: twice the tail, at most 1.

    Beyond 2**40 discordant pairs, it uses the signed root of the deviance, with a relative error
    below 1e-8 if the p-value is above 1e-300.
    """
    fewer, n = min(only_a, only_b), only_a + only_b
    more = n - fewer
    if more - fewer <= 1:
        return 1.0
    if n > _MAX_SUMMED:
        off = deviance(fewer + 0.5, n / 2.0) + deviance(more - 0.5, n / 2.0)
        return math.erfc(math.sqrt(off))
    chance = math.exp(log_binomial(fewer, more, 0.5))
    return min(2.0 * chance * _tail(fewer, more), 1.0)


def _tail(fewer: int, more: int) -> float:
    """Sum the probabilities of 0 to `fewer` heads of a fair coin, relative to the last one."""
    total, term = 1.0, 1.0
    for start in range(0, fewer, _CHUNK):
        steps = np.arange(start, min(start + _CHUNK, fewer))
        terms = term * np.cumprod((fewer - steps) / (more + 1.0 + steps))
        total += math.fsum(terms)
        term = float(terms[-1])
        if term < total * 2.0**-60:
            break
    return total


def deviance(count: float, expected: float) -> float:
    """Compute ``x log(x / m) + m - x`` without cancelling."""
    off = (count - expected) / expected
    if abs(off) < 0.1:
        return expected * _deviance_near(off)
    return count * math.log(count / expected) + expected - count


def _deviance_near(off: float) -> float:
    """Compute ``(1 + e) log(1 + e) - e`` by its series, the sum of ``(-e)**j / (j (j - 1))``."""
    total, power = 0.0, off * off
    for j in range(2, 20):
        total += power / (j * (j - 1))
        power *= -off
    return total


def _stirling_error(x: float) -> float:
    """Compute by how much log x! exceeds Stirling's formula."""
    if x < _SERIES_FROM:
        return math.lgamma(x + 1.0) - (x + 0.5) * math.log(x) + x - 0.5 * math.log(math.tau)
    square = x * x
    return (1 / 12 - (1 / 360 - (1 / 1260 - 1 / 1680 / square) / square) / square) / x


def _last(is_rejected: Callable[[float], bool], outer: float, inner: float) -> float:
    """Find the rejected number nearest to an inner one; `outer` if that is not rejected either."""
    if not is_rejected(outer):
        return outer
    while (middle := (outer + inner) / 2.0) not in (outer, inner):
        outer, inner = (middle, inner) if is_rejected(middle) else (outer, middle)
    return outer
