"""The live page of a monitor: what was committed last, slices that need attention first."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from functools import cached_property, lru_cache
from importlib.metadata import version
from typing import Any

import attrs

from streameval.metrics.table import Interval, Reading
from streameval.render.markup import Html, element, joined
from streameval.render.sparklines import Marks, Strip, sparkline
from streameval.render.svg import hatching
from streameval.render.tables import scrolled
from streameval.render.text import plural
from streameval.render.time_pictures import Pane, coverage_picture, time_picture, time_table
from streameval.render.wording import DASH, count, hull, interval, label, number, percent, share

__all__ = ["Alert", "Card", "Series", "View", "document", "fragment", "icon"]

_RELOAD_SECONDS = 30
_COVERAGE_HEIGHT = 130
_DECIMALS = 4
_MAX_LINES = 10
_NAME_WIDTH = 60
_PICTURE = (480, 230)
_ICONS = {"firing": "▲", "pending": "◆", "silent": "○", "resolved": "✓", "inactive": ""}
_WORDS = {"silent": "no labelled rows"}
_TERMS = {
    "The value": "of a series is that of its newest mature pane, marked by a dot.",
    "Shaded bands": (
        "are certified: they contain the exact value on these rows, always. A value without one "
        "is exact."
    ),
    "Thin lines": (
        "are sampling intervals at {level}: how far the value of the population may lie from that "
        "of a pane."
    ),
    "Hatched panes": (
        "are open: more rows or labels are expected, and their values will change. Alerts wait "
        "until they are mature."
    ),
    "Dashed lines": "are limits of alerts.",
    "Coverage": "is the share of all rows of a pane, whatever their slice, that have a label.",
    "The order": (
        "of slices: firing, pending, without rows in the newest mature pane, resolved; then by how "
        "clearly a value is worse than that of all rows; then by size."
    ),
}


@attrs.frozen
class Alert:
    """An alert of a series."""

    rule: str
    state: str
    since: str


@attrs.frozen(slots=False)
class Series:
    """A metric of a slice, pane by pane.

    Parameters
    ----------
    metric : str
    panes : sequence of Pane
        In order of time, mature ones first; of a slice, `labelled` is its own weight.
    limits : sequence of float
        The limits that alerts watch.
    marks : Marks, optional
        What was drawn of it before.
    """

    metric: str
    panes: Sequence[Pane]
    limits: Sequence[float] = ()
    marks: Marks = attrs.field(factory=Marks, eq=False, repr=False)

    @cached_property
    def n_mature(self) -> int:
        """How many panes are mature."""
        return [pane.is_open for pane in self.panes].count(False)

    @property
    def newest(self) -> Pane | None:
        """The newest mature pane."""
        return self.panes[self.n_mature - 1] if self.n_mature else None


@attrs.frozen
class Card:
    """A slice, or all rows.

    Parameters
    ----------
    name : str
        Any text, since values of columns are in it.
    state : {"firing", "pending", "silent", "resolved", "inactive"}
        The most urgent one.
    alerts : sequence of Alert
        Those that are not inactive.
    series : sequence of Series
        One for each metric, with the same panes.
    coverage : sequence of float
        The share of all rows with a label, for each pane.
    """

    name: str
    state: str
    alerts: Sequence[Alert]
    series: Sequence[Series]
    coverage: Sequence[float]

    @property
    def anchor(self) -> str:
        """What identifies it on the page, whatever its name."""
        return _anchor(self.name)


@attrs.frozen
class View:
    """What a page shows.

    Parameters
    ----------
    title : str
    number : int
        Of the commit.
    committed : str
        When it was made.
    facts : sequence of (str, str)
        The status: what, and how much.
    whole : Card, optional
        All rows; None before the first.
    slices : sequence of Card
        In the order in which they are shown.
    others : sequence of Alert
        Alerts about no metric, such as silence.
    level : float
        That of the sampling intervals.
    is_complete : bool
        Whether no older panes are still to be read.
    """

    title: str
    number: int
    committed: str
    facts: Sequence[tuple[str, str]]
    whole: Card | None
    slices: Sequence[Card]
    others: Sequence[Alert]
    level: float
    is_complete: bool = True

    @property
    def version(self) -> str:
        """What identifies the content."""
        if self.is_complete or self.whole is None:
            return str(self.number)
        return f"{self.number}-{len(self.whole.coverage)}"

    def count(self, state: str) -> int:
        """Count the alerts in a state."""
        cards = [*self.slices, *([] if self.whole is None else [self.whole])]
        alerts = [*self.others, *(alert for card in cards for alert in card.alerts)]
        return sum(alert.state == state for alert in alerts)

    @property
    def state(self) -> str:
        """The most urgent state of all alerts."""
        return next((one for one in ("firing", "pending") if self.count(one)), "inactive")

    @property
    def summary(self) -> str:
        """Say in a few words how things are."""
        firing, pending = self.count("firing"), self.count("pending")
        if firing or pending:
            counts = ((firing, "firing"), (pending, "pending"))
            return ", ".join(f"{plural(n, 'alert')} {state}" for n, state in counts if n)
        return "No alert is firing" if self.number else "Waiting for rows"


def document(view: View, shown: Html) -> Html:
    """Put a whole page around a fragment; it is complete without its script."""
    reload = element("noscript", Html(f'<meta http-equiv="refresh" content="{_RELOAD_SECONDS}">'))
    head = element(
        "head",
        Html('<meta charset="utf-8">'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Html('<meta name="color-scheme" content="light dark">'),
        element("title", _tab_title(view)),
        Html('<link rel="icon" href="icon.svg" type="image/svg+xml">'),
        Html('<link rel="stylesheet" href="page.css">'),
        Html('<script src="live.js" defer></script>'),
        reload,
    )
    status = element("p", view.summary, id="announcement", class_="unseen", role="status")
    body = element("body", hatching(), status, shown, _footer(view))
    return Html(f"<!doctype html>\n{element('html', head, body, lang='en')}\n")


def fragment(view: View) -> Html:
    """Lay out what changes from commit to commit."""
    parts = [_header(view)]
    if view.others:
        parts.append(element("section", _alerts(view.others), class_="others"))
    if view.whole is None:
        parts.append(element("section", element("p", "No rows have been counted yet.")))
    else:
        parts.append(_whole(view.whole, view.level))
    if view.slices:
        strip = Strip.of(view.slices[0].series[0].panes)
        cards = element(
            "div", *(_card(card, strip, view.level) for card in view.slices), class_="cards"
        )
        title = element("h2", f"Slices ({len(view.slices):,})")
        parts.append(element("section", title, cards))
    return element(
        "main",
        *parts,
        id="live",
        data_version=view.version,
        data_title=_tab_title(view),
        data_summary=view.summary,
    )


def _tab_title(view: View) -> str:
    n_firing = view.count("firing")
    return f"{f'({n_firing}) ' if n_firing else ''}{view.title}"


def _header(view: View) -> Html:
    facts = (element("div", element("dt", term), element("dd", text)) for term, text in view.facts)
    return element(
        "header",
        element(
            "div",
            element("h1", label(view.title, _NAME_WIDTH)),
            element("p", _icon(view.state), view.summary, class_=f"badge {view.state}"),
            class_="head",
        ),
        element(
            "p",
            element("span", f"reloaded every {_RELOAD_SECONDS} s", id="connection"),
            f" · commit {view.number:,}, {view.committed}",
            class_="when",
        ),
        element("dl", *facts, class_="facts"),
    )


def _whole(card: Card, level: float) -> Html:
    figures = (
        element(
            "figure",
            element("figcaption", element("h3", label(series.metric, 40)), _value(series, level)),
            time_picture(series.panes, series.metric, series.limits, *_PICTURE),
            _folded(f"{card.anchor}-{index}", time_table(series.panes, series.metric, level)),
        )
        for index, series in enumerate(card.series)
    )
    labelled = element(
        "figure",
        element("figcaption", element("h3", "Coverage"), _coverage(card)),
        coverage_picture(card.series[0].panes, _PICTURE[0], _COVERAGE_HEIGHT),
    )
    return element(
        "section",
        element("div", element("h2", card.name), _badge(card.state), class_="head"),
        _alerts(card.alerts),
        element("div", *figures, labelled, class_="parts"),
        id=card.anchor,
        class_="whole",
    )


def _coverage(card: Card) -> Html:
    """Write the share of labelled rows in the newest mature pane."""
    n_mature = card.series[0].n_mature
    covered = share(card.coverage[n_mature - 1]) if n_mature else DASH
    return element("p", element("span", covered, class_="big"), class_="reading")


def _card(card: Card, strip: Strip, level: float) -> Html:
    newest = card.series[0].newest
    size = ""
    if newest is not None:
        covered = card.coverage[card.series[0].n_mature - 1]
        size = f"{plural(newest.labelled, 'labelled row')} · coverage {share(covered)}"
    figures = (
        element(
            "div",
            _heading("h4", series.metric, 40),
            _value(series, level),
            sparkline(
                strip,
                [pane.reading for pane in series.panes],
                series.n_mature,
                series.limits,
                _spoken(card, series, level),
                series.marks,
            ),
        )
        for series in card.series
    )
    return element(
        "article",
        element(
            "div",
            _heading("h3", card.name, _NAME_WIDTH),
            _badge(card.state),
            class_="head",
        ),
        _alerts(card.alerts),
        *figures,
        element("p", size, class_="note"),
        _behind(card),
        id=card.anchor,
        class_=f"card {card.state}",
    )


def _value(series: Series, level: float) -> Html:
    """Write the newest value of a series large, and its intervals beside it."""
    newest = series.newest
    reading = Reading(math.nan) if newest is None else newest.reading
    if math.isnan(reading.value):
        return element("p", element("span", DASH, class_="big"), class_="reading")
    parts = [element("span", number(float(reading.value)), class_="big")]
    if reading.is_open:
        certified = f"certified {_hull(reading.certified)}"
        parts += [Html(" "), element("span", certified, class_="within")]
    if reading.sampling is not None:
        sampled = f"{percent(level)} {interval(*reading.sampling, _DECIMALS)}"
        parts += [Html(" "), element("span", sampled, class_="within")]
    return element("p", *parts, class_="reading")


def _behind(card: Card) -> Html:
    """List the newest panes in a table, behind the pictures."""
    panes = card.series[0].panes
    shown = range(len(panes) - 1, max(len(panes) - _MAX_LINES, 0) - 1, -1)
    heading, starts = _starts([panes[index].start for index in shown])
    columns = _columns(heading, *(series.metric for series in card.series))
    rows = "".join(
        [
            _row(start, card.coverage[index], *[series.panes[index] for series in card.series])
            for index, start in zip(shown, starts, strict=True)
        ]
    )
    table = element("table", element("thead", columns), element("tbody", Html(rows)))
    return _folded(
        f"{card.anchor}-0", scrolled(table, f"The newest panes of {card.name}"), card.name
    )


@lru_cache(maxsize=1024)
def _anchor(name: str) -> str:
    return f"s{hashlib.blake2b(name.encode(errors='replace'), digest_size=6).hexdigest()}"


@lru_cache(maxsize=8192)
def _row(start: str, coverage: float, *panes: Pane) -> str:
    """Write what the series of a card have in one pane; it is known again by its objects."""
    return (
        f'<tr><th scope="row">{start}{", open" if panes[0].is_open else ""}</th>'
        f"{''.join([_cell(pane.reading) for pane in panes])}"
        f"<td>{count(panes[0].labelled)}</td><td>{share(coverage)}</td></tr>"
    )


@lru_cache(maxsize=64)
def _columns(heading: str, *metrics: str) -> Html:
    """Write the head of the tables of cards, which all have the same."""
    heads = [heading, *metrics, "Labelled", "Of all"]
    return element("tr", *(element("th", label(text, 28), scope="col") for text in heads))


def _folded(anchor: str, table: Html, name: str = "") -> Html:
    """Put a table behind what opens it."""
    return element("details", _opener(anchor, name), table, id=anchor)


@lru_cache(maxsize=1024)
def _opener(anchor: str, name: str) -> Html:
    of = element("span", " of ", element("bdi", name), class_="unseen") if name else ""
    return element("summary", "Table", of, id=f"{anchor}-t")


@lru_cache(maxsize=1024)
def _heading(tag: str, text: str, width: int) -> Html:
    return element(tag, label(text, width))


def _cell(reading: Reading) -> str:
    if math.isnan(reading.value):
        return element("td", DASH)
    return _cell_text(float(reading.value), reading.certified, reading.sampling)


@lru_cache(maxsize=8192)
def _cell_text(value: float, certified: Interval, sampling: Interval | None) -> str:
    """Write a number and its intervals; nothing in it needs to be escaped."""
    inside = f"<small>certified {_hull(certified)}</small>" if certified[0] < certified[1] else ""
    likely = "" if sampling is None else f"<small>{interval(*sampling, _DECIMALS)}</small>"
    return f"<td>{number(value)}{inside}{likely}</td>"


def _hull(certified: Interval) -> str:
    low, high = certified
    return hull(float(low), float(high), _DECIMALS)


def _spoken(card: Card, series: Series, level: float) -> str:
    """Say in a sentence what a sparkline shows."""
    values = [
        float(pane.reading.value)
        for pane in series.panes
        if not pane.is_open and math.isfinite(pane.reading.value)
    ]
    newest, n_open = series.newest, len(series.panes) - series.n_mature
    opened = f" {plural(n_open, 'newer pane')} still open." if n_open else ""
    name = f"{series.metric} of {card.name}"
    if newest is None or not values:
        return f"{name}: no mature pane defines it.{opened}"
    reading = newest.reading
    if math.isnan(reading.value):
        now = "undefined in the newest mature pane"
    else:
        now = number(float(reading.value))
        if reading.is_open:
            low, high = reading.certified
            now += f", certified between {number(float(low))} and {number(float(high))}"
        if reading.sampling is not None:
            low, high = reading.sampling
            now += f", {percent(level)} interval from {number(low)} to {number(high)}"
    span = (
        f"between {number(min(values))} and {number(max(values))} in {plural(len(values), 'pane')}"
    )
    state = "" if card.state == "inactive" else f" {_word(card.state).capitalize()}."
    return f"{name}: {now}; {span}.{opened}{state}"


def _alerts(alerts: Sequence[Alert]) -> Html:
    if not alerts:
        return Html()
    items = (
        element(
            "li",
            _icon(alert.state),
            element("code", alert.rule),
            f" {alert.state} since {alert.since}",
            class_=alert.state,
        )
        for alert in alerts
    )
    return element("ul", *items, class_="alerts")


def _badge(state: str) -> Html:
    if state == "inactive":
        return Html()
    return element("span", _icon(state), _word(state), class_=f"badge {state}")


def _icon(state: str) -> Html:
    icon = _ICONS[state]
    return element("span", f"{icon} ", aria_hidden="true") if icon else Html()


def _word(state: str) -> str:
    return _WORDS.get(state, state)


def _starts(times: Sequence[Any]) -> tuple[str, list[str]]:
    """Write when panes begin; a day that all of them have in common is the heading."""
    texts = [str(time).removesuffix(".000000").removesuffix(":00") for time in times]
    days = {text.partition("T")[0] for text in texts if "T" in text}
    if len(days) != 1:
        return "Start", texts
    return days.pop(), [text.partition("T")[2] for text in texts]


def _footer(view: View) -> Html:
    terms = (
        element("div", element("dt", term), element("dd", text.format(level=percent(view.level))))
        for term, text in _TERMS.items()
    )
    made = element("p", f"Served by streameval {version('streameval')}. Times are UTC.")
    title = element("h2", "How to read this")
    return element("footer", title, element("dl", *terms), made)


def icon(state: str) -> Html:
    """Draw the icon of a page."""
    colour = {"firing": "#d9480f", "pending": "#b7791f"}.get(state, "#2a63d4")
    line = element(
        "path",
        d="M4 22L11 14L17 18L28 7",
        fill="none",
        stroke=colour,
        stroke_width=4,
        stroke_linecap="round",
        stroke_linejoin="round",
    )
    return element("svg", joined([line]), xmlns="http://www.w3.org/2000/svg", viewBox="0 0 32 32")
