"""Texts as codes: each different one is read once, whatever the number of rows.

A text costs some 40 ns to look up in a dict, and an object of its own some 30 ns more. Columns
repeat a few texts, and mostly say so: Arrow's dictionaries and pandas' categories hold codes,
arrays of objects hold few objects many times, and code points can be compared as numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from streameval.exact.array_types import Array, Indices, Ints


class CodedTexts:
    """A vector of texts, as codes of distinct ones; NumPy converts it to an array of objects.

    The values of groups may have other types.

    Parameters
    ----------
    codes : int64 array, shape (n,)
        The index of the text of each row.
    texts : sequence of str or None
        Each different one once, in any order; some may be in no row.
    """

    __slots__ = ("codes", "texts")

    ndim = 1
    dtype = np.dtype(object)

    def __init__(self, codes: Ints, texts: Sequence[Any]) -> None:
        self.codes, self.texts = codes, texts

    @classmethod
    def of(cls, values: Sequence[Any]) -> Any:
        """Code texts and missing ones; None if there is anything else."""
        try:
            known = dict.fromkeys(values)
        except TypeError:  # a list or an object
            return None
        return cls._of(known, values) if {*map(type, known)} <= {str, type(None)} else None

    @classmethod
    def of_items(cls, items: Sequence[Any]) -> CodedTexts:
        """Code items of any type, equal ones alike."""
        return cls._of(dict.fromkeys(items), items)

    @classmethod
    def _of(cls, known: Iterable[Any], items: Sequence[Any]) -> CodedTexts:
        numbers = {item: code for code, item in enumerate(known)}
        codes = np.fromiter(map(numbers.__getitem__, items), np.int64, len(items))
        return cls(codes, list(numbers))

    @property
    def shape(self) -> tuple[int]:
        """The number of rows."""
        return (len(self.codes),)

    @property
    def size(self) -> int:
        """The number of rows."""
        return self.codes.size

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.codes)

    def __getitem__(self, rows: Any) -> Any:
        """Take some of the rows, or the text of one."""
        codes = self.codes[rows]
        return CodedTexts(codes, self.texts) if isinstance(codes, np.ndarray) else self.texts[codes]

    def __iter__(self) -> Iterator[str | None]:
        """Iterate over the texts of the rows."""
        return iter(self.tolist())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Make an array of objects."""
        return self._texts()[self.codes]

    def mapped(self, change: Callable[[Any], Any]) -> CodedTexts:
        """Replace texts by others, which may be equal."""
        changed = list(map(change, self.texts))
        numbers = {text: code for code, text in enumerate(dict.fromkeys(changed))}
        table = np.array([numbers[text] for text in changed], dtype=np.int64)
        return CodedTexts(table[self.codes], list(numbers))

    def recoded(self, code: Callable[[list[Any]], Array]) -> Array:
        """Return the codes of the rows under another coding, asked for the texts of rows alone."""
        occur = np.flatnonzero(np.bincount(self.codes, minlength=len(self.texts)))
        codes = code([self.texts[index] for index in occur.tolist()])
        table = np.zeros(len(self.texts), dtype=codes.dtype)
        table[occur] = codes
        return table[self.codes]

    def factorize(self) -> tuple[Ints, Array]:
        """Return the codes and the texts, as pandas does."""
        return self.codes, self._texts()

    def tolist(self) -> list[str | None]:
        """List the texts of the rows."""
        return list(map(self.texts.__getitem__, self.codes.tolist()))

    def _texts(self) -> Array:
        return np.fromiter(self.texts, dtype=object, count=len(self.texts))


def are_texts(*columns: Any) -> bool:
    """Tell whether all of these are codes of texts, none of which is missing."""
    return all(type(column) is CodedTexts and None not in column.texts for column in columns)


AnyWords = npt.NDArray[np.unsignedinteger[Any]]

MIN_ROWS = 2**9  # a dict is as fast for fewer
_SAMPLE = 2**9  # rows in which values must repeat
_SLOT_BITS = 14
_TRIES = 4  # different texts share a slot once in four times for 100 of them
_MAX_CHARACTERS = 64
_CHUNK = 2**13  # its temporaries stay in the cache
_GOLDEN = 0x9E3779B97F4A7C15
_FACTORS = [np.uint64(pow(_GOLDEN, n, 2**64)) for n in range(1, _MAX_CHARACTERS + _TRIES + 1)]
_ARROW = ("string", "large_string", "string_view")
_ARROW_CODED = tuple(f"dictionary<values={name}," for name in _ARROW)


def coded_texts(column: Any) -> CodedTexts | None:
    """Code a long column of text; None if it is short, not one, or holds missing values.

    Parameters
    ----------
    column : array of text or of objects, or a column of Arrow, pandas or polars
    """
    if type(column) is CodedTexts:
        return column if len(column) >= MIN_ROWS and None not in column.texts else None
    if type(column) is list or type(column) is tuple:
        return None
    shape = getattr(column, "shape", None)
    is_arrow = hasattr(column, "dictionary_encode")
    rows = len(column) if is_arrow else (shape or (0,))[0]
    if rows < MIN_ROWS:
        return None
    if type(column) is np.ndarray:
        return _of_array(column) if column.ndim == 1 else None
    try:
        return _of_column(column)
    except (NotImplementedError, ValueError):  # whoever reads it says what is wrong
        return None


def arrow_texts(column: Any) -> Any:
    """Return texts of polars or pandas as a column of Arrow, if it is installed; else as is."""
    dtype = str(getattr(column, "dtype", None))
    with suppress(ImportError):
        if hasattr(column, "to_arrow") and dtype.startswith(("String", "Categorical", "Enum")):
            return column.to_arrow()
        if hasattr(column, "factorize") and dtype in ("str", "string"):
            return getattr(column, "array", column).__arrow_array__()
    return column


def _of_column(column: Any) -> CodedTexts | None:
    column = arrow_texts(column)
    if hasattr(column, "dictionary_encode"):
        return _of_arrow(column)
    if not hasattr(column, "factorize"):
        return None
    categories = getattr(getattr(column, "dtype", None), "categories", ())
    if not isinstance(next(iter(categories), None), str):
        return None
    codes, values = column.factorize()
    return None if codes.min() < 0 else _coded(codes, values.tolist())


def _of_arrow(column: Any) -> CodedTexts | None:
    name = str(column.type)
    if column.null_count or not (name in _ARROW or name.startswith(_ARROW_CODED)):
        return None
    if hasattr(column, "unify_dictionaries"):  # chunks may differ in their dictionaries
        column = column.unify_dictionaries().combine_chunks()
    column = column.dictionary_encode()
    if len(column.dictionary) > len(column):  # rows of a far larger table
        return None
    return _coded(column.indices.to_numpy(), column.dictionary.to_pylist())


def _coded(codes: Array, texts: Sequence[Any]) -> CodedTexts | None:
    """Hold codes of texts that are all different, and nothing but texts."""
    if len(set(texts)) < len(texts) or not set(map(type, texts)) <= {str}:
        return None
    return CodedTexts(codes.astype(np.int64, copy=False), texts)


def _of_array(array: Array) -> CodedTexts | None:
    category = array.dtype.kind
    if category == "U" and array.dtype.isnative and 0 < array.itemsize <= 4 * _MAX_CHARACTERS:
        array = np.ascontiguousarray(array)
        width = 8 if array.itemsize % 8 == 0 else 4
        words = array.view(f"u{width}").reshape(len(array), -1).T
    elif category == "O" and array.flags.c_contiguous:
        addresses: Any = np.ndarray((1, len(array)), np.uintp, buffer=array)
        words = addresses
    else:
        return None
    found = _first_rows(words)
    if found is None:
        return None
    codes, rows = found
    texts = array[rows].tolist()
    if not set(map(type, texts)) <= {str}:
        return None
    held = CodedTexts(codes, texts)
    return held if category == "U" else held.mapped(lambda text: text)  # objects may be equal


def _first_rows(words: AnyWords) -> tuple[Ints, Indices] | None:
    """Code the columns of a matrix of words, and find one column of each code.

    Columns are different as soon as one word is. None if they are many, or share slots.
    """
    sample = words[:, :_SAMPLE]
    if len(np.unique(_slots(sample, 0))) > sample.shape[1] // 2:
        return None
    n = words.shape[1]
    codes = np.empty(n, dtype=np.intp)
    chunks = [slice(start, min(start + _CHUNK, n)) for start in range(0, n, _CHUNK)]
    for attempt in range(_TRIES):
        row_of = np.full(1 << _SLOT_BITS, -1, dtype=np.intp)
        for chunk in chunks:
            codes[chunk] = slots = _slots(words[:, chunk], attempt)
            row_of[slots] = np.arange(chunk.start, chunk.stop)
        used = np.flatnonzero(row_of >= 0)
        if len(used) > n // 8:
            return None
        rows = row_of[used]
        row_of[used] = np.arange(len(used))
        np.take(row_of, codes, out=codes, mode="clip")
        if all(_are_equal(words[:, rows], codes[chunk], words[:, chunk]) for chunk in chunks):
            return codes, rows
    return None


def _are_equal(known: AnyWords, codes: Ints, words: AnyWords) -> bool:
    pairs = zip(known, words, strict=True)
    return all(bool((own.take(codes) == word).all()) for own, word in pairs)


def _slots(words: AnyWords, attempt: int) -> Indices:
    """Hash columns of words to slots; another attempt is another hash."""
    hashed = words[0] * _FACTORS[attempt]
    for word, factor in zip(words[1:], _FACTORS[attempt + 1 :], strict=False):
        hashed += word * factor
    hashed >>= np.uint64(64 - _SLOT_BITS)
    slots: Indices = hashed.view(np.int64).astype(np.intp, copy=False)
    return slots
