"""Codes of text objects by their addresses, and of integers, against a dict."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np
import pytest
from offenders import each

from streameval.errors import InvalidInputError
from streameval.inputs import values
from streameval.inputs.identities import Identities
from streameval.inputs.values import ValueCodes, rank_of


def column_of(objects: list[object], rows: int = 10_000, seed: int = 0) -> np.ndarray:
    array = np.empty(len(objects), dtype=object)
    array[:] = objects
    return array[np.random.default_rng(seed).integers(0, len(objects), rows)]


def names(size: int, start: str = "v") -> list[object]:
    """Make new text objects, which no other list holds."""
    return [f"{start}{number}" for number in range(size)]


def expected(column: np.ndarray, codes: dict[object, int]) -> list[int]:
    return [codes[item] for item in column.tolist()]


@each("size", [1, 100, 4096])
def test_identities_equal_a_dict(size: int) -> None:
    objects = names(size)
    codes = {name: code for code, name in enumerate(objects)}
    column, identities = column_of(objects), Identities()
    for _ in range(2):
        found = identities.find(column, codes)
        assert found is not None
        assert found.tolist() == expected(column, codes)


@each("numbers", [[0], [1], [0, 1], [-1, 2**62, 5], range(-300, 300)])
def test_identities_of_numbers_equal_a_dict(numbers: Sequence[int]) -> None:
    codes = {number: code for code, number in enumerate(numbers)}
    column, identities = np.resize(np.array(numbers), 10_000), Identities(are_numbers=True)
    for array in (column, column.astype(np.int64)):
        found = identities.find(array, codes)
        assert found is not None
        assert found.tolist() == expected(column, codes)
    others = np.append(column, [0, 1, 2, 7])
    found = identities.find(others, codes | {0: 900, 1: 901, 2: 902, 7: 903})
    assert found is not None
    assert found.tolist() == expected(others, {0: 900, 1: 901, 2: 902, 7: 903} | codes)
    assert identities.find(np.append(column, 300), codes) is None


def test_identities_find_other_objects_of_known_values() -> None:
    codes = {name: code for code, name in enumerate(names(50))}
    identities = Identities()
    for _ in range(3):  # each time with objects of their own
        column = column_of(names(50))
        found = identities.find(column, codes)
        assert found is not None
        assert found.tolist() == expected(column, codes)


def test_identities_learn_values_that_were_added() -> None:
    objects = names(20)
    codes: dict[object, int] = {objects[0]: 0}
    identities = Identities()
    assert identities.find(column_of(objects[:1]), codes) is not None
    assert identities.find(column_of(objects), codes) is None
    codes |= {name: code for code, name in enumerate(objects)}
    found = identities.find(column_of(objects), codes)
    assert found is not None
    assert found.tolist() == expected(column_of(objects), codes)


@each(
    "column",
    [
        column_of(names(5), rows=100),
        column_of(names(5))[::2],
        column_of(names(10_000)),
        column_of([*names(5), 1.5]),
        column_of([*names(5), []]),
    ],
)
def test_identities_leave_columns_to_a_dict(column: np.ndarray) -> None:
    known = {name: code for code, name in enumerate(names(5))}
    assert Identities().find(column, known) is None


def test_identities_look_few_other_objects_up_one_by_one() -> None:
    codes: dict[object, int] = {name: code for code, name in enumerate([*names(5), None, 7])}
    column = column_of([*names(5), None])
    column[17] = 7
    found = Identities().find(column, codes)
    assert found is not None
    assert found.tolist() == expected(column, codes)


def test_identities_forget_objects_past_their_limit() -> None:
    codes = {name: code for code, name in enumerate(names(3000))}
    identities = Identities()
    for seed in range(7):
        column = column_of(names(3000), rows=100_000, seed=seed)
        found = identities.find(column, codes)
        assert found is None or found.tolist() == expected(column, codes)
        assert len(identities._table.items) <= 2**14


class Unlisted(dict[object, int]):
    """Codes of which some are looked up, and which are never gone through."""

    def __iter__(self) -> NoReturn:
        raise AssertionError


def test_identities_do_not_go_through_too_many_values() -> None:
    objects = names(20_000)
    codes = Unlisted({name: code for code, name in enumerate(objects)})
    identities = Identities()
    assert identities.find(column_of(objects), codes) is None
    assert identities._table.items == {}


class Indexed(list[str]):
    """Values of which some are read, and which are never gone through."""

    def __iter__(self) -> NoReturn:
        raise AssertionError


def test_columns_are_combined_without_going_through_the_values_of_other_rows() -> None:
    users, places = Indexed(f"u{code}" for code in range(1000)), Indexed("ab")
    parts = [(np.array([7, 900, 7]), users), (np.array([1, 0, 1]), places)]
    codes, found = values.combined(parts)
    assert [found[code] for code in codes.tolist()] == [("u7", "b"), ("u900", "a"), ("u7", "b")]
    codes, found = values.combined(parts[::-1])
    assert [found[code] for code in codes.tolist()] == [("b", "u7"), ("a", "u900"), ("b", "u7")]


def test_identities_keep_their_objects_alive() -> None:
    objects = names(3)
    before = sys.getrefcount(objects[0])
    identities = Identities()
    identities.find(column_of(objects), {name: code for code, name in enumerate(objects)})
    assert sys.getrefcount(objects[0]) > before


def test_value_codes_are_equal_for_shared_and_distinct_objects() -> None:
    shared, codes = column_of([*names(40), None]), ValueCodes()
    first = codes.read([shared], ["c"])
    copies = np.empty(len(shared), dtype=object)
    copies[:] = [None if name is None else bytes(name, "utf-8").decode() for name in shared]
    for _ in range(2):
        assert codes.read([shared], ["c"]).tolist() == first.tolist()
        assert codes.read([copies], ["c"]).tolist() == first.tolist()
    assert [codes.values[code] for code in first.tolist()] == shared.tolist()


def _texts(rows: np.ndarray) -> np.ndarray:
    return np.array([f"v{row % 300}" for row in rows.tolist()])


def _as_arrow(rows: np.ndarray) -> Any:
    return pytest.importorskip("pyarrow").array(_texts(rows))


def _as_dictionary(rows: np.ndarray) -> Any:
    arrow, texts = pytest.importorskip("pyarrow"), _texts(np.arange(300))
    return arrow.DictionaryArray.from_arrays((rows % 300).astype(np.uint16), texts)


def _as_chunks(rows: np.ndarray) -> Any:
    chunks = [_texts(part).tolist() for part in np.array_split(rows, 3)]
    return pytest.importorskip("pyarrow").chunked_array(chunks)


def _as_series(rows: np.ndarray) -> Any:
    return pytest.importorskip("pandas").Series(_texts(rows), dtype="str")


def _as_categories(rows: np.ndarray) -> Any:
    return _as_series(rows).astype("category")


def _as_polars(rows: np.ndarray) -> Any:
    return pytest.importorskip("polars").Series(_texts(rows))


@pytest.mark.slow
@each(
    "column_of_rows",
    [
        lambda rows: rows % 300,
        lambda rows: (rows % 300).astype(np.uint64),
        _texts,
        lambda rows: _texts(rows).astype(object),
        _as_arrow,
        _as_dictionary,
        _as_chunks,
        _as_series,
        _as_categories,
        _as_polars,
    ],
)
def test_value_codes_are_equal_for_batches_that_share_their_values(
    column_of_rows: Callable[[np.ndarray], Any],
) -> None:
    rows, codes = np.random.default_rng(3).integers(0, 2000, 200_000), ValueCodes()
    column = column_of_rows(rows)
    wanted = column.to_pylist() if hasattr(column, "to_pylist") else [*column]
    for part in (slice(None), slice(1000), slice(5000, 9000)):
        found = codes.read([column[part]], ["c"])
        assert [codes.values[code] for code in found.tolist()] == wanted[part]
    assert len({*codes.values} - {None}) == 300


def test_value_codes_forget_the_dictionary_of_another_batch() -> None:
    arrow = pytest.importorskip("pyarrow")
    codes = ValueCodes()
    for texts in (["a", "b"], ["b", "c"], ["b", None], ["a", "b"]):
        found = codes.read([arrow.array(texts).dictionary_encode()], ["c"])
        assert [codes.values[code] for code in found.tolist()] == texts


@each("type_name", ["string", "large_string"])
def test_value_codes_look_new_text_of_longer_batches_up(type_name: str) -> None:
    arrow, codes = pytest.importorskip("pyarrow"), ValueCodes()
    for texts in (["a", "b"], ["c", None, "a"], ["d"], ["a", "d", "e", None, "c"]):
        found = codes.read([arrow.array(texts, type_name)], ["c"])
        assert [codes.values[code] for code in found.tolist()] == texts
    assert codes.values == ["a", "b", None, "c", "d", "e"]
    column = arrow.array([None, *"abcde", "x" * 70_000], type_name)
    with pytest.raises(InvalidInputError, match=r"`c` must .* got one of 70000 at position 6"):
        codes.read([column], ["c"])


def test_value_codes_leave_categories_without_rows_out() -> None:
    pandas = pytest.importorskip("pandas")
    codes = ValueCodes()
    column = pandas.Series(["a"]).astype(pandas.CategoricalDtype(["a", 0.5]))
    assert codes.read([column], ["c"]).tolist() == [0]
    assert codes.values == ["a", None]  # None is the value of the code -1


@each("library", ["arrow", "pandas"])
def test_value_codes_are_those_of_a_dictionary_whose_memory_holds_other_values(
    library: str,
) -> None:
    arrow, pandas = map(pytest.importorskip, ("pyarrow", "pandas"))
    memory, codes = np.array([1, 2, 3]), ValueCodes()
    for numbers in ([1, 2, 3], [7, 8, 9]):
        memory[:] = numbers
        if library == "arrow":
            column = arrow.DictionaryArray.from_arrays([0, 1, 2], arrow.array(memory))
        else:
            column = pandas.Categorical.from_codes([0, 1, 2], pandas.Index(memory, copy=False))
        found = codes.read([column], ["c"])
        assert [codes.values[code] for code in found.tolist()] == numbers


@each("columns", [1, 2])
def test_an_item_of_a_dictionary_without_rows_may_be_no_value(columns: int) -> None:
    arrow, codes = pytest.importorskip("pyarrow"), ValueCodes()
    dictionary = arrow.array(["a", "b", "c" * 70_000])

    def encoded(indices: list[int]) -> list[Any]:
        column = arrow.DictionaryArray.from_arrays(indices, dictionary)
        found = codes.read([column] * columns, ["c", "d"][:columns])
        return [codes.values[code] for code in found.tolist()]

    for _ in range(2):
        assert encoded([0, 1]) == (["a", "b"] if columns == 1 else [("a", "a"), ("b", "b")])
    with pytest.raises(InvalidInputError, match=r"`c` must .* got one of 70000 at position 1"):
        encoded([0, 2])


def test_refused_text_has_its_position_in_a_long_column() -> None:
    column = np.resize(np.array(["a", "b"], dtype=object), 70_000)
    column[69_999] = "\ud800"
    with pytest.raises(InvalidInputError, match="at position 69999"):
        ValueCodes().read([column], ["c"])


def test_a_refused_item_of_several_columns_has_its_position() -> None:
    column = np.array(["a", 2.5], dtype=object)
    with pytest.raises(InvalidInputError, match=r"`c` must .* at position 1"):
        ValueCodes().read([column, column], ["c", "d"])


def test_new_text_alone_is_read_and_ranks_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    codes, read, canonical = ValueCodes(), [], values.canonical_value
    assert codes.ranks().tolist() == []

    def counting(value: object, *, name: str) -> object:
        read.append(value)
        return canonical(value, name=name)

    monkeypatch.setattr(values, "canonical_value", counting)
    first, known = column_of(names(200)), names(200)
    codes.read([first], ["name"])
    read.clear()
    more = np.array([*known, "new", 7, 7, "new"], dtype=object)
    found = codes.read([more], ["name"])
    assert read == ["new", 7]
    assert [codes.values[code] for code in found] == more.tolist()
    for _ in range(2):
        ordered = [codes.values[code] for code in np.argsort(codes.ranks())]
        assert ordered == sorted(codes.values, key=rank_of)


@each("bad", [2**1100, "\ud800", 0.5, [1]])
def test_new_values_that_are_refused_are_located(bad: object) -> None:
    codes, column = ValueCodes(), np.empty(3, dtype=object)
    column[:] = ["a", "b", bad]
    codes.read([np.array(["a"], dtype=object)], ["name"])
    with pytest.raises(InvalidInputError, match="at position 2"):
        codes.read([column], ["name"])


def test_hashes_of_known_values_are_computed_once() -> None:
    codes = ValueCodes()
    for column in (["a", 7, "a"], [7.0, float("nan"), True], ["a", None, 1]):
        found = codes.read([np.array(column, dtype=object)], ["c"])
        hashes = codes.hashes()
        assert codes.hashes() is hashes
        values = [codes.values[code] for code in found.tolist()]
        assert hashes[found].tolist() == [values_hash(value) for value in values]
    assert codes.values == ["a", 7, None, 1]


def values_hash(value: object) -> int:
    return values.hash_of(value)
