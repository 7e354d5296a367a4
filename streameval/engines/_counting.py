"""What a worker does: count batches into states, by slice, and merge states into a new one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from os import fspath
from typing import Any, Self, TypeVar

import attrs

from streameval.accumulators.base import Accumulator
from streameval.accumulators.checkpoint import from_bytes
from streameval.accumulators.merging import merge
from streameval.configs.collection import CollectionConfig, Member
from streameval.engines._batches import check_there, is_path, read_batches, renamed, split
from streameval.errors import BadDataError, InvalidInputError

__all__ = ["Counting", "Make", "Progress", "Slices", "as_sources", "merge_tree", "merged"]

Make = Callable[[], Any]
Progress = Callable[[int, int], object]
Slices = dict[Any, bytes]
"""The state of each value of the column `by`, or one state under None."""

T = TypeVar("T")


@attrs.frozen
class Counting:
    """Which columns are counted, and into what; a value that pickles if `make` does.

    Parameters
    ----------
    make : callable
        Gives an empty accumulator.
    columns, required : mapping from argument of `update` to column
        Those that are read if they are there, and those of them that must be.
    by : str or None
        The column whose values are counted apart.
    options : mapping
        Keyword arguments of `update`.
    """

    make: Make
    columns: dict[str, str]
    required: dict[str, str]
    by: str | None
    options: dict[str, Any]

    @classmethod
    def of(
        cls,
        make: Make,
        columns: Mapping[str, str] | None = None,
        by: str | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Self:
        """Check the arguments that every engine takes."""
        members = _members(_empty(make))
        chosen = _read_columns(columns)
        read = dict.fromkeys(name for member in members for name in member.read.values())
        for argument in chosen:
            if argument not in read:
                raise InvalidInputError(
                    f"`columns` must be for {', '.join(read)}, got {argument!r}."
                )
        if by is not None and not isinstance(by, str):
            raise InvalidInputError(f"`by` must be the name of a column, got {by!r}.")
        needed = {name for member in members for name in member.required.values()}
        return cls(
            make=make,
            columns={name: chosen.get(name, name) for name in read},
            required={name: chosen.get(name, name) for name in read if name in needed | {*chosen}},
            by=by,
            options=dict(options or {}),
        )

    def names(self, available: Iterable[str]) -> list[str]:
        """List the columns to read, of those that there are; one that must be there is named."""
        known = list(available)
        check_there(self._wanted, known)
        return [name for name in self._wanted if name in known]

    def count(self, source: Any) -> Slices:
        """Count what is behind a path, or a batch.

        Raises
        ------
        InvalidInputError
            When a batch is refused.
        BadDataError
            When a file cannot be read or holds rows that are refused; the message names it.
        """
        try:
            return self.count_batches(read_batches(source, self._wanted))
        except InvalidInputError as error:
            if not is_path(source):
                raise
            raise BadDataError(f"{fspath(source)}: {error}") from error

    def count_batches(self, batches: Iterable[Any]) -> Slices:
        """Count batches into new accumulators."""
        held = {} if self.by is not None else {None: self.make()}
        for batch in batches:
            self._update(held, batch)
        return {value: accumulator.to_bytes() for value, accumulator in held.items()}

    def update(self, accumulator: Any, batch: Any) -> None:
        """Count a batch into an accumulator."""
        arrays = renamed(batch, self.columns, self.required)
        if not _is_empty(next(iter(arrays.values()))):
            accumulator.update(arrays, **self.options)

    def result(self, slices: Slices) -> Any:
        """Read the accumulator, or the dict from value to accumulator, in order of the values."""
        if self.by is None:
            return from_bytes(slices[None]) if slices else self.make()
        # files may disagree on the type of a column
        ordered = sorted(slices, key=lambda value: (value is None, type(value).__name__, value))
        return {value: from_bytes(slices[value]) for value in ordered}

    @property
    def _wanted(self) -> dict[str, bool]:
        """The columns to read, and whether they must be there."""
        needed = {*self.required.values(), self.by}
        listed = [*self.columns.values(), *([] if self.by is None else [self.by])]
        return {column: column in needed for column in listed}

    def _update(self, held: dict[Any, Any], batch: Any) -> None:
        for value, part in [(None, batch)] if self.by is None else split(batch, self.by):
            if value not in held:
                held[value] = self.make()
            self.update(held[value], part)


def merged(*parts: Slices) -> Slices:
    """Merge states into new ones; the arguments are left alone, so it may run any number of times.

    Examples
    --------
    >>> import streameval as se
    >>> part = {None: se.ConfusionAccumulator().update([1, 0], [1, 1]).to_bytes()}
    >>> whole = merged(part, merged(part, part))
    >>> se.from_bytes(whole[None]).n
    6
    """
    values = dict.fromkeys(value for part in parts for value in part)
    return {
        value: merge(from_bytes(part[value]) for part in parts if value in part).to_bytes()
        for value in values
    }


def merge_tree(parts: Sequence[T], merge_some: Callable[..., T], fan_in: int) -> T:
    """Build a tree of merges of at most `fan_in` parts each, and give its root.

    Examples
    --------
    >>> merge_tree("abcdefg", lambda *some: f"({''.join(some)})", fan_in=3)
    '((abc)(def)g)'
    """
    if isinstance(fan_in, bool) or not isinstance(fan_in, int) or fan_in < 2:
        raise InvalidInputError(f"`fan_in` must be an integer of at least 2, got {fan_in!r}.")
    level = list(parts)
    while len(level) > 1:
        chunks = (level[start : start + fan_in] for start in range(0, len(level), fan_in))
        level = [merge_some(*chunk) if len(chunk) > 1 else chunk[0] for chunk in chunks]
    return level[0]


def as_sources(sources: Any) -> list[Any]:
    """List the sources; there must be one."""
    listed = [sources] if is_path(sources) else list(sources)
    if not listed:
        raise InvalidInputError("`sources` must hold at least one path or batch.")
    return listed


def _empty(make: Make) -> Accumulator[Any, Any]:
    if not callable(make):
        raise InvalidInputError(
            f"`make` must be callable and give an empty accumulator, got {type(make).__name__}."
        )
    made = make()
    if not isinstance(made, Accumulator):
        raise InvalidInputError(f"`make` must give an accumulator, got {type(made).__name__}.")
    if made != made.copy().reset():
        raise InvalidInputError(f"`make` must give an empty accumulator, got n={made.n}.")
    return made


def _is_empty(column: Any) -> bool:
    """Tell an empty column, whose type may be anything; what is no array is refused later."""
    return isinstance(column, Sized) and not len(column)


def _members(accumulator: Accumulator[Any, Any]) -> Sequence[Member]:
    config = accumulator._config
    if isinstance(config, CollectionConfig):
        return config.members
    return [Member(type(accumulator), config)]


def _read_columns(columns: Any) -> dict[str, str]:
    if columns is None:
        return {}
    if not isinstance(columns, Mapping):
        kind = type(columns).__name__
        raise InvalidInputError(f"`columns` must map arguments to columns, got {kind}.")
    for argument, column in columns.items():
        if not isinstance(argument, str) or not isinstance(column, str):
            raise InvalidInputError(
                f"`columns` must map names to names, got {column!r} for {argument!r}."
            )
    return dict(columns)
