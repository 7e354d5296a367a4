"""What a picture of a curve shows, as arrays: lines, bands and bars."""

from __future__ import annotations

from collections.abc import Callable
from statistics import NormalDist

import attrs
import numpy as np
import numpy.typing as npt

from streameval.metrics import curves
from streameval.metrics.points import CellTable, Points
from streameval.metrics.thresholds import outcome_at

__all__ = [
    "BandedLine",
    "Line",
    "ScoreShares",
    "det",
    "pr",
    "roc",
    "score_shares",
    "thinned",
]

Floats = npt.NDArray[np.float64]
Line = tuple[Floats, Floats]

_MOST_POINTS = 2_000
_HISTOGRAM_BINS = 50


@attrs.frozen(eq=False)
class BandedLine:
    """A curve, and the band in which the exact one lies.

    Parameters
    ----------
    line : (x, y)
        The estimate, which is the curve itself while it is exact.
    outline : (x, y), optional
        A polygon around all that lies between the extreme data sets; None of an exact curve.
    """

    line: Line
    outline: Line | None


@attrs.frozen(eq=False)
class ScoreShares:
    """Where the scores of each class lie.

    Parameters
    ----------
    edges : float64 array, shape (B + 1,)
        The ends of bins of equal width.
    positives, negatives : float64 array, shape (B,)
        How much of the class each bin holds.
    """

    edges: Floats
    positives: Floats
    negatives: Floats


def pr(table: CellTable) -> BandedLine:
    """Trace precision over recall, of a table that holds both classes."""
    return _banded(table, _pr_line, upper=_pr_steps)


def roc(table: CellTable) -> BandedLine:
    """Trace the true over the false positive rate, of a table that holds both classes."""
    return _banded(table, _roc_line)


def det(table: CellTable) -> BandedLine:
    """Trace the false negative over the false positive rate, both on normal scales."""
    return _banded(table, _det_line)


def score_shares(table: CellTable) -> ScoreShares:
    """Share out the scores of each class among bins; a cell is filled evenly."""
    ends = np.concatenate([table.lo, table.hi])
    finite = ends[np.isfinite(ends)]
    low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 1.0)
    halves = np.linspace(low / 2, high / 2 if high > low else low / 2 + 0.5, _HISTOGRAM_BINS + 1)
    edges = 2 * halves  # the whole span might be infinite
    from_each = [*edges[:-1], np.nextafter(edges[-1], np.inf)]  # the last bin is closed
    outcomes = np.array([outcome_at(table, edge).estimate for edge in from_each], dtype=np.float64)
    totals = table.estimate.n_pos, table.estimate.n_neg
    positives, negatives = (
        -np.diff(part) / (total or 1.0) for part, total in zip(outcomes.T, totals, strict=True)
    )
    return ScoreShares(edges, positives, negatives)


def thinned(x: Floats, y: Floats, most: int = _MOST_POINTS) -> Line:
    """Keep points that are evenly spaced along the line: a picture has not more of them."""
    if len(x) <= most:
        return x, y
    length = np.cumsum(np.abs(np.diff(x, prepend=x[0])) + np.abs(np.diff(y, prepend=y[0])))
    places = np.searchsorted(length, np.linspace(0.0, length[-1], most))
    kept = np.unique(np.append(np.minimum(places, len(x) - 1), [0, len(x) - 1]))
    return x[kept], y[kept]


def _banded(
    table: CellTable,
    line: Callable[[Points], Line],
    upper: Callable[[Points], Line] | None = None,
) -> BandedLine:
    """Trace the estimate, and what lies between the extreme data sets."""
    estimate = thinned(*line(table.estimate))
    if table.is_exact:
        return BandedLine(estimate, None)
    low, high = thinned(*line(table.low)), thinned(*(upper or line)(table.high))
    x, y = (np.concatenate([a, b[::-1]]) for a, b in zip(low, high, strict=True))
    return BandedLine(estimate, (x, y))


def _roc_line(points: Points) -> Line:
    fpr, tpr, _ = curves.roc_curve(points)
    return fpr, tpr


def _pr_line(points: Points) -> Line:
    """List recall and precision, from a recall of 0 on."""
    recall, precision = points.recall, points.precision
    return np.append(0.0, recall), np.append(precision[0], precision)


def _pr_steps(points: Points) -> Line:
    """Give each recall the precision at the next point.

    As true positives come in, precision rises along a line that is curved upwards: it passes
    the straight one, but not its own end.
    """
    recall, precision = _pr_line(points)
    return np.repeat(recall, 2)[:-1], np.repeat(precision, 2)[1:]


def _det_line(points: Points) -> Line:
    """List the error rates that are neither 0 nor 1, on normal scales."""
    fpr, tpr, _ = curves.roc_curve(points)
    inside = (fpr > 0) & (fpr < 1) & (tpr > 0) & (tpr < 1)
    quantile = np.vectorize(NormalDist().inv_cdf, otypes=[float])
    x, y = thinned(fpr[inside], 1.0 - tpr[inside])
    return quantile(x), quantile(y)
