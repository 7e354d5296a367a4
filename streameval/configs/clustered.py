"""The options of `Clustered`, checked and in one canonical form."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from streameval.configs.collection import canonical_name
from streameval.configs.inner import Inner, OuterConfig
from streameval.configs.options import option, positive_integer
from streameval.errors import InvalidInputError
from streameval.inputs.values import Words

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

    accumulator: Inner = option("What counts the rows.", _read_accumulator)
    by: str = option("The column that says which cluster a row belongs to.", canonical_name)
    groups: int = option(
        "The number of groups that clusters are hashed into.", _read_groups, default=64
    )

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
