"""What all results have in common: their metrics by name, and how these are shown."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from streameval.configs.names import closest, listed, nearest
from streameval.errors import InvalidInputError, UnknownMetricError
from streameval.inputs.labels import Label
from streameval.metrics.bounded import Bounded
from streameval.metrics.table import Interval, Metric, Reading, Table
from streameval.render import notebook
from streameval.render.sheets import Sheet, reading_grid, sheet_text
from streameval.results.names import MetricName, parse_metric

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from streameval.render.blocks import Description

__all__ = ["Number", "Result"]

Number = int | float


class Result:
    """The base of every result.

    Everything here reads `TABLE`, which has a row for each metric: a metric that has a row and no
    attribute of its own is an attribute by that.
    """

    __slots__ = ()

    TABLE: ClassVar[Table] = Table()
    TASK: ClassVar[str] = ""
    """What the command line calls results of this kind."""
    MADE_BY: ClassVar[str] = ""
    """The class of the accumulators that compute results of this kind."""
    SIZE: ClassVar[str] = "n"
    """The attribute that says how many were counted."""
    PICTURES: ClassVar[tuple[str, ...]] = ()
    """What can be drawn, the usual one first."""
    ALONE: ClassVar[str] = ""
    """Why a picture shows one result only, if it does."""
    TERMS: ClassVar[str] = ""
    """The words that the meanings of the metrics use."""

    @property
    def _source(self) -> Any:
        """What the functions of the table read."""
        return self

    def value(self, name: str, *args: Any, **options: Any) -> Any:
        """Compute a metric by name, with the arguments of the method of that name."""
        if name not in self.TABLE:
            raise self._unknown(name)
        return self.TABLE[name].value(self._source, *args, **options)

    def read(self, metric: str | MetricName, *, level: float = 0.95) -> Reading:
        """Read a metric, a class or an average of it: the value, and how sure that is.

        Parameters
        ----------
        metric : str
            As on the command line: ``"accuracy"``, ``"recall[macro]"``, ``"recall_at(0.5)"``,
            ``"member/roc_auc"``.
        level : float
            That of the sampling interval, in [0, 1); 0 leaves it out.

        Raises
        ------
        InvalidInputError
            If there is no such metric, class or average, or its argument is out of range.
        """
        return self._find(parse_metric(metric) if isinstance(metric, str) else metric)(level)

    def check(self, metric: MetricName) -> None:
        """Raise UnknownMetricError if there is no such metric; classes may still come."""
        self._find(metric)

    def readings(self, level: float = 0.95) -> dict[str, Reading]:
        """Read every metric, each computed once."""
        return {
            name: self._reading(self._row(name), number, level)
            for name, number in self._numbers().items()
        }

    def meaning(self, name: str) -> str:
        """Say what a metric means."""
        return self._row(name).meaning

    def as_dict(self) -> dict[str, int | float]:
        """Flatten to plain numbers for a logger; ``_low`` and ``_high`` are bounds."""
        flat: dict[str, int | float] = {}
        for name, number in self._numbers().items():
            flat[name] = float(number) if isinstance(number, Bounded) else number
            if isinstance(number, Bounded):
                flat |= {f"{name}_low": number.low, f"{name}_high": number.high}
        return flat

    def entries(self, level: float, *, bounds: bool = False) -> dict[str, Any]:
        """Give what the JSON object says of the result, with certified intervals if asked for."""
        readings = self.readings(level)
        sampling = {name: reading.sampling for name, reading in readings.items()}
        return {
            "n": getattr(self, self.SIZE),
            "metrics": {name: reading.value for name, reading in readings.items()},
            **self._certainty(readings, bounds=bounds),
            "intervals": {name: ends for name, ends in sampling.items() if ends is not None},
            "level": level,
            **self._details(level, bounds=bounds),
        }

    def headline(self) -> tuple[str, ...]:
        """Choose the metrics that stand for all."""
        names = self._names()
        chosen = (row.name for row in self.TABLE.headline)
        return tuple(name for name in chosen if name in names) or tuple(names[:2])

    def scope_of(self, metrics: Iterable[MetricName]) -> str:  # noqa: ARG002 - for those with averages
        """Say what metrics are of, where that was left open."""
        return ""

    def sheet(self, level: float) -> Sheet:
        """Give what a text shows: how much was counted, and the metrics with their intervals."""
        readings = self.readings(level).items()
        shown = {name: reading for name, reading in readings if not reading.is_count}
        return [self._sizes, reading_grid(shown, level, caption=self._remark)]

    def text(self, level: float) -> str:
        """Lay the result out as text, with intervals of a level if it has some."""
        return sheet_text(self.sheet(level))

    def draw(self, ax: Axes, kind: str, label: str | None) -> None:  # noqa: ARG002 - often one kind
        """Draw one of `PICTURES`; with a label, as one of several."""
        picture: Any = self  # results that cannot be drawn have no such method
        picture.plot(ax, label=label)

    def __str__(self) -> str:
        """Show the report."""
        return self.text(0.95)

    def _repr_html_(self) -> str:
        return notebook.preformatted(str(self))

    if TYPE_CHECKING:

        def described(self, level: float) -> Description:
            """Describe the result to a page; a collection is described by its members."""
            raise NotImplementedError

    else:  # to a type checker it would have any attribute

        def __getattr__(self, name: str) -> Any:
            """Compute a metric that has a row and no attribute."""
            table = type(self).TABLE
            if name in table:
                return self._attribute(name)
            message = f"{type(self).__name__!r} object has no attribute {name!r}"
            called = [] if name.startswith("_") else [row.name for row in table.called(name)]
            meant = " or ".join(map(repr, called or closest(name, table)))
            raise AttributeError(f"{message}. Did you mean {meant}?" if meant else message)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.TABLE})

    def _attribute(self, name: str) -> Any:
        """Give what an attribute is: a method where the metric takes arguments, else its value."""
        row = self.TABLE[name]
        if not (row.arguments or row.averages):
            return self.value(name)

        def method(*args: Any, **options: Any) -> Any:
            return self.value(name, *args, **options)

        method.__name__, method.__doc__ = name, row.meaning
        return method

    @property
    def _remark(self) -> str:
        """What is said below the metrics."""
        return ""

    @property
    def _sizes(self) -> str:
        """Say how much was counted."""
        counts = (row for row in self.TABLE.listed(self._source) if row.is_count)
        numbers = ((row, self._number(row.name)) for row in counts)
        return ", ".join(
            f"{row.name} = {number:,}" for row, number in numbers if number or not row.is_rare
        )

    def _names(self) -> list[str]:
        """List the metrics that say something of this result and need no argument."""
        return [row.name for row in self.TABLE.listed(self._source)]

    def _number(self, name: str) -> Any:
        """Compute one of these."""
        return self.TABLE[name].value(self._source)

    def _numbers(self) -> dict[str, Any]:
        """Compute all of these."""
        return {name: self._number(name) for name in self._names()}

    def _row(self, name: str) -> Metric:
        """Give the row of one of these."""
        return self.TABLE[name]

    def _certainty(self, readings: dict[str, Reading], *, bounds: bool) -> dict[str, Any]:
        """Say in JSON whether the metrics are exact, and between what they lie if asked to."""
        certified = {
            name: reading.certified
            for name, reading in readings.items()
            if isinstance(reading.value, Bounded)
        }
        if not certified:
            return {}
        is_exact = getattr(self, "exact", True)
        return {**({"bounds": certified} if bounds else {}), "exact": is_exact}

    def _details(self, level: float, *, bounds: bool) -> dict[str, Any]:  # noqa: ARG002 - of classes
        """Give what else is in JSON."""
        return {}

    def _find(self, metric: MetricName) -> Callable[[float], Reading]:
        """Find what reads a metric at a level."""
        self._check_name(metric)
        refuse_brackets(metric)
        row = self._row(metric.name)
        return lambda level: self._reading(row, self._number(metric.name), level)

    def _known(self) -> list[str]:
        """List what can be read: the metrics with a value, and those that take an argument."""
        return self._names()

    def _check_name(self, metric: MetricName) -> None:
        """Raise UnknownMetricError if a metric is not known."""
        if metric.name not in self._names():
            raise self._unknown(metric.name)

    def _unknown(self, name: str) -> UnknownMetricError:
        """Make the error that a metric is not known: what it is called here, or who has it."""
        known, meant = self._known(), self._meant(name)
        owners = [] if meant else _owners(name)
        told = f"{', '.join(owners)}. {listed(known)}" if owners else nearest(name, known, meant)
        return UnknownMetricError(f"no metric {name!r}: {told}")

    def _meant(self, name: str) -> list[str]:
        """Name the metrics here that a name or an alias is of."""
        known, found = self._known(), []
        for row in self.TABLE.called(name):
            starts = tuple(f"{row.name}{mark}" for mark in "_@(")
            named = [each for each in known if each == row.name or each.startswith(starts)]
            found += named[:1]
        return found

    def _reading(
        self, row: Metric, number: Any, level: float, *args: Any, **options: Any
    ) -> Reading:
        """Put a number and its sampling interval together; at the level 0 there is none."""
        if level == 0 or row.is_count:
            return Reading(number, is_count=row.is_count)
        return Reading(number, self._sampling(row, level, *args, **options), row.why_none)

    def _sampling(self, row: Metric, level: float, *args: Any, **options: Any) -> Interval | None:
        """Give the sampling interval, None if there is none."""
        if row.sampling is None:
            return None
        sampled: Any = self  # results of which no metric has an interval have no such method
        try:
            low, high = sampled.confidence(row.name, *args, level=level, **options)
        except InvalidInputError:  # weights had fractions
            return None
        return None if math.isnan(low) else (low, high)


def labels_beside(names: tuple[Label, ...], labels: tuple[Label, ...]) -> dict[str, list[Label]]:
    """Give the labels in JSON, where classes are shown by names of their own."""
    return {} if names == labels else {"labels": list(labels)}


def refuse_brackets(metric: MetricName) -> None:
    """Raise UnknownMetricError if an average or a class is asked for of a metric without any."""
    if metric.of is not None:
        raise UnknownMetricError(f"'{metric}': {metric.name} has no averages and no classes.")


def unknown_class(of: str, classes: Iterable[str], averages: Iterable[str]) -> UnknownMetricError:
    """Make the error that there is no such class, nor average."""
    return UnknownMetricError(f"no class {of!r}: {nearest(of, [*classes, *averages])}")


def _owners(name: str) -> list[str]:
    """Say which results have a metric of that name."""
    from streameval.results.kinds import RESULTS  # noqa: PLC0415 (all of them, for a message)

    pairs = [(kind, row) for kind in RESULTS for row in kind.TABLE.called(name)]
    exact = [(kind, row) for kind, row in pairs if row.name == name.casefold()]
    owners: dict[str, str] = {}
    for kind, row in exact or pairs:
        said = f"{row.typed} is a metric of --task {kind.TASK} ({kind.MADE_BY})"
        owners.setdefault(kind.TASK, said)
    return list(owners.values())
