"""Metrics of labels against predictions: their sampling intervals, draws and table."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from streameval.errors import InvalidInputError
from streameval.inputs.labels import Label
from streameval.metrics import confusion as metrics
from streameval.metrics import intervals
from streameval.metrics.confusion import Average, ClassMetric, Quotient, Ratio
from streameval.metrics.evidence import Share, refuse_fractions
from streameval.metrics.intervals import UNDEFINED
from streameval.metrics.label_counts import (
    WRONG,
    Averaging,
    LabelCounts,
    accuracy,
    at_top_k,
    balanced_accuracy,
    cohen_kappa,
    geometric_mean,
    hamming_loss,
    matthews_corrcoef,
    mean_class_distance,
    of_examples,
    ratio_value,
    right,
    top_k_accuracy,
    zero_one_loss,
)
from streameval.metrics.table import EXAMPLES, Interval, Metric, Table, count_row
from streameval.states.confusion import (
    MatrixCounts,
    MultilabelCounts,
    ObservedCounts,
    TopKCounts,
)

__all__ = ["AVERAGES", "TABLE"]

Floats = npt.NDArray[np.float64]


def _ratio_interval(counts: LabelCounts, ratio: ClassMetric, averaging: Averaging, z: float) -> Any:
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
    """Take a mean over examples as a proportion with its own variance."""
    n, value = math.fsum(weights), metrics.weighted_mean(values, weights)
    variance = metrics.weighted_mean((values - value) ** 2, weights) / n if n else math.nan
    return intervals.wilson(value, intervals.effective_draws(value, variance, n), z)


def _class_intervals(
    counts: LabelCounts, ratio: ClassMetric, values: Floats, z: float
) -> tuple[Floats, Floats]:
    """Compute the interval of each class from its own four outcomes."""
    outcomes = counts.outcomes.floats
    gradient = intervals.ratio_gradient(ratio, outcomes, np.ones(len(values)))
    variances = (outcomes * gradient * gradient).sum(axis=0)
    draws = _draws_at_ends(counts, ratio, outcomes, values)
    ends = [
        _proportion_interval(*of_class, z) if of_class[2] > 0 else UNDEFINED
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
    terms = zip(outcomes, gradient, strict=True)
    variance = sum(weight * slope * slope for weight, slope in terms)
    at_one = max(of_below - of_above for of_above, of_below in slopes)
    heaviest = at_one if value > 0.0 else max(ratio.numerator)
    return _proportion_interval(value, variance, min(below / heaviest, counts.n), z)


def _mean_interval(
    counts: LabelCounts, ratio: ClassMetric, how: Average, weights: Floats, values: Floats, z: float
) -> Interval:
    """Combine two approximations of the interval of a mean over classes: their wider ends.

    The linear one accounts for dependent classes, but not for the uncertainty of a small class
    at 0 or 1; combining the limits of the classes (MOVER) accounts for that alone.
    """
    low, high = _class_intervals(counts, ratio, values, z)
    total = math.fsum(weights)
    moving = (weights > 0) & ~np.isnan(low)
    if not total or not moving.any():
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
    draws = intervals.effective_draws(value, _variance(counts, gradient), math.inf)
    linear_low, linear_high = intervals.wilson(value, draws, z)
    return max(min(value - below, linear_low), 0.0), min(max(value + above, linear_high), 1.0)


def _pooled_interval(
    counts: LabelCounts, ratio: ClassMetric, z: float, labels: Sequence[Label] | None = None
) -> Interval:
    """Treat a ratio of pooled counts as a proportion with the delta method's variance."""
    averaged = counts.averaged_over(labels)
    pooled = metrics.pool(counts.outcomes.floats, averaged)
    value = ratio.of(pooled, math.nan)
    draws = _draws_at_ends(counts, ratio, pooled, value).item()
    if not draws > 0:
        return UNDEFINED
    gradient = intervals.ratio_gradient(ratio, pooled, np.ones(1)) * averaged
    return _proportion_interval(value.item(), _variance(counts, gradient), draws, z)


def _proportion_interval(value: float, variance: float, draws_at_ends: float, z: float) -> Interval:
    return intervals.wilson(value, intervals.effective_draws(value, variance, draws_at_ends), z)


def _variance(counts: LabelCounts, gradient: Floats) -> float:
    """Compute the linear variance; without a matrix, the largest that any dependence allows."""
    if isinstance(counts.state, MultilabelCounts) or not counts.has_matrix:
        return intervals.table_deviation(counts.outcomes.floats, gradient) ** 2
    return intervals.matrix_variance(counts.state.matrix.to_floats(), gradient)


def _draws_at_ends(
    counts: LabelCounts, ratio: ClassMetric, outcomes: Floats, values: Floats
) -> Floats:
    """Compute the draws behind values of 0 and 1, where the linear variance is 0.

    One more example moves such a value by its slope ``h`` over the denominator: at 1 it can only
    be an error, and at 0 a hit. With ``e`` of these the distance from the end is
    ``h e / denominator``, a proportion of ``denominator / h`` draws. Without examples it is 0.
    """
    _, below = ratio.parts(outcomes)
    of_numerator, of_denominator = ratio.slopes(outcomes)
    at_one = (of_denominator - of_numerator).max(axis=0)
    heaviest = np.where(values > 0.0, at_one, of_numerator.max(axis=0))
    draws = np.divide(below, heaviest, out=np.zeros(len(below)), where=below > 0)
    return np.asarray(np.minimum(draws, counts.n))


def _accuracy_interval(counts: LabelCounts, value: float, z: float) -> Interval:
    return intervals.wilson(value, counts.n, z)


def _hamming_loss_interval(counts: LabelCounts, value: float, z: float) -> Interval:
    if isinstance(counts.state, MultilabelCounts):
        return _pooled_interval(counts, WRONG, z)
    return _accuracy_interval(counts, value, z)


def _top_k_interval(counts: LabelCounts, value: float, z: float) -> Interval:
    state, n = counts.state, counts.n
    if not isinstance(state, MatrixCounts) or not n:
        return _accuracy_interval(counts, value, z)
    cells = metrics.credited_cells(state.credit)
    square = math.fsum(weight * (within / tied) ** 2 for (within, tied), weight in cells) / n
    draws = intervals.effective_draws(value, (square - value * value) / n, n)
    return intervals.wilson(value, draws, z)


def _balanced_accuracy_interval(counts: LabelCounts, _value: float, z: float) -> Interval:
    supported = counts.outcomes.support.is_positive().astype(np.float64)
    recalls = metrics.RECALL.of(counts.outcomes.floats, 0.0)
    return _mean_interval(counts, metrics.RECALL, "macro", supported, recalls, z)


def _matthews_interval(counts: LabelCounts, value: float, z: float) -> Interval:
    if isinstance(counts.state, MultilabelCounts):  # the labels of one example may be dependent
        return UNDEFINED
    matrix = counts.matrix_state("matthews_corrcoef").matrix.to_floats()
    if value == 1.0:
        return _perfect_interval(matrix, z)
    if _is_degenerate(matrix):
        return UNDEFINED
    variance = math.fsum((matrix * intervals.matthews_gradient(matrix) ** 2).ravel())
    return intervals.fisher(value, variance, z)


def _kappa_interval(counts: LabelCounts, value: float, z: float) -> Interval:
    matrix = counts.matrix_state("cohen_kappa").matrix.to_floats()
    if math.isnan(value) or _is_degenerate(matrix):
        return UNDEFINED
    if value == 1.0:
        return _perfect_interval(matrix, z)
    variance = math.fsum((matrix * intervals.kappa_gradient(matrix) ** 2).ravel())
    return intervals.fisher(value, variance, z)


def _weighted_kappa(power: int) -> dict[str, Any]:
    """Make the value and the interval of a kappa of distances to some power."""
    name = {1: "cohen_kappa_linear", 2: "cohen_kappa_quadratic"}[power]

    def value(counts: LabelCounts) -> float:
        return metrics.weighted_kappa(counts.matrix_state(name).matrix, power)

    def sampling(counts: LabelCounts, number: float, z: float) -> Interval:
        matrix = counts.matrix_state(name).matrix.to_floats()
        if math.isnan(number) or _is_degenerate(matrix):
            return UNDEFINED
        index = np.arange(len(matrix), dtype=np.float64)
        penalty = abs(index[:, None] - index) ** power
        if number == 1.0:  # as many errors as accuracy allows, of the largest penalty
            n = math.fsum(matrix.ravel())
            chance = math.fsum((np.outer(matrix.sum(axis=1), matrix.sum(axis=0)) * penalty).ravel())
            low, _ = intervals.wilson(1.0, n, z)
            return 1.0 - (1.0 - low) * float(penalty.max()) * n * n / chance, 1.0
        gradient = intervals.weighted_kappa_gradient(matrix, penalty)
        return intervals.fisher(number, math.fsum((matrix * gradient * gradient).ravel()), z)

    return {"name": name, "value": value, "sampling": sampling}


def _geometric_mean_interval(counts: LabelCounts, value: float, z: float) -> Interval:
    """Take the mean as a proportion with the variance of the product of independent recalls."""
    support = counts.outcomes.support.to_floats()
    support = support[support > 0.0]
    if not value > 0.0:  # nothing is known of the slope at 0
        return UNDEFINED
    recalls = metrics.RECALL.of(counts.outcomes.floats, math.nan)
    recalls, n_classes = recalls[~np.isnan(recalls)], len(support)
    terms = (1.0 - recalls) / (recalls * support)
    variance = (value / n_classes) ** 2 * math.fsum(terms.tolist())
    at_one = min(n_classes * float(support.min()), counts.n)
    return intervals.wilson(value, intervals.effective_draws(value, variance, at_one), z)


def _mean_distance_interval(counts: LabelCounts, value: float, z: float) -> Interval:
    """Take the mean as a share of the largest distance, with its own variance."""
    state = counts.matrix_state("mean_class_distance")
    n, largest = counts.n, len(counts.labels) - 1
    if not (n and largest):
        return UNDEFINED
    parts = metrics.distances(state.matrix)
    square = math.fsum(d * d * float(part * state.matrix.unit) for d, part in enumerate(parts)) / n
    share, variance = value / largest, (square - value * value) / (largest * largest * n)
    low, high = intervals.wilson(share, intervals.effective_draws(share, variance, n), z)
    return low * largest, high * largest


def _of_positive(name: str, function: Callable[..., float], **row: Any) -> Metric:
    """Make the row of a metric of the positive class of two."""

    def value(counts: LabelCounts) -> float:
        if not counts.config.is_binary:
            raise InvalidInputError("is defined for two classes", argument=name)
        return function(counts.outcomes, counts.config.positive_position)

    return _metric(name, value=value, listed=_is_binary, on_request=True, **row)


def _sum_of_shares(first: ClassMetric, second: ClassMetric) -> Callable[..., Interval]:
    """Make the interval of two independent proportions less 1 (Newcombe, 1998, method 10)."""

    def sampling(counts: LabelCounts, value: float, z: float) -> Interval:
        outcomes = counts.outcomes.floats[:, counts.config.positive_position]
        parts = [ratio.parts(outcomes.tolist()) for ratio in (first, second)]
        if not all(below for _, below in parts):
            return UNDEFINED
        shares = [above / below for above, below in parts]
        ends = [intervals.wilson(above / below, below, z) for above, below in parts]
        below, above = (
            math.hypot(*(share - end[side] for share, end in zip(shares, ends, strict=True)))
            for side in (0, 1)
        )
        return max(value - below, -1.0), min(value + above, 1.0)

    return sampling


def _ratio_of_shares(of_positives: int, of_negatives: int) -> Callable[..., Interval]:
    """Make the interval of the ratio of an outcome's rates, given its rows among tp, fp, fn, tn."""

    def sampling(counts: LabelCounts, value: float, z: float) -> Interval:
        tp, fp, fn, tn = every = counts.outcomes.floats[:, counts.config.positive_position].tolist()
        hits = (every[of_positives], every[of_negatives])
        return intervals.log_ratio(value, hits, (tp + fn, fp + tn), z)

    return sampling


def _perfect_interval(matrix: Floats, z: float) -> Interval:
    n = math.fsum(matrix.ravel())
    shares = np.diagonal(matrix) / n
    return intervals.perfect_agreement(math.fsum(shares * shares), n, z)


def _draws_of_accuracy(counts: LabelCounts) -> Share:
    refuse_fractions(counts.has_whole_weights)
    hits = right(counts)
    return Share.of(hits, counts.n - hits)


def _draws_of_errors(counts: LabelCounts) -> Share:
    refuse_fractions(counts.has_whole_weights)
    hits = right(counts)
    return Share.of(counts.n - hits, hits)


def _draws_of_top_k(counts: LabelCounts) -> Share:
    state = counts.matrix_state("top_k_accuracy")
    refuse_fractions(counts.has_whole_weights)
    if isinstance(state, ObservedCounts):
        return _draws_of_accuracy(counts)
    cells = metrics.credited_cells(state.credit)
    hits = math.fsum(weight * within / tied for (within, tied), weight in cells)
    return Share.of(hits, counts.n - hits)


def _draws_of_class(counts: LabelCounts, ratio: Ratio, position: int) -> Share:
    """Take the examples that a ratio of one class is about, as hits and misses."""
    refuse_fractions(counts.has_whole_weights)
    above, below = ratio.parts(counts.outcomes.floats[:, position].tolist())
    worth = int(max(ratio.numerator))
    return Share.of(above / worth, below - above, worth)


def _is_degenerate(matrix: Floats) -> bool:
    return any(int(np.count_nonzero(matrix.sum(axis=axis))) < 2 for axis in (0, 1))


def _is_multilabel(counts: LabelCounts) -> bool:
    return isinstance(counts.state, MultilabelCounts)


def _is_single_label(counts: LabelCounts) -> bool:
    return not _is_multilabel(counts)


def _is_binary(counts: LabelCounts) -> bool:
    return counts.config.is_binary


def _metric(name: str, **row: Any) -> Metric:
    """Make the row of a metric, with the defaults of this table."""
    defaults: dict[str, Any] = {
        "better": "higher",
        "why_none": "fractional weights and empty classes have none",
        "why_no_evidence": "it is not a proportion of examples",
    }
    return Metric(name=name, **defaults | row)


def _per_class(name: str, metric: Callable[..., ClassMetric], **row: Any) -> Metric:
    """Make the row of a metric of each class with its averages; `metric` takes its arguments."""
    own = tuple(argument.partition("=")[0] for argument in row.get("arguments", ()))
    usual = metric()

    def chosen(args: Any, options: Any) -> tuple[ClassMetric, Averaging]:
        """Separate the arguments of the metric from those of averages."""
        if not args and not options:
            return usual, _USUAL
        names = (*own, "average")
        given = dict(zip(names, args, strict=False)) | options
        if len(args) > len(names) or not given.keys() <= {*names, *_AVERAGING}:
            accepted = ", ".join([*own, "average, zero_division and labels"])
            raise InvalidInputError(f"takes {accepted}", argument=name)
        averaging = Averaging(**{key: given.pop(key) for key in _AVERAGING if key in given})
        return metric(**given), averaging

    def value(counts: LabelCounts, *args: Any, **options: Any) -> Any:
        return ratio_value(counts, *chosen(args, options))

    def sampling(counts: LabelCounts, _value: Any, z: float, *args: Any, **options: Any) -> Any:
        return _ratio_interval(counts, *chosen(args, options), z)

    def draws(counts: LabelCounts, position: int) -> Share:
        return _draws_of_class(counts, usual, position)  # type: ignore[arg-type] # a Ratio

    if isinstance(usual, Ratio):
        row["evidence"] = draws
    return _metric(name, value=value, sampling=sampling, averages=AVERAGES, **row)


def _of_top_k(name: str, metric: Callable[..., ClassMetric], **row: Any) -> Metric:
    """Make the row of a metric of each class, of predictions among the best k scores."""
    usual = _per_class(name, metric, **row)
    interval: Any = usual.sampling

    def value(counts: LabelCounts, *args: Any, **options: Any) -> Any:
        return usual.value(at_top_k(counts, name), *args, **options)

    def sampling(counts: LabelCounts, number: float, z: float, *args: Any, **options: Any) -> Any:
        return interval(at_top_k(counts, name), number, z, *args, **options)

    def draws(counts: LabelCounts, position: int) -> Share:
        return usual.statistic(at_top_k(counts, name), position)  # type: ignore[return-value]

    return attrs.evolve(
        usual,
        value=value,
        sampling=sampling,
        evidence=usual.evidence and draws,
        listed=lambda counts: isinstance(counts.state, TopKCounts),
    )


_AVERAGING = tuple(field.name for field in attrs.fields(Averaging))
_USUAL = Averaging()


def _outcome(name: str, what: str) -> Metric:
    def value(counts: LabelCounts) -> int | float:
        every = getattr(counts.outcomes, name).to_numbers()
        number: int | float = every[counts.config.positive_position].item()
        return number

    of = "negatives" if name in ("fn", "tn") else "positives"
    text = f"{what} {of}: of the positive class of two, else an array of shape (K,)."
    return count_row(name, "", text, value=value, listed=_is_binary)


AVERAGES = {
    "macro": "the mean over the classes that occur",
    "micro": "of the pooled counts",
    "weighted": "the mean weighted by support",
    "samples": 'the mean over examples, for multilabel with measures=["samples"]',
}
"""The averages of metrics per class."""

TABLE = Table(
    EXAMPLES,
    _outcome("tp", "True"),
    _outcome("fp", "False"),
    _outcome("fn", "False"),
    _outcome("tn", "True"),
    count_row(
        "n_averaged",
        "",
        "How many classes enter macro and weighted means.",
        notes="Those that occur in truth or prediction, all with include_unseen=True; for "
        "multilabel, those with any known entry.",
        listed=lambda counts: not _is_binary(counts),
    ),
    _metric(
        "accuracy",
        aliases=("acc", "accuracy_score", "subset_accuracy", "exact_match"),
        heading="Accuracy",
        help="The share of examples predicted right, in [0, 1]; nan without examples.",
        notes="For multilabel, the share with every label right (subset accuracy).",
        formula=r"\sum_k C_{kk} / n",
        value=accuracy,
        sampling=_accuracy_interval,
        evidence=_draws_of_accuracy,
        oracle="scikit-learn, accuracy_score",
        headline=1,
    ),
    _metric(
        "top_k_accuracy",
        aliases=("top_k", "topk", "top_k_accuracy_score"),
        heading="Top-k accuracy",
        help="The share of examples whose true class is among the top_k best scores.",
        notes="A tie at the cutoff gets its average credit over all orders, so a constant "
        "score gives k / K.",
        formula=r"\frac1n \sum_i P(\operatorname{rank}_i \le k)",
        value=top_k_accuracy,
        sampling=_top_k_interval,
        evidence=_draws_of_top_k,
        oracle="the mean over all orders of ties; scikit-learn, top_k_accuracy_score",
        listed=lambda counts: _is_single_label(counts) and counts.config.top_k > 1,
    ),
    _of_top_k(
        "top_k_precision",
        lambda: metrics.PRECISION,
        heading="Precision of the best k",
        help="Precision where a true class among the top_k best scores is the prediction.",
        notes="Else the class of the highest score is. Tied classes come in the order of the "
        "columns.",
        formula=r"\frac{TP}{TP + FP}",
        oracle="torchmetrics, MulticlassPrecision with top_k",
    ),
    _of_top_k(
        "top_k_recall",
        lambda: metrics.RECALL,
        heading="Recall of the best k",
        help="The share of a class that is among the top_k best scores.",
        notes="Tied classes come in the order of the columns.",
        formula=r"\frac{TP}{TP + FN}",
        oracle="torchmetrics, MulticlassRecall with top_k",
    ),
    _of_top_k(
        "top_k_f_score",
        metrics.f_ratio,
        aliases=("top_k_f1",),
        heading="F1 of the best k",
        help="F of top_k_precision and top_k_recall.",
        formula=r"\frac{(1 + \beta^2) TP}{(1 + \beta^2) TP + \beta^2 FN + FP}",
        arguments=("beta=1.0", "alpha=None"),
        oracle="torchmetrics, MulticlassFBetaScore with top_k",
    ),
    _metric(
        "hamming_loss",
        aliases=("hamming",),
        heading="Hamming loss",
        help="The share of wrong labels, in [0, 1]; for one label an example, 1 - accuracy.",
        formula=r"\frac{FP + FN}{TP + FP + FN + TN}",
        better="lower",
        value=hamming_loss,
        sampling=_hamming_loss_interval,
        why_no_evidence="the labels of one example are not independent draws",
        oracle="scikit-learn, hamming_loss",
        listed=_is_multilabel,
    ),
    _metric(
        "balanced_accuracy",
        aliases=("bacc", "balanced_accuracy_score", "uar"),
        heading="Balanced accuracy",
        help="The mean recall of the classes that occur in the truth; nan without examples.",
        formula=r"\frac1{|T|} \sum_{k \in T} \frac{TP_k}{TP_k + FN_k}",
        value=balanced_accuracy,
        sampling=_balanced_accuracy_interval,
        why_no_evidence="a mean over classes is not a proportion of examples",
        oracle="scikit-learn, balanced_accuracy_score",
        listed=_is_single_label,
    ),
    _per_class(
        "precision",
        lambda: metrics.PRECISION,
        aliases=("ppv", "precision_score"),
        heading="Precision",
        by_class=True,
        help="TP / (TP + FP), the share of the predicted positives that are positive.",
        formula=r"\frac{TP}{TP + FP}",
        oracle="scikit-learn, precision_recall_fscore_support",
    ),
    _per_class(
        "recall",
        lambda: metrics.RECALL,
        aliases=("tpr", "sensitivity", "recall_score"),
        heading="Recall",
        by_class=True,
        help="TP / (TP + FN), the share of the positives that were found.",
        formula=r"\frac{TP}{TP + FN}",
        oracle="scikit-learn, precision_recall_fscore_support",
    ),
    _per_class(
        "specificity",
        lambda: metrics.SPECIFICITY,
        aliases=("tnr", "selectivity"),
        heading="Specificity",
        help="TN / (TN + FP), the share of the negatives that were predicted negative.",
        formula=r"\frac{TN}{TN + FP}",
        oracle="the definition: scikit-learn has none",
    ),
    _per_class(
        "f_score",
        metrics.f_ratio,
        aliases=("f", "f1", "f1_score", "fscore", "f_measure", "fbeta", "fbeta_score", "dice"),
        heading="F1",
        help="(1 + b^2) TP / ((1 + b^2) TP + b^2 FN + FP), with b = beta.",
        notes="The weighted harmonic mean of precision and recall; recall counts beta times as "
        "much.",
        formula=r"\frac{(1 + \beta^2) TP}{(1 + \beta^2) TP + \beta^2 FN + FP}",
        arguments=("beta=1.0", "alpha=None"),
        by_class=True,
        headline=2,
        oracle="scikit-learn, precision_recall_fscore_support",
    ),
    _per_class(
        "jaccard",
        lambda: metrics.JACCARD,
        aliases=("iou", "miou", "mean_iou", "jaccard_score", "jaccard_index"),
        heading="Jaccard",
        help="TP / (TP + FP + FN), the intersection over the union.",
        formula=r"\frac{TP}{TP + FP + FN}",
        oracle="scikit-learn, jaccard_score",
    ),
    _per_class(
        "fowlkes_mallows",
        lambda: Quotient(metrics.fowlkes_mallows),
        heading="Fowlkes-Mallows",
        help="sqrt(PPV * TPR), the geometric mean of precision and recall.",
        notes="Of the examples of a class, not of the pairs of two clusterings.",
        formula=r"\sqrt{\frac{TP}{TP + FP} \cdot \frac{TP}{TP + FN}}",
        oracle="the definition, by precision and recall of scikit-learn",
    ),
    _metric(
        "matthews_corrcoef",
        aliases=("mcc", "matthews"),
        heading="Matthews correlation",
        help="The correlation of truth and prediction, in [-1, 1].",
        notes="Gorodkin's R_K for more than two classes. For multilabel, over all labels pooled.",
        formula=r"\frac{n \sum_k C_{kk} - \sum_k t_k p_k}"
        r"{\sqrt{(n^2 - \sum_k t_k^2)(n^2 - \sum_k p_k^2)}}",
        value=matthews_corrcoef,
        sampling=_matthews_interval,
        oracle="scikit-learn, matthews_corrcoef",
    ),
    _metric(
        "cohen_kappa",
        aliases=("kappa", "cohen_kappa_score"),
        heading="Cohen's kappa",
        help="The agreement beyond chance, at most 1; nan when both are one and the same class.",
        formula=r"\frac{p_o - p_e}{1 - p_e}",
        value=cohen_kappa,
        sampling=_kappa_interval,
        oracle="scikit-learn, cohen_kappa_score",
        listed=_is_single_label,
    ),
    _metric(
        "zero_one_loss",
        aliases=("error_rate", "error", "misclassification_rate"),
        heading="Zero-one loss",
        help="The share of examples with any label wrong, in [0, 1]; 1 - accuracy.",
        formula=r"1 - \sum_k C_{kk} / n",
        better="lower",
        value=zero_one_loss,
        sampling=_accuracy_interval,
        evidence=_draws_of_errors,
        oracle="scikit-learn, zero_one_loss",
        on_request=True,
    ),
    _metric(
        "geometric_mean",
        aliases=("g_mean", "gmean", "geometric_mean_score"),
        heading="Geometric mean of recalls",
        help="The K-th root of the product of the recalls of the K classes in the truth.",
        notes="Of two classes, sqrt(TPR * TNR). 0 if one is never found; nan without examples.",
        formula=r"\Big(\prod_{k \in T} \frac{TP_k}{TP_k + FN_k}\Big)^{1 / |T|}",
        value=geometric_mean,
        sampling=_geometric_mean_interval,
        why_no_evidence="a mean over classes is not a proportion of examples",
        oracle="the definition, by recalls of scikit-learn",
        listed=_is_single_label,
        on_request=True,
    ),
    _metric(
        **_weighted_kappa(1),
        aliases=("linear_kappa", "weighted_kappa", "linear_weighted_kappa"),
        heading="Cohen's kappa, linear",
        help="Kappa of ordered classes: an error counts by its distance, abs(i - j).",
        notes="At most 1; nan when both are one and the same class.",
        formula=r"1 - \frac{\sum_{ij} |i - j| C_{ij}}{\sum_{ij} |i - j| t_i p_j / n}",
        oracle='scikit-learn, cohen_kappa_score with weights="linear"',
        listed=_is_single_label,
        on_request=True,
    ),
    _metric(
        **_weighted_kappa(2),
        aliases=("qwk", "quadratic_kappa", "quadratic_weighted_kappa"),
        heading="Cohen's kappa, quadratic",
        help="Kappa of ordered classes: an error counts by its squared distance, (i - j)^2.",
        notes="At most 1; nan when both are one and the same class.",
        formula=r"1 - \frac{\sum_{ij} (i - j)^2 C_{ij}}{\sum_{ij} (i - j)^2 t_i p_j / n}",
        oracle='scikit-learn, cohen_kappa_score with weights="quadratic"',
        listed=_is_single_label,
        on_request=True,
    ),
    _metric(
        "mean_class_distance",
        aliases=("ordinal_mae", "mean_absolute_class_distance"),
        heading="Mean class distance",
        help="The mean of abs(i - j) over examples of class i predicted as j, of ordered classes.",
        notes="In [0, K - 1]; nan without examples.",
        formula=r"\frac1n \sum_{ij} |i - j| C_{ij}",
        better="lower",
        value=mean_class_distance,
        sampling=_mean_distance_interval,
        oracle="scikit-learn, mean_absolute_error of class numbers",
        listed=_is_single_label,
        on_request=True,
    ),
    _per_class(
        "negative_predictive_value",
        lambda: metrics.NEGATIVE_PREDICTIVE_VALUE,
        aliases=("npv",),
        heading="Negative predictive value",
        help="TN / (TN + FN), the share of the predicted negatives that are negative.",
        formula=r"\frac{TN}{TN + FN}",
        oracle="the definition: scikit-learn has none",
        on_request=True,
    ),
    _per_class(
        "false_positive_rate",
        lambda: metrics.FALSE_POSITIVE_RATE,
        aliases=("fpr", "fallout", "fall_out", "false_alarm_rate"),
        heading="False positive rate",
        help="FP / (FP + TN), the share of the negatives that were predicted positive.",
        formula=r"\frac{FP}{FP + TN}",
        better="lower",
        oracle="the definition: scikit-learn has none",
        on_request=True,
    ),
    _per_class(
        "false_negative_rate",
        lambda: metrics.FALSE_NEGATIVE_RATE,
        aliases=("fnr", "miss_rate"),
        heading="False negative rate",
        help="FN / (FN + TP), the share of the positives that were missed.",
        formula=r"\frac{FN}{FN + TP}",
        better="lower",
        oracle="the definition: scikit-learn has none",
        on_request=True,
    ),
    _per_class(
        "false_discovery_rate",
        lambda: metrics.FALSE_DISCOVERY_RATE,
        aliases=("fdr",),
        heading="False discovery rate",
        help="FP / (FP + TP), the share of the predicted positives that are negative.",
        formula=r"\frac{FP}{FP + TP}",
        better="lower",
        oracle="the definition: scikit-learn has none",
        on_request=True,
    ),
    _per_class(
        "false_omission_rate",
        lambda: metrics.FALSE_OMISSION_RATE,
        aliases=("for",),
        heading="False omission rate",
        help="FN / (FN + TN), the share of the predicted negatives that are positive.",
        formula=r"\frac{FN}{FN + TN}",
        better="lower",
        oracle="the definition: scikit-learn has none",
        on_request=True,
    ),
    _of_positive(
        "positive_likelihood_ratio",
        metrics.positive_likelihood_ratio,
        aliases=("lr_plus", "plr", "diagnostic_likelihood_ratio"),
        heading="Positive likelihood ratio",
        help="TPR / FPR, at least 0: how much a predicted positive raises the odds; two classes.",
        notes="nan when it divides by 0.",
        formula=r"\frac{TP / (TP + FN)}{FP / (FP + TN)}",
        sampling=_ratio_of_shares(0, 1),
        oracle="scikit-learn, class_likelihood_ratios",
    ),
    _of_positive(
        "negative_likelihood_ratio",
        metrics.negative_likelihood_ratio,
        aliases=("lr_minus", "nlr"),
        heading="Negative likelihood ratio",
        help="FNR / TNR, at least 0: how much a predicted negative lowers the odds; two classes.",
        notes="nan when it divides by 0.",
        formula=r"\frac{FN / (TP + FN)}{TN / (FP + TN)}",
        better="lower",
        sampling=_ratio_of_shares(2, 3),
        oracle="scikit-learn, class_likelihood_ratios",
    ),
    _of_positive(
        "informedness",
        metrics.informedness,
        aliases=("youden", "youden_j", "youdens_j", "bookmaker_informedness"),
        heading="Informedness",
        help="TPR + TNR - 1, in [-1, 1], Youden's J; of two classes.",
        notes="nan unless both classes are in the truth.",
        formula=r"\frac{TP}{TP + FN} + \frac{TN}{TN + FP} - 1",
        sampling=_sum_of_shares(metrics.RECALL, metrics.SPECIFICITY),
        oracle="scikit-learn, balanced_accuracy_score with adjusted=True",
    ),
    _of_positive(
        "markedness",
        metrics.markedness,
        aliases=("delta_p",),
        heading="Markedness",
        help="PPV + NPV - 1, in [-1, 1]; of two classes.",
        notes="nan unless both classes are in the prediction.",
        formula=r"\frac{TP}{TP + FP} + \frac{TN}{TN + FN} - 1",
        sampling=_sum_of_shares(metrics.PRECISION, metrics.NEGATIVE_PREDICTIVE_VALUE),
        oracle="scikit-learn, balanced_accuracy_score with truth and prediction exchanged",
    ),
)
"""What `Confusion` shows, in this order; the rest only where it is asked for."""
