"""What a monitor does until the first rows of each source show how to read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from streameval.accumulators.confusion import ConfusionAccumulator
from streameval.accumulators.windowed import Windowed
from streameval.io.blocks import Block
from streameval.io.columns import Argument
from streameval.monitoring.alerts import Alerts, Event
from streameval.monitoring.planning import ID
from streameval.monitoring.rows import Ids
from streameval.monitoring.status import Status, Step
from streameval.runs.counting import bad_rows
from streameval.runs.totals import BadRows

if TYPE_CHECKING:
    from streameval.monitoring.checkpoint import Checkpoint
    from streameval.monitoring.delivery import Delivery
    from streameval.monitoring.intake import Intake
    from streameval.monitoring.settings import Settings


class Waiting:
    """The work of a monitor while a source has no row.

    The rows of the other source are read ahead and held, up to 64 times `read_bytes` and up to
    `max_pending`, and are shown as pending. Rules that look at no pane are evaluated. A commit has
    their states and the numbers of rows, but no position: a restart reads the rows again.

    Parameters
    ----------
    settings : Settings
    intake : Intake
        The sources.
    checkpoint : Checkpoint
    delivery : Delivery
        The delivery of alert events.

    Attributes
    ----------
    number : int
        Of the last commit.
    total : Windowed or None
        The accumulator, which has counted nothing; None if the first rows decide what it is.
    """

    def __init__(
        self, settings: Settings, intake: Intake, checkpoint: Checkpoint, delivery: Delivery
    ) -> None:
        self._settings = settings
        self._intake = intake
        self._checkpoint = checkpoint
        self._delivery = delivery
        self._bad = BadRows(settings.max_bad)
        self._is_told = False
        self.total: Any = settings.planner.empty
        self.number = checkpoint.number
        stored = checkpoint.state
        state = stored.get("waiting", {})
        self._n_rows: dict[str, int] = state.get("rows", {})
        self._committed_at: float | None = state.get("committed_at")
        self._stored_alerts = stored.get("alerts", {})
        self._empty = Windowed(ConfusionAccumulator(), pane=1) if self.total is None else self.total
        self._alerts = self._judging(settings, self._stored_alerts)

    def step(self, now: float) -> Step:
        """Read ahead, evaluate the rules, and commit if anything has changed."""
        before, self._n_rows = self._n_rows, self._read_ahead()
        events = self._alerts.step(self._empty, None, self.status(), now)
        alerts = self._alerts.to_json()
        is_news = alerts != self._stored_alerts or self._delivery.has_more_to_commit
        if self._n_rows != before or is_news:
            self._commit(now, events, alerts)
        notes = (*self._new_notes(), *self._intake.warnings())
        return Step(events=events, is_waiting=self._intake.is_waiting, notes=notes)

    def reload(self, settings: Settings) -> None:
        """Turn to other rules and receivers, as a restart does."""
        alerts = self._judging(settings, self._alerts.to_json())
        self._delivery.reload(settings.on_alert, self._checkpoint)
        self._settings, self._alerts = settings, alerts

    def _judging(self, settings: Settings, stored: Mapping[str, Any]) -> Alerts:
        rules = [alert for alert in settings.alerts if not alert.rule.looks_at_panes]
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

    def alert_states(self) -> tuple[Any, ...]:
        """Return the states of the rules that look at no pane."""
        return self._alerts.states()

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

    def _commit(self, now: float, events: Sequence[Event], alerts: Any) -> None:
        self._committed_at = now
        to_deliver = self._delivery.to_commit(events)
        waiting = {"rows": self._n_rows, "committed_at": now}
        state = {"alerts": alerts, "waiting": waiting, "delivery": self._delivery.to_json()}
        self._checkpoint.commit_early(self.number + 1, state, to_deliver)
        self.number += 1
        self._stored_alerts = alerts
        self._delivery.note_committed(to_deliver)

    def _new_notes(self) -> list[str]:
        """Tell once that predictions wait for the first label."""
        n_rows = self._n_rows
        if self._is_told or not n_rows["predictions"] or n_rows.get("labels"):
            return []
        self._is_told = True
        name = self._intake.readers["labels"].source.name
        return [f"{name}: has no rows yet; predictions wait for the first label"]
