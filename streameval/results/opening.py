"""The sentences that a report begins with: what was counted, the headline metric, what is worst."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from streameval.metrics.table import Change, Metric, Reading
from streameval.render.blocks import ByClass, PageContent, Row, TimeLine
from streameval.render.markup import count, number, percent, short
from streameval.render.text import plural
from streameval.results.collection import time_texts
from streameval.results.names import MetricName
from streameval.results.result import Result
from streameval.results.slice_search import Search

SLICE = "slice"
"""What slices are by if nothing says of which column they are."""

_SINGULAR = {"queries": "query"}
_WORD = {"higher": "Worst", "lower": "Worst", "": "Lowest"}


def opening(
    content: PageContent, results: Mapping[str, Result], level: float, by: str = ""
) -> list[str]:
    """Sum results of one type up.

    Parameters
    ----------
    content : PageContent
        The description of the first result.
    results : mapping from name to result
        If they are slices, the first is of all rows.
    level : float
        The level of the sampling intervals.
    by : str
        What the slices are by; empty if the results are no slices.
    """
    name = headline(content)
    slices = list(results)[1:]
    if not by and slices:
        said = [_sizes(content, list(results.values()))]
        return said + _extremes(content.rows[name], name, results, level)
    sizes = _amounts(content)
    inside = f", in {_number_of(slices, by)}" if slices else ""
    among = f", {sizes[1]} among them" if len(sizes) > 1 else ""
    said = [f"Evaluated on {sizes[0]}{among}{inside}."]
    row = content.rows[name]
    said.append(f"{row.heading} is {_value(row.reading, level)}.")
    if slices:
        said += _worst_slice(row, name, results, level, by)
    return said if content.by_class is None else said + _worst_class(content.by_class, level)


def headline(content: PageContent) -> str:
    """Choose the first metric to read: every result has one."""
    return next(name for name in content.headline if name in content.rows)


def _amounts(content: PageContent) -> list[str]:
    """Say how much was counted: examples and positives, or queries."""
    counts = [row for row in content.rows.values() if row.reading.is_count and not row.is_rare]
    return [_amount(row.reading.value, row.heading) for row in counts[:2]]


def _sizes(content: PageContent, results: Sequence[Result]) -> str:
    """Say how much each of several results has counted."""
    heading = next(row.heading for row in content.rows.values() if row.reading.is_count)
    sizes = sorted({float(getattr(one, one.SIZE)) for one in results})
    largest = _amount(int(sizes[-1]) if sizes[-1].is_integer() else sizes[-1], heading)
    smallest = f"{count(sizes[0])} to " if len(sizes) > 1 else ""
    return f"{len(results)} results, each on {smallest}{largest}."


def _number_of(slices: Sequence[str], by: str) -> str:
    return plural(len(slices), "slice") + (f" by {by}" if by != SLICE else "")


def _amount(value: float, heading: str) -> str:
    """Write a count with its noun.

    >>> _amount(1, "Queries"), _amount(2, "Positives")
    ('1 query', '2 positives')
    """
    noun = heading.lower()
    if value == 1:
        noun = _SINGULAR.get(noun, noun.removesuffix("s"))
    return f"{count(value)} {noun}"


def _value(reading: Reading, level: float) -> str:
    """Write a value with its interval."""
    if math.isnan(reading.value):
        return "undefined"
    if reading.sampling is None:
        return number(reading.value)
    low, high = map(number, reading.sampling)
    return f"{number(reading.value)} ({percent(level)} interval {low} to {high})"


def _extremes(row: Row, name: str, results: Mapping[str, Result], level: float) -> list[str]:
    """Name the best and the worst of several results."""
    search = Search.of(results, MetricName(name), 0, next(iter(results.values())))
    found = search.worst()
    if len(found) < 2:
        return []
    readings = {one: results[one].read(name, level=level) for one, _ in found}
    texts = {one: _value(reading, level) for one, reading in readings.items()}
    (last, low), (first, high) = found[0], found[-1]
    if low == high:
        return [f"{row.heading} is {number(low)} for {'both' if len(found) == 2 else 'all'}."]
    best = "Best" if row.better else "Highest"
    return [
        f"{best} {row.heading}: {short(first, 40)} with {texts[first]}.",
        f"{_WORD[row.better]}: {short(last, 40)} with {texts[last]}.",
        *_said_of_two(*readings.values()),
    ]


def _said_of_two(*readings: Reading) -> list[str]:
    """Say whether two values differ by more than chance would, were their examples independent.

    Nothing is said of more values, or without intervals.
    """
    change = Change(*readings) if len(readings) == 2 else None
    if change is None or change.sampling is None:
        return []
    low, high = change.sampling
    why = "may be chance" if low <= 0 <= high else "is more than chance explains"
    return [f"If they counted different examples, the difference {why}."]


def _worst_slice(
    row: Row, name: str, results: Mapping[str, Result], level: float, by: str
) -> list[str]:
    """Name the worst slice, with an interval that holds for all slices at once."""
    (_, whole), *others = results.items()
    search = Search.of(dict(others), MetricName(name), 0, whole)
    if not search.worst():
        return []
    ((worst, _),) = search.worst(1)
    reading = search.readings(level)[worst]
    on = _amount(search.size(worst), "queries" if whole.SIZE == "n_queries" else "examples")
    said = f"{_WORD[row.better]} {by}: {short(worst, 40)} with {number(reading.value)} on {on}"
    if reading.sampling is None:
        return [f"{said}; there is no interval to tell it from chance." if level else f"{said}."]
    low, high = reading.sampling
    all_of = f" for all {len(search.numbers)} at once" if len(search.numbers) > 1 else ""
    is_apart = not low <= row.reading.value <= high
    why = "which chance does not explain" if is_apart else "which may be chance"
    ends = f"{number(low)} to {number(high)} at {percent(level)}{all_of}"
    return [f"{said} ({ends}), {why}."]


def _worst_class(block: ByClass, level: float) -> list[str]:
    """Name the class with the lowest value of the first number that is drawn."""
    if not block.drawn or len(block.rows) < 3:
        return []
    column = list(block.columns).index(block.drawn[0])
    defined = {of: row for of, row in block.rows.items() if not math.isnan(row[column].value)}
    held = {of: row for of, row in defined.items() if block.weights is None or block.weights[of]}
    if not held:
        return []
    worst: Any = min(held, key=lambda of: held[of][column].value)
    on = "" if block.weights is None else f", on {_amount(block.weights[worst], 'Examples')}"
    found = f"{short(worst, 40)} with {_value(held[worst][column], level)}{on}"
    return [f"Lowest {block.drawn[0].lower()} of {len(block.rows):,} classes: {found}."]


def worst_span(line: TimeLine, row: Row | Metric, heading: str, level: float) -> list[str]:
    """Name the pane of time with the worst value."""
    panes = [pane for pane in line.panes if math.isfinite(pane.reading.value)]
    if len(panes) < 2:
        return []
    sign = -1.0 if row.better == "lower" else 1.0
    worst = min(panes, key=lambda pane: sign * float(pane.reading.value))
    starts: Sequence[str] = time_texts([pane.start for pane in panes])
    at = starts[panes.index(worst)].replace("T", " ")
    said = f"{_WORD[row.better]} {heading} of {len(panes):,} spans of time: that from {at}"
    return [f"{said}, with {_value(worst.reading, level)}."]
