"""What results of several classes have in common: a result for each class, by label or name."""

from __future__ import annotations

import abc
from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, ValuesView
from functools import cached_property
from typing import Any, TypeVar

from streameval.configs.cached import OnDemand
from streameval.configs.names import nearest
from streameval.errors import UnknownMetricError
from streameval.inputs.classes import Label, class_position
from streameval.results.result import Result

PartT = TypeVar("PartT", bound=Result)

CLASS_DETAILS: dict[str, Callable[[Any, float], Any]] = {
    "classes": lambda result, _: list(result.class_names),
    "labels": lambda one, _: None if one.class_names == one.labels else list(one.labels),
}
"""The names of classes in JSON, and their labels if these differ."""


class OfClasses(Result, Mapping[Label, PartT]):
    """The base of results of K classes: a mapping from the label of each to its result.

    A key may be a display name, a label or the text of a label, in this order, as in the name of a
    metric such as ``recall[cat]``: reports and tables show display names. So one that is also the
    label of another class finds the class that bears it as a name; `items` has the right one.
    """

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment] # results have arrays

    @property
    @abc.abstractmethod
    def labels(self) -> tuple[Label, ...]:
        """The labels of the classes, in order."""

    @property
    @abc.abstractmethod
    def class_names(self) -> tuple[Label, ...]:
        """The display names of the classes; by default the labels."""

    @abc.abstractmethod
    def _part(self, position: int) -> PartT:
        """Make the result of a class."""

    def __getitem__(self, of: Label) -> PartT:
        """Look up the result of a class against the rest, by its label or its display name."""
        position = class_position(of, self.class_names, self.labels)
        if position is None:
            raise KeyError(f"no class {of!r}: {nearest(str(of), map(str, self.class_names))}")
        return self._parts[position]

    def __iter__(self) -> Iterator[Label]:
        """List the labels in order."""
        return iter(self.labels)

    def __len__(self) -> int:
        """Count the classes."""
        return len(self.labels)

    def values(self) -> ValuesView[PartT]:
        """List the results of the classes."""
        return self._by(self.labels).values()

    def items(self) -> ItemsView[Label, PartT]:
        """List the labels with the results of the classes."""
        return self._by(self.labels).items()

    @cached_property
    def _parts(self) -> OnDemand[int, PartT]:
        """The results of the classes, by position."""
        return OnDemand(lambda at: self._derived(self._part(at), "__getitem__", self.labels[at]))

    def _by(self, keys: Iterable[Label]) -> dict[Label, PartT]:
        """Map labels or display names of the classes to their results."""
        return {key: self._parts[at] for at, key in enumerate(keys)}

    def _named_class(self, of: str, averages: Iterable[str]) -> PartT:
        """Look up the class in the name of a metric."""
        position = class_position(of, self.class_names, self.labels)
        if position is None:
            raise self._unknown_class(of, averages)
        return self._parts[position]

    def _unknown_class(self, of: str, averages: Iterable[str]) -> UnknownMetricError:
        """Make the error about an unknown class or average."""
        known = [*map(str, self.class_names), *averages]
        return UnknownMetricError(f"no class {of!r}: {nearest(of, known)}")
