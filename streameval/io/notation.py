"""How the cells of a table of text write numbers, dates and gaps, and in which encoding."""

from __future__ import annotations

import codecs
import operator
import re
import shlex
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, TypedDict

import attrs
from attrs.converters import optional

from streameval.errors import InvalidInputError

UTF8 = "utf-8"
# 3.0 counts as 3, because tables with gaps often hold integers as floats.
_INTEGER = re.compile(r"(-?[0-9]{1,99})(?:\.0+(?:e[+-]00)?)?")  # numpy.savetxt writes 1.000e+00
_ITEM = re.compile(r"'[^']*'|\"[^\"]*\"|[^\s,]+")
_SCALAR = re.compile(r"np\.\w+\(([^()]*)\)")  # as NumPy 2 writes the items of a list
_SPACES = " \u00a0\u202f"
_MISSING = re.compile(r"null|n/?a|none|nil|#n/a|\\n|-|\.|missing|undefined", re.IGNORECASE)
_SIGN = r"[$\u00a3\u00a5\u20a0-\u20cf]"
_MONEY = re.compile(
    rf"(?P<minus>[+-]?)(?:{_SIGN}\s*(?P<after>[+-]?[0-9.,].*)|(?P<before>[0-9.,].*?)\s*{_SIGN})"
)
_NEGATIVE = re.compile(rf"\((?:{_SIGN}\s*)?[0-9.,][^()]*\)")
_DATE = re.compile(
    r"(?P<first>[0-9]{1,2})(?P<mark>[./-])(?P<second>[0-9]{1,2})(?P=mark)(?P<year>[0-9]{4})"
    r"(?:[T\s,]+(?P<hour>[0-9]{1,2})(?P<rest>:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?)"
    r"\s*(?P<half>[AaPp][Mm])?)?"
)
_UNIT = re.compile(r"[+-]?[0-9][0-9.,]*\s*(?P<unit>[^\W\d_]+|\N{BLACK STAR}+)")
_MAYBE_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2}[.,][0-9]{3}")
_DECIMAL_COMMA = re.compile(r"\s*[+-]?[0-9]*,[0-9]+(?:[eE][+-]?[0-9]+)?\s*")
_READ_BY = {
    re.compile(r"[+-]?[0-9.,\s]*[0-9][0-9.,]*\s*%"): "(--percent reads percentages)",
    _SCALAR: r"(sed -E 's/np\.\w+\(([^)]*)\)/\1/g' leaves numbers alone)",
    re.compile(
        r"[+-]?[1-9][0-9]{0,2},[0-9]{3}"
    ): "(--thousands , or --decimal , reads such numbers)",
    _DECIMAL_COMMA: "with a decimal point (--decimal , reads commas)",
    re.compile(
        r"[+-]?[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?"
    ): "(--thousands , reads such numbers)",
    re.compile(
        r"[+-]?[1-9][0-9]{0,2}(?:(?:\.[0-9]{3})+,[0-9]+|(?:\.[0-9]{3}){2,})"
    ): "(--thousands . reads such numbers)",
    re.compile(
        rf"[+-]?[1-9][0-9]{{0,2}}(?:[{_SPACES}][0-9]{{3}})+,[0-9]+"
    ): "(--decimal , --thousands ' ' reads such numbers)",
    re.compile(
        rf"[+-]?[1-9][0-9]{{0,2}}(?:[{_SPACES}][0-9]{{3}})+(?:\.[0-9]+)?"
    ): "(--thousands ' ' reads such numbers)",
    re.compile(
        r"[+-]?[1-9][0-9]{0,2}(?:'[0-9]{3})+(?:\.[0-9]+)?"
    ): '(--thousands "\'" reads such numbers)',
}
"""What reads cells that show how they are written, the first that fits."""
OPTION = re.compile(r"\((--[^)]*) reads ")
"""Finds the option that `advice` names."""
OPPOSED = " (others have another notation)"
"""What stands for advice where no option reads all cells of a column."""
_BETWEEN_OPTIONS = re.compile(r"(?<! or) (?=--)")


@attrs.frozen(slots=False, repr=False)
class Notation:
    """What the cells of a table mean where they differ from Python's.

    Parameters
    ----------
    decimal : {".", ","}
        The decimal separator.
    thousands : str
        The separator of thousands; empty if there is none. A space stands for those that do not
        break lines too.
    percent : bool
        Whether 6.95% is 0.0695; otherwise it is a text.
    na : tuple of str
        The cells that are missing values, besides empty ones.
    dates : {"dmy", "mdy"} or None
        Whether the day or the month comes first in dates that end with the year; otherwise they are
        texts.
    encoding : str
        The encoding of the file, one whose bytes below 128 are those of ASCII.
    is_spaced : bool
        Whether cells have spaces around them that mean nothing.
    """

    decimal: str = "."
    thousands: str = ""
    percent: bool = False
    na: tuple[str, ...] = ()
    dates: str | None = None
    encoding: str = UTF8
    is_spaced: bool = False

    @property
    def is_usual(self) -> bool:
        """Whether cells are read as they are."""
        others = (self.thousands, self.percent, self.na, self.dates, self.is_spaced)
        return self.decimal == "." and not any(others)

    def decoded(self, data: bytes) -> bytes:
        """Convert the lines of a file to UTF-8; what the encoding lacks stays no UTF-8."""
        if self.encoding == UTF8:
            return data
        return data.decode(self.encoding, "surrogateescape").encode(UTF8, "surrogateescape")

    def read(self, cell: str) -> str:
        """Write a cell as Python does: a number with a point, a date in ISO 8601, or nothing."""
        cell = cell.strip() if self.is_spaced else cell
        text = without_currency(cell.strip())
        if text in self.na:
            return ""
        if self.dates and (found := _DATE.fullmatch(text)):
            return _iso(found, self.dates) or cell
        is_share = self.percent and text.endswith("%")
        match = self._number.fullmatch(text.removesuffix("%").rstrip() if is_share else text)
        if match is None or (match["exponent"] and is_share):
            return cell
        whole, fraction = match["whole"], match["fraction"]
        is_grouped = any(mark in whole for mark in self._marks)
        if not (is_share or is_grouped or (fraction is not None and self.decimal != ".")):
            return cell
        for mark in self._marks:
            whole = whole.replace(mark, "")
        written = whole if fraction is None else f"{whole}.{fraction}"
        return f"{written}e-2" if is_share else f"{written}{match['exponent'] or ''}"

    def read_value(self, value: Any) -> Any:
        """Read a value of JSON: texts as cells, None where they are missing."""
        if type(value) is str:
            return self.read(value) or (None if self.na else value)
        if type(value) is list:
            return [self.read_value(item) for item in value]
        if type(value) is dict:
            return {name: self.read_value(item) for name, item in value.items()}
        return value

    @property
    def _marks(self) -> str:
        return _SPACES if self.thousands == " " else self.thousands

    @cached_property
    def _number(self) -> re.Pattern[str]:
        digits = "[0-9]+" if self.percent else "[0-9]*"
        if self.thousands:
            digits = rf"[1-9][0-9]{{0,2}}(?:[{re.escape(self._marks)}][0-9]{{3}})+|{digits}"
        return re.compile(
            rf"(?P<whole>[+-]?(?:{digits}))(?:{re.escape(self.decimal)}(?P<fraction>[0-9]+))?"
            r"(?P<exponent>[eE][+-]?[0-9]+)?"
        )


_OPPOSED = (Notation(thousands=","), Notation(decimal=",", thousands="."))
"""What one of these reads as 1234.5, the other cannot read."""


def _iso(date: re.Match[str], order: str) -> str | None:
    """Write a date in ISO 8601; None if its month or hour is none."""
    day, month, hour = date["first"], date["second"], date["hour"]
    if order == "mdy":
        day, month = month, day
    if int(month) > 12:
        return None
    written = f"{date['year']}-{month:0>2}-{day:0>2}"
    if hour is None:
        return written
    if date["half"]:
        if not 1 <= int(hour) <= 12:
            return None
        hour = str(int(hour) % 12 + 12 * (date["half"].lower() == "pm"))
    return f"{written}T{hour:0>2}{date['rest']}"


def without_currency(text: str) -> str:
    """Leave out the sign of a currency at a number; in accounting, parentheses are a minus.

    >>> without_currency("$1,200.00"), without_currency("-1,50 \u20ac"), without_currency("($3)")
    ('1,200.00', '-1,50', '-3')
    """
    if _NEGATIVE.fullmatch(text):
        return f"-{without_currency(text[1:-1])}"
    found = _MONEY.fullmatch(text)
    return text if found is None else f"{found['minus']}{found['after'] or found['before']}"


def without_spaces(number: str) -> str:
    """Leave out the spaces between thousands.

    >>> without_spaces("1 204,50"), without_spaces("1 of 204")
    ('1204,50', '1 of 204')
    """
    return re.sub(rf"(?<=[0-9])[{_SPACES}](?=[0-9]{{3}})", "", number)


def known_encoding(name: str) -> str | None:
    """Return the canonical name of an encoding of lines; None if it is none."""
    try:
        found = codecs.lookup(name).name
        is_like_ascii = "\n,;09".encode(found) == b"\n,;09"
    except (LookupError, UnicodeError):
        return None
    return found if is_like_ascii else None


def has_decimal_comma(cell: str) -> bool:
    """Tell whether a cell is a number with a decimal comma.

    >>> has_decimal_comma("-0,5"), has_decimal_comma("1e-3"), has_decimal_comma("1.234,5")
    (True, False, False)
    """
    return "," in cell and _DECIMAL_COMMA.fullmatch(cell) is not None


def with_point(cell: str) -> str:
    """Write a number with a decimal comma as Python does; return other text unchanged."""
    return cell.replace(",", ".") if has_decimal_comma(cell) else cell


def may_have_thousands(cell: str) -> bool:
    """Tell whether the one mark in a number may separate decimals as well as thousands.

    >>> may_have_thousands("1.234"), may_have_thousands("0.125"), may_have_thousands("1,234.5")
    (True, False, False)
    """
    return _MAYBE_THOUSANDS.fullmatch(cell) is not None


def is_gap(text: Any) -> bool:
    r"""Tell whether a value is a text that exports write where nothing is.

    >>> is_gap("N/A"), is_gap("\\N"), is_gap("name"), is_gap(3)
    (True, True, False, False)
    """
    return isinstance(text, str) and _MISSING.fullmatch(text.strip()) is not None


def advice(cell: str) -> str:
    """Name the option that reads a cell which is no number; empty if none does."""
    text = without_currency(cell.strip())
    if is_gap(text):
        return f" (--na {shlex.quote(text)} reads this as missing)"
    if date := _DATE.fullmatch(text):
        is_dmy, is_mdy = (bool(_iso(date, order)) for order in ("dmy", "mdy"))
        either = is_dmy and is_mdy and date["mark"] != "."
        return (
            f" (--dates {'dmy or mdy' if either else 'dmy' if is_dmy else 'mdy'} reads such dates)"
        )
    known = next((said for form, said in _READ_BY.items() if form.fullmatch(text)), None)
    if known is not None:
        return f" {known}"
    found = _UNIT.fullmatch(text)
    return "" if found is None else _without_unit(found["unit"])


def _without_unit(unit: str) -> str:
    """Name the command that leaves out a unit behind numbers; its plural may end with s."""
    either = f"{unit[:-1]}s?" if unit.endswith("s") else unit
    return f" (sed -E 's/([0-9]) *{either}/\\1/g' leaves numbers without units)"


class OddCell(str):
    """A cell that is no number or time as it is written, which an option may read."""

    __slots__ = ()

    @property
    def hint(self) -> str:
        """Name the option."""
        return advice(self)


class ContradictedCell(OddCell):
    """A cell of a column in which a mark separates thousands here and decimals there."""

    __slots__ = ()

    @property
    def hint(self) -> str:
        """Say why no option is named."""
        return OPPOSED


def odd_cells(values: list[Any], cells: Sequence[str]) -> list[Any]:
    """Mark the texts among the values of the cells of a column."""
    odd: dict[str, OddCell] = {one: OddCell(one) for one in values if type(one) is str}
    notations = {one: own for one in odd if (own := _own_notation(one))}
    decimals = {notation.decimal for notation, _ in notations.values()}
    if any(has_some for _, has_some in notations.values()) and (
        len(decimals) > 1 or ("," in decimals and any(map(_needs_point, cells)))
    ):
        odd |= {one: ContradictedCell(one) for one in notations}
    return [odd[one] if type(one) is str else one for one in values]


def hint_of(value: Any) -> str:
    """Name the option that reads a value of a table of text; empty if none does."""
    return value.hint if isinstance(value, OddCell) else ""


def as_written(block: Any) -> Any:
    """Return the rows of a block of text with numbers as they are written."""
    layout = block.layout
    notation = attrs.evolve(layout.notation, decimal=".", thousands="", percent=False)
    return attrs.evolve(block, layout=attrs.evolve(layout, notation=notation))


def two_notations(cells: Mapping[int, Any]) -> tuple[int, int] | None:
    """Find two rows of a column in which marks of thousands and of decimals contradict each other.

    >>> two_notations({2: "0.5", 3: "0,5", 4: "1.234,5"}), two_notations({2: "0.5", 3: "0,5"})
    ((2, 4), None)
    """
    texts = ((row, _own_notation(cell)) for row, cell in cells.items() if isinstance(cell, str))
    found = {row: own for row, own in texts if own is not None}
    for notation in _OPPOSED:
        grouped = next((row for row, own in found.items() if own == (notation, True)), None)
        other = next((row for row, (own, _) in found.items() if own != notation), None)
        if grouped is not None and other is not None:
            return min(grouped, other), max(grouped, other)
    return None


def _own_notation(cell: str) -> tuple[Notation, bool] | None:
    """Return the one of two notations that alone reads a cell, and whether it has thousands."""
    text = without_currency(cell.strip(" %"))
    found = [
        (notation, notation.thousands in match["whole"])
        for notation in _OPPOSED
        if (match := notation._number.fullmatch(text))
    ]
    return found[0] if len(found) == 1 else None


def _needs_point(cell: str) -> bool:
    own = _own_notation(cell) if "." in cell else None
    return own is not None and own[0].decimal == "."


def remedies(columns: Mapping[str, Iterable[Any]], gaps: Container[str], decimal: str) -> list[str]:
    """List the options that read texts of some columns which are no numbers as they are written.

    Parameters
    ----------
    columns : mapping
        The values of each column; None and an empty text are gaps.
    gaps : container of str
        The columns in which a missing number may be skipped; rows without others may be left out.
    decimal : str
        The decimal separator, as far as it is known.
    """
    found: dict[str, list[str]] = {}
    for name, values in columns.items():
        texts = [value or "" for value in values if value is None or isinstance(value, str)]
        shares = [text[:-1].rstrip() for text in texts if text.endswith("%")]
        has_gaps = False
        for text in dict.fromkeys(texts + shares):
            number = amount_or_text(text)
            option = OPTION.search(advice(number)) if isinstance(number, str) else None
            for one in [] if option is None else _BETWEEN_OPTIONS.split(option[1]):
                found.setdefault(one.partition(" ")[0], []).append(one)
            has_gaps |= number is None or is_gap(text)
        if has_gaps and any(value not in (None, "") and not is_gap(value) for value in values):
            mend = "--nan skip" if name in gaps else f"--where {shlex.quote(f'{name}!=')}"
            found[mend] = [mend]
    if "--na" in found:
        missing = dict.fromkeys(one.removeprefix("--na ") for one in found["--na"])
        found["--na"] = [f"--na {','.join(missing)}"]
    if decimal == "," or "--thousands ." in found.get("--thousands", ()):  # with which it is one
        found.pop("--decimal", None)
    return [min(options, key=len) for _, options in sorted(found.items())]


def _given(check: Callable[[Any], Any]) -> Any:
    """Declare an option that the user may set, with its check."""
    return attrs.field(default=None, converter=optional(check))


def _delimiter(value: Any) -> str:
    if not isinstance(value, str) or len(value) != 1 or value in '"\r\n':
        raise InvalidInputError(
            f"must be one character other than a quote, got {value!r}", argument="delimiter"
        )
    return value


def _texts(value: Any, *, name: str, what: str) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidInputError(f"must be a list of {what}, got {value!r}", argument=name)
    return tuple(value)


def _choice(value: Any, *, name: str, choices: tuple[str, str]) -> str:
    if value not in choices:
        one, other = choices
        raise InvalidInputError(f"must be {one!r} or {other!r}, got {value!r}", argument=name)
    return str(value)


def _thousands(value: Any) -> str:
    if not isinstance(value, str) or len(value) != 1 or value not in ",.' _":
        raise InvalidInputError(
            f"must be a comma, point, apostrophe, space or underscore, got {value!r}",
            argument="thousands",
        )
    return value


def _encoding(value: Any) -> str:
    known = known_encoding(value) if isinstance(value, str) else None
    if known is None:
        raise InvalidInputError(
            f"must be an encoding that has the bytes of ASCII, such as cp1252 or latin-1, got "
            f"{value!r}",
            argument="encoding",
        )
    return known


class TableOptions(TypedDict, total=False):
    """How files are read: their format, and the `Dialect` of tables of text."""

    format: str | None
    delimiter: str | None
    header: Sequence[str] | None
    decimal: str | None
    thousands: str | None
    percent: bool | None
    na: Sequence[str] | None
    dates: str | None
    encoding: str | None


@attrs.frozen(repr=False)
class Dialect:
    """The parts of a table's format that the user has set.

    Parameters
    ----------
    delimiter : str, optional
        The separator of cells.
    header : tuple of str, optional
        The names of the columns if the file has no header; empty to call them 1, 2, and so on.
    decimal : {",", "."}, optional
        The decimal separator.
    thousands : str, optional
        The separator of thousands.
    percent : bool, optional
        Whether 6.95% is 0.0695.
    na : tuple of str, optional
        The cells that are missing values, besides empty ones.
    dates : {"dmy", "mdy"}, optional
        Whether the day or the month comes first in dates such as 01.05.2026.
    encoding : str, optional
        The encoding of the file.

    Raises
    ------
    InvalidInputError
        If one is invalid.
    """

    delimiter: str | None = _given(_delimiter)
    header: tuple[str, ...] | None = _given(partial(_texts, name="header", what="names"))
    decimal: str | None = _given(partial(_choice, name="decimal", choices=(",", ".")))
    thousands: str | None = _given(_thousands)
    percent: bool | None = None
    na: tuple[str, ...] | None = _given(partial(_texts, name="na", what="texts"))
    dates: str | None = _given(partial(_choice, name="dates", choices=("dmy", "mdy")))
    encoding: str | None = _given(_encoding)

    def __attrs_post_init__(self) -> None:
        if self.notation.decimal == self.thousands:
            raise InvalidInputError(
                f"must differ from the decimal separator, got {self.thousands!r}",
                argument="thousands",
            )

    @property
    def notation(self) -> Notation:
        """What cells mean; beside points as separators of thousands, decimals have commas."""
        usual = "," if self.thousands == "." else "."
        given = {
            name: getattr(self, name)
            for name in ("thousands", "percent", "na", "dates", "encoding")
        }
        return Notation(
            decimal=self.decimal or usual,
            **{name: value for name, value in given.items() if value is not None},
        )

    def argument(self, *names: str) -> str | None:
        """Return the first of these arguments, by default of all, that was given."""
        given = (name for name, value in attrs.asdict(self).items() if value is not None)
        return next((name for name in given if not names or name in names), None)


def integer_or_text(cell: str) -> int | str | None:
    """Read a cell as an integer if it looks like one; an empty cell is missing."""
    match = _INTEGER.fullmatch(cell)
    return text_or_none(cell) if match is None else int(match[1])


def number_or_text(cell: str) -> float | str | None:
    """Read a cell as a number if it is one; an empty cell is missing."""
    try:
        return float(cell) if "_" not in cell else cell
    except ValueError:
        return text_or_none(cell)


def amount_or_text(cell: str) -> float | str | None:
    """Read a cell as a number, or an amount of money; an empty cell is missing."""
    found = number_or_text(cell)
    if isinstance(found, str):
        amount = number_or_text(without_currency(cell.strip()))
        return amount if isinstance(amount, float) else found
    return found


def value_of_cell(cell: str) -> int | float | str | list[Any] | None:
    """Guess the type of a cell, to show what a column holds."""
    integer = integer_or_text(cell)
    value = number_or_text(integer) if isinstance(integer, str) else integer
    return items_or_text(value) if isinstance(value, str) else value


def items_or_text(cell: str) -> list[Any] | str | None:
    """Read a list as Python, JSON or NumPy write it; other text stays as it is.

    >>> items_or_text("[0.1 0.9]"), items_or_text("['cat', 'dog']"), items_or_text("[UNK]")
    ([0.1, 0.9], ['cat', 'dog'], '[UNK]')
    """
    if cell[:1] != "[" or cell[-1:] != "]":
        return text_or_none(cell)
    items: list[str] = _ITEM.findall(_SCALAR.sub(r"\1", cell[1:-1]))
    read = [item[1:-1] if item[0] in "'\"" else number_or_text(item) for item in items]
    return cell if any(map(operator.eq, items, read)) else read


def text_or_none(cell: str) -> str | None:
    """Read a cell as text; an empty one is missing."""
    return cell or None
