"""A look at the first rows of the data, to learn its columns."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from streameval.cli.counting.count import bad_rows
from streameval.cli.counting.tally import BadRows
from streameval.cli.errors import UsageError, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from streameval.io import Block

__all__ = ["Row", "check_columns", "look_ahead", "typical_row"]

Row = Mapping[str, Any]

_N_ROWS = 100


def look_ahead(blocks: Iterator[Block], max_bad: int) -> tuple[list[Row], Iterator[Block]]:
    """Give the first rows that can be read, none if none can, and all of the blocks.

    Raises
    ------
    BadDataError
        If more than `max_bad` rows come before them that cannot be read.
    """
    bad = BadRows(max_bad)
    seen: list[Block] = []
    for block in blocks:
        rows = list(islice(block.rows(), _N_ROWS))
        if rows:
            return rows, chain(seen, [block], blocks)
        faults = block.parse(()).faults
        bad.add(bad_rows(block, faults))
        if faults:
            seen.append(block)
    return [], iter(seen)


def check_columns(names: Iterable[str], row: Row) -> None:
    """Raise UsageError for a column that the first row does not have."""
    for name in names:
        if name not in row:
            raise UsageError(f"no column {name!r} in the first row: {nearest(name, row)}")


def typical_row(rows: Sequence[Row], names: Iterable[str]) -> Row:
    """Choose the first row in which none of the columns is missing, else the first one."""
    needed = list(names)
    whole = (row for row in rows if all(row.get(name) is not None for name in needed))
    return next(whole, rows[0])
