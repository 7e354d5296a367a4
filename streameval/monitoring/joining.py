"""Labels that arrive later: batches go into the join, and countable batches come out."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from streameval.configs.windowed import WindowedConfig
from streameval.errors import BadDataError, Named
from streameval.exact.array_types import Array, Ints
from streameval.io.blocks import Block
from streameval.monitoring.join import Join
from streameval.monitoring.planning import ID, Split, label_of
from streameval.monitoring.quarantine import LabelRows
from streameval.monitoring.rows import RecordCodes, Records, Truths

if TYPE_CHECKING:
    from streameval.monitoring.checkpoint import Changes, Saved
    from streameval.monitoring.intake import Reader
    from streameval.monitoring.settings import Settings


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
    label_rows : LabelRows, optional
        What becomes of labels that belong to no prediction.
    """

    def __init__(
        self,
        settings: Settings,
        windows: WindowedConfig,
        parts: Split,
        saved: Saved,
        label_rows: LabelRows | None = None,
    ) -> None:
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
    ) -> Any:
        """Add a batch, rows of a block; return the index of the rows of this shard."""
        ids = batch[ID].tolist()
        is_own = self._settings.own(ids)
        self._last_ids[role] = ids[-1]
        if role == "labels":
            labels = self._truths.encode(batch)
            self.join.label(partition, ids, times, labels, is_own=is_own)
            if self._label_rows is not None:
                self._label_rows.note(*origin, ids, times)
        else:
            rows = self._records.encode(batch, len(times))
            self.join.predict(partition, ids, times, rows, is_own=is_own)
        return slice(None) if is_own is None else is_own

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

    def strangers(self, n_labels: int) -> list[str]:
        """Warn once if no label matches a prediction, although both sides have rows."""
        counters = self.join.counters
        n_expired = counters["unlabelled"]
        enough = min(n_expired, n_labels) >= _STRANGERS
        if self._knows_strangers or counters["joined"] or not enough:
            return []
        self._knows_strangers = True
        text = (
            f"no label matches a prediction by `{self._settings.key}`: {n_labels:,} labels have "
            f"been read, such as {self._last_ids['labels']!r}, and {n_expired:,} predictions have "
            f"found no label, such as {self._last_ids['predictions']!r}"
        )
        return [text]

    def late_labels(self) -> list[str]:
        """Warn about labels that came too late: of the first, and of ten times as many again."""
        n_late = self.join.counters["late_label"]
        if n_late < max(10 * self._n_late_told, 1):
            return []
        self._n_late_told = n_late
        labels = "label" if n_late == 1 else "labels"
        return [f"{n_late:,} {labels} came after the wait of the prediction, and will not count"]

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
