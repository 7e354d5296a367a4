"""The section of confusion matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from streameval.render.dots import MOST_ROWS, dot_picture, interval_note
from streameval.render.entries import Entry, Measured, Row, beside, figure, grid, title_of
from streameval.render.markup import Html, joined
from streameval.render.matrix import MOST_CLASSES, confused_pairs, heat_table
from streameval.render.tables import by_class, metric_table
from streameval.render.wording import count, number, short
from streameval.results.confusion import Confusion
from streameval.results.confusion_values import RATIOS

__all__ = ["heading", "section"]

_NAMES = {
    "accuracy": "Accuracy",
    "top_k_accuracy": "Top-k accuracy",
    "hamming_loss": "Hamming loss",
    "balanced_accuracy": "Balanced accuracy",
    "precision": "Precision",
    "recall": "Recall",
    "specificity": "Specificity",
    "f_score": "F1",
    "jaccard": "Jaccard",
    "matthews_corrcoef": "Matthews correlation",
    "cohen_kappa": "Cohen's kappa",
}
_BY_CLASS = ("precision", "recall", "f_score")


def heading(results: Sequence[Confusion]) -> str:
    """Name the task."""
    kinds = {_kind(result) for result in results}
    return kinds.pop() if len(kinds) == 1 else "Classification"


def section(entries: Sequence[Entry], level: float) -> Html:
    """Lay out metrics, matrices and what is known of each class."""
    names = [entry.name for entry in entries]
    table = metric_table(_rows(entries, level), names, level)
    matrices = [_matrix(entry, entries) for entry in entries if _has_matrix(entry.result)]
    parts = [beside(figure("Metrics", table, _averages(entries)), matrices, len(entries))]
    order = _order(entries)
    tables = {entry.name: _classes(entry.result, level) for entry in entries}
    if order:
        columns = ("Examples", *(_NAMES[name] for name in _BY_CLASS))
        classes = by_class("class", columns, tables, order, level)
        parts.append(grid([figure("By class", classes)]))
    if len(order) > 2:
        parts.append(grid([_dots(name, tables, order, level) for name in ("recall", "precision")]))
    return joined(parts)


def _has_matrix(result: Confusion) -> bool:
    return result.matrix.ndim == 2 and len(result.labels) > 0


def _kind(result: Confusion) -> str:
    if result.matrix.ndim == 3:
        return f"Multilabel classification, {count(len(result.labels))} labels"
    if _is_binary(result):
        return "Binary classification"
    return f"Classification into {count(len(result.labels))} classes"


def _is_binary(result: Confusion) -> bool:
    return not isinstance(result.support, np.ndarray)


def _rows(entries: Sequence[Entry], level: float) -> list[Row]:
    """List the metrics that any of the states has."""
    every = dict.fromkeys(name for entry in entries for name in entry.result.metric_names)
    names = [name for name in _NAMES if name in every]
    counts: list[Measured | None] = [Measured.count(entry.result.n) for entry in entries]
    return [
        ("Examples", counts),
        *(
            (_NAMES[name], [_measured(entry.result, name, level) for entry in entries])
            for name in names
        ),
    ]


def _measured(result: Confusion, name: str, level: float) -> Measured | None:
    if name not in result.metric_names:
        return None
    if name in RATIOS and math.isnan(result.value(name, zero_division=math.nan)):
        return Measured(math.nan)
    sampling = result.confidence(name, level=level) if _has_intervals(result, level) else None
    return Measured.of(result.value(name), sampling)


def _has_intervals(result: Confusion, level: float) -> bool:
    """Tell whether examples are draws: none of their weights had a fraction."""
    return level > 0 and isinstance(result.n, int)


def _averages(entries: Sequence[Entry]) -> str:
    """Say over what precision and the like are averaged."""
    positive = {
        short(entry.result._reading.config.pos_label)
        for entry in entries
        if _is_binary(entry.result)
    }
    if not positive:
        return "Precision and the like are means over the classes (macro)."
    if len(positive) == 1:
        return f"Precision and the like are of class {positive.pop()}, the positive one."
    return "Precision and the like are of the positive class of each state."


def _matrix(entry: Entry, entries: Sequence[Entry]) -> Html:
    result = entry.result
    n_classes = len(result.labels)
    if n_classes > MOST_CLASSES:
        title = title_of("Pairs most confused", entry, entries)
        return figure(title, confused_pairs(result), f"Of {count(n_classes)} classes.")
    caption = "The shade is the square root of the share of the true class."
    title = title_of("Confusion matrix", entry, entries)
    return figure(title, heat_table(result), caption)


def _order(entries: Sequence[Entry]) -> list[object]:
    """List the classes of all states; the largest first if there are many."""
    weights: dict[object, float] = {}
    for entry in entries:
        for name, weight in zip(entry.result.labels, _support(entry.result), strict=True):
            weights[name] = weights.get(name, 0.0) + float(weight)
    if len(weights) <= MOST_CLASSES:
        return list(weights)
    return sorted(weights, key=lambda name: -weights[name])


def _support(result: Confusion) -> npt.NDArray[Any]:
    """Give the examples of each class, of two as well."""
    counts: npt.NDArray[Any] = result.matrix
    support: npt.NDArray[Any] = (counts[:, 1] if counts.ndim == 3 else counts).sum(axis=1)
    return support


def _classes(result: Confusion, level: float) -> dict[object, list[Measured]]:
    """Give the numbers of each class."""
    columns = [[Measured.count(weight.item()) for weight in _support(result)]]
    for name in _BY_CLASS:
        options = {"average": None, "zero_division": np.nan}
        values = result.value(name, **options)
        ends: list[Any] = [None] * len(values)
        if _has_intervals(result, level):
            low, high = result.confidence(name, level=level, **options)
            ends = list(zip(low.tolist(), high.tolist(), strict=True))
        columns.append(list(map(Measured.of, values.tolist(), ends)))
    return dict(zip(result.labels, map(list, zip(*columns, strict=True)), strict=True))


def _dots(
    name: str, tables: dict[str, dict[object, list[Measured]]], order: list[object], level: float
) -> Html:
    """Draw one metric of the classes."""
    place = 1 + _BY_CLASS.index(name)
    rows = [
        (label, [table[label][place] if label in table else None for table in tables.values()])
        for label in order
    ]
    title = f"{_NAMES[name]} of each class"
    said = interval_note(rows, level)
    if len(rows) > MOST_ROWS:
        said = f"Of the {MOST_ROWS} largest of {count(len(rows))} classes. {said}"
    values = [cells[0].value for _, cells in rows if cells[0] is not None]
    spoken = ", ".join(number(value) for value in values[:MOST_ROWS])
    return figure(title, dot_picture(rows, title, spoken), said.strip())
