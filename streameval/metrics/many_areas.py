"""The areas under many small ROC curves at once, and their variances.

They have the bits of `curves.area_of` and `delong.variance_of`, since all operations are the same
and in the same order. For curves of a hundred cells, this takes a quarter of the time.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from streameval.metrics.delong import variances_of
from streameval.metrics.points import CellTable
from streameval.states.cells import Cells

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Sizes = npt.NDArray[np.int64]

_MAX_CELLS = 1024  # for a larger curve, calls of NumPy cost less than its cells
_AT_ONCE = 128  # curves, so that temporaries are small


def note_areas(tables: Sequence[CellTable]) -> None:
    """Compute the areas and variances of tables for which it pays, and note them there."""
    small = sorted(filter(_is_small, tables), key=_size)
    for start in range(0, len(small), _AT_ONCE):
        _note(small[start : start + _AT_ONCE])


def _is_small(table: CellTable) -> bool:
    """Return whether a table has few cells, of one score and of whole weights."""
    source = table.source
    is_short = isinstance(source, Cells) and 0 < len(source.lo) <= _MAX_CELLS
    return is_short and table.is_whole and table.is_exact


def _size(table: CellTable) -> int:
    return len(table.cells.lo)


def _note(tables: Sequence[CellTable]) -> None:
    """Lay each table out as a row; the cells that short rows lack are empty and change no sum."""
    sizes = np.array([*map(_size, tables)])
    is_cell = np.arange(sizes.max()) < sizes[:, None]
    tp = _cumulated([table.pos.whole for table in tables], is_cell)
    fp = _cumulated([table.neg.whole for table in tables], is_cell)
    has_two = np.flatnonzero(np.minimum(tp[:, -1], fp[:, -1]) >= 2)  # of each class
    tp, fp = tp[has_two], fp[has_two]
    areas = _areas(tp, fp, is_cell[has_two], sizes[has_two])
    variances = variances_of(tp, fp).ravel().tolist()
    for index, area, variance in zip(has_two.tolist(), areas, variances, strict=True):
        tables[index].areas.update(roc_auc=area, auc_variance=variance)


def _cumulated(counts: Sequence[Sizes], is_cell: Mask) -> Floats:
    rows = np.zeros(is_cell.shape, dtype=np.int64)
    rows[is_cell] = np.concatenate(counts)
    return rows.cumsum(axis=1).astype(np.float64)


def _areas(tp: Floats, fp: Floats, is_cell: Mask, sizes: Sizes) -> list[float]:
    """Compute the area under each row of points, as `curves.roc_auc` does."""
    is_corner = is_cell & (_turns(tp, sizes) | _turns(fp, sizes))
    ends = np.cumsum(np.count_nonzero(is_corner, axis=1))
    x, y = (fp / fp[:, -1:])[is_corner], (tp / tp[:, -1:])[is_corner]
    x_before, y_before = np.append(0.0, x)[:-1], np.append(0.0, y)[:-1]
    x_before[ends[:-1]] = y_before[ends[:-1]] = 0.0
    parts = (x - x_before) * (y + y_before) / 2.0
    runs = itertools.pairwise([0, *ends.tolist()])
    return [float(parts[start:end].sum()) for start, end in runs]


def _turns(cumulated: Floats, sizes: Sizes) -> Mask:
    """Return where a step differs from the one before; the ends of each row always do."""
    steps = np.full((len(sizes), cumulated.shape[1] + 1), np.nan)
    steps[:, 1:-1] = cumulated[:, 1:] - cumulated[:, :-1]
    steps[np.arange(len(sizes)), sizes] = np.nan
    turns: Mask = steps[:, 1:] != steps[:, :-1]
    return turns
