"""How many rows the slices of a pane have, labelled or not: what their coverage needs."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import attrs

from streameval.accumulators.sealed import live

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from streameval.accumulators.panes import Pane
    from streameval.accumulators.sliced import Sliced


@attrs.frozen
class Weights:
    """The weight of the labelled rows of a slice, and of all its rows."""

    labelled: int | float
    rows: int | float

    @property
    def coverage(self) -> float:
        """The share of the rows with a label; NaN without rows."""
        return self.labelled / self.rows if self.rows else math.nan


@attrs.frozen(slots=False)
class SliceRows:
    """How many rows the slices of a pane, or of a window, have, labelled or not.

    Parameters
    ----------
    _labelled, _unlabelled : Sliced, Sealed or None
        What holds the rows by slice.
    """

    _labelled: Any = attrs.field(repr=False)
    _unlabelled: Any = attrs.field(repr=False)

    @classmethod
    def of_pane(cls, pane: Pane) -> Self | None:
        """Find the rows of a pane, or of several merged ones.

        Returns
        -------
        SliceRows, or None
            None if there are no slices, or some rows were not counted by slice: a state of an
            older release had them.
        """
        return cls(pane.part, pane.unlabelled) if pane.is_known else None

    def of(self, value: Any, labelled: int | float | None = None) -> Weights | None:
        """Weigh a slice; None if rows of its value may be among the others.

        Parameters
        ----------
        value : value of the column, or tuple of them
        labelled : int or float, optional
            The weight of its labelled rows, if it has a slice of them and that is known.
        """
        return self._weighed(lambda part: _weight_of(part, value), labelled)

    def without(self, values: Collection[Any]) -> Weights | None:
        """Weigh all rows but those of some slices; None if that is not known."""
        return self._weighed(lambda part: _weight_without(part, values))

    @cached_property
    def unlabelled(self) -> Any:
        """The rows without a label by slice; None while there are none."""
        return live(self._unlabelled)

    @cached_property
    def _live(self) -> tuple[Any, Any]:
        return live(self._labelled), self.unlabelled

    def _weighed(
        self, weigh: Callable[[Any], int | float | None], labelled: int | float | None = None
    ) -> Weights | None:
        mine, others = self._live
        if labelled is None:
            labelled = 0 if mine is None else weigh(mine)
        unlabelled = 0 if others is None else weigh(others)
        if labelled is None or unlabelled is None:
            return None
        return Weights(labelled, labelled + unlabelled)


def _weight_of(part: Sliced, value: Any) -> int | float | None:
    view = part.view()
    if value in view.parts:
        return view.parts[value].weight
    return 0 if view.other is None or value in part._config.named else None


def _weight_without(part: Sliced, values: Collection[Any]) -> int | float | None:
    if any(_weight_of(part, value) is None for value in values):
        return None
    view = part.view()
    others = [one.weight for value, one in view.parts.items() if value not in values]
    return sum(others) + (0 if view.other is None else view.other.weight)
