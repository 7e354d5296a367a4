import bz2
import functools
import gzip
import lzma
import random

import pytest

from streameval.monitoring.contents import Mark, opened_content

# Larger than a piece, and quickly packed.
DATA = b"".join(b"%06d" % number * 100 for number in range(2000))


@functools.cache
def packed(pack):
    return pack(DATA)


@pytest.fixture(params=[bytes, gzip.compress, bz2.compress, lzma.compress])
def content(request, tmp_path):
    path = tmp_path / "data"
    path.write_bytes(packed(request.param))
    opened = opened_content(str(path))
    yield opened
    opened.close()


@pytest.mark.parametrize("seed", range(3))
def test_content_is_the_unpacked_bytes_at_any_position(seed, content):
    rng = random.Random(seed)
    start = 0
    for _ in range(8):
        size = rng.choice([0, 1, 1024, 700_000])
        assert content.at(start, size) == DATA[start : start + size]
        start = rng.choice([start + size, max(start - 1024, 0), 0, rng.randrange(len(DATA))])
    assert content.at(len(DATA), 5) == b""
    assert content.at(len(DATA) - 3, 5) == DATA[-3:]


def test_content_knows_its_size_up_to_a_limit(content):
    assert content.size_up_to(10) == 10
    assert content.size_up_to(10**9) == len(DATA)


def test_content_that_is_not_there_is_none(tmp_path):
    assert opened_content(str(tmp_path / "nothing")) is None


def test_mark_is_of_a_file_that_begins_like_what_was_read(content, tmp_path):
    other = tmp_path / "other"
    for change, is_same in [(4999, False), (5000, True), (0, False)]:
        data = bytearray(DATA[:9000])
        data[change] ^= 1
        other.write_bytes(data)
        changed = opened_content(str(other))
        assert Mark.at(content, 5000).is_of(changed) == is_same
        changed.close()


def test_mark_is_not_of_a_shorter_file(content, tmp_path):
    (tmp_path / "short").write_bytes(DATA[:4000])
    short = opened_content(str(tmp_path / "short"))
    for offset in (4001, 500_000):
        assert not Mark.at(content, offset).is_of(short)
    assert Mark.at(content, 4000).is_of(short)
    short.close()


def test_mark_of_nothing_is_of_every_file(content):
    assert Mark().is_of(content)
