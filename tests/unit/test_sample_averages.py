"""Means over the examples of multilabel counts: `measures=["samples"]`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from offenders import each

import streameval as se

TRUTH = np.array([[1, 1, 0], [0, 0, 0], [1, 0, 1], [0, 1, 0]])
PREDICTION = np.array([[1, 0, 0], [0, 1, 0], [1, 0, 1], [0, 0, 0]])
# tp, predicted, true: 1 1 2; 0 1 0; 2 2 2; 0 0 1


def counting(**options: Any) -> se.ConfusionAccumulator:
    return se.ConfusionAccumulator(3, multilabel=True, measures=["samples"], **options)


RESULT = counting().update(TRUTH, PREDICTION).compute()


def test_samples_average_is_the_mean_over_examples() -> None:
    assert RESULT.precision(average="samples") == (1 + 0 + 1 + 0) / 4
    assert RESULT.recall(average="samples") == (0.5 + 0 + 1 + 0) / 4
    assert RESULT.jaccard(average="samples") == (0.5 + 0 + 1 + 0) / 4
    assert RESULT.f_score(average="samples") == pytest.approx((2 / 3 + 0 + 1 + 0) / 4)
    assert RESULT.f_score(2.0, average="samples") == pytest.approx((5 / 9 + 0 + 1 + 0) / 4)
    assert RESULT.specificity(average="samples") == pytest.approx((1 + 2 / 3 + 1 + 1) / 4)


@each(("zero_division", "expected"), [(0.0, 0.5), (1.0, 0.75), (math.nan, 2 / 3)])
def test_samples_average_takes_zero_division_of_an_example(
    zero_division: float, expected: float
) -> None:
    """The last example has no prediction."""
    found = RESULT.precision(average="samples", zero_division=zero_division)
    assert found == pytest.approx(expected)


def test_samples_average_is_read_by_name() -> None:
    assert RESULT.read("recall[samples]").value == RESULT.recall(average="samples")


def test_samples_average_of_nothing_is_nan() -> None:
    nothing = counting().compute()
    assert math.isnan(nothing.precision(average="samples"))
    assert all(map(math.isnan, nothing.confidence("precision", average="samples")))


def test_samples_average_has_the_sampling_interval_of_a_mean() -> None:
    low, high = RESULT.confidence("precision", average="samples")
    many = counting().update(np.tile(TRUTH, (25, 1)), np.tile(PREDICTION, (25, 1))).compute()
    ends = many.confidence("precision", average="samples")
    assert 0 < low < ends[0] < 0.5 < ends[1] < high < 1
    # the values 1 0 1 0 are draws of a proportion
    plain = se.ConfusionAccumulator().update([0, 1] * 50, [0, 0] * 50).compute()
    assert ends == pytest.approx(plain.confidence("accuracy"))


def test_weights_repeat_examples() -> None:
    weighted = counting().update(TRUTH, PREDICTION, sample_weight=[2, 1, 0, 1])
    repeated = [0, 0, 1, 3]
    assert weighted == counting().update(TRUTH[repeated], PREDICTION[repeated])


def test_ignored_labels_do_not_count_towards_an_example() -> None:
    truth = np.array([[1, -1, 0], [-1, -1, -1], [0, 1, -1]])
    prediction = np.array([[1, 1, 0], [1, 1, 1], [1, 1, 1]])
    acc = counting(ignore_label=-1).update(truth, prediction)
    assert acc.n == 2
    assert acc.compute().precision(average="samples") == (1 + 0.5) / 2
    assert se.from_bytes(acc.to_bytes()) == acc


@each("weights", [None, [1, 2, 3, 4], [0.5, 0.25, 1, 3]])
def test_slices_add_up_examples_of_every_pattern(weights: Any) -> None:
    sliced = se.Sliced(counting(), "part")
    rows = {"y_true": TRUTH, "y_pred": PREDICTION, "part": ["a", "b", "a", "a"]}
    if weights is not None:
        rows["sample_weight"] = weights
    sliced.update(rows)
    decoded = se.from_bytes(sliced.to_bytes())
    assert decoded.total() == counting().update(TRUTH, PREDICTION, sample_weight=weights)


def test_windows_add_up_examples_of_every_pattern() -> None:
    window = se.Windowed(counting(), pane=10)
    for time in (1, 11, 12, 35):
        window.update({"y_true": TRUTH, "y_pred": PREDICTION, "time": [time] * 4})
    assert window.total() == counting().update(np.tile(TRUTH, (4, 1)), np.tile(PREDICTION, (4, 1)))


def test_configurations_without_measures_keep_their_bytes() -> None:
    assert b"measures" not in se.ConfusionAccumulator(3, multilabel=True).to_bytes()


def test_measures_take_one_name_or_a_list_of_it() -> None:
    one = se.ConfusionAccumulator(3, multilabel=True, measures="samples")
    assert one == se.ConfusionAccumulator(3, multilabel=True, measures=["samples"])


def test_measures_are_refused_when_one_is_named_twice() -> None:
    with pytest.raises(se.InvalidInputError, match=r"^`measures` must be distinct, got 'samples' "):
        se.ConfusionAccumulator(3, multilabel=True, measures=["samples"] * 2)


def test_states_of_other_measures_do_not_merge() -> None:
    with pytest.raises(se.IncompatibleStateError, match="`measures` differs"):
        counting().merge(se.ConfusionAccumulator(3, multilabel=True))


@each("acc", [se.ConfusionAccumulator(), se.ConfusionAccumulator(3, multilabel=True)])
def test_samples_average_without_its_measure_is_refused(acc: se.ConfusionAccumulator) -> None:
    with pytest.raises(se.InvalidInputError) as error:
        acc.compute().precision(average="samples")
    assert str(error.value) == (
        '`average` "samples" needs an accumulator with measures="samples" and multilabel=True.'
    )


def test_samples_average_over_named_labels_is_refused() -> None:
    with pytest.raises(se.InvalidInputError, match="`labels` are of"):
        RESULT.precision(average="samples", labels=[0])
