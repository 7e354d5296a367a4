"""Parcels: what ranks send each other is less than a state, and the state stays the same."""

from __future__ import annotations

import numpy as np
from engines.cases import CASES
from offenders import each

import streameval as se
from streameval.engines._shipping import packed, unpacked

RANDOM = np.random.default_rng(0)


def softmax(n_rows, n_classes, dtype=np.float32):
    """Draw labels, and scores that the label raises."""
    labels = RANDOM.integers(0, n_classes, n_rows)
    powers = np.exp(RANDOM.normal(size=(n_rows, n_classes)) + 2 * np.eye(n_classes)[labels])
    return labels, (powers / powers.sum(axis=1, keepdims=True)).astype(dtype)


def curves(n_rows, n_classes, **options):
    return se.PRCurveSketch(classes=n_classes, **options).update(*softmax(n_rows, n_classes))


def members():
    columns = {"curve": {"y_score": "p"}, "counts": {"y_pred": "p"}}
    counts = se.ConfusionAccumulator(3)
    made = se.Collection({"curve": se.PRCurveSketch(classes=3), "counts": counts}, columns=columns)
    labels, scores = softmax(500, 3)
    return made.update({"y_true": labels, "p": scores})


MORE = {
    "nothing": lambda: se.PRCurveSketch(classes=3),
    "one row": lambda: curves(1, 3),
    "few columns": lambda: curves(6000, 3),
    "many columns": lambda: curves(300, 100),
    "cells": lambda: curves(6000, 3).copy(),
    "coarse cells": lambda: curves(6000, 3, budget=64),
    "many labels": lambda: se.PRCurveSketch(classes=9, multilabel=True).update(
        RANDOM.integers(0, 2, (6000, 9)), RANDOM.random((6000, 9))
    ),
    "few scores": lambda: se.PRCurveSketch().update([0, 1] * 4000, [0.25, 0.5] * 4000),
    "fractions": lambda: se.PRCurveSketch().update(
        [0, 1] * 4000, RANDOM.random(8000), sample_weight=RANDOM.random(8000)
    ),
    "a named negative": lambda: se.PRCurveSketch(pos_label="a").update(["a", "b"], [0.5, 0.25]),
    "logits": lambda: se.PRCurveSketch(scores="real").update(
        RANDOM.integers(0, 2, 8000), RANDOM.normal(size=8000)
    ),
    "members": members,
}


@each("make", [case.serial for case in CASES.values()] + [*MORE.values()])
def test_a_parcel_has_the_bytes_of_what_was_packed(make):
    given = make()
    read = unpacked(packed(given))
    again = unpacked(packed(read))
    assert read.to_bytes() == again.to_bytes() == given.to_bytes()


def test_pending_rows_arrive_pending_and_can_be_merged():
    first, second = curves(3000, 10), curves(4000, 10)
    read = [unpacked(packed(one)) for one in (first, second)]
    assert [one._held.used for one in read] == [3000, 4000]
    assert read[0].merge(read[1])._held.used == 7000
    assert read[0].to_bytes() == se.merge([first, second]).to_bytes()
    read[1].update(*softmax(10, 10))
    assert read[1].n == 4010


def test_many_pending_rows_arrive_in_a_block_of_their_number_and_can_be_updated():
    given = curves(6000, 100)
    read = unpacked(packed(given))
    assert read._held.used == read._held.block.capacity == 6000
    more = softmax(10, 100)
    assert read.update(*more).to_bytes() == given.update(*more).to_bytes()


@each("make", [lambda: curves(10_000, 100), lambda: curves(10_000, 100).copy()])
def test_a_parcel_is_smaller_than_the_scores_from_ten_thousand_rows_a_class(make):
    assert len(packed(make())) < 0.9 * 10_000 * 100 * 4


def test_few_scores_travel_as_cells():
    assert len(packed(MORE["few scores"]())) < 2000
