"""The section of curves of classes."""

from __future__ import annotations

from collections.abc import Sequence

from streameval.render.curve import BAND
from streameval.render.entries import (
    MOST_DRAWN,
    Entry,
    Measured,
    Row,
    beside,
    drawn,
    figure,
    grid,
    legend,
    title_of,
)
from streameval.render.lines import pr_picture, roc_picture
from streameval.render.markup import Html, joined
from streameval.render.tables import MOST_CLASSES, by_class, metric_table
from streameval.render.wording import count, number, short
from streameval.results.class_curves import ClassCurves
from streameval.results.curve import Curve

__all__ = ["heading", "section"]

_NAMES = {"roc_auc": "ROC AUC", "average_precision": "Average precision"}
_AVERAGES = {"macro": "mean over classes", "weighted": "weighted by positives", "micro": "pooled"}


def heading(results: Sequence[ClassCurves]) -> str:
    """Name the task."""
    sizes = {len(result) for result in results}
    classes = f"{count(sizes.pop())} classes" if len(sizes) == 1 else "classes"
    return f"Precision, recall and ROC of {classes}"


def section(entries: Sequence[Entry], level: float) -> Html:
    """Lay out the averages, the classes, and the curves of the largest of them."""
    averages = metric_table(_rows(entries), [entry.name for entry in entries], level)
    tables = {entry.name: _classes(entry.result) for entry in entries}
    columns = ("Positives", *_NAMES.values())
    classes = by_class("class", columns, tables, _order(entries), level)
    said = "Each class against the rest."
    table = beside(figure("Averages", averages), [figure("By class", classes, said)], len(entries))
    return joined([*(grid(_curves(entry, entries)) for entry in drawn(entries)), table])


def _rows(entries: Sequence[Entry]) -> list[Row]:
    metrics = [entry.result.metrics() for entry in entries]
    return [
        ("Examples", [Measured.count(entry.result.n) for entry in entries]),
        ("Classes with a positive", [Measured.count(entry.result.n_averaged) for entry in entries]),
        *(
            (f"{title}, {how}", [Measured.of(found[f"{name}_{average}"]) for found in metrics])
            for name, title in _NAMES.items()
            for average, how in _AVERAGES.items()
        ),
    ]


def _order(entries: Sequence[Entry]) -> list[object]:
    """List the classes of all states, those with most positives first if there are many."""
    weights: dict[object, float] = {}
    for entry in entries:
        for label, curve in entry.result.items():
            weights[label] = weights.get(label, 0.0) + curve.n_pos
    if len(weights) <= MOST_CLASSES:
        return list(weights)
    return sorted(weights, key=lambda label: -weights[label])


def _classes(result: ClassCurves) -> dict[object, list[Measured]]:
    return {
        label: [
            Measured.count(curve.n_pos),
            *(Measured.of(getattr(curve, name)) for name in _NAMES),
        ]
        for label, curve in result.items()
    }


def _curves(entry: Entry, entries: Sequence[Entry]) -> list[Html]:
    """Draw the curves of the classes with most positives."""
    both = [(label, curve) for label, curve in entry.result.items() if curve.n_pos and curve.n_neg]
    if not both:
        return []
    largest = sorted(both, key=lambda item: -item[1].n_pos)[:MOST_DRAWN]
    tables = [curve._table for _, curve in largest]
    names = legend([label for label, _ in largest])
    said = _caption(largest, len(entry.result))
    spoken = ", ".join(f"{short(label)} {number(curve.roc_auc)}" for label, curve in largest)
    precision = ", ".join(
        f"{short(label)} {number(curve.average_precision)}" for label, curve in largest
    )
    pr, roc = (
        pr_picture(tables, f"Average precision: {precision}"),
        roc_picture(tables, f"ROC AUC: {spoken}"),
    )
    return [
        figure(title_of("Precision over recall", entry, entries), joined([names, pr]), said),
        figure(title_of("ROC curves", entry, entries), joined([names, roc]), said),
    ]


def _caption(largest: Sequence[tuple[object, Curve]], n_classes: int) -> str:
    most = f"The {len(largest)} of {count(n_classes)} classes with most positives. "
    band = BAND if any(not curve.exact for _, curve in largest) else ""
    return f"{most if len(largest) < n_classes else ''}{band}".strip()
