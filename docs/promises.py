"""Measure the promises and print the table of them in docs/explanation/one-answer.md.

Run ``python docs/promises.py``; the tests compare what it prints with the page and README.
"""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
from sklearn import metrics as sk

import streameval as se

AT = {"partial_roc_auc": 0.1, "precision_at": 0.3, "recall_at": 0.3, "f_at": 0.3}
LOG = Path(__file__).parent / "data" / "digits.jsonl.gz"


def read_log() -> tuple[np.ndarray, np.ndarray]:
    """Read truth and scores of the digits log."""
    with gzip.open(LOG, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return np.array([row["y_true"] for row in rows]), np.array([row["y_score"] for row in rows])


def largest_difference(y_true: np.ndarray, y_score: np.ndarray) -> tuple[int, float]:
    """Compare every metric with scikit-learn's; return their number and the largest difference."""
    result = se.ConfusionAccumulator(10, top_k=3).update(y_true, y_score).compute()
    curves = se.PRCurveSketch(classes=10).update(y_true, y_score).compute()
    y_pred = y_score.argmax(axis=1)
    pairs = [
        (result.accuracy, sk.accuracy_score(y_true, y_pred)),
        (result.balanced_accuracy, sk.balanced_accuracy_score(y_true, y_pred)),
        (result.matthews_corrcoef, sk.matthews_corrcoef(y_true, y_pred)),
        (result.cohen_kappa, sk.cohen_kappa_score(y_true, y_pred)),
        (result.hamming_loss, sk.hamming_loss(y_true, y_pred)),
        (result.top_k_accuracy, sk.top_k_accuracy_score(y_true, y_score, k=3)),
    ]
    for average in ("macro", "micro", "weighted"):
        pairs += [
            (result.precision(average), sk.precision_score(y_true, y_pred, average=average)),
            (result.recall(average), sk.recall_score(y_true, y_pred, average=average)),
            (result.jaccard(average), sk.jaccard_score(y_true, y_pred, average=average)),
            (
                result.f_score(2.0, average=average),
                sk.fbeta_score(y_true, y_pred, beta=2.0, average=average),
            ),
        ]
    for digit, curve in curves.items():
        truth, score = y_true == digit, y_score[:, digit]
        pairs += [
            (curve.roc_auc, sk.roc_auc_score(truth, score)),
            (curve.average_precision, sk.average_precision_score(truth, score)),
        ]
    return len(pairs), max(abs(ours - theirs) for ours, theirs in pairs)


def contained_values(y_true: np.ndarray, y_score: np.ndarray) -> tuple[int, int]:
    """Count the intervals of each digit's curve, at tiny budgets, and those that are right."""
    exact = [exact_values(y_true == digit, y_score[:, digit]) for digit in range(10)]
    contained = total = 0
    for budget in (2**place for place in range(1, 10)):
        curves = se.PRCurveSketch(budget, classes=10).update(y_true, y_score).compute()
        for digit, curve in curves.items():
            for name, value in exact[digit].items():
                found = bounded_value(curve, name)
                # scikit-learn's value is itself rounded in its last digits
                contained += found.low - 1e-14 <= value <= found.high + 1e-14
                total += 1
    return contained, total


def bounded_value(curve: se.Curve, name: str) -> se.Bounded:
    """Read a metric by name."""
    if name == "best_f":
        return curve.best_f()[0]
    return getattr(curve, name)(AT[name]) if name in AT else getattr(curve, name)


def exact_values(truth: np.ndarray, score: np.ndarray) -> dict[str, float]:
    """Let scikit-learn compute the metrics of one curve."""
    precision, recall, _ = sk.precision_recall_curve(truth, score)
    fpr, tpr, _ = sk.roc_curve(truth, score, drop_intermediate=False)
    f_scores = 2 * precision * recall / np.maximum(precision + recall, 1e-300)
    predicted = score >= AT["f_at"]
    return {
        "roc_auc": sk.roc_auc_score(truth, score),
        "partial_roc_auc": sk.roc_auc_score(truth, score, max_fpr=AT["partial_roc_auc"]),
        "average_precision": sk.average_precision_score(truth, score),
        "pr_auc": sk.auc(recall, precision),
        "ks": np.abs(tpr - fpr).max(),
        "best_f": f_scores.max(),
        "precision_at": sk.precision_score(truth, predicted),
        "recall_at": sk.recall_score(truth, predicted),
        "f_at": sk.f1_score(truth, predicted),
        "log_loss": sk.log_loss(truth, score),
        "brier": sk.brier_score_loss(truth, score),
    }


def distinct_states(
    empty: se.ConfusionAccumulator | se.PRCurveSketch,
    y_true: np.ndarray,
    y_score: np.ndarray,
    cuts: int,
) -> int:
    """Cut, shuffle, spread over 8 workers and merge in random trees; count distinct bytes."""
    seen = set()
    for seed in range(cuts):
        order = np.random.default_rng(seed).permutation(len(y_true))
        choose = random.Random(seed)
        workers = [empty.copy() for _ in range(8)]
        for rows in np.array_split(order, 100):
            choose.choice(workers).update(y_true[rows], y_score[rows])
        while len(workers) > 1:
            choose.shuffle(workers)
            workers.append(workers.pop() + workers.pop())
        seen.add(workers[0].to_bytes())
    return len(seen)


def refused_damages(data: bytes) -> tuple[int, int]:
    """Flip every bit and cut at every length; count what is refused."""
    damaged = [data[:length] for length in range(len(data))]
    for position in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[position // 8] ^= 1 << position % 8
        damaged.append(bytes(flipped))
    refused = 0
    for candidate in damaged:
        try:
            se.from_bytes(candidate)
        except se.CorruptStateError:
            refused += 1
    return refused, len(damaged)


def loaded_frameworks() -> int:
    """Count the third-party packages that importing streameval loads beside NumPy and attrs."""
    script = (
        "import sys, numpy, attrs; before = set(sys.modules); import streameval\n"
        "roots = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(len(roots - sys.stdlib_module_names - {'streameval', 'numpy', 'attr', 'attrs'}))"
    )
    return int(subprocess.check_output([sys.executable, "-c", script], text=True))


def table() -> str:
    """Lay out the promises, each with its measurement."""
    y_true, y_score = read_log()
    count, difference = largest_difference(y_true, y_score)
    bound = "0" if difference == 0 else "under 1e-15" if difference < 1e-15 else f"{difference:.1e}"
    contained, intervals = contained_values(y_true, y_score)
    counts, curves = (
        distinct_states(empty, y_true, y_score, cuts=50)
        for empty in (se.ConfusionAccumulator(10, top_k=3), se.PRCurveSketch(64, classes=10))
    )
    refused, damages = refused_damages(
        se.ConfusionAccumulator(10).update(y_true, y_score).to_bytes()
    )
    big = se.ConfusionAccumulator().update([1], [1], sample_weight=[2**53]).update([1], [1])
    exact = "exact" if big.compute().tp == 2**53 + 1 else "WRONG"
    rows = [
        (
            "Exact when it fits",
            f"{count} values of 12 metrics against scikit-learn's: largest difference",
            bound,
        ),
        (
            "Bounded when it does not",
            "bounds of 11 metrics, at budgets of 2 to 512 bins, that hold scikit-learn's value",
            f"{contained:,} of {intervals:,}",
        ),
        (
            "One answer",
            "distinct states of 50 cuts into 100 batches on 8 workers, merged in random trees",
            f"{counts}",
        ),
        ("", "the same of curves with 64 bins each", f"{curves}"),
        (
            "Nothing lost",
            "single-bit flips and truncations of a state that are refused",
            f"{refused:,} of {damages:,}",
        ),
        ("", "2^53 + 1 examples, where float64 cannot count on", exact),
        (
            "Light",
            "packages that `import streameval` loads beside NumPy and attrs",
            f"{loaded_frameworks()}",
        ),
    ]
    lines = ["| promise | measured on the digits log | |", "|---|---|---|"]
    lines += [f"| {promise} | {what} | {value} |" for promise, what, value in rows]
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
