"""Metrics of counts of truth against prediction.

Sources: Sokolova and Lapalme, A systematic analysis of performance measures for
classification tasks (2009), for the ratios and their averages; Gorodkin, Comparing two
K-category assignments by a K-category correlation coefficient (2004); Cohen, A coefficient
of agreement for nominal scales (1960), and Weighted kappa (1968); Powers, Evaluation: from
precision, recall and F-measure to ROC, informedness, markedness and correlation (2011).
Conventions are scikit-learn's.
"""

from __future__ import annotations

import abc
import functools
import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Literal

import attrs
import numpy as np

from streameval.configs.cached import Cached
from streameval.configs.options import real_number
from streameval.errors import InvalidInputError
from streameval.exact.array_types import Floats, Mask
from streameval.exact.fixed_point import FixedPoint
from streameval.metrics.shares import quotient, ratios

Average = Literal["binary", "macro", "micro", "weighted", "samples"]
MeanOver = Literal["macro", "micro", "weighted"]

_STEP = 1e-100


@attrs.frozen(eq=False, slots=False, repr=False)
class ClassOutcomes(Cached):
    """One-vs-rest outcomes of each of K classes, as sums of weights.

    Parameters
    ----------
    tp, fp, fn, tn : FixedPoint, shape (K,)
        True and false positives and negatives.
    """

    tp: FixedPoint
    fp: FixedPoint
    fn: FixedPoint
    tn: FixedPoint

    @classmethod
    def of_matrix(cls, n: FixedPoint, matrix: FixedPoint) -> ClassOutcomes:
        """Read a (K, K) matrix, once for each margin; all differences are between integers."""
        tp, truth = matrix.diagonal(), matrix.sum(axis=1)
        fp = matrix.sum(axis=0) - tp
        return cls(tp, fp, truth - tp, n - truth - fp)

    @classmethod
    def of_tables(cls, tables: FixedPoint) -> ClassOutcomes:
        """Read (K, 2, 2) tables, absent before present."""
        return cls(tables[:, 1, 1], tables[:, 0, 1], tables[:, 1, 0], tables[:, 0, 0])

    def of(self, position: int) -> ClassOutcomes:
        """Return the outcomes of one class."""
        parts = self.tp, self.fp, self.fn, self.tn
        return ClassOutcomes(*(part.select(np.array([position])) for part in parts))

    @functools.cached_property
    def support(self) -> FixedPoint:
        """The weight of each class in the truth, shape (K,)."""
        return self.tp + self.fn

    @property
    def predicted(self) -> FixedPoint:
        """The weight of each class in the prediction, shape (K,)."""
        return self.tp + self.fp

    def seen(self) -> Mask:
        """Check which classes occur in truth or prediction."""
        return np.asarray(self.floats[:3].any(axis=0))

    @functools.cached_property
    def floats(self) -> Floats:
        """The rows tp, fp, fn, tn, shape (4, K), read-only."""
        parts = self.tp, self.fp, self.fn, self.tn
        if all([part.fraction is None for part in parts]):  # noqa: C419 - a list is faster
            rows = np.array([part.whole for part in parts], dtype=np.float64)
        else:
            rows = np.array([part.to_floats() for part in parts])
        rows.flags.writeable = False
        return rows


class ClassMetric(abc.ABC):
    """A metric of one class: a quotient of two functions of its four outcomes."""

    __slots__ = ()

    @abc.abstractmethod
    def parts(self, outcomes: Any) -> tuple[Any, Any]:
        """Compute numerator and denominator of each column, shape (4, K), or of four numbers."""

    @abc.abstractmethod
    def slopes(self, outcomes: Floats) -> tuple[Floats, Floats]:
        """Compute the derivatives of both by tp, fp, fn and tn, shape (4, K) or (4, 1)."""

    def of(self, outcomes: Floats, zero_division: float) -> Floats:
        """Compute the metric of each column of outcomes, shape (4, K) to (K,)."""
        return ratios(*self.parts(outcomes), zero_division)

    def of_one(self, outcomes: Sequence[float], zero_division: float) -> float:
        """Compute the metric for four outcomes, in a quarter of the time of `of`."""
        above, below = self.parts(outcomes)
        return float(above / below if below > 0 else zero_division)


@attrs.frozen(repr=False)
class Ratio(ClassMetric):
    """A metric that divides one weighted sum of outcomes by another.

    Parameters
    ----------
    numerator, denominator : tuple of 4 floats
        The factors of tp, fp, fn and tn.
    """

    numerator: tuple[float, float, float, float]
    denominator: tuple[float, float, float, float]

    def parts(self, outcomes: Any) -> tuple[Any, Any]:
        """Combine the outcomes by both sets of factors."""
        return _combine(self.numerator, outcomes), _combine(self.denominator, outcomes)

    def slopes(self, outcomes: Floats) -> tuple[Floats, Floats]:  # noqa: ARG002 - constants
        """Return the factors."""
        return np.array(self.numerator)[:, None], np.array(self.denominator)[:, None]


@attrs.frozen(repr=False)
class Quotient(ClassMetric):
    """A metric that divides two functions of the outcomes, which may be nonlinear.

    Parameters
    ----------
    function : callable
        From tp, fp, fn and tn, as numbers or arrays, to numerator and denominator. Both must be
        analytic, so that complex steps give their derivatives.
    """

    function: Callable[[Any, Any, Any, Any], tuple[Any, Any]]

    def parts(self, outcomes: Any) -> tuple[Any, Any]:
        """Call the function."""
        return self.function(*outcomes)

    def slopes(self, outcomes: Floats) -> tuple[Floats, Floats]:
        """Compute derivatives by complex steps, without cancellation (Squire and Trapp, 1998)."""
        steps = outcomes + 1j * _STEP * np.eye(4)[:, :, None]  # by outcome; outcome; class
        above, below = self.function(*np.moveaxis(steps, 1, 0))
        return above.imag / _STEP, below.imag / _STEP


PRECISION = Ratio((1, 0, 0, 0), (1, 1, 0, 0))
RECALL = Ratio((1, 0, 0, 0), (1, 0, 1, 0))
SPECIFICITY = Ratio((0, 0, 0, 1), (0, 1, 0, 1))
JACCARD = Ratio((1, 0, 0, 0), (1, 1, 1, 0))
NEGATIVE_PREDICTIVE_VALUE = Ratio((0, 0, 0, 1), (0, 0, 1, 1))
FALSE_POSITIVE_RATE = Ratio((0, 1, 0, 0), (0, 1, 0, 1))
FALSE_NEGATIVE_RATE = Ratio((0, 0, 1, 0), (1, 0, 1, 0))
FALSE_DISCOVERY_RATE = Ratio((0, 1, 0, 0), (1, 1, 0, 0))
FALSE_OMISSION_RATE = Ratio((0, 0, 1, 0), (0, 0, 1, 1))
SELECTION_RATE = Ratio((1, 1, 0, 0), (1, 1, 1, 1))


def f_ratio(beta: float = 1.0, alpha: float | None = None) -> Ratio:
    """Make F of `beta` or of `alpha`: (1 + b^2) TP / ((1 + b^2) TP + b^2 FN + FP).

    van Rijsbergen's ``1 / (alpha / P + (1 - alpha) / R)`` is the same with
    ``b^2 = 1 / alpha - 1`` (Information Retrieval, 1979).
    """
    if alpha is None:
        beta = real_number(beta, name="beta")
        if not beta >= 0.0:
            raise InvalidInputError(f"must be at least 0, got {beta!r}", argument="beta")
        square = beta * beta
    else:
        alpha = real_number(alpha, name="alpha")
        if beta != 1.0:
            raise InvalidInputError(
                "and `beta` are two names of one choice: pass one", argument="alpha"
            )
        if not 0.0 <= alpha <= 1.0:
            raise InvalidInputError(f"must lie in [0, 1], got {alpha!r}", argument="alpha")
        square = 1.0 / alpha - 1.0 if alpha > 0.0 else math.inf
    if math.isinf(square):
        return RECALL
    scale = 1.0 + square if square > 1e100 else 1.0  # keeps large factors from overflowing
    whole = (1.0 + square) / scale
    return Ratio((whole, 0, 0, 0), (whole, 1 / scale, square / scale, 0))


def fowlkes_mallows(tp: Any, fp: Any, fn: Any, tn: Any) -> tuple[Any, Any]:  # noqa: ARG001
    """Compute numerator and denominator of TP / sqrt((TP + FP) (TP + FN)).

    The geometric mean of precision and recall of a class (Fowlkes and Mallows, A method for
    comparing two hierarchical clusterings, 1983). scikit-learn's function of that name compares
    clusterings, by pairs of examples instead of examples.
    """
    return tp, np.sqrt((tp + fp) * (tp + fn))


def average_ratio(
    ratio: ClassMetric,
    outcomes: ClassOutcomes,
    *,
    average: MeanOver,
    averaged: Mask,
    zero_division: float,
) -> float:
    """Average a ratio over classes.

    Parameters
    ----------
    average : {"macro", "micro", "weighted"}
        The mean over classes; the value of the pooled outcomes; the mean weighted by support.
    averaged : bool array, shape (K,)
        The classes that enter means and pools.
    zero_division : float
        The value of a class whose denominator is 0; nan is left out of means.
    """
    columns = outcomes.floats
    if average == "micro":
        return float(ratio.of(pool(columns, averaged), zero_division)[0])
    values = ratio.of(columns, zero_division)
    if average == "macro":  # takes a third of the time of weights of 1
        kept = values[averaged & ~np.isnan(values)].tolist()
        return quotient(math.fsum(kept), len(kept))
    weights = class_weights(values, outcomes, average=average, averaged=averaged)
    total = math.fsum(weights.tolist())  # summing a list takes half the time of an array
    terms = np.where(weights > 0, weights * values, 0.0)
    return quotient(math.fsum(terms.tolist()), total)


def pool(columns: Floats, averaged: Mask) -> Floats:
    """Add up the outcomes of the averaged classes, shape (4, K) to (4, 1)."""
    return np.array([[math.fsum(row[averaged].tolist())] for row in columns])


def class_weights(
    values: Floats, outcomes: ClassOutcomes, *, average: Average, averaged: Mask
) -> Floats:
    """Compute the weight of each class in a macro or weighted mean; 0 for excluded classes.

    As in scikit-learn, a weighted mean without support is the unweighted mean.
    """
    kept = (averaged & ~np.isnan(values)).astype(np.float64)
    if average == "weighted":
        supported = kept * outcomes.support.to_floats()
        return supported if supported.any() else kept
    return kept


def cohen_kappa(outcomes: ClassOutcomes) -> float:
    """Compute (p_o - p_e) / (1 - p_e), in integers up to the last division.

    nan when truth and prediction are one and the same class throughout.
    """
    n, hits, truth, predicted = _margins(outcomes)
    chance = sum(t * p for t, p in zip(truth, predicted, strict=True))
    return quotient(n * hits - chance, n * n - chance)


def matthews_corrcoef(outcomes: ClassOutcomes) -> float:
    """Compute the correlation of truth and prediction, R_K of Gorodkin.

    0.0 when truth or prediction is one class throughout, nan without examples.
    """
    n, hits, truth, predicted = _margins(outcomes)
    if n == 0:
        return math.nan
    covariance = n * hits - sum(t * p for t, p in zip(truth, predicted, strict=True))
    of_truth = n * n - sum(t * t for t in truth)
    of_predicted = n * n - sum(p * p for p in predicted)
    if of_truth == 0 or of_predicted == 0:
        return 0.0
    # the ratio of integers is correctly rounded, so perfect agreement is exactly 1
    square = covariance * covariance / (of_truth * of_predicted)
    return math.copysign(math.sqrt(square), covariance)


def pooled_matthews_corrcoef(outcomes: ClassOutcomes) -> float:
    """Compute the correlation of truth and prediction of all labels of all examples.

    0.0 when every label is present or every one absent in either, nan without examples.
    """
    parts = (outcomes.tp, outcomes.fp, outcomes.fn, outcomes.tn)
    tp, fp, fn, tn = (sum(part.units()) for part in parts)
    spread = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    if spread == 0:
        return 0.0 if tp + fp + fn + tn else math.nan
    covariance = tp * tn - fp * fn
    return math.copysign(math.sqrt(covariance * covariance / spread), covariance)


def weighted_kappa(matrix: FixedPoint, power: int) -> float:
    """Compute 1 - sum w_ij C_ij / sum w_ij E_ij with w_ij = abs(i - j)**power (Cohen, 1968).

    E_ij is the expected count if truth and prediction are independent. Everything before the
    last division is in integers; nan when truth and prediction are one and the same class
    throughout.
    """
    truth, predicted = matrix.sum(axis=1).units(), matrix.sum(axis=0).units()
    n = sum(truth)
    observed = sum(d**power * part for d, part in enumerate(distances(matrix)))
    if power == 2:
        means = [sum(i * part for i, part in enumerate(margin)) for margin in (truth, predicted)]
        squares = [sum(i * i * part for i, part in enumerate(m)) for m in (truth, predicted)]
        expected = n * sum(squares) - 2 * means[0] * means[1]
    else:  # by cut between two classes: the weight of examples across it
        below = zip(itertools.accumulate(truth), itertools.accumulate(predicted), strict=True)
        expected = sum(t * (n - p) + p * (n - t) for t, p in below)
    return quotient(expected - n * observed, expected)


def distances(matrix: FixedPoint) -> list[int]:
    """Add up the cells of a matrix by the distance between truth and prediction, in its unit."""
    size = matrix.shape[0]
    index = np.arange(size, dtype=np.int32)
    apart = abs(index[:, None] - index).ravel().astype(np.min_scalar_type(size))
    order = np.argsort(apart, kind="stable")
    starts = np.searchsorted(apart[order], index)
    return matrix.reshape(size * size)[order].sum_runs(starts).units() if size else []


def mean_distance(n: FixedPoint, matrix: FixedPoint) -> float:
    """Compute the mean of abs(i - j) over examples of truth i and prediction j."""
    total = sum(d * part for d, part in enumerate(distances(matrix)))
    return quotient(total * matrix.unit, n.to_fraction())


def geometric_mean(outcomes: ClassOutcomes) -> float:
    """Compute the K-th root of the product of the recalls of the K classes in the truth.

    Kubat and Matwin, Addressing the curse of imbalanced training sets (1997), for two classes.
    """
    present = outcomes.support.is_positive()
    recalls = RECALL.of(outcomes.floats[:, present], math.nan)
    if not len(recalls):
        return math.nan
    if not recalls.all():
        return 0.0
    return math.exp(math.fsum(np.log(recalls)) / len(recalls))


def informedness(outcomes: ClassOutcomes, positive: int) -> float:
    """Compute TPR + TNR - 1, in integers up to the last division; nan without both classes."""
    tp, fp, fn, tn = _counts_of(outcomes, positive)
    return quotient(tp * tn - fp * fn, (tp + fn) * (tn + fp))


def markedness(outcomes: ClassOutcomes, positive: int) -> float:
    """Compute PPV + NPV - 1, in integers up to the last division; nan unless both are predicted."""
    tp, fp, fn, tn = _counts_of(outcomes, positive)
    return quotient(tp * tn - fp * fn, (tp + fp) * (tn + fn))


def positive_likelihood_ratio(outcomes: ClassOutcomes, positive: int) -> float:
    """Compute TPR / FPR, in integers up to the last division; nan when it divides by 0."""
    tp, fp, fn, tn = _counts_of(outcomes, positive)
    return quotient(tp * (fp + tn), fp * (tp + fn))


def negative_likelihood_ratio(outcomes: ClassOutcomes, positive: int) -> float:
    """Compute FNR / TNR, in integers up to the last division; nan when it divides by 0."""
    tp, fp, fn, tn = _counts_of(outcomes, positive)
    return quotient(fn * (fp + tn), tn * (tp + fn))


def weighted_mean(values: Floats, weights: Floats) -> float:
    """Average values; nan without any weight."""
    return quotient(math.fsum(values * weights), math.fsum(weights))


def top_k_accuracy(n: FixedPoint, credit: FixedPoint) -> float:
    """Compute the mean over examples of within / tied; nan without examples."""
    cells = credited_cells(credit)
    earned = sum((Fraction(weight * within, tied) for (within, tied), weight in cells), Fraction(0))
    return quotient(earned * credit.unit, n.to_fraction())


def credited_cells(credit: FixedPoint) -> list[tuple[tuple[int, int], int]]:
    """List the occupied (within, tied) cells with their weights, in the unit of the credit."""
    occupied = np.nonzero(credit.is_positive())
    cells = ((within + 1, tied + 1) for within, tied in np.transpose(occupied).tolist())
    return list(zip(cells, credit[occupied].units(), strict=True))


def _combine(factors: tuple[float, float, float, float], outcomes: Any) -> Any:
    """Add up the outcomes, as arrays or numbers, each times its factor."""
    total: Any = None
    for factor, row in zip(factors, outcomes, strict=True):
        if factor:
            term = row if factor == 1.0 else factor * row
            total = term if total is None else total + term
    return total


def _counts_of(outcomes: ClassOutcomes, positive: int) -> tuple[int, int, int, int]:
    """Read the outcomes of one class as integers, multiples of one unit."""
    parts = (outcomes.tp, outcomes.fp, outcomes.fn, outcomes.tn)
    unit = min(part.unit for part in parts)
    tp, fp, fn, tn = (int(part[positive].to_fraction() / unit) for part in parts)
    return tp, fp, fn, tn


def _margins(outcomes: ClassOutcomes) -> tuple[int, int, list[int], list[int]]:
    """Compute total, diagonal total, row totals and column totals as exact integers."""
    truth, predicted = outcomes.support.units(), outcomes.predicted.units()
    return sum(truth), sum(outcomes.tp.units()), truth, predicted
