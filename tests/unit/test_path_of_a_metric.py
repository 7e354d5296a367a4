"""A metric is few files and few steps away from its accumulator."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import streameval as se

ROOT = str(Path(se.__file__).parent)


def steps(call: Callable[[], Any]) -> list[str]:
    """List the files of the calls that enter the package, or another file of it."""
    call()  # imports, and what is computed once
    found: list[str] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        file, before = frame.f_code.co_filename, frame.f_back
        while before is not None and not before.f_code.co_filename.startswith(ROOT):
            before = before.f_back  # through functools, NumPy and attrs
        if event == "call" and file.startswith(ROOT):
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
