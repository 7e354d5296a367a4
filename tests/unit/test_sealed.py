"""Accumulators made from flat columns, many at once."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from offenders import each
from small_states import EVERY

from streameval.accumulators import sealed
from streameval.accumulators.classes import SINGLE_IDS
from streameval.accumulators.sealed import FlatLeaves, Sealed, live, live_in_turn
from streameval.configs.inner import Inner

SINGLE = [name for name, make in EVERY.items() if make().type_id in SINGLE_IDS]


def parts_of(name: str, n_columns: int = 1) -> list[Any]:
    """Return sealed accumulators, in no order: some with rows, some without."""
    made = EVERY[name]()
    held = [made, made.copy().reset(), made, made]
    inner = Inner(type(made), made._config)
    columns = [FlatLeaves.of(inner, held) for _ in range(n_columns)]
    return [Sealed(columns[index % n_columns], index) for index in (3, 1, 0, 2, 2)]


@each("name", SINGLE)
def test_accumulators_made_together_are_those_made_alone(name: str) -> None:
    parts = parts_of(name)
    (together,) = live_in_turn(parts)
    assert [one.to_bytes() for one in together] == [live(part).to_bytes() for part in parts]
    assert together == [live(part) for part in parts]


def test_accumulators_that_are_not_sealed_stay_what_they_are() -> None:
    parts = parts_of("curve", 2)
    held = EVERY["curve"]()
    together = [*itertools.chain.from_iterable(live_in_turn([None, *parts, held]))]
    assert together[0] is None
    assert together[-1] is held
    assert together[1:-1] == [live(part) for part in parts]
    assert list(live_in_turn([])) == []


def test_few_accumulators_are_made_at_once_if_they_are_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sealed, "_ITEMS", 1)
    assert [len(some) for some in live_in_turn(parts_of("curve"))] == [1] * 5
