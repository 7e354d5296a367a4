"""Metrics that a page shows besides the usual ones."""

from __future__ import annotations

import re
from typing import Any

import pytest
from offenders import each
from report_pages import report, text

import streameval as se

LABELS = se.ConfusionAccumulator(3).update([0, 1, 2, 2], [0, 1, 1, 2])
OTHERS = se.ConfusionAccumulator(3).update([0, 1, 2, 1], [0, 2, 1, 2])
SCORES = se.PRCurveSketch().update([0, 1, 1], [0.1, 0.2, 0.3])


def rows(page: Any) -> dict[str, list[str]]:
    """The cells of each row of the table of metrics, by its heading."""
    found = {}
    for row in page.iter("tr"):
        heads = [cell for cell in row if cell.tag == "th" and cell.get("scope") == "row"]
        if heads:
            found[text(heads[0])] = [text(cell) for cell in row if cell.tag == "td"]
    return found


def test_metric_on_request_has_a_row_with_its_heading() -> None:
    shown = rows(report(LABELS, OTHERS, metrics=["cohen_kappa_quadratic"]))
    value = LABELS.compute().value("cohen_kappa_quadratic")
    assert shown["Cohen's kappa, quadratic"][0].startswith(f"{value:.4f}"[:5])
    assert "Cohen's kappa, quadratic" not in rows(report(LABELS, OTHERS))


def test_class_an_average_and_an_argument_are_named_as_they_were_typed() -> None:
    names = ["recall[2]", "f_score[micro:0,1]"]
    assert set(names) < rows(report(LABELS, metrics=names)).keys()
    assert "recall_at(0.15)" in rows(report(SCORES, metrics=["recall_at(0.15)"]))


def test_metric_that_is_shown_anyway_stays_where_it_is() -> None:
    assert rows(report(LABELS, metrics=["accuracy"])) == rows(report(LABELS))


def test_metric_is_shown_of_the_states_that_have_it() -> None:
    shown = rows(report(LABELS, SCORES, metrics=["youden_j"]))
    assert "Youden's J" in shown


def test_metric_of_a_member_is_shown_of_that_alone() -> None:
    both = se.Collection(
        {"a": se.ConfusionAccumulator(3), "b": se.ConfusionAccumulator(3, top_k=2)}
    )
    page = report(both, metrics=["b/zero_one_loss"])
    assert [text(row).count("Zero-one loss") for row in page.iter("section")] == [0, 1]


@each(
    ("metrics", "message"),
    [
        (["youden"], "youden_j is a metric of --task binary"),
        (["a/accuracy"], "no metric 'a/accuracy': no state has a member 'a'."),
        (["recall[7]"], "no class '7'"),
        ("accuracy", "`metrics` must be a list of names, got 'accuracy'"),
    ],
)
def test_metric_that_no_state_has_is_refused(metrics: Any, message: str) -> None:
    with pytest.raises(se.InvalidInputError, match=re.escape(message)):
        report(LABELS, OTHERS, metrics=metrics)
