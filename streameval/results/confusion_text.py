"""A `Confusion` as text of at most 80 columns."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from streameval.results.confusion import Confusion

__all__ = ["number", "report", "shorten"]

_LABEL_WIDTH = 24


def report(result: Confusion, *, level: float, max_classes: int) -> str:
    """Lay out the metrics of each class, their averages, and the metrics with intervals."""
    lines = [*_class_table(result, max_classes), "", *_headlines(result, level)]
    if result._config.is_binary:
        lines.append(f"of class {shorten(result._config.pos_label)}, the positive one")
    return "\n".join(lines)


def number(value: float) -> str:
    """Write a metric with four decimals."""
    return f"{value:.4f}"


def shorten(label: object, width: int = _LABEL_WIDTH) -> str:
    """Write a label in one line of at most `width` columns."""
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(label))
    if _columns(text) <= width:
        return text
    while _columns(text) > width - 1:
        text = text[:-1]
    return f"{text}…"


def _class_table(result: Confusion, max_classes: int) -> list[str]:
    names = ("precision", "recall", "f_score")
    columns = [getattr(result, name)(average=None) for name in names]
    support = result._outcomes.support.to_numbers()
    shown = np.flatnonzero(result._averaged())[:max_classes]
    rows = [
        (shorten(result.labels[k]), [number(column[k]) for column in columns], f"{support[k]:,}")
        for k in shown
    ]
    total = f"{result._outcomes.support.sum().to_numbers().item():,}"
    means = [
        (
            f"{average} mean",
            [number(getattr(result, name)(average=average)) for name in names],
            total,
        )
        for average in ("macro", "weighted")
    ]
    width = max(_columns(row[0]) for row in [*rows, *means])
    last = max(7, *(len(row[2]) for row in [*rows, *means]))

    def line(label: str, cells: list[str], count: str) -> str:
        padded = label + " " * (width - _columns(label))
        return f"{padded}  {''.join(f'{cell:>11}' for cell in cells)}  {count:>{last}}"

    hidden = result.n_averaged - len(shown)
    return [
        line("class", list(names), "support"),
        *(line(*row) for row in rows),
        *([f"... and {hidden:,} classes more"] if hidden else []),
        *(line(*row) for row in means),
    ]


def _headlines(result: Confusion, level: float) -> list[str]:
    names = result.metric_names
    width = max(map(len, names))
    if level == 0 or not result._state.n.is_whole:
        return [
            f"{'metric':<{width}}  {'value':>7}",
            *(f"{name:<{width}}  {number(result.value(name)):>7}" for name in names),
        ]
    lines = [f"{'metric':<{width}}  {'value':>7}  {100 * level:.6g}% interval"]
    for name in names:
        low, high = (number(end) for end in result.confidence(name, level=level))
        lines.append(f"{name:<{width}}  {number(result.value(name)):>7}  [{low}, {high}]")
    return lines


def _columns(text: str) -> int:
    """Count the columns of a terminal that a text takes: wide characters take two."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    marks = sum(unicodedata.combining(character) > 0 for character in text)
    return len(text) + wide - marks
