"""The sections of a page: several results of one type, side by side."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

import attrs

from streameval.metrics.table import Change, Reading
from streameval.render.blocks import (
    MAX_DRAWN,
    ByClass,
    Confusions,
    Dots,
    Limits,
    Matrix,
    PageContent,
    Reliability,
    Several,
    qualified,
)
from streameval.render.charts import Chart, joined_axes, shared_marks
from streameval.render.markup import Html, element, joined, label, short
from streameval.render.svg import MAX_ROWS, NamedRows, dots, painted, style
from streameval.render.tables import (
    MAX_BESIDE,
    MAX_CELLS,
    by_class,
    confused_pairs,
    heat_table,
    metric_table,
    rows_table,
)
from streameval.render.text import chance_title, count, in_sentence, number

Blocks = Sequence[Any]
RowCells = list[Reading | None]

MAX_LINES = 100
"""How many slices have a row in the overview."""
_MAX_NARROW = 3  # columns of numbers that fit half of a screen
_LARGE = 12  # classes of a matrix that has its own line
_OF_TWO = 2  # classes, which have their own order
_LISTED = 24  # with more, the most confused pairs are listed above a matrix
_RANKED = {"count": "by examples", "rate": "by share of the true class"}


def heading(descriptions: Sequence[PageContent]) -> str:
    """Name what is shown."""
    return _agreed([one.heading for one in descriptions], descriptions[0].common_heading)


def section(
    names: Sequence[str],
    descriptions: Sequence[PageContent],
    level: float,
    confusions: Confusions = "count",
    by: str = "",
    changes: Mapping[str, Sequence[Change | None]] | None = None,
) -> Html:
    """Lay out several states, or slices: pictures, metrics, and the metrics of each class.

    `changes` has the differences from the first state, by metric; slices have none.
    """
    first, page = descriptions[0], _Section(names, level, confusions)
    caption = _agreed([one.caption for one in descriptions], first.common_caption)
    is_wide = bool(by) or len(names) > MAX_BESIDE
    rows = _rows(descriptions)
    changed = [changes[name] for name in rows] if changes else ()
    table = metric_table(list(rows.values()), names, level, by, changed)
    metrics = _figure(first.title, table, caption, "wide" if is_wide else None)
    beside = page.figures([one.beside for one in descriptions])
    classes = [one.by_class for one in descriptions if one.by_class is not None]
    position = classes[0].position if classes else ""
    tables, dots = page.classes(classes)
    if position == "under":
        metrics = _stack([metrics, *tables])
    beside += tables if position == "beside" else []
    is_wide = is_wide or _has_wide(descriptions)
    below = page.figures([one.below for one in descriptions])
    return joined(
        [
            *page.above([one.above for one in descriptions]),
            _grid([metrics, *(beside if is_wide else [_stack(beside)])]),
            *([_grid(tables)] if position == "below" else []),
            _grid([*dots, *below]),
        ]
    )


def overview(
    what: str, names: Sequence[str], columns: Sequence[tuple[str, Sequence[Reading]]], level: float
) -> Html:
    """Lay out a row for each of the first slices, with the first metrics, and draw one of them."""
    table = rows_table(what, names[:MAX_LINES], columns, level)
    hidden = len(names) - MAX_LINES
    note = [element("p", f"and {count(hidden)} more", class_="note")] if hidden > 0 else []
    drawn = [column for column in columns if not column[1][0].is_count][:1]
    look = "wide" if len(columns) > _MAX_NARROW else None
    parts = [_figure(f"By {what}", joined([table, *note]), look=look)]
    for title, cells in drawn:
        rows = [(name, [cell]) for name, cell in zip(names, cells, strict=False)]
        values = (f"{short(of)} {number(cell.value)}" for of, (cell,) in rows[:MAX_ROWS])
        parts.append(_dotted(f"{title} by {what}", rows, level, ", ".join(values)))
    return _grid(parts)


def _dotted(
    title: str, rows: NamedRows, level: float, spoken: str, said: str = "", name: str = ""
) -> Html:
    """Draw rows of numbers, and explain the thin lines, if any."""
    sampled = any(cell and cell.sampling for _, cells in rows for cell in cells)
    thin = f"With {chance_title(level)}s." if sampled else ""
    return _figure(title, dots(rows, name or title, spoken), f"{said} {thin}".strip())


def legend(names: Sequence[object]) -> Html:
    """Name the lines of the pictures if there are several."""
    if len(names) < 2:
        return Html()
    items = (
        element("li", _swatch(index), label(name, 40))
        for index, name in enumerate(names[:MAX_DRAWN])
    )
    hidden = len(names) - MAX_DRAWN
    rest = [element("li", f"and {hidden:,} more in the tables")] if hidden > 0 else []
    return element("ul", *items, *rest, class_="legend")


def _swatch(index: int) -> Html:
    line = element("path", d="M0 6H28", class_=f"line {style(index)}")
    return element("svg", line, viewBox="0 0 28 12", class_="swatch", aria_hidden="true")


def _agreed(texts: Sequence[str], common: str) -> str:
    """Return the text if all are equal, otherwise the common text."""
    return texts[0] if len(set(texts)) == 1 else common


def _rows(descriptions: Sequence[PageContent]) -> dict[str, tuple[str, RowCells]]:
    """Find the title and the numbers of each metric that a state has, but for rare counts of 0."""
    found = {}
    for name in dict.fromkeys(name for one in descriptions for name in one.rows):
        rows = [one.rows.get(name) for one in descriptions]
        held = [row for row in rows if row is not None]
        if held[0].is_rare and not any(row.reading.value for row in held):
            continue
        title = qualified(held[0].heading, [row.qualifier for row in held])
        found[name] = title, [None if row is None else row.reading for row in rows]
    return found


@attrs.frozen
class _Section:
    """The pictures of a section: its states, the intervals, and the order of confusions."""

    names: Sequence[str]
    level: float
    confusions: Confusions

    def above(self, columns: Sequence[Blocks]) -> list[Html]:
        """Draw the pictures above the table, with curves of classes state by state."""
        if not any(isinstance(block, Several) for blocks in columns for block in blocks):
            return [_grid(self.figures(columns))]
        return [
            _grid([self._of_classes(name, block) for block in blocks])
            for name, blocks in zip(self.names, columns[:MAX_DRAWN], strict=False)
        ]

    def figures(self, columns: Sequence[Blocks]) -> list[Html]:
        """Draw the blocks of all states, in one picture if they can share it."""
        return [
            drawn
            for blocks in zip_longest(*columns)
            if any(block is not None for block in blocks)
            for drawn in self._drawn(blocks)
        ]

    def classes(self, blocks: Sequence[ByClass]) -> tuple[list[Html], list[Html]]:
        """Lay out the classes of all states as a table and, for more than two classes, as dots."""
        every = dict.fromkeys(of for block in blocks for of in block.rows)
        if not every:
            return [], []
        first, order = blocks[0], _ordered(list(every), blocks)
        tables = {name: block.rows for name, block in zip(self.names, blocks, strict=True)}
        table = by_class(first.what, first.columns, tables, order, self.level)
        drawn = first.drawn if len(order) > 2 else ()
        dots = [self._class_dots(column, blocks, order) for column in drawn]
        return [_figure(first.title, table, first.caption)], dots

    def _drawn(self, blocks: Blocks) -> list[Html]:
        """Draw blocks of one type."""
        held = [pair for pair in zip(self.names, blocks, strict=True) if pair[1] is not None]
        match held[0][1]:
            case Dots():
                return self._dots(blocks)
            case Matrix():
                return [drawn for pair in held for drawn in self._matrix(*pair)]
            case Limits():
                return [self._findings(*pair) for pair in held]
        charts = [
            block.chart(self.level) if isinstance(block, Reliability) else block
            for block in blocks[:MAX_DRAWN]
        ]
        shown = [one for one in charts if one is not None and one.marks]
        if shown and shown[0].is_apart:
            return self._apart(shown)
        return [_pictured(self.names, charts)] if shown else []

    def _apart(self, charts: Sequence[Chart]) -> list[Html]:
        """Draw each state in a picture of its own, on equal axes."""
        x, y = joined_axes(charts)
        drawn = [[*[None] * at, attrs.evolve(one, x=x, y=y)] for at, one in enumerate(charts)]
        return [
            _pictured((), one, self._title(charts[0].title, name))
            for name, one in zip(self.names, drawn, strict=False)
        ]

    def _of_classes(self, name: str, block: Several) -> Html:
        """Draw the curves of the classes of one state."""
        drawn: Any = block.pictures
        largest = f"The {len(drawn)} of {count(block.of)} classes with most positives."
        said = largest if len(drawn) < block.of else ""
        title, above = self._title(block.title, name), legend(list(drawn))
        return _pictured(list(drawn), [*drawn.values()], title, said, above)

    def _dots(self, blocks: Sequence[Dots]) -> list[Html]:
        every = dict.fromkeys(name for block in blocks for name in block.readings)
        rows = [(name, [block.readings.get(name) for block in blocks]) for name in every]
        rows = [row for row in rows if any(cell and not math.isnan(cell.value) for cell in row[1])]
        if not rows:
            return []
        name, cells = rows[0]
        spoken = self._summary(name, [math.nan if cell is None else cell.value for cell in cells])
        said, title = f"The first {MAX_ROWS}." if len(rows) > MAX_ROWS else "", blocks[0].title
        return [_dotted(title, rows, self.level, spoken, said, f"{title} of the measures")]

    def _class_dots(self, column: str, blocks: Sequence[ByClass], order: Sequence[Any]) -> Html:
        """Draw one number of the classes."""
        index = list(blocks[0].columns).index(column)
        rows = [
            (of, [block.rows[of][index] if of in block.rows else None for block in blocks])
            for of in order
        ]
        which = f"with the lowest {in_sentence(blocks[0].drawn[0])}"
        lowest = f"Of the {MAX_ROWS} of {count(len(rows))} classes {which}."
        said = lowest if len(rows) > MAX_ROWS else ""
        values = [cells[0].value for _, cells in rows if cells[0] is not None]
        spoken = ", ".join(number(value) for value in values[:MAX_ROWS])
        return _dotted(f"{column} of each class", rows, self.level, spoken, said)

    def _matrix(self, name: str, matrix: Matrix) -> list[Html]:
        """List the most confused pairs of many classes, and lay the matrix out."""
        n_classes, drawn = len(matrix.labels), []
        if n_classes > _LISTED:
            title = self._title("Pairs most confused", name)
            pairs = confused_pairs(matrix, self.confusions)
            said = f"Of {count(n_classes)} classes, {_RANKED[self.confusions]}."
            drawn.append(_figure(title, pairs, said))
        if n_classes <= MAX_CELLS:
            caption = (
                "Blue: correct. Orange: wrong. "
                "The shade is the square root of the share of the true class."
            )
            look = "wide" if n_classes > _LARGE else None
            title = self._title("Confusion matrix", name)
            drawn.append(_figure(title, heat_table(matrix), caption, look))
        return drawn

    def _findings(self, name: str, findings: Limits) -> Html:
        items = (element("li", sentence) for sentence in findings.sentences)
        title = self._title("What limits these numbers", name)
        return _figure(title, element("ul", *items, class_="findings"))

    def _title(self, text: str, name: str) -> str:
        """Say which state a picture is about if there are several."""
        return text if len(self.names) == 1 else f"{text}: {short(name, 40)}"

    def _summary(self, what: str, values: Iterable[float]) -> str:
        """State a number for each state, for readers who do not see the picture."""
        first = zip(self.names[:MAX_DRAWN], values, strict=False)
        return "; ".join(f"{short(name, 40)}: {what} {number(value)}" for name, value in first)


def _pictured(
    names: Sequence[object],
    charts: Sequence[Chart | None],
    title: str = "",
    said: str = "",
    above: str = "",
) -> Html:
    """Draw charts in one picture, and say what their marks are, and what is cut off."""
    first, *_ = held = [one for one in charts if one is not None]
    marks, (_, y) = [mark for _, mark in shared_marks(charts)], joined_axes(held)
    is_cut = any(mark.y.max() > y.high for mark in marks if mark.kind == "line")
    parts = [said, first.said, *dict.fromkeys(mark.said for mark in marks), first.cut * is_cut]
    named = zip(names[:MAX_DRAWN], charts, strict=False)
    values = [(short(name, 40), *one.spoken) for name, one in named if one and one.spoken]
    spoken = "; ".join(f"{name}: {what} {number(value)}" for name, what, value in values)
    content = joined([above, painted(charts, spoken or first.summary)])
    return _figure(title or first.title, content, " ".join(filter(None, parts)))


def _ordered(every: list[Any], blocks: Sequence[ByClass]) -> list[Any]:
    """Put the classes with the lowest number first, the larger one of two that are alike.

    Those where the number is undefined come last.
    """
    first = blocks[0]
    if not first.drawn or len(every) <= _OF_TWO:
        return every
    column = list(first.columns).index(first.drawn[0])
    lowest, weights = dict.fromkeys(every, math.inf), dict.fromkeys(every, 0.0)
    for block in blocks:
        for of, row in block.rows.items():
            lowest[of] = min(lowest[of], row[column].value)  # which nan does not change
            weights[of] += (block.weights or {}).get(of, 0.0)
    return sorted(every, key=lambda of: (lowest[of], -weights[of]))


def _figure(title: str, content: Html, caption: str = "", look: str | None = None) -> Html:
    """Put a picture or a table under its title, and its notes below."""
    said = [element("p", caption)] if caption else []
    named = element("figcaption", element("h3", title), *said)
    return element("figure", named, content, class_=look)


def _grid(parts: Sequence[Html]) -> Html:
    """Lay parts out in rows with as many columns as fit."""
    return element("div", *parts, class_="parts") if parts else Html()


def _has_wide(descriptions: Sequence[PageContent]) -> bool:
    """Tell whether a matrix does not fit beside a table."""
    every = (block for one in descriptions for block in one.beside)
    return any(isinstance(block, Matrix) and len(block.labels) > _LARGE for block in every)


def _stack(parts: Sequence[Html]) -> Html:
    """Lay parts out one below the other."""
    return element("div", *parts, class_="stack")
