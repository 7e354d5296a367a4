"""Which task counts what: files of like total size together, and a large one row group by group."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from os import fspath
from pathlib import Path
from typing import Any

import attrs

from streameval.engines._counting import (
    MixedColumnsError,
    OptionalColumns,
    RunningCount,
    SourceCounter,
)
from streameval.engines._sources import DataFile, PolarsFrame, Stream
from streameval.errors import BadDataError, InvalidInputError, StreamevalError
from streameval.io.formats import format_of
from streameval.io.parquet import parquet_blocks
from streameval.io.streams import size_of, store_of
from streameval.runs.files import Partition, files_of, partitions_of

_FIRST = 0.8
"""The share of what a slot has left that its next task reads, unless it would be too large. A
sketch counts its first rows slowly, so that tasks are few; the last are small, so that all slots
end at about the same time."""
_MIN_BYTES = 2**20
_MAX_BYTES = 2**28
"""What a task reads at most by default. Where `by` makes states large, the tasks of a slot read as
much together until they are merged, and none of them more than half of it. What they hold is no
larger: a cell takes a few times the bytes of the row that it comes from, a packed file a few times
less."""
_OPENING = 2**17
"""How many bytes are read in the time that it takes to open a file."""


@attrs.frozen
class TaskPiece:
    """A file, or one of its row groups.

    Parameters
    ----------
    file : str
        The path.
    form : str or None
        The format, None where the file tells.
    size : int
        How many bytes it takes.
    stamp : int
        When the file was changed, in nanoseconds; 0 where that is not known.
    group : int, optional
        The number of the row group.
    partition : Partition
        The columns that its folders name.
    """

    file: str
    form: str | None
    size: int
    stamp: int
    group: int | None = None
    partition: Partition = ()

    def __str__(self) -> str:
        """Name it."""
        return self.file if self.group is None else f"{self.file}, row group {self.group}"


@attrs.frozen
class FileTask:
    """Files, or row groups of them, that one task counts.

    Parameters
    ----------
    pieces : tuple of TaskPiece
        What is counted, in order.
    """

    pieces: tuple[TaskPiece, ...]

    def key(self, settings: str) -> tuple[str, int, str]:
        """Tell the task from every other, and from what was counted of other versions of a file."""
        text = repr((settings, [attrs.astuple(piece) for piece in self.pieces]))
        digest = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
        return str(self.pieces[0]), len(self.pieces), digest


@attrs.frozen
class Cut:
    """How sources are cut into tasks.

    Parameters
    ----------
    target_bytes : int or None
        How many bytes a task reads, about; None for a choice by their total.
    n_slots : int
        How many tasks run at a time.
    n_merged : int or None
        How many tasks are merged together if they count the values of a column apart; None if
        they do not, so that their states are small.
    whole_files : bool
        Whether row groups of a file stay together.
    settings : str
        What is counted of the files, for `FileTask.key`.
    """

    target_bytes: int | None
    n_slots: int
    n_merged: int | None
    whole_files: bool
    settings: str

    def cost(self, piece: TaskPiece) -> int:
        """Tell how many bytes a piece takes, or as how many it takes time."""
        return piece.size if self.target_bytes is not None else piece.size + _OPENING

    def targets(self, pieces: Iterable[TaskPiece]) -> list[int]:
        """Choose what each task may cost, one after the other; the last is for all that follow."""
        if self.target_bytes is not None:
            return [self.target_bytes]
        n_slots = max(self.n_slots, 1)
        left = -(-sum(map(self.cost, pieces)) // n_slots)  # for each slot
        limit = _MAX_BYTES
        if self.n_merged is not None and left > 2 * _MAX_BYTES:
            share = _MAX_BYTES * n_slots // self.n_merged
            limit = max(min(share, _MAX_BYTES // 2), _MIN_BYTES)
        targets: list[int] = []
        while (first := int(left * _FIRST)) > limit:
            targets += [limit] * n_slots
            left -= limit
        targets += [max(first, _MIN_BYTES)] * n_slots
        return [*targets, max(left - first, _MIN_BYTES)]


@attrs.frozen
class Done:
    """What a task reports besides its states.

    Parameters
    ----------
    n_sources : int
        How many files, row groups or batches it was given.
    layout : OptionalColumns
        Which optional columns they have.
    left_out : tuple of BadDataError
        Why some were not counted.
    n_skipped : int
        How many rows were left out for their nulls.
    """

    n_sources: int
    layout: OptionalColumns
    left_out: tuple[BadDataError, ...] = ()
    n_skipped: int = 0


def plan_tasks(
    paths: Sequence[Any], cut: Cut, finished: Mapping[tuple[str, int], set[str]]
) -> list[FileTask]:
    """Group files, in order, into tasks of like size.

    It runs where the files can be read.

    Parameters
    ----------
    paths : sequence of paths or DataFile
        Files, folders and patterns, and files of data sets.
    cut : Cut
        How large the tasks are.
    finished : mapping
        The digests of tasks that an earlier run has finished, by their first piece and its number
        of pieces. These tasks come again if their files have not changed.
    """
    own = [files_of(fspath(path)) for path in paths if not isinstance(path, DataFile)]
    partitions = iter(partitions_of([file for files in own for file, _ in files]))
    listed = iter(own)
    files = []
    for path in paths:
        if isinstance(path, DataFile):
            files.append(_piece(path.file, path.form, path.partition))
        else:
            files += [_piece(file, form, next(partitions)) for file, form in next(listed)]
    pieces, targets = list(files), cut.targets(files)
    if not cut.whole_files:
        pieces = [part for piece in files for part in _parts(piece, targets[-1])]
    return list(_grouped(pieces, cut, targets, finished))


def _piece(file: str, form: str | None, partition: Partition) -> TaskPiece:
    found = store_of(file)
    if found is None:
        size = size_of(file) or 0
        stamp = Path(file).stat().st_mtime_ns if size else 0
    else:
        info = found[0].get_file_info(found[1])
        size, stamp = info.size or 0, info.mtime_ns or 0
    return TaskPiece(file, form, size, stamp, partition=partition)


def _parts(piece: TaskPiece, target: int) -> list[TaskPiece]:
    """Cut a large file of Parquet into its row groups."""
    if piece.size <= target or (piece.form or format_of(piece.file)) != "parquet":
        return [piece]
    try:
        blocks = list(parquet_blocks(piece.file))
    except StreamevalError:  # the task that counts the file says what is wrong
        return [piece]
    return [attrs.evolve(piece, size=block.taken, group=block.group) for block in blocks]


def _grouped(
    pieces: Sequence[TaskPiece],
    cut: Cut,
    targets: Sequence[int],
    finished: Mapping[tuple[str, int], set[str]],
) -> Iterator[FileTask]:
    lengths: dict[str, list[int]] = {}
    for first, number in finished:
        lengths.setdefault(first, []).append(number)
    start, position, cost = 0, 0, 0
    target, *later = targets
    while position < len(pieces):
        known = None
        for number in lengths.get(str(pieces[position]), ()):
            task = FileTask(tuple(pieces[position : position + number]))
            first, length, digest = task.key(cut.settings)
            if digest in finished.get((first, length), ()):
                known = task
        if known is not None:
            if start < position:
                yield FileTask(tuple(pieces[start:position]))
            yield known
            start = position = position + len(known.pieces)
            cost = 0
            continue
        cost += cut.cost(pieces[position])
        position += 1
        if cost >= target:
            yield FileTask(tuple(pieces[start:position]))
            start, cost = position, 0
            target, *later = later or [target]
    if start < position:
        yield FileTask(tuple(pieces[start:position]))


def count_files(
    counter: SourceCounter, task: FileTask, *, skips: bool = False
) -> tuple[Done, RunningCount]:
    """Count the files of a task, all values of the column `by`.

    Parameters
    ----------
    counter : SourceCounter
        What is counted.
    task : FileTask
        The files.
    skips : bool
        Whether a file that cannot be counted is left out.
    """
    left_out: dict[str, BadDataError] = {}
    files = [(*file, [*pieces]) for file, pieces in groupby(task.pieces, key=_file_of)]
    while True:
        running = RunningCount(counter)
        for file, form, partition, pieces in files:
            if file in left_out:
                continue
            groups = [piece.group for piece in pieces if piece.group is not None]
            try:
                running.add_file(file, form, partition, groups or None)
            except MixedColumnsError:
                raise
            except BadDataError as error:
                if not skips:
                    raise
                left_out[file] = error  # it may have been counted in part
                break
        else:
            listed = (*left_out.values(),)
            done = Done(len(task.pieces), running.layout, listed, running.n_skipped)
            return done, running


def _file_of(piece: TaskPiece) -> tuple[str, str | None, Partition]:
    return piece.file, piece.form, piece.partition


def count_batch(counter: SourceCounter, batch: Any, name: str) -> tuple[Done, RunningCount]:
    """Count one batch, or one frame or stream of them."""
    running = RunningCount(counter)
    if isinstance(batch, (PolarsFrame, Stream)):
        running.add_stream(batch, name)
    else:
        try:
            running.add_batch(batch, name)
        except InvalidInputError as error:
            raise error.within(name) from error
    return Done(1, running.layout, n_skipped=running.n_skipped), running
