"""Memory: the most that is taken from the first batch to the number, each in its own process.

Batches are made when they are needed, so that who keeps them pays for them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import attrs

from speed import data
from speed.contest import Contest
from speed.verbs import update
from speed.verbs.stream import (
    GROUP_ROWS,
    calibration,
    exact_auc,
    grouped,
    image_batches,
    images,
    sketched_auc,
)

GOALS = {
    ("exact ROC AUC", "torchmetrics"): 3.0,
    ("1,000 classes: top-1, top-5, macro ROC AUC, ECE", "torchmetrics"): 2.0,
}

TOO_LARGE = {"BinaryBinnedAUROC()"}
"""It keeps every row, and compares each with 200 thresholds at once: 16 GB of 1e7 rows."""


def peak_of(contest: Contest, size: int, stream: Callable[[int], object]) -> Contest:
    """Measure the memory of a contest on a stream."""
    peers = [
        attrs.evolve(peer, goal=GOALS.get((contest.work, peer.library), 1.0), why="")
        for peer in contest.peers
        if peer.goal is not None and peer.name not in TOO_LARGE
    ]
    return attrs.evolve(
        contest, verb="memory", measure="peak memory", size=size, data=stream, peers=peers
    )


def grouped_stream(rows: int) -> data.Stream:
    """Draw rows of all groups in every batch."""
    return data.Stream(partial(data.grouped, max(rows // GROUP_ROWS, 1)), rows)


CONTESTS = [
    *(
        peak_of(contest, 10_000_000, partial(data.Stream, data.binary))
        for contest in (exact_auc(), sketched_auc(), calibration())
    ),
    peak_of(grouped(1_000_000), 1_000_000, grouped_stream),
    peak_of(images(), 50_000, image_batches),
    peak_of(update.multilabel(2**20), 2**20, partial(data.multilabel, update.LABELS)),
    peak_of(update.tokens(4096), 4096, partial(data.logits, 32_000)),
    peak_of(update.masks(2**20), 2**20, partial(data.masks, 21)),
    peak_of(update.overlaps(2**20), 2**20, partial(data.masks, 21)),
]
