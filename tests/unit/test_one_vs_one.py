"""`PRCurveSketch(classes=K, measures=["one_vs_one"])`: each class against each other one."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from offenders import each

import streameval as se
from streameval.errors import UnknownMetricError
from streameval.reports import html_report

PAIRS: dict[str, Any] = {"classes": ["a", "b", "c"], "measures": ["one_vs_one"]}
LABELS = np.array(["a", "b", "c"], dtype=object)
RANDOM = np.random.default_rng(11)
TRUTH = LABELS[RANDOM.integers(0, 3, 90)]
SCORES = RANDOM.dirichlet(np.ones(3), 90)


def counted(*rows: Any, **options: Any) -> Any:
    return se.PRCurveSketch(**PAIRS | options).update(*(rows or (TRUTH, SCORES)))


@each("budget", [65_536, 5])
def test_curve_of_a_pair_is_that_of_its_rows_alone(budget: int) -> None:
    curves: Any = counted(budget=budget).compute()
    for first, second in (("a", "b"), ("b", "a"), ("c", "a"), ("b", "c")):
        rows = (first == TRUTH) | (second == TRUTH)
        alone = se.PRCurveSketch(budget, pos_label=first)
        alone.update(TRUTH[rows], SCORES[rows, list(LABELS).index(first)])
        found, expected = curves.versus(first, second), alone.compute()
        assert found.as_dict(bounds=True) == expected.as_dict(bounds=True)


def test_curves_against_the_rest_stay_as_they_are() -> None:
    usual = se.PRCurveSketch(classes=["a", "b", "c"]).update(TRUTH, SCORES).compute()
    found, expected = counted().compute().as_dict(), usual.as_dict()
    assert {name: found[name] for name in expected} == expected
    assert found.keys() - expected.keys() == {"roc_auc_ovo", "roc_auc_ovo_weighted"}


def test_panes_are_those_of_their_rows_alone() -> None:
    rows = {"y_true": TRUTH, "y_score": SCORES, "time": np.arange(90) // 3}
    panes = se.Windowed(se.PRCurveSketch(**PAIRS), pane=1).update(rows)
    read = se.from_bytes(panes.to_bytes())
    for start in (0, 29):
        own = rows["time"] == start
        assert read.window(1, start + 1) == counted(TRUTH[own], SCORES[own])


def test_fractional_weights_count() -> None:
    weights = RANDOM.random(90)
    halves = [
        se.PRCurveSketch(**PAIRS).update(TRUTH[rows], SCORES[rows], sample_weight=weights[rows])
        for rows in (slice(50), slice(50, None))
    ]
    whole: Any = se.PRCurveSketch(**PAIRS).update(TRUTH, SCORES, sample_weight=weights)
    assert (halves[0] + halves[1]).to_bytes() == whole.to_bytes()
    pair = whole.compute().versus("a", "c")
    assert pair.n == pytest.approx(weights[TRUTH != "b"].sum(), rel=1e-12)


def test_pairs_of_a_class_that_never_occurs_are_left_out() -> None:
    rows = TRUTH != "c"
    curves = counted(TRUTH[rows], SCORES[rows]).compute()
    both = (curves.versus("a", "b").roc_auc + curves.versus("b", "a").roc_auc) / 2
    assert curves.roc_auc_ovo == pytest.approx(both, rel=1e-15)
    assert math.isnan(counted([], []).compute().roc_auc_ovo)
    assert math.isnan(curves.versus("a", "c").roc_auc)


def test_slices_count_pairs() -> None:
    sliced = se.Sliced(se.PRCurveSketch(**PAIRS), "city")
    cities = np.array(["x", "y"], dtype=object)[RANDOM.integers(0, 2, 90)]
    sliced.update({"y_true": TRUTH, "y_score": list(SCORES), "city": cities})
    rows = cities == "x"
    assert sliced["x"].to_bytes() == counted(TRUTH[rows], SCORES[rows]).to_bytes()


def test_pairs_are_shown_where_they_are_kept() -> None:
    exact, opened = counted(), counted(budget=4)
    area = exact.compute().roc_auc_ovo
    assert re.search(rf"roc_auc_ovo +{area:.6f}\n", str(exact.compute()))
    assert str(opened.compute()).count("roc_auc_ovo ") == 1
    assert exact.compute().read("roc_auc_ovo").value == area
    assert exact.compute().entries(0.95)["metrics"]["roc_auc_ovo"] == area
    assert "ROC AUC, one against one" in html_report({"a": exact})
    assert "roc_auc_ovo" in dir(exact.compute())


def test_pairs_that_were_not_asked_for_are_named() -> None:
    curves: Any = se.PRCurveSketch(classes=3).compute()
    says = r"'roc_auc_ovo' is not among the measures: count with measures=\['roc_auc_ovo"
    with pytest.raises(AttributeError, match=says):
        _ = curves.roc_auc_ovo
    with pytest.raises(UnknownMetricError, match=says):
        curves.read("roc_auc_ovo")
    with pytest.raises(UnknownMetricError, match="did you mean"):
        curves.read("rok_auc_macro")
    assert "roc_auc_ovo" not in dir(curves)
    assert isinstance(curves, se.ClassCurves)
    with pytest.raises(se.InvalidInputError, match='`measures` must hold "one_vs_one" when'):
        curves.versus(0, 1)


@each(
    ("options", "says"),
    [
        ({"measures": ["ovo"]}, "`measures` has no 'ovo': "),
        ({"measures": ["one_vs_one"]}, '`measures` "one_vs_one" needs one of several classes'),
        (
            {"measures": ["one_vs_one"], "classes": 3, "multilabel": True},
            "needs one of several classes a row, got multilabel=True",
        ),
        (
            {"measures": ["one_vs_one"], "classes": 65},
            '`measures` "one_vs_one" takes at most 64 classes, got 65.',
        ),
    ],
)
def test_pairs_need_one_of_a_few_classes(options: dict[str, Any], says: str) -> None:
    with pytest.raises(se.InvalidInputError, match=re.escape(says)):
        se.PRCurveSketch(**options)


@each("pair", [("a", "a"), ("a", "d"), ("d", "a")])
def test_curve_of_no_pair_is_refused(pair: tuple[str, str]) -> None:
    with pytest.raises(se.InvalidInputError, match="`label` must be two classes, got"):
        counted().compute().versus(*pair)
