"""The output of a command; warnings, notes and verdicts in colour, and a progress line."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self, TextIO

import attrs

from streameval.cli.errors import OK
from streameval.errors import refused
from streameval.render.text import duration, json_line, printable, printable_lines, size

if TYPE_CHECKING:
    from streameval.render.sheets import Paint

_RED, _YELLOW, _GREEN = "31", "33", "32"
_COLOURS = {
    "error": _RED,
    "failed": _RED,
    "undecided": _YELLOW,
    "warning": _YELLOW,
    "passed": _GREEN,
}


@attrs.frozen(repr=False)
class Note:
    """One line for the user.

    Parameters
    ----------
    category : str
        "note", "warning", "error", or the verdict of a gate.
    text : str
        A sentence.
    data : mapping, optional
        What a log of JSON lines has besides.
    """

    category: str
    text: str
    data: Mapping[str, Any] = attrs.field(factory=dict, hash=False)


ENDS = ("once", "check", "init")
"""The options with which `watch` ends by itself."""

# What --quiet leaves out.
_QUIET = ("note", "passed", "warning", "info")


@attrs.frozen(eq=False, repr=False)
class CommandOutput:
    """The output of a command that has finished.

    Parameters
    ----------
    text : str
        For standard output.
    notes : tuple of Note
        For standard error.
    code : int
        The exit code.
    before : iterable of str
        Text that goes to standard output first, in pieces because it may be long.
    is_data : bool
        Whether the text is in a requested format; --quiet prints it too.
    """

    text: str
    notes: tuple[Note, ...] = ()
    code: int = OK
    before: Iterable[str] = ()
    is_data: bool = False

    def quieted(self) -> CommandOutput:
        """Keep only errors, gates that did not pass, and data."""
        text = self.text if self.is_data else ""
        return attrs.evolve(self, text=text, notes=quieted(self.notes))


def quieted(notes: Iterable[Note]) -> tuple[Note, ...]:
    """Keep what is shown with --quiet."""
    return tuple(note for note in notes if note.category not in _QUIET)


def is_live(stream: TextIO) -> bool:
    """Tell whether a stream is a terminal on which a line can be rewritten."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def width_of(stream: TextIO) -> int | None:
    """Return the width of a terminal; None for a file or a pipe."""
    return _columns() if stream.isatty() else None


def _columns() -> int:
    import shutil  # noqa: PLC0415 (slow to import, and only of terminals)

    return shutil.get_terminal_size().columns


def has_colour(stream: TextIO) -> bool:
    """Tell whether a stream gets colours: a terminal does, unless the environment says otherwise.

    `NO_COLOR` forbids them, https://no-color.org; `FORCE_COLOR` requests them, also for a pipe.
    """
    forced = os.environ.get("FORCE_COLOR", "")
    return not os.environ.get("NO_COLOR") and (is_live(stream) or forced not in ("", "0"))


def _in_colour(text: str, colour: str) -> str:
    return f"\x1b[{colour}m{text}\x1b[0m"


class Drawn(str):
    """Text without control characters but those of colours."""

    __slots__ = ()


def escaped(text: str) -> str:
    """Escape the control characters of a text that has no colours."""
    return text if isinstance(text, Drawn) else printable_lines(text)


def painter(stream: TextIO) -> Paint | None:
    """Return how a stream shows marked cells; None if it is not a terminal."""
    if has_colour(stream):
        return lambda cell: _in_colour(cell, _RED)
    return str if is_live(stream) else None


def log_format_of(command: str, log_format: str | None, *ends: Any) -> str | None:
    """Choose what the lines of a command are: "json", "text" with times, or None without.

    Those of a command that ends have no times, unless they are requested.
    """
    return log_format or ("text" if command == "watch" and not any(ends) else None)


def line_of(note: Note, stream: TextIO, log_format: str | None = None) -> str:
    """Lay out a note as one line, with its category in colour if the stream supports it.

    In a log, it begins with the time, or is a JSON object.
    """
    category, now = note.category, f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%f}"[:-3] + "Z"
    if log_format == "json":
        level = "info" if category == "note" else category
        return json_line({"time": now, "level": level, "message": note.text, **note.data})
    stamp = f"{now} " if log_format else ""
    if category in _COLOURS and has_colour(stream):
        category = _in_colour(category, _COLOURS[category])
    return f"{stamp}streameval: {category}: {printable(note.text)}\n"


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


def print_out(texts: Iterable[str]) -> bool:
    """Print on standard output; return False if its reader has closed it, which is no error.

    Raises
    ------
    BadDataError
        If it cannot be written; `UnavailableError` if the disk is full.
    """
    error = put(sys.stdout, filter(None, map(escaped, texts)))
    if error is not None and not isinstance(error, BrokenPipeError):
        raise refused("standard output", error)
    return error is None


_INTERVAL = 0.1
_BAR_WIDTH = 20


class ProgressLine:
    """Rewrite one line on a terminal, at most ten times a second, and erase it at the end.

    Parameters
    ----------
    stream : text stream, optional
        The terminal; None prints nothing.
    total : int, optional
        The bytes to read, if they are known.
    clock : callable
        Returns the time in seconds.
    """

    def __init__(
        self,
        stream: TextIO | None,
        total: int | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream
        self._total = total
        self._clock = clock
        self._start = self._drawn = clock()
        self._rows = self._bytes = 0

    def __enter__(self) -> Self:
        """Begin; nothing is drawn yet."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Erase the line, even after an exception."""
        if self._stream is not None and self._drawn > self._start:
            self._draw("")

    def advance(self, rows: int, n_bytes: int) -> None:
        """Add to the progress, and redraw when due."""
        self._rows += rows
        self._bytes += n_bytes
        now = self._clock()
        if self._stream is not None and now - self._drawn >= _INTERVAL:
            self._drawn = now
            self._draw(self._line(now - self._start))

    def _draw(self, line: str) -> None:
        assert self._stream is not None  # noqa: S101 - for the type checker
        self._stream.write(f"\r{line[: _columns() - 1]}\x1b[K")
        self._stream.flush()

    def _line(self, seconds: float) -> str:
        counts = f"{self._rows:,} rows  {size(self._bytes)}  {self._rows / seconds:,.0f} rows/s"
        if not self._total:
            return counts
        share = min(self._bytes / self._total, 1.0)
        bar = "#" * round(share * _BAR_WIDTH)
        left = seconds * (1.0 - share) / share if share else 0.0
        return f"{share:4.0%} [{bar:<{_BAR_WIDTH}}] {counts}  {duration(left)} left"
