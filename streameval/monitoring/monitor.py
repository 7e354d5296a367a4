"""`Monitor`: sources in, panes and alerts out, and one commit for all of it."""

from __future__ import annotations

import threading
import time as clocks
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, final

import attrs
import numpy as np
import numpy.typing as npt

from streameval.accumulators.collection import heaviest
from streameval.accumulators.windowed import Windowed
from streameval.configs.options import positive_integer
from streameval.errors import BadDataError, CountOverflowError, InvalidInputError, Named
from streameval.inputs.paths import Fields
from streameval.io import BadRow
from streameval.monitoring.alerts import Alerts, Event
from streameval.monitoring.checkpoint import Changes, Checkpoint, Saved, files_of, read_checkpoint
from streameval.monitoring.closing import Closing
from streameval.monitoring.file_source import FileSource
from streameval.monitoring.join import Join
from streameval.monitoring.join_options import Shard, check_join, label_of
from streameval.monitoring.outbox import Outbox
from streameval.monitoring.planning import (
    ID,
    Split,
    planner_of,
    rows_together,
    split,
)
from streameval.monitoring.reader import Reader, row_to_json
from streameval.monitoring.rows import Dictionary, Records, Truths
from streameval.monitoring.source_protocol import Chunk
from streameval.monitoring.sources import as_source
from streameval.monitoring.status import BAD, Closed, Snapshot, Status, Step
from streameval.monitoring.timing import Timing
from streameval.monitoring.watermarks import Partitions
from streameval.runs.counting import Plan, bad_rows, update_good
from streameval.runs.totals import BadRows

if TYPE_CHECKING:
    from streameval.io import Block
    from streameval.monitoring.server import Server
    from streameval.monitoring.source_protocol import Source
    from streameval.results.names import MetricName
    from streameval.runs.counting import Share

__all__ = ["Monitor", "Output"]

Array = npt.NDArray[Any]
Times = npt.NDArray[np.int64]

_SHARE_FROM = 1000
_NOTES = 5
_STRANGERS = 100
_PATIENCE = 10.0
_PATIENCE_ONCE_STOPPED = 0.5
_MICROSECONDS = 1_000_000


class Output(Protocol):
    """What is written for each pane, and cut back to the last commit after a crash.

    Attributes
    ----------
    path : str
        The file.
    """

    path: str

    def restore(self, state: Any) -> Any:
        """Go back to what was committed, None if nothing was; return the state to commit."""

    def write(self, closed: Sequence[Closed]) -> Any:
        """Write panes durably, and return the state to commit, as JSON."""


@final
class Monitor:
    r"""Follow predictions, join labels that come later, and commit every step.

    A step reads what is there, counts it, and writes panes, positions, pending rows and alert
    states in one transaction. However the process dies, the next one goes on with the last
    commit: nothing is lost, nothing is counted twice, and the state is the same bytes as if all
    rows had been counted at once.

    Parameters
    ----------
    checkpoint : path
        An SQLite file, made if it does not exist. One monitor holds it; others may read it.
    accumulator : Windowed
        What is counted, for each pane of event time. It must have counted nothing.
    predictions : path, glob, sequence of them, URL, or source
        Where predictions are read, files or ``"kafka://HOST:PORT/TOPIC"`` or
        ``"redis://HOST:PORT/DB/STREAM"``; without `labels`, with their labels.
    labels : path, glob, sequence of them, URL, or source, optional
        Where labels are read that come later. The first of both are needed to begin.
    key : str, optional
        The column that joins a prediction and its label.
    time : str
        The column of the event time.
    label_time : str, optional
        That of labels, by default `time`.
    wait : duration, optional
        How long a prediction waits for its label, by the event time of both sources.
    unlabelled : label or "drop"
        What a prediction counts as whose label has not come. "drop" counts it as a row without
        a label.
    settle : duration, optional
        How long a label must have stood before it counts; the last one of that time counts.
    shard : str, optional
        ``"1/4"`` joins the first of four parts of all ids, which a hash tells apart. Four monitors
        with a checkpoint each count every row once, and their states merge to that of one.
    out_of_order : duration
        How much older than the row before it a row may be.
    allowed_lateness : duration
        How long a pane stays open after the watermark has passed its end.
    max_ahead : duration
        How far event time may be ahead of the clock; rows further in the future are bad.
    max_pending : int
        How many predictions may wait; while there are more, no more are read.
    max_bad : int or share
        How many bad rows are tolerated.
    idle_after, label_idle_after : duration, optional
        When a partition without new rows holds the others back no longer; None for never.
    alerts : sequence of str or rule
        When to raise an alarm.
    false_alarms : str
        How often all alerts without a clause may raise a false alarm together.
    on_alert : str or callable, optional
        A command line, started without a shell, that gets each event as JSON on standard input;
        the URL of a webhook; or a function. Events come at least once, after their commit.
    columns : mapping from argument to column, optional
        The columns of arguments that are called otherwise.
    read_bytes, commit_bytes : int
        How much is read at a time, and counted in one commit.
    clock : callable
        Returns seconds since 1970.

    Raises
    ------
    InvalidInputError
        If an argument breaks a rule.
    BadDataError
        If another monitor holds the checkpoint, or it is no checkpoint.
    IncompatibleStateError
        If the checkpoint was begun with other options; the message names one.
    CorruptStateError
        If the checkpoint is damaged.

    Notes
    -----
    A pane is closed once the watermark has passed its end, and mature once no label is expected
    any more. The watermark is the newest event time less `out_of_order`, of the slowest
    partition; with labels, the lesser of both sources. It moves by rows alone: where labels
    stall, waits do not end.

    Rows that come later than that still count, and their pane is reported once more.

    Examples
    --------
    >>> import json, pathlib, tempfile, streameval as se
    >>> folder = tempfile.TemporaryDirectory()
    >>> log = pathlib.Path(folder.name, "log.jsonl")
    >>> rows = [{"ts": t, "y_true": t % 2, "y_pred": 1} for t in range(150)]
    >>> _ = log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    >>> w = se.Windowed(se.ConfusionAccumulator(), pane="1m", unit="s")
    >>> with se.Monitor(log.with_suffix(".db"), w, predictions=str(log), time="ts") as m:
    ...     step = m.step()
    ...     print([(pane.n_rows, pane.accumulator.compute().accuracy) for pane in step.closed])
    ...     print(m.status().n_rows, m.windowed.n)
    [(60, 0.5), (60, 0.5)]
    150 150
    >>> folder.cleanup()
    """

    def __init__(
        self,
        checkpoint: Any,
        accumulator: Any,
        *,
        predictions: Any,
        labels: Any = None,
        key: str | None = None,
        time: str,
        label_time: str | None = None,
        wait: Any = None,
        unlabelled: Any = "drop",
        settle: Any = None,
        shard: str | None = None,
        out_of_order: Any = "0s",
        allowed_lateness: Any = "0s",
        max_ahead: Any = "1h",
        max_pending: int = 10_000_000,
        max_bad: int | Share = 0,
        idle_after: Any = "5m",
        label_idle_after: Any = None,
        alerts: Sequence[Any] = (),
        false_alarms: str = "1 per 30d",
        on_alert: Any = None,
        columns: Mapping[str, str] | None = None,
        read_bytes: int = 2**20,
        commit_bytes: int = 2**25,
        clock: Callable[[], float] = clocks.time,
        output: Output | None = None,
    ) -> None:
        self._planner = planner_of(accumulator, time, columns, max_bad)
        self._has_labels = labels is not None
        check_join(self._has_labels, key, wait, settle, unlabelled, label_time, shard)
        self._shard = None if shard is None else Shard.of(shard)
        self._timing = Timing.of(
            self._planner.is_step,
            wait=wait,
            settle=settle,
            out_of_order=out_of_order,
            allowed_lateness=allowed_lateness,
            max_ahead=max_ahead,
            idle_after={"predictions": idle_after, "labels": label_idle_after},
        )
        if self._has_labels and not self._timing.wait:
            raise InvalidInputError(f"must be longer than zero, got {wait!r}", argument="wait")
        self._key = key or ""
        self._label_time = label_time or time
        self._unlabelled = unlabelled
        self._max_pending = positive_integer(max_pending, name="max_pending")
        self._max_bad = max_bad
        self._limit = positive_integer(read_bytes, name="read_bytes")
        self._commit_bytes = positive_integer(commit_bytes, name="commit_bytes")
        self._clock = clock
        if isinstance(alerts, str):
            raise InvalidInputError(f"must be a list of rules, got {alerts!r}", argument="alerts")
        self._rules, self._false_alarms = tuple(alerts), false_alarms
        if self._planner.empty is not None:  # else rules are checked once there is a plan
            Alerts(self._rules, self._planner.empty, false_alarms=false_alarms)
        self._outbox = None if on_alert is None else Outbox(on_alert)
        self._undelivered: dict[str, Any] = {}
        self._untold: list[dict[str, Any]] = []
        self._stopping = threading.Event()
        self._busy = threading.RLock()  # what is shown is what was committed
        self._listeners: list[Callable[[Snapshot], None]] = []
        self._servers: list[Server] = []
        self._output = output
        self._name = checkpoint
        self._is_open = True
        sources = {"predictions": as_source(predictions, argument="predictions")}
        if labels is not None:
            sources["labels"] = as_source(labels, argument="labels")
        self._sources = sources
        self._config: dict[str, Any] = {
            **{role: source.name for role, source in sources.items()},
            "key": key,
            "time": time,
            "label_time": label_time,
            "wait": self._timing.wait,
            "unlabelled": unlabelled,
            "settle": self._timing.settle,
            "shard": shard,
            "out_of_order": self._timing.out_of_order,
            "allowed_lateness": self._timing.allowed_lateness,
        }
        self._refuse_own_files(checkpoint)
        self._checkpoint = Checkpoint(checkpoint)
        try:
            self._start()
        except BaseException:
            self._release()
            raise

    def __enter__(self) -> Self:
        """Return the monitor."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close it."""
        self.close()

    def step(self) -> Step:
        """Read what is there, count it and commit; a part of it if it is much.

        Raises
        ------
        BadDataError
            If there are more bad rows than are tolerated, or a source cannot be read. Nothing of
            the step is committed then, and the monitor is closed.
        """
        with self._busy:
            if not self._is_open:
                raise InvalidInputError("is closed", argument="monitor")
            try:
                return self._stepped()
            except BaseException:
                self._release()
                raise

    def run(self, *, poll: float = 1.0) -> Iterator[Step]:
        """Yield step after step until `stop` is called, or no source can have more.

        Parameters
        ----------
        poll : float
            The seconds between looks at sources that have nothing new.
        """
        while not self._stopping.is_set():
            step = self.step()
            yield step
            if step.is_idle:
                if all(source.is_at_end for source in self._sources.values()):
                    return
                self._stopping.wait(poll)

    def stop(self) -> None:
        """Let `run` end with a commit of what has been read; any thread may call it."""
        self._stopping.set()

    @property
    def windowed(self) -> Windowed:
        """What has been committed: a copy."""
        with self._busy:
            if self._counting is None:
                empty: Any = self._planner.empty  # None on the command line
                shown: Any = None if empty is None else empty.copy()
                return shown  # type: ignore[no-any-return]
            if self._total is None:
                return read_checkpoint(self._name).windowed
            copy: Windowed = self._total.copy()
            return copy

    def status(self) -> Status:
        """Return the numbers of the last commit."""
        return self._status

    def snapshot(self) -> Snapshot:
        """Return the last commit."""
        with self._busy:
            return Snapshot(windowed=self.windowed, status=self._status, alerts=self._shown_alerts)

    def serve(
        self,
        address: str = "127.0.0.1:8765",
        *,
        metrics: Sequence[str | MetricName] = (),
        windows: Sequence[Any] = (),
        level: float = 0.95,
        allow_host: Sequence[str] = (),
        max_clients: int = 100,
    ) -> Server:
        """Serve a live page of the last commit, until the server or the monitor is closed.

        Beside the page, ``/metrics`` exports the last commit to Prometheus, as
        `MonitorCollector` does, if ``streameval[prometheus]`` is installed.

        Parameters
        ----------
        address : str
            ``HOST:PORT``, ``HOST`` or ``:PORT``. By default only this machine can reach it; port
            0 is any that is free.
        metrics : sequence of str, optional
            What is shown of each slice, such as ``"recall[1]"``; by default what alerts are
            about, and the headline of the result.
        windows : sequence of duration or int, optional
            The widths of the windows that ``/metrics`` has beside a pane.
        level : float
            The probability of the sampling intervals, in [0, 1); 0 leaves them out.
        allow_host : sequence of str
            What browsers may call the server, besides loopback names and the host of `address`:
            names, IP addresses, or networks such as ``"10.0.0.0/8"``.
        max_clients : int
            How many connections there may be at a time.

        Returns
        -------
        Server
            Its `url` is where the page is; `routes` takes further paths. It runs in threads of
            its own, and is a context manager.

        Raises
        ------
        InvalidInputError
            If an argument breaks a rule, or the address is taken.
        """
        from streameval.monitoring.exporter import Exporter  # noqa: PLC0415 (they need http)
        from streameval.monitoring.live_page import LivePage  # noqa: PLC0415
        from streameval.monitoring.server import Server  # noqa: PLC0415

        with self._busy:
            title, last = Path(self._name).name, self._shared()
            page = LivePage(title, last, metrics=metrics, level=level)
            exporter = Exporter(last, metrics=metrics, windows=windows, level=level)
            server = Server(
                page.routes | {"/metrics": exporter.answer},
                address,
                allow_host=allow_host,
                max_clients=max_clients,
                on_close=page.close,
            )
            self._listeners += [page.show, exporter.show]
            self._servers.append(server)
        return server

    def close(self) -> None:
        """Close the sources and the checkpoint; what has been committed stays.

        Events of alerts that have not been tried yet are given ten seconds, or half a second
        after `stop`; the next monitor delivers the others.
        """
        if self._is_open:
            if self._outbox is not None:
                self._deliver()
                is_stopped = self._stopping.is_set()
                self._forget(
                    self._outbox.flush(_PATIENCE_ONCE_STOPPED if is_stopped else _PATIENCE)
                )
            self._release()

    def _shared(self) -> Snapshot:
        """Return the last commit without a copy: nobody may change it."""
        total = self._total
        shared = (
            self.windowed
            if total is None
            else Windowed._make(total._config, total._everything(total._held))
        )
        return Snapshot(windowed=shared, status=self._status, alerts=self._shown_alerts)

    def _refuse_own_files(self, checkpoint: Any) -> None:
        """Refuse to write what would be read again as rows."""
        own = dict.fromkeys(files_of(checkpoint), "checkpoint")
        if self._output is not None:
            own[self._output.path] = "out"
        for source in self._sources.values():
            for path, argument in own.items():
                if isinstance(source, FileSource) and source.would_read(path):
                    raise InvalidInputError(
                        f"must not be among the files that are read, {source.name}; got {path!r}",
                        argument=argument,
                    )

    def _start(self) -> None:
        """Go back to the last commit, or wait for first rows."""
        config = self._checkpoint.config
        self._readers = {
            role: Reader(role, source, self._partitions(role, {}))
            for role, source in self._sources.items()
        }
        self._number = self._n_rows = 0
        self._n_counted: int | float = 0
        self._n_labelled: int | float = 0
        self._committed_at: float | None = None
        self._counters: Counter[str] = Counter()
        self._bad = BadRows(self._max_bad)
        self._knows_strangers = False
        self._closing: Any = None
        self._notes: list[str] = []
        self._join: Any = None
        self._total: Any = None
        self._counting: Plan | None = None
        self._dictionaries: dict[str, Dictionary] = {}
        self._alerts: Alerts | None = None
        self._stored_alerts: Any = None
        if config is not None:
            samples = {role: list(map(Fields, rows)) for role, rows in config["rows"].items()}
            self._restore(self._begin(samples))
        for reader in self._readers.values():
            reader.source.seek(reader.position)
        self._note_commit()

    def _partitions(self, role: str, state: Mapping[str, Any]) -> Partitions:
        return Partitions(self._timing.out_of_order, self._timing.idle_after[role], state)

    def _restore(self, saved: Saved) -> None:
        """Go back to the numbers of the last commit."""
        state = saved.state["monitor"]
        self._number = saved.number
        self._undelivered = dict(saved.outbox)
        self._untold = state.get("untold", [])
        self._n_rows = state["rows"]
        self._n_counted, self._n_labelled = state["counted"], state["labelled"]
        self._closing.restore(state)
        self._committed_at = state["committed_at"]
        self._counters.update(state["counters"])
        self._bad.n = sum(self._counters[reason] for reason in BAD)
        for role, reader in self._readers.items():
            reader.partitions = self._partitions(role, state["partitions"][role])
            reader.position = saved.positions.get(role)

    def _begin(self, samples: Mapping[str, Sequence[Fields]]) -> Saved:
        """Make the plan, and compare the options with those of the checkpoint."""
        predictions, labels = samples["predictions"], samples.get("labels", ())
        plan = self._planner.plan(rows_together(predictions, labels))
        where = self._planner.where
        config = self._config | {
            "columns": {column.argument: list(column.names) for column in plan.columns},
            "rows": {
                role: [row_to_json(row.row) for row in rows] for role, rows in samples.items()
            },
            "where": None if where is None else str(where.conditions),
        }
        empty = plan.make()
        self._windows = empty._config
        self._closing = Closing(self._windows, self._timing.delay)
        self._check_keep()
        saved = self._checkpoint.begin(config, empty)
        self._counting = plan
        self._notes += plan.notes
        self._readers["predictions"].plan = attrs.evolve(plan, where=where)
        self._total, self._fresh = saved.windowed, plan.make()
        self._stored_alerts = saved.state.get("alerts", {})
        self._alerts = Alerts.restore(
            self._rules, empty, self._stored_alerts, false_alarms=self._false_alarms
        )
        if self._output is not None:
            state = self._output.restore(saved.state.get("output"))
            self._checkpoint.note("output", state)  # before a line is written
        if self._has_labels:
            self._begin_join(split(plan, self._key, self._label_time, predictions, labels), saved)
        return saved

    def _check_keep(self) -> None:
        """Refuse to keep panes for less time than they need to mature."""
        longest = self._windows.tiers[-1].keep
        if longest is not None and longest < self._timing.delay + self._windows.width:
            raise InvalidInputError(
                "must be longer, or no pane is reported: panes are mature once `wait`, "
                "`allowed_lateness`, `out_of_order` and a pane have passed",
                argument="keep",
            )

    def _begin_join(self, parts: Split, saved: Saved) -> None:
        """Make the join, or go back to its last commit."""
        where = self._planner.where
        self._readers["predictions"].plan = attrs.evolve(parts.predictions, where=where)
        self._readers["labels"].plan = parts.labels
        self._records = Records(parts.records, saved.values)
        self._truths = Truths(parts.truths, saved.values)
        self._dictionaries = self._records.dictionaries | self._truths.dictionaries
        self._label = label_of(self._unlabelled, parts.truths)
        options: dict[str, Any] = {
            "wait": self._timing.wait,
            "out_of_order": self._timing.out_of_order,
            "settle": self._timing.settle,
            "max_pending": self._max_pending,
            "label_dtype": self._truths.dtype,
        }
        dtype, state = self._records.dtype, saved.state.get("join")
        if state is None:
            self._join = Join(dtype, **options)
        else:
            self._join = Join.restore(dtype, options, state, saved.runs, saved.dead)

    def _stepped(self) -> Step:
        self._checkpoint.check_is_there()
        now, began = self._clock(), clocks.monotonic()
        if self._counting is None and not self._look():
            return Step(is_waiting=self._is_waiting(), notes=self._new_notes())
        before = self._n_rows, self._counters["labels"]
        n_bytes, is_idle = (0, False) if self._closing.has_more else self._read(now)
        self._count_losses()
        self._check_share()
        self._declare(now)
        is_released = is_idle and self._release_idle(now)
        if self._join is not None:
            self._count_joined(now)
        data = b""
        if self._fresh.newest is not None:
            self._n_counted += self._fresh.n_rows()
            self._n_labelled += heaviest(self._fresh.n)
            data = self._total._take_in(self._fresh)
        self._notes += self._closing.dropped()
        closed, until = self._closing.due(self._total, self._mature_until())
        events, alerts = self._judged(now, until)
        is_news = alerts != self._stored_alerts or (self._outbox and self._untold)
        if n_bytes or data or closed or is_released or is_news:
            self._commit(now, data, closed, events, alerts)
        self._deliver()
        self._closing.set_pace(clocks.monotonic() - began)
        return Step(
            n_rows=self._n_rows - before[0],
            n_labels=self._counters["labels"] - before[1],
            closed=closed,
            events=events,
            is_idle=is_idle and not self._closing.has_more,
            is_waiting=self._is_waiting(),
            notes=self._new_notes(),
        )

    def _read(self, now: float) -> tuple[int, bool]:
        """Read the rows of one commit; return how many bytes, and whether that was all."""
        n_bytes = 0
        while n_bytes < self._commit_bytes:
            found = self._next(now)
            if found is None:
                return n_bytes, True
            reader, chunk = found
            self._take(reader, chunk, now)
            reader.position = chunk.position
            n_bytes += max(chunk.block.taken, 1)
            is_ahead = reader.role == "predictions" and self._closing.is_far_ahead(
                reader.partitions.newest
            )
            if is_ahead or self._stopping.is_set():
                break
        return n_bytes, False

    def _count_losses(self) -> None:
        """Add up what sources have counted; it is written with the next commit."""
        for source in self._sources.values():
            self._counters.update(getattr(source, "counts", dict)())

    def _is_waiting(self) -> bool:
        return not all(map(_is_caught_up, self._sources.values()))

    def _look(self) -> bool:
        """Begin once there are rows of every source."""
        bad = BadRows(self._max_bad)
        filters = {"predictions": self._planner.where}
        found = [
            reader.look(self._limit, filters.get(role), bad)
            for role, reader in self._readers.items()
        ]
        if not all(found):
            return False
        self._begin({role: reader.rows for role, reader in self._readers.items()})
        return True

    def _next(self, now: float) -> tuple[Reader, Chunk] | None:
        """Read from the source that is behind in event time, or from the other."""
        for reader in self._order(now):
            chunk = reader.next(self._limit)
            if chunk is not None:
                return reader, chunk
        return None

    def _order(self, now: float) -> list[Reader]:
        if self._join is None:
            return [*self._readers.values()]
        predictions, labels = self._readers.values()
        if self._join.is_full or self._join.is_full_of_labels:
            self._count_joined(now)
        if self._join.is_stuck:
            raise BadDataError(
                f"{self._max_pending:,} predictions are waiting, and more come within `wait`; ",
                Named("max_pending"),
                " must be larger.",
            )
        if self._join.is_full:
            return [labels]
        if self._join.is_full_of_labels:
            return [predictions]
        ahead, behind = predictions.partitions.newest, labels.partitions.newest
        if behind is None or (ahead is not None and behind <= ahead):
            return [labels, predictions]
        return [predictions, labels]

    def _take(self, reader: Reader, chunk: Chunk, now: float) -> None:
        """Check the rows of a chunk, and count them or let them wait."""
        block: Block = chunk.block
        plan: Any = reader.plan
        parsed = block.parse(plan.columns, plan.where)
        batch, row_ids, future = self._not_ahead(parsed.batch, parsed.row_ids, now)
        accumulator = self._fresh if self._join is None else plan.make()
        batch, _, refused = update_good(accumulator, batch, row_ids, block, plan)
        faults = {"unreadable": parsed.faults, "refused": refused, "future": future}
        for reason, found in faults.items():
            self._counters[reason] += len(found)
        self._counters["left_out"] += parsed.n_left_out
        self._add_bad(
            bad_rows(block, sorted(fault for found in faults.values() for fault in found))
        )
        times = self._times(batch)
        if not len(times):
            return
        marks = reader.partitions.observe(chunk.partition, times, now)
        if self._join is None:
            self._note_read(reader, times, marks)
            self._closing.note_counted(times)
            return
        ids = batch[ID].tolist()
        is_own = None if self._shard is None else self._shard.has(ids)
        own = slice(None) if is_own is None else is_own
        self._note_read(reader, times[own], marks[own])
        reader.last_id = ids[-1]
        if reader.role == "labels":
            labels = self._truths.encode(batch)
            self._join.label(chunk.partition, ids, times, labels, is_own=is_own)
        else:
            rows = self._records.encode(batch, len(times))
            self._join.predict(chunk.partition, ids, times, rows, is_own=is_own)

    def _note_read(self, reader: Reader, times: Times, marks: Times) -> None:
        """Count rows that have been read, and those that are behind the watermark before them."""
        if reader.role == "labels":
            self._counters["labels"] += len(times)
            return
        self._n_rows += len(times)
        self._closing.note_read(times)
        is_late = self._closing.ends(times) + self._timing.allowed_lateness <= marks
        self._counters["late"] += int(is_late.sum())

    def _declare(self, now: float) -> None:
        """Await partitions that have been found, before anything is decided without them."""
        for role, reader in self._readers.items():
            names = reader.partitions.declare(getattr(reader.source, "partitions", ()), now)
            if self._join is not None:
                for name in names:
                    self._join.declare(role, name)

    def _release_idle(self, now: float) -> bool:
        """Let go of partitions that are silent; tell whether there are any."""
        gone = [
            (role, name)
            for role, reader in self._readers.items()
            if _is_caught_up(reader.source)
            for name in reader.partitions.release(now)
        ]
        if self._join is not None:
            for role, name in gone:
                self._join.finish(role, name)
        return bool(gone)

    def _count_joined(self, now: float) -> None:
        """Count the rows that have a label now, or whose wait is over."""
        self._declare(now)
        joined = self._join.ready()
        self._note_strangers()
        for is_labelled in (True, False):
            chosen = joined.is_labelled if is_labelled else ~joined.is_labelled
            times = joined.times[chosen]
            if not len(times):
                continue
            batch = self._records.decode(joined.rows[chosen])
            batch[self._windows.time] = times if self._windows.is_step else times.view("M8[us]")
            if is_labelled:
                batch |= self._truths.decode(joined.labels[chosen])
            elif self._label is None:
                batch |= self._truths.missing(len(times))
            else:
                batch |= {name: np.repeat(one, len(times)) for name, one in self._label.items()}
            try:
                self._fresh.update(batch)
            except (InvalidInputError, CountOverflowError) as error:
                raise BadDataError(f"joined rows cannot be counted: {error}") from None
            self._closing.note_counted(times)

    def _note_strangers(self) -> None:
        """Warn once if no label meets a prediction, although both are there."""
        counters = self._join.counters
        n_expired, n_labels = counters["unlabelled"], self._counters["labels"]
        enough = min(n_expired, n_labels) >= _STRANGERS
        if self._knows_strangers or counters["joined"] or not enough:
            return
        self._knows_strangers = True
        predictions, labels = self._readers.values()
        self._notes.append(
            f"no label has met its prediction by `{self._key}`: {n_labels:,} labels have been "
            f"read, such as {labels.last_id!r}, and {n_expired:,} predictions have waited in "
            f"vain, such as {predictions.last_id!r}"
        )

    def _not_ahead(
        self, batch: Mapping[str, Array], row_ids: Sequence[Any], now: float
    ) -> tuple[Mapping[str, Array], Sequence[Any], list[tuple[Any, str]]]:
        """Refuse rows whose event time lies in the future."""
        if self._windows.is_step:
            return batch, row_ids, []
        limit = int(now * _MICROSECONDS) + self._timing.max_ahead
        ahead = self._times(batch) > limit
        if not ahead.any():
            return batch, row_ids, []
        shown = self._windows.shown
        times = self._times(batch)
        faults = [
            (row_ids[at], f"lies in the future: {shown(int(times[at]))}")
            for at in np.flatnonzero(ahead).tolist()
        ]
        kept = np.flatnonzero(~ahead)
        return (
            {name: array[kept] for name, array in batch.items()},
            [row_ids[at] for at in kept.tolist()],
            faults,
        )

    def _times(self, batch: Mapping[str, Array]) -> npt.NDArray[np.int64]:
        times: npt.NDArray[np.int64] = batch[self._windows.time].view(np.int64)
        return times

    def _add_bad(self, rows: Sequence[BadRow]) -> None:
        """Count bad rows, and name the first few."""
        left = max(_NOTES - self._bad.n, 0)
        self._bad.add(rows)
        self._notes += map(str, rows[:left])

    def _check_share(self) -> None:
        """Compare bad rows with all rows, once a share of them means something."""
        n_rows = self._n_rows + self._counters["labels"] + self._bad.n
        if n_rows >= _SHARE_FROM and self._bad.first:
            self._bad.check(n_rows)

    def _mature_until(self) -> int | None:
        """Return the end of the newest pane for which nothing more is expected."""
        marks = self._watermarks()
        known = [mark for mark in marks if mark is not None]
        if len(known) < len(self._readers):
            return None
        until: int = self._closing.edge(
            min(known) - self._timing.allowed_lateness - self._timing.wait
        )
        return until

    def _watermarks(self) -> tuple[int | None, int | None]:
        """Return the watermark of predictions, and that of labels if there are any."""
        if self._join is not None:
            watermarks: tuple[int | None, int | None] = self._join.watermarks
            return watermarks
        return self._readers["predictions"].partitions.watermark, None

    def _judged(self, now: float, until: int | None) -> tuple[tuple[Event, ...], Any]:
        """Let alerts look at what has been counted; return their events and their states."""
        if not self._rules and not self._stored_alerts:
            return (), self._stored_alerts
        alerts: Any = self._alerts
        events = alerts.step(self._total, self._shown(until), self._new_status(), now)
        return events, alerts.to_json()

    def _to_deliver(self, events: Sequence[Event]) -> list[tuple[str, Any]]:
        """Return what the outbox of the checkpoint gets: nothing where nobody takes it.

        Then events are kept, unless the alert has begun and ended meanwhile, so that a later
        receiver never learns of one without the other.
        """
        for event in events:
            begun = [one for one in self._untold if one["alert"] == event.alert]
            if self._outbox is None and event.state == "resolved" and begun:
                self._untold = [one for one in self._untold if one not in begun]
            else:
                self._untold.append(event.to_json())
        if self._outbox is None:
            return []
        told, self._untold = self._untold, []
        return [(event["id"], event) for event in told]

    def _deliver(self) -> None:
        """Hand events over that have been committed, and forget those that have arrived."""
        if self._outbox is not None and self._undelivered:
            self._forget(self._outbox.deliver(self._undelivered.items()))

    def _forget(self, names: Sequence[str]) -> None:
        arrived = [name for name in names if self._undelivered.pop(name, None) is not None]
        if arrived:
            self._checkpoint.delivered(arrived)

    def _commit(
        self,
        now: float,
        data: bytes,
        closed: Sequence[Closed],
        events: Sequence[Event],
        alerts: Any,
    ) -> None:
        """Write everything that has changed in one transaction."""
        self._committed_at = now
        to_deliver = self._to_deliver(events)
        state = {
            "alerts": alerts,
            "monitor": {
                "rows": self._n_rows,
                "counted": self._n_counted,
                "labelled": self._n_labelled,
                **self._closing.to_json(),
                "untold": self._untold,
                "committed_at": now,
                "counters": dict(self._counters),
                "partitions": {
                    role: reader.partitions.to_json() for role, reader in self._readers.items()
                },
            },
        }
        if self._output is not None:
            state["output"] = self._output.write(closed)
        changes = Changes(
            rows=data,
            whole=lambda: self._total,
            state=state,
            positions={role: reader.position for role, reader in self._readers.items()},
            events=to_deliver,
        )
        if self._join is not None:
            runs = self._join.changes()
            changes = attrs.evolve(
                changes,
                state=state | {"join": runs.state},
                values={name: one.added for name, one in self._dictionaries.items()},
                runs=runs.added,
                dead=runs.dead,
                removed=runs.removed,
            )
        self._checkpoint.commit(self._number + 1, changes)
        for one in self._dictionaries.values():
            one.stored()
        self._number += 1
        self._stored_alerts = alerts
        self._undelivered.update(changes.events)
        self._fresh = self._counting.make()  # type: ignore[union-attr]
        self._note_commit()

    def _note_commit(self) -> None:
        """Keep what others may see."""
        self._status = self._new_status()
        self._shown_alerts = () if self._alerts is None else self._alerts.states()
        for listener in self._listeners:
            listener(self._shared())

    def _new_status(self) -> Status:
        watermark, label_watermark = self._watermarks()
        return Status(
            number=self._number,
            n_rows=self._n_rows,
            n_counted=self._n_counted,
            n_labelled=self._n_labelled,
            n_pending=0 if self._join is None else self._join.n_pending,
            watermark=self._shown(watermark),
            label_watermark=self._shown(label_watermark),
            mature_until=self._shown(self._mature_until()),
            last_event_time=self._shown(self._readers["predictions"].partitions.newest),
            counters={name: number for name, number in self._all_counters().items() if number},
            positions={role: reader.position for role, reader in self._readers.items()},
            is_full=self._join is not None and self._join.is_full,
            committed_at=self._committed_at,
        )

    def _all_counters(self) -> Mapping[str, int]:
        return {**self._counters, **({} if self._join is None else self._join.counters)}

    def _shown(self, time: int | None) -> Any:
        return None if time is None else self._windows.shown(time)

    def _new_notes(self) -> tuple[str, ...]:
        for source in self._sources.values():
            self._notes += source.warnings()
        notes, self._notes = tuple(self._notes), []
        return notes

    def _release(self) -> None:
        """Close everything; what has not been committed is forgotten."""
        self._is_open = False
        for server in self._servers:
            server.close()
        self._total = None
        if self._outbox is not None:
            self._outbox.close()
        for source in self._sources.values():
            source.close()
        self._checkpoint.close()


def _is_caught_up(source: Source) -> bool:
    """Tell whether None from a source means that all has been read."""
    return bool(getattr(source, "is_caught_up", True))
