"""AUCs within groups as pictures, and probabilities as one of several lines."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot
from offenders import each

import streameval as se

pytestmark = pytest.mark.usefixtures("closed_figures")

mpl.use("agg")


def grouped(budget: int = 10_000, **options: Any) -> se.GroupedCurves:
    """Two groups of AUC 1, of 2 and of 4 rows, one of AUC 0.5, of 2 rows, and one of one class."""
    label = [0, 1, 0, 1, 1, 1, 0, 1, 1]
    score = [0.1, 0.9, 0.1, 0.7, 0.8, 0.9, 0.5, 0.5, 0.3]
    group = [0, 0, 1, 1, 1, 1, 2, 2, 3]
    return se.GroupedAUC(budget, **options).update(label, score, group).compute()


@each(
    ("weight", "half", "one", "ylabel"),
    [
        ("impressions", 2 / 8, 6 / 8, "share of the examples"),
        ("uniform", 1 / 3, 2 / 3, "share of the groups"),
        ("positives", 1 / 5, 4 / 5, "share of the positives"),
    ],
)
def test_plot_weighs_groups_as_the_mean_does(
    weight: str, half: float, one: float, ylabel: str
) -> None:
    ax = grouped(group_weight=weight).plot()
    (steps,) = ax.patches
    shares, edges, _ = steps.get_data()
    held = {round(edges[place], 9): share for place, share in enumerate(shares) if share}
    assert held == pytest.approx({0.5: half, 0.95: one})
    assert (ax.get_ylabel(), ax.get_xlim()) == (ylabel, (0.0, 1.0))
    assert ax.get_title() == "3 groups"


def test_plot_marks_the_mean() -> None:
    found = grouped()
    ax = found.plot()
    assert list(ax.lines[0].get_xdata()) == [found.gauc] * 2
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["GAUC 0.8750"]


def test_plot_shades_the_certified_interval_of_the_mean() -> None:
    found = grouped(4)
    assert not found.gauc.exact
    ax = found.plot()
    band = ax.patches[1].get_extents().transformed(ax.transData.inverted())
    assert (band.x0, band.x1) == pytest.approx((found.gauc.low, found.gauc.high))
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts[1] == "the exact GAUC lies here"


def test_plots_of_several_share_the_axes() -> None:
    ax = grouped().plot(label="one")
    assert grouped(4).plot(ax, label="other") is ax
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["one", "other"]
    assert ax.get_title() == "AUC of the groups"
    assert not any(patch.get_fill() for patch in ax.patches[:2])


def test_plot_on_axes_with_a_line_spans_all_areas() -> None:
    _, ax = pyplot.subplots()
    ax.plot([0, 1], [0, 1], "k:")
    ax.set_ylim(0, 3)
    grouped().plot(ax)
    assert (ax.get_xlim(), ax.get_ylim()) == ((0, 1), (0, 3))


def test_plot_takes_areas_of_1_of_weights_with_fractions() -> None:
    rng = np.random.default_rng(0)
    label = np.tile([0, 1, 1], 200)
    weight, group = rng.random(600), np.repeat(np.arange(200), 3)
    score = label * 0.5 + np.tile([0.0, 0.0, 0.1], 200)
    acc = se.GroupedAUC().update(label, score, group, sample_weight=weight)
    found = acc.compute()
    assert found.per_group()["roc_auc"].max() == 1
    shares, _, _ = found.plot().patches[0].get_data()
    assert shares[-1] == pytest.approx(1.0)


@each("rows", [([], [], []), ([1, 1], [0.1, 0.2], [5, 6])])
def test_plot_of_no_group_with_both_classes_is_refused(rows: Any) -> None:
    found = se.GroupedAUC().update(*map(np.array, rows)).compute()
    before = pyplot.get_fignums()
    with pytest.raises(se.InvalidInputError, match=r"^`plot` needs a group with examples of both"):
        found.plot()
    assert pyplot.get_fignums() == before


@each(("classes", "ylabel"), [(None, "share of positives"), (2, "accuracy")])
def test_plot_of_calibration_with_a_label_is_a_line(classes: int | None, ylabel: str) -> None:
    prob = np.array([0.1, 0.15, 0.7, 0.9])
    given = prob if classes is None else np.stack([1 - prob, prob], axis=1)
    found = se.CalibrationAccumulator(classes=classes).update([0, 1, 1, 1], given).compute()
    ax = found.plot(label="a")
    assert found.plot(ax, label="b") is ax
    predicted, observed, _ = found.reliability_curve()
    assert [line.get_xdata().tolist() for line in ax.lines] == [predicted.tolist()] * 2
    assert [line.get_ydata().tolist() for line in ax.lines] == [observed.tolist()] * 2
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]
    assert (len(ax.patches), ax.get_ylabel()) == (0, ylabel)
