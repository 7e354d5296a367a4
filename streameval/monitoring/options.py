"""Options that sources of files share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streameval.errors import InvalidInputError
from streameval.io import FORMATS, Dialect
from streameval.io.formats import checked_format

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["checked_options"]


def checked_options(
    form: str | None, delimiter: str | None, header: Sequence[str] | None
) -> tuple[str | None, Dialect]:
    """Check the options of a source of files.

    Raises
    ------
    InvalidInputError
        If one does not fit.
    """
    if form is not None and form not in FORMATS:
        names = ", ".join(map(repr, FORMATS))
        raise InvalidInputError(f"must be one of {names}, got {form!r}", argument="format")
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise InvalidInputError(
            f"must be one character other than a quote, got {delimiter!r}", argument="delimiter"
        )
    if isinstance(header, str):
        raise InvalidInputError(f"must be a list of names, got {header!r}", argument="header")
    dialect = Dialect(delimiter, None if header is None else tuple(header))
    if form is not None:
        checked_format("files", form, dialect)
    return form, dialect
