"""Sources of blocks: files of rows, and a look at their first rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from streameval.errors import BadDataError
from streameval.inputs.paths import Fields, is_nested
from streameval.io.formats import read_blocks
from streameval.io.notation import Dialect
from streameval.io.streams import CutShortError
from streameval.runs.counting import MAYBE_PARTIAL, RowShare, bad_rows
from streameval.runs.files import Partition, partitions_of, with_partition
from streameval.runs.totals import BadRows

if TYPE_CHECKING:
    from streameval.io.blocks import Block
    from streameval.io.row_filters import RowFilter


RawRow = Mapping[str, Any]

_FIRST_ROWS = 100
_MAX_SEEN = 64  # blocks that are held while the first rows are looked for


class BlockSource(ABC):
    """The blocks of the sources, and the notes about them after all have been read."""

    @abstractmethod
    def blocks(self) -> Iterator[Block]:
        """Yield everything, in order."""

    def gather(self) -> None:  # noqa: B027 - rows of files may stand anywhere
        """Prepare to read everything again, after scattered queries."""

    def close(self) -> None:  # noqa: B027 - most sources keep nothing
        """Delete the copies that were kept for a second reading."""

    def left(self) -> list[str]:
        """Describe what was left for next time."""
        return []

    @abstractmethod
    def remarks(self) -> list[str]:
        """Return notes."""

    def totals(self, where: RowFilter | None = None) -> dict[str, str]:  # noqa: ARG002
        """Return conditions that leave out last rows which look like totals, by file and line."""
        return {}

    def origin(self) -> dict[str, Any]:
        """Return entries of the JSON object."""
        return {}


class RowFiles(BlockSource):
    """Independent files of rows, with the columns that their folders name.

    Parameters
    ----------
    files : sequence of str
        Their names.
    form : str, optional
        Their format; by default, the name or the first bytes of each file decide.
    dialect : Dialect, optional
        The dialect of text tables.
    skips : bool
        Whether a last line without a newline, or the end of a truncated gzip file, is left for next
        time.
    advice : str
        The end of a sentence: what to do about these.
    """

    def __init__(
        self,
        files: Sequence[str],
        form: str | None = None,
        *,
        dialect: Dialect | None = None,
        skips: bool = False,
        advice: str = "",
    ) -> None:
        self._dialect = dialect
        self._files = files
        self._form = form
        self._skips = skips
        self._advice = advice
        self._left: dict[str, str] = {}  # by file, since two passes find the same
        self._found: dict[str, str] = {}
        self._totals: dict[str, tuple[int, RawRow, str]] = {}
        self._read: Any = ()  # the first and the latest block of a file

    def blocks(self) -> Iterator[Block]:
        """Cut the files into blocks.

        Raises
        ------
        BadDataError
            If a file cannot be read.
        """
        return chain.from_iterable(map(self._blocks, self._files, partitions_of(self._files)))

    def _blocks(self, file: str, partition: Partition) -> Iterator[Block]:
        self._read = ()
        try:
            found = read_blocks(file, self._form, may_be_cut=self._skips, dialect=self._dialect)
            for block in with_partition(found, partition):
                if block.unended and self._skips:
                    self._left[block.source] = block.unended
                else:
                    if found_in := getattr(block, "found", ""):
                        self._found[block.source] = found_in
                    self._read = (*self._read[:1], block)
                    yield block
            self._look_for_total()
        except CutShortError as error:
            said = f"{error.source}: {error.what}{MAYBE_PARTIAL}{self._advice}."
            raise BadDataError(said) from None

    def left(self) -> list[str]:
        """Name the files whose last lines were left."""
        return [f"{name}: {what}, and is left for next time." for name, what in self._left.items()]

    def totals(self, where: RowFilter | None = None) -> dict[str, str]:
        """Return conditions that leave out last rows which look like totals, by file and line.

        Those that the filter leaves out are none of them.
        """
        self._look_for_total()
        return {
            f"{name}, line {line}": f"{column}!={'' if row[column] is None else row[column]}"
            for name, (line, row, column) in self._totals.items()
            if where is None or where.keeps(Fields(row))
        }

    def _look_for_total(self) -> None:
        """Look at the last row that has been read of a table of text."""
        first, last = self._read[:1], self._read[-1:]
        if last and hasattr(last[0], "total") and (total := last[0].total(*first)):
            self._totals[last[0].source] = total

    def remarks(self) -> list[str]:
        """Say what the first rows have shown of the dialect, of one file for all that are alike."""
        remarks = []
        for what in dict.fromkeys(self._found.values()):
            first, *others = [name for name, found in self._found.items() if found == what]
            names = f"{first} and {len(others):,} more" if others else first
            remarks.append(f"{names}: read with {what}, as the first rows show.")
        return remarks


def look_ahead(
    blocks: Iterator[Block],
    max_bad: int | RowShare = 0,
    names: Iterable[str] | None = None,
    advice: str = "",
    where: RowFilter | None = None,
) -> tuple[Sequence[Fields], Iterator[Block]]:
    """Return the first readable rows, possibly none, and all of the blocks.

    They are the first rows that the filter keeps, unless these come very late.

    Parameters
    ----------
    blocks : iterator of Block
        The blocks to read.
    max_bad : int or RowShare
        The max number of unreadable rows before them; for a share, as many as are held.
    names : iterable of str, optional
        The columns that are looked at; others may be left out as None.
    advice : str
        The end of a sentence: what to do about a last line that a program may still be writing.
    where : RowFilter, optional
        Which rows are counted.

    Raises
    ------
    BadDataError
        If more than `max_bad` unreadable rows come before them, or all rows are unreadable.
    """
    bad = BadRows(max_bad)
    seen: list[Block] = []
    others: list[Fields] = []
    for block in blocks:
        seen.append(block)
        rows = list(islice(kept_rows(block, where, names), _FIRST_ROWS))
        if rows:
            return rows, chain(seen, blocks)
        others = others or list(map(Fields, islice(block.rows(names), _FIRST_ROWS)))
        faults = block.parse(()).faults
        bad.add(bad_rows(block, faults, f"{MAYBE_PARTIAL}{advice}"))
        if not faults and not others:
            seen.pop()
        if len(seen) >= _MAX_SEEN and (others or isinstance(max_bad, RowShare)):
            break
    if not others:
        bad.check(bad.n)
        bad.refuse_all()
    return others, chain(seen, blocks)


def kept_rows(
    block: Block, where: RowFilter | None, names: Iterable[str] | None = None
) -> Iterator[Fields]:
    """Yield the readable rows of a block that a filter keeps."""
    read = map(Fields, block.rows(names))
    return read if where is None else filter(where.keeps, read)


def named_in(rows: Sequence[Fields], columns: Iterable[str]) -> list[str]:
    """List the columns that a row has, by name or as a path into one of its fields."""
    fields = set().union(*(row.row for row in rows))
    return [
        column
        for column in columns
        if column in fields or (is_nested(column) and any(column in row for row in rows))
    ]


def typical_row(rows: Sequence[RawRow], names: Iterable[str]) -> RawRow:
    """Choose the first row in which none of the columns is missing.

    If there is none, combine the first value of each column.
    """
    needed = list(names)
    whole = (row for row in rows if all(row.get(name) is not None for name in needed))
    found = next(whole, None)
    return found or {name: _first_value(name, rows) for name in needed}


def _first_value(name: str, rows: Sequence[RawRow]) -> Any:
    values = (row.get(name) for row in rows)
    return next((value for value in values if value is not None), None)
