"""Clusters: rows that depend on each other, by the option --cluster or by what ids suggest."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import attrs

from streameval.cli.errors import UsageError
from streameval.cli.options import Options
from streameval.cli.tasks.fields import check_columns, check_no_query_counts
from streameval.io.blocks import Block
from streameval.io.columns import Argument, Texts
from streameval.results.collection import found
from streameval.runs.counting import Plan
from streameval.runs.sources import RawRow

if TYPE_CHECKING:
    from streameval.accumulators.clustered import Clustered
    from streameval.results.result import Result

_MAX_LOOK = 2**12  # rows in which a repeated id is looked for, in milliseconds
_IS_OWNER = re.compile(
    r"(?:user|session|question|query|customer|account|patient|subject|visitor|device|conversation"
    r"|prompt)[_. -]?id|[uqs]id|user|session|question|query",
    re.IGNORECASE,
)
"""Matches the names of columns that say to whom, or to what, a row belongs.

A `device` without an id is rather a category, such as a phone.
"""


def clustered(plan: Plan, options: Options, rows: Sequence[RawRow]) -> Plan:
    """Turn a plan into one whose intervals are of clusters, if --cluster names their column.

    Raises
    ------
    UsageError
        If the first rows lack the column, or it is evaluated too.
    """
    column = options.cluster
    if column is None:
        return plan
    check_columns([column], rows)
    if column in {argument.argument for argument in plan.columns}:
        raise UsageError(f"`{column}` cannot be both evaluated and the column of --cluster.")
    check_no_query_counts(plan, "--cluster")
    inner = plan.make
    make = partial(_make, inner, column)
    if options.task == "ranking":
        from streameval.cli.tasks.ranking import is_of_rows, whole_queries  # noqa: PLC0415 (of that task)

        is_split = options.by is not None and is_of_rows(plan)
        if options.time is None and not is_split:  # else whole queries are split later
            plan = whole_queries(plan, make)
    plan = attrs.evolve(plan, make=make) if plan.make is inner else plan
    return attrs.evolve(
        plan,
        columns=(*plan.columns, Argument(column, (column,), Texts())),
        is_buffered=True,
        is_bounded=False,
    )


def _make(make: Callable[[], Any], column: str) -> Clustered:
    from streameval.accumulators.clustered import Clustered  # noqa: PLC0415 (of --cluster)

    return Clustered(make(), by=column)


def dependence(
    options: Options, rows: Sequence[RawRow], blocks: Iterator[Block]
) -> tuple[tuple[str, ...], Iterator[Block]]:
    """Note that ids repeat in the first block, where intervals assume that rows are independent.

    It reads the columns of ids until one repeats, and few rows if none does. Returns the note, if
    there is one, and all of the blocks.
    """
    columns = _owners(options, rows[0])
    if not columns:
        return (), blocks
    first = next(blocks)
    return _note_of_repeats(columns, first.rows(columns)), chain([first], blocks)


def shows_intervals(options: Options, result: Result) -> bool:
    """Whether a metric that is shown, or that a gate bounds, has an interval for rows."""
    reporting = options.reporting
    named = (*reporting.metrics, *(gate.metric for gate in reporting.gates))
    asked = (found(result, metric) for metric in named)
    sampled = (one is not None and one.row.sampling is not None for one in asked)
    return not reporting.metrics or any(sampled)


def dependence_of(options: Options, rows: Sequence[RawRow]) -> tuple[str, ...]:
    """Note that ids repeat in the first rows, as `dependence` does for a block."""
    return _note_of_repeats(_owners(options, rows[0]), rows)


def _note_of_repeats(columns: Sequence[str], rows: Iterable[RawRow]) -> tuple[str, ...]:
    found = _repeated(rows, columns)
    note = (
        f"`{found}` repeats, and intervals assume that rows are independent; if rows of one "
        f"`{found}` are alike, use --cluster {shlex.quote(str(found))}."
    )
    return () if found is None else (note,)


def _owners(options: Options, row: RawRow) -> list[str]:
    """List the columns of ids of whom a row belongs to; none if no interval is shown."""
    needs = options.task in ("regression", "calibration") and options.versus is None
    if options.cluster is not None or options.task in ("ranking", "catalog"):
        return []
    if options.reporting.level == 0 or (needs and not options.intervals) or options.where:
        return []
    taken = {options.group, *(() if options.by is None else options.by.columns)}
    return [column for column in row if _IS_OWNER.fullmatch(column) and column not in taken]


def _repeated(rows: Iterable[RawRow], columns: Sequence[str]) -> str | None:
    seen: dict[str, set[str]] = {column: set() for column in columns}
    for row in islice(rows, _MAX_LOOK):
        for column in columns:
            value = row.get(column)
            if value is None or value == "":
                continue
            if (text := str(value)) in seen[column]:
                return column
            seen[column].add(text)
    return None
