"""All sources of a monitor: their positions, counters and warnings."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from streameval.monitoring.reader import Reader
from streameval.monitoring.watermarks import Partitions
from streameval.runs.totals import BadRows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from streameval.io.row_filters import RowFilter
    from streameval.monitoring.settings import Settings
    from streameval.monitoring.source_protocol import Chunk, Source
    from streameval.runs.counting import RowShare


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
        self._max_step: int | None = None
        self.readers = {
            role: Reader(role, source, self._partitions(role, {}))
            for role, source in sources.items()
        }

    def begin(self, pane: int) -> None:
        """Note the width of panes before rows are read."""
        self._max_step = self._settings.max_step(pane)
        for role, reader in self.readers.items():
            reader.partitions = self._partitions(role, {})

    def restore(self, partitions: Mapping[str, Any], positions: Mapping[str, Any]) -> None:
        """Continue from earlier values of `partitions_to_json` and `positions`."""
        for role, reader in self.readers.items():
            reader.partitions = self._partitions(role, partitions[role])
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

    def declare(self, now: float) -> list[tuple[str, str]]:
        """Wait for newly found partitions, and return their roles and names."""
        return [
            (role, name)
            for role, reader in self.readers.items()
            for name in reader.partitions.declare(getattr(reader.source, "partitions", ()), now)
        ]

    def release_idle(self, now: float) -> list[tuple[str, str]]:
        """Stop waiting for silent partitions, and return their roles and names."""
        return [
            (role, name)
            for role, reader in self.readers.items()
            if _is_caught_up(reader.source) and reader.waits_for is None
            for name in reader.partitions.release(now)
        ]

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
            getattr(reader.source, "interrupt", _ignore)()

    def close(self) -> None:
        """Close the sources, all of them even if one raises."""
        with ExitStack() as closing:
            for reader in self.readers.values():
                closing.callback(reader.source.close)

    def _partitions(self, role: str, state: Mapping[str, Any]) -> Partitions:
        given = self._settings
        idle_after = given.label_idle_after if role == "labels" else given.idle_after
        return Partitions(given.out_of_order, idle_after, state, self._max_step)


def _ignore() -> None:
    pass


def _is_caught_up(source: Source) -> bool:
    """Return whether None from a source means that everything has been read."""
    return bool(getattr(source, "is_caught_up", True))
