"""Compare curve metrics in bounded memory with the exact ones; print the docs' tables.

Run ``python docs/curve_accuracy.py`` after ``pip install . --group benchmarks``; it takes
some minutes and 7 GB, most of both for the peers. ``--rows`` makes it smaller.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from importlib.metadata import version

import attrs
import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

import streameval as se

ROWS = 3_000_000
RIVER_ROWS = 20_000
THRESHOLDS = 200
SEED = 0

Data = tuple[np.ndarray, np.ndarray]


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def calibrated(random: np.random.Generator, probability: np.ndarray) -> Data:
    """Draw labels with the probabilities that are the scores."""
    return random.random(len(probability)) < probability, probability.astype(np.float32)


def uniform(random: np.random.Generator, rows: int) -> Data:
    return calibrated(random, random.random(rows))


def beta(random: np.random.Generator, rows: int) -> Data:
    truth = random.random(rows) < 0.5
    score = np.where(truth, random.beta(5, 2, rows), random.beta(2, 5, rows))
    return truth, score.astype(np.float32)


def click_rates(random: np.random.Generator, rows: int) -> Data:
    return calibrated(random, sigmoid(random.normal(-7, 1.5, rows)))


def near_one(random: np.random.Generator, rows: int) -> Data:
    return calibrated(random, sigmoid(random.normal(9, 2, rows)))


def saturated(random: np.random.Generator, rows: int) -> Data:
    logit = 12 * random.normal(size=rows)
    with np.errstate(over="ignore"):
        return random.random(rows) < sigmoid(logit), sigmoid(logit.astype(np.float32))


def rare(random: np.random.Generator, rows: int) -> Data:
    truth = random.random(rows) < 1e-3
    score = 0.005 * sigmoid(random.normal(-2, 1, rows) + 1.6 * truth)
    return truth, score.astype(np.float32)


DATA: dict[str, Callable[[np.random.Generator, int], Data]] = {
    "uniform": uniform,
    "beta(5, 2) and beta(2, 5)": beta,
    "click rates, sigmoid of N(-7, 1.5)": click_rates,
    "near one, sigmoid of N(9, 2)": near_one,
    "saturated, float32 sigmoid of 12 N(0, 1)": saturated,
    "rare, 0.1% positive, scores below 0.005": rare,
}


@attrs.frozen
class Line:
    """One metric on one data set: the exact value, ours, and how far the peers are off."""

    exact: float
    ours: se.Bounded
    errors: list[str]

    def cells(self) -> list[str]:
        return [
            f"{self.exact:.6f}",
            f"{abs(self.ours - self.exact):.0e}",
            f"{self.ours.high - self.ours.low:.0e}",
            "yes" if self.ours.low <= self.exact <= self.ours.high else "NO",
            *self.errors,
        ]


def compare(make: Callable[[np.random.Generator, int], Data], rows: int) -> tuple[Line, Line]:
    """Measure ROC AUC and average precision on one data set."""
    truth, score = make(np.random.default_rng(SEED), rows)
    auc, ap = roc_auc_score(truth, score), average_precision_score(truth, score)
    sketch = se.PRCurveSketch()
    for part in np.array_split(np.arange(rows), max(rows // 2**16, 1)):
        sketch.update(truth[part], score[part])
    ours = sketch.compute()
    (tm_auc, tm_ap), (te_auc, te_ap) = torchmetrics(truth, score), torcheval(truth, score)
    return (
        Line(auc, ours.roc_auc, [error(tm_auc, auc), error(te_auc, auc), river(truth, score)]),
        Line(ap, ours.average_precision, [error(tm_ap, ap), error(te_ap, ap)]),
    )


def torchmetrics(truth: np.ndarray, score: np.ndarray) -> tuple[float, float]:
    import torch  # noqa: PLC0415 - a test reads this module without the peers
    from torchmetrics.classification import (  # noqa: PLC0415
        BinaryAUROC,
        BinaryAveragePrecision,
    )

    preds, target = torch.from_numpy(score), torch.from_numpy(truth.astype(np.int64))
    metrics = BinaryAUROC(thresholds=THRESHOLDS), BinaryAveragePrecision(thresholds=THRESHOLDS)
    auc, ap = (metric(preds, target).item() for metric in metrics)
    return auc, ap


def torcheval(truth: np.ndarray, score: np.ndarray) -> tuple[float, float]:
    import torch  # noqa: PLC0415

    preds, target = torch.from_numpy(score), torch.from_numpy(truth)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torch, about what torcheval does
        from torcheval.metrics import BinaryBinnedAUPRC, BinaryBinnedAUROC  # noqa: PLC0415

        auc, _ = BinaryBinnedAUROC(threshold=THRESHOLDS).update(preds, target).compute()
        ap = BinaryBinnedAUPRC(threshold=THRESHOLDS).update(preds, target).compute()
    return auc.item(), ap.item()


def river(truth: np.ndarray, score: np.ndarray) -> str:
    """Count the first rows one by one; the error is that from the exact AUC of these rows."""
    from river.metrics import ROCAUC  # noqa: PLC0415

    truth, score = truth[:RIVER_ROWS], score[:RIVER_ROWS]
    metric = ROCAUC(n_thresholds=THRESHOLDS)
    for label, value in zip(truth.tolist(), score.tolist(), strict=True):
        metric.update(label, value)
    return error(metric.get(), roc_auc_score(truth, score))


def error(value: float, exact: float) -> str:
    difference = abs(value - exact)
    return f"{difference:.2f}" if difference >= 0.01 else f"{difference:.0e}"


def table(name: str, peers: list[str], lines: dict[str, Line]) -> str:
    columns = [name, "exact", "error", "width of the bounds", "contained", *peers]
    rows = [" | ".join([data, *line.cells()]) for data, line in lines.items()]
    head = [" | ".join(columns), "|".join(["---"] * len(columns))]
    return "\n".join(f"| {row} |" if "---" not in row else f"|{row}|" for row in [*head, *rows])


def main() -> None:
    parser = argparse.ArgumentParser(description="Print the tables of docs/explanation/curves.md.")
    parser.add_argument("--rows", type=int, default=ROWS)
    rows = parser.parse_args().rows
    found = {name: compare(make, rows) for name, make in DATA.items()}
    binned = ["torchmetrics", "torcheval"]
    print(table("ROC AUC", [*binned, "river"], {name: line for name, (line, _) in found.items()}))
    print()
    print(table("AP", binned, {name: line for name, (_, line) in found.items()}))
    print()
    packages = ["numpy", "scikit-learn", "torch", "torchmetrics", "torcheval", "river"]
    print(", ".join(f"{package} {version(package)}" for package in packages))


if __name__ == "__main__":
    main()
