"""Rank measures that depend on the whole order; tied documents are in one fixed order.

Like `rank_measures`, the formulas use only + - * / and integers, in an order that depends only on
the query; logarithms come from `streameval.exact`.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from streameval.exact.array_types import Floats, Ints
from streameval.exact.log import log
from streameval.metrics.ranks import Levels, Spans, discounts, sums_of
from streameval.metrics.shares import ratios
from streameval.states.queries import counts_of, runs_above


def interpolated_precision(levels: Levels, recall: float, relevant: Ints) -> Floats:
    """Find the highest precision once a share of the relevant documents has been found.

    The share is rounded to whole documents, halves up, as trec_eval 10 does. All documents of a
    level are relevant, or it has only one, so its last rank has its highest precision.

    Parameters
    ----------
    levels : Levels
        The levels with relevant documents, in order.
    recall : float
        The share, in [0, 1].
    relevant : int64 array, shape (Q,)
        The number of relevant documents known.
    """
    share = recall * relevant
    needed = np.floor(share)
    needed += share - needed >= 0.5
    found = levels.before + levels.relevant
    precision = found / (levels.above + levels.size)
    counts = found >= needed[levels.query]
    highest = np.zeros(len(relevant))
    np.maximum.at(highest, levels.query[counts], precision[counts])
    return highest


def eleven_point_precision(levels: Levels, relevant: Ints) -> Floats:
    """Average interpolated precision over recalls of 0, 0.1, ..., 1, from the highest down."""
    total = np.zeros(len(relevant))
    for tenth in range(10, -1, -1):
        total += interpolated_precision(levels, tenth / 10, relevant)
    return total / 11.0


def normalized_gain(spans: Spans, ideal: Spans, n_queries: int) -> Floats:
    """Add up ``gain / log2(2 + cost - gained)`` over the sum of all gains.

    The cost of a rank is the ideal gain there, at least 1.

    Parameters
    ----------
    spans, ideal : Spans
        The documents with a gain, each in a run of its own, and all known gains, highest first.
    n_queries : int
        The number of queries.
    """
    rank, gained = spans.above + 1, _running(spans.query, spans.gain)
    cost = rank.astype(np.float64)
    for gain, above, size in _steps(ideal, spans.query, n_queries):
        cost += np.maximum(gain - 1.0, 0.0) * np.clip(rank - above, 0, size)
    # the sums of gains may pass those of costs by a rounding error
    distance = log(np.maximum(2.0 + (cost - gained), 1.5)) / log(2.0)
    total = sums_of(ideal.query, ideal.gain * ideal.size, n_queries)
    return ratios(sums_of(spans.query, spans.gain / distance, n_queries), total)


def mean_normalized_gain(spans: Spans, ideal: Spans, n_queries: int) -> Floats:
    """Average NDCG over the ranks of documents with a gain, and the last rank of the others.

    The parameters are those of `normalized_gain`.
    """
    rank = spans.above + 1
    gained = _running(spans.query, spans.gain * discounts(rank))
    best = np.zeros(len(rank))
    for gain, above, size in _steps(ideal, spans.query, n_queries):
        last = np.minimum(np.maximum(rank, above), above + size)
        run = np.flatnonzero(last > above)
        one = Spans(np.arange(len(run)), above[run], (last - above)[run], gain[run])
        best[run] += one.discounted(None, len(run))
    total = sums_of(spans.query, ratios(gained, best), n_queries)
    known = counts_of(ideal.query, ideal.size, n_queries)
    found = counts_of(spans.query, np.ones_like(rank), n_queries)
    final = ratios(spans.discounted(None, n_queries), ideal.discounted(None, n_queries))
    return ratios(total + (known - found) * final, known)


def _running(query: Ints, terms: Floats) -> Floats:
    """Add up the terms of each query down to each of them, one by one."""
    total = terms.copy()
    number = runs_above(np.ones_like(query), query)
    order = np.argsort(number, kind="stable")
    ends = np.cumsum(np.bincount(number, minlength=1))
    for start, end in pairwise(ends.tolist()):
        some = order[start:end]
        total[some] += total[some - 1]
    return total


def _steps(ideal: Spans, query: Ints, n_queries: int) -> list[tuple[Floats, Ints, Ints]]:
    """List for documents of some queries the first ideal gain, the second, ..., 0 past the last."""
    number = runs_above(np.ones_like(ideal.query), ideal.query)
    steps = []
    for step in range(int(number.max(initial=-1)) + 1):
        some = np.flatnonzero(number == step)
        gain = np.zeros(n_queries)
        above, size = np.zeros((2, n_queries), dtype=np.int64)
        own = ideal.query[some]
        gain[own], above[own], size[own] = ideal.gain[some], ideal.above[some], ideal.size[some]
        steps.append((gain[query], above[query], size[query]))
    return steps
