"""Bins of equal width, of probabilities."""

from __future__ import annotations

import numpy as np

from streameval.exact.array_types import Array, Floats, Indices
from streameval.exact.scratch import ROWS, borrowed

_MAX_BYTE = 2**8


def bin_indices(probability: Floats, bins: int) -> Indices:
    """Find the bin ``[i / bins, (i + 1) / bins)`` of each probability; the last is closed.

    Edges are the floats nearest to i / bins, so that 0.6 belongs to the bin that begins at 9 / 15.
    The float 0.6 is slightly less than three fifths, and ``floor(p * bins)`` would round again.
    """
    # bytes: fresh pages for wider integers take longer than casts
    index: Array = np.empty(len(probability), dtype=np.uint8 if bins <= _MAX_BYTE else np.intp)
    with borrowed(2) as scratch:
        for start in range(0, len(probability), ROWS):
            rows = slice(start, start + ROWS)
            part = probability[rows]
            index[rows] = _bin_numbers(part, bins, *scratch[:, : len(part)])
    return index


def _bin_numbers(probability: Floats, bins: int, found: Floats, edge: Floats) -> Floats:
    """Find bins as floats; quotients are the edges, and rarely does one correct the guess."""
    np.multiply(probability, bins, out=found)
    np.floor(found, out=found)
    is_below = probability < np.divide(found, bins, out=edge)
    if is_below.any():
        found -= is_below
    np.add(found, 1.0, out=edge)
    is_past = probability >= np.divide(edge, bins, out=edge)
    if is_past.any():
        found += is_past
    return np.minimum(found, bins - 1.0, out=found)
