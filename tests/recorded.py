"""Texts that tests expect, in files that one command writes anew: ``RECORD=1 pytest -n 0``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

FOLDER = Path(__file__).parent / "texts"


def check(name: str, lines: Sequence[str]) -> None:
    """Compare lines with those of a file, which a review of its changes reads."""
    file = FOLDER / name
    if os.environ.get("RECORD"):
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    assert [*lines] == texts(name)


def texts(name: str) -> list[str]:
    """Read the lines of a file."""
    return (FOLDER / name).read_text(encoding="utf-8").splitlines()
