"""Draw a metric over time, and where rows are counted by age."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")

from matplotlib.figure import Figure
from streameval.cli.states.plot_windows import TimePicture

import streameval as se
from streameval.results.names import parse_metric

FIGURES = Path(__file__).parent
ROWS = 60_000
START = 1_700_000_000


def save(figure: Figure, name: str) -> None:
    """Write a picture without the version of what drew it."""
    figure.savefig(FIGURES / name, dpi=100, metadata={"Software": None})


def over_time() -> None:
    """Draw the ROC AUC of two days, which drops, and whose last labels have not come yet."""
    random = np.random.default_rng(0)
    step = np.arange(ROWS)
    truth = random.random(ROWS) < 0.3
    shift = np.where(step > 40_000, 0.045, 0.12) * np.where(truth, 1, -1)
    score = np.clip(random.normal(0.5 + shift, 0.2), 0, 1).round(5)
    has_label = random.random(ROWS) < np.minimum(1, (ROWS - step) / 9000)
    labels = [int(one) if known else None for one, known in zip(truth, has_label, strict=True)]
    windowed = se.Windowed(se.PRCurveSketch(64), pane="1h", time="ts", unit="s")
    windowed.update({"y_true": labels, "y_score": score, "ts": START + 3 * step})
    figure = Figure(figsize=(8, 5), layout="constrained")
    TimePicture.of(windowed, parse_metric("roc_auc"), None, 0.95).draw(figure)
    save(figure, "over_time.png")


def tiers() -> None:
    """Draw the panes of three tiers and what is before them, with a row that comes late."""
    figure = Figure(figsize=(9, 2.6), layout="constrained")
    ax = figure.subplots()
    newest, colours = 46, {"1h": "C0", "6h": "C1", "1d": "C2"}
    ax.broken_barh([(-30, 6)], (0, 1), color="lightgrey", edgecolor="black")
    for start in (-24, 0):
        ax.broken_barh([(start, 24)], (0, 1), color=colours["1d"], alpha=0.5, edgecolor="black")
    ax.broken_barh([(24 + 6 * at, 6) for at in range(2)], (0, 1), color=colours["6h"], alpha=0.5,
                   edgecolor="black")  # fmt: skip
    ax.broken_barh([(at, 1) for at in range(36, newest)], (0, 1), color=colours["1h"], alpha=0.5,
                   edgecolor="black", linewidth=0.5)  # fmt: skip
    names = {-27: "before", -12: "1 day", 12: "1 day", 27: "6 h", 33: "6 h"}
    for middle, text in names.items():
        ax.text(middle, 0.5, text, ha="center", va="center")
    ax.annotate("panes of 1 h", (41, 0), (41, -0.5), ha="center", arrowprops={"arrowstyle": "-"})
    ax.annotate("newest row: only this moves edges", (newest, 1), (newest, 1.5), ha="right",
                arrowprops={"arrowstyle": "->"})  # fmt: skip
    ax.text(-31, -0.5, "event time \N{RIGHTWARDS ARROW}")
    ax.annotate("a late row counts where its time is", (27, 1), (12, 1.5), ha="center",
                arrowprops={"arrowstyle": "->"})  # fmt: skip
    ax.set(xlim=(-31, 48), ylim=(-0.7, 1.9), yticks=[], xticks=[])
    for side in ("left", "right", "top", "bottom"):
        ax.spines[side].set_visible(False)
    save(figure, "tiers.png")


if __name__ == "__main__":
    over_time()
    tiers()
