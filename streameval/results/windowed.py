"""The result of `Windowed.over_time`: one result for each pane of time."""

from __future__ import annotations

import bisect
import operator
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import Any, Self

import attrs
import numpy as np

from streameval.configs.cached import Cached, Comparable
from streameval.configs.windowed import WindowedConfig
from streameval.errors import InvalidInputError
from streameval.inputs.values import value_text
from streameval.metrics.table import NO_VALUE, Reading, Table
from streameval.render import plots
from streameval.render.blocks import OverTime, TimeLine
from streameval.render.plots import PlotRequest
from streameval.render.sheets import Grid, Section, Sheet, SheetColumn, reading_columns
from streameval.render.text import numbers, plural, time_text, time_texts
from streameval.results.collection import (
    DECIMALS,
    CollectionResult,
    line_sheet,
    read_or_nan,
)
from streameval.results.names import MetricName, parse_metric
from streameval.results.reading import MemberAxis
from streameval.results.result import Report, Result
from streameval.results.sliced import Search, SlicedResult
from streameval.results.tables import Form, TablePart

BEFORE = "before"
"""The name of the rows that are older than all panes."""

_MAX_LINES = 60
_START = operator.attrgetter("start")

CountedPane = tuple[int | float, Any, SlicedResult | None]
"""The weight of labelled rows, their result, and the results of their slices if there are any."""


@attrs.frozen(eq=False, repr=False, slots=False)
class PaneResult(Cached, Comparable):
    """The result of a span of time, computed when it is first read.

    Parameters
    ----------
    start, end : datetime64[us], int or None
        The rows with ``start <= t < end``; None for the rows before all panes.
    n_rows : int or float
        The weight of all rows, labelled or not.
    """

    start: Any
    end: Any
    n_rows: int | float
    _count: Callable[[], CountedPane]

    @classmethod
    def of(cls, start: Any, end: Any, n_rows: int | float, counted: CountedPane) -> Self:
        """Hold what has been computed."""
        return cls(start, end, n_rows, partial(tuple, counted))

    @property
    def n_labelled(self) -> int | float:
        """The weight of the labelled rows."""
        return self._counted[0]

    @property
    def result(self) -> Any:
        """The result of the labelled rows."""
        return self._counted[1]

    @property
    def slices(self) -> SlicedResult | None:
        """The results of their slices, with the values of the whole; None if there are none."""
        return self._counted[2]

    def read(self, metric: str | MetricName, level: float = 0.95, value: Any = ...) -> Reading:
        """Read a metric of all rows or of a slice; nan without labels, or rows of the class."""
        result = _of(self, value)
        if result is None or not self.n_labelled:
            return NO_VALUE
        return read_or_nan(result, metric, level)

    @cached_property
    def _counted(self) -> CountedPane:
        return self._count()

    def __eq__(self, other: object) -> bool:
        """Compare what has been counted."""
        if not isinstance(other, PaneResult):
            return NotImplemented
        return self._compared == other._compared

    __hash__ = None

    @property
    def _compared(self) -> tuple[Any, ...]:
        return (self.start, self.end, self.n_rows, *self._counted)

    def __repr__(self) -> str:
        """Show the ends and the result."""
        return f"PaneResult({self.start}, {self.end}, {self.result!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return PaneResult.of, (self.start, self.end, self.n_rows, self._counted)


@attrs.frozen(repr=False, eq=False)
class WindowedResult(CollectionResult):
    """The results of panes, or of windows, by the time at which they start.

    Made by `Windowed.over_time`. It maps starts to results of labelled rows, each computed when it
    is first read; ``as_dict`` names a metric as ``time=2026-01-31T12:00:00/accuracy``, and
    ``before/accuracy`` if some rows are older than all panes. `table` has a row for each.

    Attributes
    ----------
    panes : tuple of PaneResult
        `start`, `end`, `n_rows`, `n_labelled`, `result` and `slices` of each, in order of time.
    before : PaneResult or None
        The rows that are older than all panes, if there are any.
    whole : PaneResult
        All rows.

    Examples
    --------
    >>> import streameval as se
    >>> w = se.Windowed(se.ConfusionAccumulator(), pane=10, time="step")
    >>> batch = {"y_true": [1, 1, 0, 1], "y_pred": [1, 0, 0, 0], "step": [3, 8, 11, 25]}
    >>> result = w.update(batch).over_time()
    >>> [(pane.start, pane.n_rows, pane.result.accuracy) for pane in result.panes]
    [(0, 2, 0.5), (10, 1, 1.0), (20, 1, 0.0)]
    >>> result[10].accuracy, result.whole.result.accuracy, result.as_dict()["step=20/accuracy"]
    (1.0, 0.5, 0.0)
    """

    TABLE = Table(task="windowed")
    _SHAPE = "wide"

    _config: WindowedConfig
    panes: tuple[PaneResult, ...]
    before: PaneResult | None
    whole: PaneResult

    @classmethod
    def of(
        cls,
        config: WindowedConfig,
        panes: Sequence[PaneResult],
        before: PaneResult | None,
        whole: PaneResult,
    ) -> Self:
        """Hold the results of panes, and of all rows."""
        return cls((), (), config, tuple(panes), before, whole)

    @property
    def every(self) -> tuple[PaneResult, ...]:
        """The panes, after the rows before them."""
        return self.panes if self.before is None else (self.before, *self.panes)

    def _by_name(self) -> Iterator[tuple[str, Any]]:
        if self.before is not None:
            yield BEFORE, self.before.result
        for pane in self.panes:
            yield f"{self._config.time}={_text(pane.start)}", pane.result

    def __getitem__(self, start: Any) -> Any:
        """Return the result of the pane that starts at a time."""
        try:
            moment = start if self._config.is_step else np.datetime64(start, "us")
            index = bisect.bisect_left(self.panes, moment, key=_START)
        except (TypeError, ValueError):  # not a time
            raise KeyError(f"no pane with rows starts at {start!r}") from None
        if index == len(self) or self.panes[index].start != moment:
            raise KeyError(f"no pane with rows starts at {start!r}")
        return self.panes[index].result

    def __iter__(self) -> Iterator[Any]:
        """List the starts of the panes, in order."""
        return map(_START, self.panes)

    def __len__(self) -> int:
        """Return the number of panes."""
        return len(self.panes)

    def _sheet(self, level: float, max_classes: int) -> Sheet:
        """List a line for each pane, the newest ones, with the headline metrics."""
        if not isinstance(self.whole.result, Result):  # of a user-defined class
            return self._sheets(level, max_classes)
        return self.lines([parse_metric(name) for name in self.headline()], level)

    _REPORT = Report(_sheet)

    def lines(
        self,
        metrics: Sequence[MetricName],
        level: float,
        *,
        values: Sequence[Any] | None = None,
        names: Sequence[str] | None = None,
        more: str = "",
    ) -> Sheet:
        """Lay out a line for each of the newest panes.

        Parameters
        ----------
        metrics : sequence of MetricName
            With slices, each has a table with a column for each value.
        level : float
            The level of the sampling intervals.
        values : sequence, optional
            The values of the slices to show; by default all.
        names : sequence of str, optional
            The names of the windows; by default their starts.
        more : str
            Where the earlier panes are, which have no line.
        """
        shown, hidden = self.every[-_MAX_LINES:], max(len(self.every) - _MAX_LINES, 0)
        title = "start" if names is None else "window"
        if names is None:
            starts = [pane.start for pane in shown if pane.start is not None]
            names = [*["(before)"] * (len(shown) - len(starts)), *time_texts(starts)]
        names, every = ["(all)", *names], [self.whole, *shown]
        notes = [f"and {plural(hidden, 'earlier window')}{more}"] if hidden else []
        notes += [self.whole.result.note] if level else []
        rows = SheetColumn(["rows", *numbers([pane.n_rows for pane in every], DECIMALS)])
        columns = [rows] if self.whole.n_rows != self.whole.n_labelled else []
        results = [pane.result for pane in every]
        if self.whole.slices is None:
            return [*line_sheet(title, names, results, metrics, level, columns), *notes]
        kept = list(self.whole.slices) if values is None else values
        first = [SheetColumn.of_names(title, names), *columns]
        grids = [_pivot(metric, first, every, kept, level) for metric in metrics]
        return [*grids, results[0].scope_of(metrics), *notes]

    def _laid_out(self, per: str | None, form: Form) -> TablePart:
        """Lay out `table`: a row for each pane, or one for each class or group in it."""
        return TablePart.stacked(
            (
                {"start": pane.start, "end": pane.end, "n_rows": pane.n_rows},
                pane.result.laid_out(per, form),
            )
            for pane in (self.every if isinstance(self.whole.result, Result) else ())
        )

    def line(self, metric: str | MetricName, level: float, value: Any = ...) -> TimeLine:
        """Trace a metric over time, of all rows or of a slice; nan where no row defines it."""
        readings = [pane.read(metric, level, value).defined for pane in self.panes]
        return TimeLine("(all)" if value is ... else value_text(value), self.panes, readings)

    def _lines(self, request: PlotRequest) -> OverTime:
        """Show a metric over time, also of slices."""
        names = self.headline() if request.kind is None else (request.kind,)
        if not self.panes or not names:
            raise InvalidInputError("needs a pane with rows", argument="plot")
        lines = self.every_line(parse_metric(names[0]), request.level)
        if request.label is not None:
            lines[0] = lines[0]._replace(name=request.label)
        return OverTime(self.whole.result.heading(names[0]), lines)

    _MEMBERS = MemberAxis(_by_name, _laid_out, lambda one: one.whole.result, _lines)

    def every_line(self, metric: MetricName, level: float) -> list[TimeLine]:
        """Trace a metric of all rows, and of each slice, the worst first."""
        self.whole.result.check(metric)
        search = Search.of(self.whole.slices or {}, metric, 0, self.whole.result)
        order = [*(value for value, _ in search.worst()), *search.undefined]
        return [self.line(metric, level, value) for value in (..., *order)]

    def draw_over_time(self, figure: Any, metric: MetricName, level: float) -> None:
        """Draw a metric of all rows and of slices, and below them the share of labelled rows."""
        shown = OverTime(self.whole.result.heading(metric), self.every_line(metric, level))
        plots.over_time(figure, shown, level)

    def __repr__(self) -> str:
        """Show the result of each pane."""
        shown = {_text(pane.start): pane.result for pane in self.every}
        return f"WindowedResult({shown})"


def _text(start: Any) -> str:
    return BEFORE if start is None else time_text(start)


def _of(pane: PaneResult, value: Any) -> Any:
    """Return the result of a slice of a pane; None without rows."""
    if value is ...:
        return pane.result
    return None if pane.slices is None else pane.slices.get(value)


def _pivot(
    metric: MetricName,
    first: Sequence[SheetColumn],
    every: Sequence[PaneResult],
    values: Sequence[Any],
    level: float,
) -> Section:
    """Lay out one metric: a line for each pane, a column for each value."""
    whole = [read_or_nan(pane.result, metric, level) for pane in every]
    columns = [*first, _values("(all)", whole)]
    groups = [
        [_values(value_text(value), [_read(_of(pane, value), metric, level) for pane in every])]
        for value in values
    ]
    others = [None if pane.slices is None else pane.slices.rest for pane in every]
    if any(one is not None for one in others):
        groups.append([_values("(other)", [_read(one, metric, level) for one in others])])
    return Section(str(metric), [Grid(columns, groups)])


def _read(result: Any, metric: MetricName, level: float) -> Reading | None:
    return None if result is None else read_or_nan(result, metric, level)


def _values(title: str, readings: Sequence[Reading | None]) -> SheetColumn:
    """Write the values of a column, with empty cells where there is no result."""
    return reading_columns(title, readings, 0.0, DECIMALS)[0]
