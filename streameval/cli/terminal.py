"""What is said on standard error: warnings, notes and verdicts, in colour on a terminal."""

from __future__ import annotations

import os
import shutil
from typing import TextIO

import attrs

from streameval.render.text import printable

__all__ = ["Note", "is_live", "line_of", "width_of"]

_COLOURS = {"error": "31", "failed": "31", "undecided": "33", "warning": "33", "passed": "32"}


@attrs.frozen
class Note:
    """One line for the user.

    Parameters
    ----------
    kind : str
        "note", "warning", "error", or the verdict of a gate.
    text : str
        A sentence.
    """

    kind: str
    text: str


def is_live(stream: TextIO) -> bool:
    """Tell whether a stream is a terminal on which a line can be rewritten."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def width_of(stream: TextIO) -> int | None:
    """Give the width of a terminal; None of a file or a pipe, which has none."""
    return shutil.get_terminal_size().columns if stream.isatty() else None


def line_of(note: Note, stream: TextIO) -> str:
    """Lay out a note as one line, its kind in colour where the stream welcomes it."""
    kind = note.kind
    if kind in _COLOURS and is_live(stream) and not os.environ.get("NO_COLOR"):
        kind = f"\x1b[{_COLOURS[kind]}m{kind}\x1b[0m"
    return f"streameval: {kind}: {printable(note.text)}\n"
