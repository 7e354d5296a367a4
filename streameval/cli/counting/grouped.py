"""AUC within groups: from options and the first rows to a plan."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from streameval.accumulators.grouped import GroupedAUC
from streameval.cli.counting.binary import sketch_options
from streameval.cli.counting.layout import check_one_column, lay_out, presence_kind, weight_columns
from streameval.cli.counting.plan import Plan
from streameval.cli.errors import UsageError
from streameval.io import Column, Labels, Numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streameval.cli.counting.first_rows import Row
    from streameval.cli.options import Options

__all__ = ["plan"]


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
