"""Errors of the command line, and the exit code that belongs to every error."""

from __future__ import annotations

import signal

from streameval.errors import (
    BadDataError,
    CorruptStateError,
    CountOverflowError,
    IncompatibleStateError,
    InvalidInputError,
    StreamevalError,
    UnavailableError,
)

OK = 0
GATE_FAILED = 1
USAGE = 2
BAD_DATA = 3
INCOMPATIBLE = 4
UNAVAILABLE = 5
SIGNALLED = 128  # plus the number of the signal, as in shells
INTERRUPTED = SIGNALLED + signal.SIGINT


class Terminated(BaseException):
    """A signal asks the process to end; like KeyboardInterrupt, this is not an Exception."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class UsageError(StreamevalError):
    """The command line contradicts itself, or asks for something that does not exist."""


class MissingColumnError(UsageError):
    """The first rows lack a column that an option names."""


_EXIT_CODES: dict[type[StreamevalError], int] = {
    UsageError: USAGE,
    InvalidInputError: USAGE,
    UnavailableError: UNAVAILABLE,
    BadDataError: BAD_DATA,
    CorruptStateError: BAD_DATA,
    CountOverflowError: BAD_DATA,
    IncompatibleStateError: INCOMPATIBLE,
}


def exit_code(error: StreamevalError) -> int:
    """Return the exit code of an error."""
    return next(code for type_, code in _EXIT_CODES.items() if isinstance(error, type_))
