"""Arrow columns of numbers as arrays, without pandas.

`to_numpy` of pyarrow imports pandas if it is installed, which takes a fifth of a second.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

_DTYPES = {
    **{str(np.dtype(code)): np.dtype(code) for code in "bBhHiIlLqQ"},
    "halffloat": np.dtype(np.float16),
    "float": np.dtype(np.float32),
    "double": np.dtype(np.float64),
}


def array_of(column: Any) -> npt.NDArray[Any]:
    """Return the integers, floats or truth values of a column without nulls; it may be a view.

    Parameters
    ----------
    column : pyarrow.Array or pyarrow.ChunkedArray
    """
    chunks = getattr(column, "chunks", None)
    if chunks is None:
        return _view(column)
    return _view(chunks[0]) if len(chunks) == 1 else _joined(column.type, chunks)


def _joined(arrow_type: Any, chunks: list[Any]) -> npt.NDArray[Any]:
    empty = np.empty(0, _DTYPES.get(str(arrow_type), np.bool_))
    return np.concatenate([empty, *map(_view, chunks)])


def _view(array: Any) -> npt.NDArray[Any]:
    start, end = array.offset, array.offset + len(array)
    data = array.buffers()[1] or b""
    if str(array.type) == "bool":
        bits = np.unpackbits(np.frombuffer(data, np.uint8), count=end, bitorder="little")
        return bits[start:].view(np.bool_)
    return np.frombuffer(data, _DTYPES[str(array.type)])[start:end]
