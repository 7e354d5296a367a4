"""What results of several items have in common: a result for each class or output, by its key."""

from __future__ import annotations

import abc
from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, Sequence, ValuesView
from functools import cached_property
from typing import Any, TypeVar

from streameval.configs.cached import OnDemand
from streameval.configs.names import nearest
from streameval.errors import UnknownMetricError
from streameval.inputs.classes import Label, class_position
from streameval.metrics.intervals import normal_quantile
from streameval.results.result import Result
from streameval.results.tables import Readings

KeyT = TypeVar("KeyT")
PartT = TypeVar("PartT", bound=Result)

CLASS_DETAILS: dict[str, Callable[[Any, float], Any]] = {
    "classes": lambda result, _: list(result.class_names),
    "labels": lambda one, _: None if one.class_names == one.labels else list(one.labels),
}
"""The names of classes in JSON, and their labels if these differ."""


class OfItems(Result, Mapping[KeyT, PartT]):
    """The base of results that have a result for each of several items: a mapping of these."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment] # results have arrays

    @property
    @abc.abstractmethod
    def _keys(self) -> Sequence[KeyT]:
        """The keys of the items, in order."""

    @abc.abstractmethod
    def _position(self, key: Any) -> int | None:
        """Find the position of an item, by any of its names; None if there is no such item."""

    @abc.abstractmethod
    def _part(self, position: int) -> PartT:
        """Make the result of an item."""

    @abc.abstractmethod
    def _no_item(self, key: Any) -> str:
        """Say that there is no such item, and which there are."""

    def __getitem__(self, key: KeyT) -> PartT:
        """Look up the result of an item, by any of its names."""
        position = self._position(key)
        if position is None:
            raise KeyError(self._no_item(key))
        return self._parts[position]

    def __iter__(self) -> Iterator[KeyT]:
        """List the keys of the items in order."""
        return iter(self._keys)

    def __len__(self) -> int:
        """Count the items."""
        return len(self._keys)

    def values(self) -> ValuesView[PartT]:
        """List the results of the items."""
        return self._by(self._keys).values()

    def items(self) -> ItemsView[KeyT, PartT]:
        """List the keys with the results of the items."""
        return self._by(self._keys).items()

    @cached_property
    def _parts(self) -> OnDemand[int, PartT]:
        """The results of the items, by position."""
        return OnDemand(lambda at: self._derived(self._part(at), "__getitem__", self._keys[at]))

    @cached_property
    def _of_each(self) -> OnDemand[str, tuple[Any, ...]]:
        """The values of the items, by metric."""
        return OnDemand(lambda name: tuple(one._number(name) for one in self.values()))

    def _each(self, name: str, level: float) -> Readings:
        """Read a metric of each item."""
        z, numbers = normal_quantile(level), zip(self.values(), self._of_each[name], strict=True)
        return Readings.of([one._reading(one._rows[name], number, z) for one, number in numbers])

    def _by(self, keys: Iterable[KeyT]) -> dict[KeyT, PartT]:
        """Map keys or other names of all items to their results."""
        return {key: self._parts[at] for at, key in enumerate(keys)}


class OfClasses(OfItems[Label, PartT]):
    """The base of results of K classes: a mapping from the label of each to its result.

    A key may be a display name, a label or the text of a label, in this order, as in the name of a
    metric such as ``recall[cat]``: reports and tables show display names. So one that is also the
    label of another class finds the class that bears it as a name; `items` has the right one.
    """

    __slots__ = ()

    @property
    @abc.abstractmethod
    def labels(self) -> tuple[Label, ...]:
        """The labels of the classes, in order."""

    @property
    @abc.abstractmethod
    def class_names(self) -> tuple[Label, ...]:
        """The display names of the classes; by default the labels."""

    @property
    def _keys(self) -> tuple[Label, ...]:
        return self.labels

    def _position(self, key: Any) -> int | None:
        return class_position(key, self.class_names, self.labels)

    def _no_item(self, key: Any) -> str:
        return f"no class {key!r}: {nearest(str(key), map(str, self.class_names))}"

    def _named_class(self, of: str, averages: Iterable[str]) -> PartT:
        """Look up the class in the name of a metric."""
        position = self._position(of)
        if position is None:
            raise self._unknown_class(of, averages)
        return self._parts[position]

    def _unknown_class(self, of: str, averages: Iterable[str]) -> UnknownMetricError:
        """Make the error about an unknown class or average."""
        known = [*map(str, self.class_names), *averages]
        return UnknownMetricError(f"no class {of!r}: {nearest(of, known)}")
