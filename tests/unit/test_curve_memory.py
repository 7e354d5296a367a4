"""Sketches of a few rows take the memory of a few rows, with and without weights."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import os
import numpy as np
import streameval as se

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

weights = {batches}
se.PRCurveSketch().update([0, 1], [0.5, 0.25], sample_weight=[0.5, 2.5])
before, sketches = resident(), []
for _ in range(200):
    sketch = se.PRCurveSketch()
    for weight in weights:
        sketch.update([0, 1, 1], [0.125, 0.25, 0.75], sample_weight=weight)
    sketches.append(sketch)
print((resident() - before) // len(sketches))
"""

WEIGHTS = {
    "none": [None],
    "whole": [[2, 3, 1]],
    "fractions": [[0.5, 0.25, 1.5]],
    "one after the other": [None, [2, 3, 1], [0.5, 0.25, 1.5], [2, 3, 1], None],
}


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc/self/statm")
@pytest.mark.parametrize("weights", WEIGHTS)
def test_sketch_of_a_few_rows_takes_little_memory(weights: str) -> None:
    script = SCRIPT.format(batches=WEIGHTS[weights])
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert int(shown.stdout) < 2**16
