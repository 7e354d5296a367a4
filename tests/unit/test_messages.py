"""Every message of the counting modules: provoked, whole, and naming the argument to blame."""

import ast
import functools
import importlib
import re
import tempfile
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import recorded
from offenders import each

import streameval as se
from streameval.errors import UnknownMetricError
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
    *("accumulators.confusion", "states.confusion"),
    *("accumulators.regression", "states.regression", "configs.error_measures", "configs.names"),
    *(
        "accumulators.calibration",
        "states.calibration",
        "configs.calibration",
        "exact.cell_sums",
        "exact.log",
    ),
    *("configs.confusion", "configs.options", "configs.regression"),
    *("accumulators.curve", "accumulators.grouped", "accumulators.scored_rows", "configs.curve"),
    *("states.curve", "states.grouped", "states.cells", "exact.score_keys", "states.column"),
    *("metrics.points", "metrics.curves", "metrics.average_precision", "metrics.thresholds"),
    *("metrics.delong", "metrics.loss_bounds", "metrics.grouped", "metrics.intervals"),
    *("results.curve", "metrics.curve_table", "results.curve_confusion"),
    *("results.class_curves", "results.grouped", "io.trec", "io.trec_rows"),
]

LARGEST = 2**63 - 1
BOTH = {"y_true": [1], "y_pred": [1]}
PAIR = [[0.5, 0.5]]
UNEVEN = [[0.75, 0.75]]
INFINITE = [[np.inf, np.inf]]


@dataclass(frozen=True)
class Case:
    """A call that must fail; a file has the error."""

    id: str
    provoke: Callable[[], object]


def make(id: str, **options: Any) -> Case:  # noqa: A002 - the word for it in pytest
    """Fail in the constructor."""
    return Case(id, lambda: se.ConfusionAccumulator(**options))


def updates(cls: Any) -> Callable[..., Case]:
    """Return what makes cases that fail in an update, or in the constructor before it."""

    def case(id: str, *batch: Any, weights: Any = None, **options: Any) -> Case:  # noqa: A002
        return Case(id, lambda: cls(**options).update(*batch, sample_weight=weights))

    return case


update, regress = updates(se.ConfusionAccumulator), updates(se.RegressionAccumulator)
calibrate, score = updates(se.CalibrationAccumulator), updates(se.PRCurveSketch)
group = updates(se.GroupedAUC)


def counts(id: str, matrix: Any, **options: Any) -> Case:  # noqa: A002
    """Fail to take counts that were made elsewhere."""
    return Case(id, lambda: se.ConfusionAccumulator.from_matrix(matrix, **options))


def measure(id: str, *measures: Any) -> Case:  # noqa: A002 - the word for it in pytest
    """Fail when measures of numbers are asked for."""
    return Case(id, lambda: se.RegressionAccumulator(measures))


def ask(id: str, *call: Any, **options: Any) -> Case:  # noqa: A002
    """Fail in a method of a curve of four scores, which have four cells or those of a budget."""
    name, *arguments = call
    keywords = {word: options.pop(word) for word in ("level", "bound", "kind") if word in options}
    weights = options.pop("weights", None)

    def provoke() -> object:
        sketch = se.PRCurveSketch(**options)
        truth, scores = [0, 0, 1, 1], [0.125, 0.5, 0.625, 0.75]
        curve: Any = sketch.update(truth, scores, sample_weight=weights).compute()
        return getattr(curve, name)(*arguments, **keywords)

    return Case(id, provoke)


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


class Arrow:
    """A stream of Arrow, as pyarrow is asked for it where it is not installed."""

    def __arrow_c_stream__(self, _: Any = None) -> Any:
        raise ModuleNotFoundError("No module named 'pyarrow'")


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
    update("bytes", [b"a"], [1]),
    update("complex", [1], [1j]),
    update("mixed", [1, "a"], [1, 1]),
    update("missing", [1], [None]),
    update("masked", np.ma.array([1], mask=[True]), [1]),
    update("set", {1}, [1]),
    update("ragged", [[1], [1, 2]], [1, 1]),
    update("no-array", pl.Series([1], dtype=pl.Int128), [1]),
    update("rows", np.array([[1], [1, 2]], object), [1]),
    update("traced", [1], Jit()),
    update("tensor", [1], Tensor()),
    update("arrow", [1], Arrow()),
    update("uint64", np.array([2**63], np.uint64), [1]),
    update("nan-label", [np.nan], [1]),
    update("half-label", [0.5], [1]),
    update("large-label", [1e300], [1]),
    update("string-scores", [1], ["a"], from_scores=True),
    update("nan-score", [1], [np.nan]),
    update("scalar", np.array(1), [1]),
    update("matrix", [[1, 0]], [1]),
    update("cube", [[[1], [1]]], [1]),
    update("one-channel", [[[1]]], [1]),
    update("mask-border", [1, 255], [1, 1]),
    update("prediction-rows", [1, 0], [1]),
    update("score-columns", [1], [[0.5] * 2], classes=3),
    update("score-rows", [1], np.ones((2, 3)), classes=3),
    update("image-labels", np.full((2, 600, 600), 7), np.zeros((2, 3, 600, 600)), classes=3),
]

WEIGHTS = [
    update("weight-strings", BOTH, weights=["a"]),
    update("weight-shape", BOTH, weights=[[1]]),
    update("weight-rows", BOTH, weights=[1, 1]),
    update("weight-int", BOTH, weights=[-1]),
    update("weight-float", BOTH, weights=[-0.5]),
    update("weight-nan", BOTH, weights=[np.nan]),
    update("weight-inf", BOTH, weights=[np.inf]),
    update("weight-small", BOTH, weights=[1e-10]),
]

BATCHES = [
    update("alone", np.array([1])),
    update("length", ([1],)),
    update("first", None, [1]),
    update("column", {"y_true": [1]}),
    update("no-columns", {}),
    update("twice", BOTH | {"sample_weight": [1]}, weights=[1]),
]

LABELS = [
    make("thresholds", threshold=[0, 1]),
    make("class", classes=[1, None]),
    make("class-word", classes="cat"),
    make("class-none", classes=None),
    make("class-bool", classes=True),
    make("class-least", classes=1),
    make("class-least-one", classes=0, multilabel=True),
    make("class-mixed", classes=[1, "a"]),
    make("class-twice", classes=["a", "a"]),
    make("class-name", classes={0: 1, 1: "a"}),
    make("class-names", classes={0: "a", 1: "a"}),
    make("class-bits", classes=[0, 2**63]),
    make("class-memory", classes=2**40),
    make("pos-label-kind", pos_label=0.5),
    make("ignore-label", ignore_label=[1]),
    update("words", ["1"], [1]),
    update("numbers", ["a"], [1], classes=["a", "b"]),
    update("unknown", [1, 7], [1, 1]),
    Case("limit", many_labels),
    Case("limit-merge", merge_many_labels),
]

NUMBERS = [
    Case(
        "number outside the range of a measure",
        lambda: se.RegressionAccumulator(["gamma_deviance"]).update([1, 0], [1, 1]),
    ),
    Case("budget without quantiles", lambda: se.RegressionAccumulator(budget=4)),
    Case("too many outputs", lambda: se.RegressionAccumulator(outputs=1025)),
    Case(
        "an output named as an average",
        lambda: se.RegressionAccumulator(outputs=["lat", "uniform_average"]),
    ),
    Case("no outputs", lambda: se.RegressionAccumulator(outputs=[])),
    Case("measures as a set", lambda: se.RegressionAccumulator({"mape"})),
    Case(
        "parameter of a measure out of range",
        lambda: se.RegressionAccumulator(["huber"]).compute().huber(0),
    ),
    Case(
        "too many arguments of a measure",
        lambda: se.RegressionAccumulator(["huber"]).compute().huber(1, 2),
    ),
    measure("measure that is no name", 3),
    measure("measure unknown", "mapee"),
    measure("measure twice", "mape", "MAPE"),
    measure("measure with brackets", "mape(1)"),
    measure("measure without brackets", "tweedie"),
    measure("measure with other brackets", "huber(a=1)"),
    measure("measure with a wrong number", "tweedie(0.5)"),
    Case("ranks-of-another-shape", lambda: se.CatalogAccumulator(5).update([1, 2], rank=[1])),
    regress("number-strings", ["1"], [1]),
    regress("number-nan", [1], [np.nan]),
    regress("number-inf", [np.inf], [1]),
    regress("number-large", [1.0, 1e300], [1, 1]),
    regress("number-rows", [1, 2], [1]),
    regress("number-shape", [[1, 2]], [1]),
]

PROBABILITIES = [
    calibrate("bins", bins=0),
    calibrate("bins-many", bins=2**16 + 1),
    calibrate("bins-room", bins=2**16),
    calibrate("bins-classes-room", bins=2**15, classes=2**15),
    calibrate("calibration-auto", classes="auto"),
    calibrate("calibration-word", classes="cat"),
    calibrate("calibration-least", classes=1),
    calibrate("logit", [1, 0], [1, 3.5]),
    calibrate("below-0", [1], [-0.25]),
    calibrate("infinite", [1], [np.inf]),
    calibrate("class-logit", *([1, 0], [[0.5, 0.5], [2, -1]]), classes=2),
    calibrate("prob-nan", [1, 0], [1, np.nan]),
    calibrate("prob-text", [1], ["1"]),
    calibrate("prob-columns", [1], UNEVEN),
    calibrate("prob-columns-names", [1], UNEVEN),
    calibrate("prob-columns-logits", [1], [[-1, 2]]),
    calibrate("prob-three", [1], [[0.5] * 3]),
    calibrate("prob-rows", [1, 0], [0.5]),
    calibrate("prob-scalar", [1], 0.5),
    calibrate("prob-class-columns", [1], PAIR, classes=3),
    calibrate("prob-vector", [1], [0.5], classes=3),
    calibrate("prob-class-rows", [1, 0], PAIR, classes=2),
    calibrate("prob-sum", *([1, 0], [[0.5, 0.5], [0.5, 0.25]]), classes=2),
    calibrate("prob-label", [2], [0.5]),
    calibrate("prob-words", ["1"], [0.5]),
    calibrate("prob-unknown", ["c"], PAIR, classes=["a", "b"]),
    calibrate("prob-missing", {"y_true": [1]}),
    calibrate("prob-weight", [1], [0.5], weights=[-1]),
    calibrate("prob-total", *([1, 1], [0.5, 0.5]), weights=[2**62, 2**62]),
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


SCORES = [
    score("budget", budget=0),
    score("budget-float", budget=0.5),
    score("scale", scores="logit"),
    score("scale-none", scores=None),
    score("nan-option", nan="drop"),
    score("curve-flag", multilabel=1),
    score("curve-flag-classes", classes=3, multilabel="yes"),
    score("curve-several", multilabel=True),
    score("curve-auto", classes="auto"),
    score("curve-classes", classes=1),
    score("curve-pairs", measures="one_vs_one"),
    score("curve-many-pairs", classes=65, measures="one_vs_one"),
    score("curve-pos-label", classes=2, pos_label=1),
    score("curve-ignored", ignore_label="?"),
    score("curve-ignored-positive", ignore_label=1),
    score("curve-pos-kind", pos_label=0.5),
    score("score-logit", *([1, 0], [1, 3.5])),
    score("score-below-0", [1], [-0.25]),
    score("score-inf", [1], [np.inf]),
    score("score-class-logit", *([1, 0], [[0.5, 0.5], [2, -1]]), classes=2),
    score("score-nan", [1, 0], [1, np.nan]),
    score("score-text", [1], ["1"]),
    score("score-two", [1], UNEVEN),
    score("score-two-names", [1], UNEVEN),
    score("score-two-logits", [1], [[-1, 2]]),
    score("score-two-labels", ["a"], PAIR, pos_label="a"),
    score("score-two-infinite", [1], INFINITE, scores="real"),
    score("score-three", [1], [[0.5] * 3]),
    score("score-scalar", [1], 0.5),
    score("score-class-columns", [1], PAIR, classes=3),
    score("score-vector", [1], [0.5], classes=3),
    score("score-fewer", [1, 0], [0.5]),
    score("score-class-rows", [1, 0], PAIR, classes=2),
    score("score-no-rows", [], [0.5]),
    score("score-several", [1], PAIR, **SEVERAL),
    score("score-presence", [[0, 2]], PAIR, **SEVERAL),
    score("score-label", [2], [0.5]),
    score("score-label-hint", [2], [0.5]),
    score("score-words", ["a"], [0.5]),
    score("score-words-hint", ["a"], [0.5]),
    score("score-class-words", ["1"], PAIR, classes=2),
    score("score-unknown", [2], PAIR, classes=2),
    score("score-number", [1], [1], **NAMED),
    score("score-word", ["1"], [1], pos_label=1),
    score("score-third", *(["no", "yes", "maybe"], [1, 1, 0]), **NAMED),
    Case("score-third-later", third_label),
    Case("merge-labels", merge_other_labels),
    score("score-missing", {"y_true": [1]}),
    score("score-weight", [1], [0.5], weights=[-1]),
    score("score-no-rows-weight", [], [], weights=[1]),
    score("score-weight-rows", [1], [0.5], weights=[1, 2]),
    score("score-total", *([1, 1], [0.5, 0.5]), weights=[2**62, 2**62]),
    score("score-total-skipped", *([1, 1], [np.nan, np.nan]), weights=[2**62, 2**62], nan="skip"),
]

IN_GROUPS = ([1, 0], [0.5, 0.25], [7, 8])

GROUPS = [
    group("group-budget", budget=None),
    group("group-weighting", group_weight="clicks"),
    group("group-scale", scores="logit"),
    group("group-most", max_groups=0),
    group("group-missing", [1], [1]),
    group("group-nan", [1], [1], [np.nan]),
    group("group-half", [1], [1], [0.5]),
    group("group-rows", [1], [1], [1, 2]),
    group("group-shape", [1], [1], [[1]]),
    group("group-surrogate", [1], [1], ["\ud800"]),
    group("group-logit", [1], [3.5], [1]),
    group("group-score-nan", [1], [np.nan], [1]),
    group("group-label", [2], [1], [1]),
    group("group-past-most", *IN_GROUPS, max_groups=1),
    group("group-past-equal", *IN_GROUPS, max_groups=1, budget=1),
    group("group-past-budget", *IN_GROUPS, budget=1),
    Case("group-words-after", lambda: se.GroupedAUC().update(*IN_GROUPS).update([1], [1], ["a"])),
    Case(
        "group-numbers-after",
        lambda: se.GroupedAUC().update([1], [1], ["a"]).copy().update(*IN_GROUPS),
    ),
    Case(
        "group-merge-words",
        lambda: se.GroupedAUC().update(*IN_GROUPS) + se.GroupedAUC().update([1], [1], ["a"]),
    ),
    Case(
        "group-merge-many",
        lambda: (
            se.GroupedAUC(2).update(*IN_GROUPS) + se.GroupedAUC(2).update([1, 0], [1, 1], [8, 9])
        ),
    ),
    Case(
        "classes-interval",
        lambda: (
            se.PRCurveSketch(classes=2)
            .update([0, 1], [[0.7, 0.3], [0.4, 0.6]])
            .compute()
            .confidence("class_wise_ece")
        ),
    ),
    Case(
        "classes-interval-of-one-average",
        lambda: (
            se.PRCurveSketch(classes=3).compute().confidence("roc_auc_macro", average="weighted")
        ),
    ),
    Case(
        "classes-interval-micro",
        lambda: se.PRCurveSketch(classes=3).compute().confidence("roc_auc", average="micro"),
    ),
    Case("group-interval", lambda: se.GroupedAUC().compute().confidence("coverage")),
    group("group-total", *IN_GROUPS, weights=[2**62, 2**62]),
]


def of_classes(name: str, *arguments: Any, truth: Any = (0, 1), **keywords: Any) -> object:
    sketch = se.PRCurveSketch(classes=2).update(list(truth), [[0.5, 0.25]] * 2)
    return getattr(sketch.compute(), name)(*arguments, **keywords)


def of_pairs(label: int, other: int) -> object:
    result: Any = se.PRCurveSketch(classes=2, measures=["one_vs_one"]).compute()
    return result.versus(label, other)


CURVES = [
    ask("fpr", "partial_roc_auc", 0),
    ask("fpr-above", "partial_roc_auc", 1.5),
    ask("fpr-nan", "partial_roc_auc", np.nan),
    ask("precision", "recall_at_precision", 1.5),
    ask("precision-at", "threshold_at_precision", -1),
    ask("recall-text", "precision_at_recall", "1"),
    ask("recall-none", "precision_at_recall", None),
    ask("at-text", "precision_at", "0.5"),
    ask("at-nan", "recall_at", np.nan),
    ask("at-bool", "f_at", True),
    ask("f-beta", "f_at", 0.5, -1),
    ask("best-beta", "best_f", -1),
    ask("best-beta-nan", "best_f", np.nan),
    ask("best-beta-word", "best_f", "1"),
    ask("sensitivity-zero", "threshold_at_sensitivity", 0),
    ask("benefit-one", "net_benefit", 1),
    ask("confidence-low", "selective_accuracy", 0.4),
    ask("cost-below", "min_cost", -1),
    ask("ece-bins-many", "ece", 2**16 + 1),
    ask("bins-none", "ece", 0),
    ask("ece-real", "ece", scores="real"),
    ask("bound", "confusion_at", 0.5, bound=1),
    ask("divides", *("confusion_at", 0.7), budget=2),
    ask("divides-low", *("confusion_at", 0.3), budget=1),
    ask("interval", "confidence", "ks"),
    Case("interval-list", lambda: se.PRCurveSketch().compute().confidence(["roc_auc"])),
    ask("interval-place", "confidence", "roc_auc", 0.5),
    ask("interval-places", *("confidence", "recall_at", 0.5, 0.6)),
    ask("interval-more-places", *("value", "f_at", 0.5, 1.0, 2)),
    ask("interval-level", "confidence", "roc_auc", level=1),
    ask("interval-word", "confidence", "roc_auc", level="0.9"),
    ask("interval-fractions", *("confidence", "roc_auc"), weights=[0.5, 1, 1, 1]),
    ask("interval-at", "confidence", "recall_at", "0.5"),
    Case("read-text", lambda: se.PRCurveSketch().compute().read("recall_at(x)")),
    Case("read-rate", lambda: se.PRCurveSketch().compute().read("recall_at_precision(7)")),
    Case("read-average", lambda: se.PRCurveSketch(classes=2).compute().read("ks[macro]")),
    Case("read-class", lambda: se.PRCurveSketch(classes=2).compute().read("ks[7]")),
    Case("plot-groups", lambda: se.GroupedAUC().compute().plot()),
    ask("report-level", "report", level=95),
    ask("plot-kind", "plot", kind="lift"),
    ask("plot-real", "plot", kind="reliability", scores="real"),
    Case("plot-one-class", lambda: se.PRCurveSketch().update([1], [0.5]).compute().plot()),
    Case("no-pairs", lambda: of_classes("versus", 0, 1)),
    Case("no-pair", lambda: of_pairs(0, 0)),
    Case("average", lambda: of_classes("roc_auc", "mean")),
    Case("most", lambda: of_classes("report", max_classes=-1)),
    Case("most-text", lambda: of_classes("report", max_classes="9")),
    Case("most-drawn", lambda: of_classes("plot", max_classes=0)),
    Case("class-kind", lambda: of_classes("plot", kind="lift")),
    Case("class-plot", lambda: of_classes("plot", truth=(0, 0))),
]

DECISIONS = [
    update(
        "weights-of-entries",
        *([[1, 0]], [[1, 0]]),
        weights=[[1, 1]],
        classes=2,
        multilabel=True,
        measures=["samples"],
    ),
    update("presence", [[0, 2]], [[0, 1]], **SEVERAL),
    update("presence-hint", [[0, 1]], [[0, 5]], **SEVERAL),
    update("ambiguous", [1], [4], threshold=3),
    update("top-k-labels", [1], [1], classes=3, top_k=2),
    update("two-columns", [1], UNEVEN, threshold=0.25),
    update("two-columns-nan", [1], [[0.5, np.nan]]),
    update("item-scores", [[1]], [[[0.5] * 4]], classes=3),
    update("item-axes", [[0] * 3], [np.eye(3)], classes=3),
    update("item-hot", np.eye(3), np.eye(3), classes=3),
    update("one-column", [1], [0.5], classes=3),
    update("auto-floats", [1], [1.0], classes="auto"),
    update("auto-kinds", [1], ["1"], classes="auto"),
    update("several-shape", [1], [1], **SEVERAL),
]

OPTIONS = [
    make("measure", measures=["mean"]),
    make("measure-near", measures="topk"),
    make("measure-number", measures=[3]),
    make("measures", measures=1),
    make("measure-twice", measures=["top_k", "top_k"]),
    make("samples", measures=["samples"]),
    make("top-k-measure", measures=["top_k"]),
    make("flag", multilabel=1),
    make("flag-unseen", include_unseen=None),
    make("optional-flag", from_scores=0),
    make("number", threshold=None),
    make("option-huge", threshold=10**400),
    make("option-word", threshold="0.5"),
    make("option-flag", threshold=True),
    make("option-nan", threshold=np.nan),
    make("option-range", threshold=2, scores="probability"),
    make("integer", top_k=1.5),
    make("integer-least", top_k=0),
    make("integer-bool", top_k=True),
    make("pos-label-many", classes=3, pos_label=1),
    make("pos-label-auto", classes="auto", pos_label=1),
    make("pos-label", pos_label=2),
    make("scores-many", classes=3, scores="real"),
    make("threshold-many", classes=3, threshold=0.7),
    make("auto-several", classes="auto", multilabel=True),
    make("auto-scores", classes="auto", from_scores=True),
    make("auto-top-k", classes="auto", top_k=2),
    make("top-k-two", top_k=2),
    make("top-k-many", classes=3, top_k=4),
    make("top-k-several", classes=3, multilabel=True, top_k=2),
    make("top-k-labels-option", classes=3, top_k=2, from_scores=False),
]


def read(id: str, text: str, name: str = "read_run") -> Case:  # noqa: A002
    """Fail in reading a file."""

    return Case(id, reading(text, getattr(se.io, name)))


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
    Case("run-path", lambda: se.io.read_run([])),  # type: ignore[arg-type]
    Case("run-rows", lambda: se.io.iter_run("a", rows=0)),
    read("run-fields", "\nq1 Q0 d1"),
    read("qrels-fields", "q1", "read_qrels"),
    read("run-score", "q1 Q0 d1 1 x tag"),
    read("qrels-rel", "q1 0 d1 inf", "read_qrels"),
    read("run-twice", "q1 Q0 d1 1 3 tag\n" * 2),
    read("run-back", SCATTERED, "iter_run"),
    Case("run-scattered", reading(SCATTERED, lambda path: sized_runs(str(path), 1))),
]

TWICE = pa.table([[1], [1], [1]], names=["y_true", "y_true", "y_pred"])

TOTALS = [
    Case("total", add(1)),
    Case("total-weight", add(2)),
    Case("total-half", add_halves),
    Case("total-pooled", pool_full),
    Case("total-merge", merge_full),
    Case("total-merge-several", lambda: merge_full(2)),
    Case("weight-uint64", add(2**63)),
    Case("weight-large", add(2.0**63)),
    Case(
        "weight-sum",
        lambda: se.ConfusionAccumulator().update([1] * 4, [1] * 4, sample_weight=[2**62] * 4),
    ),
    Case(
        "weight-carry",
        lambda: se.ConfusionAccumulator().update(
            [1] * 4, [1] * 4, sample_weight=[2.0**63 - 1024, 1023.0, 0.5, 0.5]
        ),
    ),
]

MERGES = [
    Case("merge-number", lambda: se.ConfusionAccumulator().merge(1)),  # type: ignore[arg-type]
    Case("merge-of-numbers", lambda: se.merge([1])),  # type: ignore[list-item]
    Case("merge-nothing", lambda: se.merge([])),
    Case("merge-words", merge_words_into_numbers),
    Case("merge-kind", lambda: se.ConfusionAccumulator().merge(se.RegressionAccumulator())),
    Case(
        "merge-option",
        lambda: se.ConfusionAccumulator().merge(se.ConfusionAccumulator(threshold=0.7)),
    ),
]

LATER = [
    Case("beta-text", lambda: se.ConfusionAccumulator().compute().f_score(beta="2")),  # type: ignore[call-overload]
    update("huge-number", [10**400, 1.5], [1]),
    update("spark-frame", SimpleNamespace(collect=list, toPandas=list, columns=["y_true"])),
    update("other-frame", SimpleNamespace(collect=list, columns=["y_true"])),
    update("lazy-frame", pl.LazyFrame({"y_true": [1]})),
    update("broken-frame", pl.LazyFrame({"y_true": [1]}).select("other")),
    update("column-twice", TWICE),
    make("class-set", classes={"a", "b"}),
    make("class-texts", classes=["a" * 2**20, "b"]),
    make("surrogate", classes=["a", "\ud800"]),
    make("ignored-kind", ignore_label="a"),
    Case(
        "words-after-numbers",
        lambda: se.ConfusionAccumulator("auto").update([1], [1]).update(["a"], ["a"]),
    ),
]

COUNTS = [
    counts("matrix-row", [[1, 2]]),
    counts("matrix-text", [["a", "b"], ["c", "d"]]),
    counts("matrix-labels", pd.DataFrame([[1, 2], [3, 4]], index=["a", "b"], columns=["b", "a"])),
    counts("matrix-top", PAIR * 2, top_k=2),
    counts("matrix-auto", PAIR * 2, classes="auto"),
    counts("matrix-classes", PAIR * 2, classes=3),
    counts("matrix-total", [[2**62, 2**62], [0, 0]]),
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


@functools.cache
def failure(case: Case) -> tuple[type[Exception], str, Site]:
    """The type and text of the error of a case, and the file and line that raise it."""
    with pytest.raises(Exception) as caught:  # noqa: PT011 - a file has its type and text
        case.provoke()
    *_, (frame, line) = traceback.walk_tb(caught.tb)
    return caught.type, str(caught.value), (frame.f_code.co_filename, line)


def check_messages(name: str, cases: list[Case], by_custom: Iterable[Case] = ()) -> None:
    """Compare errors with those of a file: they are whole, and name the argument to blame.

    Errors by custom are those of mappings and attributes.
    """
    lines = []
    for case in (*cases, *by_custom):
        error, text, _ = failure(case)
        message = re.sub(r"(cannot be read from LazyFrame: ).*", r"\1...", text)
        message = re.sub(r"^\S+/(file, line)", r"\1", message)
        lines.append(f"{case.id}: {error.__name__}: {message}")
    recorded.check(name, lines)
    assert len({case.id for case in cases}) == len(cases)


def check_message(case: Case) -> None:
    error, message, _ = failure(case)
    assert issubclass(error, se.StreamevalError)
    subject = re.sub(r"^member '[^']+': ", "", message)
    of_metric = r"|(no (metric|class) )?'[^']+': |\w+\([^()]*\): "  # which was asked for by name
    forms = r"`[a-z_]+(=\S+)?` |cannot merge: |\S+, line \d+: "
    forms += of_metric if issubclass(error, UnknownMetricError) else ""
    assert re.match(forms, subject)
    assert re.search(r"[^.]\.$", message)
    assert not set(message) & set("{}\n")
    assert "np." not in message


def missed_raises(names: list[str], cases: list[Case]) -> list[str]:
    """The raise statements of some modules that no case reaches."""
    provoked = {failure(case)[2] for case in cases}
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
    by_custom = Case("an-unknown-option", lambda: se.ConfusionAccumulator(num_classes=3))  # type: ignore[call-arg]
    no_threshold = Case("no-threshold", lambda: se.PRCurveSketch().compute().recall_at())  # type: ignore[call-arg]
    assert missed_raises(MODULES, [*CASES, by_custom, no_threshold]) == []


def test_messages_are_those_of_the_file() -> None:
    check_messages("messages.txt", CASES)
