"""Contents of pictures, pages and tables as plain values: results make them, `render` lays out.

A `PageContent` is the content of a page about one result. Pages put descriptions of the same
type side by side: their pictures have equal titles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from streameval.exact.array_types import Array, Floats, Ints
from streameval.metrics.bounded import Bounded, Interval
from streameval.metrics.intervals import normal_quantile, wilson
from streameval.metrics.table import Reading

MAX_DRAWN = 8
"""How many lines share a picture: more colours are hard to distinguish."""

Line = tuple[Floats, Floats]
Confusions = Literal["count", "rate"]
"""How to rank confused pairs of classes: by examples, or by shares of the true class."""


def thinned(x: Floats, y: Floats, limit: int) -> Line:
    """Keep at most `limit` points that are evenly spaced along the line."""
    if len(x) <= limit:
        return x, y
    length = np.cumsum(np.abs(np.diff(x, prepend=x[0])) + np.abs(np.diff(y, prepend=y[0])))
    indices = np.searchsorted(length, np.linspace(0.0, length[-1], limit))
    kept = np.unique(np.append(np.minimum(indices, len(x) - 1), [0, len(x) - 1]))
    return x[kept], y[kept]


class Row(NamedTuple):
    """A number in the table of a page.

    Parameters
    ----------
    heading : str
        The name of the number.
    reading : Reading
        The number.
    qualifier : str
        Text after the heading, which may differ between states.
    is_rare : bool
        Whether the row is left out if the number is 0 in all states.
    better : {"higher", "lower", ""}
        The better direction, if there is one.
    """

    heading: str
    reading: Reading
    qualifier: str = ""
    is_rare: bool = False
    better: str = ""

    @property
    def name(self) -> str:
        """The heading with the qualifier, for sentences about one result."""
        return f"{self.heading} {self.qualifier}".rstrip()


class ByClass(NamedTuple):
    """The numbers of each class, group or other item.

    Parameters
    ----------
    columns : sequence of str
        What the numbers are.
    rows : mapping from class to Readings
        The numbers of each.
    what : str
        The name of the items, one per row.
    title, caption : str
        Above and below the table.
    weights : mapping from class to number, optional
        The number of examples of each.
    position : {"below", "beside", "under"}
        Whether the table has its own line, is beside the metrics, or is directly under them.
    drawn : tuple of str
        The columns that are drawn as dots if there are more than two classes, which the first of
        them orders: the lowest number comes first.
    """

    columns: Sequence[str]
    rows: Mapping[Any, Sequence[Reading]]
    what: str = "class"
    title: str = "By class"
    caption: str = ""
    weights: Mapping[Any, float] | None = None
    position: Literal["below", "beside", "under"] = "below"
    drawn: tuple[str, ...] = ()


class Matrix(NamedTuple):
    """A confusion matrix, rows truth and columns prediction; the title sums it up."""

    labels: Sequence[Any]
    counts: Array
    title: str = ""

    def row_shares(self) -> Floats:
        """Divide each row by its total; empty rows stay zeros."""
        totals = self.counts.sum(axis=1, keepdims=True, dtype=np.float64)
        shares = np.zeros(self.counts.shape)
        np.divide(self.counts, totals, out=shares, where=totals > 0)
        return shares

    def confused(self, by: Confusions = "count") -> list[tuple[int, int]]:
        """List the pairs of a true and a predicted class that were confused, the worst first.

        They are ranked by examples, or by their share of the true class.
        """
        wrong, shares = self.counts.copy(), self.row_shares()
        np.fill_diagonal(wrong, 0)
        np.fill_diagonal(shares, 0)
        first, second = (wrong, shares) if by == "count" else (shares, wrong)
        order = np.lexsort((-second.ravel(), -first.ravel()))  # the last key counts first
        n_confused = np.count_nonzero(wrong)
        return [divmod(index, len(wrong)) for index in order[:n_confused].tolist()]


class BandedLine(NamedTuple):
    """A curve, and the band that contains the exact curve.

    Parameters
    ----------
    line : (x, y)
        The estimate, which is the curve itself while it is exact.
    outline : (x, y), optional
        A polygon around the area between the extreme data sets; None for an exact curve.
    """

    line: Line
    outline: Line | None

    @property
    def top(self) -> float:
        """What a vertical axis must reach: the values on the left, often of a few rows, may not."""
        x, y = self.line
        highest = float(y[x >= LEFT].max(initial=0.0))
        return highest if highest < LOW else 1.0


LEFT, LOW = 0.05, 0.3
"""Where the values on the left end, and how high others are if the axis ends with them."""


class Curves(NamedTuple):
    """What the lines show: names of the axes, and the area that summarizes a line.

    Parameters
    ----------
    title : str
        Of the picture.
    across, up : str
        What the axes are.
    area : str
        The name of the area under each line; empty if none summarizes it.
    title_of_several : str
        Above the curves of classes.
    chance : {"diagonal", "level", ""}
        The line of scores that say nothing, if it is drawn: of
        precision it is level, at the share of positives, where the lines end.
    is_normal : bool
        Whether the axes are rates on normal scales; else they are shares.
    is_fitted : bool
        Whether the vertical axis ends with the values if these are low.
    """

    title: str
    across: str
    up: str
    area: str = ""
    title_of_several: str = ""
    chance: Literal["diagonal", "level", ""] = ""
    is_normal: bool = False
    is_fitted: bool = False

    def chance_line(self, lines: Iterable[BandedLine | None]) -> Line | None:
        """Return the line of chance, if there is one that all lines share."""
        ends = np.array([0.0, 1.0])
        if self.chance != "level":
            return (ends, ends) if self.chance else None
        levels = {float(one.line[1][-1]) for one in lines if one is not None}
        return (ends, np.full(2, levels.pop())) if len(levels) == 1 else None


class CurveLine(NamedTuple):
    """What a line shows, the line, None for no curve, and the area under it."""

    curves: Curves
    line: BandedLine | None
    area: float


class Reliability(NamedTuple):
    """Predictions and labels by bin of the prediction.

    Parameters
    ----------
    predicted, observed, weight : array, shape (occupied,)
        The mean prediction, the mean label and the examples of each bin that holds any.
    share : float64 array, shape (B,), optional
        The share of all examples in each bin of equal width; None for bins of equal weight.
    are_draws : bool
        Whether the examples of a bin are independent, so that Wilson's interval is of them.
    across, up : str
        What the axes are: predictions and labels.
    title : str
        Of the picture by itself.
    """

    predicted: Floats
    observed: Floats
    weight: Ints | Floats
    share: Floats | None
    are_draws: bool
    across: str
    up: str
    title: str

    @property
    def top(self) -> float:
        """What both axes must reach: 1, or less where bins have equal weights."""
        if self.share is not None:
            return 1.0
        return min(1.0, 1.05 * float(max(self.predicted.max(), self.observed.max())))

    def sampling(self, level: float) -> list[Interval]:
        """Compute Wilson's interval of each bin; fractional weights and clusters have none."""
        weight = np.asarray(self.weight, dtype=np.float64)
        if not (level and self.are_draws) or np.any(weight != np.rint(weight)):
            return []
        z = normal_quantile(level)
        return [wilson(rate, n, z) for rate, n in zip(self.observed, weight, strict=True)]


class ScoreShares(NamedTuple):
    """Where the scores of each class lie.

    Parameters
    ----------
    edges : float64 array, shape (B + 1,)
        The ends of bins of equal width.
    positives, negatives : float64 array, shape (B,)
        The share of the class in each bin.
    """

    edges: Floats
    positives: Floats
    negatives: Floats


class Spread(NamedTuple):
    """The AUCs of the groups where they are defined, and their mean.

    Parameters
    ----------
    areas : float64 array
    mean : Bounded
        The mean, by the weights.
    weights : float64 array
        The weight of each group.
    up : str
        What the weights are shares of.
    """

    areas: Floats
    mean: Bounded
    weights: Floats
    up: str


class Dots(NamedTuple):
    """Numbers on one axis, by name.

    Parameters
    ----------
    title : str
        Above the picture.
    readings : mapping from name to Reading
        The numbers.
    across : str
        What they are.
    is_share : callable
        Tells whether the number of a name lies in [0, 1].
    """

    title: str
    readings: Mapping[str, Reading]
    across: str = ""
    is_share: Callable[[str], bool] = lambda _: False


class PanePoint(NamedTuple):
    """A metric in one span of time.

    Parameters
    ----------
    start, end : datetime64[us] or int
        The rows with ``start <= t < end``.
    rows, labelled : float
        The weight of all rows, and of the labelled rows.
    reading : Reading
        NaN where the metric is undefined.
    is_open : bool
        Whether more rows or labels may come.
    """

    start: Any
    end: Any
    rows: float
    labelled: float
    reading: Reading
    is_open: bool = False


class TimeLine(NamedTuple):
    """A metric over time, of all rows or of a slice.

    Parameters
    ----------
    name : str
        The name of the line in a legend.
    panes : sequence of PanePoint
        The panes, or windows, in order of time.
    """

    name: str
    panes: Sequence[PanePoint]

    @property
    def edges(self) -> tuple[Array, Array]:
        """The start and the end of each pane."""
        starts, ends = ([getattr(one, at) for one in self.panes] for at in ("start", "end"))
        return np.array(starts), np.array(ends)

    @property
    def middles(self) -> Array:
        """The middle of each pane."""
        starts, ends = self.edges
        middles: Array = starts + (ends - starts) // 2
        return middles

    @property
    def values(self) -> Floats:
        """The value in each pane."""
        return np.array([float(one.reading.value) for one in self.panes])

    @property
    def certified(self) -> tuple[Floats, Floats]:
        """The ends of the certified intervals; for an exact number, both are the number."""
        return _ends([one.reading.certified for one in self.panes])

    @property
    def sampling(self) -> tuple[Floats, Floats]:
        """The ends of the sampling intervals; NaN where there is none."""
        return _ends([one.reading.sampling or (np.nan, np.nan) for one in self.panes])


def _ends(pairs: Sequence[Interval]) -> tuple[Floats, Floats]:
    ends = np.array(pairs, dtype=np.float64).reshape(-1, 2)
    return ends[:, 0], ends[:, 1]


class OverTime(NamedTuple):
    """A metric over time, of all rows and of slices."""

    metric: str
    lines: Sequence[TimeLine]


class Several(NamedTuple):
    """The pictures of some of the classes by name, in one, and how many classes there are."""

    pictures: Mapping[Any, Figure]
    of: int


class Limits(NamedTuple):
    """What limits the numbers, in sentences."""

    sentences: tuple[str, ...]


Figure = (
    CurveLine | Reliability | ScoreShares | Spread | Dots | Matrix | OverTime | Several | Limits
)


class PageContent(NamedTuple):
    """The content of a page about a result.

    Parameters
    ----------
    heading : str
        The task.
    rows : mapping from name to Row
        The metrics.
    common_heading : str
        The heading of several results whose headings differ.
    title : str
        Above the table of metrics.
    headline : sequence of str
        The names of the first ones to read.
    caption, common_caption : str
        The text below the table, for one result and for several with different captions.
    by_class : ByClass, optional
        The numbers of the classes.
    above, beside, below : sequence of figures
        Pictures by their position relative to the table; None if there is nothing to draw.
    form : object
        What must be equal, besides the classes, for numbers to be comparable.
    classes : tuple
        The classes.
    """

    heading: str
    rows: Mapping[str, Row]
    common_heading: str = ""
    title: str = "Metrics"
    headline: Sequence[str] = ()
    caption: str = ""
    common_caption: str = ""
    by_class: ByClass | None = None
    above: Sequence[Figure | None] = ()
    beside: Sequence[Figure | None] = ()
    below: Sequence[Figure | None] = ()
    form: object = None
    classes: tuple[Any, ...] = ()
