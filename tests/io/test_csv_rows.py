import csv
import io
import pickle
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from offenders import each

from streameval.io import BadDataError, csv_columns, csv_rows
from streameval.io.columns import Argument, Labels, Numbers
from streameval.io.csv_rows import CsvLayout
from streameval.io.lines import text_blocks
from streameval.io.notation import Dialect
from streameval.io.streams import ByteStream

WORD = Argument("y_true", ("t",), Labels(integers=False))
SCORE = Argument("y_pred", ("s",), Numbers())


def blocks(text, delimiter=","):
    data = text if isinstance(text, bytes) else text.encode()
    dialect = delimiter if isinstance(delimiter, Dialect) else Dialect(delimiter)
    return list(text_blocks(ByteStream(io.BytesIO(data), "log"), CsvLayout, dialect))


def parse(text, *columns, delimiter=","):
    (block,) = blocks(text, delimiter)
    return block.parse(columns)


@each("end", ["\n", "\r\n"])
def test_block_keeps_only_the_columns_asked_for(end):
    text = end.join(["id,s,t", "1,0.5,cat", "2,1e-3,dog", ""])
    batch = parse(text, WORD, SCORE).batch
    assert {name: array.tolist() for name, array in batch.items()} == {
        "y_true": ["cat", "dog"],
        "y_pred": [0.5, 0.001],
    }


def test_block_splits_at_tabs():
    assert parse("t\ts\na,b\t1\n", WORD, delimiter="\t").batch["y_true"].tolist() == ["a,b"]


def test_block_reads_quotes():
    text = 't,s\n"a,""b""\nc",1\nplain,2\n'
    assert parse(text, WORD).batch["y_true"].tolist() == ['a,"b"\nc', "plain"]


def test_block_numbers_lines_past_quoted_newlines_and_blank_lines():
    text = '\n\n"t",s\n\n"a\nb\nc",1\n\nd,2\n'
    assert parse(text, WORD).row_ids == [5, 9]


@each(
    ("line", "reason"),
    [
        ("a", "the header has 2 cells, and this row has 1"),
        ("a,1,2", "the header has 2 cells, and this row has 3"),
        ('"a"b,1', "not CSV (',' expected after '\"')"),
        ("a\rb,1", "not CSV (new-line character seen in unquoted field)"),
        (b"\xff,1", "not UTF-8 (--encoding names another one, such as cp1252)"),
        (",1", "`t` is missing"),
        ("a,", "`s` is missing"),
        ("a,cat", "`s` must be a number, got 'cat'"),
    ],
)
def test_block_sets_a_bad_line_apart(line, reason):
    line = line if isinstance(line, bytes) else line.encode()
    parsed = parse(b"t,s\nx,1\n" + line + b"\ny,2\n", WORD, SCORE)
    assert parsed.batch["y_true"].tolist() == ["x", "y"]
    assert parsed.row_ids == [2, 4]
    assert parsed.faults == [(3, reason)]


def test_block_says_one_cell_of_a_header_that_is_none():
    parsed = parse(
        "# made by a tool\nt,s\n", Argument("y_true", ("# made by a tool",), Labels(False))
    )
    advice = "(`tail -n +2` leaves out what is above a header)"
    assert parsed.faults == [(2, f"the header has 1 cell, and this row has 2 {advice}")]


def test_block_counts_every_line_that_an_open_quote_swallows():
    parsed = [block.parse([WORD]) for block in blocks('t,s\nx,1\n"y,2\nz,3\n')]
    assert [row_id for p in parsed for row_id in p.row_ids] == [2]
    assert [fault for p in parsed for fault in p.faults] == [
        (3, "not CSV (unexpected end of data)"),
        (4, "part of the bad row that begins on line 3"),
    ]


def test_block_refuses_a_file_without_the_column():
    with pytest.raises(BadDataError, match=r"log: the header has no column 't'\."):
        parse("a,b\n1,2\n", WORD)


def test_block_refuses_a_column_that_is_there_twice():
    with pytest.raises(BadDataError, match=r"log: the header has 2 columns 't'\."):
        parse("t,t\n1,2\n", WORD)


def test_blocks_refuse_a_bad_header():
    with pytest.raises(BadDataError, match=r"log, line 2: not CSV"):
        blocks('\n"t"x,s\n1,2\n')


@each(
    ("text", "delimiter", "message"),
    [
        ("t;s\n1;0,5\n", ",", "the delimiter looks like ';'; delimiter=';' reads it."),
        ("t;s|u\n1;0,5\n", None, "the delimiter looks like ';'; delimiter=';' reads it."),
        ("t|s\n1|0.5\n", ",", "the delimiter looks like '|'; delimiter='|' reads it."),
        ("t\ts\n1\t2\n", ",", r"the delimiter looks like '\t'; that is the format tsv."),
        ("t,s\n1,2\n", "\t", "the delimiter looks like ','; that is the format csv."),
    ],
)
def test_blocks_name_the_delimiter_that_the_header_shows(text, delimiter, message):
    with pytest.raises(BadDataError) as caught:
        blocks(text, delimiter)
    assert str(caught.value) == f"log: {message}"


SET = Dialect(header=("a", "b"), decimal=".")


@each(
    ("text", "dialect", "delimiter", "decimal", "found"),
    [
        ("t;s\n1;5\n", Dialect(), ";", ".", "the delimiter ';'"),
        ("t;s\n1;0,5\n", Dialect(), ";", ",", "the delimiter ';' and decimal commas"),
        ("t;s\n1;0,5\n", Dialect(";"), ";", ".", ""),
        ("t;s\n1;0,5\n", Dialect(decimal="."), ";", ".", "the delimiter ';'"),
        ("t;s\n1;0,5\n1;0.5\n", Dialect(), ";", ".", "the delimiter ';'"),
        ("t;s\n1;1,234\n", Dialect(), ";", ".", "the delimiter ';'"),
        ("t;s\n1;1,234\n1;0,234\n", Dialect(), ";", ",", "the delimiter ';' and decimal commas"),
        ("t;s\n1,5,2;0,5\n", Dialect(), ";", ".", "the delimiter ';'"),
        ("t;s\n1;1,234,567\n", Dialect(), ";", ".", "the delimiter ';'"),
        ("t;s\n" + "1;1\n" * 100 + "1;0,5\n", Dialect(), ";", ".", "the delimiter ';'"),
        ('t;s\n"1;0,5\n', Dialect(), ";", ".", "the delimiter ';'"),
        ("t\ts\n1\t5\n", Dialect(), "\t", ".", r"the delimiter '\t'"),
        ("t|s\n1|5\n", Dialect(), "|", ".", "the delimiter '|'"),
        ('"t";"s"\n1;5\n', Dialect(), ";", ".", "the delimiter ';'"),
        ('t,s\n1,"0,5"\n', Dialect(), ",", ".", ""),
        ("t;s\n1;0.500\n1;1.500\n", Dialect(), ";", ".", "the delimiter ';'"),
        (
            *("t;s\n1;1.500\n1;12\n", Dialect(), ";", "."),
            "the delimiter ';' and decimal points in 1.500 (--thousands . reads thousands)",
        ),
        ("t, s\n1, 5\n", Dialect(), ",", ".", "spaces around cells"),
        ("t,s\n1, 5\n2, 5\n", Dialect(), ",", ".", "spaces around cells"),
        ("t,s\n1, 5\n2,5\n", Dialect(), ",", ".", ""),
        (' t , "s"\n1, 5\n', Dialect(), ",", ".", "spaces around cells"),
        ("1;2\n", SET, ";", ".", "the delimiter ';'"),
        ("1;0,5\n", Dialect(header=()), ",", ".", ""),
        ("sep=;\nt;s\n1;0,5\n", Dialect(), ";", ",", "decimal commas"),
        ('"sep=|"\r\nt|s\r\n1|5\r\n', Dialect(), "|", ".", ""),
        ("SEP=;\nt;s\n1;5\n", Dialect(";"), ";", ".", ""),
        ("sep=;\nt|s\n1|5\n", Dialect(), "|", ".", "the delimiter '|'"),
        ("t;s\n1;1 234,5\n", Dialect(), ";", ",", "the delimiter ';' and decimal commas"),
        ("t;s\n1;0,5\n", Dialect(thousands=" "), ";", ",", "the delimiter ';' and decimal commas"),
        ("t;s\n1;0,5\n", Dialect(thousands=","), ";", ".", "the delimiter ';'"),
        ("t s\n1 0.5\n", Dialect(), " ", ".", "the delimiter ' '"),
        (" t  s\n 1  0.5\n12 0.75\n", Dialect(), " ", ".", "the delimiter ' '"),
        ('"t" "s u"\n1 0.5\n', Dialect(), " ", ".", "the delimiter ' '"),
        ("# t s\n1 0.5\n", Dialect(), " ", ".", "the delimiter ' '"),
        ("1 0.5\n0 0.25\n", SET, " ", ".", "the delimiter ' '"),
    ],
)
def test_first_rows_show_the_dialect(text, dialect, delimiter, decimal, found):
    block = blocks(text, dialect)[0]
    assert (block.layout.delimiter, block.layout.notation.decimal, block.found) == (
        delimiter,
        decimal,
        found,
    )
    assert len(block.layout.header) == 2
    n_before = text.lower().count("sep=") + (dialect.header is None)
    assert block.first_line == n_before + 1


@each(
    ("titles", "table"),
    [
        ("Report\n", "t,s\n1,5\n"),
        ("Report;;\n;;\nMay 2026;;\n", "t;s;u\n1;0,5;x\n"),
        ("Report, May\n\n", "t;s\n1;0,5\n2;0,25\n"),
        ('"Two\nlines",\n', "t,s\n1,5\n"),
    ],
)
def test_titles_above_the_header_are_left_out(titles, table):
    (block,) = blocks(titles + table, Dialect())
    (alone,) = blocks(table, Dialect())
    assert block.layout.header == alone.layout.header
    assert list(block.rows()) == list(alone.rows())
    assert block.first_line == alone.first_line + titles.count("\n")
    assert block.found.startswith(f"the header of line {block.first_line - 1}")


@each(
    "text",
    [
        "Report\nt,s\n1,5",
        "t;s\n1;0,5",
        "t s\n1 0.5",
        "t,s\r\n1, 5",
        '"t" "s"\n"1" 5 x\n"2" 6 y',
        "t\ts\n1\t0,5",
        "\n\nt;s",
    ],
)
def test_a_last_row_without_a_newline_shows_the_dialect_too(text):
    found, whole = blocks(text, Dialect()), blocks(f"{text}\n", Dialect())
    assert found[-1].layout == whole[-1].layout
    assert [row for one in found for row in one.rows()] == list(whole[-1].rows())


@each("end", ["(1 row affected)", '2;6"\n3\r4;7\n5;8\n'])
def test_rows_of_other_lengths_without_an_end_show_nothing(end):
    whole = "Report\nt;s\n1;0,5\n"
    found = blocks(whole + end, Dialect())
    assert [one.layout for one in found] == [blocks(whole, Dialect())[0].layout] * 2


@each(
    ("text", "advice"),
    [
        ("1,2,3\n", ""),
        ("1,2,\n", r" (`sed 's/,\r*$//'` leaves out what is last in each row)"),
    ],
)
def test_the_first_row_below_names_that_were_given_has_no_header_to_change(text, advice):
    ((line, reason),) = parse(text, WORD, delimiter=Dialect(header=("t", "s"))).faults
    assert (line, reason) == (1, f"the header has 2 cells, and this row has 3{advice}")


@each(
    "text",
    [
        "Report\n1,2\n3,4\n",
        "Report\nt,t\n1,2\n",
        "Report\nt,s\n1,2,3\n",
        'Report\nt,s\n1,"2\n',
        "Report\nt,s\n",
        "Report;\nt;s\n",
    ],
)
def test_first_rows_without_a_table_below_are_no_titles(text):
    assert blocks(text, Dialect())[0].layout.header[0] == "Report"


@each(
    ("text", "header"),
    [
        (",label\nrow0,dog\nrow1,cat\n", ("", "label")),
        ("id,text,t\n0,R&amp;D,1\n1,R&amp;D, s,0\n", ("id", "text", "t")),
    ],
)
def test_a_first_row_as_wide_as_the_next_is_no_title(text, header):
    assert blocks(text, Dialect())[0].layout.header == header


def test_a_hash_above_cells_names_their_column():
    (block,) = blocks("# t s\n1 5 6\n2 6 7\n", Dialect())
    assert block.layout.header == ("#", "t", "s")


def test_the_first_of_two_columns_may_lack_its_name():
    (block,) = blocks('"t" "s"\n"x" "a" 5\n"y" "b" 6\n', Dialect())
    advice = "(`sed '1s/^/row /'` names a column before the others)"
    fault, _ = block.parse([WORD]).faults
    assert fault == (2, f"the header has 2 cells, and this row has 3 {advice}")


@each(
    ("text", "advice"),
    [
        ("t,s\n1,0,5\n", "`sed '1s/^/row,/'` names a column before the others, if no number has a"),
        ("t,s\nx,0,cat\n", "`sed '1s/^/row,/'` names a column before the others)"),
        ("sep=;\n\nt;s\n1;2;5\n", "`sed '3s/^/row;/'` names a column before the others)"),
    ],
)
def test_block_names_the_command_that_names_a_column_before_the_others(text, advice):
    (block,) = blocks(text, Dialect())
    assert advice in block.parse([WORD]).faults[0][1]


@each(
    ("text", "dialect"),
    [
        ("t,s\n1,0\n2,1,5", Dialect()),
        ("1,0,5\n", Dialect(header=("t", "s"))),
        ("sep=,\n1,0,5\n", Dialect(header=("t", "s"))),
    ],
)
def test_block_names_no_column_where_the_row_above_is_no_header(text, dialect):
    *_, block = blocks(text, dialect)
    ((_, fault),) = block.parse([WORD]).faults
    assert fault == "the header has 2 cells, and this row has 3"


def test_a_tab_is_beside_decimal_commas():
    stream = ByteStream(io.BytesIO(b"t\ts\n1\t0,5\n"), "log")
    (block,) = text_blocks(stream, CsvLayout, Dialect(), "\t")
    assert (block.layout.notation.decimal, block.found) == (",", "decimal commas")


def test_spaces_around_cells_are_left_out():
    (block,) = blocks('t, s\n spam , "a, b"\n')
    assert block.layout.header == ("t", "s")
    assert list(block.rows()) == [{"t": "spam", "s": "a, b"}]


@each(("text", "dialect"), [("sep= \nt s u\n1  2\n", None), ("t s u\n1  2\n", " ")])
def test_each_space_separates_cells_where_that_is_said(text, dialect):
    (block,) = blocks(text, Dialect(dialect))
    assert list(block.rows()) == [{"t": 1, "s": None, "u": 2}]


@each("text", ["spam ham\nspam\n", "spam ham\n", "spam\nham eggs\n", "a b\n1 2\n1 2 3\n"])
def test_words_are_no_columns(text):
    assert len(blocks(text, Dialect())[0].layout.header) == 1


@each("text", ["sep=;\n", "sep=;", "sep=;\n\n"])
def test_separator_line_is_no_row(text):
    assert blocks(text) == []


@each("first", ["sep=ab", "sep=", 'sep="', "x sep=,b"])
def test_other_first_lines_are_headers(first):
    assert [block.layout.header for block in blocks(f"{first}\n")] == [tuple(first.split(","))]


@each(
    ("text", "header"),
    [("t;u,s\na,1\n", ("t;u", "s")), ('"t,u"\na\n', ("t,u",))],
)
def test_blocks_take_a_header_that_its_delimiter_splits(text, header):
    (block,) = blocks(text)
    assert block.layout.header == header


def test_blocks_are_none_when_the_file_is_empty():
    assert blocks("") == []


def test_block_holds_no_rows_when_there_is_only_a_header():
    assert parse("t,s", WORD).batch["y_true"].shape == (0,)


def test_block_shows_cells_as_they_look():
    (block,) = blocks("a,b,c,d\n1,0.5,x,\n1,2\n")
    assert list(block.rows()) == [{"a": 1, "b": 0.5, "c": "x", "d": None}]


def test_block_pickles():
    (block,) = blocks("t,s\na,1\n")
    assert pickle.loads(pickle.dumps(block)) == block


def test_blocks_find_the_header_after_pieces_of_blank_lines(small_pieces):
    found = [block.parse([WORD]) for block in blocks("\n" * 40 + "t,s\na,1\n")]
    assert [row_id for parsed in found for row_id in parsed.row_ids] == [42]


cells = st.text(st.sampled_from('ab,"\n\r'), min_size=1, max_size=6)


@given(rows=st.lists(st.tuples(cells, st.integers(0, 9).map(str)), max_size=20))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_blocks_agree_with_the_csv_module_whatever_their_size(rows, small_pieces):
    text = io.StringIO(newline="")
    csv.writer(text).writerows([("t", "s"), *rows])
    found = [block.parse([WORD, SCORE]) for block in blocks(text.getvalue())]
    assert not any(parsed.faults for parsed in found)
    assert [t for parsed in found for t in parsed.batch["y_true"].tolist()] == [t for t, _ in rows]


def both_ways(text, *columns):
    """Parse a table column by column if possible, and row by row with the csv module."""
    found = blocks(text)
    with mock.patch.object(csv_rows.PlainRows, "of", return_value=None):
        expected = [told(block.parse(columns)) for block in found]
    return [told(block.parse(columns)) for block in found], expected


def told(parsed):
    batch = {name: array.tolist() for name, array in parsed.batch.items()}
    return batch, list(parsed.row_ids), list(parsed.faults)


@given(body=st.lists(st.sampled_from([*'ab1,"\n\r\0é', '","', '"a"', '"1,5"', '""']), max_size=40))
def test_quoted_tables_are_read_as_by_the_csv_module(body):
    found, expected = both_ways(f"t,s\nx,1\n{''.join(body)}", WORD, SCORE)
    assert found == expected


WIDE = "t,s,b,c,d,e,f,g,h\n"


@each(
    ("text", "is_split"),
    [
        ("é,1,2,3,4,5,6,7,8\n,1,2,3,4,5,6,7,8\n", True),
        ('"a,b",1,"2",3,4,5,6,7,8\n', True),
        ("a,1,2,3,4,5,6,7\n", False),
        ("a,1,2,3,4,5,6,7\nb,1,2,3,4,5,6,7,8,9\n", False),
        ("\na,1,2,3,4,5,6,7,8\n", False),
        ('"a\nb",1,2,3,4,5,6,7,8\n', False),
    ],
)
def test_wide_tables_are_split_where_few_columns_are_asked_for(text, is_split):
    (block,) = blocks(WIDE + text)
    rows = csv_rows.PlainRows.of(block.data, len(block.layout.header), ",")
    split = rows.split({("t", WORD.field_type): 0})
    assert (split is not None) == is_split
    found, expected = both_ways(WIDE + text, WORD)
    assert found == expected


@given(
    rows=st.lists(
        st.lists(st.sampled_from(["a", "1", "é", "", '"a,b"', '"']), min_size=7, max_size=9),
        max_size=6,
    )
)
def test_wide_tables_are_read_as_by_the_csv_module(rows):
    text = "".join(f"x,{','.join(row)}\n" for row in rows)
    found, expected = both_ways(f"{WIDE}x,1,2,3,4,5,6,7,8\n{text}", WORD, SCORE)
    assert found == expected


QUOTED = ['"a"', '"a, ""b"""', '"a,b"', "a", '"é,"', '"\n"', "a\0"]


@pytest.mark.slow
@each("odd", [*QUOTED, 'a"b', '"a"b', '"a', ""])
def test_large_quoted_tables_are_read_as_by_the_csv_module(odd):
    rows = [f'"{"xyz"[n % 3]},","{n % 7 / 8}","{n}"\n' for n in range(8000)]
    rows[4000] = f"{odd},1,\n"
    text = f't,s,"other, unread"\n{"".join(rows)}'
    assert len(text) > csv_columns._ARROW_BYTES
    found, expected = both_ways(text, WORD, SCORE)
    assert found == expected


@each(
    ("text", "is_split"),
    [
        ('t,s\n"a",1\n', True),
        ('t,s\n"a,b","1"\n', True),
        ('t,s\n"","1"\n', True),
        ('t,s\n"a\nb",1\n', False),
        ('t,s\n"a""b",1\n', False),
        ('t,s\na"b",1\n', False),
        ('t,s\n"a"b,1\n', False),
        ('t,s\na,"1\n', False),
        ('t\n""\n', False),
    ],
)
def test_tables_with_quotes_around_whole_cells_are_split_by_columns(text, is_split):
    block = blocks(text)[0]
    rows = csv_rows.PlainRows.of(block.data, len(block.layout.header), ",")
    assert (rows is not None and rows.split({}) is not None) == is_split


def test_block_repr_leaves_out_the_data():
    (block,) = blocks("t,s\nsecret,1\n")
    assert "secret" not in repr(block)


@each(
    ("text", "header"),
    [
        ('"t" "s"\n"1" 5 x\n"2" 6 y\n', ("row", "t", "s")),
        ('"t"\t"s"\n"1"\t5\tx\n"2"\t6\ty\n', ("row", "t", "s")),
        ("  t  s\n0 5  x\n1 6  y\n", ("row", "t", "s")),
        ("t,s\n0,5,x\n1,6,y\n", ("t", "s")),
        ("id,s\n1,5,\n2,6,\n", ("id", "s")),
        ("t;s\n1;5;x\n2;6;y\n", ("t", "s")),
        ('"t";"s"\n"1";5;\n"2";6;\n', ("t", "s")),
        ('"row id";"s"\n"1";5;x\n"2";6;y\n', ("row id", "s")),
        ('"t","s"\n"1",5,5\n"2",6,5\n', ("t", "s")),
        ('"t";"s"\n"0";5;x\n"2";6;y\n', ("t", "s")),
        ('"t";"s"\n"0";5;x\n', ("t", "s")),
        ('"t";"s"\n"0";5;x\n"1";6\n', ("t", "s")),
    ],
)
def test_first_rows_show_that_their_numbers_have_no_name(text, header):
    (block,) = blocks(text, Dialect())
    assert block.layout.header == header
    assert ("numbers of rows before the first column" in block.found) == (header[0] == "row")


def test_block_names_the_option_that_leaves_out_a_last_row_of_one_cell():
    (block,) = blocks("t,s\n1,5\n2\n3,6\n(3 rows affected)\n")
    (_, of_row), (_, of_last) = block.parse([WORD]).faults
    assert of_row == "the header has 2 cells, and this row has 1"
    assert of_last == f"{of_row} (--max-bad 1 leaves out one such row)"
