"""The names of rank measures: what is accepted, what it is called, what presets choose."""

from __future__ import annotations

from typing import Any

import pytest
from offenders import each

import streameval as se
from streameval.configs.measures import Measure
from streameval.configs.measures.trec_eval import TREC_SETS, trec_name, trec_rank

CANONICAL = [
    *("map", "map@100", "mrr", "mrr@10", "ndcg", "ndcg@10", "dcg", "dcg@3", "p@5", "r@5", "hit@5"),
    *("rprec", "lrap", "rbp(p=0.8)", "bpref", "judged@10", "err@20", "set_p", "set_r", "set_f"),
    *("gm_map", "p(rel=2)@5", "map(rel=2)", "map(rel=0.5)@3", "rbp(p=0.5,rel=2)", "lrap(rel=3)"),
    *("err(max=5)@20", "set_f(rel=2)", "bpref(rel=2)", "hit(rel=-1)@1", "p@2147483647"),
    *("all_hit@5", "majority"),
]

ALIASES = {
    "AP": "map",
    "AP@100": "map@100",
    "AP(rel=2)": "map(rel=2)",
    "RR": "mrr",
    "RR@10": "mrr@10",
    "nDCG": "ndcg",
    "nDCG@10": "ndcg@10",
    "P@5": "p@5",
    "P(rel=2)@5": "p(rel=2)@5",
    "R@10": "r@10",
    "Success@5": "hit@5",
    "Rprec": "rprec",
    "Bpref": "bpref",
    "Judged@10": "judged@10",
    "ERR@20": "err@20",
    "RBP(p=0.8)": "rbp(p=0.8)",
    "RBP": "rbp(p=0.8)",
    "SetP": "set_p",
    "SetR": "set_r",
    "SetF": "set_f",
    "recip_rank": "mrr",
    "ndcg_cut_10": "ndcg@10",
    "Rprec_mult_0.20": "rprec_mult(times=0.2)",
    "map_cut_10": "map@10",
    "P_10": "p@10",
    "pass@3": "hit@3",
    "pass^3": "all_hit@3",
    "recall_10": "r@10",
    "success_10": "hit@10",
    "set_P": "set_p",
    "set_recall": "set_r",
    "set_F": "set_f",
    "precision@3": "p@3",
    "recall@3": "r@3",
    " nDCG @ 10 ": "ndcg@10",
    "p(rel=2.0)@5": "p(rel=2)@5",
    "p(rel=-0)@5": "p(rel=0)@5",
    "p(rel=1e300)@5": "p(rel=1e+300)@5",
    "rbp(rel=2, p=0.50)": "rbp(p=0.5,rel=2)",
    "rbp(p=1e-3)": "rbp(p=0.001)",
    "err(max=4)@20": "err@20",
    "err(max=4.0)@20": "err@20",
    "p()@5": "p@5",
    "p@05": "p@5",
}

BAD = [
    *("", "gini", "ndcg@", "@10", "p@-1", "p@1.5", "p@1e1", "p@٣", "map@0", "p_10_20", "P-10"),
    *(
        "ndcg_cut@10",
        "iprec",
        "iprec@2",
        "rprec_mult",
        "P.",
        "P.x",
        "unj@",
        "relative_p",
        "num_q",
        "ndcg_10",
        "map_10",
        "mrr_10",
        "hit_5",
        "p(rel=2)",
        "p(2)@5",
    ),
    *("p(rel=2@5", "p rel=2)@5", "p(rel=)@5", "p(=2)@5", "p(rel=nan)@5", "p((rel=2))@5"),
    *("rprec@5", "lrap@5", "bpref@5", "set_p@5", "gm_map@5", "rbp@5", "err", "judged", "hit", "r"),
    *("pass^", "pass^^2", "pass^@2", "all_hit", "majority@3"),
    *("rbp(p=0)", "rbp(p=-1)", "rbp(p=x)", "err(max=0)@3", "err(rel=1)@3", "judged(rel=1)@3"),
    *("ndcg(rel=1)", "dcg(rel=2)@3", "map(p=0.5)", "p(rel=2,rel=2)@5", "p@99999999999999999999"),
]


def names(*measures: Any) -> tuple[str, ...]:
    return tuple(se.RankingAccumulator(measures).compute())


@each("name", CANONICAL)
def test_canonical_name_stays(name: str) -> None:
    assert names(name) == (name,)


@each("name", ALIASES)
def test_other_name_becomes_canonical(name: str) -> None:
    assert names(name) == (ALIASES[name],)


@each("name", CANONICAL)
def test_canonical_name_in_upper_case_is_the_same(name: str) -> None:
    assert names(name.upper()) == (name,)


@each("name", BAD)
def test_bad_name_is_refused(name: str) -> None:
    with pytest.raises(se.InvalidInputError, match=r"^`measures` "):
        names(name)


SETS = {
    "P.10,5": ["p@5", "p@10"],
    "success": ["hit@1", "hit@5", "hit@10"],
    "iprec_at_recall..5,.25": ["iprec(recall=0.25)", "iprec(recall=0.5)"],
    "Rprec_mult.0.2": ["rprec_mult(times=0.2)"],
    "rbp_resid.p=0.5": ["rbp_resid(p=0.5)"],
    "set": [
        *("num_ret", "num_rel", "num_rel_ret", "utility", "set_p", "set_relative_p", "set_r"),
        *("set_map", "set_f"),
    ],
}


@each("name", SETS)
def test_name_of_trec_eval_stands_for_several_measures(name: str) -> None:
    acc = se.RankingAccumulator.like("trec_eval", [name])
    assert list(acc.compute()) == SETS[name]


@each(
    ("name", "printed"),
    [("rbp(p=0.9)", "rbp"), ("rbp(p=0.8)", "rbp_p=0.8"), ("rbp_resid", "rbp_resid")],
)
def test_persistence_of_trec_eval_is_in_its_name_unless_usual(name: str, printed: str) -> None:
    assert trec_name(name) == printed


def test_sets_of_trec_eval_hold_each_of_their_measures_once() -> None:
    sizes = [len(se.RankingAccumulator.like("trec_eval", name).compute()) for name in TREC_SETS]
    assert sizes == [28, 96, 9]


def test_order_of_trec_eval_puts_measures_that_it_lacks_last() -> None:
    names = ["map(rel=2)", "unj@5", "p@10", "p@5", "lrap", "map", "num_ret"]
    assert sorted(names, key=trec_rank) == [
        *("num_ret", "map", "p@5", "p@10", "unj@5", "map(rel=2)", "lrap")
    ]


def test_order_of_the_measures_is_kept() -> None:
    assert names("r@5", "map", "p@5") == ("r@5", "map", "p@5")


def test_one_measure_may_stand_alone() -> None:
    assert se.RankingAccumulator("AP") == se.RankingAccumulator(["map"])


def test_measures_may_come_from_an_iterator() -> None:
    assert se.RankingAccumulator(iter(["map", "mrr"])) == se.RankingAccumulator(["map", "mrr"])


def test_spellings_of_one_configuration_merge() -> None:
    one = se.RankingAccumulator(["AP", "nDCG@10"], empty={"AP": "one", "ndcg_cut_10": "skip"})
    other = se.RankingAccumulator(["map", "ndcg@10"], empty={"map": "one", "ndcg@10": "skip"})
    assert one == other
    assert one.to_bytes() == other.to_bytes()


@each("empty", [{"map": "zero", "mrr": "zero"}, {}, "zero"])
def test_one_word_for_all_measures_is_that_word(empty: Any) -> None:
    made = se.RankingAccumulator(["map", "mrr"], empty=empty)
    assert made.to_bytes() == se.RankingAccumulator(["map", "mrr"]).to_bytes()


def test_mapping_of_gains_has_one_form() -> None:
    one = se.RankingAccumulator("ndcg", gain={2: 3, 1: 1, 0: 0})
    assert one == se.RankingAccumulator("ndcg", gain={1.0: 1.0, 2.0: 3.0})


@each("measure", [Measure("p", 3), Measure("rbp", None, 2.0, 0.5)])
def test_name_of_a_measure_is_read_back(measure: Measure) -> None:
    assert Measure.of(measure.name) == measure


PRESETS = {
    "trec_eval": {"ties": "docid_desc", "missing": "skip", "negative": "zero"},
    "sklearn": {},
    "recsys": {"ap_norm": "min", "empty": "skip"},
    "ltr": {"gain": "exp2", "ap_norm": "min", "empty": "one"},
}


@each("name", PRESETS)
def test_preset_is_its_options(name: Any) -> None:
    assert se.RankingAccumulator.like(name) == se.RankingAccumulator(**PRESETS[name])


def test_preset_of_scikit_learn_counts_an_empty_ranking_precision_as_one() -> None:
    made = se.RankingAccumulator.like("sklearn", ["lrap", "ndcg"])
    assert made == se.RankingAccumulator(["lrap", "ndcg"], empty={"lrap": "one"})


def test_rbp_of_the_preset_of_trec_eval_has_its_persistence_unless_another_is_named() -> None:
    asked = ["rbp", "rbp(rel=2)", "rbp(p=0.5)", "RBP(p=0.8)"]
    made = se.RankingAccumulator.like("trec_eval", asked)
    names = ("rbp(p=0.9)", "rbp(p=0.9,rel=2)", "rbp(p=0.5)", "rbp(p=0.8)")
    assert tuple(made.options["measures"]) == names
    assert tuple(se.RankingAccumulator.like("ltr", "rbp").options["measures"]) == ("rbp(p=0.8)",)


def test_options_stand_above_those_of_a_preset() -> None:
    made = se.RankingAccumulator.like("trec_eval", "AP", ties="expected", per_query=True)
    options = {"missing": "skip", "negative": "zero", "per_query": True}
    assert made == se.RankingAccumulator("map", **options)


def test_policies_stand_above_those_of_a_preset() -> None:
    made = se.RankingAccumulator.like("sklearn", ["lrap"], empty="skip")
    assert made == se.RankingAccumulator(["lrap"], empty="skip")


def test_repr_shows_the_options_that_are_not_usual() -> None:
    made = se.RankingAccumulator(["AP"], ties="optimistic", max_open_queries=3)
    expected = "RankingAccumulator(measures=('map',), ties='optimistic', max_open_queries=3, n=0)"
    assert repr(made) == expected


IMPLIED = {
    "nDCG(gains={0:0,1:3,2:9})@10": ("ndcg@10", {"gain": {0: 0, 1: 3, 2: 9}}),
    "nDCG(dcg='exp-log2')": ("ndcg", {"gain": "exp2"}),
    "nDCG(dcg='log2')": ("ndcg", {"gain": "linear"}),
    "AP(judged_only=True)@5": ("map@5", {"unjudged": "drop"}),
    "nDCG(judged_only=true, gains={1: 2.5})": ("ndcg", {"gain": {1: 2.5}, "unjudged": "drop"}),
    "RR(judged_only=False)": ("mrr", {}),
}


@each("name", IMPLIED)
def test_name_of_ir_measures_sets_the_options_that_it_asks_for(name: str) -> None:
    canonical, options = IMPLIED[name]
    assert se.RankingAccumulator([name]) == se.RankingAccumulator([canonical], **options)
    assert se.RankingAccumulator([name], **options) == se.RankingAccumulator([name])


def test_name_of_ir_measures_goes_before_a_preset() -> None:
    plain = se.RankingAccumulator.like("ltr", ["ndcg"], gain="linear")
    for options in ({}, {"gain": "linear"}):
        assert se.RankingAccumulator.like("ltr", ["nDCG(dcg='log2')"], **options) == plain


def test_result_is_looked_up_by_the_name_with_its_options() -> None:
    name = "nDCG(gains={1:3,2:1})"
    result = se.RankingAccumulator([name]).update([[1, 2]], [[1, 2]]).compute()
    assert result[name] == result["ndcg"] < 1
    with pytest.raises(KeyError, match="is not among the measures ndcg"):
        result["nDCG(gains={1:3,2:2})"]


IR_MEASURES = {
    "SetP(relative=True)": "set_relative_p",
    "SetP(relative=False,rel=2)": "set_p(rel=2)",
    "SetF(beta=2.0)": "set_f(beta=2.0)",
    "SetAP": "set_map",
    "NumRet": "num_ret",
    "NumRet(rel=2)": "num_rel_ret(rel=2)",
    "NumRel(rel=2)": "num_rel(rel=2)",
    "P(cutoff=5,rel=2)": "p(rel=2)@5",
    "IPrec@0.1": "iprec(recall=0.1)",
    "IPrec(rel=2)@0.1": "iprec(recall=0.1,rel=2)",
    "Judged@10": "judged@10",
}


@each("name", IR_MEASURES)
def test_spelling_of_ir_measures_is_understood(name: str) -> None:
    assert list(se.RankingAccumulator([name], ties="docid_desc").compute()) == [IR_MEASURES[name]]
