"""The result of `Sliced`, and searches: the worst slices, the gap, and what holds for all."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Literal, Self

import attrs

from streameval.configs.options import finite_number, one_of, positive_integer
from streameval.configs.sliced import SlicedConfig, read_value
from streameval.errors import InvalidInputError
from streameval.inputs.values import Value, value_text
from streameval.metrics.bounded import Bounded, Interval
from streameval.metrics.intervals import level_of_each, normal_quantile
from streameval.metrics.table import Reading, Table
from streameval.render.blocks import Dots
from streameval.render.plots import PlotRequest
from streameval.render.sheets import Sheet
from streameval.results.collection import CollectionResult, found, read_or_nan
from streameval.results.names import GAPS, Contrast, Gap, MetricName, parse_metric
from streameval.results.reading import Asked, MemberAxis
from streameval.results.result import Report, Result
from streameval.results.tables import Form, TablePart, TableRow

_AT_ONCE, _MAX_AT_ONCE = 64, 1024  # slices that are read at once, at first and later

OTHER = "other"
"""The name of the slice of all values without their own slice."""


class SliceResults(Mapping[Value, Any]):
    """The results of slices by value, each computed when it is first read.

    Parameters
    ----------
    values : sequence
    compute : callable
        Computes the results of some of the values; many at once take less time.
    """

    def __init__(
        self, values: Sequence[Value], compute: Callable[[Sequence[Value]], Sequence[Any]]
    ) -> None:
        self._values = list(values)
        self._found: dict[Value, Any] = dict.fromkeys(values)
        self._compute = compute
        self._next = 0  # where a reader that goes through the values is expected
        self._size = _AT_ONCE
        self._latest: Any = None

    def __getitem__(self, value: Value) -> Any:
        """Return the result of one value."""
        found = self._found[value]
        if found is None:
            self._read(self._chunk(value))
            found = self._found[value]
        return found

    def _chunk(self, value: Value) -> list[Value]:
        """List the values to read: those that follow too, for a reader that takes them in turn."""
        start = self._next
        if self._values[start : start + 1] != [value]:
            start = self._values.index(value)
            self._next, self._size = start + 1, _AT_ONCE
            return [value]
        self._next = start + self._size
        self._size = min(2 * self._size, _MAX_AT_ONCE)
        return self._values[start : self._next]

    def _read(self, values: Sequence[Value]) -> None:
        left = [value for value in values if self._found[value] is None]
        if left:
            made, before = self._compute(left), self._latest
            if isinstance(before, Result) and len(made) > 1:
                before._prepare(made)
            self._latest = made[0]
            self._found.update(zip(left, made, strict=True))

    def __contains__(self, value: object) -> bool:
        """Tell whether a value has a slice, without computing its result."""
        return value in self._found

    def __iter__(self) -> Iterator[Value]:
        """List the values."""
        return iter(self._found)

    def __len__(self) -> int:
        """Count the values."""
        return len(self._found)

    def complete(self) -> dict[Value, Any]:
        """Return all results."""
        self._read(self._values)
        return self._found

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as a dict of results."""
        return dict, (dict(self.complete()),)


@attrs.frozen(repr=False, eq=False)
class SlicedResult(CollectionResult):
    """The results of the slices, by value.

    Made by `Sliced.compute`. It maps values to results; ``as_dict`` names a metric as
    ``country=DE/roc_auc``, and ``other/roc_auc`` if some rows have no slice of their own.
    `table` has the columns of the values first; one that has the name of a metric or of another
    column of the table is prefixed: ``slice_n`` for the column `n`.

    `worst`, `gap` and `sorted_by` compare the slices; rows without a slice of their own take no
    part.

    Attributes
    ----------
    other : result
        The result of the rows whose value has no slice.
    n_turned_away : int or float
        The weight of these rows; the number of their values is unknown.

    Examples
    --------
    >>> import streameval as se
    >>> s = se.Sliced(se.ConfusionAccumulator(), "country")
    >>> y_true, y_pred = [1, 1, 1, 1, 0, 1, 0, 0], [1, 1, 1, 0, 0, 0, 0, 0]
    >>> result = s.update(
    ...     {"y_true": y_true, "y_pred": y_pred, "country": list("AAABBBCC")}
    ... ).compute()
    >>> result.worst("accuracy"), result.gap("accuracy")
    ([('B', 0.3333333333333333)], 0.6666666666666667)
    >>> list(result), list(result.sorted_by("accuracy"))
    (['A', 'B', 'C'], ['B', 'A', 'C'])
    """

    TABLE = Table(task="sliced")
    _SHAPE = "wide"

    _config: SlicedConfig
    _by_value: Mapping[Value, Any]
    other: Any
    n_turned_away: int | float
    _has_other: bool

    @classmethod
    def of(
        cls,
        config: SlicedConfig,
        by_value: Mapping[Value, Any],
        other: Any,
        n_turned_away: int | float,
        *,
        has_other: bool,
    ) -> Self:
        """Hold the results of slices, and of the other rows."""
        return cls((), (), config, by_value, other, n_turned_away, has_other)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns of the values."""
        return self._config.column

    @property
    def rest(self) -> Any:
        """The result of the rows whose value has no slice; None without such rows."""
        return self.other if self.n_turned_away else None

    def worst(self, metric: str, k: int = 1, min_n: float = 0) -> list[tuple[Value, float]]:
        """Find the slices with the worst values of a metric.

        Parameters
        ----------
        metric : str
            Named as for `read`, such as ``"recall[1]"``; within a `Collection`,
            ``"member/roc_auc"``. It must have a better direction.
        k : int
            How many slices to return.
        min_n : int or float
            Leave out slices with fewer examples.

        Returns
        -------
        list of (value, number)
            The worst first; equal ones in the order of the slices. Slices where the metric is
            undefined are left out.

        Raises
        ------
        InvalidInputError
            If the metric does not exist or has no better direction, or an argument is out of
            range.

        Notes
        -----
        The worst of many slices looks worse than it is, because chance chose it too. The intervals
        of `intervals` hold for all slices at once, so also for those that were searched out.
        """
        k = positive_integer(k, name="k")
        search = self._search(metric, min_n)
        search.check_direction()
        return search.worst(k)

    def gap(
        self, metric: str, kind: Literal["difference", "ratio"] = "difference", min_n: float = 0
    ) -> float:
        """Compare the slices with the highest and the lowest value of a metric.

        Parameters
        ----------
        metric, min_n
            As for `worst`; a better direction is not needed.
        kind : {"difference", "ratio"}
            The highest minus the lowest value, or the lowest divided by the highest.

        Returns
        -------
        float
            As fairlearn's ``MetricFrame.difference`` and ``ratio``, in which slices are groups. A
            `Bounded` if the metric has certified bounds. nan without a slice where it is defined.
        """
        chosen = one_of(kind, GAPS, name="kind")
        return self._search(metric, min_n).gap(chosen)

    def intervals(
        self, metric: str, level: float = 0.95, min_n: float = 0
    ) -> dict[Value, tuple[float, float]]:
        """Compute sampling intervals that hold for all slices at once.

        The interval of each of m slices has the level ``1 - (1 - level) / m`` (Bonferroni). So all
        of them cover with a probability of at least `level`, also those of slices that were chosen
        by their values.

        Parameters
        ----------
        metric, min_n
            As for `worst`; a better direction is not needed.
        level : float
            In [0, 1); 0 leaves them out.

        Returns
        -------
        dict from value to (low, high)
            Of the slices where the metric is defined and has an interval.
        """
        return self._search(metric, min_n).intervals(level)

    def gap_interval(
        self,
        metric: str,
        kind: Literal["difference", "ratio"] = "difference",
        level: float = 0.95,
        min_n: float = 0,
    ) -> tuple[float, float]:
        """Compute the interval of `gap` from `intervals`, so that it holds for any slices.

        Returns
        -------
        (low, high)
            nan without a slice that has an interval.
        """
        chosen = one_of(kind, GAPS, name="kind")
        search = self._search(metric, min_n)
        return search.bounds(chosen, search.intervals(level).values())

    def sorted_by(self, metric: str, min_n: float = 0) -> Self:
        """Order the slices by a metric, the worst first; without a better direction, the lowest.

        Slices where it is undefined come last, and those with fewer examples than `min_n` are
        left out.
        """
        search = self._search(metric, min_n)
        order = [*(value for value, _ in search.worst()), *search.undefined]
        return attrs.evolve(self, by_value={value: self._by_value[value] for value in order})

    def _dots(self, request: PlotRequest) -> Dots:
        """Show a metric of each slice."""
        others = self.rest or next(iter(self._complete().values()), None)
        if not isinstance(others, Result):
            raise InvalidInputError("needs a slice with a table of metrics", argument="plot")
        metric = others.headline()[0] if request.kind is None else request.kind
        shown = {
            value_text(value): read_or_nan(one, metric, request.level).defined
            for value, one in self._shown.items()
        }
        heading = others.heading(metric)
        return Dots(f"{heading} by {', '.join(self.columns)}", shown, across=heading)

    def _search(self, metric: str, min_n: float) -> Search:
        by_value = self._complete()
        has_others = self._has_other or not by_value
        others = self.other if has_others else next(iter(by_value.values()))
        return Search.of(by_value, parse_metric(metric), min_n, others)

    def _complete(self) -> dict[Value, Any]:
        held = self._by_value
        return dict(held.complete() if isinstance(held, SliceResults) else held)

    @property
    def _shown(self) -> dict[Value, Any]:
        """The slices, and the rows without a slice if there are some."""
        return self._complete() | ({} if self.rest is None else {OTHER: self.rest})

    def _by_name(self) -> Iterator[tuple[str, Any]]:
        by_value = self._complete()
        yield from zip(slice_names(self._config, list(by_value)), by_value.values(), strict=True)
        if self._has_other:
            yield OTHER, self.other

    def __getitem__(self, value: Value) -> Any:
        """Return the result of a value's slice; with several columns, the value is a tuple."""
        key = read_value(value, self._config.column, name="value")
        if key not in self._by_value:
            raise KeyError(f"{value!r} has no slice")
        return self._by_value[key]

    def __contains__(self, value: object) -> bool:
        """Tell whether a value has a slice."""
        return value in self._by_value

    def __iter__(self) -> Iterator[Value]:
        """List the values that have a slice, the configured ones first."""
        return iter(self._by_value)

    def __len__(self) -> int:
        """Return the number of values that have a slice."""
        return len(self._by_value)

    def _sheet(self, level: float, max_classes: int) -> Sheet:
        """List the sheets of the slices."""
        return self._sheets(level, max_classes) or ["no slices"]

    _REPORT = Report(_sheet)

    def _laid_out(self, per: str | None, form: Form) -> TablePart:
        """Lay out `table`: a row for each slice, or one for each class or group in it."""
        parts = [
            (value, result.laid_out(per, form))
            for value, result in self._shown.items()
            if isinstance(result, Result)
        ]
        columns = _apart(self._config.column, {name for _, part in parts for name in part.columns})
        return TablePart.stacked((_keys(columns, value), part) for value, part in parts)

    _MEMBERS = MemberAxis(_by_name, _laid_out, picture=_dots)

    def __repr__(self) -> str:
        """Show the result of each slice."""
        return f"SlicedResult({self._shown})"


def slice_names(config: SlicedConfig, values: Sequence[Value]) -> list[str]:
    """Name slices ``column=value``; text that looks like a number is quoted if both occur."""
    texts = [_name(config, value, quoted=False) for value in values]
    times = Counter(texts)
    return [
        _name(config, value, quoted=True) if times[text] > 1 else text
        for value, text in zip(values, texts, strict=True)
    ]


def _name(config: SlicedConfig, value: Value, *, quoted: bool) -> str:
    return ",".join(
        f"{column}={item!r}" if quoted and isinstance(item, str) else f"{column}={value_text(item)}"
        for column, item in config.items(value).items()
    )


def _apart(columns: tuple[str, ...], names: set[str]) -> list[str]:
    """Name the columns of slices, with a prefix if another column has the name."""
    found: list[str] = []
    for column in columns:
        others = [other for other in columns if other != column]
        taken = names.union(found, others)
        name = column
        while name in taken:
            name = f"slice_{name}"
        found.append(name)
    return found


def _keys(columns: Sequence[str], value: Value) -> TableRow:
    """Map the columns of slices to the items of a value."""
    items = value if isinstance(value, tuple) else (value,) * len(columns)
    return dict(zip(columns, items, strict=True))


@attrs.frozen(eq=False, repr=False)
class Search:
    """A metric of every slice that has enough examples.

    Parameters
    ----------
    metric : MetricName
        The metric.
    better : {"higher", "lower", ""}
        Its better direction.
    results : mapping of value to result
        The slices with enough examples.
    numbers : dict of value to number
        The metric where it is defined.
    small : tuple of values
        The slices with too few examples.
    """

    metric: MetricName
    better: str
    results: Mapping[Value, Any]
    numbers: dict[Value, float]
    small: tuple[Value, ...]

    @classmethod
    def of(
        cls, by_value: Mapping[Value, Any], metric: MetricName, min_n: float, others: Any
    ) -> Self:
        """Read a metric of the slices; it is undefined where no row defines it, or has its class.

        Raises
        ------
        InvalidInputError
            If neither a slice nor the result of other rows has the metric, or a result has no table
            of metrics.
        """
        limit = finite_number(min_n, name="min_n")
        held = [*by_value.values()]
        if not all(isinstance(one, Result) for one in held):
            raise InvalidInputError("needs slices with a table of metrics", argument="metric")
        if held:
            held[0]._prepare(held, [metric])
        every = {value: found(one, metric) for value, one in by_value.items()}
        if not any(every.values()) and isinstance(others, Result):
            others.check(metric)
        read = {
            value: math.nan if asked is None else asked.defined(asked.result)
            for value, asked in every.items()
        }
        small = [one for one in read if limit and _found(by_value[one], metric).size < limit]
        left = dict.fromkeys(small)
        return cls(
            metric=metric,
            better=better_of(held[0] if held else others, metric),
            results={value: by_value[value] for value in read if value not in left},
            numbers={
                value: number
                for value, number in read.items()
                if value not in left and not math.isnan(number)
            },
            small=tuple(small),
        )

    @property
    def undefined(self) -> list[Value]:
        """The slices with enough examples where the metric is undefined."""
        return [value for value in self.results if value not in self.numbers]

    def size(self, value: Value) -> int | float:
        """Return how much a slice has counted."""
        return _found(self.results[value], self.metric).size

    def check_direction(self) -> None:
        """Raise InvalidInputError if neither high nor low values are better."""
        if not self.better:
            raise InvalidInputError(
                f"must have a better direction, and {self.metric} has none", argument="metric"
            )

    def worst(self, k: int | None = None) -> list[tuple[Value, float]]:
        """List the slices where the metric is defined, the worst or else the lowest first."""
        sign = -1.0 if self.better == "lower" else 1.0
        return sorted(self.numbers.items(), key=lambda pair: sign * float(pair[1]))[:k]

    def gap(self, kind: Gap) -> float:
        """Subtract the lowest from the highest value, or divide it by the highest."""
        numbers = [*self.numbers.values()]
        if not numbers:
            return math.nan
        gap = _gap(kind, numbers, numbers)
        if not any(isinstance(number, Bounded) for number in numbers):
            return gap
        low, high = self.bounds(kind, [Reading(number).certified for number in numbers])
        return Bounded(min(max(gap, low), high), low, high)

    def readings(self, level: float) -> dict[Value, Reading]:
        """Read the slices where the metric is defined, so that all intervals hold at once."""
        normal_quantile(level)  # checks it, even without slices
        return {value: self.reading(value, level) for value in self.numbers}

    def reading(self, value: Value, level: float) -> Reading:
        """Read one of the slices, with an interval that holds for all of them at once.

        The interval of each of m slices has the level ``1 - (1 - level) / m`` (Bonferroni); at the
        level 0, there are no sampling intervals.
        """
        each = level_of_each(level, len(self.numbers))
        reading: Reading = self.results[value].read(self.metric, level=each)
        return reading

    def intervals(self, level: float) -> dict[Value, Interval]:
        """Compute sampling intervals that hold at once, of the slices that have one."""
        readings = self.readings(level).items()
        return {value: one.sampling for value, one in readings if one.sampling is not None}

    def bounds(self, what: Contrast, ends: Collection[Interval]) -> Interval:
        """Bound the worst value, or the gap, of slices that lie within some ends; nan if none."""
        if not ends:
            return math.nan, math.nan
        lows, highs = zip(*ends, strict=True)
        if what == "worst":
            worst = max if self.better == "lower" else min
            return worst(lows), worst(highs)
        closest = max(lows), min(highs)
        widest = _gap(what, lows, highs)
        if what == "difference":
            return max(0.0, closest[0] - closest[1]), widest
        nearest_one = min(1.0, closest[1] / closest[0]) if closest[0] > 0.0 else 1.0
        return min(widest, nearest_one), nearest_one


def better_of(result: Any, metric: MetricName) -> str:
    """Return the better direction of a metric of a result."""
    return _found(result, metric).row.better


def _found(result: Result, metric: MetricName) -> Asked:
    """Find a metric, even if no row of the result has the class it names."""
    return found(result, metric) or result.asked(attrs.evolve(metric, of=None))


def _gap(kind: Gap, lows: Sequence[float], highs: Sequence[float]) -> float:
    """Subtract the lowest from the highest value, or divide it by the highest."""
    low, high = float(min(lows)), float(max(highs))
    if kind == "difference":
        return high - low
    return low / high if high else math.nan
