import gzip
import io
import sys
from types import SimpleNamespace

import pytest
from offenders import each

from streameval.io import BadDataError, streams
from streameval.io.streams import ByteStream, opened, size_of, store_of

TEXT = b"line of text\n" * 5000


def read_all(stream, size=1000):
    return b"".join(iter(lambda: stream.read(size), b""))


@each("data", [TEXT, gzip.compress(TEXT)])
def test_stream_reads_the_plain_bytes(data):
    assert read_all(ByteStream(io.BytesIO(data), "log")) == TEXT


@each("data", [TEXT, gzip.compress(TEXT)])
def test_stream_counts_the_bytes_of_the_file(data):
    stream = ByteStream(io.BytesIO(data), "log")
    read_all(stream)
    assert stream.taken == len(data)


def test_stream_counts_packed_bytes_as_it_goes():
    data = gzip.compress(TEXT) + gzip.compress(bytes(range(256)) * 4000)
    stream = ByteStream(io.BytesIO(data), "log")
    stream.read(100)
    assert 0 < stream.taken <= len(data)


@each("data", [b"", b"a", b"ab", b"abc"])
def test_stream_reads_short_files(data):
    assert read_all(ByteStream(io.BytesIO(data), "log")) == data


def test_stream_gives_again_what_was_peeked():
    stream = ByteStream(io.BytesIO(TEXT), "log")
    assert (stream.peek(4), read_all(stream)) == (b"line", TEXT)


def test_opened_reads_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(TEXT)))
    with opened("-") as stream:
        assert (stream.name, read_all(stream)) == ("standard input", TEXT)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (gzip.compress(TEXT, mtime=0)[:-9], r"log\.gz: the gzip data is cut short\."),
        (gzip.compress(TEXT, mtime=0)[:12] + b"\xff" * 40, r"log\.gz: the gzip data is damaged\."),
        (b"\x1f\x8b" + b"junk" * 9, r"log\.gz: the gzip data is damaged\."),
        (gzip.compress(TEXT, mtime=0)[:-8] + bytes(8), r"log\.gz: the gzip data is damaged\."),
    ],
    ids=["cut", "flipped", "junk", "checksum"],
)
def test_opened_names_the_file_when_the_gzip_data_is_broken(data, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.gz").write_bytes(data)
    with pytest.raises(BadDataError, match=message), opened("log.gz") as stream:
        read_all(stream)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("absent", r"absent: no such file or directory\."),
        ("folder", r"folder: is a directory; name the files in it\."),
    ],
)
def test_opened_names_the_file_when_it_cannot_be_opened(name, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    with pytest.raises(BadDataError, match=message), opened(name):
        pass


def test_size_of_is_that_of_the_file(tmp_path):
    (tmp_path / "log").write_bytes(TEXT)
    assert size_of(str(tmp_path / "log")) == len(TEXT)


@pytest.mark.parametrize("name", ["-", "absent", ".", "x" * 5000])
def test_size_of_is_none_when_there_is_none(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert size_of(name) is None


@each("size", range(12))
def test_stream_reads_exactly_as_much_as_an_unpacker_asks_for(size):
    counted = streams._CountingReader(io.BytesIO(TEXT[5:]), TEXT[:5])
    data = counted.read(size)
    assert (data, counted.taken, counted.read()) == (TEXT[:size], size, TEXT[size:])


@pytest.mark.parametrize("address", ["nosuch://bucket/a.csv", "memory://bucket/a.csv"])
def test_address_is_a_path_as_any_other_without_fsspec(address, monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    assert store_of(address) is None
