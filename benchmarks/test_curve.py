"""Curves: one batch into a sketch that has settled, and an exact AUC from end to end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import streameval as se

torch = pytest.importorskip("torch", reason="torchmetrics, the peer, is on torch")
torchmetrics = pytest.importorskip("torchmetrics.classification")
torch.set_num_threads(1)

Batch = tuple[np.ndarray, np.ndarray]

BEFORE = 1_000_000
"""Rows that every contender has seen before it is timed."""


def rows(n: int) -> Batch:
    random = np.random.default_rng(0)
    truth = random.integers(0, 2, n)
    return truth, random.beta(2 + 3 * truth, 5 - 3 * truth).astype(np.float32)


def sketch(before: Batch, batch: Batch) -> tuple[Callable[[], Any], Callable[[], float]]:
    accumulator = se.PRCurveSketch().update(*before)
    return lambda: accumulator.update(*batch), lambda: accumulator.compute().roc_auc


def torchmetrics_200(before: Batch, batch: Batch) -> tuple[Callable[[], Any], Callable[[], float]]:
    metric = torchmetrics.BinaryAUROC(thresholds=200)
    for start in range(0, BEFORE, 2**16):  # its temporaries are 200 times a batch
        truth, scores = (torch.from_numpy(part[start : start + 2**16]) for part in before)
        metric.update(scores, truth)
    truth, scores = map(torch.from_numpy, batch)
    return lambda: metric.update(scores, truth), lambda: float(metric.compute())


@pytest.mark.parametrize("contender", [sketch, torchmetrics_200])
@pytest.mark.parametrize("size", [32, 1024, 65_536])
def test_update_of_a_sketch(benchmark: Any, size: int, contender: Callable[..., Any]) -> None:
    benchmark.group = f"65,536 cells against 200 thresholds, {size:,} rows"
    before = rows(BEFORE)
    update, value = contender(before, rows(size))
    benchmark(update)
    assert value() == pytest.approx(roc_auc_score(*before), abs=5e-3)


def exact_sketch(batch: Batch) -> float:
    return se.PRCurveSketch(None).update(*batch).compute().roc_auc


def torchmetrics_exact(batch: Batch) -> float:
    metric = torchmetrics.BinaryAUROC()
    truth, scores = map(torch.from_numpy, batch)
    metric.update(scores, truth)
    return float(metric.compute())


def scikit_learn(batch: Batch) -> float:
    return roc_auc_score(*batch)


@pytest.mark.parametrize("contender", [exact_sketch, torchmetrics_exact, scikit_learn])
def test_exact_auc(benchmark: Any, contender: Callable[[Batch], float]) -> None:
    benchmark.group = f"exact AUC of {BEFORE:,} rows"
    batch = rows(BEFORE)
    value = benchmark.pedantic(contender, args=(batch,), rounds=5, warmup_rounds=1)
    assert value == pytest.approx(roc_auc_score(*batch), abs=1e-5)
