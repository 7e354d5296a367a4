"""The result of `ConfusionAccumulator`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

import attrs
import numpy as np
import numpy.typing as npt

from streameval.inputs.labels import Label
from streameval.metrics import classification as metrics
from streameval.metrics.classification import Average
from streameval.results import (
    confusion_html,
    confusion_intervals,
    confusion_plot,
    confusion_text,
    confusion_values,
)
from streameval.results.confusion_reading import AverageOption, Reading
from streameval.results.confusion_values import ratio_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Confusion"]

Counts = int | float | npt.NDArray[np.int64] | npt.NDArray[np.float64]


@attrs.frozen(repr=False)
class Confusion:
    """Counts of truth against prediction, and every metric that they give.

    Made by `ConfusionAccumulator.compute`. The counts are sums of weights, int64 as long as
    all weights are whole and float64 once a fraction has been seen; metrics are floats.
    Metrics per class are one-vs-rest.
    """

    _reading: Reading

    __hash__ = None  # type: ignore[assignment] # as of NumPy's arrays, which it holds

    @property
    def n(self) -> int | float:
        """The sum of the weights of all examples."""
        return self._reading.n

    @property
    def labels(self) -> tuple[Label, ...]:
        """The K classes, in the order of rows and columns."""
        return self._reading.labels

    @property
    def matrix(self) -> npt.NDArray[np.int64] | npt.NDArray[np.float64]:
        """The confusion matrix.

        Shape ``(K, K)``, rows truth and columns prediction; for multilabel ``(K, 2, 2)``,
        one table ``[[tn, fp], [fn, tp]]`` a label.
        """
        return self._reading.counts

    @property
    def tp(self) -> Counts:
        """True positives: of the positive class of two, else an array of shape ``(K,)``."""
        return self._positive_or_all(self._reading.outcomes.tp.to_numbers())

    @property
    def fp(self) -> Counts:
        """False positives: of the positive class of two, else an array of shape ``(K,)``."""
        return self._positive_or_all(self._reading.outcomes.fp.to_numbers())

    @property
    def fn(self) -> Counts:
        """False negatives: of the positive class of two, else an array of shape ``(K,)``."""
        return self._positive_or_all(self._reading.outcomes.fn.to_numbers())

    @property
    def tn(self) -> Counts:
        """True negatives: of the positive class of two, else an array of shape ``(K,)``."""
        return self._positive_or_all(self._reading.outcomes.tn.to_numbers())

    @property
    def support(self) -> Counts:
        """The weight of the class in the truth: of the positive one of two, else ``(K,)``."""
        return self._positive_or_all(self._reading.outcomes.support.to_numbers())

    @property
    def n_averaged(self) -> int:
        """How many classes enter macro and weighted means.

        Those that occur in truth or prediction, all with ``include_unseen=True``; for
        multilabel, those with any known entry.
        """
        return int(np.count_nonzero(self._reading.averaged))

    @property
    def accuracy(self) -> float:
        """The share of examples predicted right, in [0, 1]; nan of nothing.

        For multilabel the share with every label right (subset accuracy).
        """
        return confusion_values.accuracy(self._reading)

    @property
    def hamming_loss(self) -> float:
        """The share of wrong labels, in [0, 1]; for one label an example, 1 - accuracy."""
        return confusion_values.hamming_loss(self._reading)

    @property
    def balanced_accuracy(self) -> float:
        """The mean recall of the classes that occur in the truth; nan of nothing."""
        return confusion_values.balanced_accuracy(self._reading)

    @property
    def matthews_corrcoef(self) -> float:
        """The correlation of truth and prediction, in [-1, 1].

        Gorodkin's R_K for more than two classes. 0.0 when either is one class throughout.
        """
        return confusion_values.matthews_corrcoef(self._reading)

    @property
    def cohen_kappa(self) -> float:
        """The agreement beyond chance, at most 1; nan when both are one and the same class."""
        return confusion_values.cohen_kappa(self._reading)

    @property
    def top_k_accuracy(self) -> float:
        """The share of examples whose true class is among the `top_k` best scores.

        Ties at the cut get the credit they have on average over all orders, so a constant
        score gives ``k / K``. For predicted labels this is the accuracy.
        """
        return confusion_values.top_k_accuracy(self._reading)

    @overload
    def precision(
        self, average: None, *, zero_division: float = ...
    ) -> npt.NDArray[np.float64]: ...
    @overload
    def precision(
        self, average: Average | Literal["default"] = ..., *, zero_division: float = ...
    ) -> float: ...
    def precision(self, average: AverageOption = "default", *, zero_division: float = 0.0) -> Any:
        """Compute TP / (TP + FP), the share of the predicted positives that are positive.

        Parameters
        ----------
        average : {"binary", "macro", "micro", "weighted"} or None
            Of the positive class; the mean over the classes that occur; of the pooled counts;
            the mean weighted by support; or None for an array of shape ``(K,)``. The default
            is "binary" for two listed classes and "macro" otherwise.
        zero_division : float
            The value where nothing was predicted: 0.0, 1.0 or nan. nan is left out of means.

        Returns
        -------
        float in [0, 1], or an array of these
        """
        return ratio_value(self._reading, metrics.PRECISION, average, zero_division)

    @overload
    def recall(self, average: None, *, zero_division: float = ...) -> npt.NDArray[np.float64]: ...
    @overload
    def recall(
        self, average: Average | Literal["default"] = ..., *, zero_division: float = ...
    ) -> float: ...
    def recall(self, average: AverageOption = "default", *, zero_division: float = 0.0) -> Any:
        """Compute TP / (TP + FN), the share of the positives that were found.

        Parameters and result are those of `precision`; `zero_division` is the value where
        nothing is positive.
        """
        return ratio_value(self._reading, metrics.RECALL, average, zero_division)

    @overload
    def specificity(
        self, average: None, *, zero_division: float = ...
    ) -> npt.NDArray[np.float64]: ...
    @overload
    def specificity(
        self, average: Average | Literal["default"] = ..., *, zero_division: float = ...
    ) -> float: ...
    def specificity(self, average: AverageOption = "default", *, zero_division: float = 0.0) -> Any:
        """Compute TN / (TN + FP), the share of the negatives left alone.

        Parameters and result are those of `precision`; `zero_division` is the value where
        nothing is negative.
        """
        return ratio_value(self._reading, metrics.SPECIFICITY, average, zero_division)

    @overload
    def jaccard(self, average: None, *, zero_division: float = ...) -> npt.NDArray[np.float64]: ...
    @overload
    def jaccard(
        self, average: Average | Literal["default"] = ..., *, zero_division: float = ...
    ) -> float: ...
    def jaccard(self, average: AverageOption = "default", *, zero_division: float = 0.0) -> Any:
        """Compute TP / (TP + FP + FN), the intersection over the union.

        Parameters and result are those of `precision`; `zero_division` is the value where the
        class occurs neither in truth nor in prediction.
        """
        return ratio_value(self._reading, metrics.JACCARD, average, zero_division)

    @overload
    def f_score(
        self,
        beta: float = ...,
        alpha: float | None = ...,
        average: Average | Literal["default"] = ...,
        *,
        zero_division: float = ...,
    ) -> float: ...
    @overload
    def f_score(
        self,
        beta: float = ...,
        alpha: float | None = ...,
        *,
        average: None,
        zero_division: float = ...,
    ) -> npt.NDArray[np.float64]: ...
    def f_score(
        self,
        beta: float = 1.0,
        alpha: float | None = None,
        average: AverageOption = "default",
        *,
        zero_division: float = 0.0,
    ) -> Any:
        """Compute (1 + b^2) TP / ((1 + b^2) TP + b^2 FN + FP), with b = `beta`.

        The weighted harmonic mean of precision and recall; recall counts `beta` times as much.

        Parameters
        ----------
        beta : float
            At least 0: 0 is precision, infinity is recall.
        alpha : float, optional
            The share of precision in the mean, in [0, 1], in place of `beta`:
            ``beta**2 = 1 / alpha - 1``.
        average, zero_division
            As for `precision`.

        Returns
        -------
        float in [0, 1], or an array of these
        """
        return ratio_value(self._reading, metrics.f_ratio(beta, alpha), average, zero_division)

    def confidence(
        self, name: str, *args: Any, level: float = 0.95, **options: Any
    ) -> tuple[Any, Any]:
        """Give the sampling interval of a metric: where the population's value may lie.

        Wilson's interval; exact counts of draws for accuracy and the ratios of one class, an
        effective number of draws for averages, F and top-k; Fisher's for the correlations.
        For multilabel averages it is on the safe side, whatever the labels' dependence.

        Parameters
        ----------
        name : str
            A metric of this class: ``"accuracy"``, ``"f_score"``, ...
        *args, **options
            The arguments of the metric, as in ``confidence("f_score", 2.0, average="macro")``.
        level : float
            The probability of covering, in [0, 1); 0 gives the value itself, twice.

        Returns
        -------
        (low, high)
            With ``average=None`` two arrays of shape ``(K,)``. nan where the metric is
            undefined, whatever `zero_division` makes of its value.

        Raises
        ------
        InvalidInputError
            For an unknown name, a level outside [0, 1), or weights with fractions: whole
            weights are repeats of an example, but a fraction of an example is no draw.
        """
        ends: tuple[Any, Any] = confusion_intervals.confidence(
            self._reading, name, *args, level=level, **options
        )
        return ends

    @property
    def scope(self) -> str:
        """What precision and the like are of by default: the positive class, or a mean."""
        return confusion_text.scope(self._reading)

    def as_dict(self) -> dict[str, int | float]:
        """Flatten to plain numbers for a logger; averages are the default ones."""
        counts: dict[str, int | float] = {"n": self.n}
        if self._reading.config.is_binary:
            counts |= {name: getattr(self, name) for name in ("tp", "fp", "fn", "tn")}
        else:
            counts["n_averaged"] = self.n_averaged
        return counts | {name: self.value(name) for name in self.metric_names}

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The scalar metrics that are defined for this kind of labels, in order of report."""
        return confusion_values.metric_names(self._reading)

    def value(self, name: str, *args: Any, **options: Any) -> Any:
        """Compute a metric by name."""
        return confusion_values.value(self._reading, name, *args, **options)

    def report(self, *, level: float = 0.95, max_classes: int = 50) -> str:
        """Lay the metrics out as a text table of at most 80 columns.

        Parameters
        ----------
        level : float
            The probability of the intervals, in [0, 1); 0 leaves them out.
        max_classes : int
            How many classes get a line of their own; the rest is counted.
        """
        return confusion_text.report(self._reading, level=level, max_classes=max_classes)

    def plot(self, ax: Axes | None = None, *, normalize: bool = True) -> Axes:
        """Draw the matrix; needs matplotlib (``pip install streameval[plot]``).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        normalize : bool
            Colour by the share of each true class; the numbers written are always counts.

        Returns
        -------
        matplotlib Axes
        """
        return confusion_plot.plot(self._reading, ax, normalize=normalize)

    def __repr__(self) -> str:
        """Show size and headline on one line."""
        return (
            f"Confusion(n={self.n}, classes={len(self.labels)}, "
            f"accuracy={self.accuracy:.6g}, f_score={self.f_score():.6g})"
        )

    def __str__(self) -> str:
        """Show the report."""
        return self.report()

    def _repr_html_(self) -> str:
        return confusion_html.page(self._reading)

    def _positive_or_all(self, numbers: npt.NDArray[Any]) -> Counts:
        if not self._reading.config.is_binary:
            return numbers
        number: int | float = numbers[self._reading.config.positive_place].item()
        return number
