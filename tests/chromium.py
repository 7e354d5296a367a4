"""A real browser without a window: how it is started, and what is measured of a page in it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any

SCHEMES = ("light", "dark")

_TEXTS = """
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), texts = [];
while (walker.nextNode()) {
  const text = walker.currentNode, parent = text.parentElement;
  const shown = text.data.trim() && parent.getClientRects().length && !parent.closest(
    'desc, title, .unseen');
  if (shown && getComputedStyle(parent).clipPath === 'none') { texts.push(text); }
}
"""
_SMALL = """
return texts.map((text) => {
  const parent = text.parentElement, svg = parent.closest('svg[viewBox]');
  const scale = svg ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1;
  return [parseFloat(getComputedStyle(parent).fontSize) * scale, text.data];
}).filter(([size]) => size < arguments[0]);
"""
_BROKEN = """
return texts.flatMap((text) => [...text.data.matchAll(/[\\p{L}\\p{N}_]+/gu)].filter((word) => {
  const range = document.createRange();
  range.setStart(text, word.index);
  range.setEnd(text, word.index + word[0].length);
  return new Set([...range.getClientRects()].map((one) => Math.round(one.top))).size > 1;
}).map((word) => word[0]));
"""
_WIDE = """
return [...document.querySelectorAll('body *')].filter((one) =>
  !one.closest('.scroll, svg, .unseen') && one.getBoundingClientRect().right > arguments[0]
).map((one) => one.outerHTML.slice(0, 80));
"""


@contextmanager
def browser(*, script: bool = True) -> Iterator[Any]:
    from selenium import webdriver  # of this lane alone

    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    if not script:
        blocked = {"profile.managed_default_content_settings.javascript": 2}
        options.add_experimental_option("prefs", blocked)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    try:
        yield driver
    finally:
        driver.quit()


def look(driver: Any, scheme: str = "light", width: int = 1280, motion: str = "reduce") -> None:
    features = {"prefers-color-scheme": scheme, "prefers-reduced-motion": motion}
    pairs = [{"name": name, "value": value} for name, value in features.items()]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": pairs})
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def axe_violations(driver: Any) -> tuple[list[Any], int]:
    """Return what axe finds broken with its elements, and how many rules passed."""
    axe = files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    driver.execute_script(axe)
    found = driver.execute_async_script(
        "const done = arguments[arguments.length - 1];"
        "axe.run(document, {resultTypes: ['violations']}).then("
        "  (result) => done({broken: result.violations.map((one) => [one.id,"
        "    one.nodes.map((node) => node.html.slice(0, 200))]), n: result.passes.length}))"
    )
    return found["broken"], found["n"]


def broken_words(driver: Any) -> list[str]:
    """List the words that are on two lines."""
    found: list[str] = driver.execute_script(_TEXTS + _BROKEN)
    return found


def small_texts(driver: Any, size: float) -> list[Any]:
    """List the texts whose letters have fewer pixels than `size` on the screen."""
    found: list[Any] = driver.execute_script(_TEXTS + _SMALL, size)
    return found


def beyond_the_edge(driver: Any, width: int) -> list[str]:
    """List the elements outside boxes that scroll which a screen of `width` does not show."""
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width
    found: list[str] = driver.execute_script(_WIDE, width)
    return found
