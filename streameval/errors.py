"""The errors of streameval, all under `StreamevalError`."""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from typing import Any, Self

ArgumentNames = Callable[["Named"], str | None]
"""What an argument is called; None where it keeps its name."""

__all__ = [
    "BadDataError",
    "CorruptStateError",
    "CountOverflowError",
    "IncompatibleStateError",
    "InvalidInputError",
    "Named",
    "StreamevalError",
    "UnavailableError",
    "UnknownMetricError",
    "UnknownTypeError",
    "UnsupportedVersionError",
    "corrupt",
    "refused",
    "require",
]


Position = int | tuple[int, ...]


class Named:
    """An argument mentioned in a message, which can be shown under another name.

    Parameters
    ----------
    name : str
        The name of the argument.
    value : str, optional
        Its value, as Python writes it; "" for any value.

    Examples
    --------
    >>> str(Named("top_k")), str(Named("top_k", "2"))
    ('`top_k`', 'top_k=2')
    """

    __slots__ = ("name", "value")

    def __init__(self, name: str, value: str | None = None) -> None:
        self.name = name
        self.value = value

    def __str__(self) -> str:
        """Return the text for a sentence."""
        return f"`{self.name}`" if self.value is None else f"{self.name}={self.value}"

    def __repr__(self) -> str:
        """Return the expression that creates it."""
        return f"Named({self.name!r}, {self.value!r})"


class StreamevalError(Exception):
    """The base of every error that streameval raises on purpose.

    The message is composed of its parts here and nowhere else::

        `y_score` must lie in [0, 1], got 3.2 at position 17. Pass scores="real" for logits.
         argument  reason                         position     remedy

    Parameters
    ----------
    *reason : object
        What is wrong, in pieces; `Named` pieces are arguments. Without the keywords below, this is
        the whole message.
    argument : str or Named, optional
        The argument that breaks a rule.
    position : int or tuple of int, optional
        The position in the argument.
    at : str
        The word before the position in the message.
    remedy : str or tuple, optional
        What to do about it: whole sentences, in pieces if they mention arguments.
    where : str
        The beginning of the message: the member of a collection, or a file.

    Attributes
    ----------
    argument, reason, position
        As above; `reason` is text.
    """

    argument: str | None
    reason: str
    position: Position | None

    def __init__(
        self,
        *reason: object,
        argument: str | Named | None = None,
        position: Position | None = None,
        at: str = "at position",
        remedy: str | tuple[object, ...] = (),
        where: str = "",
    ) -> None:
        subject = Named(argument) if isinstance(argument, str) else argument
        advice = (remedy,) if remedy and isinstance(remedy, str) else tuple(remedy)
        self._parts: dict[str, Any] = {
            "argument": subject,
            "at": at,
            "remedy": advice,
            "where": where,
        }
        self._pieces = reason
        self.argument = None if subject is None else subject.name
        self.position = position
        self.reason = "".join(map(str, reason))
        super().__init__(self.told())

    def told(self, words: ArgumentNames = lambda _: None, *, with_position: bool = True) -> str:
        """Return the message with other names for arguments, with or without the position."""
        subject, at, advice, where = self._parts.values()
        said = "".join(_worded(piece, words) for piece in self._pieces)
        if subject is not None:
            usual = f"`{str(subject).strip('`')}`"
            said = f"{words(subject) or usual} {said}"
        if self.position is not None and with_position:
            said = f"{said} {at} {self.position}"
        if subject is not None or self.position is not None or advice:
            said += "."
        if advice:
            said = f"{said} {''.join(_worded(piece, words) for piece in advice)}"
        return f"{where}{said}"

    def within(self, where: str) -> Self:
        """Return the same error with a message that begins with its location."""
        return self._with(where=f"{where}: {self._parts['where']}")

    def moved(self, rows: Sequence[int]) -> Self:
        """Return the same error, which has a position, about a batch of which these rows are."""
        position: Any = self.position
        row, *rest = (position,) if isinstance(position, int) else position
        moved = int(rows[row])
        return self._with(position=(moved, *rest) if rest else moved)

    def renamed(self, old: str, new: str) -> Self:
        """Return the same error with another name for an argument wherever it is mentioned."""

        def changed(piece: object) -> object:
            if isinstance(piece, Named) and piece.name == old:
                return Named(new, piece.value)
            return piece

        pieces = tuple(map(changed, self._pieces))
        parts = self._parts | {
            "argument": changed(self._parts["argument"]),
            "remedy": tuple(map(changed, self._parts["remedy"])),
        }
        made: Self = _remade(type(self), pieces, {"position": self.position, **parts})
        return made

    def _with(self, **changes: Any) -> Self:
        """Return the same error with other parts."""
        parts = {"position": self.position, **self._parts} | changes
        made: Self = _remade(type(self), self._pieces, parts)
        vars(made).update(
            {name: vars(self)[name] for name in vars(self).keys() - vars(made).keys()}
        )
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep the parts in copies and pickles."""
        parts = {"position": self.position, **self._parts}
        return _remade, (type(self), self._pieces, parts), vars(self)


def _worded(piece: object, words: ArgumentNames) -> str:
    return (words(piece) if isinstance(piece, Named) else None) or str(piece)


def _remade(cls: type[StreamevalError], pieces: tuple[object, ...], parts: dict[str, Any]) -> Any:
    """Create an error from its parts, whatever arguments its class takes."""
    error = cls.__new__(cls)
    StreamevalError.__init__(error, *pieces, **parts)
    return error


class InvalidInputError(StreamevalError, ValueError):
    """An argument breaks a rule; the message names argument, rule and value."""


class UnknownMetricError(InvalidInputError):
    """A result has no metric of that name, class, average or argument."""


class BadDataError(StreamevalError, ValueError):
    """A file cannot be read, or holds rows that cannot be counted; the message names it."""


class UnavailableError(BadDataError):
    """A checkpoint, port, disk or server is in use or does not answer; a later try may succeed."""


class IncompatibleStateError(StreamevalError, ValueError):
    """Two states cannot be merged: their class or their configuration differs."""


class CorruptStateError(StreamevalError, ValueError):
    """Bytes are not a state that streameval wrote."""


class UnsupportedVersionError(CorruptStateError):
    """Bytes were written in a version of the format that this release does not read."""


class UnknownTypeError(CorruptStateError):
    """Bytes hold an accumulator of a class that is not defined here; the message names it."""


class CountOverflowError(StreamevalError, OverflowError):
    """A total would pass 2**63 - 1; it is refused, never wrapped."""


_PASSING = {
    *(errno.EBUSY, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOSPC),
    *(errno.ESTALE, errno.ETIMEDOUT),
}


def refused(what: str, error: OSError) -> BadDataError:
    """Create the error about a file that the system refuses, perhaps only now."""
    made = UnavailableError if error.errno in _PASSING else BadDataError
    return made(f"{what}: {str(error.strerror or error).lower().removesuffix('.')}.")


def require(claim: object, what: str) -> None:
    """Raise `CorruptStateError` unless the claim about decoded bytes holds."""
    if not claim:
        raise corrupt(what)


def corrupt(what: str) -> CorruptStateError:
    """Create the error about decoded bytes, for checks that build their message only on failure."""
    return CorruptStateError(f"state is corrupt: {what}.")
