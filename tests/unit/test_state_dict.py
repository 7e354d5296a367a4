"""States as plain dicts, for checkpoints."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from offenders import each
from small_states import EVERY

import streameval as se

every_state = each("name", EVERY)


def counted() -> se.ConfusionAccumulator:
    return se.ConfusionAccumulator().update([1, 0, 1], [1, 1, 0])


def text_of(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def flipped(data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


@every_state
def test_state_dict_holds_the_bytes_as_text(name: str) -> None:
    accumulator = EVERY[name]()
    assert accumulator.state_dict() == {"state": text_of(accumulator.to_bytes())}


@every_state
def test_loaded_state_is_the_one_that_was_given(name: str) -> None:
    given = EVERY[name]()
    other = given.copy().reset()
    other.load_state_dict(given.state_dict())
    assert other.to_bytes() == given.to_bytes()


@every_state
def test_state_dict_survives_json(name: str) -> None:
    given = EVERY[name]()
    other = given.copy().reset()
    other.load_state_dict(json.loads(json.dumps(given.state_dict())))
    assert other == given


def test_loaded_state_takes_the_place_of_what_was_counted() -> None:
    accumulator = counted()
    accumulator.load_state_dict(se.ConfusionAccumulator().update([1], [1]).state_dict())
    assert accumulator.n == 1


def test_going_on_from_a_loaded_state_equals_never_having_stopped() -> None:
    batches = [{"y_true": [0, 1, 1], "y_pred": [0.2, 0.4, 0.7]}, {"y_true": [1], "y_pred": [0.9]}]
    columns = {"curve": {"y_score": "y_pred"}, "users": {"y_score": "y_pred", "group": "y_true"}}

    def empty() -> se.Collection:
        return se.Collection(
            {
                "cm": se.ConfusionAccumulator(),
                "curve": se.PRCurveSketch(),
                "fit": se.RegressionAccumulator(),
                "users": se.GroupedAUC(),
            },
            columns=columns,
        )

    stopped, resumed, whole = empty().update(batches[0]), empty(), empty()
    resumed.load_state_dict(stopped.state_dict())
    resumed.update(batches[1])
    for batch in batches:
        whole.update(batch)
    assert resumed.to_bytes() == whole.to_bytes()


def test_later_updates_leave_a_state_dict_alone() -> None:
    accumulator = counted()
    given = accumulator.state_dict()
    accumulator.update([1], [1])
    accumulator.load_state_dict(given)
    assert accumulator == counted()


@each(
    ("other", "message"),
    [
        (
            se.RegressionAccumulator(),
            r"^these bytes hold a RegressionAccumulator, not a ConfusionAccumulator\.$",
        ),
        (
            se.ConfusionAccumulator(threshold=0.7),
            r"^cannot load: `threshold` differs \(0\.5 and 0\.7\)\.$",
        ),
        (
            se.ConfusionAccumulator(classes=["ham", "spam"]),
            r"^cannot load: `classes` differs \(",
        ),
    ],
)
def test_other_options_are_refused_and_named(other: Any, message: str) -> None:
    accumulator = counted()
    with pytest.raises(se.IncompatibleStateError, match=message):
        accumulator.load_state_dict(other.state_dict())
    assert accumulator == counted()


@each(
    ("other", "message"),
    [
        (se.Collection({"b": se.ConfusionAccumulator()}), "cannot load: `names` differs"),
        (se.Collection({"a": se.ConfusionAccumulator(3)}), "for 'a' `classes` differs"),
        (se.Collection({"a": se.PRCurveSketch()}), "for 'a' the class differs"),
        (se.ConfusionAccumulator(), "not a Collection"),
    ],
)
def test_other_collections_are_refused(other: Any, message: str) -> None:
    collection = se.Collection({"a": se.ConfusionAccumulator()}).update([1, 0], [1, 1])
    before = collection.to_bytes()
    with pytest.raises(se.IncompatibleStateError, match=message):
        collection.load_state_dict(other.state_dict())
    assert collection.to_bytes() == before


@each(
    ("state_dict", "message"),
    [
        ({}, r"a state dict has one entry, 'state'"),
        ({"weight": "a"}, r"a state dict has one entry, 'state'"),
        (counted().state_dict() | {"more": 1}, r"a state dict has one entry, 'state'"),
        ({"state": counted().to_bytes()}, r"'state' must be text, got bytes"),
        ({"state": None}, r"'state' must be text, got NoneType"),
        ({"state": ""}, r"prefix \(expected 28 bytes, got 0\)"),
        ({"state": "a"}, r"'state' is no base64"),
        ({"state": "日本"}, r"'state' is no base64"),
        ({"state": "iVNF\n"}, r"'state' is no base64"),
        ({"state": text_of(counted().to_bytes()[:-1])}, r"length \(expected"),
    ],
)
def test_damaged_state_is_refused_and_changes_nothing(state_dict: Any, message: str) -> None:
    accumulator = counted()
    with pytest.raises(se.CorruptStateError, match=f"^state is corrupt: {message}"):
        accumulator.load_state_dict(state_dict)
    assert accumulator == counted()


@pytest.mark.slow
@pytest.mark.uncovered
@every_state
def test_a_flipped_bit_is_refused_and_changes_nothing(name: str) -> None:
    accumulator = EVERY[name]()
    data = accumulator.to_bytes()
    for place in range(0, len(data), 7):
        with pytest.raises(se.CorruptStateError):
            accumulator.load_state_dict({"state": text_of(flipped(data, place))})
    assert accumulator.to_bytes() == data


@each("state_dict", [None, [1], "state", b"state"])
def test_what_is_no_mapping_is_refused(state_dict: Any) -> None:
    kind = type(state_dict).__name__
    with pytest.raises(
        se.InvalidInputError, match=f"^`state_dict` must be what `state_dict` gave, got {kind}"
    ):
        counted().load_state_dict(state_dict)
