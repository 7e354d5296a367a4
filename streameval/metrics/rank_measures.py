"""Rank measures of each query, in closed form over all orders of tied documents.

After McSherry and Najork (Computing information retrieval performance measures efficiently in
the presence of tied scores, 2008). ``g`` is how many documents stand above a tie level, ``m``
how many are in it, ``r`` how many of these are relevant, ``a`` how many relevant ones stand
above. Where nothing is tied ``m`` is 1, and each formula is the plain one.

Only + - * / and integers are used, in an order that the query alone fixes, so a query has one
value whatever batch it came in, on every CPU.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from streameval.metrics.ranks import Levels, powers, sums_of

__all__ = [
    "average_precision",
    "binary_preference",
    "found_at",
    "hit",
    "label_ranking_precision",
    "rank_biased_precision",
    "reciprocal_rank",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_BLOCK = 2**16
_LEAST_WIDTH = 16


def found_at(levels: Levels, cutoff: int | Ints, n_queries: int) -> Floats:
    """Count the relevant documents among the first `cutoff`: ``r t / m`` of each level.

    ``t`` is how many positions of the level are among them. The cutoff may be one number, or
    one a query.
    """
    own = cutoff if isinstance(cutoff, int) else cutoff[levels.place]
    share = levels.relevant * levels.reach(own) / levels.size
    return sums_of(levels.place, share, n_queries)


def average_precision(levels: Levels, cutoff: int | None, n_queries: int) -> Floats:
    """Add up the precision at relevant documents.

    Position j of a level holds a relevant document with probability r/m, and above it stand
    ``a + (j - 1)(r - 1)/(m - 1)`` others then.
    """
    level, step = levels.positions(cutoff)
    return sums_of(levels.place[level], _precisions(levels, level, step), n_queries)


def label_ranking_precision(levels: Levels, n_queries: int) -> Floats:
    """Add up, over relevant documents, ``(a + r) / (g + m)``: a tie counts in full."""
    whole = levels.relevant * (levels.before + levels.relevant) / (levels.above + levels.size)
    terms = np.where(levels.is_tie, whole, 0.0)
    if not levels.is_tie.all():  # documents with scores that are not known, so not tied
        level, step = _apart(levels)
        terms += sums_of(level, _precisions(levels, level, step), len(levels.place))
    return sums_of(levels.place, terms, n_queries)


def _apart(levels: Levels) -> tuple[Ints, Ints]:
    """Give the positions of the levels that are no ties."""
    level, step = levels.positions(None)
    kept = ~levels.is_tie[level]
    return level[kept], step[kept]


def reciprocal_rank(levels: Levels, cutoff: int | None, n_queries: int) -> Floats:
    """Give 1 over the rank of the first relevant document: the sum of ``p_j / (g + j)``."""
    return _first(levels, cutoff, n_queries)[0]


def hit(levels: Levels, cutoff: int, n_queries: int) -> Floats:
    """Give the probability that a relevant document is among the first `cutoff`."""
    return _first(levels, cutoff, n_queries)[1]


def rank_biased_precision(levels: Levels, persistence: float, n_queries: int) -> Floats:
    """Add up ``(1 - p) p**(rank - 1)`` over relevant documents (Moffat and Zobel, 2008)."""
    level, step = levels.positions(None)
    rank = levels.above[level] + step
    weight = (1.0 - persistence) * powers(persistence, int(rank.max(initial=0)))[rank - 1]
    share = levels.relevant / levels.size
    return sums_of(levels.place[level], share[level] * weight, n_queries)


def binary_preference(
    levels: Levels, above: Ints, beside: Ints, relevant: Ints, nonrelevant: Ints
) -> Floats:
    """Add up how few judged documents that are not relevant stand above relevant ones.

    Of a level with x of them above and b beside, a relevant document has x + u above, each
    u of 0..b as likely as any other (Buckley and Voorhees, 2004, as trec_eval computes it).

    Parameters
    ----------
    levels : Levels
        Those with relevant documents.
    above, beside : int64 array, shape (t,)
        The judged documents above each level, and in it, that are not relevant.
    relevant, nonrelevant : int64 array, shape (Q,)
        How many there are of each.
    """
    most = relevant[levels.place]
    room = np.clip(most - above, 0, beside)  # so many values of u count as they are
    full = np.where(above >= most, most * (beside + 1), 0)
    part = (room + 1) * above + room * (room + 1) // 2 + (beside - room) * most
    mean = np.where(above >= most, full, part) / (beside + 1)
    least = np.minimum(most, nonrelevant[levels.place])
    lost = np.divide(mean, least, out=np.zeros(len(mean)), where=least > 0)
    return sums_of(levels.place, levels.relevant * (1.0 - lost), len(relevant))


def _precisions(levels: Levels, level: Ints, step: Ints) -> Floats:
    terms = ((levels.before + 1) / (levels.above + 1))[level]  # of a level of one document
    tied = np.flatnonzero((levels.size > 1)[level])
    if len(tied):
        terms[tied] = _tied_precisions(levels, level[tied], step[tied])
    return terms


def _tied_precisions(levels: Levels, level: Ints, step: Ints) -> Floats:
    share = levels.relevant / levels.size
    others = np.maximum(levels.size - 1, 1)
    slope = (levels.relevant - 1) / others
    rank = levels.above[level] + step
    expected = (levels.before + 1)[level] + (step - 1) * slope[level]
    return share[level] * expected / rank


def _first(levels: Levels, cutoff: int | None, n_queries: int) -> tuple[Floats, Floats]:
    """Give the mean of 1 / rank of the first relevant document, and the chance of one.

    If the first j documents of its level are not relevant, which has probability ``s_j``, the
    next one is with probability ``r / (m - j)``; ``s_(j+1) = s_j (m - r - j) / (m - j)``.
    """
    first = levels.first()
    is_sure = first.size == first.relevant  # the first position holds one
    reach = np.minimum(first.reach(cutoff), first.size - first.relevant + 1)
    value = np.where(is_sure & (reach > 0), 1.0 / (first.above + 1), 0.0)
    chance = np.where(is_sure & (reach > 0), 1.0, 0.0)
    open_ones = np.flatnonzero(~is_sure & (reach > 0))
    if len(open_ones):
        parts = first.above[open_ones], first.size[open_ones], first.relevant[open_ones]
        value[open_ones], chance[open_ones] = _draws(*parts, reach[open_ones])
    results = np.zeros((2, n_queries))
    results[:, first.place] = value, chance
    return results[0], results[1]


def _draws(above: Ints, size: Ints, relevant: Ints, reach: Ints) -> tuple[Floats, Floats]:
    """Draw documents of tie levels one by one, all levels at once, in blocks of draws."""
    value, missed = np.zeros(len(above)), np.ones(len(above))
    start = 0
    while True:
        active = np.flatnonzero(reach > start)
        if not len(active):
            return value, 1.0 - missed
        width = min(max(_BLOCK // len(active), _LEAST_WIDTH), int(reach.max()) - start)
        step = np.arange(start, start + width)[None, :]
        m, r, t, g = (column[active, None] for column in (size, relevant, reach, above))
        left = np.maximum(m - step, 1)
        is_drawn = step < t
        stay = np.where(is_drawn, np.maximum(m - r - step, 0) / left, 1.0)
        before = np.multiply.accumulate(np.column_stack([missed[active], stay]), axis=1)
        terms = np.where(is_drawn, before[:, :-1] * (r / left) / (g + step + 1), 0.0)
        value[active] = np.add.accumulate(np.column_stack([value[active], terms]), axis=1)[:, -1]
        missed[active] = before[:, -1]
        start += width
