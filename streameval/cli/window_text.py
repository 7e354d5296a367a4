"""Windows of time: a line, or a JSON object, for each pane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import attrs

from streameval.accumulators.collection import heaviest
from streameval.accumulators.merging import merge
from streameval.accumulators.sliced import Sliced
from streameval.accumulators.windowed import Windowed
from streameval.cli.slice_text import line_sheet, slice_entries, slice_reading, value_name
from streameval.render.sheets import Column, Grid, Section
from streameval.render.text import numbers, plural
from streameval.runs.slices import Slices

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from streameval.cli.options import Reporting
    from streameval.metrics.table import Reading
    from streameval.render.sheets import Sheet
    from streameval.results.names import MetricName
    from streameval.results.result import Result

_DECIMALS = 4
_MAX_LINES = 60


@attrs.frozen
class Window:
    """The counts of a span of time.

    Parameters
    ----------
    start, end : datetime64[us], int or None
        The rows with ``start <= t < end``; None for the rows before all panes.
    rows, labelled : int or float
        The weight of all rows, and of the labelled ones.
    result : Result
        The result of the labelled rows.
    slices : Slices, optional
        The results by the values of a column.
    """

    start: Any
    end: Any
    rows: int | float
    labelled: int | float
    result: Result
    slices: Slices | None


@attrs.frozen
class Windows:
    """The panes of a state in order of time, after the rows before them.

    Parameters
    ----------
    every : tuple of Window
        The panes that have rows, or the newest of these.
    n_earlier : int
        The number of panes with rows before these.
    rows, labelled : int or float
        The weight of all rows, and of those with a label, whatever their pane.
    """

    every: tuple[Window, ...]
    n_earlier: int
    rows: int | float
    labelled: int | float

    @classmethod
    def of(cls, accumulator: Windowed, total: Any, newest: int | None = None) -> Self:
        """Compute the results of all panes, or of the newest ones.

        Parameters
        ----------
        accumulator : Windowed
            The accumulator of the panes.
        total : accumulator
            Its total. If it has slices, the windows have the same slices.
        newest : int, optional
            The number of panes; by default all.
        """
        n_earlier, counted = accumulator._counted(newest)
        found = tuple(window_of(*one, total) for one in counted)
        return cls(found, n_earlier, accumulator.n_rows(), heaviest(accumulator.n))


def window_of(start: Any, end: Any, rows: int | float, part: Any, total: Any) -> Window:
    """Compute the results of a window, with the same slices as the total of all windows."""
    return Window(start, end, rows, heaviest(part.n), *results_of(part, total))


def results_of(accumulator: Any, total: Any = None) -> tuple[Any, Slices | None]:
    """Compute the result of all rows, and the results of slices, if any.

    The slice of a value that the total lacks is merged into the slice of other values.
    """
    if not isinstance(accumulator, Sliced):
        return accumulator.compute(), None
    kept = set(accumulator if total is None else total)
    computed = accumulator.compute()
    by_value = {value: computed[value] for value in computed if value in kept}
    left = [accumulator[value] for value in accumulator if value not in kept]
    rest = merge([accumulator.other, *left])
    other = rest.compute() if heaviest(rest.n) else None
    slices = Slices(column=accumulator.options["column"], by_value=by_value, other=other)
    return accumulator.total().compute(), slices


def split_up(accumulator: Any, reporting: Reporting) -> tuple[Any, Slices | None, Windows | None]:
    """Compute the results of all rows, of slices and of windows, for any accumulator."""
    if not isinstance(accumulator, Windowed):
        return (*results_of(accumulator), None)
    total = accumulator.total()
    windows = Windows.of(accumulator, total, None if reporting.json else _MAX_LINES)
    return (*results_of(total), windows)


def time_texts(times: Sequence[Any]) -> list[str]:
    """Write the edges of panes; leave out seconds or times of day if all of them are zero."""
    texts = [str(time) for time in times]
    for zeros in (".000000", ":00", "T00:00"):
        if all("T" in text and text.endswith(zeros) for text in texts):
            texts = [text.removesuffix(zeros) for text in texts]
    return texts


def window_sheet(
    result: Result,
    slices: Slices | None,
    windows: Windows,
    reporting: Reporting,
    *,
    names: Sequence[str] | None = None,
) -> Sheet:
    """Lay out a line for each pane, with the chosen metrics or the headline ones.

    With slices, each metric has a table with a column for each value. The names of windows
    default to their starts.
    """
    shown, hidden = windows.every, windows.n_earlier
    starts = [window.start for window in shown if window.start is not None]
    title = "start" if names is None else "window"
    if names is None:
        names = [*["(before)"] * (len(shown) - len(starts)), *time_texts(starts)]
    names = ["(all)", *names]
    results = [result, *(window.result for window in shown)]
    note = f"and {plural(hidden, 'earlier window')}, which --json has" if hidden else ""
    rows = [windows.rows, *(window.rows for window in shown)]
    column = Column(["rows", *numbers(rows, _DECIMALS)])
    more = [column] if windows.rows != windows.labelled else []
    if slices is None:
        return [*line_sheet(title, names, results, reporting, more), note]
    chosen = reporting.chosen(result)
    every = [slices, *(window.slices for window in shown)]
    first = [Column.of_names(title, names), *more]
    grids = [_pivot(metric, first, results, every, reporting.level) for metric in chosen]
    return [*grids, result.scope_of(chosen), note]


def window_entries(windows: Windows, describe: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    """Return the entries of the JSON object: the panes in order of time."""
    counts = {"n_rows": windows.rows, "labelled": windows.labelled}
    return {**counts, "windows": [window_entry(window, describe) for window in windows.every]}


def window_entry(window: Window, describe: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    """Return the JSON object of a pane."""
    edges = {name: _json_time(getattr(window, name)) for name in ("start", "end")}
    counts = {"rows": window.rows, "labelled": window.labelled}
    entry = {**edges, **counts, **describe(window.result)}
    return entry if window.slices is None else entry | slice_entries(window.slices, describe)


def _json_time(time: Any) -> int | str | None:
    return time if time is None or isinstance(time, int) else f"{time}Z"


def _pivot(
    metric: MetricName,
    first: Sequence[Column],
    results: Sequence[Result],
    every: Sequence[Any],
    level: float,
) -> Section:
    """Lay out one metric: a line for each window, a column for each value."""
    whole = [slice_reading(result, metric, level) for result in results]
    columns = [*first, _cells("(all)", whole)]
    groups = [
        [_cells(value_name(value), [_held(one, value, metric, level) for one in every])]
        for value in every[0].by_value
    ]
    if any(one.other is not None for one in every):
        others = [_read(one.other, metric, level) for one in every]
        groups.append([_cells("(other)", others)])
    return Section(str(metric), [Grid(columns, groups)])


def _held(slices: Slices, value: Any, metric: MetricName, level: float) -> Reading | None:
    return _read(slices.by_value.get(value), metric, level)


def _read(result: Any, metric: MetricName, level: float) -> Reading | None:
    return None if result is None else slice_reading(result, metric, level)


def _cells(title: str, readings: Sequence[Reading | None]) -> Column:
    """Write the values of a column, with empty cells where there is no result."""
    written = iter(numbers([one.value for one in readings if one is not None], _DECIMALS))
    return Column([title, *("" if one is None else next(written) for one in readings)])
