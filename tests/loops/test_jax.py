"""JAX without an adapter: compile what predicts, count outside, as the page says."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from loops.digits import (
    BATCH,
    N_VALID,
    TRAIN,
    VALID,
    assert_equal_to_scikit_learn,
    collection,
)

import streameval as se

jax = pytest.importorskip("jax", reason="JAX is not installed")

from jax import numpy as jnp  # noqa: E402

from streameval.loops.jax import confusion_counts  # noqa: E402

pytestmark = [pytest.mark.engine(name="jax"), pytest.mark.filterwarnings("default")]


@jax.jit
def predict(weights: Any, x: Any) -> Any:
    return jax.nn.softmax(x @ weights)


@jax.jit
def step(weights: Any, x: Any, y: Any) -> Any:
    def loss(weights: Any) -> Any:
        return -jnp.log(predict(weights, x))[jnp.arange(len(y)), y].mean()

    return weights - 0.5 * jax.grad(loss)(weights)


def batches(data: Any) -> Any:
    places = range(BATCH, len(data[1]), BATCH)
    return list(zip(*(np.split(array, places) for array in data), strict=True))


@pytest.fixture(scope="module")
def trained() -> Any:
    """Two epochs: the weights, and after each what was counted and what was predicted."""
    weights, metrics, epochs = jnp.zeros((64, 10)), collection(), []
    for _ in range(2):
        for x, y in batches(TRAIN):
            weights = step(weights, x, y)
        metrics.reset()
        predicted = []
        for x, y in batches(VALID):
            predicted.append(predict(weights, x))
            metrics.update({"y_true": jnp.asarray(y), "p": predicted[-1]})
        epochs.append((metrics.copy(), np.concatenate(predicted)))
    return weights, epochs


@pytest.mark.parametrize("epoch", [0, 1])
def test_every_number_is_that_of_scikit_learn(trained: Any, epoch: int) -> None:
    metrics, predicted = trained[1][epoch]
    assert_equal_to_scikit_learn(metrics.compute().as_dict(), VALID[1], predicted)


@pytest.mark.parametrize("epoch", [0, 1])
def test_epochs_do_not_leak_and_a_smaller_last_batch_counts_its_rows(
    trained: Any, epoch: int
) -> None:
    metrics, predicted = trained[1][epoch]
    whole = collection().update({"y_true": VALID[1], "p": predicted})
    assert metrics.to_bytes() == whole.to_bytes()
    assert metrics.n["cm"] == N_VALID


def test_a_last_batch_that_is_filled_up_and_cut_counts_the_same(trained: Any) -> None:
    weights, _ = trained
    cut, filled = se.ConfusionAccumulator(10), se.ConfusionAccumulator(10)
    for x, y in batches(VALID):
        cut.update(y, predict(weights, x))
        padded = np.concatenate([x, np.zeros((BATCH - len(x), 64), x.dtype)])
        filled.update(y, predict(weights, padded)[: len(y)])
    assert filled.to_bytes() == cut.to_bytes()


def test_an_update_in_a_compiled_function_is_refused_and_counts_nothing() -> None:
    acc = se.ConfusionAccumulator(10)

    @jax.jit
    def count(x: Any) -> Any:
        acc.update(jnp.arange(10), x)
        return x

    with pytest.raises(se.InvalidInputError, match="Call update outside jit"):
        count(jnp.eye(10))
    assert acc == se.ConfusionAccumulator(10)


def test_a_callback_counts_within_a_compiled_function() -> None:
    acc = se.ConfusionAccumulator(10)

    @jax.jit
    def count(labels: Any, scores: Any) -> None:
        jax.debug.callback(acc.update, labels, scores)

    for _ in range(2):
        count(jnp.arange(10), jnp.eye(10))
    jax.effects_barrier()
    assert (acc.n, acc.compute().accuracy) == (20, 1.0)


def test_going_on_from_a_checkpoint_equals_never_having_stopped(trained: Any) -> None:
    weights, epochs = trained
    stopped, resumed = collection(), collection()
    for x, y in batches(VALID)[:5]:
        stopped.update({"y_true": y, "p": predict(weights, x)})
    resumed.load_state_dict(stopped.state_dict())
    for x, y in batches(VALID)[5:]:
        resumed.update({"y_true": y, "p": predict(weights, x)})
    assert resumed.to_bytes() == epochs[-1][0].to_bytes()


@jax.jit
def scanned(labels: Any, predictions: Any) -> Any:
    def add(counts: Any, batch: Any) -> Any:
        return counts + confusion_counts(*batch, 10, ignore_label=-100), None

    return jax.lax.scan(add, jnp.zeros((10, 10), int), (labels, predictions))[0]


def read(labels: Any, predictions: Any) -> None:
    jax.block_until_ready(scanned(labels, predictions))
    jax.effects_barrier()


def drawn() -> tuple[Any, Any]:
    """Labels of four batches, a few of them padding, and scores."""
    random = np.random.default_rng(0)
    labels = random.integers(0, 10, (4, 25))
    labels[:, 20:] = -100
    return labels, random.normal(size=(4, 25, 10)).astype(np.float32)


@pytest.mark.parametrize("form", ["scores", "labels"])
def test_counts_within_a_scan_are_those_of_updates(form: str) -> None:
    labels, scores = drawn()
    predictions = scores if form == "scores" else scores.argmax(axis=-1)
    counted = se.ConfusionAccumulator.from_matrix(scanned(labels, predictions), ignore_label=-100)
    updated = se.ConfusionAccumulator(10, ignore_label=-100)
    for batch in zip(labels, predictions, strict=True):
        updated.update(*batch)
    assert counted.to_bytes() == updated.to_bytes()
    assert counted.n == 80


@pytest.mark.parametrize("side", ["y_true", "y_pred"])
def test_counts_of_values_that_are_no_classes_are_refused_when_they_are_read(side: str) -> None:
    labels, scores = drawn()
    if side == "y_true":
        labels[2, 3] = 10
    else:
        scores[2, 3, 1] = np.nan
    with pytest.raises(Exception, match=f"`{side}` must hold labels 0 to 9"):
        read(labels, scores)


def test_counts_of_several_models_at_once_are_those_of_each() -> None:
    labels, scores = drawn()
    each = jax.vmap(lambda y, p: confusion_counts(y, p, 10, ignore_label=-100))(labels, scores)
    jax.effects_barrier()
    assert each.sum(axis=0).tolist() == scanned(labels, scores).tolist()


def test_counts_of_other_shapes_or_floats_as_labels_are_refused_at_once() -> None:
    labels, scores = map(jnp.asarray, drawn())
    for wrong in (scores[..., :9], scores[..., 0]):
        with pytest.raises(se.InvalidInputError, match="`y_pred` must be labels of shape"):
            confusion_counts(labels, wrong, 10)


@pytest.mark.parametrize("dtype", [jnp.float16, jnp.bfloat16])
def test_counts_stay_exact_in_half_precision(dtype: Any) -> None:
    n_rows = 70_000  # float16 ends at 65,504
    score = np.random.default_rng(0).normal(size=n_rows)
    rounded = jnp.asarray(score, dtype)
    label = np.random.default_rng(1).integers(0, 2, n_rows)
    acc = se.PRCurveSketch(None, scores="real")
    for rows in np.split(np.arange(n_rows), 7):
        acc.update(label[rows], rounded[rows])
    whole = se.PRCurveSketch(None, scores="real").update(label, np.asarray(rounded, np.float64))
    assert acc.to_bytes() == whole.to_bytes()
    assert acc.n == n_rows


def test_processes_gather_as_the_page_says() -> None:
    from loops.jax_ranks import counted

    n_ranks = 2
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{found.getsockname()[1]}"
    tests = str(Path(__file__).parents[1])
    environment = os.environ | {"PYTHONPATH": tests, "JAX_PLATFORMS": "cpu"}
    ranks = [
        subprocess.Popen(
            [sys.executable, "-m", "loops.jax_ranks", address, str(rank), str(n_ranks)],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(n_ranks)
    ]
    said = [rank.communicate(timeout=600)[0].splitlines()[-1] for rank in ranks]
    assert said == [se.merge(counted(rank) for rank in range(n_ranks)).to_bytes().hex()] * n_ranks
