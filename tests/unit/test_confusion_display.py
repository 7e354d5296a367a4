"""A confusion result as text, as a notebook shows it, as a picture, and its intervals."""

from __future__ import annotations

import math
import re
import unicodedata
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot
from offenders import each
from small_states import SMALL

import streameval as se
from streameval.render.tables import notebook

pytestmark = pytest.mark.usefixtures("closed_figures")

mpl.use("Agg")

every_state = each("name", SMALL)

STRANGE = {
    "wide": "東京都千代田区丸の内一丁目九番一号東京駅一番線のりば",
    "wide at the cut": "x" + "日" * 30,
    "long": "label " * 30,
    "control": "a\nb\tc\r\0\x1b[31m\x7f",
    "line separator": "a\u2028b\u2029c\x85d",
    "direction": "a\u202eb\u200bc",
    "accents": "e\u0301" * 40,
    "emoji": "👩‍🔬" * 20,
    "empty": "",
    "markup": "<script>alert('&')</script>",
    "dollars": r"$\frac{$",
}


def named(label: str) -> se.Confusion:
    accumulator = se.ConfusionAccumulator([label, "other"])
    return accumulator.update([label, "other", label], [label, label, "other"]).compute()


def columns(line: str) -> int:
    """Count terminal columns: two for wide characters, none for marks that combine."""
    shown = [c for c in line if unicodedata.category(c) not in ("Mn", "Me", "Cf")]
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in shown)


@every_state
def test_repr_is_one_line(name: str) -> None:
    assert repr(SMALL[name]().compute()).count("\n") == 0


def test_repr_shows_size_and_headline() -> None:
    expected = "Confusion(n=4, classes=2, accuracy=0.5, f_score=0.666667)"
    assert repr(SMALL["binary"]().compute()) == expected


def test_report_shows_the_numbers_of_the_rows() -> None:
    accumulator = se.ConfusionAccumulator(["ham", "spam"])
    accumulator.update(["spam", "spam", "ham", "ham"], ["spam", "ham", "ham", "ham"])
    found = [line.split() for line in accumulator.compute().report(level=0).splitlines()]
    for line in [
        ["class", "precision", "recall", "f_score", "support"],
        ["ham", "0.6667", "1.0000", "0.8000", "2"],
        ["spam", "1.0000", "0.5000", "0.6667", "2"],
        ["macro", "mean", "0.8333", "0.7500", "0.7333", "4"],
        ["weighted", "mean", "0.8333", "0.7500", "0.7333", "4"],
        ["accuracy", "0.7500"],
        ["balanced_accuracy", "0.7500"],
        ["precision", "1.0000"],
        ["recall", "0.5000"],
        ["specificity", "1.0000"],
        ["f_score", "0.6667"],
        ["jaccard", "0.5000"],
        ["matthews_corrcoef", "0.5774"],
        ["cohen_kappa", "0.5000"],
    ]:
        assert line in found


@each("claim", STRANGE)
def test_report_has_at_most_80_columns_when_a_label_is(claim: str) -> None:
    assert max(map(columns, named(STRANGE[claim]).report().splitlines())) <= 80


@each("claim", STRANGE)
def test_report_keeps_its_columns_under_each_other_when_a_label_is(claim: str) -> None:
    table = named(STRANGE[claim]).report().split("\n\n")[0].split("\n")
    assert len({columns(line) for line in table}) == 1


@each("claim", STRANGE)
def test_report_can_be_printed_when_a_label_is(claim: str) -> None:
    lines = named(STRANGE[claim]).report().split("\n")
    assert len(lines) == len(named("plain").report().split("\n"))
    assert "".join(lines).isprintable()


@each("weight", [2**63 - 1, 1_234_567_890_123.1234, 2.0**62 + 0.5])
def test_report_has_at_most_80_columns_when_counts_are_large(weight: float) -> None:
    accumulator = se.ConfusionAccumulator(["x" * 40, "y"])
    accumulator.update(["x" * 40, "y"], ["y", "y"], sample_weight=np.array([weight, 0]))
    report = accumulator.compute().report()
    assert max(map(columns, report.splitlines())) <= 80


def test_report_adds_up_the_support_of_several_labels_past_2_to_63() -> None:
    accumulator = se.ConfusionAccumulator(3, multilabel=True)
    accumulator.update([[1, 1, 1]], [[1, 1, 1]], sample_weight=[2**62])
    assert f"{3 * 2**62:,}" in accumulator.compute().report()


def test_report_of_fractions_adds_up_the_support_of_several_labels_past_2_to_63() -> None:
    accumulator = se.ConfusionAccumulator(3, multilabel=True)
    rows = [[1, 1, 1]] * 2
    accumulator.update(rows, rows, sample_weight=[2.0**62, 0.5])
    assert f"{3 * 2.0**62:,}" in accumulator.compute().report()


@each(
    ("shown", "lines"),
    [
        (0, ["... and 5 more"]),
        (2, ["0", "1", "... and 3 more"]),
        (5, list("01234")),
    ],
)
def test_report_shows_that_many_classes_and_counts_the_rest(shown: int, lines: list[str]) -> None:
    result = se.ConfusionAccumulator(5).update(range(5), range(5)).compute()
    table = result.report(max_classes=shown).split("\n\n")[0].split("\n")
    assert [line if "..." in line else line.split()[0] for line in table[1:-2]] == lines


def test_report_leaves_out_classes_that_never_occur() -> None:
    result = se.ConfusionAccumulator(5).update([0, 1], [0, 0]).compute()
    assert [line.split()[0] for line in result.report().split("\n")[1:3]] == ["0", "1"]


def test_report_refuses_a_negative_number_of_classes() -> None:
    with pytest.raises(se.InvalidInputError, match="`max_classes`"):
        SMALL["binary"]().compute().report(max_classes=-1)


@each("name", ["binary", "met"])
@each("level", [-0.1, 1.0, math.nan])
def test_report_refuses_another_level(level: float, name: str) -> None:
    with pytest.raises(se.InvalidInputError, match=r"`level` must lie in \[0, 1\)"):
        SMALL[name]().compute().report(level=level)


@each(
    ("name", "level", "expected"),
    [("binary", 0.95, True), ("binary", 0, False), ("met", 0.95, False), ("ignoring", 0.9, False)],
)
def test_report_has_intervals_of_whole_weights(name: str, level: float, expected: bool) -> None:
    assert ("[" in SMALL[name]().compute().report(level=level)) == expected


@each(("level", "text"), [(0.95, "95%"), (0.9, "90%"), (0.999, "99.9%")])
def test_report_says_the_level_of_its_intervals(level: float, text: str) -> None:
    assert f" {text} interval" in SMALL["binary"]().compute().report(level=level)


@every_state
def test_html_is_a_well_formed_fragment(name: str) -> None:
    assert ElementTree.fromstring(SMALL[name]().compute()._repr_html_()).tag == "div"


@each("claim", STRANGE)
def test_html_is_a_well_formed_fragment_when_a_label_is(claim: str) -> None:
    page = ElementTree.fromstring(named(STRANGE[claim])._repr_html_())
    assert page.find(".//script") is None


def test_html_shows_markup_of_a_label_as_text() -> None:
    page = ElementTree.fromstring(named("<b>&'\"")._repr_html_())
    assert "<b>&'\"" in ["".join(cell.itertext()) for cell in page.iter("th")]


def test_html_takes_no_text_for_markup_that_has_a_style() -> None:
    page = ElementTree.fromstring(named('x class="number">')._repr_html_())
    assert 'x class="number">' in ["".join(cell.itertext()) for cell in page.iter("th")]


def test_html_keeps_the_lines_of_a_text() -> None:
    assert (
        notebook(["one line", "two\nlines"]) == "<div><p>one line</p><p>two</p><p>lines</p></div>"
    )


def test_html_holds_the_cells_of_the_matrix() -> None:
    page = ElementTree.fromstring(SMALL["top_k"]().compute()._repr_html_())
    rows = page.find(".//table/tbody")
    cells = [[(cell.text, cell.find("small").text) for cell in row.iter("td")] for row in rows]
    never, always = ("0", "0%"), ("1", "100%")
    assert cells == [[never, always, never], [always, never, never], [never, never, always]]
    hit = "--of:42 99 212;background:rgb(var(--of) / 0.60)"
    assert [cell.get("style") for cell in rows[2].iter("td")] == [None, None, hit]


def test_html_of_many_classes_is_cut_and_says_so() -> None:
    page = se.ConfusionAccumulator(30).update(range(30), range(30)).compute()._repr_html_()
    assert len(ElementTree.fromstring(page).find(".//table/tbody")) == 20
    assert "The first 20 of 30 classes." in page


@each(("name", "has_intervals"), [("top_k", True), ("met", False)])
def test_html_has_intervals_of_whole_weights(name: str, has_intervals: bool) -> None:
    assert ("[" in SMALL[name]().compute()._repr_html_()) == has_intervals


@pytest.mark.slow
@each("name", ["binary", "met", "top_k", "empty", "empty_met"])
@each("normalize", [True, False])
def test_plot_can_be_drawn(name: str, normalize: bool) -> None:
    result = SMALL[name]().compute()
    if name == "met":  # matplotlib's own font has no Japanese
        result = se.ConfusionAccumulator("auto").update(["a"], ["b"]).compute()
    ax = result.plot(normalize=normalize)
    ax.figure.canvas.draw()
    written = [int(text.get_text()) for text in ax.texts]
    assert sum(written) == result.n


def test_plot_gives_axes_of_a_new_figure() -> None:
    one, other = (SMALL["binary"]().compute().plot() for _ in range(2))
    assert isinstance(one, mpl.axes.Axes)
    assert one.figure is not other.figure


def test_plot_draws_on_the_given_axes() -> None:
    _, (left, right) = pyplot.subplots(1, 2)
    assert SMALL["binary"]().compute().plot(right) is right
    assert len(right.images) == 1
    assert not left.has_data()


def test_plot_closes_and_adds_no_other_figure() -> None:
    _, ax = pyplot.subplots()
    before = pyplot.get_fignums()
    SMALL["binary"]().compute().plot(ax)
    assert pyplot.get_fignums() == before


def test_plot_writes_the_counts_that_are_not_zero() -> None:
    accumulator = se.ConfusionAccumulator(["a", "b"])
    accumulator.update(["a", "b"], ["b", "b"], sample_weight=[1234, 2])
    written = {t.get_position(): t.get_text() for t in accumulator.compute().plot().texts}
    assert written == {(1, 0): "1,234", (1, 1): "2"}


@each("normalize", [True, False])
def test_plot_writes_in_white_only_where_it_is_dark(normalize: bool) -> None:
    """Of shares the darkest is 1, of counts the largest."""
    accumulator = se.ConfusionAccumulator(2)
    accumulator.update([0, 0, 1, 1], [0, 1, 0, 1], sample_weight=[9, 1, 1, 1])
    written = accumulator.compute().plot(normalize=normalize).texts
    found = [(text.get_text(), text.get_color()) for text in written]
    assert set(found) == {("1", "black"), ("9", "white")}


def test_plot_names_the_classes_on_both_axes() -> None:
    ax = named("a").plot()
    for ticks in (ax.get_xticklabels(), ax.get_yticklabels()):
        assert [tick.get_text() for tick in ticks] == ["a", "other"]


def test_plot_shades_by_the_share_of_the_true_class() -> None:
    accumulator = se.ConfusionAccumulator().update([0, 0, 0, 0], [0, 1, 1, 1])
    shades = accumulator.compute().plot().images[0].get_array()
    assert shades.tolist() == [[0.25, 0.75], [0, 0]]


def test_plot_shades_by_the_counts_without_normalize() -> None:
    accumulator = se.ConfusionAccumulator().update([0, 0, 0, 0], [0, 1, 1, 1])
    shades = accumulator.compute().plot(normalize=False).images[0].get_array()
    assert shades.tolist() == [[1, 3], [0, 0]]


@pytest.mark.slow
@each(("n_classes", "n_names", "n_counts"), [(30, 30, 30), (60, 60, 60), (61, 0, 0)])
def test_plot_of_many_classes_writes_names_and_counts_up_to_sixty(
    n_classes: int, n_names: int, n_counts: int
) -> None:
    names = [f"class {index}" for index in range(n_classes)]
    ax = se.ConfusionAccumulator(names).update(names, names).compute().plot()
    written = {text.get_text() for text in ax.get_yticklabels()}
    assert len(written & set(names)) == n_names
    assert len(ax.texts) == n_counts
    pyplot.close(ax.figure)


def test_plot_on_small_axes_writes_no_counts_that_cannot_be_read() -> None:
    _, axes = pyplot.subplots(figsize=(3, 3))
    ax = se.ConfusionAccumulator(40).update(range(40), range(40)).compute().plot(axes)
    assert len(ax.texts) == 0
    assert len(ax.get_yticklabels()) == 40


@pytest.mark.slow
@each("claim", ["long", "control", "empty", "markup", "dollars"])
def test_plot_can_be_drawn_when_a_label_is(claim: str) -> None:
    ax = named(STRANGE[claim]).plot()
    ax.figure.canvas.draw()
    assert len(ax.get_yticklabels()) == len(named(STRANGE[claim]).labels)


def test_plot_refuses_multilabel() -> None:
    with pytest.raises(se.InvalidInputError, match="`plot` draws one matrix"):
        SMALL["multilabel"]().compute().plot()


NAMES = ("accuracy", "hamming_loss", "top_k_accuracy", "balanced_accuracy")
RATIOS = ("precision", "recall", "specificity", "f_score", "jaccard")
AGREEMENT = ("matthews_corrcoef", "cohen_kappa")
MATRICES = {
    "mixed": ([0, 0, 1, 1, 2, 2, 2], [0, 1, 1, 1, 2, 0, 2]),
    "perfect": ([0, 1, 2, 1], [0, 1, 2, 1]),
    "all wrong": ([0, 1, 2], [1, 2, 0]),
    "one class": ([0, 0], [0, 0]),
    "one prediction": ([0, 1, 2], [0, 0, 0]),
    "nothing": ([], []),
}


@each("average", ["default", "macro", "micro", "weighted"])
@each("name", RATIOS)
@each("rows", MATRICES)
def test_interval_of_a_ratio_holds_its_value_or_is_nan(rows: str, name: str, average: str) -> None:
    result = se.ConfusionAccumulator(3).update(*MATRICES[rows]).compute()
    low, high = result.confidence(name, average=average)
    assert math.isnan(low) == math.isnan(high)
    assert math.isnan(low) or 0 <= low <= result.value(name, average=average) <= high <= 1


@each("name", [*NAMES, *AGREEMENT])
@each("rows", MATRICES)
def test_interval_of_a_single_metric_holds_its_value_or_is_nan(rows: str, name: str) -> None:
    result = se.ConfusionAccumulator(3).update(*MATRICES[rows]).compute()
    low, high = result.confidence(name)
    assert math.isnan(low) == math.isnan(high)
    assert math.isnan(low) or -1 <= low <= result.value(name) <= high <= 1


@each("name", ["accuracy", "hamming_loss", *RATIOS])
@each("average", ["macro", "micro", "weighted"])
def test_interval_of_multilabel_holds_its_value(name: str, average: str) -> None:
    result = SMALL["multilabel"]().compute()
    options = {"average": average} if name in RATIOS else {}
    low, high = result.confidence(name, **options)
    assert 0 <= low <= result.value(name, **options) <= high <= 1


@each("name", ["top_k_accuracy", "accuracy"])
def test_interval_of_top_k_holds_its_value(name: str) -> None:
    result = SMALL["top_k"]().compute()
    low, high = result.confidence(name)
    assert 0 <= low < result.value(name) < high <= 1


@each("name", RATIOS)
def test_intervals_of_the_classes_are_two_arrays(name: str) -> None:
    result = SMALL["top_k"]().compute()
    low, high = result.confidence(name, average=None)
    values = result.value(name, average=None)
    assert low.shape == high.shape == (3,)
    assert (np.isnan(low) | ((low <= values) & (values <= high))).all()


@each("name", ["empty_met", "empty"])
def test_classes_of_nothing_may_be_anything_and_are_nan_if_undefined(name: str) -> None:
    result = SMALL[name]().compute()
    n = len(result.labels)
    for options, ends in (({}, (0.0, 1.0)), ({"zero_division": math.nan}, (math.nan, math.nan))):
        found = result.confidence("recall", average=None, **options)
        np.testing.assert_equal(found, [np.full(n, end) for end in ends])


def test_interval_of_accuracy_is_that_of_wilson() -> None:
    n, hits, z = 10, 7, 1.959963984540054
    result = se.ConfusionAccumulator().update([1] * n, [1] * hits + [0] * (n - hits)).compute()
    middle = (hits + z * z / 2) / (n + z * z)
    half = z / (n + z * z) * math.sqrt(hits * (n - hits) / n + z * z / 4)
    expected = pytest.approx((middle - half, middle + half), rel=1e-12)
    assert result.confidence("accuracy") == expected


@each("arguments", [{"beta": 2.0}, {"alpha": 0.3}])
def test_interval_takes_the_arguments_of_its_metric(arguments: dict[str, float]) -> None:
    result = SMALL["binary"]().compute()
    value = result.f_score(**arguments)
    assert result.confidence("f_score", level=0, **arguments) == (value, value)
    low, high = result.confidence("f_score", **arguments)
    assert low < value < high


@each("name", ["accuracy", "recall", "cohen_kappa"])
def test_interval_grows_with_its_level(name: str) -> None:
    result = SMALL["binary"]().compute()
    widths = [np.diff(result.confidence(name, level=x))[0] for x in (0, 0.5, 0.9, 0.99)]
    assert widths == sorted(set(widths))


@each("level", [-0.1, 1.0, 95, math.nan])
def test_interval_refuses_another_level(level: float) -> None:
    with pytest.raises(se.InvalidInputError, match=r"`level` must lie in \[0, 1\)"):
        SMALL["binary"]().compute().confidence("accuracy", level=level)


def test_interval_of_a_level_just_below_one_is_given() -> None:
    result = SMALL["binary"]().compute()
    low, high = result.confidence("accuracy", level=math.nextafter(1.0, 0.0))
    assert 0 <= low < 0.5 < high <= 1


@each("name", ["accuracy", "precision"])
def test_interval_is_refused_when_weights_have_fractions(name: str) -> None:
    with pytest.raises(se.InvalidInputError, match="`sample_weight` had fractions"):
        SMALL["met"]().compute().confidence(name)


def test_interval_of_level_zero_is_the_value_whatever_the_weights() -> None:
    result = SMALL["met"]().compute()
    assert result.confidence("accuracy", level=0) == (result.accuracy, result.accuracy)


def test_report_of_a_small_sample_shows_each_interval_around_its_value() -> None:
    number = r"(-?\d\.\d{4}|nan)"
    shown = re.findall(rf"{number} +\[{number}, {number}\]", SMALL["binary"]().compute().report())
    assert len(shown) == len(SMALL["binary"]().compute().metric_names)
    for line in shown:
        value, low, high = map(float, line)
        assert math.isnan(low) or low <= value <= high


def test_report_shows_a_dash_for_a_rate_without_examples() -> None:
    result = se.ConfusionAccumulator(classes=2).update([0, 0], [0, 0]).compute()
    lines = {line.split()[0]: line.split()[1:] for line in result.report().splitlines() if line}
    assert lines["recall"] == ["\N{EN DASH}"]
    assert lines["accuracy"] == ["1.0000", "[0.3424,", "1.0000]"]
