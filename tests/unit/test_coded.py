"""Texts as codes: what they count is what the texts count."""

import numpy as np
import pytest
from offenders import each

import streameval as se
from streameval.inputs.coded import CodedTexts

TRUTH = ["cat", "dog", "cat", "owl", "cat"]
PREDICTION = ["dog", "dog", "cat", "cat", "fox"]


def coded(texts):
    return CodedTexts.of(texts)


def objects(texts):
    return np.array(texts, dtype=object)


def test_codes_are_the_texts():
    held = coded(TRUTH)
    assert held.tolist() == list(held) == np.asarray(held).tolist() == TRUTH
    assert (len(held), held.shape, held.size, held.ndim) == (5, (5,), 5, 1)
    assert held.texts == ["cat", "dog", "owl"]
    assert held[1:3].tolist() == ["dog", "cat"]
    assert held[np.array([3, 0])].tolist() == ["owl", "cat"]
    assert held[[True, False, False, False, True]].tolist() == ["cat", "cat"]
    assert held[3] == "owl"


def test_texts_may_be_replaced_by_equal_ones():
    held = coded(TRUTH).mapped(lambda text: text if text == "cat" else "x")
    assert held.tolist() == ["cat", "x", "cat", "x", "cat"]
    assert held.texts == ["cat", "x"]


@each("values", [[1], ["a", 1], [["a"]], [{}], [True, "x"], [b"x"]])
def test_codes_are_of_texts_alone(values):
    assert coded(values) is None


def test_missing_texts_have_a_code():
    assert coded([None, "a", None]).tolist() == [None, "a", None]


@each("options", [{}, {"ignore_label": "cat"}, {"classes": ("cat", "dog", "owl", "fox")}])
@each("weights", [None, [1.0, 0.0, 2.0, 0.5, 1.0], [0, 1, 1, 0, 0]])
def test_coded_labels_count_as_their_texts(options, weights):
    make = se.ConfusionAccumulator(**({"classes": "auto"} | options))
    expected = make.copy().update(objects(TRUTH), objects(PREDICTION), sample_weight=weights)
    counted = make.copy().update(coded(TRUTH), coded(PREDICTION), sample_weight=weights)
    for one, form in ((expected, objects), (counted, coded)):
        one.update(form(["owl"]), form(["cat"]))
    assert counted.to_bytes() == expected.to_bytes()


def test_codes_of_no_row_are_not_observed():
    part = coded(TRUTH)[:1]
    held = se.ConfusionAccumulator("auto").update(part, part)
    assert held == se.ConfusionAccumulator("auto").update(["cat"], ["cat"])
    assert held.copy().update(part[:0], part[:0]) == held


def test_coded_labels_beside_numbers_are_refused():
    held = se.ConfusionAccumulator("auto").update([1], [1])
    with pytest.raises(se.InvalidInputError, match="must hold labels of the type before"):
        held.update(coded(["a"]), coded(["a"]))
    with pytest.raises(se.InvalidInputError, match="must both be numbers or both be strings"):
        se.ConfusionAccumulator("auto").update(coded(["a"]), [1])


def test_missing_coded_labels_are_refused():
    with pytest.raises(se.InvalidInputError, match="must not hold missing values"):
        se.ConfusionAccumulator("auto").update(coded(["a", None]), coded(["a", "a"]))


@pytest.mark.slow
def test_more_coded_labels_than_a_dictionary_holds_are_counted():
    texts = [f"t{n}" for n in range(4096)]
    held = se.ConfusionAccumulator("auto").update(coded(texts), coded(texts))
    assert held == se.ConfusionAccumulator("auto").update(objects(texts), objects(texts))
    with pytest.raises(se.InvalidInputError, match="4096"):
        held.update(coded(["x"]), coded(["x"]))


@each("make", [lambda t: t, objects])
def test_groups_of_coded_columns_are_those_of_their_texts(make):
    counted, expected = (
        se.Sliced(se.ConfusionAccumulator("auto"), "c", values=["DE"], max_values=3) for _ in "ab"
    )
    rng = np.random.default_rng(0)
    for n in range(6):
        size = (1, 7, 5000, 3, 20_000, 9)[n]
        y_true, y_pred = (rng.choice(["cat", "dog", f"t{n}"], size).tolist() for _ in "ab")
        c = rng.choice(["DE", "FR", "IT", "ES", "PT"], size).tolist()
        batch = {"y_true": y_true, "y_pred": y_pred, "c": c}
        which = coded if n != 3 else make  # codes and texts may come in turn
        counted.update({name: which(column) for name, column in batch.items()})
        expected.update({name: objects(column) for name, column in batch.items()})
        if n == 1:
            assert counted.compute().as_dict() == expected.compute().as_dict()
    assert counted.to_bytes() == expected.to_bytes()


def test_missing_coded_values_have_a_slice():
    held = se.Sliced(se.ConfusionAccumulator(), "c")
    held.update({"y_true": [1, 0], "y_pred": [1, 1], "c": coded([None, "a"])})
    assert list(held) == ["a", None]


def test_panes_of_coded_labels_are_those_of_their_texts():
    counted, expected = (
        se.Windowed(se.ConfusionAccumulator("auto"), pane=2, time="t") for _ in "ab"
    )
    for truth in (TRUTH, [*TRUTH[:4], None]):
        batch = {"t": range(5)}
        counted.update(batch | {"y_true": coded(truth), "y_pred": coded(PREDICTION)})
        expected.update(batch | {"y_true": objects(truth), "y_pred": objects(PREDICTION)})
    assert counted.to_bytes() == expected.to_bytes()
    assert counted.n_rows() == 10
