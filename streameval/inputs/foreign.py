"""Arrays and tables of other libraries: by Arrow's C interface, by DLPack, or lazily."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from streameval.errors import InvalidInputError


def converted(value: Any, *, name: str) -> Any:
    """Turn an object of another library into an array or a table; return others unchanged.

    A stream that can be read once is read to its end, so that a batch is counted whole or not at
    all. Arrays that NumPy can convert, and tables of pandas, polars and pyarrow, are unchanged.

    Parameters
    ----------
    value : object
        An object with ``__arrow_c_stream__`` or ``__arrow_c_array__``, which pyarrow reads; with
        ``__dlpack__``, which NumPy reads; or a ``polars.LazyFrame``, which is collected.
    name : str
        The name of the argument.

    Raises
    ------
    InvalidInputError
        If it cannot be read, or pyarrow is needed and not installed.
    """
    cls: Any = type(value)  # the hash of a type, whatever its metaclass defines
    read = _reader_of(cls)
    if read is None:
        return value
    try:
        return read(value)
    except ModuleNotFoundError as error:
        raise InvalidInputError(
            f"is an Arrow object ({cls.__name__}), which pyarrow reads",
            argument=name,
            remedy="Install pyarrow.",
        ) from error
    except Exception as error:
        reason = str(error).split("\n", 1)[0].rstrip(".")
        raise InvalidInputError(
            f"cannot be read from {cls.__name__}: {reason}", argument=name
        ) from error


@functools.lru_cache(maxsize=256)
def _reader_of(cls: type) -> Callable[[Any], Any] | None:
    """Choose how to read objects of a class; None if they stay unchanged."""
    if hasattr(cls, "__array__"):
        return None
    if hasattr(cls, "__arrow_c_stream__"):
        return _from_stream
    if hasattr(cls, "__arrow_c_array__"):
        return _from_arrow
    if hasattr(cls, "__dlpack__"):
        return _from_dlpack
    is_lazy = cls.__module__.partition(".")[0] == "polars" and hasattr(cls, "collect")
    return _collected if is_lazy else None


def _from_stream(value: Any) -> Any:
    import pyarrow as pa  # noqa: PLC0415 (only for objects that need it)

    return _unwrapped(pa.chunked_array(value))


def _from_arrow(value: Any) -> Any:
    import pyarrow as pa  # noqa: PLC0415 (only for objects that need it)

    return _unwrapped(pa.chunked_array([pa.array(value)]))


def _unwrapped(column: Any) -> Any:
    """Make a table of a column of structures, which is how Arrow exports batches."""
    import pyarrow as pa  # noqa: PLC0415 (only for objects that need it)

    return pa.Table.from_struct_array(column) if pa.types.is_struct(column.type) else column


def _from_dlpack(value: Any) -> Any:
    """Read an array, copied from its device by its own library if that can."""
    try:
        return np.from_dlpack(value)
    except (BufferError, RuntimeError):
        return np.from_dlpack(value, device="cpu")


def _collected(value: Any) -> Any:
    return value.collect()
