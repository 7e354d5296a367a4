"""The result of a confusion count: its numbers by name, its rules, and how it is shown."""

from __future__ import annotations

import json
import math
import sys
from typing import Any

import numpy as np
import pytest
from offenders import each
from small_states import SMALL

import streameval as se
from streameval.errors import UnknownMetricError

WITH_AVERAGES = [row for row in se.Confusion.TABLE.values() if row.averages]
RATIOS = tuple(row.name for row in WITH_AVERAGES if not row.name.startswith("top_k"))
"""Those of any counts; the others are in test_top_k_precision.py."""
COUNTS = ("tp", "fp", "fn", "tn", "support")

every_state = each("name", SMALL)
ratios = pytest.mark.parametrize("ratio", RATIOS)


def from_counts(*, tp: float = 0, fp: float = 0, fn: float = 0, tn: float = 0) -> se.Confusion:
    """The result of four rows, one of each outcome, weighted by the counts."""
    accumulator = se.ConfusionAccumulator()
    return accumulator.update([1, 0, 1, 0], [1, 1, 0, 0], sample_weight=[tp, fp, fn, tn]).compute()


def three_classes(**options: Any) -> se.Confusion:
    """Class 0 right twice, class 1 taken for 0 once, class 2 never there."""
    return se.ConfusionAccumulator(3, **options).update([0, 0, 1], [0, 0, 0]).compute()


@each(("name", "expected"), [*zip(COUNTS, [3, 1, 2, 4, 5], strict=True)])
def test_count_of_two_classes_is_that_of_the_positive_one(name: str, expected: int) -> None:
    value = getattr(from_counts(tp=3, fp=1, fn=2, tn=4), name)
    assert (type(value), value) == (int, expected)


def test_counts_are_those_of_another_positive_class() -> None:
    result = se.ConfusionAccumulator(pos_label=0).update([1, 0, 0], [1, 0, 1]).compute()
    assert (result.tp, result.fp, result.fn, result.tn) == (1, 0, 1, 1)


@each(
    ("name", "expected"),
    [*zip(COUNTS, [[2, 0, 0], [1, 0, 0], [0, 1, 0], [0, 2, 3], [2, 1, 0]], strict=True)],
)
def test_count_of_several_classes_is_one_a_class(name: str, expected: list[int]) -> None:
    value = getattr(three_classes(), name)
    assert (value.dtype, value.tolist()) == (np.int64, expected)


def test_count_is_a_float_when_weights_have_fractions() -> None:
    assert repr(from_counts(tp=0.5, fp=0.25).tp) == "0.5"


def test_matrix_of_multilabel_is_one_table_a_label() -> None:
    tables = [[[1, 0], [0, 1]], [[0, 0], [1, 1]], [[0, 1], [0, 1]]]
    assert SMALL["multilabel"]().compute().matrix.tolist() == tables


@each(
    ("name", "expected"),
    [
        ("binary", (0, 1)),
        ("met", ("a", "b", "日本")),
        ("multilabel", ("x", "y", "z")),
        ("empty_met", ()),
    ],
)
def test_labels_are_in_the_order_of_the_rows(name: str, expected: tuple[Any, ...]) -> None:
    assert SMALL[name]().compute().labels == expected


@each(
    ("result", "expected"),
    [
        (three_classes(), 2),
        (three_classes(include_unseen=True), 3),
        (from_counts(tn=1), 1),
        (SMALL["multilabel"]().compute(), 3),
        (SMALL["ignoring"]().compute(), 2),
        (
            se.ConfusionAccumulator(2, multilabel=True, ignore_label=-1)
            .update([[0, -1]], [[0, 0]])
            .compute(),
            1,
        ),
        (SMALL["empty"]().compute(), 0),
    ],
)
def test_n_averaged_counts_the_classes_that_enter_means(result: Any, expected: int) -> None:
    assert (type(result.n_averaged), result.n_averaged) == (int, expected)


def test_macro_mean_leaves_out_classes_that_never_occur() -> None:
    assert three_classes().recall("macro") == 0.5


def test_macro_mean_keeps_them_as_zeros_with_include_unseen() -> None:
    assert three_classes(include_unseen=True).recall("macro") == pytest.approx(1 / 3, rel=1e-15)


@each("name", ["accuracy", "hamming_loss", "balanced_accuracy"])
def test_value_by_name_is_that_of_the_rows(name: str) -> None:
    assert from_counts(tp=1, fp=1, fn=1, tn=1).value(name) == 0.5


def test_top_k_accuracy_is_the_mean_share_of_the_places_that_ties_leave() -> None:
    rows = [0, 2 / 3, 1]  # below two others, two places of three tied, and the first
    assert SMALL["top_k"]().compute().top_k_accuracy == pytest.approx(sum(rows) / 3, rel=1e-15)


def test_top_k_accuracy_is_the_accuracy_of_labels_met() -> None:
    assert SMALL["met"]().compute().top_k_accuracy == SMALL["met"]().compute().accuracy


def test_top_k_accuracy_is_exact_when_credit_is_whole_and_weights_are_not() -> None:
    accumulator = se.ConfusionAccumulator(3, top_k=2)
    scores = [[0.1, 0.2, 0.3], [0.1, 0.2, 0.3]]
    result = accumulator.update([0, 2], scores, sample_weight=[0.5, 3]).compute()
    assert result.top_k_accuracy == 3 / 3.5


def test_ignored_rows_earn_no_credit() -> None:
    accumulator = se.ConfusionAccumulator(3, top_k=2, ignore_label=-1)
    accumulator.update([0, -1, 2], [[0.9, 0.5, 0.1]] * 3)
    assert accumulator.compute().top_k_accuracy == 0.5


def test_accuracy_of_multilabel_wants_every_label_right() -> None:
    result = SMALL["multilabel"]().compute()
    assert (result.accuracy, result.hamming_loss) == (0.5, pytest.approx(1 / 3))


@each("name", ["matthews_corrcoef", "cohen_kappa"])
@each(
    ("counts", "expected"),
    [({"tp": 3, "tn": 5}, 1.0), ({"fp": 1, "fn": 1}, -1.0), ({"tp": 1, "fp": 1}, 0.0)],
)
def test_agreement_beyond_chance_has_its_ends(
    name: str, counts: dict[str, int], expected: float
) -> None:
    assert getattr(from_counts(**counts), name) == expected


@each("ratio", RATIOS)
@each("zero_division", [0.0, 1.0, math.nan])
@each("average", ["default", "macro", "micro", "weighted", None])
def test_ratio_of_nothing_is_what_zero_division_says_or_a_mean_of_nothing(
    ratio: str, zero_division: float, average: Any
) -> None:
    value = getattr(SMALL["empty"]().compute(), ratio)(average=average, zero_division=zero_division)
    of_no_class = average in ("macro", "weighted")
    np.testing.assert_equal(value, value * 0 + (math.nan if of_no_class else zero_division))


def test_zero_division_of_nan_is_left_out_of_means() -> None:
    result = three_classes()  # class 1 is never predicted
    assert result.precision("macro", zero_division=math.nan) == pytest.approx(2 / 3, rel=1e-15)


def test_zero_division_of_one_counts_in_means() -> None:
    assert three_classes().precision("macro", zero_division=1.0) == pytest.approx(5 / 6, rel=1e-15)


@each("ratio", RATIOS)
@each("zero_division", [0.5, -1, math.inf, "warn", None])
def test_other_zero_division_is_refused(ratio: str, zero_division: Any) -> None:
    with pytest.raises(se.InvalidInputError, match="`zero_division` must be "):
        getattr(from_counts(tp=1), ratio)(zero_division=zero_division)


@each("ratio", RATIOS)
@each("average", ["sample", "Macro", "", True, 0])
def test_other_average_is_refused(ratio: str, average: Any) -> None:
    with pytest.raises(se.InvalidInputError, match="`average` must be one of"):
        getattr(from_counts(tp=1), ratio)(average=average)


@each("ratio", RATIOS)
@each("name", ["met", "top_k", "multilabel", "ignoring"])
def test_binary_average_is_refused_without_two_listed_classes(ratio: str, name: str) -> None:
    with pytest.raises(se.InvalidInputError, match='`average` "binary" needs two listed classes'):
        getattr(SMALL[name]().compute(), ratio)(average="binary")


@each("ratio", RATIOS)
@each(("name", "average"), [("binary", "binary"), ("met", "macro"), ("multilabel", "macro")])
def test_default_average_depends_on_the_classes(ratio: str, name: str, average: Any) -> None:
    result = SMALL[name]().compute()
    assert getattr(result, ratio)() == getattr(result, ratio)(average=average)


@each(("beta", "expected"), [(0, 0.75), (1, 2 / 3), (2, 0.625), (1e8, 0.6), (math.inf, 0.6)])
def test_f_score_goes_from_precision_to_recall(beta: float, expected: float) -> None:
    assert from_counts(tp=3, fp=1, fn=2).f_score(beta) == pytest.approx(expected, rel=1e-12)


@each(("alpha", "expected"), [(0, 0.6), (0.2, 0.625), (0.5, 2 / 3), (1, 0.75)])
def test_f_score_of_alpha_goes_from_recall_to_precision(alpha: float, expected: float) -> None:
    assert from_counts(tp=3, fp=1, fn=2).f_score(alpha=alpha) == pytest.approx(expected, rel=1e-12)


@each("options", [{"beta": 1e150}, {"alpha": 1e-300}])
def test_f_score_is_recall_when_precision_hardly_counts(options: dict[str, float]) -> None:
    result = from_counts(tp=3 * 10**10, fp=10**10, fn=2 * 10**10)
    assert result.f_score(**options) == pytest.approx(0.6, rel=1e-12)


@each("beta", [-1, -1e-9, math.nan, -math.inf])
def test_f_score_refuses_another_beta(beta: float) -> None:
    with pytest.raises(se.InvalidInputError, match="`beta` must be at least 0"):
        from_counts(tp=1).f_score(beta)


@each("alpha", [-0.1, 1.1, math.nan, math.inf])
def test_f_score_refuses_another_alpha(alpha: float) -> None:
    with pytest.raises(se.InvalidInputError, match=r"`alpha` must lie in \[0, 1\]"):
        from_counts(tp=1).f_score(alpha=alpha)


def test_f_score_refuses_alpha_and_beta_together() -> None:
    with pytest.raises(se.InvalidInputError, match="two names of one choice"):
        from_counts(tp=1).f_score(2.0, alpha=0.5)
    with pytest.raises(se.InvalidInputError, match="`alpha` must be a number, got 'micro'"):
        from_counts(tp=1).f_score(2.0, "micro")


@each("name", ["balanced_accuracy", "geometric_mean", "cohen_kappa"])
def test_metric_of_one_label_is_refused_for_multilabel(name: str) -> None:
    with pytest.raises(se.InvalidInputError, match=f"`{name}` is not defined for multilabel"):
        SMALL["multilabel"]().compute().value(name)


@each("how", ["value", "confidence"])
@each("name", ["auc", "", "matrix", "report", "_config"])
def test_metric_of_another_name_is_refused(how: str, name: Any) -> None:
    with pytest.raises(UnknownMetricError, match=rf"no metric '{name}': .*accuracy"):
        getattr(from_counts(tp=1), how)(name)


@each("how", ["value", "confidence"])
@each("name", [None, 3])
def test_what_is_not_a_name_is_refused(how: str, name: Any) -> None:
    with pytest.raises(se.InvalidInputError, match=f"`name` must be a text, got {name}"):
        getattr(from_counts(tp=1), how)(name)


def test_a_count_has_a_value_and_no_interval() -> None:
    assert from_counts(tp=1).value("n") == 1
    with pytest.raises(se.InvalidInputError, match="`n` has no sampling interval"):
        from_counts(tp=1).confidence("n")


@each("how", ["value", "confidence"])
@each("arguments", [((1,), {}), ((), {"average": "macro"})])
def test_argument_of_a_metric_that_has_none_is_refused(how: str, arguments: Any) -> None:
    args, options = arguments
    with pytest.raises(se.InvalidInputError, match="`accuracy` takes no arguments"):
        getattr(from_counts(tp=1), how)("accuracy", *args, **options)


@each("how", ["value", "confidence"])
def test_unknown_argument_of_a_metric_is_refused(how: str) -> None:
    with pytest.raises(
        se.InvalidInputError, match="`precision` takes average, zero_division and labels"
    ):
        getattr(from_counts(tp=1), how)("precision", colour="red")


@every_state
def test_as_dict_holds_plain_numbers(name: str) -> None:
    assert {type(value) for value in SMALL[name]().compute().as_dict().values()} <= {int, float}


@every_state
def test_as_dict_can_be_written_as_json(name: str) -> None:
    flat = SMALL[name]().compute().as_dict()
    np.testing.assert_equal(json.loads(json.dumps(flat)), flat)


def test_as_dict_of_two_classes_has_the_counts() -> None:
    flat = from_counts(tp=3, fp=1, fn=2, tn=4).as_dict()
    ratios = [name for name in RATIOS if not se.Confusion.TABLE[name].on_request]
    names = ["n", "tp", "fp", "fn", "tn", "accuracy", "balanced_accuracy", *ratios]
    assert list(flat) == [*names, "matthews_corrcoef", "cohen_kappa"]
    assert [flat[name] for name in names[:6]] == [10, 3, 1, 2, 4, 0.7]


@each(
    ("name", "expected"),
    [
        ("met", ["n", "n_averaged", "accuracy", "balanced_accuracy"]),
        ("top_k", ["n", "n_averaged", "accuracy", "top_k_accuracy"]),
        ("multilabel", ["n", "n_averaged", "accuracy", "hamming_loss"]),
    ],
)
def test_as_dict_has_the_metrics_of_the_kind_of_labels(name: str, expected: list[str]) -> None:
    assert list(SMALL[name]().compute().as_dict())[:4] == expected


@every_state
def test_as_dict_holds_the_metrics_by_name(name: str) -> None:
    result = SMALL[name]().compute()
    np.testing.assert_equal(
        {metric: result.as_dict()[metric] for metric in result.metric_names},
        {metric: result.value(metric) for metric in result.metric_names},
    )


@each(
    ("options", "defined"),
    [
        ({}, {name for name in RATIOS if not se.Confusion.TABLE[name].on_request}),
        ({"classes": 3, "top_k": 2}, set()),
        ({"classes": "auto"}, set()),
        ({"classes": 3, "multilabel": True}, set()),
    ],
)
def test_metric_of_nothing_is_nan_but_for_the_ratios_of_two_classes(
    options: dict[str, Any], defined: set[str]
) -> None:
    result = se.ConfusionAccumulator(**options).compute()
    numbers = {name for name in result.metric_names if not math.isnan(result.value(name))}
    assert numbers == defined


@every_state
def test_value_by_name_is_that_of_the_attribute(name: str) -> None:
    result = SMALL[name]().compute()
    for metric in result.metric_names:
        attribute = getattr(result, metric)
        np.testing.assert_equal(
            result.value(metric), attribute() if metric in RATIOS else attribute
        )


@every_state
def test_results_of_equal_states_are_equal(name: str) -> None:
    assert SMALL[name]().compute() == SMALL[name]().compute()


def test_results_of_other_counts_are_not_equal() -> None:
    assert from_counts(tp=1) != from_counts(fp=1)


@each("options", [{"zero_division": True}, {"foo": 1}])
def test_other_arguments_of_a_ratio_are_refused(options: dict[str, Any]) -> None:
    result = SMALL["binary"]().compute()
    with pytest.raises(se.InvalidInputError, match=r"`(zero_division|recall)`"):
        result.confidence("recall", **options)


@each("kind", [np.float32, np.int64, int, float])
def test_numbers_of_every_type_are_options(kind: Any) -> None:
    result = SMALL["binary"]().compute()
    assert result.f_score(kind(2), zero_division=kind(1)) == result.f_score(2.0, zero_division=1.0)
    assert result.confidence("recall", level=kind(0)) == result.confidence("recall", level=0.0)


def test_result_is_not_hashable() -> None:
    with pytest.raises(TypeError, match="unhashable type"):
        hash(SMALL["binary"]().compute())


def test_plot_names_the_extra_when_matplotlib_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"streameval\[plot\]"):
        SMALL["binary"]().compute().plot()


def test_outcomes_of_several_classes_have_the_value_of_their_attribute() -> None:
    result = se.ConfusionAccumulator(3).update([0, 1, 2, 2], [0, 1, 1, 2]).compute()
    for name in ("tp", "fp", "fn", "tn"):
        assert result.value(name).tolist() == getattr(result, name).tolist()
