"""The options of an accumulator, as it tells them."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from offenders import each

import streameval as se
from streameval.configs.confusion import MEASURES
from streameval.configs.curve import CURVE_MEASURES

ACCUMULATORS = [
    se.ConfusionAccumulator(["ham", "spam"], threshold=0.25),
    se.ConfusionAccumulator(3, top_k=2, ignore_label=-1),
    se.PRCurveSketch(None, classes=3, multilabel=True),
    se.GroupedAUC(group_weight="uniform"),
    se.CalibrationAccumulator(7, classes=["a", "b"]),
    se.RegressionAccumulator(),
    se.RankingAccumulator(["map", "p@5"], gain={1: 3}, empty={"map": "skip"}),
]
each = each("accumulator", ACCUMULATORS)


def collection() -> se.Collection:
    inner = se.Collection({"curve": se.PRCurveSketch(8)}, columns={"curve": {"y_score": "p"}})
    return se.Collection({"fit": se.RegressionAccumulator(), "in": inner})


@each
def test_options_make_an_equal_accumulator(accumulator: Any) -> None:
    assert type(accumulator)(**accumulator.options) == accumulator


@each
def test_options_are_those_that_an_accumulator_takes(accumulator: Any) -> None:
    taken = inspect.signature(type(accumulator)).parameters
    assert accumulator.options.keys() == taken.keys()


def test_options_are_told_in_one_form() -> None:
    options = se.ConfusionAccumulator(["ham", "spam"]).options
    assert (options["classes"], options["pos_label"]) == (("ham", "spam"), "spam")


def test_options_that_only_equal_checked_ones_are_checked() -> None:
    assert se.ConfusionAccumulator(top_k=1).options["top_k"] == 1
    with pytest.raises(se.InvalidInputError, match="`top_k` must be"):
        se.ConfusionAccumulator(top_k=True)
    assert se.PreferencesAccumulator(("1", "2")).options["models"] == ("1", "2")
    assert se.PreferencesAccumulator((1, 2)).options["models"] == (1, 2)


def test_options_cannot_be_changed() -> None:
    accumulator = se.PRCurveSketch(8)
    accumulator.options["budget"] = 9
    assert accumulator.options["budget"] == 8


def test_options_of_a_collection_are_those_of_its_members() -> None:
    curve = se.PRCurveSketch(8).options
    fit = {"measures": (), "budget": 65_536, "intervals": False, "outputs": None}
    assert collection().options == {"fit": fit, "in": {"curve": curve}}


def test_columns_of_a_collection_are_those_that_members_read_in_place_of_others() -> None:
    assert collection().columns == {"in/curve": {"y_score": "p"}}


def test_columns_of_a_collection_are_none_where_all_have_their_names() -> None:
    assert se.Collection({"fit": se.RegressionAccumulator()}).columns == {}


def test_metrics_ask_for_what_they_need_and_no_other_metric_does() -> None:
    labels = se.ConfusionAccumulator(3, multilabel=True, measures="samples")
    best = se.ConfusionAccumulator(3, top_k=2, measures="top_k")
    pairs = se.PRCurveSketch(classes=3, measures="one_vs_one")
    for whole, known in ((labels, MEASURES), (best, MEASURES), (pairs, CURVE_MEASURES)):
        (kept,) = whole.options["measures"]
        for name in known[kept]:
            asked = type(whole)(**whole.options | {"measures": [name]})
            assert asked == whole
            assert asked.compute().read(name) is not None
    table = labels.compute().TABLE
    averaged = {name for name, row in table.items() if "samples" in row.averages}
    assert {*MEASURES["samples"]} == {
        f"{name}[samples]" for name in averaged - {*MEASURES["top_k"]}
    }
