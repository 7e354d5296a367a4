"""The options of a `Monitor`, declared once; the command line reads them here, too."""

from __future__ import annotations

import os
import re
from functools import partial
from typing import Annotated, Any

import attrs

from streameval.configs.options import PositiveInt, option, positive_integer
from streameval.errors import InvalidInputError
from streameval.inputs.durations import read_offset

_SHARD = re.compile(r"([0-9]{1,6})/([0-9]{1,6})")


def _one_of_types(value: Any, types: Any, what: str, *, name: str) -> Any:
    if not isinstance(value, types):
        raise InvalidInputError(f"must be {what}, got {value!r}", argument=name)
    return value


_column = partial(_one_of_types, types=str, what="the name of a column")
_label = partial(_one_of_types, types=str | int | float | list | tuple | None, what="a label")
_LARGEST_READ = 2**30


def checked_path(value: Any, *, name: str) -> Any:
    """Accept text, or another path, that may name a file."""
    try:
        is_path = not isinstance(value, bytes) and b"\0" not in os.fsencode(value)
    except (TypeError, UnicodeEncodeError):
        is_path = False
    if not is_path:
        raise InvalidInputError(f"must be a path, got {value!r}", argument=name)
    return value


def _read_size(value: Any, *, name: str) -> int:
    number = positive_integer(value, name=name)
    if number > _LARGEST_READ:
        raise InvalidInputError(f"must be at most {_LARGEST_READ:,}, got {value!r}", argument=name)
    return number


def _shard(value: Any, *, name: str) -> str:
    """Accept text such as ``"1/4"``, the first of four."""
    match = _SHARD.fullmatch(value) if isinstance(value, str) else None
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise InvalidInputError(
            f'must be like "1/4", the first of four, got {value!r}', argument=name
        )
    return match[0]


def _seconds(value: Any, *, name: str) -> float:
    return read_offset(value, name=name) / 1e6


_Column = Annotated[str, _column]
_Seconds = Annotated[Any, _seconds]


@attrs.frozen(kw_only=True)
class MonitorOptions:
    """What a monitor has been asked to do, besides its sources and its accumulator.

    Once they are read, spans of event time are microseconds, or steps, and others are seconds.
    """

    key: _Column | None = option(
        "The column that joins a prediction and its label.",
        default=None,
    )
    time: _Column = option("The column of the event time.")
    label_time: _Column | None = option(
        "The time column of labels, by default `time`.",
        default=None,
        help="the time of a label, default that of --time",
    )
    wait: Any = option(
        "How long a prediction waits for its label, in the event time of both sources.",
        default=None,
        help="how long a prediction waits for its label",
    )
    unlabelled: Annotated[Any, _label] = option(
        "The label of a prediction whose label does not arrive.",
        default="drop",
        help="the label of a prediction that gets none; drop counts it as unlabelled",
    )
    settle: Any = option(
        "How long a label can be corrected before it counts; the last one within that time counts.",
        default=None,
        help="how long a label can be corrected; the last one counts",
    )
    shard: Annotated[str, _shard] | None = option(
        '``"1/4"`` joins the first of four parts of all ids, which are divided by a hash.',
        default=None,
        help="join one of N parts of all ids, such as 1/4, each with its own checkpoint",
    )
    out_of_order: Any = option(
        "How much older a row may be than the newest earlier row.",
        default="0s",
        help="how far back in time a row may be",
    )
    allowed_lateness: Any = option(
        "How long a pane stays open after the watermark passes its end.",
        default="0s",
        help="how long a pane stays open after its end",
    )
    max_ahead: Annotated[Any, read_offset] = option(
        "How far event time may be ahead of the clock.",
        default="1h",
        help="rows further in the future are bad",
    )
    max_pending: PositiveInt = option(
        "The max number of waiting predictions; beyond it, no more are read.",
        default=10_000_000,
        help="stop reading while this many predictions are pending",
    )
    max_bad: Any = option(
        "The number of bad rows that are tolerated over the life of the checkpoint, or their share "
        "of the newest rows, at least 10,000",
        default=0,
    )
    idle_after: _Seconds | None = option(
        "How long a partition without new rows delays the others",
        default="5m",
        help="when a silent file no longer holds the others back",
    )
    label_idle_after: _Seconds | None = option(
        "How long a partition without new rows delays the others",
        default=None,
        help="when a silent file of labels no longer holds the others back, default never",
    )
    alerts: Any = option(
        "When to raise an alarm: rules, or tables with a ``rule`` and its ``name``, ``severity``, "
        "``labels`` and ``links``, which events repeat.",
        default=(),
        help="alert on a rule such as 'recall[1] < 0.8', or a table of rule, name, severity, "
        "labels and links",
    )
    false_alarms: str = option(
        "How often all alerts without a clause may raise a false alarm together.",
        default="1 per 30d",
        help="the false alarms of all alerts together",
    )
    on_alert: Any = option(
        "A command line, started without a shell, that gets each event as JSON on standard input; "
        "the URL of a webhook; or a function.",
        default=(),
        help="run a command, post to a URL, or a table of to, format, key, severity, rules, "
        "slices, resolved and heartbeat",
    )
    quarantine: Annotated[Any, checked_path] | None = option(
        "A file that gets a JSON line for each row that is not counted: bad rows, late labels and "
        "labels without a prediction.",
        default=None,
        help="append a JSON line for each bad row, late label and label without a prediction; at "
        "most 32 MiB, and as much in FILE.1",
    )
    read_bytes: Annotated[int, _read_size] = option(
        "The bytes to read at a time, and to count in one commit.", default=2**20
    )
    commit_bytes: PositiveInt = option(
        "The bytes to read at a time, and to count in one commit.",
        default=2**25,
        help="read at most this many bytes per commit",
    )
    migrate: bool = option(
        "Whether to take up a checkpoint of other options if it is the one that counting with them "
        "would have made",
        default=False,
        help="continue a checkpoint of other slices or lateness, if it holds what they need",
    )
