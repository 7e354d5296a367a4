"""Texts as numbers: a dictionary that grows with the texts that it is asked for."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from streameval.inputs.labels import canonical_label

__all__ = ["Texts"]

Codes = npt.NDArray[np.int64]


class Texts:
    """Texts, each of which keeps the code that it got when it first came.

    It only grows, so that codes that were given out stay what they are, whoever reads them.
    """

    __slots__ = ("_codes", "_listed")

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._listed: list[str] = []

    def __len__(self) -> int:
        """Give the number of texts."""
        return len(self._listed)

    def encode(self, texts: list[str], *, name: str) -> Codes:
        """Give the code of each text; what is no Unicode text raises, and nothing is added."""
        codes = self._codes
        try:
            return np.fromiter(map(codes.__getitem__, texts), np.int64, len(texts))
        except KeyError:
            self._add([text for text in dict.fromkeys(texts) if text not in codes], name)
        return np.fromiter(map(codes.__getitem__, texts), np.int64, len(texts))

    def decode(self, codes: Codes) -> npt.NDArray[np.object_]:
        """Give the text of each code."""
        return np.fromiter(map(self._listed.__getitem__, codes.tolist()), object, len(codes))

    def _add(self, texts: list[str], name: str) -> None:
        for text in texts:
            canonical_label(text, name=name)
        for text in texts:
            self._listed.append(text)
            self._codes[text] = len(self._listed) - 1
