import bz2
import gzip
import io
import re

import pytest
from offenders import each

from streameval.io import BadDataError, lines
from streameval.io.lines import LineEnds, RowEnds, is_text, pieces, text_of
from streameval.io.streams import ByteStream


def cut(data, ends, size, monkeypatch):
    monkeypatch.setattr(lines, "PIECE_BYTES", size)
    return list(pieces(ByteStream(io.BytesIO(data), "log"), ends))


@pytest.mark.parametrize("size", [2, 3, 5, 8, 100])
def test_pieces_join_to_the_stream(size, monkeypatch):
    data = b"one\ntwo\n\nthree four\nfive"
    assert b"".join(p.data for p in cut(data, LineEnds(), size, monkeypatch)) == data


@pytest.mark.parametrize("size", [2, 3, 5, 8, 100])
def test_pieces_end_at_line_ends(size, monkeypatch):
    found = cut(b"one\ntwo\n\nthree four\nfive", LineEnds(), size, monkeypatch)
    assert all(piece.data.endswith(b"\n") for piece in found[:-1])


@pytest.mark.parametrize("size", [2, 3, 5, 8, 100])
def test_pieces_know_the_number_of_their_first_line(size, monkeypatch):
    data = b"0\n1\n2\n3\n4\n5\n6"
    for piece in cut(data, LineEnds(), size, monkeypatch):
        assert piece.first_line == int(piece.data[:1]) + 1


def test_pieces_account_for_every_byte_taken(monkeypatch):
    found = cut(b"one\ntwo\nthree\n", LineEnds(), 5, monkeypatch)
    assert sum(piece.taken for piece in found) == 14


def test_pieces_are_none_when_the_stream_is_empty(monkeypatch):
    assert cut(b"", LineEnds(), 8, monkeypatch) == []


def test_pieces_drop_the_byte_order_mark(monkeypatch):
    (piece,) = cut(b"\xef\xbb\xbfone\n", LineEnds(), 100, monkeypatch)
    assert piece.data == b"one\n"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_pieces_of_utf_16_are_utf_8(encoding, monkeypatch):
    mark = "\ufeff".encode("utf-16-be") * (encoding == "utf-16-be")
    pieces = cut(mark + "één\n".encode(encoding), LineEnds(), 100, monkeypatch)
    assert b"".join(piece.data for piece in pieces) == "één\n".encode()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("packed", [bytes, gzip.compress, bz2.compress])
def test_pieces_of_utf_16_are_utf_8_packed_or_without_a_mark(encoding, packed, monkeypatch):
    data = packed("one\nzwölf\n".encode(encoding))
    for size in (3, 100):
        pieces = cut(data, LineEnds(), size, monkeypatch)
        assert b"".join(piece.data for piece in pieces) == "one\nzwölf\n".encode()


def test_pieces_refuse_utf_16_without_its_mark_that_begins_with_other_letters(monkeypatch):
    with pytest.raises(
        BadDataError, match=r"^log: is UTF-16; `iconv -f UTF-16 -t UTF-8 log > log.csv`"
    ):
        cut("aé\n".encode("utf-16-le"), LineEnds(), 100, monkeypatch)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("one\n".encode("utf-16")[:-1], "log: the UTF-16 data is cut short"),
        (b"\xff\xfe\x00\xdc\x00\xdc", "log: the UTF-16 data is damaged (illegal encoding)"),
    ],
)
def test_pieces_of_broken_utf_16_are_refused(data, said, monkeypatch):
    with pytest.raises(BadDataError, match=re.escape(said)):
        cut(data, LineEnds(), 100, monkeypatch)


def test_pieces_keep_a_byte_order_mark_inside(monkeypatch):
    found = cut(b"one\n\xef\xbb\xbftwo\n", LineEnds(), 4, monkeypatch)
    assert found[1].data == b"\xef\xbb\xbftwo\n"


@pytest.mark.parametrize("size", [2, 3, 5, 8, 100])
def test_pieces_of_rows_never_end_inside_quotes(size, monkeypatch):
    data = b'a,b\n"x\ny",1\n"he said ""no""\n",2\nz,3\n'
    rows = [b"a,b\n", b'"x\ny",1\n', b'"he said ""no""\n",2\n', b"z,3\n"]
    starts = {sum(map(len, rows[:n])) for n in range(len(rows))}
    at = 0
    for piece in cut(data, RowEnds(), size, monkeypatch):
        assert at in starts
        at += len(piece.data)
    assert at == len(data)


def test_pieces_of_rows_go_to_the_end_when_a_quote_stays_open(monkeypatch):
    found = cut(b'a\n"b\nc\nd\n', RowEnds(), 2, monkeypatch)
    assert [piece.data for piece in found] == [b"a\n", b'"b\nc\nd\n']


@pytest.mark.parametrize(
    ("ends", "data", "message"),
    [
        (LineEnds(), b"ok\n" + b"x" * 200, r"log, line 2: no line end within 64 bytes\."),
        (RowEnds(), b'ok\n"' + b"x\n" * 99, r"log, line 2: no row end \(is a quote left open\?\)"),
    ],
)
def test_pieces_refuse_an_endless_line(ends, data, message, monkeypatch):
    monkeypatch.setattr(lines, "LONGEST_LINE", 64)
    with pytest.raises(BadDataError, match=message):
        cut(data, ends, 16, monkeypatch)


@pytest.mark.parametrize(("ends", "what"), [(LineEnds(), "line"), (RowEnds(), "row")])
def test_pieces_refuse_a_hole_long_before_an_endless_line(ends, what, monkeypatch):
    monkeypatch.setattr(lines, "LONGEST_BINARY", 64)
    message = rf"log, line 2: no {what} end.* within 64 bytes, NUL bytes among them\."
    with pytest.raises(BadDataError, match=message):
        cut(b"ok\n" + b"\0" * 200, ends, 16, monkeypatch)


def test_pieces_keep_a_short_hole_as_a_line(monkeypatch):
    monkeypatch.setattr(lines, "LONGEST_BINARY", 64)
    found = cut(b"ok\n" + b"\0" * 60 + b"\nok\n" + b"x" * 200, LineEnds(), 16, monkeypatch)
    assert b"".join(piece.data for piece in found).startswith(b"ok\n" + b"\0" * 60 + b"\nok\n")


def test_pieces_accept_a_line_of_the_longest_length(monkeypatch):
    monkeypatch.setattr(lines, "LONGEST_LINE", 64)
    (piece,) = cut(b"x" * 64, LineEnds(), 16, monkeypatch)
    assert len(piece.data) == 64


@each(("data", "is_it"), [(b"a", True), ("é".encode(), True), (b"\xff", False)])
def test_text_tells_whether_it_was_utf8(data, is_it):
    assert is_text(text_of(data)) is is_it
