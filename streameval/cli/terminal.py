"""What is said on standard error: warnings, notes and verdicts, in colour on a terminal."""

from __future__ import annotations

import os
import re
from typing import TextIO

import attrs

__all__ = ["Note", "is_live", "line_of", "printable", "printable_lines"]

_COLOURS = {"error": "31", "failed": "31", "undecided": "33", "warning": "33", "passed": "32"}

# C0 and C1 with DEL, the ends of lines and paragraphs, and what turns the text beside it.
_CONTROLS = r"\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
_CONTROL = re.compile(f"[{_CONTROLS}]")
_CONTROL_IN_LINES = re.compile(rf"(?![\n\t])[{_CONTROLS}]")


def printable(text: str) -> str:
    r"""Escape what a terminal would obey: text from files and arguments may hold anything.

    >>> printable("a\nb\x1b[2J")
    'a\\nb\\x1b[2J'
    """
    return _CONTROL.sub(_escaped, text)


def printable_lines(text: str) -> str:
    """Escape the same in text that was laid out already, but for its newlines and tabs."""
    return _CONTROL_IN_LINES.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")


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


def line_of(note: Note, stream: TextIO) -> str:
    """Lay out a note as one line, its kind in colour where the stream welcomes it."""
    kind = note.kind
    if kind in _COLOURS and is_live(stream) and not os.environ.get("NO_COLOR"):
        kind = f"\x1b[{_COLOURS[kind]}m{kind}\x1b[0m"
    return f"streameval: {kind}: {printable(note.text)}\n"
