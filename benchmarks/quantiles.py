"""Compare quantiles of log-normal latencies with those of other sketches, at equal memory.

Run ``python benchmarks/quantiles.py`` after ``pip install --group benchmarks``; it prints the table
of the reference: errors, and the width of bounds. Memory is that of numbers: 24 bytes a cell, 16 a
centroid, 8 a bin.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

import streameval as se

BATCH = 10_000
SHARES = (0.5, 0.99, 0.999)


def ours(values: np.ndarray, kibibytes: int) -> Callable[[float], Any]:
    acc = se.MeanAccumulator(quantiles=SHARES, budget=kibibytes * 1024 // 24)
    for start in range(0, len(values), BATCH):
        acc.update(values[start : start + BATCH])
    return acc.compute().quantile


def t_digest(values: np.ndarray, kibibytes: int) -> Callable[[float], Any]:
    import fastdigest  # noqa: PLC0415 (one of the peers)

    digest = fastdigest.TDigest(max_centroids=kibibytes * 1024 // 16)
    for start in range(0, len(values), BATCH):
        digest.batch_update(values[start : start + BATCH])
    return digest.quantile


def dd_sketch(values: np.ndarray, kibibytes: int) -> Callable[[float], Any]:
    import ddsketch  # noqa: PLC0415 (one of the peers)

    bins = kibibytes * 1024 // 8
    accuracy = np.log(values.max() / values.min()) / bins / 2
    sketch = ddsketch.LogCollapsingLowestDenseDDSketch(accuracy, bins)
    for value in values.tolist():
        sketch.add(value)
    return sketch.get_quantile_value


SKETCHES = {"streameval": ours, "t-digest (fastdigest)": t_digest, "DDSketch (ddsketch)": dd_sketch}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--kibibytes", type=int, default=16)
    options = parser.parse_args()
    values = np.random.default_rng(0).lognormal(5.0, 1.0, options.rows)
    head = " | ".join(map(str, SHARES))
    print(f"| at {options.kibibytes} KiB | {head} |\n|---|---|---|---|")
    for name, count in SKETCHES.items():
        quantile = count(values, options.kibibytes)
        cells = []
        for share in SHARES:
            found, exact = quantile(share), np.quantile(values, share)
            width = ""
            if isinstance(found, se.Bounded):
                width = f", {(found.high - found.low) / exact:.1%}"
                assert found.low <= exact <= found.high
            cells.append(f"{found / exact - 1:+.3%}{width}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
