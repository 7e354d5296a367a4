"""The presets equal the tools they are named after; means, errors and policies equal NumPy's.

`like("trec_eval")` is held to pytrec_eval within 1e-10 and `like("sklearn")` to scikit-learn within
1e-12. The definitions of `ranking_oracles` are held to both here too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import pytest
import pytrec_eval
from offenders import each
from oracle.ranking_oracles import (
    GEOMETRIC,
    MEASURES,
    NAN,
    Options,
    Row,
    as_arguments,
    combined,
    draw_query,
    entering,
    per_query,
)
from profiles import cases
from sklearn import metrics

import streameval as se

N_RUNS = cases(200, least=10)
FEW_RUNS = max(N_RUNS // 4, 10)
N_BLOCKS = N_RUNS

TREC = {
    "map": "map",
    "mrr": "recip_rank",
    "ndcg": "ndcg",
    "rprec": "Rprec",
    "bpref": "bpref",
    "set_p": "set_P",
    "set_r": "set_recall",
    "set_f": "set_F",
    **{f"map@{k}": f"map_cut_{k}" for k in (1, 3, 10)},
    **{f"ndcg@{k}": f"ndcg_cut_{k}" for k in (1, 3, 10)},
    **{f"p@{k}": f"P_{k}" for k in (1, 3, 10)},
    **{f"r@{k}": f"recall_{k}" for k in (1, 3, 10)},
    **{f"hit@{k}": f"success_{k}" for k in (1, 3, 10)},
}
"""Our names, and trec_eval's."""
ASKED = {
    "map", "gm_map", "recip_rank", "ndcg", "Rprec", "bpref", "set_P", "set_recall", "set_F",
    "map_cut.1,3,10", "ndcg_cut.1,3,10", "P.1,3,10", "recall.1,3,10", "success.1,3,10",
}  # fmt: skip

Tables = Mapping[str, Mapping[str, float]]
both_levels = each("level", [1, 2])


@dataclass(frozen=True, eq=False)
class TrecCase:
    """Scores of documents and judgements of some of them, by topic."""

    run: Tables
    qrels: Mapping[str, Mapping[str, int]]

    @cached_property
    def topics(self) -> list[str]:
        """Those that are evaluated: judged and returned."""
        return sorted(set(self.run) & set(self.qrels))

    @cached_property
    def absent(self) -> list[str]:
        return sorted(set(self.qrels) - set(self.run))

    def theirs(self, level: int, *, only_judged: bool = False) -> dict[str, dict[str, float]]:
        evaluator = pytrec_eval.RelevanceEvaluator(
            self.qrels, ASKED, relevance_level=level, judged_docs_only_flag=only_judged
        )
        return dict(evaluator.evaluate(self.run))

    def rows(self, topic: str) -> list[Row]:
        """The documents that were returned, then the judged ones that were not."""
        run, qrels = self.run[topic], self.qrels[topic]
        found = [Row(qrels.get(doc), score, doc) for doc, score in run.items()]
        others = [doc for doc in qrels if doc not in run]
        return found + [Row(qrels[doc], 0.5, doc, is_retrieved=False) for doc in others]

    def arguments(self) -> dict[str, Any]:
        return as_arguments({topic: self.rows(topic) for topic in self.topics})


@cache
def trec_case(seed: int) -> TrecCase:
    rng = np.random.default_rng([31, seed])
    names = [f"{kind}{i}" for kind in ("d", "D-", "doc") for i in range(25)]
    topics = [str(t) for t in rng.choice(500, int(rng.integers(2, 9)), replace=False)]
    levels = [[0, 1], [0, 1, 2], [0, 1, 2, 3, 7], [-1, 0, 1, 2], [0], [1, 2]]
    run, qrels = {}, {}
    for topic in topics:
        docs = rng.permutation(names)[: int(rng.integers(1, 40))].tolist()
        scores = [
            rng.integers(0, 4, len(docs)) / 8,
            rng.integers(-30, 30, len(docs)) * 0.5,
            rng.random(len(docs), np.float32),
            np.full(len(docs), -3.0),
        ][int(rng.integers(4))]
        judged = rng.permutation(names)[: int(rng.integers(1, 60))].tolist()
        grades = rng.choice(levels[int(rng.integers(len(levels)))], len(judged))
        run[topic] = dict(zip(docs, map(float, scores), strict=True))
        qrels[topic] = dict(zip(judged, map(int, grades), strict=True))
    for left_out in topics[1:]:
        chance = rng.random()
        if chance < 0.15:
            del run[left_out]
        elif chance < 0.3:
            del qrels[left_out]
    return TrecCase(run, qrels)


def like_trec_eval(level: int, measures: Any = TREC, **options: Any) -> Any:
    return se.RankingAccumulator.like(
        "trec_eval", measures=tuple(measures), relevance_level=level, **options
    )


def assert_close(ours: Any, expected: Any, about: Any, *, tolerance: float = 1e-10) -> None:
    np.testing.assert_allclose(
        np.asarray(ours, dtype=np.float64),
        np.asarray(expected, dtype=np.float64),
        rtol=tolerance,
        atol=tolerance,
        err_msg=str(about),
    )


def assert_is_trec_eval(result: Any, theirs: Any, topics: list[str], about: Any) -> None:
    """Topics that are absent from the run may be listed too, but enter no mean."""
    columns = result.per_query()
    listed = [str(topic) for topic in columns["query"]]
    assert listed == sorted(listed)
    places = [listed.index(topic) for topic in topics]
    for name, trec_name in TREC.items():
        column = np.asarray(columns[name], dtype=np.float64)
        expected = [theirs[topic][trec_name] for topic in topics]
        assert_close(column[places], expected, f"{name}: {about}")
        assert np.isnan(np.delete(column, places)).all()
        assert_close(result[name], np.mean(expected), f"mean {name}: {about}")


@both_levels
def test_rows_equal_pytrec_eval(level: int) -> None:
    for seed in range(N_RUNS):
        one = trec_case(seed)
        if not one.topics:
            continue
        acc = like_trec_eval(level, per_query=True).update(**one.arguments())
        assert acc.n == len(one.topics)
        assert_is_trec_eval(acc.compute(), one.theirs(level), one.topics, one)


@both_levels
def test_a_run_equals_pytrec_eval(level: int) -> None:
    for seed in range(N_RUNS):
        one = trec_case(seed)
        if not one.topics:
            continue
        acc = like_trec_eval(level, per_query=True).update_run(one.run, one.qrels)
        result = acc.compute()
        assert (result.n_queries, result.n_missing) == (len(one.topics), len(one.absent))
        assert_is_trec_eval(result, one.theirs(level), one.topics, one)


@both_levels
def test_weighted_means_equal_those_of_pytrec_eval(level: int) -> None:
    for seed in range(N_RUNS):
        one = trec_case(seed)
        if not one.topics:
            continue
        weights = np.random.default_rng([7, seed]).choice([0.25, 1, 2, 3.5], len(one.qrels))
        given = dict(zip(one.qrels, weights.tolist(), strict=True))
        acc = like_trec_eval(level).update_run(one.run, one.qrels, query_weight=given)
        result, theirs = acc.compute(), one.theirs(level)
        own = [given[topic] for topic in one.topics]
        assert result.n_queries == sum(own)
        assert result.n_missing == sum(given[topic] for topic in one.absent)
        for name, trec_name in TREC.items():
            values = [theirs[topic][trec_name] for topic in one.topics]
            assert_close(result[name], np.average(values, weights=own), f"{name}: {one}")


@both_levels
def test_judged_documents_only_equals_pytrec_eval(level: int) -> None:
    for seed in range(FEW_RUNS):
        one = trec_case(seed)
        if not one.topics or any(min(grades.values()) < 0 for grades in one.qrels.values()):
            continue
        acc = like_trec_eval(level, unjudged="drop", per_query=True).update_run(one.run, one.qrels)
        theirs = one.theirs(level, only_judged=True)
        assert_is_trec_eval(acc.compute(), theirs, one.topics, one)


@both_levels
def test_missing_topics_count_as_zero_when_asked(level: int) -> None:
    """`trec_eval -c`, which pytrec_eval does not offer."""
    n_with_absent = 0
    for seed in range(FEW_RUNS):
        one = trec_case(seed)
        if not one.topics:
            continue
        n_with_absent += bool(one.absent)
        acc = like_trec_eval(level).update_run(one.run, one.qrels)
        part = like_trec_eval(level).update_run(one.run, one.qrels, count_missing=False)
        ours, of_part = (x.compute(missing="zero") for x in (acc, part))
        theirs = one.theirs(level)
        for name, trec_name in TREC.items():
            values = [theirs[topic][trec_name] for topic in one.topics]
            assert_close(ours[name], sum(values) / len(one.qrels), f"{name}: {one}")
            assert_close(of_part[name], np.mean(values), f"{name}: {one}")
        part.add_missing(one.absent)
        assert part == acc
    assert n_with_absent >= FEW_RUNS / 20


@both_levels
def test_geometric_mean_equals_pytrec_eval(level: int) -> None:
    for seed in range(FEW_RUNS):
        one = trec_case(seed)
        if not one.topics:
            continue
        acc = like_trec_eval(level, ["gm_map"]).update_run(one.run, one.qrels)
        logs = [of_topic["gm_map"] for of_topic in one.theirs(level).values()]
        expected = pytrec_eval.compute_aggregated_measure("gm_map", logs)
        assert_close(acc.compute()["gm_map"], expected, one)
        with_absent = logs + [math.log(1e-5)] * len(one.absent)
        expected = pytrec_eval.compute_aggregated_measure("gm_map", with_absent)
        assert_close(acc.compute(missing="zero")["gm_map"], expected, one)


@both_levels
def test_a_run_and_its_rows_are_counted_alike(level: int) -> None:
    for seed in range(FEW_RUNS):
        one = trec_case(seed)
        if one.topics:
            by_rows = like_trec_eval(level).update(**one.arguments())
            by_run = like_trec_eval(level).update_run(one.run, one.qrels, count_missing=False)
            assert by_run.to_bytes() == by_rows.to_bytes()


IR_MEASURES = {
    "map": "AP", "map@3": "AP@3", "mrr": "RR", "mrr@10": "RR@10", "ndcg": "nDCG",
    "ndcg@10": "nDCG@10", "p@3": "P@3", "p(rel=2)@3": "P(rel=2)@3", "r@10": "R@10",
    "hit@3": "Success@3", "rprec": "Rprec", "bpref": "Bpref", "judged@10": "Judged@10",
    "err@3": "ERR@3", "rbp(p=0.5)": "RBP(p=0.5)", "set_p": "SetP", "set_r": "SetR",
    "set_f": "SetF",
}  # fmt: skip


@each("names", [TREC, IR_MEASURES])
def test_other_tools_names_mean_the_same(names: Mapping[str, str]) -> None:
    one = next(case for case in map(trec_case, range(N_RUNS)) if len(case.topics) >= 2)
    one = TrecCase(one.run, {t: {d: min(g, 3) for d, g in q.items()} for t, q in one.qrels.items()})
    by_ours = like_trec_eval(1, names).update_run(one.run, one.qrels)
    by_theirs = like_trec_eval(1, names.values()).update_run(one.run, one.qrels)
    assert by_ours == by_theirs
    result = by_ours.compute()
    for name, other in names.items():
        expected = float(result[name])
        assert float(by_theirs.compute()[name]) == float(result[other]) == expected, name


SPELLINGS = (
    *("AP(rel=2)", "AP(judged_only=False)@5", "P(rel=2)@3", "R@5", "RR", "Success@3", "Rprec"),
    *("Bpref", "SetP(relative=True)", "SetP(rel=2)", "SetR", "SetAP", "SetF(beta=2.0)", "SetF"),
    *("NumRet", "NumRet(rel=2)", "NumRel"),
)
JUDGED_ONLY = ("AP(judged_only=True)", "P(rel=2,judged_only=True)@3", "RR(judged_only=True)")
GAINS = ("nDCG(gains={0:0,1:5,2:1,3:2,4:3,7:4})@5", "nDCG(gains={0:0,1:5,2:1,3:2,4:3,7:4})", "AP")


@pytest.mark.parametrize("spellings", [SPELLINGS, JUDGED_ONLY, GAINS], ids=["all", "drop", "gains"])
def test_spellings_equal_ir_measures(spellings: tuple[str, ...]) -> None:
    ir_measures = pytest.importorskip("ir_measures", reason="ir_measures is not installed")
    theirs = [ir_measures.parse_measure(name) for name in spellings]
    for seed in range(N_RUNS):
        one = trec_case(seed)
        if not one.topics or any(min(grades.values()) < 0 for grades in one.qrels.values()):
            continue
        acc = se.RankingAccumulator.like("trec_eval", spellings, per_query=True)
        columns = acc.update_run(one.run, one.qrels).compute().per_query()
        index = {str(topic): at for at, topic in enumerate(columns["query"])}
        names = dict(zip(map(str, theirs), list(columns)[1:], strict=True))
        for value in ir_measures.iter_calc(theirs, one.qrels, one.run):
            if value.query_id in one.topics:
                found = columns[names[str(value.measure)]][index[value.query_id]]
                assert found == pytest.approx(value.value, abs=1e-10), (value, one)


def test_judged_equals_ir_measures() -> None:
    """It divides by what was retrieved where that is less than k."""
    ir_measures = pytest.importorskip("ir_measures", reason="ir_measures is not installed")
    cutoffs = (1, 3, 10, 50)
    asked = [ir_measures.Judged @ k for k in cutoffs]
    n_short = 0
    for seed in range(200):
        one = trec_case(seed)
        # It breaks ties by rising document, so none are left.
        run = {
            topic: {doc: float(place) for place, doc in enumerate(sorted(scores, key=scores.get))}
            for topic, scores in one.run.items()
        }
        names = [f"judged@{k}" for k in cutoffs]
        acc = like_trec_eval(1, names, per_query=True, negative="raise")
        qrels = {topic: {doc: abs(grade) for doc, grade in found.items()}
                 for topic, found in one.qrels.items()}  # fmt: skip
        columns = acc.update_run(run, qrels, count_missing=False).compute().per_query()
        topics = columns["query"].tolist()
        theirs = {(m.query_id, str(m.measure)): m.value
                  for m in ir_measures.iter_calc(asked, qrels, run)}  # fmt: skip
        assert topics == one.topics
        for k in cutoffs:
            expected = [theirs[topic, f"Judged@{k}"] for topic in topics]
            assert columns[f"judged@{k}"].tolist() == expected, one
            n_short += sum(len(run[topic]) < k for topic in topics)
    assert n_short > 100


def test_set_f_has_the_bits_of_trec_eval() -> None:
    """It prints four digits, and where the next one is a half the last bit decides."""
    counts = [(5, 6, 58), (7, 9, 55), (2, 11, 117), (6, 11, 117), (11, 12, 52)]
    run, qrels = {}, {}
    for number, (found, rows, known) in enumerate(counts):
        run[str(number)] = {f"d{place}": float(place) for place in range(rows)}
        qrels[str(number)] = {f"d{place}": 1 for place in range(rows - found, rows - found + known)}
    acc = like_trec_eval(1, ["set_f"], per_query=True).update_run(run, qrels)
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"set_F"}).evaluate(run)
    expected = [theirs[topic]["set_F"] for topic in sorted(qrels)]
    assert acc.compute().per_query()["set_f"].tolist() == expected


@both_levels
def test_the_oracles_equal_pytrec_eval(level: int) -> None:
    names = {name: MEASURES[name] for name in TREC}
    options = Options(relevance_level=level, ties="docid_desc")
    for seed in range(max(N_RUNS // 8, 10)):
        one = trec_case(seed)
        theirs = one.theirs(level)
        for topic in one.topics:
            rows = [
                Row(
                    None if (row.level or 0) < 0 else row.level,
                    row.score,
                    row.doc,
                    row.is_retrieved,
                )
                for row in one.rows(topic)
            ]
            found = per_query(rows, options, names)
            for name, trec_name in TREC.items():
                ours = 0.0 if found[name] is None else float(found[name] or 0)
                assert_close(ours, theirs[topic][trec_name], f"{name}: {rows}")


SKLEARN = ("ndcg", "ndcg@1", "ndcg@3", "ndcg@100", "dcg", "dcg@3", "lrap")


def blocks(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([32, seed])
    shape = int(rng.integers(1, 12)), int(rng.integers(2, 30))
    truth = rng.choice([0, 1, 2, 3, 12], shape, p=[0.6, 0.1, 0.1, 0.1, 0.1])
    if seed % 4 == 0:
        truth = truth * rng.choice([0.1, 0.7, 3.3], shape)
    if seed % 5 == 0:
        truth = np.where(rng.random((shape[0], 1)) < 0.3, 0, truth)
    score = [
        rng.random(shape),
        rng.integers(0, 3, shape) / 2,
        rng.random(shape).round(1),
        np.zeros(shape),
    ][int(rng.integers(4))]
    return truth, score


def theirs_by_sklearn(name: str, truth: np.ndarray, score: np.ndarray) -> float:
    kind, _, k = name.partition("@")
    if kind == "lrap":
        return metrics.label_ranking_average_precision_score(truth >= 1, score)
    function = metrics.ndcg_score if kind == "ndcg" else metrics.dcg_score
    return function(truth, score, k=int(k) if k else None)


@each("name", SKLEARN)
def test_blocks_equal_scikit_learn(name: str) -> None:
    for seed in range(N_BLOCKS):
        truth, score = blocks(seed)
        acc = se.RankingAccumulator.like("sklearn", measures=(name,)).update(truth, score)
        expected = theirs_by_sklearn(name, truth, score)
        assert_close(acc.compute()[name], expected, (seed, truth, score), tolerance=1e-12)


@each("name", SKLEARN)
def test_lines_of_a_block_equal_scikit_learn(name: str) -> None:
    for seed in range(N_BLOCKS // 4):
        truth, score = blocks(seed)
        preset = se.RankingAccumulator.like("sklearn", measures=(name,), per_query=True)
        result = preset.update(truth, score, query=np.arange(len(truth))).compute()
        each = [
            theirs_by_sklearn(name, line[None], scores[None])
            for line, scores in zip(truth, score, strict=True)
        ]
        empty = [not ((line >= 1) if name == "lrap" else line).any() for line in truth]
        ours = np.asarray(result.per_query()[name])
        counted = ~np.array(empty) | (name != "lrap")
        assert_close(ours[counted], np.array(each)[counted], (seed, truth, score), tolerance=1e-12)


def test_ordered_scores_equal_scikit_learn_without_ties() -> None:
    for seed in range(N_BLOCKS // 4):
        truth, score = blocks(seed)
        score = score + np.arange(score.shape[1]) * 1e-6
        result = se.RankingAccumulator(("ndcg@5",)).update(truth, score).compute()
        expected = metrics.ndcg_score(truth, score, k=5, ignore_ties=True)
        assert_close(result["ndcg@5"], expected, seed, tolerance=1e-12)


NAMES = ("map", "mrr@3", "ndcg@3", "p@3", "r(rel=2)@3", "hit@1", "rprec", "lrap", "err@5", "dcg",
         "bpref", "judged@3", "set_f", "rbp(p=0.8)")  # fmt: skip


@cache
def policy_case(seed: int) -> tuple[Any, dict[str, list[Any]], list[list[Row]]]:
    """Some queries counted, and each measure of each by brute force."""
    rng = np.random.default_rng([33, seed])
    drawn = {i: draw_query(rng, most=5) for i in range(int(rng.integers(0, 12)))}
    acc = se.RankingAccumulator((*NAMES, *GEOMETRIC))
    if drawn:
        acc.update(**as_arguments(drawn))
    acc.add_missing([f"topic {i}" for i in range(seed % 4)])
    measures = {name: MEASURES[name] for name in NAMES} | GEOMETRIC
    found = [per_query(rows, Options(), measures) for rows in drawn.values()]
    return acc, {m: [one[m] for one in found] for m in measures}, list(drawn.values())


POLICIES = [
    (empty, missing) for empty in ("zero", "skip", "one", "nan") for missing in ("zero", "skip")
]
every_policy = each(("empty", "missing"), POLICIES)


@every_policy
def test_means_follow_the_policies(empty: str, missing: str) -> None:
    for seed in range(FEW_RUNS):
        acc, values, _ = policy_case(seed)
        result = acc.compute(empty=empty, missing=missing)
        for name, of_queries in values.items():
            entered = entering(of_queries, empty=empty, n_missing=seed % 4, missing=missing)
            expected = float(combined(name, entered))
            assert_close(result[name], expected, f"{name}, seed {seed}", tolerance=1e-12)
            assert result[name].exact


@every_policy
def test_policies_of_the_constructor_are_those_of_compute(empty: str, missing: str) -> None:
    rng = np.random.default_rng(34)
    arguments = as_arguments({i: draw_query(rng) for i in range(30)})
    given = se.RankingAccumulator(NAMES, empty=empty, missing=missing)
    asked = se.RankingAccumulator(NAMES)
    for acc in (given, asked):
        acc.update(**arguments)
        acc.add_missing(["x", "y"])
    ours, other = given.compute(), asked.compute(empty=empty, missing=missing)
    for name in NAMES:
        np.testing.assert_array_equal(float(ours[name]), float(other[name]))
        np.testing.assert_array_equal(float(ours.stderr[name]), float(other.stderr[name]))


def test_a_mapping_of_policies_leaves_the_other_measures_at_zero() -> None:
    for seed in range(FEW_RUNS):
        acc, values, _ = policy_case(seed)
        chosen = {"map": "skip", "ndcg@3": "one", "bpref": "nan"}
        result = acc.compute(empty=chosen, missing={"map": "skip"})
        for name in NAMES:
            entered = entering(
                values[name],
                empty=chosen.get(name, "zero"),
                n_missing=seed % 4,
                missing="skip" if name == "map" else "zero",
            )
            assert_close(result[name], float(combined(name, entered)), name, tolerance=1e-12)


def test_counts_equal_those_of_the_queries() -> None:
    for seed in range(FEW_RUNS):
        acc, values, drawn = policy_case(seed)
        result = acc.compute()
        n_relevant = [sum((row.level or 0) >= 1 for row in rows) for rows in drawn]
        assert acc.n == result.n_queries == len(drawn)
        assert result.n_missing == seed % 4
        assert result.n_open == 0
        assert result.n_empty == n_relevant.count(0)
        for name in NAMES:
            assert result.empty[name] == values[name].count(None), name


@every_policy
def test_standard_error_is_numpys(empty: str, missing: str) -> None:
    for seed in range(FEW_RUNS):
        acc, values, _ = policy_case(seed)
        result = acc.compute(empty=empty, missing=missing)
        for name in NAMES:
            entered = entering(values[name], empty=empty, n_missing=seed % 4, missing=missing)
            numbers = np.array([float(x) for x in entered])
            n = len(numbers)
            expected = numbers.std(ddof=1) / math.sqrt(n) if n > 1 else NAN
            assert_close(result.stderr[name], expected, f"{name}, seed {seed}", tolerance=1e-12)


def test_standard_error_of_many_queries_is_numpys() -> None:
    rng = np.random.default_rng(35)
    truth, score = rng.integers(0, 3, (5_000, 8)), rng.random((5_000, 8)).round(1)
    acc = se.RankingAccumulator(NAMES, per_query=True)
    result = acc.update(truth, score, query=np.arange(5_000)).compute()
    columns = result.per_query()
    for name in NAMES:
        column = np.asarray(columns[name])
        assert_close(result[name], math.fsum(column) / 5_000, name, tolerance=1e-12)
        expected = column.std(ddof=1) / math.sqrt(5_000)
        assert_close(result.stderr[name], expected, name, tolerance=1e-12)


@each("name", NAMES)
def test_confidence_surrounds_the_mean_and_widens_with_the_level(name: str) -> None:
    rng = np.random.default_rng(36)
    truth, score = rng.integers(0, 3, (200, 8)), rng.random((200, 8))
    result = se.RankingAccumulator(NAMES).update(truth, score).compute()
    low, high = result.confidence(name)
    widest_low, widest_high = result.confidence(name, level=0.999)
    error = float(result.stderr[name])
    if error:
        assert widest_low < low < float(result[name]) < high < widest_high
        assert 1.5 * error < (high - low) / 2 < 2.5 * error


PRESETS: dict[str, dict[str, Any]] = {
    "trec_eval": {
        "gain": "linear", "ties": "docid_desc", "ap_norm": "R", "missing": "skip",
        "negative": "zero",
    },
    "sklearn": {"gain": "linear", "ties": "expected", "empty": {"lrap": "one"}},
    "recsys": {"gain": "linear", "ties": "expected", "ap_norm": "min", "empty": "skip"},
    "ltr": {"gain": "exp2", "ties": "expected", "ap_norm": "min", "empty": "one"},
}  # fmt: skip


@each("name", PRESETS)
def test_a_preset_counts_as_its_options(name: str) -> None:
    measures = ("map", "map@3", "ndcg@3", "lrap", "mrr")
    rng = np.random.default_rng(37)
    arguments = as_arguments({i: draw_query(rng) for i in range(50)})
    preset = se.RankingAccumulator.like(name, measures=measures)
    plain = se.RankingAccumulator(measures, **PRESETS[name])
    for acc in (preset, plain):
        acc.update(**arguments)
        acc.add_missing(["x"])
    for measure in measures:
        ours, expected = preset.compute()[measure], plain.compute()[measure]
        assert float(ours) == float(expected), measure


def test_a_preset_is_overridden_by_options() -> None:
    changed = se.RankingAccumulator.like("ltr", measures=("ndcg",), gain="linear", empty="zero")
    changed.update([[0, 2, 1], [0, 0, 0]], [[0.1, 0.5, 0.9], [0.1, 0.5, 0.9]])
    expected = metrics.ndcg_score([[0, 2, 1]], [[0.1, 0.5, 0.9]]) / 2
    assert_close(changed.compute()["ndcg"], expected, "ltr", tolerance=1e-12)
