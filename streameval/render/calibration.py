"""The section of probabilities that are meant to mean what they say."""

from __future__ import annotations

from collections.abc import Sequence

from streameval.render.diagrams import reliability_figures
from streameval.render.entries import Entry, Measured, Row, beside, figure, grid
from streameval.render.markup import Html, joined
from streameval.render.tables import by_class, metric_table
from streameval.render.wording import count
from streameval.results.calibration import Calibration
from streameval.results.reliability import Reliability

__all__ = ["heading", "section"]

_OF_ALL = {"log_loss": "Log loss", "brier": "Brier score", "ece": "Calibration error (ECE)"}
_OF_ONE = {
    "pcopc": "Predicted over observed",
    "mean_prediction": "Mean prediction",
    "mean_label": "Share of positives",
}

_OF_TWO, _OF_CLASSES = ("Mean prediction", "Share of positives"), ("Mean confidence", "Accuracy")


def heading(results: Sequence[Calibration]) -> str:
    """Name the task."""
    sizes = {len(result.labels) for result in results}
    (size,) = sizes if len(sizes) == 1 else (0,)
    return f"Calibration of {count(size)} classes" if size else "Calibration"


def section(entries: Sequence[Entry], level: float) -> Html:
    """Lay out metrics, the reliability diagram and what is known of each class."""
    metrics = metric_table(_rows(entries), [entry.name for entry in entries], level)
    parts = [beside(figure("Metrics", metrics), _reliability(entries, level), len(entries))]
    tables = {entry.name: _classes(entry.result) for entry in entries}
    order = list(dict.fromkeys(label for table in tables.values() for label in table))
    if order:
        heads = tuple(_OF_ONE.values())
        classes = by_class("class", heads, tables, order, level)
        parts.append(grid([figure("By class", classes)]))
    return joined(parts)


def _rows(entries: Sequence[Entry]) -> list[Row]:
    results: list[Calibration] = [entry.result for entry in entries]
    names = _OF_ALL if any(result.labels for result in results) else _OF_ALL | _OF_ONE
    return [
        ("Examples", [Measured.count(result.n) for result in results]),
        ("Of clipped log loss", [Measured.count(result.n_clipped) for result in results]),
        *(
            (title, [Measured.of(getattr(result, name)) for result in results])
            for name, title in names.items()
        ),
    ]


def _classes(result: Calibration) -> dict[object, list[Measured]]:
    if not result.labels:
        return {}
    columns = [getattr(result, name).tolist() for name in _OF_ONE]
    rows = zip(*columns, strict=True)
    return {
        label: [Measured.of(value) for value in row]
        for label, row in zip(result.labels, rows, strict=True)
    }


def _reliability(entries: Sequence[Entry], level: float) -> list[Html]:
    diagrams = [
        Reliability.of_sums(entry.result._state) if entry.result.n else None for entry in entries
    ]
    of_classes = any(entry.result.labels for entry in entries)
    return reliability_figures(diagrams, _OF_CLASSES if of_classes else _OF_TWO, level)
