"""Readers: TREC runs and qrels, and files of predictions, in blocks that any process can parse."""

from streameval.errors import BadDataError
from streameval.io.blocks import Block, Parsed
from streameval.io.columns import (
    Argument,
    FieldType,
    Flags,
    Labels,
    Lists,
    Numbers,
    ScoresByClass,
    Texts,
    Values,
    Vectors,
    as_text,
    class_number,
    integer_or_text,
    scores_by_class,
)
from streameval.io.csv_rows import Dialect
from streameval.io.errors import BadRow
from streameval.io.formats import FORMATS, format_of, read_blocks
from streameval.io.row_filters import Condition, RowFilter
from streameval.io.streams import STANDARD_INPUT, name_of, size_of
from streameval.io.trec import Qrels, Run, iter_run, read_qrels, read_run

__all__ = [
    "FORMATS",
    "STANDARD_INPUT",
    "Argument",
    "BadDataError",
    "BadRow",
    "Block",
    "Condition",
    "Dialect",
    "FieldType",
    "Flags",
    "Labels",
    "Lists",
    "Numbers",
    "Parsed",
    "Qrels",
    "RowFilter",
    "Run",
    "ScoresByClass",
    "Texts",
    "Values",
    "Vectors",
    "as_text",
    "class_number",
    "format_of",
    "integer_or_text",
    "iter_run",
    "name_of",
    "read_blocks",
    "read_qrels",
    "read_run",
    "scores_by_class",
    "size_of",
]
