"""What all results have in common: their metrics by name, and how these are shown."""

from __future__ import annotations

import abc
import math
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import attrs
import numpy as np

from streameval.configs.cached import Cached, OnDemand
from streameval.configs.names import closest, listed, nearest
from streameval.configs.other_names import our_name
from streameval.errors import InvalidInputError, Named, UnknownMetricError
from streameval.metrics.bounded import Bounded, Interval
from streameval.metrics.evidence import Statistic, refuse_fractions
from streameval.metrics.intervals import UNDEFINED, normal_quantile
from streameval.metrics.table import UNLIMITED, Metric, Reading, Table, average_in
from streameval.render.blocks import PageContent, Row
from streameval.render.sheets import (
    Sheet,
    columns_grid,
    latex,
    markdown,
    reading_grid,
    sheet_html,
    sheet_text,
)
from streameval.render.text import WIDTH, check_count
from streameval.results.clusters import Clusters
from streameval.results.findings import is_limit
from streameval.results.metric_values import MetricValue
from streameval.results.names import MetricName, metric_name
from streameval.results.tables import (
    Columns,
    Form,
    ItemAxis,
    PerItem,
    Shape,
    TablePart,
    TableRow,
    by_metric,
    form_of,
    no_axis,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Comparable:
    """The base of results: equal if class and fields are, whatever has been computed so far.

    A nan equals a nan. Results cannot be hashed, because accumulators cannot.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        """Compare class and fields."""
        if type(self) is not type(other):
            return NotImplemented
        return _have_same_fields(self, other)

    __hash__ = None  # type: ignore[assignment]


def _have_same_fields(one: Any, other: Any) -> bool:
    names = (field.name for field in attrs.fields(type(one)))
    return all(_are_same(getattr(one, name), getattr(other, name)) for name in names)


def _are_same(one: Any, other: Any) -> bool:  # noqa: PLR0911 - one for each type of part
    """Compare parts of results; those without an equality of their own by their fields."""
    if one is other:
        return True
    if _is_mapping(one) and _is_mapping(other):  # results of slices may be computed on demand
        items = ((one[key], other[key]) for key in one)
        return one.keys() == other.keys() and all(_are_same(*pair) for pair in items)
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(map(_are_same, one, other))
    if attrs.has(type(one)) and not _defines_equality(type(one)):
        return _have_same_fields(one, other)
    return bool(one == other) or (one != one and other != other)  # noqa: PLR0124 - nan


def _is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping) and not isinstance(value, Comparable)


def _defines_equality(cls: type[Any]) -> bool:
    return any("__eq__" in vars(base) for base in cls.__mro__[:-1])


class Reported(Comparable):
    """The base of comparisons and tests, which text and notebooks show by one sheet."""

    __slots__ = ()

    @abc.abstractmethod
    def sheet(self) -> Sheet:
        """Return the content of the report."""

    def report(self) -> str:
        """Lay the numbers out as text."""
        return sheet_text(self.sheet())

    def __str__(self) -> str:
        """Show the report."""
        return self.report()

    def _repr_html_(self) -> str:
        return sheet_html(self.sheet())


Number = int | float

ResultT = TypeVar("ResultT", bound="Result")

MAX_SHOWN = 50
"""How many classes have their own line in a report, at most."""

_NAMED = ("class", "output", "model")
"""The items whose metrics have names of their own, as in ``recall[cat]``."""


def _no_findings(result: Any) -> Iterator[str]:  # noqa: ARG001 - of any result
    yield from ()


@attrs.frozen(repr=False, eq=False, slots=False)
class Result(Cached, Comparable):
    """The base of every result.

    Everything here reads `TABLE`, which has a row for each metric. The row alone makes a metric an
    attribute if the class does not define one.

    Attributes
    ----------
    clusters : Clusters, optional
        The source of sampling intervals if rows depend on each other; None if they do not.
    """

    _clusters: Clusters | None = attrs.field(default=None, kw_only=True)

    TABLE: ClassVar[Table] = Table()
    TASK: ClassVar[str] = ""
    """The task of the command line that computes such results."""
    IS_TASK: ClassVar[bool] = True
    """Whether the command line counts files into such results."""
    MADE_BY: ClassVar[str] = ""
    """The class of the accumulators that compute such results."""
    SIZE: ClassVar[str] = "n"
    """The attribute with the number of examples or queries."""
    PICTURES: ClassVar[tuple[str, ...]] = ()
    """The available pictures, the default first."""
    ALONE: ClassVar[str] = ""
    """Why a picture shows only one result, if it does."""
    _SHAPE: ClassVar[Shape] = "long"
    """The shape of a table without `per`."""
    _FINDINGS: ClassVar[Any] = staticmethod(_no_findings)
    """Yields the sentences on what limits the numbers of a result."""
    _PER_ITEM: ClassVar[PerItem | None] = None
    """The items that a result of this class consists of, if there are any."""
    _PAGE: ClassVar[Mapping[str, Any]] = {}
    """The fields of `PageContent` besides `rows`, or functions of the result and the level."""
    _DETAILS: ClassVar[Mapping[str, Callable[[Any], Any]]] = {}
    """The entries of the JSON object besides metrics and items; one that is None is left out."""
    TERMS: ClassVar[str] = ""
    """Definitions of the words in the meanings of the metrics."""

    @property
    def _source(self) -> Any:
        """The object that the functions of the table read."""
        return self

    @property
    def _rows(self) -> Table:
        """The rows of this result: those of its class, and of what was requested."""
        return self.TABLE

    def value(self, name: str, *args: Any, **options: Any) -> Any:
        """Compute a metric by name, with arguments behind or within it: ``recall_at(0.5)``."""
        return self._named(name, args, options).value()

    def read(self, metric: str | MetricName, *, level: float = 0.95) -> Reading:
        """Read a metric, or a class or an average of it: the value and its uncertainty.

        Parameters
        ----------
        metric : str
            As on the command line: ``"accuracy"``, ``"recall[macro]"``, ``"recall_at(0.5)"``,
            ``"member/roc_auc"``.
        level : float
            The level of the sampling interval, in [0, 1); 0 leaves it out.

        Raises
        ------
        InvalidInputError
            If the metric, class or average does not exist, or its argument or the level is out of
            range.
        """
        z = normal_quantile(level)  # refuses an invalid level even if there is no interval
        if isinstance(metric, str):
            row, source = self._rows.get(metric), self._source
            if row is not None and not row.needs_argument and row.listed(source):
                return self._reading(row, row.value(source), z)
        return self.asked(metric).read(z)

    @classmethod
    def _prepare(cls, results: Sequence[Any], metrics: Sequence[MetricName]) -> None:
        """Compute what reading metrics of several results needs, where that is faster at once."""

    def _prepare_alike(self, results: Sequence[Any]) -> None:
        """Compute for results what reading this one has computed, where that is faster at once."""

    def statistic(self, metric: str | MetricName) -> Statistic:
        """Return the statistic for an anytime-valid test of a metric; see `evidence`.

        Raises
        ------
        InvalidInputError
            If the metric, class or average does not exist or has no such test; the message says
            why.
        """
        asked = self.asked(metric)
        if asked.result._clusters is not None:
            raise InvalidInputError(
                "has no evidence for clusters: it is about rows that are independent",
                argument=str(metric),
                remedy="Its interval, for one look, is that of clusters.",
            )
        return asked.row.statistic(asked.result._source, *asked.args, **asked.options)

    def confidence(
        self, name: str, *args: Any, level: float = 0.95, **options: Any
    ) -> tuple[Any, Any]:
        """Compute the sampling interval of a metric, for its value in the population.

        Parameters
        ----------
        name : str
            A metric, named as for `read`.
        *args, **options
            Its arguments, if it takes some.
        level : float
            The coverage probability, in [0, 1); 0 gives the value itself, twice, or its certified
            bounds.

        Returns
        -------
        (low, high)
            The whole range of the metric where the rows do not say how far off it may be, such as
            a single one; nan only where the metric is. Two arrays where the arguments ask for
            several numbers.

        Raises
        ------
        InvalidInputError
            For an unknown metric, one without a sampling interval, a level outside [0, 1), or
            weights with fractions: whole weights are repeats of an example, but a fraction of an
            example is not a draw.
        """
        normal_quantile(level)  # refuses an invalid level, whatever the name
        return self._named(name, args, options).interval(level)

    def stderr(self, name: str, *args: Any, **options: Any) -> float:
        """Compute the standard error of a metric of clusters.

        Parameters
        ----------
        name : str
            A metric, named as for `read`.
        *args, **options
            Its arguments, if it takes some.

        Returns
        -------
        float
            nan where the metric is undefined, or with fewer than two groups of clusters.

        Raises
        ------
        InvalidInputError
            For an unknown metric, a count, or a result of independent rows.
        """
        asked = self._named(name, args, options)
        clusters = asked.result._clusters
        if clusters is None:
            raise InvalidInputError(
                "has a standard error only in a result for clusters",
                argument=name,
                remedy="Count with se.Clustered.",
            )
        if asked.row.is_count:
            raise InvalidInputError(
                "is a count of the sample and has no standard error", argument=name
            )
        return clusters.stderr(asked.value(), asked.of)

    def with_clusters(self, clusters: Clusters | None) -> Self:
        """Give the result clustered intervals; None for those of independent rows."""
        return attrs.evolve(self, clusters=clusters)

    def _derived(self, result: ResultT, method: str, *args: Any) -> ResultT:
        """Give a result that a method has derived from this one the clusters of this one."""
        if self._clusters is None:
            return result
        return result.with_clusters(self._clusters.part(method, *args))

    def confidence_sequence(self, metric: str, *, level: float = 0.95) -> Interval:
        """Compute the interval that covers a metric of the source at all times at once.

        If the source does not change, its value lies in all these intervals with the probability
        `level`, however often you look while the data grow. A sampling interval promises this for
        one look only, and is narrower.

        Parameters
        ----------
        metric : str
            A proportion, F1 or a mean of a ranking, named as for `read`.
        level : float
            The probability, in [0, 1).

        Returns
        -------
        (low, high)
            Robbins' uniform mixture, which depends on counts alone.

        Raises
        ------
        InvalidInputError
            If the metric has no such interval; the message says why.

        Examples
        --------
        >>> import streameval as se
        >>> acc = se.ConfusionAccumulator()
        >>> result = acc.update([0] * 100, [0] * 95 + [1] * 5).compute()
        >>> [round(end, 3) for end in result.confidence_sequence("accuracy")]
        [0.84, 0.993]
        """
        return self.statistic(metric).interval(level)

    def _named(self, name: Any, args: tuple[Any, ...], options: Mapping[str, Any]) -> Asked:
        """Find what a name asks for, with the arguments behind it."""
        is_whole = isinstance(name, str) and (name in self._rows or not name.endswith("]"))
        metric = MetricName(name) if is_whole else metric_name(name, "name")
        return self._asked(metric, args, options)

    def _asked(
        self, metric: MetricName, args: tuple[Any, ...], options: Mapping[str, Any]
    ) -> Asked:
        """Find what a name asks for: whose metric it is, its row, and its arguments."""
        row, call = self._rows.get(metric.name), None
        if row is None and metric.call is not None and not (args or options):
            row, call = self._rows.get(metric.call[0]), metric.call
        is_called = call is not None and row is not None and row.needs_argument
        if row is None or (call is not None and not is_called):
            raise self._unknown(metric.name)
        if self._why_absent(row.name):
            raise self._unknown(row.name)
        if metric.of is not None:
            raise UnknownMetricError(f"'{metric}': {metric.name} has no averages and no classes.")
        if call is None:
            if args or options:
                row.check_arguments(args, options)
            elif row.needs_argument:
                raise self._unknown(row.name)
            return Asked(self, row, args, options)
        try:
            return Asked(self, row, (float(call[1]),), is_within=True)
        except ValueError:
            raise UnknownMetricError(f"{metric.name!r}: {call[1]!r} is not a number.") from None

    def asked(self, metric: str | MetricName) -> Asked:
        """Find what a name asks for if the metric applies to what was counted.

        Raises
        ------
        UnknownMetricError
            If there is no such metric, class or average here; new classes may still appear.
        """
        return self._lookups[metric] if isinstance(metric, str) else self._find(metric)

    @cached_property
    def _lookups(self) -> OnDemand[str, Asked]:
        """What names ask for, each looked up once."""
        return OnDemand(self._find)

    def _find(self, metric: str | MetricName) -> Asked:
        asked = self._asked(metric_name(metric), (), {})
        if not (asked.is_within or asked.row.listed(asked.result._source)):
            raise asked.result._unknown(asked.row.name)
        return asked

    def check(self, metric: MetricName) -> None:
        """Raise UnknownMetricError for an unknown metric; new classes may still appear."""
        self.asked(metric)

    def readings(self, level: float = 0.95) -> dict[str, Reading]:
        """Read every metric, each computed once."""
        z = normal_quantile(level)  # refuses an invalid level even if there is no interval
        return {
            name: self._reading(self._rows[name], number, z)
            for name, number in self._numbers().items()
        }

    def meaning(self, name: str) -> str:
        """Explain what a metric means."""
        return self._rows[name].meaning

    def as_dict(
        self, *, per_class: bool = False, bounds: bool = False, level: float = 0.0
    ) -> dict[str, int | float]:
        """Flatten to plain numbers for a logger.

        Parameters
        ----------
        per_class : bool
            Whether to add the numbers of each class or output, as ``recall[cat]``.
        bounds : bool
            Whether to add the ends of certified intervals, as ``roc_auc_low`` and
            ``roc_auc_high``.
        level : float
            The level of the sampling intervals to add, in [0, 1), as ``recall_interval_low`` and
            ``recall_interval_high``; 0 leaves them out.
        """
        named = self._whole(level).named(bounds=bounds)
        axes = self._axes() if per_class else {}
        for read in (axes[per] for per in _NAMED if per in axes):
            named |= read(level).named(bounds=bounds)
        return named

    def table(
        self,
        per: str | None = None,
        *,
        bounds: bool = False,
        level: float = 0.0,
        shape: Shape | None = None,
    ) -> Columns:
        """Lay the numbers out as columns, for ``pandas.DataFrame`` or ``polars.DataFrame``.

        Parameters
        ----------
        per : {"class", "output", "group", "item", "model", "query"}, optional
            What the rows are about: each class; each output; each group of `GroupedCurves`; each
            item of a `Catalog`; each model of `Preferences`; each query of a `Ranking` with
            ``per_query=True``. By default, all rows of data.
        bounds : bool
            Whether to add the ends of certified intervals: `low` and `high`, or ``roc_auc_low`` and
            ``roc_auc_high``.
        level : float
            The level of the sampling intervals to add, in [0, 1): `interval_low` and
            `interval_high`, or ``roc_auc_interval_low`` and ``roc_auc_interval_high``. 0 leaves
            them out.
        shape : {"long", "wide"}, optional
            A row for each metric, or a column for each metric. By default long without `per`, and
            wide with it.

        Returns
        -------
        dict of lists
            The columns. In a table of classes, `class` holds the display names, and `label` the
            labels if they have names.
        """
        form = form_of(per, self._SHAPE, shape, bounds=bounds, level=level)
        return self.laid_out(per, form).finished()

    def to_pandas(
        self,
        per: str | None = None,
        *,
        bounds: bool = False,
        level: float = 0.0,
        shape: Shape | None = None,
    ) -> Any:
        """Make a ``pandas.DataFrame`` of `table`; pandas is imported here."""
        import pandas as pd  # noqa: PLC0415 (on request)

        return pd.DataFrame(self.table(per, bounds=bounds, level=level, shape=shape))

    def to_polars(
        self,
        per: str | None = None,
        *,
        bounds: bool = False,
        level: float = 0.0,
        shape: Shape | None = None,
    ) -> Any:
        """Make a ``polars.DataFrame`` of `table`; polars is imported here."""
        import polars as pl  # noqa: PLC0415 (on request)

        return pl.DataFrame(self.table(per, bounds=bounds, level=level, shape=shape))

    def to_markdown(
        self,
        per: str | None = None,
        *,
        bounds: bool = False,
        level: float = 0.0,
        shape: Shape | None = None,
    ) -> str:
        """Write `table` as a table of Markdown."""
        columns = self.table(per, bounds=bounds, level=level, shape=shape)
        return markdown([columns_grid(columns)])

    def to_latex(
        self,
        per: str | None = None,
        *,
        bounds: bool = False,
        level: float = 0.0,
        shape: Shape | None = None,
    ) -> str:
        """Write `table` as a ``tabular`` of LaTeX, with the rules of booktabs."""
        columns = self.table(per, bounds=bounds, level=level, shape=shape)
        return latex(columns_grid(columns))

    def rows(self, per: str | None, bounds: bool) -> list[TableRow]:
        """List the rows of `table`."""
        columns = self.table(per, bounds=bounds)
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def laid_out(self, per: str | None, form: Form) -> TablePart:
        """Lay out `table` in a form."""
        if per is None:
            return self._whole(form.level).laid_out(form)
        axes = self._axes()
        if per not in axes:
            raise no_axis(per, axes)
        return axes[per](form.level).laid_out(form)

    def entries(self, level: float, *, bounds: bool = False) -> dict[str, Any]:
        """Build the JSON object of the result, with certified intervals if requested or open."""
        readings = self.readings(level)
        bounds = bounds or any(reading.is_open for reading in readings.values())
        sampling = {name: reading.sampling for name, reading in readings.items()}
        return {
            **self.subject(),
            "metrics": {name: reading.value for name, reading in readings.items()},
            **self._certainty(readings, bounds=bounds),
            "intervals": {name: ends for name, ends in sampling.items() if ends is not None},
            "level": level,
            **self._details(level, bounds=bounds),
        }

    def subject(self) -> dict[str, Any]:
        """Return the entries of the JSON object about the data: how much was counted."""
        return {"n": getattr(self, self.SIZE), **self._of_clusters}

    def headline(self) -> tuple[str, ...]:
        """Choose the headline metrics."""
        names = self._names()
        chosen = (row.name for row in self._rows.headline)
        return tuple(name for name in chosen if name in names) or tuple(names[:2])

    def measured(self) -> tuple[str, ...]:
        """List the metrics that are counted because `measures` name them."""
        return tuple(name for name in self._names() if self._rows[name].measured)

    def scope_of(self, metrics: Iterable[MetricName]) -> str:  # noqa: ARG002 - for those with averages
        """Name the default class or average of a metric."""
        return ""

    def _sheet(self, level: float, max_classes: int) -> Sheet:  # noqa: ARG002 - for those with some
        """Return the content of the report: the size, and the metrics with their intervals."""
        readings = self.readings(level).items()
        shown = {
            f"{name}{self._rows[name].subtracts}": reading
            for name, reading in readings
            if not reading.is_count
        }
        return [self._sizes, reading_grid(shown, level, caption=self._remark)]

    def findings(self, *, limits_only: bool = False) -> Iterator[str]:
        """Yield sentences on what limits these numbers: few examples, absent classes, bounds.

        Parameters
        ----------
        limits_only : bool
            Whether to leave out the sentence that every number is exact.
        """
        said: Iterator[str] = self._FINDINGS(self)
        if self.note:
            yield self.note
        yield from filter(is_limit, said) if limits_only else said

    def leaves(self) -> dict[str, Any]:
        """Map full names to the results that have no members; that of the result itself is ""."""
        return {"": self}

    def titled(self) -> Iterator[tuple[str, Any]]:
        """Yield the results of the parts after their names, or the result itself."""
        yield "", self

    def explain(self) -> str:
        """Explain in words what limits these numbers, and what would improve them."""
        parts = []
        for title, one in self.titled():
            if one is self:
                parts += ["\n".join(map(_bullet, self.findings()))]
            elif isinstance(one, Result):
                parts.append(f"{title}\n{one.explain()}")
        return "\n\n".join(parts)

    def report(self, *, level: float = 0.95, max_classes: int = MAX_SHOWN) -> str:
        """Lay the result out as a text table of at most 80 columns.

        Parameters
        ----------
        level : float
            The probability of the intervals, in [0, 1); 0 leaves them out.
        max_classes : int
            How many classes, or outputs, have their own line; the report counts the rest.
        """
        normal_quantile(level)  # refuses an invalid level even if no interval is shown
        check_count(max_classes, name="max_classes")
        return sheet_text(self.sheet(level, max_classes))

    def sheet(self, level: float, max_classes: int = MAX_SHOWN) -> Sheet:
        """Return the content of the report, which says of what its intervals are."""
        sheet = self._sheet(level, max_classes)
        return [*sheet, self.note] if self.note and level else sheet

    @property
    def note(self) -> str:
        """Say what the intervals are of if rows depend on each other; empty if they do not."""
        return "" if self._clusters is None else self._clusters.note

    @property
    def _of_clusters(self) -> dict[str, Any]:
        """The entries of the JSON object about clusters, if there are some."""
        return {} if self._clusters is None else {"clusters": self._clusters.entry}

    def text(self, level: float) -> str:
        """Lay the result out as text, with intervals at a level if it has any."""
        return sheet_text(self.sheet(level))

    def plot(self, ax: Axes | None = None, *, kind: Any = None, label: str | None = None) -> Axes:  # noqa: ARG002
        """Draw the result; needs matplotlib (``pip install streameval[plot]``).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        kind : str, optional
            Which picture, if there are several.
        label : str, optional
            The name in a legend, if several results share the axes.

        Returns
        -------
        matplotlib Axes

        Raises
        ------
        InvalidInputError
            If there is nothing to draw.
        """
        raise InvalidInputError(f"has nothing to draw in a {type(self).__name__}", argument="plot")

    def draw(self, ax: Axes, kind: str, label: str | None) -> None:
        """Draw one of `PICTURES`; with a label, as one of several."""
        self.plot(ax, kind=kind, label=label)

    def __str__(self) -> str:
        """Show the report."""
        return self.text(0.95)

    def _repr_html_(self) -> str:
        return sheet_html(self.sheet(0.95))

    def described(self, level: float) -> PageContent:
        """Describe the result for a page, the counts first; the members describe a collection."""
        rows = {
            name: Row(
                row.heading,
                self._on_page(row, reading),
                row.qualifier(self),
                row.is_rare,
                row.better,
            )
            for name, reading in self.readings(level).items()
            for row in [self._rows[name]]
            if row.heading
        }
        in_order = sorted(rows.items(), key=lambda item: not item[1].reading.is_count)
        said: dict[str, Any] = {
            field: entry(self, level) if callable(entry) else entry
            for field, entry in self._PAGE.items()
        }
        return PageContent(rows=dict(in_order), headline=self.headline(), **said)

    def _on_page(self, row: Metric, reading: Reading) -> Reading:  # noqa: ARG002 - of classes
        """Return what a page shows of a reading."""
        return reading

    if not TYPE_CHECKING:  # pragma: no branch (type checkers read `members.pyi`)

        def __getattr__(self, name: str) -> Any:
            """Compute a metric that has a row but no attribute."""
            table = type(self).TABLE
            if name in table:
                return self._attribute(name)
            message = f"{type(self).__name__!r} object has no attribute {name!r}"
            if name.startswith("_"):
                raise AttributeError(message)
            ours = our_name(name)
            called = [row.name for row in table.called(name)]
            called += [ours] if ours != name and hasattr(type(self), ours) else []
            owners = [] if called else _owners(name, with_tasks=False)
            if owners:
                raise AttributeError(f"{message}: {', '.join(owners)}")
            meant = " or ".join(map(repr, called or closest(name, table)))
            raise AttributeError(f"{message}. Did you mean {meant}?" if meant else message)

    def __dir__(self) -> list[str]:
        absent = {name for name in self.TABLE if self._why_absent(name)}
        held = {*super().__dir__(), *self.TABLE} - HIDDEN - absent
        shown = (name for name in held if not name.startswith("_") or name.endswith("__"))
        return sorted(shown)

    def _why_absent(self, name: str) -> tuple[object, ...]:
        """Explain why a metric was not asked for, in pieces of a message; none for others."""
        row = self.TABLE.get(name)
        return () if row is None or not row.absent or row.listed(self._source) else row.absent

    def _attribute(self, name: str) -> Any:
        """Make an attribute: a method if the metric takes arguments, else its value."""
        why = self._why_absent(name)
        if why:
            raise AttributeError("".join(map(str, why)))
        row = self.TABLE[name]
        if row.averages:
            return MetricValue(partial(row.value, self._source))
        if not row.arguments:
            return self.value(name)

        def method(*args: Any, **options: Any) -> Any:
            return self.value(name, *args, **options)

        method.__name__, method.__doc__ = name, row.meaning
        return method

    @property
    def _remark(self) -> str:
        """The remark below the metrics."""
        return ""

    @property
    def _sizes(self) -> str:
        """Say how much was counted."""
        counts = (row for row in self._rows.listed(self._source) if row.is_count)
        numbers = ((row, self._number(row.name)) for row in counts)
        return ", ".join(
            f"{row.name} = {number:,}" for row, number in numbers if number or not row.is_rare
        )

    def _whole(self, level: float) -> ItemAxis:
        """Read the metrics of the result itself."""
        return ItemAxis({}, by_metric([self.readings(level)]))

    def _axes(self) -> Mapping[str, Callable[[float], ItemAxis]]:
        """Map what the items of the result are called to the function that reads them."""
        return {} if self._PER_ITEM is None else self._PER_ITEM.of(self)

    def _names(self) -> list[str]:
        """List the metrics that this result shows by default."""
        return [row.name for row in self._rows.listed(self._source)]

    def _applicable(self) -> list[str]:
        """List the metrics that apply to this result and need no argument."""
        more = self._rows.listed(self._source, on_request=True)
        return [*self._names(), *(row.name for row in more)]

    def _number(self, name: str) -> Any:
        """Compute one of these metrics."""
        return self._rows[name].value(self._source)

    def _numbers(self) -> dict[str, Any]:
        """Compute all of these metrics."""
        return {name: self._number(name) for name in self._names()}

    def _certainty(self, readings: dict[str, Reading], *, bounds: bool) -> dict[str, Any]:
        """Build the JSON entries that say whether metrics are exact, with bounds if requested."""
        certified = {
            name: reading.certified
            for name, reading in readings.items()
            if isinstance(reading.value, Bounded)
        }
        if not certified:
            return {}
        is_exact = getattr(self, "exact", True)
        return {**({"bounds": certified} if bounds else {}), "exact": is_exact}

    def _details(self, level: float, *, bounds: bool) -> dict[str, Any]:
        """Build the other entries of the JSON object, the last of them about the items."""
        found = {name: read(self) for name, read in self._DETAILS.items()}
        items = {} if self._PER_ITEM is None else self._PER_ITEM.entries(self, level, bounds=bounds)
        return {name: entry for name, entry in found.items() if entry is not None} | items

    def readable(self) -> list[str]:
        """List the names that `read` accepts: metrics shown, on request, and with arguments.

        With classes, a class or an average may follow in brackets.
        """
        rows = (row for row in self._rows.values() if row.needs_argument)
        return [*self._applicable(), *(row.typed for row in rows if not self._why_absent(row.name))]

    def _unknown(self, name: str) -> UnknownMetricError:
        """Make the error about an unknown metric: suggest its name, or the result that has it.

        A known one that was not requested is explained.
        """
        why = self._why_absent(name)
        if why:
            return UnknownMetricError(*why)
        known, meant = self.readable(), self._meant(name)
        called = [] if meant else self.TABLE.called(name)
        owners = [] if meant or name in self.TABLE else _owners(name, besides=type(self))
        if called and not owners:
            return UnknownMetricError(f"{called[0].name} is not defined here. {called[0].meaning}")
        hint = f"{', '.join(owners)}. {listed(known)}" if owners else nearest(name, known, meant)
        return UnknownMetricError(f"no metric {name!r}: {hint}")

    def _meant(self, name: str) -> list[str]:
        """Name the metrics here that match a name or an alias."""
        known, found, average = self.readable(), [], average_in(name)
        for row in self.TABLE.called(name):
            starts = tuple(f"{row.name}{mark}" for mark in "_@(")
            named = [each for each in known if each == row.name or each.startswith(starts)]
            if average in row.averages:  # as in f1_macro
                own = f"{row.name}_{average}"
                named = [own if own in known else f"{row.name}[{average}]", *named]
            found += named[:1]
        return found

    def _reading(self, row: Metric, number: Any, z: float, *args: Any, **options: Any) -> Reading:
        """Combine a number with its sampling interval; at the level 0, whose z is 0, is none."""
        if not z or row.is_count:
            return Reading(number, is_count=row.is_count)
        if self._clusters is not None and row.limits is None:
            return Reading(number)
        ends = self._sampling(row, number, z, *args, **options)
        is_none = ends is None or math.isnan(ends[0])
        return Reading(number, None if is_none else ends, row.why_none)

    def _sampling(
        self, row: Metric, value: Any, z: float, *args: Any, **options: Any
    ) -> tuple[Any, Any] | None:
        """Compute the sampling interval of a value, None if there is none."""
        if self._clusters is not None:
            return self._clustered(row, value, z, *args, **options)
        return self._of_rows(row, value, z, *args, **options)

    def _clustered(
        self, row: Metric, value: Any, z: float, *args: Any, **options: Any
    ) -> tuple[Any, Any]:
        """Compute the sampling interval of a value for clusters."""
        clusters, asked = self._clusters, Asked(self, row, args, options)
        assert clusters is not None  # noqa: S101 - tells the type checker
        plain = self._of_rows(row, value, z, *args, **options)
        return clusters.interval(value, asked.of, row.limits or UNLIMITED, z, plain)

    def _of_rows(
        self, row: Metric, value: Any, z: float, *args: Any, **options: Any
    ) -> tuple[Any, Any] | None:
        """Compute the interval of independent rows; None if there is none."""
        if row.sampling is None:
            return None
        try:
            return row.interval(self._source, value, z, *args, **options)
        except InvalidInputError:  # weights had fractions
            return None


@attrs.frozen
class Asked:
    """What a name asks for, which is all that reading it takes.

    Parameters
    ----------
    result : Result
        The result that has the metric: the one that was asked, or a part of it.
    row : Metric
        Its row there.
    args, options
        The arguments that its functions take.
    is_within : bool
        Whether the name has the argument, as ``recall_at(0.5)``.
    """

    result: Result
    row: Metric
    args: tuple[Any, ...] = ()
    options: Mapping[str, Any] = attrs.field(factory=dict)
    is_within: bool = False

    @property
    def size(self) -> Number:
        """How many examples, or queries, the owner of the metric has counted."""
        size: Number = getattr(self.result, self.result.SIZE)
        return size

    def of(self, result: Result) -> Any:
        """Compute the same of another result of the class."""
        return self.row.value(result._source, *self.args, **self.options)

    def value(self) -> Any:
        """Compute the value."""
        try:
            return self.of(self.result)
        except InvalidInputError as error:  # raised by the metric itself
            if not self.is_within:
                raise
            name = f"{self.row.name}({self.args[0]:g})"
            raise UnknownMetricError(f"{name}: {error}") from None

    def read(self, z: float) -> Reading:
        """Read the value and its uncertainty, whose z is 0 at the level 0."""
        return self.result._reading(self.row, self.value(), z, *self.args, **self.options)

    def interval(self, level: float) -> tuple[Any, Any]:
        """Compute the sampling interval; at the level 0 the ends of the value itself."""
        result, row, value, z = self.result, self.row, self.value(), normal_quantile(level)
        if not z:
            return (value.low, value.high) if isinstance(value, Bounded) else (value, value)
        if row.is_count or (row.sampling if result._clusters is None else row.limits) is None:
            raise self._without()
        if result._clusters is None:
            return row.interval(result._source, value, z, *self.args, **self.options)
        return result._clustered(row, value, z, *self.args, **self.options)

    def _without(self) -> InvalidInputError:
        """Make the error about a metric without a sampling interval: name those that have one."""
        result = self.result
        rows = [row for row in result._rows.values() if row.sampling is not None]
        known = [row.typed for row in rows if row.needs_argument or row.listed(result._source)]
        remedy = f"These have one: {', '.join(known)}." if known else ""
        return InvalidInputError("has no sampling interval", argument=self.row.name, remedy=remedy)


_SHOWN = {
    *("read", "value", "readings", "readable", "confidence", "confidence_sequence", "stderr"),
    *("as_dict", "table", "to_pandas", "to_polars", "to_markdown", "to_latex"),
    *("report", "findings", "explain", "plot"),
}
_OF_SOME = {
    *("described", "of", "leaves", "line", "lines", "every", "draw_over_time"),
}
HIDDEN = {name for name in vars(Result) if not name.startswith("_")} - _SHOWN | _OF_SOME
"""What the rest of the library reads of results, which `dir` leaves out."""


def _bullet(sentence: str) -> str:
    return textwrap.fill(sentence, WIDTH, initial_indent="* ", subsequent_indent="  ")


class SumsResult(Result):
    """The base of results that read a state of sums directly."""

    __slots__ = ()

    _state: Any

    @property
    def n(self) -> Number:
        """The sum of the weights of all examples."""
        number: Number = self._state.n.to_numbers().item()
        return number


def of_moments(function: Callable[[Any, float], Interval]) -> Callable[..., Interval]:
    """Make the function that computes an interval from the moments that `intervals` keeps."""

    def sampling(result: Any, value: float, z: float) -> Interval:  # noqa: ARG001
        state = result._state
        refuse_fractions(state.n.is_whole)
        return function(result, z) if state.n.is_positive() else UNDEFINED

    return sampling


def without_interval(row: Metric) -> Metric:
    """Refuse the interval of a metric whose moments are not kept."""
    return row if row.sampling is None else attrs.evolve(row, sampling=_unasked, why_none="")


def _unasked(*_: Any) -> Interval:
    raise InvalidInputError("must be True when the accumulator is made", argument="intervals")


def not_measured(name: str) -> tuple[object, ...]:
    """Say how a metric is asked for, in pieces of a message."""
    return (
        f"{name!r} is not among the measures: count with ",
        Named("measures", f"[{name!r}]"),
        ".",
    )


def owners_of(name: str) -> list[tuple[type[Result], Metric]]:
    """List the results that have a metric of that name, or if none has, those with that alias."""
    from streameval.results.result_types import RESULTS  # noqa: PLC0415 (all of them, for a message)

    pairs = [(cls, row) for cls in RESULTS for row in cls.TABLE.called(name)]
    return [pair for pair in pairs if pair[1].name == name.casefold()] or pairs


def _owners(
    name: str, *, with_tasks: bool = True, besides: type[Result] | None = None
) -> list[str]:
    """Say which results, besides one, have a metric of that name."""
    owners: dict[str, str] = {}
    for cls, row in owners_of(name):
        if cls is besides:
            continue
        of = cls.MADE_BY
        if with_tasks and cls.IS_TASK:
            of = f"--task {cls.TASK} ({of})"
        said = f"{row.typed} is a metric of {of}"
        owners.setdefault(cls.TASK, said)
    return list(owners.values())
