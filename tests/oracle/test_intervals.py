"""Sampling intervals: Wilson's for proportions, coverage by simulation for the rest."""

import warnings
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from offenders import each
from scipy import optimize, special, stats
from sklearn import metrics

import streameval as se

LEVELS = (0.5, 0.9, 0.95, 0.99, 0.999)


def wilson(successes: float, trials: float, level: float = 0.95) -> tuple[float, float]:
    """Roots p of (successes / trials - p)^2 = z^2 p (1 - p) / trials (Wilson 1927).

    Above 99%, the further of these and of the ends of the likelihood ratio's interval.
    """
    z = NormalDist().inv_cdf((1 + level) / 2)
    a = trials + z**2
    b = -(2 * successes + z**2)
    c = successes**2 / trials
    root = np.sqrt(max(b**2 - 4 * a * c, 0.0))
    low, high = (-b - root) / (2 * a), (-b + root) / (2 * a)
    if level <= 0.99:
        return low, high
    share = successes / trials

    def off(p: float) -> float:
        """Twice the logarithm of the likelihood ratio, minus z^2."""
        terms = special.rel_entr([share, 1 - share], [p, 1 - p])
        return float(2 * trials * terms.sum() - z**2)

    if share > 0:
        low = min(low, optimize.brentq(off, 1e-12, share, xtol=1e-15))
    if share < 1:
        high = max(high, optimize.brentq(off, share, 1 - 1e-12, xtol=1e-15))
    return low, high


def from_matrix(matrix: Any) -> Any:
    """The result of one row per cell, weighted by the count in it."""
    matrix = np.asarray(matrix)
    true, pred = np.indices(matrix.shape)
    acc = se.ConfusionAccumulator(len(matrix))
    return acc.update(true.ravel(), pred.ravel(), sample_weight=matrix.ravel()).compute()


def from_counts(*, tp: int, fp: int, fn: int, tn: int) -> Any:
    return from_matrix([[tn, fp], [fn, tp]])


@each(
    ("right", "n", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (10, 20, 0.2993, 0.7007),
    ],
)
def test_accuracy_interval_equals_the_published_one(
    right: int, n: int, low: float, high: float
) -> None:
    """Newcombe (1998), Statistics in Medicine 17, table I, method 3; the last by hand."""
    c = from_counts(tp=right, fp=0, fn=n - right, tn=0)

    assert c.confidence("accuracy") == pytest.approx((low, high), abs=5e-5)


@each("level", LEVELS)
@each(
    ("metric", "share"),
    [
        ("accuracy", lambda tp, fp, fn, tn: (tp + tn, tp + fp + fn + tn)),
        ("precision", lambda tp, fp, fn, tn: (tp, tp + fp)),
        ("recall", lambda tp, fp, fn, tn: (tp, tp + fn)),
        ("specificity", lambda tp, fp, fn, tn: (tn, tn + fp)),
        ("jaccard", lambda tp, fp, fn, tn: (tp, tp + fp + fn)),
    ],
)
def test_interval_of_a_binary_share_is_wilsons(
    metric: str, share: Callable[..., tuple[int, int]], level: float
) -> None:
    rng = np.random.default_rng(5)
    for counts in rng.integers(0, 80, (200, 4)).tolist():
        tp, fp, fn, tn = counts
        part, whole = share(tp, fp, fn, tn)
        if whole == 0:
            continue
        c = from_counts(tp=tp, fp=fp, fn=fn, tn=tn)

        expected = pytest.approx(wilson(part, whole, level), rel=1e-9, abs=1e-12)
        assert c.confidence(metric, level=level) == expected, counts


@each(("slices", "n", "share"), [(100, 5, 0.95), (20, 30, 0.99), (100, 200, 0.999), (20, 30, 0.9)])
def test_intervals_of_few_errors_hold_for_all_slices_at_once(
    slices: int, n: int, share: float
) -> None:
    level = 1 - 0.05 / slices
    missed = 0.0
    for right in range(n + 1):
        result = from_counts(tp=right, fp=0, fn=n - right, tn=0)
        low, high = result.confidence("recall", level=level)
        missed += stats.binom.pmf(right, n, share) * (not low <= share <= high)
    assert 1 - (1 - missed) ** slices < 0.05  # with Wilson's alone 0.9, 0.52, 0.83 and 0.14


@each("level", LEVELS)
def test_interval_of_accuracy_is_wilsons_for_many_classes(level: float) -> None:
    matrix = np.random.default_rng(6).integers(0, 30, (4, 4))

    expected = pytest.approx(wilson(matrix.trace(), matrix.sum(), level), rel=1e-9)
    assert from_matrix(matrix).confidence("accuracy", level=level) == expected


def test_interval_of_accuracy_is_wilsons_for_multilabel() -> None:
    y_true = np.array([[1, 0], [1, 1], [0, 0], [0, 1]])
    y_pred = np.array([[1, 0], [1, 1], [0, 0], [1, 1]])
    acc = se.ConfusionAccumulator(2, multilabel=True)
    c = acc.update(y_true, y_pred, sample_weight=[4, 3, 2, 5]).compute()

    assert c.confidence("accuracy") == pytest.approx(wilson(9, 14), rel=1e-9)


@each("level", LEVELS)
def test_interval_of_recall_is_wilsons_for_each_class(level: float) -> None:
    matrix = np.random.default_rng(7).integers(1, 30, (4, 4))

    low, high = from_matrix(matrix).confidence("recall", average=None, level=level)

    expected = [wilson(matrix[k, k], matrix[k].sum(), level) for k in range(4)]
    np.testing.assert_allclose(np.column_stack([low, high]), expected, rtol=1e-9)


CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("accuracy", (), {}),
    ("balanced_accuracy", (), {}),
    ("matthews_corrcoef", (), {}),
    ("cohen_kappa", (), {}),
    ("precision", (), {"average": "macro"}),
    ("precision", (), {"average": "weighted"}),
    ("recall", (), {"average": "macro"}),
    ("specificity", (), {"average": "macro"}),
    ("jaccard", (), {"average": "macro"}),
    ("f_score", (1.0,), {"average": "macro"}),
    ("f_score", (2.0,), {"average": "micro"}),
    ("f_score", (), {"alpha": 0.2, "average": "weighted"}),
]
call_cases = each(
    ("name", "args", "options"),
    CALLS,
)
SAMPLE = [[30, 4, 2], [6, 25, 3], [1, 5, 24]]


def value(c: Any, name: str, args: tuple[Any, ...], options: dict[str, Any]) -> float:
    found = getattr(c, name)
    return found(*args, **options) if callable(found) else found


@call_cases
def test_interval_holds_the_value(
    name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> None:
    c = from_matrix(SAMPLE)

    low, high = c.confidence(name, *args, **options)
    assert low < value(c, name, args, options) < high


@call_cases
def test_interval_of_few_examples_holds_the_value_and_stays_in_range(
    name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> None:
    least = -1.0 if name in {"matthews_corrcoef", "cohen_kappa"} else 0.0
    for matrix in np.random.default_rng(9).integers(0, 3, (200, 3, 3)).tolist():
        c = from_matrix(matrix)
        found = value(c, name, args, options)
        if np.isnan(found):
            continue

        low, high = c.confidence(name, *args, **options)
        assert least <= low <= found + 1e-12, matrix
        assert found - 1e-12 <= high <= 1.0, matrix


@call_cases
def test_interval_of_level_zero_is_the_value(
    name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> None:
    c = from_matrix(SAMPLE)

    expected = value(c, name, args, options)
    assert c.confidence(name, *args, level=0, **options) == pytest.approx(
        (expected, expected), rel=1e-12
    )


@call_cases
def test_interval_widens_with_the_level(
    name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> None:
    c = from_matrix(SAMPLE)
    lows, highs = zip(
        *(c.confidence(name, *args, level=level, **options) for level in LEVELS), strict=True
    )

    assert list(lows) == sorted(lows, reverse=True)
    assert list(highs) == sorted(highs)


@call_cases
def test_level_is_95_percent_by_default(
    name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> None:
    c = from_matrix(SAMPLE)

    expected = c.confidence(name, *args, level=0.95, **options)
    assert c.confidence(name, *args, **options) == expected


@call_cases
def test_interval_of_perfect_predictions_ends_at_one(
    name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> None:
    _, high = from_matrix(np.diag([20, 30, 10])).confidence(name, *args, **options)

    assert high == 1.0


@call_cases
def test_low_end_of_perfect_predictions_rises_with_their_number(
    name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> None:
    lows = [
        from_matrix(np.diag([n, 2 * n, n])).confidence(name, *args, **options)[0]
        for n in (1, 5, 25, 500)
    ]

    assert lows == sorted(lows)
    assert len(set(lows)) == len(lows)
    assert lows[-1] < 1.0


@call_cases
def test_interval_of_nothing_is_nan_or_all_that_a_metric_defined_by_convention_can_be(
    name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> None:
    c = se.ConfusionAccumulator(3).compute()

    is_defined = not np.isnan(c.value(name, *args, **options))
    expected = (0.0, 1.0) if is_defined else (np.nan, np.nan)
    np.testing.assert_array_equal(c.confidence(name, *args, **options), expected)


@call_cases
def test_interval_refuses_fractional_weights(
    name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> None:
    acc = se.ConfusionAccumulator(3)
    c = acc.update([0, 1, 2], [0, 1, 1], sample_weight=[1.0, 2.5, 1.0]).compute()

    with pytest.raises(se.InvalidInputError, match="`sample_weight` had fractions"):
        c.confidence(name, *args, **options)


def test_interval_counts_a_whole_weight_as_repeats() -> None:
    repeated = se.ConfusionAccumulator(2).update([1] * 7 + [0] * 3, [1] * 10).compute()
    weighted = se.ConfusionAccumulator(2).update([1, 0], [1, 1], sample_weight=[7.0, 3.0]).compute()

    assert repeated.confidence("precision") == weighted.confidence("precision")


TRUE_MATRICES = {
    "even": [[0.28, 0.03, 0.02], [0.05, 0.25, 0.04], [0.03, 0.06, 0.24]],
    "skewed": [[0.55, 0.06, 0.04], [0.05, 0.14, 0.03], [0.03, 0.02, 0.08]],
}


def scikit_learn(matrix: np.ndarray, metric: Callable[..., Any], **options: Any) -> float:
    true, pred = np.indices(matrix.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return metric(true.ravel(), pred.ravel(), sample_weight=matrix.ravel(), **options)


@each("truth", TRUE_MATRICES)
@each(
    ("ours", "options", "metric"),
    [
        ("f_score", {"average": "macro"}, metrics.f1_score),
        ("precision", {"average": "weighted"}, metrics.precision_score),
        ("matthews_corrcoef", {}, metrics.matthews_corrcoef),
        ("cohen_kappa", {}, metrics.cohen_kappa_score),
        ("balanced_accuracy", {}, metrics.balanced_accuracy_score),
    ],
)
def test_interval_covers_the_true_value_as_often_as_it_says(
    ours: str, options: dict[str, Any], metric: Callable[..., Any], truth: str
) -> None:
    n, n_replicates = 400, 400
    matrix = np.array(TRUE_MATRICES[truth])
    true_value = scikit_learn(matrix, metric, **options)
    draws = np.random.default_rng(8).multinomial(n, matrix.ravel(), n_replicates)

    intervals = [from_matrix(draw.reshape(3, 3)).confidence(ours, **options) for draw in draws]

    share = np.mean([low <= true_value <= high for low, high in intervals])
    assert 0.92 <= share <= 0.985


@each("name", ["matthews_corrcoef", "cohen_kappa"])
def test_interval_of_perfect_disagreement_says_nothing_with_two_examples(name: str) -> None:
    result = se.ConfusionAccumulator().update([0, 1], [1, 0]).compute()
    assert result.value(name) == -1.0
    low, high = result.confidence(name)
    assert (low, high > 0.3) == (-1.0, True)
