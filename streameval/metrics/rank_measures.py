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

from streameval.metrics.ranks import Levels, own_rank, position_sums, powers, sums_of
from streameval.metrics.smooth_sums import chance_of_none, geometric_sums, smooth_sums

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
_DRAWN = 2**10


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
    return _precision_sums(levels, levels.place, levels.reach(cutoff), n_queries)


def label_ranking_precision(levels: Levels, n_queries: int) -> Floats:
    """Add up, over relevant documents, ``(a + r) / (g + m)``: a tie counts in full."""
    whole = levels.relevant * (levels.before + levels.relevant) / (levels.above + levels.size)
    terms = np.where(levels.is_tie, whole, 0.0)
    if not levels.is_tie.all():  # documents with scores that are not known, so not tied
        reach = np.where(levels.is_tie, 0, levels.size)
        terms += _precision_sums(levels, np.arange(len(terms)), reach, len(terms))
    return sums_of(levels.place, terms, n_queries)


def reciprocal_rank(levels: Levels, cutoff: int | None, n_queries: int) -> Floats:
    """Give 1 over the rank of the first relevant document: the sum of ``p_j / (g + j)``."""
    return _first(levels, cutoff, n_queries)[0]


def hit(levels: Levels, cutoff: int, n_queries: int) -> Floats:
    """Give the probability that a relevant document is among the first `cutoff`."""
    return _first(levels, cutoff, n_queries)[1]


def rank_biased_precision(levels: Levels, persistence: float, n_queries: int) -> Floats:
    """Add up ``(1 - p) p**(rank - 1)`` over relevant documents (Moffat and Zobel, 2008)."""
    share, above = levels.relevant / levels.size, levels.above

    def terms(level: Ints, step: Ints) -> Floats:
        weight = (1.0 - persistence) * powers(persistence, above[level] + step - 1)
        return share[level] * weight

    def rest(level: Ints, first: Ints, last: Ints) -> Floats:
        weight = (1.0 - persistence) * powers(persistence, first - 1)
        return share[level] * weight * geometric_sums(persistence, last - first + 1)

    return position_sums(levels.place, above, levels.size, terms, rest, n_queries)


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


def _precision_sums(levels: Levels, place: Ints, reach: Ints, size: int) -> Floats:
    """Add up by place the precision at relevant documents, at so many positions of each level."""

    def terms(level: Ints, step: Ints) -> Floats:
        return _precisions(levels, level, step)

    def rest(level: Ints, first: Ints, last: Ints) -> Floats:
        above = levels.above[level]

        def term(rank: Floats, which: Ints) -> Floats:
            return _tied_precisions(levels, level[which], rank - above[which])

        sums = smooth_sums(term, first, last, own_rank)
        is_full = (levels.relevant == levels.size) & (levels.before == levels.above)
        return np.where(is_full[level], last - first + 1, sums)  # down to there all are relevant

    return position_sums(place, levels.above, reach, terms, rest, size)


def _precisions(levels: Levels, level: Ints, step: Ints) -> Floats:
    terms = ((levels.before + 1) / (levels.above + 1))[level]  # of a level of one document
    tied = np.flatnonzero((levels.size > 1)[level])
    if len(tied):
        terms[tied] = _tied_precisions(levels, level[tied], step[tied])
    return terms


def _tied_precisions(levels: Levels, level: Ints, step: Ints | Floats) -> Floats:
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
        value[open_ones], chance[open_ones] = _drawn(*parts, reach[open_ones])
    results = np.zeros((2, n_queries))
    results[:, first.place] = value, chance
    return results[0], results[1]


def _drawn(above: Ints, size: Ints, relevant: Ints, reach: Ints) -> tuple[Floats, Floats]:
    """Draw documents of tie levels; those past the first thousand in closed form."""
    value, chance = _draws(above, size, relevant, np.minimum(reach, _DRAWN))
    # What is left after 60 times the mean wait counts for less than a rounding error.
    last = np.minimum(reach, 60 * size // relevant)
    long = np.flatnonzero(last > _DRAWN)
    if len(long):
        g, m, r = (column[long].astype(np.float64) for column in (above, size, relevant))
        value[long] += _smooth_draws(g, m, r, last[long])
    past = np.flatnonzero(reach > _DRAWN)
    columns = (column[past].astype(np.float64) for column in (reach, size, relevant))
    chance[past] = 1.0 - chance_of_none(*columns)
    return value, chance


def _smooth_draws(above: Floats, size: Floats, relevant: Floats, last: Ints) -> Floats:
    """Add up chance over rank of draws after the first thousand."""

    def term(draw: Floats, which: Ints) -> Floats:
        g, m, r = above[which], size[which], relevant[which]
        # One relevant document is drawn now, and the others are not among those before it; the
        # others of one are none, so that nothing is divided by zero.
        return r / m * chance_of_none(draw - 1.0, m - 1.0, r - 1.0) / (g + draw)

    def scale(draw: Floats, which: Ints) -> Floats:
        return np.minimum(above[which] + draw, 2.0 * size[which] / relevant[which])

    return smooth_sums(term, np.full(len(last), _DRAWN + 1), last, scale)


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
