"""Order-preserving integer keys of scores, so that ranges of scores are ranges of integers.

The key of a probability below one half is its bits; from one half on, it mirrors the bits of
``1 - x``, which is exact there. So keys are as fine near 1 as near 0. The key of any other
score is 2**63 plus or minus the bits of its magnitude.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from streameval.exact import Scale
from streameval.exact.array_types import Array, Floats

Keys = npt.NDArray[np.uint64]
ItemT = TypeVar("ItemT", bound=np.generic)

_CHUNK = 2**15  # small enough for temporaries to stay in the cache: three times as fast
_HALF = np.float64(0.5).view(np.uint64)
_ONE = np.uint64(2) * _HALF  # the key of 1.0
_SIGN = np.uint64(1 << 63)
_INFINITY = np.float64(np.inf).view(np.uint64)


def keys_of(scores: npt.NDArray[np.floating[Any]], scale: Scale) -> Keys:
    """Compute the key of each score; greater scores have greater keys, and -0.0 is 0.0.

    Parameters
    ----------
    scores : array of floats, any shape
        At most 64 bits wide, without NaN; in [0, 1] if they are probabilities.
    scale : {"probability", "real"}
        What the scores are.
    """
    make = _probability_keys if scale == "probability" else _real_keys
    return _by_chunk(make, scores, np.uint64)


def scores_of(keys: Keys, scale: Scale) -> Floats:
    """Compute the score of each key, the inverse of `keys_of`."""
    make = _probabilities if scale == "probability" else _reals
    return _by_chunk(make, keys, np.float64)


def are_keys(keys: Keys, scale: Scale) -> bool:
    """Check whether each integer is the key of a score."""
    if not keys.size:
        return True
    if scale == "real":
        return bool(keys.min() >= _SIGN - _INFINITY and keys.max() <= _SIGN + _INFINITY)
    high = keys[keys > _HALF]
    if high.size and high.max() > _ONE:
        return False
    # a double from one half to 1 is a multiple of 2**-53, and so is its distance from 1
    steps = (_ONE - high).view(np.float64) * 2.0**53
    return bool((steps == np.floor(steps)).all())


def prefixes(keys: Keys, level: int) -> Keys:
    """Drop the lowest `level` bits of each key; `level` can be 64."""
    # a shift by 64 is not a shift
    return np.zeros_like(keys) if level >= 64 else keys >> np.uint64(level)


def _probability_keys(scores: npt.NDArray[np.floating[Any]]) -> Keys:
    # the distance to the nearer end: 1 - x is exact in any width where it is used (Sterbenz)
    near = np.minimum(scores, 1 - scores).astype(np.float64)
    near += 0.0
    keys = np.multiply(scores >= 0.5, _ONE.view(np.int64))
    keys -= near.view(np.int64)
    return np.abs(keys, out=keys).view(np.uint64)


def _real_keys(scores: npt.NDArray[np.floating[Any]]) -> Keys:
    # negative ones are negated, others get the sign: without a choice, in two thirds of its time
    bits = (scores.astype(np.float64, copy=False) + 0.0).view(np.int64)
    is_negative = bits >> 63  # -1 or 0
    keys = bits ^ (is_negative | _SIGN.view(np.int64))
    keys -= is_negative
    return keys.view(np.uint64)


def _probabilities(keys: Keys) -> Floats:
    is_high = keys >= _HALF
    near = np.where(is_high, _ONE - keys, keys).view(np.float64)
    return np.where(is_high, 1.0 - near, near)


def _reals(keys: Keys) -> Floats:
    return np.where(keys >= _SIGN, keys ^ _SIGN, -keys).view(np.float64)


def _by_chunk(
    make: Callable[[Any], npt.NDArray[ItemT]], array: Array, dtype: type[ItemT]
) -> npt.NDArray[ItemT]:
    """Apply an elementwise function in chunks."""
    if array.ndim and array.size <= _CHUNK:
        return make(array)
    flat = array.ravel()
    made = np.empty(flat.shape, dtype=dtype)
    for start in range(0, len(flat), _CHUNK):
        part = slice(start, start + _CHUNK)
        made[part] = make(flat[part])
    return made.reshape(array.shape)
