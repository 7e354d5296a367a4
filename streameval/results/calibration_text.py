"""A `Calibration` as text and as a notebook shows it."""

from __future__ import annotations

import html
from collections.abc import Mapping

from streameval.inputs.labels import Label
from streameval.results.confusion_text import shorten
from streameval.results.number_text import on_the_point

__all__ = ["page", "report"]

Numbers = Mapping[str, int | float]
Columns = Mapping[str, list[float]]

_COUNTS = ("n", "n_clipped")
_MAX_CLASSES = 50
_WIDTH = 17
_CELL = "text-align:right;padding:2px 8px;"


def report(numbers: Numbers, labels: tuple[Label, ...], columns: Columns) -> str:
    """Lay out the metrics, and those of the first classes below."""
    lines = on_the_point(_texts(numbers))
    if labels:
        lines += ["", *_class_lines(labels, columns)]
    return "\n".join(lines)


def page(numbers: Numbers, labels: tuple[Label, ...], columns: Columns) -> str:
    """Lay out the same as tables."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{name}</th>{_cell(text)}</tr>"
        for name, text in _texts(numbers).items()
    )
    classes = _class_table(labels, columns) if labels else ""
    return f"<div><table>{rows}</table>{classes}</div>"


def _class_lines(labels: tuple[Label, ...], columns: Columns) -> list[str]:
    """Write a line for each class; the label comes last, so that its width does not matter."""
    rows = zip(labels[:_MAX_CLASSES], *columns.values(), strict=False)
    table = [("class", *columns), *((label, *map(_metric, values)) for label, *values in rows)]
    lines = [f"{''.join(f'{cell:>{_WIDTH}}' for cell in row)}  {shorten(of)}" for of, *row in table]
    return lines + _rest(labels)


def _class_table(labels: tuple[Label, ...], columns: Columns) -> str:
    head = "".join(f"<th style='{_CELL}'>{name}</th>" for name in columns)
    rows = "".join(
        f"<tr><th style='text-align:left'>{html.escape(shorten(label))}</th>"
        + "".join(_cell(_metric(column[k])) for column in columns.values())
        + "</tr>"
        for k, label in enumerate(labels[:_MAX_CLASSES])
    )
    rest = "".join(f"<p>{text}</p>" for text in _rest(labels))
    return f"<table><tr><th style='text-align:left'>class</th>{head}</tr>{rows}</table>{rest}"


def _rest(labels: tuple[Label, ...]) -> list[str]:
    """Count the classes that are not shown."""
    return [f"... and {len(labels) - _MAX_CLASSES:,} more"] if len(labels) > _MAX_CLASSES else []


def _cell(text: str) -> str:
    return f"<td style='{_CELL}'>{text}</td>"


def _texts(numbers: Numbers) -> dict[str, str]:
    """Write counts in full, and metrics with six digits."""
    return {
        name: f"{value:,}" if name in _COUNTS else _metric(value) for name, value in numbers.items()
    }


def _metric(value: float) -> str:
    return f"{value:.6g}"
