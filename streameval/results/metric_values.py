"""Metrics of labels as attributes: numbers that you can call, or index by class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, overload

import numpy as np
import numpy.typing as npt

from streameval.configs.names import nearest
from streameval.inputs.labels import Label, class_position
from streameval.metrics.confusion import Average
from streameval.metrics.label_counts import AverageOption

if TYPE_CHECKING:
    from streameval.results.confusion import Confusion

__all__ = ["ClassMetric", "FScore", "MetricValue"]

Floats = npt.NDArray[np.float64]


class MetricValue(float):
    """A metric without options: a `float` that returns itself when called."""

    __slots__ = ()

    def __call__(self) -> float:
        """Return the value."""
        return float(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return float, (float(self),)


class _OfClasses(float):
    """The default average of a metric over classes, which you can index by class."""

    __slots__ = ("_name", "_result")

    __iter__ = None  # subscripts are classes, not positions

    _name: str
    _result: Confusion

    def __new__(cls, result: Confusion, name: str) -> Self:
        """Compute the default average of a metric of a result."""
        number = super().__new__(cls, result.value(name))
        number._name, number._result = name, result
        return number

    def _averaged(self, *args: Any, average: Any, zero_division: Any, labels: Any) -> Any:
        """Compute another average; the default one, without arguments, is this number."""
        is_default = not args and labels is None and average == "default"
        if is_default and type(zero_division) is float and zero_division == 0.0:
            return float(self)
        options = {"average": average, "zero_division": zero_division, "labels": labels}
        return self._result.value(self._name, *args, **options)

    def __getitem__(self, of: Label) -> float:
        """Compute the metric of one class, by its label or its display name."""
        result = self._result
        position = class_position(of, result.class_names, result.labels)
        if position is None:
            raise KeyError(f"no class {of!r}: {nearest(str(of), map(str, result.class_names))}")
        number: float = result.value(self._name, average=None)[position].item()
        return number

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (self._result, self._name)


class ClassMetric(_OfClasses):
    """A metric of each class: a `float`, its default average, that you can call and index.

    For two listed classes it is the value of the positive class, otherwise the mean over the
    classes that occur.

    Examples
    --------
    >>> import streameval as se
    >>> acc = se.ConfusionAccumulator(classes={0: "neg", 1: "pos"})
    >>> recall = acc.update([0, 1, 1], [0, 1, 0]).compute().recall
    >>> f"{recall:.2f}", recall("macro"), recall["neg"], recall[1]
    ('0.50', 0.75, 1.0, 0.5)
    """

    __slots__ = ()

    @overload
    def __call__(self, average: None, *, zero_division: float = ...) -> Floats: ...
    @overload
    def __call__(
        self,
        average: Average | Literal["default"] = ...,
        *,
        zero_division: float = ...,
        labels: Sequence[Label] | None = ...,
    ) -> float: ...
    def __call__(
        self,
        average: AverageOption = "default",
        *,
        zero_division: float = 0.0,
        labels: Sequence[Label] | None = None,
    ) -> Any:
        """Compute the metric.

        Parameters
        ----------
        average : {"binary", "macro", "micro", "weighted", "samples"} or None
            The value of the positive class; the mean over the classes that occur; the value of
            the pooled counts; the mean weighted by support; or None for an array of shape
            ``(K,)``. The default is "binary" for two listed classes and "macro" otherwise.
            "samples", the mean over examples, is for multilabel with
            ``measures=["samples"]``.
        zero_division : float
            The value where the metric divides by zero: 0.0, 1.0 or nan. nan is left out of means.
        labels : sequence of labels, optional
            The classes that enter a mean or a pool, as in scikit-learn: for example, all but the
            background. By default, the classes that occur. With `labels`, the default average is
            "macro".

        Returns
        -------
        float in [0, 1], or an array of these

        Examples
        --------
        >>> import streameval as se
        >>> tags = se.ConfusionAccumulator(["LOC", "O", "PER"])
        >>> result = tags.update(["O", "PER", "LOC"], ["O", "PER", "O"]).compute()
        >>> result.recall("micro"), result.recall("micro", labels=["LOC", "PER"])
        (0.6666666666666666, 0.5)
        """
        return self._averaged(average=average, zero_division=zero_division, labels=labels)


class FScore(_OfClasses):
    """F of each class: a `float` like other metrics of classes, which takes `beta` when called."""

    __slots__ = ()

    @overload
    def __call__(
        self,
        beta: float = ...,
        alpha: float | None = ...,
        average: Average | Literal["default"] = ...,
        *,
        zero_division: float = ...,
        labels: Sequence[Label] | None = ...,
    ) -> float: ...
    @overload
    def __call__(
        self,
        beta: float = ...,
        alpha: float | None = ...,
        *,
        average: None,
        zero_division: float = ...,
    ) -> Floats: ...
    def __call__(
        self,
        beta: float = 1.0,
        alpha: float | None = None,
        average: AverageOption = "default",
        *,
        zero_division: float = 0.0,
        labels: Sequence[Label] | None = None,
    ) -> Any:
        """Compute (1 + b^2) TP / ((1 + b^2) TP + b^2 FN + FP), with b = `beta`.

        Parameters
        ----------
        beta : float
            At least 0. Recall counts `beta` times as much: 0 is precision, infinity is recall.
        alpha : float, optional
            The share of precision in the mean, in [0, 1], instead of `beta`:
            ``beta**2 = 1 / alpha - 1``.
        average, zero_division, labels
            As for other metrics of classes.

        Returns
        -------
        float in [0, 1], or an array of these
        """
        is_f1 = alpha is None and type(beta) is float and beta == 1.0
        given = () if is_f1 else (beta, alpha)
        return self._averaged(*given, average=average, zero_division=zero_division, labels=labels)
