"""Bytes of groups that are valid one by one, and that no rows could have made together."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest
from offenders import each
from older_panes import fields_of, written
from small_states import EVERY, Parsed, parse, seal
from win_rate import WinRate

import streameval as se
from streameval.accumulators.grouping import Held
from streameval.accumulators.panes import Pane, Panes
from streameval.accumulators.sealed import FlatGroups, FlatLeaves, FlatSlices, Sealed
from streameval.configs.inner import Inner
from streameval.exact.fixed_point import FixedPoint
from streameval.inputs.values import rank_of
from streameval.states.column import Column


def counted(empty: Any, batch: dict[str, Any]) -> Any:
    return empty.copy().update(**batch)


def windowed(inner: Any, parts: list[Any], rows: int) -> se.Windowed:
    """Put accumulators into panes one after the other, whatever they are."""
    w = se.Windowed(inner, pane=10)
    weight = FixedPoint(np.array(rows, dtype=np.int64))
    if isinstance(inner, se.Sliced):
        every: Any = FlatSlices.concatenated([part._held.state for part in parts])
    else:
        every = FlatLeaves.of(w._config.accumulator, parts)
    panes = {
        10 * index: Pane(10 * index, 10 * index + 10, 0, weight, Sealed(every, index))
        for index in range(len(parts))
    }
    table = Inner(se.Windowed, w._config)
    w._held = Held(Panes(table, 10 * len(parts) - 1, panes, weight), inner.copy())
    return w


def sliced(inner: Any, parts: list[Any]) -> se.Sliced:
    """Make slices of accumulators, whatever they are."""
    s = se.Sliced(inner, "c")
    every = s._held.state
    values = sorted((f"v{at}" for at in range(len(parts))), key=rank_of)
    leaves = FlatLeaves.of(every.inner.options.accumulator, parts)
    lengths, codes = np.array([len(parts)]), np.arange(len(parts))
    s._held = Held(FlatSlices(every.inner, values, lengths, codes, leaves), inner.copy())
    return s


OBSERVED = se.ConfusionAccumulator("auto")
NAMED = se.PRCurveSketch(pos_label="b")
GROUPED = se.GroupedAUC(8, max_groups=2)
MATRIX = se.ConfusionAccumulator()

PARTS: dict[str, tuple[Any, list[dict[str, Any]], str]] = {
    "types of labels": (
        OBSERVED,
        [{"y_true": [1], "y_pred": [2]}, {"y_true": ["a"], "y_pred": ["b"]}],
        "the observed labels are numbers on one side",
    ),
    "too many labels": (
        OBSERVED,
        [{"y_true": np.arange(at, at + 2500), "y_pred": [at] * 2500} for at in (0, 5000)],
        "labels",
    ),
    "negative labels": (
        NAMED,
        [{"y_true": [label, "b"], "y_score": [0.1, 0.2]} for label in "ac"],
        "the negative label differs",
    ),
    "types of groups": (
        GROUPED,
        [{"y_true": [1], "y_score": [0.1], "group": [group]} for group in ("a", 1)],
        "holds strings in one and numbers in the other",
    ),
    "too many groups": (
        GROUPED,
        [{"y_true": [1], "y_score": [0.1], "group": [group]} for group in range(3)],
        "number of groups",
    ),
    "a total past the limit": (
        MATRIX,
        [{"y_true": [1], "y_pred": [1], "sample_weight": np.array([2**62])}] * 2,
        "past 2\\*\\*63",
    ),
}


@pytest.mark.slow
@each("name", PARTS)
def test_groups_that_cannot_be_added_are_refused(name: str) -> None:
    inner, batches, message = PARTS[name]
    parts = [counted(inner, batch) for batch in batches]
    good = [parts[0]]
    rows = 2**62 if name == "a total past the limit" else 2**13
    for make in (sliced, lambda inner, parts: windowed(inner, parts, rows)):
        assert se.from_bytes(make(inner, good).to_bytes()).total() == parts[0]
        with pytest.raises(se.CorruptStateError, match=message):
            se.from_bytes(make(inner, parts).to_bytes())


def test_groups_of_a_user_that_cannot_be_added_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    part = WinRate().update(["a", "tie"])
    data = sliced(WinRate(), [part, part]).to_bytes()
    assert se.from_bytes(data).total() == part + part

    def refuse(*_: Any) -> Any:
        raise KeyError("no sum")

    monkeypatch.setattr(type(part._state), "__add__", refuse)
    with pytest.raises(se.CorruptStateError, match="no sum"):
        se.from_bytes(data)


def test_groups_without_rows_are_refused() -> None:
    row = {"y_true": [1], "y_pred": [1]}
    one = counted(MATRIX, row)
    for bytes_of in (
        sliced(MATRIX, [one, MATRIX]).to_bytes(),
        windowed(MATRIX, [one, MATRIX], 2).to_bytes(),
    ):
        with pytest.raises(se.CorruptStateError, match="a group without rows"):
            se.from_bytes(bytes_of)
    ignoring = se.ConfusionAccumulator(ignore_label=1)
    s = se.Sliced(ignoring, "c").update(row | {"c": ["x"]})
    assert s["x"].n == 0
    assert se.from_bytes(s.to_bytes()) == s


def test_group_of_skipped_rows_alone_is_read() -> None:
    s = se.Sliced(se.PRCurveSketch(nan="skip"), "c")
    s.update({"y_true": [1, 0], "y_score": [np.nan, 0.5], "c": ["x", "y"]})
    assert se.from_bytes(s.to_bytes()) == s


def clustered(inner: Any, parts: list[Any], groups: list[int], lengths: list[int]) -> se.Clustered:
    """Put accumulators into groups of clusters, whatever they are."""
    c = se.Clustered(inner, by="u", groups=10)
    every = c._held.state
    leaves = FlatLeaves.of(inner_of(c), parts)
    counts = [np.array(column, dtype=np.int64) for column in (lengths, groups)]
    c._held = Held(FlatGroups(every.inner, every.values, *counts, leaves), inner.copy())
    return c


def inner_of(outer: Any) -> Any:
    return outer._config.accumulator


GROUPS: dict[str, tuple[list[int], list[int], str]] = {
    "more groups than there are": (list(range(11)), [11], "more groups than there are"),
    "a group past the last": ([3, 10], [2], "state is corrupt: groups"),
    "other groups than the lengths say": ([3, 4], [1], "state is corrupt: groups"),
    "two lengths": ([3, 4], [1, 1], "lengths of groups"),
    "groups out of order": ([4, 3], [2], "slices are out of order"),
    "a group twice": ([3, 3], [2], "slices are out of order"),
    "fewer states than groups": ([3, 4, 5], [3], "2 states instead of 3"),
}


@each("name", GROUPS)
def test_groups_of_clusters_that_cannot_be_are_refused(name: str) -> None:
    groups, lengths, message = GROUPS[name]
    one = counted(MATRIX, {"y_true": [1], "y_pred": [1]})
    assert se.from_bytes(clustered(MATRIX, [one, one], [3, 4], [2]).to_bytes()).n == 2
    n_parts = 2 if name == "fewer states than groups" else len(groups)
    with pytest.raises(se.CorruptStateError, match=message):
        se.from_bytes(clustered(MATRIX, [one] * n_parts, groups, lengths).to_bytes())


HELD = se.Collection({"a": se.Clustered(MATRIX, by="u", groups=10), "b": MATRIX})
"""A clustered member beside one that is not."""


def test_clusters_of_collections_with_clusters_are_refused() -> None:
    outer = se.Clustered(se.Collection({"b": MATRIX}), "c")
    with pytest.raises(se.CorruptStateError, match="two columns of clusters"):
        se.from_bytes(with_inner(parse(outer.to_bytes()), nested(HELD)))


@each("name", [*GROUPS, "no groups, although rows have no weight of their own"])
def test_groups_of_clustered_members_that_cannot_be_are_refused(name: str) -> None:
    groups, lengths, message = GROUPS.get(name, ([], [0], ""))
    one = counted(MATRIX, {"y_true": [1], "y_pred": [1]})
    n_parts = 2 if name == "fewer states than groups" else len(groups)
    member = clustered(MATRIX, [one] * n_parts, groups, lengths)._held.state
    leaves = FlatLeaves.of(inner_of(se.Sliced(HELD, "c")), [HELD.copy()])
    s = sliced(HELD, [HELD])
    state = s._held.state
    _, plain = FlatLeaves.of(leaves.inner, [HELD.copy().update(ROW)]).columns
    s._held = Held(attrs.evolve(state, leaves=FlatLeaves(leaves.inner, (member, plain))), None)
    if not message:
        assert se.from_bytes(s.to_bytes())["v0"].n == {"a": 0, "b": 1}
        return
    with pytest.raises(se.CorruptStateError, match=message):
        se.from_bytes(s.to_bytes())


ROW = {"y_true": [1], "y_pred": [1], "u": [1]}


def test_slices_and_panes_without_rows_of_any_member_are_refused() -> None:
    one = HELD.copy().update(ROW)
    assert se.from_bytes(sliced(HELD, [one, one]).to_bytes())["v0"] == one
    for made in (sliced(HELD, [one, HELD]), windowed(HELD, [one, HELD], 2)):
        with pytest.raises(se.CorruptStateError, match="a group without rows"):
            se.from_bytes(made.to_bytes())


def test_slices_without_clusters_are_refused() -> None:
    inner = se.Clustered(MATRIX, by="u", groups=10)
    batch = {"y_true": [1, 0], "y_pred": [1, 1], "u": [1, 2], "c": ["x", "y"]}
    s = se.Sliced(inner, "c").update(batch)
    state = s._everything(s._held)
    leaves = state.leaves
    emptied = attrs.evolve(leaves, lengths=np.array([2, 0]), codes=np.array([1, 2]))
    s._held = Held(attrs.evolve(state, leaves=emptied), s._all_rows(s._held))
    with pytest.raises(se.CorruptStateError, match="a group without rows"):
        se.from_bytes(s.to_bytes())


def test_tables_of_another_nesting_are_refused() -> None:
    batch = {"y_true": [1, 0], "y_pred": [1, 1], "u": [1, 2], "c": ["x", "y"], "time": [1, 2]}
    inner = se.Clustered(MATRIX, by="u", groups=10)
    made = {
        "clusters": inner.copy().update(batch),
        "slices": se.Sliced(MATRIX, "c").update(batch),
        "slices of clusters": se.Sliced(inner, "c").update(batch),
    }
    for name, outer in (("clusters", inner), ("slices", inner), ("slices of clusters", MATRIX)):
        header, fields = parse(made[name].to_bytes()), nested(outer)
        with pytest.raises(se.CorruptStateError):
            se.from_bytes(with_inner(header, fields))


def nested(inner: Any) -> bytes:
    data: bytes = inner.copy().reset().to_bytes()
    return data


def with_inner(parsed: Parsed, inner: bytes) -> bytes:
    """Replace the inner accumulator, which is the first field."""
    header = parsed.settings
    described = header["state"]["accumulator"]
    width = described["width"]
    size = int.from_bytes(parsed.payload[:width], "little")
    rest = parsed.payload[width + size :]
    described["width"] = 4
    return seal(header, len(inner).to_bytes(4, "little") + inner + rest, kind=parsed.kind)


def test_panes_without_slices_are_refused() -> None:
    inner = se.Sliced(MATRIX, "c")
    one = sliced(MATRIX, [counted(MATRIX, {"y_true": [1], "y_pred": [1]})])
    assert se.from_bytes(windowed(inner, [one], 2).to_bytes()).n == 1
    with pytest.raises(se.CorruptStateError, match="a group without rows"):
        se.from_bytes(windowed(inner, [one, inner], 2).to_bytes())


@each("is_sliced", [False, True])
def test_panes_with_less_weight_than_their_accumulators_are_refused(is_sliced: bool) -> None:
    one = counted(MATRIX, {"y_true": [1, 1], "y_pred": [1, 0]})
    inner, part = (se.Sliced(MATRIX, "c"), sliced(MATRIX, [one])) if is_sliced else (MATRIX, one)
    assert se.from_bytes(windowed(inner, [part], 2).to_bytes()).n == 2
    with pytest.raises(se.CorruptStateError, match="less weight than its rows"):
        se.from_bytes(windowed(inner, [part], 1).to_bytes())


def test_panes_without_labels_are_refused_where_rows_need_none() -> None:
    ranking = se.RankingAccumulator()
    w = se.Windowed(ranking, pane=10)
    batch = {"query": [1, 1], "relevance": [1, 0], "score": [0.1, 0.2], "time": [1, 1]}
    w.update(batch)
    assert se.from_bytes(w.to_bytes()) == w
    state = w._everything(w._held)
    panes = {0: attrs.evolve(state.panes[0], part=None)}
    w._held = Held(attrs.evolve(state, panes=panes), ranking.copy())
    with pytest.raises(se.CorruptStateError, match="rows without labels that need none"):
        se.from_bytes(w.to_bytes())


def signed(*values: int) -> Column:
    return Column(np.array(values, dtype=np.int64))


def unsigned(*values: int) -> Column:
    return Column(np.array(values, dtype=np.uint64))


def weights(*values: int, **fraction: Any) -> FixedPoint:
    return FixedPoint(np.array(values, dtype=np.int64), **fraction)


def kept() -> se.Windowed:
    """Panes that are kept forever, -1 and 4."""
    batch = {"y_true": [1, 2], "y_pred": [1, 2], "time": [4, 55]}
    return se.Windowed(se.RegressionAccumulator(), pane=10, offset=8).update(batch)


_MOVED = "a pane that is not where its time puts it"

PANES: dict[str, tuple[Any, dict[str, Any], str]] = {
    claim: (EVERY["windowed"], changes, message)
    for claim, changes, message in [
        ("newest is unsigned", {"newest": unsigned(199)}, "newest"),
        ("newest is a weight", {"newest": weights(199)}, "newest"),
        ("tiers are signed", {"tiers": signed(2, 1)}, "tiers"),
        ("panes are unsigned", {"panes": unsigned(15, 19, 2)}, "panes"),
        ("labelled is signed", {"labelled": signed(0, 1, 1, 1)}, "labelled"),
        ("rows are a column", {"rows": signed(1, 1, 2, 1)}, "rows"),
        ("rows are a matrix", {"rows": weights(1, 1, 2, 1).reshape(4, 1)}, "rows"),
        ("rows are negative", {"rows": weights(1, 1, 2, -1)}, "rows holds negative numbers"),
        ("a pane has no weight", {"rows": weights(0, 1, 2, 1)}, "a pane without rows"),
        (
            "no row has a fraction",
            {"rows": weights(1, 1, 2, 1, fraction=np.zeros(4, dtype=np.int64))},
            "fractions that no row has",
        ),
        ("newest is missing", {"newest": signed()}, "newest"),
        ("newest is there twice", {"newest": signed(199, 199)}, "newest"),
        ("there are more tiers", {"tiers": unsigned(2, 1, 0)}, "tiers"),
        ("tiers have fewer panes", {"tiers": unsigned(2, 0)}, "tiers"),
        (
            "two panes have no number",
            {"rows": weights(1, 1, 2, 1, 1), "labelled": unsigned(0, 1, 1, 1, 0)},
            "panes",
        ),
        (
            "a number has no pane",
            {"rows": weights(1, 1), "labelled": unsigned(0, 1)},
            "panes",
        ),
        ("labelled is of fewer panes", {"labelled": unsigned(1, 1, 1)}, "labelled"),
        ("labelled is no flag", {"labelled": unsigned(0, 2, 1, 0)}, "labelled"),
        ("panes are in another order", {"panes": signed(19, 15, 2)}, "panes are out of order"),
        ("a pane is there twice", {"panes": signed(19, 19, 2)}, "panes are out of order"),
        ("a pane has no state", {"labelled": unsigned(1, 1, 1, 1)}, "3 states instead of 4"),
        ("newest is too late", {"newest": signed(2**63 - 1)}, "newest"),
        ("newest is too early", {"newest": signed(3 - 2**63)}, "newest"),
        ("newest is in another pane", {"newest": signed(189)}, "newest has no pane"),
        ("newest is before the last pane", {"newest": signed(155)}, "newest has no pane"),
        ("a pane has moved on", {"panes": signed(11, 19, 2)}, _MOVED),
        ("a pane has moved on too soon", {"panes": signed(15, 19, 3)}, _MOVED),
        ("a pane is before all tiers", {"panes": signed(15, 19, 1)}, _MOVED),
    ]
} | {
    "rows are before all that are kept": (
        kept,
        {"rows": weights(1, 1, 1), "labelled": unsigned(1, 1, 0)},
        "rows before panes that are kept",
    ),
    "newest is in the last pane of all times": (kept, {"newest": signed(2**63 - 1)}, "newest"),
    "a pane is before all times": (
        kept,
        {"panes": signed(-(2**63) // 10 - 1, 4)},
        _MOVED,
    ),
}


@each("claim", PANES)
def test_panes_that_no_rows_have_made_are_refused(claim: str) -> None:
    make, changes, message = PANES[claim]
    w = make()
    fields = fields_of(w)
    assert se.from_bytes(written(w, fields)) == w
    with pytest.raises(se.CorruptStateError, match=f"state is corrupt: {message}\\.$"):
        se.from_bytes(written(w, fields | changes))


def test_total_of_a_loaded_state_is_known() -> None:
    w = se.Windowed(MATRIX, pane=10).update({"y_true": [1, 0], "y_pred": [1, 1], "time": [1, 99]})
    assert se.from_bytes(w.to_bytes())._held.total == w.total()
