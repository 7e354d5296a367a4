"""What a monitor has been asked to do: its options, checked and read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import attrs

from streameval.configs.options import positive_integer
from streameval.errors import InvalidInputError
from streameval.inputs.times import read_offset
from streameval.monitoring.alerts import Alerts
from streameval.monitoring.join_options import OF_JOIN, Shard, check_join
from streameval.monitoring.planning import Planner, planner_of
from streameval.monitoring.rules import read_rules

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streameval.monitoring.rules import AlertRule
    from streameval.runs.counting import RowShare


_MICROSECONDS = 1_000_000
_PARTS_OF_WAIT = 16
_OF_TIMING = (
    *("wait", "settle", "out_of_order", "allowed_lateness"),
    *("max_ahead", "idle_after", "label_idle_after"),
)


@attrs.frozen(kw_only=True)
class Timing:
    """Spans of event time, in microseconds or steps, and of the clock.

    Parameters
    ----------
    wait : int
        How long a prediction waits for its label; 0 without a join.
    settle : int or None
        How long a label must have stood before it counts.
    out_of_order : int
        How much older than the row before it a row may be.
    allowed_lateness : int
        How long a pane stays open after the watermark has passed its end.
    max_ahead : int
        How far event time may be ahead of the clock, in microseconds.
    idle_after : mapping from role to float or None
        Seconds after which a silent partition stops holding the others back.
    """

    wait: int
    settle: int | None
    out_of_order: int
    allowed_lateness: int
    max_ahead: int
    idle_after: Mapping[str, float | None]

    @classmethod
    def of(
        cls, is_step: bool, *, max_ahead: Any, idle_after: Any, label_idle_after: Any, **spans: Any
    ) -> Self:
        """Read durations, or numbers of steps.

        Parameters
        ----------
        is_step : bool
            Whether event time counts steps.
        idle_after, label_idle_after : duration or None
            Of predictions and of labels.
        **spans : duration or None
            The other fields; without a `wait` it is 0.

        Raises
        ------
        InvalidInputError
            If one is no duration, or is negative.
        """
        read: dict[str, Any] = {
            name: None if value is None else _length(value, name, is_step=is_step)
            for name, value in spans.items()
        }
        return cls(
            **(read | {"wait": read["wait"] or 0}),
            max_ahead=read_offset(max_ahead, name="max_ahead"),
            idle_after={
                "predictions": _seconds(idle_after, "idle_after"),
                "labels": _seconds(label_idle_after, "label_idle_after"),
            },
        )

    @property
    def delay(self) -> int:
        """How long after its end a pane is mature."""
        return self.wait + self.allowed_lateness + self.out_of_order

    def max_step(self, pane: int) -> int:
        """Return by how much one row can always move the time of its log: see `LogTime`."""
        return min(pane, self.wait // _PARTS_OF_WAIT) if self.wait else pane


def _length(value: Any, name: str, *, is_step: bool) -> int:
    """Read a duration that may be zero."""
    if is_step:
        fits = isinstance(value, int) and not isinstance(value, bool)
        size = value if fits else 0 if value == "0s" else -1
    else:
        size = read_offset(value, name=name)
    if size < 0:
        rule = "an integer, as the pane is, of at least 0" if is_step else "at least 0s"
        raise InvalidInputError(f"must be {rule}, got {value!r}", argument=name)
    return size


def _seconds(value: Any, name: str) -> float | None:
    return None if value is None else read_offset(value, name=name) / _MICROSECONDS


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
    rules : tuple of AlertRule
        The alerts.
    false_alarms : str
    migrate : bool
        Whether a checkpoint of other options is taken up where it can be.
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
    rules: tuple[AlertRule, ...]
    false_alarms: str
    migrate: bool

    @classmethod
    def of(
        cls, accumulator: Any, has_labels: bool, *, columns: Any, alerts: Any, **options: Any
    ) -> Self:
        """Check options as they are given to a monitor.

        Parameters
        ----------
        accumulator : Windowed or Planner
        has_labels : bool
            Whether labels come from a source of their own.
        columns : mapping from argument to column, optional
        alerts : sequence of str or mapping
        **options
            What `Timing.of` reads, and the other fields.

        Raises
        ------
        InvalidInputError
            If an option breaks a rule; it names the option.
        """
        planner = planner_of(accumulator, options["time"], columns, options["max_bad"])
        check_join(has_labels, **{name: options[name] for name in OF_JOIN})
        if options["shard"] is not None:
            Shard.of(options["shard"])
        wait = options["wait"]
        timing = Timing.of(planner.is_step, **{name: options.pop(name) for name in _OF_TIMING})
        if has_labels and not timing.wait:
            raise InvalidInputError(f"must be longer than zero, got {wait!r}", argument="wait")
        for name in ("max_pending", "read_bytes", "commit_bytes"):
            options[name] = positive_integer(options[name], name=name)
        made = cls(planner=planner, timing=timing, rules=(), **options)
        return made.with_rules(alerts, made.false_alarms)

    def with_rules(self, alerts: Any, false_alarms: str) -> Self:
        """Replace the rules; without a plan, their metrics are checked once there is one."""
        rules = read_rules(alerts)
        if self.planner.empty is not None:
            Alerts(rules, self.planner.empty, false_alarms=false_alarms)
        return attrs.evolve(self, rules=rules, false_alarms=false_alarms)

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
