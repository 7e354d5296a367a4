"""The formats of files: how each is named, recognized and read.

Options list them, so this module loads neither readers nor NumPy.
"""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from streameval.errors import BadDataError, InvalidInputError
from streameval.io.notation import Dialect
from streameval.io.packed import PACKED_SUFFIXES
from streameval.io.streams import is_read_once, name_of, opened

if TYPE_CHECKING:
    from streameval.io.blocks import Block
    from streameval.io.lines import Layout, Piece


_OF_TABLES = ("delimiter", "header", "encoding")
"""The arguments of a dialect that JSON lacks; the others tell what its texts mean too."""


@attrs.frozen(eq=False, repr=False)
class Format:
    """A format of files.

    Parameters
    ----------
    name : str
        What users call it.
    suffixes : tuple of str
        How names of its files end.
    begins : callable
        Tells by the first bytes whether a file is of this format.
    layout : callable, optional
        Loads the layout of files of text, which are read from front to end, also while they grow.
        Others are Parquet.
    delimiter : str
        What separates the cells of tables of text, unless their first row shows another.
    """

    name: str
    suffixes: tuple[str, ...]
    begins: Callable[[bytes], bool]
    layout: Callable[[], type[Layout]] | None = None
    delimiter: str = ""

    def refused(self, dialect: Dialect) -> str | None:
        """Return the first argument of a dialect that this format does not have."""
        if self.delimiter:
            return None
        return dialect.argument(*_OF_TABLES) if self.layout is not None else dialect.argument()

    @property
    def title(self) -> str:
        """What messages call it."""
        return self.name.capitalize()


def _begins_json(head: bytes) -> bool:
    """Tell whether it is an object, or an array of objects or lists; or a row that is a list."""
    text = head.removeprefix(BOM_UTF8).lstrip()
    item = text.removeprefix(b"[").lstrip()
    return item[:1] == b"{" or _begins_list(text, "\n") or _begins_list(item, ",]\n")


def _begins_list(text: bytes, then: str) -> bool:
    """Tell whether a list of JSON stands before one of these characters, or the end."""
    if text[:1] != b"[":
        return False
    whole = text.decode("utf-8", "replace")
    try:
        _, end = json.JSONDecoder().raw_decode(whole)
    except (ValueError, RecursionError):
        return False
    return whole[end:].lstrip(" \t\r")[:1] in then


def _json_layout() -> type[Layout]:
    from streameval.io.json_lines import JsonLayout  # noqa: PLC0415 (of files that grow)

    return JsonLayout


def _has_tabs(head: bytes) -> bool:
    """Tell whether the first line has any; commas may be in the cells of any table."""
    return b"\t" in head.removeprefix(BOM_UTF8).lstrip().partition(b"\n")[0]


def _table_layout() -> type[Layout]:
    from streameval.io.csv_rows import CsvLayout  # noqa: PLC0415 (of files that grow)

    return CsvLayout


def _begins_parquet(head: bytes) -> bool:
    from streameval.io.recognition import PARQUET_MAGIC  # noqa: PLC0415 (of the format)

    return head.startswith(PARQUET_MAGIC)


_JSON_LINES = Format("jsonl", (".jsonl", ".ndjson", ".json"), _begins_json, _json_layout)
_CSV = Format("csv", (".csv",), bool, _table_layout, ",")
_TSV = Format("tsv", (".tsv",), _has_tabs, _table_layout, "\t")
_PARQUET = Format("parquet", (".parquet", ".pq"), _begins_parquet)

FORMATS = {form.name: form for form in (_JSON_LINES, _CSV, _TSV, _PARQUET)}


def format_of(source: str) -> str | None:
    """Tell the format from the name of a file, or None if the name does not say."""
    path = Path(source.lower())
    inner = path.with_suffix("") if path.suffix in PACKED_SUFFIXES else path
    named = (form.name for form in FORMATS.values() if inner.suffix in form.suffixes)
    return next(named, None)


def recognized(head: bytes) -> Format:
    r"""Tell the format from the first bytes: ``{`` begins JSON lines, other text is a table.

    >>> [recognized(head).name for head in (b' {"y_true": 1}', b"y_true,a b", b"y_true\ta,b\n")]
    ['jsonl', 'csv', 'tsv']
    """
    in_order = (_PARQUET, _JSON_LINES, _TSV)
    return next((form for form in in_order if form.begins(head)), _CSV)


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
        How a table of text is written, and the texts of JSON; files of other formats are refused.

    Raises
    ------
    BadDataError
        If the file cannot be read.
    """
    dialect = dialect or Dialect()
    known = checked_format(source, form, dialect)
    if known is None or known.layout is not None:
        with opened(source, may_be_cut=may_be_cut) as stream:
            found = recognized(stream.peek())
            if found.layout is None and is_read_once(source):
                raise BadDataError(f"{stream.name}: {_piped(found)}")
            known = known or found
            if known.layout is not None:
                layout = known.layout()
                yield from layout.blocks(stream, dialect, known.delimiter, may_be_cut=may_be_cut)
    if known.layout is None:
        from streameval.io.parquet import parquet_blocks  # noqa: PLC0415 (of the format)

        yield from parquet_blocks(source)


def _piped(form: Format) -> str:
    return (
        f"is a {form.title} file, which cannot be read from a pipe; save it, and "
        f"`streameval eval FILE.{form.name}` reads it."
    )


def checked_format(source: str, form: str | None, dialect: Dialect | None) -> Format | None:
    """Return the format of a file, or None if only its first bytes can tell.

    Raises
    ------
    InvalidInputError
        If an option for tables is given for another format.
    """
    dialect = dialect or Dialect()
    name = form or format_of(source) or (dialect.argument(*_OF_TABLES) and _CSV.name)
    known = None if name is None else FORMATS[name]
    argument = None if known is None else known.refused(dialect)
    if argument is not None:
        raise InvalidInputError(
            f"is for tables of text, and {name_of(source)} is of the format {name}",
            argument=argument,
        )
    return known


def layout_of(
    head: bytes,
    source: str,
    form: Format | None,
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
    form : Format, optional
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
    from streameval.io.lines import Piece, unended, unmarked  # noqa: PLC0415 (of files that grow)
    from streameval.io.recognition import check_is_text  # noqa: PLC0415 (of files that grow)

    check_is_text(head, source)
    form = form or recognized(head)
    if form.layout is None:
        raise BadDataError(f"{source}: not a {form.title} file.")
    layout = form.layout()
    ends = layout.ends()
    cut = len(head) if is_whole else ends.last(head)
    lacking = unended(head, ends) if is_whole else ""
    piece = Piece(source, 1, unmarked(head[:cut], 1), cut, lacking)
    return layout.of(piece, dialect or Dialect(), form.delimiter)
