"""Queries that arrive in parts: the parts leave no trace, and past the kept rows intervals hold.

Measures cut at a rank stay exact. For the others every way to arrange the rows outside the kept
ones is enumerated for small queries, and many larger ones are drawn to be hard.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from offenders import each
from oracle.ranking_oracles import (
    EVERY_TIES,
    GEOMETRIC,
    LEVELS,
    MEASURES,
    MIXES,
    UNCUT,
    Options,
    Order,
    Row,
    Value,
    as_arguments,
    combined,
    draw_query,
    entering,
    exact_mean,
    per_query,
    ranked,
    rearranged,
    tie_groups,
)
from profiles import cases

import streameval as se

pytestmark = pytest.mark.slow  # by brute force: every arrangement of the rows that were dropped

N_RUNS = cases(5, least=3)
N_QUERIES = cases(83, least=60)
N_PATTERNS = 8

CUT = tuple(name for name, measure in MEASURES.items() if measure.k is not None)
EVERY = (*MEASURES, *GEOMETRIC)
MOST_ORDERS = 100

every_ties = each("ties", EVERY_TIES)
both_unjudged = each("unjudged", ["nonrelevant", "drop"])

Queries = Mapping[Any, Sequence[Row]]


def accumulator(measures: Any, options: Options, **others: Any) -> Any:
    return se.RankingAccumulator(tuple(measures), **options.as_arguments(), **others)


def n_orders(rows: Sequence[Row], options: Options) -> int:
    """How many orders of tied documents differ."""
    total = 1
    for group in tie_groups(ranked(rows, options)):
        same = math.prod(math.factorial(n) for n in Counter(group).values())
        total *= math.factorial(len(group)) // same
    return total


def draw_long(rng: np.random.Generator, *, most: int = 25) -> list[Row]:
    """A query longer than what is kept of it, with as many ties as can be gone through."""
    while True:
        mix = MIXES[int(rng.integers(len(MIXES)))]
        n, n_other = int(rng.integers(1, most + 1)), int(rng.integers(0, 3))
        n_scores = int(rng.integers(1, 2 * n + 1))
        docs = [f"d{i}" for i in rng.permutation(99)]
        rows = [
            Row(LEVELS[level], float(rng.integers(n_scores)) / 4, doc, i < n)
            for i, (level, doc) in enumerate(
                zip(rng.choice(len(LEVELS), n + n_other, p=mix), docs, strict=False)
            )
        ]
        rows = [row for row in rows if row.is_retrieved or row.level is not None]
        if n_orders(rows, Options()) <= MOST_ORDERS:
            return rows


def draw_run(rng: np.random.Generator, *, most: int) -> Queries:
    """Queries with any ties at all, of fractional relevance now and then."""
    unit = float(rng.choice([1.0, 1.0, 1.1]))
    ids = rng.choice(2**40, int(rng.integers(1, 8)), replace=False).tolist()
    drawn = {query: draw_query(rng, most=most) for query in ids}
    return {
        query: [replace(row, level=row.level and row.level * unit) for row in rows]
        for query, rows in drawn.items()
    }


def is_fractional(drawn: Queries) -> bool:
    return any((row.level or 0) % 1 for rows in drawn.values() for row in rows)


def merged(rng: np.random.Generator, accs: Sequence[Any]) -> Any:
    """All of them, in some tree of merges of every kind."""
    accs = [accs[i] for i in rng.permutation(len(accs))]
    while len(accs) > 1:
        kind, at = int(rng.integers(3)), int(rng.integers(len(accs) - 1))
        first, second = accs[at : at + 2]
        if kind == 0:
            joined = first + second
        elif kind == 1:
            joined = first.copy().merge(second)
        else:
            joined = se.merge([second, first])
        accs[at : at + 2] = [joined]
    return accs[0]


def in_pieces(
    rng: np.random.Generator, empty: Any, arguments: Mapping[str, Any], *, n_pieces: int = 7
) -> Any:
    """Rows cut into pieces, spread over three workers, merged; nothing closed yet."""
    workers = [empty.copy() for _ in range(3)]
    piece_of = rng.integers(0, n_pieces, len(arguments["score"]))
    for piece in rng.permutation(n_pieces).tolist():
        places = rng.permutation(np.flatnonzero(piece_of == piece))
        workers[int(rng.integers(3))].update(**rearranged(arguments, places), partial=True)
    return merged(rng, workers)


@both_unjudged
@every_ties
@each("measures", [CUT, UNCUT, EVERY])
def test_pieces_leave_no_trace(ties: Any, unjudged: str, measures: Any) -> None:
    rng = np.random.default_rng([41, EVERY_TIES.index(ties)])
    options = Options(ties=ties, unjudged=unjudged)
    for _ in range(N_RUNS):
        drawn = draw_run(rng, most=int(rng.choice([5, 40])))
        asked = [m for m in measures if not (is_fractional(drawn) and m.startswith("err"))]
        empty = accumulator(asked, options, rows_per_query=int(rng.integers(3, 9)))
        arguments = as_arguments(drawn)
        whole = empty.copy().update(**arguments, partial=True)
        pieces = in_pieces(rng, empty, arguments)
        assert pieces.to_bytes() == whole.to_bytes()
        assert pieces.compute().n_open == len(drawn)
        assert pieces.n == 0

        pieces.close()
        whole.close()
        assert pieces == whole
        assert pieces.to_bytes() == whole.to_bytes()
        assert (pieces.n, pieces.compute().n_open) == (len(drawn), 0)


@every_ties
def test_queries_may_be_closed_one_by_one_on_any_worker(ties: Any) -> None:
    rng = np.random.default_rng([42, EVERY_TIES.index(ties)])
    for _ in range(N_RUNS):
        drawn = draw_run(rng, most=30)
        asked = [m for m in EVERY if not (is_fractional(drawn) and m.startswith("err"))]
        empty = accumulator(asked, Options(ties=ties), rows_per_query=5)
        at_once = in_pieces(rng, empty, as_arguments(drawn))
        at_once.close()

        first, *others = (list(part) for part in np.array_split(rng.permutation(list(drawn)), 2))
        workers = []
        for part in (first, *others):
            acc = (
                in_pieces(rng, empty, as_arguments({i: drawn[i] for i in part})) if part else empty
            )
            for query in part:
                acc.close([query])
            workers.append(acc)
        assert merged(rng, workers).to_bytes() == at_once.to_bytes()


@every_ties
def test_a_stored_state_goes_on_as_if_never_stopped(ties: Any) -> None:
    rng = np.random.default_rng([43, EVERY_TIES.index(ties)])
    for _ in range(N_RUNS):
        arguments = as_arguments({i: draw_long(rng, most=30) for i in range(5)})
        acc = accumulator(EVERY, Options(ties=ties), rows_per_query=4)
        resumed = acc.copy()
        for places in np.array_split(rng.permutation(len(arguments["score"])), 5):
            part = rearranged(arguments, places)
            acc.update(**part, partial=True)
            resumed = se.from_bytes(resumed.to_bytes()).update(**part, partial=True)
        acc.close()
        assert resumed != acc
        resumed.close()
        assert resumed == acc


@both_unjudged
@every_ties
def test_cut_measures_of_pieces_equal_those_of_complete_queries(ties: Any, unjudged: str) -> None:
    rng = np.random.default_rng([44, EVERY_TIES.index(ties)])
    options = Options(ties=ties, unjudged=unjudged, gain="exp2", ap_norm="min")
    for _ in range(2 * N_RUNS):
        drawn = {i: draw_query(rng, most=40) for i in range(3)}
        acc = in_pieces(rng, accumulator(CUT, options, rows_per_query=3), as_arguments(drawn))
        acc.close()
        complete = accumulator(CUT, options).update(**as_arguments(drawn)).compute()
        ours = acc.compute()
        for name in CUT:
            assert ours[name].exact, name
            assert float(ours[name]) == pytest.approx(float(complete[name]), rel=1e-12, abs=1e-15)
            error = float(complete.stderr[name])
            assert float(ours.stderr[name]) == pytest.approx(error, rel=1e-12, abs=1e-15)


@both_unjudged
@every_ties
def test_cut_measures_of_pieces_equal_brute_force(ties: Any, unjudged: str) -> None:
    rng = np.random.default_rng([45, EVERY_TIES.index(ties)])
    options = Options(ties=ties, unjudged=unjudged)
    measures = {name: MEASURES[name] for name in CUT}
    for _ in range(N_RUNS):
        drawn = {i: draw_long(rng, most=15) for i in range(4)}
        empty = accumulator(CUT, options, rows_per_query=3, per_query=True)
        acc = in_pieces(rng, empty, as_arguments(drawn))
        acc.close()
        columns = acc.compute().per_query()
        found = [per_query(rows, options, measures) for rows in drawn.values()]
        for name in CUT:
            expected = entering([one[name] for one in found], empty="zero")
            np.testing.assert_allclose(
                np.asarray(columns[name], dtype=float),
                [float(x) for x in expected],
                rtol=1e-12,
                atol=1e-15,
                err_msg=f"{name}: {drawn}",
            )


def holds(interval: tuple[float, float], truth: Value) -> bool:
    """Whether a value is inside, after one rounding; or what is claimed to be known is right."""
    low, high = interval
    value = float(truth)
    if low == high:
        return math.isclose(value, low, rel_tol=1e-12, abs_tol=1e-15)
    slack = 0.0 if isinstance(truth, Fraction) else 1e-15 * abs(value)
    return low <= value + slack and value - slack <= high


@dataclass
class Tally:
    """What many checks of intervals came to, by measure."""

    checked: Counter[str] = field(default_factory=Counter)
    coarsened: Counter[str] = field(default_factory=Counter)
    at_low: Counter[str] = field(default_factory=Counter)
    at_high: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def check(self, name: str, ours: Any, truth: Value, about: Any) -> None:
        self.checked[name] += 1
        if not holds((ours.low, ours.high), truth):
            text = f"{name}: {float(truth)!r} is outside [{ours.low!r}, {ours.high!r}]"
            self.wrong.append(f"{text}: {about}")

    def count_ends(self, name: str, ours: Any, values: Sequence[Value]) -> None:
        """Count an interval, and which of its ends some data set attains."""
        if is_wide(ours):
            self.coarsened[name] += 1
            self.at_low[name] += math.isclose(min(values), ours.low, rel_tol=1e-9, abs_tol=1e-12)
            self.at_high[name] += math.isclose(max(values), ours.high, rel_tol=1e-9, abs_tol=1e-12)

    def finish(self) -> None:
        print(f"\n{self.checked.total()} checks; intervals with a width, ends attained:")
        for name, n in self.coarsened.items():
            low, high = self.at_low[name] / n, self.at_high[name] / n
            print(f"  {name:12} {n:6} low {low:7.1%} high {high:7.1%}")
        assert not self.wrong, f"{len(self.wrong)} wrong:\n" + "\n".join(self.wrong[:5])


def is_wide(ours: Any) -> bool:
    return not math.isclose(ours.low, ours.high, rel_tol=1e-9, abs_tol=1e-12)


OPEN_ENDED = tuple(name for name, measure in MEASURES.items() if measure.k is None)
OF_OPEN_ENDED = {name: MEASURES[name] for name in OPEN_ENDED}
OF_UNCUT = {name: MEASURES[name] for name in UNCUT}


@every_ties
def test_the_interval_of_a_long_query_holds_the_exact_value(ties: Any) -> None:
    rng = np.random.default_rng([46, EVERY_TIES.index(ties)])
    tally = Tally()
    for _ in range(N_QUERIES):
        options = Options(ties=ties, unjudged=str(rng.choice(["nonrelevant", "drop"])))
        rows, most = draw_long(rng), int(rng.integers(3, 9))
        empty = accumulator(OPEN_ENDED, options, rows_per_query=most)
        acc = in_pieces(rng, empty, as_arguments({7: rows}), n_pieces=int(rng.integers(1, 5)))
        acc.close()
        result = acc.compute()
        for name, value in per_query(rows, options, OF_OPEN_ENDED).items():
            truth = Fraction(0) if value is None else value
            about = f"rows_per_query={most}, {options}, {rows}"
            tally.check(name, result[name], truth, about)
            tally.count_ends(name, result[name], [truth])
            assert result[name].exact or len(rows) > most, f"{name} is not exact: {about}"
    tally.finish()
    for name in ("map", "ndcg", "dcg", "lrap", "rbp(p=0.8)", "bpref"):
        assert tally.coarsened[name] >= N_QUERIES / 20, name


@every_ties
def test_the_interval_of_a_mean_holds_the_exact_mean(ties: Any) -> None:
    rng = np.random.default_rng([47, EVERY_TIES.index(ties)])
    options = Options(ties=ties)
    tally = Tally()
    for _ in range(N_RUNS):
        drawn = {i: draw_long(rng) for i in range(int(rng.integers(2, 9)))}
        empty = accumulator((*OPEN_ENDED, *GEOMETRIC), options, rows_per_query=4)
        acc = in_pieces(rng, empty, as_arguments(drawn))
        acc.close()
        acc.add_missing(["x"])
        found = [per_query(rows, options, OF_OPEN_ENDED | GEOMETRIC) for rows in drawn.values()]
        for empty_is, missing in itertools.product(("zero", "skip", "one"), ("zero", "skip")):
            result = acc.compute(empty=empty_is, missing=missing)
            for name in (*OPEN_ENDED, *GEOMETRIC):
                values = [one[name] for one in found]
                entered = entering(values, empty=empty_is, n_missing=1, missing=missing)
                if entered:
                    tally.check(name, result[name], combined(name, entered), drawn)
    tally.finish()


def test_complete_queries_stay_exact_beside_parts() -> None:
    rng = np.random.default_rng(48)
    rows = [Row(int(i % 7 == 0), i, f"d{i}") for i in range(50)]
    complete = accumulator(UNCUT, Options(), rows_per_query=3).update(**as_arguments({1: rows}))
    empty = accumulator(UNCUT, Options(), rows_per_query=3)
    parts = in_pieces(rng, empty, as_arguments({2: rows}))
    parts.close()
    for name in UNCUT:
        alone, both = parts.compute()[name], (complete + parts).compute()[name]
        value = float(complete.compute()[name])
        assert complete.compute()[name].exact
        assert alone.exact == both.exact == (name == "mrr"), name
        assert both.low == pytest.approx((alone.low + value) / 2, rel=1e-9)
        assert both.high == pytest.approx((alone.high + value) / 2, rel=1e-9)


def arrangements(rows: Sequence[Row], below: float) -> Iterator[list[Row]]:
    """The rows with scores in every weak order, some perhaps as high as `below`."""
    n, seen = len(rows), set()
    for places in itertools.product(range(n + 1), repeat=n):
        ranks = {0: 0} | {place: i for i, place in enumerate(sorted({*places} - {0}), 1)}
        scores = [below - ranks[place] for place in places]
        found = [replace(row, score=score) for row, score in zip(rows, scores, strict=True)]
        key = frozenset(Counter((row.level, row.score, row.doc) for row in found).items())
        if key not in seen:
            seen.add(key)
            yield found


def draw_pattern(rng: np.random.Generator, n_kept: int) -> tuple[list[Row], list[Row], list[Row]]:
    """Rows that are kept, rows outside, and judged documents that were not returned."""
    docs = iter([f"d{i}" for i in rng.permutation(90)])

    def some(n: int) -> list[Row]:
        mix = MIXES[int(rng.choice([0, 1, 2, 4]))]
        return [Row(LEVELS[i], 0.0, next(docs)) for i in rng.choice(len(LEVELS), n, p=mix)]

    places = np.sort(rng.integers(0, 2 * n_kept, n_kept))[::-1]
    kept = [replace(row, score=10.0 + at) for row, at in zip(some(n_kept), places, strict=True)]
    found = Row(1, 0.0, next(docs))
    others = [replace(row, is_retrieved=False) for row in some(2) if row.level is not None]
    return kept, [found, *some(int(rng.integers(1, 4)))], others


ATTAINED = ("map", "mrr", "rprec", "rbp(p=0.8)")
"""Worst and best arrangement are data sets for these: both ends are attained."""


@every_ties
def test_no_arrangement_of_the_rows_outside_leaves_the_interval(ties: Any) -> None:
    """Data sets that leave the same bytes have one interval, which holds the value of each."""
    rng = np.random.default_rng([49, EVERY_TIES.index(ties)])
    options = Options(ties=ties)
    tally = Tally()
    for _ in range(N_PATTERNS):
        most = int(rng.integers(3, 5))
        kept, outside, others = draw_pattern(rng, most)
        empty = accumulator(UNCUT, options, rows_per_query=most)
        data_sets: dict[bytes, list[list[Row]]] = defaultdict(list)
        for arranged in arrangements(outside, min(row.score for row in kept)):
            rows = [*kept, *arranged, *others]
            acc = empty.copy().update(**as_arguments({1: rows}), partial=True)
            data_sets[acc.to_bytes()].append(rows)
        for key, alike in data_sets.items():
            acc = se.from_bytes(key)
            acc.close()
            result = acc.compute()
            found = [per_query(rows, options, OF_UNCUT) for rows in alike]
            for name in UNCUT:
                values = [one[name] or Fraction(0) for one in found]
                for value, rows in zip(values, alike, strict=True):
                    tally.check(name, result[name], value, f"{most=}, {options}, {rows}")
                tally.count_ends(name, result[name], values)
    tally.finish()
    for name in ("map", "ndcg", "dcg", "lrap", "rbp(p=0.8)"):
        assert tally.coarsened[name], name


def untied(rows: Sequence[Row], outside: Sequence[Row]) -> Iterator[list[Row]]:
    """The rows, then those outside in every order that differs, with falling scores."""
    levels = [row.level for row in outside]
    for order in sorted(set(itertools.permutations(levels)), key=str):
        placed = [
            replace(row, level=level, score=-1.0 - i)
            for i, (row, level) in enumerate(zip(outside, order, strict=True))
        ]
        yield [*rows, *placed]


def draw_untied(rng: np.random.Generator) -> tuple[int, list[Row], list[Row]]:
    kept, outside, _ = draw_pattern(rng, int(rng.integers(3, 6)))
    return len(kept), [replace(row, score=9.0 - i) for i, row in enumerate(kept)], outside


def closed(rows: Sequence[Row], most: int, options: Options, measures: Any = UNCUT) -> Any:
    acc = accumulator(measures, options, rows_per_query=most)
    acc.update(**as_arguments({1: rows}), partial=True)
    acc.close()
    return acc.compute()


@every_ties
def test_the_ends_are_the_worst_and_the_best_arrangement(ties: Any) -> None:
    rng = np.random.default_rng([50, EVERY_TIES.index(ties)])
    options = Options(ties=ties)
    measures = {name: MEASURES[name] for name in ATTAINED}
    n_wide: Counter[str] = Counter()
    for _ in range(cases(20, least=10)):
        most, kept, outside = draw_untied(rng)
        every = list(untied(kept, outside))
        found = [per_query(rows, options, measures) for rows in every]
        result = closed(every[0], most, options, ATTAINED)
        for name in ATTAINED:
            values = [float(one[name] or 0) for one in found]
            ends = result[name].low, result[name].high
            assert ends == pytest.approx((min(values), max(values)), rel=1e-9, abs=1e-12), name
            n_wide[name] += is_wide(result[name])
    assert min(n_wide["map"], n_wide["rbp(p=0.8)"]) >= 3
    assert n_wide["mrr"] + n_wide["rprec"]


@every_ties
@each("name", UNCUT)
def test_the_estimate_is_the_mean_of_all_arrangements(name: str, ties: Any) -> None:
    rng = np.random.default_rng([51, EVERY_TIES.index(ties)])
    options = Options(ties=ties)
    measures = {name: MEASURES[name]}
    for _ in range(cases(10, least=5)):
        most, kept, outside = draw_untied(rng)
        every = list(untied(kept, outside))
        found = [per_query(rows, options, measures)[name] or Fraction(0) for rows in every]
        result = closed(every[0], most, options, [name])
        expected = pytest.approx(float(exact_mean(found)), rel=1e-9, abs=1e-12)
        assert float(result[name]) == expected, (most, every[0])


def ap_interval(kept: Order, n: int, n_relevant: int, n_outside: int) -> tuple[Value, Value]:
    """Relevant rows outside the kept ones last, and first: the design's formula."""
    hits = list(itertools.accumulate(int(level or 0) for level in kept))
    inside = [Fraction(hits[i], i + 1) for i, level in enumerate(kept) if level]
    most, n_in = len(kept), hits[-1]
    places = range(1, n_outside + 1)
    worst = sum((Fraction(n_in + j, n - n_outside + j) for j in places), sum(inside, Fraction(0)))
    best = sum((Fraction(n_in + j, most + j) for j in places), sum(inside, Fraction(0)))
    return worst / n_relevant, best / n_relevant


@each("most", [3, 10, 100])
def test_the_interval_of_average_precision_is_its_formula(most: int) -> None:
    rng = np.random.default_rng([52, most])
    for _ in range(cases(10, least=5)):
        n = most + int(rng.integers(1, 400))
        levels = (rng.random(n) < rng.choice([0.02, 0.3, 0.9])).astype(int)
        n_missed = int(rng.integers(1, 4))
        rows = [Row(level, float(-i), f"d{i}") for i, level in enumerate(levels.tolist())]
        missed = [Row(1, 0.5, f"m{i}", is_retrieved=False) for i in range(n_missed)]
        result = closed([*rows, *missed], most, Options(), ["map"])
        n_relevant = int(levels.sum()) + n_missed
        kept = tuple(levels[:most].tolist())
        low, high = ap_interval(kept, n, n_relevant, int(levels[most:].sum()))
        ends = result["map"].low, result["map"].high
        assert ends == pytest.approx((float(low), float(high)), rel=1e-9, abs=1e-12)
