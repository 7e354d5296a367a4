"""Which options can be used together, which is checked before files are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from streameval.cli.argument_values import EVERY
from streameval.cli.errors import UsageError
from streameval.cli.options import (
    DIALECT,
    OPTIONS_OF_TASKS,
    TASKS,
    TOGETHER,
    Options,
    given_names,
    option_text,
    refuse,
)
from streameval.cli.slices import OF_ORDER

NO_COLUMNS = (
    "TREC files have no columns of their own; to count some queries, give --qrels of these alone"
)
"""Why rows of TREC files cannot be chosen or have a time, and what to do instead."""
COMPARE_RUNS = " To compare runs query by query, use --task ranking --compare."

_OF_MODELS = ("classification", "regression", "values")
_ADVICE = {
    ("versus", "binary"): " To compare areas, use --measures roc_auc without --task.",
    ("y_true", "ranking"): " For rankings, --relevance names the column of the truth.",
    ("k", "ranking"): " For rankings, a measure names its cutoff, as in --measures ndcg@10.",
    ("qrels", "paired"): COMPARE_RUNS,
}
"""What to do about an option that a task does not take."""

_NEEDED = {
    "labels": ("key",),
    "by": ("top", *OF_ORDER),
    "time": ("pane", "keep", "rollups", "unit"),
    "qrels": ("count_missing", "max_docs", "queries"),
}
"""By option, those that say nothing without it."""

_OF_LINES = ("per_query", "trec")
_COMPLETE_QUERIES = {
    "": _OF_LINES,
    ", which counts complete queries": ("rows_per_query", "max_open_queries"),
}
_COMPARED = {
    ": use --where COLUMN=VALUE to compare the queries of one value": ("time",),
    ": a comparison has no state: keep its numbers with --json, or save the state of each run with "
    "a command of its own": ("output",),
    ": give it to a command for each run": _OF_LINES,
    ": its tests count each query once": ("sample_weight",),
    ": --measures chooses": ("metrics",),
    "": OF_ORDER,
}
"""What cannot be used with a comparison of rankings, by the reason or what to do instead."""

_EXCLUDED: Mapping[str, Mapping[str, Sequence[str]]] = {
    "qrels": {
        ": TREC files have no header": (
            *("relevance", "y_score", "rank", "doc", "retrieved", "num_relevant"),
        ),
        ": both are TREC files": ("format", *DIALECT),
        ": a run is read to its end": ("partial_last_line",),
        f": {NO_COLUMNS}": ("where", "time"),
        ": every row of a run must be valid": ("max_bad",),
    },
    "by": {"": _OF_LINES},
    "time": {**_COMPLETE_QUERIES, "; name the values, as in --by COLUMN=A,B": ("top",)},
    "cluster": _COMPLETE_QUERIES,
    "rank": {"": ("y_score",)},
    "json": {"": ("trec",)},
    "compare": {**_COMPARED, ", which compares files": ("versus",)},
}
"""By option, the same of those that cannot be used with it."""


def task_asked_for(options: Options) -> str:
    """Name the task; binary labels in groups and two models are separate tasks.

    Raises
    ------
    UsageError
        If an option was given that the task would ignore, that needs another one, or that cannot
        be used with it.
    """
    in_groups = options.task == "binary" and options.group is not None
    of_models = options.versus is not None and options.task in _OF_MODELS
    asked = "grouped" if in_groups else "paired" if of_models else options.task
    if "," in asked:
        _check_tasks(asked.split(","), options)
    # Models of numbers or values take what these take; --measures says what values are.
    read = {asked: OPTIONS_OF_TASKS}
    if of_models and options.task != "classification":
        read[options.task] = {**OPTIONS_OF_TASKS, "measures": (options.task,)}
    for task, tasks_of in read.items():
        for name, tasks in tasks_of.items():
            if getattr(options, name) is not None and {*tasks}.isdisjoint(task.split(",")):
                others = ", ".join(one for one in TASKS if one in tasks)
                raise UsageError(
                    f"{option_text(name)} cannot be used with --task {task}; "
                    f"it is for {others}.{_ADVICE.get((name, task), '')}"
                )
    _check_together(options)
    return asked


def _check_tasks(tasks: Sequence[str], options: Options) -> None:
    """Raise UsageError unless the tasks, each of them once, can share a reading."""
    for task in tasks:
        if task not in TOGETHER or tasks.count(task) > 1:
            raise UsageError(
                f"--task takes one task, or several different ones of {', '.join(TOGETHER)}, got "
                f"{options.task!r}."
            )
    refuse(options, ["versus", "group", "measures"], "needs a single --task")


def _check_together(options: Options) -> None:
    held = given_names(options)
    for needed, names in _NEEDED.items():
        if needed not in held and not held.isdisjoint(names):
            refuse(options, names, f"needs {option_text(needed)}")
    if options.by is not None:
        _check_by(options)
    if options.time is not None and options.pane is None:
        raise UsageError("--time needs --pane, the width of the windows, as in --pane 1h.")
    excluded = {**_EXCLUDED, **({"versus": _COMPARED} if options.task == "ranking" else {})}
    for other, reasons in excluded.items():
        for why, unfit in reasons.items():
            if other in held and not held.isdisjoint(unfit):
                refuse(options, unfit, f"cannot be used with {option_text(other)}{why}")
    if options.qrels is not None and options.queries is None:
        _check_run(options)


def _check_by(options: Options) -> None:
    by: Any = options.by
    if by.is_each:
        each = "--by '*'" if by.columns == (EVERY,) else "--each"
        refuse(options, ["top"], f"cannot be used with {each}")
        if options.task == "ranking":
            raise UsageError(f"{each} cannot be used with --task ranking.")
        if options.time is not None:
            raise UsageError("--time needs --by with the names of columns, without --each.")
    if by.values is not None:
        refuse(options, ["top"], "cannot be used with --by COLUMN=A,B,C, which names the values")


def _check_run(options: Options) -> None:
    """Raise UsageError for columns of a run without a table of its queries."""
    refuse(options, ["query"], "cannot be used with --qrels: TREC files have no header")
    why = "with --qrels needs --queries, a table with a row for each query: TREC files have no "
    refuse(options, ["by", "cluster"], f"{why}columns of their own")
