"""The live page of a monitor: the last commit, rendered once for all who look at it."""

from __future__ import annotations

import functools
import threading
import time
import zlib
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any, Self, cast, final

import attrs
import numpy as np

from streameval.accumulators.collection import heaviest
from streameval.accumulators.evidence import slice_of
from streameval.accumulators.sliced import Sliced
from streameval.accumulators.windowed import Windowed
from streameval.configs.windowed import WindowedConfig
from streameval.metrics.intervals import normal_quantile
from streameval.metrics.table import Reading
from streameval.monitoring.rules import COVERAGE, MetricRule, parse_rule
from streameval.monitoring.series import UNDEFINED, AlertState, read_defined
from streameval.monitoring.server import Request, Response, Route
from streameval.monitoring.status import BAD, Snapshot, Status
from streameval.render.live import Alert, Card, Series, View, document, fragment, icon
from streameval.render.markup import Html
from streameval.render.sparklines import Marks
from streameval.render.time_pictures import Pane
from streameval.render.wording import share
from streameval.results.names import MetricName, parse_metric, parse_metrics
from streameval.results.result_types import RESULTS
from streameval.results.sliced import OTHER, slice_names
from streameval.states.panes import Span
from streameval.states.sealed import live

__all__ = ["LivePage"]

N_PANES = 60
"""How many panes a series shows."""

_STATES = ("firing", "pending", "silent", "resolved", "inactive")
_CLEAR = 2.0
_NARROWEST = 1e-9
_REST: Any = object()  # the rows of values without a slice
_GZIP = b"\x1f\x8b\x08" + bytes(6) + b"\xff"  # the header, without a time or a name
_deflating = threading.Lock()


@attrs.frozen(eq=False)
class _Slice:
    """The rows of a slice in a pane: their weight, and what the metrics read."""

    weight: int | float
    readings: tuple[Reading, ...]
    _panes: dict[tuple[int, bool], Pane] = attrs.field(factory=dict, repr=False)

    def pane(self, index: int, of: _Counted, ends: tuple[Any, Any], *, is_open: bool) -> Pane:
        """Return what a series shows of a metric: made once, since every update has all panes."""
        key = index, is_open
        pane = self._panes.get(key)
        if pane is None:
            made = Pane(*ends, of.rows, self.weight, self.readings[index], is_open)
            pane = self._panes[key] = made
        return pane


@attrs.frozen(eq=False)
class _Counted:
    """What has been read of a pane."""

    span: Span
    rows: int | float
    labelled: int | float
    slices: Mapping[Any, _Slice]

    def is_of(self, span: Span) -> bool:
        """Tell whether a pane is still the same: what holds its counts never changes."""
        return self.span.pane.part is span.pane.part and self.span.pane.rows is span.pane.rows


@attrs.define(eq=False)
class _Line:
    """What the last view had of a slice, pane by pane, and of each of its metrics."""

    slices: list[_Slice] = attrs.field(factory=list)
    series: list[list[Pane]] = attrs.field(factory=list)
    marks: list[Marks] = attrs.field(factory=list)

    @classmethod
    def of(cls, n_metrics: int) -> Self:
        """Begin without panes."""
        return cls([], [[] for _ in range(n_metrics)], [Marks() for _ in range(n_metrics)])


@final
class LivePage:
    """Show commits, as a page and as a stream of updates.

    `show` takes a snapshot and returns at once; rendering happens when a client asks, once for
    each snapshot.

    Parameters
    ----------
    title : str
        The heading.
    snapshot : Snapshot
        What to show first.
    metrics : sequence of str or MetricName, optional
        What is shown of each slice; by default what alerts are about, and the headline of the
        result.
    level : float
        The probability of the sampling intervals, in [0, 1); 0 leaves them out.
    pace : float
        The seconds between two updates of a page, at least.
    keep_alive : float
        The seconds after which a stream without updates sends a comment: proxies close silent
        connections.

    Raises
    ------
    InvalidInputError
        If there is no such metric, or the level is none.

    Notes
    -----
    What has been read of a pane is kept while the pane does not change.
    """

    def __init__(
        self,
        title: str,
        snapshot: Snapshot,
        *,
        metrics: Sequence[str | MetricName] = (),
        level: float = 0.95,
        pace: float = 1.0,
        keep_alive: float = 15.0,
    ) -> None:
        normal_quantile(level)
        self._title = title
        self._level = level
        self._pace = pace
        self._keep_alive = keep_alive
        self._changed = threading.Condition()
        self._snapshot = snapshot
        self._is_closed = False
        self._rendering = threading.Lock()
        self._readers = _Readers(_checked(metrics, snapshot.windowed), level)
        self._rendered: _Rendered | None = None

    def show(self, snapshot: Snapshot) -> None:
        """Let pages show a commit."""
        with self._changed:
            self._snapshot = snapshot
            self._changed.notify_all()

    def close(self) -> None:
        """End the streams."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    @property
    def routes(self) -> dict[str, Route]:
        """What answers for the paths of the page."""
        return {
            "/": self._page,
            "/events": self._events,
            "/icon.svg": self._icon,
            "/live.js": functools.partial(_file, "text/javascript", ("live.js",)),
            "/page.css": functools.partial(_file, "text/css", ("page.css", "live.css")),
        }

    def _page(self, _: Request) -> Response:
        rendered = self._newest()
        return Response(_typed("text/html"), document(rendered.view, rendered.shown).encode())

    def _icon(self, _: Request) -> Response:
        return Response(_typed("image/svg+xml"), icon(self._newest().view.state).encode())

    def _events(self, request: Request) -> Response:
        known = request.headers.get("Last-Event-ID") or request.query.removeprefix("after=")
        updates, headers = self._updates(known), {"Vary": "Accept-Encoding"}
        if "gzip" in (request.headers.get("Accept-Encoding") or ""):
            updates, headers["Content-Encoding"] = _gzipped(updates), "gzip"
        return Response(_typed("text/event-stream"), updates, headers)

    def _updates(self, known: str) -> Generator[bytes]:
        """Send each commit that a client does not know, as far as it keeps up."""
        yield b"retry: 2000\n\n"
        while True:
            is_new = self._has_news(known)
            if self._is_closed:
                return
            if not is_new:
                yield b":\n\n"
                continue
            rendered = self._newest(self._pace)
            if rendered.view.version == known:  # so soon after it, the next one has to wait
                self._pause()
            else:
                known = rendered.view.version
                yield rendered.event

    def _has_news(self, known: str) -> bool:
        """Wait for another commit than the known one, or the end; tell whether it has come."""
        with self._changed:
            return self._changed.wait_for(
                lambda: self._is_closed or str(self._snapshot.status.number) != known,
                self._keep_alive,
            )

    def _pause(self) -> None:
        """Wait for the time between two updates, or the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed, self._pace)

    def _newest(self, pace: float = 0.0) -> _Rendered:
        """Render the last commit, unless one has just been rendered."""
        with self._rendering:
            held, snapshot = self._rendered, self._snapshot
            if held is None or (
                held.view.version != str(snapshot.status.number)
                and time.monotonic() - held.made_at >= pace
            ):
                view = self._readers.view(self._title, snapshot)
                held = self._rendered = _Rendered.of(view)
            return held


@attrs.frozen(eq=False)
class _Rendered:
    """What has been rendered of a commit.

    Parameters
    ----------
    view : View
    shown : Html
        The part of the page that changes.
    event : bytes
        The update that streams send: one line, since markup holds no control characters.
    made_at : float
        When, by a clock that does not jump.
    """

    view: View
    shown: Html
    event: bytes
    made_at: float

    @classmethod
    def of(cls, view: View) -> Self:
        """Render what a page shows."""
        shown = fragment(view)
        event = f"id: {view.version}\nevent: update\ndata: {shown}\n\n".encode()
        return cls(view, shown, event, time.monotonic())


def _gzipped(parts: Generator[bytes]) -> Generator[bytes]:
    """Compress a stream, part by part."""
    with closing(parts):
        yield _GZIP
        for part in parts:
            yield _deflated(part)


@functools.lru_cache(maxsize=4)
def _deflated_once(part: bytes) -> bytes:
    packer = zlib.compressobj(1, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(part) + packer.flush(zlib.Z_FULL_FLUSH)


def _deflated(part: bytes) -> bytes:
    """Compress a part without reference to those before, so that all streams can share it."""
    with _deflating:
        return _deflated_once(part)


class _Readers:
    """Reads the panes of each commit: those that have changed since the one before.

    The newest are read first, and older ones for some seconds: the next view has more of them.
    """

    def __init__(self, metrics: Sequence[MetricName], level: float, patience: float = 1.0) -> None:
        self._metrics = metrics
        self._level = level
        self._patience = patience
        self._is_complete = True
        self._known: dict[tuple[int, int], _Counted] = {}
        self._lines: dict[Any, _Line] = {}
        self._viewed: list[tuple[_Counted, bool]] = []
        self._values: dict[Any, None] | None = None

    def view(self, title: str, snapshot: Snapshot) -> View:
        """Put together what a page shows."""
        status, windowed = snapshot.status, snapshot.windowed
        found = None if windowed is None else self._read(windowed, snapshot.alerts)
        cards = [] if not found else _cards(windowed._config, found, self, snapshot)
        others = [one for one in snapshot.alerts if _is_about_all(one)]
        return View(
            title=title,
            number=status.number,
            committed=_clock_text(status.committed_at),
            facts=_facts(status),
            whole=cards[0] if cards else None,
            slices=cards[1:],
            others=_shown(others),
            level=self._level,
            is_complete=self._is_complete,
        )

    @property
    def metrics(self) -> Sequence[MetricName]:
        """What is read."""
        return self._metrics

    def line(self, value: Any) -> _Line:
        """Return what the last view had of a slice."""
        line = self._lines.get(value)
        if line is None:
            line = self._lines[value] = _Line.of(len(self._metrics))
        return line

    def same(self, panes: Sequence[_Counted], opened: Sequence[bool]) -> int:
        """Tell how many of the first panes are those of the last view."""
        before, self._viewed = self._viewed, list(zip(panes, opened, strict=True))
        pairs = zip(before, self._viewed, strict=False)
        changed = (
            at for at, (old, new) in enumerate(pairs) if old[0] is not new[0] or old[1] != new[1]
        )
        return next(changed, min(len(before), len(self._viewed)))

    @property
    def values(self) -> Sequence[Any]:
        """The values of slices that have been seen; `_REST` for all others."""
        return list(self._values or ())

    def _read(self, windowed: Windowed, alerts: Sequence[AlertState]) -> list[_Counted]:
        state = windowed._everything(windowed._held)
        if state.newest is None:
            return []
        if not self._metrics:
            named = [one.metric or "" for one in alerts if not _is_about_all(one)]
            result = windowed._all_rows(windowed._held).compute()
            named += [one for one in result.headline() if not result.read(one, level=0.0).is_count]
            self._metrics = [parse_metric(name) for name in dict.fromkeys(named)]
        if self._values is None:
            parts = [live(part) for part in state.accumulators]
            self._values = {value: None for part in parts for value in _values_of(part)}
        known, self._known = self._known, {}
        began, n_read = time.monotonic(), 0
        spans = state.spans(windowed._config)[-N_PANES:]
        for span in reversed(spans):
            key = span.start, span.end
            held = known.get(key)
            if held is None or not held.is_of(span):
                if n_read and time.monotonic() - began > self._patience:
                    break
                held, n_read = self._counted(span), n_read + 1
            self._known[key] = held
        self._is_complete = len(self._known) == len(spans)
        return [self._known[key] for key in reversed(self._known)]

    def _counted(self, span: Span) -> _Counted:
        """Read all slices of a pane."""
        part = None if span.pane.part is None else live(span.pane.part)
        slices = {}
        if part is not None:
            slices[...] = self._slice(slice_of(part, ...))
            for value in _values_of(part):
                one = part.other if value is _REST else slice_of(part, value)
                slices[value] = self._slice(one)
                self._values[value] = None  # type: ignore[index]
        rows = span.pane.rows.to_numbers().item()
        return _Counted(span, rows, 0 if part is None else heaviest(part.n), slices)

    def _slice(self, accumulator: Any) -> _Slice:
        weight, result = heaviest(accumulator.n), accumulator.compute()
        readings = (read_defined(result, metric, self._level) for metric in self._metrics)
        return _Slice(weight, tuple(readings))


def _values_of(part: Any) -> list[Any]:
    """List the values that have a slice with rows."""
    if not isinstance(part, Sliced):
        return []
    state = part._everything(part._held)
    return [*state.parts, *([] if state.other is None else [_REST])]


def _cards(
    config: WindowedConfig, panes: Sequence[_Counted], readers: _Readers, snapshot: Snapshot
) -> list[Card]:
    """Make the cards of all rows, and of slices in the order of attention."""
    until = _number(snapshot.status.mature_until)
    opened = [until is None or one.span.end > until for one in panes]
    ends = [(config.shown(one.span.start), config.shown(one.span.end)) for one in panes]
    alerts: dict[Any, list[AlertState]] = {}
    for one in snapshot.alerts:
        if not _is_about_all(one):
            key = None if one.slice is None else tuple(one.slice.items())
            alerts.setdefault(key, []).append(one)
    coverage = [one.labelled / one.rows for one in panes]
    nothing = [_Slice(0, (UNDEFINED,) * len(readers.metrics)) for _ in panes]
    n_same = readers.same(panes, opened)

    def card(value: Any, name: str, of: Sequence[AlertState]) -> tuple[Any, Card]:
        line = readers.line(value)
        first = min(n_same, len(line.slices))
        new = [
            one.slices.get(value, none)
            for one, none in zip(panes[first:], nothing[first:], strict=True)
        ]
        slices = line.slices = [*line.slices[:first], *new]
        held = list(zip(panes[first:], new, ends[first:], opened[first:], strict=True))
        series = []
        for at, metric in enumerate(readers.metrics):
            made = [part.pane(at, one, pair, is_open=is_open) for one, part, pair, is_open in held]
            line.series[at] = [*line.series[at][:first], *made]
            series.append(Series(str(metric), line.series[at], _limits(metric, of), line.marks[at]))
        states: set[str] = {one.state for one in of}
        if value is not _REST and _is_silent(slices, opened):
            states.add("silent")
        state = min(states, key=_STATES.index, default="inactive")
        shown = Card(name, state, _shown(of), series, coverage)
        return (_STATES.index(state), -_evidence(of), -sum([one.weight for one in slices])), shown

    _, whole = card(..., "All rows", alerts.get(None, ()))
    values = [value for value in readers.values if value is not _REST]
    slices = []
    if values:
        columns = config.accumulator.options.column
        for value, name in zip(
            values, slice_names(config.accumulator.options, values), strict=True
        ):
            items = value if len(columns) > 1 else (value,)
            slices.append(
                card(value, name, alerts.get(tuple(zip(columns, items, strict=True)), ()))
            )
    if _REST in readers.values:
        slices.append(card(_REST, OTHER, ()))
    ordered = sorted(
        slices, key=lambda pair: (*pair[0][:2], -_worse(pair[1], whole), *pair[0][2:], pair[1].name)
    )
    return [whole, *(made for _, made in ordered)]


def _limits(metric: MetricName, alerts: Sequence[AlertState]) -> tuple[float, ...]:
    """List the limits of the alerts about a metric."""
    if not alerts:
        return ()
    return tuple(dict.fromkeys(_limit(one.rule) for one in alerts if one.metric == str(metric)))


def _is_silent(slices: Sequence[_Slice], opened: Sequence[bool]) -> bool:
    """Tell whether a slice has usually rows, and none in the newest mature pane."""
    mature = [one.weight > 0 for one, is_open in zip(slices, opened, strict=True) if not is_open]
    return bool(mature) and not mature[-1] and 2 * sum(mature) > len(mature)


def _evidence(alerts: Sequence[AlertState]) -> float:
    """Return how near an e-detector is to its alarm, in steps that hardly move cards about."""
    shares = [
        one.log_evidence / one.log_threshold
        for one in alerts
        if one.log_evidence is not None and one.log_threshold
    ]
    return round(min(max([*shares, 0.0]), 1.0), 1)


def _worse(card: Card, whole: Card) -> int:
    """Return how clearly a slice is worse than all rows, in half widths of its intervals."""
    found = 0.0
    for series, other in zip(card.series, whole.series, strict=True):
        mine, all_rows = series.newest, other.newest
        if mine is None or all_rows is None or mine.reading.sampling is None:
            continue
        low, high = mine.reading.sampling
        gap = float(all_rows.reading.value) - float(mine.reading.value)
        found = max(found, _sign(series.metric) * gap * 2 / max(high - low, _NARROWEST))
    return int(found) if found >= _CLEAR else 0


@functools.cache
def _sign(metric: str) -> int:
    """Return -1 for a metric that is better the lower it is."""
    name = parse_metric(metric).name.rpartition("/")[2]
    rows = (cls.TABLE[name].better for cls in RESULTS if name in cls.TABLE)
    return -1 if next(rows, "") == "lower" else 1


@functools.lru_cache(maxsize=1024)
def _limit(rule: str) -> float:
    return cast("MetricRule", parse_rule(rule)).claim.number


def _is_about_all(alert: AlertState) -> bool:
    """Tell whether an alert is about the sources, not about a metric."""
    return alert.metric in (None, COVERAGE)


def _shown(alerts: Sequence[AlertState]) -> list[Alert]:
    """Show the alerts that are not inactive, the most urgent ones first."""
    ordered = sorted(alerts, key=lambda one: _STATES.index(one.state))
    return [
        Alert(one.rule, one.state, _time_text(one.since))
        for one in ordered
        if one.state != "inactive"
    ]


def _facts(status: Status) -> list[tuple[str, str]]:
    """List the numbers of a status that say something."""
    facts = [("Rows", f"{status.n_rows:,}")]
    if status.coverage is not None:
        facts.append(("Labelled", share(status.coverage)))
    if status.n_pending or status.label_watermark is not None:
        facts.append(("Waiting for a label", f"{status.n_pending:,}"))
    times = {
        "Newest row": status.last_event_time,
        "Rows complete until": status.watermark,
        "Labels complete until": status.label_watermark,
        "Panes mature until": status.mature_until,
    }
    facts += [(name, _time_text(time)) for name, time in times.items() if time is not None]
    if status.is_full:
        facts.append(("Predictions", "not read until labels come"))
    named = {"Bad rows": status.n_bad} if status.n_bad else {}
    named |= {
        name.replace("_", " ").capitalize(): number
        for name, number in status.counters.items()
        if number and name not in (*BAD, "labels")
    }
    return facts + [(name, f"{number:,}") for name, number in named.items()]


def _clock_text(seconds: float | None) -> str:
    if seconds is None:
        return "not begun yet"
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _time_text(time: Any) -> str:
    return str(time).removesuffix("Z").removesuffix(".000000").replace("T", " ")


def _number(time: Any) -> int | None:
    return None if time is None else int(np.asarray(time).astype(np.int64))


def _checked(metrics: Sequence[str | MetricName], windowed: Any) -> list[MetricName]:
    """Read the names of metrics; once it is known what is counted, all of them must be there."""
    parsed = parse_metrics(metrics)
    if windowed is not None:
        result = windowed._config.accumulator.leaf.empty().compute()
        for metric in parsed:
            result.check(metric)
    return parsed


def _file(media_type: str, names: Sequence[str], _: Request) -> Response:
    """Send files of the package, one after the other."""
    folder = files("streameval.render")
    return Response(
        _typed(media_type), b"\n".join(folder.joinpath(one).read_bytes() for one in names)
    )


def _typed(media_type: str) -> str:
    return f"{media_type}; charset=utf-8"
