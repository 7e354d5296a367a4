"""What the adapters to training loops share: how outputs are read, and which metrics are logged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import attrs
import numpy as np

from streameval.accumulators.base import Accumulator
from streameval.configs.collection import CollectionConfig, Member
from streameval.errors import InvalidInputError
from streameval.inputs.arrays import to_host
from streameval.results.names import parse_metrics
from streameval.results.result import Result
from streameval.results.sliced import SlicedResult

_SCORES = ("y_score", "y_prob")


@attrs.frozen
class Logged:
    """The metrics of a result that are logged, and the prefix of their names.

    Parameters
    ----------
    metrics : sequence of str or None
        Their names, as `read` takes them; None for those of `as_dict`.
    prefix : str
        The prefix of each name.
    per_class : bool
        Whether `as_dict` gives the metrics of each class too.
    """

    metrics: Sequence[str] | None
    prefix: str
    per_class: bool = False

    @classmethod
    def checked(
        cls,
        metrics: Sequence[str] | None,
        prefix: str,
        *accumulators: Accumulator[Any, Any],
        per_class: bool = False,
    ) -> Self:
        """Check the names with the accumulators whose results will be read.

        Raises
        ------
        InvalidInputError
            If one is no accumulator, or a result lacks one of the metrics. Slices that are not
            known yet may have any.
        """
        if metrics is not None and (isinstance(metrics, str) or not metrics):
            raise InvalidInputError(
                f"must be the names of some metrics, got {metrics!r}", argument="metrics"
            )
        if metrics is not None and per_class:
            raise InvalidInputError(
                "adds metrics to those of as_dict, and `metrics` lists all",
                argument="per_class",
                remedy='Name those of classes there, as in "recall[1]".',
            )
        parse_metrics(metrics or ())
        logged = cls(metrics, prefix, per_class)
        for held in accumulators:
            logged.empty(held)
        return logged

    def empty(self, held: Any) -> Any:
        """Make an empty accumulator like this one.

        Raises
        ------
        InvalidInputError
            If it is no accumulator, or its results lack one of the metrics.
        """
        if not isinstance(held, Accumulator):
            raise InvalidInputError(
                f"must be an accumulator, got {type(held).__name__}", argument="accumulator"
            )
        empty = held.copy().reset()
        result = empty.compute()
        if isinstance(result, Result) and not isinstance(result, SlicedResult):
            for name in parse_metrics(self.metrics or ()):
                result.check(name)
        return empty

    def of(self, result: Any) -> dict[str, Any]:
        """Choose from a result.

        Raises
        ------
        InvalidInputError
            If the result lacks one of the metrics.
        """
        if self.metrics is None:
            values: Mapping[str, Any] = result.as_dict(per_class=self.per_class)
        else:
            values = {name: _plain(result.read(name, level=0.0).value) for name in self.metrics}
        return {f"{self.prefix}{name}": value for name, value in values.items()}


def _plain(number: Any) -> int | float:
    return number if isinstance(number, int) else float(number)


def is_function(given: Any) -> bool:
    """Tell a function that makes an accumulator for a model from an accumulator."""
    return callable(given) and not isinstance(given, (Accumulator, type))


@attrs.frozen
class Conversion:
    """How labels and outputs of a model become what `update` takes.

    One-hot rows become labels, and two logits a score, if the accumulator needs that.

    Parameters
    ----------
    shift : bool
        Whether the output at a position is about the label at the next one.
    """

    shift: bool = False

    def truth(self, accumulator: Accumulator[Any, Any], labels: Any) -> Any:
        """Read labels."""
        if self.shift:
            if getattr(labels, "ndim", 0) < 2:
                raise InvalidInputError(
                    f"takes labels of tokens, of shape (B, T), got {np.shape(labels)}",
                    argument="shift",
                )
            labels = labels[:, 1:]
        return labels_of_one_hot(accumulator, labels)

    def prediction(self, accumulator: Accumulator[Any, Any], outputs: Any) -> Any:
        """Read what a model returned."""
        return binary_scores(accumulator, outputs[:, :-1] if self.shift else outputs)

    def weights(self, _: Accumulator[Any, Any], weights: Any) -> Any:
        """Read weights, or a mask, of labels."""
        return weights[:, 1:] if self.shift and np.ndim(weights) > 1 else weights

    def named(
        self, accumulator: Accumulator[Any, Any], arrays: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Read the arguments of `update` by name, and leave those of other names as they are."""
        if self.shift and "y_true" not in arrays:
            raise InvalidInputError(
                f"needs labels named y_true, got {', '.join(map(repr, arrays))}", argument="shift"
            )
        readers = {"y_true": self.truth, "sample_weight": self.weights}
        readers |= dict.fromkeys(("y_pred", *_SCORES), self.prediction)
        return {
            name: readers[name](accumulator, value) if name in readers else value
            for name, value in arrays.items()
        }


def binary_scores(accumulator: Accumulator[Any, Any], predictions: Any) -> Any:
    """Convert predictions for two classes to one score per row, if the accumulator needs that.

    Of two probabilities, the score is that of the second class. Two logits become its
    probability, or their difference if the accumulator counts real scores. Anything else is
    returned unchanged.

    >>> import streameval as se
    >>> binary_scores(se.ConfusionAccumulator(), np.array([[0.0, 0.0], [0.25, 0.75]])).tolist()
    [0.5, 0.6224593312018546]
    """
    if getattr(predictions, "shape", ())[1:] != (2,):
        return predictions
    members = _members(accumulator)
    if not all(map(_is_binary, members)):
        return predictions
    negative, positive = np.asarray(to_host(predictions, name="y_pred"), dtype=np.float64).T
    if all(getattr(member.options, "scores", "") == "real" for member in members):
        return positive - negative
    are_probabilities = np.all((negative >= 0) & (np.abs(negative + positive - 1) < 1e-3))
    if are_probabilities and len(positive):
        return positive
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(negative - positive))


def labels_of_one_hot(accumulator: Accumulator[Any, Any], labels: Any) -> Any:
    """Convert one-hot rows to the labels of the classes, if one class a row is counted.

    Anything else is returned unchanged.

    >>> import streameval as se
    >>> acc = se.ConfusionAccumulator(["cat", "dog"])
    >>> labels_of_one_hot(acc, np.array([[0, 1], [1, 0]])).tolist()
    ['dog', 'cat']
    """
    options = [member.options for member in _members(accumulator)]
    n_classes = getattr(labels, "shape", ())[1:]
    known = {tuple(getattr(one, "labels", ())) or (0, 1) for one in options}
    is_one_class = all(
        hasattr(one, "classes") and not getattr(one, "multilabel", False) for one in options
    )
    if not is_one_class or len(known) > 1 or n_classes != (len(min(known)),):
        return labels
    marks = np.asarray(to_host(labels, name="y_true"))
    if not ((marks == 0) | (marks == 1)).all() or not (marks.sum(axis=1) == 1).all():
        return labels
    return np.array(min(known))[marks.argmax(axis=1)]


def _members(accumulator: Accumulator[Any, Any]) -> Sequence[Member]:
    config = accumulator._config
    is_many = isinstance(config, CollectionConfig)
    return config.members if is_many else [Member(type(accumulator), config)]


def _is_binary(member: Member) -> bool:
    """Tell whether one score per row is counted: curves, calibration, confusion of two classes."""
    classes = getattr(member.options, "classes", None)
    if classes is None:
        return any(name in member.read for name in _SCORES)
    n_classes = len(classes) if isinstance(classes, tuple) else classes
    return n_classes == 2 and not getattr(member.options, "multilabel", False)
