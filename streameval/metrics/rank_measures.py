"""Rank measures of each query, in closed form over all orders of tied documents.

After McSherry and Najork (Computing information retrieval performance measures efficiently in
the presence of tied scores, 2008). ``g`` is the number of documents above a tie level, ``m`` the
number in it, ``r`` the number of these that are relevant, and ``a`` the number of relevant ones
above. Without ties ``m`` is 1, and each formula is the usual one.

The formulas use only + - * / and integers, in an order that depends only on the query, so a query
has the same value in any batch and on every CPU.
"""

from __future__ import annotations

import numpy as np

from streameval.exact.array_types import Floats, Ints
from streameval.metrics.ranks import Levels, own_rank, position_sums, powers, sums_of
from streameval.metrics.shares import ratios
from streameval.metrics.smooth_sums import chance_of_none, geometric_sums, smooth_sums

_BLOCK = 2**16
_MIN_WIDTH = 16
_DRAWN = 2**10


def found_at(levels: Levels, cutoff: int | Ints, n_queries: int) -> Floats:
    """Count the relevant documents among the first `cutoff`: ``r t / m`` of each level.

    ``t`` is the number of positions of the level among them. The cutoff may be one number, or
    one per query.
    """
    own = cutoff if isinstance(cutoff, int) else cutoff[levels.query]
    share = levels.relevant * levels.reach(own) / levels.size
    return sums_of(levels.query, share, n_queries)


def average_precision(levels: Levels, cutoff: int | None, n_queries: int) -> Floats:
    """Add up the precision at relevant documents.

    Position j of a level holds a relevant document with probability r/m, and then the expected
    number of others above it is ``a + (j - 1)(r - 1)/(m - 1)``.
    """
    return _precision_sums(levels, levels.query, levels.reach(cutoff), n_queries)


def label_ranking_precision(levels: Levels, n_queries: int) -> Floats:
    """Add up, over relevant documents, ``(a + r) / (g + m)``: a tie counts in full."""
    whole = levels.relevant * (levels.before + levels.relevant) / (levels.above + levels.size)
    terms = np.where(levels.is_tie, whole, 0.0)
    if not levels.is_tie.all():  # documents with unknown scores are not tied
        reach = np.where(levels.is_tie, 0, levels.size)
        terms += _precision_sums(levels, np.arange(len(terms)), reach, len(terms))
    return sums_of(levels.query, terms, n_queries)


def misordered(levels: Levels, n_queries: int, *, ties_in_full: bool) -> Floats:
    """Count the pairs of a relevant document and another one ranked above it.

    On average, half of the others in its level are above it, or all if ties count in full.
    """
    share = np.where(levels.is_tie & ties_in_full, 1.0, 0.5)
    above = levels.above - levels.before + share * (levels.size - levels.relevant)
    return sums_of(levels.query, np.multiply(levels.relevant, above, dtype=np.float64), n_queries)


def lowest_rank(levels: Levels, n_queries: int) -> Floats:
    """Find the last rank of the level of the last relevant document.

    If its rank in the level is unknown, this is the mean over all orders:
    ``g + r (m + 1)/(r + 1)``.
    """
    unknown = levels.relevant * (levels.size + 1) / (levels.relevant + 1)
    ranks = levels.above + np.where(levels.is_tie, levels.size, unknown)
    lowest = np.zeros(n_queries)
    np.maximum.at(lowest, levels.query, ranks)
    return lowest


def reciprocal_rank(levels: Levels, cutoff: int | None, n_queries: int) -> Floats:
    """Compute 1 over the rank of the first relevant document: the sum of ``p_j / (g + j)``."""
    return _first(levels, cutoff, n_queries)[0]


def hit(levels: Levels, cutoff: int, n_queries: int) -> Floats:
    """Compute the probability that a relevant document is among the first `cutoff`."""
    return _first(levels, cutoff, n_queries)[1]


def all_hit(levels: Levels, cutoff: int, n_queries: int) -> Floats:
    """Compute the probability that the first `cutoff` documents are all relevant.

    All above the level of the last of them must be, and the ``t`` that are drawn from it are with
    probability ``C(r, t) / C(m, t)``.
    """
    drawn = levels.reach(cutoff)
    ends = (levels.above + drawn == cutoff) & (levels.before == levels.above)
    kept = np.flatnonzero(ends & (drawn > 0) & (drawn <= levels.relevant))
    last, drawn = levels.select(kept), drawn[kept]
    chance, others = np.ones(len(kept)), last.size - last.relevant
    tied = np.flatnonzero(others)
    if len(tied):
        chance[tied] = _drawn(*(a[tied] for a in (last.above, last.size, others, drawn)))[1]
    return sums_of(last.query, chance, n_queries)


def rank_biased_precision(levels: Levels, persistence: float, n_queries: int) -> Floats:
    """Add up ``(1 - p) p**(rank - 1)`` over relevant documents (Moffat and Zobel, 2008)."""
    share, above = levels.relevant / levels.size, levels.above

    def terms(level: Ints, step: Ints) -> Floats:
        weight = (1.0 - persistence) * powers(persistence, above[level] + step - 1)
        return share[level] * weight

    def rest(level: Ints, first: Ints, last: Ints) -> Floats:
        weight = (1.0 - persistence) * powers(persistence, first - 1)
        return share[level] * weight * geometric_sums(persistence, last - first + 1)

    return position_sums(levels.query, above, levels.size, terms, rest, n_queries)


def binary_preference(
    levels: Levels, above: Ints, beside: Ints, relevant: Ints, nonrelevant: Ints
) -> Floats:
    """Add up, over relevant documents, 1 minus the share of nonrelevant judged ones above them.

    In a level with x of these above and b beside, a relevant document has x + u above, with
    each u in 0..b equally likely (Buckley and Voorhees, 2004, as trec_eval computes it).

    Parameters
    ----------
    levels : Levels
        The levels with relevant documents.
    above, beside : int64 array, shape (t,)
        The numbers of nonrelevant judged documents above each level, and in it.
    relevant, nonrelevant : int64 array, shape (Q,)
        The number of each.
    """
    limit = relevant[levels.query]
    unclipped = np.clip(limit - above, 0, beside)  # the values of u below the limit
    full = np.where(above >= limit, limit * (beside + 1), 0)
    part = (unclipped + 1) * above + unclipped * (unclipped + 1) // 2 + (beside - unclipped) * limit
    mean = np.where(above >= limit, full, part) / (beside + 1)
    divisor = np.minimum(limit, nonrelevant[levels.query])
    lost = ratios(mean, divisor)
    return sums_of(levels.query, levels.relevant * (1.0 - lost), len(relevant))


def _precision_sums(levels: Levels, group: Ints, reach: Ints, size: int) -> Floats:
    """Add up by group the precision at relevant documents, over `reach` positions of each level."""

    def terms(level: Ints, step: Ints) -> Floats:
        return _precisions(levels, level, step)

    def rest(level: Ints, first: Ints, last: Ints) -> Floats:
        above = levels.above[level]

        def term(rank: Floats, which: Ints) -> Floats:
            return _tied_precisions(levels, level[which], rank - above[which])

        sums = smooth_sums(term, first, last, own_rank)
        is_full = (levels.relevant == levels.size) & (levels.before == levels.above)
        return np.where(is_full[level], last - first + 1, sums)  # all relevant so far

    return position_sums(group, levels.above, reach, terms, rest, size)


def _precisions(levels: Levels, level: Ints, step: Ints) -> Floats:
    terms = ((levels.before + 1) / (levels.above + 1))[level]  # for a level with one document
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
    """Compute the mean of 1 / rank of the first relevant document, and the chance of one.

    With probability ``s_j`` the first j documents of its level are not relevant; then the next
    one is with probability ``r / (m - j)``, and ``s_(j+1) = s_j (m - r - j) / (m - j)``.
    """
    first = levels.first()
    is_sure = first.size == first.relevant  # the first position holds one
    reach = np.minimum(first.reach(cutoff), first.size - first.relevant + 1)
    value = np.where(is_sure & (reach > 0), 1.0 / (first.above + 1), 0.0)
    chance = np.where(is_sure & (reach > 0), 1.0, 0.0)
    open_ones = np.flatnonzero(~is_sure & (reach > 0))
    if len(open_ones):
        parts = first.above[open_ones], first.size[open_ones], first.relevant[open_ones]
        value[open_ones], missed = _drawn(*parts, reach[open_ones])
        chance[open_ones] = 1.0 - missed
    results = np.zeros((2, n_queries))
    results[:, first.query] = value, chance
    return results[0], results[1]


def _drawn(above: Ints, size: Ints, relevant: Ints, reach: Ints) -> tuple[Floats, Floats]:
    """Draw documents of tie levels; those past the first thousand in closed form.

    Returns the mean of 1 / rank of the first relevant one, and the chance of none.
    """
    value, missed = _draws(above, size, relevant, np.minimum(reach, _DRAWN))
    # the rest after 60 times the mean wait is less than a rounding error
    last = np.minimum(reach, 60 * size // relevant)
    long = np.flatnonzero(last > _DRAWN)
    if len(long):
        g, m, r = (column[long].astype(np.float64) for column in (above, size, relevant))
        value[long] += _smooth_draws(g, m, r, last[long])
    past = np.flatnonzero(reach > _DRAWN)
    columns = (column[past].astype(np.float64) for column in (reach, size, relevant))
    missed[past] = chance_of_none(*columns)
    return value, missed


def _smooth_draws(above: Floats, size: Floats, relevant: Floats, last: Ints) -> Floats:
    """Add up chance over rank of draws after the first thousand."""

    def term(draw: Floats, which: Ints) -> Floats:
        g, m, r = above[which], size[which], relevant[which]
        # One relevant document is drawn now, and no other one before it; a single one has no
        # others, so nothing is divided by zero.
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
            return value, missed
        width = min(max(_BLOCK // len(active), _MIN_WIDTH), int(reach.max()) - start)
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
