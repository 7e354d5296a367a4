"""The byte format: its layout, its damage, and what counts as bytes."""

from __future__ import annotations

import io
import json
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from small_states import EVERY, KINDS, SMALL, canonical, parse, seal

import streameval as se
from streameval.accumulators.kinds import SINGLE_KINDS
from streameval.exact.fixed_point import FixedPoint
from streameval.states import codec
from streameval.states.type_ids import OWN_TYPES

every_state = pytest.mark.parametrize("name", EVERY)
readers = pytest.mark.parametrize(
    "read",
    [se.from_bytes, se.ConfusionAccumulator.from_bytes],
    ids=["from_bytes", "ConfusionAccumulator.from_bytes"],
)
VERSION_FIELD = range(8, 10)


def test_bytes_are_those_of_the_format_when_one_example_was_counted() -> None:
    header = (
        b'{"config":{"classes":2,"from_scores":null,"ignore_label":null,"include_unseen":false,'
        b'"multilabel":false,"pos_label":1,"threshold":{"float64":"3fe0000000000000"},"top_k":1},'
        b'"state":{"credit":{"fraction":false,"shape":[1,2]},'
        b'"matrix":{"fraction":false,"shape":[2,2]},"n":{"fraction":false,"shape":[]}}}'
    )
    words = [1, *(0, 0, 0, 1), *(1, 0)]  # n; matrix by rows; credit, full credit first
    payload = b"".join(word.to_bytes(8, "little") for word in words)
    prefix = b"".join(
        [
            bytes.fromhex("89 53 45 56 4C 0D 0A 1A"),
            (1).to_bytes(2, "little"),  # version
            (1).to_bytes(2, "little"),  # kind
            len(header).to_bytes(4, "little"),
            len(payload).to_bytes(8, "little"),
        ]
    )
    checksum = zlib.crc32(prefix + header + payload).to_bytes(4, "little")
    written = se.ConfusionAccumulator().update([1], [1]).to_bytes()
    assert written == prefix + checksum + header + payload


@every_state
def test_prefix_declares_what_follows(name: str) -> None:
    accumulator = EVERY[name]()
    data = accumulator.to_bytes()
    parsed = parse(data)
    kind = KINDS[type(accumulator)]
    assert (parsed.magic, parsed.version, parsed.kind) == (b"\x89SEVL\r\n\x1a", 1, kind)
    assert (parsed.header_size, parsed.payload_size) == (len(parsed.header), len(parsed.payload))
    assert parsed.checksum == zlib.crc32(data[:24] + data[28:])


@every_state
def test_header_is_canonical_json_without_floats(name: str) -> None:
    header = parse(EVERY[name]().to_bytes()).header

    def refuse(number: str) -> None:
        raise AssertionError(number)

    assert canonical(json.loads(header, parse_float=refuse, parse_constant=refuse)) == header


def test_header_holds_the_bits_of_floats_as_hexadecimal() -> None:
    header = parse(se.ConfusionAccumulator(threshold=0.1).to_bytes()).settings
    assert header["config"]["threshold"] == {"float64": struct.pack(">d", 0.1).hex()}


def test_payload_is_little_endian_whole_before_fraction_field_after_field() -> None:
    acc = se.ConfusionAccumulator("auto")
    acc.update([3, 5], [3, 3], sample_weight=[2**53 + 1, 0])
    acc.update([5], [3], sample_weight=[1.25])
    n, matrix = (2**53 + 2, 2**60), [(2**53 + 1, 0, 1, 0), (0, 0, 2**60, 0)]
    assert parse(acc.to_bytes()).payload == struct.pack("<10q", *n, *matrix[0], *matrix[1])


@every_state
def test_state_is_read_back(name: str) -> None:
    accumulator = EVERY[name]()
    assert se.from_bytes(accumulator.to_bytes()) == accumulator


@pytest.mark.parametrize(
    "label",
    ["", "\0", '"\\', "\x7f", "é", "日本", "😀"],
    ids=["empty", "nul", "quote", "delete", "latin", "wide", "astral"],
)
def test_label_is_read_back(label: str) -> None:
    accumulator = se.ConfusionAccumulator("auto").update([label, "b"], ["b", label])
    assert se.from_bytes(accumulator.to_bytes()).compute().labels == tuple(sorted({label, "b"}))


@pytest.mark.parametrize("label", ["\ud800", "\ud83d\ude00"], ids=["lone", "pair"])
def test_label_of_surrogates_is_refused_because_json_would_join_them(label: str) -> None:
    with pytest.raises(se.InvalidInputError, match="must be Unicode text"):
        se.ConfusionAccumulator("auto").update([label], [label])


@pytest.mark.slow
@every_state
@readers
def test_every_flipped_bit_is_refused(read: Callable[[bytes], Any], name: str) -> None:
    data = EVERY[name]().to_bytes()
    for place in range(len(data)):
        error = se.UnsupportedVersionError if place in VERSION_FIELD else se.CorruptStateError
        for bit in range(8):
            damaged = bytearray(data)
            damaged[place] ^= 1 << bit
            with pytest.raises(error):
                read(bytes(damaged))


@every_state
@readers
def test_every_truncation_is_refused(read: Callable[[bytes], Any], name: str) -> None:
    data = EVERY[name]().to_bytes()
    for size in range(len(data)):
        with pytest.raises(se.CorruptStateError):
            read(data[:size])


@every_state
@pytest.mark.parametrize("more", [b"\0", b"\n", b"\0" * 8, b"\0" * 4096])
def test_extension_is_refused(name: str, more: bytes) -> None:
    with pytest.raises(se.CorruptStateError, match="length"):
        se.from_bytes(EVERY[name]().to_bytes() + more)


@pytest.mark.parametrize("version", [0, 2, 65_535])
def test_other_version_is_refused_by_number_when_the_rest_is_right(version: int) -> None:
    parsed = parse(SMALL["binary"]().to_bytes())
    with pytest.raises(se.UnsupportedVersionError, match=f"version {version}, .* version 1"):
        se.from_bytes(seal(parsed.header, parsed.payload, version=version))


@readers
@pytest.mark.parametrize("type_id", [0, 8, 0x7FFF])
def test_unknown_type_id_of_our_own_is_refused(type_id: int, read: Callable[[bytes], Any]) -> None:
    parsed = parse(SMALL["binary"]().to_bytes())
    with pytest.raises(se.CorruptStateError, match=f"unknown type id {type_id}"):
        read(seal(parsed.header, parsed.payload, kind=type_id))


def test_more_bytes_than_any_state_has_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = SMALL["binary"]().to_bytes()
    monkeypatch.setattr(codec, "MAX_SIZE", len(data) - 1)
    with pytest.raises(se.CorruptStateError, match="more than any state has"):
        se.from_bytes(data)


def test_header_longer_than_any_is_refused_before_it_is_read() -> None:
    with pytest.raises(se.CorruptStateError, match="header length 16777217"):
        se.from_bytes(seal(b" " * (2**24 + 1), []))


def test_bytes_of_another_kind_are_incompatible() -> None:
    with pytest.raises(
        se.IncompatibleStateError,
        match=r"hold a RegressionAccumulator, not a ConfusionAccumulator\.$",
    ):
        se.ConfusionAccumulator.from_bytes(se.RegressionAccumulator().to_bytes())


def test_every_type_id_is_that_of_its_class() -> None:
    composed = {se.Collection.type_id: se.Collection, se.Parts.type_id: se.Parts}
    classes = {**SINGLE_KINDS, **composed}
    assert {number: kind.__name__ for number, kind in classes.items()} == OWN_TYPES
    numbers = {**KINDS, se.Parts: 11}
    assert {number: kind.__name__ for kind, number in numbers.items()} == OWN_TYPES


@pytest.mark.slow
@pytest.mark.parametrize("name", {type(make()): name for name, make in EVERY.items()}.values())
def test_bytes_are_read_by_a_process_that_has_imported_no_accumulator(name: str) -> None:
    data = EVERY[name]().to_bytes()
    code = "import sys, streameval as se; sys.stdout.buffer.write(se.from_bytes(%r).to_bytes())"
    run = subprocess.run([sys.executable, "-c", code % data], check=True, capture_output=True)
    assert run.stdout == data


def test_accumulators_of_two_kinds_do_not_merge() -> None:
    with pytest.raises(se.IncompatibleStateError, match="the kind differs"):
        se.ConfusionAccumulator().merge(se.RegressionAccumulator())


def test_accumulators_of_two_kinds_are_not_equal() -> None:
    assert se.RegressionAccumulator() != se.ConfusionAccumulator()


@readers
@pytest.mark.parametrize(
    "data",
    ["text", None, 5, [1, 2], np.zeros(28, np.uint8), io.BytesIO(b"")],
    ids=lambda data: type(data).__name__,
)
def test_what_is_not_bytes_is_refused(data: Any, read: Callable[[Any], Any]) -> None:
    with pytest.raises(se.InvalidInputError, match=f"`data` .* {type(data).__name__}"):
        read(data)


def test_no_bytes_at_all_are_refused() -> None:
    with pytest.raises(se.CorruptStateError, match="expected 28 bytes, got 0"):
        se.from_bytes(b"")


@readers
@pytest.mark.parametrize(
    "view",
    [
        bytearray,
        memoryview,
        lambda data: memoryview(b"x" + data + b"x")[1:-1],
        lambda data: memoryview(np.frombuffer(data, np.int8)),
        lambda data: memoryview(data).cast("B", (1, len(data))),
    ],
    ids=["bytearray", "memoryview", "slice", "signed", "two-dimensional"],
)
def test_contiguous_bytes_are_read(view: Callable[[bytes], Any], read: Any) -> None:
    accumulator = SMALL["met"]()
    assert read(view(accumulator.to_bytes())) == accumulator


def _spread(data: bytes) -> memoryview:
    return memoryview(bytes(byte for each in data for byte in (each, 0)))[::2]


def _big_endian(data: bytes) -> memoryview:
    return memoryview(np.zeros(len(data), ">i8"))


def _released(data: bytes) -> memoryview:
    view = memoryview(data)
    view.release()
    return view


@readers
@pytest.mark.parametrize("view", [_spread, _big_endian, _released])
def test_memory_that_is_no_run_of_bytes_is_refused(view: Any, read: Any) -> None:
    with pytest.raises(se.InvalidInputError, match="`data`"):
        read(view(SMALL["met"]().to_bytes()))


def test_reading_keeps_no_hold_on_the_bytes() -> None:
    data = bytearray(SMALL["met"]().to_bytes())
    accumulator = se.from_bytes(data)
    data[:] = bytes(len(data))
    data.clear()
    assert accumulator == SMALL["met"]()


@pytest.mark.parametrize(
    "array",
    [
        np.arange(12).reshape(3, 4).T,
        np.arange(12)[::-3],
        np.arange(4).astype(">i8"),
        np.array(7),
        np.zeros((0, 0), np.int64),
        np.broadcast_to(np.array(5), (2, 3)),
    ],
    ids=["transposed", "reversed", "big-endian", "single", "empty", "broadcast"],
)
def test_numbers_are_written_in_order_however_they_lie_in_memory(array: np.ndarray) -> None:
    words = b"".join(number.to_bytes(8, "little") for number in array.ravel().tolist())
    for numbers in (FixedPoint(array), FixedPoint(array, array)):
        written = codec.encode(1, "", {}, {"numbers": numbers})
        parts = codec.split(written)
        assert bytes(parts.payload) == words * (1 if numbers.fraction is None else 2)
        read = codec.decode_fields(parts.header["state"], parts.payload)["numbers"]
        assert read == numbers
        assert read.whole.flags.writeable
