"""Buckets of scores: right, and never falling."""

import math

import numpy as np
import pytest
from offenders import each

import streameval as se
from streameval.accumulators.score_buckets import score_buckets

BUDGETS = [4096, 65_536, None]


def near_the_ends(size, seed=0):
    """Draw scores of many magnitudes near 0 and 1, edges of buckets among them."""
    rng = np.random.default_rng(seed)
    scores = 2.0 ** -rng.uniform(0, 40, size)
    scores[::3] = rng.choice([0.0, 0.0625, 0.25, 0.375, 0.5, 0.9375, 1.0], len(scores[::3]))
    return np.where(rng.random(size) < 0.5, scores, 1 - scores), rng.integers(0, 2, size)


@each("budget", BUDGETS)
def test_buckets_hold_the_scores_below_their_edges(budget):
    scores, truth = near_the_ends(20_000)
    found = score_buckets(se.PRCurveSketch(budget).update(truth, scores))
    assert [one.label for one in found] == [1, 0]
    for one in found:
        mine = scores[truth == one.label]
        assert one.below == tuple(np.count_nonzero(mine < edge) for edge in one.edges)
        assert one.n == len(mine)
        assert one.edges == tuple(sorted(one.edges))


def test_sum_of_scores_is_exact_without_a_budget():
    scores, truth = near_the_ends(2000)
    positives, _ = score_buckets(se.PRCurveSketch(None).update(truth, scores))
    assert positives.total == pytest.approx(math.fsum(scores[truth == 1]), rel=1e-15)


def test_each_score_is_within_the_promise_in_the_sum():
    scores, _ = near_the_ends(300)
    for score in scores:
        positives, negatives = score_buckets(se.PRCurveSketch().update([1], [score]))
        assert abs(positives.total - score) <= min(score, 1 - score) / 64 + 1e-15
        assert negatives.total == 0


@each("seed", range(10))
def test_sum_stays_the_same_while_rows_of_the_other_class_widen_the_cells(seed):
    others, _ = near_the_ends(8000, seed)
    rng = np.random.default_rng(seed)
    scores, weights = 0.26 + 0.1 * rng.random(9), rng.random(9)
    sketch = se.PRCurveSketch(4096).update([1] * 9, scores, sample_weight=weights)
    before, _ = score_buckets(sketch)
    sketch.update(np.zeros(8000, dtype=int), others)
    assert not sketch.compute().exact
    assert score_buckets(sketch)[0] == before


@each("budget", [4096, 65_536])
def test_no_bucket_falls_while_cells_become_wider(budget):
    sketch = se.PRCurveSketch(budget)
    before = None
    for seed in range(12):
        scores, truth = near_the_ends(budget // 4, seed)
        sketch.update(truth, scores)
        now = [number for one in score_buckets(sketch) for number in (*one.below, one.n, one.total)]
        assert before is None or all(map(float.__le__, before, now))
        before = now
    assert not sketch.compute().exact


def test_weights_are_counted():
    sketch = se.PRCurveSketch().update([1, 1, 0], [0.2, 0.8, 0.3], sample_weight=[0.5, 2, 3])
    positives, negatives = score_buckets(sketch)
    assert positives.below[positives.edges.index(0.5)] == 0.5
    assert (positives.n, negatives.n) == (2.5, 3.0)


def test_classes_are_labels_where_one_is_called_positive():
    sketch = se.PRCurveSketch(pos_label="spam")
    assert [one.label for one in score_buckets(sketch)] == ["spam"]
    sketch.update(["spam", "ham"], [0.9, 0.1])
    assert [(one.label, one.n) for one in score_buckets(sketch)] == [("spam", 1.0), ("ham", 1.0)]


@each("budget", [65_536, None])
def test_scores_of_any_size_have_no_sum(budget):
    sketch = se.PRCurveSketch(budget, scores="real")
    scores = [-np.inf, -8.0, -3.0, 0.0, 0.25, 7.0, np.inf]
    positives, _ = score_buckets(sketch.update([1] * 7, scores))
    assert positives.total is None
    assert positives.edges == (-8, -4, -2, -1, -0.5, 0, 0.5, 1, 2, 4, 8)
    assert positives.below == (1, 2, 3, 3, 3, 3, 5, 5, 5, 5, 6)


@each(
    "accumulator",
    [
        se.PRCurveSketch(4000),
        se.PRCurveSketch(classes=3),
        se.CalibrationAccumulator(bins=65),
        se.CalibrationAccumulator(classes=3),
    ],
)
def test_there_are_no_buckets_that_might_fall(accumulator):
    assert score_buckets(accumulator) == []


def test_bins_of_a_calibration_are_buckets():
    accumulator = se.CalibrationAccumulator(bins=4)
    accumulator.update([1, 0, 1, 1, 0], [0.1, 0.25, 0.3, 1.0, 0.74])
    positives, negatives = score_buckets(accumulator)
    assert positives.edges == negatives.edges == (0.25, 0.5, 0.75)
    assert (positives.below, positives.n) == ((1, 2, 2), 3)
    assert (negatives.below, negatives.n) == ((0, 1, 2), 2)
    assert (positives.total, negatives.total) == (0.125 + 0.375 + 0.875, 0.375 + 0.625)
