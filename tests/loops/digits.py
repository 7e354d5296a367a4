"""The digits of scikit-learn, what is counted of them, and what scikit-learn says of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn import datasets, metrics

import streameval as se

N_TRAIN, BATCH = 1200, 50
_data = datasets.load_digits()
IMAGES = (_data.data / 16).astype(np.float32)
LABELS = _data.target.astype(np.int64)
TRAIN = (IMAGES[:N_TRAIN], LABELS[:N_TRAIN])
VALID = (IMAGES[N_TRAIN:], LABELS[N_TRAIN:])
N_VALID = len(VALID[1])
assert N_VALID % BATCH, "the last batch is a smaller one"


def collection() -> se.Collection:
    """Labels, curves and probabilities of ten classes."""
    return se.Collection(
        {
            "cm": se.ConfusionAccumulator(10, top_k=2),
            "curve": se.PRCurveSketch(None, classes=10),
            "probability": se.CalibrationAccumulator(classes=10),
        },
        columns={
            "cm": {"y_pred": "p"},
            "curve": {"y_score": "p"},
            "probability": {"y_prob": "p"},
        },
    )


def expected(y: Any, p: Any) -> dict[str, float]:
    """Compute with scikit-learn, on all predictions at once, in double precision."""
    p = np.asarray(p, dtype=np.float64)
    guess, hot = p.argmax(axis=1), np.eye(10)[y]
    outcomes = metrics.multilabel_confusion_matrix(y, guess)
    precisions = metrics.precision_score(y, guess, average=None, zero_division=0)
    recalls = metrics.recall_score(y, guess, average=None)
    labels = {
        "accuracy": metrics.accuracy_score(y, guess),
        "top_k_accuracy": metrics.top_k_accuracy_score(y, p, k=2),
        "balanced_accuracy": metrics.balanced_accuracy_score(y, guess),
        "precision": metrics.precision_score(y, guess, average="macro", zero_division=0),
        "recall": metrics.recall_score(y, guess, average="macro"),
        "specificity": np.mean(outcomes[:, 0, 0] / outcomes[:, 0].sum(axis=1)),
        "f_score": metrics.f1_score(y, guess, average="macro"),
        "jaccard": metrics.jaccard_score(y, guess, average="macro"),
        "fowlkes_mallows": np.mean(np.sqrt(precisions * recalls)),
        "matthews_corrcoef": metrics.matthews_corrcoef(y, guess),
        "cohen_kappa": metrics.cohen_kappa_score(y, guess),
    }
    curves = {}
    for average in ("macro", "weighted", "micro"):
        curves |= {
            f"roc_auc_{average}": metrics.roc_auc_score(hot, p, average=average),
            f"average_precision_{average}": metrics.average_precision_score(
                hot, p, average=average
            ),
        }
    probability = {
        "brier": metrics.brier_score_loss(y, p, scale_by_half=False),
        "log_loss": -np.mean(np.log(p[np.arange(len(y)), y])),  # of float32 rows: sums are not 1
        "n_clipped": 0,
    }
    found = {"cm": labels, "curve": curves, "probability": probability}
    named = {f"{name}/{key}": value for name, by in found.items() for key, value in by.items()}
    counts = {f"{name}/n": len(y) for name in found}
    return named | counts | {"cm/n_averaged": 10, "curve/n_averaged": 10}


UNKNOWN = "probability/ece"
"""What scikit-learn does not compute."""


def assert_equal_to_scikit_learn(
    values: Any, y: Any, p: Any, *, prefix: str = "", rel_tol: float = 1e-12
) -> None:
    """Compare every number."""
    found = {
        name.removeprefix(prefix): float(value)
        for name, value in values.items()
        if name.startswith(prefix)
    }
    wanted = expected(y, p)
    assert set(found) == {*wanted, UNKNOWN}
    for name, value in wanted.items():
        assert math.isclose(found[name], value, rel_tol=rel_tol), name
