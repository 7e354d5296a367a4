"""HTML and SVG as text, and names as a reader sees them in it.

Everything that is not markup is escaped.
"""

from __future__ import annotations

import functools
import html
from collections.abc import Iterable

from streameval.render.text import UNDEFINED, clean, shorten, shorten_middle


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


DASH = element("span", UNDEFINED, class_="undefined", title="undefined")

_LONGEST = 200  # the maximum number of characters of a name, in its tooltip


def short(name: object, width: int = 24) -> str:
    """Write a name in one line of at most `width` columns."""
    return shorten(str(name)[:_LONGEST], width)


def label(name: object, width: int = 24, *, by_end: bool = False) -> Html:
    """Show a name: shortened, with a tooltip, and isolated from the direction of other text.

    `by_end` keeps the ends of names that begin alike.
    """
    text = str(name)
    shown = shorten_middle(short(name, _LONGEST), width) if by_end else short(name, width)
    return element("bdi", shown, title=None if shown == text else short(name, _LONGEST))


_METAS = (
    'charset="utf-8"',
    'name="viewport" content="width=device-width, initial-scale=1"',
    'name="color-scheme" content="light dark"',
)


def whole_page(*head: Html, body: Html) -> Html:
    """Put a page, in a light and a dark theme, around its body."""
    above = element("head", *(Html(f"<meta {meta}>") for meta in _METAS), *head)
    return Html(f"<!doctype html>\n{element('html', above, body, lang='en')}\n")


def terms(texts: Iterable[tuple[str, str]], look: str | None = None) -> Html:
    """List terms, each with its text."""
    pairs = (element("div", element("dt", term), element("dd", text)) for term, text in texts)
    return element("dl", *pairs, class_=look)


def moment(text: str) -> Html:
    """Mark a time in UTC, such as "2023-11-14 22:13 UTC", as one.

    >>> print(moment("2023-11-14 22:13:20"))
    <time datetime="2023-11-14T22:13:20Z">2023-11-14 22:13:20</time>
    """
    return element("time", text, datetime=text.removesuffix(" UTC").replace(" ", "T") + "Z")
