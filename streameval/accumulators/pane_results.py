"""The results of an accumulator of one span of time: of all rows, and of slices."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from streameval.accumulators.collection import heaviest
from streameval.accumulators.sliced import Sliced
from streameval.results.windowed import CountedPane, PaneResult


def results_of(accumulator: Any, kept: Iterable[Any] | None = None) -> tuple[Any, Any]:
    """Compute the result of all rows, and the results of slices, or None.

    Parameters
    ----------
    accumulator : accumulator
        With slices or without.
    kept : iterable of values, optional
        The slices to show; the others are merged into that of other values.
    """
    if not isinstance(accumulator, Sliced):
        return accumulator.compute(), None
    shown = accumulator if kept is None else accumulator.view().only(set(kept)).copy()
    return accumulator.total().compute(), shown.compute()


def pane_result(
    start: Any, end: Any, n_rows: int | float, part: Any, kept: Collection[Any] | None = None
) -> PaneResult:
    """Compute the results of a span of time, from its accumulator, with some of the slices."""
    return PaneResult.of(start, end, n_rows, counted(part, kept))


def counted(part: Any, kept: Collection[Any] | None) -> CountedPane:
    """Return the weight of an accumulator, its result, and the results of its slices."""
    return (heaviest(part.n), *results_of(part, kept))
