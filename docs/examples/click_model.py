"""Evaluate a click model, from a log to a report.

    python docs/examples/click_model.py clicks.csv report.html

The log has the columns user, clicked and score. If it does not exist,
the script simulates one.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

import streameval as se

BATCH = 10_000


def make_log(path: Path) -> None:
    """Write 30,000 impressions of 500 users; the model predicts too many clicks."""
    random = np.random.default_rng(0)
    taste = random.normal(-3.0, 1.0, 500)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["user", "clicked", "score"])
        for user in random.integers(0, 500, 30_000):
            logit = taste[user] + random.normal()
            clicked = int(random.random() < 1 / (1 + np.exp(-logit)))
            writer.writerow([user, clicked, 1 / (1 + np.exp(-(0.8 * logit - 0.2)))])


def batches(path: Path) -> Iterator[dict[str, np.ndarray]]:
    """Read the log in batches, so that memory does not grow with it."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        while batch := list(islice(rows, BATCH)):
            yield {
                "y_true": np.array([int(row["clicked"]) for row in batch]),
                "y_score": np.array([float(row["score"]) for row in batch]),
                "group": np.array([int(row["user"]) for row in batch]),
            }


def main(log: Path, report: Path) -> None:
    """Count the log once with three accumulators, and write the report."""
    if not log.exists():
        make_log(log)
    curve, users = se.PRCurveSketch(), se.GroupedAUC()
    calibration = se.CalibrationAccumulator()
    for batch in batches(log):
        curve.update(batch)
        users.update(batch)
        calibration.update(batch["y_true"], batch["y_score"])

    overall, rates, within = curve.compute(), calibration.compute(), users.compute()
    low, high = overall.confidence("roc_auc")
    print(f"ROC AUC {overall.roc_auc:.3f}, 95% interval [{low:.3f}, {high:.3f}]")
    print(f"within users {within.gauc:.3f}, over {within.coverage:.0%} of the impressions")
    print(f"predicted clicks over clicks {rates.pcopc:.2f}")
    parts = {"ranking": curve, "rates": calibration, "within users": users}
    report.write_text(se.reports.html_report(parts, title="Click model"), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
