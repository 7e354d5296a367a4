"""The file of a checkpoint: what it refuses, how it grows, who may read it."""

import os
import shutil
import socket
import sqlite3
import tracemalloc
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import streameval as se
from streameval.monitoring.checkpoint import (
    Changes,
    Checkpoint,
    _compact,
    _reading,
    copy_checkpoint,
    is_checkpoint,
    read_checkpoint,
    read_numbers,
)
from streameval.monitoring.status import SliceRows, Weights

EMPTY = se.Windowed(se.ConfusionAccumulator(), pane=10)


def rows_of(*times):
    return EMPTY.copy().update(
        {"y_true": [1] * len(times), "y_pred": [1] * len(times), "time": times}
    )


class Writer:
    """A checkpoint, and everything that has been committed to it."""

    def __init__(self, path):
        self.checkpoint = Checkpoint(path)
        self.checkpoint.begin({"key": "id"}, EMPTY)
        self.total = EMPTY.copy()
        self.number = 0

    def commit(self, rows=EMPTY, **changes):
        self.total.merge(rows)
        self.number += 1
        data = b"" if rows.newest is None else rows.to_bytes()
        given = {"state": {}, "positions": {}} | changes
        changes = Changes(rows=data, total=self.total, **given)
        self.checkpoint.commit(self.number, changes)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ck.db"


@pytest.fixture
def writer(path):
    writer = Writer(path)
    yield writer
    writer.checkpoint.close()


def levels(path):
    with sqlite3.connect(path) as base:
        return [level for (level,) in base.execute("SELECT level FROM piece ORDER BY id")]


def test_checkpoint_holds_what_was_committed(writer, path):
    writer.commit(
        rows_of(1, 2),
        state={"monitor": {"rows": 2}},
        positions={"predictions": {"at": 2}},
        values={"country": ["DE", None]},
        runs={7: b"run"},
        dead={7: b"dead"},
        events=[("a", {"state": "firing"})],
    )
    writer.commit(values={"country": ["FR"]}, runs={8: b"new"}, removed=[7])
    saved = writer.checkpoint.load()
    assert saved.number == 2
    assert saved.windowed == writer.total
    assert saved.state == {"monitor": {"rows": 2}}
    assert saved.positions == {"predictions": {"at": 2}}
    assert saved.values == {"country": ["DE", None, "FR"]}
    assert (saved.runs, saved.dead) == ({8: b"new"}, {})
    assert saved.outbox == [("a", {"state": "firing"})]


def test_delivered_events_leave_the_outbox(writer):
    writer.commit(events=[("a", 1), ("b", 2)])
    writer.checkpoint.note(delivered=["a"])
    assert writer.checkpoint.load().outbox == [("b", 2)]


@pytest.mark.slow
def test_pieces_stay_few_however_many_commits(writer, path):
    writer.commit(rows_of(*range(0, 20_000, 10)))
    for number in range(20):
        writer.commit(rows_of(number))
        found = levels(path)
        assert all(found.count(level) < 16 for level in set(found))
    assert writer.checkpoint.load().windowed == writer.total
    assert levels(path)[0] > 1000
    assert 1 in levels(path)


@pytest.mark.slow
def test_pieces_are_replaced_by_the_whole_once_they_are_as_large(writer, path):
    writer.commit(rows_of(*range(0, 4000, 10)))
    size = len(writer.total.to_bytes())
    n_pieces = 0
    for number in range(40):
        writer.commit(rows_of(*range(number, number + 1000, 10)))
        with sqlite3.connect(path) as base:
            sizes = [length for (length,) in base.execute("SELECT length(data) FROM piece")]
        n_pieces = max(n_pieces, len(sizes))
        assert sum(sizes) <= 3.5 * size
    assert n_pieces > 1
    assert writer.checkpoint.load().windowed.to_bytes() == writer.total.to_bytes()


@pytest.mark.slow
def test_commit_of_a_few_rows_writes_little(writer, path):
    writer.commit(rows_of(*range(0, 350_000, 10)))
    writer.checkpoint._base.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    writer.commit(rows_of(3))
    assert path.with_name("ck.db-wal").stat().st_size < len(writer.total.to_bytes()) / 10


def test_a_running_checkpoint_can_be_read(writer, path):
    writer.commit(rows_of(1))
    saved = read_checkpoint(path)
    assert (saved.number, saved.windowed) == (1, writer.total)


@pytest.fixture
def no_files_beside(path):
    """Let SQLite create no files next to the checkpoint, also where the tests run as root."""

    def forbid(*ends):
        for end in ends:
            path.with_name(f"ck.db{end}").symlink_to("nowhere/file")

    return forbid


def test_an_idle_checkpoint_can_be_read_where_nothing_can_be_written(path, no_files_beside):
    committed(path)
    no_files_beside("-wal", "-shm")
    assert read_checkpoint(path).number == 1
    copy_checkpoint(path, path.with_name("copy.db"))
    assert read_checkpoint(path.with_name("copy.db")).number == 1


def test_a_monitor_that_begins_is_noticed_by_a_reader_that_can_write_nothing(path, no_files_beside):
    committed(path)
    no_files_beside("-wal", "-shm")
    with (
        pytest.raises(se.UnavailableError, match=r"ck\.db: a monitor has begun to write it; try"),
        _reading(path),
    ):
        os.utime(path, (1, 1))


def test_a_checkpoint_that_another_program_locks_is_not_read_as_an_idle_one(path, monkeypatch):
    committed(path)
    monkeypatch.setattr("streameval.monitoring.checkpoint._BUSY_SECONDS", 0.0)
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA locking_mode=EXCLUSIVE")
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(se.UnavailableError, match=r"ck\.db: database is locked\.$"):
            read_checkpoint(path)


def test_commits_beside_an_idle_checkpoint_are_not_left_out(path, no_files_beside, tmp_path):
    writer = Writer(tmp_path / "other.db")
    writer.commit(rows_of(1))
    for end in ("", "-wal"):
        shutil.copy(tmp_path / f"other.db{end}", f"{path}{end}")
    writer.checkpoint.close()
    no_files_beside("-shm")
    with pytest.raises(
        se.BadDataError, match=r"its last commits are in ck\.db-wal, which can only"
    ):
        read_checkpoint(path)


def test_reader_names_a_file_that_is_no_checkpoint(path):
    path.write_text("rows")
    assert not is_checkpoint(path)
    with pytest.raises(se.BadDataError, match=r"ck\.db: is not a checkpoint\.$"):
        read_checkpoint(path)


@pytest.mark.parametrize("read", [read_checkpoint, read_numbers])
def test_reader_says_that_nothing_has_been_committed(path, read):
    Checkpoint(path).close()
    with pytest.raises(se.BadDataError, match=r"ck\.db: nothing has been committed yet\.$"):
        read(path)


def test_second_monitor_is_refused(writer, path):
    with pytest.raises(se.BadDataError, match=r"ck\.db: another monitor holds this checkpoint"):
        Checkpoint(path)


def test_forked_process_does_not_hold_a_checkpoint(path):
    held = Checkpoint(path)
    ours, theirs = socket.socketpair()
    child = os.fork()
    if not child:  # it lives on when its parent has ended
        ours.close()
        theirs.send(b"x")
        theirs.recv(1)
        os._exit(0)
    theirs.close()
    ours.recv(1)
    try:
        with pytest.raises(se.BadDataError, match="another monitor holds this checkpoint"):
            Checkpoint(path)
        held.close()
        Checkpoint(path).close()
    finally:
        ours.close()
        os.waitpid(child, 0)


def test_closed_checkpoint_can_be_held_again(path):
    Checkpoint(path).close()
    again = Checkpoint(path)
    with pytest.raises(se.BadDataError, match="another monitor holds this checkpoint"):
        Checkpoint(path)
    again.close()


@pytest.mark.parametrize("text", ["rows, and more of them", "SQLite format 3"])
def test_file_of_another_type_is_refused_and_left_alone(path, text):
    path.write_text(text)
    with pytest.raises(se.BadDataError, match="exists and is not a checkpoint"):
        Checkpoint(path)
    assert path.read_text() == text
    assert [file.name for file in path.parent.iterdir()] == ["ck.db"]


def test_database_of_another_program_is_refused(path):
    with sqlite3.connect(path) as base:
        base.execute("CREATE TABLE mine (a)")
    with pytest.raises(se.BadDataError, match="exists and is not a checkpoint"):
        Checkpoint(path)
    with pytest.raises(se.BadDataError, match="is not a checkpoint"):
        read_checkpoint(path)


def test_empty_file_becomes_a_checkpoint(path):
    path.touch()
    Checkpoint(path).close()
    assert is_checkpoint(path)


def test_missing_folder_is_named(tmp_path):
    with pytest.raises(se.BadDataError, match=r"ck\.db: there is no such folder"):
        Checkpoint(tmp_path / "absent" / "ck.db")


def test_folder_is_no_checkpoint(tmp_path):
    with pytest.raises(se.BadDataError, match="is a directory"):
        Checkpoint(tmp_path)


def test_file_that_cannot_be_read_is_no_checkpoint(tmp_path):
    assert not is_checkpoint(tmp_path / "absent")


@pytest.mark.parametrize("read", [Checkpoint, read_checkpoint])
def test_checkpoint_of_a_newer_release_is_refused(path, read):
    Writer(path).checkpoint.close()
    with sqlite3.connect(path) as base:
        base.execute("PRAGMA user_version = 9")
    with pytest.raises(se.UnsupportedVersionError, match=r"ck\.db: a newer release .* version 9"):
        read(path)


SLICED = se.Windowed(se.Sliced(se.ConfusionAccumulator(), "country", values=["DE"]), pane=10)


def commit_sliced(held, number, time, *truths):
    """Commit rows, and return what a monitor would hold then."""
    batch = {"y_true": truths, "y_pred": [1] * len(truths), "country": ["DE"] * len(truths)}
    rows = SLICED.copy().update(batch | {"time": np.full(len(truths), time)})
    total = held.load().windowed.merge(rows)
    changes = Changes(rows=rows.to_bytes(), total=total, state={}, positions={})
    held.commit(number, changes)
    return total


def of_slices(saved, *values):
    found = [SliceRows.of_pane(span) for span in saved.windowed.view().spans()]
    return [None if one is None else [one.of(value) for value in values] for one in found]


@pytest.mark.slow
def test_rows_without_a_label_are_committed_by_slice(path):
    held = Checkpoint(path)
    held.begin({}, SLICED)
    for number in range(40):
        total = commit_sliced(held, number + 1, 10 * (number % 20), 1, None, None)
    saved = held.load()
    held.close()
    assert saved.windowed == total
    assert of_slices(saved, "DE") == [[Weights(2, 6)]] * 20
    assert read_checkpoint(path).windowed == total


OLD = Path(__file__).with_name("checkpoint_2.sql")
"""What release fa515809 had written, with rows without a label in a table of their own."""

OF_OLD = [
    [Weights(1, 2), Weights(2, 2), Weights(0, 2), Weights(0, 1)],
    [Weights(2, 2), Weights(1, 1), None, Weights(2, 3)],
    [Weights(0, 0), Weights(0, 0), Weights(1, 1), Weights(0, 0)],
    [Weights(1, 1), Weights(1, 2), None, Weights(2, 3)],
    [Weights(1, 1), Weights(1, 2), Weights(0, 0), Weights(1, 2)],
    [Weights(0, 0), Weights(0, 1), Weights(1, 1), Weights(0, 1)],
]


def version_of(path):
    with sqlite3.connect(path) as base:
        return base.execute("PRAGMA user_version").fetchone()[0]


def test_checkpoint_of_version_2_goes_on(path):
    with sqlite3.connect(path) as base:
        base.executescript(OLD.read_text())
    values = ["DE", "FR", "IT", "US"]
    before = read_checkpoint(path)
    assert of_slices(before, *values) == OF_OLD
    Checkpoint(path).close()
    assert version_of(path) == 3
    assert read_checkpoint(path).windowed == before.windowed
    assert of_slices(read_checkpoint(path), *values) == OF_OLD
    held = Checkpoint(path)
    rows = before.windowed.copy().reset()
    rows.update({"time": [121], "country": ["US"], "y_true": [None], "y_pred": [1]})
    total = held.load().windowed.merge(rows)
    held.commit(6, Changes(rows=rows.to_bytes(), total=total, state={}, positions={}))
    assert of_slices(held.load(), "US")[-1] == [Weights(0, 2)]
    held.close()


def test_checkpoint_of_version_1_goes_on_without_what_it_does_not_know(path):
    with sqlite3.connect(path) as base:
        base.executescript(OLD.read_text())
        base.execute("DROP TABLE unlabelled")
        base.execute("PRAGMA user_version = 1")
    known = [all(one and one.labelled == one.rows for one in own if one) for own in OF_OLD]
    for _ in range(2):
        assert [one is not None for one in of_slices(read_checkpoint(path), "DE")] == known
        Checkpoint(path).close()
    assert version_of(path) == 3


def test_checkpoint_that_cannot_be_brought_up_to_date_is_left_as_it_was(path):
    with sqlite3.connect(path) as base:
        base.executescript(OLD.read_text())
        base.execute("UPDATE unlabelled SET data = substr(data, 1, length(data) - 3)")
    for _ in range(2):
        with pytest.raises(se.CorruptStateError, match=r"ck\.db: .*state is corrupt"):
            Checkpoint(path)
    assert version_of(path) == 2


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE piece SET data = substr(data, 1, length(data) - 3)",
        "UPDATE meta SET value = '{' WHERE name = 'state.monitor'",
        "UPDATE run SET data = x'00'",
        "DELETE FROM meta WHERE name = 'accumulator'",
    ],
)
def test_damaged_checkpoint_is_refused(path, damage):
    writer = Writer(path)
    writer.commit(rows_of(1), state={"monitor": {}}, runs={1: b"run"})
    writer.checkpoint.close()
    with sqlite3.connect(path) as base:
        assert base.execute(damage).rowcount
    held = Checkpoint(path)
    with pytest.raises(se.CorruptStateError, match=r"ck\.db: .*state is corrupt"):
        dict(held.load().runs)
    held.close()


def test_damaged_options_of_a_checkpoint_are_refused(path):
    writer = Writer(path)
    writer.commit(rows_of(1))
    writer.checkpoint.close()
    with sqlite3.connect(path) as base:
        assert base.execute("UPDATE meta SET value = '{' WHERE name = 'config'").rowcount
    refused = pytest.raises(se.CorruptStateError, match=r"ck\.db: state is corrupt")
    with closing(Checkpoint(path)) as held, refused:
        _ = held.config


@pytest.mark.slow
def test_blobs_are_read_one_by_one(path):
    writer = Writer(path)
    writer.commit(rows_of(1), runs={number: bytes(10**6) for number in range(60)})
    tracemalloc.start()
    try:
        runs = writer.checkpoint.load().runs
        assert sum(map(len, runs.values())) == len(runs) * 10**6 == 60 * 10**6
        assert runs.get(60) is None
        assert tracemalloc.get_traced_memory()[1] < 10 * 10**6
    finally:
        tracemalloc.stop()
        writer.checkpoint.close()


def test_file_of_damaged_pages_is_refused(path):
    Writer(path).checkpoint.close()
    data = bytearray(path.read_bytes())
    data[100:4000] = bytes(3900)
    path.write_bytes(data)
    with pytest.raises(se.CorruptStateError, match=r"ck\.db: state is corrupt"):
        Checkpoint(path)
    with pytest.raises(se.CorruptStateError):
        Checkpoint(path)


def test_table_that_is_missing_is_named(path):
    Writer(path).checkpoint.close()
    with sqlite3.connect(path) as base:
        base.execute("DROP TABLE source")
    with pytest.raises(se.BadDataError, match="no such table: source"):
        read_checkpoint(path)


def committed(path):
    writer = Writer(path)
    writer.commit()
    writer.checkpoint.close()


def test_options_may_change_until_something_is_committed(path):
    Writer(path).checkpoint.close()
    again = Checkpoint(path)
    assert again.config is None
    other = se.Windowed(se.ConfusionAccumulator(), pane=20)
    assert again.begin({"key": "uid"}, other).config == {"key": "uid"}
    again.close()


def test_changed_option_is_named(path):
    committed(path)
    again = Checkpoint(path)
    with pytest.raises(se.IncompatibleStateError, match=r'`key` differs \("id" then, "uid" now\)'):
        again.begin({"key": "uid"}, EMPTY)
    again.close()


def test_long_values_of_changed_options_are_cut_short(path):
    committed(path)
    again = Checkpoint(path)
    with pytest.raises(se.IncompatibleStateError, match=r"then, \"x{199}\.\.\. now"):
        again.begin({"key": "x" * 500}, EMPTY)
    again.close()


def test_changed_accumulator_is_named(path):
    committed(path)
    again = Checkpoint(path)
    other = se.Windowed(se.ConfusionAccumulator(), pane=20)
    with pytest.raises(se.IncompatibleStateError, match="cannot continue: `pane` differs"):
        again.begin({"key": "id"}, other)
    again.close()


def test_failed_commit_leaves_no_trace(writer, path):
    writer.commit(rows_of(1))
    with pytest.raises(TypeError):
        writer.commit(rows_of(2), state={"monitor": object()})
    saved = writer.checkpoint.load()
    assert (saved.number, saved.windowed) == (1, rows_of(1))


def test_transaction_that_was_rolled_back_keeps_its_error(writer):
    def fail():
        with writer.checkpoint._transaction():
            writer.checkpoint._execute("ROLLBACK")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()


def test_file_that_cannot_be_opened_is_no_checkpoint(path, monkeypatch):
    committed(path)
    assert is_checkpoint(path)
    assert not is_checkpoint(path.parent)

    def refuse(*args):
        raise PermissionError

    monkeypatch.setattr(Path, "open", refuse)
    assert not is_checkpoint(path)


def free_share(path):
    with closing(sqlite3.connect(path)) as base:
        free, pages = (
            base.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("freelist_count", "page_count")
        )
    return free / pages


@pytest.mark.slow
def test_pages_of_removed_runs_are_given_back(writer, path):
    runs = {number: bytes(10**6) for number in range(60)}
    writer.commit(rows_of(1), runs=runs)
    writer.commit(removed=runs)
    for _ in range(8):
        writer.commit()
    assert free_share(path) <= 0.25
    writer.commit(runs={100: b"run"})
    assert writer.checkpoint.load().runs == {100: b"run"}
    assert writer.checkpoint.load().windowed == rows_of(1)


def old_file(path):
    """Make the file of an older release, most of which is free."""
    Writer(path).checkpoint.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as base:
        base.execute("PRAGMA journal_mode=DELETE")
        base.execute("PRAGMA auto_vacuum=NONE")
        base.execute("VACUUM")
        base.execute("INSERT INTO run VALUES (1, zeroblob(1000000), 0)")
        base.execute("DELETE FROM run")
    assert free_share(path) > 0.5


def test_file_of_an_older_release_is_compacted_once(path):
    old_file(path)
    writer = Writer(path)
    writer.commit(rows_of(1, 2))
    writer.checkpoint.close()
    assert free_share(path) <= 0.25
    with closing(sqlite3.connect(path)) as base:
        assert base.execute("PRAGMA auto_vacuum").fetchone() == (2,)
    assert read_checkpoint(path).windowed == rows_of(1, 2)


def test_file_that_cannot_be_compacted_goes_on(path):
    old_file(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM meta").fetchall()
        with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as base:
            _compact(base)
    assert free_share(path) > 0.5
    writer = Writer(path)
    writer.commit(rows_of(1))
    writer.checkpoint.close()
    assert read_checkpoint(path).windowed == rows_of(1)
