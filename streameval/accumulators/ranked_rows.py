"""Reading of ranking batches: documents grouped by query, and ids of queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Number
from typing import Any

import attrs
import numpy as np

from streameval.configs.ranking import JUDGED, RankingConfig, gains_of
from streameval.errors import InvalidInputError, Named
from streameval.exact.array_types import Array, Floats, Indices, Ints, Mask
from streameval.exact.fixed_point import FixedPoint
from streameval.exact.row_order import grouped
from streameval.inputs.arrays import (
    are_empty,
    as_array,
    as_comparable,
    as_ids,
    as_labels,
    as_scores,
    check_id_type,
    check_shape_of,
    check_vector,
    first_index,
    read_weights,
    refuse_first,
    shape_text,
)
from streameval.inputs.classes import canonical_label
from streameval.inputs.judged_runs import seem_exchanged
from streameval.inputs.labels import among, distinct, present
from streameval.inputs.values import canonical_value
from streameval.inputs.weighted_rows import WeightedRows, rows_of_units, weighted_rows
from streameval.states.queries import (
    MAX_ROWS,
    NO_WEIGHTS,
    canonical_weights,
    check_documents,
    check_same_weights,
)
from streameval.states.ranking import RankingState
from streameval.states.ranking_rows import Documents

_MAX_RELEVANCE = 2.0**400
_MAX_POWER = 62.0
_MAX_WHOLE = 2**53  # up to here float64 holds every integer


def read_rows(
    relevance: Any,
    score: Any,
    *,
    query: Any,
    mask: Any,
    retrieved: Any,
    num_relevant: Any,
    doc: Any,
    config: RankingConfig,
    query_weight: Any = None,
    goes_on: bool = False,
    in_order: bool = False,
) -> Documents:
    """Read and check one batch; ids are sorted. Queries have a weight above 0.

    Relevance and scores that seem to be exchanged are refused, unless they are known to be
    `in_order`.

    Raises
    ------
    InvalidInputError
        When an array has the wrong shape, type or values.
    """
    levels = as_array(relevance, name="relevance", allow_missing=True)
    scores = as_array(score, name="score", allow_missing=True)
    if are_empty(levels, scores):
        optional = {"query": query, "mask": mask, "retrieved": retrieved, "doc": doc}
        return _no_rows(optional, num_relevant=num_relevant, query_weight=query_weight)
    shape = _shape(levels, scores, query, config)
    real = None if mask is None else _flags(mask, shape, "mask")
    rows, order = _rows(levels, scores, query, real, retrieved, doc, query_weight, config)
    if not in_order and scores.dtype.kind in "biu":
        _check_order(rows)
    if rows.document is not None:
        rows = _with_documents(rows, rows.document, config, goes_on=goes_on)
    if num_relevant is not None:
        declared = _declared(num_relevant, rows, order, shape, config, query)
        rows = attrs.evolve(rows, declared=declared)
    if config.unjudged == "drop" and rows.relevance.dtype.kind == "f":
        rows = rows.select(~np.isnan(rows.relevance))
    return rows


def _no_rows(optional: dict[str, Any], **of_queries: Any) -> Documents:
    """Read an empty batch, whose arrays may have any shape and type."""
    arrays = {name: of for name, of in of_queries.items() if not isinstance(of, Mapping)}
    for name, value in {**optional, **arrays}.items():
        array = np.zeros(0) if value is None else as_array(value, name=name)
        if not are_empty(array):
            raise InvalidInputError(
                "must have no rows, as ",
                Named("relevance"),
                f" has none, got {shape_text(array)}",
                argument=name,
            )
    nothing = np.zeros(0, dtype=np.int64)
    return Documents(None, nothing, nothing, nothing, np.zeros(0), None, None)


def _shape(levels: Array, scores: Array, query: Any, config: RankingConfig) -> tuple[int, ...]:
    """Check that the arrays are of one shape: (queries, candidates), or (n,) with ids."""
    if levels.ndim not in (1, 2):
        raise InvalidInputError(
            "must have shape (queries, candidates), or (n,) with ",
            Named("query"),
            f", got {shape_text(levels)}",
            argument="relevance",
        )
    check_shape_of(scores, levels.shape, "relevance", name="score")
    if query is None and levels.ndim == 1 and len(levels):
        raise InvalidInputError(
            "is missing: pass the query of each row, or arrays of shape (queries, candidates)",
            argument="query",
        )
    if query is None and config.keeps_ids and len(levels):
        raise InvalidInputError("is missing: the ids of queries are to be kept", argument="query")
    return levels.shape


def _check_order(rows: Documents) -> None:
    """Refuse what looks like scores as relevance, and relevance as integer scores."""
    if rows.relevance.dtype.kind == "f" and seem_exchanged(
        rows.relevance, rows.score, rows.is_retrieved
    ):
        raise InvalidInputError(
            "holds fractions, and ",
            Named("score"),
            " small whole numbers: they are exchanged",
            argument="relevance",
            remedy="Pass the relevance first, then the scores; scores that are such numbers, as "
            "floats.",
        )


def _rows(
    levels: Array,
    scores: Array,
    query: Any,
    real: Mask | None,
    retrieved: Any,
    doc: Any,
    query_weight: Any,
    config: RankingConfig,
) -> tuple[Documents, Ints | None]:
    """Read rows, and the order that groups them by query; None if they are grouped already."""
    shape = levels.shape
    is_retrieved = real
    if retrieved is not None:
        is_retrieved = _flags(retrieved, shape, "retrieved") & (True if real is None else real)
    relevance = _relevances(levels, real, config)
    score = _scores(scores, is_retrieved, config)
    document = None if doc is None else _documents(doc, shape)
    if doc is None and config.keeps_documents and (levels.size if real is None else real.any()):
        raise InvalidInputError(
            "is missing: ", Named("ties", '"docid_desc"'), " needs the documents", argument="doc"
        )
    ids, sizes, order = _layout(query, shape)
    if is_retrieved is not None:
        is_retrieved = None if is_retrieved.all() else _laid_out(is_retrieved, order)
    rows = Documents(
        ids,
        sizes,
        np.full(len(sizes), -1, dtype=np.int64),
        _laid_out(relevance, order),
        _laid_out(score, order),
        is_retrieved,
        None if document is None else _laid_out(document, order),
        _weights(query_weight, ids, sizes, order, shape),
    )
    is_real = None if real is None or real.all() else _laid_out(real, order)
    return rows if is_real is None else rows.select(is_real), order


def _laid_out(array: Array, order: Ints | None) -> Array:
    return (array if order is None else array[order]).ravel()


def _layout(query: Any, shape: tuple[int, ...]) -> tuple[Array | None, Ints, Ints | None]:
    """Read the ids: sorted, with the number of documents of each, and the order that groups these.

    The order is that of rows, or of the rows of a block; None if they are in order already.
    """
    is_dense, n = len(shape) == 2, shape[0]
    if query is None:
        return None, np.full(n, shape[-1], dtype=np.int64), None
    labels = as_ids(query, name="query")
    check_vector(labels, rows=n, name="query")
    # rows of a query are mostly adjacent: look up each run once
    begins = np.ones(n, dtype=bool)
    begins[1:] = labels[1:] != labels[:-1]
    starts = np.flatnonzero(begins)
    ids, codes = distinct(labels[starts], name="query")
    lengths = np.diff(starts, append=n)
    sizes = np.bincount(codes, weights=lengths).astype(np.int64)
    if is_dense:
        if len(ids) < n:
            twice = ids[sizes > 1][0]
            raise InvalidInputError(
                f"must be distinct, got {canonical_label(twice, name='query')!r} twice",
                argument="query",
            )
        sizes = np.full(n, shape[1], dtype=np.int64)
    in_order = bool((codes[1:] > codes[:-1]).all())
    return ids, sizes, None if in_order else grouped(np.repeat(codes, lengths))


def _weights(
    value: Any, ids: Array | None, sizes: Ints, order: Ints | None, shape: tuple[int, ...]
) -> FixedPoint:
    """Read the weights of queries, of which some may be 0; none if all are 1."""
    if value is None:
        return NO_WEIGHTS
    if ids is None and isinstance(value, Mapping):
        raise InvalidInputError(
            "must be an array: the queries have no ids", argument="query_weight"
        )
    if ids is None or isinstance(value, Mapping) or len(shape) == 2:
        return read_weights_of(value, np.arange(len(sizes)) if ids is None else ids, order)
    given = _fixed(value, shape[0])
    if order is not None:
        given = given[order]
    query = np.repeat(np.arange(len(sizes)), sizes)
    first = given[np.cumsum(sizes) - sizes]
    check_same_weights(first[query], given, ids[query], "rows")
    return canonical_weights(first)


def weighted_queries(arrays: Mapping[str, Any]) -> WeightedRows | None:
    """Take out the queries that have weight; None if all have, or the arrays do not fit."""
    weights, query = arrays["query_weight"], arrays["query"]
    if weights is None:
        return None
    labels = None if query is None else as_ids(query, name="query")
    if isinstance(weights, Mapping):
        if labels is None or all(weights.values()):
            return None
        left_out = unweighted(_by_id(weights, labels, "query_weight"))
        index = np.flatnonzero([label not in left_out for label in labels.tolist()])
        rows = len(labels)
    else:
        found = weighted_rows(weights)
        if found is None or (labels is not None and len(labels) != len(weights)):
            return None
        index = found if labels is None else rows_of_units(found, labels)
        rows = len(weights)
    return WeightedRows.of(arrays, index, rows=rows) if len(index) < rows else None


def unweighted(weights: Mapping[Any, Any]) -> set[Any]:
    """Find the queries of weight 0."""
    number = Number, np.bool_
    return {query for query, weight in weights.items() if isinstance(weight, number) and not weight}


def read_weights_of(value: Any, ids: Array, order: Ints | None = None) -> FixedPoint:
    """Read the weights of queries with ids: an array beside them, or a mapping from each of them.

    Parameters
    ----------
    value : array or mapping, optional
        The weights, at least 0.
    ids : array, shape (Q,)
        The queries, sorted.
    order : int array, shape (Q,), optional
        What sorted them.

    Returns
    -------
    FixedPoint
        Without items if all weights are 1; some may be 0.
    """
    if value is None:
        return NO_WEIGHTS
    if isinstance(value, Mapping):
        value, order = _looked_up(value, ids, "query_weight"), None
    given = _fixed(value, len(ids))
    return canonical_weights(given if order is None else given[order])


def _fixed(value: Any, size: int) -> FixedPoint:
    weights = read_weights(value, rows=size, name="query_weight")
    if weights is None:
        return NO_WEIGHTS
    return FixedPoint.of_numbers(weights, name="query_weight")


def _with_documents(
    rows: Documents, document: Array, config: RankingConfig, *, goes_on: bool
) -> Documents:
    """Check the documents; keep their ids for later batches, codes for this one, or nothing."""
    known, codes = distinct(document, name="doc")
    check_documents(rows.queries(), codes, known)
    if not config.keeps_documents:
        return attrs.evolve(rows, document=None)
    return rows if goes_on else attrs.evolve(rows, document=codes)


def _flags(value: Any, shape: tuple[int, ...], name: str) -> Mask:
    array = as_array(value, name=name)
    check_shape_of(array, shape, "relevance", name=name)
    return array if array.dtype == bool else present(as_labels(array, name=name), name=name)


def _relevances(array: Array, real: Mask | None, config: RankingConfig) -> Array:
    """Read relevances; NaN marks a document that has not been judged."""
    if real is None and array.dtype.kind in "bi" and _has_fast_path(array, config):
        return array.view(np.uint8) if array.dtype == bool else array
    relevance = as_scores(array, name="relevance", nan="keep")
    if real is not None:
        relevance = np.where(real, relevance, np.nan)
    return relevance if _has_fast_path(relevance, config) else _checked(relevance, config)


def _has_fast_path(relevance: Array, config: RankingConfig) -> bool:
    """Tell by min and max relevance whether there is nothing to refuse or to change.

    A million integers take 0.4 ms, where `_checked` takes 10.
    """
    if isinstance(config.gain, tuple) or not relevance.size:
        return False
    limit = min(config.max_grade, _MAX_POWER if config.gain == "exp2" else np.inf)
    if relevance.dtype.kind == "f" and limit < np.inf:
        return False
    low, high = relevance.min(), relevance.max()
    if np.isnan(low):
        low, high = np.fmin.reduce(relevance, axis=None), np.fmax.reduce(relevance, axis=None)
    return bool(low >= 0 and high <= min(limit, _MAX_WHOLE))


def _checked(relevance: Floats, config: RankingConfig) -> Floats:
    """Check relevances, and treat negative ones as not judged."""
    _refuse(np.abs(relevance) > _MAX_RELEVANCE, relevance, "must be at most 2**400 in magnitude")
    if isinstance(config.gain, tuple):
        levels = np.array(config.gain)[:, 0]
        unknown = ~np.isin(relevance, levels) & ~np.isnan(relevance)
        if config.negative == "zero":
            unknown &= relevance >= 0.0
            relevance = np.where((relevance < 0.0) & ~np.isin(relevance, levels), np.nan, relevance)
        _refuse(unknown, relevance, "must hold levels that ", Named("gain"), " maps")
    else:
        negative = relevance < 0.0
        if config.negative == "raise":
            _refuse(
                negative, relevance, "must not be negative (see ", Named("negative", '"zero"'), ")"
            )
        relevance = np.where(negative, np.nan, relevance)
    if config.gain == "exp2" and config.uses_gains:
        rule = ("must be whole and at most 62 for ", Named("gain", '"exp2"'))
        _check_whole(relevance, _MAX_POWER, *rule)
    limit = config.max_grade
    if limit < np.inf:
        _check_whole(relevance, limit, f"must be whole and at most {limit:g} for err")
    return relevance + 0.0


def _check_whole(relevance: Floats, limit: float, *rule: object) -> None:
    wrong = (relevance != np.floor(relevance)) & ~np.isnan(relevance)
    _refuse(wrong | (relevance > limit), relevance, *rule)


def _refuse(wrong: Mask, relevance: Floats, *rule: object) -> None:
    refuse_first(wrong, relevance, "relevance", *rule)


def _scores(array: Array, is_retrieved: Mask | None, config: RankingConfig) -> Array:
    scores = as_comparable(array, name="score", nan="keep")
    if config.nan == "raise" and scores.size and np.isnan(scores.min()):
        missing = np.isnan(scores) & (True if is_retrieved is None else is_retrieved)
        if missing.any():
            raise InvalidInputError(
                "must not hold NaN, got NaN",
                argument="score",
                position=first_index(missing),
                remedy=("Pass ", Named("nan", '"last"'), " to rank it below all others."),
            )
    return scores


def _documents(value: Any, shape: tuple[int, ...]) -> Array:
    labels = as_ids(value, name="doc")
    check_shape_of(labels, shape, "relevance", name="doc")
    return labels


def _declared(
    value: Any,
    rows: Documents,
    order: Ints | None,
    shape: tuple[int, ...],
    config: RankingConfig,
    query: Any,
) -> Ints:
    """Read the declared number of relevant documents of each query."""
    finite = [level for level in config.levels if level != JUDGED]
    if len(finite) > 1:
        raise InvalidInputError(
            "is one number, but the measures have several relevance levels",
            argument="num_relevant",
            remedy=("Pass the documents with ", Named("retrieved", "False"), "."),
        )
    if config.uses_gains:
        gains = gains_of(rows.relevance, config)
        if ((gains != 0.0) & (gains != 1.0)).any():
            raise InvalidInputError(
                "is not enough for gains other than 0 and 1",
                argument="num_relevant",
                remedy=("Pass the documents with ", Named("retrieved", "False"), "."),
            )
    if len(shape) == 2:
        if isinstance(value, Mapping):
            raise InvalidInputError(
                "must be an array here, a number for each query", argument="num_relevant"
            )
        numbers = as_labels(value, name="num_relevant")
        check_vector(numbers, rows=len(rows), name="num_relevant")
        _check_numbers(numbers)
        return numbers.copy() if order is None else numbers[order]
    if not isinstance(value, Mapping):
        value = _declared_by_id(value, as_ids(query, name="query"))
    ids = np.zeros(0, dtype=np.int64) if rows.ids is None else rows.ids
    numbers = as_labels(_looked_up(value, ids, "num_relevant"), name="num_relevant")
    _check_numbers(numbers)
    return numbers


def _declared_by_id(value: Any, queries: Array) -> dict[Any, int]:
    """Read a number for each row, the same in all rows of a query, and map each query to it."""
    numbers = as_labels(value, name="num_relevant")
    check_vector(numbers, rows=len(queries), name="num_relevant")
    _check_numbers(numbers)
    ids, codes = distinct(queries, name="query")
    last = np.zeros(len(ids), dtype=np.int64)
    last[codes] = numbers
    differ = last[codes] != numbers
    if differ.any():
        first = int(differ.argmax())
        raise InvalidInputError(
            f"must be one number for a query, got {numbers[first]} and {last[codes[first]]} for "
            f"{canonical_label(queries[first], name='query')!r}",
            argument="num_relevant",
        )
    return dict(zip(ids.tolist(), last.tolist(), strict=True))


def _check_numbers(numbers: Array) -> None:
    if numbers.dtype == object:
        raise InvalidInputError("must hold numbers, got strings", argument="num_relevant")
    wrong = (numbers < 0) | (numbers > MAX_ROWS)
    refuse_first(wrong, numbers, "num_relevant", f"must lie in 0 to {MAX_ROWS}")


def _looked_up(value: Mapping[Any, Any], ids: Array, name: str) -> Array:
    """Look up the number of each query."""
    given, labels = _by_id(value, ids, name), ids.tolist()
    absent = next((label for label in labels if label not in given), None)
    if absent is not None:
        raise InvalidInputError(
            f"must have a number for each query, not for {absent!r}", argument=name
        )
    return np.array([given[label] for label in labels] or np.zeros(0, dtype=np.int64))


def _by_id(value: Mapping[Any, Any], ids: Array, name: str) -> dict[Any, Any]:
    """Convert keys as ids are, which are all texts if one is."""
    as_texts = ids.dtype == object
    found: dict[Any, Any] = {}
    for key, number in value.items():
        label = canonical_value(key, name=name)
        if label is None:
            label = canonical_label(key, name=name)  # refuses it
        found[str(label) if as_texts else label] = number
    return found


def read_ids(value: Any, *, name: str) -> Array:
    """Read distinct ids of queries, and sort them."""
    ids = as_ids(value, name=name)
    if not ids.size:
        return np.zeros(0, dtype=np.int64)
    check_vector(ids, rows=None, name=name)
    known, codes = distinct(ids, name=name)
    if len(known) < len(ids):
        twice = known[np.bincount(codes) > 1][0]
        raise InvalidInputError(
            f"must be distinct, got {canonical_label(twice, name=name)!r} twice", argument=name
        )
    return known


def check_new(
    ids: Array | None, states: Iterable[RankingState], *, name: str, allow_open: bool = False
) -> None:
    """Refuse queries that are known to be counted, or open where that is not allowed."""
    if ids is None:
        return
    for state in states:
        _check_type(ids, state, name=name)
        refused = {"has been counted": state.closed.values}
        if not allow_open:
            refused["is open: close it instead"] = state.ids.values
        for what, known in refused.items():
            twice = among(ids, known)
            if twice.any():
                first = canonical_label(ids[int(twice.argmax())], name=name)
                raise InvalidInputError(f"holds {first!r}, which {what}", argument=name)


def open_indices(ids: Array, state: RankingState, *, name: str) -> Indices:
    """Find the indices of sorted ids among the open queries; others raise."""
    _check_type(ids, state, name=name)
    known = state.ids.values
    is_open = among(ids, known)
    if not is_open.all():
        unknown = canonical_label(ids[int(is_open.argmin())], name=name)
        raise InvalidInputError(f"must be open queries, got {unknown!r}", argument=name)
    return np.searchsorted(known, ids)


def _check_type(ids: Array, state: RankingState, *, name: str) -> None:
    """Refuse ids of another type than those before."""
    for known in (state.ids, state.closed):
        if len(known) and len(ids):
            are_texts = ids.dtype.kind not in "iu"
            check_id_type(were_texts=known.kind == "text", are_texts=are_texts, name=name)
