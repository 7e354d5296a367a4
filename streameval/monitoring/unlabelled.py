"""Rows without a label by pane and slice: what the coverage of a slice needs beside its counts.

A state knows the weight of all rows of a pane, but slices hold labelled rows alone. So a monitor
counts every row a second time, with the labels the other way round: rows without a label are
counted in slices of the same options, and those with one in the weight of their pane alone. Both
accumulators have the same panes, whatever the order of rows, and are stored by the same commit.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import attrs
import numpy as np

from streameval.accumulators.confusion import ConfusionAccumulator
from streameval.accumulators.grouped_batches import Batch
from streameval.accumulators.sliced import Sliced
from streameval.accumulators.windowed import Windowed
from streameval.inputs.coded import CodedTexts
from streameval.states.panes import live

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from streameval.states.panes import Span


def empty_beside(windowed: Windowed) -> Windowed | None:
    """Make what counts the rows without a label; None if there are no slices."""
    config, inner = windowed._config, windowed._inner
    if inner.cls is not Sliced:
        return None
    options = inner.options
    slices = Sliced(
        ConfusionAccumulator(),
        _columns(len(options.column)),
        values=options.values,
        max_values=options.max_values,
    )
    return Windowed(
        slices,
        pane=config.pane,
        keep=config.keep,
        rollups=config.rollups,
        offset=config.offset,
    )


def note_rows(beside: Windowed, windowed: Windowed, batch: Mapping[str, Any]) -> None:
    """Count a batch that another accumulator has accepted."""
    config = windowed._config
    given = Batch.of(batch, None, config.accumulator)
    missing, weights = given.without_truth(), given.weights()
    columns = windowed._inner.options.column
    if missing is None:
        truths = np.full(given.size, np.nan)
        nothing = CodedTexts(np.zeros(given.size, dtype=np.int64), [""])
        slices = dict.fromkeys(_columns(len(columns)), nothing)
    else:
        truths = np.where(missing, 0.0, np.nan)
        slices = {
            own: batch[column] for own, column in zip(_columns(len(columns)), columns, strict=True)
        }
    rows = {"time": batch[config.time], **slices, "y_true": truths, "y_pred": np.zeros_like(truths)}
    beside.update(rows, sample_weight=weights)


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
    def of_pane(cls, span: Span, beside: Windowed | None) -> Self | None:
        """Find the rows of a pane.

        Parameters
        ----------
        span : Span
        beside : Windowed, optional
            The rows without a label.

        Returns
        -------
        SliceRows, or None
            None if there are no slices, or some rows were not counted by slice: a checkpoint of
            an older release had them.
        """
        if beside is None:
            return None
        own = beside.view().spans(span.start, span.end)
        if not own or own[-1].n_rows != span.n_rows:
            return None
        return cls(span.part, own[-1].part)

    @classmethod
    def of_window(
        cls, held: Windowed, beside: Windowed | None, width: Any, end: Any
    ) -> Self | None:
        """Find the rows of a window that can be read; None as in `of_pane`."""
        if beside is None:
            return None
        size = held._config.length(width, name="width")
        start = end - (size if held._config.is_step else np.timedelta64(size, "us"))
        if beside.newest is None or beside.n_rows(start, end) != held.n_rows(start, end):
            return None
        return cls(held.window(width, end), beside.window(width, end))

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


def _columns(number: int) -> list[str]:
    return [f"slice{at}" for at in range(number)]
