"""The errors of streameval, all under `StreamevalError`."""

__all__ = [
    "BadDataError",
    "CorruptStateError",
    "CountOverflowError",
    "IncompatibleStateError",
    "InvalidInputError",
    "StreamevalError",
    "UnknownMetricError",
    "UnsupportedVersionError",
    "require",
]


class StreamevalError(Exception):
    """The base of every error that streameval raises on purpose."""


class InvalidInputError(StreamevalError, ValueError):
    """An argument breaks a rule; the message names argument, rule and value."""


class UnknownMetricError(InvalidInputError):
    """A result has no metric of that name, or not of that class, average or argument."""


class BadDataError(StreamevalError, ValueError):
    """A file cannot be read, or holds rows that cannot be counted; the message names it."""


class IncompatibleStateError(StreamevalError, ValueError):
    """Two states cannot become one: their kind or their configuration differs."""


class CorruptStateError(StreamevalError, ValueError):
    """Bytes are not a state that streameval wrote."""


class UnsupportedVersionError(CorruptStateError):
    """Bytes were written in a version of the format that this release does not read."""


class CountOverflowError(StreamevalError, OverflowError):
    """A total would pass 2**63 - 1; it is refused, never wrapped."""


def require(claim: object, what: str) -> None:
    """Raise `CorruptStateError` unless the claim about decoded bytes holds."""
    if not claim:
        raise CorruptStateError(f"state is corrupt: {what}.")
