"""States by parts of the data: a part delivered twice counts once."""

from __future__ import annotations

import hashlib
import itertools
import json
import operator
import os
from collections.abc import Iterable, Iterator
from typing import Any, Self, cast, final

import attrs
import numpy as np

from streameval.accumulators.base import Accumulator, merged
from streameval.accumulators.classes import single_class
from streameval.errors import (
    CorruptStateError,
    IncompatibleStateError,
    InvalidInputError,
    StreamevalError,
    require,
)
from streameval.exact.fixed_point import FixedPoint
from streameval.inputs.values import order_of
from streameval.states import codec
from streameval.states.column import Column
from streameval.states.state import READ_ERRORS, as_corrupt

Item = int | str
PartId = Item | tuple[Item, ...]

_MAX_ITEMS = 16
_MAX_CHARACTERS = 4096
_JSON = json.JSONEncoder(separators=(",", ":"))


def canonical_part_id(value: Any) -> PartId:
    """Return the one form of a part id: text, an integer, or a tuple of two or more of these.

    A path is its text, a list is a tuple, and a tuple of one item is that item: two ways to write
    one id must not count its part twice.
    """
    if not isinstance(value, (tuple, list)):
        return _item(value)
    if not 0 < len(value) <= _MAX_ITEMS:
        raise InvalidInputError(
            f"must be text, an integer, or a tuple of 1 to {_MAX_ITEMS} of these, got {value!r}",
            argument="part_id",
        )
    items = tuple(_item(item) for item in value)
    return items[0] if len(items) == 1 else items


def text_of_part_id(part_id: PartId) -> str:
    """Write a canonical id as JSON in ASCII."""
    return _JSON.encode(part_id)


def part_id_of_text(text: str) -> PartId:
    """Read what `text_of_part_id` wrote, and nothing else."""
    try:
        part_id = canonical_part_id(json.loads(text))
        is_canonical = text_of_part_id(part_id) == text
    except (ValueError, RecursionError):
        raise CorruptStateError("state is corrupt: the id of a part.") from None
    require(is_canonical, "the id of a part")
    return part_id


def _item(value: Any) -> Item:
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, str):
        if len(value) > _MAX_CHARACTERS:
            raise InvalidInputError(
                f"must have texts of at most {_MAX_CHARACTERS} characters, got {len(value)}",
                argument="part_id",
            )
        return str.__str__(value)  # str() of an Enum member is its name
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise InvalidInputError(
            f"must be text, an integer, or a tuple of these, got {value!r}", argument="part_id"
        )
    if not -(2**63) <= number < 2**63:
        raise InvalidInputError("must have integers that fit 64 bits", argument="part_id")
    return number


_DIGEST_BYTES = 16
_DIGEST_WORDS = _DIGEST_BYTES // 8
_LISTED = 2  # ids of a fold in a message


@attrs.frozen(eq=False)
class _Fold:
    """The sum of two or more parts, and the digest of each part's state by id, in order."""

    digests: dict[PartId, bytes]
    total: Accumulator[Any, Any]

    def __str__(self) -> str:
        ids = ", ".join(map(repr, itertools.islice(self.digests, _LISTED)))
        rest = len(self.digests) - _LISTED
        return f"the fold of {ids}{f' and {rest:,} more' if rest else ''}"


@final
class Parts:
    """A map from the ids of parts of the data to their states; each part counts once.

    Merging is a union: associative, commutative and idempotent, so that a part delivered twice,
    a message sent again, or a checkpoint merged with its own successor changes nothing. Two
    states under one id are refused.

    Notes
    -----
    An id is text, such as the name of a file; an integer; or a tuple of these, such as topic,
    partition and offset. A path counts as its text, a tuple of one item as the item. Ids must
    say what was counted: the same id with other rows is refused, but the same rows under
    another id count twice.

    The states have one class and equal options. Two states are equal if they have counted the
    same, whatever release wrote their bytes. All states stay in memory; `fold` sums parts that
    are complete.

    Examples
    --------
    >>> import streameval as se
    >>> monday = se.ConfusionAccumulator().update([1, 0], [1, 1])
    >>> tuesday = se.ConfusionAccumulator().update([1, 1], [1, 1])
    >>> parts = se.Parts().add("monday.jsonl", monday).add("tuesday.jsonl", tuesday)
    >>> again = se.Parts().add("monday.jsonl", monday)
    >>> parts.merge(again, again)
    Parts(2 parts)
    >>> parts.total().compute().accuracy
    0.75
    >>> parts.add("monday.jsonl", tuesday)
    Traceback (most recent call last):
    streameval.errors.IncompatibleStateError: cannot merge: part 'monday.jsonl' has two states. \
Count it again under one id, or give each an id of its own.
    """

    __slots__ = ("_folded", "_single")

    type_id = 11
    type_name = "Parts"
    __hash__ = None  # type: ignore[assignment]

    _single: dict[PartId, Accumulator[Any, Any]]
    _folded: dict[PartId, _Fold]

    # The accumulators are never changed, so copies and unions share them.

    def __init__(self) -> None:
        self._single = {}
        self._folded = {}

    def add(self, part_id: Any, accumulator: Accumulator[Any, Any]) -> Self:
        """Add the state of one part, unless it is there already.

        Parameters
        ----------
        part_id : str, int, path, or tuple of str and int
            The part of the data that was counted.
        accumulator : Accumulator
            An accumulator that has counted this part and nothing else. It is copied.

        Returns
        -------
        The parts themselves.

        Raises
        ------
        IncompatibleStateError
            When the part already has another state, or the other parts have another class or
            options. Then nothing has changed.
        """
        name = canonical_part_id(part_id)
        if not isinstance(accumulator, Accumulator):
            raise InvalidInputError(
                f"must be an accumulator, got {type(accumulator).__name__}", argument="accumulator"
            )
        self._take(name, accumulator.copy())
        return self

    def merge(self, *others: Parts) -> Self:
        """Take the union with others, all or nothing; the others do not change.

        The result is the same in any order and grouping, however often each is merged. A
        fold absorbs the parts that it was made of.

        Returns
        -------
        The parts themselves.

        Raises
        ------
        IncompatibleStateError
            When two states have one id, when two different folds share a part, or when classes or
            options differ. Then nothing has changed.
        """
        union = self.copy()
        for other in others:
            if not isinstance(other, Parts):
                raise InvalidInputError(
                    f"must be Parts, got {type(other).__name__}", argument="others"
                )
            for fold in other._folds():
                union._take_fold(fold)
            for name, accumulator in other._single.items():
                union._take(name, accumulator)
        self._single, self._folded = union._single, union._folded
        return self

    def __or__(self, other: Parts) -> Self:
        """Take the union as new parts; neither argument changes."""
        if not isinstance(other, Parts):
            return NotImplemented
        return self.copy().merge(other)

    def __ior__(self, other: Parts) -> Self:
        """Take the union in place."""
        if not isinstance(other, Parts):
            return NotImplemented
        return self.merge(other)

    def fold(self, ids: Iterable[Any]) -> Self:
        """Sum some parts into one state, and keep their ids, each with a digest of its state.

        A fold merges with the same fold, and with any of its parts, which still count once. A
        different fold that shares an id is refused, since the shared part cannot be told apart.
        So let one rule decide for all workers: fold what is closed, at fixed edges.

        Parameters
        ----------
        ids : iterable of ids
            Held parts that no other fold contains. A single one stays as it is.

        Returns
        -------
        The parts themselves.
        """
        if isinstance(ids, str):
            raise InvalidInputError(f"must be ids of parts, got the text {ids!r}", argument="ids")
        names = sorted({canonical_part_id(part_id) for part_id in ids}, key=order_of)
        if not names:
            raise InvalidInputError("must name at least one part", argument="ids")
        for name in names:
            if name not in self:
                raise InvalidInputError(f"must be of parts held, got {name!r}", argument="ids")
        held = {self._folded[name] for name in names if name in self._folded}
        for fold in held:
            if list(fold.digests) != names:
                raise InvalidInputError(f"must not overlap {fold}", argument="ids")
        if held or len(names) == 1:
            return self
        states = [self._single[name] for name in names]
        digests = {name: _digest(state) for name, state in zip(names, states, strict=True)}
        self._hold(_Fold(digests, merged(states)))
        return self

    @property
    def folds(self) -> tuple[tuple[PartId, ...], ...]:
        """The ids of each fold."""
        return tuple(tuple(fold.digests) for fold in self._folds())

    def total(self) -> Any:
        """Merge the states of all parts into a new accumulator."""
        states = [*self._single.values(), *(fold.total for fold in self._folds())]
        if not states:
            raise InvalidInputError("hold none, so there is no total", argument="parts")
        return merged(states)

    def __getitem__(self, part_id: Any) -> Any:
        """Copy the state of a part that is in no fold."""
        name = canonical_part_id(part_id)
        if name in self._folded:
            raise KeyError(f"{name!r} is in {self._folded[name]}, which has one state")
        return self._single[name].copy()

    def __iter__(self) -> Iterator[PartId]:
        """List the ids in order: item by item, integers before text."""
        return iter(sorted((*self._single, *self._folded), key=order_of))

    def __len__(self) -> int:
        """Return the number of parts."""
        return len(self._single) + len(self._folded)

    def __contains__(self, part_id: object) -> bool:
        """Tell whether a part has been counted, in a fold or not."""
        try:
            name = canonical_part_id(part_id)
        except InvalidInputError:
            return False
        return name in self._single or name in self._folded

    def __eq__(self, other: object) -> bool:
        """Tell whether parts, their states and folds are equal."""
        if not isinstance(other, Parts):
            return NotImplemented
        return (
            self._single == other._single
            and self.folds == other.folds
            and all(
                mine.digests == theirs.digests and mine.total == theirs.total
                for mine, theirs in zip(self._folds(), other._folds(), strict=True)
            )
        )

    def copy(self) -> Self:
        """Make independent parts with the same states."""
        made = type(self)()
        made._single, made._folded = dict(self._single), dict(self._folded)
        return made

    def to_bytes(self) -> bytes:
        """Write ids and states; equal parts give equal bytes."""
        return codec.encode(self.type_id, self.type_name, "{}", self._fields())

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read what `to_bytes` wrote.

        Parameters
        ----------
        data : bytes, bytearray or memoryview
            Bytes from anywhere, trusted or not, as for accumulators.

        Raises
        ------
        CorruptStateError
            When the bytes are damaged, or hold parts that could not have been added.
        UnsupportedVersionError
            When a newer release wrote them.
        IncompatibleStateError
            When they hold an accumulator.
        """
        return cls._decode(codec.split(data))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle through `to_bytes`."""
        return type(self).from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        """Show the number of parts, and how many of them are in folds."""
        folded = f", {len(self._folded):,} of them folded" if self._folded else ""
        return f"Parts({len(self):,} part{'' if len(self) == 1 else 's'}{folded})"

    def _folds(self) -> list[_Fold]:
        """List the folds in the order of their first ids."""
        return sorted({*self._folded.values()}, key=lambda fold: order_of(next(iter(fold.digests))))

    def _take(self, name: PartId, accumulator: Accumulator[Any, Any]) -> None:
        """Take the union with one part, and keep its state."""
        self._check_alike(name, accumulator)
        if name in self._folded:
            _check_digest(name, self._folded[name], accumulator)
        elif self._single.setdefault(name, accumulator) != accumulator:
            raise _two_states(name)

    def _take_fold(self, fold: _Fold) -> None:
        """Take the union with a fold; a failure may leave some of it behind."""
        names = list(fold.digests)
        self._check_alike(names[0], fold.total)
        for held in {self._folded[name] for name in names if name in self._folded}:
            if list(held.digests) != names:
                raise IncompatibleStateError(f"cannot merge: {fold} overlaps {held}.")
            differing = [name for name in names if held.digests[name] != fold.digests[name]]
            if differing:
                raise _two_states(differing[0])
            if held.total != fold.total:
                raise IncompatibleStateError(f"cannot merge: {fold} has two states.")
            return
        for name in names:
            if name in self._single:
                _check_digest(name, fold, self._single[name])
        self._hold(fold)

    def _hold(self, fold: _Fold) -> None:
        """Replace the parts of a fold by the fold."""
        for name in fold.digests:
            self._single.pop(name, None)
        self._folded |= dict.fromkeys(fold.digests, fold)

    def _check_alike(self, name: PartId, accumulator: Accumulator[Any, Any]) -> None:
        """Check that the state of a part can be added to the others."""
        totals = (fold.total for fold in self._folded.values())
        held = next(itertools.chain(self._single.values(), totals), None)
        if held is None:
            return
        try:
            held._alike(accumulator)
        except StreamevalError as error:
            raise error.within(f"part {name!r}") from None

    def _fields(self) -> dict[str, Any]:
        """Return the fields that bytes hold: parts and folds in the order of their first ids."""
        folds = self._folds()
        first = {next(iter(fold.digests)): fold for fold in folds}
        names = sorted((*self._single, *first), key=order_of)
        groups = [list(first[name].digests) if name in first else [name] for name in names]
        states = [first[name].total if name in first else self._single[name] for name in names]
        ids = [text_of_part_id(name) for group in groups for name in group]
        digests = b"".join(digest for fold in folds for digest in fold.digests.values())
        return {
            "ids": Column(np.array(ids, dtype=object)),
            "sizes": Column(np.array([len(group) for group in groups], dtype=np.int64)),
            "digests": Column(np.frombuffer(digests, dtype="<u8").astype(np.uint64)),
            "states": codec.Nested(tuple(state.to_bytes() for state in states)),
        }

    @classmethod
    def _decode(cls, parts: codec.EncodedParts) -> Self:
        if parts.type_id != cls.type_id:
            raise IncompatibleStateError(f"these bytes hold a {parts.type_name}, not Parts.")
        try:
            return cls._read(parts)
        except StreamevalError:
            raise
        except READ_ERRORS as error:
            raise as_corrupt(error) from error

    @classmethod
    def _read(cls, parts: codec.EncodedParts) -> Self:
        order = ("ids", "sizes", "digests", "states")
        fields = codec.decode_named(order, parts)
        ids, sizes, digests, states = (fields[name] for name in order)
        kinds = tuple(getattr(column, "kind", None) for column in (ids, sizes, digests))
        is_own = kinds == ("text", "int64", "uint64") and isinstance(states, codec.Nested)
        require(is_own, "the fields are not those of parts")
        parts.check_header("{}", fields)
        counts = sizes.values.tolist()
        within = all(0 < count <= len(ids) for count in counts)
        require(within and sum(counts) == len(ids), "the numbers of ids")
        require(len(counts) == len(states.items), "the number of states")
        n_folded = sum(count for count in counts if count > 1)
        require(len(digests) == _DIGEST_WORDS * n_folded, "the number of digests")
        names = iter([part_id_of_text(text) for text in ids.values])
        words = digests.values.astype("<u8").tobytes()
        pieces = (words[at : at + _DIGEST_BYTES] for at in range(0, len(words), _DIGEST_BYTES))
        made, last = cls(), None
        for count, data in zip(counts, states.items, strict=True):
            group = list(itertools.islice(names, count))
            orders = [order_of(name) for name in group]
            require(last is None or last < orders[0], "the order of parts")
            require(all(itertools.starmap(operator.lt, itertools.pairwise(orders))), "the ids")
            require(not any(name in made for name in group), "a part that is in two folds")
            last = orders[0]
            inner = codec.split(data)
            require(inner.type_id != cls.type_id, "parts in parts")
            require(inner.version == parts.version, "a state of another version")
            state = read_accumulator(inner)
            try:
                made._check_alike(group[0], state)
            except StreamevalError as error:
                require(False, str(error).rstrip("."))
            if count == 1:
                made._single[group[0]] = state
            else:
                made._hold(_Fold(dict(zip(group, pieces, strict=False)), state))
        return made


def read_accumulator(parts: codec.EncodedParts) -> Any:
    """Read an accumulator of any class from checked bytes, which imports all that hold others."""
    from streameval.accumulators.clustered import Clustered  # noqa: PLC0415
    from streameval.accumulators.collection import Collection  # noqa: PLC0415
    from streameval.accumulators.sliced import Sliced  # noqa: PLC0415
    from streameval.accumulators.windowed import Windowed  # noqa: PLC0415

    outer: dict[int, type[Accumulator[Any, Any]]]
    outer = {cls.type_id: cls for cls in (Clustered, Collection, Sliced, Windowed)}
    cls = outer.get(parts.type_id) or single_class(parts)
    return cls._decode(parts)


def _check_digest(name: PartId, fold: _Fold, accumulator: Accumulator[Any, Any]) -> None:
    if fold.digests[name] != _digest(accumulator):
        raise _two_states(name)


def _two_states(name: PartId) -> IncompatibleStateError:
    return IncompatibleStateError(
        f"cannot merge: part {name!r} has two states",
        remedy="Count it again under one id, or give each an id of its own.",
    )


def _digest(accumulator: Accumulator[Any, Any]) -> bytes:
    """Hash what an accumulator has counted, whatever version of the format wrote it.

    Folds keep these digests, so they must never change.
    """
    options, fields = accumulator._summary()
    pieces = {name: list(_pieces(value)) for name, value in fields.items()}
    scalars = [item for item in fields.items() if not pieces[item[0]]]
    described = (
        *(accumulator.type_id, accumulator.type_name),
        *(tuple(sorted(options.items())), tuple(sorted(scalars))),
    )
    made = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    made.update(codec.canonical_json(codec.to_json(described)).encode())
    for name in sorted(fields):
        for piece in pieces[name]:
            made.update(f"{name} {len(piece)} ".encode())
            made.update(piece)
    return made.digest()


def _pieces(value: Any) -> Iterator[bytes]:
    """Yield an array as bytes, its shape or type first, then its items at full width.

    An accumulator yields its digest; a value without arrays yields nothing.
    """
    if isinstance(value, FixedPoint):
        yield repr(value.shape).encode()
        yield value.whole.astype("<i8").tobytes()
        if value.fraction is not None:
            yield value.fraction.astype("<i8").tobytes()
    elif isinstance(value, Column):
        yield value.kind.encode()
        if value.kind == "text":
            yield from (text.encode() for text in value.values)
        else:
            yield value.values.astype("<u8").tobytes()
    elif isinstance(value, tuple) and value and isinstance(value[0], Accumulator):
        yield from map(_digest, value)


def merge(accumulators: Iterable[Accumulator[Any, Any] | Parts]) -> Any:
    """Merge any number of accumulators into a new one; the arguments are left untouched.

    Any order and any grouping give the same bytes. An accumulator that is given twice counts
    twice, because a state does not know which rows it has counted. If a message, a task or a
    file may arrive twice, merge `Parts`, whose union counts every part once.

    Parameters
    ----------
    accumulators : iterable of accumulators, or of Parts
        At least one, and all of one class with equal options. An iterator is consumed one by
        one, so that only the result and one argument need be in memory; a list or tuple is
        merged at once, which is faster.

    Raises
    ------
    InvalidInputError
        When there is nothing to merge.
    IncompatibleStateError
        When class or options differ.

    Examples
    --------
    >>> import streameval as se
    >>> parts = [se.ConfusionAccumulator().update([1, 0], [1, y]) for y in (0, 1)]
    >>> se.merge(parts).compute().accuracy
    0.75
    >>> se.merge([parts[0], parts[0]]).n
    4
    """
    if isinstance(accumulators, (Accumulator, Parts)):
        raise InvalidInputError(
            "must be an iterable of accumulators, got one", argument="accumulators"
        )
    given = map(_checked, accumulators)
    first = next(given, None)
    if first is None:
        raise InvalidInputError("must hold at least one accumulator", argument="accumulators")
    is_list = isinstance(accumulators, (list, tuple)) and isinstance(first, Accumulator)
    if is_list and len(set(map(type, accumulators))) == 1:
        return merged(cast("Any", accumulators))
    total = first.copy()
    for accumulator in given:
        total.merge(accumulator)
    return total


def _checked(value: Any) -> Any:
    if not isinstance(value, (Accumulator, Parts)):
        raise InvalidInputError(
            f"must hold accumulators, got {type(value).__name__}", argument="accumulators"
        )
    return value
