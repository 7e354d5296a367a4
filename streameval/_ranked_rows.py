"""From relevances and scores to queries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from streameval._arrays import (
    as_array,
    as_labels,
    as_scores,
    check_vector,
    first_true,
    shape_text,
)
from streameval._decisions import present
from streameval._labels import canonical_label, distinct
from streameval._score_keys import keys_of
from streameval.configs.gains import gains_of
from streameval.configs.ranking import JUDGED, RankingConfig
from streameval.errors import InvalidInputError
from streameval.states.queries import MOST_ROWS, Gained, Queries, Ranked, check_documents

__all__ = ["read_queries"]

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_MOST_RELEVANCE = 2.0**400
_MOST_POWER = 62.0


@attrs.frozen(eq=False)
class _Rows:
    """Documents in rows of one kind, whatever shape they came in.

    `own` is the place of each query of a dense block, `place` that of each document. Once read,
    documents are places among those known.
    """

    ids: Array | None
    n_queries: int
    own: Ints
    place: Ints
    relevance: Floats
    score: Floats
    is_retrieved: Mask
    document: Array | None
    known: Array | None = None

    def select(self, kept: Mask) -> _Rows:
        """Keep some documents; the queries stay."""
        return attrs.evolve(
            self,
            place=self.place[kept],
            relevance=self.relevance[kept],
            score=self.score[kept],
            is_retrieved=self.is_retrieved[kept],
            document=None if self.document is None else self.document[kept],
        )


def read_queries(
    relevance: Any,
    score: Any,
    *,
    query: Any,
    mask: Any,
    retrieved: Any,
    num_relevant: Any,
    doc: Any,
    config: RankingConfig,
    goes_on: bool = False,
) -> Queries:
    """Read one batch, all of it or nothing; ids come sorted.

    Raises
    ------
    InvalidInputError
        When an array has the wrong shape, type or values.
    """
    levels, scores = as_array(relevance, name="relevance"), as_array(score, name="score")
    shape = _shape(levels, scores, query, config)
    real = np.ones(shape, dtype=bool) if mask is None else _flags(mask, shape, "mask")
    rows = _rows(levels, scores, query, real, retrieved, doc, config)
    declared = _declared(num_relevant, rows, shape, config)
    if config.unjudged == "drop":
        rows = rows.select(~np.isnan(rows.relevance))
    queries = _queries(rows, declared, config, goes_on=goes_on)
    queries.check_limits()
    return queries


def _shape(levels: Array, scores: Array, query: Any, config: RankingConfig) -> tuple[int, ...]:
    """Check that the arrays are of one shape: (queries, candidates), or (n,) with ids."""
    if levels.ndim not in (1, 2):
        raise InvalidInputError(
            f"`relevance` must have shape (queries, candidates), or (n,) with `query`, "
            f"got {shape_text(levels)}."
        )
    if scores.shape != levels.shape:
        raise InvalidInputError(
            f"`score` must have the shape of `relevance`, {levels.shape}, got {shape_text(scores)}."
        )
    if query is None and levels.ndim == 1 and len(levels):
        raise InvalidInputError(
            "`query` is missing: pass the query of each row, or arrays of shape "
            "(queries, candidates)."
        )
    if query is None and config.keeps_ids and len(levels):
        raise InvalidInputError("`query` is missing: the ids of queries are to be kept.")
    return levels.shape


def _rows(
    levels: Array,
    scores: Array,
    query: Any,
    real: Mask,
    retrieved: Any,
    doc: Any,
    config: RankingConfig,
) -> _Rows:
    shape = real.shape
    is_retrieved = real if retrieved is None else _flags(retrieved, shape, "retrieved") & real
    relevance = _relevances(levels, real, config)
    score = _scores(scores, is_retrieved, config)
    document = None if doc is None else _documents(doc, shape)
    if document is None and config.keeps_documents and real.any():
        raise InvalidInputError('`doc` is missing: ties="docid_desc" needs the documents.')
    ids, own = _ids(query, len(levels), is_dense=len(shape) == 2)
    n_queries, place = len(levels) if ids is None else len(ids), own
    if len(shape) == 2:
        place = np.repeat(own, shape[1])
    kept = real.ravel()
    rows = _Rows(
        ids,
        n_queries,
        own,
        place,
        relevance.ravel(),
        score.ravel(),
        is_retrieved.ravel(),
        None if document is None else document.ravel(),
    )
    rows = rows if kept.all() else rows.select(kept)
    if rows.document is not None:
        known, codes = distinct(rows.document, name="doc")
        check_documents(rows.place, codes, known)
        rows = attrs.evolve(rows, document=codes, known=known)
    return rows


def _ids(query: Any, rows: int, *, is_dense: bool) -> tuple[Array | None, Ints]:
    """Read the ids, and give them sorted with the place of each row."""
    if query is None:
        return None, np.arange(rows)
    labels = as_labels(query, name="query")
    if not rows and not labels.size:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    check_vector(labels, rows=rows, name="query")
    # rows of one query mostly stand together: name each run once
    begins = np.ones(rows, dtype=bool)
    begins[1:] = labels[1:] != labels[:-1]
    ids, places = distinct(labels[begins], name="query")
    if is_dense and len(ids) < rows:
        twice = ids[np.bincount(places[np.cumsum(begins) - 1]) > 1][0]
        raise InvalidInputError(
            f"`query` must be distinct, got {canonical_label(twice, name='query')!r} twice."
        )
    return ids, places[np.cumsum(begins) - 1]


def _flags(value: Any, shape: tuple[int, ...], name: str) -> Mask:
    array = as_array(value, name=name)
    if array.shape != shape:
        raise InvalidInputError(
            f"`{name}` must have the shape of `relevance`, {shape}, got {shape_text(array)}."
        )
    return array if array.dtype == bool else present(as_labels(array, name=name), name=name)


def _relevances(array: Array, real: Mask, config: RankingConfig) -> Floats:
    """Read relevances; NaN is a document that has not been judged."""
    relevance = as_scores(array, name="relevance", allow_nan=True)
    relevance = np.where(real, relevance, np.nan)
    _refuse(np.abs(relevance) > _MOST_RELEVANCE, relevance, "must be at most 2**400 in magnitude")
    if isinstance(config.gain, tuple):
        levels = np.array(config.gain)[:, 0]
        unknown = ~np.isin(relevance, levels) & ~np.isnan(relevance)
        if config.negative == "zero":
            unknown &= relevance >= 0.0
            relevance = np.where((relevance < 0.0) & ~np.isin(relevance, levels), np.nan, relevance)
        _refuse(unknown, relevance, "must hold levels that `gain` maps")
    else:
        negative = relevance < 0.0
        if config.negative == "raise":
            _refuse(negative, relevance, 'must not be negative (see negative="zero")')
        relevance = np.where(negative, np.nan, relevance)
    if config.gain == "exp2" and config.uses_gains:
        wrong = (relevance != np.floor(relevance)) & ~np.isnan(relevance)
        _refuse(
            wrong | (relevance > _MOST_POWER),
            relevance,
            'must be whole and at most 62 for gain="exp2"',
        )
    most = config.most_grade
    if most < np.inf:
        wrong = (relevance != np.floor(relevance)) & ~np.isnan(relevance)
        _refuse(
            wrong | (relevance > most), relevance, f"must be whole and at most {most:g} for err"
        )
    return relevance + 0.0


def _refuse(wrong: Mask, array: Floats, rule: str) -> None:
    if wrong.any():
        found = float(array.ravel()[int(wrong.argmax())])
        raise InvalidInputError(f"`relevance` {rule}, got {found!r} at {first_true(wrong)}.")


def _scores(array: Array, is_retrieved: Mask, config: RankingConfig) -> Floats:
    scores = as_scores(array, name="score", allow_nan=True)
    missing = np.isnan(scores) & is_retrieved
    if config.nan == "raise" and missing.any():
        raise InvalidInputError(
            f'`score` must not hold NaN, got NaN at {first_true(missing)}. Pass nan="last" to '
            "rank it below all others."
        )
    return scores


def _documents(value: Any, shape: tuple[int, ...]) -> Array:
    labels = as_labels(value, name="doc")
    if labels.shape != shape:
        raise InvalidInputError(
            f"`doc` must have the shape of `relevance`, {shape}, got {shape_text(labels)}."
        )
    return labels


def _declared(value: Any, rows: _Rows, shape: tuple[int, ...], config: RankingConfig) -> Ints:
    """Read how many relevant documents each query has; -1 where that is not given."""
    if value is None:
        return np.full(rows.n_queries, -1, dtype=np.int64)
    finite = [level for level in config.levels if level != JUDGED]
    if len(finite) > 1:
        raise InvalidInputError(
            "`num_relevant` is one number, but the measures have several relevance levels. "
            "Pass the documents with retrieved=False."
        )
    if config.uses_gains:
        gains = gains_of(rows.relevance, config)
        if ((gains != 0.0) & (gains != 1.0)).any():
            raise InvalidInputError(
                "`num_relevant` is not enough for gains other than 0 and 1. "
                "Pass the documents with retrieved=False."
            )
    if len(shape) == 2:
        if isinstance(value, Mapping):
            raise InvalidInputError(
                "`num_relevant` must be an array here, a number for each query."
            )
        numbers = as_labels(value, name="num_relevant")
        check_vector(numbers, rows=rows.n_queries, name="num_relevant")
        _check_numbers(numbers)
        return numbers[np.argsort(rows.own)]
    numbers = _looked_up(value, rows)
    _check_numbers(numbers)
    return numbers


def _check_numbers(numbers: Array) -> None:
    if numbers.dtype == object:
        raise InvalidInputError("`num_relevant` must hold numbers, got strings.")
    wrong = (numbers < 0) | (numbers > MOST_ROWS)
    if wrong.any():
        raise InvalidInputError(
            f"`num_relevant` must lie in 0 to {MOST_ROWS}, got {numbers[wrong][0]} at "
            f"{first_true(wrong)}."
        )


def _looked_up(value: Any, rows: _Rows) -> Array:
    """Find the number of each query of ragged rows."""
    if not isinstance(value, Mapping):
        raise InvalidInputError(
            f"`num_relevant` must map the id of each query to a number here, "
            f"got {type(value).__name__}."
        )
    given = {canonical_label(key, name="num_relevant"): number for key, number in value.items()}
    ids = () if rows.ids is None else rows.ids.tolist()
    absent = next((label for label in ids if label not in given), None)
    if absent is not None:
        raise InvalidInputError(
            f"`num_relevant` must have a number for each query, not for {absent!r}."
        )
    numbers = np.array([given[label] for label in ids] or np.zeros(0, dtype=np.int64))
    return as_labels(numbers, name="num_relevant")


def _queries(rows: _Rows, declared: Ints, config: RankingConfig, *, goes_on: bool) -> Queries:
    """Count documents by score and grade."""
    gain, size = gains_of(rows.relevance, config), rows.n_queries
    relevant, found = np.zeros((2, size, len(config.levels)), dtype=np.int64)
    for number, level in enumerate(config.levels):
        reaches = np.flatnonzero(rows.relevance >= level)  # False for NaN
        place = rows.place[reaches]
        relevant[:, number] = np.bincount(place, minlength=size)
        found[:, number] = np.bincount(place[rows.is_retrieved[reaches]], minlength=size)
    gained = Queries.none(config).gained
    if config.uses_gains:
        some = np.flatnonzero(gain > 0.0)
        found_gain = rows.is_retrieved[some].astype(np.int64)
        keys = keys_of(gain[some], "real")
        gained = Gained.of(rows.place[some], keys, np.ones_like(some), found_gain)
    ranked = _ranked(rows, _grades(rows.relevance, gain, config), config, goes_on=goes_on)
    n_rows = np.bincount(rows.place[rows.is_retrieved], minlength=size)
    return Queries(rows.ids, n_rows, relevant, found, declared, ranked, gained)


def _ranked(
    rows: _Rows, grade: npt.NDArray[np.uint64], config: RankingConfig, *, goes_on: bool
) -> Ranked:
    """Rank what was retrieved."""
    place, score, document = rows.place, rows.score, rows.document
    if not rows.is_retrieved.all():
        kept = np.flatnonzero(rows.is_retrieved)
        place, score, grade = place[kept], score[kept], grade[kept]
        document = None if document is None else document[kept]
    key = keys_of(score, "real")
    if config.nan == "last":
        key = np.where(np.isnan(score), np.uint64(0), key)
    if config.keeps_documents and goes_on and rows.known is not None:
        document = None if document is None else rows.known[document]
    if goes_on or config.keeps_documents:
        return Ranked.of(place, key, document if config.keeps_documents else None, grade)
    return Ranked.of_complete(place, key, grade)


def _grades(relevance: Floats, gain: Floats, config: RankingConfig) -> npt.NDArray[np.uint64]:
    """Give as the grade the relevance, or the level that stands for it in all measures.

    Documents that no measure asks for have grade 0.
    """
    grades = np.zeros(len(relevance), dtype=np.uint64)
    is_asked = relevance >= config.levels[0]
    asked = np.flatnonzero(is_asked | (gain > 0.0) if config.uses_gains else is_asked)
    own, levels = relevance[asked], np.array(config.levels)
    reached = np.searchsorted(levels, own, side="right") - 1
    stands = np.where(reached >= 0, levels[reached], own)
    if config.uses_gains:
        stands = np.where(gain[asked] > 0.0, own, stands)
    if config.most_grade < np.inf:
        stands = np.where(own >= 1.0, own, stands)
    grades[asked] = keys_of(stands, "real")
    return grades
