"""The live page: what it shows of a commit, and how updates reach those who look at it."""

from __future__ import annotations

import html.parser
import json
import math
import re
import socket
import threading
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import attrs
import numpy as np
import pytest
from offenders import each
from older_panes import without_unlabelled

import streameval as se
from streameval.accumulators.sealed import live
from streameval.accumulators.windowed import Windowed
from streameval.metrics.bounded import Bounded
from streameval.metrics.table import Reading
from streameval.monitoring.alerts import parse_rule
from streameval.monitoring.live_markup import Card, View, document, facts_of, fragment
from streameval.monitoring.live_page import LivePage
from streameval.monitoring.live_view import ViewBuilder
from streameval.monitoring.rules import AlertState
from streameval.monitoring.server import Request, Response, Server
from streameval.monitoring.status import Snapshot, Status
from streameval.render.blocks import numbers_of
from streameval.render.markup import DASH
from streameval.render.sparklines import Strip, sparkline
from streameval.results.collection import read_or_nan
from streameval.results.names import parse_metric

RULE = "accuracy < 0.8"
HOSTILE = "<script>alert(1)</script>\"'&\u202e\x1b[2J"
VOID = {"meta", "link"}


class Page(html.parser.HTMLParser):
    """The elements of a page; it checks that they are nested, and ids unique."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        assert not self.open
        ids = [one["id"] for _, one in self.elements if "id" in one]
        assert len(ids) == len(set(ids))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def all(self, tag: str, **wanted: str) -> list[dict[str, str | None]]:
        return [
            found
            for name, found in self.elements
            if name == tag and all(found.get(key.rstrip("_")) == one for key, one in wanted.items())
        ]


def batch_of(rights: Mapping[Any, Sequence[int | None]], per: int = 50) -> dict[str, list[Any]]:
    """Make rows of panes of a minute: of each slice, how many are right; None is no row."""
    batch: dict[str, list[Any]] = {"y_true": [], "y_pred": [], "ts": [], "country": []}
    for value, panes in rights.items():
        for number, n_right in enumerate(panes):
            for row in range(per if n_right is not None else 0):
                batch["y_true"].append(row % 2)
                batch["y_pred"].append(row % 2 if row < (n_right or 0) else 1 - row % 2)
                batch["ts"].append(number * 60)
                batch["country"].append(value)
    return batch


def unlabelled(minute: int, **sizes: int) -> dict[str, list[Any]]:
    """Make rows of a pane without a label, so many of each slice."""
    countries = [value for value, size in sizes.items() for _ in range(size)]
    size = len(countries)
    return {
        "y_true": [None] * size,
        "y_pred": [1] * size,
        "ts": [minute * 60] * size,
        "country": countries,
    }


def windowed(
    rights: Mapping[Any, Sequence[int | None]], *, per: int = 50, values: Sequence[Any] = ()
) -> Windowed:
    sliced = se.Sliced(
        se.ConfusionAccumulator(), "country", values=values, max_values=max(3, len(values))
    )
    made = se.Windowed(sliced, pane="1m", time="ts", unit="s")
    batch = batch_of(rights, per)
    return made.update(batch) if batch["ts"] else made


def covered(rights: Mapping[Any, Sequence[int | None]], *blanks: dict[str, list[Any]]) -> Snapshot:
    """Count rows as a monitor does, and some without a label; all panes are mature."""
    held = windowed({})
    for batch in (batch_of(rights), *blanks):
        held.update(batch)
    return snapshot(held, n_open=0)


def snapshot(
    held: Windowed | None,
    *,
    number: int = 1,
    n_open: int = 1,
    alerts: Sequence[AlertState] = (),
    **changes: Any,
) -> Snapshot:
    newest = None if held is None else held.newest
    until = None if newest is None else newest.astype("M8[m]") + 1 - n_open
    known: dict[str, Any] = {
        "number": number,
        "n_rows": 0 if held is None else held.n_rows(),
        "n_counted": 0 if held is None else held.n_rows(),
        "n_labelled": 0 if held is None else held.n,
        "n_pending": 0,
        "watermark": newest,
        "label_watermark": None,
        "mature_until": None if until is None else until.astype("M8[us]"),
        "last_event_time": newest,
        "counters": {},
        "positions": {},
        "is_full": False,
        "committed_at": 0.0,
    }
    status = Status(**(known | changes))
    shown: Any = held
    return Snapshot(windowed=shown, status=status, alerts=tuple(alerts))


def alert(state: Any, country: Any = None, rule: str = RULE, **changes: Any) -> AlertState:
    known: dict[str, Any] = {
        "rule": rule,
        "metric": "accuracy",
        "slice": None if country is None else {"country": country},
        "state": state,
        "since": "1970-01-01T00:02:00Z",
        "alert": None,
        "limit": parse_rule(rule).number,
    }
    return AlertState(**(known | changes))


def view(shown: Snapshot, metrics: Sequence[str] = ("accuracy",), level: float = 0.95) -> View:
    return ViewBuilder([parse_metric(one) for one in metrics], level, patience=1e9).build(
        "ck.db", shown
    )


def page(shown: View) -> Page:
    return Page(document(shown, fragment(shown)))


def coverage(card: Card) -> list[float]:
    return [point.coverage for point in card.points]


def order(shown: Snapshot) -> list[str]:
    return [card.name.removeprefix("country=") for card in view(shown).cards[1:]]


def test_page_shows_every_series_with_value_interval_and_coverage() -> None:
    rights = {"DE": [40, 45], "FR": [30, 35]}
    text = fragment(view(covered(rights)))
    for name, value in (("DE", "0.9000"), ("FR", "0.7000"), ("All rows", "0.8000")):
        assert name in text
        assert f'class="big">{value}<' in text
    result = windowed({"DE": [45]}).total()["DE"].compute()
    low, high = result.confidence("accuracy")
    assert f"95% {low:.4f} \N{EN DASH} {high:.4f}" in text
    assert "50 labelled rows · coverage 100%" in text


def test_page_shows_the_coverage_of_each_slice() -> None:
    made = view(covered({"DE": [40, 45], "FR": [40, 45]}, unlabelled(1, DE=50, FR=150)))
    assert coverage(made.cards[0]) == [1.0, 1 / 3]
    shown = {card.name: coverage(card) for card in made.cards[1:]}
    assert shown == {"country=DE": [1.0, 0.5], "country=FR": [1.0, 0.25]}
    text = fragment(made)
    assert "50 labelled rows · coverage 50.0%" in text
    assert "50 labelled rows · coverage 25.0%" in text
    assert "<td>50</td><td>25.0%</td></tr>" in text


def test_slice_whose_labels_never_come_has_a_card() -> None:
    made = view(covered({"DE": [40, 45]}, unlabelled(1, FR=9)))
    of = {card.name: coverage(card) for card in made.cards[1:]}
    assert of["country=DE"] == [1.0, 1.0]
    assert math.isnan(of["country=FR"][0])
    assert of["country=FR"][1] == 0.0
    assert "0 labelled rows · coverage 0%" in fragment(made)


def test_other_rows_have_a_coverage() -> None:
    values = {value: [40] for value in "ABCDEF"}
    made = view(covered(values, unlabelled(0, A=50, B=50, C=50, D=50, E=50, F=50)))
    assert [coverage(card) for card in made.cards[1:]] == [[0.5]] * 4


def test_alert_about_the_coverage_of_a_slice_is_on_its_card() -> None:
    rule = "coverage < 0.9 for 1 pane"
    states = [
        AlertState(rule, "coverage", of, "firing", "2023-11-14T22:14:00Z", "a")
        for of in (None, {"country": "DE"})
    ]
    shown = attrs.evolve(covered({"DE": [40], "FR": [40]}), alerts=tuple(states))
    made = view(shown, metrics=())
    assert [one.rule for one in made.others] == [rule]
    assert {card.name: card.state for card in made.cards[1:]} == {
        "country=DE": "firing",
        "country=FR": "inactive",
    }
    assert "coverage" not in [one.metric for one in made.cards[0].series]


def test_coverage_that_is_not_known_is_a_dash() -> None:
    held = windowed({"DE": [40, 45]})
    held.update(unlabelled(0, DE=50) | {"ts": [held.newest] * 50})
    made = view(snapshot(se.from_bytes(without_unlabelled(held)), n_open=0))
    assert coverage(made.cards[0]) == [1.0, 0.5]
    assert f"50 labelled rows · coverage {DASH}</p>" in fragment(made), "as markup, not as text"


def test_page_shows_the_newest_mature_pane_and_hatches_open_ones() -> None:
    held = windowed({"DE": [40, 45, 10]})
    mature, opened = fragment(view(snapshot(held, n_open=0))), fragment(view(snapshot(held)))
    assert 'class="big">0.2000<' in mature
    assert "url(#hatching)" not in mature
    assert 'class="big">0.9000<' in opened
    assert opened.count("url(#hatching)") == 3
    assert "1 newer pane still open" in opened
    assert '<th scope="row">00:02, open</th>' in opened
    assert 'id="hatching"' in document(view(snapshot(held)), opened)


def test_value_of_an_older_pane_has_its_time() -> None:
    held = windowed({"DE": [40, 45], "FR": [30, 35]})
    later = np.datetime64("1970-01-01T00:03", "us")
    text = fragment(view(snapshot(held, mature_until=later)))
    assert text.count("pane of 1970-01-01 00:01<") == 2 + 2  # all rows, their coverage, two slices
    assert "accuracy of country=DE: 0.9000 in the pane of 1970-01-01 00:01" in text
    assert "pane of" not in fragment(view(snapshot(held, n_open=0)))
    assert "pane of" not in fragment(view(snapshot(held, n_open=1)))


@each(
    ("newest", "written"),
    [(np.datetime64("2023-11-14T22:13:20.5", "us"), "1700000000.5"), (7, None), (None, None)],
)
def test_page_knows_when_its_newest_row_was(newest: Any, written: str | None) -> None:
    (live,) = page(view(snapshot(windowed({}), last_event_time=newest))).all("main")
    assert live.get("data-newest") == written


def test_pane_without_labels_leaves_metrics_undefined() -> None:
    made = view(covered({"DE": [40, 45]}, unlabelled(2, DE=1)))
    text = fragment(made)
    assert made.cards[1].state == "silent"
    assert "undefined in the newest mature pane; between 0.8000 and 0.9000 in 2 panes." in text
    assert "No labelled rows." in text
    assert "0 labelled rows · coverage 0%" in text
    assert '<td><span class="undefined"' in text


def test_page_shows_no_value_while_no_pane_is_mature() -> None:
    text = fragment(view(snapshot(windowed({"DE": [40]}))))
    assert "accuracy of country=DE: no mature pane defines it. 1 newer pane still open." in text
    assert 'class="big">0.' not in text


@each("shown", [None, windowed({})])
def test_page_waits_for_first_rows(shown: Windowed | None) -> None:
    status: dict[str, Any] = {"watermark": None, "mature_until": None, "last_event_time": None}
    made = view(snapshot(shown, number=0, committed_at=None, **status))
    text = fragment(made)
    assert "No rows have been counted yet." in text
    assert "Waiting for rows" in text
    assert "not begun yet" in text
    page(made)


def test_sparkline_says_what_it_shows() -> None:
    held = windowed({"DE": [40, 45]})
    (picture,) = page(view(snapshot(held, n_open=0))).all("svg", class_="spark")
    assert picture["role"] == "img"
    low, high = windowed({"DE": [45]}).total()["DE"].compute().confidence("accuracy")
    assert picture["aria-label"] == (
        f"accuracy of country=DE: 0.9000, 95% interval from {low:.4f} to {high:.4f}; "
        "between 0.8000 and 0.9000 in 2 panes."
    )


def test_every_card_has_a_table_behind_it() -> None:
    made = page(view(snapshot(windowed({"DE": range(12), "FR": range(12)}, per=20), n_open=0)))
    regions = [one["aria-label"] for one in made.all("div", role="group")]
    names = ("All rows", "country=DE", "country=FR")
    assert sorted(map(str, regions)) == [f"The newest panes of {name}" for name in names]
    assert len(made.all("details")) == len(made.all("summary")) == 3
    assert len(made.all("tr")) == 1 + 12 + 2 * (1 + 10)


def test_table_behind_a_series_tells_the_day_where_panes_are_of_several() -> None:
    held = windowed({"DE": [40] + [None] * 1439 + [45]})
    text = fragment(view(snapshot(held, n_open=0)))
    card = text[text.index("<article") :]
    assert '<th scope="row">1970-01-02T00:00</th>' in card
    assert "<bdi>Start</bdi>" in card
    first = fragment(view(snapshot(windowed({"DE": [40, 45]}), n_open=0)))
    assert "<bdi>1970-01-01</bdi>" in first[first.index("<article") :]


def test_certified_band_and_sampling_interval_are_drawn_and_said_differently() -> None:
    rng = np.random.default_rng(7)
    scores, times = rng.random(600), np.repeat(np.arange(3) * 60, 200)
    sketch = se.Sliced(se.PRCurveSketch(budget=16), "country")
    held = se.Windowed(sketch, pane="1m", time="ts", unit="s").update(
        {
            "y_true": (rng.random(600) < scores).astype(int),
            "y_score": scores,
            "ts": times,
            "country": ["DE"] * 600,
        }
    )
    text = fragment(view(snapshot(held, n_open=0), ["roc_auc"]))
    card = text[text.index("<article") :]
    assert 'class="area s0"' in card
    assert 'class="line whisker s0"' in card
    assert re.search(r">within 0\.\d{4,} \N{EN DASH} 0\.\d{4,}", card)
    assert re.search(r"95% 0\.\d{4} \N{EN DASH} 0\.\d{4}", card)
    assert ", the exact value between 0." in card
    plain = fragment(view(snapshot(held, n_open=0), ["roc_auc"], level=0.0))
    assert "whisker" not in plain[plain.index("<article") :]


def test_alerts_are_shown_with_their_rule_state_and_limit() -> None:
    alerts = [alert("firing", "DE"), alert("pending"), alert("inactive", "FR")]
    made = view(snapshot(windowed({"DE": [30, 45], "FR": [45, 45]}), n_open=0, alerts=alerts))
    text = fragment(made)
    assert "accuracy &lt; 0.8" in text
    since = '<time datetime="1970-01-01T00:02:00Z">1970-01-01 00:02:00</time>'
    assert f"firing since {since}" in text
    assert made.summary == "1 alert firing, 1 alert pending"
    assert made.state == "firing"
    assert "(1) ck.db" in document(made, fragment(made))
    assert text.count("▲ ") == 3  # colour alone tells nothing: page, card and rule
    assert text.count('class="line limit"') == 3
    cards = page(made).all("article")
    assert [card["class"] for card in cards] == ["card firing", "card inactive"]


def test_alerts_about_sources_stand_above_all_rows() -> None:
    alerts = [
        alert("firing", rule="no data for 10m", metric=None),
        alert("firing", rule="coverage < 0.5", metric="coverage"),
        alert("resolved", rule="labels stalled for 1h", metric=None),
    ]
    made = view(snapshot(windowed({"DE": [40]}), alerts=alerts))
    assert [one.rule for one in made.others] == [one.rule for one in alerts]
    assert made.cards[0].alerts == []
    text = fragment(made)
    assert text.index("no data for 10m") < text.index("All rows")


def test_page_says_that_nothing_fires() -> None:
    made = view(snapshot(windowed({"DE": [40]}), alerts=[alert("inactive")]))
    assert made.summary == "No alert is firing"
    assert made.state == "inactive"
    assert 'class="badge inactive"' in fragment(made)


def test_slices_are_ordered_by_what_needs_attention() -> None:
    full = [40, 40, 40]
    rights: dict[Any, Sequence[int | None]] = {
        "calm": full,
        "evidence": full,
        "firing": full,
        "pending": full,
        "resolved": full,
        "silent": [40, 40, None],
        "worse": [40, 40, 20],
    }
    alerts = [
        alert("resolved", "resolved"),
        alert("pending", "pending"),
        alert("firing", "firing"),
        alert("inactive", "evidence", log_evidence=9.0, log_threshold=10.0),
        alert("inactive", "calm", log_evidence=-math.inf, log_threshold=0.0),
    ]
    held = windowed(rights, values=[*rights])
    shown = order(snapshot(held, n_open=0, alerts=alerts))
    assert shown == ["firing", "pending", "silent", "resolved", "evidence", "worse", "calm"]


def test_slices_with_equal_need_are_ordered_by_size_and_name() -> None:
    held = windowed({"b": [40], "a": [40], "c": [40]})
    held.update({"y_true": [1], "y_pred": [1], "ts": [0], "country": ["c"]})
    assert order(snapshot(held, n_open=0)) == ["c", "a", "b"]


def test_metric_that_is_better_when_low_is_worse_when_high() -> None:
    counted = se.ConfusionAccumulator(2, multilabel=True)
    held = se.Windowed(se.Sliced(counted, "country"), pane="1m", time="ts", unit="s")
    truth = np.tile([[0, 1]], (200, 1))
    guess = np.where(np.arange(200)[:, None] < 100, truth, 1 - truth)
    country = ["a"] * 100 + ["z"] * 100
    held.update({"y_true": truth, "y_pred": guess, "ts": [0] * 200, "country": country})
    made = view(snapshot(held, n_open=0), ["hamming_loss"])
    assert [card.name for card in made.cards[1:]] == ["country=z", "country=a"]


def test_slice_that_seldom_has_rows_is_not_silent() -> None:
    held = windowed({"often": [40] * 4, "seldom": [None, 40, None, None]})
    assert [card.state for card in view(snapshot(held, n_open=0)).cards[1:]] == ["inactive"] * 2


def test_rows_without_a_slice_have_a_card_of_their_own() -> None:
    held = windowed({value: [40, 40] for value in "abcd"}, values=["a", "b", "c"])
    made = view(snapshot(held, n_open=0))
    names = [card.name for card in made.cards[1:]]
    assert names == ["country=a", "country=b", "country=c", "other"]


def test_slice_without_rows_in_the_panes_shown_is_there() -> None:
    held = windowed({"old": [40] + [None] * 70, "new": [None] + [40] * 70}, per=2)
    assert {card.name for card in view(snapshot(held)).cards[1:]} == {"country=old", "country=new"}


def test_page_without_slices_shows_all_rows_alone() -> None:
    held = se.Windowed(se.ConfusionAccumulator(), pane="1m", time="ts", unit="s")
    held.update({"y_true": [1, 0], "y_pred": [1, 1], "ts": [0, 60]})
    made = view(snapshot(held, n_open=0))
    assert not made.cards[1:]
    assert "Slices" not in fragment(made)
    page(made)


def test_page_shows_panes_of_steps() -> None:
    held = se.Windowed(se.ConfusionAccumulator(), pane=10, time="step")
    held.update({"y_true": [1, 0], "y_pred": [1, 1], "step": [5, 15]})
    made = view(
        Snapshot(
            windowed=held,
            status=attrs.evolve(snapshot(None).status, mature_until=20, last_event_time=15),
            alerts=(),
        )
    )
    assert made.panes is not None
    assert [(one.start, one.end) for one in made.panes.counted] == [(0, 10), (10, 20)]


def test_page_shows_what_alerts_are_about_and_the_headline_by_default() -> None:
    alerts = [alert("inactive", metric="recall[1]", rule="recall[1] < 0.5"), alert("inactive")]
    shown = snapshot(windowed({"DE": [40]}), n_open=0, alerts=alerts)
    made = view(shown, metrics=())
    names = [series.metric for series in made.cards[0].series]
    assert names == ["recall[1]", "accuracy", "f_score"]


@pytest.mark.slow
@each(
    ("accumulator", "shown"),
    [
        (se.RegressionAccumulator(), ["rmse", "mae", "bias"]),
        (se.CalibrationAccumulator(), ["log_loss", "pcopc", "ece"]),
        (se.ConfusionAccumulator(3), ["accuracy", "f_score"]),
        (se.GroupedAUC(), ["gauc", "coverage"]),
        (se.Paired(), ["difference", "accuracy_a", "accuracy_b"]),
        (se.RankingAccumulator(["ndcg@2"]), ["ndcg@2"]),
        (
            se.Collection({"cm": se.ConfusionAccumulator(), "curve": se.PRCurveSketch()}),
            ["cm/accuracy", "cm/f_score", "curve/roc_auc", "curve/average_precision"],
        ),
    ],
)
def test_page_shows_the_headline_of_every_task(accumulator: Any, shown: list[str]) -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 90)
    batch = {
        **dict.fromkeys(("y_true", "y_pred", "y_pred_a", "y_pred_b", "relevance"), labels),
        **dict.fromkeys(("y_score", "y_prob", "score"), rng.random(90)),
        "group": np.arange(90) % 3,
        "query": np.arange(90) // 3,
        "ts": np.repeat([0, 60, 120], 30),
        "country": np.repeat(["DE", "FR", "IT"] * 10, 3),
    }
    sliced = se.Sliced(accumulator, "country")
    held = se.Windowed(sliced, pane="1m", time="ts", unit="s").update(batch)
    made = view(snapshot(held, n_labelled=90), metrics=())
    assert [series.metric for series in made.cards[0].series] == shown
    assert all(math.isfinite(series.numbers[0, 0]) for series in made.cards[0].series)
    assert len(page(made).all("svg", class_="spark")) == 3 * len(shown)


def test_rate_of_nothing_is_undefined() -> None:
    held = se.Windowed(se.ConfusionAccumulator(), pane="1m", time="ts", unit="s")
    held.update({"y_true": [0, 0, 1], "y_pred": [0, 0, 1], "ts": [0, 60, 60]})
    made = view(snapshot(held, n_open=0), ["recall[1]", "recall[2]"])
    first, second = (series.numbers[0].tolist() for series in made.cards[0].series)
    assert math.isnan(first[0])
    assert first[1] == 1.0
    assert all(map(math.isnan, second))


def test_alert_that_is_firing_is_drawn_where_it_began() -> None:
    upright = re.compile(r'<path d="M[\d.]+ [\d.]+V[\d.]+" class="line limit fired">')
    held = windowed({"DE": [30, 45, 40], "FR": [45, 45, 45]})
    for state, n_drawn in (("firing", 1), ("pending", 0), ("resolved", 0)):
        made = view(snapshot(held, n_open=0, alerts=[alert(state, "DE"), alert("inactive", "FR")]))
        first, second = fragment(made).split("<article")[1:]
        assert ("country=DE" in first, len(upright.findall(first))) == (True, n_drawn)
        assert not upright.findall(second)
    whole = view(snapshot(held, n_open=0, alerts=[alert("firing")]))
    assert list(whole.cards[0].series[0].fired) == [1], "its end is that of the second pane"
    calm = [alert("firing", metric="f_score"), alert("inactive")]
    other = view(snapshot(held, n_open=0, alerts=calm))
    assert not other.cards[0].series[0].fired, "the alert is about another metric"
    unlike = alert("firing", since="1970-01-01T09:00:00Z")
    old = view(snapshot(held, n_open=0, alerts=[unlike]))
    assert not old.cards[0].series[0].fired


def history(*shares: float, first: int = 1) -> Any:
    minutes = np.arange(first, first + len(shares)).astype("M8[m]").astype("M8[us]")
    return tuple(zip(minutes, shares, strict=True))


def test_evidence_of_an_alarm_is_drawn_pane_by_pane() -> None:
    held = windowed({"DE": [45, 20, 45], "FR": [45, 45, 45]})
    alerts = [
        alert("resolved", "DE", history=history(0.0, 1.0)),
        alert("pending", "DE", rule="accuracy < 0.7", history=history(0.25, 0.5, first=0)),
        alert("inactive", "FR", log_evidence=1.0, log_threshold=9.0),
        alert("firing", history=history(1.0, 0.5)),
    ]
    made = view(snapshot(held, alerts=alerts))
    shown = {card.name: list(card.series[0].evidence) for card in made.cards}
    nan = pytest.approx(math.nan, nan_ok=True)
    assert shown == {"country=DE": [0.5, 1.0, nan], "country=FR": [], "All rows": [1.0, 0.5, nan]}
    text = fragment(made)
    said = "Evidence about accuracy: {}% of that of an alarm in the newest pane, 1 alarm in 2 panes"
    assert said.format(100) in text, "of DE"
    assert said.format(50) in text, "of all rows"
    assert (
        len(re.findall(r'<path d="M[\d.]+ 23V15.0M[\d.]+ 23V7.0" class="line evidence">', text))
        == 1
    )


def test_alert_has_its_name_and_its_links() -> None:
    links = {"runbook": "https://wiki.example.org/?a=1&b=2", "<odd>": "javascript:alert(1)"}
    about = {"name": "<low>", "severity": "page", "links": links}
    text = fragment(view(snapshot(windowed({"DE": [45]}), alerts=[alert("firing", about=about)])))
    assert "&lt;low&gt;: <code>accuracy &lt; 0.8</code> firing since " in text
    assert ' <a href="https://wiki.example.org/?a=1&amp;b=2">runbook</a>' in text
    assert " <span>&lt;odd&gt;: javascript:alert(1)</span>" in text


def test_evidence_of_older_panes_is_no_bar() -> None:
    held = windowed({"DE": [45, 45]})
    shown = snapshot(held, alerts=[alert("resolved", "DE", history=history(1.0, first=-5))])
    text = fragment(view(shown))
    assert "Evidence about accuracy: 0% of that of an alarm in the newest pane, 0 alarms" in text
    assert "line evidence" not in text


def test_page_names_what_a_status_says() -> None:
    shown = snapshot(
        windowed({"DE": [40]}),
        n_pending=7,
        is_full=True,
        waits_for=np.datetime64("2026-01-02T05:00:00", "us"),
        label_watermark=np.datetime64("2026-01-02T03:04:05", "us"),
        counters={"refused": 2, "future": 1, "late_label": 4, "labels": 99},
    )
    facts = dict(facts_of(shown.status))
    assert facts["Waiting for a label"] == "7"
    until = '<time datetime="2026-01-02T03:04:05Z">2026-01-02 03:04:05</time>'
    assert facts["Labels complete until"] == until
    assert facts["Bad rows"] == "3"
    assert facts["Late label"] == "4"
    assert facts["Predictions"] == "not read until labels come"
    assert facts["Ahead of the clock"] == "rows up to 2026-01-02 05:00:00 are not read yet"
    assert facts["Rows"] == "50"
    assert facts["Labelled"] == "100%"
    assert "Labels" not in facts


def test_page_of_hostile_names_is_harmless() -> None:
    held = windowed({HOSTILE: [40, 45]}, values=[HOSTILE])
    made = view(snapshot(held, n_open=0, alerts=[alert("firing", HOSTILE)]))
    shown = page(attrs.evolve(made, title=HOSTILE))
    text = document(made, fragment(made))
    assert [one.get("src") for one in shown.all("script")] == ["live.js"]
    assert not re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text.rstrip("\n")[16:])
    names = {name for _, one in shown.elements for name in one}
    assert not [name for name in names if name.startswith("on") or name == "style"]


def test_page_is_complete_without_script_and_names_only_relative_addresses() -> None:
    made = page(view(snapshot(windowed({"DE": [40, 45]}))))
    assert {"http-equiv": "refresh", "content": "30"} in made.all("meta")
    addresses = [one[key] for _, one in made.elements for key in ("href", "src") if key in one]
    assert addresses == ["icon.svg", "page.css", "live.js"]
    assert len(made.all("svg", class_="spark")) == 1
    (status,) = made.all("p", role="status")
    assert status["id"] == "announcement"


def test_panes_that_have_not_changed_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    held = windowed({"DE": [40, 45, 50]})
    builder = ViewBuilder([parse_metric("accuracy")], 0.95, patience=1e9)
    read: list[int] = []
    usual = ViewBuilder._counted

    def counted(self: ViewBuilder, span: Any, *others: Any) -> Any:
        read.append(span.start)
        return usual(self, span, *others)

    monkeypatch.setattr(ViewBuilder, "_counted", counted)
    builder.build("ck", snapshot(held))
    assert sorted(read) == [0, 60_000_000, 120_000_000]
    read.clear()
    held.update({"y_true": [1], "y_pred": [1], "ts": [120], "country": ["DE"]})
    made = builder.build("ck", snapshot(held.copy()))
    assert read == [120_000_000]
    assert made.cards[0].points[-1].labelled == 51


@pytest.mark.slow
@each("budget", [None, 8])
def test_page_has_the_readings_of_each_slice_alone(budget: int | None) -> None:
    random, names = np.random.default_rng(9), ("roc_auc", "average_precision", "recall_at(0.5)")
    slices = se.Sliced(se.PRCurveSketch(budget), "country", max_values=30)
    held = se.Windowed(slices, pane="1m", time="ts", unit="s")
    for _ in range(2):  # the panes of two updates are sealed
        scores = random.random(2000).round(2)
        countries = random.integers(0, 40, 2000).astype(str)
        truths = (random.random(2000) < scores) & (countries != "3")
        times = random.integers(0, 180, 2000)
        held.update({"y_true": truths, "y_score": scores, "country": countries, "ts": times})
    metrics = [parse_metric(name) for name in names]
    view = ViewBuilder(metrics, 0.95, patience=1e9).build("title", snapshot(held))
    assert len(view.cards[1:]) == 31
    for at, span in enumerate(held.view().spans()):
        part = live(span.part)
        alone = {f"country={value}": part[value] for value in part} | {"other": part.other}
        for card in view.cards[1:]:
            assert card.points[at].labelled == alone[card.name].n
            result = alone[card.name].compute()
            expected = [attrs.astuple(read_or_nan(result, one, 0.95).defined) for one in metrics]
            assert repr([*map(attrs.astuple, card.points[at].readings)]) == repr(expected)


def test_older_panes_are_read_later_where_it_takes_long() -> None:
    shown = snapshot(windowed({"DE": [40, 45, 50]}), n_open=0)
    builder = ViewBuilder([parse_metric("accuracy")], 0.95, patience=-1.0)
    versions = []
    for _ in range(3):
        made = builder.build("ck", shown)
        versions.append((made.version, len(made.cards[0].points)))
    assert versions == [("1-1", 1), ("1-2", 2), ("1", 3)]
    assert made.cards[0].series[0].numbers[0, -1] == 1.0


@pytest.mark.slow
@each("inner", [se.ConfusionAccumulator(), se.PRCurveSketch(4)])
def test_page_of_changed_panes_is_that_of_who_sees_them_first(inner: Any) -> None:
    metric = parse_metric("accuracy" if isinstance(inner, se.ConfusionAccumulator) else "roc_auc")
    held = se.Windowed(se.Sliced(inner, "c"), pane="1m", time="t", unit="s")
    rng = np.random.default_rng(5)
    builder = ViewBuilder([metric], 0.95, patience=1e9)
    texts = []
    steps = [(0, 4, 4, 1), (3, 4, 4, 1), (3, 4, 4, 0), (1, 2, 4, 0), (4, 6, 5, 2), (5, 64, 6, 1)]
    for number, (first, last, n_values, n_open) in enumerate(steps):
        n = 200
        scores = rng.random(n) if number % 2 else rng.random(n) / 4
        predicted = scores if str(metric) == "roc_auc" else (scores > 0.1).astype(int)
        name = "y_score" if str(metric) == "roc_auc" else "y_pred"
        columns = {"y_true": rng.integers(0, 2, n), name: predicted}
        columns |= {"t": rng.integers(60 * first, 60 * last, n), "c": rng.integers(0, n_values, n)}
        held.update(columns)
        state = held.copy()
        for shown in (
            snapshot(state, number=number, n_open=n_open),
            snapshot(state, number=number, n_open=n_open + 1),
        ):
            texts.append(fragment(builder.build("ck", shown)))
            fresh = ViewBuilder([metric], 0.95, patience=1e9)
            assert texts[-1] == fragment(fresh.build("ck", shown))
    assert len(set(texts)) == 2 * len(steps)


# updates


class Client:
    """A stream of updates, read event by event."""

    def __init__(self, connection: socket.socket) -> None:
        self._file = connection.makefile("rb")
        while self._file.readline().strip():
            pass

    def next(self) -> dict[str, str]:
        lines = iter(lambda: self._file.readline().decode().rstrip("\n"), "")
        return dict(line.partition(": ")[::2] for line in lines)


@contextmanager
def streaming(server: Server, query: str = "", headers: str = "") -> Iterator[Client]:
    host, port = server._sockets.server_address[:2]
    with socket.create_connection((host, port), timeout=20) as connection:  # type: ignore[arg-type]
        request = f"GET /events{query} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n"
        connection.sendall(request.encode())
        yield Client(connection)


@contextmanager
def served(shown: Snapshot, **options: Any) -> Iterator[tuple[LivePage, Server]]:
    live = LivePage("ck.db", shown, pace=0.0, **options)
    with Server(live.routes, "127.0.0.1:0", on_close=live.close) as server:
        yield live, server


def ask(live: LivePage, path: str) -> Response:
    return live.routes[path](Request(path, "", {}))  # type: ignore[arg-type]


def test_update_is_sent_when_a_commit_is_shown() -> None:
    held = windowed({"DE": [40, 45]})
    with served(snapshot(held)) as (live, server), streaming(server, "?after=1") as client:
        assert client.next() == {"retry": "2000"}
        live.show(snapshot(held, number=2, alerts=[alert("firing", "DE")]))
        update = client.next()
        assert (update["id"], update["event"]) == ("2", "update")
        assert "1 alert firing" in update["data"]
        live.show(snapshot(held, number=3))
        assert client.next()["id"] == "3"


def test_other_title_is_sent_without_a_commit() -> None:
    shown = snapshot(windowed({"DE": [40, 45]}))
    with served(shown) as (live, server), streaming(server, "?after=1") as client:
        client.next()
        live.retitle("ck.db")  # as it was
        live.retitle("Click model")
        assert "<h1><bdi>Click model</bdi></h1>" in client.next()["data"]
        live.show(attrs.evolve(shown, status=attrs.evolve(shown.status, number=2)))
        assert client.next()["id"] == "2.2"


def test_update_is_sent_at_once_to_who_knows_an_older_commit() -> None:
    with served(snapshot(windowed({"DE": [40]}), number=8)) as (_, server):
        with streaming(server, "?after=7") as client:
            client.next()
            assert client.next()["id"] == "8"
        with streaming(server, "?after=8", "Last-Event-ID: 5\r\n") as client:
            client.next()
            assert client.next()["id"] == "8"


def test_stream_is_compressed_part_by_part_for_who_takes_that() -> None:
    live = LivePage("ck.db", snapshot(windowed({"DE": [40]})), pace=0.0, keep_alive=0.01)
    request = Request("/events", "after=", {"Accept-Encoding": "br, gzip"})  # type: ignore[arg-type]
    response = live.routes["/events"](request)
    assert response.headers["Content-Encoding"] == "gzip"
    stream, reader = iter(response.body), zlib.decompressobj(31)
    found = [reader.decompress(cast("bytes", next(stream))) for _ in range(4)]
    update = LivePage("ck.db", snapshot(windowed({"DE": [40]})))._newest().event
    assert found == [b"", b"retry: 2000\n\n", update, b":\n\n"]
    assert "Content-Encoding" not in ask(live, "/events").headers
    live.close()
    assert list(stream) == []


def test_stream_sends_comments_while_nothing_happens() -> None:
    with (
        served(snapshot(windowed({"DE": [40]})), keep_alive=0.01) as (_, server),
        streaming(server, "?after=1") as client,
    ):
        client.next()
        assert client.next() == {":": ""}
        assert client.next() == {":": ""}


def test_updates_keep_a_pace() -> None:
    held = windowed({"DE": [40]})
    live = LivePage("ck.db", snapshot(held), pace=1000.0, keep_alive=0.01)
    updates = ask(live, "/events").body
    assert isinstance(updates, Iterator)
    assert next(updates) == b"retry: 2000\n\n"
    assert b"id: 1\n" in next(updates)
    live.show(snapshot(held, number=2))
    assert [next(updates) for _ in range(3)] == [b":\n\n"] * 3
    live._pace = 0.0
    assert b"id: 2\n" in next(updates)


def test_update_is_sent_when_its_pace_is_over_without_another_commit() -> None:
    held = windowed({"DE": [40]})
    live = LivePage("ck.db", snapshot(held), pace=0.05, keep_alive=1000.0)
    updates = ask(live, "/events").body
    assert isinstance(updates, Iterator)
    found = [next(updates), next(updates)]
    live.show(snapshot(held, number=2))
    found.append(next(updates))
    assert b"id: 2\n" in found[2]


def test_wait_for_the_pace_ends_when_the_page_is_closed() -> None:
    held = windowed({"DE": [40]})
    live = LivePage("ck.db", snapshot(held), pace=1000.0, keep_alive=1000.0)
    updates = ask(live, "/events").body
    assert isinstance(updates, Iterator)
    found = [next(updates), next(updates)]
    live.show(snapshot(held, number=2))
    thread = threading.Thread(target=lambda: found.extend(updates))
    thread.start()
    live.close()
    thread.join(20)
    assert not thread.is_alive()
    assert len(found) == 2


@pytest.mark.parametrize("commits", [1, 20])
def test_one_stream_renders_while_the_others_wait(
    monkeypatch: pytest.MonkeyPatch, commits: int
) -> None:
    held = windowed({"DE": [40]})
    live = LivePage("ck.db", snapshot(held), pace=0.0, keep_alive=1000.0)
    woken: list[int] = []
    is_due = live._seconds_until_due

    def counted() -> float:
        woken.append(threading.get_ident())
        return is_due()

    def slowly(view: View) -> Any:
        rendered.append((view.status.number, len({*woken})))
        time.sleep(0.02)
        rendered.append((view.status.number, len({*woken})))
        return fragment(view)

    rendered: list[tuple[int, int]] = []
    last: list[bytes] = []

    def follow() -> None:
        for update in cast("Iterator[bytes]", ask(live, "/events").body):
            if f"id: {commits + 1}\n".encode() in update:
                last.append(update)
                return

    live._newest()
    threads = [threading.Thread(target=follow) for _ in range(10)]
    for thread in threads:
        thread.start()
    while len(live._changed._waiters) < 10:  # type: ignore[attr-defined]
        time.sleep(0.001)
    monkeypatch.setattr("streameval.monitoring.live_page.fragment", slowly)
    monkeypatch.setattr(live, "_seconds_until_due", counted)
    for number in range(commits):
        live.show(snapshot(held, number=2 + number))
    for thread in threads:
        thread.join(20)
    assert len(last) == 10
    assert len({*last}) == 1
    if commits == 1:
        assert rendered == [(2, 1), (2, 1)]


def test_failure_to_render_lets_another_stream_try(monkeypatch: pytest.MonkeyPatch) -> None:
    held = windowed({"DE": [40]})
    live = LivePage("ck.db", snapshot(held), pace=0.0, keep_alive=0.01)

    def failing(_: View) -> Any:
        raise RuntimeError("no memory")

    updates = [cast("Iterator[bytes]", ask(live, "/events").body) for _ in range(2)]
    assert [next(update) for update in updates] == [b"retry: 2000\n\n"] * 2
    with monkeypatch.context() as patch:
        patch.setattr("streameval.monitoring.live_page.fragment", failing)
        with pytest.raises(RuntimeError):
            next(updates[0])
    assert b"id: 1\n" in next(updates[1])


def test_commit_is_rendered_once_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    rendered = []

    def counted(made: View) -> Any:
        rendered.append(made.status.number)
        return fragment(made)

    monkeypatch.setattr("streameval.monitoring.live_page.fragment", counted)
    held = windowed({"DE": [40]})
    live = LivePage("ck.db", snapshot(held))
    assert [ask(live, "/").body for _ in range(3)] == [ask(live, "/").body] * 3
    assert rendered == [1]
    live.show(snapshot(held, number=2))
    ask(live, "/")
    assert rendered == [1, 2]


def test_close_ends_streams() -> None:
    shown = snapshot(windowed({"DE": [40]}))
    with served(shown) as (live, server), streaming(server, "?after=1") as client:
        client.next()
        live.close()
        assert client.next() == {}


def test_files_of_the_page_are_served() -> None:
    live = LivePage("ck.db", snapshot(windowed({"DE": [40]}), alerts=[alert("firing")]))
    style, script, icon = (ask(live, path) for path in ("/page.css", "/live.js", "/icon.svg"))
    assert style.content_type == "text/css; charset=utf-8"
    assert b"prefers-reduced-motion" in style.body
    assert b"prefers-color-scheme: dark" in style.body
    assert script.content_type == "text/javascript; charset=utf-8"
    assert b"EventSource" in script.body
    assert icon.content_type == "image/svg+xml; charset=utf-8"
    assert b"#d9480f" in icon.body


@each("level", [-0.1, 1.0])
def test_page_refuses_what_is_no_level(level: float) -> None:
    with pytest.raises(se.InvalidInputError, match="level"):
        LivePage("ck.db", snapshot(None), level=level)


@each(
    ("metrics", "reason"),
    [
        (["accurcy"], "no metric 'accurcy': did you mean 'accuracy'"),
        ("accuracy", "`metrics` must be a list of names, got 'accuracy'."),
    ],
)
def test_page_refuses_metrics_that_are_not_there(metrics: Any, reason: str) -> None:
    with pytest.raises(se.InvalidInputError) as caught:
        LivePage("ck.db", snapshot(windowed({})), metrics=metrics)
    assert str(caught.value).startswith(reason)


def test_page_takes_metrics_of_members_and_of_classes_that_may_come() -> None:
    members = se.Collection({"cm": se.ConfusionAccumulator(3), "curve": se.PRCurveSketch()})
    held = se.Windowed(members, pane="1m", time="ts", unit="s")
    page = LivePage("ck.db", snapshot(held), metrics=["cm/recall[2]", "curve/roc_auc"])
    assert len(page._builder._metrics) == 2
    assert LivePage("ck.db", snapshot(None), metrics=["accuracy"])


# sparklines


def drawn(values: Sequence[float | Reading], n_open: int = 0, limits: Sequence[float] = ()) -> str:
    readings = [one if isinstance(one, Reading) else Reading(one) for one in values]
    n_mature = len(values) - n_open
    strip = Strip.of(range(len(values)), range(1, len(values) + 1), n_mature)
    return sparkline(strip, numbers_of(readings), n_mature, limits, "spoken")


OPEN = Reading(Bounded(0.5, 0.4, 0.6), (0.1, 0.9))


def test_sparkline_breaks_where_the_metric_is_undefined() -> None:
    assert drawn([0.1, math.nan, 0.2, 0.3]).count('class="line s0"') == 2
    assert drawn([math.nan, 0.2, math.nan]).count('class="line s0"') == 1


def test_sparkline_of_nothing_is_empty() -> None:
    text = drawn([math.nan, math.nan])
    assert "path" not in text
    assert "circle" not in text
    assert "<text" not in text


def test_sparkline_of_equal_values_is_a_level_line() -> None:
    (path,) = re.findall(r'd="(M[^"]*)"', drawn([0.5, 0.5]))
    assert len({point.split()[1] for point in path[1:].split("L")}) == 1
    assert "nan" not in drawn([0.0, 0.0])


def test_sparkline_draws_limits_within_its_range_alone() -> None:
    assert drawn([0.2, 0.8], limits=[0.5, 0.9]).count("line limit") == 1


def test_sparkline_draws_infinite_bounds_to_the_end_of_its_range() -> None:
    text = drawn([Reading(Bounded(0.5, 0.4, math.inf)), 0.2])
    assert "0.2" in text
    (band,) = re.findall(r'd="M([^"]*)Z"', text)
    assert band.split("L")[0].split()[1] == "7.0"


def test_sparkline_clips_sampling_intervals_without_ends() -> None:
    text = drawn([Reading(0.5, (-math.inf, math.inf)), Reading(0.4, (0.1, math.inf)), 0.9])
    (whiskers,) = re.findall(r'd="([^"]*)" class="line whisker', text)
    assert re.findall(r"[ V]([\d.]+)", whiskers) == ["55.0", "7.0", "55.0", "7.0"]


def test_sparkline_dots_the_newest_mature_pane() -> None:
    (dot,) = re.findall(r'<circle cx="([\d.]+)"', drawn([0.1, 0.2, 0.3, 0.4], n_open=2))
    (line,) = re.findall(r'<path d="(M[^"]*)" class="line s0"', drawn([0.1, 0.2, 0.3, 0.4]))
    assert dot == line[1:].split("L")[1].split()[0]


# in a monitor


@pytest.mark.slow
def test_monitor_serves_its_last_commit(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    rows = [{"ts": t, "y_true": t % 2, "y_pred": 1} for t in range(150)]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    held = se.Windowed(se.ConfusionAccumulator(), pane="1m", unit="s")
    with se.Monitor(tmp_path / "ck.db", held, predictions=str(log), time="ts") as monitor:
        server = monitor.serve("127.0.0.1:0", metrics=["accuracy"])
        assert "No rows have been counted yet" in body(server)
        with streaming(server, "?after=0") as client:
            client.next()
            monitor.step()
            assert "0.5000" in client.next()["data"]
        assert "<title>ck.db</title>" in body(server)
        assert "150" in body(server)
    assert not server._thread.is_alive()
    server.close()
    with (
        se.Monitor(tmp_path / "ck.db", held.copy(), predictions=str(log), time="ts") as monitor,
        monitor.serve("127.0.0.1:0") as server,
    ):
        assert "0.5000" in body(server)


def body(server: Server) -> str:
    host, port = server._sockets.server_address[:2]
    with socket.create_connection((host, port), timeout=20) as client:  # type: ignore[arg-type]
        client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return b"".join(iter(lambda: client.recv(65_536), b"")).partition(b"\r\n\r\n")[2].decode()


def test_page_of_a_monitor_is_free_of_its_lock(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text('{"ts": 1, "y_true": 1, "y_pred": 1}\n')
    held = se.Windowed(se.ConfusionAccumulator(), pane="1m", unit="s")
    with se.Monitor(tmp_path / "ck.db", held, predictions=str(log), time="ts") as monitor:
        server = monitor.serve("127.0.0.1:0")
        with monitor._busy:
            got: list[str] = []
            thread = threading.Thread(target=lambda: got.append(body(server)))
            thread.start()
            thread.join(20)
            assert got


@pytest.mark.speed
def test_page_of_a_hundred_series_is_rendered_in_time() -> None:
    rng = np.random.default_rng(3)
    n = 300_000
    held = se.Windowed(
        se.Sliced(se.ConfusionAccumulator(), "c", max_values=100), pane="1m", time="t", unit="s"
    ).update(
        {
            "y_true": rng.integers(0, 2, n),
            "y_pred": rng.integers(0, 2, n),
            "t": rng.integers(0, 3600, n),
            "c": rng.integers(0, 100, n),
        }
    )
    made = ViewBuilder([parse_metric("accuracy")], 0.95, patience=1e9).build("ck", snapshot(held))
    times = []
    for _ in range(7):
        began = time.process_time()
        text = document(made, fragment(made)).encode()
        times.append(time.process_time() - began)
    assert text.count(b'class="spark"') == 100
    assert min(times) <= 0.05
