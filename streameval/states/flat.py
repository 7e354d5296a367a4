"""The states of many groups with one configuration, as flat columns."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt

from streameval.errors import CorruptStateError, require
from streameval.exact.fixed_point import FixedPoint
from streameval.states import codec
from streameval.states.column import Column
from streameval.states.fields import bases, check_values, field_types, fields_of
from streameval.states.narrow import narrowed
from streameval.states.state import State

__all__ = ["FlatStates"]

Integers = npt.NDArray[np.integer[Any]]

_ARRAYS = {"FixedPoint": ("whole", "fraction"), "Column": ("int64", "uint64", "text")}
_LETTERS = {"whole": "u", "fraction": "u", "int64": "i", "uint64": "u"}


@attrs.frozen(eq=False)
class _Field:
    """One field of all states.

    Parameters
    ----------
    name, type_name : str
        Of the field.
    forms : tuple
        What the field is but for its items: shape and presence of fractions of numbers, type
        and length of a column, or a value that has no items. Each once, in the order of their
        JSON.
    codes : array of unsigned integers, shape (S,)
        The index among the forms of each state.
    arrays : mapping of arrays
        The items of all states, one after the other, as narrow as they can be.
    """

    name: str
    type_name: str
    forms: tuple[Any, ...]
    codes: Integers
    arrays: Mapping[str, npt.NDArray[Any]]
    ends: Mapping[str, npt.NDArray[np.int64]] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        sizes = self.sizes_of_forms()
        ends = {array: np.append(0, np.cumsum(sizes[array][self.codes])) for array in self.arrays}
        object.__setattr__(self, "ends", ends)

    def sizes_of_forms(self) -> dict[str, npt.NDArray[np.int64]]:
        """Count the items that a state of each form has in each array."""
        sizes = [_sizes(self.type_name, form) for form in self.forms]
        return {
            array: np.array([one.get(array, 0) for one in sizes], dtype=np.int64)
            for array in self.arrays
        }

    def value(self, index: int, base: Any) -> Any:
        """Make the field of one state; `base` is the column that it stands above."""
        form = self.forms[self.codes[index]]
        if not self.arrays:
            return form
        items = {name: self.arrays[name][self._slice(name, index)] for name in _names(form)}
        if self.type_name == "FixedPoint":
            wide = (array.astype(np.int64).reshape(form[1]) for array in items.values())
            return FixedPoint(*wide)
        (values,) = items.values()
        if form[0] == "text":
            return Column(values)
        wide = values.astype(form[0])
        return Column(wide if base is None else wide + base.values)

    def _slice(self, array: str, index: int) -> slice:
        ends = self.ends[array]
        return slice(int(ends[index]), int(ends[index + 1]))


@attrs.frozen(eq=False)
class FlatStates:
    """States of one class and one configuration, field after field.

    It takes the memory of the numbers alone, each as narrow as the widest of its field.

    Parameters
    ----------
    state_type : type
        The class of the states.
    config : object
        Their configuration.
    """

    state_type: type[State]
    config: Any
    _fields: tuple[_Field, ...]

    @classmethod
    def of(
        cls, config: Any, states: Sequence[State], state_type: type[State] | None = None
    ) -> Self:
        """Hold states, in their order; only if there are none must their class be named."""
        state_type = type(states[0]) if state_type is None else state_type
        made = []
        base = bases(state_type)
        for name, type_name in field_types(state_type).items():
            values = [getattr(state, name) for state in states]
            starts = None if name not in base else [getattr(one, base[name]) for one in states]
            made.append(_flattened(name, type_name, values, starts))
        return cls(state_type, config, tuple(made))

    def __len__(self) -> int:
        """Give the number of states."""
        return len(self._fields[0].codes)

    def __iter__(self) -> Iterator[State]:
        """Make one state after the other."""
        return map(self.state, range(len(self)))

    def state(self, index: int) -> State:
        """Make the state at an index, equal to the one that was put in."""
        base = bases(self.state_type)
        values: dict[str, Any] = {}
        for field in self._fields:
            start = values[base[field.name]] if field.name in base else None
            values[field.name] = field.value(index, start)
        return self.state_type(**values)

    def totals(self) -> FixedPoint:
        """Give `n` of each state: a vector."""
        field = self._fields[0]
        whole = field.arrays["whole"].astype(np.int64)
        has_fraction = np.array([form[0] for form in field.forms], dtype=bool)[field.codes]
        if not has_fraction.any():
            return FixedPoint(whole)
        fraction = np.zeros(len(self), dtype=np.int64)
        fraction[has_fraction] = field.arrays["fraction"]
        return FixedPoint(whole, fraction)

    @property
    def nbytes(self) -> int:
        """The memory that the columns take, but for what texts take beside."""
        return sum(
            field.codes.nbytes
            + sum(array.nbytes for array in field.arrays.values())
            + sum(ends.nbytes for ends in field.ends.values())
            for field in self._fields
        )

    def fields(self) -> dict[str, Any]:
        """Give what `codec.encode` writes: the columns of each field, by names of their own."""
        written: dict[str, Any] = {}
        for field in self._fields:
            texts = np.array([*map(codec.to_json, field.forms), None], dtype=object)[:-1]
            several = len(field.forms) > 1
            written[f"{field.name}.forms"] = Column(texts)
            written[f"{field.name}.codes"] = Column(field.codes if several else field.codes[:0])
            for array, values in field.arrays.items():
                written[f"{field.name}.{array}"] = Column(values)
        return written

    def encode(self) -> bytes:
        """Write the states but for their configuration; equal states give equal bytes."""
        return codec.encode_block(self.fields())

    @classmethod
    def decode(cls, state_type: type[State], config: Any, data: bytes | memoryview) -> Self:
        """Read what `encode` wrote, and check every state."""
        return cls.read(state_type, config, codec.decode_block(cls.names(state_type), data))

    @classmethod
    def names(cls, state_type: type[State]) -> list[str]:
        """List the names of `fields`, in their order."""
        return [
            f"{name}.{part}"
            for name, type_name in field_types(state_type).items()
            for part in ("forms", "codes", *_ARRAYS.get(type_name, ()))
        ]

    @classmethod
    def read(cls, state_type: type[State], config: Any, written: Mapping[str, Any]) -> Self:
        """Make states of `fields` that were read from bytes, and check each of them.

        Raises
        ------
        CorruptStateError
            When examples could not have built a state; the message says which.
        """
        size: int | None = None
        made = []
        for name, type_name in field_types(state_type).items():
            parts = {part: written[f"{name}.{part}"] for part in ("forms", "codes")}
            arrays = {array: written[f"{name}.{array}"] for array in _ARRAYS.get(type_name, ())}
            made.append(_read_field(name, type_name, parts, arrays, size))
            size = len(made[0].codes)
        read = cls(state_type, config, tuple(made))
        for index in range(len(read)):
            try:
                state = read.state(index)
                check_values(fields_of(state))
                state.check(config)
            except CorruptStateError as error:
                raise error.within(f"state {index}") from None
        return read


def _flattened(name: str, type_name: str, values: Sequence[Any], starts: Any) -> _Field:
    forms = [_form(value) for value in values]
    # the text tells 1 from True, and 0.0 from -0.0
    keys = forms if type_name in _ARRAYS else [codec.to_json(form) for form in forms]
    by_text = {
        codec.to_json(form): key for key, form in dict(zip(keys, forms, strict=True)).items()
    }
    code_of = {by_text[text]: code for code, text in enumerate(sorted(by_text))}
    codes = np.fromiter((code_of[key] for key in keys), dtype=np.uint64, count=len(keys))
    form_of = dict(zip(keys, forms, strict=True))
    ordered = tuple(form_of[key] for key in code_of)
    items: dict[str, list[Any]] = {array: [] for array in _ARRAYS.get(type_name, ())}
    for index, (value, form) in enumerate(zip(values, forms, strict=True)):
        if type_name == "FixedPoint":
            items["whole"].append(value.whole.ravel())
            if value.fraction is not None:
                items["fraction"].append(value.fraction.ravel())
        elif type_name == "Column":
            own = value.values if starts is None else value.values - starts[index].values
            items[form[0]].append(own)
    arrays = {array: _joined(array, parts) for array, parts in items.items()}
    return _Field(name, type_name, ordered, narrowed(codes), arrays)


def _joined(array: str, parts: list[Any]) -> npt.NDArray[Any]:
    if array == "text":
        return np.concatenate([np.zeros(0, dtype=object), *parts])
    letter = _LETTERS[array]
    joined = np.concatenate([np.zeros(0, dtype="i8"), *parts]) if letter == "i" else None
    if joined is None:
        own = [part.view(np.uint64) for part in parts]
        joined = np.concatenate([np.zeros(0, dtype="u8"), *own])
    return narrowed(joined)


def _form(value: Any) -> Any:
    if isinstance(value, FixedPoint):
        return value.fraction is not None, value.shape
    if isinstance(value, Column):
        return value.kind, len(value)
    return value


def _names(form: Any) -> tuple[str, ...]:
    """Name the arrays that a value of a form has items in."""
    if isinstance(form[0], str):
        return (form[0],)
    return ("whole", "fraction") if form[0] else ("whole",)


def _sizes(type_name: str, form: Any) -> dict[str, int]:
    """Count the items of a value of a form in each array."""
    if type_name not in _ARRAYS:
        return {}
    size = form[1] if type_name == "Column" else math.prod(form[1])
    return dict.fromkeys(_names(form), size)


def _read_field(
    name: str,
    type_name: str,
    parts: Mapping[str, Any],
    columns: Mapping[str, Any],
    size: int | None,
) -> _Field:
    """Check that columns hold what forms and codes say, and no more."""
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
    sizes = [_sizes(type_name, form) for form in forms]
    for array, values in arrays.items():
        total = sum(count * one.get(array, 0) for count, one in zip(counts, sizes, strict=True))
        require(total == len(values), f"{name} declares other than there is")
    return _Field(name, type_name, forms, narrowed(codes), arrays)


def _read_form(text: str, name: str, type_name: str, arrays: Mapping[str, Any]) -> Any:
    try:
        form = codec.from_json(json.loads(text))
    except (ValueError, RecursionError):
        raise CorruptStateError(f"state is corrupt: {name} is not JSON.") from None
    require(codec.to_json(form) == text, f"{name} is not in canonical form")
    if type_name not in _ARRAYS:
        require(type(form).__name__ == type_name, f"field {name}")
        return form
    require(isinstance(form, tuple) and len(form) == 2, f"form of {name}")
    most = max(map(len, arrays.values()))
    if type_name == "Column":
        is_form = isinstance(form[0], str) and form[0] in arrays and _is_size(form[1], most)
    else:
        is_form = type(form[0]) is bool and isinstance(form[1], tuple)
        is_form = is_form and len(form[1]) <= codec.MAX_DIMENSIONS
        is_form = is_form and all(_is_size(one, most) for one in form[1])
    require(is_form, f"form of {name}")
    return form


def _is_size(value: Any, most: int) -> bool:
    return type(value) is int and 0 <= value <= most
