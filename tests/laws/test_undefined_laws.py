"""The law of values that rows do not define: text has a dash, and nothing a number there."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from attrs import astuple
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from laws.cases import LAWS, Case
from small_states import EVERY

import streameval as se
from streameval.cli.gates import decide, judge, parse_condition, parse_gate
from streameval.metrics.table import Change, Reading
from streameval.monitoring.metric_rules import _read
from streameval.render.blocks import Dots
from streameval.render.plots import PlotRequest
from streameval.render.sheets import markdown, reading_columns
from streameval.render.text import ABOUT_UNDEFINED, UNDEFINED
from streameval.results.collection import _worse
from streameval.results.names import parse_metric
from streameval.results.result import Result
from streameval.results.sliced import Search
from streameval.results.tables import ItemAxis

LEVEL = 0.95
OF_NOTHING = {"coverage", "sum", "mcnemar_pvalue", "log_evidence", "anytime_pvalue"}
"""What no rows define as well as some: shares of what is known, sums, and tests."""


def leaves(result: Any) -> list[Result]:
    return [one for one in result.leaves().values() if isinstance(one, Result)]


def readings(result: Result) -> Iterator[tuple[str, Reading]]:
    """Read every metric, also with an argument, of each class and average."""
    names = [*result._applicable()]
    rows = [row for row in result._rows.values() if row.name not in names]
    names += [f"{row.name}(0.5)" for row in rows if row.needs_argument]
    classes = [f"[{one}]" for one in getattr(result, "class_names", ())]
    for name in names:
        row = result._rows.get(name)
        averages = [f"[{one}]" for one in row.averages] if row else []
        for of in ["", *averages, *(classes if averages else [])]:
            try:
                yield f"{name}{of}", result.read(f"{name}{of}", level=LEVEL)
            except se.InvalidInputError:  # not of this result, or of no such argument
                continue


def check_undefined(result: Result, name: str, reading: Reading) -> None:
    """Check that nothing compares or draws a value, and that an interval says nothing of it."""
    metric = parse_metric(name)
    row = result.asked(metric).row
    assert math.isnan(reading.defined.value)
    low, high = reading.sampling or (-math.inf, math.inf)
    assert low <= row.limits[0] if row.limits else reading.sampling is None
    assert high >= row.limits[1] if row.limits else True
    if result._clusters is not None:
        assert math.isnan(result.stderr(name))
    for sign in (">=", "<="):
        assert judge(parse_gate(f"{name}{sign}0"), reading).category == "undecided"
    some = Reading(0.5, (0.25, 0.75))
    for pair in ((reading, some), (some, reading), (reading, reading)):
        for samples, paired in (("independent", None), ("paired", (0.0, 0.5))):
            change = Change(*pair, samples, paired)
            assert math.isnan(change.difference)
            assert (change.sampling, change.reading.is_defined) == (None, False)
            for how in ("drops", "rises"):
                done = decide(parse_condition(f"{name} {how} 0"), change, LEVEL)
                assert done.category == "undecided"
    assert _read(result, metric, 0, 1).is_empty
    slices = {"a": result, "b": result}
    search = Search.of(slices, metric, 0, result)
    assert (search.worst(), search.undefined) == ([], ["a", "b"])
    assert math.isnan(search.gap("difference"))
    assert not search.intervals(LEVEL)
    assert not _worse(metric, [result] * 2, [reading] * 2, LEVEL)
    assert not _worse(metric, [result] * 2, [reading] * 2, 0.0)


def check_classes(result: se.Confusion) -> None:
    """Check that a table of classes leaves undefined what the reading of each class does."""
    axis = result._classes(LEVEL)
    for name in axis.metrics:
        of_items = axis.read(name)
        found = {at for at in range(len(axis.names)) if not of_items[at].is_defined}
        parts = (result._parts[at] for at in range(len(axis.names)))
        if name != "support":
            assert found == {at for at, one in enumerate(parts) if not one.read(name).is_defined}


def dashes(text: str, gap: str) -> list[bool]:
    """Tell which numbers of a table are dashes: its last column."""
    rows = [line for line in text.splitlines() if gap in line and ":--" not in line]
    return [row.rpartition(gap)[2].rstrip(" |\\") == UNDEFINED for row in rows[1:]]


def check_items(axis: ItemAxis) -> None:
    """Check the dashes of the items in a report."""
    groups = axis.grid(len(axis.names)).groups
    for metric, (column, *_) in zip(axis.shown, groups, strict=True):
        of_items = axis.read(metric)
        for at, cell in enumerate(column.cells[1 : len(axis.names) + 1]):
            assert (cell == UNDEFINED) is not of_items[at].is_defined


def check_texts(result: Result) -> None:
    """Check that dashes are what rows do not define, in every form of text, and explained once."""
    held = result.readings(LEVEL)
    undefined = [not one.is_defined for one in held.values()]
    columns = reading_columns("value", [*held.values()], LEVEL)
    assert [cell == UNDEFINED for cell in columns[0].cells[1:]] == undefined
    for per, read in {None: result._whole, **result._axes()}.items():
        axis = read(LEVEL)
        of_metrics = [axis.read(metric) for metric in axis.metrics]
        undefined = [not of[at].is_defined for at in range(len(axis.names)) for of in of_metrics]
        options: Any = {"per": per, "shape": "long"}
        assert dashes(result.to_markdown(**options), " | ") == undefined
        assert dashes(result.to_latex(**options), " & ") == undefined
        if per:
            check_items(axis)
    for text in (result.report(), markdown(result.sheet()), result._repr_html_()):
        before, *after = text.split(ABOUT_UNDEFINED)
        assert len(after) == (UNDEFINED in "".join([before, *after]))


def check(result: Result) -> None:
    """Check every value of a result, and that all that is shown has the same number."""
    check_texts(result)
    page = result.described(LEVEL).rows
    for name, reading in readings(result):
        if not (reading.is_count or reading.is_defined):
            check_undefined(result, name, reading)
        if name in page:
            np.testing.assert_equal(astuple(page[name].reading), astuple(reading.defined))
    shown = {name: float(one.value) for name, one in result.readings(LEVEL).items()}
    table = result.table(shape="long")
    flat, entries = result.as_dict(), result.entries(LEVEL)["metrics"]
    held = dict(zip(table["metric"], table["value"], strict=True))
    for numbers in (flat, entries, held):
        np.testing.assert_equal({name: float(numbers[name]) for name in shown}, shown)
    if isinstance(result, se.Confusion):
        check_classes(result)
    for picture in result.PICTURES:
        request = PlotRequest(None, kind=picture, level=LEVEL)
        try:
            drawn = result.PICTURES[picture](result, request)
        except se.InvalidInputError:  # nothing to draw
            continue
        if isinstance(drawn, Dots):
            assert not any(one.is_substitute for one in drawn.readings.values())


@pytest.mark.parametrize("name", sorted(LAWS))
@settings(suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_nothing_takes_an_undefined_value_for_a_number(name: str, data: st.DataObject) -> None:
    case: Case = data.draw(LAWS[name].cases)
    size = data.draw(st.integers(0, min(case.size, 4)))
    for result in leaves(case.of(slice(size)).compute()):
        check(result)


def test_no_rows_define_no_metric() -> None:
    for make in EVERY.values():
        for result in leaves(make().reset().compute()):
            every = readings(result)
            assert {
                name for name, one in every if one.is_defined and not one.is_count
            } <= OF_NOTHING
