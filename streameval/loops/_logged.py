"""The metrics that training loops log, and how they convert logits of two classes."""

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
        names = parse_metrics(metrics or ())
        for held in accumulators:
            if not isinstance(held, Accumulator):
                raise InvalidInputError(
                    f"must be an accumulator, got {type(held).__name__}", argument="accumulator"
                )
            result = held.copy().reset().compute()
            if isinstance(result, Result) and not isinstance(result, SlicedResult):
                for name in names:
                    result.check(name)
        return cls(metrics, prefix, per_class)

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


def class_labels(accumulator: Accumulator[Any, Any], labels: Any) -> Any:
    """Convert one-hot rows to the labels of the classes, if one class a row is counted.

    Anything else is returned unchanged.

    >>> import streameval as se
    >>> class_labels(se.ConfusionAccumulator(["cat", "dog"]), np.array([[0, 1], [1, 0]])).tolist()
    ['dog', 'cat']
    """
    options = [member.options for member in _members(accumulator)]
    n_classes = getattr(labels, "shape", ())[1:]
    known = {tuple(getattr(one, "labels", ())) or (0, 1) for one in options}
    is_one_class = not any(getattr(one, "multilabel", False) for one in options)
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
