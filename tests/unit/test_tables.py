"""Results as columns, as data frames, and flattened with their classes and bounds."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from offenders import each
from win_rate import WinRate

import streameval as se

NAMED = se.ConfusionAccumulator({0: "cat", 1: "dog"}).update([0, 1, 1], [0, 1, 0]).compute()
PLAIN = se.ConfusionAccumulator(3).update([0, 1, 2], [0, 1, 1]).compute()
SCORES = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.3, 0.5], [0.1, 0.6, 0.3]]
CURVE = se.PRCurveSketch(2).update([0, 1, 1, 0, 1], [0.1, 0.2, 0.3, 0.4, 0.5]).compute()
CURVES = se.PRCurveSketch(2, classes=3).update([0, 1, 2, 2], SCORES).compute()
CALIBRATION = se.CalibrationAccumulator(classes=["a", "b", "c"])
CALIBRATED = CALIBRATION.update(["a", "b", "c", "c"], SCORES).compute()
GROUPS = se.GroupedAUC(3).update([1, 0, 1, 0], [0.1, 0.2, 0.3, 0.4], ["a", "a", "b", "a"]).compute()
QUERIES = se.RankingAccumulator(["map", "ndcg@2"], per_query=True)
RANKED = QUERIES.update([1, 0, 1], [0.1, 0.2, 0.3], query=["q1", "q1", "q2"]).compute()
FITTED = se.RegressionAccumulator().update([1, 2], [1, 3]).compute()
OUTPUTS = se.RegressionAccumulator(outputs=2).update([[1, 2], [3, 4]], [[1, 3], [2, 4]]).compute()
MEMBERS = {"cm": se.ConfusionAccumulator(), "met": se.ConfusionAccumulator("auto")}
COLLECTED = se.Collection(MEMBERS).update([0, 1, 1], [0, 1, 0]).compute()
RESULTS: dict[str, Any] = {
    "named": NAMED,
    "plain": PLAIN,
    "curve": CURVE,
    "curves": CURVES,
    "calibrated": CALIBRATED,
    "groups": GROUPS,
    "ranked": RANKED,
    "fitted": FITTED,
    "outputs": OUTPUTS,
    "collected": COLLECTED,
}
PARTS = [
    ("named", "class"),
    ("plain", "class"),
    ("curves", "class"),
    ("calibrated", "class"),
    ("groups", "group"),
    ("ranked", "query"),
    ("outputs", "output"),
    ("collected", "class"),
]
FRAMES: dict[str, Any] = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}
every = each("name", RESULTS)


@every
def test_a_table_has_a_row_for_each_metric(name: str) -> None:
    result = RESULTS[name]
    table = result.table()
    assert table["value"] == pytest.approx(
        [float(reading.value) for reading in result.readings(0).values()], nan_ok=True
    )
    if name != "collected":
        assert table["metric"] == list(result.readings(0))


@every
def test_the_ends_of_a_table_are_those_of_its_metrics(name: str) -> None:
    result = RESULTS[name]
    table = result.table(bounds=True)
    ends = [reading.certified for reading in result.readings(0).values()]
    for column, side in (("low", 0), ("high", 1)):
        assert table[column] == pytest.approx([float(end[side]) for end in ends], nan_ok=True)


@each("bounds", [False, True])
@each("make", FRAMES)
@each(("name", "per"), [*PARTS, *((name, None) for name in RESULTS)])
def test_a_table_is_a_data_frame_of_typed_columns(
    name: str, per: str | None, make: str, bounds: bool
) -> None:
    table = RESULTS[name].table(per, bounds=bounds)
    frame = FRAMES[make](table)
    assert frame.shape == (len(next(iter(table.values()))), len(table))
    for column, values in table.items():
        found = frame[column].to_pylist() if make == "arrow" else list(frame[column])
        np.testing.assert_equal(found, values)


@each(("name", "per"), [*PARTS, ("curve", None)])
def test_results_give_data_frames_themselves(name: str, per: str | None) -> None:
    result = RESULTS[name]
    pd.testing.assert_frame_equal(result.to_pandas(per), pd.DataFrame(result.table(per)))
    frame = result.to_polars(per, bounds=True)
    assert frame.equals(pl.DataFrame(result.table(per, bounds=True)), null_equal=True)


def test_a_row_of_a_class_has_its_name_its_label_and_its_numbers() -> None:
    assert NAMED.table("class") == {
        "class": ["cat", "dog"],
        "label": [0, 1],
        "precision": [0.5, 1.0],
        "recall": [1.0, 0.5],
        "f_score": [2 / 3, 2 / 3],
        "support": [1, 2],
    }


def test_classes_without_names_have_no_column_of_labels() -> None:
    assert PLAIN.table("class")["class"] == [0, 1, 2]
    assert "label" not in PLAIN.table("class")


def test_a_row_of_a_curve_of_a_class_has_bounds_only_on_request() -> None:
    plain, wide = CURVES.table("class"), CURVES.table("class", bounds=True)
    assert plain["roc_auc"] == [float(curve.roc_auc) for curve in CURVES.values()]
    assert wide["roc_auc_low"] == [curve.roc_auc.low for curve in CURVES.values()]
    assert wide["roc_auc_high"] == [curve.roc_auc.high for curve in CURVES.values()]
    assert {name for name in wide if name.endswith(("_low", "_high"))} == wide.keys() - plain.keys()


def test_a_table_of_groups_is_per_group() -> None:
    columns = {name: column.tolist() for name, column in GROUPS.per_group().items()}
    np.testing.assert_equal(GROUPS.table("group", bounds=True), columns)
    assert list(GROUPS.table("group")) == ["group", "n_pos", "n_neg", "roc_auc"]


def test_a_table_of_queries_is_per_query() -> None:
    columns = {name: column.tolist() for name, column in RANKED.per_query().items()}
    assert RANKED.table("query") == columns


def test_a_collection_lists_its_members_first() -> None:
    table = COLLECTED.table("class")
    assert table["member"] == ["cm", "cm", "met", "met"]
    assert table["recall"] == [1.0, 0.5] * 2
    assert set(COLLECTED.table()["member"]) == {"cm", "met"}


def test_classes_of_several_types_become_text() -> None:
    members = {"words": se.ConfusionAccumulator(["a", "b"]), "numbers": se.ConfusionAccumulator()}
    columns = {"words": {"y_true": "w", "y_pred": "w"}}
    collection = se.Collection(members, columns=columns)
    result = collection.update({"y_true": [0], "y_pred": [0], "w": ["a"]}).compute()
    assert result.table("class")["class"] == ["a", "b", "0", "1"]
    assert result.to_polars("class").shape == (4, 6)


def test_results_of_ones_own_have_no_rows_in_the_table_of_a_collection() -> None:
    collection = se.Collection({"wins": WinRate(), "cm": se.ConfusionAccumulator()})
    assert set(collection.compute().table()["member"]) == {"cm"}
    assert set(collection.compute().table("class")["member"]) == {"cm"}


@each(
    ("name", "per", "message"),
    [
        ("plain", "query", "`per` must be 'class' or None, got 'query'."),
        ("fitted", "class", "`per` must be None, got 'class'."),
        ("collected", "group", "`per` must be 'class' or None, got 'group'."),
    ],
)
def test_parts_that_a_result_does_not_have_are_refused(name: str, per: str, message: str) -> None:
    with pytest.raises(se.InvalidInputError) as caught:
        RESULTS[name].table(per)
    assert str(caught.value) == message


def test_a_ranking_without_queries_has_no_rows_of_them() -> None:
    with pytest.raises(se.InvalidInputError, match="`per` must be None, got 'query'"):
        se.RankingAccumulator().compute().table("query")


def test_probabilities_of_two_classes_have_no_rows_of_them() -> None:
    with pytest.raises(se.InvalidInputError, match="`per` must be None, got 'class'"):
        se.CalibrationAccumulator().compute().table("class")


def test_several_results_have_a_row_each() -> None:
    table = se.table({"DE": NAMED, "FR": PLAIN}, key="country")
    assert table["country"] == ["DE", "FR"]
    assert table["accuracy"] == [NAMED.accuracy, PLAIN.accuracy]
    assert table["tp"] == [1, None]  # of two classes alone
    assert pl.DataFrame(table)["tp"].null_count() == 1


def test_several_results_have_a_row_for_each_of_their_classes() -> None:
    table = se.table({1: NAMED, 2: NAMED}, "class", key="epoch")
    assert table["epoch"] == [1, 1, 2, 2]
    assert table["class"] == ["cat", "dog"] * 2


@each(("per", "key"), [(None, "accuracy"), ("class", "class")])
def test_a_key_that_is_the_name_of_another_column_is_refused(per: str | None, key: str) -> None:
    with pytest.raises(se.InvalidInputError) as caught:
        se.table({"DE": NAMED}, per, key=key)
    assert str(caught.value) == f"`key` must not be the name of another column, got {key!r}."


def sliced_table(columns: Any, per: str | None = None) -> dict[str, list[Any]]:
    rows = {"y_true": [1, 1], "y_pred": [1, 0]}
    slices = se.Sliced(se.ConfusionAccumulator(), columns)
    named = {column: [5, 6] for column in ([columns] if isinstance(columns, str) else columns)}
    table = slices.update({**rows, **named}).compute().table(per)
    assert all(len(values) == len(table["recall"]) for values in table.values())
    return table


@each(("per", "column"), [(None, "accuracy"), ("class", "class")])
def test_a_column_of_slices_is_prefixed_when_a_number_has_its_name(
    per: str | None, column: str
) -> None:
    table = sliced_table(column, per)
    assert set(table[f"slice_{column}"]) == {5, 6}
    assert set(table[column]) <= {0, 1}


def test_columns_of_slices_are_distinct_when_they_are_prefixed() -> None:
    table = sliced_table(["accuracy", "slice_accuracy"])
    assert set(table["slice_slice_accuracy"]) == set(table["slice_accuracy"]) == {5, 6}
    assert set(table["accuracy"]) == {0, 1}


def test_a_table_of_one_result_is_its_own() -> None:
    assert se.table(NAMED, "class") == NAMED.table("class")
    assert se.table(CURVE, bounds=True) == CURVE.table(bounds=True)
    assert se.table(CURVES) == CURVES.table()  # which is a mapping too


def test_what_is_no_result_is_refused() -> None:
    wrong: Any = [NAMED]
    with pytest.raises(se.InvalidInputError, match="`results` must be a result or a mapping"):
        se.table(wrong)


@each("value", [1, None, WinRate().compute(), se.ConfusionAccumulator()])
@each("per", [None, "class"])
def test_a_mapping_to_what_is_no_result_is_refused(value: Any, per: str | None) -> None:
    with pytest.raises(se.InvalidInputError) as caught:
        se.table({"DE": NAMED, "FR": value}, per)
    got = type(value).__name__
    assert str(caught.value) == f"`results` must map to results, got {got} at 'FR'."


def test_integers_beside_floats_are_floats() -> None:
    whole = se.ConfusionAccumulator().update([1], [1]).compute()
    part = se.ConfusionAccumulator().update([1], [1], sample_weight=[0.5]).compute()
    assert [type(n) for n in se.table({"a": whole, "b": part})["n"]] == [float, float]


@pytest.mark.slow
@each("make", ["pandas", "polars"])
def test_frames_are_not_imported_until_they_are_asked_for(make: str) -> None:
    program = (
        "import sys, streameval as se\n"
        "result = se.ConfusionAccumulator().update([1], [1]).compute()\n"
        "result.table('class'), result.as_dict(per_class=True)\n"
        "assert not {'pandas', 'polars'} & sys.modules.keys()\n"
        f"result.to_{make}()\n"
        f"assert {make!r} in sys.modules\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_as_dict_of_a_curve_holds_values_alone() -> None:
    flat = CURVE.as_dict()
    assert list(flat) == list(CURVE.readings(0))
    assert {type(value) for value in flat.values()} == {int, float}


def test_as_dict_has_bounds_on_request() -> None:
    flat = CURVE.as_dict(bounds=True)
    assert (flat["roc_auc_low"], flat["roc_auc_high"]) == (CURVE.roc_auc.low, CURVE.roc_auc.high)
    assert flat.keys() > CURVE.as_dict().keys()


@each("name", ["named", "plain", "curves", "calibrated"])
def test_as_dict_has_the_numbers_of_classes_on_request(name: str) -> None:
    result = RESULTS[name]
    flat, plain = result.as_dict(per_class=True), result.as_dict()
    assert {key: flat[key] for key in plain} == pytest.approx(plain, nan_ok=True)
    of_classes = {key: value for key, value in flat.items() if key not in plain}
    assert len(of_classes) == len(result.class_names) * len(
        next(iter(result.entries(0)["per_class"].values())).get("metrics")
        or next(iter(result.entries(0)["per_class"].values()))
    )
    assert all(key.endswith(tuple(f"[{of}]" for of in result.class_names)) for key in of_classes)
    json.dumps(flat)


@each("name", ["named", "plain", "curves"])
def test_as_dict_names_metrics_of_classes_as_they_are_read(name: str) -> None:
    result = RESULTS[name]
    shown = [
        key for key in result.as_dict(per_class=True) if key.startswith(("recall[", "roc_auc["))
    ]
    assert len(shown) == len(result.class_names)
    for key in shown:
        value = result.as_dict(per_class=True)[key]
        assert value == result.read(key).value or math.isnan(value)


def test_as_dict_has_bounds_of_classes_on_request() -> None:
    flat = CURVES.as_dict(per_class=True, bounds=True)
    assert flat["roc_auc_low[2]"] == CURVES[2].roc_auc.low


def test_as_dict_of_a_collection_has_the_numbers_of_classes_on_request() -> None:
    flat = COLLECTED.as_dict(per_class=True)
    assert flat["cm/recall[1]"] == flat["met/recall[1]"] == 0.5


def test_as_dict_of_a_result_without_classes_is_the_same_per_class() -> None:
    assert FITTED.as_dict(per_class=True) == FITTED.as_dict()


def test_dir_shows_the_public_names() -> None:
    shown = dir(se)
    assert shown == sorted({*se.__all__, "__version__", "io", "reports"})
    assert all(hasattr(se, name) for name in shown)


def sliced(column: Any, accumulator: Any, **options: Any) -> Any:
    rows = {"y_true": [0, 1, 1], "y_pred": [0, 1, 0], "c": ["DE", "FR", "FR"], "d": [1, 1, 2]}
    return se.Sliced(accumulator, column, **options).update(rows).compute()


def test_a_table_of_slices_has_a_row_for_each() -> None:
    table = sliced("c", se.ConfusionAccumulator()).table()
    assert table["c"] == ["DE", "FR"]
    assert table["accuracy"] == [1.0, 0.5]


def test_a_table_of_slices_has_the_rows_that_have_no_slice_last() -> None:
    table = sliced("c", se.ConfusionAccumulator(), values=["FR"], max_values=1).table()
    assert (table["c"], table["n"]) == (["FR", "other"], [2, 1])


def test_a_table_of_slices_has_a_row_for_each_of_their_classes() -> None:
    table = sliced("c", se.ConfusionAccumulator()).table("class")
    assert table["c"] == ["DE", "DE", "FR", "FR"]
    assert table["class"] == [0, 1, 0, 1]


def test_a_table_of_slices_by_several_columns_has_all_of_them() -> None:
    table = sliced(["c", "d"], se.ConfusionAccumulator()).table()
    assert (table["c"], table["d"]) == (["DE", "FR", "FR"], [1, 1, 2])


def test_slices_of_results_of_ones_own_have_no_rows() -> None:
    result = se.Sliced(WinRate(), "c").update({"preference": ["a"], "c": ["DE"]}).compute()
    assert result.table() == {}
