"""Whole lines of a stream, cut into pieces of about the same size."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

import attrs
import numpy as np

from streameval.errors import BadDataError
from streameval.io.recognition import check_is_text
from streameval.io.streams import ByteStream

if TYPE_CHECKING:
    from streameval.io.blocks import Block
    from streameval.io.notation import Dialect

PIECE_BYTES = 2**20
_NEWLINE, _QUOTE = b'\n"'
LONGEST_LINE = 2**26
LONGEST_BINARY = 2**22
BYTE_ORDER_MARK = codecs.BOM_UTF8
_ESCAPED_BYTE = re.compile("[\udc80-\udcff]")


@attrs.frozen
class Piece:
    """Some whole lines of a file.

    Parameters
    ----------
    source : str
        The name of the file.
    first_line : int
        The number of the first line, counted from 1.
    data : bytes
        The lines.
    taken : int
        The number of bytes of the file that were read for them, before unpacking.
    unended : str
        What the last line of a file lacks, as the end of a sentence; such a line is a separate
        piece. Empty if nothing is missing.
    """

    source: str
    first_line: int
    data: bytes = attrs.field(repr=False)
    taken: int
    unended: str = ""


class Ends(Protocol):
    """Where a stream may be cut; it sees every chunk once, in order."""

    missing: str

    def last(self, chunk: bytes) -> int:
        """Return the last position in the next chunk where a cut is possible, or 0."""
        ...


class LineEnds:
    """Cut after any line."""

    missing = "no line end"

    def last(self, chunk: bytes) -> int:
        """Return the position after the last newline."""
        return chunk.rfind(b"\n") + 1


class RowEnds:
    """Cut after a line that ends outside quotes, where the number of quotes so far is even.

    In RFC 4180, a quoted cell may hold newlines, and quotes in it are doubled.
    """

    missing = "no row end (is a quote left open?)"

    def __init__(self) -> None:
        self._inside = False

    def last(self, chunk: bytes) -> int:
        """Return the position after the last newline outside quotes."""
        if b'"' in chunk:  # if there is none, twenty times as fast as counting
            self._inside ^= _is_odd(_n_of(_QUOTE, chunk))
        inside = self._inside
        end = len(chunk)
        while cut := chunk.rfind(b"\n", 0, end) + 1:
            inside ^= _is_odd(chunk.count(b'"', cut, end))
            if not inside:
                return cut
            end = cut - 1
        return 0


class Layout(Protocol):
    """How the rows of a file of text are cut into blocks."""

    @staticmethod
    def ends() -> Ends:
        """Return where a file may be cut."""
        ...

    @classmethod
    def blocks(
        cls, stream: ByteStream, dialect: Dialect, usual: str, /, *, may_be_cut: bool = False
    ) -> Iterator[Block]:
        """Cut a file; items of JSON without an end may be read as far as they go."""
        ...

    @classmethod
    def of(
        cls, piece: Piece, dialect: Dialect, usual: str, /, *, ahead: bytes | None = None
    ) -> tuple[Layout | None, Piece]:
        """Read it from the first rows, None without any; also return the rows after it."""
        ...

    def block(self, piece: Piece) -> Block:
        """Make a block of whole rows."""
        ...


def text_blocks(
    stream: ByteStream, layouts: type[Layout], dialect: Dialect, usual: str = ","
) -> Iterator[Block]:
    """Cut a stream into blocks.

    Parameters
    ----------
    stream : ByteStream
        The file.
    layouts : type of Layout
        What its first rows are read as.
    dialect : Dialect
        What is known of it; the first rows show the rest.
    usual : str
        The delimiter, unless the first row shows another one.
    """
    cut = pieces(stream, layouts.ends())
    piece, layout = next(cut, None), None
    while piece is not None:
        after, rows = next(cut, None), piece
        if layout is None:
            ahead = b"" if after is None or not after.unended else after.data
            layout, rows = layouts.of(piece, dialect, usual, ahead=ahead)
        if layout is not None:
            yield layout.block(rows)
        piece = after


def pieces(stream: ByteStream, ends: Ends) -> Iterator[Piece]:
    """Cut a stream into pieces of whole lines, in memory that does not grow with the file.

    Raises
    ------
    BadDataError
        If a line is longer than 64 MiB, or longer than 4 MiB and holds NUL bytes; or if the
        stream cannot be read, or begins like a file of another type.
    """
    line, taken = 1, 0
    pending: list[bytes] = []
    while chunk := stream.read(PIECE_BYTES):
        if line == 1 and not pending:
            check_is_text(chunk, stream.name)
        cut = ends.last(chunk)
        if cut:
            data = b"".join([*pending, memoryview(chunk)[:cut]])
            yield Piece(stream.name, line, unmarked(data, line), stream.taken - taken)
            line, taken = line + n_newlines(data), stream.taken
            pending = []
        pending.append(chunk[cut:])
        check_length(sum(map(len, pending)), pending[-1], ends, stream.name, line)
    rest = b"".join(pending)
    if rest or stream.is_cut:
        lacking = stream.cut_short if stream.is_cut else unended(rest, ends)
        yield Piece(stream.name, line, unmarked(rest, line), stream.taken - taken, lacking)


def check_length(size: int, latest: bytes, ends: Ends, source: str, line: int) -> None:
    """Refuse a line without an end in 64 MiB, or in 4 MiB if its latest bytes hold a NUL.

    The holes of a sparse file are read as NUL bytes, so it is refused before it fills memory.
    """
    if size > LONGEST_BINARY and b"\0" in latest:
        limit = f"{ends.missing} within {LONGEST_BINARY:,} bytes, NUL bytes among them"
        raise BadDataError(f"{source}, line {line}: {limit}.")
    if size > LONGEST_LINE:
        limit = f"{ends.missing} within {LONGEST_LINE:,} bytes"
        raise BadDataError(f"{source}, line {line}: {limit}.")


def n_newlines(data: bytes) -> int:
    """Count newlines."""
    return _n_of(_NEWLINE, data)


def _n_of(byte: int, data: bytes) -> int:
    """Count a byte; if it is frequent, in a fifth of the time of `bytes.count`."""
    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == byte))


def text_of(data: bytes) -> str:
    """Decode UTF-8; invalid bytes become lone surrogates, which `is_text` finds."""
    return data.decode("utf-8", "surrogateescape")


def is_text(text: str) -> bool:
    """Tell whether all of a text was valid UTF-8; immediate if it is ASCII."""
    return text.isascii() or _ESCAPED_BYTE.search(text) is None


def is_utf8(data: bytes) -> bool:
    """Tell whether bytes are valid UTF-8; immediate if they are ASCII."""
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def unended(rest: bytes, ends: Ends) -> str:
    """Describe what the last line lacks; empty if it lacks nothing or is blank."""
    if not rest.strip():
        return ""
    return (
        f"the last row has {ends.missing}" if rest[-1:] == b"\n" else "the last line has no newline"
    )


def unmarked(data: bytes, line: int) -> bytes:
    """Drop the byte order mark of a first line."""
    return data.removeprefix(BYTE_ORDER_MARK) if line == 1 else data


def _is_odd(number: int) -> bool:
    return number % 2 == 1
