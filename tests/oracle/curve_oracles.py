"""What a curve's numbers are by definition, which cells a sketch keeps, and data that is hard.

Everything here is plain Python over integers and fractions, slow and meant to be obviously right.
Nothing here knows how the library works; only `CURVE_METRICS` and its kin name its methods.
"""

from __future__ import annotations

import bisect
import itertools
import math
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache, cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

Mode = Literal["probability", "real"]
Value = Fraction | float
UNDEFINED = math.nan
EPSILON = 2.0**-52


@dataclass(frozen=True, eq=False)
class Table:
    """The distinct scores, highest first, and the positives and negatives at each."""

    scores: Sequence[float]
    pos: Sequence[int]
    neg: Sequence[int]

    @classmethod
    def of(cls, y: Iterable[Any], scores: Iterable[float], weights: Any = None) -> Table:
        """Group rows by score. Weights are counted in units of 2**-62, all metrics being ratios."""
        counts: dict[float, list[int]] = {}
        rows = [(bool(truth), float(score)) for truth, score in zip(y, scores, strict=True)]
        units = (
            [1] * len(rows) if weights is None else [round(Fraction(w) * 2**62) for w in weights]
        )
        for (is_positive, score), unit in zip(rows, units, strict=True):
            if unit:
                counts.setdefault(score, [0, 0])[0 if is_positive else 1] += unit
        order = sorted(counts, reverse=True)
        return cls(order, [counts[x][0] for x in order], [counts[x][1] for x in order])

    @cached_property
    def tp(self) -> list[int]:
        """Positives at or above each score."""
        return list(itertools.accumulate(self.pos))

    @cached_property
    def fp(self) -> list[int]:
        """Negatives at or above each score."""
        return list(itertools.accumulate(self.neg))

    @cached_property
    def n_pos(self) -> int:
        return sum(self.pos)

    @cached_property
    def n_neg(self) -> int:
        return sum(self.neg)

    @cached_property
    def precisions(self) -> list[Fraction]:
        """Precision of `score >= threshold` at each score."""
        return [Fraction(tp, tp + fp) for tp, fp in zip(self.tp, self.fp, strict=True)]

    def counts_at(self, threshold: float) -> tuple[int, int]:
        """True and false positives of `score >= threshold`."""
        above = [i for i, score in enumerate(self.scores) if score >= threshold]
        return (self.tp[above[-1]], self.fp[above[-1]]) if above else (0, 0)


def total(terms: Iterable[Fraction]) -> Fraction:
    """Add fractions pairwise, so that denominators stay small for long."""
    parts = [(term.numerator, term.denominator) for term in terms]
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        added = [(a * d + c * b, b * d) for (a, b), (c, d) in pairs]
        parts = added + parts[len(parts) // 2 * 2 :]
    return Fraction(*parts[0]) if parts else Fraction(0)


@cache
def typed(bound: float) -> Fraction:
    """What somebody means by a float: the fraction of least denominator that rounds to it."""
    too_small, enough = 0, Fraction(bound).denominator
    while enough - too_small > 1:
        middle = (too_small + enough) // 2
        if float(Fraction(bound).limit_denominator(middle)) == bound:
            enough = middle
        else:
            too_small = middle
    return Fraction(bound).limit_denominator(enough)


def is_at_least(part: int, whole: int, bound: float) -> bool:
    """Compare a ratio, rounded once as it is printed, with a number."""
    return float(Fraction(part, whole)) >= bound


def roc_auc(table: Table) -> Value:
    """Share of the pairs of both classes in which the positive is higher, ties half."""
    if not table.n_pos or not table.n_neg:
        return UNDEFINED
    above, twice = 0, 0
    for pos, neg in zip(table.pos, table.neg, strict=True):
        twice += neg * (2 * above + pos)
        above += pos
    return Fraction(twice, 2 * table.n_pos * table.n_neg)


def average_precision(table: Table) -> Value:
    """Mean over positives of the precision at their score."""
    if not table.n_pos:
        return UNDEFINED
    rows = zip(table.pos, table.tp, table.fp, strict=True)
    return total(Fraction(p * tp, tp + fp) for p, tp, fp in rows if p) / table.n_pos


def average_precision_interpolated(table: Table) -> Value:
    """The same with the best precision at that score or any lower one."""
    if not table.n_pos:
        return UNDEFINED
    best, terms = Fraction(0), []
    for pos, precision in reversed(list(zip(table.pos, table.precisions, strict=True))):
        best = max(best, precision)
        if pos:
            terms.append(pos * best)
    return total(terms) / table.n_pos


def average_precision_11pt(table: Table) -> Value:
    """The best precision at a recall of at least 0, 0.1, ..., 1, averaged."""
    if not table.n_pos:
        return UNDEFINED
    rows = list(zip(table.tp, table.precisions, strict=True))
    best = [max(p for tp, p in rows if 10 * tp >= i * table.n_pos) for i in range(11)]
    return sum(best, Fraction(0)) / 11


def pr_auc(table: Table) -> Value:
    """Trapezoids under the precision-recall points, which start at precision 1 and recall 0."""
    if not table.n_pos:
        return UNDEFINED
    before = [Fraction(1), *table.precisions]
    rows = zip(table.pos, before, table.precisions, strict=False)
    return total(p * (a + b) for p, a, b in rows if p) / (2 * table.n_pos)


def pr_auc_davis_goadrich(table: Table) -> Value:
    """The integral of precision along the ROC curve, in closed form from point to point."""
    if not table.n_pos:
        return UNDEFINED
    terms = []
    for pos, neg, tp, fp in zip(table.pos, table.neg, table.tp, table.fp, strict=True):
        above_tp, above = Fraction(tp - pos), Fraction(tp + fp - pos - neg)
        if pos:
            rate = Fraction(pos + neg) / Fraction(pos)
            grown = _logarithm((above + pos + neg) / above) if above else Fraction(0)
            terms.append((pos + (above_tp - above / rate) * grown) / rate)
    return sum(terms, Fraction(0)) / Fraction(table.n_pos)


@cache
def _logarithm(number: Fraction) -> Fraction:
    with localcontext() as context:
        context.prec = 40
        return Fraction((Decimal(number.numerator) / Decimal(number.denominator)).ln())


def partial_roc_auc(table: Table, max_fpr: float) -> Value:
    """Area under the ROC curve up to a false positive rate, standardised (McClish 1989)."""
    if not table.n_pos or not table.n_neg:
        return UNDEFINED
    end, area = Fraction(max_fpr), Fraction(0)
    x, y = Fraction(0), Fraction(0)
    for tp, fp in zip(table.tp, table.fp, strict=True):
        next_x, next_y = Fraction(fp, table.n_neg), Fraction(tp, table.n_pos)
        if next_x > end:
            next_y = y + (next_y - y) * (end - x) / (next_x - x)
            next_x = end
        area += (next_x - x) * (y + next_y) / 2
        x, y = next_x, next_y
        if x == end and fp > end * table.n_neg:
            break
    least, most = end * end / 2, end
    return (1 + (area - least) / (most - least)) / 2


def precision_at(table: Table, threshold: float) -> Value:
    tp, fp = table.counts_at(threshold)
    return Fraction(tp, tp + fp) if tp + fp else Fraction(0)


def recall_at(table: Table, threshold: float) -> Value:
    tp, _ = table.counts_at(threshold)
    return Fraction(tp, table.n_pos) if table.n_pos else UNDEFINED


def fpr_at(table: Table, threshold: float) -> Value:
    _, fp = table.counts_at(threshold)
    return Fraction(fp, table.n_neg) if table.n_neg else UNDEFINED


@cache
def squared(x: float) -> tuple[int, int]:
    return (Fraction(x) ** 2).as_integer_ratio()


def f_from_counts(tp: int, fp: int, n_pos: int, beta: float) -> Fraction:
    square, unit = squared(beta)
    above = (unit + square) * tp
    below = above + square * (n_pos - tp) + unit * fp
    return Fraction(above, below) if below else Fraction(0)


def f_at(table: Table, threshold: float, beta: float) -> Value:
    """F of the counts, which without a positive is 0 and not undefined."""
    tp, fp = table.counts_at(threshold)
    return f_from_counts(tp, fp, table.n_pos, beta)


def recall_at_precision(table: Table, precision: float) -> Value:
    """The best recall among thresholds that reach a precision, 0 if none does."""
    if not table.n_pos:
        return UNDEFINED
    rows = zip(table.tp, table.fp, strict=True)
    reached = [tp for tp, fp in rows if is_at_least(tp, tp + fp, precision)]
    return Fraction(max(reached, default=0), table.n_pos)


def net_benefit(table: Table, threshold: float) -> Value:
    n = table.n_pos + table.n_neg
    if not n:
        return UNDEFINED
    tp, fp = table.counts_at(threshold)
    odds = Fraction(threshold) / (1 - Fraction(threshold))
    return Fraction(tp, n) - odds * Fraction(fp, n)


def _decided(table: Table, confidence: float) -> tuple[int, int]:
    """How many decisions of at least a confidence are right, and how many there are."""
    right = n = 0
    for score, pos, neg in zip(table.scores, table.pos, table.neg, strict=True):
        if max(score, 1.0 - score) >= confidence:
            right += pos if score >= 0.5 else neg
            n += pos + neg
    return right, n


def selective_accuracy(table: Table, confidence: float) -> Value:
    right, n = _decided(table, confidence)
    if not table.scores:
        return UNDEFINED
    return Fraction(right, n) if n else Fraction(0)


def selective_coverage(table: Table, confidence: float) -> Value:
    n = table.n_pos + table.n_neg
    return Fraction(_decided(table, confidence)[1], n) if n else UNDEFINED


def precision_at_recall(table: Table, recall: float) -> Value:
    """The best precision among thresholds that reach a recall."""
    if not table.n_pos:
        return UNDEFINED
    rows = zip(table.tp, table.precisions, strict=True)
    return max(p for tp, p in rows if is_at_least(tp, table.n_pos, recall))


def threshold_at_precision(table: Table, precision: float) -> Value:
    """Of the scores that reach a precision the one of highest recall, precision and score."""
    if not table.n_pos:
        return UNDEFINED
    rows = zip(table.tp, table.fp, table.precisions, table.scores, strict=True)
    reached = [(tp, p, x) for tp, fp, p, x in rows if is_at_least(tp, tp + fp, precision)]
    return max(reached)[-1] if reached else UNDEFINED


def is_at_most(part: int, whole: int, bound: float) -> bool:
    return float(Fraction(part, whole)) <= bound


def points_of(table: Table) -> list[tuple[int, int]]:
    """True and false positives at each score, and of nothing predicted."""
    return [(0, 0), *zip(table.tp, table.fp, strict=True)]


def tpr_at_fpr(table: Table, fpr: float) -> Value:
    if not (table.n_pos and table.n_neg):
        return UNDEFINED
    held = [tp for tp, fp in points_of(table) if is_at_most(fp, table.n_neg, fpr)]
    return Fraction(max(held), table.n_pos)


def sensitivity_at_specificity(table: Table, specificity: float) -> Value:
    if not (table.n_pos and table.n_neg):
        return UNDEFINED
    n = table.n_neg
    held = [tp for tp, fp in points_of(table) if is_at_least(n - fp, n, specificity)]
    return Fraction(max(held), table.n_pos)


def fpr_at_tpr(table: Table, tpr: float) -> Value:
    if not (table.n_pos and table.n_neg):
        return UNDEFINED
    held = [fp for tp, fp in points_of(table) if is_at_least(tp, table.n_pos, tpr)]
    return Fraction(min(held), table.n_neg)


def specificity_at_sensitivity(table: Table, sensitivity: float) -> Value:
    return 1 - fpr_at_tpr(table, sensitivity)


def threshold_at_fpr(table: Table, fpr: float) -> Value:
    return _threshold_held(table, lambda fp: is_at_most(fp, table.n_neg, fpr))


def threshold_at_specificity(table: Table, specificity: float) -> Value:
    n = table.n_neg
    return _threshold_held(table, lambda fp: is_at_least(n - fp, n, specificity))


def _threshold_held(table: Table, is_held: Callable[[int], bool]) -> Value:
    """Of the scores that hold a limit and find a positive, that of the most of them."""
    if not (table.n_pos and table.n_neg):
        return UNDEFINED
    rows = zip(table.tp, table.fp, table.scores, strict=True)
    held = [(tp, -fp, x) for tp, fp, x in rows if tp and is_held(fp)]
    return max(held)[-1] if held else UNDEFINED


def threshold_at_sensitivity(table: Table, sensitivity: float) -> Value:
    if not table.n_pos:
        return UNDEFINED
    rows = zip(table.tp, table.scores, strict=True)
    return max(x for tp, x in rows if is_at_least(tp, table.n_pos, sensitivity))


def equal_error_rate(table: Table) -> Value:
    """Where the line from point to point meets the line of equal error rates."""
    if not (table.n_pos and table.n_neg):
        return UNDEFINED
    rates = [(Fraction(fp, table.n_neg), Fraction(tp, table.n_pos)) for tp, fp in points_of(table)]
    for (x0, y0), (x1, y1) in itertools.pairwise(rates):
        if x1 + y1 >= 1:
            return x0 + (1 - x0 - y0) / (x1 + y1 - x0 - y0) * (x1 - x0)
    raise AssertionError("everything predicted has an FPR of 1")


def equal_error_rate_threshold(table: Table) -> Value:
    p, n = table.n_pos, table.n_neg
    if not (p and n):
        return UNDEFINED
    rows = zip(table.tp, table.fp, table.scores, strict=True)
    return max(x for tp, fp, x in rows if fp * p >= (p - tp) * n)


def youden_j(table: Table) -> tuple[Value, float]:
    p, n = table.n_pos, table.n_neg
    if not (p and n):
        return UNDEFINED, UNDEFINED
    rows = zip(table.tp, table.fp, table.scores, strict=True)
    return max((Fraction(tp * n - fp * p, p * n), x) for tp, fp, x in rows)


def gini(table: Table) -> Value:
    return 2 * roc_auc(table) - 1


def positives_at_top(table: Table, share: float) -> Fraction:
    """The positives expected among the highest share of the examples, ties in any order."""
    left, found = typed(share) * (table.n_pos + table.n_neg), Fraction(0)
    for pos, neg in zip(table.pos, table.neg, strict=True):
        taken = min(left, pos + neg)
        found, left = found + pos * taken / Fraction(pos + neg), left - taken
    return found


def precision_at_top(table: Table, share: float) -> Value:
    if not table.n_pos:
        return UNDEFINED
    return positives_at_top(table, share) / (typed(share) * (table.n_pos + table.n_neg))


def recall_at_top(table: Table, share: float) -> Value:
    return positives_at_top(table, share) / table.n_pos if table.n_pos else UNDEFINED


def lift_at_top(table: Table, share: float) -> Value:
    return recall_at_top(table, share) / typed(share) if table.n_pos else UNDEFINED


def min_cost(table: Table, fp_cost: float, fn_cost: float, prevalence: float | None) -> Value:
    p, n = table.n_pos, table.n_neg
    if not (p and n):
        return UNDEFINED
    of_pos = Fraction(p, p + n) if prevalence is None else Fraction(prevalence)
    return min(
        of_pos * Fraction(fn_cost) * Fraction(p - tp, p)
        + (1 - of_pos) * Fraction(fp_cost) * Fraction(fp, n)
        for tp, fp in points_of(table)
    )


def ks(table: Table) -> Value:
    """The largest distance of the true from the false positive rate."""
    p, n = table.n_pos, table.n_neg
    if not p or not n:
        return UNDEFINED
    rows = zip(table.tp, table.fp, strict=True)
    return Fraction(max(abs(tp * n - fp * p) for tp, fp in rows), p * n)


def best_f(table: Table, beta: float) -> tuple[Value, float]:
    """The largest F over the scores, and the highest score that has it."""
    if not table.n_pos:
        return UNDEFINED, UNDEFINED
    rows = zip(table.tp, table.fp, table.scores, strict=True)
    return max((f_from_counts(tp, fp, table.n_pos, beta), score) for tp, fp, score in rows)


def brier(table: Table) -> Value:
    """Mean squared distance of score and label."""
    n = table.n_pos + table.n_neg
    squares = []
    for score, pos, neg in zip(table.scores, table.pos, table.neg, strict=True):
        x, unit = score.as_integer_ratio()
        squares.append(Fraction(pos * (unit - x) ** 2 + neg * x**2, unit**2))
    return total(squares) / n if n else UNDEFINED


@cache
def losses(score: float) -> tuple[Fraction, Fraction]:
    """-log(x) and -log(1 - x) to 30 digits, x clipped at the epsilon of float64."""
    clipped = Decimal(min(max(score, EPSILON), 1 - EPSILON))
    with localcontext() as context:
        context.prec = 120
        other = 1 - clipped
        context.prec = 30
        return Fraction(-clipped.ln()), Fraction(-other.ln())


def log_loss(table: Table) -> Value:
    n = table.n_pos + table.n_neg
    terms = []
    for score, pos, neg in zip(table.scores, table.pos, table.neg, strict=True):
        positive, negative = losses(score)
        terms.append(pos * positive + neg * negative)
    return total(terms) / n if n else UNDEFINED


def d2_log_loss_score(table: Table) -> Value:
    """Share of the log loss of always predicting the share of positives that is avoided."""
    if not (table.n_pos and table.n_neg):
        return UNDEFINED
    n = table.n_pos + table.n_neg
    with localcontext() as context:
        context.prec = 120
        shares = [Decimal(count) / Decimal(n) for count in (table.n_pos, table.n_neg)]
        null = Fraction(-sum(share * share.ln() for share in shares))
    loss = log_loss(table)
    assert isinstance(loss, Fraction)
    return 1 - loss / null


def d2_brier_score(table: Table) -> Value:
    """Share of the squared error of always predicting the share of positives that is avoided."""
    if not (table.n_pos and table.n_neg):
        return UNDEFINED
    score, share = brier(table), Fraction(table.n_pos, table.n_pos + table.n_neg)
    assert isinstance(score, Fraction)
    return 1 - score / (share * (1 - share))


def adaptive_ece(table: Table, bins: int) -> Value:
    """Distance of mean label and mean score in each of equal shares of the mass, averaged."""
    n = table.n_pos + table.n_neg
    if not n:
        return UNDEFINED
    distance, reached = [Fraction(0)] * bins, Fraction(0)
    rows = reversed([*zip(table.scores, table.pos, table.neg, strict=True)])
    for score, pos, neg in rows:
        mass = Fraction(pos + neg)
        for b in range(int(reached * bins / n), bins):
            low, high = Fraction(b * n, bins), Fraction((b + 1) * n, bins)
            if low >= reached + mass:
                break
            part = min(high, reached + mass) - max(low, reached)
            if part > 0:
                distance[b] += part * (Fraction(pos) / mass - Fraction(score))
        reached += mass
    return sum((abs(d) for d in distance), Fraction(0)) / n


def ece(table: Table, bins: int) -> Value:
    """Distance of mean label and mean score in each of [i/bins, (i+1)/bins), weighted by mass.

    The edges are the nearest floats, as docs/explanation/semantics.md says, so that 0.6 is in the
    bin from 9/15 on.
    """
    n = table.n_pos + table.n_neg
    if not n:
        return UNDEFINED
    edges = [i / bins for i in range(1, bins)]
    distance = [Fraction(0)] * bins
    for score, pos, neg in zip(table.scores, table.pos, table.neg, strict=True):
        distance[bisect.bisect_right(edges, score)] += pos - (pos + neg) * Fraction(score)
    return sum((abs(d) for d in distance), Fraction(0)) / n


@dataclass(frozen=True)
class Metric:
    """A number of a curve: by definition, and as the library is asked for it."""

    truth: Callable[[Table], Value]
    ours: Callable[[Any], Any]


def _named(name: str, oracle: Callable[[Table], Value]) -> Metric:
    return Metric(oracle, lambda curve: getattr(curve, name))


def _called(name: str, oracle: Callable[..., Value], argument: float) -> Metric:
    return Metric(
        lambda table: oracle(table, argument), lambda curve: getattr(curve, name)(argument)
    )


OPERATING_POINTS: dict[str, Metric] = {
    **{f"tpr_at_fpr({x})": _called("tpr_at_fpr", tpr_at_fpr, x) for x in (0.0, 0.1, 0.5)},
    **{f"fpr_at_tpr({x})": _called("fpr_at_tpr", fpr_at_tpr, x) for x in (0.3, 0.95)},
    **{
        f"sensitivity_at_specificity({x})": _called(
            "sensitivity_at_specificity", sensitivity_at_specificity, x
        )
        for x in (0.6, 0.9)
    },
    "specificity_at_sensitivity(0.6)": _called(
        "specificity_at_sensitivity", specificity_at_sensitivity, 0.6
    ),
    "equal_error_rate": _named("equal_error_rate", equal_error_rate),
    "youden_j": _named("youden_j", lambda table: youden_j(table)[0]),
    "gini": _named("gini", gini),
    "min_cost()": Metric(
        lambda table: min_cost(table, 1.0, 1.0, None), lambda curve: curve.min_cost()
    ),
    "min_cost(2, 5, 0.125)": Metric(
        lambda table: min_cost(table, 2.0, 5.0, 0.125),
        lambda curve: curve.min_cost(2.0, 5.0, prevalence=0.125),
    ),
}
"""Numbers of both classes."""

TOP_METRICS: dict[str, Metric] = {
    f"{name}({x})": _called(name, oracle, x)
    for name, oracle in {
        "precision_at_top": precision_at_top,
        "recall_at_top": recall_at_top,
        "lift_at_top": lift_at_top,
    }.items()
    for x in (0.1, 0.5, 1.0)
}

CURVE_METRICS: dict[str, Metric] = {
    **OPERATING_POINTS,
    **TOP_METRICS,
    "roc_auc": _named("roc_auc", roc_auc),
    "average_precision": _named("average_precision", average_precision),
    "average_precision_interpolated": _named(
        "average_precision_interpolated", average_precision_interpolated
    ),
    "average_precision_11pt": _named("average_precision_11pt", average_precision_11pt),
    "pr_auc": _named("pr_auc", pr_auc),
    "pr_auc_davis_goadrich": _named("pr_auc_davis_goadrich", pr_auc_davis_goadrich),
    "ks": _named("ks", ks),
    **{f"partial_roc_auc({x})": _called("partial_roc_auc", partial_roc_auc, x) for x in (0.1, 0.5)},
    **{
        f"recall_at_precision({x})": _called("recall_at_precision", recall_at_precision, x)
        for x in (0.3, 0.75, 1.0)
    },
    **{
        f"precision_at_recall({x})": _called("precision_at_recall", precision_at_recall, x)
        for x in (0.1, 0.6, 1.0)
    },
    **{
        f"best_f({beta}).value": Metric(
            lambda table, beta=beta: best_f(table, beta)[0],
            lambda curve, beta=beta: curve.best_f(beta=beta)[0],
        )
        for beta in (1.0, 2.0)
    },
}
"""Numbers that depend on the order of the rows only."""

OPERATING_THRESHOLDS: dict[str, Metric] = {
    **{
        f"threshold_at_fpr({x})": _called("threshold_at_fpr", threshold_at_fpr, x)
        for x in (0.0, 0.1, 0.5)
    },
    "threshold_at_specificity(0.6)": _called(
        "threshold_at_specificity", threshold_at_specificity, 0.6
    ),
    "equal_error_rate_threshold": _named("equal_error_rate_threshold", equal_error_rate_threshold),
    "youden_j_threshold": _named("youden_j_threshold", lambda table: youden_j(table)[1]),
}
"""Scores that need both classes."""

SCORE_METRICS: dict[str, Metric] = {
    **OPERATING_THRESHOLDS,
    **{
        f"threshold_at_sensitivity({x})": _called(
            "threshold_at_sensitivity", threshold_at_sensitivity, x
        )
        for x in (0.3, 1.0)
    },
    **{
        f"threshold_at_precision({x})": _called("threshold_at_precision", threshold_at_precision, x)
        for x in (0.3, 0.75)
    },
    **{
        f"best_f({beta}).threshold": Metric(
            lambda table, beta=beta: best_f(table, beta)[1],
            lambda curve, beta=beta: curve.best_f(beta=beta)[1],
        )
        for beta in (1.0, 0.5)
    },
}
"""Numbers that are scores."""

PROBABILITY_METRICS: dict[str, Metric] = {
    "brier": _named("brier", brier),
    "log_loss": _named("log_loss", log_loss),
    "d2_log_loss_score": _named("d2_log_loss_score", d2_log_loss_score),
    "d2_brier_score": _named("d2_brier_score", d2_brier_score),
    "ece()": Metric(lambda table: ece(table, 15), lambda curve: curve.ece()),
    "adaptive_ece()": Metric(
        lambda table: adaptive_ece(table, 15), lambda curve: curve.adaptive_ece()
    ),
    "adaptive_ece(4)": Metric(
        lambda table: adaptive_ece(table, 4), lambda curve: curve.adaptive_ece(bins=4)
    ),
    "ece(4)": Metric(lambda table: ece(table, 4), lambda curve: curve.ece(bins=4)),
    **{
        f"net_benefit({x})": _called("net_benefit", net_benefit, x)
        for x in (0.0, 0.3, 0.5, 1.0 - 2.0**-53)
    },
    **{
        f"{name}({x})": _called(name, oracle, x)
        for name, oracle in (
            ("selective_accuracy", selective_accuracy),
            ("selective_coverage", selective_coverage),
        )
        for x in (0.5, 0.7, 0.9, 1.0)
    },
}
"""Numbers that read the scores as probabilities."""


def metrics_at(threshold: float) -> dict[str, Metric]:
    """The numbers of one threshold, named so that what precedes a space tells their kind."""
    return {
        f"precision_at {threshold!r}": _called("precision_at", precision_at, threshold),
        f"recall_at {threshold!r}": _called("recall_at", recall_at, threshold),
        f"at.precision {threshold!r}": Metric(
            lambda table: precision_at(table, threshold),
            lambda curve: curve.at([threshold]).precision[0],
        ),
        f"at.recall {threshold!r}": Metric(
            lambda table: recall_at(table, threshold), lambda curve: curve.at([threshold]).recall[0]
        ),
        f"at.fpr {threshold!r}": Metric(
            lambda table: fpr_at(table, threshold), lambda curve: curve.at([threshold]).fpr[0]
        ),
        f"f_at {threshold!r}": Metric(
            lambda table: f_at(table, threshold, 1.0), lambda curve: curve.f_at(threshold)
        ),
        f"f_at {threshold!r}, beta=2": Metric(
            lambda table: f_at(table, threshold, 2.0), lambda curve: curve.f_at(threshold, beta=2.0)
        ),
    }


HALF_BITS = 0x3FE0000000000000
REAL_BIAS = 2**63


def from_bits(pattern: int) -> float:
    """The float64 number of a bit pattern."""
    return struct.unpack("<d", struct.pack("<Q", pattern))[0]


def bits(x: float) -> int:
    """The float64 bit pattern as an unsigned integer."""
    return struct.unpack("<Q", struct.pack("<d", x))[0]


def key(x: float, mode: Mode) -> int:
    """The integer that orders scores: mirrored at one half, or sign and magnitude."""
    if mode == "probability":
        return bits(x + 0.0) if x < 0.5 else 2 * HALF_BITS - bits(1.0 - x)
    return REAL_BIAS + bits(x + 0.0) if x >= 0 else REAL_BIAS - bits(-x)


class Cell(NamedTuple):
    """Neighbouring scores that a sketch no longer tells apart."""

    lo: float
    hi: float
    pos: int
    neg: int

    @property
    def has_several_scores(self) -> bool:
        return self.lo < self.hi

    @property
    def is_loose(self) -> bool:
        """Whether both classes lie at unknown places."""
        return self.has_several_scores and self.pos > 0 and self.neg > 0


def least_level(scores: Iterable[float], mode: Mode, budget: int | None) -> int:
    """The least number of low key bits to forget so that the cells fit."""
    keys, level = {key(x, mode) for x in scores}, 0
    while budget is not None and len(keys) > budget:
        keys, level = {k >> 1 for k in keys}, level + 1
    return level


def cells_of(table: Table, mode: Mode, budget: int | None) -> list[Cell]:
    """The cells of a data set, highest first."""
    level = least_level(table.scores, mode, budget)
    rows = zip(table.scores, table.pos, table.neg, strict=True)
    cells = []
    for _, group in itertools.groupby(rows, lambda row: key(row[0], mode) >> level):
        members = list(group)
        pos, neg = sum(row[1] for row in members), sum(row[2] for row in members)
        cells.append(Cell(members[-1][0], members[0][0], pos, neg))
    return cells


def best_table(cells: Sequence[Cell]) -> Table:
    """The data set D+: every positive at the top of its cell, every negative at the bottom."""
    return _extreme_table(cells, lambda cell: [(cell.hi, cell.pos, 0), (cell.lo, 0, cell.neg)])


def worst_table(cells: Sequence[Cell]) -> Table:
    """The data set D-: every negative at the top of its cell, every positive at the bottom."""
    return _extreme_table(cells, lambda cell: [(cell.hi, 0, cell.neg), (cell.lo, cell.pos, 0)])


def _extreme_table(
    cells: Sequence[Cell], spread: Callable[[Cell], list[tuple[float, int, int]]]
) -> Table:
    rows = []
    for cell in cells:
        single = [(cell.lo, cell.pos, cell.neg)]
        rows += spread(cell) if cell.has_several_scores else single
    rows = [row for row in rows if row[1] or row[2]]
    return Table(*zip(*rows, strict=True)) if rows else Table([], [], [])


def average_precision_interval(
    cells: Sequence[Cell], *, unit: int | None, u: float = 0.5, share_of_c: float = 1.0
) -> tuple[float, float]:
    """Bounds of the step-wise average precision, written down once more from the design.

    `unit` is the weight of one example where all are whole multiples of it, else None.
    `u` and `share_of_c` are there to plant faults.
    """
    n_pos = sum(cell.pos for cell in cells)
    above_pos = above_neg = 0
    low, high = [], []
    for cell in cells:
        p, c = cell.pos, above_neg + cell.neg
        top = above_pos + p
        if p and not cell.has_several_scores:
            low.append(p * top / (top + c))
            high.append(low[-1])
        elif p:
            offset = 0.0 if unit is None else u * unit
            c_used = c * share_of_c
            loss = c_used and c_used * math.log1p(p / (above_pos + offset + c_used))
            low.append(p - loss)
            high.append(p * top / (top + above_neg))
        above_pos, above_neg = top, c
    lowest, highest = math.fsum(low) / n_pos, math.fsum(high) / n_pos
    margin = 2.0**-50
    return lowest * (1 - 2.0**-40) - margin, highest * (1 + 2.0**-40) + margin


def pr_auc_interval(cells: Sequence[Cell]) -> tuple[float, float]:
    """Bounds of the trapezoids under the precision-recall points, from the design."""
    n_pos = sum(cell.pos for cell in cells)
    above_pos = above_neg = 0
    low, high = [], []
    for cell in cells:
        p, c = cell.pos, above_neg + cell.neg
        top, before = above_pos + p, above_pos + above_neg
        exact_before = above_pos / before if before else 1.0
        if p and not cell.has_several_scores:
            low.append(p * (exact_before + top / (top + c)) / 2)
            high.append(low[-1])
        elif p:
            worst_before = above_pos / (above_pos + c) if cell.neg else exact_before
            low.append(p * (worst_before + top / (top + c)) / 2)
            high.append(p - (above_neg and above_neg * math.log1p(p / before)))
        above_pos, above_neg = top, c
    return math.fsum(low) / n_pos, math.fsum(high) / n_pos


@cache
def weak_orderings(pos: int, neg: int) -> tuple[tuple[tuple[int, int], ...], ...]:
    """All ways to rank positives and negatives with ties: (positives, negatives) of each rank."""
    if not pos and not neg:
        return ((),)
    found = []
    for p, n in itertools.product(range(pos + 1), range(neg + 1)):
        if p or n:
            found += [((p, n), *rest) for rest in weak_orderings(pos - p, neg - n)]
    return tuple(found)


def room(cell: Cell, most: int) -> int:
    """How many float64 scores lie strictly inside a cell, counted up to `most`."""
    x, inside = math.nextafter(cell.lo, math.inf), 0
    while x < cell.hi and inside < most:
        x, inside = math.nextafter(x, math.inf), inside + 1
    return inside


def steps(x: float, towards: float, count: int) -> list[float]:
    """The next `count` float64 numbers."""
    return [x := math.nextafter(x, towards) for _ in range(count)]


def orderings_of(cell: Cell) -> list[tuple[tuple[int, int], ...]]:
    """The rankings of a cell's rows that have a row at either end."""
    if not cell.has_several_scores:
        return [((cell.pos, cell.neg),)]
    most = room(cell, cell.pos + cell.neg)
    return [ranks for ranks in weak_orderings(cell.pos, cell.neg) if 2 <= len(ranks) <= most + 2]


def places(cell: Cell, n_ranks: int, n_upper: int) -> list[float]:
    """Scores for the ranks of a cell: `n_upper` inner ones next to the top, the rest to the end."""
    if not cell.has_several_scores:
        return [cell.lo]
    inner = n_ranks - 2
    upper = min(n_upper, inner)
    above = steps(cell.hi, -math.inf, upper)
    below = steps(cell.lo, math.inf, inner - upper)
    return [cell.hi, *above, *reversed(below), cell.lo]


def consistent_tables(cells: Sequence[Cell], *, every_place: bool) -> Iterator[Table]:
    """All data sets of unit weights that have these cells, every ranking and, if asked, place.

    A place says how many of the inner ranks of each cell lie next to its top: what a threshold
    inside the cell can tell apart.
    """
    for rankings in itertools.product(*(orderings_of(cell) for cell in cells)):
        pos = [p for ranks in rankings for p, _ in ranks]
        neg = [n for ranks in rankings for _, n in ranks]
        n_places = max(len(ranks) for ranks in rankings) - 1 if every_place else 1
        for n_upper in range(max(n_places, 1)):
            scores = [
                place
                for cell, ranks in zip(cells, rankings, strict=True)
                for place in places(cell, len(ranks), n_upper)
            ]
            yield Table(scores, pos, neg)


Scores = Callable[[np.random.Generator, int], np.ndarray]


def _a_few_ulps_apart(rng: np.random.Generator, n: int) -> np.ndarray:
    centre = rng.choice([0.1, 0.5, 0.9, 1 - 2.0**-20, 1e-5, rng.random()])
    ulps = rng.integers(-40, 40, n)
    found = np.float64(centre).view(np.int64) + ulps
    return np.clip(found.view(np.float64), 0, 1)


def _half_0_or_1(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.where(rng.random(n) < 0.5, rng.integers(0, 2, n), rng.random(n))


def _saturated_sigmoids(rng: np.random.Generator, n: int) -> np.ndarray:
    logits = rng.normal(rng.choice([0, 10, -10]), 12, n).astype(np.float32)
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-logits))


def _click_rates(rng: np.random.Generator, n: int) -> np.ndarray:
    scores = rng.beta(1.2, 10.0 ** rng.uniform(2, 4), n)
    return scores.astype(rng.choice([np.float32, np.float64]))


def _narrowing(rng: np.random.Generator, n: int) -> np.ndarray:
    width = np.exp2(-np.linspace(0, rng.choice([10, 50]), n))
    return np.clip(0.5 + (rng.random(n) - 0.5) * width, 0, 1)


def _around_half(rng: np.random.Generator, n: int) -> np.ndarray:
    return 0.5 + rng.choice([-1, 1], n) * np.exp2(-rng.uniform(1, 56, n))


def _near_one(rng: np.random.Generator, n: int) -> np.ndarray:
    return 1 - np.exp2(-rng.uniform(0, 55, n))


def _decades(rng: np.random.Generator, n: int) -> np.ndarray:
    return 10.0 ** -rng.uniform(0, 300, n)


def _uniform(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.random(n).astype(rng.choice([np.float16, np.float32, np.float64]))


def _ties(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.integers(0, int(rng.integers(2, 65)), n) / 64


def _subnormals(rng: np.random.Generator, n: int) -> np.ndarray:
    if rng.random() < 0.5:
        return np.ldexp(rng.integers(0, 60, n).astype(np.float32), -149)
    return np.ldexp(rng.integers(0, 2 ** int(rng.integers(3, 53)), n).astype(np.float64), -1074)


def _signed_subnormals(rng: np.random.Generator, n: int) -> np.ndarray:
    return (_subnormals(rng, n) * rng.choice([-1, 1], n)).astype(np.float64)


def _logits(rng: np.random.Generator, n: int) -> np.ndarray:
    scores = rng.normal(rng.normal(0, 3), 10.0 ** rng.uniform(-6, 3), n)
    return scores.astype(rng.choice([np.float16, np.float32, np.float64]), copy=False)


def _infinities(rng: np.random.Generator, n: int) -> np.ndarray:
    largest = np.finfo(np.float64).max
    ends = rng.choice([-np.inf, np.inf, -largest, largest, 0.0, -0.0], n)
    return np.where(rng.random(n) < 0.5, ends, rng.normal(0, 1, n))


GENERATORS: dict[str, tuple[Mode, Scores]] = {
    "a few ulps apart": ("probability", _a_few_ulps_apart),
    "half 0 or 1": ("probability", _half_0_or_1),
    "saturated sigmoids": ("probability", _saturated_sigmoids),
    "click rates": ("probability", _click_rates),
    "narrowing drift": ("probability", _narrowing),
    "around one half": ("probability", _around_half),
    "near one": ("probability", _near_one),
    "decades": ("probability", _decades),
    "uniform": ("probability", _uniform),
    "ties": ("probability", _ties),
    "subnormals": ("probability", _subnormals),
    "logits": ("real", _logits),
    "signed subnormals": ("real", _signed_subnormals),
    "infinities": ("real", _infinities),
    "ulps of reals": ("real", _a_few_ulps_apart),
}
"""How scores are read, and a way to draw them that some sketch would not survive."""


@dataclass(frozen=True, eq=False)
class Sample:
    """One data set and the budget it meets."""

    mode: Mode
    budget: int
    y: np.ndarray
    scores: np.ndarray
    weights: np.ndarray | None

    @cached_property
    def table(self) -> Table:
        weights = None if self.weights is None else self.weights.tolist()
        return Table.of(self.y.tolist(), self.scores.tolist(), weights)

    @cached_property
    def cells(self) -> list[Cell]:
        return cells_of(self.table, self.mode, self.budget)

    @cached_property
    def unit(self) -> int | None:
        """What one example weighs in the table, None if weights are not whole."""
        if self.weights is None:
            return 1
        return 2**62 if np.all(self.weights == np.floor(self.weights)) else None

    def __str__(self) -> str:
        weights = None if self.weights is None else self.weights.tolist()
        rows = f"y={self.y.astype(int).tolist()}, scores={self.scores.tolist()}"
        return f"budget={self.budget}, scores={self.mode!r}, {rows}, weights={weights}"


def sample(name: str, seed: int) -> Sample:
    """The data set of a generator with that number."""
    mode, draw = GENERATORS[name]
    rng = np.random.default_rng([list(GENERATORS).index(name), seed])
    n = int(rng.integers(400, 900)) if seed % 50 == 49 else int(rng.integers(4, 40))
    scores = draw(rng, n)
    most = len(np.unique(scores))
    budget = int(rng.integers(1, min(max(most, 2), 301)))
    if rng.random() < 0.5:
        budget = min(budget, int(rng.integers(1, 6)))
    rate = 0.1 if name == "click rates" else rng.choice([0.1, 0.3, 0.5, 0.8])
    y = rng.random(n) < rate
    if rng.random() < 0.4:
        y = np.argsort(np.argsort(scores + rng.normal(0, 1e-3, n))) >= n * (1 - rate)
    y, scores = _rearranged(rng, y, scores, mode, budget)
    order = [lambda: rng.permutation(n), lambda: np.argsort(scores), lambda: np.argsort(-scores)]
    rows = order[rng.integers(3)]()
    y, scores = y[rows], scores[rows]
    return Sample(mode, budget, y, scores, _weights(rng, y, rare=name == "click rates"))


def _rearranged(
    rng: np.random.Generator, y: np.ndarray, scores: np.ndarray, mode: Mode, budget: int
) -> tuple[np.ndarray, np.ndarray]:
    """Sometimes order the labels inside each cell for the best or for the worst, or tie them."""
    how = rng.choice(["as drawn", "best", "worst", "best, tied", "worst, tied"])
    if how == "as drawn":
        return y, scores
    values = scores.tolist()
    level = least_level(values, mode, budget)
    prefix = np.array([key(x, mode) >> level for x in values])
    y, scores = y.copy(), scores.copy()
    for cell in sorted(set(prefix.tolist())):
        rows = np.flatnonzero(prefix == cell)
        rows = rows[np.argsort(scores[rows], kind="stable")]
        labels = np.sort(y[rows])
        y[rows] = labels if how.startswith("best") else labels[::-1]
        if how.endswith("tied") and 0 < labels.sum() < len(labels):
            is_upper = np.sort(labels) if how.startswith("best") else ~np.sort(labels)[::-1]
            scores[rows] = np.where(is_upper, scores[rows[-1]], scores[rows[0]])
    return y, scores


def _weights(rng: np.random.Generator, y: np.ndarray, *, rare: bool) -> np.ndarray | None:
    """No weights, whole ones or fractions; for rare positives 10,000 times as many negatives."""
    if rare and rng.random() < 0.5:
        return np.where(y, 1, rng.integers(5_000, 20_000, len(y)))
    how = rng.choice(["none", "none", "whole", "eighths", "fractions", "tenths", "large"])
    drawn = {
        "whole": lambda: rng.integers(1, 6, len(y)),
        "eighths": lambda: rng.integers(1, 24, len(y)) / 8,
        "fractions": lambda: rng.uniform(0.01, 3.0, len(y)),
        "tenths": lambda: np.full(len(y), 0.1),
        "large": lambda: rng.choice([1, 2**52 - 1, 2**53 - 1, 2**53 + 1], len(y)),
    }
    return None if how == "none" else drawn[how]()
