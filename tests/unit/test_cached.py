"""Classes with cached properties: what their pickles and copies hold."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from functools import cached_property
from typing import Any

import attrs
import pytest
from offenders import each
from small_states import EVERY

from streameval.configs.cached import Cached


@attrs.frozen(slots=False)
class Squares(Cached):
    numbers: tuple[int, ...]

    @cached_property
    def total(self) -> int:
        return sum(number**2 for number in self.numbers)


@each("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copy_has_the_fields_and_caches_by_itself(copied: Callable[[Squares], Squares]) -> None:
    squares = Squares((3, 4))
    assert squares.total == 25
    other = copied(squares)
    assert vars(other) == {"numbers": (3, 4)}
    assert other == squares
    assert other.total == 25


def test_state_for_a_pickle_does_not_change_as_values_are_cached() -> None:
    squares = Squares((3, 4))
    attributes = iter(squares.__getstate__().items())
    assert squares.total == 25
    assert [*attributes] == [("numbers", (3, 4))]


@pytest.mark.slow
@each("name", EVERY)
def test_pickle_of_a_result_does_not_grow_as_it_is_read(name: str) -> None:
    result: Any = EVERY[name]().compute()
    fresh = len(pickle.dumps(result))
    read = str(result.as_dict()), result.report()
    pickled = pickle.dumps(result)
    assert len(pickled) <= 1.05 * fresh
    other = pickle.loads(pickled)
    assert (str(other.as_dict()), other.report()) == read
