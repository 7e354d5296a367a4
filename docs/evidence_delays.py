"""Simulate false alarms and delays of `evidence` and of the usual rules; print the docs' tables.

Run ``python docs/evidence_delays.py``; it takes seven minutes. Panes are drawn as counts, so that
2,000 days of a pane a minute take seconds each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from streameval.metrics.evidence import (
    TILTS,
    Limit,
    area_ratios,
    mean_ratios,
    mixed,
    next_sums,
    share_ratios,
)
from streameval.metrics.intervals import normal_quantile

SERIES, DAYS, PANES, ROWS = 20, 100, 1440, 100
TEN_MINUTES = 144  # panes of a day
FLOOR = 0.9
PROMISE = 30 * PANES  # panes between false alarms, on average
SEED = 20_260

Floats = npt.NDArray[np.float64]
Level = Callable[[np.random.Generator], Iterator[Floats]]
Rule = Callable[[], Callable[[Floats, Floats], npt.NDArray[np.bool_]]]


def constant(level: float) -> Level:
    """Let the share that is right be the same in every pane."""

    def levels(random: np.random.Generator) -> Iterator[Floats]:  # noqa: ARG001 - as of all
        while True:
            yield np.full(SERIES, level)

    return levels


def drifting(random: np.random.Generator) -> Iterator[Floats]:
    """Let it wander around 0.91 for hours, below the floor for a sixth of the time."""
    off = np.zeros(SERIES)
    while True:
        off = 0.995 * off + 0.01 * math.sqrt(1 - 0.995**2) * random.normal(size=SERIES)
        yield 0.91 + off


def three_below() -> Callable[[Floats, Floats], npt.NDArray[np.bool_]]:
    """Fire while the value has been below the floor for three panes."""
    run = np.zeros(1)

    def step(hits: Floats, n: Floats) -> npt.NDArray[np.bool_]:
        nonlocal run
        run = np.where(hits < FLOOR * n, run + 1, 0)
        return run >= 3

    return step


def wilson_below() -> Callable[[Floats, Floats], npt.NDArray[np.bool_]]:
    """Fire while the 95% interval of the pane is below the floor."""
    z = normal_quantile(0.95)

    def step(hits: Floats, n: Floats) -> npt.NDArray[np.bool_]:
        off = FLOOR * n - hits  # Wilson's interval is of the floors that this does not reach
        return np.asarray(off > z * np.sqrt(n * FLOOR * (1 - FLOOR)))

    return step


def total_below() -> Callable[[Floats, Floats], npt.NDArray[np.bool_]]:
    """Fire while the 95% interval of the total since the start is below the floor."""
    of_pane, total = wilson_below(), [0.0, 0.0]

    def step(hits: Floats, n: Floats) -> npt.NDArray[np.bool_]:
        total[:] = total[0] + hits, total[1] + n
        return of_pane(*total)

    return step


def detector(ratios: Callable[..., Floats], promise: float = PROMISE) -> Rule:
    """Fire where the evidence reaches its threshold, and begin again after that."""

    def make() -> Callable[..., npt.NDArray[np.bool_]]:
        sums = np.full((1, len(TILTS)), -np.inf)

        def step(*counts: Floats) -> npt.NDArray[np.bool_]:
            nonlocal sums
            sums = next_sums(sums, ratios(*counts))
            fires = mixed(sums) >= math.log(promise)
            sums = np.where(fires[:, None], -np.inf, sums)
            return fires

        return step

    return make


def of_accuracy(hits: Floats, n: Floats) -> Floats:
    """Bet on accuracy."""
    return share_ratios(hits, n - hits, FLOOR, is_floor=True)


RULES: dict[str, Rule] = {
    "value below 0.9 for three panes": three_below,
    "95% interval of the pane below 0.9": wilson_below,
    "95% interval of the total below 0.9": total_below,
    "`evidence`, 1 per 30d": detector(of_accuracy),
}
LEVELS: dict[str, Level] = {
    "0.91": constant(0.91),
    "exactly 0.90": constant(0.90),
    "drifting": drifting,
}


def alarms(make: Rule, level: Level, days: int = DAYS) -> float:
    """Count how often a rule begins to fire in 30 days."""
    random, rule = np.random.default_rng(SEED), make()
    levels, n = level(random), np.full(SERIES, float(ROWS))
    before, count = np.zeros(SERIES, dtype=bool), 0
    for _ in range(days * PANES):
        fires = rule(random.binomial(ROWS, next(levels)).astype(np.float64), n)
        count += np.count_nonzero(fires & ~before)
        before = fires
    return count * 30 / (SERIES * days)


def delays(make: Rule, level: float, runs: int = 2000, before: int = 300) -> tuple[str, str]:
    """Count the panes from a drop to the alarm: the median, and what 9 of 10 runs do not pass.

    What fires at the drop already is no answer to it: such runs are left out.
    """
    random, rule = np.random.default_rng(SEED), make()
    n, found = np.full(runs, float(ROWS)), np.full(runs, np.inf)
    for pane in range(-before, 1000):
        share = 0.91 if pane < 0 else level
        fires = rule(random.binomial(ROWS, share, runs).astype(np.float64), n)
        if pane < 0:
            is_firing = fires
        else:
            found = np.where(fires, np.minimum(found, pane + 1), found)
            if np.isfinite(found).all():
                break
    found = np.sort(found[~is_firing])
    middle, late = found[len(found) // 2], found[int(len(found) * 0.9)]
    return tuple(f"{end:.0f}" if math.isfinite(end) else "> 1000" for end in (middle, late))


def table_of_rules() -> str:
    """Lay out false alarms in 30 days and delays of each rule, looked at after every pane."""
    heads = [f"alarms, {name}" for name in LEVELS] + [f"delay, drop to {p}" for p in (0.87, 0.8)]
    lines = [f"| rule | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    for name, make in RULES.items():
        counts = [f"{alarms(make, level):,.3g}" for level in LEVELS.values()]
        ends = [" / ".join(delays(make, level)) for level in (0.87, 0.8)]
        lines.append(f"| {name} | {' | '.join([*counts, *ends])} |")
    return "\n".join(lines)


def dependent(random: np.random.Generator) -> Iterator[tuple[Floats, Floats]]:
    """Draw levels that the past chooses, at the floor or above, and how much traffic comes.

    A pane that went badly is followed by one at the floor itself, with five times the traffic; a
    good one by one that is better, by an amount that wanders.
    """
    drawn, went = np.zeros(SERIES), np.zeros(SERIES)
    while True:
        drawn = 0.99 * drawn + 0.1 * random.normal(size=SERIES)
        went = yield np.where(went < 0, 0.0, 0.03 / (1 + np.exp(-drawn))), np.where(went < 0, 5, 1)


def share_of(worth: int, level: Any) -> Any:
    """Return the share of hits with which a metric is at a level, if a hit counts so often."""
    return level / (worth - (worth - 1) * level)


def shares(worth: int) -> Callable[..., tuple[Floats, ...]]:
    """Draw hits among draws for a share of hits, such that the metric is at a level."""

    def draw(random: np.random.Generator, level: Floats, n: Floats) -> tuple[Floats, ...]:
        hits = random.binomial(n.astype(np.int64), share_of(worth, level))
        return hits.astype(np.float64), n

    return draw


def halves(random: np.random.Generator, level: Floats, n: Floats) -> tuple[Floats, ...]:
    """Draw credits of 0, 1/2 and 1 with the mean of a level, as ties at the cut give."""
    tied = random.binomial(n.astype(np.int64), 0.1)
    hits = random.binomial(n.astype(np.int64) - tied, (level - 0.05) / 0.9)
    return hits + tied / 2, n


def reciprocals(random: np.random.Generator, level: Floats, n: Floats) -> tuple[Floats, ...]:
    """Draw how many queries have their first hit at rank 1, 2 and 4; sums and squares."""
    rest = (1.0 - level) / (0.7 * 0.5 + 0.3 * 0.75)
    shares = np.stack([1.0 - rest, 0.7 * rest, 0.3 * rest], axis=-1)
    counts = random.multinomial(n.astype(np.int64), shares)
    return counts @ np.array([1, 1 / 2, 1 / 4]), counts @ np.array([1, 1 / 4, 1 / 16]), n


def of_share(worth: int) -> Callable[..., Floats]:
    """Bet on a metric in which a hit counts so often."""
    floor = share_of(worth, FLOOR)
    return lambda hits, n: share_ratios(hits, n - hits, floor, is_floor=True)


def of_mean(totals: Floats, squares: Floats, n: Floats) -> Floats:
    """Bet on a mean of a ranking."""
    reach = 1.0 - FLOOR
    spreads = squares - 2 * FLOOR * totals + FLOOR**2 * n
    return mean_ratios((FLOOR * n - totals) / reach, spreads / reach**2)


METRICS = {
    "accuracy": (100, shares(1), of_share(1)),
    "precision, rate at a threshold": (30, shares(1), of_share(1)),
    "recall": (10, shares(1), of_share(1)),
    "specificity": (90, shares(1), of_share(1)),
    "Jaccard": (40, shares(1), of_share(1)),
    "F1": (40, shares(2), of_share(2)),
    "top-k accuracy with ties": (100, halves, of_share(1)),
    "hit rate": (20, shares(1), of_share(1)),
    "mean reciprocal rank": (20, reciprocals, of_mean),
}
"""By name, about how many examples of a pane it is about, how they are drawn, and the bets."""


def dependent_alarms(name: str, *, is_dependent: bool, days: int = DAYS) -> int:
    """Count the alarms of an exact metric that never goes below its floor, given the past."""
    usual, draw, ratios = METRICS[name]
    floor = share_of(2 if name == "F1" else 1, FLOOR)
    random, rule = np.random.default_rng(SEED), detector(ratios)()
    levels = dependent(random)
    above, more = next(levels)
    count = 0
    for _ in range(days * PANES):
        level = FLOOR + (above if is_dependent else 0.0)
        n = 1.0 + random.poisson(usual * more if is_dependent else usual, SERIES)
        counts = draw(random, np.broadcast_to(level, SERIES), n)
        count += np.count_nonzero(rule(*counts))
        above, more = levels.send(counts[0] - floor * n)
    return count


def table_of_metrics() -> str:
    """Lay out the alarms of exact metrics in 2,000 days, which may be 67 on average."""
    lines = [
        "| metric | examples in a pane | dependent data | always at the floor |",
        "|---" * 4 + "|",
    ]
    for name, (usual, _, _) in METRICS.items():
        found = [dependent_alarms(name, is_dependent=dependent) for dependent in (True, False)]
        lines.append(f"| {name} | {usual} | {found[0]} | {found[1]} |")
    return "\n".join(lines)


def areas(
    random: np.random.Generator, n_pos: int, n_neg: int, level: float
) -> Iterator[tuple[Floats, Floats]]:
    """Draw panes of normal scores with an area at a level: their areas, and DeLong's variances."""
    apart = math.sqrt(2) * NormalDist().inv_cdf(level)
    while True:
        pos = random.normal(apart, 1.0, (SERIES, n_pos, 1))
        above = (pos > random.normal(0.0, 1.0, (SERIES, 1, n_neg))).astype(np.float32)
        of_pos, of_neg = above.mean(axis=2), above.mean(axis=1)
        variance = of_pos.var(axis=1, ddof=1) / n_pos + of_neg.var(axis=1, ddof=1) / n_neg
        yield of_pos.mean(axis=1), variance


def area_alarms(n_pos: int, n_neg: int, level: float, panes: int) -> tuple[int, float]:
    """Count the alarms of an area with a floor of 0.8, and the median of the panes to each."""
    source = areas(np.random.default_rng(SEED), n_pos, n_neg, level)
    limit = Limit(0.8, is_floor=True)
    rule = detector(lambda *area: area_ratios(*area, n_pos, n_neg, limit), 30 * TEN_MINUTES)()
    since, gaps = np.zeros(SERIES), []
    for _ in range(panes):
        since += 1
        fires = rule(*next(source))
        gaps += since[fires].tolist()
        since[fires] = 0
    return len(gaps), float(np.median(gaps)) if gaps else math.inf


def table_of_areas() -> str:
    """Lay out the alarms of areas in 2,000 days of a pane in ten minutes."""
    heads = ("positives and negatives in a pane", "alarms at the floor", "delay, drop to 0.74")
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for n_pos, n_neg in ((5, 25), (20, 180), (100, 900)):
        count, _ = area_alarms(n_pos, n_neg, 0.8, DAYS * TEN_MINUTES)
        _, delay = area_alarms(n_pos, n_neg, 0.74, 2000)
        lines.append(f"| {n_pos} and {n_neg} | {count} | {delay:.0f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table_of_rules(), table_of_metrics(), table_of_areas(), sep="\n\n")
