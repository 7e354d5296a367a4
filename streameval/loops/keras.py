"""Evaluation in Keras's `fit`: a callback evaluates after every epoch, outside jit."""

from __future__ import annotations

# The framework may be missing when types are checked; pyright mistakes this file for it.
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from streameval.accumulators.base import Accumulator
from streameval.errors import InvalidInputError
from streameval.loops._logged import Conversion, Logged, is_function

try:
    from keras import tree
    from keras.callbacks import Callback
    from keras.utils import PyDataset
except ImportError as error:
    raise ImportError(
        'Keras or its backend is missing: pip install "streameval[keras]" jax, '
        "and set KERAS_BACKEND=jax."
    ) from error

__all__ = ["Evaluate"]


class Evaluate(Callback):  # type: ignore[misc] # it is Any where the framework is missing
    """Evaluate the model after every epoch, and add the metrics to the logs of the epoch.

    Parameters
    ----------
    accumulator : accumulator, or function of the model
        What to count; a copy is taken. A function makes it when the model is known:
        ``lambda model: se.ConfusionAccumulator(model.output_shape[-1])``.
    data : tuple of arrays, or iterable of batches
        ``(x, y)`` or ``(x, y, sample_weight)``, like ``validation_data`` of `fit`; or an iterable
        that yields such batches every time it is iterated over.
    read : callable, optional
        ``read(y, y_pred)`` returns the arguments of `update` by name. By default, ``y`` is the
        truth and ``y_pred``, the output of the model, is the prediction. One-hot rows become
        labels, and for two classes, two logits per row become one score.
    metrics : sequence of str, optional
        The names of the metrics to add, as on the command line: ``"recall[1]"``. By default,
        those of `as_dict`.
    prefix : str
        The prefix of the names of the metrics in the logs.
    per_class : bool
        Whether to add the metrics of each class too, as ``recall[cat]``.
    shift : bool
        Whether the output at a position is about the label at the next one, as causal models return
        it: tokens (B, T) are counted one by one.
    batch_size : int
        The number of rows of a batch if `data` holds arrays.

    Attributes
    ----------
    accumulator : streameval.Accumulator
        The counts of the last complete evaluation; None before the model is known, if a function
        makes it.

    Notes
    -----
    Before training, the first batch is counted on trial, so that mistakes are found at once.

    Callbacks run in order: put those that monitor a metric after this one, and say whether the
    metric should grow, as in ``EarlyStopping("val_accuracy", mode="max")``.
    """

    def __init__(
        self,
        accumulator: Accumulator[Any, Any] | Callable[[Any], Accumulator[Any, Any]],
        data: tuple[Any, ...] | Iterable[tuple[Any, ...]],
        *,
        read: Callable[[Any, Any], Mapping[str, Any]] | None = None,
        metrics: Sequence[str] | None = None,
        prefix: str = "val_",
        per_class: bool = False,
        shift: bool = False,
        batch_size: int = 256,
    ) -> None:
        super().__init__()
        self._logged = Logged.checked(metrics, prefix, per_class=per_class)
        self._conversion = Conversion(shift)
        if isinstance(data, Iterator):
            raise InvalidInputError(
                "must be there after each epoch, got an iterator", argument="data"
            )
        self._make: Any = accumulator if is_function(accumulator) else None
        self.accumulator: Any = None if self._make else self._logged.empty(accumulator)
        self._data: Any = data
        self._read = read
        self._batch_size = batch_size

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:  # noqa: ARG002
        """Count the first batch on trial."""
        empty = self._empty(self.model)
        for batch in itertools.islice(self._batches(), 1):
            self._count(empty, self.model, *batch)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:  # noqa: ARG002
        """Evaluate the model."""
        values = self._logged.of(self.evaluate(self.model))
        if logs is not None:
            logs.update(values)

    def evaluate(self, model: Any) -> Any:
        """Count the predictions of a model for the data, and compute the result."""
        accumulator = self._empty(model)
        for batch in self._batches():
            self._count(accumulator, model, *batch)
        self.accumulator = accumulator
        return accumulator.compute()

    def _empty(self, model: Any) -> Any:
        if self.accumulator is None:
            self.accumulator = self._logged.empty(self._make(model))
        return self.accumulator.copy().reset()

    def _count(self, accumulator: Any, model: Any, x: Any, y: Any, *weight: Any) -> None:
        predicted, convert = model.predict_on_batch(x), self._conversion
        weights = {"sample_weight": convert.weights(accumulator, *weight)} if weight else {}
        if self._read is not None:
            accumulator.update({**convert.named(accumulator, self._read(y, predicted)), **weights})
            return
        truth = convert.truth(accumulator, y)
        accumulator.update(truth, convert.prediction(accumulator, predicted), **weights)

    def _batches(self) -> Iterator[tuple[Any, ...]]:
        data, size = self._data, self._batch_size
        if isinstance(data, PyDataset):  # which never ends by itself
            yield from (data[index] for index in range(data.num_batches))
        elif isinstance(data, tuple):
            for start in range(0, len(tree.flatten(data[1])[0]), size):
                rows = slice(start, start + size)
                yield tree.map_structure(lambda array, rows=rows: array[rows], data)
        else:
            yield from data
