"""The common part of file sources: the options of their formats."""

from __future__ import annotations

from typing import Any

from streameval.errors import InvalidInputError
from streameval.io import FORMATS, Dialect
from streameval.io.formats import checked_format
from streameval.monitoring.source_protocol import ResumableSource


class FileSource(ResumableSource):
    """A source of files.

    Parameters
    ----------
    form : str, optional
        The format.
    **dialect
        The other options of `Tail`.

    Raises
    ------
    InvalidInputError
        If an option is invalid.
    """

    def __init__(self, form: str | None, **dialect: Any) -> None:
        super().__init__()
        if form is not None and form not in FORMATS:
            names = ", ".join(map(repr, FORMATS))
            raise InvalidInputError(f"must be one of {names}, got {form!r}", argument="format")
        self._form, self._dialect = form, Dialect.of(**dialect)
        if form is not None:
            checked_format("files", form, self._dialect)

    def would_read(self, path: str) -> bool:  # noqa: ARG002 - those with files in folders do
        """Return whether a file would be read if it existed."""
        return False
