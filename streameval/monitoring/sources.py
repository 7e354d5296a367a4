"""Sources by what a caller names: files and globs, a folder, standard input, or a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

from streameval.errors import InvalidInputError
from streameval.io.notation import TableOptions
from streameval.io.streams import STANDARD_INPUT
from streameval.monitoring.files import Tail
from streameval.monitoring.folders import Folder
from streameval.monitoring.source_protocol import Source, patterns_of
from streameval.monitoring.standard_input import StandardInput

_KAFKA = "kafka"
_SCHEMES = (_KAFKA, "redis", "rediss")


def as_source(
    value: Source | str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    argument: str = "source",
    kafka: Mapping[str, Any] | None = None,
    **options: Unpack[TableOptions],
) -> Source:
    """Make a source of a path, a glob, a list of them, "-", a folder or a URL.

    Parameters
    ----------
    value : Source, path, or sequence of paths
        A source is returned as it is. "-" is standard input, a folder is read as `Folder`, a URL
        that begins with kafka://, redis:// or rediss:// as `Kafka` or `RedisStream`, and anything
        else is followed as `Tail`.
    argument : str
        What errors call the value.
    kafka : mapping from str to value, optional
        The `config` of `Kafka`.
    **options
        How files are read, as `Tail` has them.

    Raises
    ------
    InvalidInputError
        If it is none of these, or standard input or a URL is one of several.
    """
    given = next((name for name, option in options.items() if option is not None), None)
    if isinstance(value, Source) and not isinstance(value, str | PathLike):
        if given is not None:
            raise InvalidInputError(
                f"must be an option of the source itself: {argument} is a source already",
                argument=given,
            )
        return value
    patterns = patterns_of(value, argument)
    if patterns == (STANDARD_INPUT,):
        return StandardInput(**options)
    if STANDARD_INPUT in patterns:
        raise InvalidInputError("must not mix standard input with files", argument=argument)
    scheme = next(filter(None, map(_scheme_of, patterns)), None)
    if scheme is not None:
        url, *others = patterns
        if others:
            raise InvalidInputError("must not mix a server with others", argument=argument)
        if given is not None:
            raise InvalidInputError(f"is an option of files, not of {scheme}", argument=given)
        if scheme == _KAFKA:
            from streameval.monitoring.kafka import Kafka  # noqa: PLC0415 (of Kafka)

            return Kafka.from_url(url, config=kafka)
        from streameval.monitoring.redis_stream import RedisStream  # noqa: PLC0415 (of Redis)

        return RedisStream.from_url(url)
    if len(patterns) == 1 and Path(patterns[0]).is_dir():
        return Folder(patterns[0], **options)
    return Tail(patterns, **options)


def _scheme_of(pattern: str) -> str | None:
    """Return the scheme of a URL of a server, None of a path."""
    scheme, mark, _ = pattern.partition("://")
    return scheme if mark and scheme in _SCHEMES else None
