"""Adapters to training loops, as far as they go without the frameworks."""

from __future__ import annotations

import pickle
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from offenders import each

import streameval as se
from streameval.loops.transformers import Evaluate

LOGITS = np.array([[2.0, 0.5, 0.1], [0.3, 0.2, 0.9], [0.1, 0.4, 0.2]])


def batch(*labels: int, predictions: Any = LOGITS) -> Any:
    return SimpleNamespace(label_ids=np.array(labels), predictions=predictions)


def label_and_score(pred: Any) -> dict[str, Any]:
    return {"y_true": pred.label_ids == 1, "y_score": pred.predictions[1]}


@pytest.mark.slow
@each(
    ("module", "message"),
    [
        ("ignite", 'Ignite is missing: pip install "streameval[ignite]".'),
        ("jax", 'JAX is missing: pip install "streameval[jax]".'),
        ("lightning", 'Lightning is missing: pip install "streameval[lightning]".'),
        (
            "keras",
            (
                'Keras or its backend is missing: pip install "streameval[keras]" jax, '
                "and set KERAS_BACKEND=jax."
            ),
        ),
    ],
)
def test_a_missing_framework_is_named_with_what_installs_it(module: str, message: str) -> None:
    code = f"import sys; sys.modules['{module}'] = None; import streameval.loops.{module}"
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.stderr.splitlines()[-1] == f"ImportError: {message}"


@pytest.mark.slow
@each("module", ["transformers", "torch"])
def test_the_adapter_to_transformers_does_not_import(module: str) -> None:
    code = f"import sys, streameval.loops.transformers; sys.exit({module!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_metrics_come_with_the_last_batch() -> None:
    evaluate = Evaluate(se.ConfusionAccumulator(3))
    assert evaluate(batch(0, 2, 2), compute_result=False) == {}
    values = evaluate(batch(0, 0, 1), compute_result=True)
    whole = se.ConfusionAccumulator(3).update([0, 2, 2, 0, 0, 1], np.concatenate([LOGITS] * 2))
    assert values == whole.compute().as_dict()
    assert evaluate.accumulator == whole


def test_the_next_evaluation_begins_with_nothing() -> None:
    evaluate = Evaluate(se.ConfusionAccumulator(3))
    assert evaluate(batch(0, 2, 2), compute_result=True)["n"] == 3
    assert evaluate(batch(0, 2, 2), compute_result=True)["n"] == 3
    evaluate(batch(0, 2, 2), compute_result=False)
    assert evaluate(batch(0, 2, 2), compute_result=True)["n"] == 6


def test_predictions_of_a_whole_evaluation_count_once_with_a_warning() -> None:
    evaluate = Evaluate(se.ConfusionAccumulator(3))
    evaluate(batch(0, 0, 0), compute_result=False)
    for _ in range(2):
        with pytest.warns(UserWarning, match="batch_eval_metrics=True"):
            assert evaluate(batch(0, 2, 2))["n"] == 3


def evaluation_loop(evaluate: Any, labels: Any) -> Any:
    """Call as the trainer does; None stands for an interruption."""
    for number, label in enumerate(labels, start=1):
        if label is None:
            raise KeyboardInterrupt
        found = evaluate(batch(label, 2, 2), number == len(labels))
        assert pickle.loads(pickle.dumps(evaluate)).accumulator == evaluate.accumulator
    return found


def test_an_interrupted_evaluation_does_not_count_in_the_next() -> None:
    evaluate = Evaluate(se.ConfusionAccumulator(3))
    assert evaluation_loop(evaluate, [0, 1])["n"] == 6
    with pytest.raises(KeyboardInterrupt):
        evaluation_loop(evaluate, [0, 1, None])
    with pytest.warns(UserWarning, match="an evaluation was interrupted: its batches are"):
        assert evaluation_loop(evaluate, [0, 1, 0])["n"] == 9
    assert evaluation_loop(evaluate, [0])["n"] == 3


def test_reset_forgets_an_evaluation_that_was_interrupted() -> None:
    evaluate = Evaluate(se.ConfusionAccumulator(3))
    evaluate(batch(0, 2, 2), compute_result=False)
    evaluate.reset()
    assert evaluate(batch(0, 2, 2), compute_result=True)["n"] == 3


def test_read_names_the_arrays() -> None:
    evaluate = Evaluate(se.PRCurveSketch(), read=label_and_score)
    score = np.array([0.2, 0.7, 0.4])
    values = evaluate(batch(0, 1, 2, predictions=(None, score)), compute_result=True)
    assert values["roc_auc"] == 1


@each("several", [(LOGITS, LOGITS), [LOGITS], {"logits": LOGITS}])
def test_several_predictions_are_refused_without_read(several: Any) -> None:
    evaluate = Evaluate(se.ConfusionAccumulator(3))
    kind = type(several).__name__
    with pytest.raises(
        se.InvalidInputError, match=f"`read` must choose among several predictions, got a {kind}"
    ):
        evaluate(batch(0, 1, 2, predictions=several), compute_result=False)


def test_what_is_given_is_copied_and_empty() -> None:
    given = se.ConfusionAccumulator(3).update([0], [1])
    evaluate = Evaluate(given)
    assert evaluate.accumulator.n == 0
    evaluate(batch(0, 1, 2), compute_result=True)
    assert given.n == 1


@each("accumulator", [None, 3, se.ConfusionAccumulator])
def test_what_is_no_accumulator_is_refused(accumulator: Any) -> None:
    with pytest.raises(se.InvalidInputError, match=r"^`accumulator` must be an accumulator, got"):
        Evaluate(accumulator)


@each("shift", [False, True])
def test_labels_are_those_of_the_next_outputs_if_they_are_shifted(shift: bool) -> None:
    evaluate = Evaluate(se.ConfusionAccumulator(2, ignore_label=-100), shift=shift)
    tokens = np.array([[0, 1, 1, -100]])
    outputs = np.eye(2)[np.array([[1, 1, 0, 0]])]
    found = evaluate(SimpleNamespace(label_ids=tokens, predictions=outputs), compute_result=True)
    assert (found["n"], found["accuracy"]) == ((2, 1.0) if shift else (3, 1 / 3))
