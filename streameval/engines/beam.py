"""Evaluation in Beam pipelines: a CombineFn, for all elements, for each key, in any window."""

from __future__ import annotations

# The engine may be missing where types are checked.
# pyright: reportMissingImports=false
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

from streameval.accumulators.merging import merge
from streameval.engines._counting import Counting, Make

try:
    import apache_beam as beam
except ImportError as error:
    raise ImportError('apache-beam is missing: pip install "streameval[beam]".') from error

__all__ = ["EvaluateFn"]

_WAITING_ROWS = 1000

Held = tuple[Any, list[Mapping[str, Any]]]
"""An accumulator, and rows that wait to be counted as one batch."""


class EvaluateFn(beam.CombineFn):  # type: ignore[misc] # it is Any to the type checker
    """Combine rows, or batches of them, into one accumulator.

    For ``beam.CombineGlobally`` and ``beam.CombinePerKey``. The output is the accumulator, the
    same bytes as in one process.

    Parameters
    ----------
    make : callable
        Gives an empty accumulator, and pickles: a class, a `functools.partial`, or the method
        `copy` of an empty accumulator.
    columns : mapping from argument to column, optional
        The columns of arguments of `update` that do not bear their names.
    options : mapping, optional
        Keyword arguments of `update`, such as ``{"partial": True}`` for rankings.
    rows : bool
        Whether an element is a row, a mapping from column to value or a named tuple; rows are
        counted by the thousand. Otherwise it is a batch: a mapping from column to array, a data
        frame or an Arrow table.

    Raises
    ------
    InvalidInputError
        When an argument breaks a rule. A row that is refused raises it in the pipeline.

    Examples
    --------
    >>> import apache_beam as beam
    >>> import streameval as se
    >>> from streameval.engines.beam import EvaluateFn
    >>> rows = [{"y_true": 1, "y_pred": 1}, {"y_true": 0, "y_pred": 1}]
    >>> with beam.Pipeline("DirectRunner") as pipeline:
    ...     counted = (
    ...         pipeline
    ...         | beam.Create(rows)
    ...         | beam.CombineGlobally(EvaluateFn(se.ConfusionAccumulator, rows=True))
    ...         | beam.Map(lambda acc: print(acc.compute().accuracy))
    ...     )
    0.5
    """

    def __init__(
        self,
        make: Make,
        *,
        columns: Mapping[str, str] | None = None,
        options: Mapping[str, Any] | None = None,
        rows: bool = False,
    ) -> None:
        self._counting = Counting.of(make, columns, None, options)
        self._rows = rows

    def create_accumulator(self) -> Held:
        """Begin with nothing."""
        return self._counting.make(), []

    def add_input(self, mutable_accumulator: Held, element: Any) -> Held:
        """Count a batch, or let a row wait for others."""
        accumulator, waiting = mutable_accumulator
        if not self._rows:
            self._counting.update(accumulator, element)
            return mutable_accumulator
        waiting.append(element if isinstance(element, Mapping) else element._asdict())
        if len(waiting) < _WAITING_ROWS:
            return mutable_accumulator
        return self.compact(mutable_accumulator)

    def merge_accumulators(self, accumulators: Iterable[Held]) -> Held:
        """Merge into a new one; those that are given may be used again."""
        counted = map(self._counted, accumulators)
        return merge(chain([self._counting.make()], counted)), []

    def compact(self, accumulator: Held) -> Held:
        """Count what waits."""
        return self._counted(accumulator), []

    def extract_output(self, accumulator: Held) -> Any:
        """Give the accumulator."""
        return self._counted(accumulator)

    def _counted(self, held: Held) -> Any:
        accumulator, waiting = held
        if not waiting:
            return accumulator
        names = self._counting.names(waiting[0])
        batch = {name: [row.get(name) for row in waiting] for name in names}
        counted = accumulator.copy()  # an accumulator that is merged must not change
        self._counting.update(counted, batch)
        return counted
