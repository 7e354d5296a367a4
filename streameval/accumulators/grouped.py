"""The AUC within groups, such as the users of a recommender."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Literal, Self, final

import numpy as np

from streameval.accumulators.base import BufferedAccumulator
from streameval.accumulators.pending import (
    BufferedState,
    RowBuffer,
    Rows,
    check_ids,
    coded_ids,
    distinct_ids,
)
from streameval.accumulators.scored_rows import read_batch, score_of_each
from streameval.configs.curve import CurveConfig, GroupedConfig
from streameval.exact import Scale
from streameval.inputs.arrays import (
    are_empty,
    as_array,
    as_ids,
    as_labels_or_scores,
    check_vector,
)
from streameval.inputs.row_scores import are_pairs
from streameval.states.curve import ScoredRows
from streameval.states.grouped import GroupTables

if TYPE_CHECKING:
    from streameval.results.grouped import GroupedCurves

_CAPACITY = 2**20


@final
class GroupedAUC(
    BufferedAccumulator[GroupedConfig, GroupTables],
    type_id=5,
    config=GroupedConfig,
    state=GroupTables,
):
    """Keep the scores of each group separate, and average the AUC within groups.

    GAUC measures how well a model ranks within a user, a query or a session, if comparing across
    them means nothing. Rows of a group may come in any batch and on any worker: the state is the
    same bytes however the data is cut and merged.

    Parameters
    ----------
    budget : int
        The number of bins over all groups. Each group needs one; while every distinct score
        of every group has its own, GAUC is exact; beyond that it has an interval.
    scores : {"probability", "real"}
        Whether scores lie in [0, 1]. ``"real"`` takes any number, such as logits.
    group_weight : {"impressions", "uniform", "positives"}
        The weight of a group in the mean: its examples, one, or its positives.
    max_groups : int, optional
        The max number of groups; more raise an error. By default the budget.

    Notes
    -----
    A cell takes 32 bytes, or 48 with fractional weights. Up to a million rows are pending until
    they are counted together, which costs a sort.

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

    def __init__(
        self,
        budget: int = 2**22,
        *,
        scores: Literal["probability", "real"] = "probability",
        group_weight: Literal["impressions", "uniform", "positives"] = "impressions",
        max_groups: int | None = None,
    ) -> None:
        self._configure(locals())

    def update(
        self, y_true: Any, y_score: Any = None, group: Any = None, *, sample_weight: Any = None
    ) -> Self:
        """Count one batch: the truth first, as in scikit-learn; torchmetrics takes it second.

        Parameters
        ----------
        y_true : array of shape (n,)
            The true labels, 0 and 1 or bool. Alone, a batch: a tuple or list of the arrays in
            this order, or a mapping, data frame or Arrow table with columns of these names.
        y_score : array of shape (n,)
            The scores; higher means more likely positive.
        group : array of shape (n,)
            The group of each row: integers or strings, not both. If an integer is past 64 bits, all
            are read as texts.
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
        return self._take_batch(y_true, y_score, group, optional=(sample_weight,))

    def compute(self) -> GroupedCurves:
        """Compute the AUC of each group and their mean.

        Returns
        -------
        GroupedCurves
            Frozen: later updates do not change it.
        """
        from streameval.results.grouped import GroupedCurves  # noqa: PLC0415 (rendering too)

        return GroupedCurves(self._state, self._config)

    def _count_arrays(self, /, **arrays: Any) -> Self:
        rows = _read(**arrays, config=self._config, known=self._held)
        check_ids(self._held, self._held.state.groups, rows, name="group")
        return self._append(rows)

    def _with_rows(self, state: GroupTables, rows: Rows) -> GroupTables:
        scores, positive, codes = rows.columns
        groups, index = distinct_ids(codes, rows.dictionary, name="group")
        scored = ScoredRows(scores[None], self._config.scores, positive[None], rows.fixed_weights)
        return self._sum(state, GroupTables.of(groups, index, scored))

    def _block(self, state: GroupTables, rows: Rows) -> RowBuffer:
        # as if each row had its own group, so that counting them cannot exceed the limit
        return RowBuffer.like(rows, min(_CAPACITY, self._config.group_limit - len(state.groups)))


def _read(
    y_true: Any,
    y_score: Any,
    group: Any,
    sample_weight: Any,
    config: GroupedConfig,
    known: BufferedState[GroupTables],
) -> Rows:
    """Read one batch of examples in groups, all of it or nothing.

    The third column is the group of each row: a number, or the code of its text.

    Raises
    ------
    InvalidInputError
        When an array has the wrong shape, type or values.
    """
    labels = as_labels_or_scores(y_true, name="y_true")
    given = as_array(y_score, name="y_score")
    if are_pairs(given):
        given = score_of_each(y_score, given, config)
    groups = as_ids(group, name="group")
    if are_empty(groups):
        groups = np.zeros(0, dtype=np.int64)
    rows = read_batch(labels, given, sample_weight, _one_curve(config.scores), hint=()).rows
    check_vector(groups, rows=rows.size, name="group")
    codes, dictionary = coded_ids(groups, known, name="group")
    columns = *(column[:, 0] for column in rows.columns), codes
    return Rows(columns, rows.weights, dictionary)


@functools.cache
def _one_curve(scale: Scale) -> CurveConfig:
    """Make the options under which a row of a group is read."""
    return CurveConfig.of(budget=None, scores=scale)
