"""The table of the metrics of labels against predictions."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import Any

import attrs

from streameval.configs.names import advice
from streameval.errors import InvalidInputError
from streameval.metrics import confusion as metrics
from streameval.metrics.bounded import Interval
from streameval.metrics.confusion import ClassMetric, Quotient, Ratio
from streameval.metrics.confusion_sampling import (
    accuracy_interval,
    balanced_accuracy_interval,
    draws_of_accuracy,
    draws_of_class,
    draws_of_errors,
    draws_of_top_k,
    geometric_mean_interval,
    hamming_loss_interval,
    kappa_interval,
    matthews_interval,
    mean_distance_interval,
    ratio_interval,
    ratio_of_shares_interval,
    sum_of_shares_interval,
    top_k_interval,
    weighted_kappa_interval,
)
from streameval.metrics.evidence import Share
from streameval.metrics.label_counts import (
    Averaging,
    LabelCounts,
    accuracy,
    at_top_k,
    balanced_accuracy,
    cohen_kappa,
    geometric_mean,
    hamming_loss,
    is_of_one_class,
    matthews_corrcoef,
    mean_class_distance,
    ratio_value,
    top_k_accuracy,
    zero_one_loss,
)
from streameval.metrics.table import (
    CORRELATION,
    EXAMPLES,
    NOT_NEGATIVE,
    SHARE,
    Metric,
    Table,
    count_row,
    whole_weights,
)
from streameval.states.confusion import MultilabelCounts, TopKCounts

AVERAGES = {
    "macro": "the mean over the classes that occur",
    "micro": "of the pooled counts",
    "weighted": "the mean weighted by support",
    "samples": 'the mean over examples, for multilabel with measures=["samples"]',
}
"""The averages of metrics per class."""

_AVERAGING = tuple(field.name for field in attrs.fields(Averaging))
_DEFAULT_AVERAGING = Averaging()
_check_draws = whole_weights(attrgetter("has_whole_weights"))


def _is_multilabel(counts: LabelCounts) -> bool:
    return isinstance(counts.state, MultilabelCounts)


def _is_single_label(counts: LabelCounts) -> bool:
    return not _is_multilabel(counts)


def _is_binary(counts: LabelCounts) -> bool:
    return counts.config.is_binary


def _may_differ(counts: LabelCounts) -> bool:
    """Tell whether the share of predictions of a class, by default, is not the same for all data.

    Of examples with one of K classes, the mean of these shares is 1 / K.
    """
    config = counts.config
    return config.is_binary or config.multilabel or {0, 1}.issuperset(counts.labels)


def _metric(name: str, **row: Any) -> Metric:
    """Make the row of a metric, with the defaults of this table."""
    defaults: dict[str, Any] = {
        "better": "higher",
        "limits": SHARE,
        "check_draws": _check_draws,
        "why_none": "fractional weights have none",
        "why_no_evidence": "it is not a proportion of examples",
        "oracle": "the definition: scikit-learn has none",
    }
    return Metric(name=name, **defaults | row)


def _of_positive(name: str, function: Callable[..., float], **row: Any) -> Metric:
    """Make the row of a metric of the positive class of two."""

    def value(counts: LabelCounts) -> float:
        if not counts.config.is_binary:
            raise InvalidInputError("is defined for two classes", argument=name)
        return function(counts.outcomes, counts.config.positive_position)

    return _metric(name, value=value, listed=_is_binary, on_request=True, **row)


def _weighted_kappa(name: str, power: int) -> dict[str, Any]:
    """Make the name, the value and the interval of a kappa of distances to some power."""

    def value(counts: LabelCounts) -> float:
        return metrics.weighted_kappa(counts.matrix_state(name).matrix, power)

    def sampling(counts: LabelCounts, number: float, z: float) -> Interval:
        return weighted_kappa_interval(
            counts.matrix_state(name).matrix.to_floats(), number, z, power
        )

    return {"name": name, "value": value, "sampling": sampling}


def _per_class(
    name: str,
    metric: Callable[..., ClassMetric],
    *,
    of_ones: bool = False,
    of_best: bool = False,
    **row: Any,
) -> Metric:
    """Make the row of a metric of each class with its averages; `metric` takes its arguments.

    With `of_ones`, the default for observed labels 0 and 1 is that of 1, as if they were declared.
    With `of_best`, it is of predictions among the best k scores.
    """
    own = tuple(argument.partition("=")[0] for argument in row.get("arguments", ()))
    default = metric()

    def chosen(args: Any, options: Any) -> tuple[ClassMetric, Averaging]:
        """Separate the arguments of the metric from those of averages."""
        if not args and not options:
            return default, _DEFAULT_AVERAGING
        # an average may come before the metric's own arguments, which are numbers
        leads = bool(args) and (args[0] is None or isinstance(args[0], str))
        names = ("average",) if leads else (*own, "average")
        given = dict(zip(names, args, strict=False)) | options
        if len(args) > len(names) or not given.keys() <= {*names, *_AVERAGING}:
            accepted = ", ".join([*own, "average, zero_division and labels"])
            unknown = (one for one in given if one not in {*names, *_AVERAGING})
            hints = [f"There is no {one!r}: {advice(one, names)}" for one in unknown]
            raise InvalidInputError(f"takes {accepted}", argument=name, remedy=" ".join(hints))
        averaging = Averaging(**{key: given.pop(key) for key in _AVERAGING if key in given})
        return metric(**given), averaging

    def read(counts: LabelCounts, args: Any, options: Any) -> tuple[Any, ClassMetric, Averaging]:
        if of_best:
            counts = at_top_k(counts, name)
        one, averaging = chosen(args, options)
        is_default = averaging.average == "default" and averaging.labels is None
        return (counts.of_ones() if of_ones and is_default else counts), one, averaging

    def value(counts: LabelCounts, *args: Any, **options: Any) -> Any:
        return ratio_value(*read(counts, args, options))

    def is_substitute(counts: LabelCounts, number: float, *args: Any, **options: Any) -> bool:
        left_out = options | {"zero_division": math.nan}
        return number in (0.0, 1.0) and math.isnan(value(counts, *args, **left_out))

    def sampling(counts: LabelCounts, _value: Any, z: float, *args: Any, **options: Any) -> Any:
        return ratio_interval(*read(counts, args, options), z)

    def draws(counts: LabelCounts, *args: Any, **options: Any) -> Share:
        counts, _, averaging = read(counts, args, options)
        if not (counts.config.is_binary and averaging.resolve(counts) == "binary"):
            raise InvalidInputError(
                "is a mean over classes here, which is not a proportion of examples",
                argument=name,
                remedy=f"Name a class, as in {name}[{[*counts.class_names, 'LABEL'][0]}].",
            )
        position = counts.config.positive_position
        return draws_of_class(counts, default, position)  # type: ignore[arg-type] # a Ratio

    if isinstance(default, Ratio):
        row["evidence"] = draws
    return _metric(
        name,
        value=value,
        sampling=sampling,
        averages=AVERAGES,
        is_substitute=is_substitute,
        **row,
    )


def _of_top_k(name: str, metric: Callable[..., ClassMetric], **row: Any) -> Metric:
    """Make the row of a metric of each class, for predictions among the best k scores."""
    return _per_class(
        name,
        metric,
        of_best=True,
        measured=True,
        listed=lambda counts: isinstance(counts.state, TopKCounts),
        **row,
    )


def outcome(counts: LabelCounts, name: str) -> Any:
    """Read an outcome of the positive class of two, else of each class."""
    every = getattr(counts.outcomes, name).to_numbers()
    return every[counts.config.positive_position].item() if _is_binary(counts) else every


def _outcome(name: str, what: str) -> Metric:
    """Make the row of one of the four outcomes of binary decisions."""
    of = "negatives" if name in ("fn", "tn") else "positives"
    text = f"{what} {of} of the positive class of two, else an array of shape (K,)."
    return count_row(name, "", text, value=partial(outcome, name=name), listed=_is_binary)


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
        aliases=(
            *("acc", "accuracy_score", "subset_accuracy", "exact_match"),
            *("categorical_accuracy", "sparse_categorical_accuracy"),
        ),
        heading="Accuracy",
        help="The share of examples predicted right, in [0, 1]; nan without examples.",
        notes="For multilabel, the share with every label right (subset accuracy).",
        formula=r"\sum_k C_{kk} / n",
        value=accuracy,
        sampling=accuracy_interval,
        evidence=draws_of_accuracy,
        oracle="scikit-learn, accuracy_score",
        headline=1,
    ),
    _metric(
        "top_k_accuracy",
        aliases=("top_k", "topk", "top_k_accuracy_score", "top_k_categorical_accuracy"),
        heading="Top-k accuracy",
        help="The share of examples whose true class is among the top_k best scores.",
        notes="A tie at the cutoff gets its average credit over all orders, so a constant "
        "score gives k / K.",
        formula=r"\frac1n \sum_i P(\operatorname{rank}_i \le k)",
        value=top_k_accuracy,
        sampling=top_k_interval,
        evidence=draws_of_top_k,
        oracle="the mean over all orders of ties; scikit-learn, top_k_accuracy_score",
        listed=lambda counts: _is_single_label(counts) and counts.config.top_k > 1,
    ),
    _of_top_k(
        "top_k_precision",
        lambda: metrics.PRECISION,
        heading="Precision of the best k",
        help="Precision where a true class among the top_k best scores counts as the prediction.",
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
        sampling=hamming_loss_interval,
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
        sampling=balanced_accuracy_interval,
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
        limits=CORRELATION,
        aliases=("mcc", "matthews"),
        heading="Matthews correlation",
        help="The correlation of truth and prediction, in [-1, 1].",
        notes="Gorodkin's R_K for more than two classes. For multilabel, over all labels pooled.",
        formula=r"\frac{n \sum_k C_{kk} - \sum_k t_k p_k}"
        r"{\sqrt{(n^2 - \sum_k t_k^2)(n^2 - \sum_k p_k^2)}}",
        value=matthews_corrcoef,
        is_substitute=lambda counts, value: not value and is_of_one_class(counts),
        sampling=matthews_interval,
        oracle="scikit-learn, matthews_corrcoef",
    ),
    _metric(
        "cohen_kappa",
        limits=CORRELATION,
        aliases=("kappa", "cohen_kappa_score"),
        heading="Cohen's kappa",
        help="The agreement beyond chance, at most 1; nan when both are one and the same class.",
        formula=r"\frac{p_o - p_e}{1 - p_e}",
        value=cohen_kappa,
        sampling=kappa_interval,
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
        sampling=accuracy_interval,
        evidence=draws_of_errors,
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
        sampling=geometric_mean_interval,
        why_no_evidence="a mean over classes is not a proportion of examples",
        oracle="the definition, by recalls of scikit-learn",
        listed=_is_single_label,
        on_request=True,
    ),
    _metric(
        **_weighted_kappa("cohen_kappa_linear", 1),
        limits=CORRELATION,
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
        **_weighted_kappa("cohen_kappa_quadratic", 2),
        limits=CORRELATION,
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
        limits=NOT_NEGATIVE,
        aliases=("ordinal_mae", "mean_absolute_class_distance"),
        heading="Mean class distance",
        help="The mean of abs(i - j) over examples of class i predicted as j, of ordered classes.",
        notes="In [0, K - 1]; nan without examples.",
        formula=r"\frac1n \sum_{ij} |i - j| C_{ij}",
        better="lower",
        value=mean_class_distance,
        sampling=mean_distance_interval,
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
        on_request=True,
    ),
    _per_class(
        "selection_rate",
        lambda: metrics.SELECTION_RATE,
        of_ones=True,
        listed=_may_differ,
        aliases=(
            *("positive_rate", "positive_prediction_rate", "acceptance_rate"),
            *("demographic_parity", "demographic_parity_difference", "demographic_parity_ratio"),
        ),
        heading="Selection rate",
        help="(TP + FP) / n, the share of the examples that were predicted positive.",
        notes="For labels 0 and 1, declared or not, that of 1. Of other labels declare two or name "
        "one, as in selection_rate[cat]: their mean is the same for all data. Its gap between "
        "slices is fairlearn's demographic_parity_difference, and the ratio of its extremes "
        "demographic_parity_ratio.",
        formula=r"\frac{TP + FP}{TP + FP + FN + TN}",
        better="",
        on_request=True,
    ),
    _of_positive(
        "positive_likelihood_ratio",
        metrics.positive_likelihood_ratio,
        limits=NOT_NEGATIVE,
        aliases=("lr_plus", "plr", "diagnostic_likelihood_ratio"),
        heading="Positive likelihood ratio",
        help="TPR / FPR, at least 0: how much a predicted positive raises the odds; two classes.",
        notes="nan when it divides by 0.",
        formula=r"\frac{TP / (TP + FN)}{FP / (FP + TN)}",
        sampling=ratio_of_shares_interval(0, 1),
        oracle="scikit-learn, class_likelihood_ratios",
    ),
    _of_positive(
        "negative_likelihood_ratio",
        metrics.negative_likelihood_ratio,
        limits=NOT_NEGATIVE,
        aliases=("lr_minus", "nlr"),
        heading="Negative likelihood ratio",
        help="FNR / TNR, at least 0: how much a predicted negative lowers the odds; two classes.",
        notes="nan when it divides by 0.",
        formula=r"\frac{FN / (TP + FN)}{TN / (FP + TN)}",
        better="lower",
        sampling=ratio_of_shares_interval(2, 3),
        oracle="scikit-learn, class_likelihood_ratios",
    ),
    _of_positive(
        "informedness",
        metrics.informedness,
        limits=CORRELATION,
        aliases=("youden", "youden_j", "youdens_j", "bookmaker_informedness"),
        heading="Informedness",
        help="TPR + TNR - 1, in [-1, 1], Youden's J; of two classes.",
        notes="nan unless both classes are in the truth.",
        formula=r"\frac{TP}{TP + FN} + \frac{TN}{TN + FP} - 1",
        sampling=sum_of_shares_interval(metrics.RECALL, metrics.SPECIFICITY),
        oracle="scikit-learn, balanced_accuracy_score with adjusted=True",
    ),
    _of_positive(
        "markedness",
        metrics.markedness,
        limits=CORRELATION,
        aliases=("delta_p",),
        heading="Markedness",
        help="PPV + NPV - 1, in [-1, 1]; of two classes.",
        notes="nan unless both classes are in the prediction.",
        formula=r"\frac{TP}{TP + FP} + \frac{TN}{TN + FN} - 1",
        sampling=sum_of_shares_interval(metrics.PRECISION, metrics.NEGATIVE_PREDICTIVE_VALUE),
        oracle="scikit-learn, balanced_accuracy_score with truth and prediction exchanged",
    ),
    task="classification",
    made_by="ConfusionAccumulator",
)
"""The metrics that `Confusion` shows, in this order; it shows others only on request."""
