"""Two systems compared query by query: beside scipy, beside brute force, and on hostile input."""

from __future__ import annotations

import itertools
import math
from typing import Any

import attrs
import numpy as np
import pytest
from offenders import each
from scipy import stats

import streameval as se
from streameval.configs.measures import measure
from streameval.results import comparison
from streameval.results.comparison import Difference


def evaluated(seed: int, queries: Any, measures: Any = ("map", "ndcg@3"), **options: Any) -> Any:
    """Rank a fixed set of documents in an order of your own."""
    ids = np.array(queries)
    relevance = np.random.default_rng(9).integers(0, 3, (1000, 6))[np.arange(len(ids))]
    score = np.random.default_rng(seed).random((len(ids), 6)) + 0.1 * seed * relevance
    acc = se.RankingAccumulator(measures, per_query=True, **options)
    return acc.update(relevance, score, query=ids).compute()


def difference(a: Any, b: Any, permutations: int = 10_000, seed: int = 0) -> Difference:
    return Difference(
        measure("map"), np.array(a, dtype=float), np.array(b, dtype=float), permutations, seed
    )


def test_t_test_equals_scipy() -> None:
    compared = se.compare(evaluated(1, range(40)), evaluated(2, range(40)))
    for name in ("map", "ndcg@3"):
        a, b = (evaluated(seed, range(40)).per_query()[name] for seed in (1, 2))
        theirs = stats.ttest_rel(a, b)
        assert compared[name].t == pytest.approx(theirs.statistic, rel=1e-12)
        assert compared[name].t_pvalue == pytest.approx(theirs.pvalue, rel=1e-9)
        assert compared[name].difference == pytest.approx(a.mean() - b.mean(), rel=1e-12)


def test_means_are_those_of_the_results() -> None:
    a, b = evaluated(1, range(30)), evaluated(2, range(30))
    compared = se.compare(a, b)
    assert compared["nDCG@3"].a == pytest.approx(a["ndcg@3"], rel=1e-15)
    assert compared["AP"].b == pytest.approx(b.map, rel=1e-15)


@each("seed", range(20))
def test_few_queries_are_randomised_exactly(seed: int) -> None:
    random = np.random.default_rng(seed)
    a, b = random.integers(0, 5, (2, int(random.integers(1, 9)))) / 4
    signs = np.array(list(itertools.product([-1, 1], repeat=len(a))))
    totals = np.abs((signs * (a - b)).sum(axis=1))
    expected = np.mean(totals >= abs((a - b).sum()) - 1e-9)
    assert difference(a, b).randomization_pvalue == pytest.approx(expected, abs=1e-12)


def test_random_signs_come_near_all_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = np.random.default_rng(3).random((2, 14)) * [[1.0], [0.8]]
    exact = difference(a, b, permutations=2**14).randomization_pvalue
    monkeypatch.setattr(comparison, "_BLOCK", 100)  # many blocks
    sampled = difference(a, b, permutations=16_000).randomization_pvalue
    assert sampled != exact
    assert sampled == pytest.approx(exact, abs=5 * math.sqrt(exact * (1 - exact) / 16_000))


def test_a_seed_gives_one_pvalue_and_another_seed_another() -> None:
    a, b = np.random.default_rng(3).random((2, 50))
    first = difference(a, b, seed=1).randomization_pvalue
    assert first == difference(a, b, seed=1).randomization_pvalue
    assert first != difference(a, b, seed=2).randomization_pvalue


def test_pvalues_of_equal_systems_are_uniform() -> None:
    random = np.random.default_rng(11)
    low = 0
    for _ in range(300):
        a, b = random.random((2, 10))
        low += difference(a, b, permutations=2**10).randomization_pvalue <= 0.2
    assert 35 <= low <= 88  # 60 expected, 4 deviations of 7


def test_a_system_equals_itself() -> None:
    a = evaluated(1, range(5))
    same = se.compare(a, a)["map"]
    assert (same.difference, same.wins, same.ties, same.losses) == (0.0, 0, 5, 0)
    assert same.randomization_pvalue == 1.0
    assert math.isnan(same.t)
    assert math.isnan(same.t_pvalue)


def test_a_constant_difference_has_an_infinite_t() -> None:
    constant = difference([0.5, 1.0, 0.75], [0.25, 0.75, 0.5])
    assert constant.t == math.inf
    assert constant.t_pvalue == 0.0
    assert difference([0.25, 0.5], [0.5, 0.75]).t == -math.inf


@each(("n", "near"), [(6, 1e-2), (30, 1e-4), (400, 1e-7)])
def test_interval_of_a_mean_difference_is_students(n: int, near: float) -> None:
    a, b = np.random.default_rng(4).random((2, n))
    found = difference(a, b)
    deviation = (a - b).std(ddof=1) / math.sqrt(n)
    assert found.stderr == pytest.approx(deviation, rel=1e-12)
    for level in (0.5, 0.9, 0.95):
        low, high = found.confidence(level=level)
        reach = stats.t.ppf((1 + level) / 2, n - 1) * deviation
        assert (low + high) / 2 == pytest.approx((a - b).mean(), rel=1e-9)
        assert (high - low) / 2 == pytest.approx(reach, rel=near)
    assert f"[{found.confidence()[0]:+.6f}, " in se.Comparison({"map": found}, 0, 0).report()


def test_mean_difference_that_does_not_vary_may_be_another_elsewhere() -> None:
    assert all(map(math.isnan, difference([], []).confidence()))
    assert difference([0.5], [0.25]).confidence() == (-1.0, 1.0)
    share = 1.959963984540054**2 / (2 + 1.959963984540054**2)
    expected = 0.25 - 1.25 * share, 0.25 + 0.75 * share
    assert difference([0.5, 1.0], [0.25, 0.75]).confidence() == pytest.approx(expected)


def test_level_of_an_interval_is_checked() -> None:
    with pytest.raises(se.InvalidInputError, match="`level` must lie in"):
        difference([0.5, 1.0], [0.25, 0.5]).confidence(level=1.0)


def test_wins_and_losses_change_sides() -> None:
    a, b = evaluated(1, range(20)), evaluated(2, range(20))
    one, other = se.compare(a, b)["map"], se.compare(b, a)["map"]
    assert (one.wins, one.ties, one.losses) == (other.losses, other.ties, other.wins)
    assert one.wins + one.ties + one.losses == one.n == 20
    assert one.difference == -other.difference
    assert one.randomization_pvalue == other.randomization_pvalue


@each("kind", [np.int64, object])
def test_queries_of_one_side_are_left_out_and_counted(kind: Any) -> None:
    names = np.array([f"q{i}" if kind is object else i for i in range(12)], dtype=kind)
    compared = se.compare(evaluated(1, names[:8]), evaluated(2, names[3:]))
    assert (compared.n_only_a, compared.n_only_b, compared["map"].n) == (3, 4, 5)
    assert "\n3 queries only in a, left out\n4 queries only in b, left out\n" in compared.report()


def test_queries_without_an_answer_are_left_out() -> None:
    def run(score: Any) -> Any:
        acc = se.RankingAccumulator(["map"], per_query=True, empty="skip")
        return acc.update([[0, 1], [0, 0]], score, query=[1, 2]).compute()

    compared = se.compare(run([[1, 2], [1, 2]]), run([[2, 1], [1, 2]]))
    assert (compared["map"].n, compared["map"].a, compared["map"].b) == (1, 1.0, 0.5)
    assert math.isnan(compared["map"].t)


def test_nothing_in_common_but_the_query() -> None:
    def run() -> Any:
        acc = se.RankingAccumulator(["map"], per_query=True, empty="skip")
        return acc.update([[0, 0]], [[1, 2]], query=[1]).compute()

    alone = se.compare(run(), run())["map"]
    assert (alone.n, alone.randomization_pvalue) == (0, 1.0)
    assert math.isnan(alone.a)
    assert math.isnan(alone.difference)


def test_only_measures_of_both_are_compared() -> None:
    compared = se.compare(
        evaluated(1, range(3), ("map", "p@2")), evaluated(2, range(3), ("p@2", "mrr"))
    )
    assert list(compared) == ["p@2"]
    assert len(compared) == 1
    with pytest.raises(KeyError):
        compared["map"]


def test_frames_hold_the_table_and_a_picture_the_differences() -> None:
    held = se.compare(evaluated(0, range(9)), evaluated(1, range(9)))
    columns = held.table(level=0.9)
    assert columns["measure"] == list(held)
    assert columns["difference"] == [one.difference for one in held.values()]
    ends = zip(columns["interval_low"], columns["interval_high"], strict=True)
    assert [*ends] == [one.confidence(level=0.9) for one in held.values()]
    assert "interval_low" not in held.table()
    assert held.to_pandas(level=0.9).to_dict("list") == columns
    assert held.to_polars().to_dict(as_series=False) == held.table()
    assert held.to_markdown().startswith("| measure | n | a | b | difference |")
    assert (
        held.to_latex(level=0.9).splitlines()[2].endswith(r" & interval\_low & interval\_high \\")
    )
    axes = held.plot()
    assert [tick.get_text() for tick in axes.get_yticklabels()] == list(held)
    assert (axes.get_xlabel(), axes.get_title()) == ("a - b", "9 queries, 95% intervals")


def test_comparison_prints_and_flattens() -> None:
    compared = se.compare(evaluated(1, range(9)), evaluated(2, range(9)))
    assert repr(compared).startswith("Comparison(map=")
    assert str(compared) == compared.report()
    assert compared.report().splitlines()[0].split()[0] == "measure"
    assert compared._repr_html_().startswith('<div><div style="overflow-x:auto" role="group" ')
    flat = compared.as_dict()
    assert flat["map/difference"] == compared["map"].difference
    assert all(isinstance(value, (int, float)) for value in flat.values())
    assert "wins=" in repr(compared["map"])


@each(
    ("a", "b", "options", "message"),
    [
        (
            lambda: 1.0,
            lambda: evaluated(1, [1]),
            {},
            "`a` must be the Ranking of an accumulator made with per_query=True, got float.$",
        ),
        (
            lambda: se.PRCurveSketch().update([0, 1], [0.1, 0.9]).compute(),
            lambda: evaluated(1, [1]),
            {},
            "per_query=True, got Curve. To compare models on the same rows, count them with one se",
        ),
        (
            lambda: evaluated(1, [1]),
            lambda: se.RankingAccumulator().compute(),
            {},
            "`b` must be the Ranking of an accumulator made with per_query=True.$",
        ),
        (
            lambda: evaluated(1, [1], "map"),
            lambda: evaluated(1, [1], "mrr"),
            {},
            "`b` must have a measure",
        ),
        (lambda: evaluated(1, [1]), lambda: evaluated(1, [2]), {}, "`b` must have a query"),
        (lambda: evaluated(1, [1]), lambda: evaluated(1, ["1"]), {}, "`b` must have queries of"),
        (
            lambda: evaluated(1, [1]),
            lambda: evaluated(1, [1]),
            {"permutations": 0},
            "`permutations` must be",
        ),
        (
            lambda: evaluated(1, [1]),
            lambda: evaluated(1, [1]),
            {"seed": -1},
            "`seed` must be",
        ),
    ],
)
def test_bad_arguments_are_named(a: Any, b: Any, options: Any, message: str) -> None:
    with pytest.raises(se.InvalidInputError, match=message) as caught:
        se.compare(a(), b(), **options)
    assert str(caught.value).endswith(".")


@each(
    ("option", "value", "measures"),
    [
        ("ties", "pessimistic", ("mrr",)),
        ("relevance_level", 2, ("mrr",)),
        ("unjudged", "drop", ("mrr",)),
        ("empty", "skip", ("mrr",)),
        ("missing", "skip", ("mrr",)),
        ("gain", "exp2", ("mrr", "ndcg")),
        ("ap_norm", "min", ("mrr", "map@2")),
    ],
)
def test_results_of_other_conventions_are_refused(option: str, value: Any, measures: Any) -> None:
    a, b = evaluated(1, [1], measures), evaluated(1, [1], measures, **{option: value})
    with pytest.raises(
        se.InvalidInputError, match=rf"^`b` must be counted with the options of `a`: {option}="
    ):
        se.compare(a, b)


def test_options_that_no_shared_measure_reads_may_differ() -> None:
    options = {"gain": "exp2", "ap_norm": "min", "negative": "zero", "nan": "last"}
    a = evaluated(1, [1], ("mrr", "map"), empty={"map": "skip"})
    b = evaluated(1, [1], ("mrr", "ndcg"), **options)
    assert list(se.compare(a, b)) == ["mrr"]


def test_policies_of_the_result_decide() -> None:
    acc = se.RankingAccumulator(["mrr"], per_query=True).update([[0, 1]], [[0.1, 0.2]], query=[1])
    with pytest.raises(se.InvalidInputError, match=r"empty='skip', and in `a` empty='zero'\.$"):
        se.compare(acc.compute(), acc.compute(empty="skip"))


def test_quantiles_over_queries_are_not_compared() -> None:
    results = (evaluated(seed, range(9), ("map", "map[median]")) for seed in (1, 2))
    assert list(se.compare(*results)) == ["map"]


def test_values_stream_out_as_they_are_counted() -> None:
    relevance, score = np.random.default_rng(0).random((2, 7, 4)).round(1)
    ids = np.array([5, 3, 9, 1, 0, 2, 4])
    written: list[dict[str, Any]] = []
    acc = se.RankingAccumulator(["map", "ndcg"], relevance_level=0.5)
    for rows in (slice(0, 3), slice(3, 7)):
        acc.update(relevance[rows], score[rows], query=ids[rows], on_queries=written.append)
    kept = se.RankingAccumulator(["map", "ndcg"], relevance_level=0.5, per_query=True)
    whole = kept.update(relevance, score, query=ids).compute().per_query()
    joined = {name: np.concatenate([part[name] for part in written]) for name in whole}
    order = np.argsort(joined["query"])
    for name, column in whole.items():
        assert np.array_equal(joined[name][order], column)


def test_values_stream_out_of_runs_and_closed_queries() -> None:
    written: list[dict[str, Any]] = []
    acc = se.RankingAccumulator(["mrr"])
    acc.update([0, 1], [2.0, 1.0], query=["a", "a"], partial=True, on_queries=written.append)
    assert not written
    acc.close(on_queries=written.append)
    acc.update_run({"b": {"x": 1.0}}, {"b": {"x": 1}}, on_queries=written.append)
    assert [part["query"].tolist() for part in written] == [["a"], ["b"]]
    assert [part["mrr"].tolist() for part in written] == [[0.5], [1.0]]


def test_a_sink_that_fails_leaves_nothing_counted() -> None:
    def full(_: Any) -> None:
        raise OSError("disk full")

    acc = se.RankingAccumulator(["mrr"]).update([[1]], [[1]])
    before = acc.copy()
    with pytest.raises(OSError, match="disk full"):
        acc.update([[1]], [[1]], query=[1], on_queries=full)
    assert acc == before
    with pytest.raises(se.InvalidInputError, match="`query` is missing: `on_queries` needs ids"):
        acc.update([[1]], [[1]], on_queries=full)
    assert acc == before


def in_topics(seed: int, n_topics: int = 30, by: str = "topic") -> Any:
    """Evaluate 120 queries, whose topics decide how good the system is."""
    random = np.random.default_rng(seed)
    query = np.repeat(np.arange(120), 6)
    topic = query % n_topics
    ease = np.random.default_rng(7).normal(size=n_topics)[topic]
    relevance = np.random.default_rng(8).random(720) < 0.4
    score = random.random(720) + (0.2 * seed + 0.5 * ease) * relevance
    acc = se.Clustered(se.RankingAccumulator(["map", "ndcg@3"], per_query=True), by=by)
    return acc.update(
        {"relevance": relevance.astype(int), "score": score, "query": query, by: topic}
    ).compute()


def test_systems_with_clusters_are_compared_by_groups_of_queries() -> None:
    a, b = in_topics(2), in_topics(1)
    found = se.compare(a, b)["map"]
    values = [one.per_query()["map"] for one in (a, b)]
    difference = values[0] - values[1]
    groups = a._clusters.groups_of(a.per_query()["query"])
    assert [*np.unique(groups)] == [number for number, _ in a._clusters.table.each(0)]
    numbers = np.unique(groups)
    without = [difference[groups != one].mean() for one in numbers]
    variance = (len(numbers) - 1) / len(numbers) * np.sum((without - difference.mean()) ** 2)
    assert found.stderr == pytest.approx(np.sqrt(variance), rel=1e-12)
    t = difference.mean() / np.sqrt(variance)
    assert found.t == pytest.approx(t, rel=1e-12)
    expected = 2 * stats.t.sf(abs(t), len(numbers) - 1)
    assert found.t_pvalue == pytest.approx(expected, rel=1e-9)
    signs = np.random.default_rng(5).choice([-1, 1], (20_000, len(numbers)))
    sums = np.array([difference[groups == one].sum() for one in numbers])
    share = np.mean(np.abs(signs @ sums) >= abs(difference.sum()))
    assert found.randomization_pvalue == pytest.approx(share, abs=0.01)
    low, high = found.confidence()
    plain = attrs.evolve(found, groups=None).confidence()
    assert low <= plain[0] < plain[1] <= high
    assert "clusters (topic)" in str(se.compare(a, b))


def test_values_of_clustered_systems_have_their_intervals() -> None:
    a, b = in_topics(2), in_topics(1)
    found = se.compare(a, b, names=["a", "b"])
    assert "the randomization test of clusters (topic), two-sided" in found.report()
    for name, result in zip("ab", (a, b), strict=True):
        assert found["map"].intervals[name] == pytest.approx(result.confidence("map"), rel=1e-9)


def test_a_clustered_member_of_a_collection_is_compared() -> None:
    query = np.repeat(np.arange(40), 3)
    batch = {"relevance": query % 2, "score": query % 7, "query": query, "topic": query // 2}
    inner = se.Collection({"r": se.RankingAccumulator(["mrr"], per_query=True)})
    result = se.Clustered(inner, by="topic").update(batch).compute()["r"]
    assert se.compare(result, result)["mrr"].n == 40


@each("other", [in_topics(1, 20), in_topics(1).with_clusters(None)])
def test_systems_with_other_clusters_are_refused(other: Any) -> None:
    message = "must have each query in the cluster that it has in `a`. Count all systems with the"
    for pair in ((in_topics(2), other), (other, in_topics(2))):
        with pytest.raises(se.InvalidInputError, match=message):
            se.compare(*pair)
