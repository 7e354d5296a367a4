"""Past the budget the exact value lies in [low, high], for every data set.

Small data sets are enumerated: all that leave the same cells. Large numbers of others are drawn to
be hard. A number is checked after one correct rounding of the fraction that it is by definition,
with no tolerance where the interval has a width; where it has none the number is claimed to be
known, and is held to what exact numbers are held to, 1e-12. Faults planted into the formulas show
that the data would find them.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from offenders import each
from oracle.curve_oracles import (
    CURVE_METRICS,
    GENERATORS,
    PROBABILITY_METRICS,
    SCORE_METRICS,
    Cell,
    Metric,
    Mode,
    Sample,
    Table,
    Value,
    average_precision,
    average_precision_interval,
    best_table,
    cells_of,
    consistent_tables,
    from_bits,
    ks,
    metrics_at,
    pr_auc_interval,
    recall_at,
    roc_auc,
    sample,
    worst_table,
)
from profiles import cases, quick_cases

import streameval as se

pytestmark = pytest.mark.slow  # by brute force: campaigns against the bounds

N_SAMPLES = cases(345, least=6)
N_SAMPLES_LONG = 4_000
N_CHECKS_LONG = 1_200_000
N_COARSENED = cases(90_000, least=1800)
N_PATTERNS_APART = 4 // quick_cases(4, least=1)

ENVELOPED = (
    "roc_auc",
    "partial_roc_auc",
    "average_precision_",
    "recall_at",
    "precision_at",
    "f_at",
    "best_f(1.0).value",
    "best_f(2.0).value",
)
"""Numbers that rise with true positives and fall with false ones: both ends are attained."""

KNOWN = 1e-12
"""How far, relative to it, a number may be off that is claimed to be known."""

Interval = tuple[float, float]


def is_kept(
    interval: Interval, truth: Value, *, may_be_undefined: bool = False, slack: float = 0.0
) -> bool:
    """Whether an interval holds a value. Of undefined numbers the ends are undefined too."""
    low, high = interval
    if math.isnan(truth):
        return may_be_undefined or (math.isnan(low) and math.isnan(high))
    value = float(truth)
    allowed = slack * abs(value) if math.isfinite(value) else 0.0
    return low <= value + allowed and value - allowed <= high


def is_kept_unrounded(interval: Interval, truth: Value) -> bool:
    """Whether an interval holds the fraction itself, not only the float next to it."""
    low, high = interval
    rounded = float(truth)
    if low < rounded < high or not isinstance(truth, Fraction):
        return True
    return Fraction(low) <= truth <= Fraction(high)


def is_close(a: float, b: float, *, tolerance: float = 1e-15) -> bool:
    return math.isclose(a, b, rel_tol=tolerance, abs_tol=1e-16)


@dataclass
class Tally:
    """What many checks of intervals came to, by metric.

    Intervals no wider than the margin for rounding do not count as coarsened.
    `broken` are intervals that are wrong, `missed` those that miss a value by its last digits.
    """

    checked: Counter[str] = field(default_factory=Counter)
    coarsened: Counter[str] = field(default_factory=Counter)
    at_low: Counter[str] = field(default_factory=Counter)
    at_high: Counter[str] = field(default_factory=Counter)
    unrounded: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)

    def check(self, name: str, interval: Interval, truth: Value, source: Any) -> None:
        low, high = interval
        self.check_number(name, interval, truth, source)
        if low < high and not is_kept(interval, truth, may_be_undefined=name in SCORE_METRICS):
            self.missed.append(f"{name}: {float(truth)!r} is outside [{low!r}, {high!r}]: {source}")

        kind = name.partition(" ")[0]
        self.checked[kind] += 1
        is_coarsened = low < high and not is_close(low, high, tolerance=1e-10)
        self.coarsened[kind] += is_coarsened
        if is_coarsened and not math.isnan(truth):
            self.at_low[kind] += is_close(low, float(truth), tolerance=1e-11)
            self.at_high[kind] += is_close(high, float(truth), tolerance=1e-11)
            self.unrounded[kind] += not is_kept_unrounded(interval, truth)

    def check_number(self, name: str, interval: Interval, number: Value, source: Any) -> None:
        """Check a value that may itself be rounded, as what a sketch without a budget says."""
        low, high = interval
        if not is_kept(interval, number, may_be_undefined=name in SCORE_METRICS, slack=KNOWN):
            text = f"{name}: {float(number)!r} is outside [{low!r}, {high!r}]"
            self.broken.append(f"{text}: {source}")

    def check_estimate(self, name: str, ours: Any, source: Any) -> None:
        estimate, low, high = float(ours), ours.low, ours.high
        if not (low <= estimate <= high or all(map(math.isnan, (estimate, low, high)))):
            text = f"{name}: estimate {estimate!r} is outside [{low!r}, {high!r}]"
            self.broken.append(f"{text}: {source}")

    def summary(self) -> str:
        """One line for each metric."""
        lines = [f"{'':40} checked coarsened  at low at high  unrounded outside"]
        for kind in sorted(self.checked):
            n, of = self.coarsened[kind], max(self.coarsened[kind], 1)
            lines.append(
                f"{kind:40} {self.checked[kind]:7} {n:9} {self.at_low[kind] / of:7.1%}"
                f" {self.at_high[kind] / of:7.1%} {self.unrounded[kind]:7}"
            )
        return "\n".join(lines)

    def __add__(self, other: Tally) -> Tally:
        names = [each.name for each in fields(Tally)]
        return Tally(**{name: getattr(self, name) + getattr(other, name) for name in names})


def listed(failures: list[str]) -> str:
    """Counts by metric, and some failures, those of the smallest data first."""
    causes = Counter(failure.partition(":")[0] for failure in failures)
    counts = ", ".join(f"{name} {n}" for name, n in causes.most_common())
    return f"{len(failures)} failures: {counts}\n" + "\n".join(sorted(failures, key=len)[:12])


BASE = 0x3F80000000000000
"""The bits of 2**-7."""


def _below_half(block: int, *, is_top: bool) -> float:
    return from_bits(BASE + (block << 48) + (2**48 - 64 if is_top else 64))


def _above_half(block: int, *, is_top: bool) -> float:
    return 1 - _below_half(9 - block, is_top=not is_top)


def _below_zero(block: int, *, is_top: bool) -> float:
    return -_below_half(9 - block, is_top=not is_top)


def _two_neighbours(block: int, *, is_top: bool) -> float:
    return from_bits(BASE + 2 * block + is_top)


def _four_neighbours(block: int, *, is_top: bool) -> float:
    return from_bits(BASE + 4 * block + 3 * is_top)


ZONES: dict[str, tuple[Mode, Callable[..., float]]] = {
    "below one half": ("probability", _below_half),
    "above one half": ("probability", _above_half),
    "below zero": ("real", _below_zero),
    "two neighbours": ("probability", _two_neighbours),
    "four neighbours": ("real", _four_neighbours),
}
"""Where small cells lie: the lowest and highest score of each of ten aligned blocks of keys."""


@dataclass(frozen=True)
class Block:
    """Unit rows of one cell, at one score or at several."""

    pos: int
    neg: int
    has_several_scores: bool


SINGLES = (None, Block(1, 0, False), Block(0, 1, False), Block(2, 1, False))
SEVERAL = [Block(p, n, True) for p, n in itertools.product(range(7), repeat=2) if 2 <= p + n <= 6]


def patterns() -> Iterator[list[Block]]:
    """Cells from the highest: one of several scores among single ones, or two."""
    for several in SEVERAL:
        for above, below in itertools.product(SINGLES, repeat=2):
            if several.pos + several.neg < 6 or above is below:
                yield [block for block in (above, several, below) if block]
    for first, second in itertools.product(SEVERAL, repeat=2):
        size = first.pos + first.neg + second.pos + second.neg
        if size <= 5 or (size == 6 and first.pos and first.neg and second.pos and second.neg):
            yield [first, second]
        if size == 4:
            yield [first, Block(1, 1, False), second]


def cells_in(zone: str, blocks: Sequence[Block]) -> list[Cell]:
    """Put a pattern into a zone, highest first."""
    _, place = ZONES[zone]
    cells = []
    for number, block in enumerate(blocks):
        lo = place(8 - number, is_top=False)
        hi = place(8 - number, is_top=True) if block.has_several_scores else lo
        cells.append(Cell(lo, hi, block.pos, block.neg))
    return cells


def sketch_of(table: Table, mode: Mode, budget: int | None) -> Any:
    """What the library says of a table of unit rows."""
    acc = se.PRCurveSketch(budget, scores=mode)
    for counts, label in ((table.pos, 1), (table.neg, 0)):
        acc.update(np.full(sum(counts), label), np.repeat(table.scores, counts))
    return acc.compute()


@dataclass
class Enumeration:
    """The values that a number takes over all data sets with the same cells."""

    name: str
    cells: list[Cell]
    interval: Interval
    least: float = math.inf
    most: float = -math.inf

    @property
    def is_attained(self) -> tuple[bool, bool]:
        low, high = self.interval
        return (
            is_close(low, self.least, tolerance=1e-11),
            is_close(high, self.most, tolerance=1e-11),
        )


def interval_of(ours: Any) -> Interval:
    return ours.low, ours.high


def enumerate_values(
    cells: list[Cell],
    every_metric: dict[str, Metric],
    intervals: dict[str, Interval],
    tally: Tally,
    *,
    every_place: bool,
) -> list[Enumeration]:
    """Check each metric's interval against every data set that has these cells."""
    found = {name: Enumeration(name, cells, intervals[name]) for name in every_metric}
    for table in consistent_tables(cells, every_place=every_place):
        about = table_text(table)
        for name, metric in every_metric.items():
            truth = metric.truth(table)
            tally.check(name, intervals[name], truth, about)
            if not math.isnan(truth):
                one = found[name]
                one.least = min(one.least, float(truth))
                one.most = max(one.most, float(truth))
    return list(found.values())


def table_text(table: Table) -> str:
    return f"scores {list(table.scores)}, positives {list(table.pos)}, negatives {list(table.neg)}"


@cache
def enumerated(zone: str) -> tuple[Tally, list[Enumeration]]:
    """All patterns in a zone, numbers that depend on the scores in every third of them.

    In the first zone every fourth pattern outside the deep suite, in the others every seventh.
    """
    mode, _ = ZONES[zone]
    tally, found = Tally(), []
    chosen = list(patterns())
    place = list(ZONES).index(zone)
    chosen = chosen[place :: 7 if place else N_PATTERNS_APART]
    for number, blocks in enumerate(chosen):
        cells = cells_in(zone, blocks)
        any_table = next(consistent_tables(cells, every_place=False), None)
        if any_table is None:
            continue
        assert cells_of(any_table, mode, len(cells)) == cells, "the pattern is not what is kept"
        curve = sketch_of(any_table, mode, len(cells))

        by_place = SCORE_METRICS | (PROBABILITY_METRICS if mode == "probability" else {})
        for cell in cells:
            if cell.has_several_scores:
                for threshold in {cell.hi, (cell.lo + cell.hi) / 2}:
                    by_place |= metrics_at(threshold)
        both = [(CURVE_METRICS, False), (by_place, True)]
        for metrics, every_place in both if number % 3 == 0 else both[:1]:
            ours = {name: metric.ours(curve) for name, metric in metrics.items()}
            intervals = {name: interval_of(one) for name, one in ours.items()}
            for name, one in ours.items():
                tally.check_estimate(name, one, cells)
            found += enumerate_values(cells, metrics, intervals, tally, every_place=every_place)
    return tally, found


@each("zone", ZONES)
def test_interval_holds_the_value_of_every_data_set_with_the_same_cells(zone: str) -> None:
    tally, _ = enumerated(zone)

    assert not tally.broken, listed(tally.broken)
    assert not tally.missed, listed(tally.missed)
    assert sum(tally.coarsened.values()) > 3_000


@each("zone", ZONES)
def test_ends_are_attained_when_cells_of_several_scores_hold_both_classes(zone: str) -> None:
    _, found = enumerated(zone)
    loose = [
        one
        for one in found
        if all(cell.is_loose for cell in one.cells if cell.has_several_scores)
        and not math.isnan(one.interval[0])
    ]

    tight = [one for one in loose if one.name.startswith(ENVELOPED)]
    assert len(tight) > 100
    wide = [str(one) for one in tight if one.is_attained != (True, True)]
    upper = [one for one in loose if one.name in {"ks", "average_precision"}]
    wide += [str(one) for one in upper if not one.is_attained[1]]
    assert not wide, listed(wide)


def test_share_of_enumerated_intervals_that_attain_their_ends(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tally, by_name = Tally(), {}
    for zone in ZONES:
        part, found = enumerated(zone)
        tally += part
        for one in found:
            if one.interval[0] < one.interval[1]:
                by_name.setdefault(one.name.partition(" ")[0], []).append(one.is_attained)

    lines = [
        f"{name:40} {len(ends):7} {np.mean(ends, axis=0)[0]:7.1%} {np.mean(ends, axis=0)[1]:7.1%}"
        for name, ends in sorted(by_name.items())
        if len(ends) >= 50
    ]
    with capsys.disabled():
        n, coarsened = (sum(x.values()) for x in (tally.checked, tally.coarsened))
        print(f"\n{n} checks of enumerated data sets, {coarsened} coarsened; ends attained:")
        print("\n".join(lines))
    ends = {name: np.mean(ends, axis=0) for name, ends in by_name.items()}
    assert ends["roc_auc"].min() > 0.5
    assert ends["ks"].max() > 0.5


def feed(one: Sample, budget: int | None) -> Any:
    """Count a sample in one to three batches."""
    acc = se.PRCurveSketch(budget, scores=one.mode)
    for rows in np.array_split(np.arange(len(one.y)), 1 + len(one.y) % 3):
        weights = None if one.weights is None else one.weights[rows]
        acc.update(one.y[rows], one.scores[rows], sample_weight=weights)
    return acc.compute()


def metrics_for(one: Sample, seed: int) -> dict[str, Metric]:
    """All numbers, those of a threshold at two places that the sketch may not know."""
    rng = np.random.default_rng([3, seed])
    wide = [cell for cell in one.cells if cell.has_several_scores] or one.cells
    lo, hi, *_ = wide[rng.integers(len(wide))]
    inside = [x for x in one.table.scores if lo < x <= hi] or [lo]
    thresholds = {inside[rng.integers(len(inside))], float(rng.choice([lo, hi]))}
    found = CURVE_METRICS | SCORE_METRICS
    if one.mode == "probability":
        found |= PROBABILITY_METRICS
    for threshold in thresholds:
        found |= metrics_at(threshold)
    return found


def run_campaign(name: str, seeds: range) -> Tally:
    """Check every number of many samples, and on some of them the numbers of an exact sketch."""
    tally = Tally()
    for seed in seeds:
        one = sample(name, seed)
        curve = feed(one, one.budget)
        exact = feed(one, None) if seed % 5 == 0 else None
        source = f"seed {seed}, {one}" if len(one.y) < 50 else f"{name!r}, seed {seed}"
        for metric_name, metric in metrics_for(one, seed).items():
            ours = metric.ours(curve)
            tally.check_estimate(metric_name, ours, source)
            tally.check(metric_name, interval_of(ours), metric.truth(one.table), source)
            if exact is not None:
                number = float(metric.ours(exact))
                origin = f"counted without a budget: {source}"
                tally.check_number(metric_name, interval_of(ours), number, origin)
    return tally


@cache
def campaign(name: str) -> Tally:
    return run_campaign(name, range(N_SAMPLES))


every_generator = each("name", GENERATORS)


@every_generator
def test_interval_holds_the_exact_value_to_the_last_digit(name: str) -> None:
    tally = campaign(name)

    assert not tally.broken, listed(tally.broken)
    assert not tally.missed, listed(tally.missed)
    assert sum(tally.coarsened.values()) > N_COARSENED / len(GENERATORS) / 4


def test_enough_random_intervals_are_coarsened(capsys: pytest.CaptureFixture[str]) -> None:
    tally = sum((campaign(name) for name in GENERATORS), Tally())

    n, coarsened = sum(tally.checked.values()), sum(tally.coarsened.values())
    with capsys.disabled():
        print(f"\n{n} checks of random data sets, {coarsened} coarsened; share that is an end:")
        print(tally.summary())
    assert coarsened >= N_COARSENED


@pytest.mark.long
@every_generator
def test_interval_holds_the_exact_value_in_a_long_run(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    tally = run_campaign(name, range(N_SAMPLES, N_SAMPLES_LONG))

    n, coarsened = (sum(x.values()) for x in (tally.checked, tally.coarsened))
    with capsys.disabled():
        print(f"\n{name}: {n} checks, {coarsened} coarsened")
    assert n > N_CHECKS_LONG / len(GENERATORS)
    assert not tally.broken, listed(tally.broken)
    assert not tally.missed, listed(tally.missed)


def documented_interval(name: str, metric: Metric, one: Sample) -> Interval | None:
    """The interval that the design promises, from the cells alone."""
    if name.startswith(ENVELOPED):
        return tuple(float(metric.truth(t(one.cells))) for t in (worst_table, best_table))
    if name == "average_precision":
        return average_precision_interval(one.cells, unit=one.unit)
    if name == "pr_auc":
        return pr_auc_interval(one.cells)
    if name == "ks":
        return 0.0, float(max(ks(worst_table(one.cells)), ks(best_table(one.cells))))
    return None


@every_generator
def test_interval_is_no_wider_than_documented(name: str) -> None:
    wider = []
    for seed in range(quick_cases(60)):
        one = sample(name, seed)
        if not one.table.n_pos or not one.table.n_neg:
            continue
        curve = feed(one, one.budget)
        for metric_name, metric in metrics_for(one, seed).items():
            expected = documented_interval(metric_name, metric, one)
            ours = metric.ours(curve)
            if expected and not (
                ours.low >= expected[0] - 1e-11 and ours.high <= expected[1] + 1e-11
            ):
                wider.append(f"{metric_name}: {ours!r}, documented {expected}: seed {seed}, {one}")
    assert not wider, listed(wider)


def mean_over_classes(tables: list[Table], metric: Callable[[Table], Value], average: str) -> Value:
    """The mean of the values that are defined, which weigh as much as their positives or alike."""
    found = [(metric(table), table.n_pos) for table in tables]
    pairs = [(v, n if average == "weighted" else 1) for v, n in found if not math.isnan(v)]
    whole = sum(weight for _, weight in pairs)
    return sum(v * weight for v, weight in pairs) / whole if whole else math.nan


@each("average", ["macro", "weighted"])
@each("metric", [roc_auc, average_precision])
def test_mean_over_classes_holds_that_of_the_exact_values(
    metric: Callable[[Table], Value], average: str
) -> None:
    tally = Tally()
    for seed in range(400):
        rng = np.random.default_rng([7, seed])
        n = int(rng.integers(4, 12))
        y, weights = rng.integers(0, 3, n), rng.integers(1, 6, n)
        # curves of the first and the last class are exact
        scores = np.column_stack([rng.integers(0, 2, n), 2 * rng.random(n), rng.integers(0, 3, n)])
        acc = se.PRCurveSketch(3, classes=3).update(y, scores / 2, sample_weight=weights)
        ours = getattr(acc.compute(), metric.__name__)(average)
        tables = [Table.of(y == k, scores[:, k].tolist(), weights.tolist()) for k in range(3)]
        truth = mean_over_classes(tables, metric, average)
        tally.check_estimate(average, ours, seed)
        tally.check(average, interval_of(ours), truth, seed)
    assert not tally.broken + tally.missed, listed(tally.broken + tally.missed)
    assert sum(tally.coarsened.values()) > 200


@every_generator
def test_estimate_of_roc_auc_is_the_middle_of_its_interval(name: str) -> None:
    for seed in range(60):
        one = sample(name, seed)
        if one.table.n_pos and one.table.n_neg:
            auc = feed(one, one.budget).roc_auc
            assert float(auc) == pytest.approx((auc.low + auc.high) / 2, rel=1e-12), one


def test_width_of_roc_auc_is_the_share_of_pairs_in_a_cell_of_several_scores() -> None:
    for seed in range(300):
        one = sample("uniform", seed)
        if one.table.n_pos and one.table.n_neg:
            pairs = sum(cell.pos * cell.neg for cell in one.cells if cell.has_several_scores)
            auc = feed(one, one.budget).roc_auc
            expected = pairs / (one.table.n_pos * one.table.n_neg)
            assert auc.high - auc.low == pytest.approx(expected, rel=1e-9, abs=1e-11), one


@dataclass(frozen=True)
class Formula:
    """An interval computed from cells by the formulas of this folder, right or with a fault."""

    metric: Callable[[Table], Value]
    interval: Callable[[list[Cell], int | None], Interval]


def _swapped_recall(cells: list[Cell], unit: int | None) -> Interval:
    """Recall at the highest score of the first wide cell, its rows put at the wrong ends."""
    threshold = first_wide(cells).hi
    return tuple(float(recall_at(t(cells), threshold)) for t in (best_table, worst_table))


def first_wide(cells: list[Cell]) -> Cell:
    return next((cell for cell in cells if cell.has_several_scores), cells[0])


def _ends(cells: list[Cell], metric: Callable[[Table], Value]) -> Interval:
    return float(metric(worst_table(cells))), float(metric(best_table(cells)))


def _middle_half(interval: Interval) -> Interval:
    low, high = interval
    return (3 * low + high) / 4, (low + 3 * high) / 4


RIGHT = {
    "average precision": Formula(
        average_precision, lambda cells, unit: average_precision_interval(cells, unit=unit)
    ),
    "ROC AUC": Formula(roc_auc, lambda cells, unit: _ends(cells, roc_auc)),
}
FAULTS = {
    "u raised to 1": Formula(
        average_precision,
        lambda cells, unit: average_precision_interval(cells, unit=unit, u=1.0),
    ),
    "C halved": Formula(
        average_precision,
        lambda cells, unit: average_precision_interval(cells, unit=unit, share_of_c=0.5),
    ),
    "ends of AP swapped": Formula(
        average_precision,
        lambda cells, unit: average_precision_interval(cells, unit=unit)[::-1],
    ),
    "lo and hi of AUC swapped": Formula(roc_auc, lambda cells, unit: _ends(cells, roc_auc)[::-1]),
    "AUC half as wide": Formula(roc_auc, lambda cells, unit: _middle_half(_ends(cells, roc_auc))),
}
ONLY_WEIGHTED_FAULTS = {
    "one half for fractional weights": Formula(
        average_precision, lambda cells, unit: average_precision_interval(cells, unit=2**62)
    ),
}


def violations_in_enumeration(formula: Formula) -> int:
    """How many small data sets lie outside a formula's interval."""
    tally = Tally()
    for blocks in itertools.islice(patterns(), 0, None, 5):
        cells = cells_in("below one half", blocks)
        if sum(cell.pos for cell in cells) and sum(cell.neg for cell in cells):
            interval = formula.interval(cells, 1)
            for table in consistent_tables(cells, every_place=False):
                tally.check("planted", interval, formula.metric(table), blocks)
    return len(tally.broken) + len(tally.missed)


def violations_in_samples(formula: Formula) -> int:
    """How many random data sets lie outside a formula's interval."""
    tally = Tally()
    for name, seed in itertools.product(GENERATORS, range(40)):
        one = sample(name, seed)
        if one.table.n_pos and one.table.n_neg:
            interval = formula.interval(one.cells, one.unit)
            tally.check("planted", interval, formula.metric(one.table), one)
    return len(tally.broken) + len(tally.missed)


every_search = each("violations", [violations_in_enumeration, violations_in_samples])


@every_search
@each("formula", RIGHT)
def test_no_data_lies_outside_the_right_bounds(
    formula: str, violations: Callable[[Formula], int]
) -> None:
    assert violations(RIGHT[formula]) == 0


@every_search
@each("fault", FAULTS)
def test_fault_in_the_bounds_is_noticed(fault: str, violations: Callable[[Formula], int]) -> None:
    assert violations(FAULTS[fault]) >= 10


@pytest.mark.parametrize("fault", ONLY_WEIGHTED_FAULTS)
def test_fault_in_the_bounds_of_weighted_data_is_noticed(fault: str) -> None:
    assert violations_in_samples(ONLY_WEIGHTED_FAULTS[fault]) >= 10


def test_recall_with_lo_and_hi_swapped_is_noticed() -> None:
    broken = 0
    for name, seed in itertools.product(GENERATORS, range(40)):
        one = sample(name, seed)
        if one.table.n_pos:
            truth = recall_at(one.table, first_wide(one.cells).hi)
            broken += not is_kept(_swapped_recall(one.cells, one.unit), truth)
    assert broken >= 10
