"""Draw the picture of the landing page: a grid of thresholds misses click rates, cells do not.

A million impressions, one in 360 clicked, as on the page beside other libraries; 200 thresholds
on a line, and a sketch of as many cells.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.metrics import auc, roc_curve

mpl.use("Agg")

from matplotlib import pyplot as plt

import streameval as se

FIGURES = Path(__file__).parent
sys.path.insert(0, str(FIGURES.parent))

from comparison import ROWS, click_rates  # noqa: E402

SIZE = 200
FRAME = {"xlabel": "false positive rate", "ylabel": "true positive rate", "aspect": "equal"}


def grid_curve(truth: np.ndarray, score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute the ROC curve at evenly spaced thresholds alone, as a binned metric does."""
    edges = np.linspace(0, 1, SIZE)
    at_least = np.searchsorted(edges, score, side="right")
    counts = [np.bincount(at_least[truth == label], minlength=SIZE + 1) for label in (0, 1)]
    fpr, tpr = (np.cumsum(count[::-1]) / count.sum() for count in counts)
    return np.append(0.0, fpr), np.append(0.0, tpr)


def main() -> None:
    """Draw both curves beside the exact one."""
    truth, score = click_rates(ROWS)
    fpr, tpr, _ = roc_curve(truth, score)
    grid = grid_curve(truth, score)
    curve = se.PRCurveSketch(SIZE).update(truth, score).compute()

    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 4.3), layout="constrained")
    left.set(**FRAME, title=f"{SIZE} thresholds: ROC AUC {auc(*grid):.3f}")
    left.plot(*grid, "o-", color="C3", markersize=3, label="thresholds on a line")
    area = curve.roc_auc
    curve.plot(right, kind="roc")
    right.lines[0].set(label=f"{curve.cells} bins, in the band of bounds", linewidth=1)
    right.set(**FRAME, title=f"{SIZE} bins: {area:.3f} in [{area.low:.3f}, {area.high:.3f}]")
    for ax in (left, right):
        ax.plot(fpr, tpr, "k:", linewidth=1.4, label=f"exact, {auc(fpr, tpr):.3f}")
        ax.grid(alpha=0.3)
        ax.legend(loc="lower right")
    figure.savefig(FIGURES / "grid.png", dpi=160, metadata={"Software": None})


if __name__ == "__main__":
    main()
