"""Columns of times, and columns that may have gaps."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import attrs
import numpy as np

from streameval.errors import InvalidInputError
from streameval.exact.array_types import Array
from streameval.inputs.coded import CodedTexts
from streameval.inputs.times import as_steps, as_times, read_time
from streameval.io.columns import FieldType, Labels, objects, whole_numbers
from streameval.io.notation import OddCell, hint_of, number_or_text

_NAME = "time"


@attrs.frozen
class Times:
    """A moment in every row: ISO 8601 text, a date or time of Parquet, or a number with a unit.

    Parameters
    ----------
    unit : str, optional
        The unit of numbers: "s", "ms", "us" or "ns". If it is given, text of digits is a number
        in every format; if not, numbers are not times.
    """

    unit: str | None = None

    def from_text(self, cells: Sequence[str]) -> list[Any]:
        """Turn the cells into numbers if these have a unit."""
        if self.unit is None:
            return [
                cell if cell[:4].isdigit() else OddCell(cell) if cell else None for cell in cells
            ]
        return [number_or_text(cell) for cell in cells]

    def whole(self, values: Sequence[Any]) -> Array | None:
        """Make a datetime64[us] array if every value is a time."""
        items = self._items(values)
        try:
            return as_times(items, unit=self.unit, name=_NAME, warns=False).view("M8[us]")
        except InvalidInputError:
            return self._one_by_one(list(map(_number, values)) if self.unit else items)

    def zones(self, values: Any) -> set[bool]:
        """Tell whether texts have an offset from UTC: some, none, or both."""
        texts: Any = values.texts if isinstance(values, CodedTexts) else values
        types = {*map(type, texts)}
        if not any(issubclass(one, str) for one in types):
            return set()
        if types == {str} and {text[-1:] for text in texts} == {"Z"}:
            return {True}
        return {_has_offset(text) for text, _ in groupby(texts) if isinstance(text, str)}

    def _items(self, values: Sequence[Any]) -> Any:
        """Read text as numbers if these have a unit; if all are numbers, make an array."""
        if self.unit is None:
            return list(values)
        array = whole_numbers(values)
        return list(map(_number, values)) if array is None else array

    def _one_by_one(self, items: Sequence[Any]) -> Array | None:
        """Read numbers mixed with text or dates, which no typed array can hold."""
        if any(map(self.fault, items)):
            return None
        times = [read_time(item, unit=self.unit, name=_NAME, warns=False) for item in items]
        return np.array(times, dtype="M8[us]")

    def fault(self, value: Any) -> str | None:
        """Accept what `as_times` accepts; the fault describes one row."""
        if value is None or not isinstance(value, bool):
            try:
                item = value if self.unit is None else _number(value)
                as_times([item], unit=self.unit, name=_NAME, warns=False)
            except InvalidInputError:
                pass
            else:
                return None
        of_numbers = "" if self.unit is None else f', or a number in "{self.unit}"'
        return f"a time in ISO 8601{of_numbers}{hint_of(value)}"


@attrs.frozen
class Steps(Labels):
    """An integer in every row with any meaning, such as a training step or an offset of a log."""

    integers: bool = True

    def whole(self, values: Sequence[Any]) -> Array | None:
        """Make an int64 array if every value is an integer."""
        if any(isinstance(value, bool) for value in values):
            return None
        array = super().whole(values)
        return None if array is None else as_steps(array, name=_NAME)

    def fault(self, value: Any) -> str | None:
        """Accept integers, which True and False are not here."""
        return "an integer" if isinstance(value, bool) else super().fault(value)


@attrs.frozen
class Gaps:
    """A column with gaps, for example rows whose label is not known yet.

    Parameters
    ----------
    field_type : FieldType
        The type of the values that are present.
    """

    field_type: FieldType

    def from_text(self, cells: Sequence[str]) -> list[Any]:
        """Read the cells; empty ones are gaps."""
        return self.field_type.from_text(cells)

    def whole(self, values: Sequence[Any]) -> Array | None:
        """Make an array; if there are gaps, an object array with None for each."""
        known = [value is not None for value in values]
        if all(known):
            return self.field_type.whole(values)
        array = self.field_type.whole([value for value in values if value is not None])
        if array is None:
            return None
        made = objects([None] * len(values))
        made[np.array(known)] = array
        return made

    def fault(self, value: Any) -> str | None:
        """Accept None, and what the column accepts."""
        return None if value is None else self.field_type.fault(value)


def _has_offset(time: str) -> bool:
    return time.endswith(("Z", "z", "UTC")) or "+" in time or "-" in time[11:]


def _number(value: Any) -> Any:
    """Read text as a number if it is one."""
    return number_or_text(value) if isinstance(value, str) else value
