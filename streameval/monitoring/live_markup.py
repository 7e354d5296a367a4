"""The live page of a monitor: the last commit, with slices that need attention first."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Self

import attrs
import numpy as np

from streameval.accumulators.panes import Pane
from streameval.exact.array_types import Floats
from streameval.metrics.table import Reading
from streameval.monitoring.rules import AlertState
from streameval.monitoring.status import BAD, Status, Vitals, time_number
from streameval.render.blocks import TimeLine, numbers_of
from streameval.render.markup import DASH, Html, element, joined, label, moment, terms, whole_page
from streameval.render.sparklines import Strip, gauge, sparkline
from streameval.render.svg import hatching
from streameval.render.tables import scrolled_table
from streameval.render.text import (
    clock_text,
    count,
    ends_of,
    number,
    percent,
    plural,
    share,
    time_text,
)
from streameval.render.time_pictures import (
    coverage_picture,
    share_picture,
    time_picture,
)
from streameval.version import __version__

_RELOAD_SECONDS = 30
_SHARE_HEIGHT = 130
_DECIMALS = 4
_MAX_LINES, _MAX_OF_ALL = 10, 60
_NAME_WIDTH = 60
_PICTURE = (480, 230)
_ICONS = {"firing": "▲", "pending": "◆", "silent": "○", "resolved": "✓", "inactive": ""}
_WORDS = {"silent": "no labelled rows"}
_TERMS = {
    "The value": (
        "of a series is that of its newest mature pane, marked by a dot. If panes without a row "
        "have matured since, the time of the pane is beside the value."
    ),
    "Live": (
        "means that the newest row is less than a minute old, by the clock of your browser; else "
        "the page says how far it is behind."
    ),
    "Shaded bands": (
        "contain the exact value on these rows, always, as the numbers after “within” do. A value "
        "without them is exact."
    ),
    "Thin lines": (
        "are {level} intervals: how far the value of the population may lie from that of a pane."
    ),
    "Hatched panes": (
        "are open: more rows or labels are expected, and their values will change. Alerts wait "
        "until they are mature."
    ),
    "Dashed lines": "are limits of alerts; an upright one is where an alert began that is firing.",
    "Bars": (
        "below a series are the evidence that rules without clauses weigh, if one of them is not "
        "inactive. A full bar is an alarm; after it, evidence begins again."
    ),
    "Coverage": "is the share of the rows of a pane, and of a slice, that have a label.",
    "The order": (
        "of slices: firing, pending, without rows in the newest mature pane, resolved; then by how "
        "clearly a value is worse than that of all rows; then by size."
    ),
}


@attrs.frozen(eq=False)
class Point:
    """A slice in one pane.

    Parameters
    ----------
    labelled : float
        The weight of its labelled rows.
    coverage : float
        The share of its rows with a label; NaN if unknown.
    readings : sequence of Reading
        One for each metric; NaN where it is undefined.
    """

    labelled: float
    coverage: float
    readings: Sequence[Reading]
    _rows: dict[str, str] = attrs.field(factory=dict, init=False, repr=False)

    def row(self, start: str) -> str:
        """Write its row in a table, which needs no escaping; the next update has it again."""
        row = self._rows.get(start)
        if row is None:
            row = self._rows[start] = (
                f'<tr><th scope="row">{start}</th>{"".join(map(_cell, self.readings))}'
                f"<td>{count(self.labelled)}</td><td>{_share(self.coverage)}</td></tr>"
            )
        return row


@attrs.frozen(eq=False)
class MetricSeries:
    """A metric of a slice, pane by pane.

    Parameters
    ----------
    metric : str
    limits : sequence of float
        The limits that alerts watch.
    fired : sequence of int
        The panes with which alerts began that are firing.
    evidence : sequence of float
        What alerts rest on that are not inactive, in each pane: the share of the evidence of an
        alarm; NaN where it is not known. Empty without such an alert.
    numbers : float64 array, shape (5, panes)
        The readings of the points, as `numbers_of` returns them.
    """

    metric: str
    limits: Sequence[float] = ()
    fired: Sequence[int] = ()
    evidence: Sequence[float] = ()
    numbers: Floats = attrs.field(factory=lambda: numbers_of([]), repr=False)


@attrs.frozen(eq=False)
class Card:
    """A slice, or all rows.

    Parameters
    ----------
    name : str
        Any text, because it includes values of columns.
    state : {"firing", "pending", "silent", "resolved", "inactive"}
        The most urgent one.
    alerts : sequence of AlertState
        The alerts that are not inactive, the most urgent ones first.
    series : sequence of MetricSeries
        One for each metric.
    points : sequence of Point
        One for each pane.
    evidence : float
        How close an e-detector is to its alarm, as a share.
    """

    name: str
    state: str
    alerts: Sequence[AlertState]
    series: Sequence[MetricSeries]
    points: Sequence[Point]
    evidence: float

    @property
    def anchor(self) -> str:
        """What identifies it on the page, whatever its name."""
        return _anchor(self.name)


@attrs.frozen(eq=False)
class ViewedPane:
    """What was read of a pane.

    Parameters
    ----------
    span : Pane
        Where the pane is.
    start, end : datetime64[us] or int
        The rows with ``start <= t < end``.
    n_rows : int or float
        The weight of all rows.
    slices : mapping from value to Point
        The slices that have rows; `...` stands for all rows.
    """

    span: Pane
    start: Any
    end: Any
    n_rows: int | float
    slices: Mapping[Any, Point]

    @property
    def n_labelled(self) -> float:
        """The weight of the labelled rows."""
        return self.slices[...].labelled

    def is_of(self, span: Pane) -> bool:
        """Return whether a pane is unchanged, by the identity of its immutable counts."""
        return self.span.part is span.part and self.span.rows is span.rows


@attrs.frozen(eq=False)
class ViewedPanes:
    """The panes of a view, which all of its cards share, in order of time.

    Parameters
    ----------
    counted : sequence of ViewedPane
    n_mature : int
        How many of the first panes are mature: more rows or labels may come for the others.
    as_of : str
        When the newest of those began, if panes without a row have matured since; otherwise empty.
    """

    counted: Sequence[ViewedPane]
    n_mature: int
    as_of: str = ""

    def newest(self, items: Sequence[Any]) -> Any:
        """Find what belongs to the newest mature pane; None without one."""
        return items[self.n_mature - 1] if self.n_mature else None


@attrs.frozen
class View:
    """What a page shows.

    Parameters
    ----------
    title : str
    status : Status
        That of the commit.
    vitals : Vitals, optional
        The numbers of the monitor itself.
    panes : ViewedPanes
    cards : sequence of Card
        That of all rows, then slices in the order of display; none before the first row.
    others : sequence of AlertState
        Alerts that are not about a metric, such as silence.
    level : float
        That of the sampling intervals.
    is_complete : bool
        Whether all older panes have been read.
    edition : int
        How many titles there have been.
    """

    title: str
    status: Status
    vitals: Vitals | None
    panes: ViewedPanes
    cards: Sequence[Card]
    others: Sequence[AlertState]
    level: float
    is_complete: bool
    edition: int = 1

    @property
    def version(self) -> str:
        """The identifier of the content."""
        whole = version_of(self.status.number, self.edition)
        return whole if self.is_complete else f"{whole}-{len(self.panes.counted)}"

    def count(self, state: str) -> int:
        """Count the alerts in a state."""
        alerts = [*self.others, *(alert for card in self.cards for alert in card.alerts)]
        return sum(alert.state == state for alert in alerts)

    @property
    def state(self) -> str:
        """The most urgent state of all alerts."""
        return next((one for one in ("firing", "pending") if self.count(one)), "inactive")

    @property
    def summary(self) -> str:
        """Summarize the state in a few words."""
        firing, pending = self.count("firing"), self.count("pending")
        if firing or pending:
            counts = ((firing, "firing"), (pending, "pending"))
            return ", ".join(f"{plural(n, 'alert')} {state}" for n, state in counts if n)
        awaited = _awaited(self.status)
        return f"Waiting for {awaited}" if awaited else "No alert is firing"


def version_of(number: int, edition: int) -> str:
    """Return the identifier of all that a commit shows under a title."""
    return str(number) if edition == 1 else f"{number}.{edition}"


def document(view: View, shown: Html) -> Html:
    """Put a whole page around a fragment; the page is complete without its script."""
    status = element("p", view.summary, id="announcement", class_="unseen", role="status")
    return whole_page(
        element("title", _tab_title(view)),
        Html('<link rel="icon" href="icon.svg" type="image/svg+xml">'),
        Html('<link rel="stylesheet" href="page.css">'),
        Html('<script src="live.js" defer></script>'),
        element("noscript", Html(f'<meta http-equiv="refresh" content="{_RELOAD_SECONDS}">')),
        body=element("body", hatching(), status, shown, _footer(view)),
    )


def fragment(view: View) -> Html:
    """Lay out the parts that change with each commit."""
    parts = [_header(view)]
    if view.others:
        parts.append(element("section", _alerts(view.others), class_="others"))
    whole, slices = view.cards[:1], view.cards[1:]
    nothing = element("section", element("p", "No rows have been counted yet."))
    parts += [_whole(card, view.panes, view.level) for card in whole] or [nothing]
    if slices:
        frame = _Frame.of(view.panes, slices[0].series, view.level, _MAX_LINES)
        cards = element("div", *(_card(card, frame) for card in slices), class_="cards")
        title = element("h2", f"Slices ({len(slices):,})")
        parts.append(element("section", title, cards))
    if view.vitals is not None:
        title, own = element("h2", "The monitor itself"), terms(_own_facts(view.vitals), "facts")
        parts.append(element("section", title, own, id="monitor"))
    return element(
        "main",
        *parts,
        id="live",
        data_version=view.version,
        data_title=_tab_title(view),
        data_summary=view.summary,
        data_state=view.state,
        data_newest=_seconds(view.status.last_event_time),
    )


def facts_of(status: Status) -> list[tuple[str, str]]:
    """List the informative numbers of a status."""
    facts = [("Rows", f"{status.n_rows:,}")]
    if status.coverage is not None:
        facts.append(("Labelled", share(status.coverage)))
    if status.n_pending or status.label_watermark is not None:
        facts.append(("Waiting for a label", f"{status.n_pending:,}"))
    times = {
        "Newest row": status.last_event_time,
        "Rows complete until": status.watermark,
        "Labels complete until": status.label_watermark,
        "Panes mature until": status.mature_until,
    }
    facts += [(name, moment_of(time)) for name, time in times.items() if time is not None]
    if status.is_full:
        facts.append(("Predictions", "not read until labels come"))
    if status.waits_for is not None:
        until = time_text(status.waits_for, " ")
        facts.append(("Ahead of the clock", f"rows up to {until} are not read yet"))
    named = {"Bad rows": status.n_bad} if status.n_bad else {}
    named |= {
        name.replace("_", " ").capitalize(): number
        for name, number in status.counters.items()
        if number and name not in (*BAD, "labels")
    }
    return facts + [(name, f"{number:,}") for name, number in named.items()]


def _own_facts(vitals: Vitals) -> list[tuple[str, str]]:
    """List the numbers of the monitor itself."""
    return [
        (vital.heading if key is None else f"{vital.heading} ({key})", vital.write(number))
        for vital, key, number in vitals.numbers()
    ]


def _awaited(status: Status) -> str:
    """Name what no row has been read of."""
    if not status.n_rows:
        return "rows"
    return "labels" if "labels" in status.positions and not status.counters.get("labels") else ""


def _seconds(time: Any) -> float | None:
    """Return a time in seconds since 1970; a step has none."""
    return None if time is None or isinstance(time, int) else time_number(time) / 1e6


def _tab_title(view: View) -> str:
    n_firing = view.count("firing")
    return f"{f'({n_firing}) ' if n_firing else ''}{view.title}"


def _header(view: View) -> Html:
    status = view.status
    committed = status.committed_at
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
            f" · commit {status.number:,}, ",
            "not begun yet" if committed is None else moment(clock_text(committed)),
            class_="when",
        ),
        terms(facts_of(status), "facts"),
    )


def _whole(card: Card, viewed: ViewedPanes, level: float) -> Html:
    figures: list[Html] = []
    newest, frame = viewed.newest(card.points), _Frame.of(viewed, card.series, level, _MAX_OF_ALL)
    panes = TimeLine(card.name, viewed.counted, (), len(viewed.counted) - viewed.n_mature)
    for index, series in enumerate(card.series):
        line = panes._replace(readings=[point.readings[index] for point in card.points])
        caption = element("h3", label(series.metric, 40))
        figures.append(
            element(
                "figure",
                element("figcaption", caption, _value(newest, index, level, viewed.as_of)),
                time_picture(line, series.metric, series.limits, *_PICTURE, fired=series.fired),
                _evidence(panes, series),
            )
        )
    labelled = element(
        "figure",
        element("figcaption", element("h3", "Coverage"), _coverage(newest, viewed.as_of)),
        coverage_picture(panes, _PICTURE[0], _SHARE_HEIGHT),
    )
    return element(
        "section",
        element("div", element("h2", card.name), _badge(card.state), class_="head"),
        _alerts(card.alerts),
        element("div", *figures, labelled, class_="parts"),
        _behind(card, frame),
        id=card.anchor,
        class_="whole",
    )


def _evidence(panes: TimeLine, series: MetricSeries) -> Html:
    """Draw what alerts about a metric rest on."""
    if not series.evidence:
        return Html()
    return share_picture(
        panes, series.evidence, "Evidence", _said_of_evidence(series), _PICTURE[0], _SHARE_HEIGHT
    )


def _gauge(strip: Strip, series: MetricSeries) -> Html:
    """Draw the same in the space of a word."""
    if not series.evidence:
        return Html()
    return gauge(strip, series.evidence, _said_of_evidence(series))


def _said_of_evidence(series: MetricSeries) -> str:
    known = [one for one in series.evidence if not math.isnan(one)]
    now, n_alarms = known[-1] if known else 0.0, known.count(1.0)
    return (
        f"Evidence about {series.metric}: {percent(now)} of that of an alarm in the newest pane, "
        f"{plural(n_alarms, 'alarm')} in {plural(len(known), 'pane')}"
    )


def _coverage(newest: Point | None, as_of: str) -> Html:
    """Write the share of labelled rows in the newest mature pane."""
    covered = DASH if newest is None else _share(newest.coverage)
    return element("p", element("span", covered, class_="big"), _of_pane(as_of), class_="reading")


def _of_pane(as_of: str) -> Html:
    """Say when the pane of a value began, if it is not the newest one."""
    if not as_of:
        return Html()
    return joined([Html(" "), element("span", f"pane of {as_of}", class_="within")])


@attrs.frozen(eq=False)
class _Frame:
    """What the cards of all slices share.

    Parameters
    ----------
    panes : ViewedPanes
    strip : Strip
    shown : range
        The panes that tables list.
    starts : sequence of str
        When they begin.
    columns : Html
        The head of the tables.
    level : float
    """

    panes: ViewedPanes
    strip: Strip
    shown: range
    starts: Sequence[str]
    columns: Html
    level: float

    @classmethod
    def of(
        cls, panes: ViewedPanes, series: Sequence[MetricSeries], level: float, n_lines: int
    ) -> Self:
        """Lay out the panes, so many of them in tables."""
        begun, ended = ([getattr(one, end) for one in panes.counted] for end in ("start", "end"))
        strip = Strip.of(begun, ended, panes.n_mature)
        size = len(begun)
        shown = range(size - 1, max(size - n_lines, 0) - 1, -1)
        heading, texts = _starts([begun[at] for at in shown])
        starts = [
            f"{text}, open" if at >= panes.n_mature else text
            for at, text in zip(shown, texts, strict=True)
        ]
        heads = [heading, *(one.metric for one in series), "Labelled", "Coverage"]
        columns = element("tr", *(element("th", label(text, 28), scope="col") for text in heads))
        return cls(panes, strip, shown, starts, columns, level)


def _card(card: Card, frame: _Frame) -> Html:
    newest = frame.panes.newest(card.points)
    figures = (
        element(
            "div",
            _heading("h4", series.metric, 40),
            _value(newest, index, frame.level, frame.panes.as_of),
            sparkline(
                frame.strip,
                series.numbers,
                frame.panes.n_mature,
                series.limits,
                _spoken(card, index, frame),
                series.fired,
            ),
            _gauge(frame.strip, series),
        )
        for index, series in enumerate(card.series)
    )
    return element(
        "article",
        _card_head(card.name, card.state),
        _alerts(card.alerts),
        *figures,
        _size(newest),
        _behind(card, frame),
        id=card.anchor,
        class_=f"card {card.state}",
    )


@lru_cache(maxsize=4096)
def _card_head(name: str, state: str) -> Html:
    return element("div", _heading("h3", name, _NAME_WIDTH), _badge(state), class_="head")


@lru_cache(maxsize=4096)
def _size(newest: Point | None) -> Html:
    """Say how many rows there are in the newest mature pane."""
    if newest is None:
        return element("p", class_="note")
    size = f"{plural(newest.labelled, 'labelled row')} · coverage "
    return element("p", size, _share(newest.coverage), class_="note")


@lru_cache(maxsize=4096)
def _value(newest: Point | None, index: int, level: float, as_of: str) -> Html:
    """Write the newest value of a series in large type; its intervals and its time beside it."""
    reading = Reading(math.nan) if newest is None else newest.readings[index]
    if math.isnan(reading.value):
        return element("p", element("span", DASH, class_="big"), class_="reading")
    parts = [element("span", number(reading.value), class_="big")]
    named = zip(("within", percent(level)), ends_of(reading, _DECIMALS), strict=True)
    for name, ends in named:
        parts += [Html(" "), element("span", f"{name} {ends}", class_="within")] if ends else []
    return element("p", *parts, _of_pane(as_of), class_="reading")


def _behind(card: Card, frame: _Frame) -> Html:
    """List the newest panes in a table that opens below the pictures."""
    points = card.points
    rows = [points[at].row(start) for at, start in zip(frame.shown, frame.starts, strict=True)]
    name = f"The newest panes of {card.name}"
    listed = scrolled_table(frame.columns, [Html("".join(rows))], name)
    return element("details", _opener(card.anchor, card.name), listed, id=f"{card.anchor}-0")


@lru_cache(maxsize=1024)
def _anchor(name: str) -> str:
    return f"s{hashlib.blake2b(name.encode(errors='replace'), digest_size=6).hexdigest()}"


@lru_cache(maxsize=1024)
def _opener(anchor: str, name: str) -> Html:
    of = element("span", " of ", element("bdi", name), class_="unseen")
    return element("summary", "Table", of, id=f"{anchor}-0-t")


@lru_cache(maxsize=1024)
def _heading(tag: str, text: str, width: int) -> Html:
    return element(tag, label(text, width))


def _share(covered: float) -> str:
    return DASH if math.isnan(covered) else share(covered)


def _cell(reading: Reading) -> str:
    """Write a number and its intervals."""
    if math.isnan(reading.value):
        return element("td", DASH)
    certified, sampling = ends_of(reading, _DECIMALS)
    inside = f"<small>exact within {certified}</small>" if certified else ""
    likely = f"<small>{sampling}</small>" if sampling else ""
    return f"<td>{number(reading.value)}{inside}{likely}</td>"


def _spoken(card: Card, index: int, frame: _Frame) -> str:
    """Say in a sentence what a sparkline shows."""
    n_mature, series = frame.panes.n_mature, card.series[index]
    values = series.numbers[0, :n_mature]
    defined = values[np.isfinite(values)]
    n_open = len(card.points) - n_mature
    opened = f" {plural(n_open, 'newer pane')} still open." if n_open else ""
    name = f"{series.metric} of {card.name}"
    if not len(defined):
        return f"{name}: no mature pane defines it.{opened}"
    reading = frame.panes.newest(card.points).readings[index]
    if math.isnan(reading.value):
        now = "undefined in the newest mature pane"
    else:
        now = number(reading.value)
        now += f" in the pane of {frame.panes.as_of}" if frame.panes.as_of else ""
        if reading.is_open:
            low, high = reading.certified
            now += f", the exact value between {number(float(low))} and {number(float(high))}"
        if reading.sampling is not None:
            low, high = reading.sampling
            now += f", {percent(frame.level)} interval from {number(low)} to {number(high)}"
    span = (
        f"between {number(float(defined.min()))} and {number(float(defined.max()))} in "
        f"{plural(len(defined), 'pane')}"
    )
    state = "" if card.state == "inactive" else f" {_word(card.state).capitalize()}."
    return f"{name}: {now}; {span}.{opened}{state}"


def _alerts(alerts: Sequence[AlertState]) -> Html:
    if not alerts:
        return Html()
    items = (
        element(
            "li",
            _icon(alert.state),
            f"{alert.about['name']}: " if "name" in alert.about else "",
            element("code", alert.rule),
            f" {alert.state} since ",
            moment_of(alert.since),
            *(part for link in alert.about.get("links", {}).items() for part in _link(*link)),
            class_=alert.state,
        )
        for alert in alerts
    )
    return element("ul", *items, class_="alerts")


def moment_of(time: Any) -> str:
    """Write a step, or a time, which the script of the page shows in the viewer's zone too."""
    text = time_text(time, " ")
    return text if isinstance(time, int) else moment(text.partition(".")[0])


def _link(text: str, url: str) -> tuple[str, Html]:
    """Link to a web page; any other address is text."""
    is_web = url.startswith(("https://", "http://"))
    return " ", element("a", text, href=url) if is_web else element("span", f"{text}: {url}")


def _badge(state: str) -> Html:
    if state == "inactive":
        return Html()
    return element("span", _icon(state), _word(state), class_=f"badge {state}")


def _icon(state: str) -> Html:
    icon = _ICONS[state]
    return element("span", f"{icon} ", aria_hidden="true") if icon else Html()


def _word(state: str) -> str:
    return _WORDS.get(state, state)


def _starts(times: Sequence[Any]) -> tuple[str, Sequence[str]]:
    """Write when panes begin; a day that all have is the heading."""
    texts = [time_text(time).removesuffix(":00") for time in times]
    days = {text.partition("T")[0] for text in texts if "T" in text}
    if len(days) != 1:
        return "Start", texts
    return days.pop(), [text.partition("T")[2] for text in texts]


def _footer(view: View) -> Html:
    texts = ((term, text.format(level=percent(view.level))) for term, text in _TERMS.items())
    made = element("p", f"Served by streameval {__version__}. Times without another are UTC.")
    title = element("h2", "How to read this")
    return element("footer", title, terms(texts), made)


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
