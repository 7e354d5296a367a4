"""The result of `PRCurveSketch`: one curve."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, overload

import attrs

from streameval.configs.names import as_names
from streameval.errors import InvalidInputError, Named
from streameval.exact.array_types import Floats
from streameval.metrics import curves, thresholds
from streameval.metrics.bounded import Bounded
from streameval.metrics.curve_table import (
    TABLE,
    CurveCells,
    beta_value,
    threshold_value,
    threshold_values,
)
from streameval.metrics.delong import note_areas
from streameval.metrics.thresholds import BoundedArray, ThresholdRates, rates_at
from streameval.render.blocks import Limits, Reliability
from streameval.render.charts import Chart
from streameval.render.plots import PlotRequest
from streameval.render.text import plural
from streameval.results import curve_confusion, curve_lines, findings
from streameval.results.confusion import Confusion
from streameval.results.members import CurveMembers, add_members
from streameval.results.names import MetricName
from streameval.results.reading import Number
from streameval.results.result import Report, Result


@attrs.frozen(repr=False, eq=False, slots=False)
class Curve(CurveMembers, CurveCells, Result):
    """Outcomes at every threshold, and the metrics computed from them.

    Made by `PRCurveSketch.compute`. Metrics are `Bounded`: floats with an interval that contains
    the exact value on all the data. While every distinct score has its own bin, the interval is
    one point, and the value is scikit-learn's. Undefined metrics are nan.

    Notes
    -----
    The interval of `confidence` accounts for the size of the sample, whereas `Bounded` accounts for
    the width of the cells. It is Wilson's, for areas with DeLong's variance and more with few
    examples of a class. If the metric is not exact, it covers the sampling intervals at both ends.
    It is nan where the metric is undefined, or no example scores at least the threshold.

    Examples
    --------
    Every metric of five examples; those with an argument take 0.5:

    >>> import streameval as se
    >>> acc = se.PRCurveSketch().update([0, 0, 1, 1, 1], [0.1, 0.6, 0.35, 0.8, 0.9])
    >>> result = acc.compute()
    >>> for name in result.readable():
    ...     asked = name.replace("(x)", "(0.5)")
    ...     print(f"{asked:34}{result.read(asked).value:8.4f}")
    n                                   5.0000
    n_pos                               3.0000
    n_neg                               2.0000
    n_skipped                           0.0000
    cells                               5.0000
    roc_auc                             0.8333
    average_precision                   0.9167
    average_precision_interpolated      0.9167
    average_precision_11pt              0.9091
    pr_auc                              0.9028
    ks                                  0.6667
    best_f                              0.8571
    best_f_threshold                    0.3500
    log_loss                            0.4800
    brier                               0.1685
    ece                                 0.3300
    pr_auc_davis_goadrich               0.9041
    adaptive_ece                        0.3300
    d2_log_loss_score                   0.2868
    d2_brier_score                      0.2979
    equal_error_rate                    0.3333
    equal_error_rate_threshold          0.6000
    youden_j                            0.6667
    youden_j_threshold                  0.8000
    gini                                0.6667
    min_cost                            0.2000
    partial_roc_auc(0.5)                0.7778
    precision_at(0.5)                   0.6667
    recall_at(0.5)                      0.6667
    f_at(0.5)                           0.6667
    net_benefit(0.5)                    0.2000
    selective_accuracy(0.5)             0.6000
    selective_coverage(0.5)             1.0000
    recall_at_precision(0.5)            1.0000
    precision_at_recall(0.5)            1.0000
    threshold_at_precision(0.5)         0.3500
    tpr_at_fpr(0.5)                     1.0000
    fpr_at_tpr(0.5)                     0.0000
    sensitivity_at_specificity(0.5)     1.0000
    specificity_at_sensitivity(0.5)     1.0000
    threshold_at_fpr(0.5)               0.3500
    threshold_at_specificity(0.5)       0.3500
    threshold_at_sensitivity(0.5)       0.8000
    precision_at_top(0.5)               0.8000
    recall_at_top(0.5)                  0.6667
    lift_at_top(0.5)                    1.3333
    """

    TABLE = TABLE

    def _prepare(self, results: Sequence[Any], metrics: Sequence[MetricName] | None = None) -> None:
        """Compute the areas of all curves at once, if a metric needs them, or this one has its."""
        is_needed = "roc_auc" in self._table.areas
        if metrics is not None:
            is_needed = any(metric.name in ("roc_auc", "gini") for metric in metrics)
        if is_needed:
            note_areas([one._table for one in results])

    @property
    def n(self) -> Number:
        """The sum of the weights of all examples."""
        return self._table.n

    @property
    def exact(self) -> bool:
        """Whether every distinct score has its own bin."""
        return self._table.is_exact

    @property
    def resolution(self) -> float:
        """The width in score of the widest bin of several scores; 0.0 if there is none."""
        return self._table.resolution

    @overload
    def at(self, thresholds: Any) -> ThresholdRates: ...

    @overload
    def at(self, thresholds: Any, metrics: Sequence[str]) -> dict[str, BoundedArray]: ...

    def at(
        self, thresholds: Any, metrics: Sequence[str] | None = None
    ) -> ThresholdRates | dict[str, BoundedArray]:
        """Compute precision, recall and the false positive rate, or other metrics, at thresholds.

        Parameters
        ----------
        thresholds : array of numbers, shape (m,)
            In any order. A score of at least a threshold is a positive prediction.
        metrics : sequence of str, optional
            Metrics of `Confusion` for two classes, as `read` takes them: ``"accuracy"``,
            ``"f_score(2)"``, ``"recall[macro]"``.

        Returns
        -------
        ThresholdRates, or dict from name to BoundedArray of length m
            `thresholds`, `precision`, `recall` and `fpr`: as `precision_at` and `recall_at`, each
            with its certified interval. `precision` is 0 where nothing is predicted, and a rate of
            an absent class is nan. With `metrics`, these, each as in `confusion_at`; nan where the
            threshold divides a cell and a metric may be undefined.

        Raises
        ------
        InvalidInputError
            If thresholds are not a vector of numbers, or there is no such metric.

        Examples
        --------
        >>> import numpy as np
        >>> import streameval as se
        >>> curve = se.PRCurveSketch().update([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).compute()
        >>> rates = curve.at([0.0, 0.4, 0.9])
        >>> rates.recall
        BoundedArray([1.0, 0.5, 0.0])
        >>> np.asarray(rates.precision).tolist(), rates.fpr[1]
        ([0.5, 0.5, 0.0], 0.5)
        >>> curve.at([0.3, 0.5], metrics=["accuracy", "specificity"])
        {'accuracy': BoundedArray([0.75, 0.75]), 'specificity': BoundedArray([0.5, 1.0])}
        """
        values = threshold_values(thresholds)
        if metrics is None:
            return rates_at(self._table, values)
        names = as_names(metrics, name="metrics")
        return curve_confusion.metrics_at(self._table, values, names)

    def best_f(self, beta: float = 1.0) -> tuple[Bounded, Bounded]:
        """Find the highest F and its threshold.

        Returns
        -------
        value : Bounded
            The highest F over all thresholds; nan without a positive.
        threshold : Bounded
            The threshold at which it is reached, the highest of several. Its interval is the
            hull of the cells that can contain it.
        """
        beta = beta_value(beta)
        return self._best_f1 if beta == 1.0 else thresholds.best_f(self._table, beta)

    def confusion_at(
        self, threshold: float, *, bound: Literal["low", "high"] | None = None
    ) -> Confusion:
        """Count the outcomes at a threshold.

        Parameters
        ----------
        threshold : float
            A score of at least this is a positive prediction.
        bound : {"low", "high"}, optional
            For a threshold that divides a cell: the min true and the max false positives, or the
            reverse.

        Raises
        ------
        InvalidInputError
            When the threshold divides a cell and `bound` is left out; the message names the
            nearest thresholds whose counts are exact.
        """
        return self._confusion_at(threshold, bound)

    def _confusion_at(self, threshold: float, bound: Literal["low", "high"] | None) -> Confusion:
        made = curve_confusion.confusion_at(self._table, threshold_value(threshold), bound)
        return self._derived(made, "_confusion_at", threshold, bound)

    def roc_curve(self) -> tuple[Floats, Floats, Floats]:
        """List the points of the ROC curve.

        Returns
        -------
        fpr, tpr, thresholds : float64 arrays, shape (m + 1,)
            The rates at falling thresholds, starting at infinity. Each point is exact. If the curve
            is exact, these are all its points, equal to scikit-learn's with
            ``drop_intermediate=False``. A rate of an absent class is nan.
        """
        return curves.roc_curve(self._table.estimate)

    def det_curve(self) -> tuple[Floats, Floats, Floats]:
        """List the points of the detection error tradeoff.

        Returns
        -------
        fpr, fnr, thresholds : float64 arrays, shape (m,)
            The false positive and the false negative rate at rising thresholds. As in scikit-learn,
            points beyond the ends, where one rate remains 0, are left out. Each point is exact; if
            the curve is exact, these are scikit-learn's. A rate of an absent class is nan.

        Examples
        --------
        >>> import streameval as se
        >>> curve = se.PRCurveSketch().update([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).compute()
        >>> fpr, fnr, thresholds = curve.det_curve()
        >>> fpr.tolist(), fnr.tolist(), thresholds.tolist()
        ([0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.35, 0.4, 0.8])
        """
        return curves.det_curve(self._table.estimate)

    def gain_curve(self) -> tuple[Floats, Floats, Floats]:
        """List the points of the cumulative gain; the lift is the gain divided by `share`.

        Returns
        -------
        share, recall, thresholds : float64 arrays, shape (m + 1,)
            The share of the examples that score at least a threshold, and the share of the
            positives, at falling thresholds from infinity on. Each point is exact.
        """
        return curves.gain_curve(self._table.estimate)

    def precision_recall_curve(self) -> tuple[Floats, Floats, Floats]:
        """List the points of the precision-recall curve.

        Returns
        -------
        precision, recall : float64 arrays, shape (m + 1,)
            At rising thresholds, then 1 and 0. Each point is exact. If the curve is exact, these
            are all its points, equal to scikit-learn's. Recall is 1 without a positive.
        thresholds : float64 array, shape (m,)
        """
        return curves.precision_recall_curve(self._table.estimate)

    def _reliability_diagram(self, _: PlotRequest) -> Reliability:
        if self._table.scale != "probability":
            raise InvalidInputError(
                '"reliability" needs probabilities, not ',
                Named("scores", '"real"'),
                argument="kind",
            )
        return self._reliability()

    def _asked_line(self, request: PlotRequest) -> Chart:
        line = self._line(request.kind)
        if not line.marks:
            raise InvalidInputError("needs examples of both classes", argument="plot")
        return line

    PICTURES: ClassVar = {
        **dict.fromkeys(("pr", "roc", "det"), _asked_line),
        "reliability": _reliability_diagram,
        "score": lambda one, _: curve_lines.score_shares(one._table),
    }

    def _line(self, kind: str) -> Chart:
        """Draw a line of `kind`."""
        metric = curve_lines.KINDS[kind].metric
        area = getattr(self, metric) if metric else math.nan
        return curve_lines.line_chart(self._table, kind, area)

    def _reliability(self) -> Reliability:
        return curve_lines.reliability(self._table, are_draws=self._clusters is None)

    def _distributions(self, _: float) -> list[Any]:
        is_probability = self._table.scale == "probability" and bool(self.n)
        diagram = self._reliability() if is_probability else None
        return [diagram, curve_lines.score_shares(self._table)]

    def _limits(self, _: float) -> list[Limits]:
        found = tuple(self.findings(limits_only=True))
        return [Limits(found)] if found else []

    _PAGE: ClassVar = {
        "heading": "Precision, recall and ROC",
        "above": lambda one, _: [one._line("pr"), one._line("roc")],
        "beside": _distributions,
        "below": _limits,
        "form": lambda one, _: one._table.scale,
    }

    def __repr__(self) -> str:
        """Show size and headline on one line."""
        state = "exact" if self.exact else f"{self.cells:,} bins"
        return (
            f"Curve(n={self.n}, {state}, roc_auc={self.roc_auc:.6g}, "
            f"average_precision={self.average_precision:.6g})"
        )

    def _sizes(self) -> str:
        bins = plural(self.cells, "bin")
        parts = [f"n = {self.n:,} ({self.n_pos:,} positive)"]
        if self.n_skipped:
            parts.append(f"{self.n_skipped:,} skipped")
        parts.append(f"exact, {bins}" if self.exact else f"{bins} of several scores")
        return ", ".join(parts)

    _REPORT = Report(sizes=_sizes, findings=findings.of_curve)

    @functools.cached_property
    def _best_f1(self) -> tuple[Bounded, Bounded]:
        return thresholds.best_f(self._table, 1.0)


add_members(Curve)
