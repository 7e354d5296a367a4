"""The last commit of a monitor as metrics of Prometheus."""

from __future__ import annotations

# The client library may be missing where types are checked.
# pyright: reportMissingImports=false
import math
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from streameval.accumulators.calibration import CalibrationAccumulator
from streameval.accumulators.collection import Collection, heaviest
from streameval.accumulators.confusion import ConfusionAccumulator
from streameval.accumulators.curve import PRCurveSketch
from streameval.accumulators.evidence import slice_of
from streameval.accumulators.score_buckets import score_buckets
from streameval.accumulators.sliced import Sliced
from streameval.configs.collection import Member
from streameval.errors import InvalidInputError
from streameval.inputs.durations import duration_text
from streameval.metrics.bounded import Bounded
from streameval.metrics.intervals import normal_quantile
from streameval.monitoring.join import COUNTERS
from streameval.monitoring.rule_text import slice_text
from streameval.monitoring.status import BAD, VITALS, SliceRows, check_exported, time_number
from streameval.results.collection import read_or_nan
from streameval.results.names import parse_metric, parse_metrics
from streameval.results.result import Result

try:
    from prometheus_client.core import (
        CounterMetricFamily,
        GaugeMetricFamily,
        HistogramMetricFamily,
        Metric,
    )
    from prometheus_client.exposition import choose_encoder
    from prometheus_client.registry import CollectorRegistry
    from prometheus_client.utils import floatToGoString
except ImportError as error:
    raise ImportError(
        'prometheus_client is missing: pip install "streameval[prometheus]".'
    ) from error

if TYPE_CHECKING:
    from streameval.monitoring.status import Snapshot, Status, Weights
    from streameval.results.confusion import Confusion
    from streameval.results.names import MetricName

__all__ = ["MonitorCollector"]

_ALL, _OTHER = "all", "other"
_MAX_CLASSES = 32


class Watched(Protocol):
    """The part of a monitor that is read."""

    def status(self) -> Status:
        """Return the numbers of the last commit."""
        ...

    def snapshot(self) -> Snapshot:
        """Return the last commit."""
        ...


def _of_vitals(*, is_counter: bool) -> dict[str, tuple[str, ...]]:
    """Describe the numbers of the monitor itself, as of its last step."""
    return {
        one.family: (one.text, *one.labels)
        for one in VITALS
        if one.family and one.is_counter is is_counter
    }


_COUNTERS = {
    **_of_vitals(is_counter=True),
    "streameval_predictions": ("Predictions read, without bad rows.",),
    "streameval_labels": ("Rows of labels read, without bad rows.",),
    "streameval_counted": ("Weight of the rows counted, labelled or not.",),
    "streameval_labelled": ("Weight of the rows counted with a label.",),
    "streameval_late": ("Rows that came after their pane had closed; they count.",),
    "streameval_bad_rows": ("Rows that could not be counted.", "reason"),
    "streameval_lost_rows": ("Rows that a server had deleted before they were read.",),
    "streameval_disconnections": ("How often a server has gone away.",),
    "streameval_join": ("Rows by what the join made of them.", "outcome"),
    "streameval_commits": ("Commits.",),
    "streameval_dropped_events": (
        "Events that had not arrived when their receiver was removed, and went to no other.",
    ),
    "streameval_examples": ("Weight of the labelled rows.", "slice"),
    "streameval_confusion": (
        "Weight of the labelled rows by true and predicted class.",
        *("slice", "actual", "predicted", "member"),
    ),
    "streameval_label_confusion": (
        "Weight of the labels of multilabel rows, 0 or 1, by truth and prediction.",
        *("slice", "label", "actual", "predicted", "member"),
    ),
}
_HISTOGRAMS = {
    "streameval_score": (
        "Scores of the labelled rows by true class; a bucket has the scores below le.",
        *("slice", "actual", "member"),
    ),
}
_GAUGES = {
    **_of_vitals(is_counter=False),
    "streameval_pending": ("Predictions that wait for a label.",),
    "streameval_waiting_for_clock": ("1 while rows ahead of the clock are not read.",),
    "streameval_last_commit_time_seconds": ("Time of the last commit.",),
    "streameval_alert": ("1 while the alert fires, 0 otherwise.", "name", "slice"),
    "streameval_value": (
        "Metric of the newest mature pane, and of windows that end with it.",
        *("metric", "window", "slice", "bound"),
    ),
    "streameval_label_coverage": (
        "Share of the rows of the same windows with a label.",
        *("window", "slice"),
    ),
    "streameval_left_out": ("Series that are not exported.", "family"),
}
_TIMES = {
    "streameval_value_time": ("End of the windows of streameval_value.", "window"),
    "streameval_watermark": ("Event time before which no row is expected.", "source"),
    "streameval_mature_until": ("End of the newest mature pane.",),
    "streameval_last_event_time": ("Event time of the newest prediction.",),
}
_UNITS = ("_seconds", "_steps")


class MonitorCollector:
    r"""Export the last commit of a monitor, as a collector of prometheus_client.

    Only commits are exported, so counters never decrease: after a crash, the monitor continues with
    numbers that no scrape has exceeded. Gauges describe mature windows, whose labels have arrived.

    Parameters
    ----------
    monitor : Monitor
        A monitor, or an object with its `status` and `snapshot`, and perhaps its `vitals`.
    windows : sequence of duration or int
        The widths of the windows whose metrics are exported, besides a pane.
    metrics : sequence of str, optional
        The metrics of windows, named as on the command line; by default the headline ones.
    level : float
        The level of sampling intervals, in [0, 1); 0 leaves them out.

    Raises
    ------
    InvalidInputError
        If a metric does not exist, or a window is not a whole number of panes.

    Notes
    -----
    Slices have the names of rules: ``slice="country=DE"``. Counters and histograms have a series
    for each slice, and one for all ``other`` rows, so that the sum of them counts each row once.
    Without slices, and for all rows together in gauges, the slice is ``all``. The label
    ``member`` names the member of a `Collection`.

    Examples
    --------
    >>> import pathlib, tempfile, streameval as se
    >>> from streameval.monitoring.prometheus import MonitorCollector
    >>> folder = tempfile.TemporaryDirectory()
    >>> log = pathlib.Path(folder.name, "log.csv")
    >>> _ = log.write_text("ts,y_true,y_pred\n0,1,1\n30,0,1\n70,1,1\n")
    >>> w = se.Windowed(se.ConfusionAccumulator(), pane="1m", unit="s")
    >>> with se.Monitor(log.with_suffix(".db"), w, predictions=str(log), time="ts") as m:
    ...     exported = MonitorCollector(m, metrics=["accuracy"], level=0)
    ...     step = m.step()
    ...     content_type, body = exported.response()
    >>> for line in body.decode().splitlines():
    ...     if line.startswith(("streameval_confusion", "streameval_value")):
    ...         print(line)
    streameval_confusion_total{actual="0",predicted="0",slice="all"} 0.0
    streameval_confusion_total{actual="0",predicted="1",slice="all"} 1.0
    streameval_confusion_total{actual="1",predicted="0",slice="all"} 0.0
    streameval_confusion_total{actual="1",predicted="1",slice="all"} 2.0
    streameval_value{bound="value",metric="accuracy",slice="all",window="1m"} 0.5
    streameval_value_time_seconds{window="1m"} 60.0
    >>> folder.cleanup()
    """

    def __init__(
        self,
        monitor: Watched,
        *,
        windows: Sequence[Any] = (),
        metrics: Sequence[str | MetricName] = (),
        level: float = 0.95,
    ) -> None:
        normal_quantile(level)  # refuses what is no level
        self._monitor = monitor
        self._widths = tuple(windows)
        self._metrics = tuple(parse_metrics(metrics))
        self._level = level
        self._lock = threading.Lock()
        self._number: int | None = None
        self._families: list[Metric] = []
        self._read: dict[str, int] = {}
        check_exported(monitor.snapshot(), self._widths, self._metrics)

    def describe(self) -> Iterable[Metric]:
        """Return every metric that can be exported, without its series."""
        return _Families().every()

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics of the last commit that have a series."""
        with self._lock:
            if self._number != self._monitor.status().number:
                snapshot = self._monitor.snapshot()
                self._families = self._exported(snapshot).every(with_series=True)
                self._number = snapshot.status.number
            families = [*self._families]
        vitals = getattr(self._monitor, "vitals", lambda: None)()
        if vitals is not None:
            own = _Families()
            for vital, key, number in vitals.numbers():
                if vital.family:
                    own.add(vital.family, [] if key is None else [key], number)
            families += [one for one in own.every() if one.samples]
        return iter(families)

    def response(self, accept: str = "") -> tuple[str, bytes]:
        """Render the metrics in the format that a request accepts: OpenMetrics, or text.

        Parameters
        ----------
        accept : str
            The header of that name.

        Returns
        -------
        content_type : str
        body : bytes
        """
        registry = CollectorRegistry()
        registry.register(self)
        encode, content_type = choose_encoder(accept)
        return content_type, encode(registry)

    def _exported(self, snapshot: Snapshot) -> _Families:
        families, held, status = _Families(), snapshot.windowed, snapshot.status
        families.add_status(status, self._rows_read(status))
        for alert in snapshot.alerts:
            about = slice_text(alert.slice) if alert.slice else _ALL
            families.add("streameval_alert", [alert.rule, about], float(alert.state == "firing"))
        if held is not None and held.newest is not None:
            total = held.total()
            for name, part in _slices(total):
                families.add_counts(name, part)
            if status.mature_until is not None:
                self._add_windows(families, snapshot, total)
        return families

    def _rows_read(self, status: Status) -> dict[str, int]:
        """Return the rows read of each source, never fewer than before.

        Rows that are held until each source has one are shown; then they are read for good, over
        several commits and without the bad ones.
        """
        numbers = status.rows_read.items()
        self._read = {name: max(n, self._read.get(name, 0)) for name, n in numbers}
        return self._read

    def _add_windows(self, families: _Families, snapshot: Snapshot, total: Any) -> None:
        """Add the metrics of the windows that end with the newest mature pane."""
        held, end = snapshot.windowed, snapshot.status.mature_until
        view, until = held.view(), time_number(end)
        config = view.config
        widths = (config.pane, *self._widths)
        for size in dict.fromkeys(config.length(width, name="windows") for width in widths):
            width = size if config.is_step else duration_text(size)
            window = str(width)
            start = until - size
            try:
                n_rows = held.n_rows(config.shown(start), end)
            except InvalidInputError:  # panes of that time are rolled up, or no longer kept
                families.leave_out("streameval_value", 1)
                continue
            if not n_rows:
                continue
            families.add_time("streameval_value_time", end, window)
            rows = SliceRows(view.within(start, until))
            part = config.accumulator.empty() if rows.labelled is None else rows.labelled
            for name, weights in _weights(rows, total):
                if weights is not None and weights.rows:
                    families.add("streameval_label_coverage", [window, name], weights.coverage)
            for name, one in [(_ALL, slice_of(part, ...)), *_slices(part, total)]:
                for metric, bound, number in self._values(one.compute()):
                    families.add("streameval_value", [metric, window, name, bound], number)

    def _values(self, result: Any) -> Iterator[tuple[str, str, float]]:
        """Yield metric, bound and number of a result; what is undefined has no series."""
        if not isinstance(result, Result):  # of a class of your own
            return
        for metric in self._metrics or tuple(map(parse_metric, result.headline())):
            reading = read_or_nan(result, metric, self._level).defined
            bounds = {"value": float(reading.value)}
            if isinstance(reading.value, Bounded):
                bounds |= zip(("certified_low", "certified_high"), reading.certified, strict=True)
            if reading.sampling is not None:
                bounds |= zip(("sampling_low", "sampling_high"), reading.sampling, strict=True)
            for bound, number in bounds.items():
                if not math.isnan(number):
                    yield str(metric), bound, number


class _Families:
    """The metrics by name, to which series are added."""

    def __init__(self) -> None:
        times = {f"{name}{unit}": rest for name, rest in _TIMES.items() for unit in _UNITS}
        self._by_name: dict[str, Any] = {
            name: make(name, text, labels=labels)
            for make, families in (
                (CounterMetricFamily, _COUNTERS),
                (HistogramMetricFamily, _HISTOGRAMS),
                (GaugeMetricFamily, _GAUGES | times),
            )
            for name, (text, *labels) in families.items()
        }
        self._left_out: dict[str, int] = dict.fromkeys(
            ("streameval_confusion", "streameval_score", "streameval_value"), 0
        )

    def every(self, *, with_series: bool = False) -> list[Metric]:
        """List the metrics, all or those with a series."""
        if with_series:
            for name, number in self._left_out.items():
                self.add("streameval_left_out", [name], number)
        return [one for one in self._by_name.values() if one.samples or not with_series]

    def add(self, name: str, labels: Iterable[Any], number: float) -> None:
        """Add a series; labels at the end may be missing."""
        self._by_name[name].add_metric([*map(str, labels)], number)

    def add_time(self, name: str, time: Any, *labels: str) -> None:
        """Add a time, if it is known, in seconds or as a step."""
        if time is None:
            return
        if isinstance(time, int):
            self.add(f"{name}_steps", labels, time)
        else:
            self.add(f"{name}_seconds", labels, time_number(time) / 1e6)

    def leave_out(self, name: str, number: int) -> None:
        """Record that a metric lacks series."""
        self._left_out[name] += number

    def add_status(self, status: Status, n_read: Mapping[str, int]) -> None:
        """Add the numbers of the monitor; a counter begins at 0, so that no increase is missed."""
        counters = status.counters
        numbers = {
            "streameval_predictions": n_read["predictions"],
            "streameval_counted": status.n_counted,
            "streameval_labelled": status.n_labelled,
            "streameval_late": counters.get("late", 0),
            "streameval_lost_rows": counters.get("lost", 0),
            "streameval_disconnections": counters.get("disconnected", 0),
            "streameval_commits": status.number,
            "streameval_dropped_events": status.n_dropped,
            "streameval_pending": status.n_pending,
            "streameval_waiting_for_clock": int(status.waits_for is not None),
        }
        for name, number in numbers.items():
            self.add(name, (), number)
        for reason in BAD:
            self.add("streameval_bad_rows", [reason], counters.get(reason, 0))
        if "labels" in status.positions:
            self.add("streameval_labels", (), n_read["labels"])
            for outcome in COUNTERS:
                self.add("streameval_join", [outcome], counters.get(outcome, 0))
        if status.committed_at is not None:
            self.add("streameval_last_commit_time_seconds", (), status.committed_at)
        self.add_time("streameval_watermark", status.watermark, "predictions")
        self.add_time("streameval_watermark", status.label_watermark, "labels")
        self.add_time("streameval_mature_until", status.mature_until)
        self.add_time("streameval_last_event_time", status.last_event_time)

    def add_counts(self, slice_name: str, part: Any) -> None:
        """Add the counts of a slice."""
        self.add("streameval_examples", [slice_name], heaviest(part.n))
        for member, one in _members(part):
            if isinstance(one, ConfusionAccumulator):
                self._add_confusion(slice_name, one.compute(), member)
            elif isinstance(one, (PRCurveSketch, CalibrationAccumulator)):
                self._add_scores(slice_name, one, member)

    def _add_confusion(self, slice_name: str, result: Confusion, member: list[str]) -> None:
        names, cells = result.class_names, result.matrix
        if len(names) > _MAX_CLASSES:
            self.leave_out("streameval_confusion", cells.size)
        elif cells.ndim == 2:
            for index, number in np.ndenumerate(cells):
                pair = [names[at] for at in index]
                self.add("streameval_confusion", [slice_name, *pair, *member], number.item())
        else:
            for (label, *pair), number in np.ndenumerate(cells):
                labels = [slice_name, names[label], *pair, *member]
                self.add("streameval_label_confusion", labels, number.item())

    def _add_scores(self, slice_name: str, accumulator: Any, member: list[str]) -> None:
        buckets = score_buckets(accumulator)
        if not buckets:
            self.leave_out("streameval_score", 2)
        for one in buckets:
            pairs = zip(map(floatToGoString, one.edges), one.below, strict=True)
            labels = [*map(str, (slice_name, one.label, *member))]
            self._by_name["streameval_score"].add_metric(
                labels, [*pairs, ("+Inf", one.n)], one.total
            )


def _slices(part: Any, total: Any = None) -> Iterator[tuple[str, Any]]:
    """Yield name and accumulator of each slice in the total, then those of all other rows.

    Without slices, yield all rows, unless there is a total.
    """
    if not isinstance(part, Sliced):
        if total is None:
            yield _ALL, part
        return
    view = part.view()
    shown = part if total is None else view.only(set(total)).copy()
    for value in shown:
        yield slice_text(view.config.items(value)), shown[value]
    other = shown.other
    if total is None or heaviest(other.n):
        yield _OTHER, other


def _weights(rows: SliceRows, total: Any) -> Iterator[tuple[str, Weights | None]]:
    """Yield name and weight of all rows, and of slices, as `_slices` names them."""
    yield _ALL, rows.of(...)
    if isinstance(total, Sliced):
        config, kept = total.view().config, list(total)
        yield _OTHER, rows.without(kept)
        for value in kept:
            yield slice_text(config.items(value)), rows.of(value)


def _members(part: Any) -> Iterator[tuple[list[str], Any]]:
    """Yield each member of a collection after its name, or what is none without one."""
    if not isinstance(part, Collection):
        yield [], part
        return
    for name in Member.of(part).options.names:
        yield [name], part[name]
