"""The law, for every accumulator: one answer, however the data is cut and merged."""

from __future__ import annotations

import inspect
import io
import random
from typing import Any

import attrs
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from laws.cases import LARGE, LAWS, WITHOUT_WEIGHTS, Case
from offenders import each
from profiles import cases

import streameval as se
from streameval import testing
from streameval.configs.cached import Comparable

every = pytest.mark.parametrize("name", sorted(LAWS))
every_weighted = pytest.mark.parametrize("name", sorted(set(LAWS) - set(WITHOUT_WEIGHTS)))
lawful = settings(suppress_health_check=list(HealthCheck))


def draw_case(data: st.DataObject, name: str) -> Case:
    return data.draw(LAWS[name].cases)


def cut(data: st.DataObject, case: Case) -> list[Any]:
    """Spread the rows, shuffled, over one to five accumulators."""
    seed = data.draw(st.integers(0, 2**32 - 1))
    places = np.random.default_rng(seed).integers(0, data.draw(st.integers(1, 5)), case.size)
    order = np.random.default_rng(seed + 1).permutation(case.size)
    return [case.of(order[places[order] == part]) for part in range(places.max(initial=0) + 1)]


def result_numbers(accumulator: Any) -> str:
    """Write every number of the result down to the last bit."""
    if isinstance(accumulator, se.RankingAccumulator):
        return ranking_numbers(accumulator) + ranking_numbers(accumulator.copy().close())
    return repr(accumulator.compute().as_dict())


def ranking_numbers(accumulator: se.RankingAccumulator) -> str:
    """The same of queries that are complete."""
    result = accumulator.compute()
    columns = result.per_query() if accumulator._config.per_query else {}
    listed = {name: column.tolist() for name, column in columns.items()}
    if not result._is_whole:  # weights with fractions have no intervals
        return repr((result.as_dict(), result.empty, listed))
    intervals = [result.confidence(name) for name in result if "[" not in name]  # no quantiles
    return repr((result.as_dict(), result.stderr, result.empty, intervals, listed))


def tried(data: st.DataObject, case: Case) -> testing.Trial:
    """Try laws on the rows of a case, shuffled, in one to five batches."""
    order = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1))).permutation(case.size)
    ends = sorted(data.draw(st.lists(st.integers(0, case.size), max_size=4)))
    return testing.Trial(
        case.empty,
        [case.batch(rows) for rows in np.split(order, ends)],
        update=case.update,
        numbers=result_numbers,
    )


def test_every_accumulator_has_laws() -> None:
    classes = {name: getattr(se, name) for name in se.__all__}
    public = {
        name
        for name, value in classes.items()
        if inspect.isclass(value) and issubclass(value, se.Accumulator)
    }
    assert public == {"Accumulator", *LAWS}


@each("name", sorted(LAWS))
def test_every_field_of_the_configuration_is_changed_once(name: str) -> None:
    fields = attrs.fields(getattr(se, name)._definition.config)
    assert {field.name for field in fields} == set(LAWS[name].changed_options)


@pytest.mark.parametrize("law", testing.LAWS)
@every
@given(data=st.data())
@lawful
def test_law_holds(name: str, law: str, data: st.DataObject) -> None:
    case = draw_case(data, name)
    if law == "merging_with_itself_doubles" and name == "RankingAccumulator":
        assume("partial" not in case.settings)  # rows of a query do not come again,
        without_ids = {"track_queries": False, "per_query": False}  # nor queries that are known
        case = attrs.evolve(case, options=case.options | without_ids)
    testing.LAWS[law](tried(data, case))


@every
@given(data=st.data())
@lawful
def test_any_cut_gives_the_same_bytes_and_numbers(name: str, data: st.DataObject) -> None:
    case = draw_case(data, name)
    whole, merged = case.of(), se.merge(cut(data, case))
    assert merged.to_bytes() == whole.to_bytes()
    assert result_numbers(merged) == result_numbers(whole)


@every
@given(data=st.data())
@lawful
def test_results_are_equal_if_their_states_are(name: str, data: st.DataObject) -> None:
    case = draw_case(data, name)
    whole, part = case.of(), case.of(np.arange(case.size // 2))
    result = whole.compute()
    numbers = result_numbers(whole)  # an equal result may have computed less
    assert result == whole.compute()
    assert se.merge(cut(data, case)).compute() == result
    assert (result != whole.copy().compute()) is False
    if result_numbers(part) != numbers:
        assert part.compute() != result
    assert result != numbers
    if isinstance(result, Comparable):
        assert type(result).__hash__ is None


@every
@given(data=st.data())
@lawful
def test_any_cut_into_updates_gives_the_same_bytes(name: str, data: st.DataObject) -> None:
    case = draw_case(data, name)
    order = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1))).permutation(case.size)
    ends = sorted(data.draw(st.lists(st.integers(0, case.size), max_size=4)))
    accumulator = case.empty()
    for rows in np.split(order, ends):
        case.add(accumulator, rows)
    assert accumulator.to_bytes() == case.of().to_bytes()


@every
@given(data=st.data())
@lawful
def test_any_tree_gives_the_same_bytes(name: str, data: st.DataObject) -> None:
    case = draw_case(data, name)
    parts, choose = cut(data, case), random.Random(data.draw(st.integers(0, 2**32 - 1)))
    while len(parts) > 1:
        choose.shuffle(parts)
        parts.append(parts.pop() + parts.pop())
    assert parts[0].to_bytes() == case.of().to_bytes()


@every_weighted
@given(data=st.data())
@lawful
def test_a_whole_weight_is_that_many_repeats_and_zero_is_absence(
    name: str, data: st.DataObject
) -> None:
    case = draw_case(data, name).without_weights()
    repeats = np.array(
        data.draw(st.lists(st.integers(0, 3), min_size=case.size, max_size=case.size)),
        dtype=np.int64,
    )
    repeated = case.of(np.repeat(np.arange(case.size), repeats))
    assert case.weighted(repeats).of().to_bytes() == repeated.to_bytes()
    assert case.weighted(repeats.astype(np.float32)).of().to_bytes() == repeated.to_bytes()


@every_weighted
@given(data=st.data())
@lawful
def test_rows_of_weight_zero_may_hold_anything(name: str, data: st.DataObject) -> None:
    case = draw_case(data, name)
    case = case.weighted(case.rows.get("sample_weight", np.ones(case.size)))
    at = data.draw(st.lists(st.integers(0, case.size), max_size=3))
    filled = {
        column: np.insert(values.astype(object), at, 0 if column == "sample_weight" else None, 0)
        for column, values in case.rows.items()
    }
    assert attrs.evolve(case, rows=filled).of().to_bytes() == case.of().to_bytes()


@pytest.mark.parametrize("name", sorted(WITHOUT_WEIGHTS))
def test_weights_are_refused_where_they_have_no_meaning(name: str) -> None:
    case = LAWS[name].large()
    with pytest.raises(TypeError, match="unexpected keyword argument 'sample_weight'"):
        case.empty().update(case.rows, sample_weight=np.ones(case.size))


@each(("name", "claim"), [(name, claim) for name in LAWS for claim in LAWS[name].bad_batches])
def test_update_leaves_the_state_unchanged_when_the_batch_is_invalid(name: str, claim: str) -> None:
    options, batch = LAWS[name].bad_batches[claim]
    accumulator = getattr(se, name)(**options)
    accumulator.update(LAWS[name].good_batch(options))
    before = accumulator.to_bytes()
    with pytest.raises(se.StreamevalError):
        accumulator.update(batch)
    assert accumulator.to_bytes() == before


@each(("name", "field"), [(name, field) for name in LAWS for field in LAWS[name].changed_options])
def test_merge_names_the_field_when_one_field_differs(name: str, field: str) -> None:
    one, other = (getattr(se, name)(**options) for options in LAWS[name].changed_options[field])
    before = one.to_bytes()
    with pytest.raises(se.IncompatibleStateError, match=f"cannot merge: `{field}` differs"):
        one.merge(one, other)
    assert one.to_bytes() == before
    assert one != other


@pytest.mark.uncovered
@pytest.mark.slow
@each("name", sorted(LARGE))
@pytest.mark.usefixtures("long_blocks")
def test_shuffles_shards_and_trees_of_a_large_case_give_one_result(name: str) -> None:
    case = LARGE[name]()
    expected = case.of().to_bytes()
    for seed in range(cases(20, least=6)):
        order = np.random.default_rng(seed).permutation(case.size)
        parts = [case.of(rows) for rows in np.array_split(order, 8)]
        random.Random(seed).shuffle(parts)
        while len(parts) > 1:
            parts.insert(0, parts.pop() + parts.pop())
        assert parts[0].to_bytes() == expected


EMPTY: dict[str, Any] = {
    "list": [],
    "floats": np.zeros(0),
    "integers": np.zeros(0, dtype=np.uint8),
    "objects": np.zeros(0, dtype=object),
    "text": np.zeros(0, dtype="U3"),
    "bytes": np.zeros(0, dtype="S3"),
    "times": np.zeros(0, dtype="M8[s]"),
    "rows of objects": np.zeros((0, 3), dtype=object),
    "rows of floats": np.zeros((0, 2)),
    "pandas": pd.Series([]),
    "pandas objects": pd.Series([], dtype=object),
    "pandas category": pd.Series([], dtype="category"),
    "a file of a header": pd.read_csv(io.StringIO("column\n"))["column"],
    "polars": pl.Series([]),
    "polars strings": pl.Series([], dtype=pl.String),
    "arrow": pa.array([]),
    "arrow strings": pa.array([], type=pa.string()),
    "arrow chunks": pa.chunked_array([], type=pa.timestamp("s")),
}
"""Columns of nothing, of every type that may stand for it."""


@every
@given(data=st.data())
@lawful
def test_an_empty_batch_changes_nothing_whatever_its_dtype(name: str, data: st.DataObject) -> None:
    case = draw_case(data, name)
    whole = case.of()
    before = whole.to_bytes()
    empty = st.sampled_from(sorted(EMPTY))
    batch = {column: EMPTY[data.draw(empty)] for column in case.rows}
    assert whole.update(batch, **case.settings).to_bytes() == before
    assert case.empty().update(batch, **case.settings) == case.empty()


@every
@given(data=st.data())
@lawful
def test_objects_give_the_bytes_of_arrays(name: str, data: st.DataObject) -> None:
    case = draw_case(data, name)
    objects = {name: column.astype(object) for name, column in case.rows.items()}
    assert attrs.evolve(case, rows=objects).of().to_bytes() == case.of().to_bytes()


@every
@given(data=st.data())
@lawful
def test_views_and_dtypes_give_the_same_bytes(name: str, data: st.DataObject) -> None:
    case = draw_case(data, name)
    assume(case.size > 0)
    for view in (_reversed, _strided, _read_only, _fortran, _narrow):
        rows = {name: view(column) for name, column in case.rows.items()}
        assert attrs.evolve(case, rows=rows).of().to_bytes() == case.of().to_bytes(), view


def _reversed(column: np.ndarray) -> np.ndarray:
    return column[::-1].copy()[::-1]


def _strided(column: np.ndarray) -> np.ndarray:
    return np.repeat(column, 3, axis=0)[::3]


def _read_only(column: np.ndarray) -> np.ndarray:
    copy = column.copy()
    copy.flags.writeable = False
    return copy


def _fortran(column: np.ndarray) -> np.ndarray:
    return np.asfortranarray(column)


def _narrow(column: np.ndarray) -> np.ndarray:
    """Use the smallest dtype that holds the values, in the other byte order."""
    if column.dtype.kind not in "if":
        return column
    for dtype in {"i": ("i1", "i2", "i4"), "f": ("f2", "f4")}[column.dtype.kind]:
        with np.errstate(over="ignore"):
            narrow = column.astype(dtype)
        if np.array_equal(narrow, column):
            return narrow.astype(narrow.dtype.newbyteorder())
    return column.astype(column.dtype.newbyteorder())
