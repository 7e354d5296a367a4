"""The options of `Collection`: its names, and what each of them counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Self

import attrs

from streameval.errors import InvalidInputError, require
from streameval.inputs.classes import canonical_label

SEPARATOR = "/"
MAX_DEPTH = 16
MAX_MEMBERS = 2**12
MAX_CHARACTERS = 2**20  # of names and columns: they stand in the header, which has a limit

ColumnPairs = tuple[tuple[str, str], ...]


def canonical_name(value: Any, *, name: str) -> str:
    """Accept a text that is not empty."""
    if not isinstance(value, str) or not value:
        raise InvalidInputError(f"must have names that are texts, got {value!r}", argument=name)
    return str(canonical_label(value, name=name))


Name = Annotated[str, canonical_name]
"""The type of an option that is the name of a column."""


@attrs.frozen
class ModelPair:
    """Two models that a member compares.

    Parameters
    ----------
    a, b : str
        The columns of their predictions, which are their names.
    terms : object
        What the pairs of a comparison have in common: options, and the other columns.
    """

    a: str
    b: str
    terms: Any


@attrs.frozen(slots=False)
class Member:
    """What a name counts: equal ones are counted once.

    Parameters
    ----------
    cls : class of an accumulator
    options : configuration
        That of the accumulator.
    columns : tuple of (array, column)
        The column of each array that has another name, in the order of the arrays of
        `update`. An optional array that is listed must be there.
    """

    cls: type[Any]
    options: Any
    columns: ColumnPairs = ()

    @classmethod
    def of(cls, accumulator: Any) -> Self:
        """Count what an accumulator counts, with its options."""
        return cls(type(accumulator), accumulator._config)

    @cached_property
    def arrays(self) -> tuple[str, ...]:
        """The arrays that an update takes, the optional ones last."""
        positional, optional = self.cls._arrays_of(self.options)
        names: tuple[str, ...] = positional + optional
        return names

    @cached_property
    def positional(self) -> tuple[str, ...]:
        """The arrays that an update must have, in the order of its arguments."""
        names: tuple[str, ...] = self.cls._arrays_of(self.options)[0]
        return names

    @property
    def takes_truth_and_prediction(self) -> bool:
        """Whether an update takes two arrays, truth and prediction."""
        return len(self.cls._arrays) == 2 and self.cls._arrays[0] == "y_true"

    @cached_property
    def required(self) -> dict[str, str]:
        """The column of each array that must be there."""
        return {name: name for name in self.positional} | dict(self.columns)

    @cached_property
    def read(self) -> dict[str, str]:
        """The column of each array."""
        return {name: name for name in self.arrays} | dict(self.columns)

    @property
    def model_pair(self) -> ModelPair | None:
        """The models that it compares; None if it counts anything else."""
        if "y_pred_a" not in self.cls._arrays:
            return None
        columns = dict(self.read)
        a, b = (columns.pop(name) for name in ("y_pred_a", "y_pred_b"))
        return ModelPair(a, b, (self.options, tuple(columns.items())))

    def renamed(self, columns: Mapping[str, str]) -> Self:
        """Replace some of the columns that are read."""
        listed = dict(self.columns)
        chosen = {
            array: columns.get(column, column)
            for array, column in self.read.items()
            if array in listed or column in columns
        }
        pairs = tuple(
            (array, column)
            for array, column in chosen.items()
            if array != column or array not in self.positional
        )
        return attrs.evolve(self, columns=pairs)


@attrs.frozen(kw_only=True, slots=False)
class CollectionConfig:
    """The names of a collection and the member of each; equal ones can merge. Made by `of`.

    The members of a collection within another are listed beside the others, as ``outer/inner``.
    """

    SUMMARY = "Count one batch with many accumulators, all of them or none."

    names: tuple[str, ...]
    members: tuple[Member, ...]

    @classmethod
    def of(cls, *, names: Sequence[str], members: Sequence[Member]) -> Self:
        """Check how many there are, and that they fit a header."""
        if not 1 <= len(names) <= MAX_MEMBERS:
            raise InvalidInputError(
                f"must be from 1 to {MAX_MEMBERS} accumulators, got {len(names)}",
                argument="members",
            )
        config = cls(names=tuple(names), members=tuple(members))
        deepest = max(names, key=lambda name: name.count(SEPARATOR))
        if deepest.count(SEPARATOR) >= MAX_DEPTH:
            raise InvalidInputError(
                f"must be collections in collections at most {MAX_DEPTH} deep, got {deepest!r}",
                argument="members",
            )
        columns = (column for part in config.parts for _, column in part.columns)
        characters = sum(map(len, names)) + sum(map(len, columns))
        if characters > MAX_CHARACTERS:
            raise InvalidInputError(
                f"must have names and columns of at most {MAX_CHARACTERS} characters together, "
                f"got {characters}",
                argument="members",
            )
        return config

    @cached_property
    def parts(self) -> tuple[Member, ...]:
        """The distinct members, in the order of their first names."""
        return tuple(dict.fromkeys(self.members))

    @cached_property
    def part_indices(self) -> tuple[int, ...]:
        """The index of the part of each name."""
        position = {part: number for number, part in enumerate(self.parts)}
        return tuple(position[member] for member in self.members)

    @cached_property
    def part_index_of(self) -> dict[str, int]:
        """The same, by name."""
        return dict(zip(self.names, self.part_indices, strict=True))

    @cached_property
    def part_names(self) -> tuple[str, ...]:
        """The first name of each part."""
        return tuple(names[0] for names in self.names_of_parts)

    @property
    def names_of_parts(self) -> Iterable[list[str]]:
        """All names of each part."""
        found: dict[int, list[str]] = {}
        for name, position in zip(self.names, self.part_indices, strict=True):
            found.setdefault(position, []).append(name)
        return found.values()

    @property
    def shared(self) -> tuple[tuple[str, ...], ...]:
        """The names that are counted once together."""
        return tuple(tuple(names) for names in self.names_of_parts if len(names) > 1)

    @property
    def top_names(self) -> tuple[str, ...]:
        """The names of the members; some may be collections."""
        return tuple(dict.fromkeys(name.partition(SEPARATOR)[0] for name in self.names))

    def within(self, name: str) -> Self | None:
        """Find the configuration of a member that is a collection; None if there is none."""
        start = name + SEPARATOR
        inner = {
            path.removeprefix(start): member
            for path, member in zip(self.names, self.members, strict=True)
            if path.startswith(start)
        }
        if not inner:
            return None
        return attrs.evolve(self, names=tuple(inner), members=tuple(inner.values()))

    def check_names(self) -> None:
        """Raise `CorruptStateError` unless a mapping of mappings has these names in this order."""
        seen: set[str] = set()
        opened: list[str] = []
        for name in self.names:
            *outer, last = name.split(SEPARATOR)
            require(all((*outer, last)), "a name that is empty")
            canonical_name(name, name="names")
            folders = [SEPARATOR.join(outer[: depth + 1]) for depth in range(len(outer))]
            new = {name, *(folder for folder in folders if folder not in opened)}
            require(not new & seen, "names twice, or apart")
            seen |= new
            opened = folders
