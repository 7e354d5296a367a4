"""Labels as numbers: a dictionary that grows with the labels that it is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from streameval.inputs.labels import Label, canonical_label

Codes = npt.NDArray[np.int64]


class Dictionary:
    """Labels; each keeps the code that it got when first observed.

    It only grows, so that codes that were given out stay what they are, whoever reads them.

    Attributes
    ----------
    n_characters : int
        How many characters the labels that are texts have together.
    """

    __slots__ = ("_codes", "_labels", "n_characters")

    def __init__(self, labels: Iterable[Label] = ()) -> None:
        self._codes: dict[Label, int] = {}
        self._labels: list[Label] = []
        self.n_characters = 0
        self._add(labels)

    def __len__(self) -> int:
        """Count the labels."""
        return len(self._labels)

    @property
    def are_texts(self) -> bool:
        """Whether the labels are texts; there must be some."""
        return isinstance(self._labels[0], str)

    def encode(self, labels: Sequence[Label], *, name: str) -> Codes:
        """Find or add the code of each label; text that is not Unicode raises and adds nothing."""
        codes = self._codes
        try:
            return np.fromiter(map(codes.__getitem__, labels), np.int64, len(labels))
        except KeyError:
            new = [label for label in dict.fromkeys(labels) if label not in codes]
        for label in new:
            canonical_label(label, name=name)
        self._add(new)
        return np.fromiter(map(codes.__getitem__, labels), np.int64, len(labels))

    def decode(self, codes: Codes) -> list[Label]:
        """Look up the label of each code."""
        return list(map(self._labels.__getitem__, codes.tolist()))

    def _add(self, labels: Iterable[Label]) -> None:
        for label in labels:
            self._labels.append(label)
            self._codes[label] = len(self._labels) - 1
            self.n_characters += len(label) if isinstance(label, str) else 0
