"""Options and rows for `PRCurveSketch` and `GroupedAUC`, most of them over budget."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

SCORES = {
    "any": lambda random, *shape: random.random(shape),
    "eighths": lambda random, *shape: random.integers(0, 9, shape) / 8,
    "half at the ends": lambda random, *shape: np.clip(random.random(shape) * 2 - 0.5, 0, 1),
    "click rates": lambda random, *shape: 1 / (1 + np.exp(9 - random.normal(size=shape))),
    "near 1": lambda random, *shape: 1 - 10.0 ** -random.uniform(0, 18, shape),
    "tiny": lambda random, *shape: 10.0 ** -random.uniform(0, 323, shape),
    "a few ulps": lambda random, *shape: 0.7 + random.integers(0, 9, shape) * 2.0**-53,
    "float32": lambda random, *shape: random.random(shape).astype(np.float32),
    "float16": lambda random, *shape: random.random(shape).astype(np.float16),
}
LOGITS = {
    "normal": lambda random, *shape: random.normal(size=shape),
    "decades": lambda random, *shape: (
        random.normal(size=shape) * 10.0 ** random.integers(-300, 300)
    ),
    "infinite": lambda random, *shape: random.choice([-np.inf, -1, -0.0, 0, 5e-324, np.inf], shape),
}

Rows = dict[str, np.ndarray]

STRINGS = np.array(["ann", "", "日本", "bob, jr"], dtype=object)
NUMBERS = np.array([7, -3, 2**62, 0])


def curve_rows(draw: st.DrawFn, random: np.random.Generator, size: int) -> tuple[dict, Rows]:
    """Draw options and the rows of a small data set."""
    made = [_binary, _logits, _named, _classes, _pairs, _multilabel, _with_gaps]
    options, rows = draw(st.sampled_from(made))(random, size)
    options["budget"] = draw(st.sampled_from([1, 2, 3, 5, 8, 100, None]))
    return options, rows


def grouped_rows(draw: st.DrawFn, random: np.random.Generator, size: int) -> tuple[dict, Rows]:
    """Draw options and the rows of a small data set in up to four groups."""
    groups = draw(st.sampled_from([STRINGS, NUMBERS]))[random.integers(0, 4, size)]
    options, rows = draw(st.sampled_from([_binary, _logits]))(random, size)
    options |= {
        "budget": draw(st.sampled_from([4, 5, 8, 100])),
        "group_weight": draw(st.sampled_from(["impressions", "uniform", "positives"])),
    }
    return options, rows | {"group": groups}


def large_grouped_rows() -> tuple[dict, Rows]:
    """Draw many groups, over budget and weighted."""
    _, rows = large_rows()
    random = np.random.default_rng(9)
    return {"budget": 3000}, rows | {"group": random.integers(0, 500, len(rows["y_true"]))}


def large_rows() -> tuple[dict, Rows]:
    """Draw enough rows for vectorised paths, over budget and weighted."""
    random = np.random.default_rng(8)
    scores = random.beta(2, 5, 20_000)
    rows = {
        "y_true": (random.random(20_000) < scores).astype(int),
        "y_score": scores,
        "sample_weight": random.random(20_000),
    }
    return {"budget": 300}, rows


def _draw(kinds: dict[str, Any], random: np.random.Generator, *shape: int) -> np.ndarray:
    return kinds[random.choice(sorted(kinds))](random, *shape)


def _binary(random: np.random.Generator, size: int) -> tuple[dict, Rows]:
    return {}, {"y_true": random.integers(0, 2, size), "y_score": _draw(SCORES, random, size)}


def _logits(random: np.random.Generator, size: int) -> tuple[dict, Rows]:
    scores = _draw(LOGITS, random, size)
    return {"scores": "real"}, {"y_true": random.random(size) < 0.3, "y_score": scores}


def _named(random: np.random.Generator, size: int) -> tuple[dict, Rows]:
    labels = np.array(["no", "yes"], dtype=object)[random.integers(0, 2, size)]
    scores = _draw(SCORES, random, size)
    scores[random.random(size) < 0.2] = np.nan
    return {"pos_label": "yes", "nan": "skip"}, {"y_true": labels, "y_score": scores}


def _classes(random: np.random.Generator, size: int) -> tuple[dict, Rows]:
    labels = np.array(["a", "b", "c"], dtype=object)
    rows = {
        "y_true": labels[random.integers(0, 3, size)],
        "y_score": _draw(SCORES, random, size, 3),
    }
    return {"classes": labels.tolist()}, rows


def _pairs(random: np.random.Generator, size: int) -> tuple[dict, Rows]:
    options, rows = _classes(random, size)
    return options | {"measures": ["one_vs_one"]}, rows


def _multilabel(random: np.random.Generator, size: int) -> tuple[dict, Rows]:
    rows = {"y_true": random.integers(0, 2, (size, 2)), "y_score": _draw(SCORES, random, size, 2)}
    return {"classes": 2, "multilabel": True}, rows


def _with_gaps(random: np.random.Generator, size: int) -> tuple[dict, Rows]:
    options, rows = _multilabel(random, size)
    rows["y_true"][random.random((size, 2)) < 0.3] = -1
    return options | {"ignore_label": -1}, rows


CHANGED_OPTIONS = {
    "budget": ({"budget": 8}, {"budget": None}),
    "scores": ({}, {"scores": "real"}),
    "classes": ({"classes": 3}, {"classes": ["a", "b", "c"]}),
    "multilabel": ({"classes": 3}, {"classes": 3, "multilabel": True}),
    "pos_label": ({}, {"pos_label": 1}),
    "nan": ({}, {"nan": "skip"}),
    "ignore_label": ({}, {"ignore_label": -1}),
    "measures": ({"classes": 3}, {"classes": 3, "measures": ["one_vs_one"]}),
}


def good_batch(options: dict[str, Any]) -> dict[str, Any]:
    """Return a batch that the options of a bad one accept."""
    if options.get("classes"):
        truth = [[0, 1]] if options.get("multilabel") else [1]
        return {"y_true": truth, "y_score": np.full((1, options["classes"]), 0.5)}
    return {"y_true": ["yes", "no"] if options.get("pos_label") else [1, 0], "y_score": [0.5, 0]}


BAD_BATCHES: dict[str, tuple[dict, dict]] = {
    "a label out of range": ({}, {"y_true": [0, 2], "y_score": [0, 1]}),
    "a logit": ({}, {"y_true": [0, 1], "y_score": [0.5, 1.5]}),
    "a score that is NaN": ({}, {"y_true": [0, 1], "y_score": [0.5, float("nan")]}),
    "two columns": ({}, {"y_true": [0, 1], "y_score": [[0.5, 0.5], [0.75, 0.5]]}),
    "lengths that differ": ({}, {"y_true": [0, 1], "y_score": [0]}),
    "scores of too few classes": ({"classes": 3}, {"y_true": [0], "y_score": [[0.1, 0.9]]}),
    "an unknown class": ({"classes": 2}, {"y_true": [2], "y_score": [[0.1, 0.9]]}),
    "presence that is 2": (
        {"classes": 2, "multilabel": True},
        {"y_true": [[0, 2]], "y_score": [[0, 1]]},
    ),
    "a third label": ({"pos_label": "yes"}, {"y_true": ["yes", "no", "?"], "y_score": [0, 0, 1]}),
    "numbers for strings": ({"pos_label": "yes"}, {"y_true": [0, 1], "y_score": [0, 1]}),
    "a negative weight": (
        {},
        {"y_true": [0, 1], "y_score": [0, 1], "sample_weight": [1, -1]},
    ),
    "weights past 2**63": (
        {},
        {"y_true": [0, 1], "y_score": [0, 1], "sample_weight": [2**62, 2**62]},
    ),
    "a total past 2**63": ({}, {"y_true": [0], "y_score": [0], "sample_weight": [2**63 - 1]}),
}


CHANGED_GROUPED_OPTIONS = {
    "budget": ({"budget": 8}, {"budget": 9}),
    "scores": ({}, {"scores": "real"}),
    "group_weight": ({}, {"group_weight": "uniform"}),
    "max_groups": ({}, {"max_groups": 8}),
}


def good_grouped_batch(options: dict[str, Any]) -> dict[str, Any]:
    """Return a batch that the options of a bad one accept."""
    return {"y_true": [1, 0], "y_score": [0.5, 0], "group": [1, 1]}


BAD_GROUPED_BATCHES: dict[str, tuple[dict, dict]] = {
    "a label out of range": ({}, {"y_true": [0, 2], "y_score": [0, 1], "group": [0, 1]}),
    "a logit": ({}, {"y_true": [0, 1], "y_score": [0.5, 1.5], "group": [0, 1]}),
    "a score that is NaN": ({}, {"y_true": [0], "y_score": [float("nan")], "group": [0]}),
    "too few groups": ({}, {"y_true": [0, 1], "y_score": [0, 1], "group": [0]}),
    "a group that is a fraction": ({}, {"y_true": [0], "y_score": [0], "group": [0.5]}),
    "strings after numbers": ({}, {"y_true": [0], "y_score": [0], "group": ["a"]}),
    "groups past the budget": (
        {"budget": 2},
        {"y_true": [0, 1], "y_score": [0, 1], "group": [2, 3]},
    ),
    "groups past max_groups": (
        {"max_groups": 2},
        {"y_true": [0, 1], "y_score": [0, 1], "group": [2, 3]},
    ),
    "a negative weight": (
        {},
        {"y_true": [0], "y_score": [0], "group": [0], "sample_weight": [-1]},
    ),
    "a total past 2**63": (
        {},
        {"y_true": [0], "y_score": [0], "group": [0], "sample_weight": [2**63 - 1]},
    ),
}
