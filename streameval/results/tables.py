"""Results as columns, which pandas, polars and Arrow accept directly."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial, wraps
from itertools import chain
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, Self, TypeGuard, TypeVar

import attrs

from streameval.configs.options import one_of
from streameval.errors import InvalidInputError
from streameval.metrics.bounded import Bounded, Interval
from streameval.metrics.intervals import normal_quantile
from streameval.metrics.table import Reading
from streameval.render.blocks import ByClass
from streameval.render.sheets import (
    Grid,
    SheetColumn,
    columns_grid,
    latex,
    markdown,
    reading_columns,
)
from streameval.render.text import Write, numbers, shorten

if TYPE_CHECKING:
    from streameval.results.reading import Asked
    from streameval.results.result import Result

Columns = dict[str, list[Any]]
TableRow = dict[str, Any]
Shape = Literal["long", "wide"]

P = ParamSpec("P")
MadeT = TypeVar("MadeT")

_ENDS = "interval_low", "interval_high"


@attrs.frozen(eq=False, repr=False)
class Readings:
    """The readings of a metric, one for each item, as columns.

    Parameters
    ----------
    values : sequence of numbers
    certified : two sequences of numbers, optional
        The ends of the certified intervals; None if the values are exact.
    sampling : sequence of pairs of numbers
        The sampling intervals, None for items without one; empty if no item has one.
    is_count : bool
        Whether the values are weights or counts.
    undefined : set of int
        The positions of the items whose value is a convention; pages show a dash.
    """

    values: Sequence[float]
    certified: tuple[Sequence[float], Sequence[float]] | None = None
    sampling: Sequence[Interval | None] = ()
    is_count: bool = attrs.field(default=False, kw_only=True)
    undefined: Collection[int] = attrs.field(default=(), kw_only=True)

    @classmethod
    def of(cls, readings: Sequence[Reading]) -> Self:
        """Turn readings into columns."""
        values, sampling = [one.value for one in readings], [one.sampling for one in readings]
        undefined = {at for at, one in enumerate(readings) if one.is_substitute}
        made = partial(
            cls,
            sampling=sampling,
            is_count=all(one.is_count for one in readings),
            undefined=undefined,
        )
        if not any(isinstance(value, Bounded) for value in values):
            return made(values)
        low, high = zip(*(one.certified for one in readings), strict=True)
        return made([*map(float, values)], (low, high))

    def __getitem__(self, at: int) -> Reading:
        """Return the reading of an item."""
        value = self.values[at]
        if self.certified:
            value = Bounded(value, *(side[at] for side in self.certified))
        sampling = self.sampling[at] if self.sampling else None
        return Reading(value, sampling, "", self.is_count, at in self.undefined)

    @property
    def defined(self) -> Readings:
        """What text shows: nan where rows do not define the metric."""
        every = range(len(self.values)) if self.undefined else ()
        return Readings.of([self[at].defined for at in every]) if every else self

    def wide(self, name: str, *, bounds: bool) -> dict[str, Sequence[Any]]:
        """List the columns of a metric, with the ends of its intervals if there are any."""
        columns = {name: self.values}
        if bounds and self.certified:
            columns[f"{name}_low"], columns[f"{name}_high"] = self.certified
        return columns | (self._ends(f"{name}_") if any(self.sampling) else {})

    def long(self, form: Form) -> dict[str, Sequence[Any]]:
        """List the columns that all metrics share."""
        columns: dict[str, Sequence[Any]] = {"value": [*map(float, self.values)]}
        if form.bounds:
            low, high = self.certified or (self.values, self.values)
            columns |= {"low": [*map(float, low)], "high": [*map(float, high)]}
        return columns | (self._ends() if form.level else {})

    def _ends(self, of: str = "") -> dict[str, Sequence[Any]]:
        pairs = self.sampling or [None] * len(self.values)
        return {f"{of}{end}": [pair and pair[i] for pair in pairs] for i, end in enumerate(_ENDS)}


@attrs.frozen(eq=False, repr=False)
class TablePart:
    """Rows of a table, as columns.

    Parameters
    ----------
    n : int
        The number of rows.
    columns : dict of sequences, shape (n,)
        The columns by name.
    """

    n: int
    columns: Mapping[str, Sequence[Any]]

    @classmethod
    def stacked(cls, parts: Iterable[tuple[TableRow, TablePart]]) -> Self:
        """Put parts below each other, each behind its keys; gaps are None."""
        filled = [(keys, part) for keys, part in parts if part.n]
        columns: Columns = {name: [] for one in filled for name in (*one[0], *one[1].columns)}
        for keys, part in filled:
            for name, column in columns.items():
                column.extend(part.columns.get(name) or [keys.get(name)] * part.n)
        return cls(sum(part.n for _, part in filled), columns)

    def finished(self) -> Columns:
        """Give each column one type; without rows there are no columns."""
        columns = self.columns if self.n else {}
        return {name: _of_one_type(column) for name, column in columns.items()}


@attrs.frozen(kw_only=True, repr=False)
class Form:
    """What the columns of a table hold.

    Parameters
    ----------
    bounds : bool
        Whether to add the ends of certified intervals.
    level : float
        The level of the sampling intervals; 0 leaves them out.
    shape : {"long", "wide"}
        A row for each metric of each item, or one with a column for each metric.
    is_text : bool
        Whether it becomes text: what rows do not define is nan, which text shows as a dash.
    """

    bounds: bool = False
    level: float = 0.0
    shape: str = "long"
    is_text: bool = False


@attrs.frozen(eq=False, repr=False)
class PerItem:
    """The items that a class of results has, such as the classes of a confusion matrix.

    Parameters
    ----------
    per : str
        What an item is, as `table` takes it: "class", "output", "group", "item", "model" or
        "query".
    read : function of result and level
        Reads the items, with sampling intervals at that level if there are any.
    exists : function of result
        Returns whether this result has the items; by default, all results of the class do.
    in_json : bool
        Whether the JSON object has an entry for each item.
    results : function of result, optional
        Maps the items to their results, if each has one.
    asked : function of result, metric, args and options
        Finds what the name of a metric asks for that is of an item, such as ``recall[cat]``, or of
        an average; None for other names.
    """

    per: str
    read: Callable[[Any, float], ItemAxis]
    exists: Callable[[Any], bool] = lambda _: True
    in_json: bool = False
    results: Callable[[Any], Mapping[Any, Result]] | None = None
    asked: Callable[..., Asked | None] = lambda *_: None

    def of(self, result: Any) -> dict[str, Callable[[float], ItemAxis]]:
        """Map the name of the items to the function that reads them of a result, if it has any."""
        return {self.per: partial(self.read, result)} if self.exists(result) else {}

    def entries(self, result: Any, level: float, *, bounds: bool) -> dict[str, Any]:
        """Build the entry of the JSON object about the items, if there is one."""
        if not (self.in_json and self.exists(result)):
            return {}
        if self.results is None:
            return {f"per_{self.per}": self.read(result, level).by_name()}
        items = self.results(result).items()
        every = {str(name): one.entries(level, bounds=bounds) for name, one in items}
        for entries in every.values():
            del entries["n"], entries["level"]  # equal for all items
        return {f"per_{self.per}": every}


@attrs.frozen(eq=False, repr=False)
class ItemAxis:
    """The items of a result: what names each, and the readings of each metric.

    Tables, JSON, pages and reports lay them out from here.

    Parameters
    ----------
    keys : dict of sequences
        The columns that name the items: classes, outputs, groups, queries. The first is the name;
        without any, the only item is the result itself.
    metrics : sequence of str
        The metrics in tables and in JSON.
    read : function of metric
        Reads it for each item.
    shown : dict of str
        The metrics on pages and in reports, with their headings on pages.
    averages : dict of str
        The averages that reports show below the items, by the name of the line.
    average : function of metric and average
        Reads it; None for an empty cell.
    """

    keys: Mapping[str, Sequence[Any]]
    metrics: Sequence[str]
    read: Callable[[str], Readings]
    shown: Mapping[str, str] = attrs.field(factory=dict)
    averages: Mapping[str, str] = attrs.field(factory=dict)
    average: Callable[[str, str], Reading | None] = lambda *_: None

    @property
    def names(self) -> Sequence[Any]:
        """The names of the items."""
        return next(iter(self.keys.values()), [None])

    def block(self, order: Iterable[int] | None = None, *, title: str = "", **look: Any) -> ByClass:
        """Lay the metrics out for a page, counts first: of all items, or of those at positions."""
        columns = [(heading, self.read(name)) for name, heading in self.shown.items()]
        columns.sort(key=lambda column: not column[1].is_count)
        rows = {
            self.names[at]: [one[at].defined for _, one in columns]
            for at in (range(len(self.names)) if order is None else order)
        }
        has_weights = columns[0][1].is_count
        weights = {name: row[0].value for name, row in rows.items()} if has_weights else None
        what, headings = next(iter(self.keys)), [heading for heading, _ in columns]
        return ByClass(headings, rows, what, title or f"By {what}", weights=weights, **look)

    def grid(
        self,
        limit: int,
        level: float = 0.0,
        order: Sequence[int] | None = None,
        *,
        has_ends: bool = True,
        write: Write = numbers,
        widths: Mapping[str, int] | None = None,
    ) -> Grid:
        """Lay the metrics out for a report.

        Parameters
        ----------
        limit : int
            How many items have a line, at most; another line counts the rest.
        level : float
            The level of the sampling intervals.
        order : sequence of int, optional
            The positions of the items that are shown; by default all of them.
        has_ends : bool
            Whether to show the intervals.
        write : function of numbers
            Writes the numbers of a column.
        widths : dict of int, optional
            The least widths of columns.
        """
        every = range(len(self.names)) if order is None else order
        hidden, shown = len(every) - limit, every[:limit]
        more = [f"... and {hidden:,} more"] if hidden > 0 else []
        names = [*(shorten(self.names[at], None) for at in shown), *more, *self.averages]
        groups = []
        for metric in self.shown:
            of_items = self.read(metric)
            averages = (self.average(metric, how) for how in self.averages.values())
            column = [*(of_items[at] for at in shown), *[None] * len(more), *averages]
            how = _counts if of_items.is_count else write
            values, *ends = reading_columns(metric, column, level, write=how)
            values = attrs.evolve(values, width=(widths or {}).get(metric, 0))
            groups.append([values, *ends] if has_ends else [values])
        return Grid([SheetColumn.of_names(next(iter(self.keys)), names)], groups)

    def laid_out(self, form: Form) -> TablePart:
        """Lay the metrics out as rows of a table; the rows of an item follow each other."""
        if form.shape == "wide":
            return TablePart(len(self.names), {**self.keys, **self._wide(form)})
        columns = {
            name: [key for key in column for _ in self.metrics]
            for name, column in self.keys.items()
        }
        columns["metric"] = [*self.metrics] * len(self.names)
        every = [self._read(metric, form).long(form) for metric in self.metrics]
        for name in every[0] if every else ():
            in_turn = zip(*(one[name] for one in every), strict=True)
            columns[name] = [*chain.from_iterable(in_turn)]
        return TablePart(len(columns["metric"]), columns)

    def named(self, form: Form) -> TableRow:
        """Name each number as a logger does, with its item in brackets, as ``recall[cat]``."""
        columns = self._wide(form)
        brackets = [f"[{name}]" for name in self.names] if self.keys else [""]
        return {
            f"{name}{of}": column[index]
            for index, of in enumerate(brackets)
            for name, column in columns.items()
            if column[index] is not None
        }

    def by_name(self) -> dict[str, TableRow]:
        """Map the names of items to their numbers, and their sampling intervals, for JSON."""
        readings = {metric: self.read(metric) for metric in self.metrics}
        sampled = {metric: one.sampling for metric, one in readings.items() if one.sampling}
        found: dict[str, TableRow] = {}
        for index, name in enumerate(self.names):
            ends = {metric: pairs[index] for metric, pairs in sampled.items() if pairs[index]}
            found[str(name)] = {
                **{metric: one.values[index] for metric, one in readings.items()},
                **({"intervals": ends} if ends else {}),
            }
        return found

    def _wide(self, form: Form) -> dict[str, Sequence[Any]]:
        columns: dict[str, Sequence[Any]] = {}
        for metric in self.metrics:
            columns |= self._read(metric, form).wide(metric, bounds=form.bounds)
        return columns

    def _read(self, metric: str, form: Form) -> Readings:
        return self.read(metric).defined if form.is_text else self.read(metric)


def keyed(results: Mapping[Any, Result], per: str | None, key: str, form: Form) -> TablePart:
    """Lay out several results below each other, each with its key."""
    parts = {of: result.laid_out(per, form) for of, result in results.items()}
    if any(key in part.columns for part in parts.values()):
        raise InvalidInputError(
            f"must not be the name of another column, got {key!r}", argument="key"
        )
    return TablePart.stacked(({key: of}, part) for of, part in parts.items())


def no_axis(per: object, axes: Iterable[str]) -> InvalidInputError:
    """Make the error about items that a result does not have."""
    known = " or ".join(map(repr, [*axes, None]))
    return InvalidInputError(f"must be {known}, got {per!r}", argument="per")


def named_classes(names: Sequence[Any], labels: Sequence[Any]) -> dict[str, Sequence[Any]]:
    """Name classes, and their labels if they have display names."""
    return {"class": names} if labels == names else {"class": names, "label": labels}


def form_of(
    per: str | None, usual: Shape, *, shape: Any = None, level: float = 0.0, **options: bool
) -> Form:
    """Check the options of a table; `usual` is the shape without `per`."""
    normal_quantile(level)  # refuses an invalid level
    if shape is None:
        shape = usual if per is None else "wide"
    shape = one_of(shape, ("long", "wide"), name="shape")
    return Form(shape=shape, level=level, **options)


def table(
    results: Result | Mapping[Any, Result],
    per: str | None = None,
    *,
    key: str = "slice",
    bounds: bool = False,
    level: float = 0.0,
    shape: Shape | None = None,
) -> Columns:
    """Lay results out as columns, for ``pandas.DataFrame``, ``polars.DataFrame`` and Arrow tables.

    Parameters
    ----------
    results : result, or mapping of results
        A result of `compute`, or several by slice, model, epoch or the like.
    per : {"class", "group", "query"}, optional
        What each row holds: see the method `table` of a result. By default, each metric has a
        row; in a mapping, each result.
    key : str
        The name of the column for the keys of a mapping; no other column may have it.
    bounds : bool
        Whether to add the ends of certified intervals.
    level : float
        The level of the sampling intervals to add, in [0, 1); 0 leaves them out.
    shape : {"long", "wide"}, optional
        As in the method `table` of a result; in a mapping without `per`, wide by default.

    Examples
    --------
    >>> import streameval as se
    >>> def count(*batch):
    ...     return se.ConfusionAccumulator().update(*batch).compute()
    >>> countries = {"DE": count([0, 1], [0, 1]), "FR": count([0, 1], [1, 1])}
    >>> columns = se.table(countries, key="country")
    >>> columns["country"], columns["accuracy"]
    (['DE', 'FR'], [1.0, 0.5])
    """
    if _has_table(results):
        return results.table(per, bounds=bounds, level=level, shape=shape)
    if not isinstance(results, Mapping):
        got = type(results).__name__
        raise InvalidInputError(f"must be a result or a mapping, got {got}", argument="results")
    for of, result in results.items():
        if not _has_table(result):
            got = type(result).__name__
            raise InvalidInputError(f"must map to results, got {got} at {of!r}", argument="results")
    form = form_of(per, "wide", shape=shape, bounds=bounds, level=level)
    return keyed(results, per, key, form).finished()


def passed_on(
    table: Callable[Concatenate[Any, P], Columns],
    make: Callable[[Columns], MadeT],
    lay_out: Callable[..., Columns] | None = None,
) -> Callable[Concatenate[Any, P], MadeT]:
    """Make the method that passes the columns of the method `table` on, with its parameters.

    `lay_out` makes the columns if text has others.
    """

    @wraps(make)
    def method(self: Any, /, *args: P.args, **options: P.kwargs) -> MadeT:
        return make((lay_out or type(self).table)(self, *args, **options))

    made, signature = inspect.signature(make).return_annotation, inspect.signature(table)
    vars(method)["__signature__"] = signature.replace(return_annotation=made)
    return method


def to_pandas(columns: Columns) -> Any:
    """Make a ``pandas.DataFrame`` of `table`; pandas is imported here."""
    import pandas as pd  # noqa: PLC0415 (on request)

    return pd.DataFrame(columns)


def to_polars(columns: Columns) -> Any:
    """Make a ``polars.DataFrame`` of `table`; polars is imported here."""
    import polars as pl  # noqa: PLC0415 (on request)

    return pl.DataFrame(columns)


def to_markdown(columns: Columns) -> str:
    """Write `table` as a table of Markdown."""
    return markdown([columns_grid(columns)])


def to_latex(columns: Columns) -> str:
    """Write `table` as a ``tabular`` of LaTeX, with the rules of booktabs."""
    return latex(columns_grid(columns))


def _has_table(value: Any) -> TypeGuard[Result]:
    """Tell whether a value is a result; the class itself imports this module."""
    return callable(getattr(value, "laid_out", None))


def _counts(values: Sequence[float], _: int) -> list[str]:
    return [f"{value:,}" for value in values]


def _of_one_type(values: Sequence[Any]) -> list[Any]:
    """Convert mixed numbers to floats, and mixed numbers and texts to texts."""
    types = set(map(type, values)) - {type(None)}
    if len({issubclass(one, str) for one in types}) > 1:
        return [None if value is None else str(value) for value in values]
    if {issubclass(one, float) for one in types} == {True, False}:
        return [float(value) if isinstance(value, int) else value for value in values]
    return [*values]
