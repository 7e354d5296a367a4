"""A small model of the digits in Hugging Face's `Trainer`, and what a rank of several does."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch
from loops.digits import BATCH, TRAIN, VALID, collection
from transformers import Trainer, TrainingArguments

from streameval.loops.transformers import Evaluate


class Digits(torch.nn.Module):
    """One layer; its second output is there for those who ask for it."""

    def __init__(self, *, is_verbose: bool = False) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer = torch.nn.Linear(64, 10)
        self.is_verbose = is_verbose

    def forward(self, x: Any, labels: Any = None) -> Any:
        logits = self.layer(x.to(self.layer.weight.dtype))
        loss = torch.nn.functional.cross_entropy(logits, labels)
        found = {"loss": loss, "logits": logits}
        return found | {"hidden": x} if self.is_verbose else found


class Tagger(torch.nn.Module):
    """A label for each token of a text."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer = torch.nn.Embedding(10, 10)

    def forward(self, x: Any, labels: Any) -> Any:
        logits = self.layer(x)
        loss = torch.nn.functional.cross_entropy(logits.transpose(1, 2), labels)
        return {"loss": loss, "logits": logits}


def rows(data: Any) -> list[dict[str, Any]]:
    return [{"x": x, "labels": int(y)} for x, y in zip(*data, strict=True)]


def probabilities(pred: Any) -> dict[str, Any]:
    logits = torch.as_tensor(pred.predictions).float()
    return {"y_true": pred.label_ids, "p": torch.softmax(logits, dim=1)}


def trainer(folder: Any, evaluate: Any, model: Any = None, **options: Any) -> Trainer:
    arguments = {
        "output_dir": str(folder),
        "batch_eval_metrics": evaluate is not None,
        "per_device_train_batch_size": BATCH,
        "per_device_eval_batch_size": BATCH,
        "learning_rate": 0.05,
        "num_train_epochs": 2,
        "eval_strategy": "epoch",
        "save_strategy": "no",
        "report_to": "none",
        "disable_tqdm": True,
        "use_cpu": True,
    }
    return Trainer(
        model=model or Digits(),
        args=TrainingArguments(**(arguments | options)),
        train_dataset=rows(TRAIN),
        eval_dataset=rows(VALID),
        compute_metrics=evaluate,
    )


def run_rank(rank: int, n_ranks: int, folder: str) -> None:
    """Evaluate on one of several ranks, and write what it counted to a file of its own."""
    torch.set_num_threads(1)
    address = {"MASTER_ADDR": "127.0.0.1", "GLOO_SOCKET_IFNAME": "lo"}
    place = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(n_ranks)}
    os.environ.update(address | place)
    evaluate = Evaluate(collection(), read=probabilities)
    logged = trainer(folder, evaluate, ddp_backend="gloo").evaluate()
    said = {"data": evaluate.accumulator.to_bytes(), "logged": logged}
    torch.save(said, Path(folder, f"rank-{rank}"))
    torch.distributed.destroy_process_group()
