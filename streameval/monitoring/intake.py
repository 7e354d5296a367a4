"""The sources of a monitor: made of what a caller names, and how far each has been read."""

from __future__ import annotations

import datetime
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from decimal import Decimal
from functools import partial
from itertools import count
from os import PathLike
from typing import TYPE_CHECKING, Any, Unpack

from streameval.errors import BadDataError, InvalidInputError
from streameval.inputs.paths import Fields
from streameval.io.notation import TableOptions
from streameval.io.streams import STANDARD_INPUT
from streameval.monitoring.files import Tail
from streameval.monitoring.folders import Folder
from streameval.monitoring.sources import Source, patterns_of
from streameval.monitoring.standard_input import StandardInput
from streameval.monitoring.watermarks import Partitions
from streameval.runs.counting import bad_rows
from streameval.runs.totals import BadRows

if TYPE_CHECKING:
    from streameval.io.blocks import Block, Parsed
    from streameval.io.row_filters import RowFilter
    from streameval.monitoring.settings import Settings
    from streameval.monitoring.sources import Chunk, Source
    from streameval.runs.counting import RowShare

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
        else is followed as `Tail`. A folder that does not exist yet ends in a slash.
    argument : str
        What errors call the value.
    kafka : mapping from str to value, optional
        The `config` of `Kafka`.
    **options
        How files are read, as `Tail` has them.

    Raises
    ------
    InvalidInputError
        If it is none of these, or standard input, a folder or a URL is one of several.
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
    folder = next(filter(_is_folder, patterns), None)
    if folder is None:
        return Tail(patterns, **options)
    if len(patterns) > 1:
        raise InvalidInputError(f"must not mix the folder {folder} with others", argument=argument)
    return Folder(folder, **options)


def _is_folder(pattern: str) -> bool:
    return os.path.isdir(pattern) or pattern.endswith(os.sep)


def _scheme_of(pattern: str) -> str | None:
    """Return the scheme of a URL of a server, None of a path."""
    scheme, mark, _ = pattern.partition("://")
    return scheme if mark and scheme in _SCHEMES else None


_FIRST_ROWS = 100
_MAX_HELD = 64


class Reader:
    """A source that is read chunk by chunk, after its first rows have shown how.

    Parameters
    ----------
    role : {"predictions", "labels"}
    source : Source
    """

    def __init__(self, role: str, source: Source) -> None:
        self.role = role
        self.source = source
        self.partitions = Partitions(0)
        """The progress of its event time, once rows are counted."""
        self.plan: Any = None  # a Plan, once there is one
        self.position: Any = None
        self.held: list[Chunk] = []
        self.rows: list[Fields] = []
        self.waits_for: int | None = None
        """The event time that the clock must reach before the next chunk is taken."""
        self._others: list[Fields] = []
        self._n_seen = self._n_bytes = 0
        self.n_held = 0
        """The number of rows in the chunks that `hold` has seen."""
        self.is_full = False
        """Whether `hold` has held as much as it may."""

    def look(self, limit: int, where: RowFilter | None, bad: BadRows) -> bool:
        """Hold chunks until there are rows to examine; return whether there are.

        They are the first rows that the filter keeps, unless these come very late.
        """
        for chunk in () if self.rows else self._ahead(limit, range(len(self.held), _MAX_HELD)):
            rows = list(map(Fields, chunk.block.rows()))
            self.rows = [row for row in rows if where is None or where.keeps(row)][:_FIRST_ROWS]
            self._others = self._others or rows[:_FIRST_ROWS]
            if not rows:
                bad.add(bad_rows(chunk.block, chunk.block.parse(()).faults))
            if self.rows:
                break
        self.rows = self.rows or self._others
        if not self.rows and len(self.held) == _MAX_HELD:
            raise BadDataError(f"{self.source.name}: none of the first rows can be counted.")
        return bool(self.rows)

    def hold(self, limit: int, max_rows: int, n_rows_of: Callable[[Block], int]) -> None:
        """Hold the next chunks while another source has no rows, and count their rows.

        Parameters
        ----------
        limit : int
            The bytes of a chunk; 64 times as many are held.
        max_rows : int
            The number of rows at which to stop.
        n_rows_of : callable
            Counts the rows of a block.
        """
        first, n_held = self._n_seen, len(self.held)
        numbers = count(first) if self.rows else range(first, n_held)  # else `look` has read
        for chunk in () if self.is_full else self._ahead(limit, numbers):
            self.n_held += n_rows_of(chunk.block)
            self._n_bytes += chunk.block.taken
            self._n_seen += 1
            self.is_full = self._n_bytes >= _MAX_HELD * limit or self.n_held >= max_rows
            if self.is_full:
                break

    def next(self, limit: int) -> Chunk | None:
        """Return the next chunk; None if there is none, or if it must wait for the clock."""
        if self.waits_for is not None:
            return None
        return self.held.pop(0) if self.held else self.source.read(limit)

    def following(self, partition: str, limit: int) -> Iterator[tuple[bool, Callable[[], Parsed]]]:
        """Look at the chunks after the one returned last; a limited number is held.

        Yields
        ------
        bool
            Whether it is of a partition.
        callable
            Parses it.
        """
        for chunk in self._ahead(limit, range(_MAX_HELD)):
            parse = partial(chunk.block.parse, self.plan.columns, self.plan.where)
            yield chunk.partition == partition, parse

    def put_back(self, chunk: Chunk, until: int) -> None:
        """Return the next chunk again, once the clock has reached a time."""
        self.held.insert(0, chunk)
        self.waits_for = until

    def _ahead(self, limit: int, numbers: Iterable[int]) -> Iterator[Chunk]:
        """Yield the next chunks of some numbers, and hold them."""
        for at in numbers:
            if at == len(self.held):
                chunk = self.source.read(limit)
                if chunk is None:
                    return
                self.held.append(chunk)
            yield self.held[at]


class Intake:
    """One or two sources, each with a reader.

    Parameters
    ----------
    sources : mapping from role to Source
        The sources of "predictions" and, if there are any, of "labels".
    settings : Settings
        Decides when a partition is behind, and when it is idle.
    """

    def __init__(self, sources: Mapping[str, Source], settings: Settings) -> None:
        self._settings = settings
        self.readers = {role: Reader(role, source) for role, source in sources.items()}

    def begin(self, pane: int) -> None:
        """Note the width of panes before rows are read."""
        given = self._settings
        for reader in self.readers.values():
            reader.partitions = Partitions(given.out_of_order, given.max_step(pane))

    def restore(self, partitions: Mapping[str, Any], positions: Mapping[str, Any]) -> None:
        """Continue from earlier values of `partitions_to_json` and `positions`."""
        for role, reader in self.readers.items():
            reader.partitions.restore(partitions[role])
            reader.position = positions.get(role)

    def seek(self) -> None:
        """Move the sources to their positions."""
        for reader in self.readers.values():
            reader.source.seek(reader.position)

    def look(self, limit: int, where: RowFilter | None, max_bad: int | RowShare) -> bool:
        """Hold the first rows of every source; return whether each source has some."""
        bad = BadRows(max_bad)
        filters = {"predictions": where}
        found = [
            reader.look(limit, filters.get(role), bad) for role, reader in self.readers.items()
        ]
        return all(found)

    @staticmethod
    def next(order: Iterable[Reader], limit: int) -> tuple[Reader, Chunk] | None:
        """Read from the first of several readers that has more rows; None if none has."""
        for reader in order:
            chunk = reader.next(limit)
            if chunk is not None:
                return reader, chunk
        return None

    def resume(self) -> None:
        """Try again to read what waited for the clock."""
        for reader in self.readers.values():
            reader.waits_for = None

    def declare(self, now: float) -> None:
        """Wait for newly found partitions before anything is decided without them."""
        for reader in self.readers.values():
            reader.partitions.declare(getattr(reader.source, "partitions", ()), now)

    def release_idle(self, now: float) -> bool:
        """Stop waiting for silent partitions; return whether there are any."""
        given = self._settings
        idle_after = {"predictions": given.idle_after, "labels": given.label_idle_after}
        gone = [
            reader.partitions.release(now, idle_after[role])
            for role, reader in self.readers.items()
            if _is_caught_up(reader.source) and reader.waits_for is None
        ]
        return any(gone)

    @property
    def predictions(self) -> Partitions:
        """The progress of predictions."""
        return self.readers["predictions"].partitions

    @property
    def lag_bytes(self) -> dict[str, int]:
        """How many bytes of each source have not been read, where it knows."""
        found = {
            role: getattr(reader.source, "lag_bytes", None) for role, reader in self.readers.items()
        }
        return {role: size for role, size in found.items() if size is not None}

    @property
    def positions(self) -> dict[str, Any]:
        """How far each source has been read."""
        return {role: reader.position for role, reader in self.readers.items()}

    def partitions_to_json(self) -> dict[str, Any]:
        """Return the progress of the partitions of each source."""
        return {role: reader.partitions.to_json() for role, reader in self.readers.items()}

    @property
    def is_waiting(self) -> bool:
        """Whether a server did not answer, so that there may be rows although none was read."""
        return not all(_is_caught_up(reader.source) for reader in self.readers.values())

    @property
    def is_at_end(self) -> bool:
        """Whether no source can have more."""
        return all(
            reader.source.is_at_end and reader.waits_for is None for reader in self.readers.values()
        )

    @property
    def waits_for(self) -> int | None:
        """The event time that the clock must reach before everything can be read."""
        times = [reader.waits_for for reader in self.readers.values()]
        return max((time for time in times if time is not None), default=None)

    def counts(self) -> Counter[str]:
        """Return the counts of the sources since the last call."""
        counts: Counter[str] = Counter()
        for reader in self.readers.values():
            counts.update(getattr(reader.source, "counts", dict)())
        return counts

    def warnings(self) -> list[str]:
        """Return the warnings of the sources since the last call."""
        return [text for reader in self.readers.values() for text in reader.source.warnings()]

    def interrupt(self) -> None:
        """Make sources stop waiting for servers."""
        for reader in self.readers.values():
            getattr(reader.source, "interrupt", lambda: None)()

    def close(self) -> None:
        """Close the sources, all of them even if one raises."""
        with ExitStack() as closing:
            for reader in self.readers.values():
                closing.callback(reader.source.close)


def _is_caught_up(source: Source) -> bool:
    """Return whether None from a source means that everything has been read."""
    return bool(getattr(source, "is_caught_up", True))


def row_to_json(row: Any) -> Any:
    """Write one of the first rows as JSON that reads as the same types."""
    if isinstance(row, Mapping):
        return {str(name): row_to_json(value) for name, value in row.items()}
    if isinstance(row, list):
        return list(map(row_to_json, row))
    if isinstance(row, Decimal):
        return float(row)
    return row.isoformat() if isinstance(row, datetime.date | datetime.time) else row
