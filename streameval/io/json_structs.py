"""JSON lines parsed by msgspec, the extra `fast`: only the requested fields become objects.

Whatever msgspec accepts, the parser of the standard library accepts too, with the same values:
every field is declared `Any`, so no value is converted. The reverse does not hold (NaN, lone
surrogates, 1e999), and messages differ, so the standard library parses every line refused here.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any

import attrs
import numpy as np

from streameval.exact.array_types import Ints, Mask
from streameval.inputs.paths import ABSENT, cuts, is_nested, value_at
from streameval.io.lines import is_utf8

_TOGETHER = 1024
_FEW = 16
_DIGITS = bytes.maketrans(b"123456789", b"0" * 9)
_NEWLINE, _RETURN, _OPEN, _CLOSED = b"\n\r{}"


@attrs.frozen
class StructReader:
    """Read some fields of objects.

    Parameters
    ----------
    struct : type
        Holds the first field of each name or path.
    decode : callable
        Decodes lines to a list of such objects; raises one of `errors`.
    errors : tuple of type
        What msgspec raises.
    attributes : mapping from field to attribute
        The names of the fields in the struct.
    absent : frozenset of str
        The fields that are `ABSENT` if an object lacks them; other fields are None.
    """

    _struct: Any
    _decode: Any
    _errors: tuple[type[Exception], ...]
    _attributes: Mapping[str, str]
    _absent: frozenset[str]

    def structs(self, lines: bytes) -> list[Any] | None:
        """Decode objects separated by white space, or return None if msgspec refuses one."""
        try:
            found: list[Any] = self._decode(lines)
        except self._errors:
            return None
        return found

    def struct(self, row: Mapping[str, Any]) -> Any:
        """Convert an object that the standard library parsed."""
        found = {name: row[name] for name in self._attributes if name in row}
        return self._struct(**{self._attributes[name]: value for name, value in found.items()})

    def values(self, structs: Sequence[Any], name: str) -> list[Any]:
        """Return the values of one field or path, None where it is absent."""
        found = self._column(structs, name)
        if name not in self._absent:
            return found
        missing = [row for row, value in enumerate(found) if value is ABSENT]
        for head, rest in cuts(name):
            inner = self._column(structs, head)
            for row in missing:
                found[row] = value_at(inner[row], rest)
            missing = [row for row in missing if found[row] is ABSENT]
        for row in missing:
            found[row] = None
        return found

    def _column(self, structs: Sequence[Any], name: str) -> list[Any]:
        return list(map(attrgetter(self._attributes[name]), structs))


@lru_cache(maxsize=64)
def struct_reader(names: tuple[str, ...]) -> StructReader | None:
    """Make a reader of fields and paths; None without msgspec, or if it refuses a name."""
    try:
        import msgspec  # noqa: PLC0415 (optional)
    except ImportError:
        return None
    heads = [head for name in names for head, _ in cuts(name)]
    attributes = {name: f"f{number}" for number, name in enumerate(dict.fromkeys((*names, *heads)))}
    # A null differs from an absent field only if there are other paths to try.
    absent = frozenset(filter(is_nested, names)).union(heads)
    fields = [
        (attribute, Any, msgspec.field(name=name, default=ABSENT if name in absent else None))
        for name, attribute in attributes.items()
    ]
    try:
        # They are in no reference cycle, so the garbage collector can skip them.
        struct = msgspec.defstruct("Row", fields, gc=False)
        decode = msgspec.json.Decoder(struct).decode_lines
    except ValueError:  # for example, a quote or a lone surrogate
        return None
    errors = (msgspec.MsgspecError, ValueError, RecursionError)
    return StructReader(struct, decode, errors, attributes, absent)


@attrs.frozen(eq=False)
class Utf8Lines:
    """Lines of UTF-8 with their positions.

    Parameters
    ----------
    data : bytes
        The lines.
    starts : int64 array, shape (n + 1,)
        Where each begins, and where the last one ends.
    are_apart : bool array, shape (n - 1,)
        Whether an object may end before a newline and another begin after it. No single object
        contains such a newline: strings have none, and nested objects need a comma between them.
    may_be_long : bool array, shape (n,)
        Whether a line may hold an integer with more digits than Python reads; msgspec skips
        such an integer in a field that is not requested.
    """

    _data: bytes = attrs.field(repr=False)
    _starts: Ints
    _are_apart: Mask
    _may_be_long: Mask

    @classmethod
    def of(cls, data: bytes) -> Utf8Lines | None:
        """Find the ends of lines; None if they are not UTF-8."""
        if not is_utf8(data):
            return None
        array = np.frombuffer(data, dtype=np.uint8)
        ends = np.flatnonzero(array[:-1] == _NEWLINE)  # the last one separates nothing
        starts = np.concatenate([[0], ends + 1, [len(data)]])
        before = array[ends - 1]
        before = np.where(before == _RETURN, array[ends - 2], before)
        are_apart = (before == _CLOSED) & (array[ends + 1] == _OPEN) & (ends > 1)
        limit = sys.get_int_max_str_digits() or len(data)
        return cls(data, starts, are_apart, np.diff(starts) > limit)

    def __len__(self) -> int:
        """Count the lines."""
        return len(self._starts) - 1

    def parts(self, reader: StructReader) -> Iterator[tuple[int, list[Any] | bytes]]:
        """Yield lines from each position: as one struct per line, or unparsed if refused."""
        for start in range(0, len(self), _TOGETHER):
            yield from self._parts(reader, start, min(start + _TOGETHER, len(self)))

    def _parts(
        self, reader: StructReader, start: int, stop: int
    ) -> Iterator[tuple[int, list[Any] | bytes]]:
        """Bisect a group of lines that is refused, down to a few lines."""
        lines = self._data[self._starts[start] : self._starts[stop]]
        structs = None
        if self._are_apart[start : stop - 1].all() and not self._has_long_integer(start, stop):
            structs = reader.structs(lines)
        if structs is not None and len(structs) == stop - start:
            yield start, structs
        elif stop - start <= _FEW:
            yield start, lines
        else:
            half = (start + stop) // 2
            yield from self._parts(reader, start, half)
            yield from self._parts(reader, half, stop)

    def _has_long_integer(self, start: int, stop: int) -> bool:
        if not self._may_be_long[start:stop].any():
            return False
        lines = self._data[self._starts[start] : self._starts[stop]]
        return b"0" * sys.get_int_max_str_digits() in lines.translate(_DIGITS)
