"""Compute: read the numbers of what has been counted."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import streameval as se
from speed import data
from speed.contest import Contest, Data, Numbers, Peer, Side, yardstick
from speed.peers import torcheval, torchmetrics
from speed.sides import TorchWay, attributes, our_compute, torch_compute, value
from speed.verbs.stream import batches, in_scikit_learn

ROWS = 1_000_000


def np_sort(goal: float) -> Peer:
    """Sort as many keys as two full sketches have cells."""

    def ready(_: Any, __: Any) -> Side:
        keys = np.random.default_rng(data.SEED).integers(0, 2**62, 2**17)
        return Side(lambda: np.sort(keys))

    return Peer(library="numpy", name="np.sort of 131,072 int64", ready=ready, goal=goal)


def grid_of_200(way: TorchWay) -> Peer:
    """Show 200 thresholds, which are read in no time, beside 65,536 cells."""
    return torchmetrics(
        way, "BinaryAUROC", value("roc_auc"), goal=None, tolerance=5e-3, thresholds=200
    )


def sketched_auc() -> Contest:
    """Read the ROC AUC, with its interval, off a sketch that is about full."""
    return Contest(
        verb="compute",
        accumulator="PRCurveSketch",
        work="ROC AUC after a million",
        size=ROWS,
        data=lambda rows: data.cut(uniform(rows)),
        ours=our_compute(se.PRCurveSketch, attributes("roc_auc")),
        peers=[
            np_sort(1 / 4),
            torchmetrics(torch_compute, "BinaryAUROC", value("roc_auc")),
            torcheval(torch_compute, "BinaryAUROC", value("roc_auc")),
            in_scikit_learn({"roc_auc": "roc_auc_score"}),
            grid_of_200(torch_compute),
        ],
    )


def uniform(rows: int) -> data.Batch:
    """Draw float64 scores all over [0, 1], which fill nine tenths of the cells."""
    score = np.random.default_rng(data.SEED).random(rows)
    return (np.random.default_rng(data.SEED + 1).random(rows) < score).astype(np.int64), score


def macro_f1(classes: int) -> Contest:
    """Average F1 over the classes."""

    def read(result: Any) -> Numbers:
        return {"f1": result.f_score()}

    def margins(parts: Data) -> Any:
        cells = sum(
            np.bincount(truth * classes + guess, minlength=classes**2) for truth, guess in parts
        )
        matrix = cells.reshape(classes, classes)
        return lambda: (matrix.sum(axis=0), matrix.sum(axis=1))

    kind, options = "Binary", {}
    if classes > 2:
        kind, options = "Multiclass", {"num_classes": classes, "average": "macro"}
    why = "The peer keeps three counts per class; we compute them from every cell of the matrix."
    return Contest(
        verb="compute",
        accumulator="ConfusionAccumulator",
        work=f"F1 of {classes:,} classes",
        size=100_000,
        data=lambda rows: data.cut(data.labels(classes, rows)),
        ours=our_compute(partial(se.ConfusionAccumulator, classes), read),
        peers=[
            torchmetrics(torch_compute, f"{kind}F1Score", value("f1"), why=why, **options),
            torcheval(torch_compute, f"{kind}F1Score", value("f1"), why=why, **options),
            yardstick("sums of rows and of columns of the matrix", margins),
        ],
    )


def calibration() -> Contest:
    """Read the calibration error off the bins."""
    return Contest(
        verb="compute",
        accumulator="CalibrationAccumulator",
        work="ECE after a million",
        size=ROWS,
        data=batches,
        ours=our_compute(se.CalibrationAccumulator, attributes("ece")),
        peers=[torchmetrics(torch_compute, "BinaryCalibrationError", value("ece"))],
    )


def regression() -> Contest:
    """Read r2 off the exact sums."""

    def numbers(rows: int) -> list[Data]:
        return data.cut(data.numbers(rows))

    return Contest(
        verb="compute",
        accumulator="RegressionAccumulator",
        work="r2",
        size=ROWS,
        data=numbers,
        ours=our_compute(se.RegressionAccumulator, attributes("r2")),
        peers=[
            torchmetrics(torch_compute, "R2Score", value("r2")),
            torcheval(torch_compute, "R2Score", value("r2")),
        ],
    )


CONTESTS = [
    sketched_auc(),
    *(macro_f1(classes) for classes in (2, 10, 1000)),
    calibration(),
    regression(),
]
