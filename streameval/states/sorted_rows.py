"""Rows of one curve, sorted by score, from which cells are made."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt

from streameval.exact import Scale
from streameval.exact.array_types import Floats, Indices, Ints, Mask
from streameval.exact.score_keys import Keys, keys_of

Packed = npt.NDArray[np.signedinteger[Any]] | npt.NDArray[np.unsignedinteger[Any]]

_CHUNK = 2**15  # temporaries stay in the cache
_SIGN = np.uint64(1 << 63)
_DECIMALS = 10**6
"""Scores of at most 6 digits are multiples of one part in so many."""
_FEWEST_DECIMALS = _DECIMALS
"""As many rows as multiples are faster to count than to sort."""


@attrs.frozen(eq=False, repr=False)
class SortedRows:
    """Rows without weights, each packed into one integer: its score, then its class.

    Sorting values is several times faster than an argsort, and if most scores are distinct, a
    row takes 4 or 8 bytes, where a cell takes 24 or 32.

    Parameters
    ----------
    parts : tuple of integer arrays
        Twice the code of each score, plus 1 if the row is positive; sorted. The codes of
        probabilities are their bits; those of real scores are their keys, and the ones below
        2**63 are in a separate array before the others, so that no bit is lost.
    scale : {"probability", "real"}
        What the scores are.
    n_pos : int
        The number of positive rows.
    """

    parts: tuple[Packed, ...]
    scale: Scale
    n_pos: int

    @classmethod
    def of(cls, scores: npt.NDArray[np.floating[Any]], scale: Scale, positive: Mask) -> Self:
        """Sort rows.

        Parameters
        ----------
        scores : array of floats, shape (n,)
            Without NaN; for probabilities in [0, 1].
        scale : {"probability", "real"}
            What the scores are.
        positive : bool array, shape (n,)
        """
        n_pos = int(np.count_nonzero(positive))
        parts: tuple[Packed, ...]
        if scale == "probability":
            decimals = _sorted_decimals(scores, positive)
            if decimals is not None:
                return cls((decimals,), scale, n_pos)
            parts = (_packed_bits(scores, positive),)
        else:
            keys = keys_of(scores, scale)
            packed, is_high = (keys << np.uint64(1)) | positive, keys >= _SIGN
            parts = packed[~is_high], packed[is_high]
        for part in parts:
            part.sort()
        return cls(parts, scale, n_pos)

    def __len__(self) -> int:
        """Return the number of rows."""
        return sum(map(len, self.parts))

    @property
    def n_neg(self) -> int:
        """The number of negative rows."""
        return len(self) - self.n_pos

    def distinct(self) -> Iterator[tuple[Keys, Ints, Ints]]:
        """Yield the keys of the distinct scores, their positives and negatives, part by part."""
        for index, part in enumerate(self.parts):
            for piece in _pieces(part):
                starts, n_pos = _runs(piece)
                pos, n = np.diff(n_pos), np.diff(starts, append=len(piece))
                yield self._keys(piece[starts] >> 1, is_high=bool(index)), pos, n - pos

    def outcomes(self) -> Iterator[tuple[Floats, Floats]]:
        """Count the positives and negatives that reach each distinct score, from the highest."""
        tp = fp = 0
        for part in reversed(self.parts):
            for piece in reversed([*_pieces(part)]):
                starts, n_pos = _runs(piece)
                more_tp = n_pos[-1] - n_pos[:-1]
                more_fp = len(piece) - starts - more_tp
                yield (
                    (tp + more_tp[::-1]).astype(np.float64),
                    (fp + more_fp[::-1]).astype(np.float64),
                )
                tp, fp = tp + int(more_tp[0]), fp + int(more_fp[0])

    def _keys(self, codes: Packed, *, is_high: bool) -> Keys:
        """Compute the keys of scores by their codes in one of the parts."""
        if self.scale == "probability":
            return keys_of(codes.view(f"f{codes.itemsize}"), self.scale)
        return codes.view(np.uint64) | (_SIGN if is_high else np.uint64(0))


def _packed_bits(scores: npt.NDArray[np.floating[Any]], positive: Mask) -> Packed:
    """Pack the bits of probabilities, which sort as they do and leave two bits free."""
    width = max(scores.itemsize, 4)
    packed = np.empty(len(scores), dtype=f"i{width}")
    for start in range(0, len(scores), _CHUNK):
        chunk = slice(start, start + _CHUNK)
        bits = (scores[chunk].astype(f"f{width}", copy=False) + 0.0).view(packed.dtype)
        np.left_shift(bits, 1, out=bits)
        np.bitwise_or(bits, positive[chunk], out=packed[chunk])
    return packed


def _sorted_decimals(scores: npt.NDArray[np.floating[Any]], positive: Mask) -> Packed | None:
    """Sort rows as packed bits by counting each score, in a quarter of the time of a sort.

    None if the scores are few, or some score is no decimal of so few digits.
    """
    if len(scores) < _FEWEST_DECIMALS or scores.itemsize < np.dtype(np.float64).itemsize:
        return None
    counts = np.zeros(2 * (_DECIMALS + 1), dtype=np.int64)
    for start in range(0, len(scores), _CHUNK):
        chunk = slice(start, start + _CHUNK)
        steps = np.rint(scores[chunk] * _DECIMALS)
        if not np.array_equal(steps / _DECIMALS, scores[chunk]):
            return None
        np.add.at(counts, 2 * steps.astype(np.int64) + positive[chunk], 1)
    observed = np.flatnonzero(counts)
    bits = ((observed >> 1) / _DECIMALS).view(np.int64)
    return np.repeat(bits << 1 | observed & 1, counts[observed])


def _pieces(part: Packed) -> Iterator[Packed]:
    """Cut sorted rows between scores into pieces that stay in the cache."""
    inner = part[_CHUNK::_CHUNK] >> 1 << 1
    edges = dict.fromkeys([0, *np.searchsorted(part, inner).tolist(), len(part)])
    return (part[start:end] for start, end in itertools.pairwise(edges))


def _runs(piece: Packed) -> tuple[Indices, Ints]:
    """Find where each score begins, and the number of positives before it and before the end."""
    numbers = piece >> 1
    is_start = np.ones(len(piece), dtype=bool)
    np.not_equal(numbers[1:], numbers[:-1], out=is_start[1:])
    starts = np.flatnonzero(is_start)
    n_pos = np.zeros(len(piece) + 1, dtype=np.int64)
    np.cumsum((piece & 1).astype(bool), out=n_pos[1:])
    return starts, n_pos[np.append(starts, len(piece))]
