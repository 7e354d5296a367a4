"""Score tables of many groups: one list of cells for all, at one level."""

from __future__ import annotations

from typing import Self, final

import attrs
import numpy as np

from streameval.configs.curve import GroupedConfig
from streameval.errors import IncompatibleStateError, InvalidInputError, Named, require
from streameval.exact.array_types import Array, Ints
from streameval.exact.fixed_point import FixedPoint
from streameval.exact.score_keys import keys_of
from streameval.inputs.labels import union
from streameval.states.cells import Cells
from streameval.states.column import Column
from streameval.states.curve import ScoredRows, check_canonical, check_cells
from streameval.states.stack import Stack
from streameval.states.state import LimitedState, check_total


@final
@attrs.frozen
class GroupTables(LimitedState):
    """The cells of every group, group after group.

    Parameters
    ----------
    n : FixedPoint, shape ()
        The sum of the weights.
    level : Column of int64, shape (1,)
        How many low bits the keys in a cell may differ in.
    groups : Column of int64 or text, shape (G,)
        The groups with any weight, sorted.
    sizes : Column of int64, shape (G,)
        The number of cells of each.
    lo, hi : Column of uint64, shape (m,)
        The ends of all cells.
    pos, neg : FixedPoint, shape (m,)
        The weights in them.
    """

    level: Column
    groups: Column
    sizes: Column
    lo: Column
    hi: Column = attrs.field(metadata={"above": "lo"})
    pos: FixedPoint
    neg: FixedPoint

    @classmethod
    def zero(cls, config: GroupedConfig) -> Self:  # noqa: ARG003 - one signature for all
        """Return tables without groups."""
        return cls._of(FixedPoint.zeros(()), 0, np.zeros(0, dtype=np.int64), Cells.none())

    @classmethod
    def of(cls, groups: Array, index: Ints, rows: ScoredRows) -> Self:
        """Count rows at the finest level; `fitted` keeps the budget.

        Parameters
        ----------
        groups : int64 or object array, shape (G,)
            Sorted.
        index : int64 array, shape (n,)
            The index among them of the group of each row.
        rows : ScoredRows
            The rows of one curve.
        """
        cells = Cells.of_rows(
            keys_of(rows.scores[0], rows.scale), rows.positive[0], rows.weights, 0, index
        )
        return cls._of(rows.n, 0, groups, cells)

    @classmethod
    def _of(cls, n: FixedPoint, level: int, groups: Array, cells: Cells) -> Self:
        of_cell = np.zeros(0, dtype=np.int64) if cells.group is None else cells.group
        return cls(
            n,
            Column(np.array([level], dtype=np.int64)),
            Column(groups),
            Column(np.bincount(of_cell, minlength=len(groups)).astype(np.int64, copy=False)),
            Column(cells.lo),
            Column(cells.hi),
            cells.pos,
            cells.neg,
        )

    def cells(self, index: Ints | None = None) -> Cells:
        """List the cells, each with the index of its group, mapped by `index` if given."""
        own = np.arange(len(self.groups)) if index is None else index
        of_cell = np.repeat(own, self.sizes.values)
        return Cells(self.lo.values, self.hi.values, self.pos, self.neg, of_cell)

    def __add__(self, other: Self) -> Self:
        """Join the cells of each group; `fitted` keeps the budget."""
        if not len(self.groups):
            return other
        if not len(other.groups):
            return self
        if self.groups.kind != other.groups.kind:
            raise IncompatibleStateError(
                "cannot merge: `group` holds strings in one and numbers in the other."
            )
        groups, mine, theirs = union(self.groups.values, other.groups.values)
        level = max(int(self.level.values[0]), int(other.level.values[0]))
        cells = self.cells(mine).joined(other.cells(theirs), level)
        return self._of(self.n + other.n, level, groups, cells)

    def fitted(self, config: GroupedConfig) -> Self:
        """Raise the level to the lowest that fits the budget; too many groups raise."""
        n_groups = len(self.groups)
        if n_groups > config.group_limit:
            limit: tuple[object, ...] = (Named("max_groups", f"{config.max_groups}"),)
            if config.group_limit != config.max_groups:
                limit = (Named("budget", f"{config.budget}"), ", and each needs a cell")
            raise InvalidInputError(
                f"would bring the number of groups to {n_groups}, past ", *limit, argument="group"
            )
        if len(self.lo) <= config.budget:
            return self
        level, cells = self.cells().fitted(config.budget, int(self.level.values[0]))
        return self._of(self.n, level, self.groups.values, cells)

    def check(self, config: GroupedConfig) -> None:
        """Check the groups, their cells, and that these add up to the total."""
        check_total(self.n)
        require(self.level.kind == "int64" and len(self.level) == 1, "level")
        self._check_groups(config)
        lo, hi, pos, neg = map(Stack.of, (self.lo, self.hi, self.pos, self.neg))
        check_cells(lo, hi, pos, neg, config.scores)
        cells, size = self.cells(), np.array([len(self.lo)])
        check_canonical(self.level.values, size, cells.lo, cells.hi, config.budget, cells.group)
        has_fraction = not (self.pos.is_whole and self.neg.is_whole)
        require(has_fraction != self.n.is_whole, "n differs from the cells in its fraction")
        total = self.pos.total().to_fraction() + self.neg.total().to_fraction()
        require(total == self.n.to_fraction(), "n differs from the sum of the cells")

    def _check_groups(self, config: GroupedConfig) -> None:
        groups, sizes = self.groups, self.sizes
        require(groups.kind in ("int64", "text"), "groups")
        require(len(groups) or groups.kind == "int64", "ids of no groups must be int64")
        require((groups.values[1:] > groups.values[:-1]).all(), "groups are out of order")
        require(len(groups) <= config.group_limit, "more groups than there may be")
        require(sizes.kind == "int64" and len(sizes) == len(groups), "sizes")
        within = ((sizes.values >= 1) & (sizes.values <= len(self.lo))).all()
        require(within and sum(sizes.values.tolist()) == len(self.lo), "sizes of other cells")
