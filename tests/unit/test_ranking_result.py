"""The result of rankings: what empty and missing queries count, how sure the means are."""

from __future__ import annotations

import json
import math
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from offenders import each
from scipy import stats

import streameval as se
from streameval.errors import UnknownMetricError
from streameval.render.text import ABOUT_UNDEFINED

NAN = float("nan")

# Four queries: average precisions 1, 1/2, nothing to find, (1 + 2/3) / 2.
RELEVANCE = [[1, 0, 0], [0, 1, 0], [0, 0, 0], [1, 0, 1]]
SCORE = [[3, 2, 1]] * 4
PRECISIONS = [1.0, 0.5, None, 5 / 6]


def counted(measures: Any = "map", missing: int = 0, **options: Any) -> se.RankingAccumulator:
    accumulator = se.RankingAccumulator(measures, **options)
    accumulator.update(RELEVANCE, SCORE, query=["b", "a", "d", "c"])
    return accumulator.add_missing([f"missing {number}" for number in range(missing)])


def over_budget() -> se.Ranking:
    """One query of three rows, of which one was kept."""
    accumulator = se.RankingAccumulator(["map", "dcg", "gm_map", "p@1"], rows_per_query=1)
    accumulator.update([0, 1, 0], [3, 2, 1], query=[7, 7, 7], partial=True).close()
    return accumulator.update(RELEVANCE, SCORE).compute()


@each(
    ("empty", "expected"),
    [("zero", 7 / 12), ("skip", 7 / 9), ("one", 10 / 12), ("nan", NAN), (None, 7 / 12)],
)
def test_empty_query_counts_as_the_policy_says(empty: Any, expected: float) -> None:
    value = counted().compute(empty=empty).map
    assert value == pytest.approx(expected, rel=1e-15, nan_ok=True)


@each("empty", ["zero", "skip", "one", "nan"])
def test_policy_of_the_accumulator_is_that_of_compute(empty: Any) -> None:
    chosen, later = counted(empty=empty).compute(), counted().compute(empty=empty)
    assert repr(chosen.as_dict()) == repr(later.as_dict())
    assert repr(chosen.stderr) == repr(later.stderr)


def test_policy_of_compute_stands_above_that_of_the_accumulator() -> None:
    assert counted(empty="one").compute(empty="zero").map == pytest.approx(7 / 12)


def test_policy_may_differ_by_measure() -> None:
    result = counted(["map", "mrr", "p@1"], empty={"RR": "one", "P@1": "skip"}).compute()
    assert (result.map, result.mrr, result["p@1"]) == pytest.approx((7 / 12, 3.5 / 4, 2 / 3))


def test_mapping_of_compute_leaves_other_measures_at_zero() -> None:
    result = counted(["map", "mrr"], empty="one").compute(empty={"map": "skip"})
    assert (result.map, result.mrr) == pytest.approx((7 / 9, 2.5 / 4))


@each(("missing", "expected"), [("zero", 7 / 3 / 6), ("skip", 7 / 12), (None, 7 / 3 / 6)])
def test_missing_query_counts_as_the_policy_says(missing: Any, expected: float) -> None:
    assert counted(missing=2).compute(missing=missing).map == pytest.approx(expected, rel=1e-15)


def test_missing_policy_may_differ_by_measure() -> None:
    accumulator = se.RankingAccumulator(["map", "mrr"], missing={"mrr": "skip"})
    result = accumulator.update(RELEVANCE, SCORE).add_missing([1, 2]).compute()
    assert (result.map, result.mrr) == pytest.approx((7 / 3 / 6, 2.5 / 4))


def test_queries_are_counted_by_what_they_are() -> None:
    accumulator = counted(missing=3).update([1], [1], query=["open"], partial=True)
    result = accumulator.compute()
    counts = (result.n_queries, result.n_empty, result.n_missing, result.n_open)
    assert counts == (4, 1, 3, 1)
    assert accumulator.n == 4


def test_queries_are_empty_at_the_level_of_each_measure() -> None:
    relevance = [[0.0, 0.5], [1, 0], [2, 0], [NAN, NAN], [0, 0]]
    measures = ["map", "p(rel=2)@1", "ndcg@1", "judged@1"]
    result = se.RankingAccumulator(measures).update(relevance, [[2, 1]] * 5).compute()
    assert result.empty == {"map": 3, "p(rel=2)@1": 4, "ndcg@1": 2, "judged@1": 0}
    assert result.n_empty == 3


def test_relevance_of_one_counts_as_a_grade_for_err() -> None:
    relevance = [[0, 1], [0, 0]]
    accumulator = se.RankingAccumulator("err@2", relevance_level=2)
    result = accumulator.update(relevance, [[2, 1]] * 2).compute()
    assert result.empty == {"err@2": 1}
    assert result["err@2"] == pytest.approx(1 / 16 / 2 / 2)


def test_geometric_mean_takes_nothing_found_as_a_hundred_thousandth() -> None:
    logs = [math.log(value or 1e-5) for value in PRECISIONS]
    result = counted("gm_map").compute()
    assert result["gm_map"] == pytest.approx(math.exp(sum(logs) / 4), rel=1e-14)
    skipped = counted("gm_map").compute(empty="skip")["gm_map"]
    assert skipped == pytest.approx(math.exp(sum(logs[:2] + logs[3:]) / 3), rel=1e-14)
    assert counted("gm_map").compute(empty="one")["gm_map"] == pytest.approx(skipped**0.75)
    assert counted("gm_map", missing=4).compute()["gm_map"] == pytest.approx(
        math.exp((sum(logs) + 4 * math.log(1e-5)) / 8), rel=1e-14
    )


@each("missing", [0, 3])
@each("empty", ["zero", "skip", "one"])
def test_standard_error_is_that_of_the_values(empty: Any, missing: int) -> None:
    fill = {"zero": [0.0], "skip": [], "one": [1.0]}[empty]
    values = [value for value in PRECISIONS if value is not None] + fill + [0.0] * missing
    error = np.std(values, ddof=1) / math.sqrt(len(values))
    result = counted(missing=missing, empty=empty).compute()
    assert result.stderr == {"map": pytest.approx(error, rel=1e-12)}


def test_standard_error_is_that_of_random_queries() -> None:
    random = np.random.default_rng(3)
    relevance, score = random.integers(0, 3, (200, 9)), random.normal(size=(200, 9)).round(1)
    measures = ["map", "mrr@3", "ndcg", "dcg@5", "hit@1", "rprec", "gm_map"]
    accumulator = se.RankingAccumulator(measures, per_query=True)
    result = accumulator.update(relevance, score, query=np.arange(200)).compute()
    for name, column in result.per_query().items():
        if name == "query":
            continue
        error = np.std(column, ddof=1) / math.sqrt(200)
        if name == "gm_map":
            logs = np.log(np.maximum(column, 1e-5))
            error = np.exp(logs.mean()) * np.std(logs, ddof=1) / math.sqrt(200)
        assert result.stderr[name] == pytest.approx(error, rel=1e-12), name


@each("queries", [0, 1])
def test_standard_error_of_fewer_than_two_queries_is_unknown(queries: int) -> None:
    accumulator = se.RankingAccumulator("map").update(RELEVANCE[:queries], SCORE[:queries])
    result = accumulator.compute()
    assert math.isnan(result.stderr["map"])
    assert str(result.confidence("map")) == str((0.0, 1.0) if queries else (math.nan, math.nan))


def test_standard_error_of_an_undefined_mean_is_unknown() -> None:
    result = counted().compute(empty="nan")
    assert math.isnan(result.stderr["map"])
    assert all(map(math.isnan, result.confidence("map")))


def test_mean_of_nothing_is_unknown() -> None:
    assert math.isnan(se.RankingAccumulator("map").compute().map)


def test_mean_is_known_with_nan_for_empty_queries_where_there_are_none() -> None:
    result = se.RankingAccumulator("map", empty="nan").update(RELEVANCE[:2], SCORE[:2]).compute()
    assert result.map == 0.75


@each("name", ["map", "dcg", "gm_map", "p@1"])
def test_interval_holds_the_value_and_grows_with_its_level(name: str) -> None:
    for result in (over_budget(), counted(["map", "dcg", "gm_map", "p@1"]).compute()):
        intervals = [result.confidence(name, level=level) for level in (0.0, 0.5, 0.95, 0.999)]
        for low, high in intervals:
            assert 0.0 <= low <= result[name] <= high
            assert low <= result[name].low + 1e-11
            assert result[name].high - 1e-11 <= high
        widths = [high - low for low, high in intervals]
        assert widths == sorted(widths)
        assert widths[1] < widths[2]


def test_interval_of_all_hits_is_that_of_wilson() -> None:
    ones = [[1.0]] * 20
    low, high = se.RankingAccumulator("hit@1").update(ones, ones).compute().confidence("hit@1")
    z = 1.959963984540054
    assert (low, high) == pytest.approx((1 / (1 + z * z / 20), 1.0))


@each("n", [4, 12, 300])
def test_interval_of_few_queries_is_wider_by_students_t(n: int) -> None:
    random = np.random.default_rng(n)
    relevance, score = (random.random((n, 6)) < 0.5).astype(int), random.normal(size=(n, 6))
    relevance[:, 0] = 1
    acc = se.RankingAccumulator(["map", "dcg"], per_query=True)
    result = acc.update(relevance, score, query=np.arange(n)).compute()
    for name in ("map", "dcg"):
        values = np.array(result.per_query()[name])
        deviation = stats.t.ppf(0.975, n - 1) * values.std(ddof=1) / math.sqrt(n)
        found = result.confidence(name)
        if name == "dcg":
            ends = values.mean() - deviation, values.mean() + deviation
        else:  # (t - mean)**2 = share t (1 - t)
            mean = values.mean()
            share = min(deviation**2 / (mean * (1 - mean)), stats.norm.ppf(0.975) ** 2 / (n - 1))
            roots = np.roots([1 + share, -2 * mean - share, mean**2]).real
            ends = roots.min(), roots.max()
        assert found == pytest.approx(ends, rel=0.02)


@pytest.mark.slow
@each("name", ["map", "p@3"])
def test_interval_of_ten_queries_covers_the_mean_of_the_population(name: str) -> None:
    random, covered, times = np.random.default_rng(3), 0, 400
    relevance = (random.random((20_000, 6)) < random.beta(2, 3, (20_000, 1))).astype(int)
    score = random.normal(size=relevance.shape)
    population = se.RankingAccumulator(name).update(relevance, score).compute()[name]
    for places in random.integers(0, 20_000, (times, 10)):
        sample = se.RankingAccumulator(name).update(relevance[places], score[places]).compute()
        low, high = sample.confidence(name)
        covered += low <= population <= high
    assert covered / times >= 0.93


@pytest.mark.slow
@each("name", ["hit@1", "map", "dcg", "p@2"])
def test_interval_holds_the_mean_of_the_population_as_often_as_it_says(name: str) -> None:
    random = np.random.default_rng(8)
    relevance = (random.random((20_000, 4)) < random.beta(1, 3, (20_000, 1))).astype(int)
    score = random.normal(size=relevance.shape)
    accumulator = se.RankingAccumulator(name, per_query=True)
    everything = accumulator.update(relevance, score, query=np.arange(20_000)).compute()
    held = 0
    for _ in range(300):
        places = random.integers(0, 20_000, 60)
        sample = se.RankingAccumulator(name).update(relevance[places], score[places]).compute()
        low, high = sample.confidence(name, level=0.9)
        held += low <= everything[name] <= high
    assert 0.85 * 300 <= held <= 0.96 * 300


def test_values_past_the_kept_rows_have_bounds() -> None:
    result = over_budget()
    assert (result["map"].low, result["map"].high) == pytest.approx(
        ((7 / 3 + 1 / 3) / 5, (7 / 3 + 1 / 2) / 5)
    )
    assert result["p@1"].exact
    assert not result["dcg"].exact
    assert result["gm_map"].low < result["gm_map"] < result["gm_map"].high


def test_values_of_each_query_come_in_the_order_of_their_ids() -> None:
    columns = counted(["map", "p@2"], per_query=True).compute().per_query()
    assert list(columns) == ["query", "map", "p@2"]
    assert columns["query"].tolist() == ["a", "b", "c", "d"]
    np.testing.assert_allclose(columns["map"], [0.5, 1.0, 5 / 6, 0.0], rtol=1e-15)
    np.testing.assert_allclose(columns["p@2"], [0.5, 0.5, 0.5, 0.0], rtol=1e-15)


@each(("empty", "shown"), [("zero", 0), ("one", 1), ("skip", NAN), ("nan", NAN)])
def test_value_of_an_empty_query_is_what_it_counts(empty: Any, shown: float) -> None:
    columns = counted(["map", "gm_map"], per_query=True).compute(empty=empty).per_query()
    np.testing.assert_equal(columns["map"][3], shown)
    np.testing.assert_equal(columns["gm_map"][3], shown)


def test_missing_query_is_listed_where_it_counts() -> None:
    result = counted(["map", "gm_map"], missing=1, per_query=True).compute
    columns = result(missing="zero").per_query()
    assert columns["query"].tolist() == ["a", "b", "c", "d", "missing 0"]
    assert (columns["map"][4], columns["gm_map"][4]) == (0.0, 0.0)
    assert result(missing="skip").per_query()["query"].tolist() == ["a", "b", "c", "d"]
    mixed = result(missing={"map": "skip"}).per_query()
    np.testing.assert_equal((mixed["map"][4], mixed["gm_map"][4]), (NAN, 0.0))


def test_values_of_no_query_are_empty_columns() -> None:
    columns = se.RankingAccumulator("map", per_query=True).compute().per_query()
    assert {name: column.tolist() for name, column in columns.items()} == {"query": [], "map": []}


def test_values_of_each_query_are_not_those_of_the_state() -> None:
    accumulator = counted(per_query=True)
    before = accumulator.to_bytes()
    for column in accumulator.compute().per_query().values():
        column[:] = 0
    assert accumulator.to_bytes() == before


@each("per_query", [True, False])
def test_result_says_whether_it_has_the_values_of_queries(per_query: bool) -> None:
    assert counted(per_query=per_query).compute().has_queries is per_query


NAMES = ["map", "mrr", "ndcg@2", "ndcg", "p@2", "p(rel=2)@2", "r@2", "hit@1"]


@each(
    ("name", "canonical"),
    [
        ("AP", "map"),
        ("recip_rank", "mrr"),
        ("nDCG@2", "ndcg@2"),
        ("P_2", "p@2"),
        ("HIT@1", "hit@1"),
    ],
)
def test_measure_is_looked_up_by_any_of_its_names(name: str, canonical: str) -> None:
    result = counted(NAMES).compute()
    assert result[name] == result[canonical]
    assert name in result
    assert result.confidence(name) == result.confidence(canonical)


@each("name", ["p@3", "auc", "", 5, None])
def test_measure_that_is_not_there_is_no_key(name: Any) -> None:
    result = counted(NAMES).compute()
    assert name not in result
    assert result.get(name) is None
    with pytest.raises(KeyError, match="is not among the measures map, mrr, ndcg@2"):
        _ = result[name]


@each(
    ("name", "says"),
    [
        ("p@5", r"^'p@5' is not among the measures: count with measures=\['p@5'\]"),
        ("hit_rate@3", r"^'hit@3' is not among the measures: count with measures=\['hit@3'\]"),
        ("mpa", "^no metric 'mpa': did you mean 'map'"),
        ("ndcg", "^no metric 'ndcg': did you mean 'ndcg@2'"),
    ],
)
def test_read_says_how_a_measure_that_was_not_counted_is_asked_for(name: str, says: str) -> None:
    with pytest.raises(UnknownMetricError, match=says):
        counted(["map", "ndcg@2"]).compute().read(name)


def test_result_is_a_mapping_in_the_order_of_the_measures() -> None:
    result = counted(NAMES).compute()
    assert list(result) == NAMES
    assert len(result) == len(NAMES)
    assert dict(result) == {name: result[name] for name in NAMES}


def test_attributes_give_measures_by_cutoff() -> None:
    result = counted(NAMES).compute()
    assert (result.map, result.mrr) == (result["map"], result["mrr"])
    assert result.ndcg == {2: result["ndcg@2"], None: result["ndcg"]}
    assert result.precision == {2: result["p@2"]}
    assert result.recall == {2: result["r@2"]}
    assert result.hit == {1: result["hit@1"]}


@each("name", ["map", "mrr"])
def test_attribute_that_was_not_measured_is_none(name: str) -> None:
    result = counted("p@1").compute()
    assert not hasattr(result, name)


def test_values_know_that_they_are_exact() -> None:
    assert all(value.exact for value in counted(NAMES).compute().values())


def test_result_is_frozen() -> None:
    accumulator = counted()
    result = accumulator.compute()
    accumulator.update(RELEVANCE, SCORE, query=[*"wxyz"])
    assert result.n_queries == 4
    with pytest.raises(AttributeError):
        result.map = 0  # type: ignore[misc]
    with pytest.raises(AttributeError):
        result._state = None  # type: ignore[misc]


def test_result_flattens_to_plain_numbers() -> None:
    flat = counted(["map", "p@1"], missing=2).compute(empty="skip").as_dict()
    expected = {"n_queries": 4, "n_empty": 1, "n_missing": 2, "n_open": 0}
    assert flat == expected | {"map": pytest.approx(7 / 3 / 5), "p@1": pytest.approx(2 / 5)}
    assert {type(value) for value in flat.values()} == {int, float}
    assert json.loads(json.dumps(flat)) == flat


def test_result_flattens_with_its_bounds() -> None:
    flat = over_budget().as_dict(bounds=True)
    assert flat["map_low"] < flat["map"] < flat["map_high"]
    assert flat["p@1_low"] == flat["p@1"] == flat["p@1_high"]


def test_report_has_a_line_for_each_measure_and_one_of_counts() -> None:
    accumulator = counted(["map", "p@1"], missing=2).update([1], [1], query=["e"], partial=True)
    lines = accumulator.compute().report().splitlines()
    assert lines[0] == "4 queries, 1 with nothing relevant, 2 judged but missing, 1 still open"
    assert [line.split()[0] for line in lines[2:]] == ["metric", "map", "p@1"]
    assert lines[3].startswith("map     0.388889  [")


def test_report_certifies_what_has_bounds() -> None:
    lines = over_budget().report().splitlines()
    head, first, *_, last = lines[2:]
    end = head.index("exact value within") + len("exact value within")
    assert first[:end].endswith("  [0.533333, 0.566667]")
    assert "[" not in last[:end]


def test_report_of_nothing_has_no_intervals() -> None:
    report = se.RankingAccumulator("map").compute().report()
    assert report == f"0 queries\n\nmetric  value\nmap         \N{EN DASH}\n\n{ABOUT_UNDEFINED}"


def test_repr_shows_the_means() -> None:
    result = counted(["map", "p@1"]).compute()
    assert repr(result) == "Ranking(n_queries=4, map=0.583333, p@1=0.5)"
    assert str(result) == result.report()


def test_html_is_well_formed() -> None:
    root = ElementTree.fromstring(counted(NAMES).compute()._repr_html_())
    assert root.tag == "div"
    assert " ".join(root.itertext()).split() == counted(NAMES).compute().report().split()


def test_report_takes_the_level_of_its_intervals() -> None:
    result = se.RankingAccumulator("mrr").update([[1, 0], [0, 1]], [[2, 1], [2, 1]]).compute()
    low, high = result.confidence("mrr", level=0.8)
    head, line = result.report(level=0.8).splitlines()[2:]
    assert head.endswith("  80% interval")
    assert line.endswith(f"  [{low:.6f}, {high:.6f}]")
    assert "[" not in result.report(level=0)


def test_interval_of_a_geometric_mean_stays_in_its_range() -> None:
    result = se.RankingAccumulator("gm_map").update([[1, 0], [0, 0]], [[2, 1], [2, 1]]).compute()
    low, high = result.confidence("gm_map", level=0.999)
    assert 1e-5 * (1 - 1e-12) <= low <= result["gm_map"] <= high <= 1.0


def test_asking_for_one_measure_does_not_compute_the_others() -> None:
    acc = se.RankingAccumulator(["map", "p@1", "mrr", "ndcg@5", "p@2"])
    result: Any = acc.update([[1, 0], [0, 1]], [[2, 1]] * 2).compute()
    assert result["mrr"] == 0.75
    assert [*result._tallies] == [2]
    assert result.precision == {1: 0.5, 2: 0.5}
    assert sorted(result._tallies) == [1, 2, 4]


def test_level_of_an_interval_may_come_second() -> None:
    result = se.RankingAccumulator(["mrr"]).update([[1, 0], [0, 1], [1, 1]], [[1, 2]] * 3).compute()
    assert result.confidence("mrr", 0.5) == result.confidence("mrr", level=0.5)
    assert result.confidence("mrr", 0.5) != result.confidence("mrr")
