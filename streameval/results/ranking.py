"""The result of `RankingAccumulator`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import attrs
import numpy as np
import numpy.typing as npt

from streameval.configs.measures import MEASURES, MeasureRow, measure
from streameval.configs.options import finite_number
from streameval.configs.query_quantiles import QueryQuantile, measured
from streameval.configs.ranking import EMPTY, MISSING, RankingConfig, policies
from streameval.errors import InvalidInputError
from streameval.exact.fixed_point import FixedPoint
from streameval.exact.score_keys import keys_of
from streameval.metrics.bounded import Bounded, outward
from streameval.metrics.evidence import Mean, Share, Statistic, refuse_fractions
from streameval.metrics.intervals import effective_draws, normal_quantile, wilson
from streameval.metrics.quantiles import quantile, quantile_ends
from streameval.metrics.ranking import MIN_LOG
from streameval.metrics.table import Metric, Reading, Table, count_row
from streameval.render import plots
from streameval.render.blocks import Description, Dots, Row
from streameval.render.text import plural
from streameval.results.names import MetricName
from streameval.results.result import Result
from streameval.results.tables import Row as TableRow
from streameval.states.cells import Cells
from streameval.states.query_sketches import TABLES
from streameval.states.query_weights import listed_weights, weights_of
from streameval.states.ranking import ABSENT, RankingState

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Ranking"]

Interval = tuple[float, float]
_CREDIT = {"zero": 0, "one": 1}
_WHY_NONE = "it takes two queries"
_WHY_FRACTIONS = "weights had fractions"


@attrs.frozen
class _Tally:
    """The queries that enter a mean, by weight, and the sums of their values."""

    n: Fraction
    total: Fraction
    squares: Fraction
    low: Fraction
    high: Fraction
    is_undefined: bool

    def mean(self, total: Fraction) -> float:
        """Divide a total by the number of queries; nan without any, or if the mean is undefined."""
        return float(total / self.n) if self.n and not self.is_undefined else math.nan

    @property
    def variance(self) -> float:
        """The sample variance of the values."""
        if self.n < 2 or self.is_undefined:
            return math.nan
        return float((self.squares - self.total * self.total / self.n) / (self.n - 1))


@attrs.frozen(repr=False, eq=False, slots=False)
class Ranking(Result, Mapping[str, Bounded]):
    """Means of rank measures over queries, by name of the measure.

    Made by `RankingAccumulator.compute`. A measure is looked up by any of its names:
    ``result["ndcg@10"]`` is ``result["nDCG@10"]``. Values are `Bounded`: exact, except for measures
    without a cutoff if open queries had more than `rows_per_query` rows.

    Notes
    -----
    Measures are means over queries, where ``R`` is the number of relevant documents known,
    retrieved or not, and ``r_1 < r_2 < ...`` are the ranks of those retrieved:

    * {measures}
    * ``quantile``: A quantile of a measure over the queries, as map[median], map[min], map[max] and
      map[q=0.9].

    Tied documents have closed forms (McSherry and Najork, 2008).

    Where queries have weights, means and numbers of queries are weighted. Whole weights are
    repeats of a query; with fractions there are no sampling intervals.
    """

    TASK = "ranking"
    MADE_BY = "RankingAccumulator"
    SIZE = "n_queries"
    PICTURES = ("measures",)
    TERMS = (
        "Measures are means over queries, where R is the number of relevant documents known, "
        "retrieved or not, and r_1 < r_2 < ... are the ranks of those retrieved."
    )

    _state: RankingState
    _config: RankingConfig
    _empty: tuple[str, ...]
    _missing: tuple[str, ...]

    @classmethod
    def of(cls, state: RankingState, config: RankingConfig, *, empty: Any, missing: Any) -> Self:
        """Choose how empty and missing queries count."""
        names = config.means
        chosen = config.empty if empty is None else empty
        absent = config.missing if missing is None else missing
        return cls(
            state,
            config,
            policies(chosen, names, EMPTY, name="empty"),
            policies(absent, names, MISSING, name="missing"),
        )

    def __getitem__(self, name: str) -> Bounded:
        """Look up the mean of a measure, or a quantile that was asked for."""
        asked = self._quantile_of(name)
        return self._values[self._index(name)] if asked is None else self._quantile(asked)

    def __iter__(self) -> Iterator[str]:
        """List the names of the measures, then those of quantiles."""
        return iter((*self._config.means, *self._config.quantiles))

    def __len__(self) -> int:
        """Return the number of measures and quantiles."""
        return len(self._config.means) + len(self._config.quantiles)

    @property
    def map(self) -> Bounded:
        """The mean average precision, in [0, 1]."""
        return self._measure("map")

    @property
    def mrr(self) -> Bounded:
        """The mean reciprocal rank of the first relevant document, in [0, 1]."""
        return self._measure("mrr")

    @property
    def ndcg(self) -> Mapping[int, Bounded]:
        """The mean normalised discounted cumulative gain, by cutoff."""
        return self._by_cutoff("ndcg")

    @property
    def precision(self) -> Mapping[int, Bounded]:
        """The mean precision, by cutoff."""
        return self._by_cutoff("p")

    @property
    def recall(self) -> Mapping[int, Bounded]:
        """The mean recall, by cutoff."""
        return self._by_cutoff("r")

    @property
    def hit(self) -> Mapping[int, Bounded]:
        """The share of queries with a relevant document, by cutoff."""
        return self._by_cutoff("hit")

    @property
    def n_queries(self) -> int | float:
        """The number of complete queries, without missing and open ones."""
        return _plain(self._state.n)

    @property
    def n_empty(self) -> int | float:
        """The number of these in which nothing is relevant at `relevance_level`."""
        return _plain(self._state.nothing)

    @property
    def n_missing(self) -> int | float:
        """The number of judged queries that are absent from the run."""
        return _plain(self._state.missing)

    @property
    def n_open(self) -> int:
        """The number of open queries, which do not count yet."""
        return len(self._state.ids)

    @property
    def exact(self) -> bool:
        """Whether no value has bounds."""
        return all(value.exact for value in self.values())

    @property
    def counts_missing(self) -> bool:
        """Whether missing queries enter the mean of a measure."""
        return "zero" in self._missing

    @property
    def empty(self) -> dict[str, int | float]:
        """The number of queries in which each measure had nothing to find."""
        numbers = self._state.empty.to_numbers().tolist()
        return dict(zip(self._config.means, numbers, strict=True))

    @property
    def stderr(self) -> dict[str, float]:
        """The standard error of each mean: the deviation of the queries over sqrt(n).

        nan with fewer than two queries. Of geometric means, by the delta method. Weights with
        fractions raise InvalidInputError.
        """
        self._refuse_fractions()
        errors = {}
        for name, tally in zip(self._config.means, self._tallies, strict=True):
            error = math.sqrt(max(tally.variance, 0.0) / tally.n) if tally.n > 1 else math.nan
            if measure(name).is_geometric:
                error *= math.exp(tally.mean(tally.total))
            errors[name] = error if not tally.is_undefined else math.nan
        return errors

    def confidence(self, name: str, level: float = 0.95) -> Interval:
        """Compute the sampling interval of a mean over queries.

        It says how far the mean of these queries may be from that of the population they are
        drawn from, whereas the bounds of a value are about these queries alone. It is Wilson's
        interval for the number of draws of 0 and 1 with this variance; for measures that are no
        shares, such as "dcg", and for geometric means the normal interval.

        Parameters
        ----------
        name : str
            A measure.
        level : float
            The probability, in [0, 1).

        Returns
        -------
        (low, high)
            nan with fewer than two queries, and for quantiles. If the value has bounds, the hull
            over both.

        Raises
        ------
        InvalidInputError
            For a level outside [0, 1), or weights with fractions: whole ones are repeats of a
            query, but a fraction of one is not a draw.
        """
        z = normal_quantile(level)
        self._refuse_fractions()
        if self._quantile_of(name) is not None:
            return math.nan, math.nan
        index = self._index(name)
        tally = self._tallies[index]
        if not tally.n > 1 or tally.is_undefined:
            return math.nan, math.nan
        ends = [self._interval(index, total, z) for total in (tally.low, tally.total, tally.high)]
        return min(low for low, _ in ends), max(high for _, high in ends)

    def total(self, name: str) -> float:
        """Compute the sum of a measure over the queries, such as of "num_ret".

        Parameters
        ----------
        name : str
            A measure.
        """
        tally = self._tallies[self._index(name)]
        return math.nan if tally.is_undefined else float(tally.total)

    def quantile(self, name: str, q: float = 0.5) -> Bounded:
        """Compute a quantile over queries: 0 is the min, 0.5 the median, 1 the max.

        Between two queries the value is interpolated, as by `numpy.quantile`. A query of weight 2
        stands there twice. With fractional weights there is no next query to interpolate to: it
        is the smallest value that a share q of the weight does not exceed, and the middle between
        it and the next where the share is met exactly.

        Parameters
        ----------
        name : str
            A measure.
        q : float
            The share of the queries below, in [0, 1].

        Returns
        -------
        Bounded
            nan where the mean is. Exact where the values of queries are kept; else with certified
            bounds once a measure has more distinct values than the accumulator has a budget for,
            or values with bounds of their own.

        Raises
        ------
        InvalidInputError
            When the accumulator was made neither with ``per_query=True`` nor with a quantile of
            this measure, such as ``map[median]``; or q is not in [0, 1].

        Examples
        --------
        >>> import streameval as se
        >>> acc = se.RankingAccumulator("mrr", per_query=True)
        >>> acc = acc.update([[1, 0], [0, 1], [0, 1]], [[2, 1]] * 3, query=[1, 2, 3])
        >>> result = acc.compute()
        >>> result.quantile("mrr"), result.quantile("mrr", 1)
        (0.5, 1.0)
        """
        index = self._index(name)
        if not 0.0 <= finite_number(q, name="q") <= 1.0:
            raise InvalidInputError(f"must lie in [0, 1], got {q!r}", argument="q")
        tally, is_sketched = self._tallies[index], index in self._config.sketched
        if not (self.has_queries or is_sketched):
            raise InvalidInputError(
                "must be True when the accumulator is made, or its measures name a quantile, as "
                f"{self._config.means[index]}[median]",
                argument="per_query",
            )
        if tally.is_undefined or not tally.n:
            return Bounded(math.nan)
        return self._sketched(index, float(q)) if is_sketched else self._kept(index, float(q))

    def _kept(self, index: int, q: float) -> Bounded:
        """Compute a quantile of the values that are kept."""
        _, weights, columns = self._listed()
        column = columns[self._config.means[index]]
        counts = ~np.isnan(column)
        own = listed_weights(weights, len(column))[counts]
        return Bounded(quantile(column[counts], own, q, is_whole=self._is_whole))

    def _sketched(self, index: int, q: float) -> Bounded:
        """Bound a quantile by the tables of a measure, and what empty and missing queries count."""
        item, state = self._config.parsed[index], self._state
        first = TABLES * self._config.sketched.index(index)
        known, low, high = state.sketches.tables[first : first + TABLES]
        counted = [known]
        for count, policy in (
            (state.empty[index], self._empty[index]),
            (state.missing, self._missing[index]),
        ):
            if policy in _CREDIT and count.is_positive():
                credit = float(_CREDIT[policy])
                if item.is_geometric:
                    credit = 0.0 if credit else -math.inf
                key = keys_of(np.array([credit]), "real")
                counted.append(Cells(key, key, count.reshape(1), FixedPoint.zeros(1)))
        ends = quantile_ends(
            [*counted, low],
            [*counted, high],
            q,
            is_whole=self._is_whole,
            are_logs=item.is_geometric,
        )
        if ends[0] == ends[1]:
            return Bounded(ends[0])
        value = (ends[0] + ends[1]) / 2.0
        return outward(ends[0], value, ends[1], min_value=item.min_value, max_value=item.max_value)

    def _quantile(self, asked: QueryQuantile) -> Bounded:
        return self.quantile(asked.measure, asked.q)

    def _quantile_of(self, name: Any) -> QueryQuantile | None:
        """Read the name of a quantile of a measure; None if it is another name, or not to be had.

        Where a sketch or the values of queries are kept, every quantile can be read.
        """
        try:
            asked = QueryQuantile.of(name)
        except InvalidInputError as error:
            raise KeyError(str(error)) from None
        if asked is None:
            return None
        index = self._index(asked.measure)
        if not (self.has_queries or index in self._config.sketched):
            raise KeyError(f"{name!r} is not among the measures {', '.join(self)}")
        return asked

    @property
    def has_queries(self) -> bool:
        """Whether the value of each query has been kept."""
        return self._config.per_query

    def per_query(self) -> dict[str, npt.NDArray[Any]]:
        """List the queries in order, as columns that a data frame takes.

        Returns
        -------
        dict of arrays, shape (n,)
            ``query``, ``query_weight`` where one is not 1, and each measure. A query in which a
            measure has nothing to find counts as `empty` says: 0, 1, or nan if it is left out.
            Missing queries are listed if `missing` counts them.

        Raises
        ------
        InvalidInputError
            When the accumulator was not made with ``per_query=True``.
        """
        if not self.has_queries:
            raise InvalidInputError(
                "must be True when the accumulator is made", argument="per_query"
            )
        ids, weights, columns = self._listed()
        of_queries = {"query": ids.copy()}
        if weights.whole.size:
            of_queries["query_weight"] = weights.to_numbers()
        return of_queries | columns

    def _listed(self) -> tuple[npt.NDArray[Any], FixedPoint, dict[str, npt.NDArray[Any]]]:
        """List the queries that are kept: ids, weights, and what each counts in each measure."""
        ids, weights = self._state.closed.values, self._state.closed_weights
        bits = self._state.values.values.reshape(len(ids), len(self._config.means))
        if not self.counts_missing:
            listed = np.flatnonzero(bits[:, 0] != ABSENT)
            ids, bits, weights = ids[listed], bits[listed], weights_of(weights, listed)
        columns: dict[str, npt.NDArray[Any]] = {}
        for index, name in enumerate(self._config.means):
            column, is_absent = bits[:, index].view(np.float64), bits[:, index] == ABSENT
            if measure(name).is_geometric:
                column = np.array([math.exp(value) for value in column.tolist()])
            empty, missing = (
                _CREDIT.get(policy[index], math.nan) for policy in (self._empty, self._missing)
            )
            column = np.where(np.isnan(column), empty, column)
            columns[name] = np.where(is_absent, missing, column)
        return ids, weights, columns

    def value(self, name: str, *args: Any, **options: Any) -> Any:  # noqa: ARG002 - as all have them
        """Look up the mean of a measure, or a count."""
        return self._number(name)

    def _parts(self) -> dict[str, Callable[[bool], list[TableRow]]]:
        return {"query": self._query_rows} if self.has_queries else {}

    def _query_rows(self, bounds: bool) -> list[TableRow]:  # noqa: ARG002 - queries have none
        columns = {name: column.tolist() for name, column in self.per_query().items()}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def report(self, *, level: float = 0.95) -> str:
        """Lay the numbers out as a text table.

        Parameters
        ----------
        level : float
            The level of the sampling intervals, in [0, 1); 0 leaves them out.
        """
        return self.text(level)

    def plot(
        self, ax: Axes | None = None, *, level: float = 0.95, label: str | None = None
    ) -> Axes:
        """Draw the mean of each measure; needs ``pip install streameval[plot]``.

        Points with whiskers for the sampling intervals, and broad bars for the certified ones.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        level : float
            The level of the sampling intervals, in [0, 1).
        label : str, optional
            The name in a legend, if several results share the axes.
        """
        if all(map(math.isnan, self.values())):
            raise InvalidInputError("needs a query that was counted", argument="plot")
        return plots.dots(
            self._measured(level),
            ax,
            across="mean over the queries",
            title=f"{self.n_queries:,} queries, {100.0 * level:.6g}% intervals",
            label=label,
            is_share=_is_share,
        )

    def described(self, level: float) -> Description:
        """Describe the result to a page: all measures, and a picture of those that are shares."""
        readings, measured = self.readings(level), self._measured(level)
        counts = {
            row.name: Row(row.heading, readings[row.name], is_rare=row.is_rare)
            for row in self.TABLE.values()
            if row.is_count
        }
        return Description(
            heading="Retrieval and recommendation",
            title="Measures",
            rows=counts | {name: Row(name, reading) for name, reading in measured.items()},
            caption="Means over the queries.",
            beside=[
                Dots(
                    "Means",
                    "Means of the measures",
                    {name: item for name, item in measured.items() if _is_share(name)},
                )
            ],
        )

    def __repr__(self) -> str:
        """Show size and measures on one line."""
        values = ", ".join(f"{name}={value:.6g}" for name, value in self.items())
        return f"Ranking(n_queries={self.n_queries}, {values})"

    def _measured(self, level: float) -> dict[str, Reading]:
        return {name: self._reading(self._row(name), self[name], level) for name in self}

    def _count_names(self) -> list[str]:
        return [row.name for row in self.TABLE.values() if row.is_count]

    def _names(self) -> list[str]:
        return [*self, *self._count_names()]

    def _number(self, name: str) -> Any:
        return getattr(self, name) if name in self._count_names() else self[name]

    def _row(self, name: str) -> Metric:
        """Return the row of a measure, under its own name, or of a count."""
        if name in self._count_names():
            return self.TABLE[name]
        if measured(name) != name:
            return attrs.evolve(self.TABLE["quantile"], name=name)
        row = attrs.evolve(self.TABLE[measure(name).family], name=name)
        return row if self._is_whole else attrs.evolve(row, why_none=_WHY_FRACTIONS)

    def _sampling(self, row: Metric, level: float, *_: Any, **__: Any) -> Interval | None:
        if row.sampling is None or not self._is_whole:
            return None
        low, high = self.confidence(row.name, level)
        return None if math.isnan(low) else (low, high)

    @property
    def _is_whole(self) -> bool:
        """Whether each query counts as a whole number of them."""
        return self._state.n.is_whole and self._state.missing.is_whole

    def _refuse_fractions(self) -> None:
        if not self._is_whole:
            raise InvalidInputError(
                "had fractions, and a fraction of a query is not a draw: there are no intervals",
                argument="query_weight",
            )

    def _find(self, metric: MetricName) -> Callable[[float], Reading]:
        """Find a measure by any of its names, or a count."""
        asked = self._quantile_of(str(metric)) if str(metric) in self else None
        if asked is not None:
            row, number = self._row(str(metric)), self._quantile(asked)
            return lambda level: self._reading(row, number, level)
        if metric.name in self:
            metric = attrs.evolve(metric, name=measure(metric.name).name)
        return super()._find(metric)

    @property
    def _sizes(self) -> str:
        counts = [plural(self.n_queries, "query", "queries")]
        for count, what in (
            (self.n_empty, "with nothing relevant"),
            (self.n_missing, "judged but missing"),
            (self.n_open, "still open"),
        ):
            counts += [f"{count:,} {what}"] if count else []
        return ", ".join(counts)

    def _statistic(self, metric: MetricName) -> Statistic:
        self.check(metric)
        row = self._row(str(metric))
        is_mean = not row.is_count and row.evidence is not None
        return row.statistic(self, *([self._index(metric.name)] if is_mean else []))

    def entries(self, level: float, *, bounds: bool = False) -> dict[str, Any]:
        """List the entries of the JSON object, with the counts first."""
        entries = super().entries(level, bounds=bounds)
        counts = {name: entries["metrics"][name] for name in self._count_names()}
        return entries | {"metrics": counts | entries["metrics"]}

    def _index(self, name: str) -> int:
        with suppress(ValueError):  # no such measure, or not among these
            index = self._config.means.index(measure(name).name)
            if self._config.agrees_with(name):
                return index
        raise KeyError(f"{name!r} is not among the measures {', '.join(self)}")

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in MEASURES or hasattr(self, name)]

    def _attribute(self, name: str) -> Any:
        """Look up a measure by name; those with a required cutoff are mappings by cutoff."""
        row = MEASURES.get(name)
        if row is not None and row.cutoff == "required":
            return self._by_cutoff(name)
        return self._measure(name)

    def _measure(self, name: str) -> Bounded:
        if name not in self._config.means:
            raise AttributeError(f"{name!r} is not among the measures {', '.join(self)}")
        return self[name]

    def _by_cutoff(self, family: str) -> Mapping[int, Bounded]:
        parsed = zip(self._config.parsed, self._values, strict=True)
        return {
            item.cutoff: value
            for item, value in parsed
            if item.family == family and item.cutoff is not None and item.level is None
        }

    def _interval(self, index: int, total: Fraction, z: float) -> Interval:
        tally, item = self._tallies[index], self._config.parsed[index]
        mean, variance = tally.mean(total), max(tally.variance, 0.0) / tally.n
        if item.is_geometric or math.isinf(item.max_value):
            reach = z * math.sqrt(variance)
            if not item.is_geometric:
                return max(mean - reach, item.min_value), mean + reach
            return math.exp(max(mean - reach, MIN_LOG)), math.exp(min(mean + reach, 0.0))
        draws = effective_draws(mean, variance, float(tally.n))
        return wilson(mean, draws, z)

    @cached_property
    def _values(self) -> list[Bounded]:
        pairs = zip(self._tallies, self._config.means, strict=True)
        return [self._bounded(tally, name) for tally, name in pairs]

    @staticmethod
    def _bounded(tally: _Tally, name: str) -> Bounded:
        item = measure(name)
        low, value, high = (tally.mean(total) for total in (tally.low, tally.total, tally.high))
        if item.is_geometric:
            low, value, high = math.exp(low), math.exp(value), math.exp(high)
        if tally.low == tally.high or math.isnan(value):
            return Bounded(value)
        return outward(low, value, high, min_value=item.min_value, max_value=item.max_value)

    @cached_property
    def _tallies(self) -> list[_Tally]:
        return [self._tally(index) for index in range(len(self._config.means))]

    def _tally(self, index: int) -> _Tally:
        """Add the credit of empty and missing queries to the sums."""
        state, empty, missing = self._state, self._empty[index], self._missing[index]
        is_log = self._config.parsed[index].is_geometric
        n_empty = state.empty[index].to_fraction()
        n, total, squares = state.n.to_fraction() - n_empty, Fraction(0), Fraction(0)
        for count, policy in ((n_empty, empty), (state.missing.to_fraction(), missing)):
            if policy in _CREDIT:
                credit = _CREDIT[policy]
                worth = Fraction(MIN_LOG * (1 - credit)) if is_log else Fraction(credit)
                n, total, squares = n + count, total + count * worth, squares + count * worth**2
        sums = (state.sums[index], state.lows[index], state.highs[index])
        own, low, high = (total + part.to_fraction() for part in sums)
        squares += state.squares[index].to_fraction()
        return _Tally(n, own, squares, low, high, bool(n_empty) and empty == "nan")


def _draws(ranking: Ranking, index: int) -> Statistic:
    """Take the queries as draws: hits and misses, or numbers with their squares."""
    tally, item = ranking._tallies[index], ranking._config.parsed[index]
    n = float(tally.n)
    refuse_fractions(ranking._is_whole, argument="query_weight")
    if tally.is_undefined:
        raise InvalidInputError(
            'is undefined: a query has nothing to find, and counts as "nan"', argument=item.name
        )
    low, high = float(tally.low), float(tally.high)
    if item.family == "hit":
        return Share((low, n - low), (high, n - high))
    return Mean(n, low, high, float(tally.squares), item.max_value)


def _plain(number: FixedPoint) -> int | float:
    value: int | float = number.to_numbers().item()
    return value


def _is_share(name: str) -> bool:
    return measure(measured(name)).max_value == 1.0


def _of(row: MeasureRow) -> Metric:
    """Make the row of a measure."""
    return Metric(
        name=row.name,
        aliases=row.others,
        heading=row.name,
        help=row.help,
        formula=row.formula,
        better=row.better,
        certified=True,
        value=lambda ranking, name: ranking[name],
        sampling=Ranking.confidence,
        evidence=None if row.is_geometric or row.min_value < 0.0 else _draws,
        why_no_evidence="a geometric mean is not a mean of query values"
        if row.is_geometric
        else "its values may be negative",
        why_none=_WHY_NONE,
        arguments=("k",) if row.cutoff == "required" else ("k=None",) * (row.cutoff == "optional"),
        oracle=row.oracle,
    )


Ranking.TABLE = Table(
    count_row(
        "n_queries",
        "Queries",
        "The number of complete queries, without missing and open ones.",
    ),
    count_row(
        "n_empty",
        "With nothing relevant",
        "The number of these in which nothing is relevant at relevance_level.",
        is_rare=True,
    ),
    count_row(
        "n_missing",
        "Judged but missing",
        "The number of judged queries that are absent from the run.",
        is_rare=True,
    ),
    count_row(
        "n_open",
        "Still open",
        "The number of open queries, which do not count yet.",
        is_rare=True,
    ),
    Metric(
        name="quantile",
        aliases=("median", "percentile"),
        heading="quantile",
        help="A quantile of a measure over the queries, as map[median], map[min], map[max] and "
        "map[q=0.9].",
        notes="Interpolated between two queries.",
        formula=r"v_{(1 + q (n - 1))}",
        certified=True,
        value=lambda ranking, name, q=0.5: ranking.quantile(name, q),
        why_no_evidence="a quantile is no mean of what queries count",
        arguments=("name", "q=0.5"),
        on_request=True,
        oracle="NumPy, quantile",
    ),
    *map(_of, MEASURES.values()),
)

if Ranking.__doc__:  # pragma: no branch (Python may be told to leave docstrings out)
    _LIST = "\n    ".join(f"* ``{row.name}``: {row.help}" for row in MEASURES.values())
    Ranking.__doc__ = Ranking.__doc__.replace("* {measures}", _LIST)
