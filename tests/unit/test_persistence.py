"""Files of states: all of the old or all of the new, whatever happens."""

from __future__ import annotations

import errno
import io
import os
import resource
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np
import pytest
from offenders import each
from small_states import EVERY

import streameval as se
from streameval.accumulators import persistence

KILLS = 200

OLD, NEW = (se.ConfusionAccumulator().update([truth], [1]) for truth in (0, 1))


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.slow
@each("name", EVERY)
def test_load_gives_what_was_saved(tmp_path: Path, name: str) -> None:
    se.save(EVERY[name](), tmp_path / "state.se")
    assert se.load(tmp_path / "state.se") == EVERY[name]()


def test_file_holds_the_bytes(tmp_path: Path) -> None:
    se.save(OLD, tmp_path / "state.se")
    assert (tmp_path / "state.se").read_bytes() == OLD.to_bytes()


def test_save_takes_a_path_as_text(tmp_path: Path) -> None:
    se.save(OLD, str(tmp_path / "state.se"))
    assert se.load(str(tmp_path / "state.se")) == OLD


def test_save_replaces_an_old_file(tmp_path: Path) -> None:
    for accumulator in (OLD, NEW):
        se.save(accumulator, tmp_path / "state.se")
    assert se.load(tmp_path / "state.se") == NEW


def test_save_leaves_nothing_else_behind(tmp_path: Path) -> None:
    se.save(OLD, tmp_path / "state.se")
    assert names_in(tmp_path) == ["state.se"]


def test_save_leaves_the_accumulator_alone(tmp_path: Path) -> None:
    accumulator = OLD.copy()
    se.save(accumulator, tmp_path / "state.se")
    assert accumulator == OLD


def test_save_takes_a_path_without_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    se.save(OLD, "state.se")
    assert se.load("state.se") == OLD


@pytest.mark.parametrize(
    "name", ["日本.se", "a b", ".hidden", "-", "x" * 255], ids=lambda name: ascii(name[:9])
)
def test_save_takes_any_name_of_a_file(tmp_path: Path, name: str) -> None:
    se.save(OLD, tmp_path / name)
    assert se.load(tmp_path / name) == OLD


@pytest.mark.parametrize("permissions", [0o600, 0o640, 0o644, 0o666, 0o444, 0o755], ids=oct)
def test_mode_of_an_old_file_is_kept(tmp_path: Path, permissions: int) -> None:
    path = tmp_path / "state.se"
    se.save(OLD, path)
    path.chmod(permissions)
    se.save(NEW, path)
    assert mode(path) == permissions


@pytest.mark.parametrize(
    ("mask", "expected"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664), (0, 0o666)]
)
def test_mode_of_a_new_file_is_that_of_the_umask(tmp_path: Path, mask: int, expected: int) -> None:
    with umask(mask):
        se.save(OLD, tmp_path / "state.se")
    assert mode(tmp_path / "state.se") == expected


def test_save_leaves_the_umask_as_it_was(tmp_path: Path) -> None:
    with umask(0o027):
        se.save(OLD, tmp_path / "state.se")
        assert os.umask(0o027) == 0o027


def test_file_behind_a_link_is_replaced_and_the_link_stays(tmp_path: Path) -> None:
    target, link = tmp_path / "folder" / "state.se", tmp_path / "latest.se"
    target.parent.mkdir()
    se.save(OLD, target)
    link.symlink_to(target)
    se.save(NEW, link)
    assert link.is_symlink()
    assert se.load(target) == NEW


def test_other_names_of_an_old_file_keep_the_old_state(tmp_path: Path) -> None:
    se.save(OLD, tmp_path / "state.se")
    (tmp_path / "backup.se").hardlink_to(tmp_path / "state.se")
    se.save(NEW, tmp_path / "state.se")
    assert se.load(tmp_path / "backup.se") == OLD


def test_save_refuses_what_is_no_accumulator(tmp_path: Path) -> None:
    with pytest.raises(se.InvalidInputError, match="`accumulator` must be an accumulator, got str"):
        se.save("text", tmp_path / "state.se")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_save_refuses_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        se.save(OLD, tmp_path / "missing" / "state.se")


def test_save_refuses_a_folder_in_place_of_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "state.se"
    folder.mkdir()
    with pytest.raises(IsADirectoryError):
        se.save(OLD, folder)
    assert names_in(tmp_path) == ["state.se"]


def test_link_to_nothing_stays_and_its_file_comes(tmp_path: Path) -> None:
    (tmp_path / "latest.se").symlink_to(tmp_path / "state.se")
    se.save(OLD, tmp_path / "latest.se")
    assert (tmp_path / "latest.se").is_symlink()
    assert se.load(tmp_path / "state.se") == OLD


def test_save_refuses_what_is_no_regular_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        se.save(OLD, tmp_path / "pipe")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_load_refuses_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        se.load(tmp_path / "state.se")


def test_load_refuses_a_damaged_file(tmp_path: Path) -> None:
    (tmp_path / "state.se").write_bytes(OLD.to_bytes()[:-1])
    with pytest.raises(se.CorruptStateError):
        se.load(tmp_path / "state.se")


def failing(error: BaseException) -> Any:
    def fail(*args: Any, **kwargs: Any) -> NoReturn:
        raise error

    return fail


failing_steps = pytest.mark.parametrize("step", ["fsync", "replace"])
errors = pytest.mark.parametrize(
    "error",
    [OSError(errno.EIO, "input/output error"), OSError(errno.ENOSPC, "full"), KeyboardInterrupt()],
    ids=["EIO", "ENOSPC", "interrupt"],
)


@failing_steps
@errors
def test_old_file_stays_when_a_step_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, error: BaseException
) -> None:
    path = tmp_path / "state.se"
    se.save(OLD, path)
    monkeypatch.setattr(os, step, failing(error))
    with pytest.raises(type(error)):
        se.save(NEW, path)
    assert se.load(path) == OLD
    assert names_in(tmp_path) == ["state.se"]


@failing_steps
@errors
def test_new_file_does_not_come_when_a_step_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, error: BaseException
) -> None:
    monkeypatch.setattr(os, step, failing(error))
    with pytest.raises(type(error)):
        se.save(NEW, tmp_path / "state.se")
    assert names_in(tmp_path) == []


def test_old_file_stays_when_writing_fails_half_way(tmp_path: Path) -> None:
    path = tmp_path / "state.se"
    se.save(OLD, path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))  # Python ignores its signal
    try:
        with pytest.raises(OSError, match="File too large"):
            se.save(se.ConfusionAccumulator(100), path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert se.load(path) == OLD
    assert names_in(tmp_path) == ["state.se"]


def test_bytes_reach_the_disk_before_the_name_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, steps = tmp_path / "state.se", []
    fsync, replace = os.fsync, os.replace

    def record_fsync(handle: int) -> None:
        is_folder = stat.S_ISDIR(os.fstat(handle).st_mode)
        steps.append(("fsync folder" if is_folder else "fsync file", os.fstat(handle).st_size))
        fsync(handle)

    def record_replace(source: Any, target: Any, **options: Any) -> None:
        steps.append(("replace", 0))
        replace(source, target, **options)

    monkeypatch.setattr(os, "fsync", record_fsync)
    monkeypatch.setattr(os, "replace", record_replace)
    se.save(OLD, path)
    assert [step for step, _ in steps] == ["fsync file", "replace", "fsync folder"]
    assert steps[0][1] == len(OLD.to_bytes())


def test_new_file_is_there_when_the_folder_cannot_be_flushed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync = os.fsync

    def refuse_folders(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "folders cannot be flushed")
        fsync(handle)

    monkeypatch.setattr(os, "fsync", refuse_folders)
    with pytest.raises(OSError, match="folders cannot be flushed"):
        se.save(OLD, tmp_path / "state.se")
    assert se.load(tmp_path / "state.se") == OLD


def test_save_does_not_flush_the_folder_when_the_system_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusing = {"name": "nt", "open": failing(PermissionError("folders cannot be opened"))}
    monkeypatch.setattr(persistence, "os", SimpleNamespace(**(vars(os) | refusing)))
    se.save(OLD, tmp_path / "state.se")
    assert se.load(tmp_path / "state.se") == OLD


KILLER = """
import itertools, os, random, resource, signal, sys
import streameval as se

path, kills = sys.argv[1], int(sys.argv[2])
states = [se.load(f"{path}.{name}") for name in ("old", "new")]
names = {state.to_bytes(): name for state, name in zip(states, ("old", "new"))}

def save_both():
    for state in states:
        se.save(state, path)

def save_until_event(last):
    events = itertools.count(1)
    def count(*event):
        if next(events) == last:
            os.kill(os.getpid(), signal.SIGKILL)
    sys.setprofile(count)
    save_both()
    sys.setprofile(None)
    return next(events) - 1

def save_until_byte(last):
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (last, last))
    save_both()

save_both()
event = (save_until_event, range(1, save_until_event(None) + 1), signal.SIGKILL)
byte = (save_until_byte, range(len(states[0].to_bytes())), signal.SIGXFSZ)
choose = random.Random(5)
for _ in range(kills):
    save, ends, cause = choose.choice([event, event, byte])
    end = choose.choice(ends)
    pid = os.fork()
    if not pid:
        save(end)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    assert os.WTERMSIG(status) == cause, (save, end, status)
    print(names[se.load(path).to_bytes()])
"""
"""Saves that end at a call or a return, drawn from those of two saves, or at a byte of a file."""


@pytest.mark.uncovered
@pytest.mark.slow
def test_killed_saves_leave_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    path, random = tmp_path / "state.se", np.random.default_rng(0)
    for name in ("old", "new"):
        rows = random.integers(0, 150, (2, 10_000))
        se.save(se.ConfusionAccumulator(150).update(*rows), f"{path}.{name}")
    (path).write_bytes(Path(f"{path}.old").read_bytes())
    command = [sys.executable, "-c", KILLER, path, str(KILLS)]
    seen = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert len(seen) == KILLS
    assert set(seen) == {"old", "new"}

    left = set(names_in(tmp_path)) - {"state.se", "state.se.old", "state.se.new"}
    assert left, "no kill fell into a save: the test says nothing"
    assert all(name.startswith(".") for name in left)
    sizes = {(tmp_path / name).stat().st_size for name in left}
    assert len(sizes) > KILLS / 8, "no kill fell into the writing of a file"


# What a load takes in a process that may have 64 MiB more than it has once streameval is there.
LIMITED = """
import resource, sys
import streameval as se
from streameval.cli import main

se.from_bytes(se.ConfusionAccumulator().to_bytes())
held = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (held + 2**26, held + 2**26))
command, *arguments = sys.argv[1:]
try:
    if command != "load":
        sys.exit(main([command, *arguments]))
    se.load(*arguments)
except se.CorruptStateError as error:
    print(error, file=sys.stderr)
"""
GIGABYTE = 2**30

needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, limits memory")


def limited(*arguments: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", LIMITED, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    """A file of 1 GB, all of it a hole, that is no state."""
    path = tmp_path / "wrong.se"
    with path.open("wb") as file:
        file.truncate(GIGABYTE)
    return path


@pytest.mark.slow
@needs_proc
def test_load_refuses_a_large_wrong_file_in_64_mib(wrong: Path) -> None:
    error = limited("load", wrong).stderr
    assert error == "state is corrupt: these are not the bytes of an accumulator.\n"


@pytest.mark.slow
@needs_proc
def test_load_refuses_a_large_file_of_another_length_than_declared_in_64_mib(wrong: Path) -> None:
    with wrong.open("r+b") as file:
        file.write(OLD.to_bytes())
    expected = f"(expected {len(OLD.to_bytes())} bytes, got {GIGABYTE})"
    assert limited("load", wrong).stderr == f"state is corrupt: length {expected}.\n"


@pytest.mark.slow
@needs_proc
@pytest.mark.parametrize(
    "command",
    [
        ["show", "{wrong}"],
        ["explain", "{wrong}"],
        ["diff", "{good}", "{wrong}"],
        ["merge", "{good}", "{wrong}", "-o", "{out}.se"],
        ["plot", "{wrong}", "-o", "{out}.svg"],
        ["report", "{wrong}", "-o", "{out}.html"],
    ],
    ids=lambda command: command[0],
)
def test_command_refuses_a_large_wrong_file_in_64_mib(
    command: list[str], wrong: Path, tmp_path: Path
) -> None:
    good = tmp_path / "good.se"
    se.save(OLD, good)
    done = limited(*(word.format(wrong=wrong, good=good, out=tmp_path / "a") for word in command))
    told = f"{wrong}: state is corrupt: these are not the bytes of an accumulator."
    assert (done.returncode, done.stderr) == (3, f"streameval: error: {told}\n")


def test_load_asks_for_the_prefix_alone_when_the_lengths_disagree(tmp_path: Path) -> None:
    path = tmp_path / "state.se"
    path.write_bytes(OLD.to_bytes() + bytes(2**20))
    asked: list[int] = []

    class Watched(io.FileIO):
        def read(self, size: int | None = -1, /) -> bytes:
            asked.append(-1 if size is None else size)
            return super().read(size)

    with Watched(path) as file, pytest.raises(se.CorruptStateError, match="length"):
        persistence._read(file)  # type: ignore[arg-type]
    assert asked == [28]


def feed(path: Path, data: bytes) -> threading.Thread:
    """Write bytes to a pipe, as slowly as its reader takes them."""

    def write() -> None:
        with suppress(BrokenPipeError):
            path.write_bytes(data)

    thread = threading.Thread(target=write)
    thread.start()
    return thread


LARGE = se.ConfusionAccumulator(1500).update([1, 2, 3], [3, 2, 1])


def test_load_reads_a_state_from_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert len(LARGE.to_bytes()) > 2**21
    writer = feed(tmp_path / "pipe", LARGE.to_bytes())
    assert se.load(tmp_path / "pipe") == LARGE
    writer.join()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data[:-1], "length"),
        (lambda data: data + b"x", "length"),
        (lambda data: b"x" + data, "not the bytes of an accumulator"),
        (lambda data: data[:27], "prefix"),
        (lambda data: b"", "prefix"),
    ],
    ids=["cut", "longer", "wrong", "cut in the prefix", "empty"],
)
def test_load_refuses_what_a_pipe_gives_when_it_is_no_state(
    tmp_path: Path, change: Any, message: str
) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = feed(tmp_path / "pipe", change(LARGE.to_bytes()))
    with pytest.raises(se.CorruptStateError, match=message):
        se.load(tmp_path / "pipe")
    writer.join()


@pytest.mark.slow
def test_load_reads_standard_input(tmp_path: Path) -> None:
    script = "import streameval as se; print(se.load('/dev/stdin').n)"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, input=LARGE.to_bytes(), capture_output=True, check=True)
    assert done.stdout == b"3\n"


@pytest.mark.parametrize(
    ("folder", "error"), [("missing", FileNotFoundError), ("a file", NotADirectoryError)]
)
def test_save_names_the_path_when_its_folder_is_none(
    folder: str, error: type[OSError], tmp_path: Path
) -> None:
    (tmp_path / "a file").touch()
    path = tmp_path / folder / "state.se"
    with pytest.raises(error) as caught:
        se.save(OLD, path)
    assert caught.value.filename == str(path)
    assert ".streameval-" not in str(caught.value)


def test_save_names_the_path_when_the_last_step_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "state.se"

    def refuse(source: Any, target: Any, **options: Any) -> NoReturn:
        raise OSError(errno.EACCES, "denied", str(source), None, str(target))

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(PermissionError) as caught:
        se.save(OLD, path)
    assert str(caught.value) == f"[Errno {errno.EACCES}] denied: {str(path)!r}"


def test_save_refuses_a_link_to_itself_and_leaves_it(tmp_path: Path) -> None:
    one, two = tmp_path / "one.se", tmp_path / "two.se"
    one.symlink_to(two)
    two.symlink_to(one)
    with pytest.raises(OSError, match=r"one\.se") as caught:
        se.save(OLD, one)
    assert caught.value.errno == errno.ELOOP
    assert (one.readlink(), two.readlink()) == (two, one)
    assert names_in(tmp_path) == ["one.se", "two.se"]


@pytest.mark.slow
@needs_proc
@pytest.mark.parametrize(
    ("head", "told"),
    [
        (b"", "begins with a NUL byte; it is not text."),
        (b"y_true,y_pred\n1,1\n", "line 3: no row end (is a quote left open?) within 4,194,304"),
        (b'{"y_true": 1, "y_pred": 1}\n', "line 2: no line end within 4,194,304 bytes, NUL bytes"),
        (b"BZh9", "line 1: no row end (is a quote left open?) within 4,194,304 bytes"),
        (b"\x1f\x8b\x08\0", "the gzip data is damaged"),
        (b"\xfd7zXZ\0", "the xz data is damaged"),
        (b"PAR1", "not a sound Parquet file (it does not end as one"),
        (OLD.to_bytes(), "is a state, not a log; `streameval show` reads it."),
    ],
    ids=["hole", "csv", "jsonl", "bzip2", "gzip", "xz", "parquet", "state"],
)
def test_eval_refuses_a_large_wrong_file_in_64_mib(head: bytes, told: str, wrong: Path) -> None:
    with wrong.open("r+b") as file:
        file.write(head)
    done = limited("eval", wrong)
    assert done.returncode == 3
    assert done.stderr.startswith(f"streameval: error: {wrong}")
    assert told in done.stderr
