"""Where the sampling intervals of a result come from if its rows depend on each other."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import attrs
import numpy as np

from streameval.configs.cached import Cached
from streameval.errors import InvalidInputError
from streameval.exact.array_types import Array, Indices
from streameval.metrics.bounded import Bounded, Interval
from streameval.metrics.intervals import hull, jackknife_interval, jackknife_variance
from streameval.render.text import plural


@attrs.frozen(slots=False, repr=False)
class Clusters(Cached):
    """The groups of clusters behind a result, and the intervals that follow from them.

    Parameters
    ----------
    column : str
        The column that says which cluster a row belongs to.
    table : object
        The groups: its `n_groups` have rows, and its methods `each` and `left_out` make the
        accumulators of the rows in each and outside each.
    member : int
        Which accumulator of a collection the result is of.
    path : tuple of (method, arguments)
        How the result is reached from that of the accumulator.
    """

    column: str
    table: Any
    member: int = 0
    path: tuple[tuple[str, tuple[Any, ...]], ...] = ()

    def part(self, method: str, *args: Any) -> Clusters:
        """Return the groups behind the result that a method of this one returns."""
        made = attrs.evolve(self, path=(*self.path, (method, args)))
        made.__dict__["_whole"] = self  # so that its left-out results are computed once
        return made

    @cached_property
    def _whole(self) -> Clusters:
        return attrs.evolve(self, path=self.path[:-1])

    @cached_property
    def left_out(self) -> list[Any]:
        """The results without each of the groups; None for parts that do not exist then."""
        if not self.path:
            return [one.compute() for one in self.table.left_out(self.member)]
        method, args = self.path[-1]
        return [None if one is None else _part(one, method, args) for one in self._whole.left_out]

    def groups_of(self, queries: Array) -> Indices:
        """Return the group that has each query of a ranking that keeps its queries."""
        groups: dict[Any, int] = {}
        for group, accumulator in self.table.each(self.member):
            ids = accumulator.compute().per_query()["query"]
            groups |= dict.fromkeys(ids.tolist(), group)
        return np.array([groups[query] for query in queries.tolist()], dtype=np.intp)

    @property
    def note(self) -> str:
        """Say that the intervals are clustered."""
        groups = plural(self.table.n_groups, "group", "groups")
        return f"Intervals are for clusters ({self.column}), in {groups}."

    @property
    def entry(self) -> dict[str, Any]:
        """The entry of the JSON object."""
        return {"column": self.column, "groups": self.table.n_groups}

    def interval(
        self,
        number: Any,
        read: Callable[[Any], Any],
        limits: Interval,
        z: float,
        plain: tuple[Any, Any] | None = None,
    ) -> tuple[Any, Any]:
        """Compute the sampling interval of a number, or of each of several.

        Parameters
        ----------
        number : float, array or tuple
            What was read of the result of all rows.
        read : callable
            Reads the same of a result without a group.
        limits : (low, high)
            The lowest and the highest possible value.
        z : float
            The number of deviations of the interval.
        plain : (low, high), optional
            The interval of independent rows, or those of several numbers.
        """
        without = self._without(read)

        def ends(value: Any, others: Sequence[Any], plain: Any) -> tuple[float, float]:
            sides = _sides(value, others)
            return hull([jackknife_interval(*side, limits, z, plain) for side in sides])

        if not isinstance(number, (np.ndarray, tuple)):
            return ends(number, without, plain)
        plains = [None] * len(number) if plain is None else [*zip(*plain, strict=True)]
        pairs = [
            ends(one, [_item(all_, at) for all_ in without], plains[at])
            for at, one in enumerate(number)
        ]
        low, high = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
        return low, high

    def stderr(self, number: Any, read: Callable[[Any], Any]) -> float:
        """Compute the standard error of a number, or the larger one of its bounds."""
        sides = _sides(number, self._without(read))
        return max(math.sqrt(jackknife_variance(*side)) for side in sides)

    def _without(self, read: Callable[[Any], Any]) -> list[Any]:
        return [math.nan if one is None else read(one) for one in self.left_out]


class StandardErrors(dict[str, float]):
    """Standard errors by name, which a call reads too: ``stderr("map")`` is ``stderr["map"]``."""

    def __call__(self, name: str) -> float:
        """Look up the standard error of a measure."""
        return self[name]


def _part(result: Any, method: str, args: tuple[Any, ...]) -> Any:
    """Return a part of a result; None if it lacks the class, or a bound cannot be read."""
    try:
        found = getattr(result, method)
        return found(*args) if callable(found) else found
    except (KeyError, InvalidInputError):
        return None


def _item(numbers: Any, at: int) -> Any:
    """Return one of several numbers; nan if there are not as many."""
    return numbers[at] if isinstance(numbers, (np.ndarray, tuple)) else numbers


def _sides(value: Any, others: Sequence[Any]) -> list[tuple[float, list[float]]]:
    """List the numbers with those without each group: at both bounds too if they are not exact."""
    if not any(isinstance(one, Bounded) and not one.exact for one in (value, *others)):
        return [(float(value), [float(one) for one in others])]
    bounds = [one if isinstance(one, Bounded) else Bounded(one) for one in (value, *others)]
    ends = zip(*((one.low, float(one), one.high) for one in bounds), strict=True)
    return [(first, rest) for first, *rest in ends]


def clustered(result: Any, clusters: Clusters | None) -> Any:
    """Give a result clustered intervals; that of a user-defined class may have none."""
    attach = getattr(result, "with_clusters", None)
    return result if attach is None else attach(clusters)
