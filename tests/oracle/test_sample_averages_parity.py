"""Means over examples are scikit-learn's `average="samples"`."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from offenders import each
from profiles import quick_cases
from sklearn import metrics

import streameval as se

N_CASES = quick_cases(200)


@each("zero_division", [0.0, 1.0, math.nan])
def test_means_over_examples_are_scikit_learns(zero_division: float) -> None:
    for seed in range(N_CASES):
        random = np.random.default_rng([20, seed])
        n, n_labels = int(random.integers(1, 40)), int(random.integers(2, 7))
        truth, prediction = random.random((2, n, n_labels)) < random.choice([0.1, 0.5, 0.9])
        weights = None if seed % 2 else random.integers(1, 24, n) / 8
        acc = se.ConfusionAccumulator(n_labels, multilabel=True, measures=["samples"])
        result = acc.update(truth, prediction, sample_weight=weights).compute()
        options = {"average": "samples", "sample_weight": weights, "zero_division": zero_division}
        own = {"average": "samples", "zero_division": zero_division}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for beta in (1.0, 0.5):
                *expected, _ = metrics.precision_recall_fscore_support(
                    truth, prediction, beta=beta, **options
                )
                ours = result.precision(**own), result.recall(**own), result.f_score(beta, **own)
                np.testing.assert_allclose(ours, expected, rtol=1e-12, err_msg=f"seed {seed}")
            if not math.isnan(zero_division):  # which scikit-learn does not take
                expected = metrics.jaccard_score(truth, prediction, **options)
                assert result.jaccard(**own) == pytest.approx(expected, rel=1e-12), seed
