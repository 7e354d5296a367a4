"""Arrays and objects over several lines: read as JSON lines are, however the bytes arrive."""

from __future__ import annotations

import gzip
import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from offenders import each

from streameval.io import BadDataError
from streameval.io import json_lines as module
from streameval.io.columns import Argument, Numbers
from streameval.io.formats import read_blocks
from streameval.io.json_lines import holds_items, item_blocks
from streameval.io.streams import ByteStream

SCORE = Argument("y_pred", ("s",), Numbers())
values = st.one_of(
    st.integers(-5, 10**20),
    st.floats(allow_nan=False),
    st.text(max_size=5),
    st.none(),
    st.booleans(),
)
objects = st.dictionaries(
    st.text(max_size=3), st.recursive(values, st.lists, max_leaves=4), max_size=3
)


class Slow(io.BytesIO):
    """A file whose reads return a few bytes at a time, as those of a pipe."""

    size = 1

    def read(self, size: int | None = -1) -> bytes:
        return super().read(self.size if size is None or size < 0 else min(size, self.size))


def items(data: bytes, size: int = 2**20) -> list[Any]:
    """Return what blocks hold, in order."""
    file = Slow(data)
    file.size = size
    found = list(item_blocks(ByteStream(file, "log")))
    numbers = [block.first_line for block in found]
    lines = [block.data.count(b"\n") for block in found]
    assert numbers == [1 + sum(lines[:at]) for at in range(len(lines))]
    assert sum(block.taken for block in found) <= len(data)
    return [json.loads(line) for block in found for line in block.data.splitlines()]


@given(
    rows=st.lists(objects, max_size=6),
    indent=st.sampled_from([None, 0, 2, "\t"]),
    separators=st.sampled_from([None, (",", ":"), (" ,\r\n", " :\n")]),
    is_text=st.booleans(),
    size=st.integers(1, 40),
)
def test_items_are_those_of_the_whole(
    rows: Any, indent: Any, separators: Any, is_text: bool, size: int
) -> None:
    text = json.dumps(rows, indent=indent, separators=separators, ensure_ascii=not is_text)
    data = f"\n {text} \n".encode()
    assert items(data, size) == rows
    assert items(b"\xef\xbb\xbf" + data, size) == rows


@given(rows=st.lists(objects, max_size=6), size=st.integers(1, 40))
def test_objects_over_several_lines_are_those_one_by_one(rows: Any, size: int) -> None:
    data = "\n".join(json.dumps(row, indent=1) for row in rows).encode()
    assert items(data, size) == rows


@each("size", [1, 2, 7, 2**20])
@each(
    ("data", "reason"),
    [
        (b'[{"s": 1}', "item 1: the array has no end."),
        (b'[{"s": 1},', "item 2: the array has no end."),
        (b"[", "item 1: the array has no end."),
        (b'[{"s": 1', "item 1: not JSON (expecting ',' delimiter, at character 8), or the array "),
        (b'[{"s": 1} {"s": 2}]', "item 1: not JSON (more text after the value, at character 9), "),
        (b"[{'s': 1}]", "item 1: not JSON (expecting property name enclosed in double quotes, at "),
        (b'[{"s": 1}] {"s": 2}', "item 2: more text after the array."),
        (b"[] 1", "item 1: more text after the array."),
        (b'{\n"s": 1}\n{"s"', "item 2: not JSON (expecting ':' delimiter, at character 5); the "),
        (b'{\n"s": 1}\n{"s" 2}', "item 2: not JSON (expecting ':' delimiter, at character 6)."),
        (b'{\n"s": 1}\n{"s": "a\n}\n{\n"s": 2}', "item 2: not JSON (invalid control character at"),
        (b'{\n"s": 1}\n]', "item 2: not JSON (expecting value, at character 1)."),
        (b'[{"s": "' + b"x" * 99, "item 1: not JSON (unterminated string starting at, at charac"),
    ],
)
def test_text_that_is_no_array_is_refused(data: bytes, reason: str, size: int) -> None:
    with pytest.raises(BadDataError) as caught:
        items(data, size)
    assert str(caught.value).startswith(f"log, {reason}")


def test_items_that_are_no_objects_are_bad_rows() -> None:
    (block,) = item_blocks(ByteStream(io.BytesIO(b'[{"s": 1}, 3, {"s": 2}, "x"]'), "log"))
    parsed = block.parse([SCORE])
    assert parsed.batch["y_pred"].tolist() == [1.0, 2.0]
    assert parsed.faults == [(2, "not an object, got 3"), (4, "not an object, got 'x'")]
    assert block.unit == "item"


def test_item_without_an_end_does_not_fill_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST_LINE", 1000)
    monkeypatch.setattr(module, "PIECE_BYTES", 100)
    stream = ByteStream(io.BytesIO(b'[{"s": "' + b"x" * 10**6), "log")
    with pytest.raises(BadDataError, match="item 1: not JSON"):
        list(item_blocks(stream))
    assert stream.taken < 5000


def test_nested_too_deeply_is_refused() -> None:
    with pytest.raises(BadDataError, match=r"item 1: not JSON \(nested too deeply\)"):
        items(b'[{"s": ' + b"[" * 100_000)


def test_file_of_another_type_is_named() -> None:
    with pytest.raises(BadDataError, match="is UTF-16"):
        list(item_blocks(ByteStream(io.BytesIO("[é]".encode("utf-16-le")), "log")))


def test_nothing_holds_no_items() -> None:
    assert items(b"") == []


@each(
    ("head", "expected"),
    [
        (b"[", True),
        (b'\xef\xbb\xbf \n[{"s": 1}]', True),
        (b"{\n", True),
        (b"{ \r\n", True),
        (b"{", False),
        (b'{"s": 1}\n', False),
        (b'{"s": [\n1]}', False),
        (b"", False),
    ],
)
def test_first_bytes_tell(head: bytes, expected: bool) -> None:
    assert holds_items(head) == expected


@each("name", ["log.json", "log", "log.jsonl", "log.json.gz"])
def test_files_are_recognised(name: str, tmp_path: Any) -> None:
    text = json.dumps([{"s": n} for n in range(5)], indent=1).encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    parsed = [block.parse([SCORE]) for block in read_blocks(str(path))]
    assert [one for part in parsed for one in part.batch["y_pred"].tolist()] == [0, 1, 2, 3, 4]
