"""What the command line reads from curves, one or one for each class: metrics and JSON."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from streameval.cli.errors import UsageError, nearest
from streameval.cli.views import meanings
from streameval.cli.views.readings import Metric, Reading, check_name, refuse_brackets
from streameval.errors import InvalidInputError
from streameval.metrics.bounded import Bounded
from streameval.results.class_curves import ClassCurves

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from streameval.results.curve import Curve

__all__ = [
    "HEADLINE",
    "KINDS",
    "check",
    "describe",
    "draw",
    "every",
    "meaning",
    "measure",
    "names",
    "report",
]

HEADLINE = ("roc_auc", "average_precision", "roc_auc_macro", "average_precision_macro")

KINDS = ("pr", "roc", "det", "reliability", "score")

_COUNTS = ("n", "n_pos", "n_neg", "n_skipped", "cells")
_CLASS_COUNTS = ("n", "n_averaged")
_AVERAGES = ("macro", "micro", "weighted")
_AVERAGED = ("roc_auc", "average_precision")
_WITH_ARGUMENT = (
    *("partial_roc_auc", "precision_at", "recall_at", "f_at"),
    *("recall_at_precision", "precision_at_recall", "threshold_at_precision"),
)
_CALL = re.compile(rf"({'|'.join(_WITH_ARGUMENT)})\(([^()]+)\)")
_SAMPLED_AT = ("precision_at", "recall_at")
_NO_INTERVAL = "an AUC of 0 or 1, a class of fewer than two and fractional weights have none"


def names(result: Curve | ClassCurves) -> list[str]:
    """List the metrics of a result."""
    return list(_numbers(result))


def check(result: Curve | ClassCurves, metric: Metric) -> None:
    """Raise UsageError if the result has no such metric, average or class."""
    of = metric.of
    if of is None or not isinstance(result, ClassCurves):
        _check_number(result, metric)
        refuse_brackets(metric)
    elif of in _AVERAGES:
        check_name(metric, _AVERAGED)
    else:
        classes = _by_name(result)
        if of not in classes:
            raise UsageError(f"no class {of!r}: {nearest(of, [*classes, *_AVERAGES])}")
        _check_number(classes[of], metric)


def measure(result: Curve | ClassCurves, metric: Metric, level: float) -> Reading:
    """Read a metric with its sampling interval, if it is a ROC AUC and the level is not 0.

    Raises
    ------
    UsageError
        If the result has no such metric, average or class, or the argument of a metric, as in
        ``recall_at(0.5)``, lies outside its range.
    """
    check(result, metric)
    if metric.of in _AVERAGES:
        return measure(result, Metric(f"{metric.name}_{metric.of}"), level)
    source = result if metric.of is None else _by_name(result)[metric.of]
    call = _CALL.fullmatch(metric.name)
    if call is not None:
        return _called(source, call[1], float(call[2]), level)
    number = _numbers(source)[metric.name]
    if metric.name == "roc_auc" and level > 0:
        return Reading(number, _sampling(source, level, "roc_auc"), _NO_INTERVAL)
    return Reading(number)


def every(result: Curve | ClassCurves, level: float) -> dict[str, Reading]:
    """Read every metric, each computed once."""
    found = {name: Reading(number) for name, number in _numbers(result).items()}
    if "roc_auc" in found and level > 0:
        sampling = _sampling(result, level, "roc_auc")
        found["roc_auc"] = Reading(found["roc_auc"].value, sampling, _NO_INTERVAL)
    return found


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


def draw(result: Any, ax: Axes, label: str | None, kind: str) -> None:
    """Draw one kind of curve.

    Raises
    ------
    UsageError
        If curves of several classes are among several.
    """
    if label is None:
        result.plot(ax, kind=kind)
    elif isinstance(result, ClassCurves):
        raise UsageError("curves of classes show one state: draw each in a picture of its own.")
    else:
        result.plot(ax, kind=kind, label=label)


def meaning(result: Curve | ClassCurves, name: str) -> str:
    """Say what a metric means; the best F and its threshold are described together."""
    if isinstance(result, ClassCurves) and name not in _CLASS_COUNTS:
        base, _, average = name.rpartition("_")
        mean, _, _ = meanings.choice(ClassCurves.roc_auc, "average", average).partition(", that")
        return f"{meanings.summary(getattr(ClassCurves, base))} {average.capitalize()}: {mean}."
    return meanings.meaning(result, name.removesuffix("_threshold"))


def _check_number(source: Curve | ClassCurves, metric: Metric) -> None:
    """Raise UsageError if there is no such number; one at a threshold has an argument."""
    call = _CALL.fullmatch(metric.name)
    if call is None or isinstance(source, ClassCurves):
        known = _numbers(source)
        more = () if isinstance(source, ClassCurves) else (f"{name}(x)" for name in _WITH_ARGUMENT)
        check_name(metric, [*known, *more] if metric.name not in known else known)
        return
    try:
        float(call[2])
    except ValueError:
        raise UsageError(f"{metric.name!r}: {call[2]!r} is no number.") from None


def _called(source: Any, name: str, argument: float, level: float) -> Reading:
    """Read a metric that takes an argument."""
    try:
        number = getattr(source, name)(argument)
    except InvalidInputError as error:  # in the words of the metric, which no option has
        raise UsageError(f"{name}({argument:g}): {error}") from None
    if name in _SAMPLED_AT and level > 0:
        return Reading(number, _sampling(source, level, name, argument), _NO_INTERVAL)
    return Reading(number)


def _entries(source: Curve | ClassCurves, level: float) -> dict[str, Any]:
    numbers, interval = _numbers(source), _sampling(source, level, "roc_auc")
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


def _sampling(
    source: Curve | ClassCurves, level: float, *metric: Any
) -> tuple[float, float] | None:
    """Give the sampling interval of a metric of one curve; None if there is none."""
    if isinstance(source, ClassCurves):
        return None
    try:
        low, high = source.confidence(*metric, level=level)
    except InvalidInputError:
        return None
    return None if math.isnan(low) else (low, high)
