"""`each` runs every value, and hides no failure."""

from __future__ import annotations

import inspect

import pytest
from offenders import each


def test_each_lists_the_values_with_which_a_test_fails() -> None:
    seen = []

    @each("number", [1, 2, 3, 4])
    def is_odd(number: int) -> None:
        seen.append(number)
        assert number % 2

    with pytest.raises(BaseExceptionGroup, match="fails with 2 of 4 values of number") as failed:
        is_odd()
    assert seen == [1, 2, 3, 4]
    notes = [failure.__notes__[-1] for failure in failed.value.exceptions]
    assert notes == ["with number=2", "with number=4"]


def test_each_takes_several_names_and_leaves_fixtures_to_pytest() -> None:
    seen = []

    @each(("a", "b"), [(1, 2), (3, 4)])
    @each("c", [5, 6])
    def noted(a: int, b: int, c: int, tmp_path: str) -> None:
        seen.append((a, b, c, tmp_path))

    assert list(inspect.signature(noted).parameters) == ["tmp_path"]
    noted(tmp_path="here")
    assert seen == [(a, b, c, "here") for a, b in ((1, 2), (3, 4)) for c in (5, 6)]


def test_each_lets_no_value_be_skipped() -> None:
    @each("reason", ["missing"])
    def skipped(reason: str) -> None:
        pytest.skip(reason)

    with pytest.raises(BaseExceptionGroup, match="fails with 1 of 1 values of reason"):
        skipped()
