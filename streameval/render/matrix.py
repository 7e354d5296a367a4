"""The confusion matrix as a table with shaded cells; of many classes, the pairs most confused."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from streameval.render.markup import Html, element, joined
from streameval.render.tables import scrolled
from streameval.render.wording import count, label, share
from streameval.results.confusion import Confusion
from streameval.results.confusion_html import row_shares

__all__ = ["MOST_CLASSES", "confused_pairs", "heat_table"]

MOST_CLASSES = 24
"""Larger matrices are not shown cell by cell."""

_MOST_PAIRS = 20
_SHADES = 10
_LONGEST_UPRIGHT = 4
_SPACIOUS = 4  # so few classes leave room for the shares

Counts = npt.NDArray[Any]


def heat_table(result: Confusion) -> Html:
    """Lay the matrix out, rows truth and columns prediction."""
    counts, labels = result.matrix, result.labels
    shares, is_spacious = row_shares(counts), len(labels) <= _SPACIOUS
    is_long = not is_spacious and max(len(str(name)) for name in labels) > _LONGEST_UPRIGHT
    head = [element("th", element("span", label(name, 16)), scope="col") for name in labels]
    corner = element("td", class_="corner", colspan=2)
    named = element("th", "Prediction", scope="colgroup", colspan=len(labels), class_="axis")
    truth = element("th", element("span", "Truth"), scope="rowgroup", rowspan=len(labels))
    body = [
        element(
            "tr",
            *([truth] if row == 0 else []),
            element("th", label(labels[row], 16), scope="row"),
            *(
                _cell(counts[row, column], shares[row, column], row == column, is_spacious)
                for column in range(len(labels))
            ),
        )
        for row in range(len(labels))
    ]
    blank = element("td", colspan=2)
    rows = joined(
        [
            element("tr", corner, named),
            element("tr", blank, *head, class_="turned" if is_long else None),
        ]
    )
    look = "heat spacious" if is_spacious else "heat"
    table = element("table", element("thead", rows), element("tbody", *body), class_=look)
    return scrolled(table, "Confusion matrix")


def _cell(weight: Any, part: float, is_right: bool, is_spacious: bool) -> Html:
    """Write a count on a shade: the square root of its share, so that small ones are seen."""
    shade = min(int(np.ceil(np.sqrt(part) * _SHADES)), _SHADES)
    look = f"{'hit' if is_right else 'miss'} h{shade}" if shade else None
    number = count(weight.item())
    if is_spacious:
        return element("td", number, element("small", share(part)), class_=look)
    return element("td", number if weight else "·", class_=look)


def confused_pairs(result: Confusion) -> Html:
    """List the pairs of a true and a predicted class that are confused most often."""
    wrong = result.matrix.copy()
    np.fill_diagonal(wrong, 0)
    shares = row_shares(result.matrix)
    order = np.argsort(-wrong, axis=None, kind="stable")[:_MOST_PAIRS]
    places = [divmod(int(place), len(wrong)) for place in order if wrong.flat[place]]
    head = ("Truth", "Prediction", "Examples", "Share of the truth")
    looks = (None, None, "number", "number")
    body = [
        element(
            "tr",
            element("th", label(result.labels[row]), scope="row"),
            element("td", label(result.labels[column])),
            element("td", count(wrong[row, column].item()), class_="number"),
            element("td", share(float(shares[row, column])), class_="number"),
        )
        for row, column in places
    ]
    columns = (
        element("th", text, scope="col", class_=look)
        for text, look in zip(head, looks, strict=True)
    )
    table = element("table", element("thead", element("tr", *columns)), element("tbody", *body))
    return scrolled(table, "Pairs most confused")
