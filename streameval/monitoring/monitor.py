"""`Monitor`: sources in, panes and alerts out, and one commit for all of it."""

from __future__ import annotations

import logging
import math
import os
import threading
import time as clocks
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast, final

import attrs

from streameval.accumulators.base import fork
from streameval.accumulators.windowed import Windowed
from streameval.errors import CorruptStateError, InvalidInputError, StreamevalError
from streameval.inputs.paths import Fields
from streameval.monitoring.checkpoint import Checkpoint, checkpoint_files
from streameval.monitoring.delivery import Delivery
from streameval.monitoring.health import Health, exporting
from streameval.monitoring.intake import Intake, as_source
from streameval.monitoring.options import checked_path
from streameval.monitoring.pipeline import Output, Pipeline, Stage, Stopping, Waiting
from streameval.monitoring.quarantine import Quarantine
from streameval.monitoring.rules import end_of_end, event_of_end
from streameval.monitoring.settings import Settings
from streameval.monitoring.sources import FileSource, Source
from streameval.monitoring.status import (
    Pace,
    Snapshot,
    Status,
    Step,
    Vitals,
    memory_of_process,
    size_of_files,
)
from streameval.results.names import MetricName
from streameval.runs.counting import RowShare

if TYPE_CHECKING:
    from streameval.monitoring.live_page import LivePage
    from streameval.monitoring.server import Server

_log = logging.getLogger("streameval")
_PATIENCE = 10.0
_PATIENCE_ONCE_STOPPED = 0.5


@final
class Monitor:
    r"""Follow predictions, join labels that arrive later, and commit every step.

    A step reads the new rows, counts them, and writes panes, positions, pending rows and alert
    states in one transaction. However the process dies, the next one continues from the last
    commit: nothing is lost, nothing is counted twice, and the state has the same bytes as if all
    rows had been counted at once.

    Parameters
    ----------
    checkpoint : path
        An SQLite file, created if it does not exist. One monitor uses it, in the process that opens
        it: open it after a fork. Other programs can read it.
    accumulator : Windowed
        The accumulator, which counts each pane of event time. It must be empty.
    predictions : path, glob, sequence of them, URL, or source
        The source of predictions: files, ``"kafka://HOST:PORT/TOPIC"`` or
        ``"redis://HOST:PORT/DB/STREAM"``. Without `labels`, their rows include the labels.
    labels : path, glob, sequence of them, URL, or source, optional
        The source of labels that arrive later. Counting begins once both sources have a row; until
        then, the rows of one are held, up to 64 times `read_bytes`, and shown as pending.
    key : str, optional
        The column that joins a prediction and its label.
    time : str
        The column of the event time.
    label_time : str, optional
        The time column of labels, by default `time`.
    wait : duration, optional
        How long a prediction waits for its label, in the event time of both sources.
    unlabelled : label or "drop"
        The label of a prediction whose label does not arrive. "drop" counts it as a row without a
        label.
    settle : duration, optional
        How long a label can be corrected before it counts; the last one within that time counts.
    shard : str, optional
        ``"1/4"`` joins the first of four parts of all ids, which are divided by a hash. Four
        monitors with separate checkpoints count every row once, and their states merge to that of a
        single one.
    out_of_order : duration
        How much older a row may be than the newest earlier row.
    allowed_lateness : duration
        How long a pane stays open after the watermark passes its end.
    max_ahead : duration
        How far event time may be ahead of the clock. A row further in the future, unlike the rows
        around it, is bad; a log that is further in the future waits for the clock.
    max_pending : int
        The max number of waiting predictions; beyond it, no more are read.
    max_bad : int or share
        The number of bad rows that are tolerated over the life of the checkpoint, or their share
        of the newest rows, at least 10,000; of the first 1,000, as many as of 1,000.
    idle_after, label_idle_after : duration, optional
        How long a partition without new rows delays the others; None for no limit.
    alerts : sequence of str or mapping
        When to raise an alarm: rules, or tables with a ``rule`` and its ``name``, ``severity``,
        ``labels`` and ``links``, which events repeat.
    false_alarms : str
        How often all alerts without a clause may raise a false alarm together.
    on_alert : str, callable or mapping, or a sequence of them
        A command line, started without a shell, that gets each event as JSON on standard input;
        the URL of a webhook; or a function. Each of several receivers gets its events at least
        once, after their commit, and none waits for another. A table has a receiver as ``to``, a
        ``format`` ("slack", "teams", "pagerduty" with its ``key``, "alertmanager"), and the events
        that it gets: ``severity``, ``rules``, ``slices``, ``resolved``; or ``heartbeat`` if it
        only gets a sign of life, after each such time. Receivers are also told if the
        monitor ends with an error.
    quarantine : path, optional
        A file that gets a JSON line for each row that is not counted: bad rows, late labels and
        labels without a prediction. Lines are written once, with the commit; the file and the one
        before it, with the suffix ``.1``, have at most 32 MiB each.
    columns : mapping from argument to column, optional
        The columns of arguments, if their names differ.
    read_bytes, commit_bytes : int
        The bytes to read at a time, and to count in one commit.
    clock : callable
        Returns seconds since 1970.
    migrate : bool
        Whether to take up a checkpoint of other options if it is the one that counting with them
        would have made: other named slices and another limit of slices, as long as all values had
        a slice of their own, or fewer slices; and another `allowed_lateness`.

    Raises
    ------
    InvalidInputError
        If an argument breaks a rule.
    BadDataError
        If it is not a checkpoint; `UnavailableError` if another monitor uses it.
    IncompatibleStateError
        If the checkpoint was created with other options; the message names one.
    CorruptStateError
        If the checkpoint is damaged.

    Notes
    -----
    A pane is closed once the watermark has passed its end, and mature once no more labels are
    expected. The watermark is the event time that the slowest partition has reached, minus
    `out_of_order`; with labels, it is the lower one of both sources. Only rows move it: if labels
    stall, waits do not end. A row whose time jumps ahead moves it once later rows confirm the jump.

    Later rows still count, and their pane is reported again.

    Examples
    --------
    >>> import json, pathlib, tempfile, streameval as se
    >>> folder = tempfile.TemporaryDirectory()
    >>> predictions, labels = (pathlib.Path(folder.name, f"{name}.jsonl") for name in ("p", "l"))
    >>> rows = [{"id": t, "ts": t, "y_pred": 1} for t in range(150)]
    >>> _ = predictions.write_text("".join(json.dumps(row) + "\n" for row in rows))
    >>> rows = [{"id": t, "ts": t + 10, "y_true": t % 2} for t in range(150)]
    >>> _ = labels.write_text("".join(json.dumps(row) + "\n" for row in rows))
    >>> w = se.Windowed(se.ConfusionAccumulator(), pane="1m", unit="s")
    >>> logs = {"predictions": str(predictions), "labels": str(labels), "key": "id"}
    >>> with se.Monitor(f"{folder.name}/ck.db", w, **logs, time="ts", wait="30s") as m:
    ...     step = m.step()
    ...     print([(pane.n_rows, pane.accumulator.compute().accuracy) for pane in step.closed])
    ...     print(m.status().n_rows, m.windowed.n)
    [(60, 0.5)]
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
        max_bad: int | RowShare = 0,
        idle_after: Any = "5m",
        label_idle_after: Any = None,
        alerts: Sequence[str | Mapping[str, Any]] = (),
        false_alarms: str = "1 per 30d",
        on_alert: Any = (),
        quarantine: str | os.PathLike[str] | None = None,
        columns: Mapping[str, str] | None = None,
        read_bytes: int = 2**20,
        commit_bytes: int = 2**25,
        clock: Callable[[], float] = clocks.time,
        output: Output | None = None,
        migrate: bool = False,
    ) -> None:
        self._settings = Settings.of(locals())
        checked_path(checkpoint, name="checkpoint")
        self._clock = clock
        self._notes: list[str] = []  # until the end of a step
        self._delivery = Delivery(self._settings.on_alert, self._notes)
        self._stopping = Stopping()
        self._busy = threading.RLock()  # what is shown is what was committed
        self._servers: list[Server] = []
        self._pages: list[LivePage] = []
        if output is not None and not all(
            hasattr(output, name) for name in ("path", "restore", "write")
        ):
            raise InvalidInputError(
                f"must have `path`, `restore` and `write`, got {output!r}", argument="output"
            )
        self._output = output
        self._quarantine = None if quarantine is None else Quarantine(os.fspath(quarantine))
        self._name = checkpoint
        self._is_open = True
        self._process = os.getpid()
        self._vitals: Vitals | None = None
        self._is_reloaded, self._reloaded_at = True, _time_by(clock)
        sources = {"predictions": as_source(predictions, argument="predictions")}
        if labels is not None:
            sources["labels"] = as_source(labels, argument="labels")
        self._refuse_own_files(sources.values())
        self._health = Health(sources)
        self._intake = Intake(sources, self._settings)
        self._stage: Stage | None = None
        self._last = Snapshot(
            windowed=None, status=Status(positions=self._intake.positions), alerts=()
        )
        self._own_event: Any = None
        try:
            self._checkpoint = Checkpoint(checkpoint)
        except CorruptStateError as error:
            self._tell_end(error)
            self._delivery.close()
            raise
        try:
            self._start()
        except BaseException as error:
            self._end(error)
            raise

    def __enter__(self) -> Self:
        """Return the monitor."""
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        """Close it; receivers are told of an error."""
        if error is not None and not self._is_inherited:
            with self._busy:
                self._end(error)
        self.close()

    def step(self) -> Step:
        """Read and count the new rows, or a part of them if there are many, and commit.

        Raises
        ------
        BadDataError
            If there are too many bad rows, or a source cannot be read. Then nothing of the step is
            committed, and the monitor is closed.
        """
        self._check_process()
        with self._busy:
            if not self._is_open:
                raise InvalidInputError("is closed", argument="monitor")
            try:
                with self._health.during_step():
                    return self._stepped()
            except BaseException as error:
                self._end(error)
                raise

    def reload(
        self,
        *,
        alerts: Sequence[str | Mapping[str, Any]] = (),
        false_alarms: str = "1 per 30d",
        on_alert: Any = (),
        title: str | None = None,
    ) -> None:
        """Turn to other rules and receivers between two steps.

        The result is that of a restart with them: rules that stay keep their state, new ones look
        at the panes that are kept, and alerts of removed ones are resolved. Events that have not
        arrived go to their receiver or, if that is removed, to new ones that take them; else they
        are dropped, with a note.

        Parameters
        ----------
        alerts, false_alarms, on_alert
            As of the monitor. What is left out is as of a monitor without it.
        title : str, optional
            The heading of its pages; by default, it stays.

        Raises
        ------
        InvalidInputError
            If an argument breaks a rule. Then the monitor goes on as before.
        """
        self._check_process()
        with self._busy, self._reloading():
            if self._stage is None or not self._is_open:
                raise InvalidInputError("is closed", argument="monitor")
            settings = self._settings.with_alerts(alerts, false_alarms, on_alert)
            self._stage.reload(settings)
            self._settings = settings
            self._delivery.begin(lambda: self._health.is_alive)
            if title is not None:
                for page in self._pages:
                    page.retitle(title)
            self._show_commit(self._stage)

    @contextmanager
    def _reloading(self) -> Iterator[None]:
        """Note whether other settings could be read and taken."""
        self._is_reloaded = False
        yield
        self._is_reloaded, self._reloaded_at = True, self._clock()

    def run(self, *, poll: float = 1.0) -> Iterator[Step]:
        """Yield one step after another until `stop` is called, or no source can have more rows.

        Parameters
        ----------
        poll : float
            The seconds to wait before reading again if no source has new rows.
        """
        while not self._stopping.is_set():
            with self._health.during_step():  # what is done with a step may hang as well
                step = self.step()
                yield step
            if step.is_idle:
                if self._intake.is_at_end:
                    return
                self._stopping.wait(poll)

    def stop(self) -> None:
        """End `run` after a commit of the rows that have been read.

        Any thread can call it, and so can a signal handler.
        """
        self._stopping.set()
        self._intake.interrupt()

    @property
    def windowed(self) -> Windowed:
        """A copy of the committed accumulator."""
        windowed: Windowed = self.snapshot().windowed
        return windowed

    def status(self) -> Status:
        """Return the numbers of the last commit."""
        return self._last.status

    def vitals(self) -> Vitals | None:
        """Return what the monitor costs, and how far it is behind; None before the first step."""
        return self._vitals

    def snapshot(self) -> Snapshot:
        """Return the last commit."""
        last = self._last
        if last.windowed is None:  # on the command line, before the first rows
            return last
        return attrs.evolve(last, windowed=last.windowed.copy())

    def serve(
        self,
        address: str = "127.0.0.1:8765",
        *,
        title: str | None = None,
        metrics: Sequence[str | MetricName] = (),
        windows: Sequence[Any] = (),
        level: float = 0.95,
        allow_host: Sequence[str] = (),
        max_clients: int = 100,
    ) -> Server:
        """Serve a live page of the last commit, until the server or the monitor is closed.

        ``/metrics`` also exports the last commit to Prometheus, like `MonitorCollector`, if
        ``streameval[prometheus]`` is installed. ``/healthz`` answers with 200, or with 503 while a
        step takes more than five minutes; ``/readyz`` with 503 and the reasons while a path or
        pattern matches no file, or a server does not answer.

        Parameters
        ----------
        address : str
            ``HOST:PORT``, ``HOST`` or ``:PORT``. By default only this machine can reach it; port 0
            picks a free one.
        title : str, optional
            The heading, by default the name of the checkpoint.
        metrics : sequence of str, optional
            The metrics of each slice, such as ``"recall[1]"``; by default, those of the alerts and
            the main metric of the result.
        windows : sequence of duration or int, optional
            The widths of additional windows in ``/metrics``.
        level : float
            The probability of the sampling intervals, in [0, 1); 0 leaves them out.
        allow_host : sequence of str
            Host names that browsers can use for the server, besides loopback names and the host of
            `address`: names, IP addresses, or networks such as ``"10.0.0.0/8"``.
        max_clients : int
            The max number of clients that are answered at a time, besides 16 for ``/metrics`` and
            16 for health checks.

        Returns
        -------
        Server
            Its `url` is the address of the page; `routes` takes additional paths. It runs in its
            own threads, and is a context manager.

        Raises
        ------
        InvalidInputError
            If an argument breaks a rule.
        UnavailableError
            If the port is in use.
        """
        from streameval.monitoring.live_page import LivePage  # noqa: PLC0415 (they need http)
        from streameval.monitoring.server import Server  # noqa: PLC0415

        self._check_process()
        with self._busy:
            title = title or Path(self._name).name
            options: dict[str, Any] = {"metrics": metrics, "level": level}
            page = LivePage(title, self._last, vitals=self.vitals, **options)
            scrapes = {"/metrics": exporting(self, windows=windows, **options)}
            server = Server(
                page.routes | self._health.routes | scrapes,
                address,
                allow_host=allow_host,
                max_clients=max_clients,
                on_close=page.close,
            )
            self._servers.append(server)
            self._pages.append(page)
        return server

    def close(self) -> None:
        """Close the sources and the checkpoint; commits are kept.

        Untried alert events get ten seconds, or half a second after `stop`; the next monitor
        delivers the others. Any thread can call it; a running step ends first.
        """
        if self._is_inherited:
            return
        try:
            with self._busy:  # SQLite crashes if it is closed while a step writes
                if not self._is_open:
                    return
                self._delivery.deliver()
            arrived = self._delivery.wait(
                self._patience
            )  # receivers may look at the monitor meanwhile
            with self._busy:
                if self._is_open:
                    self._delivery.forget(arrived)
        finally:
            with self._busy:
                self._release()

    @property
    def _is_inherited(self) -> bool:
        """Whether a fork has copied it; the lock is inherited, too, and may never be free again."""
        return os.getpid() != self._process

    def _check_process(self) -> None:
        """Refuse to work in a process that has inherited it: both would count the same rows."""
        if self._is_inherited:
            raise InvalidInputError(
                f"belongs to process {self._process}, which opened it before a fork; step it "
                "there, or open it after the fork",
                argument="monitor",
            )

    def _refuse_own_files(self, sources: Iterable[Source]) -> None:
        """Refuse to write to files that would be read as rows."""
        own = dict.fromkeys(checkpoint_files(self._name), "checkpoint")
        if self._output is not None:
            own[self._output.path] = "output"
        for path in [] if self._quarantine is None else self._quarantine.paths:
            for other, argument in own.items():
                if os.path.realpath(path) == os.path.realpath(other):
                    raise InvalidInputError(
                        f"must be another file than `{argument}`, got {path!r}",
                        argument="quarantine",
                    )
            own[path] = "quarantine"
        for source in sources:
            for path, argument in own.items():
                if isinstance(source, FileSource) and source.would_read(path):
                    raise InvalidInputError(
                        f"must not be among the files that are read, {source.name}; got {path!r}",
                        argument=argument,
                    )

    def _start(self) -> None:
        """Restore the last commit, or wait for the first rows."""
        state = self._checkpoint.state
        # older releases have the receivers among the other numbers
        parts = [state[name] for name in ("delivery", "monitor", "waiting") if name in state]
        self._delivery.restore(parts[0] if parts else {}, self._checkpoint)
        self._own_event = state.get("own")
        status = attrs.evolve(self._last.status, number=self._checkpoint.number)
        self._last = attrs.evolve(self._last, status=status)
        config = self._checkpoint.config
        if config is None:
            self._stage = Waiting(*self._parts)
        else:
            rows = config["rows"].items()
            self._stage = self._pipeline({role: list(map(Fields, some)) for role, some in rows})
        self._intake.seek()
        if config is not None:
            _log.info("%s: continues from commit %d", self._name, self._stage.number)
        self._show_commit(self._stage)
        self._pace = Pace()
        self._pace.observe(clocks.monotonic(), self._last.status.rows_read)
        self._delivery.begin(lambda: self._health.is_alive)

    def _pipeline(self, samples: Mapping[str, Sequence[Fields]]) -> Pipeline:
        """Create the pipeline, once the first rows have shown how to read the sources."""
        others = self._output, self._quarantine, self._stopping, samples
        return Pipeline(*self._parts, *others)

    @property
    def _parts(self) -> tuple[Settings, Intake, Checkpoint, Delivery, list[str]]:
        """What every stage works with."""
        return self._settings, self._intake, self._checkpoint, self._delivery, self._notes

    def _stepped(self) -> Step:
        self._checkpoint.check_is_there()
        began = clocks.monotonic()
        now, stage = self._clock(), self._current_stage()
        step = stage.step(now)
        step = attrs.evolve(step, notes=(*self._notes, *self._intake.warnings()))
        self._notes.clear()
        self._health.note(step)
        if self._own_event is not None and self._own_event["state"] == "firing":
            self._own_event = end_of_end(self._own_event, round(now * 1e6))
            self._delivery.tell(self._own_event)
        duration = None
        if stage.number != self._last.status.number:
            duration = clocks.monotonic() - began
            self._show_commit(stage)
        self._delivery.deliver()
        self._vitals = self._measured(stage, now, duration)
        return step

    def _end(self, error: BaseException) -> None:
        """Close everything after an error, and tell every receiver of it."""
        if isinstance(error, Exception) and self._is_open:
            self._tell_end(error)
        self._release()

    def _tell_end(self, error: Exception) -> None:
        """Tell every receiver that the monitor ends, unless the same end was told before."""
        if not self._delivery.has_receivers:
            return
        number, now = self._last.status.number, round(self._clock() * 1e6)
        said = str(error) or type(error).__name__
        event = event_of_end(os.path.realpath(self._name), number, said, now)
        if self._own_event is not None and self._own_event["id"] == event["id"]:
            return
        self._delivery.tell(event)
        arrived = self._delivery.wait(self._patience)
        with suppress(StreamevalError):  # the checkpoint may be gone; then it is told again
            self._delivery.forget(arrived)

    @property
    def _patience(self) -> float:
        return _PATIENCE_ONCE_STOPPED if self._stopping.is_set() else _PATIENCE

    def _measured(self, stage: Stage, now: float, duration: float | None) -> Vitals:
        """Return the numbers of the monitor itself."""
        before = self._vitals
        undelivered, refused = self._delivery.numbers()
        return Vitals(
            **stage.vitals(now),
            commit_seconds=before.commit_seconds if before and duration is None else duration,
            lag_bytes=self._intake.lag_bytes,
            checkpoint_bytes=size_of_files(checkpoint_files(self._name)[1:]),
            memory_bytes=memory_of_process(),
            undelivered=undelivered,
            refused=refused,
            is_reloaded=self._is_reloaded,
            reloaded_at=self._reloaded_at,
            rows_per_second=self._pace.observe(clocks.monotonic(), self._last.status.rows_read),
        )

    def _current_stage(self) -> Stage:
        """Return what makes the next step: the pipeline, once each source has a row."""
        settings, stage = self._settings, self._stage
        if isinstance(stage, Pipeline):
            return stage
        if self._intake.look(settings.read_bytes, settings.planner.where, settings.max_bad):
            rows = {role: reader.rows for role, reader in self._intake.readers.items()}
            stage = self._stage = self._pipeline(rows)
        return cast("Stage", stage)

    def _show_commit(self, stage: Stage) -> None:
        """Publish the last commit for other threads, which must not change it."""
        self._last = Snapshot(
            windowed=None if stage.total is None else fork(stage.total),
            status=stage.status(),
            alerts=stage.alert_states(),
        )
        for page in self._pages:
            page.show(self._last)

    def _release(self) -> None:
        """Close everything, and discard what was not committed."""
        if not self._is_open:
            return
        self._is_open = False
        if isinstance(self._stage, Pipeline):
            self._stage = None
        with ExitStack() as closing:  # the last first, and all of them even if one raises
            closing.callback(self._checkpoint.close)
            closing.callback(self._intake.close)
            closing.callback(self._delivery.close)
            for server in self._servers:
                closing.callback(server.close)


def _time_by(clock: Any) -> float:
    """Ask a clock for the time.

    Raises
    ------
    InvalidInputError
        If it is none.
    """
    now = clock() if callable(clock) else clock
    if not callable(clock) or not isinstance(now, int | float) or not math.isfinite(now):
        raise InvalidInputError(
            f"must be a function that returns seconds since 1970, got {now!r}", argument="clock"
        )
    return now
