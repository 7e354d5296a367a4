"""The tasks of `eval`: each plans which columns to read, and which accumulator counts them.

The module of a task is imported only when it plans, because it imports its accumulators.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs

from streameval.cli.errors import UsageError
from streameval.cli.options import OPTIONS_OF_TASKS, TASKS, TOGETHER, Options, option_text, refuse
from streameval.cli.tasks.fields import weight_columns

if TYPE_CHECKING:
    from streameval.runs.counting import Plan
    from streameval.runs.sources import RawRow

COMPARE_RUNS = " To compare runs query by query, use --task ranking --compare."

_OF_MODELS = ("classification", "regression", "values")
_ADVICE = {
    ("versus", "binary"): " To compare areas, use --measures roc_auc without --task.",
    ("y_true", "ranking"): " For rankings, --relevance names the column of the truth.",
    ("qrels", "paired"): COMPARE_RUNS,
}
"""What to do about an option that a task does not take."""


def plan_of(task: str, options: Options, rows: Sequence[RawRow]) -> Plan:
    """Choose the columns and the accumulator, from options and the first rows."""
    if "," in task:
        return _plan_together(task.split(","), options, rows)
    match task:
        case "classification" | "paired":
            from streameval.cli.tasks.predictions import PLANS
        case "binary" | "grouped" | "calibration":
            from streameval.cli.tasks.scores import PLANS
        case "ranking":
            from streameval.cli.tasks.ranking import PLANS
        case _:
            from streameval.cli.tasks.values import PLANS
    plan = PLANS[task](options, rows)
    weights = () if task == "ranking" else weight_columns(options, rows)  # those of queries differ
    return attrs.evolve(plan, columns=(*plan.columns, *weights), max_bad=options.max_bad)


def _plan_together(tasks: Sequence[str], options: Options, rows: Sequence[RawRow]) -> Plan:
    """Plan a collection with a member for each task; arrays that differ have their own names."""
    from streameval.runs.counting import Plan

    plans = {task: plan_of(task, attrs.evolve(options, task=task), rows) for task in tasks}
    columns: list[Any] = []
    renamed: dict[str, dict[str, str]] = {}
    for task, plan in plans.items():
        for column in plan.columns:
            held = [other for other in columns if other.argument == column.argument]
            if not held:
                columns.append(column)
            elif column not in held:
                name = f"{column.argument} of {task}"
                renamed.setdefault(task, {})[column.argument] = name
                columns.append(attrs.evolve(column, argument=name))
    return Plan(
        partial(_collection, {task: plan.make for task, plan in plans.items()}, renamed),
        tuple(columns),
        options.max_bad,
        tuple(dict.fromkeys(note for plan in plans.values() for note in plan.notes)),
        is_bounded=all(plan.is_bounded for plan in plans.values()),
    )


def _collection(
    makes: Mapping[str, Callable[[], Any]], columns: Mapping[str, Mapping[str, str]]
) -> Any:
    from streameval.accumulators.collection import Collection

    return Collection({task: make() for task, make in makes.items()}, columns=columns)


def named_by_task(options: Options) -> Options:
    """Put the task before each metric of one of several tasks: the first that has it."""
    tasks = options.task.split(",")
    if len(tasks) == 1:
        return options
    from streameval.results.reading import owners_of

    def named(metric: Any) -> Any:
        if metric is None:
            return None
        name = metric.name if metric.call is None else metric.call[0]
        having = {cls.TASK for cls, _ in owners_of(name)}
        task = next((task for task in tasks if task in having), None)
        return metric if task is None else attrs.evolve(metric, name=f"{task}/{metric.name}")

    held = options.reporting
    gates = [
        attrs.evolve(gate, bound=attrs.evolve(gate.bound, metric=named(gate.metric)))
        for gate in held.gates
    ]
    metrics = tuple(map(named, held.metrics))
    reporting = attrs.evolve(held, metrics=metrics, gates=tuple(gates), sort=named(held.sort))
    return attrs.evolve(options, reporting=reporting)


def task_asked_for(options: Options) -> str:
    """Name the task; binary labels in groups and two models are separate tasks.

    Raises
    ------
    UsageError
        If an option was given that the task would ignore.
    """
    in_groups = options.task == "binary" and options.group is not None
    of_models = options.versus is not None and options.task in _OF_MODELS
    asked = "grouped" if in_groups else "paired" if of_models else options.task
    each = asked.split(",")
    if len(each) > 1:
        _check_together(each, options)
    for name, tasks in OPTIONS_OF_TASKS.items():
        if not set(each).intersection(tasks) and getattr(options, name) is not None:
            others = ", ".join(task for task in TASKS if task in tasks)
            advice = _ADVICE.get((name, asked), "")
            raise UsageError(
                f"{option_text(name)} cannot be used with --task {asked}; "
                f"it is for {others}.{advice}"
            )
    return asked


def _check_together(tasks: Sequence[str], options: Options) -> None:
    """Raise UsageError unless the tasks, each of them once, can share a reading."""
    for task in tasks:
        if task not in TOGETHER or tasks.count(task) > 1:
            raise UsageError(
                f"--task takes one task, or several different ones of {', '.join(TOGETHER)}, got "
                f"{options.task!r}."
            )
    refuse(options, ["versus", "group", "measures"], "needs a single --task")
