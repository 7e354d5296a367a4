"""Ids of predictions and labels as 128-bit hashes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from streameval.errors import InvalidInputError
from streameval.exact.array_types import Array, Ints
from streameval.inputs.values import canonical_value, mixed

Words = npt.NDArray[np.uint64]


def hash_ids(ids: Sequence[Any] | Array, *, name: str) -> tuple[Words, Words]:
    """Return the two halves of the hash of each id.

    Text is hashed by blake2b to 128 bits: among 1e7 ids, two collide with a probability of 1e-25;
    with 64 bits, it would be 3e-6. Integers are mixed by a bijection, so they never collide. As
    with labels, 1, 1.0 and True are the same id, and "1" is a different one.

    Parameters
    ----------
    ids : sequence of str or int, length n
    name : str
        The argument that errors name.

    Returns
    -------
    high, low : arrays of uint64, shape (n,)

    Raises
    ------
    InvalidInputError
        If an id is missing, or is neither text nor an integer.

    Examples
    --------
    >>> high, low = hash_ids(["a", 1, "1", True], name="ids")
    >>> high[1] == high[3], high[1] == high[2]
    (np.True_, np.False_)
    """
    listed = ids.tolist() if isinstance(ids, np.ndarray) else ids
    types = set(map(type, listed))
    if types == {str}:
        return _of_text(listed, name)
    if types == {int}:
        try:
            return _of_integers(np.fromiter(listed, np.int64, len(listed)))
        except OverflowError:
            pass
    canonical = [_canonical(item, position, name) for position, item in enumerate(listed)]
    high = np.zeros(len(canonical), dtype=np.uint64)
    low = np.zeros_like(high)
    is_text = np.fromiter((isinstance(item, str) for item in canonical), np.bool_, len(canonical))
    texts: list[Any] = [item for item in canonical if isinstance(item, str)]
    numbers = [item for item in canonical if not isinstance(item, str)]
    high[is_text], low[is_text] = _of_text(texts, name)
    of_numbers = _of_integers(np.fromiter(numbers, np.int64, len(numbers)))
    high[~is_text], low[~is_text] = of_numbers
    return high, low


def _canonical(item: Any, position: int, name: str) -> int | str:
    try:
        value = canonical_value(item, name=name)
    except InvalidInputError as error:
        raise InvalidInputError(error.reason, argument=name, position=position) from None
    if value is None:
        raise InvalidInputError(
            f"must hold an id in every row, got {item!r}", argument=name, position=position
        )
    return value


def _of_text(texts: Sequence[str], name: str) -> tuple[Words, Words]:
    """Hash text; a copy of an empty hash takes two thirds of the time of a new one."""
    copy = hashlib.blake2b(digest_size=16).copy
    encode = str.encode
    digests = []
    try:
        for text in texts:
            digest = copy()
            digest.update(encode(text))
            digests.append(digest.digest())
    except UnicodeEncodeError:
        position = len(digests)
        raise InvalidInputError(
            f"must be Unicode text, got {texts[position]!r}", argument=name, position=position
        ) from None
    words = np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64, copy=False)
    return words[::2].copy(), words[1::2].copy()


def _of_integers(numbers: Ints) -> tuple[Words, Words]:
    high = mixed(numbers.view(np.uint64))
    return high, mixed(high)
