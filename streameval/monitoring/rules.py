"""Rules of alerts as text: ``recall[1] < 0.8``, ``coverage < 0.5``, ``no data for 10m``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import attrs

from streameval.errors import InvalidInputError, StreamevalError
from streameval.inputs.durations import duration_text, read_duration
from streameval.inputs.values import value_text
from streameval.metrics.evidence import Limit
from streameval.monitoring.tables import key_of, read_table, text, texts_by_name
from streameval.render.text import shorten
from streameval.results.names import (
    METRIC,
    OWN_METRIC,
    SIGN,
    Inequality,
    MetricName,
    parse_metric,
    read_number,
)

COVERAGE = "coverage"
ENDED = "monitor ended"
"""The rule of the event that a monitor ends with an error."""
"""The metric of rules about the share of rows with a label."""

Length = int | str
"""A number of panes, or a duration as text."""

_SPACE = re.compile(r"\s*")
_NO_DATA = re.compile(r"no\s+data\s+for\b")
_STALLED = re.compile(r"labels\s+stalled\s+for\b")
_SHARES = {
    what: re.compile(rf"{what.replace(' ', chr(92) + 's+')}\s*>")
    for what in ("bad rows", "late labels", "unmatched labels")
}
_OWN_METRIC = re.compile(rf"{OWN_METRIC}(?=\s*(?:\{{|{SIGN}))")
_METRIC = re.compile(rf"{METRIC}(?=\s*(?:\{{|{SIGN}))")
_SIGN = re.compile(SIGN)
_NUMBER = re.compile(r"[^\s,]+")
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

    def chooses(self, columns: tuple[str, ...], value: Any) -> bool:
        """Tell whether this selector names the slice."""
        items = dict(zip(columns, value if len(columns) > 1 else (value,), strict=True))
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


def slice_text(columns: Sequence[str], items: Sequence[Any]) -> str:
    """Name a slice in the syntax of rules, without braces; distinct slices have distinct names.

    >>> slice_text(["country", "version"], ["DE", "1"])
    'country=DE,version="1"'

    Parameters
    ----------
    columns : sequence of str
        The columns of the slices.
    items : sequence of label or None
        The value of each.
    """
    return ",".join(
        f"{_written(column)}={_written(value_text(item), is_quoted=_needs_quotes(item))}"
        for column, item in zip(columns, items, strict=True)
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


@attrs.frozen
class MetricRule:
    """A condition on the value of a metric, which fires an alert while it holds.

    Parameters
    ----------
    claim : Inequality
    selector : Selector, optional
        None means all rows together, and each named slice.
    over : int or str, optional
        The width of the window whose value counts; by default a pane.
    lasting : int or str, optional
        How long the condition must hold.
    min_n : int, optional
        The min number of examples in a pane or window.
    """

    claim: Inequality
    selector: Selector | None = None
    over: Length | None = None
    lasting: Length | None = None
    min_n: int | None = None

    @property
    def is_evidence(self) -> bool:
        """Whether the e-detector decides: of a metric without any clause."""
        clauses = (self.over, self.lasting, self.min_n)
        return not self.is_coverage and all(clause is None for clause in clauses)

    @property
    def is_coverage(self) -> bool:
        """Whether it is about the share of rows with a label."""
        return str(self.claim.metric) == COVERAGE

    @property
    def limit(self) -> Limit:
        """What the metric keeps while there is no alarm."""
        return Limit(self.claim.number, is_floor=self.claim.sign[0] == "<")

    @property
    def text(self) -> str:
        """The rule in its canonical form, which identifies it."""
        claim = self.claim
        selector = "" if self.selector is None else str(self.selector)
        text = f"{claim.metric}{selector} {claim.sign} {claim.number!r}".removesuffix(".0")
        text += "" if self.over is None else f" over {_length_text(self.over)}"
        text += "" if self.lasting is None else f" for {_length_text(self.lasting)}"
        return text + ("" if self.min_n is None else f", n >= {self.min_n}")


@attrs.frozen
class SilenceRule:
    """An alarm while nothing new arrives, measured by the clock.

    Parameters
    ----------
    of_labels : bool
        Whether labels have to come, while predictions wait for them; else rows.
    duration : int
        For how long, in microseconds.
    """

    of_labels: bool
    duration: int

    @property
    def text(self) -> str:
        """The rule in its canonical form."""
        what = "labels stalled" if self.of_labels else "no data"
        return f"{what} for {duration_text(self.duration)}"


@attrs.frozen
class ShareRule:
    """An alarm while more than a share of the newest rows, or labels, cannot be used.

    Parameters
    ----------
    of : {"bad rows", "late labels", "unmatched labels"}
    share : float
        In [0, 1).
    """

    of: str
    share: float

    @property
    def of_labels(self) -> bool:
        """Whether it is about labels that come later."""
        return self.of != "bad rows"

    @property
    def text(self) -> str:
        """The rule in its canonical form."""
        return f"{self.of} > {100 * self.share:.12g}%"


Rule = MetricRule | SilenceRule | ShareRule


def _length_text(length: Length) -> str:
    if isinstance(length, str):
        return length
    return "1 pane" if length == 1 else f"{length} panes"


def parse_rule(text: str) -> Rule:
    """Read a rule.

    ``METRIC < NUMBER`` is decided by the e-detector of `evidence`. With any of the clauses
    ``over 1h``, ``for 3 panes`` (or ``for 15m``) and ``n >= 500`` the value is compared with the
    number. ``{country=DE}`` behind the metric restricts a rule to a slice, ``{all}`` to all rows.
    ``coverage`` is the share of rows with a label. ``no data for 10m`` and
    ``labels stalled for 30m`` are about the clock. ``late labels > 1%`` is about labels that came
    after the wait of their prediction, ``unmatched labels > 5%`` about those without a prediction,
    and ``bad rows > 1%`` about rows that cannot be counted.

    >>> parse_rule("recall[1]<.8 for 3 panes,n>=500").text
    'recall[1] < 0.8 for 3 panes, n >= 500'

    Raises
    ------
    InvalidInputError
        When the text is not a rule; the message names the rule and the position.
    """
    if not isinstance(text, str):
        raise InvalidInputError(f"must be text, got {text!r}", argument="rule")
    return _Reader(text).rule()


def parse_selector(text: str) -> Selector:
    """Read slices as a rule names them, without braces: ``all``, ``country=DE,device=phone``."""
    reader = _Reader(f"{{{text}}}")
    reader.take("{")
    selector = reader.selector()
    reader.end("the end of the slice")
    return selector


def _key(name: str, read: Any, what: str, default: Any = None) -> Any:
    return attrs.field(default=default, converter=key_of("alerts", name, read, what))


@attrs.frozen(kw_only=True)
class AlertRule:
    """A rule, and what its events say besides.

    Parameters
    ----------
    rule : str
        In the syntax of `parse_rule`.
    name : str, optional
        What people call it; several rules may share a name.
    severity : str, optional
        How much it matters, such as "page" or "ticket".
    labels : mapping from str to str
        What else its events carry, such as the team.
    links : mapping from str to str
        URLs by what they show, such as a runbook.
    """

    rule: Rule = attrs.field(converter=parse_rule)
    name: str | None = _key("name", text, "text")
    severity: str | None = _key("severity", text, "text")
    labels: Mapping[str, str] = _key("labels", texts_by_name, "a table of texts", {})
    links: Mapping[str, str] = _key("links", texts_by_name, "a table of URLs", {})

    @property
    def about(self) -> dict[str, Any]:
        """What events say besides the rule; nothing of keys that are not given."""
        found = {name: getattr(self, name) for name in ("name", "severity", "labels", "links")}
        return {name: value for name, value in found.items() if value}


def read_rules(alerts: Any) -> tuple[AlertRule, ...]:
    """Read rules, each as text or as a table with the keys of `AlertRule`.

    Raises
    ------
    InvalidInputError
        If one is malformed, or comes twice with different keys.
    """
    if isinstance(alerts, str | Mapping):
        raise InvalidInputError(f"must be a list of rules, got {alerts!r}", argument="alerts")
    found: dict[str, AlertRule] = {}
    for one in alerts:
        made = read_table(AlertRule, one, main="rule", argument="alerts")
        if found.setdefault(made.rule.text, made) != made:
            raise InvalidInputError(
                f"has the rule {made.rule.text!r} twice, with different keys", argument="alerts"
            )
    return tuple(found.values())


class _Reader:
    """Reads a rule from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def rule(self) -> Rule:
        """Read a whole rule."""
        for words, of_labels in ((_NO_DATA, False), (_STALLED, True)):
            if self.take(words):
                duration = self.duration()
                self.end("the end of the rule")
                return SilenceRule(of_labels, duration)
        for of, words in _SHARES.items():
            if self.take(words):
                share = self.share()
                self.end("the end of the rule")
                return ShareRule(of, share)
        metric = self.metric()
        selector = self.selector() if self.take("{") else None
        sign = self.expect(_SIGN, "one of <, <=, > and >=")
        claim = Inequality(metric, sign[0], self.number())
        clauses = self.clauses()
        if str(metric) == COVERAGE and "over" in clauses:
            self.at = 0
            self.fail("coverage of a pane, without over")
        return MetricRule(
            claim, selector, clauses.get("over"), clauses.get("for"), clauses.get("n")
        )

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

    def fail(self, expected: str) -> NoReturn:
        """Raise an error that says what is expected here."""
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

    def number(self) -> float:
        """Read a finite number."""
        start = self.at
        match = self.take(_NUMBER)
        number = None if match is None else read_number(match[0])
        if number is None:
            self.at = start
            self.fail("a finite number")
        return number

    def share(self) -> float:
        """Read a share, such as 1% or 0.01."""
        start = self.at
        match = self.take(_NUMBER)
        text = "" if match is None else match[0]
        number = read_number(text.removesuffix("%"))
        share = None if number is None else number / 100 if text.endswith("%") else number
        if share is None or not 0 <= share < 1:
            self.at = start
            self.fail("a share such as 1%")
        return share

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
        start = self.at
        match = self.take(_PANES)
        if match is None:
            return duration_text(self.duration("3 panes, or a duration such as 15m"))
        if not int(match[1]):
            self.at = start
            self.fail("at least 1 pane")
        return int(match[1])

    def duration(self, what: str = "a duration such as 10m") -> int:
        """Read a duration."""
        start = self.at
        match = self.take(_DURATION)
        try:
            return read_duration("" if match is None else match[0], name="rule")
        except StreamevalError:
            self.at = start
            self.fail(what)

    def end(self, what: str, *, is_open: bool = False) -> None:
        """Check that nothing is left."""
        self.take(_SPACE)
        if is_open or self.at < len(self.text):
            self.fail(what)
