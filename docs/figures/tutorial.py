"""Draw the picture of the tutorial's page on curves."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

import streameval as se

FIGURES = Path(__file__).parent
Y_TRUE = [1, 1, 0, 1, 0, 1, 0, 0, 0, 1]
Y_SCORE = [0.95, 0.9, 0.8, 0.7, 0.6, 0.55, 0.4, 0.3, 0.2, 0.1]


def ten_images() -> None:
    """Show average precision as an area and as eleven points, and ROC AUC as pairs."""
    curve = se.PRCurveSketch().update(Y_TRUE, Y_SCORE).compute()
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
    _precision_recall(left, curve)
    _pairs(right, curve)
    figure.savefig(FIGURES / "ten_images.png", dpi=100, metadata={"Software": None})


def _precision_recall(ax: Axes, curve: se.Curve) -> None:
    precision, recall, _ = curve.precision_recall_curve()
    highest = np.maximum.accumulate(precision)  # recall falls along the arrays
    levels = np.arange(11) / 10
    at_levels = [highest[np.flatnonzero(recall > level - 1e-9)[-1]] for level in levels]
    label = f"steps, AP {curve.average_precision:.4f}"
    ax.fill_between(recall[::-1], precision[::-1], step="pre", color="lightsteelblue", label=label)
    label = f"interpolated, AP {curve.average_precision_interpolated:.4f}"
    ax.step(recall[::-1], highest[::-1], where="pre", color="C1", linewidth=1.5, label=label)
    label = f"11 points, AP {curve.average_precision_11pt:.4f}"
    ax.plot(levels, at_levels, "s", color="C3", label=label)
    ax.plot(recall[:-1], precision[:-1], "k.-", linewidth=0.8, label="each threshold")
    ax.set(xlabel="recall", ylabel="precision", xlim=(-0.03, 1.03), ylim=(0, 1.06))
    ax.set_title("ten images, five aeroplanes")
    ax.legend(loc="lower left", framealpha=1.0)


def _pairs(ax: Axes, curve: se.Curve) -> None:
    fpr, tpr, _ = curve.roc_curve()
    side = 1 / int(curve.n_pos)
    for column in range(int(curve.n_neg)):
        for row in range(int(curve.n_pos)):
            is_under = (row + 1) * side <= tpr[fpr <= column * side + 1e-9].max() + 1e-9
            ax.add_patch(
                plt.Rectangle(
                    (column * side, row * side),
                    side,
                    side,
                    facecolor="lightsteelblue" if is_under else "white",
                    edgecolor="white" if is_under else "lightgrey",
                )
            )
    ax.plot(fpr, tpr, "k.-", clip_on=False)
    ax.plot([0, 1], [0, 1], "--", color="grey", linewidth=1)
    ax.set(xlabel="false positive rate", ylabel="true positive rate", xlim=(0, 1), ylim=(0, 1))
    pairs = int(curve.n_pos) * int(curve.n_neg)
    right = round(curve.roc_auc * pairs)
    ax.set_title(f"ROC AUC {curve.roc_auc:.2f}: {right} of {pairs} pairs in the right order")
    ax.set_aspect("equal")


if __name__ == "__main__":
    ten_images()
