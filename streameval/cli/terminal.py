"""Output on standard error: warnings, notes and verdicts, in colour on a terminal."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, TextIO

import attrs

from streameval.render.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

_COLOURS = {"error": "31", "failed": "31", "undecided": "33", "warning": "33", "passed": "32"}


@attrs.frozen
class Note:
    """One line for the user.

    Parameters
    ----------
    category : str
        "note", "warning", "error", or the verdict of a gate.
    text : str
        A sentence.
    """

    category: str
    text: str


def is_live(stream: TextIO) -> bool:
    """Tell whether a stream is a terminal on which a line can be rewritten."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def width_of(stream: TextIO) -> int | None:
    """Return the width of a terminal; None for a file or a pipe."""
    return shutil.get_terminal_size().columns if stream.isatty() else None


def line_of(note: Note, stream: TextIO) -> str:
    """Lay out a note as one line, with its category in colour if the stream supports it."""
    category = note.category
    if category in _COLOURS and is_live(stream) and not os.environ.get("NO_COLOR"):
        category = f"\x1b[{_COLOURS[category]}m{category}\x1b[0m"
    return f"streameval: {category}: {printable(note.text)}\n"


def put(stream: TextIO, texts: Iterable[str]) -> OSError | None:
    """Write and flush. On an error, redirect the stream to the null device and return the error."""
    try:
        stream.writelines(texts)
        stream.flush()
    except OSError as error:
        # Python's note on SIGPIPE advises this: the flush at exit must not raise again.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
        return error
    return None
