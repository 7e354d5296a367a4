"""Pages of results: states in, one HTML file out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from importlib.resources import files
from typing import Any

import attrs

from streameval.accumulators.base import Accumulator
from streameval.accumulators.sliced import Sliced
from streameval.accumulators.windowed import Windowed
from streameval.configs.collection import SEPARATOR
from streameval.configs.options import one_of
from streameval.errors import InvalidInputError, UnknownMetricError
from streameval.metrics.intervals import normal_quantile
from streameval.metrics.table import Reading
from streameval.render.blocks import PageContent, Row
from streameval.render.markup import Html, count, element, joined, label, percent, short
from streameval.render.page import heading, legend, section
from streameval.render.tables import Confusions, scrolled, sheet_tables
from streameval.render.text import size
from streameval.render.time_pictures import over_time
from streameval.results.collection import CollectionResult
from streameval.results.names import MetricName, parse_metrics
from streameval.results.result import Result
from streameval.results.result_types import RESULTS

__all__ = ["html_report"]


_MAX_NAMED = 3
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
    """A state with its name, its result and its size."""

    name: str
    accumulator: Accumulator[Any, Any]
    result: Result
    n_bytes: int

    def leaves(self) -> list[tuple[str, Result]]:
        """List the results, each after the name of its member or slice."""
        return _leaves(self.result) or _leaves(_whole(self.accumulator).compute())  # without slices

    @property
    def is_exact(self) -> bool:
        """Whether no number has a certified interval."""
        return all(getattr(result, "exact", True) for _, result in self.leaves())


def _leaves(result: Result | CollectionResult) -> list[tuple[str, Result]]:
    return list(result.titled()) if isinstance(result, CollectionResult) else [("", result)]


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
        The states to show, in this order. Each member of a collection has a section.
    title : str, optional
        The heading; by default the names.
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
        The page. A picture shows at most 8 states or classes, and a table at most 30 classes. A
        matrix of more than 24 classes is replaced by the 20 most confused pairs. Every state but
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
    named = short(title or _names(held), 120)
    described = _described(held, level, parse_metrics(metrics))
    sections = _sections(described, level, confusions)
    sections = [*_of_models(held, level), *sections]
    sections += _over_time(held, level, len(sections) + 1)
    style = files("streameval.render").joinpath("page.css").read_text(encoding="utf-8")
    head = element("head", *_head(named, style))
    body = element(
        "body", _header(named, held, sections), _main(sections, len(held)), _footer(level)
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _names(held: Sequence[_State]) -> str:
    """Name the first states and count the others."""
    first = ", ".join(short(state.name, 40) for state in held[:_MAX_NAMED])
    hidden = len(held) - _MAX_NAMED
    return f"{first} and {count(hidden)} more" if hidden > 0 else first


def _read(states: Any) -> list[_State]:
    """Compute the results; refuse anything that is not a state."""
    if not isinstance(states, Mapping) or not states:
        raise InvalidInputError(
            f"must map names to accumulators, got {states!r:.60}", argument="states"
        )
    held = []
    for name, accumulator in states.items():
        if not isinstance(name, str):
            raise InvalidInputError(
                f"must have names that are texts, got {name!r:.60}", argument="states"
            )
        if not isinstance(accumulator, Accumulator):
            found = type(accumulator).__name__
            raise InvalidInputError(
                f"must hold accumulators, got {found} for {short(name)!r}", argument="states"
            )
        n_bytes = len(accumulator.to_bytes())
        held.append(_State(name, accumulator, accumulator.compute(), n_bytes))
        _check_results(held[-1])
    return held


def _check_results(state: _State) -> None:
    """Refuse results without a section, such as results of user-defined classes."""
    for _, result in state.leaves():
        if not isinstance(result, RESULTS):
            found = type(result).__name__
            raise InvalidInputError(
                f"must have results of this library, got {found} for {short(state.name)!r}",
                argument="states",
            )


def _head(title: str, style: str) -> list[Html]:
    return [
        Html('<meta charset="utf-8">'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Html('<meta name="color-scheme" content="light dark">'),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'),
        element("title", title),
        element("style", Html(style)),
    ]


@attrs.frozen
class _StatesSection:
    """A section of the page: states, or members, of one type."""

    anchor: str
    member: str
    heading: str
    names: tuple[str, ...]
    content: Html


@attrs.frozen
class _Group:
    """Results shown side by side: of the same member, type and task."""

    member: str
    result_type: type[Result]
    names: list[str] = attrs.field(factory=list)
    held: list[PageContent] = attrs.field(factory=list)

    def takes(self, member: str, result: Result, described: PageContent) -> bool:
        """Tell whether the numbers of a result can be compared with those here."""
        first = self.held[0]
        if (self.member, self.result_type, first.form) != (member, type(result), described.form):
            return False
        mine, theirs = set(first.classes), set(described.classes)
        return len(mine & theirs) >= _SHARED * len(mine | theirs)


@attrs.frozen
class _Described:
    """A result of a state or a member, described for a page."""

    state: str
    member: str
    result: Result
    description: PageContent


def _described(
    held: Sequence[_State], level: float, metrics: Sequence[MetricName]
) -> list[_Described]:
    """Describe every result, with the requested metrics."""
    every = [
        _Described(state.name, member, result, result.described(level))
        for state in held
        for member, result in state.leaves()
    ]
    for metric in metrics:
        readings = [_reading_of(one, metric, level) for one in every]
        if not any(isinstance(reading, Reading) for reading in readings):
            raise next(error for error in readings if isinstance(error, UnknownMetricError))
        every = [
            one if isinstance(reading, UnknownMetricError) else _with_row(one, metric, reading)
            for one, reading in zip(every, readings, strict=True)
        ]
    return every


def _reading_of(
    described: _Described, metric: MetricName, level: float
) -> Reading | UnknownMetricError:
    """Read a metric of a result, or return the error if it has no such metric."""
    member, _, name = metric.name.rpartition(SEPARATOR)
    if member and member not in described.member.split(", "):
        return UnknownMetricError(f"no metric '{metric}': no state has a member {member!r}.")
    try:
        return described.result.read(MetricName(name, metric.of), level=level)
    except UnknownMetricError as error:
        return error


def _with_row(described: _Described, metric: MetricName, reading: Reading) -> _Described:
    """Add a row unless the page shows it already."""
    name = metric.name.rpartition(SEPARATOR)[2]
    row, rows = described.result.TABLE.get(name), described.description.rows
    heading = row.heading if row is not None and metric.of is None else ""
    if heading and name in rows:
        return described
    title = heading or str(MetricName(name, metric.of))
    rows = {**rows, str(metric): Row(title, reading)}
    return attrs.evolve(described, description=attrs.evolve(described.description, rows=rows))


def _sections(
    described: Sequence[_Described], level: float, confusions: Confusions
) -> list[_StatesSection]:
    """Group states and members by task and name."""
    groups: list[_Group] = []
    for one in described:
        shown = one.description
        group = next(
            (group for group in groups if group.takes(one.member, one.result, shown)), None
        )
        if group is None:
            groups.append(group := _Group(one.member, type(one.result)))
        group.names.append(one.state)
        group.held.append(shown)
    groups.sort(key=lambda group: RESULTS.index(group.result_type))
    return [
        _StatesSection(
            f"part-{number}",
            group.member,
            heading(group.held),
            tuple(group.names),
            section(group.names, group.held, level, confusions),
        )
        for number, group in enumerate(groups, 1)
    ]


def _of_models(held: Sequence[_State], level: float) -> list[_StatesSection]:
    """Collect the comparisons of three or more models on the same rows."""
    found: list[_StatesSection] = []
    for state in held:
        result = state.result
        if isinstance(result, CollectionResult) and result.has_models:
            sheet = result.sheet(level)
            anchor = f"models-{len(found) + 1}"
            found.append(
                _StatesSection(
                    anchor, "", "Models on the same rows", (state.name,), sheet_tables(sheet)
                )
            )
    return found


def _over_time(held: Sequence[_State], level: float, first: int) -> list[_StatesSection]:
    """Collect the usual metrics of states with panes of time, pane by pane."""
    found: list[_StatesSection] = []
    for state in held:
        if isinstance(state.accumulator, Windowed) and state.accumulator.newest is not None:
            content = joined(_pictures_over_time(state.accumulator, level))
            anchor = f"part-{first + len(found)}"
            found.append(_StatesSection(anchor, "", "Over time", (state.name,), content))
    return found


def _pictures_over_time(held: Windowed, level: float) -> list[Html]:
    windows = held.over_time()
    return [
        over_time(windows.line(metric, level).panes, metric, level) for metric in windows.headline()
    ]


def _whole(accumulator: Any) -> Any:
    """Return the accumulator of all rows, whatever their pane and slice."""
    while isinstance(accumulator, (Sliced, Windowed)):
        accumulator = accumulator.total()
    return accumulator


def _header(title: str, held: Sequence[_State], sections: Sequence[_StatesSection]) -> Html:
    states = "1 state" if len(held) == 1 else f"{count(len(held))} states"
    links = (
        element("li", element("a", _link_text(section, sections), href=f"#{section.anchor}"))
        for section in sections
    )
    contents = element("nav", element("ul", *links), aria_label="Contents")
    parts = [contents] if len(sections) > 1 else []
    return element("header", element("h1", title), element("p", states), _states(held), *parts)


def _link_text(section: _StatesSection, sections: Sequence[_StatesSection]) -> str:
    """Name a section by its heading, and by its member or state if the heading is not unique."""
    same = [other for other in sections if other.heading == section.heading]
    of = section.member or (section.names[0] if len(same) > 1 else "")
    return f"{short(of)}: {section.heading}" if of else section.heading


def _states(held: Sequence[_State]) -> Html:
    """List the states: their type, their size, and whether they are exact."""
    heads = (("State", None), ("Holds", None), ("Counted", "number"), ("Size", "number"))
    columns = [element("th", text, scope="col", class_=look) for text, look in heads]
    columns.append(element("th", "Numbers", scope="col"))
    rows = (
        element(
            "tr",
            element("th", label(state.name, 60), scope="row"),
            element("td", element("code", type(state.accumulator).__name__)),
            element("td", _count_text(state), class_="number"),
            element("td", size(state.n_bytes), class_="number"),
            element("td", "exact" if state.is_exact else "estimates with bounds"),
        )
        for state in held
    )
    head, body = element("thead", element("tr", *columns)), element("tbody", *rows)
    return scrolled(element("table", head, body, class_="states"), "States")


def _count_text(state: _State) -> str:
    number: Any = state.accumulator.n
    if isinstance(number, dict):
        members = len(number)
        return "1 member" if members == 1 else f"{count(members)} members"
    one, many = (
        ("query", "queries") if state.result.SIZE == "n_queries" else ("example", "examples")
    )
    return f"{count(number)} {one if number == 1 else many}"


def _main(sections: Sequence[_StatesSection], n_states: int) -> Html:
    return element("main", *(_shown(section, n_states) for section in sections))


def _shown(section: _StatesSection, n_states: int) -> Html:
    """Put a section under the name of its member, and of its state if there are several."""
    names = section.names if len(section.names) == 1 < n_states else ()
    of = [label(name, 80) for name in (*names, section.member) if name]
    above = [element("p", *_between(of), class_="of-what")] if of else []
    heading = element("h2", section.heading)
    return element(
        "section", *above, heading, legend(section.names), section.content, id=section.anchor
    )


def _between(parts: Sequence[Html]) -> list[str]:
    """Put a separator between the parts."""
    return [text for part in parts for text in (" / ", part)][1:]


def _footer(level: float) -> Html:
    """Explain the marks."""
    notes = {
        "Bounds": _CERTIFIED,
        f"Sampling intervals at {percent(level)}": _SAMPLING if level else "",
        "A dash": _DASH,
    }
    terms = (
        element("div", element("dt", term), element("dd", text))
        for term, text in notes.items()
        if text
    )
    made = element("p", f"Made by streameval {version('streameval')}.")
    return element("footer", element("h2", "How to read this"), element("dl", *terms), made)
