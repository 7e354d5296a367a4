"""Training step: one step of a small network on torch, followed by one update of four metrics."""

from __future__ import annotations

from typing import Any

import numpy as np

from speed.contest import Contest, Data, Peer, Side
from speed.data import SEED
from speed.four_metrics import (
    four_of_torchmetrics,
    numbers_of_ours,
    numbers_of_theirs,
    our_four,
)

FEATURES = 64
BATCH = 256


def features(rows: int) -> Data:
    """Draw features, and a label that depends on them."""
    random = np.random.default_rng(SEED)
    inputs = random.normal(size=(rows, FEATURES)).astype(np.float32)
    return inputs, (inputs[:, :4].sum(axis=1) + random.normal(size=rows) > 0).astype(np.int64)


class Loop:
    """A small network, its optimizer and one batch."""

    def __init__(self, batch: Data) -> None:
        import torch  # noqa: PLC0415 - only this contest needs it

        torch.set_num_threads(1)
        torch.manual_seed(SEED)
        self.inputs, self.labels = map(torch.from_numpy, batch)
        layers = torch.nn.Linear(FEATURES, 128), torch.nn.ReLU(), torch.nn.Linear(128, 1)
        self.model = torch.nn.Sequential(*layers)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3)
        self.loss = torch.nn.BCEWithLogitsLoss()
        self.targets = self.labels.float()

    def step(self) -> Any:
        """Go down the gradient, and return the probabilities."""
        self.optimizer.zero_grad()
        logits = self.model(self.inputs).squeeze(1)
        self.loss(logits, self.targets).backward()
        self.optimizer.step()
        return logits.detach().sigmoid()


def ours(batch: Data) -> Side:
    """Train with a collection."""
    loop, collection = Loop(batch), our_four()

    def run() -> None:
        collection.update({"y_true": loop.labels, "y_pred": loop.step()})

    return Side(run, lambda: numbers_of_ours(collection.compute()), calls=256)


def theirs(library: Any, batch: Data) -> Side:
    """Train with a MetricCollection."""
    loop, collection = Loop(batch), four_of_torchmetrics(library)

    def run() -> None:
        collection.update(loop.step(), loop.labels)

    return Side(run, lambda: numbers_of_theirs(collection.compute()))


def alone(_: Any, batch: Data) -> Side:
    """Train without any metric."""
    return Side(Loop(batch).step)


CONTESTS = [
    Contest(
        verb="training step",
        accumulator="Collection",
        work="step and update: accuracy, F1, ROC AUC, AP",
        size=BATCH,
        data=features,
        ours=ours,
        peers=[
            Peer(
                library="torchmetrics",
                name="step and MetricCollection of the same",
                ready=theirs,
                tolerance=2e-2,
            ),
            Peer(library="torch", name="the step alone", ready=alone, goal=None),
        ],
    )
]
