"""The examples of the tutorials, their numbers as printed or recomputed."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from offenders import each

import streameval as se


@dataclass(frozen=True)
class CountsExample:
    """An example that a tutorial gives as four counts."""

    name: str
    tp: int
    fp: int
    fn: int
    tn: int
    expected: dict[str, float]


COUNTS_EXAMPLES = [
    CountsExample(
        "imbalanced retrieval, always-negative classifier",
        tp=0,
        fp=0,
        fn=100,
        tn=999_900,
        expected={"accuracy": 0.9999, "recall": 0.0},
    ),
    CountsExample(
        "top four called aeroplanes",
        tp=3,
        fp=1,
        fn=2,
        tn=4,
        expected={"precision": 0.75, "recall": 0.6},
    ),
    CountsExample("top one", tp=1, fp=0, fn=4, tn=5, expected={"precision": 1.0, "recall": 0.2}),
    CountsExample("top two", tp=2, fp=0, fn=3, tn=5, expected={"precision": 1.0, "recall": 0.4}),
    CountsExample(
        "find the five girls, six returned",
        tp=3,
        fp=3,
        fn=2,
        tn=2,
        expected={"precision": 0.5, "recall": 0.6},
    ),
    CountsExample(
        "eighty of a hundred red carp", tp=80, fp=0, fn=20, tn=100, expected={"recall": 0.8}
    ),
]

PRECISION_OF_3_IN_4_RECALL_OF_3_IN_5 = {"tp": 3, "fp": 1, "fn": 2, "tn": 0}


def from_counts(*, tp: int, fp: int, fn: int, tn: int) -> Any:
    """The result of four rows, one of each outcome, weighted by the counts."""
    acc = se.ConfusionAccumulator()
    return acc.update([1, 0, 1, 0], [1, 1, 0, 0], sample_weight=[tp, fp, fn, tn]).compute()


@pytest.mark.parametrize(
    ("example", "metric", "expected"),
    [
        pytest.param(example, metric, expected, id=f"{example.name}-{metric}")
        for example in COUNTS_EXAMPLES
        for metric, expected in example.expected.items()
    ],
)
def test_metric_of_counts_equals_the_tutorial(
    example: CountsExample, metric: str, expected: float
) -> None:
    c = from_counts(tp=example.tp, fp=example.fp, fn=example.fn, tn=example.tn)

    value = c.accuracy if metric == "accuracy" else getattr(c, metric)()
    assert value == pytest.approx(expected, rel=1e-12)


@each("zero_division", [0.0, 1.0, np.nan])
def test_precision_of_an_always_negative_classifier_is_what_is_asked_for(
    zero_division: float,
) -> None:
    c = from_counts(tp=0, fp=0, fn=100, tn=999_900)

    assert c.precision(zero_division=zero_division) == pytest.approx(zero_division, nan_ok=True)


def test_precision_of_an_always_negative_classifier_is_zero_by_default() -> None:
    assert from_counts(tp=0, fp=0, fn=100, tn=999_900).precision() == 0.0


@each(("metric", "expected"), [("precision", 0.5), ("recall", 1.0)])
def test_score_at_the_threshold_is_positive(metric: str, expected: float) -> None:
    acc = se.ConfusionAccumulator(threshold=0.5)
    c = acc.update([1, 0, 0], [0.7, 0.3, 0.5]).compute()

    assert getattr(c, metric)() == expected


def test_accuracy_of_four_classes_equals_the_tutorial() -> None:
    assert se.ConfusionAccumulator(4).update([0, 1, 2, 3], [0, 2, 1, 3]).compute().accuracy == 0.5


@each(
    ("metric", "average", "expected"),
    [
        ("precision", "macro", 0.2222222222222222),
        ("precision", "micro", 0.3333333333333333),
        ("precision", "weighted", 0.2222222222222222),
        ("precision", None, [0.6666666666666666, 0.0, 0.0]),
        ("recall", "macro", 0.3333333333333333),
        ("recall", "micro", 0.3333333333333333),
        ("recall", "weighted", 0.3333333333333333),
        ("recall", None, [1.0, 0.0, 0.0]),
        ("f_score", "macro", 0.26666666666666666),
        ("f_score", "micro", 0.3333333333333333),
        ("f_score", "weighted", 0.26666666666666666),
        ("f_score", None, [0.8, 0.0, 0.0]),
    ],
)
def test_average_of_three_classes_equals_the_tutorial(
    metric: str, average: str | None, expected: float | list[float]
) -> None:
    acc = se.ConfusionAccumulator(3)
    c = acc.update([0, 1, 2, 0, 1, 2], [0, 2, 1, 0, 0, 1]).compute()

    assert getattr(c, metric)(average=average) == pytest.approx(expected, rel=1e-12)


@each(("beta", "expected"), [(1.0, 0.6666666666666665), (2.0, 0.625), (0.5, 0.7142857142857143)])
def test_f_score_of_beta_equals_the_tutorial(beta: float, expected: float) -> None:
    c = from_counts(**PRECISION_OF_3_IN_4_RECALL_OF_3_IN_5)

    assert c.f_score(beta) == pytest.approx(expected, rel=1e-12)


def test_f_score_of_alpha_equals_the_tutorial() -> None:
    c = from_counts(**PRECISION_OF_3_IN_4_RECALL_OF_3_IN_5)

    assert c.f_score(alpha=0.2) == pytest.approx(0.625, rel=1e-12)


@each("beta", [0.5, 1.0, 2.0, 3.0])
def test_f_score_is_the_harmonic_mean_with_its_bracket(beta: float) -> None:
    precision, recall = 0.75, 0.6
    c = from_counts(**PRECISION_OF_3_IN_4_RECALL_OF_3_IN_5)

    expected = (1 + beta**2) * precision * recall / (beta**2 * precision + recall)
    assert c.f_score(beta) == pytest.approx(expected, rel=1e-12)


AEROPLANES = [1, 1, 0, 1, 0, 1, 0, 0, 0, 1]
"""Ten images by falling score, five of aeroplanes."""


@each(
    ("metric", "expected"),
    [
        ("average_precision", 0.7833333333333333),
        ("average_precision_interpolated", 0.7833333333333333),
        ("average_precision_11pt", 0.803030303030303),
    ],
)
@each("scale", ["probability", "real"])
def test_metric_of_ten_images_equals_the_tutorial(metric: str, expected: float, scale: Any) -> None:
    scores = np.arange(10, 0, -1) / (10 if scale == "probability" else 0.5)
    c = se.PRCurveSketch(scores=scale).update(AEROPLANES, scores).compute()

    assert getattr(c, metric) == pytest.approx(expected, rel=1e-12)


def test_average_precision_of_ten_images_is_printed_as_the_sum_of_what_was_cut_off() -> None:
    c = se.PRCurveSketch().update(AEROPLANES, np.arange(10, 0, -1) / 10).compute()
    precision, recall, _ = c.precision_recall_curve()

    steps = -np.diff(recall)
    cut_off = np.floor(100 * precision[:-1]) / 100  # two thirds to 0.66
    assert steps @ cut_off == pytest.approx(0.782, abs=1e-12)
    assert c.average_precision == pytest.approx(0.782, abs=0.002)


def test_roc_curve_with_pos_label_2_equals_the_tutorial() -> None:
    acc = se.PRCurveSketch(pos_label=2).update([1, 1, 2, 2], [0.1, 0.4, 0.35, 0.8])
    fpr, tpr, thresholds = acc.compute().roc_curve()

    assert fpr.tolist() == [0.0, 0.0, 0.5, 0.5, 1.0]
    assert tpr.tolist() == [0.0, 0.5, 0.5, 1.0, 1.0]
    assert thresholds.tolist() == [np.inf, 0.8, 0.4, 0.35, 0.1]
    assert acc.compute().roc_auc == 0.75


def test_false_positive_rate_is_the_horizontal_axis() -> None:
    c = se.PRCurveSketch().update([0, 0, 0, 1], [0.1, 0.2, 0.9, 0.5]).compute()
    fpr, tpr, thresholds = c.roc_curve()
    outcome = c.confusion_at(0.5)

    at = thresholds.tolist().index(0.5)
    assert fpr[at] == outcome.fp / (outcome.fp + outcome.tn) == pytest.approx(1 / 3)
    assert tpr[at] == outcome.tp / (outcome.tp + outcome.fn) == 1.0


def test_average_precision_score_equals_the_tutorial() -> None:
    c = se.PRCurveSketch().update([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).compute()

    assert c.average_precision == pytest.approx(0.8333333333333334, rel=1e-12)


def test_average_precision_is_the_weighted_sum_of_the_slides() -> None:
    c = se.PRCurveSketch().update(AEROPLANES, np.arange(10, 0, -1) / 10).compute()
    precision, recall, _ = c.precision_recall_curve()

    assert (precision[-1], recall[-1]) == (1.0, 0.0)
    expected = sum((recall[k] - recall[k + 1]) * precision[k] for k in range(len(recall) - 1))
    assert c.average_precision == pytest.approx(expected, rel=1e-12)


def test_log_loss_is_that_of_the_probability_of_the_truth() -> None:
    truth, probability = [1, 0, 1, 0], [0.9, 0.2, 0.6, 0.4]
    expected = -np.log([0.9, 0.8, 0.6, 0.6]).mean()

    for acc in (se.CalibrationAccumulator(), se.PRCurveSketch()):
        found = acc.update(truth, probability).compute()
        assert found.log_loss == pytest.approx(expected, rel=1e-12)


def test_rmse_is_the_root_of_the_mean_squared_error() -> None:
    found = se.RegressionAccumulator().update([3.0, -0.5, 2.0, 7.0], [2.5, 0.0, 2.0, 8.0])

    assert found.compute().rmse == pytest.approx((1.5 / 4) ** 0.5, rel=1e-12)


def test_pcopc_is_the_mean_prediction_over_the_observed_rate() -> None:
    found = se.CalibrationAccumulator().update([1, 0, 0, 0], [0.5, 0.25, 0.125, 0.25]).compute()

    assert found.pcopc == (1.125 / 4) / (1 / 4)


def test_gauc_is_the_mean_over_users_with_both_classes_by_impressions() -> None:
    clicks = {"ann": [1, 0, 0], "bob": [0, 1], "cat": [1, 1, 1, 1]}
    scores = {"ann": [0.5, 0.7, 0.2], "bob": [0.1, 0.3], "cat": [0.9, 0.1, 0.2, 0.3]}
    acc = se.GroupedAUC()
    for user, truth in clicks.items():
        acc.update(truth, scores[user], [user] * len(truth))

    assert acc.compute().gauc == pytest.approx((3 * 0.5 + 2 * 1.0) / 5, rel=1e-12)
    assert acc.compute().coverage == 5 / 9
