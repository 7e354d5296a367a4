"""While the distinct scores fit, every number of a curve is scikit-learn's, or its definition's.

Without weights the arrays, ROC AUC and average precision are equal to the last bit; all else is
within 1e-12. The definitions of `curve_oracles` are held to scikit-learn here too.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from typing import Any

import numpy as np
import pytest
from offenders import each
from oracle.curve_oracles import (
    CURVE_METRICS,
    OPERATING_POINTS,
    OPERATING_THRESHOLDS,
    PROBABILITY_METRICS,
    SCORE_METRICS,
    Metric,
    Mode,
    Table,
    average_precision,
    best_f,
    brier,
    d2_brier_score,
    d2_log_loss_score,
    log_loss,
    metrics_at,
    partial_roc_auc,
    pr_auc,
    precision_at_recall,
    recall_at_precision,
    roc_auc,
    threshold_at_precision,
)
from profiles import cases, quick_cases
from sklearn import metrics

import streameval as se

N_WEIGHTED = cases()
N_CASES = 3 * N_WEIGHTED
N_TABLES = quick_cases(300)


def _sigmoid(logits: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-logits))


SCORES: dict[str, tuple[Mode, Callable[[np.random.Generator, int], np.ndarray]]] = {
    "eighths": ("probability", lambda rng, n: rng.integers(0, 9, n) / 8),
    "two decimals": ("probability", lambda rng, n: rng.random(n).round(2)),
    "float64": ("probability", lambda rng, n: rng.random(n)),
    "float32": ("probability", lambda rng, n: rng.random(n, np.float32)),
    "float16": ("probability", lambda rng, n: rng.random(n).astype(np.float16)),
    "sigmoids": (
        "probability",
        lambda rng, n: _sigmoid(rng.normal(0, 12, n).astype(np.float32)),
    ),
    "constant": ("probability", lambda rng, n: np.full(n, rng.choice([0.0, 0.3, 0.5, 1.0]))),
    "around one half": (
        "probability",
        lambda rng, n: 0.5 + rng.integers(-3, 4, n) * 2.0 ** -rng.integers(50, 55, n),
    ),
    "near zero and one": (
        "probability",
        lambda rng, n: np.abs(rng.integers(0, 2, n) - 10.0 ** -rng.integers(1, 20, n)),
    ),
    "subnormals": ("probability", lambda rng, n: rng.integers(0, 20, n) * 5e-324),
    "float32 subnormals": (
        "probability",
        lambda rng, n: np.ldexp(rng.integers(0, 30, n).astype(np.float32), -149),
    ),
    "logits": ("real", lambda rng, n: rng.normal(-2, 5, n)),
    "float16 logits": ("real", lambda rng, n: rng.normal(0, 3, n).astype(np.float16)),
    "rounded logits": ("real", lambda rng, n: rng.normal(0, 2, n).round(0)),
    "signed zeros": ("real", lambda rng, n: rng.choice([-0.0, 0.0, 1e-310, -1e-310, -1.0], n)),
    "infinities": (
        "real",
        lambda rng, n: rng.choice([-np.inf, np.inf, 1.7e308, -1.7e308, 0.0, 2.5], n),
    ),
    "float32 infinities": (
        "real",
        lambda rng, n: rng.choice(
            np.array([-np.inf, np.inf, 3e38, 1e-45, -1e-45, -0.0], dtype=np.float32), n
        ),
    ),
}

LABELS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "int64": (0, 1, {}),
    "bool": (False, True, {}),
    "uint8": (np.uint8(0), np.uint8(1), {}),
    "zero positive": (1, 0, {"pos_label": 0}),
    "other integers": (-3, 7, {"pos_label": 7}),
    "words": ("ham", "spam", {"pos_label": "spam"}),
    "objects": ("no", "yes", {"pos_label": "yes"}),
}
"""The negative label, the positive one, and the options that say so."""


@dataclass(frozen=True, eq=False)
class Case:
    """One data set as the library meets it, and as the oracles do."""

    seed: int
    mode: Mode
    options: dict[str, Any]
    labels: np.ndarray
    y: np.ndarray
    scores: np.ndarray
    weights: np.ndarray | None

    @cached_property
    def table(self) -> Table:
        weights = None if self.weights is None else self.weights.tolist()
        return Table.of(self.y.tolist(), self.scores.tolist(), weights)

    @property
    def has_both(self) -> bool:
        return self.table.n_pos > 0 and self.table.n_neg > 0

    @cached_property
    def finite_scores(self) -> tuple[np.ndarray, np.ndarray]:
        """Scores that scikit-learn takes, in the same order, and what each number stands for."""
        wide = self.scores.astype(np.float64)
        if np.isfinite(wide).all():
            return wide, wide
        values, ranks = np.unique(wide, return_inverse=True)
        return ranks.astype(np.float64), values

    def meant(self, thresholds: np.ndarray) -> np.ndarray:
        """Translate thresholds on `finite_scores` back."""
        finite, values = self.finite_scores
        if finite is values:
            return thresholds
        is_rank = np.isfinite(thresholds)
        return np.where(is_rank, values[np.where(is_rank, thresholds, 0).astype(int)], np.inf)

    @cached_property
    def curve(self) -> Any:
        """What the library says, in up to four batches on one or two workers."""
        rng = np.random.default_rng([self.seed, 1])
        workers = [se.PRCurveSketch(scores=self.mode, **self.options) for _ in range(2)]
        cuts = np.sort(rng.integers(0, len(self.y) + 1, rng.integers(0, 4)))
        for i, rows in enumerate(np.split(np.arange(len(self.y)), cuts)):
            weights = None if self.weights is None else self.weights[rows]
            workers[i % 2].update(self.labels[rows], self.scores[rows], sample_weight=weights)
        return se.merge(workers).compute()

    def __str__(self) -> str:
        weights = None if self.weights is None else self.weights.tolist()
        rows = f"y={self.y.astype(int).tolist()}, scores={self.scores.tolist()}"
        return f"seed {self.seed}, {self.mode}, {rows}, {self.scores.dtype}, weights={weights}"


def _draw(seed: int, weigh: Callable[[np.random.Generator, int], np.ndarray] | None) -> Case:
    rng = np.random.default_rng([7, seed])
    mode, draw = list(SCORES.values())[seed % len(SCORES)]
    n = int(rng.integers(1, 13)) if rng.random() < 0.6 else int(rng.integers(13, 120))
    scores = draw(rng, n)
    y = rng.random(n) < rng.choice([0.0, 0.1, 0.5, 0.5, 0.9, 1.0])
    flavour = rng.choice(list(LABELS))
    negative, positive, options = LABELS[flavour]
    labels = np.where(y, positive, negative)
    if flavour == "objects":
        labels = labels.astype(object)
    weights = None if weigh is None else weigh(rng, n)
    return Case(seed, mode, options, labels, y, scores, weights)


@cache
def case(seed: int) -> Case:
    """A data set without weights."""
    return _draw(seed, None)


def _whole_or_eighths(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.integers(0, 5, n) if rng.random() < 0.5 else rng.integers(0, 24, n) / 8


@cache
def exactly_weighted(seed: int) -> Case:
    """A data set whose weights add without rounding; a fifth of them are zero."""
    return _draw(seed, _whole_or_eighths)


@cache
def freely_weighted(seed: int) -> Case:
    """A data set with any fractions as weights."""
    return _draw(seed, lambda rng, n: rng.uniform(0.01, 3.0, n))


def quietly(metric: Callable[..., Any], *args: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return metric(*args, **options)


def scikit_learn(metric: Callable[..., Any], one: Case, **options: Any) -> Any:
    scores, _ = one.finite_scores
    return quietly(metric, one.y, scores, sample_weight=one.weights, **options)


def is_close(ours: Any, expected: float | Fraction) -> bool:
    if math.isnan(expected):
        return math.isnan(ours)
    return float(ours) == pytest.approx(float(expected), rel=1e-12, abs=1e-15)


def assert_close(ours: Any, expected: float | Fraction, one: Any) -> None:
    assert is_close(ours, expected), f"expected {float(expected)!r}, got {ours!r}: {one}"


def test_the_oracles_equal_scikit_learn() -> None:
    for draw in (case, exactly_weighted, freely_weighted):
        for seed in range(quick_cases(150)):
            one = draw(seed)
            if not one.has_both:
                continue
            table = one.table
            assert_close(float(roc_auc(table)), scikit_learn(metrics.roc_auc_score, one), one)
            expected = scikit_learn(metrics.average_precision_score, one)
            assert_close(float(average_precision(table)), expected, one)
            precision, recall, _ = scikit_learn(metrics.precision_recall_curve, one)
            assert_close(float(pr_auc(table)), metrics.auc(recall, precision), one)
            for max_fpr in (0.05, 0.1, 0.5, 1.0):
                expected = scikit_learn(metrics.roc_auc_score, one, max_fpr=max_fpr)
                assert_close(float(partial_roc_auc(table, max_fpr)), expected, one)
            if one.mode == "probability":
                expected = scikit_learn(metrics.brier_score_loss, one)
                assert_close(float(brier(table)), expected, one)
                expected = scikit_learn(metrics.log_loss, one)
                assert float(log_loss(table)) == pytest.approx(expected, rel=1e-9, abs=1e-13), one
                for oracle in (d2_log_loss_score, d2_brier_score):
                    scores, _ = one.finite_scores
                    d2 = getattr(metrics, oracle.__name__)
                    expected = quietly(d2, one.y, y_proba=scores, sample_weight=one.weights)
                    assert float(oracle(table)) == pytest.approx(expected, rel=1e-9, abs=1e-9), one


def test_the_oracles_equal_a_search_over_scikit_learns_curve() -> None:
    for seed in range(0, 900, 3):
        one = case(seed)
        if not one.has_both:
            continue
        precision, recall, thresholds = scikit_learn(metrics.precision_recall_curve, one)
        precision, recall = precision[:-1], recall[:-1]
        for bound in (0.2, 0.5, 0.8, 1.0):
            reached = recall[precision >= bound]
            expected = reached.max() if reached.size else 0.0
            assert_close(recall_at_precision(one.table, bound), expected, one)
            expected = precision[recall >= bound].max()
            assert_close(precision_at_recall(one.table, bound), expected, one)
            rows = sorted(zip(recall, precision, one.meant(thresholds), strict=True))
            reached = [row for row in rows if row[1] >= bound]
            expected = reached[-1][-1] if reached else math.nan
            assert_close(threshold_at_precision(one.table, bound), expected, one)
        f = 2 * precision * recall / np.where(precision + recall == 0, 1, precision + recall)
        assert_close(best_f(one.table, 1.0)[0], f.max(), one)


@each("name", ["roc_auc", "average_precision"])
def test_area_is_scikit_learns_float(name: str) -> None:
    for seed in range(N_CASES):
        one = case(seed)
        expected = math.nan
        if one.has_both or (name == "average_precision" and one.table.n_pos):
            expected = scikit_learn(getattr(metrics, f"{name}_score"), one)
        ours = getattr(one.curve, name)
        np.testing.assert_array_equal(float(ours), expected, err_msg=str(one))


def test_roc_curve_is_scikit_learns_arrays() -> None:
    for seed in range(N_CASES):
        one = case(seed)
        fpr, tpr, thresholds = scikit_learn(metrics.roc_curve, one, drop_intermediate=False)
        expected = fpr, tpr, one.meant(thresholds)
        for ours, array in zip(one.curve.roc_curve(), expected, strict=True):
            np.testing.assert_array_equal(ours, array, strict=True, err_msg=str(one))


def test_precision_recall_curve_is_scikit_learns_arrays() -> None:
    for seed in range(N_CASES):
        one = case(seed)
        precision, recall, thresholds = scikit_learn(
            metrics.precision_recall_curve, one, drop_intermediate=False
        )
        expected = precision, recall, one.meant(thresholds)
        for ours, array in zip(one.curve.precision_recall_curve(), expected, strict=True):
            np.testing.assert_array_equal(ours, array, strict=True, err_msg=str(one))


@each("draw", [exactly_weighted, freely_weighted])
@each("name", ["roc_auc", "average_precision"])
def test_weighted_area_equals_scikit_learn(name: str, draw: Callable[[int], Case]) -> None:
    for seed in range(N_WEIGHTED):
        one = draw(seed)
        if one.has_both:
            expected = scikit_learn(getattr(metrics, f"{name}_score"), one)
            assert_close(getattr(one.curve, name), expected, one)


@each("draw", [exactly_weighted, freely_weighted])
@each("name", ["roc_curve", "precision_recall_curve"])
def test_weighted_curve_equals_scikit_learn(name: str, draw: Callable[[int], Case]) -> None:
    for seed in range(N_WEIGHTED):
        one = draw(seed)
        if not one.has_both:
            continue
        *rates, thresholds = scikit_learn(getattr(metrics, name), one, drop_intermediate=False)
        *our_rates, our_thresholds = getattr(one.curve, name)()
        np.testing.assert_array_equal(our_thresholds, one.meant(thresholds), err_msg=str(one))
        for ours, expected in zip(our_rates, rates, strict=True):
            np.testing.assert_allclose(ours, expected, rtol=1e-12, atol=1e-15, err_msg=str(one))


@each("draw", [case, exactly_weighted])
def test_det_curve_equals_scikit_learn(draw: Callable[[int], Case]) -> None:
    for seed in range(N_WEIGHTED):
        one = draw(seed)
        if not one.has_both:
            continue
        *rates, thresholds = scikit_learn(metrics.det_curve, one, drop_intermediate=False)
        *our_rates, our_thresholds = one.curve.det_curve()
        np.testing.assert_array_equal(our_thresholds, one.meant(thresholds), err_msg=str(one))
        for ours, expected in zip(our_rates, rates, strict=True):
            np.testing.assert_allclose(ours, expected, rtol=1e-12, atol=1e-15, err_msg=str(one))


def test_gain_curve_is_the_recall_at_each_share_of_the_examples() -> None:
    for seed in range(quick_cases(200)):
        one = case(seed)
        if one.has_both:
            share, recall, thresholds = one.curve.gain_curve()
            at = [one.curve.recall_at(x) for x in thresholds[1:]]
            np.testing.assert_allclose(recall[1:], at, rtol=1e-12, err_msg=str(one))
            top = [one.curve.recall_at_top(float(x)) for x in share[1:]]
            np.testing.assert_allclose(recall[1:], top, rtol=1e-9, err_msg=str(one))
            assert (share[0], recall[0], thresholds[0]) == (0.0, 0.0, np.inf)


@each("max_fpr", [0.01, 0.1, 0.37, 0.5, 1.0])
def test_partial_roc_auc_equals_scikit_learn(max_fpr: float) -> None:
    for draw, count in ((case, 1000), (exactly_weighted, 400), (freely_weighted, 400)):
        for seed in range(quick_cases(count)):
            one = draw(seed)
            if one.has_both:
                expected = scikit_learn(metrics.roc_auc_score, one, max_fpr=max_fpr)
                assert_close(one.curve.partial_roc_auc(max_fpr), expected, one)


def test_partial_roc_auc_up_to_one_is_the_roc_auc() -> None:
    for seed in range(quick_cases(300)):
        one = case(seed)
        assert_close(one.curve.partial_roc_auc(1.0), one.curve.roc_auc, one)


ALL_METRICS = CURVE_METRICS | SCORE_METRICS | PROBABILITY_METRICS


@each("name", ALL_METRICS)
def test_number_equals_its_definition(name: str) -> None:
    for seed in range(N_CASES):
        _assert_equals_definition(ALL_METRICS[name], name, case(seed))


@each("name", ALL_METRICS)
def test_number_equals_its_definition_when_weighted(name: str) -> None:
    for seed in range(N_WEIGHTED):
        _assert_equals_definition(ALL_METRICS[name], name, exactly_weighted(seed))
        _assert_equals_definition(ALL_METRICS[name], name, freely_weighted(seed))


def _assert_equals_definition(metric: Metric, name: str, one: Case) -> None:
    if name in PROBABILITY_METRICS and one.mode != "probability":
        return
    expected, ours = metric.truth(one.table), metric.ours(one.curve)
    if name in SCORE_METRICS:
        assert math.isnan(expected) == math.isnan(ours), f"{name}: {one}"
        assert math.isnan(expected) or float(ours) == expected, f"{name}: {ours!r}, {expected}"
    else:
        assert_close(ours, expected, f"{name}: {one}")


def thresholds_for(one: Case) -> list[float]:
    """Scores, their neighbours, and round numbers."""
    rng = np.random.default_rng([one.seed, 2])
    scores = one.scores.astype(np.float64)
    near = np.nextafter(rng.choice(scores, 2), rng.choice([-np.inf, np.inf]))
    chosen = [*rng.choice(scores, 2), *near, 0.0, 0.5, 1.0]
    return [x for x in map(float, chosen) if one.mode == "real" or 0 <= x <= 1]


@each("draw", [case, exactly_weighted])
def test_numbers_at_a_threshold_equal_their_definition(draw: Callable[[int], Case]) -> None:
    for seed in range(N_WEIGHTED):
        one = draw(seed)
        if not one.table.scores:
            continue
        for threshold in thresholds_for(one):
            for name, metric in metrics_at(threshold).items():
                assert_close(metric.ours(one.curve), metric.truth(one.table), f"{name}: {one}")


@each("beta", [0.5, 1.0, 2.0])
def test_best_f_is_f_at_its_threshold(beta: float) -> None:
    for seed in range(quick_cases(500)):
        one = case(seed)
        if one.table.n_pos:
            value, threshold = one.curve.best_f(beta=beta)
            assert value == one.curve.f_at(float(threshold), beta=beta), one


@each("share", [k / 10 for k in range(1, 11)])
def test_a_bound_that_is_reached_exactly_counts(share: float) -> None:
    k = round(10 * share)
    y = np.array([1] * k + [0] * (10 - k) + [1] * (10 - k))
    curve = se.PRCurveSketch().update(y, np.linspace(0.9, 0.1, len(y)).round(3)).compute()

    assert curve.precision_at_recall(share) == 1.0
    assert curve.recall_at_precision(1.0) == share
    tied = se.PRCurveSketch().update(y[:10], np.full(10, 0.5)).compute()
    assert tied.recall_at_precision(share) == 1.0
    assert tied.threshold_at_precision(share) == 0.5


@each("name", ALL_METRICS)
def test_interval_of_an_exact_number_is_the_number(name: str) -> None:
    for draw in (case, exactly_weighted, freely_weighted):
        for seed in range(quick_cases(300)):
            one = draw(seed)
            if name in PROBABILITY_METRICS and one.mode != "probability":
                continue
            ours = ALL_METRICS[name].ours(one.curve)
            assert isinstance(ours, se.Bounded)
            assert ours.exact is True
            np.testing.assert_array_equal([ours.low, ours.high], [ours, ours], err_msg=str(one))


def test_curve_of_few_scores_is_exact() -> None:
    for draw in (case, exactly_weighted, freely_weighted):
        for seed in range(quick_cases(300)):
            one = draw(seed)
            assert one.curve.exact is True
            assert one.curve.resolution == 0.0
            assert one.curve.cells == len(one.table.scores)
            expected = [one.table.n_pos, one.table.n_neg]
            if one.weights is not None:
                expected = [float(Fraction(n, 2**62)) for n in expected]
            assert [one.curve.n_pos, one.curve.n_neg] == expected, one


NEEDS_BOTH = (
    *("roc_auc", "partial_roc_auc(0.1)", "ks"),
    *OPERATING_POINTS,
    *OPERATING_THRESHOLDS,
)


@each("name", NEEDS_BOTH)
@each("label", [0, 1])
def test_area_of_one_class_is_undefined(name: str, label: int) -> None:
    curve = se.PRCurveSketch().update([label] * 3, [0.1, 0.2, 0.2]).compute()
    ours = ALL_METRICS[name].ours(curve)
    assert [math.isnan(x) for x in (ours, ours.low, ours.high)] == [True] * 3


NEEDS_A_POSITIVE = [
    name
    for name in (*CURVE_METRICS, *SCORE_METRICS)
    if name not in NEEDS_BOTH and not name.startswith("partial")
]


@each("name", NEEDS_A_POSITIVE)
def test_number_without_a_positive_is_undefined(name: str) -> None:
    curve = se.PRCurveSketch().update([0] * 3, [0.1, 0.2, 0.2]).compute()
    ours = ALL_METRICS[name].ours(curve)
    assert [math.isnan(x) for x in (ours, ours.low, ours.high)] == [True] * 3


@each("name", ALL_METRICS)
def test_number_of_nothing_is_undefined(name: str) -> None:
    assert math.isnan(ALL_METRICS[name].ours(se.PRCurveSketch().compute()))


@dataclass(frozen=True, eq=False)
class ClassTable:
    """Rows with one score a class, and which classes they belong to."""

    given: np.ndarray
    truth: np.ndarray
    scores: np.ndarray
    weights: np.ndarray | None
    options: dict[str, Any]

    @cached_property
    def curves(self) -> Any:
        workers = [se.PRCurveSketch(**self.options) for _ in range(2)]
        for i, rows in enumerate(np.array_split(np.arange(len(self.truth)), 4)):
            weights = None if self.weights is None else self.weights[rows]
            workers[i % 2].update(self.given[rows], self.scores[rows], sample_weight=weights)
        return se.merge(workers).compute()

    def of_class(self, k: int) -> Table:
        weights = None if self.weights is None else self.weights.tolist()
        return Table.of(self.truth[:, k].tolist(), self.scores[:, k].tolist(), weights)

    @cached_property
    def pooled(self) -> Table:
        """Every (row, class) as one row."""
        n_classes = self.truth.shape[1]
        weights = None if self.weights is None else np.repeat(self.weights, n_classes).tolist()
        return Table.of(self.truth.ravel().tolist(), self.scores.ravel().tolist(), weights)

    def __str__(self) -> str:
        weights = None if self.weights is None else self.weights.tolist()
        rows = f"y={self.given.tolist()}, scores={self.scores.tolist()}, weights={weights}"
        return f"{self.options}, {rows}"


@cache
def class_table(seed: int, *, multilabel: bool) -> ClassTable:
    rng = np.random.default_rng([11, seed, multilabel])
    n, n_classes = int(rng.integers(2, 60)), int(rng.integers(3, 6))
    scores = rng.random((n, n_classes))
    if rng.random() < 0.5:
        scores = scores.round(1)
    scores = scores.astype(rng.choice([np.float16, np.float32, np.float64]))
    options: dict[str, Any] = {"classes": n_classes}
    if multilabel:
        truth = rng.random((n, n_classes)) < rng.choice([0.0, 0.3, 0.7, 1.0], n_classes)
        given = truth.astype(rng.choice([np.bool_, np.uint8, np.int64]))
        options["multilabel"] = True
    else:
        code = rng.integers(0, n_classes if rng.random() < 0.6 else n_classes - 1, n)
        truth, given = code[:, None] == np.arange(n_classes), code
        if rng.random() < 0.4:
            names = [f"class {k}" for k in rng.permutation(n_classes).tolist()]
            given, options["classes"] = np.array(names)[code], names
    weights = [None, rng.integers(1, 5, n), rng.uniform(0.05, 2.0, n)][seed % 3]
    return ClassTable(given, truth, scores, weights, options)


AVERAGED = {"roc_auc": roc_auc, "average_precision": average_precision}
shapes = each("multilabel", [False, True])


@shapes
@each("name", AVERAGED)
@each("average", ["macro", "micro", "weighted", None])
def test_average_over_classes_equals_scikit_learn(
    name: str, average: str | None, multilabel: bool
) -> None:
    """Classes as columns of an indicator table, where scikit-learn defines every one."""
    metric = getattr(metrics, f"{name}_score")
    n_tables, compared = quick_cases(300, least=40), 0
    for seed in range(n_tables):
        one = class_table(seed, multilabel=multilabel)
        share = one.truth.mean(axis=0)
        if not ((share > 0) & (share < 1)).all():
            continue
        compared += 1
        scores = one.scores.astype(np.float64)
        options = {"average": average, "sample_weight": one.weights}
        expected = quietly(metric, one.truth.astype(int), scores, **options)
        ours = _floats(getattr(one.curves, name)(average=average))
        np.testing.assert_allclose(ours, expected, rtol=1e-12, err_msg=str(one))
    assert compared >= n_tables / 20


def _floats(value: Any) -> Any:
    return float(value) if isinstance(value, float) else [float(x) for x in value]


@shapes
@each("name", AVERAGED)
@each("average", ["macro", "micro", "weighted", None])
def test_average_over_classes_leaves_out_the_undefined(
    name: str, average: str | None, multilabel: bool
) -> None:
    for seed in range(N_TABLES):
        one = class_table(seed, multilabel=multilabel)
        tables = [one.of_class(k) for k in range(one.truth.shape[1])]
        values = [float(AVERAGED[name](table)) for table in tables]
        defined = [k for k, value in enumerate(values) if not math.isnan(value)]
        support = [tables[k].n_pos if average == "weighted" else 1 for k in defined]

        ours = getattr(one.curves, name)(average=average)
        if average is None:
            np.testing.assert_allclose(_floats(ours), values, rtol=1e-12, err_msg=str(one))
        elif average == "micro":
            assert_close(ours, AVERAGED[name](one.pooled), one)
        else:
            weighed = sum(
                Fraction(values[k]) * weight for k, weight in zip(defined, support, strict=True)
            )
            expected = weighed / sum(support) if sum(support) else math.nan
            assert_close(ours, expected, one)


@shapes
def test_mean_average_precision_is_the_mean_over_classes_with_a_positive(
    multilabel: bool,
) -> None:
    for seed in range(N_TABLES):
        one = class_table(seed, multilabel=multilabel)
        scores = one.scores.astype(np.float64)
        aps = [
            quietly(
                metrics.average_precision_score,
                one.truth[:, k],
                scores[:, k],
                sample_weight=one.weights,
            )
            for k in range(one.truth.shape[1])
            if one.truth[:, k].any()
        ]
        expected = np.mean(aps) if aps else math.nan
        assert_close(one.curves.mean_average_precision, expected, one)


@shapes
def test_curve_of_a_class_is_that_of_its_column(multilabel: bool) -> None:
    for seed in range(60):
        one = class_table(seed, multilabel=multilabel)
        for k in range(one.truth.shape[1]):
            alone = se.PRCurveSketch().update(
                one.truth[:, k], one.scores[:, k], sample_weight=one.weights
            )
            ours = one.curves[one.options["classes"][k] if _is_named(one) else k]
            for array, expected in zip(ours.roc_curve(), alone.compute().roc_curve(), strict=True):
                np.testing.assert_array_equal(array, expected, err_msg=str(one))


def _is_named(one: ClassTable) -> bool:
    return isinstance(one.options["classes"], list)
