"""The measures of `RankingAccumulator` for many queries at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import attrs
import numpy as np

from streameval.configs.measures import Measure
from streameval.configs.ranking import JUDGED, RankingConfig, gains_of
from streameval.exact.array_types import Array, Floats, Ints, Mask
from streameval.exact.log import log
from streameval.exact.row_order import blocks
from streameval.exact.score_keys import keys_of, scores_of
from streameval.metrics import rank_measures as formulas
from streameval.metrics import rank_orders as orders
from streameval.metrics.bounded import ROUNDING
from streameval.metrics.cascades import expected_reciprocal_rank
from streameval.metrics.ranks import Levels, Spans, TieOrder, Ties
from streameval.metrics.shares import ratios
from streameval.metrics.smooth_sums import LAID_OUT
from streameval.states.queries import Gained, Queries, counts_of, runs_above
from streameval.states.ranking import QueryValues

_MIN_PRECISION = 1e-5  # trec_eval raises smaller average precisions to this value
_ABSOLUTE = 2.0**-50
MIN_LOG = float(log(_MIN_PRECISION))
"""The logarithm of the min average precision that enters a geometric mean."""
_BLOCK = 2**20


def evaluate(queries: Queries, config: RankingConfig) -> QueryValues:
    """Compute every measure of every query.

    If rows have been dropped, a value is the mean over all ways to rank them, and its bounds are
    the min and max over these.
    """
    return QueryValues.concatenate([_evaluate(part, config) for part in _blocks(queries, config)])


def _blocks(queries: Queries, config: RankingConfig) -> list[Queries]:
    """Cut queries into blocks of about a million positions.

    For complete queries, blocks are an eighth of that size, which mostly stays in the cache.
    """
    n, ranked, gained = len(queries), queries.ranked, queries.gained
    rows, size = ranked.count, _BLOCK
    if ranked.size is not None:
        rows, size = ranked.size, max(_BLOCK // 8, 1)
    of_rows = ranked.per_query(n, np.minimum(rows, LAID_OUT))
    of_gains = gained.per_query(n, np.minimum(gained.count, LAID_OUT))
    sizes = np.maximum(of_rows, np.maximum(of_gains, np.minimum(queries.declared, LAID_OUT)))
    sizes += np.minimum(queries.rows, 4 * config.stop_ranks)
    parts = blocks(sizes, size)
    if len(parts) == 1:
        return [queries]
    return [queries.between(part.start, part.stop) for part in parts]


def _evaluate(queries: Queries, config: RankingConfig) -> QueryValues:
    sheet = _Sheet(queries, config)
    is_empty = np.array([sheet.is_empty(item) for item in config.parsed])
    own = config.levels.index(config.relevance_level)
    value = sheet.values("random")
    low = high = value
    if sheet.has_outside:
        low, high = _outward(sheet, sheet.values("worst"), sheet.values("best"))
        value = np.clip(value, low, high)
    return QueryValues(low, value, high, is_empty, sheet.known(own) == 0)


def _outward(sheet: _Sheet, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Move bounds outward by more than their rounding error, where rows have been dropped."""
    for row, item in enumerate(sheet.config.parsed):
        is_open = sheet.left_out(item)
        if item.family == "mrr":  # a single term has the same bits either way
            is_open &= low[row] != high[row]
        some = np.flatnonzero(is_open)
        min_value = MIN_LOG if item.is_geometric else item.min_value
        max_value = 0.0 if item.is_geometric else item.max_value
        ends = low[row, some], high[row, some]
        low[row, some] = np.maximum(ends[0] - np.abs(ends[0]) * ROUNDING - _ABSOLUTE, min_value)
        high[row, some] = np.minimum(ends[1] + np.abs(ends[1]) * ROUNDING + _ABSOLUTE, max_value)
    return low, high


@attrs.frozen(eq=False, slots=False)
class _Sheet:
    """Intermediate results that the measures of a block of queries share."""

    queries: Queries
    config: RankingConfig
    _found: dict[tuple[int, bool, str, TieOrder], Levels] = attrs.field(factory=dict, init=False)

    def values(self, arrangement: TieOrder) -> Floats:
        """Compute each measure, shape (M, Q), with the dropped rows arranged in one way."""
        rows = [self._value(item, arrangement) for item in self.config.parsed]
        return np.array(rows).reshape(len(rows), len(self.queries))

    @cached_property
    def has_outside(self) -> bool:
        """Whether rows have been dropped that a measure uses."""
        if self.queries.ranked.above is not None:
            return False
        is_asked = any(item.is_uncut for item in self.config.parsed)
        return is_asked and bool((self.queries.n_kept < self.queries.rows).any())

    def left_out(self, item: Measure) -> Mask:
        """Find the queries for which rows have been dropped that the measure uses."""
        n = len(self.queries)
        if not item.is_uncut:
            return np.zeros(n, dtype=bool)
        if item.uses_gains:
            return np.asarray(self._outside.per_query(n) > 0)
        level = self._level(item)
        inside = self.queries.ranked.per_query(n, self._reaching(level))
        return np.asarray(inside < self.queries.found[:, level])

    def known(self, level: int) -> Ints:
        """Count the known relevant documents at a relevance level."""
        declared = self.queries.declared
        return np.where(declared >= 0, declared, self.queries.relevant[:, level])

    def is_empty(self, item: Measure) -> Mask:
        """Find the queries in which a measure has nothing to find."""
        if item.row.always_counts:
            return np.zeros(len(self.queries), dtype=bool)
        if item.uses_gains:
            declared, gained = (
                self.queries.declared,
                self.queries.gained.per_query(len(self.queries)),
            )
            return np.asarray(np.where(declared >= 0, declared, gained) == 0)
        if item.family == "fall_out":
            return np.asarray(self._others(item) == 0)
        level = self._level(item)
        is_empty = self.known(level) == 0
        if item.family == "query_auc":
            is_empty = is_empty | (self.queries.rows == self.queries.found[:, level])
        return np.asarray(is_empty)

    def _others(self, item: Measure) -> Ints:
        """Count the documents that are not relevant, retrieved or judged."""
        level, judged = self._level(item), self.config.levels.index(JUDGED)
        left = self.queries.relevant - self.queries.found
        retrieved = self.queries.rows - self.queries.found[:, level]
        return np.asarray(retrieved + left[:, judged] - left[:, level])

    def _level(self, item: Measure) -> int:
        return self.config.levels.index(self.config.level_of(item))

    def _value(self, item: Measure, arrangement: TieOrder) -> Floats:
        if item.row.of_set:
            value = self._of_set(item)
        elif item.row.ties:
            value = self._of_order(item, arrangement)
        elif item.uses_gains:
            value = self._of_gains(item, arrangement)
        elif item.family == "err":
            value = self._err(item)
        elif item.family in ("bpref", "gm_bpref"):
            value = self._bpref(item, arrangement)
        else:
            value = self._of_relevant(item, arrangement)
        return np.minimum(value, item.max_value)

    def _of_relevant(self, item: Measure, arrangement: TieOrder) -> Floats:
        """Compute a measure of the ranks of the relevant documents."""
        levels, relevant = self._levels(item, arrangement), self.known(self._level(item))
        if item.family in _OF_PAIRS:
            return self._of_pairs(item, levels, relevant)
        if item.family == "adaptive_p":
            first = np.minimum(self.queries.rows, item.ranks)
            return ratios(formulas.found_at(levels, item.ranks, len(first)), first)
        if item.row.has_level:
            return _FORMULAS[item.family](levels, item, relevant, self.config.ap_norm)
        rows = self.queries.rows
        if item.family == "rbp_resid":
            judged = formulas.rank_biased_precision(levels, item.number, len(rows))
            is_judged = self.queries.found[:, self._level(item)] == rows
            return np.where(is_judged, 0.0, 1.0 - judged)
        first = np.minimum(rows, item.ranks)
        judged = formulas.found_at(levels, item.ranks, len(first))
        return ratios(judged, first) if item.family == "judged" else (first - judged) / item.ranks

    def _of_pairs(self, item: Measure, levels: Levels, relevant: Ints) -> Floats:
        """Compute a measure of relevant documents and others; those not retrieved rank last."""
        rows, found = self.queries.rows, self.queries.found[:, self._level(item)]
        n, others, left = len(rows), rows - found, relevant - found
        if item.family == "fall_out":
            first = np.minimum(rows, item.ranks)
            return ratios(first - formulas.found_at(levels, item.ranks, n), self._others(item))
        if item.family == "coverage_error":
            return np.where(left > 0, rows + left, formulas.lowest_rank(levels, n))
        wrong = formulas.misordered(levels, n, ties_in_full=item.row.whole_ties) + left * others
        share = ratios(wrong, relevant * others)
        return 1.0 - share if item.family == "query_auc" else share

    def _of_set(self, item: Measure) -> Floats:
        """Compute a measure of the retrieved documents in any order."""
        level, rows = self._level(item), self.queries.rows
        found, known = self.queries.found[:, level], self.known(level)
        if item.family == "num_nonrel_judged_ret":
            judged = self.queries.found[:, self.config.levels.index(JUDGED)]
            return (judged - found).astype(np.float64)
        if item.family == "set_f":
            return _set_f(found, rows, known, item.number)
        return np.asarray(_OF_SETS[item.family](found, rows, known), dtype=np.float64)

    def _of_order(self, item: Measure, arrangement: TieOrder) -> Floats:
        """Compute a measure that depends on the whole order.

        There is no closed form for dropped rows, so the value is the middle of the possible range.
        """
        if item.family in ("iprec", "11pt_avg"):
            if arrangement == "random":
                ends = (self._of_order(item, "worst"), self._of_order(item, "best"))
                return 0.5 * (ends[0] + ends[1]) if self.has_outside else ends[0]
            levels, relevant = self._levels(item, arrangement), self.known(self._level(item))
            if item.family == "iprec":
                return orders.interpolated_precision(levels, item.number, relevant)
            return orders.eleven_point_precision(levels, relevant)
        value = _OF_ORDER[item.family](self._spans, self._ideal, len(self.queries))
        if self.has_outside:
            value[self.left_out(item)] = {"worst": 0.0, "random": 0.5, "best": 1.0}[arrangement]
        return value

    def _of_gains(self, item: Measure, arrangement: TieOrder) -> Floats:
        n = len(self.queries)
        spans = self._spans
        if item.cutoff is None and self.has_outside:
            spans = spans.joined(self._outside_spans(arrangement))
        if item.family == "rndcg":
            return self._at_falls(spans)
        gain = spans.discounted(item.cutoff, n)
        return (
            gain if item.family == "dcg" else ratios(gain, self._ideal.discounted(item.cutoff, n))
        )

    def _at_falls(self, spans: Spans) -> Floats:
        """Average NDCG over the ranks at which the ideal gain falls, and the last rank."""
        ideal, n = self._ideal, len(self.queries)
        ends = ideal.above + ideal.size
        number = runs_above(np.ones_like(ends), ideal.query)
        total, count = np.zeros(n), counts_of(ideal.query, np.ones_like(ends), n)
        last = counts_of(ideal.query, ideal.size, n)
        for step in range(int(number.max(initial=-1)) + 1):
            some = np.flatnonzero(number == step)
            cutoff = np.zeros(n, dtype=np.int64)
            cutoff[ideal.query[some]] = ends[some]
            total += ratios(spans.discounted(cutoff, n), ideal.discounted(cutoff, n))
        goes_on = (self.queries.rows > last + 1) & (count > 0)
        total += np.where(
            goes_on, ratios(spans.discounted(None, n), ideal.discounted(None, n)), 0.0
        )
        return ratios(total, count + goes_on)

    def _err(self, item: Measure) -> Floats:
        grade = self.queries.ranked.relevance
        is_graded = grade >= 1.0
        power = np.ldexp(1.0, np.where(is_graded, grade, 0.0).astype(np.int64)) - 1.0
        stops = np.where(is_graded, power * 2.0**-item.number, 0.0)
        counts, cutoff = self.queries.ranked.count, item.ranks
        return expected_reciprocal_rank(
            self._ties, stops, counts, self.config.ties, cutoff, len(self.queries)
        )

    def _bpref(self, item: Measure, arrangement: TieOrder) -> Floats:
        n, level, judged = len(self.queries), self._level(item), self.config.levels.index(JUDGED)
        ties = self._ties
        relevant = ties.count(self._reaching(level))
        others = ties.count(self._reaching(judged)) - relevant
        above, beside = runs_above(others, ties.query)[relevant > 0], others[relevant > 0]
        if self.config.ties in ("pessimistic", "optimistic"):
            above = above + beside if self.config.ties == "pessimistic" else above
            beside = np.zeros_like(beside)
        levels = Levels.of(ties, relevant)
        if self.has_outside:
            outside = levels.outside(self.queries, self.queries.found[:, level], arrangement)
            inside = counts_of(ties.query, others, n)
            left = self.queries.found[:, judged] - self.queries.found[:, level] - inside
            before = inside + left if arrangement == "worst" else inside
            among = left if arrangement == "random" else np.zeros_like(left)
            above = np.concatenate([above, before[outside.query]])
            beside = np.concatenate([beside, among[outside.query]])
            levels = levels.joined(outside, in_order=False)
        known = self.known(level)
        nonrelevant = self.queries.relevant[:, judged] - self.queries.relevant[:, level]
        value = ratios(formulas.binary_preference(levels, above, beside, known, nonrelevant), known)
        return _log_of_share(value) if item.is_geometric else value

    def _levels(self, item: Measure, arrangement: TieOrder) -> Levels:
        """Find the tie levels of the relevant documents of a measure; shared between measures."""
        ties = self.config.ties
        if item.row.better == "lower":  # first the documents that lower the value
            arrangement, ties = _TURNED.get(arrangement, arrangement), _TURNED.get(ties, ties)
        key = self._level(item), item.row.whole_ties, ties, arrangement
        if key not in self._found:
            self._found[key] = self._levels_of(*key)
        return self._found[key]

    def _levels_of(self, level: int, is_whole: bool, rule: str, arrangement: TieOrder) -> Levels:
        ties = self._whole_ties if is_whole else self._ties
        levels = Levels.of(ties, ties.count(self._reaching(level)))
        if not is_whole:
            levels = levels.arranged(rule)
        if self.has_outside:
            found = self.queries.found[:, level]
            levels = levels.joined(levels.outside(self.queries, found, arrangement))
        return levels

    def _reaching(self, level: int) -> Ints:
        """Count the documents of each cell that reach a relevance level."""
        ranked = self.queries.ranked
        threshold = np.uint64(keys_of(np.array([self.config.levels[level]]), "real")[0])
        return np.where(ranked.grade >= threshold, ranked.count, 0)

    @cached_property
    def _ties(self) -> Ties:
        return Ties.of(self.queries.ranked, by_document=True)

    @cached_property
    def _whole_ties(self) -> Ties:
        return Ties.of(self.queries.ranked, by_document=False)

    @cached_property
    def _gains(self) -> Floats:
        return gains_of(self.queries.ranked.relevance, self.config)

    @cached_property
    def _spans(self) -> Spans:
        """Lay out the gains of the ranked documents."""
        ties, ranked, gain = self._ties, self.queries.ranked, self._gains
        if self.config.ties in ("expected", "docid_desc"):
            spans = Spans(ties.query, ties.above, ties.size, self._mean_gains(gain))
            has_gain = spans.gain > 0.0
            return spans if has_gain.all() else spans.select(np.flatnonzero(has_gain))
        is_first = self.config.ties == "optimistic"
        kept = np.flatnonzero(gain > 0.0)
        kept = kept[np.lexsort((-gain[kept] if is_first else gain[kept], ties.of_cell[kept]))]
        level, count = ties.of_cell[kept], ranked.count[kept]
        above = ties.above[level] + runs_above(count, level)
        if not is_first:  # documents with a gain are last in their level
            above += (ties.size - ties.count(np.where(gain > 0.0, ranked.count, 0)))[level]
        return Spans(ranked.query[kept], above, count, gain[kept])

    def _mean_gains(self, gain: Floats) -> Floats:
        """Average the gains of the cells of each tie level."""
        ties, count = self._ties, self.queries.ranked.count
        if ties.are_cells:
            return np.where(count == ties.size, gain, gain * count / ties.size)
        total = np.bincount(ties.of_cell, weights=gain * count, minlength=len(ties.starts))
        mean = total / ties.size
        is_whole = count == ties.size[ties.of_cell]  # a single gain is the mean
        mean[ties.of_cell[is_whole]] = gain[is_whole]
        return mean

    @cached_property
    def _ideal(self) -> Spans:
        """Lay out all known gains, the highest first."""
        gained, declared = self.queries.gained, self.queries.declared
        if (declared < 0).all():
            above = runs_above(gained.count, gained.query)
            return Spans(gained.query, above, gained.count, scores_of(gained.gain, "real"))
        own = declared[gained.query] < 0
        query, count = gained.query[own], gained.count[own]
        gain = scores_of(gained.gain[own], "real")
        given = np.flatnonzero(declared > 0)
        ones = Spans(given, np.zeros_like(given), declared[given], np.ones(len(given)))
        return Spans(query, runs_above(count, query), count, gain).joined(ones)

    @cached_property
    def _outside(self) -> Gained:
        """Count the gains of the dropped rows."""
        outside = self.queries.outside(self._gains)
        return outside.select(np.flatnonzero(outside.count))

    def _outside_spans(self, arrangement: TieOrder) -> Spans:
        """Lay out the gains of the dropped rows."""
        queries, kept = self.queries, self.queries.n_kept
        query, count = self._outside.query, self._outside.count
        gain = scores_of(self._outside.gain, "real")
        if arrangement == "best":
            return Spans(query, kept[query] + runs_above(count, query), count, gain)
        if arrangement == "worst":
            above = queries.rows[query] - runs_above(count, query) - count
            return Spans(query, above, count, gain)
        total = np.bincount(query, weights=gain * count, minlength=len(queries))
        some = np.flatnonzero(total > 0.0)
        size = queries.rows[some] - kept[some]
        return Spans(some, kept[some], size, total[some] / size)


def _average_precision(levels: Levels, item: Measure, relevant: Ints, norm: str) -> Floats:
    divisor = relevant
    if norm == "min" and item.cutoff is not None:
        divisor = np.minimum(relevant, item.cutoff)
    return ratios(formulas.average_precision(levels, item.cutoff, len(relevant)), divisor)


def _log_precision(levels: Levels, item: Measure, relevant: Ints, norm: str) -> Floats:
    return _log_of_share(_average_precision(levels, item, relevant, norm))


def _log_of_share(share: Floats) -> Floats:
    return log(np.clip(share, _MIN_PRECISION, 1.0))


def _precision_at_multiple(levels: Levels, item: Measure, relevant: Ints, _: str) -> Floats:
    cutoff = np.floor(item.number * relevant + 0.9).astype(np.int64)
    return ratios(formulas.found_at(levels, cutoff, len(relevant)), cutoff)


def _set_f(found: Ints, rows: Ints, known: Ints, beta: float) -> Floats:
    # the operations of trec_eval, which prints four digits: the last bit decides a half
    precision, recall = ratios(found, rows), ratios(found, known)
    return ratios((beta + 1.0) * precision * recall, beta * precision + recall)


_TURNED: dict[Any, Any] = {"worst": "best", "best": "worst"}
_TURNED |= {"pessimistic": "optimistic", "optimistic": "pessimistic"}

_OF_PAIRS = ("fall_out", "coverage_error", "label_ranking_loss", "query_auc")
"""The measures of relevant documents beside others."""

_OF_SETS: dict[str, Callable[[Ints, Ints, Ints], Array]] = {
    "set_p": lambda found, rows, _: ratios(found, rows),
    "set_r": lambda found, _, known: ratios(found, known),
    "set_relative_p": lambda found, rows, known: ratios(found, np.minimum(rows, known)),
    "set_map": lambda found, rows, known: ratios(found * found, rows * known),
    "majority": lambda found, rows, _: (np.sign(2 * found - rows) + (rows > 0)) / 2,
    "utility": lambda found, rows, _: 2 * found - rows,
    "num_ret": lambda _found, rows, _: rows,
    "num_rel": lambda _found, _rows, known: known,
    "num_rel_ret": lambda found, _rows, _known: found,
}
"""The measures of the numbers of documents that are relevant and retrieved, retrieved, relevant."""

_OF_ORDER = {"g": orders.normalized_gain, "ndcg_rel": orders.mean_normalized_gain}
"""The measures of gains in their whole order."""


_FORMULAS: dict[str, Callable[[Levels, Measure, Ints, str], Floats]] = {
    "map": _average_precision,
    "gm_map": _log_precision,
    "p": lambda levels, item, relevant, _: (
        formulas.found_at(levels, item.ranks, len(relevant)) / item.ranks
    ),
    "r": lambda levels, item, relevant, _: ratios(
        formulas.found_at(levels, item.ranks, len(relevant)), relevant
    ),
    "rprec": lambda levels, _item, relevant, _: ratios(
        formulas.found_at(levels, relevant, len(relevant)), relevant
    ),
    # F is linear in the hits because R is fixed, so its mean over ties is F of the mean hits
    "f": lambda levels, item, relevant, _: ratios(
        2.0 * formulas.found_at(levels, item.ranks, len(relevant)), item.ranks + relevant
    ),
    "hit": lambda levels, item, relevant, _: formulas.hit(levels, item.ranks, len(relevant)),
    "all_hit": lambda levels, item, relevant, _: formulas.all_hit(
        levels, item.ranks, len(relevant)
    ),
    "mrr": lambda levels, item, relevant, _: formulas.reciprocal_rank(
        levels, item.cutoff, len(relevant)
    ),
    "relative_p": lambda levels, item, relevant, _: ratios(
        formulas.found_at(levels, item.ranks, len(relevant)), np.minimum(item.ranks, relevant)
    ),
    "rprec_mult": _precision_at_multiple,
    "bin_g": lambda levels, _item, relevant, _: ratios(
        Spans.of_others(levels).discounted(None, len(relevant)), relevant
    ),
    "lrap": lambda levels, _item, relevant, _: ratios(
        formulas.label_ranking_precision(levels, len(relevant)), relevant
    ),
    "rbp": lambda levels, item, relevant, _: formulas.rank_biased_precision(
        levels, item.number, len(relevant)
    ),
}
"""The measures of the ranks of the relevant documents."""
