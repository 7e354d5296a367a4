"""Results as columns, which pandas, polars and Arrow accept directly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeGuard

import attrs

from streameval.configs.options import one_of
from streameval.errors import InvalidInputError
from streameval.metrics.bounded import Bounded
from streameval.metrics.intervals import normal_quantile
from streameval.metrics.table import Reading

if TYPE_CHECKING:
    from streameval.results.result import Result

Columns = dict[str, list[Any]]
Row = dict[str, Any]
Shape = Literal["long", "wide"]

_ENDS = ("interval_low", "interval_high")


def flat(name: str, reading: Reading, *, bounds: bool, of: str = "") -> Row:
    """Name a number, and the ends of the intervals that it has."""
    number: Any = reading.value
    if isinstance(number, Bounded):
        named: Row = {f"{name}{of}": float(number)}
        named |= {f"{name}_low{of}": number.low, f"{name}_high{of}": number.high} if bounds else {}
    else:
        named = {f"{name}{of}": number}
    if reading.sampling is not None:
        low, high = reading.sampling
        named |= {f"{name}_interval_low{of}": low, f"{name}_interval_high{of}": high}
    return named


@attrs.frozen
class ItemAxis:
    """The items of a result: what names each, and a column of readings for each metric.

    Parameters
    ----------
    keys : dict of lists
        The columns that name the items: classes, outputs, groups, queries.
    readings : dict of sequences of Reading
        The metrics.
    """

    keys: Mapping[str, Sequence[Any]]
    readings: Mapping[str, Sequence[Reading]]

    def items(self) -> Iterator[tuple[Row, Mapping[str, Reading]]]:
        """Yield the keys and the readings of each item."""
        for keys in zip(*self.keys.values(), *self.readings.values(), strict=True):
            names, readings = keys[: len(self.keys)], keys[len(self.keys) :]
            yield (
                dict(zip(self.keys, names, strict=True)),
                dict(zip(self.readings, readings, strict=True)),
            )

    def rows(self, form: Form) -> list[Row]:
        """List the rows of a table: column by column where there may be many items."""
        if form.shape == "long":
            return [row for item in self.items() for row in form.rows(*item)]
        columns = dict(self.keys)
        for name, readings in self.readings.items():
            columns |= _columns_of(name, readings, form.bounds)
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


@attrs.frozen(kw_only=True)
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
    """

    bounds: bool = False
    level: float = 0.0
    shape: str = "long"

    def rows(self, keys: Row, readings: Mapping[str, Reading]) -> list[Row]:
        """Lay out the metrics of one item."""
        if self.shape == "wide":
            row = dict(keys)
            for name, reading in readings.items():
                row |= flat(name, reading, bounds=self.bounds)
            return [row]
        return [{**keys, "metric": name, **self._long(one)} for name, one in readings.items()]

    def _long(self, reading: Reading) -> Row:
        row: Row = {"value": float(reading.value)}
        if self.bounds:
            row |= dict(zip(("low", "high"), map(float, reading.certified), strict=True))
        if self.level:
            row |= dict(zip(_ENDS, reading.sampling or (None, None), strict=True))
        return row


def _columns_of(name: str, readings: Sequence[Reading], bounds: bool) -> Columns:
    """List the numbers of a metric, and the ends of their intervals if there are any."""
    numbers: list[Any] = [reading.value for reading in readings]
    columns: Columns = {name: numbers}
    if any(isinstance(number, Bounded) for number in numbers[:1]):
        columns[name] = [*map(float, numbers)]
        if bounds:
            columns[f"{name}_low"] = [number.low for number in numbers]
            columns[f"{name}_high"] = [number.high for number in numbers]
    sampling = [reading.sampling for reading in readings]
    if any(sampling):
        for index, end in enumerate(_ENDS):
            columns[f"{name}_{end}"] = [pair and pair[index] for pair in sampling]
    return columns


def in_columns(rows: Iterable[Mapping[str, Any]]) -> Columns:
    """Turn rows into columns of one type each; gaps are None."""
    listed = list(rows)
    names = dict.fromkeys(name for row in listed for name in row)
    return {name: _of_one_type([row.get(name) for row in listed]) for name in names}


def stacked(results: Mapping[Any, Result], per: str | None, key: str, form: Form) -> list[Row]:
    """List the rows of several results, each with its key."""
    rows = [(of, row) for of, result in results.items() for row in result.laid_out(per, form)]
    if any(key in row for _, row in rows):
        raise InvalidInputError(
            f"must not be the name of another column, got {key!r}", argument="key"
        )
    return [{key: of, **row} for of, row in rows]


def no_axis(per: object, axes: Iterable[str]) -> InvalidInputError:
    """Make the error about items that a result does not have."""
    known = " or ".join(map(repr, [*axes, None]))
    return InvalidInputError(f"must be {known}, got {per!r}", argument="per")


def by_metric(every: Sequence[Mapping[str, Reading]]) -> dict[str, list[Reading]]:
    """List the readings of several results by metric."""
    return {name: [one[name] for one in every] for name in (every[0] if every else ())}


def named_classes(names: Sequence[Any], labels: Sequence[Any]) -> dict[str, Sequence[Any]]:
    """Name classes, and their labels if they have display names."""
    return {"class": names} if labels == names else {"class": names, "label": labels}


def values_by_name(axis: ItemAxis) -> dict[str, dict[str, Any]]:
    """Map the names of items to their numbers, for JSON."""
    return {
        str(next(iter(keys.values()))): {name: one.value for name, one in readings.items()}
        for keys, readings in axis.items()
    }


def form_of(per: str | None, usual: Shape, shape: Any, *, bounds: bool, level: float) -> Form:
    """Check the options of a table; `usual` is the shape without `per`."""
    normal_quantile(level)  # refuses an invalid level
    if shape is None:
        shape = usual if per is None else "wide"
    return Form(bounds=bounds, level=level, shape=one_of(shape, ("long", "wide"), name="shape"))


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
        columns: Columns = results.table(per, bounds=bounds, level=level, shape=shape)
        return columns
    if not isinstance(results, Mapping):
        got = type(results).__name__
        raise InvalidInputError(f"must be a result or a mapping, got {got}", argument="results")
    for of, result in results.items():
        if not _has_table(result):
            got = type(result).__name__
            raise InvalidInputError(f"must map to results, got {got} at {of!r}", argument="results")
    form = form_of(per, "wide", shape, bounds=bounds, level=level)
    return in_columns(stacked(results, per, key, form))


def _has_table(value: Any) -> TypeGuard[Result]:
    """Tell whether a value is a result; the class itself imports this module."""
    return callable(getattr(value, "table", None))


def _of_one_type(values: list[Any]) -> list[Any]:
    """Convert mixed numbers to floats, and mixed numbers and texts to texts."""
    if len({isinstance(value, str) for value in values if value is not None}) > 1:
        return [None if value is None else str(value) for value in values]
    if not any(isinstance(value, float) for value in values):
        return values
    return [float(value) if isinstance(value, int) else value for value in values]
