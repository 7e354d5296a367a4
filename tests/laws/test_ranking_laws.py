"""What holds of rankings besides: every shape of a batch, and closing here or there, is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from laws.cases import LARGE, Case
from laws.ranking_cases import RANKING_BLOCKS, USUAL_BLOCKS, large_block, ranking_rows
from profiles import cases

import streameval as se

lawful = settings(suppress_health_check=list(HealthCheck))
SIZES = {
    "one row": [(module, name, 1) for module, name, _ in RANKING_BLOCKS],
    "a few rows": [
        (module, name, 5 if size > 2 else size) for module, name, size in RANKING_BLOCKS
    ],
    "usual": USUAL_BLOCKS,
}


@st.composite
def _cases(draw: st.DrawFn, *, is_open: bool) -> Case:
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    drawn = ranking_rows(draw, random, draw(st.integers(0, 24)))
    assume(is_open == bool(drawn[2]))
    return Case(se.RankingAccumulator, *drawn)


BLOCKS, OPEN = _cases(is_open=False), _cases(is_open=True)


def named(case: Case) -> Case:
    """A block whose queries have ids, and at least one real candidate each; nothing is cut off."""
    rows = dict(case.rows)
    rows.setdefault("query", np.arange(case.size) * 7 - 3)
    real = rows.get("mask", np.ones(rows["score"].shape, dtype=bool)).copy()
    real[:, 0] = True
    rows["mask"] = real
    return Case(case.kind, case.options | {"rows_per_query": 1000}, rows)


def padded(rows: dict[str, Any]) -> dict[str, Any]:
    """Add a column that is no candidate in front, with what could not be counted in it."""
    junk = {"relevance": -7.5, "score": np.nan, "mask": False, "retrieved": True, "doc": None}
    wide = {}
    for name, column in rows.items():
        wide[name] = column
        if column.ndim == 2:
            value = column[:, :1] if name == "doc" else np.full((len(column), 1), junk[name])
            wide[name] = np.concatenate([value, column], axis=1)
    return wide


def ragged(rows: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """List the real candidates row by row; and the numbers and weights of queries, by query."""
    real = rows["mask"]
    flat = {name: rows[name][real] for name in rows if rows[name].ndim == 2 and name != "mask"}
    flat["query"] = np.broadcast_to(rows["query"][:, None], real.shape)[real]
    given = [name for name in ("num_relevant", "query_weight") if name in rows]
    ids = rows["query"].tolist()
    return flat, {name: dict(zip(ids, rows[name].tolist(), strict=True)) for name in given}


def spread(random: np.random.Generator, case: Case, pieces: int) -> Any:
    """Count rows in any order, in pieces, on three workers, and merge these."""
    workers = [case.empty() for _ in range(3)]
    order = random.permutation(case.size)
    for piece in np.array_split(order, pieces):
        case.add(workers[int(random.integers(3))], piece)
    return se.merge(workers)


@given(case=BLOCKS, seed=st.integers(0, 2**32 - 1))
@lawful
def test_every_shape_of_a_batch_gives_the_same_bytes(case: Case, seed: int) -> None:
    case, random = named(case), np.random.default_rng(seed)
    block = case.of().to_bytes()
    assert case.empty().update(padded(case.rows)).to_bytes() == block

    rows, numbers = ragged(case.rows)
    order = random.permutation(len(rows["score"]))
    rows = {name: column[order] for name, column in rows.items()}
    assert case.empty().update(rows, **numbers).to_bytes() == block

    open_rows = Case(case.kind, case.options, rows, {"partial": True, **numbers})
    assert spread(random, open_rows, 4).close().to_bytes() == block


@given(case=BLOCKS, seed=st.integers(0, 2**32 - 1))
@lawful
def test_the_order_of_queries_and_candidates_changes_nothing(case: Case, seed: int) -> None:
    random = np.random.default_rng(seed)
    queries = random.permutation(case.size)
    places = random.permuted(
        np.tile(np.arange(case.rows["score"].shape[1]), (case.size, 1)), axis=1
    )
    rows = {}
    for name, column in case.rows.items():
        moved = np.take_along_axis(column, places, axis=1) if column.ndim == 2 else column
        rows[name] = moved[queries]
    assert case.empty().update(rows).to_bytes() == case.of().to_bytes()


@given(case=BLOCKS)
@lawful
def test_a_block_of_open_queries_is_its_rows(case: Case) -> None:
    case = named(case)
    numbers = ragged(case.rows)[1]
    rows = {name: column for name, column in case.rows.items() if name not in numbers}
    given_numbers = {name: case.rows[name] for name in numbers}
    goes_on = case.empty().update(rows, partial=True, **given_numbers)
    assert goes_on.compute().n_open == case.size
    assert (
        goes_on.to_bytes()
        == case.empty().update(ragged(case.rows)[0], partial=True, **numbers).to_bytes()
    )
    assert goes_on.close() == case.of()


@given(case=OPEN, seed=st.integers(0, 2**32 - 1))
@lawful
def test_closing_on_workers_is_closing_after_the_merge(case: Case, seed: int) -> None:
    random = np.random.default_rng(seed)
    ids = case.rows["query"]
    worker = dict(zip(ids.tolist(), random.integers(0, 3, case.size).tolist(), strict=True))
    of_row = np.array([worker[label] for label in ids.tolist()], dtype=int)
    parts = [case.of(of_row == number) for number in range(3)]
    expected = se.merge(parts).close().to_bytes()
    assert se.merge(part.close() for part in parts).to_bytes() == expected


@given(case=OPEN, seed=st.integers(0, 2**32 - 1))
@lawful
def test_closing_one_by_one_is_closing_all(case: Case, seed: int) -> None:
    whole, one_by_one = case.of(), case.of()
    labels = sorted(set(case.rows["query"].tolist()))
    for number in np.random.default_rng(seed).permutation(len(labels)):
        one_by_one.close([labels[number]])
    assert one_by_one == whole.close()
    assert one_by_one.compute().n_open == 0


@given(case=OPEN)
@lawful
def test_a_merge_with_itself_is_refused_where_a_row_would_be_there_twice(case: Case) -> None:
    # declared numbers would be passed before a row is doubled
    assume("num_relevant" not in {*case.settings, *case.rows})
    accumulator = case.of()
    before = accumulator.to_bytes()
    if case.options["ties"] != "docid_desc" or not len(accumulator._state.ranked_document):
        accumulator.merge(accumulator)
        return
    with pytest.raises(se.InvalidInputError, match="`doc` must be distinct in a query"):
        accumulator.merge(accumulator)
    assert accumulator.to_bytes() == before


@given(case=BLOCKS | OPEN)
@lawful
def test_a_merge_with_itself_is_refused_where_ids_are_kept(case: Case) -> None:
    accumulator = case.of().close()
    before, n = accumulator.to_bytes(), accumulator.n
    if n and (case.options["track_queries"] or case.options["per_query"]):
        with pytest.raises(se.IncompatibleStateError, match=r"^cannot merge: query .* is in both"):
            accumulator.merge(accumulator)
        assert accumulator.to_bytes() == before
    else:
        assert accumulator.merge(accumulator).n == 2 * n


@pytest.mark.slow
def test_most_open_cases_are_past_the_rows_that_are_kept() -> None:
    over: list[bool] = []

    @given(case=OPEN)
    @settings(lawful, max_examples=cases(least=150))  # a share of few says little
    def tally(case: Case) -> None:
        rows = case.of()._state.open
        over.append(bool((rows.n_kept < rows.rows).any()))

    tally()
    print(f"{sum(over)} of {len(over)} cases of open queries are past the rows that are kept")
    assert sum(over) >= len(over) / 2


@pytest.mark.uncovered
@pytest.mark.slow
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("close", [False, True], ids=["block", "open"])
def test_blocks_of_any_size_give_the_same_bytes(
    sizes: str, close: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    make: Callable[[], Case] = LARGE["RankingAccumulator, open queries"]
    options, rows = large_block()
    case = make() if close else Case(se.RankingAccumulator, options, rows)
    case = Case(case.kind, case.options, {n: c[:150] for n, c in case.rows.items()}, case.settings)
    expected = case.of().close().to_bytes()  # of the blocks of the law suite
    for module, name, size in SIZES[sizes]:
        monkeypatch.setattr(module, name, size)
    assert case.of().close().to_bytes() == expected


@given(case=BLOCKS | OPEN, seed=st.integers(0, 2**32 - 1))
@lawful
def test_many_small_updates_are_one_whatever_happens_between(case: Case, seed: int) -> None:
    random = np.random.default_rng(seed)
    accumulator, other = case.empty(), case.empty()
    for row in random.permutation(case.size).tolist():
        case.add(accumulator, slice(row, row + 1))
        match int(random.integers(8)):
            case 0:
                accumulator.compute().as_dict()
            case 1:
                accumulator = accumulator.copy()
            case 2:
                accumulator, other = other, accumulator
            case 3:
                accumulator.merge(other)
                other.reset()
    assert (accumulator + other).to_bytes() == case.of().to_bytes()
