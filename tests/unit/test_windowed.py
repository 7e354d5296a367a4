"""Panes: what they count, how they age, and the windows over them."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from offenders import each

import streameval as se
from streameval.accumulators.sealed import Sealed


def batch(times: Any, **more: Any) -> dict[str, Any]:
    size = len(times)
    return {"y_true": [1] * size, "y_pred": [1] * size, "time": times, **more}


def windowed(**options: Any) -> se.Windowed:
    return se.Windowed(se.ConfusionAccumulator(), **({"pane": 10} | options))


def spans(w: se.Windowed) -> list[tuple[int, int, int]]:
    return [(start, end, accumulator.n) for start, end, accumulator in w.panes()]


def data(size: int, *, seed: int = 0) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    truth, prediction = random.integers(0, 2, (2, size))
    late = np.floor(random.exponential(60.0, size)).astype(np.int64)
    return {"y_true": truth, "y_pred": prediction, "time": 1000 - late}


def counted(rows: dict[str, np.ndarray], chosen: np.ndarray) -> se.ConfusionAccumulator:
    return se.ConfusionAccumulator().update(rows["y_true"][chosen], rows["y_pred"][chosen])


def test_a_pane_holds_its_start_and_not_its_end() -> None:
    w = windowed().update(batch([-1, 0, 9, 10]))
    assert spans(w) == [(-10, 0, 1), (0, 10, 2), (10, 20, 1)]
    assert windowed(offset=3).update(batch([2, 3])).window(10).n == 1


@each("end", [990, 1000, 1010, 2000])
@each("width", [10, 30, 200])
def test_a_window_equals_counting_its_rows(width: int, end: int) -> None:
    rows = data(400)
    w = windowed().update(rows)
    inside = (rows["time"] >= end - width) & (rows["time"] < end)
    assert w.window(width, end).to_bytes() == counted(rows, inside).to_bytes()
    assert w.n_rows(end - width, end) == inside.sum()


@each("options", [{}, {"keep": 30}, {"keep": 30, "rollups": [(20, 60)]}])
def test_one_pass_over_the_panes_equals_asking_for_each(options: dict[str, Any]) -> None:
    w = windowed(**options).update(data(400), sample_weight=np.full(400, 0.1))
    result = w.over_time()
    found = [(one.start, one.end, one.n_rows, one.n_labelled, one.result) for one in result.panes]
    assert found == [
        (start, end, w.n_rows(start, end), part.n, part.compute()) for start, end, part in w.panes()
    ]
    assert result.whole.result == w.compute()
    assert (result.before is not None) is bool(options)
    if result.before is not None:
        assert result.before.n_rows == pytest.approx(w.n_rows() - w.n_rows(found[0][0]))
        assert result.before.result == w.before.compute()


def test_the_total_equals_the_accumulator_alone() -> None:
    rows = data(400)
    w = windowed(keep=20, rollups=[(30, 60)]).update(rows)
    everything = np.ones(400, dtype=bool)
    assert w.total().to_bytes() == counted(rows, everything).to_bytes()
    assert w.compute().as_dict() == w.total().compute().as_dict()
    assert w.n == w.n_rows() == 400


def test_panes_move_as_whole_panes_of_the_next_tier() -> None:
    """The newest pane ends at 200: fine panes from (200 - 50) // 40 * 40 = 120 on are kept,
    panes of 40 from (200 - 100) // 40 * 40 = 80 on, and the rest is before."""
    w = windowed(keep=50, rollups=[(40, 100)]).update(batch([195, 121, 119, 81, 79, 0]))
    assert spans(w) == [(80, 120, 2), (120, 130, 1), (190, 200, 1)]
    assert w.before.n == 2


def test_a_late_row_goes_where_its_time_would_have_put_it() -> None:
    w = windowed(keep=50, rollups=[(40, 100)]).update(batch([195]))
    w.total()
    w.update(batch([121, 119, 81, 79, 0]))
    assert spans(w) == [(80, 120, 2), (120, 130, 1), (190, 200, 1)]
    assert w == windowed(keep=50, rollups=[(40, 100)]).update(batch([195, 121, 119, 81, 79, 0]))


def test_panes_are_rolled_up_as_time_goes_on() -> None:
    w, at_once = (windowed(keep=30, rollups=[(20, 60), (40, 160)]) for _ in range(2))
    times = np.arange(0, 400, 3)
    for time in times.tolist():
        w.update(batch([time]))
        w.before.n  # noqa: B018 - a read splits
    assert w.to_bytes() == at_once.update(batch(times)).to_bytes()
    assert [end - start for start, end, _ in w.panes()] == [40, 40, 20, 20, 10, 10, 10, 10]


def test_windows_slide_over_panes() -> None:
    rows = data(2000)
    w = windowed().update(rows)
    ends = []
    for end, accumulator in w.windows(50, every=20):
        inside = (rows["time"] >= end - 50) & (rows["time"] < end)
        assert accumulator.to_bytes() == counted(rows, inside).to_bytes()
        accumulator.update([1], [1])
        ends.append(end)
    first = int(rows["time"].min()) // 20 * 20 + 20
    assert ends == list(range(first, 1001, 20))
    assert [end for end, _ in w.windows(10)][-1] == 1010


@pytest.mark.parametrize("most", [2, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 9))])
def test_windows_slide_over_slices(most: int) -> None:
    col = se.Collection({"cm": se.ConfusionAccumulator(), "fit": se.RegressionAccumulator()})
    inner = se.Sliced(col, "city", max_values=most)
    rows: dict[str, Any] = data(600)
    letters = np.array(list("abcde"), dtype=object)
    rows["city"] = letters[np.random.default_rng(5).integers(0, 5, 600)]
    w = se.Windowed(inner, pane=10).update(rows)
    before = w.to_bytes()
    for end, accumulator in w.windows(50):
        inside = (rows["time"] >= end - 50) & (rows["time"] < end)
        expected = inner.copy().update({name: column[inside] for name, column in rows.items()})
        assert accumulator.to_bytes() == expected.to_bytes()
        accumulator.merge(accumulator)
    assert w.to_bytes() == before


def test_windows_over_empty_panes_hold_nothing() -> None:
    w = windowed().update(batch([5, 65]))
    assert [(end, accumulator.n) for end, accumulator in w.windows(20)] == [
        *[(10, 1), (20, 1), (30, 0), (40, 0), (50, 0), (60, 0), (70, 1)],
    ]
    assert list(windowed().windows(20)) == []
    assert windowed().window(20).n == 0


def test_windows_that_cut_rolled_up_panes_are_left_out() -> None:
    rows = data(2000)
    w = windowed(keep=30, rollups=[(30, 90)]).update(rows)
    found = list(w.windows(40, every=10))
    assert [end for end, _ in found] == [1000, 1010]
    for width in (30, 60):
        for end, accumulator in w.windows(width):
            inside = (rows["time"] >= end - width) & (rows["time"] < end)
            assert accumulator == counted(rows, inside) == w.window(width, end)


def test_windows_after_the_newest_leave_no_window_out() -> None:
    """A window that ended at 40 would cut the pane of 0 to 20, but it never comes."""
    w = windowed(keep=10, rollups=[(20, None)]).update(batch([5, 15, 25]))
    assert spans(w) == [(0, 20, 2), (20, 30, 1)]
    assert [(end, part.n) for end, part in w.windows(30)] == [(20, 2), (30, 3)]
    assert w.window(30).n == 3


def test_windows_over_a_long_gap_are_made_one_by_one() -> None:
    w = windowed(pane=1).update(batch([0, 2**61]))
    slid = w.windows(2)
    assert [(end, part.n) for end, part in itertools.islice(slid, 3)] == [(1, 1), (2, 1), (3, 0)]


def test_a_window_that_cuts_a_pane_names_its_edges() -> None:
    w = windowed(keep=20, rollups=[(50, 150)]).update(batch([5, 60, 110, 195]))
    with pytest.raises(se.InvalidInputError, match=r"`width` must reach .* got 80; .* 50 and 100"):
        w.window(120)
    with pytest.raises(se.InvalidInputError, match=r"`start` must be .* got 80; .* 50 and 100"):
        w.n_rows(80, 200)
    with pytest.raises(se.InvalidInputError, match=r"`end` must be .* got 120; .* 100 and 150"):
        w.window(20, end=120)
    with pytest.raises(
        se.InvalidInputError, match=r"`width` must not reach back before 50: .* got 0"
    ):
        w.window(200)
    with pytest.raises(se.InvalidInputError, match="got 195; the nearest are 190 and 200"):
        w.n_rows(195)
    with pytest.raises(se.InvalidInputError, match="multiple of the pane, 10, got 15"):
        w.window(15)
    assert (w.window(150).n, w.n_rows(50), w.n_rows(end=50), w.n_rows()) == (3, 3, 1, 4)


@each("end", [0, 30, 60])
def test_n_rows_refuses_an_end_among_the_rows_before_all_panes(end: int) -> None:
    w = windowed(keep=30).update(batch(range(100)))
    with pytest.raises(se.InvalidInputError, match=f"`end` must not lie before 70: .* got {end}"):
        w.n_rows(end=end)
    assert (w.n_rows(end=70), w.n_rows(end=80), w.n_rows()) == (70, 80, 100)


def test_a_window_that_ends_among_the_rows_before_all_panes_names_the_end() -> None:
    w = windowed(keep=30).update(batch(range(100)))
    with pytest.raises(se.InvalidInputError, match=r"`end` must not lie before 70: .* got 30"):
        w.window(10, end=30)


def test_a_window_of_nothing_reads_its_end() -> None:
    with pytest.raises(se.InvalidInputError, match="`end` must be an edge of panes, got 5"):
        windowed().window(10, end=5)
    assert windowed().window(10, end=20).n == 0


def test_times_are_shown_as_they_are_kept() -> None:
    w = windowed(pane="1m", keep="1h", unit="s").update(batch([60.5, 30]))
    assert str(w.newest) == "1970-01-01T00:01:00.500000"
    start, end, _ = next(iter(w.panes()))
    assert start.dtype == end.dtype == np.dtype("M8[us]")
    assert next(w.windows("1m"))[0].dtype == np.dtype("M8[us]")
    for edge in ("1970-01-01T00:02Z", np.datetime64(120, "s"), 120, pd.Timestamp(120, unit="s")):
        assert w.window("1m", end=edge).n == 1
    assert windowed().update(batch([7])).newest == 7
    assert windowed().newest is None


def test_times_are_the_same_in_every_form() -> None:
    moments = [datetime(2026, 3, 29, 1, minute, tzinfo=UTC) for minute in (5, 50)]
    expected = windowed(pane=timedelta(minutes=30), unit="s").update(
        batch([moment.timestamp() for moment in moments])
    )
    forms = (moments, [moment.isoformat() for moment in moments], pd.Series(moments))
    for form in (*forms, pa.array(moments)):
        assert windowed(pane="30m", unit="s").update(batch(form)) == expected


def test_rows_without_a_label_count_as_rows_alone() -> None:
    labels: list[Any] = [1, None, 0, float("nan")]
    w = windowed().update(batch([1, 2, 11, 25]) | {"y_true": labels})
    assert (w.n_rows(0, 10), w.n_rows(20, 30), w.n, w.newest) == (2, 1, 2, 25)
    assert spans(w) == [(0, 10, 1), (10, 20, 1), (20, 30, 0)]
    expected = se.ConfusionAccumulator().update([1, 0], [1, 1])
    assert w.total().to_bytes() == expected.to_bytes()
    assert w.window(30).to_bytes() == expected.to_bytes()
    assert w.window(10).n == 0


@each(
    "form",
    [
        lambda labels: np.array([1.0, np.nan, 0.0]),
        lambda labels: pd.Series([1, None, 0], dtype="Int64"),
        pl.Series,
        pa.array,
        lambda labels: pa.chunked_array([labels]),
        lambda labels: pa.chunked_array([labels]).dictionary_encode(),
        lambda labels: pl.Series(labels, dtype=pl.Int128),
        tuple,
    ],
)
def test_labels_are_missing_in_every_form(form: Any) -> None:
    rows = batch([1, 2, 3], sample_weight=[1, 2, 3])
    expected = windowed().update(rows | {"y_true": [1, None, 0]})
    assert windowed().update(rows | {"y_true": form([1, None, 0])}) == expected
    assert (expected.n_rows(), expected.n) == (6, 4)


@each(
    "form",
    [
        list,
        lambda labels: np.array(labels, dtype=object),
        pd.Series,
        lambda labels: pd.Series(labels, dtype="string"),
        pl.Series,
        pa.array,
        lambda labels: pa.chunked_array([labels]),
        lambda labels: pa.chunked_array([labels]).dictionary_encode(),
    ],
)
def test_labels_that_are_text_may_be_missing(form: Any) -> None:
    w = se.Windowed(se.ConfusionAccumulator("auto"), pane=10)
    w.update({"y_true": form(["ham", None]), "y_pred": ["ham", "ham"], "time": [1, 2]})
    assert (w.n, w.n_rows()) == (1, 2)


@each(
    "type_of",
    [pa.null(), pa.bool_(), pa.int64(), pa.string(), pa.timestamp("us"), pa.duration("us")],
)
def test_labels_may_all_be_missing_in_a_column_of_any_type(type_of: Any) -> None:
    labels = pa.nulls(2, type_of)
    for column in (labels, pa.chunked_array([labels]), pl.Series(labels), labels.to_pandas()):
        w = se.Windowed(se.ConfusionAccumulator(), pane=10)
        w.update({"y_true": column, "y_pred": [0, 1], "time": [1, 2]})
        assert (w.n, w.n_rows()) == (0, 2)


def test_lists_of_labels_may_be_missing() -> None:
    labels = pl.Series([[1, 0], None, [1, 1]], dtype=pl.Array(pl.Int64, 2))
    w = se.Windowed(se.ConfusionAccumulator(2, multilabel=True), pane=10)
    w.update({"y_true": labels, "y_pred": np.ones((3, 2), int), "time": [0, 1, 2]})
    assert (w.n, w.n_rows()) == (2, 3)


def test_window_may_reach_below_every_time() -> None:
    w = windowed().update(batch([-(2**62) - 25, -(2**62) - 100]))
    assert w.window(2**62 - 4, -(2**62) - 16).n == 2


def test_rows_without_a_label_take_no_slice() -> None:
    inner = se.Sliced(se.ConfusionAccumulator(), "city")
    w = se.Windowed(inner, pane=10)
    w.update(batch([1, 2]) | {"y_true": [None, 1], "city": ["a", "b"]})
    assert list(w.total()) == ["b"]


def test_a_label_that_some_member_lacks_is_refused() -> None:
    members = {"a": se.ConfusionAccumulator(), "b": se.ConfusionAccumulator()}
    col = se.Collection(members, columns={"b": {"y_true": "other"}})
    w = se.Windowed(col, pane=10)
    w.update(batch([1, 2], other=[None, 0]) | {"y_true": [None, 1]})
    assert (w.n, w.n_rows()) == ({"a": 1, "b": 1}, 2)
    for rows in ({"other": [None, 0]}, {"y_true": [None, 1], "other": [1, 0]}):
        with pytest.raises(se.InvalidInputError, match="missing"):
            w.update(batch([1, 2], other=[1, 1]) | rows)


def test_many_rows_without_a_label_are_counted() -> None:
    w = windowed()
    for time in range(400):
        w.update(batch([time]) | {"y_true": [None]})
    assert (w.n_rows(), w.n_rows(0, 100), w.n, w.newest) == (400, 100, 0, 399)
    assert w == windowed().update(batch(np.arange(400)) | {"y_true": [None] * 400})


def test_a_weight_of_nothing_leaves_no_trace() -> None:
    w = windowed().update(batch([1, 99, 98], sample_weight=[1, 0, 0]) | {"y_true": [1, 1, None]})
    assert (w.newest, w.n_rows()) == (1, 1)
    assert windowed().update(batch([99], sample_weight=[0])) == windowed()


def test_weights_of_rows_are_sums() -> None:
    w = windowed().update(batch([1, 2], sample_weight=[0.5, 0.5]))
    assert w.n_rows() == 1
    assert w.update(batch([3], sample_weight=[0.25])).n_rows(0, 10) == 1.25
    other = windowed().update(batch([3, 2, 1], sample_weight=[0.25, 0.5, 0.5]))
    assert w.to_bytes() == other.to_bytes()


@each("time", [5, 15, 1000])
def test_weights_of_rows_that_do_not_fit_are_refused_at_once(time: int) -> None:
    """A total that only a read finds too large would leave nothing to be read."""
    w = windowed(keep=30).update(batch([5], sample_weight=[2**62]))
    blank = {"y_true": [None], "y_pred": [1], "time": [time], "sample_weight": [2**62 - 1]}
    w.update(blank)
    before = w.to_bytes()
    with pytest.raises(se.CountOverflowError):
        w.update(blank | {"sample_weight": [1]})
    with pytest.raises(se.CountOverflowError):
        w.merge(windowed(keep=30).update(blank | {"sample_weight": [1]}))
    assert se.from_bytes(w.to_bytes()).to_bytes() == w.to_bytes() == before
    assert w.n_rows() == 2**63 - 1


def test_labelled_rows_that_do_not_fit_beside_others_leave_no_trace() -> None:
    blank = {"y_true": [None], "y_pred": [1], "time": [5], "sample_weight": [2**63 - 3]}
    w, expected = (windowed().update(blank).update(batch([7], sample_weight=[1])) for _ in "ab")
    with pytest.raises(se.CountOverflowError):
        w.update(batch([8, 17], sample_weight=[1, 1]))
    assert w == expected
    assert w.update(batch([9], sample_weight=[1])).n_rows() == 2**63 - 1
    assert w.n == 2


def test_queries_count_once_each_and_have_one_time() -> None:
    w = se.Windowed(se.RankingAccumulator(["mrr"]), pane=10)
    rows = {"relevance": [0, 1, 1], "score": [0.9, 0.8, 0.7], "query": [5, 5, 9]}
    w.update(rows | {"time": [3, 3, 14]}).update(rows | {"time": [3, 3, 14]})
    assert (w.n, w.n_rows(), w.n_rows(0, 10), w.window(10).compute().mrr) == (4, 4, 2, 1.0)
    block = {"relevance": [[0, 1], [1, 0]], "score": [[0.9, 0.8], [0.9, 0.8]], "time": [3, 14]}
    assert w.update(block).n_rows() == 6
    with pytest.raises(se.InvalidInputError, match="`time` must be the same in all rows"):
        w.update(rows | {"time": [3, 4, 14]})
    with pytest.raises(se.InvalidInputError, match="`partial` must be False: Windowed needs"):
        w.update(rows | {"time": [3, 3, 14]}, partial=True)


def test_rows_that_are_late_alone_go_where_they_belong() -> None:
    options: dict[str, Any] = {"keep": 50, "rollups": [(40, 100)]}
    w = windowed(**options).update(batch([195]))
    assert w.before.n == 0
    w.update(batch([81, 0]))
    assert spans(w) == [(80, 120, 1), (190, 200, 1)]
    assert (w.before.n, w.n) == (1, w.total().n)


def test_rows_of_members_weigh_the_most_that_one_of_them_counts() -> None:
    members = {"weighed": se.ConfusionAccumulator(), "counted": se.ConfusionAccumulator()}
    columns = {"weighed": {"sample_weight": "w"}, "counted": {}}
    windowed = se.Windowed(se.Collection(members, columns=columns), pane=10, time="t")
    windowed.update({"y_true": [1, 0], "y_pred": [1, 1], "w": [0.25, 3.0], "t": [1, 11]})
    assert windowed.n_rows() == 1 + 3
    assert windowed.n == {"weighed": 3.25, "counted": 2}


def test_windows_over_rows_without_labels_hold_nothing() -> None:
    w = windowed().update(batch([1, 12]) | {"y_true": [None, 1]})
    assert [(end, accumulator.n) for end, accumulator in w.windows(10)] == [(10, 0), (20, 1)]


BAD_BATCHES: dict[str, tuple[dict[str, Any], str]] = {
    "no times": ({"time": []}, "`time` must have 2 rows, got 0"),
    "too few times, and a label that is missing": (
        {"time": [1], "y_true": [1, None]},
        "`time` must have 2 rows, got 1",
    ),
    "too few predictions, and a label that is missing": (
        {"y_pred": [1], "y_true": [1, None]},
        "`y_pred` must have 2 rows, got 1",
    ),
    "times that cannot be read": ({"time": object()}, "`time` must have shape"),
}


@each("claim", BAD_BATCHES)
def test_batches_are_refused_with_a_reason(claim: str) -> None:
    change, message = BAD_BATCHES[claim]
    w = windowed(pane="1m", unit="s")
    with pytest.raises(se.InvalidInputError, match=message):
        w.update(batch([1, 2]) | change)
    assert w == windowed(pane="1m", unit="s")


def test_ranges_are_columns() -> None:
    w = windowed().update({"y_true": [None, 1], "y_pred": range(2), "time": range(2)})
    assert w == windowed().update({"y_true": [None, 1], "y_pred": [0, 1], "time": [0, 1]})


def test_nothing_has_no_rows() -> None:
    assert windowed(keep=30).n_rows() == windowed().n_rows(0, 10) == 0


def test_copies_are_detached() -> None:
    w = windowed(keep=10).update(batch([1, 50, 60]))
    before = w.to_bytes()
    copies = [w.before, w.total(), w.window(10), *(accumulator for *_, accumulator in w.panes())]
    for copy in [*copies, *(accumulator for _, accumulator in w.windows(10))]:
        copy.update([1, 1], [0, 0])
    assert w.to_bytes() == before


def test_panes_that_rows_have_left_are_sealed_and_thawed() -> None:
    inner = se.Sliced(se.ConfusionAccumulator(), "city", max_values=2)
    w, at_once = (se.Windowed(inner, pane=10) for _ in range(2))
    random = np.random.default_rng(4)
    rows = data(600)
    rows["city"] = np.array(list("abc"), dtype=object)[random.integers(0, 3, 600)]
    order = np.argsort(rows["time"])
    for part in np.array_split(order, 30):
        w.update({name: column[part] for name, column in rows.items()})
        w._held = w._flushed(w._held)
    kinds = [type(pane.part).__name__ for pane in w._held.state.panes.values()]
    assert kinds.count("Sliced") < 5 < kinds.count("Sealed")
    late = {name: column[:40] for name, column in rows.items()}
    w.update(late)
    assert w.to_bytes() == at_once.update(rows).update(late).to_bytes()
    assert w == at_once == se.from_bytes(w.to_bytes())
    assert w.copy() == w
    assert w + w == at_once + at_once
    assert w != at_once.update(late)


@each("weight", [1.0, 0.5])
def test_weight_of_a_sealed_accumulator_is_that_of_its_heaviest_member(weight: float) -> None:
    members = {"a": se.ConfusionAccumulator(), "b": se.PRCurveSketch(nan="skip")}
    w = se.Windowed(se.Collection(members), pane=10)
    scores = [0.1, 0.9, np.nan]
    rows = {"y_true": [0, 1, 1], "y_pred": [0, 1, 0], "y_score": scores, "time": [0, 0, 0]}
    w.update(rows, sample_weight=[weight, 1.0, 1.0])
    (pane,) = se.from_bytes(w.to_bytes())._held.state.panes.values()
    assert isinstance(pane.part, Sealed)
    assert pane.part.weight == max(pane.part.copy().n.values()) == weight + 2


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no pane": ({"pane": 0}, "`pane` must be at least 1"),
    "a pane that is no duration": ({"pane": "a minute"}, "`pane` must be a duration such as"),
    "a number that is no integer": ({"pane": 1.5}, "`pane` must be a duration such as"),
    "a pane that is too wide": ({"pane": 2**62}, "below 2\\*\\*62"),
    "a unit of steps": ({"unit": "s"}, "`unit` has no meaning"),
    "another unit": ({"pane": "1m", "unit": "m"}, '`unit` must be "s" or "ms"'),
    "a duration among steps": ({"keep": "1h"}, "`keep` must be an integer, as the pane is"),
    "steps among durations": ({"pane": "1m", "keep": 60}, "`keep` must be a duration"),
    "less than a pane": ({"keep": 9}, "`keep` must be at least one pane, 10, got 9"),
    "roll-ups of what stays": ({"rollups": [(20, 30)]}, "`keep` is missing"),
    "panes that do not fill": ({"keep": 20, "rollups": [(25, 50)]}, "got 25 after 10"),
    "panes of one width": ({"keep": 20, "rollups": [(10, 50)]}, "got 10 after 10"),
    "kept shorter": ({"keep": 30, "rollups": [(20, 20)]}, "got 20 kept 20 after 30"),
    "after forever": ({"keep": 20, "rollups": [(20, None), (40, 80)]}, "never come to 40"),
    "no pairs": ({"keep": 20, "rollups": [20]}, "pairs of a width .* got 20"),
    "one pair": ({"keep": 20, "rollups": "1h:7d"}, "pairs of a width .* got '1h:7d'"),
    "many": ({"keep": 2, "pane": 1, "rollups": [(2, 4)] * 16}, "fewer than 16, got 16"),
    "a time that is no name": ({"time": ""}, "`time` must have names that are texts"),
    "panes of panes": ({"accumulator": se.Windowed(se.ConfusionAccumulator(), pane=1)}, "within"),
}


@each("claim", BAD)
def test_options_that_make_no_panes_are_refused(claim: str) -> None:
    options, message = BAD[claim]
    with pytest.raises(se.InvalidInputError, match=message):
        se.Windowed(**({"accumulator": se.ConfusionAccumulator(), "pane": 10} | options))


def test_options_are_canonical() -> None:
    w = windowed(pane="60s", keep="3600s", rollups=[("24h", None)], offset="25h", unit="s")
    assert repr(w) == (
        "Windowed(accumulator=ConfusionAccumulator(n=0), pane='1m', keep='1h', "
        "rollups=(('1d', None),), offset='1h', unit='s', n=0)"
    )
    assert windowed(offset=23) == windowed(offset=-7)
    assert windowed(pane="1m", offset="-30s").options["offset"] == "30s"


@each("time", [-(2**63), 2**63 - 1])
def test_steps_whose_panes_do_not_fit_are_refused(time: int) -> None:
    w = windowed(pane=1000)
    with pytest.raises(se.InvalidInputError, match=f"fit 64 bits, got {time} at position 1"):
        w.update(batch([0, time]))
    assert w == windowed(pane=1000)
    wide = windowed(pane=1, keep=2**61).update(batch([-(2**62), 2**62]))
    assert (wide.before.n, wide.window(1).n) == (1, 1)


def test_merging_names_what_differs_within() -> None:
    other = se.Windowed(se.ConfusionAccumulator(threshold=0.7), pane=10)
    with pytest.raises(se.IncompatibleStateError, match="`accumulator` differs: `threshold` diff"):
        windowed().merge(other)
    sketch = se.Windowed(se.PRCurveSketch(), pane=10)
    with pytest.raises(se.IncompatibleStateError, match=r"differs .ConfusionAccumulator and PRC"):
        windowed().merge(sketch)


@each("is_sliced", [False, True])
def test_columns_mostly_hold_panes_that_are_in_use(is_sliced: bool) -> None:
    inner = se.ConfusionAccumulator()
    inner = se.Sliced(inner, "city") if is_sliced else inner
    w = se.Windowed(inner, pane=1)
    at_once = w.copy()
    for time in range(40):
        rows = {**data(9), "city": list("abcabcabc"), "time": [time, *[0, 1, 2, 3] * 2]}
        w.update(rows)
        at_once.update(rows)
        w._held = w._flushed(w._held)
    parts = w._held.state.parts
    columns = {id(part.columns): part.columns for part in parts}
    assert len(parts) == 40
    assert sum(map(len, columns.values())) <= 2 * len(parts)
    assert w.to_bytes() == at_once.to_bytes()


def test_windows_of_a_collection_are_merges_of_its_panes() -> None:
    members = {"a": se.ConfusionAccumulator(2), "b": se.ConfusionAccumulator(2)}
    w = se.Windowed(se.Collection(members), pane=1, time="t")
    w.update({"y_true": [0, 1, 1, 0], "y_pred": [0, 1, 0, 0], "t": [0, 1, 2, 4]})
    panes = {start: part for start, _, part in w.panes()}
    for end, window in w.windows(3):
        inside = [part for start, part in panes.items() if end - 3 <= start < end]
        assert window.to_bytes() == se.merge(inside).to_bytes()


@each(
    ("arrays", "columns"), [(([1], [1]), {}), (([1], [1]), {"day": [3]}), (([1],), {"y_pred": [1]})]
)
def test_update_with_arrays_names_the_columns_of_a_batch(
    arrays: tuple[list[int], ...], columns: dict[str, list[int]]
) -> None:
    said = "`batch` must be one mapping or table with the columns y_true, y_pred, day; arrays"
    with pytest.raises(se.InvalidInputError, match=said):
        se.Windowed(se.ConfusionAccumulator(), pane="1d", time="day").update(*arrays, **columns)


PROBABILITIES = np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.125, 0.125, 0.75]])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("inner", "columns"),
    [
        (se.ConfusionAccumulator(3), {"y_true": [0, 1, 2], "y_pred": [0, 2, 2]}),
        (se.ConfusionAccumulator(3, top_k=2), {"y_true": [0, 1, 2], "y_pred": PROBABILITIES}),
        (se.PRCurveSketch(8, classes=3), {"y_true": [0, 1, 2], "y_score": PROBABILITIES}),
        (
            se.Sliced(se.ConfusionAccumulator(3), "g", values=[0, 1]),
            {"y_true": [0, 1, 2], "y_pred": [0, 2, 2], "g": [0, 1, 2]},
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_many_panes_of_one_batch_count_as_those_of_small_batches(inner, columns):
    n = 8_000  # panes have narrow codes, and nine times as many cells of classes have not
    rows = {name: np.resize(column, (n, *np.shape(column)[1:])) for name, column in columns.items()}
    rows["time"] = np.arange(n)
    whole = se.Windowed(inner, pane=1).update(rows)
    parts = [
        se.from_bytes(se.Windowed(inner, pane=1).update(part).to_bytes())
        for start in range(0, n, 2_000)
        for part in [{name: column[start : start + 2_000] for name, column in rows.items()}]
    ]
    assert whole.to_bytes() == se.merge(parts).to_bytes()


@each("dtype", [np.int64, np.float64])
def test_rows_with_items_of_two_widths_weigh_as_much_as_the_heaviest_member(dtype: type) -> None:
    members = {"two": se.ConfusionAccumulator("auto"), "three": se.ConfusionAccumulator("auto")}
    of_three = {"y_true": "t", "y_pred": "p", "sample_weight": "w"}
    w = se.Windowed(se.Collection(members, columns={"three": of_three}), pane=10)
    labels = {
        "y_true": [[0, 1]] * 3,
        "y_pred": [[1, 1]] * 3,
        "t": [[0, 1, 1]] * 3,
        "time": [3, 4, 15],
    }
    weights = (
        np.array([[1, 1], [0, 2], [1, 0]], dtype),
        np.array([[0, 0, 1], [3, 0, 1], [0, 0, 2]], dtype),
    )
    if dtype is np.float64:
        weights[1][1, 0] += 0.5
    w.update(labels | {"p": labels["t"], "sample_weight": weights[0], "w": weights[1]})
    assert [w.n_rows(0, 10), w.n_rows(10, 20)] == [2 + weights[1][1].sum(), 2]
    heaviest = [max(part.n.values()) for _, _, part in w.panes()]
    assert heaviest == [weights[1][:2].sum(), 2]
