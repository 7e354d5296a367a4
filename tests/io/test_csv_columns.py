from __future__ import annotations

import random
import sys

import pytest
from mutated_rows import mutated, outcome
from offenders import each
from profiles import cases

from streameval.io import csv_columns
from streameval.io.columns import Argument, Flags, Labels, Numbers, Texts, Values
from streameval.io.csv_columns import PlainRows
from streameval.io.csv_rows import CsvBlock, CsvLayout
from streameval.io.row_filters import Condition, RowFilter
from streameval.io.times import Gaps, Times

HEADER = ("t", "s", "w", "id", "f", "at")
INTEGERS = Argument("y_true", ("t",), Labels(integers=True))
SCORES = Argument("y_score", ("s",), Numbers())
WORDS = Argument("y_pred", ("w",), Labels(integers=False, listed=False))
COLUMN_SETS = {
    "numbers": [INTEGERS, SCORES],
    "words": [WORDS, Argument("y_true", ("w",), Gaps(Labels(integers=False, among=("a", "b"))))],
    "one_column_twice": [INTEGERS, Argument("y_pred", ("t",), Numbers(gaps=True))],
    "gaps": [Argument("relevance", ("s",), Numbers(gaps=True)), SCORES],
    "values": [Argument("id", ("id",), Values()), Argument("by", ("w",), Texts())],
    "flags": [Argument("f", ("f",), Flags()), Argument("two", ("t", "id"), Numbers())],
    "times": [Argument("time", ("at",), Times()), Argument("steps", ("id",), Times("ms"))],
}
WHERE = RowFilter((Condition("w", "!=", ("a",)), Condition("s", "<", ("0.75",))))
TOKENS = [
    *(b" 1", b"1 ", b"\t1", b"01", b"0x10", b"nan(1)", b"nan", b"-nan", b"NaN", b"inf", b"+1"),
    *(b"1e400", b"1e-400", b"1.", b".5", b"1E5", b"1d5", b"1_0", b"-0", b"-0.0", b"9" * 400),
    *(b"0." + b"3" * 40, b"9007199254740993", b"18446744073709551616", b"LABEL_3", b"3.0", b"3.5"),
    *(b",", b",,", b"\n", b"\n\n", b"\r\n", b"\r", b'"', b'"a,b"', b'""', b"\0", b";", b"1,5"),
    *(b"\xff", b"\xc3\xa9", b"\xe2\x80\xa8", b"\x85", b"\xc2\xa0", b"\xef\xbb\xbf", b"\xd9\xa1"),
    *(b"", b" ", b"NA", b"null", b"None", b"true", b"False", b"TRUE", b"0", b"yes", b"#N/A"),
    *(b"2026-01-01", b"x" * 257, b"\\", b"\\n", b"'"),
]


def row(number):
    cells = (
        str(number % 2),
        repr(number / 7),
        "abé"[number % 3],
        str(number),
        ["true", "false"][number % 2],
        f"2026-01-01T00:00:{number % 60:02}Z",
    )
    return ",".join(cells).encode()


def quoted(line, share, draw):
    """Quote a share of the cells."""
    return b",".join(b'"%b"' % cell if draw.random() < share else cell for cell in line.split(b","))


@pytest.fixture(params=["arrow", "cells"])
def reader(request, monkeypatch):
    """Read small tables by pyarrow, or by cutting all cells."""
    if request.param == "arrow":
        pytest.importorskip("pyarrow")
    monkeypatch.setattr(csv_columns, "_ARROW_BYTES", 0 if request.param == "arrow" else 2**60)


def block(data, header=HEADER):
    return CsvBlock("log", 7, data, len(data), layout=CsvLayout(header, ","))


def test_pyarrow_reads_without_taking_signals(monkeypatch):
    """Its `read_csv` handles Ctrl-C itself, and loses one that comes as a table ends."""
    csv = pytest.importorskip("pyarrow.csv")
    monkeypatch.setattr(csv, "read_csv", None)
    monkeypatch.setattr(csv_columns, "_ARROW_BYTES", 0)
    rows = PlainRows.of(b"1,2\n", 2, ",")
    assert rows._table({0: True}).num_rows == 1


def both(table, columns, where=None):
    """Read a table by column, and row by row."""
    fast = outcome(table, columns, where)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CsvBlock, "_whole", lambda *_: None)
        return fast, outcome(table, columns, where)


def check_mutated_rows(n_rows, seed):
    draw = random.Random(seed)
    for _ in range(n_rows):
        share = draw.choice((0, 0, 0.5, 1))
        rows = [quoted(row(draw.randrange(100)), share, draw) for _ in range(draw.randint(1, 6))]
        at = draw.randrange(len(rows))
        rows[at] = mutated(rows[at], TOKENS, draw)
        data = draw.choice((b"\n", b"\n", b"\r\n")).join(rows) + draw.choice((b"", b"\n"))
        for columns in COLUMN_SETS.values():
            fast, slow = both(block(data), columns, draw.choice((None, None, WHERE)))
            assert fast == slow, data


@pytest.mark.slow
@pytest.mark.usefixtures("reader")
def test_mutated_rows_are_read_by_column_as_row_by_row():
    check_mutated_rows(cases(30_000), 0)


@pytest.mark.long
@pytest.mark.usefixtures("reader")
def test_many_mutated_rows_are_read_by_column_as_row_by_row():
    check_mutated_rows(30_000, 1)


@pytest.mark.slow
@pytest.mark.usefixtures("reader")
@each("columns", COLUMN_SETS.values())
def test_cells_are_read_by_column_as_row_by_row(columns):
    differ = []
    for name in sorted({name for column in columns for name in column.names}):
        for token in TOKENS:
            cells = row(1).split(b",")
            cells[HEADER.index(name)] = token
            fast, slow = both(block(b"\n".join([row(0), b",".join(cells), row(2)])), columns)
            if fast != slow:
                differ.append((name, token[:20], fast, slow))
    assert differ == []


@pytest.mark.usefixtures("reader")
@each(
    "data",
    [
        b"",
        b"\n",
        b"\r\n",
        b"1",
        b"1\n",
        b"1\n\n0",
        b"\n1\n0",
        b"1\n0\n\n",
        b" \n1",
        b"1\r\n\r\n0",
        b"\xef\xbb\xbf1",
    ],
)
def test_table_of_one_column_is_read_by_column_as_row_by_row(data):
    fast, slow = both(block(data, ("t",)), [INTEGERS])
    assert fast == slow


@pytest.mark.usefixtures("reader")
def test_table_without_quotes_is_not_read_row_by_row(monkeypatch):
    monkeypatch.setattr(CsvBlock, "_rows", None)
    parsed = block(b"\r\n".join(map(row, range(9)))).parse([INTEGERS, SCORES, WORDS], WHERE)
    assert len(parsed.row_ids) == 4


@pytest.mark.usefixtures("reader")
@each(
    ("cell", "has_columns"),
    [
        (b'"a"', True),
        (b'""', True),
        (b'"a,b"', True),
        (b'"' + b"x" * 99 + b'"', True),
        (b'"' + b"x," * 99 + b'"', True),
        (b'"a\nb"', False),
        (b'"' + b"x" * 99 + b'\n"', False),
        (b'"a""b"', False),
        (b'a"b"', False),
        (b'"a"b', False),
        (b'"a', False),
    ],
)
def test_quoted_cells_are_read_by_column_if_each_is_whole_and_of_one_line(cell, has_columns):
    data = b'"0",' + cell + b"\n1,b\n" + b'"1","' + b"c" * 70 + b'"\n'
    columns = [INTEGERS, Argument("by", ("w",), Texts())]
    fast, slow = both(block(data, ("t", "w")), columns)
    assert fast == slow
    rows = PlainRows.of(data, 2, ",")
    assert (rows is not None and rows.split({}) is not None) == has_columns


@pytest.mark.usefixtures("reader")
def test_row_that_lends_a_cell_to_the_next_is_found():
    rows = [row(0), row(1) + b",1", row(2).rpartition(b",")[0], row(3)]
    fast, slow = both(block(b"\n".join(rows)), [INTEGERS, SCORES])
    assert fast == slow
    assert [line for line, _ in fast[2]] == [8, 9]


def test_table_of_good_rows_is_read_by_pyarrow(monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(csv_columns, "_ARROW_BYTES", 0)
    monkeypatch.setattr(PlainRows, "split", None)
    assert len(block(b"\n".join(map(row, range(9)))).parse([INTEGERS, SCORES, WORDS]).row_ids) == 9


def test_small_table_is_read_without_pyarrow(monkeypatch):
    monkeypatch.setattr(PlainRows, "_table", None)
    assert len(block(b"\n".join(map(row, range(9)))).parse([INTEGERS]).row_ids) == 9


@each("delimiter", ["é", "\u2028"])
def test_delimiter_of_several_bytes_is_read_row_by_row(delimiter):
    assert PlainRows.of(delimiter.join("ab").encode(), 2, delimiter) is None


def test_table_is_split_where_pyarrow_is_not_installed(monkeypatch):
    monkeypatch.setattr(csv_columns, "_ARROW_BYTES", 0)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    fast, slow = both(block(row(1)), [INTEGERS, SCORES, WORDS])
    assert fast == slow


def long_table(n_rows, numbers):
    draw = random.Random(2)
    return [
        f"{number % 2},{draw.choice(numbers)},w,{number},1,at".encode() for number in range(n_rows)
    ]


NUMBERS = ["0.25", "-1.5", "0.1234567890123456", "12.000001", "0.30000000000000004"]


@pytest.mark.parametrize(
    "more", [[], ["1e-05"], ["1e-05", "nan"], ["x"], [""], ["7"] * 20], ids=repr
)
def test_long_table_is_read_by_column_as_row_by_row(monkeypatch, more):
    monkeypatch.setattr(csv_columns, "_ARROW_BYTES", 2**60)
    data = b"\n".join(long_table(2**9, NUMBERS + more))
    for columns in (COLUMN_SETS["numbers"], COLUMN_SETS["gaps"], COLUMN_SETS["values"]):
        fast, slow = both(block(data), columns)
        assert fast == slow
