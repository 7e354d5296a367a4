"""Rankings: from options and the first rows to a plan."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from streameval.accumulators.ranking import RankingAccumulator
from streameval.cli.counting.first_rows import check_columns, typical_row
from streameval.cli.counting.layout import check_one_column
from streameval.cli.counting.plan import Plan
from streameval.cli.counting.ranking_counting import (
    close_queries,
    count_lists,
    count_missing,
    count_rows,
)
from streameval.cli.errors import UsageError
from streameval.cli.ranking_text import json_lines, trec_lines, trec_totals
from streameval.io import Column, Flags, Kind, Labels, Lists, Numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from streameval.cli.counting.first_rows import Row
    from streameval.cli.options import Options

__all__ = ["OPTIONS", "plan"]

_CONFIGURATION = (
    *("measures", "relevance_level", "gain", "ties", "ap_norm", "unjudged", "negative", "nan"),
    *("empty", "missing", "track_queries", "rows_per_query", "max_open_queries"),
)
OPTIONS = (
    *("qrels", "count_missing", "like", *_CONFIGURATION, "per_query", "trec"),
    *("query", "relevance", "score", "doc", "retrieved", "num_relevant"),
)
"""The options that the task takes."""

_REQUIRED = ("relevance", "score")
_OPTIONAL = ("query", "doc", "retrieved", "num_relevant")
_IN_LISTS = {
    "relevance": "numbers",
    "score": "numbers",
    "doc": "integers or of text",
    "retrieved": "true and false",
}
_LONGEST_ID = 4096  # some documents are named by their address


def plan(options: Options, rows: Sequence[Row]) -> Plan:
    """Choose the columns and the configuration.

    Raises
    ------
    UsageError
        If a column is not in the first row, or an option does not go with another.
    InvalidInputError
        If the accumulator refuses the options.
    """
    make, write = _maker(options), _writer(options)
    make()  # what it refuses is a mistake in the options, to be told once
    text = trec_totals if _is_trec(options) else None
    whole = partial(count_lists, write=write)
    if options.qrels is not None:
        columns = tuple(Column(name, (name,), Numbers()) for name in (*_REQUIRED, *_OPTIONAL))
        finish = partial(count_missing, write=write)
        return Plan(make, columns, options.max_bad, update=whole, finish=finish, text=text)
    if options.count_missing is not None:
        raise UsageError("--no-count-missing needs --qrels.")
    names = _names(options, rows)
    if _holds_lists(names["relevance"], names, rows):
        columns = tuple(_column_of_lists(*pair, names, rows) for pair in names.items())
        unique = "query" if "query" in names else None
        chosen = Plan(make, columns, options.max_bad, update=whole, unique=unique, text=text)
    else:
        check_columns([options.query or "query"], rows[0])
        columns = tuple(_column(*pair, names, rows) for pair in names.items())
        finish = partial(close_queries, write=write)
        chosen = Plan(make, columns, options.max_bad, update=count_rows, finish=finish, text=text)
    _check_ids(options, names)
    _try(chosen)
    return chosen


def _maker(options: Options) -> Callable[[], RankingAccumulator]:
    chosen = {name: getattr(options, name) for name in _CONFIGURATION}
    given: dict[str, Any] = {name: value for name, value in chosen.items() if value is not None}
    if options.like is not None:
        given["name"] = options.like
        return partial(RankingAccumulator.like, **given)
    return partial(RankingAccumulator, **given)


def _is_trec(options: Options) -> bool:
    """Tell whether lines of trec_eval stand in place of the report."""
    if options.trec and options.reporting.json:
        raise UsageError("--trec does not go with --json.")
    return bool(options.trec or (options.per_query and not options.reporting.json))


def _writer(options: Options) -> Callable[[Mapping[str, Any]], str] | None:
    """Choose how the values of queries are laid out, if they are asked for."""
    if not options.per_query:
        return None
    return json_lines if options.reporting.json else trec_lines


def _names(options: Options, rows: Sequence[Row]) -> dict[str, str]:
    """Find the column of each argument: that which was named, or one of the same name."""
    check_one_column(options, "score")
    named = {name: getattr(options, name) for name in (*_REQUIRED, *_OPTIONAL)}
    named["score"] = options.score and options.score[0]
    needed = [named[name] or name for name in _REQUIRED]
    if needed[0] not in rows[0]:
        _refuse_run(rows[0])
    check_columns([*needed, *(name for name in named.values() if name)], rows[0])
    return {
        argument: name or argument
        for argument, name in named.items()
        if name or argument in _REQUIRED or any(argument in row for row in rows)
    }


def _refuse_run(row: Row) -> None:
    """Say what is missing where a run was taken for a table."""
    fields = " ".join(row).split()
    if len(fields) >= 5 and fields[1] in ("Q0", "0"):
        raise UsageError("the file looks like a TREC run, which needs --qrels, its judgements.")


def _holds_lists(name: str, names: Mapping[str, str], rows: Sequence[Row]) -> bool:
    return isinstance(typical_row(rows, names.values())[name], list)


def _check_ids(options: Options, names: Mapping[str, str]) -> None:
    """Raise UsageError if queries have to be told apart, and have no names."""
    for option in ("per_query", "track_queries"):
        if getattr(options, option) and "query" not in names:
            raise UsageError(
                f"--{option.replace('_', '-')} needs the queries: a column `query`, or the one "
                "that --query names."
            )


def _column(argument: str, name: str, names: Mapping[str, str], rows: Sequence[Row]) -> Column:
    return Column(argument, (name,), _kind(argument, names, rows))


def _column_of_lists(
    argument: str, name: str, names: Mapping[str, str], rows: Sequence[Row]
) -> Column:
    kind = _kind(argument, names, rows)
    noun = _IN_LISTS.get(argument)
    return Column(argument, (name,), kind if noun is None else Lists(kind, noun))


def _kind(argument: str, names: Mapping[str, str], rows: Sequence[Row]) -> Kind:
    """Choose what one value is: that of a row, or of a list."""
    if argument == "relevance":
        return Numbers(gaps=True)  # not judged
    if argument == "score":
        return Numbers(gaps="retrieved" in names)  # a document not retrieved has none
    if argument == "retrieved":
        return Flags()
    if argument == "num_relevant":
        return Labels(integers=True)
    # Among identifiers of digits and letters are some of digits alone: those are text as well.
    integers = all(isinstance(value, int) for value in _values(names[argument], rows))
    return Labels(integers, hint=" as the first ones are", longest=_LONGEST_ID)


def _values(name: str, rows: Sequence[Row]) -> Iterator[Any]:
    """Give what a column holds, or the lists in it."""
    for row in rows:
        value = row.get(name)
        yield from value if isinstance(value, list) else [] if value is None else [value]


def _try(plan: Plan) -> None:
    """Count a query of which nothing is known: what is refused now is a mistake in the options."""
    batch = {column.argument: _blank(column) for column in plan.columns}
    plan.update(plan.make(), batch)


def _blank(column: Column) -> Any:
    values: tuple[Any, ...] = ([], None, 0, "")
    return column.kind.whole([next(item for item in values if column.kind.fault(item) is None)])
