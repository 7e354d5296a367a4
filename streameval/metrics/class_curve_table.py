"""The table of the metrics of one curve for each class."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs

from streameval.configs.options import one_of
from streameval.metrics.bounded import Bounded, Interval, mean_of
from streameval.metrics.curve_table import TABLE as CURVE
from streameval.metrics.table import (
    EXAMPLES,
    SHARE,
    Metric,
    Table,
    always,
    count_row,
    never,
    not_measured,
)

if TYPE_CHECKING:
    from streameval.results.class_curves import ClassCurves


AVERAGES = {
    "macro": "the mean over the classes where it is defined",
    "micro": "of the pooled scores",
    "weighted": "the mean weighted by the positives",
}


HOW = {"macro": "mean over classes", "weighted": "weighted by positives", "micro": "pooled"}


def _averaged(name: str, **row: Any) -> Metric:
    """Make the row of averages of a metric of curves."""
    of_curve = CURVE[name]

    def check_draws(curves: ClassCurves, average: str = "macro") -> None:
        one_of(average, ("macro", "weighted"), name="average")
        for curve in curves.values():
            of_curve.check_draws(curve)

    def sampling(curves: ClassCurves, mean: Bounded, z: float, average: str = "macro") -> Interval:
        """Compute the interval of a mean, wide enough for every dependence between the classes."""
        values = curves._average(name, None)
        every = zip(curves.values(), values, strict=True)
        ends = [of_curve.interval(curve, value, z) for curve, value in every]
        weights = curves._weights(average)
        low, high = (
            float(mean_of([Bounded(end) for end in side], weights))
            for side in zip(*ends, strict=True)
        )
        if average == "macro":
            return low, high
        # the weights are shares of the rows, which another sample would have drawn otherwise
        apart = [
            weight * (value - mean) ** 2
            for value, weight in zip(values, weights, strict=True)
            if weight and not math.isnan(value)
        ]
        reach = z * math.sqrt(math.fsum(apart)) / math.fsum(weights)
        return max(low - reach, 0.0), min(high + reach, 1.0)

    defaults: dict[str, Any] = {
        "aliases": of_curve.aliases,
        "heading": of_curve.heading,
        "formula": of_curve.formula,
        "certified": True,
        "averages": AVERAGES,
        "better": "higher",
        "limits": SHARE,
        "sampling": sampling,
        "check_draws": check_draws,
        "why_none": "fractional weights have none",
        "why_no_evidence": f"an average over classes has no variance. Name a class: {name}[LABEL]",
    }
    return Metric(name=name, **defaults | row)


def class_wise_ece(curves: ClassCurves, bins: int = 15) -> Bounded:
    """Compute the mean over all classes of the calibration error of each, in [0, 1].

    It finds errors that the error of the most probable class misses; for probabilities. Call
    it for another number of bins.

    Parameters
    ----------
    bins : int
        The number of bins, from 1 to 65,536.

    Examples
    --------
    >>> import streameval as se
    >>> scores = [[0.8, 0.1, 0.1], [0.2, 0.5, 0.3], [0.6, 0.3, 0.1]]
    >>> curves = se.PRCurveSketch(classes=3).update([0, 1, 2], scores).compute()
    >>> f"{curves.class_wise_ece:.3f}", f"{curves[0].ece:.3f}", f"{curves[0].ece(bins=2):.3f}"
    ('0.333', '0.333', '0.200')
    """
    values = [curve.ece(bins) for curve in curves.values()]
    return mean_of(values, [1.0] * len(values))


def _of_pairs(name: str, *, weighted: bool, **row: Any) -> Metric:
    """Make the row of an average over pairs of classes."""
    return Metric(
        name=name,
        value=lambda curves: curves._one_vs_one(weighted=weighted),
        better="higher",
        limits=SHARE,
        certified=True,
        oracle='scikit-learn, roc_auc_score with multi_class="ovo"',
        listed=lambda curves: bool(curves._pairs),
        absent=not_measured(name),
        measured=True,
        why_no_evidence="an average over pairs of classes has no variance that is known",
        **row,
    )


TABLE = Table(
    EXAMPLES,
    count_row(
        "n_averaged",
        "Classes with a positive",
        "The number of classes with a positive, which mean_average_precision averages.",
        value=lambda curves: sum(curve.n_pos > 0 for curve in curves.values()),
    ),
    _averaged(
        "roc_auc",
        help="The area under the ROC curves, each class against the rest.",
        oracle="scikit-learn, roc_auc_score of each class",
        headline=1,
    ),
    _averaged(
        "average_precision",
        aliases=(*CURVE["average_precision"].aliases, "map", "mean_average_precision"),
        help="The average precision, each class against the rest.",
        oracle="scikit-learn, average_precision_score of each class",
        headline=2,
    ),
    _of_pairs(
        "roc_auc_ovo",
        weighted=False,
        aliases=("hand_till", "hand_till_m", "m_measure", "one_vs_one", "multiclass_auc"),
        heading="ROC AUC, one against one",
        help="The mean area under the ROC curves of each class against each other one.",
        notes="Hand and Till's M (A simple generalisation of the area under the ROC curve, 2001): "
        "A(i|j) is the area of class i against j by the scores of i. Over the pairs of classes "
        "that both occur.",
        formula=r"\frac{1}{K (K - 1)} \sum_{i \ne j} A(i|j)",
    ),
    _of_pairs(
        "roc_auc_ovo_weighted",
        weighted=True,
        heading="ROC AUC, one against one, weighted",
        help="The mean area under the ROC curves of each class against each other one, weighted by "
        "the examples of both.",
        formula=r"\frac{\sum_{i \ne j} (n_i + n_j) A(i|j)}{\sum_{i \ne j} (n_i + n_j)}",
    ),
    Metric(
        name="class_wise_ece",
        value=class_wise_ece,
        documentation=class_wise_ece.__doc__ or "",
        limits=SHARE,
        aliases=("classwise_ece", "static_calibration_error", "sce", "cw_ece"),
        heading="Class-wise calibration error",
        help="The mean over all classes of the calibration error of each, in [0, 1].",
        notes="It finds errors that the error of the most probable class misses; for "
        "probabilities.",
        formula=r"\frac1K \sum_k \sum_b \frac{n_{kb}}n |\bar y_{kb} - \bar s_{kb}|",
        arguments=("bins=15",),
        better="lower",
        certified=True,
        oracle="the definition, bin by bin of each class",
        listed=lambda curves: curves.has_probabilities,
        on_request=True,
        why_no_evidence="it is not a proportion of examples, and no variance is known of it",
    ),
    of_result=lambda _: _ROWS,
    task="binary",
    made_by="PRCurveSketch",
)


def _rows_of_averages() -> Iterator[Metric]:
    """Make a row for each average of each metric, the pooled ones last."""
    rows = [row for row in TABLE.values() if row.averages]
    for chosen in (("macro", "weighted"), ("micro",)):
        for row in rows:
            for average in chosen:
                is_pooled = average == "micro"  # of scores of the same rows
                sampling = None if is_pooled else row.sampling
                yield attrs.evolve(
                    row,
                    name=f"{row.name}_{average}",
                    heading=f"{row.heading}, {HOW[average]}",
                    notes=f"{average.capitalize()}: {row.averages[average]}.",
                    value=partial(_average_of, name=row.name, average=average),
                    averages={},
                    sampling=sampling and partial(sampling, average=average),
                    why_none=row.why_none if sampling else "",
                    listed=always,
                    headline=row.headline if average == "macro" else 0,
                )


def _average_of(curves: ClassCurves, name: str, average: str) -> Any:
    if average == "micro" and not curves._can_pool:
        return Bounded(math.nan)
    return curves._average(name, average)


def _own_rows() -> Iterator[Metric]:
    rows = TABLE.values()
    yield from (row for row in rows if row.is_count)
    yield from _rows_of_averages()
    yield from (attrs.evolve(row, listed=never) for row in rows if row.averages)
    yield from (row for row in rows if not (row.is_count or row.averages))


_ROWS: Table = Table(*_own_rows())
"""The rows of a result: those of averages have their own names."""
