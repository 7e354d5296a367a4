"""Members of results that follow from the rows of their tables.

A row is all of a metric: its value, its docstring, and the attribute that reads it. Type checkers
read `members.pyi`, which is generated from the rows; a test compares them.
"""

from __future__ import annotations

from typing import Any

from streameval.metrics.table import Metric
from streameval.results.metric_values import RowMember, method_of


class RowMembers:
    """The base of classes with such members."""

    __slots__ = ()


CalibrationMembers = CatalogMembers = ClassCurvesMembers = ConfusionMembers = RowMembers
CurveMembers = GroupedCurvesMembers = PairedResultMembers = PreferencesMembers = RowMembers
RankingMembers = RegressionMembers = RegressionOutputsMembers = SummaryMembers = RowMembers


def rows_of_members(cls: type[Any]) -> list[Metric]:
    """List the rows whose name can be an attribute, and is none that is written by hand."""
    named = (row for row in cls.TABLE.values() if row.name.isidentifier())
    return [row for row in named if not _is_by_hand(cls, row.name)]


def add_members(cls: type[Any]) -> None:
    """Make an attribute of each of these rows."""
    for row in rows_of_members(cls):
        is_looked_up = "_attribute" in vars(cls) and not row.is_count
        may_lack = row.measured or row.absent or is_looked_up
        is_method = not (may_lack or row.averages) and row.needs_argument
        made = method_of(row) if is_method else RowMember(row, is_direct=not may_lack)
        setattr(cls, row.name, made)


def _is_by_hand(cls: type[Any], name: str) -> bool:
    held = next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)
    return not (held is None or hasattr(held, "row"))
