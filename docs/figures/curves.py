"""Draw the pictures of the page on curves."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import streameval as se

FIGURES = Path(__file__).parent
sys.path.insert(0, str(FIGURES.parent))

from curve_accuracy import DATA, SEED, THRESHOLDS, Data, beta, click_rates, near_one  # noqa: E402

BUDGETS = [2**place for place in range(6, 17)]


def data_of(name: str, rows: int) -> Data:
    """Draw one of the data sets of the accuracy tables."""
    return DATA[name](np.random.default_rng(SEED), rows)


def save(figure: Figure, name: str) -> None:
    """Write a picture without the version of what drew it."""
    figure.savefig(FIGURES / name, dpi=110, metadata={"Software": None})


def cells() -> None:
    """Show where linear thresholds fall, and where bins, on scores near 0 and near 1."""
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    random = np.random.default_rng(SEED)
    for ax, (truth, score), is_high in (
        (axes[0], click_rates(random, 300_000), False),
        (axes[1], near_one(random, 300_000), True),
    ):
        curve = se.PRCurveSketch(THRESHOLDS).update(truth, score).compute()
        edges = curve.roc_curve()[2][1:]
        _rugs(ax, score, edges, is_high=is_high)
    axes[0].set(title="click rates, sigmoid of N(-7, 1.5)", xlabel="score")
    axes[1].set(title="near one, sigmoid of N(9, 2)", xlabel="1 - score")
    axes[1].invert_xaxis()
    save(figure, "cells.png")


def _rugs(ax: Axes, score: np.ndarray, edges: np.ndarray, *, is_high: bool) -> None:
    grid = np.linspace(0.0, 1.0, THRESHOLDS)
    score, grid, edges = (1.0 - x if is_high else x for x in (score.astype(float), grid, edges))
    bins = np.geomspace(1e-6, 1.0, 91)
    density, _ = np.histogram(score, bins)
    ax.stairs(density / density.max(), bins, fill=True, color="lightsteelblue")
    for places, height, colour in ((grid, -0.25, "C3"), (edges, -0.6, "C0")):
        ax.vlines(places[places > 0], height - 0.13, height + 0.13, color=colour, linewidth=0.7)
    ax.set_xscale("log")
    ax.set(xlim=(1e-6, 1.0), ylim=(-0.8, 1.05))
    ax.set_yticks(
        [0.5, -0.25, -0.6],
        [
            "scores",
            f"{THRESHOLDS} linear\nthresholds",
            f"{len(edges)} bins of a\nbudget of {THRESHOLDS}",
        ],
    )
    ax.tick_params(axis="y", length=0)


def band() -> None:
    """Show the bounds of a tiny budget around the exact curves."""
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
    truth, score = beta(np.random.default_rng(SEED), 100_000)
    whole = se.PRCurveSketch(None).update(truth, score).compute()
    small = se.PRCurveSketch(32).update(truth, score).compute()
    fpr, tpr, _ = whole.roc_curve()
    precision, recall, _ = whole.precision_recall_curve()
    panels = [
        ("roc", fpr, tpr, "ROC AUC", small.roc_auc, whole.roc_auc),
        ("pr", recall, precision, "AP", small.average_precision, whole.average_precision),
    ]
    for ax, (kind, x, y, name, value, exact) in zip(axes, panels, strict=True):
        small.plot(ax, kind=kind)
        ax.lines[0].set(label=f"estimate of {small.cells} bins", linewidth=1)
        ax.plot(x[::200], y[::200], "k:", linewidth=1.4, label="exact curve")
        ax.set_title(
            f"{name} {value:.4f} in [{value.low:.4f}, {value.high:.4f}], exact {exact:.4f}"
        )
        ax.grid(alpha=0.3)
        ax.legend(loc="lower right" if kind == "roc" else "lower left")
    save(figure, "band.png")


def widths() -> None:
    """Show how the bounds of the AUC narrow with the budget."""
    figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
    for place, name in enumerate(list(DATA)[:5]):
        truth, score = data_of(name, 1_000_000)
        curves = [se.PRCurveSketch(budget).update(truth, score).compute() for budget in BUDGETS]
        found = [curve.roc_auc.high - curve.roc_auc.low for curve in curves]
        ax.loglog(BUDGETS, found, "o-", markersize=3, color=f"C{place}", label=name)
        if not place:
            low, high = curves[-1].confidence("roc_auc")
    ax.axhline(
        high - low,
        color="grey",
        linestyle="--",
        linewidth=1,
        label="95% sampling interval, uniform",
    )
    ax.set(xlabel="budget (bins)", ylabel="width of the bounds")
    ax.set_xscale("log", base=2)
    ax.set_xticks(BUDGETS[::2], [f"{budget:,}" for budget in BUDGETS[::2]])
    ax.set_title("ROC AUC of 1,000,000 scores")
    ax.grid(alpha=0.3)
    ax.legend(fontsize=8)
    save(figure, "widths.png")


if __name__ == "__main__":
    cells()
    band()
    widths()
