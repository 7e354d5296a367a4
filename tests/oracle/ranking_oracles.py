"""What the measures of a ranking are by definition, one order of the documents at a time.

Everything here is plain Python over fractions, with floats only where logarithms are needed; ties
are settled by going through all orders. Nothing here knows how the library works, only the names
of its measures.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from typing import Any, Literal

import numpy as np

Level = float | None
"""The relevance of a document; None where nobody judged it."""
Order = tuple[Level, ...]
Value = Fraction | float
Ties = Literal["expected", "pessimistic", "optimistic", "docid_desc"]
Gain = Literal["linear", "exp2"] | tuple[tuple[float, float], ...]
"""Pairs of a level and its gain stand for a mapping."""

EVERY_TIES: tuple[Ties, ...] = ("expected", "pessimistic", "optimistic", "docid_desc")
NAN = math.nan
SMALLEST_AP = 1e-5


@dataclass(frozen=True)
class Row:
    """One document of a query."""

    level: Level
    score: float
    doc: Any = None
    is_retrieved: bool = True


@dataclass(frozen=True)
class Options:
    """Those of the accumulator, by their names."""

    relevance_level: float = 1
    gain: Gain = "linear"
    ties: Ties = "expected"
    ap_norm: str = "R"
    unjudged: str = "nonrelevant"

    def as_arguments(self) -> dict[str, Any]:
        gain = self.gain if isinstance(self.gain, str) else dict(self.gain)
        return {**vars(self), "gain": gain}


@dataclass(frozen=True)
class Known:
    """What a measure may know of a query besides the order of what was returned."""

    judged: tuple[float, ...]
    options: Options = field(default_factory=Options)
    num_relevant: int | None = None
    returned: Order = ()

    def n_others(self, rel: float | None) -> int:
        """Documents that are not relevant, returned or judged."""
        n_unjudged = self.returned.count(None)
        return n_unjudged + sum(not self.is_relevant(level, rel) for level in self.judged)

    def n_relevant(self, rel: float | None) -> int:
        if self.num_relevant is not None:
            return self.num_relevant
        return sum(self.is_relevant(level, rel) for level in self.judged)

    def is_relevant(self, level: Level, rel: float | None) -> bool:
        least = self.options.relevance_level if rel is None else rel
        return level is not None and level >= least

    def gain(self, level: Level) -> Value:
        gain = self.options.gain
        if level is None:
            return Fraction(0)
        if gain == "linear":
            return Fraction(level)
        if gain == "exp2":
            return Fraction(2 ** int(level) - 1)
        assert not isinstance(gain, str)
        return Fraction({0.0: 0.0, **dict(gain)}[level])

    def gains(self) -> list[Value]:
        """The best that could have been returned, best first."""
        if self.num_relevant is not None:
            return [Fraction(1)] * self.num_relevant
        return sorted(map(self.gain, self.judged), reverse=True)


# Measures of one order. `k` is None where nothing is cut off, `rel` where the level is the default.
def average_precision(order: Order, known: Known, k: int | None, rel: float | None) -> Value:
    n_hits, total = 0, Fraction(0)
    for rank, level in enumerate(order[:k], 1):
        if known.is_relevant(level, rel):
            n_hits += 1
            total += Fraction(n_hits, rank)
    most = known.n_relevant(rel)
    if known.options.ap_norm == "min" and k is not None:
        most = min(most, k)
    return total / most


def reciprocal_rank(order: Order, known: Known, k: int | None, rel: float | None) -> Value:
    for rank, level in enumerate(order[:k], 1):
        if known.is_relevant(level, rel):
            return Fraction(1, rank)
    return Fraction(0)


def _n_hits(order: Order, known: Known, k: int | None, rel: float | None) -> int:
    return sum(known.is_relevant(level, rel) for level in order[:k])


def precision(order: Order, known: Known, k: int, rel: float | None) -> Value:
    return Fraction(_n_hits(order, known, k, rel), k)


def adaptive_precision(order: Order, known: Known, k: int, rel: float | None) -> Value:
    return precision(order, known, min(k, len(order)), rel) if order else Fraction(0)


def recall(order: Order, known: Known, k: int | None, rel: float | None) -> Value:
    return Fraction(_n_hits(order, known, k, rel), known.n_relevant(rel))


def f(order: Order, known: Known, k: int, rel: float | None) -> Value:
    p, r = precision(order, known, k, rel), recall(order, known, k, rel)
    return 2 * p * r / (p + r) if p + r else Fraction(0)


def hit(order: Order, known: Known, k: int, rel: float | None) -> Value:
    return Fraction(_n_hits(order, known, k, rel) > 0)


def all_hit(order: Order, known: Known, k: int, rel: float | None) -> Value:
    return Fraction(_n_hits(order, known, k, rel) == k)


def majority(order: Order, known: Known, k: None, rel: float | None) -> Value:
    n_wrong = len(order) - (n_right := _n_hits(order, known, None, rel))
    return Fraction((n_right > n_wrong) + (n_right >= n_wrong), 2) if order else Fraction(0)


def r_precision(order: Order, known: Known, k: None, rel: float | None) -> Value:
    return precision(order, known, known.n_relevant(rel), rel)


def judged(order: Order, known: Known, k: int, rel: None) -> Value:
    n_judged = sum(level is not None for level in order[:k])
    return Fraction(n_judged, min(k, len(order))) if order else Fraction(0)


def set_precision(order: Order, known: Known, k: None, rel: float | None) -> Value:
    return Fraction(_n_hits(order, known, None, rel), len(order)) if order else Fraction(0)


def set_f(order: Order, known: Known, k: None, rel: float | None) -> Value:
    p, r = set_precision(order, known, k, rel), recall(order, known, k, rel)
    return 2 * p * r / (p + r) if p + r else Fraction(0)


def bpref(order: Order, known: Known, k: None, rel: float | None) -> Value:
    n_relevant = known.n_relevant(rel)
    n_other = sum(not known.is_relevant(level, rel) for level in known.judged)
    n_above, total = 0, Fraction(0)
    for level in order:
        if known.is_relevant(level, rel):
            total += 1
            if n_above:
                total -= Fraction(min(n_above, n_relevant), min(n_other, n_relevant))
        elif level is not None:
            n_above += 1
    return total / n_relevant


def rank_biased_precision(p: float) -> Callable[..., Value]:
    persistence = Fraction(p)

    def rbp(order: Order, known: Known, k: None, rel: float | None) -> Value:
        terms = (
            (1 - persistence) * persistence ** (rank - 1)
            for rank, level in enumerate(order, 1)
            if known.is_relevant(level, rel)
        )
        return sum(terms, Fraction(0))

    return rbp


def expected_reciprocal_rank(most: int) -> Callable[..., Value]:
    def err(order: Order, known: Known, k: int, rel: None) -> Value:
        goes_on, total = Fraction(1), Fraction(0)
        for rank, level in enumerate(order[:k], 1):
            stops = Fraction(2 ** int(level or 0) - 1, 2**most)
            total += goes_on * stops / rank
            goes_on *= 1 - stops
        return total

    return err


def _discounted(gains: Iterable[Value], k: int | None) -> float:
    terms = [float(g) / math.log2(rank + 1) for rank, g in enumerate(gains, 1)]
    return math.fsum(terms[:k])


def dcg(order: Order, known: Known, k: int | None, rel: None) -> Value:
    return _discounted(map(known.gain, order), k)


def ndcg(order: Order, known: Known, k: int | None, rel: None) -> Value:
    return dcg(order, known, k, rel) / _discounted(known.gains(), k)


def label_ranking_average_precision(
    groups: Sequence[Order], known: Known, k: None, rel: float | None
) -> Value:
    """Of groups of tied documents, which count in full: scikit-learn's."""
    n_rows, n_hits, total = 0, 0, Fraction(0)
    for group in groups:
        n_here = _n_hits(group, known, None, rel)
        n_rows, n_hits = n_rows + len(group), n_hits + n_here
        total += n_here * Fraction(n_hits, n_rows)
    return total / known.n_relevant(rel)


def precision_at_multiple(times: float) -> Callable[..., Value]:
    def rprec_mult(order: Order, known: Known, k: None, rel: float | None) -> Value:
        cutoff = math.floor(times * known.n_relevant(rel) + 0.9)
        return precision(order, known, cutoff, rel) if cutoff else Fraction(0)

    return rprec_mult


def relative_precision(order: Order, known: Known, k: int, rel: float | None) -> Value:
    return Fraction(_n_hits(order, known, k, rel), min(k, known.n_relevant(rel)))


def set_relative_precision(order: Order, known: Known, k: None, rel: float | None) -> Value:
    return relative_precision(order, known, len(order), rel) if order else Fraction(0)


def set_average_precision(order: Order, known: Known, k: None, rel: float | None) -> Value:
    return set_precision(order, known, k, rel) * recall(order, known, k, rel)


def n_returned(order: Order, known: Known, k: None, rel: float | None) -> Value:
    return Fraction(len(order))


def n_relevant(order: Order, known: Known, k: None, rel: float | None) -> Value:
    return Fraction(known.n_relevant(rel))


def n_relevant_returned(order: Order, known: Known, k: None, rel: float | None) -> Value:
    return Fraction(_n_hits(order, known, k, rel))


def n_nonrelevant_returned(order: Order, known: Known, k: None, rel: float | None) -> Value:
    judged = [level for level in order if level is not None]
    return Fraction(sum(not known.is_relevant(level, rel) for level in judged))


def utility(order: Order, known: Known, k: None, rel: float | None) -> Value:
    return Fraction(sum(1 if known.is_relevant(level, rel) else -1 for level in order))


def binary_g(order: Order, known: Known, k: None, rel: float | None) -> Value:
    n_other, total = 0, 0.0
    for level in order:
        if known.is_relevant(level, rel):
            total += 1 / math.log2(2 + n_other)
        else:
            n_other += 1
    return total / known.n_relevant(rel)


def mean_ndcg_at_falls(order: Order, known: Known, k: None, rel: None) -> Value:
    gains = [gain for gain in known.gains() if gain > 0]
    falls = [i for i in range(1, len(gains) + 1) if i == len(gains) or gains[i] != gains[i - 1]]
    cuts: list[int | None] = [*falls, *([None] if len(order) > len(gains) + 1 else [])]
    return math.fsum(float(ndcg(order, known, cut, rel)) for cut in cuts) / len(cuts)


def unjudged(order: Order, known: Known, k: int, rel: None) -> Value:
    return Fraction(sum(level is None for level in order[:k]), k)


def rbp_residual(p: float) -> Callable[..., Value]:
    persistence = Fraction(p)

    def rbp_resid(order: Order, known: Known, k: None, rel: None) -> Value:
        if None not in order:
            return Fraction(0)
        terms = (
            (1 - persistence) * persistence ** (rank - 1)
            for rank, level in enumerate(order, 1)
            if level is None
        )
        return sum(terms, persistence ** len(order))

    return rbp_resid


def interpolated_precision(share: float) -> Callable[..., Value]:
    def iprec(order: Order, known: Known, k: None, rel: float | None) -> Value:
        needed = math.floor(Fraction(share * known.n_relevant(rel)) + Fraction(1, 2))
        n_hits, best = 0, Fraction(0)
        for rank, level in enumerate(order, 1):
            n_hits += known.is_relevant(level, rel)
            if n_hits >= needed:
                best = max(best, Fraction(n_hits, rank))
        return best

    return iprec


def eleven_point_average(order: Order, known: Known, k: None, rel: float | None) -> Value:
    points = [interpolated_precision(i / 10)(order, known, k, rel) for i in range(11)]
    return sum(points, Fraction(0)) / 11


def graded_g(order: Order, known: Known, k: None, rel: None) -> Value:
    gains = known.gains()
    ideal = [float(max(gain, 1)) for gain in gains] + [1.0] * len(order)
    total, gained, cost = 0.0, 0.0, 0.0
    for rank, level in enumerate(order):
        gained, cost = gained + float(known.gain(level)), cost + ideal[rank]
        total += float(known.gain(level)) / math.log2(2 + cost - gained)
    return total / float(sum(gains))


def mean_ndcg_at_gains(order: Order, known: Known, k: None, rel: None) -> Value:
    n_known = sum(gain > 0 for gain in known.gains())
    ranks = [rank for rank, level in enumerate(order, 1) if known.gain(level) > 0]
    cuts: list[int | None] = [*ranks, *[None] * (n_known - len(ranks))]
    return math.fsum(float(ndcg(order, known, cut, rel)) for cut in cuts) / n_known


def _n_not_returned(order: Order, known: Known, rel: float | None) -> int:
    return known.n_relevant(rel) - _n_hits(order, known, None, rel)


def fall_out(order: Order, known: Known, k: int, rel: float | None) -> Value:
    return Fraction(len(order[:k]) - _n_hits(order, known, k, rel), known.n_others(rel))


def coverage_error(groups: Sequence[Order], known: Known, k: None, rel: float | None) -> Value:
    order = tuple(itertools.chain.from_iterable(groups))
    left = _n_not_returned(order, known, rel)
    if left:
        return Fraction(len(order) + left)
    ends = itertools.accumulate(map(len, groups))
    return Fraction(
        max(e for e, group in zip(ends, groups, strict=True) if _n_hits(group, known, None, rel))
    )


def label_ranking_loss(groups: Sequence[Order], known: Known, k: None, rel: float | None) -> Value:
    order = tuple(itertools.chain.from_iterable(groups))
    n_others, wrong = 0, 0
    for group in groups:
        n_here = _n_hits(group, known, None, rel)
        n_others += len(group) - n_here
        wrong += n_here * n_others
    wrong += _n_not_returned(order, known, rel) * n_others
    return Fraction(wrong, known.n_relevant(rel) * n_others) if n_others else Fraction(0)


def auc(order: Order, known: Known, k: None, rel: float | None) -> Value:
    n_others, wrong = 0, 0
    for level in order:
        if known.is_relevant(level, rel):
            wrong += n_others
        else:
            n_others += 1
    wrong += _n_not_returned(order, known, rel) * n_others
    return 1 - Fraction(wrong, known.n_relevant(rel) * n_others)


def has_other(known: Known, rel: float | None) -> bool:
    return known.n_others(rel) > 0


def has_pair(known: Known, rel: float | None) -> bool:
    is_relevant = [known.is_relevant(level, rel) for level in known.returned]
    return has_relevant(known, rel) and not all(is_relevant)


def has_relevant(known: Known, rel: float | None) -> bool:
    return known.n_relevant(rel) > 0


def has_gain(known: Known, rel: None) -> bool:
    return any(gain > 0 for gain in known.gains())


def has_grade(known: Known, rel: None) -> bool:
    return any(level > 0 for level in known.judged)


def always(known: Known, rel: None) -> bool:
    return True


@dataclass(frozen=True)
class Measure:
    """A measure of one order (or of groups of ties), and when there is something to find."""

    truth: Callable[..., Value]
    k: int | None = None
    rel: float | None = None
    has_any: Callable[..., bool] = has_relevant
    is_of_groups: bool = False


def _cut(name: str, *args: Any, **options: Any) -> dict[str, Measure]:
    """A measure at several ranks; `{}` in its name stands for the rank."""
    return {name.format(k): Measure(*args, k=k, **options) for k in (1, 3, 5, 10)}


MEASURES: dict[str, Measure] = {
    "map": Measure(average_precision),
    "map(rel=2)": Measure(average_precision, rel=2),
    **_cut("map@{}", average_precision),
    "map(rel=2)@3": Measure(average_precision, k=3, rel=2),
    "mrr": Measure(reciprocal_rank),
    "mrr(rel=2)": Measure(reciprocal_rank, rel=2),
    **_cut("mrr@{}", reciprocal_rank),
    "ndcg": Measure(ndcg, has_any=has_gain),
    **_cut("ndcg@{}", ndcg, has_any=has_gain),
    "dcg": Measure(dcg, has_any=has_gain),
    **_cut("dcg@{}", dcg, has_any=has_gain),
    **_cut("p@{}", precision),
    **_cut("adaptive_p@{}", adaptive_precision),
    "p(rel=2)@5": Measure(precision, k=5, rel=2),
    **_cut("r@{}", recall),
    "r(rel=2)@3": Measure(recall, k=3, rel=2),
    **_cut("f@{}", f),
    "f(rel=2)@3": Measure(f, k=3, rel=2),
    **_cut("hit@{}", hit),
    "hit(rel=2)@3": Measure(hit, k=3, rel=2),
    **_cut("all_hit@{}", all_hit),
    "all_hit(rel=2)@3": Measure(all_hit, k=3, rel=2),
    "majority": Measure(majority),
    "majority(rel=2)": Measure(majority, rel=2),
    "rprec": Measure(r_precision),
    "rprec(rel=2)": Measure(r_precision, rel=2),
    "lrap": Measure(label_ranking_average_precision, is_of_groups=True),
    "lrap(rel=2)": Measure(label_ranking_average_precision, rel=2, is_of_groups=True),
    "rbp(p=0.8)": Measure(rank_biased_precision(0.8)),
    "rbp(p=0.5,rel=2)": Measure(rank_biased_precision(0.5), rel=2),
    **_cut("err@{}", expected_reciprocal_rank(4), has_any=has_grade),
    "err(max=3)@3": Measure(expected_reciprocal_rank(3), k=3, has_any=has_grade),
    "bpref": Measure(bpref),
    "bpref(rel=2)": Measure(bpref, rel=2),
    **_cut("judged@{}", judged, has_any=always),
    "coverage_error": Measure(coverage_error, is_of_groups=True),
    "coverage_error(rel=2)": Measure(coverage_error, rel=2, is_of_groups=True),
    "label_ranking_loss": Measure(label_ranking_loss, is_of_groups=True),
    "label_ranking_loss(rel=2)": Measure(label_ranking_loss, rel=2, is_of_groups=True),
    "query_auc": Measure(auc, has_any=has_pair),
    "query_auc(rel=2)": Measure(auc, rel=2, has_any=has_pair),
    **_cut("fall_out@{}", fall_out, has_any=has_other),
    "fall_out(rel=2)@3": Measure(fall_out, k=3, rel=2, has_any=has_other),
    "set_p": Measure(set_precision),
    "set_p(rel=2)": Measure(set_precision, rel=2),
    "set_r": Measure(recall),
    "set_r(rel=2)": Measure(recall, rel=2),
    "set_f": Measure(set_f),
    "set_f(rel=2)": Measure(set_f, rel=2),
    "rprec_mult(times=0.2)": Measure(precision_at_multiple(0.2)),
    "rprec_mult(times=1.6)": Measure(precision_at_multiple(1.6)),
    **_cut("relative_p@{}", relative_precision),
    "set_relative_p": Measure(set_relative_precision),
    "set_map": Measure(set_average_precision),
    "set_map(rel=2)": Measure(set_average_precision, rel=2),
    "utility": Measure(utility, has_any=always),
    "num_ret": Measure(n_returned, has_any=always),
    "num_rel": Measure(n_relevant, has_any=always),
    "num_rel_ret": Measure(n_relevant_returned, has_any=always),
    "num_nonrel_judged_ret": Measure(n_nonrelevant_returned, has_any=always),
    "num_nonrel_judged_ret(rel=2)": Measure(n_nonrelevant_returned, rel=2, has_any=always),
    "bin_g": Measure(binary_g),
    "bin_g(rel=2)": Measure(binary_g, rel=2),
    "rndcg": Measure(mean_ndcg_at_falls, has_any=has_gain),
    "rbp_resid": Measure(rbp_residual(0.9), has_any=always),
    "rbp_resid(p=0.5)": Measure(rbp_residual(0.5), has_any=always),
    **_cut("unj@{}", unjudged, has_any=always),
}
GEOMETRIC = {
    "gm_map": MEASURES["map"],
    "gm_map(rel=2)": MEASURES["map(rel=2)"],
    "gm_bpref": MEASURES["bpref"],
}
"""Their value for a query is that of another measure; only the mean differs."""
ARRANGED = {
    "iprec(recall=0.0)": Measure(interpolated_precision(0.0)),
    "iprec(recall=0.3)": Measure(interpolated_precision(0.3)),
    "iprec(recall=0.5,rel=2)": Measure(interpolated_precision(0.5), rel=2),
    "iprec(recall=1.0)": Measure(interpolated_precision(1.0)),
    "11pt_avg": Measure(eleven_point_average),
}
"""They have no mean over the orders of ties."""
ORDERED = {
    "g": Measure(graded_g, has_any=has_gain),
    "ndcg_rel": Measure(mean_ndcg_at_gains, has_any=has_gain),
}
"""They need the order of all documents: the best order of ties need not be their best."""
UNCUT = ("map", "mrr", "ndcg", "dcg", "rprec", "lrap", "rbp(p=0.8)", "bpref")
UNCUT += ("rprec_mult(times=1.6)", "bin_g", "rndcg", "rbp_resid")
UNCUT += ("coverage_error", "label_ranking_loss", "query_auc")


def _place(row: Row) -> tuple[bool, float]:
    """Best first. NaN ranks after all others, which `nan="last"` must allow."""
    return (True, 0.0) if math.isnan(row.score) else (False, -row.score)


def ranked(rows: Iterable[Row], options: Options) -> list[Row]:
    """The documents that were returned, best first."""
    drops = options.unjudged == "drop"
    returned = [row for row in rows if row.is_retrieved and not (drops and row.level is None)]
    if options.ties == "docid_desc":
        returned.sort(key=lambda row: row.doc, reverse=True)
    return sorted(returned, key=_place)


def tie_groups(rows: Iterable[Row]) -> list[Order]:
    """The levels of ranked documents, those of one score together."""
    groups = itertools.groupby(rows, key=_place)
    return [tuple(row.level for row in group) for _, group in groups]


def orders(groups: Sequence[Order]) -> Iterator[Order]:
    """Every order of tied documents once.

    Orders that differ only in documents of one level are one: each of those that are left stands
    for equally many, the product of the factorials of how often each level occurs in a group.
    """
    for parts in itertools.product(*map(list, map(_different_orders, groups))):
        yield tuple(itertools.chain.from_iterable(parts))


def _different_orders(group: Order) -> Iterator[Order]:
    if not group:
        yield ()
    for level in sorted(set(group), key=_sortable):
        rest = list(group)
        rest.remove(level)
        for others in _different_orders(tuple(rest)):
            yield (level, *others)


def _sortable(level: Level) -> float:
    return -math.inf if level is None else level


def exact_mean(values: Sequence[Value]) -> Value:
    if all(isinstance(value, Fraction) for value in values):
        return sum(values, Fraction(0)) / len(values)
    return math.fsum(map(float, values)) / len(values)


SETTLE: dict[str, Callable[[Sequence[Value]], Value]] = {
    "expected": exact_mean,
    "pessimistic": min,
    "optimistic": max,
    "docid_desc": exact_mean,
}


def per_query(
    rows: Sequence[Row],
    options: Options,
    measures: Mapping[str, Measure] = MEASURES,
    *,
    num_relevant: int | None = None,
) -> dict[str, Value | None]:
    """Every measure of a query; None where there is nothing to find."""
    returned = ranked(rows, options)
    tied = tie_groups(returned)
    groups = [(row.level,) for row in returned] if options.ties == "docid_desc" else tied
    levels = tuple(row.level for row in rows if row.level is not None)
    found = tuple(sorted((row.level for row in returned), key=_sortable))
    known = Known(levels, replace(options, ties="expected"), num_relevant, found)
    settle = SETTLE[options.ties]

    def value(measure: Measure) -> Value | None:
        if not measure.has_any(known, measure.rel):
            return None
        if measure.is_of_groups:
            return measure.truth(tied, known, measure.k, measure.rel)
        return settle(values_of_orders(measure, tuple(groups), known))

    return {name: value(measure) for name, measure in measures.items()}


@cache
def values_of_orders(measure: Measure, groups: tuple[Order, ...], known: Known) -> list[Value]:
    return [measure.truth(order, known, measure.k, measure.rel) for order in orders(groups)]


EMPTY: dict[str, Value] = {"zero": Fraction(0), "one": Fraction(1), "nan": NAN}


def entering(
    values: Iterable[Value | None], *, empty: str, n_missing: int = 0, missing: str = "zero"
) -> list[Value]:
    """The values whose mean is taken. Under "skip" queries are left out."""
    filled = [EMPTY.get(empty) if value is None else value for value in values]
    kept = [value for value in filled if value is not None]
    return kept + [Fraction(0)] * (n_missing if missing == "zero" else 0)


def mean(values: Sequence[Value]) -> Value:
    """Of nothing it is undefined."""
    if not values or any(math.isnan(value) for value in values):
        return NAN
    return exact_mean(values)


def geometric_mean(values: Sequence[Value]) -> float:
    if not values or any(math.isnan(value) for value in values):
        return NAN
    logs = [math.log(max(float(value), SMALLEST_AP)) for value in values]
    return math.exp(math.fsum(logs) / len(logs))


def combined(name: str, values: Sequence[Value]) -> Value:
    return geometric_mean(values) if name in GEOMETRIC else mean(values)


LEVELS: tuple[Level, ...] = (None, 0, 1, 2, 3)
MIXES = (
    (0.2, 0.2, 0.2, 0.2, 0.2),
    (0.1, 0.6, 0.3, 0.0, 0.0),
    (0.5, 0.3, 0.1, 0.0, 0.1),
    (0.0, 0.0, 0.4, 0.6, 0.0),
    (0.3, 0.7, 0.0, 0.0, 0.0),
)
"""How often the levels occur in a query: all, few, mostly unjudged, only relevant, none."""


def draw_query(
    rng: np.random.Generator, *, most: int = 7, n_scores: int | None = None
) -> list[Row]:
    """A small query with many ties, and up to three judged documents not returned."""
    mix = MIXES[int(rng.integers(len(MIXES)))]
    n, n_other = int(rng.integers(1, most + 1)), int(rng.integers(0, 4))
    n_scores = n_scores or int(rng.integers(1, 6))
    pool = rng.choice([-math.inf, -2.5, -0.0, 0.0, 1e-300, 0.1, 3.0, math.inf], n_scores)
    docs = [f"d{i}" for i in rng.permutation(most + 8)]
    levels = [LEVELS[i] for i in rng.choice(len(LEVELS), n + n_other, p=mix)]
    rows = [
        Row(level, float(rng.choice(pool)), doc, i < n)
        for i, (level, doc) in enumerate(zip(levels, docs, strict=False))
    ]
    kept = [row for row in rows if row.is_retrieved or row.level is not None]
    return [kept[i] for i in rng.permutation(len(kept))]


def as_arguments(queries: Mapping[Any, Sequence[Row]]) -> dict[str, Any]:
    """The arguments of `update` for ragged rows."""
    rows = [(query, row) for query, rows in queries.items() for row in rows]
    return {
        "relevance": np.array([NAN if row.level is None else row.level for _, row in rows]),
        "score": np.array([row.score for _, row in rows], dtype=np.float64),
        "query": np.array([query for query, _ in rows]),
        "doc": np.array([row.doc for _, row in rows]),
        "retrieved": np.array([row.is_retrieved for _, row in rows], dtype=bool),
    }


def rearranged(arguments: Mapping[str, Any], places: np.ndarray) -> dict[str, Any]:
    """The same rows in another order, or some of them."""
    return {name: array[places] for name, array in arguments.items()}
