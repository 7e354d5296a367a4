"""A small model of the digits in Lightning; a module of its own, which spawned processes import."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from lightning import pytorch as pl
from loops.digits import BATCH, TRAIN, VALID
from torch.utils.data import DataLoader, TensorDataset

from streameval.engines.torch import EvaluationSampler


def loader(data: Any, batch_size: int = BATCH, *, sampler: Any = None) -> DataLoader:
    return DataLoader(
        TensorDataset(*map(torch.as_tensor, data)), batch_size=batch_size, sampler=sampler
    )


def trainer(*callbacks: Any, **options: Any) -> pl.Trainer:
    quiet = {
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
    }
    return pl.Trainer(
        **(quiet | {"accelerator": "cpu", "max_epochs": 2} | options), callbacks=[*callbacks]
    )


class Digits(pl.LightningModule):
    """One layer. It keeps what it predicts, by epoch, for scikit-learn."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer = torch.nn.Linear(64, 10)
        self.seen: list[list[Any]] = []

    def training_step(self, batch: Any, _: int) -> Any:
        x, y = batch
        return torch.nn.functional.cross_entropy(self.layer(x), y)

    def predict(self, batch: Any) -> Any:
        x, y = batch
        return {"y_true": y, "p": torch.softmax(self.layer(x), dim=1), "loss": torch.tensor(0.0)}

    def validation_step(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> Any:
        found = self.predict(batch)
        if batch_idx == 0:
            self.seen.append([])
        self.seen[-1].append((found["y_true"], found["p"].detach()))
        return found

    test_step = validation_step

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), lr=0.5)

    def predictions(self, epoch: int) -> Any:
        """The labels and probabilities of an epoch."""
        return tuple(torch.cat(parts).numpy() for parts in zip(*self.seen[epoch], strict=True))


class Loss(Digits):
    """The same, but its steps return the loss."""

    def validation_step(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> Any:
        return super().validation_step(batch, batch_idx)["loss"]


class Predictions(Digits):
    """The same, but its steps return the predictions alone."""

    def validation_step(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> Any:
        return super().validation_step(batch, batch_idx)["p"]


def labels_and_predictions(outputs: Any, batch: Any) -> dict[str, Any]:
    return {"y_true": batch[1], "p": outputs}


class Note(pl.Callback):
    """Write what each rank counted to a file of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        (evaluate,) = (held for held in trainer.callbacks if hasattr(held, "accumulators"))
        logged = {name: float(value) for name, value in trainer.callback_metrics.items()}
        data = evaluate.accumulators["val"].to_bytes()
        torch.save({"data": data, "logged": logged}, self.folder / f"rank-{trainer.global_rank}")


class Unpadded(pl.LightningDataModule):
    """The validation rows, each on one rank."""

    def val_dataloader(self) -> DataLoader:
        data = TensorDataset(*map(torch.as_tensor, VALID))
        return loader(VALID, sampler=EvaluationSampler(data))


def train_loader() -> DataLoader:
    return loader(TRAIN)
