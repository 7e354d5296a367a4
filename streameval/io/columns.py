"""Columns: which fields of a row are read, and what a value in them has to be."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from itertools import accumulate, chain, pairwise
from typing import Any, Protocol

import attrs
import numpy as np

from streameval.exact.array_types import Array
from streameval.inputs.coded import CodedTexts, are_texts
from streameval.io.errors import shown
from streameval.io.notation import (
    OddCell,
    amount_or_text,
    hint_of,
    integer_or_text,
    items_or_text,
    odd_cells,
    text_or_none,
)

_UNNAMED_CLASS = re.compile(r"LABEL_([0-9]{1,9})")
_WHOLE = re.compile(r"(-?[0-9]{1,16})\.0+")
_PLAIN_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_INT64 = range(-(2**63), 2**63)
# Typed files hold these besides numbers and text; a time with a time zone has the same type.
_DATES = (date, time)
# Equal values of one of these types are identical; 0.0 and -0.0 are equal but not identical.
_DISTINCT = ({int}, {bool}, {date})
_LISTED = 5
_YES = ("true", "yes", "y", "t", "ja", "oui", "sí", "si", "sim")
_NO = ("false", "no", "n", "f", "nein", "nee", "non", "não", "nao")
_WORDS = dict.fromkeys(_YES, True) | dict.fromkeys(_NO, False)
_TRUTHS = _WORDS | {"1": True, "1.0": True, "0": False, "0.0": False}
_BOOLEANS = {"true": 1.0, "false": 0.0}


class FieldType(Protocol):
    """What the values of a column are; `whole` is None exactly if some value has a `fault`."""

    def from_text(self, cells: Sequence[str]) -> list[Any]:
        """Turn the cells of a text file into values; what does not fit stays text."""
        ...

    def whole(self, values: Sequence[Any]) -> Array | None:
        """Turn all values into an array, or into None if one of them does not fit."""
        ...

    def fault(self, value: Any) -> str | None:
        """Describe what a value should be, or return None if it fits."""
        ...


@attrs.frozen
class Argument:
    """One argument of `update` and the fields of a row it is made of.

    Parameters
    ----------
    argument : str
        The name of the argument, "y_true".
    names : tuple of str
        The fields; if there are several, they become the columns of an ``(n, K)`` array.
    field_type : FieldType
        What one field holds.
    item : int, optional
        The column of the ``(n, K)`` array to use, if only one is needed.
    fixed : tuple of (str, object)
        Fields that no row holds: each has the same value in all rows, as in a partition.
    """

    argument: str
    names: tuple[str, ...]
    field_type: FieldType
    item: int | None = None
    fixed: tuple[tuple[str, Any], ...] = ()


@attrs.frozen
class Numbers:
    """A number in every row, read as float64.

    Parameters
    ----------
    gaps : bool
        Whether the number may be missing; it is NaN then.
    booleans : bool
        Whether true and false are the numbers 1 and 0.
    gap_hint : str
        What the user can do about a missing number.
    """

    gaps: bool = False
    booleans: bool = False
    gap_hint: str = ""

    @property
    def _types(self) -> set[type]:
        others = {type(None): self.gaps, bool: self.booleans}
        return {int, float, Decimal, *(one for one, is_read in others.items() if is_read)}

    def _read_text(self, cell: str) -> float | str | None:
        found = _BOOLEANS.get(cell.lower()) if self.booleans else None
        return amount_or_text(cell) if found is None else found

    def from_text(self, cells: Sequence[str]) -> list[Any]:
        """Turn the cells into floats where they are numbers."""
        if "_" not in "".join(cells):  # float() accepts 1_000
            try:
                return list(map(float, cells))
            except ValueError:
                pass
        return odd_cells(list(map(self._read_text, cells)), cells)

    def whole(self, values: Sequence[Any]) -> Array | None:
        """Make a float64 array if every value is a number."""
        array = _packed(values, "d")
        if array is None or not (self.booleans or _lacks_truths(values, array)):
            array = _array_of(values, self._types, np.float64)
        if array is not None:
            return array
        return _array_of(_read(values, self._read_value), self._types, np.float64)

    def _read_value(self, text: str) -> float | str | None:
        """Read a string of JSON, where 93% is 0.93; in tables of text, an option reads it so."""
        is_share = text.endswith("%") and not isinstance(text, OddCell)
        found = self._read_text(text[:-1].rstrip() if is_share else text)
        return float(f"{found!r}e-2") if is_share and isinstance(found, float) else found

    def fault(self, value: Any) -> str | None:
        """Accept integers, floats, decimals and numbers as text; true and false if they count."""
        if self.whole([value]) is not None:
            return None
        return f"a number{hint_of(value)}"


@attrs.frozen
class Ranks:
    """A rank in every row, from 1, as a score of the same order: the negative rank.

    Parameters
    ----------
    numbers : Numbers
        How ranks are read.
    """

    numbers: Numbers

    def from_text(self, cells: Sequence[str]) -> list[Any]:
        """Turn the cells into floats where they are numbers."""
        return self.numbers.from_text(cells)

    def whole(self, values: Sequence[Any]) -> Array | None:
        """Make a float64 array if every value is a number."""
        array: Any = self.numbers.whole(values)
        return None if array is None else -array

    def fault(self, value: Any) -> str | None:
        """Accept numbers."""
        return self.numbers.fault(value)


@attrs.frozen
class Labels:
    """A label in every row: integers throughout, or text throughout.

    Dates and times are text, as they are in formats without such types.

    Parameters
    ----------
    integers : bool
        Whether the labels are integers.
    listed : bool
        Whether the classes were listed. If not, a cell that looks like an integer is read as
        one, so that a column that mixes integers and words raises an error.
    hint : str
        What the user can do about a label of the other type.
    longest : int
        The max number of characters of a label. Every observed label is kept, and a longer text
        probably comes from the wrong column.
    among : tuple of int or tuple of str
        The valid labels; empty if the accumulator knows them.
    """

    integers: bool
    listed: bool = True
    hint: str = ""
    longest: int = 256
    among: tuple[int, ...] | tuple[str, ...] = ()

    @property
    def _text_types(self) -> set[type]:
        """The accepted types; if text was listed, the number 3 is the label "3", as in a CSV."""
        return {str, int} if self.listed else {str}

    def from_text(self, cells: Sequence[str]) -> list[Any]:
        """Turn the cells into integers where they are meant to be."""
        read = class_number if self.integers else text_or_none if self.listed else integer_or_text
        values = {cell: read(cell) for cell in set(cells)}
        if self.integers:
            odd = {cell: OddCell(cell) for cell, value in values.items() if type(value) is str}
            values |= odd
        return [values[cell] for cell in cells]

    def whole(self, values: Sequence[Any]) -> Array | None:
        """Make an int64 array, or codes of texts, if every value is such a label."""
        array = self._array(values)
        if array is None or not self.among:
            return array
        if self.integers:
            return array if np.isin(array, self.among).all() else None
        labels = array.texts if isinstance(array, CodedTexts) else array.tolist()
        return array if set(labels) <= set(self.among) else None

    def _array(self, values: Sequence[Any]) -> Array | None:
        if self.integers:
            integers = _packed(values, "q")
            return integers if integers is not None else self._from_others(values)
        coded = CodedTexts.of(values)
        if are_texts(coded):
            return coded if all(map(self._fits, coded.texts)) else None
        are_usual = set(map(type, values)) <= self._text_types
        if not are_usual and any(map(self.fault, values)):
            return None
        texts = [str(value) if are_usual else as_text(value) or "" for value in values]
        # Objects: an array of str would be as wide as its longest item.
        return objects(texts) if all(map(self._fits, set(texts))) else None

    def _from_others(self, values: Sequence[Any]) -> Array | None:
        """Read 3.0 and the text "3" as 3, as the row-by-row path does."""
        numbers = _read(values, class_number)
        if any(map(self.fault, numbers)):
            return None
        return np.array([int(number) for number in numbers], dtype=np.int64)

    def fault(self, value: Any) -> str | None:
        """Accept a valid label of the right type."""
        if self.integers:
            number: Any = class_number(value) if type(value) is str else value
            fits = type(number) in (int, bool, float, Decimal) and _is_int64(number)
            size = " of 64 bits" if type(number) is int else ""
            return (
                self._strange(int(number))
                if fits
                else f"an integer{size}{self.hint or hint_of(value)}"
            )
        if type(value) not in self._text_types and not isinstance(value, _DATES):
            return "text" + ("" if isinstance(value, (list, dict)) else self.hint)
        text = as_text(value) or ""
        return _text_fault(text, self.longest) or self._strange(text)

    def _strange(self, label: int | str) -> str | None:
        is_known = not self.among or label in self.among
        return None if is_known else f"one of {', '.join(map(str, self.among))}"

    def _fits(self, label: str) -> bool:
        return _text_fault(label, self.longest) is None


@attrs.frozen
class Values:
    """A single value of any type in every row; None where it is missing.

    Parameters
    ----------
    longest : int
        How many characters a text may have.
    """

    longest: int = 256

    def from_text(self, cells: Sequence[str]) -> list[Any]:
        """Read cells that look like integers, true or false as such values."""
        values = {cell: _value(canonical_text(cell)) for cell in set(cells)}
        return [values[cell] for cell in cells]

    def whole(self, values: Sequence[Any]) -> Array | None:
        """Make codes of texts, or an object array, if no value is a list or an object."""
        coded = CodedTexts.of(values)  # the usual case: few distinct values
        if coded is not None:
            return None if any(map(self.fault, coded.texts)) else coded
        if set(map(type, values)) - {type(None)} in _DISTINCT:
            made = {value: self.made(value) for value in set(values)}
            return objects([made[value] for value in values])
        return None if any(map(self.fault, values)) else objects(list(map(self.made, values)))

    def fault(self, value: Any) -> str | None:
        """Accept text that is not too long, numbers, true, false, dates, times and None."""
        if type(value) is str:
            return _text_fault(value, self.longest)
        is_single = type(value) in (bool, int, float, Decimal, type(None))
        return None if is_single or isinstance(value, _DATES) else "a single value"

    def made(self, value: Any) -> Any:
        """Compare fractions by their text, because NaN does not even equal itself."""
        return as_text(value) if type(value) in (float, Decimal) else value


@attrs.frozen
class Texts(Values):
    """A single value of any type in every row, as text; None where it is missing."""

    def from_text(self, cells: Sequence[str]) -> list[Any]:
        """Write each cell in canonical form, as `canonical_text` does."""
        texts = {cell: canonical_text(cell) for cell in set(cells)}
        return [texts[cell] for cell in cells]

    def made(self, value: Any) -> str | None:
        """Convert every value to text."""
        return as_text(value)


@attrs.frozen
class Flags:
    """True or false in every row, or 1 or 0, or one of the words and letters of these."""

    def from_text(self, cells: Sequence[str]) -> list[Any]:
        """Read the cells as true or false."""
        return [_truth(cell) for cell in cells]

    def whole(self, values: Sequence[Any]) -> Array | None:
        """Make a bool array if every value is true or false."""
        numbers = _array_of(_read(values, _truth), {bool, int, float}, np.float64)
        if numbers is None or not np.isin(numbers, (0.0, 1.0)).all():
            return None
        return numbers.astype(bool)

    def fault(self, value: Any) -> str | None:
        """Accept true, false, 1 and 0."""
        return None if self.whole([value]) is not None else "true or false, or 1 or 0"


class _Nested:
    """A list or an object in every row."""

    __slots__ = ()

    def from_text(self, cells: Sequence[str]) -> list[Any]:
        """Read lists that are written in cells."""
        return list(map(items_or_text, cells))


@attrs.frozen
class Lists(_Nested):
    """A list in every row, of any length.

    Parameters
    ----------
    items : FieldType
        What the items are.
    noun : str
        What they are called.
    """

    items: FieldType
    noun: str

    def whole(self, values: Sequence[Any]) -> Array | None:
        """Make an object array that holds an array for each row, if every value is a list."""
        if not set(map(type, values)) <= {list}:
            return None
        flat = self.items.whole(list(chain.from_iterable(values)))
        if flat is None:
            return None
        ends = accumulate(map(len, values), initial=0)
        return objects([flat[start:end] for start, end in pairwise(ends)])

    def fault(self, value: Any) -> str | None:
        """Accept a list of such items."""
        fits = type(value) is list and self.whole([value]) is not None
        return None if fits else f"a list of {self.noun}"


@attrs.frozen
class Vectors(_Nested):
    """A list of numbers in every row.

    Parameters
    ----------
    width : int
        The length that every list has.
    integers : bool
        Whether the numbers have to be integers.
    """

    width: int
    integers: bool = False

    def whole(self, values: Sequence[Any]) -> Array | None:
        """Make an array of shape ``(n, width)`` if every value is a list of that length."""
        if not set(map(type, values)) <= {list} or not set(map(len, values)) <= {self.width}:
            return None
        items = Labels(integers=True) if self.integers else Numbers()
        flat = items.whole(list(chain.from_iterable(values)))
        return None if flat is None else flat.reshape(len(values), self.width)

    def fault(self, value: Any) -> str | None:
        """Accept a list of the right length and type."""
        fits = type(value) is list and self.whole([value]) is not None
        items = "integers" if self.integers else "numbers"
        return None if fits else f"a list of {self.width} {items}"


@attrs.frozen
class ScoresByClass(_Nested):
    """A score for each class in every row, by its name: ``{"cat": 0.7, "dog": 0.3}``.

    A list of objects with `label` and `score`, which pipelines of Hugging Face return, works too.

    Parameters
    ----------
    classes : tuple of str
        The names, in the order of the array's columns.
    """

    classes: tuple[str, ...]

    def whole(self, values: Sequence[Any]) -> Array | None:
        """Make an array of shape ``(n, K)`` if every value has a score for each class."""
        rows = list(map(self._row, values))
        if None in rows:
            return None
        flat = Numbers().whole(list(chain.from_iterable(filter(None, rows))))
        return None if flat is None else flat.reshape(len(values), len(self.classes))

    def fault(self, value: Any) -> str | None:
        """Accept an object with a number for each class and nothing else."""
        if self.whole([value]) is not None:
            return None
        names = ", ".join(map(shown, self.classes[:_LISTED]))
        more = ", ..." if len(self.classes) > _LISTED else ""
        return f"an object with a number for each of {names}{more}"

    def _row(self, value: Any) -> list[Any] | None:
        """Put the scores of one row in order."""
        scores = scores_by_class(value)
        if scores is None or len(scores) != len(self.classes):
            return None
        return [scores.get(name) for name in self.classes]


def scores_by_class(value: Any) -> dict[str, Any] | None:
    """Read an object of scores, or a list of labels with scores; None if a value is neither.

    >>> scores_by_class([{"label": "cat", "score": 0.7}, {"label": "dog", "score": 0.3}])
    {'cat': 0.7, 'dog': 0.3}
    """
    if isinstance(value, dict):
        return value
    if not isinstance(value, list) or not value:
        return None
    if not all(isinstance(item, dict) and item.keys() >= {"label", "score"} for item in value):
        return None
    scores = {as_text(item["label"]) or "": item["score"] for item in value}
    return scores if len(scores) == len(value) else None


def class_number(cell: str) -> int | str | None:
    """Read a label as an integer, including Hugging Face's names for unnamed classes.

    >>> class_number("3"), class_number("LABEL_3"), class_number("cat")
    (3, 3, 'cat')
    """
    match = _UNNAMED_CLASS.fullmatch(cell)
    return integer_or_text(cell) if match is None else int(match[1])


def _read(values: Sequence[Any], read: Callable[[str], Any]) -> Sequence[Any]:
    """Read the texts among values, each distinct one once."""
    if str not in set(map(type, values)):
        return values
    known = {text: read(text) for text in {value for value in values if type(value) is str}}
    return [known[value] if type(value) is str else value for value in values]


def _truth(cell: str) -> Any:
    """Read true, yes, y, t, 1 and their opposites in any case; other text stays as it is."""
    return _TRUTHS.get(cell.strip().lower(), cell or None)


def _text_fault(text: str, longest: int) -> str | None:
    """Refuse text that is too long, or holds lone surrogates, which UTF-8 lacks."""
    if len(text) > longest:
        return f"text of at most {longest} characters"
    if text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text):
        return None
    return "text that UTF-8 can encode"


def canonical_text(cell: str) -> str | None:
    """Write an integer like 3.0 as 3, and True as true; an empty cell is missing.

    >>> canonical_text("3.0"), canonical_text("3.10"), canonical_text("True")
    ('3', '3.10', 'true')
    """
    match = _WHOLE.fullmatch(cell)
    if match is not None:
        return match[1]
    return cell.lower() if cell in ("True", "False") else text_or_none(cell)


def _value(text: str | None) -> int | bool | str | None:
    """Convert the canonical text of an integer or a boolean; return other text unchanged."""
    if text is not None and _PLAIN_INTEGER.fullmatch(text):
        return int(text)
    return text == "true" if text in ("true", "false") else text


def as_text(value: Any) -> str | None:
    """Write a value as JSON does, except that 3.0 becomes 3, and midnight becomes its date.

    Tables with gaps hold integers as floats, and dates as times.
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime) and value.time() == time() and value.tzinfo is None:
        return str(value.date())
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    if isinstance(value, Decimal):  # 1.50 is 1.5, as in other formats
        text = f"{value:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return str(value)


def _is_int64(value: float | Decimal) -> bool:
    whole = int(value) if isinstance(value, Decimal) else value // 1
    return value == whole and int(whole) in _INT64


def _array_of(values: Sequence[Any], types: set[type], dtype: Any) -> Array | None:
    """Make an array unless a value has another type or does not fit into the dtype."""
    if not set(map(type, values)) <= types:
        return None
    try:
        return np.array(values, dtype=dtype)
    except OverflowError:
        return None


def _packed(values: Sequence[Any], code: str) -> Array | None:
    """Convert integers, or floats too, to "q" or "d", in a fifth of the time of `_array_of`."""
    try:
        return np.frombuffer(struct.pack(f"{len(values)}{code}", *values), code)
    except (struct.error, OverflowError):
        return None


def _lacks_truths(values: Sequence[Any], numbers: Array) -> bool:
    """Tell whether no value is true or false; of numbers, these would be ones and zeros."""
    return not np.any((numbers == 0) | (numbers == 1)) or bool not in set(map(type, values))


def whole_numbers(values: Sequence[Any]) -> Array | None:
    """Make an array of integers or of floats if all values have that type."""
    array = _array_of(values, {int}, np.int64)
    return _array_of(values, {float}, np.float64) if array is None else array


def objects(arrays: Sequence[Any]) -> Array:
    """Make an object array of any items; an item that is an array stays one object."""
    return np.fromiter(arrays, dtype=object, count=len(arrays))


def what_is_wrong(name: str, field_type: FieldType, value: object) -> str | None:
    """Describe the fault of one value of one field, or return None."""
    wanted = field_type.fault(value)
    if wanted is None:
        return None
    return (
        f"`{name}` is missing{getattr(field_type, 'gap_hint', '')}"
        if value is None
        else f"`{name}` must be {wanted}, got {shown(value)}"
    )


_DTYPES = {
    **{str(np.dtype(code)): np.dtype(code) for code in "bBhHiIlLqQ"},
    "halffloat": np.dtype(np.float16),
    "float": np.dtype(np.float32),
    "double": np.dtype(np.float64),
}


def array_of(column: Any) -> Array:
    """Return the integers, floats or truth values of a column without nulls; it may be a view.

    Parameters
    ----------
    column : pyarrow.Array or pyarrow.ChunkedArray
    """
    chunks = getattr(column, "chunks", None)
    if chunks is None:
        return _view(column)
    return _view(chunks[0]) if len(chunks) == 1 else _joined(column.type, chunks)


def _joined(arrow_type: Any, chunks: list[Any]) -> Array:
    empty = np.empty(0, _DTYPES.get(str(arrow_type), np.bool_))
    return np.concatenate([empty, *map(_view, chunks)])


def _view(array: Any) -> Array:
    start, end = array.offset, array.offset + len(array)
    data = array.buffers()[1] or b""
    if str(array.type) == "bool":
        bits = np.unpackbits(np.frombuffer(data, np.uint8), count=end, bitorder="little")
        return bits[start:].view(np.bool_)
    return np.frombuffer(data, _DTYPES[str(array.type)])[start:end]


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
    return isinstance(label, str) and label.strip().lower() in _WORDS


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
