"""What the command line reads from curves, one or one for each class: gates and JSON."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from streameval.cli.errors import UsageError, nearest
from streameval.cli.gates import Gate, Measured, certified, check_metric, refuse_brackets
from streameval.errors import InvalidInputError
from streameval.metrics.bounded import Bounded
from streameval.results.class_curves import ClassCurves

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from streameval.results.curve import Curve

__all__ = ["KINDS", "check", "describe", "draw", "measure", "report"]

KINDS = ("pr", "roc", "det", "reliability", "score")

_COUNTS = ("n", "n_pos", "n_neg", "n_skipped", "cells")
_CLASS_COUNTS = ("n", "n_averaged")
_AVERAGES = ("macro", "micro", "weighted")
_AVERAGED = ("roc_auc", "average_precision")
_NO_INTERVAL = "an AUC of 0 or 1, a class of fewer than two and fractional weights have none"


def check(result: Curve | ClassCurves, gate: Gate) -> None:
    """Raise UsageError if the result has no such metric, average or class."""
    if gate.of is None or not isinstance(result, ClassCurves):
        check_metric(gate, _numbers(result))
        refuse_brackets(gate)
    elif gate.of in _AVERAGES:
        check_metric(gate, _AVERAGED)
    else:
        classes = _by_name(result)
        if gate.of not in classes:
            raise UsageError(f"no class {gate.of!r}: {nearest(gate.of, [*classes, *_AVERAGES])}")
        check_metric(gate, _numbers(classes[gate.of]))


def measure(result: Curve | ClassCurves, gate: Gate, level: float) -> Measured:
    """Compute the metric of a gate, and the interval that decides.

    That is the sampling interval of a ROC AUC, unless the level is 0; of every other metric the
    certified one; and a count is its own.

    Raises
    ------
    UsageError
        If the result has no such metric, average or class.
    """
    check(result, gate)
    name, source = gate.metric, result
    if gate.of in _AVERAGES:
        name = f"{name}_{gate.of}"
    elif gate.of is not None:
        source = _by_name(result)[gate.of]
    number = _numbers(source)[name]
    if name == "roc_auc" and level > 0:
        return Measured(number, _sampling(source, level), _NO_INTERVAL)
    return certified(number)


def describe(result: Curve | ClassCurves, level: float) -> dict[str, Any]:
    """Give the entries of the JSON object."""
    entries = {"n": result.n, **_entries(result, level), "level": level}
    if isinstance(result, ClassCurves):
        entries["classes"] = list(result.labels)
        entries["per_class"] = {
            name: _entries(curve, level) for name, curve in _by_name(result).items()
        }
    return entries


def report(result: Curve | ClassCurves, level: float) -> str:
    """Lay the metrics out as a text table."""
    return result.report() if isinstance(result, ClassCurves) else result.report(level=level)


def draw(result: Any, ax: Axes, kind: str) -> None:
    """Draw one kind of curve."""
    result.plot(ax, kind=kind)


def _entries(source: Curve | ClassCurves, level: float) -> dict[str, Any]:
    numbers, interval = _numbers(source), _sampling(source, level)
    return {
        "metrics": numbers,
        "bounds": {
            name: (number.low, number.high)
            for name, number in numbers.items()
            if isinstance(number, Bounded)
        },
        "exact": source.exact,
        "intervals": {} if interval is None else {"roc_auc": interval},
    }


def _numbers(source: Curve | ClassCurves) -> dict[str, Any]:
    """Give the counts, and the metrics with their certified intervals."""
    counts = _CLASS_COUNTS if isinstance(source, ClassCurves) else _COUNTS
    return {name: getattr(source, name) for name in counts} | source.metrics()


def _by_name(result: Any) -> dict[str, Curve]:
    """Give the curves by the text of their label."""
    return {str(label): curve for label, curve in result.items()}


def _sampling(source: Curve | ClassCurves, level: float) -> tuple[float, float] | None:
    """Give the sampling interval of the ROC AUC of one curve; None if there is none."""
    if isinstance(source, ClassCurves):
        return None
    try:
        low, high = source.confidence("roc_auc", level=level)
    except InvalidInputError:
        return None
    return None if math.isnan(low) else (low, high)
