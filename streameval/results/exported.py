"""What is exported of a result: numbers for loggers, tables, data frames, JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

from streameval.configs.collection import SEPARATOR
from streameval.metrics.bounded import Bounded
from streameval.metrics.table import Reading
from streameval.results.reading import ReadResult
from streameval.results.tables import (
    Columns,
    Form,
    ItemAxis,
    Shape,
    TablePart,
    TableRow,
    by_metric,
    form_of,
    no_axis,
    passed_on,
    to_latex,
    to_markdown,
    to_pandas,
    to_polars,
)

_NAMED = ("class", "output", "model")
"""The items whose metrics have names of their own, as in ``recall[cat]``."""


class ExportedResult(ReadResult):
    """The base of results, as far as they are exported."""

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
        if self._MEMBERS is not None:
            options = {"per_class": per_class, "bounds": bounds, "level": level}
            return dict(pair for leaf in self.leaves().items() for pair in _flat(*leaf, options))
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

    to_pandas = passed_on(table, to_pandas)
    to_polars = passed_on(table, to_polars)
    to_markdown = passed_on(table, to_markdown)
    to_latex = passed_on(table, to_latex)

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
        return ItemAxis({}, by_metric([self.readings(level)]))

    def _axes(self) -> Mapping[str, Callable[[float], ItemAxis]]:
        """Map what the items of the result are called to the function that reads them."""
        return {} if self._PER_ITEM is None else self._PER_ITEM.of(self)

    def entries(self, level: float, *, bounds: bool = False) -> dict[str, Any]:
        """Build the JSON object of the result, with certified intervals if requested or open."""
        if self._MEMBERS is not None:
            return self._member_entries(level, bounds=bounds)
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


def _flat(name: str, result: Any, options: Mapping[str, Any]) -> Iterable[tuple[str, int | float]]:
    """List the numbers of a member by full names; a user-defined result may itself be a number."""
    if isinstance(result, ExportedResult):
        numbers: Any = result.as_dict(**options)
    else:
        numbers = result.as_dict() if hasattr(result, "as_dict") else result
    if not isinstance(numbers, Mapping):
        return [(name, numbers)]
    return [(f"{name}{SEPARATOR}{metric}", value) for metric, value in numbers.items()]
