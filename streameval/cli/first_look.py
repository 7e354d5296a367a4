"""`streameval watch --init`: a file of configuration, made from the first rows of a log."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from streameval.errors import BadDataError, StreamevalError
from streameval.inputs.times import read_time
from streameval.results.tables import Columns

if TYPE_CHECKING:
    from streameval.monitoring.sources import Source

_MAX_ROWS, _MAX_NAMED = 100, 10
_PLAIN = re.compile(r"\w[\w.-]*")
_BYTES = 2**20
_TRUTHS = ("y_true", "label", "target", "truth", "actual", "clicked", "click", "converted")
_PREDICTIONS = ("y_pred", "prediction", "predicted", "pred")
_SCORES = ("y_score", "score", "probability", "prob", "y_prob", "p_click", "p")
_TIMES = ("time", "ts", "timestamp", "event_time", "datetime", "created_at", "date")
_IDS = ("id", "request_id", "prediction_id", "event_id", "uuid", "key")
_UNITS = {"s": 1e8, "ms": 1e11, "us": 1e14, "ns": 1e17}
"""The units of numeric times, and what numbers of a unit exceed since 1973."""
_HEADLINES = {"binary": "roc_auc", "regression": "r2"}
_TEMPLATE = """\
# Run it:       streameval watch --config FILE
# Rehearse it:  streameval watch --config FILE --check
# Keys are the options of `streameval watch --help-all`. What is typed wins.
# Columns of the first rows: {columns}

files = {files}
task = {task}
{truth}
{prediction}

# Event time: each pane has a result of its own.
{time}
{unit}pane = "1h"
keep = "30d"

# Labels that arrive later, in files of their own.
{join}

# One result for each value of a column; named ones have rules of their own.
# by = {by}

# What raises an alert, and who is told.
{alerts}
# on_alert = ["https://alerts.example.org/hook"]

# A live page, /metrics for Prometheus, /healthz and /readyz.
# serve = "127.0.0.1:8765"

# Where a restart continues.
checkpoint = "monitor.db"
"""


def first_config(
    alerts: Sequence[Any],
    log: tuple[Sequence[str], Source],
    labels: tuple[Sequence[str], Source] | None = None,
) -> str:
    """Write a file of configuration for the files of a log, and those of its labels, if others.

    What the first rows show is set, as `alerts` are, and what they leave open stands in comments.

    Raises
    ------
    BadDataError
        If there are no rows yet.
    """
    files, source = log
    columns = _first_columns(source)
    labelled = columns if labels is None else _first_columns(labels[1])
    truth = _named(labelled, _TRUTHS)
    prediction, score = _named(columns, _PREDICTIONS), _named(columns, _SCORES)
    moment, unit = _time_of(columns)
    task = _task({**columns, **labelled}, truth, prediction, score)
    is_scored = task == "binary" or prediction is None
    predicted = ("y_score", score) if is_scored else ("y_pred", prediction)
    in_both = {name: values for name, values in columns.items() if name in labelled}
    groups = [name for name in columns if name not in (truth, prediction)]
    group = next((name for name in groups if _is_group(columns[name])), None)
    return _TEMPLATE.format(
        columns=", ".join(map(_quoted, columns)),
        files=_toml(list(files)),
        task=_quoted(task),
        truth=_line("y_true", truth, "the column of the truth"),
        prediction=_line(*predicted, "the column of predictions"),
        time=_line("time", moment, "the column of the event time"),
        unit="" if unit is None else f"unit = {_quoted(unit)}\n",
        join=_join(labels and labels[0], _named(in_both, _IDS)),
        by=_toml(["country=DE,FR" if group is None else _slices(group, columns[group])]),
        alerts=_alerts(alerts, f"{_HEADLINES.get(task, 'accuracy')} < 0.8"),
    )


def _alerts(alerts: Sequence[Any], example: str) -> str:
    """Set the alerts, or propose some in a comment."""
    if not alerts:
        return f"# alerts = {_toml([example, 'no data for 1h'])}"
    return f"alerts = [{', '.join(map(_rule, alerts))}]"


def _rule(alert: Any) -> str:
    """Write a rule, or a table of a rule with its name, severity, labels and links."""
    if isinstance(alert, Mapping):
        pairs = (f"{_quoted(key)} = {_rule(value)}" for key, value in alert.items())
        return f"{{ {', '.join(pairs)} }}"
    return _quoted(str(alert))


def _join(labels: Sequence[str] | None, key: str | None) -> str:
    """Set how labels are joined, or propose it in comments."""
    if labels is not None:
        return f'labels = {_toml(labels)}\n{_line("key", key, "the column of ids")}\nwait = "1d"'
    return f'# labels = ["labels-*.jsonl"]\n# key = {_quoted(key or "id")}\n# wait = "1d"'


def _first_columns(source: Source) -> Columns:
    source.seek(None)
    chunk = source.read(_BYTES)
    rows: Iterable[Mapping[Any, Any]] = () if chunk is None else chunk.block.rows()
    columns: Columns = {}
    for _, row in zip(range(_MAX_ROWS), rows, strict=False):
        for name, value in row.items():
            columns.setdefault(str(name), []).extend([] if value is None else [value])
    if not columns:
        raise BadDataError(f"{source.name}: there are no rows to look at; does it exist?")
    return columns


def _named(columns: Columns, known: Sequence[str]) -> str | None:
    """Find the column with the first of the known names."""
    by_name = {name.lower(): name for name in columns}
    return next((by_name[name] for name in known if name in by_name), None)


def _time_of(columns: Columns) -> tuple[str | None, str | None]:
    """Find the column of times, and the unit if they are numbers."""
    named = _named(columns, _TIMES)
    for name in [*([named] if named else []), *columns]:
        values = columns[name]
        numbers = [_number(value) for value in values]
        if values and name == named and None not in numbers:
            smallest = min(number for number in numbers if number is not None)
            units = [unit for unit, size in _UNITS.items() if smallest >= size]
            return name, units[-1] if units else None
        if values and all(map(_is_time, values)):
            return name, None
    return None, None


def _is_time(value: Any) -> bool:
    """Whether it is a moment: a date and time, as text or as an object."""
    if isinstance(value, str) and not ("-" in value and len(value) >= len("2026-01-01")):
        return False
    try:
        read_time(value, unit=None, name="time", warns=False)
    except StreamevalError:
        return False
    return True


def _task(columns: Columns, truth: str | None, prediction: str | None, score: str | None) -> str:
    """Tell the task by the truth and by what is predicted."""
    truths = [_number(value) for value in columns.get(truth or "", ())]
    predictions = [_number(value) for value in columns.get(prediction or "", ())]
    if {*truths} <= {0.0, 1.0}:
        return "classification" if score is None else "binary"
    numbers = [number for number in truths + predictions if number is not None]
    are_all = len(numbers) == len(truths) + len(predictions)
    return "regression" if are_all and any(one % 1 for one in numbers) else "classification"


def _number(value: Any) -> float | None:
    """Read a number, also where it is text as in CSV."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _is_group(values: Sequence[Any]) -> bool:
    """Whether all values are texts, each of which comes twice on average."""
    are_texts = all(isinstance(value, str) and _number(value) is None for value in values)
    return are_texts and not any(map(_is_time, values)) and 0 < 2 * len({*values}) <= len(values)


def _slices(column: str, values: Sequence[str]) -> str:
    """Name the most frequent values of a column, unless they need quotes."""
    named = [value for value, _ in Counter(values).most_common(_MAX_NAMED)]
    plain = all(_PLAIN.fullmatch(value) for value in named)
    return f"{column}={','.join(sorted(named))}" if plain else column


def _line(key: str, column: str | None, meaning: str) -> str:
    """Set a key to a column, or leave it open in a comment."""
    return f"# {key} = ...  # {meaning}" if column is None else f"{key} = {_quoted(column)}"


def _toml(texts: Sequence[str]) -> str:
    return f"[{', '.join(map(_quoted, texts))}]"


def _quoted(text: str) -> str:
    """Write a string as JSON does, which TOML reads but for one control character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
