"""Rankings counted: what a batch may be, queries that go on, and runs with judgements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from offenders import each

import streameval as se
from streameval.states.column import Column
from streameval.states.queries import MAX_ROWS

NAN = float("nan")
MEASURES = ["map", "ndcg@3", "p@2", "judged@2"]

# Two queries; the second has a document that was not retrieved.
RELEVANCE = [[0, 1, 1], [1, 0, 1]]
SCORE = [[3.0, 2.0, 1.0], [0.3, 0.2, 0.1]]
RETRIEVED = [[True, True, True], [True, True, False]]
BLOCK = {"relevance": RELEVANCE, "score": SCORE, "retrieved": RETRIEVED, "query": [7, -3]}
ROWS = {
    "relevance": [1, 0, 0, 1, 1, 1],
    "score": [0.3, 3.0, 0.2, 2.0, 0.1, 1.0],
    "retrieved": [True, True, True, True, False, True],
    "query": [-3, 7, -3, 7, -3, 7],
}
EXPECTED = {"map": ((1 / 2 + 2 / 3) / 2 + 1 / 2) / 2, "p@2": 0.5, "judged@2": 1.0}


def ranking(measures: Any = MEASURES, **options: Any) -> se.RankingAccumulator:
    return se.RankingAccumulator(measures, **options)


def block(**options: Any) -> se.RankingAccumulator:
    return ranking(**options).update(BLOCK)


def one(number: int | str = 7, **options: Any) -> se.RankingAccumulator:
    """One open query of one row."""
    return ranking("map", **options).update([1], [1], query=[number], partial=True)


def test_block_is_counted() -> None:
    result = block().compute()
    for name, value in EXPECTED.items():
        assert result[name] == pytest.approx(value, rel=1e-15), name
    gains = 1 / np.log2([2, 3, 4])
    first, second = gains[1] + gains[2], gains[0]
    assert result["ndcg@3"] == pytest.approx((first + second) / (gains[0] + gains[1]) / 2)


def test_rows_in_any_order_are_the_block() -> None:
    assert ranking().update(ROWS) == block()


def test_update_gives_the_accumulator_itself() -> None:
    accumulator = ranking()
    assert accumulator.update(BLOCK) is accumulator
    assert accumulator.update(ROWS, partial=True) is accumulator
    assert accumulator.close() is accumulator
    assert accumulator.add_missing([1]) is accumulator
    assert accumulator.update_run({}, {}) is accumulator


BATCHES: dict[str, Callable[[], Any]] = {
    "tuple": lambda: (ROWS["relevance"], ROWS["score"], ROWS["query"], None, ROWS["retrieved"]),
    "pandas": lambda: pd.DataFrame(ROWS),
    "pandas with arrow": lambda: pd.DataFrame(ROWS).convert_dtypes(dtype_backend="pyarrow"),
    "pandas with another index": lambda: pd.DataFrame(ROWS, index=range(6, 0, -1)),
    "polars": lambda: pl.DataFrame(ROWS),
    "arrow": lambda: pa.table(ROWS),
    "arrow in chunks": lambda: pa.concat_tables([pa.table(ROWS).slice(0, 2), pa.table(ROWS)[2:]]),
    "arrow batch": lambda: pa.RecordBatch.from_pydict(ROWS),
    "other columns too": lambda: ROWS | {"sample_weight": [1] * 6, "rank": None},
}


@each("kind", BATCHES)
def test_batch_may_be_one_object(kind: str) -> None:
    assert ranking().update(BATCHES[kind]()) == block()


@each("dtype", ["float32", "float64", "int8", "uint8", "bool", "float16"])
def test_relevance_may_be_of_any_type(dtype: str) -> None:
    assert ranking().update(BLOCK | {"relevance": np.array(RELEVANCE, dtype)}) == block()


GAPS: dict[str, Any] = {
    "list": [1, None, 0, 2],
    "objects": np.array([1, None, 0, 2], dtype=object),
    "nan in objects": np.array([1, float("nan"), 0, 2], dtype=object),
    "pd.NA in objects": np.array([1, pd.NA, 0, 2], dtype=object),
    "pandas": pd.Series([1, None, 0, 2]),
    "pandas objects": pd.Series([1, None, 0, 2], dtype=object),
    "pandas Int64": pd.Series([1, None, 0, 2], dtype="Int64"),
    "polars": pl.Series([1, None, 0, 2]),
    "arrow": pa.array([1, None, 0, 2]),
}


@each("column", GAPS)
def test_a_missing_relevance_is_a_document_that_was_not_judged(column: str) -> None:
    score, query = [0.5, 0.75, 0.25, 0.125], [7, 7, 7, 7]
    measures = ["map", "bpref", "judged@3"]
    expected = se.RankingAccumulator(measures).update([1, np.nan, 0, 2], score, query=query)
    given = se.RankingAccumulator(measures).update(GAPS[column], score, query=query)
    assert given.to_bytes() == expected.to_bytes()


@each("column", GAPS)
def test_a_missing_score_ranks_last_where_nan_does(column: str) -> None:
    measures, query = ["map", "mrr"], [7, 7, 7, 7]
    expected = se.RankingAccumulator(measures, nan="last")
    expected.update([0, 1, 0, 1], [1, np.nan, 0, 2], query=query)
    given = se.RankingAccumulator(measures, nan="last")
    assert given.update([0, 1, 0, 1], GAPS[column], query=query).to_bytes() == expected.to_bytes()
    with pytest.raises(se.InvalidInputError, match="must not hold NaN, got NaN at position 1"):
        se.RankingAccumulator(measures).update([0, 1, 0, 1], GAPS[column], query=query)


def test_missing_relevances_of_a_block_are_documents_that_were_not_judged() -> None:
    score = [[0.5, 0.25], [0.5, 0.25]]
    expected = se.RankingAccumulator("bpref").update([[1, np.nan], [np.nan, 1]], score)
    for relevance in (
        [[1, None], [None, 1]],
        np.array([[1, None], [None, 1]], dtype=object),
        [np.array([1, None], dtype=object), np.array([None, 1], dtype=object)],
        pa.array([[1, None], [None, 1]]),
        pd.Series([[1, None], [None, 1]]),
    ):
        assert se.RankingAccumulator("bpref").update(relevance, score) == expected


@each("shape", [(0,), (0, 3), (0, 0)])
@each("other", [(0,), (0, 3)])
def test_an_empty_batch_may_have_any_shape(shape: tuple[int, ...], other: tuple[int, ...]) -> None:
    accumulator = ranking().update(BLOCK)
    before = accumulator.to_bytes()
    accumulator.update(np.zeros(shape), np.zeros(other), mask=np.zeros(shape, dtype=bool))
    accumulator.update(np.zeros(shape), np.zeros(other), query=[], num_relevant={})
    assert accumulator.to_bytes() == before


def test_tensors_are_counted() -> None:
    torch = pytest.importorskip("torch")
    tensors = {name: torch.tensor(value) for name, value in BLOCK.items()}
    tensors["score"].requires_grad_()
    exact = BLOCK | {"score": tensors["score"].detach().double().numpy()}
    assert ranking().update(tensors) == ranking().update(exact)


@each("dtype", ["int64", "uint8", "float64"])
def test_masks_may_be_zeros_and_ones(dtype: str) -> None:
    flags = np.array(RETRIEVED, dtype)
    assert ranking().update(BLOCK | {"retrieved": flags, "mask": np.ones_like(flags)}) == block()


def test_inputs_are_only_read() -> None:
    arrays = {name: np.array(value) for name, value in BLOCK.items()}
    arrays |= {"mask": np.ones((2, 3), bool), "doc": np.array([[1, 2, 3], [4, 5, 6]])}
    arrays["score"][0, 0] = -0.0
    before = {name: array.tobytes() for name, array in arrays.items()}
    for array in arrays.values():
        array.flags.writeable = False
    ranking(ties="docid_desc", unjudged="drop", negative="zero").update(arrays)
    ranking(ties="docid_desc").update(arrays, partial=True).close()
    assert {name: array.tobytes() for name, array in arrays.items()} == before


def test_masked_candidates_do_not_matter() -> None:
    wide = {
        "relevance": np.insert(np.array(RELEVANCE, float), 1, -9, axis=1),
        "score": np.insert(np.array(SCORE), 1, NAN, axis=1),
        "retrieved": np.insert(RETRIEVED, 1, True, axis=1),
        "mask": np.insert(np.ones((2, 3), bool), 1, False, axis=1),
    }
    assert ranking().update(wide) == block()


def test_score_of_a_document_that_was_not_retrieved_does_not_matter() -> None:
    assert ranking().update(BLOCK | {"score": [*SCORE[:1], [0.3, 0.2, NAN]]}) == block()


@each(
    "batch",
    [
        ([], []),
        (np.zeros((0, 3)), np.zeros((0, 3))),
        (np.zeros((0, 0)), np.zeros((0, 0))),
        {"relevance": [], "score": [], "query": []},
        {"relevance": [], "score": [], "query": [], "doc": [], "mask": [], "retrieved": []},
        {"relevance": [], "score": [], "query": [], "num_relevant": {3: 1}},
        {"relevance": np.zeros((0, 3)), "score": np.zeros((0, 3)), "num_relevant": []},
    ],
)
@each("partial", [False, True])
@each("options", [{}, {"track_queries": True}, {"ties": "docid_desc"}])
def test_empty_batch_changes_nothing(batch: Any, partial: bool, options: dict[str, Any]) -> None:
    options = {"measures": "map"} | options
    assert ranking(**options).update(batch, partial=partial) == ranking(**options)
    words = ranking(**options).update([1], [1], query=["a"], doc=["d"], partial=True)
    assert words.copy().update(batch, partial=partial) == words


@each("ids", [[], (), np.zeros(0), np.zeros(0, dtype=object)])
def test_no_ids_change_nothing(ids: Any) -> None:
    for accumulator in (one(), one("a", track_queries=True)):
        before = accumulator.copy()
        assert accumulator.close(ids).add_missing(ids) == before


def test_query_without_candidates_has_nothing_to_find() -> None:
    nothing = ranking("map").update(np.zeros((2, 0)), np.zeros((2, 0)))
    masked = ranking("map").update([[1, 1], [1, 0]], [[2, 1], [2, 1]], mask=np.zeros((2, 2)))
    assert nothing == masked
    assert (nothing.n, nothing.compute().n_empty, nothing.compute().map) == (2, 2, 0.0)


def test_single_candidate_is_the_whole_ranking() -> None:
    result = ranking(["map", "mrr", "ndcg", "hit@1", "lrap"]).update([[2]], [[-5]]).compute()
    assert set(result.values()) == {1.0}


def test_unretrieved_query_finds_nothing() -> None:
    result = ranking(["map", "set_p", "ndcg"]).update([[1]], [[1]], retrieved=[[False]]).compute()
    assert (result.map, result["set_p"], result["ndcg"], result.n_empty) == (0, 0, 0, 0)


NUMBERS: dict[str, Callable[[], Any]] = {
    "list": lambda: [2, 2],
    "floats": lambda: np.array([2.0, 2.0]),
    "bytes": lambda: np.array([2, 2], np.uint8),
    "series": lambda: pd.Series([2, 2]),
}


@each("kind", NUMBERS)
def test_number_of_relevant_documents_stands_for_those_not_retrieved(kind: str) -> None:
    two = {name: np.array(BLOCK[name])[:, :2] for name in ("relevance", "score")}
    missed = [[1, 1], [0, 0]]
    listed = ranking(["map", "r@2", "rprec"]).update(
        np.hstack([two["relevance"], [[1, 0], [1, 0]]]),
        np.hstack([two["score"], np.zeros((2, 2))]),
        retrieved=[[True, True, False, False]] * 2,
        mask=np.hstack([np.ones((2, 2)), np.transpose(missed)]),
    )
    given = ranking(["map", "r@2", "rprec"]).update(two, num_relevant=NUMBERS[kind]())
    for name in given.compute():
        assert given.compute()[name] == listed.compute()[name] > 0, name


def test_number_of_relevant_documents_follows_the_order_of_the_queries() -> None:
    batch = {"relevance": [[1], [1]], "score": [[1], [1]], "num_relevant": [4, 1]}
    columns = ranking("r@1", per_query=True).update(batch, query=[9, 5]).compute().per_query()
    assert dict(zip(columns["query"].tolist(), columns["r@1"], strict=True)) == {9: 0.25, 5: 1.0}


@each("numbers", [{9: 4, 5: 1, 3: 0}, {9.0: 4.0, np.int8(5): True}, [4, 1], np.array([4.0, 1.0])])
def test_number_of_relevant_documents_of_rows_comes_by_id(numbers: Any) -> None:
    accumulator = ranking("r@1", per_query=True)
    accumulator.update([1, 1], [1, 1], query=[9, 5], num_relevant=numbers)
    assert accumulator.compute().per_query()["r@1"].tolist() == [1.0, 0.25]


def test_number_of_relevant_documents_stands_in_every_row_of_a_query() -> None:
    rows = pl.DataFrame(
        {"query": [*"bab"], "relevance": [0, 1, 1], "score": [3, 2, 1], "num_relevant": [3, 2, 3]}
    )
    plain = rows.drop("num_relevant")
    expected = ranking("map").update(plain, num_relevant={"a": 2, "b": 3})
    assert ranking("map").update(rows) == expected
    first, second = (ranking("map").update(part, partial=True) for part in (rows[:2], rows[2:]))
    assert (first + second).close() == expected
    with pytest.raises(se.InvalidInputError, match="one number for a query, got 4 and 3 for 'b'"):
        ranking("map").update(plain, num_relevant=[4, 2, 3])


def test_number_of_relevant_documents_is_enough_for_gains_of_one() -> None:
    accumulator = ranking(["ndcg", "err@1"]).update([[0, 1]], [[2, 1]], num_relevant=[2])
    ideal = 1 + 1 / np.log2(3)
    assert accumulator.compute()["ndcg"] == pytest.approx(1 / np.log2(3) / ideal)


def test_number_of_relevant_documents_of_zero_has_nothing_to_find() -> None:
    result = ranking(["map", "ndcg"]).update([[0]], [[1]], num_relevant=[0]).compute()
    assert result.empty == {"map": 1, "ndcg": 1}


def test_number_of_relevant_documents_is_known_when_one_part_gives_it() -> None:
    accumulator = one().update([1], [2], query=[7], num_relevant={7: 4}, partial=True)
    assert accumulator.update([0], [3], query=[7], partial=True).close().compute().map == (
        pytest.approx((1 / 2 + 2 / 3) / 4)
    )


def test_unjudged_documents_are_not_relevant_or_taken_out() -> None:
    batch = {"relevance": [[NAN, 1, NAN]], "score": [[3, 2, 1]]}
    assert ranking("mrr").update(batch).compute().mrr == 0.5
    assert ranking("mrr", unjudged="drop").update(batch).compute().mrr == 1.0


def test_negative_relevance_may_be_taken_as_not_judged() -> None:
    options = {"measures": ["ndcg", "judged@1"], "negative": "zero"}
    negative = ranking(**options).update([[-2, 1]], [[2, 1]])
    assert negative == ranking(**options).update([[NAN, 1]], [[2, 1]])


def test_negative_relevance_that_is_not_mapped_may_be_taken_as_not_judged() -> None:
    options = {"measures": ["dcg", "judged@1"], "gain": {-1: 0.5, 1: 2}, "negative": "zero"}
    negative = ranking(**options).update([[-2, 1, -1]], [[3, 2, 1]])
    assert negative == ranking(**options).update([[NAN, 1, -1]], [[3, 2, 1]])
    with pytest.raises(se.InvalidInputError, match=r"levels that `gain` maps, got 3.0"):
        negative.update([[3]], [[1]])


def test_scores_of_nan_may_rank_last_and_tied() -> None:
    relevance, score = [[1, 0, 0]], [[NAN, -np.inf, NAN]]
    result = ranking("mrr", nan="last").update(relevance, score).compute()
    assert result.mrr == pytest.approx((1 / 2 + 1 / 3) / 2)


def test_mapping_of_gains_may_give_worth_to_a_negative_relevance() -> None:
    accumulator = ranking("dcg@1", gain={-1: 0.5, 1: 2}).update([[-1]], [[1]])
    assert accumulator.compute()["dcg@1"] == 0.5


@each("ids", [[7, -3], ["a", "日本"]])
def test_open_queries_do_not_count_before_they_are_closed(ids: list[Any]) -> None:
    names = dict(zip((7, -3), ids, strict=True))
    rows = ROWS | {"query": [names[number] for number in ROWS["query"]]}
    accumulator = ranking().update(rows, partial=True)
    assert (accumulator.n, accumulator.compute().n_open) == (0, 2)
    assert accumulator.close() == block()
    assert accumulator.compute().n_open == 0


def test_queries_are_closed_one_by_one() -> None:
    accumulator = ranking().update(ROWS, partial=True).close([7])
    assert (accumulator.n, accumulator.compute().n_open) == (1, 1)
    assert accumulator.close(np.array([-3.0])) == block()


def test_closed_query_may_open_again_where_ids_are_not_kept() -> None:
    accumulator = one().close().update([0], [1], query=[7], partial=True).close()
    assert (accumulator.n, accumulator.compute().map) == (2, 0.5)


@each("options", [{"track_queries": True}, {"per_query": True}])
@each("number", [7, "日本"])
def test_tracked_query_counts_once(options: dict[str, Any], number: Any) -> None:
    accumulator = one(number, **options).close()
    again: list[Callable[[], object]] = [
        lambda: accumulator.update([1], [1], query=[number]),
        lambda: accumulator.update([[1]], [[1]], query=[number]),
        lambda: accumulator.update([1], [1], query=[number], partial=True),
        lambda: accumulator.add_missing([number]),
        lambda: accumulator.update_run({number: {"d": 1}}, {number: {"d": 1}}),
        lambda: accumulator.update_run({}, {number: {"d": 1}}),
        lambda: accumulator.merge(one(number, **options)),
        lambda: accumulator.merge(one(number, **options).close()),
        lambda: accumulator.merge(ranking("map", **options).add_missing([number])),
        lambda: one(number, **options).merge(accumulator),
    ]
    before = accumulator.to_bytes()
    for attempt in again:
        with pytest.raises(se.StreamevalError, match=str(number)):
            attempt()
        assert accumulator.to_bytes() == before


def test_tracked_queries_are_known_across_merges() -> None:
    parts = [one(number, track_queries=True).close() for number in (5, 2, 9)]
    merged = se.merge(parts).add_missing([4])
    assert merged._state.closed.values.tolist() == [2, 4, 5, 9]
    assert se.from_bytes(merged.to_bytes()) == merged
    for number in (2, 4, 5, 9):
        with pytest.raises(se.InvalidInputError, match=f"holds {number}, which has been counted"):
            merged.update([1], [1], query=[number])
    assert merged.update([1], [1], query=[3]).n == 4


def test_values_of_queries_are_merged_with_their_ids() -> None:
    parts = [
        ranking("r@1", per_query=True).update([1], [1], query=[number], num_relevant={number: many})
        for number, many in ((5, 1), (2, 2), (9, 4))
    ]
    columns = se.merge(parts).compute().per_query()
    assert columns["query"].tolist() == [2, 5, 9]
    assert columns["r@1"].tolist() == [0.5, 1.0, 0.25]


def test_missing_query_may_be_told_twice_where_ids_are_not_kept() -> None:
    assert ranking().add_missing([7]).add_missing([7, 8]).compute().n_missing == 3


FAILING: dict[str, Callable[[se.RankingAccumulator], object]] = {
    "a bad row among good ones": lambda acc: acc.update([1, -1], [1, 1], query=[1, 2]),
    "a bad row of an open query": lambda acc: acc.update(
        [1, -1], [1, 1], query=[7, 7], partial=True
    ),
    "an open query in a complete batch": lambda acc: acc.update([1, 1], [1, 1], query=[1, 7]),
    "another number": lambda acc: acc.update(
        [1], [1], query=[7], num_relevant={7: 3}, partial=True
    ),
    "too many relevant": lambda acc: acc.update([1] * 5, [1] * 5, query=[7] * 5, partial=True),
    "too many open": lambda acc: acc.update([1, 1], [1, 1], query=[1, 2], partial=True),
    "too many open after a merge": lambda acc: acc.merge(one(1, **OPTIONS) + one(2, **OPTIONS)),
    "another number after a merge": lambda acc: acc.merge(
        ranking("map", **OPTIONS).update([1], [1], query=[7], num_relevant={7: 2}, partial=True)
    ),
    "a known query after a merge": lambda acc: acc.merge(one(1, **OPTIONS).close(), acc),
    "strings": lambda acc: acc.update([1], [1], query=["a"], partial=True),
    "a query closed that is not open": lambda acc: acc.close([7, 9]),
    "a query closed twice": lambda acc: acc.close([7, 7]),
    "a missing query that is open": lambda acc: acc.add_missing([1, 7]),
    "a missing query that is counted": lambda acc: acc.add_missing([1, 9]),
    "a run with a bad score": lambda acc: acc.update_run(
        {1: {"d": 1}, 2: {"d": NAN}}, {1: {"d": 1}, 2: {"d": 1}}
    ),
    "a run with a counted query": lambda acc: acc.update_run({1: {"d": 1}, 9: {"d": 1}}, JUDGED),
    "judgements of a counted query": lambda acc: acc.update_run({1: {"d": 1}}, JUDGED),
    "a run that is none": lambda acc: acc.update_run(
        {1: {"d": 1}, 2: 5}, {1: {"d": 1}, 2: {"d": 1}}
    ),
    "a listener that fails": lambda acc: acc.update([1], [1], query=[1], on_queries=fail),
    "a listener that fails at missing queries": lambda acc: acc.add_missing(["z"], on_queries=fail),
    "a listener that fails at the end": lambda acc: acc.close(on_queries=fail),
    "a listener that fails in a run": lambda acc: acc.update_run(
        {1: {"d": 1}}, {1: {"d": 1}}, on_queries=fail
    ),
}
OPTIONS = {"track_queries": True, "max_open_queries": 2}
JUDGED = {1: {"d": 1}, 9: {"d": 1}}


def fail(_: Any) -> None:
    raise RuntimeError("no space left on device")


@pytest.mark.parametrize("claim", FAILING)
def test_failure_leaves_the_accumulator_as_it_was(
    claim: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streameval.inputs.judged_runs._BLOCK", 1)
    accumulator = ranking("map", **OPTIONS).update([1], [1], query=[9])
    accumulator.update([1], [1], query=[7], num_relevant={7: 4}, partial=True)
    before = accumulator.to_bytes()
    with pytest.raises((se.StreamevalError, RuntimeError)):
        FAILING[claim](accumulator)
    assert accumulator.to_bytes() == before


def test_open_queries_are_counted_against_the_most_there_may_be() -> None:
    accumulator = one(1, max_open_queries=2)
    accumulator.update([1, 1], [1, 2], query=[1, 2], partial=True)
    accumulator.close([1]).update([1], [1], query=[3], partial=True)
    assert accumulator.compute().n_open == 2


def full(rows: int, **columns: int) -> se.RankingAccumulator:
    """An open query of so many rows, all tied and relevant."""
    accumulator = one(**columns)
    numbers = Column(np.array([rows]))
    names = ("rows", "relevant", "found", "ranked_count")
    accumulator._state = attrs.evolve(accumulator._state, **dict.fromkeys(names, numbers))
    return se.from_bytes(accumulator.to_bytes())


def test_query_has_as_many_rows_as_can_be_counted_and_no_more() -> None:
    accumulator = full(MAX_ROWS - 1).update([1], [1], query=[7], partial=True)
    assert accumulator == full(MAX_ROWS)
    for other in (one(), full(MAX_ROWS)):
        with pytest.raises(se.CountOverflowError, match=f"past {MAX_ROWS}"):
            accumulator.merge(other)
    assert accumulator == full(MAX_ROWS)


def test_query_has_as_many_unretrieved_rows_as_can_be_counted_and_no_more() -> None:
    accumulator = ranking("ndcg", relevance_level=2)
    row = {"relevance": [1], "score": [1], "query": [7], "retrieved": [False]}
    accumulator.update(row, partial=True)
    most = Column(np.array([MAX_ROWS]))
    accumulator._state = attrs.evolve(accumulator._state, gained_count=most)
    assert se.from_bytes(accumulator.to_bytes()) == accumulator
    with pytest.raises(se.CountOverflowError, match=f"past {MAX_ROWS}"):
        accumulator.update(row, partial=True)


@pytest.mark.slow
def test_open_queries_take_little_memory() -> None:
    queries, random = 50_000, np.random.default_rng(4)
    accumulator = ranking(["mrr@10", "ndcg@10", "p@10", "r@10", "hit@10"])
    for _ in range(2):
        relevance = random.choice([0, 0, 0, 1, 2], (queries, 10))
        score = random.normal(size=(queries, 10))
        accumulator.update(relevance, score, query=np.arange(queries), partial=True)
    assert accumulator.compute().n_open == queries
    assert len(accumulator.to_bytes()) <= 600 * queries


RUN = {
    "q1": {"d1": 0.9, "d2": 0.8, "d3": 0.7},
    "q2": {"d1": 0.5},
    "not judged": {"d1": 1.0},
}
QRELS = {
    "q1": {"d2": 1, "d3": 0, "d4": 1},
    "q2": {"d1": 0, "d2": 0},
    "not run": {"d1": 1},
}


def test_run_is_counted_against_its_judgements() -> None:
    result = ranking(["map", "judged@2"]).update_run(RUN, QRELS).compute(missing="skip")
    assert (result.n_queries, result.n_empty, result.n_missing) == (2, 1, 1)
    assert result.map == (1 / 2 / 2) / 2
    assert result["judged@2"] == (1 / 2 + 1 / 1) / 2


@each("ties", ["expected", "docid_desc"])
def test_run_is_the_rows_of_its_documents(ties: Any) -> None:
    rows = {
        "query": ["q1"] * 4 + ["q2"] * 2,
        "doc": ["d1", "d2", "d3", "d4", "d1", "d2"],
        "score": [0.9, 0.8, 0.7, NAN, 0.5, NAN],
        "relevance": [NAN, 1, 0, 1, 0, 0],
        "retrieved": [True, True, True, False, True, False],
    }
    counted = ranking(ties=ties).update_run(RUN, QRELS, count_missing=False)
    assert counted == ranking(ties=ties).update(rows)


@pytest.mark.parametrize("size", [1, 3, 5, 100])
def test_run_is_counted_in_blocks_of_any_size(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = ranking(per_query=True).update_run(RUN, QRELS)
    monkeypatch.setattr("streameval.inputs.judged_runs._BLOCK", size)
    assert ranking(per_query=True).update_run(RUN, QRELS) == expected


def test_parts_of_a_run_on_workers_are_the_run() -> None:
    parts = [
        ranking().update_run({query: documents}, QRELS, count_missing=False)
        for query, documents in RUN.items()
    ]
    assert se.merge(parts).add_missing(["not run"]) == ranking().update_run(RUN, QRELS)


def test_run_without_documents_is_all_missing() -> None:
    result = ranking("map").update_run({}, QRELS).compute()
    assert (result.n_queries, result.n_missing, result.map) == (0, 3, 0.0)


def test_listener_is_given_the_values_of_each_query() -> None:
    heard: list[Any] = []
    accumulator = ranking(["map", "p@2"])
    accumulator.update(BLOCK, on_queries=heard.append)
    accumulator.update(ROWS | {"query": list("abcdef")}, partial=True)
    accumulator.close(["b"], on_queries=heard.append).close(on_queries=heard.append)
    accumulator.update_run(RUN, QRELS, on_queries=heard.append)
    expected = [[-3, 7], ["b"], [*"acdef"], ["q1", "q2"], ["not run"]]
    assert [part["query"].tolist() for part in heard] == expected
    assert [list(part) for part in heard] == [["query", "map", "p@2"]] * 5
    assert heard[0]["map"].tolist() == pytest.approx([1 / 2, (1 / 2 + 2 / 3) / 2])
    assert not accumulator.compute().has_queries


def test_listener_is_told_of_missing_queries_where_they_count() -> None:
    heard: list[Any] = []
    ranking("map", missing="skip").add_missing(["a"], on_queries=heard.append)
    ranking("map").add_missing([], on_queries=heard.append)
    assert heard == []
    ranking("map").add_missing(["b", "a"], on_queries=heard.append)
    assert [part["query"].tolist() for part in heard] == [["a", "b"]]
    assert heard[0]["map"].tolist() == [0.0, 0.0]


def test_listener_hears_nothing_of_open_queries() -> None:
    heard: list[Any] = []
    ranking().update(ROWS, partial=True, on_queries=heard.append)
    assert heard == []
