"""What a column is read as, by the classes and its first value."""

from __future__ import annotations

from streameval.io.columns import Flags, Labels, class_label_type


def test_flags_are_the_truth_of_two_classes_alone() -> None:
    assert isinstance(class_label_type(2, "True"), Flags)
    assert isinstance(class_label_type((0, 1), "True"), Flags)
    assert class_label_type(3, "True") == Labels(True, True)
