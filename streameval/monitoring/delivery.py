"""Delivery of alert events: first committed, then handed to each receiver, at least once."""

from __future__ import annotations

import hashlib
import heapq
import itertools
import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import attrs

from streameval.configs.options import finite_number
from streameval.errors import StreamevalError
from streameval.monitoring.receivers import JsonEvent, Receiver, Refused, send
from streameval.monitoring.status import summed
from streameval.render.text import plural

if TYPE_CHECKING:
    from streameval.monitoring.alerts import Event
    from streameval.monitoring.checkpoint import Checkpoint
    from streameval.monitoring.routes import AlertRoute


LOG = logging.getLogger("streameval.on-alert")


FIRST_PAUSE, LONGEST_PAUSE = 1.0, 300.0
"""Seconds until a receiver that has refused is tried again; each is twice the one before."""


_TO = "@"  # between the id of an event and its receiver
_SHOWN = 3
_DOWN = 2  # alerts that a receiver refuses, and is taken to refuse all


class Delivery:
    """The events that have not arrived.

    They are *untold* until a commit puts them into the outbox of the checkpoint, once for each
    receiver that takes it, which happens only if the monitor has one; from then on the `Outbox` of
    the receiver holds them until they arrive.

    Parameters
    ----------
    routes : iterable of AlertRoute
        The receivers.
    notes : list of str
        Gets what has happened to events of removed receivers.
    """

    def __init__(self, routes: Iterable[AlertRoute], notes: list[str]) -> None:
        self._beating: list[Heartbeat] = []
        self._outboxes: dict[str, Outbox] = {}
        self._known: list[str] = []
        self._untold: list[Any] = []  # as JSON, for a later receiver
        self._notes = notes
        self._checkpoint: Checkpoint | None = None
        self.n_dropped = 0
        """How many events had not arrived when their receiver was removed, and have no other."""
        self._turn_to(routes)

    def _turn_to(self, routes: Iterable[AlertRoute]) -> None:
        """Take other receivers; one that stays goes on with its deliveries."""
        self._routes = tuple(routes)
        before, self._outboxes = self._outboxes, {}
        for key, route in _by_key(self._routes).items():
            outbox = self._outboxes[key] = before.pop(key) if key in before else Outbox(route)
            outbox.route = route  # a function may be another one of the same name
        for outbox in before.values():
            outbox.close()

    def begin(self, is_alive: Callable[[], bool]) -> None:
        """Send heartbeats from now on, while there is life."""
        for heartbeat in self._beating:
            heartbeat.close()
        self._beating = [
            Heartbeat(route.receiver, route.heartbeat, is_alive)
            for route in self._routes
            if route.heartbeat is not None
        ]

    def reload(self, routes: Iterable[AlertRoute], checkpoint: Checkpoint) -> None:
        """Turn to other receivers between two steps, as a restart does."""
        self.forget(self.wait(0.0))
        state = self.to_json()
        self._turn_to(routes)
        self.restore(state, checkpoint)

    def to_json(self) -> dict[str, Any]:
        """Return what a commit holds of the receivers: without any now, of the last ones."""
        state = {"untold": self._untold, "receivers": [*self._outboxes] or self._known}
        return state | ({"dropped": self.n_dropped} if self.n_dropped else {})

    def tell(self, event: Mapping[str, Any]) -> None:
        """Commit an event of the monitor itself, which goes to every receiver, and deliver it.

        The receivers are committed with it, so that the next start knows which of its own are new.
        Where it cannot be committed, it is delivered all the same, as far as it can be told now.
        """
        told = [(_name(event["id"], key), {**event}) for key in self._outboxes]
        with suppress(StreamevalError):
            if self._checkpoint is not None:
                state = {"own": event, "delivery": self.to_json()}
                self._checkpoint.note(state, events=told)
        self.note_committed(told)
        self.deliver()

    def numbers(self) -> tuple[dict[str, int], dict[str, int]]:
        """Return the undelivered events, and the refused attempts, by the name of the receiver."""
        boxes = [(one.route.receiver.name, one) for one in self._outboxes.values()]
        undelivered = summed((name, one.n_undelivered) for name, one in boxes)
        return undelivered, summed((name, one.n_refused) for name, one in boxes)

    @property
    def has_receivers(self) -> bool:
        """Whether there is a receiver of events."""
        return bool(self._outboxes)

    def restore(self, state: Mapping[str, Any], checkpoint: Checkpoint) -> None:
        """Continue from the last commit.

        The undelivered events of receivers that are gone go to those that are new, and take them.
        If none does, they are dropped, with a note, since each of the others has been sent what it
        takes; without any receiver, they wait. An event of an older release has no receiver: it
        goes to all.

        Parameters
        ----------
        state : mapping
            What `to_json` has returned; empty before the first commit.
        checkpoint : Checkpoint
            Has the undelivered events.
        """
        self._untold, self._known = [*state.get("untold", [])], [*state.get("receivers", [])]
        self.n_dropped = state.get("dropped", 0)
        new = [key for key in self._outboxes if key not in self._known]
        pending = checkpoint.outbox
        placed: dict[str, Any] = {}
        are_moved, dropped = False, []
        for name, event in pending:
            _, _, key = name.partition(_TO)
            others = [heir for heir in new if self._outboxes[heir].route.takes(event)]
            heirs = [key] if key in self._outboxes else others if key else [*self._outboxes]
            placed |= {_name(event["id"], heir): event for heir in heirs}
            if self._outboxes and key not in heirs:
                are_moved = True
                dropped += [] if heirs else [f"{event['rule']!r} is {event['state']}"]
        self.note_committed(placed.items())
        if are_moved:  # all are written anew: an end stays behind the beginning of its alert
            self.n_dropped += len(dropped)
            before = [name for name, _ in pending]
            checkpoint.note({"delivery": self.to_json()}, events=placed.items(), delivered=before)
        if dropped:
            shown = ", ".join(dropped[:_SHOWN]) + (", ..." if len(dropped) > _SHOWN else "")
            self._notes.append(
                f"dropped {plural(len(dropped), 'event')} of a receiver that was removed, which no "
                f"new one takes: {shown}"
            )
        self._checkpoint = checkpoint

    @property
    def has_more_to_commit(self) -> bool:
        """Whether there is a receiver now for events that had none."""
        return bool(self._outboxes) and bool(self._untold)

    def to_commit(self, events: Iterable[Event]) -> list[tuple[str, Any]]:
        """Return the new events for the outbox of the checkpoint; none without a receiver.

        Without one, events are kept, unless an alert has begun and ended meanwhile, so that a later
        receiver never gets the end of an alert without its start.
        """
        for event in events:
            begun = [one for one in self._untold if one["alert"] == event.alert]
            if not self._outboxes and event.state == "resolved" and begun:
                self._untold = [one for one in self._untold if one not in begun]
            else:
                self._untold.append(event.to_json())
        if not self._outboxes:
            return []
        told, self._untold = self._untold, []
        return [
            (_name(event["id"], key), event)
            for event in told
            for key, outbox in self._outboxes.items()
            if outbox.route.takes(event)
        ]

    def note_committed(self, events: Iterable[tuple[str, Any]]) -> None:
        """Record what the outbox of the checkpoint holds."""
        for name, event in events:
            self._outboxes[name.partition(_TO)[2]].put(name, event)

    def deliver(self) -> None:
        """Deliver committed events, and drop those that have arrived."""
        self.forget([name for outbox in self._outboxes.values() for name in outbox.deliver()])

    def wait(self, patience: float) -> list[str]:
        """Wait up to some seconds for events that were not tried yet; return those that arrived."""
        deadline = time.monotonic() + patience
        return [
            name
            for outbox in self._outboxes.values()
            for name in outbox.flush(max(deadline - time.monotonic(), 0.0))
        ]

    def forget(self, arrived: Sequence[str]) -> None:
        """Drop the events that have arrived."""
        if arrived and self._checkpoint is not None:
            self._checkpoint.note(delivered=arrived)

    def close(self) -> None:
        """Stop heartbeats, and deliveries in progress; the next monitor repeats them."""
        for heartbeat in self._beating:
            heartbeat.close()
        for outbox in self._outboxes.values():
            outbox.close()


def _name(number: str, key: str) -> str:
    """Name the delivery of an event to a receiver."""
    return f"{number}{_TO}{key}"


def _by_key(routes: Iterable[AlertRoute]) -> dict[str, AlertRoute]:
    """Name receivers of events so that a restart knows them: by a digest, without credentials.

    Receivers that are alike, such as functions of one name, have a number too.
    """
    numbers = Counter[tuple[str, str]]()
    keys = {}
    for route in routes:
        if route.heartbeat is not None:
            continue
        category, text = route.identity
        numbers[route.identity] += 1
        identity = f"{category} {text} {numbers[route.identity]}".encode()
        keys[hashlib.blake2b(identity, digest_size=8).hexdigest()] = route
    return keys


_TIMEOUT = 10.0


class Heartbeat:
    """Send a heartbeat at once, and again after each period, in a thread, until it is closed.

    Parameters
    ----------
    receiver : Receiver
    every : float
        The period, in seconds.
    is_alive : callable
        Without life, nothing is sent.
    """

    def __init__(self, receiver: Receiver, every: float, is_alive: Callable[[], bool]) -> None:
        self._receiver = receiver
        self._every = every
        self._is_alive = is_alive
        self._closed = threading.Event()
        self._was_refused = False
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Send no more; one that is being sent is not waited for."""
        self._closed.set()

    def _work(self) -> None:
        while not self._closed.is_set():
            if self._is_alive():
                self._send()
            self._closed.wait(self._every)

    def _send(self) -> None:
        """Send one, and warn of the first of several refusals."""
        at = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        beat = {"id": f"heartbeat {at}", "rule": "heartbeat", "state": "alive", "at": at}
        answer = send(self._receiver, beat, _TIMEOUT)
        is_refused = isinstance(answer, Refused)
        if is_refused and not self._was_refused:
            LOG.error("%s %s; heartbeats go on", self._receiver.name, answer)
        self._was_refused = is_refused


@attrs.define
class _Held:
    """An event that has not been delivered."""

    event: JsonEvent
    turn: int

    def alert(self, name: str) -> str:
        """Return the alert that it belongs to; one of none has its own name for it."""
        alert: str = self.event.get("alert", name)
        return alert


class Outbox:
    """Deliver events in a separate thread, one at a time, and retry each until it is accepted.

    A slow receiver delays only events. One that has refused events of two alerts is left alone for
    1 s, then 2 s, and so on up to 5 minutes, or as long as it asks for, and tried with the event
    whose turn it is; once it takes that one, all others follow, in order. If it refuses the events
    of one alert alone, those of others overtake them, and later ones of that alert wait. After the
    longest pause, another alert has its turn. Each event arrives at least once: after a crash,
    events without a recorded delivery are sent again, with the same id.

    Parameters
    ----------
    route : AlertRoute
        Has the receiver; a function is called with a dict in this thread.
    timeout : float
        The time limit of a command or a webhook, in seconds.
    """

    def __init__(self, route: AlertRoute, *, timeout: float = 10.0) -> None:
        self.route = route
        self._timeout = finite_number(timeout, name="timeout")
        self._held: dict[str, _Held] = {}
        self._lines: dict[str, deque[str]] = {}  # the names of the held events of each alert
        self._new: list[tuple[int, str]] = []  # a heap: the first of each by turn, if not tried
        self._refused: list[tuple[int, str]] = []  # the same of those that were refused
        self._turns = itertools.count()
        self._pause = self._resumes = 0.0  # after a refusal
        self._has_asked = self._is_failing = False  # for the pause; since the first refusal
        self._arrived: dict[str, _Held] = {}
        self._is_busy = self._is_closed = False
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self.n_refused = 0

    @property
    def n_undelivered(self) -> int:
        """The number of events that have not arrived."""
        return len(self._held)

    def put(self, name: str, event: JsonEvent) -> None:
        """Hold an event of the checkpoint, by its id there, unless it is known."""
        with self._changed:
            if name not in self._held and name not in self._arrived:
                held = self._held[name] = _Held(event, next(self._turns))
                line = self._lines.setdefault(held.alert(name), deque())
                line.append(name)
                if line[0] == name:
                    heapq.heappush(self._new, (held.turn, name))

    def deliver(self) -> list[str]:
        """Start deliveries without waiting, and return the ids of those that have arrived since."""
        with self._changed:
            if self._held and self._thread is None:
                self._thread = threading.Thread(target=self._work, daemon=True)
                self._thread.start()
            self._changed.notify_all()
            return self._collected()

    def flush(self, seconds: float) -> list[str]:
        """Wait until all is tried that may be, and return the ids of those delivered since.

        With time to wait, a receiver in a pause gets a last try, unless it has asked for the pause.
        """
        with self._changed:
            if seconds and not self._has_asked:
                self._resumes = 0.0
                self._changed.notify_all()
            self._changed.wait_for(lambda: not self._is_busy and not self._ready(), seconds)
            return self._collected()

    def close(self, seconds: float = 0.0) -> None:
        """Start no more deliveries, and wait for the current one."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(seconds)

    def _collected(self) -> list[str]:
        arrived, self._arrived = self._arrived, {}
        return [*arrived]

    def _ready(self) -> list[list[tuple[int, str]]]:
        """Return the heaps whose first event may be tried now; all but the first of each wait."""
        if time.monotonic() >= self._resumes:
            heaps = [self._new, self._refused]
        else:  # a single alert that is refused may be the only one
            heaps = [self._new] if len(self._refused) < _DOWN and not self._has_asked else []
        return [heap for heap in heaps if heap]

    def _work(self) -> None:
        while (name := self._due()) is not None:
            held, was_failing = self._held[name], self._is_failing
            answer = send(self.route.receiver, held.event, self._timeout)
            self._note(name, held, answer)
            with suppress(Exception):  # events go on, even if nothing is shown
                self._tell(held, answer, was_failing=was_failing)

    def _tell(self, held: _Held, answer: str | Refused, *, was_failing: bool) -> None:
        """Log what a receiver has said, and when it begins to refuse events and to take all."""
        receiver, is_refused = self.route.receiver.name, isinstance(answer, Refused)
        said = answer.output if isinstance(answer, Refused) else answer
        for line in [] if is_refused and was_failing else said.splitlines():
            LOG.info("%s: %s", receiver, line)
        if self._is_failing and not was_failing:
            LOG.error(
                "%s %s; event %s is tried again until it arrives",
                receiver,
                answer,
                held.event["id"],
            )
        elif was_failing and not self._is_failing:
            LOG.info("%s: takes events again", receiver)

    def _due(self) -> str | None:
        """Wait for an event that is due; None once the outbox is closed."""
        with self._changed:
            while not self._is_closed:
                if ready := self._ready():
                    self._is_busy = True
                    return heapq.heappop(min(ready))[1]
                left = self._resumes - time.monotonic()
                self._changed.wait(max(left, 0.0) if self._new or self._refused else None)
            return None

    def _note(self, name: str, held: _Held, answer: str | Refused) -> None:
        """Drop a delivered event, or postpone a refused one."""
        with self._changed:
            self._is_busy = False
            if isinstance(answer, Refused):
                self._has_asked = answer.after is not None
                pause = 2 * self._pause if answer.after is None else answer.after
                if self._pause >= LONGEST_PAUSE:
                    held.turn = next(self._turns)
                self._pause = min(max(pause, FIRST_PAUSE), LONGEST_PAUSE)
                self._resumes = time.monotonic() + self._pause
                heapq.heappush(self._refused, (held.turn, name))
                self._is_failing = True
                self.n_refused += 1
            else:
                self._pause = self._resumes = 0.0
                self._is_failing = bool(self._refused)
                self._arrived[name] = self._held.pop(name)
                line = self._lines[held.alert(name)]
                line.popleft()
                if line:
                    heapq.heappush(self._new, (self._held[line[0]].turn, line[0]))
                else:
                    del self._lines[held.alert(name)]
            self._changed.notify_all()
