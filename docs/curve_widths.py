"""Measure how wide bounds are; print the docs' tables of widths.

Run ``python docs/curve_widths.py``; the tests compare what it prints with the pages.
"""

from __future__ import annotations

import numpy as np
from curve_accuracy import DATA, SEED, Data

import streameval as se

ROWS = 500_000
BUDGETS = [2**10, 2**12, 2**14, 2**16, 2**18]
SPREADS = [1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6]


def width(value: se.Bounded) -> str:
    """Write the width of an interval with two digits."""
    return "0" if value.exact else f"{value.high - value.low:.1e}"


def of(data: Data, budget: int | None) -> se.Curve:
    """Count a data set."""
    truth, score = data
    return se.PRCurveSketch(budget).update(truth, score).compute()


def by_budget() -> str:
    """Lay out the widths at each budget."""
    names = [name for name in DATA if name.startswith(("uniform", "click", "near"))]
    short = [name.partition(",")[0] for name in names]
    data = [DATA[name](np.random.default_rng(SEED), ROWS) for name in names]
    columns = [f"{metric}, {name}" for metric in ("ROC AUC", "AP") for name in short]
    lines = [f"| budget | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for budget in BUDGETS:
        curves = [of(part, budget) for part in data]
        found = [width(curve.roc_auc) for curve in curves]
        found += [width(curve.average_precision) for curve in curves]
        lines.append(f"| {budget:,} | {' | '.join(found)} |")
    return "\n".join(lines)


def cluster(spread: float) -> Data:
    """Put half of the scores into a narrow range around 0.3, in good order, half anywhere."""
    random = np.random.default_rng(SEED)
    place, is_near = random.random(ROWS), random.random(ROWS) < 0.5
    score = np.where(is_near, 0.3 + spread * (place - 0.5), place)
    return random.random(ROWS) < place, score


def by_spread() -> str:
    """Lay out the widths for half of the mass in less and less room."""
    columns = ["width of the range", "exact ROC AUC", "estimate", "bounds", "bins"]
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for spread in SPREADS:
        data = cluster(spread)
        curve, exact = of(data, 2**16), of(data, None).roc_auc
        auc = curve.roc_auc
        interval = f"[{auc.low:.5f}, {auc.high:.5f}]"
        lines.append(f"| {spread:.0e} | {exact:.5f} | {auc:.5f} | {interval} | {curve.cells:,} |")
    return "\n".join(lines)


def by_grid() -> str:
    """Lay out the width on uniform scores beside that of as many bins of equal width."""
    truth, score = data = DATA["uniform"](np.random.default_rng(SEED), ROWS)
    place = np.minimum((score * 2**16).astype(np.int64), 2**16 - 1)
    pos, neg = (np.bincount(place[part], minlength=2**16) for part in (truth, ~truth))
    equal = (pos * neg).sum() / (int(pos.sum()) * int(neg.sum()))
    lines = [
        ("uniform scores, 65,536 bins", "width of ROC AUC"),
        ("---", "---"),
        ("bins of equal width", f"{equal:.1e}"),
        ("bins of the sketch", width(of(data, 2**16).roc_auc)),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines).replace(" --- ", "---")


if __name__ == "__main__":
    print(by_budget(), by_spread(), by_grid(), sep="\n\n")
