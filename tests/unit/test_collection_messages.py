"""Every message of collections: provoked, whole, and naming the argument or the member."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import pytest
from offenders import each
from unit.test_messages import Case, check_message, missed_raises
from win_rate import WinRate

import streameval as se
from streameval.accumulators.members import SharedBatch
from streameval.configs.collection import MAX_CHARACTERS, MAX_MEMBERS, Member
from streameval.errors import UnknownMetricError

MODULES = [
    "accumulators.collection",
    "accumulators.members",
    "configs.collection",
    "results.collection",
]

CM, RANK = se.ConfusionAccumulator(), se.RankingAccumulator(["map"])
CURVES = {"cm": CM, "curve": se.PRCurveSketch()}


def make(id: str, says: str, members: Any, columns: Any = None) -> Case:  # noqa: A002
    """Fail in the constructor."""
    return Case(id, lambda: se.Collection(members, columns=columns), says)


def update(id: str, says: str, members: Any, *batch: Any, **more: Any) -> Case:  # noqa: A002
    """Fail in an update."""
    columns = more.pop("columns", None)
    return Case(id, lambda: se.Collection(members, columns=columns).update(*batch, **more), says)


def merge(id: str, says: str, one: Any, other: Any, columns: Any = None) -> Case:  # noqa: A002
    """Fail in a merge; only the second collection renames columns."""

    def provoke() -> object:
        return se.Collection(one).merge(se.Collection(other, columns=columns))

    return Case(id, provoke, says, se.IncompatibleStateError)


def wrapped(depth: int) -> Callable[[], object]:
    """Put collections into one another."""
    return lambda: reduce(lambda inner, _: se.Collection({"a": inner}), range(depth), CM)


def read_in_vain() -> object:
    return se.Collection({"cm": CM, "fit": se.RegressionAccumulator()}).compute()["curve"]


OPTIONS = [
    make("list", "`members` must map names to accumulators, got list.", [CM]),
    make("accumulator", "`members` must map names to accumulators, got Conf", CM),
    make("none", "`members` must be from 1 to 4096 accumulators, got 0.", {}),
    make("many", "got 4097.", {str(number): CM for number in range(MAX_MEMBERS + 1)}),
    make("class", "`members` must be accumulators, got ABCMeta for 'a'.", {"a": type(CM)}),
    make(
        "slices",
        "`members` cannot be a Sliced, got one for 'a'. Make a Sliced of the collection.",
        {"a": se.Sliced(CM, "city")},
    ),
    make("number-name", "`members` must have names that are texts, got 0.", {0: CM}),
    make("empty-name", "`members` must have names that are texts, got ''.", {"": CM}),
    make("slash", "`members` must have names without '/', which", {"a/b": CM}),
    make("surrogate", "`members` must be Unicode text", {"\ud800": CM}),
    make(
        "counted",
        "`members` must have counted nothing yet, got 'a' with n=1. Reset it, or",
        {"a": se.ConfusionAccumulator().update([1], [1])},
    ),
    make(
        "skipped",
        "`members` must have counted nothing yet, got 'a' with n=0.",
        {"a": se.PRCurveSketch(nan="skip").update([1], [float("nan")])},
    ),
    make(
        "open",
        "`members` must have counted nothing yet, got 'a' with n=0.",
        {"a": RANK.copy().update([1], [0.5], query=[8], partial=True)},
    ),
    make(
        "long-names",
        f"`members` must have names and columns of at most {MAX_CHARACTERS} characters together,",
        {"a" * MAX_CHARACTERS: CM, "b": CM},
    ),
    make("long-columns", "together, got", {"a": CM}, {"a": {"y_pred": "b" * MAX_CHARACTERS}}),
    make(
        "outer",
        "`members` cannot be a Sliced, got one for 'a'. Make a Sliced of the collection.",
        {"a": se.Sliced(CM, "country")},
    ),
    Case("deep", wrapped(17), "`members` must be collections in collections at most 16 deep"),
]

COLUMNS = [
    make("columns-list", "`columns` must map members to their columns, got list.", CURVES, []),
    make("no-member", "`columns` must be for members, cm, curve, got 'c'.", CURVES, {"c": {}}),
    make("no-mapping", "`columns` must map arrays of 'cm' to columns, got s", CURVES, {"cm": "p"}),
    make(
        "no-array",
        "`columns` must be for arrays of 'cm', y_true, y_pred, sample_weight, got 'y_score'.",
        *(CURVES, {"cm": {"y_score": "p"}}),
    ),
    make(
        "no-array-inside",
        "`columns` must be for arrays of 'a', y_true, y_pred, sample_weight, y_score, got 'p'.",
        *({"a": se.Collection(CURVES)}, {"a": {"p": "q"}}),
    ),
    make(
        "column-name",
        "`columns` must have names that are texts, got 3.",
        CURVES,
        {"cm": {"y_pred": 3}},
    ),
    make(
        "column-empty",
        "`columns` must have names that are texts, got ''.",
        *(CURVES, {"cm": {"y_pred": ""}}),
    ),
]

TABLE = {"y_true": [1], "y_pred": [1], "relevance": [[1]], "score": [[1]]}

BATCHES = [
    update(
        "alone", "`y_pred` is missing: pass y_true, y_pred, or one batch", {"a": CM}, np.ones(3)
    ),
    update("first", "`y_true` is missing.", {"a": CM}, None, [1]),
    update(
        "length", "`y_pred` is missing, or the batch must hold y_true, y_pred", {"a": CM}, [[1]]
    ),
    update(
        "pair-ranking",
        "member 'r': `batch` must be a mapping or a table, because RankingAccumulator reads "
        "relevance, score, got arrays.",
        *({"a": CM, "r": RANK}, [1], [1]),
    ),
    update("pair-groups", "member 'g': `batch` must be a", {"g": se.GroupedAUC()}, [1], [1]),
    update(
        "column",
        "member 'curve': `y_score` is missing: the batch has the columns y_true, y_pred.",
        *(CURVES, {"y_true": [1], "y_pred": [1]}),
    ),
    update(
        "renamed",
        "member 'curve': `p` is missing: the batch has the columns y_true, y_pred, y_score.",
        *(CURVES, {"y_true": [1], "y_pred": [1], "y_score": [1]}),
        columns={"curve": {"y_score": "p"}},
    ),
    update("no-columns", "member 'a': `y_true` is missing: the batch has the col", {"a": CM}, {}),
    update(
        "weights-twice",
        "member 'a': `sample_weight` is in the batch and is also passed by keyword.",
        *({"a": CM}, TABLE | {"sample_weight": [1]}),
        sample_weight=[1],
    ),
    update(
        "weights-ranking",
        "member 'r': `sample_weight` has no meaning here: RankingAccumulator reads relevance,",
        *({"a": CM, "r": RANK}, TABLE),
        sample_weight=[1],
    ),
    update(
        "value",
        "`y_pred` must lie in [0, 1], got 3.5 at position 0. Pass scores=",
        *(CURVES, [1], [3.5]),
    ),
]

MERGES = [
    merge("names", "cannot merge: `names` differs (('a',) and ('b',)).", {"a": CM}, {"b": CM}),
    merge(
        "member-kinds",
        "cannot merge: `members` differs: for 'a' the class differs (ConfusionAccumulator and "
        "RegressionAccumulator).",
        *({"b": CM, "a": CM}, {"b": CM, "a": se.RegressionAccumulator()}),
    ),
    merge(
        "options",
        "cannot merge: `members` differs: for 'a' `threshold` differs (0.5 and 0.7).",
        *({"a": CM}, {"a": se.ConfusionAccumulator(threshold=0.7)}),
    ),
    merge(
        "columns",
        "cannot merge: `members` differs: for 'a' `columns` differs (() and (('y_pred', 'p'),)).",
        *({"a": CM}, {"a": CM}, {"a": {"y_pred": "p"}}),
    ),
    Case(
        "kinds",
        lambda: se.Collection({"a": CM}).merge(CM),  # type: ignore[arg-type]
        "cannot merge: the class differs (Collection and ConfusionAccumulator).",
        se.IncompatibleStateError,
    ),
]

CASES = [*OPTIONS, *COLUMNS, *BATCHES, *MERGES]
OF_MAPPINGS = [
    Case("result", read_in_vain, "'curve' is not among the members cm, fit", KeyError),
    Case("member", lambda: se.Collection(CURVES)["a"], "'a' is not among the members", KeyError),
    Case(
        "statistic",
        lambda: se.Collection({"wins": WinRate()}).compute().statistic("wins/win_rate"),
        "`wins` has a result without a table of metrics",
        se.InvalidInputError,
    ),
    Case(
        "metric",
        lambda: se.Collection(CURVES).compute().read("recall"),
        "no metric 'recall': .*cm/recall",
        UnknownMetricError,
    ),
    Case(
        "table",
        lambda: se.Collection(CURVES).compute().table("group"),
        "`per` must be 'class' or None, got 'group'",
    ),
]
"""What mappings raise by custom."""

PAIR = SharedBatch.of([1], [1], None)
WEIGHTED = SharedBatch.of([1], [1], [1])
RANKED = Member(type(RANK), RANK._config)
UNNAMED = [
    Case(
        "pair",
        lambda: PAIR.hand_to(se.RankingAccumulator(), RANKED),
        "`batch` must be a mapping or a table",
    ),
    Case(
        "weights",
        lambda: WEIGHTED.hand_to(se.RankingAccumulator(), RANKED),
        "`sample_weight` has no meaning here",
    ),
]
"""What is raised before the member is named."""


@each("case", [*CASES, *UNNAMED])
def test_message_is_whole_and_names_the_argument(case: Case) -> None:
    check_message(case)


@each("case", OF_MAPPINGS)
def test_error_of_a_mapping_lists_the_members(case: Case) -> None:
    with pytest.raises(case.kind, match=case.says):
        case.provoke()


def test_every_raise_statement_is_provoked() -> None:
    assert missed_raises(MODULES, [*CASES, *OF_MAPPINGS, *UNNAMED]) == []


def test_cases_have_distinct_ids() -> None:
    ids = [case.id for case in CASES]
    assert len(ids) == len(set(ids))


def test_the_deepest_collection_that_is_allowed_is_read_back() -> None:
    deepest: Any = wrapped(16)()
    assert se.from_bytes(deepest.to_bytes()) == deepest


def test_the_most_members_and_longest_names_that_are_allowed_are_read_back() -> None:
    length = MAX_CHARACTERS // MAX_MEMBERS
    names = [f"{number:04}" + "😀" * (length - 4) for number in range(MAX_MEMBERS)]
    col = se.Collection(dict.fromkeys(names, CM))
    assert se.from_bytes(col.to_bytes()) == col
