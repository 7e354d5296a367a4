"""What a column is read as, by the classes and its first value."""

from __future__ import annotations

from streameval.io import Flags, Labels
from streameval.runs.columns import class_kind


def test_flags_are_the_truth_of_two_classes_alone() -> None:
    assert isinstance(class_kind(2, "True"), Flags)
    assert isinstance(class_kind((0, 1), "True"), Flags)
    assert class_kind(3, "True") == Labels(True, True)
