"""A `Confusion` as text of at most 80 columns."""

from __future__ import annotations

import math
import unicodedata
from itertools import accumulate, takewhile
from typing import Any

import numpy as np

from streameval.errors import InvalidInputError
from streameval.metrics.intervals import normal_quantile
from streameval.results.confusion_intervals import confidence
from streameval.results.confusion_reading import AverageOption, Reading
from streameval.results.confusion_values import metric_names, value

__all__ = ["number", "report", "shorten"]

_IN_COLUMNS = ("precision", "recall", "f_score")
_WIDTH, _CELL, _LABEL_WIDTH = 80, 11, 24


def report(reading: Reading, *, level: float, max_classes: int) -> str:
    """Lay out the metrics of each class, their averages, and the metrics with intervals."""
    normal_quantile(level)  # refuses what is no level, even where no interval will be shown
    if not isinstance(max_classes, int) or max_classes < 0:
        raise InvalidInputError(
            f"`max_classes` must be an integer of at least 0, got {max_classes!r}."
        )
    return "\n".join(
        [*_class_table(reading, max_classes), "", *_headlines(reading, level), scope(reading)]
    )


def scope(reading: Reading) -> str:
    """Say what metrics of one class are about where no average is chosen."""
    if reading.config.is_binary:
        return f"precision and the like are of class {shorten(reading.config.pos_label)}"
    count = int(np.count_nonzero(reading.averaged))
    classes = "1 class" if count == 1 else f"{count:,} classes"
    return f"precision and the like are means over {classes} (macro)"


def number(value: float) -> str:
    """Write a metric with four decimals."""
    return f"{value:.4f}"


def shorten(label: object, width: int = _LABEL_WIDTH) -> str:
    """Write a label in one line of at most `width` columns."""
    text = "".join(map(_shown, str(label)))
    if _width(text) <= width:
        return text
    ends = accumulate(map(_width, text))  # one pass: a label may be long
    kept = sum(1 for _ in takewhile(lambda end: end < width, ends))
    return f"{text[:kept]}…"


def _shown(character: str) -> str:
    if character.isprintable():
        return character
    return " " if character.isspace() else "\N{REPLACEMENT CHARACTER}"


def _class_table(reading: Reading, max_classes: int) -> list[str]:
    support = reading.outcomes.support
    counts = [f"{count:,}" for count in support.to_numbers()]
    total = sum(support.units()) * support.unit
    total_text = f"{int(total) if support.is_whole else float(total):,}"
    last = max(len("support"), len(total_text), *map(len, counts))
    room = min(_LABEL_WIDTH, _WIDTH - _CELL * len(_IN_COLUMNS) - 4 - last)

    places = np.flatnonzero(reading.averaged)
    columns = _cells(reading, None)
    rows = [
        (shorten(reading.labels[k], room), [column[k] for column in columns], counts[k])
        for k in places[:max_classes]
    ]
    rows += [
        ("macro mean", _cells(reading, "macro"), total_text),
        ("weighted mean", _cells(reading, "weighted"), total_text),
    ]
    width = max(_width(label) for label, _, _ in rows)

    def line(label: str, cells: list[str], count: str) -> str:
        """Align one row."""
        padded = label + " " * (width - _width(label))
        return f"{padded}  {''.join(f'{cell:>{_CELL}}' for cell in cells)}  {count:>{last}}"

    lines = [line(label, [number(cell) for cell in cells], count) for label, cells, count in rows]
    if len(places) > max_classes:
        lines.insert(max_classes, f"... and {len(places) - max_classes:,} more")
    return [line("class", list(_IN_COLUMNS), "support"), *lines]


def _cells(reading: Reading, average: AverageOption) -> list[Any]:
    return [value(reading, name, average=average) for name in _IN_COLUMNS]


def _headlines(reading: Reading, level: float) -> list[str]:
    names = metric_names(reading)
    width = max(map(len, names))
    if level == 0 or not reading.has_whole_weights:
        return [
            f"{'metric':<{width}}  {'value':>7}",
            *(f"{name:<{width}}  {number(value(reading, name)):>7}" for name in names),
        ]
    lines = [f"{'metric':<{width}}  {'value':>7}  {100 * level:.6g}% interval"]
    for name in names:
        low, high = map(float, confidence(reading, name, level=level))
        interval = "" if math.isnan(low) else f"[{number(low)}, {number(high)}]"
        lines.append(f"{name:<{width}}  {number(value(reading, name)):>7}  {interval}".rstrip())
    return lines


def _width(text: str) -> int:
    """Count the columns of a terminal that a text takes: wide characters take two."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    marks = sum(unicodedata.combining(character) > 0 for character in text)
    return len(text) + wide - marks
