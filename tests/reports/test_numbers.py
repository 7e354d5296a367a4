"""Tables show what `compute()` gives, state by state and class by class."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from offenders import each
from report_pages import cells, figure, figures, read, report, rows, styled, text
from small_states import EVERY

import streameval as se

TO = " \N{EN DASH} "
DASH = "\N{EN DASH}"


def many(size: int = 3000, *, budget: int | None = 20, seed: int = 0) -> se.PRCurveSketch:
    random = np.random.default_rng(seed)
    score = random.beta(2, 3, size)
    return se.PRCurveSketch(budget).update(random.random(size) < score, score)


def classes(n: int, rows: int = 2000, seed: int = 0, labels: Any = None) -> Any:
    random = np.random.default_rng(seed)
    truth = random.integers(0, n, rows)
    guess = np.where(random.random(rows) < 0.7, truth, random.integers(0, n, rows))
    return se.ConfusionAccumulator(n if labels is None else labels).update(truth, guess)


@each("state", [EVERY["binary"](), classes(5)])
def test_confusion_metrics_are_those_of_the_result(state: Any) -> None:
    result, found = state.compute(), cells(report(state), "Metrics")
    assert found.pop("Examples")[0] == f"{result.n:,}"
    assert set(found) == {result.TABLE[name].heading for name in result.metric_names}
    for name in result.metric_names:
        low, high = result.confidence(name)
        shown = found[result.TABLE[name].heading]
        to = " to " if low < 0 else TO
        assert shown == [f"{result.value(name):.4f}", f"{low:.4f}{to}{high:.4f}"], name


def test_multilabel_metrics_are_those_of_the_result() -> None:
    result = EVERY["multilabel"]().compute()
    found = cells(report(EVERY["multilabel"]()), "Metrics")
    assert found["Hamming loss"][0] == f"{result.hamming_loss:.4f}"
    assert found["Accuracy"][0] == f"{result.accuracy:.4f}"
    assert "Cohen's kappa" not in found


def test_metric_that_one_state_has_not_is_a_dash_beside_the_other() -> None:
    plain = se.ConfusionAccumulator(3).update([0, 1, 2], [0, 1, 1])
    found = cells(report(EVERY["top_k"](), plain), "Metrics")
    assert found["Top-k accuracy"] == [text_of(EVERY["top_k"](), "top_k_accuracy"), DASH, DASH]


def text_of(state: Any, name: str) -> str:
    result = state.compute()
    low, high = result.confidence(name)
    return f"{result.value(name):.4f} {low:.4f}{TO}{high:.4f}"


def test_metric_that_is_undefined_is_a_dash_whatever_zero_division_makes_of_it() -> None:
    state = se.ConfusionAccumulator().update([1, 0, 1], [0, 0, 0])
    assert state.compute().precision() == 0.0
    found = cells(report(state), "Metrics")
    assert found["Precision"] == [DASH, ""]
    assert found["Recall"][0] == "0.0000"
    assert cells(report(se.ConfusionAccumulator()), "Metrics")["F1"][0] == DASH


def test_weights_with_fractions_have_no_sampling_interval() -> None:
    page = report(EVERY["met"]())
    assert "Sampling" not in text(figure(page, "Metrics"))
    assert "95%" not in text(figure(page, "By class"))


@each(
    ("states", "said"),
    [
        ([EVERY["binary"]()], "for class 1, the positive one"),
        ([EVERY["met"]()], "are means over the classes (macro)"),
        (
            [se.ConfusionAccumulator(["a", "b"], pos_label=one) for one in "ab"],
            "are for the positive class of each state",
        ),
    ],
)
def test_table_says_what_its_averages_are(states: list[Any], said: str) -> None:
    assert said in text(figure(report(*states), "Metrics"))


def test_numbers_of_each_class_are_those_of_the_result() -> None:
    state = classes(4)
    result, found = state.compute(), cells(report(state), "By class")
    recall, (low, high) = result.recall(None), result.confidence("recall", average=None)
    for place in range(4):
        examples, precision, own, f_score = found[str(place)]
        assert examples == f"{result.support[place]:,}"
        assert precision.startswith(f"{result.precision(None)[place]:.4f} ")
        assert own == f"{recall[place]:.4f} {low[place]:.4f}{TO}{high[place]:.4f}"
        assert f_score.startswith(f"{result.f_score(average=None)[place]:.4f} ")


def test_class_that_a_state_lacks_is_a_dash() -> None:
    one = se.ConfusionAccumulator("auto").update(["a", "b"], ["a", "a"])
    other = se.ConfusionAccumulator("auto").update(["a", "b", "c"], ["a", "a", "c"])
    found = cells(report(one, other), "By class")
    assert found["c"][:4] == [DASH] * 4
    assert found["c"][4] == "1"
    assert found["b"][1] == DASH  # nothing was predicted to be b: its precision is undefined


def test_classes_past_the_thirtieth_are_counted_and_the_lowest_recalls_come_first() -> None:
    state = classes(200)
    result = state.compute()
    recalls = sorted(zip(result.recall(average=None), -result.support, range(200), strict=True))
    found = rows(next(figure(report(state), "By class").iter("table")))
    assert found[-1] == ["and 170 more"]
    assert len(found) == 31
    assert [int(name) for name, *_ in found[:-1]] == [name for _, _, name in recalls[:30]]


def test_class_that_is_in_one_state_alone_and_has_no_recall_comes_last() -> None:
    states = [
        se.ConfusionAccumulator([*"abcd"]).update([*truth], [*predicted])
        for truth, predicted in (("aabbb", "aabab"), ("aabcc", "aadac"))
    ]
    table = next(figure(report(*states), "By class").iter("table"))
    assert [row[0] for row in rows(table)] == ["b", "c", "a", "d"]


@each("n", [2, 3, 10, 24])
def test_matrix_is_that_of_the_result(n: int) -> None:
    state = classes(n)
    matrix = state.compute().matrix
    table = next(figure(report(state), "Confusion matrix").iter("table"))
    body = [row for part in table.iter("tbody") for row in part]
    for truth, row in enumerate(body):
        written = [cell.text for cell in row.iter("td")]
        zero = "0" if n <= 4 else "·"
        assert written == [f"{count:,}" if count else zero for count in matrix[truth]]


def test_cell_is_shaded_by_the_square_root_of_its_share() -> None:
    state = se.ConfusionAccumulator(2).update([0] * 100 + [1] * 4, [0] * 96 + [1] * 7 + [0])
    page = figure(report(state), "Confusion matrix")
    looks = [cell.get("class") for body in page.iter("tbody") for cell in body.iter("td")]
    assert looks == ["hit h10", "miss h2", "miss h5", "hit h9"]  # 0.96, 0.04, 0.25, 0.75
    shares = [text(small) for small in page.iter("small")]
    assert shares == ["96.0%", "4.0%", "25.0%", "75.0%"]


@each(("n_classes", "n_matrices"), [(25, 1), (40, 1), (41, 0)])
def test_pairs_confused_most_follow_a_matrix_of_many_classes_or_stand_for_it(
    n_classes: int, n_matrices: int
) -> None:
    state = se.ConfusionAccumulator(n_classes)
    state.update([3] * 5 + [4] * 2 + [7] * 9, [4] * 5 + [3] * 2 + [7] * 8 + [1])
    page = report(state)
    assert len(figures(page, "Confusion matrix")) == n_matrices
    found = rows(next(figure(page, "Pairs most confused").iter("table")))
    assert found == [
        ["3", "4", "5", "100%"],
        ["4", "3", "2", "100%"],
        ["7", "1", "1", "11.1%"],
    ]


def test_pairs_confused_most_may_be_ranked_by_rate() -> None:
    state = se.ConfusionAccumulator(25)
    state.update([3] * 10 + [4] * 2 + [7] * 4, [5] * 5 + [3] * 5 + [3] * 2 + [7] * 3 + [1])
    page = read(se.reports.html_report({"a": state}, confusions="rate"))
    found = rows(next(figure(page, "Pairs most confused").iter("table")))
    assert found == [
        ["4", "3", "2", "100%"],
        ["3", "5", "5", "50.0%"],
        ["7", "1", "1", "25.0%"],
    ]
    assert "Of 25 classes, by share of the true class." in text(page)


def test_report_refuses_another_ranking_of_confusions() -> None:
    with pytest.raises(se.InvalidInputError, match="`confusions` must be"):
        se.reports.html_report({"a": classes(3)}, confusions="both")  # type: ignore[arg-type]


def test_each_state_after_the_first_has_its_differences_from_it() -> None:
    right = [se.RegressionAccumulator().update([0.0], [error]) for error in (0.5, 0.25, 1.0)]
    found = figure(report(*right[:2], level=0), "Errors")
    assert [text(cell) for cell in found.iter("th")][:4] == ["Metric", "a", "b", "Difference"]
    assert [text(one) for one in found.iter("p")][-1] == "Differences are from a ."
    two = cells(report(*right[:2], level=0), "Errors")
    assert two["Mean absolute error"] == ["0.5000", "0.2500", "-0.2500"]
    assert two["Examples"] == ["1", "1", "0"]


def test_each_of_three_states_has_a_row_and_its_differences_from_the_first_another() -> None:
    right = [se.RegressionAccumulator().update([0.0], [error]) for error in (0.5, 0.25, 1.0)]
    values, differences = figure(report(*right, level=0), "Errors").iter("table")
    head = [text(cell) for cell in next(values.iter("thead")).iter("th")]
    at = head.index("Mean absolute error")
    assert [(row[0], row[at]) for row in rows(values)] == [
        *(("a", "0.5000"), ("b", "0.2500"), ("c", "1.0000"))
    ]
    assert [(row[0], row[at]) for row in rows(differences)] == [("b", "-0.2500"), ("c", "+0.5000")]


def test_difference_has_the_intervals_of_a_change() -> None:
    a, b = se.PRCurveSketch(1), se.PRCurveSketch(1)
    a.update([0, 1], [0.5, 0.625])
    b.update([0, 1], [0.25, 0.75])
    found = cells(report(a, b), "Metrics")
    assert found["ROC AUC"][2].startswith("0.0000 ")
    assert found["ROC AUC"][2].endswith("-1.0000 to 1.0000")


def test_at_most_twenty_pairs_are_listed() -> None:
    found = rows(next(figure(report(classes(60)), "Pairs most confused").iter("table")))
    assert len(found) == 20
    counts = [int(examples) for *_, examples, _ in found]
    assert counts == sorted(counts, reverse=True)


CURVE = {
    "ROC AUC": "roc_auc",
    "Average precision": "average_precision",
    "Average precision, interpolated": "average_precision_interpolated",
    "Average precision, 11 points": "average_precision_11pt",
    "PR AUC, trapezoids": "pr_auc",
    "KS statistic": "ks",
    "Best F1": "best_f",
    "Threshold of the best F1": "best_f_threshold",
    "Log loss": "log_loss",
    "Brier score": "brier",
    "Calibration error (ECE)": "ece",
}


def test_curve_metrics_and_their_bounds_are_those_of_the_result() -> None:
    state = many()
    metrics, found = state.compute().metrics(), cells(report(state), "Metrics")
    for title, name in CURVE.items():
        value, certified, *_ = found[title]
        is_threshold = name == "best_f_threshold"  # shown in full
        assert value == (str(metrics[name]) if is_threshold else f"{metrics[name]:.4f}")
        low, high = map(float, certified.split(TO))
        assert low <= metrics[name].low <= metrics[name].high <= high
        assert low == pytest.approx(metrics[name].low, abs=1e-4)
        assert high == pytest.approx(metrics[name].high, abs=1e-4)
    assert len(found) == len(CURVE) + 2


def test_curve_has_the_sampling_interval_of_its_area() -> None:
    state = many()
    low, high = state.compute().confidence("roc_auc", level=0.9)
    assert cells(report(state, level=0.9), "Metrics")["ROC AUC"][2] == f"{low:.4f}{TO}{high:.4f}"


def test_exact_curve_has_no_certified_interval() -> None:
    page = report(many(budget=None))
    heads = next(figure(page, "Metrics").iter("thead"))
    assert text(heads) == "Metric Value 95% interval"
    assert "band" not in text(next(page.iter("main")))


def test_curve_of_weights_with_fractions_has_no_sampling_interval() -> None:
    heads = next(figure(report(EVERY["weighted_curve"]()), "Metrics").iter("thead"))
    assert text(heads) == "Metric Value Exact within"


def test_curve_counts_what_it_skipped() -> None:
    assert cells(report(EVERY["named_curve"]()), "Metrics")["Skipped, without a score"][0] == "1"
    assert "Skipped, without a score" not in cells(report(EVERY["curve"]()), "Metrics")


def test_curve_of_real_scores_has_no_losses_and_no_reliability() -> None:
    page = report(EVERY["real_curve"]())
    assert set(cells(page, "Metrics")) & {"Log loss", "Brier score"} == set()
    assert figures(page, "Reliability diagram") == []


def test_curve_says_what_limits_its_numbers() -> None:
    state = many()
    found = [text(item) for item in figure(report(state), "What limits").iter("li")]
    assert found == [
        " ".join(sentence.split())
        for sentence in re.split(r"^\* ", state.compute().explain(), flags=re.MULTILINE)[1:]
    ]


def test_numbers_of_states_side_by_side_are_in_the_order_of_the_states() -> None:
    one, other = many(seed=1), many(seed=2, budget=None)
    found = cells(report(one, other), "Metrics")["PR AUC, trapezoids"]
    mine, theirs = (accumulator.compute().value("pr_auc") for accumulator in (one, other))
    assert found[0].startswith(f"{mine:.4f} exact within ")
    assert found[1] == f"{theirs:.4f}"


ERRORS = se.RegressionAccumulator().update([3e3, 1.0, -7.5], [1e3, 1.5, 3.25])


@each(
    ("states", "title"),
    [
        ([EVERY["binary"]()], "Metrics"),
        ([EVERY["binary"](), EVERY["binary"]()], "Metrics"),
        ([classes(5)], "By class"),
        ([many(seed=1)], "Metrics"),
        ([many(seed=1), many(seed=2)], "Metrics"),
        ([EVERY["ranking"]()], "Measures"),
        ([ERRORS], "Errors"),
        ([ERRORS, ERRORS], "Errors"),
        ([EVERY["coarse_groups"]()], "Largest groups"),
    ],
)
def test_numbers_of_one_metric_have_one_format(states: list[Any], title: str) -> None:
    (table,) = figure(report(*states), title).iter("table")
    width = max(map(len, rows(table)))
    lines = [line for line in rows(table) if len(line) == width and "Threshold" not in line[0]]
    is_by_column = title in ("By class", "Largest groups")
    for cells_of_metric in list(zip(*lines, strict=True))[1:] if is_by_column else lines:
        written = [word for cell in cells_of_metric[1:] for word in cell.split() if "." in word]
        # what no such format can show has an exponent
        decimals = {len(word.partition(".")[2]) for word in written if "e" not in word}
        assert len(decimals) <= 1, cells_of_metric


@each(
    ("name", "title", "said"),
    [
        ("top_k", "By class", ["Below a number: its 95% interval."]),
        (
            "class_curves",
            "By class",
            ["Below a number: its bounds, between which the exact value lies."],
        ),
        ("grouped", "Largest groups", []),
    ],
)
def test_table_says_which_intervals_it_holds(name: str, title: str, said: list[str]) -> None:
    notes = [text(note) for note in styled(figure(report(EVERY[name]()), title), "note")]
    assert [note for note in notes if note.startswith("Below")] == said


def test_table_of_both_kinds_of_intervals_names_each() -> None:
    page = report(many(seed=1), many(seed=2))
    within = [text(ends) for ends in styled(figure(page, "Metrics"), "within")]
    assert {ends.split()[0] for ends in within} == {"exact", "95%"}
    assert "Below a number" not in text(figure(page, "Metrics"))


def test_narrow_interval_has_as_many_decimals_as_tell_its_ends_apart() -> None:
    state = many(20_000, budget=16_384)
    value = state.compute().roc_auc
    assert value.low < value.high < value.low + 1e-4
    shown, certified, _ = cells(report(state), "Metrics")["ROC AUC"]
    low, high = certified.split(TO)
    assert float(low) <= value.low
    assert value.high <= float(high)
    assert float(low) < float(shown) < float(high)
    assert len(shown) == len(low) == len(high) > len("0.1234")


def test_class_curves_are_those_of_the_result() -> None:
    state = EVERY["class_curves"]()
    result, page = state.compute(), report(state)
    found, averages = cells(page, "By class"), cells(page, "Averages")
    assert averages["ROC AUC, mean over classes"][0] == f"{result.roc_auc():.4f}"
    assert averages["ROC AUC, weighted by positives"][0] == f"{result.roc_auc('weighted'):.4f}"
    pooled = result.average_precision("micro")
    assert averages["Average precision, pooled"][0] == f"{pooled:.4f}"
    assert averages["Classes with a positive"][0] == str(result.n_averaged)
    for label, curve in result.items():
        positives, area, precision = found[str(label)]
        assert positives == str(curve.n_pos)
        for shown, value in ((area, curve.roc_auc), (precision, curve.average_precision)):
            assert shown.split()[0] == (DASH if math.isnan(value) else f"{value:.4f}")
            assert (TO in shown) == (not value.exact)


def test_lowest_areas_come_first_if_there_are_many_curves() -> None:
    random = np.random.default_rng(0)
    state = se.PRCurveSketch(8, classes=40)
    state.update(np.minimum(random.geometric(0.1, 500) - 1, 39), random.dirichlet([1] * 40, 500))
    found = rows(next(figure(report(state), "By class").iter("table")))
    areas = [float(row[2].split()[0]) for row in found[:-1]]
    assert areas == sorted(areas)
    assert found[-1] == ["and 10 more"]


def test_groups_are_those_of_the_result() -> None:
    state = EVERY["coarse_groups"]()
    result, page = state.compute(), report(state)
    found = cells(page, "Metrics")
    value, certified, sampling = found["Mean AUC (GAUC), by positives"]
    assert value == f"{result.gauc:.4f}"
    low, high = map(float, certified.split(TO))
    assert low <= result.gauc.low <= result.gauc.high <= high
    ends = result.confidence("gauc")
    assert [*map(float, sampling.split(TO))] == pytest.approx(ends, abs=1e-4)
    assert found["Coverage of the examples"][0] == f"{result.coverage:.4f}"
    assert found["Groups"][0] == str(result.n_groups)
    columns = result.per_group()
    groups = cells(page, "Largest groups")
    for place, name in enumerate(columns["group"]):
        shown = groups[str(name)]
        assert shown[:2] == [f"{columns['n_pos'][place]:,.6g}", f"{columns['n_neg'][place]:,.6g}"]
        area = columns["roc_auc"][place]
        assert shown[2].split()[0] == (DASH if math.isnan(area) else f"{area:.4f}")


def test_ten_largest_groups_of_each_state_are_listed() -> None:
    random = np.random.default_rng(0)
    group = random.integers(0, 500, 5000) + np.arange(5000) % 2 * 0
    state = se.GroupedAUC().update(random.integers(0, 2, 5000), random.random(5000), group)
    found = cells(report(state), "Largest groups")
    largest = sorted(np.bincount(group), reverse=True)[:10]
    assert sorted((int(a) + int(b) for a, b, _ in found.values()), reverse=True) == largest
    assert "AUC of the groups" in text(next(report(state).iter("main")))


@each("name", ["calibration", "class_calibration"])
def test_calibration_is_that_of_the_result(name: str) -> None:
    state = EVERY[name]()
    result, page = state.compute(), report(state)
    found = cells(page, "Metrics")
    assert found["Log loss"] == [f"{result.log_loss:.4f}"]
    assert found["Brier score"] == [f"{result.brier:.4f}"]
    assert found["Calibration error (ECE)"] == [f"{result.ece:.4f}"]
    assert found["With clipped log loss"] == [f"{result.n_clipped:,}"]
    if name == "calibration":
        assert found["Predicted over observed"] == [f"{result.pcopc:.4f}"]
        assert figures(page, "By class") == []
        return
    by_class = cells(page, "By class")
    for place, label in enumerate(result.labels):
        columns = (result.pcopc, result.mean_prediction, result.mean_label)
        values = [column[place] for column in columns]
        shown = [DASH if math.isnan(value) else f"{value:.4f}" for value in values]
        assert by_class[str(label)] == shown


def test_measures_of_rankings_are_those_of_the_result() -> None:
    state = EVERY["ranking"]()
    result, found = state.compute(), cells(report(state), "Measures")
    for name, value in result.items():
        low, high = result.confidence(name)
        title = {"map": "Mean average precision", "ndcg@2": "NDCG@2", "p@1": "Precision@1"}[name]
        assert found[title] == [f"{value:.4f}", f"{low:.4f}{TO}{high:.4f}"]
    assert found["Queries"][0] == "3"
    assert found["With nothing relevant"][0] == "1"
    assert "Still open" not in found


def test_measures_of_rankings_with_bounds_are_certified() -> None:
    random = np.random.default_rng(0)
    state = se.RankingAccumulator(["map", "p@1"], rows_per_query=2)
    state.update(random.integers(0, 2, 40), random.random(40), query=[7, 8] * 20, partial=True)
    state.close()
    value = state.compute()["map"]
    assert not value.exact
    _, certified, _ = cells(report(state), "Measures")["Mean average precision"]
    low, high = map(float, certified.split(TO))
    assert low <= value.low <= value.high <= high


def test_measure_that_one_ranking_lacks_is_a_dash() -> None:
    other = se.RankingAccumulator(["mrr"]).update([[1, 0]], [[1, 0]])
    found = cells(report(EVERY["ranking"](), other), "Measures")
    assert found["Mean average precision"][1] == DASH
    assert found["Mean reciprocal rank"] == [DASH, f"1.0000 0.0000 {DASH} 1.0000", DASH]


def test_errors_of_a_regression_are_those_of_the_result() -> None:
    state = se.RegressionAccumulator().update([3000.0, 1.0, -7.5], [1000.0, 1.5, 3.25])
    result, found = state.compute(), cells(report(state, level=0), "Errors")
    assert found["Root mean squared error"] == [f"{result.rmse:,.2f}"]
    assert found["Mean squared error"] == [f"{result.mse:,.0f}"]
    assert found["Mean absolute error"] == [f"{result.mae:.3f}"]
    assert found["R²"] == [f"{result.r2:.4f}"]
    assert found["Bias, prediction minus truth"] == [f"{result.bias:.3f}"]


def test_empty_states_have_dashes() -> None:
    for name, title in [
        ("empty", "Metrics"),
        ("empty_curve", "Metrics"),
        ("empty_grouped", "Metrics"),
        ("empty_calibration", "Metrics"),
        ("empty_ranking", "Measures"),
        ("empty_regression", "Errors"),
    ]:
        found = cells(report(EVERY[name]()), title)
        undefined = [row for row, shown in found.items() if shown[0] == DASH]
        assert len(undefined) >= 2, name
    assert styled(report(EVERY["empty"]()), "undefined")
