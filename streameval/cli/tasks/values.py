"""Values: from options and the first rows to a plan."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from streameval.accumulators.mean import MeanAccumulator
from streameval.cli.tasks.columns import GAP_HINT, check_columns, configured, weight_columns
from streameval.configs.mean import MeanConfig
from streameval.io import Argument
from streameval.runs.columns import value_type
from streameval.runs.counting import Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streameval.cli.options import Options
    from streameval.runs.sources import RawRow


def plan(options: Options, rows: Sequence[RawRow]) -> Plan:
    """Choose the columns and what is kept of them; one column alone needs no name.

    Raises
    ------
    UsageError
        If a column is not in the first rows.
    InvalidInputError
        If the accumulator refuses the options.
    """
    names = options.value or ("value",)
    chosen = configured(options, MeanConfig)
    arrays = ("value",) if len(names) == 1 else names
    make = partial(MeanAccumulator, None if len(names) == 1 else names, **chosen)
    make()  # report mistakes in the options before any row is read
    weights = weight_columns(options)
    check_columns([*names, *(name for column in weights for name in column.names)], rows)
    numbers = value_type(options.nan, GAP_HINT)
    columns = [Argument(array, (name,), numbers) for array, name in zip(arrays, names, strict=True)]
    is_bounded = options.budget != "none" or not options.quantiles
    return Plan(make, (*columns, *weights), options.max_bad, is_bounded=is_bounded)
