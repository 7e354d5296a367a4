"""Exports of warehouses: separators, percentages, missing values and encodings of CSV."""

import json
import shlex

import pytest

EXPORT = (
    "id;gr\u00f6\u00dfe;share;y_true;y_pred\n"
    "1;7.761,18;6,95%;1,5;2\n"
    "2;1.000;50%;NULL;3,5\n"
    "3;12,5;100 %;3;N/A\n"
)
READ = ("--encoding", "cp1252", "--thousands", ".", "--percent", "--na", "NULL,N/A")


@pytest.fixture
def export(folder):
    (folder / "export.csv").write_bytes(EXPORT.encode("cp1252"))
    return "export.csv"


def test_each_refusal_names_the_option_that_mends_it(call, export):
    given = ["eval", export, "--task", "values", "--value", "gr\u00f6\u00dfe,share", "--json"]
    for said, option in (
        ("line 1: not UTF-8 (--encoding names another one, such as cp1252)", READ[:2]),
        ("must be a number (--thousands . reads such numbers), got '7.761,18'", READ[2:4]),
        ("must be a number (--percent reads percentages), got '6,95%'", READ[4:5]),
    ):
        found = call(*given)
        assert found.code != 0
        assert said in found.err
        given += option
    metrics = call(*given).json["metrics"]
    assert metrics["gr\u00f6\u00dfe/sum"] == 7761.18 + 1000 + 12.5
    assert metrics["share/max"] == 1.0


def test_first_refusal_names_all_options_that_the_first_rows_need(call, folder):
    rows = ["01.05.2026;Y;74,41%", "02.05.2026;N;NULL", "03.05.2026;Y;", "04.05.2026;N;N/A"]
    text = "\r\n".join(["day;gr\u00f6\u00dfe;p", *rows, "05.05.2026;N;12,5%"])
    (folder / "p.csv").write_bytes(text.encode("cp1252"))
    given = ("eval", "p.csv", "--task", "binary", "--y-true", "gr\u00f6\u00dfe", "--y-score", "p")
    named = ("--encoding", "cp1252", "--na", "NULL,N/A", "--nan", "skip", "--percent")
    assert call(*given).err.endswith(f"such as cp1252). Use `{' '.join(named)}`.\n")
    found = call(*given, *named, "--json").json["metrics"]
    assert (found["n_skipped"], found["roc_auc"]) == (3, 1.0)


def test_rows_without_a_label_are_left_out_by_the_conditions_that_a_refusal_names(call, folder):
    (folder / "a.csv").write_text("y_true,y_pred\nY,Y\nNULL,N\nY,\n")
    (folder / "a.jsonl").write_text('{"y_true": 1, "y_score": null}\n{"y_true": 1, "y_score": 1}')
    named = ("--na", "NULL", "--where", "y_pred!=", "--where", "y_true!=")
    assert call("eval", "a.csv").err.endswith(f"Use `{shlex.join(named)}`.\n")
    assert call("eval", "a.csv", *named, "--json").json["n"] == 1
    given = ("eval", "a.jsonl", "--task", "calibration")
    assert call(*given).err.endswith("`y_score` is missing. Use `--where 'y_score!='`.\n")


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_one_option_is_named_once(name, call, folder):
    rows = '{"y_true": 1, "y_pred": "1 %"}\n'
    (folder / name).write_text(rows if name == "a.jsonl" else "y_true,y_pred\n1,1 %\n")
    assert "Use" not in call("eval", name, "--task", "regression").err


def test_missing_texts_are_named_as_they_are_typed(call, folder):
    (folder / "a.tsv").write_text("y_true\ty_pred\n1,000.5\t7\n2\t\\N\n")
    given = ("eval", "a.tsv", "--task", "regression")
    refused = call(*given).err
    assert r"got '1,000.5'. Use `--na '\N' --nan skip --thousands ,`." in refused
    skipped = call(*given, "--nan", "skip").err
    assert r"Use `--na '\N' --thousands ,`." in skipped
    found = call(*given, "--na", r"\N", "--nan", "skip", "--thousands", ",", "--json")
    assert found.json["n"] == 1


def test_total_at_the_end_of_the_first_rows_is_left_out_with_the_others(call, folder):
    (folder / "a.csv").write_text("d;y_true;y_pred\n1;1.000,5;1\n2;2;2\nTotal;1.002,5;3\n")
    given = ("eval", "a.csv", "--task", "regression")
    assert call(*given).err.endswith("Use `--thousands . --where 'd!=Total'`.\n")
    found = call(*given, "--thousands", ".", "--where", "d!=Total", "--json")
    assert found.json["metrics"]["mae"] == 999.5 / 2


def test_missing_cells_are_bad_rows_or_skipped(call, export):
    given = ("eval", export, *READ, "--task", "regression", "--max-bad", "2")
    found = call(*given)
    assert "line 3: `y_true` is missing" in found.err
    assert "line 4: `y_pred` is missing" in found.err
    assert call(*given, "--json").json["metrics"]["mae"] == 0.5


@pytest.mark.parametrize("row", ["{};\n", '{{"v": "{}"}}\n'])
def test_a_zero_begins_no_thousands(row, call, folder):
    name, header = ("a.csv", "v;w\n") if row == "{};\n" else ("a.jsonl", "")
    given = ("eval", name, "--task", "values", "--value", "v", "--json", "--thousands")
    (folder / name).write_text(header + row.format("1.234,5") + row.format("0.125"))
    assert call(*given, ".").json["metrics"]["min"] == 0.125
    (folder / name).write_text(header + row.format("1,234.5") + row.format("0,125"))
    assert "got '0,125'" in call(*given, ",").err


def test_empty_texts_of_json_are_missing_beside_those_named_so(call, folder):
    rows = [{"y_true": text, "y_pred": "1"} for text in ("NULL", "", "1")]
    (folder / "a.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    given = ("eval", "a.jsonl", "--task", "regression")
    options = shlex.split(call(*given).err.partition("Use `")[2].partition("`")[0])
    assert options == ["--na", "NULL", "--nan", "skip"]
    found = call(*given, *options, "--json").json
    assert (found["rows"], found["metrics"]["mae"]) == (1, 0)


def test_an_empty_score_is_skipped(call, folder):
    (folder / "s.csv").write_text("y_true,y_score\n1,0.9\n0,\n0,0.2\n1,n/a\n", encoding="utf-8")
    given = ("eval", "s.csv", "--task", "binary", "--nan", "skip")
    assert "--na n/a reads this as missing" in call(*given).err
    found = call(*given, "--na", "n/a")
    assert "2 skipped" in found.out


def test_watch_reads_the_same(call, export, folder):
    rows = EXPORT.replace("id;", "ts;").encode("cp1252")
    (folder / "growing.csv").write_bytes(rows)
    found = call(
        *("watch", "growing.csv", *READ, "--delimiter", ";", "--task", "values"),
        *("--value", "gr\u00f6\u00dfe,share", "--time", "ts", "--pane", "10"),
        *("--checkpoint", "c.db", "--once"),
    )
    assert found.code == 0
    assert call("show", "c.db", "--metrics", "share/mean").code == 0


def test_options_of_tables_are_refused_for_other_formats(call, folder):
    (folder / "a.jsonl").write_text('{"y_true": 1, "y_pred": 1}\n', encoding="utf-8")
    assert "is for tables of text" in call("eval", "a.jsonl", "--encoding", "cp1252").err
    assert "is for tables of text" in call("eval", "a.parquet", "--percent").err
    assert "--thousands must be a comma" in call("eval", "a.csv", "--thousands", "x").err


@pytest.mark.parametrize(
    ("texts", "named"),
    [
        (["0,18", "0,9"], ["--decimal", ","]),
        (["6,95%", "94%"], ["--decimal", ",", "--percent"]),
        (["1,367.62", "12"], ["--thousands", ","]),
        (["7.761,18", "0,5"], ["--thousands", "."]),
        (["1.204,5%", "NULL", "3,1%"], ["--na", "NULL", "--nan", "skip", "--percent"]),
    ],
)
def test_texts_of_json_are_read_by_the_options_that_the_refusal_names(call, folder, texts, named):
    rows = [{"of": {"value": text}} for text in [*texts, 1]]
    (folder / "a.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (folder / "a.json").write_text(json.dumps(rows, indent=1))
    lines = ["of.value", *(f'"{text}"' for text in [*texts, 1])]
    (folder / "a.csv").write_text("\n".join(lines) + "\n")
    given = ("--task", "values", "--value", "of.value", "--json")
    for name in ("a.jsonl", "a.json"):
        refusal = call("eval", name, *given).err
        options = shlex.split(refusal.partition("Use `")[2].partition("`")[0])
        assert set(named) <= set(options)
        found = call("eval", name, *given, *options).json["metrics"]
        assert found == call("eval", "a.csv", *given, *options).json["metrics"]


MIXED = ["0.125", "7", "0,5", "1.234,5"]


@pytest.mark.parametrize(
    ("name", "rows", "lines"),
    [
        ("a.csv", ["y_true;y_pred", *(f"1;{cell}" for cell in MIXED)], (2, 5)),
        ("a.jsonl", [json.dumps({"y_true": 1, "y_pred": cell}) for cell in MIXED], (1, 4)),
    ],
)
def test_a_column_of_two_notations_is_told_with_a_row_of_each(name, rows, lines, call, folder):
    (folder / name).write_text("\n".join(rows) + "\n")
    found = call("eval", name, "--task", "regression")
    first, last = lines
    assert found.err.endswith(
        f"`y_pred` mixes two notations: line {first} has '0.125', and line {last} has '1.234,5'; "
        "no option reads both.\n"
    )
    assert "--thousands" not in found.err


def test_bad_rows_of_another_notation_name_no_option(call, folder):
    (folder / "a.csv").write_text("y_true;y_pred\n1;0.125\n2;1.234,5\n")
    found = call("eval", "a.csv", "--task", "regression", "--max-bad", "1")
    assert "must be a number (others have another notation), got '1.234,5'" in found.err
    assert "1 of the bad rows hold numbers of another notation; without them, the" in found.err
    assert "--thousands" not in found.err


@pytest.mark.parametrize(
    ("name", "text", "options"),
    [
        ("a.csv", "day;value\n1;7.761,18\n2;12,5\n3;0,125\n", ()),
        ("a.csv", 'value\n"7.761,18"\n"12,5"\n', ("--decimal", ",")),
        ("a.jsonl", '{"value": "7.761,18"}\n{"value": "12,5"}\n', ("--decimal", ",")),
    ],
)
def test_numbers_read_with_a_decimal_comma_contradict_no_thousands(
    name, text, options, call, folder
):
    (folder / name).write_text(text)
    given = ("eval", name, "--task", "values", *options)
    assert "--thousands ." in call(*given).err
    assert call(*given, "--thousands", ".", "--json").json["metrics"]["max"] == 7761.18


@pytest.mark.parametrize("thousands", ["", ",", "."])
def test_two_notations_are_named_as_they_are_written(thousands, call, folder):
    (folder / "a.csv").write_text("day;value\n1;0,125\n2;1,234.5\n3;12,5\n")
    given = (
        "eval",
        "a.csv",
        "--task",
        "values",
        *(["--thousands", thousands] if thousands else []),
    )
    said = "`value` mixes two notations: line 2 has '0,125', and line 3 has '1,234.5'; no option"
    assert said in call(*given).err


def test_a_point_contradicts_thousands_beside_a_decimal_comma(call, folder):
    (folder / "a.csv").write_text("day;value\n1;7.761,18\n2;0.125\n3;12,5\n")
    found = call("eval", "a.csv", "--task", "values", "--decimal", ",")
    assert (
        "(others have another notation), got '7.761,18'. `value` mixes two notations" in found.err
    )
