"""`each` runs every value, and hides no failure."""

from __future__ import annotations

import inspect
from pathlib import Path

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


@each(
    ("more", "expected"),
    [
        ("", True),
        ("\n\n\n@each('a', [1])\n@pytest.mark.long\ndef test_b(a):\n    pass\n", True),
        ("\n\n\ndef test_b():\n    pass\n", False),
        ("\n\n\nTestMachine = Machine.TestCase\n", False),
        ("\n\n\nclass TestMore(Tests):\n    pass\n", False),
        ("\n\n\nclass Tests:\n    @pytest.mark.slow\n    def test_b(self):\n        pass\n", False),
    ],
)
def test_a_file_is_left_out_where_all_its_tests_are(
    more: str, expected: bool, pytestconfig: pytest.Config
) -> None:
    conftest = pytestconfig.pluginmanager.get_plugin(str(Path(__file__).parents[1] / "conftest.py"))
    marked = "import pytest\n\n\n@pytest.mark.slow\ndef test_a():\n    pass\n"
    assert conftest is not None
    assert conftest.is_apart(marked + more) is expected
