"""The tasks that `eval` knows: each plans which columns to read, and what counts them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from streameval.cli.errors import UsageError
from streameval.cli.options import option_text
from streameval.cli.tasks import classification, curves, paired, ranking, regression

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from streameval.cli.options import Options
    from streameval.runs.counting import Plan

__all__ = ["TASKS", "Task", "task_asked_for"]


@attrs.frozen(kw_only=True)
class Task:
    """How the rows of files are counted for one task.

    Parameters
    ----------
    options : tuple of str
        The options it takes, of those that not every task does.
    plan : callable
        From the options and the first rows: which columns, which configuration.
    """

    options: tuple[str, ...]
    plan: Callable[[Options, Sequence[Mapping[str, Any]]], Plan]


TASKS = {
    "classification": Task(
        options=(
            *("label", "weight", "pred", "score", "classes", "multilabel"),
            *("threshold", "scores", "pos_label", "top_k", "ignore_label", "measures", "versus"),
        ),
        plan=classification.plan,
    ),
    "paired": Task(
        options=(
            *("label", "weight", "pred", "score", "versus", "classes", "multilabel"),
            *("threshold", "scores", "pos_label", "ignore_label", "measures", "budget"),
        ),
        plan=paired.plan,
    ),
    "regression": Task(
        options=("label", "weight", "pred", "measures", "budget", "intervals", "versus"),
        plan=regression.plan,
    ),
    "binary": Task(
        options=(
            *("label", "weight", "score", "classes", "multilabel", "pos_label"),
            *("budget", "scores", "nan", "ignore_label", "measures", "group"),
        ),
        plan=curves.plan_of_curve,
    ),
    "grouped": Task(
        options=(
            *("label", "weight", "score", "budget", "scores"),
            *("group", "group_weight", "max_groups"),
        ),
        plan=curves.plan_of_groups,
    ),
    "calibration": Task(
        options=("label", "weight", "score", "classes", "bins", "intervals"),
        plan=curves.plan_of_calibration,
    ),
    "ranking": Task(options=ranking.OPTIONS, plan=ranking.plan),
}


def task_asked_for(options: Options) -> str:
    """Name the task; binary labels in groups, and two models, are tasks of their own.

    Raises
    ------
    UsageError
        If an option was given that the task would ignore.
    """
    in_groups = options.task == "binary" and options.group is not None
    of_two = options.task in ("classification", "regression") and options.versus is not None
    asked = "grouped" if in_groups else "paired" if of_two else options.task
    for name in dict.fromkeys(option for task in TASKS.values() for option in task.options):
        if name not in TASKS[asked].options and getattr(options, name) is not None:
            others = ", ".join(task for task in TASKS if name in TASKS[task].options)
            raise UsageError(
                f"{option_text(name)} cannot be used with --task {asked}; it is for {others}."
            )
    return asked
