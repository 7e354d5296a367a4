"""`CatalogAccumulator`: what it reads, what it refuses, and what its result shows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from offenders import each
from small_states import EVERY, parse_words, seal_words

import streameval as se
from streameval.accumulators import catalog

LISTS = [["a", "b"], ["a", "c"], ["a", "b"]]


def test_lists_count_as_their_rows() -> None:
    rows = se.CatalogAccumulator(5).update(["a", "b", "a", "c", "a", "b"], rank=[1, 2, 1, 2, 1, 2])
    assert se.CatalogAccumulator(5).update(LISTS) == rows


def test_ranks_past_k_do_not_count() -> None:
    acc = se.CatalogAccumulator(5, k=1).update(LISTS)
    assert acc.n == 3
    assert acc.compute().per_item()["item"].tolist() == ["a"]


def test_every_row_counts_without_a_cutoff() -> None:
    acc = se.CatalogAccumulator(5, k=None).update([4, 4, 2])
    assert acc == se.CatalogAccumulator(5, k=None).update([4, 2, 4], rank=[1, 100, 7])


def test_weight_of_a_list_is_that_of_its_rows() -> None:
    acc = se.CatalogAccumulator(5).update(LISTS, sample_weight=[2, 0, 1])
    assert acc == se.CatalogAccumulator(5).update([LISTS[0], LISTS[0], LISTS[2]])


def test_batch_may_be_a_mapping() -> None:
    batch = {"item": [1, 2], "rank": [1, 11], "user": [3, 3]}
    assert se.CatalogAccumulator(5).update(batch).n == 1


@each("empty", [[], np.zeros((0, 3))])
def test_empty_batch_changes_nothing(empty: Any) -> None:
    acc = se.CatalogAccumulator(3).update(empty)
    assert acc == se.CatalogAccumulator(3)
    assert math.isnan(acc.compute().gini)
    assert math.isnan(acc.compute().entropy)
    assert acc.compute().coverage == 0.0


@each(
    ("arguments", "message"),
    [
        ({"item": [[[1]]]}, r"`item` must have shape \(n,\) or \(n, m\), got \(1, 1, 1\)."),
        ({"item": [1, 2], "rank": [1, 0]}, "`rank` must be at least 1, got 0 at position 1."),
        ({"item": [1], "rank": ["a"]}, "`rank` must hold numbers, got strings."),
        ({"item": [1]}, "`rank` is missing: k=10 needs the rank of each row."),
        (
            {"item": [[1, 2]], "rank": [1, 2]},
            r"`rank` must have the shape of `item`, \(1, 2\), got \(2,\).",
        ),
        ({"item": [], "rank": [1]}, r"`rank` must have the shape of `item`, \(0,\), got \(1,\)."),
        ({"item": [], "popularity": [1]}, "`popularity` must have the shape of `item`"),
        ({"item": [[1]], "popularity": [[0.5]]}, "`popularity` is given, but not counted."),
    ],
)
def test_bad_batch_is_refused(arguments: dict[str, Any], message: str) -> None:
    acc = se.CatalogAccumulator(5)
    with pytest.raises(se.InvalidInputError, match=message):
        acc.update(**arguments)
    assert acc == se.CatalogAccumulator(5)


@each(
    ("popularity", "message"),
    [
        (None, "`popularity` is missing: popularity=True asks for it."),
        ([[0.5, 0.0]], r"`popularity` must lie in \(0, 1\], got 0.0 at position \(0, 1\)."),
        ([[0.5, 1.5]], r"`popularity` must lie in \(0, 1\], got 1.5 at position \(0, 1\)."),
        ([0.5, 1.0], r"`popularity` must have the shape of `item`, \(1, 2\), got \(2,\)."),
    ],
)
def test_bad_popularity_is_refused(popularity: Any, message: str) -> None:
    with pytest.raises(se.InvalidInputError, match=message):
        se.CatalogAccumulator(5, popularity=True).update([[1, 2]], popularity=popularity)


@each("weight", [1, 0.5, 2.0**-62, 2**62])
def test_state_of_the_smallest_popularity_can_be_read_whatever_its_weight(weight: float) -> None:
    acc = se.CatalogAccumulator(5, popularity=True)
    acc.update([[1]], popularity=[[5e-324]], sample_weight=[weight])
    assert acc.compute().value("novelty") == 1074
    assert se.CatalogAccumulator.from_bytes(acc.to_bytes()) == acc


def test_empty_batch_may_have_empty_columns() -> None:
    acc = se.CatalogAccumulator(5, popularity=True)
    assert acc.update([], rank=[], popularity=[], sample_weight=[]).n == 0


def test_items_of_two_types_are_refused() -> None:
    acc = se.CatalogAccumulator(5).update([[1]])
    with pytest.raises(se.InvalidInputError, match="`item` must hold numbers as before"):
        acc.update([["a"]])
    counted = acc.copy()
    with pytest.raises(se.InvalidInputError, match="`item` must hold numbers as before"):
        counted.update([["a"]])
    with pytest.raises(se.IncompatibleStateError, match="holds strings in one and numbers"):
        acc.merge(se.CatalogAccumulator(5).update([["a"]]))


@pytest.mark.parametrize("capacity", [1, 3, 100])
@pytest.mark.parametrize("items", [range(4), ["a", "b", "c", "d"]])
def test_more_items_than_the_catalog_has_are_refused(
    capacity: int, items: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "_CAPACITY", capacity)
    acc = se.CatalogAccumulator(3)
    for item in [*items][:3] * 3:
        acc.update([[item]])
    kept = acc.to_bytes()
    message = "`item` would bring the number of items to 4, past n_items=3."
    with pytest.raises(se.InvalidInputError, match=message):
        acc.update([[items[3]]])
    with pytest.raises(se.InvalidInputError, match=message):
        acc.merge(se.CatalogAccumulator(3).update([[items[3]]]))
    assert acc.to_bytes() == kept


def test_too_many_items_are_refused_when_pending_rows_are_counted_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(catalog, "_CAPACITY", 4)
    acc = se.CatalogAccumulator(5, k=None).update([0, 1, 2])
    with pytest.raises(se.InvalidInputError, match="the number of items to 6, past n_items=5"):
        acc.update([3, 4, 5])
    assert acc == se.CatalogAccumulator(5, k=None).update([0, 1, 2])


@pytest.mark.parametrize("capacity", [1, 2, 3, 5, 8])
def test_limit_of_items_does_not_depend_on_pending_rows(
    capacity: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "_CAPACITY", capacity)
    for seed in range(20):
        random = np.random.default_rng(seed)
        acc, held = se.CatalogAccumulator(6, k=None), np.zeros(0, dtype=np.int64)
        for batch in np.split(random.permutation(9), np.sort(random.integers(0, 10, 4))):
            both = np.concatenate([held, batch])
            if len(both) <= 6:
                acc.update(batch)
                held = both
            else:
                with pytest.raises(se.InvalidInputError, match="`item` would bring the number"):
                    acc.update(batch)
        assert acc == se.CatalogAccumulator(6, k=None).update(held)


def test_known_items_of_a_whole_catalog_are_pending(monkeypatch: pytest.MonkeyPatch) -> None:
    acc = se.CatalogAccumulator(2).update([[1, 2]])
    counted: list[int] = []
    count = se.CatalogAccumulator._with_rows

    def noted(self: Any, state: Any, rows: Any) -> Any:
        counted.append(rows.size)
        return count(self, state, rows)

    monkeypatch.setattr(se.CatalogAccumulator, "_with_rows", noted)
    for _ in range(5):
        acc.update([[2, 1]])
    assert counted == [2]  # the rows that brought the items
    assert acc.compute().per_item()["exposure"].tolist() == [6, 6]


def test_a_new_item_beside_pending_known_ones_is_counted() -> None:
    acc = se.CatalogAccumulator(3).update([[1, 2]]).update([[2, 1]])
    assert acc._held.used == 2
    acc.update([[3, 1]])
    assert (acc._held.used, len(acc._held.state.items)) == (0, 3)
    assert acc.compute().per_item()["exposure"].tolist() == [3, 2, 1]


def test_metrics_of_popularity_are_refused_unless_asked_for() -> None:
    result = EVERY["catalog"]().compute()
    message = "'novelty' needs the popularity of items: count with popularity=True"
    with pytest.raises(se.InvalidInputError, match=message):
        result.value("novelty")
    with pytest.raises(se.InvalidInputError, match=message):
        result.read("novelty")
    with pytest.raises(AttributeError, match=message):
        result.novelty  # noqa: B018
    with pytest.raises(se.InvalidInputError, match="no metric 'ginny'"):
        result.read("ginny")
    assert "novelty" not in dir(result)
    assert "novelty" in dir(EVERY["popular_catalog"]().compute())


def test_all_exposure_of_one_item_has_the_largest_gini_and_no_entropy() -> None:
    result = se.CatalogAccumulator(4).update([[9], [9]]).compute()
    assert result.gini == 0.75
    assert result.entropy == 0.0


def test_equal_exposure_has_no_gini_and_all_entropy() -> None:
    result = se.CatalogAccumulator(4).update([[1, 2, 3, 4]]).compute()
    assert result.gini == 0.0
    assert result.entropy == 2.0


def test_table_lists_the_items() -> None:
    table = se.CatalogAccumulator(5, k=None).update(["b", "a", "b"]).compute().table("item")
    assert table == {"item": ["a", "b"], "exposure": [1, 2]}


def test_result_shows_itself() -> None:
    result = se.CatalogAccumulator(5, k=2).update(LISTS).compute()
    assert repr(result) == "Catalog(n=6, items=3 of 5, coverage=0.6, gini=0.533333)"
    assert result.report().split("\n")[0] == "n = 6, n_items = 5, n_recommended = 3"


def test_page_lists_the_items_recommended_most() -> None:
    result = se.CatalogAccumulator(20, k=None).update([*range(12), 5, 5, 7]).compute()
    by_item: Any = result.described(0.95).by_class
    rows = by_item.rows
    assert [*rows][:3] == [5, 7, 0]
    assert len(rows) == 10
    assert [reading.value for reading in rows[5]] == [3, 0.2]


HOSTILE = [
    ("catalog", "items", [7, -1], "items are out of order"),
    ("catalog", "exposures", [0, 4], "items without exposure"),
    ("catalog", "exposures", [1, 2], "n differs from the sum of exposures"),
    ("catalog", "n_items", 1, "more items than there may be"),
    ("catalog", "popularity", 1, "popularity that was not asked for"),
    ("popular_catalog", "popularity", -1, "popularity is out of range"),
    ("popular_catalog", "popularity", 2**1080, "popularity is out of range"),
    ("popular_catalog", "information", 2**1090, "information is out of range"),
    ("popular_catalog", "information", -1, "information is out of range"),
]


@each(("name", "field", "value", "message"), HOSTILE)
def test_bytes_of_no_catalog_are_refused(name: str, field: str, value: Any, message: str) -> None:
    state = parse_words(EVERY[name]().to_bytes())
    header, payload = state.settings, bytearray(state.payload)
    if field == "n_items":
        header["config"]["n_items"] = value
    elif isinstance(value, list):
        start = 8 * (1 if field == "items" else 1 + len(value))
        words = b"".join(word.to_bytes(8, "little", signed=True) for word in value)
        payload[start : start + len(words)] = words
    else:
        header["state"][field] = {"exact_sum": f"{value:x}"}
    with pytest.raises(se.CorruptStateError, match=message):
        se.from_bytes(seal_words(header, bytes(payload), kind=12))


def test_fractional_exposures_count_in_proportion() -> None:
    weights = [0.5, 1.5, 0.5, 0.5]
    acc = se.CatalogAccumulator(4, k=None).update([1, 2, 1, 3], sample_weight=weights)
    whole = se.CatalogAccumulator(4, k=None).update([1, 2, 1, 3], sample_weight=[1, 3, 1, 1])
    assert acc.compute().gini == whole.compute().gini == 5 / 12
    assert acc.compute().entropy == whole.compute().entropy
    assert acc.compute().per_item()["exposure"].tolist() == [1.0, 1.5, 0.5]


def test_novelty_is_in_bits_and_weighted() -> None:
    acc = se.CatalogAccumulator(4, k=None, popularity=True)
    acc.update([1, 2], popularity=[0.5, 0.125], sample_weight=[3, 1])
    result: Any = acc.compute()
    assert result.novelty == 1.5
    assert result.value("average_popularity") == result.average_popularity == 0.40625
