"""Contents of pictures, pages and tables as plain values: results make them, `render` lays out.

A `PageContent` is the content of a page about one result. Pages put descriptions of the same
type side by side: their pictures have equal titles.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import compress
from typing import Any, Literal, NamedTuple

import numpy as np

from streameval.exact.array_types import Array, Floats, Ints
from streameval.metrics.bounded import Interval
from streameval.metrics.intervals import normal_quantile, wilson
from streameval.metrics.table import Reading
from streameval.render.charts import Axis, Chart, ChartMark
from streameval.render.text import brief, chance_title

MAX_DRAWN = 8
"""How many lines share a picture: more colours are hard to distinguish."""

Confusions = Literal["count", "rate"]
"""How to rank confused pairs of classes: by examples, or by shares of the true class."""


class Row(NamedTuple):
    """A number in the table of a page.

    Parameters
    ----------
    heading : str
        The name of the number.
    reading : Reading
        The number.
    qualifier : str
        By what it is weighted, which may differ between states.
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
        return qualified(self.heading, [self.qualifier])


def qualified(heading: str, qualifiers: Iterable[str]) -> str:
    """Say by what the numbers under a heading are weighted.

    >>> qualified("Mean AUC (GAUC)", ["impressions", "uniform", "uniform"])
    'Mean AUC (GAUC), by impressions or uniform'
    """
    by = " or ".join(filter(None, dict.fromkeys(qualifiers)))
    return f"{heading}, by {by}" if by else heading


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

    def chart(self, level: float) -> Chart:
        """Draw observed over predicted values; of one diagram, also the examples of each bin."""
        points, sampling, marks = (self.predicted, self.observed), self.sampling(level), []
        if self.share is not None:
            edges = np.linspace(0.0, 1.0, len(self.share) + 1)
            said = "Bars: the share of the examples; numbers: how many."
            bars = ChartMark("shares", edges, self.share, "share of the examples", said=said)
            texts = [*map(brief, self.weight)]
            counts = ChartMark("counts", *points, texts=texts)
            marks = [one._replace(is_alone=True) for one in (bars, counts)]
        ends, perfect = np.array([0.0, 1.0]), "perfectly calibrated"
        marks.append(ChartMark("dashed", ends, ends, perfect, "", f"Dashed: {perfect}.", True))
        marks.append(ChartMark("points", *points, "observed", "{}"))
        if sampling:
            ends, name = np.array(sampling).T, chance_title(level)
            marks.append(
                ChartMark("whiskers", self.predicted, ends, name, said=f"Whiskers: {name}s.")
            )
        top = max(self.top, *(high for _, high in sampling), 0.0)
        return Chart(
            "Reliability diagram",
            Axis(0.0, top, label=self.across),
            Axis(0.0, top, label=self.up),
            marks,
            self.title,
            said="Bins have equal numbers of examples." if self.share is None else "",
            room=1.08,
            legend="upper left",
        )


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


def numbers_of(readings: Sequence[Reading]) -> Floats:
    """Return five rows: the values, the ends of their certified, and of their sampling intervals.

    NaN is no number and no interval.
    """
    nothing = (math.nan, math.nan)
    rows = [(one.value, *one.certified, *(one.sampling or nothing)) for one in readings]
    return np.array(rows, dtype=np.float64).reshape(-1, 5).T


class TimeLine(NamedTuple):
    """A metric over time, of all rows or of a slice.

    Parameters
    ----------
    name : str
        The name of the line in a legend.
    panes : sequence
        The panes, or windows, in order of time; each has its `start`, its `end`, and the weight of
        all rows and of the labelled ones, `n_rows` and `n_labelled`.
    readings : sequence of Reading
        One for each pane; NaN where the metric is undefined.
    n_open : int
        How many of the last panes may get more rows or labels.
    """

    name: str
    panes: Sequence[Any]
    readings: Sequence[Reading]
    n_open: int = 0

    @property
    def edges(self) -> tuple[Array, Array]:
        """The start and the end of each pane."""
        starts, ends = ([getattr(one, at) for one in self.panes] for at in ("start", "end"))
        return np.array(starts), np.array(ends)

    @property
    def has_unlabelled(self) -> bool:
        """Whether some rows have no label."""
        return any(pane.n_labelled != pane.n_rows for pane in self.panes)

    @property
    def coverages(self) -> list[float]:
        """The share of the rows of each pane that have a label."""
        return [pane.n_labelled / pane.n_rows for pane in self.panes]

    @property
    def defined(self) -> TimeLine:
        """The panes that define the metric."""
        are_defined = [math.isfinite(one.value) for one in self.readings]
        panes, readings = (list(compress(part, are_defined)) for part in self[1:3])
        return self._replace(panes=panes, readings=readings)

    def marks(self, level: float) -> list[ChartMark]:
        """Draw the line, its certified intervals as a band, and its sampling intervals."""
        (starts, ends), (values, *certified, bottom, top) = self.edges, numbers_of(self.readings)
        middles = starts + (ends - starts) / 2
        marks = [ChartMark("series", middles, values, self.name)]
        if np.any(certified[0] < certified[1]):
            marks.append(ChartMark("between", middles, np.array(certified), "exact value within"))
        if not np.isnan(bottom).all():
            ends = np.array([bottom, top])
            marks.append(ChartMark("whiskers", middles, ends, chance_title(level)))
        return marks


class OverTime(NamedTuple):
    """A metric over time, of all rows and of slices."""

    metric: str
    lines: Sequence[TimeLine]


class Several(NamedTuple):
    """The pictures of some of the classes by name, in one, how many classes there are; a title."""

    pictures: Mapping[Any, Chart | Reliability]
    of: int
    title: str = ""


class Limits(NamedTuple):
    """What limits the numbers, in sentences."""

    sentences: tuple[str, ...]


Figure = Chart | Reliability | Dots | Matrix | OverTime | Several | Limits


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

    @property
    def classes(self) -> set[Any]:
        """The classes, or outputs, which must mostly be those of a result beside this one."""
        block = self.by_class
        return set(block.rows) if block is not None and block.what in ("class", "output") else set()
