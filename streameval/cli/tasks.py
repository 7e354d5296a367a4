"""The tasks that can be evaluated: a new one is an entry in `TASKS`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from streameval.cli import classification, confusion
from streameval.confusion import ConfusionAccumulator
from streameval.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from streameval.cli.gates import Gate, Measured
    from streameval.cli.options import Options
    from streameval.cli.plan import Plan

__all__ = ["TASKS", "Task", "task_of"]


@attrs.frozen
class Task:
    """What the command line has to know of one kind of evaluation.

    Parameters
    ----------
    accumulator : type
        What counts the rows.
    plan : callable
        From the options and the first rows: which columns, which configuration.
    check : callable
        From a result, perhaps of no rows, and a gate: raises UsageError if there is no such
        metric.
    measure : callable
        From a result, a gate and a level: the metric and its interval.
    describe : callable
        From a result and a level: the entries of the JSON object.
    """

    accumulator: type[Any]
    plan: Callable[[Options, Sequence[Mapping[str, Any]]], Plan]
    check: Callable[[Any, Gate], None]
    measure: Callable[[Any, Gate, float], Measured]
    describe: Callable[[Any, float], dict[str, Any]]


TASKS = {
    "classification": Task(
        accumulator=ConfusionAccumulator,
        plan=classification.plan,
        check=confusion.check,
        measure=confusion.measure,
        describe=confusion.describe,
    ),
}


def task_of(accumulator: Any) -> str:
    """Name the task that an accumulator belongs to."""
    names = [name for name, task in TASKS.items() if isinstance(accumulator, task.accumulator)]
    if not names:
        raise InvalidInputError(
            f"`state` holds a {type(accumulator).__name__}, which this version of the command "
            "line does not show. Python does: se.load(path).compute()."
        )
    return names[0]
