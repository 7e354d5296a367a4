"""Evaluation in a `Trainer` of Hugging Face: what it calls with every batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from streameval.accumulators.base import Accumulator
from streameval.errors import InvalidInputError

__all__ = ["Evaluate"]


class Evaluate:
    """Count the batches of an evaluation, and give the metrics with the last one.

    It is a `compute_metrics` for ``TrainingArguments(batch_eval_metrics=True)``, where no
    predictions are collected. On several ranks the trainer hands every batch to every rank, once
    and without padding, so that each rank counts everything.

    Parameters
    ----------
    accumulator : accumulator
        What to count; a copy is taken.
    read : callable, optional
        ``read(pred)`` gives the arrays of an `update` by name, from ``pred.predictions``,
        ``pred.label_ids`` and, where ``include_for_metrics`` asks for it, ``pred.inputs``. Without
        it the labels are the truth, and the predictions of the model are the prediction.

    Attributes
    ----------
    accumulator : accumulator
        What was counted in the last evaluation, or up to now in this one.

    Notes
    -----
    The trainer does not say when an evaluation begins: after one that was interrupted, call
    `reset`. It names the metrics ``eval_accuracy`` and so on.

    Examples
    --------
    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> import streameval as se
    >>> evaluate = Evaluate(se.ConfusionAccumulator(3))
    >>> logits = np.array([[2.0, 0.5, 0.1], [0.3, 0.2, 0.9]])
    >>> batch = SimpleNamespace(predictions=logits, label_ids=np.array([0, 2]))
    >>> evaluate(batch, compute_result=False)
    {}
    >>> evaluate(batch, compute_result=True)["n"]
    4
    >>> evaluate(batch, compute_result=True)["n"]
    2
    """

    def __init__(
        self,
        accumulator: Accumulator[Any, Any],
        *,
        read: Callable[[Any], Mapping[str, Any]] | None = None,
    ) -> None:
        if not isinstance(accumulator, Accumulator):
            type_name = type(accumulator).__name__
            raise InvalidInputError(
                f"must be an accumulator, got {type_name}", argument="accumulator"
            )
        self.accumulator: Any = accumulator.copy().reset()
        self._read = read
        self._is_over = False

    def __call__(self, pred: Any, compute_result: bool = False) -> dict[str, Any]:
        """Count a batch; with the last one, give the metrics."""
        if self._is_over:
            self.reset()
        if self._read is not None:
            self.accumulator.update(self._read(pred))
        elif isinstance(pred.predictions, (tuple, list, Mapping)):
            type_name = type(pred.predictions).__name__
            raise InvalidInputError(
                f"must choose among several predictions, got a {type_name}", argument="read"
            )
        else:
            self.accumulator.update(pred.label_ids, pred.predictions)
        self._is_over = bool(compute_result)
        values: dict[str, Any] = self.accumulator.compute().as_dict() if compute_result else {}
        return values

    def reset(self) -> None:
        """Forget what was counted, as after an evaluation that was interrupted."""
        self.accumulator.reset()
        self._is_over = False
