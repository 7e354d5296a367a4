"""The byte format: its layout, its damage, and what counts as bytes."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import math
import struct
import subprocess
import sys
import weakref
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from offenders import each
from profiles import cases, quick_cases
from small_states import (
    EVERY,
    GROUPED,
    KINDS,
    SMALL,
    Parsed,
    canonical,
    parse,
    payload_fields,
    seal,
    widened,
)

import streameval as se
from streameval.accumulators.classes import SINGLE_IDS, own_class
from streameval.exact.fixed_point import FixedPoint
from streameval.states import codec
from streameval.states.column import Column
from streameval.states.type_ids import OWN_TYPES

of_version_1 = each("name", [name for name in EVERY if name not in GROUPED])
readers = each(
    "read",
    [se.from_bytes, se.ConfusionAccumulator.from_bytes],
)
VERSION_FIELD = range(8, 10)


def test_bytes_are_those_of_the_format_when_one_example_was_counted() -> None:
    header = (
        b'{"config":{"classes":2,"from_scores":null,"ignore_label":null,"include_unseen":false,'
        b'"multilabel":false,"pos_label":1,"threshold":{"float64":"3fe0000000000000"},"top_k":1},'
        b'"state":{"credit":{"shape":[1,2],"widths":[1]},'
        b'"matrix":{"shape":[2,2],"widths":[1]},"n":{"shape":[],"widths":[1]}}}'
    )
    payload = bytes([1, *(0, 0, 0, 1), *(1, 0)])  # n; matrix by rows; credit, full credit first
    prefix = b"".join(
        [
            bytes.fromhex("89 53 45 56 4C 0D 0A 1A"),
            (2).to_bytes(2, "little"),  # version
            (1).to_bytes(2, "little"),  # kind
            len(header).to_bytes(4, "little"),
            len(payload).to_bytes(8, "little"),
        ]
    )
    checksum = zlib.crc32(prefix + header + payload).to_bytes(4, "little")
    written = se.ConfusionAccumulator().update([1], [1]).to_bytes()
    assert written == prefix + checksum + header + payload


@each("name", EVERY)
def test_prefix_declares_what_follows(name: str) -> None:
    accumulator = EVERY[name]()
    data = accumulator.to_bytes()
    parsed = parse(data)
    kind = KINDS[type(accumulator)]
    assert (parsed.magic, parsed.version, parsed.kind) == (b"\x89SEVL\r\n\x1a", 2, kind)
    assert (parsed.header_size, parsed.payload_size) == (len(parsed.header), len(parsed.payload))
    assert parsed.checksum == zlib.crc32(data[:24] + data[28:])


@each("name", EVERY)
def test_header_is_canonical_json_without_floats(name: str) -> None:
    header = parse(EVERY[name]().to_bytes()).header

    def refuse(number: str) -> None:
        raise AssertionError(number)

    assert canonical(json.loads(header, parse_float=refuse, parse_constant=refuse)) == header


def test_written_options_are_freed_with_their_accumulators() -> None:
    acc = se.ConfusionAccumulator(classes=["freed", "with", "me"])
    acc.to_bytes()
    options = weakref.ref(acc._config)
    del acc
    gc.collect()
    assert options() is None


def test_header_of_any_names_is_canonical_json() -> None:
    fields = {"é": FixedPoint(np.array(3)), 'a"b': Column(np.array([2, 300])), "z": ("é", 1)}
    data = codec.encode(0x8000, "Stück", codec.settings_json({"ß": 1}), fields)
    header = parse(data).header
    assert canonical(json.loads(header)) == header
    assert json.loads(header)["type"] == "Stück"


def test_header_holds_the_bits_of_floats_as_hexadecimal() -> None:
    header = parse(se.ConfusionAccumulator(threshold=0.1).to_bytes()).settings
    assert header["config"]["threshold"] == {"float64": struct.pack(">d", 0.1).hex()}


def test_payload_is_little_endian_whole_before_fraction_field_after_field() -> None:
    acc = se.ConfusionAccumulator("auto")
    acc.update([3, 5], [3, 3], sample_weight=[2**53 + 1, 0])
    acc.update([5], [3], sample_weight=[1.25])
    n, matrix = (2**53 + 2, 2**60), [(2**53 + 1, 0, 1, 0), (0, 0, 2**60, 0)]
    assert parse(acc.to_bytes()).payload == struct.pack("<10Q", *n, *matrix[0], *matrix[1])


@each("name", EVERY)
def test_state_is_read_back(name: str) -> None:
    accumulator = EVERY[name]()
    assert se.from_bytes(accumulator.to_bytes()) == accumulator


@each(
    "label",
    ["", "\0", '"\\', "\x7f", "é", "日本", "😀"],
)
def test_label_is_read_back(label: str) -> None:
    accumulator = se.ConfusionAccumulator("auto").update([label, "b"], ["b", label])
    assert se.from_bytes(accumulator.to_bytes()).compute().labels == tuple(sorted({label, "b"}))


@each("label", ["\ud800", "\ud83d\ude00"])
def test_label_of_surrogates_is_refused_because_json_would_join_them(label: str) -> None:
    with pytest.raises(se.InvalidInputError, match="must be Unicode text"):
        se.ConfusionAccumulator("auto").update([label], [label])


@pytest.mark.uncovered
@pytest.mark.slow
@each("name", EVERY)
@readers
def test_every_flipped_bit_is_refused(read: Callable[[bytes], Any], name: str) -> None:
    data = EVERY[name]().to_bytes()
    n_bits = cases(8)  # of each byte, another one at the next place
    for place in range(len(data)):
        error = se.UnsupportedVersionError if place in VERSION_FIELD else se.CorruptStateError
        for bit in range(place, place + n_bits):
            damaged = bytearray(data)
            damaged[place] ^= 1 << bit % 8
            with pytest.raises(error):
                read(bytes(damaged))


@each("name", EVERY)
@readers
def test_every_truncation_is_refused(read: Callable[[bytes], Any], name: str) -> None:
    data = EVERY[name]().to_bytes()
    for size in {*range(0, len(data), 80 // quick_cases(80, least=1)), len(data) - 1}:
        with pytest.raises(se.CorruptStateError):
            read(data[:size])


@each("name", EVERY)
def test_extension_is_refused(name: str) -> None:
    data = EVERY[name]().to_bytes()
    for more in (b"\0", b"\n", b"\0" * 8, b"\0" * 4096):
        with pytest.raises(se.CorruptStateError, match="length"):
            se.from_bytes(data + more)


@each("version", [0, 3, 65_535])
def test_other_version_is_refused_by_number_when_the_rest_is_right(version: int) -> None:
    parsed = parse(SMALL["binary"]().to_bytes())
    with pytest.raises(se.UnsupportedVersionError, match=f"version {version}, .* versions 1 to 2"):
        se.from_bytes(seal(parsed.header, parsed.payload, version=version))


@readers
@each("type_id", [0, 13, 0x7FFF])
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
    composed = (se.Clustered, se.Collection, se.Sliced, se.Windowed, se.Parts)
    classes = {number: own_class(OWN_TYPES[number]) for number in SINGLE_IDS}
    classes |= {cls.type_id: cls for cls in composed}
    assert {number: kind.__name__ for number, kind in classes.items()} == OWN_TYPES
    numbers = {**KINDS, se.Parts: 11}
    assert {number: kind.__name__ for kind, number in numbers.items()} == OWN_TYPES


@pytest.mark.uncovered
@pytest.mark.slow
@each("name", {type(make()): name for name, make in EVERY.items()}.values())
def test_bytes_are_read_by_a_process_that_has_imported_no_accumulator(name: str) -> None:
    data = EVERY[name]().to_bytes()
    code = "import sys, streameval as se; sys.stdout.buffer.write(se.from_bytes(%r).to_bytes())"
    run = subprocess.run([sys.executable, "-c", code % data], check=True, capture_output=True)
    assert run.stdout == data


def test_accumulators_of_two_kinds_do_not_merge() -> None:
    with pytest.raises(se.IncompatibleStateError, match="the class differs"):
        se.ConfusionAccumulator().merge(se.RegressionAccumulator())


def test_accumulators_of_two_kinds_are_not_equal() -> None:
    assert se.RegressionAccumulator() != se.ConfusionAccumulator()


@readers
@each(
    "data",
    ["text", None, 5, [1, 2], np.zeros(28, np.uint8), io.BytesIO(b"")],
)
def test_what_is_not_bytes_is_refused(data: Any, read: Callable[[Any], Any]) -> None:
    with pytest.raises(se.InvalidInputError, match=f"`data` .* {type(data).__name__}"):
        read(data)


def test_no_bytes_at_all_are_refused() -> None:
    with pytest.raises(se.CorruptStateError, match="expected 28 bytes, got 0"):
        se.from_bytes(b"")


@readers
@each(
    "view",
    [
        bytearray,
        memoryview,
        lambda data: memoryview(b"x" + data + b"x")[1:-1],
        lambda data: memoryview(np.frombuffer(data, np.int8)),
        lambda data: memoryview(data).cast("B", (1, len(data))),
    ],
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
@each("view", [_spread, _big_endian, _released])
def test_memory_that_is_no_run_of_bytes_is_refused(view: Any, read: Any) -> None:
    with pytest.raises(se.InvalidInputError, match="`data`"):
        read(view(SMALL["met"]().to_bytes()))


def test_reading_keeps_no_hold_on_the_bytes() -> None:
    data = bytearray(SMALL["met"]().to_bytes())
    accumulator = se.from_bytes(data)
    data[:] = bytes(len(data))
    data.clear()
    assert accumulator == SMALL["met"]()


LARGE = np.arange(2**40, 2**40 + 12)


@each(
    "array",
    [
        LARGE.reshape(3, 4).T,
        LARGE[::-3],
        LARGE.astype(">i8"),
        np.array(2**62),
        np.zeros((0, 0), np.int64),
        np.broadcast_to(np.array(2**40), (2, 3)),
    ],
)
def test_numbers_are_written_in_order_however_they_lie_in_memory(array: np.ndarray) -> None:
    words = b"".join(number.to_bytes(8, "little") for number in array.ravel().tolist())
    for numbers in (FixedPoint(array), FixedPoint(array, array)):
        written = codec.encode(1, "", "{}", {"numbers": numbers})
        parts = codec.split(written)
        assert bytes(parts.payload) == words * (1 if numbers.fraction is None else 2)
        read = codec.decode_fields(parts.header["state"], parts.payload)["numbers"]
        assert read == numbers
        assert read.whole.flags.writeable


@each("fraction", [False, True])
@each(
    ("largest", "width"),
    [
        *((0, 1), (255, 1), (256, 2), (65_535, 2), (65_536, 4)),
        *((2**32 - 1, 4), (2**32, 8), (2**62 - 1, 8)),
    ],
)
@each("size", [1, 3, 1000])
def test_numbers_are_as_narrow_as_the_largest_needs(
    size: int, largest: int, width: int, *, fraction: bool
) -> None:
    array = np.zeros(size, np.int64)
    array[size // 2] = largest
    numbers = FixedPoint(np.zeros(size, np.int64), array) if fraction else FixedPoint(array)
    parts = codec.split(codec.encode(1, "", "{}", {"numbers": numbers}))
    widths = [1, width] if fraction else [width]
    assert parts.header["state"]["numbers"] == {"shape": [size], "widths": widths}
    expected = b"".join(number.to_bytes(width, "little") for number in array.tolist())
    assert bytes(parts.payload) == bytes(size if fraction else 0) + expected
    assert codec.decode_fields(parts.header["state"], parts.payload)["numbers"] == numbers


@each("name", EVERY)
def test_bytes_are_the_same_when_arrays_are_narrowed_in_place(name: str) -> None:
    accumulator = EVERY[name]()
    expected = accumulator.to_bytes()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codec, "_LARGE", 1)
        assert accumulator.to_bytes() == expected


def test_large_matrix_is_written_row_by_row_whatever_its_memory() -> None:
    array = (np.arange(300 * 400) % 251).reshape(400, 300).T
    parts = codec.split(codec.encode(1, "", "{}", {"numbers": FixedPoint(array)}))
    assert bytes(parts.payload) == bytes(array.ravel().tolist())


@each(
    ("low", "high", "width"),
    [
        *((0, 127, 1), (-128, 0, 1), (0, 128, 2), (-129, 0, 2), (-(2**15), 2**15 - 1, 2)),
        *((0, 2**15, 4), (-(2**31), 2**31 - 1, 4), (-(2**31) - 1, 0, 8), (-(2**63), 0, 8)),
    ],
)
@each("size", [2, 1000])
def test_signed_columns_are_as_narrow_as_both_ends_need(
    size: int, low: int, high: int, width: int
) -> None:
    values = np.resize(np.array([low, high]), size)
    parts = codec.split(codec.encode(1, "", "{}", {"names": Column(values)}))
    described = {"column": "int64", "length": size, "width": width}
    assert parts.header["state"]["names"] == described
    assert len(parts.payload) == width * size
    assert codec.decode_fields({"names": described}, parts.payload)["names"] == Column(values)


@each("name", EVERY)
def test_a_width_that_is_not_the_narrowest_is_refused(name: str) -> None:
    """Each array of each state, written twice as wide with all its numbers right."""
    parsed = parse(EVERY[name]().to_bytes())
    tried = 0
    for forged in wider(parsed):
        with pytest.raises(se.CorruptStateError, match="is wider than its numbers need"):
            se.from_bytes(forged)
        tried += 1
    assert tried


@pytest.mark.slow
@each("name", EVERY)
def test_a_width_that_there_is_not_is_refused(name: str) -> None:
    parsed = parse(EVERY[name]().to_bytes())
    accepted = []
    for width in (0, -1, 3, 16, 2**62, True, 1.0, "1", None, [1]):
        for field in payload_fields(parsed.settings["state"]):
            for at in range(len(parsed.settings["state"][field].get("widths", [0]))):
                header = parsed.settings
                described = header["state"][field]
                if "widths" in described:
                    described["widths"][at] = width
                else:
                    described["width"] = width
                with contextlib.suppress(se.CorruptStateError):
                    se.from_bytes(seal(header, parsed.payload, kind=parsed.kind))
                    accepted.append((width, field, at))
    assert accepted == []


@each("widths", [[], [1, 1, 1], 1, None, {"1": 1}])
def test_numbers_have_one_width_or_two(widths: Any) -> None:
    parsed = parse(SMALL["binary"]().to_bytes())
    header = parsed.settings
    header["state"]["matrix"]["widths"] = widths
    with pytest.raises(se.CorruptStateError, match="matrix"):
        se.from_bytes(seal(header, parsed.payload + bytes(9)))  # enough for a third part


@each("above", [None, "pos", "hi", "levels", 3, ["lo"]])
def test_the_upper_ends_of_cells_stand_above_the_lower_ones_alone(above: Any) -> None:
    parsed = parse(EVERY["coarse_curve"]().to_bytes())
    for field in ("hi", "lo", "sizes"):
        header = parsed.settings
        header["state"][field]["above"] = above
        with pytest.raises(se.CorruptStateError):
            se.from_bytes(seal(header, parsed.payload, kind=3))
    header = parsed.settings
    del header["state"]["hi"]["above"]
    with pytest.raises(se.CorruptStateError, match="hi"):
        se.from_bytes(seal(header, parsed.payload, kind=3))


def test_a_column_above_one_of_another_length_is_refused() -> None:
    fields = {
        "lo": Column(np.arange(3, dtype=np.uint64)),
        "hi": Column(np.arange(4, dtype=np.uint64)),
    }
    parts = codec.split(codec.encode(1, "", "{}", fields))
    described = parts.header["state"]
    described = {"lo": described["lo"], "hi": described["hi"] | {"above": "lo"}}
    with pytest.raises(se.CorruptStateError, match="hi"):
        codec.decode_fields(described, parts.payload, above={"hi": "lo"})


@each("kinds", [("int64", "uint64"), ("uint64", "int64"), ("int64", "int64")])
def test_only_unsigned_columns_stand_above_each_other(kinds: tuple[str, str]) -> None:
    arrays = (np.array([1, 2, 300], dtype=kind) for kind in kinds)
    fields = {name: Column(array) for name, array in zip(("lo", "hi"), arrays, strict=True)}
    parts = codec.split(codec.encode(1, "", "{}", fields))
    described = parts.header["state"]
    described = {"lo": described["lo"], "hi": described["hi"] | {"above": "lo"}}
    with pytest.raises(se.CorruptStateError, match="hi"):
        codec.decode_fields(described, parts.payload, above={"hi": "lo"})


@each("lengths", [(3, 2**64 - 2, 4), (2**62, 2**64 - 2**62, 5), (2**63, 2**63, 5)])
def test_lengths_of_texts_whose_sum_wraps_around_are_refused(lengths: tuple[int, ...]) -> None:
    described = {"text": {"column": "text", "length": 3, "width": 8}}
    with pytest.raises(se.CorruptStateError, match="text declares more than there is"):
        codec.decode_fields(described, memoryview(struct.pack("<3Q", *lengths) + b"abcde"))


@each("size", [13, 2**31, 2**63])
def test_a_block_that_declares_a_longer_header_is_refused(size: int) -> None:
    block = codec.encode_block({"number": 3})
    assert codec.decode_block(["number"], block) == {"number": 3}
    with pytest.raises(se.CorruptStateError, match="a block declares more than there is"):
        codec.decode_block(["number"], struct.pack("<Q", size) + block[8:])


@each("described", [[1], "number", None, {}, {"other": 1}, {"number": 1, "other": 1}])
def test_a_block_of_other_parts_is_refused(described: Any) -> None:
    header = canonical(described)
    with pytest.raises(se.CorruptStateError, match="the parts of a block"):
        codec.decode_block(["number"], struct.pack("<Q", len(header)) + header)


@each("name", GROUPED)
def test_groups_are_of_version_2(name: str) -> None:
    parsed = parse(EVERY[name]().to_bytes())
    with pytest.raises(se.CorruptStateError, match=r"version 1 has no groups|members"):
        se.from_bytes(seal(parsed.header, parsed.payload, kind=parsed.kind, version=1))


@of_version_1
def test_version_1_is_read_and_written_as_version_2(name: str) -> None:
    accumulator = EVERY[name]()
    old = widened(accumulator.to_bytes())
    assert parse(old).version == 1
    assert se.from_bytes(old) == accumulator
    assert se.from_bytes(old).to_bytes() == accumulator.to_bytes()


@of_version_1
def test_a_description_of_the_other_version_is_refused(name: str) -> None:
    data = EVERY[name]().to_bytes()
    for parsed, version in ((parse(data), 1), (parse(widened(data)), 2)):
        mixed = seal(parsed.header, parsed.payload, kind=parsed.kind, version=version)
        with pytest.raises(se.CorruptStateError):
            se.from_bytes(mixed)


@pytest.mark.uncovered
@pytest.mark.slow
@each("name", EVERY)
def test_a_flipped_bit_with_a_right_checksum_is_refused_or_another_state(name: str) -> None:
    original = EVERY[name]()
    parsed = parse(original.to_bytes())
    n_bits = cases(8)  # of each byte, another one at the next place
    for place in range(len(parsed.payload)):
        for bit in range(place, place + n_bits):
            payload = bytearray(parsed.payload)
            payload[place] ^= 1 << bit % 8
            data = seal(parsed.header, bytes(payload), kind=parsed.kind)
            try:
                read = se.from_bytes(data)
            except se.CorruptStateError:
                continue
            assert read.to_bytes() == data
            assert read != original


def wider(parsed: Parsed) -> Iterator[bytes]:
    """Write each array of a state in integers of twice the width; those of 8 bytes stay."""
    state, start, lengths = parsed.settings["state"], 0, b""
    for field in payload_fields(state):
        described = state[field]
        has_pieces = described.get("column") in ("text", "bytes")
        size = math.prod(described["shape"]) if "shape" in described else described["length"]
        for at, width in enumerate(described.get("widths") or [described["width"]]):
            end = start + size * width
            if width < 8:
                header = parsed.settings
                if "widths" in described:
                    header["state"][field]["widths"][at] = 2 * width
                else:
                    header["state"][field]["width"] = 2 * width
                signed = described.get("column") == "int64"
                numbers = (parsed.payload[i : i + width] for i in range(start, end, width))
                wide = b"".join(
                    int.from_bytes(one, "little", signed=signed).to_bytes(
                        2 * width, "little", signed=signed
                    )
                    for one in numbers
                )
                payload = parsed.payload[:start] + wide + parsed.payload[end:]
                yield seal(header, payload, kind=parsed.kind)
            lengths = parsed.payload[start:end]
            start = end
        if has_pieces:
            width = described["width"]
            start += sum(
                int.from_bytes(lengths[i : i + width], "little")
                for i in range(0, len(lengths), width)
            )


@each("name", [name for name in EVERY if EVERY[name]().type_id in SINGLE_IDS])
def test_accumulators_with_equal_options_share_them(name: str) -> None:
    made = EVERY[name]()
    assert made._config is EVERY[name]()._config
    assert made._config is se.from_bytes(made.to_bytes())._config


def test_a_known_header_does_not_make_a_damaged_payload_good() -> None:
    data = se.ConfusionAccumulator(3).update([0, 1], [1, 1]).to_bytes()
    se.from_bytes(data)
    parsed = parse(data)
    with pytest.raises(se.CorruptStateError, match="credit is less than the hits"):
        se.from_bytes(seal(parsed.header, parsed.payload[:-4] + bytes(4), kind=parsed.kind))


def test_long_headers_and_large_payloads_are_not_kept() -> None:
    known = se.ConfusionAccumulator._definition.known
    known.clear()
    long = se.ConfusionAccumulator([f"class {number}" for number in range(600)], multilabel=True)
    large = se.ConfusionAccumulator(300).update(*np.random.default_rng(0).integers(0, 300, (2, 9)))
    for accumulator in (long, large):
        assert se.from_bytes(accumulator.to_bytes()) == accumulator
    assert known == {}


def test_the_headers_that_are_kept_are_limited_in_number() -> None:
    known = se.ConfusionAccumulator._definition.known
    known.clear()
    for classes in range(2, 2 + 65):
        se.from_bytes(se.ConfusionAccumulator(classes).to_bytes())
        assert len(known) <= 64
    assert len(known) == 1


def test_options_that_nothing_uses_are_dropped() -> None:
    shared = se.ConfusionAccumulator._definition.shared
    made = se.ConfusionAccumulator(["only", "here"])
    assert se.ConfusionAccumulator(["only", "here"])._config is made._config
    held = weakref.ref(made._config)
    assert held() in shared
    del made
    gc.collect()
    assert held() is None
