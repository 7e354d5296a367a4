"""Every message of collections: provoked, whole, and naming the argument or the member."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
from offenders import each
from unit.test_messages import Case, check_message, check_messages, missed_raises
from win_rate import WinRate

import streameval as se
from streameval.accumulators.members import SharedBatch
from streameval.configs.collection import MAX_CHARACTERS, MAX_MEMBERS, Member

MODULES = [
    "accumulators.collection",
    "accumulators.members",
    "configs.collection",
    "results.collection",
]

CM, RANK = se.ConfusionAccumulator(), se.RankingAccumulator(["map"])
CURVES = {"cm": CM, "curve": se.PRCurveSketch()}


def make(id: str, members: Any, columns: Any = None) -> Case:  # noqa: A002
    """Fail in the constructor."""
    return Case(id, lambda: se.Collection(members, columns=columns))


def update(id: str, members: Any, *batch: Any, **more: Any) -> Case:  # noqa: A002
    """Fail in an update."""
    columns = more.pop("columns", None)
    return Case(id, lambda: se.Collection(members, columns=columns).update(*batch, **more))


def merge(id: str, one: Any, other: Any, columns: Any = None) -> Case:  # noqa: A002
    """Fail in a merge; only the second collection renames columns."""

    def provoke() -> object:
        return se.Collection(one).merge(se.Collection(other, columns=columns))

    return Case(id, provoke)


def wrapped(depth: int) -> Callable[[], object]:
    """Put collections into one another."""
    return lambda: reduce(lambda inner, _: se.Collection({"a": inner}), range(depth), CM)


def read_in_vain() -> object:
    return se.Collection({"cm": CM, "fit": se.RegressionAccumulator()}).compute()["curve"]


OPTIONS = [
    make("list", [CM]),
    make("accumulator", CM),
    make("none", {}),
    make("many", {str(number): CM for number in range(MAX_MEMBERS + 1)}),
    make("class", {"a": type(CM)}),
    make("slices", {"a": se.Sliced(CM, "city")}),
    make("number-name", {0: CM}),
    make("empty-name", {"": CM}),
    make("slash", {"a/b": CM}),
    make("surrogate", {"\ud800": CM}),
    make("counted", {"a": se.ConfusionAccumulator().update([1], [1])}),
    make("skipped", {"a": se.PRCurveSketch(nan="skip").update([1], [float("nan")])}),
    make("open", {"a": RANK.copy().update([1], [0.5], query=[8], partial=True)}),
    make("long-names", {"a" * MAX_CHARACTERS: CM, "b": CM}),
    make("long-columns", {"a": CM}, {"a": {"y_pred": "b" * MAX_CHARACTERS}}),
    make("outer", {"a": se.Sliced(CM, "country")}),
    Case("deep", wrapped(17)),
]

COLUMNS = [
    make("columns-list", CURVES, []),
    make("no-member", CURVES, {"c": {}}),
    make("no-mapping", CURVES, {"cm": "p"}),
    make("no-array", *(CURVES, {"cm": {"y_score": "p"}})),
    make("no-array-inside", *({"a": se.Collection(CURVES)}, {"a": {"p": "q"}})),
    make("column-name", CURVES, {"cm": {"y_pred": 3}}),
    make("column-empty", *(CURVES, {"cm": {"y_pred": ""}})),
]

TABLE = {"y_true": [1], "y_pred": [1], "relevance": [[1]], "score": [[1]]}

BATCHES = [
    update("alone", {"a": CM}, np.ones(3)),
    update("first", {"a": CM}, None, [1]),
    update("length", {"a": CM}, [[1]]),
    update("pair-ranking", *({"a": CM, "r": RANK}, [1], [1])),
    update("pair-groups", {"g": se.GroupedAUC()}, [1], [1]),
    update("column", *(CURVES, {"y_true": [1], "y_pred": [1]})),
    update(
        "renamed",
        *(CURVES, {"y_true": [1], "y_pred": [1], "y_score": [1]}),
        columns={"curve": {"y_score": "p"}},
    ),
    update("no-columns", {"a": CM}, {}),
    update("weights-twice", *({"a": CM}, TABLE | {"sample_weight": [1]}), sample_weight=[1]),
    update("weights-ranking", *({"a": CM, "r": RANK}, TABLE), sample_weight=[1]),
    update("value", *(CURVES, [1], [3.5])),
]

MERGES = [
    merge("names", {"a": CM}, {"b": CM}),
    merge("member-kinds", *({"b": CM, "a": CM}, {"b": CM, "a": se.RegressionAccumulator()})),
    merge("options", *({"a": CM}, {"a": se.ConfusionAccumulator(threshold=0.7)})),
    merge("columns", *({"a": CM}, {"a": CM}, {"a": {"y_pred": "p"}})),
    Case("kinds", lambda: se.Collection({"a": CM}).merge(CM)),
]

CASES = [*OPTIONS, *COLUMNS, *BATCHES, *MERGES]
OF_MAPPINGS = [
    Case("result", read_in_vain),
    Case("member", lambda: se.Collection(CURVES)["a"]),
    Case(
        "statistic", lambda: se.Collection({"wins": WinRate()}).compute().statistic("wins/win_rate")
    ),
    Case("metric", lambda: se.Collection(CURVES).compute().read("recall")),
    Case("table", lambda: se.Collection(CURVES).compute().table("group")),
]
"""What mappings raise by custom."""

PAIR = SharedBatch.of([1], [1], None)
WEIGHTED = SharedBatch.of([1], [1], [1])
RANKED = Member(type(RANK), RANK._config)
UNNAMED = [
    Case("pair", lambda: PAIR.hand_to(se.RankingAccumulator(), RANKED)),
    Case("weights", lambda: WEIGHTED.hand_to(se.RankingAccumulator(), RANKED)),
]
"""What is raised before the member is named."""


@each("case", [*CASES, *UNNAMED])
def test_message_is_whole_and_names_the_argument(case: Case) -> None:
    check_message(case)


def test_every_raise_statement_is_provoked() -> None:
    assert missed_raises(MODULES, [*CASES, *OF_MAPPINGS, *UNNAMED]) == []


def test_messages_are_those_of_the_file() -> None:
    check_messages("messages_of_collections.txt", CASES, [*UNNAMED, *OF_MAPPINGS])


def test_the_deepest_collection_that_is_allowed_is_read_back() -> None:
    deepest: Any = wrapped(16)()
    assert se.from_bytes(deepest.to_bytes()) == deepest


def test_the_most_members_and_longest_names_that_are_allowed_are_read_back() -> None:
    length = MAX_CHARACTERS // MAX_MEMBERS
    names = [f"{number:04}" + "😀" * (length - 4) for number in range(MAX_MEMBERS)]
    col = se.Collection(dict.fromkeys(names, CM))
    assert se.from_bytes(col.to_bytes()) == col
