"""Panes of time and `--by '*'`: how a plan for all rows is split, and by which columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

import attrs

from streameval.cli.errors import UsageError
from streameval.cli.options import Options, refuse
from streameval.cli.tasks.fields import check_columns, check_no_query_counts, maker
from streameval.configs.collection import Member
from streameval.errors import InvalidInputError
from streameval.inputs.times import read_time
from streameval.io.columns import Argument, FieldType, Texts
from streameval.io.times import Times
from streameval.runs.columns import time_type, with_gaps
from streameval.runs.counting import Plan
from streameval.runs.sources import RawRow, typical_row


def windowed(plan: Plan, options: Options, rows: Sequence[RawRow]) -> Plan:
    """Turn a plan into one that counts each pane, and in each pane each value of --by.

    Raises
    ------
    UsageError
        If the first rows lack a column, or the times are numbers without a unit.
    InvalidInputError
        If `Windowed` refuses the options.
    """
    time = str(options.time)
    check_columns([time], rows)
    check_no_query_counts(plan, "--time")
    arguments = {column.argument for column in plan.columns}
    columns = [with_gaps(column) for column in plan.columns]
    first = typical_row(rows, [time])[time]
    columns.append(Argument(time, (time,), _time_type(options, first)))
    if options.by is not None:
        check_columns(options.by.columns, rows)
        columns += [Argument(name, (name,), Texts()) for name in options.by.columns]
    added = [column.argument for column in columns[len(arguments) :]]
    inner = plan.make()
    taken = arguments.union(Member.of(inner).arrays)
    for name in added:
        if name in taken or added.count(name) > 1:
            raise UsageError(f"`{name}` cannot be both evaluated and the column of --time or --by.")
    make = _maker(inner, options)
    if options.task == "ranking":
        from streameval.cli.tasks.ranking import whole_queries  # noqa: PLC0415 (of that task)

        plan = whole_queries(plan, make)
    else:
        plan = attrs.evolve(plan, make=make)
    return attrs.evolve(
        plan,
        columns=tuple(columns),
        is_buffered=True,
        is_bounded=False,
    )


def _maker(inner: Any, options: Options) -> Callable[[], Any]:
    from streameval.accumulators.sliced import Sliced  # noqa: PLC0415 (of panes)
    from streameval.accumulators.windowed import Windowed  # noqa: PLC0415 (of panes)

    by = options.by
    if by is not None:
        values = () if by.values is None else by.canonical()
        limit = {} if by.values is None else {"max_values": max(len(values), 1)}
        inner = Sliced(inner, by.columns, values=values, **limit)
    return maker(options, Windowed, accumulator=inner)


def _time_type(options: Options, first: Any) -> FieldType:
    """Choose how times are read, from the pane and the first time."""
    if isinstance(options.pane, int):
        refuse(options, ["unit"], "cannot be used with a --pane that is a number of steps")
        return time_type(None, is_step=True)
    field_type = time_type(options.unit, is_step=False)
    (value,) = field_type.from_text([first]) if isinstance(first, str) else [first]
    try:
        read_time(value, unit=options.unit, name="time", warns=False)
    except InvalidInputError as error:
        if value is not None and field_type.fault(value) and not isinstance(value, str):
            raise UsageError(_time_fault(options, value, error)) from None
    return field_type


def _time_fault(options: Options, value: Any, error: InvalidInputError) -> str:
    """Explain why numbers cannot be read as times."""
    if options.unit is None:
        return (
            f"`{options.time}` holds numbers, {value!r}, whose unit is not guessed: give "
            "--unit s, ms, us or ns, or a --pane that is a number of steps."
        )
    return f"`{options.time}` {error.reason.rstrip(',')}; see --unit."


_USUAL = {
    *("y_true", "y_pred", "y_score", "y_prob", "sample_weight"),
    *("label", "target", "truth", "pred", "prediction", "score", "prob", "probability", "weight"),
}
"""The usual names of columns that are evaluated, perhaps not by this command."""


def every_column(plan: Plan, rows: Sequence[RawRow]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Choose the columns by the values of the first rows; their number is known after counting.

    Returns
    -------
    columns : tuple of str
        The columns to try.
    left_out : dict of str to str
        The others, with the reason.
    """
    read = {*_USUAL, *(name for column in plan.columns for name in column.names)}
    names = dict.fromkeys(chain.from_iterable(rows))
    why = {
        name: "labels, scores or weights"
        if name in read
        else _why_not([row.get(name) for row in rows])
        for name in names
    }
    columns = tuple(name for name, reason in why.items() if not reason)
    return columns, {name: reason for name, reason in why.items() if reason}


def _why_not(values: Sequence[Any]) -> str:
    """Say why a column has no slices; empty if it may have some."""
    known = [value for value in values if value not in (None, "")]
    if not known:
        return "no values in the first rows"
    if any(Texts().fault(value) for value in known):
        return "lists, objects or long text"
    if all(map(_is_time, known)):
        return "times"
    return "numbers with fractions" if _has_fractions(known) else ""


def _is_time(value: Any) -> bool:
    return Times().fault(value) is None


def _has_fractions(values: Iterable[Any]) -> bool:
    """Tell whether all values are numbers, and some are not whole."""
    try:
        numbers = [float(value) for value in values]
    except ValueError:
        return False
    return any(math.isfinite(number) and not number.is_integer() for number in numbers)
