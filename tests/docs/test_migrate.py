"""That the truth comes first is said first: torchmetrics' order cannot be told from it."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest
from offenders import each
from sklearn import metrics as sk

import streameval as se

PAGE = Path(__file__).parents[2] / "docs" / "migrate" / "index.md"
TARGET, PREDS = [1, 1, 1, 0], [1, 0, 0, 0]


@each(
    "kind",
    [
        se.ConfusionAccumulator,
        se.RegressionAccumulator,
        se.PRCurveSketch,
        se.CalibrationAccumulator,
        se.GroupedAUC,
    ],
)
def test_update_says_first_that_the_truth_comes_first(kind: type) -> None:
    first = inspect.getdoc(kind.update).splitlines()[0]
    assert first.startswith("Count one batch: the truth first,")
    assert next(iter(list(inspect.signature(kind.update).parameters)[1:])) == "y_true"


@each("kind", [se.ConfusionAccumulator, se.RegressionAccumulator])
def test_update_says_what_the_order_of_torchmetrics_does(kind: type) -> None:
    second = inspect.getdoc(kind.update).split("\n\n")[1]
    assert second.startswith("torchmetrics takes them the other way round")
    assert "silently" in second


def test_every_page_for_migrants_speaks_of_the_order_first() -> None:
    for page in PAGE.parent.glob("*.md"):
        paragraph = " ".join(page.read_text(encoding="utf-8").split("\n\n")[1].split())
        assert "**the truth " in paragraph.lower() or "y_true" in paragraph, page.name


def test_the_page_for_migrants_says_first_that_the_truth_comes_first() -> None:
    paragraph = PAGE.read_text(encoding="utf-8").split("\n\n")[1]
    assert paragraph.startswith("**The truth comes first.**")
    assert "torchmetrics takes `(preds, target)`" in paragraph


def test_the_order_of_torchmetrics_exchanges_precision_and_recall() -> None:
    result = se.ConfusionAccumulator().update(PREDS, TARGET).compute()
    assert result.precision == sk.recall_score(TARGET, PREDS)
    assert result.recall == sk.precision_score(TARGET, PREDS)


def test_names_of_arguments_are_right_in_any_order() -> None:
    named = se.ConfusionAccumulator().update(y_pred=PREDS, y_true=TARGET)
    assert named == se.ConfusionAccumulator().update(TARGET, PREDS)


@each("kind", [se.PRCurveSketch, se.CalibrationAccumulator])
def test_scores_in_place_of_the_truth_are_refused(kind: type) -> None:
    with pytest.raises(se.InvalidInputError, match="`y_true` must hold"):
        kind().update(np.array([0.2, 0.7]), [0, 1])
