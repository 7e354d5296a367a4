"""HTML and SVG as text, in which whatever is not markup already is made harmless."""

from __future__ import annotations

import functools
import html
from collections.abc import Iterable

from streameval.render.text import clean

__all__ = ["Html", "element", "joined"]


class Html(str):
    """Markup: all other text is escaped when it becomes a part of an element."""

    __slots__ = ()


def element(name: str, *children: str, **attributes: str | float | None) -> Html:
    """Write an element.

    Parameters
    ----------
    name : str
        Of the element.
    *children : str
        What it holds: markup as it is, and text escaped.
    **attributes : str, number or None
        None is left out. An underscore becomes a hyphen, and one at the end is dropped.

    Examples
    --------
    >>> element("p", "a < b", class_="note", aria_label='"')
    '<p class="note" aria-label="&quot;">a &lt; b</p>'
    """
    written = "".join(
        [_attribute(key, str(value)) for key, value in attributes.items() if value is not None]
    )
    return Html(f"<{name}{written}>{joined(children)}</{name}>")


def joined(parts: Iterable[str]) -> Html:
    """Put markup and text one after the other."""
    return Html("".join([part if isinstance(part, Html) else _escaped(part) for part in parts]))


@functools.lru_cache(maxsize=4096)
def _attribute(key: str, value: str) -> str:
    """Write an attribute; most of them are on every page, many times."""
    return f' {key.rstrip("_").replace("_", "-")}="{html.escape(clean(value))}"'


def _escaped(text: str) -> str:
    return html.escape(clean(text), quote=False)
