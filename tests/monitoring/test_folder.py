import gzip
import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from monitoring.rotating_logs import read_all, values
from offenders import each

from streameval.errors import BadDataError, InvalidInputError
from streameval.io.columns import Argument, Numbers
from streameval.monitoring.folders import Folder


@pytest.fixture(autouse=True)
def path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("in").mkdir()
    return Path("in")


@pytest.fixture
def read():
    """Begin to read the folder; every source is closed at the end."""
    made = []

    def begin(position=None, **options):
        made.append(Folder("in", **options))
        made[-1].seek(json.loads(json.dumps(position)))
        return made[-1]

    yield begin
    for folder in made:
        folder.close()


def move_in(name, *rows):
    """Write a file elsewhere and move it in, as is to be done."""
    Path("new").write_text("".join(f'{{"i": {row}}}\n' for row in rows), encoding="utf-8")
    Path("new").rename(f"in/{name}")


def move_in_parquet(name, *rows):
    pq.write_table(pa.table({"i": [*rows]}), "new", row_group_size=2)
    Path("new").rename(f"in/{name}")


def test_files_are_read_once_in_order_of_name(read):
    move_in("b.jsonl", 3, 4)
    move_in("a.jsonl", 1, 2)
    folder = read()
    assert read_all(folder, limit=5) == [1, 2, 3, 4]
    move_in("c.jsonl", 5)
    assert read_all(folder) == [5]
    assert read_all(folder) == []
    assert folder.warnings() == []


def test_all_files_are_one_partition(read):
    move_in("a.jsonl", 1)
    move_in("b.jsonl", 2)
    folder = read()
    assert [folder.read(100).partition for _ in range(2)] == ["in", "in"]


def test_reading_goes_on_after_any_chunk(read):
    move_in("a.jsonl", *range(5))
    move_in_parquet("b.parquet", *range(5, 10))
    Path("in/c.csv").write_text("i,j\n10,0\n11,0\n12,0\n", encoding="utf-8")
    Path("in/d.jsonl.gz").write_bytes(gzip.compress(b'{"i": 13}\n{"i": 14}'))
    move_in("e.jsonl")
    move_in("f.jsonl", 15)
    folder, seen, n_chunks = read(), [], 0
    while (chunk := folder.read(12)) is not None:
        seen += values(chunk.block)
        n_chunks += 1
        assert seen + read_all(read(chunk.position), limit=7) == [*range(16)]
    assert n_chunks > 8


@pytest.mark.parametrize("name", ["a.parquet", "a.data"])
def test_parquet_is_read_by_row_group(name, read):
    move_in_parquet(name, 1, 2, 3)
    chunk = read().read(1)
    parsed = chunk.block.parse([Argument("i", ("i",), Numbers())])
    assert parsed.batch["i"].tolist() == [1, 2]


def test_rows_are_named_by_the_lines_of_their_file(read):
    Path("in/a.csv").write_text("i,j\n1,0\n1,0\n2\n", encoding="utf-8")
    folder = read()
    position = folder.read(9).position
    parsed = read(position).read(100).block.parse([Argument("i", ("i",), Numbers())])
    ((line, fault),) = parsed.faults
    assert line == 4
    assert fault.startswith("the header has 2 cells, and this row has 1")


def test_what_is_no_file_and_hidden_files_are_passed_over(read):
    Path("in/x").mkdir()
    os.mkfifo("in/pipe")
    move_in(".a.jsonl.tmp", 1)
    move_in("_SUCCESS", 1)
    assert read().read(100) is None


def test_a_file_that_comes_late_is_read_and_said(read):
    move_in("b.jsonl", 1)
    folder = read()
    assert read_all(folder) == [1]
    move_in("a.jsonl", 2)
    assert read_all(folder) == [2]
    assert folder.warnings() == ["in/a.jsonl: is read late, since 'b.jsonl' was read before."]


def test_a_file_that_changes_after_it_was_read_is_said(read):
    move_in("a.jsonl", 1)
    folder = read()
    assert read_all(folder) == [1]
    with Path("in/a.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"i": 2}\n')
    assert read_all(folder) == []
    assert read_all(folder) == []
    changed = "in/a.jsonl: was changed after it was read; it is not read again."
    assert folder.warnings() == [changed]


def test_a_change_is_said_after_a_restart_too(read):
    move_in("a.jsonl", 1)
    move_in("b.jsonl", 2)
    folder = read()
    position = [folder.read(100) for _ in range(2)][-1].position
    move_in("a.jsonl", 3, 4)
    again = read(position)
    assert read_all(again) == []
    assert len(again.warnings()) == 1


def test_a_file_that_grows_while_it_is_read_is_read_on(read):
    move_in("a.jsonl", 1, 2)
    position = read().read(9).position
    with Path("in/a.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"i": 3}\n')
    again = read(position)
    assert read_all(again) == [2, 3]
    assert len(again.warnings()) == 1


@pytest.mark.parametrize("move", [move_in, move_in_parquet])
def test_a_file_that_is_replaced_while_it_is_read_is_not_read_on(move, read):
    move("a", *range(100))
    position = read().read(9).position
    move("a", *range(100, 300))
    again = read(position)
    assert read_all(again) == []
    assert len(again.warnings()) == 1


def test_a_file_that_is_removed_while_it_is_read_is_said(read):
    move_in("a.jsonl", 1, 2)
    position = read().read(9).position
    Path("in/a.jsonl").unlink()
    move_in("b.jsonl", 3)
    again = read(position)
    assert read_all(again) == [3]
    assert again.warnings() == ["in/a.jsonl: is gone; rows that were not read are lost."]


def test_a_file_that_goes_before_it_is_opened_is_passed_over(read, monkeypatch):
    move_in("a.jsonl", 1)
    move_in("b.jsonl", 2)
    folder = read()
    listed = folder._listing

    def and_remove():
        found = listed()
        Path("in/a.jsonl").unlink(missing_ok=True)
        return found

    monkeypatch.setattr(folder, "_listing", and_remove)
    assert read_all(folder) == [2]


def test_files_that_were_removed_are_forgotten(read):
    move_in("a.jsonl", 1)
    folder = read()
    assert read_all(folder) == [1]
    Path("in/a.jsonl").unlink()
    assert read_all(folder) == []
    move_in("b.jsonl", 2)
    read_all(folder)
    move_in("c.jsonl", 3)
    assert [*folder.read(100).position["read"]] == ["b.jsonl"]


def test_an_empty_folder_may_be_a_disk_that_is_not_mounted(read):
    move_in("a.jsonl", 1)
    folder = read()
    assert read_all(folder) == [1]
    Path("in").rename("away")
    Path("in").mkdir()
    assert read_all(folder) == []
    Path("in").rmdir()
    Path("away").rename("in")
    assert read_all(folder) == []


def test_a_folder_that_does_not_exist_is_waited_for(read):
    move_in("a.jsonl", 1, 2)
    position = read().read(9).position
    Path("in").rename("away")
    again = read(position)
    for _ in range(2):
        assert read_all(again) == []
    assert again.warnings() == ["in: there is no such folder so far."]
    assert again.unmatched() == ["in"]
    Path("away").rename("in")
    assert read_all(again) == [2]
    assert again.warnings() == again.unmatched() == []


def test_packed_data_that_is_cut_short_is_refused(read):
    Path("in/a.jsonl.gz").write_bytes(gzip.compress(b'{"i": 1}\n' * 100)[:-9])
    with pytest.raises(BadDataError, match=r"^in/a\.jsonl\.gz: the packed data is cut short\.$"):
        read_all(read())


@each(
    "position",
    [
        3,
        {},
        {"version": 2, "read": {}, "now": ["a", 0, 0, 0, 0, 1, "", "", 0, ""]},
        {"version": 1, "read": {}, "now": ["a", 0, 0, 0, 0, 1, "", 0]},
        {"version": 1, "read": {"a": 3}, "now": ["a", 0, 0, 0, 0, 1, "", "", 0, ""]},
        {"version": 1, "read": [], "now": ["a", 0, 0, 0, 0, 1, "", "", 0, ""]},
    ],
)
def test_a_position_of_something_else_is_refused(position):
    with pytest.raises(InvalidInputError, match=r"^`position` is not one of a folder\.$"):
        Folder("in").seek(position)


def test_options_that_do_not_fit_are_refused():
    with pytest.raises(InvalidInputError, match=r"^`format` must be one of "):
        Folder("in", format="xml")


def test_a_folder_says_what_it_is():
    folder = Folder(Path("in"))
    assert (folder.name, folder.is_replayable, folder.is_at_end) == ("in", True, False)
    assert repr(folder) == "Folder('in')"
