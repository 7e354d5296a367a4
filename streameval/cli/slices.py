"""Slices on the command line: which are shown, in which order, and gates over them.

`--sort`, `--worst` and `--min-n` choose and order. A gate looks at the worst slice or at the gap
between slices; one that looks at all rows together says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from streameval.cli.errors import UsageError
from streameval.cli.gates import Gate, in_brackets, judge, verdict, why_no_interval
from streameval.cli.terminal import Note
from streameval.inputs.values import value_text
from streameval.metrics.bounded import Interval
from streameval.render.sheets import Grid, Sheet, SheetColumn
from streameval.render.text import listed_few, plural, significant
from streameval.results.collection import line_sheet, read_or_nan
from streameval.results.names import GAPS, Contrast, MetricName
from streameval.results.result import Result
from streameval.results.sliced import Search, better_of

if TYPE_CHECKING:
    from streameval.cli.options import Reporting
    from streameval.runs.slices import Slices


def slice_sheet(result: Result, slices: Slices, reporting: Reporting) -> Sheet:
    """Lay out a line for each value, with the chosen metrics or the headline ones.

    Parameters
    ----------
    result : result
        The result of all rows.
    slices : Slices
        The results of each value.
    reporting : Reporting
        The metrics and the level.
    """
    names = [value_text(value) for value in slices.by_value]
    title = slices.column if isinstance(slices.column, str) else ", ".join(slices.column)
    if slices.is_each:
        title, names = "slice", [slice_name(slices, value) for value in slices.by_value]
    names = ["(all)", *names, *([] if slices.other is None else ["(other)"])]
    chosen, results = reporting.chosen(result), [result, *slices]
    sheet = line_sheet(title, names, results, chosen, reporting.level)
    if reporting.metrics or not getattr(result, "has_models", False):
        return sheet
    return [*sheet, _best_models(SheetColumn.of_names(title, names), results, reporting.level)]


def _best_models(names: SheetColumn, results: Sequence[Any], level: float) -> Grid:
    """Lay out which of several models is best in each slice, and which may be as good."""
    held = [one.comparison(level=level) if level else one.comparison() for one in results]
    groups = []
    for measure in held[0]:
        of_slices = [one[measure] for one in held]
        best = [one.best or "" for one in of_slices]
        others = [", ".join(one.indistinguishable) for one in of_slices]
        groups.append(
            [
                SheetColumn([f"best {measure}", *best], is_left=True),
                SheetColumn(["not distinguishable", *others], is_left=True),
            ]
        )
    return Grid([names], groups)


def slice_entries(slices: Slices, describe: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    """Return the entries of the JSON object: the values in order, then the rest."""
    values = [
        {**_named(slices, value), **describe(held)} for value, held in slices.by_value.items()
    ]
    entries: dict[str, Any] = {"by": slices.column, "slices": values}
    if slices.chosen_by:
        entries["chosen_by"] = slices.chosen_by
    return entries if slices.other is None else entries | {"other": describe(slices.other)}


def _named(slices: Slices, value: Any) -> dict[str, Any]:
    if slices.is_each:
        column, item = value
        return {"column": column, "value": item}
    return {"value": value}


def slice_name(slices: Slices, value: Any) -> str:
    """Write a slice in a sentence, such as ``country=DE`` or ``country=DE,device=ios``."""
    return ",".join(f"{column}={value_text(item)}" for column, item in slices.pairs(value))


def listed_slices(slices: Slices, values: Iterable[Any]) -> str:
    """List some slices in a sentence."""
    return listed_few(slice_name(slices, value) for value in values)


_WORST_OF_EACH = 3
OF_ORDER = ("sort", "worst", "min_n")
"""The options that choose and order slices."""


@attrs.frozen(eq=False, repr=False)
class Arrangement:
    """The slices to show, in order.

    Parameters
    ----------
    slices : Slices, optional
        These slices, and the rest.
    remark : str
        A sentence below the table: the order, and what is left out.
    entries : dict
        The same in JSON.
    """

    slices: Slices | None
    remark: str = ""
    entries: dict[str, Any] = attrs.field(factory=dict)


def check_order(result: Result, reporting: Reporting, *, is_each: bool = False) -> None:
    """Raise an error if slices cannot be sorted, even before there are any."""
    if reporting.sort is not None:
        result.check(reporting.sort)
    if is_each or reporting.worst is not None:
        metric = _key(result, reporting)
        if not better_of(result, metric):
            raise UsageError(
                f"{metric} has no better direction, so no worst slice; name another with --sort."
            )


def arranged(result: Result, slices: Slices | None, reporting: Reporting) -> Arrangement:
    """Choose the slices to show, if there are any, and their order."""
    is_each, sort, worst = slices is not None and slices.is_each, reporting.sort, reporting.worst
    is_chosen = is_each or (sort, worst, reporting.min_n) != (None, None, None)
    if slices is None or not is_chosen:
        return Arrangement(slices)
    check_order(result, reporting, is_each=is_each)
    metric, n = _key(result, reporting), len(slices.by_value)
    search = Search.of(slices.by_value, metric, reporting.min_n or 0, result)
    in_order = [value for value, _ in search.worst()]
    said, entries = [], dict[str, Any](n_slices=n)
    if is_each:
        order = _worst_of_each(in_order, worst or _WORST_OF_EACH)
        said.append(f"the worst of each column by {metric}, {len(order):,} of {n:,} slices")
    elif worst is not None:
        order = in_order[:worst]
        said.append(f"the worst {len(order):,} of {n:,} slices by {metric}")
    elif sort is not None:
        order = [*in_order, *search.undefined]
        said.append(f"by {metric}, the {'worst' if search.better else 'lowest'} first")
    else:
        order = [*search.results]
    if is_each or worst is not None or sort is not None:
        entries["sorted_by"] = str(metric)
    if slices.chosen_by and (worst is not None or sort is not None):
        said.append("values in (other) are not among them; --top N takes more")
    said += _left_out(slices, search, names_undefined=is_each or worst is not None)
    if reporting.min_n is not None:
        entries["small"] = list(search.small)
    by_value = {value: slices.by_value[value] for value in order}
    return Arrangement(attrs.evolve(slices, by_value=by_value), "; ".join(said), entries)


def _worst_of_each(in_order: Sequence[tuple[str, Any]], k: int) -> list[tuple[str, Any]]:
    """Take the first k slices of each column; the columns with the worst ones come first."""
    by_column: dict[str, list[tuple[str, Any]]] = {}
    for column, value in in_order:
        by_column.setdefault(column, []).append((column, value))
    return [value for values in by_column.values() for value in values[:k]]


def _key(result: Result, reporting: Reporting) -> MetricName:
    """Choose the metric of the order: that of --sort, or the first one shown that has a worst."""
    if reporting.sort is not None:
        return reporting.sort
    chosen = reporting.chosen(result)
    return next((metric for metric in chosen if better_of(result, metric)), chosen[0])


def check_gates(
    gates: Iterable[Gate], result: Result, *, has_slices: bool, is_each: bool = False
) -> None:
    """Raise an error for an unknown metric, and for a gate over slices that cannot be decided."""
    for gate in gates:
        if gate.over and not has_slices:
            raise UsageError(
                f"{gate.text!r} is a gate over slices, and there are none; eval --by makes them."
            )
        if is_each and gate.over in GAPS:
            raise UsageError(f"{gate.text!r} needs slices of one column, not of each of several.")
        result.check(gate.metric)
        if gate.over == "worst" and not better_of(result, gate.metric):
            raise UsageError(
                f"{gate.text!r}: {gate.metric} has no better direction, so no worst slice; "
                f"'gap({gate.metric})<=...' compares its extremes."
            )


def judged(result: Result, slices: Slices | None, reporting: Reporting) -> list[Note]:
    """Decide every gate; those that pass for all rows say that they did not look at slices."""
    is_each = slices is not None and slices.is_each
    check_gates(reporting.gates, result, has_slices=slices is not None, is_each=is_each)
    return [_judged(gate, result, slices, reporting) for gate in reporting.gates]


def _judged(gate: Gate, result: Result, slices: Slices | None, reporting: Reporting) -> Note:
    level = reporting.level
    if gate.over and slices is not None:
        search = Search.of(slices.by_value, gate.metric, reporting.min_n or 0, result)
        return _over_slices(gate, gate.over, slices, search, level)
    reading = read_or_nan(result, gate.metric, level)
    note = judge(gate, reading)
    if slices is None or reading.is_count or note.category != "passed":
        return note
    search = Search.of(slices.by_value, gate.metric, reporting.min_n or 0, result)
    return Note("passed", f"{note.text} {_ungated(gate, slices, search)}")


def _over_slices(gate: Gate, what: Contrast, slices: Slices, search: Search, level: float) -> Note:
    """Decide a gate over slices by intervals that hold for all slices at once.

    A slice without an interval, or where the metric is undefined, may have any value.
    """
    readings = search.readings(level)
    known = [one.deciding for one in readings.values() if one.deciding is not None]
    unknown = [value for value, one in readings.items() if one.deciding is None]
    ends = search.bounds(what, known)
    said = [f"{gate.text}: {_number(what, slices, search)}"]
    if known and not unknown:
        said[0] += f"{in_brackets(ends)} over {plural(len(known), 'slice')}"
    if unknown:
        said.append(f"{listed_slices(slices, unknown)}: {why_no_interval(readings[unknown[0]])}")
    if unknown or search.undefined:
        ends = _opened(what, search.better, ends)
    said += _left_out(slices, search, names_undefined=bool(search.numbers))
    if slices.other is not None:
        said.append("rows of other values are not gated")
    text = "; ".join(said)
    decision = verdict(gate, ends) if known else "undecided"
    is_sampled = decision == "undecided" and known and not (unknown or search.undefined) and level
    remedy = " More rows, a larger --min-n or --level 0 decides it." if is_sampled else ""
    return Note(decision, f"{text}.{remedy}")


def _opened(what: Contrast, better: str, ends: Interval) -> Interval:
    """Widen the bounds of a comparison as far as slices of any value can move it."""
    low, high = ends
    grows = what == "difference" or (what == "worst" and better == "lower")
    return (low, math.inf) if grows else (-math.inf, high)


def _number(what: Contrast, slices: Slices, search: Search) -> str:
    """Write the number that is bounded, and the slices that it comes from."""
    if not search.numbers:
        return "undefined in every slice"
    order = sorted(search.numbers, key=lambda value: float(search.numbers[value]))
    if what == "worst":
        ((value, number),) = search.worst(1)
        return f"{significant(number)} ({_sized(slices, search, value)})"
    names = f"{_sized(slices, search, order[0])}; {_sized(slices, search, order[-1])}"
    return f"{significant(search.gap(what))} ({names})"


def _sized(slices: Slices, search: Search, value: Any) -> str:
    return f"{slice_name(slices, value)}, n = {search.size(value):,}"


def _left_out(slices: Slices, search: Search, *, names_undefined: bool) -> list[str]:
    """Name the slices that a search did not look at."""
    said = []
    if names_undefined and search.undefined:
        said.append(f"undefined in {listed_slices(slices, search.undefined)}")
    if search.small:
        said.append(f"left out by --min-n: {listed_slices(slices, search.small)}")
    return said


def _ungated(gate: Gate, slices: Slices, search: Search) -> str:
    """Say that a gate looked at all rows together, and name the worst slice."""
    is_worst_gated = (search.better == "lower") == (gate.bound.sign[0] == "<")
    if not (search.better and search.numbers and is_worst_gated):
        return "Slices are not gated."
    ((value, number),) = search.worst(1)
    remedy = f"worst({gate.metric}){gate.bound.sign}{gate.bound.number:.12g}"
    return (
        f"Slices are not gated; the worst is {significant(number)} "
        f"({_sized(slices, search, value)}). To gate each: {remedy!r}."
    )
