"""The page about object detection: its functions beside average precision by hand."""

from __future__ import annotations

import doctest
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from offenders import each

import streameval as se

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "object-detection.md"
Flags = Any


def functions() -> dict[str, Any]:
    """Take the functions out of the page."""
    examples = doctest.DocTestParser().get_examples(PAGE.read_text(encoding="utf-8"))
    found: dict[str, Any] = {"np": np}
    for example in examples:
        if example.source.startswith("def "):
            exec(example.source, found)
    return found


def by_hand(match: Flags, n_objects: int) -> tuple[float, float, float]:
    """Read three averages of precision off the list of detections, the best first."""
    precision = [sum(match[: rank + 1]) / (rank + 1) for rank in range(len(match))]
    hits = [rank for rank, hit in enumerate(match) if hit]
    raw = sum(precision[rank] for rank in hits) / n_objects
    interpolated = sum(max(precision[rank:]) for rank in hits) / n_objects
    recall = np.cumsum(match) / n_objects
    first = np.searchsorted(recall, np.linspace(0, 1, 101))  # as in pycocotools
    at_steps = [max(precision[rank:], default=0.0) for rank in first]
    return raw, interpolated, float(np.mean(at_steps))


@each("seed", range(40))
def test_average_precision_of_detections_is_that_by_hand(seed: int) -> None:
    random = np.random.default_rng(seed)
    n_objects = int(random.integers(1, 60))
    match = (random.random(random.integers(1, 80)) < 0.6).astype(int)
    match[np.cumsum(match) > n_objects] = 0
    score = np.sort(random.random(len(match)))[::-1]
    ranking = se.RankingAccumulator(["map"])
    ranking.update(match, score, query=["cat"] * len(match), num_relevant={"cat": n_objects})
    curve = se.PRCurveSketch().update(match, score).compute()
    page = functions()
    found = [
        ranking.compute()["map"],
        page["all_points"](curve, n_objects) if match.any() else 0.0,
        page["coco"](curve, n_objects) if match.any() else 0.0,
    ]
    assert found == pytest.approx(by_hand(match, n_objects), rel=1e-12)
