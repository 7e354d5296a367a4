"""`evidence` of panes: which of them count, what is refused, and what the result shows."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import pytest
from offenders import each

import streameval as se
from streameval.exact.fixed_point import FixedPoint
from streameval.inputs.values import rank_of
from streameval.metrics.evidence import Limit, Share, accumulated
from streameval.reports import RESULTS
from streameval.states.state import State

MINUTE = 60_000_000


def rows(start: int, errors: int, n: int = 100) -> dict[str, Any]:
    """Make a pane of positives of which some are missed, all at one time."""
    prediction = [0] * errors + [1] * (n - errors)
    return {"y_true": [1] * n, "y_pred": prediction, "time": [start] * n}


def counted(errors: Sequence[int | None], **options: Any) -> se.Windowed:
    """Count a pane of steps for each number of errors; None is a pane without rows."""
    w = se.Windowed(se.ConfusionAccumulator(), **{"pane": 10, **options})
    for number, missed in enumerate(errors):
        if missed is not None:
            w.update(rows(10 * number, missed))
    return w


def ask(w: se.Windowed, metric: str = "recall", **options: Any) -> se.Evidence:
    return se.evidence(w, metric, **{"at_least": 0.9, "false_alarms": 10_000, **options})


DROP = [5, 9, 7, 6, 8, 35, 31, 33, 30]


def test_evidence_fires_at_the_end_of_the_pane_that_reached_the_threshold() -> None:
    found = ask(counted(DROP))
    series = list(accumulated([Share.of(100 - e, e) for e in DROP[:-1]], Limit(0.9, is_floor=True)))
    first = next(at for at, log in enumerate(series) if log >= math.log(10_000))
    assert (found.firing, found.fired_at) == (True, 10 * (first + 1))
    assert found.per_pane()["log_evidence"] == pytest.approx(series)
    assert found.log_evidence == found.per_pane()["log_evidence"][-1]
    assert found.log_threshold == math.log(10_000)


@pytest.mark.slow
def test_alarm_stays_at_its_first_crossing_when_the_metric_recovers() -> None:
    dropped, recovered = ask(counted(DROP)), ask(counted([*DROP, *[2] * 300]))
    assert recovered.log_evidence < recovered.log_threshold
    assert (recovered.firing, recovered.fired_at) == (True, dropped.fired_at)


def test_alarm_may_be_gone_once_its_panes_are_before_all_panes() -> None:
    errors = [*DROP, *[2] * 30]
    assert ask(counted(errors, keep=400)).fired_at == ask(counted(DROP)).fired_at
    later = ask(counted(errors, keep=100))
    assert (later.firing, later.fired_at) == (False, None)


def test_newest_pane_does_not_count() -> None:
    assert ask(counted([5, 5, 100])).per_pane() == ask(counted([5, 5, 0])).per_pane()
    assert ask(counted([5, 5, 100, 0])).firing
    assert ask(counted([5])).n_panes == 0


def test_evidence_before_the_first_pane_is_none() -> None:
    found = ask(counted([]))
    assert (found.firing, found.fired_at, found.log_evidence) == (False, None, -math.inf)
    assert found.per_pane() == {"start": [], "end": [], "value": [], "log_evidence": []}


def test_panes_that_say_nothing_change_nothing() -> None:
    w = counted([20, 30, None, 20, 5])
    w.update({"y_true": [0] * 9, "y_pred": [1] * 9, "time": [25] * 9})  # no positive: no recall
    found = ask(w)
    assert (found.n_panes, found.n_empty) == (4, 1)
    assert math.isnan(found.per_pane()["value"][2])
    without = ask(counted([20, 30, None, 20, 5])).per_pane()["log_evidence"]
    assert [*found.per_pane()["log_evidence"][:2], found.log_evidence] == without


def test_promise_in_time_is_that_of_as_many_panes() -> None:
    w = se.Windowed(se.ConfusionAccumulator(), pane="1m", unit="us")
    for number, errors in enumerate(DROP):
        w.update(rows(number * MINUTE, errors))
    by_time = ask(w, false_alarms="1 per 30d")
    assert by_time.mean_panes == 30 * 1440
    assert by_time.log_threshold == ask(w, false_alarms=43_200).log_threshold
    assert ask(w, false_alarms="3 per 1h30m").mean_panes == 30
    assert by_time.fired_at == np.datetime64("1970-01-01T00:06", "us")


def test_series_share_the_promise() -> None:
    alone, shared = ask(counted(DROP)), ask(counted(DROP), n_series=50)
    assert shared.log_threshold == pytest.approx(alone.log_threshold + math.log(50))
    assert shared.log_evidence == alone.log_evidence


def test_panes_before_a_time_are_left_out() -> None:
    w = counted([*DROP, *[2] * 20])
    later = ask(w, since=90)
    assert (later.n_panes, later.firing) == (19, False)
    by_time = se.Windowed(se.ConfusionAccumulator(), pane="1m", unit="us")
    for number in range(5):
        by_time.update(rows(number * MINUTE, 3))
    assert ask(by_time, since=np.datetime64("1970-01-01T00:02")).n_panes == 2


def test_rolled_up_panes_count_as_one_look() -> None:
    errors = [5, 12, 14, 9, 13, 12, 3, 8]
    found = ask(counted(errors, keep=20, rollups=[(30, None)]))
    fine = ask(counted(errors))
    assert found.per_pane()["end"] == [30, 60, 70]
    assert found.per_pane()["value"] == pytest.approx([1 - 31 / 300, 1 - 34 / 300, 0.97])
    assert found.log_evidence <= fine.log_evidence


@each("by", ["slice", "all"])
def test_slice_is_told_apart_from_all_rows(by: str) -> None:
    w = se.Windowed(se.Sliced(se.ConfusionAccumulator(), "country", values=["DE", "FR"]), pane=10)
    for number in range(6):
        for country, errors in (("DE", 30), ("IT", 1)):
            if country == "IT" or number != 2:
                w.update(rows(10 * number, errors) | {"country": [country] * 100})
    options = {} if by == "all" else {"slice": "DE"}
    found = ask(w, **options)
    if by == "slice":
        assert found.per_pane()["value"] == pytest.approx(
            [0.7, 0.7, math.nan, 0.7, 0.7], nan_ok=True
        )
    else:
        assert found.per_pane()["value"] == pytest.approx([0.845, 0.845, 0.99, 0.845, 0.845])
    assert ask(w, slice="FR").n_empty == 5
    with pytest.raises(se.InvalidInputError, match="`slice` must have a slice in some pane"):
        ask(w, slice="ES")


@each("asked", ["alone", "total", "slice"])
def test_evidence_of_a_loaded_state_is_the_same(asked: str) -> None:
    inner: Any = se.ConfusionAccumulator()
    w = se.Windowed(inner if asked == "alone" else se.Sliced(inner, "country"), pane=10)
    for number, errors in enumerate(DROP):
        w.update(rows(10 * number, errors) | {"country": ["DE"] * 100})
    options = {"slice": "DE"} if asked == "slice" else {}
    assert ask(se.from_bytes(w.to_bytes()), **options).per_pane() == ask(w, **options).per_pane()


@each("named", [False, True])
def test_slice_that_a_pane_turned_away_is_refused_unless_it_is_named(named: bool) -> None:
    early, late = sorted(["DE", "FR"], key=rank_of)
    inner = se.Sliced(se.ConfusionAccumulator(), "c", values=[late] * named, max_values=1 + named)
    w = se.Windowed(inner, pane=10)
    for number in range(6):
        w.update(rows(10 * number, 100 if number else 0) | {"c": [late] * 100})
        if number:
            w.update(rows(10 * number, 0) | {"c": [early] * 100})
    assert not ask(w, slice=early).firing
    if named:
        assert ask(w, slice=late).fired_at == 20
    else:
        with pytest.raises(se.InvalidInputError, match=f"`slice` must .*{late}.* in `values` of"):
            ask(w, slice=late)


def test_slice_whose_rows_are_older_than_all_panes_is_known() -> None:
    w = se.Windowed(se.Sliced(se.ConfusionAccumulator(), "c"), pane=10, keep=20)
    w.update(rows(0, 5) | {"c": ["DE"] * 100}).update(rows(100, 5) | {"c": ["FR"] * 100})
    assert w.total()["DE"].n == 100
    assert not ask(w, slice="DE").firing


def test_slice_of_panes_that_have_none_is_refused() -> None:
    with pytest.raises(
        se.InvalidInputError, match="`slice` needs panes that are a Sliced, got Conf"
    ):
        ask(counted(DROP), slice="DE")


def test_pane_without_labels_says_nothing() -> None:
    w = counted([20, None, 20, 20])
    w.update({"y_true": [None], "y_pred": [1], "time": [10]})
    found = ask(w)
    assert (found.n_panes, found.n_empty) == (3, 1)
    sliced = se.Windowed(se.Sliced(se.ConfusionAccumulator(), "c"), pane=10)
    for number, label in enumerate([1, None, 1, 1]):
        sliced.update({"y_true": [label], "y_pred": [1], "time": [10 * number], "c": ["a"]})
    assert ask(sliced).n_empty == ask(sliced, slice="a").n_empty == 1


def test_class_that_has_not_come_in_a_pane_says_nothing_of_it() -> None:
    w = se.Windowed(se.ConfusionAccumulator("auto"), pane=10)
    for number, labels in enumerate([["a", "b"], ["a", "a"], ["b", "b"], ["a", "b"]]):
        w.update({"y_true": labels, "y_pred": labels, "time": [10 * number] * 2})
    assert ask(w, "recall[b]").n_empty == 1
    with pytest.raises(se.InvalidInputError, match="no class 'c'"):
        ask(w, "recall[c]")


def test_member_of_a_collection_is_named_as_on_the_command_line() -> None:
    inner = se.Collection({"cm": se.ConfusionAccumulator(), "fit": se.RegressionAccumulator()})
    w = se.Windowed(inner, pane=10)
    for number, errors in enumerate(DROP):
        w.update(rows(10 * number, errors))
    assert ask(w, "cm/recall[1]").log_evidence == ask(counted(DROP)).log_evidence
    with pytest.raises(se.InvalidInputError, match="did you mean 'cm/recall'"):
        ask(w, "recall")


def test_ceiling_is_a_floor_of_the_reverse() -> None:
    right = ask(counted(DROP), "accuracy")
    w = se.Windowed(se.ConfusionAccumulator(), pane=10)
    for number, errors in enumerate(DROP):
        flipped = [1 - label for label in rows(0, errors)["y_pred"]]
        w.update(rows(10 * number, errors) | {"y_pred": flipped})
    wrong = se.evidence(w, "accuracy", at_most=0.1, false_alarms=10_000)
    assert wrong.per_pane()["log_evidence"] == pytest.approx(right.per_pane()["log_evidence"])
    assert wrong.fired_at == right.fired_at


# which metrics


def scored(budget: int | None, seed: int = 0) -> se.Curve:
    random = np.random.default_rng(seed)
    truth = random.integers(0, 2, 300)
    score = np.clip(random.normal(0.4 + 0.2 * truth, 0.2), 0, 1)
    return se.PRCurveSketch(budget).update(truth, score).compute()


def ranked(*measures: str, **options: Any) -> se.Ranking:
    random = np.random.default_rng(0)
    acc = se.RankingAccumulator(measures, **options)
    return acc.update(random.integers(0, 2, (50, 6)), random.random((50, 6))).compute()


def labelled(classes: int = 3, **options: Any) -> se.Confusion:
    random = np.random.default_rng(0)
    truth, prediction = random.integers(0, classes, (2, 200))
    return se.ConfusionAccumulator(classes, **options).update(truth, prediction).compute()


SHARES = {
    "accuracy": labelled(2),
    "precision": labelled(2),
    "recall[0]": labelled(2),
    "specificity": labelled(2),
    "jaccard[2]": labelled(3),
    "f_score[1]": labelled(3),
    "precision_at(0.5)": scored(None),
    "recall_at(0.5)": scored(None),
    "f_at(0.5)": scored(None),
    "hit@2": ranked("hit@2"),
    "accuracy_b": se.Paired().update([0, 1, 1], [0, 1, 0], [0, 0, 0]).compute(),
    "top_k_accuracy": se.ConfusionAccumulator(3, top_k=2)
    .update([0, 1, 2, 0], [[0.5, 0.5, 0.5], [0.1, 0.2, 0.3], [0.3, 0.3, 0.1], [0.9, 0, 0]])
    .compute(),
}


@each("metric", SHARES)
def test_share_is_of_the_draws_that_the_metric_is_about(metric: str) -> None:
    result = SHARES[metric]
    share = result.statistic(metric)
    assert isinstance(share, Share)
    hits, misses = share.low
    assert share.low == share.high
    assert share.is_exact
    value = share.worth * hits / (share.worth * hits + misses)
    assert value == pytest.approx(float(result.read(metric).value), rel=1e-14)
    assert share.value == pytest.approx(value, rel=1e-14)
    low, high = result.confidence_sequence(metric)
    assert low < value < high


def test_multilabel_rows_and_labels_are_draws_and_entries_are_none() -> None:
    acc = se.ConfusionAccumulator(2, multilabel=True).update([[0, 1], [1, 1]], [[0, 1], [0, 1]])
    result = acc.compute()
    assert result.statistic("accuracy") == Share.of(1, 1)
    assert result.statistic("recall[0]") == Share.of(0, 1)
    with pytest.raises(se.InvalidInputError, match="labels of one example are not independent"):
        result.statistic("hamming_loss")


def test_top_k_of_predicted_labels_is_accuracy() -> None:
    result = labelled(3)
    row = se.Confusion.TABLE["top_k_accuracy"]
    assert row.statistic(result._source) == result.statistic("accuracy")
    met = se.ConfusionAccumulator("auto").update(["a", "b"], ["a", "a"]).compute()
    assert row.statistic(met._source) == Share.of(1, 1)


def test_area_is_that_of_the_curve_with_delongs_variance() -> None:
    result = scored(None)
    area = result.statistic("roc_auc")
    assert not area.is_exact
    assert area.low == area.high
    assert area.low[0] == pytest.approx(float(result.roc_auc))
    low, high = result.confidence("roc_auc")
    deviation = math.sqrt(area.low[1])
    assert (high - low) / (2 * 1.96 * deviation) == pytest.approx(1, abs=0.05)


def test_area_past_its_budget_has_the_ends_of_the_certified_interval() -> None:
    result = scored(8)
    area = result.statistic("roc_auc")
    assert (area.low[0], area.high[0]) == pytest.approx((result.roc_auc.low, result.roc_auc.high))
    assert area.low[0] < area.value < area.high[0]
    assert area.value == pytest.approx(float(result.roc_auc))


@each("metric", ["precision_at", "recall_at", "f_at"])
def test_rate_at_a_threshold_within_a_cell_has_the_counts_at_both_ends(metric: str) -> None:
    result = scored(4)
    share = result.statistic(f"{metric}(0.43)")
    ends = [
        share.worth * hits / (share.worth * hits + misses)
        for hits, misses in (share.low, share.high)
    ]
    bounded = getattr(result, metric)(0.43)
    assert ends == pytest.approx([bounded.low, bounded.high])
    assert ends[0] < ends[1]


@each("metric", ["mrr", "map", "ndcg@3", "p@2", "dcg@3"])
def test_mean_of_a_ranking_has_the_sums_of_its_queries(metric: str) -> None:
    random = np.random.default_rng(0)
    acc = se.RankingAccumulator([metric], per_query=True)
    batch = random.integers(0, 2, (50, 6)), random.random((50, 6))
    result = acc.update(*batch, query=np.arange(50)).compute()
    values, mean = result.per_query()[next(iter(result))], result.statistic(metric)
    expected = (len(values), values.sum(), values.sum(), (values**2).sum())
    assert (mean.n, mean.low, mean.high, mean.squares) == pytest.approx(expected)
    assert mean.value == pytest.approx(float(result[metric]))
    assert mean.upper == (math.inf if metric == "dcg@3" else 1.0)


def test_confidence_sequence_of_a_ranking_is_that_of_parts_of_hits() -> None:
    result = ranked("mrr")
    total = float(result.mrr) * 50
    alone = Share.of(total, 50 - total).interval(0.95)
    assert result.confidence_sequence("mrr") == pytest.approx(alone)


def test_class_of_several_curves_has_an_area_of_its_own() -> None:
    random = np.random.default_rng(0)
    scores = random.dirichlet(np.ones(3), 90)
    curves = se.PRCurveSketch(classes=3).update(random.integers(0, 3, 90), scores).compute()
    assert curves.statistic("roc_auc[1]") == curves[1].statistic("roc_auc")
    with pytest.raises(se.InvalidInputError, match=r"Name a class: roc_auc\[LABEL\]"):
        curves.statistic("roc_auc[macro]")


REFUSED = [
    ("n", labelled(2), "`n` has no evidence .*: a count has no limit to keep"),
    ("matthews_corrcoef", labelled(2), "not a proportion of examples"),
    ("balanced_accuracy", labelled(2), "a mean over classes is not a proportion"),
    ("fowlkes_mallows", labelled(2), "not a proportion of examples"),
    ("recall", labelled(3), r"mean over classes here.* Name a class, as in recall\[0\]"),
    ("recall[macro]", labelled(2), "mean over classes here"),
    ("recall[7]", labelled(2), "no class '7'"),
    ("recal", labelled(2), "did you mean 'recall'"),
    ("average_precision", scored(None), "no variance is known of it"),
    ("best_f", scored(None), "no variance is known of it"),
    ("log_loss", scored(None), "no variance is known of it"),
    ("ece", scored(None), "no variance is known of it"),
    ("recall_at(x)", scored(None), "'x' is not a number"),
    ("gm_map", ranked("gm_map"), "a geometric mean is not a mean"),
    ("n_queries", ranked("map"), "a count has no limit"),
    ("mpa", ranked("map"), "no metric 'mpa'"),
    ("rmse", se.RegressionAccumulator().compute(), "nothing bounds the errors"),
    ("pcopc", se.CalibrationAccumulator().compute(), "its spread is not kept"),
    ("gauc", se.GroupedAUC().compute(), "spread of a mean over groups is not kept"),
    ("mcnemar_pvalue", se.Paired().compute(), "it is a test itself"),
    ("a/rmse", se.Collection({"a": se.RegressionAccumulator()}).compute(), "nothing bounds"),
    ("b/rmse", se.Collection({"a": se.RegressionAccumulator()}).compute(), "no metric 'b/rmse'"),
]


@each(("metric", "result", "says"), REFUSED)
def test_metric_without_evidence_is_refused_with_the_reason(
    metric: str, result: Any, says: str
) -> None:
    with pytest.raises(se.InvalidInputError, match=says):
        result.statistic(metric)


def test_query_that_counts_as_nan_leaves_no_evidence() -> None:
    acc = se.RankingAccumulator(["map"], empty="nan").update([[0, 0]], [[1, 2]])
    with pytest.raises(se.InvalidInputError, match="a query has nothing to find"):
        acc.compute().statistic("map")


def test_area_has_no_confidence_sequence() -> None:
    with pytest.raises(se.InvalidInputError, match="DeLong's variance is for one look"):
        scored(None).confidence_sequence("roc_auc")


@each(
    ("metric", "accumulator"),
    [
        ("accuracy", se.ConfusionAccumulator().update([1], [1], sample_weight=[0.5])),
        ("recall", se.ConfusionAccumulator().update([1], [1], sample_weight=[0.5])),
        ("roc_auc", se.PRCurveSketch().update([1], [1.0], sample_weight=[0.5])),
        ("recall_at(0.5)", se.PRCurveSketch().update([1], [1.0], sample_weight=[0.5])),
        ("accuracy_a", se.Paired().update([1], [1], [1], sample_weight=[0.5])),
        (
            "top_k_accuracy",
            se.ConfusionAccumulator(3, top_k=2).update([0], [[1.0, 0, 0]], sample_weight=[0.5]),
        ),
    ],
)
def test_weights_with_fractions_leave_no_evidence(metric: str, accumulator: Any) -> None:
    with pytest.raises(se.InvalidInputError, match="`sample_weight` had fractions"):
        accumulator.compute().statistic(metric)


def test_whole_weights_are_that_many_examples() -> None:
    weighted = se.ConfusionAccumulator().update([1, 1], [1, 0], sample_weight=[30, 2]).compute()
    assert weighted.statistic("accuracy") == Share.of(30, 2)


def test_every_metric_has_evidence_or_says_why_not() -> None:
    assert [
        f"{kind.__name__} {row.name}"
        for kind in RESULTS
        for row in kind.TABLE.values()
        if row.evidence is None and not row.is_count and not row.why_no_evidence
    ] == []


def test_member_whose_result_has_no_table_is_refused() -> None:
    result = attrs.evolve(se.Collection({"a": se.RegressionAccumulator()}).compute(), results=(3,))
    with pytest.raises(se.InvalidInputError, match="`a` has a result without a table of metrics"):
        result.statistic("a/rmse")


# arguments


@each(
    ("options", "says"),
    [
        ({"at_least": None}, "`at_least` or `at_most`: pass one of the two."),
        ({"at_most": 0.5}, "`at_least` or `at_most`: pass one of the two."),
        ({"at_least": "x"}, "`at_least` must be a number, got 'x'."),
        (
            {"at_least": 1.0},
            "`at_least` must lie strictly between 0 and 1, which the metric cannot pass, got 1.0.",
        ),
        (
            {"false_alarms": "1 per 30d"},
            (
                "`false_alarms` must be the mean number of panes between false alarms, such as "
                "10_000, because a pane is 10 steps and no time, got '1 per 30d'."
            ),
        ),
        (
            {"false_alarms": "often"},
            "`false_alarms` must be text such as \"1 per 30d\", or a number of panes, got 'often'.",
        ),
        (
            {"false_alarms": "0 per 1d"},
            (
                '`false_alarms` must be text such as "1 per 30d", or a number of panes, got '
                "'0 per 1d'."
            ),
        ),
        ({"false_alarms": 0.5}, "`false_alarms` must be at most one in a pane, got 0.5."),
        ({"false_alarms": math.nan}, "`false_alarms` must be a finite number, got nan."),
        ({"false_alarms": True}, "`false_alarms` must be a number, got True."),
        ({"at_least": True}, "`at_least` must be a number, got True."),
        ({"metric": None}, "`metric` must be the name of a metric, got None."),
        ({"n_series": 0}, "`n_series` must be an integer of at least 1, got 0."),
        ({"since": "x"}, "`since` must hold integers, got strings."),
    ],
)
def test_wrong_argument_is_named(options: dict[str, Any], says: str) -> None:
    with pytest.raises(se.InvalidInputError, match=f"^{re.escape(says)}$"):
        ask(counted(DROP), **options)


def test_duration_of_a_promise_must_be_one() -> None:
    w = se.Windowed(se.ConfusionAccumulator(), pane="1m", unit="us").update(rows(0, 3))
    with pytest.raises(se.InvalidInputError, match="`false_alarms` must be a duration such as"):
        ask(w, false_alarms="1 per month")


def test_anything_but_a_windowed_is_refused() -> None:
    with pytest.raises(se.InvalidInputError, match="`windowed` must be a Windowed, got Confusion"):
        ask(se.ConfusionAccumulator())  # type: ignore[arg-type]


# what is shown


def test_evidence_is_shown_on_a_line_in_a_table_and_in_a_notebook() -> None:
    found = ask(counted(DROP), n_series=2)
    assert repr(found).startswith("Evidence(recall >= 0.9: alarm at 60, log_evidence=")
    lines = str(found).splitlines()
    assert lines[0] == "recall >= 0.9: alarm at 60"
    assert lines[2].split("  ")[0] == "pane ends"
    assert lines[3].split()[:2] == ["10", "0.9500"]
    assert lines[-1] == (
        "alarm from 9.90 on: if the limit is kept, one in any of 2 series in 10,000 panes or "
        "more, on average"
    )
    assert "alarm at 60" in found._repr_html_()


def test_evidence_shows_the_newest_of_many_panes() -> None:
    w = se.Windowed(se.ConfusionAccumulator(), pane="1m", unit="us")
    for number in range(15):
        w.update(rows(number * MINUTE, 3))
    lines = str(ask(w)).splitlines()
    assert lines[3].startswith("1970-01-01T00:05:00 ")
    assert "... after 4 older panes" in lines


def test_evidence_of_an_area_says_that_it_is_approximate() -> None:
    w = se.Windowed(se.PRCurveSketch(), pane=10)
    random = np.random.default_rng(0)
    for number in range(4):
        truth = random.integers(0, 2, 200)
        scores = np.clip(0.4 + 0.2 * truth + random.normal(0, 0.2, 200), 0, 1)
        w.update({"y_true": truth, "y_score": scores, "time": [10 * number] * 200})
    found = ask(w, "roc_auc", at_least=0.95)
    assert not found.exact
    assert found.firing
    assert "normal approximation" in repr(found)
    assert "areas treated as normal" in str(found)
    assert ask(w, "recall_at(0.5)").exact


def test_evidence_flattens_to_numbers() -> None:
    assert ask(counted([5, 5])).as_dict() == {
        "firing": False,
        "log_evidence": pytest.approx(ask(counted([5, 5])).log_evidence),
        "log_threshold": math.log(10_000),
        "n_panes": 1,
        "n_empty": 0,
    }


@attrs.frozen
class Wins(State):
    """The number of rows."""

    @classmethod
    def zero(cls, config: Any) -> Wins:
        return cls(FixedPoint.zeros(()))

    @classmethod
    def of(cls, config: Any, *, won: Any, sample_weight: Any) -> Wins:
        return cls(FixedPoint(np.array(len(won))))

    def __add__(self, other: Any) -> Wins:
        return Wins(self.n + other.n)


class WinCount(se.Accumulator, type_id=0x8EE1, state=Wins, arrays=("won",)):
    """Count rows."""

    def compute(self) -> int:
        return int(self.n)


def test_class_of_ones_own_without_a_table_is_refused() -> None:
    w = se.Windowed(WinCount(), pane=10).update({"won": [1, 0], "time": [0, 20]})
    with pytest.raises(se.InvalidInputError, match="`windowed` must count something with a table"):
        ask(w)
