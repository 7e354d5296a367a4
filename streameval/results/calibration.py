"""The result of `CalibrationAccumulator`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np
import numpy.typing as npt

from streameval.configs.calibration import CalibrationConfig
from streameval.exact.exact_sum import ExactSum
from streameval.exact.fixed_point import FixedPoint
from streameval.inputs.labels import Label
from streameval.metrics import calibration as metrics
from streameval.metrics.calibration import ReliabilityCurve
from streameval.metrics.regression import mean
from streameval.results import calibration_plot, calibration_text, reliability_plot
from streameval.results.reliability import Reliability
from streameval.states.calibration import CalibrationSums

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Calibration"]

PerClass = float | npt.NDArray[np.float64]

_OF_ALL = ("log_loss", "brier", "ece")
_OF_ONE = ("pcopc", "mean_prediction", "mean_label")


@attrs.frozen(repr=False)
class Calibration:
    """How good probabilities are, and whether they mean what they say.

    Made by `CalibrationAccumulator.compute`. Each metric is the exact value of the sums, rounded
    once; all are nan of nothing. For K classes the prediction of a row is its highest
    probability and its label tells whether that class (the first, of several) is the true one;
    `pcopc`, `mean_prediction` and `mean_label` are then arrays of shape ``(K,)``.

    References
    ----------
    Brier, "Verification of forecasts expressed in terms of probability", 1950.

    Naeini, Cooper and Hauskrecht, "Obtaining well calibrated probabilities using Bayesian
    binning", 2015.

    Guo, Pleiss, Sun and Weinberger, "On calibration of modern neural networks", 2017.
    """

    _config: CalibrationConfig
    _state: CalibrationSums

    @property
    def n(self) -> int | float:
        """The sum of the weights of all examples."""
        number: int | float = self._state.n.to_numbers().item()
        return number

    @property
    def labels(self) -> tuple[Label, ...]:
        """The K classes in the order of the probabilities; empty for two of one probability."""
        return self._config.labels

    @property
    def n_clipped(self) -> int | float:
        """The weight of the examples whose log loss was clipped.

        Their true class had a probability below 2**-52 or above 1 - 2**-52, the machine epsilon
        of float64, and counts with that.
        """
        number: int | float = self._state.clipped.to_numbers().item()
        return number

    @property
    def log_loss(self) -> float:
        """The mean of -log(probability of the true class), natural, in [2.2e-16, 36.05].

        Probabilities are clipped to [2**-52, 1 - 2**-52], whatever their dtype.
        """
        return mean(self._state.log_loss, self._state.n)

    @property
    def brier(self) -> float:
        """The mean squared error of the probabilities (Brier, 1950).

        For two classes of (p - y)**2, in [0, 1]; for K classes of the sum over k of
        (p_k - [y = k])**2, in [0, 2].
        """
        return mean(self._state.brier, self._state.n)

    @property
    def ece(self) -> float:
        """The expected calibration error, in [0, 1] (Naeini et al., 2015; Guo et al., 2017).

        The sum over bins of ``|labels - predictions|``, by n: the gap between mean label and mean
        prediction of each bin ``[i / bins, (i + 1) / bins)``, weighted by its examples. It
        depends on `bins`, and of few examples it is too high.
        """
        return metrics.ece(self._state.prediction, self._state.hits, self._state.n)

    @property
    def pcopc(self) -> PerClass:
        """Sum of predictions / sum of labels (predicted click over click), at least 0.

        1 is unbiased, above 1 the model predicts too much; nan without a positive.
        """
        return self._of_classes(
            [
                metrics.pcopc(prediction, label)
                for prediction, label in zip(*self._totals(), strict=True)
            ]
        )

    @property
    def mean_prediction(self) -> PerClass:
        """The mean probability, in [0, 1]."""
        predictions, _ = self._totals()
        return self._of_classes([mean(prediction, self._state.n) for prediction in predictions])

    @property
    def mean_label(self) -> PerClass:
        """The share of positives, or of each class in the truth, in [0, 1]."""
        _, labels = self._totals()
        return self._of_classes([metrics.share(label, self._state.n) for label in labels])

    def reliability_curve(self) -> ReliabilityCurve:
        """Compare predictions with what happened, bin by bin.

        Returns
        -------
        mean_prediction, mean_label, weight
            Arrays of shape ``(occupied,)``, one entry for each bin that holds any weight, by
            rising prediction. `weight` is int64, float64 once a fraction has been seen.
        """
        return metrics.reliability_curve(
            self._state.prediction, self._state.hits, self._state.weight
        )

    def as_dict(self) -> dict[str, int | float]:
        """Flatten to plain numbers for a logger; for K classes without those of each class."""
        names = _OF_ALL if self.labels else _OF_ALL + _OF_ONE
        values = {name: getattr(self, name) for name in names}
        return {"n": self.n, **values, "n_clipped": self.n_clipped}

    def report(self) -> str:
        """Lay the metrics out as a text table; for K classes the first 50 have a line each."""
        return calibration_text.report(self.as_dict(), self.labels, self._columns())

    def plot(self, ax: Axes | None = None, *, label: str | None = None) -> Axes:
        """Draw a reliability diagram; needs matplotlib (``pip install streameval[plot]``).

        Mean label over mean prediction of each occupied bin, the diagonal of perfect
        calibration, and bars for the share of the examples in each bin.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        label : str, optional
            The name in a legend, where several share the axes: the line alone is drawn.

        Returns
        -------
        matplotlib Axes
        """
        diagram, of_classes = Reliability.of_sums(self._state), bool(self.labels)
        if label is not None:
            return reliability_plot.plot(diagram, ax, label=label, of_classes=of_classes)
        return calibration_plot.plot(ax, diagram, ece=self.ece, of_classes=of_classes)

    def __repr__(self) -> str:
        """Show size and headline on one line."""
        classes = f"classes={len(self.labels)}, " if self.labels else ""
        numbers = ", ".join(f"{name}={getattr(self, name):.6g}" for name in _OF_ALL)
        return f"Calibration(n={self.n}, {classes}{numbers})"

    def __str__(self) -> str:
        """Show the report."""
        return self.report()

    def _repr_html_(self) -> str:
        return calibration_text.page(self.as_dict(), self.labels, self._columns())

    def _columns(self) -> dict[str, list[float]]:
        """Give the metrics of each class by name; none for two of one probability."""
        return {name: list(getattr(self, name)) for name in _OF_ONE} if self.labels else {}

    def _totals(self) -> tuple[list[ExactSum], list[FixedPoint]]:
        """Give the sums of predictions and of labels: of the positive class, or of each."""
        state = self._state
        if not self.labels:
            return [metrics.total(state.prediction)], [state.hits.total()]
        places = range(len(self.labels))
        return list(state.class_prediction), [state.class_weight[place] for place in places]

    def _of_classes(self, values: list[float]) -> PerClass:
        return np.array(values) if self.labels else values[0]
