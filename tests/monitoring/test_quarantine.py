"""Rows that are not counted go to a file, with where and why."""

import json
import sqlite3

import pytest
from monitoring.memory import Clock, Rows

import streameval as se
from streameval.errors import BadDataError, InvalidInputError
from streameval.monitoring import quarantine
from streameval.monitoring.quarantine import CommittedLines


def a_monitor(folder, predictions, labels=None, **options):
    joins = {} if labels is None else {"labels": labels, "key": "id", "wait": "1m"}
    windowed = se.Windowed(se.PRCurveSketch(), pane="1m", keep="3h", unit="s")
    return se.Monitor(
        folder / "ck.db",
        windowed,
        predictions=predictions,
        time="ts",
        clock=Clock(),
        **{"quarantine": folder / "q.jsonl", "max_bad": 5, **joins, **options},
    )


def finished(one):
    with one:
        while not one.step().is_idle:
            pass
        return one.status()


def read(folder, name="q.jsonl"):
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


def scored(number, **others):
    return {"id": number, "ts": 1000 + number, "y_score": 0.5, "y_true": 1, **others}


def test_bad_rows_are_written_with_where_and_why(tmp_path):
    rows = [scored(0), "{broken", scored(1, y_score=7), scored(2, ts=1_800_000_000), scored(3)]
    status = finished(a_monitor(tmp_path, Rows("p", a=rows)))
    lines = read(tmp_path)
    assert [(one["position"], one["reason"]) for one in lines] == [
        (2, "unreadable"),
        (3, "refused"),
        (4, "future"),
    ]
    assert lines[0]["row"] == "{broken"
    assert {(one["role"], one["source"], one["unit"]) for one in lines} == {
        ("predictions", "p/a", "line")
    }
    assert "[0, 1]" in lines[1]["error"]
    assert [status.counters[one["reason"]] for one in lines] == [1, 1, 1]


def test_the_good_rows_beside_bad_labels_keep_their_positions(tmp_path):
    labels = [{"id": n, "ts": 1000 + n, "y_true": 1} for n in range(3)]
    labels[1]["y_true"] = 7
    labels += [{"id": "nobody", "ts": 1004, "y_true": 1}, {"id": 9, "ts": 1200, "y_true": 1}]
    predictions = [{"id": n, "ts": 1000 + n, "y_score": 0.5} for n in (0, 1, 2, 200)]
    finished(a_monitor(tmp_path, Rows("p", a=predictions), Rows("l", a=labels)))
    lines = {one["reason"]: one for one in read(tmp_path)}
    assert lines["refused"]["position"] == 2
    assert lines["orphan_expired"]["position"] == 4


def test_a_long_row_is_cut_and_says_so(tmp_path):
    finished(a_monitor(tmp_path, Rows("p", a=[scored(0), "x" * 5000, "y" * 4096])))
    cut, whole = read(tmp_path)
    assert (len(cut["row"]), cut["cut"]) == (4096, True)
    assert (len(whole["row"]), "cut" in whole) == (4096, False)


@pytest.mark.parametrize("size", [pytest.param(100, marks=pytest.mark.slow), 10**6])
@pytest.mark.parametrize("options", [{}, {"settle": "10s"}, {"out_of_order": "20s"}], ids=str)
def test_late_and_unmatched_labels_are_written_with_their_rows(tmp_path, size, options):
    labels = [{"id": n, "ts": 1005 + n, "y_true": 1} for n in range(100)]
    labels[3]["ts"], labels[4]["id"] = 1073, "nobody"
    labels.sort(key=lambda row: row["ts"])
    later = [{"id": 500 + n, "ts": 1300 + n, "y_true": 1} for n in range(100)]
    predictions = [{"id": n, "ts": 1000 + n, "y_score": 0.5} for n in range(100)]
    more = [{**row, "y_score": 0.5} for row in later]
    sources = Rows("p", a=predictions + more), Rows("l", a=labels + later)
    sizes = {"read_bytes": size, "commit_bytes": size}
    status = finished(a_monitor(tmp_path, *sources, **sizes, **options))
    found = {one["reason"]: json.loads(one["row"]) for one in read(tmp_path)}
    assert found["late_label"] == {"id": 3, "ts": 1073, "y_true": 1}
    assert found["orphan_expired"]["id"] == "nobody"
    assert [status.counters[reason] for reason in found] == [1, 1]
    with sqlite3.connect(tmp_path / "ck.db") as base:  # nothing is held of what is decided
        assert base.execute("SELECT count(*) FROM label_row WHERE time < 1200e6").fetchone() == (0,)


def unmatched(folder, **options):
    """Read a label that is undecided at a commit; once there are later ones, it is unmatched."""
    predictions, labels = (
        Rows(name, a=[{"id": 0, "ts": 1000, "y_score": 0.5, "y_true": 1}]) for name in "pl"
    )
    labels.add("a", {"id": "nobody", "ts": 1001, "y_true": 1})
    finished(a_monitor(folder, predictions, labels, **options))
    for source in (predictions, labels):
        source.add("a", {"id": 1, "ts": 1300, "y_score": 0.5, "y_true": 1})
    return predictions, labels


def test_the_row_of_an_unmatched_label_outlives_a_restart(tmp_path):
    finished(a_monitor(tmp_path, *unmatched(tmp_path)))
    (line,) = read(tmp_path)
    assert (line["source"], line["position"]) == ("l/a", 2)
    assert json.loads(line["row"])["id"] == "nobody"


def test_a_label_that_was_read_without_a_quarantine_has_no_row(tmp_path):
    finished(a_monitor(tmp_path, *unmatched(tmp_path, quarantine=None)))
    (line,) = read(tmp_path)
    assert (line["reason"], line["source"], line["row"]) == ("orphan_expired", None, None)


def test_rows_of_labels_are_held_up_to_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr("streameval.monitoring.checkpoint.MAX_BYTES", 10)
    finished(a_monitor(tmp_path, *unmatched(tmp_path)))
    assert [line["row"] for line in read(tmp_path)] == [None]


def test_rows_of_labels_go_when_there_is_no_quarantine(tmp_path):
    sources = unmatched(tmp_path)
    finished(a_monitor(tmp_path, *sources, quarantine=None))
    with sqlite3.connect(tmp_path / "ck.db") as base:
        tables = base.execute("SELECT name FROM sqlite_master WHERE name = 'label_row'")
        assert tables.fetchall() == []


def test_labels_of_other_shards_are_not_written(tmp_path):
    n_lines = 0
    for part in "12":
        folder = tmp_path / part
        folder.mkdir()
        finished(a_monitor(folder, *unmatched(folder, shard=f"{part}/2"), shard=f"{part}/2"))
        n_lines += len(read(folder))
    assert n_lines == 1


def test_too_many_bad_rows_are_shown_until_the_next_start(tmp_path):
    rows = Rows("p", a=[scored(0), "{one", "{two"])
    with pytest.raises(BadDataError, match="max_bad"):
        finished(a_monitor(tmp_path, rows, max_bad=1))
    assert [one["row"] for one in read(tmp_path)] == ["{one", "{two"]
    finished(a_monitor(tmp_path, rows, max_bad=2))
    assert [one["row"] for one in read(tmp_path)] == ["{one", "{two"]


def test_a_quarantine_that_cannot_be_written_hides_no_error(tmp_path, monkeypatch):
    def fail(*_):
        raise BadDataError("the disk is full.")

    monkeypatch.setattr(quarantine.Quarantine, "write", fail)
    with pytest.raises(BadDataError, match="max_bad"):
        finished(a_monitor(tmp_path, Rows("p", a=[scored(0), "{", "{"]), max_bad=1))


def test_a_monitor_without_a_quarantine_fails_as_well(tmp_path):
    with pytest.raises(BadDataError, match="line 2: not JSON"):
        finished(a_monitor(tmp_path, Rows("p", a=[scored(0), "{"]), max_bad=0, quarantine=None))


@pytest.mark.parametrize("name", ["ck.db", "p.jsonl"])
def test_a_quarantine_that_is_another_file_of_the_monitor_is_refused(tmp_path, name):
    (tmp_path / "p.jsonl").write_text("")
    with pytest.raises(InvalidInputError, match="quarantine"):
        a_monitor(tmp_path, str(tmp_path / "p.jsonl"), quarantine=tmp_path / name)


def test_a_file_of_something_else_is_refused(tmp_path):
    (tmp_path / "q.jsonl").write_text("mine\n")
    with pytest.raises(BadDataError, match="does not belong to this checkpoint"):
        finished(a_monitor(tmp_path, Rows("p", a=[scored(0)])))
    assert (tmp_path / "q.jsonl").read_text() == "mine\n"


LINES = [f"{number:09}\n" for number in range(100)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "lines"


def a_file(path, state=None):
    """Make a file of at most 5 lines, with 5 in the one before it."""
    file = CommittedLines(str(path), 100)
    return file, file.restore(state)


def test_a_long_file_gets_another_name(path):
    file, _ = a_file(path)
    for line in LINES[:12]:
        file.append([line])
    assert path.read_text() == "".join(LINES[10:12])
    assert path.with_name("lines.1").read_text() == "".join(LINES[5:10])


def test_of_many_lines_the_last_are_kept(path):
    file, _ = a_file(path)
    file.append(LINES)
    assert path.read_text() == "".join(LINES[-5:])


@pytest.mark.parametrize("n_more", [1, 3, 50])
def test_a_rename_that_was_not_committed_is_taken_back(path, n_more):
    file, _ = a_file(path)
    state = file.append(LINES[:4])
    file.append(LINES[4 : 4 + n_more + 1])
    _, again = a_file(path, state)
    assert (path.read_text(), again) == ("".join(LINES[:4]), state)


def test_a_file_that_was_moved_away_begins_again(path):
    file, _ = a_file(path)
    state = file.append(LINES[:4])
    path.rename(path.with_name("looked at"))
    file, state = a_file(path, state)
    assert state["length"] == 0
    path.unlink()
    assert file.append(LINES[4:6])["length"] == 20
    assert path.read_text() == "".join(LINES[4:6])


def test_a_file_that_is_not_bounded_must_not_shrink(path):
    file = CommittedLines(str(path))
    file.restore(None)
    state = file.append(LINES)
    path.write_text("")
    with pytest.raises(BadDataError, match="is shorter than what was committed"):
        CommittedLines(str(path)).restore(state)


def test_a_file_without_another_before_it_has_none(path):
    assert quarantine._inode(str(path)) is None
    path.touch()
    assert quarantine._inode(str(path)) == path.stat().st_ino
