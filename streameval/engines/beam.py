"""Evaluation in Beam pipelines: a CombineFn, for all elements, for each key, in any window."""

from __future__ import annotations

# The engine may be missing where types are checked.
# pyright: reportMissingImports=false
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

from streameval.accumulators.merging import merge
from streameval.engines._counting import Make, SourceCounter

try:
    import apache_beam as beam
except ImportError as error:
    raise ImportError('apache-beam is missing: pip install "streameval[beam]".') from error

__all__ = ["EvaluateFn"]

_MAX_PENDING_ROWS = 1000

Held = tuple[Any, list[Mapping[str, Any]]]
"""An accumulator, and pending rows, to be counted as one batch."""


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
        self._counting = SourceCounter.of(make, columns, None, options)
        self._rows = rows

    def create_accumulator(self) -> Held:
        """Return an empty accumulator."""
        return self._counting.make(), []

    def add_input(self, mutable_accumulator: Held, element: Any) -> Held:
        """Count a batch, or add a row to those pending."""
        accumulator, pending = mutable_accumulator
        if not self._rows:
            self._counting.update(accumulator, element)
            return mutable_accumulator
        pending.append(element if isinstance(element, Mapping) else element._asdict())
        if len(pending) < _MAX_PENDING_ROWS:
            return mutable_accumulator
        return self.compact(mutable_accumulator)

    def merge_accumulators(self, accumulators: Iterable[Held]) -> Held:
        """Merge into a new accumulator, and leave the given ones as they are."""
        counted = map(self._with_pending, accumulators)
        return merge(chain([self._counting.make()], counted)), []

    def compact(self, accumulator: Held) -> Held:
        """Count the pending rows."""
        return self._with_pending(accumulator), []

    def extract_output(self, accumulator: Held) -> Any:
        """Count the pending rows and return the accumulator."""
        return self._with_pending(accumulator)

    def _with_pending(self, held: Held) -> Any:
        accumulator, pending = held
        if not pending:
            return accumulator
        names = self._counting.names(pending[0])
        batch = {name: [row.get(name) for row in pending] for name in names}
        counted = accumulator.copy()  # an accumulator that is merged must not change
        self._counting.update(counted, batch)
        return counted
