"""The commands that take states, and the files of states that they read and write."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streameval.accumulators.parts import Parts
from streameval.accumulators.persistence import load, save
from streameval.accumulators.windowed import Windowed
from streameval.cli.errors import UsageError
from streameval.errors import (
    BadDataError,
    CorruptStateError,
    InvalidInputError,
    StreamevalError,
    refused,
)
from streameval.io.recognition import log_type_of
from streameval.io.streams import STANDARD_INPUT, size_of
from streameval.results.result import Result
from streameval.states.type_ids import MAGIC

if TYPE_CHECKING:
    from streameval.runs.slices import Slices


_LONGEST_NAME = 200  # bytes; file systems allow 255
_BEGINNING = 40
_IN_A_NAME = re.compile(r"[^\w .,+@-]")


def check_file_output(path: str, inputs: Iterable[str]) -> None:
    """Check before the work starts that the file can be written.

    Raises
    ------
    UsageError
        If an input would be overwritten.
    BadDataError
        If the folder does not exist, or the path is not a file.
    """
    target = Path(path)
    inputs = {os.path.realpath(name) for name in inputs if name != STANDARD_INPUT}
    if os.path.realpath(path) in inputs:  # follow links, as saving does
        raise UsageError(f"-o {path} would overwrite an input.")
    try:
        exists, has_folder = target.exists(), target.parent.is_dir()
        is_loop = Path(os.path.realpath(path)).is_symlink()
    except OSError as error:
        raise refused(path, error) from None
    if not has_folder:
        raise BadDataError(f"{path}: there is no such folder.")
    if is_loop:
        raise BadDataError(f"{path}: is a link that leads back to itself.")
    # Saving replaces the old path with a new file; the path might be a device.
    if exists and not target.is_file():
        raise BadDataError(f"{path}: is not a regular file.")


def check_state_output(path: str, inputs: Iterable[str]) -> None:
    """Check before the work starts that a state can be written without losing another file.

    Raises
    ------
    UsageError
        If an input would be overwritten.
    BadDataError
        If the folder does not exist, or the path is not a file or is a file of another type.
    """
    check_file_output(path, inputs)
    target = Path(path)
    if target.is_file() and target.stat().st_size:
        with target.open("rb") as file:
            is_state = file.read(len(MAGIC)) == MAGIC
        if not is_state:
            raise BadDataError(f"{path}: exists and is not a state; choose another name.")


def check_folder(path: str) -> None:
    """Check before the work starts that the path is a folder or can become one.

    Raises
    ------
    BadDataError
        If the path is a file, or the folder above does not exist.
    """
    target = Path(path)
    try:
        exists = target.exists() or target.is_symlink()  # it may be a broken link
        is_folder, has_parent = target.is_dir(), target.parent.is_dir()
    except OSError as error:
        raise refused(path, error) from None
    if exists and not is_folder:
        raise BadDataError(f"{path}: is not a folder, and each slice is a file of its own.")
    if not has_parent:
        raise BadDataError(f"{path}: its parent folder does not exist.")


def save_slices(total: Any, slices: Slices, folder: str) -> list[str]:
    """Save slices in a folder: ``country=DE.state`` and so on, the total and the other values.

    Returns
    -------
    list of str
        Notes, such as that the folder holds other states, which are not slices of this total.
    """
    named = {"all": total} | {
        _slice_name(slices.pairs(value)): held for value, held in slices.by_value.items()
    }
    if slices.other is not None:
        named["other"] = slices.other
    return save_folder(named, folder)


def save_folder(named: Mapping[str, Any], folder: str) -> list[str]:
    """Save states in a folder, by the names of their files without the ending; return the notes."""
    try:
        Path(folder).mkdir(exist_ok=True)
    except OSError as error:
        raise refused(folder, error) from None
    for name, accumulator in named.items():
        save_state(accumulator, str(Path(folder, f"{name}.state")))
    others = sorted({path.stem for path in Path(folder).glob("*.state")} - named.keys())
    if not others:
        return []
    more = f" and {len(others) - 1:,} more" if len(others) > 1 else ""
    return [f"{folder}: also holds {others[0]}.state{more}, from before: not a slice of this run."]


def save_state(accumulator: Any, path: str) -> None:
    """Save a state, or say in one line why that failed."""
    with saving(path, "state"):
        save(accumulator, path)


@contextmanager
def saving(path: str, what: str) -> Iterator[None]:
    """Say in one line why something is not saved."""
    try:
        yield
    except OSError as error:
        raise refused(f"{path}: the {what} is not saved", error) from None


def states_of(paths: Iterable[str]) -> list[str]:
    """List state files, and those of folders of slices: all rows first, then the slices by name.

    Raises
    ------
    BadDataError
        If a folder holds no state, or cannot be read.
    """
    return [state for path in paths for state in (_slices_in(path) if is_folder(path) else [path])]


def slices_by_name(folders: Sequence[str]) -> dict[str, list[str]]:
    """List the states of several folders of slices by name, one of each folder.

    Raises
    ------
    BadDataError
        If a folder lacks a name that another has: its rows may be among the other values there.
    """
    held = {folder: {Path(path).stem: path for path in _slices_in(folder)} for folder in folders}
    names = dict.fromkeys(name for files in held.values() for name in files)
    for folder, files in held.items():
        for name in names:
            if name not in files:
                raise BadDataError(
                    f"{folder}: has no {name}.state, whose rows may be among others there; --by "
                    "COLUMN=A,B names the values that each run saves."
                )
    return {name: [held[folder][name] for folder in folders] for name in names}


def _slices_in(folder: str) -> list[str]:
    try:
        found = sorted(
            path for path in Path(folder).iterdir() if path.suffix == ".state" and path.is_file()
        )
    except OSError as error:
        raise refused(folder, error) from None
    if not found:
        raise BadDataError(f"{folder}: holds no file that ends in .state.")
    return [str(path) for path in sorted(found, key=lambda path: path.stem != "all")]


def is_folder(path: str) -> bool:
    """Whether it is a folder, as `eval --by` writes one for slices."""
    try:
        return Path(path).is_dir()
    except OSError:
        return False  # whoever reads it says why


def check_different_files(paths: Sequence[str]) -> None:
    """Raise UsageError if one file is given twice, even through a link."""
    first: dict[str, str] = {}
    for path in paths:
        file = os.path.realpath(path)
        if file in first:
            other = "" if first[file] == path else f", as {first[file]}"
            raise UsageError(f"{path} is given twice{other}.")
        first[file] = path


def load_state(path: str) -> Any:
    """Load an accumulator, or the total of parts, or say in one line why that failed."""
    held = load_held(path)
    if not isinstance(held, Parts):
        return held
    try:
        return held.total()
    except InvalidInputError as error:
        raise BadDataError(f"{path}: {error}") from None


def load_held(path: str) -> Any:
    """Load an accumulator or parts, or say in one line why that failed."""
    try:
        return load(path)
    except OSError as error:
        raise refused(path, error) from None
    except CorruptStateError as error:
        from streameval.monitoring import checkpoint  # noqa: PLC0415 (it needs SQLite)

        if checkpoint.is_checkpoint(path):
            return checkpoint.read_checkpoint(path).windowed
        found = _log_type(path)
        if found is not None:
            raise BadDataError(
                f"{path}: is {found}, not a state; `streameval eval` reads it."
            ) from None
        raise error.within(path) from None


def panes_of(path: str, held: Any, option: str) -> Windowed:
    """Return a state with panes of time, or say that an option needs them."""
    if not isinstance(held, Windowed):
        what = type(held).__name__
        raise UsageError(f"{option} is for states with panes of time, and {path} holds a {what}.")
    return held


def numbers_of_monitor(path: str, held: Any) -> dict[str, Any]:
    """Return what a checkpoint holds besides its panes, as an entry of a JSON object."""
    if not isinstance(held, Windowed):
        return {}
    from streameval.monitoring import checkpoint  # noqa: PLC0415 (it needs SQLite)

    is_told = held.newest is not None and checkpoint.is_checkpoint(path)
    return {"monitor": checkpoint.read_numbers(path)} if is_told else {}


def _log_type(path: str) -> str | None:
    """Name the type of log if a log was given instead of a state."""
    if size_of(path) is None:
        return None  # bytes read from a pipe cannot be read again
    try:
        return log_type_of(path)
    except StreamevalError:
        return None


def computed(accumulator: Any) -> Result:
    """Compute a result that the command line can show; `checked` refuses others."""
    return checked(accumulator.compute())


def checked(result: Any) -> Result:
    """Return the result if the command line can show it.

    Raises
    ------
    InvalidInputError
        If it is a result of a user-defined class, alone or as a member.
    """
    held = result.leaves().values() if isinstance(result, Result) else [result]
    for one in held:
        if not isinstance(one, Result):
            raise InvalidInputError(
                f"holds a {type(one).__name__}, which this version of the command line does "
                "not show",
                argument="state",
                remedy="In Python, use se.load(path).compute().",
            )
    found: Result = result
    return found


def _slice_name(pairs: Iterable[tuple[str, Any]]) -> str:
    """Name the file of a value; characters with a meaning for file systems are written in hex."""
    whole = ",".join(starmap(_pair_name, pairs))
    if len(whole.encode()) <= _LONGEST_NAME:
        return whole
    mark = hashlib.sha256(whole.encode()).hexdigest()[:16]  # two long values may share a beginning
    return f"{whole[:_BEGINNING]}~{mark}"


def _pair_name(column: str, value: str | None) -> str:
    name = _IN_A_NAME.sub(_escaped, column)
    return f"{name}.missing" if value is None else f"{name}={_IN_A_NAME.sub(_escaped, value)}"


def _escaped(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode())
