"""Errors of the command line, and the exit code that belongs to every error."""

from __future__ import annotations

import difflib
import signal
from typing import TYPE_CHECKING

from streameval.errors import (
    BadDataError,
    CorruptStateError,
    CountOverflowError,
    IncompatibleStateError,
    InvalidInputError,
    StreamevalError,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "BAD_DATA",
    "GATE_FAILED",
    "INTERRUPTED",
    "OK",
    "SIGNALLED",
    "USAGE",
    "Terminated",
    "UsageError",
    "exit_code",
    "nearest",
]

OK = 0
GATE_FAILED = 1
USAGE = 2
BAD_DATA = 3
INCOMPATIBLE = 4
SIGNALLED = 128  # and the number of the signal, as shells have it
INTERRUPTED = SIGNALLED + signal.SIGINT

# How many names a message lists.
_LISTED = 20


class Terminated(BaseException):
    """A signal asks the process to end; like KeyboardInterrupt, it is no Exception."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class UsageError(StreamevalError):
    """The command asks for something that cannot be meant."""


_EXIT_CODES: dict[type[StreamevalError], int] = {
    UsageError: USAGE,
    InvalidInputError: USAGE,
    BadDataError: BAD_DATA,
    CorruptStateError: BAD_DATA,
    CountOverflowError: BAD_DATA,
    IncompatibleStateError: INCOMPATIBLE,
}


def exit_code(error: StreamevalError) -> int:
    """Give the exit code of an error."""
    return next(code for kind, code in _EXIT_CODES.items() if isinstance(error, kind))


def nearest(name: str, known: Iterable[str]) -> str:
    """Suggest the nearest known name, as the end of a sentence, and list them all.

    >>> nearest("y_tru", ["y_true", "y_pred"])
    "did you mean 'y_true'? There are y_true, y_pred."
    """
    names = list(dict.fromkeys(known))
    folded = {text.casefold(): text for text in reversed(names)}
    close = difflib.get_close_matches(name, names, n=1) or [
        folded[text] for text in difflib.get_close_matches(name.casefold(), folded, n=1)
    ]
    # Names come from files: a table may have thousands, with anything in them.
    printable = [text if _is_plain(text) else repr(text) for text in names[:_LISTED]]
    listing = f"There are {', '.join(printable)}{', ...' if len(names) > _LISTED else '.'}"
    return f"did you mean {close[0]!r}? {listing}" if close else listing[0].lower() + listing[1:]


def _is_plain(name: str) -> bool:
    """Say whether a name can stand in a list without quotes."""
    return name.isprintable() and name.strip() == name != ""
