"""Accumulators and rows for those that split rows into groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from laws import collection_cases

import streameval as se

SKETCH = {"curve": {"y_score": "p"}}
MANY = {"cm": se.ConfusionAccumulator(), "curve": se.PRCurveSketch(3)}

SINGLE: dict[str, Any] = {
    "counts": se.ConfusionAccumulator(),
    "observed labels": se.ConfusionAccumulator("auto"),
    "fit": se.RegressionAccumulator(),
    "many": se.Collection(MANY, columns=SKETCH),
    "calibration": se.Collection(
        {"cal": se.CalibrationAccumulator(4), "gauc": se.GroupedAUC(6)},
        columns={name: collection_cases.SCORES[name] for name in ("cal", "gauc")},
    ),
}
"""What groups are counted with, of those that read the rows below."""

MIXED = se.Collection(
    {
        "many": se.Clustered(se.Collection(MANY, columns=SKETCH), by="g", groups=10),
        "fit": se.RegressionAccumulator(),
        "cm": se.Clustered(se.ConfusionAccumulator(), by="id", groups=11),
    },
    columns={"cm": {"id": "g"}},
)
"""Members in clusters beside one without, for all but clusters."""

CITIES = np.array(["Bonn", "", "日本", "Rom", "a=b/c", "7"], dtype=object)
VALUES: dict[str, np.ndarray] = {
    "texts": CITIES,
    "numbers": np.array([7, -3, 0, 2**62, -(2**63), 12]),
    "missing texts": np.array(["Bonn", None, "Rom", "7", None, "x"], dtype=object),
    "missing numbers": np.array([1.0, np.nan, 3.0, -7.0, 0.0, np.nan]),
    "both": np.array(["7", 7, None, "Bonn", 0, True], dtype=object),
}


def sliced_options(draw: st.DrawFn) -> tuple[dict[str, Any], np.ndarray]:
    """Draw slices: few enough that some values have none, and named values that may not come."""
    values = VALUES[draw(st.sampled_from(sorted(VALUES)))]
    candidates = list(dict.fromkeys(None if pd.isna(v) else v for v in values.tolist()))
    named = draw(st.lists(st.sampled_from([*candidates, "never"]), max_size=2, unique=True))
    most = draw(st.integers(max(len(named), 1), 5))
    return {"column": "city", "values": named, "max_values": most}, values


def rows_of(random: np.random.Generator, size: int) -> dict[str, np.ndarray]:
    truth, prediction = random.integers(0, 2, (2, size))
    scores = random.integers(0, 9, size) / 8
    return {"y_true": truth, "y_pred": prediction, "p": scores, "g": random.integers(0, 4, size)}


def sliced_rows(
    draw: st.DrawFn, random: np.random.Generator, size: int
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    options, values = sliced_options(draw)
    options["accumulator"] = SINGLE[draw(st.sampled_from(sorted(SINGLE)))]
    rows = rows_of(random, size) | {"city": values[random.integers(0, 6, size)]}
    return within_clusters(draw, options, rows), rows


ROLLUPS: dict[str, dict[str, Any]] = {
    "all kept": {"pane": 10},
    "kept": {"pane": 10, "keep": 30},
    "rolled up": {"pane": 10, "keep": 20, "rollups": [(30, 60), (60, 90)], "offset": 7},
    "rolled up forever": {"pane": 5, "keep": 5, "rollups": ((20, None),), "offset": -3},
    "seconds": {"pane": "1m", "keep": "3m", "rollups": [("5m", "10m")], "unit": "s"},
    "moments": {"pane": "1h", "keep": "2h", "rollups": [("1d", "3d")], "offset": "1h"},
}


def windowed_rows(
    draw: st.DrawFn, random: np.random.Generator, size: int
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Draw panes of anything that they may hold, and rows of which some have no label."""
    chosen = draw(st.sampled_from(sorted(ROLLUPS)))
    options, rows = dict(ROLLUPS[chosen]), rows_of(random, size)
    options["accumulator"] = SINGLE[draw(st.sampled_from(sorted(SINGLE)))]
    options = within_clusters(draw, options, rows)
    if draw(st.booleans()):
        inner, values = sliced_options(draw)
        rows["city"] = values[random.integers(0, 6, size)]
        options["accumulator"] = se.Sliced(options["accumulator"], **inner)
    rows["time"] = times_of(chosen, random, size)
    if draw(st.booleans()):
        labels = rows["y_true"].astype(object)
        labels[random.random(size) < 0.3] = None
        rows["y_true"] = labels
    return options, rows


def clustered_rows(
    draw: st.DrawFn, random: np.random.Generator, size: int
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Draw clusters of every type of id, several of them in a group."""
    values = VALUES[draw(st.sampled_from(["texts", "numbers"]))]
    inner = SINGLE[draw(st.sampled_from(sorted(SINGLE)))]
    options = {"accumulator": inner, "by": "user", "groups": draw(st.sampled_from([10, 64]))}
    return options, rows_of(random, size) | {"user": values[random.integers(0, 6, size)]}


def within_clusters(
    draw: st.DrawFn, options: dict[str, Any], rows: dict[str, np.ndarray]
) -> dict[str, Any]:
    """Put clusters, a third of the time, between an accumulator and what splits its rows."""
    chosen = draw(st.sampled_from(["none", "members", "all"]))
    if chosen != "all":
        return options | ({} if chosen == "none" else {"accumulator": MIXED})
    size = len(rows["p"])
    rows["user"] = np.arange(size) % draw(st.sampled_from([1, 3, 20]))
    return options | {"accumulator": se.Clustered(options["accumulator"], by="user", groups=10)}


def times_of(chosen: str, random: np.random.Generator, size: int) -> np.ndarray:
    """Draw times of which most lie close together, and some far behind."""
    steps = 1000 - np.floor(random.exponential(40.0, size)).astype(np.int64)
    if chosen == "seconds":
        return steps * 4 + random.integers(0, 4, size) / 4
    if chosen == "moments":
        return np.datetime64("2026-03-29", "us") + steps * np.timedelta64(977, "s")
    return steps


def large_sliced_rows() -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """More values than have a slice."""
    _, rows = collection_cases.large_rows()
    random, size = np.random.default_rng(9), len(rows["p"])
    rows["city"] = np.array([f"v{number}" for number in range(30)], dtype=object)[
        random.integers(0, 30, size)
    ]
    many = se.Collection(MANY, columns=SKETCH)
    return {"accumulator": many, "column": "city", "values": ["v3"], "max_values": 8}, rows


def large_clustered_rows() -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Many clusters in each group."""
    options, rows = large_sliced_rows()
    rows["user"] = np.random.default_rng(11).integers(0, 3000, len(rows["p"]))
    return {"accumulator": options["accumulator"], "by": "user"}, rows


def large_windowed_rows() -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Slices in panes of three widths, and rows that come late."""
    options, rows = large_sliced_rows()
    random, size = np.random.default_rng(10), len(rows["p"])
    rows["time"] = 1000 - np.floor(random.exponential(60.0, size)).astype(np.int64)
    windowed = ROLLUPS["rolled up"] | {"accumulator": se.Sliced(**options)}
    return windowed, rows


GOOD: dict[str, Any] = {
    "y_true": [0, 1],
    "y_pred": [1, 1],
    "p": [0.25, 0.75],
    "g": [1, 1],
    "city": ["Bonn", "Rom"],
    "user": [1, 2],
    "time": [3, 7],
}


def good_batch(options: dict[str, Any]) -> dict[str, Any]:
    return GOOD


SLICED: dict[str, Any] = {"accumulator": se.Collection(MANY, columns=SKETCH), "column": "city"}
WINDOWED: dict[str, Any] = {"accumulator": se.Sliced(**SLICED), "pane": 10}

BAD_SLICED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a label that the accumulator refuses": (SLICED, GOOD | {"y_true": [0, 2]}),
    "a score that a member refuses": (SLICED, GOOD | {"p": [0.5, 1.5]}),
    "a column that is missing": (SLICED, {"y_true": [0], "y_pred": [1], "p": [0.5]}),
    "values of other length": (SLICED, GOOD | {"city": ["Bonn"]}),
    "a value that is no label": (SLICED, GOOD | {"city": [0.5, 1.0]}),
    "a value that is a list": (SLICED, GOOD | {"city": [["Bonn"], "Rom"]}),
    "a total past 2**63": (SLICED, GOOD | {"sample_weight": [2**63 - 3, 1]}),
    "a negative weight": (SLICED, GOOD | {"sample_weight": [1, -1]}),
}
CLUSTERED: dict[str, Any] = {"accumulator": SLICED["accumulator"], "by": "user"}
BAD_CLUSTERED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a label that the accumulator refuses": (CLUSTERED, GOOD | {"y_true": [0, 2]}),
    "a score that a member refuses": (CLUSTERED, GOOD | {"p": [0.5, 1.5]}),
    "a column that is missing": (CLUSTERED, {"y_true": [0], "y_pred": [1], "p": [0.5]}),
    "clusters of other length": (CLUSTERED, GOOD | {"user": [1]}),
    "a cluster that is no label": (CLUSTERED, GOOD | {"user": [0.5, 1.0]}),
    "a cluster that is missing": (CLUSTERED, GOOD | {"user": ["a", None]}),
    "clusters in a matrix": (CLUSTERED, GOOD | {"user": [[1, 2], [3, 4]]}),
    "a total past 2**63": (CLUSTERED, GOOD | {"sample_weight": [2**63 - 3, 1]}),
    "a negative weight": (CLUSTERED, GOOD | {"sample_weight": [1, -1]}),
}
BAD_WINDOWED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    claim: (WINDOWED, batch) for claim, (_, batch) in BAD_SLICED.items()
} | {
    "a time that is missing": (WINDOWED, GOOD | {"time": [3, None]}),
    "a time that is text": (WINDOWED, GOOD | {"time": ["3", "7"]}),
    "a step that is no integer": (WINDOWED, GOOD | {"time": [3, 7.5]}),
    "times of other length": (WINDOWED, GOOD | {"time": [3]}),
    "a pane whose end does not fit": (WINDOWED, GOOD | {"time": [3, 2**63 - 1]}),
}

CHANGED_SLICED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "accumulator": (SLICED, SLICED | {"accumulator": se.PRCurveSketch()}),
    "column": (SLICED, SLICED | {"column": "town"}),
    "values": (SLICED, SLICED | {"values": ["Bonn"]}),
    "max_values": (SLICED, SLICED | {"max_values": 3}),
}
CHANGED_CLUSTERED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "accumulator": (CLUSTERED, CLUSTERED | {"accumulator": se.PRCurveSketch()}),
    "by": (CLUSTERED, CLUSTERED | {"by": "question"}),
    "groups": (CLUSTERED, CLUSTERED | {"groups": 65}),
}
TIMED = WINDOWED | {"pane": "1m", "keep": "1h", "rollups": [("1h", "7d")], "unit": "s"}
CHANGED_WINDOWED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "accumulator": (WINDOWED, WINDOWED | {"accumulator": se.Sliced(**SLICED, max_values=3)}),
    "pane": (WINDOWED, WINDOWED | {"pane": 11}),
    "time": (WINDOWED, WINDOWED | {"time": "t"}),
    "keep": (WINDOWED, WINDOWED | {"keep": 30}),
    "rollups": (TIMED, TIMED | {"rollups": [("1h", "8d")]}),
    "offset": (WINDOWED, WINDOWED | {"offset": 3}),
    "unit": (TIMED, TIMED | {"unit": "ms"}),
}
