"""Windows of time as text and as JSON: a line for each pane, and what `watch` shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from streameval.accumulators.pane_results import pane_result, results_of
from streameval.accumulators.windowed import Windowed
from streameval.cli.slices import slice_entries
from streameval.errors import InvalidInputError
from streameval.monitoring.status import time_number
from streameval.render.sheets import Sheet
from streameval.render.text import duration, json_time, numbers, plural, time_texts
from streameval.results.collection import DECIMALS, read_or_nan
from streameval.results.sliced import SlicedResult
from streameval.results.windowed import PaneResult, WindowedResult
from streameval.runs.slices import Slices

if TYPE_CHECKING:
    from streameval.accumulators.panes import Panes
    from streameval.cli.options import Reporting
    from streameval.configs.windowed import WindowedConfig
    from streameval.monitoring.alerts import AlertState, Event
    from streameval.monitoring.status import Closed, Snapshot, Status


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
    edges = {name: json_time(getattr(pane, name)) for name in ("start", "end")}
    counts = {"rows": pane.n_rows, "labelled": pane.n_labelled}
    entry = {**edges, **counts, **describe(pane.result)}
    slices = slices_of(pane.slices, values)
    return entry if slices is None else entry | slice_entries(slices, describe)


_COUNTERS = {
    "lost": ("lost row",),
    "duplicate_prediction": ("duplicate prediction",),
    "duplicate_label": ("duplicate label",),
    "conflicting": ("conflicting label",),
    "late_correction": ("late correction",),
    "late_label": ("late label",),
    "orphan_expired": ("label without a prediction", "labels without a prediction"),
}


def board(
    snapshot: Snapshot, widths: Sequence[str | int], reporting: Reporting, now: datetime
) -> Sheet:
    """Lay out the newest mature pane, the windows that end with it, the alerts and a footer."""
    held, status = snapshot.windowed, snapshot.status
    raised = (alert for alert in snapshot.alerts if alert.state in ("pending", "firing"))
    alerts = list(map(_alert_text, raised))
    if held is None or status.last_event_time is None:
        return [*alerts, _before_counting(status)]
    view = held.view()
    if view.newest is None:
        return [_footer(view, status, now)]
    whole = pane_result(None, None, held.n_rows(), held.total())
    kept = None if whole.slices is None else list(whole.slices)
    names, found, notes = [], [], []
    end = _end(view, status)
    for width in (view.config.pane, *widths):
        try:
            part, start = held.window(width, end), edge_before(view.config, width, end)
            rows = held.n_rows(start, end)
        except InvalidInputError:
            notes.append(f"a window of {width} reaches back before the panes that are kept")
            continue
        names.append(f"{width} to {time_texts([start, end])[1]}")
        found.append(pane_result(start, end, rows, part, kept))
    windows = WindowedResult.of(view.config, found, None, whole)
    return [
        *window_sheet(None, windows, reporting, names),
        *notes,
        *alerts,
        _footer(view, status, now),
    ]


def pane_line(pane: Closed, reporting: Reporting) -> str:
    """Write a closed pane: its start, its size, its coverage and the chosen metrics."""
    result, _ = results_of(pane.accumulator)
    chosen = reporting.chosen(result)
    values = [read_or_nan(result, metric, 0.0).defined.value for metric in chosen]
    metrics = [
        f"{name} {value}" for name, value in zip(chosen, numbers(values, DECIMALS), strict=True)
    ]
    revised = ["(revised)"] if pane.is_revised else []
    size = f"{pane.n_rows:,} rows"
    if pane.n_rows != pane.n_labelled:
        size += f", {pane.coverage:.1%} labelled"
    return "  ".join([time_texts([pane.start, pane.end])[0], size, *metrics, *revised]) + "\n"


def event_text(event: Event) -> str:
    """Describe the change of an alert in one line."""
    value = "" if event.value is None else f", at {event.value:.{DECIMALS}f}"
    until = "" if event.end is None else f", {event.end}"
    name = f"{event.about['name']}: " if "name" in event.about else ""
    return f"{name}{event.rule}{_about(event)} is {event.state}{value}{until}"


def _end(view: Panes, status: Status) -> Any:
    """Return the end of the newest mature pane, or of the newest pane if none is mature."""
    until = status.mature_until
    is_mature = until is not None and view.spans(end=time_number(until))
    return until if is_mature else view.config.shown(view.end)


def edge_before(config: WindowedConfig, width: str | int, end: Any, number: int = 1) -> Any:
    """Go back by some windows from an edge of panes."""
    return config.shown(time_number(end) - number * config.length(width, name="width"))


def _alert_text(alert: AlertState) -> str:
    return f"{alert.state}: {alert.rule}{_about(alert)} since {alert.since}"


def _about(alert: Event | AlertState) -> str:
    """Name the slice of an alert, in the syntax of rules."""
    from streameval.monitoring.rule_text import slice_text  # noqa: PLC0415 (of alerts)

    return "" if alert.slice is None else f" {slice_text(alert.slice)}"


def _before_counting(status: Status) -> str:
    """Say what has been read while nothing can be counted."""
    if status.n_rows:
        return f"{plural(status.n_rows, 'row')}, {status.n_pending:,} pending, no label yet"
    n_left_out, n_labels = (status.counters.get(name, 0) for name in ("left_out", "labels"))
    left_out = f": --where has left out {plural(n_left_out, 'row')}" if n_left_out else ""
    labels = f", {plural(n_labels, 'label')}" if n_labels else ""
    waiting = "" if status.waits_for is None else ", waiting for the clock"
    return f"no rows yet{left_out}{labels}{waiting}"


def _footer(view: Panes, status: Status, now: datetime) -> str:
    """Say how far behind the monitor is, and what it could not count."""
    parts = [plural(status.n_rows, "row")]
    if status.n_pending:
        parts.append(f"{status.n_pending:,} pending")
    if status.coverage is not None and status.n_counted != status.n_labelled:
        parts.append(f"{status.coverage:.1%} labelled")
    until = status.mature_until
    n_open = len(view.spans(None if until is None else time_number(until)))
    parts.append(f"{plural(n_open, 'open pane')}")
    if not view.config.is_step:
        behind = now.timestamp() - time_number(status.last_event_time) / 1e6
        parts.append(f"{duration(max(behind, 0))} behind")
    if status.n_bad:
        parts.append(plural(status.n_bad, "bad row"))
    for name, words in _COUNTERS.items():
        if count := status.counters.get(name):
            parts.append(plural(count, *words))
    if status.is_full:
        parts.append("waiting for labels")
    if status.waits_for is not None:
        parts.append("waiting for the clock")
    return ", ".join(parts)
