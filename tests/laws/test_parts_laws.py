"""The union of parts: associative, commutative, idempotent, and refused alike in every order."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws.test_laws import lawful
from offenders import each
from small_states import EVERY

import streameval as se

IDS: list[Any] = ["a.jsonl", "b.jsonl", 3, ("topic", 0, 7), ("topic", 0, 12)]
SUBSETS = [
    frozenset(ids) for size in range(2, len(IDS) + 1) for ids in itertools.combinations(IDS, size)
]

MAKE: dict[str, Callable[[int], Any]] = {
    "confusion": lambda seed: se.ConfusionAccumulator("auto").update(["x", f"{seed}"], ["x", "y"]),
    "curve": lambda seed: se.PRCurveSketch(3).update([0, 1] * 2, [seed / 97, 0.1, 0.5, 0.6]),
    "regression": lambda seed: se.RegressionAccumulator().update([seed], [0.1]),
    "collection": lambda seed: se.Collection(
        {"cm": se.ConfusionAccumulator(), "fit": se.RegressionAccumulator()}
    ).update([seed % 2], [1]),
}


@functools.cache
def state(name: str, part_id: Any, version: int) -> Any:
    return MAKE[name](10 * IDS.index(part_id) + version)


class World:
    """What Parts are by definition: a version for each id, and the ids of the folds."""

    def __init__(self, versions: dict[Any, int], folds: list[frozenset[Any]]) -> None:
        self.versions = versions
        self.folds = folds

    def parts(self, name: str, order: list[Any]) -> se.Parts:
        made = se.Parts()
        for part_id in order:
            made.add(part_id, state(name, part_id, self.versions[part_id]))
        for ids in self.folds:
            made.fold(sorted(ids, key=order.index))
        return made


@st.composite
def worlds(draw: st.DrawFn) -> tuple[World, list[Any]]:
    order = draw(st.lists(st.sampled_from(IDS), unique=True))
    odd = draw(st.integers(0, 9))  # one in ten sides has another version of a part
    versions = {part_id: int(odd == 0 and draw(st.booleans())) for part_id in order}
    folds: list[frozenset[Any]] = []
    for ids in draw(st.lists(st.sampled_from(SUBSETS), max_size=2)):
        if ids <= versions.keys() and not any(ids & other for other in folds):
            folds.append(ids)
    return World(versions, folds), order


def is_defined(sides: list[World]) -> bool:
    """Whether each id has one version, and folds are equal or share nothing."""
    versions: dict[Any, int] = {}
    agree = all(
        versions.setdefault(part_id, version) == version
        for side in sides
        for part_id, version in side.versions.items()
    )
    folds = {ids for side in sides for ids in side.folds}
    return agree and not any(a & b for a, b in itertools.combinations(folds, 2))


def united(data: st.DataObject, given_parts: list[se.Parts]) -> bytes | None:
    """Merge in an order and a tree that are drawn; None if it is refused."""
    left = data.draw(st.permutations(given_parts))
    while len(left) > 1:
        at = data.draw(st.integers(0, len(left) - 2))
        try:
            left[at : at + 2] = [left[at] | left[at + 1]]
        except se.IncompatibleStateError:
            return None
    return left[0].to_bytes()


@pytest.mark.parametrize("name", MAKE)
@given(data=st.data())
@lawful
def test_union_is_one_answer_in_any_order_tree_and_number(name: str, data: st.DataObject) -> None:
    drawn = data.draw(st.lists(worlds(), min_size=1, max_size=4))
    sides = [side for side, _ in drawn]
    held = [side.parts(name, order) for side, order in drawn]
    before = [parts.to_bytes() for parts in held]
    again = data.draw(st.lists(st.sampled_from(held), max_size=3))

    first, second = united(data, held), united(data, [*held, *again])
    assert first == second
    assert (first is not None) == is_defined(sides)
    assert [parts.to_bytes() for parts in held] == before
    if first is not None:
        check_union(name, sides, se.Parts.from_bytes(first))


def check_union(name: str, sides: list[World], union: se.Parts) -> None:
    """Compare with counting each id once."""
    versions = functools.reduce(operator.or_, (side.versions for side in sides))
    assert {*union} == versions.keys()
    assert {frozenset(ids) for ids in union.folds} == {ids for side in sides for ids in side.folds}
    if versions:
        states = [state(name, part_id, version) for part_id, version in versions.items()]
        assert union.total().to_bytes() == se.merge(states).to_bytes()


@given(data=st.data())
@lawful
def test_fold_before_a_union_is_one_after_it(data: st.DataObject) -> None:
    (mine, order), (theirs, other_order) = data.draw(worlds()), data.draw(worlds())
    mine.folds.clear()
    theirs.folds.clear()
    left, right = mine.parts("confusion", order), theirs.parts("confusion", other_order)
    ids = data.draw(st.lists(st.sampled_from(order), min_size=1)) if order else []
    if not ids:
        return
    try:
        later = (left | right).fold(ids)
    except se.IncompatibleStateError:
        with pytest.raises(se.IncompatibleStateError):
            left.copy().fold(ids).merge(right)
        return
    assert (left.copy().fold(ids) | right).to_bytes() == later.to_bytes()
    assert (right | left.copy().fold(ids)).to_bytes() == later.to_bytes()


@pytest.mark.slow
@each("name", EVERY)
def test_parts_of_every_accumulator_are_read_as_they_were_written(name: str) -> None:
    parts = se.Parts().add("a", EVERY[name]()).add("b", EVERY[name]().reset())
    data = parts.to_bytes()
    assert se.from_bytes(data) == parts
    assert se.from_bytes(data).to_bytes() == data
    assert parts.fold(["a", "b"]).total() == EVERY[name]()
    assert se.from_bytes(parts.to_bytes()) == parts
    assert parts.merge(se.from_bytes(data)) == se.from_bytes(parts.to_bytes())
