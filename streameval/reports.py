"""Pages of results: states in, one HTML file out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.resources import files
from typing import Any, Self

import attrs
import numpy as np

from streameval.accumulators.base import Accumulator
from streameval.accumulators.pane_results import results_of
from streameval.accumulators.windowed import Windowed
from streameval.configs.collection import SEPARATOR
from streameval.configs.options import one_of
from streameval.errors import InvalidInputError, UnknownMetricError
from streameval.inputs.values import value_text
from streameval.metrics.intervals import normal_quantile
from streameval.metrics.table import Change, Reading
from streameval.render.blocks import MAX_DRAWN, Confusions, PageContent, Row
from streameval.render.markup import Html, element, joined, label, short, terms, whole_page
from streameval.render.page import MAX_LINES, heading, legend, overview, section
from streameval.render.tables import sheet_tables, text_table
from streameval.render.text import chance_title, plural, size
from streameval.render.time_pictures import pictures_over_time
from streameval.results.calibration import Calibration
from streameval.results.class_curves import ClassCurves
from streameval.results.collection import CollectionResult, read_or_nan
from streameval.results.confusion import Confusion
from streameval.results.curve import Curve
from streameval.results.grouped import GroupedCurves
from streameval.results.names import MetricName, parse_metric, parse_metrics
from streameval.results.opening import (
    SLICE,
    amount_of,
    first_of,
    headline,
    opening,
    since_before,
    worst_span,
)
from streameval.results.paired import PairedResult
from streameval.results.pairs import SamplePair
from streameval.results.preferences import Preferences
from streameval.results.ranking import Ranking
from streameval.results.regression import Regression
from streameval.results.regression_outputs import RegressionOutputs
from streameval.results.result import Result
from streameval.results.sliced import OTHER, Search, SlicedResult
from streameval.results.values import Catalog, Summary
from streameval.results.windowed import WindowedResult
from streameval.version import __version__

__all__ = ["html_report"]


RESULTS: tuple[type[Result], ...] = (
    Confusion,
    Curve,
    ClassCurves,
    GroupedCurves,
    Calibration,
    Ranking,
    Regression,
    RegressionOutputs,
    PairedResult,
    Catalog,
    Preferences,
    Summary,
    CollectionResult,
    SlicedResult,
    WindowedResult,
)
"""The types of results, in the order in which a page shows them."""

ALL = "all rows"
_TITLE = "Evaluation"
_REST = "All metrics and pictures"
_MAX_SAID = 3
_DAYS = (30, 28, 7, 1)
_SHARED = 0.5  # two results are side by side if they share at least this many classes
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


_CERTIFIED = (
    "always contain the exact value for all the data. They appear where several scores share a "
    "bin; a number without them is exact. In figures they are bands and broad lines."
)
_SAMPLING = (
    "show where the value for the population that the data was drawn from may lie. In figures "
    "they are thin lines."
)
_DASH = (
    "stands for a number that the data does not define: nothing was predicted, a class is absent, "
    "or there is no data."
)


@attrs.frozen
class _State:
    """A state: its accumulator, the result of all rows, and the results of slices by name."""

    name: str
    accumulator: Accumulator[Any, Any]
    n_bytes: int
    result: Result
    slices: Mapping[str, Result]
    by: str

    @classmethod
    def of(cls, name: str, held: Any) -> Self:
        """Compute the results of a state, or of states of slices, of which the first has all rows.

        Raises
        ------
        InvalidInputError
            If it is no accumulator, or one whose result has no section.
        """
        every = list(held.values()) if isinstance(held, Mapping) else [held]
        for one in every or [None]:
            if not isinstance(one, Accumulator):
                found = type(one).__name__ if every else "nothing"
                raise InvalidInputError(
                    f"must hold accumulators, got {found} for {short(name)!r}", argument="states"
                )
        first = every[0]
        result, sliced = results_of(first.total() if isinstance(first, Windowed) else first)
        slices, by = _by_column(held) if isinstance(held, Mapping) else _by_value(sliced)
        n_bytes = sum(len(one.to_bytes()) for one in every)
        made = cls(name, first, n_bytes, result, slices, by if slices else "")
        for result in (made.result, *slices.values()):
            _check_results(name, result)
        return made

    @property
    def is_exact(self) -> bool:
        """Whether no number has a certified interval."""
        return all(getattr(one, "exact", True) for _, one in _leaves(self.result))


def _by_value(sliced: SlicedResult | None) -> tuple[dict[str, Result], str]:
    """Name the results of slices, and say what they are by."""
    if sliced is None:
        return {}, ""
    slices = {value_text(value): result for value, result in sliced.items()}
    return slices | ({OTHER: sliced.rest} if sliced.rest else {}), ", ".join(sliced.columns)


def _by_column(held: Mapping[str, Any]) -> tuple[dict[str, Result], str]:
    """Name slices such as ``country=DE`` by their values if all are of one column."""
    slices = {name: one.compute() for name, one in [*held.items()][1:]}
    columns = {name.partition("=")[0] for name in slices if "=" in name} | {
        name.removesuffix(".missing") for name in slices if name.endswith(".missing")
    }
    if len(columns) != 1 or any("," in name for name in slices):
        return slices, SLICE
    (column,) = columns
    named = {name.removeprefix(f"{column}="): result for name, result in slices.items()}
    return named, column


def _leaves(result: Any) -> list[tuple[str, Result]]:
    """List the results of the members, each after its names."""
    return list(result.titled()) if isinstance(result, CollectionResult) else [("", result)]


def _check_results(name: str, result: Any) -> None:
    """Refuse results without a section, such as results of user-defined classes."""
    for _, one in _leaves(result):
        if not isinstance(one, RESULTS):
            raise InvalidInputError(
                f"must have results of this library, got {type(one).__name__} for {short(name)!r}",
                argument="states",
            )


def html_report(
    states: Mapping[str, Accumulator[Any, Any]],
    *,
    title: str | None = None,
    level: float = 0.95,
    confusions: Confusions = "count",
    metrics: Sequence[str | MetricName] = (),
) -> str:
    """Lay out states as one HTML page, side by side if they are of the same type.

    The page is self-contained: it needs no script, no font and no network. It has a light and a
    dark theme, and can be printed. Equal states give equal pages.

    Parameters
    ----------
    states : mapping from name to accumulator
        The states to show, in this order. Each member of a collection has a section. States of
        slices are a mapping from name to accumulator themselves, all rows first.
    title : str, optional
        The heading.
    level : float
        The probability of the sampling intervals, in [0, 1); 0 leaves them out.
    confusions : {"count", "rate"}
        How to rank the most confused pairs of classes: by examples, or by their share of the true
        class, which shows problems of rare classes.
    metrics : sequence of str
        More metrics to show, named as for `Result.read`: ``"recall_at(0.9)"``,
        ``"cohen_kappa_quadratic"``, ``"recall[cat]"``, or ``"member/roc_auc"`` for one member only.

    Returns
    -------
    str
        The page, which begins with what was counted, the headline metric and what is worst. Slices
        have a row each, the worst first, and the 7 worst are drawn. A picture shows at most 8
        states or classes, and a table at most 30 classes. A matrix of more than 24 classes follows
        the 20 most confused pairs, which replace one of more than 40. Every state but
        the first has the differences from the first state beside its metrics.

    Raises
    ------
    InvalidInputError
        When there is no state, one is not an accumulator or is of a user-defined class, the level
        is invalid, or no state has one of the metrics.

    Examples
    --------
    >>> import streameval as se
    >>> monday = se.ConfusionAccumulator().update([1, 0, 1], [1, 0, 0])
    >>> tuesday = se.ConfusionAccumulator().update([1, 1, 1], [1, 1, 0])
    >>> page = se.reports.html_report({"monday": monday, "tuesday": tuesday}, title="This week")
    >>> page[:15], "<h1>This week</h1>" in page, "<script" in page
    ('<!doctype html>', True, False)
    """
    one_of(confusions, ("count", "rate"), name="confusions")
    normal_quantile(level)  # refuses an invalid level even if no interval is shown
    held = _read(states)
    if not (title is None or isinstance(title, str)):
        raise InvalidInputError(f"must be a text, got {title!r}", argument="title")
    named = short(title or _TITLE, 120)
    groups = _groups(held, level, parse_metrics(metrics))
    sections = [
        _section(number, group, level, confusions) for number, group in enumerate(groups, 1)
    ]
    sections = [*_of_models(held, level), *sections]
    sections += _over_time(held, level, len(sections) + 1)
    style = files("streameval.render").joinpath("page.css").read_text(encoding="utf-8")
    main = element("main", *(_shown(section, len(held)) for section in sections))
    return whole_page(
        Html(f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'),
        element("title", named),
        element("style", Html(style)),
        body=element("body", _header(named, sections), main, _footer(held, level)),
    )


def _read(states: Any) -> list[_State]:
    """Compute the results; refuse anything that is not a state."""
    if not isinstance(states, Mapping) or not states:
        raise InvalidInputError(
            f"must map names to accumulators, got {states!r:.60}", argument="states"
        )
    for name in states:
        if not isinstance(name, str):
            raise InvalidInputError(
                f"must have names that are texts, got {name!r:.60}", argument="states"
            )
    return [_State.of(name, held) for name, held in states.items()]


@attrs.frozen
class _StatesSection:
    """A section of the page: states, members, or slices, of one type."""

    anchor: str
    member: str
    heading: str
    names: tuple[str, ...]
    content: Html
    said: tuple[str, ...] = ()


@attrs.frozen
class _Described:
    """A result of a state, a member or a slice, described for a page."""

    name: str
    member: str
    result: Result
    description: PageContent


@attrs.frozen
class _Group:
    """Results shown side by side: of the same member, type and task, or slices of one state."""

    member: str
    result_type: type[Result]
    state: str = ""
    by: str = ""
    held: list[_Described] = attrs.field(factory=list)
    slices: Mapping[str, Result] = attrs.field(factory=dict)

    def takes(self, one: _Described) -> bool:
        """Tell whether the numbers of a result can be compared with those here."""
        first, found = self.held[0].description, one.description
        mine, theirs = first.classes, found.classes
        here, there = (self.member, self.result_type, first.form), (one.member, type(one.result))
        is_like = here == (*there, found.form)
        return is_like and len(mine & theirs) >= _SHARED * len(mine | theirs)


def _groups(held: Sequence[_State], level: float, metrics: Sequence[MetricName]) -> list[_Group]:
    """Group states and members by task and name; a state with slices is a group of its own."""
    every = {
        state.name: [
            _Described(state.name, member, result, result.described(level))
            for member, result in _leaves(state.result)
        ]
        for state in held
    }
    _check_metrics([one for described in every.values() for one in described], metrics, level)
    groups: list[_Group] = []
    slices: list[_Group] = []
    for state in held:
        for one in every[state.name]:
            described = _with_metrics(one, metrics, level)
            if state.slices:
                slices.append(_of_slices(state, described, metrics, level))
            if not state.slices or len(held) > 1:
                group = next((group for group in groups if group.takes(described)), None)
                if group is None:
                    groups.append(group := _Group(one.member, type(one.result)))
                group.held.append(described)
    return [
        *sorted(groups, key=lambda group: RESULTS.index(group.result_type)),
        *sorted(slices, key=lambda group: RESULTS.index(group.result_type)),
    ]


def _of_slices(
    state: _State, whole: _Described, metrics: Sequence[MetricName], level: float
) -> _Group:
    """Put the slices of a member in order, the worst first, and describe the first ones."""
    parts = {name: dict(_leaves(result)) for name, result in state.slices.items()}
    slices = {name: found[whole.member] for name, found in parts.items() if whole.member in found}
    search = Search.of(slices, MetricName(headline(whole.description)), 0, whole.result)
    order = [*(one for one, _ in search.worst()), *search.undefined]
    slices = {one: slices[one] for one in order}
    described = [
        _Described(name, whole.member, result, result.described(level))
        for name, result in [*slices.items()][: MAX_DRAWN - 1]
    ]
    return _Group(
        whole.member,
        type(whole.result),
        state.name,
        state.by,
        [attrs.evolve(whole, name=ALL), *(_with_metrics(one, metrics, level) for one in described)],
        slices,
    )


def _section(number: int, group: _Group, level: float, confusions: Confusions) -> _StatesSection:
    """Lay a group out: a row for each of many results, and everything about them."""
    names, described = [one.name for one in group.held], [one.description for one in group.held]
    results = {one.name: one.result for one in group.held} | dict(group.slices)
    changes = None if group.by else _changes(group.held, level)  # slices overlap with all rows
    content = section(names, described, level, confusions, group.by, changes)
    content = joined([legend(names), content]) if "<svg" in content else content
    if group.by:
        shown_results = [*results.values()][:MAX_LINES]
        names_of_metrics = dict.fromkeys(("n", headline(described[0]), *described[0].headline))
        shown = [name for name in names_of_metrics if name in described[0].rows]
        columns = [
            (
                described[0].rows[name].heading,
                [read_or_nan(one, name, level).defined for one in shown_results],
            )
            for name in shown
        ]
        rest = f"{_REST} of the {MAX_DRAWN - 1} worst" if len(group.slices) >= MAX_DRAWN else _REST
        table = overview(group.by, list(results), columns, level)
        content = joined([table, element("details", element("summary", rest), content)])
    said = opening(described[0], results, level, group.by, confusions)
    return _StatesSection(
        f"part-{number}",
        "" if group.member == group.result_type.TABLE.task else group.member,
        heading(described),
        (group.state,) if group.by else tuple(names),
        content,
        tuple(said),
    )


def _changes(held: Sequence[_Described], level: float) -> dict[str, list[Change | None]]:
    """Compare the metrics of other results with those of the first, rankings query by query."""
    first, *others = (one.description.rows for one in held)
    pairs = [
        SamplePair.of(held[0].result, one.result) if level else SamplePair.none()
        for one in held[1:]
    ]
    return {
        name: [
            pair.change(MetricName(name), first[name].reading, rows[name].reading, level)
            if name in first and name in rows
            else None
            for pair, rows in zip(pairs, others, strict=True)
        ]
        for name in dict.fromkeys(name for rows in (first, *others) for name in rows)
    }


def _check_metrics(
    described: Sequence[_Described], metrics: Sequence[MetricName], level: float
) -> None:
    """Raise UnknownMetricError for a metric that no result has."""
    for metric in metrics:
        readings = [_reading_of(one, metric, level) for one in described]
        if not any(isinstance(reading, Reading) for reading in readings):
            raise next(error for error in readings if isinstance(error, UnknownMetricError))


def _with_metrics(described: _Described, metrics: Sequence[MetricName], level: float) -> _Described:
    """Add the requested metrics that a result has, unless the page shows them already."""
    rows = dict(described.description.rows)
    for metric in metrics:
        name, reading = metric.name.rpartition(SEPARATOR)[2], _reading_of(described, metric, level)
        row = described.result.TABLE.get(name)
        heading = row.heading if row is not None and metric.of is None else ""
        if isinstance(reading, Reading) and not (heading and name in rows):
            rows[str(metric)] = Row(heading or str(MetricName(name, metric.of)), reading)
    return attrs.evolve(described, description=described.description._replace(rows=rows))


def _reading_of(
    described: _Described, metric: MetricName, level: float
) -> Reading | UnknownMetricError:
    """Read a metric of a result, or return the error if it has no such metric."""
    member, _, name = metric.name.rpartition(SEPARATOR)
    if member and member not in described.member.split(", "):
        return UnknownMetricError(f"no metric '{metric}': no state has a member {member!r}.")
    own = MetricName(name, metric.of)
    try:
        described.result.check(own)
    except UnknownMetricError as error:
        return error
    return read_or_nan(described.result, own, level).defined


def _of_models(held: Sequence[_State], level: float) -> list[_StatesSection]:
    """Collect the comparisons of three or more models on the same rows."""
    sheets = {
        state.name: state.result.sheet(level)
        for state in held
        if isinstance(state.result, CollectionResult) and state.result.has_models
    }
    title = "Models on the same rows"
    return [
        _StatesSection(f"models-{at}", "", title, (name,), sheet_tables(sheet))
        for at, (name, sheet) in enumerate(sheets.items(), 1)
    ]


def _over_time(held: Sequence[_State], level: float, first: int) -> list[_StatesSection]:
    """Draw the usual metrics of states with panes of time, pane by pane, also of slices."""
    windowed = {
        state.name: state.accumulator
        for state in held
        if isinstance(state.accumulator, Windowed) and state.accumulator.newest is not None
    }
    return [
        _StatesSection(f"part-{at}", "", "Over time", (name,), *_pictures_over_time(one, level))
        for at, (name, one) in enumerate(windowed.items(), first)
    ]


def _pictures_over_time(windowed: Windowed, level: float) -> tuple[Html, tuple[str, ...]]:
    """Draw the headline metrics over time, and say of the first one what changed and is worst."""
    windows: WindowedResult = windowed.over_time()
    whole, drawn = windows.whole.result, []
    said: tuple[str, ...] = ()
    readings = {name: read_or_nan(whole, name, level).defined for name in windows.headline()}
    for name in dict.fromkeys((first_of(readings), *readings)):
        lines, heading = windows.every_line(parse_metric(name), level), whole.heading(name)
        drawn.append(pictures_over_time(lines, heading, level))
        newest = _newest(windowed) if not drawn[1:] else None
        changed = since_before(name, *newest, level) if newest else ""
        said = said or (*([changed] if changed else []), *worst_span(windows, name, level))
    return element("div", *drawn, class_="parts"), said


def _newest(windowed: Windowed) -> tuple[Result, Result, str] | None:
    """Return the results of the newest days and of as many before, the most that panes hold."""
    view = windowed.view()
    start, newest = map(view.config.shown, (view.spans()[0].start, view.end))
    for days in () if view.config.is_step else _DAYS:
        middle = newest - np.timedelta64(days, "D")
        if start <= middle - np.timedelta64(days, "D"):
            with suppress(InvalidInputError):  # panes that do not end there
                spans = (windowed.window(f"{days}d", end) for end in (middle, newest))
                before, after = (results_of(one)[0] for one in spans)
                return before, after, "day" if days == 1 else f"{days} days"
    return None


def _header(title: str, sections: Sequence[_StatesSection]) -> Html:
    """Begin with what was counted, how good it is, and what is worst."""
    said = [
        element("p", *_named(section, sections), " ".join(section.said), class_="lead")
        for section in sections
        if section.said
    ]
    links = (
        element("li", element("a", _link_text(section, sections), href=f"#{section.anchor}"))
        for section in sections
    )
    contents = element("nav", element("ul", *links), aria_label="Contents")
    parts = [contents] if len(sections) > 1 else []
    return element("header", element("h1", title), *said[:_MAX_SAID], *parts)


def _named(section: _StatesSection, sections: Sequence[_StatesSection]) -> list[Html | str]:
    """Say what a sentence is about if there are several sections."""
    several = len(sections) > 1
    return [element("strong", f"{_link_text(section, sections)}."), " "] if several else []


def _link_text(section: _StatesSection, sections: Sequence[_StatesSection]) -> str:
    """Name a section by its heading, and by its member or state if the heading is not unique."""
    same = [other for other in sections if other.heading == section.heading]
    of = section.member or (section.names[0] if len(same) > 1 else "")
    return f"{short(of)}: {section.heading}" if of else section.heading


def _states(held: Sequence[_State]) -> Html:
    """List the states: their type, their size, and whether they are exact."""
    rows = (
        (
            label(state.name, 60),
            element("code", type(state.accumulator).__name__),
            _count_text(state),
            size(state.n_bytes),
            "exact" if state.is_exact else "estimates with bounds",
        )
        for state in held
    )
    heads = ("State", "Holds", "Counted", "Size", "Numbers")
    looks = (None, None, "number", "number", None)
    table = text_table(heads, rows, "States", looks, of="states")
    return element("details", element("summary", "What was counted, and how"), table)


def _count_text(state: _State) -> str:
    number: Any = state.accumulator.n
    if isinstance(number, dict):
        return plural(len(number), "member")
    return amount_of(state.result, number)


def _shown(section: _StatesSection, n_states: int) -> Html:
    """Put a section under the name of its member, and of its state if there are several."""
    names = section.names if len(section.names) == 1 < n_states else ()
    of = [label(name, 80) for name in (*names, section.member) if name]
    above = [element("p", *_between(of), class_="of-what")] if of else []
    heading = element("h2", section.heading)
    return element("section", *above, heading, section.content, id=section.anchor)


def _between(parts: Sequence[Html]) -> list[str]:
    """Put a separator between the parts."""
    return [text for part in parts for text in (" / ", part)][1:]


def _footer(held: Sequence[_State], level: float) -> Html:
    """Explain the marks, and say what was counted."""
    sampling = [(f"{chance_title(level)}s", _SAMPLING)] if level else []
    bounds = [] if all(state.is_exact for state in held) else [("Bounds", _CERTIFIED)]
    notes = terms([*bounds, *sampling, ("A dash", _DASH)])
    made = element("p", f"Made by streameval {__version__}.")
    title = element("h2", "How to read this")
    return element("footer", title, notes, _states(held), made)
