"""What an accumulator has counted is its own: no argument is kept, none reaches it later."""

from __future__ import annotations

import contextlib
import functools
import gc
import inspect
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws.cases import LARGE, Case
from laws.test_laws import draw_case, every, lawful, result_numbers
from offenders import each

import streameval as se

each_large = each("name", sorted(LARGE))
sizes = pytest.mark.parametrize(
    "size",
    [1, pytest.param(3, marks=pytest.mark.slow), 1000, pytest.param(10**6, marks=pytest.mark.slow)],
    ids=["one", "few", "many", "all"],
)


class Listed(list[Any]):
    """A list that can be watched."""


def _copy(column: np.ndarray) -> np.ndarray:
    return column.copy(order="C")


def _slice(column: np.ndarray) -> np.ndarray:
    """Cut rows out of the middle of a longer array, contiguous where the rows are."""
    edge = np.repeat(column[:1], 7, axis=0)
    return np.concatenate([edge, column, edge])[7 : 7 + len(column)]


def _strided(column: np.ndarray) -> np.ndarray:
    return np.repeat(column, 2, axis=0)[::2]


def _fortran(column: np.ndarray) -> np.ndarray:
    return np.array(column, order="F")


def _narrow(column: np.ndarray) -> np.ndarray:
    """Use float32 and int32 where these hold the values."""
    if column.dtype.kind in "if":
        with np.errstate(over="ignore"):
            narrow = column.astype(column.dtype.kind + "4")
        if np.array_equal(narrow, column, equal_nan=column.dtype.kind == "f"):
            return narrow
    return column.copy()


def _objects(column: np.ndarray) -> np.ndarray:
    return column.astype(object)


def _listed(column: np.ndarray) -> Listed:
    return Listed(column.tolist())


FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    "copies": _copy,
    "slices": _slice,
    "strided": _strided,
    "fortran": _fortran,
    "narrow": _narrow,
    "objects": _objects,
    "lists": _listed,
}
each_form = each("form", FORMS)


def scribble(value: Any) -> None:
    """Overwrite an argument, and the array it is a view of."""
    if isinstance(value, np.ndarray):
        base = value if value.base is None else value.base
        base[...] = None if base.dtype == object else 1 - base.astype(np.float64).astype(bool)
    elif isinstance(value, dict):
        value.clear()
    elif isinstance(value, list):
        for item in value:
            scribble(item)
        value[:] = [None] * len(value)


def counted(case: Case, make: Callable[[np.ndarray], Any], pieces: list[Any]) -> Any:
    """Count pieces, and scribble over everything that was passed once all have been."""
    accumulator, passed = case.empty(), []
    for piece in pieces:
        batch = {name: make(column[piece]) for name, column in case.rows.items()}
        settings = {k: dict(v) if isinstance(v, dict) else v for k, v in case.settings.items()}
        accumulator.update(batch, **settings)
        passed += [*batch.values(), *settings.values(), batch]
    for value in passed:
        scribble(value)
    return accumulator


def in_pieces(case: Case, size: int) -> list[slice]:
    """Cut the first rows of a case into batches, at most three."""
    starts = range(0, min(case.size, 3 * size), size)
    return [slice(start, start + size) for start in starts]


def expected(case: Case, pieces: list[slice]) -> bytes:
    accumulator = case.empty()
    for piece in pieces:
        case.add(accumulator, piece)
    return accumulator.to_bytes()


@every
@given(data=st.data())
@lawful
def test_scribbling_over_arguments_changes_nothing(name: str, data: st.DataObject) -> None:
    case, form = draw_case(data, name), data.draw(st.sampled_from(sorted(FORMS)))
    pieces = in_pieces(case, data.draw(st.integers(1, 24)))
    assert counted(case, FORMS[form], pieces).to_bytes() == expected(case, pieces)


@pytest.mark.uncovered
@pytest.mark.slow
@sizes
@each_form
@each_large
@pytest.mark.usefixtures("usual_blocks")
def test_scribbling_over_arguments_of_a_large_case_changes_nothing(
    name: str, form: str, size: int
) -> None:
    for is_weighted in (True, False):
        case, pieces, data = large_case(name, is_weighted, size)
        assert counted(case, FORMS[form], pieces).to_bytes() == data


@functools.cache
def large_case(name: str, is_weighted: bool, size: int) -> tuple[Case, list[slice], bytes]:
    """A large case, three pieces of it, and the bytes of these."""
    case = LARGE[name]() if is_weighted else LARGE[name]().without_weights()
    pieces = in_pieces(case, size)
    return case, pieces, expected(case, pieces)


N_PROGRAMS = {
    "Collection": 1000,
    "Sliced": 700,
    "Clustered": 700,
    "Windowed": 300,
    "RankingAccumulator": 450,
    "RankingAccumulator, open queries": 550,
}
"""Random programs in a long run of the slow ones; of all accumulators together 30,000."""
N_QUICK_PROGRAMS = 4500


STEPS = ["update"] * 8 + ["copy", "merge", "bytes"] * 2 + ["read"]


def run_program(case: Case, seed: int, *, is_clean: bool) -> bytes:
    """Update, copy, merge, serialize and read two accumulators in a random order.

    After each step everything that was passed is scribbled over, and accumulators that were copied
    or merged count on, unless the run is clean. A refused step leaves no trace in either run.
    """
    rng = np.random.default_rng(seed)
    held = [case.empty(), case.empty()]
    for step in rng.choice(STEPS, rng.integers(1, 9)):
        index, start = int(rng.integers(2)), int(rng.integers(case.size - 40))
        rows, form = slice(start, start + int(rng.integers(1, 40))), rng.choice(sorted(FORMS))
        with contextlib.suppress(se.StreamevalError):
            spent = take_step(step, case, held, index, rows, FORMS[form])
            for value in () if is_clean else spent:
                if isinstance(value, type(held[0])):
                    case.add(value, slice(0, 20))
                else:
                    scribble(value)
    return held[0].to_bytes() + held[1].to_bytes()


def take_step(
    step: str, case: Case, held: list[Any], index: int, rows: slice, form: Any
) -> list[Any]:
    """Change the accumulators held, and return what must not matter to them any more."""
    mine = held[index]
    if step == "update":
        batch = {name: form(column[rows]) for name, column in case.rows.items()}
        settings = {k: dict(v) if isinstance(v, dict) else v for k, v in case.settings.items()}
        mine.update(batch, **settings)
        return [*batch.values(), *settings.values(), batch]
    if step == "copy":
        held[index] = mine.copy()
        return [mine]
    if step == "merge":
        other = held[1 - index]
        mine.merge(other)
        held[1 - index] = case.empty()
        return [other]
    if step == "bytes":
        state = np.frombuffer(mine.to_bytes(), np.uint8).copy()
        held[index] = type(mine).from_bytes(memoryview(state))
        return [state]
    mine.compute()  # may count what is pending; its arrays have a test of their own
    return []


@pytest.mark.long
@each("name", sorted(LARGE))
def test_random_programs_own_what_they_count(name: str) -> None:
    case = LARGE[name]()
    different = [
        seed
        for seed in range(N_PROGRAMS.get(name, N_QUICK_PROGRAMS))
        if run_program(case, seed, is_clean=False) != run_program(case, seed, is_clean=True)
    ]
    assert not different, (len(different), different[:5])


@pytest.mark.slow
@pytest.mark.uncovered
@sizes
@each_form
@each_large
@pytest.mark.usefixtures("usual_blocks")
def test_update_keeps_no_argument_alive(name: str, form: str, size: int) -> None:
    case = LARGE[name]().without_weights()
    accumulator, watched = case.empty(), []
    for piece in in_pieces(case, size):
        batch = {name: FORMS[form](column[piece]) for name, column in case.rows.items()}
        accumulator.update(batch, **case.settings)
        for value in batch.values():
            base = getattr(value, "base", None)
            watched += [weakref.ref(value if base is None else base)]
    result = accumulator.compute()
    del batch, value, base
    if any(ref() is not None for ref in watched):  # in a cycle, perhaps: collecting takes long
        gc.collect()
    assert [ref() for ref in watched if ref() is not None] == []
    del result


def arrays_of(value: Any) -> Iterator[np.ndarray]:
    """Yield the arrays of what a result hands out."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from arrays_of(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from arrays_of(item)


def handed_out(result: Any) -> Iterator[np.ndarray]:
    """Yield every array that a result hands out without being asked for more than a name."""
    for name in dir(result):
        if name.startswith("_") or name in ("plot", "to_json"):
            continue
        try:
            value = getattr(result, name)
            value = value() if inspect.ismethod(value) else value
        except (TypeError, se.InvalidInputError):  # it needs an argument, an option, or two classes
            continue
        yield from arrays_of(value)


def results_of(accumulator: Any) -> list[Any]:
    result = accumulator.compute()
    return list(result.leaves().values()) if isinstance(result, se.CollectionResult) else [result]


@pytest.mark.slow
@each("name", sorted(LARGE))
@pytest.mark.usefixtures("usual_blocks")
def test_scribbling_over_results_changes_nothing(name: str) -> None:
    accumulator = LARGE[name]().of(slice(0, 1000))
    before, numbers = accumulator.to_bytes(), result_numbers(accumulator)
    results = results_of(accumulator)
    shown = [repr(result.as_dict()) for result in results]
    for array in [array for result in results for array in handed_out(result)]:
        if array.flags.writeable:
            array[...] = np.zeros((), dtype=array.dtype)
    assert [repr(result.as_dict()) for result in results] == shown
    assert accumulator.to_bytes() == before
    assert result_numbers(accumulator) == numbers


@pytest.mark.slow
@each("name", sorted(LARGE))
@pytest.mark.usefixtures("usual_blocks")
def test_later_updates_change_no_array_of_a_result(name: str) -> None:
    case = LARGE[name]()
    accumulator = case.of(slice(0, 400))
    arrays = [array for result in results_of(accumulator) for array in handed_out(result)]
    copies = [array.copy() for array in arrays]
    for start in (400, 600, 800):
        case.add(accumulator, slice(start, start + 200))
    for array, copy in zip(arrays, copies, strict=True):
        np.testing.assert_array_equal(array, copy)


CONSTRUCTORS: dict[str, tuple[type, dict[str, Any]]] = {
    "classes": (se.ConfusionAccumulator, {"classes": ["a", "b", "c"]}),
    "classes of an array": (se.ConfusionAccumulator, {"classes": np.array([3, 1, 2])}),
    "classes of objects": (se.PRCurveSketch, {"classes": np.array(["b", "a"], dtype=object)}),
    "calibration classes": (se.CalibrationAccumulator, {"classes": ["a", "b", "c"]}),
    "measures": (se.RankingAccumulator, {"measures": ["map", "ndcg@3"], "gain": {1: 2, 0: 0}}),
    "empty": (se.RankingAccumulator, {"measures": ["map", "p@2"], "empty": {"map": "one"}}),
    "members": (
        se.Collection,
        {
            "members": {"a": se.RegressionAccumulator(), "b": se.RegressionAccumulator()},
            "columns": {"b": {"y_pred": "other"}},
        },
    ),
}


@each("claim", CONSTRUCTORS)
def test_scribbling_over_options_changes_nothing(claim: str) -> None:
    kind, options = CONSTRUCTORS[claim]
    expected = kind(**options).to_bytes()
    accumulator = kind(**options)
    for value in options.values():
        if isinstance(value, dict):
            for item in value.values():
                if isinstance(item, se.RegressionAccumulator):
                    item.update([1.0], [2.0])
                elif isinstance(item, dict):
                    item.clear()
            value.clear()
        elif isinstance(value, list):
            value[:] = ["x"] * len(value)
        else:
            value[...] = value[::-1].copy()
    assert accumulator.to_bytes() == expected
    assert accumulator.options == kind.from_bytes(expected).options
