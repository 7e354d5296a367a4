"""What accumulators that split their rows are made of: the accumulator of each group."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import attrs

from streameval.configs.cached import Cached
from streameval.configs.collection import CollectionConfig, Member
from streameval.configs.options import Config


@attrs.frozen(slots=False)
class Inner(Cached):
    """The accumulator that counts the rows of one group.

    Parameters
    ----------
    cls : class of an accumulator
    options : configuration
        That of the accumulator.
    """

    cls: type[Any]
    options: Any

    def empty(self) -> Any:
        """Make one that has counted nothing."""
        return self.cls._empty(self.options)

    @cached_property
    def leaf(self) -> Inner:
        """The accumulator that rows end up in: this one, or the one within."""
        options = self.options
        return options.accumulator.leaf if isinstance(options, OuterConfig) else self

    @cached_property
    def members(self) -> tuple[Member, ...]:
        """What is counted of each row: one thing, or the parts of a collection."""
        leaf = self.leaf
        if isinstance(leaf.options, CollectionConfig):
            return leaf.options.parts
        return (Member(leaf.cls, leaf.options),)

    @cached_property
    def counted(self) -> tuple[Member, ...]:
        """The same, with what is within those members that split their rows into clusters."""
        return tuple(counted(self.members))

    @property
    def has_clusters(self) -> bool:
        """Whether members of a collection split their rows into clusters."""
        return any(member.cls._depth for member in self.members)

    @cached_property
    def required(self) -> tuple[str, ...]:
        """The columns that a batch must have."""
        columns = (column for member in self.members for column in member.required.values())
        return tuple(dict.fromkeys(columns))

    @cached_property
    def optional(self) -> tuple[str, ...]:
        """The columns that are read where a batch has them."""
        columns = (column for member in self.members for column in member.read.values())
        return tuple(column for column in dict.fromkeys(columns) if column not in self.required)

    @cached_property
    def truths(self) -> tuple[str, ...]:
        """The columns of true labels or numbers; none if something is counted without."""
        # a column of values may have this name, and two models may have values alone
        own = [
            member
            for member in self.counted
            if "y_true" in member.cls._arrays and "y_true" in member.positional
        ]
        truths = [member.read["y_true"] for member in own] if len(own) == len(self.counted) else []
        return tuple(dict.fromkeys(truths))

    @cached_property
    def weights(self) -> tuple[str | None, ...]:
        """For all `counted`, the column of the weights of rows or queries; None if one has none."""
        return tuple(member.read.get(member.cls._weight_array) for member in self.counted)

    @cached_property
    def queries(self) -> tuple[tuple[str, bool], ...]:
        """The columns of ids whose rows belong together, and whether the ids are kept."""
        found: dict[str, bool] = {}
        for member in self.counted:
            array = member.cls._unit_array
            if array is not None:
                column = member.read[array]
                found[column] = found.get(column, False) or member.options.keeps_ids
        return tuple(found.items())


@attrs.frozen(kw_only=True, slots=False)
class OuterConfig(Config):
    """The options of an accumulator that splits its rows into groups."""

    accumulator: Inner

    @property
    def settings(self) -> dict[str, Any]:
        """The options that the header of bytes holds; the accumulator is stored with the state."""
        return attrs.asdict(
            self, recurse=False, filter=lambda field, _: field.name != "accumulator"
        )

    @property
    @abstractmethod
    def key_columns(self) -> tuple[str, ...]:
        """The columns that define the groups."""

    @property
    def levels(self) -> tuple[OuterConfig, ...]:
        """These options, and those of the accumulators within that split rows, too."""
        inner = self.accumulator.options
        return (self, *(inner.levels if isinstance(inner, OuterConfig) else ()))


def counted(members: Iterable[Member]) -> list[Member]:
    """List what is counted of each row: members, or what is within those that split rows."""
    found = []
    for member in members:
        options = member.options
        inner = options.accumulator.members if isinstance(options, OuterConfig) else ()
        found += [one.renamed(dict(member.columns)) for one in inner] or [member]
    return found


def key_columns(config: Any) -> tuple[str, ...]:
    """Name the columns by which an accumulator, or members of a collection, split rows."""
    if isinstance(config, OuterConfig):
        keys = [*config.key_columns, *key_columns(config.accumulator.options)]
    else:
        members = config.members if isinstance(config, CollectionConfig) else ()
        keys = [one.required[name] for one in members for name in key_columns(one.options)]
    return tuple(dict.fromkeys(keys))
