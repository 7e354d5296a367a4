"""The common part of file sources: the options of their formats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streameval.errors import InvalidInputError
from streameval.io import FORMATS, Dialect
from streameval.io.formats import checked_format
from streameval.monitoring.resumable import ResumableSource

if TYPE_CHECKING:
    from collections.abc import Sequence


class FileSource(ResumableSource):
    """A source of files.

    Parameters
    ----------
    format, delimiter, header, decimal
        See `Tail`.

    Raises
    ------
    InvalidInputError
        If an option is invalid.
    """

    def __init__(
        self,
        form: str | None,
        delimiter: str | None,
        header: Sequence[str] | None,
        decimal: str | None,
    ) -> None:
        super().__init__()
        if form is not None and form not in FORMATS:
            names = ", ".join(map(repr, FORMATS))
            raise InvalidInputError(f"must be one of {names}, got {form!r}", argument="format")
        if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
            raise InvalidInputError(
                f"must be one character other than a quote, got {delimiter!r}",
                argument="delimiter",
            )
        if isinstance(header, str):
            raise InvalidInputError(f"must be a list of names, got {header!r}", argument="header")
        if decimal not in (None, ",", "."):
            raise InvalidInputError(f"must be ',' or '.', got {decimal!r}", argument="decimal")
        names_of_columns = None if header is None else tuple(header)
        self._form, self._dialect = form, Dialect(delimiter, names_of_columns, decimal)
        if form is not None:
            checked_format("files", form, self._dialect)

    def would_read(self, path: str) -> bool:  # noqa: ARG002 - those with files in folders do
        """Return whether a file would be read if it existed."""
        return False
