"""The rows of many groups, read once: each group counts what it would count alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from offenders import each

import streameval as se

ROWS = 60
RANDOM = np.random.default_rng(0)
TRUTH, PREDICTION = RANDOM.integers(0, 3, (2, ROWS))
BINARY, DECIDED = RANDOM.integers(0, 2, (2, ROWS))
MARKS, FOUND = RANDOM.integers(0, 2, (2, ROWS, 3))
SCORES = RANDOM.random(ROWS)
OF_CLASSES = RANDOM.dirichlet([1, 1, 1], ROWS)
TIED = np.full((ROWS, 3), 1 / 3)
TEXTS = np.array(["cat", "dog", "owl"], dtype=object)
NUMBERS = RANDOM.normal(size=ROWS) * 10.0 ** RANDOM.integers(-150, 100, ROWS)
SKIPPED = np.where(RANDOM.random(ROWS) < 0.2, np.nan, SCORES)

Columns = dict[str, Any]
CASES: dict[str, tuple[Any, Columns]] = {
    "ids": (se.ConfusionAccumulator(3), {"y_true": TRUTH, "y_pred": PREDICTION}),
    "ids in a column": (
        se.ConfusionAccumulator(3),
        {"y_true": TRUTH[:, None], "y_pred": PREDICTION[:, None]},
    ),
    "floats": (
        se.ConfusionAccumulator(3, from_scores=False),
        {"y_true": TRUTH * 1.0, "y_pred": PREDICTION * 1.0},
    ),
    "names": (
        se.ConfusionAccumulator(["cat", "dog", "owl"]),
        {"y_true": TEXTS[TRUTH], "y_pred": TEXTS[PREDICTION]},
    ),
    "Arrow names": (
        se.ConfusionAccumulator(["cat", "dog", "owl"]),
        {"y_true": pa.array(TEXTS[TRUTH]), "y_pred": pa.array(TEXTS[PREDICTION])},
    ),
    "observed names": (
        se.ConfusionAccumulator("auto"),
        {"y_true": TEXTS[TRUTH], "y_pred": TEXTS[PREDICTION]},
    ),
    "scores of classes": (se.ConfusionAccumulator(3), {"y_true": TRUTH, "y_pred": OF_CLASSES}),
    "ties": (se.ConfusionAccumulator(3), {"y_true": TRUTH, "y_pred": TIED}),
    "top 2": (se.ConfusionAccumulator(3, top_k=2), {"y_true": TRUTH, "y_pred": OF_CLASSES}),
    "ignored": (
        se.ConfusionAccumulator(3, ignore_label=2),
        {"y_true": TRUTH, "y_pred": PREDICTION},
    ),
    "multilabel": (
        se.ConfusionAccumulator(3, multilabel=True),
        {"y_true": MARKS, "y_pred": FOUND},
    ),
    "multilabel floats": (
        se.ConfusionAccumulator(3, multilabel=True, from_scores=False),
        {"y_true": MARKS * 1.0, "y_pred": FOUND * 1.0},
    ),
    "curve": (se.PRCurveSketch(8), {"y_true": BINARY, "y_score": SCORES}),
    "curve of what is known": (
        se.PRCurveSketch(8, nan="skip"),
        {"y_true": BINARY, "y_score": SKIPPED},
    ),
    "curve of a name": (
        se.PRCurveSketch(8, pos_label="dog"),
        {"y_true": TEXTS[BINARY], "y_score": SCORES},
    ),
    "curves": (se.PRCurveSketch(8, classes=3), {"y_true": TRUTH, "y_score": OF_CLASSES}),
    "probabilities": (se.CalibrationAccumulator(bins=5), {"y_true": BINARY, "y_prob": SCORES}),
    "probabilities of classes": (
        se.CalibrationAccumulator(classes=3),
        {"y_true": TRUTH, "y_prob": OF_CLASSES},
    ),
    "probabilities of some": (
        se.CalibrationAccumulator(ignore_label=2),
        {"y_true": np.minimum(TRUTH, 2), "y_prob": SCORES},
    ),
    "numbers": (se.RegressionAccumulator(), {"y_true": SCORES, "y_pred": NUMBERS}),
    "numbers of measures": (
        se.RegressionAccumulator(measures=["max_error"]),
        {"y_true": SCORES, "y_pred": NUMBERS},
    ),
    "outputs": (se.RegressionAccumulator(outputs=3), {"y_true": OF_CLASSES, "y_pred": MARKS}),
    "paired": (
        se.Paired(),
        {"y_true": BINARY, "y_pred_a": DECIDED, "y_pred_b": SCORES},
    ),
    "both": (
        se.Collection(
            {"cm": se.ConfusionAccumulator(), "curve": se.PRCurveSketch(8)},
            columns={"curve": {"y_score": "y_pred"}},
        ),
        {"y_true": BINARY, "y_pred": SCORES},
    ),
}
WEIGHTS: dict[str, Columns] = {
    "no weights": {},
    "whole": {"sample_weight": RANDOM.integers(1, 4, ROWS)},
    "some zero": {"sample_weight": RANDOM.integers(0, 2, ROWS)},
    "fractions": {"sample_weight": RANDOM.integers(1, 8, ROWS) / 4},
}
NAMES = np.array(["DE", "FR", "IT"], dtype=object)[RANDOM.integers(0, 3, ROWS)]
TIMES = RANDOM.integers(0, 6, ROWS)


def taken(columns: Columns, rows: np.ndarray) -> Columns:
    return {
        name: part.take(rows) if isinstance(part, pa.Array) else part[rows]
        for name, part in columns.items()
    }


@pytest.mark.slow
@each("weights", WEIGHTS)
@each("name", CASES)
def test_each_group_counts_what_it_would_count_alone(name: str, weights: str) -> None:
    accumulator, columns = CASES[name]
    columns = columns | WEIGHTS[weights]
    split = {"c": NAMES, "time": TIMES}
    sliced = se.Sliced(accumulator, "c")
    windowed = se.Windowed(sliced, pane=1)  # whose older panes are counted in columns
    for rows in np.array_split(np.arange(ROWS), 2):
        windowed.update(taken(columns | split, rows))
        sliced.update(taken(columns | split, rows))
        assert windowed.n_rows() > 0  # counts what is pending
    for value in ("DE", "FR", "IT"):
        alone = accumulator.copy().update(taken(columns, np.flatnonzero(value == NAMES)))
        assert sliced[value].to_bytes() == alone.to_bytes()
        assert windowed.total()[value].to_bytes() == alone.to_bytes()
    for start, _, pane in windowed.panes():
        inside = np.flatnonzero((start == TIMES) & (NAMES == "DE"))
        alone = accumulator.copy().update(taken(columns, inside))
        part = pane["DE"] if "DE" in pane else accumulator  # noqa: SIM401 - has no get
        assert part.to_bytes() == alone.to_bytes()


SUMS: dict[str, tuple[Any, Columns]] = {
    name: CASES[name]
    for name in ("probabilities", "probabilities of classes", "probabilities of some", "numbers")
}


@each("times", [1, 40])  # each of three groups has up to 24, or more than 512 rows
@each("name", SUMS)
def test_sums_of_groups_are_those_of_each_alone(name: str, times: int) -> None:
    accumulator, columns = SUMS[name]
    rows = np.tile(np.arange(ROWS), times)
    many = taken(columns, rows)
    sliced = se.Sliced(accumulator, "c").update(many | {"c": NAMES[rows]})
    assert [*sliced] == ["DE", "FR", "IT"]
    for value, one in zip(sliced, map(sliced.__getitem__, sliced), strict=True):
        alone = accumulator.copy().update(taken(many, np.flatnonzero(NAMES[rows] == value)))
        assert one.to_bytes() == alone.to_bytes()
