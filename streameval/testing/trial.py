"""The subject of the laws: how to make an accumulator, its batches, and how to cut them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from streameval.accumulators.base import Accumulator
from streameval.errors import InvalidInputError
from streameval.results.result import Result

Make = Callable[[], Any]


def by_rows(batch: Any, n_parts: int) -> list[Any]:
    """Deal the rows of a batch out to `n_parts` batches, in turn."""
    return [_mapped(batch, _every(n_parts, part)) for part in range(n_parts)]


def _numbers_of(accumulator: Any) -> str:
    """Write the numbers of `compute` to the last bit."""
    return result_text(accumulator.compute())


def result_text(result: Any) -> str:
    """Write the numbers of a result: of `as_dict`, else its repr."""
    if isinstance(result, Result):
        return repr(result.as_dict(bounds=True))
    return repr(result.as_dict() if hasattr(result, "as_dict") else result)


def _update(accumulator: Any, batch: Any) -> Any:
    return accumulator.update(batch)


@attrs.frozen(eq=False)
class Trial:
    """The subject of the laws.

    Parameters
    ----------
    make : callable
        Makes a new accumulator that has counted nothing.
    batches : sequence
        Batches for `update`: mappings or tuples of arrays.
    cut : callable or None
        ``cut(batch, n)`` gives n batches that together hold the same examples. None if
        batches cannot be cut.
    refused : sequence
        Batches that `update` must refuse.
    incompatible : sequence of callables
        Each makes an accumulator that must not merge with one of `make`.
    update : callable
        Counts a batch in an accumulator, and returns what `update` returned.
    numbers : callable
        Returns all numbers of an accumulator, as text.
    """

    make: Make
    batches: Sequence[Any]
    cut: Callable[[Any, int], Sequence[Any]] | None = by_rows
    refused: Sequence[Any] = ()
    incompatible: Sequence[Make] = ()
    update: Callable[[Any, Any], Any] = _update
    numbers: Callable[[Any], str] = _numbers_of

    @classmethod
    def of(cls, make: Make, batches: Iterable[Any], **how: Any) -> Trial:
        """Check the arguments: if the batches changed nothing, every law would hold."""
        if not callable(make):
            given = type(make).__name__
            raise InvalidInputError(
                f"must be callable and return an accumulator, got {given}", argument="make"
            )
        made = make()
        if not isinstance(made, Accumulator):
            given = type(made).__name__
            raise InvalidInputError(f"must return an accumulator, got {given}", argument="make")
        if made is make():
            raise InvalidInputError("must return a new accumulator each time", argument="make")
        trial = cls(
            make, [_as_batch(batch, made._arrays_of(made._config)[0]) for batch in batches], **how
        )
        if not trial.batches or trial.whole().to_bytes() == made.to_bytes():
            raise InvalidInputError(
                "must hold one that changes an empty accumulator", argument="batches"
            )
        return trial

    def count(self, batches: Iterable[Any]) -> Any:
        """Count batches in a new accumulator."""
        return self.add(self.make(), batches)

    def add(self, accumulator: Any, batches: Iterable[Any]) -> Any:
        """Count batches in an accumulator, which is returned."""
        for batch in batches:
            self.update(accumulator, copied(batch))
        return accumulator

    def whole(self) -> Any:
        """Count all batches in a new accumulator."""
        return self.count(self.batches)

    def dealt(self, n_parts: int) -> list[list[Any]]:
        """Deal out all examples: rows in turn, or whole batches if these cannot be cut."""
        if self.cut is None:
            return [list(self.batches[part::n_parts]) for part in range(n_parts)]
        pieces = [self.cut(batch, n_parts) for batch in self.batches]
        return [[piece[part] for piece in pieces] for part in range(n_parts)]

    def parts(self, n_parts: int) -> list[Any]:
        """Count all examples in `n_parts` accumulators, some in each."""
        return [self.count(batches) for batches in self.dealt(n_parts)]

    def empty_batches(self) -> list[Any]:
        """Make the batches without their rows."""
        return [_mapped(batch, _no_rows) for batch in self.batches]


def _as_batch(value: Any, names: tuple[str, ...]) -> Any:
    """Convert lists to arrays, so that a cut keeps their type; a single array becomes a batch."""
    if isinstance(value, Mapping):
        return {name: _as_array(item) for name, item in value.items()}
    if isinstance(value, tuple) or (isinstance(value, list) and len(names) > 1):
        return tuple(_as_array(item) for item in value)
    if len(names) == 1 and isinstance(value, (list, np.ndarray)):
        return {names[0]: _as_array(value)}
    given = type(value).__name__
    raise InvalidInputError(
        f"must be mappings or tuples of arrays, got {given}", argument="batches"
    )


def _as_array(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        try:
            return np.array(value)
        except ValueError:  # rows of different lengths are left to the checks of `update`
            return value
    return value


def _mapped(batch: Any, change: Callable[[Any], Any]) -> Any:
    """Change each array of a batch; values without rows, such as numbers, stay."""
    if isinstance(batch, Mapping):
        return {name: _changed(item, change) for name, item in batch.items()}
    return tuple(_changed(item, change) for item in batch)


def _changed(item: Any, change: Callable[[Any], Any]) -> Any:
    return change(item) if hasattr(item, "__getitem__") and not isinstance(item, str) else item


def _every(step: int, start: int) -> Callable[[Any], Any]:
    return lambda array: array[start::step]


def _no_rows(array: Any) -> Any:
    return array[:0]


def copied(batch: Any) -> Any:
    """Copy a batch and its arrays, so that changes to them do not affect other laws."""
    return _mapped(batch, _copy)


def _copy(array: Any) -> Any:
    return array.copy() if hasattr(array, "copy") else array


def arrays_of(batch: Any) -> list[Any]:
    """List the arrays of a batch."""
    return list(batch.values() if isinstance(batch, Mapping) else batch)


def scribble(array: Any) -> None:
    """Write other values over an array or a list."""
    if isinstance(array, list):
        array[:] = [None] * len(array)
    if not isinstance(array, np.ndarray) or not array.flags.writeable:
        return
    code = array.dtype.kind
    if code == "b":
        np.logical_not(array, out=array)
    elif code in "iuf":
        array[...] = np.where(array == 0, 1, 0)
    elif array.dtype.kind in "mM":
        array[...] = "NaT"
    else:
        array[...] = None if code == "O" else "?"


def broken(batch: Any) -> Iterator[Any]:
    """Spoil a batch in ways that most classes refuse: an array is missing, short or invalid."""
    keys = list(batch) if isinstance(batch, Mapping) else list(range(len(batch)))
    for key in keys:
        array = batch[key]
        yield _without(batch, key)
        if not isinstance(array, np.ndarray) or not array.ndim or not len(array):
            continue
        yield _with(batch, key, array[:-1])
        last = np.arange(len(array)).reshape(-1, *[1] * (array.ndim - 1)) == len(array) - 1
        yield _with(batch, key, np.where(last, np.array(None), array.astype(object)))
        if array.dtype.kind in "iuf":
            numbers = array.astype(np.float64)
            yield _with(batch, key, np.where(last, np.nan, numbers))
            yield _with(batch, key, np.where(last, -1e300, numbers))


def _without(batch: Any, key: Any) -> Any:
    if isinstance(batch, Mapping):
        return {name: item for name, item in batch.items() if name != key}
    return batch[:key] + batch[key + 1 :]


def _with(batch: Any, key: Any, array: Any) -> Any:
    if isinstance(batch, Mapping):
        return {**batch, key: array}
    return (*batch[:key], array, *batch[key + 1 :])
