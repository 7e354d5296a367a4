"""Values of rank measures as text: in the layout of trec_eval, and as JSON lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streameval.cli.json_text import json_line
from streameval.configs.measures import measure, trec_name
from streameval.render.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from streameval.results.ranking import Ranking

__all__ = ["json_lines", "trec_lines", "trec_totals"]


def trec_lines(columns: Mapping[str, Any]) -> str:
    """Lay the values of queries out as trec_eval does, a line for each query and measure."""
    names, rows = _rows(columns)
    return "".join(
        _trec_line(name, printable(str(query)), value)
        for query, *values in rows
        for name, value in zip(names, values, strict=True)
    )


def trec_totals(result: Ranking) -> str:
    """Lay the means out as trec_eval does."""
    return "".join(_trec_line(name, "all", float(value)) for name, value in result.items())


def json_lines(columns: Mapping[str, Any]) -> str:
    """Write the values of each query as a line of JSON."""
    names, rows = _rows(columns)
    return "".join(json_line(dict(zip(("query", *names), row, strict=True))) for row in rows)


def _rows(columns: Mapping[str, Any]) -> tuple[list[str], Iterable[tuple[Any, ...]]]:
    """Return the measures, and a row for each query: its id and its values.

    A geometric mean is one of all queries; trec_eval gives none for each.
    """
    names = [name for name in columns if name != "query" and measure(name).family != "gm_map"]
    values = (columns[name].tolist() for name in ("query", *names))
    return names, zip(*values, strict=True)


def _trec_line(name: str, query: str, value: float) -> str:
    return f"{trec_name(name):<22}\t{query}\t{value:6.4f}\n"
