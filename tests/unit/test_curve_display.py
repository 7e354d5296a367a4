"""Curves as text, as a notebook shows them, and as pictures; curves of classes as a mapping."""

from __future__ import annotations

import builtins
import math
import sys
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
from certified import outward
from matplotlib import pyplot
from offenders import each
from profiles import quick_cases
from sklearn import metrics as sk
from small_states import EVERY

import streameval as se
from streameval.metrics.intervals import normal_quantile, wilson

pytestmark = pytest.mark.usefixtures("closed_figures")

mpl.use("Agg")

CURVES = ["curve", "coarse_curve", "weighted_curve", "named_curve", "real_curve", "empty_curve"]
SEVERAL = ["class_curves", "label_curves", "empty_class_curves"]
KINDS = ["pr", "roc", "det", "reliability", "score"]
every_kind = pytest.mark.parametrize("kind", KINDS)

ROWS = ([0, 0, 1, 1], [0.125, 0.5, 0.375, 0.75])


def many(size: int = 5000, *, budget: int | None = None, scores: Any = "probability") -> Any:
    random = np.random.default_rng(size)
    score = random.beta(2, 3, size)
    truth = random.random(size) < score
    if scores == "real":
        score = np.log(score / (1 - score))
    return se.PRCurveSketch(budget, scores=scores).update(truth, score).compute()


def classes(*labels: Any, budget: int | None = 65_536, rows: int = 60, seed: int = 0) -> Any:
    """Curves of classes with scores of one decimal, and their rows."""
    random = np.random.default_rng(seed)
    truth = random.integers(0, len(labels), rows)
    scores = random.random((rows, len(labels))).round(1)
    given = np.array(labels, dtype=object)[truth]
    found = se.PRCurveSketch(budget, classes=list(labels)).update(given.tolist(), scores).compute()
    return found, truth, scores


def words(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


@each("name", [*CURVES, *SEVERAL, "grouped", "coarse_groups", "empty_grouped"])
def test_repr_is_one_line(name: str) -> None:
    assert repr(EVERY[name]().compute()).count("\n") == 0


@each("name", [*CURVES, *SEVERAL, "grouped", "coarse_groups"])
def test_text_is_the_report(name: str) -> None:
    found = EVERY[name]().compute()
    assert str(found) == found.report()


@each("name", [*CURVES, *SEVERAL, "grouped", "coarse_groups", "empty_grouped"])
def test_report_has_at_most_80_columns_and_no_blank_ends(name: str) -> None:
    lines = EVERY[name]().compute().report().split("\n")
    assert max(map(len, lines)) <= 80
    assert [line for line in lines if line != line.rstrip()] == []


@each("scale", [1.0, 1e-9, 1e300])
@each("weight", [1, 2**61, 1_234_567_890_123.125])
def test_report_has_at_most_80_columns_when_numbers_are_long(scale: float, weight: float) -> None:
    random = np.random.default_rng(1)
    scores = random.normal(size=50) * scale
    sketch = se.PRCurveSketch(5, scores="real")
    sketch.update(random.integers(0, 2, 2), scores[:2], sample_weight=[weight, weight])
    sketch.update(random.integers(0, 2, 50), scores)
    assert max(map(len, sketch.compute().report().split("\n"))) <= 80


def test_report_shows_the_numbers_of_the_rows() -> None:
    found = words(se.PRCurveSketch().update(*ROWS).compute().report(level=0))
    assert found == [
        ["n", "=", "4", "(2", "positive),", "exact,", "4", "bins"],
        [],
        ["metric", "value"],
        ["roc_auc", "0.750000"],
        ["average_precision", "0.833333"],
        ["average_precision_interpolated", "0.833333"],
        ["average_precision_11pt", "0.848485"],
        ["pr_auc", "0.791667"],
        ["ks", "0.500000"],
        ["best_f", "0.800000"],
        ["best_f_threshold", "0.375"],
        ["log_loss", "0.523797"],  # ln(8/7 * 2 * 8/3 * 4/3) / 4
        ["brier", "0.179688"],  # (1/64 + 1/4 + 25/64 + 1/16) / 4
        ["ece", "0.375000"],  # (1/8 + 1/2 + 5/8 + 1/4) / 4
    ]


def test_report_of_real_scores_leaves_out_the_losses() -> None:
    found = words(se.PRCurveSketch(scores="real").update(*ROWS).compute().report())
    assert not {"log_loss", "brier", "ece"} & {line[0] for line in found if line}


def test_report_shows_the_certified_intervals_if_cells_are_wide() -> None:
    assert "exact value within" not in se.PRCurveSketch().update(*ROWS).compute().report()
    found = se.PRCurveSketch(1).update([0, 1], [0.5, 0.625]).compute().report()
    assert ["roc_auc", "0.500000", "[0.000000,", "1.000000]"] in words(found)


@each(("level", "text"), [(0.95, "95%"), (0.9, "90%"), (0.999, "99.9%")])
def test_report_shows_the_sampling_interval(level: float, text: str) -> None:
    found = se.PRCurveSketch().update(*ROWS).compute()
    low, high = found.confidence("roc_auc", level=level)
    head, first = found.report(level=level).split("\n")[2:4]
    assert head.endswith(f"  {text} interval")
    assert first.split() == ["roc_auc", "0.750000", f"[{low:.6f},", f"{high:.6f}]"]


@each("name", ["weighted_curve", "empty_curve"])
def test_report_has_no_sampling_interval_where_there_is_none(name: str) -> None:
    assert "%" not in EVERY[name]().compute().report()


@each("name", ["curve", "weighted_curve", "empty_curve"])
@each("level", [-0.1, 1.0, 95, math.nan])
def test_report_refuses_another_level(level: float, name: str) -> None:
    with pytest.raises(se.InvalidInputError, match=r"`level` must lie in \[0, 1\)"):
        EVERY[name]().compute().report(level=level)


def test_report_says_how_many_rows_were_skipped() -> None:
    assert "(1 positive), 1 skipped, exact" in EVERY["named_curve"]().compute().report()


def test_report_of_one_cell_says_so() -> None:
    assert (
        se.PRCurveSketch()
        .update([1], [0.5])
        .compute()
        .report()
        .startswith("n = 1 (1 positive), exact, 1 bin\n")
    )


def test_report_writes_small_numbers_with_their_digits() -> None:
    found = se.PRCurveSketch().update([0, 1, 0], [1e-7, 2.5e-7, 1e-9]).compute()
    assert ["best_f_threshold", "2.5e-07"] in words(found.report())


@each("name", [*CURVES, *SEVERAL, "grouped", "coarse_groups"])
def test_html_is_a_well_formed_fragment(name: str) -> None:
    assert ElementTree.fromstring(EVERY[name]().compute()._repr_html_()).tag in ("div", "pre")


def cells_of(page: ElementTree.Element) -> dict[str, list[str | None]]:
    """List the cells of each row by its name."""
    rows = page.iterfind(".//tbody/tr")
    return {"".join(row[0].itertext()): [cell.text for cell in row[1:]] for row in rows}


def test_html_holds_the_numbers() -> None:
    page = ElementTree.fromstring(EVERY["coarse_curve"]().compute()._repr_html_())
    assert cells_of(page)["roc_auc"][:2] == ["0.400000", "[0.199999, 0.600001]"]
    page = ElementTree.fromstring(EVERY["curve"]().compute()._repr_html_())
    rows = cells_of(page)
    assert (rows["roc_auc"][0], rows["ks"]) == ("0.750000", ["0.500000", None])


@pytest.mark.slow
@every_kind
@pytest.mark.parametrize(
    ("budget", "label"),
    [
        (None, None),
        (40, "model"),
        pytest.param(None, "model", marks=pytest.mark.slow),
        pytest.param(40, None, marks=pytest.mark.slow),
    ],
)
def test_plot_can_be_drawn(kind: str, budget: int | None, label: str | None) -> None:
    ax = many(budget=budget).plot(kind=kind, label=label)
    ax.figure.canvas.draw()
    assert ax.has_data()
    legend = [] if ax.get_legend() is None else [t.get_text() for t in ax.get_legend().get_texts()]
    assert any("model" in text for text in legend) == (label is not None)
    assert ax.get_title()


@each("kind", KINDS)
def test_plot_draws_on_the_given_axes(kind: str) -> None:
    _, (left, right) = pyplot.subplots(1, 2)
    before = pyplot.get_fignums()
    assert many().plot(right, kind=kind) is right
    assert right.has_data()
    assert not left.has_data()
    assert pyplot.get_fignums() == before


def test_plot_gives_axes_of_a_new_figure() -> None:
    one, other = (many().plot() for _ in range(2))
    assert one.figure is not other.figure


@each("kind", ["pr", "roc", "det"])
def test_plot_has_a_band_if_cells_are_wide(kind: str) -> None:
    assert len(many().plot(kind=kind).patches) == 0
    ax = many(budget=40).plot(kind=kind)
    assert len(ax.patches) == 1
    assert "the exact curve lies here" in [t.get_text() for t in ax.get_legend().get_texts()]
    assert len(many(budget=40).plot(kind=kind, label="a").patches) == 1


@pytest.mark.slow
@each("kind", ["pr", "roc"])
def test_plot_of_an_exact_curve_goes_through_the_points_of_scikit_learn(kind: str) -> None:
    found = se.PRCurveSketch().update(*ROWS).compute()
    line = found.plot(kind=kind).lines[0]
    if kind == "roc":
        x, y, _ = sk.roc_curve(*ROWS, drop_intermediate=False)
    else:
        precision, recall, _ = sk.precision_recall_curve(*ROWS)
        x = np.append(0.0, recall[:-1][::-1])  # from a recall of 0 on, at the first precision
        y = np.append(precision[-2], precision[:-1][::-1])
    np.testing.assert_allclose(line.get_xdata(), x)
    np.testing.assert_allclose(line.get_ydata(), y)


def test_plot_of_precision_has_the_level_of_chance_of_scikit_learn() -> None:
    truth, score = [0, 0, 0, 1, 1], [0.1, 0.5, 0.3, 0.4, 0.75]
    expected = sk.PrecisionRecallDisplay.from_predictions(truth, score, plot_chance_level=True)
    axes = se.PRCurveSketch().update(truth, score).compute().plot(kind="pr")
    (level,) = [line for line in axes.lines if line.get_label() == "chance"]
    assert level.get_xydata().tolist() == expected.chance_level_.get_xydata().tolist()
    axes = se.PRCurveSketch().update(truth, score).compute().plot(kind="pr", label="one of several")
    assert len(axes.lines) == 1


def test_band_holds_the_exact_curve() -> None:
    band = many(2000, budget=30).plot(kind="roc").patches[0].get_path()
    fpr, tpr, _ = many(2000).roc_curve()
    inside = (fpr > 0.01) & (fpr < 0.99) & (tpr > 0.01) & (tpr < 0.99)
    points = np.column_stack([fpr, tpr])[inside]
    assert len(points) > 1000
    assert (
        band.contains_points(points, radius=1e-9).mean() > 0.999
        or band.contains_points(points, radius=-1e-9).mean() > 0.999
    )


def test_plot_of_many_points_is_thinned_and_keeps_its_ends() -> None:
    line = many(50_000).plot(kind="roc").lines[0]
    x, y = line.get_xdata(), line.get_ydata()
    assert 1000 < len(x) <= 2002
    assert (x[0], y[0], x[-1], y[-1]) == (0, 0, 1, 1)
    fpr, tpr, _ = many(50_000).roc_curve()
    assert np.abs(np.interp(fpr, x, y) - tpr).max() < 0.01


def test_plot_of_reliability_is_of_the_share_of_positives_in_each_bin() -> None:
    score = [0.01, 0.03, 0.5, 0.5, 0.5, 1.0]
    ax = se.PRCurveSketch().update([0, 1, 1, 1, 0, 1], score).compute().plot(kind="reliability")
    line = ax.lines[-1]
    np.testing.assert_allclose(line.get_xdata(), [0.02, 0.5, 1.0])
    np.testing.assert_allclose(line.get_ydata(), [1 / 2, 2 / 3, 1])
    assert "perfectly calibrated" in [line.get_label() for line in ax.lines]


def rare(seed: int = 0) -> se.Curve:
    """Scores of which nearly all are low, and 1% positives."""
    rng = np.random.default_rng(seed)
    truth = rng.random(20_000) < 0.01
    return (
        se.PRCurveSketch().update(truth, 0.05 * rng.random(20_000) ** (1 - 0.3 * truth)).compute()
    )


def test_plot_of_crowded_scores_has_bins_of_equal_weight_on_axes_that_fit() -> None:
    ax = rare().plot(kind="reliability")
    line = ax.lines[-1]
    assert len(line.get_xdata()) == 15
    assert ax.get_title() == "Reliability, in bins of 1.3k examples"
    assert max(line.get_xdata()) < ax.get_xlim()[1] < 0.2
    assert len(ax.patches) == len(ax.texts) == 0
    rare(1).plot(ax, kind="reliability", label="other")
    assert ax.get_xlim()[1] < 0.2


def test_plot_of_reliability_has_the_interval_of_each_bin() -> None:
    found = se.PRCurveSketch().update([0, 1] * 50, [0.1, 0.9] * 50).compute()
    (whiskers,) = found.plot(kind="reliability").collections
    assert [path[:, 1].tolist() for path in whiskers.get_segments()] == [
        pytest.approx(wilson(rate, 50, normal_quantile(0.95))) for rate in (0.0, 1.0)
    ]
    assert whiskers.get_label() == "95% interval"
    assert not found.plot(kind="reliability", level=0).collections
    (whiskers,) = found.plot(kind="reliability", label="new").collections
    assert whiskers.get_label().startswith("_")


@each(("score", "is_low"), [([0.1, 0.9], True), ([0.9, 0.1], False)])
def test_legend_of_precision_is_below_a_good_curve_and_above_a_bad_one(
    score: list[float], is_low: bool
) -> None:
    ax = se.PRCurveSketch().update([0, 1, 0, 0], [*score, 0.5, 0.6]).compute().plot()
    legend = ax.get_legend()
    assert legend is not None
    assert legend._loc == (3 if is_low else 1)  # type: ignore[attr-defined] # lower left, upper right


def test_plot_of_reliability_says_how_many_examples_a_bin_has() -> None:
    score = [0.01, 0.03, 0.5, 0.5, 0.5, 1.0]
    ax = se.PRCurveSketch().update([0, 1, 1, 1, 0, 1], score).compute().plot(kind="reliability")
    assert [text.get_text() for text in ax.texts] == ["2", "3", "1"]


def test_plot_of_low_precision_has_an_axis_that_fits_every_line() -> None:
    ax = rare().plot(label="a")
    assert 0.01 < ax.get_ylim()[1] < 0.3
    many().plot(ax, label="b")
    assert ax.get_ylim()[1] == 1.02


@each("kind", ["pr", "roc", "reliability"])
def test_plot_on_axes_with_other_lines_spans_all_shares(kind: str) -> None:
    _, ax = pyplot.subplots()
    ax.plot([0, 1], [0, 1], "k:")
    ax.axvline(-3.0)
    assert many().plot(ax, kind=kind, label="a").get_xlim() == (0, 1)


def test_plots_of_crowded_scores_on_the_same_axes_reach_the_highest() -> None:
    few, more = (
        se.PRCurveSketch().update([0, 1] * 50, [top, top / 2] * 50) for top in (0.02, 0.04)
    )
    ends = []
    for first, second in ((few, more), (more, few)):
        ax = first.compute().plot(kind="reliability", label="a")
        second.compute().plot(ax, kind="reliability", label="b")
        ends.append(ax.get_xlim())
    assert ends[0] == ends[1]


def test_plot_of_scores_keeps_the_limits_of_the_axes() -> None:
    _, ax = pyplot.subplots()
    ax.set(xlim=(0, 0.2), ylim=(0.5, 1))
    many().plot(ax, kind="score")
    assert (ax.get_xlim(), ax.get_ylim()) == ((0, 0.2), (0.5, 1))


def test_plot_of_scores_shows_the_share_of_each_class() -> None:
    ax = se.PRCurveSketch().update([0, 0, 1], [0.0, 1.0, 1.0]).compute().plot(kind="score")
    shares = {patch.get_label(): patch.get_data().values for patch in ax.patches}
    negatives, positives = shares["negatives"], shares["positives"]
    assert (negatives[0], negatives[-1], negatives.sum()) == (0.5, 0.5, 1)
    assert (positives[0], positives[-1], positives.sum()) == (0, 1, 1)


def drawn(axes: Any) -> Any:
    """Draw axes whose limits are finite and apart, and return them back."""
    axes.figure.canvas.draw()
    for low, high in (axes.get_xlim(), axes.get_ylim()):
        assert math.isfinite(low)
        assert low < high < math.inf
    return axes


@pytest.mark.slow
@each(
    "score",
    [[-math.inf, 0, 1, math.inf], [2.0] * 4, [-math.inf, -math.inf, math.inf, math.inf]],
)
def test_plot_of_scores_can_be_drawn_when_they_are(score: list[float]) -> None:
    found = se.PRCurveSketch(scores="real").update([0, 1, 0, 1], score).compute()
    assert len(drawn(found.plot(kind="score")).patches) == 2


def test_plot_of_scores_can_be_drawn_of_nothing() -> None:
    found = EVERY["empty_curve"]().compute()
    assert drawn(found.plot(kind="score")).get_xlabel() == "score"
    assert drawn(found.plot(kind="reliability")).get_xlabel() == "mean score"


@each("kind", ["pr", "roc", "det"])
@each("truth", [[], [0], [1]])
def test_plot_refuses_one_class(kind: str, truth: list[int]) -> None:
    found = se.PRCurveSketch().update(truth, [0.5] * len(truth)).compute()
    with pytest.raises(se.InvalidInputError, match="`plot` needs examples of both classes"):
        found.plot(kind=kind)


@pytest.mark.slow
@each("kind", ["pr", "roc", "det", "score"])
def test_plot_of_real_scores_can_be_drawn(kind: str) -> None:
    assert drawn(many(scores="real", budget=40).plot(kind=kind)).has_data()


def test_plot_of_detection_errors_can_be_drawn_without_any() -> None:
    found = se.PRCurveSketch().update([0, 1], [0.1, 0.9]).compute()
    assert len(drawn(found.plot(kind="det")).lines) == 1


@each("kind", ["", "PR", 1, ["pr"]])
def test_plot_refuses_another_kind(kind: Any) -> None:
    with pytest.raises(se.InvalidInputError, match='`kind` must be "pr" or "roc" or "det"'):
        many().plot(kind=kind)


def test_plot_without_a_kind_draws_the_first() -> None:
    assert drawn(many().plot(kind=None)).get_title() == "Precision over recall"


def test_plot_says_what_to_install_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *arguments: Any, **keywords: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *arguments, **keywords)

    monkeypatch.delitem(sys.modules, "matplotlib.pyplot")
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r'pip install "streameval\[plot\]"\.$'):
        many().plot()


def test_classes_are_a_mapping_in_the_order_of_the_columns() -> None:
    found, truth, scores = classes("b", "c", "a")
    assert found.labels == tuple(found) == ("b", "c", "a")
    assert len(found) == 3
    assert list(found.keys()) == ["b", "c", "a"]
    assert "a" in found
    assert "d" not in found
    for place, (label, one) in enumerate(found.items()):
        assert isinstance(one, se.Curve)
        assert one is found[label]
        expected = sk.roc_auc_score(truth == place, scores[:, place])
        assert one.roc_auc == pytest.approx(expected, rel=1e-12)


def test_classes_of_a_number_are_found_by_their_number() -> None:
    found = EVERY["label_curves"]().compute()
    assert list(found) == [0, 1]
    assert found[1].n_pos == 2
    with pytest.raises(KeyError):
        found[2]


def test_averages_are_those_of_scikit_learn() -> None:
    found, truth, scores = classes("a", "b", "c", "d")
    present = np.eye(4, dtype=int)[truth]
    for average in ("macro", "weighted", "micro"):
        expected = sk.roc_auc_score(present, scores, average=average)
        assert found.roc_auc(average) == pytest.approx(expected, rel=1e-12)
        expected = sk.average_precision_score(present, scores, average=average)
        assert found.average_precision(average) == pytest.approx(expected, rel=1e-12)
    assert found.roc_auc() == found.roc_auc("macro")
    assert (
        found.mean_average_precision
        == found.average_precision()
        == found.metrics()["average_precision_macro"]
    )


def test_values_of_each_class_are_a_tuple() -> None:
    found, *_ = classes("a", "b", "c")
    assert found.roc_auc(None) == tuple(one.roc_auc for one in found.values())
    assert found.average_precision(average=None) == tuple(
        one.average_precision for one in found.values()
    )
    assert {type(value) for value in found.roc_auc(None)} == {se.Bounded}


@each("average", ["binary", "", 1, True, ["macro"]])
def test_another_average_is_refused(average: Any) -> None:
    found, *_ = classes("a", "b")
    with pytest.raises(se.InvalidInputError, match="`average` must be"):
        found.roc_auc(average)


def test_averages_are_over_the_classes_where_they_are_defined() -> None:
    scores = [[0.25, 0.5, 0.25], [0.5, 0.25, 0.25], [0.5, 0.0, 0.5]]
    found = se.PRCurveSketch(classes=3).update([1, 0, 1], scores).compute()
    assert math.isnan(found[2].roc_auc)
    assert found.n_averaged == 2
    assert found.roc_auc() == (found[0].roc_auc + found[1].roc_auc) / 2
    expected = (found[0].roc_auc + 2 * found[1].roc_auc) / 3
    assert found.roc_auc("weighted") == pytest.approx(expected, rel=1e-15)


def test_class_that_all_have_counts_towards_average_precision_alone() -> None:
    rows = [[1, 0], [1, 1]], [[0.5, 0.25], [0.25, 0.75]]
    found = se.PRCurveSketch(classes=2, multilabel=True).update(*rows).compute()
    assert found.n_averaged == 2
    assert math.isnan(found[0].roc_auc)
    assert found.roc_auc() == found.roc_auc("weighted") == found[1].roc_auc == 1.0
    assert found.mean_average_precision == 1.0


def test_averages_of_nothing_are_nan() -> None:
    found = EVERY["empty_class_curves"]().compute()
    assert all(map(math.isnan, found.metrics().values()))
    assert found.n_averaged == 0
    assert found.exact


@each("budget", [None, 3, 2])
def test_micro_pools_the_scores_of_all_classes(budget: int | None) -> None:
    found, truth, scores = classes("a", "b", "c", budget=budget)
    pooled = found.micro
    assert (pooled.n, pooled.n_pos) == (3 * 60, 60)
    present = np.eye(3, dtype=int)[truth].ravel()
    exact = sk.roc_auc_score(present, scores.ravel())
    assert pooled.roc_auc.low <= exact <= pooled.roc_auc.high
    assert pooled.exact == (budget is None)
    if budget is None:
        by_hand = se.PRCurveSketch(None).update(present, scores.ravel()).compute()
        assert pooled.as_dict() == by_hand.as_dict()


def test_micro_of_classes_at_several_levels_is_at_the_highest() -> None:
    scores = np.array([[0.5, 0.1], [0.5, 0.2], [0.25, 0.3], [0.25, 0.9]])
    sketch = se.PRCurveSketch(2, classes=2).update([0, 1, 1, 0], scores)
    assert sketch._state.levels.values[0] == 0
    assert not sketch.compute().micro.exact
    assert sketch.compute().micro.n == 8


@each("budget", [3, 5])
def test_bounds_of_averages_hold_the_exact_ones(budget: int) -> None:
    for seed in range(quick_cases(50)):
        coarse, *_ = classes("a", "b", "c", budget=budget, seed=seed)
        exact, *_ = classes("a", "b", "c", budget=None, seed=seed)
        for name, value in coarse.metrics().items():
            assert value.low <= exact.metrics()[name] <= value.high
            assert value.low < value.high


def test_dictionary_of_classes_holds_plain_numbers() -> None:
    numbers = classes("a", "b", budget=3)[0].as_dict(bounds=True)
    assert {type(value) for value in numbers.values()} <= {int, float}
    assert numbers["n"] == 60
    assert numbers["n_averaged"] == 2
    for average in ("macro", "weighted", "micro"):
        for name in (f"roc_auc_{average}", f"average_precision_{average}"):
            assert numbers[f"{name}_low"] <= numbers[name] <= numbers[f"{name}_high"]


def test_report_of_classes_shows_each_and_the_averages() -> None:
    found, *_ = classes("a", "b")
    lines = words(found.report())
    for label, one in found.items():
        row = [label, f"{one.roc_auc:.6f}", f"{one.average_precision:.6f}", str(one.n_pos)]
        assert row in lines
    for average in ("macro", "weighted", "micro"):
        values = found.roc_auc(average), found.average_precision(average)
        assert [average, "mean", *(f"{value:.6f}" for value in values)] in lines
    assert found.report().startswith("n = 60, 2 classes, exact\n")


def test_report_of_coarse_classes_shows_the_certified_intervals() -> None:
    found, *_ = classes("a", "b", budget=2)
    value = found.roc_auc("micro")
    ends = outward(value.low, value.high).split()
    assert ["roc_auc_micro", f"{value:.6f}", *ends] in words(found.report())
    assert "exact value within" not in classes("a", "b")[0].report()


@each(("shown", "lines"), [(0, 1), (2, 3), (5, 5), (50, 5)])
def test_report_of_classes_shows_that_many(shown: int, lines: int) -> None:
    found, *_ = classes(*"abcde")
    table = found.report(max_classes=shown).split("\n\n")[1].split("\n")[1:-3]
    assert len(table) == lines
    assert ("... and" in table[-1]) == (shown < 5)


@pytest.mark.slow
@each(
    "label",
    ["x" * 100, "日本" * 40, "a\nb\x1b[31m", "<script>alert('&')</script>", r"$\frac{$", ""],
)
def test_classes_of_strange_names_can_be_shown(label: str) -> None:
    found, *_ = classes(label, "other")
    assert "".join(found.report().split("\n")).isprintable()
    assert ElementTree.fromstring(found._repr_html_()).find(".//script") is None
    assert found.explain()
    if "日" not in label:  # matplotlib's own font has no Japanese
        found.plot().figure.canvas.draw()


@each("label", ["x" * 100, "日本" * 40])
def test_report_of_classes_of_long_names_has_at_most_80_columns(label: str) -> None:
    found, *_ = classes(label, "other", budget=2)
    assert max(map(len, found.report().split("\n"))) <= 80


def test_explanation_of_classes_names_each() -> None:
    found, *_ = classes("a", "b")
    for label, one in found.items():
        assert f"class {label}\n{one.explain()}" in found.explain()


@every_kind
@pytest.mark.parametrize("budget", [pytest.param(None, marks=pytest.mark.slow), 3])
def test_plot_of_classes_can_be_drawn(kind: str, budget: int | None) -> None:
    found, *_ = classes("a", "b", "c", budget=budget)
    ax = found.plot(kind=kind)
    ax.figure.canvas.draw()
    legend = {text.get_text()[:1] for text in ax.get_legend().get_texts()}
    assert legend >= {"a", "b", "c"}


def test_plot_of_classes_shows_those_with_most_positives() -> None:
    truth = [0] * 2 + [1] * 5 + [2] * 3
    scores = np.random.default_rng(0).random((10, 4))
    found = se.PRCurveSketch(classes=4).update(truth, scores).compute()
    ax = found.plot(max_classes=2)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        f"{of} (average precision {found[of].average_precision:.4f})" for of in (1, 2)
    ]
    assert ax.get_title() == "Precision over recall, 2 of 4 classes"
    assert found.plot(max_classes=9).get_title() == "Precision over recall, 3 of 4 classes"
    assert classes("a", "b")[0].plot().get_title() == "Precision over recall"


def test_plot_of_classes_draws_on_the_given_axes() -> None:
    _, ax = pyplot.subplots()
    assert classes("a", "b")[0].plot(ax) is ax
    assert len(ax.lines) == 2


@pytest.mark.parametrize("name", ["empty_class_curves"])
def test_plot_of_classes_refuses_what_cannot_be_drawn(name: str) -> None:
    with pytest.raises(se.InvalidInputError, match="`plot` needs a class that some examples have"):
        EVERY[name]().compute().plot()
    assert pyplot.get_fignums() == []


def test_plot_that_is_refused_leaves_no_figure() -> None:
    with pytest.raises(se.InvalidInputError, match="needs examples of both"):
        EVERY["empty_curve"]().compute().plot()
    with pytest.raises(se.InvalidInputError, match="probabilit"):
        many(scores="real").plot(kind="reliability")
    assert pyplot.get_fignums() == []


@each("name", ["_n", "labels", "exact"])
def test_classes_are_frozen(name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(classes("a", "b")[0], name, 1)


def test_micro_of_weights_past_2_to_63_is_refused_and_the_rest_is_not() -> None:
    sketch = se.PRCurveSketch(classes=3)
    sketch.update([0, 1], [[0.5, 0.25, 0.5], [0.25, 0.5, 0.75]], sample_weight=[2**62, 2**61])
    curves = sketch.compute()
    with pytest.raises(se.CountOverflowError, match="`micro` would pool weights past"):
        curves.roc_auc("micro")
    numbers = curves.as_dict()
    assert math.isnan(numbers["roc_auc_micro"])
    assert numbers["roc_auc_macro"] == 1.0


@each("kind", ["pr", "roc", "det"])
def test_curve_without_both_classes_has_no_line(kind: str) -> None:
    assert EVERY["empty_curve"]().compute()._line(kind).marks == []


@each("budget", [4, 65_536])
def test_interval_of_an_average_is_wide_enough_for_every_dependence_of_classes(budget: int) -> None:
    found, *_ = classes(*"abcde", budget=budget)
    curves: Any = [*found.values()]
    n_pos = np.array([curve.n_pos for curve in curves])
    for name in ("roc_auc", "average_precision"):
        lows, highs = np.array([curve.confidence(name, level=0.9) for curve in curves]).T
        low, high = found.confidence(name, level=0.9)
        assert (low, high) == pytest.approx((lows.mean(), highs.mean()))
        values = np.array([getattr(curve, name) for curve in curves])
        mean = np.average(values, weights=n_pos)
        # the weights are those of a sample too
        reach = 1.6448536269514722 * math.sqrt((n_pos * (values - mean) ** 2).sum()) / n_pos.sum()
        ends = np.average([lows, highs], weights=n_pos, axis=1) + np.array([-reach, reach])
        found_ends = found.confidence(name, average="weighted", level=0.9)
        assert found_ends == pytest.approx(ends.clip(0, 1))
        reading = found.read(f"{name}_macro", level=0.9)
        assert reading.sampling == pytest.approx((low, high))
        assert found.read(f"{name}[micro]").sampling is None


def test_interval_of_an_average_leaves_out_classes_without_a_curve() -> None:
    acc = se.PRCurveSketch(classes=3)
    scores = [[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.1, 0.6, 0.3]]
    found: Any = acc.update([0, 1, 1], scores).compute()
    ends = [found[label].confidence("roc_auc") for label in (0, 1)]
    assert found.confidence("roc_auc") == pytest.approx(np.mean(ends, axis=0))
    nothing: Any = se.PRCurveSketch(classes=3).compute()
    assert all(map(math.isnan, nothing.confidence("roc_auc", average="weighted")))
