"""Curves of labels that are unknown in some rows are scikit-learn's of the rows that know them."""

from __future__ import annotations

import math
import warnings

import numpy as np
from offenders import each
from profiles import quick_cases
from sklearn import metrics

import streameval as se

N_CASES = quick_cases(200)
IGNORED = -7


@each("metric", ["roc_auc", "average_precision"])
def test_area_of_each_label_is_scikit_learns_of_its_known_rows(metric: str) -> None:
    compared = 0
    for seed in range(N_CASES):
        random = np.random.default_rng([19, seed])
        n, n_labels = int(random.integers(1, 60)), int(random.integers(1, 5))
        truth = random.integers(0, 2, (n, n_labels))
        truth[random.random((n, n_labels)) < random.choice([0.1, 0.5, 0.9])] = IGNORED
        scores = random.random((n, n_labels)).round(random.choice([1, 16]))
        weights = None if seed % 2 else random.integers(0, 24, n) / 8
        workers = [
            se.PRCurveSketch(classes=n_labels, multilabel=True, ignore_label=IGNORED)
            for _ in range(2)
        ]
        half = n // 2
        for worker, rows in zip(workers, (slice(half), slice(half, n)), strict=True):
            weight = None if weights is None else weights[rows]
            worker.update(truth[rows], scores[rows], sample_weight=weight)
        curves = se.merge(workers).compute()
        for label in range(n_labels):
            known = truth[:, label] != IGNORED
            y, weight = truth[known, label], None if weights is None else weights[known]
            counted = y if weight is None else y[weight > 0]
            if len(set(counted.tolist())) < 2:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = getattr(metrics, f"{metric}_score")(
                    y, scores[known, label], sample_weight=weight
                )
            ours = getattr(curves[label], metric)
            assert math.isclose(ours, expected, rel_tol=1e-12), (seed, label)
            compared += 1
    assert compared > N_CASES / 2
