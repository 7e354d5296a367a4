"""The options of `Sliced`, checked and in one canonical form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Self

import attrs

from streameval.configs.collection import canonical_name
from streameval.configs.inner import Inner, OuterConfig
from streameval.configs.options import option, positive_integer
from streameval.errors import InvalidInputError
from streameval.inputs.values import Value, canonical_value, rank_of

MAX_COLUMNS = 16
MAX_SLICES = 2**20
_MAX_CHARACTERS = 2**20  # of the named values: they stand in the header, which has a limit


def read_value(value: Any, columns: tuple[str, ...], *, name: str) -> Value:
    """Read one value: of several columns, a tuple."""
    if len(columns) == 1:
        return canonical_value(value, name=name)
    if not isinstance(value, (tuple, list)) or len(value) != len(columns):
        raise InvalidInputError(
            f"must be tuples of {len(columns)} values, one for each column, got {value!r}",
            argument=name,
        )
    return tuple(canonical_value(item, name=name) for item in value)


def _read_columns(column: Any, *, name: str) -> tuple[str, ...]:
    given = [column] if isinstance(column, str) else column
    if not isinstance(given, (list, tuple)):
        raise InvalidInputError(
            f"must be the name of a column, or several, got {column!r}", argument=name
        )
    columns = tuple(canonical_name(one, name=name) for one in given)
    if not 1 <= len(columns) <= MAX_COLUMNS or len(set(columns)) < len(columns):
        raise InvalidInputError(
            f"must be from 1 to {MAX_COLUMNS} columns, each once, got {columns}", argument=name
        )
    if sum(map(len, columns)) > _MAX_CHARACTERS:
        raise InvalidInputError("must be shorter names", argument=name)
    return columns


def _limit(value: Any, *, name: str) -> int:
    """Accept a number of slices."""
    limit = positive_integer(value, name=name)
    if limit > MAX_SLICES:
        raise InvalidInputError(f"must be at most {MAX_SLICES}, got {limit}", argument=name)
    return limit


@attrs.frozen(kw_only=True, slots=False)
class SlicedConfig(OuterConfig):
    """The column of the values and the named values; equal ones can merge. Made by `of`."""

    SUMMARY = "Count each value of a column separately: a metric for each country, or model."

    accumulator: Inner = option("What counts each slice.")
    column: tuple[str, ...] = option("The column that holds the values.", _read_columns)
    values: tuple[Value, ...] = option(
        "The values that always have a slice, even without rows, in this order.", default=()
    )
    max_values: int = option(
        "How many values have a slice, the named ones included.", _limit, default=100
    )

    @classmethod
    def of(cls, **given: Any) -> Self:
        """Check options, alone and together."""
        read = cls.read(given)
        named = read["values"] = _read_values(read["values"], read["column"])
        if len(named) > read["max_values"]:
            raise InvalidInputError(
                f"must be at most {read['max_values']}, which is `max_values`, got {len(named)}",
                argument="values",
            )
        return cls(**read)

    @cached_property
    def named(self) -> frozenset[Value]:
        """The values that always have a slice."""
        return frozenset(self.values)

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The columns that define the groups."""
        return self.column

    @property
    def max_others(self) -> int:
        """How many values without a name may have a slice."""
        return self.max_values - len(self.values)

    def kept(self, values: Iterable[Value]) -> set[Value]:
        """Choose which of the observed values have a slice."""
        named = {value for value in values if value in self.named}
        others = [value for value in values if value not in self.named]
        if len(others) > self.max_others:
            others = sorted(others, key=rank_of)[: self.max_others]
        return named.union(others)


def _read_values(values: Any, columns: tuple[str, ...]) -> tuple[Value, ...]:
    if isinstance(values, (str, bytes, Mapping, set, frozenset)) or not isinstance(
        values, Iterable
    ):
        raise InvalidInputError(
            f"must be a sequence of values, whose order counts, got {values!r}", argument="values"
        )
    named = tuple(read_value(value, columns, name="values") for value in values)
    seen: set[Value] = set()
    for value in named:
        if value in seen:
            raise InvalidInputError(f"must be distinct, got {value!r} twice", argument="values")
        seen.add(value)
    items = (item for value in named for item in (value if isinstance(value, tuple) else (value,)))
    characters = sum(len(item) for item in items if isinstance(item, str))
    if characters > _MAX_CHARACTERS:
        raise InvalidInputError(
            f"must have at most {_MAX_CHARACTERS} characters together, got {characters}",
            argument="values",
        )
    return named
