"""Two models' decisions on the same rows: differences of metrics of their confusion matrices.

A metric that does not change if all counts grow by the same factor has the linear variance
``sum of count * g**2``, with ``g`` its derivative by the count of each cell (see
`streameval.metrics.intervals`). A difference is such a metric of the joint counts, by truth and
both decisions, and its derivative is the difference of the derivatives by either matrix.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Self

import attrs
import numpy as np

from streameval.configs.confusion import ConfusionConfig
from streameval.exact.array_types import Floats
from streameval.exact.fixed_point import FixedPoint
from streameval.metrics import confusion, intervals
from streameval.metrics.bounded import Interval
from streameval.metrics.confusion import ClassMetric
from streameval.metrics.confusion_table import TABLE
from streameval.metrics.evidence import mcnemar_pvalue
from streameval.metrics.label_counts import LabelCounts
from streameval.metrics.paired import Model
from streameval.states.confusion import MatrixCounts

_RATIOS: dict[str, ClassMetric] = {
    "precision": confusion.PRECISION,
    "recall": confusion.RECALL,
    "specificity": confusion.SPECIFICITY,
    "f_score": confusion.f_ratio(),
    "balanced_accuracy": confusion.RECALL,
}
_CORRELATIONS: dict[str, Callable[[Floats], Floats]] = {
    "matthews_corrcoef": intervals.matthews_gradient,
    "cohen_kappa": intervals.kappa_gradient,
}


def share_difference(only_a: float, only_b: float, n: float, z: float) -> Interval:
    """Compute the interval of the difference of two shares of the same examples.

    Tango's score interval, made to contain 0 exactly where the p-value of McNemar's exact test is
    at least that of `z`. The exact test asks for more than the score statistic, so this only
    widens the interval, up to 0.

    Parameters
    ----------
    only_a, only_b : float
        The weights of the examples that are hits of A, or of B, alone.
    n : float
        The weight of all examples, more than 0.
    z : float
        The number of deviations.
    """
    low, high = intervals.paired_proportions(only_a, only_b, n, z)
    if mcnemar_pvalue(int(only_a), int(only_b)) < math.erfc(z / math.sqrt(2.0)):
        return low, high
    return min(low, 0.0), max(high, 0.0)


@attrs.frozen(eq=False)
class Decisions:
    """A metric of the confusion matrices of two models, and its difference.

    Parameters
    ----------
    name : str
        The name of the metric of a confusion matrix.
    joint : float64 array, shape (K, K, K)
        The weights by truth, decision of A, and decision of B.
    counts_a, counts_b : LabelCounts
        The counts of each model.
    is_whole : bool
        Whether all weights were whole, which McNemar's test needs.
    """

    name: str
    joint: Floats
    counts_a: LabelCounts
    counts_b: LabelCounts
    is_whole: bool

    @classmethod
    def of(cls, name: str, n: FixedPoint, joint: FixedPoint, config: ConfusionConfig) -> Self:
        """Sum the joint counts over either model."""
        a, b = (_counts(n, joint.sum(axis=axis), config) for axis in (2, 1))
        return cls(name, joint.near_floats(), a, b, joint.is_whole)

    @property
    def a(self) -> float:
        """The metric of A."""
        return self._value(self.counts_a)

    @property
    def b(self) -> float:
        """The metric of B."""
        return self._value(self.counts_b)

    @property
    def difference(self) -> float:
        """The metric of A minus that of B; nan where rows do not define either."""
        if self.is_substitute("a") or self.is_substitute("b"):
            return math.nan
        return self.a - self.b

    @property
    def pvalue(self) -> float:
        """The two-sided p-value: the lowest level at which `interval` excludes 0."""
        if self._of_one_class is not None:
            only_a, only_b, n = self._of_one_class
            is_defined = n > 0.0 and self.is_whole
            return mcnemar_pvalue(int(only_a), int(only_b)) if is_defined else math.nan
        return intervals.two_sided_pvalue(self.difference, *self._variances)

    def is_substitute(self, model: Model) -> bool:
        """Tell whether the metric of a model is a convention."""
        find, counts = TABLE[self.name].is_substitute, self._counts_of(model)
        return find is not None and find(counts, self._value(counts))

    def interval_of(self, model: Model, z: float) -> Interval:
        """Compute the interval of the metric of a model."""
        counts = self._counts_of(model)
        return TABLE[self.name].interval(counts, self._value(counts), z)

    def interval(self, z: float) -> Interval:
        """Compute the interval of the difference, which few disagreements do not make narrow.

        A share of one class has `share_difference`. Otherwise, the variance is that of the counts
        and, of each true class, of ``z**2`` further examples on which one model alone is right,
        either one on half of them: without disagreements, that is the reach of a score interval.
        """
        if self._of_one_class is not None:
            return share_difference(*self._of_one_class, z)
        difference, reach = self.difference, intervals.score_reach(*self._variances, z)
        largest = 2.0 if self.name in _CORRELATIONS else 1.0
        if math.isnan(reach):
            return intervals.UNDEFINED
        return max(difference - reach, -largest), min(difference + reach, largest)

    @property
    def _of_one_class(self) -> tuple[float, float, float] | None:
        """The examples of a class that one model alone gets right, and all of them.

        None unless the metric is the share of one true class that is right.
        """
        config = self.counts_a.config
        if not (config.is_binary and self.name in ("recall", "specificity")):
            return None
        own = config.positive_position if self.name == "recall" else 1 - config.positive_position
        joint = self.joint[own]
        return float(joint[own, 1 - own]), float(joint[1 - own, own]), math.fsum(joint.ravel())

    @property
    def _variances(self) -> tuple[float, float]:
        """The linear variance of the difference, and that of one disagreement of each true class.

        nan where a metric is undefined, or depends on none of the rows that have been counted.
        """
        if math.isnan(self.difference) or not self.counts_a.n:
            return math.nan, math.nan
        by_a, by_b = (self._gradient(counts) for counts in (self.counts_a, self.counts_b))
        square = (by_a[:, :, None] - by_b[:, None, :]) ** 2
        classes = np.flatnonzero(self.joint.any(axis=(1, 2)))
        a_alone, b_alone = (
            square[(classes, classes) if first else (classes, slice(None), classes)]
            for first in (True, False)
        )
        n_wrong = len(square) - 1
        both_right = square[classes, classes, classes]
        unit = (a_alone.sum(axis=1) + b_alone.sum(axis=1)) / 2.0 - both_right
        variances = math.fsum((self.joint * square).ravel()), max(math.fsum(unit / n_wrong), 0.0)
        return variances if any(variances) else (math.nan, math.nan)

    def _counts_of(self, model: Model) -> LabelCounts:
        return self.counts_a if model == "a" else self.counts_b

    def _value(self, counts: LabelCounts) -> float:
        value: float = TABLE[self.name].value(counts)
        return value

    def _gradient(self, counts: LabelCounts) -> Floats:
        """Compute derivatives of a metric by each cell; nan where it is not differentiable."""
        if self.name in _CORRELATIONS:
            matrix = counts.matrix_state(self.name).matrix.to_floats()
            if any(np.count_nonzero(matrix.sum(axis=axis)) < 2 for axis in (0, 1)):
                return np.full_like(matrix, math.nan)
            return _CORRELATIONS[self.name](matrix)
        ratio, outcomes = _RATIOS[self.name], counts.outcomes.floats
        weights = self._weights(counts)
        by_outcome = intervals.ratio_gradient(ratio, outcomes, weights / math.fsum(weights))
        return intervals.matrix_gradient(by_outcome)

    def _weights(self, counts: LabelCounts) -> Floats:
        """Return the weight of each class in the metric."""
        if self.name == "balanced_accuracy":
            return np.asarray(counts.outcomes.support.is_positive(), dtype=np.float64)
        if counts.config.is_binary:
            return np.asarray(np.eye(2)[counts.config.positive_position])
        return counts.averaged.astype(np.float64)


def _counts(n: FixedPoint, matrix: FixedPoint, config: ConfusionConfig) -> LabelCounts:
    """Create the counts from a confusion matrix, with full credit for every hit."""
    credit = FixedPoint.zeros((1, len(matrix.whole)))
    return LabelCounts.of(config, MatrixCounts(n, matrix, credit))
