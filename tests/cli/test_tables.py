"""Tables of text with other delimiters, and without a header."""

from __future__ import annotations

import shlex

import pytest
from offenders import each

import streameval as se

ROWS = [("1", "cat", "cat"), ("2", "dog", "cat"), ("3", "dog", "dog"), ("4", "a;b|c,d\te", "cat")]
NAMES = ("id", "y_true", "y_pred")


@pytest.fixture
def table(folder):
    def table(name, delimiter, *, names=NAMES):
        rows = [names, *ROWS] if names else ROWS
        lines = [delimiter.join(f'"{cell}"' for cell in row) for row in rows]
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
        return name

    return table


@pytest.fixture
def expected(table, call):
    return call("eval", table("expected.csv", ","), "--json").json | {"files": None}


@pytest.mark.parametrize(
    ("typed", "delimiter"),
    [
        (";", ";"),
        ("|", "|"),
        ("tab", "\t"),
        ("\\t", "\t"),
        (",", ","),
        (" ", " "),
        ("\x1f", "\x1f"),
    ],
)
@pytest.mark.parametrize("name", ["log.csv", "log.txt", "log"])
def test_delimiter_splits_cells(typed, delimiter, name, table, call, expected):
    done = call("eval", table(name, delimiter), "--delimiter", typed, "--json")
    assert done.code == 0, done.err
    assert done.json | {"files": None} == expected


def test_delimiter_of_a_tsv_file_may_be_another(table, call, expected):
    done = call("eval", table("log.tsv", ";"), "--delimiter", ";", "--json")
    assert done.json | {"files": None} == expected


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_header_names_the_columns_of_a_table_without_one(jobs, table, call, expected):
    name = table("log.csv", ",", names=None)
    done = call("eval", name, "--header", "id,y_true,y_pred", "--json", "--jobs", jobs)
    assert done.code == 0, done.err
    assert done.json | {"files": None} == expected


def test_header_none_numbers_the_columns(table, call, expected):
    name = table("log.csv", ";", names=None)
    arguments = ("--header", "none", "--y-true", "2", "--y-pred", "3", "--delimiter", ";", "--json")
    done = call("eval", name, *arguments)
    assert done.code == 0, done.err
    assert done.json | {"files": None} == expected


def test_header_none_takes_the_first_row_that_is_not_blank(folder, call):
    (folder / "log.csv").write_text("\n\ncat,cat\ndog,cat\n")
    done = call("eval", "log.csv", "--header", "none", "--y-true", "1", "--y-pred", "2", "--json")
    assert done.json["rows"] == 2


@each("header", ["none", "id,y_true,y_pred"])
def test_header_of_an_empty_table_holds_no_rows(header, folder, call):
    (folder / "log.csv").write_text("\n")
    done = call("eval", "log.csv", "--header", header)
    assert (done.code, done.err) == (3, "streameval: error: log.csv: holds no rows.\n")


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ("none", "the first row has 3 cells, and this row has 2"),
        ("a,y_true,y_pred", "the header has 3 cells, and this row has 2"),
    ],
)
def test_row_of_another_length_is_bad(header, reason, table, call, folder):
    name = table("log.csv", ",", names=None)
    with (folder / name).open("a") as file:
        file.write("5,cat\n")
    columns = ("--y-true", "2", "--y-pred", "3") if header == "none" else ()
    done = call("eval", name, "--header", header, *columns)
    assert (done.code, done.err) == (3, f"streameval: error: log.csv, line 5: {reason}.\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("log.csv", "--delimiter", "|"),
            "log.csv: the delimiter looks like ';'; --delimiter ';' reads it.",
        ),
        (
            ("log.csv", "--delimiter", "|", "--header", "none"),
            "log.csv: the delimiter looks like ';'; --delimiter ';' reads it.",
        ),
        (
            ("log.jsonl", "--delimiter", ";"),
            "--delimiter is for tables of text, and log.jsonl is of the format jsonl.",
        ),
        (
            ("log.csv", "--format", "parquet", "--header", "none"),
            "--header is for tables of text, and log.csv is of the format parquet.",
        ),
        (
            ("log.csv", "--format", "tsv", "--delimiter", ";"),
            "--delimiter cannot be used with --format tsv, whose delimiter is the tab.",
        ),
        (
            ("log.csv", "--delimiter", ";;"),
            "argument --delimiter: must be one character, or tab, got ';;'; see",
        ),
        (
            ("log.csv", "--delimiter", '"'),
            "argument --delimiter: must be one character, or tab, got '\"'; see",
        ),
        (
            ("log.csv", "--task", "ranking", "--qrels", "a.qrels", "--delimiter", ";"),
            "--delimiter cannot be used with --qrels: both are TREC files.",
        ),
        (
            ("log.csv", "--task", "ranking", "--qrels", "a.qrels", "--header", "none"),
            "--header cannot be used with --qrels: both are TREC files.",
        ),
    ],
)
def test_options_of_tables_say_what_does_not_fit(arguments, message, table, call, folder):
    table("log.csv", ";")
    (folder / "log.jsonl").write_text('{"y_true": 1, "y_pred": 1}\n')
    done = call("eval", *arguments)
    assert done.code in (2, 3)
    assert done.err.startswith(f"streameval: error: {message}")


def test_delimiter_is_found_and_told(table, call, expected):
    done = call("eval", table("log.csv", ";"), "--json")
    assert done.json | {"files": None} == expected
    assert done.err == (
        "streameval: note: log.csv: read with the delimiter ';', as the first rows show.\n"
    )


def test_files_that_are_alike_are_told_once(folder, call):
    for number in range(4):
        (folder / f"log{number}.csv").write_text("y_true;y_pred\n1;0,5\n")
    (folder / "log4.csv").write_text("y_true|y_pred\n1|0.5\n")
    (folder / "log5.csv").write_text("y_true,y_pred\n1,0.5\n")
    done = call("eval", "log*.csv", "--task", "regression", "--require", "rmse<=0.5")
    assert (done.code, done.out.split()[0]) == (0, "6")
    read = "decimal commas, as the first rows show."
    assert done.err.splitlines()[:2] == [
        f"streameval: note: log0.csv and 3 more: read with the delimiter ';' and {read}",
        "streameval: note: log4.csv: read with the delimiter '|', as the first rows show.",
    ]


@each(
    ("last", "condition"),
    [
        ("Total,6,6", "id!=Total"),
        ("Grand total,6,7", "id!=Grand total"),
        ('"Summe",6,7', "id!=Summe"),
        ("Total général,6,7", "id!=Total général"),
        ("average,2,2", "id!=average"),
        ("Moyenne,2,2", "id!=Moyenne"),
        (",6,7", "id!="),
    ],
)
def test_last_row_that_looks_like_a_total_is_told(last, condition, folder, call):
    (folder / "log.csv").write_text(f"id,y_true,y_pred\na,1,1\nb,2,2\nc,3,4\n{last}\n")
    task = ("--task", "regression")
    warning = f"looks like a total; --where {shlex.quote(condition)} leaves it out."
    assert (
        call("eval", "log.csv", *task).err == f"streameval: warning: log.csv, line 5: {warning}\n"
    )
    done = call("eval", "log.csv", *task, "--where", condition, "--json")
    assert (done.err, done.json["n"]) == ("", 3)


@each(
    "rows",
    [
        "Total,1,1\nb,2,2\nTotal,3,3",
        ",1,1\nb,2,2\n,4,4",
        "a,1,1\nb,2,2\n,2,3",
        "a,1,1\nb,2,2\ntotalled,3,3",
        "a,1,1\nTotal,3,3",
        'a,1,1\nb,2,2\n"c\nd",3,3',
        "a,1,1\nb,2,2\n" * 50 + "Total,1,1\nTotal,3,3",
        "a,1,1\nb,2,2\n,2.5,3",
    ],
)
def test_last_row_like_others_is_no_total(rows, folder, call):
    (folder / "log.csv").write_text(f"id,y_true,y_pred\n{rows}\n")
    assert call("eval", "log.csv", "--task", "regression").err == ""


@each("labels", ["bad,mean", "mean,mean"])
def test_last_row_with_another_label_is_no_total(labels, folder, call):
    (folder / "log.csv").write_text(f"id,y_true,y_pred\n1,good,bad\n2,bad,bad\n3,{labels}\n")
    assert call("eval", "log.csv").err == ""


def test_totals_of_files_in_folders_of_values_are_told(folder, call):
    for name, last in (("a", "Total"), ("b", "")):
        (folder / "log" / f"day={name}").mkdir(parents=True)
        path = folder / "log" / f"day={name}" / "log.csv"
        path.write_text(f"id,y_true,y_pred\n1,1,1\n2,2,2\n{last},3,3\n")
    assert call("eval", "log", "--task", "regression").err.splitlines() == [
        f"streameval: warning: log/day={name}/log.csv, line 4: looks like a total; --where "
        f"'{condition}' leaves it out."
        for name, condition in (("a", "id!=Total"), ("b", "id!="))
    ]


@each("cells", ["2,1.4", ","])
def test_total_that_is_refused_is_told(cells, folder, call):
    (folder / "log.csv").write_text(f"id,y_true,y_score\na,1,0.5\nb,0,0.4\nc,1,0.5\nSum,{cells}")
    said = call("eval", "log.csv", "--task", "binary").err
    assert said.startswith("streameval: error: log.csv, line 5: `y_true` ")
    assert said.endswith(". It looks like a total; use `--where 'id!=Sum'`.\n")


def test_total_is_not_told_of_another_row_that_is_refused(folder, call):
    (folder / "log.csv").write_text("y_true,y_pred\n1,inf\n3,3\n7,\n")
    said = call("eval", "log.csv", "--task", "regression").err
    assert said.startswith("streameval: error: log.csv, line 2: `y_pred` must be finite ")
    assert said.endswith(", got inf.\n")


@pytest.fixture
def commas(folder):
    text = "y_true;y_score;k\n1;0,75;1,5\n0;-,5e-1;2\n0;0.5;1,5\n1;+1,0;1.234,5\n"
    (folder / "commas.csv").write_text(text)
    return ("commas.csv", "--task", "binary", "--delimiter", ";", "--scores", "real")


def test_decimal_comma_is_read_as_a_point(commas, call, folder):
    assert call("eval", *commas, "--decimal", ",", "-o", "commas.state").code == 0
    expected = se.PRCurveSketch(scores="real").update([1, 0, 0, 1], [0.75, -0.05, 0.5, 1.0])
    assert se.load(folder / "commas.state") == expected


@pytest.mark.parametrize(
    ("condition", "n"),
    [
        *[("k=1.5", 2), ("k<1.7", 2), ("k>=2", 1)],
        *[('k="1,5"', 2), ('k<"1,7"', 2), ('k!="1,5"', 2), ('k="1,5",2', 3)],
    ],
)
def test_decimal_commas_compare_as_numbers_in_filters(condition, n, commas, call):
    assert call("eval", *commas, "--decimal", ",", "--where", condition, "--json").json["n"] == n


def test_decimal_commas_are_numbers_in_the_names_of_slices(commas, call):
    done = call("eval", *commas, "--decimal", ",", "--by", "k", "--metrics", "n")
    names = [line.split()[0] for line in done.out.splitlines()[3:]]
    assert names == ["(all)", "1.5", "1.234,5", "2"]


def test_decimal_comma_is_no_number_without_the_option_and_the_error_names_it(commas, call):
    done = call("eval", *commas)
    assert done.code == 3
    assert done.err.endswith(
        "line 2: `y_score` must be a number with a decimal point (--decimal , reads commas), "
        "got '0,75'.\n"
    )


def test_thousands_are_no_decimals(folder, call):
    (folder / "a.csv").write_text("y_true;y_pred\n1.234,5;1\n")
    done = call("eval", "a.csv", "--task", "regression", "--delimiter", ";", "--decimal", ",")
    hint = "--thousands . reads such numbers"
    assert done.err.endswith(f"`y_true` must be a number ({hint}), got '1.234,5'.\n")
