from __future__ import annotations

import json
import random
import sys

import pytest
from mutated_rows import mutated, outcome
from offenders import each
from profiles import cases

from streameval.io import json_lines, json_structs
from streameval.io.columns import (
    Argument,
    Flags,
    Labels,
    Lists,
    Numbers,
    ScoresByClass,
    Texts,
    Values,
    Vectors,
)
from streameval.io.json_lines import JsonBlock
from streameval.io.row_filters import Condition, RowFilter
from streameval.io.times import Gaps, Times

pytest.importorskip("msgspec")

INTEGERS = Argument("y_true", ("t",), Labels(integers=True))
WORDS = Argument("y_pred", ("w",), Labels(integers=False, listed=False))
SCORES = Argument("y_score", ("s",), Numbers())
COLUMN_SETS = {
    "numbers": [INTEGERS, SCORES],
    "words": [WORDS, Argument("y_true", ("w",), Gaps(Labels(integers=False)))],
    "one_field_twice": [INTEGERS, Argument("y_pred", ("t",), Numbers(gaps=True))],
    "lists": [Argument("y_prob", ("p",), Vectors(3)), Argument("d", ("p",), Lists(Numbers(), "x"))],
    "object": [Argument("y_prob", ("o",), ScoresByClass(("cat", "dog")))],
    "paths": [
        Argument("by", ("ctx.country",), Texts()),
        Argument("deep", ("ctx.a.b",), Values()),
        Argument("item", ("p.1",), Values()),
        Argument("whole", ("ctx",), Values()),
    ],
    "values": [Argument("id", ("id",), Values()), Argument("f", ("f",), Flags()), WORDS],
    "times": [Argument("time", ("at",), Times()), Argument("steps", ("id",), Times("ms"))],
}
WHERE = RowFilter((Condition("ctx.country", "!=", ("de",)), Condition("s", "<", ("0.75",))))
TOKENS = [
    *(b"NaN", b"-Infinity", b"1e400", b"-0", b"-0.0", b"1E5", b"01", b"1.", b".5", b"+1", b"1_0"),
    *(b"9007199254740993", b"18446744073709551616", b"9" * 25, b"9" * 4_305, b"0." + b"3" * 40),
    *(b'"\\ud800"', b'"\\ud83d\\ude00"', b'"\\u0000"', b'"\\x"', b"\\u12", b"\xff", b"\xc3\xa9"),
    *(b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\x85", b"\x0c", b"\r\n", b"\n", b"}\n{"),
    *(b"null", b"true", b"False", b"nan", b"[]", b"{}", b'{"a":1}', b"[" * 1_500, b'"', b'\\"'),
    *(b'"t":"3",', b'"t":3.0,', b'"s":"0.5",', b'"ctx.country":"x",', b'"ctx.country":null,'),
    *(b'"ctx":null,', b'"ctx":[{"country":1}],', b'"ctx.a":{"b":7},', b'"w":null,', b'"w":7,'),
    *(b'"p":[1,2],', b'"id":1.5,', b'"id":"7",', b'"f":1,', b'"f":"yes",', b'"at":5,', b'}{"t":1'),
]


def row(number):
    made = {
        "t": number % 2,
        "s": number / 7,
        "w": f"word {number % 3}",
        "p": [0.5, 0.25, number],
        "o": {"cat": 0.5, "dog": number},
        "ctx": {"country": ["de", "fr", "é"][number % 3], "a": {"b": number}},
        "id": number,
        "f": number % 2 == 0,
        "at": f"2026-01-01T00:00:{number % 60:02}Z",
        "unread": ['text \\ and "quotes"', None, -1.5e-3],
    }
    return json.dumps(made, ensure_ascii=number % 2 == 0).encode()


def both(block, columns, where=None):
    """Read a block with msgspec, and without."""
    fast = outcome(block, columns, where)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_lines, "struct_reader", lambda _: None)
        return fast, outcome(block, columns, where)


def check_mutated_rows(n_rows, seed):
    draw = random.Random(seed)
    for _ in range(n_rows):
        rows = [row(draw.randrange(100)) for _ in range(draw.randint(0, 5))]
        rows.insert(draw.randint(0, len(rows)), mutated(row(draw.randrange(100)), TOKENS, draw))
        data = draw.choice((b"\n", b"\n", b"\r\n", b" \n")).join(rows) + draw.choice((b"", b"\n"))
        block = JsonBlock("log", 7, data, len(data))
        for columns in COLUMN_SETS.values():
            fast, slow = both(block, columns, draw.choice((None, None, WHERE)))
            assert fast == slow, data


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(json_structs, "_TOGETHER", 4)
    monkeypatch.setattr(json_structs, "_FEW", 1)


def test_mutated_rows_are_read_as_without_msgspec():
    check_mutated_rows(cases(30_000), 0)


@pytest.mark.long
def test_many_mutated_rows_are_read_as_without_msgspec():
    check_mutated_rows(30_000, 1)


@pytest.mark.parametrize("columns", COLUMN_SETS.values(), ids=COLUMN_SETS)
def test_values_are_read_as_without_msgspec(columns):
    names = [name.partition(".")[0].encode() for column in columns for name in column.names]
    differ = []
    for token in TOKENS:
        lines = [b'{"%b": %b}' % (name, token) for name in names]
        lines += [row(1), b'{"unread": %b}' % token, b"{%b}" % token.rstrip(b",")]
        data = b"\n".join(lines)
        fast, slow = both(JsonBlock("log", 1, data, len(data)), columns)
        if fast != slow:
            differ.append((token[:20], fast, slow))
    assert differ == []


@each(
    "data",
    [
        b'\n{"t": 1}{"t": 0}',
        b'\r\n{"t": 1}{"t": 0}\n',
        b'{"t": 1\n}{"t": 0}',
        b'{"t": 1, "n": {}\n{"t": 0}}',
        b'{"t": 1}{"t": 0}\n\n{"t": 1}',
        b'{"t": 1}\n{"t": 0}{"t": 1}\n',
        b'{"t": 1, "n": "}\n{"}',
        b"",
        b"\n",
        b" ",
    ],
)
def test_lines_cannot_borrow_from_each_other(data):
    fast, slow = both(JsonBlock("log", 1, data, len(data)), [INTEGERS])
    assert fast == slow


def parsed_without(data, monkeypatch):
    """Return the lines that msgspec leaves to the other parser."""
    seen = []
    monkeypatch.setattr(JsonBlock, "_pieces", lambda block: seen.append(block.data) or ())
    JsonBlock("log", 1, data, len(data)).parse([INTEGERS])
    return seen


def test_good_lines_around_a_bad_one_are_read_by_msgspec(monkeypatch):
    monkeypatch.setattr(
        json_lines.JsonBlock, "_pieces", lambda block: seen.append(block.data) or ()
    )
    seen = []
    lines = [row(number) for number in range(9)]
    lines[3] = b"{"
    data = b"\n".join(lines)
    assert parsed_without(data, monkeypatch) == [b"{\n"]


def test_long_line_is_read_by_msgspec_unless_it_has_a_long_integer(monkeypatch):
    monkeypatch.setattr(
        json_lines.JsonBlock, "_pieces", lambda block: seen.append(block.data) or ()
    )
    seen = []
    lines = [b'{"t": 1, "x": "%b"}' % (b"abc1" * 2_000), b'{"t": 1, "x": %b}' % (b"7" * 4_301)]
    data = b"\n".join(lines)
    assert parsed_without(data, monkeypatch) == lines[1:]


def test_rows_that_are_all_good_are_numbered_by_a_range():
    data = b"\n".join(map(row, range(9)))
    assert JsonBlock("log", 5, data, len(data)).parse([INTEGERS]).row_ids == range(5, 14)


@each("name", ['a"b', "a\\b", "\ud800", "a\nb"])
def test_name_that_msgspec_does_not_take_is_read_without_it(name):
    data = json.dumps({name: 1}).encode()
    column = Argument("y_true", (name,), Labels(integers=True))
    assert json_structs.struct_reader((name,)) is None
    assert JsonBlock("log", 1, data, len(data)).parse([column]).batch["y_true"].tolist() == [1]


def test_reader_is_none_where_msgspec_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "msgspec", None)
    assert json_structs.struct_reader.__wrapped__(("t",)) is None
