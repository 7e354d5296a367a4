"""States of numbered batches in a folder: each batch is one file, which is replaced whole."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from streameval.accumulators.persistence import replace_file
from streameval.engines._counting import States
from streameval.engines._shipping import merged
from streameval.errors import BadDataError, IncompatibleStateError

_NAME = re.compile(r"([0-9]{20})-([0-9]{20})\.parquet")
_KEY = b"streameval"
_TRIES = 10


@attrs.frozen(order=True)
class _Span:
    """Which batches a file holds: from `first` to `last`."""

    first: int
    last: int

    @property
    def name(self) -> str:
        """The name of the file."""
        return f"{self.first:020}-{self.last:020}.parquet"


@attrs.frozen
class Batches:
    """The states of the batches of one query, by number.

    A repeated batch replaces its earlier states, so every batch counts once, even if a crash
    repeats it. Files of older batches are merged into one; until they are removed,
    the merged one counts in their place.

    Parameters
    ----------
    folder : Path
        On a disk, or something mounted, that can replace a file at once.
    """

    folder: Path

    def write(self, number: int, states: pa.Table, owner: str, by: Any) -> None:
        """Write the states of a batch.

        Parameters
        ----------
        number : int
            That of the batch.
        states : pyarrow.Table
            The columns ``slice`` and ``state``.
        owner : str
            What numbers the batches.
        by : str, sequence of str or None
            The column of the slices, or several.

        Raises
        ------
        IncompatibleStateError
            If batches of another owner are there, or of another column, or the batch is merged
            with others already.
        """
        about = json.loads(json.dumps({"by": by, "owner": owner}))
        spans = self._spans()
        if spans:
            self._check(self._table(spans[0]), about)
        for span in spans:
            if span.first <= number <= span.last and span.first < span.last:
                raise IncompatibleStateError(
                    f"{self.folder}: batch {number} is merged with batches {span.first} to "
                    f"{span.last} already. The checkpoint of the query is older than the states."
                )
        self.folder.mkdir(parents=True, exist_ok=True)
        self._write(_Span(number, number), states, about)

    def compact(self, before: int) -> None:
        """Merge the files of batches below a number into one."""
        every = self._every()
        spans = [span for span in _outer(every) if span.last < before]
        if len(spans) > 1:
            tables = [self._table(span) for span in spans]
            slices = tables[0].schema.field("slice").type
            states = _merged(tables)
            table = pa.table(
                {"slice": pa.array(states, slices), "state": pa.array(states.values(), pa.binary())}
            )
            whole = _Span(spans[0].first, spans[-1].last)
            self._write(whole, table, _about(tables[0]))
            every.append(whole)
        for span in set(every) - set(_outer(every)):
            (self.folder / span.name).unlink(missing_ok=True)

    def __len__(self) -> int:
        """Return the number of files that count."""
        return len(self._spans())

    def read(self) -> tuple[Any, States]:
        """Merge all batches, and return the column of the slices and the state of each.

        Raises
        ------
        BadDataError
            If there is none.
        """
        tables = self._tables()
        if not tables:
            raise BadDataError(f"{self.folder}: holds no states of batches.")
        return _about(tables[0])["by"], _merged(tables)

    def _tables(self) -> list[pa.Table]:
        """Read the files that count; begin again if one is merged meanwhile."""
        for _ in range(_TRIES):
            try:
                return [self._table(span) for span in self._spans()]
            except FileNotFoundError:
                continue
        raise BadDataError(f"{self.folder}: its files vanish while they are read.")

    def _every(self) -> list[_Span]:
        paths = self.folder.iterdir() if self.folder.is_dir() else ()
        found = filter(None, (_NAME.fullmatch(path.name) for path in paths))
        return sorted(_Span(int(match[1]), int(match[2])) for match in found)

    def _spans(self) -> list[_Span]:
        return _outer(self._every())

    def _table(self, span: _Span) -> pa.Table:
        return pq.ParquetFile(self.folder / span.name).read()  # a folder's name is no partition

    def _write(self, span: _Span, states: pa.Table, about: dict[str, Any]) -> None:
        sink = pa.BufferOutputStream()
        described = {_KEY: json.dumps(about).encode()}
        pq.write_table(states.replace_schema_metadata(described), sink)
        replace_file(self.folder / span.name, sink.getvalue().to_pybytes())

    def _check(self, table: pa.Table, about: dict[str, Any]) -> None:
        known = _about(table)
        if known["owner"] != about["owner"]:
            raise IncompatibleStateError(
                f"{self.folder}: holds the batches of another query. Choose another folder, or "
                "continue with the checkpoint of that query."
            )
        if known["by"] != about["by"]:
            raise IncompatibleStateError(
                f"{self.folder}: `by` differs ({known['by']!r} and {about['by']!r})."
            )


def _outer(spans: Sequence[_Span]) -> list[_Span]:
    """List the spans that lie in no other one, in order."""
    found: list[_Span] = []
    for span in sorted(spans, key=lambda span: (span.first, -span.last)):
        if not found or span.last > found[-1].last:
            found.append(span)
    return found


def _about(table: pa.Table) -> dict[str, Any]:
    about: dict[str, Any] = json.loads(table.schema.metadata[_KEY])
    return about


def _merged(tables: Sequence[pa.Table]) -> States:
    """Merge the states of each slice."""
    columns = ([table.column(name).to_pylist() for name in ("slice", "state")] for table in tables)
    return merged(*(dict(zip(*pair, strict=True)) for pair in columns))
