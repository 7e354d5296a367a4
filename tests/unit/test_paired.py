"""`Paired`: how rows are read, and what the result shows."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from offenders import each

import streameval as se
from streameval.exact.fixed_point import FixedPoint
from streameval.metrics.evidence import mcnemar_pvalue
from streameval.metrics.paired_decisions import share_difference
from streameval.states.paired import PairedCounts

Batch = tuple[Any, Any, Any]
Z = st.sampled_from([0.5, 1.0, 1.6448536269514722, 1.959963984540054, 2.5758293035489004])


def counted(result: se.PairedResult) -> tuple[float, ...]:
    return result.n_both, result.n_only_a, result.n_only_b, result.n_neither


@each(
    ("options", "batch"),
    [
        ({}, ([1, 0, 1, 0], [1, 0, 0, 1], [0.9, 0.7, 0.5, 0.6])),
        ({"threshold": 0.7}, ([1, 0, 1, 0], [1, 0, 0, 1], [0.9, 0.7, 0.7, 0.9])),
        ({"pos_label": 0}, ([1, 0, 1, 0], [0.1, 0.5, 0.5, 0.4], [0.2, 0.2, 0.3, 0.1])),
        ({"classes": 3}, ([2, 1, 0, 1], [2, 1, 1, 2], [2, 0, 0, 0])),
        ({"classes": 3}, ([2, 1, 0, 1], np.eye(3)[[2, 1, 1, 2]], np.eye(3)[[2, 0, 0, 0]])),
        ({"classes": "auto"}, (["b", "a", "", "é"], ["b", "a", "x", "e"], ["b", "é", "", "a"])),
        (
            {"classes": "auto", "ignore_label": 9},
            ([7, 1, 9, 7, 1], [7, 1, 9, 1, 7], [7, 7, 9, 7, 7]),
        ),
        ({"classes": 3, "ignore_label": 2}, ([1, 2, 0, 1], [1, 0, 0, 0], [1, 0, 1, 1])),
        (
            {"multilabel": True},
            (
                [[1, 0], [0, 0], [1, 1], [0, 1]],
                [[1, 0], [0, 0], [0, 1], [1, 0]],
                [[0.9, 0.1], [0.9, 0.1], [0.5, 0.5], [0.1, 0.1]],
            ),
        ),
        (
            {"multilabel": True, "ignore_label": -1},
            (
                [[1, -1], [-1, 0], [1, 1], [0, 1], [-1, -1]],
                [[1, 0], [0, 0], [0, 1], [1, 0], [0, 0]],
                [[1, 1], [0, 1], [1, 1], [0, 0], [0, 0]],
            ),
        ),
    ],
)
def test_rows_are_read_as_a_confusion_matrix_reads_them(
    options: dict[str, Any], batch: Batch
) -> None:
    result = se.Paired(**options).update(*batch).compute()
    for model, prediction in (("a", batch[1]), ("b", batch[2])):
        alone = se.ConfusionAccumulator(**options).update(batch[0], prediction).compute()
        assert (getattr(result, f"accuracy_{model}"), result.n) == (alone.accuracy, alone.n)
    both, only_a, only_b, _ = counted(result)
    assert (both > 0, only_a > 0, only_b > 0) == (True, True, True)


@each(
    ("batch", "options", "says"),
    [
        (([0, 1], [0, 1], [0]), {}, "`y_pred_b` must have 2 rows, got 1."),
        (([0, 1], [0], [0, 1]), {}, "`y_pred_a` must have 2 rows, got 1."),
        (
            ([0, 1], [0, 1], [0.5, math.nan]),
            {},
            "`y_pred_b` must not hold NaN, got NaN at position 1.",
        ),
        (([0, 1], [0, 1], None), {}, "`y_pred_b` is missing."),
        (
            (["a"], ["a"], [1]),
            {"classes": "auto"},
            "`y_true` and `y_pred_b` must both be numbers or both be strings.",
        ),
        (
            ([[0, 1]], [[[0.5, 1, 1], [1, 0, 1]]], [[0, 1]]),
            {},
            (
                "`y_pred_a` must hold a score of each of 2 classes in its last dimension or its "
                "second, got (1, 2, 3)."
            ),
        ),
    ],
)
def test_refused_batch_names_the_array_of_the_model(
    batch: Batch, options: dict[str, Any], says: str
) -> None:
    accumulator = se.Paired(**options)
    with pytest.raises(se.InvalidInputError, match=f"^{re.escape(says)}$"):
        accumulator.update(*batch)
    assert accumulator == se.Paired(**options)


@each("options", [{}, {"ignore_label": -1}])
@each("weights", [[[1, 2], [1, 1]], [[1, 0], [0, 0]]])
def test_labels_of_a_row_have_one_weight(options: dict[str, Any], weights: Any) -> None:
    accumulator = se.Paired(classes=2, multilabel=True, **options)
    labels = [[0, 1], [1, 1]]
    with pytest.raises(se.InvalidInputError, match=re.escape("must have shape (n,), got (2, 2)")):
        accumulator.update(labels, labels, labels, sample_weight=weights)
    assert accumulator.n == 0


def test_error_of_a_model_keeps_its_position_and_argument() -> None:
    with pytest.raises(se.InvalidInputError) as caught:
        se.Paired().update([0, 1], [0, 1], [0, 7])
    assert (caught.value.argument, caught.value.position) == ("y_pred_b", 1)


def test_empty_batch_changes_nothing() -> None:
    assert se.Paired().update([], [], [], sample_weight=[]) == se.Paired()


def test_result_of_nothing_is_undefined() -> None:
    result = se.Paired().compute()
    assert math.isnan(result.accuracy_a)
    assert math.isnan(result.difference)
    assert (result.mcnemar_pvalue, result.log_evidence, result.anytime_pvalue) == (1.0, 0.0, 1.0)
    assert all(map(math.isnan, result.confidence("difference")))
    assert all(map(math.isnan, result.confidence("accuracy_a")))


def test_tests_are_undefined_where_weights_had_fractions() -> None:
    result = se.Paired().update([1], [1], [0], sample_weight=[0.5]).compute()
    assert (result.accuracy_a, result.difference) == (1.0, 1.0)
    tests = (result.mcnemar_pvalue, result.log_evidence, result.anytime_pvalue)
    assert all(map(math.isnan, tests))
    with pytest.raises(se.InvalidInputError, match="`sample_weight` had fractions"):
        result.confidence("accuracy_a")
    assert result.readings()["difference"].sampling is None


@each("name", ["mcnemar_pvalue", "n"])
def test_confidence_of_anything_but_a_share_is_refused(name: str) -> None:
    with pytest.raises(se.InvalidInputError, match="These have one: accuracy_a, accuracy_b, diff"):
        se.Paired().compute().confidence(name)


@pytest.mark.slow
def test_interval_of_the_difference_covers_that_of_the_source() -> None:
    random = np.random.default_rng(3)
    covered = 0
    for _ in range(500):
        rows = random.choice(4, p=[0.7, 0.12, 0.06, 0.12], size=150)  # both, A, B, neither
        truth, a, b = np.ones(150, int), (rows <= 1).astype(int), (rows % 2 == 0).astype(int)
        low, high = se.Paired().update(truth, a, b).compute().confidence("difference")
        covered += low <= 0.06 + 0.0 <= high
    assert 0.92 < covered / 500 < 0.98


def test_interval_of_no_difference_is_that_of_as_many_draws() -> None:
    result = se.Paired().update([1] * 10, [1] * 10, [1] * 10).compute()
    low, high = result.confidence("difference")
    assert -1.0 < low == -high < 0.0


def test_result_is_shown_on_a_line_in_a_table_and_in_a_notebook() -> None:
    result = se.Paired().update([1] * 9, [1] * 9, [0] * 9).compute()
    assert repr(result) == (
        "PairedResult(n=9, difference=+1, mcnemar_pvalue=0.00391, anytime_pvalue=0.0195)"
    )
    first, _, head, *lines = str(result).splitlines()
    assert first.startswith("n = 9, n_both = 0, n_only_a = 9, ")
    assert head.split() == ["metric", "value", "95%", "interval"]
    assert lines[0].split()[:2] == ["accuracy_a", "1.000000"]
    assert "n_only_a" in result._repr_html_()
    assert result.described(0.95).rows["difference"].heading == "Difference, A minus B"


def test_metric_asked_of_another_result_is_said_to_be_of_paired() -> None:
    with pytest.raises(se.InvalidInputError, match="accuracy_a is a metric of Paired"):
        se.RegressionAccumulator().compute().read("accuracy_a")


def test_large_batches_and_small_ones_are_counted_alike() -> None:
    random = np.random.default_rng(5)
    rows = random.integers(0, 2, (3, 40_000))
    parts = se.Paired()
    for part in np.array_split(rows, 700, axis=1):
        parts.update(*part)
    assert parts.to_bytes() == se.Paired().update(*rows).to_bytes()


@each(
    ("n", "outcomes", "says"),
    [
        (2, [[0, 0], [1, 0]], "outcomes do not add up to n"),
        (0, [[-1, 0], [1, 0]], "outcomes holds negative numbers"),
        (1, [0, 0, 1, 0], r"outcomes has shape \(4,\) instead of \(2, 2\)"),
    ],
)
def test_state_that_no_rows_give_is_refused(n: int, outcomes: list[Any], says: str) -> None:
    state = PairedCounts(FixedPoint(np.array(n)), FixedPoint(np.array(outcomes)))
    with pytest.raises(se.CorruptStateError, match=says):
        se.Paired.from_bytes(se.Paired._make(se.Paired()._config, state).to_bytes())


@each("level", [0.0, 0.01, 0.95, 0.999])
def test_interval_exists_where_the_models_differ_on_all_of_very_many_rows(level: float) -> None:
    for n in (10**8, 10**9, 10**12):
        result = se.Paired(2).update([1], [0], [1], sample_weight=[n]).compute()
        low, high = result.confidence("difference", level=level)
        assert low == -1.0
        assert -1.0 <= high < -0.9999


def exact_coverage(n: int, only_a: float, only_b: float, z: float = 1.959963984540054) -> float:
    """Add up the chances of all numbers of disagreements whose interval has the difference."""
    largest = math.ceil(n * max(only_a, only_b) + 12 * math.sqrt(n * max(only_a, only_b)) + 12)
    covered = 0.0
    for a in range(min(n, largest) + 1):
        for b in range(min(n - a, largest) + 1):
            log_chance = log_multinomial(n, a, b) + a * math.log(only_a) + b * math.log(only_b)
            chance = math.exp(log_chance + (n - a - b) * math.log1p(-only_a - only_b))
            if chance > 1e-12:
                low, high = share_difference(a, b, n, z)
                covered += chance * (low <= only_a - only_b <= high)
    return covered


def log_multinomial(n: int, *parts: int) -> float:
    rest = n - sum(parts)
    return math.lgamma(n + 1) - sum(math.lgamma(one + 1) for one in (*parts, rest))


@pytest.mark.slow
@each("n", [20, 200, 10_000, 1_000_000])
@each("disagreements", [0.5, 2.0, 8.0])
def test_interval_of_the_difference_covers_with_few_disagreements(
    n: int, disagreements: float
) -> None:
    for share in (0.5, 0.75, 0.99):
        shares = disagreements / n * share, disagreements / n * (1 - share)
        assert exact_coverage(n, *shares) > 0.935


@given(a=st.integers(0, 60), b=st.integers(0, 60), others=st.integers(0, 10**6), z=Z)
def test_interval_of_the_difference_agrees_with_its_test(
    a: int, b: int, others: int, z: float
) -> None:
    level = math.erf(z / math.sqrt(2.0))
    low, high = share_difference(a, b, a + b + others or 1, z)
    assert -1.0 <= low <= (a - b) / (a + b + others or 1) <= high <= 1.0
    assert (low <= 0.0 <= high) == (mcnemar_pvalue(a, b) >= 1.0 - level)
    mirrored = share_difference(b, a, a + b + others or 1, z)
    assert mirrored == (-high, -low)


def test_interval_without_disagreements_is_that_of_the_score() -> None:
    z = 1.959963984540054
    for n in (1, 20, 1_000_000):
        assert share_difference(0, 0, n, z) == pytest.approx(
            (-(z**2) / (n + z**2), z**2 / (n + z**2))
        )
    assert share_difference(1, 0, 1_000_000, z) == pytest.approx((-2.84e-6, 5.66e-6), rel=2e-3)
    # Newcombe (1998), method 9, of 36, 12, 2 and 0 pairs
    assert share_difference(12, 2, 50, z) == pytest.approx((0.0611, 0.3447), abs=5e-5)
    low, high = share_difference(14, 5, 595, z)
    assert (low, round(high, 4)) == (0.0, 0.0317)


def test_no_rows_beside_the_predictions_of_a_model_are_refused() -> None:
    with pytest.raises(se.InvalidInputError, match="`y_pred_b` must have 0 rows, got 1"):
        se.Paired(measures=["roc_auc"]).update([], [], [0.5])
