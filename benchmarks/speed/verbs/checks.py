"""Checks: an update with all of them, beside bare NumPy that counts the same and checks nothing.

And the floor of bulk counting: how near an update comes to reading its arrays once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import streameval as se
from speed import data
from speed.contest import Contest, Data, Numbers, Peer, Side
from speed.sides import attributes, matrix, our_updates
from speed.verbs.update import rows_before

CHUNK = 2**16
CELLS = 2**16


def bare_matrix(_: Any, batch: Data) -> Side:
    """Count outcomes, chunk by chunk, in whatever comes."""
    truth, score = batch
    total = np.zeros(3, dtype=np.int64)
    rows = 0

    def run() -> None:
        nonlocal rows
        for start in range(0, len(truth), CHUNK):
            actual = truth[start : start + CHUNK] != 0
            said = score[start : start + CHUNK] >= 0.5
            total[0] += np.count_nonzero(actual & said)
            total[1] += np.count_nonzero(said)
            total[2] += np.count_nonzero(actual)
            rows += len(actual)

    def numbers() -> Numbers:
        both, said, actual = map(int, total)
        negatives = rows - actual
        return {"matrix": [[negatives - (said - both), said - both], [actual - both, both]]}

    return Side(run, numbers)


def bare_histogram(_: Any, batch: Data) -> Side:
    """Count scores of each label into cells of equal width."""
    total = np.zeros(2 * CELLS, dtype=np.int64)

    def count(truth: np.ndarray, score: np.ndarray) -> None:
        cell = (score * np.float32(CELLS)).astype(np.int64)
        np.minimum(cell, CELLS - 1, out=cell)
        cell *= 2
        cell += truth
        np.add.at(total, cell, 1)

    def numbers() -> Numbers:
        negatives, positives = total.reshape(-1, 2).T
        below = np.cumsum(negatives) - negatives / 2
        return {"roc_auc": float(positives @ below / positives.sum() / negatives.sum())}

    for part in rows_before():
        count(*part)
    return Side(lambda: count(*batch), numbers)


def bare(work: str, ready: Callable[[Any, Data], Side], tolerance: float = 1e-9) -> Peer:
    """Make a yardstick without a goal."""
    return Peer(library="numpy", name=work, ready=ready, goal=None, tolerance=tolerance)


def checked_binary(size: int) -> Contest:
    """Count scores against a threshold."""
    return Contest(
        verb="checks",
        accumulator="ConfusionAccumulator",
        work="update, binary scores",
        size=size,
        data=data.binary,
        ours=our_updates(se.ConfusionAccumulator, matrix),
        peers=[bare("three counts, no check", bare_matrix)],
    )


def checked_sketch(size: int) -> Contest:
    """Count scores into cells."""
    return Contest(
        verb="checks",
        accumulator="PRCurveSketch",
        work="update, scores after a million",
        size=size,
        data=data.binary,
        ours=our_updates(se.PRCurveSketch, attributes("roc_auc"), before=rows_before),
        peers=[bare("a histogram without hulls, no check", bare_histogram, 1e-4)],
    )


def bandwidth(size: int = 10_000_000) -> Contest:
    """Count a batch far beyond the caches, int64 labels and float32 scores."""

    def read_once(_: Any, batch: Data) -> Side:
        words = [array.view(np.uint64) for array in batch]
        return Side(lambda: [array.max() for array in words])

    yardstick = Peer(library="numpy", name="reading the arrays once", ready=read_once, goal=0.2)
    return Contest(
        verb="checks",
        accumulator="ConfusionAccumulator",
        work="share of memory read bandwidth",
        size=size,
        data=data.binary,
        ours=our_updates(se.ConfusionAccumulator, matrix),
        peers=[yardstick],
    )


CONTESTS = [
    *(checked_binary(size) for size in (32, 65_536)),
    *(checked_sketch(size) for size in (1024, 65_536)),
    bandwidth(),
]
