"""CalibrationAccumulator against scikit-learn and against exact fractions."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from offenders import each
from profiles import quick_cases
from scipy.stats import norm
from sklearn import metrics as sk
from sklearn.calibration import calibration_curve

import streameval as se
from streameval.metrics.intervals import student
from streameval.states.bins import bin_indices

CASES = range(quick_cases(200))
OF_BINS = {"max_calibration_error", "rms_calibration_error"}
D2 = {"d2_log_loss_score", "d2_brier_score"}
PARTS_OF_BRIER = {"brier_reliability", "brier_resolution", "brier_uncertainty"}
COMPARED = {"log_loss", "brier", "ece", "pcopc", "mean_prediction", "mean_label"}
COMPARED |= {"normalized_entropy", *D2, *OF_BINS, *PARTS_OF_BRIER}
EPSILON = 2.0**-52
DIGITS = Context(prec=40)

Rows = tuple[np.ndarray, np.ndarray, np.ndarray | None]


def weights_of(seed: int, random: np.random.Generator, size: int) -> np.ndarray | None:
    weights = [None, random.integers(0, 4, size), random.random(size)][seed % 3]
    if weights is not None:
        weights[:2] = 1
    return weights


def binary(seed: int) -> Rows:
    random = np.random.default_rng(seed)
    size = int(random.integers(2, 80))
    shape = 10 ** random.uniform(-1.5, 1, 2)
    probability = random.beta(*shape, size)
    if seed % 5 == 0:
        probability = random.integers(0, 9, size) / 8
    truth = (random.random(size) < probability).astype(int)
    truth[:2] = 0, 1
    return truth, probability, weights_of(seed, random, size)


def several(seed: int) -> Rows:
    random = np.random.default_rng(seed)
    size, classes = int(random.integers(2, 80)), int(random.integers(2, 7))
    probability = random.dirichlet([10 ** random.uniform(-1, 1)] * classes, size)
    if seed % 5 == 0:
        probability = random.multinomial(8, [1 / classes] * classes, size) / 8
    truth = random.integers(0, classes, size)
    return truth, probability, weights_of(seed, random, size)


def computed(rows: Rows, **options: object) -> se.Calibration:
    truth, probability, weights = rows
    if probability.ndim == 2:
        options["classes"] = probability.shape[1]
    accumulator = se.CalibrationAccumulator(**options)  # type: ignore[arg-type]
    return accumulator.update(truth, probability, sample_weight=weights).compute()


KINDS = each("make", [binary, several])


@KINDS
def test_log_loss_equals_scikit_learn(make: Callable[[int], Rows]) -> None:
    for seed in CASES:
        truth, probability, weights = make(seed)
        labels = range(probability.shape[1] if probability.ndim == 2 else 2)
        expected = sk.log_loss(truth, probability, labels=list(labels), sample_weight=weights)
        ours = computed((truth, probability, weights)).log_loss
        assert ours == pytest.approx(expected, rel=1e-12), f"seed {seed}"


@KINDS
def test_normalized_entropy_equals_the_quotient_of_scikit_learns_losses(
    make: Callable[[int], Rows],
) -> None:
    for seed in CASES:
        truth, probability, weights = make(seed)
        labels = list(range(probability.shape[1] if probability.ndim == 2 else 2))
        shares = np.array([np.average(truth == k, weights=weights) for k in labels])
        ours = computed((truth, probability, weights)).value("normalized_entropy")
        if (shares > 0).sum() < 2:
            assert math.isnan(ours)
            continue
        always = np.tile(shares, (len(truth), 1))
        loss = sk.log_loss(truth, probability, labels=labels, sample_weight=weights)
        base = sk.log_loss(truth, always, labels=labels, sample_weight=weights)
        assert ours == pytest.approx(loss / base, rel=1e-12), f"seed {seed}"


@KINDS
@each("name", sorted(D2))
def test_d2_scores_equal_scikit_learn(name: str, make: Callable[[int], Rows]) -> None:
    for seed in CASES:
        truth, probability, weights = make(seed)
        ours = computed((truth, probability, weights)).value(name)
        kept = np.ones(len(truth), dtype=bool) if weights is None else weights > 0
        if len(np.unique(truth[kept])) < 2:
            assert math.isnan(ours)
            continue
        labels = list(range(probability.shape[1] if probability.ndim == 2 else 2))
        function = getattr(sk, name)
        expected = function(truth, y_proba=probability, sample_weight=weights, labels=labels)
        assert ours == pytest.approx(expected, rel=1e-11, abs=1e-11), f"seed {seed}"


def test_parts_of_brier_add_up_to_it_where_each_bin_holds_one_prediction() -> None:
    truth, probability = [0, 1, 1, 0, 1, 1, 0], [0.1, 0.1, 0.1, 0.5, 0.5, 0.9, 0.9]
    result = computed((np.array(truth), np.array(probability), None))
    reliability, resolution, uncertainty = (
        result.value(f"brier_{part}") for part in ("reliability", "resolution", "uncertainty")
    )
    assert reliability - resolution + uncertainty == pytest.approx(result.brier, rel=1e-12)


@each("name", sorted(PARTS_OF_BRIER))
def test_parts_of_brier_are_refused_for_several_classes(name: str) -> None:
    result = computed(several(0))
    with pytest.raises(se.InvalidInputError, match=f"`{name}` is defined for two classes"):
        result.value(name)


@each("name", sorted(OF_BINS | PARTS_OF_BRIER | D2 | {"normalized_entropy"}))
def test_metric_on_request_of_nothing_is_nan(name: str) -> None:
    assert math.isnan(se.CalibrationAccumulator().compute().value(name))


@KINDS
def test_brier_equals_scikit_learn(make: Callable[[int], Rows]) -> None:
    for seed in CASES:
        truth, probability, weights = make(seed)
        labels = range(probability.shape[1] if probability.ndim == 2 else 2)
        scaled = False if probability.ndim == 2 and probability.shape[1] == 2 else "auto"
        expected = sk.brier_score_loss(
            truth, probability, labels=list(labels), sample_weight=weights, scale_by_half=scaled
        )
        ours = computed((truth, probability, weights)).brier
        assert ours == pytest.approx(expected, rel=1e-12), f"seed {seed}"


def test_reliability_curve_equals_scikit_learn_off_the_edges() -> None:
    """scikit-learn's bins are open on the left: only rows on no edge are compared."""
    compared = 0
    for seed in CASES:
        truth, probability, _ = binary(seed)
        bins = seed % 19 + 1
        edges = np.concatenate([np.arange(bins + 1) / bins, np.linspace(0, 1, bins + 1)])
        off = ~np.isin(probability, edges)
        if not off.any():
            continue
        truth, probability = truth[off], probability[off]
        rate, mean = calibration_curve(truth, probability, n_bins=bins, strategy="uniform")
        ours_mean, ours_rate, weight = computed(
            (truth, probability, None), bins=bins
        ).reliability_curve()
        assert ours_rate == pytest.approx(rate, rel=1e-12, abs=0)
        assert ours_mean == pytest.approx(mean, rel=1e-12, abs=0)
        assert weight.sum() == len(truth)
        compared += 1
    assert compared >= 0.95 * len(CASES) - 1


def exact_weights(weights: np.ndarray | None, size: int) -> list[Fraction]:
    """Weights as they are kept: to the nearest multiple of 2**-62."""
    given = np.ones(size) if weights is None else weights.astype(float)
    return [Fraction(round(Fraction(w) * 2**62), 2**62) for w in given.tolist()]


def ratio(numerator: Fraction, denominator: Fraction) -> float:
    return float(numerator / denominator) if denominator else math.nan


def same(ours: object, expected: object) -> bool:
    return bool(np.array_equal(np.array(ours), np.array(expected), equal_nan=True))


def exact_curve(
    prediction: list[Fraction], label: list[bool], weight: list[Fraction], bins: int
) -> list[tuple[Fraction, Fraction, Fraction]]:
    """Sums of predictions, labels and weights of each occupied bin."""
    sums = [(Fraction(), Fraction(), Fraction())] * bins
    for p, y, w in zip(prediction, label, weight, strict=True):
        place = bisect_right([i / bins for i in range(1, bins)], p)
        a, b, c = sums[place]
        sums[place] = a + w * p, b + w * y, c + w
    return [each for each in sums if each[2]]


def check_curve(result: se.Calibration, sums: list[tuple[Fraction, ...]], n: Fraction) -> None:
    mean, rate, weight = result.reliability_curve()
    assert mean.tolist() == [ratio(p, w) for p, _, w in sums]
    assert rate.tolist() == [ratio(y, w) for _, y, w in sums]
    assert weight.tolist() == [float(w) for _, _, w in sums]
    assert result.ece == ratio(sum((abs(y - p) for p, y, _ in sums), Fraction()), n)
    gaps = [(abs(y - p) / w, w) for p, y, w in sums]
    assert result.value("max_calibration_error") == float(max(gap for gap, _ in gaps))
    square = ratio(sum((w * gap * gap for gap, w in gaps), Fraction()), n)
    assert result.value("rms_calibration_error") == math.sqrt(square)
    if not result.labels:
        base = sum(y for _, y, _ in sums) / n
        spread = sum((w * (y / w - base) ** 2 for _, y, w in sums), Fraction())
        assert result.value("brier_reliability") == square
        assert result.value("brier_resolution") == ratio(spread, n)
        assert result.value("brier_uncertainty") == float(base * (1 - base))


def test_binary_metrics_are_the_exact_values_rounded_once() -> None:
    for seed in CASES:
        truth, probability, weights = binary(seed)
        bins = seed % 23 + 1
        result = computed((truth, probability, weights), bins=bins)
        w = exact_weights(weights, len(truth))
        p = [Fraction(x) for x in probability.tolist()]
        y = truth.tolist()
        n = sum(w, Fraction())
        predicted = sum((a * b for a, b in zip(w, p, strict=True)), Fraction())
        positive = sum((a * b for a, b in zip(w, y, strict=True)), Fraction())
        errors = [Fraction(x) ** 2 for x in (probability - truth).tolist()]

        assert result.n == float(n)
        assert result.pcopc == ratio(predicted, positive)
        assert result.mean_prediction == ratio(predicted, n)
        assert result.mean_label == ratio(positive, n)
        assert result.brier == ratio(sum(a * b for a, b in zip(w, errors, strict=True)), n)
        check_curve(result, exact_curve(p, [bool(x) for x in y], w, bins), n)


def test_metrics_of_several_classes_are_the_exact_values_rounded_once() -> None:
    for seed in CASES:
        truth, probability, weights = several(seed)
        bins = seed % 23 + 1
        result = computed((truth, probability, weights), bins=bins)
        w = exact_weights(weights, len(truth))
        n = sum(w, Fraction())
        columns = [[Fraction(x) for x in column] for column in probability.T.tolist()]
        predicted = [sum(a * b for a, b in zip(w, column, strict=True)) for column in columns]
        observed = [
            sum((a for a, y in zip(w, truth.tolist(), strict=True) if y == k), Fraction())
            for k in range(len(columns))
        ]
        errors = probability - np.eye(len(columns))[truth]
        squares = [sum(Fraction(x) ** 2 for x in row) for row in errors.tolist()]

        assert same(result.mean_prediction, [ratio(x, n) for x in predicted])
        assert same(result.mean_label, [ratio(x, n) for x in observed])
        assert same(result.pcopc, [ratio(*x) for x in zip(predicted, observed, strict=True)])
        assert result.brier == ratio(sum(a * b for a, b in zip(w, squares, strict=True)), n)
        top = [max(range(len(row)), key=row.__getitem__) for row in probability.tolist()]
        confidence = [columns[k][row] for row, k in enumerate(top)]
        hits = [k == y for k, y in zip(top, truth.tolist(), strict=True)]
        check_curve(result, exact_curve(confidence, hits, w, bins), n)


@KINDS
def test_log_loss_is_the_exact_value_within_one_unit_of_each_row(
    make: Callable[[int], Rows],
) -> None:
    for seed in CASES:
        truth, probability, weights = make(seed)
        if probability.ndim == 2:
            own = probability[np.arange(len(truth)), truth].tolist()
        else:
            clipped = np.clip(probability, EPSILON, 1 - EPSILON).tolist()
            pairs = zip(map(Fraction, clipped), truth.tolist(), strict=True)
            own = [p if y else 1 - p for p, y in pairs]
        total = Fraction()
        for w, p in zip(exact_weights(weights, len(truth)), own, strict=True):
            kept = min(max(Fraction(p), Fraction(EPSILON)), 1 - Fraction(EPSILON))
            decimal = DIGITS.divide(Decimal(kept.numerator), Decimal(kept.denominator))
            total -= w * Fraction(decimal.ln(DIGITS))
        result = computed((truth, probability, weights))
        expected = total / sum(exact_weights(weights, len(truth)))
        assert abs(Fraction(result.log_loss) / expected - 1) < Fraction(1, 2**51), f"seed {seed}"


BINS = [*range(1, 300), 999, 1000, 1023, 1024, 1025, 4095, 10_007, 32_767, 55_000, 65_535, 65_536]


@each("step", [-1, 0, 1])
def test_edge_is_the_nearest_float_and_belongs_to_the_bin_above(step: int) -> None:
    for bins in BINS:
        places = range(1, bins) if bins < 1100 else range(1, bins, bins // 997)
        edges = np.array([i / bins for i in places])
        moved = np.nextafter(edges, edges + step) if step else edges
        expected = [place - (step < 0) for place in places]
        assert bin_indices(moved, bins).tolist() == expected, bins


def test_decimals_fall_where_they_are_read() -> None:
    assert bin_indices(np.array([0.2, 0.6, 0.29, 1.0]), 15).tolist() == [3, 9, 4, 14]
    assert bin_indices(np.array([0.29, 0.57, 0.58]), 100).tolist() == [29, 57, 58]


@each("bins", [1, 3, 15, 1000, 65_536])
def test_bins_of_tiny_and_random_probabilities_are_those_of_a_slow_search(bins: int) -> None:
    random = np.random.default_rng(bins)
    tiny = [0.0, -0.0, 5e-324, 1.5e-323, 2.0**-1022, 2.0**-970, 1.0, 1 - 2.0**-53]
    numbers = np.concatenate([tiny, random.random(500), 10.0 ** random.uniform(-320, 0, 500)])
    edges = [i / bins for i in range(1, bins)]
    expected = [bisect_right(edges, p) for p in numbers.tolist()]
    assert bin_indices(numbers, bins).tolist() == expected


def test_dtype_of_the_probabilities_does_not_change_where_they_are_clipped() -> None:
    for dtype in (np.float16, np.float32, np.float64):
        result = computed((np.array([1, 0]), np.array([0, 0.5], dtype=dtype), None))
        assert result.log_loss == pytest.approx((52 + 1) * math.log(2) / 2, rel=1e-15)


@each(
    ("truth", "probability", "clipped"),
    [
        (1, 0.0, 1),
        (0, 1.0, 1),
        (1, 1.0, 1),
        (0, 0.0, 1),
        (1, EPSILON, 0),
        (1, np.nextafter(EPSILON, 0), 1),
        (0, 1 - EPSILON, 0),
        (1, 1 - EPSILON, 0),
        (1, 1 - EPSILON / 2, 1),
        (0, 5e-324, 1),
        (1, 0.5, 0),
    ],
)
def test_clipped_rows_are_counted(truth: int, probability: float, clipped: int) -> None:
    assert computed((np.array([truth]), np.array([probability]), None)).n_clipped == clipped


def test_clipped_rows_of_several_classes_are_counted_by_weight() -> None:
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    result = computed((np.array([1, 0, 0]), rows, np.array([2, 0.5, 4])))
    assert result.n_clipped == 2.5


def test_ties_for_the_highest_probability_fall_to_the_first_class() -> None:
    rows = np.array([[0.5, 0.5], [0.5, 0.5]])
    mean, rate, weight = computed((np.array([0, 1]), rows, None)).reliability_curve()
    assert (mean.tolist(), rate.tolist(), weight.tolist()) == ([0.5], [0.5], [2])
    assert computed((np.array([0, 0]), rows, None)).ece == 0.5
    assert computed((np.array([1, 1]), rows, None)).reliability_curve()[1].tolist() == [0.0]


def test_pcopc_is_undefined_without_a_positive() -> None:
    result = computed((np.array([0, 0]), np.array([0.5, 0.25]), None))
    assert math.isnan(result.pcopc)  # type: ignore[arg-type]
    assert result.mean_prediction == 0.375
    pcopc = computed((np.array([0, 0]), np.array([[0.5, 0.5]] * 2), None)).pcopc
    assert same(pcopc, [0.5, math.nan])


@each("classes", [None, 3])
def test_metrics_of_nothing_are_undefined(classes: int | None) -> None:
    result = se.CalibrationAccumulator(classes=classes).compute()
    numbers = result.as_dict()
    assert numbers.pop("n") == numbers.pop("n_clipped") == 0
    assert all(math.isnan(number) for number in numbers.values())
    assert [len(column) for column in result.reliability_curve()] == [0, 0, 0]
    assert np.isnan(np.array([result.pcopc, result.mean_prediction, result.mean_label])).all()


def test_numbers_of_classes_are_arrays_of_all_classes() -> None:
    result = computed((np.array([0, 1]), np.array([[0.5, 0.25, 0.25]] * 2), None))
    for name in ("pcopc", "mean_prediction", "mean_label"):
        assert getattr(result, name).shape == (3,)
    assert result.labels == (0, 1, 2)
    assert isinstance(computed(binary(1)).pcopc, float)


@KINDS
@each("name", ["log_loss", "brier"])
def test_interval_of_a_loss_is_that_of_a_mean(make: Callable[[int], Rows], name: str) -> None:
    for seed in CASES:
        truth, probability, weights = make(3 * seed)  # without weights
        assert weights is None
        result = computed((truth, probability, None), intervals=True)
        columns = probability if probability.ndim == 2 else np.c_[1 - probability, probability]
        own = np.clip(columns[np.arange(len(truth)), truth], EPSILON, 1 - EPSILON)
        losses = -np.log(own)
        if name == "brier":
            hot = np.arange(columns.shape[1]) == truth[:, None]
            losses = ((columns - hot) ** 2).sum(axis=1) / (1 if probability.ndim == 2 else 2)
        largest = {"log_loss": 36.05, "brier": 2.0 if probability.ndim == 2 else 1.0}[name]
        n, mean = len(losses), losses.mean()
        few = 1 + 4 / math.sqrt(losses.sum() ** 2 / (losses**2).sum())
        z = norm.isf(0.05)
        reach = z * losses.std(ddof=1) / mean * max(math.sqrt(few), student(z, n)) / math.sqrt(n)
        low, high = mean * np.exp([-reach, reach])
        found = result.confidence(name, level=0.9)
        near = pytest.approx((low, min(high, largest)), rel=1e-9, abs=1e-12)
        assert found == near, f"seed {seed}"
