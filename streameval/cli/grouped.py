"""AUC within groups: from options and the first rows to a plan, from a result to gates and JSON."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from streameval.cli.binary import sketch_options
from streameval.cli.errors import UsageError
from streameval.cli.layout import check_one_column, lay_out, presence_kind, weight_columns
from streameval.cli.plan import Plan
from streameval.cli.readings import Metric, Reading, check_name, refuse_brackets
from streameval.grouped import GroupedAUC
from streameval.io import Column, Labels, Numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from streameval.cli.first_rows import Row
    from streameval.cli.options import Options
    from streameval.results.grouped import GroupedCurves

__all__ = ["HEADLINE", "check", "describe", "draw", "measure", "names", "plan", "report"]

HEADLINE = ("gauc", "coverage")

_NUMBERS = ("n", "n_groups", "n_averaged", "cells", "gauc", "coverage")


def plan(options: Options, rows: Sequence[Row]) -> Plan:
    """Choose the columns and the configuration.

    Raises
    ------
    UsageError
        If a column is not in the first row, or no group was named.
    InvalidInputError
        If the accumulator refuses the options.
    """
    if options.group is None:
        raise UsageError("--task grouped needs --group, the column of the group.")
    if options.budget == "none":
        raise UsageError("--budget none is for curves; groups share a number of cells.")
    check_one_column(options, "label", "score")
    layout = lay_out(options, rows, options.score or ("y_score",), of_scores=True)
    chosen = {"group_weight": options.group_weight, "max_groups": options.max_groups}
    given: dict[str, Any] = {name: value for name, value in chosen.items() if value is not None}
    make = partial(GroupedAUC, **given, **sketch_options(options))
    make()  # what it refuses is a mistake in the options, to be told once
    # Among identifiers of digits and letters are some of digits alone: those are text as well.
    groups = [row[options.group] for row in rows if row.get(options.group) is not None]
    integers = all(isinstance(group, (int, float)) and group == group // 1 for group in groups)
    columns = (
        Column("y_true", layout.label, presence_kind(layout, "0 and 1 are needed")),
        Column("y_score", layout.prediction, Numbers()),
        Column("group", (options.group,), Labels(integers, hint=" as the first groups are")),
        *weight_columns(options),
    )
    return Plan(make, columns, options.max_bad)


def names(result: GroupedCurves) -> list[str]:
    """List the metrics of a result."""
    return list(_numbers(result))


def check(result: GroupedCurves, metric: Metric) -> None:
    """Raise UsageError if the result has no such metric."""
    check_name(metric, names(result))
    refuse_brackets(metric)


def measure(
    result: GroupedCurves,
    metric: Metric,
    level: float,  # noqa: ARG001 - there are no sampling intervals
) -> Reading:
    """Read a metric.

    Raises
    ------
    UsageError
        If the result has no such metric.
    """
    check(result, metric)
    return Reading(_numbers(result)[metric.name])


def describe(result: GroupedCurves, level: float) -> dict[str, Any]:
    """Give the entries of the JSON object; groups may be too many for it."""
    gauc = result.gauc
    return {
        "n": result.n,
        "metrics": _numbers(result),
        "bounds": {"gauc": (gauc.low, gauc.high)},
        "exact": result.exact,
        "intervals": {},
        "level": level,
    }


def report(result: GroupedCurves, level: float) -> str:  # noqa: ARG001 - there are no intervals
    """Lay the metrics out as a text table."""
    return result.report()


def draw(result: GroupedCurves, ax: Axes, label: str | None) -> None:
    """Draw how the AUCs of the groups are spread."""
    result.plot(ax, label=label)


def _numbers(result: GroupedCurves) -> dict[str, Any]:
    return {name: getattr(result, name) for name in _NUMBERS}
