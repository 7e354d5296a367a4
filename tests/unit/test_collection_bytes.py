"""Bytes of collections that nobody counted: refused, or as good as a built state."""

from __future__ import annotations

import copy
import struct
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from offenders import each
from small_states import collection, narrowed, parse, parse_words, seal, seal_words, widened
from unit.test_hostile_bytes import _peak_while_refused, changed_headers, fuzzed, refuse_or_use

import streameval as se

KIND = 7


def taken_apart(col: Any) -> tuple[Any, list[bytes]]:
    """Return the header of a collection and the bytes of its members, as version 1 wrote them."""
    parsed = parse_words(col.to_bytes())
    count = parsed.settings["state"]["members"]["length"]
    start, members = 8 * count, []
    for length in parsed.numbers[:count]:
        members.append(parsed.payload[start : start + length])
        start += length
    return parsed.settings, members


def put_together(header: Any, members: list[bytes], padding: bytes | None = None) -> bytes:
    joined = b"".join(members)
    padding = bytes(-len(joined) % 8) if padding is None else padding
    lengths = struct.pack(f"<{len(members)}q", *map(len, members))
    return seal_words(header, lengths + joined + padding, kind=KIND)


def changed(part: str, field: str, value: Any) -> Callable[[], bytes]:
    """Replace one field of the header of a collection."""

    def make() -> bytes:
        header, members = taken_apart(collection())
        header[part][field] = value
        return put_together(header, members)

    return make


def with_members(change: Callable[[list[bytes]], Any]) -> Callable[[], bytes]:
    """Replace the members, and declare as many as there are then."""

    def make() -> bytes:
        header, members = taken_apart(collection())
        members = change(members)
        header["state"]["members"]["length"] = len(members)
        return put_together(header, members)

    return make


def damaged(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


def padded(padding: bytes) -> Callable[[], bytes]:
    return lambda: put_together(*taken_apart(collection()), padding=padding)


def one(name: str = "a", columns: Any = (), member: bytes | None = None) -> Callable[[], bytes]:
    """Write a collection of one member."""

    def make() -> bytes:
        header, members = taken_apart(se.Collection({"a": se.ConfusionAccumulator()}))
        header["config"] |= {"names": [name], "columns": [columns]}
        return put_together(header, members if member is None else [member])

    return make


def two(names: list[Any], **config: Any) -> Callable[[], bytes]:
    """Write a collection of two members, under other names."""

    def make() -> bytes:
        members = {"a": se.ConfusionAccumulator(), "b": se.RegressionAccumulator()}
        header, data = taken_apart(se.Collection(members))
        header["config"]["names"] = names
        header["config"] |= config
        return put_together(header, data)

    return make


def alike() -> bytes:
    """Write a member twice that stands once."""
    header, members = taken_apart(se.Collection(dict.fromkeys("ab", se.ConfusionAccumulator())))
    header["config"] |= {"places": [0, 1], "columns": [[], []]}
    header["state"]["members"]["length"] = 2
    return put_together(header, members * 2)


def many_empty_members() -> bytes:
    size = 100_000
    header = {
        "config": {"columns": [[]] * size, "names": ["a"] * size, "places": [*range(size)]},
        "state": {"members": {"column": "bytes", "length": size}},
    }
    return seal_words(header, [0] * size, kind=KIND)


NAMES = ["cm", "fit", "inner/cm", "inner/curve"]

HOSTILE: dict[str, Callable[[], bytes]] = {
    "names that are a text": changed("config", "names", "abcd"),
    "names that are numbers": changed("config", "names", [1, 2, 3, 4]),
    "names that are lists": changed("config", "names", [["a"]] * 4),
    "no names": changed("config", "names", []),
    "too few names": changed("config", "names", NAMES[:-1]),
    "a name twice": two(["a", "a"]),
    "an empty name": two(["a", ""]),
    "an empty name within": two(["a", "b//c"]),
    "a name with a slash at its end": two(["a", "b/"]),
    "a name of half a letter": two(["a", "\ud800"]),
    "a member that is a collection too": two(["a", "a/b"]),
    "a collection that is a member too": two(["a/b", "a"]),
    "names of a collection that stand apart": changed("config", "names", ["x/a", "b", "x/c", "d"]),
    "names that are too deep": two(["a", "/".join("b" * 18)]),
    "places out of range": changed("config", "places", [0, 1, 3, 2]),
    "places below zero": changed("config", "places", [0, 1, -3, 2]),
    "places in another order": changed("config", "places", [0, 2, 0, 1]),
    "too few places": changed("config", "places", [0, 1, 2]),
    "a place that nothing has": changed("config", "places", [0, 1, 0, 1]),
    "places that are floats": changed("config", "places", [0, 1, 0, {"float64": "40" + "0" * 14}]),
    "places that are flags": changed("config", "places", [False, True, False, 2]),
    "places that are lists": changed("config", "places", [[0], [1], [0], [2]]),
    "places that are no list": changed("config", "places", 4),
    "an option more": changed("config", "other", 0),
    "columns that are no list": changed("config", "columns", 3),
    "too few columns": changed("config", "columns", [[], []]),
    "columns of an unknown array": one(columns=[["y_score", "p"]]),
    "columns that are no pairs": one(columns=[["y_pred", "p", "q"]]),
    "a column that is a number": one(columns=[["y_pred", 1]]),
    "a column of half a letter": one(columns=[["y_pred", "\udfff"]]),
    "an array twice": one(columns=[["y_pred", "p"], ["y_pred", "q"]]),
    "an array that keeps its name": one(columns=[["y_pred", "y_pred"]]),
    "arrays in another order": one(columns=[["y_pred", "p"], ["y_true", "t"]]),
    "a field more": changed("state", "n", {"fraction": False, "shape": []}),
    "members that are text": changed("state", "members", {"column": "text", "length": 3}),
    "members that are numbers": changed("state", "members", {"fraction": False, "shape": [3]}),
    "members that are a label": changed("state", "members", 3),
    "more members than there are": changed("state", "members", {"column": "bytes", "length": 4}),
    "fewer members than there are": changed("state", "members", {"column": "bytes", "length": 2}),
    "members of 2**62": changed("state", "members", {"column": "bytes", "length": 2**62}),
    "members without end": many_empty_members,
    "members in another order": with_members(lambda members: members[::-1]),
    "a member left out": with_members(lambda members: members[:-1]),
    "a member more": with_members(lambda members: [*members, members[0]]),
    "a member cut": with_members(lambda members: [*members[:-1], members[-1][:-1]]),
    "a member with a wrong bit": with_members(
        lambda members: [*members[:-1], damaged(members[-1])]
    ),
    "a member of no bytes": with_members(lambda members: [*members[:-1], b""]),
    "a member of an unknown kind": one(
        member=seal_words({"config": {}, "state": {}}, [], kind=4_321)
    ),
    "a member of a later version": one(member=seal({}, [], version=3)),
    "a member of another version": one(member=se.ConfusionAccumulator().to_bytes()),
    "a collection in a collection": one(member=widened(collection().to_bytes())),
    "the same member twice": alike,
    "padding that is not zero": padded(b"\1" * 8),
    "padding of a word": padded(bytes(16)),
}


@pytest.mark.slow
@each("claim", HOSTILE)
def test_bytes_of_no_collection_are_refused_in_little_memory(claim: str) -> None:
    data = HOSTILE[claim]()
    assert _peak_while_refused(data) <= 10 * len(data) + 65_536


@each(
    "make",
    [lambda: put_together(*taken_apart(collection())), one("日本"), one(columns=[["y_pred", "p"]])],
)
def test_bytes_put_together_are_those_of_a_collection(make: Callable[[], bytes]) -> None:
    assert se.from_bytes(make()).to_bytes() == narrowed(make())


def test_bytes_are_those_of_the_format_when_one_example_was_counted() -> None:
    header = (
        b'{"config":{"columns":[[["y_pred","p"]],[]],"names":["a","b/c","d"],"places":[0,1,0]},'
        b'"state":{"members":{"column":"bytes","length":2,"width":4}}}'
    )
    parts = {
        "a": se.RegressionAccumulator(),
        "b": se.Collection({"c": se.ConfusionAccumulator()}),
        "d": se.RegressionAccumulator(),
    }
    renamed = {"a": {"y_pred": "p"}, "d": {"y_pred": "p"}}
    batch = {"y_true": [1], "y_pred": [0], "p": [0.5]}
    members = [
        se.RegressionAccumulator().update([1], [0.5]).to_bytes(),
        se.ConfusionAccumulator().update([1], [0]).to_bytes(),
    ]
    written = se.Collection(parts, columns=renamed).update(batch).to_bytes()
    lengths = struct.pack("<2I", *map(len, members))
    assert written == seal(header, lengths + b"".join(members), kind=KIND)


def test_error_of_a_member_says_what_is_wrong() -> None:
    with pytest.raises(se.CorruptStateError, match=r"^state is corrupt: checksum "):
        se.from_bytes(HOSTILE["a member with a wrong bit"]())


def test_a_member_of_a_later_version_is_told_as_such() -> None:
    with pytest.raises(se.UnsupportedVersionError, match="version 3"):
        se.from_bytes(HOSTILE["a member of a later version"]())


def test_a_single_accumulator_cannot_hold_states() -> None:
    parsed = parse_words(se.GroupedAUC().to_bytes())
    header = parsed.settings
    header["state"]["groups"] = {"column": "bytes", "length": 0}
    with pytest.raises(se.CorruptStateError, match="field groups"):
        se.from_bytes(seal_words(header, parsed.payload, kind=5))


@given(data=st.data())
@fuzzed
def test_hostile_header_of_a_member_is_refused_or_harmless(data: st.DataObject) -> None:
    header, members = taken_apart(collection())
    place = data.draw(st.integers(0, len(members) - 1))
    parsed = parse(members[place])
    inner = data.draw(changed_headers(copy.deepcopy(parsed.settings)))
    members[place] = seal_words(inner, parsed.payload, kind=parsed.kind)
    refuse_or_use(put_together(header, members))


@given(data=st.data())
@fuzzed
def test_hostile_payload_of_a_member_is_refused_or_harmless(data: st.DataObject) -> None:
    header, members = taken_apart(collection())
    place = data.draw(st.integers(0, len(members) - 1))
    parsed = parse(members[place])
    numbers = parsed.numbers
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(numbers) - 1))
        numbers[at] = data.draw(st.integers(-2, 3) | st.integers(-(2**63), 2**63 - 1))
    members[place] = seal_words(parsed.header, numbers, kind=parsed.kind)
    refuse_or_use(put_together(header, members))


@given(data=st.data())
@fuzzed
def test_hostile_header_around_right_members_is_refused_or_harmless(data: st.DataObject) -> None:
    header, members = taken_apart(collection())
    refuse_or_use(put_together(data.draw(changed_headers(header)), members))
