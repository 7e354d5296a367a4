"""What the command line reads from a confusion result: gates and JSON."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from streameval.cli.errors import UsageError, nearest
from streameval.cli.gates import Gate, Measured
from streameval.errors import InvalidInputError

if TYPE_CHECKING:
    from streameval.results.confusion import Confusion

__all__ = ["check", "describe", "measure"]

_AVERAGES = ("macro", "micro", "weighted")
_PER_CLASS = ("precision", "recall", "f_score")


def check(result: Confusion, gate: Gate) -> None:
    """Raise UsageError if the result has no such metric; classes may still be met later."""
    known = result.as_dict()
    if gate.metric not in known:
        raise UsageError(f"no metric {gate.metric!r}: {nearest(gate.metric, known)}")
    if gate.of is None:
        return
    if not callable(getattr(result, gate.metric)):
        raise UsageError(f"{gate.text!r}: {gate.metric} has no averages and no classes.")
    classes = list(map(str, result.labels))
    if classes and gate.of not in (*_AVERAGES, *classes):
        raise UsageError(f"no class {gate.of!r}: {nearest(gate.of, [*classes, *_AVERAGES])}")


def measure(result: Confusion, gate: Gate, level: float) -> Measured:
    """Compute the metric of a gate; a count is its own interval.

    Raises
    ------
    UsageError
        If the result has no such metric or class.
    """
    check(result, gate)
    name = gate.metric
    if name not in result.metric_names:
        number = result.as_dict()[name]
        return Measured(number, (number, number))
    if gate.of is None:
        return Measured(result.value(name), _interval(result, name, level))
    if gate.of in _AVERAGES:
        value = result.value(name, average=gate.of)
        return Measured(value, _interval(result, name, level, average=gate.of))
    k = list(map(str, result.labels)).index(gate.of)
    value = result.value(name, average=None)[k].item()
    return Measured(value, _interval(result, name, level, k, average=None))


def describe(result: Confusion, level: float) -> dict[str, Any]:
    """Give the entries of the JSON object."""
    intervals = {name: _interval(result, name, level) for name in result.metric_names}
    return {
        "n": result.n,
        "metrics": result.as_dict(),
        "intervals": {name: ends for name, ends in intervals.items() if ends is not None},
        "level": level,
        "classes": list(result.labels),
        "matrix": result.matrix.tolist(),
        "per_class": _per_class(result),
    }


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

    None if there is none: weights had fractions, or no row could be drawn.
    """
    try:
        ends: Any = result.confidence(name, level=level, **options)
    except InvalidInputError:
        return None
    low, high = ends if k is None else (end[k].item() for end in ends)
    return None if math.isnan(low) else (low, high)
