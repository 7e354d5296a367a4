"""Labels that may still be corrected."""

from __future__ import annotations

import bisect
import itertools

import numpy as np
import numpy.typing as npt

from streameval.monitoring.arrivals import MAX_TIME, BlobIds
from streameval.monitoring.columns import Columns, Layout, select
from streameval.monitoring.pending_runs import PendingRuns, key_order, key_starts

Bits = npt.NDArray[np.bool_]


class Settling:
    """Labels held back until no correction can arrive.

    The first label of an id and all that arrive within `settle` after it are one label, of the
    first's arrival and the last one's value.

    Parameters
    ----------
    layout : mapping from str to dtype
        The columns of a label, `order` and `value` among them.
    ids : BlobIds
        Where the numbers of blobs come from.
    settle : int
        How long a label may be corrected.
    """

    def __init__(self, layout: Layout, ids: BlobIds, settle: int) -> None:
        self.store = PendingRuns(layout, ids, keeps_taken=False)
        self._settle = settle

    def put(self, labels: Columns) -> None:
        """Add labels in the order of their side."""
        self.store.add(select(labels, key_order(labels)))

    def release(self, before: int) -> tuple[Columns, int, int]:
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
