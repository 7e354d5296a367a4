"""Errors of the command line, and the exit code that belongs to every error."""

from __future__ import annotations

from streameval.configs.names import nearest
from streameval.errors import (
    BadDataError,
    CorruptStateError,
    CountOverflowError,
    IncompatibleStateError,
    InvalidInputError,
    StreamevalError,
)

__all__ = [
    "BAD_DATA",
    "GATE_FAILED",
    "INTERRUPTED",
    "OK",
    "USAGE",
    "UsageError",
    "exit_code",
    "nearest",
]

OK = 0
GATE_FAILED = 1
USAGE = 2
BAD_DATA = 3
INCOMPATIBLE = 4
INTERRUPTED = 130


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
