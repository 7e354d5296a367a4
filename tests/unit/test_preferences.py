"""Win rates and Bradley-Terry strengths of models that were compared in pairs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from offenders import each
from sklearn.linear_model import LogisticRegression

import streameval as se
from streameval.configs.collection import Member
from streameval.io.columns import Labels, Numbers
from streameval.metrics import preferences
from streameval.metrics.intervals import normal_quantile
from streameval.runs.columns import columns_of

NAMES = ["a", "b", "c", "d", "e"]


def arena(n: int, seed: int, ties: float = 0.2) -> tuple[Any, Any, Any]:
    random, k = np.random.default_rng(seed), len(NAMES)
    true = np.exp(random.normal(size=k))
    a = random.integers(0, k, n)
    b = (a + random.integers(1, k, n)) % k
    outcome = (random.random(n) < true[a] / (true[a] + true[b])).astype(float)
    outcome[random.random(n) < ties] = 0.5
    return a, b, outcome


def counted(a: Any, b: Any, outcome: Any) -> se.PreferencesAccumulator:
    names = np.array(NAMES)
    return se.PreferencesAccumulator(NAMES).update(names[a], names[b], outcome)


def logistic(a: Any, b: Any, outcome: Any) -> Any:
    """Fit each comparison as a row with the weights of a win and of a loss."""
    rows = np.zeros((len(a), len(NAMES)))
    rows[np.arange(len(a)), a], rows[np.arange(len(a)), b] = 1.0, -1.0
    model = LogisticRegression(C=1e9, fit_intercept=False, tol=1e-10, max_iter=10_000)
    truth = np.repeat([1, 0], len(a))
    model.fit(np.vstack([rows, rows]), truth, np.concatenate([outcome, 1.0 - outcome]))
    logs = model.coef_[0]
    return np.exp(logs - logs.mean())


def evalica(matrix: Any) -> Any:
    """Iterate as evalica does: Newman, Efficient computation of rankings (2023)."""
    scores = np.ones(len(matrix))
    for _ in range(1000):
        for i in range(len(matrix)):
            sums = scores[i] + scores
            scores[i] = (matrix[i] * scores / sums).sum() / (matrix[:, i] / sums).sum()
        scores /= np.exp(np.log(scores).mean())
    return scores


@pytest.mark.slow
def test_strengths_are_those_of_logistic_regression_and_of_evalica() -> None:
    for seed in range(3):
        rows = arena(500, seed)
        result = counted(*rows).compute()
        found = np.array([*result.bradley_terry.values()])
        np.testing.assert_allclose(found, logistic(*rows), rtol=1e-4)
        np.testing.assert_allclose(found, evalica(result.matrix + result.ties / 2), rtol=1e-9)


def test_intervals_are_those_of_the_sandwich_of_each_row() -> None:
    a, b, outcome = arena(500, 4)
    result = counted(a, b, outcome).compute()
    logs = np.log([*result.bradley_terry.values()])
    rows = np.zeros((len(a), len(NAMES)))
    rows[np.arange(len(a)), a], rows[np.arange(len(a)), b] = 1.0, -1.0
    chances = 1.0 / (1.0 + np.exp(-rows @ logs))
    bread = np.linalg.pinv((rows.T * (chances * (1.0 - chances))) @ rows)  # of logs of mean 0
    spread = bread @ (rows.T * (outcome - chances) ** 2) @ rows @ bread
    errors = np.sqrt(np.diag(spread) * 500 / (500 - len(NAMES) + 1))
    for name, log, error in zip(NAMES, logs, errors, strict=True):
        ends = np.exp(log + np.array([-1.0, 1.0]) * normal_quantile(0.95) * error)
        assert result.confidence("bradley_terry", name) == pytest.approx(tuple(ends), rel=1e-6)


def test_win_rates_and_ties_are_those_of_the_rows() -> None:
    a, b, outcome = arena(300, 5)
    result = counted(a, b, outcome).compute()
    assert result.tie_rate == (outcome == 0.5).mean()
    for at, name in enumerate(NAMES):
        won = np.concatenate([outcome[a == at], 1.0 - outcome[b == at]])
        assert result.win_rate[name] == pytest.approx(won.mean(), rel=1e-12)
    assert result.matrix.sum() + result.ties.sum() / 2 == 300
    assert (
        result.matrix[0, 1]
        == ((a == 0) & (b == 1) & (outcome == 1)).sum()
        + ((a == 1) & (b == 0) & (outcome == 0)).sum()
    )


def test_intervals_cover_the_truth() -> None:
    random, hits, total = np.random.default_rng(3), 0, 0
    true = np.exp([-1.0, 0.0, 1.0])
    for _ in range(200):
        a = random.integers(0, 3, 200)
        b = (a + random.integers(1, 3, 200)) % 3
        outcome = random.random(200) < true[a] / (true[a] + true[b])
        result = se.PreferencesAccumulator(3).update(a, b, outcome * 1.0).compute()
        for model in range(3):
            low, high = result.confidence("bradley_terry", model)
            hits += low <= true[model] <= high
            total += 1
    assert 0.92 < hits / total < 0.98


def test_win_rate_without_ties_has_the_interval_of_a_proportion() -> None:
    result = se.PreferencesAccumulator(2).update([0] * 10, [1] * 10, [1] * 7 + [0] * 3).compute()
    accuracy = se.ConfusionAccumulator().update([1] * 10, [1] * 7 + [0] * 3).compute()
    expected = pytest.approx(accuracy.confidence("accuracy"))
    assert result.confidence("win_rate", 0) == result.confidence("win_rate[0]") == expected
    assert result.confidence("win_rate", 0, level=0) == (0.7, 0.7)


def test_models_without_a_finite_strength_are_named() -> None:
    acc = se.PreferencesAccumulator(["top", "x", "y", "low", "never"])
    rows = ["top", "x", "y", "x", "y"], ["x", "y", "x", "low", "low"], [1, 1, 1, 1, 1]
    result = acc.update(*rows).compute()
    strengths = result.bradley_terry
    assert strengths["top"] == math.inf
    assert (strengths["x"], strengths["y"], strengths["low"]) == (1.0, 1.0, 0.0)
    assert math.isnan(strengths["never"])
    assert math.isnan(result.win_rate["never"])
    for model in ("top", "low"):
        assert result.confidence("bradley_terry", model) == (0.0, math.inf)
    assert all(map(math.isnan, result.confidence("bradley_terry", "never")))
    assert all(map(math.isnan, result.confidence("win_rate", "never")))
    said = " ".join(result.findings())
    assert "never compared, which have no strength: never." in said
    assert "never beat, so that their strength is infinite: top." in said
    assert "never beat the others, so that their strength is 0: low." in said
    assert [line.split()[0] for line in result.report().splitlines()[3:-2]] == [
        *("top", "y", "x", "low", "never")
    ]


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ([0, 1, 2, 3], [1, 0, 3, 2], [math.nan] * 4),
        ([0, 1], [1, 2], [math.inf, math.nan, 0.0, math.nan]),
        ([0, 1, 2, 3, 0], [1, 0, 3, 2, 2], [math.nan] * 4),
        ([0, 1, 0, 1], [1, 0, 2, 3], [1.0, 1.0, 0.0, 0.0]),
        ([], [], [math.nan] * 4),
    ],
    ids=["two parts", "a chain", "two sets", "two below", "nothing"],
)
def test_strengths_are_undefined_where_no_ratio_follows(
    a: list[int], b: list[int], expected: list[float]
) -> None:
    result = se.PreferencesAccumulator(4).update(a, b, [1] * len(a)).compute()
    np.testing.assert_equal([*result.bradley_terry.values()], expected)
    said = " ".join(result.findings())
    unmet = sum(map(math.isnan, result.win_rate.values()))
    assert ("strength is nan" in said) == (np.isnan(expected).sum() - unmet > 0 and bool(a))


def test_few_comparisons_have_the_widest_interval() -> None:
    result = se.PreferencesAccumulator(3).update([0, 1], [1, 2], [0.5, 0.5]).compute()
    assert result.confidence("bradley_terry", 0) == (0.0, math.inf)


def test_strengths_far_apart_are_found() -> None:
    n = 10**9
    weights = [n, 1, n, 1]
    acc = se.PreferencesAccumulator(3)
    rows = [0, 1, 1, 2], [1, 0, 2, 1], [1, 1, 1, 1]
    found = acc.update(*rows, sample_weight=weights).compute().bradley_terry
    assert [found[model] for model in range(3)] == pytest.approx([n, 1.0, 1.0 / n])


def test_clustered_intervals_are_wider_where_prompts_repeat() -> None:
    a, b, outcome = (np.repeat(side, 8) for side in arena(100, 7))
    rows = {"a": np.array(NAMES)[a], "b": np.array(NAMES)[b], "outcome": outcome}
    acc = se.Clustered(se.PreferencesAccumulator(NAMES), by="prompt")
    acc = acc.update(rows | {"prompt": np.repeat(np.arange(100), 8)})
    result, plain = acc.compute(), acc.total().compute()
    for name in ("bradley_terry", "win_rate"):
        low, high = result.confidence(name, "a")
        within = plain.confidence(name, "a")
        assert low < within[0] < within[1] < high
    assert (high - low) / (within[1] - within[0]) > 1.5
    assert result.stderr("bradley_terry", "a") > 0.0


def test_clustered_interval_is_the_widest_where_a_group_decides() -> None:
    acc = se.Clustered(se.PreferencesAccumulator(3), by="prompt")
    result = acc.update([0, 0, 1], [1, 1, 0], [1, 1, 1], by=[1, 2, 3]).compute()
    assert result.confidence("bradley_terry", 0) == (0.0, math.inf)
    assert all(map(math.isnan, result.confidence("bradley_terry", 2)))


def test_single_comparison_is_a_batch_of_one() -> None:
    many = se.PreferencesAccumulator(["x", "y"]).update(["x"], ["y"], [1])
    for outcome in (1, 1.0, np.int64(1), np.float32(1)):
        assert se.PreferencesAccumulator(["x", "y"]).update("x", "y", outcome) == many


def test_display_names_are_shown_and_found() -> None:
    result = se.PreferencesAccumulator({0: "old", 1: "new"}).update([0], [1], [0.5]).compute()
    assert result.models == ("old", "new")
    assert result.read("win_rate[new]") == result.read("win_rate[1]")
    with pytest.raises(se.InvalidInputError, match=r"no model 'nwe'.*new"):
        result.value("win_rate", "nwe")
    with pytest.raises(se.InvalidInputError, match=r"write win_rate\[old\]"):
        result.read("win_rate")


def test_fractional_weights_have_no_interval() -> None:
    acc = se.PreferencesAccumulator(2).update([0, 1], [1, 0], [1, 1], sample_weight=[0.5, 1])
    result = acc.compute()
    with pytest.raises(se.InvalidInputError, match="fraction of a comparison is not a draw"):
        result.confidence("win_rate", 0)
    assert result.read("win_rate[0]").sampling is None
    assert "fraction of a comparison" in result.explain()
    assert result.table("model")["wins"] == [0.5, 1.0]


def test_comparisons_of_weight_zero_may_hold_anything() -> None:
    acc = se.PreferencesAccumulator(["a", "b"])
    acc.update(["a", "z", "b"], ["b", "b", "a"], [1, 7, 0.5], sample_weight=[2, 0, 1])
    other = se.PreferencesAccumulator(["a", "b"])
    assert acc == other.update(["a", "b"], ["b", "a"], [1, 0.5], sample_weight=[2, 1])


def test_report_counts_the_models_that_it_leaves_out() -> None:
    result = counted(*arena(200, 1)).compute()
    assert "... and 3 more" in result.report(max_classes=2)
    assert result.described(0.95).by_class is not None


def test_models_are_many_and_named() -> None:
    for wrong in ("auto", "x", 1, 2**12 + 1, ["x", "x"]):
        with pytest.raises(se.InvalidInputError, match="`models`"):
            se.PreferencesAccumulator(wrong)
    with pytest.raises(se.InvalidInputError, match=r"^`models` must be at most 4096, got 40000\.$"):
        se.PreferencesAccumulator(40_000)


REFUSED = {
    "a model against itself": (
        (["x", "y"], ["y", "y"], [1, 0]),
        "`b` must be another model than a, got 'y' for both at position 1.",
    ),
    "another outcome": (
        (["x", "y"], ["y", "x"], [1, 0.25]),
        "`outcome` must be 1 if a was preferred, 0 if b was, or 0.5 for a tie, got 0.25",
    ),
    "an unknown model": (
        (["x", "z"], ["y", "x"], [1, 0]),
        "`a` must hold labels among 'x', 'y', got 'z' at position 1.",
    ),
    "sizes": ((["x", "y"], ["y"], [1, 0]), "`b` must have 2 rows, got 1."),
    "more outcomes": ((["x"], ["y"], [1, 0]), "`outcome` must have 1 rows, got 2."),
    "no number": ((["x"], ["y"], ["win"]), "`outcome` must"),
}


@each("name", REFUSED)
def test_refused_comparisons_leave_no_trace(name: str) -> None:
    rows, message = REFUSED[name]
    acc = se.PreferencesAccumulator(["x", "y"]).update(["x"], ["y"], [1])
    before = acc.to_bytes()
    with pytest.raises(se.InvalidInputError) as error:
        acc.update(*rows)
    assert message in str(error.value)
    assert acc.to_bytes() == before


def test_empty_batches_count_nothing() -> None:
    acc = se.PreferencesAccumulator(2)
    assert acc.update([], [], []) == acc.copy().reset()
    with pytest.raises(se.InvalidInputError, match="`sample_weight`"):
        acc.update([], [], [], sample_weight=[1])


def test_models_and_ties_are_read_with_other_metrics() -> None:
    result = counted(*arena(200, 1)).compute()
    assert result.read("n_models").value == 5
    low, high = result.confidence("tie_rate")
    assert low < result.tie_rate < high
    assert result.read("tie_rate").sampling == (low, high)
    with pytest.raises(se.InvalidInputError, match="no model 'f'"):
        result.confidence("win_rate", "f")
    with pytest.raises(se.InvalidInputError, match="matrix"):
        result.confidence("matrix")


def test_details_of_the_json_object_hold_the_tables() -> None:
    result = counted(*arena(200, 1)).compute()
    found = result._details(0.0, bounds=False)
    assert found["models"] == NAMES
    assert found["matrix"] == result.matrix.tolist()
    assert found["per_model"]["a"]["win_rate"] == result.win_rate["a"]


def test_fit_that_stops_early_is_the_best_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preferences, "_STEPS", 1)
    found = preferences.strengths(np.array([[0.0, 3.0], [1.0, 0.0]]), np.zeros((2, 2))).values
    start = 2 * np.log(
        3.5 / 1.5
    )  # the difference of the logarithms of (wins + 1/2) / (losses + 1/2)
    chance = 1 / (1 + np.exp(-start))
    end = start + (3 - 4 * chance) / (4 * chance * (1 - chance))
    assert found.tolist() == pytest.approx([np.exp(end / 2), np.exp(-end / 2)])


def test_fit_takes_shorter_steps_where_a_whole_one_is_worse() -> None:
    wins = np.zeros((5, 5))
    for winner, loser, n in (
        *((0, 1, 1e3), (1, 0, 1e5), (1, 2, 1), (2, 3, 1)),
        *((3, 2, 1e3), (3, 4, 1e3), (4, 0, 1e5)),
    ):
        wins[winner, loser] = n
    found = preferences.strengths(wins, np.zeros((5, 5))).values
    expected = (wins + wins.T) * found[:, None] / (found[:, None] + found)
    assert expected.sum(axis=1) == pytest.approx(wins.sum(axis=1), rel=1e-9)


def test_groups_of_preferences_are_those_of_their_rows() -> None:
    a, b, outcome = arena(60, 2)
    names = np.array(NAMES)
    rows = {"a": names[a], "b": names[b], "outcome": outcome, "day": np.arange(60) // 20}
    inner = se.PreferencesAccumulator(NAMES)
    sliced = se.Sliced(inner, "day").update(rows)
    timed = se.Windowed(inner, pane=1, time="day").update(rows)
    several = se.Collection({"p": inner}).update(rows)
    for day in range(3):
        kept = rows["day"] == day
        part = counted(a[kept], b[kept], outcome[kept])
        assert sliced[day] == part
        assert timed.window(1, day + 1) == part
    assert several["p"] == sliced.total() == timed.total() == counted(a, b, outcome)
    assert "p/tie_rate" in several.compute().as_dict()


def test_outcomes_are_read_from_the_words_of_arenas_and_from_names() -> None:
    a, b = ["x", "y", "x", "x", "y", "z", "z"], ["y", "z", "z", "y", "x", "x", "y"]
    words = ["model_a", "right", " Tie", "tie (bothbad)", "both_bad", "z", "y"]
    said = se.PreferencesAccumulator(["x", "y", "z"]).update(a, b, words)
    assert said == se.PreferencesAccumulator(["x", "y", "z"]).update(
        a, b, [1, 0, 0.5, 0.5, 0.5, 1, 0]
    )
    one = se.PreferencesAccumulator(["x", "y"]).update("x", "y", "model_b").update("x", "y", "y")
    assert one.compute().matrix.tolist() == [[0, 0], [2, 0]]


def test_a_word_that_is_the_name_of_a_model_is_refused() -> None:
    acc = se.PreferencesAccumulator(["tie", "y"])
    with pytest.raises(se.InvalidInputError, match="'tie', a usual word and the name of a model"):
        acc.update(["tie", "y"], ["y", "tie"], ["y", "tie"])
    assert acc.update("tie", "y", "y").n == 1


def test_plot_draws_finite_strengths_on_the_scale_of_elo() -> None:
    acc = se.PreferencesAccumulator(["x", "y", "z", "never"])
    acc.update(["x"] * 10, ["y"] * 10, [1] * 7 + [0] * 2 + [0.5]).update("z", "x", 0)
    axes = acc.compute().plot()
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["x", "y"]
    ratings = axes.containers[0].lines[0].get_xdata()
    assert ratings == pytest.approx([1000 + 200 * math.log10(3), 1000 - 200 * math.log10(3)])
    whiskers = axes.containers[0].lines[2][0].get_segments()[0]
    low, high = acc.compute().confidence("bradley_terry", "x")
    assert whiskers[:, 0] == pytest.approx([400 * math.log10(end) + 1000 for end in (low, high)])


def test_plot_has_arrows_without_limits_and_needs_strengths() -> None:
    acc = se.PreferencesAccumulator(["x", "y"])
    with pytest.raises(se.InvalidInputError, match="needs models with finite strengths"):
        acc.compute().plot()
    axes = acc.update("x", "y", "tie").compute().plot(label="a tie")
    assert axes.containers[0].lines[0].get_xdata() == pytest.approx([1000.0, 1000.0])
    assert np.ptp(axes.containers[0].lines[2][0].get_segments(), axis=1).tolist() == [[0, 0]] * 2
    arrows = [[*one.xyann, *one.xy] for one in axes.texts]
    both = [[1000.0, row, edge, row] for edge in (0, 1) for row in (0, 1)]
    np.testing.assert_allclose(arrows, both)
    assert not acc.compute().plot(level=0).texts


def test_columns_of_models_of_numbers_are_numbers() -> None:
    config = se.Paired(None, measures=["mse"])._config
    names = {name: name for name in ("y_true", "y_pred_a", "y_pred_b")}
    columns = columns_of([Member(se.Paired, config)], names, [dict.fromkeys(names, 1)])
    assert [one.field_type for one in columns] == [Numbers()] * 3


def test_columns_of_outcomes_are_read_as_numbers_or_as_text() -> None:
    config = se.PreferencesAccumulator(["x", "y"])._config
    for outcome, wanted in ((1, Numbers(booleans=True)), ("tie", Labels(integers=False))):
        rows = [{"a": "x", "b": "y", "outcome": outcome}]
        names = {name: name for name in ("a", "b", "outcome")}
        columns = columns_of([Member(se.PreferencesAccumulator, config)], names, rows)
        assert columns[2].field_type == wanted


def test_a_strength_that_is_nan_says_so_where_a_reason_is_asked_for() -> None:
    apart = se.PreferencesAccumulator(["x", "y", "z", "w", "alone"])
    result = apart.update(["x", "y", "z"], ["y", "x", "w"], [1, 1, 1]).compute()
    for metric in ("bradley_terry[x]", "bradley_terry[alone]", "win_rate[alone]"):
        reading = result.read(metric)
        assert math.isnan(reading.value)
        assert (reading.sampling, reading.why_none) == (None, "the value is nan")
    weighted = se.PreferencesAccumulator(["x", "y"])
    weighted.update(["x", "y"], ["y", "x"], [1, 1], sample_weight=[0.5, 0.5])
    assert weighted.compute().read("win_rate[x]").why_none == "weights had fractions"


def test_nearly_all_models_are_fitted_to_the_last_bits_of_their_likelihood() -> None:
    for seed in range(20):
        a, b, outcome = arena(500, seed)
        result = counted(a, b, outcome).compute()
        found = np.array([*result.bradley_terry.values()])
        compared = result.matrix + result.matrix.T + result.ties
        chance = found[:, None] / (found[:, None] + found)
        won = (result.matrix + result.ties / 2).sum(axis=1)
        np.testing.assert_allclose((compared * chance).sum(axis=1), won, rtol=1e-13)


@pytest.mark.slow
def test_a_chain_of_models_has_the_odds_of_its_links() -> None:
    wins = np.zeros((200, 200))
    at = np.arange(199)
    wins[at, at + 1], wins[at + 1, at] = 6.0, 4.0
    found = preferences.strengths(wins, np.zeros((200, 200))).values
    np.testing.assert_allclose(found[:-1] / found[1:], 1.5, rtol=1e-11)
