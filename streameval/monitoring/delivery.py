"""Delivery of alert events: first committed, then handed to the receiver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streameval.monitoring.outbox import Outbox

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from streameval.monitoring.alerts import Event
    from streameval.monitoring.checkpoint import Checkpoint

__all__ = ["Delivery"]


class Delivery:
    """The events that have not arrived.

    They are *untold* until a commit puts them into the outbox of the checkpoint, which happens only
    if the monitor has a receiver; from then on they are *undelivered* until they arrive.

    Parameters
    ----------
    on_alert : str, callable or None
        The receiver; see `Outbox`.
    """

    def __init__(self, on_alert: Any) -> None:
        self._outbox = None if on_alert is None else Outbox(on_alert)
        self._undelivered: dict[str, Any] = {}
        self.untold: list[Any] = []
        """Events as JSON that a later receiver is to get."""

    def restore(self, untold: Sequence[Any], undelivered: Iterable[tuple[str, Any]]) -> None:
        """Continue from the last commit."""
        self.untold = [*untold]
        self._undelivered = dict(undelivered)

    @property
    def has_more_to_commit(self) -> bool:
        """Whether there is a receiver now for events that had none."""
        return self._outbox is not None and bool(self.untold)

    def to_commit(self, events: Iterable[Event]) -> list[tuple[str, Any]]:
        """Return the new events for the outbox of the checkpoint; none without a receiver.

        Without one, events are kept, unless an alert has begun and ended meanwhile, so that a later
        receiver never gets the end of an alert without its start.
        """
        for event in events:
            begun = [one for one in self.untold if one["alert"] == event.alert]
            if self._outbox is None and event.state == "resolved" and begun:
                self.untold = [one for one in self.untold if one not in begun]
            else:
                self.untold.append(event.to_json())
        if self._outbox is None:
            return []
        told, self.untold = self.untold, []
        return [(event["id"], event) for event in told]

    def note_committed(self, events: Iterable[tuple[str, Any]]) -> None:
        """Record what the outbox of the checkpoint holds."""
        self._undelivered.update(events)

    def deliver(self, checkpoint: Checkpoint) -> None:
        """Deliver committed events, and drop those that have arrived."""
        if self._outbox is not None and self._undelivered:
            self.forget(self._outbox.deliver(self._undelivered.items()), checkpoint)

    def wait(self, patience: float) -> list[str]:
        """Wait up to some seconds for events that were not tried yet; return those that arrived."""
        return [] if self._outbox is None else self._outbox.flush(patience)

    def forget(self, names: Iterable[str], checkpoint: Checkpoint) -> None:
        """Drop the events that have arrived."""
        arrived = [name for name in names if self._undelivered.pop(name, None) is not None]
        if arrived:
            checkpoint.delivered(arrived)

    def close(self) -> None:
        """Stop deliveries in progress; the next monitor repeats them."""
        if self._outbox is not None:
            self._outbox.close()
