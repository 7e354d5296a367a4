"""The result of `ConfusionAccumulator`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, overload

import attrs
import numpy as np
import numpy.typing as npt

from streameval._labels import Label
from streameval.configs.confusion import ConfusionConfig
from streameval.errors import InvalidInputError
from streameval.metrics import classification as metrics
from streameval.metrics.classification import Average, Outcomes, Ratio
from streameval.results import confusion_html, confusion_intervals, confusion_plot, confusion_text
from streameval.states.confusion import MatrixCounts, MetCounts, MultilabelCounts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["AverageOption", "Confusion"]

Counts = int | float | npt.NDArray[np.int64] | npt.NDArray[np.float64]
AverageOption = Average | Literal["default"] | None
ConfusionCounts = MatrixCounts | MetCounts | MultilabelCounts

_AVERAGES = ("binary", "macro", "micro", "weighted", None)


@attrs.frozen(repr=False)
class Confusion:
    """Counts of truth against prediction, and every metric that they give.

    Made by `ConfusionAccumulator.compute`. The counts are sums of weights, int64 as long as
    all weights are whole and float64 once a fraction has been seen; metrics are floats.
    Metrics per class are one-vs-rest.
    """

    _config: ConfusionConfig
    _state: ConfusionCounts
    _outcomes: Outcomes = attrs.field(init=False, eq=False)

    def __attrs_post_init__(self) -> None:
        """Read the outcomes once."""
        state = self._state
        if isinstance(state, MultilabelCounts):
            outcomes = Outcomes.of_tables(state.outcomes)
        else:
            outcomes = Outcomes.of_matrix(state.n, state.matrix)
        object.__setattr__(self, "_outcomes", outcomes)

    @property
    def n(self) -> int | float:
        """The sum of the weights of all examples."""
        number: int | float = self._state.n.to_numbers().item()
        return number

    @property
    def labels(self) -> tuple[Label, ...]:
        """The K classes, in the order of rows and columns."""
        if isinstance(self._state, MetCounts):
            return self._state.labels
        return self._config.labels

    @property
    def matrix(self) -> npt.NDArray[np.int64] | npt.NDArray[np.float64]:
        """The confusion matrix.

        Shape ``(K, K)``, rows truth and columns prediction; for multilabel ``(K, 2, 2)``,
        one table ``[[tn, fp], [fn, tp]]`` a label.
        """
        if isinstance(self._state, MultilabelCounts):
            return self._state.outcomes.to_numbers()
        return self._state.matrix.to_numbers()

    @property
    def tp(self) -> Counts:
        """True positives: of the positive class of two, else an array of shape ``(K,)``."""
        return self._positive_or_all(self._outcomes.tp.to_numbers())

    @property
    def fp(self) -> Counts:
        """False positives: of the positive class of two, else an array of shape ``(K,)``."""
        return self._positive_or_all(self._outcomes.fp.to_numbers())

    @property
    def fn(self) -> Counts:
        """False negatives: of the positive class of two, else an array of shape ``(K,)``."""
        return self._positive_or_all(self._outcomes.fn.to_numbers())

    @property
    def tn(self) -> Counts:
        """True negatives: of the positive class of two, else an array of shape ``(K,)``."""
        return self._positive_or_all(self._outcomes.tn.to_numbers())

    @property
    def support(self) -> Counts:
        """The weight of the class in the truth: of the positive one of two, else ``(K,)``."""
        return self._positive_or_all(self._outcomes.support.to_numbers())

    @property
    def n_averaged(self) -> int:
        """How many classes enter macro and weighted means.

        Those that occur in truth or prediction, all with ``include_unseen=True``; for
        multilabel, those with any known entry.
        """
        return int(np.count_nonzero(self._averaged()))

    @property
    def accuracy(self) -> float:
        """The share of examples predicted right, in [0, 1]; nan of nothing.

        For multilabel the share with every label right (subset accuracy).
        """
        state = self._state
        if isinstance(state, MultilabelCounts):
            right = state.exact_match.to_floats().item()
        else:
            right = self._outcomes.tp.sum().to_floats().item()
        return _share(right, state.n.to_floats().item())

    @property
    def hamming_loss(self) -> float:
        """The share of wrong labels, in [0, 1]; for one label an example, 1 - accuracy."""
        if not isinstance(self._state, MultilabelCounts):
            wrong = self._state.n - self._outcomes.tp.sum()
            return _share(wrong.to_floats().item(), self._state.n.to_floats().item())
        tp, fp, fn, tn = (math.fsum(row) for row in self._outcomes.to_floats())
        return _share(fp + fn, math.fsum((tp, fp, fn, tn)))

    @property
    def balanced_accuracy(self) -> float:
        """The mean recall of the classes that occur in the truth; nan of nothing."""
        self._require_matrix("balanced_accuracy")
        return metrics.average_ratio(
            metrics.RECALL,
            self._outcomes,
            average="macro",
            averaged=self._outcomes.support.is_positive(),
            positive=0,
            zero_division=math.nan,
        )

    @property
    def matthews_corrcoef(self) -> float:
        """The correlation of truth and prediction, in [-1, 1].

        Gorodkin's R_K for more than two classes. 0.0 when either is one class throughout.
        """
        return metrics.matthews_corrcoef(self._require_matrix("matthews_corrcoef").matrix)

    @property
    def cohen_kappa(self) -> float:
        """The agreement beyond chance, at most 1; nan when both are one and the same class."""
        return metrics.cohen_kappa(self._require_matrix("cohen_kappa").matrix)

    @property
    def top_k_accuracy(self) -> float:
        """The share of examples whose true class is among the `top_k` best scores.

        Ties at the cut get the credit they have on average over all orders, so a constant
        score gives ``k / K``. For predicted labels this is the accuracy.
        """
        state = self._require_matrix("top_k_accuracy")
        if isinstance(state, MetCounts):
            return self.accuracy
        return metrics.top_k_accuracy(state.n, state.credit)

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
        return self._ratio(metrics.PRECISION, average, zero_division)

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
        return self._ratio(metrics.RECALL, average, zero_division)

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
        return self._ratio(metrics.SPECIFICITY, average, zero_division)

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
        return self._ratio(metrics.JACCARD, average, zero_division)

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
        return self._ratio(metrics.f_ratio(beta, alpha), average, zero_division)

    def confidence(
        self, name: str, *args: Any, level: float = 0.95, **options: Any
    ) -> tuple[float, float]:
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
        interval: tuple[float, float] = confusion_intervals.confidence(
            self, name, args, options, level
        )
        return interval

    def as_dict(self) -> dict[str, int | float]:
        """Flatten to plain numbers for a logger; averages are the default ones."""
        counts: dict[str, int | float] = {"n": self.n}
        if self._config.is_binary:
            counts |= {name: getattr(self, name) for name in ("tp", "fp", "fn", "tn")}
        else:
            counts["n_averaged"] = self.n_averaged
        return counts | {name: self.value(name) for name in self.metric_names}

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The scalar metrics that are defined for this kind of labels, in order of report."""
        ratios = ("precision", "recall", "specificity", "f_score", "jaccard")
        if isinstance(self._state, MultilabelCounts):
            return ("accuracy", "hamming_loss", *ratios)
        top = ("top_k_accuracy",) if self._config.top_k > 1 else ()
        agreement = ("matthews_corrcoef", "cohen_kappa")
        return ("accuracy", *top, "balanced_accuracy", *ratios, *agreement)

    def value(self, name: str, *args: Any, **options: Any) -> Any:
        """Compute a metric by name."""
        if name not in (*confusion_intervals.PLAIN, *confusion_intervals.AVERAGED):
            names = ", ".join((*confusion_intervals.PLAIN, *confusion_intervals.AVERAGED))
            raise InvalidInputError(f"`name` must be one of {names}, got {name!r}.")
        metric = getattr(self, name)
        if callable(metric):
            return metric(*args, **options)
        if args or options:
            raise InvalidInputError(f"`{name}` takes no arguments.")
        return metric

    def report(self, *, level: float = 0.95, max_classes: int = 50) -> str:
        """Lay the metrics out as a text table of at most 80 columns.

        Parameters
        ----------
        level : float
            The probability of the intervals, in [0, 1); 0 leaves them out.
        max_classes : int
            How many classes get a line of their own; the rest is counted.
        """
        return confusion_text.report(self, level=level, max_classes=max_classes)

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
        return confusion_plot.plot(self, ax, normalize=normalize)

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
        return confusion_html.page(self)

    def _positive_or_all(self, numbers: npt.NDArray[Any]) -> Counts:
        if not self._config.is_binary:
            return numbers
        number: int | float = numbers[self._config.positive_place].item()
        return number

    def _ratio(self, ratio: Ratio, average: AverageOption, zero_division: float) -> Any:
        if not (zero_division in (0.0, 1.0) or math.isnan(zero_division)):
            raise InvalidInputError(
                f"`zero_division` must be 0.0, 1.0 or nan, got {zero_division!r}."
            )
        how = self._resolve(average)
        if how is None:
            return ratio.of(self._outcomes.to_floats(), zero_division)
        return metrics.average_ratio(
            ratio,
            self._outcomes,
            average=how,
            averaged=self._averaged(),
            positive=self._config.positive_place if self._config.is_binary else 0,
            zero_division=zero_division,
        )

    def _resolve(self, average: AverageOption) -> Average | None:
        if average == "default":
            return "binary" if self._config.is_binary else "macro"
        if average not in _AVERAGES:
            raise InvalidInputError(f"`average` must be one of {_AVERAGES}, got {average!r}.")
        if average == "binary" and not self._config.is_binary:
            raise InvalidInputError('`average` "binary" needs two listed classes.')
        return average

    def _averaged(self) -> npt.NDArray[np.bool_]:
        if self._config.include_unseen:
            return np.ones(len(self.labels), dtype=bool)
        if isinstance(self._state, MultilabelCounts):
            return self._outcomes.seen() | self._outcomes.tn.is_positive()
        return self._outcomes.seen()

    def _require_matrix(self, name: str) -> MatrixCounts | MetCounts:
        if isinstance(self._state, MultilabelCounts):
            raise InvalidInputError(f"`{name}` is not defined for multilabel counts.")
        return self._state


def _share(part: float, whole: float) -> float:
    return part / whole if whole else math.nan
