"""Every measure under every rule for ties equals the one found by going through all orders.

Small queries with many ties, unjudged documents and judged ones that were not returned. What a
constant scorer must get is known for queries of any length, and row order changes no bit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from offenders import each
from oracle.ranking_oracles import (
    EVERY_TIES,
    GEOMETRIC,
    MEASURES,
    NAN,
    Known,
    Measure,
    Options,
    Row,
    as_arguments,
    combined,
    draw_query,
    entering,
    mean,
    orders,
    per_query,
    rearranged,
)
from profiles import cases

import streameval as se

N_QUERIES = cases(62, least=30)
FEW_QUERIES = max(N_QUERIES // 2, 1)

GAINS: dict[str, Options] = {
    "linear-R": Options(),
    "linear-min-drop": Options(ap_norm="min", unjudged="drop"),
    "exp2-min": Options(gain="exp2", ap_norm="min"),
    "exp2-R-drop": Options(gain="exp2", unjudged="drop"),
    "mapping-R": Options(gain=((1, 0.1), (2, 2.5), (3, 10.0))),
    "mapping-min-level-2-drop": Options(
        gain=((0, 0.3), (1, 0.0), (2, 1.0), (3, 1.0)),
        ap_norm="min",
        unjudged="drop",
        relevance_level=2,
    ),
}
every_ties = each("ties", EVERY_TIES)
every_gain = each("options", GAINS.values())

Queries = Mapping[int, Sequence[Row]]


@cache
def queries(options: Options) -> Queries:
    seed = list(GAINS.values()).index(options)
    rng = np.random.default_rng([7, seed])
    return {i: draw_query(rng) for i in range(N_QUERIES)}


def accumulator(options: Options, measures: Any = MEASURES, **others: Any) -> Any:
    return se.RankingAccumulator(tuple(measures), **options.as_arguments(), **others)


def ours(queries: Queries, options: Options, measures: Any = MEASURES, **others: Any) -> Any:
    acc = accumulator(options, measures, per_query=True, **others)
    return acc.update(**as_arguments(queries)).compute()


def assert_equal(found: Any, expected: Any, about: Any) -> None:
    np.testing.assert_allclose(
        np.asarray(found, dtype=np.float64),
        np.asarray([float(x) for x in expected]),
        rtol=1e-12,
        atol=1e-15,
        err_msg=str(about),
    )


def assert_is_brute_force(result: Any, queries: Queries, options: Options) -> None:
    truth = {query: per_query(rows, options) for query, rows in queries.items()}
    columns = result.per_query()
    np.testing.assert_array_equal(columns["query"], sorted(queries))
    for name in MEASURES:
        values = [truth[query][name] for query in sorted(queries)]
        entered = entering(values, empty="zero")
        assert_equal(columns[name], entered, f"{name}, {options}")
        assert_equal([result[name]], [mean(entered)], f"mean {name}, {options}")
        assert result[name].exact, name


@every_gain
@every_ties
def test_each_query_equals_brute_force(ties: Any, options: Options) -> None:
    options = replace(options, ties=ties)
    drawn = queries(replace(options, ties="expected"))
    assert_is_brute_force(ours(drawn, options), drawn, options)


@every_ties
def test_each_query_equals_brute_force_when_relevance_is_fractional(ties: Any) -> None:
    options = Options(ties=ties, relevance_level=0.5)
    rng = np.random.default_rng(21)
    halves = {
        i: [replace(row, level=row.level and row.level / 4) for row in draw_query(rng)]
        for i in range(FEW_QUERIES)
    }
    names = [name for name in MEASURES if "err" not in name and "rel" not in name]
    result = ours(halves, options, names)
    for name in names:
        values = [per_query(rows, options, {name: MEASURES[name]}) for rows in halves.values()]
        entered = entering([value[name] for value in values], empty="zero")
        assert_equal(result.per_query()[name], entered, name)


@every_ties
def test_each_query_equals_brute_force_when_scores_are_missing(ties: Any) -> None:
    options = Options(ties=ties)
    rng = np.random.default_rng(22)
    drawn = {
        i: [
            replace(row, score=NAN if row.is_retrieved and rng.random() < 0.4 else row.score)
            for row in draw_query(rng)
        ]
        for i in range(FEW_QUERIES)
    }
    assert_is_brute_force(ours(drawn, options, nan="last"), drawn, options)


@every_ties
@each("unjudged", ["nonrelevant", "drop"])
def test_negative_relevance_counts_as_unjudged_when_asked(ties: Any, unjudged: str) -> None:
    options = Options(ties=ties, unjudged=unjudged)
    drawn = queries(GAINS["linear-R"])
    arguments = as_arguments(drawn)
    unknown = np.isnan(arguments["relevance"])
    arguments["relevance"][unknown] = np.resize([-1.0, -3.5, NAN], np.count_nonzero(unknown))

    acc = accumulator(options, negative="zero", per_query=True).update(**arguments)
    assert_is_brute_force(acc.compute(), drawn, options)


@every_ties
def test_negative_relevance_has_the_gain_that_a_mapping_gives_it(ties: Any) -> None:
    options = Options(ties=ties, gain=((-1, 0.25), (1, 1.0), (2, 2.0), (3, 4.0)))
    rng = np.random.default_rng(23)
    drawn = {
        i: [replace(row, level=-1 if row.level == 0 else row.level) for row in draw_query(rng)]
        for i in range(FEW_QUERIES)
    }
    names = [name for name in MEASURES if "err" not in name]
    result = ours(drawn, options, names)
    for name in names:
        measures = {name: MEASURES[name]}
        values = [per_query(rows, options, measures)[name] for rows in drawn.values()]
        assert_equal(result.per_query()[name], entering(values, empty="zero"), name)


@every_ties
@each("name", GEOMETRIC)
def test_geometric_mean_equals_brute_force(name: str, ties: Any) -> None:
    options = Options(ties=ties)
    drawn = queries(GAINS["linear-R"])
    for part in (drawn, *({i: drawn[i]} for i in range(min(20, len(drawn))))):
        acc = accumulator(options, [name]).update(**as_arguments(part))
        values = [per_query(rows, options, GEOMETRIC)[name] for rows in part.values()]
        for empty in ("zero", "skip", "one", "nan"):
            expected = combined(name, entering(values, empty=empty))
            assert_equal([acc.compute(empty=empty)[name]], [expected], empty)


def dense(queries: Queries) -> dict[str, Any]:
    """The same queries as a block, with nonsense where there is no document."""
    width = max(map(len, queries.values()))
    shape = len(queries), width
    block = {
        "relevance": np.full(shape, 2.0),
        "score": np.full(shape, 0.1),
        "mask": np.zeros(shape, dtype=bool),
        "doc": np.full(shape, "d1", dtype="U8"),
        "retrieved": np.ones(shape, dtype=bool),
        "query": np.array(list(queries)),
    }
    rng = np.random.default_rng(3)
    for at, rows in enumerate(queries.values()):
        places = rng.choice(width, len(rows), replace=False)
        for place, row in zip(places, rows, strict=True):
            block["relevance"][at, place] = NAN if row.level is None else row.level
            block["score"][at, place] = row.score
            block["mask"][at, place] = True
            block["doc"][at, place] = row.doc
            block["retrieved"][at, place] = row.is_retrieved
    return block


@every_gain
@every_ties
def test_a_dense_block_equals_brute_force(ties: Any, options: Options) -> None:
    options = replace(options, ties=ties)
    drawn = queries(replace(options, ties="expected"))
    result = accumulator(options, per_query=True).update(**dense(drawn)).compute()
    assert_is_brute_force(result, drawn, options)


GRADED = ("ndcg", "dcg", "rndcg")
BINARY = [
    name for name in MEASURES if not name.startswith((*GRADED, "err")) and "rel=2" not in name
]
OF_GAINS = [name for name in MEASURES if name.startswith(GRADED)]


@every_ties
@each("shape", ["dense", "ragged"])
@each("with_gains", [False, True])
def test_a_given_number_of_relevant_documents_equals_brute_force(
    ties: Any, shape: str, with_gains: bool
) -> None:
    options = Options(ties=ties)
    rng = np.random.default_rng(24)
    drawn, given = {}, {}
    for i in range(FEW_QUERIES):
        rows = [row for row in draw_query(rng) if row.is_retrieved]
        if with_gains:
            rows = [replace(row, level=row.level and min(row.level, 1)) for row in rows]
        drawn[i] = rows
        given[i] = sum((row.level or 0) >= 1 for row in rows) + int(rng.integers(0, 4))
    names = [*BINARY, *OF_GAINS] if with_gains else BINARY
    arguments = dense(drawn) if shape == "dense" else as_arguments(drawn)
    arguments["num_relevant"] = np.array(list(given.values())) if shape == "dense" else given
    del arguments["retrieved"]

    columns = accumulator(options, names, per_query=True).update(**arguments).compute().per_query()
    measures = {name: MEASURES[name] for name in names}
    found = [per_query(rows, options, measures, num_relevant=given[i]) for i, rows in drawn.items()]
    for name in names:
        expected = entering([one[name] for one in found], empty="zero")
        assert_equal(columns[name], expected, name)


@pytest.mark.slow
@every_ties
def test_the_order_of_rows_changes_no_bit(ties: Any) -> None:
    options = replace(GAINS["mapping-R"], ties=ties)
    arguments = as_arguments(queries(GAINS["mapping-R"]))
    rng = np.random.default_rng(25)

    def counted(arguments: dict[str, Any]) -> tuple[Any, ...]:
        acc = accumulator(options, [*MEASURES, *GEOMETRIC], per_query=True).update(**arguments)
        result = acc.compute()
        columns = {name: np.asarray(x).tobytes() for name, x in result.per_query().items()}
        numbers = [(float(result[m]), float(result.stderr[m])) for m in MEASURES]
        return acc.to_bytes(), columns, np.array(numbers).tobytes()

    expected = counted(arguments)
    for _ in range(10):
        places = rng.permutation(len(arguments["score"]))
        assert counted(rearranged(arguments, places)) == expected


@every_ties
def test_the_order_of_candidates_of_a_block_changes_no_bit(ties: Any) -> None:
    options = replace(GAINS["mapping-R"], ties=ties)
    block = dense(queries(GAINS["mapping-R"]))
    rng = np.random.default_rng(26)
    expected = accumulator(options).update(**block)
    for _ in range(10):
        places = rng.permuted(np.indices(block["score"].shape)[1], axis=1)
        moved = {
            name: array if array.ndim == 1 else np.take_along_axis(array, places, axis=1)
            for name, array in block.items()
        }
        lines = rng.permutation(len(places))
        acc = accumulator(options).update(**rearranged(moved, lines))
        assert acc == expected
        assert acc.to_bytes() == expected.to_bytes()


@every_ties
def test_an_increasing_map_of_the_scores_changes_no_bit(ties: Any) -> None:
    arguments = as_arguments(queries(GAINS["linear-R"]))
    options = Options(ties=ties)
    expected = accumulator(options).update(**arguments)
    ranks = np.unique(arguments["score"], return_inverse=True)[1]
    for score in (ranks - 7.0, ranks * 1e-310, ranks.astype(np.int8)):
        acc = accumulator(options).update(**{**arguments, "score": score})
        assert acc.to_bytes() == expected.to_bytes()


def harmonic(n: int) -> Fraction:
    return sum((Fraction(1, i) for i in range(1, n + 1)), Fraction(0))


def chance(n: int, n_relevant: int, n_missed: int, k: int) -> dict[str, Any]:
    """What a random order of n documents gets on average, `n_missed` relevant ones not among them.

    Expected AP: Bestgen (2015), "Exact expected average precision of the random baseline".
    """
    share = Fraction(n_relevant, n)
    known = n_relevant + n_missed
    none = [Fraction(math.comb(n - n_relevant, m), math.comb(n, m)) for m in range(n + 1)]
    cut = min(k, n)
    more = Fraction(n_relevant - 1, n - 1)
    discounts = [1 / math.log2(rank + 1) for rank in range(1, n + 1)]
    ideal = math.fsum(1 / math.log2(rank + 1) for rank in range(1, min(known, k) + 1))
    first = [Fraction(1, rank) * (none[rank - 1] - none[rank]) for rank in range(1, n + 1)]
    return {
        f"p@{k}": share * cut / k,
        f"r@{k}": share * cut / known,
        f"hit@{k}": 1 - none[cut],
        f"judged@{k}": 1,
        "mrr": sum(first),
        f"mrr@{k}": sum(first[:cut]),
        "map": share * (harmonic(n) + more * (n - harmonic(n))) / known,
        f"map@{k}": share * (harmonic(cut) + more * (cut - harmonic(cut))) / known,
        "rprec": share * min(known, n) / known,
        "lrap": share * n_relevant / known,
        "dcg": float(share) * math.fsum(discounts),
        f"dcg@{k}": float(share) * math.fsum(discounts[:cut]),
        f"ndcg@{k}": float(share) * math.fsum(discounts[:cut]) / ideal,
        "rbp(p=0.8)": share * (1 - Fraction(0.8) ** n),
        "set_p": share,
        "set_r": Fraction(n_relevant, known),
        "set_f": Fraction(2 * n_relevant, n + known),
    }


@pytest.mark.slow
@each("n", [2, 3, 10, 61, 400])
@each("score", [0.0, -7.5, math.inf, -math.inf])
def test_a_constant_scorer_scores_chance(n: int, score: float) -> None:
    rng = np.random.default_rng([27, n])
    for _ in range(20):
        n_relevant = int(rng.integers(1, n + 1))
        n_missed, k = int(rng.integers(0, 4)), int(rng.integers(1, n + 10))
        relevance = np.arange(n + n_missed) < n_relevant
        relevance[n:] = True
        expected = chance(n, n_relevant, n_missed, k)
        acc = se.RankingAccumulator(tuple(expected))
        result = acc.update(
            relevance.astype(float)[None],
            np.full((1, n + n_missed), score),
            retrieved=(np.arange(n + n_missed) < n)[None],
        ).compute()
        about = f"n={n}, n_relevant={n_relevant}, n_missed={n_missed}, k={k}"
        for name, value in expected.items():
            assert_equal([result[name]], [value], f"{name}: {about}")


def elementary(values: Sequence[Fraction], most: int) -> list[Fraction]:
    """Sums of the products of all subsets, by the size of the subset."""
    sums = [Fraction(1)] + [Fraction(0)] * most
    for value in values:
        for size in range(most, 0, -1):
            sums[size] += value * sums[size - 1]
    return sums


def chance_of_err(levels: Sequence[int], k: int) -> Fraction:
    """Mean over orders: each document at each rank, after every subset of the others."""
    stops = [Fraction(2**level - 1, 16) for level in levels]
    n, total = len(levels), Fraction(0)
    for stop in set(stops):
        others = list(stops)
        others.remove(stop)
        passed = elementary([1 - x for x in others], k)
        ranks = range(1, min(k, n) + 1)
        of_one = sum(passed[r - 1] / math.comb(n - 1, r - 1) / r for r in ranks)
        total += Fraction(stops.count(stop), n) * stop * of_one
    return total


@each("n", [1, 4, 50, 300])
@each("k", [1, 3, 10, 20])
def test_a_constant_scorer_scores_chance_on_err(n: int, k: int) -> None:
    levels = np.random.default_rng([28, n]).integers(0, 4, n)
    levels[0] = 3
    acc = se.RankingAccumulator((f"err@{k}",)).update(levels[None], np.zeros((1, n)))
    assert_equal([acc.compute()[f"err@{k}"]], [chance_of_err(levels.tolist(), k)], (n, k))


def test_the_default_rule_is_expected_for_a_constant_scorer() -> None:
    result = se.RankingAccumulator().update([[1, 0, 0, 0]], [[0.5] * 4]).compute()
    assert float(result["mrr"]) == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4, rel=1e-15)
    assert float(result["p@10"]) == pytest.approx(0.1, rel=1e-15)


@each("name", MEASURES)
def test_the_rules_for_ties_are_in_order(name: str) -> None:
    drawn = queries(GAINS["linear-R"])
    column = {
        ties: np.asarray(ours(drawn, Options(ties=ties), [name]).per_query()[name])
        for ties in EVERY_TIES
    }
    margin = 1e-12
    for between in ("expected", "docid_desc"):
        assert (column["pessimistic"] <= column[between] + margin).all()
        assert (column[between] <= column["optimistic"] + margin).all()


def test_document_ids_that_are_integers_are_compared_as_numbers() -> None:
    options = Options(ties="docid_desc")
    rows = [Row(1, 0.5, 9), Row(0, 0.5, 10), Row(0, 0.5, -3)]
    result = ours({0: rows}, options, ["mrr"])
    assert float(result["mrr"]) == 0.5


def test_document_ids_that_are_words_are_compared_by_code_points() -> None:
    options = Options(ties="docid_desc")
    words = ["d9", "d10", "D9", "d", "é", "z", "\U0001f600", "\uff5e"]
    for word in words:
        rows = [Row(int(word == other), 0.5, other) for other in words]
        rank = sorted(words, reverse=True).index(word) + 1
        result = ours({0: rows}, options, ["mrr"])
        assert float(result["mrr"]) == 1 / rank, word


def test_orders_that_look_alike_stand_for_equally_many() -> None:
    """What lets the brute force leave out the repetitions."""
    known = Known((0, 1, 1, 3, 0), Options())
    groups = [(0, 1, None, 1), (3, 0, None)]
    for name, measure in MEASURES.items():
        if measure.is_of_groups:
            continue
        alike = [truth_of(measure, order, known) for order in orders(groups)]
        full = [
            truth_of(measure, (*first, *second), known)
            for first in permutations(groups[0])
            for second in permutations(groups[1])
        ]
        assert float(mean(alike)) == pytest.approx(float(mean(full)), rel=1e-14), name
        assert set(alike) == set(full)


def truth_of(measure: Measure, order: Any, known: Known) -> Any:
    return measure.truth(order, known, measure.k, measure.rel)


PLANTED: dict[str, tuple[str, Options]] = {
    "the other gain": ("ndcg", Options(gain="exp2")),
    "the other divisor": ("map@1", Options(ap_norm="min")),
    "the other level": ("map", Options(relevance_level=2)),
    "unjudged documents left out": ("p@3", Options(unjudged="drop")),
    "ties settled for the worst": ("mrr", Options(ties="pessimistic")),
    "ties settled for the best": ("dcg@3", Options(ties="optimistic")),
    "ties settled by id": ("rprec", Options(ties="docid_desc")),
}


@each(("name", "planted"), PLANTED.values())
def test_the_queries_would_find_a_planted_fault(name: str, planted: Options) -> None:
    drawn = queries(GAINS["linear-R"])
    measures = {name: MEASURES[name]}
    different = [
        rows
        for rows in drawn.values()
        if per_query(rows, planted, measures) != per_query(rows, Options(), measures)
    ]
    assert len(different) >= len(drawn) / 20


def test_attempts_with_equal_scores_have_the_unbiased_pass_at_k() -> None:
    """Chen et al. (2021): ``1 - C(n - c, k) / C(n, k)``; pass^k is ``C(c, k) / C(n, k)``."""
    random = np.random.default_rng(4)
    n, right = 12, random.integers(0, 13, 40)
    passed = np.concatenate([random.permutation(np.repeat([1, 0], [c, n - c])) for c in right])
    attempts = {"query": np.repeat(np.arange(40), n), "score": np.zeros(40 * n)}
    measures = [name + str(k) for k in (1, 3, 12) for name in ("hit@", "pass^")]
    found, wrong = (
        se.RankingAccumulator(measures).update({**attempts, "relevance": relevance}).compute()
        for relevance in (passed, 1 - passed)
    )
    for k in (1, 3, 12):
        every = [math.comb(n - c, k) / math.comb(n, k) for c in right.tolist()]
        assert found.hit[k] == pytest.approx(1.0 - mean(every), abs=1e-14)
        alone = [math.comb(c, k) / math.comb(n, k) for c in right.tolist()]
        assert wrong.hit[k] == pytest.approx(1.0 - mean(alone), abs=1e-14)
        assert found[f"pass^{k}"] == pytest.approx(mean(alone), rel=1e-13)
