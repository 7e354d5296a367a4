"""Sampling intervals of metrics of labels against predictions, and the draws for evidence."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from streameval.exact.array_types import Floats
from streameval.inputs.classes import Label
from streameval.metrics import confusion as metrics
from streameval.metrics import intervals
from streameval.metrics.bounded import Interval
from streameval.metrics.confusion import Average, ClassMetric, Ratio
from streameval.metrics.evidence import Share
from streameval.metrics.intervals import UNDEFINED
from streameval.metrics.label_counts import WRONG, Averaging, LabelCounts, of_examples, right
from streameval.states.confusion import MatrixCounts, MultilabelCounts, ObservedCounts


def ratio_interval(counts: LabelCounts, ratio: ClassMetric, averaging: Averaging, z: float) -> Any:
    """Compute the interval of a ratio per class, or of its average over the classes."""
    how = averaging.resolve(counts)
    if how == "samples":
        return _examples_interval(*of_examples(counts, ratio, averaging.zero_division), z)
    if how == "micro":
        return _pooled_interval(counts, ratio, z, averaging.labels)
    if how == "binary" and isinstance(ratio, Ratio):
        return _class_interval(counts, ratio, counts.config.positive_position, z)
    values = ratio.of(counts.outcomes.floats, averaging.zero_division)
    if how in (None, "binary"):
        low, high = _class_intervals(counts, ratio, values, z)
        if how is None:
            return low, high
        positive = counts.config.positive_position
        return low[positive].item(), high[positive].item()
    averaged = counts.averaged_over(averaging.labels)
    weights = metrics.class_weights(values, counts.outcomes, average=how, averaged=averaged)
    return _mean_interval(counts, ratio, how, weights, values, z)


def _examples_interval(values: Floats, weights: Floats, z: float) -> Interval:
    """Treat a mean over examples as a proportion with its own variance."""
    n, value = math.fsum(weights), metrics.weighted_mean(values, weights)
    variance = metrics.weighted_mean((values - value) ** 2, weights) / n
    return intervals.proportion(value, variance, n, z)


def _class_intervals(
    counts: LabelCounts, ratio: ClassMetric, values: Floats, z: float
) -> tuple[Floats, Floats]:
    """Compute the interval of each class from its four outcomes: [0, 1] where none says more."""
    outcomes = counts.outcomes.floats
    gradient = intervals.ratio_gradient(ratio, outcomes, np.ones(len(values)))
    variances = (outcomes * gradient * gradient).sum(axis=0)
    draws = _draws_at_ends(counts, ratio, outcomes, values)
    ends = [
        intervals.proportion(*of_class, z) if of_class[2] > 0 else (0.0, 1.0)
        for of_class in zip(values.tolist(), variances.tolist(), draws.tolist(), strict=True)
    ]
    low, high = np.array(ends).reshape(-1, 2).T
    return low, high


def _class_interval(counts: LabelCounts, ratio: Ratio, position: int, z: float) -> Interval:
    """Compute the interval of one class as `_class_intervals` does, in a tenth of the time."""
    outcomes = counts.outcomes.floats[:, position].tolist()
    above, below = ratio.parts(outcomes)
    if not below > 0:
        return UNDEFINED
    value, share = above / below, 1.0 / below
    slopes = list(zip(ratio.numerator, ratio.denominator, strict=True))
    gradient = [(of_above - value * of_below) * share for of_above, of_below in slopes]
    terms = [weight * slope * slope for weight, slope in zip(outcomes, gradient, strict=True)]
    # added in the order of columns; from Python 3.12 on, `sum` of floats rounds otherwise
    variance = terms[0] + terms[1] + terms[2] + terms[3]
    at_one = max(of_below - of_above for of_above, of_below in slopes)
    heaviest = at_one if value > 0.0 else max(ratio.numerator)
    return intervals.proportion(value, variance, min(below / heaviest, counts.n), z)


def _mean_interval(
    counts: LabelCounts, ratio: ClassMetric, how: Average, weights: Floats, values: Floats, z: float
) -> Interval:
    """Combine two approximations of the interval of a mean over classes by their wider ends.

    The linear approximation accounts for dependent classes, but not for the uncertainty of a small
    class at 0 or 1. Combining the limits of the classes (MOVER) accounts only for the latter.
    """
    low, high = _class_intervals(counts, ratio, values, z)
    total = math.fsum(weights)
    moving = weights > 0
    if not (high - low)[moving].min(initial=1.0) < 1.0:  # no class says more than its range
        return UNDEFINED
    shares = weights / total
    value = min(math.fsum(np.where(weights > 0, shares * values, 0.0)), 1.0)
    known = counts.has_matrix
    below = intervals.combined((shares * (values - low))[moving], independent=known)
    above = intervals.combined((shares * (high - values))[moving], independent=known)

    gradient = intervals.ratio_gradient(ratio, counts.outcomes.floats, shares)
    if how == "weighted":  # the weights are counts too
        by_support = np.where(weights > 0, (values - value) / total, 0.0)
        gradient[0] += by_support
        gradient[2] += by_support
    variance = _variance(counts, gradient)
    linear_low, linear_high = intervals.proportion(value, variance, math.inf, z)
    return max(min(value - below, linear_low), 0.0), min(max(value + above, linear_high), 1.0)


def _pooled_interval(
    counts: LabelCounts, ratio: ClassMetric, z: float, labels: Sequence[Label] | None = None
) -> Interval:
    """Treat a ratio of pooled counts as a proportion with the delta method's variance."""
    averaged = counts.averaged_over(labels)
    pooled = metrics.pool(counts.outcomes.floats, averaged)
    value = ratio.of(pooled, math.nan)
    draws = _draws_at_ends(counts, ratio, pooled, value, pooled=True).item()
    if not draws > 0:
        return UNDEFINED
    gradient = intervals.ratio_gradient(ratio, pooled, np.ones(1)) * averaged
    return intervals.proportion(value.item(), _variance(counts, gradient), draws, z)


def _variance(counts: LabelCounts, gradient: Floats) -> float:
    """Compute the linear variance; without a matrix, its maximum over all dependences."""
    if isinstance(counts.state, MultilabelCounts) or not counts.has_matrix:
        return intervals.table_deviation(counts.outcomes.floats, gradient) ** 2
    return intervals.matrix_variance(counts.state.matrix.to_floats(), gradient)


def _draws_at_ends(
    counts: LabelCounts, ratio: ClassMetric, outcomes: Floats, values: Floats, pooled: bool = False
) -> Floats:
    """Compute the draws behind values of 0 and 1, where the linear variance is 0.

    One more example moves such a value by its slope ``h`` over the denominator: at 1, only an
    error can, and at 0, only a hit. With ``e`` such examples, the distance from the end is
    ``h e / denominator``, a proportion of ``denominator / h`` draws. Without examples it is 0.
    In pooled counts, an error can be a miss of one class and a false alarm of another.
    """
    _, below = ratio.parts(outcomes)
    of_numerator, of_denominator = ratio.slopes(outcomes)
    by_error = of_denominator - of_numerator
    at_one = by_error.max(axis=0)
    if pooled:
        at_one = np.maximum(at_one, by_error[1] + by_error[2])
    heaviest = np.where(values > 0.0, at_one, of_numerator.max(axis=0))
    draws = np.divide(below, heaviest, out=np.zeros(len(below)), where=below > 0)
    return np.asarray(np.minimum(draws, counts.n))


def accuracy_interval(counts: LabelCounts, value: float, z: float) -> Interval:
    """Treat a share of the examples as a proportion of draws."""
    return intervals.wilson(value, counts.n, z)


def hamming_loss_interval(counts: LabelCounts, value: float, z: float) -> Interval:
    """Treat a share of the examples, or of the entries for multilabel, as a proportion."""
    if isinstance(counts.state, MultilabelCounts):
        return _pooled_interval(counts, WRONG, z)
    return accuracy_interval(counts, value, z)


def top_k_interval(counts: LabelCounts, value: float, z: float) -> Interval:
    """Treat the mean credit of examples, which ties divide, as a proportion with its variance."""
    state, n = counts.state, counts.n
    if not isinstance(state, MatrixCounts):
        return accuracy_interval(counts, value, z)
    cells = metrics.credited_cells(state.credit)
    square = math.fsum(weight * (within / tied) ** 2 for (within, tied), weight in cells) / n
    return intervals.proportion(value, (square - value * value) / n, n, z)


def balanced_accuracy_interval(counts: LabelCounts, _value: float, z: float) -> Interval:
    """Use the macro mean of the recalls of the classes that occur."""
    supported = counts.outcomes.support.is_positive().astype(np.float64)
    recalls = metrics.RECALL.of(counts.outcomes.floats, 0.0)
    return _mean_interval(counts, metrics.RECALL, "macro", supported, recalls, z)


def matthews_interval(counts: LabelCounts, value: float, z: float) -> Interval:
    """Use Fisher's z of the coefficient."""
    if isinstance(counts.state, MultilabelCounts):  # the labels of one example may be dependent
        return UNDEFINED
    matrix = counts.matrix_state("matthews_corrcoef").matrix.to_floats()
    return _agreement_interval(matrix, value, z, intervals.matthews_gradient)


def kappa_interval(counts: LabelCounts, value: float, z: float) -> Interval:
    """Use Fisher's z of kappa."""
    matrix = counts.matrix_state("cohen_kappa").matrix.to_floats()
    return _agreement_interval(matrix, value, z, intervals.kappa_gradient)


def weighted_kappa_interval(matrix: Floats, value: float, z: float, power: int) -> Interval:
    """Use Fisher's z of a kappa of distances to a power."""
    index = np.arange(len(matrix), dtype=np.float64)
    penalty = abs(index[:, None] - index) ** power

    def gradient(matrix: Floats) -> Floats:
        return intervals.weighted_kappa_gradient(matrix, penalty)

    return _agreement_interval(matrix, value, z, gradient, penalty)


def _agreement_interval(
    matrix: Floats,
    value: float,
    z: float,
    gradient: Callable[[Floats], Floats],
    penalty: Floats | None = None,
) -> Interval:
    """Compute the interval of a correlation, which has the variance of the delta method and more.

    As in score intervals, `z` squared further examples of each true class are right by half: few
    examples of a class may all be right or wrong by chance. At 1, there are as many errors as the
    interval of accuracy allows, each with the largest penalty; -1 mirrors that. nan if the truths
    or the predictions are one class: whatever else is true, nothing agrees better than by chance.
    """
    if any(np.count_nonzero(matrix.sum(axis=axis)) < 2 for axis in (0, 1)):
        return UNDEFINED
    if abs(value) < 1.0:
        slopes = gradient(matrix)
        variance = math.fsum((matrix * slopes * slopes).ravel())
        return intervals.fisher(value, variance + z**2 * intervals.unseen(matrix, slopes), z)
    penalty = 1.0 - np.eye(len(matrix)) if penalty is None else penalty
    agreeing = matrix if value > 0.0 else matrix[:, ::-1]
    n = math.fsum(matrix.ravel())
    chance = np.outer(agreeing.sum(axis=1), agreeing.sum(axis=0)) / n**2
    low, _ = intervals.wilson(1.0, n, z)
    reach = (1.0 - low) * float(penalty.max()) / math.fsum((chance * penalty).ravel())
    return (max(1.0 - reach, -1.0), 1.0) if value > 0.0 else (-1.0, min(reach - 1.0, 1.0))


def geometric_mean_interval(counts: LabelCounts, value: float, z: float) -> Interval:
    """Combine two approximations by their wider ends, as for means over classes.

    One combines the limits of the recalls on the log scale. The other treats the mean as a
    proportion with the linear variance of its logarithm, which is unknown at 0.
    """
    hits, draws = metrics.RECALL.parts(counts.outcomes.floats)
    hits, draws = hits[draws > 0.0], draws[draws > 0.0]
    shares, n_classes = [*zip(hits.tolist(), draws.tolist(), strict=True)], len(draws)
    low, high = intervals.product_of_powers(value, shares, [1.0 / n_classes] * len(shares), z)
    if not value > 0.0:
        return low, high
    terms = (draws / hits - 1.0) / draws
    variance = (value / n_classes) ** 2 * math.fsum(terms.tolist())
    linear_low, linear_high = intervals.proportion(value, variance, math.inf, z)
    return min(low, linear_low), min(max(high, linear_high), 1.0)


def mean_distance_interval(counts: LabelCounts, value: float, z: float) -> Interval:
    """Treat the mean as a share of the largest distance, with its own variance."""
    state = counts.matrix_state("mean_class_distance")
    n, largest = counts.n, len(counts.labels) - 1
    if not largest:
        return UNDEFINED
    parts = metrics.distances(state.matrix)
    square = math.fsum(d * d * float(part * state.matrix.unit) for d, part in enumerate(parts)) / n
    share, variance = value / largest, (square - value * value) / (largest * largest * n)
    low, high = intervals.proportion(share, variance, n, z)
    return low * largest, high * largest


def sum_of_shares_interval(first: ClassMetric, second: ClassMetric) -> Callable[..., Interval]:
    """Make the interval of the sum of two proportions minus 1 (Newcombe, 1998, method 10)."""

    def sampling(counts: LabelCounts, value: float, z: float) -> Interval:
        outcomes = counts.outcomes.floats[:, counts.config.positive_position]
        parts = [ratio.parts(outcomes.tolist()) for ratio in (first, second)]
        shares = [above / below for above, below in parts]
        ends = [intervals.wilson(above / below, below, z) for above, below in parts]
        below, above = (
            math.hypot(*(share - end[side] for share, end in zip(shares, ends, strict=True)))
            for side in (0, 1)
        )
        return max(value - below, -1.0), min(value + above, 1.0)

    return sampling


def ratio_of_shares_interval(of_positives: int, of_negatives: int) -> Callable[..., Interval]:
    """Make the interval of a ratio of two rates, given their rows among tp, fp, fn, tn."""

    def sampling(counts: LabelCounts, value: float, z: float) -> Interval:
        tp, fp, fn, tn = every = counts.outcomes.floats[:, counts.config.positive_position].tolist()
        shares = [(every[of_positives], tp + fn), (every[of_negatives], fp + tn)]
        return intervals.product_of_powers(value, shares, [1.0, -1.0], z)

    return sampling


def draws_of_accuracy(counts: LabelCounts) -> Share:
    """Count right examples as hits, and wrong ones as misses."""
    hits = right(counts)
    return Share.of(hits, counts.n - hits)


def draws_of_errors(counts: LabelCounts) -> Share:
    """Count wrong examples as hits, and right ones as misses."""
    hits = right(counts)
    return Share.of(counts.n - hits, hits)


def draws_of_top_k(counts: LabelCounts) -> Share:
    """Count the credit of the examples as hits, and the rest of their weight as misses."""
    state = counts.matrix_state("top_k_accuracy")
    if isinstance(state, ObservedCounts):
        return draws_of_accuracy(counts)
    cells = metrics.credited_cells(state.credit)
    hits = math.fsum(weight * within / tied for (within, tied), weight in cells)
    return Share.of(hits, counts.n - hits)


def draws_of_class(counts: LabelCounts, ratio: Ratio, position: int) -> Share:
    """Count the examples in a ratio of one class as hits and misses."""
    above, below = ratio.parts(counts.outcomes.floats[:, position].tolist())
    worth = int(max(ratio.numerator))
    return Share.of(above / worth, below - above, worth)
