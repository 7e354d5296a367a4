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


def specificity(one: Case, average: str | None) -> Any:
    tp, fp, fn, tn = class_counts(one, average)
    return averaged_ratio(tn, tn + fp, tp + fn, average, zero_division(one))


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
