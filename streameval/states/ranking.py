"""Sums over the queries that are complete, and what is known of those that are open."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self, final

import attrs
import numpy as np
import numpy.typing as npt

from streameval.configs.ranking import RankingConfig
from streameval.errors import IncompatibleStateError, InvalidInputError, Named
from streameval.exact.cell_sums import cell_sums, single_sum
from streameval.exact.exact_sum import ExactSum, exact_product
from streameval.exact.fixed_point import FixedPoint
from streameval.inputs.labels import union
from streameval.states.column import Column
from streameval.states.queries import Gained, Queries, Ranked
from streameval.states.ranking_checks import ABSENT, check_ranking
from streameval.states.state import State

__all__ = ["ABSENT", "QueryValues", "RankingState"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Sums = tuple[ExactSum, ...]

_FEW = 2**11  # values
_NONE = np.zeros(0, dtype=np.int64)


@attrs.frozen(eq=False)
class QueryValues:
    """The measures of complete queries.

    Parameters
    ----------
    low, value, high : float64 array, shape (M, Q)
        The value of each measure and its bounds.
    is_empty : bool array, shape (M, Q)
        Where there was nothing to find, so that the value does not count.
    has_nothing : bool array, shape (Q,)
        Where nothing was relevant at the level of the configuration.
    """

    low: Floats
    value: Floats
    high: Floats
    is_empty: npt.NDArray[np.bool_]
    has_nothing: npt.NDArray[np.bool_]

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
        The number of complete queries.
    missing, nothing : FixedPoint, shape ()
        The number of judged queries that are absent, and of complete ones without a relevant
        document.
    empty : FixedPoint, shape (M,)
        The number of queries in which a measure had nothing to find.
    sums, squares, lows, highs : tuple of M ExactSum
        Of the values of the other queries, of their squares, and of their bounds.
    closed : Column of int64 or text
        The complete and the missing queries, sorted, where ids are kept.
    values : Column of uint64, shape (len(closed) * M,)
        The bits of their values where these are kept.
    ids : Column of int64 or text, shape (Q,)
        The open queries, sorted.
    rows, declared : Column of int64, shape (Q,)
        How many rows were retrieved, and the number of relevant documents if given, else -1.
    relevant, found : Column of int64, shape (Q * L,)
        The judged documents that reach each relevance level, and those retrieved.
    ranked_sizes, ranked_key, ranked_document, ranked_grade, ranked_count : Column
        The number of cells of each query, and `Ranked`.
    gained_sizes, gained_gain, gained_count, gained_found : Column
        The number of cells of each query, and `Gained`.
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

    @classmethod
    def zero(cls, config: RankingConfig) -> Self:
        """Hold no query."""
        one, nothing = FixedPoint.zeros(()), (ExactSum(),) * len(config.measures)
        return cls._of_open(
            Queries.none(config),
            n=one,
            missing=one,
            nothing=one,
            empty=FixedPoint.zeros(len(config.measures)),
            sums=nothing,
            squares=nothing,
            lows=nothing,
            highs=nothing,
            closed=_column([]),
            values=_column([], np.uint64),
        )

    @classmethod
    def of_open(cls, queries: Queries, config: RankingConfig) -> Self:
        """Hold queries that go on."""
        zero = cls.zero(config)
        return cls._of_open(queries, **zero._closed_fields())

    @classmethod
    def of_complete(
        cls, values: QueryValues, ids: npt.NDArray[Any] | None, config: RankingConfig
    ) -> Self:
        """Sum the values of complete queries; their sorted ids are kept where asked for."""
        counts = ~values.is_empty
        sums, squares = _moments(values.value, counts)
        lows = highs = sums
        if values.low is not values.value:
            lows = _sums(map(np.compress, counts, values.low))
            highs = _sums(map(np.compress, counts, values.high))
        kept = ids if config.keeps_ids and ids is not None else np.zeros(0, dtype=np.int64)
        return attrs.evolve(
            cls.zero(config),
            n=_count(len(values.has_nothing)),
            nothing=_count(np.count_nonzero(values.has_nothing)),
            empty=FixedPoint(np.count_nonzero(values.is_empty, axis=1).astype(np.int64)),
            sums=sums,
            squares=squares,
            closed=Column(kept),
            values=Column(_bits(values) if config.per_query else np.zeros(0, dtype=np.uint64)),
            lows=lows,
            highs=highs,
        )

    @classmethod
    def of_missing(cls, ids: npt.NDArray[Any], config: RankingConfig) -> Self:
        """Count judged queries that are absent; `ids` are sorted."""
        kept = ids if config.keeps_ids else np.zeros(0, dtype=np.int64)
        size = len(ids) * len(config.measures) if config.per_query else 0
        return attrs.evolve(
            cls.zero(config),
            missing=_count(len(ids)),
            closed=Column(kept),
            values=Column(np.full(size, ABSENT)),
        )

    @property
    def open(self) -> Queries:
        """The queries that go on."""
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
                self.ranked_key.values,
                document,
                self.ranked_grade.values,
                self.ranked_count.values,
            ),
            Gained(
                np.repeat(own, self.gained_sizes.values),
                self.gained_gain.values,
                self.gained_count.values,
                self.gained_found.values,
            ),
        )

    def __add__(self, other: Self) -> Self:
        """Add sums, and join the rows of open queries; `fitted` forgets what nobody asks for."""
        closed, values = _joined_ids(self, other)
        sums: dict[str, Any] = {
            "n": self.n + other.n,
            "missing": self.missing + other.missing,
            "nothing": self.nothing + other.nothing,
            "empty": self.empty + other.empty,
            "sums": _added(self.sums, other.sums),
            "squares": _added(self.squares, other.squares),
            "lows": _added(self.lows, other.lows),
            "highs": _added(self.highs, other.highs),
            "closed": closed,
            "values": values,
        }
        if not len(self.ids) or not len(other.ids):
            return attrs.evolve(self if len(self.ids) else other, **sums)
        _check_types(self.ids, other.ids)
        ids, mine, theirs = union(self.ids.values, other.ids.values)
        return self._of_open(self.open.joined(other.open, ids, mine, theirs), **sums)

    @property
    def size(self) -> int:
        """How many ids and cells there are: what it takes to add to them."""
        return len(self.closed) + len(self.ids) + len(self.ranked_key) + len(self.gained_gain)

    @property
    def largest(self) -> int:
        """No less than the rows of any open query."""
        columns = self.rows, self.relevant
        own = (int(column.values.max(initial=0)) for column in columns)
        cells, count = self.gained_sizes.values, self.gained_count.values
        return max(*own, int(cells.max(initial=0)) * int(count.max(initial=0)))

    def without_open(self, kept: Ints) -> Self:
        """Forget the open queries but those at some places, which are sorted."""
        return self._of_open(self.open.select(kept), **self._closed_fields())

    def fitted(self, config: RankingConfig) -> Self:
        """Keep of open queries what measures ask for; too many of them raise."""
        most = config.max_open_queries
        if most is not None and len(self.ids) > most:
            raise InvalidInputError(
                f"would bring the number of open queries to {len(self.ids)}, past ",
                Named("max_open_queries", f"{most}"),
                argument="query",
                remedy="Close those that are complete.",
            )
        self.open.check_limits()
        return self._of_open(self.open.trimmed(config), **self._closed_fields())

    def _closed_fields(self) -> dict[str, Any]:
        names = ("n", "missing", "nothing", "empty", "sums", "squares", "lows", "highs")
        return {name: getattr(self, name) for name in (*names, "closed", "values")}

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
            ranked_sizes=Column(np.bincount(ranked.place, minlength=size)),
            ranked_key=Column(ranked.key),
            ranked_document=Column(document),
            ranked_grade=Column(ranked.grade),
            ranked_count=Column(ranked.count),
            gained_sizes=Column(np.bincount(gained.place, minlength=size)),
            gained_gain=Column(gained.gain),
            gained_count=Column(gained.count),
            gained_found=Column(gained.found),
        )

    def check(self, config: RankingConfig) -> None:
        """Check every number, and that the parts belong together."""
        check_ranking(self, config)


def _joined_ids(a: RankingState, b: RankingState) -> tuple[Column, Column]:
    """Join the ids that are kept; none may be on both sides, closed or open."""
    if not len(a.closed) or not len(b.closed):
        held = b if len(b.closed) else a
        closed, values = held.closed, held.values
    else:
        _check_types(a.closed, b.closed)
        ids, mine, theirs = union(a.closed.values, b.closed.values)
        if len(ids) < len(a.closed) + len(b.closed):
            twice = ids[np.intersect1d(mine, theirs)[0]]
            raise IncompatibleStateError(f"cannot merge: query {_plain(twice)!r} is in both.")
        size = len(a.values) // len(a.closed)
        rows = np.empty((len(ids), size), dtype=np.uint64)
        rows[mine] = a.values.values.reshape(len(mine), size)
        rows[theirs] = b.values.values.reshape(len(theirs), size)
        closed, values = Column(ids), Column(rows.ravel())
    for done, going in ((a.closed, b.ids), (b.closed, a.ids)):
        _check_types(done, going)
        both = set(done.values.tolist()) & set(going.values.tolist()) if len(going) else ()
        if both:
            raise IncompatibleStateError(
                f"cannot merge: query {min(both)!r} is closed in one and open in the other."
            )
    return closed, values


def _check_types(a: Column, b: Column) -> None:
    if len(a) and len(b) and a.kind != b.kind:
        raise IncompatibleStateError(
            "cannot merge: `query` holds strings in one and numbers in the other."
        )


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _bits(values: QueryValues) -> npt.NDArray[np.uint64]:
    """Lay out the bits of the values, query after query; nan where there was nothing to find."""
    return np.where(values.is_empty, np.nan, values.value).T.copy().view(np.uint64).ravel()


def _moments(values: Floats, counts: npt.NDArray[np.bool_]) -> tuple[Sums, Sums]:
    """Sum the values of each measure that count, and their squares.

    All sums of 32 queries at once take a third of the time of one after the other; those of
    3000 would take twice as long.
    """
    if values.size > _FEW:
        terms = list(map(np.compress, counts, values))
        return _sums(terms), tuple(single_sum(exact_product(part, part), None) for part in terms)
    measure, size = np.nonzero(counts)[0], len(values)
    term = values[counts]
    parts = np.concatenate([term, *exact_product(term, term)])
    places = np.concatenate([measure, measure + size, measure + size])
    sums = cell_sums(parts, None, places, 2 * size)
    return sums[:size], sums[size:]


def _sums(parts: Iterable[Floats]) -> Sums:
    return tuple(single_sum([part], None) for part in parts)


def _added(a: Sums, b: Sums) -> Sums:
    return tuple(x + y for x, y in zip(a, b, strict=True))


def _count(number: int | np.integer[Any]) -> FixedPoint:
    return FixedPoint(np.array(number, dtype=np.int64))


def _column(values: list[int], dtype: type[np.generic] = np.int64) -> Column:
    return Column(np.array(values, dtype=dtype))
