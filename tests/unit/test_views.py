"""Views of slices and panes: they equal what the accumulators say, and never change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import streameval as se


def rows(size: int, seed: int = 0) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    return {
        "y_true": random.integers(0, 2, size),
        "y_pred": random.random(size).round(2),
        "name": random.integers(0, 9, size),
        "time": random.integers(0, 60, size),
    }


def both() -> se.Collection:
    members = {"cm": se.ConfusionAccumulator(), "curve": se.PRCurveSketch(32)}
    return se.Collection(members, columns={"curve": {"y_score": "y_pred"}})


def test_a_view_of_slices_equals_the_slices_as_they_were() -> None:
    s = se.Sliced(both(), "name", values=[100, 3], max_values=6).update(rows(300))
    view, before = s.view(), s.copy()
    s.update(rows(50, seed=1) | {"name": [200] * 50})
    assert set(view.values) == set(before) - {100}
    slices = [before[value] for value in view.values]
    assert [part.copy() for part in view.parts.values()] == slices
    assert view.n.tolist() == [one["cm"].n for one in slices]
    assert view.fields.keys() == {f"cm/{name}" for name in ("n", "matrix", "credit")} | {
        f"curve/{name}" for name in ("n", "skipped")
    }
    for part, matrix in zip(slices, view.fields["cm/matrix"], strict=True):
        assert matrix.tolist() == part["cm"].compute().matrix.tolist()
    assert view.other == before.other
    assert view.total == before.total()
    assert view.nbytes > 0


def test_a_view_of_nothing_is_empty() -> None:
    view = se.Sliced(se.ConfusionAccumulator(), "name").view()
    assert (view.values, view.n.tolist(), view.fields, view.other) == ((), [], {}, None)
    assert se.Windowed(se.ConfusionAccumulator(), pane=10).view().newest is None


def test_a_view_of_panes_equals_the_panes_as_they_were() -> None:
    w = se.Windowed(se.ConfusionAccumulator(), pane=10, keep=30).update(rows(300))
    view, before = w.view(), w.copy()
    w.update(rows(50, seed=1) | {"time": [100] * 50})
    panes = [(start, end, part, before.n_rows(start, end)) for start, end, part in before.panes()]
    assert panes == [(one.start, one.end, one.part, one.n_rows) for one in view.spans()]
    assert [span.start for span in view.spans(40, 60)] == [40, 50]
    assert view.total == before.total()
    assert len(view.parts) == len(panes) + 1
    assert (view.newest, view.end) == (int(before.newest), panes[-1][1])


def test_rows_of_a_commit_are_added_as_columns_without_reading_their_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    total, fresh = (
        se.Windowed(se.Sliced(both(), "name"), pane=10, keep=30).update(rows(300, seed))
        for seed in (1, 2)
    )
    fresh.update(rows(20) | {"time": [2] * 20})
    expected, data = se.merge([total, fresh]), fresh.to_bytes()
    monkeypatch.setattr(se.Windowed, "from_bytes", None)
    total.merge(fresh)
    assert fresh.to_bytes() == data
    assert total.to_bytes() == expected.to_bytes()
    assert total.total() == expected.total()
