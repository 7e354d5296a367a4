"""The formats of files: which reader reads which."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from streameval.errors import BadDataError, InvalidInputError
from streameval.io.lines import BYTE_ORDER_MARK, Piece, unended, unmarked
from streameval.io.notation import Dialect
from streameval.io.recognition import PARQUET_MAGIC, check_is_text
from streameval.io.streams import PARQUET, format_of, is_read_once, name_of, opened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streameval.io.blocks import Block
    from streameval.io.lines import Ends

_PIPED_PARQUET = (
    "is a Parquet file, which cannot be read from a pipe; save it, and "
    "`streameval eval FILE.parquet` reads it."
)
_DELIMITERS = {"csv": ",", "tsv": "\t"}


def read_blocks(
    source: str,
    form: str | None = None,
    *,
    may_be_cut: bool = False,
    dialect: Dialect | None = None,
) -> Iterator[Block]:
    """Cut a file into blocks.

    Parameters
    ----------
    source : str
        A path, or "-" for standard input.
    form : str, optional
        One of `FORMATS`. By default the name decides, or else the first bytes.
    may_be_cut : bool, default False
        Whether truncated packed data, or items of JSON without an end, are read as far as they
        go; the last block says so.
    dialect : Dialect, optional
        How a table of text is written; files of other formats are then refused.

    Raises
    ------
    BadDataError
        If the file cannot be read.
    """
    form = checked_format(source, form, dialect)
    if form != PARQUET:
        with opened(source, may_be_cut=may_be_cut) as stream:
            head = stream.peek()
            if head.startswith(PARQUET_MAGIC) and is_read_once(source):
                raise BadDataError(f"{stream.name}: {_PIPED_PARQUET}")
            form = form or _sniffed(head)
            if form == "jsonl":
                from streameval.io.json_lines import (  # noqa: PLC0415 (of the format)
                    holds_items,
                    item_blocks,
                    json_blocks,
                )
                from streameval.io.open_telemetry import (  # noqa: PLC0415 (of the format)
                    holds_records,
                    record_blocks,
                )

                if holds_records(head):
                    yield from record_blocks(stream)
                    return
                yield from (
                    item_blocks(stream, may_be_cut=may_be_cut)
                    if holds_items(head)
                    else json_blocks(stream)
                )
            elif form in _DELIMITERS:
                from streameval.io.csv_rows import csv_blocks  # noqa: PLC0415 (of the format)

                yield from csv_blocks(stream, dialect, _DELIMITERS[form])
    if form == PARQUET:
        from streameval.io.parquet import parquet_blocks  # noqa: PLC0415 (of the format)

        yield from parquet_blocks(source)


def checked_format(source: str, form: str | None, dialect: Dialect | None) -> str | None:
    """Return the format of a file, or None if only its first bytes can tell.

    Raises
    ------
    InvalidInputError
        If an option for tables is given for another format.
    """
    form = form or format_of(source)
    argument = None if dialect is None else dialect.argument
    if argument is None:
        return form
    form = form or "csv"
    if form not in _DELIMITERS:
        raise InvalidInputError(
            f"is for tables of text, and {name_of(source)} is of the format {form}",
            argument=argument,
        )
    return form


class Layout(Protocol):
    """How the rows of a file of text are cut into blocks."""

    def ends(self) -> Ends:
        """Return where a file may be cut."""
        ...

    def block(self, source: str, piece: Piece) -> Block:
        """Make a block of whole rows."""
        ...


def layout_of(
    head: bytes,
    source: str,
    form: str | None,
    dialect: Dialect | None,
    *,
    is_whole: bool = False,
) -> tuple[Layout | None, Piece]:
    """Read the layout of a file from its first rows; also return the rows after the header.

    Parameters
    ----------
    head : bytes
        The beginning of the file; an incomplete last row is ignored.
    source : str
        The name of the file.
    form : str, optional
        Its format; by default its first line decides.
    dialect : Dialect, optional
        How a table of text is written.
    is_whole : bool, default False
        Whether the head is the whole file, so that its last row needs no newline.

    Returns
    -------
    Layout or None
        None until there is a whole row.
    Piece
        The whole rows, without the header; `taken` counts its bytes too.

    Raises
    ------
    BadDataError
        If it is not a text file, or its first row cannot be read.
    """
    from streameval.io.csv_rows import CsvLayout  # noqa: PLC0415 (of files that grow)
    from streameval.io.json_lines import JsonLayout  # noqa: PLC0415 (of files that grow)

    check_is_text(head, source)
    form = form or _sniffed(head)
    ends: Ends = JsonLayout.ends() if form == "jsonl" else CsvLayout.ends()
    cut = len(head) if is_whole else ends.last(head)
    piece = Piece(1, unmarked(head[:cut], 1), cut, unended(head, ends) if is_whole else "")
    if form == "jsonl":
        return (JsonLayout() if cut else None), piece
    return CsvLayout.of(piece, source, dialect or Dialect(), _DELIMITERS[form])


def _sniffed(head: bytes) -> str:
    r"""Tell the format from the first bytes: ``{`` begins JSON lines, anything else is a table.

    An array of objects counts as JSON lines, whose reader then explains that it needs lines.

    >>> _sniffed(b' {"y_true": 1}'), _sniffed(b"y_true,y_pred"), _sniffed(b"y_true\ty_pred\n")
    ('jsonl', 'csv', 'tsv')
    """
    if head.startswith(PARQUET_MAGIC):
        return PARQUET
    text = head.removeprefix(BYTE_ORDER_MARK).lstrip()
    if text.removeprefix(b"[").lstrip().startswith(b"{"):
        return "jsonl"
    return "tsv" if b"\t" in text.partition(b"\n")[0] else "csv"
