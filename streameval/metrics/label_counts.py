"""Counts of labels against predictions, and the values of their metrics."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, Literal, cast

import attrs
import numpy as np

from streameval.configs.cached import Cached
from streameval.configs.confusion import ConfusionConfig
from streameval.configs.names import listed
from streameval.configs.options import real_number
from streameval.errors import InvalidInputError, Named
from streameval.exact.array_types import Array, Floats, Mask
from streameval.exact.fixed_point import FixedPoint
from streameval.inputs.classes import Label, class_position
from streameval.metrics import confusion as metrics
from streameval.metrics.confusion import Average, ClassMetric, ClassOutcomes, Ratio
from streameval.metrics.shares import quotient
from streameval.states.confusion import (
    ExampleCounts,
    MatrixCounts,
    MultilabelCounts,
    ObservedCounts,
    TopKCounts,
)

AverageOption = Average | Literal["default"] | None
ConfusionCounts = MatrixCounts | ObservedCounts | MultilabelCounts

_AVERAGES = ("binary", "macro", "micro", "weighted", "samples", None)


@attrs.frozen(slots=False, repr=False)
class LabelCounts(Cached):
    """A state of counts and its options: the source of every metric."""

    config: ConfusionConfig
    state: ConfusionCounts
    _outcomes: ClassOutcomes | None = attrs.field(default=None, eq=False)
    has_matrix: bool = True
    """Whether the outcomes come from one matrix, which determines their covariances."""

    @classmethod
    def of(cls, config: ConfusionConfig, state: ConfusionCounts) -> LabelCounts:
        """Use the counts of a state."""
        return cls(config, state, has_matrix=not isinstance(state, MultilabelCounts))

    @functools.cached_property
    def outcomes(self) -> ClassOutcomes:
        """The outcomes of each class."""
        if self._outcomes is not None:
            return self._outcomes
        if isinstance(self.state, MultilabelCounts):
            return ClassOutcomes.of_tables(self.state.outcomes)
        return ClassOutcomes.of_matrix(self.state.n, self.state.matrix)

    @functools.cached_property
    def positive_outcomes(self) -> Sequence[float]:
        """The outcomes of the positive class of two: tp, fp, fn, tn."""
        state, own = self.state, self.config.positive_position
        if not self.has_matrix or state.n.fraction is not None:
            outcomes: Sequence[float] = self.outcomes.floats[:, own].tolist()
            return outcomes
        matrix = cast("MatrixCounts", state).matrix.whole
        # four integers, in a quarter of the time of the arrays of both classes
        tp, fp, fn = (matrix.item(*cell) for cell in ((own, own), (1 - own, own), (own, 1 - own)))
        return [float(count) for count in (tp, fp, fn, state.n.whole.item() - tp - fp - fn)]

    @property
    def n(self) -> int | float:
        """The sum of the weights: an int while all of them are whole."""
        n = self.state.n
        return n.whole.item() if n.fraction is None else n.to_number()

    @property
    def has_whole_weights(self) -> bool:
        """Whether every weight is a whole number of repeats."""
        return self.state.n.fraction is None

    @property
    def has_examples(self) -> bool:
        """Whether metrics can be averaged over examples."""
        return isinstance(self.state, ExampleCounts)

    @property
    def labels(self) -> tuple[Label, ...]:
        """The classes in the order of rows and columns."""
        return self.state.labels if isinstance(self.state, ObservedCounts) else self.config.labels

    @property
    def class_names(self) -> tuple[Label, ...]:
        """The display names of the classes, in the order of rows and columns."""
        return self.labels if isinstance(self.state, ObservedCounts) else self.config.class_names

    @property
    def matrix(self) -> Array:
        """The matrix, or one table per label."""
        if isinstance(self.state, MultilabelCounts):
            return self.state.outcomes.to_numbers()
        return self.state.matrix.to_numbers()

    @property
    def averaged(self) -> Mask:
        """The classes that enter means: those that occur, or all if the options say so."""
        if self.config.include_unseen:
            return np.ones(len(self.labels), dtype=bool)
        if isinstance(self.state, MultilabelCounts):
            return self.outcomes.seen() | self.outcomes.tn.is_positive()
        return self.outcomes.seen()

    def averaged_over(self, labels: Sequence[Label] | None) -> Mask:
        """Mark the classes that enter means: the named ones, or else `averaged`."""
        if labels is None:
            return self.averaged
        if isinstance(labels, str) or not len(labels):
            raise InvalidInputError(
                f"must name one class or several, got {labels!r}", argument="labels"
            )
        kept = np.zeros(len(self.labels), dtype=bool)
        kept[list(map(self.position_of, labels))] = True
        return kept

    def position_of(self, label: Label) -> int:
        """Find the row and column of a class, or raise InvalidInputError."""
        position = class_position(label, self.class_names, self.labels)
        if position is None:
            known = listed(list(map(str, self.class_names)))
            raise InvalidInputError(f"has no class {label!r}", argument="labels", remedy=known)
        return position

    @property
    def n_averaged(self) -> int:
        """The number of classes that enter means."""
        return int(np.count_nonzero(self.averaged))

    def resolve(self, average: AverageOption) -> Average | None:
        """Resolve the default average, and refuse one that these classes do not have."""
        if average == "default":
            return "binary" if self.config.is_binary else "macro"
        if average not in _AVERAGES:
            raise InvalidInputError(
                f"must be one of {_AVERAGES}, got {average!r}", argument="average"
            )
        if average == "binary" and not self.config.is_binary:
            raise InvalidInputError('"binary" needs two listed classes', argument="average")
        if average == "samples" and not self.has_examples:
            raise InvalidInputError(
                '"samples" needs an accumulator with ',
                Named("measures", '"samples"'),
                " and ",
                Named("multilabel", "True"),
                argument="average",
            )
        return average

    def of_class(self, position: int) -> LabelCounts:
        """Return the counts of one class against the rest: two classes, of which it is positive."""
        config = _against_rest(str(self.class_names[position]), self.config.include_unseen)
        one = self.outcomes.of(position)
        state = MatrixCounts.of_outcomes(one.tp, one.fp, one.fn, one.tn)
        if isinstance(self.state, TopKCounts):
            best = at_top_k(self, "top_k").outcomes.of(position)
            hits, misses = (
                FixedPoint.concatenate(both) for both in ((best.tn, best.tp), (best.fn, best.fp))
            )
            state = TopKCounts(state.n, state.matrix, state.credit, hits, misses)
        return LabelCounts.of(config, state)

    def of_ones(self) -> LabelCounts:
        """Return the counts of label 1 against the rest if 0 and 1 were observed; else these."""
        if not isinstance(self.state, ObservedCounts):
            return self
        if not self.labels or not {0, 1}.issuperset(self.labels):
            return self
        if 1 in self.labels:
            return self.of_class(self.labels.index(1))
        none = FixedPoint(np.zeros((), dtype=np.int64))
        state = MatrixCounts.of_outcomes(none, none, none, self.state.n)
        return LabelCounts.of(_against_rest("1", self.config.include_unseen), state)

    def matrix_state(self, name: str) -> MatrixCounts | ObservedCounts:
        """Return the counts of one label per example; `name` is undefined without them."""
        if isinstance(self.state, MultilabelCounts):
            raise InvalidInputError("is not defined for multilabel counts", argument=name)
        return self.state


@functools.lru_cache(maxsize=1024)
def _against_rest(name: str, include_unseen: bool) -> ConfusionConfig:
    """Make the configuration of one class against the rest; its checks take most of the time."""
    return ConfusionConfig.of(classes={0: f"not {name}", 1: name}, include_unseen=include_unseen)


def at_top_k(counts: LabelCounts, name: str) -> LabelCounts:
    """Return the outcomes of each class if a true class among the best k is the prediction."""
    state = counts.state
    if not isinstance(state, TopKCounts):
        raise InvalidInputError(
            "needs an accumulator with ", Named("measures", '"top_k"'), argument=name
        )
    tp, fp = state.top_hits, state.top_misses
    fn = state.matrix.sum(axis=1) - tp
    outcomes = ClassOutcomes(tp, fp, fn, state.n - tp - fp - fn)
    return attrs.evolve(counts, outcomes=outcomes, has_matrix=False)


WRONG = Ratio((0, 1, 1, 0), (1, 1, 1, 1))


def accuracy(counts: LabelCounts) -> float:
    """Compute the share of examples with every label right."""
    n = counts.n
    return right(counts) / n if n else math.nan  # what is read most: a call less


def right(counts: LabelCounts) -> float:
    """Sum the weights of the examples with every label right."""
    if isinstance(counts.state, MultilabelCounts):
        return counts.state.exact_match.to_floats().item()
    matrix = counts.state.matrix
    if matrix.fraction is None:
        return float(matrix.whole.trace())
    # the diagonal alone takes a third of the time of all outcomes
    return matrix.diagonal().sum().to_floats().item()


def hamming_loss(counts: LabelCounts) -> float:
    """Compute the share of wrong labels."""
    if isinstance(counts.state, MultilabelCounts):
        everything = np.ones(len(counts.labels), dtype=bool)
        pooled = metrics.pool(counts.outcomes.floats, everything)
        return float(WRONG.of(pooled, math.nan)[0])
    return zero_one_loss(counts)


def top_k_accuracy(counts: LabelCounts) -> float:
    """Compute the mean credit of the true class."""
    state = counts.matrix_state("top_k_accuracy")
    if isinstance(state, ObservedCounts):
        return accuracy(counts)
    return metrics.top_k_accuracy(state.n, state.credit)


def balanced_accuracy(counts: LabelCounts) -> float:
    """Compute the mean recall of the classes in the truth."""
    counts.matrix_state("balanced_accuracy")
    return metrics.average_ratio(
        metrics.RECALL,
        counts.outcomes,
        average="macro",
        averaged=counts.outcomes.support.is_positive(),
        zero_division=math.nan,
    )


def zero_one_loss(counts: LabelCounts) -> float:
    """Compute the share of examples with any label wrong."""
    if isinstance(counts.state, MultilabelCounts):
        wrong = counts.state.n - counts.state.exact_match
    else:
        wrong = counts.state.n - counts.outcomes.tp.sum()
    return quotient(wrong.to_floats().item(), counts.n)


def geometric_mean(counts: LabelCounts) -> float:
    """Compute the geometric mean of the recalls of the classes in the truth."""
    counts.matrix_state("geometric_mean")
    return metrics.geometric_mean(counts.outcomes)


def matthews_corrcoef(counts: LabelCounts) -> float:
    """Compute the correlation of truth and prediction; for multilabel, of all labels pooled."""
    if isinstance(counts.state, MultilabelCounts):
        return metrics.pooled_matthews_corrcoef(counts.outcomes)
    return metrics.matthews_corrcoef(counts.outcomes)


def is_of_one_class(counts: LabelCounts) -> bool:
    """Tell whether the truth is one class throughout; for multilabel, of all labels pooled."""
    present, absent = counts.outcomes.floats[[0, 1]] + counts.outcomes.floats[[2, 3]]
    if isinstance(counts.state, MultilabelCounts):
        return not (present.any() and absent.any())
    return int(np.count_nonzero(present)) < 2


def cohen_kappa(counts: LabelCounts) -> float:
    """Compute the agreement beyond chance."""
    counts.matrix_state("cohen_kappa")
    return metrics.cohen_kappa(counts.outcomes)


def mean_class_distance(counts: LabelCounts) -> float:
    """Compute the mean distance of prediction and truth in the order of the classes."""
    state = counts.matrix_state("mean_class_distance")
    return metrics.mean_distance(state.n, state.matrix)


def _zero_division(value: Any) -> float:
    number = real_number(value, name="zero_division")
    if not (number in (0.0, 1.0) or math.isnan(number)):
        raise InvalidInputError(
            f"must be 0.0, 1.0 or nan, got {number!r}", argument="zero_division"
        )
    return number


@attrs.frozen(repr=False)
class Averaging:
    """How a metric of each class becomes one number.

    Parameters
    ----------
    average : str, optional
        The average; None for the number of each class.
    zero_division : float
        The value where the metric divides by zero.
    labels : sequence of labels, optional
        The classes that enter means; by default those that occur.
    """

    average: AverageOption = "default"
    zero_division: float = attrs.field(default=0.0, converter=_zero_division)
    labels: Sequence[Label] | None = None

    def resolve(self, counts: LabelCounts) -> Average | None:
        """Resolve the default average, which is a mean if classes are named."""
        if self.labels is None:
            return counts.resolve(self.average)
        average = "macro" if self.average == "default" else counts.resolve(self.average)
        if average in ("binary", "samples", None):
            raise InvalidInputError(
                f'are of "macro", "micro" and "weighted" means, not of average={average!r}',
                argument="labels",
            )
        return average


def of_examples(
    counts: LabelCounts, ratio: ClassMetric, zero_division: float
) -> tuple[Floats, Floats]:
    """Compute a ratio over the labels of each example, and the weight of the examples that have it.

    If `zero_division` is nan, examples with an undefined ratio are left out.
    """
    state = counts.state
    assert isinstance(state, ExampleCounts)  # noqa: S101 - `resolve` has refused other counts
    values = ratio.of(state.labels_of_patterns.astype(np.float64), zero_division)
    is_defined = ~np.isnan(values)
    return values[is_defined], state.examples.to_floats()[is_defined]


def ratio_value(counts: LabelCounts, ratio: ClassMetric, averaging: Averaging) -> Any:
    """Compute a ratio, averaged over the classes or for each of them."""
    how, zero_division = averaging.resolve(counts), averaging.zero_division
    if how is None:
        return ratio.of(counts.outcomes.floats, zero_division)
    if how == "binary":
        return ratio.of_one(counts.positive_outcomes, zero_division)
    if how == "samples":
        return metrics.weighted_mean(*of_examples(counts, ratio, zero_division))
    return metrics.average_ratio(
        ratio,
        counts.outcomes,
        average=how,
        averaged=counts.averaged_over(averaging.labels),
        zero_division=zero_division,
    )
