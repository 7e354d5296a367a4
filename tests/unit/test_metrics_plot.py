"""The picture of results without one of their own: their headline metrics, or differences."""

from __future__ import annotations

from typing import Any

import pytest
from matplotlib.figure import Figure
from offenders import each

import streameval as se
from streameval.cli.options import TASKS
from streameval.reports import RESULTS
from streameval.results.names import PICTURES_BY_TASK, tables

TRUTH, A, B = [4.0, 5.0, 3.0], [3.0, 5.0, 1.0], [1.0, 2.0, 3.0]


def names_on(axes: Any) -> list[str]:
    return [tick.get_text() for tick in axes.get_yticklabels()]


@each(
    ("accumulator", "names"),
    [
        (
            se.RegressionAccumulator().update(TRUTH, A),
            ["Root mean squared error", "Mean absolute error", "Bias, prediction minus truth"],
        ),
        (se.MeanAccumulator().update(TRUTH), ["Mean"]),
        (se.Paired().update([0, 1, 1], [1, 1, 1], [0, 1, 0]), ["Difference, A minus B"]),
        (
            se.Paired(measures=["recall"]).update([0, 1, 1], [1, 1, 1], [0, 1, 0]),
            ["Difference, A minus B", "Recall, A minus B"],
        ),
        (se.Paired(None).update(TRUTH, A, B), ["Difference, A minus B"]),
        (
            se.Paired(None, measures=["mae"]).update(TRUTH, A, B),
            ["Mean absolute error, A minus B"],
        ),
        (se.Paired(None, measures=["loss"]).update(A, B), ["Mean loss, A minus B"]),
    ],
)
def test_plot_draws_metrics_of_one_unit(accumulator: Any, names: list[str]) -> None:
    result = accumulator.compute()
    axes = result.plot(Figure().subplots())
    assert names_on(axes) == names
    lines = axes.containers[0].lines[0].get_xdata()
    named = {result.heading(name): name for name in result.readings()}
    assert [round(float(value), 9) for value in lines] == [
        round(result.read(named[heading]).value, 9) for heading in names
    ]


@each("ax", [3, "axes", [None]])
def test_plot_refuses_what_are_no_axes(ax: Any) -> None:
    for accumulator in (se.RegressionAccumulator(), se.PRCurveSketch(scores="real")):
        with pytest.raises(se.InvalidInputError, match=r"`ax` must be axes of matplotlib, got "):
            accumulator.update([0.0, 1.0], A[:2]).compute().plot(ax=ax)


@each(("name", "turn"), [("sea lion", 0), ("Australian cattle dog", 45)])
def test_names_of_classes_are_slanted_where_they_do_not_fit(name: str, turn: float) -> None:
    counted = se.ConfusionAccumulator([name, "cat", "dog"]).update([name, "cat"], ["dog", "cat"])
    axes = counted.compute().plot(Figure(figsize=(5, 5)).subplots())
    assert {tick.get_rotation() for tick in axes.get_xticklabels()} == {turn}


def test_ticks_of_error_rates_are_percentages() -> None:
    curve = se.PRCurveSketch().update([0, 1, 1, 0], [0.1, 0.9, 0.4, 0.6]).compute()
    axes = curve.plot(Figure().subplots(), kind="det")
    assert [tick.get_text() for tick in axes.get_xticklabels()][:3] == ["0.1%", "1%", "5%"]


def test_plot_has_a_line_at_zero_where_an_interval_contains_it() -> None:
    ends = {
        bias: se.RegressionAccumulator(intervals=True).update(TRUTH, [one + bias for one in A])
        for bias in (0.0, 100.0)
    }
    zeros = {
        bias: [
            line
            for line in held.compute().plot(Figure().subplots()).lines
            if list(line.get_xdata()) == [0.0, 0.0]
        ]
        for bias, held in ends.items()
    }
    assert {bias: len(lines) for bias, lines in zeros.items()} == {0.0: 1, 100.0: 0}


def test_plot_of_two_results_has_their_names_beside_the_axes() -> None:
    axes = Figure(layout="constrained").subplots()
    for name, predicted in (("old", A), ("new", B)):
        se.RegressionAccumulator().update(TRUTH, predicted).compute().plot(axes, label=name)
    legend = axes.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["old", "new"]
    assert legend.get_bbox_to_anchor().x0 >= axes.bbox.x1 - 1.0


@each(
    ("accumulator", "kind", "said"),
    [
        (se.RegressionAccumulator(), None, "`plot` needs an example that was counted"),
        (se.RegressionAccumulator(), "roc", "`kind` must be .metrics., got 'roc'"),
        (
            se.Collection({"fit": se.RegressionAccumulator()}),
            None,
            "`plot` has nothing to draw in a CollectionResult",
        ),
    ],
)
def test_plot_says_what_it_cannot_draw(accumulator: Any, kind: str | None, said: str) -> None:
    with pytest.raises(se.InvalidInputError, match=said):
        accumulator.compute().plot(kind=kind)


def test_plot_has_the_intervals_of_its_level() -> None:
    result = se.RegressionAccumulator(intervals=True).update(TRUTH, A).compute()
    titles = [result.plot(Figure().subplots(), level=one).get_title() for one in (0.5, 0.0)]
    assert titles == [f"{len(TRUTH)} examples, 50% intervals", f"{len(TRUTH)} examples"]


@each(
    ("options", "said"),
    [
        ({"level": 1.0}, "`level` must lie in"),
        ({"max_classes": 0}, "`max_classes` must be"),
        ({"kind": ""}, '`kind` must be "metrics"'),
        ({"normalize": "true"}, "`normalize` must be True or False, got 'true'"),
    ],
)
def test_plot_refuses_options_out_of_range(options: Any, said: str) -> None:
    result = se.RegressionAccumulator().update(TRUTH, A).compute()
    with pytest.raises(se.InvalidInputError, match=said):
        result.plot(Figure().subplots(), **options)


def test_the_command_line_lists_the_tasks_of_all_tables() -> None:
    assert {table.task for table in tables()} == {*TASKS}
    held = [cls.TABLE for cls in RESULTS if cls.TABLE and cls is not se.RegressionOutputs]
    assert sorted(map(id, held)) == sorted(map(id, tables()))
    assert [table for task in TASKS for table in tables(task) if table.task != task] == []


def test_the_command_line_lists_the_pictures_of_each_task_the_default_first() -> None:
    held = {cls.TABLE.task: tuple(cls.PICTURES) for cls in RESULTS if cls.PICTURES}
    assert held == PICTURES_BY_TASK
