"""Hugging Face: the metrics of batches are what scikit-learn computes of all predictions."""

from __future__ import annotations

import pickle
import socket
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from loops.digits import N_VALID, VALID, assert_equal_to_scikit_learn, collection

import streameval as se

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("transformers", reason="transformers is not installed")

from loops.transformers_digits import Digits, Tagger, probabilities, run_rank, trainer  # noqa: E402

from streameval.loops.transformers import Evaluate  # noqa: E402

pytestmark = [
    pytest.mark.engine(name="transformers"),
    pytest.mark.filterwarnings("default"),
]


def predicted(model: Any, folder: Any) -> Any:
    """Labels and probabilities, collected by a trainer without batch metrics."""
    found = trainer(folder, None, model).predict(trainer(folder, None).eval_dataset)
    given = probabilities(SimpleNamespace(predictions=found.predictions, label_ids=found.label_ids))
    return given["y_true"], given["p"].numpy()


def counted(y: Any, p: Any) -> se.Collection:
    return collection().update({"y_true": y, "p": p})


def metrics_of(logged: Any) -> dict[str, float]:
    """Leave out what the trainer itself logs."""
    return {name: value for name, value in logged.items() if "/" in name}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: Any) -> Any:
    folder = tmp_path_factory.mktemp("trained")
    evaluate = Evaluate(collection(), read=probabilities)
    made = trainer(folder, evaluate)
    made.train()
    return made, evaluate, predicted(made.model, folder)


def test_every_number_is_that_of_scikit_learn(trained: Any) -> None:
    made, _, (y, p) = trained
    logged = [entry for entry in made.state.log_history if "eval_cm/accuracy" in entry]
    assert len(logged) == 2
    assert_equal_to_scikit_learn(metrics_of(logged[-1]), y, p, prefix="eval_")
    assert logged[-1]["eval_cm/accuracy"] > 0.8


def test_evaluations_do_not_leak_and_a_smaller_last_batch_counts_its_rows(trained: Any) -> None:
    _, evaluate, (y, p) = trained
    assert evaluate.accumulator.to_bytes() == counted(y, p).to_bytes()
    assert evaluate.accumulator.n["cm"] == N_VALID


def test_an_evaluation_after_training_gives_the_same(trained: Any) -> None:
    made, evaluate, (y, p) = trained
    assert_equal_to_scikit_learn(metrics_of(made.evaluate()), y, p, prefix="eval_")
    assert evaluate.accumulator.n["cm"] == N_VALID


def test_prediction_gives_the_same_by_its_name(trained: Any) -> None:
    made, _, (y, p) = trained
    logged = made.predict(made.eval_dataset).metrics
    assert_equal_to_scikit_learn(metrics_of(logged), y, p, prefix="test_")


def test_without_read_labels_and_predictions_are_counted(tmp_path: Any) -> None:
    evaluate, model = Evaluate(se.ConfusionAccumulator(10)), Digits()
    logged = trainer(tmp_path, evaluate, model).evaluate()
    y, p = predicted(model, tmp_path)
    assert logged["eval_accuracy"] == np.mean(p.argmax(axis=1) == y)


@pytest.mark.parametrize("shift", [False, True])
def test_tokens_are_counted_without_padding_and_shifted_on_request(
    shift: bool, tmp_path: Any
) -> None:
    random = np.random.default_rng(0)
    tokens = random.integers(0, 10, (30, 7))
    labels = np.where(random.random((30, 7)) < 0.3, -100, tokens)
    evaluate = Evaluate(se.ConfusionAccumulator(10, ignore_label=-100), shift=shift)
    made = trainer(tmp_path, evaluate, Tagger())
    data = [{"x": x, "labels": y} for x, y in zip(tokens, labels, strict=True)]
    logged = made.evaluate(data)
    predicted = Tagger()(torch.from_numpy(tokens), torch.from_numpy(labels))["logits"].argmax(-1)
    truth = labels[:, 1:] if shift else labels
    found = (predicted[:, :-1] if shift else predicted).numpy()[truth != -100]
    assert logged["eval_accuracy"] == (found == truth[truth != -100]).mean()
    assert logged["eval_n"] == len(found)


def test_several_outputs_are_refused_without_read(tmp_path: Any) -> None:
    evaluate = Evaluate(se.ConfusionAccumulator(10))
    with pytest.raises(se.InvalidInputError, match="`read` must choose among several predictions"):
        trainer(tmp_path, evaluate, Digits(is_verbose=True)).evaluate()


def test_read_chooses_among_several_outputs(tmp_path: Any) -> None:
    evaluate = Evaluate(
        se.ConfusionAccumulator(10),
        read=lambda pred: {"y_true": pred.label_ids, "y_pred": pred.predictions[0]},
    )
    trainer(tmp_path, evaluate, Digits(is_verbose=True)).evaluate()
    assert evaluate.accumulator.n == N_VALID


def test_an_interrupted_evaluation_is_forgotten_by_reset(tmp_path: Any) -> None:
    evaluate = Evaluate(se.ConfusionAccumulator(10))
    made = trainer(tmp_path, evaluate)
    evaluate(SimpleNamespace(predictions=np.eye(10), label_ids=np.arange(10)), False)
    evaluate.reset()
    assert made.evaluate()["eval_n"] == N_VALID


@pytest.mark.parametrize("option", ["bf16_full_eval", "fp16_full_eval"])
def test_counts_stay_exact_in_half_precision(option: str, tmp_path: Any) -> None:
    evaluate = Evaluate(se.ConfusionAccumulator(10, top_k=2))
    many = [{"x": x, "labels": int(y)} for x, y in zip(*VALID, strict=True)] * 118
    assert len(many) > 70_000
    options = {option: True, "per_device_eval_batch_size": 10_000, "use_cpu": True}
    logged = trainer(tmp_path, evaluate, **options).evaluate(many)
    once = trainer(tmp_path, evaluate, **options).evaluate()
    assert logged["eval_n"] == len(many)
    assert logged["eval_accuracy"] == once["eval_accuracy"]


def test_going_on_from_a_checkpoint_equals_never_having_stopped(tmp_path: Any) -> None:
    from accelerate import Accelerator

    batches = [(y, torch.eye(10)[y]) for y in torch.as_tensor(VALID[1]).split(50)]
    whole = se.ConfusionAccumulator(10)
    for batch in batches:
        whole.update(*batch)

    stopped, accelerator = se.ConfusionAccumulator(10), Accelerator(cpu=True)
    accelerator.register_for_checkpointing(stopped)
    for batch in batches[:5]:
        stopped.update(*batch)
    accelerator.save_state(str(tmp_path))

    resumed, accelerator = se.ConfusionAccumulator(10), Accelerator(cpu=True)
    accelerator.register_for_checkpointing(resumed)
    accelerator.load_state(str(tmp_path))
    for batch in batches[5:]:
        resumed.update(*batch)
    assert resumed.to_bytes() == whole.to_bytes()


def test_the_best_value_survives_a_resume(tmp_path: Any) -> None:
    def tracked(n_epochs: int, *, resume: bool) -> Any:
        made = trainer(
            tmp_path,
            Evaluate(collection(), read=probabilities),
            num_train_epochs=n_epochs,
            save_strategy="epoch",
            metric_for_best_model="cm/accuracy",
            greater_is_better=False,
        )
        made.train(resume_from_checkpoint=resume)
        return made.state

    first, resumed = tracked(1, resume=False), tracked(2, resume=True)
    assert resumed.best_metric == first.best_metric
    assert resumed.best_metric < resumed.log_history[-2]["eval_cm/accuracy"]


def test_an_adapter_pickles_with_what_it_counted(trained: Any) -> None:
    _, evaluate, _ = trained
    copy = pickle.loads(pickle.dumps(evaluate))
    assert copy.accumulator == evaluate.accumulator


def test_every_rank_counts_every_row_once(trained: Any, tmp_path: Any, monkeypatch: Any) -> None:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        monkeypatch.setenv("MASTER_PORT", str(found.getsockname()[1]))
    torch.multiprocessing.spawn(run_rank, (2, str(tmp_path)), 2)
    y, p = predicted(Digits(), tmp_path)
    for rank in (0, 1):
        said = torch.load(tmp_path / f"rank-{rank}", weights_only=False)
        held = se.from_bytes(said["data"])
        assert held.n["cm"] == N_VALID
        assert_equal_to_scikit_learn(metrics_of(said["logged"]), y, p, prefix="eval_", rel_tol=1e-6)
        assert_equal_to_scikit_learn(held.compute().as_dict(), y, p, rel_tol=1e-6)


def test_predictions_that_were_collected_count_once_with_a_warning(
    trained: Any, tmp_path: Any
) -> None:
    made, _, (y, p) = trained
    evaluate = Evaluate(collection(), read=probabilities)
    collected = trainer(tmp_path, evaluate, made.model, batch_eval_metrics=False)
    for _ in range(2):
        with pytest.warns(UserWarning, match="batch_eval_metrics=True"):
            logged = collected.evaluate()
        assert_equal_to_scikit_learn(metrics_of(logged), y, p, prefix="eval_", rel_tol=1e-6)


def test_batches_of_an_interrupted_evaluation_do_not_count_in_the_next(
    trained: Any, tmp_path: Any
) -> None:
    made, _, _ = trained
    calls = []

    def interrupted(pred: Any) -> Any:
        calls.append(None)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return probabilities(pred)

    evaluate = Evaluate(collection(), read=interrupted)
    again = trainer(tmp_path, evaluate, made.model)
    with pytest.raises(KeyboardInterrupt):
        again.evaluate()
    assert evaluate.accumulator.n["cm"] > 0
    with pytest.warns(UserWarning, match="an evaluation was interrupted: its batches"):
        again.evaluate()
    assert evaluate.accumulator.n["cm"] == N_VALID


def test_an_adapter_pickles_in_the_middle_of_an_evaluation(trained: Any, tmp_path: Any) -> None:
    made, _, _ = trained
    evaluate = Evaluate(collection(), read=probabilities)
    counted_rows = []

    def counts(pred: Any, compute_result: bool) -> Any:
        found = evaluate(pred, compute_result)
        counted_rows.append(pickle.loads(pickle.dumps(evaluate)).accumulator.n["cm"])
        return found

    trainer(tmp_path, counts, made.model).evaluate()
    assert counted_rows == sorted(counted_rows)
    assert counted_rows[-1] == N_VALID


@pytest.mark.parametrize("accumulator", [None, se.ConfusionAccumulator])
def test_what_is_no_accumulator_is_refused(accumulator: Any) -> None:
    with pytest.raises(se.InvalidInputError, match="`accumulator` must be an accumulator, got"):
        Evaluate(accumulator)
