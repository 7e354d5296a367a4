"""The tasks of `eval`: each plans which columns to read, and which accumulator counts them.

The module of a task is imported only when it plans, because it imports its accumulators.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streameval.cli.errors import UsageError
from streameval.cli.options import OPTIONS_OF_TASKS, TASKS, option_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from streameval.cli.options import Options
    from streameval.runs.counting import Plan
    from streameval.runs.sources import RawRow

COMPARE_RUNS = " To compare runs query by query, use --task ranking --compare."

_OF_MODELS = ("classification", "regression", "values")
_ADVICE = {
    ("versus", "binary"): " To compare areas, use --measures roc_auc without --task.",
    ("versus", "ranking"): COMPARE_RUNS,
    ("y_true", "ranking"): " For rankings, --relevance names the column of the truth.",
    ("qrels", "paired"): COMPARE_RUNS,
}
"""What to do about an option that a task does not take."""


def plan_of(task: str) -> Callable[[Options, Sequence[RawRow]], Plan]:
    """Import what chooses the columns and the accumulator, from options and the first rows."""
    plan: Callable[[Options, Sequence[RawRow]], Plan]
    match task:
        case "classification":
            from streameval.cli.tasks import classification

            plan = classification.plan
        case "paired":
            from streameval.cli.tasks import paired

            plan = paired.plan
        case "regression":
            from streameval.cli.tasks import numbers

            plan = numbers.plan_of_regression
        case "catalog":
            from streameval.cli.tasks import catalog

            plan = catalog.plan
        case "values":
            from streameval.cli.tasks import numbers

            plan = numbers.plan_of_values
        case "preferences":
            from streameval.cli.tasks import preferences

            plan = preferences.plan
        case "ranking":
            from streameval.cli.tasks import ranking

            plan = ranking.plan
        case _:
            from streameval.cli.tasks import curves

            plan = curves.PLANS[task]
    return plan


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
    for name, tasks in OPTIONS_OF_TASKS.items():
        if asked not in tasks and getattr(options, name) is not None:
            others = ", ".join(task for task in TASKS if task in tasks)
            advice = _ADVICE.get((name, asked), "")
            raise UsageError(
                f"{option_text(name)} cannot be used with --task {asked}; "
                f"it is for {others}.{advice}"
            )
    return asked
