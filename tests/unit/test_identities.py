"""Codes of text objects by their addresses, against a dict."""

from __future__ import annotations

import sys

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
        assert len(identities._table.objects) <= 2**14


def test_identities_learn_nothing_of_too_many_values() -> None:
    objects = names(20_000)
    codes = {name: code for code, name in enumerate(objects)}
    identities = Identities()
    assert identities.find(column_of(objects), codes) is None
    assert identities._table.objects == {}


def test_identities_keep_their_objects_alive() -> None:
    objects = names(3)
    before = sys.getrefcount(objects[0])
    identities = Identities()
    identities.find(column_of(objects), {name: code for code, name in enumerate(objects)})
    assert sys.getrefcount(objects[0]) > before


def test_value_codes_are_equal_for_shared_and_distinct_objects() -> None:
    shared, codes = column_of([*names(40), None]), ValueCodes()
    first = codes.encode([shared], ["c"])
    copies = np.empty(len(shared), dtype=object)
    copies[:] = [None if name is None else bytes(name, "utf-8").decode() for name in shared]
    for _ in range(2):
        assert codes.encode([shared], ["c"]).tolist() == first.tolist()
        assert codes.encode([copies], ["c"]).tolist() == first.tolist()
    assert [codes.values[code] for code in first.tolist()] == shared.tolist()


def test_new_text_alone_is_read_and_ranks_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    codes, read, canonical = ValueCodes(), [], values.canonical_value
    assert codes.ranks().tolist() == []

    def counting(value: object, *, name: str) -> object:
        read.append(value)
        return canonical(value, name=name)

    monkeypatch.setattr(values, "canonical_value", counting)
    first, known = column_of(names(200)), names(200)
    codes.encode([first], ["name"])
    read.clear()
    more = np.array([*known, "new", 7, 7, "new"], dtype=object)
    found = codes.encode([more], ["name"])
    assert read == ["new", 7]
    assert [codes.values[code] for code in found] == more.tolist()
    for _ in range(2):
        ordered = [codes.values[code] for code in np.argsort(codes.ranks())]
        assert ordered == sorted(codes.values, key=rank_of)


@each("bad", [2**1100, "\ud800", 0.5, [1]])
def test_new_values_that_are_refused_are_located(bad: object) -> None:
    codes, column = ValueCodes(), np.empty(3, dtype=object)
    column[:] = ["a", "b", bad]
    codes.encode([np.array(["a"], dtype=object)], ["name"])
    with pytest.raises(InvalidInputError, match="at position 2"):
        codes.encode([column], ["name"])


def test_hashes_of_known_values_are_computed_once() -> None:
    codes = ValueCodes()
    for column in (["a", 7, "a"], [7.0, float("nan"), True], ["a", None, 1]):
        found = codes.encode([np.array(column, dtype=object)], ["c"])
        hashes = codes.hashes()
        assert codes.hashes() is hashes
        values = [codes.values[code] for code in found.tolist()]
        assert hashes[found].tolist() == [values_hash(value) for value in values]
    assert codes.values == ["a", 7, None, 1]


def values_hash(value: object) -> int:
    return values.hash_of(value)
