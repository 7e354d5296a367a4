"""The options of `Sliced` and `Clustered`, checked and in one canonical form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property, partial
from typing import Annotated, Any

import attrs
import numpy as np
import numpy.typing as npt

from streameval.configs.collection import Name, canonical_name
from streameval.configs.inner import Inner, OuterConfig
from streameval.configs.names import check_distinct
from streameval.configs.options import Arrays, integer_from, option, positive_integer
from streameval.errors import InvalidInputError
from streameval.inputs.values import Value, Words, canonical_value, items_of, rank_of

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


@attrs.frozen(kw_only=True, slots=False)
class SlicedConfig(OuterConfig):
    """The column of the values and the named values; equal ones can merge. Made by `of`."""

    SUMMARY = "Count each value of a column separately: a metric for each country, or model."

    accumulator: Inner = option("What counts each slice.")
    column: Annotated[tuple[str, ...], _read_columns] = option("The column that holds the values.")
    values: tuple[Value, ...] = option(
        "The values that always have a slice, even without rows, in this order.", default=()
    )
    max_values: Annotated[int, partial(integer_from, 1, maximum=MAX_SLICES)] = option(
        "How many values have a slice, the named ones included.", default=100
    )

    @classmethod
    def read(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Check options, alone and together."""
        read = super().read(given)
        named = read["values"] = _read_values(read["values"], read["column"])
        if len(named) > read["max_values"]:
            raise InvalidInputError(
                f"must be at most {read['max_values']}, which is `max_values`, got {len(named)}",
                argument="values",
            )
        return read

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

    def items(self, value: Value) -> dict[str, Any]:
        """Return the value of each column in the value of a slice."""
        return dict(zip(self.column, items_of(value), strict=True))

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
    check_distinct(named, name="values")
    items = (item for value in named for item in items_of(value))
    characters = sum(len(item) for item in items if isinstance(item, str))
    if characters > _MAX_CHARACTERS:
        raise InvalidInputError(
            f"must have at most {_MAX_CHARACTERS} characters together, got {characters}",
            argument="values",
        )
    return named


MIN_GROUPS, MAX_GROUPS = 10, 1024


def _read_accumulator(value: Inner, *, name: str) -> Inner:
    if value.has_clusters:
        raise InvalidInputError(
            "cannot have a member that is Clustered: its rows would have two columns of clusters",
            argument=name,
            remedy="Make a Collection in which each member is Clustered, by its own column.",
        )
    return value


def _read_groups(value: Any, *, name: str) -> int:
    groups = positive_integer(value, name=name)
    if not MIN_GROUPS <= groups <= MAX_GROUPS:
        raise InvalidInputError(
            f"must be from {MIN_GROUPS} to {MAX_GROUPS}, got {groups}", argument=name
        )
    return groups


@attrs.frozen(kw_only=True, slots=False)
class ClusteredConfig(OuterConfig):
    """The column of the clusters and the number of groups; equal ones can merge. Made by `of`.

    The groups are the values of a table of slices: each has a slice once it has rows.
    """

    SUMMARY = "Count rows that depend on each other: intervals for clusters, such as users."

    accumulator: Annotated[Inner, _read_accumulator] = option("What counts the rows.")
    by: Name = option("The column that says which cluster a row belongs to.")
    groups: Annotated[int, _read_groups] = option(
        "The number of groups that clusters are hashed into.", default=64
    )

    @property
    def arrays(self) -> Arrays:
        """Those of the accumulator, and the column of the clusters."""
        inner, by = self.accumulator, self.by
        needed = dict.fromkeys((*inner.required, by))
        return tuple(needed), tuple(name for name in inner.optional if name != by)

    @cached_property
    def values(self) -> list[int]:
        """The numbers of all groups."""
        return list(range(self.groups))

    @cached_property
    def named(self) -> frozenset[int]:
        """The same, to look them up."""
        return frozenset(self.values)

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The columns that define the groups."""
        return (self.by,)

    @property
    def max_others(self) -> int:
        """How many values besides the groups there may be."""
        return 0

    def group_of(self, hashes: Words) -> npt.NDArray[np.uint16]:
        """Return the group of each cluster: the upper half of its hash, scaled."""
        upper = hashes >> np.uint64(32)
        return ((upper * np.uint64(self.groups)) >> np.uint64(32)).astype(np.uint16)
