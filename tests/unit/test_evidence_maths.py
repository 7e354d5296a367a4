"""The mathematics of evidence, against fractions and by enumeration."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from offenders import each
from scipy.stats import binomtest

import streameval as se
from streameval.metrics import evidence as maths
from streameval.metrics.evidence import (
    TILTS,
    Area,
    Limit,
    Mean,
    Share,
    accumulated,
    log_binomial,
    mcnemar_pvalue,
    mean_ratios,
    paired_evidence,
    share_interval,
    share_ratios,
)

FLOOR, CEILING = Limit(0.9, is_floor=True), Limit(0.1, is_floor=False)


def alternatives(limit: Limit) -> list[Fraction]:
    """Move the log odds of a limit by each tilt, in decimals of 40 digits."""
    odds = Fraction(limit.value) / (1 - Fraction(limit.value))
    factors = [Fraction(math.exp(limit.sign * tilt)) for tilt in TILTS]
    return [odds * factor / (1 + odds * factor) for factor in factors]


def naive_evidence(panes: list[tuple[int, int]], limit: Limit) -> list[Fraction]:
    """Sum the products of all runs of panes that end now, for each alternative, and average."""
    p, found = Fraction(limit.value), []
    for end in range(1, len(panes) + 1):
        total = Fraction(0)
        for q in alternatives(limit):
            for start in range(end):
                product = Fraction(1)
                for hits, misses in panes[start:end]:
                    product *= (q / p) ** hits * ((1 - q) / (1 - p)) ** misses
                total += product
        found.append(total / len(TILTS))
    return found


@pytest.mark.slow
@each("limit", [FLOOR, CEILING])
def test_evidence_is_the_sum_over_all_runs_of_panes(limit: Limit) -> None:
    random = np.random.default_rng(1)
    panes = [(int(random.integers(1, 9)), int(random.integers(0, 4))) for _ in range(7)]
    ours = list(accumulated([Share.of(*pane) for pane in panes], limit))
    assert np.exp(ours) == pytest.approx([float(total) for total in naive_evidence(panes, limit)])


def test_evidence_of_f1_is_that_of_jaccard_at_the_floor_that_it_implies() -> None:
    panes = [(17, 9), (20, 3), (4, 8)]
    of_f1 = accumulated([Share.of(*pane, worth=2) for pane in panes], Limit(0.8, is_floor=True))
    of_jaccard = accumulated([Share.of(*p) for p in panes], Limit(0.8 / 1.2, is_floor=True))
    assert list(of_f1) == pytest.approx(list(of_jaccard))


def test_empty_panes_change_nothing() -> None:
    panes = [Share.of(80, 20), Share.of(0, 0), Share.of(70, 30)]
    first, empty, last = accumulated(panes, FLOOR)
    assert (empty, last) == (first, list(accumulated([panes[0], panes[2]], FLOOR))[-1])
    assert list(accumulated([Share.of(0, 0)], FLOOR)) == [-math.inf]


def test_mean_of_no_query_is_empty() -> None:
    assert Mean(0, 0.0, 0.0, 0.0, 1.0).is_empty
    assert not Mean(1, 0.0, 0.0, 0.0, 1.0).is_empty


def test_evidence_begun_later_is_never_more() -> None:
    random = np.random.default_rng(2)
    panes = [Share.of(*random.multinomial(50, [0.88, 0.12]).tolist()) for _ in range(40)]
    whole = list(accumulated(panes, FLOOR))
    for start in range(1, 40):
        assert (np.array(list(accumulated(panes[start:], FLOOR))) <= whole[start:]).all()


def test_evidence_of_wider_panes_is_never_more() -> None:
    random = np.random.default_rng(3)
    counts = random.multinomial(50, [0.88, 0.12], size=40)
    whole = list(accumulated([Share.of(*pane) for pane in counts.tolist()], FLOOR))
    wide = counts.reshape(10, 4, 2).sum(axis=1).tolist()
    rolled = list(accumulated([Share.of(*pane) for pane in wide], FLOOR))
    assert (np.array(rolled) <= np.array(whole[3::4]) + 1e-12).all()


@each("limit", [FLOOR, CEILING])
@each("off", [0.0, 0.03, 0.1])
def test_ratio_of_a_pane_is_at_most_one_on_average_over_all_outcomes(
    limit: Limit, off: float
) -> None:
    share, n = limit.value - limit.sign * off, 12
    chances = [math.comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(n + 1)]
    ratios = [np.exp(Share.of(k, n - k).log_ratios(limit)) for k in range(n + 1)]
    mean = np.array(chances) @ np.array(ratios)
    assert (mean <= 1 + 1e-12).all()
    assert off or mean == pytest.approx(np.ones(len(TILTS)))


def outcomes(n: int) -> Iterator[tuple[float, list[int]]]:
    """List all outcomes of draws whose chance depends on the past, never below 0.9, and theirs."""
    for draws in itertools.product([0, 1], repeat=n):
        chance = 1.0
        for at, draw in enumerate(draws):
            kept = 0.9 + 0.09 * (sum(draws[:at]) % 2) + 0.005 * (at % 3)
            chance *= kept if draw else 1 - kept
        yield chance, list(draws)


def test_evidence_is_at_most_the_number_of_panes_on_average_of_dependent_draws() -> None:
    expected = np.zeros(5)
    for chance, draws in outcomes(10):
        panes = [
            Share.of(sum(pair), 2 - sum(pair)) for pair in zip(draws[::2], draws[1::2], strict=True)
        ]
        expected += chance * np.exp(list(accumulated(panes, FLOOR)))
    assert (expected <= np.arange(1, 6)).all()
    assert (expected > 0.5 * np.arange(1, 6)).all()


@pytest.mark.slow
def test_evidence_stopped_at_an_alarm_is_at_most_the_panes_waited_on_average() -> None:
    """Stopping is where a promise could break: it is the mean of a sum at a time that it chose."""
    waited = reached = 0.0
    for chance, draws in outcomes(12):
        series = np.exp(list(accumulated([Share.of(d, 1 - d) for d in draws], FLOOR)))
        fired = series >= 3.0
        at = int(fired.argmax()) if fired.any() else len(series) - 1
        waited, reached = waited + chance * (at + 1), reached + chance * series[at]
    assert reached <= waited


@each("limit", [FLOOR, CEILING])
def test_ratio_of_draws_between_0_and_1_is_at_most_one_on_average(limit: Limit) -> None:
    values, random = np.array([0.0, 0.3, 0.5, 1.0]), np.random.default_rng(4)
    for _ in range(200):
        chances = random.dirichlet(np.ones(4))
        mean = chances @ values
        if (mean - limit.value) * limit.sign > 0:
            continue
        of_share = np.exp(share_ratios(values, 1 - values, limit.value, is_floor=limit.is_floor))
        of_mean = [np.exp(Mean(1, x, x, x * x, 1.0).log_ratios(limit)) for x in values.tolist()]
        assert (chances @ of_share <= 1 + 1e-12).all()
        assert (chances @ np.array(of_mean) <= 1 + 1e-12).all()


def test_ratio_of_a_number_is_below_its_line() -> None:
    x = np.linspace(-1, 40, 4001)
    bets = -np.expm1(-TILTS)
    assert (np.exp(mean_ratios(x, x * x)) <= (1 + np.outer(x, bets)) * (1 + 1e-12)).all()


def test_ratio_of_a_mean_finds_a_drop_sooner_than_that_of_a_share_with_little_spread() -> None:
    n, limit = 1000, Limit(0.6, is_floor=True)
    mean, square = 0.55, 0.55**2 + 0.01
    narrow = Mean(n, n * mean, n * mean, n * square, 1.0).log_ratios(limit).max()
    assert narrow > 2 * Share.of(n * mean, n * (1 - mean)).log_ratios(limit).max()


@each("limit", [FLOOR, CEILING])
def test_counts_that_are_open_speak_against_an_alarm(limit: Limit) -> None:
    ratios = Share((30, 12), (35, 9)).log_ratios(limit)
    possible = [
        Share.of(hits, misses).log_ratios(limit) for hits in (30, 32, 35) for misses in (9, 10, 12)
    ]
    assert (ratios <= np.min(possible, axis=0) + 1e-12).all()


@each("limit", [FLOOR, CEILING])
def test_sums_that_are_open_speak_against_an_alarm(limit: Limit) -> None:
    random = np.random.default_rng(5)
    for _ in range(50):
        values = random.random(20)
        total, squares = values.sum(), (values**2).sum()
        exact = Mean(20, total, total, squares, 1.0).log_ratios(limit)
        opened = Mean(20, total - 0.5, total + 0.3, -1.0, 1.0).log_ratios(limit)
        assert (opened <= exact).all()


def test_ceiling_holds_of_numbers_without_an_upper_bound_and_a_floor_does_not() -> None:
    gains = Mean(50, 400.0, 400.0, 5000.0, math.inf)
    assert gains.log_ratios(Limit(5.0, is_floor=False)).max() > 0
    assert (Mean(50, 399.0, 400.0, 0.0, math.inf).log_ratios(Limit(5.0, is_floor=False)) < 0).all()
    with pytest.raises(se.InvalidInputError, match="`at_least` needs a metric with an upper bound"):
        gains.checked(Limit(5.0, is_floor=True))
    with pytest.raises(se.InvalidInputError, match="no interval that covers the mean of numbers"):
        gains.interval(0.95)


@each("size", [1, 1000, 2.0**62])
def test_counts_of_any_size_overflow_nothing(size: float) -> None:
    extreme = [Limit(value, is_floor=True) for value in (1e-300, 1 - 2**-53)]
    with np.errstate(all="raise", under="ignore"):
        for limit in (FLOOR, CEILING, *extreme):
            for pair in [(size, 0.0), (0.0, size), (size, size)]:
                assert np.isfinite(Share.of(*pair).log_ratios(limit)).all()
                assert np.isfinite(list(accumulated([Share.of(*pair)] * 3, limit))).all()


@each("value", [0.0, 1.0, -0.1, 1.5])
def test_limit_that_the_metric_cannot_pass_is_refused(value: float) -> None:
    for statistic in (Share.of(1, 1), Mean(2, 1, 1, 1, 1.0), Area((0.5, 0.1), (0.5, 0.1), 5, 5)):
        with pytest.raises(se.InvalidInputError, match="`at_least` must lie strictly between 0"):
            statistic.log_ratios(Limit(value, is_floor=True))


# areas


def test_area_bets_on_the_end_that_speaks_against_an_alarm() -> None:
    area = Area((0.7, 0.002), (0.75, 0.002), 30, 60)
    for limit, end in [(Limit(0.8, is_floor=True), 0.75), (Limit(0.6, is_floor=False), 0.7)]:
        alone = Area((end, 0.002), (end, 0.002), 30, 60)
        assert area.log_ratios(limit) == pytest.approx(alone.log_ratios(limit))


def test_area_without_a_variance_takes_that_at_the_limit() -> None:
    limit = Limit(0.8, is_floor=True)
    ratios = Area((0.0, 0.0), (0.0, 0.0), 2, 2).log_ratios(limit)
    assert np.isfinite(ratios).all()
    by_hand = (0.8 * 0.2 + (0.8 / 1.2 - 0.64) + (2 * 0.64 / 1.8 - 0.64)) / 4
    assert ratios[-1] == pytest.approx(0.8 * (0.8 - 0.4) / by_hand)


@each("sizes", [(1, 50), (50, 1), (0, 0)])
def test_area_of_fewer_than_two_of_a_class_is_empty(sizes: tuple[int, int]) -> None:
    assert Area((math.nan, math.nan), (math.nan, math.nan), *sizes).is_empty


# binomial probabilities and confidence sequences


@each(
    ("hits", "misses", "share"),
    [(0, 0, 0.5), (0, 9, 0.3), (9, 0, 0.3), (3, 4, 0.2), (40, 1, 0.9), (900, 100, 0.95)],
)
def test_log_binomial_is_that_of_fractions(hits: int, misses: int, share: float) -> None:
    p = Fraction(share)
    exact = math.comb(hits + misses, hits) * p**hits * (1 - p) ** misses
    log = math.log(exact.numerator) - math.log(exact.denominator)
    assert log_binomial(hits, misses, share) == pytest.approx(log, rel=1e-12, abs=1e-12)


@each(
    ("hits", "misses", "share", "expected"),
    [
        *((3, 4, 0.0, -math.inf), (3, 4, 1.0, -math.inf), (3, 0, 0.0, -math.inf)),
        *((0, 3, 1.0, -math.inf), (3, 0, 1.0, 0.0), (0, 3, 0.0, 0.0)),
    ],
)
def test_log_binomial_of_what_is_certain(
    hits: int, misses: int, share: float, expected: float
) -> None:
    assert log_binomial(hits, misses, share) == expected


@each("n", [1, 30])
def test_interval_of_a_share_of_none_or_all_ends_there(n: int) -> None:
    low, high = share_interval(0, n, 0.9)
    assert low == 0.0 < high < 1.0
    assert share_interval(n, 0, 0.9) == pytest.approx((1.0 - high, 1.0), rel=1e-12)
    assert share_interval(n, 0, 0.9)[1] == 1.0


@pytest.mark.uncovered
@pytest.mark.slow
@each("share", [0.05, 0.3, 0.5, 0.9])
@each("level", [0.8, 0.95])
def test_confidence_sequence_covers_at_all_times_at_once(share: float, level: float) -> None:
    """Follow every path of 60 draws; one that an interval has lost once is lost."""
    kept, lost = {0: 1.0}, 0.0
    for n in range(1, 61):
        reached: dict[int, float] = {}
        for k, chance in kept.items():
            reached[k + 1] = reached.get(k + 1, 0.0) + chance * share
            reached[k] = reached.get(k, 0.0) + chance * (1 - share)
        kept = {}
        for k, chance in reached.items():
            low, high = share_interval(k, n - k, level)
            if low <= share <= high:
                kept[k] = chance
            else:
                lost += chance
    assert 0 < lost <= 1 - level


def test_confidence_sequence_is_what_the_mixture_does_not_reject() -> None:
    low, high = share_interval(45, 5, 0.95)
    for share, is_inside in [(low, False), (low + 1e-9, True), (high - 1e-9, True), (high, False)]:
        p = Fraction(share)
        evidence = 1 / (51 * math.comb(50, 45) * p**45 * (1 - p) ** 5)
        assert (evidence < 20) == is_inside


def test_confidence_sequence_is_wider_than_the_interval_of_one_look() -> None:
    result = se.ConfusionAccumulator().update([1] * 200, [1] * 180 + [0] * 20).compute()
    low, high = result.confidence_sequence("accuracy")
    assert low < result.confidence("accuracy")[0] < result.confidence("accuracy")[1] < high


def test_confidence_sequence_of_nothing_is_everything() -> None:
    assert se.ConfusionAccumulator().compute().confidence_sequence("accuracy") == (0.0, 1.0)


@each("level", [-0.1, 1.0, 7])
def test_confidence_sequence_refuses_what_is_no_level(level: float) -> None:
    with pytest.raises(se.InvalidInputError, match=r"`level` must lie in \[0, 1\)"):
        se.ConfusionAccumulator().compute().confidence_sequence("accuracy", level=level)


def test_confidence_sequence_of_f1_is_that_of_jaccard() -> None:
    result = se.ConfusionAccumulator().update([1] * 50 + [0] * 9, [1] * 40 + [0] * 10 + [1] * 9)
    f1, jaccard = map(result.compute().confidence_sequence, ("f_score", "jaccard"))
    assert f1 == pytest.approx([2 * end / (1 + end) for end in jaccard])


def test_confidence_sequence_of_open_counts_covers_both_ends() -> None:
    low, high = Share((30, 20), (40, 10)).interval(0.9)
    assert (low, high) == (share_interval(30, 20, 0.9)[0], share_interval(40, 10, 0.9)[1])


# two models


@each(("a", "b"), [(0, 0), (3, 9), (9, 3), (40, 0), (1000, 1100), (5, 6)])
def test_mcnemar_is_the_exact_binomial_test(a: int, b: int) -> None:
    expected = binomtest(a, a + b).pvalue if a + b else 1.0
    assert mcnemar_pvalue(a, b) == pytest.approx(expected, rel=1e-12)


def test_mcnemar_of_a_long_tail_is_summed_in_pieces() -> None:
    a, b = 2 * 10**9, 2 * 10**9 + 10**4  # a deviation of 0.16, so that terms hardly fall
    z = (10**4 - 1) / math.sqrt(a + b)
    assert mcnemar_pvalue(a, b) == pytest.approx(math.erfc(z / math.sqrt(2)), rel=1e-7)


@pytest.mark.parametrize("deviations", [0.01, 1.0, 5.0, 20.0])
def test_mcnemar_of_huge_counts_agrees_with_the_sum(
    deviations: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    n = 2**41
    a = n // 2 - round(deviations * math.sqrt(n) / 2)
    by_root = mcnemar_pvalue(a, n - a)
    monkeypatch.setattr(maths, "_MAX_SUMMED", n)
    assert by_root == pytest.approx(mcnemar_pvalue(a, n - a), rel=1e-8)


def test_paired_evidence_stays_below_its_promise_on_all_paths() -> None:
    """Of two equal models, it ever reaches 1 / a with a probability of at most a."""
    kept, lost = {0: 1.0}, 0.0
    for n in range(1, 101):
        reached: dict[int, float] = {}
        for k, chance in kept.items():
            for to in (k, k + 1):
                reached[to] = reached.get(to, 0.0) + chance / 2
        is_alarm = {k: paired_evidence(k, n - k) >= math.log(20) for k in reached}
        lost += sum(chance for k, chance in reached.items() if is_alarm[k])
        kept = {k: chance for k, chance in reached.items() if not is_alarm[k]}
    assert 0 < lost <= 0.05
