"""Score tables: the cells of one curve or of one for each class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any, Self, final

import attrs
import numpy as np
import numpy.typing as npt

from streameval.configs.curve import CurveConfig
from streameval.errors import IncompatibleStateError, require
from streameval.exact.fixed_point import FixedPoint
from streameval.exact.score_keys import Scale, are_keys, prefixes, scores_of
from streameval.inputs.labels import Label, canonical_label
from streameval.states.cells import Cells
from streameval.states.column import Column
from streameval.states.state import State, check_numbers

__all__ = ["ScoreTables", "ScoredRows", "check_cells", "check_settled"]

Floats = npt.NDArray[np.floating[Any]]
Mask = npt.NDArray[np.bool_]


@attrs.frozen(eq=False)
class ScoredRows:
    """Rows that have been read: a score and a class for each curve.

    Parameters
    ----------
    scores : array of floats, shape (K, n)
        Without NaN.
    scale : {"probability", "real"}
        What the scores are.
    positive : bool array, shape (K, n)
        Whether the row is a positive of each curve.
    weights : FixedPoint, shape (n,), optional
        Above zero.
    """

    scores: Floats
    scale: Scale
    positive: Mask
    weights: FixedPoint | None = None

    def __len__(self) -> int:
        """Give the number of rows that count."""
        return int(self.scores.shape[1])

    @property
    def n(self) -> FixedPoint:
        """The sum of the weights."""
        if self.weights is None:
            return FixedPoint(np.array(len(self), dtype=np.int64))
        return self.weights.total()


@final
@attrs.frozen
class ScoreTables(State):
    """The cells of K curves, one after the other.

    Parameters
    ----------
    n : FixedPoint, shape ()
        The sum of the weights.
    skipped : FixedPoint, shape ()
        The weight of the rows left out for a score that is NaN.
    negative_label : tuple of labels
        The label of the negatives, where a label was asked for and one has been met.
    levels, sizes : Column of int64, shape (K,)
        How many low bits the keys in a cell of each curve may differ in, and its number of
        cells.
    lo, hi : Column of uint64, shape (m,)
        The ends of all cells.
    pos, neg : FixedPoint, shape (m,)
        The weights in them.
    """

    skipped: FixedPoint
    negative_label: tuple[Label, ...]
    levels: Column
    sizes: Column
    lo: Column
    hi: Column = attrs.field(metadata={"above": "lo"})
    pos: FixedPoint
    neg: FixedPoint

    @classmethod
    def zero(cls, config: CurveConfig) -> Self:
        """Hold no cells."""
        nothing = FixedPoint.zeros(())
        return cls._of(nothing, nothing, (), [(0, Cells.none())] * config.n_curves)

    @classmethod
    def _of(
        cls,
        n: FixedPoint,
        skipped: FixedPoint,
        negative_label: tuple[Label, ...],
        tables: Iterable[tuple[int, Cells]],
    ) -> Self:
        levels, cells = zip(*tables, strict=True)
        every = Cells.concatenated(cells)
        return cls(
            n,
            skipped,
            negative_label,
            Column(np.array(levels, dtype=np.int64)),
            Column(np.array([len(part) for part in cells], dtype=np.int64)),
            Column(every.lo),
            Column(every.hi),
            every.pos,
            every.neg,
        )

    def tables(self) -> Iterator[tuple[int, Cells]]:
        """Give the level and the cells of each curve."""
        every = Cells(self.lo.values, self.hi.values, self.pos, self.neg)
        end = 0
        for level, size in zip(self.levels.values, self.sizes.values, strict=True):
            start, end = end, end + int(size)
            yield int(level), every[start:end]

    def __add__(self, other: Self) -> Self:
        """Join the cells of each curve; `fitted` keeps the budget."""
        return self.joined(other, None)

    def joined(self, other: Self, budget: int | None) -> Self:
        """Join the cells of each curve, and keep the budget."""
        tables = (
            cells.joined_within(others, max(level, other_level), budget)
            for (level, cells), (other_level, others) in zip(
                self.tables(), other.tables(), strict=True
            )
        )
        return self._of(
            self.n + other.n,
            self.skipped + other.skipped,
            _one_label(self.negative_label, other.negative_label),
            tables,
        )

    def noting(self, skipped: FixedPoint | None, negative_label: tuple[Label, ...]) -> Self:
        """Count what a batch left out, and remember the label of its negatives."""
        if skipped is None and negative_label in ((), self.negative_label):
            return self
        return attrs.evolve(
            self,
            skipped=self.skipped if skipped is None else self.skipped + skipped,
            negative_label=_one_label(self.negative_label, negative_label),
        )

    def with_rows(self, rows: ScoredRows) -> Self:
        """Count the rows of a batch, once they are noted; `fitted` keeps the budget."""
        tables = (
            (level, cells.with_rows(scores, rows.scale, positive, rows.weights, level))
            for (level, cells), scores, positive in zip(
                self.tables(), rows.scores, rows.positive, strict=True
            )
        )
        return self._of(self.n + rows.n, self.skipped, self.negative_label, tables)

    def to_rows(self, scale: Scale, most: int) -> ScoredRows | None:
        """Give rows that this is the state of; None if they are more than `most`, or not known.

        They are known while every cell is one score, and no weight has a fraction.
        """
        if not (self.n.is_whole and self.n.whole <= most) or self.levels.values.any():
            return None
        curves = [cells.to_rows() for _, cells in self.tables()]
        scores, positive = (np.array(part) for part in zip(*curves, strict=True))
        return ScoredRows(scores_of(scores, scale), scale, positive)

    def fitted(self, budget: int | None) -> Self:
        """Raise the level of each curve that is over budget to the least that fits."""
        if budget is None or self.sizes.values.max() <= budget:
            return self
        tables = (cells.fitted(budget, level) for level, cells in self.tables())
        return self._of(self.n, self.skipped, self.negative_label, tables)

    def check(self, config: CurveConfig) -> None:
        """Check the cells, and that each curve holds every row."""
        check_numbers(self.n, (), "n")
        check_numbers(self.skipped, (), "skipped")
        is_counted = self.skipped.is_whole or self.skipped.is_positive()
        require(is_counted, "skipped has fractions of nothing")
        require(config.nan == "skip" or self.skipped == FixedPoint.zeros(()), "skipped rows")
        self._check_negative_label(config)
        for column, name in ((self.levels, "levels"), (self.sizes, "sizes")):
            require(column.kind == "int64" and len(column) == config.n_curves, name)
        sizes = self.sizes.values
        require((sizes >= 0).all() and sizes.max() <= len(self.lo), "sizes outside the cells")
        require(sum(sizes.tolist()) == len(self.lo), "sizes of other cells")
        check_cells(self.lo, self.hi, self.pos, self.neg, config.scores)
        has_fraction = not (self.pos.is_whole and self.neg.is_whole)
        require(has_fraction != self.n.is_whole, "n differs from the cells in its fraction")
        positives = Fraction(0)
        for level, cells in self.tables():
            check_settled(level, cells, config.budget)
            pos, neg = (part.total().to_fraction() for part in (cells.pos, cells.neg))
            require(pos + neg == self.n.to_fraction(), "n differs from the sum of the cells")
            positives += pos
        one_class_a_row = config.classes is not None and not config.multilabel
        require(not one_class_a_row or positives == self.n.to_fraction(), "positives of a row")

    def _check_negative_label(self, config: CurveConfig) -> None:
        positive, has_negatives = config.pos_label, bool(self.neg.is_positive().any())
        is_named = positive is not None and has_negatives
        require(len(self.negative_label) == is_named, "negative_label")
        for label in self.negative_label:
            require(type(label) is type(positive) and label != positive, "negative_label")
            canonical_label(label, name="negative_label")  # refuses what no batch could hold


def check_cells(lo: Column, hi: Column, pos: FixedPoint, neg: FixedPoint, scale: Scale) -> None:
    """Check cells one by one: keys of scores, ends in order, something in each."""
    shape = (len(lo),)
    require(lo.kind == hi.kind == "uint64" and len(hi) == len(lo), "the ends of the cells")
    for part, name in ((pos, "pos"), (neg, "neg")):
        check_numbers(part, shape, name)
        require(part.is_whole or part.is_positive().any(), f"{name} has fractions of nothing")
    require(are_keys(lo.values, scale), "lo holds no keys")
    require(are_keys(hi.values, scale), "hi holds no keys")
    require((lo.values <= hi.values).all(), "lo passes hi")
    require((pos.is_positive() | neg.is_positive()).all(), "an empty cell")
    several = pos.whole + neg.whole >= 2  # an example at either end weighs 1, or 2**-62
    if not (pos.is_whole and neg.is_whole):
        fractions = [part.fraction for part in (pos, neg) if part.fraction is not None]
        several = (pos.whole + neg.whole >= 1) | (np.add.reduce(fractions) >= 2)
    require(several[lo.values < hi.values].all(), "one example at two scores")


def check_settled(level: int, cells: Cells, budget: int | None) -> None:
    """Check that cells are those of a level, in order, and that the level is the least."""
    require(0 <= level <= 64, f"level {level}")
    lo, hi = prefixes(cells.lo, level), prefixes(cells.hi, level)
    require((lo == hi).all(), "a cell is wider than its level")
    in_order = lo[1:] > lo[:-1]
    if cells.group is not None:
        in_order |= cells.group[1:] != cells.group[:-1]
    require(in_order.all(), "cells are out of order")
    require(budget is None or len(cells) <= budget, "cells over budget")
    is_least = budget is not None and cells.n_cells_at(level - 1) > budget if level else True
    require(is_least, "level above the least that fits")


def _one_label(mine: tuple[Label, ...], theirs: tuple[Label, ...]) -> tuple[Label, ...]:
    if mine and theirs and mine != theirs:
        raise IncompatibleStateError(
            f"cannot merge: the negative label differs ({mine[0]!r} and {theirs[0]!r})."
        )
    return mine or theirs
