"""Gates over slices: the worst slice, the gap between slices, and slices that no gate looks at."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from streameval.cli.errors import UsageError
from streameval.cli.gates import judge, verdict, within, without_interval
from streameval.cli.slice_order import slice_name, slice_names
from streameval.cli.terminal import Note
from streameval.render.text import plural, significant
from streameval.results.names import GAPS
from streameval.results.slice_search import Search, better_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streameval.cli.gates import Gate
    from streameval.cli.options import Reporting
    from streameval.metrics.bounded import Interval
    from streameval.results.names import Contrast
    from streameval.results.result import Result
    from streameval.runs.slices import Slices


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
    reading = result.read(gate.metric, level=level)
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
        said[0] += f"{within(ends)} over {plural(len(known), 'slice')}"
    if unknown:
        said.append(f"{slice_names(slices, unknown)}: {without_interval(readings[unknown[0]])}")
    if unknown or search.undefined:
        ends = _opened(what, search.better, ends)
    text = "; ".join([*said, *_left_out(slices, search)])
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


def _left_out(slices: Slices, search: Search) -> list[str]:
    """Name the slices that a gate did not look at."""
    said = []
    if search.undefined and search.numbers:
        said.append(f"undefined in {slice_names(slices, search.undefined)}")
    if search.small:
        said.append(f"left out by --min-n: {slice_names(slices, search.small)}")
    if slices.other is not None:
        said.append("rows of other values are not gated")
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
