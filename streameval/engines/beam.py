"""Evaluation in Beam pipelines: a CombineFn, for all elements, for each key, in any window."""

from __future__ import annotations

# The engine may be missing where types are checked.
# pyright: reportMissingImports=false
from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any

import attrs

from streameval.accumulators.parts import merge
from streameval.engines._counting import Make, OptionalColumns, SourceCounter, same_layout

try:
    import apache_beam as beam
except ImportError as error:
    raise ImportError('apache-beam is missing: pip install "streameval[beam]".') from error

__all__ = ["EvaluateFn"]

_MAX_PENDING_ROWS = 1000


@attrs.frozen
class Bundle:
    """The accumulator of a bundle, and its pending rows.

    Parameters
    ----------
    counted : accumulator
        What has been counted.
    layout : OptionalColumns
        Which optional columns the rows or batches have.
    pending : list of mapping
        Rows of equal columns, to be counted as one batch.
    """

    counted: Any
    layout: OptionalColumns = attrs.field(factory=dict)
    pending: list[Mapping[str, Any]] = attrs.field(factory=list)


class EvaluateFn(beam.CombineFn):  # type: ignore[misc] # it is Any to the type checker
    """Combine rows, or batches of them, into one accumulator.

    For ``beam.CombineGlobally`` and ``beam.CombinePerKey``. The output is the accumulator, the
    same bytes as in one process.

    Parameters
    ----------
    make : callable
        Returns an empty accumulator, and can be pickled: a class, a `functools.partial`, or the
        method `copy` of an empty accumulator.
    columns : mapping from argument to column, optional
        The columns of `update` arguments that have other names.
    options : mapping, optional
        Keyword arguments of `update`, such as ``{"partial": True}`` for rankings.
    rows : bool
        Whether an element is a row, a mapping from column to value or a named tuple; rows are
        counted by the thousand. Otherwise it is a batch: a mapping from column to array, a data
        frame or an Arrow table.
    missing_columns : {"raise", "default"}
        What happens where some rows or batches have an optional column, such as `sample_weight`,
        and others do not: they are refused, however the runner bundles them; or each is counted
        with the columns that it has.

    Raises
    ------
    InvalidInputError
        When an argument breaks a rule. A row that is refused raises it in the pipeline.
    BadDataError
        In the pipeline, when some rows or batches lack an optional column.

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
        missing_columns: str = "raise",
    ) -> None:
        self._counter = SourceCounter.of(make, columns, None, options, missing_columns)
        self._rows = rows

    def create_accumulator(self) -> Bundle:
        """Return an empty accumulator."""
        return Bundle(self._counter.make())

    def add_input(self, mutable_accumulator: Bundle, element: Any) -> Bundle:
        """Count a batch, or add a row to those pending."""
        held = mutable_accumulator
        if not self._rows:
            return self._with_batch(held, element)
        row = element if isinstance(element, Mapping) else element._asdict()
        if held.pending and held.pending[0].keys() != row.keys():
            held = self.compact(held)  # rows of a batch have the same columns
        held.pending.append(row)
        return held if len(held.pending) < _MAX_PENDING_ROWS else self.compact(held)

    def merge_accumulators(self, accumulators: Iterable[Bundle]) -> Bundle:
        """Merge into a new accumulator, and leave the given ones as they are."""
        held = list(map(self.compact, accumulators))
        nothing: OptionalColumns = {}
        layout = reduce(same_layout, (one.layout for one in held), nothing)
        return Bundle(merge([self._counter.make(), *(one.counted for one in held)]), layout)

    def compact(self, accumulator: Bundle) -> Bundle:
        """Count the pending rows."""
        rows = accumulator.pending
        if not rows:
            return accumulator
        batch = {name: [row[name] for row in rows] for name in self._counter.names(rows[0])}
        copy = attrs.evolve(accumulator, counted=accumulator.counted.copy(), pending=[])
        return self._with_batch(copy, batch, "a row")

    def extract_output(self, accumulator: Bundle) -> Any:
        """Count the pending rows and return the accumulator."""
        return self.compact(accumulator).counted

    def _with_batch(self, held: Bundle, batch: Any, name: str = "a batch") -> Bundle:
        """Count a batch, and note which optional columns it has."""
        found = same_layout(held.layout, self._counter.layout_of(batch, name))
        self._counter.update(held.counted, batch)
        return attrs.evolve(held, layout=found)
