"""Packed files: every packing is told by its first bytes, streamed, and refused when broken."""

from __future__ import annotations

import bz2
import contextlib
import functools
import gzip
import io
import lzma
import sys
import tracemalloc
import zlib

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from offenders import each

from streameval.errors import BadDataError, InvalidInputError
from streameval.io.streams import ByteStream, CutShortError

TEXT = b"".join(b"line %d of text\n" % number for number in range(40_000))


def zstandard(data):
    return pa.Codec("zstd").compress(data, asbytes=True)


PACKERS = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": functools.lru_cache(maxsize=4)(lzma.compress),  # which is slow
    "Zstandard": zstandard,
}


@pytest.fixture(params=[*PACKERS, "Zstandard by pyarrow"])
def packing(request, monkeypatch):
    """Name a packing, each way to unpack Zstandard in turn."""
    if request.param == "Zstandard":
        pytest.importorskip("backports.zstd" if sys.version_info < (3, 14) else "compression.zstd")
    if request.param == "Zstandard by pyarrow":
        without_zstd(monkeypatch)
    return request.param.partition(" ")[0]


def without_zstd(monkeypatch):
    for name in ("compression", "compression.zstd", "backports", "backports.zstd"):
        monkeypatch.setitem(sys.modules, name, None)


def read_all(data, *, may_be_cut=False, size=1000):
    stream = ByteStream(io.BytesIO(data), "log", may_be_cut=may_be_cut)
    return b"".join(iter(lambda: stream.read(size), b"")), stream


def test_stream_unpacks(packing):
    packed = PACKERS[packing](TEXT)
    data, stream = read_all(packed)
    assert (data, stream.taken, stream.is_cut) == (TEXT, len(packed), False)


def test_stream_unpacks_nothing_at_all(packing):
    assert read_all(PACKERS[packing](b""))[0] == b""


def test_stream_unpacks_members_one_after_the_other(packing):
    pack = PACKERS[packing]
    assert read_all(pack(TEXT[:1000]) + pack(b"") + pack(TEXT[1000:]))[0] == TEXT


@pytest.mark.slow
@each("packing", ["gzip", "bzip2", "xz"])
@each("zeros", [4, 2**15])
def test_stream_takes_zeros_after_a_member_for_padding(packing, zeros):
    pack = PACKERS[packing]
    assert read_all(pack(TEXT) + bytes(zeros))[0] == TEXT


@pytest.mark.slow
@each("packing", ["bzip2", "xz"])
def test_stream_unpacks_a_member_after_padding(packing):
    pack = PACKERS[packing]
    assert read_all(pack(TEXT) + bytes(2**15) + pack(TEXT))[0] == TEXT + TEXT


@pytest.mark.parametrize("left", [11, 30, 0.5, -1])
def test_stream_refuses_data_that_is_cut_short(packing, left):
    packed = PACKERS[packing](TEXT)
    cut = packed[: int(left * len(packed)) if isinstance(left, float) else left]
    with pytest.raises(CutShortError, match=f"log: the {packing} data is cut short."):
        read_all(cut)


@each("text", [b"", TEXT])
@each("left", [5, 7, 9])
def test_stream_knows_bzip2_data_that_is_cut_in_its_first_bytes(text, left):
    with pytest.raises(CutShortError, match=r"log: the bzip2 data is cut short\."):
        read_all(bz2.compress(text)[:left])


def test_stream_reads_data_that_is_cut_short_as_far_as_it_goes(packing):
    packed = PACKERS[packing](TEXT)
    data, stream = read_all(packed[: 3 * len(packed) // 4], may_be_cut=True)
    assert stream.is_cut
    assert TEXT.startswith(data)
    assert len(data) > (len(TEXT) // 4 if packing != "bzip2" else -1)  # blocks of 900 kB


def test_stream_refuses_what_is_no_member_behind_one(packing):
    with pytest.raises(BadDataError, match=f"log: the {packing} data is damaged"):
        read_all(PACKERS[packing](TEXT) + b"no member at all")


@pytest.mark.parametrize("garbage", [b"x", b"x\n", b"garbage\n"])
@pytest.mark.parametrize("zeros", [0, 2**14])
def test_stream_refuses_a_few_bytes_behind_a_member(packing, garbage, zeros, monkeypatch):
    monkeypatch.setattr("streameval.io.packed._CHUNK", 1)  # which leaves every byte to be read
    padding = bytes(0 if packing == "Zstandard" else zeros)
    with pytest.raises(BadDataError, match=f"log: the {packing} data is damaged"):
        read_all(PACKERS[packing](b"text") + padding + garbage)


@pytest.mark.slow
@each("packing", ["bzip2", "xz"])
@each("left", [1, 3, 5])
def test_stream_finds_a_member_cut_short_behind_another(packing, left):
    pack = PACKERS[packing]
    with pytest.raises(CutShortError):
        read_all(pack(b"text") + pack(TEXT)[:left])


@pytest.mark.slow
@each("packing", ["gzip", "bzip2", "xz"])
def test_stream_refuses_data_that_is_damaged(packing):
    packed = bytearray(PACKERS[packing](TEXT))
    packed[len(packed) // 2] ^= 255
    with pytest.raises(BadDataError, match=f"log: the {packing} data is damaged"):
        read_all(bytes(packed))


@pytest.mark.slow
def test_stream_unpacks_in_memory_that_does_not_grow(packing):
    packed = PACKERS[packing](bytes(2**25))
    stream = ByteStream(io.BytesIO(packed), "log")
    tracemalloc.start()
    n_bytes = 0
    while data := stream.read(2**16):
        n_bytes += len(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert n_bytes == 2**25
    assert peak < 2**24  # xz itself holds a dictionary of 8 MiB


def test_stream_refuses_xz_data_that_asks_for_too_much_memory():
    changed = _with_dictionary(lzma.compress(b"a"), 40)  # which stands for 4 GiB
    with pytest.raises(BadDataError, match=r"the xz data is damaged \(Memory usage limit exceeded"):
        read_all(changed)


def _with_dictionary(data, code):
    """Change the size of the dictionary in the first block header, and its checksum."""
    start, size = 12, (data[12] + 1) * 4
    header = bytearray(data[start : start + size - 4])
    header[header.index(0x21) + 2] = code
    checksum = zlib.crc32(header).to_bytes(4, "little")
    return data[:start] + bytes(header) + checksum + data[start + size :]


@each(
    "text",
    [
        b"BZh1,BZh2\n1,2\n",
        b"BZh9",
        b"BZh9\n",
        b"BZh91,1\n",
        b"BZh91AY\n1,2,3",
        b"\x28\xb5",
        b"BZ",
        b"\xfd7zXZ",
    ],
)
def test_stream_leaves_what_only_begins_like_packed_data(text):
    assert read_all(text)[0] == text


def test_stream_skips_a_zstandard_frame_that_holds_no_data(packing):
    if packing == "Zstandard":
        skipped = b"\x50\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"meta"
        assert read_all(skipped + zstandard(TEXT))[0] == TEXT


def test_stream_names_the_extra_when_nothing_unpacks_zstandard(monkeypatch):
    without_zstd(monkeypatch)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    packed = zstandard(TEXT)
    message = r'log: Zstandard data needs Python 3\.14 or pip install "streameval\[zstd\]"\.'
    with pytest.raises(InvalidInputError, match=message):
        ByteStream(io.BytesIO(packed), "log")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_stream_unpacks_or_refuses_whatever_bytes_it_is_given(packing, data):
    packed = bytearray(PACKERS[packing](TEXT[:300]))
    for position in data.draw(st.lists(st.integers(0, len(packed) - 1), max_size=3)):
        packed[position] = data.draw(st.integers(0, 255))
    packed += data.draw(st.binary(max_size=20))
    cut = data.draw(st.integers(0, len(packed)))
    with contextlib.suppress(BadDataError):
        unpacked, stream = read_all(bytes(packed[:cut]), may_be_cut=True, size=50)
        assert stream.taken == cut
        assert len(unpacked) <= 2**16
