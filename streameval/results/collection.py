"""The result of `Collection`, and several results line by line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import attrs

from streameval.configs.collection import SEPARATOR, ModelPair
from streameval.errors import UnknownMetricError
from streameval.metrics.intervals import level_of_each, normal_quantile
from streameval.metrics.table import NO_VALUE, Reading, Table
from streameval.render.sheets import (
    Grid,
    Marked,
    Section,
    Sheet,
    SheetColumn,
    reading_columns,
    share_bars,
)
from streameval.render.text import printable
from streameval.results.clusters import Clusters, clustered
from streameval.results.names import MetricName
from streameval.results.reading import Asked, MemberAxis
from streameval.results.result import Report, Result
from streameval.results.tables import Form, TablePart, keyed, no_axis

if TYPE_CHECKING:
    from streameval.results.models import ModelComparison

DECIMALS = 4
"""How many decimals the lines of several results have."""

_DEFAULT_LEVEL = 0.95  # of tests, where no interval is shown


@attrs.frozen(repr=False, eq=False)
class CollectionResult(Result, Mapping[str, Any]):
    """The results of the members of a collection, by name.

    Made by `Collection.compute`. A nested collection has a nested result:
    ``result["a/b"]`` is ``result["a"]["b"]``.
    """

    TABLE = Table(task="collection")
    SIZE = ""
    PICTURES: ClassVar = {}

    _members: tuple[str, ...]
    _results: tuple[Any, ...]
    _pairs: tuple[ModelPair | None, ...] = attrs.field(default=(), alias="pairs", kw_only=True)

    def __getitem__(self, name: str) -> Any:
        """Look up the result of a member."""
        if name in self._members:
            return self._results[self._members.index(name)]
        start = f"{name}{SEPARATOR}"
        inner = [
            (path.removeprefix(start), result, pair)
            for path, result, pair in zip(self._members, self._results, self._pairs, strict=True)
            if path.startswith(start)
        ]
        if not inner:
            leaves = self.leaves()
            if name in leaves:
                return leaves[name]
            raise KeyError(f"{name!r} is not among the members {', '.join(self._members)}")
        names, results, pairs = zip(*inner, strict=True)
        return CollectionResult(names, results, pairs=pairs)

    def comparison(self, *, level: float = 0.95) -> ModelComparison:
        """Compare the models that `Paired.of_models` counts, by each metric.

        Parameters
        ----------
        level : float
            The level of the intervals, in (0, 1); the tests are at 1 minus this, for all pairs of
            models together.

        Returns
        -------
        ModelComparison
            By metric: the value of each model, the differences with p-values and Holm's
            correction, the best model and those that cannot be distinguished from it. For clusters,
            the p-value is 1 minus the level at which the interval of the difference ends at 0.

        Raises
        ------
        InvalidInputError
            When the members are not all pairs of some models, or for a level outside (0, 1).
        """
        from streameval.results.paired_models import of_pairs  # noqa: PLC0415 (on request)

        return of_pairs(self._pairs, self._results, level)

    def with_clusters(self, clusters: Clusters | None) -> Self:
        """Give the results of the members clustered intervals; None for those of single rows."""
        names = self._members
        return self.with_member_clusters(
            [None if clusters is None else clusters.part("__getitem__", name) for name in names]
        )

    def with_member_clusters(self, clusters: Sequence[Clusters | None]) -> Self:
        """Give the results of the members clustered intervals; shared ones stay shared."""
        pairs = list(zip(self._results, clusters, strict=True))
        made = {id(result): clustered(result, source) for result, source in pairs}
        results = tuple(made[id(result)] for result in self._results)
        return attrs.evolve(self, results=results, clusters=clusters[0])

    def __iter__(self) -> Iterator[str]:
        """List the names of the members in order."""
        return iter(dict.fromkeys(name.partition(SEPARATOR)[0] for name in self._members))

    def __len__(self) -> int:
        """Count the members."""
        return sum(1 for _ in self)

    def _by_name(self) -> Iterable[tuple[str, Any]]:
        return zip(self._members, self._results, strict=True)

    def _laid_out(self, per: str | None, form: Form) -> TablePart:
        """Lay out `table`: rows after the names of their members, or one wide row of all."""
        if per is None and form.shape == "wide":
            return TablePart(1, {name: [number] for name, number in self.named(form).items()})
        leaves = self.leaves().items()
        held = {name: result for name, result in leaves if isinstance(result, Result)}
        if per is not None:
            owners = {name: result for name, result in held.items() if per in result._axes()}
            if not owners:
                axes = dict.fromkeys(axis for result in held.values() for axis in result._axes())
                raise no_axis(per, axes)
            held = owners
        return keyed(held, per, "member", form)

    _MEMBERS = MemberAxis(_by_name, _laid_out)

    def _sheets(self, level: float, max_classes: int) -> Sheet:
        """Return the content of the report: the sheets of the members, each shared one once."""
        if self.has_models:
            comparison = self.comparison(level=level or _DEFAULT_LEVEL)
            return comparison.sheet(has_intervals=level > 0)
        return [
            Section(title, _sheet(result, level, max_classes)) for title, result in self.titled()
        ]

    _REPORT = Report(_sheets)

    def _comparison(self, level: float) -> dict[str, Any] | None:
        if not self.has_models:
            return None
        return self.comparison(level=level or _DEFAULT_LEVEL).as_dict()

    _DETAILS: ClassVar = {"comparison": _comparison}

    @property
    def has_models(self) -> bool:
        """Whether the members are the pairs of three or more models, which are shown together."""
        if len(self._pairs) < 3 or None in self._pairs:
            return False
        from streameval.results.paired_models import is_comparable  # noqa: PLC0415 (for those alone)

        return is_comparable(self._pairs, self._results)

    def __repr__(self) -> str:
        """Show the result of each member on one line."""
        return f"CollectionResult({dict(self.items())})"


def _sheet(result: Any, level: float, max_classes: int) -> Sheet:
    """Return the content of a report; the result of a user-defined class may be any object."""
    if isinstance(result, Result):
        return result._REPORT.sheet(result, level, max_classes)
    return [printable(str(result))]


def line_sheet(
    what: str,
    names: Sequence[str],
    results: Sequence[Result],
    metrics: Sequence[MetricName],
    level: float,
    more: Sequence[SheetColumn] = (),
    *,
    has_whole: bool = True,
) -> Sheet:
    """Lay out a line for each of several results: its size, and the metrics with their intervals.

    A terminal shows each size as a bar, and marks what is worse than all rows together.

    Parameters
    ----------
    what : str
        The heading above the names.
    names : sequence of str
        The names of the results.
    results : sequence of result
        Results of one type; the first has every metric.
    metrics : sequence of MetricName
        The metrics, in order.
    level : float
        The level of the sampling intervals.
    more : sequence of SheetColumn
        More columns beside the sizes.
    has_whole : bool
        Whether the first result is that of all rows.
    """
    first, size = results[0], results[0].SIZE
    shown = [metric for metric in metrics if str(metric) != size]  # in its own column
    sizes = [f"{getattr(result, size):,}" if size else "" for result in results]
    columns = [SheetColumn.of_names(what, names), *more, SheetColumn([size, *sizes])]
    if has_whole and size:
        whole = float(getattr(first, size))
        shares = (float(getattr(one, size)) / whole if whole else 0.0 for one in results)
        columns.append(share_bars(shares))
    groups = [_columns(metric, results, level, has_whole=has_whole) for metric in shown]
    return [Grid(columns, groups), first.scope_of(shown)]


def found(result: Result, metric: str | MetricName) -> Asked | None:
    """Find a metric; None if no row of the result has its class."""
    try:
        return result.asked(metric)
    except UnknownMetricError:
        return None


def read_or_nan(result: Result, metric: str | MetricName, level: float) -> Reading:
    """Read a metric, nan if no row of the result has its class."""
    asked = found(result, metric)
    return NO_VALUE if asked is None else asked.read(normal_quantile(level))


def _columns(
    metric: MetricName, results: Sequence[Result], level: float, *, has_whole: bool
) -> list[SheetColumn]:
    """Lay out one metric: the values, and the intervals if there are any."""
    whole, *parts = results
    of_all = whole.read(metric, level=level)  # raises for a class that no row has
    readings = [of_all, *(read_or_nan(result, metric, level) for result in parts)]
    values, certified, sampling = reading_columns(str(metric), readings, level, DECIMALS)
    if has_whole:
        worse = _worse(metric, results, readings, level)
        cells = enumerate(values.cells, -1)
        values = SheetColumn([Marked(one) if at in worse else one for at, one in cells])
    is_sampled = any(reading.sampling is not None for reading in readings)
    return [values, sampling if is_sampled else certified]


def _worse(
    metric: MetricName, results: Sequence[Result], readings: Sequence[Reading], level: float
) -> set[int]:
    """List the results that are worse than all rows by more than chance, all at once.

    Without intervals, list the worst one.
    """
    of_all, signs = readings[0].defined, {"lower": -1.0, "higher": 1.0}
    sign = signs.get(results[0].asked(metric).row.better, 0.0)
    parts = {at: one for at, one in enumerate(readings) if at and one.is_defined}
    if not (sign and parts):
        return set()
    if not any(one.sampling for one in parts.values()):
        worst = min(parts, key=lambda at: sign * parts[at].value)
        return {worst} if sign * parts[worst].value < sign * of_all.value else set()
    each = level_of_each(level, len(parts))
    worse = (at for at, one in parts.items() if _is_beyond(one, of_all, sign))
    return {at for at in worse if _is_beyond(results[at].read(metric, level=each), of_all, sign)}


def _is_beyond(reading: Reading, of_all: Reading, sign: float) -> bool:
    """Tell whether a whole interval is worse than the value of all rows."""
    ends = reading.sampling or ()
    return bool(ends) and max(sign * end for end in ends) < sign * of_all.value
