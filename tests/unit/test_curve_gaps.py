"""Curves of rows whose truth is partly unknown: `ignore_label`."""

from __future__ import annotations

import numpy as np
import pytest
from offenders import each

import streameval as se

NAN = float("nan")
TRUTH = np.array([[1, 0, -1], [0, -1, 1], [-1, 1, 0], [1, 1, -1], [-1, -1, -1], [0, 0, 1]])
SCORES = np.array(
    [
        [0.9, 0.2, 0.5],
        [0.3, 0.7, 0.6],
        [0.8, 0.4, 0.1],
        [0.6, 0.9, 0.2],
        [0.1, 0.2, 0.3],
        [0.7, 0.5, 0.4],
    ]
)


def multilabel(budget: int | None = 100, **options: object) -> se.PRCurveSketch:
    return se.PRCurveSketch(budget, classes=3, multilabel=True, ignore_label=-1, **options)


def alone(column: int, weights: np.ndarray | None = None) -> se.Curve:
    """Make the curve of one label from the rows in which it is known."""
    known = TRUTH[:, column] >= 0
    weight = None if weights is None else weights[known]
    sketch = se.PRCurveSketch(100)
    return sketch.update(
        TRUTH[known, column], SCORES[known, column], sample_weight=weight
    ).compute()


@each("weights", [None, np.arange(1, 7), np.arange(1, 7) / 4])
def test_ignored_entries_leave_the_curves_of_their_labels(weights: np.ndarray | None) -> None:
    found = multilabel().update(TRUTH, SCORES, sample_weight=weights).compute()
    for column in range(3):
        expected = alone(column, weights)
        assert found[column].as_dict() == expected.as_dict()


def test_an_example_without_a_known_label_is_no_example() -> None:
    assert multilabel().update(TRUTH, SCORES).n == 5


def test_ignored_entries_leave_the_pooled_curve() -> None:
    known = TRUTH >= 0
    expected = se.PRCurveSketch().update(TRUTH[known], SCORES[known]).compute()
    assert multilabel().update(TRUTH, SCORES).compute().micro.roc_auc == expected.roc_auc


@each("budget", [1, 2, 100, None])
@each("weights", [None, np.arange(6) / 4])
def test_gaps_leave_the_bytes_the_same_however_rows_are_cut(
    budget: int | None, weights: np.ndarray | None
) -> None:
    whole = multilabel(budget).update(TRUTH, SCORES, sample_weight=weights)
    parts = []
    for row in range(6):
        part = slice(row, row + 1)
        weight = None if weights is None else weights[part]
        one = multilabel(budget).update(TRUTH[part], SCORES[part], sample_weight=weight)
        parts.append(se.from_bytes(one.to_bytes()))
    assert se.merge(parts).to_bytes() == whole.to_bytes()


def test_few_decoded_rows_with_gaps_are_merged_as_rows() -> None:
    decoded = se.from_bytes(multilabel().update(TRUTH[:3], SCORES[:3]).to_bytes())
    merged = multilabel().update(TRUTH[3:], SCORES[3:]).merge(decoded)
    assert merged == multilabel().update(TRUTH, SCORES)
    assert merged.n == 5


def test_slices_count_the_known_entries_of_their_rows() -> None:
    sliced = se.Sliced(multilabel(), "part")
    parts = np.array(["a", "b"] * 3)
    sliced.update({"y_true": TRUTH, "y_score": SCORES, "part": parts})
    for part in ("a", "b"):
        rows = parts == part
        assert sliced[part] == multilabel().update(TRUTH[rows], SCORES[rows])


@each("budget", [4, 100])
@each("has_weights", [False, True])
def test_panes_counted_at_once_hold_the_known_entries_of_their_rows(
    budget: int, has_weights: bool
) -> None:
    rng = np.random.default_rng(0)
    rows = {"y_true": rng.integers(-1, 2, (400, 3)), "y_score": rng.random((400, 3))}
    rows["y_true"][:, 0] = rng.integers(0, 2, 400)  # every row has a label that is known
    if has_weights:
        rows["sample_weight"] = rng.integers(1, 4, 400)
    times = rng.integers(0, 50, 400)
    windowed = se.Windowed(multilabel(budget), pane=10).update({"time": times} | rows)
    panes = list(windowed.panes())
    assert len(panes) == 5
    for start, _, pane in panes:
        expected = multilabel(budget).update(
            **{name: column[times // 10 == start // 10] for name, column in rows.items()}
        )
        assert pane.to_bytes() == expected.to_bytes()


def test_a_column_that_is_never_known_has_no_curve() -> None:
    sketch = multilabel(1).update([[1, 0, -1]] * 2, [[0.5, 0.25, 0.75]] * 2, sample_weight=[1, 0.5])
    found = sketch.update([[0, 1, -1]], [[0.25, 0.5, 0.75]]).compute()
    assert found[2].n == 0
    assert np.isnan(found[2].roc_auc)
    assert found[0].n == 2.5


def test_ignored_rows_of_one_curve_do_not_count() -> None:
    sketch = se.PRCurveSketch(ignore_label=-100).update([1, -100, 0, 1], [0.9, 0.8, 0.7, 0.2])
    assert sketch.n == 3
    assert sketch == se.PRCurveSketch(ignore_label=-100).update([1, 0, 1], [0.9, 0.7, 0.2])


def test_an_ignored_row_is_not_counted_as_skipped() -> None:
    sketch = se.PRCurveSketch(nan="skip", ignore_label=-1)
    curve = sketch.update([1, -1, 0, 0], [0.5, NAN, NAN, 0.25]).compute()
    assert (curve.n, curve.n_skipped) == (2, 1)


def test_a_missing_score_of_an_ignored_entry_skips_nothing() -> None:
    sketch = multilabel(nan="skip")
    curves = sketch.update([[1, -1, 0], [0, 1, 1]], [[0.5, NAN, 0.5], [0.5, NAN, 0.5]]).compute()
    assert (curves.n, curves[0].n_skipped) == (1, 1)


def test_ignored_rows_do_not_name_the_negative_label() -> None:
    sketch = se.PRCurveSketch(pos_label="yes", ignore_label="?")
    sketch.update(["?", "yes", "?", "no"], [0.1, 0.9, 0.2, 0.3])
    assert sketch.n == 2
    assert sketch == se.PRCurveSketch(pos_label="yes", ignore_label="?").update(
        ["no", "yes"], [0.3, 0.9]
    )


@each(("ignored", "label", "classes"), [(-1, -1, 3), ("pad", 1, {0: "a", 1: "pad", 2: "b"})])
def test_ignored_rows_of_classes_do_not_count_by_label_or_name(
    ignored: object, label: int, classes: object
) -> None:
    sketch = se.PRCurveSketch(classes=classes, ignore_label=ignored)
    assert sketch.update([0, label, 2], [[0.5, 0.25, 0.25]] * 3).n == 2


@each(
    ("options", "message"),
    [
        ({"ignore_label": "?"}, "`ignore_label` must be an integer as the labels are, got '?'."),
        (
            {"ignore_label": 0, "pos_label": "yes"},
            "`ignore_label` must be a string as the labels are, got 0.",
        ),
        ({"ignore_label": 1}, "`ignore_label` must not be the positive label, got 1."),
        (
            {"ignore_label": "?", "classes": 3},
            "`ignore_label` must be an integer as the labels are, got '?'.",
        ),
    ],
)
def test_ignore_label_is_refused_when_no_truth_can_be_it(options: dict, message: str) -> None:
    with pytest.raises(se.InvalidInputError) as error:
        se.PRCurveSketch(**options)
    assert str(error.value) == message


def test_states_without_ignored_labels_keep_their_bytes() -> None:
    data = se.PRCurveSketch(classes=2, multilabel=True).update([[0, 1]], [[0.5, 0.25]]).to_bytes()
    assert b"ignore_label" not in data
