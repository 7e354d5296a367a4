"""`streameval diff`: what changed from one state to others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import attrs

from streameval.accumulators.pane_results import results_of
from streameval.accumulators.windowed import Windowed
from streameval.cli.errors import UsageError
from streameval.cli.gates import Worsening, decide
from streameval.cli.options import Reporting
from streameval.cli.outcome import Document, joined
from streameval.cli.states import checked, is_folder, load_state, panes_of, slices_by_name
from streameval.cli.states.explain import every_option, shortened
from streameval.cli.states.show import size_text
from streameval.cli.terminal import CommandOutput, Note
from streameval.cli.window_text import edge_before
from streameval.errors import IncompatibleStateError, UnknownMetricError
from streameval.inputs.times import is_naive
from streameval.io.notation import integer_or_text
from streameval.metrics.table import Change, Reading
from streameval.render.sheets import Grid, Sheet, SheetColumn, reading_columns
from streameval.render.text import (
    listed_few,
    numbers,
    printable,
    time_texts,
)
from streameval.results.confusion import Confusion
from streameval.results.names import MetricName
from streameval.results.pairs import SamplePair
from streameval.results.result import Result

_MAX_SIDES = 26
"""Each state has a letter."""


@attrs.frozen
class _Side:
    """One of the states.

    Parameters
    ----------
    path : str
        Its file.
    accumulator, result : object
        The accumulator in the file, and its result.
    every : dict of str to Reading
        All metrics, unless the user chose some.
    total : Result, optional
        The result of all rows, if the file holds slices.
    """

    path: str
    accumulator: Any
    result: Result
    every: dict[str, Reading]
    total: Result | None

    @classmethod
    def of(cls, path: str, accumulator: Any, level: float, *, some: bool) -> _Side:
        """Compute what a state holds."""
        held = accumulator.total() if isinstance(accumulator, Windowed) else accumulator
        whole, slices = results_of(held)
        result, total = (whole, None) if slices is None else (slices, whole)
        every = {} if some else checked(result).readings(level)
        return cls(path, accumulator, result, every, total)

    @property
    def leaves(self) -> dict[str, Any]:
        """The results by name of the member; without a collection, the only name is ""."""
        return self.result.leaves()

    def check(self, metric: MetricName) -> None:
        """Raise UnknownMetricError if there is no such metric; the message names the state."""
        if str(metric) in self.every:
            return
        try:
            self._holder(metric).check(metric)
        except UnknownMetricError as error:
            raise UnknownMetricError(f"{self.path}: {error}") from None

    def reading(self, metric: MetricName, level: float) -> Reading:
        """Read a metric; at the level 0 there are no sampling intervals."""
        known = self.every.get(str(metric))
        reading = known or self._holder(metric).read(metric, level=level)
        return reading if level else attrs.evolve(reading, sampling=None)

    def _holder(self, metric: MetricName) -> Result:
        """Find the result of a metric: that of all rows, unless the metric names a slice."""
        if self.total is not None:
            with suppress(UnknownMetricError):
                self.total.check(metric)
                return self.total
        return self.result


def diff(
    before: str,
    after: Sequence[str],
    reporting: Reporting,
    *,
    window: str | int | None = None,
    ends: Sequence[str] = (),
) -> CommandOutput:
    """Compare a state with one or several others, metric by metric; folders slice by slice.

    Raises
    ------
    UsageError
        If there are more states than letters, or states and folders are mixed.
    BadDataError
        If a folder lacks a slice that another has.
    UnknownMetricError
        If one of them has no such metric.
    IncompatibleStateError
        If they are of different types, or share no metric.
    """
    if len(after) >= _MAX_SIDES:
        raise UsageError(f"diff compares at most {_MAX_SIDES} states, got {len(after) + 1}.")
    paths = [before, *after]
    if not any(map(is_folder, paths)):
        return _compared(chosen_windows(paths, window, ends), reporting, window).written(reporting)
    if not all(map(is_folder, paths)):
        raise UsageError("states and folders of slices cannot be compared with each other.")
    documents = [
        _compared(chosen_windows(states, window, ends), reporting, window, is_slice=True)
        for states in slices_by_name(paths).values()
    ]
    return joined(documents).written(reporting)


def _compared(
    named: Sequence[tuple[str, Any]],
    reporting: Reporting,
    window: str | int | None,
    *,
    is_slice: bool = False,
) -> Document:
    """Compare the first state with the others."""
    metrics, conditions, level = reporting.metrics, reporting.conditions, reporting.level
    sides = [_Side.of(name, held, level, some=bool(metrics)) for name, held in named]
    a, *others = sides
    for b in others:
        _check_types(a, b)
    chosen = metrics or _shared(sides)
    for metric in (*metrics, *(condition.metric for condition in conditions)):
        for side in sides:
            side.check(metric)
    are_windows = window is not None  # of different times
    pairs = {
        b.path: SamplePair.none()
        if are_windows or a.accumulator == b.accumulator
        else SamplePair.of(a.result, b.result)
        for b in others
    }
    changes = {
        str(metric): [_change(metric, a, b, pairs[b.path], level) for b in others]
        for metric in chosen
    }
    verdicts = [
        attrs.evolve(note, text=f"{b.path}: {note.text}") if is_slice or others[1:] else note
        for b in others
        for note in _verdicts(a, b, pairs[b.path], conditions, level)
    ]
    notes = {
        b.path: [*_about(a, b, all_metrics=not metrics), *_about_rows(a, b, pairs[b.path])]
        for b in others
    }
    sizes = [(side.path, size_text(side.accumulator)) for side in sides]
    said = dict.fromkeys(note for of_one in notes.values() for note in of_one)
    return Document(
        sheet=lambda: change_sheet(sizes, changes, level),
        entries=lambda: [
            _entries(a, b, {name: row[index] for name, row in changes.items()}, level)
            | {"notes": [note.text for note in notes[b.path]]}
            for index, b in enumerate(others)
        ],
        notes=(*said, *verdicts),
    )


def _verdicts(
    a: _Side, b: _Side, pair: SamplePair, conditions: Iterable[Worsening], level: float
) -> Iterator[Note]:
    """Decide the conditions."""
    for condition in conditions:
        yield decide(condition, _change(condition.metric, a, b, pair, level), level)


def _about(a: _Side, b: _Side, *, all_metrics: bool) -> Iterator[Note]:
    """Say how else two states differ."""
    yield from _about_options(a, b)
    yield from _about_classes(a, b)
    if all_metrics:
        yield from _about_metrics(a, b)


def _check_types(a: _Side, b: _Side) -> None:
    """Raise IncompatibleStateError if states, or members of the same name, differ in type."""
    mine, theirs = a.leaves, b.leaves
    types = [("", type(a.accumulator), type(b.accumulator))]
    types += [(name, type(mine[name]), type(theirs[name])) for name in mine if name in theirs]
    for name, one, other in types:
        if one is not other:
            role = f" as {name!r}" if name else ""
            raise IncompatibleStateError(
                f"{a.path} holds a {one.__name__}{role} and {b.path} a {other.__name__}: "
                "only states of one type can be compared."
            )


def _shared(sides: Sequence[_Side]) -> tuple[MetricName, ...]:
    """Name the metrics that all states have."""
    first, *others = sides
    shared = tuple(
        MetricName(name) for name in first.every if all(name in side.every for side in others)
    )
    if not shared:
        paths = " and ".join(side.path for side in sides)
        raise IncompatibleStateError(f"{paths} have no metric in common.")
    return shared


def _change(metric: MetricName, a: _Side, b: _Side, pair: SamplePair, level: float) -> Change:
    return pair.change(metric, a.reading(metric, level), b.reading(metric, level), level)


def _about_rows(a: _Side, b: _Side, pair: SamplePair) -> Iterator[Note]:
    """Say what the intervals assume, where the numbers of rows make that doubtful."""
    for member, comparison in pair.compared.items():
        of = f" of {member!r}" if member else ""
        n = next(iter(comparison.values())).n
        n_left_out = comparison.n_only_a + comparison.n_only_b
        left = ", which are not all of either" if n_left_out else ""
        yield Note("note", f"intervals{of} are paired by the {n:,} queries of both{left}.")
    if pair.alike:
        yield Note(
            "note",
            f"{a.path} and {b.path} count equally many rows of each class. If these are the same "
            "rows, the intervals are too wide: compare them with eval --versus, and rankings with "
            "eval --compare.",
        )


def _about_metrics(a: _Side, b: _Side) -> Iterator[Note]:
    """Name the metrics that only one state has."""
    for side, other in ((a, b), (b, a)):
        only = [name for name in side.every if name not in other.every]
        if only:
            yield Note("note", f"only {side.path} has {listed_few(only)}.")


def _about_options(a: _Side, b: _Side) -> Iterator[Note]:
    """Name the options that differ."""
    mine, theirs = every_option(a.accumulator), every_option(b.accumulator)
    parts = [
        f"{name} ({shortened(mine[name])} and {shortened(theirs[name])})"
        for name in mine
        if name in theirs and mine[name] != theirs[name]
    ]
    if parts:
        yield Note("note", f"counted with different options: {listed_few(parts)}.")


def _about_classes(a: _Side, b: _Side) -> Iterator[Note]:
    """Say which metrics are of different classes.

    Raises
    ------
    IncompatibleStateError
        If two members of the same name share no class.
    """
    for name, mine in a.leaves.items():
        theirs = b.leaves.get(name)
        if not (isinstance(mine, Confusion) and isinstance(theirs, Confusion)):
            continue
        labels, others = set(mine.labels), set(theirs.labels)
        of = f" of {name!r}" if name else ""
        if labels and others and not labels & others:
            raise IncompatibleStateError(
                f"{a.path} and {b.path} have no class{of} in common: "
                f"{listed_few(map(str, mine.class_names))}, and "
                f"{listed_few(map(str, theirs.class_names))}."
            )
        if labels != others or mine.scope != theirs.scope:
            yield Note(
                "note",
                f"the metrics{of} are not of the same classes: {mine.scope} in {a.path}, and "
                f"{theirs.scope} in {b.path}.",
            )


def _entries(a: _Side, b: _Side, changes: Mapping[str, Change], level: float) -> dict[str, Any]:
    """Return the JSON object."""
    metrics = {}
    for name, change in changes.items():
        metrics[name] = {
            "a": change.before.value,
            "b": change.after.value,
            "difference": change.difference,
            "bounds": change.bounds,
        }
        if change.sampling is not None:
            metrics[name]["interval"] = change.sampling
            metrics[name]["samples"] = change.samples
    return {
        "task": a.result.TABLE.task,
        "states": [a.path, b.path],
        "level": level,
        "metrics": metrics,
    }


_ASSUMED = "Intervals assume independent samples; for the same rows: eval --versus."
_MANY = 10**12  # three such counts, with commas, do not fit beside a name


def change_sheet(
    sides: Sequence[tuple[str, str]], changes: Mapping[str, Sequence[Change]], level: float
) -> Sheet:
    """Lay out a line for each metric: its values, the differences and their intervals.

    Parameters
    ----------
    sides : sequence of (str, str)
        The path of each state, and how much it holds.
    changes : mapping of str to sequence of Change
        By metric: from the first state to each of the others.
    level : float
        The level of the sampling intervals.
    """
    first, *others = names = [chr(ord("A") + side) for side in range(len(sides))]
    columns = list(zip(*changes.values(), strict=True))
    befores = [change.before for change in columns[0]]
    values, intervals = [reading_columns(first, befores, level, write=_values)[:1]], []
    for name, column in zip(others, columns, strict=True):
        title, afters = f"{name} - {first}", [change.after for change in column]
        changed, of = [change.reading for change in column], f"{title}, " if others[1:] else ""
        difference, *ends = reading_columns(title, changed, level, of=of, write=signed)
        values.append([*reading_columns(name, afters, level, write=_values)[:1], difference])
        intervals += [[one] for one in ends]
    values[:2] = [values[0] + values[1]]
    assumed = any(one.sampling and one.samples == "independent" for row in columns for one in row)
    caption = _ASSUMED if assumed else ""
    heading = [f"{name}: {path}, {size}" for name, (path, size) in zip(names, sides, strict=True)]
    metrics = SheetColumn.of_names("metric", changes, by_end=True)
    return [
        "\n".join(map(printable, heading)),
        Grid([metrics], [*values, *intervals], caption),
    ]


def _values(values: Sequence[float], decimals: int) -> list[str]:
    """Write huge counts with six digits: three of them would not fit beside a name."""
    return [
        f"{value:.6g}" if isinstance(value, int) and abs(value) >= _MANY else text
        for value, text in zip(values, numbers(values, decimals), strict=True)
    ]


def signed(values: Sequence[float], decimals: int) -> list[str]:
    """Write differences with their signs; 0 has none."""
    return [
        f"+{text}" if value > 0 else text
        for value, text in zip(values, _values(values, decimals), strict=True)
    ]


def chosen_windows(
    paths: Sequence[str], width: str | int | None, ends: Sequence[str]
) -> list[tuple[str, Any]]:
    """Load states, or a window of each, with their names.

    Parameters
    ----------
    paths : sequence of str
        The files. A file that is given several times yields consecutive windows.
    width : str or int, optional
        The width of the windows; None for whole states.
    ends : sequence of str
        Their ends, one for each path; by default the newest.

    Raises
    ------
    UsageError
        If a state has no panes, or an end or the width is missing.
    InvalidInputError
        If the window does not exist; the message names the nearest edges.
    """
    if width is None:
        if ends:
            raise UsageError("--ends needs --window, the width of the windows.")
        return [(path, load_state(path)) for path in paths]
    if ends and len(ends) != len(paths):
        raise UsageError(f"--ends must name {len(paths)} times, one for each state.")
    left = Counter(paths)
    held = {path: panes_of(path, load_state(path), "--window") for path in left}
    read = integer_or_text if isinstance(width, int) else _moment
    found = []
    for index, path in enumerate(paths):
        left[path] -= 1
        end = read(ends[index]) if ends else _back(held[path], width, left[path])
        shown = time_texts([ends[index] if ends else end])[0]
        name = path if end is None else f"{path} to {shown}"
        found.append((name, held[path].window(width, end)))
    return found


def _moment(text: str) -> str | datetime:
    """Read a typed time; without an offset it is in UTC, like the edges shown."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC) if is_naive(text) else text


def _back(held: Windowed, width: str | int, number: int) -> Any:
    """Return the end of the window that `number` others follow; None without rows."""
    held.window(width)  # raises for an invalid width
    view = held.view()
    if view.newest is None:
        return None
    return edge_before(view.config, width, view.config.shown(view.end), number)
