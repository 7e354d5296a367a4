"""The join of predictions and labels by id; its result does not depend on reading order.

The rules
---------
Each side, predictions and labels, has partitions, and each partition is a fixed sequence of rows.
Everything below is a function of the parts of these sequences that have been read:

*Arrival.* The watermark of a partition after some rows is the event time that it has reached minus
``out_of_order``. That is the newest among them, except for rows that jump ahead and that later rows
have not confirmed (`LogTime`, with ``max_step``). A row *arrives* at its own event time, or at the
previous watermark of its partition if that is later. For a row that is at most ``out_of_order``
behind, the arrival time is the event time. The join compares only arrival times; event times are
passed on to the panes.

*Order.* The rows of a side are ordered by arrival time, then by the name of the partition, then by
their order in the partition. The watermark of a side is that of its slowest partition. No later row
arrives before it, so a row is *released* to the join once no other row can precede it: with one
partition and ``out_of_order`` 0, immediately.

*Predictions.* A prediction that arrives at most ``wait`` after the previous row of the same id is a
``duplicate_prediction``. Every other prediction is a row, so the rows of one id are more than
``wait`` apart, and an id can be reused once its wait is over.

*Labels.* A label that arrives at time s belongs to

1. the row of its id that arrived in [s - wait, s] (there is one at most);
2. or else, once the watermark of predictions has passed s, it is a ``late_label`` if a row of
   its id arrived in [s - 2 wait, s - wait);
3. or else to the row of its id that arrives in (s, s + wait]: a label before its prediction;
4. or else it is counted as ``orphan_expired`` once both watermarks have passed s + wait.

*One label a row.* The first label that belongs to a row, in the order of labels, is the label of
the row, which is then counted. A later one is a ``duplicate_label`` if it is equal and
``conflicting`` if not.

*Corrections.* With ``settle``, the first label of an id and all that arrive at most ``settle``
after it form one label, with the arrival of the first and the value of the last. It is released
once the watermark of labels has passed the end of that time, so the watermark of labels counts as
``settle`` behind. Each of these labels after the first is a ``duplicate_label`` if it equals the
previous one, and otherwise ``corrected``. A later label of the row that differs is a
``late_correction``, not ``conflicting``.

*No label.* A row without a label is ``unlabelled`` once both watermarks have passed its arrival +
``wait``. The clock plays no part, so a silent source of labels delays it.

Why the order of reading does not matter
------------------------------
Released rows are a prefix of one order, so which predictions are rows does not depend on when they
are read. Case 1 is final as soon as label and row are known, because another row of the id in that
time would lie within ``wait`` of this one. Case 2 is decided once every row up to s is known. In
case 3 the row has been released, so all rows before it have been too, and none of them took the
label. In case 4, and for a row without a label, no later row can arrive in the time in question. A
first label remains the first, because labels are released in order. So every decision is final, and
depends only on the rows read. For these decisions, a row is kept until the watermark has passed its
arrival + 2 waits; during the second wait, only its hash and time are needed.

What remains
------------
* A partition that is first named after the watermark has moved begins at that watermark: its older
  rows arrive there, and may be late. So the result depends on when it was named, but only if it has
  older rows. `Partitions.declare` names them before they are read.
* A partition that `Partitions.finish` releases delays nothing. If its name has rows again, it is
  new.
* A late label that arrives more than a wait late is ``orphan_expired``, because its row is no
  longer known.
* The last rows of the data are not released: those within the last ``out_of_order`` and, in all
  partitions but the slowest, the rows past the watermark. Later rows release them.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Mapping
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt

from streameval.errors import IncompatibleStateError, InvalidInputError, require
from streameval.exact.array_types import Array, Ints, Mask
from streameval.monitoring.arrivals import Arrivals, checked_time
from streameval.monitoring.pending_runs import (
    KEY_LAYOUT,
    MAX_TIME,
    ArrayColumns,
    BlobLog,
    ColumnTypes,
    PendingRuns,
    concatenate,
    hash_ids,
    key_order,
    key_starts,
    select,
)
from streameval.monitoring.watermarks import Partitions


class Settling:
    """Labels held back until no correction can arrive.

    The first label of an id and all that arrive within `settle` after it are one label, of the
    first's arrival and the last one's value.

    Parameters
    ----------
    layout : mapping from str to dtype
        The columns of a label, `order` and `value` among them.
    blobs : BlobLog
        Where blobs go.
    settle : int
        How long a label may be corrected.
    """

    def __init__(self, layout: ColumnTypes, blobs: BlobLog, settle: int) -> None:
        self.store = PendingRuns(layout, blobs, keeps_taken=False)
        self._settle = settle

    def put(self, labels: ArrayColumns) -> None:
        """Add labels in the order of their side."""
        self.store.add(select(labels, key_order(labels)))

    def release(self, before: int) -> tuple[ArrayColumns, int, int]:
        """Remove the labels whose first arrived before a time; return them by id and order.

        All labels that arrive within `settle` of that time have to be there. Of those that were
        taken together also return how many equal the one before, and how many do not.
        """
        n_repeated = n_corrected = 0
        store = self.store
        due = store.columns(store.between(-MAX_TIME, before))
        due = select(due, key_order(due))
        of_due = store.find(select(due, key_starts(due))).rows
        labels = {**store.columns(of_due), "stored": of_due}
        labels = select(labels, key_order(labels))  # runs keep the order of labels of one id
        is_first, is_released = key_starts(labels), np.ones(len(of_due), dtype=np.bool_)
        last = np.arange(len(of_due))
        bounds = np.append(np.flatnonzero(is_first), len(of_due))
        for number in np.flatnonzero(np.diff(bounds) > 1).tolist():
            first, end = bounds[number : number + 2].tolist()
            times, values = labels["time"][first:end].tolist(), labels["value"][first:end].tolist()
            start = 0
            while start < end - first and times[start] < before:
                stop = bisect.bisect_right(times, times[start] + self._settle)
                is_first[first + start] = True
                last[first + start] = first + stop - 1
                pairs = itertools.pairwise(values[start:stop])
                n_differing = sum(value != earlier for earlier, value in pairs)
                n_corrected += n_differing
                n_repeated += stop - start - 1 - n_differing
                start = stop
            is_released[first + start : end] = False
        store.take(labels.pop("stored")[is_released])
        store.drop(-MAX_TIME)
        is_first &= is_released
        released = {**select(labels, is_first), "value": labels["value"][last[is_first]]}
        return released, n_repeated, n_corrected


COUNTERS: tuple[str, ...] = (
    "joined",
    "unlabelled",
    "duplicate_prediction",
    "duplicate_label",
    "conflicting",
    "corrected",
    "late_correction",
    "late_label",
    "orphan_expired",
)
"""What the join counts; the rules are above."""

_CHUNK = 2**16  # temporary arrays are no longer than this
_NO_TIME = -MAX_TIME
_ORDER = np.dtype(np.int64)


@attrs.frozen(eq=False)
class Joined:
    """Rows that can be counted, by event time.

    Parameters
    ----------
    times : array of int64, shape (n,)
        Event times of the predictions, in microseconds.
    rows : structured array, shape (n,)
        The values that the predictions carry.
    labels : array, shape (n,)
        The label of each row; 0 without one.
    is_labelled : array of bool, shape (n,)
        Whether the row has a label; the others got none within their wait.
    """

    times: Ints
    rows: Array
    labels: Array
    is_labelled: Mask

    def __len__(self) -> int:
        return len(self.times)


@attrs.frozen(eq=False)
class RunChanges:
    """The changes that bring a checkpoint up to date with the join.

    Parameters
    ----------
    added : mapping from int to bytes
        Blobs, which never change.
    dead : mapping from int to bytes
        Bitmaps of blobs, which replace earlier ones.
    removed : tuple of int
        The ids of blobs to delete, with their bitmaps.
    state : dict
        The JSON state, which replaces the earlier one.
    """

    added: Mapping[int, bytes]
    dead: Mapping[int, bytes]
    removed: tuple[int, ...]
    state: dict[str, Any]


@attrs.frozen
class _Options:
    wait: int
    out_of_order: int
    settle: int | None
    max_pending: int
    max_step: int | None
    label_dtype: np.dtype[Any]


class Join:
    """Predictions and labels that wait for each other.

    `predict` and `label` take rows in the order of their partition, `ready` returns the rows that
    can be counted and drops expired ones. Once `ready` has been called, rows, labels and counters
    are a function of the rows of each partition so far (see the module). A row takes about 40 bytes
    and what the prediction carries, and 40 more once it has a label. After its wait, it takes 30
    bytes for the same time again.

    Parameters
    ----------
    dtype : structured numpy dtype
        The values of a prediction: scores, weight, slices, groups.
    wait : int
        How long a prediction waits for its label, in microseconds of event time.
    out_of_order : int
        How much older a row may be than the time that its partition has reached.
    settle : int, optional
        How long a label can be corrected before its row is counted.
    max_step : int, optional
        By how much a row can always move its partition; None for no limit.
    max_pending : int
        The number of held predictions from which `is_full` is true.
    label_dtype : dtype
        float64, or int64 for codes.

    Examples
    --------
    >>> join = Join(np.dtype([("score", "f8")]), wait=60, max_pending=1000)
    >>> rows = np.array([(0.25,), (0.75,)], join.dtype)
    >>> before = join.predict("p", ["a", "b"], np.array([0, 10]), rows)
    >>> before = join.label("l", ["b"], np.array([30]), np.array([1.0]))
    >>> joined = join.ready()
    >>> joined.times, joined.rows["score"], joined.labels
    (array([10]), array([0.75]), array([1.]))
    >>> join.n_pending
    1
    """

    def __init__(
        self,
        dtype: npt.DTypeLike,
        *,
        wait: int,
        out_of_order: int = 0,
        settle: int | None = None,
        max_step: int | None = None,
        max_pending: int = 10_000_000,
        label_dtype: npt.DTypeLike = np.float64,
    ) -> None:
        self.dtype = np.dtype(dtype)
        self._options = _Options(
            wait, out_of_order, settle, max_pending, max_step, np.dtype(label_dtype)
        )
        self._blobs = BlobLog()
        value: ColumnTypes = {"value": self._options.label_dtype}
        carried: ColumnTypes = {"event": np.dtype(np.int64), "row": self.dtype}
        self.partitions = {
            side: Partitions(out_of_order, max_step) for side in ("predictions", "labels")
        }
        """Those of each side."""
        of_predictions, of_labels = self.partitions.values()
        self._predictions = Arrivals({**KEY_LAYOUT, **carried}, of_predictions, self._blobs)
        self._labels = Arrivals({**KEY_LAYOUT, **value}, of_labels, self._blobs)
        ordered: ColumnTypes = {"order": _ORDER, **value}
        self._rows = PendingRuns(carried, self._blobs, keeps_taken=True)
        self._accepted = PendingRuns(value, self._blobs, keeps_taken=True)
        self._orphans = PendingRuns(ordered, self._blobs, keeps_taken=False)
        self._settling = Settling(ordered, self._blobs, settle or 0)
        self._n_released = 0
        self._decided = self._expired = _NO_TIME
        self._counters = dict.fromkeys(COUNTERS, 0)
        self.lost: list[tuple[str, ArrayColumns]] = []
        """The labels that the last `ready` found to have no row, by counter: hashes and times."""

    @property
    def counters(self) -> dict[str, int]:
        """The numbers of rows and labels by outcome."""
        return dict(self._counters)

    @property
    def n_pending(self) -> int:
        """The number of predictions without a label whose wait is not over."""
        return self._rows.n_untaken + self._predictions.n_pending

    @property
    def n_bytes(self) -> int:
        """The bytes of the rows and labels that are held in runs."""
        return sum(store.n_bytes for store in self._stores())

    @property
    def is_full(self) -> bool:
        """Whether too many predictions are held to read more for now.

        Predictions with a label are also held, and count, until their wait is over.
        """
        held = self._rows.n_current + self._predictions.n_pending
        return held >= self._options.max_pending

    @property
    def is_full_of_labels(self) -> bool:
        """Whether too many labels wait for their prediction to read more for now."""
        held = self._orphans.n_untaken + self._settling.store.n_untaken + self._labels.n_pending
        return held >= self._options.max_pending

    @property
    def is_stuck(self) -> bool:
        """Whether it is full after `ready`, and further labels cannot change that.

        Then ``max_pending`` is too small for the predictions of one wait, or for one partition that
        is ahead of another.
        """
        predictions, labels = self.watermarks
        no_label_helps = predictions is None or (labels is not None and labels >= predictions)
        return self.is_full and no_label_helps

    @property
    def watermarks(self) -> tuple[int | None, int | None]:
        """The watermarks of predictions and of labels; that of labels is ``settle`` behind."""
        predictions, labels = (side.watermark for side in self.partitions.values())
        settle = self._options.settle or 0
        return predictions, None if labels is None else labels - settle

    @property
    def watermark(self) -> int | None:
        """The lower of both watermarks, which ends waits; None until both sides have rows."""
        predictions, labels = self.watermarks
        return None if predictions is None or labels is None else min(predictions, labels)

    def predict(
        self, partition: str, ids: Any, times: Ints, rows: Array, *, is_own: Mask | None = None
    ) -> Ints:
        """Add the next predictions of a partition; return its watermark just before each.

        Parameters
        ----------
        partition : str
        ids : sequence of str or int, length n
        times : array of int64, shape (n,)
            Event times in microseconds.
        rows : structured array, shape (n,)
            The values that the predictions carry.
        is_own : array of bool, shape (n,), optional
            Which of them to join; the others only move the watermark.
        """
        keys = self._keys(ids, times)
        rows = np.asarray(rows)
        if rows.dtype != self.dtype or rows.shape != keys["event"].shape:
            raise InvalidInputError(
                f"must have dtype {self.dtype} and {len(keys['event'])} rows, got {rows.dtype} "
                f"and shape {rows.shape}",
                argument="rows",
            )
        return self._predictions.put(partition, keys["event"], {**keys, "row": rows}, is_own)

    def label(
        self, partition: str, ids: Any, times: Ints, labels: Array, *, is_own: Mask | None = None
    ) -> Ints:
        """Add the next labels of a partition; return its watermark just before each.

        Parameters
        ----------
        partition, ids, times, is_own
            See `predict`.
        labels : array of numbers, shape (n,)
        """
        keys = self._keys(ids, times)
        event = keys.pop("event")
        values = self._values(labels, len(event))
        return self._labels.put(partition, event, {**keys, "value": values}, is_own)

    def ready(self) -> Joined:
        """Return the newly labelled rows, and those whose wait ended without a label."""
        self.lost = []
        admitted = self._admit_predictions()
        joined = self._admit_labels(admitted)
        watermark = self.watermark
        unlabelled = [] if watermark is None else [self._expire(watermark)]
        return self._joined(joined, *unlabelled)

    def holds_labels(self, keys: ArrayColumns) -> Mask:
        """Return whether it is undecided to which row a label of each id belongs, if to any."""
        held = np.isin(keys["high"], self._labels.pending("high"))
        for store in (self._orphans, self._settling.store):
            held[store.find(keys).keys] = True
        return held

    def changes(self) -> RunChanges:
        """Return the changes since the last call, or since the join was restored.

        They are assumed to be written. If writing fails, restore the join from what was written.
        """
        dead: dict[int, bytes] = {}
        used = [*self._predictions.write(), *self._labels.write()]
        for store in self._stores():
            dead |= store.write()
            used += store.to_json()
        added, removed = self._blobs.changes(used)
        return RunChanges(added, dead, tuple(sorted(removed)), self._to_json())

    @classmethod
    def restore(
        cls,
        dtype: npt.DTypeLike,
        options: Mapping[str, Any],
        state: Any,
        runs: Mapping[int, bytes],
        dead: Mapping[int, bytes],
    ) -> Self:
        """Rebuild the join from stored changes.

        Parameters
        ----------
        dtype : structured numpy dtype
        options : mapping
            The keyword arguments of the constructor.
        state : dict
            The last `RunChanges.state`.
        runs, dead : mapping from int to bytes
            All blobs and bitmaps that were added and not removed.

        Raises
        ------
        CorruptStateError
            If they are damaged or inconsistent.
        IncompatibleStateError
            If the stored join has other options.
        """
        join = cls(dtype, **options)
        join._restore(state, runs, dead)
        return join

    def _restore(self, state: Any, runs: Mapping[int, bytes], dead: Mapping[int, bytes]) -> None:
        require(
            isinstance(state, dict) and state.keys() == self._to_json().keys(),
            "the join has other fields",
        )
        for name, value in self._written_options().items():
            found = state["options"].get(name) if isinstance(state["options"], dict) else None
            if found != value:
                raise IncompatibleStateError(
                    f"cannot restore the join: `{name}` differs ({found} and {value})."
                )
        next_id, n_released, counters = (
            state[name] for name in ("next_id", "n_released", "counters")
        )
        require(
            isinstance(counters, dict) and counters.keys() == self._counters.keys(),
            "the counters have other names",
        )
        for count in [next_id, n_released, *counters.values()]:
            require(type(count) is int and 0 <= count < MAX_TIME, "a count is not an integer")
        self._blobs.restore(next_id, runs)
        used = [
            *self._predictions.restore(state["predictions"], runs),
            *self._labels.restore(state["labels"], runs),
        ]
        n_chunks = len(used)
        for name, store in self._named_stores().items():
            used += store.restore(state[name], runs, dead)
        require(len(set(used)) == len(used), "a blob is used twice")
        require(set(used) == runs.keys(), "a blob is not used")
        require(dead.keys() <= set(used[n_chunks:]), "a bitmap is not used")
        require(next_id > max(used, default=-1), "the next id is used")
        self._n_released = n_released
        self._decided, self._expired = map(checked_time, (state["decided"], state["expired"]))
        self._counters = {name: counters[name] for name in COUNTERS}
        self._take_again()

    def _take_again(self) -> None:
        """Restore the rows whose wait is over and those with a label, which must exist."""
        self._rows.take_past(self._expired)
        labels = self._accepted.between(self._expired, MAX_TIME)
        for start in range(0, len(labels), _CHUNK):
            keys = self._accepted.columns(labels[start : start + _CHUNK], KEY_LAYOUT)
            found = self._rows.find(keys)
            is_own = self._rows.column("time", found.rows) == keys["time"][found.keys]
            rows = found.rows[is_own]
            require(len(rows) == len(keys["time"]), "labels are without the rows they belong to")
            is_one = len(np.unique(rows)) == len(rows) and not self._rows.is_taken(rows).any()
            require(is_one, "two labels belong to one row")
            self._rows.take(rows)

    def _stores(self) -> tuple[PendingRuns, ...]:
        return tuple(self._named_stores().values())

    def _named_stores(self) -> dict[str, PendingRuns]:
        return {
            "rows": self._rows,
            "accepted": self._accepted,
            "orphans": self._orphans,
            "settling": self._settling.store,
        }

    def _written_options(self) -> dict[str, Any]:
        options = self._options
        return {
            "dtype": str(self.dtype.descr),
            "label_dtype": str(options.label_dtype),
            "wait": options.wait,
            "out_of_order": options.out_of_order,
            "settle": options.settle,
        }

    def _to_json(self) -> dict[str, Any]:
        return {
            "options": self._written_options(),
            "predictions": self._predictions.to_json(),
            "labels": self._labels.to_json(),
            **{name: store.to_json() for name, store in self._named_stores().items()},
            "n_released": self._n_released,
            "decided": self._decided,
            "expired": self._expired,
            "next_id": self._blobs.next,
            "counters": self.counters,
        }

    def _keys(self, ids: Any, times: Any) -> ArrayColumns:
        event = np.asarray(times)
        if event.dtype != np.int64 or event.ndim != 1:
            raise InvalidInputError(
                f"must be int64 of shape (n,), got {event.dtype} of shape {event.shape}",
                argument="times",
            )
        if len(ids) != len(event):
            raise InvalidInputError(
                f"must have {len(event)} items as `times`, got {len(ids)}", argument="ids"
            )
        is_far = (event <= -MAX_TIME) | (event >= MAX_TIME)
        if is_far.any():
            position = int(is_far.argmax())
            raise InvalidInputError(
                f"must lie within 2**62 microseconds of 1970, got {event[position]}",
                argument="times",
                position=position,
            )
        high, low = hash_ids(ids, name="ids")
        return {"high": high, "low": low, "event": event}

    def _values(self, labels: Any, size: int) -> Array:
        given = np.asarray(labels)
        dtype = self._options.label_dtype
        if given.shape != (size,) or not np.can_cast(given.dtype, dtype):
            raise InvalidInputError(
                f"must be {dtype} of shape ({size},), got {given.dtype} of shape {given.shape}",
                argument="labels",
            )
        values: Array = given.astype(dtype)
        is_wrong = np.isnan(values)
        if given.dtype.kind in "iu" and dtype == np.float64:
            is_wrong = np.abs(values) >= 2**53
        if is_wrong.any():
            position = int(is_wrong.argmax())
            raise InvalidInputError(
                f"must be a number that {dtype} holds exactly, got {given[position]}",
                argument="labels",
                position=position,
            )
        return values

    def _admit_predictions(self) -> ArrayColumns | None:
        """Add the released predictions, and return their keys."""
        released = self._predictions.release()
        if released is None:
            return None
        rows = select(released, key_order(released))
        is_row = self._are_rows(rows)
        self._counters["duplicate_prediction"] += len(is_row) - int(is_row.sum())
        rows = rows if is_row.all() else select(rows, is_row)
        if len(rows["time"]):
            self._rows.add(rows)
        return rows

    def _are_rows(self, predictions: ArrayColumns) -> Mask:
        """Return which of the predictions, sorted by id, are rows and not duplicates."""
        wait, times = self._options.wait, predictions["time"]
        before = np.full(len(times), _NO_TIME)
        found = self._rows.find(predictions)
        np.maximum.at(before, found.keys, self._rows.column("time", found.rows))
        is_row: Mask = times - before > wait
        is_first = key_starts(predictions)
        if is_first.all():
            return is_row
        starts = np.flatnonzero(is_first)
        group = np.cumsum(is_first) - 1
        start = starts[group]
        is_open = ~is_first & is_row & (~is_row[start] | (times - times[start] > wait))
        is_row &= is_first
        ends = np.append(starts, len(times))
        for number in np.unique(group[is_open]).tolist():
            latest = int(before[starts[number]])
            for position in range(ends[number], ends[number + 1]):
                is_row[position] = times[position] - latest > wait
                if is_row[position]:
                    latest = int(times[position])
        return is_row

    def _admit_labels(self, admitted: ArrayColumns | None) -> ArrayColumns:
        """Match labels with rows, and return the newly labelled rows with their labels."""
        labels = self._labels_to_match(admitted)
        if labels is None:
            return self._with_labels(np.zeros(0, np.int64), np.zeros(0))
        owner, is_late = self._owners(labels)
        is_owned = owner >= 0
        self._counters["late_label"] += int(is_late.sum())
        self._lose("late_label", select(labels, is_late))
        is_over = is_owned | is_late
        stored = labels["stored"]
        self._orphans.take(stored[is_over & (stored >= 0)])
        is_new_orphan = ~is_over & (stored < 0)
        if is_new_orphan.any():
            self._orphans.add(select(labels, is_new_orphan))
        return self._accept(select(labels, is_owned), owner[is_owned])

    def _labels_to_match(self, admitted: ArrayColumns | None) -> ArrayColumns | None:
        """Return new labels and the orphans to reconsider, by id and order."""
        parts = []
        released = self._labels.release()
        if released is not None:
            order = np.arange(len(released["time"]), dtype=_ORDER) + self._n_released
            self._n_released += len(order)
            parts.append({**released, "order": order})
        if self._options.settle is not None:
            parts = self._settled(parts)
        parts = [{**part, "stored": np.full(len(part["time"]), -1)} for part in parts]
        stored = self._orphans_to_match(admitted)
        if len(stored):
            parts.append({**self._orphans.columns(stored), "stored": stored})
        if not parts:
            return None
        labels = concatenate(parts)
        if len(parts) > 1:
            labels = select(labels, np.argsort(labels["order"], kind="stable"))
        return select(labels, key_order(labels))

    def _settled(self, parts: list[ArrayColumns]) -> list[ArrayColumns]:
        """Hold back labels that can still be corrected, and return the others."""
        for part in parts:
            self._settling.put(part)
        watermark = self.watermarks[1]
        if watermark is None:
            return []
        labels, n_repeated, n_corrected = self._settling.release(watermark)
        self._counters["duplicate_label"] += n_repeated
        self._counters["corrected"] += n_corrected
        return [labels] if len(labels["time"]) else []

    def _orphans_to_match(self, admitted: ArrayColumns | None) -> Ints:
        """Find orphans with the ids of new rows, and orphans that can no longer get a row."""
        found = []
        if admitted is not None:
            found.append(self._orphans.find(admitted).rows)
        watermark = self.partitions["predictions"].watermark
        if watermark is not None:
            found.append(self._orphans.between(self._decided, watermark))
            self._decided = max(self._decided, watermark)
        return np.unique(np.concatenate(found)) if found else np.zeros(0, np.int64)

    def _owners(self, labels: ArrayColumns) -> tuple[Ints, Mask]:
        """Return the row that each label belongs to, or -1, and which labels are late."""
        wait = self._options.wait
        found = self._rows.find(labels)
        age = labels["time"][found.keys] - self._rows.column("time", found.rows)
        owner, later = np.full(len(labels["time"]), -1), np.full(len(labels["time"]), -1)
        is_late = np.zeros(len(owner), dtype=np.bool_)
        for into, chosen in (
            (owner, (age >= 0) & (age <= wait)),
            (later, (age < 0) & (age >= -wait)),
        ):
            into[found.keys[chosen]] = found.rows[chosen]
        is_late[found.keys[(age > wait) & (age <= 2 * wait)]] = True
        is_late &= owner < 0
        is_before = (owner < 0) & ~is_late
        owner[is_before] = later[is_before]
        watermark = self.partitions["predictions"].watermark
        return owner, is_late & (labels["time"] < (_NO_TIME if watermark is None else watermark))

    def _accept(self, labels: ArrayColumns, owner: Ints) -> ArrayColumns:
        """Give rows their first label, and count the others."""
        order = np.argsort(owner, kind="stable")
        owner, labels = owner[order], select(labels, order)
        is_first = np.ones(len(owner), dtype=np.bool_)
        is_first[1:] = owner[1:] != owner[:-1]
        was_taken = self._rows.is_taken(owner)
        is_accepted = is_first & ~was_taken
        values = labels["value"]
        expected = values[np.maximum.accumulate(np.where(is_first, np.arange(len(owner)), 0))]
        known = np.flatnonzero(was_taken)
        if len(known):
            expected[known] = self._accepted_values(select(labels, known), owner[known])
        is_equal = values == expected
        self._counters["duplicate_label"] += int((is_equal & ~is_accepted).sum())
        differing = "conflicting" if self._options.settle is None else "late_correction"
        self._counters[differing] += int((~is_equal).sum())
        accepted = owner[is_accepted]
        self._counters["joined"] += len(accepted)
        self._rows.take(accepted)
        rows = self._with_labels(accepted, values[is_accepted])
        self._accepted.add(select(rows, key_order(rows)))
        return rows

    def _with_labels(self, rows: Ints, values: Array) -> ArrayColumns:
        return {**self._rows.columns(rows), "value": values}

    def _accepted_values(self, labels: ArrayColumns, owner: Ints) -> Array:
        """Return the labels that rows have."""
        times = self._rows.column("time", owner)
        found = self._accepted.find(labels)
        is_own = self._accepted.column("time", found.rows) == times[found.keys]
        values = np.empty(len(owner), dtype=self._options.label_dtype)
        values[found.keys[is_own]] = self._accepted.column("value", found.rows[is_own])
        return values

    def _expire(self, watermark: int) -> ArrayColumns:
        """Drop what can no longer match, and return the rows without a label."""
        wait = self._options.wait
        self._expired = watermark - wait
        orphans = self._orphans.take_past(self._expired)
        self._counters["orphan_expired"] += len(orphans)
        self._lose("orphan_expired", self._orphans.columns(orphans, KEY_LAYOUT))
        past = self._rows.take_past(self._expired)
        self._counters["unlabelled"] += len(past)
        rows = self._rows.columns(past, ["high", "event", "row"])
        self._orphans.drop(_NO_TIME)
        self._accepted.drop(self._expired)
        self._rows.drop(watermark - 2 * wait)
        return rows

    def _lose(self, counter: str, labels: ArrayColumns) -> None:
        if len(labels["time"]):
            self.lost.append((counter, labels))

    def _joined(self, labelled: ArrayColumns, *unlabelled: ArrayColumns) -> Joined:
        """Combine rows with and without labels, by event time and then by id."""
        parts = (labelled, *unlabelled)
        high, times, rows = (
            np.concatenate([part[name] for part in parts]) for name in ("high", "event", "row")
        )
        is_labelled = np.arange(len(times)) < len(labelled["value"])
        labels = np.zeros(len(times), dtype=self._options.label_dtype)
        labels[is_labelled] = labelled["value"]
        order = np.lexsort((high, times))
        return Joined(times[order], rows[order], labels[order], is_labelled[order])
