"""The syntax of rules, read from left to right, and the slices that they name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar

import attrs

from streameval.configs.names import read_number
from streameval.errors import InvalidInputError, StreamevalError
from streameval.inputs.durations import duration_text, read_duration
from streameval.inputs.values import value_text
from streameval.render.text import shorten
from streameval.results.names import METRIC, OWN_METRIC, SIGN, MetricName, parse_metric

T = TypeVar("T")

Length = int | str
"""A number of panes, or a duration as text."""

_SPACE = re.compile(r"\s*")
_OWN_METRIC = re.compile(rf"{OWN_METRIC}(?=\s*(?:\{{|{SIGN}))")
_METRIC = re.compile(rf"{METRIC}(?=\s*(?:\{{|{SIGN}))")
_SIGN = re.compile(SIGN)
_WORD = re.compile(r"[^\s,]+")
_PANES = re.compile(r"([0-9]{1,9})\s+panes?\b")
_DURATION = re.compile(r"[0-9a-z]+")
_INTEGER = re.compile(r"-?[0-9]+")
_COUNT = re.compile(r"[0-9]{1,18}\b")
_QUOTED = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'")
_BARE = re.compile(r"[^\s={}~,\"'](?:[^={},\"']*[^\s={},\"'])?")
_CLAUSE = re.compile(r"(over|for)\b|(n)\s*>=")


@attrs.frozen
class Selector:
    """The slices that a rule applies to.

    Parameters
    ----------
    pairs : tuple of (column, value, bool)
        The value of each column as text, and whether it was quoted, which means text and not a
        number or a missing value. Without any, the rule applies to all rows together.
    """

    pairs: tuple[tuple[str, str, bool], ...]

    def chooses(self, items: Mapping[str, Any]) -> bool:
        """Tell whether this selector names the slice."""
        return len(items) == len(self.pairs) and self.covers(items)

    def covers(self, items: Mapping[str, Any] | None) -> bool:
        """Tell whether a slice has these values, among others; None is all rows."""
        if items is None or not self.pairs:
            return items is None and not self.pairs
        return all(
            column in items
            and (isinstance(items[column], str) or not is_quoted)
            and value_text(items[column]) == text
            for column, text, is_quoted in self.pairs
        )

    def __str__(self) -> str:
        """Write it as in a rule."""
        pairs = (
            f"{_written(column)}={_written(text, is_quoted=is_quoted)}"
            for column, text, is_quoted in self.pairs
        )
        return f"{{{','.join(pairs) or 'all'}}}"


def slice_text(items: Mapping[str, Any]) -> str:
    """Name a slice in the syntax of rules, without braces; distinct slices have distinct names.

    >>> slice_text({"country": "DE", "version": "1"})
    'country=DE,version="1"'

    Parameters
    ----------
    items : mapping from str to label or None
        The value of each column.
    """
    return ",".join(
        f"{_written(column)}={_written(value_text(item), is_quoted=_needs_quotes(item))}"
        for column, item in items.items()
    )


def _needs_quotes(item: Any) -> bool:
    """Return whether text looks like another value."""
    is_text = isinstance(item, str)
    return is_text and (item == value_text(None) or _INTEGER.fullmatch(item) is not None)


def _written(text: str, *, is_quoted: bool = False) -> str:
    """Quote a name if it needs quotes."""
    if not is_quoted and _BARE.fullmatch(text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def parse_selector(text: str) -> Selector:
    """Read slices as a rule names them, without braces: ``all``, ``country=DE,device=phone``."""
    reader = RuleText(f"{{{text}}}")
    reader.take("{")
    selector = reader.selector()
    reader.end("the end of the slice")
    return selector


class RuleText:
    """The text of a rule, and how far it has been read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def take(self, pattern: re.Pattern[str] | str) -> re.Match[str] | None:
        """Read what matches after spaces, if it does."""
        spaces = _SPACE.match(self.text, self.at)
        start = self.at if spaces is None else spaces.end()
        compiled = re.compile(re.escape(pattern)) if isinstance(pattern, str) else pattern
        match = compiled.match(self.text, start)
        if match is not None:
            self.at = match.end()
        return match

    def expect(self, pattern: re.Pattern[str] | str, what: str) -> re.Match[str]:
        """Read what has to match."""
        match = self.take(pattern)
        return self.fail(what) if match is None else match

    def fail(self, expected: str, instead: re.Match[str] | None = None) -> NoReturn:
        """Raise an error that says what is expected here, or instead of what was read last."""
        self.at = self.at if instead is None else instead.start()
        self.take(_SPACE)
        rest = self.text[self.at :]
        got = repr(shorten(rest)) if rest else "the end"
        raise InvalidInputError(
            f"{self.text!r} is not a rule: expected {expected} at position {self.at}, got {got}",
            remedy="Write one like 'recall[1] < 0.8' or 'recall[1] < 0.8 for 3 panes, n >= 500'.",
        )

    def metric(self) -> MetricName:
        """Read the name of a metric; a slice or a sign must follow it."""
        match = self.take(_OWN_METRIC) or self.take(_METRIC)
        if match is None:
            known = self.take(re.compile(METRIC)) is not None
            self.fail("one of <, <=, > and >= after the metric" if known else "a metric")
        return parse_metric(match[0])

    def selector(self) -> Selector:
        """Read what stands in braces."""
        if self.take(re.compile(r"all\s*\}")):
            return Selector(())
        pairs: dict[str, tuple[str, bool]] = {}
        while not pairs or self.take(","):
            start = self.at
            column, _ = self.name("the column of slices, or all")
            self.expect("=", "= after the column")
            if column in pairs:
                self.at = start
                self.fail("another column")
            pairs[column] = self.name("a value")
        self.expect("}", "} after the value")
        return Selector(tuple((column, *value) for column, value in pairs.items()))

    def name(self, what: str) -> tuple[str, bool]:
        """Read a name, and whether it is quoted."""
        match = self.take(_QUOTED)
        if match is None:
            return self.expect(_BARE, what)[0], False
        quoted = match[1] if match[2] is None else match[2]
        return re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL), True

    def sign(self) -> str:
        """Read a comparison."""
        return self.expect(_SIGN, "one of <, <=, > and >=")[0]

    def value(self, pattern: re.Pattern[str], read: Callable[[str], T | None], what: str) -> T:
        """Read what a function makes of the next text; it gives None where it cannot."""
        match = self.take(pattern)
        found = None if match is None else read(match[0])
        return self.fail(what, match) if found is None else found

    def number(self) -> float:
        """Read a finite number."""
        return self.value(_WORD, read_number, "a finite number")

    def share(self) -> float:
        """Read a share, such as 1% or 0.01."""
        return self.value(_WORD, _share, "a share such as 1%")

    def clauses(self) -> dict[str, Any]:
        """Read what follows the number."""
        found: dict[str, Any] = {}
        while True:
            start = self.at
            has_comma = self.take(",") is not None
            match = self.take(_CLAUSE)
            if match is None:
                self.end("over, for or n >=", is_open=has_comma)
                return found
            name = match[1] or match[2]
            if name in found:
                self.at = start
                self.fail(f"{name} once")
            found[name] = self.length() if match[1] else int(self.expect(_COUNT, "a count")[0])

    def length(self) -> Length:
        """Read a number of panes, or a duration."""
        match = self.take(_PANES)
        if match is None:
            return duration_text(self.duration("3 panes, or a duration such as 15m"))
        return int(match[1]) or self.fail("at least 1 pane", match)

    def duration(self, what: str = "a duration such as 10m") -> int:
        """Read a duration."""
        return self.value(_DURATION, _duration, what)

    def end(self, what: str, *, is_open: bool = False) -> None:
        """Check that nothing is left."""
        self.take(_SPACE)
        if is_open or self.at < len(self.text):
            self.fail(what)


def _share(text: str) -> float | None:
    number = read_number(text.removesuffix("%"))
    share = None if number is None else number / 100 if text.endswith("%") else number
    return None if share is None or not 0 <= share < 1 else share


def _duration(text: str) -> int | None:
    try:
        return read_duration(text, name="rule")
    except StreamevalError:
        return None
