"""Error messages for files: which row cannot be counted, and what it holds."""

from __future__ import annotations

import reprlib

import attrs

from streameval.errors import BadDataError

_SHOWN = 40
# The depth is limited too: the repr of a deeply nested value can exceed the recursion limit.
_SHORT = reprlib.Repr()
_SHORT.maxlevel = 2
_SHORT.maxstring = _SHORT.maxlong = _SHORT.maxother = _SHOWN


class ScatteredQueryError(BadDataError):
    """A query of a run reappears after another one: its rows are not contiguous."""


class RepeatedQueryError(BadDataError):
    """A query is in two files, as in the runs of two systems."""


@attrs.frozen(repr=False)
class BadRow:
    """One row that cannot be counted.

    Parameters
    ----------
    source : str
        The name of the file, as the user gave it.
    unit : str
        What a row of it is called, "line", "row" or "query".
    row_id : int or str
        The number of the line or row, counted from 1, or the name of the query.
    reason : str
        What is wrong, without a period.
    """

    source: str
    unit: str
    row_id: int | str
    reason: str

    def __str__(self) -> str:
        """Return the message for people."""
        return f"{self.source}, {self.unit} {self.row_id}: {self.reason}."


def shown(value: object) -> str:
    """Quote a value from a file, short and on one line whatever it holds."""
    text = _SHORT.repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
