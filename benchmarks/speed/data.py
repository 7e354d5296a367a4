"""The batches that contests are about, each drawn anew from the same seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np

Batch = tuple[np.ndarray, np.ndarray]

SEED = 0


def binary(rows: int, seed: int = SEED) -> Batch:
    """Draw labels and float32 scores that know something about them."""
    random = np.random.default_rng(seed)
    truth = random.integers(0, 2, rows)
    return truth, random.beta(2 + 3 * truth, 5 - 3 * truth).astype(np.float32)


def labels(classes: int, rows: int) -> Batch:
    """Draw class ids, and predictions of which half are right."""
    random = np.random.default_rng(SEED)
    truth, guess = random.integers(0, classes, (2, rows))
    return truth, np.where(random.random(rows) < 0.5, truth, guess)


def logits(classes: int, rows: int) -> Batch:
    """Draw class ids, and float32 scores of all classes."""
    random = np.random.default_rng(SEED)
    score = random.normal(size=(rows, classes)).astype(np.float32)
    return random.integers(0, classes, rows), score


def masks(classes: int, rows: int, side: int = 128) -> Batch:
    """Draw class ids of so many pixels of square images, and float32 scores of all classes."""
    images = max(rows // side**2, 1)
    truth, score = logits(classes, images * side**2)
    score = score.reshape(images, side, side, classes).transpose(0, 3, 1, 2)
    return truth.reshape(images, side, side), np.ascontiguousarray(score)


def probabilities(classes: int, rows: int, seed: int = SEED) -> Batch:
    """Draw class ids, and float32 probabilities of all classes that know something about them."""
    random = np.random.default_rng(seed)
    truth = random.integers(0, classes, rows)
    odds = np.exp(random.normal(size=(rows, classes)) + np.eye(classes)[truth])
    return truth, (odds / odds.sum(axis=1, keepdims=True)).astype(np.float32)


def multilabel(classes: int, rows: int) -> Batch:
    """Draw 0 and 1, and float32 scores, for each of the classes."""
    random = np.random.default_rng(SEED)
    return random.integers(0, 2, (rows, classes)), random.random((rows, classes), np.float32)


def numbers(rows: int) -> Batch:
    """Draw float32 numbers, and what a model says of them."""
    random = np.random.default_rng(SEED)
    truth = random.normal(10, 3, rows)
    return truth.astype(np.float32), (truth + random.normal(0, 1, rows)).astype(np.float32)


def grouped(groups: int, rows: int, seed: int = SEED) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw labels, scores and groups, whose rows come in any order."""
    truth, score = binary(rows, seed)
    group = np.random.default_rng(seed + 1).integers(0, groups, rows)
    return truth, score, group


def rankings(candidates: int, rows: int) -> Batch:
    """Rank with scores that are all different within a query; a tenth is relevant."""
    random = np.random.default_rng(SEED)
    shape = (max(rows // candidates, 1), candidates)
    relevance = random.integers(1, 4, shape) * (random.random(shape) < 0.1)
    score = random.permuted(np.tile(np.arange(candidates), (shape[0], 1)), axis=1)
    return relevance, score.astype(np.float32)


def ragged_rankings(rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw queries of 50 to 150 candidates, their rows one after another."""
    random = np.random.default_rng(SEED)
    sizes = random.integers(50, 151, rows // 80 + 1)
    query = np.repeat(np.arange(len(sizes)), sizes)[:rows]
    relevance = random.integers(1, 4, rows) * (random.random(rows) < 0.1)
    return relevance, random.permutation(rows).astype(np.float32), query


@attrs.frozen
class Stream:
    """Batches that are made when they are needed, again whenever one goes over them.

    Parameters
    ----------
    draw : callable
        From a number of rows and a seed to a batch.
    rows : int
        Of all batches.
    batch_rows : int
        Of one of them.
    """

    draw: Callable[[int, int], tuple[np.ndarray, ...]]
    rows: int
    batch_rows: int = 2**16

    def __iter__(self) -> Iterator[tuple[np.ndarray, ...]]:
        for start in range(0, self.rows, self.batch_rows):
            yield self.draw(min(self.batch_rows, self.rows - start), SEED + start)


def once_or_anew(parts: Any, convert: Callable[[Any], Any]) -> Callable[[], Any]:
    """Convert what lies ready now and once, but a stream whenever it is needed."""
    if isinstance(parts, Stream):
        return lambda: convert(parts)
    converted = convert(parts)
    return lambda: converted


def joined(parts: Any) -> list[np.ndarray]:
    """Join batches to one."""
    return [np.concatenate(part) for part in zip(*parts, strict=True)]


def cut(batch: tuple[np.ndarray, ...], rows: int = 2**16) -> list[tuple[np.ndarray, ...]]:
    """Cut a batch into smaller ones."""
    ends = range(rows, len(batch[0]), rows)
    return list(zip(*(np.split(array, ends) for array in batch), strict=True))
