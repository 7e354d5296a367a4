"""The steps of a monitor, one commit each: until each source has a row, and then for good."""

from __future__ import annotations

import time as clocks
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol

import attrs
import numpy as np

from streameval.accumulators.collection import heaviest
from streameval.accumulators.confusion import ConfusionAccumulator
from streameval.accumulators.windowed import Windowed
from streameval.configs.windowed import WindowedConfig
from streameval.errors import (
    BadDataError,
    CountOverflowError,
    InvalidInputError,
    StreamevalError,
)
from streameval.exact.array_types import Ints
from streameval.inputs.paths import Fields
from streameval.io.blocks import Block
from streameval.io.columns import Argument
from streameval.monitoring.alerts import Alerts, AlertState, Event
from streameval.monitoring.checkpoint import Changes, Saved
from streameval.monitoring.closing import Closing
from streameval.monitoring.intake import Reader, row_to_json
from streameval.monitoring.planning import ID, Ids, rows_together, split
from streameval.monitoring.quarantine import LabelRows, Quarantine
from streameval.monitoring.rules import SourceRule
from streameval.monitoring.screening import Screening
from streameval.monitoring.status import Closed, Status, Step
from streameval.runs.counting import bad_rows
from streameval.runs.totals import BadRows

if TYPE_CHECKING:
    from streameval.monitoring.checkpoint import Checkpoint
    from streameval.monitoring.delivery import Delivery
    from streameval.monitoring.intake import Intake
    from streameval.monitoring.joining import Joining
    from streameval.monitoring.settings import Settings
    from streameval.monitoring.sources import Chunk


@attrs.define(eq=False, slots=False)
class Stage(ABC):
    """What makes the steps of a monitor, and their commits.

    Parameters
    ----------
    settings : Settings
    intake : Intake
        The sources.
    checkpoint : Checkpoint
    delivery : Delivery
        The delivery of alert events.
    notes : list of str
        Gets the warnings of a step.

    Attributes
    ----------
    number : int
        Of the last commit.
    total : Windowed or None
        All rows that have been counted; nobody else may change it. None if the first rows decide
        what counts them.
    """

    _settings: Settings
    _intake: Intake
    _checkpoint: Checkpoint
    _delivery: Delivery
    _notes: list[str]
    total: Any = attrs.field(init=False)
    number: int = attrs.field(init=False)
    _alerts: Alerts = attrs.field(init=False)
    _stored_alerts: Mapping[str, Any] = attrs.field(init=False)
    _committed_at: float | None = attrs.field(init=False, default=None)

    def reload(self, settings: Settings) -> None:
        """Turn to other rules and receivers, as a restart does.

        Raises
        ------
        InvalidInputError
            If a rule or a route does not fit what is counted; then nothing has changed.
        """
        alerts = self._judging(settings, self._alerts.to_json())
        self._delivery.reload(settings.on_alert, self._checkpoint)
        self._settings, self._alerts = settings, alerts

    def alert_states(self) -> tuple[AlertState, ...]:
        """Return the states of alerts, one for each rule and slice."""
        return self._alerts.states()

    def vitals(self, now: float) -> dict[str, Any]:  # noqa: ARG002 - once rows are counted
        """Return those of `Vitals` that it knows."""
        return {"lag_seconds": {}, "pending_bytes": 0, "quarantined": {}}

    @abstractmethod
    def step(self, now: float) -> Step:
        """Read the new rows, evaluate the rules, and commit if anything has changed."""

    @abstractmethod
    def status(self) -> Status:
        """Return the current numbers, which `step` has committed."""

    @abstractmethod
    def _judging(self, settings: Settings, stored: Mapping[str, Any]) -> Alerts:
        """Continue the alerts by rules."""

    def _has_news(self, alerts: Any) -> bool:
        """Return whether there is something to commit besides rows."""
        return bool(alerts != self._stored_alerts or self._delivery.has_more_to_commit)

    def _commit(self, now: float, events: Sequence[Event], alerts: Any, changes: Changes) -> None:
        """Write everything that has changed in one transaction."""
        self._committed_at = now
        to_deliver = self._delivery.to_commit(events)
        state = {"alerts": alerts, "delivery": self._delivery.to_json(), **changes.state}
        changes = attrs.evolve(changes, state=state, events=to_deliver)
        self._checkpoint.commit(self.number + 1, changes)
        self.number += 1
        self._stored_alerts = alerts
        self._delivery.note_committed(to_deliver)


@attrs.define(eq=False, slots=False)
class Waiting(Stage):
    """The work of a monitor while a source has no row.

    The rows of the other source are read ahead and held, up to 64 times `read_bytes` and up to
    `max_pending`, and are shown as pending. Rules that look at no pane are evaluated. A commit has
    their states and the numbers of rows, but no position: a restart reads the rows again.
    """

    def __attrs_post_init__(self) -> None:
        settings, stored = self._settings, self._checkpoint.state
        self._bad = BadRows(settings.max_bad)
        self._is_told = False
        self.total = settings.planner.empty
        self.number = self._checkpoint.number
        state = stored.get("waiting", {})
        self._n_rows: dict[str, int] = state.get("rows", {})
        self._committed_at = state.get("committed_at")
        self._stored_alerts = stored.get("alerts", {})
        self._empty = Windowed(ConfusionAccumulator(), pane=1) if self.total is None else self.total
        self._alerts = self._judging(settings, self._stored_alerts)

    def step(self, now: float) -> Step:
        """Read ahead, evaluate the rules, and commit if anything has changed."""
        before, self._n_rows = self._n_rows, self._read_ahead()
        events = self._alerts.step(self._empty, None, self.status(), now)
        alerts = self._alerts.to_json()
        if self._n_rows != before or self._has_news(alerts):
            waiting = {"rows": self._n_rows, "committed_at": now}
            self._commit(now, events, alerts, Changes(state={"waiting": waiting}))
        self._check_labels()
        return Step(events=events, is_waiting=self._intake.is_waiting)

    def _judging(self, settings: Settings, stored: Mapping[str, Any]) -> Alerts:
        rules = [alert for alert in settings.alerts if isinstance(alert.rule, SourceRule)]
        return Alerts.restore(rules, self._empty, stored)

    def status(self) -> Status:
        """Return the current numbers, which `step` has committed."""
        n_predictions, n_labels = (self._n_rows.get(role, 0) for role in ("predictions", "labels"))
        return Status(
            number=self.number,
            positions=self._intake.positions,
            n_rows=n_predictions,
            n_pending=n_predictions,
            counters={"labels": n_labels} if n_labels else {},
            is_full=self._intake.readers["predictions"].is_full,
            committed_at=self._committed_at,
            n_dropped=self._delivery.n_dropped,
        )

    def _read_ahead(self) -> dict[str, int]:
        """Hold what the sources have, and return the numbers of rows."""
        settings = self._settings
        for reader in self._intake.readers.values():
            reader.hold(
                settings.read_bytes, settings.max_pending, partial(self._count, reader.role)
            )
        n_rows = {role: reader.n_held for role, reader in self._intake.readers.items()}
        self._bad.check(self._bad.n + sum(n_rows.values()))
        return n_rows

    def _count(self, role: str, block: Block) -> int:
        """Count the rows of a block that may be joined here, as far as their ids tell."""
        settings = self._settings
        columns = () if settings.key is None else (Argument(ID, (settings.key,), Ids()),)
        where = settings.planner.where if role == "predictions" else None
        parsed = block.parse(columns, where)
        self._bad.add(bad_rows(block, parsed.faults))
        is_own = None if settings.shard is None else settings.own(parsed.batch[ID].tolist())
        return parsed.n_rows if is_own is None else int(is_own.sum())

    def _check_labels(self) -> None:
        """Tell once that predictions wait for the first label."""
        n_rows = self._n_rows
        if not self._is_told and n_rows["predictions"] and not n_rows.get("labels"):
            self._is_told = True
            name = self._intake.readers["labels"].source.name
            self._notes.append(f"{name}: has no rows yet; predictions wait for the first label")


class Stopping:
    """A flag that handlers of signals may set wherever they interrupt the thread that waits.

    `threading.Event` takes a lock for that, which the interrupted thread may hold.
    """

    def __init__(self) -> None:
        self._is_set = False
        self._calls: SimpleQueue[None] = SimpleQueue()

    def set(self) -> None:
        """Set the flag, and end the wait."""
        self._is_set = True
        self._calls.put(None)

    def is_set(self) -> bool:
        """Tell whether the flag is set."""
        return self._is_set

    def wait(self, seconds: float) -> None:
        """Wait until the flag is set, or so many seconds have passed."""
        with suppress(Empty):
            self._calls.get(timeout=max(seconds, 0.0))


class Output(Protocol):
    """The file of panes, truncated to the last commit after a crash.

    Attributes
    ----------
    path : str
        The file.
    """

    path: str

    def restore(self, state: Any) -> Any:
        """Restore the committed state, or None without one; return the state to commit."""

    def write(self, closed: Sequence[Closed]) -> Any:
        """Write panes durably, and return the state to commit, as JSON."""


@attrs.define(eq=False, slots=False)
class Pipeline(Stage):
    """The work of a monitor, once the first rows have shown how to read the sources.

    It owns the contents of a commit: counted rows, reported panes, the states of alerts, and
    counters.

    Parameters
    ----------
    settings, intake, checkpoint, delivery, notes
        As of a `Stage`.
    output : Output, optional
        The output for each pane.
    quarantine : Quarantine, optional
        Where rows go that are not counted.
    stopping : Stopping
        Set when a step should end soon.
    samples : mapping from role to sequence of Fields
        The first rows.

    Raises
    ------
    InvalidInputError, BadDataError
        If the rows lack a column, or panes are not kept until they are mature.
    IncompatibleStateError
        If the checkpoint was created with other options.
    """

    _output: Output | None
    _quarantine: Quarantine | None
    _stopping: Stopping
    _samples: Mapping[str, Sequence[Fields]]

    def __attrs_post_init__(self) -> None:
        settings, checkpoint = self._settings, self._checkpoint
        self._plan = settings.planner.plan(rows_together(**self._samples))
        empty = self._plan.make()
        self._windows: WindowedConfig = empty.view().config
        self._closing = Closing(self._windows, settings.delay, self._notes)
        self._check_keep()
        saved = checkpoint.begin(self._config(), empty, migrate=settings.migrate)
        self.total = saved.windowed
        self._fresh: Windowed = self._plan.make()  # counted since the last commit
        self._notes += self._plan.notes
        self._stored_alerts = saved.state.get("alerts", {})
        self.number = saved.number
        self._has_counted = "monitor" in saved.state
        self._alerts = self._judging(settings, self._stored_alerts)
        for name, file in (("output", self._output), ("quarantine", self._quarantine)):
            if file is not None:
                state = file.restore(saved.state.get(name))
                checkpoint.note({name: state})  # before a line is written
        self._intake.begin(self._windows.width)
        self._joining = self._begin_to_read(saved)
        self._counters: Counter[str] = Counter()
        self._screening = Screening(
            self._windows,
            settings.max_ahead,
            settings.max_bad,
            self._counters,
            self._notes,
            self._quarantine,
        )
        self._n_rows = 0
        self._n_counted: int | float = 0
        self._n_labelled: int | float = 0
        if self._has_counted:
            self._restore(saved)

    def step(self, now: float) -> Step:
        """Count the new rows, too; bad ones are told of even if there are too many."""
        try:
            return self._stepped(now)
        except BadDataError:
            if self._quarantine is not None:  # it shows what has gone wrong, until the next start
                with suppress(StreamevalError):
                    self._quarantine.write()
            raise

    def _stepped(self, now: float) -> Step:
        began = clocks.monotonic()
        before = self._n_rows, self._counters["labels"]
        waited_for = self._intake.waits_for
        n_bytes, is_idle = (0, False) if self._closing.has_more else self._read(now)
        is_news = self._note_waiting(waited_for, now)
        counts = self._intake.counts()
        self._counters.update(counts)
        self._screening.check_share(self._n_rows + self._counters["labels"])
        self._intake.declare(now)
        is_released = is_idle and self._intake.release_idle(now)
        if self._joining is not None:
            self._count_joined(self._joining, now)
        rows = self._take_in()
        self._closing.check_reported()
        closed, until = self._closing.due(self.total, self._mature_until(self._watermarks()))
        events, alerts = self._judged(now, until)
        is_news |= self._has_news(alerts)
        if n_bytes or rows or closed or counts or is_released or is_news:
            self._commit(now, events, alerts, self._changes(now, rows, closed))
            self._note_committed()
        self._closing.set_pace(clocks.monotonic() - began)
        return Step(
            n_rows=self._n_rows - before[0],
            n_labels=self._counters["labels"] - before[1],
            closed=closed,
            events=events,
            is_idle=is_idle and not self._closing.has_more,
            is_waiting=self._intake.is_waiting,
        )

    def _judging(self, settings: Settings, stored: Mapping[str, Any]) -> Alerts:
        """Continue the alerts by rules, and refuse routes of slices without an alert."""
        made = Alerts.restore(
            settings.alerts,
            self.total,
            stored,
            false_alarms=settings.false_alarms,
            number=self.number if self._has_counted else 0,
        )
        self._notes += made.notes
        for route in settings.on_alert:
            route.check_slices([state.slice for state in made.states()])
        return made

    def status(self) -> Status:
        """Return the current numbers, which `step` has committed."""
        watermark, label_watermark = marks = self._watermarks()
        joining = self._joining
        counters = {**self._counters, **({} if joining is None else joining.join.counters)}
        return Status(
            number=self.number,
            n_rows=self._n_rows,
            n_counted=self._n_counted,
            n_labelled=self._n_labelled,
            n_pending=0 if joining is None else joining.join.n_pending,
            watermark=self._shown(watermark),
            label_watermark=self._shown(label_watermark),
            mature_until=self._shown(self._mature_until(marks)),
            last_event_time=self._shown(self._intake.predictions.newest),
            waits_for=self._shown(self._intake.waits_for),
            counters={name: number for name, number in counters.items() if number},
            positions=self._intake.positions,
            is_full=joining is not None and joining.join.is_full,
            committed_at=self._committed_at,
            n_dropped=self._delivery.n_dropped,
        )

    def vitals(self, now: float) -> dict[str, Any]:
        """Return the lag, the memory of pending rows, and the rows in quarantine by reason."""
        readers = {} if self._windows.is_step else self._intake.readers
        newest = {role: one.partitions.newest for role, one in readers.items()}
        return {
            "lag_seconds": {role: now - t / 1e6 for role, t in newest.items() if t is not None},
            "pending_bytes": 0 if self._joining is None else self._joining.join.n_bytes,
            "quarantined": {} if self._quarantine is None else dict(self._quarantine.counts),
        }

    def _config(self) -> dict[str, Any]:
        """Return the options for a checkpoint, and what the first rows have shown."""
        where = self._settings.planner.where
        return {
            **{role: reader.source.name for role, reader in self._intake.readers.items()},
            **self._settings.to_json(),
            "columns": {column.argument: list(column.names) for column in self._plan.columns},
            "rows": {
                role: [row_to_json(row.row) for row in rows] for role, rows in self._samples.items()
            },
            "where": None if where is None else str(where.conditions),
        }

    def _check_keep(self) -> None:
        """Refuse to keep panes for less time than they need to mature."""
        longest = self._windows.tiers[-1].keep
        if longest is not None and longest < self._settings.delay + self._windows.width:
            raise InvalidInputError(
                "must be longer, or no pane is reported: panes are mature once `wait`, "
                "`allowed_lateness`, `out_of_order` and a pane have passed",
                argument="keep",
            )

    def _begin_to_read(self, saved: Saved) -> Joining | None:
        """Give every reader its plan; return the join."""
        settings, readers = self._settings, self._intake.readers
        joining, plans = None, {"predictions": self._plan}
        if "labels" in readers:
            from streameval.monitoring.joining import Joining  # noqa: PLC0415 (of labels)

            names = settings.key or "", settings.label_time or settings.time
            samples = self._samples
            parts = split(self._plan, *names, samples["predictions"], samples["labels"])
            plans = {"predictions": parts.predictions, "labels": parts.labels}
            label_rows = None
            if self._quarantine is not None:
                label_rows = LabelRows(self._quarantine, self._checkpoint.label_rows, settings)
            self._checkpoint.begin_label_rows(is_wanted=label_rows is not None)
            joining = Joining(settings, self._windows, parts, saved, self._notes, label_rows)
        where = settings.planner.where
        plans["predictions"] = attrs.evolve(plans["predictions"], where=where)
        for role, reader in readers.items():
            reader.plan = plans[role]
            if joining is not None:
                reader.partitions = joining.join.partitions[role]
        return joining

    def _restore(self, saved: Saved) -> None:
        """Restore the numbers of the last commit."""
        state = saved.state["monitor"]
        self._n_rows = state["rows"]
        self._n_counted, self._n_labelled = state["counted"], state["labelled"]
        self._closing.restore(state)
        self._committed_at = state["committed_at"]
        self._counters.update(state["counters"])
        self._screening.restore(state.get("recent_bad"), self._n_rows + self._counters["labels"])
        self._intake.restore(state["partitions"], saved.positions)

    def _read(self, now: float) -> tuple[int, bool]:
        """Read the rows of one commit; return the number of bytes, and whether that was all."""
        n_bytes = 0
        self._intake.resume()
        while n_bytes < self._settings.commit_bytes:
            found = self._intake.next(self._order(now), self._settings.read_bytes)
            if found is None:
                return n_bytes, True
            reader, chunk = found
            if not self._take(reader, chunk, now):
                continue
            reader.position = chunk.position
            n_bytes += max(chunk.block.taken, 1)
            is_ahead = reader.role == "predictions" and self._closing.is_far_ahead(
                reader.partitions.newest
            )
            if is_ahead or self._stopping.is_set():
                break
        return n_bytes, False

    def _order(self, now: float) -> list[Reader]:
        """Order the readers for the next chunk."""
        readers = [*self._intake.readers.values()]
        if self._joining is None:
            return readers
        join = self._joining.join
        if join.is_full or join.is_full_of_labels:  # until joined rows have been removed
            self._count_joined(self._joining, now)
        return self._joining.order(*readers)

    def _take(self, reader: Reader, chunk: Chunk, now: float) -> bool:
        """Check the rows of a chunk, and count them or add them to the join.

        Return False if the chunk must wait for the clock.
        """
        joining, plan = self._joining, reader.plan
        parsed = chunk.block.parse(plan.columns, plan.where)
        until = self._screening.waits_for(
            parsed,
            reader.following(chunk.partition, self._settings.read_bytes),
            reader.partitions.log(chunk.partition),
            now,
        )
        if until is not None:
            reader.put_back(chunk, until)
            return False
        accumulator = self._fresh if joining is None else plan.make()
        batch, row_ids = self._screening.admit(parsed, chunk.block, reader, accumulator, now)
        times = batch[self._windows.time].view(np.int64)
        if len(times):
            self._add(reader, chunk, times, batch, row_ids)
            reader.partitions.found[chunk.partition].seen = now
        return True

    def _add(
        self,
        reader: Reader,
        chunk: Chunk,
        times: Ints,
        batch: Mapping[str, Any],
        row_ids: Sequence[Any],
    ) -> None:
        """Add good rows to the join, or note those that have been counted."""
        joining = self._joining
        if joining is None:
            marks = reader.partitions.observe(chunk.partition, times)
            self._note_read(reader, times, marks)
            self._closing.note_counted(times)
            return
        origin = chunk.block, row_ids
        own, marks = joining.put(reader.role, chunk.partition, times, batch, origin)
        self._note_read(reader, times[own], marks[own])

    def _note_waiting(self, before: int | None, now: float) -> bool:
        """Tell that rows begin to wait for the clock; return whether that or its end is news."""
        waits_for = self._intake.waits_for
        if waits_for is not None and before is None:
            first, clock = self._shown(waits_for), self._shown(int(now * 1e6))
            self._notes.append(
                f"rows up to {first} are not read yet: by the clock of this machine, it is "
                f"{clock}, and rows are read once they are at most `max_ahead` ahead of it"
            )
        return (waits_for is None) is not (before is None)

    def _note_read(self, reader: Reader, times: Ints, marks: Ints) -> None:
        """Update the counters of rows, and of rows behind the watermark."""
        if reader.role == "labels":
            self._counters["labels"] += len(times)
            return
        self._n_rows += len(times)
        self._closing.note_read(times)
        lateness = self._settings.allowed_lateness
        self._counters["late"] += int((self._windows.end_of(times) + lateness <= marks).sum())

    def _count_joined(self, joining: Joining, now: float) -> None:
        """Count newly labelled rows, and rows whose wait is over."""
        self._intake.declare(now)
        for times, batch in joining.ready():
            try:
                self._fresh.update(batch)
            except (InvalidInputError, CountOverflowError) as error:
                raise BadDataError(f"joined rows cannot be counted: {error}") from None
            self._closing.note_counted(times)
        joining.check_labels(self._counters["labels"])

    def _take_in(self) -> bytes:
        """Add the rows counted since the last commit to all; return what is to be stored."""
        fresh = self._fresh
        if fresh.newest is None:
            return b""
        self._n_counted += fresh.n_rows()
        self._n_labelled += heaviest(fresh.n)
        self.total.merge(fresh)
        return fresh.to_bytes()

    def _mature_until(self, marks: Sequence[int | None]) -> int | None:
        """Return the end of the newest mature pane, by the watermarks."""
        known = [mark for mark in marks if mark is not None]
        if len(known) < len(self._intake.readers):
            return None
        settings, windows = self._settings, self._windows
        end: int = windows.end_of(min(known) - settings.allowed_lateness - settings.wait)
        return end - windows.width

    def _watermarks(self) -> tuple[int | None, int | None]:
        """Return the watermark of predictions and, if there are any, that of labels."""
        if self._joining is not None:
            return self._joining.join.watermarks
        partitions = self._intake.predictions
        partitions.reached = partitions.watermark
        return partitions.reached, None

    def _judged(self, now: float, until: int | None) -> tuple[tuple[Event, ...], Any]:
        """Evaluate the alerts; return their events and their states."""
        if not self._settings.alerts and not self._stored_alerts:
            return (), self._stored_alerts
        events = self._alerts.step(self.total, until, self.status(), now)
        return events, self._alerts.to_json()

    def _changes(self, now: float, rows: bytes, closed: Sequence[Closed]) -> Changes:
        """Collect what a commit holds besides alerts; its lines are written."""
        state: dict[str, Any] = {
            "monitor": {
                "rows": self._n_rows,
                "counted": self._n_counted,
                "labelled": self._n_labelled,
                **self._closing.to_json(),
                "committed_at": now,
                "counters": dict(self._counters),
                "recent_bad": self._screening.to_json(),
                "partitions": self._intake.partitions_to_json(),
            },
        }
        if self._output is not None:
            state["output"] = self._output.write(closed)
        if self._quarantine is not None:
            state["quarantine"] = self._quarantine.write()
        changes = Changes(
            rows=rows, total=self.total, state=state, positions=self._intake.positions
        )
        return changes if self._joining is None else self._joining.added_to(changes)

    def _note_committed(self) -> None:
        """Begin to count the rows of the next commit."""
        if self._joining is not None:
            self._joining.note_committed()
        self._has_counted = True
        self._fresh = self._plan.make()

    def _shown(self, time: int | None) -> Any:
        return None if time is None else self._windows.shown(time)
