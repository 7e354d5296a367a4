"""Rows of text with something wrong in them, and whether two ways of reading them agree."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np

from streameval.errors import StreamevalError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streameval.io.blocks import Block
    from streameval.io.columns import Argument
    from streameval.io.row_filters import RowFilter


def mutated(row: bytes, tokens: Sequence[bytes], draw: random.Random) -> bytes:
    """Change one to three things."""
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        at, size = draw.randint(0, len(row)), draw.choice((0, 0, 1, 1, 2, 5, 12))
        before, cut, after = row[:at], row[at : at + size], row[at + size :]
        row = draw.choice(
            (
                before + after,
                before + draw.choice(tokens) + after,
                before + draw.choice(tokens) + cut + after,
                before + cut + cut + after,
                before + bytes([draw.randrange(256)]) + after,
                before + bytes([draw.choice(b' ,:;"\\[]{}0123456789eE+-._\r\n\t\0')]) + after,
            )
        )
    return row


def outcome(block: Block, columns: Sequence[Argument], where: RowFilter | None) -> Any:
    """Return all that is read of a block, so that equal means the same to the last bit."""
    try:
        parsed = block.parse(columns, where)
    except StreamevalError as error:
        return str(error)
    batch = {name: _exact(array) for name, array in parsed.batch.items()}
    return batch, list(parsed.row_ids), parsed.faults, parsed.n_left_out, parsed.n_rows


def _exact(array: Any) -> Any:
    if array.dtype != object:
        return array.dtype.str, array.shape, np.ascontiguousarray(array).tobytes()
    return [
        _exact(item) if isinstance(item, np.ndarray) else (type(item), repr(item))
        for item in array.tolist()
    ]
