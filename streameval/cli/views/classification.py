"""What classifications say: metrics, gates and JSON."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from streameval.cli.errors import UsageError, nearest
from streameval.cli.views import meanings
from streameval.cli.views.readings import Metric, Reading, check_name, refuse_brackets
from streameval.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.axes import Axes

    from streameval.results.confusion import Confusion

__all__ = [
    "HEADLINE",
    "check",
    "describe",
    "draw",
    "meaning",
    "measure",
    "names",
    "report",
    "scope",
]

HEADLINE = ("accuracy", "f_score")

_AVERAGES = ("macro", "micro", "weighted")
_AVERAGED = ("precision", "recall", "specificity", "f_score", "jaccard")
_PER_CLASS = ("precision", "recall", "f_score")
_NO_INTERVAL = "fractional weights and empty classes have none"


def names(result: Confusion) -> list[str]:
    """List the metrics of a result."""
    return list(result.as_dict())


def check(result: Confusion, metric: Metric) -> None:
    """Raise UsageError if the result has no such metric; classes may still be met later."""
    check_name(metric, names(result))
    if not callable(getattr(result, metric.name)):
        refuse_brackets(metric)
    classes, of = list(map(str, result.labels)), metric.of
    if of is not None and classes and of not in (*_AVERAGES, *classes):
        raise UsageError(f"no class {of!r}: {nearest(of, [*classes, *_AVERAGES])}")


def measure(result: Confusion, metric: Metric, level: float) -> Reading:
    """Read a metric with its sampling interval; a count is its own.

    Raises
    ------
    UsageError
        If the result has no such metric or class.
    """
    check(result, metric)
    name, of = metric.name, metric.of
    if name not in result.metric_names:
        return Reading(result.as_dict()[name])
    why_none = _NO_INTERVAL if level else ""
    if of is None:
        return Reading(result.value(name), _interval(result, name, level), why_none)
    if of in _AVERAGES:
        value = result.value(name, average=of)
        return Reading(value, _interval(result, name, level, average=of), why_none)
    classes = list(map(str, result.labels))
    if of not in classes:  # none has been met yet
        return Reading(math.nan)
    k = classes.index(of)
    value = result.value(name, average=None)[k].item()
    return Reading(value, _interval(result, name, level, k, average=None), why_none)


def scope(result: Confusion, metrics: Iterable[Metric]) -> str:
    """Say what those metrics are of that have averages, where none was chosen."""
    left_open = any(metric.of is None and metric.name in _AVERAGED for metric in metrics)
    return result.scope if left_open else ""


def describe(result: Confusion, level: float) -> dict[str, Any]:
    """Give the entries of the JSON object."""
    intervals = {name: _interval(result, name, level) for name in result.metric_names}
    return {
        "n": result.n,
        "metrics": result.as_dict(),
        "intervals": {name: ends for name, ends in intervals.items() if ends is not None},
        "level": level,
        "scope": result.scope,
        "classes": list(result.labels),
        "matrix": result.matrix.tolist(),
        "per_class": _per_class(result),
    }


def report(result: Confusion, level: float) -> str:
    """Lay the metrics out as a text table."""
    return result.report(level=level)


def draw(result: Confusion, ax: Axes, label: str | None) -> None:
    """Draw the matrix.

    Raises
    ------
    UsageError
        If it is one of several.
    """
    if label is not None:
        raise UsageError("a matrix shows one state: draw each in a picture of its own.")
    result.plot(ax)


def meaning(result: Confusion, name: str) -> str:
    """Say what a metric means, and how it is averaged where there are several classes."""
    said = meanings.meaning(result, name)
    method = getattr(type(result), name)
    if not callable(method) or "n_averaged" not in result.as_dict():
        return said
    return f"{said} Here macro: {meanings.choice(type(result).precision, 'average', 'macro')}."


def _per_class(result: Confusion) -> dict[str, dict[str, float]]:
    columns = {name: result.value(name, average=None).tolist() for name in _PER_CLASS}
    matrix = result.matrix
    # Rows are truth; the table of a label of several has the row of its presence.
    support = matrix.sum(axis=1) if matrix.ndim == 2 else matrix[:, 1].sum(axis=1)
    columns["support"] = support.tolist()
    rows = [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]
    return dict(zip(map(str, result.labels), rows, strict=True))


def _interval(
    result: Confusion, name: str, level: float, k: int | None = None, **options: Any
) -> tuple[float, float] | None:
    """Give the sampling interval, of class `k` if one is meant.

    None if there is none: weights had fractions, no row could be drawn, or the level is 0.
    """
    if not level:
        return None
    try:
        ends: Any = result.confidence(name, level=level, **options)
    except InvalidInputError:
        return None
    low, high = ends if k is None else (end[k].item() for end in ends)
    return None if math.isnan(low) else (low, high)
