"""The tasks of `eval`: each plans which columns to read, and which accumulator counts them.

The module of a task is imported only when it plans, because it imports its accumulators.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs

from streameval.cli.options import Options
from streameval.cli.tasks.fields import weight_columns

if TYPE_CHECKING:
    from streameval.runs.counting import Plan
    from streameval.runs.sources import RawRow


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
    from streameval.results.names import owners_of

    def named(metric: Any) -> Any:
        if metric is None:
            return None
        name = metric.name if metric.call is None else metric.call[0]
        having = {table.task for table, _ in owners_of(name)}
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
