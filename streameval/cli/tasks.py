"""The tasks that can be evaluated: a new one is an entry in `TASKS`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import attrs

from streameval.calibration import CalibrationAccumulator
from streameval.cli import (
    binary,
    calibration,
    classification,
    curves,
    grouped,
    ranking,
    ranking_results,
    regression,
)
from streameval.cli.errors import UsageError
from streameval.cli.options import option_text
from streameval.confusion import ConfusionAccumulator
from streameval.curve import PRCurveSketch
from streameval.errors import InvalidInputError
from streameval.grouped import GroupedAUC
from streameval.ranking import RankingAccumulator
from streameval.regression import RegressionAccumulator

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from streameval.cli.gates import Gate, Measured
    from streameval.cli.options import Options
    from streameval.cli.plan import Plan

__all__ = ["TASKS", "Task", "task_asked_for", "task_of"]


@attrs.frozen(kw_only=True)
class Task:
    """What the command line has to know of one kind of evaluation.

    Parameters
    ----------
    accumulator : type
        What counts the rows.
    options : tuple of str
        The options it takes, of those that not every task does.
    plan : callable
        From the options and the first rows: which columns, which configuration.
    check : callable
        From a result, perhaps of no rows, and a gate: raises UsageError if there is no such
        metric.
    measure : callable
        From a result, a gate and a level: the metric and its interval.
    describe : callable
        From a result and a level: the entries of the JSON object.
    report : callable
        From a result and a level: a text table.
    pictures : mapping of str to callable
        The curves that can be drawn, the usual one first: each draws a result on axes.
    """

    accumulator: type[Any]
    options: tuple[str, ...]
    plan: Callable[[Options, Sequence[Mapping[str, Any]]], Plan]
    check: Callable[[Any, Gate], None]
    measure: Callable[[Any, Gate, float], Measured]
    describe: Callable[[Any, float], dict[str, Any]]
    report: Callable[[Any, float], str]
    pictures: Mapping[str, Callable[[Any, Any], Any]] = attrs.field(factory=dict)


TASKS = {
    "classification": Task(
        accumulator=ConfusionAccumulator,
        options=(
            *("label", "weight", "pred", "score", "classes", "multilabel"),
            *("threshold", "pos_label", "top_k", "ignore_label"),
        ),
        plan=classification.plan,
        check=classification.check,
        measure=classification.measure,
        describe=classification.describe,
        report=classification.report,
        pictures={"matrix": classification.draw},
    ),
    "regression": Task(
        accumulator=RegressionAccumulator,
        options=("label", "weight", "pred"),
        plan=regression.plan,
        check=regression.check,
        measure=regression.measure,
        describe=regression.describe,
        report=regression.report,
    ),
    "binary": Task(
        accumulator=PRCurveSketch,
        options=(
            *("label", "weight", "score", "classes", "multilabel", "pos_label"),
            *("budget", "scores", "nan", "group"),
        ),
        plan=binary.plan,
        check=curves.check,
        measure=curves.measure,
        describe=curves.describe,
        report=curves.report,
        pictures={kind: partial(curves.draw, kind=kind) for kind in curves.KINDS},
    ),
    "grouped": Task(
        accumulator=GroupedAUC,
        options=(
            *("label", "weight", "score", "budget", "scores"),
            *("group", "group_weight", "max_groups"),
        ),
        plan=grouped.plan,
        check=grouped.check,
        measure=grouped.measure,
        describe=grouped.describe,
        report=grouped.report,
    ),
    "calibration": Task(
        accumulator=CalibrationAccumulator,
        options=("label", "weight", "score", "classes", "bins"),
        plan=calibration.plan,
        check=calibration.check,
        measure=calibration.measure,
        describe=calibration.describe,
        report=calibration.report,
        pictures={"reliability": calibration.draw},
    ),
    "ranking": Task(
        accumulator=RankingAccumulator,
        options=ranking.OPTIONS,
        plan=ranking.plan,
        check=ranking_results.check,
        measure=ranking_results.measure,
        describe=ranking_results.describe,
        report=ranking_results.report,
    ),
}


def task_asked_for(options: Options) -> str:
    """Name the task; binary in groups is one of its own.

    Raises
    ------
    UsageError
        If an option was given that the task would ignore.
    """
    in_groups = options.task == "binary" and options.group is not None
    asked = "grouped" if in_groups else options.task
    for name in dict.fromkeys(option for task in TASKS.values() for option in task.options):
        if name not in TASKS[asked].options and getattr(options, name) is not None:
            others = ", ".join(task for task in TASKS if name in TASKS[task].options)
            raise UsageError(
                f"{option_text(name)} does not go with --task {asked}; it is for {others}."
            )
    return asked


def task_of(accumulator: Any) -> str:
    """Name the task that an accumulator belongs to."""
    names = [name for name, task in TASKS.items() if isinstance(accumulator, task.accumulator)]
    if not names:
        raise InvalidInputError(
            f"`state` holds a {type(accumulator).__name__}, which this version of the command "
            "line does not show. Python does: se.load(path).compute()."
        )
    return names[0]
