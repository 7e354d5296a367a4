"""HTML and SVG as text; everything that is not markup is escaped."""

from __future__ import annotations

import functools
import html
from collections.abc import Iterable

from streameval.render.text import clean


class Html(str):
    """Markup: all other text is escaped when it becomes a part of an element."""

    __slots__ = ()


def element(name: str, *children: str, **attributes: str | float | None) -> Html:
    """Write an element.

    Parameters
    ----------
    name : str
        The name of the element.
    *children : str
        The content: markup stays as it is, and text is escaped.
    **attributes : str, number or None
        None leaves an attribute out. An underscore in a name becomes a hyphen; a trailing one
        is dropped.

    Examples
    --------
    >>> element("p", "a < b", class_="note", aria_label='"')
    '<p class="note" aria-label="&quot;">a &lt; b</p>'
    """
    written = "".join(
        [_attribute(key, str(value)) for key, value in attributes.items() if value is not None]
    )
    return Html("".join([f"<{name}{written}>", *_contents(children), f"</{name}>"]))


def joined(parts: Iterable[str]) -> Html:
    """Put markup and text one after the other."""
    return Html("".join(_contents(parts)))


def _contents(parts: Iterable[str]) -> list[str]:
    """Escape all text that is not markup."""
    return [part if isinstance(part, Html) else _escaped(part) for part in parts]


@functools.lru_cache(maxsize=4096)
def _attribute(key: str, value: str) -> str:
    """Write an attribute; most of them are on every page, many times."""
    return f' {key.rstrip("_").replace("_", "-")}="{html.escape(clean(value))}"'


def _escaped(text: str) -> str:
    return html.escape(clean(text), quote=False)
