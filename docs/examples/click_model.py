"""Evaluate a click model, from a log to a report and a gate.

    python docs/examples/click_model.py clicks.csv report.html

The log has the columns user, clicked and score. If it does not exist, the script simulates one.
The exit code is 1 unless the log shows that the model is good enough.
"""

import csv
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

import streameval as se

LOWEST_AUC = 0.75


def make_log(path: Path) -> None:
    """Write 30,000 impressions of 500 users; the model predicts too many clicks."""
    random = np.random.default_rng(0)
    user = random.integers(0, 500, 30_000)
    logit = random.normal(-3.0, 1.0, 500)[user] + random.normal(size=30_000)
    clicked = random.random(30_000) < 1 / (1 + np.exp(-logit))
    rows = np.column_stack([user, clicked, 1 / (1 + np.exp(0.2 - 0.8 * logit))])
    np.savetxt(path, rows, "%d,%d,%.9g", header="user,clicked,score", comments="")


def batches(path: Path) -> Iterator[dict[str, np.ndarray]]:
    """Read the log in batches, so that memory does not grow with it."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        while batch := list(islice(rows, 10_000)):
            numbers = {name: np.array([float(row[name]) for row in batch]) for name in batch[0]}
            yield numbers | {name: numbers[name].astype(int) for name in ("user", "clicked")}


def main(log: Path, report: Path) -> int:
    """Count the log once with three accumulators, write the report, and check the gate."""
    if not log.exists():
        make_log(log)
    curve, rates, users = se.PRCurveSketch(), se.CalibrationAccumulator(), se.GroupedAUC()
    for batch in batches(log):
        curve.update(batch["clicked"], batch["score"])
        rates.update(batch["clicked"], batch["score"])
        users.update(batch["clicked"], batch["score"], group=batch["user"])
    low, high = curve.compute().confidence("roc_auc")
    print(f"ROC AUC {curve.compute().roc_auc:.3f}, 95% interval [{low:.3f}, {high:.3f}]")
    print(f"within users {users.compute().gauc:.3f}")
    print(f"predicted clicks over clicks {rates.compute().pcopc:.2f}")
    parts = {"ranking": curve, "rates": rates, "within users": users}
    report.write_text(se.reports.html_report(parts, title="Click model"), encoding="utf-8")
    return 0 if low >= LOWEST_AUC else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
