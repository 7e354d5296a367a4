"""Readers: files of predictions cut into blocks that any process can parse."""

from streameval.io.blocks import Block
from streameval.io.columns import (
    Column,
    Kind,
    Labels,
    Numbers,
    Vectors,
    integer_or_text,
)
from streameval.io.errors import BadDataError, BadRow
from streameval.io.formats import FORMATS, format_of, read_blocks
from streameval.io.rows import Parsed
from streameval.io.streams import STANDARD_INPUT, name_of, size_of

__all__ = [
    "FORMATS",
    "STANDARD_INPUT",
    "BadDataError",
    "BadRow",
    "Block",
    "Column",
    "Kind",
    "Labels",
    "Numbers",
    "Parsed",
    "Vectors",
    "format_of",
    "integer_or_text",
    "name_of",
    "read_blocks",
    "size_of",
]
