"""Types of columns, chosen by options and the first values."""

from __future__ import annotations

from datetime import date, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from streameval.io.columns import FieldType, Flags, Labels, Numbers

if TYPE_CHECKING:
    from collections.abc import Iterable


def value_type(nan: str | None, gap_hint: str = "") -> FieldType:
    """Read values that are averaged: true and false are 1 and 0, and gaps may be skipped."""
    return Numbers(nan == "skip", booleans=True, gap_hint=gap_hint)


def outcome_type(values: Iterable[Any]) -> FieldType:
    """Read who was preferred: numbers if the first ones are, else text."""
    numbers = Numbers(booleans=True)
    return Labels(False) if any(map(numbers.fault, values)) else numbers


def class_label_type(classes: Any, first: Any, hint: str = "") -> FieldType:
    """Read labels of some classes: their number, the labels, or "auto" for observed ones.

    Parameters
    ----------
    classes : int, tuple of int, tuple of str, or "auto"
        The classes.
    first : object
        The first label.
    hint : str
        What the user can do about a label of another type than the first.
    """
    integers = has_integer_labels(classes, first)
    listed = classes != "auto"
    if listed and integers and says_truth(first):
        n_classes = classes if isinstance(classes, int) else len(classes)
        if n_classes == 2:
            return Flags()
    return Labels(integers, listed, "" if listed else hint)


def has_integer_labels(classes: Any, first: Any) -> bool:
    """Return whether labels are integers, judged by the classes or else by the first label."""
    if isinstance(classes, tuple):
        return isinstance(classes[0], int)
    return isinstance(classes, int) or not isinstance(first, (str, date, time))


def says_truth(label: Any) -> bool:
    """Return whether a label of a text table is true or false."""
    return isinstance(label, str) and label.lower() in ("true", "false")


def says_yes(label: Any) -> bool:
    """Return whether a label says true or false in a word or letter, where 0 and 1 are needed."""
    words = ("yes", "no", "y", "n", "t", "f")
    return says_truth(label) or (isinstance(label, str) and label.strip().lower() in words)


def id_type(
    values: Iterable[Any], hint: str = " as the first ones are", longest: int = 4096
) -> FieldType:
    """Read identifiers: integers if the first ones are and fit 64 bits, else text.

    Identifiers of digits and letters can include some that have only digits; those are text too.
    Some documents are identified by their address.
    """
    numbers = (int, float, Decimal)
    integers = all(
        isinstance(value, numbers) and value == value // 1 and -(2**63) <= value < 2**63
        for value in values
    )
    return Labels(integers, hint=hint, longest=longest)
