"""Class labels: their canonical form, and their positions in a fixed or growing set."""

from __future__ import annotations

import functools
import reprlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from streameval.errors import InvalidInputError, Named
from streameval.exact.array_types import Array, Ints, Mask
from streameval.inputs.arrays import converted, first_index, refuse_first
from streameval.inputs.classes import MAX_CLASSES, Label, canonical_label, checked_text

_USUALLY_IGNORED = (-100, 255)  # the default `ignore_index` of PyTorch, and that of masks
_SHOWN = 6  # labels in a message
_SEARCHED = 10_000  # labels of a batch that are looked at for a message
_DENSE = 4  # numbers this dense in their range are found by counting, 10 times as fast
MAX_OBSERVED_LABELS = 4096  # a 4096 x 4096 table is 128 MiB; more is no classification by accident


def encode(
    labels: Array, classes: int | tuple[Label, ...], *, name: str, ignored: Mask | None = None
) -> Ints:
    """Find the position of each label among the classes.

    Parameters
    ----------
    labels : array, shape (n,)
        int64, or objects that are strings.
    classes : int or tuple of labels
        The fixed set.
    name : str
        The argument to blame.
    ignored : bool array, shape (n,), optional
        Rows whose label does not count; their position is 0.

    Raises
    ------
    InvalidInputError
        When a label is not among the classes.
    """
    of_strings = isinstance(classes, tuple) and isinstance(classes[0], str)
    if len(labels) and of_strings != (labels.dtype == object):
        held, wanted = ("numbers", "strings") if of_strings else ("strings", "numbers")
        raise InvalidInputError(
            f"holds {held}, but the classes are {wanted}: {_shown(classes)}",
            argument=name,
            remedy=() if of_strings else _listing(labels),
        )
    if ignored is not None:
        labels = labels.copy()
        labels[ignored] = 0 if isinstance(classes, int) else classes[0]
    if isinstance(classes, int):
        codes, known = labels, labels.view(np.uint64) < np.uint64(classes)
    elif of_strings:
        position = code_of(classes)
        found = (position.get(label, -1) for label in labels.tolist())
        codes = np.fromiter(found, dtype=np.int64, count=len(labels))
        known = codes >= 0
    else:
        ordered, order = _ordered(classes)
        nearest = np.minimum(np.searchsorted(ordered, labels), len(ordered) - 1)
        codes, known = order[nearest], ordered[nearest] == labels
    if not known.all():
        unknown = labels[int(known.argmin())]
        raise InvalidInputError(
            f"must hold {_shown(classes)}, got {canonical_label(unknown, name=name)!r}",
            argument=name,
            position=first_index(~known),
            remedy=_remedy(labels, unknown, classes, name),
        )
    return codes


def present(
    labels: Array, *, name: str, ignored: Mask | None = None, hint: tuple[object, ...] = ()
) -> Mask:
    """Read an (n, K) array of 0 and 1 as presence; ignored entries may hold anything."""
    wrong = (labels != 0) & (labels != 1)
    if ignored is not None:
        wrong &= ~ignored
    refuse_first(wrong, labels, name, "must hold 0 and 1", remedy=hint)
    return np.asarray(labels == 1)


def equal(labels: Array, label: Any) -> Mask:
    """Tell which labels are this one.

    NumPy makes an array of a bare string that it compares with, which loses NULs at its end.
    """
    other = np.array(label, dtype=object) if isinstance(label, str) else label
    return np.asarray(labels == other)


def is_ignored(labels: Array, ignore_label: Label | None) -> Mask | None:
    """Mark the rows or entries whose truth does not count; None if all do."""
    if ignore_label is None or isinstance(ignore_label, str) != (labels.dtype == object):
        return None
    ignored = equal(labels, ignore_label)
    return ignored if ignored.any() else None


def observe(labels: Array) -> tuple[tuple[Label, ...], Ints]:
    """List the distinct labels, sorted, and the position of each label among them."""
    observed, codes = distinct(labels, name="y_true")
    return tuple(observed.tolist()), codes


def distinct(labels: Array, *, name: str) -> tuple[Array, Ints]:
    """Find the distinct labels as a sorted array, and the position of each label among them."""
    if labels.dtype == object:
        texts = sorted(checked_text(label, name=name) for label in set(labels.tolist()))
        position = {label: code for code, label in enumerate(texts)}
        found = map(position.__getitem__, labels.tolist())
        codes = np.fromiter(found, dtype=np.int64, count=len(labels))
        return np.fromiter(texts, dtype=object, count=len(texts)), codes
    if len(labels):
        lowest, highest = int(labels.min()), int(labels.max())
        if highest - lowest < _DENSE * len(labels):
            return _dense(labels - lowest, highest - lowest + 1, lowest)
    numbers, codes = np.unique(labels, return_inverse=True)
    return numbers, codes.astype(np.int64, copy=False)


def _dense(offsets: Ints, size: int, lowest: int) -> tuple[Ints, Ints]:
    """Find distinct numbers in a small range by a table of it, without a sort."""
    occurs = np.zeros(size, dtype=bool)
    occurs[offsets] = True
    positions = np.cumsum(occurs) - 1
    return np.flatnonzero(occurs) + lowest, positions[offsets]


def among(ids: Array, known: Array) -> Mask:
    """Tell which ids are in a sorted array."""
    found = np.zeros(len(ids), dtype=bool)
    if len(known) and len(ids):
        index = np.minimum(np.searchsorted(known, ids), len(known) - 1)
        found[:] = known[index] == ids
    return found


def union(mine: Array, theirs: Array) -> tuple[Array, Ints, Ints]:
    """Merge two sorted sets of labels, and find the positions of each side's labels."""
    if mine.dtype != object:
        both = np.sort(np.concatenate([mine, theirs]), kind="stable")  # merges two runs
        labels = both[np.append(True, both[1:] != both[:-1])]
        return labels, np.searchsorted(labels, mine), np.searchsorted(labels, theirs)
    known = set(mine.tolist())
    # two runs in order: Python's sort merges them
    ordered = sorted(mine.tolist() + [label for label in theirs.tolist() if label not in known])
    position = {label: code for code, label in enumerate(ordered)}
    labels = np.fromiter(ordered, dtype=object, count=len(ordered))
    of_mine, of_theirs = (
        np.fromiter(map(position.__getitem__, side.tolist()), dtype=np.int64, count=len(side))
        for side in (mine, theirs)
    )
    return labels, of_mine, of_theirs


@functools.lru_cache(maxsize=64)
def code_of(classes: tuple[Label, ...]) -> dict[Label, int]:
    """Map each class to its position among them."""
    return {label: code for code, label in enumerate(classes)}


@functools.lru_cache(maxsize=64)
def _ordered(
    classes: tuple[Label, ...],
) -> tuple[Ints, Ints]:
    labels = np.array(classes, dtype=np.int64)
    order = np.argsort(labels)
    return labels[order], order


def _remedy(
    labels: Array, unknown: Any, classes: int | tuple[Label, ...], name: str
) -> tuple[object, ...]:
    """Say what to do about a label that is not among the classes."""
    if name == "y_true" and unknown in _USUALLY_IGNORED:
        option = Named("ignore_label", f"{unknown}")
        return "To leave out such rows, set ", option, "."
    return _listing(labels) if isinstance(classes, int) else ()


def _listing(labels: Array) -> tuple[object, ...]:
    """Say how to declare the labels of a batch that are not all 0..K-1."""
    if labels.dtype != object and labels.min() >= 0 and labels.max() < MAX_CLASSES:
        highest = int(labels.max())
        number = Named("classes", f"{highest + 1}")
        return "Pass ", number, f" for labels 0 to {highest}, or ", Named("classes"), " as a list."
    observed = sorted(set(labels[:_SEARCHED].tolist()))
    listed = ", ".join(map(reprlib.repr, observed[:_SHOWN]))
    more = "" if 1 < len(observed) <= _SHOWN else ", ..."
    return "List the labels, as in ", Named("classes", f"[{listed}{more}]"), "."


def _shown(classes: int | tuple[Label, ...]) -> str:
    if isinstance(classes, int):
        return f"labels 0 to {classes - 1}"
    head = ", ".join(repr(label) for label in classes[:_SHOWN])
    return f"labels among {head}{', ...' if len(classes) > _SHOWN else ''}"


def in_class_order(value: Any, config: Any, *, name: str) -> Any:
    """Put the columns of a table of scores, if they are named as the classes, in their order.

    Parameters
    ----------
    value : array, data frame or Arrow table
        Anything without such columns is returned as it is.
    config : configuration with `labels` and `class_names`
        The classes.
    name : str
        The name of the argument.
    """
    value = converted(value, name=name)
    columns = getattr(value, "column_names", None) or getattr(value, "columns", None)
    if columns is None:
        return value
    names = list(map(str, columns))
    for classes in (config.labels, config.class_names):
        order = list(map(str, classes))
        if names != order and sorted(names) == sorted(order):
            chosen = [columns[names.index(one)] for one in order]
            return value.select(chosen) if hasattr(value, "select") else value[chosen]
    return value


class Dictionary:
    """Values; each keeps the code that it got when first observed.

    It only grows, so that codes that were given out stay what they are, whoever reads them.

    Attributes
    ----------
    values : list
        The value of each code.
    n_characters : int
        How many characters the values that are texts have together.
    """

    __slots__ = ("_codes", "n_characters", "values")

    def __init__(self, values: Iterable[Any] = ()) -> None:
        self._codes: dict[Any, int] = {}
        self.values: list[Any] = []
        self.n_characters = 0
        self.add(values)

    def __len__(self) -> int:
        """Count the values."""
        return len(self.values)

    @property
    def are_texts(self) -> bool:
        """Whether the values are texts; there must be some."""
        return isinstance(self.values[0], str)

    def add(self, values: Iterable[Any]) -> None:
        """Give new values a code."""
        codes = self._codes
        for value in values:
            if value not in codes:
                self.values.append(value)
                codes[value] = len(self.values) - 1
                self.n_characters += len(value) if isinstance(value, str) else 0

    def codes_of(self, values: Sequence[Any]) -> Ints:
        """Look up the code of each value."""
        return np.fromiter(map(self._codes.__getitem__, values), np.int64, len(values))

    def encode(self, labels: Sequence[Label], *, name: str) -> Ints:
        """Find or add the code of each label; text that is not Unicode raises and adds nothing."""
        try:
            return self.codes_of(labels)
        except KeyError:
            new = [label for label in dict.fromkeys(labels) if label not in self._codes]
        for label in new:
            canonical_label(label, name=name)
        self.add(new)
        return self.codes_of(labels)

    def decode(self, codes: Ints) -> list[Any]:
        """Look up the value of each code."""
        return list(map(self.values.__getitem__, codes.tolist()))
