"""Collections: what they are made of, what they read, and that all members count or none."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from offenders import each

import streameval as se

TRUTH, LABELS, SCORES = [0, 0, 1, 1, 1], [0, 1, 1, 1, 0], [0.125, 0.625, 0.75, 0.875, 0.25]
TARGET, GUESS, GROUPS = [3.0, -0.5, 2.0, 7.0, 1.0], [2.5, 0.0, 2.0, 8.0, 1.0], [7, 7, 9, 9, 7]
WEIGHTS = [1.0, 2.0, 0.5, 1.0, 3.0]

COLUMNS: dict[str, Any] = {
    "y_true": TRUTH,
    "y_pred": LABELS,
    "p": SCORES,
    "target": TARGET,
    "guess": GUESS,
    "group": GROUPS,
    "note": ["?"] * 5,
}
MEMBERS: dict[str, Any] = {
    "cm": se.ConfusionAccumulator(),
    "curve": se.PRCurveSketch(4),
    "cal": se.CalibrationAccumulator(3),
    "fit": se.RegressionAccumulator(),
    "gauc": se.GroupedAUC(8),
    "rank": se.RankingAccumulator(["map", "hit@1"]),
}
RENAMED = {
    "curve": {"y_score": "p"},
    "cal": {"y_prob": "p"},
    "fit": {"y_true": "target", "y_pred": "guess"},
    "gauc": {"y_score": "p"},
    "rank": {"relevance": "y_true", "score": "p", "query": "group"},
}
ALONE: dict[str, Callable[[Any], Any]] = {
    "cm": lambda acc: acc.update(TRUTH, LABELS),
    "curve": lambda acc: acc.update(TRUTH, SCORES),
    "cal": lambda acc: acc.update(TRUTH, SCORES),
    "fit": lambda acc: acc.update(TARGET, GUESS),
    "gauc": lambda acc: acc.update(TRUTH, SCORES, GROUPS),
    "rank": lambda acc: acc.update(TRUTH, SCORES, query=GROUPS),
}
"""What each member counts of the columns, updated alone."""

BAD = {
    "cm": {"y_pred": [0, 1, 2, 0, 0]},
    "curve": {"p_curve": [0, 1, 2, 0, 0]},
    "cal": {"p_cal": [0, 1, 2, 0, 0]},
    "fit": {"guess": [0, 1, np.inf, 0, 0]},
    "gauc": {"group": ["a", "b", "c", "d", "e"]},
    "rank": {"relevance": [0, 1, "1", 0, 0]},
}
"""For each member a column that it alone refuses."""

FRAMES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "dict": dict,
    "mapping": UserDict,
    "arrays": lambda columns: {name: np.array(column) for name, column in columns.items()},
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "arrow-table": pa.table,
    "arrow-batch": pa.RecordBatch.from_pydict,
}

every_member = each("name", MEMBERS)


def collection(*names: str) -> se.Collection:
    """Make a collection of some members, all by default."""
    chosen = names or tuple(MEMBERS)
    columns = {name: RENAMED[name] for name in chosen if name in RENAMED}
    return se.Collection({name: MEMBERS[name] for name in chosen}, columns=columns)


def pair() -> se.Collection:
    """Two members that take a truth and a prediction."""
    return se.Collection({"cm": se.ConfusionAccumulator(), "cal": se.CalibrationAccumulator()})


def alone(name: str) -> Any:
    return ALONE[name](MEMBERS[name].copy())


@every_member
@each("frame", FRAMES)
def test_a_member_counts_what_it_counts_alone(frame: str, name: str) -> None:
    member = collection().update(FRAMES[frame](COLUMNS))[name]
    assert member == alone(name)
    assert member.to_bytes() == alone(name).to_bytes()


@each("frame", FRAMES)
def test_weights_in_a_column_reach_every_member_that_takes_them(frame: str) -> None:
    col = collection().update(FRAMES[frame](COLUMNS | {"sample_weight": WEIGHTS}))
    assert col.n == {"cm": 7.5, "curve": 7.5, "cal": 7.5, "fit": 7.5, "gauc": 7.5, "rank": 2}


def test_weights_by_keyword_reach_every_member() -> None:
    col = collection("cm", "fit", "gauc").update(COLUMNS, sample_weight=WEIGHTS)
    assert col == collection("cm", "fit", "gauc").update(COLUMNS | {"sample_weight": WEIGHTS})
    assert col.n == {"cm": 7.5, "fit": 7.5, "gauc": 7.5}


def test_optional_arrays_are_read_where_they_are_there() -> None:
    ids = np.array(GROUPS)
    batch = {"relevance": TRUTH, "score": SCORES, "query": ids, "doc": [1, 2, 1, 2, 3]}
    options: dict[str, Any] = {"measures": ["map"], "ties": "docid_desc"}
    col = se.Collection({"rank": se.RankingAccumulator(**options)}).update(batch)
    assert col["rank"] == se.RankingAccumulator(**options).update(batch)


def test_positional_arrays_reach_every_member() -> None:
    scores = np.array(SCORES)
    col = pair().update(TRUTH, scores, sample_weight=WEIGHTS)
    assert col["cm"] == se.ConfusionAccumulator().update(TRUTH, scores, sample_weight=WEIGHTS)
    assert col["cal"] == se.CalibrationAccumulator().update(TRUTH, scores, sample_weight=WEIGHTS)


@each("make", [tuple, list])
def test_a_sequence_of_arrays_is_taken_apart(make: Callable[[Any], Any]) -> None:
    scores = np.array(SCORES)
    assert pair().update(make([TRUTH, scores])) == pair().update(TRUTH, scores)
    weighted = pair().update(TRUTH, scores, sample_weight=WEIGHTS)
    assert pair().update(make([TRUTH, scores, WEIGHTS])) == weighted


def test_a_column_is_taken_out_of_a_batch_once() -> None:
    taken: list[str] = []

    class Watched(UserDict[str, Any]):
        def __getitem__(self, name: str) -> Any:
            taken.append(name)
            return super().__getitem__(name)

    collection().update(Watched(COLUMNS))
    assert sorted(taken) == sorted(set(COLUMNS) - {"note"})


def test_an_empty_batch_changes_nothing() -> None:
    col = collection().update(COLUMNS)
    before = col.to_bytes()
    col.update({name: [] for name in COLUMNS})
    assert col.to_bytes() == before


def test_update_gives_the_collection_itself() -> None:
    col = collection()
    assert col.update(COLUMNS) is col


@every_member
@each("place", ["first", "middle", "last"])
def test_no_member_counts_when_one_refuses(name: str, place: str) -> None:
    others = [other for other in MEMBERS if other != name]
    at = {"first": 0, "middle": 2, "last": len(others)}[place]
    names = [*others[:at], name, *others[at:]]
    columns = {other: dict(RENAMED.get(other, {})) for other in names}
    columns["curve"]["y_score"], columns["cal"]["y_prob"] = "p_curve", "p_cal"
    columns["rank"]["relevance"] = "relevance"
    col = se.Collection({other: MEMBERS[other] for other in names}, columns=columns)
    good = COLUMNS | {"p_curve": SCORES, "p_cal": SCORES, "relevance": TRUTH}
    never_failed = col.copy().update(good).update(good)

    col.update(good)
    before = col.to_bytes()
    with pytest.raises(se.InvalidInputError, match=f"^member '{name}': `"):
        col.update(good | BAD[name])
    assert col.to_bytes() == before
    assert col.update(good).to_bytes() == never_failed.to_bytes()


def test_no_member_counts_when_a_total_would_overflow() -> None:
    members = {"cm": se.ConfusionAccumulator(), "fit": se.RegressionAccumulator()}
    col = se.Collection(members, columns={"fit": {"sample_weight": "w"}})
    batch = {"y_true": [0, 1], "y_pred": [1, 1], "w": [2**63 - 2, 1]}
    before = col.update(batch).to_bytes()
    with pytest.raises(se.CountOverflowError, match=r"^member 'fit': `sample_weight` would bring"):
        col.update(batch)
    assert col.to_bytes() == before
    assert col.n == {"cm": 2, "fit": 2**63 - 1}


def test_no_member_merges_when_a_total_would_overflow() -> None:
    members = {"cm": se.ConfusionAccumulator(), "fit": se.RegressionAccumulator()}
    col = se.Collection(members, columns={"fit": {"sample_weight": "w"}})
    before = col.update({"y_true": [1], "y_pred": [1], "w": [2**62]}).to_bytes()
    with pytest.raises(se.CountOverflowError, match=r"^member 'fit': "):
        col.merge(col)
    assert col.to_bytes() == before


def test_no_member_merges_when_one_cannot() -> None:
    members = {"cm": se.ConfusionAccumulator(), "met": se.ConfusionAccumulator("auto")}
    columns = {"met": {"y_true": "a", "y_pred": "b"}}
    numbers, words = (se.Collection(members, columns=columns) for _ in range(2))
    numbers.update({"y_true": [1], "y_pred": [1], "a": [5], "b": [5]})
    words.update({"y_true": [1], "y_pred": [1], "a": ["x"], "b": ["x"]})
    before = numbers.to_bytes()
    with pytest.raises(se.IncompatibleStateError, match=r"^member 'met': cannot merge: "):
        numbers.merge(numbers, words)
    assert numbers.to_bytes() == before


def test_an_error_of_another_kind_keeps_its_class_and_is_noted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*batch: Any, **more: Any) -> Any:
        raise MemoryError("no room")

    col = collection("cm", "fit")
    before = col.to_bytes()
    monkeypatch.setattr(se.RegressionAccumulator, "update", fail)
    with pytest.raises(MemoryError) as caught:
        col.update(COLUMNS)
    assert caught.value.__notes__ == ["This was member 'fit'."]
    assert col.to_bytes() == before


def test_members_are_copied_when_given() -> None:
    given = se.ConfusionAccumulator()
    col = se.Collection({"cm": given})
    given.update(TRUTH, LABELS)
    assert col["cm"].n == 0


def test_members_given_do_not_count() -> None:
    given = se.ConfusionAccumulator()
    se.Collection({"cm": given}).update(COLUMNS)
    assert given.n == 0


@every_member
def test_a_member_taken_out_is_detached(name: str) -> None:
    col = collection().update(COLUMNS)
    before = col.to_bytes()
    taken = col[name]
    ALONE[name](taken)
    assert col.to_bytes() == before
    col.update(COLUMNS)
    assert taken == ALONE[name](alone(name))
    assert col[name] == taken


def test_copies_go_their_own_ways() -> None:
    col = collection().update(COLUMNS)
    copied, before = col.copy(), col.to_bytes()
    copied.update(COLUMNS)
    assert col.to_bytes() == before
    col.update({name: column[::-1] for name, column in COLUMNS.items()} | {"y_true": TRUTH})
    assert copied == collection().update(COLUMNS).update(COLUMNS)


def test_iteration_gives_the_names_in_order() -> None:
    assert list(collection("fit", "cm", "curve")) == ["fit", "cm", "curve"]
    assert len(collection("fit", "cm", "curve")) == 3


def test_membership_is_that_of_names() -> None:
    col = nested()
    assert ["outer" in col, "outer/cm" in col, "cm" in col, "out" in col] == [
        True,
        True,
        True,
        False,
    ]
    assert 0 not in col


def test_order_of_names_is_part_of_the_configuration() -> None:
    one, other = collection("cm", "fit"), collection("fit", "cm")
    assert one != other
    with pytest.raises(se.IncompatibleStateError, match="`names` differs"):
        one.merge(other)


def updates_of(monkeypatch: pytest.MonkeyPatch, kind: type[Any]) -> list[Any]:
    """Record each call of an update."""
    calls: list[Any] = []
    update = kind.update

    def record(self: Any, *batch: Any, **more: Any) -> Any:
        calls.append(self)
        return update(self, *batch, **more)

    monkeypatch.setattr(kind, "update", record)
    return calls


def test_equal_members_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = updates_of(monkeypatch, se.ConfusionAccumulator)
    members = {
        "a": se.ConfusionAccumulator([0, 1], pos_label=1),
        "other": se.ConfusionAccumulator(threshold=0.25),
        "b": se.ConfusionAccumulator(2, threshold=0.5),
    }
    col = se.Collection(members)
    col.update(TRUTH, np.array(SCORES))
    assert len(calls) == 2
    assert col.shared == (("a", "b"),)
    assert col["a"] == col["b"] == members["a"].update(TRUTH, np.array(SCORES))
    assert col["other"] == members["other"].update(TRUTH, np.array(SCORES))


def test_equal_members_are_written_once() -> None:
    one = se.Collection({"a": se.PRCurveSketch()})
    two = se.Collection({"a": se.PRCurveSketch(), "b": se.PRCurveSketch()})
    sizes = [len(col.update(TRUTH, SCORES).to_bytes()) for col in (one, two)]
    assert sizes[1] - sizes[0] < 16


def test_members_with_equal_counts_are_not_shared_when_their_options_differ() -> None:
    members = {"a": se.ConfusionAccumulator(), "b": se.ConfusionAccumulator(threshold=0.375)}
    col = se.Collection(members).update(TRUTH, np.array([0.0, 1.0, 1.0, 0.0, 1.0]))
    assert col["a"].compute().matrix.tolist() == col["b"].compute().matrix.tolist()
    assert col.shared == ()
    result = col.update([0], np.array([0.4375])).compute()
    assert [int(result[name].fp) for name in "ab"] == [1, 2]


def test_members_are_not_shared_when_their_columns_differ() -> None:
    members = {"a": se.PRCurveSketch(), "b": se.PRCurveSketch(), "c": se.PRCurveSketch()}
    columns = {
        "a": {"y_score": "p"},
        "b": {"y_score": "q"},
        "c": {"y_score": "p", "y_true": "y_true"},
    }
    col = se.Collection(members, columns=columns)
    assert col.shared == (("a", "c"),)
    col.update({"y_true": [0, 1], "p": [0.25, 0.5], "q": [0.5, 0.25]})
    assert [col.compute()[name].roc_auc for name in col] == [1.0, 0.0, 1.0]


def test_weights_that_must_be_there_are_not_shared_with_those_that_may() -> None:
    members = {"a": se.RegressionAccumulator(), "b": se.RegressionAccumulator()}
    col = se.Collection(members, columns={"b": {"sample_weight": "sample_weight"}})
    assert col.shared == ()
    with pytest.raises(se.InvalidInputError, match=r"^member 'b': `sample_weight` is missing: "):
        col.update({"y_true": [1], "y_pred": [1]})


def test_weights_come_from_the_column_that_is_named() -> None:
    members = {"a": se.RegressionAccumulator(), "b": se.RegressionAccumulator()}
    col = se.Collection(members, columns={"b": {"sample_weight": "w"}})
    col.update({"y_true": [1, 2], "y_pred": [1, 1], "w": [0, 3]})
    assert col.n == {"a": 2, "b": 3}


def nested() -> se.Collection:
    inner = se.Collection(
        {"cm": se.ConfusionAccumulator(), "curve": se.PRCurveSketch()},
        columns={"curve": {"y_score": "p"}},
    )
    outer = se.Collection({"inner": inner, "cm": se.ConfusionAccumulator()})
    members = {"cm": se.ConfusionAccumulator(), "outer": outer, "cal": se.CalibrationAccumulator()}
    return se.Collection(members, columns={"outer": {"p": "score"}, "cal": {"y_prob": "score"}})


BATCH = {"y_true": TRUTH, "y_pred": LABELS, "score": SCORES}


def test_columns_of_a_collection_within_another_are_those_that_it_reads() -> None:
    col = nested().update(BATCH)
    assert col["outer/inner/curve"] == se.PRCurveSketch().update(TRUTH, SCORES)
    assert col["outer"]["inner"]["curve"] == col["outer/inner/curve"]


def test_a_collection_taken_out_reads_the_columns_of_the_outer_one() -> None:
    col = nested()
    inner = col["outer/inner"].update(BATCH)
    assert inner["curve"] == se.PRCurveSketch().update(TRUTH, SCORES)
    assert col.n["cm"] == 0
    expected = se.Collection(
        {"cm": se.ConfusionAccumulator(), "curve": se.PRCurveSketch()},
        columns={"curve": {"y_score": "score"}},
    )
    assert inner == expected.update(BATCH)
    assert inner.to_bytes() == expected.to_bytes()


def test_members_are_counted_once_across_collections(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = updates_of(monkeypatch, se.ConfusionAccumulator)
    col = nested().update(BATCH)
    assert len(calls) == 1
    assert col.shared == (("cm", "outer/inner/cm", "outer/cm"),)
    assert col["outer"].shared == (("inner/cm", "cm"),)


def test_n_is_a_dict_of_dicts_when_collections_nest() -> None:
    inner = {"cm": 5, "curve": 5}
    assert nested().update(BATCH).n == {"cm": 5, "outer": {"inner": inner, "cm": 5}, "cal": 5}


def test_a_nested_member_that_refuses_is_named_by_its_path() -> None:
    col = nested()
    with pytest.raises(se.InvalidInputError, match=r"^member 'outer/inner/curve': `y_score` must"):
        col.update(BATCH | {"score": [0, 0, 0, 0, 2]})
    assert col == nested()


def test_equal_trees_are_equal_however_they_were_given() -> None:
    curve = se.PRCurveSketch()
    renamed = se.Collection({"x": curve}, columns={"x": {"y_score": "p"}})
    two_steps = se.Collection({"a": renamed}, columns={"a": {"p": "q"}})
    one_step = se.Collection({"a": se.Collection({"x": curve}, columns={"x": {"y_score": "q"}})})
    assert two_steps == one_step
    assert two_steps.to_bytes() == one_step.to_bytes()


def test_renaming_back_is_no_renaming() -> None:
    curve = se.PRCurveSketch()
    there = se.Collection({"x": curve}, columns={"x": {"y_score": "p"}})
    back = se.Collection({"a": there}, columns={"a": {"p": "y_score"}})
    assert back == se.Collection({"a": se.Collection({"x": curve})})


@each(
    ("col", "expected"),
    [
        (
            pair(),
            "Collection({'cm': ConfusionAccumulator(n=0), 'cal': CalibrationAccumulator(n=0)})",
        ),
        (
            se.Collection(
                {"a": se.PRCurveSketch(5), "b": se.PRCurveSketch(5)},
                columns={name: {"y_score": "p"} for name in "ab"},
            ).update({"y_true": [1], "p": [0.5]}),
            (
                "Collection({'a': PRCurveSketch(budget=5, n=1), "
                "'b': PRCurveSketch(budget=5, n=1)}, columns={'a': {'y_score': 'p'}, "
                "'b': {'y_score': 'p'}}, shared=(('a', 'b'),))"
            ),
        ),
    ],
)
def test_repr_shows_members_columns_and_what_is_shared(col: Any, expected: str) -> None:
    assert repr(col) == expected


@each("name", ["other", "outer/other", "out", "", "outer/", "cm/"])
def test_an_unknown_name_is_a_key_error_that_lists_the_members(name: str) -> None:
    for mapping in (nested(), nested().compute()):
        with pytest.raises(KeyError, match="is not among the members cm, outer/inner/cm"):
            mapping[name]


def test_collections_of_different_members_are_not_equal() -> None:
    assert collection("cm") != collection("fit")
    assert collection("cm") != se.ConfusionAccumulator()


def test_sum_and_merge_add_up() -> None:
    parts = [nested().update(BATCH) for _ in range(3)]
    whole = nested().update(BATCH).update(BATCH).update(BATCH)
    assert sum(parts) == se.merge(parts) == parts[0] + parts[1] + parts[2] == whole


def test_one_collection_is_nothing_to_merge() -> None:
    with pytest.raises(se.InvalidInputError, match="must be an iterable of accumulators, got one"):
        se.merge(nested())  # type: ignore[arg-type]


def test_tensor_is_brought_to_the_host_once_for_all_members(monkeypatch: Any) -> None:
    torch = pytest.importorskip("torch")
    brought = []
    monkeypatch.setattr(torch.Tensor, "detach", lambda tensor: brought.append(1) or tensor)
    labels, scores = torch.tensor([1, 0, 1]), torch.tensor([0.9, 0.2, 0.4])
    members = {"counts": se.ConfusionAccumulator(), "curve": se.PRCurveSketch()}
    pair = se.Collection(members).update(labels, scores)
    assert len(brought) == 2
    columns = {"counts": {"y_pred": "y_score"}}
    table = se.Collection(members, columns=columns).update({"y_true": labels, "y_score": scores})
    assert len(brought) == 4
    assert pair["curve"] == table["curve"]
    assert table["counts"].n == 3
