"""Windows of time: a line, or a JSON object, for each pane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streameval.accumulators.pane_results import results_of
from streameval.accumulators.windowed import Windowed
from streameval.cli.slices import slice_entries
from streameval.runs.slices import Slices

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from streameval.cli.options import Reporting
    from streameval.render.sheets import Sheet
    from streameval.results.sliced import SlicedResult
    from streameval.results.windowed import PaneResult, WindowedResult


def split_up(accumulator: Any) -> tuple[Any, Slices | None, WindowedResult | None]:
    """Compute the results of all rows, of slices and of windows, for any accumulator."""
    windows = accumulator.over_time() if isinstance(accumulator, Windowed) else None
    if windows is None:
        result, slices = results_of(accumulator)
    else:
        result, slices = windows.whole.result, windows.whole.slices
    return result, slices_of(slices), windows


def slices_of(found: SlicedResult | None, values: Sequence[Any] | None = None) -> Slices | None:
    """Return the results of slices, by default of all, and of the other rows if there are any."""
    if found is None:
        return None
    columns = found.columns
    kept = found if values is None else [value for value in values if value in found]
    return Slices(
        column=columns[0] if len(columns) == 1 else columns,
        by_value={value: found[value] for value in kept},
        other=found.rest,
    )


def window_sheet(
    slices: Slices | None,
    windows: WindowedResult,
    reporting: Reporting,
    names: Sequence[str] | None = None,
) -> Sheet:
    """Lay out a line for each pane, with the chosen metrics or the headline ones."""
    return windows.lines(
        reporting.chosen(windows.whole.result),
        reporting.level,
        values=None if slices is None else list(slices.by_value),
        names=names,
        more=", which --json has",
    )


def window_entries(
    windows: WindowedResult, describe: Callable[[Any], dict[str, Any]], slices: Slices | None
) -> dict[str, Any]:
    """Return the entries of the JSON object: the panes in order of time."""
    values = None if slices is None else list(slices.by_value)
    return {
        "n_rows": windows.whole.n_rows,
        "labelled": windows.whole.n_labelled,
        "windows": [window_entry(pane, describe, values) for pane in windows.every],
    }


def window_entry(
    pane: PaneResult,
    describe: Callable[[Any], dict[str, Any]],
    values: Sequence[Any] | None = None,
) -> dict[str, Any]:
    """Return the JSON object of a pane, with some of its slices or all."""
    edges = {name: _json_time(getattr(pane, name)) for name in ("start", "end")}
    counts = {"rows": pane.n_rows, "labelled": pane.n_labelled}
    entry = {**edges, **counts, **describe(pane.result)}
    slices = slices_of(pane.slices, values)
    return entry if slices is None else entry | slice_entries(slices, describe)


def _json_time(time: Any) -> int | str | None:
    return time if time is None or isinstance(time, int) else f"{time}Z"
