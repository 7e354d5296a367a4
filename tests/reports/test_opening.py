"""What a report begins with: what was counted, the headline metric, and what is worst."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from offenders import each
from report_pages import figure, figures, named, pictures, read, report, rows, styled, text
from win_rate import WinRate

import streameval as se
from streameval.reports import html_report


def lead(*states: Any, **options: Any) -> list[str]:
    return [text(found) for found in styled(report(*states, **options), "lead")]


def rates(**right: tuple[int, int]) -> dict[str, list[Any]]:
    """List rows of countries, so many of which are right."""
    columns: dict[str, list[Any]] = {"y_true": [], "y_pred": [], "country": []}
    for country, (n_right, n) in right.items():
        columns["y_true"] += [1] * n
        columns["y_pred"] += [1] * n_right + [0] * (n - n_right)
        columns["country"] += [country] * n
    return columns


RATES = rates(DE=(90, 100), FR=(20, 100), IT=(80, 100))


def by_country(batch: dict[str, list[Any]] = RATES, **options: Any) -> se.Sliced:
    return se.Sliced(se.ConfusionAccumulator(), "country", **options).update(batch)


def test_single_state_says_what_was_counted_and_its_headline() -> None:
    state = se.PRCurveSketch().update([0, 1, 1, 0], [0.1, 0.9, 0.4, 0.6])
    low, high = state.compute().confidence("roc_auc")
    few, many = state.compute().confidence("recall_at_top", 0.05)
    (said,) = lead(state)
    assert said == (
        "Evaluated on 4 examples, 2 positives among them. ROC AUC is 0.75 "
        f"(95% interval {low:.2f} to {high:.2f}). The 5% of the examples with the highest scores "
        f"hold 10.0% of the positives (95% interval {few:.0f}% to {100 * many:.1f}%). "
        "Calibration is worst at a mean score of 0.40: the share of positives is 1.00 on 1 "
        "example, which may be chance."
    )


def test_share_of_positives_in_the_highest_scores_has_its_bounds() -> None:
    state = se.PRCurveSketch(budget=8).update([0, 1] * 500, np.linspace(0, 1, 1000))
    held = state.compute().recall_at_top(0.05)
    assert held.low < held.high
    within = f"(within {100 * held.low:.1f}% to {100 * held.high:.1f}%)."
    assert f" hold {100 * held:.1f}% of the positives {within}" in lead(state, level=0)[0]
    low, high = state.compute().confidence("recall_at_top", 0.05)
    assert f"(95% interval {100 * low:.1f}% to {100 * high:.1f}%)." in lead(state)[0]


@each(
    ("state", "said"),
    [
        (se.RegressionAccumulator().update([1.0], [3.0]), "Evaluated on 1 example."),
        (se.RankingAccumulator().update([[1, 0]], [[2.0, 1.0]]), "Evaluated on 1 query."),
        (se.RegressionAccumulator(), "Root mean squared error is undefined."),
        (se.RegressionAccumulator().update([1.0], [3.0]), "Root mean squared error is 2.0000."),
    ],
)
def test_numbers_of_one_and_of_none_are_written_as_words_have_them(state: Any, said: str) -> None:
    assert said in lead(state)[0]


def test_headline_without_an_interval_is_beside_a_metric_with_one() -> None:
    batch = [1.0, 2.0, 3.0], [2.0, 2.5, 3.5]
    (said,) = lead(se.RegressionAccumulator().update(*batch))
    assert "error is 0.7071. Mean absolute error is 0.7 (95% interval 0.2 to 1.9)." in said
    (said,) = lead(se.RegressionAccumulator(intervals=True).update(*batch))
    assert "Mean absolute error" not in said
    (said,) = lead(se.RegressionAccumulator().update(*batch), level=0)
    assert "Mean absolute error" not in said


@each(
    ("probability", "said"),
    [(0.6, "20.0% above the share of positives."), (0.4, "20.0% below the share of positives.")],
)
def test_bias_of_probabilities_is_told(probability: float, said: str) -> None:
    (found,) = lead(se.CalibrationAccumulator().update([1, 0], [probability] * 2))
    assert f"The mean prediction is {said}" in found
    assert "The mean prediction" not in lead(se.CalibrationAccumulator().update([0], [0.5]))[0]


@each(
    ("state", "said"),
    [
        (se.RegressionAccumulator().update([1.0], [3.0]), "use eval --by COLUMN."),
        (
            se.RankingAccumulator().update([[1, 0]], [[2.0, 1.0]]),
            "use eval --per-query.",
        ),
    ],
)
def test_report_without_parts_says_how_to_see_the_worst(state: Any, said: str) -> None:
    assert lead(state)[0].endswith(f" To see what is worst, {said}")
    assert "To see" not in lead(state.reset())[0]


def test_worst_queries_are_named_if_they_are_kept() -> None:
    state = se.RankingAccumulator("mrr", per_query=True)
    assert "queries" not in lead(state)[0].partition("0 queries")[2]
    state.update([[1, 0], [0, 1], [0, 0]], [[2.0, 1.0]] * 3, query=["a", "b", "c"])
    said = " Worst queries: b with 0.5000, a with 1.0000."  # c has nothing to find
    assert lead(state)[0].endswith(said)
    errors = se.RankingAccumulator("coverage_error", per_query=True)
    errors.update([[1, 0], [0, 1]], [[2.0, 1.0]] * 2, query=["a", "b"])
    assert lead(errors)[0].endswith(" Worst queries: b with 2.0000, a with 1.0000.")


def test_rankings_whose_queries_are_not_kept_say_how_to_compare_them() -> None:
    runs = [
        se.RankingAccumulator("mrr").update([[1, 0]] * 3 + [[0, 1]] * k, [[2.0, 1.0]] * (3 + k))
        for k in (1, 2)
    ]
    how = "Compared as independent samples (eval --compare pairs the queries of runs), the"
    assert how in lead(*runs)[0]


def test_no_class_is_the_lowest_of_equal_ones() -> None:
    labels = list("abcabc")
    (said,) = lead(se.ConfusionAccumulator(["a", "b", "c"]).update(labels, labels))
    assert "Lowest" not in said


@each(("confusions", "said"), [("count", "a predicted as b, 2"), ("rate", "b predicted as a, 1")])
def test_most_confused_pair_is_named_by_count_or_rate(confusions: Any, said: str) -> None:
    state = se.ConfusionAccumulator(["a", "b"]).update(list("aaaaab"), list("aaabba"))
    (found,) = lead(state, confusions=confusions)
    assert f"Most confused: {said} of " in found
    perfect = se.ConfusionAccumulator(["a", "b"]).update(["a", "b"], ["a", "b"])
    assert "confused" not in lead(perfect)[0]


def test_worst_calibration_is_told_with_what_chance_explains() -> None:
    state = se.CalibrationAccumulator().update([0, 1] * 50, [0.9] * 100)
    said = (
        "Calibration is worst at a mean prediction of 0.90: the share of positives is 0.50 on 100"
    )
    assert lead(state)[0].endswith(f"{said} examples, which chance does not explain.")
    assert lead(state, level=0)[0].endswith("of positives is 0.5000 on 100 examples.")
    perfect = se.CalibrationAccumulator().update([0, 1], [0.5, 0.5])
    assert "Calibration is worst" not in lead(perfect)[0]


def test_level_of_zero_leaves_intervals_out() -> None:
    (said,) = lead(by_country(), level=0)
    assert said == (
        "Evaluated on 300 examples, in 3 slices by country. Accuracy is 0.6333. "
        "Worst country: FR with 0.2000 on 100 examples."
    )


def test_worst_slice_is_apart_only_if_its_interval_for_all_slices_at_once_is() -> None:
    assert lead(by_country())[0].endswith(
        "Worst country: FR with 0.20 on 100 examples, which chance does not explain."
    )
    held = by_country(rates(DE=(90, 100), FR=(78, 100), IT=(88, 100)))
    whole, alone = held.total().compute().accuracy, held.compute()["FR"].confidence("accuracy")
    assert alone[1] < whole < held.compute().intervals("accuracy")["FR"][1]
    assert lead(held)[0].endswith(" on 100 examples, which may be chance.")


@each(("n", "said"), [(10, "may be chance"), (1000, "is more than chance explains")])
def test_two_states_say_whether_chance_explains_their_difference(n: int, said: str) -> None:
    a, b = (
        se.ConfusionAccumulator().update([1] * 10 * n, [1] * right * n + [0] * (10 - right) * n)
        for right in (8, 7)
    )
    assert lead(a, b)[0].endswith(f" Compared as independent samples, the difference {said}.")


@each(("shift", "said"), [(0.0, "may be chance"), (9.0, "is more than chance explains")])
@each("level", [0.95, 0])
def test_two_rankings_of_the_same_queries_are_compared_by_query(
    shift: float, said: str, level: float
) -> None:
    rng = np.random.default_rng(0)
    relevance, score = rng.integers(0, 2, (30, 9)), rng.random((30, 9))
    noise = rng.random((30, 9)) / 100
    runs = [
        se.RankingAccumulator(["map"], per_query=True).update(
            relevance.ravel(), one.ravel(), query=np.arange(30).repeat(9)
        )
        for one in (score, score + noise + shift * relevance)
    ]
    page = report(*runs, level=level)
    ends = se.compare(*[one.compute() for one in runs[::-1]])["map"].confidence()
    table = text(figure(page, "Measures"))
    told = text(styled(page, "lead")[0])
    assert (f" Compared query by query, the difference {said}." in told) == (level > 0)
    values = runs[0].compute().per_query()["map"]
    worst = sorted(values[relevance.any(axis=1)])[:3]
    assert all(f" with {value:.4f}" in told.partition("Worst queries of a: ")[2] for value in worst)
    assert ("Their intervals compare the same queries." in table) == (level > 0)
    to = "to" if ends[0] < 0 else "\N{EN DASH}"
    assert (f"{ends[0]:.4f} {to} {ends[1]:.4f}" in table) == (level > 0)


def test_worst_of_panes_of_several_widths_is_that_of_windows() -> None:
    windowed = se.Windowed(se.ConfusionAccumulator(), pane="1d", keep="2d", rollups=[("7d", "70d")])
    days = np.datetime64("2026-01-05") + np.arange(16)
    windowed.update({"y_true": [1] * 16, "y_pred": [1] * 15 + [0], "time": days})
    (said,) = (one for one in lead(windowed) if "Worst" in one)
    assert "Worst accuracy of 8 windows: 0.00 from 2026-01-20" in said


@each(
    ("state", "said"),
    [
        (
            se.GroupedAUC().update([0, 1, 0, 1], [0.1, 0.9, 0.2, 0.8], [1, 1, 2, 2]),
            "4 examples and 2 groups. Mean AUC (GAUC), by impressions is 1.0",
        ),
        (
            se.CatalogAccumulator(5, k=2).update([["a", "b"]]),
            "2 examples and 5 items. Coverage of the catalog is 0.4000.",
        ),
        (
            se.Paired(None, measures=["score"]).update([1.0, 2.0], [0.5, 1.0]),
            "2 examples. Mean score, A minus B is 0.8 (95% interval",
        ),
    ],
)
def test_sentences_name_what_was_counted_and_the_headline_in_full(state: Any, said: str) -> None:
    assert lead(state)[0].startswith(f"Evaluated on {said}")


def test_intervals_of_differences_may_be_of_the_same_queries_or_of_others() -> None:
    state = of_queries([[1, 0], [0, 1], [0, 1]])
    other = se.RankingAccumulator("map", per_query=True)
    other.update([[1, 0], [0, 1]], [[2.0, 1.0]] * 2, query=[7, 8])
    said = "Their intervals compare the same queries or assume results on different data."
    assert said in text(figure(report(state, state, other), "Measures"))


def of_queries(relevance: Any, score: Any = (2.0, 1.0), **options: Any) -> se.RankingAccumulator:
    state = se.RankingAccumulator(["gm_map", "map"], per_query=True, **options)
    return state.update(relevance, [score] * len(relevance), query=range(len(relevance)))


def test_geometric_means_of_the_same_queries_have_no_interval_of_other_queries() -> None:
    runs = [of_queries([[1, 0], [0, 1], [0, 1]], score) for score in ((2.0, 1.0), (1.0, 2.0))]
    assert "Compared" not in lead(*runs)[0]
    (geometric,) = (row for row in rows(figure(report(*runs), "Measures")) if "Geometric" in row[0])
    assert " to " not in geometric[-1]


def test_queries_without_a_common_value_have_no_interval() -> None:
    runs = [
        of_queries(relevance, empty="skip") for relevance in ([[1, 0], [0, 0]], [[0, 0], [1, 0]])
    ]
    assert "nan" not in text(figure(report(*runs), "Measures"))


def test_worst_slice_without_an_interval_says_that_nothing_tells_it_from_chance() -> None:
    held = se.Sliced(se.CalibrationAccumulator(), "country")
    held.update({"y_true": [1, 1], "y_prob": [0.5, 0.25], "country": ["DE", "FR"]})
    assert lead(held)[0].endswith(
        "FR with 1.3863 on 1 example; there is no interval to tell it from chance."
    )


def test_slices_are_ordered_and_drawn_by_the_metric_whose_interval_tells_them_from_chance() -> None:
    held = se.Sliced(se.RegressionAccumulator(), "country")
    errors, country = [1.0, 1.1, 0.0, 2.0], ["DE", "DE", "FR", "FR"]
    held.update({"y_true": [0.0] * 4, "y_pred": errors, "country": country})
    page = read(html_report({"day": held}))
    said = "Worst country: DE with 1.1 on 2 examples, which may be chance."
    assert text(styled(page, "lead")[0]).endswith(said)
    assert "With 95% intervals." in text(figure(page, "Mean absolute error by country"))


def test_names_beside_a_matrix_keep_the_ends_in_which_they_differ() -> None:
    names = ["talk.politics.mideast.and.more", "talk.politics.misc.and.the.rest"]
    page = report(se.ConfusionAccumulator(names).update(names, names[::-1]))
    shown = [text(name) for name in figures(page, "Confusion matrix")[0].iter("bdi")]
    assert shown == ["talk.politic…st.and.more", "talk.politic…nd.the.rest"] * 2


def test_worst_slice_that_is_like_the_others_may_be_chance() -> None:
    assert lead(by_country(rates(DE=(8, 10), FR=(7, 10))))[0].endswith(", which may be chance.")


def test_only_slice_has_its_own_interval() -> None:
    assert lead(by_country(rates(DE=(8, 10))))[0].endswith(" on 10 examples, which may be chance.")


def test_slices_where_the_metric_is_undefined_are_not_the_worst() -> None:
    held = se.Sliced(se.PRCurveSketch(), "country")
    held.update({"y_true": [1, 1], "y_score": [0.5, 0.6], "country": ["DE", "FR"]})
    (said,) = lead(held)
    assert said == (
        "Evaluated on 2 examples, 2 positives among them, in 2 slices by country. ROC AUC is "
        "undefined."
    )


def test_lowest_recall_of_several_classes_is_told() -> None:
    state = se.ConfusionAccumulator(["a", "b", "c", "d"])
    state.update(["a", "a", "b", "c"], ["a", "b", "b", "c"])
    low, high = state.compute().confidence("recall", average=None)
    assert lead(state)[0].endswith(
        f" Lowest recall of 4 classes: a with 0.50 (95% interval {low[0]:.2f} to {high[0]:.2f}), "
        "on 2 examples. Lowest precision: b with 0.50 (95% interval 0.09 to 0.91). "
        "Most confused: a predicted as b, 1 of 2 examples."
    )
    assert "Lowest" not in lead(se.ConfusionAccumulator(4))[0]


def test_best_and_worst_of_several_states_are_told() -> None:
    fits = [se.RegressionAccumulator().update([0.0], [error]) for error in (2.0, 1.0, 3.0)]
    (said,) = lead(*fits)
    assert said == (
        "3 results, each on 1 example. Mean absolute error is best in b, 1.0000 (95% interval "
        "0.0000 to \N{INFINITY}), and worst in c, 3.0000 (95% interval 0.0000 to \N{INFINITY})."
    )


@each(
    ("states", "said"),
    [
        ([[1.0], [1.0]], "Mean absolute error is 1.0000 for both."),
        ([[1.0], [1.0], [1.0]], "Mean absolute error is 1.0000 for all."),
        ([[], [1.0]], "2 results, each on 0 to 1 example."),
    ],
)
def test_states_without_a_best_one_are_told_apart_by_size_alone(
    states: list[list[float]], said: str
) -> None:
    fits = [se.RegressionAccumulator().update([0.0] * len(e), e) for e in states]
    assert lead(*fits)[0].endswith(said)


def test_means_of_other_weights_are_told_without_them() -> None:
    rows = [0, 1, 0, 1], [0.1, 0.9, 0.1, 0.9], [0, 0, 1, 1]
    one, other = se.GroupedAUC().update(*rows), se.GroupedAUC(group_weight="uniform").update(*rows)
    assert lead(one, other)[0].endswith(" Mean AUC (GAUC) is 1.0000 for both.")
    assert lead(one, one)[0].endswith(" Mean AUC (GAUC), by impressions is 1.0000 for both.")
    assert "Mean AUC (GAUC), by impressions or uniform" in text(report(one, other))


def test_means_of_values_have_a_highest_and_a_lowest_one() -> None:
    values = [se.MeanAccumulator().update([value, value]) for value in (1.0, 2.0)]
    found = lead(*values)[0]
    assert "Mean is highest in b, 2.0000 (" in found
    assert "and lowest in a, 1.0000 (" in found


def test_weights_with_fractions_are_written_with_them() -> None:
    held = [se.RegressionAccumulator().update([0.0], [1.0], sample_weight=[w]) for w in (0.5, 1)]
    assert lead(*held)[0].startswith("2 results, each on 0.5 to 1 example.")


def test_slices_have_a_row_each_with_the_worst_first() -> None:
    page = report(by_country())
    table = next(figure(page, "By country").iter("table"))
    assert [row[:2] for row in rows(table)] == [
        *(["all rows", "300"], ["FR", "100"], ["IT", "100"], ["DE", "100"])
    ]
    assert figure(page, "Accuracy by country")
    (folded,) = page.find("body/main/section").findall("details")  # type: ignore[union-attr]
    assert "Metrics" in text(folded)


def test_rows_without_a_slice_of_their_own_are_a_slice_of_the_page() -> None:
    page = report(by_country(values=["DE"], max_values=1))
    table = next(figure(page, "By country").iter("table"))
    assert [row[:2] for row in rows(table)][1:] == [["other", "200"], ["DE", "100"]]


def test_no_more_than_a_hundred_slices_have_a_row_and_the_eight_first_are_drawn() -> None:
    batch = {"y_true": [1.0] * 110, "y_pred": np.arange(110.0), "group": np.arange(110)}
    page = report(se.Sliced(se.RegressionAccumulator(), "group", max_values=200).update(batch))
    table = next(figure(page, "By group").iter("table"))
    found = [row[0] for row in rows(table)]
    assert (len(found), found[:3]) == (100, ["all rows", "109", "108"])
    assert "and 11 more" in text(figure(page, "By group"))
    values = next(figure(page, "Errors").iter("table"))
    assert len(rows(values)) == 8


def test_members_of_slices_have_a_section_each() -> None:
    held = se.Sliced(
        se.Collection({"label": se.ConfusionAccumulator(), "fit": se.RegressionAccumulator()}),
        "country",
    )
    page = report(held.update(RATES))
    assert [text(found) for found in styled(page, "of-what")] == ["label", "fit"]
    assert [text(found).partition(".")[0] for found in styled(page, "lead")] == [
        "label: Binary classification",
        "fit: Regression",
    ]


@each(
    ("names", "title", "shown"),
    [
        (["country=DE", "country.missing"], "By country", ["DE", "country.missing"]),
        (["country=DE", "device=ios"], "By slice", ["country=DE", "device=ios"]),
        (["country=DE,device=ios"], "By slice", ["country=DE,device=ios"]),
        (["new", "old"], "By slice", ["new", "old"]),
    ],
)
def test_states_of_slices_are_named_by_their_values_if_all_are_of_one_column(
    names: list[str], title: str, shown: list[str]
) -> None:
    state = se.RegressionAccumulator().update([1.0], [2.0])
    page = read(html_report({"day": {"all": state, **dict.fromkeys(names, state)}}))
    table = next(figure(page, title).iter("table"))
    assert [row[0] for row in rows(table)] == ["all rows", *shown]


def test_several_states_with_slices_are_compared_and_have_their_slices_below() -> None:
    page = report(by_country(), by_country())
    assert [text(found) for found in styled(page, "of-what")][-2:] == ["a", "b"]
    assert len([head for head in page.iter("h3") if text(head) == "By country"]) == 2
    assert "Difference" in text(figures(page, "Metrics")[0])


def test_state_of_slices_with_nothing_but_all_rows_is_that_of_all_rows() -> None:
    state = se.RegressionAccumulator().update([1.0], [2.0])
    assert "slice" not in html_report({"day": {"all": state}})


def test_over_time_says_which_span_is_the_worst_and_draws_each_slice() -> None:
    held = se.Windowed(by_country().reset(), pane="1d", unit="s")
    n = len(RATES["y_true"])
    held.update({**RATES, "time": [86_400 * 20_000 + 86_400 * (k // 100) for k in range(n)]})
    page = read(html_report({"day": held}))
    assert text(styled(page, "lead")[1]) == (
        "Over time. Accuracy of the newest day is 0.80 (95% interval 0.71 to 0.87), 0.60 "
        "higher than that of the day before, which chance does not explain. Worst accuracy of 3 "
        "days: 0.20 on 2024-10-05, which chance does not explain."
    )
    (drawn,) = [one for one in styled(page, "over-time") if "Accuracy over" in text(one)]
    (small,) = styled(drawn, "small")
    assert [text(name) for name in small.iter("h4")] == ["FR", "IT", "DE"]
    heads = [text(head) for head in next(drawn.iter("thead")).iter("th")]
    assert heads[-3:] == ["FR", "IT", "DE"]
    assert "Labelled" not in heads
    assert text(next(row for row in drawn.iter("th") if row.get("scope") == "row")) == "2024-10-04"


@each(
    ("pane", "right", "said"),
    [
        (
            "1d",
            [90] * 60,
            "of the newest 30 days is 0.900 (95% interval 0.889 to 0.910), equal to",
        ),
        ("7d", [90, 80] * 4, "of the newest 28 days is 0.850"),
        ("1d", [90] * 60, "equal to that of the 30 days before. "),
        ("1d", [90] * 7 + [89] * 7, "7 days before, which may be chance. "),
        (
            "1d",
            [90] * 7 + [50] * 7,
            "0.400 lower than that of the 7 days before, which chance does",
        ),
        ("1h", [90, 80], "Worst accuracy of 2 hours"),
        ("40d", [90, 80], "Worst accuracy of 2 windows"),
    ],
)
def test_over_time_compares_the_newest_days_with_those_before(
    pane: str, right: list[int], said: str
) -> None:
    held = se.Windowed(se.ConfusionAccumulator(), pane=pane, keep=None)
    step = np.timedelta64(int(pane[:-1]), "D" if pane[-1] == "d" else "h")
    for at, n in enumerate(right):
        times = np.full(100, np.datetime64("1970-01-01T00", "us") + at * step)
        held.update({"y_true": [1] * 100, "y_pred": [1] * n + [0] * (100 - n), "time": times})
    found = lead(held)[-1]
    assert said in found
    assert ("newest" in found) == ("Worst" not in said)


def test_over_time_without_intervals_or_values_says_less() -> None:
    held = se.Windowed(se.PRCurveSketch(), pane="1d")
    times = np.array(["2026-01-01", "2026-01-02"], "M8[us]")
    held.update({"y_true": [1, 1], "y_score": [0.5, 0.5], "time": times})
    assert "newest" not in " ".join(lead(held))
    held = se.Windowed(se.ConfusionAccumulator(), pane="1d")
    held.update({"y_true": [1, 1], "y_pred": [0, 1], "time": times})
    assert "is 1.0000, 1.0000 higher than that of the day before. Worst" in lead(held, level=0)[-1]
    held = se.Windowed(se.ConfusionAccumulator(), pane=1)
    held.update({"y_true": [1, 1], "y_pred": [0, 1], "time": [1, 2]})
    assert "newest" not in lead(held)[-1]


def test_slices_past_the_small_pictures_and_the_columns_are_counted() -> None:
    n = 30
    held = se.Windowed(se.Sliced(se.RegressionAccumulator(), "group"), pane=10, time="time")
    held.update({"y_true": [0.0] * n, "y_pred": [1.0] * n, "group": range(n), "time": range(n)})
    drawn = styled(read(html_report({"day": held})), "over-time")[0]
    assert "and 6 more" in text(drawn)
    assert len(pictures(drawn)) == 25


def test_single_span_is_not_the_worst_one() -> None:
    held = se.Windowed(se.RegressionAccumulator(), pane=10, time="time")
    held.update({"y_true": [0.0], "y_pred": [1.0], "time": [3]})
    assert len(styled(read(html_report({"day": held})), "lead")) == 1


def test_errors_over_time_are_worst_where_they_are_highest() -> None:
    held = se.Windowed(se.RegressionAccumulator(), pane=10, time="time")
    held.update({"y_true": [0.0, 0.0], "y_pred": [1.0, 2.0], "time": [3, 13]})
    said = text(styled(report(held), "lead")[1])
    assert said == (
        "Over time. Worst mean absolute error of 2 windows: 2.0000 from 10, which may be chance."
    )
    held = read(html_report({"day": held}, level=0))
    assert text(styled(held, "lead")[1]).endswith(": 2.0000 from 10.")


def test_members_over_time_are_named() -> None:
    inner = se.Collection({"fit": se.RegressionAccumulator()})
    held = se.Windowed(inner, pane=10, time="time")
    held.update({"y_true": [0.0], "y_pred": [1.0], "time": [3]})
    assert figure(read(html_report(named(held))), "fit: Root mean squared error over time")


def test_precision_that_is_low_has_an_axis_that_fits() -> None:
    rng = np.random.default_rng(0)
    truth = rng.random(20_000) < 0.01
    page = report(se.PRCurveSketch(64).update(truth, rng.random(20_000) ** (1 - 0.3 * truth)))
    drawn = figure(page, "Precision over recall")
    ticks = [float(text(one)) for one in styled(drawn, "tick", "end")]
    assert max(ticks) < 0.3
    assert "Higher values at a recall below 5% are cut off." in text(drawn)


def test_result_of_a_user_defined_class_is_refused() -> None:
    with pytest.raises(se.InvalidInputError, match="results of this library, got dict"):
        html_report({"a": WinRate()})


def test_what_a_page_does_not_have_is_not_explained() -> None:
    n = 9
    held = se.Sliced(se.ConfusionAccumulator(), "group", max_values=n)
    held.update({"y_true": [1] * n, "y_pred": [1] * n, "group": range(n)})
    page = report(held)
    assert "All metrics and pictures of the 7 worst" in [text(one) for one in page.iter("summary")]
    assert "Blue: correct. Orange: wrong." in text(page)
    assert "Bounds" not in [text(term) for term in page.iter("dt")]
    scores = np.linspace(0, 1, 50)
    page = report(se.PRCurveSketch(4).update(scores > 0.3, scores))
    assert "Bounds" in [text(term) for term in page.iter("dt")]
