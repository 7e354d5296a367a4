"""Clusters of rows: groups by a fixed hash, and intervals of the jackknife."""

from __future__ import annotations

import hashlib
import json
import math
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from offenders import each
from profiles import cases
from scipy import stats
from small_states import EVERY
from win_rate import WinRate

import streameval as se
from streameval.metrics.intervals import jackknife_interval, jackknife_variance
from streameval.results.result import Result

N, GROUPS = 600, 16
RANDOM = np.random.default_rng(0)
USER = RANDOM.integers(-40, 40, N)
SHARED = RANDOM.normal(size=81)[USER + 40]
TRUTH = (RANDOM.random(N) < 0.4).astype(int)
SCORE = 1 / (1 + np.exp(-(TRUTH + SHARED + RANDOM.normal(size=N))))
LABEL = (SCORE >= 0.6).astype(int)
WEIGHT = RANDOM.random(N)

CASES: dict[str, tuple[Any, dict[str, np.ndarray], tuple[str, ...]]] = {
    "counts": (
        se.ConfusionAccumulator(),
        {"y_true": TRUTH, "y_pred": LABEL},
        ("accuracy", "f_score", "matthews_corrcoef", "recall[0]"),
    ),
    "weighted counts": (
        se.ConfusionAccumulator(),
        {"y_true": TRUTH, "y_pred": LABEL, "sample_weight": WEIGHT},
        ("accuracy", "precision[macro]"),
    ),
    "exact curve": (
        se.PRCurveSketch(),
        {"y_true": TRUTH, "y_score": SCORE},
        ("roc_auc", "average_precision", "log_loss", "recall_at(0.5)", "gini"),
    ),
    "calibration": (
        se.CalibrationAccumulator(),
        {"y_true": TRUTH, "y_prob": SCORE},
        ("log_loss", "brier", "normalized_entropy", "pcopc", "d2_brier_score"),
    ),
    "regression": (
        se.RegressionAccumulator(),
        {"y_true": TRUTH, "y_pred": SCORE},
        ("rmse", "mae", "r2", "bias"),
    ),
    "outputs": (
        se.RegressionAccumulator(outputs=2),
        {"y_true": np.stack([TRUTH, SCORE], axis=1), "y_pred": np.stack([SCORE, LABEL], axis=1)},
        ("rmse", "rmse[0]", "pinball_loss(0.9)"),
    ),
    "class curves": (
        se.PRCurveSketch(classes=2, measures=["roc_auc_ovo"]),
        {"y_true": TRUTH, "y_score": np.stack([1 - SCORE, SCORE], axis=1)},
        ("roc_auc_macro", "roc_auc_weighted", "roc_auc_micro", "roc_auc[0]"),
    ),
    "ranking": (
        se.RankingAccumulator(["map", "dcg@5"]),
        {"relevance": TRUTH.reshape(-1, 6), "score": SCORE.reshape(-1, 6)},
        ("map", "dcg@5"),
    ),
    "grouped": (
        se.GroupedAUC(),
        {"y_true": TRUTH, "y_score": SCORE, "group": USER // 4},
        ("gauc",),
    ),
    "paired": (
        se.Paired(measures=["roc_auc", "brier"]),
        {"y_true": TRUTH, "y_pred_a": SCORE, "y_pred_b": 1 - SCORE**2},
        ("difference", "roc_auc_difference", "brier_a", "accuracy_b"),
    ),
    "values": (
        se.MeanAccumulator(["loss", "latency"], quantiles=[0.5], nan="skip"),
        {"loss": SCORE - 0.5, "latency": np.where(SCORE > 0.9, np.nan, SCORE * TRUTH + LABEL)},
        ("loss/mean", "latency/mean", "latency/std", "loss/exp_mean", "latency/quantile(0.5)"),
    ),
    "preferences": (
        se.PreferencesAccumulator(3),
        {"a": USER % 3, "b": (USER + 1 + TRUTH) % 3, "outcome": np.where(SCORE > 0.8, 0.5, LABEL)},
        ("tie_rate", "win_rate[0]", "bradley_terry[1]"),
    ),
    "catalog": (se.CatalogAccumulator(100), {"item": USER // 2, "rank": TRUTH + 1}, ("entropy",)),
}


def batch_of(name: str) -> dict[str, Any]:
    _, arrays, _ = CASES[name]
    size = len(next(iter(arrays.values())))
    return arrays | {"user": USER[:size]}


def counted(name: str) -> se.Clustered:
    return se.Clustered(CASES[name][0], by="user", groups=GROUPS).update(batch_of(name))


def group_of(user: int | str) -> int:
    """Hash as documented, in integers of any size."""
    if isinstance(user, str):
        word = int.from_bytes(hashlib.blake2b(b"s" + user.encode(), digest_size=8).digest(), "big")
    else:
        word = (user + 0x9E3779B97F4A7C15) % 2**64
        word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        word = (word ^ word >> 27) * 0x94D049BB133111EB % 2**64
        word ^= word >> 31
    return (word >> 32) * GROUPS >> 32


def left_out(name: str) -> list[Any]:
    """Count the rows outside each group anew."""
    empty, arrays, _ = CASES[name]
    groups = np.array([group_of(user) for user in batch_of(name)["user"].tolist()])
    kept = [np.flatnonzero(groups != group) for group in np.unique(groups)]
    return [
        empty.copy().update({key: array[rows] for key, array in arrays.items()}).compute()
        for rows in kept
    ]


@pytest.mark.slow
@each("name", CASES)
def test_standard_errors_are_those_of_the_jackknife(name: str) -> None:
    result, others = counted(name).compute(), left_out(name)
    for metric in CASES[name][2]:
        value = float(result.read(metric, level=0).value)
        without = np.array([float(one.read(metric, level=0).value) for one in others])
        factor = (len(others) - 1) / len(others)
        expected = math.sqrt(factor * ((without - value) ** 2).sum())
        assert result.stderr(metric) == pytest.approx(expected, rel=1e-9), metric


NOT_NEGATIVE = (
    "bradley_terry",
    *(
        "rmse",
        "mae",
        "log_loss",
        "brier",
        "pcopc",
        "normalized_entropy",
        "dcg@5",
        "entropy",
        "pinball_loss",
        "std",
        "exp_mean",
    ),
)


@pytest.mark.slow
@each("name", CASES)
def test_intervals_have_students_t_on_the_scale_of_the_metric(name: str) -> None:
    result, n = counted(name).compute(), len(left_out(name))
    t = stats.t.ppf(0.975, n - 1)
    for metric in CASES[name][2]:
        value, error = float(result.read(metric, level=0).value), result.stderr(metric)
        low, high = result.confidence(metric)
        kind = metric.partition("[")[0].partition("(")[0].rpartition("/")[2]
        if kind in ("bias", "mean", "quantile"):
            expected = (value - t * error, value + t * error)
        elif kind in NOT_NEGATIVE:
            expected = logarithmic(value, error, t)
        elif kind in ("r2", "d2_brier_score"):
            below, above = logarithmic(1 - value, error, t)
            expected = (1 - above, 1 - below)
        elif kind in ("matthews_corrcoef", "gini") or kind.endswith("difference"):
            ends = wilson((value + 1) / 2, error / 2, t)
            expected = (2 * ends[0] - 1, 2 * ends[1] - 1)
        else:
            expected = wilson(value, error, t)
        expected = around(expected, counted(name).total().compute(), metric)
        assert (low, high) == pytest.approx(expected, rel=1e-4), metric
        assert result.read(metric).sampling == (low, high)


def around(ends: tuple[float, float], plain: Any, metric: str) -> tuple[float, float]:
    """The hull with the interval of independent rows, if there is one."""
    try:
        low, high = plain.confidence(metric)
    except se.InvalidInputError:
        return ends
    return min(low, ends[0]), max(high, ends[1])


FEW = 5


def test_few_positives_that_are_all_found_are_not_many_draws() -> None:
    user = np.arange(10_000) % 1000
    truth = np.zeros(10_000, dtype=np.int64)
    truth[:FEW] = 1
    acc = se.Clustered(se.ConfusionAccumulator(), by="user").update(truth, truth, by=user)
    plain = acc.total().compute()
    assert acc.compute().confidence("recall") == plain.confidence("recall")
    assert plain.confidence("recall")[0] < 0.6
    curve = se.Clustered(se.PRCurveSketch(), by="user").update(truth, 0.5 + 0.25 * truth, by=user)
    found, plain = curve.compute(), curve.total().compute()
    for metric in ("roc_auc", "average_precision"):
        assert found.confidence(metric)[0] <= plain.confidence(metric)[0] < 0.8, metric
    assert found.confidence("ks") == (0.0, 1.0), "nobody knows, since no group differs"


@pytest.mark.uncovered
@pytest.mark.slow
def test_interval_of_areas_covers_with_few_positives() -> None:
    random = np.random.default_rng(0)
    area, n_covered, n = 0.8555, 0, cases(200, least=50)
    for _ in range(n):
        truth = (np.arange(500) < FEW).astype(np.int64)
        score = 1 / (1 + np.exp(-(random.normal(size=500) + 1.5 * truth)))
        acc = se.Clustered(se.PRCurveSketch(), by="row").update(truth, score, by=np.arange(500))
        low, high = acc.compute().confidence("roc_auc")
        n_covered += low <= area <= high
    assert n_covered >= 0.93 * n


@each("metric", ["ece", "adaptive_ece", "best_f_threshold", "youden_j_threshold"])
def test_metrics_that_are_not_smooth_have_no_interval(metric: str) -> None:
    result = se.Clustered(se.PRCurveSketch(), by="user").update(TRUTH, SCORE, by=USER).compute()
    assert result.read(metric).sampling is None


def test_groups_of_ignored_rows_do_not_count() -> None:
    user = np.arange(2000) // 20
    truth = np.where(np.arange(2000) < 40, user, -1)
    random = np.random.default_rng(0)
    right = random.integers(0, 2, 2000)
    acc = se.Clustered(se.ConfusionAccumulator(ignore_label=-1), by="user")
    acc.update(truth, right, by=user)
    alone = se.Clustered(se.ConfusionAccumulator(), by="user")
    alone.update(truth[:40], right[:40], by=user[:40])
    assert acc.n_groups == alone.n_groups == 2
    assert acc.compute().confidence("accuracy") == alone.compute().confidence("accuracy")


def wilson(value: float, error: float, t: float) -> tuple[float, float]:
    """The shares p with (p - value)**2 = t**2 p (1 - p) / n, for the n of this error."""
    n = value * (1 - value) / error**2
    low, high = sorted(np.roots([1 + t**2 / n, -2 * value - t**2 / n, value**2]).real)
    return float(low), float(high)


def logarithmic(value: float, error: float, t: float) -> tuple[float, float]:
    factor = math.exp(t * error / value)
    return value / factor, value * factor


@each("name", CASES)
def test_the_total_is_the_plain_accumulator(name: str) -> None:
    empty, arrays, _ = CASES[name]
    plain = empty.copy().update(arrays)
    clustered = counted(name)
    assert clustered.total() == plain
    values = plain.compute().readings(0)
    assert clustered.compute().readings(0).items() <= values.items()
    assert clustered.n == plain.n


@pytest.mark.slow
@each("name", CASES)
def test_arrays_and_batches_count_the_same(name: str) -> None:
    empty, arrays, _ = CASES[name]
    given = dict(arrays)
    users = batch_of(name)["user"]
    names = empty._arrays_of(empty._config)[0]
    positional = [given.pop(array) for array in names]
    acc = se.Clustered(empty, by="user", groups=GROUPS)
    expected = counted(name).to_bytes()
    assert acc.copy().update(*positional, **given, by=users).to_bytes() == expected
    assert acc.copy().update(arrays, by=users).to_bytes() == expected
    weights = given.pop("sample_weight", None)
    table = {**given, **dict(zip(names, positional, strict=True)), "user": users}
    assert acc.update(table, sample_weight=weights).to_bytes() == expected


def test_ids_of_any_type_have_the_group_of_their_value() -> None:
    numbers = np.array([1, 0, 5, 5])
    forms = [
        numbers,
        numbers.astype(np.uint8),
        numbers.astype(float),
        [True, False, 5, 5.0],
        pd.Series(numbers),
        pd.Series(numbers, dtype="Int64"),
        np.array([1, 0, 5, 5], dtype=object),
    ]
    acc = se.Clustered(se.ConfusionAccumulator(), by="user", groups=GROUPS)
    of_forms = [acc.copy().update([0, 1, 1, 0], [0, 1, 0, 1], by=form) for form in forms]
    assert {one.to_bytes() for one in of_forms} == {of_forms[0].to_bytes()}
    for users in (numbers.tolist(), ["1", "日本", "", "1"]):
        state = acc.copy().update([0, 1, 1, 0], [0, 1, 0, 1], by=users)
        assert {*_groups(state)} == {group_of(user) for user in users}


def _groups(acc: se.Clustered) -> tuple[int, ...]:
    groups: tuple[int, ...] = acc._summary()[1]["groups"]
    return groups


def test_the_interval_covers_those_at_both_bounds_of_a_coarse_curve() -> None:
    acc = se.Clustered(se.PRCurveSketch(20), by="user", groups=GROUPS)
    result = acc.update(TRUTH, SCORE, by=USER).compute()
    low, high = result.confidence("roc_auc")
    assert not result.exact
    assert low < result.roc_auc.low < result.roc_auc.high < high
    assert result.stderr("roc_auc") > 0


def test_groups_without_rows_do_not_count() -> None:
    acc = se.Clustered(se.ConfusionAccumulator(), by="user", groups=64)
    result = acc.update([0, 1, 1], [0, 1, 0], by=["a", "a", "b"]).compute()
    assert acc.n_groups == 2
    low, high = result.confidence("accuracy")
    assert 0 < low < 0.1
    assert 0.9 < high < 1


def test_ids_past_64_bits_are_texts_as_in_files() -> None:
    ids = [2**64 - 1, 5, 2**63]
    states = set()
    for by in (
        ids,
        list(map(np.uint64, ids)),
        np.array(ids, np.uint64),
        [str(ids[0]), 5, str(ids[2])],
    ):
        acc = se.Clustered(se.ConfusionAccumulator(), by="user")
        states.add(acc.update([0, 1, 1], [0, 0, 1], by=by).to_bytes())
        sliced = se.Sliced(se.ConfusionAccumulator(), "user")
        assert {*sliced.update({"y_true": [0, 1, 1], "y_pred": [0, 0, 1], "user": by})} == {
            *(str(ids[0]), 5, str(ids[2]))
        }
    assert len(states) == 1
    sliced = se.Sliced(se.ConfusionAccumulator(), "user")
    lowest = np.array([-(2**63), -(2**63) - 1], object)
    assert {*sliced.update({"y_true": [0, 1], "y_pred": [0, 0], "user": lowest})} == {
        *(-(2**63), str(-(2**63) - 1))
    }


def test_one_group_may_be_anything() -> None:
    acc = se.Clustered(se.ConfusionAccumulator(), by="user").update([0, 1], [0, 0], by=["a", "a"])
    result = acc.compute()
    assert result.read("accuracy").sampling == result.confidence("accuracy") == (0.0, 1.0)
    assert math.isnan(result.stderr("accuracy"))
    assert "in 1 group." in result.report()
    empty = acc.reset().compute()
    assert math.isnan(empty.accuracy)
    assert empty.read("accuracy").sampling is None


def test_a_metric_that_one_group_decides_has_the_widest_interval() -> None:
    acc = se.Clustered(se.PRCurveSketch(), by="user")
    result = acc.update([1, 0, 0], [0.9, 0.1, 0.2], by=[1, 2, 3]).compute()
    assert result.confidence("roc_auc") == (0.0, 1.0)


def test_a_constant_metric_has_the_interval_of_as_many_draws_as_groups() -> None:
    user = np.arange(500)
    acc = se.Clustered(se.ConfusionAccumulator(), by="user", groups=GROUPS)
    low, high = acc.update(user % 2, user % 2, by=user).compute().confidence("accuracy")
    t = stats.t.ppf(0.975, GROUPS - 1)
    assert (low, high) == pytest.approx((GROUPS / (GROUPS + t**2), 1.0), rel=1e-4)


def test_dynamic_labels_that_a_group_alone_has_get_intervals() -> None:
    truth = np.array(["a", "b"] * 50 + ["c"] * 4, dtype=object)
    guess = np.array(["a", "b", "b", "a"] * 25 + ["c"] * 4, dtype=object)
    user = np.array([*range(100), *[1000] * 4])
    acc = se.Clustered(se.ConfusionAccumulator("auto"), by="user").update(truth, guess, by=user)
    result = acc.compute()
    low, high = result.confidence("recall", average=None)
    assert (low[2], high[2]) == (0.0, 1.0)
    assert result.confidence("recall[c]") == (0.0, 1.0)
    assert 0.3 < low[0] < 0.5 < high[0] < 0.7
    assert result.confidence("recall[a]") == (low[0], high[0])
    assert result["c"].read("recall").sampling == (0.0, 1.0)
    assert math.isnan(result.stderr("recall[c]"))


def test_metrics_that_only_zero_division_defines_may_be_anything() -> None:
    user = np.arange(50)
    acc = se.Clustered(se.ConfusionAccumulator(3), by="user")
    result = acc.update(user % 2, user % 2, by=user).compute()
    assert result.read("recall[2]").sampling == (0.0, 1.0)
    assert [end[2] for end in result.confidence("recall", average=None)] == [0.0, 1.0]
    assert result.confidence("recall", average="macro", labels=[2]) == (0.0, 1.0)
    undefined = result.confidence("recall", average="macro", labels=[2], zero_division=math.nan)
    assert all(map(math.isnan, undefined))
    assert result.confidence("recall", average="macro", level=0) == (1.0, 1.0)


DERIVED: dict[str, Any] = {
    "a class": lambda: (counted("counts").compute()[1], "recall"),
    "decisions of a curve": lambda: (counted("exact curve").compute().confusion_at(0.6), "f_score"),
    "a curve of several": lambda: (counted("class curves").compute()[1], "roc_auc"),
    "a pooled curve": lambda: (counted("class curves").compute().micro, "roc_auc"),
    "a pair of classes": lambda: (counted("class curves").compute().versus(0, 1), "roc_auc"),
    "an output": lambda: (counted("outputs").compute()[1], "rmse"),
}


@pytest.mark.slow
@each("name", DERIVED)
def test_parts_of_a_result_are_clustered_too(name: str) -> None:
    part, metric = DERIVED[name]()
    plain = part.with_clusters(None)
    low, high = part.confidence(metric)
    assert low < plain.read(metric).value < high
    assert part.stderr(metric) > 0
    again = pickle.loads(pickle.dumps(part))
    assert again == part
    assert again.confidence(metric) == (low, high)


def test_decisions_that_a_group_makes_inexact_have_the_widest_interval() -> None:
    acc = se.Clustered(se.PRCurveSketch(20), by="user", groups=GROUPS)
    result = acc.update(TRUTH, SCORE, by=USER).compute()
    counts = result.confusion_at(0.51, bound="low")
    assert 0 <= counts.confidence("accuracy")[0] < counts.accuracy


def test_reports_pages_and_json_say_that_intervals_are_clustered() -> None:
    result = counted("counts").compute()
    note = "Intervals are for clusters (user), in 16 groups."
    assert result.report().endswith(note)
    assert str(result).endswith(note)
    assert note not in result.report(level=0)
    assert note in result.explain()
    entries = result.entries(0.95)
    assert entries["clusters"] == {"column": "user", "groups": 16}
    assert entries["intervals"]["accuracy"] == result.confidence("accuracy")
    json.dumps(entries["clusters"])
    named = result.as_dict(level=0.9)
    assert named["accuracy_interval_low"] == result.confidence("accuracy", level=0.9)[0]
    plain = counted("counts").total().compute()
    assert note not in plain.report()
    assert "clusters" not in plain.entries(0.95)


def test_members_of_a_collection_are_clustered_and_stay_shared() -> None:
    members = {"cm": se.ConfusionAccumulator(), "again": se.ConfusionAccumulator()}
    col = se.Collection(members | {"wins": WinRate()}, columns={"wins": {"preference": "won"}})
    won = np.array(["a", "b"], dtype=object)[LABEL]
    acc = se.Clustered(col, by="user", groups=GROUPS)
    acc.update({"y_true": TRUTH, "y_pred": LABEL, "user": USER, "won": won})
    result = acc.compute()
    assert result["cm"] is result["again"]
    assert result.confidence("cm/accuracy") == counted("counts").compute().confidence("accuracy")
    assert result.stderr("cm/accuracy") == result["cm"].stderr("accuracy")
    assert not isinstance(result["wins"], Result)
    assert result.report().count("Intervals are for clusters") == 1
    assert pickle.loads(pickle.dumps(result)) == result


def some_clustered(**more: Any) -> se.Collection:
    clustered = se.Clustered(se.ConfusionAccumulator(), by="user", groups=GROUPS)
    members = {"users": clustered, "plain": se.ConfusionAccumulator(), "same": clustered, **more}
    columns = {"users": {"user": "id"}, "same": {"user": "id"}}
    return se.Collection(members, columns=columns)


ROWS = {"y_true": TRUTH, "y_pred": LABEL, "id": USER}


def test_one_member_of_a_collection_is_clustered_and_another_is_not() -> None:
    collection = some_clustered().update(ROWS)
    result, expected = collection.compute(), counted("counts").compute()
    assert collection.shared == (("users", "same"),)
    assert collection.n == {"users": N, "plain": N, "same": N}
    assert collection["users"].n_groups == counted("counts").n_groups
    assert result.confidence("users/accuracy") == expected.confidence("accuracy")
    assert result.read("users/accuracy").sampling == expected.confidence("accuracy")
    assert result.stderr("users/accuracy") == expected.stderr("accuracy")
    plain = counted("counts").total().compute()
    assert result.confidence("plain/accuracy") == plain.confidence("accuracy")
    with pytest.raises(se.InvalidInputError, match=r"Count with se\.Clustered"):
        result.stderr("plain/accuracy")
    assert result.statistic("plain/accuracy") == plain.statistic("accuracy")
    with pytest.raises(se.InvalidInputError, match="no evidence for clusters"):
        result.statistic("users/accuracy")


def test_reports_tables_and_json_say_which_member_is_clustered() -> None:
    result = some_clustered(wins=WinRate()).update(ROWS | {"preference": ["a"] * N}).compute()
    lines = [line.strip() for line in result.report().splitlines()]
    note = "users, same: Intervals are for clusters (user), in 16 groups."
    assert result.note == lines[-1] == note
    assert note not in result.report(level=0)
    sliced = se.Sliced(some_clustered(), "city").update(ROWS | {"city": CITY})
    assert sliced.compute().report().count(note.removeprefix("users, same")) == 1
    members = se.Collection({"cm": se.ConfusionAccumulator()})
    members = some_clustered(both=se.Clustered(members, by="id", groups=GROUPS)).update(ROWS)
    entries = members.compute().entries(0.95)
    assert entries["members"]["users"]["clusters"] == {"column": "user", "groups": 16}
    assert "clusters" not in entries["members"]["plain"]
    assert entries["members"]["both/cm"]["clusters"] == {"column": "id", "groups": 16}
    table = members.compute().as_dict(level=0.95)
    low, high = counted("counts").compute().confidence("accuracy")
    assert (table["both/cm/accuracy_interval_low"], table["users/accuracy_interval_high"]) == (
        low,
        high,
    )


def test_collections_of_clustered_members_merge_and_are_read_from_bytes() -> None:
    halves = [
        some_clustered().update({name: column[part] for name, column in ROWS.items()})
        for part in (slice(0, 100), slice(100, N))
    ]
    whole = some_clustered().update(ROWS)
    assert se.merge(halves).to_bytes() == whole.to_bytes()
    read = se.from_bytes(whole.to_bytes())
    assert read == whole
    assert read.compute() == whole.compute()
    nested = se.Collection({"outer": some_clustered()}).update(ROWS)
    assert nested["outer"] == whole


def test_collections_of_clustered_members_count_weights_and_refuse_batches_as_a_whole() -> None:
    collection = some_clustered().update(ROWS, sample_weight=WEIGHT)
    weighted = counted("weighted counts").compute()
    read = collection.compute().confidence("users/accuracy")
    assert read == weighted.confidence("accuracy")
    before = collection.to_bytes()
    for bad, message in (
        (ROWS | {"id": None}, "member 'users': `user` must have shape"),
        ({"y_true": TRUTH, "y_pred": LABEL}, "member 'users': `id` is missing"),
        (ROWS | {"id": [*USER[1:], None]}, "member 'users': `user` must hold a cluster"),
    ):
        with pytest.raises(se.InvalidInputError, match=message):
            collection.update(bad)
    with pytest.raises(se.InvalidInputError, match="member 'users': `batch` must be a mapping"):
        collection.update(TRUTH, LABEL)
    assert collection.to_bytes() == before


def test_collections_of_clustered_members_are_not_clustered_again() -> None:
    with pytest.raises(se.InvalidInputError, match=r"two columns of clusters.*by its own column\."):
        se.Clustered(some_clustered(), by="c")


CITY = np.array(["Bonn", "Rom", "日本"], dtype=object)[np.arange(N) % 3]
OUTER: dict[str, Any] = {
    "Sliced": lambda inner: se.Sliced(inner, "city", max_values=2),
    "Windowed": lambda inner: se.Windowed(inner, pane=10),
    "Windowed of Sliced": lambda inner: se.Windowed(se.Sliced(inner, "city"), pane=10),
}


def parts_of(outer: Any) -> dict[Any, Any]:
    """The accumulators of slices, of panes, or of slices in panes, by what their rows have."""
    if isinstance(outer, se.Sliced):
        every = {value: outer[value] for value in outer}
        return every | ({"other": outer.other} if outer.n_turned_away else {})
    panes = {start: part for start, _, part in outer.panes()}
    if not isinstance(next(iter(panes.values())), se.Sliced):
        return panes
    return {(start, value): part[value] for start, part in panes.items() for value in part}


def some_of(rows: dict[str, Any], chosen: Any) -> dict[str, Any]:
    return {name: np.asarray(column)[chosen] for name, column in rows.items()}


MIXED: dict[str, tuple[se.Collection, dict[str, Any]]] = {
    "counts": (some_clustered(), ROWS),
    "texts, and a collection": (
        some_clustered(
            both=se.Clustered(
                se.Collection({"cm": se.ConfusionAccumulator(), "fit": se.RegressionAccumulator()}),
                by="city",
                groups=10,
            )
        ),
        ROWS,
    ),
    "weights": (some_clustered(), ROWS | {"sample_weight": WEIGHT}),
    "rows without weight for one member": (
        se.Collection(
            {"a": se.Clustered(se.ConfusionAccumulator(), by="id"), "b": se.ConfusionAccumulator()},
            columns={"a": {"sample_weight": "w"}},
        ),
        ROWS | {"w": np.where(CITY == "Rom", 0, WEIGHT)},
    ),
    "queries of several clusters": (
        se.Collection(
            {
                "ranking": se.RankingAccumulator(["map"]),
                "curve": se.Clustered(se.PRCurveSketch(5), by="id", groups=GROUPS),
            },
            columns={"ranking": {"relevance": "y_true"}, "curve": {"y_score": "score"}},
        ),
        {"y_true": TRUTH, "score": SCORE, "id": USER, "query": np.arange(N) % 30},
    ),
    "clusters of queries": (
        se.Collection(
            {
                "ranking": se.Clustered(se.RankingAccumulator(["map"]), by="topic", groups=10),
                "curve": se.PRCurveSketch(5),
            },
            columns={
                "ranking": {"relevance": "y_true", "query": "q", "query_weight": "w"},
                "curve": {"y_score": "score"},
            },
        ),
        {
            "y_true": TRUTH,
            "score": SCORE,
            "topic": np.arange(N) % 15,
            "q": np.arange(N) % 30,
            "w": np.where(np.arange(N) % 30 < 2, 0.0, 1.5),
        },
    ),
}


@pytest.mark.slow
@each("name", [(name, outer) for name in MIXED for outer in OUTER])
def test_slices_and_panes_hold_clustered_members(name: tuple[str, str]) -> None:
    inner, rows = MIXED[name[0]]
    rows = rows | {"city": CITY, "time": np.arange(N) % 3 * 10}
    outer = OUTER[name[1]](inner).update(rows)
    wholes = np.arange(N) % 30 < 17  # of the queries
    pieces = [OUTER[name[1]](inner).update(some_of(rows, kept)) for kept in (wholes, ~wholes)]
    assert se.merge(pieces) == outer
    assert se.merge(pieces).to_bytes() == outer.to_bytes()
    read = se.from_bytes(outer.to_bytes())
    assert read == outer
    assert read.to_bytes() == outer.to_bytes()
    parts = parts_of(outer)
    assert len(parts) == 3
    expected = [inner.copy().update(some_of(rows, np.arange(N) % 3 == at)) for at in range(3)]
    for part in parts.values():
        assert part in expected
        assert part.to_bytes() == expected[expected.index(part)].to_bytes()
    assert outer.total() == inner.copy().update(rows) or name[1] == "Windowed of Sliced"
    assert str(next(iter(parts.values())).compute().note).count("Intervals are for clusters")


def test_pending_rows_of_clustered_members_are_counted_together() -> None:
    rows = ROWS | {"city": CITY, "user": [f"u{user}" for user in USER]}
    inner = se.Collection(
        {"a": se.Clustered(se.ConfusionAccumulator(), by="user"), "b": se.ConfusionAccumulator()}
    )
    sliced = se.Sliced(inner, "city")
    for at in range(0, N, 50):
        sliced.update(some_of(rows, slice(at, at + 50)))
    assert sliced.to_bytes() == se.Sliced(inner, "city").update(rows).to_bytes()


def test_rows_without_a_label_count_in_no_member() -> None:
    labels = TRUTH.astype(object)
    labels[::7] = None
    rows = ROWS | {"y_true": labels, "time": np.arange(N) % 3}
    w = se.Windowed(some_clustered(), pane=10).update(rows)
    assert w.n_rows() == N
    left = some_of(rows, labels != None)  # noqa: E711 - item by item
    assert w.total() == some_clustered().update(left)


def test_views_of_slices_show_clustered_members_without_their_groups() -> None:
    inner, rows = MIXED["rows without weight for one member"]
    sliced = se.Sliced(inner, "city").update(rows | {"city": CITY})
    view = sliced.view()
    for at, value in enumerate(view.values):
        for name, total in (("a", sliced[value]["a"].total()), ("b", sliced[value]["b"])):
            assert (view.fields[f"{name}/matrix"][at] == total.compute().matrix).all()
        assert view.n[at] == max(sliced[value].n.values())
    assert view.fields["a/n"].min() == 0
    nothing = rows | {"city": CITY, "w": np.zeros(N)}
    assert se.Sliced(inner, "city").update(nothing)["Rom"]["a"].n == 0


@each("column", ["id", "city"])
def test_slices_of_clustered_members_refuse_batches_as_a_whole(column: str) -> None:
    rows = ROWS | {"city": CITY}
    s = se.Sliced(MIXED["texts, and a collection"][0], "city").update(rows)
    before = s.to_bytes()
    for bad in ({column: rows[column][1:]}, {column: None}):
        with pytest.raises(se.InvalidInputError, match=f"`({column}|user)`"):
            s.update(rows | bad)
    with pytest.raises(se.InvalidInputError, match=r"`id` must hold a cluster.*position 1"):
        s.update(rows | {"id": [1, None, *USER[2:]]})
    with pytest.raises(se.InvalidInputError, match=r"`id` must hold a cluster.*position 1"):
        s.update({"y_true": [0, 1], "y_pred": [0, 1], "id": [1.0, np.nan], "city": ["a", "b"]})
    assert s.update({"y_true": [], "y_pred": [], "id": [], "city": []}).to_bytes() == before
    assert s.to_bytes() == before


def test_clustered_pairs_in_a_collection_are_no_comparison_of_models() -> None:
    pairs = {name: se.Clustered(se.Paired(), by="id") for name in "abc"}
    result = se.Collection(pairs).compute()
    assert not result.has_models


def test_tests_of_independent_rows_are_left_out() -> None:
    result = counted("paired").compute()
    assert "mcnemar_pvalue" not in result.readings()
    assert "roc_auc_difference" in result.readings()
    for name, difference in (
        ("mcnemar_pvalue", "difference"),
        ("log_evidence", "difference"),
        ("anytime_pvalue", "difference"),
        ("roc_auc_pvalue", "roc_auc_difference"),
    ):
        assert name not in dir(result)
        assert name not in repr(result)
        said = f"{name} is a test of rows that are independent.* interval of {difference} is"
        for read in (result.read, result.value):
            with pytest.raises(se.InvalidInputError, match=said):
                read(name)
        with pytest.raises(AttributeError, match=said):
            getattr(result, name)
        assert getattr(counted("paired").total().compute(), name) is not None
    with pytest.raises(se.InvalidInputError, match="no evidence for clusters"):
        counted("counts").compute().statistic("accuracy")
    with pytest.raises(se.InvalidInputError, match="no metric 'accuracy': accuracy is a metric of"):
        result.read("accuracy")


@each("name", ["calibration", "exact curve"])
def test_bins_of_clusters_have_no_whiskers_of_independent_rows(name: str) -> None:
    whiskers = "Whiskers:"
    assert whiskers in se.reports.html_report({"a": counted(name).total()})
    assert whiskers not in se.reports.html_report({"a": counted(name)})


def test_metrics_of_samples_alone_have_no_interval() -> None:
    for name in ("catalog", "grouped"):
        result = counted(name).compute()
        assert result.read("coverage").sampling is None
        with pytest.raises(se.InvalidInputError, match="no sampling interval"):
            result.confidence("coverage")


def test_standard_errors_of_rankings_are_a_mapping_and_a_method() -> None:
    result = counted("ranking").compute()
    assert result.stderr("map") == result.stderr["map"]
    plain = counted("ranking").total().compute()
    assert plain.stderr("map") == plain.stderr["map"] != result.stderr["map"]


def test_standard_errors_of_independent_rows_are_refused() -> None:
    with pytest.raises(se.InvalidInputError, match=r"Count with se\.Clustered"):
        counted("counts").total().compute().stderr("accuracy")


def test_arguments_of_metrics_are_taken() -> None:
    result = counted("exact curve").compute()
    assert result.confidence("recall_at", 0.5) == result.confidence("recall_at(0.5)")
    assert result.stderr("recall_at", 0.5) == result.stderr("recall_at(0.5)")
    counts = counted("counts").compute()
    by_class = counts.confidence("f_score", 2.0, average=None)
    assert by_class[0].shape == (2,)
    with pytest.raises(se.InvalidInputError, match="takes no arguments"):
        counts.confidence("accuracy", 2)


def test_queries_are_clusters_of_rows() -> None:
    query = np.repeat(np.arange(100), 6)
    ranking = se.RankingAccumulator(["map"])
    ragged = se.Clustered(ranking, by="user", groups=GROUPS)
    ragged.update(TRUTH, SCORE, query=query, by=USER[:100].repeat(6))
    dense = se.Clustered(ranking, by="user", groups=GROUPS)
    dense.update(TRUTH.reshape(-1, 6), SCORE.reshape(-1, 6), by=USER[:100])
    assert ragged.compute().confidence("map") == dense.compute().confidence("map")
    with pytest.raises(se.InvalidInputError, match="the same in all rows of a query"):
        ragged.update([1, 0], [0.5, 0.1], query=[1, 1], by=[1, 2])
    with pytest.raises(se.InvalidInputError, match="needs complete queries"):
        ragged.update([1, 0], [0.5, 0.1], query=[1, 1], by=[1, 1], partial=True)


def test_slices_and_panes_have_clustered_intervals() -> None:
    acc = se.Clustered(se.ConfusionAccumulator(), by="user", groups=GROUPS)
    batch = {"y_true": TRUTH, "y_pred": LABEL, "user": USER, "half": TRUTH * 0 + (USER > 0)}
    sliced = se.Sliced(acc, "half").update(batch)
    inside = {key: array[USER > 0] for key, array in batch.items()}
    alone = acc.copy().update(inside)
    assert sliced[1].to_bytes() == alone.to_bytes()
    result = sliced.compute()
    assert {value: one.n for value, one in result.items()} == {1: alone.n, 0: N - alone.n}
    assert sliced.compute()[1].confidence("f_score") == alone.compute().confidence("f_score")
    assert sliced.total().to_bytes() == acc.copy().update(batch).to_bytes()
    assert sliced.reset().total() == acc
    sliced.update(batch)
    view = sliced.view()
    assert dict(zip(view.values, view.n.tolist(), strict=True))[1] == alone.n
    by_value = dict(zip(view.values, view.fields["matrix"], strict=True))
    assert by_value[1].tolist() == alone.total().compute().matrix.tolist()
    assert view.parts[1].weight == alone.n
    assert view.nbytes > 0
    panes = se.Windowed(acc, pane=10, time="t").update(batch | {"t": 10 * (USER > 0)})
    assert panes.window(10).to_bytes() == alone.to_bytes()
    assert panes.compute().confidence("accuracy") == acc.update(batch).compute().confidence(
        "accuracy"
    )


REFUSED: dict[str, tuple[Any, str]] = {
    "no clusters": (lambda acc: acc.update([0], [1]), "`by` is missing"),
    "no arrays": (lambda acc: acc.update(by=[1]), "takes y_true, y_pred and by"),
    "too many arrays": (lambda acc: acc.update([0], [1], [2], by=[1]), "takes y_true, y_pred"),
    "an unknown array": (lambda acc: acc.update([0], [1], by=[1], query=[1]), "takes y_true"),
    "clusters twice": (
        lambda acc: acc.update({"y_true": [0], "y_pred": [1], "user": [1]}, by=[1]),
        "also passed by keyword",
    ),
    "a row without a cluster": (
        lambda acc: acc.update([0, 1], [1, 1], by=["a", None]),
        r"`user` must hold a cluster in every row, got a missing one at position 1",
    ),
    "clusters of other length": (lambda acc: acc.update([0, 1], [1, 1], by=[1]), "2 rows"),
}


@each("name", REFUSED)
def test_updates_are_refused_without_a_trace(name: str) -> None:
    acc = se.Clustered(se.ConfusionAccumulator(), by="user")
    update, message = REFUSED[name]
    with pytest.raises(se.InvalidInputError, match=message):
        update(acc)
    assert acc.n == 0


def test_a_column_of_clusters_cannot_be_an_array_of_the_accumulator_by_keyword() -> None:
    acc = se.Clustered(se.RankingAccumulator(["map"]), by="query")
    with pytest.raises(se.InvalidInputError, match="`query` is an array of its own"):
        acc.update([1, 0], [0.5, 0.1], query=[1, 1], by=[1, 1])
    acc.update({"relevance": [1, 0], "score": [0.5, 0.1], "query": [1, 1]})
    assert acc.n == 1


OPTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "too few groups": ({"groups": 9}, "`groups` must be from 10 to 1024, got 9"),
    "too many groups": ({"groups": 1025}, "`groups` must be from 10 to 1024"),
    "groups that are no number": ({"groups": "64"}, "`groups` must be an integer"),
    "no column": ({"by": ""}, "`by` must have names"),
    "no accumulator": ({"accumulator": 3}, "must be an accumulator, got int"),
    "clusters in clusters": (
        {"accumulator": EVERY["empty_clustered"]()},
        "They nest in this order: Windowed, Sliced, Clustered, Collection",
    ),
}


@each("name", OPTIONS)
def test_options_are_checked(name: str) -> None:
    changed, message = OPTIONS[name]
    options = {"accumulator": se.ConfusionAccumulator(), "by": "user"} | changed
    with pytest.raises(se.InvalidInputError, match=message):
        se.Clustered(**options)


@each("name", ["n", "tp"])
def test_counts_have_no_standard_error(name: str) -> None:
    result = counted("counts").compute()
    with pytest.raises(se.InvalidInputError, match="is a count"):
        result.stderr(name)


def test_standard_errors_of_coarse_curves_are_those_of_the_wider_bound() -> None:
    acc = se.Clustered(se.PRCurveSketch(20), by="user", groups=GROUPS)
    result = acc.update(TRUTH, SCORE, by=USER).compute()
    without = [one.compute() for one in acc._everything(acc._held).left_out(0)]
    errors = [
        math.sqrt(jackknife_variance(end(result), [end(one) for one in without]))
        for end in (
            lambda one: one.average_precision.low,
            lambda one: float(one.average_precision),
            lambda one: one.average_precision.high,
        )
    ]
    assert result.stderr("average_precision") == pytest.approx(max(errors), rel=1e-12)
    assert max(errors) > min(errors)


def test_a_wrong_level_is_refused() -> None:
    for name, args in (("accuracy", ()), ("f_score", (2.0,))):
        with pytest.raises(se.InvalidInputError, match="level"):
            counted("counts").compute().confidence(name, *args, level=1)


JACKKNIFE: dict[str, tuple[float, list[float], tuple[float, float], tuple[float, float]]] = {
    "no variance without limits": (1.0, [1.0] * 9, (-math.inf, math.inf), (-math.inf, math.inf)),
    "undefined without a group": (1.0, [math.nan, 1.0], (0.0, math.inf), (0.0, math.inf)),
    "no variance between limits": (1.0, [1.0] * 9, (0.0, 1.0), (0.0, 1.0)),
    "undefined": (math.nan, [1.0, 1.0], (0.0, 1.0), (math.nan, math.nan)),
    "undefined without a group, of a share": (1.0, [math.nan, 1.0], (0.0, 1.0), (0.0, 1.0)),
    "infinite": (1.0, [math.inf, 1.0], (0.0, math.inf), (0.0, math.inf)),
    "at a lower limit": (0.0, [1.0, 0.0], (0.0, math.inf), (0.0, math.inf)),
    "at an upper limit": (1.0, [1.0, 0.0], (-math.inf, 1.0), (-math.inf, 1.0)),
    "far from a limit": (1e-9, [1.0, 0.0], (0.0, math.inf), (0.0, math.inf)),
}


@each("name", JACKKNIFE)
def test_jackknife_of_rare_cases(name: str) -> None:
    value, without, limits, expected = JACKKNIFE[name]
    low, high = jackknife_interval(value, without, limits, 1.96)
    assert low == pytest.approx(expected[0], abs=1e-300, nan_ok=True)
    assert min(high, 1e290) == pytest.approx(min(expected[1], 1e290), nan_ok=True)


@each("limits", [(0.0, math.inf), (-math.inf, math.inf), (0.0, 4.0)])
def test_jackknife_moves_and_turns_with_its_metric(limits: tuple[float, float]) -> None:
    value, without = 1.5, [1.25, 1.5, 2.0, 1.5, 1.25]
    low, high = jackknife_interval(value, without, limits, 1.96)
    assert limits[0] < low < value < high < limits[1]
    ends = (limits[0] + 8.0, limits[1] + 8.0)
    moved = jackknife_interval(value + 8.0, [one + 8.0 for one in without], ends, 1.96)
    assert moved == pytest.approx((low + 8.0, high + 8.0))
    ends = (-limits[1], -limits[0])
    turned = jackknife_interval(-value, [-one for one in without], ends, 1.96)
    assert turned == pytest.approx((-high, -low))


def test_missing_queries_count_in_their_clusters_as_queries_without_a_hit() -> None:
    users, queries = np.array(["a", "b", "c", "c"]), np.array([3, 4, 5, 6])
    rows = {"relevance": [1, 0, 1, 0], "score": [4, 3, 2, 3], "query": [1, 1, 2, 2]}
    held = se.Clustered(se.RankingAccumulator(["map"]), by="user")
    held.update({**rows, "user": ["a", "a", "b", "b"]})
    missing, without_hit = held.copy(), held.copy()
    missing.add_missing({"query": queries, "user": users})
    nothing = {"relevance": [0] * 4, "score": [1] * 4, "query": queries, "user": users}
    without_hit.update(nothing)
    assert missing.n_groups == without_hit.n_groups == 3
    found, expected = missing.compute(), without_hit.compute()
    assert found.map == expected.map == 0.25
    assert found.confidence("map") == expected.confidence("map")
    assert found.stderr["map"] == expected.stderr["map"]
    alone = held.copy().reset()
    alone.add_missing({"query": queries[:1], "user": users[:1]})
    alone.add_missing({"query": queries[1:], "user": users[1:]})
    assert (alone + held).to_bytes() == missing.to_bytes()


@each(
    ("batch", "said"),
    [
        ({"user": [1]}, "`query` is missing"),
        ({"query": [1]}, "`user` is missing"),
        ({"query": [1, 2], "user": [1]}, "`user` must have 2 rows, got 1"),
        (
            {"query": [1], "user": [1], "query_weight": [1, 2]},
            "`query_weight` must have 1 rows, got 2",
        ),
        ({"query": [1, 1], "user": [1, 1]}, "must be distinct, got 1 twice"),
    ],
)
def test_missing_queries_are_refused_by_name(batch: dict[str, Any], said: str) -> None:
    held = se.Clustered(se.RankingAccumulator(["map"]), by="user")
    with pytest.raises(se.InvalidInputError, match=said):
        held.add_missing(batch)
    assert held == held.copy().reset()


def test_missing_queries_may_be_none_and_are_of_rankings() -> None:
    held = se.Clustered(se.RankingAccumulator(["map"]), by="user")
    assert held.add_missing({"query": [], "user": []}) == held.copy().reset()
    assert held.add_missing({"query": ["q"], "user": ["a"]}).n_groups == 1
    with pytest.raises(se.InvalidInputError, match="is MeanAccumulator, which has no queries"):
        se.Clustered(se.MeanAccumulator(), by="user").add_missing({"query": [1], "user": [1]})


def test_jackknife_needs_two_groups() -> None:
    assert math.isnan(jackknife_variance(1.0, [1.0]))


def test_findings_of_a_curve_say_that_its_intervals_are_for_clusters() -> None:
    acc = se.Clustered(se.PRCurveSketch(), by="user")
    batch = {"y_true": [0, 1, 0, 1], "y_score": [0.1, 0.9, 0.4, 0.6], "user": [1, 1, 2, 3]}
    first, *_, last = acc.update(batch).compute().findings()
    assert first == "Intervals are for clusters (user), in 3 groups."
    assert last.startswith("Every number is exact")


def _every_inner() -> dict[str, tuple[Any, dict[str, Any], str]]:
    """Return each class with its columns of 120 rows in 12 queries, and a metric."""
    random = np.random.default_rng(3)
    truth, score, other = random.integers(0, 2, 120), random.random(120), random.random(120)
    query = np.arange(120) // 10
    of_models = {"y_true": truth, "m1": score, "m2": other, "m3": (score + other) / 2}
    measures = ["roc_auc"]
    curve, decided = {"y_true": truth, "y_score": score}, {"y_true": truth, "y_pred": score > 0.5}
    return {
        "classes": (se.ConfusionAccumulator(), decided, "accuracy"),
        "curve": (se.PRCurveSketch(), curve, "roc_auc"),
        "coarse curve": (se.PRCurveSketch(16), curve, "roc_auc"),
        "groups": (se.GroupedAUC(), curve | {"group": query % 9}, "gauc"),
        "calibration": (se.CalibrationAccumulator(), {"y_true": truth, "y_prob": score}, "brier"),
        "regression": (se.RegressionAccumulator(), {"y_true": other, "y_pred": score}, "rmse"),
        "values": (se.MeanAccumulator(quantiles=[0.9]), {"value": score}, "quantile(0.9)"),
        "preferences": (
            se.PreferencesAccumulator(["x", "y"]),
            {"a": np.full(120, "x"), "b": np.full(120, "y"), "outcome": truth},
            "bradley_terry[x]",
        ),
        "two models": (
            se.Paired(measures=measures),
            {"y_true": truth, "y_pred_a": score, "y_pred_b": other},
            "roc_auc_difference",
        ),
        "three models": (
            se.Paired.of_models(["m1", "m2", "m3"], measures=measures),
            of_models,
            "m1 vs m3/difference",
        ),
        "rankings": (
            se.RankingAccumulator(["map"]),
            {"relevance": truth, "score": score, "query": query},
            "map",
        ),
    }


EVERY_INNER = _every_inner()


@pytest.mark.slow
@each("weighted", [False, True])
@each("name", EVERY_INNER)
def test_every_class_is_clustered_in_slices_panes_and_collections(
    name: str, weighted: bool
) -> None:
    inner, columns, metric = EVERY_INNER[name]
    random, query = np.random.default_rng(4), np.arange(120) // 10
    is_ranking = name == "rankings"
    unit = query if is_ranking else np.arange(120)
    batch = columns | {"user": unit % 12, "part": unit % 2, "t": unit % 3}
    if weighted:
        batch["query_weight" if is_ranking else "sample_weight"] = random.random(120)[unit]
    held = se.Clustered(inner, by="user", groups=10)
    for outer, read in (
        (held, lambda acc: acc),
        (se.Sliced(held, "part"), lambda acc: acc[1]),
        (se.Windowed(held, pane=1, time="t"), lambda acc: acc.window(3)),
        (
            se.Windowed(se.Sliced(held, "part"), pane=1, time="t"),
            lambda acc: acc.window(3)[1],
        ),
        (se.Collection({"m": held}), lambda acc: acc),
    ):
        whole = outer.copy().update(batch)
        owner = random.integers(0, 3, 120)[unit]
        workers = [
            outer.copy().update({key: column[owner == one] for key, column in batch.items()})
            for one in range(3)
        ]
        assert se.merge(workers).to_bytes() == whole.to_bytes()
        assert se.from_bytes(whole.to_bytes()) == whole
        asked = f"m/{metric}" if isinstance(whole, se.Collection) else metric
        low, high = read(whole).compute().read(asked).sampling
        assert low < high
