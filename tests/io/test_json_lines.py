import io
import json
import pickle

import numpy as np
import pytest
from offenders import each

from streameval.io import json_lines
from streameval.io.columns import Argument, Labels, Numbers, Vectors
from streameval.io.json_lines import JsonBlock, JsonLayout
from streameval.io.lines import text_blocks
from streameval.io.notation import Dialect
from streameval.io.streams import ByteStream, name_of

LABEL = Argument("y_true", ("t",), Labels(integers=True))
SCORE = Argument("y_pred", ("s",), Numbers())


@pytest.fixture(params=["msgspec", "json"], autouse=True)
def parser(request, monkeypatch):
    """Read with msgspec if it is installed, and without."""
    if request.param == "json":
        monkeypatch.setattr(json_lines, "struct_reader", lambda _: None)
    else:
        pytest.importorskip("msgspec")


def block(text, first_line=1):
    data = text if isinstance(text, bytes) else text.encode()
    return JsonBlock("log", first_line, data, len(data))


@each("between", ["", "-Infinity,", "-1e999,"])
def test_lines_that_would_be_objects_together_are_bad_each(between):
    lines = '{"t": 1},' + between + '{"t": 2, "n": [{"a": 1}\n{"b": 2}]}'
    parsed = block('{"t": 3}\n' + lines + '\n{"t": 4}').parse([LABEL])
    assert parsed.batch["y_true"].tolist() == [3, 4]
    assert [row_id for row_id, _ in parsed.faults] == [2, 3]


@each("last", ['{"t": 2}]', '{"t": 2}] {"t": 5', '{"t": 2}, {"t": 5}'])
def test_line_that_would_end_an_array_is_bad(last):
    parsed = block('{"t": 1}\n' + last).parse([LABEL])
    assert (list(parsed.row_ids), [row_id for row_id, _ in parsed.faults]) == ([1], [2])


@each("bad", [0, 255, 256, 600, 799])
def test_bad_line_is_found_among_many(bad):
    lines = [json.dumps({"t": n % 2}) for n in range(800)]
    lines[bad] = "{"
    parsed = block("\n".join(lines), 5).parse([LABEL])
    assert [row_id for row_id, _ in parsed.faults] == [bad + 5]
    assert list(parsed.row_ids) == [n + 5 for n in range(800) if n != bad]
    assert parsed.batch["y_true"].tolist() == [n % 2 for n in range(800) if n != bad]


def test_block_keeps_only_the_columns_asked_for():
    batch = block('{"id": 7, "t": 1, "s": 0.5}\n{"s": 0.25, "t": 0}').parse([LABEL, SCORE]).batch
    assert {name: array.tolist() for name, array in batch.items()} == {
        "y_true": [1, 0],
        "y_pred": [0.5, 0.25],
    }


def test_block_numbers_lines_past_blank_ones():
    assert block('\n{"t": 1}\n \t\r\n\n{"t": 2}\n', 10).parse([LABEL]).row_ids == [11, 14]


JQ = "jq -c '.[]' log > log.lines.jsonl makes them"


@each(
    ("line", "reason"),
    [
        ("{'t': 1}", "not JSON (expecting property name enclosed in double quotes, at character 2"),
        ("cat", "not JSON (expecting value, at character 1)"),
        ('{"t": 1} {"t": 2}', "not JSON (more text after the value, at character 9)"),
        (
            '{"t": 1},',
            r"not JSON (more text after the value, at character 9; sed 's/,\r*$//' leaves",
        ),
        ('{"t": ' + "9" * 5000 + "}", "not JSON (a number of thousands of digits)"),
        ("[" * 100_000, "begins with '[', but JSON lines are expected, one object a line; " + JQ),
        ('{"a":' * 100_000, "not JSON (nested too deeply)"),
        (
            "[1, [2]]",
            (
                "a list, and not an object; jq -c '{A: .[0], B: .[1]}' log | streameval eval - "
                "reads the columns A, B"
            ),
        ),
        (
            '["a", "b"]',
            "a list, and not an object; jq -nc 'input as $n | inputs | [$n, .] | transpose | ",
        ),
        ("3", "not an object, got 3"),
        (b'{"t": 1, "n": "\xff"}', "not UTF-8"),
        ("{}", "`t` is missing"),
        ('{"t": null}', "`t` is missing"),
        ('{"t": "x"}', "`t` must be an integer, got 'x'"),
        ('{"t": [[[[[[1]]]]]]}', "`t` must be an integer, got [[[...]]]"),
    ],
)
def test_block_sets_a_bad_line_apart(line, reason):
    line = line if isinstance(line, bytes) else line.encode()
    parsed = block(b'{"t": 1}\n' + line + b'\n{"t": 0}').parse([LABEL])
    assert parsed.batch["y_true"].tolist() == [1, 0]
    assert list(parsed.row_ids) == [1, 3]
    ((row_id, found),) = parsed.faults
    assert row_id == 2
    assert found.startswith(reason)


@each(
    ("source", "command"),
    [
        ("my log.json", "jq -c '.[]' 'my log.json' > 'my log.lines.jsonl' makes them"),
        ("log.json.gz", "gzip -dc log.json.gz | jq -c '.[]' > log.lines.jsonl makes them"),
        ("log.lines.jsonl", "jq -c '.[]' log.lines.jsonl > log.lines.lines.jsonl makes them"),
        (name_of("-"), "pipe it through jq -c '.[]'"),
    ],
)
def test_block_says_how_to_make_lines_of_an_array(source, command):
    parsed = JsonBlock(source, 1, b'[{"t": 1},\n{"t": 2}]\n', 1).parse([LABEL])
    assert parsed.faults[0][1].endswith(f"one object a line; {command}")


def test_block_gives_its_faults_in_order():
    parsed = block('{"t": "x"}\nbad\n{"t": 1}\n{}\nbad').parse([LABEL])
    assert [row_id for row_id, _ in parsed.faults] == [1, 2, 4, 5]


def test_block_says_the_first_reason_when_two_columns_are_bad():
    assert block("{}").parse([LABEL, SCORE]).faults == [(1, "`t` is missing")]


def test_block_takes_the_last_value_of_a_key_given_twice():
    assert block('{"t": 1, "t": 2}').parse([LABEL]).batch["y_true"].tolist() == [2]


def test_block_reads_lists_into_rows():
    vectors = Argument("y_pred", ("s",), Vectors(2))
    batch = block('{"s": [1, 0.5]}\n{"s": [1]}\n{"s": [3, 4]}').parse([vectors]).batch
    np.testing.assert_array_equal(batch["y_pred"], [[1, 0.5], [3, 4]])


def test_block_joins_several_fields_into_columns():
    columns = Argument("y_pred", ("a", "b"), Numbers())
    batch = block('{"a": 1, "b": 2}\n{"a": 3, "b": 4}').parse([columns]).batch
    np.testing.assert_array_equal(batch["y_pred"], [[1, 2], [3, 4]])


def test_block_takes_one_item_of_several():
    column = Argument("y_pred", ("s",), Vectors(2), item=1)
    assert block('{"s": [0.25, 0.75]}').parse([column]).batch["y_pred"].tolist() == [0.75]


def test_block_reads_one_field_for_two_arguments():
    columns = [LABEL, Argument("y_pred", ("t",), Numbers())]
    assert block('{"t": 1}').parse(columns).batch["y_pred"].tolist() == [1.0]


def test_block_gives_empty_arrays_when_no_line_is_good():
    assert block("bad\n").parse([LABEL]).batch["y_true"].shape == (0,)


def test_block_shows_the_rows_that_are_objects():
    assert list(block('bad\n{"a": 1}\n3\n{"b": null}').rows()) == [{"a": 1}, {"b": None}]


def test_block_does_not_split_lines_at_other_separators():
    assert list(block('{"a": "\u2028\u0085"}').rows()) == [{"a": "\u2028\u0085"}]


def test_block_pickles():
    original = block('{"t": 1}')
    assert pickle.loads(pickle.dumps(original)) == original


@pytest.mark.usefixtures("small_pieces")
def test_blocks_parse_to_the_same_rows_whatever_their_size():
    data = "".join(json.dumps({"t": n}) + "\n" * (1 + n % 2) for n in range(50)).encode()
    blocks = list(text_blocks(ByteStream(io.BytesIO(data), "log"), JsonLayout, Dialect()))
    whole = block(data).parse([LABEL])
    assert len(blocks) > 10
    assert [n for b in blocks for n in b.parse([LABEL]).batch["y_true"].tolist()] == list(range(50))
    assert [n for b in blocks for n in b.parse([LABEL]).row_ids] == whole.row_ids
