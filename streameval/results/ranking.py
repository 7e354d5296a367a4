"""The result of `RankingAccumulator`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import attrs
import numpy as np

from streameval.configs.cached import Cached, OnDemand
from streameval.configs.measures import Measure, measure
from streameval.configs.measures.requested import QueryQuantile, measured
from streameval.configs.measures.table import MEASURES
from streameval.configs.options import finite_number
from streameval.configs.ranking import EMPTY, MISSING, RankingConfig, policies
from streameval.errors import InvalidInputError, UnknownMetricError
from streameval.exact.array_types import Array, Mask
from streameval.exact.exact_sum import ExactSum
from streameval.exact.fixed_point import FixedPoint
from streameval.exact.score_keys import keys_of
from streameval.metrics import ranking_table
from streameval.metrics.bounded import Bounded, Interval, outward
from streameval.metrics.intervals import (
    UNDEFINED,
    effective_draws,
    hull,
    normal_quantile,
    student,
    wilson,
)
from streameval.metrics.quantiles import quantile, quantile_ends
from streameval.metrics.ranking import MIN_LOG
from streameval.metrics.ranking_table import WHY_NONE, check_queries, draws_of, has_cutoffs
from streameval.metrics.table import Metric, Reading, Table, not_measured
from streameval.render.blocks import Dots
from streameval.render.plots import PlotRequest
from streameval.render.text import chance_title, plural
from streameval.results import findings
from streameval.results.clusters import StandardErrors
from streameval.results.members import RankingMembers, add_members
from streameval.results.names import MetricName
from streameval.results.reading import Asked
from streameval.results.result import Report, Result
from streameval.results.tables import ItemAxis, PerItem, Readings
from streameval.states.cells import Cells
from streameval.states.queries import listed_weights, weights_of
from streameval.states.ranking import ABSENT, TABLES, RankingState

_CREDIT = {"zero": 0, "one": 1}
_NOTHING = Fraction(0)
_ACRONYM = re.compile(r" \(([A-Z]+)\)$")
_KEYS = ("query", "query_weight")


@attrs.frozen(slots=False)
class _Tally(Cached):
    """The queries that enter a mean, by weight, and the sums of their values.

    Parameters
    ----------
    n : Fraction
        The number of queries.
    sums, squares_of_sums, lows, highs : ExactSum
        The sums over queries with something to find: of values, of squares, and of bounds.
    credit, credit_squares : Fraction
        The contribution of the other queries to the sums, and to the sum of squares.
    is_undefined : bool
        Whether a query makes the mean undefined.
    """

    n: Fraction
    sums: ExactSum
    squares_of_sums: ExactSum
    lows: ExactSum
    highs: ExactSum
    credit: Fraction
    credit_squares: Fraction
    is_undefined: bool

    @cached_property
    def total(self) -> Fraction:
        """The sum of the values."""
        return self.credit + self.sums.to_fraction()

    @cached_property
    def squares(self) -> Fraction:
        """The sum of their squares."""
        return self.credit_squares + self.squares_of_sums.to_fraction()

    @cached_property
    def low(self) -> Fraction:
        """The sum of their lower bounds."""
        return self.credit + self.lows.to_fraction()

    @cached_property
    def high(self) -> Fraction:
        """The sum of their upper bounds."""
        return self.credit + self.highs.to_fraction()

    @property
    def value(self) -> float:
        """The mean; nan without queries, or if it is undefined."""
        if self.credit or not self.n or self.is_undefined:
            return self.mean(self.total)
        return self.sums.over(self.n)

    def mean(self, total: Fraction) -> float:
        """Divide a total by the number of queries; nan without any, or if the mean is undefined."""
        return float(total / self.n) if self.n and not self.is_undefined else math.nan

    @cached_property
    def variance(self) -> float:
        """The sample variance of the values."""
        if self.n < 2 or self.is_undefined:
            return math.nan
        return float((self.squares - self.total * self.total / self.n) / (self.n - 1))


@attrs.frozen(repr=False, eq=False, slots=False)
class Ranking(RankingMembers, Result, Mapping[str, Bounded]):
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

    The interval of `confidence` says how far the mean of these queries may be from the mean of
    their population, whereas the bounds of a value are about these queries alone. It is Wilson's
    interval for the number of draws of 0 and 1 with this variance. Measures that are not shares,
    such as "dcg", and geometric means have the normal interval. Both are wider for few queries, by
    Student's t. With one query, it is the range of the measure. If the value has bounds, it covers
    the intervals at both.

    Examples
    --------
    Every measure of two queries, ties broken by document as in trec_eval:

    >>> import streameval as se
    >>> names = ["map", "mrr", "ndcg", "dcg", "rprec", "lrap", "coverage_error"]
    >>> names += ["label_ranking_loss", "map[median]", "unj@2"]
    >>> names += ["p@2", "r@2", "hit@1", "f@2", "adaptive_p@2", "fall_out@2", "judged@2", "err@2"]
    >>> names += ["query_auc", "rbp(p=0.8)", "rbp_resid", "bpref", "set_p", "set_r", "set_f"]
    >>> names += ["gm_map", "gm_bpref", "iprec(recall=0.5)", "11pt_avg", "relative_p@2"]
    >>> names += ["set_relative_p", "set_map", "utility", "bin_g", "g", "ndcg_rel", "rndcg"]
    >>> names += ["rprec_mult(times=0.5)", "num_ret", "num_rel", "num_rel_ret"]
    >>> names += ["num_nonrel_judged_ret", "all_hit@1", "majority"]
    >>> acc = se.RankingAccumulator(names, ties="docid_desc")
    >>> docs = [["a", "b", "c"], ["d", "e", "f"]]
    >>> result = acc.update([[1, 0, 2], [0, 1, 0]], [[3, 2, 1], [2, 1, 3]], doc=docs).compute()
    >>> for name in result:
    ...     print(f"{name:24}{result[name]:8.4f}")
    map                       0.5833
    mrr                       0.6667
    ndcg                      0.6301
    dcg                       1.2500
    rprec                     0.2500
    lrap                      0.5833
    coverage_error            3.0000
    label_ranking_loss        0.7500
    unj@2                     0.0000
    p@2                       0.2500
    r@2                       0.2500
    hit@1                     0.5000
    f@2                       0.2500
    adaptive_p@2              0.2500
    fall_out@2                1.0000
    judged@2                  1.0000
    err@2                     0.0312
    query_auc                 0.2500
    rbp(p=0.8)                0.2280
    rbp_resid                 0.0000
    bpref                     0.2500
    set_p                     0.5000
    set_r                     1.0000
    set_f                     0.6500
    gm_map                    0.5270
    gm_bpref                  0.0022
    iprec(recall=0.5)         0.6667
    11pt_avg                  0.6212
    relative_p@2              0.2500
    set_relative_p            1.0000
    set_map                   0.5000
    utility                   0.0000
    bin_g                     0.6577
    g                         0.5655
    ndcg_rel                  0.5650
    rndcg                     0.3450
    rprec_mult(times=0.5)     0.5000
    num_ret                   3.0000
    num_rel                   1.5000
    num_rel_ret               1.5000
    num_nonrel_judged_ret     1.5000
    all_hit@1                 0.5000
    majority                  0.5000
    map[median]               0.5833
    """

    TABLE = ranking_table.TABLE
    SIZE = "n_queries"
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

    def _policies(self, name: str) -> dict[str, str]:
        """Return how a measure counts empty and missing queries."""
        index = self._config.means.index(name)
        return {"empty": self._empty[index], "missing": self._missing[index]}

    def __getitem__(self, name: str) -> Bounded:
        """Look up the mean of a measure, or a requested quantile."""
        asked = self._quantile_of(name)
        return self._values[self._index(name)] if asked is None else self._quantile(asked)

    def __iter__(self) -> Iterator[str]:
        """List the names of the measures, then the names of the quantiles."""
        return iter((*self._config.means, *self._config.quantiles))

    def __len__(self) -> int:
        """Return the number of measures and quantiles."""
        return len(self._config.means) + len(self._config.quantiles)

    @property
    def precision(self) -> Mapping[int | None, Bounded]:
        """The mean precision, by cutoff."""
        return self._by_cutoff("p")

    @property
    def recall(self) -> Mapping[int | None, Bounded]:
        """The mean recall, by cutoff."""
        return self._by_cutoff("r")

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
    def stderr(self) -> StandardErrors:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The standard error of each mean, which is the deviation of the queries over sqrt(n).

        nan with fewer than two queries. Geometric means use the delta method. Fractional weights
        raise InvalidInputError. In a result for clusters, the jackknife gives all of them.
        """
        if self._clusters is not None:
            names = self._config.means
            return StandardErrors((name, super(Ranking, self).stderr(name)) for name in names)
        check_queries(self)
        errors = {}
        for index, name in enumerate(self._config.means):
            tally = self._tallies[index]
            error = math.sqrt(max(tally.variance, 0.0) / tally.n) if tally.n > 1 else math.nan
            if measure(name).is_geometric:
                error *= math.exp(tally.mean(tally.total))
            errors[name] = error if not tally.is_undefined else math.nan
        return StandardErrors(errors)

    def confidence(self, name: str, level: float = 0.95) -> Interval:  # type: ignore[override] # its level may come second
        """Compute the sampling interval of a mean over queries, for its value in the population.

        It is Wilson's interval for the number of draws of 0 and 1 with this variance. Measures that
        are not shares, such as "dcg", and geometric means have the normal interval. Both are wider
        for few queries, by Student's t.

        Parameters
        ----------
        name : str
            A measure.
        level : float
            The coverage probability, in [0, 1); 0 gives the value itself, twice.

        Returns
        -------
        (low, high)
            The range of the measure with one query, and nan with none. If the value has bounds, the
            interval covers the intervals at both bounds.

        Raises
        ------
        InvalidInputError
            For an unknown measure, a quantile, a level outside [0, 1), or weights with fractions:
            whole weights are repeats of a query, but a fraction of a query is not a draw.
        """
        return super().confidence(name, level=level)

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

        Between two queries the value is interpolated, as in `numpy.quantile`. A query of weight 2
        counts as two queries. With fractional weights, there is no interpolation: the quantile is
        the smallest value such that a share of at least `q` of the weight is at most that value.
        If the share is exactly `q`, it is the middle between this value and the next.

        Parameters
        ----------
        name : str
            A measure.
        q : float
            The share of the queries below, in [0, 1].

        Returns
        -------
        Bounded
            nan if the mean is nan. It is exact if the values of queries are kept. Otherwise it has
            certified bounds once a measure has more distinct values than the budget of the
            accumulator, or values that have bounds themselves.

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
        _, weights, columns, _ = self._listed()
        column = columns[self._config.means[index]]
        counts = ~np.isnan(column)
        own = listed_weights(weights, len(column))[counts]
        return Bounded(quantile(column[counts], own, q, is_whole=self._is_whole))

    def _sketched(self, index: int, q: float) -> Bounded:
        """Bound a quantile by the tables of a measure and the values of other queries."""
        item, state = self._config.parsed[index], self._state
        first = TABLES * self._config.sketched.index(index)
        known, low, high = (cells for _, cells in state.sketches[first : first + TABLES])
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
        """Read the name of a quantile of a measure; None for another name, or if it is unavailable.

        Every quantile is available if a sketch or the values of queries are kept.
        """
        try:
            asked = QueryQuantile.of(name)
        except InvalidInputError as error:
            raise KeyError(str(error)) from None
        if asked is None:
            return None
        index = self._index(asked.measure)
        if not (self.has_queries or index in self._config.sketched):
            raise KeyError(self._absent(name))
        return asked

    @property
    def has_queries(self) -> bool:
        """Whether the value of each query has been kept."""
        return self._config.per_query

    def per_query(self) -> dict[str, Array]:
        """List the queries in order, as columns that a data frame takes.

        Returns
        -------
        dict of arrays, shape (n,)
            ``query``, ``query_weight`` if any weight is not 1, and each measure. A query in which a
            measure has nothing to find has the value that `empty` sets: 0, 1, or nan if it is left
            out. Missing queries are listed if `missing` counts them.

        Raises
        ------
        InvalidInputError
            When the accumulator was not made with ``per_query=True``.
        """
        if not self.has_queries:
            raise InvalidInputError(
                "must be True when the accumulator is made", argument="per_query"
            )
        ids, weights, columns, _ = self._listed()
        of_queries = {"query": ids.copy()}
        if weights.whole.size:
            of_queries["query_weight"] = weights.to_numbers()
        return of_queries | columns

    def _listed(self) -> tuple[Array, FixedPoint, dict[str, Array], dict[str, Mask]]:
        """List the queries that are kept: ids, weights, and the value of each in each measure.

        The last tells which values are conventions, because the query has nothing to find.
        """
        ids, weights = self._state.closed.values, self._state.closed_weights
        bits = self._state.values.values.reshape(len(ids), len(self._config.means))
        if not self.counts_missing:
            listed = np.flatnonzero(bits[:, 0] != ABSENT)
            ids, bits, weights = ids[listed], bits[listed], weights_of(weights, listed)
        columns: dict[str, Array] = {}
        conventions: dict[str, Mask] = {}
        for index, name in enumerate(self._config.means):
            column, is_absent = bits[:, index].view(np.float64), bits[:, index] == ABSENT
            conventions[name] = np.isnan(column) & ~is_absent
            if measure(name).is_geometric:
                column = np.array([math.exp(value) for value in column.tolist()])
            empty, missing = (
                _CREDIT.get(policy[index], math.nan) for policy in (self._empty, self._missing)
            )
            column = np.where(np.isnan(column), empty, column)
            columns[name] = np.where(is_absent, missing, column)
        return ids, weights, columns, conventions

    @property
    def _conventions(self) -> dict[str, Mask]:
        """Tell by measure which values of `per_query` are of queries with nothing to find."""
        return self._listed()[-1]

    def _queries(self, level: float) -> ItemAxis:  # noqa: ARG002 - they have no sampling intervals
        columns = {name: column.tolist() for name, column in self.per_query().items()}
        keys = {name: columns.pop(name) for name in _KEYS if name in columns}
        conventions = self._conventions

        def read(name: str) -> Readings:
            undefined = {*np.flatnonzero(conventions[name]).tolist()}
            return Readings(columns[name], undefined=undefined)

        return ItemAxis(keys, [*columns], read)

    def _of_queries(
        self, metric: MetricName, args: tuple[Any, ...], options: Mapping[str, Any]
    ) -> Asked | None:
        """Find a measure or a quantile by any of its names."""
        name = str(metric)
        if name not in self._rows:
            if name not in self:
                return None
            if self._quantile_of(name) is not None:
                return Asked(self, self._row_of(name), args, options)
            name = measure(name).name
        return self._asked_of_all(MetricName(name), args, options)

    _PER_ITEM = PerItem("query", _queries, lambda one: one.has_queries, asked=_of_queries)

    def _means(self, request: PlotRequest) -> Dots:
        measured = self._measured(request.level)
        if not any(one.is_defined for one in measured.values()):
            raise InvalidInputError("needs a query that was counted", argument="plot")
        title = f"{plural(self.n_queries, 'query', 'queries')}, {chance_title(request.level)}s"
        return Dots(title, measured, "mean over the queries", _is_share)

    PICTURES: ClassVar = {"measures": _means}

    def __repr__(self) -> str:
        """Show size and measures on one line."""
        values = ", ".join(f"{name}={value:.6g}" for name, value in self.items())
        return f"Ranking(n_queries={self.n_queries}, {values})"

    def _measured(self, level: float) -> dict[str, Reading]:
        z = normal_quantile(level)
        return {name: self._reading(self._rows[name], self[name], z).defined for name in self}

    def _dots(self, level: float) -> list[Dots]:
        """Draw the measures that are shares."""
        shares = {
            self._rows[name].heading: one
            for name, one in self._measured(level).items()
            if _is_share(name)
        }
        return [Dots("Means", shares)]

    _PAGE: ClassVar = {
        "heading": "Retrieval and recommendation",
        "title": "Measures",
        "caption": "Means over the queries.",
        "beside": _dots,
    }

    @cached_property
    def _own_rows(self) -> Table:
        """The rows of the measures, of the quantiles, and of the counts."""
        rows = [self._row_of(name) for name in self]
        return Table(*rows, *(row for row in self.TABLE.values() if row.is_count))

    def _row_of(self, name: str) -> Metric:
        """Make the row of a measure or quantile, under its own name."""
        index = self._index(measured(name))
        own: dict[str, Any] = {
            "name": name,
            "heading": _heading(name),
            "is_substitute": lambda ranking, _: ranking._has_nothing(index),
            "arguments": (),
            "measured": True,
            "on_request": False,
        }
        if measured(name) != name:
            own["value"] = lambda ranking: ranking[name]
            return attrs.evolve(self.TABLE["quantile"], **own)
        row = self.TABLE[measure(name).family]
        own["value"] = lambda ranking: ranking._values[index]
        own["sampling"] = lambda ranking, value, z: ranking._interval(index, z)  # noqa: ARG005
        if row.evidence is not None:
            own["evidence"] = lambda ranking: draws_of(ranking, index)
        return attrs.evolve(row, **own, why_none=WHY_NONE)

    @property
    def _is_whole(self) -> bool:
        """Whether the weight of every query is whole."""
        return self._state.n.is_whole and self._state.missing.is_whole

    def _sizes(self) -> str:
        counts = [plural(self.n_queries, "query", "queries")]
        for count, what in (
            (self.n_empty, "with nothing relevant"),
            (self.n_missing, "judged but missing"),
            (self.n_open, "still open"),
        ):
            counts += [f"{count:,} {what}"] if count else []
        return ", ".join(counts)

    _REPORT = Report(sizes=_sizes, findings=findings.of_ranking)

    def entries(self, level: float, *, bounds: bool = False) -> dict[str, Any]:
        """List the entries of the JSON object, with the counts first."""
        entries = super().entries(level, bounds=bounds)
        metrics = entries["metrics"]
        counts = {name: value for name, value in metrics.items() if self._rows[name].is_count}
        return entries | {"metrics": counts | metrics}

    def _index(self, name: str) -> int:
        with suppress(ValueError):  # an unknown measure, or none of these
            index = self._config.means.index(measure(name).name)
            if self._config.agrees_with(name):
                return index
        raise KeyError(self._absent(name))

    def _absent(self, name: Any) -> str:
        """Say that a measure is not among the counted ones, and which of its family is."""
        relative = next((one for one in self if measure(measured(one)).family == name), None)
        hint = "" if relative is None else f": read [{relative!r}]"
        return f"{name!r} is not among the measures {', '.join(self)}{hint}"

    def _unknown(self, name: str) -> UnknownMetricError:
        """Say how a measure that was not counted is asked for."""
        if not self._meant(name):
            with suppress(InvalidInputError):  # no measure
                return UnknownMetricError(*not_measured(measure(name).name))
        return super()._unknown(name)

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in MEASURES or hasattr(self, name)]

    def _attribute(self, name: str) -> Any:
        """Look up a measure by name; those that have cutoffs as a rule are mappings by cutoff."""
        if has_cutoffs(MEASURES[name]):
            return self._by_cutoff(name)
        if name not in self._config.means:
            raise AttributeError(self._absent(name))
        return self[name]

    def _by_cutoff(self, family: str) -> Mapping[int | None, Bounded]:
        return {
            item.cutoff: self._values[index]
            for index, item in enumerate(self._config.parsed)
            if item.family == family and item.level is None
        }

    def _interval(self, index: int, z: float) -> Interval:
        """Compute the interval of a mean, which covers those at both bounds of the value."""
        tally = self._tallies[index]
        return hull([self._end(index, total, z) for total in {tally.low, tally.total, tally.high}])

    def _end(self, index: int, total: Fraction, z: float) -> Interval:
        tally, item = self._tallies[index], self._config.parsed[index]
        return mean_interval(item, tally.mean(total), tally.variance, float(tally.n), z)

    @cached_property
    def _values(self) -> OnDemand[int, Bounded]:
        """The means, by index of the measure."""
        return OnDemand(self._value_at)

    def _value_at(self, index: int) -> Bounded:
        tally, item = self._tallies[index], self._config.parsed[index]
        value = tally.value
        if item.is_geometric:
            value = math.exp(value)
        if tally.lows == tally.highs or math.isnan(value):
            return Bounded(value)
        low, high = tally.mean(tally.low), tally.mean(tally.high)
        if item.is_geometric:
            low, high = math.exp(low), math.exp(high)
        return outward(low, value, high, min_value=item.min_value, max_value=item.max_value)

    @cached_property
    def _tallies(self) -> OnDemand[int, _Tally]:
        """The sums behind the means, by index of the measure."""
        return OnDemand(self._tally)

    @cached_property
    def _counts(self) -> tuple[Fraction, Fraction, list[Fraction]]:
        """The numbers of complete, of missing and, by measure, of empty queries."""
        state = self._state
        empty = [units * state.empty.unit for units in state.empty.units()]
        return state.n.to_fraction(), state.missing.to_fraction(), empty

    def _has_nothing(self, index: int) -> bool:
        """Tell whether no query that enters a mean has something to find."""
        n_complete, n_missing, n_empty = self._counts
        return n_complete == n_empty[index] and not (n_missing and self._missing[index] in _CREDIT)

    def _tally(self, index: int) -> _Tally:
        """Add the credit of empty and missing queries to the sums."""
        state, is_log = self._state, self._config.parsed[index].is_geometric
        n_complete, n_missing, n_empty = self._counts
        n, credit, squares = n_complete - n_empty[index], _NOTHING, _NOTHING
        words = self._empty[index], self._missing[index]
        for count, policy in zip((n_empty[index], n_missing), words, strict=True):
            if count and policy in _CREDIT:
                n += count
                share = _CREDIT[policy]
                worth = Fraction(MIN_LOG * (1 - share)) if is_log else Fraction(share)
                if worth:
                    credit, squares = credit + count * worth, squares + count * worth**2
        return _Tally(
            n,
            state.sums[index],
            state.squares[index],
            state.lows[index],
            state.highs[index],
            credit,
            squares,
            bool(n_empty[index]) and self._empty[index] == "nan",
        )


def mean_interval(item: Measure, mean: float, variance: float, n: float, z: float) -> Interval:
    """Compute the sampling interval of a mean over n queries, from the variance of their values.

    nan with fewer than two, or if they are equal and have no upper end or are logarithms.
    """
    if not n > 1:
        return UNDEFINED
    of_mean, few = max(variance, 0.0) / n, student(z, n)
    if item.is_geometric or math.isinf(item.max_value):
        if not of_mean:
            return UNDEFINED
        reach = z * few * math.sqrt(of_mean)
        if not item.is_geometric:
            return max(mean - reach, item.min_value), mean + reach
        return math.exp(max(mean - reach, MIN_LOG)), math.exp(min(mean + reach, 0.0))
    # shares vary as much as hits and misses at most, which are n - 1 draws and no fewer
    return wilson(mean, max(effective_draws(mean, of_mean * few**2, n), n - 1.0), z)


def _heading(name: str) -> str:
    """Write the name of a measure, or of its quantile, for people.

    >>> _heading("map"), _heading("ndcg@10"), _heading("r@5"), _heading("p(rel=2)@5[median]")
    ('Mean average precision', 'NDCG@10', 'Recall@5', 'Precision(rel=2)@5[median]')
    """
    row = measure(measured(name)).row
    rest, acronym = name.removeprefix(row.name), _ACRONYM.search(row.title)
    if acronym is None:
        return f"{row.title.removesuffix(' at k')}{rest}"
    return f"{acronym[1]}{rest}" if rest else row.title[: acronym.start()]


def _is_share(name: str) -> bool:
    return measure(measured(name)).max_value == 1.0


add_members(Ranking)

if Ranking.__doc__:  # pragma: no branch (Python may be told to leave docstrings out)
    _LIST = "\n    ".join(f"* ``{row.name}``: {row.help}" for row in MEASURES.values())
    Ranking.__doc__ = Ranking.__doc__.replace("* {measures}", _LIST)
