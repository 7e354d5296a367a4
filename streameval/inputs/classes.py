"""Classes: labels and their display names, in one canonical form; without NumPy."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from itertools import pairwise
from numbers import Rational, Real
from typing import Any, Literal, Self

from streameval.errors import InvalidInputError

Label = int | str


class NamedClasses(tuple[tuple[Label, str], ...]):
    """Classes that are shown by names of their own, as pairs of a label and its name.

    Attributes
    ----------
    labels : int or tuple of labels
        The classes without names: their number where they are 0..K-1.
    names : tuple of str
        The name of each.
    """

    labels: int | tuple[Label, ...]
    names: tuple[str, ...]

    def __new__(cls, pairs: Iterable[tuple[Label, str]]) -> Self:
        """Take the pairs apart once."""
        made = super().__new__(cls, pairs)
        labels, made.names = zip(*made, strict=True)
        made.labels = _shortest(labels)
        return made

    def __getnewargs__(self) -> tuple[tuple[tuple[Label, str], ...]]:
        """Copy and pickle the pairs."""
        return (tuple(self),)

    def __repr__(self) -> str:
        """Show the mapping that makes it."""
        return repr(dict(self))


ClassSet = int | tuple[Label, ...] | NamedClasses
Classes = ClassSet | Literal["auto"]

MAX_CLASSES = 2**15  # a matrix of 8 GiB
MAX_LABEL_CHARACTERS = 2**20
_OF_TOKENS = "For the tokens of a vocabulary, see streameval.loops.torch.token_values."


def is_bool(value: Any) -> bool:
    """Tell whether a value is True or False, of Python or of NumPy, which need not be loaded."""
    kind = type(value)
    return isinstance(value, bool) or (kind.__module__, kind.__name__) == ("numpy", "bool")


def _integer(value: Any) -> int | None:
    """Read an integer, a truth value or a float without a fraction; None if it is none of them."""
    if not isinstance(value, float):
        try:
            return operator.index(value)
        except TypeError:  # of NumPy, truth values are no integers, and some floats no floats
            if is_bool(value):
                return int(value)
            if not _is_float(value):
                return None
    return int(value) if float(value).is_integer() else None


def _is_float(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, Rational)


def canonical_label(value: Any, *, name: str) -> Label:
    """Convert a label to int or str: True is 1, 2.0 is 2."""
    if isinstance(value, str):
        return checked_text(str.__str__(value), name=name)  # str() of an Enum member is its name
    integer = _integer(value)
    if integer is None:
        raise InvalidInputError(f"must be an integer or a string, got {value!r}", argument=name)
    if not -(2**63) <= integer < 2**63:
        shown = f"{integer}" if integer.bit_length() < 256 else "a far larger integer"
        raise InvalidInputError(f"must fit 64 bits, got {shown}", argument=name)
    return integer


def optional_label(value: Any, classes: Classes | None, *, name: str) -> Label | None:
    """Convert a label, or the name of a class, if there is one."""
    return None if value is None else canonical_label(named_label(value, classes), name=name)


def optional_ignore_label(value: Any, classes: Classes | None, *, multilabel: bool) -> Label | None:
    """Convert the label of the truth that does not count: of the type that the truth has.

    Parameters
    ----------
    value : label, optional
    classes : number, labels, pairs of labels and names, or "auto"; optional
        Those that the truth is one of; None if it may be any.
    multilabel : bool
        Whether the truth is 0 or 1 for each class.
    """
    label = optional_label(value, None if multilabel else classes, name="ignore_label")
    if label is None or classes is None or classes == "auto":
        return label
    wanted = int if multilabel or isinstance(class_labels(classes)[0], int) else str
    if not isinstance(label, wanted):
        form = "a string" if wanted is str else "an integer"
        raise InvalidInputError(
            f"must be {form} as the labels are, got {label!r}", argument="ignore_label"
        )
    return label


def canonical_classes(value: Any, *, min_count: int, max_count: int = MAX_CLASSES) -> Classes:
    """Convert the classes to a number, a tuple of labels, pairs of labels and names, or "auto".

    Labels that are 0..K-1 in this order are the number K, so that equal sets are equal
    configurations. A mapping, or its items, names labels. Keys that are digits in text, as in JSON,
    are numbers, and numbers are sorted, since the order of a mapping is often an accident.
    """
    if isinstance(value, str):
        if value == "auto":
            return "auto"
        raise InvalidInputError(
            f'must be a number, a sequence of labels or "auto", got {value!r}', argument="classes"
        )
    if isinstance(value, Mapping):
        return _named(value.items(), min_count, max_count)
    if isinstance(value, (bytes, bytearray, set, frozenset)):
        raise InvalidInputError(
            f"must be a sequence of labels, whose order counts, got {type(value).__name__}",
            argument="classes",
        )
    if not isinstance(value, Iterable) or getattr(value, "ndim", 1) == 0:
        return _check_count(_count(value), min_count, max_count)
    listed = tuple(value)
    if listed and all(isinstance(item, tuple) and len(item) == 2 for item in listed):
        return _named(listed, min_count, max_count)
    labels = tuple(canonical_label(label, name="classes") for label in listed)
    _check_set(labels)
    _check_count(len(labels), min_count, max_count)
    return _shortest(labels)


def class_position(of: Label, names: tuple[Label, ...], labels: tuple[Label, ...]) -> int | None:
    """Find a class by its display name, its label, or the text of its label; None if none.

    >>> class_position("pos", ("neg", "pos"), (0, 1)), class_position("1", ("neg", "pos"), (0, 1))
    (1, 1)
    """
    for known in (names, labels, tuple(map(str, labels))):
        if of in known:
            return known.index(of)
    return None


def without_names(classes: ClassSet) -> int | tuple[Label, ...]:
    """Reduce a fixed set of classes to their number, or to a tuple of labels."""
    return classes.labels if isinstance(classes, NamedClasses) else classes


def class_labels(classes: ClassSet) -> tuple[Label, ...]:
    """List the labels of a fixed set of classes."""
    known = without_names(classes)
    return tuple(range(known)) if isinstance(known, int) else known


def class_names(classes: ClassSet) -> tuple[Label, ...]:
    """List the display names of the classes: their names, or the labels themselves."""
    return classes.names if isinstance(classes, NamedClasses) else class_labels(classes)


def named_label(value: Any, classes: Any) -> Any:
    """Find the label of a display name; return anything else as it is."""
    if not isinstance(classes, NamedClasses) or value not in classes.names:
        return value
    return class_labels(classes)[classes.names.index(value)]


def _shortest(labels: tuple[Label, ...]) -> int | tuple[Label, ...]:
    return len(labels) if labels == tuple(range(len(labels))) else labels


def _named(pairs: Iterable[tuple[Any, Any]], min_count: int, max_count: int) -> ClassSet:
    """Read labels and their names; names that say no more than the labels are left out."""
    keys, values = zip(*pairs, strict=True) if pairs else ((), ())
    if all(isinstance(key, str) and key.isdecimal() and key.isascii() for key in keys):
        keys = tuple(map(int, keys))
    labels = tuple(canonical_label(key, name="classes") for key in keys)
    _check_set(labels)
    _check_count(len(labels), min_count, max_count)
    for name in values:
        if not isinstance(name, str):
            raise InvalidInputError(
                f"must map labels to names, which are strings, got {name!r}", argument="classes"
            )
    names = tuple(checked_text(str.__str__(name), name="classes") for name in values)
    _check_set(names)
    named = zip(labels, names, strict=True)
    pairs = tuple(named if isinstance(labels[0], str) else sorted(named))
    if all(str(label) == name for label, name in pairs):
        return _shortest(tuple(label for label, _ in pairs))
    return NamedClasses(pairs)


def check_lengths(labels: tuple[Label, ...]) -> None:
    """Refuse labels that are texts rather than names; every state's header lists them."""
    total = sum(len(label) for label in labels if isinstance(label, str))
    if total > MAX_LABEL_CHARACTERS:
        raise InvalidInputError(
            f"must have at most {MAX_LABEL_CHARACTERS} characters together, got {total}",
            argument="classes",
        )


def _check_count(count: int, min_count: int, max_count: int) -> int:
    if count < min_count:
        raise InvalidInputError(f"must be at least {min_count}, got {count}", argument="classes")
    if count > max_count:
        raise InvalidInputError(
            f"must be at most {max_count}, got {count}",
            argument="classes",
            remedy=_OF_TOKENS if max_count == MAX_CLASSES else "",
        )
    return count


def checked_text(label: str, *, name: str) -> str:
    """Refuse lone surrogates: they are not text, and JSON would join two of them."""
    try:
        label.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidInputError(f"must be Unicode text, got {label!r}", argument=name) from None
    return label


def _count(value: Any) -> int:
    if is_bool(value):
        raise InvalidInputError(f"must be a number or labels, got {value!r}", argument="classes")
    try:
        return operator.index(value)
    except TypeError:
        raise InvalidInputError(
            f'must be a number, a sequence of labels or "auto", got {value!r}', argument="classes"
        ) from None


def _check_set(labels: tuple[Label, ...]) -> None:
    if len({type(label) for label in labels}) > 1:
        raise InvalidInputError("must be all numbers or all strings, got both", argument="classes")
    for label, following in pairwise(sorted(labels)):
        if label == following:
            raise InvalidInputError(f"must be distinct, got {label!r} twice", argument="classes")
    check_lengths(labels)
