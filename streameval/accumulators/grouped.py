"""The AUC within groups, such as the users of a recommender."""

from __future__ import annotations

from typing import Any, Literal, Self, final

import attrs

from streameval.accumulators.base import Accumulator
from streameval.accumulators.scored_rows import read_grouped
from streameval.configs.grouped import GroupedConfig
from streameval.errors import InvalidInputError
from streameval.exact.fixed_point import MAX_TOTAL, FixedPoint
from streameval.results.grouped import GroupedCurves
from streameval.states.grouped import GroupedRows, GroupTables

__all__ = ["GroupedAUC"]

_WAITING_ROWS = 2**20
_WAITING_BATCHES = 4096


@attrs.frozen
class _Waiting:
    """Batches to be counted together.

    The list grows behind those in use, and an object with the new number replaces this one, so
    that a reader never sees half of an update.
    """

    batches: list[GroupedRows] = attrs.Factory(list)
    n_batches: int = 0
    n_rows: int = 0
    most: int = 0  # no less than the sum of the weights

    @property
    def used(self) -> list[GroupedRows]:
        """The batches in use."""
        return self.batches[: self.n_batches]

    def with_rows(self, rows: GroupedRows) -> _Waiting:
        """Append a batch behind those in use."""
        del self.batches[self.n_batches :]  # of an update that was interrupted
        self.batches.append(rows)
        most = self.most + rows.rows.most
        return _Waiting(self.batches, self.n_batches + 1, self.n_rows + len(rows), most)


@final
class GroupedAUC(
    Accumulator[GroupedConfig, GroupTables], type_id=5, config=GroupedConfig, state=GroupTables
):
    """Keep the scores of every group apart, and average the AUC within groups.

    GAUC asks how well a model ranks within a user, a query or a session, where comparing
    across them means nothing. Rows of a group may come in any batch and on any worker: the
    state is the same bytes however the data is cut and merged.

    Parameters
    ----------
    budget : int
        The number of cells over all groups. Each group needs one; while every distinct score
        of every group has its own, GAUC is exact, and past that it has an interval.
    scores : {"probability", "real"}
        Whether scores lie in [0, 1]. ``"real"`` takes any number, such as logits.
    group_weight : {"impressions", "uniform", "positives"}
        What a group weighs in the mean: its examples, one, or its positives.
    max_groups : int, optional
        How many groups there may be; more raise. By default as many as the budget.

    Notes
    -----
    A cell takes 32 bytes, and 48 with weights that have fractions. Rows wait in blocks of up
    to a million, which cost a sort each.

    Examples
    --------
    >>> import streameval as se
    >>> acc = se.GroupedAUC()
    >>> acc = acc.update([1, 0, 1, 0, 1], [0.9, 0.2, 0.1, 0.3, 0.7], ["a", "a", "b", "b", "c"])
    >>> result = acc.compute()
    >>> result.gauc, result.coverage
    (0.5, 0.8)
    >>> result.per_group()["roc_auc"]
    array([ 1.,  0., nan])
    """

    __slots__ = ()

    _arrays = ("y_true", "y_score", "group")

    # a state and the batches that are not in it yet; both are replaced as one
    _held: tuple[GroupTables, _Waiting]

    def __init__(
        self,
        budget: int = 2**22,
        *,
        scores: Literal["probability", "real"] = "probability",
        group_weight: Literal["impressions", "uniform", "positives"] = "impressions",
        max_groups: int | None = None,
    ) -> None:
        super().__init__(
            GroupedConfig.of(
                budget=budget, scores=scores, group_weight=group_weight, max_groups=max_groups
            )
        )

    def update(
        self, y_true: Any, y_score: Any = None, group: Any = None, *, sample_weight: Any = None
    ) -> Self:
        """Count one batch.

        Parameters
        ----------
        y_true : array of shape (n,)
            The true labels, 0 and 1 or bool. Alone, a batch: a tuple or list of the arrays in
            this order, or a mapping, data frame or Arrow table with columns of these names.
        y_score : array of shape (n,)
            The scores; higher means more likely positive.
        group : array of shape (n,)
            The group of each row: integers or strings, not both.
        sample_weight : array of shape (n,), optional
            Non-negative weights: 2 counts a row twice, 0 leaves it out.

        Returns
        -------
        The accumulator itself.

        Raises
        ------
        InvalidInputError
            When an array has the wrong shape, type or values, or there would be too many
            groups. Nothing of the batch has been counted then.
        CountOverflowError
            When the total would pass 2**63 - 1. Nothing has been counted then.
        """
        given = self._named(y_true, y_score, group, optional=(sample_weight,))
        rows = read_grouped(**given, config=self._config)
        return self._count(rows) if len(rows) else self

    def compute(self) -> GroupedCurves:
        """Compute the AUC of each group and their mean.

        Returns
        -------
        GroupedCurves
            Frozen: later updates do not change it.
        """
        return GroupedCurves(self._state, self._config)

    @property
    def _state(self) -> GroupTables:
        state, waiting = self._held
        return self._sum(state, GroupTables.of(waiting.used)) if waiting.n_rows else state

    @_state.setter
    def _state(self, state: GroupTables) -> None:
        self._held = state, _Waiting()

    @property
    def _total(self) -> FixedPoint:
        state, waiting = self._held
        return sum((rows.rows.n for rows in waiting.used), start=state.n)

    def _sum(self, a: GroupTables, b: GroupTables) -> GroupTables:
        return (a + b).fitted(self._config)

    def _count(self, rows: GroupedRows) -> Self:
        state, waiting = self._held
        self._check_type(rows)
        if not self._can_wait(rows, state, waiting):
            state, waiting = self._state, _Waiting()
        if self._can_wait(rows, state, waiting):
            self._held = state, waiting.with_rows(rows)
        else:
            self._state = self._sum(state, GroupTables.of([rows]))
        return self

    def _check_type(self, rows: GroupedRows) -> None:
        """Refuse groups of another type than those before."""
        state, waiting = self._held
        earlier = waiting.batches[0].groups if waiting.n_rows else state.groups.values
        if len(earlier) and earlier.dtype != rows.groups.dtype:
            held, given = "strings", "numbers"
            if earlier.dtype != object:
                held, given = given, held
            raise InvalidInputError(f"must hold {held} as before, got {given}", argument="group")

    def _can_wait(self, rows: GroupedRows, state: GroupTables, waiting: _Waiting) -> bool:
        """Tell whether a batch can wait, so that counting it later cannot fail."""
        n_rows = waiting.n_rows + len(rows)
        return (
            n_rows <= _WAITING_ROWS
            and waiting.n_batches < _WAITING_BATCHES
            and n_rows + len(state.groups) <= self._config.most_groups
            and waiting.most + rows.rows.most < MAX_TOTAL - int(state.n.whole)
        )
