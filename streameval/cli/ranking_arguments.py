"""The arguments of the command line for rankings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streameval.cli import argument_values as values

if TYPE_CHECKING:
    import argparse

__all__ = ["add_ranking", "add_ranking_output"]

_COLUMNS = {
    "--query": "the query of the row, default query",
    "--relevance": "the relevance, default relevance; empty or null: not judged",
    "--doc": "the document, default doc if there is one",
    "--retrieved": "false for a judged document not returned, default retrieved if there is one",
    "--num-relevant": "how many relevant documents the query has, default num_relevant",
}
_CHOICES = {
    "--like": (
        ("trec_eval", "sklearn", "recsys", "ltr"),
        "the conventions of another tool: trec_eval, sklearn, recsys or ltr",
    ),
    "--ties": (
        ("expected", "docid_desc", "pessimistic", "optimistic"),
        "ties: expected over their orders (default), docid_desc, pessimistic or optimistic",
    ),
    "--ap-norm": (
        ("R", "min"),
        "map@k over R (default), the number of relevant documents, or min(R, k)",
    ),
    "--unjudged": (
        ("nonrelevant", "drop"),
        "what was not judged is nonrelevant (default), or drop: left out",
    ),
    "--negative": (
        ("raise", "zero"),
        "a negative relevance: raise (default), or zero: not judged",
    ),
}


def add_ranking(group: argparse._ArgumentGroup) -> None:
    """Add what says how queries are read and counted."""
    group.add_argument(
        "--qrels",
        metavar="FILE",
        help="TREC judgements; the files are parts of one TREC run, each read again and held in "
        "memory if the rows of a query do not stand together",
    )
    group.add_argument(
        "--no-count-missing",
        dest="count_missing",
        action="store_false",
        default=None,
        help="judged queries that the run lacks are in another part of it",
    )
    group.add_argument(
        "--measures",
        type=values.measures,
        action="extend",
        metavar="A,B,C",
        help="as in map,ndcg@10,P_5,rbp(p=0.8,rel=2); repeatable",
    )
    for option, (choices, text) in _CHOICES.items():
        group.add_argument(option, choices=choices, metavar="WHAT", help=text)
    group.add_argument(
        "--relevance-level",
        type=values.number,
        metavar="R",
        help="from which relevance on a document is relevant, default 1",
    )
    group.add_argument(
        "--gain", type=values.gain, metavar="GAIN", help="linear (default), exp2, or 1=1,2=3"
    )
    for option, words in (("--empty", "zero, skip, one or nan"), ("--missing", "zero or skip")):
        what = "with nothing to find" if option == "--empty" else "judged, but not in the run"
        group.add_argument(
            option,
            type=values.policy,
            metavar="WHAT",
            help=f"a query {what}: {words}, or by measure, map=skip",
        )
    _add_limits(group)
    for option, text in _COLUMNS.items():
        group.add_argument(option, metavar="COLUMN", help=text)


def add_ranking_output(group: argparse._ArgumentGroup) -> None:
    """Add what says how values are printed."""
    group.add_argument(
        "--per-query",
        action="store_true",
        default=None,
        help="the values of each query too, in the layout of trec_eval, or with --json as lines",
    )
    group.add_argument(
        "--trec",
        action="store_true",
        default=None,
        help="the layout of trec_eval in place of the report",
    )


def _add_limits(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--track-queries",
        action="store_true",
        default=None,
        help="keep the queries in the state, so that none is counted twice by a merge",
    )
    group.add_argument(
        "--rows-per-query",
        type=values.positive,
        metavar="N",
        help="rows kept for measures without a cutoff where queries come row by row, default 1000",
    )
    group.add_argument(
        "--max-open-queries",
        type=values.positive,
        metavar="N",
        help="more of them, come row by row, are refused",
    )
