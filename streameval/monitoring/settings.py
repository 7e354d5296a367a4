"""What a monitor has been asked to do: its options, checked and read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Self
from zlib import crc32

import attrs
import numpy as np

from streameval.configs.options import positive_integer
from streameval.errors import InvalidInputError
from streameval.exact.array_types import Array, Mask
from streameval.inputs.durations import read_offset
from streameval.io.columns import Argument
from streameval.monitoring.alerts import Alerts
from streameval.monitoring.planning import Planner, planner_of, read_one
from streameval.monitoring.rules import AlertRule, read_rules
from streameval.runs.counting import RowShare

_NEEDED = ("key", "wait")
_OF_JOIN = (*_NEEDED, "settle", "unlabelled", "label_time", "shard")
"""The options about labels from a source of their own."""

_SHARD = re.compile(r"([0-9]{1,6})/([0-9]{1,6})")

_MICROSECONDS = 1_000_000
_PARTS_OF_WAIT = 16
_SPANS = ("wait", "settle", "out_of_order", "allowed_lateness")
_SIZES = ("max_pending", "read_bytes", "commit_bytes")
_KEPT = (
    *("key", "time", "label_time", "wait", "unlabelled", "settle", "shard"),
    *("out_of_order", "allowed_lateness"),
)
"""The options that a checkpoint holds, and which must not change."""


@attrs.frozen
class Shard:
    """The part of all ids that one of several monitors joins.

    Parameters
    ----------
    index : int
        The index of the monitor, from 0.
    count : int
        The number of monitors.
    """

    index: int
    count: int

    @classmethod
    def of(cls, text: Any) -> Self:
        """Read text such as ``"1/4"``, the first of four.

        Raises
        ------
        InvalidInputError
            If it has another form.
        """
        match = _SHARD.fullmatch(text) if isinstance(text, str) else None
        number, count = map(int, match.groups()) if match is not None else (0, 0)
        if not 1 <= number <= count:
            raise InvalidInputError(
                f'must be like "1/4", the first of four, got {text!r}', argument="shard"
            )
        return cls(number - 1, count)

    def has(self, ids: Sequence[str]) -> Mask:
        """Return which ids belong to it, by a hash that is the same everywhere."""
        hashes = (crc32(one.encode()) for one in ids)
        is_own: Mask = np.fromiter(hashes, np.int64, len(ids)) % self.count == self.index
        return is_own


def check_join(has_labels: bool, given: Mapping[str, Any]) -> None:
    """Refuse options of a join without labels, and labels without those that join them."""
    for name in _OF_JOIN:
        is_given = given[name] is not None and (name, given[name]) != ("unlabelled", "drop")
        if has_labels and not is_given and name in _NEEDED:
            raise InvalidInputError("is needed to join labels", argument=name)
        if not has_labels and is_given:
            raise InvalidInputError("cannot be used without labels", argument=name)
    if given["shard"] is not None:
        Shard.of(given["shard"])


def label_of(unlabelled: Any, truths: Sequence[Argument]) -> dict[str, Array] | None:
    """Read the label for predictions that get none; None leaves them unlabelled."""
    if unlabelled == "drop":
        return None
    found = {column.argument: read_one(column.field_type, unlabelled) for column in truths}
    if len(truths) > 1 or len(truths[0].names) > 1:
        raise InvalidInputError("cannot be one label: there are several", argument="unlabelled")
    ((name, label),) = found.items()
    if label is None:
        wanted = truths[0].field_type.fault(unlabelled)
        raise InvalidInputError(f"must be {wanted}, got {unlabelled!r}", argument="unlabelled")
    return {name: label}


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
    def of(cls, given: Mapping[str, Any], *, is_step: bool) -> Self:
        """Read durations, or numbers of steps.

        Parameters
        ----------
        given : mapping
            The arguments of a monitor; without a `wait` it is 0.
        is_step : bool
            Whether event time counts steps.

        Raises
        ------
        InvalidInputError
            If one is no duration, or is negative.
        """
        spans: dict[str, Any] = {
            name: None if given[name] is None else _length(given[name], name, is_step=is_step)
            for name in _SPANS
        }
        return cls(
            **(spans | {"wait": spans["wait"] or 0}),
            max_ahead=read_offset(given["max_ahead"], name="max_ahead"),
            idle_after={
                "predictions": _seconds(given["idle_after"], "idle_after"),
                "labels": _seconds(given["label_idle_after"], "label_idle_after"),
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
    """The options of a `Monitor`, which documents them: fields have the names of its arguments.

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
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Check the arguments of a monitor.

        Parameters
        ----------
        given : mapping
            Each by its name; those that are fields are kept.

        Raises
        ------
        InvalidInputError
            If an option breaks a rule; it names the option.
        """
        by_plan = ("accumulator", "time", "columns", "max_bad")
        planner = planner_of(*(given[name] for name in by_plan))
        has_labels = given["labels"] is not None
        check_join(has_labels, given)
        timing = Timing.of(given, is_step=planner.is_step)
        if has_labels and not timing.wait:
            raise InvalidInputError(
                f"must be longer than zero, got {given['wait']!r}", argument="wait"
            )
        kept = {name: given[name] for name in attrs.fields_dict(cls) if name in given}
        kept |= {name: positive_integer(given[name], name=name) for name in _SIZES}
        made = cls(planner=planner, timing=timing, rules=(), **kept)
        return made.with_rules(given["alerts"], made.false_alarms)

    def with_rules(self, alerts: Any, false_alarms: str) -> Self:
        """Replace the rules; without a plan, their metrics are checked once there is one."""
        rules = read_rules(alerts)
        if self.planner.empty is not None:
            Alerts(rules, self.planner.empty, false_alarms=false_alarms)
        return attrs.evolve(self, rules=rules, false_alarms=false_alarms)

    def to_json(self) -> dict[str, Any]:
        """Return the options that a checkpoint holds, and which must not change."""
        return {name: getattr(self.timing if name in _SPANS else self, name) for name in _KEPT}
