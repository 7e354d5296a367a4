"""Whether a ranking state that was read is one that could have been counted."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from streameval.configs.gains import gains_of
from streameval.configs.measures import Measure
from streameval.configs.ranking import RankingConfig
from streameval.errors import require
from streameval.exact.cell_sums import single_sum
from streameval.exact.exact_sum import ExactSum, exact_product
from streameval.exact.row_order import are_in_order
from streameval.exact.score_keys import are_keys, keys_of, scores_of
from streameval.states.column import Column
from streameval.states.queries import MOST_ROWS, Gained, Queries, Ranked
from streameval.states.state import check_numbers

if TYPE_CHECKING:
    from streameval.states.ranking import RankingState

__all__ = ["ABSENT", "check_ranking"]

Ints = npt.NDArray[np.int64]

ABSENT = np.uint64(2**64 - 1)
"""Stands for the value of a query that is missing: the bits of a NaN that nothing computes."""

_LEAST_LOG = Fraction(-1152, 100)  # below the logarithm of 1e-5
_UNDERFLOW = Fraction(1, 2**1000)  # what the square of a tiny value may be off
_MOST_GAIN = Fraction(2**430)


def check_ranking(state: RankingState, config: RankingConfig) -> None:
    """Check every number, and that the parts belong together."""
    for name in ("n", "missing", "nothing"):
        numbers = getattr(state, name)
        check_numbers(numbers, (), name)
        require(numbers.is_whole, f"{name} has a fraction")
    measures = len(config.measures)
    check_numbers(state.empty, (measures,), "empty")
    require(state.empty.is_whole, "empty has a fraction")
    n = int(state.n.whole)
    require(int(state.nothing.whole) <= n and (state.empty.whole <= n).all(), "more empty than n")
    for name in ("sums", "squares", "lows", "highs"):
        sums = getattr(state, name)
        require(len(sums) == measures and all(type(part) is ExactSum for part in sums), name)
    for place, item in enumerate(config.parsed):
        _check_sums(state, place, item)
    _check_closed(state, config)
    _check_shapes(state, config)
    _check_open(state.open, config)


def _check_sums(state: RankingState, place: int, item: Measure) -> None:
    name = item.name
    counted = int(state.n.whole) - int(state.empty.whole[place])
    low, value, high, squares = (
        sums[place].to_fraction() for sums in (state.lows, state.sums, state.highs, state.squares)
    )
    require(low <= value <= high, f"{name} passes its bounds")
    least, most = Fraction(0), Fraction(1)
    if item.kind == "gm_map":
        least, most = _LEAST_LOG, Fraction(0)
    elif item.kind == "dcg":
        most = _MOST_GAIN
    require(least * counted <= low and high <= most * counted, f"{name} is out of range")
    spare = _UNDERFLOW * counted
    require(value * value <= counted * (squares + spare), f"{name} passes its squares")
    require(squares <= max(most, -least) * abs(value) + spare, f"{name} has too large squares")


def _check_closed(state: RankingState, config: RankingConfig) -> None:
    _check_ids(state.closed, "closed")
    counted = int(state.n.whole) + int(state.missing.whole)
    require(len(state.closed) == (counted if config.keeps_ids else 0), "closed")
    size = len(state.closed) * len(config.measures) if config.per_query else 0
    require(state.values.kind == "uint64" and len(state.values) == size, "values")
    if not size:
        return
    bits = state.values.values.reshape(len(state.closed), -1)
    is_absent = (bits == ABSENT).all(axis=1)
    require(np.count_nonzero(is_absent) == int(state.missing.whole), "values of missing queries")
    kept = bits[~is_absent]
    values = kept.view(np.float64)
    unknown = np.isnan(values)
    require((kept[unknown] == np.float64(np.nan).view(np.uint64)).all(), "values")
    require(not np.isinf(values).any(), "values are infinite")
    require(np.array_equal(unknown.sum(axis=0), state.empty.whole), "values of empty queries")
    for place, column in enumerate(values.T):
        terms = column[~np.isnan(column)]
        require(np.abs(terms).max(initial=0.0) <= 2.0**430, "values are too large")
        require(single_sum([terms], None) == state.sums[place], "values of other sums")
        squares = single_sum(exact_product(terms, terms), None)
        require(squares == state.squares[place], "values of other squares")


def _check_ids(ids: Column, name: str) -> None:
    require(ids.kind in ("int64", "text"), name)
    require(len(ids) or ids.kind == "int64", f"{name} of nothing are no text")
    require((ids.values[1:] > ids.values[:-1]).all(), f"{name} are out of order")


def _check_shapes(state: RankingState, config: RankingConfig) -> None:
    """Check the kind and the length of each column of open queries."""
    _check_ids(state.ids, "ids")
    size, levels = len(state.ids), len(config.levels)
    most = config.max_open_queries
    require(most is None or size <= most, "more open queries than there may be")
    if config.keeps_ids and size and len(state.closed):
        require(state.ids.kind == state.closed.kind, "ids of two types")
        both = set(state.ids.values.tolist()) & set(state.closed.values.tolist())
        require(not both, "queries that are open and closed")
    lengths = {"rows": size, "declared": size, "relevant": size * levels, "found": size * levels}
    lengths |= {"ranked_sizes": size, "ranked_count": len(state.ranked_key)}
    lengths |= {"gained_sizes": size, "gained_count": len(state.gained_gain)}
    lengths |= {"gained_found": len(state.gained_gain)}
    for name, length in lengths.items():
        column = getattr(state, name)
        require(column.kind == "int64" and len(column) == length, name)
        least = -1 if name == "declared" else 0
        within = (column.values >= least) & (column.values <= MOST_ROWS)
        require(within.all(), f"{name} is out of range")
    for name, length in (
        ("ranked_key", len(state.ranked_count)),
        ("ranked_grade", len(state.ranked_count)),
        ("gained_gain", len(state.gained_count)),
    ):
        column = getattr(state, name)
        require(column.kind == "uint64" and len(column) == length, name)
    cells = len(state.ranked_key) if config.keeps_documents else 0
    require(len(state.ranked_document) == cells, "ranked_document")
    require(state.ranked_document.kind in (("int64", "text") if cells else ("int64",)), "documents")
    for name in ("ranked", "gained"):
        sizes = getattr(state, f"{name}_sizes").values.tolist()
        require(sum(sizes) == len(getattr(state, f"{name}_count")), f"{name}_sizes of other cells")


def _check_open(queries: Queries, config: RankingConfig) -> None:
    relevant, found, rows = queries.relevant, queries.found, queries.rows[:, None]
    if not len(queries):
        return
    require((found <= relevant).all() and (found <= rows).all(), "found passes what there is")
    for counts in (relevant, found, relevant - found):
        require((counts[:, 1:] <= counts[:, :-1]).all(), "levels are out of order")
    is_declared = queries.declared >= 0
    require(
        (~is_declared | (queries.declared >= relevant[:, -1])).all(),
        "more relevant documents than declared",
    )
    _check_ranked(queries, config)
    _check_gained(queries, config)
    queries.check_limits()


def _check_ranked(queries: Queries, config: RankingConfig) -> None:
    ranked = queries.ranked
    numbers = ranked.key[ranked.key != 0] if config.nan == "last" else ranked.key
    require(are_keys(numbers, "real"), "scores")
    require((ranked.count > 0).all(), "cells of nothing")
    _check_grades(ranked, config)
    require(are_in_order(ranked.columns), "cells are out of order")
    require(len(ranked.trimmed(config)) == len(ranked), "rows that no measure asks for")
    if ranked.document is not None:
        require((ranked.count == 1).all(), "documents that are there twice")
    kept = _totals(ranked.place, ranked.count, len(queries))
    is_whole = kept == queries.rows
    enough = is_whole | ((kept >= config.kept_rows) & (kept < queries.rows))
    require(enough.all(), "rows are not those of the cells")
    outside: list[Ints] = []
    for number, level in enumerate(config.levels):
        least = keys_of(np.array([level]), "real")[0]
        inside = _totals(ranked.place, ranked.count * (ranked.grade >= least), len(queries))
        left = queries.found[:, number] - inside
        require((left >= 0).all() and (left <= queries.rows - kept).all(), "found in other cells")
        require(not outside or (left <= outside[-1]).all(), "levels outside are out of order")
        outside.append(left)


def _check_grades(ranked: Ranked, config: RankingConfig) -> None:
    """Check that each grade is one that the reader gives."""
    grades = np.unique(ranked.grade[ranked.grade != 0])
    require(are_keys(grades, "real"), "grades")
    relevance = scores_of(grades, "real")
    is_known = np.isin(relevance, np.array(config.levels))
    finite = np.abs(relevance) <= 2.0**400
    if config.gain == "exp2" and config.uses_gains:
        require((~finite | (relevance <= 62.0)).all(), "grades are too high")
    if config.uses_gains:
        with np.errstate(over="ignore"):
            is_known |= finite & (gains_of(np.where(finite, relevance, 0.0), config) > 0.0)
    if config.most_grade < np.inf:
        is_known |= finite & (relevance >= 1.0)
        whole = (relevance == np.floor(relevance)) & (relevance <= config.most_grade)
        require((whole | (relevance < 1.0)).all(), "grades are too high")
    require(is_known.all(), "grades that no measure asks for")


def _check_gained(queries: Queries, config: RankingConfig) -> None:
    gained, ranked = queries.gained, queries.ranked
    require(config.uses_gains or not len(gained), "gains that no measure asks for")
    if not config.uses_gains:
        return
    require(are_keys(gained.gain, "real"), "gains")
    gain = scores_of(gained.gain, "real")
    require(((gain > 0.0) & (gain <= 2.0**400)).all(), "gains are out of range")
    if isinstance(config.gain, tuple):
        require(np.isin(gain, np.array(config.gain)[:, 1]).all(), "gains that are not mapped")
    elif config.gain == "exp2":
        power = np.frexp(gain + 1.0)
        require((power[0] == 0.5).all() and (power[1] <= 63).all(), "gains are no powers of two")
    is_declared = (queries.declared >= 0)[gained.place]
    require((gain[is_declared] == 1.0).all(), "gains other than 1 of a declared number")
    require(((gained.count > 0) & (gained.found <= gained.count)).all(), "gains of nothing")
    require(are_in_order(gained.columns), "gains are out of order")
    require(len(gained.trimmed(config)) == len(gained), "gains that no measure asks for")
    own = gains_of(np.where(ranked.grade == 0, 0.0, _finite(ranked)), config)
    inside = np.flatnonzero(own > 0.0)
    if config.kept_gains is not None:
        return
    left = Gained.of(
        np.concatenate([gained.place, ranked.place[inside]]),
        np.concatenate([gained.gain, keys_of(own[inside], "real")]),
        np.concatenate([gained.found, -ranked.count[inside]]),
        np.concatenate([gained.found, -ranked.count[inside]]),
    )
    require((left.count >= 0).all(), "gains are not those of the cells")
    kept = _totals(ranked.place, ranked.count, len(queries))
    outside = _totals(left.place, left.count, len(queries))
    require((outside <= queries.rows - kept).all(), "more gains than rows")


def _finite(ranked: Ranked) -> npt.NDArray[np.float64]:
    relevance = scores_of(np.maximum(ranked.grade, np.uint64(1)), "real")
    return np.where(np.isfinite(relevance), relevance, 0.0)


def _totals(place: Ints, counts: Any, size: int) -> Ints:
    totals = np.zeros(size, dtype=np.int64)
    np.add.at(totals, place, counts)
    return totals
