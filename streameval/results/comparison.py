"""Two rankings of the same queries, compared query by query."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any, overload

import attrs
import numpy as np

from streameval.configs.cached import Cached, Comparable
from streameval.configs.measures import Measure, measure
from streameval.configs.options import natural_number, positive_integer
from streameval.configs.paired import read_models
from streameval.errors import InvalidInputError, Named
from streameval.exact.array_types import Array, Floats, Indices, Mask
from streameval.metrics.bounded import Interval
from streameval.metrics.intervals import (
    UNDEFINED,
    holm,
    jackknife_interval,
    jackknife_variance,
    normal_quantile,
    or_limits,
    student,
    student_pvalue,
)
from streameval.metrics.values import unvarying
from streameval.render.blocks import Dots
from streameval.render.plots import PlotRequest, draw
from streameval.render.sheets import Grid, Sheet, SheetColumn
from streameval.render.text import chance_title, fixed, numbers, plural
from streameval.results.models import (
    MeasureComparison,
    ModelComparison,
    ModelDifference,
    check_level,
    ends_of,
    reading_of,
)
from streameval.results.ranking import Ranking, mean_interval
from streameval.results.result import Reported, Result
from streameval.results.tables import (
    Columns,
    passed_on,
    to_latex,
    to_markdown,
    to_pandas,
    to_polars,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_RANDOMIZATION = "the randomization test, two-sided"
_SAME_ROWS = "To compare models on the same rows, count them with one se.Paired."

_BLOCK = 2**20
_MAX_PATTERNS = 2**16
_EQUAL = 1e-12  # sums that differ only in signs may differ in their last bits


@attrs.frozen(repr=False, eq=False, slots=False)
class Difference(Cached, Comparable):
    """One measure of two systems, compared over the queries that both have.

    Made by `compare`. It leaves out queries that a policy leaves out of either mean. If queries
    have clusters, groups of these are what tests and intervals take as independent.
    """

    _measure: Measure
    _a: Floats
    _b: Floats
    _permutations: int
    _seed: int
    _groups: Indices | None = None

    @property
    def n(self) -> int:
        """The number of queries compared."""
        return len(self._a)

    @property
    def a(self) -> float:
        """The mean of the first system; nan without a query."""
        return _mean(self._a)

    @property
    def b(self) -> float:
        """The mean of the second system; nan without a query."""
        return _mean(self._b)

    @property
    def difference(self) -> float:
        """The mean of first minus second."""
        return _mean(self._a - self._b)

    @property
    def wins(self) -> int:
        """The number of queries in which the first system is better."""
        return int(np.count_nonzero(self._a > self._b))

    @property
    def ties(self) -> int:
        """The number of queries in which both are equal."""
        return int(np.count_nonzero(self._a == self._b))

    @property
    def losses(self) -> int:
        """The number of queries in which the second system is better."""
        return int(np.count_nonzero(self._a < self._b))

    @property
    def stderr(self) -> float:
        """The standard error of the mean difference; nan with fewer than two queries.

        That of the jackknife for clusters; nan with fewer than two groups.
        """
        if self._groups is not None:
            return math.sqrt(jackknife_variance(self.difference, self._without))
        if self.n < 2:
            return math.nan
        mean = self.difference
        spread = math.fsum((self._a - self._b - mean) ** 2) / (self.n - 1)
        return math.sqrt(spread / self.n)

    def confidence(self, *, level: float = 0.95) -> tuple[float, float]:
        """Compute the sampling interval of the mean difference.

        This assumes independent queries and differences whose mean is normal: Student's interval.
        For clusters, it is that of `Clustered`, which contains the interval of queries.

        Parameters
        ----------
        level : float
            The coverage probability, in [0, 1).

        Returns
        -------
        (low, high)
            If the differences do not vary, those of other queries may: it extends a share
            ``z**2 / (n + z**2)`` of the distance to either end of the range of differences, or to
            the ends with fewer than two queries or without such an end. nan without a query.

        Raises
        ------
        InvalidInputError
            For a level outside [0, 1).
        """
        z, n, value = normal_quantile(level), self.n, self.difference
        largest = self._measure.max_value - self._measure.min_value
        if self._groups is not None:
            plain = attrs.evolve(self, groups=None).confidence(level=level)
            return jackknife_interval(value, self._without, (-largest, largest), z, plain)
        if self.stderr > 0.0:
            reach = z * student(z, n) * self.stderr
            return value - reach, value + reach
        ends = unvarying(value, n, z, low=-largest, high=largest) if n > 1 else UNDEFINED
        return or_limits(ends, value, (-largest, largest))

    @property
    def t(self) -> float:
        """The paired t statistic, which is the mean difference over its standard error.

        nan with fewer than two queries, or if all differences are 0.
        """
        mean, stderr = self.difference, self.stderr
        if math.isnan(stderr) or mean == stderr == 0.0:
            return math.nan
        return mean / stderr if stderr > 0.0 else math.copysign(math.inf, mean)

    @property
    def t_pvalue(self) -> float:
        """The two-sided p-value of Student's paired t-test, with n - 1 degrees of freedom.

        For clusters, the number of their groups takes the part of n. nan if `t` is nan.
        """
        n = self.n if self._groups is None else len(self._without)
        return student_pvalue(self.t, n - 1)

    @cached_property
    def randomization_pvalue(self) -> float:
        """The two-sided p-value of Fisher's randomization test.

        If the systems were equal, each difference would be equally likely to have the other sign;
        for clusters, all differences of a group together. The value is the share of sign patterns
        whose mean is at least as far from 0. It uses all patterns if there are at most
        `permutations`, otherwise random patterns and the observed one. It is 1.0 without a query.
        """
        differences: Floats = self._a - self._b
        if self._groups is not None:
            differences = _totals(differences, self._groups)
        observed = abs(float(differences.sum())) * (1.0 - _EQUAL)
        kept = differences[differences != 0.0]
        if 2 ** len(kept) <= min(self._permutations, _MAX_PATTERNS):
            patterns = np.arange(2 ** len(kept))[:, None] >> np.arange(len(kept)) & 1
            return float(np.mean(np.abs(_signed(patterns == 1, kept)) >= observed))
        random = np.random.default_rng(self._seed)
        as_far, left = 1, self._permutations
        while left:
            rows = min(left, max(_BLOCK // len(kept), 1))
            flips = random.integers(0, 2, size=(rows, len(kept)), dtype=np.int8) == 1
            as_far += int(np.count_nonzero(np.abs(_signed(flips, kept)) >= observed))
            left -= rows
        return as_far / (self._permutations + 1)

    @cached_property
    def _without(self) -> list[float]:
        return _means_without(self._a - self._b, self._groups)

    def as_dict(self) -> dict[str, int | float]:
        """Flatten to numbers."""
        names = ("n", "a", "b", "difference", "wins", "ties", "losses")
        tests = ("t", "t_pvalue", "randomization_pvalue")
        return {name: getattr(self, name) for name in (*names, *tests)}

    def __repr__(self) -> str:
        """Show the means, and wins, ties and losses."""
        return (
            f"Difference({self.difference:+.6g}, n={self.n}, wins={self.wins}, ties={self.ties}, "
            f"losses={self.losses}, randomization_pvalue={self.randomization_pvalue:.3g})"
        )


@attrs.frozen(repr=False, eq=False)
class Comparison(Reported, Mapping[str, Difference]):
    """A `Difference` for each measure, by any of its names.

    Made by `compare`.

    Parameters
    ----------
    differences : mapping
        By measure.
    n_only_a, n_only_b : int
        The number of queries that only one system has, and that are left out.
    """

    _differences: Mapping[str, Difference]
    n_only_a: int
    n_only_b: int
    _test: str = _RANDOMIZATION

    def __getitem__(self, name: str) -> Difference:
        """Look up the difference in a measure."""
        return self._differences[measure(name).name]

    def __iter__(self) -> Iterator[str]:
        """List the measures."""
        return iter(self._differences)

    def __len__(self) -> int:
        """Return the number of measures."""
        return len(self._differences)

    def as_dict(self) -> dict[str, int | float]:
        """Flatten to numbers, by ``measure/number``."""
        flat: dict[str, int | float] = {"n_only_a": self.n_only_a, "n_only_b": self.n_only_b}
        for name, difference in self.items():
            flat |= {f"{name}/{key}": value for key, value in difference.as_dict().items()}
        return flat

    def table(self, *, level: float = 0.0) -> Columns:
        """Lay the numbers out as columns, for ``pandas.DataFrame`` or ``polars.DataFrame``.

        Parameters
        ----------
        level : float
            The level of the intervals of the differences to add, in [0, 1): `interval_low` and
            `interval_high`. 0 leaves them out.

        Returns
        -------
        dict of lists
            The columns, with a row for each measure.
        """
        rows = []
        for name, one in self.items():
            ends = ends_of(one.confidence(level=level)) if level else {}
            rows.append({"measure": name, **one.as_dict(), **ends})
        return {name: [row[name] for row in rows] for name in rows[0]}

    to_pandas = passed_on(table, to_pandas)
    to_polars = passed_on(table, to_polars)
    to_markdown = passed_on(table, to_markdown)
    to_latex = passed_on(table, to_latex)

    def plot(self, ax: Axes | None = None, *, label: str | None = None) -> Axes:
        """Draw the differences with 95% intervals; needs matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        label : str, optional
            The name in a legend, if several comparisons share the axes.

        Returns
        -------
        matplotlib Axes
        """
        every = self.items()
        readings = {name: reading_of(one.difference, one.confidence()) for name, one in every}
        n = next(iter(self.values())).n
        title = f"{plural(n, 'query', 'queries')}, {chance_title(0.95)}s"
        return draw(Dots(title, readings, across="a - b"), PlotRequest(ax, label=label))

    def sheet(self) -> Sheet:
        """Return the content of the report."""
        items = self.values()
        columns = [
            SheetColumn.of_names("measure", self),
            SheetColumn(["a", *numbers([item.a for item in items])]),
            SheetColumn(["b", *numbers([item.b for item in items])]),
            SheetColumn(["a - b", *map(_difference_text, items)]),
            SheetColumn(["95% interval", *map(_interval_text, items)]),
            *(
                SheetColumn([name, *(f"{getattr(item, name):,}" for item in items)])
                for name in ("wins", "ties", "losses")
            ),
            SheetColumn(["p", *(f"{item.randomization_pvalue:.4f}" for item in items)]),
        ]
        only = [(self.n_only_a, "a"), (self.n_only_b, "b")]
        said = [
            f"{plural(n, 'query', 'queries')} only in {name}, left out" for n, name in only if n
        ]
        said.append(f"p of {self._test}")
        return [Grid(columns, caption="\n".join(said))]

    def __repr__(self) -> str:
        """Show the differences on one line."""
        parts = ", ".join(f"{name}={item.difference:+.6g}" for name, item in self.items())
        return f"Comparison({parts})"


@overload
def compare(
    a: Ranking,
    b: Ranking,
    *,
    names: None = ...,
    level: float = ...,
    permutations: int = ...,
    seed: int = ...,
) -> Comparison: ...


@overload
def compare(
    a: Ranking,
    b: Ranking,
    *more: Ranking,
    names: Sequence[str],
    level: float = ...,
    permutations: int = ...,
    seed: int = ...,
) -> ModelComparison: ...


@overload
def compare(
    a: Ranking,
    b: Ranking,
    c: Ranking,
    /,
    *more: Ranking,
    names: Sequence[str] | None = ...,
    level: float = ...,
    permutations: int = ...,
    seed: int = ...,
) -> ModelComparison: ...


def compare(
    a: Ranking,
    b: Ranking,
    *more: Ranking,
    names: Sequence[str] | None = None,
    level: float = 0.95,
    permutations: int = 10_000,
    seed: int = 0,
) -> Comparison | ModelComparison:
    """Compare two or more systems on the queries that all of them have.

    Parameters
    ----------
    a, b, *more : Ranking
        Results of accumulators made with ``per_query=True``. Those of `Clustered` ones are compared
        by clusters: tests and intervals take groups of queries as independent.
    names : sequence of str, optional
        The names of the systems, by default "a", "b", "c" and so on. Two systems with names are
        compared as three are.
    level : float
        The level of the intervals of three or more systems, in (0, 1). Tests are at 1 minus this,
        for all pairs together.
    permutations : int
        The number of random sign patterns of the randomization test.
    seed : int
        The seed of the random generator: the same seed gives the same p-value.

    Returns
    -------
    Comparison or ModelComparison
        For each measure of all: of two systems, means, wins, ties and losses, the paired t-test,
        and Fisher's randomization test (Smucker, Allan and Carterette, 2007). Of three or more, the
        means, the difference of each pair with both tests and Holm's correction, the best system
        and those that the randomization test cannot tell from it. Quantiles and geometric means
        over queries are not compared. Where no query has something to find, a measure compares
        none.

    Raises
    ------
    InvalidInputError
        When an argument is not such a result, its queries have weights other than 1 or are in
        other clusters than those of `a`, the results share no measure or no query, or options such
        as `ties` define the same measure differently.

    Examples
    --------
    >>> import streameval as se
    >>> def evaluate(scores):
    ...     acc = se.RankingAccumulator(["mrr"], per_query=True)
    ...     return acc.update([[0, 1], [1, 0], [0, 1]], scores, query=[1, 2, 3]).compute()
    >>> a = evaluate([[0.1, 0.9], [0.8, 0.3], [0.2, 0.4]])
    >>> b = evaluate([[0.9, 0.1], [0.8, 0.3], [0.4, 0.2]])
    >>> se.compare(a, b)["mrr"]
    Difference(+0.333333, n=3, wins=2, ties=1, losses=0, randomization_pvalue=0.5)
    >>> se.compare(a, b, b, names=["bm25", "dense", "sparse"])
    ModelComparison(mrr=['bm25', 'dense', 'sparse'])
    """
    results = (a, b, *more)
    arguments = [argument_of(index) for index in range(len(results))]
    columns = [_queries_of(*pair) for pair in zip(results, arguments, strict=True)]
    permutations = positive_integer(permutations, name="permutations")
    seed = natural_number(seed, name="seed")
    check_level(level)
    shared = [name for name in a._config.means if not measure(name).is_geometric]
    if not shared:
        raise InvalidInputError("must have a measure other than geometric means", argument="a")
    for other, argument in zip(results[1:], arguments[1:], strict=True):
        shared = [name for name in shared if name in other._config.means]
        if not shared:
            raise InvalidInputError(
                "must have a measure that ", Named("a"), " has too", argument=argument
            )
        _check_conventions(a, other, shared, argument)
    indices = _common([one["query"] for one in columns], arguments)
    groups = _groups_of(results, columns[0]["query"][indices[0]], arguments)
    test = _RANDOMIZATION
    if a._clusters is not None:
        test = test.replace(",", f" of clusters ({a._clusters.column}),")
    values = {}
    for name in shared:
        rows = np.stack([one[name][own] for one, own in zip(columns, indices, strict=True)])
        conventions = np.stack(
            [one._conventions[name][own] for one, own in zip(results, indices, strict=True)]
        )
        is_known = ~np.isnan(rows).any(axis=0)
        if not (is_known & ~conventions).any(axis=1).all():
            is_known = np.zeros_like(is_known)  # no query of one system has something to find
        values[name] = rows[:, is_known], None if groups is None else groups[is_known]
    if names is None and not more:
        differences = {
            name: Difference(measure(name), rows[0], rows[1], permutations, seed, own)
            for name, (rows, own) in values.items()
        }
        only = [len(one["query"]) - len(indices[0]) for one in columns]
        return Comparison(differences, only[0], only[1], test)
    models = _names_of(names, len(results))
    made = {
        name: _compared(
            measure(name), dict(zip(models, rows, strict=True)), own, level, permutations, seed
        )
        for name, (rows, own) in values.items()
    }
    n = len(indices[0])
    every = {query for one in columns for query in one["query"].tolist()}
    return ModelComparison(
        tuple(models), level, n, len(every) - n, "query", f"that of {test}", made
    )


def argument_of(index: int) -> str:
    """Name the argument of `compare` at an index.

    >>> argument_of(0), argument_of(1), argument_of(2)
    ('a', 'b', 'more[0]')
    """
    return "ab"[index] if index < 2 else f"more[{index - 2}]"


def _queries_of(result: Any, argument: str) -> dict[str, Array]:
    """List the values of the queries of a result."""
    is_ranking = isinstance(result, Ranking)
    if not (is_ranking and result.has_queries):
        raise InvalidInputError(
            "must be the Ranking of an accumulator made with ",
            Named("per_query", "True"),
            "" if is_ranking else f", got {type(result).__name__}",
            argument=argument,
            remedy=_SAME_ROWS if isinstance(result, Result) and not is_ranking else (),
        )
    columns: dict[str, Array] = result.per_query()
    if "query_weight" in columns:
        raise InvalidInputError(
            "has queries of weights other than 1, and a comparison counts each query once",
            argument=argument,
        )
    return columns


def _groups_of(
    results: Sequence[Ranking], queries: Array, arguments: Sequence[str]
) -> Indices | None:
    """Find the group of clusters of each query, which is that of all systems; None without."""
    held = [one._clusters for one in results]
    found = [None if one is None else one.groups_of(queries) for one in held]
    first = found[0]
    for own, argument in zip(found[1:], arguments[1:], strict=True):
        if own is first is None:
            continue
        if own is None or first is None or not np.array_equal(own, first):
            raise InvalidInputError(
                "must have each query in the cluster that it has in ",
                Named("a"),
                argument=argument,
                remedy="Count all systems with the same clusters, or all without.",
            )
    return first


def _names_of(names: Any, n: int) -> list[str]:
    """Return the names of n systems."""
    if names is None and n <= len(ascii_lowercase):
        return list(ascii_lowercase[:n])
    read = [] if names is None else read_models(names, name="names")
    if len(read) != n:
        raise InvalidInputError(
            f"must be {n}, one for each system, got {len(read)}", argument="names"
        )
    return list(read)


def _compared(
    item: Measure,
    values: dict[str, Floats],
    groups: Indices | None,
    level: float,
    permutations: int,
    seed: int,
) -> MeasureComparison:
    """Compare systems by one measure, given their values in the same queries."""
    z = normal_quantile(level)
    pairs = {
        (a, b): Difference(item, values[a], values[b], permutations, seed, groups)
        for a, b in combinations(values, 2)
    }
    randomized = [one.randomization_pvalue if one.n else math.nan for one in pairs.values()]
    by_t = [one.t_pvalue for one in pairs.values()]
    tests = zip(randomized, holm(randomized), by_t, holm(by_t), strict=True)
    differences = tuple(
        ModelDifference(
            a=a,
            b=b,
            difference=one.difference,
            interval=one.confidence(level=level),
            pvalue=pvalue,
            holm_pvalue=corrected,
            t_pvalue=t_pvalue,
            holm_t_pvalue=corrected_t,
        )
        for ((a, b), one), (pvalue, corrected, t_pvalue, corrected_t) in zip(
            pairs.items(), tests, strict=True
        )
    )
    return MeasureComparison(
        measure=item.name,
        better=item.row.better,
        level=level,
        values={system: _mean(own) for system, own in values.items()},
        intervals={
            system: _interval_of_mean(item, own, groups, z) for system, own in values.items()
        },
        differences=differences,
    )


def _interval_of_mean(item: Measure, values: Floats, groups: Indices | None, z: float) -> Interval:
    """Compute the interval of a mean over queries, as `Ranking.confidence` does."""
    n, mean, limits = len(values), _mean(values), (item.min_value, item.max_value)
    variance = math.fsum((values - mean) ** 2) / max(n - 1, 1)
    ends = or_limits(mean_interval(item, mean, variance, float(n), z), mean, limits)
    if groups is None:
        return ends
    return jackknife_interval(mean, _means_without(values, groups), limits, z, ends)


def _check_conventions(a: Ranking, b: Ranking, shared: list[str], argument: str) -> None:
    """Refuse results whose options give the same name to different measures.

    `negative` and `nan` may differ: where they raise, there was nothing to treat otherwise.
    """
    parsed = [measure(name) for name in shared]
    options = ["relevance_level", "ties", "unjudged"]
    options += ["gain"] * any(item.uses_gains for item in parsed)
    options += ["ap_norm"] * any(item.family == "map" for item in parsed)
    pairs = [(name, getattr(a._config, name), getattr(b._config, name)) for name in options]
    for name in shared:
        mine, theirs = a._policies(name), b._policies(name)
        pairs += [(option, mine[option], theirs[option]) for option in mine]
    for option, mine, theirs in pairs:
        if mine != theirs:
            raise InvalidInputError(
                "must be counted with the options of `a`: ",
                Named(option, repr(theirs)),
                ", and in `a` ",
                Named(option, repr(mine)),
                argument=argument,
            )


def _common(queries: Sequence[Array], arguments: Sequence[str]) -> list[Indices]:
    """Find the indices of the queries that all systems have, in the order of their ids."""
    common = queries[0]
    for own, argument in zip(queries[1:], arguments[1:], strict=True):
        if len(common) and len(own) and common.dtype != own.dtype:
            raise InvalidInputError(
                "must have queries of the type of those of ", Named("a"), argument=argument
            )
        common = np.intersect1d(common, own, assume_unique=True)
        if not len(common):
            raise InvalidInputError(
                "must have a query that ", Named("a"), " has too", argument=argument
            )
    return [
        np.intersect1d(own, common, assume_unique=True, return_indices=True)[1] for own in queries
    ]


def _difference_text(item: Difference) -> str:
    value = item.difference
    return fixed(value, 6) if math.isnan(value) else f"{value:+.6f}"


def _interval_text(difference: Difference) -> str:
    low, high = difference.confidence()
    return "" if math.isnan(low) else f"[{low:+.6f}, {high:+.6f}]"


def _signed(flips: Mask, differences: Floats) -> Floats:
    return np.asarray(np.where(flips, -differences, differences).sum(axis=1))


def _totals(values: Floats, groups: Indices) -> Floats:
    """Add up the values of each of the groups."""
    return np.array([math.fsum(values[groups == one]) for one in np.unique(groups)])


def _means_without(values: Floats, groups: Any) -> list[float]:
    """Compute the mean without each of the groups."""
    return [_mean(values[groups != one]) for one in np.unique(groups)]


def _mean(values: Floats) -> float:
    return math.fsum(values) / len(values) if len(values) else math.nan
