"""Several models on the same rows: which is best, and which may be as good."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import attrs

from streameval.configs.cached import Comparable
from streameval.configs.names import nearest
from streameval.configs.options import one_of
from streameval.errors import InvalidInputError, UnknownMetricError
from streameval.metrics.bounded import Interval
from streameval.metrics.intervals import normal_quantile
from streameval.metrics.table import Reading
from streameval.render.blocks import Dots
from streameval.render.plots import PlotRequest, draw
from streameval.render.sheets import Grid, Section, Sheet, SheetColumn, reading_columns
from streameval.render.text import chance_title, plural
from streameval.results.names import MetricName, metric_name
from streameval.results.result import Reported
from streameval.results.tables import (
    Columns,
    passed_on,
    to_latex,
    to_markdown,
    to_pandas,
    to_polars,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SMALLEST_SHOWN = 0.0001  # of p-values
_UNITS = {"row": ("row",), "query": ("query", "queries")}


@attrs.frozen(kw_only=True)
class ModelDifference(Comparable):
    """A metric of one model minus that of another, on the same rows.

    Parameters
    ----------
    a, b : str
        The models.
    difference : float
        The metric of `a` minus that of `b`.
    interval : (low, high)
        Its sampling interval, for this difference alone; nan where there is none.
    pvalue, holm_pvalue : float
        The two-sided p-value, by itself and corrected for the number of differences; nan where
        there is no test. Of p-values with certified bounds, the highest possible ones are
        corrected.
    t_pvalue, holm_t_pvalue : float, optional
        The same of the paired t-test, for rankings.
    """

    a: str
    b: str
    difference: float
    interval: Interval
    pvalue: float
    holm_pvalue: float
    t_pvalue: float | None = None
    holm_t_pvalue: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Map names to values; without the t-test where there is none."""
        held = attrs.asdict(self).items()
        return {
            name: float(value) if isinstance(value, float) else value
            for name, value in held
            if value is not None
        }


@attrs.frozen(kw_only=True)
class MeasureComparison(Comparable):
    """Several models by one metric.

    Parameters
    ----------
    measure : str
        The metric.
    better : {"higher", "lower", ""}
        Which values are better, if any are.
    level : float
        The level of the intervals; tests are at 1 minus this.
    values : dict of float
        The metric of each model; nan where rows do not define it.
    intervals : dict of (low, high)
        Its sampling interval; nan where there is none.
    differences : tuple of ModelDifference
        Each pair of models.
    """

    measure: str
    better: Literal["higher", "lower", ""]
    level: float
    values: dict[str, float]
    intervals: dict[str, Interval]
    differences: tuple[ModelDifference, ...]

    @property
    def best(self) -> str | None:
        """The model with the best value, the first of equals; None if there is none."""
        known = self._known
        if not known or not self.better:
            return None
        choose = max if self.better == "higher" else min
        return choose(known, key=known.__getitem__)

    @property
    def _known(self) -> dict[str, float]:
        """The models with a value."""
        return {model: value for model, value in self.values.items() if not math.isnan(value)}

    @property
    def indistinguishable(self) -> tuple[str, ...]:
        """The other models that the tests cannot tell from the best, in order.

        The probability that a model is left out though it is as good as the best is at most 1
        minus the level, for all models together and although the data chose the best: Holm's
        correction is for every pair.
        """
        best, alpha = self.best, 1.0 - self.level
        if best is None:
            return ()
        apart = {
            model
            for one in self.differences
            for model in (one.a, one.b)
            if best in (one.a, one.b) and one.holm_pvalue <= alpha
        }
        return tuple(model for model in self._known if model != best and model not in apart)

    def as_dict(self) -> dict[str, Any]:
        """Nest everything in plain numbers and texts, as JSON has it."""
        return {
            "best": self.best,
            "indistinguishable": list(self.indistinguishable),
            "values": {model: float(value) for model, value in self.values.items()},
            "intervals": {model: list(ends) for model, ends in self.intervals.items()},
            "differences": [one.as_dict() for one in self.differences],
        }

    def _verdicts(self) -> list[str]:
        """Say of each model whether it is the best."""
        best = self.best
        if best is None:
            return [""] * len(self.values)
        said = dict.fromkeys(self.values, "undefined") | dict.fromkeys(self._known, "worse")
        said |= dict.fromkeys(self.indistinguishable, "not distinguishable")
        return [*(said | {best: "best"}).values()]

    def _readings(self) -> dict[str | None, Reading]:
        """Read the value of each model, and each difference in either order."""
        readings: dict[str | None, Reading] = {
            model: reading_of(value, self.intervals[model]) for model, value in self.values.items()
        }
        for one in self.differences:
            low, high = one.interval
            readings[f"{one.a} - {one.b}"] = reading_of(one.difference, one.interval)
            readings[f"{one.b} - {one.a}"] = reading_of(-one.difference, (-high, -low))
        return readings

    def _rows(self, per: str) -> list[dict[str, Any]]:
        """List the rows of a table."""
        key = {"measure": self.measure}
        if per == "pair":
            return [key | _with_ends(one.as_dict()) for one in self.differences]
        return [
            key
            | {"model": model, "value": float(value)}
            | ends_of(self.intervals[model])
            | {"verdict": verdict}
            for (model, value), verdict in zip(self.values.items(), self._verdicts(), strict=True)
        ]

    def _grids(self, *, has_intervals: bool) -> tuple[Grid, Grid]:
        """Lay out the models, and their differences."""
        pairs = self.differences

        def measured(pairs: Iterable[tuple[float, Interval]]) -> list[SheetColumn]:
            readings = [Reading(float(one), ends if has_intervals else None) for one, ends in pairs]
            return reading_columns("value", readings, self.level)

        models = Grid(
            [
                SheetColumn.of_names("model", self.values),
                *measured((one, self.intervals[model]) for model, one in self.values.items()),
                SheetColumn(["verdict", *self._verdicts()], is_left=True),
            ]
        )
        names = [f"{one.a} - {one.b}" for one in pairs]
        differences = Grid(
            [SheetColumn.of_names("difference", names)],
            [
                measured((one.difference, one.interval) for one in pairs),
                [
                    _pvalues("p", [one.pvalue for one in pairs]),
                    _pvalues("Holm's p", [one.holm_pvalue for one in pairs]),
                ],
                [
                    _pvalues("t-test's p", [one.t_pvalue for one in pairs]),
                    _pvalues("Holm's p", [one.holm_t_pvalue for one in pairs]),
                ],
            ],
        )
        return models, differences


@attrs.frozen(repr=False, eq=False)
class ModelComparison(Reported, Mapping[str, MeasureComparison]):
    """Several models on the same rows or queries: a `MeasureComparison` for each metric, by name.

    Made by `CollectionResult.comparison`, for what `Paired.of_models` counts, and by `compare`, for
    three or more rankings.

    Parameters
    ----------
    models : tuple of str
        The names, in order.
    level : float
        The level of the intervals; tests are at 1 minus this.
    n : int or float
        The weight of the rows, of the pair with most, or the number of queries that all have.
    n_left_out : int or float
        The number of queries that some of them lack, or the weight of the rows that the pair with
        fewest leaves out because either has no value.
    unit : {"row", "query"}
        What is compared.
    test : str
        What the p-values are.
    """

    models: tuple[str, ...]
    level: float
    n: int | float
    n_left_out: int | float
    unit: Literal["row", "query"]
    test: str
    _measures: Mapping[str, MeasureComparison]

    def __getitem__(self, measure: str) -> MeasureComparison:
        """Look up the comparison by a metric."""
        if measure not in self._measures:
            raise KeyError(f"{measure!r} is not among {', '.join(self._measures)}")
        return self._measures[measure]

    def __iter__(self) -> Iterator[str]:
        """List the metrics."""
        return iter(self._measures)

    def __len__(self) -> int:
        """Return the number of metrics."""
        return len(self._measures)

    def read(self, metric: str | MetricName) -> Reading:
        """Read the value of a model, ``"map[new]"``, or a difference, ``"map[new - old]"``.

        Parameters
        ----------
        metric : str
            A metric, and in brackets a model or a difference of two, in either order.

        Returns
        -------
        Reading
            The value, and its sampling interval if there is one.

        Raises
        ------
        UnknownMetricError
            If there is no such metric, model or difference.
        """
        name = metric_name(metric)
        if name.name not in self._measures:
            raise UnknownMetricError(f"no metric {name.name!r}: {nearest(name.name, self)}")
        readings = self[name.name]._readings()
        if name.of not in readings:
            a, b, *_ = self.models
            raise UnknownMetricError(
                f"{name} is of no model: write {name.name}[{a}] for a value, and "
                f"{name.name}[{a} - {b}] for a difference."
            )
        return readings[name.of]

    def as_dict(self) -> dict[str, Any]:
        """Nest everything in plain numbers and texts, by metric, as JSON has it."""
        return {name: one.as_dict() for name, one in self.items()}

    def table(self, per: Literal["model", "pair"] = "model") -> Columns:
        """Lay the numbers out as columns, for ``pandas.DataFrame`` or ``polars.DataFrame``.

        Parameters
        ----------
        per : {"model", "pair"}
            Whether a row is about a metric of a model, or about its difference of two models.

        Returns
        -------
        dict of lists
            The columns.
        """
        one_of(per, ("model", "pair"), name="per")
        rows = [row for one in self.values() for row in one._rows(per)]
        return {name: [row[name] for row in rows] for name in rows[0]}

    to_pandas = passed_on(table, to_pandas)
    to_polars = passed_on(table, to_polars)
    to_markdown = passed_on(table, to_markdown)
    to_latex = passed_on(table, to_latex)

    def plot(
        self, ax: Axes | None = None, *, measure: str | None = None, label: str | None = None
    ) -> Axes:
        """Draw the differences of the models by one metric; needs matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        measure : str, optional
            The metric, by default the first one.
        label : str, optional
            The name in a legend, if several comparisons share the axes.

        Returns
        -------
        matplotlib Axes
        """
        given = next(iter(self)) if measure is None else measure
        drawn = one_of(given, tuple(self), name="measure")
        readings = {
            f"{one.a} - {one.b}": reading_of(one.difference, one.interval)
            for one in self[drawn].differences
        }
        title = f"{plural(self.n, *_UNITS[self.unit])}, {chance_title(self.level)}s"
        return draw(Dots(title, readings, across=drawn), PlotRequest(ax, label=label))

    def sheet(self, *, has_intervals: bool = True) -> Sheet:
        """Return the content of the report."""
        grids = (
            Section(name, one._grids(has_intervals=has_intervals)) for name, one in self.items()
        )
        return [f"{self._size}, {plural(len(self.models), 'model')}", *grids, self._remark]

    @property
    def _size(self) -> str:
        """Say how much is compared."""
        if self.unit == "row":
            gaps = f", pairs leave out up to {self.n_left_out:,} rows without a value"
            return f"n = {self.n:,}" + (gaps if self.n_left_out else "")
        left_out = f" of all and {self.n_left_out:,} of some, left out" if self.n_left_out else ""
        return plural(self.n, "query", "queries") + left_out

    @property
    def _remark(self) -> str:
        """Say what the p-values are of, and what they decide."""
        pairs = [pair for one in self.values() for pair in one.differences]
        if all(math.isnan(pair.pvalue) for pair in pairs):
            return "There are no tests: there are too few rows, or weights have fractions."
        differences = plural(len(pairs) // len(self), "difference")
        alpha = 1.0 - self.level
        return (
            f"p is {self.test}. Holm's p corrects it for the {differences} of a metric; "
            f"models are worse than the best if it is at most {alpha:.6g}."
        )

    def __repr__(self) -> str:
        """Show the best model by each metric, and those that may be as good."""
        parts = (
            f"{name}={[one.best, *one.indistinguishable]}".replace("[None", "[")
            for name, one in self.items()
        )
        return f"ModelComparison({', '.join(parts)})"


def reading_of(value: float, interval: Interval) -> Reading:
    """Join a value and its sampling interval."""
    return Reading.sampled(value, interval, "weights have fractions")


def check_level(level: float) -> None:
    """Refuse a level that no test can have."""
    normal_quantile(level)
    if not level:
        raise InvalidInputError("must lie in (0, 1), got 0", argument="level")


def _pvalues(heading: str, pvalues: Sequence[float | None]) -> SheetColumn:
    return SheetColumn([heading, *map(_pvalue_text, pvalues)])


def _pvalue_text(pvalue: float | None) -> str:
    if pvalue is None or math.isnan(pvalue):
        return ""
    return f"{pvalue:.4f}" if pvalue >= _SMALLEST_SHOWN / 2.0 else f"<{_SMALLEST_SHOWN:.4f}"


def ends_of(interval: Interval) -> dict[str, float]:
    """Name the ends of an interval as columns."""
    return dict(zip(("interval_low", "interval_high"), interval, strict=True))


def _with_ends(row: dict[str, Any]) -> dict[str, Any]:
    """Replace the interval of a row by its two ends."""
    columns: dict[str, Any] = {}
    for name, value in row.items():
        columns |= ends_of(value) if name == "interval" else {name: value}
    return columns
