"""Row filters: which rows are counted, depending on their columns."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

import attrs
import numpy as np

from streameval.exact.array_types import Mask
from streameval.inputs.paths import find
from streameval.io.columns import Argument, Texts, as_text
from streameval.io.notation import integer_or_text, number_or_text, with_point

RELATIONS = ("=", "!=", "<", "<=", ">", ">=")
"""The relations between the value of a column and that of a condition."""

_ORDERS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
# These texts are not kept, so they may be long.
_TEXTS = Texts(longest=2**26)


@attrs.frozen
class Condition:
    """A condition on one column.

    Values are compared by their text, as slices are: 3, 3.0 and "3" are equal. If both texts are
    numbers, the numbers are compared, so 0.5 equals 0.50. "<" and ">" order numbers and order
    words, but never a number and a word. A missing value is unordered.

    Parameters
    ----------
    column : str
        The name of the column, or a path.
    relation : str
        One of `RELATIONS`.
    values : tuple of str
        The values to compare with: "=" matches any of them, "!=" none of them. An empty value
        matches a missing one: an empty cell of a text table, quoted or not; an absent key or a
        null of a JSON line; a null of Parquet. An empty text of JSON lines or Parquet is not
        missing, and equals no value.
    """

    column: str
    relation: str
    values: tuple[str, ...]
    _texts: frozenset[str | None] = attrs.field(
        init=False,
        repr=False,
        eq=False,
        default=attrs.Factory(
            lambda made: frozenset(_TEXTS.from_text(made.values)), takes_self=True
        ),
    )
    _numbers: frozenset[float] = attrs.field(
        init=False,
        repr=False,
        eq=False,
        default=attrs.Factory(lambda made: frozenset(_numbers(made._texts)), takes_self=True),
    )

    def with_points(self) -> Self:
        """Read values with decimal commas, as in the cells of such a table."""
        return attrs.evolve(self, values=tuple(map(with_point, self.values)))

    def holds(self, text: str | None) -> bool:
        """Tell whether the condition holds for the text of a value, or None if it is missing."""
        order = _ORDERS.get(self.relation)
        if order is None:
            return self._is_one(text) == (self.relation == "=")
        number = None if text is None else _number(text)
        bound: Any = next(iter(self._numbers or self._texts))
        value: Any = text if number is None else number
        are_alike = (number is not None) == bool(self._numbers)
        return text is not None and are_alike and bool(order(value, bound))

    def _is_one(self, text: str | None) -> bool:
        return text in self._texts or (
            bool(self._numbers) and text is not None and _number(text) in self._numbers
        )


@attrs.frozen
class RowFilter:
    """Conditions that must all hold.

    Parameters
    ----------
    conditions : tuple of Condition
        The conditions.
    fixed : tuple of (str, object)
        Fields that no row holds, as in `Column`.
    """

    conditions: tuple[Condition, ...]
    fixed: tuple[tuple[str, Any], ...] = ()

    @property
    def columns(self) -> tuple[Argument, ...]:
        """The columns that the conditions read."""
        return tuple(
            Argument(str(position), (condition.column,), _TEXTS, fixed=self.fixed)
            for position, condition in enumerate(self.conditions)
        )

    def kept(self, batch: Mapping[str, Any]) -> Mask:
        """Tell which rows of a batch, read as `columns`, are counted."""
        masks = []
        for position, condition in enumerate(self.conditions):
            texts = batch[str(position)]
            known = {text: condition.holds(text) for text in set(texts)}
            masks.append(np.fromiter(map(known.__getitem__, texts), bool, len(texts)))
        kept: Mask = np.logical_and.reduce(masks)
        return kept

    def keeps(self, row: Mapping[str, Any]) -> bool:
        """Tell whether one row is counted."""
        return all(
            condition.holds(as_text(find(row, condition.column))) for condition in self.conditions
        )


def _numbers(texts: Iterable[str | None]) -> Iterator[float]:
    """Parse the texts that are numbers."""
    found = (_number(text) for text in texts if text is not None)
    return (number for number in found if number is not None)


def _number(text: str) -> float | None:
    whole = integer_or_text(text)
    number = number_or_text(text) if isinstance(whole, str) else whole
    return None if isinstance(number, str) else number
