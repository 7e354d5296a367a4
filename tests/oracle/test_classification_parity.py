"""Every number of a confusion matrix equals scikit-learn's on random cases, or a stated formula.

`PARITY` is the table: the metric, ours, the oracle, the kinds of cases it applies to, and why where
the oracle is not scikit-learn as it stands.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from offenders import each
from oracle.classification_cases import (
    BINARY,
    KINDS,
    MULTICLASS,
    MULTILABEL,
    Case,
    case,
    weights,
)
from oracle.classification_oracles import (
    BY_DEFINITION,
    class_counts,
    f_options,
    fowlkes_mallows,
    geometric_mean,
    informedness,
    jaccard,
    kappa,
    likelihood_ratios,
    markedness,
    matrix,
    mean_class_distance,
    outcomes,
    plain,
    pooled_matthews,
    precision_recall_f,
    scikit_learn,
    zero_division,
)
from profiles import quick_cases
from sklearn import metrics

import streameval as se

N_CASES = quick_cases(200)


@cache
def result(one: Case) -> Any:
    """What the library says of a case, in batches and on one or two workers."""
    workers = [se.ConfusionAccumulator(**one.options) for _ in range(1 + one.seed % 2)]
    for i, (y_true, y_pred, weight) in enumerate(one.batches()):
        workers[i % len(workers)].update(y_true, y_pred, sample_weight=weight)
    return se.merge(workers).compute()


def our_outcomes(one: Case) -> np.ndarray:
    c = result(one)
    return np.moveaxis(np.array([[c.tn, c.fp], [c.fn, c.tp]]), -1, 0)


def our_positive_outcomes(one: Case) -> np.ndarray:
    c = result(one)
    return np.array([[c.tn, c.fp], [c.fn, c.tp]])


@dataclass(frozen=True)
class Parity:
    """One row of the table."""

    name: str
    ours: Callable[[Case], Any]
    oracle: Callable[[Case], Any]
    kinds: tuple[str, ...]
    reason: str = ""
    near_zero: float = 1e-14


def attribute(name: str) -> Callable[[Case], Any]:
    return lambda one: getattr(result(one), name)


def set_wise(
    name: str,
    oracle: Callable[[Case, str | None], Any],
    options: Callable[[Case], dict[str, float]] = lambda one: {},
    reason: str = "",
) -> list[Parity]:
    """One row for each average of a metric."""

    def row(average: str | None, kinds: tuple[str, ...]) -> Parity:
        def ours(one: Case) -> Any:
            given = {"average": average, "zero_division": zero_division(one), **options(one)}
            return result(one).value(name, **given)

        return Parity(f"{name}-{average}", ours, lambda one: oracle(one, average), kinds, reason)

    averages = ("macro", "micro", "weighted", None)
    return [row("binary", BINARY), *(row(average, KINDS) for average in averages)]


SINGLE_LABEL = BINARY + MULTICLASS
PARITY = [
    Parity("matrix", attribute("matrix"), matrix, KINDS, near_zero=1e-12),
    Parity(
        "outcomes",
        our_outcomes,
        outcomes,
        MULTICLASS + MULTILABEL,
        near_zero=1e-12,
    ),
    Parity(
        "positive_outcomes",
        our_positive_outcomes,
        lambda one: outcomes(one)[one.labels.index(one.pos_label)],
        BINARY,
        reason="two classes have plain numbers, those of the positive class",
        near_zero=1e-12,
    ),
    Parity("accuracy", attribute("accuracy"), plain(metrics.accuracy_score), KINDS),
    Parity("hamming_loss", attribute("hamming_loss"), plain(metrics.hamming_loss), KINDS),
    Parity(
        "balanced_accuracy",
        attribute("balanced_accuracy"),
        plain(metrics.balanced_accuracy_score),
        SINGLE_LABEL,
    ),
    Parity(
        "matthews_corrcoef",
        attribute("matthews_corrcoef"),
        plain(metrics.matthews_corrcoef),
        SINGLE_LABEL,
    ),
    Parity(
        "matthews_corrcoef",
        attribute("matthews_corrcoef"),
        pooled_matthews,
        MULTILABEL,
        reason="scikit-learn's, of all labels pooled as torchmetrics does",
    ),
    Parity("zero_one_loss", attribute("zero_one_loss"), plain(metrics.zero_one_loss), KINDS),
    Parity(
        "geometric_mean",
        attribute("geometric_mean"),
        geometric_mean,
        SINGLE_LABEL,
        reason="scikit-learn has none: by its recalls",
    ),
    Parity("cohen_kappa_linear", attribute("cohen_kappa_linear"), kappa("linear"), SINGLE_LABEL),
    Parity(
        "cohen_kappa_quadratic",
        attribute("cohen_kappa_quadratic"),
        kappa("quadratic"),
        SINGLE_LABEL,
    ),
    Parity(
        "mean_class_distance",
        attribute("mean_class_distance"),
        mean_class_distance,
        SINGLE_LABEL,
    ),
    Parity(
        "positive_likelihood_ratio",
        attribute("positive_likelihood_ratio"),
        lambda one: likelihood_ratios(one)[0],
        BINARY,
    ),
    Parity(
        "negative_likelihood_ratio",
        attribute("negative_likelihood_ratio"),
        lambda one: likelihood_ratios(one)[1],
        BINARY,
    ),
    Parity("informedness", attribute("informedness"), informedness, BINARY),
    Parity("markedness", attribute("markedness"), markedness, BINARY),
    Parity("cohen_kappa", attribute("cohen_kappa"), plain(metrics.cohen_kappa_score), SINGLE_LABEL),
    *set_wise("precision", lambda one, average: precision_recall_f(one, average)[0]),
    *set_wise("recall", lambda one, average: precision_recall_f(one, average)[1]),
    *set_wise(
        "f_score",
        lambda one, average: precision_recall_f(one, average)[2],
        options=lambda one: f_options(one)[0],
    ),
    *set_wise(
        "jaccard", jaccard, reason="scikit-learn refuses zero_division=nan here: as for recall"
    ),
    *set_wise(
        "fowlkes_mallows",
        fowlkes_mallows,
        reason="scikit-learn's is of clusterings: by its precision and recall",
    ),
    *(
        row
        for name, oracle in BY_DEFINITION.items()
        for row in set_wise(name, oracle, reason="scikit-learn has none: by definition")
    ),
]


@pytest.mark.parametrize("row", PARITY, ids=lambda row: row.name)
def test_metric_equals_its_oracle(row: Parity) -> None:
    for kind, seed in itertools.product(row.kinds, range(N_CASES)):
        one = case(kind, seed)
        ours, expected = row.ours(one), row.oracle(one)
        assert np.shape(ours) == np.shape(expected), one
        np.testing.assert_allclose(ours, expected, rtol=1e-12, atol=row.near_zero, err_msg=str(one))


@each("kind", KINDS)
def test_average_is_binary_for_two_classes_and_macro_otherwise_by_default(kind: str) -> None:
    for seed in range(N_CASES):
        c = result(case(kind, seed))
        if kind in MULTILABEL and len(c.matrix) == 2:
            continue

        expected = c.recall(average="binary" if kind in BINARY else "macro", zero_division=0.0)
        assert c.recall() == expected, case(kind, seed)


@each("kind", KINDS)
def test_support_is_the_weight_of_the_true_labels(kind: str) -> None:
    for seed in range(N_CASES):
        one = case(kind, seed)
        support = result(one).support

        tp, _, fn, _ = class_counts(one, "binary" if np.ndim(support) == 0 else None)
        np.testing.assert_allclose(np.atleast_1d(support), tp + fn, rtol=1e-12, err_msg=str(one))


@each("kind", KINDS)
def test_matrix_holds_integers_until_a_fraction_is_seen(kind: str) -> None:
    for seed in range(N_CASES):
        one = case(kind, seed)
        is_whole = one.weight is None or not np.any(one.weight % 1)

        expected = np.int64 if is_whole else np.float64
        assert result(one).matrix.dtype == expected, one


@each("name", ["tp", "fp", "fn", "tn", "support"])
def test_counts_of_two_classes_are_plain_numbers_of_the_positive_class(name: str) -> None:
    c = se.ConfusionAccumulator(["no", "yes"]).update(["no", "yes"], ["yes", "yes"]).compute()

    assert isinstance(getattr(c, name), int)


@each("name", ["cohen_kappa", "balanced_accuracy", "geometric_mean", "cohen_kappa_linear"])
def test_single_label_metric_raises_for_multilabel(name: str) -> None:
    acc = se.ConfusionAccumulator(2, multilabel=True)
    c = acc.update(np.array([[1, 0], [1, 1]]), np.array([[1, 1], [0, 1]])).compute()

    with pytest.raises(se.InvalidInputError, match="multilabel"):
        getattr(c, name)


def test_matthews_corrcoef_of_perfect_predictions_is_exactly_one() -> None:
    rng = np.random.default_rng(4)
    for _ in range(N_CASES):
        n_classes = int(rng.integers(2, 6))
        labels, weight = np.arange(n_classes), rng.integers(1, 100, n_classes)
        acc = se.ConfusionAccumulator(n_classes)

        c = acc.update(labels, labels, sample_weight=weight).compute()
        assert c.matthews_corrcoef == 1.0, weight


@each("classes", [2, 3, ["a", "b"], "auto"])
@each("name", ["accuracy", "hamming_loss", "balanced_accuracy", "cohen_kappa"])
def test_metric_of_nothing_is_nan(name: str, classes: Any) -> None:
    c = se.ConfusionAccumulator(classes).compute()

    assert np.isnan(getattr(c, name))


def test_ignored_rows_leave_no_trace() -> None:
    for seed in range(N_CASES):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 60))
        y_true, y_pred, weight = rng.integers(-1, 4, n), rng.integers(0, 4, n), weights(rng, n)
        y_true[0] = 0
        kept = y_true != -1

        acc = se.ConfusionAccumulator(4, ignore_label=-1)
        c = acc.update(y_true, y_pred, sample_weight=weight).compute()

        expected = metrics.confusion_matrix(
            y_true[kept],
            y_pred[kept],
            labels=range(4),
            sample_weight=None if weight is None else weight[kept],
        )
        np.testing.assert_allclose(c.matrix, expected, rtol=1e-12, err_msg=f"seed {seed}")


@each("average", ["macro", "micro", "weighted"])
@each("kind", [*MULTICLASS, *MULTILABEL])
def test_mean_over_named_classes_equals_scikit_learns(kind: str, average: str) -> None:
    for seed in range(N_CASES):
        one = case(kind, seed)
        named = one.labels[:: 1 + seed % 2]
        theirs = scikit_learn(
            metrics.precision_recall_fscore_support,
            one.y_true,
            one.y_pred,
            labels=named,
            average=average,
            zero_division=0.0,
            sample_weight=one.weight,
        )
        names = ("precision", "recall", "f_score")
        labels = [result(one).labels[one.labels.index(label)] for label in named]
        ours = [result(one).value(name, average=average, labels=labels) for name in names]
        np.testing.assert_allclose(ours, theirs[:3], rtol=1e-12, atol=1e-14, err_msg=str(one))


@each("normalize", ["true", "pred", "all"])
@each("kind", SINGLE_LABEL)
def test_normalized_matrix_equals_scikit_learns(kind: str, normalize: Any) -> None:
    for seed in range(N_CASES):
        one = case(kind, seed)
        expected = scikit_learn(
            metrics.confusion_matrix,
            one.y_true,
            one.y_pred,
            labels=one.labels,
            sample_weight=one.weight,
            normalize=normalize,
        )
        ours = result(one).normalized_matrix(normalize)
        np.testing.assert_allclose(ours, expected, rtol=1e-12, atol=1e-14, err_msg=str(one))
