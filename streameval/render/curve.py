"""The section of curves."""

from __future__ import annotations

from collections.abc import Sequence

from streameval.metrics.points import CellTable
from streameval.render.diagrams import reliability_figures, score_pictures
from streameval.render.entries import (
    Entry,
    Measured,
    Row,
    beside,
    drawn,
    figure,
    grid,
    summary,
    title_of,
)
from streameval.render.lines import pr_picture, roc_picture
from streameval.render.markup import Html, element, joined
from streameval.render.tables import metric_table
from streameval.render.wording import number
from streameval.results import curve_findings, curve_lines
from streameval.results.curve import Curve
from streameval.results.reliability import Reliability

__all__ = ["BAND", "heading", "section"]

BAND = "The exact curve lies in the band."

_NAMES = {
    "roc_auc": "ROC AUC",
    "average_precision": "Average precision",
    "average_precision_interpolated": "Average precision, interpolated",
    "average_precision_11pt": "Average precision, 11 points",
    "pr_auc": "PR AUC, trapezoids",
    "ks": "KS statistic",
    "best_f": "Best F1",
    "best_f_threshold": "Threshold of the best F1",
    "log_loss": "Log loss",
    "brier": "Brier score",
    "ece": "Calibration error (ECE)",
}


def heading(results: Sequence[Curve]) -> str:  # noqa: ARG001 - as every kind has one
    """Name the task."""
    return "Precision, recall and ROC"


def section(entries: Sequence[Entry], level: float) -> Html:
    """Lay out curves, metrics and distributions."""
    metrics = metric_table(_rows(entries, level), [entry.name for entry in entries], level)
    diagrams = [_diagram(entry.result) for entry in entries]
    reliability = reliability_figures(diagrams, ("Mean score", "Share of positives"), level)
    findings = [_findings(entry, entries) for entry in entries]
    table = beside(figure("Metrics", metrics), [*reliability, *_scores(entries)], len(entries))
    return joined([grid(_curves(entries)), table, grid(findings)])


def _table(result: Curve) -> CellTable | None:
    """Give what is drawn of a curve: nothing, unless it holds both classes."""
    return result._table if result.n_pos and result.n_neg else None


def _diagram(result: Curve) -> Reliability | None:
    """Compare probabilities with what happened, if there are any."""
    table = result._table
    return Reliability.of_table(table) if table.scale == "probability" and result.n else None


def _curves(entries: Sequence[Entry]) -> list[Html]:
    tables = [_table(entry.result) for entry in entries]
    if not any(tables):
        return []
    said = BAND if any(not entry.result.exact for entry in drawn(entries)) else ""
    areas = summary(entries, "ROC AUC", lambda entry: entry.result.roc_auc, number)
    precision = summary(
        entries, "average precision", lambda entry: entry.result.average_precision, number
    )
    return [
        figure("Precision over recall", pr_picture(tables, precision), said),
        figure("ROC curve", roc_picture(tables, areas), f"Dashed: chance. {said}".strip()),
    ]


def _rows(entries: Sequence[Entry], level: float) -> list[Row]:
    results = [entry.result for entry in entries]
    metrics = [result.metrics() for result in results]
    skipped = [
        ("Skipped, without a score", [Measured.count(result.n_skipped) for result in results])
    ]
    counts = [
        ("Examples", [Measured.count(result.n) for result in results]),
        ("Positives", [Measured.count(result.n_pos) for result in results]),
        *(skipped if any(result.n_skipped for result in results) else []),
        ("Cells", [Measured.count(result.cells) for result in results]),
    ]
    names = [name for name in _NAMES if name in metrics[0]]
    rows = {name: [Measured.of(found[name]) for found in metrics] for name in names}
    rows["roc_auc"] = [Measured.of(result.roc_auc, _sampling(result, level)) for result in results]
    return [*counts, *((_NAMES[name], cells) for name, cells in rows.items())]


def _sampling(result: Curve, level: float) -> tuple[float, float] | None:
    """Give the sampling interval of ROC AUC; there is none for weights with fractions."""
    is_sampled = level > 0 and isinstance(result.n, int)
    return result.confidence("roc_auc", level=level) if is_sampled else None


def _scores(entries: Sequence[Entry]) -> list[Html]:
    """Draw the scores of each state."""
    first = drawn(entries)
    shares = [curve_lines.score_shares(entry.result._table) for entry in first]
    images = score_pictures(shares, "Histograms of the positives and the negatives.")
    said = "Coloured: positives. Grey: negatives."
    return [
        figure(title_of("Scores by class", entry, entries), image, said)
        for entry, image in zip(first, images, strict=True)
    ]


def _findings(entry: Entry, entries: Sequence[Entry]) -> Html:
    found = curve_findings.findings(entry.result._table)
    items = element("ul", *(element("li", sentence) for sentence in found), class_="findings")
    return figure(title_of("What limits these numbers", entry, entries), items)
