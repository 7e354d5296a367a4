"""Score tables of the values of queries, three for each measure that has quantiles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt

from streameval.exact.fixed_point import FixedPoint
from streameval.states.cells import Cells
from streameval.states.column import Column

Floats = npt.NDArray[np.float64]

TABLES = 3
"""For each measure: the values known exactly, and the lower and upper bounds of the others."""


@attrs.frozen(eq=False)
class QuerySketches:
    """Cells of values, table after table, each canonical at its level."""

    levels: tuple[int, ...]
    tables: tuple[Cells, ...]

    @classmethod
    def none(cls, n_measures: int) -> Self:
        """Return empty tables for some measures."""
        size = TABLES * n_measures
        return cls((0,) * size, (Cells.none(),) * size)

    @classmethod
    def of(cls, terms: Iterable[tuple[Floats, FixedPoint | None]], budget: int | None) -> Self:
        """Put values with their weights into tables, one for each item."""
        none = Cells.none()
        made = [
            none.with_rows_within(values, "real", np.ones(len(values), bool), weights, 0, budget)
            for values, weights in terms
        ]
        return cls(tuple(level for level, _ in made), tuple(cells for _, cells in made))

    @classmethod
    def read(cls, columns: Sequence[Any]) -> Self:
        """Split the columns of a state, as returned by `columns`."""
        levels, sizes, lo, hi, weight = columns
        ends = np.cumsum(sizes.values).tolist()
        nothing = FixedPoint.zeros(len(lo))
        every = Cells(lo.values, hi.values, weight, nothing)
        starts = (0, *ends[:-1])
        tables = (every[start:end] for start, end in zip(starts, ends, strict=False))
        return cls(tuple(levels.values.tolist()), tuple(tables))

    def columns(self) -> Iterator[Any]:
        """Convert the tables to columns: levels, sizes, both ends of cells, and their weights."""
        cells = _canonical(Cells.concatenated([Cells.none(), *self.tables]))
        yield Column(np.array(self.levels, dtype=np.int64))
        yield Column(np.array([len(table) for table in self.tables], dtype=np.int64))
        yield Column(cells.lo)
        yield Column(cells.hi)
        yield cells.pos

    def joined(self, other: Self, budget: int | None) -> Self:
        """Join table by table, and fit each to the budget."""
        levels = tuple(map(max, self.levels, other.levels))
        pairs = zip(self.tables, other.tables, levels, strict=True)
        made = [mine.joined_within(theirs, level, budget) for mine, theirs, level in pairs]
        return type(self)(tuple(level for level, _ in made), tuple(cells for _, cells in made))

    def fitted(self, budget: int | None) -> Self:
        """Fit each table to the budget."""
        pairs = zip(self.tables, self.levels, strict=True)
        made = [table.fitted(budget, level) for table, level in pairs]
        return type(self)(tuple(level for level, _ in made), tuple(cells for _, cells in made))


def _canonical(cells: Cells) -> Cells:
    """Drop fractions that are all 0."""
    if cells.pos.fraction is None or cells.pos.fraction.any():
        return cells
    return attrs.evolve(cells, pos=FixedPoint(cells.pos.whole))
