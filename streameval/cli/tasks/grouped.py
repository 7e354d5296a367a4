"""AUC within groups: from options and first rows to a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streameval.accumulators.grouped import GroupedAUC
from streameval.cli.errors import UsageError
from streameval.cli.tasks.columns import (
    check_one_column,
    configured,
    lay_out,
    maker,
    presence_type,
    weight_columns,
)
from streameval.configs.curve import GroupedConfig
from streameval.io.columns import Argument, Numbers
from streameval.runs.column_types import id_type
from streameval.runs.counting import Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streameval.cli.options import Options
    from streameval.runs.sources import RawRow


def plan(options: Options, rows: Sequence[RawRow]) -> Plan:
    """Choose the columns and the configuration.

    Raises
    ------
    UsageError
        If a column is not in the first rows, or no group column was named.
    InvalidInputError
        If the accumulator refuses the options.
    """
    if options.group is None:
        raise UsageError("--task grouped needs --group, the column of the group.")
    if options.budget == "none":
        raise UsageError("--budget none is for curves; groups share a number of bins.")
    check_one_column(options, "y_true", "y_score")
    layout = lay_out(options, rows, options.y_score or ("y_score",), of_scores=True)
    make = maker(GroupedAUC, **configured(options, GroupedConfig))
    groups = [row[options.group] for row in rows if row.get(options.group) is not None]
    group = id_type(groups, " as the first groups are", longest=256)
    columns = (
        Argument("y_true", layout.label, presence_type(layout, "0 and 1 are needed")),
        Argument("y_score", layout.prediction, Numbers()),
        Argument("group", (options.group,), group),
        *weight_columns(options),
    )
    return Plan(make, columns, options.max_bad)
