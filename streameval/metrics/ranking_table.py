"""The table of the measures of rankings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streameval.configs.measures.table import MEASURES, MeasureRow
from streameval.errors import InvalidInputError
from streameval.metrics.evidence import Mean, Share, Statistic
from streameval.metrics.table import Metric, Table, count_row, whole_weights

if TYPE_CHECKING:
    from streameval.results.ranking import Ranking


WHY_NONE = "weights had fractions"


def draws_of(ranking: Ranking, index: int) -> Statistic:
    """Treat the queries as draws: hits and misses, or numbers with their squares."""
    tally, item = ranking._tallies[index], ranking._config.parsed[index]
    n = float(tally.n)
    if tally.is_undefined:
        raise InvalidInputError(
            'is undefined: a query has nothing to find, and counts as "nan"', argument=item.name
        )
    low, high = float(tally.low), float(tally.high)
    if item.family == "hit":
        return Share((low, n - low), (high, n - high))
    return Mean(n, low, high, float(tally.squares), item.max_value)


def has_cutoffs(row: MeasureRow) -> bool:
    """Tell whether the attribute of a measure holds the means by cutoff."""
    return row.name == "ndcg" or row.cutoff == "required"


check_queries = whole_weights(
    lambda ranking: ranking._is_whole, of="a query", argument="query_weight"
)


def _of(row: MeasureRow) -> Metric:
    """Make the row of a measure, whose attribute is a mean."""
    by_cutoff = ", by cutoff" if has_cutoffs(row) else ""
    mean = f"The mean over queries{by_cutoff}: {row.help[:1].lower()}{row.help[1:]}"
    return Metric(
        name=row.name,
        aliases=row.others,
        heading=row.title,
        help=row.help,
        formula=row.formula,
        better=row.better,
        certified=True,
        limits=(row.min_value, row.max_value),
        value=lambda ranking, name: ranking[name],
        evidence=None if row.is_geometric or row.min_value < 0.0 else draws_of,
        why_no_evidence="a geometric mean is not a mean of query values"
        if row.is_geometric
        else "its values may be negative",
        check_draws=check_queries,
        why_none=WHY_NONE,
        arguments=("k",) if row.cutoff == "required" else ("k=None",) * (row.cutoff == "optional"),
        oracle=row.oracle,
        documentation="" if row.is_geometric else mean,
    )


TABLE = Table(
    count_row(
        "n_queries",
        "Queries",
        "The number of complete queries, without missing and open ones.",
        value=lambda ranking: ranking._state.n.to_number(),
    ),
    count_row(
        "n_empty",
        "With nothing relevant",
        "The number of these in which nothing is relevant at relevance_level.",
        is_rare=True,
        value=lambda ranking: ranking._state.nothing.to_number(),
    ),
    count_row(
        "n_missing",
        "Judged but missing",
        "The number of judged queries that are absent from the run.",
        is_rare=True,
        value=lambda ranking: ranking._state.missing.to_number(),
    ),
    count_row(
        "n_open",
        "Still open",
        "The number of open queries, which do not count yet.",
        is_rare=True,
        value=lambda ranking: len(ranking._state.ids),
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
        why_no_evidence="a quantile is not a mean over queries",
        arguments=("name", "q=0.5"),
        on_request=True,
        oracle="NumPy, quantile",
    ),
    *map(_of, MEASURES.values()),
    of_result=lambda one: one._own_rows,
    task="ranking",
    made_by="RankingAccumulator",
)
