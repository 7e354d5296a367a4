"""What is counted of the best k scores: small batches are pending, in whatever order they come."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from offenders import each
from profiles import quick_cases

import streameval as se
from streameval.accumulators import code_block
from streameval.accumulators.code_block import FastReader

MANY = 1000
RANDOM = np.random.default_rng(0)
TRUTH = RANDOM.integers(0, MANY, 32)
LOGITS = RANDOM.standard_normal((32, MANY)).astype(np.float32)
TIED = LOGITS.round(1)

COUNTING: dict[str, tuple[dict[str, Any], np.ndarray]] = {
    "the best 5": ({"top_k": 5}, LOGITS),
    "the best 5 with ties": ({"top_k": 5}, TIED),
    "precision of the best 5": ({"top_k": 5, "measures": ["top_k"]}, LOGITS),
    "the best one with ties": ({}, TIED),
    "the best one in float16": ({}, LOGITS.astype(np.float16)),
    "with labels that are ignored": ({"top_k": 5, "ignore_label": -1}, TIED),
}
every_way = each(("options", "scores"), COUNTING.values())


@every_way
@each("weight", [None, np.full(32, 0.5)])
def test_a_batch_makes_no_matrix_of_all_classes(
    options: dict[str, Any], scores: np.ndarray, weight: Any
) -> None:
    accumulator = se.ConfusionAccumulator(MANY, **options)
    for _ in range(2):
        accumulator.update(TRUTH, scores, sample_weight=weight)  # makes the block
    tracemalloc.start()
    accumulator.update(TRUTH, scores, sample_weight=weight)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < MANY**2  # bytes: an eighth of a matrix
    assert accumulator._held.used == 96
    assert accumulator.n == (96 if weight is None else 48)


@each("others", ["labels", "scores", "one label"])
def test_ties_stay_pending_among_other_batches(others: str) -> None:
    accumulator = se.ConfusionAccumulator(MANY).update(TRUTH, TIED)
    zero, used = accumulator._held.state, 32
    batch = {
        "labels": (TRUTH, TRUTH[::-1].copy()),
        "scores": (TRUTH, LOGITS),
        "one label": (TRUTH[:1], TRUTH[:1]),
    }[others]
    for true, predicted in (batch, (TRUTH, TIED), batch):
        accumulator.update(true, predicted)
        used += len(true)
        assert (accumulator._held.state, accumulator._held.used) == (zero, used)


@each("top_k", [1, 2])
@each("bad", ["label", "score", "shape", "weight"])
def test_a_refused_batch_leaves_pending_rows_as_they_are(top_k: int, bad: str) -> None:
    scores, true = np.array([[3.0, 2, 1], [1, 1, 1], [2, 2, 1]]), np.array([1, 2, 1])
    accumulator = se.ConfusionAccumulator(3, top_k=top_k).update(true, scores)
    before = accumulator.to_bytes()
    weights = np.array([1.0, 1, 1])
    if bad == "label":
        true = np.array([0, 1, 3])
    elif bad == "score":
        scores = np.array([[3.0, 2, 1], [1, 1, 1], [2, 2, np.nan]])
    elif bad == "shape":
        scores = scores[:, :2]
    else:
        weights[2] = -1
    argument = {"label": "y_true", "weight": "sample_weight"}.get(bad, "y_pred")
    for weight in [weights] if bad == "weight" else [None, weights]:
        with pytest.raises(se.InvalidInputError, match=f"^`{argument}`"):
            accumulator.update(true, scores, sample_weight=weight)
    assert (accumulator.to_bytes(), accumulator.n) == (before, 3)


Row = tuple[int, list[float], float]
rows_of_scores = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.lists(
            st.sampled_from([-np.inf, -1.0, -0.0, 0.0, 0.5, 2.0, np.inf]), min_size=4, max_size=4
        ),
        st.sampled_from([0.0, 0.25, 1.0, 1.0, 1.0, 3.0]),
    ),
    max_size=24,
)


def counted_naively(rows: list[Row], k: int) -> tuple[np.ndarray, float, np.ndarray]:
    """Sort the scores of each row: the matrix, the accuracy of the best k, and hits by class."""
    matrix, hits, credit, total = np.zeros((4, 4)), np.zeros(4), 0.0, 0.0
    for truth, scores, weight in rows:
        order = sorted(range(4), key=lambda column: -scores[column])  # stable
        matrix[truth, order[0]] += weight
        hits[truth] += weight * (truth in order[:k])
        ranks = [rank for rank, column in enumerate(order) if scores[column] == scores[truth]]
        credit += weight * sum(rank < k for rank in ranks) / len(ranks)
        total += weight
    return matrix, credit / total if total else np.nan, hits


@given(rows=rows_of_scores, k=st.integers(1, 4), data=st.data())
@settings(max_examples=quick_cases(300))
def test_best_scores_count_the_same_in_whatever_batches(
    rows: list[Row], k: int, data: st.DataObject
) -> None:
    options: dict[str, Any] = {"top_k": k, "measures": ["top_k"] if k > 1 else []}
    whole = se.ConfusionAccumulator(4, **options)
    pieces = [se.ConfusionAccumulator(4, **options)]
    start = 0
    while start < len(rows):
        size = data.draw(st.integers(1, 8))
        truth, scores, weights = map(np.array, zip(*rows[start : start + size], strict=True))
        start += size
        batch = truth, scores.astype(data.draw(st.sampled_from(["f2", "f4", "f8"])))
        weighted = {} if (weights == 1).all() else {"sample_weight": weights}
        pieces[-1].update(*batch, **weighted)
        then = data.draw(st.sampled_from(["go on", "go on", "read", "write", "another"]))
        if then == "read":
            assert pieces[-1].compute().n == pieces[-1].n
        elif then == "write":
            pieces[-1] = se.from_bytes(pieces[-1].to_bytes())
        elif then == "another":
            pieces.append(se.ConfusionAccumulator(4, **options))
    if rows:
        truth, scores, weights = map(np.array, zip(*rows, strict=True))
        whole.update(truth, scores, sample_weight=weights)
    assert se.merge(pieces).to_bytes() == whole.to_bytes()

    matrix, accuracy, hits = counted_naively(rows, k)
    result = whole.compute()
    assert np.array_equal(result.matrix, matrix)
    assert result.top_k_accuracy == pytest.approx(accuracy, rel=1e-14, nan_ok=True)
    if k > 1:
        assert np.array_equal(whole._state.top_hits.to_numbers(), hits)


@given(
    batches=st.lists(
        st.tuples(
            st.sampled_from(["labels", "one label", "scores", "ties", "listed"]),
            st.sampled_from([1, 2, 5, 150]),
            st.sampled_from([None, 1.0, 2.0, 0.5]),
        ),
        max_size=12,
    ),
    n_parts=st.integers(1, 3),
)
@settings(max_examples=quick_cases(100))
def test_batches_with_and_without_ties_are_pending_and_merged_in_any_order(
    batches: list[tuple[str, int, float | None]], n_parts: int
) -> None:
    random = np.random.default_rng(1)
    parts = [se.ConfusionAccumulator(5) for _ in range(n_parts)]
    one_by_one = se.ConfusionAccumulator(5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(code_block, "_MIN_CAPACITY", 100)
        FastReader.under.cache_clear()
        for number, (what, size, weight) in enumerate(batches):
            rows = 1 if what == "one label" else size
            truth = random.integers(0, 5, rows)
            if "label" in what:
                predicted = random.integers(0, 5, rows)
            else:
                predicted = random.random((rows, 5))
                predicted = predicted.round(1) if what != "scores" else predicted
            weights = None if weight is None else np.full(rows, weight)
            given_rows = predicted.tolist() if what == "listed" else predicted
            parts[number % n_parts].update(truth, given_rows, sample_weight=weights)
            for row in range(rows):
                own = None if weight is None else [weight]
                counted = se.ConfusionAccumulator(5).update(
                    truth[row : row + 1], predicted[row : row + 1], sample_weight=own
                )
                one_by_one._absorb(counted._state)
    FastReader.under.cache_clear()
    assert sum(part.n for part in parts) == one_by_one.n
    assert se.merge(parts).to_bytes() == one_by_one.to_bytes()
