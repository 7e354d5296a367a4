"""Options and rows for `RankingAccumulator`: blocks of complete queries, and rows of open ones.

The unit of a law is a query in a dense block, and a row where queries go on.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from hypothesis import strategies as st

import streameval.accumulators.ranking
import streameval.exact.row_order
import streameval.inputs.judged_runs
import streameval.metrics.cascades
import streameval.metrics.rank_measures
import streameval.metrics.ranking
import streameval.metrics.ranks
import streameval.states.ranking
import streameval.states.ranking_rows

NAN = float("nan")

RANKING_BLOCKS = [
    (streameval.accumulators.ranking, "_CAPACITY", 20),
    (streameval.inputs.judged_runs, "_BLOCK", 6),
    (streameval.exact.row_order, "_BLOCK", 8),
    (streameval.exact.row_order, "_MAX_BITS", 6),
    (streameval.metrics.cascades, "_BLOCK", 8),
    (streameval.metrics.rank_measures, "_BLOCK", 8),
    (streameval.metrics.rank_measures, "_MIN_WIDTH", 2),
    (streameval.metrics.ranks, "_BLOCK", 8),
    (streameval.metrics.ranking, "_BLOCK", 12),
    (streameval.states.ranking, "_FEW", 4),
    (streameval.states.ranking_rows, "_BLOCK", 12),
    (streameval.states.ranking_rows, "_MAX_ROWS", 20),
]
"""Small sizes of the blocks of rankings."""

USUAL_BLOCKS = [(module, name, getattr(module, name)) for module, name, _ in RANKING_BLOCKS]

Rows = dict[str, np.ndarray]
Options = dict[str, Any]
Settings = dict[str, Any]

BINARY = (
    *("map", "map@3", "mrr", "mrr@2", "p@3", "r@2", "hit@2", "rprec", "lrap", "rbp(p=0.8)"),
    *("set_p", "set_r", "set_f", "gm_map", "bpref", "judged@3"),
)
"""Measures that ask what is relevant at the level of the configuration, or what is judged."""
MORE_BINARY = (
    *("gm_bpref", "bin_g", "utility", "rprec_mult(times=1.4)", "relative_p@3", "set_map"),
    *("rbp_resid", "unj@2", "num_ret", "num_rel", "num_nonrel_judged_ret", "coverage_error"),
    *("label_ranking_loss", "query_auc", "fall_out@2", "adaptive_p@3", "all_hit@2", "majority"),
)
"""Those that no large case has."""
GRADED = ("ndcg", "ndcg@3", "dcg", "dcg@2")
ARRANGED = ("iprec(recall=0.3)", "11pt_avg")
ORDERED = ("g", "ndcg_rel", "rndcg")
CASCADES = ("err@3", "err(max=5)@2")
OTHER_LEVELS = ("p(rel=2)@2", "map(rel=2)", "rbp(p=0.5,rel=2)", "bpref(rel=2)")
EVERY_MEASURE = (*BINARY, *GRADED, *CASCADES, *OTHER_LEVELS)

NUMBERS = np.array([7, -3, 2**62, 0, -(2**63)])
STRINGS = np.array(["q1", "", "日本", "q, 2", "Q1"], dtype=object)
TIES = ("expected", "docid_desc", "pessimistic", "optimistic")
MAPPING = {-1: 0.25, 0: 0, 1: 0.1, 2: 3, 3: 7}

SCORES = {
    "few": lambda random, shape: random.integers(0, 3, shape) / 4,
    "any": lambda random, shape: random.normal(size=shape),
    "one": lambda random, shape: np.zeros(shape),
    "infinite": lambda random, shape: random.choice([-np.inf, -1, -0.0, 0, 5e-324, np.inf], shape),
}


@attrs.frozen
class Plan:
    """What a case draws before its rows."""

    options: Options
    levels: np.ndarray
    scores: str
    has_documents: bool
    is_declared: bool


def ranking_rows(
    draw: st.DrawFn, random: np.random.Generator, size: int
) -> tuple[Options, Rows, Settings]:
    """Draw options, the rows of a small data set, and how these are passed to `update`."""
    plan = _plan(draw)
    if draw(st.booleans()):
        return plan.options, *_open_rows(draw, random, 3 * size, plan)
    rows = _block(draw, random, size % 9, plan)
    goes_on = "query" in rows and draw(st.integers(0, 3)) == 0
    return plan.options, rows, {"partial": True} if goes_on else {}


def _plan(draw: st.DrawFn) -> Plan:
    is_declared = draw(st.integers(0, 3)) == 0
    levels, options = draw(st.sampled_from([_ones, _whole, _fractional, _mapped, _powers]))()
    pool = BINARY if is_declared else (*BINARY, *GRADED, *OTHER_LEVELS)
    if is_declared and max(levels[:-1]) == 1:
        pool = (*BINARY, *GRADED)
    elif not is_declared and "negative" not in options:
        pool = (*pool, *CASCADES)
    ties = draw(st.sampled_from(TIES))
    pool = (*pool, *MORE_BINARY)
    if ties != "expected":
        pool = (*pool, *ARRANGED)
    if ties == "docid_desc" and "ndcg" in pool:
        pool = (*pool, *ORDERED)
    measures = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=6, unique=True))
    options |= {
        "measures": measures,
        "ties": ties,
        "ap_norm": draw(st.sampled_from(["R", "min"])),
        "unjudged": draw(st.sampled_from(["nonrelevant", "drop"])),
        "nan": draw(st.sampled_from(["raise", "last"])),
        "empty": draw(st.sampled_from(["zero", "skip", "one", "nan", {measures[0]: "skip"}])),
        "track_queries": draw(st.booleans()),
        "per_query": draw(st.integers(0, 3)) == 0,
        "rows_per_query": draw(st.sampled_from([1, 1, 1, 1, 1, 1, 2, 2, 3, 100])),
    }
    if draw(st.integers(0, 3)) == 0:
        options["measures"] = [*measures, f"{measures[0]}[median]", f"{measures[-1]}[q=0.2]"]
        options["budget"] = draw(st.sampled_from([1, 2, 5, 65_536, None]))
    scores = draw(st.sampled_from(["any", "any", "any", "any", "few", "infinite", "one"]))
    return Plan(options, levels, scores, ties == "docid_desc" or draw(st.booleans()), is_declared)


def _ones() -> tuple[np.ndarray, Options]:
    return np.array([0, 1, NAN]), {}


def _whole() -> tuple[np.ndarray, Options]:
    return np.array([0, 0, 1, 2, 3, NAN]), {}


def _fractional() -> tuple[np.ndarray, Options]:
    levels = np.array([-1, 0, 0.25, 1.5, 2.75, NAN])
    return levels, {"negative": "zero", "relevance_level": 0.25}


def _mapped() -> tuple[np.ndarray, Options]:
    levels = np.array([-1, 0, 1, 2, 3, NAN])
    return levels, {"gain": MAPPING, "relevance_level": 2}


def _powers() -> tuple[np.ndarray, Options]:
    return np.array([0, 1, 2, 4, NAN]), {"gain": "exp2"}


def _scores(random: np.random.Generator, shape: Any, plan: Plan) -> np.ndarray:
    scores = SCORES[plan.scores](random, shape).astype(float)
    if plan.options["nan"] == "last":
        scores[random.random(shape) < 0.2] = NAN
    return scores


def _documents(random: np.random.Generator, places: np.ndarray, *, of_text: bool) -> np.ndarray:
    """Name documents, each once among those of its place in a query."""
    numbers = random.permutation(120)[places] - 60
    return np.array([f"d{number}" for number in numbers], dtype=object) if of_text else numbers


def _ids(draw: st.DrawFn) -> np.ndarray:
    return draw(st.sampled_from([NUMBERS, STRINGS]))


def _block(draw: st.DrawFn, random: np.random.Generator, queries: int, plan: Plan) -> Rows:
    """Draw a block of complete queries, most of them padded."""
    candidates = draw(st.integers(1, 7))
    shape = queries, candidates
    rows = {"relevance": plan.levels[random.integers(0, len(plan.levels), shape)]}
    rows["score"] = _scores(random, shape, plan)
    if draw(st.booleans()):
        rows["mask"] = random.random(shape) < 0.8
    if draw(st.booleans()):
        rows["retrieved"] = random.random(shape) < 0.7
    if plan.has_documents:
        of_text = draw(st.booleans())
        named = [_documents(random, np.arange(candidates), of_text=of_text) for _ in range(queries)]
        dtype = object if of_text else np.int64
        rows["doc"] = np.array(named, dtype=dtype).reshape(shape)
    if plan.is_declared:
        rows["num_relevant"] = random.integers(candidates, candidates + 4, queries)
    if draw(st.integers(0, 3)) == 0:
        rows["query_weight"] = random.choice([0.5, 1, 2, 3.25], queries)
    if plan.options["track_queries"] or plan.options["per_query"] or draw(st.booleans()):
        own = random.permutation(40)[:queries]
        is_number = draw(st.booleans())
        rows["query"] = own * 3 - 50 if is_number else np.array([f"q{i}" for i in own], object)
    return rows


def _open_rows(
    draw: st.DrawFn, random: np.random.Generator, size: int, plan: Plan
) -> tuple[Rows, Settings]:
    """Draw rows of queries that go on, most of them past the rows that are kept."""
    ids = _ids(draw)[: draw(st.sampled_from([1, 2, 3, 5]))]
    rows = {
        "relevance": plan.levels[random.integers(0, len(plan.levels), size)],
        "score": _scores(random, size, plan),
        "query": ids[random.integers(0, len(ids), size)],
    }
    if draw(st.booleans()):
        rows["retrieved"] = random.random(size) < 0.8
    if plan.has_documents:
        rows["doc"] = _documents(random, np.arange(size), of_text=draw(st.booleans()))
    settings: Settings = {"partial": True}
    if plan.is_declared:
        settings["num_relevant"] = {label: size + place for place, label in enumerate(ids.tolist())}
    if draw(st.integers(0, 3)) == 0:
        weights = random.choice([0.5, 1, 2, 3.25], len(ids)).tolist()
        settings["query_weight"] = dict(zip(ids.tolist(), weights, strict=True))
    return rows, settings


def large_block() -> tuple[Options, Rows]:
    """Draw enough complete queries for vectorised paths: long ties, padding, unjudged rows."""
    random = np.random.default_rng(11)
    shape = 1000, 24
    rows = {
        "relevance": random.choice([NAN, 0, 0, 1, 2, 3, 4], shape),
        "score": random.normal(size=shape).round(1),
        "mask": random.random(shape) < 0.9,
        "retrieved": random.random(shape) < 0.8,
        "query": random.permutation(10_000)[:1000],
    }
    return {"measures": EVERY_MEASURE, "gain": "exp2", "per_query": True}, rows


def large_open() -> tuple[Options, Rows, Settings]:
    """Draw many open queries, most of them past the rows that are kept."""
    random = np.random.default_rng(12)
    size = 20_000
    query = random.zipf(1.2, size).clip(max=400)
    rows = {
        "relevance": random.choice([NAN, 0, 0, 0, 1, 2, 3], size),
        "score": random.normal(size=size).round(1),
        "retrieved": random.random(size) < 0.9,
        "query": np.array([f"query {number}" for number in query], dtype=object),
    }
    return {"measures": EVERY_MEASURE, "rows_per_query": 12}, rows, {"partial": True}


CHANGED_OPTIONS = {
    "measures": ({}, {"measures": ["map", "mrr"]}),
    "relevance_level": ({}, {"relevance_level": 2}),
    "gain": ({}, {"gain": "exp2"}),
    "ties": ({}, {"ties": "docid_desc"}),
    "ap_norm": ({}, {"ap_norm": "min"}),
    "unjudged": ({}, {"unjudged": "drop"}),
    "negative": ({}, {"negative": "zero"}),
    "nan": ({}, {"nan": "last"}),
    "empty": ({}, {"empty": {"map": "one"}}),
    "missing": ({}, {"missing": "skip"}),
    "track_queries": ({}, {"track_queries": True}),
    "rows_per_query": ({}, {"rows_per_query": 10}),
    "max_open_queries": ({}, {"max_open_queries": 10}),
    "per_query": ({}, {"per_query": True}),
    "budget": ({"measures": "map[max]"}, {"measures": "map[max]", "budget": 5}),
}


def good_batch(options: Options) -> dict[str, Any]:
    """Return a batch that the options of a bad one accept."""
    batch = {"relevance": [[1, 0], [0, 0]], "score": [[0.5, 0.75], [0, 1]], "query": [1, 2]}
    return batch | {"doc": [[1, 2], [1, 2]]}


DOCUMENTS = {"ties": "docid_desc"}
TRACKED = {"track_queries": True}

BAD_BATCHES: dict[str, tuple[Options, dict[str, Any]]] = {
    "a score that is NaN": ({}, {"relevance": [[1, 0]], "score": [[0, NAN]]}),
    "a negative relevance": ({}, {"relevance": [[1, -1]], "score": [[0, 1]]}),
    "an infinite relevance": ({}, {"relevance": [[1, np.inf]], "score": [[0, 1]]}),
    "a relevance that is not mapped": (
        {"gain": {1: 2}},
        {"relevance": [[1, 3]], "score": [[0, 1]]},
    ),
    "a relevance that is not whole": (
        {"gain": "exp2"},
        {"relevance": [[1, 0.5]], "score": [[0, 1]]},
    ),
    "a relevance too high for err": (
        {"measures": "err@2"},
        {"relevance": [[1, 5]], "score": [[0, 1]]},
    ),
    "strings": ({}, {"relevance": [["1", "0"]], "score": [[0, 1]]}),
    "shapes that differ": ({}, {"relevance": [[1, 0]], "score": [[0, 1, 2]]}),
    "no ids of rows": ({}, {"relevance": [1, 0], "score": [0, 1]}),
    "a query twice in a block": (
        {},
        {"relevance": [[1], [1]], "score": [[0], [0]], "query": [5, 5]},
    ),
    "too few ids": ({}, {"relevance": [1, 0], "score": [0, 1], "query": [5]}),
    "a document twice": ({}, {"relevance": [[1, 0]], "score": [[0, 1]], "doc": [[3, 3]]}),
    "no documents": (DOCUMENTS, {"relevance": [[1, 0]], "score": [[0, 1]]}),
    "a mask of another shape": ({}, {"relevance": [[1]], "score": [[1]], "mask": [[True, True]]}),
    "a mask that is 2": ({}, {"relevance": [[1]], "score": [[1]], "mask": [[2]]}),
    "a number less than the relevant rows": (
        {"measures": "map"},
        {"relevance": [[1, 1]], "score": [[0, 1]], "num_relevant": [1]},
    ),
    "a number that says too little": (
        {"measures": "ndcg"},
        {"relevance": [[2, 1]], "score": [[0, 1]], "num_relevant": [5]},
    ),
    "no ids to keep": (TRACKED, {"relevance": [[1]], "score": [[1]]}),
    "a query again": (TRACKED, {"relevance": [[1]], "score": [[1]], "query": [1]}),
    "strings after numbers": (TRACKED, {"relevance": [[1]], "score": [[1]], "query": ["a"]}),
}
