import gzip
import io
import math
import pickle
import shutil
import subprocess
import sys
import tracemalloc
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from offenders import each

import streameval as se
from streameval.io import Qrels, Run, iter_run, lines, read_qrels, read_run

DATA = Path(__file__).parents[2] / "docs" / "data"
BLANK = " \t"
IDS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters=" \t\r\n\0\ufeff"), min_size=1
).filter(lambda text: not text.startswith("#"))
NUMBERS = {"run": st.floats(allow_nan=False), "qrels": st.floats(-9, 9) | st.integers(-9, 9)}
TAGGED, UNTAGGED = ("{0}", "Q0", "{1}", "1", "{2!r}", "tag"), ("{0}", "Q0", "{1}", "1", "{2!r}")
JUDGED = ("{0}", "0", "{1}", "{2!r}")


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a file beside which the test stands, and return its name."""
    monkeypatch.chdir(tmp_path)

    def write_file(data, name="a.run"):
        (tmp_path / name).write_bytes(data if isinstance(data, bytes) else data.encode())
        return name

    return write_file


def pairs_of(kind):
    """Rows in any order, no query with a document twice."""
    row = st.tuples(st.sampled_from(["q1", "q2", "q3"]) | IDS, IDS, NUMBERS[kind])
    return st.lists(row, max_size=20, unique_by=lambda row: row[:2])


def laid_out(draw, rows, fields):
    """Say rows in one of the many ways."""
    gaps, ends = st.text(BLANK, min_size=1, max_size=2), st.sampled_from(["\n", "\r\n"])
    noise = st.sampled_from(["", "", "", "\n", " \t\r\n", "#\n", "# Q0 b 1 0.5 tag\r\n", " #é\n"])
    text = draw(noise)
    for row in rows:
        line = draw(st.text(BLANK, max_size=1))
        for field in fields:
            line += field.format(*row) + draw(gaps)
        text += line + draw(ends) + draw(noise)
    text = text.removesuffix("\n") if draw(st.booleans()) else text
    data = draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + text.encode()
    return gzip.compress(data, 1) if draw(st.booleans()) else data


def dicts_of(rows):
    found = {}
    for query, doc, number in rows:
        found.setdefault(query, {})[doc] = number
    return found


def rows_of(held):
    numbers = held.score if isinstance(held, Run) else held.relevance
    assert (held.query.dtype, held.doc.dtype, numbers.dtype) == (object, object, np.float64)
    return list(zip(held.query.tolist(), held.doc.tolist(), numbers.tolist(), strict=True))


@pytest.fixture(scope="module")
def shared_file(tmp_path_factory):
    return tmp_path_factory.mktemp("trec") / "file"


@given(data=st.data(), rows=pairs_of("run"), size=st.sampled_from([2, 40, 300, 10**6]))
def test_run_is_read_as_it_was_written(data, rows, size, shared_file):
    fields = data.draw(st.sampled_from([TAGGED, UNTAGGED]))
    shared_file.write_bytes(laid_out(data.draw, rows, fields))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "PIECE_BYTES", size)
        run = read_run(shared_file)
    assert isinstance(run, Run)
    assert rows_of(run) == rows
    assert dict(run) == dicts_of(rows)
    assert list(run) == list(dicts_of(rows))


@given(data=st.data(), rows=pairs_of("qrels"), size=st.sampled_from([2, 40, 300, 10**6]))
def test_qrels_are_read_as_they_were_written(data, rows, size, shared_file):
    shared_file.write_bytes(laid_out(data.draw, rows, JUDGED))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "PIECE_BYTES", size)
        qrels = read_qrels(shared_file)
    assert isinstance(qrels, Qrels)
    assert rows_of(qrels) == rows
    assert dict(qrels) == dicts_of(rows)
    assert list(qrels) == list(dicts_of(rows))


@given(
    data=st.data(),
    rows=pairs_of("run"),
    size=st.sampled_from([2, 40, 300, 10**6]),
    least=st.integers(1, 9),
)
def test_pieces_of_a_run_are_whole_queries_and_join_to_it(data, rows, size, least, shared_file):
    together = sorted(rows, key=lambda row: [row[0] for row in rows].index(row[0]))
    shared_file.write_bytes(laid_out(data.draw, together, TAGGED))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "PIECE_BYTES", size)
        found = list(iter_run(shared_file, rows=least))
    assert [row for run in found for row in rows_of(run)] == together
    assert sum(map(len, found)) == len({row[0] for row in rows})
    assert all(len(run.doc) >= least for run in found[:-1])
    assert all(len(run.doc) > 0 for run in found)
    if size == 2:  # a piece for every line, so that the cut comes as soon as it may
        sizes = {name: len(docs) for name, docs in dicts_of(rows).items()}
        assert all(len(run.doc) - sizes[list(run)[-1]] < least for run in found)


@each("name", ["digits_retrieval.run.gz", "digits_retrieval.qrels.gz"])
def test_file_of_the_docs_is_read_as_by_splitting_its_lines(name):
    with gzip.open(DATA / name, "rt", encoding="utf-8") as file:
        fields = [line.split() for line in file]
    held = read_run(DATA / name) if "run" in name else read_qrels(DATA / name)
    at = 4 if "run" in name else 3
    assert rows_of(held) == [(row[0], row[2], float(row[at])) for row in fields]


RUN_LAYOUT = "a run has 6 fields (qid Q0 docid rank score tag)"
QRELS_LAYOUT = "qrels have 4 fields (qid iter docid rel)"
BAD_RUNS = [
    ("q9", f"{RUN_LAYOUT}, and this row has 1"),
    ("q9 Q0 d9 1", f"{RUN_LAYOUT}, and this row has 4"),
    ("q9 Q0 d9 1 high tag and more", "`score` must be a number, got 'high'"),
    ("q9 Q0 d9 1 0.5", "the first row has 6 fields, and this row has 5"),
    ("q9 Q0 d9 1 high tag", "`score` must be a number, got 'high'"),
    ("q9 Q0 d9 1 0,5 tag", "`score` must be a number, got '0,5'"),
    ("q9 Q0 d9 1 1_000 tag", "`score` must be a number, got '1_000'"),
    ("q9 Q0 d9 1 nan tag", "`score` must be a number, got 'nan'"),
    ("q9 Q0 d9 1 -NaN tag", "`score` must be a number, got '-NaN'"),
    (f"q9 Q0 d9 1 {'x' * 99} tag", f"`score` must be a number, got '{'x' * 17}...{'x' * 18}'"),
    (b"q9 Q0 d\xff 1 0.5 tag", "not UTF-8"),
    (b"q9 Q0 d9 1 0.5 t\xe9g", "not UTF-8"),
    (b"q9 Q0 d\0 1 0.5 tag", "holds a NUL byte"),
    (b"q9 Q0 d9 1 \0 tag", "holds a NUL byte"),
    (b"q9 Q0 d9 1 0.5 tag \0 q9 Q0 d8 1 0.5 tag", "holds a NUL byte"),
    (b"q9 Q0 d9 1 0.5 tag more \0", "holds a NUL byte"),
    (b"q9 Q0 d9 1 0.5 tag more caf\xe9", "not UTF-8"),
]
BAD_QRELS = [
    ("q9 0 d9", "the first row has 4 fields, and this row has 3"),
    ("q9 0", f"{QRELS_LAYOUT}, and this row has 2"),
    ("q9 Q0 d9 1 0.5 tag", f"{QRELS_LAYOUT}, and this row has 6"),
    ("q9 0 d9 good", "`rel` must be a finite number, got 'good'"),
    ("q9 0 d9 nan", "`rel` must be a finite number, got 'nan'"),
    ("q9 0 d9 -inf", "`rel` must be a finite number, got '-inf'"),
    ("q9 0 d9 1e999", "`rel` must be a finite number, got '1e999'"),
    (b"\xff 0 d9 1", "not UTF-8"),
    (b"q9 0 d\0 1", "holds a NUL byte"),
]


@each("size", [2, 10**6])
@each(("line", "reason"), BAD_RUNS)
@each("read", [read_run, lambda name: list(iter_run(name))])
def test_bad_line_of_a_run_is_named(read, line, reason, size, write, monkeypatch):
    monkeypatch.setattr(lines, "PIECE_BYTES", size)
    line = line if isinstance(line, bytes) else line.encode()
    name = write(b"# run\n\nq1 Q0 d1 1 2 tag\n" + line + b"\nbad\nq1 Q0 d3 2 1 tag\n")
    with pytest.raises(se.BadDataError) as caught:
        read(name)
    assert str(caught.value) == f"a.run, line 4: {reason}."


@each("size", [2, 10**6])
@each(("line", "reason"), BAD_QRELS)
def test_bad_line_of_qrels_is_named(line, reason, size, write, monkeypatch):
    monkeypatch.setattr(lines, "PIECE_BYTES", size)
    line = line if isinstance(line, bytes) else line.encode()
    name = write(b"# qrels\n\nq1 0 d1 1\n" + line + b"\nbad\nq1 0 d3 1\n", "qrels")
    with pytest.raises(se.BadDataError) as caught:
        read_qrels(name)
    assert str(caught.value) == f"qrels, line 4: {reason}."


def test_judgements_of_beir_are_read(write):
    name = write("query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0\n", "qrels.tsv")
    assert read_qrels(name) == read_qrels(write("q1 0 d1 1\nq1 0 d2 0\n", "qrels"))
    with pytest.raises(se.BadDataError, match="line 2: `rel` must be a finite number, got 'yes'"):
        read_qrels(write("q1\td1\t1\nq1\td2\tyes\n", "qrels.tsv"))


@each(("read", "layout"), [(read_run, RUN_LAYOUT), (read_qrels, QRELS_LAYOUT)])
def test_bad_first_row_is_named(read, layout, write):
    with pytest.raises(se.BadDataError) as caught:
        read(write("\n#\nq1,d1,0.5\n"))
    said = f"a.run, line 3: {layout}, and this row has 1 (`sed -E "
    assert str(caught.value).startswith(said)


MADE = [
    (read_run, "q1\td1\t1\nq1\td2\t2\n", "; before a rank, ' 0 -'"),
    (read_run, "qid,doc,score\nq1,d1,-1\nq1,d2,-2\n", ""),
    (read_run, "q1,Q0,d1,1,-1,tag\nq1,Q0,d2,2,-2,tag\n", ""),
    (read_qrels, "q1,0,d1,-1\nq1,0,d2,-2\n", ""),
    (read_run, "qid doc score\nq1 d1 -1\nq1 d2 -2\n", ""),
    (read_run, '{"q1": {"d1": -1, "d2": -2}}', ""),
    (read_qrels, "qid,doc,rel\nq1,d1,-1\nq1,d2,-2\n", ""),
    (read_qrels, '{"q1": {"d1": -1, "d2": -2}}', ""),
]


@pytest.mark.parametrize(("read", "text", "of_rank"), MADE)
def test_command_in_a_message_makes_rows(read, text, of_rank, write):
    name = write(text)
    with pytest.raises(se.BadDataError) as caught:
        read(name)
    command = str(caught.value).split("`")[1]
    command = command.replace(" 0 /2", " 0 -/2") if of_rank else command
    assert of_rank in str(caught.value)
    if not shutil.which(command.split()[0]):
        pytest.skip("needs jq")
    made = subprocess.run(["sh", "-c", command], input=text.encode(), stdout=-1, check=True)
    assert read(write(made.stdout)) == {"q1": {"d1": -1.0, "d2": -2.0}}


def test_rows_of_one_piece_cannot_make_up_for_each_other(write):
    name = write("q1 Q0 d1 1 2 tag\nq1 Q0 d2 2 1\ntag q1 Q0 d3 2 1 tag\n")
    with pytest.raises(se.BadDataError, match=r"^a\.run, line 2: the first row has 6 fields, and"):
        read_run(name)


def test_tag_is_missing_everywhere_or_nowhere(write):
    name = write("q1 Q0 d1 1 2\nq1 Q0 d2 2 1 tag\n")
    with pytest.raises(se.BadDataError, match=r"line 2: the first row has 5 fields, and this .* 6"):
        read_run(name)


MORE = [
    "a Q0 x 1 3 tag\na Q0 y 1 2 tag more\nb\tQ0 x 1 1 tag and  more \r\n",
    "a Q0 x 1 3 tag more\na Q0 y 1 2 tag more\nb Q0 x 1 1 tag more\n",
    "# run\na Q0 x 1 3 tag more and more\na Q0 y 1 2 tag\n\nb Q0 x 1 1 tag # not a comment\n",
]


@pytest.mark.parametrize("size", [2, 10**6])
@pytest.mark.parametrize("text", MORE, ids=["in some", "in all", "in the first"])
@pytest.mark.parametrize("read", [read_run, lambda name: next(iter_run(name))], ids=["all", "iter"])
def test_fields_after_the_tag_are_ignored(read, text, size, write, monkeypatch):
    monkeypatch.setattr(lines, "PIECE_BYTES", size)
    assert rows_of(read(write(text))) == [("a", "x", 3.0), ("a", "y", 2.0), ("b", "x", 1.0)]


def test_fields_may_not_follow_a_tag_that_the_first_row_lacks(write):
    name = write("q1 Q0 d1 1 2\nq1 Q0 d2 2 1 tag more\n")
    with pytest.raises(se.BadDataError, match=r"line 2: the first row has 5 fields, and this .* 7"):
        read_run(name)


def test_scores_may_be_infinite(write):
    run = read_run(write("q Q0 d1 1 inf t\nq Q0 d2 2 -Infinity t\nq Q0 d3 3 1e3 t\n"))
    assert run.score.tolist() == [math.inf, -math.inf, 1000.0]


@each("comment", ["#", "# Q0 d2 1 0.5 tag", "#q Q0 d2 1 0.5 t", "\t# bm25"])
def test_comment_is_no_row(comment, write):
    text = f"q Q0 d1 1 1 t\n{comment}\nq Q0 d#3 1 1 #t\n"
    assert dict(read_run(write(text))) == {"q": {"d1": 1.0, "d#3": 1.0}}


def test_bytes_of_a_comment_are_not_looked_at(write):
    assert len(read_run(write(b"# caf\xe9\0\nq Q0 d 1 1 t\n# caf\xe9\n"))) == 1


REPEATED = "q1 Q0 d1 1 5 t\nq1 Q0 d2 2 4 t\n#\nq2 Q0 d1 1 5 t\nq2 Q0 d1 1 5 t\n"


@pytest.mark.parametrize(
    ("text", "line", "doc", "query", "before"),
    [
        ("q1 Q0 d1 1 5 t\nq1 Q0 d1 2 4 t\n", 2, "d1", "q1", 1),
        (REPEATED, 5, "d1", "q2", 4),
        (REPEATED + "q2 Q0 d1 1 5 t\n", 5, "d1", "q2", 4),
        ("q1 Q0 a 1 5\nq1 Q0 b 1 5\nq1 Q0 b 1 5\nq1 Q0 a 1 5\n", 3, "b", "q1", 2),
    ],
    ids=["at once", "second query", "three times", "two of them"],
)
@pytest.mark.parametrize("size", [2, 10**6])
@pytest.mark.parametrize("read", [read_run, lambda name: list(iter_run(name))], ids=["all", "iter"])
def test_document_given_again_is_named(
    read, size, text, line, doc, query, before, write, monkeypatch
):
    monkeypatch.setattr(lines, "PIECE_BYTES", size)
    with pytest.raises(se.BadDataError) as caught:
        read(write(text))
    reason = f"document '{doc}' of query '{query}' is already on line {before}"
    assert str(caught.value) == f"a.run, line {line}: {reason}."


def test_first_document_given_again_is_named_when_queries_are_mixed(write):
    text = "q1 0 d1 1\nq2 0 d1 1\nq2 0 d2 1\nq2 0 d2 1\nq1 0 d1 1\n"
    with pytest.raises(se.BadDataError, match=r"^a, line 4: document 'd2' of query 'q2' .* line 3"):
        read_qrels(write(text, "a"))


def test_queries_of_a_run_may_be_mixed(write):
    run = read_run(write("b Q0 x 1 4 t\na Q0 x 1 3 t\nb Q0 y 2 2 t\na Q0 z 2 1 t\n"))
    assert run["b"] == {"x": 4.0, "y": 2.0}
    assert run["a"] == {"x": 3.0, "z": 1.0}
    assert list(run) == ["b", "a"]


def test_documents_of_a_query_keep_their_order(write):
    run = read_run(write("".join(f"q{n % 3} Q0 d{n} 1 {n % 5} t\n" for n in range(600))))
    assert list(run["q1"]) == [f"d{n}" for n in range(1, 600, 3)]


@pytest.mark.parametrize("size", [2, 10**6])
@pytest.mark.parametrize("rows", [1, 100])
def test_query_that_comes_back_is_named(size, rows, write, monkeypatch):
    monkeypatch.setattr(lines, "PIECE_BYTES", size)
    name = write("b Q0 x 1 4 t\n\na Q0 x 1 3 t\nb Q0 y 2 2 t\n")
    with pytest.raises(se.BadDataError) as caught:
        list(iter_run(name, rows=rows))
    reason = "query 'b' comes back after another; `read_run` reads queries in any order"
    assert str(caught.value) == f"a.run, line 4: {reason}."


def test_queries_before_a_bad_line_are_given_first(write, monkeypatch):
    monkeypatch.setattr(lines, "PIECE_BYTES", 2)
    pieces = iter_run(write("a Q0 x 1 4 t\nb Q0 x 1 3 t\nbad\n"), rows=1)
    assert list(next(pieces)) == ["a"]
    with pytest.raises(se.BadDataError):
        next(pieces)


@each("data", [b"", b"\n", b"# nothing\n", b"\xef\xbb\xbf", gzip.compress(b"", mtime=0)])
def test_file_without_rows_is_empty(data, write):
    name = write(data)
    run, qrels = read_run(name), read_qrels(name)
    assert (len(run), run.query.shape, run.doc.shape, run.score.shape) == (0, (0,), (0,), (0,))
    assert (len(qrels), rows_of(qrels), dict(qrels)) == (0, [], {})
    assert list(iter_run(name)) == []


@each("read", [read_run, read_qrels, lambda name: list(iter_run(name))])
@each(
    ("name", "message"),
    [
        ("absent", "absent: no such file or directory."),
        (".", ".: is a directory; name the files in it."),
        ("cut.gz", "cut.gz: the gzip data is cut short."),
    ],
)
def test_file_that_cannot_be_read_is_named(read, name, message, write):
    line = b"q 0 d 1\n" if read is read_qrels else b"q Q0 d 1 0.5 t\n"
    write(gzip.compress(line * 99)[:-9], "cut.gz")
    with pytest.raises(se.BadDataError) as caught:
        read(name)
    assert str(caught.value) == message


def test_run_is_read_from_standard_input(monkeypatch):
    def type_in(data):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))

    type_in(b"q Q0 d 1 0.5 t\n")
    assert read_run("-")["q"] == {"d": 0.5}
    type_in(b"q Q0 d 1 0.5 t\n")
    assert [dict(run) for run in iter_run("-")] == [{"q": {"d": 0.5}}]
    type_in(b"q 0 d 1\nq 0 d 1\n")
    with pytest.raises(se.BadDataError, match=r"^standard input, line 2: document 'd' of query"):
        read_qrels("-")


@each("path", [b"a.run", Path("a.run"), "a.run"])
def test_path_may_be_of_any_type(path, write):
    write("q Q0 d 1 0.5 t\n")
    assert read_run(path)["q"] == {"d": 0.5}


@each("read", [read_run, read_qrels, iter_run])
def test_path_that_is_none_is_refused(read):
    with pytest.raises(se.InvalidInputError, match=r"^`path` must be the path of a file, got list"):
        read([])


def test_number_of_rows_is_checked_before_anything_is_read():
    with pytest.raises(se.InvalidInputError, match=r"^`rows` must be an integer of at least 1"):
        iter_run("absent", rows=0)


@pytest.fixture
def run(write):
    return read_run(write("b Q0 x 1 4 t\nb Q0 y 2 2 t\na Q0 x 1 3 t\n"))


def test_run_is_a_mapping_from_query(run):
    assert (len(run), list(run), "a" in run, "c" in run) == (2, ["b", "a"], True, False)
    assert list(run.items()) == [("b", {"x": 4.0, "y": 2.0}), ("a", {"x": 3.0})]
    assert run.get("c") is None
    with pytest.raises(KeyError, match="'c'"):
        run["c"]


def test_run_gives_a_new_dict_each_time(run):
    run["b"].clear()
    assert run["b"] == {"x": 4.0, "y": 2.0}


def test_run_finds_the_rows_of_queries_once(run):
    found = run._index
    assert run["a"]
    assert run._index is found


def test_run_shows_its_size(run, write):
    assert repr(run) == "Run(queries=2, rows=3)"
    assert repr(read_qrels(write("q 0 d 1\n"))) == "Qrels(queries=1, rows=1)"


def test_runs_are_equal_as_mappings_are(run, write):
    other = "a Q0 x 9 3 tag\nb Q0 y 9 2 tag\nb Q0 x 9 4 tag\n"
    assert run == read_run(write(other))
    assert run == {"b": {"x": 4, "y": 2}, "a": {"x": 3}}
    assert run != read_run(write(other.replace("3", "5")))


def test_run_is_frozen(run):
    with pytest.raises(AttributeError):
        run.score = run.score + 1


def test_run_pickles(run):
    assert pickle.loads(pickle.dumps(run)) == run


@pytest.mark.usefixtures("small_pieces")
def test_equal_queries_are_one_object(write):
    run = read_run(write("query Q0 x 1 4 t\nother Q0 y 2 2 t\nquery Q0 z 1 3 t\n"))
    assert run.query[0] is run.query[2]


def peak_of_pieces(path, rows):
    tracemalloc.start()
    try:
        assert sum(len(run.doc) for run in iter_run(path, rows=rows)) > 0
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_memory_of_pieces_does_not_grow_with_the_run(write, monkeypatch):
    monkeypatch.setattr(lines, "PIECE_BYTES", 2**14)
    peaks = []
    for n_queries in (20, 160):
        rows = (f"q{n // 200} Q0 document{n} 1 {n} t\n" for n in range(200 * n_queries))
        peaks.append(peak_of_pieces(write("".join(rows)), 1000))
    assert peaks[1] < 1.2 * peaks[0] + 50_000
    assert peaks[1] < 2**20
