"""Sources by what a caller names: files and globs, a folder, or standard input."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from streameval.errors import InvalidInputError
from streameval.io.streams import STANDARD_INPUT
from streameval.monitoring.files import Tail
from streameval.monitoring.folders import Folder
from streameval.monitoring.source_protocol import Source, patterns_of
from streameval.monitoring.standard_input import StandardInput

__all__ = ["as_source"]


def as_source(
    value: Source | str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    argument: str = "source",
    format: str | None = None,  # noqa: A002 - the name that readers have everywhere
    delimiter: str | None = None,
    header: Sequence[str] | None = None,
    decimal: str | None = None,
) -> Source:
    """Make a source of a path, a glob, a list of them, "-" or a folder.

    Parameters
    ----------
    value : Source, path, or sequence of paths
        A source is returned as it is. "-" is standard input, a folder is read as `Folder`, and
        anything else is followed as `Tail`.
    argument : str
        What errors call the value.
    format, delimiter, header, decimal
        As `Tail` has them.

    Raises
    ------
    InvalidInputError
        If it is none of these, or standard input is one of several.
    """
    table = {"delimiter": delimiter, "header": header, "decimal": decimal}
    options: dict[str, Any] = {"format": format, **table}
    if isinstance(value, Source) and not isinstance(value, str | PathLike):
        given = next((name for name, option in options.items() if option is not None), None)
        if given is not None:
            raise InvalidInputError(
                f"is an option of the source itself, which {argument} already is", argument=given
            )
        return value
    patterns = patterns_of(value, argument)
    if patterns == (STANDARD_INPUT,):
        return StandardInput(**options)
    if STANDARD_INPUT in patterns:
        raise InvalidInputError("must not mix standard input with files", argument=argument)
    if len(patterns) == 1 and Path(patterns[0]).is_dir():
        return Folder(patterns[0], **options)
    return Tail(patterns, **options)
