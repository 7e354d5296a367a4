"""What is shown of a result, and exported: reports, pages, pictures, tables, JSON."""

from __future__ import annotations

import abc
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import attrs

from streameval.configs.cached import Comparable
from streameval.configs.collection import SEPARATOR
from streameval.configs.options import flag, one_of, positive_integer
from streameval.errors import InvalidInputError
from streameval.metrics.bounded import Bounded
from streameval.metrics.intervals import normal_quantile
from streameval.metrics.table import Reading
from streameval.render import plots
from streameval.render.blocks import Dots, Figure, PageContent, Row, qualified
from streameval.render.plots import PlotRequest
from streameval.render.sheets import (
    Sheet,
    reading_grid,
    sheet_text,
)
from streameval.render.text import WIDTH, chance_title, check_count, plural
from streameval.results.findings import is_limit
from streameval.results.names import MetricName
from streameval.results.reading import Number, ReadResult
from streameval.results.tables import (
    Columns,
    Form,
    ItemAxis,
    Readings,
    Shape,
    TablePart,
    TableRow,
    form_of,
    no_axis,
    passed_on,
    to_latex,
    to_markdown,
    to_pandas,
    to_polars,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Reported(Comparable):
    """The base of results, comparisons and tests, which text and notebooks show by one sheet."""

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
        from streameval.render.tables import notebook  # noqa: PLC0415 (of notebooks)

        return notebook(self.sheet())


_NAMED = ("class", "output", "model")
"""The items whose metrics have names of their own, as in ``recall[cat]``."""

MAX_SHOWN = 50
"""How many classes have their own line in a report, at most."""


def sizes_of(result: Result) -> str:
    """Say how much was counted."""
    rows = [row for row in result._rows.listed(result._source) if row.is_count]
    numbers = [(row, result._number(row.name)) for row in rows]
    return ", ".join(
        f"{row.name} = {number:,}" for row, number in numbers if number or not row.is_rare
    )


def metric_lines(result: Result, level: float, max_classes: int) -> Sheet:  # noqa: ARG001 - of items
    """List the size, and the metrics with their intervals."""
    shown = {
        f"{name}{result._rows[name].subtracts}": reading
        for name, reading in result.readings(level).items()
        if not reading.is_count
    }
    report = result._REPORT
    return [report.sizes(result), reading_grid(shown, level, caption=report.remark(result))]


def metric_dots(result: Result, request: PlotRequest, metrics: Sequence[str] | None = None) -> Dots:
    """Show metrics of one unit, by default those of the headline."""
    names = result.headline() if metrics is None else metrics
    level = request.level
    readings = {result.heading(name): result.read(name, level=level).defined for name in names}
    if not any(one.is_defined for one in readings.values()):
        raise InvalidInputError("needs an example that was counted", argument="plot")
    title = plural(getattr(result, result.SIZE), "example")
    if any(one.sampling for one in readings.values()):
        title += f", {chance_title(level)}s"
    return Dots(title, readings)


@attrs.frozen(eq=False, repr=False)
class Report:
    """What the report of a class of results says.

    Parameters
    ----------
    sheet : function of result, level and the number of items with their own line
        Returns the content, without the note on intervals.
    sizes : function of result
        Says how much was counted.
    remark : function of result
        Returns the remark below the metrics.
    scope : function of result
        Returns the class or the average that is the default of metrics with averages.
    findings : function of result
        Yields the sentences on what limits the numbers.
    """

    sheet: Callable[[Any, float, int], Sheet] = metric_lines
    sizes: Callable[[Any], str] = sizes_of
    remark: Callable[[Any], str] = lambda _: ""
    scope: Callable[[Any], str] = lambda _: ""
    findings: Callable[[Any], Iterator[str]] = lambda _: iter(())


class Result(Reported, ReadResult):
    """The base of every result.

    Everything here reads `TABLE`, which has a row for each metric. The row alone makes a metric an
    attribute if the class does not define one.

    Attributes
    ----------
    clusters : Clusters, optional
        The source of sampling intervals if rows depend on each other; None if they do not.
    """

    PICTURES: ClassVar[Mapping[str, Callable[[Any, PlotRequest], Figure]]] = {
        "metrics": metric_dots
    }
    """The available pictures, the default first, and what each shows."""
    ALONE: ClassVar[str] = ""
    """Why a picture shows only one result, if it does."""
    TERMS: ClassVar[str] = ""
    """Definitions of the words in the meanings of the metrics."""
    _REPORT: ClassVar[Report] = Report()
    """What the report says."""
    _PAGE: ClassVar[Mapping[str, Any]] = {}
    """The fields of `PageContent` besides `rows`, or functions of the result and the level."""
    _SHAPE: ClassVar[Shape] = "long"
    """The shape of a table without `per`."""
    _DETAILS: ClassVar[Mapping[str, Callable[[Any, float], Any]]] = {}
    """The entries of the JSON object besides metrics and items, each from the result and the level.

    One that is None is left out.
    """

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
        return self.named(Form(bounds=bounds, level=level), per_class=per_class)

    def named(self, form: Form, *, per_class: bool = False) -> dict[str, int | float]:
        """Lay out `as_dict` in a form."""
        if self._MEMBERS is not None:
            read = partial(_flat, form=form, per_class=per_class)
            return dict(pair for leaf in self.leaves().items() for pair in read(*leaf))
        named = self._whole(form.level).named(form)
        axes = self._axes() if per_class else {}
        for read_items in (axes[per] for per in _NAMED if per in axes):
            named |= read_items(form.level).named(form)
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
        return self._laid_out_as(per, bounds=bounds, level=level, shape=shape)

    def _laid_out_as(self, per: str | None = None, **options: Any) -> Columns:
        return self.laid_out(per, form_of(per, self._SHAPE, **options)).finished()

    to_pandas = passed_on(table, to_pandas)
    to_polars = passed_on(table, to_polars)
    to_markdown = passed_on(table, to_markdown, partial(_laid_out_as, is_text=True))
    to_latex = passed_on(table, to_latex, partial(_laid_out_as, is_text=True))

    def rows(self, per: str | None, bounds: bool) -> list[TableRow]:
        """List the rows of `table`."""
        columns = self.table(per, bounds=bounds)
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def laid_out(self, per: str | None, form: Form) -> TablePart:
        """Lay out `table` in a form."""
        if self._MEMBERS is not None:
            return self._MEMBERS.laid_out(self, per, form)
        if per is None:
            return self._whole(form.level).laid_out(form)
        axes = self._axes()
        if per not in axes:
            raise no_axis(per, axes)
        return axes[per](form.level).laid_out(form)

    def _whole(self, level: float) -> ItemAxis:
        """Read the metrics of the result itself."""
        readings = self.readings(level)
        return ItemAxis({}, [*readings], lambda name: Readings.of([readings[name]]))

    def _axes(self) -> Mapping[str, Callable[[float], ItemAxis]]:
        """Map what the items of the result are called to the function that reads them."""
        return {} if self._PER_ITEM is None else self._PER_ITEM.of(self)

    def entries(self, level: float, *, bounds: bool = False) -> dict[str, Any]:
        """Build the JSON object of the result, with certified intervals if requested or open."""
        if self._MEMBERS is not None:
            return self._member_entries(level, bounds=bounds)
        readings = self.readings(level)
        bounds = bounds or any(reading.is_open for reading in readings.values())
        found = self.metric_entries(readings, self._certainty(readings, bounds=bounds))
        return found | {"level": level} | self._details(level, bounds=bounds)

    def metric_entries(
        self, readings: Mapping[str, Reading], certainty: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Build the entries of the JSON object about some metrics of the result."""
        sampling = {name: reading.sampling for name, reading in readings.items()}
        return {
            **self.subject(),
            "metrics": {name: reading.value for name, reading in readings.items()},
            **certainty,
            "intervals": {name: ends for name, ends in sampling.items() if ends is not None},
        }

    def _member_entries(self, level: float, *, bounds: bool) -> dict[str, Any]:
        """Build the JSON object of a result of members, one by one."""
        leaves = self.leaves().items()
        members = {name: inner.entries(level, bounds=bounds) for name, inner in leaves}
        metrics = {
            f"{name}{SEPARATOR}{metric}": value
            for name, member in members.items()
            for metric, value in member["metrics"].items()
        }
        found = {**self.subject(), "metrics": metrics, "level": level, "members": members}
        return found | self._details(level, bounds=bounds)

    def subject(self) -> dict[str, Any]:
        """Return the entries of the JSON object about the data: how much was counted."""
        size = {"n": getattr(self, self.SIZE)} if self.SIZE else {}
        return {**size, **self._of_clusters}

    @property
    def _of_clusters(self) -> dict[str, Any]:
        """The entries of the JSON object about clusters, if there are some."""
        return {} if self._clusters is None else {"clusters": self._clusters.entry}

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
        found = {name: read(self, level) for name, read in self._DETAILS.items()}
        items = {} if self._PER_ITEM is None else self._PER_ITEM.entries(self, level, bounds=bounds)
        return {name: entry for name, entry in found.items() if entry is not None} | items

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

    def sheet(self, level: float = 0.95, max_classes: int = MAX_SHOWN) -> Sheet:
        """Return the content of the report, which says of what its intervals are."""
        sheet = self._REPORT.sheet(self, level, max_classes)
        return [*sheet, self.note] if self.note and level else sheet

    def scope_of(self, metrics: Iterable[MetricName]) -> str:
        """Name the class or the average that is the default of a metric."""
        rows = [self.TABLE.get(metric.name) for metric in metrics if metric.of is None]
        return self._REPORT.scope(self) if any(row and row.averages for row in rows) else ""

    @property
    def note(self) -> str:
        """Say what intervals are of if rows depend on each other, in all members or in some."""
        if self._clusters is not None:
            return self._clusters.note
        titles: dict[str, list[str]] = {}
        for title, one in self.titled():
            if one is not self and isinstance(one, Result) and one.note:
                titles.setdefault(one.note, []).append(title)
        return " ".join(f"{', '.join(found)}: {note}" for note, found in titles.items())

    def text(self, level: float) -> str:
        """Lay the result out as text, with intervals at a level if it has any."""
        return sheet_text(self.sheet(level))

    def findings(self, *, limits_only: bool = False) -> Iterator[str]:
        """Yield sentences on what limits these numbers: few examples, absent classes, bounds.

        Parameters
        ----------
        limits_only : bool
            Whether to leave out the sentence that every number is exact.
        """
        for title, one in self.titled():
            if one is self:
                yield from [self.note] if self.note else []
                said = self._REPORT.findings(self)
                yield from filter(is_limit, said) if limits_only else said
            elif isinstance(one, Result):
                yield from (f"{title}: {line}" for line in one.findings(limits_only=limits_only))

    def explain(self) -> str:
        """Explain in words what limits these numbers, and what would improve them."""
        parts = []
        for title, one in self.titled():
            if one is self:
                parts += ["\n".join(map(_bullet, self.findings()))]
            elif isinstance(one, Result):
                parts.append(f"{title}\n{one.explain()}")
        return "\n\n".join(parts)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        kind: str | None = None,
        label: str | None = None,
        level: float = 0.95,
        max_classes: int = 10,
        normalize: bool = True,
    ) -> Axes:
        """Draw the result; needs matplotlib (``pip install streameval[plot]``).

        A `Confusion` is drawn as its matrix, a `Calibration` as a reliability diagram with bars for
        the share of the examples in each bin, and `GroupedCurves` as the share of the weight in
        each bin of the AUC. `Preferences` are drawn as ratings on the scale of Elo,
        ``400 log10(s) + 1000`` of a finite strength s. `Paired` results are drawn as differences
        of the models, and others as their headline metrics. Points have whiskers for sampling
        intervals, arrows where these have no limit, and broad bars for certified intervals.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        kind : str, optional
            Which picture; by default the first. Curves have several: precision against recall
            ("pr"), true against false positive rate ("roc"), false negative against false positive
            rate on normal scales ("det"), each with its band of bounds; observed rate against score
            ("reliability", in 15 bins of equal width, or of equal weight where one would hold 90%
            of it); and the scores of both classes ("score"). Of slices and of panes of time, the
            metric, named as for `read`; by default the first of the headline.
        label : str, optional
            The name in a legend if several results share the axes; above a matrix, in the title.
        level : float
            The level of the sampling intervals, in [0, 1); 0 leaves them out.
        max_classes : int
            How many curves of classes are drawn: those with the most positives.
        normalize : bool
            Whether the colors of a matrix are shares of the true class; the written numbers are
            always counts.

        Returns
        -------
        matplotlib Axes

        Raises
        ------
        InvalidInputError
            If there is nothing to draw, or for another kind.
        """
        normal_quantile(level)  # refuses an invalid level even if no interval is drawn
        n = positive_integer(max_classes, name="max_classes")
        is_share = flag(normalize, name="normalize")
        request = PlotRequest(ax, kind, label, level, n, is_share)
        if self._MEMBERS is not None and self._MEMBERS.picture is not None:
            return plots.draw(self._MEMBERS.picture(self, request), request)
        if not self.PICTURES:
            name = type(self).__name__
            raise InvalidInputError(f"has nothing to draw in a {name}", argument="plot")
        given = next(iter(self.PICTURES)) if kind is None else kind
        chosen = one_of(given, tuple(self.PICTURES), name="kind")
        return plots.draw(self.PICTURES[chosen](self, attrs.evolve(request, kind=chosen)), request)

    def heading(self, metric: str | MetricName) -> str:
        """Name a metric as pages and pictures do: by its heading, if it is one as such."""
        asked, name = self.asked(metric), str(metric)
        row = asked.row
        member = name.removesuffix(row.name)
        if not row.heading or (member and not member.endswith(SEPARATOR)):
            return name
        heading = qualified(row.heading, [row.qualifier(asked.result)])
        return f"{member[:-1]}: {heading}" if member else heading

    def described(self, level: float) -> PageContent:
        """Describe the result for a page, the counts first; the members describe a collection."""
        rows = {
            name: Row(
                row.heading,
                reading.defined,
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

    def __dir__(self) -> list[str]:
        absent = {name for name in self.TABLE if self._why_absent(name)}
        held = {*super().__dir__(), *self.TABLE} - HIDDEN - absent
        shown = (name for name in held if not name.startswith("_") or name.endswith("__"))
        return sorted(shown)


_SHOWN = {
    *(
        "read",
        "value",
        "metrics",
        "readings",
        "readable",
        "confidence",
        "confidence_sequence",
        "stderr",
    ),
    *("as_dict", "table", "to_pandas", "to_polars", "to_markdown", "to_latex"),
    *("report", "findings", "explain", "plot"),
}


_OF_SOME = {
    *("described", "of", "leaves", "line", "lines", "every", "every_line", "draw_over_time"),
}


_ALL = {name for base in (ReadResult, Result) for name in vars(base)}
HIDDEN = {name for name in _ALL if not name.startswith("_")} - _SHOWN | _OF_SOME
"""What the rest of the library reads of results, which `dir` leaves out."""


def _flat(
    name: str, result: Any, *, form: Form, per_class: bool
) -> Iterable[tuple[str, int | float]]:
    """List the numbers of a member by full names; a user-defined result may itself be a number."""
    if isinstance(result, Result):
        numbers: Any = result.named(form, per_class=per_class)
    else:
        numbers = result.as_dict() if hasattr(result, "as_dict") else result
    if not isinstance(numbers, Mapping):
        return [(name, numbers)]
    return [(f"{name}{SEPARATOR}{metric}", value) for metric, value in numbers.items()]


def _bullet(sentence: str) -> str:
    return textwrap.fill(sentence, WIDTH, initial_indent="* ", subsequent_indent="  ")


class SumsResult(Result):
    """The base of results that read a state of sums directly."""

    __slots__ = ()

    _state: Any

    @property
    def n(self) -> Number:
        """The sum of the weights of all examples."""
        number: Number = self._state.n.to_number()
        return number
