"""What travels between tasks: rows where that is less than states, and the bytes stay the same."""

from __future__ import annotations

import sys
from functools import partial

import attrs
import numpy as np
import pytest
from engines.cases import TABLE
from engines.here import Here, evaluate
from offenders import each

import streameval as se
from streameval.accumulators.pending import Rows
from streameval.engines._counting import RunningCount, SourceCounter
from streameval.engines._shipping import Uncounted, joined, merged

ROWS = TABLE.append_column("y_pred", TABLE.column("y_true"))
WEIGHTED = ROWS.append_column("sample_weight", [np.full(len(ROWS), 2.0)])


def shipment(table, make):
    """Count a table by country, as a task whose result is merged."""
    running = RunningCount(SourceCounter.of(make, by="country"))
    running.add_batch(table)
    return running.shipment()


def is_uncounted(shipped):
    return {isinstance(state, Uncounted) for state in shipped.values()}


def curve_batch(scores, dtype):
    """Make rows of one value of `country` with these scores."""
    columns = {"y_true": np.arange(len(scores)) % 2, "y_score": np.array(scores, dtype)}
    return columns | {"country": ["DE"] * len(scores)}


LABELLED = partial(se.PRCurveSketch, pos_label=1)
SKIPPING = partial(se.PRCurveSketch, nan="skip")


@each(
    ("make", "has_rows"),
    [
        (partial(se.PRCurveSketch, budget=None), True),
        (se.PRCurveSketch, True),
        (partial(se.PRCurveSketch, budget=16), False),
        (LABELLED, False),
        (se.ConfusionAccumulator, False),
    ],
)
def test_rows_are_shipped_where_they_are_smaller_than_a_state(make, has_rows):
    assert is_uncounted(shipment(ROWS, make)) == {has_rows}


def test_weighted_rows_are_counted_before_they_are_shipped():
    assert is_uncounted(shipment(WEIGHTED, se.PRCurveSketch)) == {False}


def test_skipped_rows_are_in_what_is_shipped():
    shipped = shipment(curve_batch([0.5, np.nan, 0.25], "f8"), SKIPPING)
    assert is_uncounted(shipped) == {False}
    assert se.from_bytes(merged(shipped)["DE"]).compute().n_skipped == 1


@each(
    ("scores", "dtype", "width"),
    [
        ([0.5, 0.25], "f8", 4),
        ([0.5, 0.1], "f8", 8),
        ([0.5, 0.1], "f4", 4),
        ([0.5, 0.25], "f2", 2),
        ([0.0, -0.0], "f8", 4),
    ],
)
def test_shipped_scores_are_as_narrow_as_their_values_allow(scores, dtype, width):
    batch = curve_batch(scores, dtype)
    shipped = shipment(batch, se.PRCurveSketch)["DE"]
    assert shipped.rows.columns[0].itemsize == width
    assert sys.getsizeof(shipped) > len(scores) * (width + 1)
    expected = se.PRCurveSketch().update(batch["y_true"], batch["y_score"]).to_bytes()
    assert merged({"DE": shipped}, {})["DE"] == expected


def test_size_is_that_of_the_arrays_even_if_they_do_not_own_their_memory():
    shipped = shipment(curve_batch([0.5, 0.25] * 1000, "f8"), se.PRCurveSketch)["DE"]
    rows = Rows(tuple(column[:] for column in shipped.rows.columns))
    views = attrs.evolve(shipped, rows=rows)
    assert sys.getsizeof(shipped) == sys.getsizeof(views) >= 2000 * (4 + 1)


def test_scores_past_the_range_of_float32_are_shipped_as_they_are():
    make = partial(se.PRCurveSketch, scores="real")
    shipped = shipment(curve_batch([1e300, -np.inf], "f8"), make)["DE"]
    assert shipped.rows.columns[0].tolist() == [[1e300], [-np.inf]]


@each("cut", [0, 1, 900, 3000])
def test_rows_and_states_merge_to_the_bytes_of_all_rows(cut):
    tables = ROWS.slice(0, cut), ROWS.slice(cut)
    parts = [shipment(part, se.PRCurveSketch) for part in tables]
    counted = {value: merged({value: state})[value] for value, state in parts[0].items()}
    expected = merged(shipment(ROWS, se.PRCurveSketch))
    for first in (parts[0], counted):
        assert merged(first, parts[1]) == expected
        assert merged(joined(parts[1], first)) == expected
        assert merged(joined(first), joined(parts[1])) == expected


def test_rows_of_several_tasks_are_counted_once_they_take_more_than_a_state():
    few = partial(se.PRCurveSketch, budget=1000)
    shipped = [shipment(ROWS.slice(500 * n, 500), few) for n in range(6)]
    both = joined(*shipped)
    assert set().union(*map(is_uncounted, shipped)) == {True}
    assert is_uncounted(both) == {True}
    more = joined(*[both] * 8)
    assert is_uncounted(more) == {False}
    assert more == merged(*shipped * 8)


def test_merging_leaves_shipped_rows_alone():
    parts = [shipment(ROWS, se.PRCurveSketch)] * 2
    assert merged(*parts) == merged(*parts)


@pytest.mark.slow
@each("by", [None, "country"])
@each("n_batches", [2, 3, 8, 9, 20])
def test_the_last_merge_alone_counts_rows(by, n_batches):
    engine = Here()
    batches = [ROWS.slice(100 * n, 100) for n in range(n_batches)]
    counted = evaluate(batches, se.PRCurveSketch, by=by, engine=engine, fan_in=3)
    n_last = sum(handle.function is merged for handle in engine.merges)
    assert n_last == engine.n_results[0] - 1
    for handle in engine.merges:
        assert is_uncounted(handle.made) in ({handle.function is joined}, set())
    assert counted == evaluate(ROWS.slice(0, 100 * n_batches), se.PRCurveSketch, by=by)


@each("by", [None, "country"])
def test_a_single_task_counts_its_rows(by):
    engine = Here()
    evaluate(ROWS, se.PRCurveSketch, by=by, engine=engine)
    assert engine.merges == []
    (task,) = engine.started
    _, *shares = task.made
    assert set().union(*map(is_uncounted, shares)) == {False}
