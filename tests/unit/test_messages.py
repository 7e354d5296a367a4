"""Every message of the counting modules: provoked, whole, and naming the argument to blame."""

import ast
import importlib
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from offenders import each

import streameval as se
from streameval.errors import UnknownMetricError
from streameval.io.errors import ScatteredQueryError
from streameval.io.trec import sized_runs

MODULES = [
    *(
        "inputs.arrays",
        "inputs.batches",
        "inputs.labels",
        "exact.fixed_point",
        "exact.exact_sum",
        "accumulators.decisions",
    ),
    *(
        "accumulators.highest_scores",
        "accumulators.confusion",
        "states.confusion",
    ),
    *("accumulators.regression", "states.regression", "configs.error_measures", "configs.names"),
    *(
        "accumulators.calibration",
        "states.calibration",
        "configs.calibration",
        "exact.cell_sums",
        "exact.log",
    ),
    *("configs.confusion", "configs.options", "configs.regression"),
    *(
        "accumulators.curve",
        "accumulators.grouped",
        "accumulators.scored_rows",
        "configs.curve",
    ),
    *("states.curve", "states.grouped", "states.cells", "exact.score_keys", "states.column"),
    *("metrics.points", "metrics.curves", "metrics.average_precision", "metrics.thresholds"),
    *("metrics.delong", "metrics.loss_bounds", "metrics.grouped", "metrics.intervals"),
    *("results.curve", "results.curve_metrics", "results.curve_confusion"),
    *("results.class_curves", "results.grouped", "io.trec", "io.trec_rows"),
]

LARGEST = 2**63 - 1
BOTH = {"y_true": [1], "y_pred": [1]}
PAIR = [[0.5, 0.5]]
UNEVEN = [[0.75, 0.75]]
INFINITE = [[np.inf, np.inf]]


@dataclass(frozen=True)
class Case:
    """A call that must fail, and what its message must say."""

    id: str
    provoke: Callable[[], object]
    says: str
    kind: type[Exception] = se.InvalidInputError


def make(id: str, says: str, **options: Any) -> Case:  # noqa: A002 - the word for it in pytest
    """Fail in the constructor."""
    return Case(id, lambda: se.ConfusionAccumulator(**options), says)


def update(
    id: str,  # noqa: A002 - the word for it in pytest
    says: str,
    *batch: Any,
    weights: Any = None,
    kind: type[Exception] = se.InvalidInputError,
    **options: Any,
) -> Case:
    """Fail in an update."""

    def provoke() -> object:
        return se.ConfusionAccumulator(**options).update(*batch, sample_weight=weights)

    return Case(id, provoke, says, kind)


def counts(id: str, says: str, matrix: Any, **options: Any) -> Case:  # noqa: A002
    """Fail to take counts that were made elsewhere."""
    kind: Any = options.pop("kind", se.InvalidInputError)
    return Case(id, lambda: se.ConfusionAccumulator.from_matrix(matrix, **options), says, kind)


def regress(id: str, says: str, *batch: Any) -> Case:  # noqa: A002 - the word for it in pytest
    """Fail in an update of numbers."""
    return Case(id, lambda: se.RegressionAccumulator().update(*batch), says)


def measure(id: str, says: str, *measures: Any) -> Case:  # noqa: A002 - the word for it in pytest
    """Fail when measures of numbers are asked for."""
    return Case(id, lambda: se.RegressionAccumulator(measures), says)


def calibrate(
    id: str,  # noqa: A002 - the word for it in pytest
    says: str,
    *batch: Any,
    weights: Any = None,
    kind: type[Exception] = se.InvalidInputError,
    **options: Any,
) -> Case:
    """Fail in an update of probabilities, or in the constructor before it."""

    def provoke() -> object:
        return se.CalibrationAccumulator(**options).update(*batch, sample_weight=weights)

    return Case(id, provoke, says, kind)


def score(
    id: str,  # noqa: A002 - the word for it in pytest
    says: str,
    *batch: Any,
    weights: Any = None,
    kind: type[Exception] = se.InvalidInputError,
    **options: Any,
) -> Case:
    """Fail in an update of scores, or in the constructor before it."""

    def provoke() -> object:
        return se.PRCurveSketch(**options).update(*batch, sample_weight=weights)

    return Case(id, provoke, says, kind)


def group(
    id: str,  # noqa: A002 - the word for it in pytest
    says: str,
    *batch: Any,
    weights: Any = None,
    kind: type[Exception] = se.InvalidInputError,
    **options: Any,
) -> Case:
    """Fail in an update of scores in groups, or in the constructor before it."""

    def provoke() -> object:
        return se.GroupedAUC(**options).update(*batch, sample_weight=weights)

    return Case(id, provoke, says, kind)


def ask(id: str, says: str, *call: Any, **options: Any) -> Case:  # noqa: A002
    """Fail in a method of a curve of four scores, which have four cells or those of a budget."""
    name, *arguments = call
    keywords = {word: options.pop(word) for word in ("level", "bound", "kind") if word in options}
    weights = options.pop("weights", None)

    def provoke() -> object:
        sketch = se.PRCurveSketch(**options)
        truth, scores = [0, 0, 1, 1], [0.125, 0.5, 0.625, 0.75]
        curve: Any = sketch.update(truth, scores, sample_weight=weights).compute()
        return getattr(curve, name)(*arguments, **keywords)

    return Case(id, provoke, says)


class Jit:
    """An array as JAX traces it: to read it raises an error of this name."""

    class TracerArrayConversionError(TypeError):
        pass

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise self.TracerArrayConversionError("abstract")


class Tensor:
    """A tensor without memory."""

    def detach(self) -> Any:
        raise RuntimeError("sparse\nand more.")


Tensor.__module__ = "torch"


def many_labels() -> object:
    labels = np.arange(4097)
    return se.ConfusionAccumulator("auto").update(labels, labels)


def merge_many_labels() -> object:
    first, second = np.arange(4000), np.arange(97, 4097)
    acc = se.ConfusionAccumulator("auto").update(first, first)
    return acc.merge(se.ConfusionAccumulator("auto").update(second, second))


def merge_words_into_numbers() -> object:
    numbers = se.ConfusionAccumulator("auto").update([1], [1])
    return numbers.merge(se.ConfusionAccumulator("auto").update(["1"], ["1"]))


def add(weight: Any) -> Callable[[], object]:
    """Add a weight to the largest count."""
    full = se.ConfusionAccumulator().update([1], [1], sample_weight=[LARGEST])
    return lambda: full.update([1], [1], sample_weight=[weight])


def add_halves() -> object:
    full = se.ConfusionAccumulator().update([1, 0], [1, 0], sample_weight=[LARGEST - 1, 0.5])
    return full.update([1, 1], [1, 1], sample_weight=[1, 0.5])


def pool_full() -> object:
    sketch = se.PRCurveSketch(classes=3)
    return sketch.update([0], [[0, 0, 0]], sample_weight=[2**62]).compute().micro


def merge_full(n_others: int = 1) -> object:
    full = se.ConfusionAccumulator().update([1], [1], sample_weight=[LARGEST])
    return full.merge(*[full] * n_others)


ARRAYS = [
    update("bytes", "`y_true` must hold numbers or strings, got dtype |S1.", [b"a"], [1]),
    update("complex", "`y_pred` must hold numbers or strings, got dtype complex128.", [1], [1j]),
    update("mixed", "`y_true` must hold numbers or strings, one of the two", [1, "a"], [1, 1]),
    update("missing", "`y_pred` must not hold missing values, got None at", [1], [None]),
    update("masked", "`y_true` must not hold masked", np.ma.array([1], mask=[True]), [1]),
    update("set", "`y_true` must be an array, got set.", {1}, [1]),
    update("ragged", "`y_true` must be an array: setting", [[1], [1, 2]], [1, 1]),
    update("rows", "`y_true` must have rows of one length", np.array([[1], [1, 2]], object), [1]),
    update(
        "traced",
        "`y_pred` is a traced JAX array. Call update outside jit, or by jax.debug.callback.",
        [1],
        Jit(),
    ),
    update("tensor", "`y_pred` must be a dense tensor of numbers: sparse.", [1], Tensor()),
    update("uint64", "`y_true` must hold labels below 2**63", np.array([2**63], np.uint64), [1]),
    update("nan-label", "`y_true` must hold labels, got nan", [np.nan], [1]),
    update(
        "half-label",
        "`y_true` must hold labels, whole if numbers, got 0.5 at position 0. The true labels are "
        "the first argument.",
        [0.5],
        [1],
    ),
    update("large-label", "`y_true` must hold labels within 64 bits", [1e300], [1]),
    update("string-scores", "`y_pred` must hold scores, got strings", [1], ["a"], from_scores=True),
    update("nan-score", "`y_pred` must not hold NaN, got NaN at position 0.", [1], [np.nan]),
    update("scalar", "`y_true` must have shape (n,), got a scalar.", np.array(1), [1]),
    update(
        "matrix", "`y_true` must have shape (n,), got (1, 2). Pass y_true.argmax", [[1, 0]], [1]
    ),
    update("cube", "`y_true` must have shape (n,), got (1, 1, 1). Pass `y_pred` of", [[[1]]], [1]),
    update("prediction-rows", "`y_pred` must have 2 rows, got 1.", [1, 0], [1]),
    update("score-columns", "`y_pred` must have shape (n, 3), got", [1], [[0.5] * 2], classes=3),
    update("score-rows", "`y_pred` must have 1 rows, got 2.", [1], np.ones((2, 3)), classes=3),
]

WEIGHTS = [
    update("weight-strings", "`sample_weight` must hold numbers, got", BOTH, weights=["a"]),
    update("weight-shape", "`sample_weight` must have shape (n,)", BOTH, weights=[[1]]),
    update("weight-rows", "`sample_weight` must have 1 rows, got 2.", BOTH, weights=[1, 1]),
    update("weight-int", "`sample_weight` must not be negative, got -1 at", BOTH, weights=[-1]),
    update("weight-float", "`sample_weight` must not be negative, got -0.5", BOTH, weights=[-0.5]),
    update("weight-nan", "`sample_weight` must be finite, got nan at", BOTH, weights=[np.nan]),
    update("weight-inf", "`sample_weight` must be finite, got inf at", BOTH, weights=[np.inf]),
    update("weight-small", "`sample_weight` below 2**-20 must be mult", BOTH, weights=[1e-10]),
]

BATCHES = [
    update("alone", "`y_pred` is missing: pass y_true, y_pred, or one batch", np.array([1])),
    update("length", "`y_pred` is missing, or the batch must hold y_true, y_pred in", ([1],)),
    update("first", "`y_true` is missing.", None, [1]),
    update("column", "`y_pred` is missing: the batch has the columns y_true.", {"y_true": [1]}),
    update("no-columns", "`y_true` is missing: the batch has the columns none.", {}),
    update("twice", "`sample_weight` is in the batch", BOTH | {"sample_weight": [1]}, weights=[1]),
]

LABELS = [
    make("thresholds", "`threshold` must be one number, or for multilabel", threshold=[0, 1]),
    make("class", "`classes` must be an integer or a string, got None.", classes=[1, None]),
    make("class-word", '`classes` must be a number, a sequence of labels or "auto"', classes="cat"),
    make("class-none", '`classes` must be a number, a sequence of labels or "auto"', classes=None),
    make("class-bool", "`classes` must be a number or labels, got True.", classes=True),
    make("class-least", "`classes` must be at least 2, got 1.", classes=1),
    make("class-least-one", "`classes` must be at least 1, got 0.", classes=0, multilabel=True),
    make("class-mixed", "`classes` must be all numbers or all strings", classes=[1, "a"]),
    make("class-twice", "`classes` must be distinct, got 'a' twice.", classes=["a", "a"]),
    make("class-name", "`classes` must map labels to names, which are", classes={0: 1, 1: "a"}),
    make("class-names", "`classes` must be distinct, got 'a' twice.", classes={0: "a", 1: "a"}),
    make("class-bits", "`classes` must fit 64 bits, got 9223372036854775808.", classes=[0, 2**63]),
    make("class-memory", "`classes` ", classes=2**40),
    make("pos-label-kind", "`pos_label` must be an integer or a string", pos_label=0.5),
    make("ignore-label", "`ignore_label` must be an integer or a string", ignore_label=[1]),
    update("words", "`y_true` holds strings, but the classes are numbers", ["1"], [1]),
    update("numbers", "`y_pred` holds numbers, but the", ["a"], [1], classes=["a", "b"]),
    update("unknown", "`y_true` must hold labels 0 to 1, got 7 at position 1.", [1, 7], [1, 1]),
    Case("limit", many_labels, '`classes="auto"` allows at most 4096 labels, got 4097'),
    Case("limit-merge", merge_many_labels, '`classes="auto"` allows at most 4096 labels, got 4097'),
]

NUMBERS = [
    Case(
        "number outside the range of a measure",
        lambda: se.RegressionAccumulator(["gamma_deviance"]).update([1, 0], [1, 1]),
        "`y_true` must lie in [2**-240, 2**240] for gamma_deviance, got 0.0 at position 1.",
    ),
    Case(
        "budget without quantiles",
        lambda: se.RegressionAccumulator(budget=4),
        "`budget` is for quantiles of the errors, none of which is among the measures.",
    ),
    Case(
        "too many outputs",
        lambda: se.RegressionAccumulator(outputs=1025),
        "`outputs` must be at most 1024, got 1025.",
    ),
    Case(
        "an output named as an average",
        lambda: se.RegressionAccumulator(outputs=["lat", "uniform_average"]),
        "`outputs` must be a number or names, none of them a number or an average, "
        "got 'uniform_average'.",
    ),
    Case(
        "no outputs",
        lambda: se.RegressionAccumulator(outputs=[]),
        "`outputs` must hold at least one name.",
    ),
    Case(
        "measures as a set",
        lambda: se.RegressionAccumulator({"mape"}),
        "`measures` must be a sequence of names, whose order counts, got set.",
    ),
    Case(
        "parameter of a measure out of range",
        lambda: se.RegressionAccumulator(["huber"]).compute().huber(0),
        "`delta` must be above 0, at most 2**400, got 0.0.",
    ),
    Case(
        "too many arguments of a measure",
        lambda: se.RegressionAccumulator(["huber"]).compute().huber(1, 2),
        "`huber` takes delta alone.",
    ),
    measure("measure that is no name", "`measures` must hold names, got 3.", 3),
    measure("measure unknown", "`measures` has no 'mapee': did you mean 'mape'?", "mapee"),
    measure("measure twice", "`measures` must be distinct, got 'mape' twice.", "mape", "MAPE"),
    measure(
        "measure with brackets",
        "`measures` accepts nothing in brackets of 'mape', got 'mape(1)'.",
        "mape(1)",
    ),
    measure(
        "measure without brackets",
        "`measures` needs power= in brackets of 'tweedie_deviance', got 'tweedie'.",
        "tweedie",
    ),
    measure(
        "measure with other brackets",
        "`measures` accepts delta= in brackets of 'huber', got 'huber(a=1)'.",
        "huber(a=1)",
    ),
    measure(
        "measure with a wrong number",
        "`measures` needs a power= at most 0, or at least 1, within 100 of 0, got 'tweedie(0.5)'.",
        "tweedie(0.5)",
    ),
    regress("number-strings", "`y_true` must hold numbers, got strings.", ["1"], [1]),
    regress("number-nan", "`y_pred` must be finite and at most 2**400 in", [1], [np.nan]),
    regress("number-inf", "`y_true` must be finite and at most 2**400 in", [np.inf], [1]),
    regress("number-large", "`y_true` must be finite and at most 2**400", [1.0, 1e300], [1, 1]),
    regress("number-rows", "`y_pred` must have 2 rows, got 1.", [1, 2], [1]),
    regress("number-shape", "`y_true` must have shape (n,), got (1, 2).", [[1, 2]], [1]),
]

PROBABILITIES = [
    calibrate("bins", "`bins` must be an integer of at least 1, got 0.", bins=0),
    calibrate("bins-many", "`bins` must be at most 65536, got 65537.", bins=2**16 + 1),
    calibrate("bins-room", "`bins` must keep the sums of a state", bins=2**16),
    calibrate("bins-classes-room", "keep the sums", bins=2**15, classes=2**15),
    calibrate("calibration-auto", "`classes` must be None, a number or a seq", classes="auto"),
    calibrate("calibration-word", "`classes` must be None, a number or a seq", classes="cat"),
    calibrate("calibration-least", "`classes` must be at least 2, got 1.", classes=1),
    calibrate(
        "logit", "`y_prob` must lie in [0, 1], got 3.5 at position 1. Logits", [1, 0], [1, 3.5]
    ),
    calibrate("below-0", "`y_prob` must lie in [0, 1], got -0.25 at position 0.", [1], [-0.25]),
    calibrate("infinite", "`y_prob` must lie in [0, 1], got inf at position 0.", [1], [np.inf]),
    calibrate(
        "class-logit",
        "`y_prob` must lie in [0, 1], got 2.0 at position (1, 0).",
        *([1, 0], [[0.5, 0.5], [2, -1]]),
        classes=2,
    ),
    calibrate(
        "prob-nan", "`y_prob` must not hold NaN, got NaN at position 1.", [1, 0], [1, np.nan]
    ),
    calibrate("prob-text", "`y_prob` must hold scores, got strings.", [1], ["1"]),
    calibrate("prob-columns", "rows that sum to 1 within 0.01, got 1.5 in row", [1], UNEVEN),
    calibrate("prob-columns-names", "Pass y_prob[:, 1] if that is", [1], UNEVEN),
    calibrate("prob-columns-logits", "`y_prob` must lie in [0, 1], got", [1], [[-1, 2]]),
    calibrate("prob-three", "`y_prob` must have shape (n,), got (1, 3).", [1], [[0.5] * 3]),
    calibrate("prob-rows", "`y_prob` must have 2 rows, got 1.", [1, 0], [0.5]),
    calibrate("prob-scalar", "`y_prob` must have shape (n,), got a scalar.", [1], 0.5),
    calibrate("prob-class-columns", "`y_prob` must have shape (n, 3)", [1], PAIR, classes=3),
    calibrate("prob-vector", "`y_prob` must have shape (n, 3), got (1,)", [1], [0.5], classes=3),
    calibrate("prob-class-rows", "`y_prob` must have 2 rows", [1, 0], PAIR, classes=2),
    calibrate(
        "prob-sum",
        "`y_prob` must have rows that sum to 1 within 0.01, got 0.75 in row 1. Logits",
        *([1, 0], [[0.5, 0.5], [0.5, 0.25]]),
        classes=2,
    ),
    calibrate("prob-label", "`y_true` must hold labels 0 to 1, got 2 at position 0.", [2], [0.5]),
    calibrate("prob-words", "`y_true` holds strings, but the classes are num", ["1"], [0.5]),
    calibrate(
        "prob-unknown", "`y_true` must hold labels among 'a'", ["c"], PAIR, classes=["a", "b"]
    ),
    calibrate("prob-missing", "`y_prob` is missing: the batch has the", {"y_true": [1]}),
    calibrate("prob-weight", "`sample_weight` must not be neg", [1], [0.5], weights=[-1]),
    calibrate(
        "prob-total",
        "`sample_weight` would bring the total past 2**63 - 1.",
        *([1, 1], [0.5, 0.5]),
        weights=[2**62, 2**62],
        kind=se.CountOverflowError,
    ),
]

SEVERAL = {"classes": 2, "multilabel": True}
NAMED = {"pos_label": "yes"}


def third_label() -> object:
    sketch = se.PRCurveSketch(**NAMED).update(["yes", "no"], [1, 0])
    return sketch.update(["yes", "maybe"], [1, 0])


def merge_other_labels() -> object:
    one, other = (
        se.PRCurveSketch(**NAMED).update(["yes", label], [1, 0]) for label in ("no", "maybe")
    )
    return one.merge(other)


def add_score(weight: Any, *, counted: bool) -> Callable[[], object]:
    """Add a weight to the largest count of a curve, which waits or is counted already."""
    sketch = se.PRCurveSketch().update([1], [1], sample_weight=[LARGEST])
    if counted:
        sketch = sketch.copy()
    return lambda: sketch.update([1], [1], sample_weight=[weight])


SCORES = [
    score("budget", "`budget` must be an integer of at least 1, got 0.", budget=0),
    score("budget-float", "`budget` must be an integer, got 0.5.", budget=0.5),
    score("scale", '`scores` must be "probability" or "real", got \'logit\'.', scores="logit"),
    score("scale-none", '`scores` must be "probability" or "real", got None.', scores=None),
    score("nan-option", '`nan` must be "raise" or "skip", got \'drop\'.', nan="drop"),
    score("curve-flag", "`multilabel` must be True or False, got 1.", multilabel=1),
    score("curve-flag-classes", "`multilabel` must be True or", classes=3, multilabel="yes"),
    score("curve-several", "`classes` must be given with multilabel=True.", multilabel=True),
    score("curve-auto", "`classes` must be None, a number, or the labels in the", classes="auto"),
    score("curve-classes", "`classes` must be at least 2, got 1.", classes=1),
    score("curve-pairs", '`measures` "one_vs_one" needs one of several', measures="one_vs_one"),
    score("curve-many-pairs", "at most 64 classes", classes=65, measures="one_vs_one"),
    score("curve-pos-label", "`pos_label` names the positive one of", classes=2, pos_label=1),
    score("curve-ignored", "`ignore_label` must be an integer as the", ignore_label="?"),
    score("curve-ignored-positive", "`ignore_label` must not be the positive", ignore_label=1),
    score("curve-pos-kind", "`pos_label` must be an integer or a string", pos_label=0.5),
    score(
        "score-logit",
        '`y_score` must lie in [0, 1], got 3.5 at position 1. Pass scores="real" for logits or',
        *([1, 0], [1, 3.5]),
    ),
    score("score-below-0", "`y_score` must lie in [0, 1], got -0.25 at pos", [1], [-0.25]),
    score("score-inf", "`y_score` must lie in [0, 1], got inf at position 0.", [1], [np.inf]),
    score(
        "score-class-logit",
        "`y_score` must lie in [0, 1], got 2.0 at position (1, 0).",
        *([1, 0], [[0.5, 0.5], [2, -1]]),
        classes=2,
    ),
    score("score-nan", "`y_score` must not hold NaN, got NaN at pos", [1, 0], [1, np.nan]),
    score("score-text", "`y_score` must hold scores, got strings.", [1], ["1"]),
    score("score-two", "rows that sum to 1 within 0.01, got 1.5 in row", [1], UNEVEN),
    score("score-two-names", "Pass y_score[:, 1] if that is", [1], UNEVEN),
    score("score-two-logits", "`y_score` must lie in [0, 1], got", [1], [[-1, 2]]),
    score("score-two-labels", "Pass the column of pos_label='a'.", ["a"], PAIR, pos_label="a"),
    score("score-two-infinite", "must not hold two infinite scores", [1], INFINITE, scores="real"),
    score("score-three", "`y_score` must have shape (n,), got (1, 3).", [1], [[0.5] * 3]),
    score("score-scalar", "`y_score` must have shape (n,), got a scalar.", [1], 0.5),
    score("score-class-columns", "`y_score` must have shape (n, 3)", [1], PAIR, classes=3),
    score("score-vector", "`y_score` must have shape (n, 3), got", [1], [0.5], classes=3),
    score("score-fewer", "`y_true` must have 1 rows, got 2.", [1, 0], [0.5]),
    score("score-class-rows", "`y_true` must have 1 rows", [1, 0], PAIR, classes=2),
    score("score-no-rows", "`y_true` must have 1 rows, got 0.", [], [0.5]),
    score("score-several", "`y_true` must have shape (n, 2), got", [1], PAIR, **SEVERAL),
    score("score-presence", "`y_true` must hold 0 and 1, got 2 at", [[0, 2]], PAIR, **SEVERAL),
    score("score-label", "`y_true` must hold 0 and 1, got 2 at position 0. Pass", [2], [0.5]),
    score("score-label-hint", "Pass pos_label= to name the positive one of two", [2], [0.5]),
    score("score-words", "`y_true` must hold 0 and 1, got 'a' at position 0.", ["a"], [0.5]),
    score("score-words-hint", "Pass pos_label= to name the positive one", ["a"], [0.5]),
    score("score-class-words", "`y_true` holds strings, but", ["1"], PAIR, classes=2),
    score("score-unknown", "`y_true` must hold labels 0 to 1, got 2", [2], PAIR, classes=2),
    score("score-number", "`y_true` holds numbers, but pos_label is 'yes'.", [1], [1], **NAMED),
    score("score-word", "`y_true` holds strings, but pos_label is 1.", ["1"], [1], pos_label=1),
    score(
        "score-third",
        "`y_true` must hold two labels, 'yes' and 'no', got 'maybe' at position 2.",
        *(["no", "yes", "maybe"], [1, 1, 0]),
        **NAMED,
    ),
    Case(
        "score-third-later",
        third_label,
        "`y_true` must hold two labels, 'yes' and 'no' as before, got 'maybe' too.",
    ),
    Case(
        "merge-labels",
        merge_other_labels,
        "cannot merge: the negative label differs ('no' and 'maybe').",
        se.IncompatibleStateError,
    ),
    score("score-missing", "`y_score` is missing: the batch has the columns", {"y_true": [1]}),
    score("score-weight", "`sample_weight` must not be negative, got -1", [1], [0.5], weights=[-1]),
    score("score-no-rows-weight", "`sample_weight` must have 0 rows", [], [], weights=[1]),
    score("score-weight-rows", "`sample_weight` must have 1 rows", [1], [0.5], weights=[1, 2]),
    score(
        "score-total",
        "`sample_weight` would bring the total past 2**63 - 1.",
        *([1, 1], [0.5, 0.5]),
        weights=[2**62, 2**62],
        kind=se.CountOverflowError,
    ),
    score(
        "score-total-skipped",
        "`sample_weight` would bring the total past 2**63 - 1.",
        *([1, 1], [np.nan, np.nan]),
        weights=[2**62, 2**62],
        kind=se.CountOverflowError,
        nan="skip",
    ),
]

IN_GROUPS = ([1, 0], [0.5, 0.25], [7, 8])

GROUPS = [
    group("group-budget", "`budget` must be an integer, got None.", budget=None),
    group("group-weighting", '`group_weight` must be "impressions" or', group_weight="clicks"),
    group("group-scale", '`scores` must be "probability" or "real"', scores="logit"),
    group("group-most", "`max_groups` must be an integer of at least 1, got 0.", max_groups=0),
    group("group-missing", "`group` is missing.", [1], [1]),
    group("group-nan", "`group` must hold labels, got nan at position 0.", [1], [1], [np.nan]),
    group("group-half", "`group` must hold labels, whole if numbers, got 0.5", [1], [1], [0.5]),
    group("group-rows", "`group` must have 1 rows, got 2.", [1], [1], [1, 2]),
    group("group-shape", "`group` must have shape (n,), got (1, 1).", [1], [1], [[1]]),
    group("group-surrogate", "`group` must be Unicode text", [1], [1], ["\ud800"]),
    group("group-logit", "`y_score` must lie in [0, 1], got 3.5 at", [1], [3.5], [1]),
    group("group-score-nan", "`y_score` must not hold NaN", [1], [np.nan], [1]),
    group("group-label", "`y_true` must hold 0 and 1, got 2 at", [2], [1], [1]),
    group("group-past-most", "groups to 2, past max_groups=1.", *IN_GROUPS, max_groups=1),
    group("group-past-equal", "past max_groups=1.", *IN_GROUPS, max_groups=1, budget=1),
    group(
        "group-past-budget",
        "`group` would bring the number of groups to 2, past budget=1, and each needs a cell.",
        *IN_GROUPS,
        budget=1,
    ),
    Case(
        "group-words-after",
        lambda: se.GroupedAUC().update(*IN_GROUPS).update([1], [1], ["a"]),
        "`group` must hold numbers as before, got strings.",
    ),
    Case(
        "group-numbers-after",
        lambda: se.GroupedAUC().update([1], [1], ["a"]).copy().update(*IN_GROUPS),
        "`group` must hold strings as before, got numbers.",
    ),
    Case(
        "group-merge-words",
        lambda: se.GroupedAUC().update(*IN_GROUPS) + se.GroupedAUC().update([1], [1], ["a"]),
        "cannot merge: `group` holds strings in one and numbers in the other.",
        se.IncompatibleStateError,
    ),
    Case(
        "group-merge-many",
        lambda: (
            se.GroupedAUC(2).update(*IN_GROUPS) + se.GroupedAUC(2).update([1, 0], [1, 1], [8, 9])
        ),
        "`group` would bring the number of groups to 3, past budget=2, and each needs a cell.",
    ),
    Case(
        "classes-interval",
        lambda: (
            se.PRCurveSketch(classes=2)
            .update([0, 1], [[0.7, 0.3], [0.4, 0.6]])
            .compute()
            .confidence("class_wise_ece")
        ),
        "`class_wise_ece` has no sampling interval",
    ),
    Case(
        "classes-interval-of-one-average",
        lambda: (
            se.PRCurveSketch(classes=3).compute().confidence("roc_auc_macro", average="weighted")
        ),
        "`roc_auc_macro` takes no arguments",
    ),
    Case(
        "classes-interval-micro",
        lambda: se.PRCurveSketch(classes=3).compute().confidence("roc_auc", average="micro"),  # type: ignore[union-attr]
        '`average` must be "macro" or "weighted", got \'micro\'.',
    ),
    Case(
        "group-interval",
        lambda: se.GroupedAUC().compute().confidence("coverage"),
        "`coverage` has no sampling interval. These have one: gauc.",
    ),
    group(
        "group-total",
        "`sample_weight` would bring the total past 2**63 - 1.",
        *IN_GROUPS,
        weights=[2**62, 2**62],
        kind=se.CountOverflowError,
    ),
]


def of_classes(name: str, *arguments: Any, truth: Any = (0, 1), **keywords: Any) -> object:
    sketch = se.PRCurveSketch(classes=2).update(list(truth), [[0.5, 0.25]] * 2)
    return getattr(sketch.compute(), name)(*arguments, **keywords)


def of_pairs(label: int, other: int) -> object:
    result: Any = se.PRCurveSketch(classes=2, measures=["one_vs_one"]).compute()
    return result.versus(label, other)


CURVES = [
    ask("fpr", "`max_fpr` must lie in [2**-1000, 1], got 0.0.", "partial_roc_auc", 0),
    ask("fpr-above", "`max_fpr` must lie in [2**-1000, 1], got 1.5.", "partial_roc_auc", 1.5),
    ask("fpr-nan", "`max_fpr` must be a finite number, got nan.", "partial_roc_auc", np.nan),
    ask("precision", "`p` must lie in [0, 1], got 1.5.", "recall_at_precision", 1.5),
    ask("precision-at", "`p` must lie in [0, 1], got -1.0.", "threshold_at_precision", -1),
    ask("recall-text", "`r` must be a finite number, got '1'.", "precision_at_recall", "1"),
    ask("recall-none", "`r` must be a number, got None.", "precision_at_recall", None),
    ask("at-text", "`threshold` must be a number, got '0.5'.", "precision_at", "0.5"),
    ask("at-nan", "`threshold` must be a number, got nan.", "recall_at", np.nan),
    ask("at-bool", "`threshold` must be a number, got True.", "f_at", True),
    ask("f-beta", "`beta` must be at least 0, got -1.0.", "f_at", 0.5, -1),
    ask("best-beta", "`beta` must be at least 0, got -1.0.", "best_f", -1),
    ask("best-beta-nan", "`beta` must be at least 0, got nan.", "best_f", np.nan),
    ask("best-beta-word", "`beta` must be a number, got '1'.", "best_f", "1"),
    ask("sensitivity-zero", "`s` must be above 0.", "threshold_at_sensitivity", 0),
    ask("benefit-one", "`threshold` must be below 1.", "net_benefit", 1),
    ask(
        "confidence-low",
        "`confidence` must be at least 0.5, since one of two classes has that.",
        "selective_accuracy",
        0.4,
    ),
    ask("cost-below", "`fp_cost` must be at least 0, got -1.0.", "min_cost", -1),
    ask("ece-bins-many", "`bins` must be at most 65536, got 65537.", "ece", 2**16 + 1),
    ask("bins-none", "`bins` must be an integer of at least 1, got 0.", "ece", 0),
    ask("ece-real", '`ece` needs probabilities, and scores="real" are none.', "ece", scores="real"),
    ask("bound", '`bound` must be "low" or "high", got 1.', "confusion_at", 0.5, bound=1),
    ask(
        "divides",
        "`threshold` must not divide a cell, got 0.7. The nearest exact ones are 0.5 and inf; "
        'bound="low" and bound="high" give the ends.',
        *("confusion_at", 0.7),
        budget=2,
    ),
    ask(
        "divides-low",
        "`threshold` must not divide a cell, got 0.3. The nearest exact ones are 0.125 and inf;",
        *("confusion_at", 0.3),
        budget=1,
    ),
    ask("interval", "`ks` has no sampling interval. These have one: roc_auc, ", "confidence", "ks"),
    Case(
        "interval-list",
        lambda: se.PRCurveSketch().compute().confidence(["roc_auc"]),  # type: ignore[arg-type]
        "`name` must be a text, got ['roc_auc']",
        UnknownMetricError,
    ),
    ask("interval-place", "`roc_auc` takes no arguments", "confidence", "roc_auc", 0.5),
    ask(
        "interval-places",
        "`recall_at` takes threshold alone.",
        *("confidence", "recall_at", 0.5, 0.6),
    ),
    ask(
        "interval-more-places",
        "`f_at` takes threshold and beta alone.",
        *("value", "f_at", 0.5, 1.0, 2),
    ),
    ask("interval-level", "`level` must lie in [0, 1), got 1.0.", "confidence", "roc_auc", level=1),
    ask("interval-word", "`level` must be a number", "confidence", "roc_auc", level="0.9"),
    ask(
        "interval-fractions",
        "`sample_weight` had fractions, and a fraction of an example is not a draw: there is nei",
        *("confidence", "roc_auc"),
        weights=[0.5, 1, 1, 1],
    ),
    ask("interval-at", "`threshold` must be a number", "confidence", "recall_at", "0.5"),
    Case(
        "read-text",
        lambda: se.PRCurveSketch().compute().read("recall_at(x)"),
        "'recall_at(x)': 'x' is not a number.",
        UnknownMetricError,
    ),
    Case(
        "read-rate",
        lambda: se.PRCurveSketch().compute().read("recall_at_precision(7)"),
        "recall_at_precision(7): `p` must lie in [0, 1], got 7.0.",
        UnknownMetricError,
    ),
    Case(
        "read-average",
        lambda: se.PRCurveSketch(classes=2).compute().read("ks[macro]"),
        "no metric 'ks': ",
        UnknownMetricError,
    ),
    Case(
        "read-class",
        lambda: se.PRCurveSketch(classes=2).compute().read("ks[7]"),
        "no class '7': choose from 0, 1, macro, micro, weighted.",
        UnknownMetricError,
    ),
    Case(
        "plot-groups",
        lambda: se.GroupedAUC().compute().plot(),
        "`plot` needs a group with examples of both classes.",
    ),
    ask("report-level", "`level` must lie in [0, 1), got 95.0.", "report", level=95),
    ask("plot-kind", '`kind` must be "pr" or "roc" or', "plot", kind="lift"),
    ask(
        "plot-real",
        '`kind` "reliability" needs probabilities, not scores="real".',
        "plot",
        kind="reliability",
        scores="real",
    ),
    Case(
        "plot-one-class",
        lambda: se.PRCurveSketch().update([1], [0.5]).compute().plot(),
        "`plot` needs examples of both classes.",
    ),
    Case("no-pairs", lambda: of_classes("versus", 0, 1), '`measures` must hold "one_vs_one" when'),
    Case("no-pair", lambda: of_pairs(0, 0), "`label` must be two classes, got 0 and 0."),
    Case("average", lambda: of_classes("roc_auc", "mean"), '`average` must be "macro" or "micro" '),
    Case("most", lambda: of_classes("report", max_classes=-1), "`max_classes` must be an integer"),
    Case("most-text", lambda: of_classes("report", max_classes="9"), "`max_classes` must be an in"),
    Case("most-drawn", lambda: of_classes("plot", max_classes=0), "`max_classes` must be an inte"),
    Case("class-kind", lambda: of_classes("plot", kind="lift"), '`kind` must be "pr" or "roc"'),
    Case(
        "class-plot",
        lambda: of_classes("plot", truth=(0, 0)),
        "`plot` needs a class that some examples have and some have not.",
    ),
]

DECISIONS = [
    update(
        "weights-of-entries",
        "`sample_weight` must be one for each example with measures=['samples'], got shape (1, 2).",
        *([[1, 0]], [[1, 0]]),
        weights=[[1, 1]],
        classes=2,
        multilabel=True,
        measures=["samples"],
    ),
    update("presence", "`y_true` must hold 0 and 1, got 2 at", [[0, 2]], [[0, 1]], **SEVERAL),
    update("presence-hint", "Pass from_scores=True if these", [[0, 1]], [[0, 5]], **SEVERAL),
    update("ambiguous", "`y_pred` holds integers of shape (1,), which", [1], [4], threshold=3),
    update("top-k-labels", "`y_pred` must hold scores for top_k=2", [1], [1], classes=3, top_k=2),
    update("two-columns", "Pass y_pred[:, 1] if that", [1], UNEVEN, threshold=0.25),
    update("two-columns-nan", "`y_pred` must not hold NaN, got", [1], [[0.5, np.nan]]),
    update(
        "item-scores", "a score of each of 3 classes in its last", [[1]], [[[0.5] * 4]], classes=3
    ),
    update("item-axes", "may be the second dimension or", [[0] * 3], [np.eye(3)], classes=3),
    update("item-hot", "y_true.argmax(axis=1) for one-hot", np.eye(3), np.eye(3), classes=3),
    update("one-column", "`y_pred` must have shape (n, 3) as scores", [1], [0.5], classes=3),
    update("auto-floats", "`y_pred` holds floats, and", [1], [1.0], classes="auto"),
    update("auto-kinds", "`y_true` and `y_pred` must both be", [1], ["1"], classes="auto"),
    update("several-shape", "`y_true` must have shape (n, 2), got (1,).", [1], [1], **SEVERAL),
]

OPTIONS = [
    make("measure", "`measures` has no 'mean': choose from samples, top_k.", measures=["mean"]),
    make("measure-near", "has no 'topk': did you mean 'top_k'? Choose from", measures="topk"),
    make("measure-number", "`measures` must hold names, got 3.", measures=[3]),
    make("measures", "`measures` must be a sequence of names", measures=1),
    make("measure-twice", "distinct, got 'top_k' twice", measures=["top_k", "top_k"]),
    make("samples", '`measures` have "samples" of several labels', measures=["samples"]),
    make("top-k-measure", '`measures` have "top_k" only where several', measures=["top_k"]),
    make("flag", "`multilabel` must be True or False, got 1.", multilabel=1),
    make("flag-unseen", "`include_unseen` must be True or False", include_unseen=None),
    make("optional-flag", "`from_scores` must be True, False or None, got 0.", from_scores=0),
    make("number", "`threshold` must be a number, got None.", threshold=None),
    make("option-huge", "`threshold` must be a number, got 1", threshold=10**400),
    make("option-word", "`threshold` must be a finite number, got '0.5'.", threshold="0.5"),
    make("option-flag", "`threshold` must be a number, got True.", threshold=True),
    make("option-nan", "`threshold` must be a finite number, got nan.", threshold=np.nan),
    make(
        "option-range",
        '`threshold` must lie in [0, 1] with scores="probability", got 2.0.',
        threshold=2,
        scores="probability",
    ),
    make("integer", "`top_k` must be an integer, got 1.5.", top_k=1.5),
    make("integer-least", "`top_k` must be an integer of at least 1, got 0.", top_k=0),
    make("integer-bool", "`top_k` must be an integer of at least 1, got True.", top_k=True),
    make("pos-label-many", "`pos_label` needs exactly two listed", classes=3, pos_label=1),
    make("pos-label-auto", "`pos_label` needs exactly two listed", classes="auto", pos_label=1),
    make("pos-label", "`pos_label` must be one of the two classes (0, 1), got 2.", pos_label=2),
    make("scores-many", "`scores` is for scores of two", classes=3, scores="real"),
    make("threshold-many", "`threshold` decides two classes or", classes=3, threshold=0.7),
    make("auto-several", "`classes` must be a number or a seq", classes="auto", multilabel=True),
    make("auto-scores", "`from_scores` needs the classes listed", classes="auto", from_scores=True),
    make("auto-top-k", "`top_k` needs the classes listed", classes="auto", top_k=2),
    make("top-k-two", "`top_k` must be 1, or at most the number of", top_k=2),
    make("top-k-many", "`top_k` must be 1, or at most the number of", classes=3, top_k=4),
    make("top-k-several", "`top_k` must be 1, or at most", classes=3, multilabel=True, top_k=2),
    make("top-k-labels-option", "`top_k` needs scores", classes=3, top_k=2, from_scores=False),
]


def read(id: str, says: str, text: str, name: str = "read_run") -> Case:  # noqa: A002
    """Fail in reading a file."""

    return Case(id, reading(text, getattr(se.io, name)), says, se.BadDataError)


def reading(text: str, read: Callable[[Path], Any]) -> Callable[[], object]:
    """Read a file of some text."""

    def provoke() -> object:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "file")
            path.write_text(text, encoding="utf-8")
            return list(read(path))

    return provoke


SCATTERED = "q1 Q0 d1 1 3 tag\nq2 Q0 d1 1 3 tag\nq1 Q0 d2 2 2 tag\n"
FILES = [
    Case("run-path", lambda: se.io.read_run([]), "`path` must be the path of a file, got list."),  # type: ignore[arg-type]
    Case("run-rows", lambda: se.io.iter_run("a", rows=0), "`rows` must be an integer of at least"),
    read("run-fields", "file, line 2: a run has 6 fields (qid Q0", "\nq1 Q0 d1"),
    read("qrels-fields", "file, line 1: qrels have 4 fields (qid iter", "q1", "read_qrels"),
    read("run-score", "file, line 1: `score` must be a number, got 'x'.", "q1 Q0 d1 1 x tag"),
    read("qrels-rel", "`rel` must be a finite number, got 'inf'.", "q1 0 d1 inf", "read_qrels"),
    read(
        "run-twice",
        "file, line 2: document 'd1' of query 'q1' is already on line 1.",
        "q1 Q0 d1 1 3 tag\n" * 2,
    ),
    read(
        "run-back",
        "file, line 3: query 'q1' comes back after another; `read_run` reads queries in any order.",
        SCATTERED,
        "iter_run",
    ),
    Case(
        "run-scattered",
        reading(SCATTERED, lambda path: sized_runs(str(path), 1)),
        "file, line 3: query 'q1' comes back after another; `read_run` reads queries in any order.",
        ScatteredQueryError,
    ),
]

TWICE = pa.table([[1], [1], [1]], names=["y_true", "y_true", "y_pred"])

OVERFLOW = "`sample_weight` would bring the total past 2**63 - 1."
TOTALS = [
    Case("total", add(1), OVERFLOW, se.CountOverflowError),
    Case("total-weight", add(2), OVERFLOW, se.CountOverflowError),
    Case("total-half", add_halves, OVERFLOW, se.CountOverflowError),
    Case(
        "total-pooled",
        pool_full,
        "`micro` would pool weights past 2**63 - 1.",
        se.CountOverflowError,
    ),
    Case("total-merge", merge_full, OVERFLOW, se.CountOverflowError),
    Case("total-merge-several", lambda: merge_full(2), OVERFLOW, se.CountOverflowError),
    Case("weight-uint64", add(2**63), OVERFLOW, se.CountOverflowError),
    Case("weight-large", add(2.0**63), OVERFLOW, se.CountOverflowError),
    Case(
        "weight-sum",
        lambda: se.ConfusionAccumulator().update([1] * 4, [1] * 4, sample_weight=[2**62] * 4),
        OVERFLOW,
        se.CountOverflowError,
    ),
    Case(
        "weight-carry",
        lambda: se.ConfusionAccumulator().update(
            [1] * 4, [1] * 4, sample_weight=[2.0**63 - 1024, 1023.0, 0.5, 0.5]
        ),
        OVERFLOW,
        se.CountOverflowError,
    ),
]

MERGES = [
    Case("merge-number", lambda: se.ConfusionAccumulator().merge(1), "`others` must be accum"),  # type: ignore[arg-type]
    Case("merge-of-numbers", lambda: se.merge([1]), "`accumulators` must hold accumulators, got"),  # type: ignore[list-item]
    Case("merge-nothing", lambda: se.merge([]), "`accumulators` must hold at least one accum"),
    Case(
        "merge-words",
        merge_words_into_numbers,
        "cannot merge: the observed labels are numbers on one side and strings on the other.",
        se.IncompatibleStateError,
    ),
    Case(
        "merge-kind",
        lambda: se.ConfusionAccumulator().merge(se.RegressionAccumulator()),  # type: ignore[arg-type]
        "cannot merge: the class differs (ConfusionAccumulator and RegressionAccumulator).",
        se.IncompatibleStateError,
    ),
    Case(
        "merge-option",
        lambda: se.ConfusionAccumulator().merge(se.ConfusionAccumulator(threshold=0.7)),
        "cannot merge: `threshold` differs (0.5 and 0.7).",
        se.IncompatibleStateError,
    ),
]

LATER = [
    Case(
        "beta-text",
        lambda: se.ConfusionAccumulator().compute().f_score(beta="2"),
        "`beta` must be a",
    ),  # type: ignore[call-overload]
    update(
        "huge-number", "`y_true` must hold numbers within the range of float64", [10**400, 1.5], [1]
    ),
    update(
        "spark-frame",
        "`batch` must hold data, got a SimpleNamespace. Call its toPandas() first.",
        SimpleNamespace(collect=list, toPandas=list, columns=["y_true"]),
    ),
    update(
        "other-frame",
        "`batch` must hold data, got a SimpleNamespace. Call its collect() first.",
        SimpleNamespace(collect=list, columns=["y_true"]),
    ),
    update("lazy-frame", "`y_pred` is missing: the batch", pl.LazyFrame({"y_true": [1]})),
    update(
        "broken-frame",
        "`batch` cannot be read from LazyFrame: ",
        pl.LazyFrame({"y_true": [1]}).select("other"),
    ),
    update("column-twice", "`y_true` cannot be taken from the batch", TWICE),
    make(
        "class-set",
        "`classes` must be a sequence of labels, whose order counts",
        classes={"a", "b"},
    ),
    make(
        "class-texts",
        "`classes` must have at most 1048576 characters together, got 1048577",
        classes=["a" * 2**20, "b"],
    ),
    make("surrogate", "`classes` must be Unicode text", classes=["a", "\ud800"]),
    make("ignored-kind", "`ignore_label` must be an integer", ignore_label="a"),
    Case(
        "words-after-numbers",
        lambda: se.ConfusionAccumulator("auto").update([1], [1]).update(["a"], ["a"]),
        "must hold labels of the type before",
    ),
]

COUNTS = [
    counts("matrix-row", "`matrix` must have shape (K, K) for at least two classes, got", [[1, 2]]),
    counts("matrix-text", "`matrix` must hold numbers, got strings.", [["a", "b"], ["c", "d"]]),
    counts(
        "matrix-labels",
        "`matrix` must have the same labels in the same order for rows and columns, got",
        pd.DataFrame([[1, 2], [3, 4]], index=["a", "b"], columns=["b", "a"]),
    ),
    counts("matrix-top", "`top_k` cannot be told from a matrix, got 2.", PAIR * 2, top_k=2),
    counts("matrix-auto", '`classes` must list the labels, got "auto".', PAIR * 2, classes="auto"),
    counts(
        "matrix-classes",
        "`matrix` must have one row for each of 3 classes, got 2.",
        PAIR * 2,
        classes=3,
    ),
    counts(
        "matrix-total",
        "`matrix` would bring the total past 2**63 - 1.",
        [[2**62, 2**62], [0, 0]],
        kind=se.CountOverflowError,
    ),
]

CASES = [
    *COUNTS,
    *LATER,
    *ARRAYS,
    *WEIGHTS,
    *BATCHES,
    *LABELS,
    *NUMBERS,
    *PROBABILITIES,
    *SCORES,
    *GROUPS,
    *CURVES,
    *DECISIONS,
    *OPTIONS,
    *TOTALS,
    *MERGES,
    *FILES,
]

Site = tuple[str, int]


def raise_sites(module: ModuleType) -> Iterator[tuple[str, range]]:
    """The lines of each statement of a module that raises an error of its own."""
    path = str(module.__file__)
    for node in ast.walk(ast.parse(Path(path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Raise) and node.exc is not None:
            yield path, range(node.lineno, (node.end_lineno or node.lineno) + 1)


def provoked_site(case: Case) -> Site | None:
    """The file and line where a case fails; None if it does not fail."""
    try:
        case.provoke()
    except Exception as error:
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        assert trace is not None
        return trace.tb_frame.f_code.co_filename, trace.tb_lineno
    return None


def check_message(case: Case) -> None:
    with pytest.raises(case.kind) as caught:
        case.provoke()

    message = str(caught.value)
    assert type(caught.value) is case.kind
    assert isinstance(caught.value, se.StreamevalError)
    assert case.says in message
    subject = re.sub(r"^member '[^']+': ", "", message)
    of_metric = r"|(no (metric|class) )?'[^']+': |\w+\([^()]*\): "  # which was asked for by name
    forms = r"`[a-z_]+(=\S+)?` |cannot merge: |\S+, line \d+: "
    forms += of_metric if case.kind is UnknownMetricError else ""
    assert re.match(forms, subject)
    assert re.search(r"[^.]\.$", message)
    assert not set(message) & set("{}\n")
    assert "np." not in message


def missed_raises(names: list[str], cases: list[Case]) -> list[str]:
    """The raise statements of some modules that no case reaches."""
    provoked = {provoked_site(case) for case in cases}
    modules = [importlib.import_module(f"streameval.{name}") for name in names]
    return [
        f"{path}:{lines.start}"
        for module in modules
        for path, lines in raise_sites(module)
        if not any((path, line) in provoked for line in lines)
    ]


@each("case", CASES)
def test_message_is_whole_and_names_the_argument(case: Case) -> None:
    check_message(case)


def test_every_raise_statement_is_provoked() -> None:
    assert missed_raises(MODULES, CASES) == []


def test_cases_have_distinct_ids() -> None:
    ids = [case.id for case in CASES]
    assert len(ids) == len(set(ids))
