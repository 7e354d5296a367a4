"""Files of states: all of the old or all of the new, whatever happens."""

from __future__ import annotations

import errno
import os
import resource
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np
import pytest
from small_states import EVERY

import streameval as se
from streameval.accumulators import checkpoint

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


@pytest.mark.parametrize("name", EVERY)
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
    monkeypatch.setattr(checkpoint, "os", SimpleNamespace(**(vars(os) | refusing)))
    se.save(OLD, tmp_path / "state.se")
    assert se.load(tmp_path / "state.se") == OLD


KILLER = """
import os, random, signal, sys, time
import streameval as se

path, kills = sys.argv[1], int(sys.argv[2])
states = [se.load(f"{path}.{name}") for name in ("old", "new")]
names = {state.to_bytes(): name for state, name in zip(states, ("old", "new"))}
choose = random.Random(5)
for _ in range(kills):
    pid = os.fork()
    if not pid:
        while True:
            for state in states:
                se.save(state, path)
    time.sleep(choose.uniform(0.001, 0.02))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    print(names[se.load(path).to_bytes()])
"""


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
