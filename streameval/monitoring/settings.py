"""What a monitor has been asked to do: its options, checked and read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self
from zlib import crc32

import attrs
import numpy as np

from streameval.configs.options import checks
from streameval.errors import InvalidInputError, Named
from streameval.exact.array_types import Mask
from streameval.inputs.durations import read_offset
from streameval.monitoring.alerts import Alerts, read_rules
from streameval.monitoring.options import MonitorOptions
from streameval.monitoring.planning import Planner, planner_of
from streameval.monitoring.routes import read_routes

_NEEDED = ("key", "wait")
_OF_JOIN = (*_NEEDED, "settle", "unlabelled", "label_time", "shard")
"""The options about labels from a source of their own."""
_SPANS = ("wait", "settle", "out_of_order", "allowed_lateness")
_KEPT = (
    *("key", "time", "label_time", "wait", "unlabelled", "settle", "shard"),
    *("out_of_order", "allowed_lateness"),
)
"""The options that a checkpoint holds, and which must not change."""
_PARTS_OF_WAIT = 16
_MAX_SPAN = 2**60  # sums of a time and several spans fit into 64 bits


@attrs.frozen(kw_only=True)
class Settings(MonitorOptions):
    """The options of a monitor as it uses them; without labels, it waits for nothing.

    Parameters
    ----------
    planner : Planner
        How the plan is made once there are rows to look at.
    """

    planner: Planner

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Check the arguments of a monitor.

        Parameters
        ----------
        given : mapping
            Each by its name.

        Raises
        ------
        InvalidInputError
            If an option breaks a rule; it names the option.
        """
        read: dict[str, Any] = {
            name: given[name] if check is None else check(given[name], name=name)
            for name, check, _ in checks(MonitorOptions)
        }
        by_plan = ("accumulator", "time", "columns", "max_bad")
        planner = planner_of(*(given[name] for name in by_plan))
        has_labels = given["labels"] is not None
        _check_join(has_labels, read)
        for name in _SPANS:
            if name not in _OF_JOIN or read[name] is not None:
                read[name] = _span(read[name], name, is_step=planner.is_step)
        if has_labels and not read["wait"]:
            raise InvalidInputError(
                f"must be longer than zero, got {given['wait']!r}", argument="wait"
            )
        read["wait"] = read["wait"] or 0
        made = cls(**read | {"planner": planner, "alerts": (), "on_alert": ()})
        return made.with_alerts(given["alerts"], given["false_alarms"], given["on_alert"])

    def with_alerts(self, alerts: Any, false_alarms: str, on_alert: Any) -> Self:
        """Replace rules and receivers; without a plan, metrics are checked once there is one."""
        rules = read_rules(alerts)
        for one in rules:
            if one.rule.needs_labels and not self.wait:
                raise InvalidInputError(
                    f"{one.rule.text!r} needs ", Named("labels"), argument="alerts"
                )
        if self.planner.empty is not None:
            Alerts(rules, self.planner.empty, false_alarms=false_alarms)
        routes = read_routes(on_alert, rules)
        return attrs.evolve(self, alerts=rules, false_alarms=false_alarms, on_alert=routes)

    def to_json(self) -> dict[str, Any]:
        """Return the options that a checkpoint holds, and which must not change."""
        return {name: getattr(self, name) for name in _KEPT}

    def own(self, ids: Sequence[str]) -> Mask | None:
        """Return which ids belong to the shard, by a hash that is the same everywhere, if any."""
        if self.shard is None:
            return None
        number, count = map(int, self.shard.split("/"))
        hashes = (crc32(one.encode()) for one in ids)
        is_own: Mask = np.fromiter(hashes, np.int64, len(ids)) % count == number - 1
        return is_own

    @property
    def delay(self) -> int:
        """How long after its end a pane is mature."""
        delay: int = self.wait + self.allowed_lateness + self.out_of_order
        return delay

    def max_step(self, pane: int) -> int:
        """Return by how much one row can always move the time of its log: see `LogTime`."""
        return min(pane, self.wait // _PARTS_OF_WAIT) if self.wait else pane


def _check_join(has_labels: bool, given: Mapping[str, Any]) -> None:
    """Refuse options of a join without labels, and labels without those that join them."""
    for name in _OF_JOIN:
        is_given = given[name] is not None and (name, given[name]) != ("unlabelled", "drop")
        if has_labels and not is_given and name in _NEEDED:
            raise InvalidInputError("needs ", Named(name), argument="labels")
        if not has_labels and is_given:
            raise InvalidInputError("needs ", Named("labels"), argument=name)


def _span(value: Any, name: str, *, is_step: bool) -> int:
    """Read a span of event time, which may be zero."""
    if is_step:
        fits = isinstance(value, int) and not isinstance(value, bool)
        size = value if fits else 0 if isinstance(value, str) and value == "0s" else -1
    else:
        size = read_offset(value, name=name)
    if not 0 <= size < _MAX_SPAN:
        rule = "an integer, as the pane is, of at least 0" if is_step else "at least 0s"
        limit = f" and below {'2**60' if is_step else '36,000 years'}" if size > 0 else ""
        raise InvalidInputError(f"must be {rule}{limit}, got {value!r}", argument=name)
    return size
