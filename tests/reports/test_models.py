"""Pages of several models on the same rows: one section compares them, before those of pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from report_pages import report, rows, text

import streameval as se

N = 200
RANDOM = np.random.default_rng(3)
TRUTH = RANDOM.integers(0, 2, N)
BATCH = {
    "y_true": TRUTH,
    **{
        name: np.clip(TRUTH * share + RANDOM.random(N) * (1 - share), 0, 1)
        for name, share in (("new", 0.4), ("old", 0.38), ("<b>", 0.1))
    },
    "user": np.arange(N) // 4,
}


def counted(*names: str, **options: Any) -> se.Collection:
    return se.Paired.of_models(names, **options).update(BATCH)


@pytest.fixture(scope="module")
def models() -> se.Collection:
    return counted("new", "old", "<b>", measures=["roc_auc"])


def test_page_compares_the_models_first(models: se.Collection) -> None:
    page = report(models)
    first, *others = page.findall(".//main/section")
    assert first.get("id") == "models-1"
    assert [text(one) for one in first.findall("h2")] == ["Models on the same rows"]
    assert [text(one) for one in first.findall(".//h3")] == ["accuracy", "roc_auc"]
    assert len(others) == 3
    assert page.find(".//nav//a").get("href") == "#models-1"


def test_tables_of_models_have_the_numbers_of_the_report(models: se.Collection) -> None:
    (section, *_) = report(models).findall(".//main/section")
    shown = [" ".join(cells) for table in section.iter("table") for cells in rows(table)]
    expected = [
        " ".join(line.split())
        for line in models.compute().report().splitlines()
        if line.startswith(("  new", "  old", "  <b>"))
    ]
    assert shown == expected
    assert "p is that of McNemar's test" in text(section)


def test_page_without_intervals_has_none_of_models(models: se.Collection) -> None:
    (section, *_) = report(models, level=0).findall(".//main/section")
    assert "interval" not in text(section)
    assert "verdict" in text(section)


def test_page_says_that_intervals_of_models_are_of_clusters() -> None:
    acc = se.Clustered(se.Paired.of_models(["new", "old", "<b>"]), by="user").update(BATCH)
    (section, *_) = report(acc).findall(".//main/section")
    assert "Intervals are for clusters (user)" in text(section)


def test_page_says_that_fractional_weights_have_no_tests() -> None:
    batch = {**BATCH, "sample_weight": np.full(N, 0.5)}
    acc = se.Paired.of_models(["new", "old", "<b>"]).update(batch)
    (section, *_) = report(acc).findall(".//main/section")
    assert "There are no tests" in text(section)


def test_states_of_models_have_a_section_each_and_pairs_none() -> None:
    models = counted("new", "old", "<b>")
    ids = [one.get("id") for one in report(models, models).findall(".//main/section")]
    assert ids[:2] == ["models-1", "models-2"]
    assert len(set(ids)) == len(ids)
    pair = report(counted("new", "old")).findall(".//main/section")
    assert [one.get("id") for one in pair] == ["part-1"]


def test_two_models_are_named_and_what_is_counted_of_numbers() -> None:
    truth, pair = [1, 0, 1], ([1, 1, 1], [1, 0, 0])
    named = "A is the first model, y_pred_a; B is the second, y_pred_b or --versus."
    closer = "Accuracy: how often a model is at least as close to the truth as the other."
    pages = {
        "Accuracy": se.reports.html_report({"m": se.Paired().update(truth, *pair)}),
        "Values": se.reports.html_report({"m": se.Paired(None, measures=["score"]).update(*pair)}),
        "The closer model": se.reports.html_report({"m": se.Paired(None).update(truth, *pair)}),
    }
    for title, page in pages.items():
        assert f">{title}<" in page
        assert named in page
        assert (closer in page) == (title == "The closer model")
