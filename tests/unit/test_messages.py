"""Every message of the counting modules: provoked, whole, and naming the argument to blame."""

import ast
import importlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import streameval as se

MODULES = [
    *("_arrays", "_batches", "_labels", "_fixed_point", "_exact_sum", "_decisions"),
    *("_plain_batches", "_highest_scores", "confusion", "states.confusion"),
    *("regression", "states.regression"),
    *("configs.confusion", "configs.options", "configs.regression"),
]

LARGEST = 2**63 - 1
BOTH = {"y_true": [1], "y_pred": [1]}


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


def regress(id: str, says: str, *batch: Any) -> Case:  # noqa: A002 - the word for it in pytest
    """Fail in an update of numbers."""
    return Case(id, lambda: se.RegressionAccumulator().update(*batch), says)


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


def merge_full() -> object:
    full = se.ConfusionAccumulator().update([1], [1], sample_weight=[LARGEST])
    return full.merge(full)


ARRAYS = [
    update("bytes", "`y_true` must hold numbers or strings, got dtype |S1.", [b"a"], [1]),
    update("complex", "`y_pred` must hold numbers or strings, got dtype complex128.", [1], [1j]),
    update("mixed", "`y_true` must hold numbers or strings, one of the two", [1, "a"], [1, 1]),
    update("missing", "`y_pred` must not hold missing values, got None at", [1], [None]),
    update("masked", "`y_true` must not hold masked", np.ma.array([1], mask=[True]), [1]),
    update("set", "`y_true` must be an array, got set.", {1}, [1]),
    update("ragged", "`y_true` must be an array: setting", [[1], [1, 2]], [1, 1]),
    update("rows", "`y_true` must have rows of one length", np.array([[1], [1, 2]], object), [1]),
    update("traced", "`y_pred` is a traced JAX array. Call update outside jit.", [1], Jit()),
    update("tensor", "`y_pred` must be a dense tensor of numbers: sparse.", [1], Tensor()),
    update("uint64", "`y_true` must hold labels below 2**63", np.array([2**63], np.uint64), [1]),
    update("nan-label", "`y_true` must hold labels, got nan", [np.nan], [1]),
    update("half-label", "`y_true` must hold labels, whole if numbers, got 0.5", [0.5], [1]),
    update("large-label", "`y_true` must hold labels within 64 bits", [1e300], [1]),
    update("string-scores", "`y_pred` must hold scores, got strings", [1], ["a"], from_scores=True),
    update("nan-score", "`y_pred` must not hold NaN, got NaN at position 0.", [1], [np.nan]),
    update("scalar", "`y_true` must have shape (n,), got a scalar.", 1, 1),
    update("matrix", "`y_true` must have shape (n,), got (1, 1).", [[1]], [1]),
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
    make("class", "`classes` must be an integer or a string, got None.", classes=[1, None]),
    make("class-word", '`classes` must be a number, a sequence of labels or "auto"', classes="cat"),
    make("class-none", '`classes` must be a number, a sequence of labels or "auto"', classes=None),
    make("class-bool", "`classes` must be a number or labels, got True.", classes=True),
    make("class-least", "`classes` must be at least 2, got 1.", classes=1),
    make("class-least-one", "`classes` must be at least 1, got 0.", classes=0, multilabel=True),
    make("class-mixed", "`classes` must be all numbers or all strings", classes=[1, "a"]),
    make("class-twice", "`classes` must be distinct, got 'a' twice.", classes=["a", "a"]),
    make("class-bits", "`classes` must fit 64 bits, got 9223372036854775808.", classes=[0, 2**63]),
    make("class-memory", "`classes` ", classes=2**40),
    make("pos-label-kind", "`pos_label` must be an integer or a string", pos_label=0.5),
    make("ignore-label", "`ignore_label` must be an integer or a string", ignore_label=[1]),
    update("words", "`y_true` holds strings, but the classes are numbers", ["1"], [1]),
    update("numbers", "`y_pred` holds numbers, but the", ["a"], [1], classes=["a", "b"]),
    update("unknown", "`y_true` must hold labels 0 to 1, got 7 at position 1.", [1, 7], [1, 1]),
    Case("limit", many_labels, '`classes="auto"` meets at most 4096 labels, got 4097'),
    Case("limit-merge", merge_many_labels, '`classes="auto"` meets at most 4096 labels, got 4097'),
]

NUMBERS = [
    regress("number-strings", "`y_true` must hold numbers, got strings.", ["1"], [1]),
    regress("number-nan", "`y_pred` must be finite and at most 2**400 in", [1], [np.nan]),
    regress("number-inf", "`y_true` must be finite and at most 2**400 in", [np.inf], [1]),
    regress("number-large", "`y_true` must be finite and at most 2**400", [1.0, 1e300], [1, 1]),
    regress("number-rows", "`y_pred` must have 2 rows, got 1.", [1, 2], [1]),
    regress("number-shape", "`y_true` must have shape (n,), got (1, 1).", [[1]], [1]),
]

SEVERAL = {"classes": 2, "multilabel": True}

DECISIONS = [
    update("presence", "`y_true` must hold 0 and 1, got 2 at", [[0, 2]], [[0, 1]], **SEVERAL),
    update("presence-hint", "Pass from_scores=True if these", [[0, 1]], [[0, 5]], **SEVERAL),
    update("ambiguous", "`y_pred` holds integers of shape (1,), which", [1], [4], threshold=3),
    update("top-k-labels", "`y_pred` must hold scores for top_k=2", [1], [1], classes=3, top_k=2),
    update("two-columns", "y_pred[:, 1]", [1], [[0.5, 0.5]]),
    update("one-column", "`y_pred` must have shape (n, 3) as scores", [1], [0.5], classes=3),
    update("auto-floats", "`y_pred` holds floats, and", [1], [1.0], classes="auto"),
    update("auto-kinds", "`y_true` and `y_pred` must both be", [1], ["1"], classes="auto"),
    update("several-shape", "`y_true` must have shape (n, 2), got (1,).", [1], [1], **SEVERAL),
]

OPTIONS = [
    make("flag", "`multilabel` must be True or False, got 1.", multilabel=1),
    make("flag-unseen", "`include_unseen` must be True or False", include_unseen=None),
    make("optional-flag", "`from_scores` must be True, False or None, got 0.", from_scores=0),
    make("number", "`threshold` must be a number, got None.", threshold=None),
    make("option-huge", "`threshold` must be a number, got 1", threshold=10**400),
    make("option-word", "`threshold` must be a finite number, got '0.5'.", threshold="0.5"),
    make("option-nan", "`threshold` must be a finite number, got nan.", threshold=np.nan),
    make("integer", "`top_k` must be an integer, got 1.5.", top_k=1.5),
    make("integer-least", "`top_k` must be an integer of at least 1, got 0.", top_k=0),
    make("integer-bool", "`top_k` must be an integer of at least 1, got True.", top_k=True),
    make("pos-label-many", "`pos_label` needs exactly two listed", classes=3, pos_label=1),
    make("pos-label-auto", "`pos_label` needs exactly two listed", classes="auto", pos_label=1),
    make("pos-label", "`pos_label` must be one of the two classes (0, 1), got 2.", pos_label=2),
    make("threshold-many", "`threshold` decides two classes or", classes=3, threshold=0.7),
    make("auto-several", "`classes` must be a number or a seq", classes="auto", multilabel=True),
    make("auto-scores", "`from_scores` needs the classes listed", classes="auto", from_scores=True),
    make("auto-top-k", "`top_k` needs the classes listed", classes="auto", top_k=2),
    make("top-k-two", "`top_k` must be 1, or at most the number of", top_k=2),
    make("top-k-many", "`top_k` must be 1, or at most the number of", classes=3, top_k=4),
    make("top-k-several", "`top_k` must be 1, or at most", classes=3, multilabel=True, top_k=2),
    make("top-k-labels-option", "`top_k` needs scores", classes=3, top_k=2, from_scores=False),
]

TWICE = pa.table([[1], [1], [1]], names=["y_true", "y_true", "y_pred"])

OVERFLOW = "`sample_weight` would bring the total past 2**63 - 1."
TOTALS = [
    Case("total", add(1), OVERFLOW, se.CountOverflowError),
    Case("total-half", add_halves, OVERFLOW, se.CountOverflowError),
    Case("total-merge", merge_full, OVERFLOW, se.CountOverflowError),
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
        "cannot merge: the labels met are numbers on one side and strings on the other.",
        se.IncompatibleStateError,
    ),
    Case(
        "merge-kind",
        lambda: se.ConfusionAccumulator().merge(se.RegressionAccumulator()),  # type: ignore[arg-type]
        "cannot merge: the kind differs (ConfusionAccumulator and RegressionAccumulator).",
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
    Case("beta-text", lambda: se.ConfusionAccumulator().compute().f_score("2"), "`beta` must be a"),  # type: ignore[arg-type]
    update(
        "huge-number", "`y_true` must hold numbers within the range of float64", [10**400, 1.5], [1]
    ),
    update("lazy-frame", "`batch` must hold data, got a LazyFrame.", pl.LazyFrame({"y_true": [1]})),
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
        "must hold labels of the type met before",
    ),
]

CASES = [
    *LATER,
    *ARRAYS,
    *WEIGHTS,
    *BATCHES,
    *LABELS,
    *NUMBERS,
    *DECISIONS,
    *OPTIONS,
    *TOTALS,
    *MERGES,
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


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_message_is_whole_and_names_the_argument(case: Case) -> None:
    with pytest.raises(case.kind) as caught:
        case.provoke()

    message = str(caught.value)
    assert type(caught.value) is case.kind
    assert isinstance(caught.value, se.StreamevalError)
    assert case.says in message
    assert re.match(r"`[a-z_]+(=\S+)?` |cannot merge: ", message)
    assert re.search(r"[^.]\.$", message)
    assert not set(message) & set("{}\n")
    assert "np." not in message


def test_every_raise_statement_is_provoked() -> None:
    provoked = {provoked_site(case) for case in CASES}
    modules = [importlib.import_module(f"streameval.{name}") for name in MODULES]
    missed = [
        f"{path}:{lines.start}"
        for module in modules
        for path, lines in raise_sites(module)
        if not any((path, line) in provoked for line in lines)
    ]
    assert missed == []


def test_cases_have_distinct_ids() -> None:
    ids = [case.id for case in CASES]
    assert len(ids) == len(set(ids))
