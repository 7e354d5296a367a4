"""Evaluation in a Hugging Face `Trainer`, which calls an object with every batch."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any

from streameval.accumulators.base import Accumulator
from streameval.errors import InvalidInputError
from streameval.loops._logged import Conversion, Logged

__all__ = ["Evaluate"]


class Evaluate:
    """Count the batches of an evaluation, and return the metrics with the last one.

    Pass it as `compute_metrics`, with ``TrainingArguments(batch_eval_metrics=True)``, so that
    the trainer does not collect predictions. On several ranks, the trainer passes every batch to
    every rank, once and without padding, so each rank counts everything.

    Parameters
    ----------
    accumulator : accumulator
        What to count; a copy is taken.
    read : callable, optional
        ``read(pred)`` returns the arguments of `update` by name, given ``pred.predictions``,
        ``pred.label_ids`` and, if ``include_for_metrics`` requests it, ``pred.inputs``. By
        default, the labels are the truth and the predictions of the model are the prediction.
        One-hot rows become labels, and for two classes, two logits per row become one score.
    metrics : sequence of str, optional
        The names of the metrics to return, as on the command line: ``"recall[1]"``. By default,
        those of `as_dict`.
    prefix : str
        The prefix of their names, after the ``eval_`` of the trainer.
    per_class : bool
        Whether to return the metrics of each class too, as ``recall[cat]``.
    shift : bool
        Whether the output at a position is about the label at the next one, as causal models return
        it beside unshifted labels. Tokens (B, T) are counted one by one, without those whose truth
        is the `ignore_label` of the accumulator.

    Attributes
    ----------
    accumulator : streameval.Accumulator
        The counts of the last evaluation, or so far of the current one.

    Notes
    -----
    The trainer names the metrics ``eval_accuracy`` and so on. Without ``batch_eval_metrics=True``
    it collects all predictions and calls once: they count as one evaluation, with a warning.
    If an evaluation was interrupted, its batches are dropped with a warning when the trainer
    begins the next one; in your own loop, call `reset`.

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
        metrics: Sequence[str] | None = None,
        prefix: str = "",
        per_class: bool = False,
        shift: bool = False,
    ) -> None:
        self._logged = Logged.checked(metrics, prefix, accumulator, per_class=per_class)
        self._conversion = Conversion(shift)
        self.accumulator: Any = accumulator.copy().reset()
        self._read = read
        self._is_over = False
        self._loop: FrameType | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return what can be pickled: everything but the evaluation in progress."""
        return self.__dict__ | {"_loop": None}

    def __call__(self, pred: Any, compute_result: bool | None = None) -> dict[str, Any]:
        """Count a batch; with the last one, return the metrics.

        Parameters
        ----------
        pred : transformers.EvalPrediction
            The predictions and labels of a batch.
        compute_result : bool, optional
            Whether the batch is the last one. None means that it is the whole evaluation, which
            is how the trainer calls without ``batch_eval_metrics=True``.
        """
        loop = _evaluation_loop()
        if self._loop not in (None, loop):
            warnings.warn(
                "an evaluation was interrupted: its batches are forgotten, and do not count in "
                "this one",
                stacklevel=2,
            )
            self.reset()
        if compute_result is None:
            warnings.warn(
                "all predictions were collected in memory; "
                "TrainingArguments(batch_eval_metrics=True) counts them batch by batch",
                stacklevel=2,
            )
        if self._is_over or compute_result is None:
            self.reset()
        self._loop = loop
        self._update(pred)
        self._is_over = compute_result is None or bool(compute_result)
        if not self._is_over:
            return {}
        self._loop = None
        return self._logged.of(self.accumulator.compute())

    def _update(self, pred: Any) -> None:
        counted, convert = self.accumulator, self._conversion
        if self._read is not None:
            counted.update(convert.named(counted, self._read(pred)))
        elif isinstance(pred.predictions, (tuple, list, Mapping)):
            type_name = type(pred.predictions).__name__
            raise InvalidInputError(
                f"must choose among several predictions, got a {type_name}", argument="read"
            )
        else:
            truth = convert.truth(counted, pred.label_ids)
            counted.update(truth, convert.prediction(counted, pred.predictions))

    def reset(self) -> None:
        """Reset the counts."""
        self.accumulator.reset()
        self._is_over, self._loop = False, None


def _evaluation_loop() -> FrameType | None:
    """Find the evaluation loop of the trainer in the call stack; None if there is none.

    The trainer does not say when an evaluation begins, but each runs in its own frame.
    """
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_name != "evaluation_loop":
        frame = frame.f_back
    return frame
