"""Every message of rankings: provoked, whole, and naming the argument to blame."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from offenders import each
from unit.test_messages import Case, check_message, check_messages, missed_raises

import streameval as se
from streameval.states.column import Column
from streameval.states.queries import MAX_ROWS

MODULES = [
    "accumulators.ranking",
    "accumulators.ranked_rows",
    "inputs.judged_runs",
    "exact.row_order",
    "configs.measures",
    "configs.measures.requested",
    "configs.measures.trec_eval",
    "configs.ranking",
    "states.queries",
    "states.ranking",
    "metrics.ranks",
    "metrics.rank_measures",
    "metrics.cascades",
    "metrics.ranking",
    "metrics.ranking_table",
    "results.ranking",
]

NAN = float("nan")
BLOCK = {"relevance": [[1, 0], [0, 1]], "score": [[0.5, 0.25], [0.5, 0.25]]}
ROWS = {"relevance": [1, 0], "score": [0.5, 0.25], "query": [7, 7]}


def make(id: str, measures: Any = "map", **options: Any) -> Case:  # noqa: A002
    """Fail in the constructor."""
    return Case(id, lambda: se.RankingAccumulator(measures, **options))


def update(
    id: str,  # noqa: A002 - the word for it in pytest
    options: dict[str, Any] | None = None,
    **arguments: Any,
) -> Case:
    """Fail in an update with arguments changed from those of a good block, or of good rows."""
    usual = ROWS if "rows" in arguments else BLOCK
    changed = usual | {name: item for name, item in arguments.items() if name != "rows"}
    return Case(id, lambda: se.RankingAccumulator(**(options or {})).update(**changed))


def later(
    id: str,  # noqa: A002 - the word for it in pytest
    then: Callable[[se.RankingAccumulator], object],
    **options: Any,
) -> Case:
    """Fail after query 7 was counted and query 8 was left open."""

    def provoke() -> object:
        accumulator = se.RankingAccumulator("map", **options).update(**ROWS)
        return then(accumulator.update([1], [0.5], query=[8], partial=True))

    return Case(id, provoke)


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
    make("number", 5),
    make("set", {"map"}),
    make("none", []),
    make("no-name", ["map", None]),
    make("unknown", "gini"),
    make("unknown-got", "p @ x"),
    make("twice", ["map", "AP"]),
    make("no-cutoff", "p"),
    make("implied-two", ["AP(judged_only=True)", "RR"]),
    make("implied-other", "nDCG(dcg='exp-log2')", gain={1: 2}),
    Case(
        "implied-preset",
        lambda: se.RankingAccumulator.like("ltr", ["AP(judged_only=1)"], unjudged="nonrelevant"),
    ),
    Case(
        "implied-override", lambda: se.RankingAccumulator.like("ltr", "nDCG(dcg=log2)", gain="exp2")
    ),
    Case(
        "quantile",
        lambda: se.RankingAccumulator("map", per_query=True).compute().quantile("map", 2),
    ),
    make("gains", "nDCG(gains=1)"),
    make("gains-p", "P(gains=1)@3"),
    make("form", "nDCG(dcg=log)"),
    make("weight", "SetF(beta=-1)"),
    make("trec-number", "P.5,x"),
    make("recall-none", "iprec"),
    make("recall-high", "IPrec@1.5"),
    make("times-none", "rprec_mult"),
    make("times-0", "rprec_mult(times=0)"),
    make("residual", "rbp_resid(p=1)"),
    make("order", "g", ties="pessimistic"),
    make("order-some", ["map", "11pt_avg"]),
    make("cut", "rprec@5"),
    make("cut-rbp", "RBP(p=0.5)@5"),
    make("cut-at-0", "p@0"),
    make("cut-far", "p@2147483648"),
    make("cut-stops", "err@1001"),
    make("cut-longer", f"p@{'1' * 5000}"),
    make("brackets", "p(x=1)@5"),
    make("brackets-none", "ndcg(rel=1)@5"),
    make("brackets-two", "rbp(q=1)"),
    make("brackets-twice", "rbp(p=0.5,p=0.5)"),
    make("brackets-word", "p(rel=x)@1"),
    make("brackets-inf", "p(rel=inf)@1"),
    make("persistence", "rbp(p=1)"),
    make("grades", "err(max=1.5)@3"),
    make("grades-many", "err(max=63)@3"),
    make("level", relevance_level=NAN),
    make("gain", gain="exp"),
    make("gain-texts", gain=("a", "b")),
    make("gain-numbers", gain=(0.5, 0.5)),
    make("gain-negative", gain={1: -1}),
    make("gain-huge", gain={1: 1e300}),
    make("gain-nan", gain={1: NAN}),
    make("gain-level", gain={float("inf"): 1}),
    make("gain-none", gain={}),
    make("ties", ties="first"),
    make("norm", ap_norm="r"),
    make("unjudged", unjudged="zero"),
    make("negative", negative="skip"),
    make("nan", nan="skip"),
    make("empty", empty=0),
    make("empty-word", empty={"map": "two"}),
    make("empty-name", empty={"RR": "one"}),
    make("missing", missing="one"),
    make("missing-name", missing={"mrr": "skip"}),
    make("missing-kind", missing={3: "skip"}),
    make("track", track_queries=1),
    make("rows", rows_per_query=0),
    make("open", max_open_queries=0),
    make("values", per_query=None),
    Case("like", lambda: se.RankingAccumulator.like("trec")),
    Case("like-option", lambda: se.RankingAccumulator.like("ltr", gain="exp")),
]

BATCHES = [
    update("relevance-shape", relevance=[[[1]]]),
    update("relevance-scalar", relevance=1),
    update("relevance-text", relevance=[["a"] * 2] * 2),
    update("score-shape", score=[[1]]),
    update("score-text", score=[["a"] * 2] * 2),
    update("score-nan", score=[[0, 1], [NAN, 1]]),
    update("relevance-huge", relevance=[[1e300, 0]] * 2),
    update("relevance-inf", relevance=[[0, np.inf]] * 2),
    update("relevance-negative", relevance=[[0, -1]] * 2),
    update("relevance-unmapped", {"gain": {1: 1}}, relevance=[[3, 1]] * 2),
    update("relevance-unmapped-negative", {"gain": {1: 1}}, relevance=[[-1, 1]] * 2),
    update("relevance-half", {"gain": "exp2"}, relevance=[[0.5, 1]] * 2),
    update("relevance-63", {"gain": "exp2"}, relevance=[[63, 1]] * 2),
    update("grade-half", {"measures": "err@1"}, relevance=[[0.5, 1]] * 2),
    update("grade-high", {"measures": ["err@1", "err(max=2)@5"]}, relevance=[[3, 1]] * 2),
    update("query-missing", rows=1, query=None),
    update("query-open", partial=True),
    update("query-kept", {"track_queries": True}),
    update("query-told", on_queries=print),
    update("query-empty", relevance=[], score=np.zeros((0, 3)), query=[1]),
    update("query-rows", rows=1, query=[1]),
    update("query-shape", query=[[1, 2]]),
    update("query-half", query=[1, 0.5]),
    update("query-twice", query=[3, 3]),
    update("query-twice-text", query=["a", "a"]),
    update("query-surrogate", query=["\ud800", "a"]),
    update("mask-shape", mask=[1, 0]),
    update("mask-2", mask=[[1, 2], [1, 1]]),
    update("mask-half", mask=[[0.5, 1]] * 2),
    update("retrieved-shape", retrieved=[[1]]),
    update("doc-shape", doc=[1, 2]),
    update("doc-twice", doc=[[1, 2], [5, 5]]),
    update("doc-text", rows=1, doc=["a", "a"]),
    update("doc-missing", {"ties": "docid_desc"}),
    update("partial", partial=1),
    update("declared-levels", {"measures": ["map", "p(rel=2)@1"]}, num_relevant=[2, 2]),
    update("declared-gains", relevance=[[2, 0]] * 2, num_relevant=[2, 2]),
    update("declared-mapping", num_relevant={1: 2}),
    update("declared-rows", num_relevant=[1]),
    update("declared-text", num_relevant=["1", "2"]),
    update("declared-half", num_relevant=[0.5, 1]),
    update("declared-negative", num_relevant=[9, -1], query=[5, 3]),
    update("declared-huge", num_relevant=[9, 2**60]),
    update("declared-array", rows=1, num_relevant=[2, 1]),
    update("declared-absent", rows=1, num_relevant={8: 1}),
    update("declared-key", rows=1, num_relevant={None: 1}),
    update("declared-less", rows=1, num_relevant={7: 0}),
    update("weight-mapping", query_weight={1: 2}),
    update("weight-rows", query_weight=[1]),
    update("weight-negative", query_weight=[1, -1]),
    update("weight-nan", query_weight=[1, NAN]),
    update("weight-absent", rows=1, query_weight={8: 1}),
    Case(
        "weights-of-one",
        lambda: se.RankingAccumulator().update(
            [1, 0, 1], [2, 1, 1], query=["a", "b", "a"], query_weight=[0.5, 2, 1]
        ),
    ),
    Case("alone", lambda: se.RankingAccumulator().update([[1]])),
    Case("column", lambda: se.RankingAccumulator().update({"score": [1]})),
]

LATER = [
    later("counted", lambda acc: acc.update(**ROWS), track_queries=True),
    later("open-again", lambda acc: acc.update([1], [1], query=[8])),
    later("counted-open", lambda acc: acc.update(**ROWS, partial=True), per_query=True),
    later("missing-counted", lambda acc: acc.add_missing([7]), track_queries=True),
    later("missing-open", lambda acc: acc.add_missing([8])),
    later("missing-twice", lambda acc: acc.add_missing([1, 1])),
    later("missing-shape", lambda acc: acc.add_missing([[1]])),
    later("missing-text", lambda acc: acc.add_missing(["a"])),
    later("close-unknown", lambda acc: acc.close([7, 8])),
    later("close-twice", lambda acc: acc.close([8, 8])),
    later("close-text", lambda acc: acc.close(["8"])),
    later(
        "many-open", lambda acc: acc.update([1], [1], query=[9], partial=True), max_open_queries=1
    ),
    later("report-level", lambda acc: acc.compute().confidence("map", level=95)),
    later("no-values", lambda acc: acc.compute().per_query()),
    later("compute-empty", lambda acc: acc.compute(empty="0")),
    later("compute-missing", lambda acc: acc.compute(missing="nan")),
    Case("strings-after", lambda: numbered(7).update([1], [1], query=["a"], partial=True)),
    Case("numbers-after", lambda: numbered("a").update([1], [1], query=[7], partial=True)),
    Case(
        "declared-other",
        lambda: numbered(7, num_relevant={7: 5}).update(
            [1], [1], query=[7], num_relevant={7: 6}, partial=True
        ),
    ),
    Case(
        "weight-other",
        lambda: numbered(7, query_weight=[2]).update([1], [1], query=[7], partial=True),
    ),
    Case("weight-other-fraction", lambda: numbered(7).merge(numbered(7, query_weight=[1.5]))),
    Case("budget", lambda: se.RankingAccumulator("map", budget=5)),
    Case("quantile-name", lambda: se.RankingAccumulator("map[q=1.5]")),
    Case("quantile-outside", lambda: MAP.compute().quantile("map", 1.5)),
    Case("quantile-absent", lambda: MAP.compute().quantile("map")),
    Case(
        "weight-fractions",
        lambda: (
            se.RankingAccumulator("map")
            .update([[1]], [[1]], query_weight=[0.5])
            .compute()
            .confidence("map")
        ),
    ),
    Case(
        "declared-passed",
        lambda: numbered(7, num_relevant={7: 1}).update([1], [1], query=[7], partial=True),
    ),
    update("query-weight-past", query_weight=[2**62, 2**62]),
    Case("rows-past", lambda: almost_full().update([1], [1], query=[7], partial=True)),
]

MERGES = [
    Case("merge-counted", lambda: numbered(7).close() + numbered(7).close()),
    Case("merge-counted-text", lambda: numbered("a").close() + numbered("a").close()),
    Case("merge-closed-open", lambda: numbered(7).close() + numbered(7)),
    Case("merge-open-closed", lambda: numbered(7) + numbered(7).close()),
    Case("merge-words", lambda: numbered(7) + numbered("a")),
    Case("merge-words-open", lambda: numbered(7).close() + numbered("a")),
    Case("merge-words-closed", lambda: numbered(7).close() + numbered("a").close()),
]


def judgements() -> Any:
    columns = np.array(["q"], dtype=object), np.array(["d"], dtype=object), np.ones(1)
    return se.io.Qrels(*columns)


def returned() -> Any:
    columns = np.array(["q"], dtype=object), np.array(["d"], dtype=object), np.ones(1)
    return se.io.Run(*columns)


def run(id: str, run: Any = None, qrels: Any = None, **others: Any) -> Case:  # noqa: A002
    """Fail in counting a run."""
    run = {"q": {"d": 1.0}} if run is None else run
    qrels = {"q": {"d": 1}} if qrels is None else qrels
    return Case(id, lambda: se.RankingAccumulator().update_run(run, qrels, **others))


RUNS = [
    run("run", []),
    run("qrels", None, "q"),
    run("run-list", {"q": ["d"]}),
    run("qrels-set", None, {"q": {"d"}}),
    run("run-nan", {"q": {"d": NAN}}),
    run("qrels-negative", None, {"q": {"d": -1}}),
    Case("rows-exchanged", lambda: se.RankingAccumulator().update([[0.5, 0.25]], [[1, 0]])),
    Case(
        "run-exchanged", lambda: se.RankingAccumulator().update_run(judgements(), {"q": {"d": 1}})
    ),
    Case(
        "qrels-exchanged", lambda: se.RankingAccumulator().update_run({"q": {"d": 1}}, returned())
    ),
    run("run-weights", query_weight=[1]),
    run("count-missing", count_missing=0),
    Case("run-again", lambda: numbered("q").close().update_run({"q": {"d": 1}}, {"q": {"d": 1}})),
    Case("qrels-again", lambda: numbered("q").close().update_run({}, {"q": {"d": 1}})),
]

CASES = [*OPTIONS, *BATCHES, *LATER, *MERGES, *RUNS]

MAP = se.RankingAccumulator("map")
UNDEFINED = se.RankingAccumulator("map", empty="nan").update([[0]], [[1.0]])
OF_MAPPINGS = [
    Case("key", lambda: MAP.compute()["mrr"]),
    Case("of", lambda: MAP.compute()["map[mean]"]),
    Case("quantile", lambda: MAP.compute()["map[min]"]),
    Case("attribute", lambda: MAP.compute().mrr),
    Case("plot", lambda: MAP.compute().plot()),
    Case("statistic", lambda: UNDEFINED.compute().statistic("map")),
]
"""What mappings and attributes raise by custom."""


@each("case", CASES)
def test_message_is_whole_and_names_the_argument(case: Case) -> None:
    check_message(case)


def test_every_raise_statement_is_provoked() -> None:
    assert missed_raises(MODULES, [*CASES, *OF_MAPPINGS]) == []


def test_messages_are_those_of_the_file() -> None:
    check_messages("messages_of_rankings.txt", CASES, OF_MAPPINGS)


def test_options_that_equal_valid_ones_are_checked_too() -> None:
    se.RankingAccumulator(["map"], relevance_level=1, rows_per_query=10)
    with pytest.raises(se.InvalidInputError, match="`relevance_level`"):
        se.RankingAccumulator(["map"], relevance_level=True, rows_per_query=10)
