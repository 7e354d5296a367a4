"""Delivery of alert events: first committed, then handed to each receiver."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from streameval.errors import StreamevalError
from streameval.monitoring.heartbeat import Heartbeat
from streameval.monitoring.outbox import Outbox
from streameval.monitoring.vitals import summed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from streameval.monitoring.alerts import Event
    from streameval.monitoring.checkpoint import Checkpoint
    from streameval.monitoring.routes import AlertRoute

_TO = "@"  # between the id of an event and its receiver


class Delivery:
    """The events that have not arrived.

    They are *untold* until a commit puts them into the outbox of the checkpoint, once for each
    receiver that takes it, which happens only if the monitor has one; from then on they are
    *undelivered* until they arrive.

    Parameters
    ----------
    routes : iterable of AlertRoute
        The receivers.
    """

    def __init__(self, routes: Iterable[AlertRoute]) -> None:
        given = [*routes]
        self._hearts = [route for route in given if route.heartbeat is not None]
        self._beating: list[Heartbeat] = []
        self._routes = _by_key(route for route in given if route.heartbeat is None)
        self._outboxes = {key: Outbox(route.receiver) for key, route in self._routes.items()}
        self._known: list[str] = []
        self._undelivered: dict[str, dict[str, Any]] = {key: {} for key in self._outboxes}
        self.untold: list[Any] = []
        """Events as JSON that a later receiver is to get."""

    @property
    def receivers(self) -> list[str]:
        """The receivers that have been told of events; without any now, the last ones."""
        return [*self._outboxes] or self._known

    def begin(self, is_alive: Callable[[], bool]) -> None:
        """Send heartbeats from now on, while there is life."""
        self._beating = [
            Heartbeat(route.receiver, route.heartbeat, is_alive)
            for route in self._hearts
            if route.heartbeat is not None
        ]

    def tell(self, event: Mapping[str, Any], number: int, checkpoint: Checkpoint) -> None:
        """Commit an event of the monitor itself, which goes to every receiver, and deliver it.

        Where it cannot be committed, it is delivered all the same, as far as it can be told now.
        """
        told = [(_name(event["id"], key), {**event}) for key in self._routes]
        with suppress(StreamevalError):
            checkpoint.tell(number, told, event)
        self.note_committed(told)
        self.deliver(checkpoint)

    def numbers(self) -> tuple[dict[str, int], dict[str, int]]:
        """Return the undelivered events, and the refused attempts, by the name of the receiver."""
        boxes = [
            (route.receiver.name, len(self._undelivered[key]), self._outboxes[key].n_refused)
            for key, route in self._routes.items()
        ]
        return summed((name, n) for name, n, _ in boxes), summed((name, n) for name, _, n in boxes)

    @property
    def has_receivers(self) -> bool:
        """Whether there is a receiver of events."""
        return bool(self._outboxes)

    def restore(
        self,
        untold: Sequence[Any],
        undelivered: Iterable[tuple[str, Any]],
        known: Sequence[str],
        checkpoint: Checkpoint,
    ) -> None:
        """Continue from the last commit.

        The undelivered events of receivers that are gone go to those that are new, and take them.
        If none does, they are dropped, since each of the others has been sent what it takes;
        without any receiver, they wait. An event of an older release has no receiver: it goes to
        all.
        """
        self.untold, self._known = [*untold], [*known]
        new = [key for key in self._outboxes if key not in known]
        moved = {}
        for name, event in undelivered:
            _, _, key = name.partition(_TO)
            others = [heir for heir in new if self._routes[heir].takes(event)]
            heirs = [key] if key in self._outboxes else others if key else [*self._outboxes]
            for heir in heirs:
                self._undelivered[heir][_name(event["id"], heir)] = event
            if self._outboxes and key not in heirs:
                moved[name] = [_name(event["id"], heir) for heir in heirs]
        if moved:
            checkpoint.readdress(moved)

    def check_slices(self, slices: Sequence[Mapping[str, Any] | None]) -> None:
        """Refuse routes of slices about which there is no alert."""
        for route in self._routes.values():
            route.check_slices(slices)

    @property
    def has_more_to_commit(self) -> bool:
        """Whether there is a receiver now for events that had none."""
        return bool(self._outboxes) and bool(self.untold)

    def to_commit(self, events: Iterable[Event]) -> list[tuple[str, Any]]:
        """Return the new events for the outbox of the checkpoint; none without a receiver.

        Without one, events are kept, unless an alert has begun and ended meanwhile, so that a later
        receiver never gets the end of an alert without its start.
        """
        for event in events:
            begun = [one for one in self.untold if one["alert"] == event.alert]
            if not self._outboxes and event.state == "resolved" and begun:
                self.untold = [one for one in self.untold if one not in begun]
            else:
                self.untold.append(event.to_json())
        if not self._outboxes:
            return []
        told, self.untold = self.untold, []
        return [
            (_name(event["id"], key), event)
            for event in told
            for key, route in self._routes.items()
            if route.takes(event)
        ]

    def note_committed(self, events: Iterable[tuple[str, Any]]) -> None:
        """Record what the outbox of the checkpoint holds."""
        for name, event in events:
            self._undelivered[name.partition(_TO)[2]][name] = event

    def deliver(self, checkpoint: Checkpoint) -> None:
        """Deliver committed events, and drop those that have arrived."""
        for key, outbox in self._outboxes.items():
            if self._undelivered[key]:
                self.forget(outbox.deliver(self._undelivered[key].items()), checkpoint)

    def wait(self, patience: float) -> list[str]:
        """Wait up to some seconds for events that were not tried yet; return those that arrived."""
        deadline = time.monotonic() + patience
        return [
            name
            for outbox in self._outboxes.values()
            for name in outbox.flush(max(deadline - time.monotonic(), 0.0))
        ]

    def forget(self, names: Iterable[str], checkpoint: Checkpoint) -> None:
        """Drop the events that have arrived."""
        arrived = [
            name
            for name in names
            if self._undelivered[name.partition(_TO)[2]].pop(name, None) is not None
        ]
        if arrived:
            checkpoint.delivered(arrived)

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
    """Name receivers so that a restart knows them: by a digest, which shows no credentials.

    Receivers that are alike, such as functions of one name, have a number too.
    """
    numbers = Counter[tuple[str, str]]()
    keys = {}
    for route in routes:
        category, text = route.identity
        numbers[route.identity] += 1
        identity = f"{category} {text} {numbers[route.identity]}".encode()
        keys[hashlib.blake2b(identity, digest_size=8).hexdigest()] = route
    return keys
