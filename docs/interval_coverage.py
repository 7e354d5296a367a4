"""Simulate how often the 95% intervals cover the population's value; print the docs' table."""

from __future__ import annotations

import math

import numpy as np

import streameval as se

SAMPLES = 1000
METRICS = {
    "balanced accuracy": ("balanced_accuracy", {}),
    "macro F": ("f_score", {"average": "macro"}),
    "weighted precision": ("precision", {"average": "weighted"}),
    "kappa": ("cohen_kappa", {}),
    "MCC": ("matthews_corrcoef", {}),
}


def population(shares: list[float], recalls: list[float]) -> np.ndarray:
    """Make the shares of each (truth, prediction); errors go evenly to the other classes."""
    size = len(shares)
    matrix = np.empty((size, size))
    for k, (share, recall) in enumerate(zip(shares, recalls, strict=True)):
        matrix[k] = share * (1 - recall) / (size - 1)
        matrix[k, k] = share * recall
    return matrix


POPULATIONS = {
    "3 classes, n = 400": (population([0.4, 0.3, 0.3], [0.8, 0.7, 0.75]), 400),
    "10 even classes, n = 50": (population([0.1] * 10, [0.8] * 10), 50),
    "10 even classes, n = 200": (population([0.1] * 10, [0.8] * 10), 200),
    "long tail of 5, n = 200": (
        population([0.6, 0.25, 0.1, 0.04, 0.01], [0.9, 0.8, 0.7, 0.6, 0.5]),
        200,
    ),
    "1% positive, n = 500": (population([0.99, 0.01], [0.95, 0.7]), 500),
    "0.5% positive, n = 400": (population([0.995, 0.005], [0.9, 0.5]), 400),
}


def count(matrix: np.ndarray) -> se.Confusion:
    """Read a matrix of counts."""
    truth, prediction = np.indices(matrix.shape).reshape(2, -1)
    acc = se.ConfusionAccumulator(len(matrix))
    return acc.update(truth, prediction, sample_weight=matrix.ravel()).compute()


def coverage(shares: np.ndarray, n: int) -> list[float]:
    """Give for each metric the share of samples whose interval covers the true value."""
    random = np.random.default_rng(0)
    truth = count(np.round(shares * 10**12).astype(np.int64))
    covered, defined = np.zeros(len(METRICS)), np.zeros(len(METRICS))
    for _ in range(SAMPLES):
        result = count(random.multinomial(n, shares.ravel()).reshape(shares.shape))
        for i, (name, options) in enumerate(METRICS.values()):
            low, high = result.confidence(name, **options)
            defined[i] += not math.isnan(low)
            covered[i] += low <= truth.value(name, **options) <= high
    return (covered / defined).tolist()


def table() -> str:
    """Lay out the coverage of every metric in every population."""
    lines = [f"| population | {' | '.join(METRICS)} |", "|---" * (len(METRICS) + 1) + "|"]
    for name, (shares, n) in POPULATIONS.items():
        lines.append(f"| {name} | {' | '.join(f'{c:.2f}' for c in coverage(shares, n))} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
