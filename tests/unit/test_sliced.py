"""Slices: which values have one, what they count, and what is refused."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from offenders import each
from win_rate import WinRate

import streameval as se
from streameval.accumulators import grouping
from streameval.inputs.values import rank_of


def batch(countries: Any, **more: Any) -> dict[str, Any]:
    size = len(countries)
    return {"y_true": [1] * size, "y_pred": [1] * size, "country": countries, **more}


def sliced(**options: Any) -> se.Sliced:
    return se.Sliced(se.ConfusionAccumulator(), "country", **options)


def test_a_slice_equals_counting_its_rows() -> None:
    random = np.random.default_rng(1)
    truth, prediction = random.integers(0, 2, (2, 500))
    city = np.array(["Bonn", "Rom", "Wien"], dtype=object)[random.integers(0, 3, 500)]
    rows = {"y_true": truth, "y_pred": prediction, "country": city}
    s = sliced().update(rows)
    for value in ("Bonn", "Rom", "Wien"):
        own = city == value
        expected = se.ConfusionAccumulator().update(truth[own], prediction[own])
        assert s[value].to_bytes() == expected.to_bytes()
    assert s.total().to_bytes() == se.ConfusionAccumulator().update(truth, prediction).to_bytes()


def test_values_are_kept_in_the_order_of_their_hashes() -> None:
    values = [f"v{number}" for number in range(20)]
    s = sliced(max_values=5).update(batch(values))
    assert set(s) == set(sorted(values, key=rank_of)[:5])
    assert s.other.n == s.n_turned_away == 15


def test_the_order_of_values_never_changes() -> None:
    values = ["a", "b", 1, 2, None, ("a", 1)]
    assert sorted(values, key=rank_of) == [2, "b", None, "a", 1, ("a", 1)]


def test_a_value_that_loses_its_slice_goes_to_the_others() -> None:
    first, second = sorted(["a", "b"], key=rank_of)
    s = sliced(max_values=1).update(batch([second, second]))
    assert list(s) == [second]
    s.update(batch([first]))
    assert list(s) == [first]
    assert s.n_turned_away == 2


def test_named_values_come_first_and_always_exist() -> None:
    s = sliced(values=["never", "b"], max_values=3)
    assert (list(s), len(s), s["never"].n, "b" in s, "a" in s) == (
        ["never", "b"],
        2,
        0,
        True,
        False,
    )
    s.update(batch(["z", "b", "a", "y"]))
    assert list(s)[:2] == ["never", "b"]
    assert len(s) == 3
    assert s.n_turned_away == 2


@each("value", [[], {}, 1.5, ("a", "b")])
def test_what_cannot_be_a_value_has_no_slice(value: Any) -> None:
    s = se.Sliced(se.ConfusionAccumulator(), "c").update({"y_true": [1], "y_pred": [1], "c": ["a"]})
    assert value not in s
    with pytest.raises(se.InvalidInputError, match="`value` must be"):
        s[value]


def test_values_are_canonical_labels() -> None:
    s = sliced().update(batch([1, 2])).update(batch(np.array([1.0, np.nan])))
    s.update(batch([True, None])).update(batch(["1", pd.NA]))
    assert list(s) == [1, 2, "1", None]
    assert [s[value].n for value in s] == [3, 1, 1, 3]
    assert s[1.0] == s[1]
    assert next(iter(s.compute().as_dict())).startswith("country=1/")
    assert "country='1'/accuracy" in s.compute().as_dict()
    assert "country=(missing)/accuracy" in s.compute().as_dict()


COLUMNS: dict[str, Any] = {
    "list": ["DE", "FR", None, "DE"],
    "objects": np.array(["DE", "FR", None, "DE"], dtype=object),
    "pandas": pd.Series(["DE", "FR", None, "DE"]),
    "pandas category": pd.Series(["DE", "FR", None, "DE"], dtype="category"),
    "polars": pl.Series(["DE", "FR", None, "DE"]),
    "arrow": pa.array(["DE", "FR", None, "DE"]),
    "arrow chunks": pa.chunked_array([["DE", "FR"], [None, "DE"]]),
    "arrow dictionary": pa.array(["DE", "FR", None, "DE"]).dictionary_encode(),
}


@each("form", COLUMNS)
def test_values_are_the_same_in_every_form(form: str) -> None:
    expected = sliced().update(batch(COLUMNS["list"]))
    assert sliced().update(batch(COLUMNS[form])).to_bytes() == expected.to_bytes()


def test_text_arrays_and_frames_are_read() -> None:
    frame = pd.DataFrame(batch(np.array(["DE", "FR"])))
    expected = sliced().update(batch(["DE", "FR"]))
    assert sliced().update(batch(np.array(["DE", "FR"]))) == expected
    assert sliced().update(frame) == sliced().update(pa.Table.from_pandas(frame)) == expected


def test_values_of_several_columns_are_tuples() -> None:
    s = se.Sliced(se.ConfusionAccumulator(), ["country", "device"], values=[("DE", 1)])
    rows = batch(["DE", "DE", "FR"], device=[1, 2, 1])
    result = s.update(rows).update(rows).compute()
    assert list(s) == list(result) == [("DE", 1), ("DE", 2), ("FR", 1)]
    assert s["FR", 1].n == 2
    assert result["DE", 2].n == 2
    assert "country=DE,device=2/accuracy" in result.as_dict()
    assert s.options["column"] == ("country", "device")
    assert se.from_bytes(s.to_bytes()) == s
    with pytest.raises(se.InvalidInputError, match="tuples of 2 values"):
        s["DE"]


def test_a_weight_of_nothing_takes_no_slice() -> None:
    s = sliced(max_values=1).update(batch(["a", "b"], sample_weight=[0, 1]))
    assert list(s) == ["b"]
    s.update(batch(["a", "b"]), sample_weight=[0, 2])
    assert (list(s), s.n) == (["b"], 3)
    assert sliced().update(batch(["a"], sample_weight=[0])) == sliced()


def test_weights_of_members_are_read_by_each() -> None:
    members = {"a": se.ConfusionAccumulator(), "b": se.ConfusionAccumulator()}
    col = se.Collection(members, columns={"b": {"sample_weight": "w"}})
    s = se.Sliced(col, "country")
    s.update(batch(["x", "y", "z"], sample_weight=[0, 2, 0], w=[1, 1, 0]))
    assert set(s) == {"x", "y"}
    assert [s[value].n for value in ("x", "y")] == [{"a": 0, "b": 1}, {"a": 2, "b": 1}]


def test_copies_are_detached() -> None:
    s = sliced(max_values=1).update(batch(["a", "b"]))
    before = s.to_bytes()
    for copy in (s[next(iter(s))], s.other, s.total()):
        copy.update([1, 1], [0, 0])
    assert s.to_bytes() == before


def test_a_result_maps_values_to_results() -> None:
    col = se.Collection({"cm": se.ConfusionAccumulator(), "fit": se.RegressionAccumulator()})
    s = se.Sliced(col, "country", values=["DE"], max_values=1).update(batch(["DE", "FR"]))
    result = s.compute()
    assert (list(result), len(result), "DE" in result, "FR" in result) == (["DE"], 1, True, False)
    assert result["DE"]["cm"].accuracy == 1.0
    assert result.n_turned_away == result.other["cm"].n == 1
    assert result.as_dict()["country=DE/cm/accuracy"] == result.as_dict()["other/cm/accuracy"] == 1
    assert result.read("country=DE/cm/accuracy").value == 1.0
    assert repr(result).startswith("SlicedResult({'DE': CollectionResult(")
    assert "other" in repr(result)
    assert "country=DE/cm" in str(result)
    with pytest.raises(KeyError, match="'FR' has no slice"):
        result["FR"]


def test_a_slice_that_is_not_there_is_named() -> None:
    with pytest.raises(KeyError, match="'FR' has no slice"):
        sliced()["FR"]


def test_repr_leaves_defaults_out() -> None:
    assert repr(sliced()) == "Sliced(accumulator=ConfusionAccumulator(n=0), column='country', n=0)"


def test_rows_of_a_query_have_one_value() -> None:
    s = se.Sliced(se.RankingAccumulator(["mrr"]), "country")
    rows = {"relevance": [0, 1, 1], "score": [0.9, 0.8, 0.7], "query": [5, 5, 9]}
    with pytest.raises(se.InvalidInputError, match=r"`country` must be the same .* query"):
        s.update(rows | {"country": ["a", "b", "a"]})
    s.update(rows | {"country": ["a", "a", "b"]}).update(rows | {"country": ["a", "a", "b"]})
    assert (s["a"].n, s["b"].n, s.n) == (2, 2, 4)
    assert s["a"].compute().mrr == 0.5
    with pytest.raises(se.InvalidInputError, match="`partial` must be False: Sliced needs"):
        s.update(rows | {"country": ["a", "a", "b"]}, partial=True)


def test_ids_of_queries_are_kept_where_the_accumulator_does() -> None:
    s = se.Sliced(se.RankingAccumulator(["mrr"], track_queries=True), "country")
    rows = {"relevance": [0, 1], "score": [0.9, 0.8], "query": [5, 5], "country": ["a", "a"]}
    s.update(rows)
    with pytest.raises(se.InvalidInputError, match="has been counted"):
        s.update(rows)
    expected = se.RankingAccumulator(["mrr"], track_queries=True)
    assert s["a"] == expected.update([0, 1], [0.9, 0.8], query=[5, 5])


def test_blocks_of_queries_have_a_value_each() -> None:
    s = se.Sliced(se.RankingAccumulator(["mrr"]), "country")
    block = {"relevance": [[0, 1], [1, 0]], "score": [[0.9, 0.8], [0.9, 0.8]]}
    s.update(block | {"country": ["a", "b"]}).update(block | {"country": ["a", "b"]})
    assert (s["a"].n, s["a"].compute().mrr, s["b"].compute().mrr) == (2, 0.5, 1.0)


BAD: dict[str, tuple[Any, dict[str, Any], str]] = {
    "no accumulator": ("cm", {}, "`accumulator` must be an accumulator, got str"),
    "one that has counted": (
        se.ConfusionAccumulator().update([1], [1]),
        {},
        "must have counted nothing yet, got one with n=1",
    ),
    "slices of slices": (se.Sliced(se.ConfusionAccumulator(), "a"), {}, "Sliced within a Sliced"),
    "slices of panes": (se.Windowed(se.ConfusionAccumulator(), pane=1), {}, "Windowed within"),
    "no column": (None, {"column": []}, "from 1 to 16 columns"),
    "a column twice": (None, {"column": ["a", "a"]}, "each once"),
    "a column that is a number": (None, {"column": 3}, "`column` must be the name of a column"),
    "long columns": (None, {"column": "a" * 2**21}, "shorter names"),
    "one text as values": (None, {"values": "DE"}, "`values` must be a sequence"),
    "a value twice": (None, {"values": [1, 1.0]}, "must be distinct, got 1 twice"),
    "more values than slices": (None, {"values": [1, 2], "max_values": 1}, "at most 1"),
    "long values": (None, {"values": [f"{n}" * 2**12 for n in range(10, 300)]}, "characters"),
    "a value that is too long": (None, {"values": ["a" * 2**17]}, "at most 65536 characters"),
    "no slices": (None, {"max_values": 0}, "at least 1"),
    "too many slices": (None, {"max_values": 2**21}, "at most 1048576"),
}


@each("claim", BAD)
def test_options_that_make_no_slices_are_refused(claim: str) -> None:
    accumulator, options, message = BAD[claim]
    accumulator = se.ConfusionAccumulator() if accumulator is None else accumulator
    with pytest.raises(se.InvalidInputError, match=message):
        se.Sliced(accumulator, **({"column": "country"} | options))


def test_a_collection_has_no_slices_within() -> None:
    with pytest.raises(se.InvalidInputError, match="cannot be a Sliced, got one for 'a'"):
        se.Collection({"a": sliced()})


def test_slices_of_a_class_of_ones_own() -> None:
    s = se.Sliced(WinRate(), "country")
    s.update({"preference": ["a", "b"], "country": ["x", "y"]})
    assert s["x"] == WinRate().update(["a"])
    assert se.from_bytes(s.to_bytes()) == s


def test_rows_in_many_batches_are_those_of_one() -> None:
    s, at_once = sliced(), sliced()
    values = [f"v{number % 7}" for number in range(3000)]
    for start in range(0, 3000, 100):
        s.update(batch(values[start : start + 100]))
    assert len(s._held.block.columns[0]) >= s._held.used == 3000
    assert s.to_bytes() == at_once.update(batch(values)).to_bytes()


@pytest.mark.slow
def test_read_slices_release_the_rows_and_slices_that_they_were_counted_from() -> None:
    s = sliced().update(batch(["a", "b"]))
    before = weakref.ref(s._everything(s._held))
    s.update(batch(["c"]))
    assert before() is not None
    assert s.copy().total().n == s["c"].n + 2 == 3
    gc.collect()
    assert before() is None
    assert s._held.block.columns == ()
    assert s.update(batch(["c"])).to_bytes() == sliced().update(batch(list("abcc"))).to_bytes()


def test_ranges_are_columns() -> None:
    assert list(sliced().update(batch(range(3)))) == [0, 1, 2]


BAD_BATCHES: dict[str, tuple[dict[str, Any], Any, str]] = {
    "arrays": ({}, None, "`batch` must be a mapping, a data frame or an Arrow table, got tuple"),
    "a column that is missing": ({"y_true": [1], "y_pred": [1]}, None, "`country` is missing"),
    "a value of the wrong type": (batch(["a", 0.5]), None, "integer or a string, got 0.5 at pos"),
    "a list as value": (batch(np.array([["a"], [1, 2]], dtype=object)), None, "got list at pos"),
    "an Arrow list as value": (batch(pa.array([[1], [2]])), None, "got list at position 0"),
    "a matrix of values": (batch(np.zeros((2, 2))), None, r"shape \(n,\)"),
    "weights twice": (batch(["a"], sample_weight=[1]), [1], "also passed by keyword"),
    "rows without values": (batch(["a"]) | {"country": []}, None, "1 rows, got 0"),
    "a matrix of text": (batch(np.array([["a"]], dtype=object)), None, r"shape \(n,\)"),
    "values without rows": ({"y_true": [], "y_pred": [], "country": ["a"]}, None, "0 rows, got 1"),
}


@each("claim", BAD_BATCHES)
def test_batches_are_refused_with_a_reason(claim: str) -> None:
    rows, weights, message = BAD_BATCHES[claim]
    s = sliced()
    with pytest.raises(se.InvalidInputError, match=message):
        s.update(rows or (1, 1), sample_weight=weights)
    assert s == sliced()


def test_weights_are_refused_where_they_have_no_meaning() -> None:
    s = se.Sliced(se.RankingAccumulator(["mrr"]), "country")
    rows = {"relevance": [0], "score": [1.0], "query": [5], "country": ["a"]}
    with pytest.raises(se.InvalidInputError, match="`sample_weight` has no meaning here: Ranking"):
        s.update(rows, sample_weight=[1])


def test_several_columns_have_one_length() -> None:
    s = se.Sliced(se.ConfusionAccumulator(), ["country", "device"])
    with pytest.raises(se.InvalidInputError, match="like other columns"):
        s.update(batch(["a", "b"], device=[1]))


def test_merging_names_what_differs_within() -> None:
    other = se.Sliced(se.ConfusionAccumulator(threshold=0.7), "country")
    with pytest.raises(se.IncompatibleStateError, match="`accumulator` differs: `threshold` diff"):
        sliced().merge(other)


def test_a_total_that_does_not_fit_is_refused() -> None:
    a, b = (sliced().update(batch([name], sample_weight=[2**62])) for name in "ab")
    before = a.to_bytes()
    for merge in (lambda: a.merge(b, b), lambda: se.merge([a, b, b])):
        with pytest.raises(se.CountOverflowError):
            merge()
    assert a.to_bytes() == before


def test_weights_of_a_wrong_shape_are_refused_as_such_however_large():
    members = {"a": se.ConfusionAccumulator(2), "b": se.ConfusionAccumulator(2)}
    columns = {"b": {"y_true": "other", "y_pred": "other", "sample_weight": "own"}}
    pairs, triples, large = np.zeros((2, 2), int), np.zeros((2, 3), int), np.full((2, 2), 2.0**62)
    rows = {"y_true": pairs, "y_pred": pairs, "other": triples, "country": ["DE", "FR"]}
    sliced = se.Sliced(se.Collection(members, columns=columns), "country")
    with pytest.raises(se.InvalidInputError, match=r"member 'b': `sample_weight` must have shape"):
        sliced.update(rows | {"sample_weight": pairs, "own": large})
    with pytest.raises(se.CountOverflowError, match="member 'a': `sample_weight`"):
        sliced.update(rows | {"sample_weight": 2 * large, "own": triples})


def test_a_flood_of_values_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouping, "_MAX_CODES", 50)
    monkeypatch.setattr(grouping, "CAPACITY", 16)
    s, expected = sliced(max_values=3), sliced(max_values=3)
    values = [f"{number}" for number in range(1000)]
    expected.update(batch(values))
    held = []
    for start in range(0, 1000, 5):
        s.update(batch(values[start : start + 5]))
        held.append(len(s._held.codes.values))
    assert max(held) < 100
    assert s.to_bytes() == expected.to_bytes()


def test_batches_of_other_types_are_counted_apart() -> None:
    s, expected = sliced(), sliced()
    expected.update(batch(["a", "a", "b", "b"]) | {"y_pred": [1.0, 0.75, 1.0, 0.25]})
    s.update(batch(["a"]) | {"y_pred": [1]}).update(batch(["a"]) | {"y_pred": [0.75]})
    s.update(batch(["b"]) | {"y_pred": np.array([True])})
    s.update(batch(["b"]) | {"y_pred": np.array([0.25], dtype=np.float32)})
    assert s == expected


@each(
    ("arrays", "columns"),
    [(([1], [1]), {}), (([1], [1]), {"user": [3]}), (([1],), {"y_pred": [1]})],
)
def test_update_with_arrays_names_the_columns_of_a_batch(
    arrays: tuple[list[int], ...], columns: dict[str, list[int]]
) -> None:
    said = "`batch` must be one mapping or table with the columns y_true, y_pred, user; arrays"
    with pytest.raises(se.InvalidInputError, match=said):
        se.Sliced(se.ConfusionAccumulator(), "user").update(*arrays, **columns)
