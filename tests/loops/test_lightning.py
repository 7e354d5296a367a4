"""Lightning: what the callback logs is what scikit-learn computes of the collected predictions."""

from __future__ import annotations

import importlib.util
import pickle
import sys
import warnings
from typing import Any

import numpy as np
import pytest
from loops.digits import (
    N_VALID,
    TRAIN,
    VALID,
    assert_equal_to_scikit_learn,
    collection,
    expected,
)

import streameval as se

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("lightning", reason="Lightning is not installed")

from lightning import pytorch as pl  # noqa: E402
from loops.lightning_digits import (  # noqa: E402
    Digits,
    Loss,
    Note,
    Predictions,
    Unpadded,
    labels_and_predictions,
    loader,
    trainer,
)

from streameval.loops.lightning import Evaluate  # noqa: E402

pytestmark = [
    pytest.mark.engine(name="lightning"),
    pytest.mark.filterwarnings("default"),
    pytest.mark.filterwarnings("ignore::lightning.pytorch.utilities.warnings.PossibleUserWarning"),
]


def fit(*callbacks: Any, model: Any = None, ckpt_path: Any = None, **options: Any) -> Any:
    model = model or Digits()
    made = trainer(*callbacks, **options)
    made.fit(model, loader(TRAIN), loader(VALID), ckpt_path=ckpt_path)
    return made, model


def counted(y: Any, p: Any) -> se.Collection:
    return collection().update({"y_true": y, "p": p})


class Each(pl.Callback):
    """Keep what stands in a callback after each validation, sanity check included."""

    def __init__(self, evaluate: Any) -> None:
        self.evaluate, self.sanity, self.epochs, self.logged = evaluate, [], [], []

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        if trainer.sanity_checking:
            self.sanity.append((dict(self.evaluate.accumulators), dict(trainer.callback_metrics)))
        else:
            self.epochs.append(self.evaluate.accumulators["val"].copy())
            self.logged.append(dict(trainer.callback_metrics))


class StopAt(pl.Callback):
    """Save a checkpoint in the middle of the first validation, and stop."""

    def __init__(self, batch: int, path: Any) -> None:
        self.batch, self.path = batch, path

    def on_validation_batch_end(self, trainer: Any, pl_module: Any, *step: Any) -> None:
        if not trainer.sanity_checking and step[2] == self.batch:
            trainer.save_checkpoint(self.path)
            raise InterruptedError


@pytest.fixture(scope="module")
def trained() -> Any:
    """Two epochs: the trainer, the model, and what was noted after each validation."""
    evaluate = Evaluate({"val": collection()})
    each = Each(evaluate)
    made, model = fit(evaluate, each)
    return made, model, each


@pytest.mark.parametrize("epoch", [0, 1])
def test_every_number_is_that_of_scikit_learn(trained: Any, epoch: int) -> None:
    _, model, each = trained
    values = each.epochs[epoch].compute().as_dict()
    assert_equal_to_scikit_learn(values, *model.predictions(epoch - 2))


@pytest.mark.parametrize("epoch", [0, 1])
def test_logged_numbers_are_those_in_single_precision(trained: Any, epoch: int) -> None:
    _, model, each = trained
    assert_equal_to_scikit_learn(
        each.logged[epoch], *model.predictions(epoch - 2), prefix="val/", rel_tol=2**-23
    )


def test_everything_that_a_result_holds_is_logged(trained: Any) -> None:
    _, _, each = trained
    assert {name.removeprefix("val/") for name in each.logged[-1] if "/" in name} == set(
        each.epochs[-1].compute().as_dict()
    )


@pytest.mark.parametrize("epoch", [0, 1])
def test_epochs_do_not_leak_and_a_smaller_last_batch_counts_its_rows(
    trained: Any, epoch: int
) -> None:
    _, model, each = trained
    assert each.epochs[epoch].to_bytes() == counted(*model.predictions(epoch - 2)).to_bytes()
    assert each.epochs[epoch].n["cm"] == N_VALID


def test_batches_of_the_sanity_check_do_not_count_and_log_nothing(trained: Any) -> None:
    _, model, each = trained
    assert len(model.seen[0]) == 2  # the batches of the sanity check
    assert each.sanity == [({}, {})]


def test_a_metric_can_be_monitored(tmp_path: Any) -> None:
    best = pl.callbacks.ModelCheckpoint(tmp_path, monitor="val/cm/accuracy", mode="max")
    fit(Evaluate(collection()), best, enable_checkpointing=True)
    assert float(best.best_model_score) > 0.8


def test_the_best_value_survives_a_resume(tmp_path: Any) -> None:
    def tracked(n_epochs: int, last: Any = None) -> tuple[Any, float]:
        best = pl.callbacks.ModelCheckpoint(tmp_path, monitor="val/cm/accuracy", mode="min")
        options = {"enable_checkpointing": True, "max_epochs": n_epochs, "ckpt_path": last}
        return fit(Evaluate(collection()), best, **options)[0], float(best.best_model_score)

    last = tmp_path / "last.ckpt"
    made, first = tracked(1)
    made.save_checkpoint(last)
    resumed, best = tracked(2, last)
    assert best == first < float(resumed.callback_metrics["val/cm/accuracy"])


def test_test_epochs_are_logged_by_their_name() -> None:
    evaluate = Evaluate(collection())
    made, model = trainer(evaluate), Digits()
    (logged,) = made.test(model, loader(VALID), verbose=False)
    y, p = model.predictions(0)
    assert_equal_to_scikit_learn(logged, y, p, prefix="test/", rel_tol=2**-23)
    assert set(evaluate.accumulators) == {"test"}


def test_only_the_stages_that_are_listed_count() -> None:
    evaluate = Evaluate({"test": collection()})
    made, _ = fit(evaluate, max_epochs=1)
    assert evaluate.accumulators == {}
    assert made.callback_metrics == {}


def test_several_loaders_are_counted_apart() -> None:
    evaluate = Evaluate(collection())
    made, model = trainer(evaluate), Digits()
    halves = [loader([array[::2] for array in VALID]), loader([array[1::2] for array in VALID])]
    logged: dict[str, float] = {}
    for found in made.validate(model, halves, verbose=False):
        logged |= found
    for place in (0, 1):
        y, p = model.predictions(place)
        held = evaluate.accumulators[f"val/dataloader_idx_{place}"]
        assert held.to_bytes() == counted(y, p).to_bytes()
        suffix = f"/dataloader_idx_{place}"
        assert logged[f"val/cm/accuracy{suffix}"] == pytest.approx(
            expected(y, p)["cm/accuracy"], rel=2**-23
        )


def test_read_finds_the_arrays_in_outputs_and_batch() -> None:
    evaluate = Evaluate(collection(), read=labels_and_predictions)
    model = Predictions()
    trainer(evaluate).validate(model, loader(VALID), verbose=False)
    assert evaluate.accumulators["val"].to_bytes() == counted(*model.predictions(0)).to_bytes()


def test_a_step_that_returns_no_arrays_is_named() -> None:
    message = "`validation_step` must return the arrays by name, got Tensor"
    with pytest.raises(se.InvalidInputError, match=message):
        trainer(Evaluate(collection())).validate(Loss(), loader(VALID), verbose=False)


def test_a_step_that_lacks_an_array_is_told_which() -> None:
    evaluate = Evaluate(se.PRCurveSketch(classes=10))
    with pytest.raises(se.InvalidInputError, match="y_score"):
        trainer(evaluate).validate(Digits(), loader(VALID), verbose=False)


@pytest.mark.parametrize(
    "accumulators",
    [{"train": se.ConfusionAccumulator()}, {"val": 3}, {}, 3, {"val": se.ConfusionAccumulator}],
    ids=["stage", "kind", "nothing", "number", "class"],
)
def test_what_cannot_be_counted_is_refused(accumulators: Any) -> None:
    with pytest.raises(se.InvalidInputError, match="`accumulators` must be for 'val' or 'test'"):
        Evaluate(accumulators)


def test_accumulators_that_are_given_are_copied() -> None:
    given = se.ConfusionAccumulator(10).update([1], [2])
    evaluate = Evaluate(given, read=lambda outputs, batch: {"y_true": batch[1], "y_pred": outputs})
    trainer(evaluate).validate(Predictions(), loader(VALID), verbose=False)
    assert given.n == 1
    assert evaluate.accumulators["val"].n == N_VALID


def test_resuming_in_the_middle_of_a_validation_equals_never_having_stopped(
    trained: Any, tmp_path: Any
) -> None:
    _, _, whole = trained
    path = tmp_path / "middle.ckpt"
    with pytest.raises(InterruptedError):
        fit(Evaluate({"val": collection()}), StopAt(3, path))
    state = torch.load(path, weights_only=True)["callbacks"]["streameval.Evaluate(val)"]
    stopped = collection()
    stopped.load_state_dict(state["val"])
    assert stopped.n["cm"] == 4 * 50

    evaluate = Evaluate({"val": collection()})
    each = Each(evaluate)
    fit(evaluate, each, ckpt_path=path)
    # Lightning goes on with the next epoch
    assert [held.to_bytes() for held in each.epochs] == [whole.epochs[1].to_bytes()]


def test_a_checkpoint_holds_what_the_validation_counted(trained: Any, tmp_path: Any) -> None:
    made, _, each = trained
    path = tmp_path / "end.ckpt"
    made.save_checkpoint(path)
    state = torch.load(path, weights_only=True)["callbacks"]["streameval.Evaluate(val)"]
    held = collection()
    held.load_state_dict(state["val"])
    assert held.to_bytes() == each.epochs[-1].to_bytes()

    evaluate = Evaluate({"val": collection()})
    fit(evaluate, ckpt_path=path, max_epochs=2)
    assert evaluate.accumulators["val"] == held


def test_counts_of_other_options_are_left_out_of_a_checkpoint_with_a_warning(trained: Any) -> None:
    _, _, each = trained
    evaluate = Evaluate({"val": se.Collection({"cm": se.ConfusionAccumulator(10)})})
    with pytest.warns(
        UserWarning, match="'val' in the checkpoint is ignored: cannot load: `names`"
    ):
        evaluate.load_state_dict({"val": each.epochs[0].state_dict()})
    assert evaluate.accumulators == {}


def test_damaged_counts_in_a_checkpoint_are_refused() -> None:
    evaluate = Evaluate({"val": collection()})
    with pytest.raises(se.CorruptStateError):
        evaluate.load_state_dict({"val": {"state": "iVNF"}})
    assert evaluate.accumulators == {}


def test_a_callback_pickles_with_what_it_counted() -> None:
    evaluate = Evaluate(collection(), read=labels_and_predictions)
    trainer(evaluate).validate(Predictions(), loader(VALID), verbose=False)
    copy = pickle.loads(pickle.dumps(evaluate))
    assert copy.accumulators == evaluate.accumulators
    trainer(copy).validate(Predictions(), loader(VALID), verbose=False)
    assert copy.accumulators == evaluate.accumulators


class Half(pl.LightningModule):
    """A score for each row, in the precision of the trainer. It holds an accumulator, too."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)
        torch.nn.init.ones_(self.layer.weight)
        torch.nn.init.zeros_(self.layer.bias)
        self.held = se.PRCurveSketch(None, scores="real")
        self.dtypes: set[Any] = set()

    def validation_step(self, batch: Any, _: int) -> Any:
        x, y = batch
        score = self.layer(x)[:, 0]
        self.dtypes.add(score.dtype)
        self.held.update(y, score)
        return {"y_true": y, "y_score": score}


@pytest.mark.parametrize(
    ("precision", "dtype"),
    [("16-true", torch.float16), ("bf16-true", torch.bfloat16), ("bf16-mixed", torch.bfloat16)],
)
def test_counts_stay_exact_in_half_precision(precision: Any, dtype: Any) -> None:
    n_rows = 70_000  # float16 ends at 65,504
    x = np.random.default_rng(0).normal(size=(n_rows, 1)).astype(np.float32)
    y = (x[:, 0] + np.random.default_rng(1).normal(size=n_rows) > 0).astype(np.int64)
    evaluate, model = Evaluate(se.PRCurveSketch(None, scores="real")), Half()
    trainer(evaluate, precision=precision).validate(model, loader((x, y), 7_000), verbose=False)
    rounded = torch.as_tensor(x[:, 0]).to(dtype).to(torch.float64).numpy()
    whole = se.PRCurveSketch(None, scores="real").update(y, rounded)
    assert model.dtypes == {dtype}
    assert evaluate.accumulators["val"].to_bytes() == whole.to_bytes()
    assert model.held.to_bytes() == whole.to_bytes()
    assert set(model.state_dict()) == {"layer.weight", "layer.bias"}
    assert whole.compute().n_pos + whole.compute().n_neg == n_rows


@pytest.mark.parametrize("strategy", ["ddp_spawn", "ddp_fork"])
def test_ranks_log_the_numbers_of_all_rows(
    strategy: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    evaluate = Evaluate({"val": collection()}, read=labels_and_predictions)
    made = trainer(
        evaluate,
        Note(tmp_path),
        strategy=strategy,
        devices=2,
        use_distributed_sampler=False,
    )
    made.validate(Predictions(), datamodule=Unpadded(), verbose=False)

    alone, model = Evaluate({"val": collection()}), Digits()
    trainer(alone).validate(model, loader(VALID), verbose=False)
    said = [torch.load(tmp_path / f"rank-{rank}", weights_only=True) for rank in (0, 1)]
    assert said[0] == said[1]
    merged = se.from_bytes(said[0]["data"])
    y, p = model.predictions(0)
    assert merged.n["cm"] == N_VALID
    assert_equal_to_scikit_learn(merged.compute().as_dict(), y, p)
    assert_equal_to_scikit_learn(said[0]["logged"], y, p, prefix="val/", rel_tol=2**-23)


@pytest.mark.parametrize(("options", "n_counted"), [({}, 600), ({"drop_last": True}, 596)])
def test_rows_that_a_sampler_repeats_or_drops_are_warned_about(
    options: Any, n_counted: int
) -> None:
    sampler = torch.utils.data.DistributedSampler(VALID[1], 4, 0, **options)
    made = trainer(Evaluate({"val": collection()}))
    with pytest.warns(UserWarning, match=f"4 ranks count {n_counted} rows of a data set of 597: "):
        made.validate(Digits(), loader(VALID, sampler=sampler), verbose=False)


def test_a_sampler_that_repeats_no_row_is_not_warned_about() -> None:
    four = [part[:596] for part in VALID]
    sampler = torch.utils.data.DistributedSampler(range(596), 4, 0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loaded = loader(four, sampler=sampler)
        trainer(Evaluate(collection())).validate(Digits(), loaded, verbose=False)
    assert [str(one.message) for one in caught if "ranks count" in str(one.message)] == []


def test_nothing_is_warned_about() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit(Evaluate(collection()), max_epochs=1)
    assert [str(one.message) for one in caught if "streameval" in str(one.message)] == []


def test_a_missing_framework_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lightning.pytorch", None)
    spec = importlib.util.spec_from_file_location(
        "adapter", sys.modules[Evaluate.__module__].__file__
    )
    assert spec is not None
    assert spec.loader is not None
    with pytest.raises(ImportError, match=r"is missing: pip install \"streameval\[lightning\]\""):
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def test_metrics_are_chosen_and_logits_of_two_classes_are_scores() -> None:
    def is_five(_: Any, batch: Any) -> dict[str, Any]:
        x, y = batch
        return {"y_true": y >= 5, "y_score": torch.stack([-x[:, 10], x[:, 10]], dim=1)}

    callback = Evaluate(se.PRCurveSketch(), read=is_five, metrics=["roc_auc"], prefix="five/")
    made, _ = fit(callback, max_epochs=1)
    x, y = VALID[0][:, 10].astype(float), VALID[1] >= 5
    expected = se.PRCurveSketch().update(y, 1 / (1 + np.exp(-2 * x))).compute().roc_auc
    logged = {name: float(value) for name, value in made.callback_metrics.items()}
    assert logged["five/val/roc_auc"] == pytest.approx(expected, abs=1e-6)
    assert [name for name in logged if name.startswith("five/")] == ["five/val/roc_auc"]


class Logs(Digits):
    """Log metrics of every type in `validation_step`, as a module does without the callback."""

    def validation_step(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> Any:
        found = super().validation_step(batch, batch_idx)
        truth, scores = found["y_true"], found["p"]
        labels = se.ConfusionAccumulator(10).update(truth, scores).compute()
        curves = se.PRCurveSketch(classes=10).update(truth, scores).compute()
        self.log("accuracy", labels.accuracy)
        self.log_dict({"f1": labels.f_score, "one": labels[3].recall, "auc": curves[3].roc_auc})
        self.log("mean_auc", curves.roc_auc)
        return found


def test_self_log_takes_metrics_of_every_type() -> None:
    made, _ = fit(model=Logs())
    logged = made.callback_metrics
    assert {"accuracy", "f1", "one", "auc", "mean_auc"} <= logged.keys()
    assert all(0.0 <= float(value) <= 1.0 for value in logged.values() if value.numel() == 1)


def test_a_function_makes_the_accumulator_of_the_module() -> None:
    def of_module(module: Any) -> Any:
        return se.ConfusionAccumulator(module.layer.out_features)

    evaluate = Evaluate({"val": of_module}, read=scores_of)
    assert evaluate.state_key == "streameval.Evaluate(val)"
    fit(evaluate, model=Predictions(), max_epochs=1)
    assert evaluate.accumulators["val"].compute().matrix.shape == (10, 10)
    assert evaluate.accumulators["val"].n == N_VALID
    with pytest.raises(se.InvalidInputError, match="must be an accumulator, got int"):
        fit(Evaluate(lambda _: 3), max_epochs=1)


def scores_of(outputs: Any, batch: Any) -> Any:
    return {"y_true": batch[1], "y_pred": outputs}


def test_a_mistake_is_found_in_the_sanity_check() -> None:
    evaluate, model = Evaluate(se.ConfusionAccumulator(12), read=scores_of), Predictions()
    before = model.layer.weight.clone()
    with pytest.raises(se.InvalidInputError, match=r"shape \(n, 12\), got \(.*, 10\)"):
        fit(evaluate, model=model)
    assert evaluate.accumulators == {}
    assert torch.equal(model.layer.weight, before)
    fit(Evaluate({"test": se.ConfusionAccumulator(12)}), max_epochs=1)


class Next(pl.LightningModule):
    """A model of tokens, whose logits are about the next one."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Embedding(10, 10)

    def validation_step(self, batch: Any, _: int) -> Any:
        return {"y_true": batch[1], "y_pred": self.layer(batch[0])}


def test_tokens_are_shifted_on_request() -> None:
    random = np.random.default_rng(0)
    tokens = random.integers(0, 10, (30, 7))
    labels = np.where(random.random((30, 7)) < 0.3, -100, tokens)
    evaluate = Evaluate(se.ConfusionAccumulator(10, ignore_label=-100), shift=True)
    model = Next()
    trainer(evaluate).validate(model, loader((tokens, labels)), verbose=False)
    truth = labels[:, 1:]
    found = model.layer(torch.as_tensor(tokens)).argmax(-1).numpy()[:, :-1]
    result = evaluate.accumulators["val"].compute()
    assert result.n == (truth != -100).sum()
    assert result.accuracy == (found == truth)[truth != -100].mean()
