"""The table of the metrics of probabilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from streameval.configs.calibration import CalibrationConfig
from streameval.errors import InvalidInputError
from streameval.exact.array_types import Floats
from streameval.inputs.classes import Label
from streameval.metrics import calibration as metrics
from streameval.metrics.bounded import Interval
from streameval.metrics.calibration import Bin
from streameval.metrics.shares import mean, quotient
from streameval.metrics.table import (
    EXAMPLES,
    NOT_NEGATIVE,
    SHARE,
    UP_TO_ONE,
    Metric,
    Table,
    count_row,
    of_moments,
    without_interval,
)
from streameval.metrics.values import MeanLoss
from streameval.states.calibration import CalibrationMoments, CalibrationSums


@attrs.frozen(slots=False, eq=False, repr=False)
class Probabilities:
    """The sums of probabilities and of labels, bin by bin and class by class."""

    _state: CalibrationSums
    _config: CalibrationConfig

    @property
    def labels(self) -> tuple[Label, ...]:
        """The K classes in the order of the probabilities; empty for two of one probability."""
        return self._config.labels

    @property
    def _bins(self) -> list[Bin]:
        """The bins that hold some weight."""
        state = self._state
        return metrics.bins_of(state.prediction, state.hits, state.weight)

    def _of_classes(self, function: Callable[..., float]) -> float | Floats:
        """Compute a number of the sums of predictions and of labels.

        It is that of the positive class, or one for each class.
        """
        state = self._state
        if not self.labels:
            return function(metrics.total(state.prediction), state.hits.total())
        totals = enumerate(state.class_prediction)
        return np.array([function(total, state.class_weight[k]) for k, total in totals])


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

    def value(result: Probabilities) -> float:
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


def _d2_brier_score(result: Probabilities) -> float:
    state, impurity = result._state, metrics.gini_impurity(_class_weights(result))
    null = impurity if result.labels else impurity / 2  # of one class, not of both
    return metrics.d2(state.brier.to_fraction(), null * state.n.to_fraction())


def _class_weights(result: Probabilities) -> list[Fraction]:
    """List the weight of each class in the truth."""
    state = result._state
    if result.labels:
        return [state.class_weight[k].to_fraction() for k in range(len(result.labels))]
    positive = state.hits.total().to_fraction()
    return [positive, state.n.to_fraction() - positive]


def _sampling_of(name: str) -> dict[str, Any]:
    """Make the function that computes the interval of a mean loss."""

    def interval(result: Probabilities, z: float) -> Interval:
        state = result._state
        assert isinstance(state, CalibrationMoments)  # noqa: S101 - tells the type checker
        total, squares, largest = state.log_loss, state.squared_log_loss, 36.05
        if name == "brier":
            total, squares = state.row_brier, state.squared_brier
            largest = 2.0 if result.labels else 1.0
        return MeanLoss.of(state.n, total, squares).interval(z, largest=largest)

    return of_moments(interval)


TABLE: Table = Table(
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
        value=lambda one: quotient(
            TABLE["log_loss"].value(one), metrics.entropy(_class_weights(one))
        ),
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
        value=lambda one: metrics.d2(
            TABLE["log_loss"].value(one), metrics.entropy(_class_weights(one))
        ),
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
    of_result=lambda one: TABLE if one._config.intervals else _UNASKED,
    task="calibration",
    made_by="CalibrationAccumulator",
)


_UNASKED: Table = Table(*map(without_interval, TABLE.values()))
"""The rows of results without the option `intervals`."""
