"""Precision, recall and F of the best scores: `measures=["top_k"]`."""

from __future__ import annotations

import math

import numpy as np
import pytest
from offenders import each

import streameval as se
from streameval.metrics.evidence import Share

SCORES = [[0.5, 0.4, 0.1], [0.2, 0.5, 0.3], [0.6, 0.3, 0.1], [0.1, 0.2, 0.7]]
TRUTH = [1, 2, 2, 2]  # a hit, a hit, a miss for which 0 is predicted, a hit


def counting(**options: object) -> se.ConfusionAccumulator:
    return se.ConfusionAccumulator(3, top_k=2, measures=["top_k"], **options)


RESULT = counting().update(TRUTH, SCORES).compute()


def test_top_k_precision_predicts_the_true_class_among_the_best_scores() -> None:
    assert RESULT.top_k_precision(average=None).tolist() == [0.0, 1.0, 1.0]
    assert RESULT.top_k_recall(average=None).tolist() == [0.0, 1.0, 2 / 3]
    assert RESULT.top_k_f_score(average=None).tolist() == [0.0, 1.0, 0.8]
    assert RESULT.top_k_f_score(2.0, average=None)[2] == pytest.approx(5 * 2 / (5 * 2 + 4))
    assert RESULT.top_k_precision("micro") == RESULT.top_k_accuracy == 0.75


def test_top_k_precision_of_one_class_is_read_by_name() -> None:
    assert RESULT.read("top_k_recall[2]").value == 2 / 3
    assert RESULT[2].top_k_recall == 2 / 3


def test_top_k_precision_is_in_reports_where_it_was_asked_for() -> None:
    assert "top_k_precision" in RESULT.report()
    plain = se.ConfusionAccumulator(3, top_k=2).update(TRUTH, SCORES).compute()
    assert "top_k_precision" not in plain.report()


def test_tied_classes_come_in_the_order_of_the_columns() -> None:
    result = counting().update([0, 1, 2], [[0.5, 0.5, 0.5]] * 3).compute()
    assert result.top_k_recall(average=None).tolist() == [1.0, 1.0, 0.0]
    assert result.top_k_accuracy == pytest.approx(2 / 3)


def test_top_k_precision_adds_up_over_batches_and_weights() -> None:
    whole = counting().update(TRUTH, SCORES, sample_weight=[2, 1, 1, 3])
    rows = [0, 0, 1, 2, 3, 3, 3]
    parts = [counting().update([TRUTH[row]], [SCORES[row]]) for row in rows]
    assert se.merge(parts) == whole
    assert se.from_bytes(whole.to_bytes()) == whole


def test_ignored_rows_leave_the_best_scores() -> None:
    found = counting(ignore_label=-1).update([*TRUTH, -1], [*SCORES, SCORES[0]])
    assert found == counting(ignore_label=-1).update(TRUTH, SCORES)


def test_top_k_precision_of_one_class_has_the_interval_of_its_draws() -> None:
    low, high = RESULT.confidence("top_k_recall", average=None)
    two_of_three = se.ConfusionAccumulator().update([1, 1, 1], [1, 1, 0]).compute()
    assert (low[2], high[2]) == two_of_three.confidence("recall")


@each("average", ["macro", "micro", "weighted"])
def test_top_k_recall_has_an_interval_that_shrinks(average: str) -> None:
    many = counting().update(TRUTH * 100, SCORES * 100).compute()
    ends = many.confidence("top_k_recall", average=average)
    few = RESULT.confidence("top_k_recall", average=average)
    assert few[0] < ends[0] < many.top_k_recall(average=average) < ends[1] <= few[1]


def test_top_k_recall_of_one_class_has_evidence() -> None:
    assert RESULT.statistic("top_k_recall[2]") == Share.of(2.0, 1.0)


def test_top_k_precision_of_nothing_is_zero_or_nan() -> None:
    nothing = counting().compute()
    assert math.isnan(nothing.top_k_precision(average="macro", zero_division=np.nan))


def test_top_k_precision_without_its_measure_is_refused() -> None:
    result = se.ConfusionAccumulator(3, top_k=2).update(TRUTH, SCORES).compute()
    with pytest.raises(se.InvalidInputError) as error:
        result.value("top_k_precision")
    assert str(error.value) == '`top_k_precision` needs an accumulator with measures="top_k".'
