"""Sheets of sentences and tables: as text of some width, and as Markdown."""

from __future__ import annotations

import math
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st
from offenders import each

from streameval.metrics.bounded import Bounded
from streameval.metrics.table import Reading
from streameval.render.sheets import (
    Grid,
    Section,
    SheetColumn,
    markdown,
    reading_columns,
    reading_grid,
    sheet_text,
)
from streameval.render.text import intervals, numbers, shorten, shorten_middle

NAMES = SheetColumn.of_names("class", ["owl", "x" * 60])
SHARES = SheetColumn(["share", "0.5", "0.25"])


@each(
    ("values", "decimals", "texts"),
    [
        ([0.991351, 1.0236512, 1.00080, 0.97921], 6, "0.991351 1.023651 1.000800 0.979210"),
        ([54.542376, 2974.8708, -0.14694], 6, "54.542376 2974.870800 -0.146940"),
        ([0.5, 0.00012], 4, "0.50000 0.00012"),
        ([0.5, 1e10 / 3], 6, "0.50000 3333333333.33333"),
        ([0.5, 2.5e-7, 2e300], 6, "0.500000 2.5e-07 2e+300"),
        ([0.5, math.nan, 0.0, -math.inf], 6, "0.500000 \N{EN DASH} 0.000000 -inf"),
        ([1797, 0.5], 6, "1,797 0.500000"),
    ],
)
def test_numbers_of_a_column_have_one_format(values, decimals, texts):
    assert numbers(values, decimals) == texts.split()


def test_number_alone_has_the_format_of_a_column_of_one():
    assert (numbers([0.25]), numbers([12])) == (["0.250000"], ["12"])


def test_ends_of_the_intervals_of_a_column_have_one_format():
    found = intervals([(0.00012, 0.5), None, (math.nan, math.nan), (1, 2.0)], 4)
    assert found == ["[0.00012, 0.50000]", "", "", "[1.00000, 2.00000]"]


@each("cut", [shorten, shorten_middle])
@each("name", ["abcdefgh" * 4, "日本" * 16])
def test_cut_name_is_as_wide_as_there_is_space_for(cut, name):
    assert cut(name, 64) == name
    for width in (9, 10):
        found = cut(name, width)
        assert "…" in found
        assert width - 1 <= sum(2 if one in "日本" else 1 for one in found) <= width


def test_name_is_cut_to_fit_a_width():
    lines = sheet_text([Grid([NAMES, SHARES])], 40).split("\n")
    assert lines == [
        "class" + " " * 30 + "share",
        "owl" + " " * 34 + "0.5",
        "x" * 32 + "…" + "   0.25",
    ]


def test_name_is_never_cut_without_a_width():
    assert f"{'x' * 60}   0.25" in sheet_text([Grid([NAMES, SHARES])], None)


def test_name_stays_readable_where_nothing_fits():
    assert sheet_text([Grid([NAMES, SHARES])], 5).split("\n")[2].startswith("x" * 7 + "…  ")


def test_column_of_a_heading_alone_is_left_out():
    assert sheet_text([Grid([NAMES, SheetColumn(["share", "", ""])])], 80).split("\n")[0] == "class"


def test_groups_stand_beside_the_first_columns_while_they_fit():
    groups = [[SheetColumn([name, "1" * 20, ""])] for name in ("one", "two", "three")]
    found = sheet_text([Grid([SheetColumn.of_names("id", ["a", "b"])], groups, caption="end")], 50)
    assert found.split("\n") == [
        f"id{' ' * 19}one{' ' * 19}two",
        f"a   {'1' * 20}  {'1' * 20}",
        "b",
        "",
        f"id{' ' * 17}three",
        f"a   {'1' * 20}",
        "end",
    ]


def test_section_is_indented_under_its_title():
    assert sheet_text([Section("cm", ["one", "two"])]) == "cm\n  one\n\n  two"


def test_sentence_is_wrapped_between_words():
    text = " ".join(["word"] * 30)
    assert max(map(len, sheet_text([text]).split("\n"))) <= 80
    assert sheet_text(["/" + "a-b" * 40]) == "/" + "a-b" * 40
    assert sheet_text([text + "\n" + text]) == text + "\n" + text


def test_empty_sentence_is_left_out():
    assert sheet_text(["", "a", ""]) == markdown(["", "a", ""]) == "a"


def test_markdown_of_a_table_has_a_rule_and_a_caption():
    found = markdown(["head", Grid([NAMES], [[SHARES]], caption="end")])
    assert found.split("\n") == [
        "head",
        "",
        "| class | share |",
        "| :-- | --: |",
        "| owl | 0.5 |",
        f"| {'x' * 60} | 0.25 |",
        "",
        "end",
    ]


def test_markdown_shows_what_it_would_obey():
    column = SheetColumn.of_names("a_b", ["x|y", "<b>*_it_*", "[a](b)", "`c`\n"])
    found = markdown([Grid([column]), "two\nlines", Section("_t_", ["x"])])
    assert found.split("\n") == [
        "| a_b |",
        "| :-- |",
        r"| x\|y |",
        r"| \<b\>\*\_it\_\* |",
        r"| \[a\](b) |",
        r"| \`c\`\\n |",
        "",
        "two  ",
        "lines",
        "",
        r"**\_t\_**",
        "",
        "x",
    ]


def test_readings_have_the_intervals_that_there_are():
    readings = {
        "auc": Reading(Bounded(0.5, 0.25, 0.75), (0.1, 0.9)),
        "n": Reading(7, is_count=True),
    }
    grid = reading_grid(readings, 0.9)
    assert sheet_text([grid]).split("\n") == [
        "metric     value    exact value within          90% interval",
        "auc     0.500000  [0.250000, 0.750000]  [0.100000, 0.900000]",
        "n              7",
    ]
    assert sheet_text([grid], 50).split("\n") == [
        "metric     value    exact value within",
        "auc     0.500000  [0.250000, 0.750000]",
        "n              7",
        "",
        "metric          90% interval",
        "auc     [0.100000, 0.900000]",
    ]


def test_readings_that_lack_are_empty_cells():
    readings = [Reading(0.5, (0.25, 0.75)), None, Reading(-1.0)]
    columns = reading_columns("b - a", readings, 0.9, 2, of="b - a, ")
    assert [column.cells for column in columns] == [
        ["b - a", "0.50", "", "-1.00"],
        ["b - a, exact value within", "", "", ""],
        ["b - a, 90% interval", "[0.25, 0.75]", "", ""],
    ]


def test_headings_of_numbers_are_escaped():
    grid = Grid([NAMES], [[SheetColumn(["a|b\nc", "[0, 1]", "0.25"])]])
    assert sheet_text([grid]).split("\n")[0].endswith("a|b\\nc")
    head, _, first, _ = markdown([grid]).split("\n")
    assert head == r"| class | a\|b\\nc |"
    assert first == "| owl | [0, 1] |"


NUMBERS = st.floats(-1e13, 1e13) | st.floats(-2.0, 2.0) | st.floats(-1e-4, 1e-4)


@given(st.lists(st.tuples(NUMBERS, NUMBERS).map(sorted), min_size=1, max_size=4))
def test_certified_intervals_hold_their_ends_as_written(ends: list[tuple[float, float]]) -> None:
    outside = []
    for (low, high), text in zip(ends, intervals(ends, are_certified=True), strict=True):
        written = [Decimal(end) for end in text.strip("[]").split(", ")]
        if not written[0] <= Decimal(low) <= Decimal(high) <= written[1]:
            outside.append((low, high, text))
    assert outside == []


def test_certified_intervals_that_have_no_end_are_written() -> None:
    assert intervals([(-math.inf, 0.25)], are_certified=True) == ["[-inf, 0.250000]"]
    assert intervals([(1.23456e-9, 1.23456e-9)], are_certified=True) == ["[1.23e-09, 1.24e-09]"]
