"""`streameval merge`: many states into one."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from typing import Any

from streameval.accumulators.parts import Parts
from streameval.cli.errors import UsageError
from streameval.cli.states import (
    check_different_files,
    check_folder,
    check_state_output,
    is_folder,
    load_held,
    save_folder,
    save_state,
    slices_by_name,
)
from streameval.cli.states.show import size_text
from streameval.cli.terminal import CommandOutput, Note
from streameval.errors import IncompatibleStateError, StreamevalError
from streameval.render.text import plural, printable

_DIGEST_BYTES = 16


def merge(states: Sequence[str], output: str) -> CommandOutput:
    """Merge state files into one: their sum, or the union of parts; folders slice by slice.

    Raises
    ------
    UsageError
        If a file is given twice, or the output is one of them; or if files and folders are mixed.
    BadDataError
        If a folder lacks a slice that another has.
    IncompatibleStateError
        If a state does not fit those before it; the message names its file.
    """
    check_different_files(states)
    if any(map(is_folder, states)):
        return _merge_folders(states, output)
    check_state_output(output, states)
    total, notes = _merged(states)
    save_state(total, output)
    text = f"{plural(len(states), 'state')} merged into {printable(output)}, {size_text(total)}\n"
    return CommandOutput(text, notes)


def _merge_folders(folders: Sequence[str], output: str) -> CommandOutput:
    """Merge the states of each slice into a state of the same name."""
    if not all(map(is_folder, folders)):
        raise UsageError("states and folders of slices cannot be merged with each other.")
    check_folder(output)
    if os.path.realpath(output) in map(os.path.realpath, folders):
        raise UsageError(f"-o {output} would overwrite an input.")
    merged = {name: _merged(paths) for name, paths in slices_by_name(folders).items()}
    left = save_folder({name: total for name, (total, _) in merged.items()}, output)
    notes = dict.fromkeys(note for _, found in merged.values() for note in found)
    n_states = f"{plural(len(merged), 'state')} of {plural(len(folders), 'folder')}"
    text = f"{n_states} merged into {printable(output)}\n"
    return CommandOutput(text, (*notes, *(Note("warning", said) for said in left)))


def _merged(paths: Sequence[str]) -> tuple[Any, tuple[Note, ...]]:
    """Merge state files, one at a time, and say which of them may have counted the same rows."""
    total = load_held(paths[0])
    if isinstance(total, Parts):  # a union of parts counts nothing twice
        for path in paths[1:]:
            _add(total, load_held(path), path, paths[0])
        return total, ()
    watch = _Watch(total.copy(), paths[0])
    for path in paths[1:]:
        state = load_held(path)
        _add(total, state, path, paths[0])
        watch.see(state, path)
    suspicions = (Note("warning", text) for text in watch.suspicions(total))
    return total, (*suspicions, *(_of_queries(total) if paths[1:] else ()))


def _of_queries(total: Any) -> Iterator[Note]:
    """Say that queries whose ids are not kept may have been in several states."""
    if total.options.get("track_queries") is False and not total.options["per_query"]:
        yield Note(
            "note",
            "a query with rows in several of the states counts once for each: evaluate their "
            "files together, or let eval --track-queries refuse it.",
        )


def _add(total: Any, state: Any, path: str, first: str) -> None:
    try:
        _check_alike(total, state)
        total.merge(state)
    except IncompatibleStateError as error:
        raise error.within(f"{path} does not fit {first}") from None


def _check_alike(total: Any, state: Any) -> None:
    if isinstance(state, Parts) is not isinstance(total, Parts):
        held = "parts" if isinstance(state, Parts) else "no parts"
        raise IncompatibleStateError(f"cannot merge: it holds {held}.")


class _Watch:
    """Summaries of the states of a merge, to detect rows that are counted twice.

    Parameters
    ----------
    state, path : accumulator and str
        The first state.
    """

    def __init__(self, state: Any, path: str) -> None:
        self._seen = {_digest(state): path}
        self._twins: tuple[str, str] | None = None
        self._n_twins = 0
        self._largest = state, path

    def see(self, state: Any, path: str) -> None:
        """Record another state, which must not change afterwards."""
        first = self._seen.setdefault(_digest(state), path)
        if first != path and state != state.copy().reset():
            self._twins = self._twins or (path, first)
            self._n_twins += 1
        if _size(state) > _size(self._largest[0]):
            self._largest = state, path

    def suspicions(self, total: Any) -> tuple[str, ...]:
        """Report likely mistakes: two equal states, or a state that is the sum of the others."""
        state, whole = self._largest
        if self._twins:
            path, first = self._twins
            rest = self._n_twins - 1
            more = f", and {rest:,} more to another" if rest else ""
            return (f"{path} is equal to {first}{more}: a part that is given twice counts twice.",)
        if _is_double(total, state):
            return (f"{whole} is equal to the sum of the others: their rows count twice.",)
        return ()


def _digest(state: Any) -> bytes:
    return hashlib.blake2b(state.to_bytes(), digest_size=_DIGEST_BYTES).digest()


def _is_double(total: Any, state: Any) -> bool:
    """Tell whether a total is twice a state, so that the others add up to it."""
    if not _size(state) or _size(total) != 2 * _size(state):
        return False
    try:
        return bool(state + state == total)
    except StreamevalError:  # tracked queries cannot be counted twice
        return False


def _size(state: Any) -> int | float:
    """Add up what an accumulator, or each member of a collection, has counted."""
    return _added(state.n)


def _added(n: Any) -> int | float:
    return sum(map(_added, n.values())) if isinstance(n, dict) else n
