"""Labels: one canonical form, a fixed set or a growing one, and never the wrong place."""

import enum
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from offenders import each

import streameval as se
from streameval.inputs.classes import canonical_classes, canonical_label, class_labels
from streameval.inputs.labels import MAX_OBSERVED_LABELS, encode, observe


class Word(enum.StrEnum):
    CAT = "cat"
    DOG = "dog"


class OldWord(str, enum.Enum):  # noqa: UP042 - what people have from before StrEnum
    CAT = "cat"
    DOG = "dog"


class Number(enum.IntEnum):
    ONE = 1
    TWO = 2


def words(*items: str) -> Any:
    return np.array(items, dtype=object)


@each(
    ("value", "label"),
    [
        (3, 3),
        (-3, -3),
        (True, 1),
        (np.False_, 0),
        (np.uint8(200), 200),
        (np.int64(-1), -1),
        (np.array(4), 4),
        (2.0, 2),
        (-0.0, 0),
        (np.float32(2.0), 2),
        ("a", "a"),
        ("", ""),
        ("1", "1"),
        (np.str_("a"), "a"),
        (Number.TWO, 2),
        (Word.CAT, "cat"),
        (OldWord.CAT, "cat"),
    ],
)
def test_canonical_label_gives_a_plain_int_or_str(value: Any, label: int | str) -> None:
    given = canonical_label(value, name="pos_label")
    assert (type(given), given) == (type(label), label)


@each(
    "value",
    [0.5, float("nan"), float("inf"), None, b"a", 1j, [1], (1,), np.array([1, 2])],
)
def test_canonical_label_refuses(value: Any) -> None:
    with pytest.raises(se.InvalidInputError) as caught:
        canonical_label(value, name="pos_label")
    assert str(caught.value) == f"`pos_label` must be an integer or a string, got {value!r}."


@each(
    ("value", "classes"),
    [
        (3, 3),
        (np.int64(3), 3),
        (np.array(3), 3),
        ([0, 1, 2], 3),
        (range(3), 3),
        (np.arange(3.0), 3),
        ((False, True), 2),
        ([1, 0], (1, 0)),
        ([1, 2, 3], (1, 2, 3)),
        ([-(2**63), 2**63 - 1], (-(2**63), 2**63 - 1)),
        (["b", "a"], ("b", "a")),
        (np.array(["b", "a"]), ("b", "a")),
        (pd.Series(["b", "a"]), ("b", "a")),
        (pd.Index([2, 1]), (2, 1)),
        (pl.Series(["b", "a"]), ("b", "a")),
        ({"b": 1, "a": 2}.keys(), ("b", "a")),
        ((label for label in "ba"), ("b", "a")),
        (Word, ("cat", "dog")),
        (OldWord, ("cat", "dog")),
        (Number, (1, 2)),
        ("auto", "auto"),
        (np.str_("auto"), "auto"),
    ],
)
def test_canonical_classes(value: Any, classes: Any) -> None:
    assert canonical_classes(value, min_count=2) == classes


def test_canonical_classes_reads_a_torch_tensor() -> None:
    torch = pytest.importorskip("torch")
    assert canonical_classes(torch.tensor([2, 1]), min_count=2) == (2, 1)
    assert canonical_classes(torch.tensor(2), min_count=2) == 2


@each(
    ("value", "message"),
    [
        ("cat", "`classes` must be a number, a sequence of labels or \"auto\", got 'cat'."),
        (None, '`classes` must be a number, a sequence of labels or "auto", got None.'),
        (True, "`classes` must be a number or labels, got True."),
        (np.True_, "`classes` must be a number or labels, got np.True_."),
        (1, "`classes` must be at least 2, got 1."),
        (-3, "`classes` must be at least 2, got -3."),
        ([], "`classes` must be at least 2, got 0."),
        (["a"], "`classes` must be at least 2, got 1."),
        ([1, "a"], "`classes` must be all numbers or all strings, got both."),
        ([1, 2, 1], "`classes` must be distinct, got 1 twice."),
        ([1, 0, True], "`classes` must be distinct, got 1 twice."),
        (["a", "b", "b"], "`classes` must be distinct, got 'b' twice."),
        ([0, 2**63], "`classes` must fit 64 bits, got 9223372036854775808."),
        ([-(2**63) - 1, 0], "`classes` must fit 64 bits, got -9223372036854775809."),
        ([0, 0.5], "`classes` must be an integer or a string, got 0.5."),
        (["a", None], "`classes` must be an integer or a string, got None."),
    ],
)
def test_canonical_classes_refuses(value: Any, message: str) -> None:
    with pytest.raises(se.InvalidInputError) as caught:
        canonical_classes(value, min_count=2)
    assert str(caught.value) == message


@each("value", [b"ab", bytearray(b"ab")])
def test_canonical_classes_refuses_bytes(value: Any) -> None:
    with pytest.raises(se.InvalidInputError, match=r"^`classes` must be "):
        canonical_classes(value, min_count=2)


@pytest.mark.slow
def test_classes_as_a_set_are_refused_or_the_same_in_every_process() -> None:
    script = (
        "import streameval as se\n"
        "try: print(se.ConfusionAccumulator({'a', 'b', 'c', 'd'}).compute().labels)\n"
        "except se.InvalidInputError: print('refused')\n"
    )
    orders = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in "12345"
    }
    assert len(orders) == 1


@each("count", [2**20, 2**40, 2**70])
def test_a_number_of_classes_that_no_memory_holds_is_refused(count: int) -> None:
    with pytest.raises(se.InvalidInputError, match=r"^`classes` .*\.$"):
        se.ConfusionAccumulator(count)


def test_canonical_classes_takes_one_class_where_one_is_enough() -> None:
    assert canonical_classes(["a"], min_count=1) == ("a",)


@each(("classes", "labels"), [(3, (0, 1, 2)), (("b", "a"), ("b", "a"))])
def test_class_labels(classes: Any, labels: Any) -> None:
    assert class_labels(classes) == labels


@each(
    ("labels", "classes", "places"),
    [
        (np.array([2, 0, 1]), 3, [2, 0, 1]),
        (np.array([7, 5, 9, 7]), (5, 9, 7), [2, 0, 1, 2]),
        (np.array([1, -1]), (1, -1), [0, 1]),
        (np.array([-(2**63), 2**63 - 1]), (2**63 - 1, -(2**63)), [1, 0]),
        (words("b", "a", "b"), ("b", "a"), [0, 1, 0]),
        (words(np.str_("b"), Word.CAT), ("b", "cat"), [0, 1]),
        (np.array([], dtype=np.int64), 3, []),
        (np.array([], dtype=np.int64), (5, 9), []),
        (words(), ("b", "a"), []),
    ],
)
def test_encode_finds_the_places(labels: Any, classes: Any, places: list[int]) -> None:
    found = encode(labels, classes, name="y_true")
    assert (found.dtype, found.tolist()) == (np.int64, places)


@each(
    ("labels", "classes", "message"),
    [
        (np.array([0, 3]), 3, "must hold labels 0 to 2, got 3 at position 1."),
        (np.array([-1, 0]), 3, "must hold labels 0 to 2, got -1 at position 0."),
        (np.array([0, -(2**63)]), 3, f"must hold labels 0 to 2, got {-(2**63)} at position 1."),
        (np.array([5, 6]), (5, 9), "must hold labels among 5, 9, got 6 at position 1."),
        (np.array([5, 10]), (5, 9), "must hold labels among 5, 9, got 10 at position 1."),
        (words("b", "c"), ("b", "a"), "must hold labels among 'b', 'a', got 'c' at position 1."),
        (np.array([0]), tuple(range(1, 9)), "must hold labels among 1, 2, 3, 4, 5, 6, ..., got 0"),
        (words("a"), 3, "holds strings, but the classes are numbers: labels 0 to 2."),
        (words("a"), (5, 9), "holds strings, but the classes are numbers: labels among 5, 9."),
        (np.array([1]), ("b", "a"), "holds numbers, but the classes are strings: labels among 'b'"),
    ],
)
def test_encode_refuses(labels: Any, classes: Any, message: str) -> None:
    with pytest.raises(se.InvalidInputError) as caught:
        encode(labels, classes, name="y_true")
    assert str(caught.value).startswith(f"`y_true` {message}")


@each(
    ("labels", "classes"),
    [
        (np.array([1, -100]), 2),
        (np.array([9, -100]), (5, 9)),
        (words("a", "?"), ("b", "a")),
    ],
)
def test_encode_gives_ignored_labels_place_zero(labels: Any, classes: Any) -> None:
    ignored = np.array([False, True])
    assert encode(labels, classes, name="y_true", ignored=ignored).tolist() == [1, 0]


@each(
    ("labels", "met", "places"),
    [
        (np.array([7, -5, 7, 2**62]), (-5, 7, 2**62), [1, 0, 1, 2]),
        (words("b", "", "é", "b"), ("", "b", "é"), [1, 0, 2, 1]),
        (np.array([], dtype=np.int64), (), []),
        (words(), (), []),
    ],
)
def test_meet_sorts_the_distinct_labels(labels: Any, met: Any, places: list[int]) -> None:
    found, codes = observe(labels)
    assert (found, codes.dtype, codes.tolist()) == (met, np.int64, places)


STRING_KINDS: dict[str, Callable[[list[str]], Any]] = {
    "numpy-scalars": lambda items: [np.str_(item) for item in items],
    "array-as-list": lambda items: list(np.array(items)),
    "object-array": lambda items: np.array([np.str_(item) for item in items], dtype=object),
    "StrEnum": lambda items: [Word(item) for item in items],
    "str-Enum": lambda items: [OldWord(item) for item in items],
}
every_string_kind = each("make", STRING_KINDS.values())


@every_string_kind
def test_met_labels_are_plain_strings(make: Callable[..., Any]) -> None:
    acc = se.ConfusionAccumulator("auto").update(make(["cat", "dog"]), make(["dog", "dog"]))
    labels = acc.compute().labels
    assert (labels, {type(label) for label in labels}) == (("cat", "dog"), {str})


@every_string_kind
def test_met_labels_of_every_kind_of_string_merge(make: Callable[..., Any]) -> None:
    acc = se.ConfusionAccumulator("auto").update(make(["cat", "dog"]), make(["dog", "dog"]))
    plain = se.ConfusionAccumulator("auto").update(["cat", "bat"], ["cat", "bat"])
    both = ["cat", "dog", "cat", "bat"], ["dog", "dog", "cat", "bat"]
    assert (acc + plain).to_bytes() == se.ConfusionAccumulator("auto").update(*both).to_bytes()


@every_string_kind
def test_listed_labels_of_every_kind_of_string_are_found(make: Callable[..., Any]) -> None:
    acc = se.ConfusionAccumulator(make(["cat", "dog"]))
    acc.update(make(["cat", "dog"]), make(["dog", "dog"])).update(["dog"], ["cat"])
    assert acc.compute().matrix.tolist() == [[0, 1], [1, 1]]


def test_uint8_labels_of_300_classes_never_wrap() -> None:
    y_true, y_pred = np.array([255, 255, 0, 16], np.uint8), np.array([255, 254, 255, 17], np.uint8)
    expected = np.zeros((300, 300), dtype=np.int64)
    for place in [(255, 255), (255, 254), (0, 255), (16, 17)]:
        expected[place] += 1

    acc = se.ConfusionAccumulator(300).update(y_true, y_pred)
    assert np.array_equal(acc.compute().matrix, expected)


@each("dtype", ["uint8", "int8", "uint16", "int16", "float32", "bool"])
def test_a_label_past_the_classes_is_refused_in_any_dtype(dtype: str) -> None:
    acc = se.ConfusionAccumulator(["a", "b"]) if dtype == "bool" else se.ConfusionAccumulator(100)
    with pytest.raises(se.InvalidInputError, match=r"^`y_true` "):
        acc.update(np.array([1, 120], dtype), [1, 1])


@each("argument", ["y_true", "y_pred"])
@each(
    ("classes", "labels", "bad", "message"),
    [
        (
            3,
            [0, 1, 2],
            3,
            (
                "must hold labels 0 to 2, got 3 at position 1. Pass classes=4 for labels 0 to 3, "
                "or `classes` as a list"
            ),
        ),
        (
            3,
            [0, 1, 2],
            -1,
            (
                "must hold labels 0 to 2, got -1 at position 1. List the labels, as in "
                "classes=[-1, 0, 2]"
            ),
        ),
        ([5, 9], [5, 9, 5], 0, "must hold labels among 5, 9, got 0 at position 1"),
        (
            ["b", "a"],
            ["a", "b", "a"],
            "c",
            "must hold labels among 'b', 'a', got 'c' at position 1",
        ),
    ],
)
def test_update_names_an_unknown_label_and_its_position(
    argument: str, classes: Any, labels: Any, bad: Any, message: str
) -> None:
    batch = {"y_true": labels, "y_pred": labels, argument: [labels[0], bad, labels[2]]}
    with pytest.raises(se.InvalidInputError) as caught:
        se.ConfusionAccumulator(classes).update(batch)
    assert str(caught.value) == f"`{argument}` {message}."


@each("classes", [3, [0, 1, 2]])
def test_the_label_that_torch_ignores_is_answered_with_the_option(classes: Any) -> None:
    message = r"got -100 at position 1\. To leave out such rows, set ignore_label=-100\.$"
    with pytest.raises(se.InvalidInputError, match=message):
        se.ConfusionAccumulator(classes).update([0, -100], [1, 2])
    kept = se.ConfusionAccumulator(classes, ignore_label=-100).update([0, -100], [1, 2])
    assert kept.n == 1


@each(
    ("classes", "labels"),
    [(2, ["0", "1"]), ([5, 9], ["5", "9"]), (["0", "1"], [0, 1])],
)
@each("argument", ["y_true", "y_pred"])
def test_update_refuses_strings_for_numbers_and_numbers_for_strings(
    argument: str, classes: Any, labels: Any
) -> None:
    right = list(class_labels(canonical_classes(classes, min_count=2)))
    batch = {"y_true": right, "y_pred": right, argument: labels}
    with pytest.raises(se.InvalidInputError, match=f"^`{argument}` holds .*, but the classes are"):
        se.ConfusionAccumulator(classes).update(batch)


def test_update_refuses_met_strings_beside_met_numbers() -> None:
    message = r"^`y_true` and `y_pred` must both be numbers or both be strings\.$"
    with pytest.raises(se.InvalidInputError, match=message):
        se.ConfusionAccumulator("auto").update([1, 2], ["1", "2"])


def test_the_limit_of_met_labels_is_documented() -> None:
    assert MAX_OBSERVED_LABELS == 4096
    assert "at most 4096" in (se.ConfusionAccumulator.__doc__ or "")


@pytest.fixture
def three_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streameval.states.confusion.MAX_OBSERVED_LABELS", 3)


@pytest.mark.usefixtures("three_labels")
def test_as_many_labels_as_the_limit_are_met() -> None:
    acc = se.ConfusionAccumulator("auto").update([1, 2], [2, 3]).update([3, 1], [1, 1])
    assert acc.compute().labels == (1, 2, 3)


@pytest.mark.usefixtures("three_labels")
@each("second", [([3], [4]), ([3, 4, 5], [4, 5, 6])])
def test_one_label_past_the_limit_is_refused_and_nothing_counted(second: Any) -> None:
    acc = se.ConfusionAccumulator("auto").update([1], [2])
    before = acc.to_bytes()
    with pytest.raises(se.InvalidInputError, match=r'^`classes="auto"` allows at most 3 labels'):
        acc.update(*second)
    assert acc.to_bytes() == before


@pytest.mark.usefixtures("three_labels")
def test_a_merge_past_the_limit_is_refused_and_nothing_merged() -> None:
    acc = se.ConfusionAccumulator("auto").update([1], [2])
    other = se.ConfusionAccumulator("auto").update([3], [4])
    before = acc.to_bytes(), other.to_bytes()
    with pytest.raises(se.InvalidInputError, match="allows at most 3 labels, got 4"):
        acc.merge(other)
    assert (acc.to_bytes(), other.to_bytes()) == before


@pytest.mark.usefixtures("three_labels")
def test_labels_without_weight_or_ignored_do_not_use_up_the_limit() -> None:
    acc = se.ConfusionAccumulator("auto", ignore_label=-1)
    acc.update([1, 2, 5, -1], [2, 3, 6, 7], sample_weight=[1, 1, 0, 1])
    assert acc.compute().labels == (1, 2, 3)


def test_met_labels_of_numbers_and_strings_do_not_merge() -> None:
    numbers = se.ConfusionAccumulator("auto").update([1], [2])
    strings = se.ConfusionAccumulator("auto").update(["1"], ["2"])
    before = numbers.to_bytes()
    with pytest.raises(
        se.IncompatibleStateError, match=r"^cannot merge: the observed labels are numbers"
    ):
        numbers.merge(strings)
    assert numbers.to_bytes() == before


@each(
    ("labels", "ignore_label"),
    [(np.array([0, 1, -1]), -1), (words("a", "b", "?"), "?")],
)
def test_an_ignored_label_needs_no_class(labels: Any, ignore_label: Any) -> None:
    classes = 2 if ignore_label == -1 else ["a", "b"]
    acc = se.ConfusionAccumulator(classes, ignore_label=ignore_label)
    acc.update(labels, labels[[1, 1, 0]])
    assert acc.compute().matrix.tolist() == [[0, 1], [0, 1]]


def test_an_ignored_number_is_refused_when_labels_are_strings() -> None:
    with pytest.raises(se.InvalidInputError, match="`ignore_label` must be a string"):
        se.ConfusionAccumulator(["0", "1"], ignore_label=0)


def test_an_ignored_string_is_refused_when_labels_are_numbers() -> None:
    with pytest.raises(se.InvalidInputError, match="`ignore_label` must be an integer"):
        se.ConfusionAccumulator(3, ignore_label="0")


@each("label", ["\ud800", "\ud83d\ude00"])
def test_surrogates_are_refused_as_labels(label: str) -> None:
    with pytest.raises(se.InvalidInputError, match="must be Unicode text"):
        se.ConfusionAccumulator("auto").update([label], ["b"])
