"""The join of predictions and labels, rule by rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from offenders import each

from streameval.errors import InvalidInputError
from streameval.monitoring.join import Join, Joined
from streameval.monitoring.pending_runs import hash_ids

DTYPE = np.dtype([("score", "f8")])
WAIT = 10


def make(**options: Any) -> Join:
    return Join(DTYPE, **{"wait": WAIT, "max_pending": 1000} | options)


def predict(join: Join, *rows: tuple[Any, int], partition: str = "p") -> None:
    """Predict ids at times; the score is the time."""
    times = np.array([time for _, time in rows], dtype=np.int64)
    carried = np.array([(float(time),) for time in times], dtype=DTYPE)
    join.predict(partition, [id_ for id_, _ in rows], times, carried)


def label(join: Join, *rows: tuple[Any, int, float], partition: str = "l") -> None:
    ids, times, values = zip(*rows, strict=True)
    join.label(partition, list(ids), np.array(times), np.array(values, dtype=np.float64))


def counted(joined: Joined) -> list[tuple[int, float | None]]:
    rows = zip(
        joined.times.tolist(), joined.labels.tolist(), joined.is_labelled.tolist(), strict=True
    )
    assert joined.rows["score"].tolist() == joined.times.tolist()
    return [(time, value if is_labelled else None) for time, value, is_labelled in rows]


def counters(join: Join) -> dict[str, int]:
    return {name: count for name, count in join.counters.items() if count}


def test_join_counts_a_row_as_soon_as_it_has_a_label() -> None:
    join = make()
    predict(join, ("a", 0), ("b", 1))
    label(join, ("b", 5, 1.0))
    assert counted(join.ready()) == [(1, 1.0)]
    assert counted(join.ready()) == []
    assert join.n_pending == 1


def test_join_sorts_what_is_ready_by_event_time() -> None:
    join = make()
    predict(join, ("a", 0), ("b", 1), ("c", 2))
    label(join, ("c", 3, 0.0), ("a", 4, 1.0), ("b", 5, 2.0))
    assert counted(join.ready()) == [(0, 1.0), (1, 2.0), (2, 0.0)]


def test_join_keeps_a_label_until_its_prediction_comes() -> None:
    join = make()
    label(join, ("a", 5, 1.0))
    assert counted(join.ready()) == []
    predict(join, ("a", 15))
    assert counted(join.ready()) == [(15, 1.0)]


def test_join_forgets_a_label_that_is_more_than_a_wait_before_its_prediction() -> None:
    join = make()
    label(join, ("a", 5, 1.0), ("x", 30, 1.0))
    predict(join, ("a", 16), ("y", 40))
    assert counted(join.ready()) == [(16, None)]
    assert counters(join) == {"unlabelled": 1, "orphan_expired": 1}


@each(("arrival", "labelled"), [(10, 1.0), (11, None)])
def test_join_takes_a_label_until_the_end_of_the_wait(arrival: int, labelled: float | None) -> None:
    join = make()
    predict(join, ("a", 0), ("z", 50))
    label(join, ("a", arrival, 1.0), ("y", 50, 0.0))
    assert counted(join.ready()) == [(0, labelled)]
    assert join.counters["late_label"] == (labelled is None)


def test_join_calls_a_label_late_up_to_one_wait_after_the_wait() -> None:
    join = make()
    predict(join, ("a", 0), ("b", 0), ("z", 90))
    label(join, ("a", 20, 1.0), ("b", 21, 1.0), ("y", 90, 0.0))
    join.ready()
    assert counters(join) == {"late_label": 1, "orphan_expired": 1, "unlabelled": 2}


def test_join_calls_a_label_late_when_its_partition_had_passed_the_wait() -> None:
    join = make()
    predict(join, ("a", 0), ("z", 50))
    label(join, ("y", 11, 0.0), ("a", 5, 1.0))
    join.ready()
    assert join.counters["late_label"] == 1


def test_join_takes_a_label_that_is_no_more_than_out_of_order_behind() -> None:
    join = make(out_of_order=6)
    predict(join, ("a", 0), ("z", 50))
    label(join, ("y", 11, 0.0), ("a", 5, 1.0), ("y", 40, 0.0))
    assert counted(join.ready()) == [(0, 1.0)]


def test_join_waits_by_the_lesser_watermark() -> None:
    join = make()
    predict(join, ("a", 0), ("z", 1000))
    label(join, ("y", 10, 0.0))
    assert counted(join.ready()) == []
    assert join.watermarks == (1000, 10)
    assert join.watermark == 10
    label(join, ("y", 11, 0.0))
    assert counted(join.ready()) == [(0, None)]


def test_join_never_ends_a_wait_without_labels() -> None:
    join = make()
    predict(join, ("a", 0), ("z", 10**9))
    assert counted(join.ready()) == []
    assert join.watermark is None


def test_join_counts_the_first_label_of_equal_time_by_partition_and_line() -> None:
    join = make()
    join.partitions["labels"].declare(["l1"])
    label(join, ("a", 5, 3.0), ("z", 6, 0.0), partition="l2")
    label(join, ("a", 5, 2.0), ("a", 5, 1.0), ("z", 6, 0.0), partition="l1")
    predict(join, ("a", 0))
    assert counted(join.ready()) == [(0, 2.0)]
    assert counters(join) == {"joined": 1, "conflicting": 2}


def test_join_counts_the_earlier_label_although_it_was_read_later() -> None:
    join = make()
    join.partitions["labels"].declare(["l1"])
    predict(join, ("a", 0))
    label(join, ("a", 6, 1.0), partition="l2")
    assert counted(join.ready()) == []
    label(join, ("a", 5, 0.0), ("z", 9, 0.0), partition="l1")
    label(join, ("z", 9, 0.0), partition="l2")
    assert counted(join.ready()) == [(0, 0.0)]
    assert counters(join) == {"joined": 1, "conflicting": 1}


def test_join_tells_repeated_labels_from_conflicting_ones() -> None:
    join = make()
    predict(join, ("a", 0))
    label(join, ("a", 5, 1.0), ("a", 5, 1.0))
    assert counted(join.ready()) == [(0, 1.0)]
    label(join, ("a", 6, 1.0), ("a", 7, 0.0))
    assert counted(join.ready()) == []
    assert counters(join) == {"joined": 1, "duplicate_label": 2, "conflicting": 1}


def test_join_counts_a_repeated_prediction_once() -> None:
    join = make()
    predict(join, ("a", 0), ("a", 0))
    label(join, ("a", 1, 1.0))
    assert counted(join.ready()) == [(0, 1.0)]
    predict(join, ("a", 10), ("z", 100))
    label(join, ("y", 100, 0.0))
    assert counted(join.ready()) == []
    assert join.counters["duplicate_prediction"] == 2


def test_join_takes_an_id_again_once_its_wait_is_over() -> None:
    join = make()
    predict(join, ("a", 0), ("a", 10), ("a", 11), ("a", 21), ("a", 22))
    label(join, ("a", 5, 0.0), ("a", 15, 1.0), ("a", 30, 2.0))
    assert counted(join.ready()) == [(0, 0.0), (11, 1.0), (22, 2.0)]
    assert join.counters["duplicate_prediction"] == 2


def test_join_gives_a_label_to_the_prediction_before_it_rather_than_after() -> None:
    join = make()
    label(join, ("a", 9, 1.0))
    predict(join, ("a", 0), ("a", 11))
    assert counted(join.ready()) == [(0, 1.0)]


def test_join_counts_the_label_that_was_first_although_it_was_held() -> None:
    join = make()
    label(join, ("a", 5, 1.0))
    join.ready()
    predict(join, ("a", 5))
    label(join, ("a", 6, 0.0))
    assert counted(join.ready()) == [(5, 1.0)]
    assert counters(join) == {"joined": 1, "conflicting": 1}


def test_join_calls_no_label_late_while_its_prediction_can_come() -> None:
    join = make()
    predict(join, ("a", 0), ("z", 15))
    label(join, ("a", 15, 1.0))
    assert counted(join.ready()) == [(0, None)]
    predict(join, ("a", 15))
    assert counted(join.ready()) == [(15, 1.0)]


@each("settle", [None, 30])
def test_join_knows_whose_labels_it_holds(settle: int | None) -> None:
    join = make(settle=settle)
    label(join, ("a", 5, 1.0), ("z", 20, 1.0))
    join.ready()
    high, low = hash_ids(["a", "b", "z"], name="ids")
    assert join.holds_labels({"high": high, "low": low}).tolist() == [True, False, True]


def test_join_tells_integers_from_text() -> None:
    join = make()
    predict(join, (1, 0), ("1", 1))
    label(join, ("1", 5, 1.0), (1.0, 6, 0.0))
    assert counted(join.ready()) == [(0, 0.0), (1, 1.0)]


def test_join_settles_on_the_last_label_of_the_time_for_corrections() -> None:
    join = make(settle=4)
    predict(join, ("a", 0), ("b", 0))
    label(join, ("a", 2, 0.0), ("b", 2, 0.0), ("a", 3, 0.0), ("a", 6, 1.0))
    assert counted(join.ready()) == []
    label(join, ("a", 7, 0.0), ("z", 20, 0.0))
    assert sorted(counted(join.ready())) == [(0, 0.0), (0, 1.0)]
    assert counters(join) == {
        "joined": 2,
        "duplicate_label": 1,
        "corrected": 1,
        "late_correction": 1,
    }


def test_join_waits_for_partitions_that_were_declared() -> None:
    join = make()
    for side in ("predictions", "labels"):
        join.partitions[side].declare(["late"])
        join.partitions[side].declare(["late"])
    predict(join, ("a", 0), ("z", 100))
    label(join, ("z", 100, 0.0))
    assert counted(join.ready()) == []
    predict(join, ("b", 5), partition="late")
    label(join, ("a", 5, 1.0), partition="late")
    assert counted(join.ready()) == [(0, 1.0)]


def test_join_does_not_wait_for_partitions_that_are_finished() -> None:
    join = make()
    join.partitions["labels"].declare(["none"])
    predict(join, ("a", 0), ("b", 2), ("z", 100))
    label(join, ("a", 1, 1.0), partition="old")
    label(join, ("z", 100, 0.0), partition="new")
    assert counted(join.ready()) == []
    join.partitions["labels"].finish("none")
    assert counted(join.ready()) == [(0, 1.0)]
    join.partitions["labels"].finish("old")
    assert counted(join.ready()) == [(2, None), (100, 0.0)]


def test_join_releases_all_rows_once_every_partition_is_finished() -> None:
    join = make(out_of_order=5)
    predict(join, ("a", 0), ("b", 1))
    label(join, ("a", 1, 1.0), ("b", 2, 0.0))
    assert counted(join.ready()) == []
    join.partitions["predictions"].finish("p")
    join.partitions["labels"].finish("l")
    assert counted(join.ready()) == [(0, 1.0), (1, 0.0)]


def test_partition_that_is_named_late_begins_at_the_watermark() -> None:
    join = make()
    predict(join, ("a", 0), ("z", 100))
    label(join, ("z", 100, 0.0))
    assert counted(join.ready()) == [(0, None), (100, 0.0)]
    label(join, ("a", 5, 1.0), ("q", 100, 1.0), partition="late")
    label(join, ("z", 101, 0.0))
    predict(join, ("q", 20), partition="late")
    assert counted(join.ready()) == [(20, 1.0)]
    assert join.watermark == 100


def test_join_is_full_while_it_holds_many_predictions() -> None:
    join = make(max_pending=2)
    predict(join, ("a", 0))
    assert not join.is_full
    predict(join, ("b", 0))
    assert join.is_full
    label(join, ("z", 0, 0.0))
    join.ready()
    assert join.is_full
    predict(join, ("c", 11))
    label(join, ("z", 11, 0.0))
    join.ready()
    assert not join.is_full
    assert not join.is_full_of_labels


@each("settle", [None, 5])
def test_join_is_full_of_labels_that_have_no_prediction(settle: int | None) -> None:
    join = make(max_pending=2, settle=settle)
    label(join, ("a", 0, 1.0), ("b", 0, 1.0))
    assert join.is_full_of_labels
    join.ready()
    assert join.is_full_of_labels


def test_join_is_stuck_when_it_is_full_and_labels_are_not_behind() -> None:
    join = make(max_pending=2)
    assert not join.is_stuck
    predict(join, ("a", 0), ("b", 5))
    assert not join.is_stuck
    label(join, ("z", 4, 0.0))
    assert not join.is_stuck
    label(join, ("z", 5, 0.0))
    assert join.is_stuck
    join.partitions["predictions"].declare(["unread"])
    assert join.is_stuck


def test_join_holds_what_it_was_given_when_the_arrays_are_used_again() -> None:
    join = make(out_of_order=5)
    times, rows = np.array([0]), np.zeros(1, DTYPE)
    join.predict("p", ["a"], times, rows)
    times[:], rows["score"] = 3, 3.0
    predict(join, ("z", 10))
    label(join, ("a", 1, 1.0), ("z", 10, 1.0))
    assert counted(join.ready()) == [(0, 1.0)]


def test_join_takes_empty_batches() -> None:
    join = make()
    join.predict("p", [], np.zeros(0, np.int64), np.zeros(0, DTYPE))
    join.label("l", [], np.zeros(0, np.int64), np.zeros(0))
    assert len(join.ready()) == 0


def test_join_codes_labels_as_integers() -> None:
    join = make(label_dtype=np.int64)
    predict(join, ("a", 0))
    join.label("l", ["a"], np.array([1]), np.array([2**60], dtype=np.int64))
    joined = join.ready()
    assert joined.labels.dtype == np.int64
    assert joined.labels.tolist() == [2**60]


ROWS = np.zeros(2, DTYPE)
TIMES = np.array([0, 1])


@each(
    ("ids", "times", "rows", "message"),
    [
        (["a", None], TIMES, ROWS, r"`ids` must hold an id in every row, got None at position 1\."),
        (["a", float("nan")], TIMES, ROWS, r"`ids` must hold an id in every row, got nan at pos"),
        ([1, 1.5], TIMES, ROWS, r"`ids` must be an integer or a string, got 1.5 at position 1\."),
        ([1, 2**1024], TIMES, ROWS, r"`ids` must fit 64 bits, got a far larger integer at pos"),
        (
            ["a", "\ud800"],
            TIMES,
            ROWS,
            r"`ids` must be Unicode text, got '\\ud800' at position 1\.",
        ),
        (["a", b"b"], TIMES, ROWS, r"`ids` must be an integer or a string, got b'b' at position 1"),
        (["a"], TIMES, ROWS, r"`ids` must have 2 items as `times`, got 1\."),
        (["a", "b"], TIMES / 2, ROWS, r"`times` must be int64 of shape \(n,\), got float64"),
        (["a", "b"], TIMES[None], ROWS, r"`times` must be int64 of shape \(n,\), got int64 of sh"),
        (
            ["a", "b"],
            TIMES + 2**62,
            ROWS,
            r"`times` must lie within 2\*\*62 .*, got 46.* at pos.* 0",
        ),
        (["a", "b"], -TIMES * 2**62, ROWS, r"`times` must lie within 2\*\*62 .* at position 1\."),
        (["a", "b"], TIMES, ROWS[:1], r"`rows` must have dtype .* and 2 rows, got .* \(1,\)\."),
        (["a", "b"], TIMES, np.zeros(2), r"`rows` must have dtype .* and 2 rows, got float64"),
    ],
)
def test_join_refuses_predictions_that_it_cannot_hold(
    ids: Any, times: Any, rows: Any, message: str
) -> None:
    join = make()
    with pytest.raises(InvalidInputError, match=f"^{message}"):
        join.predict("p", ids, times, rows)
    assert join.n_pending == 0


@each(
    ("dtype", "labels", "message"),
    [
        ("f8", [1.0], r"must be float64 of shape \(2,\), got float64 of shape \(1,\)\."),
        ("f8", ["a", "b"], r"must be float64 of shape \(2,\), got <U1 of shape \(2,\)\."),
        ("i8", [1.0, 2.0], r"must be int64 of shape \(2,\), got float64 of shape \(2,\)\."),
        (
            "f8",
            [1.0, np.nan],
            r"must be a number that float64 holds exactly, got nan at posi.* 1\.",
        ),
        (
            "f8",
            [2**53 + 1, 2**53],
            r"must be a number that float64 .* 9007199254740993 at posi.* 0",
        ),
    ],
)
def test_join_refuses_labels_that_it_cannot_hold(dtype: str, labels: Any, message: str) -> None:
    join = make(label_dtype=dtype)
    with pytest.raises(InvalidInputError, match=f"^`labels` {message}"):
        join.label("l", ["a", "b"], TIMES, np.array(labels))


def test_join_refuses_to_finish_a_partition_that_it_does_not_know() -> None:
    join = make()
    with pytest.raises(InvalidInputError, match=r"^`partition` is unknown: 'p'\."):
        join.partitions["labels"].finish("p")
