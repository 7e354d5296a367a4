import gzip
import json
import os
import tempfile
from pathlib import Path

import pytest
from monitoring.rotating_logs import read_all, values
from offenders import each

from streameval.errors import BadDataError, InvalidInputError, UnavailableError
from streameval.io import lines
from streameval.io.columns import Argument, Numbers
from streameval.monitoring import files
from streameval.monitoring.files import Tail


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def on_disk(monkeypatch):
    """Work in a folder on a disk: a file in memory always has a new inode."""
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.chdir(folder)
        yield


@pytest.fixture
def follow():
    """Begin to follow; every source is closed at the end."""
    made = []

    def begin(*patterns, position=None, **options):
        made.append(Tail([*patterns], **options))
        made[-1].seek(json.loads(json.dumps(position)))
        return made[-1]

    yield begin
    for tail in made:
        tail.close()


def write(path, *rows, end="\n"):
    """Append rows to a file."""
    with Path(path).open("a", encoding="utf-8") as file:
        file.write("".join(f'{{"i": {row}}}\n' for row in rows).removesuffix("\n") + end)


def pack(path, name=None):
    packed = Path(name or f"{path}.gz")
    packed.write_bytes(gzip.compress(Path(path).read_bytes()))
    Path(path).unlink()
    return packed


def last_position(tail, limit=64):
    """Read what is there, and return the last position."""
    position = None
    while (chunk := tail.read(limit)) is not None:
        position = chunk.position
    return position


def partitions(tail, limit=10**6):
    found = {}
    while (chunk := tail.read(limit)) is not None:
        found.setdefault(chunk.partition, []).extend(values(chunk.block))
    return found


# What is followed


def test_tail_reads_what_is_appended(follow):
    tail = follow("app.log")
    write("app.log", 1, 2)
    assert read_all(tail) == [1, 2]
    write("app.log", 3)
    assert read_all(tail) == [3]
    assert read_all(tail) == []


def test_tail_cuts_chunks_at_about_the_limit(follow):
    write("app.log", *range(100))
    tail = follow("app.log")
    sizes = [len(chunk.block.data) for chunk in iter(lambda: tail.read(100), None)]
    assert len(sizes) > 5
    assert max(sizes) <= 100


def test_tail_finds_files_that_come_later(follow):
    write("pred-a.jsonl", 1)
    tail = follow("pred-*.jsonl")
    assert partitions(tail) == {"pred-a.jsonl": [1]}
    write("pred-b.jsonl", 2)
    assert partitions(tail) == {"pred-b.jsonl": [2]}


def test_logs_take_turns(follow):
    write("a.jsonl", *range(50))
    write("b.jsonl", *range(50))
    tail = follow("*.jsonl")
    assert [tail.read(20).partition for _ in range(4)] == ["a.jsonl", "b.jsonl"] * 2


def test_logs_that_begin_alike_are_not_taken_for_one_another(follow):
    same = range(500)
    write("a.jsonl", *same, 1)
    write("b.jsonl", *same, 2)
    tail = follow("*.jsonl")
    position = last_position(tail, limit=1000)
    write("b.jsonl", 3)
    assert partitions(follow("*.jsonl", position=position)) == {"b.jsonl": [3]}


def test_folders_are_matched_at_any_depth(follow):
    Path("x/y").mkdir(parents=True)
    write("x/y/app.log", 1)
    write("app.log", 2)
    assert partitions(follow("**/app.log")) == {"app.log": [2], "x/y/app.log": [1]}


def test_several_patterns_may_match_the_same_file(follow):
    write("app.log", 1)
    assert read_all(follow("app.log", "*.log")) == [1]


def test_hidden_files_are_matched_by_patterns_with_a_dot(follow):
    write(".app.log", 1)
    assert read_all(follow("*.log")) == []
    assert read_all(follow(".*.log")) == [1]


def test_a_name_that_looks_like_a_glob_is_a_name_first(follow):
    Path("run[1]").mkdir()
    write("run[1]/log[1].jsonl", 1)
    assert read_all(follow("run[1]/log[1].jsonl")) == [1]


def test_older_parts_of_a_log_are_read_first(follow):
    write("app.log.1", 2)
    write("app.log", 3)
    write("app.log.2", 1)
    pack("app.log.2")
    write("app.log-20251122", 0)
    assert partitions(follow("app.log")) == {"app.log": [0, 1, 2, 3]}


def test_a_folder_that_is_not_there_yet_is_waited_for(follow):
    tail = follow("later/app.log")
    assert tail.read(100) is None
    Path("later").mkdir()
    write("later/app.log", 1)
    assert read_all(tail) == [1]


def test_what_is_no_folder_holds_no_files(follow):
    write("app.log", 1)
    assert read_all(follow("app.log/x.log")) == []


def test_nothing_that_matches_is_said_once(follow):
    tail = follow("pred-*.jsonl", "x.log")
    tail.read(100)
    tail.read(100)
    assert tail.warnings() == ["nothing matches pred-*.jsonl, x.log so far."]
    assert tail.warnings() == []


# Lines


def test_a_half_line_waits_for_its_end(follow):
    write("app.log", 1, 23, end="")
    tail = follow("app.log")
    assert read_all(tail) == [1]
    write("app.log", end=" \n")
    assert read_all(tail) == [23]


def test_the_last_line_of_a_finished_file_needs_no_end(follow):
    write("app.log.1", 1, 2, end="")
    tail = follow("app.log")
    assert read_all(tail) == [1]
    write("app.log", 3)
    assert read_all(tail) == [2, 3]
    assert tail.warnings() == [
        "app.log.1: the last line has no newline; the file is finished, so it is read as a row."
    ]


def test_a_half_line_of_a_renamed_file_waits_until_the_next_one_is_begun(follow):
    write("app.log", 1, 23, end="")
    tail = follow("app.log")
    Path("app.log").rename("app.log.1")
    Path("app.log").touch()
    assert read_all(tail) == [1]
    write("app.log.1", end=" \n")
    write("app.log", 4)
    assert read_all(tail) == [23, 4]
    assert tail.warnings() == []


def test_the_only_line_of_a_finished_file_needs_no_end(follow):
    write("app.log.1", 1, end="")
    write("app.log", 2)
    assert read_all(follow("app.log")) == [1, 2]


def test_a_quoted_cell_may_span_lines_and_chunks(follow):
    Path("app.csv").write_text('i,cell\n1,"a\nb"\n2,"c\n\n\n', encoding="utf-8")
    tail = follow("app.csv")
    assert read_all(tail, limit=9) == [1]
    with Path("app.csv").open("a", encoding="utf-8") as file:
        file.write('"\n3,d\n')
    assert read_all(tail, limit=1) == [2, 3]


def test_a_line_without_end_is_refused(follow, monkeypatch):
    monkeypatch.setattr(lines, "LONGEST_LINE", 100)
    write("app.log", 1)
    tail = follow("app.log")
    assert read_all(tail) == [1]
    write("app.log", "2" * 200, end="")
    with pytest.raises(BadDataError, match=r"^app\.log, line 2: no line end within 100 bytes\.$"):
        tail.read(10)


def test_a_first_line_without_end_is_refused(follow, monkeypatch):
    monkeypatch.setattr(lines, "LONGEST_LINE", 100)
    write("app.log", "2" * 200, end="")
    with pytest.raises(BadDataError, match=r"^app\.log, line 1: no line end within 100 bytes\.$"):
        follow("app.log").read(10)


@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
def test_bad_rows_are_named_by_their_line_also_after_a_restart(suffix, follow):
    good, bad = ('{"i": 1}\n', "{]\n") if suffix == "jsonl" else ("1,2\n", "3\n")
    header = "" if suffix == "jsonl" else "i,j\n"
    path = Path(f"app.{suffix}")
    path.write_text(header + 5 * good, encoding="utf-8")
    position = last_position(follow(path.name))
    path.rename(f"{path}.1")
    pack(f"{path}.1", f"{path}.1.gz")
    with gzip.open(f"{path}.1.gz", "ab") as file:
        file.write((good + bad).encode())
    chunk = follow(path.name, position=position).read(10**6)
    parsed = chunk.block.parse([Argument("i", ("i",), Numbers())])
    n_header = len(header.splitlines())
    assert chunk.block.source == f"{path}.1.gz"
    assert [*parsed.row_ids] == [n_header + 6]
    assert [line for line, _ in parsed.faults] == [n_header + 7]


def test_names_in_a_header_have_no_spaces_around_them(follow):
    Path("a.csv").write_text("t, s\n1, 5\n")
    assert follow("a.csv").read(100).block.layout.header == ("t", "s")


def test_blank_lines_before_the_first_row_tell_nothing(follow):
    Path("app.log").write_text("\n\n", encoding="utf-8")
    tail = follow("app.log")
    assert read_all(tail) == []
    write("app.log", 1)
    assert read_all(tail, limit=1) == [1]


def test_a_byte_order_mark_is_dropped(follow):
    Path("app.csv").write_bytes(b"\xef\xbb\xbfi,j\n1,2\n")
    assert read_all(follow("app.csv")) == [1]


# Formats


@pytest.mark.parametrize(
    ("name", "text", "options"),
    [
        ("app.log", '{"i": 1}\n', {}),
        ("app.log", "i,j\n1,2\n", {}),
        ("app.log", "i\tj\n1\t2\n", {}),
        ("app.log", "i;j\n1;2\n", {"delimiter": ";"}),
        ("app.log", "1,2\n", {"header": ["i", "j"]}),
        ("app.csv.1", "i,j\n1,2\n", {}),
        ("app.tsv", "i\tj\n1\t2\n", {}),
        ("app.txt", '{"i": 1}\n', {"format": "jsonl"}),
    ],
)
def test_formats_are_told_by_name_option_or_first_line(name, text, options, follow):
    Path(name).write_text(text, encoding="utf-8")
    tail = follow(name, **options)
    position = last_position(tail)
    with Path(name).open("a", encoding="utf-8") as file:
        file.write(text.splitlines()[-1] + "\n")
    assert read_all(tail) == [1]
    assert read_all(follow(name, position=position, **options)) == [1]


def test_each_file_of_a_log_has_its_own_header(follow):
    Path("app.csv.1").write_text("i,j\n1,2\n", encoding="utf-8")
    Path("app.csv").write_text("j,i\n4,3\n", encoding="utf-8")
    assert read_all(follow("app.csv")) == [1, 3]


def test_columns_without_names_are_numbered(follow):
    Path("app.csv").write_text("7,8\n", encoding="utf-8")
    block = follow("app.csv", header=[]).read(100).block
    assert [*block.rows()] == [{"1": 7, "2": 8}]


@each(
    ("options", "message"),
    [
        ({"format": "xml"}, "`format` must be one of 'jsonl', 'csv', 'tsv', 'parquet', got 'xml'"),
        ({"format": "parquet"}, "`format` must be a format of lines"),
        ({"delimiter": ";;"}, "`delimiter` must be one character other than a quote, got ';;'"),
        ({"delimiter": '"'}, "`delimiter` must be one character other than a quote"),
        ({"header": "i,j"}, "`header` must be a list of names, got 'i,j'"),
        ({"header": ["i"], "format": "jsonl"}, "`header` is for tables of text"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, message):
    with pytest.raises(InvalidInputError) as caught:
        Tail("app.log", **options)
    assert str(caught.value).startswith(message)


@each("patterns", [[], "", ["app.log", ""], [b"app.log"], 3])
def test_patterns_are_paths(patterns):
    with pytest.raises(InvalidInputError, match=r"^`patterns` must be "):
        Tail(patterns)


@each(
    "position",
    [
        3,
        {},
        {"version": 2, "logs": {}},
        {"version": 1, "logs": []},
        {"version": 1, "logs": {"a": [["a"]]}},
        {"version": 1, "logs": {"a": [["a", 0, 0, "", 1, 1, "", "", 1, 5]]}},
        {"version": 1, "logs": {"a": [["a", 0, 0, "", 1.0, 1, "", "", 1, ""]]}},
        {"version": 1, "logs": {"a": [["a", 0, 0, "", -1, 1, "", "", 1, ""]]}},
    ],
)
def test_a_position_of_something_else_is_refused(position):
    with pytest.raises(InvalidInputError, match=r"^`position` is not one of files"):
        Tail("app.log").seek(position)


# Files that are no logs


def test_a_folder_is_refused(follow):
    Path("logs").mkdir()
    with pytest.raises(
        UnavailableError, match=r"^logs: is a folder; name the files in it, or read it"
    ):
        follow("logs").read(100)


def test_a_pipe_is_refused(follow):
    os.mkfifo("pipe")
    with pytest.raises(BadDataError, match=r"^pipe: is not a regular file, so it cannot be read"):
        follow("pipe").read(100)


def test_a_glob_passes_over_folders_and_pipes(follow):
    Path("a.d").mkdir()
    os.mkfifo("a.pipe")
    Path("a.link").symlink_to("nothing")
    write("a.log", 1)
    assert read_all(follow("a.*")) == [1]


def test_a_file_that_cannot_be_read_is_named(follow, monkeypatch):
    write("app.log", 1)

    def refuse(self, *args, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(BadDataError, match=r"^app\.log: permission denied\.$"):
        follow("app.log").read(100)


def test_a_file_of_another_type_is_named(follow):
    Path("app.log").write_bytes(b"PAR1" + bytes(100) + b"\n")
    with pytest.raises(BadDataError, match=r"^app\.log: is a Parquet file; "):
        follow("app.log").read(100)


def test_text_with_the_name_of_another_format_is_refused(follow):
    write("app.parquet", 1)
    with pytest.raises(BadDataError, match=r"^app\.parquet: not a Parquet file\.$"):
        follow("app.parquet").read(100)


def test_a_link_beside_its_file_is_read_once(follow):
    write("app-20261122.log", 1)
    Path("app-current.log").symlink_to("app-20261122.log")
    Path("app-hard.log").hardlink_to("app-20261122.log")
    assert partitions(follow("app*.log")) == {"app.log": [1]}


def test_a_link_to_elsewhere_is_followed(follow):
    Path("else").mkdir()
    write("else/x", 1)
    Path("app.log").symlink_to("else/x")
    assert read_all(follow("app.log")) == [1]


@pytest.mark.parametrize("name", ["a\nb.log", "a\x1b[2Jb.log", "a\udcffb.log", "a'\"$(b).log"])
def test_a_hostile_name_is_followed_and_shown_harmless(name, follow):
    Path(name).write_text('{"i": 1}\n{]\n', encoding="utf-8")
    tail = follow("*.log")
    chunk = tail.read(10**6)
    assert chunk.block.source.isprintable()
    assert chunk.partition == name
    Path(name).rename(f"{name}.1")
    assert read_all(follow("*.log", position=chunk.position)) == []


# Rotation


def test_a_log_whose_first_rows_are_those_of_the_one_before_is_another(follow):
    same = "i,j\n1,1\n"
    Path("app.csv").write_text(same, encoding="utf-8")
    tail = follow("app.csv")
    position = last_position(tail)
    Path("app.csv").rename("app.csv.1")
    Path("app.csv").write_text(same + "2,2\n", encoding="utf-8")
    again = follow("app.csv", position=position)
    for source in (tail, again):
        assert read_all(source) == [1, 2]


def test_an_inode_that_is_used_again_is_another_file(follow, on_disk):
    write("app.log", 1, 2)
    tail = follow("app.log")
    position = last_position(tail)
    tail.close()
    number = Path("app.log").stat().st_ino
    Path("app.log").unlink()
    for attempt in range(1000):
        write("app.log", 3, 4, 5)
        if Path("app.log").stat().st_ino == number:
            break
        Path("app.log").rename(f"other-{attempt}")
    else:
        pytest.skip("this file system uses no inode again")
    assert read_all(follow("app.log", position=position)) == [3, 4, 5]


def test_a_packed_file_is_known_without_unpacking_it(follow, monkeypatch):
    write("app.log.1", *range(5000))
    write("app.log", 1)
    pack("app.log.1")
    tail = follow("app.log")
    read_all(tail)
    write("app.log", 2)
    position = last_position(tail)
    monkeypatch.setattr("streameval.monitoring.contents.ByteStream", None)
    Path("app.log.1.gz").rename("app.log.2.gz")
    Path("app.log").rename("app.log.1")
    write("app.log", 3)
    assert read_all(follow("app.log", position=position)) == [3]


def test_a_file_that_is_packed_while_it_is_open_is_read_on(follow):
    write("app.log", *range(100))
    tail = follow("app.log")
    first = values(tail.read(200).block)
    pack("app.log", "app.log.1.gz")
    write("app.log", 100)
    assert first + read_all(tail, limit=200) == [*range(101)]
    assert tail.warnings() == []


def test_a_file_that_is_being_packed_is_read_as_it_is(follow):
    write("app.log.1", 1, 2)
    write("app.log", 3)
    whole = gzip.compress(Path("app.log.1").read_bytes())
    Path("app.log.1.gz").write_bytes(whole[:-12])
    tail = follow("app.log")
    assert read_all(tail) == [1, 2, 3]
    Path("app.log.1.gz").write_bytes(whole)
    Path("app.log.1").unlink()
    assert read_all(tail) == []
    assert tail.warnings() == []


def test_a_packed_file_that_is_cut_short_is_waited_for(follow):
    rows = "".join(f'{{"i": {row}}}\n' for row in range(10_000)).encode()
    whole = gzip.compress(rows)
    Path("app.log.1.gz").write_bytes(whole[: len(whole) // 2])
    write("app.log", -1)
    tail = follow("app.log")
    found = read_all(tail, limit=1000)
    assert 100 < len(found) < 10_000
    assert tail.read(1000) is None
    assert tail.warnings() == [
        "app.log.1.gz: the packed data is cut short; the log is read on once it is whole."
    ]
    Path("app.log.1.gz").write_bytes(whole)
    found += read_all(tail, limit=1000)
    assert found == [*range(10_000), -1]
    assert tail.warnings() == []


def test_a_packed_file_that_is_cut_short_may_be_one_that_was_read(follow):
    write("app.log", *range(1000))
    position = last_position(follow("app.log"), limit=1000)
    whole = gzip.compress(Path("app.log").read_bytes())
    Path("app.log").unlink()
    for size in (40, len(whole) - 50):
        Path("app.log.1.gz").write_bytes(whole[:size])
        tail = follow("app.log", position=position)
        assert read_all(tail) == []
        assert "app.log.1.gz: the packed data is cut short" in tail.warnings()[-1]
    Path("app.log.1.gz").write_bytes(whole)
    write("app.log", 1000)
    assert read_all(tail) == [1000]


def test_damaged_data_is_refused(follow):
    write("app.log.1", *range(1000))
    packed = pack("app.log.1")
    packed.write_bytes(packed.read_bytes()[:100] + b"damage" + packed.read_bytes()[106:])
    with pytest.raises(BadDataError, match=r"^app\.log\.1\.gz: the gzip data is damaged"):
        read_all(follow("app.log"))


def test_a_packed_log_that_grows_is_read_on(follow):
    write("app.log", *range(10))
    packed = pack("app.log", "app.log.gz")
    tail = follow("app.log")
    assert len(read_all(tail)) == 10
    with gzip.open(packed, "ab") as file:
        file.write(b'{"i": 10}\n')
    assert read_all(tail) == [10]


def test_a_log_that_is_renamed_to_another_name_is_read_on(follow):
    write("app.log", *range(200))
    tail = follow("*.log")
    assert tail.read(1500).partition == "app.log"
    Path("app.log").rename("app.1.log")
    write("app.log", 200)
    first = values(tail.read(10**6).block)
    assert (first[0] > 0, first[-1]) == (True, 199)
    assert partitions(tail) == {"app.log": [200]}
    Path("app.1.log").rename("app.2.log")
    Path("app.log").rename("app.1.log")
    write("app.log", 201)
    assert partitions(tail) == {"app.log": [201]}


def test_a_short_file_of_another_log_is_not_taken_for_one_that_is_gone(follow):
    write("a.log", 1)
    tail = follow("*.log")
    assert read_all(tail) == [1]
    write("b.log", 1)
    Path("a.log").unlink()
    assert partitions(tail) == {"b.log": [1]}


def test_rows_that_come_late_in_an_older_file_are_read_and_said(follow):
    write("app.log.1", 1)
    write("app.log", 2)
    tail = follow("app.log")
    assert read_all(tail) == [1, 2]
    write("app.log.1", 3)
    write("app.log.1", 4)
    assert read_all(tail, limit=9) == [3, 4]
    assert tail.warnings() == [
        "app.log.1: is read late, since app.log is newer and was begun before."
    ]


# Files that go


def test_a_file_that_is_removed_while_it_is_open_is_read_to_its_end(follow):
    write("app.log", *range(100))
    tail = follow("app.log")
    first = values(tail.read(100).block)
    Path("app.log").unlink()
    write("app.log", 100)
    assert first + read_all(tail) == [*range(101)]
    assert tail.warnings() == []


def test_a_removed_file_comes_before_a_newer_one_that_was_rotated_too(follow):
    write("app.log", *range(100))
    tail = follow("app.log")
    first = values(tail.read(100).block)
    Path("app.log").unlink()
    write("app.log.1", 100)
    write("app.log", 101)
    assert first + read_all(tail) == [*range(102)]


def test_a_file_that_goes_unread_is_said(follow):
    write("app.log.2", 1)
    write("app.log.1", 2)
    write("app.log", 3)
    tail = follow("app.log")
    assert values(tail.read(5).block) == [1]
    Path("app.log.1").unlink()
    assert read_all(tail) == [3]
    assert tail.warnings() == ["app.log.1: is gone before it was read to its end."]


def test_a_packed_file_that_goes_unread_is_said(follow):
    write("app.log.2", *range(10))
    write("app.log.1", 2)
    pack("app.log.1")
    tail = follow("app.log")
    assert len(values(tail.read(50).block)) == 5
    Path("app.log.1.gz").unlink()
    write("app.log", 3)
    assert read_all(tail) == [*range(5, 10), 3]
    assert tail.warnings() == ["app.log.1.gz: is gone before it was read to its end."]


def test_a_file_that_is_gone_after_a_restart_is_said(follow):
    write("app.log", 1, 2)
    position = last_position(follow("app.log"))
    Path("app.log").unlink()
    write("app.log", 3)
    tail = follow("app.log", position=position)
    assert read_all(tail) == [3]
    assert tail.warnings() == ["app.log: is gone; rows after line 2, if there were any, are lost."]


def test_a_file_that_goes_while_it_is_looked_for_is_looked_for_again(follow, monkeypatch):
    write("app.log", 1)
    listed = files.listing

    def and_rename(patterns):
        found = listed(patterns)
        if Path("app.log").exists():
            Path("app.log").rename("app.log.1")
        return found

    monkeypatch.setattr(files, "listing", and_rename)
    assert read_all(follow("app.log")) == [1]


def test_a_file_that_goes_before_it_is_opened_is_looked_for_again(follow, monkeypatch):
    write("app.log", 1)
    opened = files.opened_content

    def after_rename(path):
        if Path("app.log").exists():
            Path("app.log").rename("app.log.1")
        return opened(path)

    monkeypatch.setattr(files, "opened_content", after_rename)
    assert read_all(follow("app.log")) == [1]


def test_a_file_that_is_another_when_it_is_opened_is_looked_for_again(follow, monkeypatch):
    write("app.log", 1)
    opened = files.opened_content

    def after_rotation(path):
        if not Path("app.log.1").exists():
            Path("app.log").rename("app.log.1")
            write("app.log", 2)
        return opened(path)

    monkeypatch.setattr(files, "opened_content", after_rotation)
    assert read_all(follow("app.log")) == [1, 2]


@pytest.mark.parametrize("is_replaced", [True, False])
def test_a_file_that_goes_while_it_is_compared_is_looked_for_again(
    is_replaced, follow, monkeypatch
):
    write("app.log", 1)
    position = last_position(follow("app.log"))
    listed = files.listing

    def before_rotation(patterns):
        found = listed(patterns)
        if not Path("app.log.2").exists():
            Path("app.log.1").rename("app.log.2")
            if is_replaced:
                write("app.log.1", 2)
        return found

    Path("app.log").rename("app.log.1")
    write("app.log", 3)
    monkeypatch.setattr(files, "listing", before_rotation)
    assert read_all(follow("app.log", position=position)) == ([2, 3] if is_replaced else [3])


def test_a_file_that_can_never_be_opened_is_left_alone(follow, monkeypatch):
    write("app.log", 1)
    monkeypatch.setattr(files, "opened_content", lambda path: None)
    assert follow("app.log").read(100) is None


def test_a_folder_without_rest_is_left_alone(follow, monkeypatch):
    write("app.log", 1)
    listed, count = files.listing, iter(range(10**6))

    def restless(patterns):
        Path("app.log").rename(f"app.log.{next(count)}")
        write("app.log", 1)
        return listed(patterns)

    monkeypatch.setattr(files, "listing", restless)
    follow("app.log").read(100)
    assert next(count) < 10**4


def test_a_truncated_file_is_read_from_its_new_beginning_and_said(follow):
    write("app.log", 1, 2, 3)
    tail = follow("app.log")
    assert read_all(tail) == [1, 2, 3]
    Path("app.log").write_text("", encoding="utf-8")
    assert read_all(tail) == []
    write("app.log", 4)
    assert read_all(tail) == [4]
    (said,) = tail.warnings()
    assert said.startswith("app.log: was truncated or rewritten, as copytruncate does; rows")


def test_a_file_that_is_written_anew_and_is_longer_is_said(follow):
    write("app.log", 1, 2, 3)
    tail = follow("app.log")
    assert read_all(tail) == [1, 2, 3]
    Path("app.log").write_text("", encoding="utf-8")
    write("app.log", *range(4, 100))
    assert read_all(tail) == [*range(4, 100)]
    assert "was truncated or rewritten" in tail.warnings()[0]


def test_a_copied_and_truncated_file_is_said_after_a_restart(follow):
    write("app.log", 1, 2, 3)
    position = last_position(follow("app.log"), limit=10)
    Path("app.log.1").write_bytes(Path("app.log").read_bytes() + b'{"i": 4}\n')
    Path("app.log").write_text("", encoding="utf-8")
    write("app.log", 5)
    tail = follow("app.log", position=position)
    assert read_all(tail) == [4, 5]
    assert "was truncated or rewritten" in tail.warnings()[0]


def test_files_that_went_are_remembered_for_a_while_only(follow):
    tail = follow("app.log")
    for row in range(20):
        write("app.log", row)
        read_all(tail)
        Path("app.log").rename("app.log.1")
    write("app.log", 20)
    (files_of_log,) = last_position(tail)["logs"].values()
    assert len(files_of_log) == 2 + files._MAX_MISSING


def test_a_folder_that_is_unmounted_for_a_while_is_remembered_whole(follow):
    for number in range(10):
        write(f"logs-{number}", number)
    for number in range(10):
        Path("logs").mkdir(exist_ok=True)
        Path(f"logs-{number}").rename(f"logs/app.log.{number}")
    tail = follow("logs/app.log")
    assert len(read_all(tail)) == 10
    Path("logs").rename("away")
    assert read_all(tail) == []
    Path("away").rename("logs")
    write("logs/app.log", 10)
    assert read_all(tail) == [10]


def test_only_so_many_files_are_open_at_once(follow, monkeypatch):
    monkeypatch.setattr(files, "_MAX_OPEN", 3)
    for number in range(20):
        write(f"{number}.log", number)
    tail = follow("*.log")
    n_open = len([*Path("/dev/fd").iterdir()])
    assert sorted(read_all(tail)) == [*range(20)]
    assert len([*Path("/dev/fd").iterdir()]) <= n_open + 3
    for number in range(20):
        write(f"{number}.log", number)
    assert sorted(read_all(tail)) == [*range(20)]


def test_a_removed_file_stays_open_when_many_are(follow, monkeypatch):
    monkeypatch.setattr(files, "_MAX_OPEN", 1)
    write("a.log", *range(10))
    tail = follow("*.log")
    first = values(tail.read(50).block)
    Path("a.log").unlink()
    write("b.log", 20)
    write("c.log", 30)
    assert sorted(first + read_all(tail)) == [*range(10), 20, 30]


def test_a_copy_that_ends_before_what_was_read_is_not_read_again(follow):
    write("app.log", *range(500))
    tail = follow("app.log")
    assert len(read_all(tail, limit=1000)) == 500
    Path("app.log.1").write_bytes(Path("app.log").read_bytes())
    write("app.log", 500)
    position = last_position(tail)
    Path("app.log").write_text("", encoding="utf-8")
    write("app.log", 501)
    for source in (follow("app.log", position=position), tail):
        assert read_all(source) == [501]


@pytest.mark.parametrize("is_packed", [False, True])
def test_a_copy_waits_for_the_truncation_also_at_the_first_look(is_packed, follow):
    write("app.log", *range(500))
    Path("app.log.1").write_bytes(Path("app.log").read_bytes())
    if is_packed:
        pack("app.log.1")
    tail = follow("app.log")
    assert read_all(tail, limit=1000) == [*range(500)]
    Path("app.log").write_text("", encoding="utf-8")
    write("app.log", 500)
    assert read_all(tail) == [500]


def test_a_copy_of_a_log_that_was_read_is_not_taken_for_it(follow):
    write("app.log", *range(500))
    position = last_position(follow("app.log"), limit=1000)
    Path("app.log.1").write_bytes(Path("app.log").read_bytes())
    tail = follow("app.log", position=position)
    assert read_all(tail) == []
    write("app.log", 500)
    assert read_all(tail) == [500]


def test_an_older_log_that_begins_like_one_that_is_gone_is_read(follow):
    write("app.log", 0, *range(1000))
    position = last_position(follow("app.log"), limit=1)
    Path("app.log").unlink()
    write("app.log.1", 0, *range(2000, 2300))
    write("app.log", 3000)
    found = read_all(follow("app.log", position=position), limit=1000)
    assert found == [0, *range(2000, 2300), 3000]


def test_a_listing_that_misses_a_file_that_is_being_renamed_is_thrown_away(follow, monkeypatch):
    write("app.log.2", *range(10))
    write("app.log.1", 10)
    write("app.log", 11)
    tail = follow("app.log")
    found = values(tail.read(20).block)
    listed, missing = files.listing, ["app.log.2"]

    def incomplete(patterns):
        entries = listed(patterns)
        if missing:
            del entries[missing.pop()]
        return entries

    Path("app.log.1").rename("app.log.3")
    Path("app.log.2").rename("app.log.4")
    Path("app.log.3").rename("app.log.2")
    monkeypatch.setattr(files, "listing", incomplete)
    assert found + read_all(tail) == [*range(12)]
    assert tail.warnings() == []


def test_unread_logs_that_begin_alike_are_all_read(follow):
    banner = "x" * 5000
    write("app.log.2", *range(10))
    write("app.log.1", f'10, "text": "{banner}"', 11)
    tail = follow("app.log")
    found = values(tail.read(20).block)
    write("app.log", f'10, "text": "{banner}"', 12)
    assert found + read_all(tail) == [*range(11), 11, 10, 12]


def test_a_log_that_is_written_again_and_not_yet_as_far_is_read(follow):
    write("app.log", *range(1000))
    position = last_position(follow("app.log"))
    Path("app.log").unlink()
    write("app.log", *range(400))
    tail = follow("app.log", position=position)
    assert read_all(tail) == [*range(400)]


@pytest.mark.slow
def test_a_position_is_small(follow):
    for number in range(30):
        write(f"app.log.{number}", *range(100))
    position = last_position(follow("app.log"))
    assert len(json.dumps(position)) < 30 * 150


def test_tail_says_what_it_is(follow):
    tail = follow("a.log", "b.log")
    assert (tail.name, tail.is_replayable, tail.is_at_end) == ("a.log, b.log", True, False)
    assert repr(tail) == "Tail('a.log, b.log')"
