"""Metrics of labels against predictions: their functions, sampling intervals and table."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import attrs
import numpy as np
import numpy.typing as npt

from streameval.configs.confusion import ConfusionConfig
from streameval.configs.options import real_number
from streameval.errors import InvalidInputError
from streameval.inputs.labels import Label
from streameval.metrics import classification as metrics
from streameval.metrics import intervals
from streameval.metrics.classification import Average, ClassMetric, Outcomes, Quotient, Ratio
from streameval.metrics.evidence import Share, refuse_fractions
from streameval.metrics.intervals import UNDEFINED
from streameval.metrics.table import EXAMPLES, Interval, Metric, Table, count_row
from streameval.states.confusion import MatrixCounts, MultilabelCounts, ObservedCounts

__all__ = ["AVERAGES", "TABLE", "AverageOption", "ConfusionCounts", "LabelCounts", "ratio_value"]

Floats = npt.NDArray[np.float64]
AverageOption = Average | Literal["default"] | None
ConfusionCounts = MatrixCounts | ObservedCounts | MultilabelCounts

_AVERAGES = ("binary", "macro", "micro", "weighted", None)


@attrs.frozen
class LabelCounts:
    """A state of counts and its options: the source of every metric."""

    config: ConfusionConfig
    state: ConfusionCounts
    outcomes: Outcomes = attrs.field(eq=False)

    @classmethod
    def of(cls, config: ConfusionConfig, state: ConfusionCounts) -> LabelCounts:
        """Compute the outcomes of each class."""
        if isinstance(state, MultilabelCounts):
            return cls(config, state, Outcomes.of_tables(state.outcomes))
        return cls(config, state, Outcomes.of_matrix(state.n, state.matrix))

    @property
    def n(self) -> int | float:
        """The sum of the weights: an int while all of them are whole."""
        number: int | float = self.state.n.to_numbers().item()
        return number

    @property
    def has_whole_weights(self) -> bool:
        """Whether every weight is a whole number of repeats."""
        return self.state.n.is_whole

    @property
    def labels(self) -> tuple[Label, ...]:
        """The classes in the order of rows and columns."""
        return self.state.labels if isinstance(self.state, ObservedCounts) else self.config.labels

    @property
    def class_names(self) -> tuple[Label, ...]:
        """What the classes are shown by, in the order of rows and columns."""
        return self.labels if isinstance(self.state, ObservedCounts) else self.config.class_names

    @property
    def matrix(self) -> npt.NDArray[Any]:
        """The matrix, or one table per label."""
        if isinstance(self.state, MultilabelCounts):
            return self.state.outcomes.to_numbers()
        return self.state.matrix.to_numbers()

    @property
    def averaged(self) -> npt.NDArray[np.bool_]:
        """Which classes enter means: those that occur, or all if the options say so."""
        if self.config.include_unseen:
            return np.ones(len(self.labels), dtype=bool)
        if isinstance(self.state, MultilabelCounts):
            return self.outcomes.seen() | self.outcomes.tn.is_positive()
        return self.outcomes.seen()

    @property
    def n_averaged(self) -> int:
        """The number of classes that enter means."""
        return int(np.count_nonzero(self.averaged))

    def resolve(self, average: AverageOption) -> Average | None:
        """Resolve the default average, and refuse one that these classes do not have."""
        if average == "default":
            return "binary" if self.config.is_binary else "macro"
        if average not in _AVERAGES:
            raise InvalidInputError(
                f"must be one of {_AVERAGES}, got {average!r}", argument="average"
            )
        if average == "binary" and not self.config.is_binary:
            raise InvalidInputError('"binary" needs two listed classes', argument="average")
        return average

    def matrix_state(self, name: str) -> MatrixCounts | ObservedCounts:
        """Return the counts of one label per example, without which `name` is undefined."""
        if isinstance(self.state, MultilabelCounts):
            raise InvalidInputError("is not defined for multilabel counts", argument=name)
        return self.state


_WRONG = Ratio((0, 1, 1, 0), (1, 1, 1, 1))


def accuracy(counts: LabelCounts) -> float:
    """Compute the share of examples with every label right."""
    return _share(right(counts), counts.n)


def right(counts: LabelCounts) -> float:
    """Sum the weights of the examples with every label right."""
    if isinstance(counts.state, MultilabelCounts):
        return counts.state.exact_match.to_floats().item()
    return counts.outcomes.tp.sum().to_floats().item()


def hamming_loss(counts: LabelCounts) -> float:
    """Compute the share of wrong labels."""
    if isinstance(counts.state, MultilabelCounts):
        everything = np.ones(len(counts.labels), dtype=bool)
        pooled = metrics.pool(counts.outcomes.floats, everything)
        return float(_WRONG.of(pooled, math.nan)[0])
    wrong = counts.state.n - counts.outcomes.tp.sum()
    return _share(wrong.to_floats().item(), counts.n)


def top_k_accuracy(counts: LabelCounts) -> float:
    """Compute the mean credit of the true class."""
    state = counts.matrix_state("top_k_accuracy")
    if isinstance(state, ObservedCounts):
        return accuracy(counts)
    return metrics.top_k_accuracy(state.n, state.credit)


def balanced_accuracy(counts: LabelCounts) -> float:
    """Compute the mean recall of the classes in the truth."""
    counts.matrix_state("balanced_accuracy")
    return metrics.average_ratio(
        metrics.RECALL,
        counts.outcomes,
        average="macro",
        averaged=counts.outcomes.support.is_positive(),
        zero_division=math.nan,
    )


def matthews_corrcoef(counts: LabelCounts) -> float:
    """Compute the correlation of truth and prediction."""
    counts.matrix_state("matthews_corrcoef")
    return metrics.matthews_corrcoef(counts.outcomes)


def cohen_kappa(counts: LabelCounts) -> float:
    """Compute the agreement beyond chance."""
    counts.matrix_state("cohen_kappa")
    return metrics.cohen_kappa(counts.outcomes)


def _share(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


def ratio_value(
    counts: LabelCounts, ratio: ClassMetric, average: AverageOption, zero_division: float
) -> Any:
    """Compute a ratio, averaged over the classes or for each of them."""
    zero_division = real_number(zero_division, name="zero_division")
    if not (zero_division in (0.0, 1.0) or math.isnan(zero_division)):
        raise InvalidInputError(
            f"must be 0.0, 1.0 or nan, got {zero_division!r}", argument="zero_division"
        )
    how = counts.resolve(average)
    if how is None:
        return ratio.of(counts.outcomes.floats, zero_division)
    if how == "binary":
        outcomes = counts.outcomes.floats[:, counts.config.positive_position]
        return ratio.of_one(outcomes, zero_division)
    return metrics.average_ratio(
        ratio,
        counts.outcomes,
        average=how,
        averaged=counts.averaged,
        zero_division=zero_division,
    )


def _ratio_interval(
    counts: LabelCounts, ratio: ClassMetric, average: AverageOption, zero_division: float, z: float
) -> Any:
    how = counts.resolve(average)
    if how == "micro":
        return _pooled_interval(counts, ratio, z)
    if how == "binary" and isinstance(ratio, Ratio):
        return _class_interval(counts, ratio, counts.config.positive_position, z)
    values = ratio.of(counts.outcomes.floats, zero_division)
    if how in (None, "binary"):
        low, high = _class_intervals(counts, ratio, values, z)
        if how is None:
            return low, high
        positive = counts.config.positive_position
        return low[positive].item(), high[positive].item()
    weights = metrics.class_weights(values, counts.outcomes, average=how, averaged=counts.averaged)
    return _mean_interval(counts, ratio, how, weights, values, z)


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
    independent = not isinstance(counts.state, MultilabelCounts)
    below = intervals.combined((shares * (values - low))[moving], independent=independent)
    above = intervals.combined((shares * (high - values))[moving], independent=independent)

    gradient = intervals.ratio_gradient(ratio, counts.outcomes.floats, shares)
    if how == "weighted":  # the weights are counts too
        by_support = np.where(weights > 0, (values - value) / total, 0.0)
        gradient[0] += by_support
        gradient[2] += by_support
    draws = intervals.effective_draws(value, _variance(counts, gradient), math.inf)
    linear_low, linear_high = intervals.wilson(value, draws, z)
    return max(min(value - below, linear_low), 0.0), min(max(value + above, linear_high), 1.0)


def _pooled_interval(counts: LabelCounts, ratio: ClassMetric, z: float) -> Interval:
    """Treat a ratio of pooled counts as a proportion with the delta method's variance."""
    averaged = counts.averaged
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
    """Compute the linear variance; for multilabel, the largest that any dependence allows."""
    if isinstance(counts.state, MultilabelCounts):
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
        return _pooled_interval(counts, _WRONG, z)
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


def _perfect_interval(matrix: Floats, z: float) -> Interval:
    n = math.fsum(matrix.ravel())
    shares = np.diagonal(matrix) / n
    return intervals.perfect_agreement(math.fsum(shares * shares), n, z)


def _draws_of_accuracy(counts: LabelCounts) -> Share:
    refuse_fractions(counts.has_whole_weights)
    hits = right(counts)
    return Share.of(hits, counts.n - hits)


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
        "why_no_evidence": "it is no proportion of examples",
    }
    return Metric(name=name, **defaults | row)


def _per_class(name: str, metric: Callable[..., ClassMetric], **row: Any) -> Metric:
    """Make the row of a metric of each class with its averages; `metric` takes its arguments."""
    own = tuple(argument.partition("=")[0] for argument in row.get("arguments", ()))
    usual = metric()

    def chosen(args: Any, options: Any) -> tuple[ClassMetric, AverageOption, float]:
        """Separate the arguments of the metric from those of averages."""
        names = (*own, "average")
        given = dict(zip(names, args, strict=False)) | options
        if len(args) > len(names) or not given.keys() <= {*names, "zero_division"}:
            accepted = ", ".join([*own, "average and zero_division"])
            raise InvalidInputError(f"takes {accepted}", argument=name)
        average, undefined = given.pop("average", "default"), given.pop("zero_division", 0.0)
        return metric(**given), average, undefined

    def value(counts: LabelCounts, *args: Any, **options: Any) -> Any:
        return ratio_value(counts, *chosen(args, options))

    def sampling(counts: LabelCounts, _value: Any, z: float, *args: Any, **options: Any) -> Any:
        return _ratio_interval(counts, *chosen(args, options), z)

    def draws(counts: LabelCounts, position: int) -> Share:
        return _draws_of_class(counts, usual, position)  # type: ignore[arg-type] # a Ratio

    if isinstance(usual, Ratio):
        row["evidence"] = draws
    return _metric(name, value=value, sampling=sampling, averages=AVERAGES, **row)


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
        aliases=("acc", "accuracy_score"),
        heading="Accuracy",
        help="The share of examples predicted right, in [0, 1]; nan of nothing.",
        notes="For multilabel the share with every label right (subset accuracy).",
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
        notes="Ties at the cut get the credit they have on average over all orders, so a constant "
        "score gives k / K.",
        formula=r"\frac1n \sum_i P(\operatorname{rank}_i \le k)",
        value=top_k_accuracy,
        sampling=_top_k_interval,
        evidence=_draws_of_top_k,
        oracle="the mean over all orders of ties; scikit-learn, top_k_accuracy_score",
        listed=lambda counts: _is_single_label(counts) and counts.config.top_k > 1,
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
        why_no_evidence="the labels of one example are no draws one after another",
        oracle="scikit-learn, hamming_loss",
        listed=_is_multilabel,
    ),
    _metric(
        "balanced_accuracy",
        aliases=("bacc", "balanced_accuracy_score", "uar"),
        heading="Balanced accuracy",
        help="The mean recall of the classes that occur in the truth; nan of nothing.",
        formula=r"\frac1{|T|} \sum_{k \in T} \frac{TP_k}{TP_k + FN_k}",
        value=balanced_accuracy,
        sampling=_balanced_accuracy_interval,
        why_no_evidence="a mean over classes is no proportion of examples",
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
        help="TN / (TN + FP), the share of the negatives left alone.",
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
        notes="Gorodkin's R_K for more than two classes.",
        formula=r"\frac{n \sum_k C_{kk} - \sum_k t_k p_k}"
        r"{\sqrt{(n^2 - \sum_k t_k^2)(n^2 - \sum_k p_k^2)}}",
        value=matthews_corrcoef,
        sampling=_matthews_interval,
        oracle="scikit-learn, matthews_corrcoef",
        listed=_is_single_label,
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
)
"""What `Confusion` shows, in this order."""
