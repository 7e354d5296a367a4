"""The result of `CalibrationAccumulator`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, ClassVar

import attrs
import numpy as np

from streameval.configs.calibration import CalibrationConfig
from streameval.errors import InvalidInputError
from streameval.exact.array_types import Floats
from streameval.exact.exact_sum import ExactSum
from streameval.exact.fixed_point import FixedPoint
from streameval.inputs.classes import Label
from streameval.metrics import calibration as metrics
from streameval.metrics.bounded import Interval
from streameval.metrics.calibration import Bin, ReliabilityCurve
from streameval.metrics.shares import mean, quotient
from streameval.metrics.table import (
    EXAMPLES,
    NOT_NEGATIVE,
    SHARE,
    UP_TO_ONE,
    Metric,
    Table,
    count_row,
)
from streameval.metrics.values import MeanLoss
from streameval.render.blocks import Reliability
from streameval.render.sheets import Sheet
from streameval.results import findings
from streameval.results.classes import CLASS_DETAILS
from streameval.results.members import CalibrationMembers, add_members
from streameval.results.result import (
    Report,
    SumsResult,
    metric_lines,
    of_moments,
    without_interval,
)
from streameval.results.tables import ItemAxis, PerItem, Readings, named_classes
from streameval.states.calibration import CalibrationMoments, CalibrationSums

PerClass = float | Floats

_CURVE = ("mean_prediction", "mean_label", "weight")


@attrs.frozen(repr=False, eq=False)
class Calibration(CalibrationMembers, SumsResult):
    """How good probabilities are, and how well calibrated.

    Made by `CalibrationAccumulator.compute`. Each metric is the exact value of the sums, rounded
    once; all are nan without examples. For K classes the prediction of a row is its highest
    probability and its label tells whether that class (the first, of several) is the true one;
    `pcopc`, `mean_prediction` and `mean_label` are then arrays of shape ``(K,)``.

    Notes
    -----
    The intervals of `confidence`, of "log_loss" and "brier", need an accumulator made with
    ``intervals=True``. They are those of a mean on the log scale, with the variance of the loss
    over the rows, and more where few rows make up much of it. If the loss does not vary, rows that
    have not been seen may differ:

    >>> import streameval as se
    >>> acc = se.CalibrationAccumulator(intervals=True)
    >>> result = acc.update([1, 0, 1, 0], [0.75, 0.25, 0.5, 0.5]).compute()
    >>> [round(end, 3) for end in result.confidence("brier")]
    [0.045, 0.54]

    References
    ----------
    Brier, "Verification of forecasts expressed in terms of probability", 1950.

    Naeini, Cooper and Hauskrecht, "Obtaining well calibrated probabilities using Bayesian
    binning", 2015.

    Guo, Pleiss, Sun and Weinberger, "On calibration of modern neural networks", 2017.

    Examples
    --------
    Every metric of five examples:

    >>> import streameval as se
    >>> acc = se.CalibrationAccumulator(4).update([0, 0, 1, 1, 1], [0.1, 0.6, 0.35, 0.8, 0.9])
    >>> result = acc.compute()
    >>> for name in result.readable():
    ...     print(f"{name:24}{result.read(name).value:8.4f}")
    n                         5.0000
    log_loss                  0.4800
    brier                     0.1685
    ece                       0.3300
    pcopc                     0.9167
    mean_prediction           0.5500
    mean_label                0.6000
    n_clipped                 0.0000
    normalized_entropy        0.7132
    d2_log_loss_score         0.2868
    d2_brier_score            0.2979
    max_calibration_error     0.6500
    rms_calibration_error     0.4093
    brier_reliability         0.1675
    brier_resolution          0.2400
    brier_uncertainty         0.2400
    """

    TASK = "calibration"
    _DETAILS: ClassVar = {
        "reliability": lambda result, _: result._columns_of_bins(),
        "classes": lambda result, _: list(result.class_names) or None,
        "labels": CLASS_DETAILS["labels"],
    }
    MADE_BY = "CalibrationAccumulator"

    _config: CalibrationConfig
    _state: CalibrationSums

    @property
    def labels(self) -> tuple[Label, ...]:
        """The K classes in the order of the probabilities; empty for two of one probability."""
        return self._config.labels

    @property
    def class_names(self) -> tuple[Label, ...]:
        """The display names of the K classes; by default the labels."""
        return self._config.class_names

    @property
    def ece(self) -> float:
        """The expected calibration error, in [0, 1] (Naeini et al., 2015; Guo et al., 2017).

        The sum over bins of ``|labels - predictions|``, divided by n: the gap between mean label
        and mean prediction of each bin ``[i / bins, (i + 1) / bins)``, weighted by its examples.
        It depends on `bins`, and with few examples it is too high.
        """
        return metrics.ece(self._state.prediction, self._state.hits, self._state.n)

    def reliability_curve(self) -> ReliabilityCurve:
        """Compare predictions with labels, bin by bin.

        Returns
        -------
        mean_prediction, mean_label, weight
            Arrays of shape ``(occupied,)``, one entry for each bin that holds any weight, by
            rising prediction. `weight` is int64, float64 once a fraction has been seen.
        """
        return metrics.reliability_curve(
            self._state.prediction, self._state.hits, self._state.weight
        )

    def pcopc_by_bin(self) -> Floats:
        """Divide predictions by labels, bin by bin, as `pcopc` does for all examples.

        Returns
        -------
        array
            One entry for each bin that holds any weight, as in `reliability_curve`; nan for a bin
            without a positive.

        Examples
        --------
        >>> import streameval as se
        >>> acc = se.CalibrationAccumulator(bins=2)
        >>> acc.update([1, 0, 1, 1], [0.25, 0.25, 0.75, 0.5]).compute().pcopc_by_bin()
        array([0.5  , 0.625])
        """
        return metrics.pcopc_of(self._bins)

    def _sheet(self, level: float, max_classes: int) -> Sheet:
        """Return the content of the report: the metrics, and those of each class."""
        parts = metric_lines(self, level, max_classes)
        if not self.labels:
            return parts
        return [*parts, self._classes(level).grid(max_classes)]

    _REPORT = Report(_sheet, findings=findings.of_calibration)

    PICTURES: ClassVar = {"reliability": lambda one, _: one._reliability()}

    _PAGE: ClassVar = {
        "heading": lambda one, _: (
            f"Calibration of {len(one.labels):,} classes" if one.labels else "Calibration"
        ),
        "common_heading": "Calibration",
        "by_class": lambda one, level: one._classes(level).block() if one.labels else None,
        "beside": lambda one, _: [one._reliability() if one.n else None],
        "form": lambda one, _: bool(one.labels),
        "classes": lambda one, _: one.class_names,
    }

    def __repr__(self) -> str:
        """Show size and headline on one line."""
        classes = f"classes={len(self.labels)}, " if self.labels else ""
        rows = self.TABLE.listed(self)
        names = [row.name for row in rows if not (row.is_count or row.by_class)]
        numbers = ", ".join(f"{name}={self.value(name):.6g}" for name in names)
        return f"Calibration(n={self.n}, {classes}{numbers})"

    @property
    def _bins(self) -> list[Bin]:
        """The bins that hold some weight."""
        state = self._state
        return metrics.bins_of(state.prediction, state.hits, state.weight)

    def _reliability(self) -> Reliability:
        every = self._state.weight.to_floats()
        share, are_draws = every / max(every.sum(), 1e-300), self._clusters is None
        axes = ("Mean prediction", "Share of positives")
        if self.labels:
            axes = ("Mean confidence", "Accuracy")
        title = f"expected calibration error {self.ece:.4f}"
        return Reliability(*self.reliability_curve(), share, are_draws, *axes, title)

    def _columns_of_bins(self) -> dict[str, list[float]]:
        """List the reliability curve as columns."""
        curve = zip(_CURVE, self.reliability_curve(), strict=True)
        columns = {name: array.tolist() for name, array in curve}
        return columns | {"pcopc": self.pcopc_by_bin().tolist()}

    def _classes(self, level: float) -> ItemAxis:  # noqa: ARG002 - they have no sampling intervals
        shown = {row.name: row.heading for row in self.TABLE.by_class}
        keys = named_classes(self.class_names, self.labels)
        return ItemAxis(keys, [*shown], lambda name: Readings(getattr(self, name).tolist()), shown)

    _PER_ITEM = PerItem("class", _classes, lambda result: bool(result.labels), in_json=True)

    def _totals(self) -> tuple[list[ExactSum], list[FixedPoint]]:
        """List the sums of predictions and of labels, for the positive class or for each class."""
        state = self._state
        if not self.labels:
            return [metrics.total(state.prediction)], [state.hits.total()]
        labels = [state.class_weight[k] for k in range(len(self.labels))]
        return list(state.class_prediction), labels

    def _of_classes(self, function: Callable[..., float]) -> PerClass:
        """Compute a number of both totals, for the positive class or for each class."""
        values = [function(*pair) for pair in zip(*self._totals(), strict=True)]
        return np.array(values) if self.labels else values[0]


def _metric(name: str, **row: Any) -> Metric:
    defaults: dict[str, Any] = {
        "limits": SHARE,
        "better": "lower",
        "oracle": "the definition, in fractions",
        "why_no_evidence": "it is not a proportion of examples, and its spread is not kept",
    }
    return Metric(name=name, **defaults | row)


def _of_one(name: str, **row: Any) -> Metric:
    """Make the row of a metric that exists for each class if there are several."""
    return _metric(name, better="", by_class=True, listed=lambda one: not one.labels, **row)


def _of_two(name: str, function: Callable[[Sequence[Bin]], float], **row: Any) -> Metric:
    """Make the row of a metric of the bins of two classes."""

    def value(result: Calibration) -> float:
        if result.labels:
            raise InvalidInputError("is defined for two classes", argument=name)
        return function(result._bins)

    return _metric(
        name,
        value=value,
        listed=lambda result: not result.labels,
        on_request=True,
        **row,
    )


def _normalized_entropy(result: Calibration) -> float:
    return quotient(result.log_loss, metrics.entropy(_class_weights(result)))


def _d2_brier_score(result: Calibration) -> float:
    state, impurity = result._state, metrics.gini_impurity(_class_weights(result))
    null = impurity if result.labels else impurity / 2  # of one class, not of both
    return metrics.d2(state.brier.to_fraction(), null * state.n.to_fraction())


def _class_weights(result: Calibration) -> list[Fraction]:
    """List the weight of each class in the truth."""
    state = result._state
    if result.labels:
        return [state.class_weight[k].to_fraction() for k in range(len(result.labels))]
    positive = state.hits.total().to_fraction()
    return [positive, state.n.to_fraction() - positive]


def _sampling_of(name: str) -> dict[str, Any]:
    """Make the function that computes the interval of a mean loss."""

    def interval(result: Calibration, z: float) -> Interval:
        state = result._state
        assert isinstance(state, CalibrationMoments)  # noqa: S101 - tells the type checker
        total, squares, largest = state.log_loss, state.squared_log_loss, 36.05
        if name == "brier":
            total, squares = state.row_brier, state.squared_brier
            largest = 2.0 if result.labels else 1.0
        return MeanLoss.of(state.n, total, squares).interval(z, largest=largest)

    return of_moments(interval)


Calibration.TABLE = Table(
    EXAMPLES,
    _metric(
        "log_loss",
        limits=NOT_NEGATIVE,
        value=lambda result: mean(result._state.log_loss, result._state.n),
        aliases=(
            *("logloss", "cross_entropy", "nll", "crossentropy"),
            *("categorical_crossentropy", "binary_crossentropy"),
        ),
        heading="Log loss",
        help="The mean of -log(probability of the true class), natural, in [2.2e-16, 36.05].",
        notes="Probabilities are clipped to [2**-52, 1 - 2**-52], whatever their dtype.",
        formula=r"-\frac1n \sum_i \log p_i(y_i)",
        **_sampling_of("log_loss"),
        oracle="scikit-learn, log_loss",
        headline=1,
    ),
    _metric(
        "brier",
        limits=NOT_NEGATIVE,
        value=lambda result: mean(result._state.brier, result._state.n),
        aliases=("brier_score", "brier_score_loss"),
        heading="Brier score",
        help="The mean squared error of the probabilities (Brier, 1950).",
        notes="For two classes of (p - y)**2, in [0, 1]; for K classes of the sum over k of "
        "(p_k - [y = k])**2, in [0, 2].",
        formula=r"\frac1n \sum_i (p_i - y_i)^2",
        **_sampling_of("brier"),
        oracle="scikit-learn, brier_score_loss",
    ),
    _metric(
        "ece",
        aliases=(
            *("calibration_error", "expected_calibration_error"),
            *("calibration_error_l1", "l1_calibration_error"),
        ),
        heading="Calibration error (ECE)",
        help="The expected calibration error, in [0, 1] (Naeini et al., 2015; Guo et al., 2017).",
        notes="The sum over bins of |labels - predictions|, divided by n: the gap between mean "
        "label and mean prediction of each bin [i / bins, (i + 1) / bins), weighted by its "
        "examples.",
        formula=r"\sum_b \frac{n_b}n |\bar y_b - \bar p_b|",
        limits=None,
        headline=3,
    ),
    _of_one(
        "pcopc",
        value=lambda one: one._of_classes(metrics.pcopc),
        limits=NOT_NEGATIVE,
        aliases=("copc", "predicted_over_observed"),
        heading="Predicted over observed",
        help="Sum of predictions / sum of labels (predicted click over click), at least 0.",
        notes="If it is 1, the model is unbiased; above 1, it predicts too much. nan without a "
        "positive.",
        formula=r"\frac{\sum_i p_i}{\sum_i y_i}",
        headline=2,
    ),
    _of_one(
        "mean_prediction",
        value=lambda one: one._of_classes(lambda total, _: mean(total, one._state.n)),
        heading="Mean prediction",
        help="The mean probability, in [0, 1].",
        formula=r"\frac1n \sum_i p_i",
    ),
    _of_one(
        "mean_label",
        value=lambda one: one._of_classes(lambda _, total: mean(total, one._state.n)),
        heading="Share of positives",
        help="The share of positives, or of each class in the truth, in [0, 1].",
        formula=r"\frac1n \sum_i y_i",
    ),
    count_row(
        "n_clipped",
        "With clipped log loss",
        "The weight of the examples whose log loss was clipped.",
        is_rare=True,
        value=lambda result: result._state.clipped.to_number(),
        notes="Their true class had a probability below 2**-52 or above 1 - 2**-52, the machine "
        "epsilon of float64, and counts with that.",
    ),
    _metric(
        "normalized_entropy",
        limits=NOT_NEGATIVE,
        aliases=(
            "ne",
            "normalised_entropy",
            "normalized_cross_entropy",
            "nce",
            "relative_log_loss",
        ),
        heading="Normalized entropy",
        help="The log loss, divided by that of always predicting the mean label; below 1 is "
        "better.",
        notes="He et al., Practical lessons from predicting clicks on ads (2014). nan if the truth "
        "is always one class.",
        formula=r"\frac{\text{log loss}}{-\sum_k \bar y_k \log \bar y_k}",
        value=_normalized_entropy,
        oracle="scikit-learn, log_loss of the predictions and of the mean label",
        on_request=True,
    ),
    _metric(
        "d2_log_loss_score",
        limits=UP_TO_ONE,
        aliases=("d2_log_loss", "log_loss_skill_score", "mcfadden_r2"),
        heading="D² of the log loss",
        help="1 - the log loss over that of always predicting the shares of the classes, at most "
        "1.",
        notes="0 is no better than that. nan if the truth is always one class.",
        formula=r"1 - \frac{\text{log loss}}{-\sum_k \bar y_k \log \bar y_k}",
        better="higher",
        value=lambda one: metrics.d2(one.log_loss, metrics.entropy(_class_weights(one))),
        oracle="scikit-learn, d2_log_loss_score",
        on_request=True,
    ),
    _metric(
        "d2_brier_score",
        limits=UP_TO_ONE,
        aliases=("d2_brier", "brier_skill_score", "bss"),
        heading="D² of the Brier score",
        help="1 - the Brier score over that of always predicting the shares of the classes, at "
        "most 1.",
        notes="0 is no better than that. nan if the truth is always one class.",
        formula=r"1 - \frac{\text{Brier}}{\sum_k \bar y_k (1 - \bar y_k)}",
        better="higher",
        value=_d2_brier_score,
        oracle="scikit-learn, d2_brier_score",
        on_request=True,
    ),
    _metric(
        "max_calibration_error",
        aliases=("mce", "maximum_calibration_error", "calibration_error_max"),
        heading="Largest calibration error of a bin",
        help="The largest |mean label - mean prediction| of a bin, in [0, 1].",
        notes="Naeini et al. (2015).",
        formula=r"\max_b |\bar y_b - \bar p_b|",
        value=lambda result: metrics.max_gap(result._bins),
        on_request=True,
    ),
    _metric(
        "rms_calibration_error",
        aliases=("rmsce", "calibration_error_l2", "l2_calibration_error"),
        heading="Calibration error, root mean square",
        help="The root of the mean squared |mean label - mean prediction| of the bins, in [0, 1].",
        notes="Weighted by their examples, as ece (Kumar, Liang and Ma, Verified uncertainty "
        "calibration, 2019).",
        formula=r"\sqrt{\sum_b \frac{n_b}n (\bar y_b - \bar p_b)^2}",
        value=lambda result: metrics.rms_gap(result._bins),
        on_request=True,
    ),
    _of_two(
        "brier_reliability",
        metrics.reliability,
        heading="Brier score, reliability",
        help="The mean squared |mean label - mean prediction| of the bins; of two classes.",
        notes="Reliability - resolution + uncertainty is the Brier score where each bin holds one "
        "prediction, and near it otherwise (Murphy, 1973).",
        formula=r"\sum_b \frac{n_b}n (\bar y_b - \bar p_b)^2",
    ),
    _of_two(
        "brier_resolution",
        metrics.resolution,
        heading="Brier score, resolution",
        help="The mean squared distance of the bins' mean labels from that of all; of two classes.",
        formula=r"\sum_b \frac{n_b}n (\bar y_b - \bar y)^2",
        better="higher",
    ),
    _of_two(
        "brier_uncertainty",
        metrics.uncertainty,
        heading="Brier score, uncertainty",
        help="The variance of the labels, whatever the predictions; of two classes.",
        formula=r"\bar y (1 - \bar y)",
        better="",
    ),
    of_result=lambda one: Calibration.TABLE if one._config.intervals else _UNASKED,
)

_UNASKED: Table = Table(*map(without_interval, Calibration.TABLE.values()))
"""The rows of results without the option `intervals`."""

add_members(Calibration)
