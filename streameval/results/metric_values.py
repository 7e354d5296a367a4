"""Metrics with options: numbers, which you can call for other options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    Literal,
    ParamSpec,
    Protocol,
    TypeVar,
    overload,
)

from streameval.configs.names import unknown_arguments
from streameval.exact.array_types import Floats
from streameval.inputs.classes import Label
from streameval.metrics.bounded import Bounded
from streameval.metrics.confusion import Average
from streameval.metrics.table import Metric

Multioutput = Literal["uniform_average", "variance_weighted", "raw_values"] | Sequence[float]

P = ParamSpec("P")
CallT_co = TypeVar("CallT_co", bound=Callable[..., Any], covariant=True)


class MetricValue(Bounded, Generic[CallT_co]):
    """A metric with options: the number for the usual options, which you can call for others.

    It is a `Bounded`, so it works wherever a `float` does: in arithmetic, formats, JSON, tensors
    and loggers. What is pickled or copied is the number alone.

    Parameters
    ----------
    compute : callable
        Returns the metric for some options; without any, the number.

    Examples
    --------
    >>> import streameval as se
    >>> acc = se.ConfusionAccumulator(classes={0: "neg", 1: "pos"})
    >>> result = acc.update([0, 1, 1], [0, 1, 0]).compute()
    >>> f"{result.recall:.2f}", result.recall("macro"), result.recall(None).tolist()
    ('0.50', 0.75, [1.0, 0.5])
    >>> result["neg"].recall
    1.0

    Over curves of classes, and over outputs:

    >>> scores = [[0.8, 0.1, 0.1], [0.2, 0.5, 0.3], [0.6, 0.3, 0.1]]
    >>> curves = se.PRCurveSketch(classes=3).update([0, 1, 2], scores).compute()
    >>> f"{curves.roc_auc:.3f}", curves.roc_auc("weighted"), curves[2].roc_auc
    ('0.750', 0.75, 0.25)
    >>> acc = se.RegressionAccumulator(outputs=2).update([[1, 2], [3, 4]], [[1, 3], [2, 4]])
    >>> acc.compute().mse("raw_values"), acc.compute()[0].mse
    (array([0.5, 0.5]), 0.5)
    """

    __slots__ = ("_compute", "_usual")

    _compute: CallT_co
    _usual: float

    def __new__(cls, compute: Any) -> MetricValue[CallT_co]:
        """Compute the number for the usual options."""
        usual = compute()
        is_certified = isinstance(usual, Bounded)
        number = float.__new__(cls, usual)
        hold = object.__setattr__
        hold(number, "low", usual.low if is_certified else usual)
        hold(number, "high", usual.high if is_certified else usual)
        hold(number, "_compute", compute)
        hold(number, "_usual", usual)
        return number

    if TYPE_CHECKING:

        @property
        def __call__(self) -> CallT_co:  # pyright: ignore[reportIncompatibleMethodOverride]
            """Compute the metric for other options, which are those of the parameter."""
            return self._compute

    else:  # hidden from type checkers

        def __call__(self, *args: Any, **options: Any) -> Any:
            """Compute the metric for other options."""
            if not args and not options:
                return self._usual
            try:
                return self._compute(*args, **options)
            except TypeError:
                said = unknown_arguments(self._compute, options)
                if said:
                    raise TypeError(f"the metric has {said}") from None
                raise

    def __reduce__(self) -> tuple[Any, ...]:
        usual = self._usual
        return usual.__reduce__() if isinstance(usual, Bounded) else (float, (usual,))


class RowMember(property):
    """An attribute that reads a metric, which may be called if the metric takes arguments.

    Parameters
    ----------
    row : Metric
        The row.
    is_direct : bool
        Whether every result of the class has the metric.
    """

    def __init__(self, row: Metric, *, is_direct: bool) -> None:
        value, name = row.value, row.name
        has_options = bool(row.averages or row.arguments)

        def read(result: Any) -> Any:
            if not is_direct:
                return result._attribute(name)
            if has_options:
                return MetricValue(partial(value, result._source))
            return value(result._source)

        super().__init__(read)
        self.row, self.__doc__ = row, row.docstring
        if is_direct and row.arguments and not row.averages:
            self.__wrapped__ = method_of(row)


def method_of(row: Metric) -> Any:
    """Make the method of a metric with arguments, which every result of a class has."""

    def method(self: Any, *args: Any, **options: Any) -> Any:
        return row.value(self._source, *args, **options)

    signature = inspect.signature(row.value)
    source, *own = signature.parameters.values()
    held: Any = method
    held.row, held.__doc__ = row, row.docstring
    held.__name__ = held.__qualname__ = row.name
    held.__signature__ = signature.replace(parameters=[source.replace(name="self"), *own])
    return held


class ClassAverages(Protocol):
    """The options of a metric of each class.

    For two listed classes the number is that of the positive class, otherwise the mean over the
    classes that occur.
    """

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
        self, average: Any = "default", *, zero_division: float = 0.0, labels: Any = None
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


class FAverages(Protocol):
    """The options of F of each class, whose usual `beta` is 1."""

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
    @overload
    def __call__(
        self,
        average: Average | Literal["default"],
        /,
        *,
        zero_division: float = ...,
        labels: Sequence[Label] | None = ...,
    ) -> float: ...
    @overload
    def __call__(self, average: None, /, *, zero_division: float = ...) -> Floats: ...
    def __call__(
        self,
        beta: Any = 1.0,
        alpha: float | None = None,
        average: Any = "default",
        *,
        zero_division: float = 0.0,
        labels: Any = None,
    ) -> Any:
        """Compute (1 + b^2) TP / ((1 + b^2) TP + b^2 FN + FP), with b = `beta`.

        Parameters
        ----------
        beta : float
            At least 0. Recall counts `beta` times as much: 0 is precision, infinity is recall.
            The average may come first instead, as in ``f_score("macro")``.
        alpha : float, optional
            The share of precision in the mean, in [0, 1], instead of `beta`:
            ``beta**2 = 1 / alpha - 1``.
        average, zero_division, labels
            As for other metrics of classes.

        Returns
        -------
        float in [0, 1], or an array of these
        """


class CurveAverages(Protocol):
    """The options of a metric of the curve of each class; the number is the macro mean."""

    @overload
    def __call__(self, average: Literal["macro", "micro", "weighted"] = ...) -> Bounded: ...
    @overload
    def __call__(self, average: None) -> tuple[Bounded, ...]: ...
    def __call__(self, average: Any = "macro") -> Any:
        """Compute another average.

        Parameters
        ----------
        average : {"macro", "micro", "weighted"} or None
            The mean over the classes where it is defined; the value of the pooled scores; the mean
            weighted by the positives; or, for None, a tuple with one value per class.
        """


class OutputAverages(Protocol):
    """The options of a metric of each output; the number is the mean over the outputs."""

    @overload
    def __call__(
        self,
        multioutput: Literal["uniform_average", "variance_weighted"] | Sequence[float] = ...,
    ) -> float: ...
    @overload
    def __call__(self, multioutput: Literal["raw_values"]) -> Floats: ...
    def __call__(self, multioutput: Multioutput = "uniform_average") -> Any:
        """Compute another average.

        Parameters
        ----------
        multioutput : {"uniform_average", "variance_weighted", "raw_values"} or sequence of float
            As in scikit-learn: the mean over the outputs where the metric is defined; the mean
            weighted by the variance of the truth of each output, or by a weight for each output, at
            least 0; or an array with one value per output.
        """
