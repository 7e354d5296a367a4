"""From a run and its judgements to rows of documents."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from itertools import chain
from typing import Any

import numpy as np

from streameval.errors import InvalidInputError

_BLOCK = 2**18  # rows: so many are worth a sort
_MAX_GRADE = 10
_LOOKED_AT = 2**12  # rows


def judged_rows(
    run: Any, qrels: Any, *, max_documents: int | None = None, left_out: Container[Any] = ()
) -> Iterator[dict[str, Any]]:
    """Yield blocks of rows of the queries that are in both, as `read_rows` takes them.

    Some queries are left out, whatever their documents are.

    Judged documents that the run lacks are rows that were not retrieved. Of each query only the
    first `max_documents` count as retrieved, if that is given: by falling score, then by falling
    document, as in trec_eval.
    """
    _check(run, "run", "scores")
    _check(qrels, "qrels", "relevances")
    block: list[tuple[Any, list[Any], list[float], list[Any]]] = []
    size = 0
    for query in run:
        if query in left_out:
            continue
        judged = _documents(qrels, query, "qrels") if query in qrels else {}
        if not judged:
            continue
        scores = _first(_documents(run, query, "run"), max_documents)
        documents = [*scores, *(document for document in judged if document not in scores)]
        relevances = [judged.get(document, np.nan) for document in documents]
        block.append((query, documents, relevances, list(scores.values())))
        size += len(documents)
        if size >= _BLOCK:
            yield _columns(block)
            block, size = [], 0
    if size:
        yield _columns(block)


def check_order(run: Any, qrels: Any) -> None:
    """Refuse judgements passed as a run, and a run passed as judgements."""
    if _holds_only(run, "relevance"):
        raise InvalidInputError(
            "must hold scores, got judgements",
            argument="run",
            remedy="Pass the run first, then the judgements.",
        )
    if _holds_only(qrels, "score"):
        raise InvalidInputError(
            "must hold judgements, got a run",
            argument="qrels",
            remedy="Pass the run first, then the judgements.",
        )


def _holds_only(value: Any, name: str) -> bool:
    """Tell whether a mapping has one of the columns of `streameval.io`, and not the other."""
    held = [one for one in ("relevance", "score") if hasattr(value, one)]
    return held == [name]


def seem_exchanged(relevance: Any, score: Any, retrieved: Any = None) -> bool:
    """Tell whether the first rows look like judgements as scores, and scores as judgements.

    Most judgements are fractions, and all scores whole numbers of 0 to 10. A real run with such
    scores has judgements in whole grades nearly always.
    """
    first = slice(_LOOKED_AT)
    judged = np.array(relevance[first], dtype=np.float64)
    scores = np.array(score[first], dtype=np.float64)
    if retrieved is not None:
        scores = scores[np.array(retrieved[first], dtype=bool)]
    judged = judged[~np.isnan(judged)]
    are_grades = (scores >= 0) & (scores <= _MAX_GRADE) & (scores == np.floor(scores))
    n_fractions = np.count_nonzero(judged != np.floor(judged))
    return bool(scores.size and are_grades.all() and 2 * n_fractions > judged.size)


def missing_queries(run: Mapping[Any, Any], qrels: Mapping[Any, Any]) -> list[Any]:
    """List the judged queries that the run lacks."""
    return [query for query in qrels if query not in run and qrels[query]]


def _first(scores: Mapping[Any, Any], n: int | None) -> Mapping[Any, Any]:
    if n is None or len(scores) <= n:
        return scores
    ranked = sorted(scores, key=lambda document: (scores[document], document), reverse=True)
    return {document: scores[document] for document in ranked[:n]}


def _columns(block: list[tuple[Any, list[Any], list[float], list[Any]]]) -> dict[str, Any]:
    sizes = [len(documents) for _, documents, _, _ in block]
    queries = [query for query, *_ in block]
    n_scores = [len(scores) for *_, scores in block]
    padded = (
        [*scores, *([0.0] * (size - len(scores)))]
        for size, (*_, scores) in zip(sizes, block, strict=True)
    )
    retrieved = ([True] * n + [False] * (size - n) for n, size in zip(n_scores, sizes, strict=True))
    return {
        "relevance": list(chain.from_iterable(relevances for _, _, relevances, _ in block)),
        "score": list(chain.from_iterable(padded)),
        "query": list(chain.from_iterable([q] * n for q, n in zip(queries, sizes, strict=True))),
        "doc": list(chain.from_iterable(documents for _, documents, _, _ in block)),
        "retrieved": list(chain.from_iterable(retrieved)),
    }


def _check(value: Any, name: str, what: str) -> None:
    if not isinstance(value, Mapping):
        raise InvalidInputError(
            f"must map queries to documents with {what}, got {type(value).__name__}", argument=name
        )


def _documents(value: Mapping[Any, Any], query: Any, name: str) -> Mapping[Any, Any]:
    documents = value[query]
    if not isinstance(documents, Mapping):
        raise InvalidInputError(
            f"must map each query to a mapping of documents, got {type(documents).__name__} for "
            f"{query!r}",
            argument=name,
        )
    return documents
