"""Sketches of a few rows take the memory of a few rows, with and without weights."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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


EVAL = """
import re, sys
from pathlib import Path
from streameval.cli import main

status = main(sys.argv[1:])
peak = re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())
print(int(peak[1]) * 1024)
sys.exit(status)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc/self/status")
def test_slices_of_a_few_weighted_rows_take_little_memory(tmp_path: Path) -> None:
    rows = (f"{n % 2},0.{n},{n % 3}.5,g{n % 500}\n" for n in range(1, 3001))
    (tmp_path / "log.csv").write_text("y_true,y_score,w,group\n" + "".join(rows))
    options = [
        "--task",
        "binary",
        "--sample-weight",
        "w",
        "--by",
        "group",
        "--top",
        "500",
        "--quiet",
    ]
    command = [sys.executable, "-c", EVAL, "eval", "log.csv", *options]
    shown = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    assert int(shown.stdout) < 2**28
