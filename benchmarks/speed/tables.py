"""How results are laid out: Markdown tables, and the part of the docs' page that holds them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from speed.results import Report, Row

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "speed.md"

COLUMNS = ("accumulator", "work", "rows", "beside", "goal", "times", "middle half")
MISSED = ("accumulator", "work", "rows", "beside", "goal", "times", "why")


def put(name: str, block: str, page: Path = PAGE) -> None:
    """Replace what stands between the two marks of a name on a page."""
    text = page.read_text(encoding="utf-8")
    head, found, rest = text.partition(f"<!-- {name} -->\n")
    _, end, tail = rest.partition(f"<!-- end of {name} -->")
    assert found, f"{page.name} has no mark {name!r}"
    page.write_text(f"{head}{found}{block}\n{end}{tail}", encoding="utf-8")


def report_block(report: Report) -> str:
    """Lay out the whole report: what it was found with, how many goals are met, the tables."""
    parts = [found_with(report.about), summary(report.rows)]
    for verb, rows in groupby(report.rows, lambda row: row.verb):
        parts.append("\n".join([f"### {verb.capitalize()}\n", *head(COLUMNS), *map(line, rows)]))
    if any(row.is_missed for row in report.rows):
        parts.append("\n".join(["### Missed goals\n", *head(MISSED), *reasons(report.rows)]))
    return "\n\n".join(parts)


def reasons(rows: Sequence[Row]) -> Iterator[str]:
    """Write a row for each missed goal, with what was measured beside it."""
    for row in rows:
        if row.is_missed:
            *cells, _ = cells_of(row)
            shares = [
                f"{one.peer} {number(one.ratio.median)}"
                for one in rows
                if one.contest == row.contest and one.is_yardstick and one.ratio
            ]
            measured = f" Of our time: {', '.join(shares)}." if shares else ""
            yield f"| {' | '.join([*cells, row.why + measured])} |"


def found_with(about: dict[str, Any]) -> str:
    """Say when, on what and with what."""
    libraries = ", ".join(f"{name} {number}" for name, number in about["libraries"].items())
    return f"{about['date']}, {about['machine']}, Python {about['python']}; {libraries}."


def summary(rows: Sequence[Row]) -> str:
    """Count the goals that are met."""
    aimed = [row for row in rows if row.goal is not None and row.ratio]
    met = len(aimed) - sum(row.is_missed for row in aimed)
    missing = sorted({row.library for row in rows if row.ratio is None})
    absent = f" Not installed: {', '.join(missing)}." if missing else ""
    return f"{met} of {len(aimed)} goals are met; a ratio in bold misses its goal.{absent}"


def head(columns: Sequence[str]) -> list[str]:
    """Write the two lines above a table."""
    return [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]


def line(row: Row) -> str:
    """Write one row."""
    return f"| {' | '.join(cells_of(row))} |"


def cells_of(row: Row) -> list[str]:
    """Write the cells of one row."""
    times, spread = "not installed", ""
    if row.ratio:
        times = f"**{number(row.ratio.median)}**" if row.is_missed else number(row.ratio.median)
        if row.rounds > 1:
            spread = f"{number(row.ratio.low)} to {number(row.ratio.high)}"
    return [
        f"`{row.accumulator}`",
        row.work,
        f"{row.size:,}",
        f"{row.library} {row.peer}",
        "" if row.goal is None else number(row.goal),
        times,
        spread,
    ]


def number(value: float) -> str:
    """Write three digits, or the whole number."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.3g}"
