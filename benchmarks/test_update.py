"""Updating with one batch, beside peers that do the same work in the same process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix

import streameval as se

torch = pytest.importorskip("torch", reason="torchmetrics, the peer, is on torch")
torchmetrics = pytest.importorskip("torchmetrics.classification")
torch.set_num_threads(1)

SIZES = [32, 1024, 65_536]
Batch = tuple[np.ndarray, np.ndarray]


def binary_scores(rows: int) -> Batch:
    random = np.random.default_rng(0)
    return random.integers(0, 2, rows), random.random(rows, dtype=np.float32)


def ten_labels(rows: int) -> Batch:
    truth, prediction = np.random.default_rng(0).integers(0, 10, (2, rows))
    return truth, prediction


def ten_scores(rows: int) -> Batch:
    random = np.random.default_rng(0)
    return random.integers(0, 10, rows), random.random((rows, 10), dtype=np.float32)


WORK: dict[str, tuple[Callable[[int], Batch], int]] = {
    "binary scores": (binary_scores, 2),
    "labels of 10": (ten_labels, 10),
    "scores of 10": (ten_scores, 10),
}


def decided(y_pred: np.ndarray) -> np.ndarray:
    if y_pred.ndim == 2:
        return y_pred.argmax(axis=1)
    return y_pred >= 0.5 if y_pred.dtype.kind == "f" else y_pred


def streameval(batch: Batch, classes: int) -> tuple[Callable[[], Any], Callable[[], np.ndarray]]:
    accumulator = se.ConfusionAccumulator(classes)
    return lambda: accumulator.update(*batch), lambda: accumulator.compute().matrix


def torchmetrics_(batch: Batch, classes: int) -> tuple[Callable[[], Any], Callable[[], Any]]:
    if classes == 2:
        metric = torchmetrics.BinaryConfusionMatrix()
    else:
        metric = torchmetrics.MulticlassConfusionMatrix(classes)
    truth, prediction = map(torch.from_numpy, batch)
    return lambda: metric.update(prediction, truth), lambda: metric.compute().numpy()


def scikit_learn(batch: Batch, classes: int) -> tuple[Callable[[], Any], Callable[[], Any]]:
    total = np.zeros((classes, classes), dtype=np.int64)
    labels = list(range(classes))

    def update() -> None:
        total[...] += confusion_matrix(batch[0], decided(batch[1]), labels=labels)

    return update, lambda: total


@pytest.mark.parametrize("contender", [streameval, torchmetrics_, scikit_learn])
@pytest.mark.parametrize("rows", SIZES)
@pytest.mark.parametrize("work", list(WORK))
def test_update(benchmark: Any, work: str, rows: int, contender: Callable[..., Any]) -> None:
    benchmark.group = f"{work}, {rows:,} rows"
    make, classes = WORK[work]
    batch = make(rows)
    update, matrix = contender(batch, classes)
    update()
    assert np.array_equal(matrix(), confusion_matrix(batch[0], decided(batch[1])))
    benchmark(update)
