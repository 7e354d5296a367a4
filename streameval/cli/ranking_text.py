"""Values of rank measures as text: in the layout of trec_eval, and as JSON lines."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from streameval.cli.json_text import json_line
from streameval.configs.measures import measure, trec_name, trec_rank
from streameval.configs.query_quantiles import measured
from streameval.render.text import printable

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from streameval.results.ranking import Ranking

_OF_QUERIES = ("query", "query_weight")


def trec_lines(columns: Mapping[str, Any]) -> str:
    """Lay the values of queries out as trec_eval does, a line for each query and measure."""
    names = _measured(columns)
    rows = _rows(columns, ["query", *names])
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
    rows = _rows(columns, names)
    return "".join(json_line(dict(zip(names, row, strict=True))) for row in rows)


def _measured(columns: Mapping[str, Any]) -> list[str]:
    """List the measures except geometric means, which trec_eval prints only over all queries."""
    names = (name for name in columns if name not in _OF_QUERIES)
    return [name for name in names if not measure(name).is_geometric]


def _rows(columns: Mapping[str, Any], names: Iterable[str]) -> Iterable[tuple[Any, ...]]:
    return zip(*(columns[name].tolist() for name in names), strict=True)


def _trec_line(name: str, query: str, value: float) -> str:
    is_count = measure(name).row.is_total and not math.isnan(value)
    return _line(trec_name(name), query, f"{value:.0f}" if is_count else f"{value:6.4f}")


def _line(name: str, query: str, value: str) -> str:
    return f"{name:<22}\t{query}\t{value}\n"
