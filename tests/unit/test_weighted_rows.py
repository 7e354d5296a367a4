"""Rows of weight 0 in every form that a batch may have."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from offenders import each

import streameval as se

COLUMNS = {"y_true": [0, 5, 1], "y_score": [0.25, float("nan"), 0.5], "s": ["x", None, "y"]}
KEPT = {"y_true": [0, 1], "y_score": [0.25, 0.5], "s": ["x", "y"]}
TABLES: dict[str, Callable[[Any], Any]] = {
    "mapping": dict,
    "arrow": pa.table,
    "batch": pa.RecordBatch.from_pydict,
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "lazy": pl.LazyFrame,
}


def kept(make: Callable[[], Any]) -> Any:
    return make().update(KEPT, sample_weight=[1, 2])


@each("table", TABLES)
@each("make", [se.PRCurveSketch, lambda: se.Sliced(se.PRCurveSketch(), "s")])
def test_rows_of_weight_zero_are_taken_out_of_any_table(
    make: Callable[[], Any], table: str
) -> None:
    weights = pa.chunked_array([[1, 0], [2]])
    assert make().update(TABLES[table](COLUMNS), sample_weight=weights) == kept(make)
    columns = COLUMNS | {"sample_weight": [1.0, 0.0, 2.0]}
    assert make().update(TABLES[table](columns)) == kept(make)


MASK = np.array([True, False, True, False])
JUNK = np.array([1, -100, 0, 7])
SCORES = np.array([0.75, np.nan, 0.25, 3.0])
MASKED: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "confusion": (se.ConfusionAccumulator, {"y_true": JUNK, "y_pred": SCORES}),
    "curve": (se.PRCurveSketch, {"y_true": JUNK, "y_score": SCORES}),
    "calibration": (se.CalibrationAccumulator, {"y_true": JUNK, "y_prob": SCORES}),
    "regression": (se.RegressionAccumulator, {"y_true": JUNK, "y_pred": SCORES}),
    "values": (se.MeanAccumulator, {"value": SCORES}),
    "groups": (se.GroupedAUC, {"y_true": JUNK, "y_score": SCORES, "group": np.arange(4)}),
    "preferences": (
        lambda: se.PreferencesAccumulator(["a", "b"]),
        {"a": list("a?b?"), "b": list("b?a?"), "outcome": SCORES.round()},
    ),
    "paired": (se.Paired, {"y_true": JUNK, "y_pred_a": JUNK, "y_pred_b": 1 - JUNK}),
    "collection": (
        lambda: se.Collection({"one": se.ConfusionAccumulator(), "other": se.PRCurveSketch()}),
        {"y_true": JUNK, "y_pred": SCORES, "y_score": SCORES},
    ),
    "sliced": (
        lambda: se.Sliced(se.RegressionAccumulator(), "s"),
        {"y_true": JUNK, "y_pred": SCORES, "s": ["x", None, "y", None]},
    ),
    "clustered": (
        lambda: se.Clustered(se.RegressionAccumulator(), "s"),
        {"y_true": JUNK, "y_pred": SCORES, "s": ["x", None, "y", None]},
    ),
    "windowed": (
        lambda: se.Windowed(se.RegressionAccumulator(), pane=10, time="t"),
        {"y_true": JUNK, "y_pred": SCORES, "t": [1, np.nan, 60, np.nan]},
    ),
}


@each("name", MASKED)
def test_padding_under_a_mask_may_hold_anything(name: str) -> None:
    make, batch = MASKED[name]
    kept = {column: [items[0], items[2]] for column, items in batch.items()}
    expected = make().update(kept, sample_weight=[1, 1])
    assert make().update(batch, sample_weight=MASK) == expected == make().update(kept)
    assert make().update(batch, sample_weight=MASK & False) == make()


def test_weights_that_are_exported_once_are_read_once() -> None:
    class Stream:
        def __init__(self) -> None:
            self.column = pa.chunked_array([[1, 2]])

        def __arrow_c_stream__(self, schema: Any = None) -> Any:
            column, self.column = self.column, pa.chunked_array([], pa.int64())
            return column.__arrow_c_stream__(schema)

    acc = se.PRCurveSketch().update([0, 1], [0.25, 0.5], sample_weight=Stream())
    assert acc == kept(se.PRCurveSketch)


def test_named_columns_of_classes_keep_their_order_without_rows_of_weight_zero() -> None:
    scores = pd.DataFrame({"b": [0.25, np.nan, 0.5], "a": [0.75, np.nan, 0.5]})
    acc = se.PRCurveSketch(classes=["a", "b"])
    acc.update(["b", None, "a"], scores, sample_weight=[1, 0, 2])
    other = se.PRCurveSketch(classes=["a", "b"])
    assert acc == other.update(["b", "a"], [[0.75, 0.25], [0.5, 0.5]], sample_weight=[1, 2])


@each("weights", [[1, 0], [[1], [0], [2]], ["a", "b", "c"], [1, 0, -2], 3])
def test_weights_that_are_wrong_are_refused_as_without_zeros(weights: Any) -> None:
    acc = se.PRCurveSketch()
    with pytest.raises(se.InvalidInputError, match="`sample_weight` must"):
        acc.update([0, 1, 1], [0.25, 0.5, 0.5], sample_weight=weights)
    assert acc.n == 0


def test_rows_of_several_lengths_are_refused_beside_weights_of_entries() -> None:
    acc = se.ConfusionAccumulator(2, multilabel=True)
    with pytest.raises(se.InvalidInputError, match="`y_true` must have rows of one length"):
        acc.update([[1], [1, 0]], [[1, 0], [1, 0]], sample_weight=[[0, 0], [1, 1]])


@each("shape", [(2, 1), (2, 5), (2, 2, 2)])
@each("make", [se.ConfusionAccumulator, se.PRCurveSketch, se.RegressionAccumulator])
def test_zeros_of_another_shape_than_the_labels_are_refused(
    make: Callable[[], Any], shape: tuple[int, ...]
) -> None:
    acc = make()
    with pytest.raises(se.InvalidInputError, match=re.escape(f"shape (n,), got {shape}")):
        acc.update([1, 0], [1, 0], sample_weight=np.zeros(shape))


def test_scalar_beside_weights_is_refused_by_its_name() -> None:
    with pytest.raises(se.InvalidInputError, match="`y_score` must have shape"):
        se.PRCurveSketch().update([0, 1], 0.5, sample_weight=[1, 0])


def test_weights_of_rows_of_a_block_of_values_are_refused_before_its_values() -> None:
    values = [[1, 2], [3, 4], [5, float("nan")]]
    with pytest.raises(se.InvalidInputError, match="`sample_weight` must have 4 rows, got 2"):
        se.MeanAccumulator().update(values, sample_weight=[1, 0, 1])


def test_shape_in_an_error_is_said_to_be_that_of_the_rows_with_weight() -> None:
    with pytest.raises(se.InvalidInputError) as refusal:
        se.PRCurveSketch().update([0, 1, 1], np.zeros((3, 4)), sample_weight=[1, 0, 1])
    expected = "rows with weight: `y_score` must have shape (n,), got (2, 4)."
    assert str(refusal.value) == expected


RELEVANCE, SCORE = [1, 0, -1, 1], [0.5, 0.25, float("nan"), 0.75]
QUERY = ["a", "a", "b", "c"]


@each(
    "weights",
    [
        {"a": 1, "b": 0, "c": 2},
        {"a": np.int8(1), "b": np.False_, "c": Decimal(2)},
        {"a": 1.0, "b": Decimal(0), "c": 2},
        [1, 1, 0, 2],
    ],
)
@each("per_query", [False, True])
def test_queries_of_weight_zero_may_hold_anything(weights: Any, per_query: bool) -> None:
    acc = se.RankingAccumulator(["map"], per_query=per_query)
    acc.update(RELEVANCE, SCORE, query=QUERY, query_weight=weights)
    other = se.RankingAccumulator(["map"], per_query=per_query)
    kept = {"query": ["a", "a", "c"], "query_weight": [1, 1, 2]}
    assert acc == other.update([1, 0, 1], [0.5, 0.25, 0.75], **kept)


def test_queries_of_weight_zero_of_a_block_and_a_run_may_hold_anything() -> None:
    nan = float("nan")
    block = se.RankingAccumulator(["map"])
    block.update([[1, 0], [nan, -9]], [[0.5, 0.25], [nan, nan]], query_weight=[2, 0])
    run = se.RankingAccumulator(["map"])
    run.update_run(
        {"a": {"d": 0.5, "e": 0.25}, "b": {"d": nan}},
        {"a": {"d": 1, "e": 0}, "b": {"d": -9}},
        query_weight={"a": 2, "b": 0},
    )
    assert block == run
    assert block.n == 2


def test_query_with_two_weights_is_refused_though_one_is_zero() -> None:
    acc = se.RankingAccumulator(["map"])
    with pytest.raises(se.InvalidInputError, match="`query_weight` must be the same"):
        acc.update([1, 0, 1], [0.5, 0.25, 0.75], query=[1, 1, 2], query_weight=[1, 0, 0])
    with pytest.raises(se.InvalidInputError, match="`query_weight` must have 3 rows"):
        acc.update([1, 0, 1], [0.5, 0.25, 0.75], query=[1, 1, 2], query_weight=[1, 0])
    assert acc.n == 0


def test_rows_of_weight_zero_open_no_query() -> None:
    acc = se.RankingAccumulator(["map"])
    acc.update([-1, 1], [0.5, 0.25], query=[1, 2], query_weight=[0, 3], partial=True)
    assert acc.close([2]).n == 3
    with pytest.raises(se.InvalidInputError, match="`ids` must be open queries, got 1"):
        acc.close([1])


def test_windows_of_rankings_leave_queries_of_weight_zero_out() -> None:
    def ranking() -> se.Windowed:
        return se.Windowed(se.RankingAccumulator(["map"]), pane=10, time="t")

    rows = {"relevance": RELEVANCE, "score": SCORE, "query": QUERY, "t": [1, 1, None, 11]}
    weighted = ranking().update(rows | {"query_weight": [1, 1, 0, 2]})
    kept = {"relevance": [1, 0, 1], "score": [0.5, 0.25, 0.75], "query": ["a", "a", "c"]}
    assert weighted == ranking().update(kept | {"t": [1, 1, 11], "query_weight": [1, 1, 2]})


def test_members_leave_out_rows_of_their_own_weights() -> None:
    members = {"curve": se.PRCurveSketch(), "matrix": se.ConfusionAccumulator()}
    columns = {
        "curve": {"sample_weight": "of_curve"},
        "matrix": {"y_pred": "y_score", "sample_weight": "of_matrix"},
    }
    rows = {
        "y_true": [0, 7, 1, None],
        "y_score": [0.25, 0.5, 0.5, None],
        "of_curve": [1, 0, 1, 0],
        "of_matrix": [0, 0, 1, 0],
        "s": ["x", "x", "y", None],
    }
    sliced = se.Sliced(se.Collection(members, columns=columns), "s").update(rows)
    assert list(sliced) == ["x", "y"]
    assert [sliced[value]["curve"].n for value in "xy"] == [1, 1]
    assert [sliced[value]["matrix"].n for value in "xy"] == [0, 1]


def entries() -> dict[str, Any]:
    """Rows of three labels, with a weight for each entry: some are 0, one row has none."""
    rng = np.random.default_rng(0)
    weights = rng.choice([0, 0.25, 1, 2, 1 / 3], (40, 3))
    weights[7] = 0
    truth = rng.integers(0, 2, (40, 3))
    return {"y_true": truth, "y_pred": rng.random((40, 3)), "sample_weight": weights}


def multilabel(**options: Any) -> se.ConfusionAccumulator:
    return se.ConfusionAccumulator(3, multilabel=True, **options)


def curves(**options: Any) -> se.PRCurveSketch:
    return se.PRCurveSketch(classes=3, multilabel=True, **options)


of_labels = each("make", [multilabel, curves])


def test_weights_of_entries_are_those_of_each_label_by_itself() -> None:
    rows = entries()
    truth, score, weights = rows.values()
    acc = multilabel().update(rows)
    result = acc.compute()
    for label in range(3):
        alone = se.ConfusionAccumulator()
        alone.update(truth[:, label], score[:, label], sample_weight=weights[:, label])
        assert (result.matrix[label] == alone.compute().matrix).all()
    largest, wrong = weights.max(axis=1), (truth != (score >= 0.5)) & (weights > 0)
    assert acc.n == pytest.approx(largest.sum())
    right = largest[~wrong.any(axis=1)].sum() / largest.sum()
    assert result.accuracy == pytest.approx(right)
    assert se.from_bytes(acc.to_bytes()) == acc


def test_weights_of_entries_weigh_the_curve_of_each_label() -> None:
    truth, score, weights = entries().values()
    score = score.round(1)
    acc = curves().update(truth, score, sample_weight=weights)
    assert acc.n == pytest.approx(weights.max(axis=1).sum())
    for curve, y, p, w in zip(acc.compute().values(), truth.T, score.T, weights.T, strict=True):
        above = (p[:, None] > p) + (p[:, None] == p) / 2
        of_pairs = np.outer(w * (y == 1), w * (y == 0))
        assert curve.roc_auc == pytest.approx((above * of_pairs).sum() / of_pairs.sum())
        assert curve.n_pos == pytest.approx(w[y == 1].sum())
    assert se.from_bytes(acc.to_bytes()) == acc


@of_labels
def test_weights_of_entries_count_alike_in_any_batches_and_form(make: Callable[..., Any]) -> None:
    truth, score, weights = entries().values()
    acc, parts = make().update(truth, score, sample_weight=weights), make()
    for start in range(0, 40, 7):
        rows = slice(start, start + 7)
        parts.update(truth[rows], score[rows], sample_weight=weights[rows])
    assert parts.n == acc.n
    assert parts.to_bytes() == acc.to_bytes()
    lists = truth.tolist(), score.tolist()
    assert make().update(*lists, sample_weight=weights.tolist()) == acc
    unread = np.where(weights, truth, 7), np.where(weights, score, np.nan)
    assert make().update(*unread, sample_weight=weights) == acc
    missing = [
        [None] * 3 if not any(of_row) else row
        for row, of_row in zip(truth.tolist(), weights, strict=True)
    ]
    assert make().update(missing, score, sample_weight=weights) == acc
    rows = {"y_true": truth, "y_pred": score, "y_score": score, "s": ["x", "y"] * 20}
    sliced = se.Sliced(make(), "s").update(rows, sample_weight=weights)
    assert sliced.total() == acc


@of_labels
def test_a_row_without_a_weight_of_any_entry_opens_no_slice(make: Callable[..., Any]) -> None:
    truth, score, weights = entries().values()
    weights[::4] = 0.0
    batch = {"y_true": truth, "y_pred": score, "y_score": score, "s": np.arange(40) % 4}
    sliced = se.Sliced(make(), "s").update(batch, sample_weight=weights)
    kept = {name: column[np.arange(40) % 4 > 0] for name, column in batch.items()}
    assert sliced == se.Sliced(make(), "s").update(kept, sample_weight=weights[batch["s"] > 0])
    assert list(sliced) == [1, 2, 3]


@of_labels
def test_slices_count_weights_of_rows_and_of_entries_one_after_the_other(
    make: Callable[..., Any],
) -> None:
    truth, score, weights = entries().values()
    batch = {"y_true": truth, "y_pred": score, "y_score": score, "s": np.arange(40) % 4}
    together, apart = se.Sliced(make(), "s"), se.Sliced(make(), "s")
    for given in (weights.max(axis=1), weights, None):
        together.update(batch, sample_weight=given)
        apart += se.Sliced(make(), "s").update(batch, sample_weight=given)
    assert together.to_bytes() == apart.to_bytes()


def test_weights_of_rows_and_of_their_entries_count_together() -> None:
    truth, score, weights = entries().values()
    of_rows = weights[:, 0]
    together, apart = curves(), curves()
    for given in (None, of_rows, weights, None, of_rows):
        together.update(truth, score, sample_weight=given)
        apart = curves().update(truth, score, sample_weight=given) + apart
    assert together.n == apart.n == pytest.approx(80 + (2 * of_rows + weights.max(axis=1)).sum())
    assert together.to_bytes() == apart.to_bytes()
    whole = curves().update(truth, score, sample_weight=weights > 0.5)
    assert (whole + whole).to_bytes() == (curves() + whole).merge(whole).to_bytes()


@of_labels
def test_entries_of_weight_one_or_zero_are_those_of_an_ignored_label(
    make: Callable[..., Any],
) -> None:
    truth, score, weights = entries().values()
    truth[:4, 2] = -1
    marked = make(ignore_label=-1).update(np.where(weights > 0, truth, -1), score)
    weighted = make(ignore_label=-1).update(truth, score, sample_weight=weights > 0)
    assert weighted == marked


def test_a_row_without_a_score_is_skipped_with_the_largest_weight_of_its_entries() -> None:
    acc = curves(nan="skip").update(
        [[1, 0, 1], [0, 1, 0]],
        [[0.5, np.nan, 1], [np.nan, 0.5, 1]],
        sample_weight=[[1, 2, 3], [0, 1, 5]],
    )
    assert (acc.n, acc.compute()[0].n_skipped) == (5, 3)


@of_labels
def test_an_example_has_fractions_if_one_of_its_entries_has(make: Callable[..., Any]) -> None:
    acc = make().update([[1, 0, 1]], [[1, 0, 1]], sample_weight=[[1, 0.5, 1]])
    assert type(acc.n) is float
    assert se.from_bytes(acc.to_bytes()) == acc


@each(
    ("options", "weights", "message"),
    [
        ({}, [[1, 2]], "must have shape (n, 3), got (1, 2)"),
        ({}, [[1, 2, -3]], "must not be negative, got -3 at position (0, 2)"),
        ({}, [["a", "b", "c"]], "must hold numbers, got strings"),
        ({"measures": ["samples"]}, [[1, 2, 3]], "must be one for each example with measures="),
    ],
)
def test_weights_of_entries_are_checked(options: Any, weights: Any, message: str) -> None:
    with pytest.raises(se.InvalidInputError) as caught:
        multilabel(**options).update([[1, 0, 1]], [[1, 0, 1]], sample_weight=weights)
    assert message in str(caught.value)
    if not options:
        with pytest.raises(se.InvalidInputError, match=re.escape(message)):
            curves().update([[1, 0, 1]], [[1, 0, 1]], sample_weight=weights)


def images(n: int = 12) -> dict[str, Any]:
    """Rows of masks with a weight for each item, some of which are 0, and a loss of each row."""
    rng = np.random.default_rng(4)
    truth, prediction = rng.integers(0, 3, (2, n, 2, 3))
    weights = rng.choice([0, 0.25, 1, 1 / 3], (n, 2, 3))
    weights[5] = 0
    rows = {"y_true": truth, "y_pred": prediction, "sample_weight": weights}
    return rows | {"loss": rng.random(n), "s": np.arange(n) % 3, "time": np.arange(n) // 4}


def masks() -> se.ConfusionAccumulator:
    return se.ConfusionAccumulator(3)


def masks_and_losses() -> se.Collection:
    columns = {"losses": {"value": "loss", "sample_weight": "of_losses"}}
    return se.Collection({"masks": masks(), "losses": se.MeanAccumulator()}, columns=columns)


def without_weights() -> se.Collection:
    columns = {"losses": {"value": "loss"}}
    return se.Collection({"masks": masks(), "losses": se.MeanAccumulator()}, columns=columns)


@each(("make", "is_weighted"), [(masks, True), (masks, False), (without_weights, False)])
def test_groups_weigh_items_as_one_accumulator_does(
    make: Callable[[], Any], *, is_weighted: bool
) -> None:
    rows = images()
    if not is_weighted:
        del rows["sample_weight"]
    whole = make().update(rows)
    sliced = se.Sliced(make(), "s").update(rows)
    assert sliced.total() == whole
    for value in range(3):
        own = {name: column[rows["s"] == value] for name, column in rows.items()}
        assert sliced[value] == make().update(own)
    assert se.Clustered(make(), by="s").update(rows).total() == whole
    windowed = se.Windowed(make(), pane=1).update(rows)
    assert windowed.total() == whole
    for start, _, part in windowed.panes():
        own = {name: column[rows["time"] == start] for name, column in rows.items()}
        assert part == make().update(own)
    assert windowed.n_rows() == pytest.approx(whole.n if is_weighted else 72)
    assert se.from_bytes(windowed.to_bytes()) == windowed


def test_rows_of_several_numbers_of_items_weigh_as_much_as_the_most() -> None:
    rows = images() | {"of_losses": np.full(12, 3.0)}
    windowed = se.Windowed(masks_and_losses(), pane=1).update(rows)
    assert windowed.n == {"masks": pytest.approx(rows["sample_weight"].sum()), "losses": 36}
    of_masks = rows["sample_weight"].sum(axis=(1, 2))
    assert windowed.n_rows() == pytest.approx(np.maximum(of_masks, 3).sum())
    assert se.from_bytes(windowed.to_bytes()) == windowed
    small = {
        name: column[:4, ..., :1] if column.ndim > 1 else column[:4]
        for name, column in rows.items()
    }
    assert windowed.update(small).n["losses"] == 48


@each("make", [se.Sliced, se.Windowed, se.Clustered])
def test_groups_refuse_weights_of_other_items_as_one_accumulator_does(make: Any) -> None:
    rows = images()
    groups = {se.Sliced: {"column": "s"}, se.Windowed: {"pane": 1}, se.Clustered: {"by": "s"}}
    for weights in (rows["sample_weight"][:, 0], rows["sample_weight"] - 1, np.ones(12)):
        refused = {**rows, "sample_weight": weights}
        with pytest.raises(se.InvalidInputError) as alone:
            masks().update(refused)
        with pytest.raises(se.InvalidInputError, match=re.escape(str(alone.value))):
            make(masks(), **groups[make]).update(refused)


def pairs_of_masks() -> dict[str, Any]:
    rows = images()
    truth, prediction = rows["y_true"], rows.pop("y_pred")
    return rows | {"y_pred_a": prediction, "y_pred_b": truth}


def scored_masks() -> dict[str, Any]:
    rows = images()
    scores = np.random.default_rng(5).random((*rows["y_true"].shape, 3))
    return rows | {"y_prob": scores / scores.sum(axis=-1, keepdims=True)}


def lists_of_items() -> dict[str, Any]:
    """Lists of two items, with a weight of each list."""
    rows = images()
    return rows | {"item": rows["y_true"][:, 0, :2], "sample_weight": np.arange(12) % 4}


@each(
    ("make", "names"),
    [
        (lambda: se.ConfusionAccumulator(3), ("y_true", "y_pred")),
        (lambda: se.Paired(3), ("y_true", "y_pred_a", "y_pred_b")),
        (lambda: se.CalibrationAccumulator(classes=3), ("y_true", "y_prob")),
        (lambda: se.PRCurveSketch(classes=3), ("y_true", "y_score")),
        (se.MeanAccumulator, ("value",)),
    ],
)
def test_item_in_an_error_is_that_of_the_whole_batch_beside_an_image_without_weight(
    make: Callable[[], Any], names: tuple[str, ...]
) -> None:
    rows = images()
    weights = np.ones(rows["y_true"].shape)
    weights[0] = 0
    wrong = rows["y_true"].astype(float)
    wrong[1, 0, 1] = np.nan
    truth, *others = names
    predicted = scored_masks()["y_prob"] if others in (["y_prob"], ["y_score"]) else rows["y_pred"]
    batch = {truth: wrong, **dict.fromkeys(others, predicted), "sample_weight": weights}
    with pytest.raises(se.InvalidInputError) as error:
        make().update(batch)
    assert error.value.argument == truth
    assert error.value.position == weights[0].size + 1


@each(
    ("make", "rows"),
    [
        (lambda: se.Paired(classes=3), pairs_of_masks),
        (lambda: se.CalibrationAccumulator(classes=3), scored_masks),
        (lambda: se.CatalogAccumulator(3), lists_of_items),
    ],
)
def test_panes_weigh_items_of_every_accumulator(
    make: Callable[[], Any], rows: Callable[[], dict[str, Any]]
) -> None:
    batch = rows()
    for given in (batch, {name: batch[name] for name in batch if name != "sample_weight"}):
        whole = make().update(given)
        windowed = se.Windowed(make(), pane=1).update(given)
        assert windowed.total() == whole
        assert windowed.n_rows() == pytest.approx(whole.n)
        assert se.from_bytes(windowed.to_bytes()) == windowed
