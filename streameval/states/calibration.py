"""Exact sums of probabilities, losses and outcomes."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any, Self, final

import attrs
import numpy as np

from streameval.configs.calibration import CalibrationConfig
from streameval.errors import require
from streameval.exact.array_types import Floats, Indices, Ints, Mask
from streameval.exact.cell_sums import cell_squares, cell_sums, column_sums, single_sum
from streameval.exact.exact_sum import UNITS_OF_ONE, ExactSum, exact_product
from streameval.exact.fixed_point import FixedPoint, total_weight, weight_by_cell
from streameval.exact.log import log, log_of_either
from streameval.exact.power_sums import square_sum, value_sum
from streameval.exact.scratch import ROWS
from streameval.states.bins import bin_indices
from streameval.states.stack import Stack, SummableState
from streameval.states.state import check_numbers, check_total, fields_of

_EPSILON = 2.0**-52


@attrs.frozen
class CalibrationSums(SummableState):
    """The weighted, exact sums behind the metrics of probabilities.

    For two classes, the prediction is the probability of the positive class, and a hit is a
    positive. For K classes, the prediction is the highest probability, and a hit is a row in which
    the first class with this probability is the true one.

    Parameters
    ----------
    n : FixedPoint, shape ()
        The sum of the weights.
    clipped : FixedPoint, shape ()
        The weight of the rows whose true class had a probability outside [eps, 1 - eps].
    weight, hits : FixedPoint, shape (B,)
        The weight of all rows, and of hits, by bin of the prediction.
    class_weight : FixedPoint, shape (K,); (0,) for two classes
        The weight of the rows of each true class.
    log_loss, brier : ExactSum
        The sums of the losses of rows.
    prediction : tuple of B ExactSum
        Predictions by bin.
    class_prediction : tuple of K ExactSum; empty for two classes
        Probabilities by class.
    """

    clipped: FixedPoint
    weight: FixedPoint
    hits: FixedPoint
    class_weight: FixedPoint
    log_loss: ExactSum
    brier: ExactSum
    prediction: tuple[ExactSum, ...]
    class_prediction: tuple[ExactSum, ...]

    @classmethod
    def zero(cls, config: CalibrationConfig) -> Self:
        """Return the empty sums."""
        return cls(**cls._nothing(config))

    @classmethod
    def _nothing(cls, config: CalibrationConfig) -> dict[str, Any]:
        """Return the fields of the empty sums."""
        nothing, one, classes = ExactSum(), FixedPoint.zeros(()), config.n_classes
        bins = FixedPoint.zeros(config.bins)
        return {
            "n": one,
            "clipped": one,
            "weight": bins,
            "hits": bins,
            "class_weight": FixedPoint.zeros(classes),
            "log_loss": nothing,
            "brier": nothing,
            "prediction": (nothing,) * config.bins,
            "class_prediction": (nothing,) * classes,
        }

    @classmethod
    def of_binary(
        cls, truth: Ints, probability: Floats, weights: FixedPoint | None, config: CalibrationConfig
    ) -> Self:
        """Sum a batch of truths 0 and 1 and of probabilities of 1, both of shape (n,)."""
        is_positive = truth == 1
        logs = clip_probabilities(probability)
        is_clipped = logs != probability
        log_of_either(logs, is_positive, out=logs)
        index = bin_indices(probability, config.bins)
        weight, hits = _tallies(index, is_positive, config.bins, weights)
        return cls(
            n=total_weight(weights, len(truth)),
            clipped=_total_where(is_clipped, weights),
            weight=weight,
            hits=hits,
            class_weight=FixedPoint.zeros(0),
            log_loss=ExactSum() - value_sum(logs, weights),
            brier=square_sum(probability, weights, less=is_positive),
            prediction=cell_sums(probability, weights, index, config.bins),
            class_prediction=(),
        )

    @staticmethod
    def of_groups(
        truth: Ints, probability: Floats, groups: Indices, n_groups: int, config: CalibrationConfig
    ) -> dict[str, Stack]:
        """Sum what `of_binary` does for many groups at once, without weights; stack the states."""
        bins, is_positive = config.bins, truth == 1
        logs = clip_probabilities(probability)
        is_clipped = logs != probability
        log_of_either(logs, is_positive, out=logs)
        cells = groups * bins + bin_indices(probability, bins)
        weight, hits = _tallies(cells, is_positive, n_groups * bins, None)
        of_bins = cell_sums(probability, None, cells, n_groups * bins)
        starts = range(0, n_groups * bins, bins)
        numbers = {
            "n": weight_by_cell(None, groups, n_groups),
            "clipped": weight_by_cell(None, groups[is_clipped], n_groups),
            "weight": weight.reshape(n_groups, bins),
            "hits": hits.reshape(n_groups, bins),
            "class_weight": FixedPoint.zeros((n_groups, 0)),
        }
        values = {
            "log_loss": cell_sums(-logs, None, groups, n_groups),
            "brier": cell_squares(probability - is_positive, groups, n_groups),
            "prediction": [of_bins[start : start + bins] for start in starts],
            "class_prediction": [()] * n_groups,
        }
        stacks = {name: Stack.of_numbers(one, one.shape[1:]) for name, one in numbers.items()}
        return stacks | {name: Stack.of_values(own) for name, own in values.items()}

    @classmethod
    def of_classes(
        cls,
        truth: Ints,
        probability: Floats,
        top: Ints,
        weights: FixedPoint | None,
        config: CalibrationConfig,
    ) -> Self:
        """Sum a batch of indices of true classes (n,) and of probabilities (n, K).

        `top` is the first class with the highest probability of each row.
        """
        rows, classes = np.arange(len(truth)), config.n_classes
        error = probability.copy()
        error[rows, truth] -= 1.0
        own, highest = probability[rows, truth], probability[rows, top]
        kept = clip_probabilities(own)
        index = bin_indices(highest, config.bins)
        weight, hits = _tallies(index, top == truth, config.bins, weights)
        of_entries = None if weights is None else weights.select(np.repeat(rows, classes))
        return cls(
            n=total_weight(weights, len(truth)),
            clipped=_total_where(kept != own, weights),
            weight=weight,
            hits=hits,
            class_weight=weight_by_cell(weights, truth, classes),
            log_loss=value_sum(-log(kept), weights),
            brier=square_sum(error.ravel(), of_entries),
            prediction=cell_sums(highest, weights, index, config.bins),
            class_prediction=column_sums(probability, of_entries),
        )

    def check(self, config: CalibrationConfig) -> None:
        """Check shapes and ranges, that parts add up, and that every mean is in its range.

        After clipping, the loss of a row is between 2**-52 and 36.05.
        """
        check_total(self.n)
        check_numbers(self.clipped, (), "clipped")
        check_numbers(self.weight, (config.bins,), "weight")
        check_numbers(self.hits, (config.bins,), "hits")
        check_numbers(self.class_weight, (config.n_classes,), "class_weight")
        require(self.weight.total() == self.n, "weight does not add up to n")
        _check_part(self.clipped, self.n, "clipped", "n")
        _check_part(self.hits, self.weight, "hits", "weight")
        _check_sums(self.prediction, config.bins, "prediction")
        _check_sums(self.class_prediction, config.n_classes, "class_prediction")
        scale = _in_units(self.n)
        require(scale <= self.log_loss.units << 53, "log_loss is below that of certainty")
        require(10 * self.log_loss.units <= 361 * scale, "log_loss passes 36.1 n")
        self._check_predictions(config)
        if config.classes is None:
            require(0 <= self.brier.units <= scale, "brier passes n")
            require(self.class_weight.is_whole, "class_weight has fractions of nothing")
        else:
            self._check_classes(scale)
        require(scale or self == self.zero(config), "sums of nothing")

    def _check_predictions(self, config: CalibrationConfig) -> None:
        """Check that the mean prediction of each bin lies in it."""
        edges = [Fraction(i / config.bins) for i in range(config.bins + 1)]
        sums = zip(
            pairwise(edges), self.prediction, self.weight.units_of(UNITS_OF_ONE), strict=True
        )
        within = (low * w <= total.units <= high * w for (low, high), total, w in sums)
        require(all(within), "prediction is outside its bin")

    def _check_classes(self, scale: int) -> None:
        """Check what follows if each row has probabilities in [0, 1] that nearly sum to 1.

        Rows of the coarsest dtype may be off by less than a tenth. The squared errors of a row
        are at most 1, for its true class, plus the sum of the other probabilities.
        """
        require(self.class_weight.total() == self.n, "class_weight does not add up to n")
        totals = [total.units for total in self.class_prediction]
        highest = sum(total.units for total in self.prediction)
        require(min(totals) >= 0, "class_prediction is negative")
        require(9 * scale <= 10 * sum(totals) <= 11 * scale, "class_prediction is not near n")
        require(max(totals) <= highest <= sum(totals), "prediction is not the highest")
        require(0 <= 10 * self.brier.units <= 21 * scale, "brier passes its range")


@final
@attrs.frozen
class CalibrationMoments(CalibrationSums):
    """The sums, and the second moments of the losses of rows, for sampling intervals.

    Parameters
    ----------
    row_brier : ExactSum
        The sum of the squared errors of rows, each rounded to a float.
    squared_log_loss, squared_brier : ExactSum
        The sums of the squares of the losses of rows.
    """

    row_brier: ExactSum
    squared_log_loss: ExactSum
    squared_brier: ExactSum

    @classmethod
    def _nothing(cls, config: CalibrationConfig) -> dict[str, Any]:
        return super()._nothing(config) | dict.fromkeys(_MOMENTS, ExactSum())

    @classmethod
    def of_binary(
        cls, truth: Ints, probability: Floats, weights: FixedPoint | None, config: CalibrationConfig
    ) -> Self:
        """Sum a batch of truths 0 and 1 and of probabilities of 1, both of shape (n,)."""
        sums = CalibrationSums.of_binary(truth, probability, weights, config)
        loss = -log_of_either(clip_probabilities(probability), truth == 1)
        error = probability - truth
        return cls._of(sums, loss, error * error, weights)

    @classmethod
    def of_classes(
        cls,
        truth: Ints,
        probability: Floats,
        top: Ints,
        weights: FixedPoint | None,
        config: CalibrationConfig,
    ) -> Self:
        """Sum a batch of indices of true classes (n,) and of probabilities (n, K)."""
        sums = CalibrationSums.of_classes(truth, probability, top, weights, config)
        rows, error = np.arange(len(truth)), probability.copy()
        error[rows, truth] -= 1.0
        loss = -log(clip_probabilities(probability[rows, truth]))
        # a running sum has one order, whatever the layout in memory
        return cls._of(sums, loss, np.add.accumulate(error * error, axis=1)[:, -1], weights)

    @classmethod
    def _of(
        cls, sums: CalibrationSums, loss: Floats, brier: Floats, weights: FixedPoint | None
    ) -> Self:
        return cls(
            **fields_of(sums),
            row_brier=single_sum([brier], weights),
            squared_log_loss=single_sum(exact_product(loss, loss), weights),
            squared_brier=single_sum(exact_product(brier, brier), weights),
        )

    def check(self, config: CalibrationConfig) -> None:
        """Check the moments too: squares lie between the bounds that means and ranges imply."""
        super().check(config)
        n = self.n.to_fraction()
        rounding = (n + 1) / 2**40  # of the squared errors of rows
        apart = self.row_brier.to_fraction() - self.brier.to_fraction()
        require(abs(apart) <= rounding, "row_brier differs from brier")
        for name, total, squares, largest in (
            ("log_loss", self.log_loss, self.squared_log_loss, Fraction(361, 10)),
            ("brier", self.row_brier, self.squared_brier, Fraction(211, 100)),
        ):
            mean, square = total.to_fraction(), squares.to_fraction()
            spare = (n + 1) / 2**1000  # squares below 2**-968 are rounded
            require(0 <= mean**2 <= n * (square + spare), f"{name} passes its squares")
            require(square <= largest * mean + spare, f"squared_{name} passes its range")


_MOMENTS = ("row_brier", "squared_log_loss", "squared_brier")


def clip_probabilities(probability: Floats) -> Floats:
    """Clip to [eps, 1 - eps], so that the log loss of each is finite."""
    return np.clip(probability, _EPSILON, 1.0 - _EPSILON)


def _total_where(chosen: Mask, weights: FixedPoint | None) -> FixedPoint:
    if weights is None:
        return total_weight(None, int(np.count_nonzero(chosen)))
    return weights.select(chosen).total()


def _tallies(
    index: Indices, is_hit: Mask, size: int, weights: FixedPoint | None
) -> tuple[FixedPoint, FixedPoint]:
    """Count all rows by bin, and hits separately."""
    if weights is None:
        counts = np.zeros(2 * size, dtype=np.int64)
        for start in range(0, len(index), ROWS):
            rows = slice(start, start + ROWS)
            cells = np.multiply(is_hit[rows], size, dtype=np.intp)
            cells += index[rows]
            counts += np.bincount(cells, minlength=2 * size)
        misses, hits = counts.reshape(2, size)
        return FixedPoint(misses + hits), FixedPoint(hits)
    of_hits = weight_by_cell(weights.select(is_hit), index[is_hit], size)
    return weight_by_cell(weights, index, size), of_hits


def _in_units(number: FixedPoint) -> int:
    (units,) = number.units_of(UNITS_OF_ONE)
    return units


def _check_part(part: FixedPoint, whole: FixedPoint, name: str, of: str) -> None:
    require(((whole - part).whole >= 0).all(), f"{name} passes {of}")
    has_seen = not whole.is_whole and part.is_positive().any()
    require(part.is_whole or has_seen, f"{name} has fractions that {of} has not")


def _check_sums(sums: tuple[ExactSum, ...], size: int, name: str) -> None:
    require(len(sums) == size, f"{name} has {len(sums)} sums instead of {size}")
    require(all(isinstance(total, ExactSum) for total in sums), f"{name} holds other than sums")
