"""Build the report of which `report.png` is a picture.

    python docs/figures/report.py report.html

The picture is taken by hand: Chromium opens the page without a window, in its light look,

    chromium --headless --hide-scrollbars --blink-settings=preferredColorScheme=1 \
        --force-device-scale-factor=1.5 --window-size=1100,1750 \
        --screenshot=report.png report.html

in a sans-serif font such as Inter, and reduced to a palette of 128 colours.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import streameval as se

DATA = Path(__file__).parents[1] / "data"
NAMES = ["benign", "malignant"]


def page() -> str:
    """Report the curves of the breast cancer log with few cells and fewer, and its labels."""
    with (DATA / "breast_cancer.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    truth = [int(row["y_true"]) for row in rows]
    score = [float(row["y_score"]) for row in rows]
    labels = se.ConfusionAccumulator(NAMES).update(
        [NAMES[label] for label in truth], [NAMES[int(row["y_pred"])] for row in rows]
    )
    curves = {
        f"{budget} cells": se.PRCurveSketch(budget).update(truth, score) for budget in (64, 12)
    }
    return se.reports.html_report({"labels": labels, **curves}, title="Breast cancer, out of fold")


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
