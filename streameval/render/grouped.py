"""The section of AUCs within groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from streameval.render.diagrams import group_picture
from streameval.render.entries import Entry, Measured, Row, beside, figure, stack, summary
from streameval.render.markup import Html
from streameval.render.tables import by_class, metric_table
from streameval.render.wording import number
from streameval.results.grouped import GroupedCurves

__all__ = ["heading", "section"]

_MOST_GROUPS = 10


def heading(results: Sequence[GroupedCurves]) -> str:  # noqa: ARG001 - as every kind has one
    """Name the task."""
    return "AUC within groups"


def section(entries: Sequence[Entry], level: float) -> Html:
    """Lay out the mean, how the AUCs are spread, and the largest groups."""
    names = [entry.name for entry in entries]
    columns = [entry.result.per_group() for entry in entries]
    parts = [figure("Metrics", metric_table(_rows(entries), names, level))]
    tables = dict(zip(names, map(_largest, columns), strict=True))
    order = list(dict.fromkeys(group for table in tables.values() for group in table))
    if order:
        said = f"Of each state the {_MOST_GROUPS} with most examples, at most."
        heads = ("Positives", "Negatives", "AUC")
        groups = by_class("group", heads, tables, order, level)
        parts.append(figure("Largest groups", groups, said))
    return beside(stack(parts), _areas(entries, columns), len(entries))


def _areas(entries: Sequence[Entry], columns: Sequence[dict[str, Any]]) -> list[Html]:
    """Draw the AUCs of the groups where they are defined, if any is."""
    areas = [held["roc_auc"][~np.isnan(held["roc_auc"])] for held in columns]
    if not any(map(len, areas)):
        return []
    spoken = summary(entries, "mean", lambda entry: entry.result.gauc, number)
    said = "Of the groups of both classes, in bins of 0.05."
    return [figure("AUC of the groups", group_picture(areas, spoken), said)]


def _rows(entries: Sequence[Entry]) -> list[Row]:
    results = [entry.result for entry in entries]
    weights = dict.fromkeys(result._config.group_weight for result in results)
    return [
        ("Examples", [Measured.count(result.n) for result in results]),
        ("Groups", [Measured.count(result.n_groups) for result in results]),
        ("Groups of both classes", [Measured.count(result.n_averaged) for result in results]),
        ("Cells", [Measured.count(result.cells) for result in results]),
        (
            f"Mean AUC (GAUC), by {' or '.join(weights)}",
            [Measured.of(result.gauc) for result in results],
        ),
        ("Coverage of the examples", [Measured.of(result.coverage) for result in results]),
    ]


def _largest(columns: dict[str, Any]) -> dict[object, list[Measured]]:
    """Give the numbers of the groups with most examples."""
    sizes = columns["n_pos"].astype(np.float64) + columns["n_neg"].astype(np.float64)
    places = np.argsort(-sizes, kind="stable")[:_MOST_GROUPS]
    return {columns["group"][place]: _group(columns, place) for place in places}


def _group(columns: dict[str, Any], place: int) -> list[Measured]:
    value, low, high = (
        float(columns[name][place]) for name in ("roc_auc", "roc_auc_low", "roc_auc_high")
    )
    certified = (low, high) if low < high else None
    counts = (Measured.count(columns[name][place].item()) for name in ("n_pos", "n_neg"))
    return [*counts, Measured(value, certified)]
