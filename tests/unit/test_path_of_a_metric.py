"""A metric is few files and few steps away from its accumulator."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import streameval as se
from streameval.cli import main
from streameval.cli.errors import GATE_FAILED

ROOT = str(Path(se.__file__).parent)


def steps(call: Callable[[], Any]) -> list[str]:
    """List the files of the calls that enter the package, or another file of it."""
    call()  # imports, and what is computed once
    return first_steps(call)


def first_steps(call: Callable[[], Any]) -> list[str]:
    """List them in a process that has done nothing, without the modules that it imports."""
    found: list[str] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        file, before = frame.f_code.co_filename, frame.f_back
        while before is not None and not before.f_code.co_filename.startswith(ROOT):
            before = before.f_back  # through functools, NumPy and attrs
        is_import = frame.f_code.co_name == "<module>"
        if event == "call" and file.startswith(ROOT) and not is_import:
            found.extend([file] if before is None or before.f_code.co_filename != file else [])

    profiler = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(profiler)
    return found


def counted() -> se.ConfusionAccumulator:
    return se.ConfusionAccumulator().update([0, 1, 1, 0], [0, 1, 0, 0])


def test_recall_of_an_accumulator_takes_six_files_and_five_steps_between_them() -> None:
    accumulator = counted()
    found = steps(lambda: accumulator.compute().recall())
    assert len(set(found)) <= 6, found
    assert len(found) <= 3 + 5, found  # three are calls of the user: compute, recall and ()


def test_accuracy_is_read_in_six_files_and_eight_changes_between_them() -> None:
    result = counted().compute()
    found = steps(lambda: result.read("accuracy"))
    assert len(set(found)) <= 6, found
    assert len(found) <= 8, found


def watch(folder: Path) -> None:
    """Count two rows, of which the first is in a pane that is mature, and raise an alert."""
    log, checkpoint = folder / "log.jsonl", folder / "ck.db"
    checkpoint.unlink(missing_ok=True)
    times = ("2026-01-01T00:00:00Z", "2026-01-01T00:02:00Z")
    log.write_text("".join(f'{{"ts": "{time}", "y_true": 1, "y_pred": 0}}\n' for time in times))
    options = ["--time", "ts", "--pane", "1m", "--task", "classification", "--once"]
    rule = "accuracy < 0.9 for 1 pane"
    written = ["--checkpoint", str(checkpoint), "--alerts", rule]
    assert main(["watch", str(log), *options, *written]) == GATE_FAILED


@pytest.mark.slow
def test_watch_goes_from_a_row_to_an_alert_in_half_of_3907_steps(tmp_path: Path) -> None:
    """In a fresh process; again, when what is computed once exists."""
    code = (
        "import pathlib, sys, test_path_of_a_metric as path\n"
        "call = lambda: path.watch(pathlib.Path(sys.argv[1]))\n"
        "print(len(path.first_steps(call)), len(path.first_steps(call)), file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(
        command, cwd=Path(__file__).parent, capture_output=True, text=True, check=True
    )
    fresh, again = map(int, done.stderr.splitlines()[-1].split())
    assert fresh <= 3907 // 2
    assert again <= 1740
