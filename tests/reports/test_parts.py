"""The parts that pages are made of: markup, numbers in words, axes, colours."""

from __future__ import annotations

import math
import re
from importlib.resources import files
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from offenders import each

from streameval.metrics.bounded import Threshold
from streameval.render.charts import Axis, nice_axis
from streameval.render.markup import Html, clean, element, joined, short
from streameval.render.svg import Frame
from streameval.render.text import count, hull, interval, number, share

TO = " \N{EN DASH} "
CSS = files("streameval.render").joinpath("page.css").read_text(encoding="utf-8")
finite = st.floats(allow_nan=False, allow_infinity=False)


def test_text_is_escaped_and_markup_is_not() -> None:
    assert element("p", "<b>", Html("<i></i>")) == "<p>&lt;b&gt;<i></i></p>"
    assert joined(["&", Html("&amp;")]) == "&amp;&amp;"


def test_attribute_cannot_be_left() -> None:
    assert element("p", title="\"'>") == '<p title="&quot;&#x27;&gt;"></p>'
    assert element("p", title=Html('"')) == '<p title="&quot;"></p>'


def test_threshold_is_written_in_full() -> None:
    assert number(Threshold(0.123456789, 0.1, 0.2)) == "0.123456789"
    assert number(0.123456789) == "0.1235"


@given(st.text(max_size=20))
def test_clean_text_is_printable_and_as_long(text: str) -> None:
    assert clean(text).isprintable()
    assert len(clean(text)) == len(text)


@each(
    ("value", "written"),
    [
        (0.0, "0.0000"),
        (-0.5, "-0.5000"),
        (1e-3, "0.001000"),
        (1.2345e-5, "1.234e-05"),
        (99.99999, "100.0000"),
        (123.4567, "123.457"),
        (12_345.678, "12,345.7"),
        (1e6, "1e+06"),
        (math.inf, "∞"),
        (-math.inf, "-∞"),
        (math.nan, "\N{EN DASH}"),
    ],
)
def test_number_is_written(value: float, written: str) -> None:
    assert number(value) == written


def value_of(text: str) -> float:
    return float(text.replace(",", "").replace("∞", "inf"))


@given(finite, finite, st.integers(1, 12))
@example(0.0, 5e-324, 4)
@example(-1e-9, 1e-9, 4)
@example(0.12344999, 0.12345001, 4)
@example(99.99999999, 99.999999999, 4)
@example(-1.7e308, 1.7e308, 4)
@example(5_000_000.123, 5_000_000.124, 4)
@example(999_999_999_999.9999, 1e12, 12)
def test_certain_interval_holds_what_it_is_of(one: float, other: float, decimals: int) -> None:
    low, high = sorted([one, other])
    written_low, written_high = map(
        value_of, hull(low, high, decimals).split(TO if low >= 0 else " to ")
    )
    assert written_low <= low
    assert high <= written_high


@given(st.floats(0, 1), st.floats(0, 1))
def test_interval_is_written_as_it_is(one: float, other: float) -> None:
    low, high = sorted([one, other])
    written = tuple(map(value_of, interval(low, high, 4).split(TO)))
    assert written == pytest.approx((low, high), abs=5.1e-5)


@each(
    ("value", "written"),
    [(0.0, "0%"), (0.5, "50.0%"), (1.0, "100%"), (0.9996, ">99.9%"), (0.0004, "<0.1%")],
)
def test_share_is_written(value: float, written: str) -> None:
    assert share(value) == written


@each(("value", "written"), [(0, "0"), (2**62, "4,611,686,018,427,387,904"), (0.25, "0.25")])
def test_count_is_written(value: float, written: str) -> None:
    assert count(value) == written


@given(st.text(max_size=300), st.integers(1, 40))
def test_short_name_is_one_line_that_is_printed(name: str, width: int) -> None:
    assert short(name, width).isprintable()
    assert len(short(name, width)) <= 200


@given(finite, finite)
@example(0.0, 5e-324)
@example(1e16, 1e16 + 2)
@example(-1.7e308, 1.7e308)
@example(1.7976931348623157e308, 1.7976931348623157e308)
@example(-3.0, -3.0)
@example(0.0, 0.0)
def test_axis_holds_its_numbers_and_places_its_ticks_in_order(one: float, other: float) -> None:
    low, high = sorted([one, other])
    axis = nice_axis(low, high)
    slack = 1e-9 * (axis.high / 2 - axis.low / 2)
    assert axis.low <= low + slack
    assert axis.high >= high - slack
    assert 2 <= len(axis.ticks) <= 12
    places = axis.shares(axis.ticks)
    assert np.isfinite(places).all()
    assert (places[0], places[-1]) == (0, 1)
    assert all(a <= b for a, b in pairwise(places))


@each(
    ("low", "high", "ticks"),
    [
        (0, 1, (0, 0.2, 0.4, 0.6, 0.8, 1)),
        (0.91, 0.99, (0.9, 0.92, 0.94, 0.96, 0.98, 1)),
        (-3, 4, (-4, -2, 0, 2, 4)),
        (0, 0.73, (0, 0.2, 0.4, 0.6, 0.8)),
        (0, 12, (0, 2.5, 5, 7.5, 10, 12.5)),
    ],
)
def test_ticks_are_round(low: float, high: float, ticks: Any) -> None:
    assert nice_axis(low, high).ticks == pytest.approx(ticks)


def test_points_beyond_an_axis_are_put_at_its_end() -> None:
    frame = Frame(Axis(0, 1, (0.0, 1.0)), Axis(-1, 1, (-1.0, 1.0)), width=100, height=100)
    x, y = frame.positions([-math.inf, 2.0, 0.5], [0.0, -5.0, math.inf])
    assert x.tolist() == [frame.left, 100 - frame.right, (frame.left + 100 - frame.right) / 2]
    assert y.tolist() == [(frame.top + 100 - frame.bottom) / 2, 100 - frame.bottom, frame.top]


def test_path_leaves_out_what_changes_nothing() -> None:
    frame = Frame(Axis(0, 1, (0.0, 1.0)), Axis(0, 1, (0.0, 1.0)))
    straight = frame.line(np.linspace(0, 1, 1001), np.linspace(0, 1, 1001) ** 0, "s0")
    assert straight.count("L") == 1
    there_and_back = frame.line([0.5, 1.0, 0.0], [0.0, 0.0, 0.0], "s0")
    assert there_and_back.count("L") == 2


def variables(block: str) -> dict[str, str]:
    return dict(re.findall(r"--([\w-]+): ([^;]+);", block))


LIGHT = variables(CSS.partition("@media screen")[0])
DARK = LIGHT | variables(CSS.partition("@media screen")[2].partition("* {")[0])
themes = each("theme", [LIGHT, DARK])


def rgb(colour: str) -> np.ndarray[Any, Any]:
    if colour.startswith("#"):
        return np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.array([int(part) for part in colour.split()]) / 255


def contrast(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> float:
    """Compute the contrast ratio of WCAG 2."""

    def luminance(colour: np.ndarray[Any, Any]) -> float:
        linear = np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    dark, light = sorted([luminance(one), luminance(other)])
    return (light + 0.05) / (dark + 0.05)


@themes
def test_text_is_legible(theme: dict[str, str]) -> None:
    for name in ("ink", "soft", "link"):
        assert contrast(rgb(theme[name]), rgb(theme["bg"])) >= 4.5
    assert contrast(rgb(theme["soft"]), rgb(theme["faint"])) >= 4.5


@themes
@each("place", range(8))
def test_lines_are_visible(place: int, theme: dict[str, str]) -> None:
    assert contrast(rgb(theme[f"c{place}"]), rgb(theme["bg"])) >= 3


@themes
@each("look", ["hit", "miss"])
def test_counts_are_legible_on_every_shade(look: str, theme: dict[str, str]) -> None:
    shades = re.findall(r"td\.h(\d+) \{ background: rgb\(var\(--of\)(?: / ([\d.]+))?\)", CSS)
    assert [int(shade) for shade, _ in shades] == list(range(1, 11))
    for shade, opacity in shades:
        part = float(opacity or 1)
        below = rgb(theme[look]) * part + rgb(theme["bg"]) * (1 - part)
        ink = theme["on-heat"] if shade == "10" else theme["ink"]
        assert contrast(rgb(ink), below) >= 4.5, (shade, contrast(rgb(ink), below))


def test_style_has_a_dark_look_for_screens_and_a_look_for_paper() -> None:
    assert "@media screen and (prefers-color-scheme: dark)" in CSS
    assert "@media print" in CSS
