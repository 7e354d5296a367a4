"""Arguments from text: each function reads one type of value or raises ArgumentTypeError.

The types that options share follow: what a value is, what reads it, and what the help writes for
it. What loads NumPy is imported when it is used: the help needs none of it.
"""

from __future__ import annotations

import csv
import json
import re
from argparse import ArgumentTypeError
from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal
from itertools import product
from typing import TYPE_CHECKING, Annotated, Any, Literal

import attrs

from streameval.cli.errors import UsageError
from streameval.configs.names import read_number
from streameval.errors import InvalidInputError, UnknownMetricError
from streameval.inputs.durations import duration_text, read_offset
from streameval.io.notation import integer_or_text
from streameval.results.names import MetricName, parse_metric

if TYPE_CHECKING:
    from streameval.io.row_filters import Condition
    from streameval.runs.counting import RowShare

# The first relation separates the column from the value.
_CONDITION = re.compile(r"([^=<>!]*[^=<>!\s][^=<>!]*)(!=|<=|>=|=|<|>)=?(.*)", re.DOTALL)
_PERCENT = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,30})?)%")
_NUMBER = re.compile(r"[0-9]*\.?[0-9]+")
_COMMA = re.compile(r",(?![^()]*\)|[^\[\]]*\])")  # not inside brackets
_EQUALS = re.compile(r"=(?![^()]*\))")


def table(text: str) -> str | dict[str, Any]:
    """Read text, or a table that is written as a JSON object."""
    if not text.startswith("{"):
        return text
    try:
        found: dict[str, Any] = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ArgumentTypeError(f"must be text or a JSON object: {error}") from None
    return found


EVERY = "*"
"""Stands for every column in `--by`."""

# The number of classes, their labels as they were typed, these with names, or "auto" for the
# observed labels.
ClassesOption = int | tuple[str, ...] | dict[str, str] | Literal["auto"]


@attrs.frozen(repr=False)
class By:
    """The column, or columns, whose values are evaluated one by one.

    Parameters
    ----------
    column : str or tuple of str
        Its name, or their names.
    values : tuple of str or of tuple of str, optional
        The values, tuples for several columns; None if the rows decide which.
    is_each : bool
        Whether the columns are compared one at a time, instead of their combinations; "*" stands
        for every column then.
    """

    column: str | tuple[str, ...]
    values: tuple[Any, ...] | None = None
    is_each: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns as a tuple, even of one column."""
        return (self.column,) if isinstance(self.column, str) else self.column

    def canonical(self) -> tuple[Any, ...]:
        """Write the named values in the form that values of files have."""
        from streameval.io.columns import Texts

        values, texts = self.values or (), Texts()
        if isinstance(self.column, str):
            return tuple(texts.from_text(values))
        return tuple(tuple(texts.from_text(value)) for value in values)

    @classmethod
    def every(cls, parts: Sequence[By], *, each: bool | None = None) -> By | None:
        """Combine the columns: every value of one with every value of the others.

        With `each`, or if "*" stands for every column, they stay apart.

        Raises
        ------
        UsageError
            If a column comes twice, or some columns have values and others none; or if columns that
            stay apart have values.
        """
        columns = tuple(column for part in parts for column in part.columns)
        if len(set(columns)) < len(columns):
            raise UsageError("--by was given twice for one column.")
        if each or EVERY in columns:
            return cls._each(parts, columns)
        if len(parts) < 2:
            return next(iter(parts), None)
        lists = [part.values for part in parts if part.values is not None]
        if len(lists) not in (0, len(parts)):
            raise UsageError(
                "--by names values of every column or of none; --where COLUMN=A,B,C picks rows."
            )
        return cls(columns, tuple(product(*lists)) if lists else None)

    @classmethod
    def _each(cls, parts: Sequence[By], columns: tuple[str, ...]) -> By:
        if not parts:
            raise UsageError("--each needs --by.")
        if any(part.values is not None for part in parts):
            raise UsageError("--by cannot name values where columns are compared one at a time.")
        if len(columns) > 1 and EVERY in columns:
            raise UsageError("--by '*' is every column; it cannot be used with another --by.")
        return cls(columns, is_each=True)


def width(text: str) -> str | int:
    """Read the width of a pane: a duration, or a number of steps.

    >>> width("90m"), width("500")
    ('90m', 500)
    """
    return _length(text, minimum=1)


def span(text: str) -> str | int:
    """Read a span of time, which may be zero.

    >>> span("90m"), span("0s"), span("500")
    ('90m', '0s', 500)
    """
    return _length(text, minimum=0)


def _length(text: str, *, minimum: int) -> str | int:
    """Read microseconds, or steps, of at least a minimum."""
    if text.isascii() and text.isdigit():
        return _integer_from(minimum, text)
    with suppress(InvalidInputError):
        size = read_offset(text, name="")
        if size >= minimum:
            return duration_text(size)
    raise ArgumentTypeError(
        f"must be a duration such as 30s, 5m, 1h or 7d, or a number of steps, got {text!r}"
    )


def rollup(text: str) -> tuple[str | int, str | int | None]:
    """Read the width of wider panes and how long to keep them; without a span, forever.

    >>> rollup("1h:3d"), rollup("1d:"), rollup("1d")
    (('1h', '3d'), ('1d', None), ('1d', None))
    """
    wide, _, kept = text.partition(":")
    return width(wide), width(kept) if kept else None


def count(text: str) -> int:
    """Read an integer of at least 0."""
    return _integer_from(0, text)


def count_or_share(text: str) -> int | RowShare:
    """Read an integer of at least 0, or a share of all.

    >>> count_or_share("10"), str(count_or_share("0.5%"))
    (10, '0.5%')
    """
    from streameval.runs.counting import RowShare

    if not text.endswith("%"):
        try:
            return count(text)
        except ArgumentTypeError as error:
            raise ArgumentTypeError(f"{error}; a share is written as '0.5%'") from None
    match = _PERCENT.fullmatch(text)
    percent = Decimal(match[1] if match else -1)
    if not 0 <= percent <= 100:
        raise ArgumentTypeError(f"must lie between 0% and 100%, got {text!r}")
    return RowShare(percent)


def positive(text: str) -> int:
    """Read an integer of at least 1."""
    return _integer_from(1, text)


def _integer_from(minimum: int, text: str, more: str = "") -> int:
    value = integer_or_text(text)
    if not isinstance(value, int) or value < minimum:
        raise ArgumentTypeError(f"must be an integer of at least {minimum}{more}, got {text!r}")
    return value


def jobs(text: str) -> int | Literal["auto"]:
    """Read a number of processes, or "auto" for one for each CPU.

    >>> jobs("4"), jobs("auto")
    (4, 'auto')
    """
    return "auto" if text == "auto" else positive(text)


def budget(text: str) -> int | Literal["none"]:
    """Read a number of cells, or "none" for one cell per distinct score.

    >>> budget("4096"), budget("none")
    (4096, 'none')
    """
    return "none" if text == "none" else _integer_from(1, text, ", or none")


def number(text: str) -> float:
    """Read a finite number."""
    value = read_number(text)
    if value is None:
        raise ArgumentTypeError(f"must be a number, got {text!r}")
    return value


def shares(text: str) -> tuple[float, ...]:
    """Read one or several numbers in [0, 1].

    >>> shares("0.5,0.99")
    (0.5, 0.99)
    """
    found = tuple(map(number, text.split(",")))
    if not all(0 <= one <= 1 for one in found):
        raise ArgumentTypeError(f"must lie in [0, 1], got {text!r}")
    return found


def level(text: str) -> float:
    """Read the probability of an interval; 0 leaves the intervals out."""
    value = number(text)
    if not 0 <= value < 1:
        raise ArgumentTypeError(f"must lie in [0, 1), got {text!r}")
    return value


def promise(text: str) -> str | float:
    """Read how often a false alarm may occur; text that is not a number is read with the panes."""
    try:
        return float(text)
    except ValueError:
        return text


def path(text: str) -> str:
    """Read the name of a file or folder; an empty name is a variable that was not set."""
    if not text:
        raise ArgumentTypeError("must be a path, got ''")
    return text


def texts(text: str) -> tuple[str, ...]:
    """Read one or several texts, such as the names of columns.

    >>> texts("p_cat,p_dog")
    ('p_cat', 'p_dog')
    """
    return tuple(text.split(","))


def delimiter(text: str) -> str:
    r"""Read the character between two cells; a tab by its name.

    >>> delimiter(";"), delimiter("tab")
    (';', '\t')
    """
    character = "\t" if text in ("tab", "\\t") else text
    if len(character) != 1 or character in '"\r\n\0':
        raise ArgumentTypeError(f"must be one character, or tab, got {text!r}")
    return character


def header(text: str) -> tuple[str, ...]:
    """Read the names of all columns, or "none" to number the columns.

    >>> header("id,y_true"), header("none")
    (('id', 'y_true'), ())
    """
    return () if text == "none" else texts(text)


def condition(text: str) -> Condition:
    """Read a column, a relation and a value, or several for = and !=.

    >>> condition("country=DE,FR"), condition("age >= 30")
    (Condition(column='country', relation='=', values=('DE', 'FR')), Condition(column='age', \
relation='>=', values=('30',)))
    """
    from streameval.io.row_filters import RELATIONS, Condition

    match = _CONDITION.fullmatch(text)
    if match is None:
        raise ArgumentTypeError(
            f"must be a column, one of {', '.join(RELATIONS)}, and a value, got {text!r}"
        )
    column, relation, typed = match[1], match[2], match[3].strip()
    if typed.startswith(("<", ">", "=")):  # from a relation that does not exist, such as <>
        raise ArgumentTypeError(
            f"must have a value in quotes if it begins with <, > or =, got {text!r}"
        )
    values = _listed(typed)
    if relation not in ("=", "!=") and (len(values) > 1 or values == ("",)):
        quotes = "; quotes keep a comma in it" if len(values) > 1 else ""
        raise ArgumentTypeError(f"must have one value after {relation}, got {text!r}{quotes}")
    return Condition(column.strip(), relation, values)


def _listed(text: str) -> tuple[str, ...]:
    """Read values with commas between them; quotes keep commas and line breaks in a value."""
    try:
        values = next(csv.reader([text], skipinitialspace=True)) or [""]
    except csv.Error:
        raise ArgumentTypeError(f"must have line breaks in quotes, got {text!r}") from None
    return tuple(value.strip() for value in values)


def classes(text: str) -> ClassesOption:
    """Read a number of classes, their labels, their labels with names, or auto.

    >>> classes("10"), classes("cat,dog"), classes("auto"), classes("0=neg,1=pos")
    (10, ('cat', 'dog'), 'auto', {'0': 'neg', '1': 'pos'})
    """
    if text == "auto":
        return "auto"
    value = integer_or_text(text)
    if isinstance(value, int):
        return value
    has_names = all("=" in item for item in _COMMA.split(text))
    return _pairs(text) if has_names else texts(text)


def measures(text: str) -> tuple[str, ...]:
    """Read the names of measures; commas in brackets are part of a name.

    >>> measures("map,rbp(p=0.8,rel=2),ndcg@10")
    ('map', 'rbp(p=0.8,rel=2)', 'ndcg@10')
    >>> measures("P.5,10,map")
    ('P.5,10', 'map')
    """
    names: list[str] = []
    for part in _COMMA.split(text):
        if names and "." in names[-1] and _NUMBER.fullmatch(part):
            names[-1] += f",{part}"
        else:
            names.append(part)
    return tuple(names)


def metrics(text: str) -> tuple[MetricName, ...]:
    """Read the names of metrics; commas in brackets are part of a name.

    >>> metrics("n,recall[macro]")
    (MetricName(name='n', of=None), MetricName(name='recall', of='macro'))
    """
    return tuple(dict.fromkeys(map(metric, _COMMA.split(text))))


def metric(text: str) -> MetricName:
    """Read the name of one metric.

    >>> metric("recall[macro]")
    MetricName(name='recall', of='macro')
    """
    try:
        return parse_metric(text)
    except UnknownMetricError as error:  # argparse would replace the message with its own
        raise UsageError(str(error)) from None


def by(text: str) -> By:
    """Read a column, optionally with some of its values.

    >>> by("country").values, by("country=DE,FR").values
    (None, ('DE', 'FR'))
    """
    column, sign, values = text.partition("=")
    if not sign:
        return By(column)
    named = _listed(values)
    if "" in named:
        raise ArgumentTypeError(f"must be a column, or COLUMN=A,B,C, got {text!r}")
    found = By(column, named)
    if len(set(found.canonical())) < len(named):
        raise ArgumentTypeError(f"must name each value once, got {text!r}")
    return found


def gain(text: str) -> str | dict[float, float]:
    """Read a word, or the gain of each relevance.

    >>> gain("exp2"), gain("1=1,2=3")
    ('exp2', {1.0: 1.0, 2.0: 3.0})
    """
    if "=" not in text:
        return text
    return {number(level): number(worth) for level, worth in _pairs(text).items()}


def policy(text: str) -> str | dict[str, str]:
    """Read a word, or the word of each measure.

    >>> policy("skip"), policy("map=skip,rbp(p=0.8)=one")
    ('skip', {'map': 'skip', 'rbp(p=0.8)': 'one'})
    """
    return _pairs(text) if "=" in text else text


def _pairs(text: str) -> dict[str, str]:
    """Take ``a=1,b=2`` apart, where an equals sign may be in brackets."""
    parts = [_EQUALS.split(part, 1) for part in _COMMA.split(text)]
    found = {key: value for key, *values in parts for value in values}
    if "" in found or len(found) < len(parts):
        what = "a word, or pairs such as a=1,b=2 with different keys"
        raise ArgumentTypeError(f"must be {what}, got {text!r}")
    return found


ColumnName = Annotated[str, "COLUMN"]
ColumnNames = Annotated[tuple[str, ...], texts, "COLUMN"]
NameList = Annotated[tuple[str, ...], texts, "A,B,C"]
FreeText = Annotated[str, "TEXT"]
LabelText = Annotated[str, "LABEL"]
FilePath = Annotated[str, path, "FILE"]
FilePaths = Annotated[tuple[str, ...], "FILE"]
FiniteNumber = Annotated[float, number, "T"]
Count = Annotated[int, positive, "N"]
TimeSpan = Annotated[str | int, span, "SPAN"]
Width = Annotated[str | int, width, "WIDTH"]
PolicyByMeasure = Annotated[str | dict[str, str], policy, "WHAT"]
