"""Values by convention, which results show, and which nothing compares with a limit."""

from __future__ import annotations

import math
from typing import Any

import pytest

import streameval as se
from streameval.render.plots import PlotRequest
from streameval.render.text import ABOUT_UNDEFINED
from streameval.results.collection import read_or_nan

TWO = se.ConfusionAccumulator([0, 1])
ONE_CLASS = TWO.copy().update([0, 0, 0], [0, 1, 0])
CONSTANT = TWO.copy().update([0, 1, 0], [0, 0, 0])
WEIGHTED = TWO.copy().update([0, 0], [0, 0], sample_weight=[0.5, 2])
OBSERVED = se.ConfusionAccumulator("auto").update(["a", "a"], ["a", "a"])
TAGS = se.ConfusionAccumulator(2, multilabel=True)
CURVE = se.PRCurveSketch().update([0, 0, 1], [0.25, 0.5, 0.5], sample_weight=[0.5, 1, 1])
RANKING = se.RankingAccumulator(["map", "gm_map", "map[median]", "num_ret"])
NOTHING_FOUND = RANKING.copy().update([[0, 0], [0, 0]], [[2, 1], [1, 2]])
PAIRED = se.Paired(measures=["recall", "precision", "matthews_corrcoef"])


@pytest.mark.parametrize(
    ("acc", "expected"),
    [
        (
            ONE_CLASS,
            {"recall": None, "recall[macro]": 1 / 3, "recall[1]": None, "specificity": 2 / 3}
            | {"matthews_corrcoef": None, "accuracy": 2 / 3, "precision": 0.0},
        ),
        (CONSTANT, {"precision": None, "matthews_corrcoef": 0.0, "recall": 0.0}),
        (WEIGHTED, {"recall": None, "specificity": 1.0, "recall[macro]": 1.0}),
        (OBSERVED, {"specificity": None, "recall": 1.0, "recall[b]": None}),
        (TAGS.copy().update([[0, 0]], [[1, 0]]), {"matthews_corrcoef": None, "hamming_loss": 0.5}),
        (TAGS.copy().update([[0, 1]], [[0, 0]]), {"matthews_corrcoef": 0.0}),
        (CURVE, {"precision_at(0.75)": None, "precision_at(0.5)": 0.5, "f_at(0.75)": 0.0}),
        (se.PRCurveSketch().update([0], [0.25]), {"f_at(0.5)": None, "roc_auc": None}),
        (
            se.PRCurveSketch().update([0, 1], [0.75, 0.5]),
            {"selective_accuracy(0.75)": 0.0, "selective_accuracy(0.875)": None}
            | {"selective_coverage(0.875)": 0.0},
        ),
        (NOTHING_FOUND, {"map": None, "gm_map": None, "map[median]": None, "num_ret": 2.0}),
        (RANKING.copy().add_missing(["q"]), {"map": 0.0, "gm_map": 1e-5}),
        (
            PAIRED.copy().update([0, 0, 0], [0, 1, 0], [0, 0, 0]),
            {"recall_a": None, "recall_difference": None, "recall_pvalue": None}
            | {"precision_a": 0.0, "precision_b": None, "precision_difference": None}
            | {"matthews_corrcoef_a": None, "difference": -1 / 3},
        ),
    ],
)
def test_a_value_that_is_a_convention_is_undefined_where_values_are_compared(
    acc: Any, expected: dict[str, float | None]
) -> None:
    result = acc.compute()
    found = {name: read_or_nan(result, name, 0.95).defined.value for name in expected}
    assert {name: None if math.isnan(one) else one for name, one in found.items()} == (
        pytest.approx(expected)
    )


def test_slices_where_a_value_is_a_convention_are_undefined() -> None:
    rows = {"y_true": [1, 1, 0, 0], "y_pred": [1, 0, 0, 1], "of": ["a", "a", "b", "b"]}
    slices = se.Sliced(TWO, "of").update(rows).compute()
    assert slices.worst("recall", 2) == [("a", 0.5)]
    assert slices.gap("recall") == 0.0
    assert slices["b"].recall == 0.0


def test_a_value_that_is_a_convention_is_in_no_picture_over_time_or_of_slices() -> None:
    rows = {"y_true": [1, 1, 0], "y_pred": [1, 0, 1], "time": [0, 1, 2]}
    panes = se.Windowed(TWO, pane=1).update(rows).over_time()
    values = [reading.value for reading in panes.line("recall", 0.0).readings]
    assert values[:2] == [1.0, 0.0]
    assert math.isnan(values[2])
    assert panes.panes[2].read("recall").value == 0.0
    slices = se.Sliced(TWO, "time").update(rows).compute()
    request = PlotRequest(None, "recall", level=0.0)
    assert math.isnan(slices._dots(request).readings["2"].value)


def test_a_model_without_a_value_is_neither_best_nor_worse() -> None:
    models = se.Paired.of_models(["a", "b", "c"], measures=["precision", "log_loss"])
    rows = {"a": [0.25, 0.75] * 10, "b": [0.25] * 20, "c": [0.75, 0.25] * 10}  # b finds nothing
    models.update({"y_true": [0, 1] * 10} | rows)
    compared = models.compute().comparison()["precision"]
    assert (compared.best, compared.indistinguishable) == ("a", ())
    assert [math.isnan(one) for one in compared.values.values()] == [False, True, False]
    assert compared._verdicts() == ["best", "undefined", "worse"]
    known = {(one.a, one.b) for one in compared.differences if not math.isnan(one.difference)}
    assert known == {("a", "c")}
    result = models.compute()["a vs b"]
    assert result.value("precision_b") == 0.0
    assert math.isnan(result.value("precision_difference"))
    assert math.isnan(result.value("precision_pvalue"))


def test_rankings_without_anything_to_find_are_not_compared() -> None:
    counted = se.RankingAccumulator(["map"], per_query=True)
    found = [
        counted.copy().update([[0, 0], labels], [[2, 1], [1, 2]], query=[1, 2]).compute()
        for labels in ([0, 0], [0, 1])
    ]
    none, some = found
    assert math.isnan(se.compare(none, none)["map"].difference)
    assert math.isnan(se.compare(none, some)["map"].difference)
    assert se.compare(some, some)["map"].n == 2
    comparison = se.compare(none, none, none)
    assert comparison["map"].best is None


def test_a_value_that_is_a_convention_is_a_gap_in_pictures() -> None:
    result = PAIRED.copy().update([0, 0, 0], [0, 1, 0], [0, 0, 0]).compute()
    readings = result.PICTURES["metrics"](result, PlotRequest(None)).readings
    drawn = [name for name, one in readings.items() if one.is_defined]
    assert drawn == ["Difference, A minus B"]
    nothing = se.RankingAccumulator(["map"]).update([[0, 0]], [[2, 1]])
    result = nothing.compute()
    with pytest.raises(se.InvalidInputError, match="needs a query"):
        result.plot()


def test_intervals_of_clusters_take_no_convention_for_a_number() -> None:
    acc = se.Clustered(se.ConfusionAccumulator(), "user")
    for user in range(6):  # the positives are of one user
        labels = [1, 1, 0] if user == 3 else [0, 0]
        guesses = [1, 0, 0] if user == 3 else [0, 0]
        acc.update({"y_true": labels, "y_pred": guesses, "user": [user] * len(labels)})
    result = acc.compute()
    assert result.recall == 0.5
    assert result.read("recall").sampling == (0.0, 1.0)
    assert math.isnan(result.stderr("recall"))
    assert [side[1] for side in result.confidence("recall", average=None)] == [0.0, 1.0]
    nothing = acc.reset().update({"y_true": [0, 0], "y_pred": [0, 0], "user": [1, 2]}).compute()
    assert (nothing.recall, nothing.read("recall").sampling) == (0.0, (0.0, 1.0))
    assert math.isnan(nothing.stderr("recall"))


def test_a_table_of_latex_says_what_a_dash_is() -> None:
    result = ONE_CLASS.compute()
    *_, said, _ = result.to_latex(per="class").splitlines()
    assert said == rf"\multicolumn{{5}}{{l}}{{\footnotesize {ABOUT_UNDEFINED}}} \\"
    assert result.table("class")["recall"] == pytest.approx([2 / 3, 0.0])
