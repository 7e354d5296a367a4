"""Write the golden states of this release: ``python tests/golden/make.py``.

Files of a released version are never written again: newer code must read them. To record a new
kind of state, add it here and run the script; it leaves existing files alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streameval as se

FOLDER = Path(__file__).parent / "version-1"


def accumulators() -> dict[str, Any]:
    """Build each golden state from a few rows."""
    binary = se.ConfusionAccumulator(["ham", "spam"], threshold=0.25)
    met = se.ConfusionAccumulator("auto", ignore_label="?")
    top_k = se.ConfusionAccumulator(3, top_k=2)
    multilabel = se.ConfusionAccumulator(["a", "b"], multilabel=True, ignore_label=-1)
    return {
        "confusion-binary": binary.update(["ham", "spam", "spam"], [0.25, 0.5, 0.1]),
        "confusion-empty": se.ConfusionAccumulator(),
        "confusion-met": met.update(
            ["b", "日本", "?", "a"], ["b", "a", "c", "a"], sample_weight=[0.1, 2, 3, 2**53 + 2]
        ),
        "confusion-multilabel": multilabel.update([[0, 1], [-1, 1]], [[0.2, 0.7], [0.9, 0.3]]),
        "confusion-top-k": top_k.update(
            [0, 1, 2], [[0.2, 0.4, 0.4], [0.3, 0.3, 0.3], [0.1, 0.2, 0.7]]
        ),
        "regression": se.RegressionAccumulator().update(
            [0.1, -2.5, 1e100], [0.2, 2.5, 1e-100], sample_weight=[0.1, 3, 2**40]
        ),
    }


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, accumulator in accumulators().items():
        path = FOLDER / f"{name}.se"
        if not path.exists():
            se.save(accumulator, path)
