"""Accuracy, F1, ROC AUC and average precision: four metrics that a training loop might watch."""

from __future__ import annotations

from functools import partial
from typing import Any

import streameval as se
from speed.contest import Numbers
from speed.sides import torchmetric


def our_four() -> se.Collection:
    """Make the collection; accuracy and F1 are one matrix, ROC AUC and AP one sketch."""
    return se.Collection(
        {
            "accuracy": se.ConfusionAccumulator(),
            "f1": se.ConfusionAccumulator(),
            "roc_auc": se.PRCurveSketch(),
            "ap": se.PRCurveSketch(),
        },
        columns={"roc_auc": {"y_score": "y_pred"}, "ap": {"y_score": "y_pred"}},
    )


def numbers_of_ours(result: Any) -> Numbers:
    """Read the four numbers of a result."""
    return {
        "accuracy": result["accuracy"].accuracy,
        "f1": result["f1"].f_score(),
        "roc_auc": result["roc_auc"].roc_auc,
        "ap": result["ap"].average_precision,
    }


def four_of_torchmetrics(library: Any) -> Any:
    """Make a MetricCollection of the same, curves with 200 thresholds."""
    binary = partial(torchmetric, library)
    return library.MetricCollection(
        {
            "accuracy": binary("BinaryAccuracy"),
            "f1": binary("BinaryF1Score"),
            "roc_auc": binary("BinaryAUROC", thresholds=200),
            "ap": binary("BinaryAveragePrecision", thresholds=200),
        }
    )


def numbers_of_theirs(found: Any) -> Numbers:
    """Read what a MetricCollection computes."""
    return {key: float(value) for key, value in found.items()}
