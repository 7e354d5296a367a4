"""The live page in a real browser: updates, keyboard, names and contrast, phones, no script."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import attrs
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
from streameval.monitoring.live_page import LivePage
from streameval.monitoring.rules import AlertState
from streameval.monitoring.server import Server
from streameval.monitoring.status import Snapshot, Status

pytestmark = pytest.mark.server(name="chromium")

WAIT = 30
HOSTILE = "<img src=x onerror=alert(1)>\"'&"
Open = Callable[..., Any]
_AXIS_AND_TABLE = """
const table = document.querySelector('article table'), start = table.tBodies[0].rows[0].cells[0];
const own = (one) => one && [...one.childNodes].map((part) => part.textContent);
return [own(document.querySelector('svg [data-at]')),
  document.querySelector('svg .name').textContent, table.tHead.rows[0].cells[0].textContent,
  start.textContent, start.title];
"""


def counted(seed: int = 0) -> se.Windowed:
    """Count 20 panes of four slices; the newest pane is open."""
    rng = np.random.default_rng(seed)
    n, names = 4000, ["DE", "FR", "IT", HOSTILE]
    truth, scores = rng.integers(0, 2, n), rng.random(n)
    batch = {
        "y_true": truth,
        "y_score": (scores + truth) / 2,
        "ts": 1_763_800_020 + rng.integers(0, 1200, n),
        "country": [names[index] for index in rng.integers(0, 4, n)],
    }
    sliced = se.Sliced(se.PRCurveSketch(budget=16), "country", values=names)
    return se.Windowed(sliced, pane="1m", time="ts", unit="s").update(batch)


def snapshot(number: int, firing: str = "FR", seed: int = 0, age: float = 0) -> Snapshot:
    held = counted(seed)
    newest = held.newest
    status = Status(
        number=number,
        n_rows=4000,
        n_counted=4000,
        n_labelled=3900,
        n_pending=12,
        watermark=newest,
        label_watermark=newest,
        mature_until=newest.astype("M8[m]").astype("M8[us]"),
        last_event_time=np.datetime64(round((time.time() - age) * 1e6), "us"),
        counters={"refused": 3, "late_label": 2},
        positions={},
        is_full=False,
        committed_at=1_763_801_220.0 + number,
    )
    states = {"FR": "pending", "DE": "resolved", firing: "firing"}
    ends = np.datetime64(1_763_800_080, "s").astype("M8[us]") + 60_000_000 * np.arange(20)
    history = tuple(zip(ends, np.linspace(0.0, 1.0, 20).tolist(), strict=True))
    rule, since = "roc_auc < 0.8", "2025-11-22T08:31:00Z"
    alerts = tuple(
        AlertState(
            *(rule, "roc_auc", {"country": name}, state, since, "x"),
            history=history,
            limit=0.8,
            about={"name": "ranking", "links": {"runbook": "https://example.org"}},
        )
        for name, state in states.items()
    )
    return Snapshot(windowed=held, status=status, alerts=alerts)


@pytest.fixture(scope="module")
def live() -> LivePage:
    return LivePage("model.db", snapshot(1), pace=0.0)


@pytest.fixture(scope="module")
def url(live: LivePage) -> Iterator[str]:
    with Server(live.routes, "127.0.0.1:0", on_close=live.close) as server:
        yield server.url


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as driver:
        yield driver


@pytest.fixture(scope="module")
def scriptless() -> Iterator[Any]:
    with browser(script=False) as driver:
        yield driver


def until(driver: Any, holds: Callable[[], Any]) -> Any:
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(driver, WAIT, poll_frequency=0.05).until(lambda _: holds())


@pytest.fixture
def opened(chromium: Any, live: LivePage, url: str) -> Any:
    """Open the page at its first commit, with updates."""
    live.show(snapshot(1))
    look(chromium)
    chromium.get(url)
    until(chromium, lambda: text(chromium, "connection") == "live")
    return chromium


def text(driver: Any, name: str) -> str:
    found: str = driver.execute_script(
        "return document.getElementById(arguments[0]).textContent", name
    )
    return found


def cards(driver: Any) -> list[str]:
    found: list[str] = driver.execute_script(
        "return [...document.querySelectorAll('article h3')].map((one) => one.textContent)"
    )
    return found


def complaints(driver: Any) -> list[str]:
    return [entry["message"] for entry in driver.get_log("browser")]


def times(driver: Any) -> list[str]:
    found: list[str] = driver.execute_script(
        "return [...document.querySelectorAll('time')].map((one) => one.textContent)"
    )
    return found


@pytest.mark.parametrize(
    ("zone", "written", "axis", "first"),
    [
        (
            "Asia/Tokyo",
            "2025-11-22 17:31:00 (08:31:00 UTC)",
            [["17:30", "2025-11-22 08:30 UTC"], "22 Nov 2025, UTC+9"],
            ["2025-11-22", "17:46, open"],
        ),
        (
            "Pacific/Honolulu",
            "2025-11-21 22:31:00 (2025-11-22 08:31:00 UTC)",
            [["22:30", "2025-11-22 08:30 UTC"], "21 Nov 2025, UTC\N{MINUS SIGN}10"],
            ["2025-11-21", "22:46, open"],
        ),
        (
            "America/St_Johns",
            "2025-11-22 05:01:00 (08:31:00 UTC)",
            [["05:00", "2025-11-22 08:30 UTC"], "22 Nov 2025, UTC\N{MINUS SIGN}3:30"],
            ["2025-11-22", "05:16, open"],
        ),
        (
            "UTC",
            "2025-11-22 08:31:00",
            [["08:30"], "22 Nov 2025, UTC"],
            ["2025-11-22", "08:46, open"],
        ),
    ],
)
def test_times_are_in_the_zone_of_the_viewer_and_in_utc(
    opened: Any, live: LivePage, url: str, zone: str, written: str, axis: Any, first: list[str]
) -> None:
    opened.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": zone})
    try:
        opened.get(url)
        until(opened, lambda: written in times(opened))
        live.show(snapshot(2, firing="IT"))
        until(opened, lambda: "commit 2," in text(opened, "live"))
        assert written in times(opened)
        shown = opened.execute_script(_AXIS_AND_TABLE)
        assert shown == [*axis, *first, "2025-11-22 08:46 UTC"]
    finally:
        opened.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": ""})


def test_icon_shows_the_state_after_an_update(opened: Any, live: LivePage, url: str) -> None:
    def icon() -> str:
        found: str = opened.execute_script("return document.querySelector('link[rel=icon]').href")
        return found

    assert icon() == f"{url}icon.svg"
    live.show(snapshot(2))
    until(opened, lambda: icon() == f"{url}icon.svg?firing")


def test_five_slices_fit_on_one_screen_of_a_wall(chromium: Any) -> None:
    values = [f"v{number}" for number in range(8)]
    sliced = se.Sliced(se.ConfusionAccumulator(), "v", values=values)
    batch = {"y_true": [1] * 8, "y_pred": [1] * 8, "ts": [1_763_800_020] * 8, "v": values}
    held = se.Windowed(sliced, pane="1m", time="ts", unit="s").update(batch)
    live = LivePage("model.db", attrs.evolve(snapshot(1), windowed=held, alerts=()))
    size = {"width": 1920, "height": 1080, "deviceScaleFactor": 1, "mobile": False}
    with Server(live.routes, "127.0.0.1:0", on_close=live.close) as server:
        chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        chromium.get(server.url)
        bottoms = chromium.execute_script(
            "return [...document.querySelectorAll('article, .whole figure:first-child')].map("
            "(one) => one.getBoundingClientRect().bottom)"
        )
    assert len([one for one in bottoms if one <= 1080]) > 5, bottoms


def test_update_comes_without_a_reload(opened: Any, live: LivePage) -> None:
    assert cards(opened)[0] == "country=FR"
    assert opened.title == "(1) model.db"
    opened.execute_script("window.marker = 1")
    live.show(snapshot(2, firing="IT"))
    until(opened, lambda: "commit 2," in text(opened, "live"))
    assert cards(opened)[0] == "country=IT"
    assert text(opened, "announcement") == "1 alert firing, 1 alert pending"
    assert opened.execute_script("return window.marker") == 1
    assert text(opened, "connection") == "live"


@pytest.mark.parametrize(
    ("age", "said"), [(59, "live"), (90, "1 min behind"), (6.5 * 3600, "6 h behind")]
)
def test_page_says_how_far_its_data_is_behind(
    opened: Any, live: LivePage, age: float, said: str
) -> None:
    live.show(snapshot(4, age=age))
    until(opened, lambda: "commit 4," in text(opened, "live"))
    assert text(opened, "connection") == said
    live.show(snapshot(5))
    until(opened, lambda: text(opened, "connection") == "live")


def test_page_that_gets_no_rows_falls_behind(opened: Any) -> None:
    opened.execute_script("Date.now = () => new Date().getTime() + 3 * 86400e3")
    until(opened, lambda: text(opened, "connection") == "3 d behind")


def test_update_keeps_the_focus_and_what_is_open(opened: Any, live: LivePage) -> None:
    opened.execute_script(
        "const one = document.querySelector('article summary'); one.focus(); one.click();"
        "one.parentElement.querySelector('.scroll').scrollTo(0, 40)"
    )
    focus = opened.execute_script("return document.activeElement.id")
    live.show(snapshot(3, firing="IT", seed=1))
    until(opened, lambda: "commit 3," in text(opened, "live"))
    assert opened.execute_script("return document.activeElement.id") == focus
    assert opened.execute_script("return document.querySelectorAll('details[open]').length") == 1


def test_keyboard_reaches_every_link_and_table_and_opens_it(opened: Any) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    wanted = opened.execute_script(
        "return [...document.querySelectorAll('summary, a')].map((one) => one.id)"
    )
    assert len(wanted) == 1 + 4 + 2  # of the slices, two have an alert with a link
    reached = []
    for _ in wanted:
        ActionChains(opened).send_keys(Keys.TAB).perform()
        reached.append(opened.execute_script("return document.activeElement.id"))
        assert opened.execute_script(
            "return getComputedStyle(document.activeElement).outlineStyle !== 'none'"
        )
    assert reached == wanted
    ActionChains(opened).send_keys(Keys.ENTER).perform()
    ActionChains(opened).send_keys(Keys.TAB).perform()
    assert opened.execute_script("return document.activeElement.className") == "scroll"
    assert opened.execute_script("return document.activeElement.offsetHeight") > 50


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_axe_finds_nothing(opened: Any, scheme: str, width: int) -> None:
    look(opened, scheme, width)
    opened.execute_script(
        "document.querySelectorAll('details').forEach((one) => { one.open = true; })"
    )
    broken, n_passed = axe_violations(opened)
    assert n_passed > 10
    assert broken == []


def test_axe_would_find_something(opened: Any) -> None:
    opened.execute_script("document.querySelector('.spark').removeAttribute('aria-label')")
    broken, _ = axe_violations(opened)
    assert [name for name, _ in broken] == ["svg-img-alt"]


@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_page_does_not_scroll_sideways(opened: Any, width: int) -> None:
    look(opened, width=width)
    opened.execute_script(
        "document.querySelectorAll('details').forEach((one) => { one.open = true; })"
    )
    assert beyond_the_edge(opened, width) == []


@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_texts_are_large_enough_and_words_stay_whole(opened: Any, width: int) -> None:
    look(opened, width=width)
    opened.execute_script(
        "document.querySelectorAll('details').forEach((one) => { one.open = true; })"
    )
    assert small_texts(opened, 10.5) == []
    assert broken_words(opened) == []


def test_nothing_breaks_the_policy_or_runs_hostile_names(opened: Any, live: LivePage) -> None:
    live.show(snapshot(5, firing=HOSTILE))
    until(opened, lambda: "commit 5," in text(opened, "live"))
    assert cards(opened)[0] == f"country={HOSTILE}"
    assert opened.execute_script("return document.images.length") == 0
    assert complaints(opened) == []
    opened.execute_script(
        "const one = document.createElement('script');"
        "one.textContent = 'window.broken = 1'; document.body.append(one)"
    )
    assert opened.execute_script("return window.broken") is None
    assert "Content Security Policy" in complaints(opened)[0]


@pytest.mark.parametrize(("motion", "name"), [("reduce", "none"), ("no-preference", "breathe")])
def test_nothing_moves_for_who_prefers_so(opened: Any, motion: str, name: str) -> None:
    look(opened, motion=motion)
    script = "return getComputedStyle(document.getElementById('connection'), '::before')"
    assert opened.execute_script(f"{script}.animationName") == name


def test_hidden_page_holds_no_connection(chromium: Any) -> None:
    hide = (
        "Object.defineProperty(document, 'hidden', {value: arguments[0], configurable: true});"
        "document.dispatchEvent(new Event('visibilitychange'))"
    )
    page = LivePage("model.db", snapshot(1), pace=0.0, keep_alive=0.05)
    with Server(page.routes, "127.0.0.1:0", on_close=page.close) as server:
        chromium.get(server.url)
        until(chromium, lambda: text(chromium, "connection") == "live")
        chromium.execute_script(hide, True)
        until(chromium, lambda: not server._sockets.clients)
        page.show(snapshot(2))
        chromium.execute_script(hide, False)
        until(chromium, lambda: "commit 2," in text(chromium, "live"))


def test_page_says_that_its_server_has_gone(chromium: Any) -> None:
    page = LivePage("model.db", snapshot(1), pace=0.0)
    with Server(page.routes, "127.0.0.1:0", on_close=page.close) as server:
        address = server.url.removeprefix("http://").removesuffix("/")
        chromium.get(server.url)
        until(chromium, lambda: text(chromium, "connection") == "live")
    until(chromium, lambda: text(chromium, "connection") == "connection lost, trying again")
    page = LivePage("model.db", snapshot(2), pace=0.0)
    with Server(page.routes, address, on_close=page.close):
        until(chromium, lambda: "commit 2," in text(chromium, "live"))
        assert text(chromium, "connection") == "live"


@pytest.mark.parametrize("scheme", SCHEMES)
def test_page_is_complete_without_script(
    scriptless: Any, live: LivePage, url: str, scheme: str
) -> None:
    from selenium.webdriver.common.by import By

    live.show(snapshot(1))
    look(scriptless, scheme)
    scriptless.get(url)
    found = [one.text for one in scriptless.find_elements(By.CSS_SELECTOR, "article h3")]
    assert len(found) == 4
    assert len(scriptless.find_elements(By.CSS_SELECTOR, "svg.spark[role=img]")) == 8 + 2
    assert scriptless.find_element(By.ID, "connection").text == "reloaded every 30 s"
    (reload,) = scriptless.find_elements(By.CSS_SELECTOR, "noscript meta")
    assert reload.get_attribute("content") == "30"
    scriptless.find_element(By.CSS_SELECTOR, "article summary").click()
    assert scriptless.find_element(By.CSS_SELECTOR, "article details td").is_displayed()
    assert complaints(scriptless) == []
