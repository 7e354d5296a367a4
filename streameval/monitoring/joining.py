"""Labels that arrive later: batches go into the join as records, and batches come out."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from streameval.configs.windowed import WindowedConfig
from streameval.errors import BadDataError, Named
from streameval.exact.array_types import Array, Ints
from streameval.inputs.coded import CodedTexts
from streameval.io.blocks import Block
from streameval.io.columns import Argument, objects
from streameval.monitoring.join import Join
from streameval.monitoring.planning import ID, Split, batch_of, label_of
from streameval.monitoring.quarantine import LabelRows
from streameval.render.text import plural

if TYPE_CHECKING:
    from streameval.monitoring.checkpoint import Changes, Saved
    from streameval.monitoring.intake import Reader
    from streameval.monitoring.settings import Settings


class RecordCodes:
    """Codes for values that numeric records cannot hold.

    Parameters
    ----------
    values : iterable
        The values of the codes 0, 1, ...
    """

    def __init__(self, values: Sequence[Any] = ()) -> None:
        self._values = [_hashable(value) for value in values]
        self._codes = {value: code for code, value in enumerate(self._values)}
        self._n_stored = len(self._values)

    def encode(self, items: Sequence[Any]) -> Array:
        """Find the code of each item, and add missing ones."""
        codes = self._codes
        new = [item for item in dict.fromkeys(items) if item not in codes]
        codes.update(zip(new, count(len(codes))))
        self._values += new
        return np.fromiter(map(codes.__getitem__, items), np.int64, len(items))

    def decode(self, codes: Array) -> list[Any]:
        """Return the value of each code."""
        values = self._values
        return [values[code] for code in codes.tolist()]

    @property
    def added(self) -> list[Any]:
        """The values that have not been stored."""
        return self._values[self._n_stored :]

    def stored(self) -> None:
        """Record that all values have been stored."""
        self._n_stored = len(self._values)


class Records:
    """Arrays of a batch as one array of records, and back; objects become codes.

    Parameters
    ----------
    columns : sequence of Argument
        The columns of a batch.
    values : mapping from argument to list
        The dictionaries that have been stored.
    """

    def __init__(self, columns: Sequence[Argument], values: Mapping[str, Sequence[Any]]) -> None:
        empty = batch_of(columns, [])
        self._fields = {name: (array.dtype, array.shape[1:]) for name, array in empty.items()}
        self.dictionaries = {
            name: RecordCodes(values.get(name, ()))
            for name, (dtype, _) in self._fields.items()
            if dtype.kind == "O"
        }
        self.dtype = np.dtype(
            [
                (name, np.dtype(np.int64) if dtype.kind == "O" else dtype, shape)
                for name, (dtype, shape) in self._fields.items()
            ]
        )

    def encode(self, batch: Mapping[str, Array], size: int) -> Array:
        """Make one record of each row."""
        records = np.empty(size, dtype=self.dtype)
        for name in self._fields:
            coder = self.dictionaries.get(name)
            records[name] = batch[name] if coder is None else _codes(coder, batch[name])
        return records

    def decode(self, records: Array) -> dict[str, Array]:
        """Rebuild the arrays of a batch."""
        batch: dict[str, Array] = {}
        for name in self._fields:
            coder = self.dictionaries.get(name)
            column = np.ascontiguousarray(records[name])
            batch[name] = column if coder is None else _items(coder, column)
        return batch


class Truths:
    """Labels as numbers, and back: a code, unless the label is a number itself.

    Parameters
    ----------
    columns : sequence of Argument
        The truths of a row.
    values : mapping from name to list
        The dictionaries that have been stored.
    """

    NAME = "label`"
    """What the dictionary is called; no argument has such a name."""

    def __init__(self, columns: Sequence[Argument], values: Mapping[str, Sequence[Any]]) -> None:
        self._fields = batch_of(columns, [])
        array = next(iter(self._fields.values()))
        is_number = len(self._fields) == 1 and array.ndim == 1 and array.dtype.kind in "biuf"
        self.dictionaries = {} if is_number else {self.NAME: RecordCodes(values.get(self.NAME, ()))}
        is_real = is_number and array.dtype.kind == "f"
        self.dtype = np.dtype(np.float64 if is_real else np.int64)

    def encode(self, batch: Mapping[str, Array]) -> Array:
        """Make one number of the truths of each row."""
        coder = self.dictionaries.get(self.NAME)
        arrays = [batch[name] for name in self._fields]
        if coder is None:
            return arrays[0].astype(self.dtype)
        rows = zip(*(array.tolist() for array in arrays), strict=True)
        return coder.encode(list(map(_hashable, rows)))

    def decode(self, labels: Array) -> dict[str, Array]:
        """Rebuild the arrays of truths."""
        coder = self.dictionaries.get(self.NAME)
        if coder is None:
            ((name, array),) = self._fields.items()
            return {name: labels.astype(array.dtype)}
        columns = zip(*coder.decode(labels), strict=True)
        return {
            name: np.array(column, dtype=array.dtype)
            if array.dtype.kind != "O"
            else objects(column)
            for (name, array), column in zip(self._fields.items(), columns, strict=True)
        }

    def missing(self, size: int) -> dict[str, Array]:
        """Make missing truths."""
        return {name: objects([None] * size) for name in self._fields}


def _codes(coder: RecordCodes, array: Any) -> Array:
    """Encode values of any shape; of coded texts, each distinct one once."""
    if isinstance(array, CodedTexts):
        return coder.encode(list(array.texts))[array.codes]
    return coder.encode(array.ravel().tolist()).reshape(array.shape)


def _items(coder: RecordCodes, codes: Array) -> Any:
    """Decode values of any shape; a vector of texts stays coded."""
    different, numbers = np.unique(codes, return_inverse=True)
    values = coder.decode(different)
    if codes.ndim == 1 and set(map(type, values)) <= {str, type(None)}:
        return CodedTexts(numbers, values)
    return objects(values)[numbers].reshape(codes.shape)


def _hashable(value: Any) -> Any:
    return tuple(map(_hashable, value)) if isinstance(value, list | tuple) else value


_OF_JOIN = ("wait", "out_of_order", "settle", "max_pending")
_STRANGERS = 100
_TRIM: Any = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None


class Joining:
    """A `join` of batches: converts batches to records, and joined records to batches.

    Parameters
    ----------
    settings : Settings
    windows : WindowedConfig
        The plan, which knows the time column.
    parts : Split
        The columns of predictions and labels.
    saved : Saved
        The last commit.
    notes : list of str
        Gets warnings of labels that will not count.
    label_rows : LabelRows, optional
        What becomes of labels that belong to no prediction.
    """

    def __init__(
        self,
        settings: Settings,
        windows: WindowedConfig,
        parts: Split,
        saved: Saved,
        notes: list[str],
        label_rows: LabelRows | None = None,
    ) -> None:
        self._notes = notes
        self._label_rows = label_rows
        self._settings = settings
        self._windows = windows
        self._records = Records(parts.records, saved.values)
        self._truths = Truths(parts.truths, saved.values)
        self._dictionaries: dict[str, RecordCodes] = {
            **self._records.dictionaries,
            **self._truths.dictionaries,
        }
        self._label = label_of(settings.unlabelled, parts.truths)
        self._last_ids = {"predictions": "", "labels": ""}
        self._knows_strangers = False
        options: dict[str, Any] = {
            **{name: getattr(settings, name) for name in _OF_JOIN},
            "max_step": settings.max_step(windows.width),
            "label_dtype": self._truths.dtype,
        }
        dtype, state = self._records.dtype, saved.state.get("join")
        self.join = (
            Join(dtype, **options)
            if state is None
            else Join.restore(dtype, options, state, saved.runs, saved.dead)
        )
        self._n_late_told = self.join.counters["late_label"]
        _give_memory_back()

    def order(self, predictions: Reader, labels: Reader) -> list[Reader]:
        """Order sources by event time, the slowest first; leave out one that must wait.

        Raises
        ------
        BadDataError
            If neither can be read.
        """
        if self.join.is_stuck:
            raise BadDataError(
                f"{self._settings.max_pending:,} predictions are waiting, and more come within "
                "`wait`; ",
                Named("max_pending"),
                " must be larger.",
            )
        if self.join.is_full:
            return [labels]
        if self.join.is_full_of_labels:
            return [predictions]
        ahead, behind = predictions.partitions.newest, labels.partitions.newest
        if behind is None or (ahead is not None and behind <= ahead):
            return [labels, predictions]
        return [predictions, labels]

    def put(
        self,
        role: str,
        partition: str,
        times: Ints,
        batch: Mapping[str, Array],
        origin: tuple[Block, Sequence[Any]],
    ) -> tuple[Any, Ints]:
        """Add a batch, rows of a block.

        Returns
        -------
        index
            Of the rows of this shard.
        array of int64
            The watermark of the partition just before each row.
        """
        ids = batch[ID].tolist()
        is_own = self._settings.own(ids)
        self._last_ids[role] = ids[-1]
        if role == "labels":
            labels = self._truths.encode(batch)
            marks = self.join.label(partition, ids, times, labels, is_own=is_own)
            if self._label_rows is not None:
                self._label_rows.note(*origin, ids, times)
        else:
            rows = self._records.encode(batch, len(times))
            marks = self.join.predict(partition, ids, times, rows, is_own=is_own)
        return slice(None) if is_own is None else is_own, marks

    def ready(self) -> Iterator[tuple[Ints, dict[str, Any]]]:
        """Remove and return newly labelled rows, then those whose wait is over."""
        joined = self.join.ready()
        if self._label_rows is not None:
            for reason, labels in self.join.lost:
                self._label_rows.lose(reason, labels)
        for is_labelled in (True, False):
            chosen = joined.is_labelled if is_labelled else ~joined.is_labelled
            times = joined.times[chosen]
            if not len(times):
                continue
            batch = self._records.decode(joined.rows[chosen])
            batch[self._windows.time] = times if self._windows.is_step else times.view("M8[us]")
            if is_labelled:
                batch |= self._truths.decode(joined.labels[chosen])
            elif self._label is None:
                batch |= self._truths.missing(len(times))
            else:
                batch |= {name: np.repeat(one, len(times)) for name, one in self._label.items()}
            yield times, batch

    def check_labels(self, n_labels: int) -> None:
        """Warn once if no label matches a prediction, and about labels that came too late.

        Of the latter, it warns of the first, and of ten times as many again.
        """
        counters = self.join.counters
        n_expired, n_late = counters["unlabelled"], counters["late_label"]
        enough = min(n_expired, n_labels) >= _STRANGERS
        if enough and not counters["joined"] and not self._knows_strangers:
            self._knows_strangers = True
            last = self._last_ids
            self._notes.append(
                f"no label matches a prediction by `{self._settings.key}`: {n_labels:,} labels "
                f"have been read, such as {last['labels']!r}, and {n_expired:,} predictions have "
                f"found no label, such as {last['predictions']!r}"
            )
        if n_late >= max(10 * self._n_late_told, 1):
            self._n_late_told = n_late
            self._notes.append(
                f"{plural(n_late, 'label')} came after the wait of the prediction, and will not "
                "count"
            )

    def added_to(self, changes: Changes) -> Changes:
        """Add the changes to a commit."""
        runs = self.join.changes()
        if self._label_rows is not None:
            changes = attrs.evolve(changes, label_rows=self._label_rows.undecided(self.join))
        return attrs.evolve(
            changes,
            state={**changes.state, "join": runs.state},
            values={name: one.added for name, one in self._dictionaries.items()},
            runs=runs.added,
            dead=runs.dead,
            removed=runs.removed,
        )

    def note_committed(self) -> None:
        """Record that the changes added to a commit are stored."""
        for one in self._dictionaries.values():
            one.stored()
        _give_memory_back()


def _give_memory_back() -> None:
    """Return the holes that parsed rows and runs leave in the heap, which the C library keeps."""
    if _TRIM is not None:  # pragma: no branch (glibc)
        _TRIM(0)
