"""What calibrations say: metrics, gates and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streameval.cli.views.readings import Metric, Reading, check_name, refuse_brackets

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from streameval.results.calibration import Calibration

__all__ = ["HEADLINE", "check", "describe", "draw", "measure", "names", "report"]

HEADLINE = ("log_loss", "pcopc", "ece")

_COUNTS = ("n", "n_clipped")
_PER_CLASS = ("pcopc", "mean_prediction", "mean_label")
_CURVE = ("mean_prediction", "mean_label", "weight")


def names(result: Calibration) -> list[str]:
    """List the metrics of a result."""
    return list(result.as_dict())


def check(result: Calibration, metric: Metric) -> None:
    """Raise UsageError if the result has no such metric."""
    check_name(metric, names(result))
    refuse_brackets(metric)


def measure(result: Calibration, metric: Metric, level: float) -> Reading:
    """Read a metric; only a count is its own interval.

    Raises
    ------
    UsageError
        If the result has no such metric.
    """
    check(result, metric)
    number = result.as_dict()[metric.name]
    needs_none = metric.name in _COUNTS or level == 0
    return Reading(number, why_none="" if needs_none else "metrics of calibration have none")


def describe(result: Calibration, level: float) -> dict[str, Any]:
    """Give the entries of the JSON object."""
    curve = zip(_CURVE, result.reliability_curve(), strict=True)
    entries = {
        "n": result.n,
        "metrics": result.as_dict(),
        "intervals": {},
        "level": level,
        "reliability": {name: array.tolist() for name, array in curve},
    }
    return entries | _of_classes(result) if result.labels else entries


def report(result: Calibration, level: float) -> str:  # noqa: ARG001 - there are no intervals
    """Lay the metrics out as a text table."""
    return result.report()


def draw(result: Calibration, ax: Axes, label: str | None) -> None:
    """Draw the reliability diagram."""
    result.plot(ax, label=label)


def _of_classes(result: Calibration) -> dict[str, Any]:
    columns = [list(getattr(result, name)) for name in _PER_CLASS]
    rows = [dict(zip(_PER_CLASS, values, strict=True)) for values in zip(*columns, strict=True)]
    names = map(str, result.labels)
    return {"classes": list(result.labels), "per_class": dict(zip(names, rows, strict=True))}
