"""Pictures show the exact points of their results, in bounded space."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from matplotlib.path import Path
from offenders import each
from profiles import quick_cases
from report_pages import as_xml, figure, figures, pictures, points, report, styled, text
from small_states import EVERY

import streameval as se
from streameval.render.charts import Axis
from streameval.render.svg import Frame
from streameval.reports import html_report

SHARES = Axis(0, 1, (0.0, 1.0))


def curve(
    size: int = 3000, *, budget: int | None = None, seed: int = 0, scores: Any = "probability"
) -> Any:
    random = np.random.default_rng(seed)
    score = random.beta(2, 3, size)
    truth = random.random(size) < score
    if scores == "real":
        score = np.log(score / (1 - score))
    return se.PRCurveSketch(budget, scores=scores).update(truth, score)


def numbers(path: Any) -> tuple[Any, Any]:
    """Read the corners of a path as numbers on axes from 0 to 1."""
    frame = Frame(SHARES, SHARES)
    (left, right), (bottom, top) = frame.positions([0, 1], [0, 1])
    across, down = np.array(points(path)).T
    return (across - left) / (right - left), (down - bottom) / (top - bottom)


def distance(place: Any, corners: Any) -> float:
    """Measure how far a place is from the outline of a polygon."""
    sides, way = np.roll(corners, -1, axis=0) - corners, place - corners
    lengths = np.maximum((sides**2).sum(axis=1), 1e-12)
    along = np.clip((way * sides).sum(axis=1) / lengths, 0, 1)
    return float(np.hypot(*(way - along[:, None] * sides).T).min())


def drawn(page: Any, title: str, style: str = "s0") -> tuple[Any, Any]:
    (path,) = styled(figure(page, title), "line", style)
    return numbers(path)


@each("name", ["curve", "real_curve", "coarse_curve", "weighted_curve"])
def test_line_of_the_roc_curve_has_its_points(name: str) -> None:
    state = EVERY[name]()
    x, y = drawn(report(state), "ROC curve")
    fpr, tpr, _ = state.compute().roc_curve()
    for point in zip(x, y, strict=True):
        nearest = np.abs(np.array(point) - np.stack([fpr, tpr], axis=1)).max(axis=1).min()
        assert nearest < 5e-4
    assert (x[0], y[0]) == pytest.approx((0, 0))
    assert (x[-1], y[-1]) == pytest.approx((1, 1))


def test_line_of_precision_over_recall_has_its_points() -> None:
    state = EVERY["curve"]()
    x, y = drawn(report(state), "Precision over recall")
    precision, recall, _ = state.compute().precision_recall_curve()
    expected = sorted({(round(r, 3), round(p, 3)) for r, p in zip(recall, precision, strict=True)})
    assert {(round(r, 3), round(p, 3)) for r, p in zip(x, y, strict=True)} <= {*expected, (0, 1)}


@each("title", ["ROC curve", "Precision over recall"])
@each("budget", [2, 5, 30])
@each("seed", range(quick_cases(5, least=1)))
def test_exact_curve_lies_in_the_band(title: str, budget: int, seed: int) -> None:
    page = report(curve(budget=budget, seed=seed))
    (band,) = styled(figure(page, title), "area", "s0")
    exact = curve(seed=seed).compute()
    if title == "ROC curve":
        x, y, _ = exact.roc_curve()
    else:
        y, x, _ = exact.precision_recall_curve()
        x, y = x[:-1], y[:-1]
    frame = Frame(SHARES, SHARES)
    corners = np.array(points(band))
    places = np.stack(frame.positions(x, y), axis=1)
    outside = places[~Path([*corners, corners[0]], closed=True).contains_points(places)]
    assert max((distance(place, corners) for place in outside), default=0.0) < 0.1


def test_exact_curve_has_no_band() -> None:
    assert styled(figure(report(curve()), "ROC curve"), "area") == []


def test_bands_of_two_states_are_in_their_colours_and_below_the_lines() -> None:
    page = report(curve(budget=5), curve(budget=9))
    shown = figure(page, "ROC curve")
    looks = [path.get("class") for path in shown.iter("path")][-5:]
    assert looks == ["line chance", "area s0", "area s1", "line s0", "line s1"]


def test_state_without_a_curve_leaves_its_colour_unused() -> None:
    page = report(EVERY["empty_curve"](), EVERY["curve"]())
    assert styled(figure(page, "ROC curve"), "s0") == []
    assert len(styled(figure(page, "ROC curve"), "line", "s1")) == 1
    (path,) = styled(figure(page, "Reliability diagram"), "line", "s1")[-1:]
    assert path is not None


@each("truth", [[], [0], [1]])
def test_curve_of_one_class_is_not_drawn(truth: list[int]) -> None:
    state = se.PRCurveSketch().update(truth, [0.5] * len(truth))
    assert figures(report(state), "ROC curve") == []


@each("budget", [None, 65_536])
def test_line_of_many_points_is_thinned(budget: int | None) -> None:
    page = report(curve(200_000, budget=budget))
    for path in page.iter("path"):
        assert len(points(path)) <= 1_700
    x, _ = drawn(page, "ROC curve")
    assert len(x) > 50
    assert (x[0], x[-1]) == pytest.approx((0, 1))


@pytest.mark.slow
def test_page_of_eight_large_curves_is_small() -> None:
    states = {f"state {seed}": curve(50_000, budget=20_000, seed=seed) for seed in range(8)}
    assert len(html_report(states)) < 600_000


@pytest.mark.slow
def test_page_of_many_classes_is_small() -> None:
    random = np.random.default_rng(0)
    truth, guess = random.integers(0, 1000, (2, 20_000))
    state = se.ConfusionAccumulator(1000).update(truth, guess)
    assert len(html_report({"a": state})) < 100_000
    curves = se.PRCurveSketch(50, classes=300)
    curves.update(random.integers(0, 300, 2000), random.dirichlet([1] * 300, 2000))
    assert len(html_report({"a": curves})) < 100_000


def test_page_of_many_groups_is_small() -> None:
    random = np.random.default_rng(0)
    group = random.integers(0, 20_000, 100_000)
    state = se.GroupedAUC().update(random.integers(0, 2, 100_000), random.random(100_000), group)
    assert len(html_report({"a": state})) < 30_000


def test_page_of_many_measures_is_small() -> None:
    state = se.RankingAccumulator([f"p@{k}" for k in range(1, 41)]).update([[1, 0]], [[1, 0]])
    page = report(state)
    assert len(list(figure(page, "Means").iter("circle"))) == 24
    assert "The first 24." in text(figure(page, "Means"))


def test_classes_with_most_positives_are_drawn_in_one_picture() -> None:
    random = np.random.default_rng(0)
    truth = np.minimum(random.geometric(0.3, 500) - 1, 9)
    state = se.PRCurveSketch(classes=10).update(truth, random.dirichlet([1] * 10, 500))
    shown = figure(report(state), "ROC curves")
    assert "The 8 of 10 classes with most positives." in text(shown)
    names = [text(name) for name in styled(shown, "legend")[0]]
    most = sorted(range(10), key=lambda k: -np.count_nonzero(truth == k))[:8]
    assert names == [str(k) for k in most]
    assert len(styled(shown, "line", "s7")) == 2  # in the legend and in the picture


def test_classes_of_each_state_have_a_picture() -> None:
    page = report(EVERY["class_curves"](), EVERY["class_curves"]())
    titles = [text(heading) for heading in page.iter("h3")]
    assert [title for title in titles if title.startswith("ROC")] == [
        "ROC curves: a",
        "ROC curves: b",
        "ROC AUC of each class",
    ]
    assert "The exact curve lies in the band." in text(figures(page, "ROC curves")[0])


def test_reliability_diagram_has_a_point_for_each_occupied_bin() -> None:
    state = EVERY["calibration"]()
    shown = figure(report(state), "Reliability diagram")
    frame = Frame(SHARES, SHARES)
    predicted, observed, _ = state.compute().reliability_curve()
    expected = np.stack(frame.positions(predicted, observed), axis=1)
    dots = [(float(dot.attrib["cx"]), float(dot.attrib["cy"])) for dot in shown.iter("circle")]
    np.testing.assert_allclose(dots, expected, atol=0.06)
    (whiskers,) = styled(shown, "whisker")
    assert [x for x, _ in points(whiskers)] == [x for x, _ in dots for _ in range(2)]
    assert len(styled(shown, "area")) == 1  # the share of the examples


def test_whiskers_of_a_bin_are_wilsons_interval() -> None:
    counts = se.ConfusionAccumulator().update([1] * 7 + [0] * 3, [1] * 10)
    low, high = counts.compute().confidence("precision", level=0.9)
    state = se.CalibrationAccumulator(1).update([1] * 7 + [0] * 3, [0.5] * 10)
    (whisker,) = styled(report(state, level=0.9), "whisker")
    _, y = numbers(whisker)
    assert tuple(y) == pytest.approx((low, high), abs=5e-4)


def test_weights_with_fractions_have_no_whiskers() -> None:
    state = se.CalibrationAccumulator(1).update([1, 0], [0.5, 0.5], sample_weight=[0.5, 1])
    page = report(state)
    assert styled(page, "whisker") == []
    assert "Whiskers" not in text(figure(page, "Reliability diagram"))


def test_pictures_say_what_their_thin_lines_are() -> None:
    said = "90% intervals."
    page = report(EVERY["top_k"](), EVERY["ranking"](), EVERY["calibration"](), level=0.9)
    for title in ("Recall of each class", "Means", "Reliability diagram"):
        assert said in text(figure(page, title))
    assert "intervals" not in text(figure(report(EVERY["met"]()), "Recall of each class"))


def test_reliability_of_two_states_has_no_bars() -> None:
    page = report(EVERY["calibration"](), EVERY["calibration"]())
    assert styled(figure(page, "Reliability diagram"), "area") == []


def test_empty_calibration_has_no_picture() -> None:
    assert pictures(report(EVERY["empty_calibration"]())) == []


def test_scores_of_states_share_their_axes() -> None:
    page = report(curve(seed=1, scores="real"), curve(40, seed=2, scores="real"))
    one, other = figures(page, "Scores by class")
    assert [text(tick) for tick in styled(one, "tick")] == [
        text(tick) for tick in styled(other, "tick")
    ]
    assert [len(styled(one, "area", look)) for look in ("plain", "s0", "s1")] == [1, 1, 0]
    assert [len(styled(other, "area", look)) for look in ("plain", "s0", "s1")] == [1, 0, 1]


def test_scores_beside_those_of_nothing_have_an_axis_that_fits() -> None:
    one, other = figures(report(curve(), EVERY["empty_curve"]()), "Scores by class")
    ends = [float(text(styled(some, "tick", "end")[-1])) for some in (one, other)]
    assert 0 < ends[0] == ends[1] < 0.2
    alone = figure(report(EVERY["empty_curve"]()), "Scores by class")
    assert text(styled(alone, "tick", "end")[-1]) == "1"


def test_bars_of_scores_have_solid_outlines() -> None:
    for shown in figures(report(curve(seed=1), curve(seed=2)), "Scores by class"):
        assert len(styled(shown, "line", "solid")) == len(styled(shown, "line")) - 1 == 1
    assert ".solid {\n  stroke-dasharray: none" in html_report({"a": curve()})


def test_pictures_tell_their_numbers_to_those_who_do_not_see_them() -> None:
    page = report(curve(), se.PRCurveSketch().update([1, 1], [0.2, 0.5]))
    said = {text(one.find("title")): text(one.find("desc")) for one in pictures(page)}
    assert said["Scores by class"] == "Histograms of the positives and the negatives."
    assert said["Reliability diagram"] == "Share of positives over mean score"
    assert said["Precision over recall"].endswith("; b: average precision 1.0000")
    assert said["ROC curve"].endswith("; b: ROC AUC \N{EN DASH}")
    groups = report(EVERY["empty_grouped"](), EVERY["grouped"]())
    spoken = text(figure(groups, "AUC of the groups").find(".//desc"))
    assert spoken.startswith("a: mean \N{EN DASH}; b: mean ")


def test_bars_of_groups_of_other_weights_are_named_by_both() -> None:
    rows = [0, 1, 0, 1], [0.1, 0.9, 0.1, 0.9], [0, 0, 1, 1]
    weights = "impressions", "uniform", "impressions"
    states = [se.GroupedAUC(group_weight=weight).update(*rows) for weight in weights]
    _, up = styled(figure(report(*states), "AUC of the groups"), "name")
    assert text(up) == "Share of the examples or share of the groups"


def test_bars_of_groups_are_shares_of_those_with_both_classes() -> None:
    group = [0, 0, 1, 1, 2, 2, 3]
    state = se.GroupedAUC().update(
        [0, 1, 0, 1, 1, 0, 1], [0.1, 0.9, 0.1, 0.9, 0.1, 0.9, 0.5], group
    )
    shown = figure(report(state), "AUC of the groups")
    line, mean = styled(shown, "line", "s0")
    assert points(mean)[0][0] == points(mean)[1][0]
    ticks = [float(text(tick)) for tick in styled(shown, "tick", "end")]
    frame = Frame(SHARES, Axis(ticks[0], ticks[-1], tuple(ticks)), height=300)
    _, tops = frame.positions([0, 0], [1 / 3, 2 / 3])
    levels = np.array([y for _, y in points(line)])
    assert all(np.abs(levels - top).min() < 0.06 for top in tops)


def test_groups_of_one_class_have_no_picture() -> None:
    assert pictures(report(EVERY["empty_grouped"]())) == []
    assert pictures(report(se.GroupedAUC().update([1], [0.5], [0]))) == []


def test_dots_are_at_their_values() -> None:
    state = EVERY["ranking"]()
    result, shown = state.compute(), figure(report(state), "Means")
    across = [
        (float(tick.attrib["x"]), float(text(tick))) for tick in styled(shown, "tick", "middle")
    ]
    (left, low), (right, high) = across[0], across[-1]
    for dot, value in zip(shown.iter("circle"), result.values(), strict=True):
        place = left + (value - low) / (high - low) * (right - left)
        assert float(dot.attrib["cx"]) == pytest.approx(place, abs=0.11)
    titles = ["Mean average precision", "NDCG@2", "Precision@1"]
    assert [text(name) for name in styled(shown, "tick", "end")] == titles
    assert len(styled(shown, "whisker")) == len(result)


def test_measures_that_are_no_shares_are_not_drawn() -> None:
    state = se.RankingAccumulator(["dcg@3", "mrr"]).update([[1, 2, 0]], [[3, 1, 2]])
    assert len(list(figure(report(state), "Means").iter("circle"))) == 1
    only = se.RankingAccumulator(["dcg@3"]).update([[1, 2, 0]], [[3, 1, 2]])
    assert pictures(report(only)) == []


def test_certified_measures_are_broad_lines() -> None:
    random = np.random.default_rng(0)
    state = se.RankingAccumulator(["map"], rows_per_query=2)
    state.update(random.integers(0, 2, 40), random.random(40), query=[7, 8] * 20, partial=True)
    (line,) = styled(report(state.close()), "certified")
    (x1, y1), (x2, y2) = points(line)
    assert (x1 < x2, y1) == (True, y2)


def test_recall_and_precision_of_more_than_two_classes_are_drawn() -> None:
    page = report(EVERY["top_k"](), EVERY["top_k"]())
    shown = figure(page, "Recall of each class")
    assert [text(name) for name in styled(shown, "tick", "end")] == ["0", "1", "2"]
    assert len(styled(shown, "dot", "s0")) == len(styled(shown, "dot", "s1")) == 3
    assert figures(report(EVERY["binary"]()), "Recall of each class") == []


@each("name", ["a", "w" * 15, "w" * 80])
def test_names_beside_dots_have_the_space_that_they_need(name: str) -> None:
    labels = [name, "b", "c"]
    page = report(se.ConfusionAccumulator(labels).update(labels, labels))
    for shown in styled(figure(page, "Recall of each class"), "tick", "end"):
        assert float(shown.attrib["x"]) >= 8 * len(text(shown))


def test_classes_past_the_twenty_fourth_are_not_drawn() -> None:
    truth = np.arange(30).repeat(np.arange(1, 31))
    page = report(se.ConfusionAccumulator(30).update(truth, truth))
    shown = figure(page, "Recall of each class")
    assert len(list(shown.iter("circle"))) == 24
    assert "Of the 24 of 30 classes with the lowest recall." in text(shown)


def test_empty_classes_have_no_table_and_no_matrix() -> None:
    page = report(EVERY["empty_met"]())
    assert figures(page, "By class") == figures(page, "Confusion matrix") == []


@pytest.mark.slow
def test_reports_need_no_matplotlib_and_are_imported_when_they_are_used() -> None:
    code = (
        "import sys, streameval as se; assert 'streameval.reports' not in sys.modules; "
        "assert 'reports' in dir(se); se.reports.html_report({'a': se.PRCurveSketch(2).update("
        "[0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4])}); sys.exit('matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@each(("high", "ends"), [(1, ["466", "middle"]), (65_000, ["480", "end"])])
def test_text_of_the_last_tick_ends_inside_the_picture(high: int, ends: list[str]) -> None:
    tree = as_xml(f"<g>{Frame(Axis(0, high, (0.0, high)), SHARES).grid()}</g>")
    (last,) = [
        tick
        for tick in styled(tree, "tick")
        if text(tick) == f"{high:g}" and tick.get("y") == "331"
    ]
    assert [last.get("x"), last.get("class", "").split()[1]] == ends


def test_exact_curve_has_no_limits_to_list() -> None:
    exact, coarse = (report(curve(budget=budget)) for budget in (None, 64))
    assert [len(figures(page, "What limits")) for page in (exact, coarse)] == [0, 1]


def test_precision_has_one_line_of_chance_if_all_have_as_many_positives() -> None:
    truth = [1, 0, 0, 0]
    one, same, other = (
        se.PRCurveSketch().update(some, scores)
        for some, scores in (
            (truth, [0.9, 0.1, 0.2, 0.3]),
            (truth, [0.5, 0.9, 0.2, 0.3]),
            ([1, 1, 0, 0], [0.9, 0.1, 0.2, 0.3]),
        )
    )
    for states in ((one,), (one, same)):
        drawn = figure(report(*states), "Precision over recall")
        _, up = numbers(styled(drawn, "line", "chance")[0])
        assert "Dashed: chance." in text(drawn)
        assert np.allclose(up, 0.25, atol=0.01)
    drawn = figure(report(one, other), "Precision over recall")
    assert not styled(drawn, "line", "chance")
    assert "Dashed" not in text(drawn)
