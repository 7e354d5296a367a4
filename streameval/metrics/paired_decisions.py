"""Two models' decisions on the same rows: differences of metrics of their confusion matrices.

A metric that does not change if all counts grow by the same factor has the linear variance
``sum of count * g**2``, with ``g`` its derivative by the count of each cell (see
`streameval.metrics.intervals`). A difference is such a metric of the joint counts, by truth and
both decisions, and its derivative is the difference of the derivatives by either matrix.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt

from streameval.configs.confusion import ConfusionConfig
from streameval.exact.fixed_point import FixedPoint
from streameval.metrics import confusion, intervals
from streameval.metrics.confusion import ClassMetric
from streameval.metrics.confusion_table import TABLE
from streameval.metrics.label_counts import LabelCounts
from streameval.metrics.paired import two_sided_pvalue
from streameval.states.confusion import MatrixCounts

__all__ = ["Decisions"]

Floats = npt.NDArray[np.float64]
Interval = tuple[float, float]

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
    """

    name: str
    joint: Floats
    counts_a: LabelCounts
    counts_b: LabelCounts

    @classmethod
    def of(cls, name: str, n: FixedPoint, joint: FixedPoint, config: ConfusionConfig) -> Self:
        """Sum the joint counts over either model."""
        a, b = (_counts(n, joint.sum(axis=axis), config) for axis in (2, 1))
        return cls(name, joint.near_floats(), a, b)

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
        """The metric of A minus that of B."""
        return self.a - self.b

    @property
    def pvalue(self) -> float:
        """The two-sided p-value of the difference."""
        return two_sided_pvalue(self.difference, math.sqrt(self._variance))

    def interval_a(self, z: float) -> Interval:
        """Compute the interval of the metric of A."""
        return self._interval(self.counts_a, z)

    def interval_b(self, z: float) -> Interval:
        """Compute the interval of the metric of B."""
        return self._interval(self.counts_b, z)

    def interval(self, z: float) -> Interval:
        """Compute the interval of the difference, treated as a share of its range."""
        difference, variance = self.difference, self._variance
        if not variance > 0.0:
            return intervals.UNDEFINED
        span = 4.0 if self.name in _CORRELATIONS else 2.0
        share = 0.5 + difference / span
        draws = intervals.effective_draws(share, variance / span**2, math.nan)
        low, high = intervals.wilson(share, draws, z)
        return (low - 0.5) * span, (high - 0.5) * span

    @property
    def _variance(self) -> float:
        """The linear variance of the difference; nan where a metric is undefined."""
        if math.isnan(self.difference) or not self.counts_a.n:
            return math.nan
        by_a, by_b = (self._gradient(counts) for counts in (self.counts_a, self.counts_b))
        gradient = by_a[:, :, None] - by_b[:, None, :]
        return math.fsum((self.joint * gradient * gradient).ravel())

    def _value(self, counts: LabelCounts) -> float:
        value: float = TABLE[self.name].value(counts)
        return value

    def _interval(self, counts: LabelCounts, z: float) -> Interval:
        sampling: Any = TABLE[self.name].sampling
        ends: Interval = sampling(counts, self._value(counts), z)
        return ends

    def _gradient(self, counts: LabelCounts) -> Floats:
        """Compute derivatives of a metric by each cell; nan where it is not differentiable."""
        if self.name in _CORRELATIONS:
            matrix = counts.matrix_state(self.name).matrix.to_floats()
            if any(np.count_nonzero(matrix.sum(axis=axis)) < 2 for axis in (0, 1)):
                return np.full_like(matrix, math.nan)
            gradient: Floats = _CORRELATIONS[self.name](matrix)
            return gradient
        ratio, outcomes = _RATIOS[self.name], counts.outcomes.floats
        weights = self._weights(counts)
        by_outcome = intervals.ratio_gradient(ratio, outcomes, weights / math.fsum(weights))
        found: Floats = intervals.matrix_gradient(by_outcome)
        return found

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
