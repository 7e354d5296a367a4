"""Texts as codes: each different one is read once, whatever the number of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt


class CodedTexts:
    """A vector of texts, as codes of distinct ones; NumPy converts it to an array of objects.

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

    def __init__(self, codes: npt.NDArray[np.int64], texts: Sequence[str | None]) -> None:
        self.codes, self.texts = codes, texts

    @classmethod
    def of(cls, values: Sequence[Any]) -> Any:
        """Code texts and missing ones; None if there is anything else."""
        try:
            known = dict.fromkeys(values)
        except TypeError:  # a list or an object
            return None
        if not set(map(type, known)) <= {str, type(None)}:
            return None
        texts = list(known)
        numbers: dict[Any, int] = {text: code for code, text in enumerate(texts)}
        return cls(np.fromiter(map(numbers.__getitem__, values), np.int64, len(values)), texts)

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

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Make an array of objects."""
        return self._texts()[self.codes]

    def mapped(self, change: Callable[[str | None], str | None]) -> CodedTexts:
        """Replace texts by others, which may be equal."""
        changed = list(map(change, self.texts))
        numbers = {text: code for code, text in enumerate(dict.fromkeys(changed))}
        table = np.array([numbers[text] for text in changed], dtype=np.int64)
        return CodedTexts(table[self.codes], list(numbers))

    def recoded(self, code: Callable[[list[Any]], npt.NDArray[Any]]) -> npt.NDArray[Any]:
        """Return the codes of the rows under another coding, asked for the texts of rows alone."""
        occur = np.flatnonzero(np.bincount(self.codes, minlength=len(self.texts)))
        codes = code([self.texts[index] for index in occur.tolist()])
        table = np.zeros(len(self.texts), dtype=codes.dtype)
        table[occur] = codes
        return table[self.codes]

    def factorize(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
        """Return the codes and the texts, as pandas does."""
        return self.codes, self._texts()

    def tolist(self) -> list[str | None]:
        """List the texts of the rows."""
        return list(map(self.texts.__getitem__, self.codes.tolist()))

    def _texts(self) -> npt.NDArray[Any]:
        return np.fromiter(self.texts, dtype=object, count=len(self.texts))


def are_texts(*columns: Any) -> bool:
    """Tell whether all of these are codes of texts, none of which is missing."""
    return all(type(column) is CodedTexts and None not in column.texts for column in columns)
