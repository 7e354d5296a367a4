"""How the cells of a table of text write numbers and missing values, and in which encoding."""

from __future__ import annotations

import codecs
import re
from functools import cached_property

import attrs

UTF8 = "utf-8"
_SPACES = " \u00a0\u202f"
_MISSING = re.compile(r"null|n/?a|none|nil|#n/a|\\n|-|\.|missing|undefined", re.IGNORECASE)
_PERCENT = re.compile(r"[+-]?[0-9.,\s]*[0-9][0-9.,]*\s*%")
_EITHER = re.compile(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}")
_GROUPS = (
    (",", re.compile(r"[+-]?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")),
    (".", re.compile(r"[+-]?[0-9]{1,3}(?:\.[0-9]{3})+,[0-9]+|[+-]?[0-9]{1,3}(?:\.[0-9]{3}){2,}")),
    ("' '", re.compile(rf"[+-]?[0-9]{{1,3}}(?:[{_SPACES}][0-9]{{3}})+(?:[.,][0-9]+)?")),
)
"""Numbers that show their separator of thousands, and how it is typed."""


@attrs.frozen(slots=False)
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
    encoding : str
        The encoding of the file, one whose bytes below 128 are those of ASCII.
    """

    decimal: str = "."
    thousands: str = ""
    percent: bool = False
    na: tuple[str, ...] = ()
    encoding: str = UTF8

    @property
    def is_usual(self) -> bool:
        """Whether cells are read as they are."""
        return self.decimal == "." and not (self.thousands or self.percent or self.na)

    def decoded(self, data: bytes) -> bytes:
        """Convert the lines of a file to UTF-8; what the encoding lacks stays no UTF-8."""
        if self.encoding == UTF8:
            return data
        return data.decode(self.encoding, "surrogateescape").encode(UTF8, "surrogateescape")

    def read(self, cell: str) -> str:
        """Write a cell as Python does: a number with a point, nothing for a missing value."""
        text = cell.strip()
        if text in self.na:
            return ""
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

    @property
    def _marks(self) -> str:
        return _SPACES if self.thousands == " " else self.thousands

    @cached_property
    def _number(self) -> re.Pattern[str]:
        digits = "[0-9]+" if self.percent else "[0-9]*"
        if self.thousands:
            digits = rf"[0-9]{{1,3}}(?:[{re.escape(self._marks)}][0-9]{{3}})+|{digits}"
        return re.compile(
            rf"(?P<whole>[+-]?(?:{digits}))(?:{re.escape(self.decimal)}(?P<fraction>[0-9]+))?"
            r"(?P<exponent>[eE][+-]?[0-9]+)?"
        )


def known_encoding(name: str) -> str | None:
    """Return the canonical name of an encoding of lines; None if it is none."""
    try:
        found = codecs.lookup(name).name
        is_like_ascii = "\n,;09".encode(found) == b"\n,;09"
    except (LookupError, UnicodeError):
        return None
    return found if is_like_ascii else None


def advice(cell: str) -> str:
    """Name the option that reads a cell which is no number; empty if none does."""
    text = cell.strip()
    if _MISSING.fullmatch(text):
        return f" (--na {text if text.isalpha() else repr(text)} reads this as missing)"
    if _PERCENT.fullmatch(text):
        return " (--percent reads percentages)"
    if _EITHER.fullmatch(text):
        return " (--thousands , or --decimal , reads such numbers)"
    for mark, form in _GROUPS:
        if form.fullmatch(text):
            return f" (--thousands {mark} reads such numbers)"
    return ""
