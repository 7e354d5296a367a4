"""A run and its judgements that are exchanged are noticed, and others are not."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import streameval as se

RUN = {"q1": {"d1": 0.9, "d2": 0.8}, "q2": {"d1": 12.5, "d3": 3.25}}
QRELS = {"q1": {"d2": 1, "d3": 0}, "q2": {"d1": 3}}


def counted(run: Any, qrels: Any) -> se.RankingAccumulator:
    return se.RankingAccumulator("map").update_run(run, qrels)


def test_exchanged_arguments_are_warned_of() -> None:
    with pytest.warns(UserWarning, match="^`run` holds small whole numbers, and `qrels` fractions"):
        counted(QRELS, RUN)


@pytest.mark.parametrize(
    ("run", "qrels"),
    [
        (RUN, QRELS),
        (RUN, {"q1": {"d1": 0.5, "d2": 0.25}}),
        ({"q1": {"d1": 3, "d2": 2}}, QRELS),
        ({"q1": {"d1": 3, "d2": 2}}, {"q1": {"d1": 0.5, "d2": 1, "d3": 0}}),
        ({"q1": {"d1": 30, "d2": 2}}, {"q1": {"d1": 0.5}}),
        ({"q1": {"d1": -1, "d2": 2}}, {"q1": {"d1": 0.5}}),
        ({"q1": {}}, {"q1": {"d1": 0.5}}),
        ({}, QRELS),
    ],
    ids=[
        "usual",
        "judgements in fractions",
        "whole scores",
        "whole scores and a few fractions",
        "ranks",
        "scores below 0",
        "nothing returned",
        "nothing",
    ],
)
def test_arguments_in_order_are_not(run: Any, qrels: Any) -> None:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        counted(run, qrels)
    assert warned == []
