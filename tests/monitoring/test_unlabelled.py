"""How many rows the slices of a pane have, labelled or not, against a count of the rows."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from offenders import each
from older_panes import SLICES, fields_of, without_unlabelled, written
from profiles import quick_cases

import streameval as se
from streameval.accumulators.sealed import FlatSlices
from streameval.monitoring.status import SliceRows, Weights
from streameval.states import codec
from streameval.states.column import Column

NAMED = ["DE", None]


def windowed(**options: Any) -> se.Windowed:
    counts = se.Collection({"a": se.ConfusionAccumulator(), "b": se.ConfusionAccumulator()})
    sliced = se.Sliced(counts, "country", **({"values": NAMED, "max_values": 4} | options))
    return se.Windowed(sliced, pane=10, keep=40, rollups=[(20, 80)], offset=3)


def drawn(rng: random.Random, n_values: int, span: int) -> dict[str, Any]:
    rows = range(rng.randrange(1, 60))
    return {
        "time": np.array([rng.randrange(span) for _ in rows]),
        "country": [rng.choice(["DE", "FR", None, *range(n_values)]) for _ in rows],
        "y_true": [rng.choice([0, 1, None]) for _ in rows],
        "y_pred": [1 for _ in rows],
        "sample_weight": np.array([rng.choice([0, 0.5, 1, 3]) for _ in rows]),
    }


def counted(batches: list[dict[str, Any]], held: se.Windowed | None = None) -> se.Windowed:
    held = windowed() if held is None else held
    for batch in batches:
        held.update(batch)
    return held


def of_panes(held: se.Windowed) -> list[SliceRows | None]:
    return [SliceRows.of_pane(span) for span in held.view().spans()]


@each("seed", range(quick_cases(200, least=6)))
def test_rows_of_slices_are_those_counted_one_by_one(seed: int) -> None:
    rng = random.Random(seed)
    batches = [drawn(rng, rng.choice([0, 1, 6]), 200) for _ in range(rng.randrange(1, 5))]
    held = se.from_bytes(counted(batches).to_bytes())
    rows = [row for batch in batches for row in zip(*batch.values(), strict=True) if row[-1]]
    n_known = 0
    for span, found in zip(held.view().spans(), of_panes(held), strict=True):
        assert found is not None
        expected: dict[Any, list[float]] = defaultdict(lambda: [0, 0])
        for time, country, truth, _, weight in rows:
            if span.start <= time < span.end:
                expected[country][0] += 0 if truth is None else weight
                expected[country][1] += weight
        assert found.of(...) == Weights(*map(sum, zip(*expected.values(), strict=True)))
        shown = {value: found.of(value) for value in expected}
        known = {value: one for value, one in shown.items() if one is not None}
        assert known == {value: Weights(*expected[value]) for value in known}
        assert {value for value in expected if value in NAMED} <= known.keys()
        assert len(expected.keys() - NAMED) > 2 or len(known) == len(expected)
        left = [expected[value] for value in expected.keys() - known.keys()]
        assert found.without(known) == Weights(*map(sum, zip([0, 0], *left, strict=True)))
        n_known += len(known)
    assert n_known


def test_states_are_the_same_however_rows_come() -> None:
    rng = random.Random(7)
    batches = [drawn(rng, 6, 300) for _ in range(6)]
    states = set()
    for _ in range(4):
        rng.shuffle(batches)
        states.add(counted(batches).to_bytes())
    assert len(states) == 1


@each("seed", range(quick_cases(150, least=4)))
def test_total_is_the_same_however_rows_are_cut_and_committed(seed: int) -> None:
    rng = random.Random(seed)
    rows = drawn(rng, rng.choice([0, 1, 6]), 200)
    size, states = len(rows["country"]), set()
    for attempt in range(4):
        total, fresh = windowed(), windowed()
        left = rng.sample(range(size), size)
        while left:
            n_next = rng.randrange(1, size + 1) if attempt else size
            part, left = left[:n_next], left[n_next:]
            fresh.update({name: [column[at] for at in part] for name, column in rows.items()})
            if rng.random() < 0.4:
                total.merge(fresh)
                fresh = windowed()
        states.add(total.merge(fresh).to_bytes())
    assert len(states) == 1


def test_panes_beside_those_of_newer_rows_have_moved_on() -> None:
    late = {"time": [150], "country": ["DE"], "y_pred": [1]}
    newest = {"time": [200], "country": ["DE"], "y_pred": [1], "y_true": [1]}
    held = counted([late | {"y_true": [None]}, newest])
    counts = se.Sliced(se.ConfusionAccumulator(), "country", values=NAMED, max_values=4)
    beside = se.Windowed(counts, pane=10, keep=40, rollups=[(20, 80)], offset=3)
    beside.update(late | {"y_true": [0], "y_pred": [0]})
    old = se.from_bytes(without_unlabelled(held))
    assert of_panes(old)[0] is None
    assert old.view().with_unlabelled(beside.view()).copy() == held


OPTIONS = [
    {"values": values, "max_values": len(values) + others}
    for values in ([], ["DE"], ["FR", "DE", None], [3, "DE"])
    for others in (0, 1, 3, 9)
    if values or others
]


@pytest.mark.slow
@each("seed", range(quick_cases(400, least=80)))
def test_slices_that_are_chosen_again_are_those_counted_with_the_new_options(seed: int) -> None:
    rng = random.Random(seed)
    old, new = rng.choice(OPTIONS), rng.choice(OPTIONS)
    batches = [drawn(rng, rng.choice([0, 1, 6]), 60) for _ in range(rng.randrange(4))]
    had, expected = (counted(batches, windowed(**options)) for options in (old, new))
    options = expected._config.accumulator.options
    view = had.view()
    parts = [part.copy() for part in (*view.parts, *view.held("unlabelled"))]
    gains = new["max_values"] - len(new["values"]) > old["max_values"] - len(old["values"])
    if any(part.view().other is not None for part in parts) and (
        gains or not {*new["values"]} <= {*old["values"]}
    ):
        with pytest.raises(se.IncompatibleStateError, match="`values` would need the rows"):
            view.chosen_again(options)
        return
    made = view.chosen_again(options).copy()
    assert made.to_bytes() == expected.to_bytes()
    assert made.total() == expected.total()


def test_value_among_others_is_not_known() -> None:
    rows = {"time": np.zeros(6, dtype=int), "country": list(range(6)), "y_pred": [1] * 6}
    held = counted([rows | {"y_true": [1] * 6}, rows | {"y_true": [None] * 6}])
    (found,) = of_panes(held)
    assert found is not None
    of = {value: found.of(value) for value in range(6)}
    kept = [value for value, weights in of.items() if weights == Weights(1, 2)]
    assert len(kept) == 2
    assert [of[value] for value in of if value not in kept] == [None] * 4
    assert found.without(kept) == Weights(4, 8)
    assert found.without([0, 1, 2, 3]) is None


def test_slices_of_several_columns_are_counted() -> None:
    sliced = se.Sliced(se.ConfusionAccumulator(), ["y_pred", "time"], max_values=4)
    rows = {"time": np.array([1, 1, 2]), "y_pred": [1, 1, 0], "y_true": [1, None, None]}
    (found,) = of_panes(counted([rows], se.Windowed(sliced, pane=10)))
    assert found is not None
    assert (found.of((1, 1)), found.of((0, 2))) == (Weights(1, 2), Weights(0, 1))


def test_panes_without_slices_have_no_rows_by_slice() -> None:
    held = counted(
        [drawn(random.Random(1), 1, 30)], se.Windowed(se.ConfusionAccumulator(), pane=10)
    )
    assert {*of_panes(held)} == {None}
    assert of_panes(se.from_bytes(held.to_bytes())) == of_panes(held)


def test_rows_that_were_not_counted_by_slice_leave_only_their_pane_unknown() -> None:
    rng = random.Random(3)
    before = drawn(rng, 1, 10) | {"sample_weight": None}
    before.pop("sample_weight")
    after = {**before, "time": np.asarray(before["time"]) + 20}
    older = se.from_bytes(without_unlabelled(counted([before])))
    assert older == se.from_bytes(older.to_bytes()) != counted([before])
    held = se.from_bytes(older.merge(counted([after])).to_bytes())
    view = held.view()
    known = [found is not None for found in of_panes(held)]
    assert known == [span.start >= 13 for span in view.spans()]
    assert SliceRows.of_pane(view.within(3, 33)) is None
    found = SliceRows.of_pane(view.within(13, 33))
    assert found is not None
    size = len(after["country"])
    unknown = SliceRows(view.within(3, 33))
    assert unknown.of("DE") is unknown.without([]) is None
    assert unknown.of(...) == Weights(held.window(30, 33).n["a"], held.n_rows(3, 33))
    assert found.without([]) == Weights(size - after["y_true"].count(None), size)
    again = held.copy().update(before)
    assert [found is not None for found in of_panes(again)] == known


def test_rows_that_no_member_counts_have_a_label() -> None:
    sliced = se.Sliced(se.ConfusionAccumulator(3, ignore_label=2), "country")
    rows = {"time": [1, 2], "country": ["DE", "FR"], "y_true": [2, 1], "y_pred": [1, 1]}
    held = se.from_bytes(counted([rows], se.Windowed(sliced, pane=10)).to_bytes())
    (found,) = of_panes(held)
    assert found is not None
    assert (found.of("FR"), found.unlabelled) == (Weights(1, 1), None)
    assert of_panes(se.from_bytes(without_unlabelled(held))) == [None]


def with_block(windowed: se.Windowed, /, **changes: Any) -> bytes:
    """Write bytes whose flags are others."""
    fields = fields_of(windowed)
    (data,) = fields["unlabelled"].items
    block = codec.decode_block(["known", "held", *SLICES], data) | changes
    return written(windowed, fields | {"unlabelled": codec.Nested((codec.encode_block(block),))})


def flags(*values: int) -> Column:
    return Column(np.array(values, dtype=np.uint64))


REFUSED = {
    "flags of other panes": ({"known": flags(1)}, "known"),
    "flags that are numbers": ({"held": flags(2, 0)}, "held"),
    "flags that are signed": ({"known": Column(np.ones(2, dtype=np.int64))}, "known"),
    "more panes than slices": ({"held": flags(1, 1)}, "lengths of slices"),
    "a labelled pane that is unknown": ({"known": flags(1, 0)}, "all have a label and are unknown"),
    "more rows than the pane has": ({"held": flags(0, 1)}, "less weight than its rows"),
}


@each("damage", REFUSED)
def test_rows_without_a_label_that_no_rows_have_made_are_refused(damage: str) -> None:
    changes, message = REFUSED[damage]
    times, truths = np.array([1, 1, 11]), [None, 1, 1]
    rows = {"time": times, "country": ["DE"] * 3, "y_true": truths, "y_pred": [1] * 3}
    with pytest.raises(se.CorruptStateError, match=message):
        se.from_bytes(with_block(counted([rows]), **changes))


def test_rows_without_a_label_by_slice_need_slices() -> None:
    rows = {"time": np.array([1]), "country": ["DE"], "y_true": [None], "y_pred": [1]}
    held, plain = counted([rows]), counted([rows], se.Windowed(se.ConfusionAccumulator(), pane=10))
    own = {"unlabelled": fields_of(held)["unlabelled"]}
    with pytest.raises(se.CorruptStateError, match="without slices"):
        se.from_bytes(written(plain, fields_of(plain) | own))
    twice = {"unlabelled": codec.Nested(own["unlabelled"].items * 2)}
    with pytest.raises(se.CorruptStateError, match="unlabelled"):
        se.from_bytes(written(held, fields_of(held) | twice))


def test_field_that_says_what_is_known_without_it_is_refused() -> None:
    rows = {"time": np.array([1]), "country": ["DE"], "y_true": [None], "y_pred": [1]}
    labelled, held = counted([rows | {"y_true": [1]}]), counted([rows])
    (data,) = fields_of(held)["unlabelled"].items
    block = codec.decode_block(["known", "held", *SLICES], data)
    none = windowed().view().tables["unlabelled"]
    block |= {"held": flags(0)} | FlatSlices.empty(none, 0).written()
    own = {"unlabelled": codec.Nested((codec.encode_block(block),))}
    with pytest.raises(se.CorruptStateError, match="unlabelled holds nothing"):
        se.from_bytes(written(labelled, fields_of(labelled) | own))


def test_coverage_of_no_rows_is_nan() -> None:
    assert math.isnan(Weights(0, 0).coverage)
    assert Weights(1, 4).coverage == 0.25


def test_slices_that_lack_labelled_rows_are_known() -> None:
    rows = {"time": np.array([1]), "country": ["FR"], "y_true": [None], "y_pred": [1]}
    (found,) = of_panes(counted([rows]))
    assert found is not None
    assert (found.of("FR"), found.of("DE")) == (Weights(0, 1), Weights(0, 0))
    assert repr(found) == "SliceRows()"
