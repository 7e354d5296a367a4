"""Sums over complete queries, and the rows of open ones."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, Self, TypeVar, cast, final

import attrs
import numpy as np
import numpy.typing as npt

from streameval.configs.measures import Measure
from streameval.configs.ranking import RankingConfig, gains_of
from streameval.errors import (
    CountOverflowError,
    IncompatibleStateError,
    InvalidInputError,
    Named,
    require,
)
from streameval.exact.array_types import Array, Floats, Ints, Mask
from streameval.exact.cell_sums import cell_sums, single_sum
from streameval.exact.exact_sum import ExactSum, added_sums, exact_product
from streameval.exact.fixed_point import FixedPoint
from streameval.exact.row_order import are_in_order
from streameval.exact.score_keys import are_keys, keys_of, scores_of
from streameval.inputs.labels import union
from streameval.states.cells import Cells
from streameval.states.column import Column
from streameval.states.curve import check_weighted_cells
from streameval.states.queries import (
    MAX_ROWS,
    NO_WEIGHTS,
    Gained,
    Queries,
    Ranked,
    canonical_weights,
    joined_weights,
    listed_weights,
)
from streameval.states.stack import are_same
from streameval.states.state import State, check_numbers, check_total
from streameval.states.tables import LeveledCells, columns_of, joined_each, tables_of

TABLES = 3
"""For each measure: the values known exactly, and the lower and upper bounds of the others."""


ExactSums = tuple[ExactSum, ...]

ABSENT = np.uint64(2**64 - 1)
"""The value of a missing query: the bits of a NaN that no computation returns."""

_FEW = 2**11  # values
_MIN_LOG = Fraction(-1152, 100)  # below the logarithm of 1e-5
_UNDERFLOW = Fraction(1, 2**1000)  # the error of the square of a tiny value
_MAX_GAIN = Fraction(2**430)
_NONE = np.zeros(0, dtype=np.int64)
_NO_VALUES = np.zeros(0, dtype=np.uint64)
_NO_COUNTS, _NO_KEYS = Column(_NONE), Column(_NO_VALUES)
_SKETCH = ("sketch_level", "sketch_sizes", "sketch_lo", "sketch_hi", "sketch_weight")
_COUNTS = ("n", "missing", "nothing", "empty")
_SUMS = ("sums", "squares", "lows", "highs")
_KEPT = ("closed", "values", "closed_weights")


CallT = TypeVar("CallT", bound=Callable[..., Any])


def _of_queries(function: CallT) -> CallT:
    """Name the weights of queries in the error about a total that is too large."""

    @functools.wraps(function)
    def named(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except CountOverflowError as error:
            if error.argument != "sample_weight":
                raise
            raise error.renamed("sample_weight", "query_weight") from None

    return cast("CallT", named)


@attrs.frozen(eq=False)
class QueryValues:
    """The measures of complete queries.

    Parameters
    ----------
    low, value, high : float64 array, shape (M, Q)
        The value of each measure and its bounds.
    is_empty : bool array, shape (M, Q)
        Whether a measure has nothing to find, so that its value does not count.
    has_nothing : bool array, shape (Q,)
        Whether nothing is relevant at the level of the configuration.
    """

    low: Floats
    value: Floats
    high: Floats
    is_empty: Mask
    has_nothing: Mask

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Join the values of several blocks of queries."""
        if len(parts) == 1:
            return parts[0]
        fields = zip(*(attrs.astuple(part) for part in parts), strict=True)
        return cls(*(np.concatenate(field, axis=-1) for field in fields))


@final
@attrs.frozen
class RankingState(State):
    """Sums of M measures over complete queries, and Q open queries.

    Parameters
    ----------
    n : FixedPoint, shape ()
        The number of complete queries. Here and below, queries count by their weights.
    missing, nothing : FixedPoint, shape ()
        The number of judged queries that are absent, and of complete ones without a relevant
        document.
    empty : FixedPoint, shape (M,)
        The number of queries in which a measure had nothing to find.
    sums, squares, lows, highs : tuple of M ExactSum
        The sums over the other queries: of values, of squares, and of bounds.
    closed : Column of int64 or text
        The complete and the missing queries, sorted, if ids are kept.
    values : Column of uint64, shape (len(closed) * M,)
        The bits of their values, if these are kept, query after query: a NaN for nothing to find,
        and ``ffffffffffffffff`` for a missing query.
    ids : Column of int64 or text, shape (Q,)
        The open queries, sorted.
    rows, declared : Column of int64, shape (Q,)
        The number of retrieved rows, and the number of relevant documents, -1 if not given.
    relevant, found : Column of int64, shape (Q * L,)
        The judged documents that reach each relevance level of the options, the lowest first, and
        those retrieved.
    ranked_sizes, ranked_key, ranked_document, ranked_grade, ranked_count : Column
        The number of cells of each query, and its kept rows, by falling score, document and grade.
        Scores and grades are keys as for ``scores="real"``; 0 is a score that is NaN, or a document
        that no measure asks for.
    gained_sizes, gained_gain, gained_count, gained_found : Column
        The number of cells of each query, and its gains, the highest first, equal ones together.
    weights, closed_weights : FixedPoint, shape (Q,) and (len(closed),)
        The weights of the open queries, and of those whose ids are kept; empty if all are 1.
    sketch_level, sketch_sizes : Column of int64, shape (3 S,)
        The level and the number of cells of three sketches for each of S measures with quantiles:
        of the exact values, and of the lower and the upper bounds of the others.
    sketch_lo, sketch_hi, sketch_weight : Column of uint64 and FixedPoint, shape (c,)
        The ends of all their cells, keys of values, or of logarithms that are summed, and the
        weights in these.
    """

    missing: FixedPoint
    nothing: FixedPoint
    empty: FixedPoint
    sums: tuple[ExactSum, ...]
    squares: tuple[ExactSum, ...]
    lows: tuple[ExactSum, ...]
    highs: tuple[ExactSum, ...]
    closed: Column
    values: Column
    ids: Column
    rows: Column
    declared: Column
    relevant: Column
    found: Column
    ranked_sizes: Column
    ranked_key: Column
    ranked_document: Column
    ranked_grade: Column
    ranked_count: Column
    gained_sizes: Column
    gained_gain: Column
    gained_count: Column
    gained_found: Column
    weights: FixedPoint = attrs.field(default=NO_WEIGHTS, metadata={"omit_default": True})
    closed_weights: FixedPoint = attrs.field(default=NO_WEIGHTS, metadata={"omit_default": True})
    sketch_level: Column = attrs.field(default=_NO_COUNTS, metadata={"omit_default": True})
    sketch_sizes: Column = attrs.field(default=_NO_COUNTS, metadata={"omit_default": True})
    sketch_lo: Column = attrs.field(default=_NO_KEYS, metadata={"omit_default": True})
    sketch_hi: Column = attrs.field(
        default=_NO_KEYS, metadata={"omit_default": True, "above": "sketch_lo"}
    )
    sketch_weight: FixedPoint = attrs.field(default=NO_WEIGHTS, metadata={"omit_default": True})

    @property
    def has_counted(self) -> bool:
        """Whether this can be a state other than zero: missing queries are in the means too."""
        return super().has_counted or bool(self.missing.is_positive())

    @classmethod
    def zero(cls, config: RankingConfig) -> Self:
        """Return the state without queries, the same object for equal options."""
        return cls._zero(config)

    @classmethod
    @functools.lru_cache(maxsize=64)
    def _zero(cls, config: RankingConfig) -> Self:
        size = len(config.means)
        return cls._of_open(
            Queries.none(config),
            **dict.fromkeys(_COUNTS, FixedPoint.zeros(())) | {"empty": FixedPoint.zeros(size)},
            **dict.fromkeys(_SUMS, (ExactSum(),) * size),
            closed=Column(_NONE),
            values=Column(_NO_VALUES),
            closed_weights=NO_WEIGHTS,
            **_columns([(0, Cells.none())] * (TABLES * len(config.sketched))),
        )

    @classmethod
    def of_open(cls, queries: Queries, config: RankingConfig) -> Self:
        """Make a state of open queries."""
        return cls._of_open(queries, **cls.zero(config)._closed_fields())

    @classmethod
    @_of_queries
    def of_complete(
        cls,
        values: QueryValues,
        ids: Array | None,
        config: RankingConfig,
        weights: FixedPoint = NO_WEIGHTS,
    ) -> Self:
        """Sum the values of complete queries; keep their sorted ids if the options say so."""
        counts = ~values.is_empty
        sums, squares = _moments(values.value, counts, weights)
        lows = highs = sums
        if values.low is not values.value:
            lows = _sums(values.low, counts, weights)
            highs = _sums(values.high, counts, weights)
        keeps = config.keeps_ids and ids is not None
        kept = ids if config.keeps_ids and ids is not None else _NONE
        return attrs.evolve(
            cls.zero(config),
            n=_number(np.ones_like(values.has_nothing), weights),
            nothing=_number(values.has_nothing, weights),
            empty=_number(values.is_empty, weights),
            sums=sums,
            squares=squares,
            closed=Column(kept),
            values=Column(_bits(values) if config.per_query else _NO_VALUES),
            closed_weights=weights if keeps else NO_WEIGHTS,
            lows=lows,
            highs=highs,
            **(_columns(_sketched(values, weights, config)) if config.sketched else {}),
        )

    @classmethod
    @_of_queries
    def of_missing(
        cls, ids: Array, config: RankingConfig, weights: FixedPoint = NO_WEIGHTS
    ) -> Self:
        """Count judged queries that are absent; `ids` are sorted."""
        kept = ids if config.keeps_ids else _NONE
        size = len(ids) * len(config.means) if config.per_query else 0
        return attrs.evolve(
            cls.zero(config),
            missing=_number(np.ones(len(ids), dtype=bool), weights),
            closed=Column(kept),
            values=Column(np.full(size, ABSENT)),
            closed_weights=weights if config.keeps_ids else NO_WEIGHTS,
        )

    @property
    def open(self) -> Queries:
        """The open queries."""
        size = len(self.ids)
        shape = size, len(self.relevant) // max(size, 1)
        own = np.arange(size)
        document = self.ranked_document.values if len(self.ranked_document) else None
        return Queries(
            self.ids.values,
            self.rows.values,
            self.relevant.values.reshape(shape),
            self.found.values.reshape(shape),
            self.declared.values,
            Ranked(
                np.repeat(own, self.ranked_sizes.values),
                self.ranked_count.values,
                self.ranked_key.values,
                document,
                self.ranked_grade.values,
            ),
            Gained(
                np.repeat(own, self.gained_sizes.values),
                self.gained_count.values,
                self.gained_gain.values,
                self.gained_found.values,
            ),
            self.weights,
        )

    @classmethod
    @_of_queries
    def sum_of(cls, states: Sequence[Any], config: RankingConfig) -> Self:
        """Add up one or more states, and drop what no measure needs: rows, cells over budget."""
        joined: Self = functools.reduce(lambda a, b: a._plus(b, config), states)
        return joined

    def _plus(self, other: Self, config: RankingConfig) -> Self:
        if not config.keeps_ids and self is RankingState.zero(config):
            return other
        total = self + other
        if config.sketched:
            tables = (cells.fitted(config.budget, level) for level, cells in total.sketches)
            total = attrs.evolve(total, **_columns(tables))
        return total.fitted(config) if len(self.ids) and len(other.ids) else total

    @_of_queries
    def __add__(self, other: Self) -> Self:
        """Add sums, and join the rows of open queries; `fitted` drops what no measure needs."""
        sums: dict[str, Any] = _joined_ids(self, other)
        for names, add in ((_COUNTS, operator.add), (_SUMS, added_sums)):
            for name in names:
                sums[name] = add(getattr(self, name), getattr(other, name))
        if len(self.sketch_level):
            sums |= _columns(joined_each(self.sketches, other.sketches, None))
        if not len(self.ids) or not len(other.ids):
            return attrs.evolve(self if len(self.ids) else other, **sums)
        _check_types(self.ids, other.ids)
        ids, mine, theirs = union(self.ids.values, other.ids.values)
        return self._of_open(self.open.joined(other.open, ids, mine, theirs), **sums)

    @property
    def sketches(self) -> tuple[LeveledCells, ...]:
        """The values of the measures that have quantiles: three tables for each."""
        lo, hi = self.sketch_lo.values, self.sketch_hi.values
        cells = Cells.of_weights(lo, hi, self.sketch_weight)
        return tuple(tables_of(self.sketch_level, self.sketch_sizes, cells))

    @property
    def size(self) -> int:
        """The number of ids and cells, to which the cost of an addition is proportional."""
        own = len(self.closed) + len(self.ids) + len(self.sketch_lo)
        return own + len(self.ranked_key) + len(self.gained_gain)

    @property
    def largest(self) -> int:
        """An upper bound of the number of rows of an open query."""
        columns = self.rows, self.relevant
        own = (int(column.values.max(initial=0)) for column in columns)
        cells, count = self.gained_sizes.values, self.gained_count.values
        return max(*own, int(cells.max(initial=0)) * int(count.max(initial=0)))

    def without_open(self, kept: Ints) -> Self:
        """Drop all open queries except some, given the sorted indices of these."""
        return self._of_open(self.open.select(kept), **self._closed_fields())

    def fitted(self, config: RankingConfig) -> Self:
        """Drop rows of open queries that no measure needs; raise if there are too many queries."""
        limit = config.max_open_queries
        if limit is not None and len(self.ids) > limit:
            raise InvalidInputError(
                f"would bring the number of open queries to {len(self.ids)}, past ",
                Named("max_open_queries", f"{limit}"),
                argument="query",
                remedy="Close those that are complete.",
            )
        self.open.check_limits()
        return self._of_open(self.open.trimmed(config), **self._closed_fields())

    def _closed_fields(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in (*_COUNTS, *_SUMS, *_KEPT, *_SKETCH)}

    @classmethod
    def _of_open(cls, queries: Queries, **closed: Any) -> Self:
        size, ranked, gained = len(queries), queries.ranked, queries.gained
        document = ranked.document if ranked.document is not None and len(ranked) else _NONE
        return cls(
            **closed,
            ids=Column(_NONE if queries.ids is None or not size else queries.ids),
            rows=Column(queries.rows),
            declared=Column(queries.declared),
            relevant=Column(queries.relevant.ravel()),
            found=Column(queries.found.ravel()),
            ranked_sizes=Column(np.bincount(ranked.query, minlength=size)),
            ranked_key=Column(ranked.key),
            ranked_document=Column(document),
            ranked_grade=Column(ranked.grade),
            ranked_count=Column(ranked.count),
            gained_sizes=Column(np.bincount(gained.query, minlength=size)),
            gained_gain=Column(gained.gain),
            gained_count=Column(gained.count),
            gained_found=Column(gained.found),
            weights=queries.weights,
        )

    def check(self, config: RankingConfig) -> None:
        """Check every number, and that the parts are consistent."""
        _check(self, config)


@attrs.frozen(eq=False)
class RankingParts:
    """One or more states of falling size that add up to a ranking state.

    A small batch is not added to the whole state, so a row is added about log2(n) times. Only a few
    updates take time proportional to all rows.
    """

    states: tuple[RankingState, ...]

    @property
    def n(self) -> FixedPoint:
        """The number of complete queries."""
        return sum((part.n for part in self.states), start=FixedPoint(np.array(0)))

    def summed(self, config: RankingConfig) -> RankingState:
        """Add up all parts."""
        return RankingState.sum_of(self.states[::-1], config)

    def with_batch(self, batch: RankingState, config: RankingConfig) -> Self:
        """Add a batch to the parts that are not much larger than the batch.

        The caller has checked the ids: an addition may only be deferred if it cannot fail.
        """
        total = [*self.states, batch]
        may_defer = batch.size > 0 and _cannot_fail(total, config)
        while len(total) > 1 and (not may_defer or total[-2].size <= 2 * total[-1].size):
            last = total.pop()
            total[-1] = RankingState.sum_of([total[-1], last], config)
        return type(self)(tuple(total))


def _cannot_fail(parts: list[RankingState], config: RankingConfig) -> bool:
    if config.keeps_documents or config.max_open_queries is not None:
        return False
    is_declared = any((part.declared.values >= 0).any() for part in parts)
    has_weights = any(part.weights.whole.size for part in parts)
    return not (is_declared or has_weights) and sum(part.largest for part in parts) <= MAX_ROWS


def _joined_ids(a: RankingState, b: RankingState) -> dict[str, Any]:
    """Merge the kept ids; none can be on both sides, closed or open."""
    if not len(a.closed) or not len(b.closed):
        only = b if len(b.closed) else a
        closed, values, weights = only.closed, only.values, only.closed_weights
    else:
        _check_types(a.closed, b.closed)
        ids, mine, theirs = union(a.closed.values, b.closed.values)
        if len(ids) < len(a.closed) + len(b.closed):
            twice = ids[np.intersect1d(mine, theirs)[:1]].tolist()[0]
            raise IncompatibleStateError(f"cannot merge: query {twice!r} is in both.")
        size = len(a.values) // len(a.closed)
        rows = np.empty((len(ids), size), dtype=np.uint64)
        rows[mine] = a.values.values.reshape(len(mine), size)
        rows[theirs] = b.values.values.reshape(len(theirs), size)
        closed, values = Column(ids), Column(rows.ravel())
        weights = joined_weights(a.closed_weights, b.closed_weights, mine, theirs)
    for done, going in ((a.closed, b.ids), (b.closed, a.ids)):
        _check_types(done, going)
        both = set(done.values.tolist()) & set(going.values.tolist()) if len(going) else ()
        if both:
            raise IncompatibleStateError(
                f"cannot merge: query {min(both)!r} is closed in one and open in the other."
            )
    return {"closed": closed, "values": values, "closed_weights": weights}


def _check_types(a: Column, b: Column) -> None:
    if len(a) and len(b) and a.kind != b.kind:
        raise IncompatibleStateError(
            "cannot merge: `query` holds strings in one and numbers in the other."
        )


def _columns(sketches: Iterable[LeveledCells]) -> dict[str, Any]:
    """Return the fields of tables, without fractions that are all 0."""
    levels, sizes, cells = columns_of(sketches)
    fields = levels, sizes, Column(cells.lo), Column(cells.hi), cells.pos.canonical()
    return dict(zip(_SKETCH, fields, strict=True))


def _sketched(
    values: QueryValues, weights: FixedPoint, config: RankingConfig
) -> Iterator[LeveledCells]:
    """Put the values of measures with quantiles into tables: exact values, and bounds.

    Logarithms are kept, as in the sums.
    """
    counts, is_known = ~values.is_empty, values.low == values.high
    for index in config.sketched:
        known, others = counts[index] & is_known[index], counts[index] & ~is_known[index]
        for of, kept in ((values.value, known), (values.low, others), (values.high, others)):
            own, held = of[index][kept], weights[kept] if weights.whole.size else None
            every = np.ones(len(own), dtype=bool)
            yield Cells.none().with_rows_within(own, "real", every, held, 0, config.budget)


def _bits(values: QueryValues) -> npt.NDArray[np.uint64]:
    """Lay out the bits of the values, query by query; nan if there is nothing to find."""
    return np.where(values.is_empty, np.nan, values.value).T.copy().view(np.uint64).ravel()


def _moments(values: Floats, counts: Mask, weights: FixedPoint) -> tuple[ExactSums, ExactSums]:
    """Sum the values of each measure that count, and their squares.

    For 32 queries, computing all sums at once takes a third of the time of computing them one by
    one; for 3000 queries, it takes twice as long.
    """
    if values.size > _FEW or weights.whole.size:
        terms = list(_terms(values, counts, weights))
        squares = (single_sum(exact_product(part, part), held) for part, held in terms)
        return tuple(single_sum([part], held) for part, held in terms), tuple(squares)
    measure, size = np.nonzero(counts)[0], len(values)
    term = values[counts]
    parts = np.concatenate([term, *exact_product(term, term)])
    cells = np.concatenate([measure, measure + size, measure + size])
    sums = cell_sums(parts, None, cells, 2 * size)
    return sums[:size], sums[size:]


def _sums(values: Floats, counts: Mask, weights: FixedPoint) -> ExactSums:
    return tuple(single_sum([part], held) for part, held in _terms(values, counts, weights))


def _terms(
    values: Floats, counts: Mask, weights: FixedPoint
) -> Iterator[tuple[Floats, FixedPoint | None]]:
    """Select the values of each measure that count, with their weights."""
    for row, kept in zip(values, counts, strict=True):
        yield row[kept], weights[kept] if weights.whole.size else None


def _number(of: Mask, weights: FixedPoint) -> FixedPoint:
    """Count queries along the last axis, each by its weight."""
    if weights.whole.size:
        return weights.where(of).totals()
    return FixedPoint(np.asarray(np.count_nonzero(of, axis=-1), dtype=np.int64))


def _check(state: RankingState, config: RankingConfig) -> None:
    check_total(state.n)
    for name in ("missing", "nothing"):
        check_numbers(getattr(state, name), (), name)
    measures = len(config.means)
    check_numbers(state.empty, (measures,), "empty")
    for numbers in (state.nothing, state.empty):
        require(numbers.is_whole == state.n.is_whole, "fractions of some numbers alone")
        require(((state.n - numbers).whole >= 0).all(), "more empty than n")
    for name in _SUMS:
        sums = getattr(state, name)
        require(len(sums) == measures and all(type(part) is ExactSum for part in sums), name)
    for index, item in enumerate(config.parsed):
        _check_sums(state, index, item)
    _check_closed(state, config)
    _check_sketches(state, config)
    _check_shapes(state, config)
    _check_open(state.open, config)


def _check_sums(state: RankingState, index: int, item: Measure) -> None:
    name = item.name
    counted = state.n.to_fraction() - state.empty[index].to_fraction()
    low, value, high, squares = (
        sums[index].to_fraction() for sums in (state.lows, state.sums, state.highs, state.squares)
    )
    require(low <= value <= high, f"{name} passes its bounds")
    lowest, highest = _range(item)
    require(lowest * counted <= low and high <= highest * counted, f"{name} is out of range")
    spare = _UNDERFLOW * counted
    require(value * value <= counted * (squares + spare), f"{name} passes its squares")
    largest = max(highest, -lowest)
    total = abs(value) if not lowest or not highest else largest * counted
    require(squares <= largest * total + spare, f"{name} has too large squares")


def _range(item: Measure) -> tuple[Fraction, Fraction]:
    """Find the range of a measure, by its unit: logarithms, shares, gains or counts."""
    if item.is_geometric:
        return _MIN_LOG, Fraction(0)
    count = _MAX_GAIN if item.uses_gains else Fraction(2 * MAX_ROWS)  # retrieved and not
    return (
        Fraction(item.min_value) if math.isfinite(item.min_value) else -count,
        Fraction(item.max_value) if math.isfinite(item.max_value) else count,
    )


def _check_closed(state: RankingState, config: RankingConfig) -> None:
    _check_ids(state.closed, "closed")
    _check_weights(state.closed_weights, len(state.closed))
    weights = listed_weights(state.closed_weights, len(state.closed))
    counted = state.n + state.missing
    is_same = are_same(weights.total(), counted) and weights.is_whole == counted.is_whole
    require(is_same if config.keeps_ids else not len(state.closed), "closed")
    size = len(state.closed) * len(config.means) if config.per_query else 0
    require(state.values.kind == "uint64" and len(state.values) == size, "values")
    if not size:
        return
    bits = state.values.values.reshape(len(state.closed), -1)
    is_absent = (bits == ABSENT).all(axis=1)
    missing = weights.where(is_absent).total()
    require(are_same(missing, state.missing), "values of missing queries")
    kept, own = bits[~is_absent], weights[~is_absent]
    values = kept.view(np.float64)
    unknown = np.isnan(values)
    require((kept[unknown] == np.float64(np.nan).view(np.uint64)).all(), "values")
    require(not np.isinf(values).any(), "values are infinite")
    is_same = are_same(own.where(unknown.T).totals(), state.empty)
    require(is_same, "values of empty queries")
    for index, column in enumerate(values.T):
        counts = ~np.isnan(column)
        terms, held = column[counts], own[counts] if state.closed_weights.whole.size else None
        require(np.abs(terms).max(initial=0.0) <= 2.0**430, "values are too large")
        require(single_sum([terms], held) == state.sums[index], "values of other sums")
        squares = single_sum(exact_product(terms, terms), held)
        require(squares == state.squares[index], "values of other squares")


def _check_sketches(state: RankingState, config: RankingConfig) -> None:
    levels, sizes, lo, hi = (getattr(state, name) for name in _SKETCH[:4])
    weight, n_tables = state.sketch_weight, TABLES * len(config.sketched)
    for column in (levels, sizes):
        require(column.kind == "int64" and len(column) == n_tables, "sketch_sizes")
    require((sizes.values >= 0).all() and sizes.values.sum() == len(lo), "sketch_sizes")
    check_weighted_cells(levels.values, sizes.values, lo, hi, weight, config.budget)
    require(weight.is_whole or bool(np.any(weight.fraction)), "sketch_weight has no fraction")
    tables = [cells for _, cells in state.sketches]
    totals = [cells.pos.total() for cells in tables]
    for number, index in enumerate(config.sketched):
        item, first = config.parsed[index], TABLES * number
        known, low, high = totals[first : first + TABLES]
        counted = state.n - state.empty[index]
        require(are_same(known + low, counted), f"{item.name} of other queries")
        require(are_same(low, high), f"{item.name} with bounds on one side")
        require(item.is_uncut or not low.is_positive(), f"{item.name} needs no bounds")
        lowest, highest = map(float, _range(item))
        for table in tables[first : first + TABLES]:
            ends = scores_of(np.concatenate([table.lo[:1], table.hi[-1:]]), "real")
            require(((lowest <= ends) & (ends <= highest)).all(), f"{item.name} out of range")


def _check_weights(weights: FixedPoint, size: int) -> None:
    """Check that weights are positive, and left out if all are 1."""
    n_items = weights.whole.size
    check_numbers(weights, (size,) if n_items else (0,), "weights")
    require(bool(weights.is_positive().all()), "a query that does not count")
    require(not n_items or canonical_weights(weights) is weights, "weights that are all 1")


def _check_ids(ids: Column, name: str) -> None:
    require(ids.kind in ("int64", "text"), name)
    require(len(ids) or ids.kind == "int64", f"{name} of nothing must be int64")
    require((ids.values[1:] > ids.values[:-1]).all(), f"{name} are out of order")


def _check_shapes(state: RankingState, config: RankingConfig) -> None:
    """Check the type and the length of each column of open queries."""
    _check_ids(state.ids, "ids")
    size, levels = len(state.ids), len(config.levels)
    limit = config.max_open_queries
    require(limit is None or size <= limit, "more open queries than there may be")
    if config.keeps_ids and size and len(state.closed):
        require(state.ids.kind == state.closed.kind, "ids of two types")
        both = set(state.ids.values.tolist()) & set(state.closed.values.tolist())
        require(not both, "queries that are open and closed")
    _check_weights(state.weights, size)
    lengths = {"rows": size, "declared": size, "relevant": size * levels, "found": size * levels}
    lengths |= {"ranked_sizes": size, "ranked_count": len(state.ranked_key)}
    lengths |= {"gained_sizes": size, "gained_count": len(state.gained_gain)}
    lengths |= {"gained_found": len(state.gained_gain)}
    for name, length in lengths.items():
        column = getattr(state, name)
        require(column.kind == "int64" and len(column) == length, name)
        lowest = -1 if name == "declared" else 0
        within = (column.values >= lowest) & (column.values <= MAX_ROWS)
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
    kept = queries.n_kept
    is_whole = kept == queries.rows
    enough = is_whole | ((kept >= config.kept_rows) & (kept < queries.rows))
    require(enough.all(), "rows are not those of the cells")
    outside: list[Ints] = []
    for number, level in enumerate(config.levels):
        threshold = keys_of(np.array([level]), "real")[0]
        inside = ranked.per_query(len(queries), ranked.count * (ranked.grade >= threshold))
        left = queries.found[:, number] - inside
        require((left >= 0).all() and (left <= queries.rows - kept).all(), "found in other cells")
        require(not outside or (left <= outside[-1]).all(), "levels outside are out of order")
        outside.append(left)


def _check_grades(ranked: Ranked, config: RankingConfig) -> None:
    """Check that each grade is one that batches can have."""
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
    if config.max_grade < np.inf:
        is_known |= finite & (relevance >= 1.0)
        whole = (relevance == np.floor(relevance)) & (relevance <= config.max_grade)
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
        require((power[0] == 0.5).all() and (power[1] <= 63).all(), "gains are not powers of two")
    is_declared = (queries.declared >= 0)[gained.query]
    require((gain[is_declared] == 1.0).all(), "gains other than 1 of a declared number")
    require(((gained.count > 0) & (gained.found <= gained.count)).all(), "gains of nothing")
    require(are_in_order(gained.columns), "gains are out of order")
    require(len(gained.trimmed(config)) == len(gained), "gains that no measure asks for")
    if config.kept_gains is not None:
        return
    relevance = ranked.relevance
    own = gains_of(np.where(np.isfinite(relevance), relevance, 0.0), config)
    outside = queries.outside(own)
    require((outside.count >= 0).all(), "gains are not those of the cells")
    left = queries.rows - queries.n_kept
    require((outside.per_query(len(queries)) <= left).all(), "more gains than rows")
