"""What the numbers should be: scikit-learn's, or by definition where it has none."""

import math
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from oracle.classification_cases import Case
from sklearn import metrics

ZERO_DIVISIONS = (0.0, 1.0, np.nan)
F_OPTIONS = (
    ({}, 1.0),
    ({"beta": 0.0}, 0.0),
    ({"beta": 0.5}, 0.5),
    ({"beta": 1.0}, 1.0),
    ({"beta": 2.0}, 2.0),
    ({"beta": np.inf}, np.inf),
    ({"alpha": 0.2}, 2.0),
    ({"alpha": 0.7}, np.sqrt(3 / 7)),
)


def zero_division(one: Case) -> float:
    return ZERO_DIVISIONS[one.seed % 3]


def f_options(one: Case) -> tuple[dict[str, float], float]:
    """The options of our `f_score`, and the beta they mean."""
    return F_OPTIONS[one.seed % len(F_OPTIONS)]


def scikit_learn(metric: Callable[..., Any], *args: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return metric(*args, **options)


def plain(metric: Callable[..., Any]) -> Callable[[Case], Any]:
    """The oracle for a metric without options."""
    return lambda one: scikit_learn(metric, one.y_true, one.y_pred, sample_weight=one.weight)


def matrix(one: Case) -> np.ndarray:
    if one.is_multilabel:
        return outcomes(one)
    return scikit_learn(
        metrics.confusion_matrix,
        one.y_true,
        one.y_pred,
        labels=one.labels,
        sample_weight=one.weight,
    )


def outcomes(one: Case) -> np.ndarray:
    """[[tn, fp], [fn, tp]] of each class."""
    return scikit_learn(
        metrics.multilabel_confusion_matrix,
        one.y_true,
        one.y_pred,
        labels=one.labels,
        sample_weight=one.weight,
    )


def set_wise_options(one: Case, average: str | None) -> dict[str, Any]:
    """What tells scikit-learn's set-wise metrics which classes enter an average."""
    options = {"average": average, "sample_weight": one.weight}
    if average == "binary":
        return options | {"pos_label": one.pos_label}
    return options | {"labels": one.labels if average is None else one.averaged_labels}


@cache
def precision_recall_f(one: Case, average: str | None) -> tuple[Any, Any, Any, Any]:
    _, beta = f_options(one)
    return scikit_learn(
        metrics.precision_recall_fscore_support,
        one.y_true,
        one.y_pred,
        beta=beta,
        zero_division=zero_division(one),
        **set_wise_options(one, average),
    )


def jaccard(one: Case, average: str | None) -> Any:
    if np.isnan(zero_division(one)):
        tp, fp, fn, _ = class_counts(one, average)
        return averaged_ratio(tp, tp + fp + fn, tp + fn, average, np.nan)
    return scikit_learn(
        metrics.jaccard_score,
        one.y_true,
        one.y_pred,
        zero_division=zero_division(one),
        **set_wise_options(one, average),
    )


def by_definition(above: str, below: str) -> Callable[[Case, str | None], Any]:
    """The oracle of a ratio, given the outcomes that are added above and below the line."""

    def oracle(one: Case, average: str | None) -> Any:
        counts = dict(zip(("tp", "fp", "fn", "tn"), class_counts(one, average), strict=True))
        part = sum(counts[name] for name in above.split())
        whole = part + sum(counts[name] for name in below.split())
        support = counts["tp"] + counts["fn"]
        return averaged_ratio(part, whole, support, average, zero_division(one))

    return oracle


BY_DEFINITION = {
    "specificity": by_definition("tn", "fp"),
    "negative_predictive_value": by_definition("tn", "fn"),
    "false_positive_rate": by_definition("fp", "tn"),
    "false_negative_rate": by_definition("fn", "tp"),
    "false_discovery_rate": by_definition("fp", "tp"),
    "false_omission_rate": by_definition("fn", "tn"),
    "selection_rate": by_definition("tp fp", "fn tn"),
}


def pooled_matthews(one: Case) -> Any:
    """Scikit-learn's correlation of all labels of all examples."""
    n_labels = one.y_true.shape[1]
    weight = None if one.weight is None else np.repeat(one.weight, n_labels)
    args = (one.y_true.ravel(), one.y_pred.ravel())
    return scikit_learn(metrics.matthews_corrcoef, *args, sample_weight=weight)


def kappa(weights: str) -> Callable[[Case], Any]:
    return lambda one: scikit_learn(
        metrics.cohen_kappa_score,
        *numbered(one),
        labels=range(len(one.labels)),
        weights=weights,
        sample_weight=one.weight,
    )


def mean_class_distance(one: Case) -> Any:
    return scikit_learn(metrics.mean_absolute_error, *numbered(one), sample_weight=one.weight)


def numbered(one: Case) -> tuple[list[int], list[int]]:
    """Truth and prediction as positions in the order of the classes."""
    truth, predicted = (list(map(one.labels.index, y.tolist())) for y in (one.y_true, one.y_pred))
    return truth, predicted


def geometric_mean(one: Case) -> Any:
    present = [label for label in one.labels if class_weight(one, label)]
    recalls = scikit_learn(
        metrics.recall_score,
        one.y_true,
        one.y_pred,
        labels=present,
        average=None,
        sample_weight=one.weight,
    )
    return np.prod(recalls) ** (1 / len(recalls))


def class_weight(one: Case, label: Any) -> float:
    weight = np.ones(len(one.y_true)) if one.weight is None else one.weight
    return float(weight[one.y_true == label].sum())


def likelihood_ratios(one: Case) -> Any:
    """Scikit-learn's ratios, of the positive class: it takes the second label for that."""
    labels = sorted(one.labels, key=lambda label: label == one.pos_label)
    return scikit_learn(
        metrics.class_likelihood_ratios,
        one.y_true,
        one.y_pred,
        labels=labels,
        sample_weight=one.weight,
        replace_undefined_by=np.nan,
    )


def informedness(one: Case) -> Any:
    return adjusted_accuracy(one.y_true, one.y_pred, one.weight)


def markedness(one: Case) -> Any:
    """The informedness of the prediction by the truth."""
    return adjusted_accuracy(one.y_pred, one.y_true, one.weight)


def adjusted_accuracy(y_true: np.ndarray, y_pred: np.ndarray, weight: np.ndarray | None) -> Any:
    """Scikit-learn's, which is of the classes in the truth: undefined here where there is one."""
    if len(set(y_true.tolist())) < 2:
        return math.nan
    return scikit_learn(
        metrics.balanced_accuracy_score, y_true, y_pred, sample_weight=weight, adjusted=True
    )


def fowlkes_mallows(one: Case, average: str | None) -> Any:
    """The geometric mean of scikit-learn's precision and recall, averaged by definition."""
    tp, fp, fn, _ = class_counts(one, average)
    if average == "micro":
        tp, fp, fn = (part.sum(keepdims=True) for part in (tp, fp, fn))
    predicted, support = tp + fp, tp + fn
    ratio = np.full(len(tp), zero_division(one))
    is_defined = (predicted > 0) & (support > 0)
    both = zip(tp[is_defined], predicted[is_defined], support[is_defined], strict=True)
    ratio[is_defined] = [math.sqrt(t / p * (t / s)) for t, p, s in both]
    whole = np.ones(len(tp))
    return averaged_ratio(ratio, whole, support, "binary" if average == "micro" else average, 0.0)


def class_counts(one: Case, average: str | None) -> np.ndarray:
    """Tp, fp, fn and tn of the classes that an average is over, by definition."""
    weight = np.ones(len(one.y_true)) if one.weight is None else one.weight
    if average == "binary":
        labels = [one.pos_label]
    else:
        labels = one.labels if average is None else one.averaged_labels

    counts = []
    for label in labels:
        is_true = one.y_true[:, label] == 1 if one.is_multilabel else one.y_true == label
        is_pred = one.y_pred[:, label] == 1 if one.is_multilabel else one.y_pred == label
        cells = (is_true & is_pred, ~is_true & is_pred, is_true & ~is_pred, ~is_true & ~is_pred)
        counts.append([weight[cell].sum() for cell in cells])
    return np.array(counts, dtype=np.float64).T


def averaged_ratio(
    part: np.ndarray, whole: np.ndarray, support: np.ndarray, average: str | None, undefined: float
) -> Any:
    """Part over whole, averaged as scikit-learn averages recall."""
    if average == "micro":
        part, whole = part.sum(keepdims=True), whole.sum(keepdims=True)
    ratio = np.array([p / w if w else undefined for p, w in zip(part, whole, strict=True)])
    if average is None:
        return ratio
    if average in {"binary", "micro"}:
        return ratio[0]

    is_defined = ~np.isnan(ratio)
    if not is_defined.any():
        return np.nan
    use_support = average == "weighted" and support[is_defined].any()
    return np.average(ratio[is_defined], weights=support[is_defined] if use_support else None)
