"""Every message of rankings: provoked, whole, and naming the argument to blame."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from offenders import each
from unit.test_messages import Case, check_message, missed_raises

import streameval as se
from streameval.states.column import Column
from streameval.states.queries import MAX_ROWS

MODULES = [
    "accumulators.ranking",
    "accumulators.ranked_rows",
    "inputs.judged_runs",
    "exact.row_order",
    "configs.measures.names",
    "configs.measures.requested",
    "configs.measures.trec_eval",
    "configs.ranking",
    "states.queries",
    "states.ranking",
    "metrics.ranks",
    "metrics.rank_measures",
    "metrics.cascades",
    "metrics.ranking",
    "results.ranking",
]

NAN = float("nan")
BLOCK = {"relevance": [[1, 0], [0, 1]], "score": [[0.5, 0.25], [0.5, 0.25]]}
ROWS = {"relevance": [1, 0], "score": [0.5, 0.25], "query": [7, 7]}


def make(id: str, says: str, measures: Any = "map", **options: Any) -> Case:  # noqa: A002
    """Fail in the constructor."""
    return Case(id, lambda: se.RankingAccumulator(measures, **options), says)


def update(
    id: str,  # noqa: A002 - the word for it in pytest
    says: str,
    options: dict[str, Any] | None = None,
    kind: type[Exception] = se.InvalidInputError,
    **arguments: Any,
) -> Case:
    """Fail in an update with arguments changed from those of a good block, or of good rows."""
    usual = ROWS if "rows" in arguments else BLOCK
    changed = usual | {name: item for name, item in arguments.items() if name != "rows"}
    return Case(id, lambda: se.RankingAccumulator(**(options or {})).update(**changed), says, kind)


def later(
    id: str,  # noqa: A002 - the word for it in pytest
    says: str,
    then: Callable[[se.RankingAccumulator], object],
    kind: type[Exception] = se.InvalidInputError,
    **options: Any,
) -> Case:
    """Fail after query 7 was counted and query 8 was left open."""

    def provoke() -> object:
        accumulator = se.RankingAccumulator("map", **options).update(**ROWS)
        return then(accumulator.update([1], [0.5], query=[8], partial=True))

    return Case(id, provoke, says, kind)


def numbered(query: int | str, **others: Any) -> se.RankingAccumulator:
    """One open query."""
    accumulator = se.RankingAccumulator("map", track_queries=True)
    return accumulator.update([1], [1], query=[query], partial=True, **others)


def almost_full() -> se.RankingAccumulator:
    """An open query that has as many rows as any may have, all tied."""
    accumulator = numbered(7)
    full = Column(np.array([MAX_ROWS]))
    changed = dict.fromkeys(("rows", "relevant", "found", "ranked_count"), full)
    accumulator._state = attrs.evolve(accumulator._state, **changed)
    return accumulator


OPTIONS = [
    make("number", "`measures` must be a sequence of names, whose order counts, got int.", 5),
    make("set", "`measures` must be a sequence of names, whose order counts, got set.", {"map"}),
    make("none", "`measures` must hold at least one name.", []),
    make("no-name", "`measures` must hold names, got None.", ["map", None]),
    make(
        "unknown", "`measures` has no 'gini': choose from map, mrr, ndcg, dcg, p, r, hit,", "gini"
    ),
    make("unknown-got", "`measures` has no 'p @ x'", "p @ x"),
    make("twice", "`measures` must be distinct, got 'map' twice.", ["map", "AP"]),
    make("no-cutoff", "`measures` needs a cutoff for 'p', as in p@10.", "p"),
    make(
        "implied-two",
        "`measures` must agree on `unjudged`, which the whole accumulator has, got "
        "'AP(judged_only=True)' and 'RR'. Count them in two accumulators of a Collection.",
        ["AP(judged_only=True)", "RR"],
    ),
    make(
        "implied-other",
        "`gain` must agree with `measures`, which ask for 'exp2', got ((0.0, 0.0), (1.0, 2.0)).",
        "nDCG(dcg='exp-log2')",
        gain={1: 2},
    ),
    Case(
        "implied-preset",
        lambda: se.RankingAccumulator.like("ltr", ["AP(judged_only=1)"], unjudged="nonrelevant"),
        "`measures` needs True or False after judged_only=, got 'AP(judged_only=1)'.",
    ),
    Case(
        "implied-override",
        lambda: se.RankingAccumulator.like("ltr", "nDCG(dcg=log2)", gain="exp2"),
        "`gain` must agree with `measures`, which ask for 'linear', got 'exp2'.",
    ),
    Case(
        "quantile",
        lambda: se.RankingAccumulator("map", per_query=True).compute().quantile("map", 2),
        "`q` must lie in [0, 1], got 2.",
    ),
    make("gains", "`measures` needs pairs of a relevance and a gain after gains=", "nDCG(gains=1)"),
    make("gains-p", "`measures` accepts rel= in the brackets of 'p'", "P(gains=1)@3"),
    make("form", "`measures` needs 'log2' or 'exp-log2' after dcg=", "nDCG(dcg=log)"),
    make("weight", "`measures` needs a beta= of 0 to 1e+06, got 'SetF(beta=-1)'.", "SetF(beta=-1)"),
    make("trec-number", "`measures` needs numbers after P., as in P.5,10, got 'P.5,x'.", "P.5,x"),
    make("recall-none", "`measures` needs recall= in brackets, as in iprec(recall=0.2)", "iprec"),
    make("recall-high", "`measures` needs a recall= of 0 to 1, got 'IPrec@1.5'.", "IPrec@1.5"),
    make("times-none", "`measures` needs times= in brackets, as in", "rprec_mult"),
    make("times-0", "`measures` needs a times= above 0 and at most 1000", "rprec_mult(times=0)"),
    make("residual", "`measures` needs a p= above 0 and below 1", "rbp_resid(p=1)"),
    make(
        "order",
        "`ties` must be 'docid_desc' for g, which depends on the whole order, got 'pessimistic'.",
        "g",
        ties="pessimistic",
    ),
    make("order-some", "`ties` must be 'docid_desc' or 'pessimistic' or", ["map", "11pt_avg"]),
    make("cut", "`measures` must not cut 'rprec', got 'rprec@5'.", "rprec@5"),
    make("cut-rbp", "`measures` must not cut 'rbp', got 'RBP(p=0.5)@5'.", "RBP(p=0.5)@5"),
    make("cut-at-0", "`measures` must cut p at 1 to 2147483647 ranks, got 'p@0'.", "p@0"),
    make("cut-far", "`measures` must cut p at 1 to 2147483647 ranks", "p@2147483648"),
    make("cut-stops", "`measures` must cut err at 1 to 1000 ranks, got 'err@1001'.", "err@1001"),
    make("cut-longer", "`measures` must cut p at 1 to 2147483647 ranks", f"p@{'1' * 5000}"),
    make("brackets", "`measures` accepts rel= in the brackets of 'p', got 'p(x=1)@5'.", "p(x=1)@5"),
    make("brackets-none", "accepts nothing in the brackets of 'ndcg'", "ndcg(rel=1)@5"),
    make("brackets-two", "accepts p= and rel= in the brackets of 'rbp'", "rbp(q=1)"),
    make("brackets-twice", "accepts p= and rel= in the", "rbp(p=0.5,p=0.5)"),
    make("brackets-word", "`measures` needs a number after rel=, got 'p(rel=x)@1'.", "p(rel=x)@1"),
    make("brackets-inf", "`measures` needs a finite rel=, got 'p(rel=inf)@1'.", "p(rel=inf)@1"),
    make("persistence", "`measures` needs a p= above 0 and below 1, got 'rbp(p=1)'.", "rbp(p=1)"),
    make("grades", "`measures` needs a whole max= of 1 to 62, got", "err(max=1.5)@3"),
    make("grades-many", "`measures` needs a whole max= of 1 to 62, got", "err(max=63)@3"),
    make("level", "`relevance_level` must be a finite number, got nan.", relevance_level=NAN),
    make("gain", '`gain` must be "linear" or "exp2", got \'exp\'.', gain="exp"),
    make("gain-negative", "`gain` must map to numbers of 0 to 2**400, got -1.0 for", gain={1: -1}),
    make("gain-huge", "`gain` must map to numbers of 0 to 2**400", gain={1: 1e300}),
    make("gain-nan", "`gain` must be a finite number, got nan.", gain={1: NAN}),
    make("gain-level", "`gain` must be a finite number, got inf.", gain={float("inf"): 1}),
    make("gain-none", "`gain` must map at least one level.", gain={}),
    make("ties", '`ties` must be "expected" or "docid_desc" or', ties="first"),
    make("norm", '`ap_norm` must be "R" or "min", got \'r\'.', ap_norm="r"),
    make("unjudged", '`unjudged` must be "nonrelevant" or "drop"', unjudged="zero"),
    make("negative", '`negative` must be "raise" or "zero"', negative="skip"),
    make("nan", '`nan` must be "raise" or "last", got \'skip\'.', nan="skip"),
    make("empty", '`empty` must be "zero" or "skip" or "one" or "nan", got 0.', empty=0),
    make("empty-word", '`empty` must be "zero" or', empty={"map": "two"}),
    make("empty-name", "`empty` must name measures among map, got 'mrr'.", empty={"RR": "one"}),
    make("missing", '`missing` must be "zero" or "skip", got \'one\'.', missing="one"),
    make("missing-name", "`missing` must name measures among map,", missing={"mrr": "skip"}),
    make("missing-kind", "`measures` must hold names, got 3.", missing={3: "skip"}),
    make("track", "`track_queries` must be True or False, got 1.", track_queries=1),
    make("rows", "`rows_per_query` must be an integer of at least 1, got 0.", rows_per_query=0),
    make("open", "`max_open_queries` must be an integer of at lea", max_open_queries=0),
    make("values", "`per_query` must be True or False, got None.", per_query=None),
    Case("like", lambda: se.RankingAccumulator.like("trec"), '`name` must be "trec_eval" or "skl'),
    Case(
        "like-option",
        lambda: se.RankingAccumulator.like("ltr", gain="exp"),
        '`gain` must be "linear" or',
    ),
]

BATCHES = [
    update("relevance-shape", "`relevance` must have shape (queries, candi", relevance=[[[1]]]),
    update("relevance-scalar", "or (n,) with `query`, got a scalar.", relevance=1),
    update(
        "relevance-text", "`relevance` must hold scores, got strings.", relevance=[["a"] * 2] * 2
    ),
    update("score-shape", "`score` must have the shape of `relevance`, (2, 2), got", score=[[1]]),
    update("score-text", "`score` must hold scores, got strings.", score=[["a"] * 2] * 2),
    update(
        "score-nan",
        "`score` must not hold NaN, got NaN at position (1, 0). P",
        score=[[0, 1], [NAN, 1]],
    ),
    update(
        "relevance-huge",
        "`relevance` must be at most 2**400 in magnitude",
        relevance=[[1e300, 0]] * 2,
    ),
    update(
        "relevance-inf", "in magnitude, got inf at position (0, 1).", relevance=[[0, np.inf]] * 2
    ),
    update(
        "relevance-negative",
        '`relevance` must not be negative (see negative="zero"), got -1.0 at position (0, 1).',
        relevance=[[0, -1]] * 2,
    ),
    update(
        "relevance-unmapped",
        "`relevance` must hold levels that `gain` maps, got 3.0 at position (0, 0).",
        {"gain": {1: 1}},
        relevance=[[3, 1]] * 2,
    ),
    update(
        "relevance-unmapped-negative",
        "`relevance` must hold levels that `gain` maps, got -1.0",
        {"gain": {1: 1}},
        relevance=[[-1, 1]] * 2,
    ),
    update(
        "relevance-half",
        '`relevance` must be whole and at most 62 for gain="exp2", got 0.5 at',
        {"gain": "exp2"},
        relevance=[[0.5, 1]] * 2,
    ),
    update("relevance-63", "at most 62 for", {"gain": "exp2"}, relevance=[[63, 1]] * 2),
    update(
        "grade-half",
        "`relevance` must be whole and at most 4 for err, got 0.5 at",
        {"measures": "err@1"},
        relevance=[[0.5, 1]] * 2,
    ),
    update(
        "grade-high",
        "`relevance` must be whole and at most 2 for err, got 3.0 at",
        {"measures": ["err@1", "err(max=2)@5"]},
        relevance=[[3, 1]] * 2,
    ),
    update("query-missing", "`query` is missing: pass the query of each row", rows=1, query=None),
    update("query-open", "`query` is missing: queries that go on need ids.", partial=True),
    update("query-kept", "`query` is missing: the ids", {"track_queries": True}),
    update("query-told", "`query` is missing: `on_queries` needs ids.", on_queries=print),
    update(
        "query-empty",
        "`query` must have no rows, as `relevance` has none, got (1,).",
        relevance=[],
        score=np.zeros((0, 3)),
        query=[1],
    ),
    update("query-rows", "`query` must have 2 rows, got 1.", rows=1, query=[1]),
    update("query-shape", "`query` must have shape (n,), got (1, 2).", query=[[1, 2]]),
    update("query-half", "`query` must hold labels, whole if numbers, got 0.5", query=[1, 0.5]),
    update("query-twice", "`query` must be distinct, got 3 twice.", query=[3, 3]),
    update("query-twice-text", "`query` must be distinct, got 'a' twice.", query=["a", "a"]),
    update("query-surrogate", "`query` must be Unicode text", query=["\ud800", "a"]),
    update(
        "mask-shape", "`mask` must have the shape of `relevance`, (2, 2), got (2,).", mask=[1, 0]
    ),
    update("mask-2", "`mask` must hold 0 and 1, got 2", mask=[[1, 2], [1, 1]]),
    update("mask-half", "`mask` must hold labels, whole if numbers, got 0.5", mask=[[0.5, 1]] * 2),
    update("retrieved-shape", "`retrieved` must have the shape of `relevance`", retrieved=[[1]]),
    update("doc-shape", "`doc` must have the shape of `relevance`, (2, 2), got (2,).", doc=[1, 2]),
    update(
        "doc-twice", "`doc` must be distinct in a query, got 5 twice in one.", doc=[[1, 2], [5, 5]]
    ),
    update("doc-text", "got 'a' twice in one.", rows=1, doc=["a", "a"]),
    update("doc-missing", '`doc` is missing: ties="docid_desc" needs', {"ties": "docid_desc"}),
    update("partial", "`partial` must be True or False, got 1.", partial=1),
    update(
        "declared-levels",
        "`num_relevant` is one number, but the measures have several rele",
        {"measures": ["map", "p(rel=2)@1"]},
        num_relevant=[2, 2],
    ),
    update(
        "declared-gains",
        "`num_relevant` is not enough for gains other than 0 and 1. Pass",
        relevance=[[2, 0]] * 2,
        num_relevant=[2, 2],
    ),
    update("declared-mapping", "`num_relevant` must be an array here", num_relevant={1: 2}),
    update("declared-rows", "`num_relevant` must have 2 rows, got 1.", num_relevant=[1]),
    update(
        "declared-text", "`num_relevant` must hold numbers, got strings.", num_relevant=["1", "2"]
    ),
    update("declared-half", "`num_relevant` must hold labels, whole if", num_relevant=[0.5, 1]),
    update(
        "declared-negative",
        "`num_relevant` must lie in 0 to 16777216, got -1 at position 1.",
        num_relevant=[9, -1],
        query=[5, 3],
    ),
    update(
        "declared-huge", "`num_relevant` must lie in 0 to 16777216, got 1", num_relevant=[9, 2**60]
    ),
    update(
        "declared-array",
        "`num_relevant` must map the id of each query to a number here, got list.",
        rows=1,
        num_relevant=[1],
    ),
    update(
        "declared-absent",
        "`num_relevant` must have a number for each query, not for 7.",
        rows=1,
        num_relevant={8: 1},
    ),
    update(
        "declared-key",
        "`num_relevant` must be an integer or a string",
        rows=1,
        num_relevant={None: 1},
    ),
    update(
        "declared-less",
        "`num_relevant` must not be less than the relevant rows given, got 0 for 1.",
        rows=1,
        num_relevant={7: 0},
    ),
    update("weight-mapping", "`query_weight` must be an array: the qu", query_weight={1: 2}),
    update("weight-rows", "`query_weight` must have 2 rows, got 1.", query_weight=[1]),
    update("weight-negative", "`query_weight` must not be negative", query_weight=[1, -1]),
    update("weight-nan", "`query_weight` must be finite, got nan", query_weight=[1, NAN]),
    update(
        "weight-absent",
        "`query_weight` must have a number for each query, not for 7.",
        rows=1,
        query_weight={8: 1},
    ),
    Case(
        "weights-of-one",
        lambda: se.RankingAccumulator().update(
            [1, 0, 1], [2, 1, 1], query=["a", "b", "a"], query_weight=[0.5, 2, 1]
        ),
        "`query_weight` must be the same in all rows of a query, got 0.5 and 1 for query 'a'.",
    ),
    Case("alone", lambda: se.RankingAccumulator().update([[1]]), "`score` is missing"),
    Case(
        "column", lambda: se.RankingAccumulator().update({"score": [1]}), "`relevance` is missing"
    ),
]

LATER = [
    later(
        "counted",
        "`query` holds 7, which has been counted.",
        lambda acc: acc.update(**ROWS),
        track_queries=True,
    ),
    later(
        "open-again",
        "`query` holds 8, which is open: close it instead.",
        lambda acc: acc.update([1], [1], query=[8]),
    ),
    later(
        "counted-open",
        "`query` holds 7, which has been counted.",
        lambda acc: acc.update(**ROWS, partial=True),
        per_query=True,
    ),
    later(
        "missing-counted",
        "`ids` holds 7, which has been",
        lambda acc: acc.add_missing([7]),
        track_queries=True,
    ),
    later("missing-open", "`ids` holds 8, which is open", lambda acc: acc.add_missing([8])),
    later(
        "missing-twice", "`ids` must be distinct, got 1 twice.", lambda acc: acc.add_missing([1, 1])
    ),
    later(
        "missing-shape",
        "`ids` must have shape (n,), got (1, 1).",
        lambda acc: acc.add_missing([[1]]),
    ),
    later(
        "missing-text",
        "`ids` must hold numbers as before, got strings.",
        lambda acc: acc.add_missing(["a"]),
    ),
    later("close-unknown", "`ids` must be open queries, got 7.", lambda acc: acc.close([7, 8])),
    later("close-twice", "`ids` must be distinct, got 8 twice.", lambda acc: acc.close([8, 8])),
    later(
        "close-text",
        "`ids` must hold numbers as before, got strings.",
        lambda acc: acc.close(["8"]),
    ),
    later(
        "many-open",
        "`query` would bring the number of open queries to 2, past max_open_queries=1. Close",
        lambda acc: acc.update([1], [1], query=[9], partial=True),
        max_open_queries=1,
    ),
    later(
        "report-level",
        "`level` must lie in [0, 1), got 95.0.",
        lambda acc: acc.compute().confidence("map", level=95),
    ),
    later(
        "no-values",
        "`per_query` must be True when the accumulator is made.",
        lambda acc: acc.compute().per_query(),
    ),
    later("compute-empty", '`empty` must be "zero" or "skip"', lambda acc: acc.compute(empty="0")),
    later(
        "compute-missing",
        '`missing` must be "zero" or "skip"',
        lambda acc: acc.compute(missing="nan"),
    ),
    Case(
        "strings-after",
        lambda: numbered(7).update([1], [1], query=["a"], partial=True),
        "`query` must hold numbers as before, got strings.",
    ),
    Case(
        "numbers-after",
        lambda: numbered("a").update([1], [1], query=[7], partial=True),
        "`query` must hold strings as before, got numbers.",
    ),
    Case(
        "declared-other",
        lambda: numbered(7, num_relevant={7: 5}).update(
            [1], [1], query=[7], num_relevant={7: 6}, partial=True
        ),
        "`num_relevant` must be the same in all batches of a query, got 5 and 6 for query 7.",
    ),
    Case(
        "weight-other",
        lambda: numbered(7, query_weight=[2]).update([1], [1], query=[7], partial=True),
        "`query_weight` must be the same in all batches of a query, got 2 and 1 for query 7.",
    ),
    Case(
        "weight-other-fraction",
        lambda: numbered(7).merge(numbered(7, query_weight=[1.5])),
        "`query_weight` must be the same in all batches of a query, got 1 and 1.5 for query 7.",
    ),
    Case(
        "budget", lambda: se.RankingAccumulator("map", budget=5), "`budget` is for quantiles over"
    ),
    Case(
        "quantile-name",
        lambda: se.RankingAccumulator("map[q=1.5]"),
        "`measures` needs min, median, max or a share as in q=0.9 in the brackets of a measure, ",
    ),
    Case(
        "quantile-outside",
        lambda: MAP.compute().quantile("map", 1.5),
        "`q` must lie in [0, 1], got 1.5.",
    ),
    Case(
        "quantile-absent",
        lambda: MAP.compute().quantile("map"),
        "`per_query` must be True when the accumulator is made, or its measures name a quantile, ",
    ),
    Case(
        "weight-fractions",
        lambda: (
            se.RankingAccumulator("map")
            .update([[1]], [[1]], query_weight=[0.5])
            .compute()
            .confidence("map")
        ),
        "`query_weight` had fractions, and a fraction of a query is not a draw: there is nei",
    ),
    Case(
        "declared-passed",
        lambda: numbered(7, num_relevant={7: 1}).update([1], [1], query=[7], partial=True),
        "`num_relevant` must not be less than the relevant rows given, got 1 for 2.",
    ),
    update(
        "query-weight-past",
        "`query_weight` would bring the total past 2**63 - 1.",
        kind=se.CountOverflowError,
        query_weight=[2**62, 2**62],
    ),
    Case(
        "rows-past",
        lambda: almost_full().update([1], [1], query=[7], partial=True),
        "`query` would give a query 16777217 rows, past 16777216.",
        se.CountOverflowError,
    ),
]

MERGES = [
    Case(
        "merge-counted",
        lambda: numbered(7).close() + numbered(7).close(),
        "cannot merge: query 7 is in both.",
        se.IncompatibleStateError,
    ),
    Case(
        "merge-counted-text",
        lambda: numbered("a").close() + numbered("a").close(),
        "cannot merge: query 'a' is in both.",
        se.IncompatibleStateError,
    ),
    Case(
        "merge-closed-open",
        lambda: numbered(7).close() + numbered(7),
        "cannot merge: query 7 is closed in one and open in the other.",
        se.IncompatibleStateError,
    ),
    Case(
        "merge-open-closed",
        lambda: numbered(7) + numbered(7).close(),
        "cannot merge: query 7 is closed in one and open in the other.",
        se.IncompatibleStateError,
    ),
    Case(
        "merge-words",
        lambda: numbered(7) + numbered("a"),
        "cannot merge: `query` holds strings in one and numbers in the other.",
        se.IncompatibleStateError,
    ),
    Case(
        "merge-words-open",
        lambda: numbered(7).close() + numbered("a"),
        "cannot merge: `query` holds strings in one and numbers in the other.",
        se.IncompatibleStateError,
    ),
    Case(
        "merge-words-closed",
        lambda: numbered(7).close() + numbered("a").close(),
        "cannot merge: `query` holds strings in one and numbers in the other.",
        se.IncompatibleStateError,
    ),
]


def judgements() -> Any:
    columns = np.array(["q"], dtype=object), np.array(["d"], dtype=object), np.ones(1)
    return se.io.Qrels(*columns)


def returned() -> Any:
    columns = np.array(["q"], dtype=object), np.array(["d"], dtype=object), np.ones(1)
    return se.io.Run(*columns)


def run(id: str, says: str, run: Any = None, qrels: Any = None, **others: Any) -> Case:  # noqa: A002
    """Fail in counting a run."""
    run = {"q": {"d": 1.0}} if run is None else run
    qrels = {"q": {"d": 1}} if qrels is None else qrels
    return Case(id, lambda: se.RankingAccumulator().update_run(run, qrels, **others), says)


RUNS = [
    run("run", "`run` must map queries to documents with scores, got list.", []),
    run("qrels", "`qrels` must map queries to documents with relevances, got str.", None, "q"),
    run(
        "run-list",
        "`run` must map each query to a mapping of documents, got list for 'q'.",
        {"q": ["d"]},
    ),
    run("qrels-set", "`qrels` must map each query to a mapping of doc", None, {"q": {"d"}}),
    run("run-nan", "`score` must not hold NaN", {"q": {"d": NAN}}),
    run("qrels-negative", "`relevance` must not be negative", None, {"q": {"d": -1}}),
    Case(
        "rows-exchanged",
        lambda: se.RankingAccumulator().update([[0.5, 0.25]], [[1, 0]]),
        "`relevance` holds fractions, and `score` small whole numbers: they are exchanged. Pass "
        "the relevance first, then the scores; scores that are such numbers, as floats.",
    ),
    Case(
        "run-exchanged",
        lambda: se.RankingAccumulator().update_run(judgements(), {"q": {"d": 1}}),
        "`run` must hold scores, got judgements. Pass the run first, then the judgements.",
    ),
    Case(
        "qrels-exchanged",
        lambda: se.RankingAccumulator().update_run({"q": {"d": 1}}, returned()),
        "`qrels` must hold judgements, got a run. Pass the run first, then the judgements.",
    ),
    run(
        "run-weights",
        "`query_weight` must map queries to numbers here, got list.",
        query_weight=[1],
    ),
    run("count-missing", "`count_missing` must be True or False, got 0.", count_missing=0),
    Case(
        "run-again",
        lambda: numbered("q").close().update_run({"q": {"d": 1}}, {"q": {"d": 1}}),
        "`run` holds 'q', which has been counted.",
    ),
    Case(
        "qrels-again",
        lambda: numbered("q").close().update_run({}, {"q": {"d": 1}}),
        "`qrels` holds 'q', which has been counted.",
    ),
]

CASES = [*OPTIONS, *BATCHES, *LATER, *MERGES, *RUNS]

MAP = se.RankingAccumulator("map")
UNDEFINED = se.RankingAccumulator("map", empty="nan").update([[0]], [[1.0]])
OF_MAPPINGS = [
    Case("key", lambda: MAP.compute()["mrr"], "'mrr' is not among the measures map", KeyError),
    Case("of", lambda: MAP.compute()["map[mean]"], "`measures` needs min, median, max", KeyError),
    Case(
        "quantile",
        lambda: MAP.compute()["map[min]"],
        r"'map\[min\]' is not among the measures map",
        KeyError,
    ),
    Case("attribute", lambda: MAP.compute().mrr, "'mrr' is not among", AttributeError),
    Case("plot", lambda: MAP.compute().plot(), "`plot` needs a query that was counted."),
    Case(
        "statistic",
        lambda: UNDEFINED.compute().statistic("map"),
        '`map` is undefined: a query has nothing to find, and counts as "nan"',
    ),
]
"""What mappings and attributes raise by custom."""


@each("case", CASES)
def test_message_is_whole_and_names_the_argument(case: Case) -> None:
    check_message(case)


@each("case", OF_MAPPINGS)
def test_error_of_a_mapping_lists_the_measures(case: Case) -> None:
    with pytest.raises(case.kind, match=case.says):
        case.provoke()


def test_every_raise_statement_is_provoked() -> None:
    assert missed_raises(MODULES, [*CASES, *OF_MAPPINGS]) == []


def test_cases_have_distinct_ids() -> None:
    ids = [case.id for case in CASES]
    assert len(ids) == len(set(ids))


def test_options_that_equal_valid_ones_are_checked_too() -> None:
    se.RankingAccumulator(["map"], relevance_level=1, rows_per_query=10)
    with pytest.raises(se.InvalidInputError, match="`relevance_level`"):
        se.RankingAccumulator(["map"], relevance_level=True, rows_per_query=10)
