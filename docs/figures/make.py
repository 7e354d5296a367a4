"""Draw the pictures of README and docs from the real logs."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt

import streameval as se

FIGURES = Path(__file__).parent


def digits() -> None:
    """Draw the confusion matrix of the digits log beside per-class recall with intervals."""
    acc = se.ConfusionAccumulator(10)
    with gzip.open(FIGURES.parent / "data" / "digits.jsonl.gz", "rt", encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            acc.update([row["y_true"]], [row["y_score"]])
    result = acc.compute()

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
    result.plot(left)
    recall = result.recall(average=None)
    low, high = result.confidence("recall", average=None)
    right.errorbar(
        recall, range(10), xerr=[recall - low, high - recall], fmt="o", color="C0", capsize=3
    )
    right.set(
        xlabel="recall, with 95% interval",
        ylabel="digit",
        yticks=range(10),
        title=f"{result.n:,} images, one at a time",
    )
    right.invert_yaxis()
    right.grid(axis="x", alpha=0.3)
    figure.savefig(FIGURES / "digits.png", dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    digits()
