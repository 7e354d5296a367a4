"""Display names of classes: how they are given, kept, and shown."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from matplotlib.figure import Figure
from offenders import each
from small_states import parse

import streameval as se

NAMES = {0: "neg", 1: "pos"}
ANIMALS = {0: "cat", 1: "dog", 2: "owl"}
TRUTH = [0, 1, 2, 2]
SCORES = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.3, 0.5], [0.1, 0.6, 0.3]]


def confusion() -> se.ConfusionAccumulator:
    return se.ConfusionAccumulator(ANIMALS).update(TRUTH, SCORES)


def curves() -> se.PRCurveSketch:
    return se.PRCurveSketch(classes=ANIMALS).update(TRUTH, SCORES)


def calibration() -> se.CalibrationAccumulator:
    return se.CalibrationAccumulator(classes=ANIMALS).update(TRUTH, SCORES)


MADE: dict[str, Any] = {"confusion": confusion, "curves": curves, "calibration": calibration}
every = each("name", MADE)


@each(
    "given",
    [
        {0: "neg", 1: "pos"},
        {1: "pos", 0: "neg"},
        {"0": "neg", "1": "pos"},  # as JSON has it
        {np.int64(0): np.str_("neg"), 1.0: "pos"},
        ((0, "neg"), (1, "pos")),
        {0: "neg", 1: "pos"}.items(),
    ],
)
def test_names_of_labels_are_taken_from_a_mapping_or_pairs(given: Any) -> None:
    accumulator = se.ConfusionAccumulator(given)
    assert accumulator.to_bytes() == se.ConfusionAccumulator(NAMES).to_bytes()
    result = accumulator.compute()
    assert (result.labels, result.class_names) == ((0, 1), ("neg", "pos"))


def test_an_id2label_of_hugging_face_is_taken_as_it_is() -> None:
    id2label = {k: f"LABEL_{k}" for k in range(12)}
    as_json = json.loads(json.dumps({str(k): v for k, v in id2label.items()}, sort_keys=True))
    assert list(as_json)[:3] == ["0", "1", "10"]
    assert se.ConfusionAccumulator(as_json) == se.ConfusionAccumulator(id2label)
    assert se.ConfusionAccumulator(id2label).compute().labels == tuple(range(12))


def test_listed_numbers_with_names_are_in_ascending_order() -> None:
    result = se.ConfusionAccumulator({9: "nine", -3: "minus three"}).compute()
    assert (result.labels, result.class_names) == ((-3, 9), ("minus three", "nine"))


def test_texts_with_names_are_in_the_order_given() -> None:
    accumulator = se.ConfusionAccumulator({"s": "Spam", "h": "Ham"})
    result = accumulator.update(["s", "h"], ["s", "s"]).compute()
    assert (result.labels, result.class_names) == (("s", "h"), ("Spam", "Ham"))
    assert se.from_bytes(accumulator.to_bytes()) == accumulator


def test_names_that_are_the_labels_leave_the_configuration_as_it_is() -> None:
    assert se.ConfusionAccumulator({0: "0", 1: "1"}) == se.ConfusionAccumulator(2)
    assert se.ConfusionAccumulator({"a": "a", "b": "b"}) == se.ConfusionAccumulator(["a", "b"])


@each(
    ("classes", "message"),
    [
        ({}, "`classes` must be at least 2, got 0."),
        ({0: "a"}, "`classes` must be at least 2, got 1."),
        ({0: "a", 1: "a"}, "`classes` must be distinct, got 'a' twice."),
        ({0: "a", 1: 7}, "`classes` must map labels to names, which are strings, got 7."),
        ({0: "a", "x": "b"}, "`classes` must be all numbers or all strings, got both."),
        ({0.5: "a", 1: "b"}, "`classes` must be an integer or a string, got 0.5."),
        ([(0, "a"), (0, "b")], "`classes` must be distinct, got 0 twice."),
        ({0: "a", 1: "\ud800"}, "`classes` must be Unicode text, got '\\ud800'."),
    ],
)
def test_names_that_say_nothing_clear_are_refused(classes: Any, message: str) -> None:
    with pytest.raises(se.InvalidInputError) as caught:
        se.ConfusionAccumulator(classes)
    assert str(caught.value) == message


def test_names_are_as_long_together_as_labels_may_be() -> None:
    with pytest.raises(se.InvalidInputError, match="at most 1048576 characters together"):
        se.ConfusionAccumulator({0: "a", 1: "b" * 2**20})


@every
def test_names_count_what_labels_count(name: str) -> None:
    named = MADE[name]()
    plain = type(named)(**named.options | {"classes": 3}).update(TRUTH, SCORES)
    assert parse(named.to_bytes()).payload == parse(plain.to_bytes()).payload
    assert parse(named.to_bytes()).settings["state"] == parse(plain.to_bytes()).settings["state"]


@every
def test_names_are_written_when_they_are_given(name: str) -> None:
    data = MADE[name]().to_bytes()
    written = [[0, "cat"], [1, "dog"], [2, "owl"]]
    assert parse(data).settings["config"]["classes"] == written
    assert se.from_bytes(data).to_bytes() == data
    assert se.from_bytes(data).compute().class_names == ("cat", "dog", "owl")


@every
def test_names_survive_copies(name: str) -> None:
    accumulator = MADE[name]()
    for copied in (pickle.loads(pickle.dumps(accumulator)), copy.deepcopy(accumulator)):
        assert copied == accumulator
    options = copy.deepcopy(accumulator.options)
    assert options["classes"] == pickle.loads(pickle.dumps(options["classes"]))
    assert type(accumulator)(**options).options == options


@every
@each("others", [3, {0: "cat", 1: "dog", 2: "bat"}])
def test_differing_names_do_not_merge(name: str, others: Any) -> None:
    accumulator = MADE[name]()
    other = type(accumulator)(**accumulator.options | {"classes": others})
    with pytest.raises(se.IncompatibleStateError, match=r"`classes` differs \(\{0: 'cat', 1: "):
        accumulator.merge(other)


def test_repr_shows_the_names() -> None:
    assert repr(se.ConfusionAccumulator(NAMES)) == (
        "ConfusionAccumulator(classes={0: 'neg', 1: 'pos'}, n=0)"
    )


@each("positive", [0, "neg"])
def test_the_positive_class_is_given_by_label_or_name(positive: Any) -> None:
    accumulator = se.ConfusionAccumulator(NAMES, pos_label=positive)
    assert accumulator.options["pos_label"] == 0
    assert accumulator.compute().scope == "per-class metrics are for class neg"


def test_the_ignored_label_is_given_by_label_or_name() -> None:
    by_name = se.ConfusionAccumulator(ANIMALS, ignore_label="owl")
    assert by_name == se.ConfusionAccumulator(ANIMALS, ignore_label=2)


def test_entries_of_multilabel_are_ignored_by_value_alone() -> None:
    with pytest.raises(se.InvalidInputError, match="`ignore_label` must be an integer"):
        se.ConfusionAccumulator(ANIMALS, multilabel=True, ignore_label="owl")


def test_multilabel_classes_have_names() -> None:
    accumulator = se.ConfusionAccumulator(ANIMALS, multilabel=True)
    result = accumulator.update([[1, 0, 1]], [[1, 1, 0]]).compute()
    assert result["cat"].recall == 1.0
    assert [line.split()[0] for line in result.report().splitlines()[1:4]] == [*ANIMALS.values()]


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for axes in figure.axes for text in axes.get_xticklabels()] + [
        text.get_text()
        for axes in figure.axes
        if axes.get_legend()
        for text in axes.get_legend().get_texts()
    ]


@every
def test_text_shows_the_names(name: str) -> None:
    report = MADE[name]().compute().report()
    assert all(animal in report for animal in ANIMALS.values())


@every
def test_notebooks_show_the_names(name: str) -> None:
    html = MADE[name]().compute()._repr_html_()
    assert all(animal in html for animal in ANIMALS.values())


@every
def test_json_shows_the_names_and_has_the_labels_beside_them(name: str) -> None:
    entries = MADE[name]().compute().entries(0.95)
    assert entries["classes"] == ["cat", "dog", "owl"]
    assert entries["labels"] == [0, 1, 2]
    assert list(entries["per_class"]) == ["cat", "dog", "owl"]


@every
def test_json_of_classes_without_names_has_the_labels_once(name: str) -> None:
    accumulator = MADE[name]()
    plain = type(accumulator)(**accumulator.options | {"classes": 3})
    assert "labels" not in plain.compute().entries(0.95)
    assert plain.compute().entries(0.95)["classes"] == [0, 1, 2]


@every
def test_pages_show_the_names(name: str) -> None:
    described = MADE[name]().compute().described(0.95)
    assert described.classes == {"cat", "dog", "owl"}
    assert list(described.by_class.rows) == ["cat", "dog", "owl"]


@each("name", ["confusion", "curves"])
def test_plots_show_the_names(name: str) -> None:
    figure = MADE[name]().compute().plot().figure
    shown = " ".join(texts(figure))
    assert all(animal in shown for animal in ANIMALS.values())


def test_explain_shows_the_names() -> None:
    assert "class owl\n" in curves().compute().explain()


@each("of", ["dog", "1"])
@each(("name", "metric"), [("confusion", "recall"), ("curves", "roc_auc")])
def test_a_metric_is_read_by_name_or_label(name: str, metric: str, of: str) -> None:
    result = MADE[name]().compute()
    assert result.read(f"{metric}[{of}]").value == 1.0


@each(("name", "metric"), [("confusion", "recall"), ("curves", "roc_auc")])
def test_a_name_that_no_class_has_is_suggested(name: str, metric: str) -> None:
    with pytest.raises(se.InvalidInputError, match=r"no class 'dogg': did you mean 'dog'\?"):
        MADE[name]().compute().read(f"{metric}[dogg]")


def test_a_name_comes_before_the_label_of_the_same_text() -> None:
    stars = se.ConfusionAccumulator({k: str(k + 1) for k in range(5)}).update([1, 1], [1, 0])
    result = stars.compute()
    assert result.read("recall[2]").value == result["2"].recall == result[1].recall == 0.5


def test_a_curve_is_found_by_label_and_by_name() -> None:
    result = curves().compute()
    assert result["owl"] is result[2]
    assert "owl" in result
    assert list(result) == [0, 1, 2]
    with pytest.raises(KeyError):
        result["bat"]


FRAMES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "arrow": pa.table,
    "reader": lambda columns: pa.table(columns).to_reader(),
}
OF_SCORES: dict[str, Callable[..., Any]] = {
    "confusion": se.ConfusionAccumulator,
    "curve": lambda classes: se.PRCurveSketch(classes=classes),
    "calibration": lambda classes: se.CalibrationAccumulator(classes=classes),
}


@pytest.mark.slow
@each("make", FRAMES.values())
@each("count", OF_SCORES.values())
@each("classes", [["a", "b", "c"], {0: "a", 1: "b", 2: "c"}, 3])
def test_columns_of_scores_named_as_the_classes_are_put_in_their_order(
    classes: Any, count: Callable[..., Any], make: Callable[..., Any]
) -> None:
    scores = {"a": [0.75, 0.0], "b": [0.25, 0.5], "c": [0.0, 0.5]}
    truth = ["a", "c"] if isinstance(classes, list) else [0, 2]
    expected = count(classes).update(truth, np.column_stack(list(scores.values())))
    for order in permutations("abc"):
        named = {name if classes != 3 else str("abc".index(name)): scores[name] for name in order}
        assert count(classes).update(truth, make(named)) == expected
    others = make({f"p_{name}": column for name, column in scores.items()})
    assert count(classes).update(truth, others) == expected


def test_columns_of_labels_and_of_two_models_are_put_in_the_order_of_the_classes() -> None:
    truth = pd.DataFrame({"b": [1, 0], "a": [0, 1]})
    scores = pd.DataFrame({"a": [0.25, 0.75], "b": [0.75, 0.25]})
    held = se.ConfusionAccumulator(["a", "b"], multilabel=True).update(truth, scores)
    assert held.compute().accuracy == 1.0
    best = pd.DataFrame({2: [0.75, 0.25], 0: [0.25, 0.0], 1: [0.0, 0.75]})
    pair = se.Paired(3).update([2, 1], best, best[[0, 1, 2]].to_numpy()).compute()
    assert (pair.accuracy_a, pair.accuracy_b) == (1.0, 1.0)


def test_a_class_is_read_as_it_is_looked_up_when_names_are_labels_of_other_classes() -> None:
    swapped = se.ConfusionAccumulator({"a": "b", "b": "a"})
    result = swapped.update(["a", "a", "b"], ["a", "b", "b"]).compute()
    assert (result["a"].recall, result["b"].recall) == (1.0, 0.5)
    assert (result.value("recall[a]"), result.value("recall[b]")) == (1.0, 0.5)
    assert {label: part.recall for label, part in result.items()} == {"a": 0.5, "b": 1.0}


def test_a_curve_is_read_as_it_is_looked_up_when_names_are_labels_of_other_classes() -> None:
    swapped = se.PRCurveSketch(classes={"a": "b", "b": "a", "c": "c"})
    result = swapped.update(["a", "a", "b"], [[0.5, 0.3, 0.2], [0.6, 0.4, 0], [0.5, 0.5, 0]])
    curves = result.compute()
    assert (curves["a"].n_pos, curves["b"].n_pos) == (1, 2)
    assert curves["a"] == curves.asked("roc_auc[a]").result
    assert {label: curve.n_pos for label, curve in curves.items()} == {"a": 2, "b": 1, "c": 0}
    assert [curve.n_pos for curve in curves.values()] == [2, 1, 0]
    assert list(curves) == ["a", "b", "c"]
    with pytest.raises(KeyError, match="no class 'x': choose from b, a, c"):
        curves["x"]
