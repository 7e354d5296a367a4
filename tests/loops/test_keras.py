"""Keras: what the callback logs is what scikit-learn computes of all predictions."""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import Any

import numpy as np
import pytest
from loops.digits import (
    BATCH,
    IMAGES,
    LABELS,
    N_VALID,
    TRAIN,
    VALID,
    assert_equal_to_scikit_learn,
    collection,
)

import streameval as se

os.environ.setdefault("KERAS_BACKEND", "jax")
keras = pytest.importorskip("keras", reason="Keras is not installed")

from streameval.loops.keras import Evaluate  # noqa: E402

pytestmark = [pytest.mark.engine(name="keras"), pytest.mark.filterwarnings("default")]


def digits(units: int = 10, activation: str = "softmax", loss: str | None = None) -> Any:
    keras.utils.set_random_seed(0)
    layers = [keras.Input((64,)), keras.layers.Dense(units, activation=activation)]
    model = keras.Sequential(layers)
    loss = loss or "sparse_categorical_crossentropy"
    model.compile(keras.optimizers.SGD(0.5), loss, metrics=["accuracy"])
    return model


def fit(model: Any, *callbacks: Any, data: Any = TRAIN, epochs: int = 2, **options: Any) -> Any:
    options = {"batch_size": BATCH, "shuffle": False, "verbose": 0} | options
    return model.fit(*data, epochs=epochs, callbacks=[*callbacks], **options).history


def labels_and_probabilities(y: Any, y_pred: Any) -> dict[str, Any]:
    return {"y_true": y, "p": y_pred}


class Predict(keras.callbacks.Callback):
    """Keep what the model predicts of all rows after each epoch."""

    def __init__(self) -> None:
        super().__init__()
        self.epochs: list[Any] = []

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        batches = np.split(VALID[0], range(BATCH, N_VALID, BATCH))
        self.epochs.append(np.concatenate([self.model.predict_on_batch(x) for x in batches]))


@pytest.fixture(scope="module")
def trained() -> Any:
    """Two epochs: what was logged, counted after the last, and predicted after each."""
    evaluate = Evaluate(collection(), VALID, read=labels_and_probabilities, batch_size=BATCH)
    predict, model = Predict(), digits()
    history = fit(model, evaluate, predict, validation_data=VALID)
    return history, evaluate, predict.epochs, model


@pytest.mark.parametrize("epoch", [0, 1])
def test_every_number_is_that_of_scikit_learn(trained: Any, epoch: int) -> None:
    history, _, predicted, _ = trained
    values = {name: values[epoch] for name, values in history.items() if "/" in name}
    assert_equal_to_scikit_learn(values, VALID[1], predicted[epoch], prefix="val_")


def test_accuracy_is_that_of_keras(trained: Any) -> None:
    history, _, _, _ = trained
    assert history["val_cm/accuracy"] == pytest.approx(history["val_accuracy"], rel=1e-6)
    assert history["val_cm/accuracy"][-1] > 0.8


def test_evaluations_do_not_leak_and_a_smaller_last_batch_counts_its_rows(trained: Any) -> None:
    _, evaluate, predicted, _ = trained
    whole = collection().update({"y_true": VALID[1], "p": predicted[-1]})
    assert evaluate.accumulator.to_bytes() == whole.to_bytes()
    assert evaluate.accumulator.n["cm"] == N_VALID


def test_training_is_not_disturbed(trained: Any) -> None:
    _, _, _, model = trained
    other = digits()
    fit(other)
    for mine, theirs in zip(model.get_weights(), other.get_weights(), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_a_finished_model_is_evaluated(trained: Any) -> None:
    _, evaluate, predicted, model = trained
    values = evaluate.evaluate(model).as_dict()
    assert_equal_to_scikit_learn(values, VALID[1], predicted[-1])


def test_a_metric_can_be_monitored() -> None:
    evaluate = Evaluate(se.ConfusionAccumulator(10), VALID)
    stop = keras.callbacks.EarlyStopping("val_f_score", mode="max", min_delta=1, patience=0)
    assert len(fit(digits(), evaluate, stop, epochs=5)["val_f_score"]) == 2


class Batches(keras.utils.PyDataset):
    """The rows in batches; like many, it does not say where it ends when it is iterated over."""

    def __len__(self) -> int:
        return N_VALID // BATCH + 1

    def __getitem__(self, place: int) -> Any:
        rows = slice(place * BATCH, (place + 1) * BATCH)
        return VALID[0][rows], VALID[1][rows]


@pytest.mark.parametrize("form", ["list", "PyDataset", "tuple of one batch"])
def test_batches_may_come_in_any_form(form: str) -> None:
    data = Batches()
    forms = {
        "list": [data[place] for place in range(len(data))],
        "PyDataset": data,
        "tuple of one batch": VALID,
    }
    evaluate, model = Evaluate(se.ConfusionAccumulator(10), forms[form], batch_size=10**6), digits()
    evaluate.evaluate(model)
    guess = model.predict(VALID[0], verbose=0).argmax(axis=1)
    assert evaluate.accumulator == se.ConfusionAccumulator(10).update(VALID[1], guess)


def test_weights_are_counted() -> None:
    weight = np.arange(N_VALID) % 3
    evaluate, model = Evaluate(se.ConfusionAccumulator(10), (*VALID, weight)), digits()
    evaluate.evaluate(model)
    guess = model.predict(VALID[0], verbose=0).argmax(axis=1)
    whole = se.ConfusionAccumulator(10).update(VALID[1], guess, sample_weight=weight)
    assert evaluate.accumulator == whole


def test_one_output_is_the_score_of_a_class() -> None:
    fours = (LABELS == 4).astype(np.float32)[:, None]
    model = digits(1, "sigmoid", "binary_crossentropy")
    evaluate = Evaluate(se.PRCurveSketch(), (IMAGES, fours))
    fit(model, evaluate, data=(IMAGES, fours), epochs=1)
    score = model.predict(IMAGES, verbose=0)
    assert score.shape == (1797, 1)
    assert evaluate.accumulator == se.PRCurveSketch().update(fours[:, 0], score[:, 0])


def test_several_inputs_are_cut_together() -> None:
    left, right = keras.Input((32,), name="left"), keras.Input((32,), name="right")
    joined = keras.layers.Concatenate()([left, right])
    model = keras.Model({"left": left, "right": right}, keras.layers.Dense(10)(joined))
    x = {"left": VALID[0][:, :32], "right": VALID[0][:, 32:]}
    evaluate = Evaluate(se.ConfusionAccumulator(10), (x, VALID[1]), batch_size=BATCH)
    evaluate.evaluate(model)
    guess = model.predict(x, verbose=0).argmax(axis=1)
    assert evaluate.accumulator == se.ConfusionAccumulator(10).update(VALID[1], guess)


def test_counts_stay_exact_in_half_precision() -> None:
    n_rows = 70_000  # float16 ends at 65,504
    x = np.resize(VALID[0], (n_rows, 64))
    y = np.resize(VALID[1], n_rows)
    keras.utils.set_random_seed(0)
    half = keras.Sequential([keras.Input((64,)), keras.layers.Dense(10, dtype="float16")])
    assert half.predict_on_batch(x[:1]).dtype == np.float16
    evaluate = Evaluate(se.ConfusionAccumulator(10), (x, y), batch_size=7_000)
    result = evaluate.evaluate(half)
    assert evaluate.accumulator.n == int(result.matrix.sum()) == n_rows


def test_an_evaluation_that_fails_leaves_the_last_one() -> None:
    model, evaluate = digits(), Evaluate(se.ConfusionAccumulator(10), [VALID])
    evaluate.evaluate(model)
    evaluate._data.append((VALID[0], VALID[1] + 100))
    with pytest.raises(se.InvalidInputError):
        evaluate.evaluate(model)
    assert evaluate.accumulator.n == N_VALID


@pytest.mark.parametrize(
    ("accumulator", "data", "message"),
    [
        (3, VALID, "`accumulator` must be an accumulator, got int"),
        (se.ConfusionAccumulator(10), iter([VALID]), "`data` must be there after each epoch"),
    ],
)
def test_what_cannot_be_evaluated_is_refused(accumulator: Any, data: Any, message: str) -> None:
    with pytest.raises(se.InvalidInputError, match=message):
        Evaluate(accumulator, data)


def test_a_missing_framework_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keras", None)
    spec = importlib.util.spec_from_file_location(
        "adapter", sys.modules[Evaluate.__module__].__file__
    )
    assert spec is not None
    assert spec.loader is not None
    with pytest.raises(ImportError, match=r"is missing: pip install \"streameval\[keras\]\""):
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def test_an_epoch_without_logs_is_evaluated() -> None:
    evaluate = Evaluate(se.ConfusionAccumulator(10), VALID)
    evaluate.set_model(digits())
    evaluate.on_epoch_end(0)
    assert evaluate.accumulator.n == N_VALID


def test_metrics_are_chosen_and_logits_of_two_classes_are_scores() -> None:
    model = digits(2, "linear", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    is_five = (VALID[0], VALID[1] >= 5)
    callback = Evaluate(se.PRCurveSketch(), is_five, metrics=["roc_auc"], prefix="five_")
    history = fit(model, callback, data=(TRAIN[0], TRAIN[1] >= 5))
    logits = model.predict_on_batch(VALID[0])
    scores = 1 / (1 + np.exp(logits[:, 0].astype(float) - logits[:, 1].astype(float)))
    expected = se.PRCurveSketch().update(is_five[1], scores).compute().roc_auc
    assert history["five_roc_auc"][-1] == expected
    assert {name for name in history if name.startswith("five_")} == {"five_roc_auc"}


def test_one_hot_labels_are_counted_as_labels() -> None:
    one_hot = np.eye(10)[VALID[1]]
    evaluate = Evaluate(se.ConfusionAccumulator(10), (VALID[0], one_hot), per_class=True)
    model = digits(loss="categorical_crossentropy")
    found = fit(model, evaluate, data=(TRAIN[0], np.eye(10)[TRAIN[1]]), epochs=1)
    same = Evaluate(se.ConfusionAccumulator(10), VALID)
    same.evaluate(model)
    assert evaluate.accumulator == same.accumulator
    assert found["val_recall[3]"] == [float(same.accumulator.compute().recall(average=None)[3])]


def test_a_function_makes_the_accumulator_of_the_model() -> None:
    evaluate = Evaluate(lambda model: se.ConfusionAccumulator(model.output_shape[-1]), VALID)
    assert evaluate.accumulator is None
    model = digits(12)
    fit(model, evaluate, epochs=1)
    assert evaluate.accumulator.compute().matrix.shape == (12, 12)
    evaluate = Evaluate(lambda model: 3, VALID)
    with pytest.raises(se.InvalidInputError, match="must be an accumulator, got int"):
        evaluate.evaluate(model)
    evaluate = Evaluate(lambda model: se.ConfusionAccumulator(12), VALID, metrics=["acuracy"])
    with pytest.raises(se.InvalidInputError, match="did you mean 'accuracy'"):
        evaluate.evaluate(model)


@pytest.mark.parametrize("data", [VALID, [VALID], Batches()], ids=["arrays", "list", "PyDataset"])
def test_a_mistake_is_found_before_the_first_epoch(data: Any) -> None:
    model, logged = digits(), keras.callbacks.History()
    with pytest.raises(se.InvalidInputError, match=r"shape \(n, 12\), got \(.*, 10\)"):
        fit(model, logged, Evaluate(se.ConfusionAccumulator(12), data))
    assert logged.history == {}


def test_tokens_are_shifted_on_request() -> None:
    random = np.random.default_rng(0)
    tokens = random.integers(0, 10, (30, 7))
    labels = np.where(random.random((30, 7)) < 0.3, -100, tokens)
    model = keras.Sequential([keras.Input((7,)), keras.layers.Embedding(10, 10)])
    mask = (labels != -100) & (random.random((30, 7)) < 0.5)
    found = model.predict(tokens, verbose=0).argmax(axis=-1)[:, :-1]
    for weight in ((), (mask,)):
        accumulator = se.ConfusionAccumulator(10, ignore_label=-100)
        evaluate = Evaluate(accumulator, (tokens, labels, *weight), shift=True)
        result, counts = evaluate.evaluate(model), labels[:, 1:] != -100
        counts &= mask[:, 1:] if weight else True
        assert result.n == counts.sum()
        assert result.accuracy == (found == labels[:, 1:])[counts].mean()
