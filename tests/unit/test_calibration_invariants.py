"""Every rule that a decoded calibration state must keep, broken alone under a right checksum."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from offenders import each
from profiles import quick_cases
from small_states import EVERY, parse_words, seal_words
from unit.test_decoded_invariants import Broken

import streameval as se
from streameval.configs import calibration as config
from streameval.states import codec

HALF = 2**61
"""The fraction of one half."""


def total(value: float | str) -> dict[str, str]:
    """Write an exact sum as the header does."""
    return {"exact_sum": f"{int(Fraction(value) * 2**1074):x}"}


def sums(*values: float | str) -> list[dict[str, str]]:
    return [total(value) for value in values]


# Payloads by place. calibration, of 3 bins: n, clipped, 3 weights, 3 hits; its rows are
# 0.1 and 0 in the first bin, 0.5 in the second, 0.9 and 0.75 in the third, one hit in each.
# class_calibration, of 2 bins and 3 classes, each whole then fraction: n (0, 1), clipped (2),
# weight (3, 4; 5, 6), hits (7, 8; 9, 10), class_weight (11, 12, 13; 14, 15, 16).
ONE, SEVERAL, EMPTY = "calibration", "class_calibration", "empty_calibration"
BROKEN = {
    "bins of nothing": Broken(ONE, "`bins` must be an integer of at least 1", {"config.bins": 0}),
    "bins without end": Broken(ONE, "`bins` must be at most 65536", {"config.bins": 2**62}),
    "bins beyond the header": Broken(ONE, "`bins` must", {"config.bins": 60_000}),
    "bins of another number": Broken(ONE, "weight has shape", {"config.bins": 4}),
    "one class": Broken(SEVERAL, "at least 2", {"config.classes": 1}),
    "observed classes": Broken(ONE, "`classes` must be None", {"config.classes": "auto"}),
    "classes of another number": Broken(SEVERAL, "class_weight has", {"config.classes": 4}),
    "classes without sums": Broken(ONE, "class_weight has shape", {"config.classes": 3}),
    "sums without classes": Broken(SEVERAL, "class_weight has", {"config.classes": None}),
    "row_brier unlike brier": Broken(
        "calibration_moments", "row_brier differs from brier", {"state.row_brier": total(0.5)}
    ),
    "log loss above its squares": Broken(
        "calibration_moments", "log_loss passes", {"state.squared_log_loss": total(0.25)}
    ),
    "squares of log loss too large": Broken(
        "calibration_moments", "squared_log_loss passes", {"state.squared_log_loss": total(99)}
    ),
    "Brier score above its squares": Broken(
        "calibration_moments", "brier passes", {"state.squared_brier": total(0)}
    ),
    "squares of the Brier score too large": Broken(
        "calibration_moments", "squared_brier passes", {"state.squared_brier": total(2)}
    ),
    "moments of nothing": Broken(
        "empty_calibration", "corrupt", {"config.intervals": True, "state.row_brier": 0}
    ),
    "n negative": Broken(ONE, "n holds negative", numbers={0: -6}),
    "clipped negative": Broken(ONE, "clipped holds negative", numbers={1: -2}),
    "weight negative": Broken(ONE, "weight holds negative", numbers={2: -3, 3: 3}),
    "hits negative": Broken(ONE, "hits holds negative", numbers={5: -2}),
    "class weight negative": Broken(SEVERAL, "class_weight holds", numbers={13: -1, 11: 1}),
    "clipped above n": Broken(ONE, "clipped passes n", numbers={1: 5}),
    "weight above n": Broken(ONE, "weight does not add up to n", numbers={4: 1}),
    "weight below n": Broken(ONE, "weight does not add up to n", numbers={0: 1}),
    "weight past 2**63": Broken(ONE, "past", numbers={2: 2**62, 3: 2**62}),
    "weight in another bin": Broken(ONE, "prediction is outside", numbers={2: -1, 4: 1}),
    "hits above the weight": Broken(ONE, "hits passes weight", numbers={6: 1}),
    "hits above the weight by a fraction": Broken(SEVERAL, "hits passes", numbers={8: 2, 10: 1}),
    "class weight above n": Broken(SEVERAL, "class_weight does not add up", numbers={13: 1}),
    "clipped in fractions of whole weights": Broken(
        ONE,
        "clipped has fractions that n has not",
        {"state.clipped.fraction": True},
        payload=[5, 1, 0, 2, 1, 2, 1, 1, 1],
    ),
    "clipped in fractions of nothing": Broken(
        SEVERAL,
        "clipped has fractions that n has not",
        {"state.clipped.fraction": True},
        payload=[3, 0, 0, 0, *(0, 3, 0, 0), *(0, 1, 0, 0), *(2, 1, 0, 0, 0, 0)],
    ),
    "hits in fractions of whole weights": Broken(
        ONE,
        "hits has fractions that weight has not",
        {"state.hits.fraction": True},
        payload=[5, 1, 2, 1, 2, 1, 1, 1, 0, 0, 0],
    ),
    "weight in fractions of whole weights": Broken(
        ONE,
        "weight does not add up to n",
        {"state.weight.fraction": True},
        payload=[5, 1, 2, 1, 2, 0, 0, 0, 1, 1, 1],
    ),
    "class weight in fractions without classes": Broken(
        ONE, "class_weight has fractions of nothing", {"state.class_weight.fraction": True}
    ),
    "loss negative": Broken(ONE, "log_loss is below", {"state.log_loss": {"exact_sum": "-1"}}),
    "loss of none": Broken(ONE, "log_loss is below", {"state.log_loss": total(0)}),
    "loss below certainty": Broken(ONE, "log_loss is below", {"state.log_loss": total(2.0**-51)}),
    "loss above all": Broken(ONE, "log_loss passes", {"state.log_loss": total(180.51)}),
    "brier negative": Broken(ONE, "brier passes n", {"state.brier": {"exact_sum": "-1"}}),
    "brier above n": Broken(ONE, "brier passes n", {"state.brier": total(5.01)}),
    "brier of classes negative": Broken(
        SEVERAL, "brier passes its range", {"state.brier": {"exact_sum": "-1"}}
    ),
    "brier of classes above all": Broken(
        SEVERAL, "brier passes its range", {"state.brier": total(7.57)}
    ),
    "brier a tuple": Broken(ONE, "field brier", {"state.brier": sums(1)}),
    "prediction a sum": Broken(ONE, "field prediction", {"state.prediction": total(1)}),
    "prediction of too few bins": Broken(
        ONE, "prediction has 2 sums instead of 3", {"state.prediction": sums(0.1, 0.5)}
    ),
    "prediction of numbers": Broken(
        ONE, "prediction holds other than sums", {"state.prediction": [1, 2, 3]}
    ),
    "prediction nested": Broken(
        ONE, "prediction holds other", {"state.prediction": [sums(0.1), sums(0.5), sums(1.65)]}
    ),
    "prediction of floats": Broken(
        ONE, "prediction holds", {"state.prediction": [{"float64": "3fe0000000000000"}] * 3}
    ),
    "prediction negative": Broken(
        ONE, "prediction is outside its bin", {"state.prediction": sums("-0.01", 0.5, 1.65)}
    ),
    "prediction below its bin": Broken(
        ONE, "prediction is outside its bin", {"state.prediction": sums(0.1, 0.33, 1.65)}
    ),
    "prediction above its bin": Broken(
        ONE, "prediction is outside its bin", {"state.prediction": sums(0.1, 0.67, 1.65)}
    ),
    "prediction above 1": Broken(
        ONE, "prediction is outside its bin", {"state.prediction": sums(0.1, 0.5, 2.01)}
    ),
    "prediction of no weight": Broken(
        SEVERAL, "prediction is outside its bin", {"state.prediction": sums(0.1, 2.5)}
    ),
    "class prediction without classes": Broken(
        ONE, "class_prediction has 1 sums instead of 0", {"state.class_prediction": sums(1)}
    ),
    "class prediction of too few": Broken(
        SEVERAL, "class_prediction has 2 sums", {"state.class_prediction": sums(1.8, 1.8)}
    ),
    "class prediction of labels": Broken(
        SEVERAL, "class_prediction holds other", {"state.class_prediction": ["a", "b", "c"]}
    ),
    "class prediction negative": Broken(
        SEVERAL, "class_prediction is negative", {"state.class_prediction": sums(2, 2, "-0.4")}
    ),
    "class predictions below n": Broken(
        SEVERAL, "class_prediction is not near n", {"state.class_prediction": sums(1, 1, 1)}
    ),
    "class predictions above n": Broken(
        SEVERAL, "class_prediction is not near n", {"state.class_prediction": sums(1.5, 1.5, 1.5)}
    ),
    "class prediction above the highest": Broken(
        SEVERAL, "prediction is not the highest", {"state.class_prediction": sums(0, 0.7, 2.9)}
    ),
    "highest above all classes": Broken(
        SEVERAL,
        "prediction is not the highest",
        {"state.prediction": sums(0, 3.5), "state.class_prediction": sums(0, 1, 2.4)},
    ),
    "loss of nothing": Broken(EMPTY, "log_loss passes", {"state.log_loss": {"exact_sum": "1"}}),
    "fraction of nothing": Broken(
        EMPTY,
        "sums of nothing",
        {"state.n.fraction": True, "state.weight.fraction": True},
        payload=[0] * (2 + 1 + 30 + 15),
    ),
}


@each("claim", BROKEN)
def test_calibration_is_refused_in_one_sentence_when_it_has(claim: str) -> None:
    with pytest.raises(se.CorruptStateError, match=re.escape(BROKEN[claim].reason)) as caught:
        se.from_bytes(BROKEN[claim].data())
    assert re.fullmatch(r"state is corrupt: [^\n]*[^.\n]\.", str(caught.value))


@each("name", [ONE, SEVERAL, EMPTY])
def test_calibration_sealed_again_without_a_change_is_read(name: str) -> None:
    assert se.from_bytes(Broken(name, "").data()) == EVERY[name]()


ROWS = np.eye(2)[np.arange(40) % 2]
EXTREME: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "sure and right": ({}, [[1, 0], [1.0, 0.0]]),
    "sure and wrong": ({}, [[1, 0], [0.0, 1.0]]),
    "smallest": ({}, [[0] * 4, [5e-324, 1e-200, 1e-160, 2.0**-968]]),
    "weights of tiny numbers": (
        {},
        [[0, 1] * 3, [1e-200, 1e-162, 5e-324] * 2, [0.3, 0.7, 2**-19, 1e-5, 0.1, 2**40]],
    ),
    "edges": ({"bins": 3}, [[0, 1, 0], [1 / 3, 2 / 3, 1.0]]),
    "below edges": ({"bins": 3}, [[0, 1], np.nextafter([1 / 3, 2 / 3], 0), [2**53 + 2, 0.1]]),
    "one bin": ({"bins": 1}, [[0, 1], [0.0, 1.0]]),
    "classes, sure and wrong": ({"classes": 2}, [np.arange(1, 41) % 2, ROWS]),
    "classes, sure and right": ({"classes": 2}, [np.arange(40) % 2, ROWS]),
    "half precision below 1": (
        {"classes": 3},
        [[0], np.array([[0.97, 0, 0]], dtype=np.float16)],
    ),
    "half precision above 1": (
        {"classes": 3},
        [[2], np.array([[0.97, 0.06, 0]], dtype=np.float16), [2.0**-20]],
    ),
    "classes of tiny numbers": (
        {"classes": 2},
        [[0, 1, 0], [[1.0, 5e-324], [1.0, 1e-200], [1e-310, 1.0]], [0.3, 0.1, 2**-19]],
    ),
    "largest total": ({}, [[0, 1], [0.1, 0.9], [2**62, 2**62 - 1]]),
}


@each("claim", EXTREME)
def test_state_of_extreme_rows_is_read_again(claim: str) -> None:
    options, batch = EXTREME[claim]
    accumulator = se.CalibrationAccumulator(**options).update(batch)
    assert se.from_bytes(accumulator.to_bytes()) == accumulator


def test_random_states_are_read_again() -> None:
    for seed in range(quick_cases(300)):
        random = np.random.default_rng(seed)
        size, classes = int(random.integers(1, 6)), int(random.integers(2, 5))
        weights = 2.0**-19 + random.random(size) * 10.0 ** random.integers(-5, 6)
        probability = 10.0 ** random.uniform(-330, 0, size)
        accumulator = se.CalibrationAccumulator(int(random.integers(1, 200)))
        accumulator.update(random.integers(0, 2, size), probability, sample_weight=weights)
        assert se.from_bytes(accumulator.to_bytes()) == accumulator
        accumulator = se.CalibrationAccumulator(int(random.integers(1, 200)), classes)
        probability = random.dirichlet([10 ** random.uniform(-3, 1)] * classes, size)
        probability = probability / probability.sum(axis=1, keepdims=True)
        accumulator.update(random.integers(0, classes, size), probability, sample_weight=weights)
        assert se.from_bytes(accumulator.to_bytes()) == accumulator


def test_numbers_of_any_state_that_is_let_in_are_in_range() -> None:
    """Change the payload and the sums at random: what is read has sane metrics."""
    read, n_cases = 0, quick_cases(1500)
    for name in (ONE, SEVERAL):
        parsed = parse_words(EVERY[name]().to_bytes())
        for seed in range(n_cases):
            random = np.random.default_rng(seed)
            header, numbers = json.loads(parsed.header), parsed.numbers
            for place in random.integers(0, len(numbers), random.integers(0, 3)):
                numbers[place] = int(random.integers(-1, 4))
            for field in ("log_loss", "brier"):
                if random.random() < 0.5:
                    header["state"][field] = total(float(random.uniform(-1, 60)))
            if random.random() < 0.5:
                place = random.integers(0, len(header["state"]["prediction"]))
                header["state"]["prediction"][place] = total(float(random.uniform(-0.1, 4)))
            try:
                state = se.from_bytes(seal_words(header, numbers, kind=parsed.kind))
            except se.CorruptStateError:
                continue
            read += 1
            numbers = state.compute().as_dict()
            assert 0 <= numbers["ece"] <= 1
            assert 0 <= numbers["brier"] <= 2.1
            assert 0 < numbers["log_loss"] <= 36.1
            assert 0 <= numbers["n_clipped"] <= numbers["n"]
            assert math.isnan(numbers.get("pcopc", 1)) or numbers.get("pcopc", 1) >= 0
            state.compute().report()
    assert read > n_cases / 15


@pytest.mark.slow
def test_largest_state_that_is_allowed_can_be_read() -> None:
    bins = (codec.MAX_HEADER - config._OTHER_BYTES - 2) // config._SUM_BYTES
    with pytest.raises(se.InvalidInputError, match="`bins` must keep"):
        se.CalibrationAccumulator(bins + 1)
    accumulator = se.CalibrationAccumulator(bins)
    places = (np.arange(bins) + 0.5) / bins
    accumulator.update(np.ones(bins), places, sample_weight=np.full(bins, 2**63 // bins - 1))
    assert len(accumulator.to_bytes()) > 0.9 * codec.MAX_HEADER
    assert se.from_bytes(accumulator.to_bytes()) == accumulator


def test_labels_count_towards_the_room_in_the_header() -> None:
    labels = ["a" * 1000 + str(k) for k in range(1000)]
    assert se.CalibrationAccumulator(40_000, labels)._config.n_classes == 1000
    labels = ["\N{PILE OF POO}" * 1000 + str(k) for k in range(1000)]
    with pytest.raises(se.InvalidInputError, match="`bins` must keep"):
        se.CalibrationAccumulator(40_000, labels)


def test_header_limit_is_that_of_the_format() -> None:
    assert config._HEADER_BYTES == codec.MAX_HEADER
