"""The sentences that a report begins with: what was counted, the headline metric, what is worst."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from streameval.metrics.intervals import level_of_each
from streameval.metrics.table import Change, Reading
from streameval.render.blocks import ByClass, Confusions, Matrix, PageContent, Reliability, Row
from streameval.render.markup import short
from streameval.render.text import (
    chance_title,
    count,
    in_sentence,
    number,
    plural,
    share,
    time_texts,
    within,
)
from streameval.results.collection import read_or_nan
from streameval.results.names import MetricName, parse_metric
from streameval.results.pairs import SamplePair
from streameval.results.ranking import Ranking
from streameval.results.result import Result
from streameval.results.sliced import Search
from streameval.results.windowed import WindowedResult

SLICE = "slice"
"""What slices are by if nothing says of which column they are."""

_SINGULAR = {"queries": "query"}
_PARTS = ("Positives", "Both right")
"""What is counted among the examples."""
_SPANS = {
    np.timedelta64(1, "h"): "hours",
    np.timedelta64(1, "D"): "days",
    np.timedelta64(7, "D"): "weeks",
}
_TWO = 2
_TOP = 0.05
_MAX_QUERIES = 3
_QUERIES = "n_queries"
_NO_CHANCE = "chance does not explain"
_WORD = {"higher": "Worst", "lower": "Worst", "": "Lowest"}


def opening(
    content: PageContent,
    results: Mapping[str, Result],
    level: float,
    by: str = "",
    confusions: Confusions = "count",
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
    confusions : {"count", "rate"}
        How to rank confused pairs of classes.
    """
    name = headline(content)
    whole, slices = next(iter(results.values())), list(results)[1:]
    if not by and slices:
        said = [_sizes(content, list(results.values()))]
        row, first = content.rows[name], short(next(iter(results)), 40)
        said += _extremes(row, name, results, level)
        return said + _worst_queries(whole, name, row, f" of {first}")
    sizes = _amounts(content)
    inside = f", in {_number_of(slices, by)}" if slices else ""
    said = [f"Evaluated on {sizes}{inside}."]
    row = content.rows[name]
    first = next(one for one in content.headline if one in content.rows)
    shown = [content.rows[one] for one in dict.fromkeys((first, name))]
    said += [f"{one.name} is {_value(one.reading, level)}." for one in shown]
    said += [*_in_top(whole, level), *_bias(content)]
    block = content.by_class
    of_classes = [] if block is None else _lowest_of_classes(block, level)
    if slices:
        return said + _worst_slice(row, name, results, level, by) + of_classes
    found = [*_confused(content, confusions), *_calibration(content, level)]
    found += _worst_queries(whole, name, row)
    if row.better and not (of_classes or found or math.isnan(row.reading.value)):
        how = "eval --per-query" if whole.SIZE == _QUERIES else "eval --by COLUMN"
        found = [f"To see what is worst, use {how}."]
    return said + of_classes + found


def headline(content: PageContent) -> str:
    """Choose the first metric to read: every result has one."""
    rows = content.rows
    return first_of({name: rows[name].reading for name in content.headline if name in rows})


def first_of(readings: Mapping[str, Reading]) -> str:
    """Choose the first metric, or the next one with an interval if it is defined and has none."""
    first = next(iter(readings))
    named = () if math.isnan(readings[first].value) else readings
    return next((name for name in named if readings[name].sampling), first)


def _in_top(result: Result, level: float) -> list[str]:
    """Say how many positives have the highest scores, for one curve of both classes."""
    if "recall_at_top" not in result.TABLE or math.isnan(result.read("roc_auc").value):
        return []
    held = result.read(f"recall_at_top({_TOP})", level=level)
    what = "within" if held.sampling is None else chance_title(level)
    ends = " to ".join(map(share, held.sampling or held.certified))
    known = f" ({what} {ends})" if held.sampling or held.is_open else ""
    rows = f"The {_TOP:.0%} of the examples with the highest scores"
    return [f"{rows} hold {share(held.value)} of the positives{known}."]


def _bias(content: PageContent) -> list[str]:
    """Say how far the mean probability is from the share of positives."""
    row = content.rows.get("pcopc")
    if row is None or math.isnan(row.reading.value):
        return []
    more = row.reading.value - 1.0
    side = "below" if more < 0.0 else "above"
    return [f"The mean prediction is {share(abs(more))} {side} the share of positives."]


def _amounts(content: PageContent) -> str:
    """Say how much was counted: examples, and which of them are positives, or the groups."""
    counts = [row for row in content.rows.values() if row.reading.is_count and not row.is_rare]
    first, *others = (_amount(row.reading.value, row.heading) for row in counts[:2])
    if not others:
        return first
    is_part = counts[1].heading in _PARTS
    return f"{first}, {others[0]} among them" if is_part else f"{first} and {others[0]}"


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


def amount_of(result: Result, value: float) -> str:
    """Write a count of what a result counts: queries, or examples."""
    return _amount(value, "queries" if result.SIZE == _QUERIES else "examples")


def _value(reading: Reading, level: float) -> str:
    """Write a value with its interval."""
    if math.isnan(reading.value):
        return "undefined"
    if reading.sampling is None:
        return number(reading.value)
    value, low, high = within(reading.sampling, reading.value, *reading.sampling)
    return f"{value} ({chance_title(level)} {low} to {high})"


def _extremes(row: Row, name: str, results: Mapping[str, Result], level: float) -> list[str]:
    """Name the best and the worst of several results."""
    search = Search.of(results, MetricName(name), 0, next(iter(results.values())))
    found = search.worst()
    if len(found) < 2:
        return []
    readings = {one: results[one].read(name, level=level) for one, _ in found}
    texts = {one: _value(reading, level) for one, reading in readings.items()}
    is_of_one = len({results[one].heading(name) for one in readings}) == 1
    what = row.name if is_of_one else row.heading
    (last, low), (first, high) = found[0], found[-1]
    if low == high:
        return [f"{what} is {number(low)} for {'both' if len(found) == 2 else 'all'}."]
    best, worst = ("best", "worst") if row.better else ("highest", "lowest")
    said = f"{what} is {best} in {short(first, 40)}, {texts[first]}, and {worst} in"
    of_two = _said_of_two(name, readings[last], readings[first], results, level)
    return [f"{said} {short(last, 40)}, {texts[last]}.", *of_two]


def _said_of_two(
    name: str, low: Reading, high: Reading, results: Mapping[str, Result], level: float
) -> list[str]:
    """Say whether two values differ by more than chance explains.

    Rankings are compared query by query, and others as if they counted different examples. Nothing
    is said of more than two values, or without intervals.
    """
    if len(results) > _TWO or not level:
        return []
    change = SamplePair.of(*results.values()).change(MetricName(name), low, high, level)
    if change.sampling is None:
        return []
    on = "Compared query by query"
    if change.samples != "paired":
        is_of_queries = next(iter(results.values())).SIZE == _QUERIES
        hint = " (eval --compare pairs the queries of runs)" if is_of_queries else ""
        on = f"Compared as independent samples{hint}"
    lowest, highest = change.sampling
    why = "may be chance" if lowest <= 0 <= highest else "is more than chance explains"
    return [f"{on}, the difference {why}."]


def _worst_slice(
    row: Row, name: str, results: Mapping[str, Result], level: float, by: str
) -> list[str]:
    """Name the worst slice, with an interval that holds for all slices at once."""
    (_, whole), *others = results.items()
    search = Search.of(dict(others), MetricName(name), 0, whole)
    if not search.worst():
        return []
    ((worst, _),) = search.worst(1)
    reading = search.reading(worst, level)
    on = amount_of(whole, search.size(worst))
    (value,) = within(reading.sampling, reading.value)
    said = f"{_WORD[row.better]} {by}: {short(worst, 40)} with {value} on {on}"
    return [f"{said}{_explained(reading, row.reading, level)}."]


def _explained(reading: Reading, of_all: Reading, level: float) -> str:
    """Say whether chance explains that the worst of several values is apart from that of all rows.

    Its interval holds for all of them at once.
    """
    if not level:
        return ""
    if reading.sampling is None:
        why = f" ({reading.why_none})" if reading.why_none else ""
        return f"; there is no interval to tell it from chance{why}"
    low, high = reading.sampling
    is_apart = not low <= of_all.value <= high
    return f", which {_NO_CHANCE if is_apart else 'may be chance'}"


def _lowest_of_classes(block: ByClass, level: float) -> list[str]:
    """Name the class with the lowest value of each number that is drawn."""
    if len(block.rows) < 3:
        return []
    return [said for column in block.drawn for said in _lowest(column, block, level)]


def _lowest(heading: str, block: ByClass, level: float) -> list[str]:
    column = list(block.columns).index(heading)
    defined = {of: row for of, row in block.rows.items() if not math.isnan(row[column].value)}
    held = {of: row for of, row in defined.items() if block.weights is None or block.weights[of]}
    if len({float(row[column].value) for row in held.values()}) < _TWO:  # none is the lowest
        return []
    worst: Any = min(held, key=lambda of: held[of][column].value)
    of, on = "", ""
    if heading == block.drawn[0]:
        of = f" of {len(block.rows):,} classes"
        on = f", on {_amount(block.weights[worst], 'Examples')}" if block.weights else ""
    found = f"{short(worst, 40)} with {_value(held[worst][column], level)}{on}"
    return [f"Lowest {in_sentence(heading)}{of}: {found}."]


def _confused(content: PageContent, by: Confusions) -> list[str]:
    """Name the pair of classes that is confused most."""
    matrix = next((one for one in content.beside if isinstance(one, Matrix)), None)
    if matrix is None or not (pairs := matrix.confused(by)):
        return []
    true, guess = pairs[0]
    names = " predicted as ".join(short(matrix.labels[one], 40) for one in (true, guess))
    row = matrix.counts[true]
    held = _amount(row.sum().item(), "Examples")
    return [f"Most confused: {names}, {count(row[guess].item())} of {held}."]


def _calibration(content: PageContent, level: float) -> list[str]:
    """Name the bin of scores that adds most to the calibration error, of all bins at once."""
    block = next((one for one in content.beside if isinstance(one, Reliability)), None)
    if block is None:
        return []
    gaps = np.abs(block.predicted - block.observed) * block.weight
    at = int(gaps.argmax())
    if not gaps[at]:
        return []
    ends = block.sampling(level_of_each(level, len(gaps)))
    found = Reading(float(block.observed[at]), ends[at] if ends else None)
    mean = Reading(float(block.predicted[at]))
    predicted, observed = within(found.sampling, mean.value, found.value)
    said = f"Calibration is worst at a {block.across.lower()} of {predicted}: the"
    on = _amount(block.weight[at].item(), "Examples")
    why = _explained(found, mean, level)
    return [f"{said} {block.up.lower()} is {observed} on {on}{why}."]


def _worst_queries(result: Result, name: str, row: Row, of: str = "") -> list[str]:
    """Name the queries with the worst values, if the values of queries are kept."""
    if not (isinstance(result, Ranking) and result.has_queries):
        return []
    ids, _, columns, conventions = result._listed()
    values = np.where(conventions.get(name, True), np.nan, columns.get(name, np.empty(0)))
    order = np.argsort(-values if row.better == "lower" else values, kind="stable")[:_MAX_QUERIES]
    found = [
        f"{short(ids[at], 40)} with {number(values[at].item())}"
        for at in order.tolist()
        if not math.isnan(values[at])
    ]
    return [f"{_WORD[row.better]} queries{of}: {', '.join(found)}."] if found else []


def worst_span(windows: WindowedResult, name: str, level: float) -> list[str]:
    """Name the pane of time with the worst value, with an interval that holds for all at once."""
    whole, panes = windows.whole.result, [pane for pane in windows.panes if pane.n_labelled]
    by_start = {pane.start: pane.result for pane in panes}
    search = Search.of(by_start, parse_metric(name), 0, whole)
    if len(search.numbers) < _TWO:
        return []
    ((worst, _),) = search.worst(1)
    reading, starts = search.reading(worst, level), list(by_start)
    start = time_texts(starts)[starts.index(worst)].replace("T", " ")
    width, *others = {pane.end - pane.start for pane in panes}
    spans = "windows" if others else _SPANS.get(width, "windows")
    n, heading = len(search.numbers), in_sentence(whole.heading(name))
    worst_of = f"{_WORD[search.better]} {heading} of {n:,} {spans}"
    on = "on" if spans == "days" else "from"
    explained = _explained(reading, whole.read(name, level=level), level)
    (value,) = within(reading.sampling, reading.value)
    return [f"{worst_of}: {value} {on} {start}{explained}."]


def since_before(name: str, before: Result, after: Result, span: str, level: float) -> str:
    """Say how far the newest span of time is from the one before, and whether by chance."""
    change = Change(read_or_nan(before, name, level), read_or_nan(after, name, level))
    if math.isnan(change.reading.value):
        return ""
    moved, ends, why = change.reading.value, change.sampling, ""
    (apart,) = within(ends, abs(moved))
    how = f"{apart} {'higher' if moved > 0 else 'lower'} than" if moved else "equal to"
    if moved and ends is not None:
        why = f", which {_NO_CHANCE if ends[0] > 0 or ends[1] < 0 else 'may be chance'}"
    newest = f"{after.heading(name)} of the newest {span} is {_value(change.after, level)}"
    return f"{newest}, {how} that of the {span} before{why}."
