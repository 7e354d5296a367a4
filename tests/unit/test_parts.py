"""Parts: what is an id, what is refused, what bytes may hold."""

from __future__ import annotations

import enum
import json
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from offenders import each
from small_states import EVERY, GROUPED, parse, seal, widened

import streameval as se


def counted(*y_pred: int) -> se.ConfusionAccumulator:
    return se.ConfusionAccumulator().update([1] * len(y_pred), list(y_pred))


def three() -> se.Parts:
    return se.Parts().add("a", counted(1)).add("b", counted(0)).add("c", counted(1, 1))


class Shard(enum.StrEnum):
    FIRST = "a"


@each(
    ("given", "canonical"),
    [
        ("day=1/log.jsonl", "day=1/log.jsonl"),
        (Path("day=1", "log.jsonl"), "day=1/log.jsonl"),
        (Shard.FIRST, "a"),
        ("", ""),
        ("caf\udce9", "caf\udce9"),  # the name of a file that is no UTF-8
        (7, 7),
        (np.int32(7), 7),
        (-(2**63), -(2**63)),
        (("topic", 3, 1200), ("topic", 3, 1200)),
        (["topic", np.int64(3)], ("topic", 3)),
        (("topic",), "topic"),
        ((Path("x"), 2), ("x", 2)),
    ],
)
def test_part_id_has_one_form(given: Any, canonical: Any) -> None:
    parts = se.Parts().add(given, counted(1)).add(canonical, counted(1))
    assert [*parts] == [canonical]
    assert type(next(iter(parts))) is type(canonical)
    assert given in parts
    assert se.from_bytes(parts.to_bytes()) == parts


@each(
    ("given", "message"),
    [
        (True, "must be text, an integer, or a tuple of these, got True"),
        (None, "got None"),
        (1.0, r"got 1\.0"),
        (b"a", "got b'a'"),
        (("a", ("b",)), r"got \('b',\)"),
        ((), r"a tuple of 1 to 16 of these, got \(\)"),
        (("a",) * 17, "a tuple of 1 to 16 of these"),
        (2**63, "must have integers that fit 64 bits"),
        ("a" * 4097, "must have texts of at most 4096 characters, got 4097"),
    ],
)
def test_part_id_of_another_type_is_refused(given: Any, message: str) -> None:
    with pytest.raises(se.InvalidInputError, match=f"^`part_id` {message}|^`part_id` .*{message}"):
        se.Parts().add(given, counted(1))
    assert given not in three()


def test_ids_are_listed_integers_before_text() -> None:
    parts = se.Parts()
    for part_id in [("b", 2), "b", ("b", 10), 10, ("a", "z"), 9, ("b", "1")]:
        parts.add(part_id, counted(1))
    assert [*parts] == [9, 10, ("a", "z"), "b", ("b", 2), ("b", 10), ("b", "1")]


def test_a_part_that_comes_again_counts_once() -> None:
    parts = three().add("a", counted(1)).merge(three(), three())
    assert len(parts) == 3
    assert parts.total() == counted(1, 0, 1, 1)


def test_a_part_keeps_what_it_had_counted_when_it_was_added() -> None:
    accumulator = counted(1)
    parts = se.Parts().add("a", accumulator)
    accumulator.update([1], [1])
    parts["a"].update([1], [0])
    parts.total().update([1], [0])
    assert parts["a"] == counted(1)


@each("left", [three(), three().fold(["a"]), three().fold(["a", "b"])])
def test_two_states_of_one_part_are_refused_by_name(left: se.Parts) -> None:
    before = left.to_bytes()
    remedy = r"\. Count it again under one id, or give each an id of its own\.$"
    with pytest.raises(se.IncompatibleStateError, match=f"part 'a' has two states{remedy}"):
        left.add("a", counted(0))
    right = se.Parts().add("0", counted(1)).add("a", counted(0))
    with pytest.raises(se.IncompatibleStateError, match=r"^cannot merge: part 'a' has two states"):
        left.merge(right)
    with pytest.raises(se.IncompatibleStateError, match=r"^cannot merge: part 'a' has two states"):
        right.merge(left)
    assert left.to_bytes() == before
    assert [*right] == ["0", "a"]


def test_folds_of_two_states_are_refused_by_the_name_of_the_part() -> None:
    other = se.Parts().add("a", counted(1)).add("b", counted(1)).fold(["b", "a"])
    with pytest.raises(se.IncompatibleStateError, match="part 'b' has two states"):
        three().fold(["a", "b"]).merge(other)


def test_folds_that_overlap_are_refused_and_named() -> None:
    left, right = three().fold(["a", "b"]), three().fold(["a", "b", "c"])
    with pytest.raises(
        se.IncompatibleStateError,
        match=r"^cannot merge: the fold of 'a', 'b' and 1 more overlaps the fold of 'a', 'b'\.$",
    ):
        left.merge(right)
    assert left == three().fold(["a", "b"])


def test_a_fold_with_a_forged_sum_is_refused() -> None:
    forged = forged_sum(three().fold(["a", "b"]), counted(1, 1))
    good = three().fold(["a", "b"])
    with pytest.raises(se.IncompatibleStateError, match="the fold of 'a', 'b' has two states"):
        good.merge(forged)
    assert good != forged


def forged_sum(parts: se.Parts, total: se.ConfusionAccumulator) -> se.Parts:
    data = parts.to_bytes()
    old = parts._folds()[0].total.to_bytes()
    assert len(old) == len(total.to_bytes())
    parsed = parse(data)
    payload = parsed.payload.replace(old, total.to_bytes())
    return se.Parts.from_bytes(
        seal(parsed.header, payload, kind=se.Parts.type_id, version=parsed.version)
    )


@each("ids", [["b", "a"], ["a", "b", "a"], iter(["a", "b"])])
def test_fold_sums_parts_and_keeps_their_ids(ids: Any) -> None:
    parts = three().fold(ids)
    assert parts.folds == (("a", "b"),)
    assert [*parts] == ["a", "b", "c"]
    assert parts.total() == three().total()
    assert parts.fold(["a", "b"]) == parts
    assert parts.fold(["c"]).folds == (("a", "b"),)
    with pytest.raises(KeyError, match="'a' is in the fold of 'a', 'b', which has one state"):
        parts["a"]
    assert repr(parts) == "Parts(3 parts, 2 of them folded)"


def test_a_fold_takes_up_its_parts() -> None:
    folded = three().fold(["a", "b"])
    assert folded.copy().merge(three()) == folded
    assert three().merge(folded) == folded
    assert folded.copy().add("a", counted(1)) == folded
    assert se.merge([three(), folded, three()]) == folded


def test_a_fold_joins_parts_that_are_not_in_it() -> None:
    folded = se.Parts().add("a", counted(1)).add("b", counted(0)).fold(["a", "b"])
    assert se.Parts().add("c", counted(1, 1)).merge(folded) == three().fold(["a", "b"])


@each(
    ("ids", "message"),
    [
        ("ab", "^`ids` must be ids of parts, got the text 'ab'"),
        ([], "^`ids` must name at least one part"),
        (["a", "z"], "^`ids` must be of parts held, got 'z'"),
        (["b", "c"], "^`ids` must not overlap the fold of 'a', 'b'"),
        ([1.5], "^`part_id` must be text"),
    ],
)
def test_fold_of_other_ids_is_refused(ids: Any, message: str) -> None:
    parts = three().fold(["a", "b"])
    with pytest.raises(se.InvalidInputError, match=message):
        parts.fold(ids)
    assert parts == three().fold(["a", "b"])


def test_parts_of_other_options_are_refused() -> None:
    parts, other = three(), se.ConfusionAccumulator(threshold=0.25)
    with pytest.raises(se.IncompatibleStateError, match=r"^part 'd': cannot merge: `threshold`"):
        parts.add("d", other)
    with pytest.raises(se.IncompatibleStateError, match=r"^part 'd': cannot merge: "):
        parts.fold(["a", "b", "c"]).merge(se.Parts().add("d", se.RegressionAccumulator()))
    with pytest.raises(se.IncompatibleStateError, match=r"^part 'a': cannot merge: "):
        se.Parts().add("d", se.RegressionAccumulator()).merge(parts)


def test_what_is_no_accumulator_is_no_part() -> None:
    with pytest.raises(se.InvalidInputError, match="`accumulator` must be an accumulator, got Pa"):
        se.Parts().add("a", se.Parts())  # type: ignore[arg-type]
    with pytest.raises(se.InvalidInputError, match="`others` must be Parts, got ConfusionAcc"):
        se.Parts().merge(counted(1))  # type: ignore[arg-type]


def test_parts_and_accumulators_do_not_merge() -> None:
    with pytest.raises(se.InvalidInputError, match="`others` must be accumulators, got Parts"):
        counted(1).merge(three())  # type: ignore[arg-type]
    with pytest.raises(se.InvalidInputError, match="must be Parts, got ConfusionAccumulator"):
        se.merge([three(), counted(1)])
    with pytest.raises(se.InvalidInputError, match="must be accumulators, got Parts"):
        se.merge([counted(1), three()])
    with pytest.raises(se.InvalidInputError, match="must be an iterable of accumulators, got one"):
        se.merge(three())


def test_union_has_the_operators_of_sets() -> None:
    left, right = se.Parts().add("a", counted(1)), se.Parts().add("b", counted(0))
    both = left | right
    assert ([*both], [*left], [*right]) == (["a", "b"], ["a"], ["b"])
    left |= right
    assert left == both
    with pytest.raises(TypeError):
        _ = left | 1  # type: ignore[operator]
    with pytest.raises(TypeError):
        left |= 1  # type: ignore[operator,assignment]


def test_total_of_no_parts_is_refused() -> None:
    with pytest.raises(se.InvalidInputError, match=r"^`parts` hold none, so there is no total"):
        se.Parts().total()


def test_equality_is_of_ids_states_and_folds() -> None:
    assert three() == three()
    assert three() != three().add("d", counted(1))
    assert three() != three().fold(["a", "b"])
    assert three() != counted(1)
    assert se.Parts() == se.Parts()
    assert repr(se.Parts().add(1, counted(1))) == "Parts(1 part)"


def test_parts_go_through_files_and_pickles(tmp_path: Path) -> None:
    parts = three().fold(["a", "c"])
    se.save(parts, tmp_path / "parts.se")
    assert se.load(tmp_path / "parts.se") == parts
    assert pickle.loads(pickle.dumps(parts)) == parts
    assert se.Parts.from_bytes(parts.to_bytes()) == parts


def test_bytes_of_parts_and_of_accumulators_are_told_apart() -> None:
    with pytest.raises(se.IncompatibleStateError, match="hold a ConfusionAccumulator, not Parts"):
        se.Parts.from_bytes(counted(1).to_bytes())
    with pytest.raises(se.IncompatibleStateError, match="hold a Parts, not a ConfusionAccumul"):
        se.ConfusionAccumulator.from_bytes(three().to_bytes())


@each(
    ("name", "digest"),
    [
        ("binary", "9d0cd3d6df237e7dab7f052f1637fa5c"),
        ("met", "d1685ca5d7d97b7d10a73b946355b2d8"),
        ("coarse_groups", "9c86f6b0359df209051ac50ed817f115"),
        ("regression", "4c6d390a4238c99e8c907e261ba85a9d"),
        ("collection", "456a7bb1e0b91fc50a5694df6db1ad78"),
    ],
)
def test_digest_of_a_state_is_the_same_for_ever(name: str, digest: str) -> None:
    """Folds keep digests, and older releases have written them."""
    parts = se.Parts().add("a", EVERY[name]()).add("b", EVERY[name]().reset()).fold(["a", "b"])
    words = se.from_bytes(parts.to_bytes())._folds()[0].digests["a"]
    assert words.hex() == digest


@each("name", [name for name in EVERY if name not in GROUPED])
def test_a_part_of_an_older_format_is_the_same_part(name: str) -> None:
    older = se.from_bytes(widened(EVERY[name]().to_bytes()))
    parts = se.Parts().add("a", EVERY[name]()).add("b", EVERY[name]().reset())
    assert parts.copy().add("a", older) == parts
    parts.fold(["a", "b"])
    assert parts.copy().add("a", older) == parts


def sliced(*countries: str | None) -> se.Sliced:
    sliced = se.Sliced(se.ConfusionAccumulator(), "country", values=["DE"], max_values=2)
    ones = [1] * len(countries)
    return sliced.update({"y_true": ones, "y_pred": ones, "country": list(countries)})


def windowed(*times: int) -> se.Windowed:
    windowed = se.Windowed(sliced(), pane=10, keep=20, rollups=[(20, 40)], time="t")
    return windowed.update(
        {
            "y_true": [1, 0, None] * len(times),
            "y_pred": [1, 1, 1] * len(times),
            "country": ["DE", "FR", "IT"] * len(times),
            "t": [time for time in times for _ in range(3)],
        }
    )


@each(
    ("one", "same", "other"),
    [
        (sliced("DE", "FR", None), sliced(None, "FR").merge(sliced("DE")), sliced("DE", "FR")),
        (sliced("DE", "FR"), sliced("FR", "DE"), sliced("DE", "IT")),
        (windowed(5, 25, 95), windowed(95).merge(windowed(5, 25)), windowed(5, 24, 96)),
        (windowed(5, 25), windowed(25, 5), windowed(5, 15)),
        (windowed(5), windowed(5), windowed()),
    ],
)
def test_parts_of_slices_and_panes_are_compared_by_what_was_counted(
    one: Any, same: Any, other: Any
) -> None:
    parts = se.Parts().add("a", one).add("b", other)
    for held in (parts, parts.copy().fold(["a", "b"])):
        assert held.copy().add("a", same).merge(se.from_bytes(held.to_bytes())) == held
        with pytest.raises(se.IncompatibleStateError, match="part 'a' has two states"):
            held.add("a", other)
        assert held.total() == se.merge([one, other])


@pytest.mark.slow
def test_states_that_differ_have_other_digests() -> None:
    states = {
        name: se.Parts().add("a", make()).add("b", make().reset()).fold(["a", "b"])
        for name, make in EVERY.items()
    }
    distinct = {make().to_bytes() for make in EVERY.values()}
    digests = {parts._folds()[0].digests["a"] for parts in states.values()}
    assert len(digests) == len(distinct)


def narrow(numbers: list[int], letter: str = "u", codes: str = "bhiq") -> tuple[int, bytes]:
    """Write integers in the smallest width that holds them all."""
    for code in codes:
        try:
            form = code.upper() if letter == "u" else code
            return struct.calcsize(f"<{form}"), struct.pack(f"<{len(numbers)}{form}", *numbers)
        except struct.error:
            pass
    raise AssertionError(numbers)


def lengths_and(items: list[bytes]) -> tuple[int, bytes]:
    width, lengths = narrow(list(map(len, items)), codes="iq")
    return width, lengths + b"".join(items)


def hostile(
    ids: list[str],
    sizes: list[int],
    digests: list[int],
    states: list[bytes],
    changes: Any = (),
) -> bytes:
    columns = {
        "ids": ("text", len(ids), *lengths_and([text.encode() for text in ids])),
        "sizes": ("int64", len(sizes), *narrow(sizes, "i")),
        "digests": ("uint64", len(digests), *narrow(digests)),
        "states": ("bytes", len(states), *lengths_and(states)),
    }
    described = {
        name: {"column": column, "length": length, "width": width}
        for name, (column, length, width, _) in columns.items()
    }
    payload = b"".join(part for *_, part in columns.values())
    return seal({"config": {}, "state": described | dict(changes)}, payload, kind=11)


def nested(depth: int) -> list[Any]:
    outer: list[Any] = []
    for _ in range(depth):
        outer = [outer]
    return outer


ONE = counted(1).to_bytes()
TEXT = {"column": "text", "length": 0, "width": 4}
UNSIGNED = {"column": "uint64", "length": 0, "width": 1}


def test_bytes_are_those_of_the_published_layout() -> None:
    assert hostile(['"a"', '["t",0]'], [1, 1], [], [ONE, ONE]) == (
        se.Parts().add("a", counted(1)).add(("t", 0), counted(1)).to_bytes()
    )


@each(
    ("data", "message"),
    [
        (hostile(["a"], [1], [], [ONE]), "the id of a part"),
        (hostile(["[" * 10**5], [1], [], [ONE]), "the id of a part"),
        (hostile(["null"], [1], [], [ONE]), "the id of a part"),
        (hostile(["1.5"], [1], [], [ONE]), "the id of a part"),
        (hostile(['["a"]'], [1], [], [ONE]), "the id of a part"),
        (hostile([' "a"'], [1], [], [ONE]), "the id of a part"),
        (hostile(['"é"'], [1], [], [ONE]), "the id of a part"),
        (hostile(['"a"'], [1, 1], [], [ONE, ONE]), "the numbers of ids"),
        (hostile(['"a"'], [0, 1], [], [ONE, ONE]), "the numbers of ids"),
        (hostile(['"a"'], [2**62], [], [ONE]), "the numbers of ids"),
        (hostile(['"a"'], [1], [], []), "the number of states"),
        (hostile(['"a"'], [1], [0], [ONE]), "the number of digests"),
        (hostile(['"a"', '"b"'], [2], [0, 0, 0], [ONE]), "the number of digests"),
        (hostile(['"b"', '"a"'], [1, 1], [], [ONE, ONE]), "the order of parts"),
        (hostile(['"a"', '"a"'], [1, 1], [], [ONE, ONE]), "the order of parts"),
        (hostile(['"b"', '"a"'], [2], [0] * 4, [ONE]), "the ids"),
        (hostile(['"a"', '"c"', '"b"', '"c"'], [2, 2], [0] * 8, [ONE, ONE]), "in two folds"),
        (hostile(['"a"', '"c"', '"c"'], [2, 1], [0] * 4, [ONE, ONE]), "in two folds"),
        (hostile(['"a"'], [1], [], [se.Parts().to_bytes()]), "parts in parts"),
        (hostile(['"a"'], [1], [], [b""]), "holds no states"),
        (
            hostile(['"a"', '"b"'], [1, 1], [], [ONE, se.RegressionAccumulator().to_bytes()]),
            "part 'b': cannot merge: ",
        ),
        (hostile([], [], [], [], {"sizes": UNSIGNED}), "fields are not those"),
        (hostile([], [], [], [], {"states": TEXT}), "fields are not those"),
        (hostile([], [], [], [], {"ids": {"exact_sum": "x"}}), "corrupt: an exact sum"),
        (hostile([], [], [], [], {"ids": nested(600)}), "corrupt: .*recursion"),
        (hostile([], [], [], [], {"more": 1}), "fields are not those"),
        (hostile(['"a"'], [1], [], [widened(ONE)]), "a state of another version"),
        (seal({"config": {"x": 1}, "state": parse(se.Parts().to_bytes()).settings["state"]}, b"",
              kind=11), "not in canonical form"),
    ],
)  # fmt: skip
def test_bytes_that_hold_no_parts_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(se.CorruptStateError, match=message):
        se.from_bytes(data)


def test_parts_are_no_member_of_a_collection() -> None:
    parsed = parse(se.Collection({"a": counted(1).reset()}).to_bytes())
    state = json.loads(parsed.header)["state"]
    assert state["members"]["length"] == 1
    with pytest.raises(se.CorruptStateError, match="Parts"):
        se.from_bytes(seal(parsed.header, lengths_and([se.Parts().to_bytes()])[1], kind=7))
