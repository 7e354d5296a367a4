"""The AUC within groups: the mean of scikit-learn's, bounded, and the same however it was cut."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from offenders import each
from profiles import quick_cases
from sklearn.metrics import roc_auc_score
from small_states import EVERY

import streameval as se
from streameval.accumulators import grouped, pending
from streameval.metrics.intervals import student

WEIGHTINGS = ["impressions", "uniform", "positives"]
every_weighting = each("weighting", WEIGHTINGS)

Rows = dict[str, np.ndarray]


def random_rows(seed: int, *, ties: bool = True, kind: str = "probability") -> Rows:
    """Up to 300 rows in up to 12 groups, some of one class, some weighted."""
    random = np.random.default_rng(seed)
    size = int(random.integers(1, 300))
    group = random.geometric(random.uniform(0.1, 0.6), size).clip(max=12) * 7 - 30
    scores = random.random(size).round(1) if ties else random.random(size)
    if kind == "real":
        scores = (scores - 0.5) * 1e3
    rows = {
        "y_true": (random.random(size) < random.uniform(0.1, 0.9)).astype(int),
        "y_score": scores,
        "group": group if seed % 2 else np.array([f"user {g}" for g in group], dtype=object),
    }
    weights = [None, random.integers(0, 4, size), random.integers(1, 9, size) / 4]
    if (chosen := weights[seed % 3]) is not None:
        rows["sample_weight"] = chosen
    return rows


def areas_by_hand(rows: Rows) -> dict[Any, tuple[float, float, float]]:
    """For each group the positives, the negatives and scikit-learn's AUC."""
    weights = rows.get("sample_weight", np.ones(len(rows["group"])))
    found = {}
    for group in sorted(set(rows["group"][weights > 0].tolist())):
        held = (rows["group"] == group) & (weights > 0)
        truth, scores, weight = rows["y_true"][held], rows["y_score"][held], weights[held]
        auc = math.nan
        if len(set(truth.tolist())) == 2:
            auc = roc_auc_score(truth, scores, sample_weight=weight)
        found[group] = weight[truth == 1].sum(), weight[truth == 0].sum(), auc
    return found


def gauc_by_hand(rows: Rows, weighting: str) -> tuple[float, float]:
    """GAUC and coverage."""
    areas = areas_by_hand(rows)
    weigh: dict[str, Callable[[float, float], float]] = {
        "impressions": lambda pos, neg: pos + neg,
        "uniform": lambda pos, neg: 1.0,
        "positives": lambda pos, neg: pos,
    }
    held = [(weigh[weighting](p, n), auc, p + n) for p, n, auc in areas.values() if auc == auc]  # noqa: PLR0124
    if not held:
        return math.nan, 0.0
    weights, aucs, impressions = (np.array(part) for part in zip(*held, strict=True))
    total = sum(p + n for p, n, _ in areas.values())
    return float((weights * aucs).sum() / weights.sum()), impressions.sum() / total


def count(rows: Rows, index: Any = slice(None), **options: Any) -> se.GroupedAUC:
    part = {name: column[index] for name, column in rows.items()}
    return se.GroupedAUC(**options).update(part)


@pytest.mark.slow
@every_weighting
@each("kind", ["probability", "real"])
def test_gauc_is_the_mean_of_those_of_scikit_learn(weighting: str, kind: Any) -> None:
    undefined, n_cases = 0, quick_cases(100, least=5)
    for seed in range(n_cases):
        rows = random_rows(seed, kind=kind)
        result = count(rows, scores=kind, group_weight=weighting).compute()
        if not result.n:
            continue
        gauc, coverage = gauc_by_hand(rows, weighting)
        assert result.gauc == pytest.approx(gauc, rel=1e-12, nan_ok=True), seed
        assert result.coverage == pytest.approx(coverage, rel=1e-12), seed
        assert result.exact
        assert result.gauc.exact
        undefined += math.isnan(gauc)
    assert undefined < n_cases / 5


def test_areas_of_the_groups_are_those_of_scikit_learn() -> None:
    for seed in range(quick_cases(100, least=5)):
        rows = random_rows(seed)
        found, expected = count(rows).compute().per_group(), areas_by_hand(rows)
        assert found["group"].tolist() == list(expected)
        columns = (found["n_pos"], found["n_neg"], found["roc_auc"])
        for column, wanted in zip(columns, zip(*expected.values(), strict=True), strict=False):
            np.testing.assert_allclose(column, wanted, rtol=1e-12)
        np.testing.assert_array_equal(found["roc_auc_low"], found["roc_auc"])
        np.testing.assert_array_equal(found["roc_auc_high"], found["roc_auc"])


@pytest.mark.slow
def test_bounds_hold_the_exact_values_when_cells_are_wide() -> None:
    coarse, at_low, at_high, n_cases = 0, 0, 0, quick_cases(1500, least=75)
    for seed in range(n_cases):
        rows = random_rows(seed, ties=seed % 4 == 0)
        weighting = WEIGHTINGS[seed % 3]
        exact = count(rows, group_weight=weighting).compute()
        for extra in (0, 2, 10):
            budget = max(exact.n_groups, 1) + extra
            result = count(rows, budget=budget, group_weight=weighting).compute()
            truth, held = exact.per_group(), result.per_group()
            known = ~np.isnan(truth["roc_auc"])
            np.testing.assert_array_equal(known, ~np.isnan(held["roc_auc"]))
            assert (held["roc_auc_low"] <= truth["roc_auc"])[known].all(), seed
            assert (held["roc_auc_high"] >= truth["roc_auc"])[known].all(), seed
            np.testing.assert_array_equal(held["n_pos"], truth["n_pos"])
            np.testing.assert_array_equal(held["n_neg"], truth["n_neg"])
            assert result.coverage == exact.coverage or math.isnan(exact.coverage)
            value = result.gauc
            assert math.isnan(value) == math.isnan(exact.gauc)
            if value.low < value.high:
                coarse += 1
                assert value.low <= exact.gauc <= value.high, seed
                assert value.low <= value <= value.high
                at_low += exact.gauc - value.low < 1e-9
                at_high += value.high - exact.gauc < 1e-9
    assert coarse >= 4 / 3 * n_cases
    assert at_low > 0
    assert at_high > 0


def test_areas_never_pass_1_when_positives_of_fractional_weight_score_highest() -> None:
    for seed in range(30):
        random = np.random.default_rng(seed)
        y = random.integers(0, 2, 30)
        found = se.GroupedAUC().update(
            y,
            np.where(y, 0.75, 0.25) + 0.2 * random.random(30),
            random.integers(0, 2, 30),
            sample_weight=random.uniform(0.01, 3, 30),
        )
        gauc, groups = found.compute().gauc, found.compute().per_group()
        assert gauc.low <= gauc <= gauc.high <= 1
        low, auc, high = (groups[name] for name in ("roc_auc_low", "roc_auc", "roc_auc_high"))
        assert ((low <= auc) & (auc <= high) & (high <= 1)).all(), groups


def test_width_of_gauc_is_that_of_the_pairs_that_share_a_wide_cell() -> None:
    # budget 3: group 1 has cells 0.125 and [0.5, 0.75]; group 2 one of 0.25
    rows = [0, 1, 0, 1, 0, 1], [0.125, 0.5, 0.625, 0.75, 0.25, 0.25], [1, 1, 1, 1, 2, 2]
    result = se.GroupedAUC(3, group_weight="uniform").update(*rows).compute()
    table = result.per_group()
    np.testing.assert_allclose(table["roc_auc_low"], [0.5, 0.5])
    np.testing.assert_allclose(table["roc_auc"], [0.75, 0.5])
    np.testing.assert_allclose(table["roc_auc_high"], [1.0, 0.5])
    assert (result.gauc, result.gauc.low, result.gauc.high) == pytest.approx((0.625, 0.5, 0.75))
    assert not result.exact


@each("budget", [2**22, 14])
def test_groups_over_7_workers_give_the_same_bytes(budget: int) -> None:
    for seed in range(quick_cases(30)):
        random = np.random.default_rng(seed)
        rows = random_rows(seed)
        rows = {name: np.concatenate([column] * 2) for name, column in rows.items()}
        whole = count(rows, budget=budget)
        worker = random.integers(0, 7, len(rows["group"]))
        parts = []
        for name in range(7):
            held = np.flatnonzero(worker == name)
            part = se.GroupedAUC(budget)
            for piece in np.array_split(held, 3):
                part.update({key: column[piece] for key, column in rows.items()})
            parts.append(part)
        while len(parts) > 1:
            one, other = sorted(random.choice(len(parts), 2, replace=False).tolist())
            parts[one] = parts[one] + parts.pop(other)
        assert parts[0].to_bytes() == whole.to_bytes()
        assert parts[0].compute().as_dict().keys() == whole.compute().as_dict().keys()
        np.testing.assert_equal(parts[0].compute().as_dict(), whole.compute().as_dict())


@pytest.mark.parametrize("capacity", [1, 7, 50])
@pytest.mark.parametrize("texts", [0, 3, 4096])
def test_blocks_of_any_size_give_the_same_bytes(
    capacity: int, texts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = random_rows(5)
    rows["group"] = np.array([f"g{group}" for group in rows["group"].tolist()], dtype=object)
    expected = count(rows, budget=20).to_bytes()
    monkeypatch.setattr(grouped, "_CAPACITY", capacity)
    monkeypatch.setattr(pending, "_MAX_TEXTS", texts)
    acc = se.GroupedAUC(20)
    for piece in np.array_split(np.arange(len(rows["group"])), 40):
        acc.update({name: column[piece] for name, column in rows.items()})
    assert acc.to_bytes() == expected


def test_batches_with_and_without_weights_are_pending_together() -> None:
    acc = se.GroupedAUC().update([1, 0], [0.5, 0.25], [1, 1])
    acc.update([1], [0.125], [1], sample_weight=[0.5])
    by_hand = roc_auc_score([1, 0, 1], [0.5, 0.25, 0.125], sample_weight=[1, 1, 0.5])
    assert acc.compute().gauc == pytest.approx(by_hand, rel=1e-15)
    assert acc.n == 2.5


def test_update_that_fails_leaves_what_is_pending() -> None:
    acc = se.GroupedAUC(max_groups=2).update([1, 0], [0.5, 0.25], ["a", "b"])
    before = acc.to_bytes()
    for batch, error in [
        (([1], [0.5], [3]), "`group` must hold strings as before"),
        (([1], [0.5], ["c"]), "past max_groups=2"),
        (([1], [0.5], ["\ud800"]), "`group` must be Unicode text"),
        (([2], [0.5], ["a"]), "`y_true` must hold 0 and 1"),
    ]:
        with pytest.raises(se.InvalidInputError, match=error):
            acc.update(*batch)
        assert acc.to_bytes() == before
    assert acc.update([1], [0.5], ["a"]).n == 3


def test_names_of_groups_that_are_no_text_are_refused_in_any_row() -> None:
    acc = se.GroupedAUC().update([1], [0.5], ["a"])
    with pytest.raises(se.InvalidInputError, match="`group` must be Unicode text"):
        acc.update([1, 0], [0.5, 0.5], ["b", "\ud800"], sample_weight=[1, 2])
    assert acc.n == 1


def test_two_columns_are_probabilities_of_both_classes() -> None:
    pairs = [[0.25, 0.75], [0.625, 0.375], [0.5, 0.5]]
    acc = se.GroupedAUC().update([1, 0, 1], pairs, ["a", "a", "b"])
    assert acc == se.GroupedAUC().update([1, 0, 1], [0.75, 0.375, 0.5], ["a", "a", "b"])


@each("limit", [{"max_groups": 3}, {"budget": 3}, {"max_groups": 3, "budget": 3}])
def test_as_many_groups_as_allowed_are_counted(limit: dict[str, int]) -> None:
    acc = se.GroupedAUC(**limit).update([1, 0, 1], [0.5, 0.25, 0.75], [1, 2, 3])
    assert acc.update([0], [0.125], [3]).compute().n_groups == 3
    with pytest.raises(se.InvalidInputError, match="the number of groups to 4, past"):
        acc.update([0], [0.125], [4])
    assert acc.n == 4


def test_groups_without_weight_are_not_met() -> None:
    acc = se.GroupedAUC(max_groups=1)
    acc.update([1, 0, 1], [0.5, 0.25, 0.75], [1, 2, 3], sample_weight=[1, 0, 0])
    assert acc.compute().n_groups == 1


@each("counted", [False, True])
@each("groups", [([1], ["1"]), (["1"], [1])])
def test_strings_and_numbers_are_not_mixed(groups: Any, counted: bool) -> None:
    first, second = groups
    acc = se.GroupedAUC().update([1], [0.5], first)
    acc = acc.copy() if counted else acc
    with pytest.raises(se.InvalidInputError, match="`group` must hold"):
        acc.update([1], [0.5], second)
    with pytest.raises(se.IncompatibleStateError, match="`group` holds strings in one and num"):
        acc.merge(se.GroupedAUC().update([1], [0.5], second))
    assert acc == se.GroupedAUC().update([1], [0.5], first)


def test_type_of_groups_is_free_again_when_nothing_is_held() -> None:
    acc = se.GroupedAUC().update([1], [0.5], ["a"]).reset().update([1], [0.5], [7])
    assert acc.compute().per_group()["group"].tolist() == [7]
    assert (se.GroupedAUC() + acc) == (acc + se.GroupedAUC()) == acc


def test_empty_batch_changes_nothing() -> None:
    acc = se.GroupedAUC().update([1], [0.5], ["a"])
    before = acc.to_bytes()
    for groups in ([], np.zeros(0, dtype=int), np.zeros(0, dtype=object)):
        assert acc.update([], [], groups).to_bytes() == before
    assert acc.update([1], [0.5], [7], sample_weight=[0]).to_bytes() == before


TABLES: dict[str, Callable[[Rows], Any]] = {
    "dict": dict,
    "lists": lambda rows: {name: column.tolist() for name, column in rows.items()},
    "tuple": lambda rows: tuple(rows[name] for name in ("y_true", "y_score", "group")),
    "pandas": pd.DataFrame,
    "pandas strings": lambda rows: pd.DataFrame(rows).convert_dtypes(),
    "polars": lambda rows: pl.DataFrame({k: column.tolist() for k, column in rows.items()}),
    "pyarrow": lambda rows: pa.table({k: column.tolist() for k, column in rows.items()}),
    "categories": lambda rows: pd.DataFrame(rows).astype({"group": "category"}),
    "bool": lambda rows: rows | {"y_true": rows["y_true"].astype(bool)},
    "backwards": lambda rows: {name: column[::-1] for name, column in rows.items()},
}


@each("groups", ["strings", "numbers"])
@each("table", TABLES)
def test_batch_may_be(table: str, groups: str) -> None:
    rows = random_rows(0 if groups == "strings" else 3)
    rows.pop("sample_weight", None)
    acc = se.GroupedAUC().update(TABLES[table](rows))
    assert acc.to_bytes() == count(rows).to_bytes()


@each("dtype", [np.int8, np.uint8, np.int32, np.uint64, np.float32, np.float64])
def test_groups_may_be_of_any_integral_type(dtype: type) -> None:
    rows = [1, 0, 1], [0.5, 0.25, 0.75], [1, 1, 2]
    acc = se.GroupedAUC().update(*rows[:2], np.array(rows[2], dtype=dtype))
    assert acc == se.GroupedAUC().update(*rows)


def test_batch_may_be_of_torch() -> None:
    torch = pytest.importorskip("torch")
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        score = torch.tensor([0.5, 0.25, 0.75], dtype=dtype)
        acc = se.GroupedAUC().update(torch.tensor([1, 0, 1]), score, torch.tensor([1, 1, 2]))
        assert acc == se.GroupedAUC().update([1, 0, 1], [0.5, 0.25, 0.75], [1, 1, 2])


def test_scores_of_a_float32_worker_merge_with_those_of_a_float64_worker() -> None:
    rows = random_rows(3, ties=False)
    rows["y_score"] = rows["y_score"].astype(np.float32)
    wide = rows | {"y_score": rows["y_score"].astype(np.float64)}
    assert count(rows).to_bytes() == count(wide).to_bytes()


@each("name", ["grouped", "coarse_groups", "empty_grouped"])
def test_groups_go_into_data_frames(name: str) -> None:
    columns = EVERY[name]().compute().per_group()
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns).to_pandas()):
        assert list(frame.columns) == [
            *("group", "n_pos", "n_neg", "roc_auc", "roc_auc_low", "roc_auc_high")
        ]
        assert len(frame) == EVERY[name]().compute().n_groups
    assert {str(columns[key].dtype) for key in columns if "auc" in key} == {"float64"}
    assert columns["group"].dtype == (object if name == "coarse_groups" else np.int64)
    if name != "empty_grouped":
        assert pd.DataFrame(columns).set_index("group").loc[columns["group"][0], "n_pos"] >= 0


def test_columns_can_be_changed_without_a_trace() -> None:
    result = EVERY["grouped"]().compute()
    before = repr(result.per_group())
    for column in result.per_group().values():
        column[:] = 5
    assert repr(result.per_group()) == before
    assert result.gauc == 0.75


def test_counts_are_whole_until_a_weight_has_a_fraction() -> None:
    whole = se.GroupedAUC().update([1, 0], [0.5, 0.25], [1, 1], sample_weight=[2**60, 3]).compute()
    assert whole.per_group()["n_pos"].tolist() == [2**60]
    assert whole.per_group()["n_pos"].dtype == np.int64
    assert EVERY["coarse_groups"]().compute().per_group()["n_pos"].dtype == np.float64


def test_result_says_how_many_there_are() -> None:
    result = EVERY["grouped"]().compute()
    assert (result.n, result.n_groups, result.n_averaged, result.cells) == (5, 3, 1, 4)
    assert (result.exact, result.coverage) == (True, 0.6)


def test_result_of_nothing_is_nan() -> None:
    result = EVERY["empty_grouped"]().compute()
    assert math.isnan(result.gauc)
    assert math.isnan(result.coverage)
    assert (result.n, result.n_groups, result.n_averaged, result.cells) == (0, 0, 0, 0)


def test_result_of_groups_of_one_class_has_no_coverage() -> None:
    result = se.GroupedAUC().update([1, 0], [0.5, 0.25], [1, 2]).compute()
    assert math.isnan(result.gauc)
    assert result.coverage == 0.0
    assert np.isnan(result.per_group()["roc_auc"]).all()


def test_result_stays_as_it_is_when_more_is_counted() -> None:
    acc = se.GroupedAUC().update([1, 0], [0.5, 0.25], [1, 1])
    result = acc.compute()
    acc.update([1, 0], [0.25, 0.5], [1, 1])
    assert result.gauc == 1.0
    with pytest.raises(AttributeError):
        result.n = 5  # type: ignore[misc]


def test_dictionary_holds_plain_numbers() -> None:
    numbers = EVERY["coarse_groups"]().compute().as_dict(bounds=True)
    assert {type(value) for value in numbers.values()} == {int, float}
    assert json.loads(json.dumps(numbers)) == numbers
    assert numbers["gauc_low"] < numbers["gauc"] < numbers["gauc_high"]


def test_report_shows_the_numbers_of_the_rows() -> None:
    assert EVERY["grouped"]().compute().report().split("\n") == [
        "n = 5, 3 groups, 1 of both classes, 4 bins, exact",
        "",
        "metric       value          95% interval",
        "gauc      0.750000  [0.117910, 0.985365]",
        "coverage  0.600000",
        "gauc is weighted by impressions; coverage is of the examples",
    ]
    coarse = EVERY["coarse_groups"]().compute().report().split("\n")
    assert coarse[3] == "gauc      0.666667  [0.333333, 1.000000]  [0.004708, 1.000000]"
    assert coarse[5].startswith("gauc is weighted by positives; ")


@each("name", ["grouped", "coarse_groups", "empty_grouped"])
def test_html_shows_the_report(name: str) -> None:
    result = EVERY[name]().compute()
    shown = " ".join(ElementTree.fromstring(result._repr_html_()).itertext())
    assert shown.split() == result.report().split()
    assert max(map(len, result.report().split("\n"))) <= 80


def test_repr_is_one_line() -> None:
    expected = "GroupedCurves(n=5, groups=3, gauc=0.75, coverage=0.6)"
    assert repr(EVERY["grouped"]().compute()) == expected


def test_weights_of_all_sizes_keep_each_groups_area() -> None:
    acc = se.GroupedAUC()
    acc.update([1, 0] * 2, [0.5, 0.25, 0.25, 0.5], [1, 1, 2, 2], sample_weight=[2**61, 2**61, 1, 1])
    assert acc.compute().per_group()["roc_auc"].tolist() == [1.0, 0.0]
    assert acc.compute().gauc == pytest.approx(1.0, rel=1e-15)


def test_total_of_batches_that_wait_is_kept_within_2_to_63() -> None:
    acc = se.GroupedAUC()
    for score in (0.25, 0.5, 0.75):
        acc.update([1], [score], [1], sample_weight=[2**61])
    with pytest.raises(se.CountOverflowError):
        acc.update([0], [0.5], [1], sample_weight=[2**61])
    assert acc.n == 3 * 2**61


def test_total_past_2_to_63_is_refused_and_leaves_no_trace() -> None:
    acc = se.GroupedAUC().update([1], [0.5], [1], sample_weight=[2**63 - 2])
    acc.update([0], [0.5], [2])
    before = acc.to_bytes()
    with pytest.raises(se.CountOverflowError):
        acc.update([1], [0.5], [3])
    with pytest.raises(se.CountOverflowError):
        acc.merge(acc)
    assert acc.to_bytes() == before
    assert acc.n == 2**63 - 1


def gauc_interval(areas: np.ndarray, weights: np.ndarray) -> list[float]:
    """The limits at the distance of z deviations, for the variance between groups."""
    z, shares = 1.959963984540054, weights / weights.sum()
    mean = shares @ areas
    squares = (shares**2).sum()
    if np.ptp(areas) == 0:
        share = squares
    else:
        n_lossy = ((shares * (1 - areas)) ** 2).sum() / (1 - mean) ** 2
        variance = (shares**2 * (areas - mean) ** 2).sum() * len(areas) / (len(areas) - 1)
        few = max(1 + 2 * math.sqrt(n_lossy), student(z, max(1 / squares, 2.0)) ** 2)
        share = min(variance * few / (mean * (1 - mean)), 6 * squares)
    # (t - mean)**2 = z**2 share t (1 - t)
    ends = np.roots([1 + z**2 * share, -2 * mean - z**2 * share, mean**2])
    return sorted(ends.real.tolist())


@pytest.mark.slow
@every_weighting
def test_interval_of_gauc_is_that_of_independent_groups(weighting: str) -> None:
    for seed in range(30):
        rows = random_rows(seed)
        result = se.GroupedAUC(group_weight=weighting).update(**rows).compute()
        found = result.confidence("gauc")
        held = [each for each in areas_by_hand(rows).values() if not math.isnan(each[2])]
        if not held:
            assert all(map(math.isnan, found))
            continue
        pos, neg, areas = np.array(held).T
        weights = {"impressions": pos + neg, "uniform": np.ones(len(pos)), "positives": pos}
        expected = gauc_interval(areas, weights[weighting])
        assert found == pytest.approx(expected, rel=1e-7, abs=1e-7), seed


@pytest.mark.slow
@every_weighting
def test_interval_of_gauc_from_coarse_cells_holds_that_of_every_score(weighting: str) -> None:
    for seed in range(40):
        rows = random_rows(seed, ties=False)
        make = functools.partial(se.GroupedAUC, group_weight=weighting)
        exact = make().update(**rows).compute().confidence("gauc")
        if math.isnan(exact[0]):
            continue
        n_groups = len(set(rows["group"].tolist()))
        for budget in (n_groups, n_groups + 3, 2 * n_groups, 4 * n_groups):
            low, high = make(budget).update(**rows).compute().confidence("gauc")
            assert 0 <= low <= exact[0] + 1e-9, (seed, budget)
            assert exact[1] - 1e-9 <= high <= 1, (seed, budget)


@each("spread", [0.0, 1.0])
def test_interval_of_gauc_covers_where_users_differ(spread: float) -> None:
    random, times, n_groups, size = np.random.default_rng(9), 200, 30, 20
    covered, truth = 0, np.tile(np.arange(size) < 5, n_groups)
    group = np.repeat(np.arange(n_groups), size)
    # the area of a user is normal_cdf(d / sqrt(2)) with d normal around 1
    population = NormalDist().cdf(1 / math.sqrt(2 + spread**2))
    for _ in range(times):
        shift = np.repeat(random.normal(1.0, spread, n_groups), size)
        scores = random.normal(size=len(truth)) + truth * shift
        result = se.GroupedAUC(scores="real").update(truth, scores, group).compute()
        low, high = result.confidence("gauc")
        covered += low <= population <= high
    assert covered / times >= 0.92


def test_another_metric_of_groups_has_no_interval() -> None:
    result = se.GroupedAUC().compute()
    with pytest.raises(se.InvalidInputError, match=r"`coverage` has no .*one: gauc"):
        result.confidence("coverage")
    assert result.read("gauc").sampling is None
