"""The style of the site in a real browser: charts and recordings, on phones, on dark pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chromium import browser, look

pytestmark = pytest.mark.server(name="chromium")

DOCS = Path(__file__).parents[2] / "docs"
CHARTS = sorted(path.name for path in (DOCS / "figures").glob("*.png"))
PAGES = ("live_page.png", "report.png")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Open a page with all pictures, each in a paragraph of its own."""
    images = "".join(f'<p><img src="{DOCS.as_uri()}/figures/{name}"></p>' for name in CHARTS)
    path = tmp_path_factory.mktemp("site") / "index.html"
    path.write_text(
        '<!doctype html><meta name="viewport" content="width=device-width">'
        f'<link rel="stylesheet" href="{DOCS.as_uri()}/_static/site.css">'
        f"<style>img {{ max-width: 100% }}</style><body data-theme=auto>{images}",
        encoding="utf-8",
    )
    with browser() as driver:
        driver.get(path.as_uri())
        yield driver


def styles(driver: Any, name: str) -> list[str]:
    found: list[str] = driver.execute_script(
        "return [...document.images].map((one) => getComputedStyle(one)[arguments[0]])", name
    )
    return found


def test_charts_keep_their_size_on_a_phone_and_scroll_by_themselves(site: Any) -> None:
    look(site, width=390)
    assert set(styles(site, "width")) == {"608px"}
    assert site.execute_script("return document.documentElement.scrollWidth") <= 390


def test_charts_fit_a_desk(site: Any) -> None:
    look(site, width=1280)
    assert site.execute_script("return document.documentElement.scrollWidth") <= 1280


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_charts_but_no_pictures_of_pages_are_inverted_on_a_dark_page(
    site: Any, scheme: str
) -> None:
    look(site, scheme)
    is_inverted = ["invert" in look for look in styles(site, "filter")]
    assert is_inverted == [scheme == "dark" and name not in PAGES for name in CHARTS]


def test_theme_that_a_reader_chose_is_stronger_than_that_of_the_system(site: Any) -> None:
    look(site, "dark")
    site.execute_script("document.body.dataset.theme = 'light'")
    assert set(styles(site, "filter")) == {"none"}
    look(site, "light")
    site.execute_script("document.body.dataset.theme = 'dark'")
    assert "none" in styles(site, "filter")
    assert len(set(styles(site, "filter"))) == 2
    site.execute_script("document.body.dataset.theme = 'auto'")


@pytest.mark.parametrize("name", ["eval", "watch"])
@pytest.mark.parametrize(("motion", "hidden"), [("no-preference", True), ("reduce", False)])
def test_recording_is_played_only_for_who_likes_motion(
    site: Any, name: str, motion: str, hidden: bool
) -> None:
    look(site, motion=motion)
    try:
        site.get((DOCS / "figures" / f"{name}.svg").as_uri())
        animations = site.execute_script(
            "return [...document.querySelectorAll('.line, .cover')].map("
            "(one) => getComputedStyle(one).animationName)"
        )
        assert len(animations) > 10
        assert ("none" not in animations) == hidden
    finally:
        site.back()
