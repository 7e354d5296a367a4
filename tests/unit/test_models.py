"""Several models on the same rows: beside oracles, in any cut, and on hostile input."""

from __future__ import annotations

import functools
import itertools
import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from offenders import each
from scipy import stats
from sklearn.metrics import log_loss, roc_auc_score

import streameval as se
from streameval.errors import UnknownMetricError
from streameval.results.models import ModelComparison

MODELS = ("new", "old", "oldest", "oddest")
PAIRS = tuple(itertools.combinations(MODELS, 2))
MEASURES = ("f_score", "roc_auc", "log_loss")
N = 400


def scores(seed: int = 0, n: int = N) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    truth = random.integers(0, 2, n)
    blur = random.random(n)
    own = {
        name: np.clip(truth * share + blur * 0.3 + random.random(n) * (0.7 - share), 0.0, 1.0)
        for name, share in zip(MODELS, (0.4, 0.38, 0.2, 0.39), strict=True)
    }
    return {"y_true": truth, **own}


def counted(batch: dict[str, Any], **options: Any) -> se.Collection:
    return se.Paired.of_models(MODELS, **options).update(batch)


@functools.cache
def compared() -> ModelComparison:
    return counted(scores(), measures=MEASURES).compute().comparison()


def corrected(pvalues: list[float]) -> list[float]:
    """Correct by Holm's steps, as R does."""
    order = np.argsort(pvalues, kind="stable")
    m = len(pvalues)
    steps = [min(1.0, (m - rank) * pvalues[at]) for rank, at in enumerate(order)]
    found = np.empty(m)
    found[order] = np.maximum.accumulate(steps)
    return [float(one) for one in found]


def test_values_are_those_of_each_model_alone() -> None:
    batch, comparison = scores(), compared()
    truth = batch["y_true"]
    assert list(comparison) == ["accuracy", *MEASURES]
    for model in MODELS:
        own = batch[model]
        alone = se.ConfusionAccumulator().update(truth, own).compute()
        for name in ("accuracy", "f_score"):
            one = comparison[name]
            assert one.values[model] == alone.read(name).value
            assert one.intervals[model] == pytest.approx(alone.confidence(name), rel=1e-12)
        assert comparison["roc_auc"].values[model] == pytest.approx(roc_auc_score(truth, own))
        assert comparison["log_loss"].values[model] == pytest.approx(log_loss(truth, own))


def test_pvalues_of_accuracy_are_those_of_mcnemar_corrected_by_holm() -> None:
    batch, one = scores(), compared()["accuracy"]
    right = {model: (batch[model] >= 0.5) == batch["y_true"] for model in MODELS}
    pvalues = []
    for a, b in PAIRS:
        only_a, only_b = np.sum(right[a] & ~right[b]), np.sum(right[b] & ~right[a])
        pvalues.append(stats.binomtest(int(only_a), int(only_a + only_b)).pvalue)
    assert [(pair.a, pair.b) for pair in one.differences] == list(PAIRS)
    assert [pair.pvalue for pair in one.differences] == pytest.approx(pvalues, rel=1e-9)
    assert [pair.holm_pvalue for pair in one.differences] == pytest.approx(
        corrected(pvalues), rel=1e-9
    )


@each("measure", MEASURES)
def test_pairs_are_those_of_two_models(measure: str) -> None:
    batch, one = scores(), compared()[measure]
    pvalues = []
    for (a, b), pair in zip(PAIRS, one.differences, strict=True):
        alone = se.Paired(measures=[measure]).update(batch["y_true"], batch[a], batch[b]).compute()
        name = f"{measure}_difference"
        assert pair.difference == alone.read(name).value
        assert pair.interval == alone.confidence(name)
        assert pair.pvalue == alone.read(f"{measure}_pvalue").value
        pvalues.append(pair.pvalue)
    assert [pair.holm_pvalue for pair in one.differences] == pytest.approx(corrected(pvalues))


def test_best_has_the_best_value_and_others_are_as_good_unless_a_test_says_no() -> None:
    for name, one in compared().items():
        choose = min if name == "log_loss" else max
        assert one.best == choose(MODELS, key=one.values.__getitem__)
        apart = {
            model
            for pair in one.differences
            for model in (pair.a, pair.b)
            if one.best in (pair.a, pair.b) and pair.holm_pvalue <= 0.05
        }
        assert one.indistinguishable == tuple(
            model for model in MODELS if model != one.best and model not in apart
        )
        assert "oldest" not in one.indistinguishable
    assert len(compared()["accuracy"].indistinguishable) > 0


@pytest.mark.slow
def test_equal_models_are_rarely_called_worse() -> None:
    random = np.random.default_rng(5)
    false = 0
    for _ in range(300):
        right = {name: random.random(60) < 0.7 for name in MODELS}
        batch = {"y_true": np.ones(60, np.int64), **{k: v.astype(int) for k, v in right.items()}}
        one = counted(batch).compute().comparison()["accuracy"]
        false += len(one.indistinguishable) < len(MODELS) - 1
    assert false / 300 <= 0.05


@given(st.lists(st.integers(0, N), max_size=4), st.booleans())
def test_comparison_is_the_same_however_rows_are_cut_and_merged(
    cuts: list[int], is_reversed: bool
) -> None:
    batch, edges = scores(), [0, *sorted(cuts), N]
    parts = [
        counted({name: column[low:high] for name, column in batch.items()}, measures=MEASURES)
        for low, high in itertools.pairwise(edges)
    ]
    if is_reversed:
        parts.reverse()
    total = parts[0].merge(*parts[1:])
    whole = counted(batch, measures=MEASURES)
    assert total.to_bytes() == whole.to_bytes()
    assert se.from_bytes(total.to_bytes()).compute().comparison() == compared()


def test_bounds_of_pvalues_decide_for_the_highest_possible_ones() -> None:
    batch = scores()
    sure = counted(batch, measures=["roc_auc"]).compute().comparison()["roc_auc"]
    one = counted(batch, measures=["roc_auc"], budget=20).compute().comparison()["roc_auc"]
    assert "oldest" not in sure.indistinguishable
    pvalues = [pair.pvalue for pair in one.differences]
    assert any(not pvalue.exact for pvalue in pvalues if isinstance(pvalue, se.Bounded))
    highest = [pvalue.high for pvalue in pvalues if isinstance(pvalue, se.Bounded)]
    assert [pair.holm_pvalue for pair in one.differences] == pytest.approx(corrected(highest))
    assert max(pair.holm_pvalue for pair in one.differences) == 1.0
    assert {type(pair["pvalue"]) for pair in one.as_dict()["differences"]} == {float}


def test_slices_of_models_are_compared() -> None:
    batch = scores() | {"country": np.array(["de", "fr"])[np.arange(N) % 2]}
    acc = se.Sliced(se.Paired.of_models(MODELS), "country").update(batch)
    part = {name: column[::2] for name, column in scores().items()}
    assert acc.compute()["de"].comparison() == counted(part).compute().comparison()


@pytest.mark.slow
def test_clusters_have_pvalues_that_agree_with_their_intervals() -> None:
    batch = scores() | {"user": np.arange(N) // 8}
    acc = se.Clustered(se.Paired.of_models(MODELS, measures=["roc_auc"]), by="user")
    result = acc.update(batch).compute()
    comparison, plain = result.comparison(), compared()
    for name in ("accuracy", "roc_auc"):
        for pair, alone in zip(comparison[name].differences, plain[name].differences, strict=True):
            assert pair.difference == alone.difference
            assert pair.pvalue >= alone.pvalue * (1 - 1e-6)
            member = result[f"{pair.a} vs {pair.b}"]
            metric = "difference" if name == "accuracy" else "roc_auc_difference"
            for level, is_apart in (
                (1 - pair.pvalue * 1.01, True),
                (1 - pair.pvalue * 0.99, False),
            ):
                if 1e-9 < pair.pvalue < 0.99:
                    low, high = member.confidence(metric, level=level)
                    assert (low > 0 or high < 0) is is_apart
    assert "interval for clusters ends at 0" in comparison.report()
    assert "Intervals are for clusters (user)" in result.report()
    assert result.entries(0.95)["clusters"] == {"column": "user", "groups": 33}


def test_clusters_in_one_group_have_no_test() -> None:
    batch = scores() | {"user": np.zeros(N, np.int64)}
    acc = se.Clustered(se.Paired.of_models(MODELS[:3], measures=["log_loss"]), by="user")
    one = acc.update(batch).compute().comparison()["log_loss"]
    assert all(math.isnan(pair.pvalue) for pair in one.differences)
    assert one.best == "new"
    assert one.indistinguishable == ("old", "oldest")


def test_fractional_weights_have_values_but_no_tests() -> None:
    acc = se.Paired.of_models(MODELS).update(scores(), sample_weight=np.full(N, 0.3))
    comparison = acc.compute().comparison()
    one = comparison["accuracy"]
    assert one.values == pytest.approx(compared()["accuracy"].values)
    assert all(math.isnan(pair.pvalue) for pair in one.differences)
    assert len(one.indistinguishable) == 3
    assert "There are no tests" in comparison.report()


def test_no_rows_have_no_best() -> None:
    one = se.Paired.of_models(MODELS).compute().comparison()["accuracy"]
    assert one.best is None
    assert one.indistinguishable == ()
    assert "best" not in se.Paired.of_models(MODELS).compute().report().replace("the best", "")


def test_models_of_numbers_are_compared_by_errors() -> None:
    random = np.random.default_rng(2)
    truth = random.normal(size=50)
    batch = {
        "y_true": truth,
        "x": truth + 0.1,
        "y": truth - 0.2,
        "z": truth + random.normal(size=50),
    }
    acc = se.Paired.of_models(["x", "y", "z"], None, measures=["mse", "mae"]).update(batch)
    comparison = acc.compute().comparison()
    assert list(comparison) == ["mse", "mae"]
    assert comparison["mse"].best == "x"
    assert comparison["mae"].values == pytest.approx(
        {name: np.abs(batch[name] - truth).mean() for name in "xyz"}
    )


def test_two_models_are_compared_as_pairs_are_shown() -> None:
    batch = {name: scores()[name] for name in ("y_true", "new", "old")}
    acc = se.Paired.of_models(("new", "old")).update(batch)
    assert acc.compute().comparison()["accuracy"].best == "new"
    assert acc.compute().report().startswith("new vs old\n")


def test_report_and_json_show_the_models_together() -> None:
    result = counted(scores(), measures=MEASURES).compute()
    lines = result.report().splitlines()
    assert lines[0] == "n = 400, 4 models"
    assert lines[3].split() == ["model", "value", "95%", "interval", "verdict"]
    assert sum(line.endswith("  best") for line in lines) == 4
    assert "<0.0001" in result.report()
    assert "interval" not in result.report(level=0)
    assert result.report(level=0.9).count("90% interval") == 8
    entries = json.loads(json.dumps(result.entries(0.95)["comparison"]))
    assert entries["accuracy"]["best"] == compared()["accuracy"].best
    assert entries["roc_auc"]["differences"][0].keys() == {
        *("a", "b", "difference", "interval", "pvalue", "holm_pvalue")
    }
    assert entries == json.loads(json.dumps(compared().as_dict()))


def test_comparison_shows_itself() -> None:
    comparison = compared()
    assert str(comparison) == comparison.report()
    assert repr(comparison).startswith("ModelComparison(accuracy=['")
    assert comparison._repr_html_().startswith("<div>")
    assert len(comparison) == 4
    with pytest.raises(KeyError, match="'map' is not among accuracy, f_score, roc_auc"):
        comparison["map"]


def test_values_and_differences_are_read_by_name() -> None:
    comparison = compared()
    one = comparison["accuracy"]
    assert comparison.read("accuracy[old]").value == one.values["old"]
    assert comparison.read("accuracy[old]").sampling == one.intervals["old"]
    pair = next(pair for pair in one.differences if (pair.a, pair.b) == ("new", "old"))
    low, high = pair.interval
    assert comparison.read("accuracy[new - old]").sampling == (low, high)
    other = comparison.read("accuracy[old - new]")
    assert (other.value, other.sampling) == (-pair.difference, (-high, -low))
    with pytest.raises(UnknownMetricError, match="did you mean 'accuracy'"):
        comparison.read("acuracy[old]")
    with pytest.raises(UnknownMetricError, match=r"write accuracy\[new\] for a value"):
        comparison.read("accuracy[older]")


def test_numbers_without_an_interval_say_why() -> None:
    batch = {name: [1.0] for name in MODELS}
    acc = se.Paired.of_models(MODELS, None, measures=["loss"]).update(batch, sample_weight=[0.5])
    reading = acc.compute().comparison().read("loss[new - old]")
    assert (reading.value, reading.sampling, reading.deciding) == (0.0, None, None)
    assert reading.why_none == "weights have fractions"


def test_tables_have_a_row_for_each_model_or_pair() -> None:
    models, pairs = compared().table(), compared().table("pair")
    assert list(models) == [
        *("measure", "model", "value", "interval_low", "interval_high", "verdict")
    ]
    assert {len(column) for column in models.values()} == {16}
    assert models["verdict"].count("best") == 4
    assert {len(column) for column in pairs.values()} == {24}
    assert pairs["holm_pvalue"][:6] == [
        pair.holm_pvalue for pair in compared()["accuracy"].differences
    ]
    with pytest.raises(se.InvalidInputError, match="`per` must be"):
        compared().table("class")  # type: ignore[arg-type]


def test_frames_hold_the_table_and_a_picture_the_differences() -> None:
    held = compared()
    for per in ("model", "pair"):
        assert held.to_pandas(per).to_dict("list") == held.table(per)
        assert held.to_polars(per).to_dict(as_series=False) == held.table(per)
    axes = held.plot(measure="roc_auc", label="today")
    names = [tick.get_text() for tick in axes.get_yticklabels()]
    assert names == [f"{one.a} - {one.b}" for one in held["roc_auc"].differences]
    assert (axes.get_xlabel(), axes.get_title()) == ("roc_auc", f"{N} rows, 95% intervals")
    assert held.plot().get_xlabel() == next(iter(held))
    with pytest.raises(se.InvalidInputError, match=r'^`measure` must be .* or "roc_auc"'):
        held.plot(measure="MAP")


def test_other_collections_are_shown_as_they_were() -> None:
    def pair(**options: Any) -> se.Paired:
        return se.Paired(**options)

    columns = {"ab": {"y_pred_a": "a", "y_pred_b": "b"}, "ac": {"y_pred_a": "a", "y_pred_b": "c"}}
    alone = se.Collection({"ab": pair(), "ac": pair()}, columns=columns)
    mixed = se.Collection(
        {"ab": pair(), "ac": pair(), "bc": pair(threshold=0.4)},
        columns=columns | {"bc": {"y_pred_a": "b", "y_pred_b": "c"}},
    )
    other = se.Collection({"counts": se.ConfusionAccumulator(), "ab": pair(), "ac": pair()})
    closer = se.Collection(
        {name: pair(classes=None) for name in ("ab", "ac", "bc")},
        columns=columns | {"bc": {"y_pred_a": "b", "y_pred_b": "c"}},
    )
    for one in (alone, mixed, other, closer):
        result = one.compute()
        assert result.report().splitlines()[0] in ("ab", "counts", "ab, ac", "ab, ac, bc")
        assert "comparison" not in result.entries(0.95)
        with pytest.raises(
            se.InvalidInputError, match="`members` must be all pairs of some models"
        ):
            result.comparison()


def test_models_may_be_a_member_of_a_collection() -> None:
    models = se.Paired.of_models(["a", "b", "c"])
    whole = se.Collection({"counts": se.ConfusionAccumulator(), "models": models})
    batch = {"y_true": [0, 1], "y_pred": [0, 1], "a": [0, 1], "b": [1, 1], "c": [0, 0]}
    result = whole.update(batch).compute()
    assert result["models"].comparison() == models.update(batch).compute().comparison()
    assert "a vs b" in result.report()


@each(
    ("models", "options", "message"),
    [
        ("abc", {}, "`models` must be a list of names, got 'abc'"),
        (7, {}, "`models` must be a list of names, got 7"),
        ({"a", "b"}, {}, "`models` must be a list of names"),
        (["a"], {}, "`models` must be from 2 to 64 names, got 1"),
        ([], {}, "`models` must be from 2 to 64 names, got 0"),
        ([f"m{i}" for i in range(65)], {}, "`models` must be from 2 to 64 names, got 65"),
        (["a", "b", "a"], {}, "`models` must be different names, got 'a' twice"),
        (["a", 3], {}, "`models` must have names that are texts, got 3"),
        (["a", ""], {}, "`models` must have names that are texts, got ''"),
        (["a", "y_true"], {}, "`models` must be columns of predictions, got 'y_true'"),
        (["a", "sample_weight"], {}, "`models` must be columns of predictions"),
        (["a", "b/c"], {}, "`models` must be columns without '/', got 'b/c'"),
        (["a vs b", "a", "b vs a"], {}, '`models` must be names without " vs "'),
        (["a", "b"], {"classes": None}, '`measures` must name "mse" or "mae"'),
        (["a", "b"], {"measures": ["auc"]}, "`measures` has no 'auc'"),
        (["a", "b"], {"classes": 1}, "`classes` must"),
    ],
)
def test_bad_models_are_refused(models: Any, options: Any, message: str) -> None:
    with pytest.raises(se.InvalidInputError) as caught:
        se.Paired.of_models(models, **options)
    assert str(caught.value).startswith(message)
    assert str(caught.value).endswith(".")


@each(
    ("change", "message"),
    [
        ({"old": None}, "member 'new vs old': `old` is missing: the batch has the columns"),
        ({"old": [0.1, math.nan]}, "member 'new vs old': `y_pred_b` must "),
        ({"y_true": [0, 2]}, "member 'new vs old': `y_true` must "),
        ({"oddest": [0.1]}, "member 'new vs oddest': `y_pred_b` must "),
    ],
)
def test_bad_batches_are_refused_and_change_nothing(change: Any, message: str) -> None:
    batch = {"y_true": [0, 1], **{name: [0.2, 0.7] for name in MODELS}} | change
    acc = se.Paired.of_models(MODELS)
    before = acc.to_bytes()
    with pytest.raises(se.InvalidInputError) as caught:
        acc.update({name: column for name, column in batch.items() if column is not None})
    assert str(caught.value).startswith(message)
    assert acc.to_bytes() == before


@each("level", [0, 0.0, 1.0, -0.1, "x"])
def test_levels_without_a_test_are_refused(level: Any) -> None:
    with pytest.raises(se.InvalidInputError, match=r"^`level` must "):
        counted(scores()).compute().comparison(level=level)


def evaluated(
    seed: int, queries: Any, measures: Any = ("map", "ndcg@3"), **options: Any
) -> se.Ranking:
    random = np.random.default_rng(seed)
    acc = se.RankingAccumulator(list(measures), per_query=True, **options)
    for query in queries:
        truth = np.random.default_rng(abs(hash(query))).integers(0, 3, (1, 6))
        acc.update(truth, truth * 0.1 * (seed % 3) + random.random((1, 6)), query=[query])
    return acc.compute()


def test_systems_are_compared_in_pairs_with_both_tests() -> None:
    systems = [evaluated(seed, range(30)) for seed in (0, 1, 2)]
    comparison = se.compare(*systems, names=["bm25", "dense", "both"])
    for name, one in comparison.items():
        found = []
        for pair, (a, b) in zip(one.differences, itertools.combinations(systems, 2), strict=True):
            x, y = a.per_query()[name], b.per_query()[name]
            alone = se.compare(a, b)[name]
            assert pair.difference == alone.difference
            assert pair.interval == alone.confidence()
            assert pair.pvalue == alone.randomization_pvalue
            assert pair.t_pvalue == pytest.approx(stats.ttest_rel(x, y).pvalue, rel=1e-9)
            found.append((pair.pvalue, pair.t_pvalue))
        for at, holm in enumerate(("holm_pvalue", "holm_t_pvalue")):
            expected = corrected([pvalues[at] for pvalues in found])
            assert [getattr(pair, holm) for pair in one.differences] == pytest.approx(expected)
        for system, result in zip(comparison.models, systems, strict=True):
            assert one.values[system] == pytest.approx(result[name], rel=1e-15)
            assert one.intervals[system] == pytest.approx(result.confidence(name), rel=1e-9)
    assert comparison["map"].best == "both"
    assert "t-test's p" in comparison.report()
    assert comparison.report().startswith("30 queries, 3 models\n")


def test_only_queries_of_all_systems_are_compared() -> None:
    systems = [
        evaluated(seed, queries)
        for seed, queries in ((1, range(9)), (1, range(2, 9)), (2, range(8)))
    ]
    comparison = se.compare(*systems)
    assert comparison.models == ("a", "b", "c")
    assert comparison.report().startswith("6 queries of all and 3 of some, left out, 3 models")
    rows = [one.per_query() for one in systems]
    own = rows[0]["map"][np.isin(rows[0]["query"], range(2, 8))]
    assert comparison["map"].values["a"] == pytest.approx(own.mean(), rel=1e-15)


@pytest.mark.slow
def test_order_of_queries_changes_no_pvalue() -> None:
    def systems(order: Any) -> list[se.Ranking]:
        made = []
        for seed in (1, 2, 3):
            acc = se.RankingAccumulator(["map"], per_query=True)
            for query in order:
                row = np.random.default_rng((seed, query)).random((1, 5))
                acc.update([[0, 1, 0, 1, 0]], row, query=[query])
            made.append(acc.compute())
        return made

    assert se.compare(*systems(range(40))) == se.compare(*systems(range(39, -1, -1)))


def test_one_query_has_no_tests_and_measures_without_a_direction_no_best() -> None:
    systems = [evaluated(seed, [1], ("map", "num_ret")) for seed in (0, 1, 2)]
    comparison = se.compare(*systems)
    assert comparison["map"].intervals["a"] == (0.0, 1.0)
    (pair, *_) = comparison["map"].differences
    assert (pair.interval, str(pair.pvalue)) == ((-1.0, 1.0), "1.0")
    assert comparison["num_ret"].differences[0].interval == (-math.inf, math.inf)
    assert comparison["num_ret"].best is None
    assert comparison["num_ret"].indistinguishable == ()


@each(
    ("systems", "options", "message"),
    [
        ("aab", {"names": ["x", "y"]}, "`names` must be 3, one for each system, got 2"),
        ("aab", {"names": ["x", "y", "x"]}, "`names` must be different names, got 'x' twice"),
        ("aab", {"names": "xyz"}, "`names` must be a list of names, got 'xyz'"),
        ("a" * 27, {}, "`names` must be 27, one for each system, got 0"),
        ("aab", {"level": 0}, "`level` must lie in (0, 1), got 0"),
        ("aa", {"level": 2}, "`level` must lie in [0, 1), got 2"),
        ("aac", {}, "`more[0]` must have a query that `a` has too"),
        ("aad", {}, "`more[0]` must have a measure that `a` has too"),
        ("aae", {}, "`more[0]` must be counted with the options of `a`: ties="),
        ("aaf", {}, "`more[0]` must have queries of the type of those of `a`"),
        ("aag", {}, "`more[0]` must be the Ranking of an accumulator made with per_query=True"),
        ("aah", {}, "`more[0]` must have a measure that `a` has too"),
        ("ha", {}, "`a` must have a measure other than geometric means"),
        ("ai", {}, "`b` must have each query in the cluster"),
    ],
)
def test_bad_systems_are_refused(systems: str, options: Any, message: str) -> None:
    makers = {
        "a": lambda: evaluated(1, [1, 2]),
        "b": lambda: evaluated(2, [1, 2]),
        "c": lambda: evaluated(2, [3]),
        "d": lambda: evaluated(2, [1], ("mrr",)),
        "e": lambda: evaluated(2, [1], ties="pessimistic"),
        "f": lambda: evaluated(2, ["1"]),
        "g": lambda: se.RankingAccumulator().compute(),
        "h": lambda: evaluated(2, [1], ("gm_map",)),
        "i": clustered_ranking,
    }
    with pytest.raises(se.InvalidInputError) as caught:
        se.compare(*(makers[name]() for name in systems), **options)
    assert str(caught.value).startswith(message)
    assert str(caught.value).endswith(".")


def clustered_ranking() -> Any:
    acc = se.Clustered(se.RankingAccumulator(["map"], per_query=True), by="topic")
    rows = {
        "relevance": [[0, 1], [1, 0]],
        "score": [[0.1, 0.2], [0.1, 0.2]],
        "query": [1, 2],
        "topic": [1, 2],
    }
    return acc.update(rows).compute()
