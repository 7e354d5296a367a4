"""Score tables: the cells of one curve or of one for each class."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Self, final

import attrs
import numpy as np

from streameval.configs.curve import CurveConfig
from streameval.errors import IncompatibleStateError, require
from streameval.exact import Scale
from streameval.exact.array_types import Ints, Mask, Scores
from streameval.exact.fixed_point import FixedPoint
from streameval.exact.score_keys import Keys, are_keys, scores_of
from streameval.inputs.classes import Label, canonical_label
from streameval.states.cells import Cells
from streameval.states.column import Column
from streameval.states.runs import stable_order
from streameval.states.stack import Stack, StackableState, SummableState, are_same
from streameval.states.state import BudgetedState, check_numbers
from streameval.states.tables import (
    LeveledCells,
    columns_of,
    counted_tables,
    joined_each,
    joined_tables_of_states,
    shifted,
    tables_of,
)

_MAX_LEVEL = 64
_MANY = 2.0**62
_ROUNDING = 2.0**-40  # far above the rounding error of a sum over curves


@attrs.frozen(eq=False, repr=False)
class ScoredRows:
    """Rows that have been read: a score and a class for each curve.

    Parameters
    ----------
    scores : array of floats, shape (K, n)
        Without NaN, unless there are gaps.
    scale : {"probability", "real"}
        What the scores are.
    positive : bool array, shape (K, n)
        Whether the row is a positive of each curve.
    weights : FixedPoint, shape (n,) or (n, K), optional
        Above zero, of rows; or of entries, 0 where one does not count.
    has_gaps : bool
        Whether a row may count for some curves only: its score is NaN for the others.
    has_pairs : bool
        Whether each class also has a curve against each other class.
    """

    scores: Scores
    scale: Scale
    positive: Mask
    weights: FixedPoint | None = None
    has_gaps: bool = False
    has_pairs: bool = False

    def __len__(self) -> int:
        """Return the number of rows that count."""
        return int(self.scores.shape[1])

    @property
    def n(self) -> FixedPoint:
        """The sum of the weights."""
        if self.weights is None:
            return FixedPoint(np.array(len(self), dtype=np.int64))
        return self.weights.by_row().total()

    def curves(self) -> Iterator[tuple[Scores, Mask, FixedPoint | None]]:
        """Yield the scores, classes and weights of the rows that count for each curve."""
        for curve, (scores, positive) in enumerate(zip(self.scores, self.positive, strict=True)):
            weights = self.weights
            if weights is not None and len(weights.shape) > 1:
                weights = weights[:, curve]
            known = ~np.isnan(scores) if self.has_gaps else None
            if known is None or known.all():
                yield scores, positive, weights
            else:
                kept = None if weights is None else weights[known]
                yield scores[known], positive[known], kept
        if self.has_pairs:
            yield from self._pairs()

    def _pairs(self) -> Iterator[tuple[Scores, Mask, FixedPoint | None]]:
        """Yield the rows of each ordered pair of classes, with the scores of the first."""
        of_class = [np.flatnonzero(positive) for positive in self.positive]
        for first, second in itertools.permutations(range(len(of_class)), 2):
            rows = np.concatenate([of_class[first], of_class[second]])
            weights = None if self.weights is None else self.weights[rows]
            yield self.scores[first, rows], self.positive[first, rows], weights


@final
@attrs.frozen(repr=False)
class ScoreTables(BudgetedState, StackableState, SummableState):
    """The cells of K curves, one after the other.

    Parameters
    ----------
    n : FixedPoint, shape ()
        The sum of the weights.
    skipped : FixedPoint, shape ()
        The weight of the rows left out for a score that is NaN.
    negative_label : tuple of labels
        The label of the negatives, if it was requested and observed.
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
        """Return tables without cells."""
        nothing = FixedPoint.zeros(())
        return cls._of(nothing, nothing, (), [(0, Cells.none())] * config.n_curves)

    @classmethod
    def _of(
        cls,
        n: FixedPoint,
        skipped: FixedPoint,
        negative_label: tuple[Label, ...],
        tables: Iterable[LeveledCells],
    ) -> Self:
        levels, sizes, cells = columns_of(tables)
        ends = Column(cells.lo), Column(cells.hi)
        return cls(n, skipped, negative_label, levels, sizes, *ends, cells.pos, cells.neg)

    def tables(self) -> Iterator[LeveledCells]:
        """Yield the level and the cells of each curve."""
        every = Cells(self.lo.values, self.hi.values, self.pos, self.neg)
        return tables_of(self.levels, self.sizes, every)

    def joined(self, other: Self, budget: int | None) -> Self:
        """Join the cells of each curve, and keep the budget."""
        return self._of(
            self.n + other.n,
            self.skipped + other.skipped,
            _one_label(self.negative_label, other.negative_label),
            joined_each(self.tables(), other.tables(), budget),
        )

    def noting(self, skipped: FixedPoint | None, negative_label: tuple[Label, ...]) -> Self:
        """Count the rows that a batch left out, and remember the label of its negatives."""
        if skipped is None and negative_label in ((), self.negative_label):
            return self
        return attrs.evolve(
            self,
            skipped=self.skipped if skipped is None else self.skipped + skipped,
            negative_label=_one_label(self.negative_label, negative_label),
        )

    def with_rows(self, rows: ScoredRows, budget: int | None) -> Self:
        """Count the rows of a batch after `noting` it, and keep the budget of each curve."""
        tables = (
            cells.with_rows_within(scores, rows.scale, positive, weights, level, budget)
            for (level, cells), (scores, positive, weights) in zip(
                self.tables(), rows.curves(), strict=True
            )
        )
        return self._of(self.n + rows.n, self.skipped, self.negative_label, tables)

    def to_rows(self, scale: Scale, limit: int) -> ScoredRows | None:
        """List the rows that this state counts; None if they exceed `limit` or are unknown.

        They are known while every cell is one score and no weight has a fraction. A curve that
        counts fewer rows has NaN scores after its own.
        """
        if not (self.n.is_whole and self.n.whole <= limit) or self.levels.values.any():
            return None
        shape = len(self.levels.values), int(self.n.whole)
        scores, positive = np.full(shape, np.nan), np.zeros(shape, dtype=bool)
        for curve, (_, cells) in enumerate(self.tables()):
            keys, classes = cells.to_rows()
            scores[curve, : len(keys)] = scores_of(keys, scale)
            positive[curve, : len(keys)] = classes
        return ScoredRows(scores, scale, positive, has_gaps=bool(np.isnan(scores).any()))

    @classmethod
    def sum_all(
        cls, config: CurveConfig, fields: Mapping[str, Stack], sizes: Ints
    ) -> dict[str, Stack]:
        """Join the cells of runs of states, and keep the budget of each curve."""
        n_curves = config.n_curves
        lo, hi, pos, neg = (fields[name] for name in ("lo", "hi", "pos", "neg"))
        cells = Cells(lo.items, hi.items, pos.items, neg.items)
        n_cells, levels = (fields[name].items for name in ("sizes", "levels"))
        levels, n_cells, cells = joined_tables_of_states(
            cells, n_cells, levels, sizes, n_curves, config.budget
        )
        starts = np.cumsum(sizes) - sizes
        has_fraction = [np.logical_or.reduceat(part.has_fraction, starts) for part in (pos, neg)]
        return {
            "n": fields["n"].summed(sizes),
            "skipped": fields["skipped"].summed(sizes),
            "negative_label": _one_label_of_runs(fields["negative_label"], starts),
        } | _stacks_of_tables(n_curves, levels, n_cells, cells, *has_fraction)

    @classmethod
    def of_groups(
        cls, config: CurveConfig, rows: ScoredRows, groups: Ints, n_groups: int
    ) -> dict[str, Stack]:
        """Count the rows of many groups, whose weights are whole, and return the fields.

        Parameters
        ----------
        config : CurveConfig
        rows : ScoredRows
        groups : int64 array, shape (n,)
            The group of each row.
        n_groups : int
            How many groups there are.
        """
        ordered = _ordered_rows(rows, groups, n_groups)
        levels, n_cells, cells = counted_tables(*ordered, rows.scale, config.budget)
        n = FixedPoint(np.bincount(groups, minlength=n_groups))
        if rows.weights is not None:
            n = rows.weights.scatter(groups, n_groups)
        return {
            "n": Stack.of_numbers(n, ()),
            "skipped": Stack.of_numbers(FixedPoint.zeros(n_groups), ()),
            "negative_label": Stack(((),), np.zeros(n_groups, dtype=np.intp)),
        } | _stacks_of_tables(config.n_curves, levels, n_cells, cells)

    @classmethod
    def check_all(cls, config: CurveConfig, fields: Mapping[str, Stack]) -> None:
        """Check the cells, and that each curve holds every row, or for multilabel its entries."""
        n = fields["n"].checked_total()
        skipped = fields["skipped"].numbers((), "skipped")
        is_counted = skipped.is_positive() | ~fields["skipped"].has_fraction
        require(is_counted.all(), "skipped has fractions of nothing")
        require(config.nan == "skip" or not skipped.is_positive().any(), "skipped rows")
        levels, sizes = (
            fields[name].column(config.n_curves, "int64", name) for name in ("levels", "sizes")
        )
        lo, hi, pos, neg = (fields[name] for name in ("lo", "hi", "pos", "neg"))
        cells = lo.lengths
        within = (sizes >= 0).all() and (sizes <= cells[:, None]).all()
        require(within and sizes.sum(dtype=np.float64) < _MANY, "sizes outside the cells")
        require(np.array_equal(sizes.sum(axis=1), cells), "sizes of other cells")
        check_cells(lo, hi, pos, neg, config.scores)
        _check_negative_labels(fields["negative_label"], neg, config)
        has_fraction = pos.has_fraction | neg.has_fraction
        same = np.array_equal(has_fraction, fields["n"].has_fraction)
        require(same, "n differs from the cells in its fraction")
        check_canonical(levels.ravel(), sizes.ravel(), lo.items, hi.items, config.budget)
        totals = [part.items.run_totals(sizes.ravel()) for part in (pos, neg)]
        positives, negatives = (total.reshape(*sizes.shape) for total in totals)
        if config.has_pairs:
            positives, negatives = _without_pairs(positives, negatives, config.n_scores)
        of_curves = positives + negatives
        if config.multilabel:  # entries may be ignored, or have weights of their own
            within = ((n[:, None] - of_curves).whole >= 0).all()
            near = of_curves.near_floats().sum(axis=1) >= n.near_floats() * (1.0 - _ROUNDING)
            require(within and near.all(), "n differs from the cells of its rows")
        else:
            require(are_same(of_curves, n[:, None]), "n differs from the sum of the cells")
        one_class_a_row = config.classes is not None and not config.multilabel
        rows = positives.totals() if one_class_a_row else n
        require(are_same(rows, n), "positives of a row")


def _ordered_rows(
    rows: ScoredRows, groups: Ints, n_groups: int
) -> tuple[Scores, Mask, FixedPoint | None, Ints]:
    """Sort the scores by group and curve; return what `counted_tables` takes of them."""
    n_curves, n_rows = rows.scores.shape
    scores, tables, n_tables = rows.scores.ravel(), groups, n_groups * n_curves
    if n_curves > 1:
        tables = (groups * n_curves + np.arange(n_curves)[:, None]).ravel()
    order = stable_order(tables, n_tables)
    if rows.has_gaps:
        order = order[~np.isnan(scores[order])]
        tables = tables[order]
    weights = None if rows.weights is None else rows.weights[order % n_rows]
    sizes = np.bincount(tables, minlength=n_tables)
    return scores[order], rows.positive.ravel()[order], weights, sizes


def _without_pairs(
    positives: FixedPoint, negatives: FixedPoint, n_classes: int
) -> tuple[FixedPoint, FixedPoint]:
    """Check that the curve of a pair holds the positives of both; return the totals of the others.

    Both have shape (S, K * K), of S states.
    """
    first, second = zip(*itertools.permutations(range(n_classes), 2), strict=True)
    own = positives[:, :n_classes]
    for found, of in ((positives, first), (negatives, second)):
        same = are_same(found[:, n_classes:], own[:, list(of)])
        require(same, "the curve of a pair differs from those of its classes")
    return own, negatives[:, :n_classes]


def _check_negative_labels(labels: Stack, neg: Stack, config: CurveConfig) -> None:
    positive = config.pos_label
    if positive is None:
        require(not any(labels.forms), "negative_label")
        return
    is_negative = neg.items.is_positive().astype(np.int64)
    is_named = FixedPoint(is_negative).run_totals(neg.lengths).is_positive()
    counts = np.array([len(form) for form in labels.forms])[labels.codes]
    require(np.array_equal(counts, is_named), "negative_label")
    for label in itertools.chain.from_iterable(labels.forms):
        require(type(label) is type(positive) and label != positive, "negative_label")
        canonical_label(label, name="negative_label")  # refuses states that no batch could produce


def check_cells(lo: Stack, hi: Stack, pos: Stack, neg: Stack, scale: Scale) -> None:
    """Check cells one by one: keys of scores, ends in order, something in each."""
    lengths = lo.lengths
    is_key = all(form[0] == "uint64" for form in (*lo.forms, *hi.forms))
    require(is_key and np.array_equal(hi.lengths, lengths), "the ends of the cells")
    for part, name in ((pos, "pos"), (neg, "neg")):
        fits = all(len(form[1]) == 1 for form in part.forms)
        fits = fits and np.array_equal(part.lengths, lengths)
        require(fits, f"{name} has shape other than that of the cells")
        check_numbers(part.items, part.items.shape, name)
        is_split = part.has_fraction
        if is_split.any():
            held = FixedPoint(part.items.is_positive().astype(np.int64)).run_totals(lengths)
            require(held.is_positive()[is_split].all(), f"{name} has fractions of nothing")
    require(are_keys(lo.items, scale), "lo holds no keys")
    require(are_keys(hi.items, scale), "hi holds no keys")
    require((lo.items <= hi.items).all(), "lo passes hi")
    pos_items, neg_items = pos.items, neg.items
    require((pos_items.is_positive() | neg_items.is_positive()).all(), "an empty cell")
    several = pos_items.whole + neg_items.whole >= 2  # each end weighs at least 1, or 2**-62
    is_split = pos.has_fraction | neg.has_fraction
    if is_split.any():
        parts = [part.fraction for part in (pos_items, neg_items) if part.fraction is not None]
        fine = (pos_items.whole + neg_items.whole >= 1) | (np.add.reduce(parts) >= 2)
        several = np.where(np.repeat(is_split, lengths), fine, several)
    require(several[lo.items < hi.items].all(), "one example at two scores")


def check_weighted_cells(
    levels: Ints, sizes: Ints, lo: Column, hi: Column, weight: FixedPoint, budget: int | None
) -> None:
    """Check the cells of tables of numbers without classes; there may be no table."""
    nothing = FixedPoint.zeros(len(lo))
    check_cells(Stack.of(lo), Stack.of(hi), Stack.of(weight), Stack.of(nothing), "real")
    if not len(levels):
        require(not len(lo), "cells without a sketch")
        return
    check_canonical(levels, sizes, lo.values, hi.values, budget)


def check_canonical(
    levels: Ints, sizes: Ints, lo: Keys, hi: Keys, budget: int | None, group: Ints | None = None
) -> None:
    """Check that cells lie at one level, in order, and that the level is the lowest.

    Parameters
    ----------
    levels, sizes : int64 arrays, shape (T,)
        The level and the number of cells of each table.
    lo, hi : uint64 arrays, shape (m,)
        The ends of the cells, table after table.
    budget : int or None
        How many cells a table may have.
    group : int64 array, shape (m,), optional
        The group of each cell; cells are in order within each.
    """
    outside = levels[(levels < 0) | (levels > _MAX_LEVEL)]
    require(not len(outside), f"level {outside[:1].sum()}")
    starts = np.cumsum(sizes) - sizes
    is_first = np.zeros(len(lo) + 1, dtype=bool)
    is_first[starts] = True  # an empty table starts where the next one starts
    if group is not None:
        is_first[1:-1] |= group[1:] != group[:-1]
    low, high = shifted(lo, levels, sizes), shifted(hi, levels, sizes)
    require(np.array_equal(low, high), "a cell is wider than its level")
    require(((low[1:] > low[:-1]) | is_first[1:-1]).all(), "cells are out of order")
    if budget is None:
        require(not levels.any(), "level above the lowest that fits")
        return
    require((sizes <= budget).all(), "cells over budget")
    raised = np.flatnonzero(levels)
    if len(raised):
        below = np.maximum(levels - 1, 0)
        is_split = shifted(lo, below, sizes) != shifted(hi, below, sizes)
        n_cells = sizes + FixedPoint(is_split.astype(np.int64)).run_totals(sizes).whole
        require((n_cells[raised] > budget).all(), "level above the lowest that fits")


def _one_label(mine: tuple[Label, ...], theirs: tuple[Label, ...]) -> tuple[Label, ...]:
    if mine and theirs and mine != theirs:
        raise IncompatibleStateError(
            f"cannot merge: the negative label differs ({mine[0]!r} and {theirs[0]!r})."
        )
    return mine or theirs


def _one_label_of_runs(labels: Stack, starts: Ints) -> Stack:
    """Find the label of each run of states that begins at `starts`; labels must agree in a run."""
    if not any(labels.forms):
        return Stack(((),), np.zeros(len(starts), dtype=np.intp))
    forms = [labels.forms[code] for code in labels.codes.tolist()]
    edges = itertools.pairwise([*starts.tolist(), len(forms)])
    found = tuple(functools.reduce(_one_label, forms[start:end]) for start, end in edges)
    return Stack(found, np.arange(len(found)))


def _stacks_of_tables(
    n_curves: int,
    levels: Ints,
    n_cells: Ints,
    cells: Cells,
    pos_has_fraction: Mask | None = None,
    neg_has_fraction: Mask | None = None,
) -> dict[str, Stack]:
    """Stack the cells of states, each with the tables of several curves."""
    lengths = n_cells.reshape(-1, n_curves).sum(axis=1)
    of_curves = np.full(len(lengths), n_curves)
    return {
        "levels": Stack.of_vectors(levels, of_curves),
        "sizes": Stack.of_vectors(n_cells, of_curves),
        "lo": Stack.of_vectors(cells.lo, lengths),
        "hi": Stack.of_vectors(cells.hi, lengths),
        "pos": Stack.of_vectors(cells.pos, lengths, pos_has_fraction),
        "neg": Stack.of_vectors(cells.neg, lengths, neg_has_fraction),
    }
