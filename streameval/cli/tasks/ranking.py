"""Rankings: from options and the first rows to a plan, and how batches of queries are counted."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import attrs
import numpy as np

from streameval.accumulators.ranking import RankingAccumulator
from streameval.cli.errors import UsageError
from streameval.cli.options import Options, refuse
from streameval.cli.tasks.fields import (
    check_columns,
    check_one_column,
    given,
    has_column,
    jq_path,
    maker,
)
from streameval.configs.measures import measure
from streameval.configs.measures.requested import measured
from streameval.configs.measures.trec_eval import NAMED_BY_RESULT, TREC_SETS, trec_name, trec_rank
from streameval.errors import BadDataError, InvalidInputError, Named
from streameval.exact.array_types import Array
from streameval.io.columns import Argument, FieldType, Flags, Labels, Lists, Numbers, Ranks, id_type
from streameval.io.errors import BadRow, shown
from streameval.io.lines import LineEnds, is_text, pieces, text_of
from streameval.io.streams import opened
from streameval.render.text import json_line, printable
from streameval.runs.counting import Gathered, Plan, nothing_open
from streameval.runs.judged_runs import MISSING
from streameval.runs.sources import RawRow, typical_row

if TYPE_CHECKING:
    from streameval.results.ranking import Ranking


_OF_QUERIES = ("query", "query_weight")


def trec_lines(columns: Mapping[str, Any]) -> str:
    """Lay the values of queries out as trec_eval does, a line for each query and measure."""
    names = _measured(columns)
    rows = _columns_of(columns, ["query", *names])
    order = sorted(range(len(names)), key=lambda at: trec_rank(names[at]))
    return "".join(
        _trec_line(names[at], printable(str(query)), values[at])
        for query, *values in rows
        for at in order
    )


def trec_totals(
    result: Ranking, origin: Mapping[str, Any], *, headings: Container[str] = ()
) -> str:
    """Lay the means out as trec_eval does, in its order; counts of documents are sums.

    Parameters
    ----------
    result : Ranking
        What was computed.
    origin : mapping
        Where it came from; it may hold "runid", the tag of the run.
    headings : container of str
        Which of "runid" and "num_q" come first, if known.
    """
    lines = []
    if "runid" in headings and "runid" in origin:
        lines.append(_line("runid", "all", printable(origin["runid"])))
    if "num_q" in headings:
        n_missing = result.n_missing if result.counts_missing else 0
        lines.append(_line("num_q", "all", f"{result.n_queries + n_missing}"))
    means = [name for name in result if measured(name) == name]
    for name in sorted(means, key=trec_rank):
        is_total = measure(name).row.is_total
        value = result.total(name) if is_total else float(result[name])
        lines.append(_trec_line(name, "all", value))
    quantiles = (name for name in result if name not in means)
    lines += [_line(name, "all", f"{float(result[name]):6.4f}") for name in quantiles]
    return "".join(lines)


def json_lines(columns: Mapping[str, Any]) -> str:
    """Write the values of each query as a line of JSON."""
    names = [*(name for name in _OF_QUERIES if name in columns), *_measured(columns)]
    rows = _columns_of(columns, names)
    return "".join(json_line(dict(zip(names, row, strict=True))) for row in rows)


def _measured(columns: Mapping[str, Any]) -> list[str]:
    """List the measures except geometric means, which trec_eval prints only over all queries."""
    names = (name for name in columns if name not in _OF_QUERIES)
    return [name for name in names if not measure(name).is_geometric]


def _columns_of(columns: Mapping[str, Any], names: Iterable[str]) -> Iterable[tuple[Any, ...]]:
    return zip(*(columns[name].tolist() for name in names), strict=True)


def _trec_line(name: str, query: str, value: float) -> str:
    is_count = measure(name).row.is_total and not math.isnan(value)
    return _line(trec_name(name), query, f"{value:.0f}" if is_count else f"{value:6.4f}")


def _line(name: str, query: str, value: str) -> str:
    return f"{name:<22}\t{query}\t{value}\n"


_NUMBERS = Numbers()


class QueryWeights(dict[str, float]):
    """Weights by query, with the name of the file that they come from."""

    source: str = ""

    def __missing__(self, query: str) -> NoReturn:
        """Refuse a query that the file lacks."""
        raise BadDataError(f"{self.source}: has no weight for query {shown(query)}.")


def read_query_weights(path: str) -> QueryWeights:
    """Read weights of queries.

    A row is a line ``qid weight``, with fields separated by spaces or tabs. Blank lines are
    skipped, and so are lines that begin with ``#``.

    Parameters
    ----------
    path : str
        A file of UTF-8 text, compressed or not; "-" is standard input.

    Raises
    ------
    BadDataError
        When the file cannot be read, a line is not such a row, a weight is negative or not finite,
        or a query occurs twice; the message names file and line.
    """
    weights = QueryWeights()
    with opened(path) as stream:
        weights.source = stream.name
        for piece in pieces(stream, LineEnds()):
            for number, line in enumerate(text_of(piece.data).split("\n"), piece.first_line):
                fields = line.split()
                if fields and not fields[0].startswith("#"):
                    reason = _add(weights, line, fields)
                    if reason:
                        raise BadDataError(str(BadRow(stream.name, "line", number, reason)))
    return weights


def _add(weights: QueryWeights, line: str, fields: list[str]) -> str:
    """Add the weight of a line, or return what is wrong with it."""
    if not is_text(line):
        return "not UTF-8"
    if len(fields) != 2:
        return f"weights have 2 fields (qid weight), and this row has {len(fields)}"
    query, text = fields
    if query in weights:
        return f"query {shown(query)} has a weight already"
    found = _NUMBERS.whole(_NUMBERS.from_text([text]))
    if found is None or not 0.0 <= found[0] < float("inf"):
        return f"`weight` must be a finite number of at least 0, got {shown(text)}"
    weights[query] = float(found[0])
    return ""


_REQUIRED = ("relevance", "score")
_OPTIONAL = ("query", "doc", "retrieved", "num_relevant")
_IN_LISTS = {
    "relevance": "numbers",
    "score": "numbers",
    "doc": "integers or of text",
    "retrieved": "true and false",
}
_LISTS = ("relevance", "score", "doc", "retrieved")
# An empty row: a query without known documents still needs one row.
_BLANK = {"relevance": math.nan, "score": 0.0, "retrieved": False}
_PIECE = 2**12


def plan(options: Options, rows: Sequence[RawRow]) -> Plan:
    """Choose the columns and the configuration.

    Raises
    ------
    UsageError
        If a column is not in the first rows, or an option cannot be used with another.
    InvalidInputError
        If the accumulator refuses the options.
    """
    make, write = _maker(options), _writer(options)
    text = partial(trec_totals, headings=_headings(options)) if _is_trec(options) else None
    whole = partial(_count_lists, write=write)
    if options.qrels is not None:
        laid_out = (*_REQUIRED, "query", "doc", "retrieved")
        columns = tuple(Argument(name, (name,), Numbers()) for name in laid_out)
        return Plan(make, columns, update=whole, text=text)
    names = _names(options, rows)
    holds_lists = _holds_lists(names["relevance"], names, rows)
    if not holds_lists:
        check_columns([options.column("query")], rows)
    typed = {name: _field_type(name, names, rows) for name in names}
    if options.rank is not None:
        typed["score"] = Ranks(Numbers(gaps="retrieved" in names))
    columns = tuple(_column(name, names, typed, holds_lists=holds_lists) for name in names)
    if holds_lists:
        unique = "query" if "query" in names else None
        chosen = Plan(make, columns, update=whole, unique=unique, text=text)
    else:
        finish = partial(_close_queries, write=write)
        chosen = Plan(make, columns, update=_count_rows, finish=finish, text=text)
    _check_ids(options, names)
    _try(chosen)
    return chosen if options.rank else attrs.evolve(chosen, notes=_note_of_ranks(names, rows))


def is_of_rows(plan: Plan) -> bool:
    """Tell whether a plan counts rows of documents, whose queries may continue in other blocks."""
    return plan.update is _count_rows


def whole_queries(plan: Plan, make: Callable[[], Any]) -> Plan:
    """Change a plan so that an accumulator that accepts only complete queries can count.

    Parameters
    ----------
    plan : Plan
        How queries are counted otherwise.
    make : callable
        Makes the empty accumulator, of groups.
    """
    if not is_of_rows(plan):
        return attrs.evolve(plan, make=make, update=_count_as_rows)
    gathered = partial(Gathered, make)
    return attrs.evolve(plan, make=gathered, update=_gather, finish=nothing_open)


def _maker(options: Options) -> Callable[[], RankingAccumulator]:
    make = None if options.like is None else RankingAccumulator.like
    asked = given(name=options.like, measures=_measures(options))
    keeps_values = bool(options.compare)  # --per-query prints them, without keeping them
    return maker(options, RankingAccumulator, make, per_query=keeps_values, **asked)


def _measures(options: Options) -> tuple[str, ...] | None:
    """Return the requested measures; lines in the layout of trec_eval also name the run."""
    asked = _asked(options)
    if asked is None or not _is_trec(options):
        return asked
    return tuple(name for name in asked if name not in NAMED_BY_RESULT)


def _asked(options: Options) -> tuple[str, ...] | None:
    is_bare = options.measures is None and options.like == "trec_eval" and _is_trec(options)
    return ("official",) if is_bare else options.measures


def _headings(options: Options) -> set[str]:
    """Find which lines of trec_eval about the whole run were requested."""
    asked = _asked(options) or ()
    named = {name for part in asked for name in TREC_SETS.get(part, (part,))}
    return named.intersection(NAMED_BY_RESULT)


def _is_trec(options: Options) -> bool:
    """Tell whether lines of trec_eval replace the report."""
    return bool(options.trec or (options.per_query and not options.reporting.json))


def _writer(options: Options) -> Callable[[Mapping[str, Any]], str] | None:
    """Choose the layout of the values of queries, if these are requested."""
    if not options.per_query:
        return None
    return json_lines if options.reporting.json else trec_lines


def _names(options: Options, rows: Sequence[RawRow]) -> dict[str, str]:
    """Find the column of each argument: the column named by the user, or one of the same name."""
    check_one_column(options, "y_score")
    _refuse_ids(options, rows)
    named = {name: getattr(options, name, None) for name in (*_REQUIRED, *_OPTIONAL)}
    named["score"] = options.rank or (options.y_score and options.y_score[0])
    weight = given(query_weight=options.sample_weight)
    needed = [named[name] or name for name in _REQUIRED]
    if not all(has_column(name, rows) for name in needed):
        needed.append(options.column("query"))  # rows that hold lists need none
    asked = [*needed, *(name for name in named.values() if name), *weight.values()]
    check_columns(asked, rows)
    found = {
        argument: name or argument
        for argument, name in named.items()
        if name or argument in _REQUIRED or has_column(argument, rows)
    }
    return found | weight


def _refuse_ids(options: Options, rows: Sequence[RawRow]) -> None:
    """Raise UsageError for ids of relevant documents in place of a relevance for each."""
    name, docs = options.column("relevance"), options.column("doc")
    first = next((row[name] for row in rows if row.get(name)), None)
    if not (isinstance(first, list) and isinstance(first[0], str)):
        return
    ids, items = jq_path(name), jq_path(docs)
    relevance = f"{ids} as $ids | .relevance = [{items}[] | if IN($ids[]) then 1 else 0 end]"
    program = shlex.quote(f"{relevance} | .rank = [range(1; ({items} | length) + 1)]")
    raise UsageError(
        f"`{name}` holds ids, not numbers; jq -c {program} FILE > rows.jsonl writes "
        f"the relevance of each of `{docs}`, and --rank rank reads its place."
    )


def _holds_lists(name: str, names: Mapping[str, str], rows: Sequence[RawRow]) -> bool:
    return isinstance(typical_row(rows, names.values())[name], list)


def _check_ids(options: Options, names: Mapping[str, str]) -> None:
    """Raise UsageError if queries must be distinguished but have no names."""
    if "query" not in names:
        why = "needs the queries: a column `query`, or the one that --query names"
        refuse(options, ["per_query", "track_queries"], why)


def _column(
    argument: str,
    names: Mapping[str, str],
    types: Mapping[str, FieldType],
    *,
    holds_lists: bool,
) -> Argument:
    own, noun = types[argument], _IN_LISTS.get(argument) if holds_lists else None
    return Argument(argument, (names[argument],), own if noun is None else Lists(own, noun))


def _note_of_ranks(names: Mapping[str, str], rows: Sequence[RawRow]) -> tuple[str, ...]:
    """Note that scores are 1 to n, each once in a query, as ranks are, and that 1 comes last."""
    score, found = names["score"], list[tuple[Any, str]]()
    for row in rows:
        value, query = row.get(score), row.get(names.get("query", ""))
        found += [(query, str(one)) for one in (value if isinstance(value, list) else [value])]
    values = {value for _, value in found}
    are_ranks = len({*found}) == len(found) and values == {*map(str, range(1, len(values) + 1))}
    if not are_ranks or len(values) <= 2:
        return ()
    note = (
        f"`{score}` is 1, 2, 3 and so on in each query, and the highest score comes first; if "
        f"these are ranks, use --rank {shlex.quote(score)}."
    )
    return (note,)


def _field_type(argument: str, names: Mapping[str, str], rows: Sequence[RawRow]) -> FieldType:
    """Choose the type of one value, in a row or in a list."""
    if argument == "relevance":
        return Numbers(gaps=True)  # not judged
    if argument == "score":
        return Numbers(gaps="retrieved" in names)  # a document not retrieved has none
    if argument == "query_weight":
        return Numbers()
    if argument == "retrieved":
        return Flags()
    if argument == "num_relevant":
        return Labels(integers=True)
    return id_type(_values(names[argument], rows))


def _values(name: str, rows: Sequence[RawRow]) -> Iterator[Any]:
    """Yield what a column holds, or the lists in it."""
    for row in rows:
        value = row.get(name)
        yield from value if isinstance(value, list) else [] if value is None else [value]


def _try(plan: Plan) -> None:
    """Count an empty query, to find mistakes in the options before any row is read."""
    batch = {column.argument: _blank(column) for column in plan.columns}
    plan.update(plan.make(), batch)


def _blank(column: Argument) -> Any:
    values: tuple[Any, ...] = ([], None, 0, "")
    own = column.field_type
    return own.whole([next(item for item in values if own.fault(item) is None)])


def _count_lists(
    accumulator: RankingAccumulator,
    batch: Mapping[str, Array],
    *,
    write: Callable[[Mapping[str, Any]], str] | None = None,
) -> str:
    """Count complete queries, each with lists of its documents, or judged ones that are missing.

    Parameters
    ----------
    accumulator : RankingAccumulator
        The accumulator that counts.
    batch : mapping from argument to array
        An array of arrays for relevances, scores, documents, and whether they were retrieved;
        the query, its number of relevant documents and its weight. Only the first two are
        required.
    write : callable, optional
        Lays out the values of queries.

    Returns
    -------
    str
        The values of the queries, in their order.

    Raises
    ------
    InvalidInputError
        If lists differ in length, or the accumulator refuses something. Nothing is counted.
    """
    held: list[Mapping[str, Array]] = []
    on_queries = None if write is None else held.append
    numbers, weights = batch.get("num_relevant"), batch.get("query_weight")
    if MISSING in batch:
        queries = batch["query"]
        accumulator.add_missing(queries, query_weight=weights, on_queries=on_queries)
    else:
        rows, queries, query_of_row = _rows(batch)
        accumulator.update(
            {**rows, "query": queries[query_of_row]},
            num_relevant=None if numbers is None else numbers[query_of_row],
            query_weight=None if weights is None else weights[query_of_row],
            on_queries=on_queries,
        )
    return "" if write is None else "".join(write(_in_order(each, queries)) for each in held)


def _rows(batch: Mapping[str, Any]) -> tuple[dict[str, Array], Any, Array]:
    """Turn lists into rows: the columns, the queries, and the query index of each row."""
    sizes = _sizes({name: batch[name] for name in _LISTS if name in batch})
    queries = batch.get("query", np.arange(len(sizes)))
    rows = {name: np.concatenate(batch[name].tolist()) for name in _LISTS if name in batch}
    query_of_row = np.repeat(np.arange(len(sizes)), sizes)
    empty = np.flatnonzero(sizes == 0)
    if len(empty):
        rows, query_of_row = _with_blanks(rows, len(empty)), np.concatenate([query_of_row, empty])
    return rows, queries, query_of_row


def _count_as_rows(accumulator: Any, batch: Mapping[str, Any]) -> str:
    """Count lists of complete queries, each with its time and values, or missing ones."""
    if MISSING in batch:
        accumulator.add_missing(batch)
        return ""
    rows, queries, query_of_row = _rows(batch)
    others = {name: batch[name][query_of_row] for name in batch if name not in (*_LISTS, "query")}
    accumulator.update({**others, **rows, "query": queries[query_of_row]})
    return ""


def _gather(gathered: Gathered, batch: Mapping[str, Any]) -> str:
    """Keep the rows of queries that may continue."""
    gathered.update(batch, _try_rows)
    return ""


def _try_rows(accumulator: RankingAccumulator, batch: Mapping[str, Any]) -> str:
    known = (*_REQUIRED, *_OPTIONAL, "query_weight")
    return _count_rows(accumulator, {name: batch[name] for name in known if name in batch})


def _count_rows(accumulator: RankingAccumulator, batch: Mapping[str, Array]) -> str:
    """Count rows of queries that may continue, and print nothing about them yet."""
    accumulator.update(batch, partial=True)
    return ""


def _close_queries(
    accumulator: RankingAccumulator,
    *,
    write: Callable[[Mapping[str, Any]], str] | None = None,
) -> Iterator[str]:
    """Evaluate the queries that were counted row by row; yield their values in pieces."""
    held: list[Mapping[str, Array]] = []
    accumulator.close(on_queries=held.append)
    return _written(held, write)


def _written(
    held: Sequence[Mapping[str, Array]], write: Callable[[Mapping[str, Any]], str] | None
) -> Iterator[str]:
    if write is None:
        return
    for columns in held:
        for start in range(0, len(columns["query"]), _PIECE):
            part = slice(start, start + _PIECE)
            yield write({name: column[part] for name, column in columns.items()})


def _sizes(lists: Mapping[str, Array]) -> Array:
    """Count the documents of each query."""
    sizes = {
        name: np.fromiter(map(len, arrays), dtype=np.intp, count=len(arrays))
        for name, arrays in lists.items()
    }
    wanted = sizes["relevance"]
    for name, found in sizes.items():
        differs = found != wanted
        if differs.any():
            row = int(differs.argmax())
            raise InvalidInputError(
                "must be as long as ",
                Named("relevance"),
                f", got a list of {found[row]} beside one of {wanted[row]}",
                argument=name,
            )
    return wanted


def _with_blanks(rows: Mapping[str, Array], number: int) -> dict[str, Array]:
    """Add empty rows."""
    size = len(rows["relevance"])
    whole = {"retrieved": np.ones(size, dtype=bool)} | dict(rows)
    blank = {"doc": "" if "doc" in rows and rows["doc"].dtype == object else 0} | _BLANK
    return {
        name: np.concatenate([column, np.full(number, blank[name], dtype=column.dtype)])
        for name, column in whole.items()
    }


def _in_order(columns: Mapping[str, Array], queries: Array) -> dict[str, Array]:
    """Sort the values by the order of these queries, some of which may have no value."""
    positions = {query: position for position, query in enumerate(columns["query"].tolist())}
    order = [positions[query] for query in queries.tolist() if query in positions]
    return {name: column[order] for name, column in columns.items()}


PLANS = {"ranking": plan}
