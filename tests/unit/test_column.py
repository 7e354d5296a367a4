"""Columns of keys, levels and names, and tuples of sums: written, read, damaged."""

from __future__ import annotations

import json
import struct
import tracemalloc
from typing import Any

import numpy as np
import pytest
from offenders import each
from small_states import EVERY, canonical, parse, parse_words, seal, seal_words

import streameval as se
from streameval.exact.exact_sum import ExactSum
from streameval.exact.fixed_point import FixedPoint
from streameval.states import codec
from streameval.states.column import Column

TEXTS: dict[str, list[str]] = {
    "nothing": [],
    "one empty": [""],
    "empty ones": ["", "", ""],
    "one word": ["a" * 8],
    "a byte more than a word": ["a" * 9],
    "a byte less than a word": ["a" * 7],
    "unicode": ["日本", "é", "😀", "a\0b", "\x7f", "\N{RIGHT-TO-LEFT OVERRIDE}"],
    "halves of a character in two words": ["aaaaaa日", "aaaaaaa日"],
    "quotes": ['"', "\\", "\n"],
    "long": ["x" * 100_000, "", "日" * 10_000],
}
NUMBERS = {
    "int64": np.array([0, 1, -1, 2**63 - 1, -(2**63)]),
    "uint64": np.array([0, 1, 2**63, 2**64 - 1], dtype=np.uint64),
    "narrow int64": np.array([0, 1, -1]),
    "narrow uint64": np.array([255, 1], dtype=np.uint64),
    "no int64": np.zeros(0, dtype=np.int64),
    "no uint64": np.zeros(0, dtype=np.uint64),
}


def texts(values: list[str]) -> Column:
    return Column(np.array([*values, None], dtype=object)[:-1])


def written(**fields: Any) -> tuple[dict[str, Any], bytes]:
    """The description and the payload of some fields."""
    parsed = parse(codec.encode(9, "", "{}", fields))
    return parsed.settings["state"], parsed.payload


def read(described: dict[str, Any], payload: bytes, version: int = 2) -> dict[str, Any]:
    return codec.decode_fields(described, memoryview(payload), version)


@each("claim", TEXTS)
def test_texts_are_read_back(claim: str) -> None:
    column = texts(TEXTS[claim])
    described, payload = written(names=column)
    assert described == {"names": {"column": "text", "length": len(TEXTS[claim]), "width": 4}}
    back = read(described, payload)["names"]
    assert back == column
    assert back.values.dtype == object
    assert back.values.tolist() == TEXTS[claim]


@each("claim", NUMBERS)
def test_numbers_are_read_back(claim: str) -> None:
    column = Column(NUMBERS[claim])
    described, payload = written(keys=column)
    width = 8 if 2**63 - 1 in NUMBERS[claim] or 2**63 in NUMBERS[claim] else 1
    assert described == {"keys": {"column": column.kind, "length": len(column), "width": width}}
    assert len(payload) == width * len(column)
    back = read(described, payload)["keys"]
    assert back == column
    assert back.values.dtype == NUMBERS[claim].dtype


def test_payload_of_texts_is_lengths_then_utf_8_then_zeros() -> None:
    _, payload = written(names=texts(["é", "", "abc"]))
    assert payload == struct.pack("<3I", 2, 0, 3) + "éabc".encode()


def test_lengths_of_texts_have_8_bytes_once_one_does_not_fit_into_4() -> None:
    """A piece of 4 GiB that only says that it is one."""

    class Long(bytes):
        def __len__(self) -> int:
            return 2**32

    described, (lengths, *_) = codec._lay_out(codec.Nested((Long(), b"x" * 28)))
    assert described == {"column": "bytes", "length": 2, "width": 8}
    assert bytes(lengths) == words(2**32, 28)


def test_payload_of_numbers_is_little_endian() -> None:
    _, payload = written(
        a=Column(np.array([2**64 - 2], dtype=">u8").astype(np.uint64)),
        b=Column(np.array([-2])),
        c=Column(np.array([-300])),
    )
    assert payload == struct.pack("<Qbh", 2**64 - 2, -2, -300)


def test_numbers_of_another_byte_order_are_written_the_same() -> None:
    keys = np.arange(5, dtype=np.uint64)
    other = keys.astype(keys.dtype.newbyteorder(">"))
    assert written(a=FixedPoint(other.astype(">i8"))) == written(a=FixedPoint(keys.astype("<i8")))


def test_fields_of_all_types_stand_side_by_side() -> None:
    fields = {
        "n": FixedPoint(np.array(3)),
        "names": texts(["日本", ""]),
        "keys": Column(NUMBERS["uint64"]),
        "sums": (ExactSum(1), ExactSum(-(2**80)), ExactSum(0)),
        "sum": ExactSum(2**1074),
        "labels": ("a", 1),
        "weights": FixedPoint(np.array([1, 2]), np.array([3, 4])),
        "none": (),
    }
    described, payload = written(**fields)
    assert read({name: described[name] for name in fields}, payload) == fields


def test_sums_stand_in_the_header_as_hexadecimal() -> None:
    described, payload = written(sums=(ExactSum(255), ExactSum(-16)))
    assert described == {"sums": [{"exact_sum": "ff"}, {"exact_sum": "-10"}]}
    assert payload == b""


@each(
    ("one", "other", "expected"),
    [
        (texts(["a"]), texts(["a"]), True),
        (texts(["a"]), texts(["b"]), False),
        (texts(["a"]), texts(["a", "a"]), False),
        (texts([]), Column(np.zeros(0, dtype=np.int64)), False),
        (Column(np.array([1])), Column(np.array([1], dtype=np.uint64)), False),
        (Column(np.array([1])), Column(np.array([1])), True),
        (Column(np.array([1])), Column(np.array([2])), False),
    ],
)
def test_columns_are_equal_when_type_and_items_are(
    one: Column, other: Column, expected: bool
) -> None:
    assert (one == other) == expected
    assert (one != other) == (not expected)


def test_column_is_not_equal_to_its_array_nor_hashable() -> None:
    assert Column(np.array([1])).__eq__(np.array([1])) is NotImplemented
    assert Column(np.array([1])) != [1]
    with pytest.raises(TypeError):
        hash(Column(np.array([1])))


def words(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}q", *numbers)


def text_column(length: Any) -> dict[str, Any]:
    return {"names": {"column": "text", "length": length}}


MORE = "names declares more than there is"
DAMAGED: dict[str, tuple[dict[str, Any], bytes, str]] = {
    "longer than there is": (text_column(2), words(1), MORE),
    "text longer than there is": (text_column(1), words(9) + bytes(8), MORE),
    "texts that sum past what there is": (text_column(2), words(8, 8) + bytes(8), MORE),
    "text of 2**62": (text_column(1), words(2**62), MORE),
    "texts that wrap around": (text_column(4), words(*[2**62] * 4), MORE),
    "text of negative length": (text_column(1), words(-1), MORE),
    "texts that cancel": (text_column(2), words(8, -8) + b"a" * 8, MORE),
    "no room for the padding": (text_column(1), words(1) + b"a", MORE),
    "padding of ones": (text_column(1), words(1) + b"a" + b"\0" * 6 + b"\1", "is not padded with"),
    "padding of text": (text_column(1), words(1) + b"abbbbbbb", "names is not padded with zeros"),
    "texts too many": (text_column(1), words(1) + b"a" + bytes(7 + 8), "has 8 bytes too many"),
    "continuation alone": (text_column(1), words(1) + b"\x80" + bytes(7), "names is not text"),
    "half a character": (text_column(1), words(2) + b"\xe6\x97" + bytes(6), "names is not text"),
    "a character cut in two": (text_column(2), words(1, 2) + "日".encode() + bytes(5), "not text"),
    "a surrogate": (text_column(1), words(3) + b"\xed\xa0\x80" + bytes(5), "names is not text"),
    "an overlong slash": (text_column(1), words(2) + b"\xc0\xaf" + bytes(6), "names is not text"),
    "past the last character": (text_column(1), words(4) + b"\xf4\x90\x80\x80" + bytes(4), "text"),
    "length negative": (text_column(-1), b"", MORE),
    "length of 2**62": (text_column(2**62), b"", MORE),
    "length of 10**40": (text_column(10**40), b"", MORE),
    "length a float": (text_column(1.0), words(0), "names"),
    "length a boolean": (text_column(True), words(0), "names"),
    "length a string": (text_column("1"), words(0), "names"),
    "length nothing": (text_column(None), words(0), "names"),
    "no length": ({"names": {"column": "text"}}, words(0), "names"),
    "a shape too": ({"names": {"column": "int64", "length": 1, "shape": [1]}}, words(0), "names"),
    "another type": ({"names": {"column": "int32", "length": 1}}, words(0), "names"),
    "no type": ({"names": {"column": None, "length": 1}}, words(0), "names"),
    "a list as type": ({"names": {"column": ["int64"], "length": 1}}, words(0), "names"),
    "numbers of 2**62": ({"names": {"column": "uint64", "length": 2**62}}, words(0), MORE),
    "one number too many": ({"names": {"column": "int64", "length": 2}}, words(0), MORE),
    "half a number": ({"names": {"column": "int64", "length": 1}}, words(0)[:7], MORE),
    "an exact sum too": (
        {"names": {"column": "int64", "length": 1, "exact_sum": "1"}},
        words(0),
        "names",
    ),
}


def narrow_column(length: Any, width: Any = 4, column: str = "text") -> dict[str, Any]:
    return {"names": {"column": column, "length": length, "width": width}}


DAMAGED_NARROW: dict[str, tuple[dict[str, Any], bytes, str]] = {
    "longer than there is": (narrow_column(2), struct.pack("<I", 1), MORE),
    "text longer than there is": (narrow_column(1), struct.pack("<I", 4) + b"abc", MORE),
    "texts that sum past what there is": (
        narrow_column(2),
        struct.pack("<2I", 2, 2) + b"abc",
        MORE,
    ),
    "text of 2**32 - 1": (narrow_column(1), struct.pack("<I", 2**32 - 1), MORE),
    "text of 2**64 - 1": (narrow_column(1, 8), struct.pack("<Q", 2**64 - 1), MORE),
    "text of 2**63": (narrow_column(1, 8), struct.pack("<Q", 2**63), MORE),
    "texts that wrap around": (narrow_column(4, 8), struct.pack("<4Q", *[2**62] * 4), MORE),
    "lengths of a byte": (narrow_column(1, 1), b"\1a", "names"),
    "lengths of 8 bytes": (narrow_column(1, 8), struct.pack("<Q", 1) + b"a", "wider than its"),
    "padded": (narrow_column(1), struct.pack("<I", 1) + b"a" + bytes(3), "has 3 bytes too many"),
    "half a character": (narrow_column(1), struct.pack("<I", 2) + b"\xe6\x97", "not text"),
    "no width": ({"names": {"column": "text", "length": 0}}, b"", "names"),
    "a width of 3": (narrow_column(1, 3, "uint64"), bytes(3), "names"),
    "a width of 2**62": (narrow_column(1, 2**62, "uint64"), bytes(8), "names"),
    "numbers of 2**62": (narrow_column(2**62, 1, "uint64"), bytes(8), MORE),
    "numbers less than none": (narrow_column(-1, 1, "uint64"), b"", MORE),
    "one number too many": (narrow_column(2, 2, "int64"), bytes(2), MORE),
    "half a number": (narrow_column(1, 2, "int64"), bytes(1), MORE),
    "a wide zero": (narrow_column(1, 2, "int64"), bytes(2), "wider than its numbers need"),
    "a wide -1": (narrow_column(1, 8, "int64"), words(-1), "wider than its numbers need"),
    "a wide nothing": (narrow_column(0, 4, "uint64"), b"", "wider than its numbers need"),
    "above itself": (
        {"names": {"above": "names", "column": "uint64", "length": 1, "width": 1}},
        bytes(1),
        "names",
    ),
    "states too short to be any": (
        narrow_column(2, 4, "bytes"),
        struct.pack("<2I", 28, 27) + bytes(55),
        "names holds no states",
    ),
}


@each("claim", [*DAMAGED_NARROW])
def test_damaged_narrow_column_is_refused(claim: str) -> None:
    described, payload, reason = DAMAGED_NARROW[claim]
    with pytest.raises(se.CorruptStateError, match=reason):
        read(described, payload)


@each("claim", DAMAGED)
def test_damaged_column_is_refused(claim: str) -> None:
    described, payload, reason = DAMAGED[claim]
    with pytest.raises(se.CorruptStateError, match=reason) as caught:
        read(described, payload, version=1)
    assert str(caught.value).startswith("state is corrupt: ")
    assert str(caught.value).endswith(".")


@each(
    "sums",
    [
        [{"exact_sum": "1" * 1025}],
        [{"exact_sum": 1}],
        [{"exact_sum": None}],
        [{"exact_sum": "1", "more": 1}],
        [{"float": "1"}],
        [[{"exact_sum": 1}]],
    ],
)
def test_damaged_sum_in_a_tuple_is_refused(sums: Any) -> None:
    with pytest.raises(se.CorruptStateError):
        read({"sums": sums}, b"")


@each("spelling", ["0x1", " 1", "1_0", "+1", "-0", "01", "FF", ""])
def test_sum_of_another_spelling_is_refused_by_its_state(spelling: str) -> None:
    parsed = parse_words(EVERY["calibration"]().to_bytes())
    header = parsed.settings
    header["state"]["prediction"][0] = {"exact_sum": spelling}
    with pytest.raises(se.CorruptStateError):
        se.from_bytes(seal_words(header, parsed.payload, kind=parsed.kind))


def grouped_bytes(length: Any, payload: bytes) -> bytes:
    """A state of groups with these texts."""
    parsed = parse_words(EVERY["coarse_groups"]().to_bytes())
    header = json.loads(parsed.header)
    header["state"]["groups"]["length"] = length
    return seal_words(header, parsed.payload[:24] + payload, kind=parsed.kind)


LARGE = words(*[0] * 40_000)
HOSTILE = {
    "groups of 2**62": grouped_bytes(2**62, LARGE),
    "groups of 2**40": grouped_bytes(2**40, LARGE),
    "one group too many": grouped_bytes(40_001, LARGE),
    "texts of 2**62": grouped_bytes(1, words(2**62) + LARGE),
    "texts of 2**63 - 1": grouped_bytes(1, words(2**63 - 1) + LARGE),
    "text of a byte too many": grouped_bytes(1, words(8 * 40_000 + 1) + LARGE),
    "cells of 2**62": seal_words(
        parse_words(EVERY["curve"]().to_bytes()).header.replace(
            b'"length":4', b'"length":4611686018427387904'
        ),
        LARGE,
        kind=3,
    ),
    "curves of 2**15": seal_words(
        parse_words(EVERY["empty_class_curves"]().to_bytes()).header.replace(
            b'"classes":3', b'"classes":32768'
        ),
        LARGE,
        kind=3,
    ),
    "curves of 2**15 of nothing": seal_words(
        parse_words(EVERY["empty_class_curves"]().to_bytes()).header.replace(
            b'"classes":3', b'"classes":32768'
        ),
        words(0, 0, 0, 0, 0, 0, 0, 0),
        kind=3,
    ),
    "text that is a number": seal_words(
        parse_words(EVERY["curve"]().to_bytes()).header.replace(b'"uint64"', b'"text"'),
        LARGE,
        kind=3,
    ),
}


@each("claim", HOSTILE)
def test_hostile_size_of_a_column_is_refused_in_little_memory(claim: str) -> None:
    data = HOSTILE[claim]
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        with pytest.raises(se.CorruptStateError):
            se.from_bytes(data)
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert peak <= 2 * len(data) + 65_536


@pytest.mark.slow
@each("text", ["", "a", "ab", "日", "ā"])
def test_texts_are_read_in_16_bytes_of_memory_for_each_byte(text: str) -> None:
    parsed = parse(EVERY["empty_grouped"]().to_bytes())
    header, size = parsed.settings, 40_000
    header["state"]["groups"] = {"column": "text", "length": size, "width": 4}
    own = struct.pack("<I", len(text.encode())) * size + text.encode() * size
    data = seal(header, bytes(2) + own, kind=5)
    tracemalloc.start()
    with pytest.raises(se.CorruptStateError):
        se.from_bytes(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 16 * len(data) + 65_536


@each("name", ["", "\0", '"\\', "é", "日本", "😀", "x" * 100_000])
def test_group_of_any_name_is_read_back(name: str) -> None:
    acc = se.GroupedAUC().update([1, 0, 1], [0.5, 0.25, 0.75], [name, "other", name])
    back = se.from_bytes(acc.to_bytes())
    assert back == acc
    assert back.compute().per_group()["group"].tolist() == sorted([name, "other"])


def test_header_of_a_state_with_columns_is_canonical() -> None:
    for name in ("curve", "class_curves", "coarse_groups"):
        header = parse(EVERY[name]().to_bytes()).header
        assert canonical(json.loads(header)) == header
