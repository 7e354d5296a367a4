"""`eval --where`: only the rows that fit are counted, and only they have to be good."""

from __future__ import annotations

import pytest
from offenders import each

from streameval.runs import sources

ROWS = [
    {
        "y_true": n % 3,
        "y_pred": (n + (n % 4 == 0)) % 3,
        "country": ["DE", "FR", None][n % 3],
        "age": n,
        "ctx": {"os": ["ios", "android"][n % 2]},
        "split": "test" if n >= 40 else "train",
    }
    for n in range(120)
]
IN_QUOTES = "must have a value in quotes if it begins with <, > or ="
FLAT = [row | {"ctx": None} for row in ROWS]


def correct(rows):
    return sum(row["y_true"] == row["y_pred"] for row in rows) / len(rows)


@pytest.mark.slow
@each("name", ["log.jsonl", "log.csv", "log.tsv", "log.parquet"])
@each(
    ("conditions", "keeps"),
    [
        (["country=DE"], lambda row: row["country"] == "DE"),
        (["country!=DE"], lambda row: row["country"] != "DE"),
        (["country="], lambda row: row["country"] is None),
        (["country!="], lambda row: row["country"] is not None),
        (["country=DE,FR", "age >= 30"], lambda row: row["country"] and row["age"] >= 30),
        (["age>30", "age<=90", "age!=50,60"],
         lambda row: 30 < row["age"] <= 90 and row["age"] not in (50, 60)),
        (["split==test"], lambda row: row["age"] >= 40),
        (["split>test", "age=100"], lambda row: False),
        (["split<=test"], lambda row: row["age"] >= 40),
    ],
)  # fmt: skip
def test_where_counts_the_rows_that_fit(name, conditions, keeps, write, call):
    rows = ROWS if name.endswith(("jsonl", "parquet")) else FLAT
    options = [word for condition in conditions for word in ("--where", condition)]
    done = call("eval", write(name, rows), *options, "--json")
    expected = [row for row in rows if keeps(row)]
    if not expected:
        assert (done.code, done.err) == (
            3, f"streameval: error: {name}: holds no rows that match --where.\n",
        )  # fmt: skip
        return
    assert (done.code, done.json["rows"], done.json["left_out"]) == (
        0, len(expected), len(rows) - len(expected),
    )  # fmt: skip
    assert done.json["metrics"]["accuracy"] == pytest.approx(correct(expected))


@each("name", ["log.jsonl", "log.parquet"])
def test_where_takes_a_path(name, write, call):
    done = call("eval", write(name, ROWS), "--where", "ctx.os=ios", "--json")
    assert done.json["rows"] == 60


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_where_leaves_bad_rows_alone_that_do_not_fit(jobs, write, call):
    rows = [{"y_true": "x", "split": "train"}, {"split": "train"}, *ROWS[40:]]
    done = call("eval", write("log.jsonl", rows), "--where", "split=test", "--jobs", jobs, "--json")
    assert (done.code, done.json["bad"], done.json["left_out"]) == (0, 0, 2)


def test_where_does_not_excuse_lines_that_cannot_be_read(folder, write, call):
    name = write("log.jsonl", ROWS)
    with (folder / name).open("a") as file:
        file.write('{"split": "train"\n{"split": ["test"]}\n')
    done = call("eval", name, "--where", "split=test", "--max-bad", "2")
    assert "80 rows" not in done.out
    assert "82 rows of 1 file, 2 of them bad and left out; 40 more left out by --where" in done.out
    assert "line 122: `split` must be a single value, got ['test']" in done.err


def test_where_goes_with_by(write, call):
    name = write("log.jsonl", ROWS)
    options = ("--by", "ctx.os", "--where", "country=DE", "--json")
    counts = {part["value"]: part["n"] for part in call("eval", name, *options).json["slices"]}
    assert counts == {"android": 20, "ios": 20}


def test_where_and_by_take_quotes_around_a_comma(write, call):
    rows = [{"y_true": 1, "y_pred": 1, "city": city} for city in ("Washington, DC", "Bonn")]
    name, typed = write("log.jsonl", rows), 'city="Washington, DC"'
    assert call("eval", name, "--where", typed, "--json").json["rows"] == 1
    (of_city,) = call("eval", name, "--by", typed, "--json").json["slices"]
    assert (of_city["value"], of_city["n"]) == ("Washington, DC", 1)


def test_where_finds_the_first_row_that_fits_behind_others(write, call, small_buffers):
    others = [{"y_true": 1, "split": "train", "pad": "x" * 200}] * 1000
    done = call(
        "eval", write("log.jsonl", [*others, *ROWS[40:]]), "--where", "split=test", "--json"
    )
    assert (done.code, done.json["rows"], done.json["left_out"]) == (0, 80, 1000)


def test_where_plans_by_other_rows_when_those_that_fit_are_far_behind(
    write, call, small_buffers, monkeypatch
):
    monkeypatch.setattr(sources, "_MAX_SEEN", 2)
    others = [{"y_true": 1, "y_pred": 1, "split": "train", "pad": "x" * 200}] * 1000
    done = call(
        "eval", write("log.jsonl", [*others, *ROWS[40:]]), "--where", "split=test", "--json"
    )
    assert (done.code, done.json["rows"], done.json["left_out"]) == (0, 80, 1000)


@each(("name", "n_missing"), [("log.jsonl", 1), ("log.parquet", 1), ("log.csv", 2)])
def test_an_empty_text_is_missing_in_a_text_table_alone(name, n_missing, write, call):
    rows = [ROWS[0] | {"ctx": None, "country": country} for country in ("DE", "", None)]
    file = write(name, rows)
    found = [
        call("eval", file, "--where", where, "--json").json["rows"]
        for where in ("country=", "country!=")
    ]
    assert found == [n_missing, 3 - n_missing]


@each("sign", ["<", ">", "="])
def test_where_takes_a_sign_at_the_start_of_a_quoted_value(sign, write, call):
    rows = [row | {"bin": f"{sign}1" if row["age"] < 30 else "1"} for row in ROWS]
    done = call("eval", write("log.jsonl", rows), "--where", f'bin="{sign}1"', "--json")
    assert (done.json["rows"], done.json["left_out"]) == (30, 90)


@each(
    ("condition", "message"),
    [
        ("contry=DE", "no column 'contry' in the first rows: did you mean 'country'?"),
        ("country", "argument --where: must be a column, one of =, !=, <, <=, >, >=, and a value,"),
        ("=DE", "argument --where: must be a column, one of =, !=, <, <=, >, >=, and a value,"),
        ("age>", "argument --where: must have one value after >, got 'age>'"),
        ("country=D\nE", "argument --where: must have line breaks in quotes, got 'D\\nE'"),
        ("age>1,2", "argument --where: must have one value after >, got 'age>1,2'; quotes "),
        *(
            (typed, f"argument --where: {IN_QUOTES}, got {typed!r}")
            for typed in ("age<>1", "age=>1", "age===1", "age< >1")
        ),
    ],
)
def test_where_says_what_does_not_fit(condition, message, write, call):
    done = call("eval", write("log.jsonl", ROWS), "--where", condition)
    assert done.code == 2
    assert done.err.startswith(f"streameval: error: {message}")


def test_where_does_not_go_with_qrels(call):
    done = call("eval", "a.run", "--task", "ranking", "--qrels", "a.qrels", "--where", "a=1")
    message = "--where cannot be used with --qrels: TREC files have no columns of their own; "
    message += "to count some queries, give --qrels of these alone."
    assert (done.code, done.err) == (2, f"streameval: error: {message}\n")


def test_share_of_bad_rows_is_one_of_all_rows_with_where(write, call, folder):
    name = write("log.jsonl", ROWS)
    with (folder / name).open("a") as file:
        file.write("no JSON\n" * 2)
    options = ("--where", "age<10", "--json")
    assert call("eval", name, *options, "--max-bad", "1.64%").json["bad"] == 2
    done = call("eval", name, *options, "--max-bad", "1.63%")
    assert "2 of 122 rows are bad; --max-bad is 1.63%." in done.err


def test_where_warns_of_empty_files_and_not_of_files_without_a_match(folder, write, call):
    for value in ("DE", "FR", "US"):
        (folder / f"c={value}").mkdir()
        write(f"c={value}/a.jsonl", [{"y_true": 1, "y_pred": 1}])
    (folder / "c=DE" / "empty.jsonl").write_text("")
    done = call("eval", *(f"c={value}" for value in ("DE", "FR", "US")), "--where", "c=DE")
    assert done.code == 0
    warnings = [line for line in done.err.splitlines() if "holds no rows" in line]
    assert warnings == ["streameval: warning: c=DE/empty.jsonl: holds no rows."]
