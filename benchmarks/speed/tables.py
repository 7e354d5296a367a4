"""How results are laid out: Markdown tables, and the part of the docs' page on speed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, groupby
from typing import Any

from speed.results import Report, Row

COLUMNS = ("accumulator", "work", "rows", "beside", "goal", "times", "middle half")
MAIN = ("work", "rows", "beside", "times")
MISSED = ("work", "peer, rows: times of goal", "why")

HEADLINES = (
    ("update", "binary scores", 32, "torchmetrics"),
    ("update", "binary scores", 1, "river"),
    ("update", "class ids, 1,000 classes", 1024, "torchmetrics"),
    ("update", "accuracy, F1, ROC AUC, AP", 1024, "torchmetrics"),
    ("update", "numbers", 1024, "torchmetrics"),
    ("stream", "exact ROC AUC", 10_000_000, "scikit-learn"),
    ("memory", "exact ROC AUC", 10_000_000, "scikit-learn"),
    ("ranking", "NDCG@10, MAP, MRR, blocks of 100", 100_000, "ranx"),
    ("reading", "JSON lines", 200_000, "pandas"),
    ("reading", "CSV", 200_000, "pandas"),
)
"""The rows that the page begins with: the first with a goal of each verb, work, size, library."""


def report_block(report: Report) -> str:
    """Lay out what the page shows: what it was found with, the main rows, the missed goals."""
    parts = [headlines(report.rows), summary(report.rows)]
    if any(row.is_missed for row in report.rows):
        parts.append("\n".join(["## Missed goals\n", *head(MISSED), *reasons(report.rows)]))
    return "\n\n".join([*parts, found_with(report.about)])


def headlines(rows: Sequence[Row]) -> str:
    """Lay out the main rows."""
    lines = head(MAIN)
    found = {(row.verb, row.work, row.size, row.library): row for row in reversed(rows) if row.goal}
    for row in filter(None, map(found.get, HEADLINES)):
        ratio = number(row.ratio.median) if row.ratio else times(row)
        cells = (f"{row.verb}: {row.work}", f"{row.size:,}", f"{row.library} {row.peer}", ratio)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def every_row(rows: Sequence[Row]) -> str:
    """Lay out all rows, a table for each verb."""
    return "\n\n".join(
        "\n".join([f"**{verb.capitalize()}**\n", *head(COLUMNS), *map(line, of_verb)])
        for verb, of_verb in groupby(rows, lambda row: row.verb)
    )


def reasons(rows: Sequence[Row]) -> Iterator[str]:
    """Write a row for each reason why goals are missed, with the contests that miss theirs."""
    missed = sorted((row for row in rows if row.is_missed), key=lambda row: row.why)
    for why, found in groupby(missed, lambda row: row.why):
        works: dict[str, list[str]] = {}
        for row in found:
            peers = works.setdefault(f"{row.verb}: {row.work}", [])
            peers.append(f"{row.library} {row.size:,}: {times(row)} of {number(row.goal or 0)}")
        yield f"| {'; '.join(works)} | {'; '.join(chain(*works.values()))} | {why} |"


def found_with(about: dict[str, Any]) -> str:
    """Say when, on what and with what."""
    libraries = ", ".join(f"{name} {number}" for name, number in about["libraries"].items())
    return f"{about['date']}, {about['machine']}, Python {about['python']}; {libraries}."


def summary(rows: Sequence[Row]) -> str:
    """Count the goals that are met."""
    aimed = [row for row in rows if row.goal is not None and row.ratio]
    met = len(aimed) - sum(row.is_missed for row in aimed)
    missing = sorted({row.library for row in rows if row.ratio is None})
    absent = f" Not measured: {', '.join(missing)}." if missing else ""
    return f"{met} of {len(aimed)} goals are met; a ratio in bold misses its goal.{absent}"


def head(columns: Sequence[str]) -> list[str]:
    """Write the two lines above a table."""
    return [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]


def line(row: Row) -> str:
    """Write one row."""
    return f"| {' | '.join(cells_of(row))} |"


def cells_of(row: Row) -> list[str]:
    """Write the cells of one row."""
    spread = ""
    if row.ratio and row.rounds > 1:
        spread = f"{number(row.ratio.low)} to {number(row.ratio.high)}"
    return [
        f"`{row.accumulator}`",
        row.work,
        f"{row.size:,}",
        f"{row.library} {row.peer}",
        "" if row.goal is None else number(row.goal),
        times(row),
        spread,
    ]


def times(row: Row) -> str:
    """Write the ratio of a row, in bold if it misses its goal."""
    if not row.ratio:
        return "not measured"
    median = number(row.ratio.median)
    return f"**{median}**" if row.is_missed else median


def number(value: float) -> str:
    """Write three digits, or the whole number."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.3g}"
