"""What a section is about: results of one kind, of one or several states."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from streameval.metrics.bounded import Bounded
from streameval.render.markup import Html, element, joined
from streameval.render.wording import label, short

__all__ = [
    "MOST_DRAWN",
    "Entry",
    "Measured",
    "Row",
    "beside",
    "drawn",
    "figure",
    "grid",
    "legend",
    "stack",
    "style",
    "summary",
    "title_of",
]

Interval = tuple[float, float]
Cells = Sequence["Measured | None"]
Row = tuple[str, Cells]

MOST_DRAWN = 8
"""How many lines share a picture: so many colours are told apart."""

_MOST_BESIDE = 2


@attrs.frozen
class Entry:
    """A result, and the name of the state that it is of."""

    name: str
    result: Any


@attrs.frozen
class Measured:
    """A number of a state, and what is known of how far it may be off.

    Parameters
    ----------
    value : float
        The number; nan where it is undefined.
    certified : (low, high), optional
        Where the exact value lies; None where that is the value.
    sampling : (low, high), optional
        Where the value of the population may lie; None if there is no such interval.
    is_count : bool
        Whether it is a weight, and not a metric.
    """

    value: float
    certified: Interval | None = None
    sampling: Interval | None = None
    is_count: bool = False

    @classmethod
    def of(cls, value: float, sampling: Interval | None = None) -> Measured:
        """Read a metric, which may carry its own interval."""
        known = None if sampling is None or math.isnan(sampling[0]) else sampling
        if isinstance(value, Bounded) and not value.exact:
            return cls(float(value), (value.low, value.high), known)
        return cls(float(value), None, known)

    @classmethod
    def count(cls, value: float) -> Measured:
        """Read a weight."""
        return cls(value, is_count=True)

    @property
    def ends(self) -> list[float]:
        """The value and the ends of its intervals, where they are finite."""
        every = (self.value, *(self.certified or ()), *(self.sampling or ()))
        return [end for end in every if math.isfinite(end)]


def drawn(entries: Sequence[Entry]) -> Sequence[Entry]:
    """Give those that are drawn together, the first few."""
    return entries[:MOST_DRAWN]


def style(place: int) -> str:
    """Name the colour and the dashes of a line by its place."""
    return f"s{place}"


def legend(names: Sequence[object]) -> Html:
    """Name the lines of the pictures, where there are several."""
    if len(names) < 2:
        return Html()
    items = (
        element("li", _swatch(place), label(name, 40))
        for place, name in enumerate(names[:MOST_DRAWN])
    )
    hidden = len(names) - MOST_DRAWN
    rest = [element("li", f"and {hidden:,} more in the tables")] if hidden > 0 else []
    return element("ul", *items, *rest, class_="legend")


def _swatch(place: int) -> Html:
    line = element("path", d="M0 6H28", class_=f"line {style(place)}")
    return element("svg", line, viewBox="0 0 28 12", class_="swatch", aria_hidden="true")


def title_of(text: str, entry: Entry, entries: Sequence[Entry]) -> str:
    """Say which state a picture is about, where there are several."""
    return text if len(entries) == 1 else f"{text}: {short(entry.name, 40)}"


def figure(title: str, content: Html, caption: str = "", *notes: Html) -> Html:
    """Put a picture or a table under its title, and what there is to say of it below."""
    said = [element("p", caption)] if caption else []
    text = element("figcaption", element("h3", title), *said)
    return element("figure", text, content, *notes)


def summary(
    entries: Sequence[Entry], name: str, value: Callable[[Entry], Any], write: Callable[[Any], str]
) -> str:
    """Say a number of each state, for those who do not see the picture."""
    return "; ".join(
        f"{short(entry.name, 40)}: {name} {write(value(entry))}" for entry in drawn(entries)
    )


def grid(parts: Sequence[Html]) -> Html:
    """Lay parts out in rows, of as many columns as there is room for."""
    return element("div", *parts, class_="parts") if parts else Html()


def beside(table: Html, pictures: Sequence[Html], n_states: int) -> Html:
    """Put the pictures beside a table, or below one of many states, which is wide."""
    if n_states > _MOST_BESIDE:
        return joined([grid([table]), grid(pictures)])
    return grid([table, stack(pictures)])


def stack(parts: Sequence[Html]) -> Html:
    """Lay parts out one below the other."""
    return element("div", *parts, class_="stack")
