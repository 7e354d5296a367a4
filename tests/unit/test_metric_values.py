"""Metrics as attributes: numbers to everyone else, some of which may be called."""

from __future__ import annotations

import copy
import io
import json
import math
import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from offenders import each

import streameval as se
from streameval.metrics.bounded import Threshold
from streameval.results.metric_values import MetricValue

ACC = se.ConfusionAccumulator({0: "neg", 1: "pos"}).update([0, 1, 1, 1], [0, 1, 0, 0])
RESULT = ACC.compute()
PLAIN = ["accuracy", "balanced_accuracy", "matthews_corrcoef", "cohen_kappa", "top_k_accuracy"]
OF_CLASSES = ["precision", "recall", "specificity", "jaccard", "f_score", "fowlkes_mallows"]


CURVES = (
    se.PRCurveSketch(classes=3)
    .update([0, 1, 2], [[0.8, 0.1, 0.1], [0.2, 0.5, 0.3], [0.6, 0.3, 0.1]])
    .compute()
)
CURVE = se.PRCurveSketch().update([0, 1, 0, 1], [0.1, 0.4, 0.35, 0.8]).compute()
WIDE = se.PRCurveSketch(2).update([0, 1, 0, 1], [0.1, 0.4, 0.35, 0.8]).compute()
OUTPUTS = se.RegressionAccumulator(["mape"], outputs=2).update([[1, 2]], [[1, 3]]).compute()
NUMBERS = {
    "accuracy": RESULT.accuracy,
    **{name: getattr(RESULT, name) for name in OF_CLASSES},
    "one class": RESULT["neg"].recall,
    "exact": CURVE.roc_auc,
    "inexact": WIDE.roc_auc,
    "ece": CURVE.ece,
    "adaptive_ece": WIDE.adaptive_ece,
    "min_cost": CURVE.min_cost,
    "class_wise_ece": CURVES.class_wise_ece,
    "curves": CURVES.roc_auc,
    "outputs": OUTPUTS.rmse,
    "measure of outputs": OUTPUTS.mape,
    "regression": se.RegressionAccumulator().update([1, 2], [1, 4]).compute().rmse,
    "calibration": se.CalibrationAccumulator().update([1, 0], [0.75, 0.5]).compute().pcopc,
    "groups": se.GroupedAUC().update([1, 0], [0.75, 0.5], [1, 1]).compute().coverage,
}
"""One number of each type that results have."""
CALLED = {name: value() for name, value in NUMBERS.items() if callable(value)}
PLAIN_FLOATS = {
    name: value for name, value in {**NUMBERS, **CALLED}.items() if type(value) is float
}


def _with_torch(value: Any) -> float:
    torch = pytest.importorskip("torch")
    found = torch.tensor(value)
    assert found.shape == ()
    assert torch.as_tensor([value, value]).shape == (2,)
    number: float = torch.tensor(value, dtype=torch.float64).item()
    return number


def _with_msgpack(value: Any) -> float:
    msgpack = pytest.importorskip("msgpack")
    number: float = msgpack.unpackb(msgpack.packb(value))
    return number


def _with_yaml(value: Any) -> float:
    yaml = pytest.importorskip("yaml")
    number: float = yaml.safe_load(yaml.safe_dump(value))
    return number


def _with_torch_load(value: Any) -> float:
    torch = pytest.importorskip("torch")
    file = io.BytesIO()
    torch.save({"best": value}, file)
    number: float = torch.load(io.BytesIO(file.getvalue()), weights_only=True)["best"]
    return number


def _with_msgspec(value: Any) -> float:
    msgspec = pytest.importorskip("msgspec")
    number: float = msgspec.json.decode(msgspec.json.encode(value))
    return number


@each(
    "taken",
    [
        _with_torch,
        _with_msgpack,
        lambda value: json.loads(json.dumps(value)),
        lambda value: pickle.loads(pickle.dumps(value)),
        copy.deepcopy,
        lambda value: np.asarray([value, value])[0],
        np.float64,
        lambda value: float(f"{value}"),
    ],
)
def test_others_take_every_metric_as_a_number(taken: Any) -> None:
    values = NUMBERS | {f"{name}()": value for name, value in CALLED.items()}
    wrong = {name: value for name, value in values.items() if taken(value) != float(value)}
    assert not wrong


@each("taken", [_with_torch_load, _with_yaml, _with_msgspec])
def test_those_that_take_floats_alone_take_plain_and_called_metrics(taken: Any) -> None:
    assert {"accuracy", *OF_CLASSES, "one class", "outputs", "regression"} <= PLAIN_FLOATS.keys()
    wrong = {name: value for name, value in PLAIN_FLOATS.items() if taken(value) != value}
    assert not wrong


def test_a_checkpoint_holds_certified_metrics_once_the_engine_of_torch_is_imported() -> None:
    pytest.importorskip("torch")
    import streameval.engines.torch  # noqa: F401 (registers them)

    for name, value in NUMBERS.items():
        found: Any = _with_torch_load(value)
        called = value if type(value) is float else value()
        assert (found, type(found)) == (called, type(called)), name
        if isinstance(called, se.Bounded):
            assert (found.low, found.high) == (called.low, called.high)


@each("value", NUMBERS.values())
def test_a_metric_is_not_a_sequence(value: Any) -> None:
    assert not isinstance(value, Sequence)
    for name in ("__len__", "__getitem__", "__iter__"):
        assert not hasattr(value, name)


@each("name", PLAIN)
def test_a_metric_without_options_is_a_float(name: str) -> None:
    assert type(getattr(RESULT, name)) is float


@each("name", OF_CLASSES)
def test_a_metric_with_options_reads_the_same_with_and_without_a_call(name: str) -> None:
    value: Any = getattr(RESULT, name)
    assert value == value() == RESULT.value(name)
    assert type(value()) is float
    assert (f"{value:.3f}", str(value), repr(value)) == (
        f"{value():.3f}",
        str(float(value)),
        repr(float(value)),
    )
    assert value + 1 == 1 + value()
    assert round(value, 2) == round(value(), 2)


@each(("of", "recall"), [(0, 1.0), (1, 1 / 3), ("neg", 1.0), ("pos", 1 / 3), ("1", 1 / 3)])
def test_a_class_is_found_by_label_and_by_name(of: Any, recall: float) -> None:
    assert RESULT[of].recall() == recall


def test_an_unknown_class_is_a_key_error_with_the_nearest() -> None:
    with pytest.raises(KeyError, match="no class 'poss': did you mean 'pos'"):
        RESULT["poss"]


def _labelled(**options: Any) -> se.Confusion:
    rng = np.random.default_rng(3)
    scores = rng.random((40, 3))
    weights = rng.integers(1, 4, 40) / options.pop("parts", 1)
    truth = rng.integers(0, 3, 40)
    if options.get("multilabel"):
        truth = rng.integers(0, 2, (40, 3))
    classes = options.pop("classes", 3)
    predicted = scores if classes != "auto" else scores.argmax(axis=1)
    acc = se.ConfusionAccumulator(classes, **options)
    return acc.update(truth, predicted, sample_weight=weights).compute()


@each(
    "options",
    [
        {},
        {"parts": 3},
        {"classes": "auto"},
        {"classes": {0: "a", 1: "b", 2: "not a"}},
        {"include_unseen": True},
        {"multilabel": True},
        {"multilabel": True, "measures": ["samples"]},
        {"top_k": 2, "measures": ["top_k"]},
    ],
)
def test_a_class_has_the_metrics_and_intervals_of_the_array_of_classes(options: Any) -> None:
    result = _labelled(**options)
    assert list(result) == list(result.labels)
    assert len(result) == 3
    for position, (label, of) in enumerate(result.items()):
        assert of.n == of.tp + of.fp + of.fn + of.tn
        counts = [getattr(of, name) for name in ("tp", "fp", "fn", "tn", "support")]
        assert counts == [
            getattr(result, name)[position] for name in ("tp", "fp", "fn", "tn", "support")
        ]
        assert of.class_names[1] == str(result.class_names[position])
        for row in result.TABLE.values():
            if row.averages and row.listed(result._source):
                assert of.value(row.name) == result.value(row.name, average=None)[position]
                if "parts" not in options:
                    ends = result.confidence(row.name, average=None)
                    expected = [end[position] for end in ends]
                    np.testing.assert_array_equal(of.confidence(row.name), expected, row.name)
                assert of.read(row.name).value == result.read(f"{row.name}[{label}]").value


def test_a_metric_of_classes_takes_its_options() -> None:
    assert RESULT.recall(average=None).tolist() == [1.0, 1 / 3]
    assert RESULT.recall("micro") == RESULT.accuracy
    assert RESULT.f_score(2.0, average="macro") == RESULT.value("f_score", 2.0, average="macro")
    empty = se.ConfusionAccumulator().compute()
    assert empty.precision == 0.0
    assert math.isnan(empty.precision(zero_division=math.nan))


@each("name", [*OF_CLASSES, "negative_predictive_value"])
@each("average", ["binary", "macro", "micro", "weighted", None])
def test_the_average_may_come_first(name: str, average: Any) -> None:
    first = getattr(RESULT, name)(average, zero_division=1.0)
    named = RESULT.value(name, average=average, zero_division=1.0)
    np.testing.assert_array_equal(first, named)
    np.testing.assert_array_equal(RESULT.value(name, average, zero_division=1.0), named)
    np.testing.assert_array_equal(
        RESULT.confidence(name, average), RESULT.confidence(name, average=average)
    )


@each("args", [("macro", 2.0), ("macro", None), (2.0, None, "macro", 1.0)])
def test_f_takes_no_more_after_an_average(args: Any) -> None:
    with pytest.raises(se.InvalidInputError, match="`f_score` takes beta, alpha, average"):
        RESULT.f_score(*args)


def test_f_of_one_class_has_the_usual_beta() -> None:
    assert RESULT["neg"].f_score == RESULT.f_score(average=None)[0]


def test_a_metric_of_observed_labels_is_asked_by_label() -> None:
    result = se.ConfusionAccumulator("auto").update(["b", "a"], ["b", "b"]).compute()
    assert (result["a"].recall, result["b"].recall) == (0.0, 1.0)


def test_as_dict_holds_floats_alone() -> None:
    assert {type(value) for value in RESULT.as_dict().values()} == {int, float}


@each(("wrong", "meant"), [("f1", "f_score"), ("acc", "accuracy"), ("mcc", "matthews_corrcoef")])
def test_the_name_that_others_give_a_metric_is_suggested(wrong: str, meant: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(RESULT, wrong)
    assert str(caught.value) == (
        f"'Confusion' object has no attribute {wrong!r}. Did you mean {meant!r}?"
    )


def test_the_method_of_a_curve_that_others_call_differently_is_suggested() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'auc'\. Did you mean 'roc_auc'\?"):
        getattr(se.PRCurveSketch().compute(), "auc")  # noqa: B009 - there is no such attribute


def test_the_accumulator_that_gives_a_metric_is_named_by_a_result_that_lacks_it() -> None:
    with pytest.raises(AttributeError, match=r"'roc_auc': roc_auc is a metric of PRCurveSketch$"):
        getattr(RESULT, "roc_auc")  # noqa: B009 - there is no such attribute


def test_hasattr_is_false_of_names_that_others_give() -> None:
    assert not hasattr(RESULT, "f1")


def test_every_scalar_metric_of_a_result_is_a_number_of_three_types() -> None:
    results = [RESULT, CURVE, WIDE, CURVES, OUTPUTS]
    results += [
        se.RegressionAccumulator().update([1, 2, 4], [1, 3, 3]).compute(),
        se.CalibrationAccumulator().update([1, 0], [0.75, 0.5]).compute(),
        se.GroupedAUC().update([1, 0], [0.75, 0.5], [1, 1]).compute(),
    ]
    types = {int, float, se.Bounded, Threshold, MetricValue}
    wrong = {
        f"{type(result).__name__}.{row.name}": type(getattr(result, row.name))
        for result in results
        for row in result.TABLE.values()
        if row.name != "best_f"  # a value and its threshold
        and not row.needs_argument
        and row.listed(result._source)
        and hasattr(result, row.name)
        and type(getattr(result, row.name)) not in types
    }
    assert not wrong


@pytest.fixture
def class_curves() -> se.ClassCurves:
    rows = [[0.8, 0.1, 0.1], [0.2, 0.5, 0.3], [0.6, 0.3, 0.1], [0.2, 0.1, 0.7]]
    names = {0: "cat", 1: "dog", 2: "owl"}
    return se.PRCurveSketch(classes=names).update([0, 1, 2, 0], rows).compute()


@pytest.mark.parametrize("name", ["roc_auc", "average_precision"])
def test_a_metric_of_class_curves_reads_the_same_with_and_without_a_call(
    name: str, class_curves: se.ClassCurves
) -> None:
    metric = getattr(class_curves, name)
    every = [getattr(curve, name) for curve in class_curves.values()]
    assert isinstance(metric, se.Bounded)
    assert f"{metric:.3f}" == f"{sum(every) / 3:.3f}"
    assert metric == metric() == metric("macro")
    assert metric(None) == tuple(every)
    assert metric("micro") == getattr(class_curves.micro, name)
    assert [getattr(class_curves[of], name) for of in ("dog", 2)] == every[1:]


@each("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_of_a_certified_metric_keeps_its_interval(copied: Any) -> None:
    for value in (WIDE.roc_auc, WIDE.adaptive_ece, WIDE.min_cost):
        found = copied(value)
        assert (type(found), found.low, found.high) == (se.Bounded, value.low, value.high)


def test_a_metric_of_class_curves_keeps_its_interval() -> None:
    rng = np.random.default_rng(0)
    scores = rng.dirichlet([1, 1, 1], 500)
    auc = se.PRCurveSketch(16, classes=3).update(rng.integers(0, 3, 500), scores).compute().roc_auc
    assert auc.low < auc < auc.high
    assert (auc.low, auc.high) == (auc("macro").low, auc("macro").high)


@each("name", OF_CLASSES)
def test_a_call_refuses_what_only_equals_the_default(name: str) -> None:
    with pytest.raises(se.InvalidInputError, match="`zero_division` must be a number"):
        getattr(RESULT, name)(zero_division=False)


def test_f_score_refuses_a_beta_that_only_equals_the_default() -> None:
    with pytest.raises(se.InvalidInputError, match="`beta` must be a number"):
        RESULT.f_score(True)
    assert RESULT.f_score(np.float32(1)) == RESULT.f_score(1) == RESULT.f_score


def test_a_usual_average_is_not_computed_again_when_called(monkeypatch: Any) -> None:
    recall, f_score = RESULT.recall, RESULT.f_score
    monkeypatch.setattr(type(RESULT), "value", None)
    assert (recall(), f_score()) == (recall, f_score)


def test_a_macro_mean_without_a_defined_class_is_nan() -> None:
    nothing = se.ConfusionAccumulator(3).compute()
    assert math.isnan(nothing.recall())
    assert math.isnan(nothing.recall(zero_division=math.nan))
