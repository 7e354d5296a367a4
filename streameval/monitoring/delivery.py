"""Events of alerts on their way: committed first, handed over after that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streameval.monitoring.outbox import Outbox

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from streameval.monitoring.alerts import Event
    from streameval.monitoring.checkpoint import Checkpoint

__all__ = ["Delivery"]


class Delivery:
    """The events that have not arrived yet.

    They are *untold* until a commit puts them into the outbox of the checkpoint, which it does
    only for a monitor with a receiver, and *undelivered* from there until they have arrived.

    Parameters
    ----------
    on_alert : str, callable or None
        Who takes them, as `Outbox` reads it.
    """

    def __init__(self, on_alert: Any) -> None:
        self._outbox = None if on_alert is None else Outbox(on_alert)
        self._undelivered: dict[str, Any] = {}
        self.untold: list[Any] = []
        """Events as JSON that a later receiver is to get."""

    def restore(self, untold: Sequence[Any], undelivered: Iterable[tuple[str, Any]]) -> None:
        """Go on from what the last commit holds."""
        self.untold = [*untold]
        self._undelivered = dict(undelivered)

    @property
    def has_more_to_commit(self) -> bool:
        """Whether there is a receiver now for events that had none."""
        return self._outbox is not None and bool(self.untold)

    def to_commit(self, events: Iterable[Event]) -> list[tuple[str, Any]]:
        """Return what the outbox of the checkpoint gets: nothing where nobody takes it.

        Then events are kept, unless the alert has begun and ended meanwhile, so that a later
        receiver never learns of one without the other.
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
        """Note what the outbox of the checkpoint has got."""
        self._undelivered.update(events)

    def deliver(self, checkpoint: Checkpoint) -> None:
        """Hand over what has been committed, and forget what has arrived."""
        if self._outbox is not None and self._undelivered:
            self.forget(self._outbox.deliver(self._undelivered.items()), checkpoint)

    def wait(self, patience: float) -> list[str]:
        """Give events that have not been tried yet so many seconds; return those that arrived."""
        return [] if self._outbox is None else self._outbox.flush(patience)

    def forget(self, names: Iterable[str], checkpoint: Checkpoint) -> None:
        """Forget what has arrived."""
        arrived = [name for name in names if self._undelivered.pop(name, None) is not None]
        if arrived:
            checkpoint.delivered(arrived)

    def close(self) -> None:
        """End what is still being delivered; the next monitor delivers it again."""
        if self._outbox is not None:
            self._outbox.close()
