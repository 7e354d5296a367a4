"""Build the report that `report.png` shows.

    python docs/figures/report.py report.html

To take the picture, run Chromium in light mode:

    chromium --headless --hide-scrollbars --blink-settings=preferredColorScheme=1 \
        --force-device-scale-factor=1.5 --window-size=1100,1760 \
        --screenshot=report.png report.html

with a sans-serif system font such as Inter. Then reduce it to a palette of 128 colours.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import streameval as se

DATA = Path(__file__).parents[1] / "data"
NAMES = ["benign", "malignant"]


def page() -> str:
    """Report the labels of the breast cancer log, and its curve with 64 and with 12 bins."""
    with (DATA / "breast_cancer.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    truth = [int(row["y_true"]) for row in rows]
    score = [float(row["y_score"]) for row in rows]
    labels = se.ConfusionAccumulator(NAMES).update(
        [NAMES[label] for label in truth], [NAMES[int(row["y_pred"])] for row in rows]
    )
    curves = {
        f"{budget} bins": se.PRCurveSketch(budget).update(truth, score) for budget in (64, 12)
    }
    return se.reports.html_report({"labels": labels, **curves}, title="Breast cancer, out of fold")


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
