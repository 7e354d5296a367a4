"""A strict reader of reports: a page becomes a tree, or it is not well-formed."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import streameval as se

VOID = {"meta"}


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("page")
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(set(names)) == len(names), f"{tag} has an attribute twice: {names}"
        child = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].append(child)
        if tag not in VOID:
            self.open.append(child)

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        inner = self.open[-1]
        if len(inner):
            inner[-1].tail = (inner[-1].tail or "") + data
        else:
            inner.text = (inner.text or "") + data


def read(page: str) -> Element:
    """Read a page, every element of which must be closed in order."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == [reader.root]
    (html,) = reader.root
    assert html.tag == "html"
    return html


def report(*states: Any, **options: Any) -> Element:
    """Report states named a, b, c and so on."""
    return read(se.reports.html_report(named(*states), **options))


def named(*states: Any) -> dict[str, Any]:
    return dict(zip("abcdefghijklmnopqrstuvwxyz", states, strict=False))


def text(element: Element) -> str:
    """Join all text in an element, with single spaces."""
    return " ".join(" ".join(element.itertext()).split())


def pictures(page: Element) -> list[Element]:
    return [svg for svg in page.iter("svg") if svg.get("role") == "img"]


def svg_sources(page: str) -> list[str]:
    return re.findall(r"<svg .*?</svg>", page, re.DOTALL)


def as_xml(source: str) -> Element:
    return ElementTree.fromstring(source)


def figures(page: Element, title: str) -> list[Element]:
    """Find what stands under a title, or under one that begins with it."""
    return [
        figure
        for figure in page.iter("figure")
        if any(text(heading).startswith(title) for heading in figure.iter("h3"))
    ]


def figure(page: Element, title: str) -> Element:
    (only,) = figures(page, title)
    return only


def rows(table: Element) -> list[list[str]]:
    """Read the cells of the body of a table."""
    return [[text(cell) for cell in row] for body in table.iter("tbody") for row in body]


def cells(page: Element, title: str) -> dict[str, list[str]]:
    """Read a table of a figure: the first cell of each row, and the others."""
    (table,) = figure(page, title).iter("table")
    return {first: others for first, *others in rows(table)}


def styled(page: Element, *classes: str) -> list[Element]:
    """Find the elements that have all of these classes."""
    return [item for item in page.iter() if set(classes) <= set(item.get("class", "").split())]


def points(path: Element) -> list[tuple[float, float]]:
    """Read the corners of a path."""
    written = re.sub(r"M(\S+) (\S+)V([^M]+)", r"M\1 \2L\1 \3", path.attrib["d"])
    pairs = re.split("[ML]", written.removesuffix("Z"))[1:]
    return [(float(x), float(y)) for x, y in (pair.split() for pair in pairs)]
