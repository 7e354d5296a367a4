"""The result of `PRCurveSketch`: one curve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import attrs
import numpy as np
import numpy.typing as npt

from streameval.configs.calibration import number_of_bins
from streameval.errors import InvalidInputError
from streameval.exact.fixed_point import FixedPoint
from streameval.metrics import average_precision as areas
from streameval.metrics import curves, envelope, loss_bounds, thresholds
from streameval.metrics.bounded import Bounded
from streameval.metrics.points import CellTable
from streameval.results import curve_findings, curve_plot, curve_text
from streameval.results import curve_values as values
from streameval.results.confusion import Confusion

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Curve"]

Floats = npt.NDArray[np.float64]
Number = int | float

METRICS = (
    "roc_auc",
    "average_precision",
    "average_precision_interpolated",
    "average_precision_11pt",
    "pr_auc",
    "ks",
)
"""The metrics without arguments, in order of report."""

LOSSES = ("log_loss", "brier", "ece")
"""Those of probabilities."""


@attrs.frozen(repr=False, eq=False)
class Curve:
    """Outcomes at every threshold, and every metric that they give.

    Made by `PRCurveSketch.compute`. Metrics are `Bounded`: floats that carry the interval in
    which the exact value on all the data lies. While every distinct score has a cell of its own
    the interval is one point, and the value is scikit-learn's. nan marks what is undefined.
    """

    _table: CellTable
    _skipped: FixedPoint

    @property
    def n(self) -> Number:
        """The sum of the weights of all examples."""
        return self._table.n

    @property
    def n_pos(self) -> Number:
        """The weight of the positives."""
        return self._table.n_pos

    @property
    def n_neg(self) -> Number:
        """The weight of the negatives."""
        return self._table.n_neg

    @property
    def n_skipped(self) -> Number:
        """The weight of the examples left out for a score that is NaN."""
        number: Number = self._skipped.to_numbers().item()
        return number

    @property
    def exact(self) -> bool:
        """Whether every distinct score has a cell of its own."""
        return self._table.is_exact

    @property
    def cells(self) -> int:
        """The number of cells."""
        return len(self._table.lo)

    @property
    def resolution(self) -> float:
        """The width in score of the widest cell of several scores; 0.0 if there is none."""
        return self._table.resolution

    @property
    def roc_auc(self) -> Bounded:
        """The area under the ROC curve, in [0, 1]; nan unless both classes occur.

        The probability that a positive scores above a negative, ties counting half. An
        estimate is the middle of its interval, whose width is the sum over cells of several
        scores of ``pos * neg / (n_pos * n_neg)``.
        """
        return envelope.roc_auc(self._table)

    @property
    def average_precision(self) -> Bounded:
        """Precision summed over the steps of recall, in [0, 1]; nan without a positive."""
        return areas.average_precision(self._table)

    @property
    def average_precision_interpolated(self) -> Bounded:
        """As `average_precision`, of the highest precision at that recall or above."""
        return areas.average_precision_interpolated(self._table)

    @property
    def average_precision_11pt(self) -> Bounded:
        """The mean, over recalls of 0, 0.1, ..., 1, of the highest precision from there on."""
        return areas.average_precision_11pt(self._table)

    @property
    def pr_auc(self) -> Bounded:
        """The area of the trapezoids under the precision-recall points; nan without a positive.

        It interpolates linearly where `average_precision` steps.
        """
        return areas.pr_auc(self._table)

    @property
    def ks(self) -> Bounded:
        """The Kolmogorov-Smirnov statistic, in [0, 1]: the greatest ``|tpr - fpr|``."""
        return envelope.ks(self._table)

    @property
    def brier(self) -> Bounded:
        """The mean of ``(score - label)**2``, in [0, 1]; for probabilities."""
        return loss_bounds.brier(self._probabilities("brier"))

    @property
    def log_loss(self) -> Bounded:
        """The mean of minus the log of the probability of the truth; for probabilities.

        Probabilities are clipped at float64's eps, so it is at most 36.05.
        """
        return loss_bounds.log_loss(self._probabilities("log_loss"))

    def ece(self, bins: int = 15) -> Bounded:
        """Compute the expected calibration error, in [0, 1]; for probabilities.

        ``|mean label - mean score|`` in each of `bins` bins ``[i/bins, (i+1)/bins)``, the last
        closed, weighted by their examples (Naeini, Cooper and Hauskrecht, 2015).

        Parameters
        ----------
        bins : int
            The number of bins, from 1 to 65,536.
        """
        table = self._probabilities("ece")
        return loss_bounds.ece(table, number_of_bins(bins))

    def partial_roc_auc(self, max_fpr: float) -> Bounded:
        """Compute the area up to a false positive rate, standardised (McClish, 1989).

        Parameters
        ----------
        max_fpr : float
            From 2**-1000 to 1.

        Returns
        -------
        Bounded
            0.5 for chance and 1 for a perfect order; nan unless both classes occur.
        """
        most = values.false_positive_rate(max_fpr)
        return envelope.of_sums(self._table, lambda points: curves.partial_roc_auc(points, most))

    def precision_at(self, threshold: float) -> Bounded:
        """Compute the share of positives among scores of at least a threshold, 0 of none."""
        return thresholds.precision_at(self._table, values.threshold_value(threshold))

    def recall_at(self, threshold: float) -> Bounded:
        """Compute the share of the positives that score at least a threshold.

        nan without a positive.
        """
        return thresholds.recall_at(self._table, values.threshold_value(threshold))

    def f_at(self, threshold: float, beta: float = 1.0) -> Bounded:
        """Compute F at a threshold, 0 where nothing is positive or predicted so.

        Parameters
        ----------
        threshold : float
            A score of at least this is a positive prediction.
        beta : float
            At least 0; 1 weighs precision and recall alike.
        """
        threshold = values.threshold_value(threshold)
        return thresholds.f_at(self._table, threshold, values.beta_value(beta))

    def recall_at_precision(self, p: float) -> Bounded:
        """Find the highest recall with a precision of at least `p`.

        0 where no threshold reaches `p`, and nan without a positive.
        """
        least = values.rate(p, name="p")
        return envelope.of_shares(
            self._table, lambda points: curves.recall_at_precision(points, least)
        )

    def precision_at_recall(self, r: float) -> Bounded:
        """Find the highest precision with a recall of at least `r`; nan without a positive."""
        least = values.rate(r, name="r")
        return envelope.of_shares(
            self._table, lambda points: curves.precision_at_recall(points, least)
        )

    def threshold_at_precision(self, p: float) -> Bounded:
        """Find the threshold of `recall_at_precision`.

        Of several with the highest recall that of the highest precision; nan if no threshold
        reaches `p`. The interval is the hull of the cells that can hold it, if there is one.
        """
        return thresholds.threshold_at_precision(self._table, values.rate(p, name="p"))

    def best_f(self, beta: float = 1.0) -> tuple[Bounded, Bounded]:
        """Find the highest F and its threshold.

        Returns
        -------
        value : Bounded
            The highest F over all thresholds; nan without a positive.
        threshold : Bounded
            Where it is reached, the highest of several. Its interval is the hull of the cells
            that can hold it.
        """
        return thresholds.best_f(self._table, values.beta_value(beta))

    def confusion_at(
        self, threshold: float, *, bound: Literal["low", "high"] | None = None
    ) -> Confusion:
        """Count the outcomes at a threshold.

        Parameters
        ----------
        threshold : float
            A score of at least this is a positive prediction.
        bound : {"low", "high"}, optional
            For a threshold that divides a cell: the fewest true and the most false positives,
            or the reverse.

        Raises
        ------
        InvalidInputError
            When the threshold divides a cell and `bound` is left out; the message names the
            nearest thresholds whose counts are exact.
        """
        return values.confusion_at(self._table, threshold, bound)

    def roc_curve(self) -> tuple[Floats, Floats, Floats]:
        """List the points of the ROC curve.

        Returns
        -------
        fpr, tpr, thresholds : float64 arrays, shape (m + 1,)
            At falling thresholds, from infinity on. Each point is exact; while the curve is,
            they are all its points, and equal to scikit-learn's with
            ``drop_intermediate=False``. A rate of an absent class is nan.
        """
        return curves.roc_curve(self._table.estimate)

    def precision_recall_curve(self) -> tuple[Floats, Floats, Floats]:
        """List the points of the precision-recall curve.

        Returns
        -------
        precision, recall : float64 arrays, shape (m + 1,)
            At rising thresholds, then 1 and 0. Each point is exact; while the curve is, they
            are all its points, and equal to scikit-learn's. Recall is 1 without a positive.
        thresholds : float64 array, shape (m,)
        """
        return curves.precision_recall_curve(self._table.estimate)

    def confidence(self, name: str, *args: Any, level: float = 0.95) -> tuple[float, float]:
        """Give the sampling interval: where the metric of the population may lie.

        It says how far a sample of this size may be off, and `Bounded` what the cells leave
        open; where they leave something open, it covers the intervals at both ends.

        Parameters
        ----------
        name : str
            ``"roc_auc"`` (DeLong's variance on the logit scale), ``"precision_at"`` or
            ``"recall_at"`` (Wilson).
        *args
            The arguments of the metric, as in ``confidence("recall_at", 0.5)``.
        level : float
            The probability of covering, in [0, 1).

        Returns
        -------
        (low, high)
            nan where there is no such interval: an AUC of 0 or 1, fewer than two of a class.

        Raises
        ------
        InvalidInputError
            For an unknown name, a level outside [0, 1), or weights with fractions: whole
            weights are repeats of an example, but a fraction of an example is no draw.
        """
        return values.confidence(self._table, name, *args, level=level)

    def as_dict(self) -> dict[str, Number]:
        """Flatten to plain numbers for a logger; ``_low`` and ``_high`` are the bounds."""
        numbers: dict[str, Number] = {
            "n": self.n,
            "n_pos": self.n_pos,
            "n_neg": self.n_neg,
            "n_skipped": self.n_skipped,
            "cells": self.cells,
        }
        for name, number in self.metrics().items():
            numbers[name] = float(number)
            numbers |= {f"{name}_low": number.low, f"{name}_high": number.high}
        return numbers

    def metrics(self) -> dict[str, Bounded]:
        """Compute every metric that needs no argument, by name."""
        found = {name: getattr(self, name) for name in METRICS}
        found["best_f"], found["best_f_threshold"] = self.best_f()
        if self._table.scale == "probability":
            found |= {"log_loss": self.log_loss, "brier": self.brier, "ece": self.ece()}
        return found

    def report(self, *, level: float = 0.95) -> str:
        """Lay the metrics out as a text table of at most 80 columns.

        Parameters
        ----------
        level : float
            The probability of the sampling interval, in [0, 1); 0 leaves it out.
        """
        return curve_text.report(self._table, self.metrics(), self.n_skipped, level=level)

    def explain(self) -> str:
        """Say in words what limits these numbers, and what would mend it."""
        return curve_findings.explain(self._table)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        kind: Literal["pr", "roc", "det", "reliability", "score"] = "pr",
        label: str | None = None,
    ) -> Axes:
        """Draw the curve with its certified band; needs ``pip install streameval[plot]``.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        kind : str
            Precision against recall, true against false positive rate ("roc"), false negative
            against false positive rate on normal scales ("det"), observed rate against score
            ("reliability"), or the scores of both classes ("score").
        label : str, optional
            The name of the curve in a legend, where several share the axes.

        Returns
        -------
        matplotlib Axes
        """
        return curve_plot.plot(self._table, ax, kind=kind, label=label)

    def __repr__(self) -> str:
        """Show size and headline on one line."""
        state = "exact" if self.exact else f"{self.cells:,} cells"
        return (
            f"Curve(n={self.n}, {state}, roc_auc={self.roc_auc:.6g}, "
            f"average_precision={self.average_precision:.6g})"
        )

    def __str__(self) -> str:
        """Show the report."""
        return self.report()

    def _repr_html_(self) -> str:
        return curve_text.html(self._table, self.metrics(), self.n_skipped)

    def _probabilities(self, name: str) -> CellTable:
        if self._table.scale != "probability":
            raise InvalidInputError(f'`{name}` needs probabilities, and scores="real" are none.')
        return self._table
