"""Where keys lie, and numbers for the prefixes that they can have there."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import Self

import attrs
import numpy as np

from streameval.exact.array_types import Indices, Ints
from streameval.exact.score_keys import Keys, prefixes

_MANTISSA = 52  # the low bits of a key; those above them tell its binade
_N_BINADES = 2**12


@attrs.frozen(eq=False)
class KeyRange:
    """The keys from a min to a max, or those of them in some binades.

    Scores are in few binades of the many between 0 and the smallest of them: without the others, a
    table for all keys in the range is small even if one score is 0.

    Parameters
    ----------
    first, last : int
        The min and the max key.
    binades : int64 array, optional
        The binades, in order, those of both ends among them; None stands for all in between.
    """

    first: int
    last: int
    binades: Ints | None = None

    @classmethod
    def of(cls, *parts: Keys) -> Self:
        """Span all keys; there must be one."""
        held = [part for part in parts if len(part)]
        return cls(int(min(map(np.min, held))), int(max(map(np.max, held))))

    def only(self, parts: Iterable[Keys]) -> Self:
        """Leave out the binades without a key."""
        is_there = np.zeros(_N_BINADES, dtype=bool)
        is_there[[self.first >> _MANTISSA, self.last >> _MANTISSA]] = True
        for keys in parts:
            is_there[prefixes(keys, _MANTISSA).view(np.int64)] = True
        return attrs.evolve(self, binades=np.flatnonzero(is_there))

    def numbers(self, level: int) -> PrefixNumbers:
        """Give a number to each prefix at a level above 0."""
        first, last = self.first >> level, self.last >> level
        if self.binades is None:
            return PrefixNumbers(level, last - first + 1, first)
        width = max(_MANTISSA - level, 0)
        heads = np.unique(self.binades >> max(level - _MANTISSA, 0))
        gaps = heads - np.arange(len(heads)) << width  # before each head, together
        skipped = np.zeros(int(heads[-1]) + 1, dtype=np.int64)
        skipped[heads] = gaps
        size = last - int(gaps[-1]) - first + int(gaps[0]) + 1
        return PrefixNumbers(level, size, first - int(gaps[0]), width, skipped, heads)

    def lowest_level(self, size: int) -> int:
        """Find the lowest level above 0 at which there are at most `size` prefixes, at least 1."""
        levels = range(1, 64)
        return levels[0] + bisect_left(
            levels, True, key=lambda level: self.numbers(level).size <= size
        )


@attrs.frozen(eq=False)
class PrefixNumbers:
    """A number from 0 on for each prefix at a level in a range of keys, in their order.

    Parameters
    ----------
    level : int
        How many low bits of a key are not in its prefix.
    size : int
        How many numbers there are.
    first : int
        What is subtracted from every prefix.
    width : int
        How many bits follow the head of a prefix, which tells its binade.
    skipped : int64 array, optional
        What else is subtracted, by the head.
    heads : int64 array, optional
        The heads in the range, in order.
    """

    level: int
    size: int
    first: int
    width: int = 0
    skipped: Ints | None = None
    heads: Ints | None = None

    def of(self, keys: Keys) -> Indices:
        """Find the numbers of the prefixes of keys in the range."""
        found = prefixes(keys, self.level).view(np.int64)
        if self.skipped is not None:
            found = found - self.skipped.take(found >> self.width)
        return (found - self.first).astype(np.intp, copy=False)

    def prefixes(self, numbers: Indices) -> Keys:
        """List the prefixes of some numbers."""
        found = numbers.astype(np.int64) + self.first
        if self.skipped is not None and self.heads is not None:
            gaps = self.skipped[self.heads]
            starts = (self.heads << self.width) - gaps
            found += gaps[np.searchsorted(starts, found, side="right") - 1]
        return found.view(np.uint64)
