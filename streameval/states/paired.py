"""Counts of rows by which of two models is right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Self, final

import attrs
import numpy as np
import numpy.typing as npt

from streameval.configs.paired import VALUES, PairedConfig
from streameval.errors import require
from streameval.exact.array_types import Floats, Mask
from streameval.exact.cell_sums import single_sum
from streameval.exact.exact_sum import ExactSum, added_sums, exact_product
from streameval.exact.fixed_point import FixedPoint, total_weight, weight_by_cell
from streameval.exact.log import log_of_either
from streameval.exact.score_keys import Keys, are_keys, prefixes
from streameval.states.calibration import clip_probabilities
from streameval.states.cells import Cells
from streameval.states.column import Column
from streameval.states.curve import check_canonical, check_cells
from streameval.states.score_pairs import MAX_LEVEL, ScorePairs, grouped_pairs
from streameval.states.stack import Stack, SummableState, are_same
from streameval.states.state import BudgetedState, check_numbers, check_total


@final
@attrs.frozen
class PairedCounts(SummableState):
    """Weights by whether model A, and whether model B, is right.

    Parameters
    ----------
    n : FixedPoint, shape ()
        The sum of the weights.
    outcomes : FixedPoint, shape (2, 2)
        Rows are A, columns B: wrong, then right.
    """

    outcomes: FixedPoint

    @classmethod
    def zero(cls, config: Any) -> Self:  # noqa: ARG003 - one signature for all
        """Return empty counts."""
        return cls(FixedPoint.zeros(()), FixedPoint.zeros((2, 2)))

    @classmethod
    def of(cls, codes: npt.NDArray[np.uint8], weights: FixedPoint | None) -> Self:
        """Count rows by code: 2 if A is right, and 1 more if B is."""
        outcomes = weight_by_cell(weights, codes.astype(np.intp), 4)
        return cls(total_weight(weights, len(codes)), outcomes.reshape(2, 2))

    def check(self, config: Any) -> None:  # noqa: ARG002 - one signature for all
        """Check shapes, ranges and that the cells add up to the total."""
        check_total(self.n)
        check_numbers(self.outcomes, (2, 2), "outcomes")
        require(self.outcomes.reshape(-1).total() == self.n, "outcomes do not add up to n")


LARGEST_NUMBER = 2.0**200
"""The largest truth or prediction: the fourth power of its error is finite."""

LARGEST_LOSS = {
    "log_loss": 36.05,
    "brier": 1.0,
    "mse": (2.0 * LARGEST_NUMBER) ** 2,
    "mae": 2.0 * LARGEST_NUMBER,
    "loss": LARGEST_NUMBER,
    "score": LARGEST_NUMBER,
}
"""The end of the range of each loss: 52 log 2 for log loss."""

_FIELDS_OF_LOSS = 5
_NONE_SKIPPED = FixedPoint.zeros(0)


def losses_of(name: str, positive: Mask, probability: Floats) -> Floats:
    """Compute a loss for each row, rounded once."""
    if name == "log_loss":
        return -log_of_either(clip_probabilities(probability), positive)
    error = probability - positive
    return np.asarray(error * error)


def errors_of(name: str, error: Floats) -> Floats:
    """Compute an error measure for each row, rounded once; a value is its own."""
    if name in VALUES:
        return error
    return error * error if name == "mse" else np.abs(error)


@attrs.frozen
class LossSums:
    """The exact sums of the losses of two models, of their squares, and of their products.

    They give the mean and the variance of either loss, and of the row-by-row difference, without
    intermediate rounding.
    """

    a: ExactSum
    b: ExactSum
    aa: ExactSum
    bb: ExactSum
    ab: ExactSum

    @classmethod
    def of(cls, a: Floats, b: Floats, weights: FixedPoint | None) -> Self:
        """Sum a batch."""
        pairs = ([a], [b], exact_product(a, a), exact_product(b, b), exact_product(a, b))
        return cls(*(single_sum(terms, weights) for terms in pairs))

    @property
    def difference(self) -> ExactSum:
        """The sum of first minus second."""
        return self.a - self.b

    @property
    def squared_difference(self) -> ExactSum:
        """The sum of the squares of first minus second."""
        return self.aa - self.ab - self.ab + self.bb

    @property
    def both(self) -> ExactSum:
        """The sum of both losses."""
        return self.a + self.b

    @property
    def squared_both(self) -> ExactSum:
        """The sum of the squares of both losses together."""
        return self.aa + self.ab + self.ab + self.bb

    def check(self, n: Fraction, largest: Fraction, name: str) -> None:
        """Check ranges, and that squares are at least what their means imply."""
        spare = (n + 1) / 2**1000  # products below 2**-968 are rounded
        sums = (("a", self.a, self.aa), ("b", self.b, self.bb))
        of_both = [("both", self.both, self.squared_both)] if name in VALUES else []
        for model, total, squares in (
            *sums,
            ("difference", self.difference, self.squared_difference),
            *of_both,
        ):
            mean, square = total.to_fraction(), squares.to_fraction()
            require(mean**2 <= n * (square + spare), f"{name} of {model} passes its squares")
        if name in VALUES:
            for model, total, squares in sums:
                is_within = abs(total.to_fraction()) <= largest * n
                require(is_within, f"{name} of {model} is outside its range")
                is_within = squares.to_fraction() <= largest**2 * n
                require(is_within, f"squared {name} of {model} is too large")
            return
        for model, total, squares in sums:
            mean, square = total.to_fraction(), squares.to_fraction()
            require(0 <= mean <= largest * n, f"{name} of {model} is outside its range")
            require(square <= largest * mean + spare, f"squared {name} of {model} is too large")
        require(self.ab.units >= 0, f"the product of {name} is negative")


@final
@attrs.frozen
class PairedSums(BudgetedState):
    """Which of two models is right, and the sums behind the other measures.

    Parameters
    ----------
    n : FixedPoint, shape ()
        The sum of the weights.
    outcomes : FixedPoint, shape (2, 2)
        As in `PairedCounts`.
    joint : FixedPoint, shape (K, K, K) or (0,)
        By truth, decision of A, and decision of B.
    losses : tuple of ExactSum
        Five sums of each loss: over A, over B, over the squares of each, and over the products.
    levels, sizes : Column of int64, shape (3,) or (0,)
        For the cells of A, the cells of B, and the pairs of scores: the number of low bits in which
        the keys in a cell may differ, and the number of cells.
    lo, hi : Column of uint64, shape (m,)
        The ends of the cells of A, then of B; empty while each pair is exact.
    pair_a, pair_b : Column of uint64, shape (p,)
        The keys of the pairs, without the bits of their level.
    pos, neg : FixedPoint, shape (m + p,)
        The weights of the positives and of the negatives in cells and pairs.
    skipped : FixedPoint, shape (1,) or (0,)
        The weight of the rows left out because a value is NaN, if such rows are.
    """

    outcomes: FixedPoint
    joint: FixedPoint
    losses: tuple[ExactSum, ...]
    levels: Column
    sizes: Column
    lo: Column
    hi: Column = attrs.field(metadata={"above": "lo"})
    pair_a: Column
    pair_b: Column
    pos: FixedPoint
    neg: FixedPoint
    skipped: FixedPoint = attrs.field(default=_NONE_SKIPPED, metadata={"omit_default": True})

    @classmethod
    def zero(cls, config: PairedConfig) -> Self:
        """Return empty counts."""
        return cls.made(
            PairedCounts.zero(config),
            FixedPoint.zeros(cls._joint_shape(config)),
            (ExactSum(),) * (_FIELDS_OF_LOSS * len(config.losses)),
            ScorePairs.none() if config.has_curve else None,
            FixedPoint.zeros(cls._skipped_shape(config)),
        )

    @classmethod
    def made(
        cls,
        counts: PairedCounts,
        joint: FixedPoint,
        losses: tuple[ExactSum, ...],
        pairs: ScorePairs | None,
        skipped: FixedPoint,
    ) -> Self:
        """Assemble the parts."""
        margins = () if pairs is None else pairs.margins
        kept = ScorePairs.none() if pairs is None else pairs
        levels = [level for level, _ in margins] + ([] if pairs is None else [pairs.level])
        sizes = [len(cells) for _, cells in margins] + ([] if pairs is None else [len(pairs)])
        cells = Cells.concatenated([Cells.none(), *(cells for _, cells in margins)])
        return cls(
            counts.n,
            counts.outcomes,
            joint,
            losses,
            Column(np.array(levels, dtype=np.int64)),
            Column(np.array(sizes, dtype=np.int64)),
            Column(cells.lo),
            Column(cells.hi),
            Column(kept.a),
            Column(kept.b),
            FixedPoint.concatenate([cells.pos, kept.pos]),
            FixedPoint.concatenate([cells.neg, kept.neg]),
            skipped,
        )

    @property
    def counts(self) -> PairedCounts:
        """Which of the models is right."""
        return PairedCounts(self.n, self.outcomes)

    def loss_sums(self) -> Iterator[LossSums]:
        """Yield the sums of each loss."""
        for start in range(0, len(self.losses), _FIELDS_OF_LOSS):
            yield LossSums(*self.losses[start : start + _FIELDS_OF_LOSS])

    @property
    def pairs(self) -> ScorePairs | None:
        """The pairs of scores; None if they are not kept."""
        if not len(self.sizes):
            return None
        end, first = len(self.lo), int(self.sizes.values[0])
        cells = Cells(self.lo.values, self.hi.values, self.pos[:end], self.neg[:end])
        of_a, of_b, level = self.levels.values.tolist()
        return ScorePairs(
            level,
            self.pair_a.values,
            self.pair_b.values,
            self.pos[end:],
            self.neg[end:],
            ((of_a, cells[:first]), (of_b, cells[first:])),
        )

    def joined(self, other: Self, budget: int | None) -> Self:
        """Add part by part, and keep the budget of the pairs; the total overflows first."""
        counts = self.counts + other.counts
        mine, theirs = self.pairs, other.pairs
        pairs = None if mine is None or theirs is None else mine.joined(theirs, budget)
        losses = added_sums(self.losses, other.losses)
        skipped = self.skipped + other.skipped
        return self.made(counts, self.joint + other.joint, losses, pairs, skipped)

    def check(self, config: PairedConfig) -> None:
        """Check the parts, and that they count the same rows."""
        self.counts.check(config)
        self._check_joint(config)
        n, names = self.n.to_fraction(), config.losses
        require(len(self.losses) == _FIELDS_OF_LOSS * len(names), "losses has other sums")
        require(all(isinstance(one, ExactSum) for one in self.losses), "losses holds no sums")
        for name, sums in zip(names, self.loss_sums(), strict=True):
            sums.check(n, Fraction(LARGEST_LOSS[name]), name)
        check_numbers(self.skipped, self._skipped_shape(config), "skipped")
        is_skipped = bool(self.skipped.is_positive().any())
        require(is_skipped or self.skipped.is_whole, "skipped has fractions of nothing")
        size = 3 if config.has_curve else 0
        for name in ("levels", "sizes"):
            column: Column = getattr(self, name)
            require(column.kind == "int64" and len(column) == size, name)
        if config.has_curve:
            self._check_pairs(config)
        else:
            columns = (self.lo, self.hi, self.pair_a, self.pair_b)
            require(not any(map(len, columns)), "scores that are not kept")
            for part in (self.pos, self.neg):
                require(part.shape == (0,) and part.is_whole, "weights that are not kept")

    @staticmethod
    def _joint_shape(config: PairedConfig) -> tuple[int, ...]:
        return (config.labels.n_classes,) * 3 if config.decisions else (0,)

    @staticmethod
    def _skipped_shape(config: PairedConfig) -> tuple[int, ...]:
        return (1,) if config.nan == "skip" else (0,)

    def _check_joint(self, config: PairedConfig) -> None:
        check_numbers(self.joint, self._joint_shape(config), "joint")
        if not config.decisions:
            require(self.joint.is_whole, "joint has fractions of nothing")
            return
        k = config.labels.n_classes
        truth, a, b = np.indices((k, k, k)).reshape(3, -1)
        codes = 2 * (truth == a) + (truth == b)
        flat = self.joint.reshape(-1)
        flat.total()  # refuses numbers that no sum of weights can be
        expected = flat.scatter(codes, 4).reshape(2, 2)
        require(expected == self.outcomes, "joint differs from outcomes")

    def _check_pairs(self, config: PairedConfig) -> None:
        columns: Mapping[str, Column] = {
            name: getattr(self, name) for name in ("lo", "hi", "pair_a", "pair_b")
        }
        for name, column in columns.items():
            require(column.kind == "uint64", name)
        sizes, levels = self.sizes.values, self.levels.values
        within = (sizes >= 0).all() and (sizes <= self.pos.whole.size).all()
        require(bool(within), "sizes outside the cells")
        require(len(self.lo) == len(self.hi) == sizes[:2].sum(), "sizes of other cells")
        require(len(self.pair_a) == len(self.pair_b) == sizes[2], "sizes of other pairs")
        for name in ("pos", "neg"):
            check_numbers(getattr(self, name), (int(sizes.sum()),), name)
        require(bool(((levels >= 0) & (levels <= MAX_LEVEL)).all()), "a level out of range")
        pairs = self.pairs
        assert pairs is not None  # noqa: S101 - tells the type checker
        _check_total(pairs, self.n)
        _check_grid(pairs, config)
        if pairs.level:
            self._check_margins(pairs, config)
        else:
            require(not levels.any() and not len(self.lo), "cells of pairs that are exact")

    def _check_margins(self, pairs: ScorePairs, config: PairedConfig) -> None:
        """Check the cells of each model, and that they count the rows of the pairs."""
        sizes, levels = self.sizes.values[:2], self.levels.values[:2]
        require(bool((levels <= pairs.level).all()), "cells are coarser than pairs")
        end = len(self.lo)
        pos, neg = (Stack.of(part[:end]) for part in (self.pos, self.neg))
        check_cells(Stack.of(self.lo), Stack.of(self.hi), pos, neg, config.scale)
        check_canonical(levels, sizes, self.lo.values, self.hi.values, config.budget)
        for model, keys in ((0, pairs.a), (1, pairs.b)):
            _, cells = pairs.margins[model]
            found = _by_prefix(prefixes(cells.lo, pairs.level), cells.pos, cells.neg)
            expected = _by_prefix(keys, pairs.pos, pairs.neg)
            same = np.array_equal(found[0], expected[0])
            same = same and all(map(are_same, found[1:], expected[1:]))
            require(same, "cells and pairs hold other rows")


def _check_total(pairs: ScorePairs, n: FixedPoint) -> None:
    require((pairs.pos.is_positive() | pairs.neg.is_positive()).all(), "an empty pair")
    for name, part in (("pos", pairs.pos), ("neg", pairs.neg)):
        require(part.is_whole or bool(part.is_positive().any()), f"{name} has fractions of nothing")
    total = pairs.pos.total() + pairs.neg.total()
    require(total.is_whole == n.is_whole and are_same(total, n), "pairs do not add up to n")


def _check_grid(pairs: ScorePairs, config: PairedConfig) -> None:
    """Check the keys of pairs, their order, and their number."""
    a, b = pairs.a, pairs.b
    in_order = (a[1:] > a[:-1]) | ((a[1:] == a[:-1]) & (b[1:] > b[:-1]))
    require(bool(in_order.all()), "pairs are out of order")
    require(config.budget is None or len(pairs) <= config.budget, "pairs over budget")
    if not pairs.level:
        require(are_keys(a, config.scale) and are_keys(b, config.scale), "pairs hold no keys")
        return
    require(config.budget is not None, "level above the lowest that fits")
    spare = MAX_LEVEL - pairs.level
    for part in (a, b):
        require(spare == MAX_LEVEL or not (prefixes(part, spare)).any(), "pairs hold no prefixes")


def _by_prefix(keys: Keys, pos: FixedPoint, neg: FixedPoint) -> tuple[Keys, FixedPoint, FixedPoint]:
    found, _, positives, negatives = grouped_pairs(keys, np.zeros_like(keys), pos, neg)
    return found, positives, negatives
