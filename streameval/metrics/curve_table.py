"""The metrics of a curve: one row each, with the functions for their intervals and draws."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import wraps
from typing import Any

import attrs

from streameval.configs.calibration import number_of_bins
from streameval.configs.options import finite_number, fraction, real_number
from streameval.errors import InvalidInputError, Named
from streameval.exact.array_types import Floats
from streameval.exact.fixed_point import FixedPoint
from streameval.inputs.arrays import as_array, as_scores, check_vector
from streameval.metrics import average_precision as areas
from streameval.metrics import curves, envelope, loss_bounds, operating_points, thresholds
from streameval.metrics.average_precision import average_precision_confidence
from streameval.metrics.bounded import Bounded, Interval, Threshold
from streameval.metrics.delong import auc_confidence, auc_variance, partial_auc_confidence
from streameval.metrics.evidence import Area, Share
from streameval.metrics.intervals import hull, wilson
from streameval.metrics.points import CellTable
from streameval.metrics.table import (
    CORRELATION,
    EXAMPLES,
    NOT_NEGATIVE,
    SHARE,
    UP_TO_ONE,
    Metric,
    Table,
    always,
    count_row,
    whole_weights,
)
from streameval.metrics.thresholds import outcome_at


@attrs.frozen(slots=False, eq=False, repr=False)
class CurveCells:
    """The cells of a curve, and the weight of the rows that were left out."""

    _table: CellTable
    _skipped: FixedPoint


def threshold_value(value: Any, *, name: str = "threshold") -> float:
    """Check a threshold: any number but nan."""
    number = real_number(value, name=name)
    if math.isnan(number):
        raise InvalidInputError("must be a number, got nan", argument=name)
    return number


def threshold_values(value: Any) -> Floats:
    """Check an array of thresholds: any numbers but nan."""
    array = as_array(value, name="thresholds")
    check_vector(array, rows=None, name="thresholds")
    return as_scores(array, name="thresholds").copy()


def positive_rate_value(value: Any, *, name: str) -> float:
    """Check a share in (0, 1]."""
    number = fraction(value, name=name)
    if not number:
        raise InvalidInputError("must be above 0", argument=name)
    return number


def optional_fraction(value: Any, *, name: str) -> float | None:
    """Check a share in [0, 1], or none."""
    return None if value is None else fraction(value, name=name)


def confidence_value(value: Any, *, name: str = "confidence") -> float:
    """Check the lowest probability of a likelier class, in [0.5, 1]."""
    number = fraction(value, name=name)
    if number < 0.5:
        raise InvalidInputError(
            "must be at least 0.5, since one of two classes has that", argument=name
        )
    return number


def probability_below_1(value: Any, *, name: str) -> float:
    """Check a probability in [0, 1)."""
    number = fraction(value, name=name)
    if number == 1.0:
        raise InvalidInputError("must be below 1", argument=name)
    return number


def cost_value(value: Any, *, name: str) -> float:
    """Check a cost, which must not be negative."""
    number = finite_number(value, name=name)
    if number < 0.0:
        raise InvalidInputError(f"must be at least 0, got {number!r}", argument=name)
    return number


def max_fpr_value(value: Any, *, name: str = "max_fpr") -> float:
    """Check a rate above 0; below 2**-1000, areas would underflow."""
    number = finite_number(value, name=name)
    if not 2.0**-1000 <= number <= 1.0:
        raise InvalidInputError(f"must lie in [2**-1000, 1], got {number!r}", argument=name)
    return number


def beta_value(value: Any, *, name: str = "beta") -> float:
    """Check a beta, and clip it to 2**100, where F equals recall to the last bit."""
    number = real_number(value, name=name)
    if not number >= 0:
        raise InvalidInputError(f"must be at least 0, got {number!r}", argument=name)
    return min(number, 2.0**100)


def _gini(curve: CurveCells) -> Bounded:
    area = TABLE["roc_auc"].value(curve)
    return Bounded(*(2.0 * end - 1.0 for end in (area, area.low, area.high)))


def _precision_confidence(table: CellTable, z: float, threshold: Any) -> tuple[float, float]:
    outcome = outcome_at(table, threshold_value(threshold))
    return hull(
        [
            wilson(float(tp / (tp + fp)), float(tp + fp), z) if tp + fp else (math.nan, math.nan)
            for tp, fp in (outcome.low, outcome.high)
        ]
    )


def _recall_confidence(table: CellTable, z: float, threshold: Any) -> tuple[float, float]:
    outcome, n_pos = outcome_at(table, threshold_value(threshold)), table.estimate.n_pos
    return hull([wilson(float(tp) / n_pos, n_pos, z) for tp, _ in (outcome.low, outcome.high)])


def _recall_at_top_confidence(table: CellTable, z: float, share: Any) -> tuple[float, float]:
    top = positive_rate_value(share, name="share")
    return operating_points.recall_at_top_confidence(table, z, top)


def _lift_confidence(table: CellTable, z: float, share: Any) -> tuple[float, float]:
    low, high = _recall_at_top_confidence(table, z, share)
    return low / float(share), high / float(share)


def _gini_confidence(table: CellTable, z: float) -> tuple[float, float]:
    low, high = auc_confidence(table, z)
    return 2.0 * low - 1.0, 2.0 * high - 1.0


def _area(curve: CurveCells) -> Area:
    table = curve._table
    extremes = (table.low, table.high)
    areas = [curves.roc_auc(points.outcomes()) for points in extremes]
    variances = map(auc_variance, extremes)
    low, high = zip(areas, variances, strict=True)
    return Area(low, high, float(table.n_pos), float(table.n_neg))


def _of_draws(
    counts: Callable[[Fraction, Fraction, Fraction], tuple[Fraction, Fraction]], *, worth: int = 1
) -> dict[str, Any]:
    """Make the functions that count hits and misses at a threshold, and tell whether any exist.

    `counts` takes true and false positives, of which a divided cell has several, and all positives.
    """

    def draws(curve: CurveCells, threshold: Any) -> Share:
        n_pos = curve._table.pos.sum().to_fraction()
        outcome = outcome_at(curve._table, threshold_value(threshold))
        low, high = (counts(*ends, n_pos) for ends in (outcome.low, outcome.high))
        return Share((float(low[0]), float(low[1])), (float(high[0]), float(high[1])), worth)

    def is_substitute(
        curve: CurveCells, value: Bounded, threshold: Any, *_: Any, **__: Any
    ) -> bool:
        return not value and draws(curve, threshold).is_empty

    return {"evidence": draws, "is_substitute": is_substitute}


_check_draws = whole_weights(lambda curve: curve._table.is_whole)

_CHECKS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("p", "r", "f", "s"), fraction),
    **dict.fromkeys(("t", "share"), positive_rate_value),
    **dict.fromkeys(("fp_cost", "fn_cost"), cost_value),
    "prevalence": optional_fraction,
    "threshold": threshold_value,
    "confidence": confidence_value,
    "max_fpr": max_fpr_value,
    "beta": beta_value,
    "bins": number_of_bins,
}
"""The checks of arguments by name, each of which returns what is computed with."""


def _has_examples(table: CellTable) -> bool:
    return table.outcomes().max_size > 0


def _has_positives(table: CellTable) -> bool:
    return table.outcomes().n_pos > 0.0


def _has_both(table: CellTable) -> bool:
    """Tell whether both classes occur."""
    outcomes = table.outcomes()
    return outcomes.n_pos > 0.0 and outcomes.n_neg > 0.0


_UNDEFINED = Bounded(math.nan)


def _metric(
    of: str | Callable[..., Bounded],
    *,
    checks: Mapping[str, Callable[..., Any]] = _CHECKS,
    cells: Callable[[CurveCells], CellTable] = lambda curve: curve._table,
    needs: Callable[[CellTable], bool] = _has_both,
    nothing: Bounded = _UNDEFINED,
    **row: Any,
) -> Metric:
    """Make the row of a metric: of a function of the cells of a curve, whose name it has, or other.

    The function gets its arguments from `checks`. Where a table lacks what it `needs`, by default
    both classes, the value is `nothing`.
    """
    defaults: dict[str, Any] = {
        "certified": True,
        "better": "higher",
        "limits": SHARE,
        "check_draws": _check_draws,
        "why_no_evidence": "it is not a proportion of examples, and no variance is known of it",
        "oracle": "the definition, over all thresholds",
    }
    if "sampling" in row:
        row["sampling"] = _interval_of_cells(row["sampling"])
        defaults["why_none"] = "fractional weights have none"
    if isinstance(of, str):
        return Metric(name=of, **defaults | row)
    return Metric(name=of.__name__, **defaults | _of_cells(of, checks, cells, needs, nothing) | row)


def _of_cells(
    function: Callable[..., Any],
    checks: Mapping[str, Callable[..., Any]],
    cells: Callable[[CurveCells], CellTable],
    needs: Callable[[CellTable], bool],
    nothing: Bounded,
) -> dict[str, Any]:
    """Make the fields of a row that follow from its function: value, arguments and docstring."""
    signature = inspect.signature(function)
    _, *own = signature.parameters.values()

    def value_of(table: CellTable, **arguments: Any) -> Any:
        return function(table, **arguments) if needs(table) else nothing

    if not own:
        return {"value": lambda curve: value_of(cells(curve))}

    @wraps(function)
    def value(curve: CurveCells, *args: Any, **options: Any) -> Any:
        table = cells(curve)
        try:
            _, *given = signature.bind(table, *args, **options).arguments.items()
        except TypeError as error:
            raise TypeError(f"{function.__name__}(): {error}") from None
        return value_of(table, **{name: checks[name](one, name=name) for name, one in given})

    arguments = (one.name + f"={one.default}" * (one.default is not one.empty) for one in own)
    return {"value": value, "arguments": (*arguments,), "documentation": function.__doc__ or ""}


def _interval_of_cells(function: Callable[..., Interval]) -> Callable[..., Interval]:
    """Compute an interval from the cells of a curve."""

    def sampling(
        curve: CurveCells, _value: Bounded, z: float, *args: Any, **options: Any
    ) -> Interval:
        return function(curve._table, z, *args, **options)

    return sampling


def _threshold(of: str | Callable[..., Bounded], **row: Any) -> Metric:
    """Make the row of a threshold, of which none is better."""
    return _metric(of, limits=None, better="", nothing=Threshold(math.nan), **row)


def _of_probabilities(function: Callable[..., Bounded], **row: Any) -> Metric:
    """Make the row of a metric of scores that are probabilities."""

    def cells(curve: CurveCells) -> CellTable:
        if not _has_probabilities(curve):
            raise InvalidInputError(
                *("needs probabilities, and ", Named("scores", '"real"'), " are none"),
                argument=function.__name__,
            )
        return curve._table

    defaults = {"cells": cells, "needs": _has_examples, "listed": _has_probabilities}
    return _metric(function, **defaults | row)


def _has_probabilities(curve: CurveCells) -> bool:
    return curve._table.scale == "probability"


TABLE = Table(
    EXAMPLES,
    count_row(
        "n_pos",
        "Positives",
        "The weight of the positives.",
        value=lambda curve: curve._table.n_pos,
    ),
    count_row("n_neg", "", "The weight of the negatives.", value=lambda curve: curve._table.n_neg),
    count_row(
        "n_skipped",
        "Skipped, without a score",
        "The weight of the examples left out for a score that is NaN.",
        value=lambda curve: curve._skipped.to_number(),
        is_rare=True,
    ),
    count_row("cells", "", "The number of bins.", value=lambda curve: len(curve._table.lo)),
    _metric(
        envelope.roc_auc,
        documentation="""
        The area under the ROC curve, in [0, 1]; nan unless both classes occur.

        The probability that a positive scores above a negative, ties counting half. An
        estimate is the middle of its interval, whose width is the sum over bins of several
        scores of ``pos * neg / (n_pos * n_neg)``.
        """,
        aliases=("auc", "auroc", "aucroc", "auc_roc", "rocauc", "roc", "roc_auc_score"),
        heading="ROC AUC",
        help="The area under the ROC curve, in [0, 1]; nan unless both classes occur.",
        notes="The probability that a positive scores above a negative, ties counting half.",
        formula=r"P(s_+ > s_-) + \tfrac12 P(s_+ = s_-)",
        sampling=auc_confidence,
        evidence=_area,
        oracle="scikit-learn, roc_auc_score",
        headline=1,
    ),
    _metric(
        areas.average_precision,
        needs=_has_positives,
        aliases=("ap", "auprc", "aupr", "average_precision_score"),
        heading="Average precision",
        help="Precision summed over the steps of recall, in [0, 1]; nan without a positive.",
        formula=r"\sum_i (R_i - R_{i-1}) P_i",
        sampling=average_precision_confidence,
        oracle="scikit-learn, average_precision_score",
        headline=2,
    ),
    _metric(
        areas.average_precision_interpolated,
        needs=_has_positives,
        heading="Average precision, interpolated",
        help="Average precision, with the highest precision at each recall or above.",
        formula=r"\sum_i (R_i - R_{i-1}) \max_{j \ge i} P_j",
    ),
    _metric(
        areas.average_precision_11pt,
        needs=_has_positives,
        heading="Average precision, 11 points",
        help="The mean over recalls 0, 0.1, ..., 1 of the highest precision there or above.",
        formula=r"\frac1{11} \sum_{r \in \{0, 0.1, \dots, 1\}} \max_{R_i \ge r} P_i",
    ),
    _metric(
        areas.pr_auc,
        needs=_has_positives,
        aliases=("auc_pr", "prauc"),
        heading="PR AUC, trapezoids",
        help="The area of the trapezoids under the precision-recall points; nan without a "
        "positive.",
        notes="It interpolates linearly where average_precision steps.",
        formula=r"\sum_i (R_i - R_{i-1}) \tfrac{P_i + P_{i-1}}2",
        oracle="scikit-learn, auc of precision_recall_curve",
    ),
    _metric(
        areas.pr_auc_davis_goadrich,
        needs=_has_positives,
        documentation="""
        The area under the precision-recall points, joined as those of the ROC curve.

        Between two points, false positives rise at a constant rate with true ones, which is not
        a straight line in precision and recall; nan without a positive (Davis and Goadrich,
        2006).

        Examples
        --------
        >>> import streameval as se
        >>> curve = se.PRCurveSketch().update([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).compute()
        >>> round(curve.pr_auc_davis_goadrich, 4), round(curve.pr_auc, 4)
        (0.7973, 0.7917)
        """,
        aliases=("davis_goadrich", "auc_integral", "pr_auc_interpolated"),
        heading="PR AUC, Davis-Goadrich",
        help="The area under the precision-recall points, joined as those of the ROC curve.",
        notes="Between two points, false positives rise at a constant rate with true ones, "
        "which is not a straight line in precision and recall; nan without a positive (Davis "
        "and Goadrich, 2006).",
        formula=r"\sum_i \int_{R_{i-1}}^{R_i} \frac{r P}{r P + FP_{i-1} + "
        r"(r - R_{i-1}) \frac{FP_i - FP_{i-1}}{R_i - R_{i-1}}} \, dr",
        oracle="the definition, by logarithms of 40 digits",
        on_request=True,
    ),
    _metric(
        envelope.ks,
        aliases=("ks_statistic", "kolmogorov_smirnov"),
        heading="KS statistic",
        help="The Kolmogorov-Smirnov statistic, the max of |tpr - fpr|, in [0, 1].",
        formula=r"\max_i |TPR_i - FPR_i|",
    ),
    _metric(
        "best_f",
        needs=_has_positives,
        aliases=("f1", "max_f", "max_f1", "f1_max", "best_f1", "fmax"),
        heading="Best F1",
        help="The highest F and its threshold.",
        formula=r"\max_i F_\beta(P_i, R_i)",
        value=lambda curve, beta=1.0: curve.best_f(beta)[0],
        arguments=("beta=1.0",),
    ),
    _threshold(
        "best_f_threshold",
        needs=_has_positives,
        aliases=("threshold", "best_threshold"),
        heading="Threshold of the best F1",
        help="The highest F and its threshold.",
        formula=r"\arg\max_t F_1(t)",
        value=lambda curve: curve.best_f()[1],
    ),
    _of_probabilities(
        loss_bounds.log_loss,
        limits=NOT_NEGATIVE,
        aliases=(
            *("logloss", "cross_entropy", "nll", "crossentropy"),
            *("categorical_crossentropy", "binary_crossentropy"),
        ),
        heading="Log loss",
        help="The mean of minus the log of the probability of the truth; for probabilities.",
        notes="Probabilities are clipped at float64's eps, so it is at most 36.05.",
        formula=r"-\frac1n \sum_i \log P(y_i)",
        better="lower",
        oracle="scikit-learn, log_loss",
    ),
    _of_probabilities(
        loss_bounds.brier,
        aliases=("brier_score", "brier_score_loss"),
        heading="Brier score",
        help="The mean of (score - label)**2, in [0, 1]; for probabilities.",
        formula=r"\frac1n \sum_i (s_i - y_i)^2",
        better="lower",
        oracle="scikit-learn, brier_score_loss",
    ),
    _of_probabilities(
        loss_bounds.ece,
        aliases=("calibration_error", "expected_calibration_error"),
        heading="Calibration error (ECE)",
        help="The expected calibration error, in [0, 1]; for probabilities.",
        notes="|mean label - mean score| in each of the bins [i/bins, (i+1)/bins), the last "
        "closed, weighted by their examples (Naeini, Cooper and Hauskrecht, 2015).",
        formula=r"\sum_b \frac{n_b}n |\bar y_b - \bar s_b|",
        better="lower",
        limits=None,
        oracle="the definition, bin by bin",
    ),
    _of_probabilities(
        loss_bounds.adaptive_ece,
        aliases=("equal_mass_ece", "adaptive_calibration_error", "ace", "ece_equal_mass"),
        heading="Calibration error, bins of equal mass",
        help="The calibration error of bins of equal mass, in [0, 1]; for probabilities.",
        notes="|mean label - mean score| in each of the bins, which hold the same share of the "
        "examples, by rising score, averaged (Nixon et al., 2019). A row, or rows of one score, "
        "that an edge cuts count in both bins by their shares.",
        formula=r"\frac1B \sum_b |\bar y_b - \bar s_b|",
        better="lower",
        limits=None,
        oracle="the definition, bin by bin",
        on_request=True,
    ),
    _of_probabilities(
        loss_bounds.d2_log_loss_score,
        needs=_has_both,
        limits=UP_TO_ONE,
        aliases=("d2_log_loss", "log_loss_skill_score", "mcfadden_r2"),
        heading="D² of the log loss",
        help="1 - the log loss over that of always predicting the share of positives, at most 1.",
        notes="0 is no better than that; for probabilities. nan unless both classes occur.",
        formula=r"1 - \frac{\text{log loss}}{-\bar y \log \bar y - (1 - \bar y) \log (1 - \bar y)}",
        oracle="scikit-learn, d2_log_loss_score",
        on_request=True,
    ),
    _of_probabilities(
        loss_bounds.d2_brier_score,
        needs=_has_both,
        limits=UP_TO_ONE,
        aliases=("d2_brier", "brier_skill_score", "bss"),
        heading="D² of the Brier score",
        help="1 - the Brier score over that of always predicting the share of positives, at most "
        "1.",
        notes="0 is no better than that; for probabilities. nan unless both classes occur.",
        formula=r"1 - \frac{\text{Brier}}{\bar y (1 - \bar y)}",
        oracle="scikit-learn, d2_brier_score",
        on_request=True,
    ),
    _metric(
        operating_points.partial_roc_auc,
        aliases=("pauc", "partial_auc"),
        help="The area up to a false positive rate, standardized (McClish, 1989).",
        formula=r"\tfrac12 \left(1 + \frac{A - f^2/2}{f - f^2/2}\right)",
        sampling=lambda table, z, max_fpr: partial_auc_confidence(table, z, max_fpr_value(max_fpr)),
        oracle="scikit-learn, roc_auc_score with max_fpr",
    ),
    _metric(
        thresholds.precision_at,
        needs=always,
        aliases=("precision", "ppv"),
        help="The share of positives among scores of at least a threshold, 0 without any.",
        formula=r"\frac{TP_t}{TP_t + FP_t}",
        sampling=_precision_confidence,
        **_of_draws(lambda tp, fp, _: (tp, fp)),
        oracle="the definition, at the threshold",
    ),
    _metric(
        thresholds.recall_at,
        needs=_has_positives,
        aliases=("recall", "tpr", "sensitivity"),
        help="The share of the positives that score at least a threshold.",
        formula=r"\frac{TP_t}{P}",
        sampling=_recall_confidence,
        **_of_draws(lambda tp, _, n_pos: (tp, n_pos - tp)),
        oracle="the definition, at the threshold",
    ),
    _metric(
        thresholds.f_at,
        needs=always,
        aliases=("f", "f1", "f1_score", "f_score", "fbeta"),
        help="F at a threshold, 0 where nothing is positive or predicted so.",
        formula=r"\frac{(1 + \beta^2) TP_t}{\beta^2 P + TP_t + FP_t}",
        **_of_draws(lambda tp, fp, n_pos: (tp, fp + n_pos - tp), worth=2),
        oracle="the definition, at the threshold",
    ),
    _of_probabilities(
        thresholds.net_benefit,
        checks={"threshold": probability_below_1},
        aliases=("decision_curve", "decision_curve_analysis"),
        help="True positives an example, less false ones at the odds of a threshold.",
        formula=r"\frac{TP_t}{n} - \frac{FP_t}{n} \frac{t}{1 - t}",
        oracle="the definition, at the threshold",
    ),
    _of_probabilities(
        thresholds.selective_accuracy,
        aliases=("accuracy_rejection", "selective_risk", "risk_coverage"),
        help="The accuracy of decisions at 0.5, if those of less confidence are rejected.",
        notes="0 if all decisions are rejected.",
        is_substitute=lambda curve, value, least: (
            not value and not curve.selective_coverage(least).high
        ),
        formula=r"\frac{|\{i: \hat y_i = y_i, \max(p_i, 1 - p_i) \ge c\}|}"
        r"{|\{i: \max(p_i, 1 - p_i) \ge c\}|}",
        oracle="the definition, over all examples",
    ),
    _of_probabilities(
        thresholds.selective_coverage,
        aliases=("rejection_rate",),
        help="The share of the examples that are decided if confidence is the least.",
        formula=r"|\{i: \max(p_i, 1 - p_i) \ge c\}| / n",
        better="",
        oracle="the definition, over all examples",
    ),
    _metric(
        operating_points.recall_at_precision,
        needs=_has_positives,
        help="The highest recall with a precision of at least p.",
        formula=r"\max \{R_i : P_i \ge p\}",
    ),
    _metric(
        operating_points.precision_at_recall,
        needs=_has_positives,
        help="The highest precision with a recall of at least r; nan without a positive.",
        formula=r"\max \{P_i : R_i \ge r\}",
    ),
    _threshold(
        thresholds.threshold_at_precision,
        needs=_has_positives,
        help="The threshold of recall_at_precision.",
        formula=r"\arg\max \{R_t : P_t \ge p\}",
    ),
    _metric(
        operating_points.tpr_at_fpr,
        aliases=("recall_at_fpr", "tar_at_far", "recall_at_fixed_fpr"),
        help="The highest true positive rate with a false positive rate of at most f.",
        formula=r"\max \{TPR_i : FPR_i \le f\}",
    ),
    _metric(
        operating_points.fpr_at_tpr,
        aliases=("fpr_at_recall", "fpr95"),
        help="The lowest false positive rate with a true positive rate of at least t, above 0.",
        formula=r"\min \{FPR_i : TPR_i \ge t\}",
        better="lower",
    ),
    _metric(
        operating_points.sensitivity_at_specificity,
        aliases=("recall_at_specificity",),
        help="The highest sensitivity (recall) with a specificity of at least s.",
        formula=r"\max \{TPR_i : 1 - FPR_i \ge s\}",
    ),
    _metric(
        operating_points.specificity_at_sensitivity,
        checks=_CHECKS | {"s": positive_rate_value},
        aliases=("specificity_at_recall",),
        help="The highest specificity with a sensitivity (recall) of at least s, above 0.",
        formula=r"\max \{1 - FPR_i : TPR_i \ge s\}",
    ),
    _threshold(
        operating_points.threshold_at_fpr,
        help="The threshold of tpr_at_fpr, the highest of several.",
        formula=r"\arg\max \{TPR_t : FPR_t \le f\}",
    ),
    _threshold(
        operating_points.threshold_at_specificity,
        help="The threshold of sensitivity_at_specificity, the highest of several.",
        formula=r"\arg\max \{TPR_t : 1 - FPR_t \ge s\}",
    ),
    _threshold(
        operating_points.threshold_at_sensitivity,
        needs=_has_positives,
        checks=_CHECKS | {"s": positive_rate_value},
        aliases=("threshold_at_recall", "threshold_at_tpr"),
        help="The highest threshold with a sensitivity (recall, TPR) of at least s, above 0.",
        formula=r"\max \{t : TPR_t \ge s\}",
    ),
    _metric(
        operating_points.equal_error_rate,
        documentation="""
        The rate at which false positives and false negatives are equally frequent, in [0, 1].

        Where the ROC curve, its points joined by lines, has an FPR of 1 - TPR; nan unless both
        classes occur.
        """,
        aliases=("eer",),
        heading="Equal error rate",
        help="The rate at which false positives and false negatives are equally frequent, in "
        "[0, 1].",
        formula=r"FPR = 1 - TPR",
        better="lower",
        on_request=True,
    ),
    _threshold(
        operating_points.equal_error_rate_threshold,
        aliases=("eer_threshold", "equal_error_threshold"),
        heading="Threshold of the equal error rate",
        help="The highest threshold at which the FPR is at least the false negative rate.",
        formula=r"\max \{t : FPR_t \ge 1 - TPR_t\}",
        on_request=True,
    ),
    _metric(
        operating_points.youden_j,
        aliases=("youden", "youdens_j", "informedness", "bookmaker_informedness"),
        heading="Youden's J",
        help="The max over thresholds of TPR - FPR, in [0, 1]; nan unless both classes occur.",
        formula=r"\max_i TPR_i - FPR_i",
        on_request=True,
    ),
    _threshold(
        operating_points.youden_j_threshold,
        aliases=("youden_threshold",),
        heading="Threshold of Youden's J",
        help="The threshold of the max of TPR - FPR, the highest of several.",
        formula=r"\arg\max_t TPR_t - FPR_t",
        on_request=True,
    ),
    _metric(
        "gini",
        limits=CORRELATION,
        value=_gini,
        aliases=("gini_coefficient", "somers_d"),
        heading="Gini",
        help="The Gini coefficient, 2 ROC AUC - 1, in [-1, 1]; nan unless both classes occur.",
        formula=r"2 AUC - 1",
        sampling=_gini_confidence,
        on_request=True,
    ),
    _metric(
        operating_points.precision_at_top,
        needs=_has_positives,
        aliases=("precision_at_k_percent", "precision_at_top_k"),
        help="The share of positives among the highest share of the examples, in (0, 1].",
        formula=r"\frac{TP_{top}}{share \cdot n}",
    ),
    _metric(
        operating_points.recall_at_top,
        needs=_has_positives,
        aliases=("gain", "cumulative_gain", "capture_rate"),
        help="The share of the positives among the highest share of the examples: the gain.",
        formula=r"\frac{TP_{top}}P",
        sampling=_recall_at_top_confidence,
    ),
    _metric(
        operating_points.lift_at_top,
        needs=_has_positives,
        limits=NOT_NEGATIVE,
        aliases=("lift", "lift_at", "lift_at_k"),
        help="The precision of the highest share of the examples over that of all.",
        formula=r"\frac{TP_{top}}{share \cdot P}",
        sampling=_lift_confidence,
    ),
    _metric(
        operating_points.min_cost,
        limits=NOT_NEGATIVE,
        aliases=("expected_cost", "min_dcf", "mindcf"),
        heading="Lowest expected cost",
        help="The lowest expected cost of an example over all thresholds.",
        formula=r"\min_i \pi c_{FN} (1 - TPR_i) + (1 - \pi) c_{FP} FPR_i",
        better="lower",
        on_request=True,
    ),
    task="binary",
    made_by="PRCurveSketch",
)
