"""A run and its judgements that are exchanged are noticed, and others are not."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from offenders import each

import streameval as se

RUN = {"q1": {"d1": 0.9, "d2": 0.8}, "q2": {"d1": 12.5, "d3": 3.25}}
QRELS = {"q1": {"d2": 1, "d3": 0}, "q2": {"d1": 3}}


def counted(run: Any, qrels: Any) -> se.RankingAccumulator:
    return se.RankingAccumulator("map").update_run(run, qrels)


def test_exchanged_arguments_are_warned_of() -> None:
    with pytest.warns(UserWarning, match="^`run` holds small whole numbers, and `qrels` fractions"):
        counted(QRELS, RUN)


def test_a_run_without_a_judged_query_is_warned_of() -> None:
    said = "^no query of `run` is judged: it begins with query 1, and `qrels` with '1'.$"
    with pytest.warns(UserWarning, match=said):
        counted({1: {"d1": 0.9}}, {"1": {"d1": 1}})


def test_a_part_of_a_run_may_have_no_judged_query() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        part = se.RankingAccumulator("map").update_run({"q3": {"d1": 0.9}}, QRELS, False)
    assert part.n == 0


@each(
    ("run", "qrels"),
    [
        (RUN, QRELS),
        (RUN, {}),
        (RUN, {"q1": {"d1": 0.5, "d2": 0.25}}),
        ({"q1": {"d1": 3, "d2": 2}}, QRELS),
        ({"q1": {"d1": 3, "d2": 2}}, {"q1": {"d1": 0.5, "d2": 1, "d3": 0}}),
        ({"q1": {"d1": 30, "d2": 2}}, {"q1": {"d1": 0.5}}),
        ({"q1": {"d1": -1, "d2": 2}}, {"q1": {"d1": 0.5}}),
        ({"q1": {}}, {"q1": {"d1": 0.5}}),
        ({}, QRELS),
    ],
)
def test_arguments_in_order_are_not(run: Any, qrels: Any) -> None:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        counted(run, qrels)
    assert warned == []


SCORES = [[0.9, 0.5, 0.25], [0.1, 0.7, 0.2]]
FLAGS = [[1, 0, 0], [0, 1, 1]]


def updated(relevance: Any, score: Any, **others: Any) -> se.RankingAccumulator:
    return se.RankingAccumulator("map").update(np.array(relevance), np.array(score), **others)


@each("flags", [FLAGS, np.array(FLAGS, bool), np.array(FLAGS, np.uint8) * 3])
@each(
    "others",
    [
        {},
        {"mask": [[True, True, False], [True, True, True]]},
        {"retrieved": [[True, False, True], [True, True, True]]},
        {"query": [5, 7]},
    ],
)
def test_relevance_and_integer_scores_that_are_exchanged_are_refused(
    flags: Any, others: Any
) -> None:
    acc = se.RankingAccumulator("map").update(flags, SCORES, **others)
    before = acc.to_bytes()
    says = "`relevance` holds fractions, and `score` small whole numbers: they are exchanged"
    with pytest.raises(se.InvalidInputError, match=says):
        acc.update(SCORES, flags, **others)
    assert acc.to_bytes() == before


def test_exchanged_rows_are_refused() -> None:
    query = np.repeat([1, 2], 3)
    with pytest.raises(se.InvalidInputError, match="they are exchanged"):
        updated(np.ravel(SCORES), np.ravel(FLAGS), query=query)
    with pytest.raises(se.InvalidInputError, match="they are exchanged"):
        updated(np.ravel(SCORES), np.ravel(FLAGS), query=query, partial=True)


@each(
    ("relevance", "score"),
    [
        (SCORES, np.array(FLAGS, float)),
        ([[0.5, 1, 0], [1, 0, 0]], FLAGS),
        (SCORES, [[30, 20, 10], [1, 2, 3]]),
        ([[np.nan, 1.0, 0.0]], [[1, 0, 0]]),
        ([[np.nan, np.nan]], [[1, 0]]),
    ],
)
def test_fractions_of_relevance_are_counted_beside_other_scores(relevance: Any, score: Any) -> None:
    assert updated(relevance, score).n == len(relevance)
