"""Members and rows for collections."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

import streameval as se

SCORES = {"curve": {"y_score": "p"}, "cal": {"y_prob": "p"}, "gauc": {"y_score": "p", "group": "g"}}


def inner() -> se.Collection:
    """A collection to stand in another: a member of its own, and one like a member beside it."""
    members = {"fine": se.PRCurveSketch(5), "curve": se.PRCurveSketch(3)}
    columns = {name: {"y_score": "p"} for name in members}
    return se.Collection(members, columns=columns)


MEMBERS: dict[str, Any] = {
    "cm": se.ConfusionAccumulator(),
    "met": se.ConfusionAccumulator("auto"),
    "curve": se.PRCurveSketch(3),
    "gauc": se.GroupedAUC(6),
    "cal": se.CalibrationAccumulator(4),
    "fit": se.RegressionAccumulator(),
    "inner": inner(),
    "same": se.ConfusionAccumulator(),
    "users": se.Clustered(se.ConfusionAccumulator(), by="user", groups=10),
    "many users": se.Clustered(inner(), by="g", groups=10),
}


def options_of(names: list[str]) -> dict[str, Any]:
    """Return the options of a collection of some of the members, in this order."""
    return {
        "members": {name: MEMBERS[name] for name in names},
        "columns": {name: SCORES[name] for name in names if name in SCORES},
    }


def collection_rows(
    draw: st.DrawFn, random: np.random.Generator, size: int
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Draw one to three members, and rows that each of them accepts."""
    names = draw(st.lists(st.sampled_from(sorted(MEMBERS)), min_size=1, max_size=3, unique=True))
    scores = draw(st.sampled_from([_eighths, np.random.Generator.random]))(random, size)
    truth, prediction = random.integers(0, 2, (2, size))
    rows = {"y_true": truth, "y_pred": prediction, "p": scores, "g": random.integers(0, 4, size)}
    rows["user"] = np.array(["a", "日本", ""], dtype=object)[random.integers(0, 3, size)]
    return options_of(names), rows


def _eighths(random: np.random.Generator, size: int) -> np.ndarray:
    return random.integers(0, 9, size) / 8


def large_rows() -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """All members, of more rows than wait to be counted."""
    random = np.random.default_rng(8)
    size = 20_000
    rows = {
        "y_true": random.integers(0, 2, size),
        "y_pred": random.integers(0, 2, size),
        "p": random.random(size).round(3),
        "g": random.integers(0, 4, size),
        "user": random.integers(0, 300, size),
        "sample_weight": random.random(size),
    }
    return options_of(list(MEMBERS)), rows


GOOD: dict[str, Any] = {
    "y_true": [0, 1],
    "y_pred": [1, 1],
    "p": [0.25, 0.75],
    "g": [1, 1],
    "user": ["a", "b"],
}
FULL = [2**63 - 3, 1]

ALL = options_of([name for name in MEMBERS if name != "met"])
"""Every member, but for the one that takes any label."""

BAD_BATCHES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a label that the first member refuses": (ALL, GOOD | {"y_true": [0, 2]}),
    "a score that a member in the middle refuses": (ALL, GOOD | {"p": [0.5, 1.5]}),
    "a score that the last member refuses": (options_of(["cm", "curve"]), GOOD | {"p": [2, 0]}),
    "lengths that differ": (ALL, GOOD | {"g": [1]}),
    "a column that the last member misses": (
        options_of(["fit", "cm", "curve"]),
        {name: GOOD[name] for name in ("y_true", "y_pred")},
    ),
    "a missing cluster": (options_of(["cm", "users"]), GOOD | {"user": ["a", None]}),
    "strings after numbers": (
        options_of(["curve", "gauc"]),
        GOOD | {"g": ["a", "b"]},
    ),
    "a total past 2**63": (ALL, GOOD | {"sample_weight": FULL}),
}

CHANGED_OPTIONS = {
    "names": (options_of(["cm", "curve"]), options_of(["curve", "cm"])),
    "members": (
        options_of(["cm", "curve"]),
        options_of(["cm", "curve"]) | {"columns": {"curve": {"y_score": "q"}}},
    ),
}


def good_batch(options: dict[str, Any]) -> dict[str, Any]:
    return GOOD
