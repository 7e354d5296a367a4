"""Logs that are still being written: a last line without its newline."""

import gzip
import zlib

import pytest

JSON = b'{"y_true": 1, "y_pred": 1}\n{"y_true": 0, "y_pred": 1}\n{"y_true": 1, "y_pred": 0}\n'
CSV = b"y_true,y_pred\n1,1\n0,1\n1,0\n"
ADVICE = "and may still be being written; --partial-last-line skip leaves it for next time."
NO_NEWLINE = "the last line has no newline"
SKIP = ("--partial-last-line", "skip")

jobs = pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])


@pytest.fixture
def put(folder):
    """Write bytes, packed if the name says so, the packed ones cut by some."""

    def put(name, data, cut=0):
        packed = gzip.compress(data) if name.endswith(".gz") else data
        (folder / name).write_bytes(packed[: len(packed) - cut])
        return name

    return put


@jobs
@pytest.mark.parametrize(
    ("name", "data", "fault"),
    [
        ("a.jsonl", JSON[:-9], "line 3: not JSON ("),
        ("a.jsonl.gz", JSON[:-9], "line 3: not JSON ("),
        ("a.csv", CSV[:-3], "line 4: the header has 2 cells, and this row has 1"),
        ("a.csv", CSV[:-2], "line 4: `y_pred` is missing"),
        ("a.csv", CSV[:-4] + b'"1', "line 4: not CSV (unexpected end of data)"),
        ("a.tsv", CSV[:-3].replace(b",", b"\t"), "line 4: the header has 2 cells"),
    ],
)
def test_partial_last_line_is_said_to_be_one(name, data, fault, jobs, put, call):
    done = call("eval", put(name, data), "--jobs", jobs)
    assert done.code == 3
    assert done.err.startswith(f"streameval: error: {name}, {fault}")
    assert done.err.endswith(f"; {NO_NEWLINE} {ADVICE}\n")


@jobs
@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.jsonl", JSON[:-9]),
        ("a.jsonl", JSON[:-1]),
        ("a.jsonl.gz", JSON[:-9]),
        ("a.csv", CSV[:-3]),
        ("a.csv", CSV[:-2]),
        ("a.csv", CSV[:-1]),
        ("a.csv", CSV[:-4] + b'"1'),
    ],
)
def test_partial_last_line_is_left_out_and_said_so_when_skipped(name, data, jobs, put, call):
    done = call("eval", put(name, data), *SKIP, "--jobs", jobs, "--json")
    assert (done.code, done.json["n"], done.json["rows"], done.json["bad"]) == (0, 2, 2, 0)
    assert f"streameval: note: {name}: {NO_NEWLINE}, and is left for next time.\n" in done.err


@pytest.mark.parametrize(
    "text",
    [
        '{\n "y_true": 1,\n "y_pred": 1\n}\n{\n "y_true": 0,\n "y_pr',
        '[{"y_true": 1, "y_pred": 1},\n{"y_true": 0, "y_pred"',
    ],
)
def test_last_item_without_an_end_is_left_out_when_skipped(text, put, call):
    name = put("a.json", text.encode())
    refused = call("eval", name)
    assert refused.err.startswith(f"streameval: error: {name}, item 2: not JSON (")
    assert refused.err.endswith(f"the last item has no end {ADVICE}\n")
    done = call("eval", name, *SKIP, "--json")
    assert (done.code, done.json["n"]) == (0, 1)
    assert f"note: {name}: item 2 has no end, and is left for next time.\n" in done.err


def test_row_that_ends_inside_of_quotes_is_left_out_when_skipped(put, call):
    name = put("a.csv", CSV[:-4] + b'"1\n')
    done = call("eval", name, *SKIP, "--json")
    assert (done.code, done.json["n"]) == (0, 2)
    assert f"{name}: the last row has no row end (is a quote left open?), and is left" in done.err


@pytest.mark.parametrize("options", [(), ("--partial-last-line", "count")])
@pytest.mark.parametrize(("name", "data"), [("a.jsonl", JSON[:-1]), ("a.csv", CSV[:-1])])
def test_whole_last_row_without_its_newline_counts(name, data, options, put, call):
    done = call("eval", put(name, data), *options, "--json")
    assert (done.code, done.json["n"]) == (0, 3)
    assert "last line" not in done.err


@pytest.mark.parametrize(("name", "data"), [("a.jsonl", JSON + b"  "), ("a.csv", CSV)])
def test_nothing_is_left_out_when_the_last_line_has_ended(name, data, put, call):
    done = call("eval", put(name, data), *SKIP, "--json")
    assert (done.code, done.json["n"]) == (0, 3)
    assert "next time" not in done.err


def test_bad_row_before_the_last_line_is_no_partial_one(put, call):
    done = call("eval", put("a.jsonl", b"junk\n" + JSON))
    assert done.code == 3
    assert "partial" not in done.err


def test_partial_last_line_is_a_bad_row_when_these_are_tolerated(put, call):
    done = call("eval", put("a.jsonl", JSON[:-9]), "--max-bad", 1, "--json")
    assert (done.json["n"], done.json["bad"]) == (2, 1)
    assert f"{NO_NEWLINE} {ADVICE}" in done.err


def test_first_line_that_is_partial_is_said_to_be_one(put, call):
    done = call("eval", put("a.jsonl", JSON[:9]))
    assert done.code == 3
    assert f"{NO_NEWLINE} {ADVICE}" in done.err


@pytest.mark.parametrize(("name", "data"), [("a.jsonl", JSON[:9]), ("a.csv", CSV[:9])])
def test_file_of_a_partial_line_alone_holds_no_rows(name, data, put, call):
    done = call("eval", put(name, data), *SKIP)
    assert done.code == 3
    told = f"{name}: holds no rows. {name}: {NO_NEWLINE}, and is left for next time."
    assert done.err == f"streameval: error: {told}\n"


@jobs
@pytest.mark.parametrize("cut", [1, 8, 9, 30])
def test_gzip_data_that_is_cut_short_is_said_to_be_maybe_written_to(cut, jobs, put, call):
    done = call("eval", put("a.jsonl.gz", JSON * 1000, cut), "--jobs", jobs)
    assert done.code == 3
    assert done.err == f"streameval: error: a.jsonl.gz: the gzip data is cut short {ADVICE}\n"


@jobs
@pytest.mark.parametrize("cut", [1, 8, 9, 30])
@pytest.mark.parametrize(("name", "head", "row"), [("a.jsonl.gz", 0, JSON), ("a.csv.gz", 14, CSV)])
def test_gzip_data_is_counted_as_far_as_it_goes_when_skipped(name, head, row, cut, jobs, put, call):
    data = row[:head] + row[head:] * 1000
    done = call("eval", put(name, data, cut), *SKIP, "--jobs", jobs, "--json")
    packed = gzip.compress(data)[:-cut]
    whole = zlib.decompressobj(31).decompress(packed).count(b"\n") - bool(head)
    assert (done.code, done.json["n"]) == (0, whole)
    assert 0 < whole <= 3000
    assert f"{name}: the gzip data is cut short, and is left for next time.\n" in done.err


def test_gzip_data_cut_in_the_head_of_a_second_member_is_not_taken_for_whole(put, folder, call):
    (folder / "a.jsonl.gz").write_bytes(gzip.compress(JSON) + gzip.compress(JSON)[:5])
    assert "cut short" in call("eval", "a.jsonl.gz").err
    done = call("eval", "a.jsonl.gz", *SKIP, "--json")
    assert (done.json["n"], "cut short" in done.err) == (3, True)


def test_partial_last_line_is_named_once_when_the_files_are_read_twice(put, call):
    done = call("eval", put("a.jsonl", JSON[:-9]), *SKIP, "--by", "y_pred", "--json")
    assert done.json["n"] == 2
    assert done.err.count("next time") == 1


def test_partial_last_line_of_every_file_is_left_out(put, call):
    files = [put("a.jsonl", JSON[:-9]), put("b.csv", CSV[:-3]), put("c.csv", CSV)]
    done = call("eval", *files, *SKIP, "--json")
    assert done.json["n"] == 7
    assert done.err.count("next time") == 2


def test_partial_last_line_of_standard_input_is_left_out(stdin, call):
    stdin(JSON[:-9])
    done = call("eval", "-", *SKIP, "--json")
    assert done.json["n"] == 2
    assert f"standard input: {NO_NEWLINE}, and is left for next time." in done.err


def test_skipping_a_partial_last_line_is_no_option_of_runs(put, call):
    run, qrels = put("a.run", b"q1 Q0 d1 1 2.5 x\n"), put("a.qrels", b"q1 0 d1 1\n")
    done = call("eval", run, "--task", "ranking", "--qrels", qrels, *SKIP)
    assert done.code == 2
    assert "--partial-last-line cannot be used with --qrels" in done.err
