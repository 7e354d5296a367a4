"""HTML and SVG as text, and numbers, sizes and names as a reader sees them in it.

Everything that is not markup is escaped.
"""

from __future__ import annotations

import functools
import html
import math
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from streameval.metrics.bounded import Interval, Threshold
from streameval.render.text import clean, fixed, is_fixed, shorten, shorten_middle


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


DASH = element("span", "\N{EN DASH}", class_="undefined", title="undefined")

_LONGEST = 200  # the maximum number of characters of a name, in its tooltip
_MAX_DECIMALS = 12


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


def number(value: float) -> str:
    """Write a metric with four decimals, and small or large ones with significant digits.

    A threshold has all of its digits.

    >>> number(0.5), number(-2974.1395), number(0.00285291), number(2e300)
    ('0.5000', '-2,974.14', '0.002853', '2e+300')
    """
    magnitude = abs(value)
    if math.isnan(value):
        return "\N{EN DASH}"
    if isinstance(value, Threshold):
        return str(value)
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if magnitude >= 1e6 or 0 < magnitude < 1e-3:
        return f"{value:.4g}"
    if 0 < magnitude < 0.01:
        return f"{value:.6f}"
    return f"{value:,.6g}" if magnitude >= 100 else f"{value:.4f}"


def within(ends: Interval | None, *values: float) -> list[str]:
    """Write numbers with two digits of the width of an interval: others say nothing.

    >>> within((0.7943, 0.8304), 0.81302, 0.7943), within((41.09, 47.7), 44.2732), within(None, 0.5)
    (['0.813', '0.794'], ['44.3'], ['0.5000'])
    """
    width = ends[1] - ends[0] if ends else 0.0
    if not 0.0 < width < math.inf:
        return [number(value) for value in values]
    decimals = min(max(1 - math.floor(math.log10(width)), 0), _MAX_DECIMALS)
    return [grouped(float(value), decimals) for value in values]


def grouped(value: float, decimals: int) -> str:
    """Write a number as `fixed` does, with its thousands apart.

    >>> grouped(23702.901, 1), grouped(0.25, 4), grouped(1e-9, 4)
    ('23,702.9', '0.2500', '1e-09')
    """
    is_apart = isinstance(value, float) and is_fixed(value) and not isinstance(value, Threshold)
    return f"{value:,.{decimals}f}" if is_apart else fixed(value, decimals)


def interval(low: float, high: float, decimals: int) -> str:
    """Write an interval with ends rounded like other numbers.

    >>> interval(-0.05, 0.25, 2)
    '-0.05 to 0.25'
    """
    return _joining(low).join(grouped(end, decimals) for end in (low, high))


def hull(low: float, high: float, decimals: int) -> str:
    """Write a certified interval with its ends rounded outward.

    >>> hull(0.12345, 0.23451, 4), hull(1e-9, 0.23451, 4)
    ('0.1234 \N{EN DASH} 0.2346', '1e-09 \N{EN DASH} 0.2346')
    """
    ends = _outward(low, decimals, ROUND_FLOOR), _outward(high, decimals, ROUND_CEILING)
    return _joining(low).join(ends)


def _joining(low: float) -> str:
    """Choose what is between the ends of an interval: no dash is beside a minus sign."""
    return " to " if low < 0.0 else " \N{EN DASH} "


def decimals_of(low: float, high: float) -> int:
    """Count the decimals that distinguish two numbers, at least four.

    >>> decimals_of(0.25, 0.75), decimals_of(0.123456, 0.123467)
    (4, 6)
    """
    width = high - low
    needed = 1 - math.floor(math.log10(width)) if 0 < width < 1 else 0
    return min(max(4, needed), _MAX_DECIMALS)


def _outward(end: float, decimals: int, rounding: str) -> str:
    if is_fixed(end) and math.isfinite(end):
        return f"{Decimal(end).quantize(Decimal(1).scaleb(-decimals), rounding):,f}"
    return f"{float(Context(6, rounding).create_decimal_from_float(end)):g}"


def count(value: float) -> str:
    """Write a weight: whole weights in full, others with six digits.

    >>> count(1797), count(2.5), count(1e300)
    ('1,797', '2.5', '1e+300')
    """
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


def share(value: float) -> str:
    """Write a share in percent; only a share of exactly 1 is written as 100%.

    >>> share(0.0312), share(1.0), share(0.0001), share(0.9999)
    ('3.1%', '100%', '<0.1%', '>99.9%')
    """
    if value in (0.0, 1.0):
        return f"{100 * value:.0f}%"
    if value < 0.001:
        return "<0.1%"
    return ">99.9%" if value > 0.999 else f"{100 * value:.1f}%"


def percent(level: float) -> str:
    """Write a probability as it was given."""
    return f"{100 * level:.6g}%"


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
