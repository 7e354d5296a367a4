"""Rows counted once for each of several columns, so that one pass compares the slices of all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import attrs

from streameval.runs.counting import Plan
from streameval.runs.slices import ARGUMENT, RowsByValue, Slices, rows_by_value

MAX_VALUES = 100
"""How many values a column may have; those of more are left out."""


class RowsByColumn:
    """A `RowsByValue` for each column, as long as it has few values.

    Parameters
    ----------
    make : callable
        Makes an empty accumulator.
    columns : tuple of str
        The columns.
    left_out : mapping of str to str
        Other columns, each with the reason why it is left out.
    finds_columns : bool
        Whether nobody chose the columns; then those that say nothing are left out too.
    """

    def __init__(
        self,
        make: Callable[[], Any],
        columns: tuple[str, ...],
        left_out: Mapping[str, str],
        *,
        finds_columns: bool,
    ) -> None:
        self._left_out = dict(left_out)
        self._finds_columns = finds_columns
        self._total = make()
        self._parts = {column: RowsByValue(make, column) for column in columns}

    def update(self, batch: Mapping[str, Any]) -> None:
        """Count each row in the slices of its values, all or nothing."""
        total = self._total._fork()
        total.update({name: rows for name, rows in batch.items() if not name.startswith(ARGUMENT)})
        parts = {column: part.fork() for column, part in self._parts.items()}
        for part in parts.values():
            part.update(batch)
        self._total, self._parts = total, parts
        self._leave_out()

    def merge(self, other: RowsByColumn) -> None:
        """Add the counts of another one."""
        self._total.merge(other._total)
        self._left_out |= other._left_out
        self._parts = {
            column: part for column, part in self._parts.items() if column in other._parts
        }
        for column, part in self._parts.items():
            part.merge(other._parts[column])
        self._leave_out()

    def measured(self) -> int:
        """Estimate the bytes that the slices will hold as accumulators."""
        return sum(part.measured() for part in self._parts.values())

    def total(self) -> Any:
        """Copy the accumulator of all rows."""
        return self._total.copy()

    def left_out(self) -> dict[str, str]:
        """Map each column that is left out to the reason."""
        found = dict(self._left_out)
        for column, part in self._parts.items():
            why = _says_nothing(part) if self._finds_columns else ""
            if why:
                found[column] = why
        return found

    def slices(self) -> Slices:
        """Return the accumulators of the values of each column, by column and value."""
        left = self.left_out()
        kept = {column: part for column, part in self._parts.items() if column not in left}
        by_value = {
            (column, value): held
            for column, part in kept.items()
            for value, held in part.slices().by_value.items()
        }
        return Slices(column=tuple(kept), by_value=by_value, other=None, is_each=True)

    def _leave_out(self) -> None:
        """Leave out columns of too many values."""
        for column in [name for name, part in self._parts.items() if part.n_values > MAX_VALUES]:
            del self._parts[column]
            self._left_out[column] = f"more than {MAX_VALUES} values"


def _says_nothing(part: RowsByValue) -> str:
    """Say why no slice of a column can differ from another, if so."""
    if part.n_values < 2:
        return "one value"
    return "a value for almost every row" if 2 * part.n_values > part.n_rows else ""


def rows_by_column(
    plan: Plan, columns: tuple[str, ...], left_out: Mapping[str, str], *, finds_columns: bool
) -> Plan:
    """Change a plan for rows into one that counts them once for each column.

    Parameters
    ----------
    plan : Plan
        How one `update` counts the rows of a slice.
    columns, left_out, finds_columns
        As for `RowsByColumn`.
    """
    return attrs.evolve(
        rows_by_value(plan, columns),
        make=partial(RowsByColumn, plan.make, columns, dict(left_out), finds_columns=finds_columns),
    )
