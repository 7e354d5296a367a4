"""Reports in a real browser, on a phone and on a desk: whole words, and nothing off the screen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chromium import (
    SCHEMES,
    axe_violations,
    beyond_the_edge,
    broken_words,
    browser,
    look,
    small_texts,
)

import streameval as se
from streameval.reports import html_report

pytestmark = pytest.mark.server(name="chromium")

DESK, PHONE = 1280, 390
NAMES = ["click-model-2026-01-baseline", "click-model-2026-02-wide-and-deep-candidate"]


def curves(seed: int) -> se.PRCurveSketch:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, 2000)
    return se.PRCurveSketch(32).update(truth, (2 * rng.random(2000) + truth) / 3)


def labels(names: list[str], seed: int) -> se.ConfusionAccumulator:
    rng = np.random.default_rng(seed)
    truth, guess = rng.integers(0, len(names), (2, 3000))
    guess = np.where(rng.random(3000) < 0.7, truth, guess)
    return se.ConfusionAccumulator(names).update(
        [names[index] for index in truth], [names[index] for index in guess]
    )


def panes() -> se.Windowed:
    n, rng = 3000, np.random.default_rng(2)
    truth = rng.integers(0, 2, n)
    return se.Windowed(se.PRCurveSketch(8), pane="5m", unit="s").update(
        {
            "y_true": truth,
            "y_score": (2 * rng.random(n) + truth) / 3,
            "time": 1_700_000_000 + 3 * np.arange(n),
        }
    )


def panes_by_country() -> se.Windowed:
    n, rng = 3000, np.random.default_rng(3)
    truth = rng.integers(0, 2, n)
    held = se.Windowed(se.Sliced(se.PRCurveSketch(8), "country"), pane="1d", unit="s")
    return held.update(
        {
            "y_true": truth,
            "y_score": (2 * rng.random(n) + truth) / 3,
            "country": rng.choice(["BR", "DE", "FR"], n),
            "time": 1_767_225_600 + 403 * np.arange(n),
        }
    )


def numbers_by_country() -> se.Windowed:
    n, rng = 3000, np.random.default_rng(4)
    truth = rng.normal(size=n)
    held = se.Windowed(se.Sliced(se.RegressionAccumulator(), "country"), pane="1d", unit="s")
    return held.update(
        {
            "y_true": truth,
            "y_pred": truth + rng.normal(size=n),
            "country": rng.choice(["BR", "DE", "FR"], n),
            "time": 1_767_225_600 + 403 * np.arange(n),
        }
    )


def several(make: Any, *args: Any) -> dict[str, Any]:
    return {name: make(*args, seed) for seed, name in enumerate(NAMES)}


CLASSES = {n: [f"class_{index:02d}_of_a_taxonomy" for index in range(n)] for n in (10, 40)}
PAGES: dict[str, Callable[[], dict[str, Any]]] = {
    "curves": lambda: several(curves),
    "curve": lambda: {"validation": curves(1)},
    "10 classes": lambda: several(labels, CLASSES[10]),
    "40 classes": lambda: several(labels, CLASSES[40]),
    "panes": lambda: {"click-model.db": panes()},
    "panes by country": lambda: {"click-model.db": panes_by_country()},
    "numbers by country": lambda: {"price-model.db": numbers_by_country()},
}


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as driver:
        yield driver


@pytest.fixture(scope="module", params=PAGES)
def opened(chromium: Any, tmp_path_factory: pytest.TempPathFactory, request: Any) -> Any:
    path: Path = tmp_path_factory.mktemp("pages") / "report.html"
    path.write_text(html_report(PAGES[request.param]()), encoding="utf-8")
    chromium.get(path.as_uri())
    return chromium


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_report_is_as_wide_as_the_screen(opened: Any, width: int) -> None:
    look(opened, width=width)
    assert beyond_the_edge(opened, width) == []


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_texts_are_large_enough_and_words_stay_whole(opened: Any, width: int) -> None:
    look(opened, width=width)
    assert small_texts(opened, 11) == []
    assert broken_words(opened) == []


@pytest.mark.parametrize("width", [PHONE, DESK])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_axe_finds_nothing(opened: Any, scheme: str, width: int) -> None:
    look(opened, scheme, width)
    broken, n_passed = axe_violations(opened)
    assert n_passed > 10
    assert broken == []


def test_second_state_and_its_difference_are_on_the_screen_of_a_phone(
    chromium: Any, tmp_path: Path
) -> None:
    path = tmp_path / "report.html"
    path.write_text(html_report(several(curves)), encoding="utf-8")
    chromium.get(path.as_uri())
    look(chromium, width=PHONE)
    ends = chromium.execute_script(
        "return [...document.querySelectorAll('[aria-label=\"Metrics by state\"] td span')].map("
        "(one) => one.getBoundingClientRect().right)"
    )
    assert len(ends) > 50
    assert max(ends) <= PHONE
