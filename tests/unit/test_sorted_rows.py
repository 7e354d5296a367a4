"""Rows sorted as packed integers: the cells, the outcomes and the area of any other way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

import streameval as se
from streameval.accumulators import curve
from streameval.exact import Scale
from streameval.exact.score_keys import keys_of
from streameval.metrics import points
from streameval.metrics.points import CellTable
from streameval.states import sorted_rows
from streameval.states.cells import Cells
from streameval.states.sorted_rows import SortedRows

WIDTHS = {"f2": 16, "f4": 32, "f8": 64}
FEW = [0.0, -0.0, 0.25, 0.5, 0.75, 1.0]
REAL = [np.inf, -np.inf, 1e-300, -1e-300, 3.0, -3.0]


@pytest.fixture(autouse=True, scope="module")
def small_pieces() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorted_rows, "_CHUNK", 5)
        patch.setattr(points, "_CHUNK", 4)
        yield


@st.composite
def rows(draw: st.DrawFn) -> tuple[Any, Scale, Any]:
    """Scores of one width, many of them the same, and classes."""
    scale: Scale = draw(st.sampled_from(["probability", "real"]))
    dtype = draw(st.sampled_from(sorted(WIDTHS)))
    least = {"min_value": 0.0, "max_value": 1.0} if scale == "probability" else {}
    one = st.floats(width=WIDTHS[dtype], allow_nan=False, **least)  # type: ignore[arg-type]
    usual = FEW if scale == "probability" else FEW + REAL
    drawn = draw(st.lists(st.tuples(one | st.sampled_from(usual), st.booleans()), max_size=40))
    scores, positive = zip(*drawn, strict=True) if drawn else ((), ())
    return np.array(scores).astype(dtype), scale, np.array(positive, dtype=bool)


@given(rows())
def test_cells_are_those_of_sorting_places(drawn: tuple[Any, Scale, Any]) -> None:
    scores, scale, positive = drawn
    made = Cells.of_sorted(SortedRows.of(scores, scale, positive))
    expected = Cells.of_rows(keys_of(scores, scale), positive, None, 0)
    assert made.lo.tolist() == expected.lo.tolist() == made.hi.tolist()
    assert made.lo.dtype == np.uint64
    assert made.pos == expected.pos
    assert made.neg == expected.neg


@given(rows())
def test_what_rows_say_is_what_their_cells_say(drawn: tuple[Any, Scale, Any]) -> None:
    scores, scale, positive = drawn
    of_rows = CellTable(SortedRows.of(scores, scale, positive), scale)
    of_cells = CellTable(of_rows.cells, scale)
    assert of_rows == of_cells != of_rows.cells
    one, other = of_rows.outcomes(), of_cells.outcomes()
    assert (one.n_pos, one.n_neg) == (other.n_pos, other.n_neg)
    assert min(one.max_size, other.max_size) == len(of_cells.lo)
    for mine, theirs in zip(
        *(zip(*parts, strict=True) for parts in (one.parts, other.parts)), strict=True
    ):
        np.testing.assert_array_equal(np.concatenate(mine), np.concatenate(theirs))
    assert of_rows.is_exact


@given(rows(), st.sampled_from([None, 65_536]))
def test_area_is_that_of_scikit_learn_and_of_a_state(
    drawn: tuple[Any, Scale, Any], budget: int | None
) -> None:
    scores, scale, positive = drawn
    sketch = se.PRCurveSketch(budget, scores=scale).update(positive, scores)
    area = sketch.compute().roc_auc
    assert area.exact
    np.testing.assert_equal(float(se.from_bytes(sketch.to_bytes()).compute().roc_auc), float(area))
    if positive.any() and not positive.all() and np.isfinite(scores).all():
        assert float(area) == roc_auc_score(positive, scores.astype(np.float64))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("scale", ["probability", "real"])
def test_area_of_many_rows_is_that_of_scikit_learn(
    dtype: str, scale: Scale, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(sorted_rows, "_CHUNK", 1000)
    random = np.random.default_rng(3)
    scores = random.beta(2, 3, 100_000).astype(dtype)
    positive = random.random(len(scores)) < scores
    scores[::3] = scores[::3].round(3)
    scores = scores if scale == "probability" else 8 * scores - 4
    sketch = se.PRCurveSketch(None, scores=scale).update(positive, scores)
    assert float(sketch.compute().roc_auc) == roc_auc_score(positive, scores)


def test_one_score_is_one_piece_however_many_rows_have_it() -> None:
    table = CellTable(SortedRows.of(np.full(100, 0.5), "probability", np.arange(100) < 30), "real")
    ((tp, fp),) = table.outcomes().parts
    assert (tp.tolist(), fp.tolist()) == ([30.0], [70.0])


@pytest.mark.parametrize("odd", [None, 1e-7])
def test_decimals_are_counted_as_they_are_sorted(
    odd: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(4)
    scores = np.concatenate([random.random(300).round(2), [0.0, -0.0, 1.0], random.random(99)])
    scores = scores.round(6) if odd is None else np.append(scores.round(6), odd)
    positive = random.random(len(scores)) < scores
    (expected,) = SortedRows.of(scores, "probability", positive).parts
    monkeypatch.setattr(sorted_rows, "_FEWEST_DECIMALS", len(scores))
    (made,) = SortedRows.of(scores, "probability", positive).parts
    np.testing.assert_array_equal(made, expected)
    assert made.dtype == expected.dtype
    is_counted = sorted_rows._sorted_decimals(scores, positive) is not None
    assert is_counted == (odd is None)


def test_rows_that_stay_pending_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = []
    monkeypatch.setattr(curve, "_n_distinct", lambda some: looks.append(some.size) or some.size)
    for name in ("_ENTRIES", "_MIN_ROWS"):
        monkeypatch.setattr(curve, name, 64)
    scores = np.random.default_rng(5).random(4000)
    sketch = se.PRCurveSketch(None)
    for some in np.split(scores, 100):
        sketch.update(some < 0.5, some)
    assert looks == [40, 64]
    assert sketch.compute().roc_auc == 0.0
