"""The section of rankings of documents."""

from __future__ import annotations

import math
from collections.abc import Sequence

from streameval.configs.measures import measure
from streameval.render.dots import MOST_ROWS, dot_picture, interval_note
from streameval.render.entries import Entry, Measured, Row, beside, figure, summary
from streameval.render.markup import Html
from streameval.render.tables import metric_table
from streameval.render.wording import number
from streameval.results.ranking import Ranking

__all__ = ["heading", "section"]

_COUNTS = {
    "n_queries": "Queries",
    "n_empty": "With nothing relevant",
    "n_missing": "Judged but missing",
    "n_open": "Still open",
}


def heading(results: Sequence[Ranking]) -> str:  # noqa: ARG001 - as every kind has one
    """Name the task."""
    return "Retrieval and recommendation"


def section(entries: Sequence[Entry], level: float) -> Html:
    """Lay out the measures, and those that are shares in a picture too."""
    every = dict.fromkeys(name for entry in entries for name in entry.result)
    rows: list[Row] = [
        (name, [_measured(entry.result, name, level) for entry in entries]) for name in every
    ]
    names = [entry.name for entry in entries]
    metrics = metric_table([*_counts(entries), *rows], names, level)
    table = figure("Measures", metrics, "Means over the queries.")
    return beside(table, _means(entries, rows, level), len(entries))


def _means(entries: Sequence[Entry], rows: Sequence[Row], level: float) -> list[Html]:
    """Draw the means that are shares, if there are any."""
    shares = [(name, cells) for name, cells in rows if measure(name).most == 1.0 and _any(cells)]
    if not shares:
        return []
    first = shares[0][0]
    spoken = summary(entries, first, lambda entry: entry.result.get(first, math.nan), number)
    most = f"The first {MOST_ROWS}. " if len(shares) > MOST_ROWS else ""
    said = interval_note(shares, level)
    image = dot_picture(shares, "Means of the measures", spoken)
    return [figure("Means", image, f"{most}{said}".strip())]


def _counts(entries: Sequence[Entry]) -> list[Row]:
    rows: list[Row] = [
        (title, [Measured.count(getattr(entry.result, name)) for entry in entries])
        for name, title in _COUNTS.items()
    ]
    return [rows[0], *(row for row in rows[1:] if any(cell and cell.value for cell in row[1]))]


def _measured(result: Ranking, name: str, level: float) -> Measured | None:
    if name not in result:
        return None
    return Measured.of(result[name], result.confidence(name, level) if level else None)


def _any(cells: Sequence[Measured | None]) -> bool:
    return any(cell is not None and not math.isnan(cell.value) for cell in cells)
