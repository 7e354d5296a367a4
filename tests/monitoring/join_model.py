"""The join by its rules, over whole sequences of rows: slow, and with no state between reads."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

Row = tuple[Any, int, Any]
"""Its id, its event time, and what it carries: a score or a label."""
Side = Mapping[str, Sequence[Row]]

NO_TIME = -(2**63)


class Arrived(NamedTuple):
    time: int
    partition: str
    position: int
    id: Any
    event: int
    value: Any


class Outcome(NamedTuple):
    rows: Counter[tuple[int, Any, Any]]
    """Event time, score and label, None without one, of what can be counted."""
    counters: Counter[str]
    n_pending: int


class Order(NamedTuple):
    """The options that decide when a row arrives."""

    out_of_order: int
    max_step: int | None


def reached(times: Sequence[int], max_step: int | None) -> list[int]:
    """Return how far a log has come before each of its rows, and after the last."""
    found = [NO_TIME]
    for at, time in enumerate(times):
        last, earlier = sorted(times[max(at - 14, 0) : at + 1]), sorted(times[max(at - 15, 0) : at])
        gaps = sorted(later - one for one, later in itertools.pairwise(earlier))
        now = found[-1]
        if max_step is None or time <= now + max_step:
            found.append(max(now, time))
            continue
        limit = max(max_step, 8 * gaps[max(-5, -len(gaps))]) if len(gaps) >= 3 else 10**12
        now = max(now, last[(len(last) - 1) // 2])
        while any(now < one <= now + limit for one in last):
            now = max(one for one in last if one <= now + limit)
        found.append(now)
    return found


def arrivals(side: Side, order: Order) -> list[Arrived]:
    arrived = []
    for partition, rows in side.items():
        before = reached([row[1] for row in rows], order.max_step)
        for position, (id_, event, value) in enumerate(rows):
            time = max(event, before[position] - order.out_of_order)
            arrived.append(Arrived(time, partition, position, id_, event, value))
    return sorted(arrived, key=lambda row: row[:3])


def bound_of(side: Side, order: Order, finished: set[str]) -> tuple[int, str | None] | None:
    """Return the watermark, and the partition that it is of; None if all are finished."""
    ends = {
        name: reached([row[1] for row in rows], order.max_step)[-1] for name, rows in side.items()
    }
    live = {name: rows for name, rows in side.items() if name not in finished}
    if not live:
        newest = max(ends.values(), default=NO_TIME)
        return None if newest == NO_TIME else (newest, None)
    if not all(live.values()):
        return None
    return min((ends[name] - order.out_of_order, name) for name in live)


def released(side: Side, order: Order, finished: set[str]) -> list[Arrived]:
    bound = bound_of(side, order, finished)
    if bound is None:
        return []
    return [
        row
        for row in arrivals(side, order)
        if row.time < bound[0]
        or (row.time == bound[0] and (bound[1] is None or row.partition <= bound[1]))
    ]


def settled(
    labels: list[Arrived], settle: int, watermark: int | None, counters: Counter[str]
) -> list[Arrived]:
    """Take the labels together that come soon after the first one of their id."""
    groups: list[list[Arrived]] = []
    latest: dict[Any, list[Arrived]] = {}
    for label in labels:
        group = latest.get(label.id)
        if group is not None and label.time - group[0].time <= settle:
            group.append(label)
        else:
            latest[label.id] = [label]
            groups.append(latest[label.id])
    whole = [group for group in groups if watermark is not None and group[0].time < watermark]
    for group in whole:
        for earlier, later in itertools.pairwise(group):
            counters["duplicate_label" if earlier.value == later.value else "corrected"] += 1
    return [group[0]._replace(value=group[-1].value) for group in whole]


def outcome(
    predictions: Side,
    labels: Side,
    *,
    wait: int,
    out_of_order: int,
    settle: int | None = None,
    max_step: int | None = None,
    finished_predictions: set[str] | None = None,
    finished_labels: set[str] | None = None,
) -> Outcome:
    counters: Counter[str] = Counter()
    counted: Counter[tuple[int, Any, Any]] = Counter()
    order = Order(out_of_order, max_step)

    bounds = [
        bound_of(predictions, order, finished_predictions or set()),
        bound_of(labels, order, finished_labels or set()),
    ]
    of_predictions = None if bounds[0] is None else bounds[0][0]
    of_labels = None if bounds[1] is None else bounds[1][0] - (settle or 0)
    both = None if of_predictions is None or of_labels is None else min(of_predictions, of_labels)

    predicted = released(predictions, order, finished_predictions or set())
    rows = rows_of(predicted, wait)
    counters["duplicate_prediction"] = len(predicted) - sum(map(len, rows.values()))

    known = released(labels, order, finished_labels or set())
    if settle is not None:
        known = settled(known, settle, of_labels, counters)
    first: dict[Arrived, Arrived] = {}
    for label in known:
        row = row_of(label, rows[label.id], wait, of_predictions)
        if row == "late":
            counters["late_label"] += 1
        elif row is None:
            counters["orphan_expired"] += both is not None and label.time + wait < both
        elif row not in first:
            first[row] = label
            counters["joined"] += 1
            counted[row.event, row.value, label.value] += 1
        elif first[row].value == label.value:
            counters["duplicate_label"] += 1
        else:
            counters["conflicting" if settle is None else "late_correction"] += 1

    for own in rows.values():
        for row in own:
            if row not in first and both is not None and row.time + wait < both:
                counters["unlabelled"] += 1
                counted[row.event, row.value, None] += 1

    n_read = sum(map(len, predictions.values()))
    over = counters["joined"] + counters["unlabelled"] + counters["duplicate_prediction"]
    return Outcome(counted, +counters, n_read - over)


def rows_of(predictions: list[Arrived], wait: int) -> dict[Any, list[Arrived]]:
    rows: dict[Any, list[Arrived]] = defaultdict(list)
    for prediction in predictions:
        own = rows[prediction.id]
        if not own or prediction.time - own[-1].time > wait:
            own.append(prediction)
    return rows


def row_of(
    label: Arrived, own: list[Arrived], wait: int, watermark: int | None
) -> Arrived | str | None:
    near = [row for row in own if 0 <= label.time - row.time <= wait]
    if near:
        (row,) = near
        return row
    if any(wait < label.time - row.time <= 2 * wait for row in own):
        return "late" if watermark is not None and watermark > label.time else None
    after = [row for row in own if 0 < row.time - label.time <= wait]
    assert len(after) <= 1
    return after[0] if after else None
