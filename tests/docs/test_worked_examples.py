"""The tutorial shows the numbers of the texts it teaches, and says where they slip.

What the library gives for each example is tested in ``unit/test_worked_examples.py`` and
``oracle/test_ranking_examples.py``; what only the pages show is tested here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import accumulate, pairwise
from pathlib import Path

import pytest
from offenders import each

import streameval as se

PAGES = Path(__file__).parents[2] / "docs" / "tutorial"

SHOWN = {
    "classification": {
        "an always-negative classifier": [0.9999],
        "top one, top two, top four": [1.0, 0.2, 0.4, 0.75, 0.6],
        "six returned for five girls": [0.5, 0.6],
        "eighty of a hundred red carp": [0.8],
        "four labels": [0.5],
        "precision of three classes": [2 / 3, 2 / 9, 1 / 3],
        "recall of three classes": [1.0, 1 / 3],
        "F of three classes": [0.8, 4 / 15, 1 / 3],
        "F of several betas": [2 / 3, 0.625, 5 / 7],
    },
    "curves": {
        "ten images": [0.7833333333333333, 0.803030303030303],
        "pos_label 2": [0.0, 0.5, 1.0, 0.8, 0.4, 0.35, 0.1, 0.75],
        "average precision of four": [0.8333333333333334],
    },
    "ranking": {
        "AP of lists": [0.5527777777777778, 0.6916666666666667, 0.6222222222222222],
        "MAP of two topics": [0.8303571428571429, 0.4533333333333333, 0.6418452380952381],
        "MRR of cats, tori, viruses": [0.6111111111111112],
        "LRAP": [0.4166666666666667],
        "gains and their sums": [31, 3, 15, 34, 49, 64, 79],
        "DCG with exponential gain": [
            31.0,
            32.89278926071437,
            40.39278926071437,
            46.852937631815266,
            52.65572974033339,
        ],
        "DCG with linear gain": [
            5.0,
            6.2618595071429155,
            8.261859507142916,
            9.984565739436487,
            11.531976968374654,
        ],
        "NDCG with either gain": [0.9473069778637526, 0.9593886374186069],
    },
}
"""By page and example."""

SLIPS = [
    ("classification", "A bracket is missing"),
    ("curves", "prints 0.782"),
    ("curves", "swaps the names of the two axes"),
    ("ranking", "divides by five"),
]


def answers(page: str) -> str:
    """What the prompt answers on a page."""
    text = (PAGES / f"{page}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    lines = "".join(blocks).splitlines()
    return "\n".join(line for line in lines if not line.startswith((">>>", "...")))


@each(
    ("page", "example"),
    [(page, example) for page, examples in SHOWN.items() for example in examples],
)
def test_tutorial_shows_the_numbers_of_a_text(page: str, example: str) -> None:
    shown = [float(number) for number in re.findall(r"\d+\.?\d*", answers(page))]
    for number in SHOWN[page][example]:
        assert min(abs(number - other) for other in shown) < 5.1e-5, number


@each(("page", "slip"), SLIPS)
def test_tutorial_names_the_slip_of_a_text(page: str, slip: str) -> None:
    text = " ".join((PAGES / f"{page}.md").read_text(encoding="utf-8").split())
    assert slip in text


def dcg(relevance: Sequence[int], gain: str) -> list[float]:
    """DCG after each document of a ranking."""
    names = [f"dcg@{k}" for k in range(1, len(relevance) + 1)]
    score = range(len(relevance), 0, -1)
    result = se.RankingAccumulator(names, gain=gain).update([relevance], [score]).compute()
    return [float(value) for value in result.values()]


def test_gains_and_their_plain_sums_are_those_of_the_text() -> None:
    gains = [
        (after - before) * math.log2(rank + 1)
        for rank, (before, after) in enumerate(pairwise([0.0, *dcg([5, 2, 4, 4, 4], "exp2")]), 1)
    ]
    assert gains == pytest.approx([31, 3, 15, 15, 15], rel=1e-12)
    assert list(accumulate(gains)) == pytest.approx([31, 34, 49, 64, 79], rel=1e-12)


def test_dcg_is_printed_with_one_decimal() -> None:
    assert [round(value, 1) for value in dcg([5, 2, 4, 4, 4], "exp2")] == [
        31.0,
        32.9,
        40.4,
        46.9,
        52.7,
    ]


@each(
    ("relevance", "measure", "printed"),
    [
        ([[0, 1, 1, 0, 1, 0, 0, 0, 1, 0]], "map", 0.55),
        ([[1, 0, 1, 0, 0, 1, 0, 0, 1, 1]], "map", 0.62),
        ([[1, 0, 0, 1, 1, 1]], "map", 0.6917),
        ([[0, 0, 1], [0, 1, 0], [1, 0, 0]], "mrr", 0.61),
    ],
)
def test_mean_is_printed_rounded(relevance: list[list[int]], measure: str, printed: float) -> None:
    score = [range(len(row), 0, -1) for row in relevance]
    result = se.RankingAccumulator([measure]).update(relevance, score).compute()
    decimals = len(str(printed).partition(".")[2])
    assert round(float(result[measure]), decimals) == printed


@each(
    ("num_relevant", "expected"),
    [(5, 0.64), (3, 0.79)],
)
def test_map_of_two_topics_is_printed_with_five_relevant_pages(
    num_relevant: int, expected: float
) -> None:
    topics = [[1, 1, 0, 1, 0, 0, 1], [1, 0, 1, 0, 1, 0, 0]]
    score = [range(7, 0, -1)] * 2
    acc = se.RankingAccumulator(["map"]).update(topics, score, num_relevant=[4, num_relevant])
    assert round(float(acc.compute().map), 2) == expected


@each(("called", "counts"), [(1, (1, 0, 4, 5)), (2, (2, 0, 3, 5)), (4, (3, 1, 2, 4))])
def test_counts_of_the_aeroplanes_lie_on_the_curve_of_the_ten_images(
    called: int, counts: tuple[int, int, int, int]
) -> None:
    y_score = [0.95, 0.9, 0.8, 0.7, 0.6, 0.55, 0.4, 0.3, 0.2, 0.1]
    curve = se.PRCurveSketch().update([1, 1, 0, 1, 0, 1, 0, 0, 0, 1], y_score).compute()
    at = curve.confusion_at(y_score[called - 1])
    assert (at.tp, at.fp, at.fn, at.tn) == counts
