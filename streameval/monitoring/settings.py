"""What a monitor has been asked to do: its options, checked and read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import attrs

from streameval.configs.options import positive_integer
from streameval.errors import InvalidInputError
from streameval.monitoring.alerts import Alerts
from streameval.monitoring.join_options import Shard, check_join
from streameval.monitoring.planning import Planner, planner_of
from streameval.monitoring.timing import Timing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from streameval.runs.counting import RowShare


@attrs.frozen(kw_only=True)
class Settings:
    """The options of a `Monitor`, which documents them.

    Parameters
    ----------
    planner : Planner
        How the plan is made once there are rows to look at.
    timing : Timing
        The spans of time.
    time, label_time, key, unlabelled, shard
        As they were given.
    max_pending, read_bytes, commit_bytes : int
    max_bad : int or RowShare
    rules : tuple
        The alerts.
    false_alarms : str
    """

    planner: Planner
    timing: Timing
    time: str
    label_time: str | None
    key: str | None
    unlabelled: Any
    shard: str | None
    max_pending: int
    max_bad: int | RowShare
    read_bytes: int
    commit_bytes: int
    rules: tuple[Any, ...]
    false_alarms: str

    @classmethod
    def of(
        cls,
        accumulator: Any,
        *,
        has_labels: bool,
        time: str,
        columns: Mapping[str, str] | None,
        alerts: Sequence[Any],
        spans: Mapping[str, Any],
        **others: Any,
    ) -> Self:
        """Check options as they are given to a monitor.

        Parameters
        ----------
        accumulator : Windowed or Planner
        has_labels : bool
            Whether labels come from a source of their own.
        time : str
        columns : mapping from argument to column, optional
        alerts : sequence of str or rule
        spans : mapping from str to duration
            What `Timing.of` reads.
        **others
            The other fields.

        Raises
        ------
        InvalidInputError
            If an option breaks a rule; it names the option.
        """
        planner = planner_of(accumulator, time, columns, others["max_bad"])
        of_join = ("key", "unlabelled", "label_time", "shard")
        check_join(
            has_labels,
            wait=spans["wait"],
            settle=spans["settle"],
            **{name: others[name] for name in of_join},
        )
        if others["shard"] is not None:
            Shard.of(others["shard"])
        timing = Timing.of(planner.is_step, **spans)
        if has_labels and not timing.wait:
            wait = spans["wait"]
            raise InvalidInputError(f"must be longer than zero, got {wait!r}", argument="wait")
        for name in ("max_pending", "read_bytes", "commit_bytes"):
            others[name] = positive_integer(others[name], name=name)
        if isinstance(alerts, str):
            raise InvalidInputError(f"must be a list of rules, got {alerts!r}", argument="alerts")
        if planner.empty is not None:  # else rules are checked once there is a plan
            Alerts(alerts, planner.empty, false_alarms=others["false_alarms"])
        return cls(planner=planner, timing=timing, time=time, rules=tuple(alerts), **others)

    def to_json(self) -> dict[str, Any]:
        """Return the options that a checkpoint holds, and which must not change."""
        return {
            "key": self.key,
            "time": self.time,
            "label_time": self.label_time,
            "wait": self.timing.wait,
            "unlabelled": self.unlabelled,
            "settle": self.timing.settle,
            "shard": self.shard,
            "out_of_order": self.timing.out_of_order,
            "allowed_lateness": self.timing.allowed_lateness,
        }
