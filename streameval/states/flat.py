"""The states of many groups with one configuration, as flat columns."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self

import attrs
import numpy as np

from streameval.errors import CorruptStateError, require
from streameval.exact.array_types import Array
from streameval.exact.fixed_point import FixedPoint
from streameval.states import codec
from streameval.states.column import Column
from streameval.states.narrow import narrowed
from streameval.states.runs import chunks, stable_order
from streameval.states.stack import PARTS, Stack, StackableState, SummableState
from streameval.states.state import (
    READ_ERRORS,
    State,
    as_corrupt,
    bases,
    check_values,
    field_types,
    fields_of,
    make_state,
    omitted_defaults,
)

Add = Callable[[Sequence[Any]], Any]
"""Adds up several states of one configuration."""

_CHUNK = 2**16  # items checked at once: more would need memory and exceed the cache
_SUMMED = 2**19  # items added up at once
_LETTERS = {"whole": "u", "fraction": "u", "int64": "i", "uint64": "u"}
_EMPTY = {part: Column(np.zeros(0, dtype=f"{letter}1")) for part, letter in _LETTERS.items()}
_EMPTY["text"] = Column(np.zeros(0, dtype=object))


@attrs.frozen(eq=False)
class FlatStates:
    """States of one class and one configuration, field after field.

    Memory holds only the numbers, in the narrowest type that fits the widest number of a field.

    Parameters
    ----------
    state_type : type
        The class of the states.
    config : object
        The configuration that they share.

    Notes
    -----
    Bytes are a *block*: the length of a header in u64, the header, and a payload. The header is
    JSON that describes columns as elsewhere; each field, in order, has some of these:

    - ``n.forms``, text: the different forms of the field as canonical JSON, each once, in their
      order as text: of numbers, whether there are fractions, and the shape, ``[false,[2,2]]``; of a
      column, its type and length, ``["int64",3]``; of a label or a sum of floats, its value.
    - ``n.codes``, uint64: the index of the form of each state; no items if all forms are the same.
    - ``n.whole`` and ``n.fraction``, uint64: the numbers of all states, one after another. The
      number of states is that of the items of the first one.
    - ``n.int64``, ``n.uint64`` and ``n.text``: columns likewise, by type; one that is relative to
      another is stored so.
    """

    state_type: type[State]
    config: Any
    _fields: dict[str, Stack]

    @classmethod
    def of(
        cls, config: Any, states: Sequence[State], state_type: type[State] | None = None
    ) -> Self:
        """Store states in their order; without states, the class must be passed."""
        state_type = type(states[0]) if state_type is None else state_type
        stacks = {
            name: Stack.of_each([getattr(state, name) for state in states])
            for name in field_types(state_type)
        }
        return cls.of_stacks(config, stacks, state_type)

    @classmethod
    def of_stacks(cls, config: Any, stacks: Mapping[str, Stack], state_type: type[State]) -> Self:
        """Store states, given by their fields."""
        base = bases(state_type)
        made = {
            name: stacks[name].stored(stacks.get(base.get(name, "")))
            for name in field_types(state_type)
        }
        return cls(state_type, config, made)

    @classmethod
    def concatenated(cls, parts: Sequence[Self]) -> Self:
        """List the states of several, all of one class and configuration."""
        if len(parts) == 1:
            return parts[0]
        return parts[0]._with(
            {
                name: Stack.concatenated([part._fields[name] for part in parts])
                for name in parts[0]._fields
            }
        )

    def _with(self, fields: dict[str, Stack]) -> Self:
        return type(self)(self.state_type, self.config, fields)

    def taken(self, indices: Array) -> Self:
        """Copy some states, in the order of the indices."""
        return self._with({name: field.taken(indices) for name, field in self._fields.items()})

    def summed(self, groups: Array, n_groups: int, add: Add) -> Self:
        """Add up the states of each group; no group is empty.

        Parameters
        ----------
        groups : int array, shape (S,)
            The group of each state.
        n_groups : int
            The number of groups.
        add : callable
            Adds up states that are not a `SummableState`, as objects.

        Raises
        ------
        IncompatibleStateError
            When two states of a group cannot be added.
        CountOverflowError
            When a total would pass 2**63 - 1.
        """
        sizes = np.bincount(groups, minlength=n_groups)
        is_ordered = bool((groups[1:] >= groups[:-1]).all())
        order = None if is_ordered else stable_order(groups, n_groups)
        if issubclass(self.state_type, SummableState) and len(self) > n_groups:
            return self._sum_runs(sizes, order)
        ordered = self if order is None else self.taken(order)
        return ordered if len(self) == n_groups else ordered._added(sizes, add)

    def _sum_runs(self, sizes: Array, order: Array | None = None) -> Self:
        """Add up runs of states in columns, a few at a time, because temporaries are wide."""
        step = max(2, self.n_states_of(_SUMMED))
        edges = np.append(0, np.cumsum(sizes))
        parts: list[Self] = []
        for first, last in chunks(sizes, step):
            start, end = int(edges[first]), int(edges[last])
            if end - start <= step:
                parts.append(self._sum_of(start, end, sizes[first:last], order))
                continue
            runs = itertools.pairwise([*range(start, end, step), end])
            pieces = [self._sum_of(*run, np.diff(run), order) for run in runs]
            parts.append(self.concatenated(pieces)._sum_runs(np.array([len(pieces)])))
        return self.concatenated(parts)

    def _sum_of(self, start: int, end: int, sizes: Array, order: Array | None) -> Self:
        """Add up runs of neighbouring states, or of neighbours in an order."""
        summed: Any = self.state_type
        chunk = self if order is None else self.taken(order[start:end])
        span = range(start, end) if order is None else range(end - start)
        stacks = summed.sum_all(self.config, chunk._stacks(span), sizes)
        return self.of_stacks(self.config, stacks, self.state_type)

    def n_states_of(self, limit: int) -> int:
        """Return how many states have a number of items on average."""
        return limit * len(self) // max(1, self.n_items)

    @property
    def n_items(self) -> int:
        """The number of items of all states."""
        return sum(len(items) for one in self._fields.values() for items in one.parts.values())

    def _added(self, sizes: Array, add: Add) -> Self:
        """Add up runs of states as objects; a single state is kept."""
        ends = np.cumsum(sizes)
        alone = ends[sizes == 1] - 1
        runs = zip((ends - sizes)[sizes > 1].tolist(), ends[sizes > 1].tolist(), strict=True)
        sums = [add([self.state(index) for index in range(*run)]) for run in runs]
        both = self.concatenated([self.taken(alone), self.of(self.config, sums, self.state_type)])
        return both.taken(np.argsort(np.argsort(sizes > 1, kind="stable")))

    def __len__(self) -> int:
        """Return the number of states."""
        return len(self._fields["n"])

    def __iter__(self) -> Iterator[State]:
        """Yield the states one by one."""
        return map(self.state, range(len(self)))

    def state(self, index: int) -> State:
        """Make the state at an index, equal to the one that was put in."""
        base = bases(self.state_type)
        values: dict[str, Any] = {}
        for name, field in self._fields.items():
            values[name] = field.value(index, values[base[name]] if name in base else None)
        made: State = make_state(self.state_type, values)
        return made

    def states(self, indices: Sequence[int]) -> list[State]:
        """Make the states at some indices; where their class supports it, they share memory."""
        if not issubclass(self.state_type, StackableState):
            return [*map(self.state, indices)]
        stacks = self.taken(np.array(indices))._stacks(range(len(indices)))
        columns = {name: list(stack) for name, stack in stacks.items()}
        for name, below in bases(self.state_type).items():
            if np.array_equal(stacks[name].items, stacks[below].items):
                columns[name] = columns[below]  # cells of one score each need no second look
        rows = zip(*columns.values(), strict=True)
        return [make_state(self.state_type, dict(zip(columns, row, strict=True))) for row in rows]

    def weight(self, index: int) -> int | float:
        """Return the `n` of one state."""
        weight: FixedPoint = self._fields["n"].value(index)
        return weight.to_number()

    def weights(self, owners: Array, n_owners: int) -> list[FixedPoint]:
        """Add up the `n` of the states of each owner: one vector, as there is one thing counted."""
        if not len(self):
            return [FixedPoint.zeros(n_owners)]
        n = self._fields["n"].between(0, len(self), None).items
        return [n.scatter(owners, n_owners)]

    def numbers(self) -> dict[str, Array]:
        """Return the fields whose numbers have one shape in all states, as arrays (S, ...)."""
        found = {}
        for name, field in self._fields.items():
            shapes = {form[1] for form in field.forms} if "whole" in field.parts else ()
            if len(shapes) == 1:
                stack = field.between(0, len(self), None)
                found[name] = stack.items.reshape(len(self), *shapes.pop()).to_numbers()
        return found

    @property
    def nbytes(self) -> int:
        """The memory of the columns, without the text objects that they refer to."""
        return sum(field.nbytes for field in self._fields.values())

    def fields(self) -> dict[str, Any]:
        """Return the columns that `codec.encode` writes, by field and part."""
        written: dict[str, Any] = {}
        defaults = omitted_defaults(self.state_type)
        types = field_types(self.state_type)
        for name, field in self._fields.items():
            if name not in defaults or not field.is_all(defaults[name]):
                written |= _written(name, types[name], field)
        return written

    def encode(self) -> bytes:
        """Write the states without their configuration; equal states give equal bytes."""
        return codec.encode_block(self.fields())

    @classmethod
    def decode(
        cls,
        state_type: type[State],
        config: Any,
        data: bytes | memoryview,
        errors: tuple[type[Exception], ...] = READ_ERRORS,
    ) -> Self:
        """Read what `encode` wrote, and check every state, as `read` does."""
        types = field_types(state_type)
        omitted = omitted_defaults(state_type)
        optional = {part for name in omitted for part in _parts_of(name, types[name])}
        written = codec.decode_block(cls.names(state_type), data, optional=optional)
        return cls.read(state_type, config, written, errors)

    @classmethod
    def names(cls, state_type: type[State]) -> list[str]:
        """List the names of `fields`, in their order, those of omitted fields too."""
        types = field_types(state_type).items()
        return [part for name, type_name in types for part in _parts_of(name, type_name)]

    @classmethod
    def read(
        cls,
        state_type: type[State],
        config: Any,
        written: Mapping[str, Any],
        errors: tuple[type[Exception], ...] = READ_ERRORS,
    ) -> Self:
        """Make states from `fields` that were read from bytes, and check every state.

        Parameters
        ----------
        state_type, config : type and object
            The class of the states, and their configuration.
        written : mapping
            The `fields` of the states.
        errors : tuple of exceptions
            The errors that the check of a hostile state can raise; for a user's class, any error.

        Raises
        ------
        CorruptStateError
            When examples could not have built a state; the message says which.
        """
        size: int | None = None
        made: dict[str, Stack] = {}
        base, defaults = bases(state_type), omitted_defaults(state_type)
        for name, type_name in field_types(state_type).items():
            parts = _parts_of(name, type_name)
            if size is not None and name in defaults and written.keys().isdisjoint(parts):
                one = Stack.of_each([defaults[name]] * min(size, 1))
                field = one.taken(np.zeros(size, dtype=np.intp))
            else:
                field = _read_field(name, type_name, written, size)
                is_omitted = name in defaults and field.is_all(defaults[name])
                require(not is_omitted, f"{name} holds nothing")
            size = len(field)
            if name in base:
                start = made[base[name]]
                is_key = all(form[0] == "uint64" for form in (*field.forms, *start.forms))
                fits = is_key and np.array_equal(field.lengths, start.lengths)
                require(fits, f"{name} stands above a column of another length")
            made[name] = field
        read = cls(state_type, config, made)
        read._check(errors)
        return read

    def _check(self, errors: tuple[type[Exception], ...]) -> None:
        """Check every state, many at once where their class supports it."""
        step = max(1, self.n_states_of(_CHUNK))
        for first in range(0, len(self), step):
            chunk = range(first, min(first + step, len(self)))
            if not issubclass(self.state_type, StackableState):
                self._check_each(chunk, errors)
                continue
            try:
                self.state_type.check_all(self.config, self._stacks(chunk))
            except errors:
                self._check_each(chunk, errors)  # raises with the position
                raise

    def _check_each(self, chunk: range, errors: tuple[type[Exception], ...]) -> None:
        for index in chunk:
            try:
                state = self.state(index)
                check_values(fields_of(state))
                state.check(self.config)
            except errors as error:
                raise as_corrupt(error).within(f"state {index}") from error

    def _stacks(self, chunk: range) -> dict[str, Stack]:
        base = bases(self.state_type)
        stacks: dict[str, Stack] = {}
        for name, field in self._fields.items():
            start = stacks[base[name]] if name in base else None
            stacks[name] = field.between(chunk.start, chunk.stop, start)
        return stacks


def _written(name: str, type_name: str, field: Stack) -> dict[str, Column]:
    """Return the columns that bytes hold: only forms that a state has, sorted by their text."""
    text_by_id = {id(form): _text(form) for form in field.forms}
    texts = [text_by_id[id(form)] for form in field.forms]
    is_used = np.bincount(field.codes, minlength=len(texts)).tolist()
    ordered = sorted({text for text, count in zip(texts, is_used, strict=True) if count})
    code_by_text = {text: code for code, text in enumerate(ordered)}
    codes = field.codes[:0]
    if len(ordered) > 1:
        code_of = [code_by_text.get(text, 0) for text in texts]
        codes = np.array(code_of, dtype=np.uint64)[field.codes]
    forms = np.array([*ordered, None], dtype=object)[:-1]
    columns = {"forms": Column(forms), "codes": Column(codes)}
    columns |= {part: _EMPTY[part] for part in PARTS.get(type_name, ())}
    columns |= {part: Column(items) for part, items in field.parts.items()}
    return {f"{name}.{part}": column for part, column in columns.items()}


def _parts_of(name: str, type_name: str) -> list[str]:
    """Name the columns that hold a field of all states."""
    return [f"{name}.{part}" for part in ("forms", "codes", *PARTS.get(type_name, ()))]


def _text(form: Any) -> str:
    return codec.canonical_json(codec.to_json(form))


def _read_field(name: str, type_name: str, written: Mapping[str, Any], size: int | None) -> Stack:
    """Check that columns hold exactly what forms and codes declare."""
    require(written.keys() >= {*_parts_of(name, type_name)}, f"{name} lacks a part")
    parts = {part: written[f"{name}.{part}"] for part in ("forms", "codes")}
    columns = {array: written[f"{name}.{array}"] for array in PARTS.get(type_name, ())}
    is_column = all(isinstance(part, Column) for part in (*parts.values(), *columns.values()))
    require(is_column and parts["forms"].kind == "text", name)
    texts, codes = parts["forms"].values.tolist(), parts["codes"].values
    require(codes.dtype.kind == "u", name)
    require(all(a < b for a, b in itertools.pairwise(texts)), f"{name}: forms are out of order")
    arrays = {}
    for array, column in columns.items():
        is_text = column.values.dtype == object
        fits = is_text if array == "text" else column.values.dtype.kind == _LETTERS[array]
        require(fits, f"{name}: {array}")
        arrays[array] = column.values if is_text else narrowed(column.values)
    forms = tuple(_read_form(text, name, type_name, arrays) for text in texts)
    if size is None:  # the first field is n, a number for each state
        require(all(type_name == "FixedPoint" and form[1] == () for form in forms), name)
        size = len(arrays["whole"])
    if len(forms) <= 1:
        require(len(codes) == 0 and len(forms) == min(size, 1), name)
        codes = np.zeros(size, dtype=np.uint8)
    require(len(codes) == size, f"{name}: codes")
    require(not len(codes) or int(codes.max()) < len(forms), f"{name}: codes")
    counts = np.bincount(codes.astype(np.intp), minlength=len(forms)).tolist()
    require(all(counts), f"{name}: a form that no state has")
    field = Stack(forms, narrowed(codes), arrays)
    for part, items in arrays.items():
        pairs = zip(counts, field.sizes(part), strict=True)
        total = sum(count * size for count, size in pairs)
        require(total == len(items), f"{name} declares other than there is")
    return field


def read_json(text: str, name: str) -> Any:
    """Read a value that is written as JSON."""
    try:
        return codec.from_json(json.loads(text))
    except (ValueError, RecursionError):
        raise CorruptStateError(f"state is corrupt: {name} is not JSON.") from None


def _read_form(text: str, name: str, type_name: str, arrays: Mapping[str, Any]) -> Any:
    form = read_json(text, name)
    require(_text(form) == text, f"{name} is not in canonical form")
    if type_name not in PARTS:
        require(type(form).__name__ == type_name, f"field {name}")
        return form
    require(isinstance(form, tuple) and len(form) == 2, f"form of {name}")
    limit = max(map(len, arrays.values()))
    if type_name == "Column":
        is_form = isinstance(form[0], str) and form[0] in arrays and _is_size(form[1], limit)
    else:
        is_form = type(form[0]) is bool and isinstance(form[1], tuple)
        is_form = is_form and len(form[1]) <= codec.MAX_DIMENSIONS
        is_form = is_form and all(_is_size(one, limit) for one in form[1])
    require(is_form, f"form of {name}")
    return form


def _is_size(value: Any, limit: int) -> bool:
    return type(value) is int and 0 <= value <= limit
