"""Equality of results, part by part."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
from offenders import each

from streameval.configs.cached import Comparable


@attrs.frozen(eq=False)
class Part:
    values: Any


@attrs.frozen(eq=False)
class Holds(Comparable):
    held: Any


@attrs.frozen(eq=False)
class HoldsToo(Holds):
    pass


MAKERS: Mapping[str, Any] = {
    "number": lambda value: value,
    "array": lambda value: np.array([1.0, value]),
    "tuple": lambda value: (1, value),
    "list": lambda value: [np.array([value])],
    "mapping": lambda value: {"a": 1, "b": (value,)},
    "part": lambda value: Part({"a": np.array([value, 2.0])}),
    "result": lambda value: Holds(Part(value)),
}


@each("make", MAKERS.values())
@each("value", [1.5, math.nan])
def test_results_are_equal_if_their_parts_are(make: Any, value: float) -> None:
    assert Holds(make(value)) == Holds(make(value))
    assert Holds(make(value)) != Holds(make(2.5))


@each(
    ("one", "other"),
    [(1, 1.0), ((1,), [1]), ((1,), (1, 2)), ({"a": 1}, {"b": 1}), ({"a": 1}, 1)],
)
def test_results_with_parts_of_two_kinds_are_not_equal(one: Any, other: Any) -> None:
    assert Holds(one) != Holds(other)


def test_results_of_two_classes_are_not_equal() -> None:
    assert Holds(1) != HoldsToo(1)
    assert Holds(1) != 1
