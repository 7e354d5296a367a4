"""Data that cannot be counted: exit code 3, with file and line."""

import functools
import gzip
import json
import os

import pytest
from cli import outcome
from offenders import each

import streameval as se
from streameval.io import lines

GOOD = '{"y_true": 1, "y_pred": 1}\n'
error_of = functools.partial(outcome.error_of, code=3)


MAYBE_PARTIAL = " and may still be being written; --partial-last-line skip leaves it for next time"
NO_NEWLINE = "the last line has no newline"


@each(
    ("name", "data", "message"),
    [
        ("a.jsonl", b"", "a.jsonl: holds no rows."),
        ("a.csv", b"", "a.csv: holds no rows."),
        ("a.csv", b"y_true,y_pred\n", "a.csv: holds no rows."),
        ("a.jsonl", b"\n\n \n", "a.jsonl: holds no rows."),
        ("a.jsonl.gz", gzip.compress(b"", mtime=0), "a.jsonl.gz: holds no rows."),
        ("a.jsonl", bytes(range(1, 256)) * 9, "a.jsonl, line 1: not JSON (expecting value, at"),
        ("a.csv", bytes(range(1, 256)) * 9, "a.csv, line 2: not"),
        ("a.csv", bytes(range(256)) * 9, "a.csv: begins with a NUL byte; it is not text."),
        (
            "a.bin",
            bytes(range(128, 256)) * 9,
            "a.bin, line 1: not UTF-8 (--encoding names another one, such as cp1252).",
        ),
        ("a.parquet", b"junk" * 99, "a.parquet: not a sound Parquet file ("),
        (
            "a.jsonl",
            b'{"a":' * 100_000,
            f"a.jsonl, line 1: not JSON (nested too deeply); {NO_NEWLINE}{MAYBE_PARTIAL}.",
        ),
        (
            "a.json",
            b'[\n  {"y_true": 1, "y_pred": 1}\n',
            "a.json, item 1: the array has no end.",
        ),
        (
            "a.csv",
            b"y_true;y_pred|other\n1;0,5\n",
            "a.csv: the delimiter looks like ';'; --delimiter ';' reads it.",
        ),
        ("a.jsonl", b"\x1f\x8b" + b"junk" * 9, "a.jsonl: the gzip data is damaged."),
        (
            "a.jsonl.gz",
            gzip.compress(GOOD.encode() * 99, mtime=0)[:-12],
            f"a.jsonl.gz: the gzip data is cut short{MAYBE_PARTIAL}.",
        ),
    ],
)
def test_eval_names_the_file_that_is_bad(name, data, message, call, folder):
    (folder / name).write_bytes(data)
    assert error_of(call("eval", name)).startswith(message)


def test_eval_names_a_missing_file(call):
    assert error_of(call("eval", "absent.csv")) == "absent.csv: no such file or directory."


def test_eval_names_a_missing_file_after_good_ones(call, labels):
    assert error_of(call("eval", labels, "absent.csv")) == "absent.csv: no such file or directory."


def test_eval_names_an_empty_folder(call, folder):
    (folder / "logs").mkdir()
    assert error_of(call("eval", "logs")) == "logs: there is no file in this folder."


def test_eval_names_the_first_files_when_none_has_rows(call, folder):
    names = [f"{n}.csv" for n in range(5)]
    for name in names:
        (folder / name).touch()
    assert error_of(call("eval", *names)) == "0.csv, 1.csv, 2.csv, ...: holds no rows."


def test_eval_refuses_a_line_without_an_end(call, folder, monkeypatch):
    monkeypatch.setattr(lines, "PIECE_BYTES", 100)
    monkeypatch.setattr(lines, "LONGEST_LINE", 1000)
    (folder / "a.jsonl").write_text(GOOD + '{"y_true": "' + "x" * 2000)
    assert error_of(call("eval", "a.jsonl")) == "a.jsonl, line 2: no line end within 1,000 bytes."


def test_eval_refuses_a_later_file_without_the_column(call, labels, folder):
    (folder / "b.csv").write_text("label,y_pred\n1,1\n")
    assert error_of(call("eval", labels, "b.csv")) == "b.csv: the header has no column 'y_true'."


BAD_JSON = [
    ('{"y_true": 1}', "`y_pred` is missing"),
    ('{"y_true": 1, "y_pred": null}', "`y_pred` is missing"),
    (
        '{"y_true": 1, "y_pred": 0.5}',
        "`y_pred` must be an integer as the first label is (--y-score reads",
    ),
    (
        '{"y_true": "cat", "y_pred": 1}',
        "`y_true` must be an integer as the first label is (--y-score reads",
    ),
    ('{"y_true": 1, "y_pred": 1', "not JSON (expecting ',' delimiter, at character 26)"),
    ("NaN", "not an object, got nan"),
]


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("line", "reason"), BAD_JSON)
def test_eval_names_the_line_that_is_bad(line, reason, jobs, call, folder, monkeypatch):
    monkeypatch.setattr(lines, "PIECE_BYTES", 200)
    (folder / "a.jsonl").write_text(GOOD * 70 + "\n" + line + "\n" + GOOD * 70)
    found = error_of(call("eval", "a.jsonl", "--jobs", jobs))
    assert found.startswith(f"a.jsonl, line 72: {reason}")


@each(
    ("row", "reason"),
    [
        ('"a\nb",1,cat', "`y_pred` must be an integer as the first label is"),
        ('"a\nb",1,', "`y_pred` is missing"),
        ('"a\nb",1', "the header has 3 cells, and this row has 2"),
        ('"a"b,1,1', "not CSV (',' expected after '\"')"),
    ],
)
def test_eval_counts_the_lines_inside_quotes(row, reason, call, folder):
    (folder / "a.csv").write_text(f'id,y_true,y_pred\n"x\ny\nz",1,1\n\n{row}\nw,0,0\n')
    assert error_of(call("eval", "a.csv")).startswith(f"a.csv, line 6: {reason}")


def test_eval_names_the_row_of_a_parquet_file(call, write):
    rows = [{"y_true": n % 2 if n != 130 else None, "y_pred": 1} for n in range(200)]
    assert (
        error_of(call("eval", write("a.parquet", rows)))
        == "a.parquet, row 131: `y_true` is missing. Use `--where 'y_true!='`."
    )


@each(
    ("bad", "options", "reason"),
    [
        ({"y_true": 5, "s": 0.5}, [], "`y_true` must hold labels 0 to 1, got 5"),
        ({"y_true": 1, "s": float("nan")}, [], "`s` must not hold NaN, got NaN"),
        (
            {"y_true": 1, "s": 1, "w": -1.0},
            ["--sample-weight", "w"],
            "`w` must not be negative, got -1.0",
        ),
        ({"y_true": 1, "s": 1, "w": 1e300}, ["--sample-weight", "w"], "`w`"),
        (
            {"y_true": 1, "s": 1, "w": float("inf")},
            ["--sample-weight", "w"],
            "`w` must be finite, got inf",
        ),
    ],
)
def test_eval_names_the_line_that_the_accumulator_refuses(bad, options, reason, call, write):
    rows = [{"y_true": n % 2, "s": n / 100, "w": 1} for n in range(100)]
    rows[37] |= bad
    found = error_of(call("eval", write("a.csv", rows), "--y-score", "s", *options))
    assert found.startswith(f"a.csv, line 39: {reason}")
    assert "position" not in found


def test_eval_names_the_columns_that_the_accumulator_refuses(call, write):
    rows = [{"y_true": n % 3, "a": 0.1, "b": 0.5, "c": 0.2} for n in range(9)]
    rows[3]["b"] = float("nan")
    found = error_of(call("eval", write("a.jsonl", rows), "--y-score", "a,b,c"))
    assert found == "a.jsonl, line 4: `a,b,c` must not hold NaN, got NaN."


def test_eval_refuses_lists_of_another_length(call, write):
    rows = [{"y_true": 1, "y_score": [0.1, 0.2, 0.7]}, {"y_true": 1, "y_score": [0.1, 0.9]}]
    found = error_of(call("eval", write("a.jsonl", rows), "--y-score", "y_score"))
    assert found.endswith("line 2: `y_score` must be a list of 3 numbers, got [0.1, 0.9].")


@pytest.mark.slow
def test_eval_refuses_more_labels_than_can_be_met_over_blocks(call, write, monkeypatch):
    monkeypatch.setattr(lines, "PIECE_BYTES", 30_000)
    rows = [{"y_true": n, "y_pred": n} for n in range(4200)]
    found = error_of(call("eval", write("a.csv", rows)))
    assert found.startswith("a.csv: --classes auto allows at most 4096 labels, got ")


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_eval_counts_what_max_bad_tolerates(jobs, call, folder, monkeypatch):
    monkeypatch.setattr(lines, "PIECE_BYTES", 100)
    bad = '{"y_true": 1}\n'
    (folder / "a.jsonl").write_text((GOOD * 9 + bad) * 7)
    done = call("eval", "a.jsonl", "--max-bad", 7, "--jobs", jobs, "-o", "a.state")
    assert done.code == 0
    assert done.out.startswith("70 rows of 1 file, 7 of them bad and left out\n")
    assert se.load("a.state").n == 63
    places = [10, 20, 30, 40, 50]
    warnings = [f"streameval: warning: a.jsonl, line {n}: `y_pred` is missing." for n in places]
    assert done.err.splitlines() == [*warnings, "streameval: warning: 2 more bad rows."]


def test_eval_stops_at_the_first_row_past_max_bad(call, folder):
    (folder / "a.jsonl").write_text((GOOD + "junk\n") * 7)
    assert error_of(call("eval", "a.jsonl", "--max-bad", 2)) == (
        "a.jsonl, line 6: not JSON (expecting value, at character 1). "
        "That is bad row 3; --max-bad is 2."
    )


@pytest.mark.parametrize("size", [64, 500, 10**6])
def test_eval_tolerates_the_same_rows_for_any_size_of_blocks(size, call, write, monkeypatch):
    monkeypatch.setattr(lines, "PIECE_BYTES", size)
    rows = [{"y_true": n % 2 + 7 * (n % 10 == 3), "y_score": n / 100} for n in range(100)]
    done = call("eval", write("a.csv", rows), "--max-bad", 10, "-o", "a.state")
    assert done.code == 0
    good = [row for row in rows if row["y_true"] < 2]
    expected = se.ConfusionAccumulator(2)
    expected.update([r["y_true"] for r in good], [r["y_score"] for r in good])
    assert se.load("a.state") == expected


@each("limit", [9, "100%"])
def test_eval_names_the_first_row_of_a_log_of_bad_rows_alone(limit, call, folder):
    (folder / "a.jsonl").write_text('{"y_true": 1, "y_pred": null}\n' * 2)
    said = "a.jsonl, line 1: `y_pred` is missing. No row is valid; bad rows: 2."
    assert error_of(call("eval", "a.jsonl", "--max-bad", limit)) == said


@each("limit", [9, "100%"])
def test_eval_names_the_first_line_of_a_log_that_cannot_be_read(limit, call, folder):
    (folder / "a.jsonl").write_text("junk\n" * 3)
    said = "a.jsonl, line 1: not JSON (expecting value, at character 1)."
    told = f"{said} No row is valid; bad rows: 3."
    assert error_of(call("eval", "a.jsonl", "--max-bad", limit)) == told


@each("command", ["show", "merge"])
@each(
    ("name", "message"),
    [
        ("absent.state", "absent.state: no such file or directory."),
        (
            "labels.jsonl",
            "labels.jsonl: is a log of JSON lines, not a state; `streameval eval` reads it.",
        ),
        (".", ".: holds no file that ends in .state."),
    ],
)
def test_states_that_cannot_be_read_are_named(command, name, message, call, labels):
    options = ["-o", "out.state"] if command == "merge" else []
    assert error_of(call(command, name, *options)) == message


@each(
    ("output", "message"),
    [
        ("absent/a.state", "absent/a.state: there is no such folder."),
        (".", ".: is not a regular file."),
        ("x" * 300, f"{'x' * 300}: file name too long."),
    ],
)
def test_eval_finds_out_early_that_the_state_cannot_be_saved(output, message, call):
    assert error_of(call("eval", "absent.csv", "-o", output)) == message


def test_eval_says_that_the_disk_is_full(call, labels, monkeypatch):
    def full(accumulator, path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("streameval.cli.states.save", full)
    found = error_of(call("eval", labels, "-o", "a.state"), code=5)
    assert found == "a.state: the state is not saved: no space left on device."


def test_eval_says_that_memory_is_short(call, labels, monkeypatch):
    def make(*arguments, **options):
        raise MemoryError

    monkeypatch.setattr("streameval.ConfusionAccumulator.__init__", make)
    assert error_of(call("eval", labels)) == "there is not enough memory."


def _die(*_):
    os._exit(9)


@pytest.mark.slow
def test_eval_says_that_a_worker_died(call, labels, monkeypatch):
    monkeypatch.setattr("streameval.runs.processes._serve", _die)
    monkeypatch.setattr("streameval.runs.workers._LOOK_SECONDS", 0.0)
    monkeypatch.setattr("streameval.runs.workers._WORTH_SECONDS", 1e-9)
    monkeypatch.setattr("streameval.runs.processes.Worker.n_ahead", lambda _: 0)
    found = error_of(call("eval", *[labels] * 3, "--jobs", 2))
    assert found == "a worker process died, perhaps for lack of memory; try fewer --jobs."


def dirty(n_bad, n_good=200):
    """Make lines of which the first ones cannot be counted, in three ways."""
    bad = ['{"y_true": 1', '{"y_true": 1}', '{"y_true": 1, "y_pred": "x"}']
    lines = [bad[number % 3] for number in range(n_bad)]
    return "".join(f"{line}\n" for line in [*lines, *['{"y_true": 1, "y_pred": 1}'] * n_good])


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("n_bad", "limit"), [(2, "1%"), (10, "4.77%"), (10, "4.7619047619048%")])
def test_max_bad_takes_a_share_of_all_rows(n_bad, limit, jobs, folder, call):
    (folder / "a.jsonl").write_text(dirty(n_bad))
    done = call("eval", "a.jsonl", "--max-bad", limit, "--jobs", jobs, "--json")
    assert (done.code, done.json["bad"], done.json["rows"]) == (0, n_bad, 200 + n_bad)


@each("by", [[], ["--by", "y_pred"], ["--by", "y_pred=1"]])
def test_max_bad_refuses_a_larger_share_at_the_end(by, folder, call):
    (folder / "a.jsonl").write_text(dirty(3))
    done = call("eval", "a.jsonl", "--max-bad", "1%", "-o", "out", *by)
    reason = "not JSON (expecting ',' delimiter, at character 13)"
    found = "3 of 203 rows are bad; --max-bad is 1%."
    assert (done.code, done.err) == (
        3,
        f"streameval: error: a.jsonl, line 1: {reason}. {found}\n",
    )
    assert not (folder / "out").exists()


def test_max_bad_as_a_share_counts_rows_that_the_accumulator_refuses(folder, call):
    rows = [*['{"y_true": 1, "y_score": 7}'] * 3, *['{"y_true": 1, "y_score": 0.5}'] * 97]
    (folder / "a.jsonl").write_text("\n".join(rows))
    assert call("eval", "a.jsonl", "--task", "binary", "--max-bad", "3%").code == 0
    done = call("eval", "a.jsonl", "--task", "binary", "--max-bad", "2.9%")
    assert "3 of 100 rows are bad; --max-bad is 2.9%." in done.err


@pytest.mark.slow
def test_max_bad_as_a_number_bears_any_number_of_first_rows(
    folder, call, small_buffers, monkeypatch
):
    monkeypatch.setattr(lines, "PIECE_BYTES", 2**12)
    n_bad = 65 * 2**12 // 8
    (folder / "a.jsonl").write_text("no JSON\n" * n_bad + '{"y_true": 1, "y_pred": 1}\n')
    done = call("eval", "a.jsonl", "--max-bad", n_bad, "--json")
    assert (done.code, done.json["bad"], done.json["n"]) == (0, n_bad, 1)


@pytest.mark.slow
def test_max_bad_as_a_share_refuses_a_file_without_one_good_row(
    folder, call, small_buffers, monkeypatch
):
    monkeypatch.setattr(lines, "PIECE_BYTES", 2**12)
    (folder / "a.jsonl").write_text("no JSON\n" * 40_000)
    done = call("eval", "a.jsonl", "--max-bad", "50%")
    assert done.code == 3
    assert "a.jsonl, line 1: not JSON" in done.err
    held = int(done.err.partition(" rows are bad")[0].split()[-1].replace(",", ""))
    assert held == 64 * 2**12 // 8


def test_bad_rows_that_an_option_reads_are_told(folder, call):
    rows = [*["1,1"] * 3, '"1,039.5",2', "NULL,2", "x,1", '"1,100.5",3']
    (folder / "a.csv").write_text("\n".join(["y_true,y_pred", *rows]))
    done = call("eval", "a.csv", "--task", "regression", "--max-bad", 4)
    said = "hold values that {} reads; without them, the rows counted are no random sample.\n"
    assert f"warning: 2 of the bad rows {said.format('--thousands ,')}" in done.err
    assert f"warning: 1 of the bad rows {said.format('--na NULL')}" in done.err
    assert done.err.count("no random sample") == 2


def test_bad_rows_with_values_out_of_range_are_told(folder, call):
    (folder / "a.csv").write_text("y_true,y_score\n1,0.5\n0,0.25\n1,1.5\n,0.5\n")
    said = "1 of the bad rows hold values out of range; without them, the rows counted are no "
    assert said in call("eval", "a.csv", "--task", "binary", "--max-bad", 2).err


def test_max_bad_as_a_share_gives_up_where_most_rows_are_refused(folder, call):
    rows = [json.dumps({"y_true": 1, "y_score": 2 if n % 8 else 0.5}) for n in range(2000)]
    (folder / "a.jsonl").write_text("\n".join(rows))
    done = call("eval", "a.jsonl", "--task", "binary", "--max-bad", "99%")
    assert done.code == 3
    assert "a.jsonl, line 2: `y_score` must lie in [0, 1], got 2.0." in done.err
    assert "next rows are refused as well; --max-bad 99% allows only a few.\n" in done.err


@each("limit", ["101%", "-1%", "nan%", "%", "x%"])
def test_max_bad_says_what_a_share_is(limit, folder, call):
    done = call("eval", "a.jsonl", f"--max-bad={limit}")
    assert done.code == 2
    assert f"argument --max-bad: must lie between 0% and 100%, got {limit!r}" in done.err
