"""Accumulators whose rows depend on each other within clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self, final

import numpy as np

from streameval.accumulators.base import Accumulator, merged
from streameval.accumulators.collection import Collection
from streameval.accumulators.grouped_batches import groups_of_clusters
from streameval.accumulators.grouping import Grouping, with_inner
from streameval.accumulators.sealed import FlatGroups, FlatLeaves
from streameval.configs.collection import CollectionConfig
from streameval.configs.inner import Inner
from streameval.configs.sliced import ClusteredConfig
from streameval.errors import InvalidInputError
from streameval.inputs.arrays import as_array, as_ids
from streameval.inputs.batches import TableBatch, arguments
from streameval.inputs.values import ValueCodes


@final
class Clustered(Grouping[ClusteredConfig], type_id=15, config=ClusteredConfig, state=FlatGroups):
    """Count rows that depend on each other within clusters: the rows of a user, or of a question.

    The numbers are those of the accumulator. The intervals are of clusters that are independent
    draws, whatever the rows of a cluster have in common; they are wider, if rows are alike.

    A fixed hash sends each cluster to one of `groups` groups, each with an accumulator. So memory
    is bounded, and the state is the same bytes however the data is cut, spread and merged.

    Parameters
    ----------
    accumulator : accumulator
        What counts the rows. It must have counted nothing, and is copied. A `Collection` counts
        several things.
    by : str
        The column that says which cluster a row belongs to, an integer or a text.
    groups : int
        The number of groups, from 10 to 1,024. More groups give a steadier interval, and cost
        memory and time.

    Notes
    -----
    **The interval** is that of the jackknife that leaves out one group at a time. With ``v`` the
    metric of all rows and ``v_g`` without group g of the G groups that have rows, the variance is

    ``(G - 1) / G * sum of (v_g - v)**2``,

    and the quantile is Student's with G - 1 degrees of freedom. A metric between two limits has
    Wilson's interval for the draws with this variance, one above 0 an interval on the log scale.
    It contains the interval of independent rows, where there is one: with few examples of a class,
    groups hardly differ, which is no evidence. Thresholds and calibration errors have none. If the
    value has certified bounds, the interval covers those at both bounds.

    Groups are left out if none of their rows counts: with fewer clusters than groups, most of the
    others hold one cluster, and intervals are wide because there are few. With one group it is the
    whole range of the metric; with fewer than twenty clusters, it may be too narrow.

    Within a `Sliced` or a `Windowed`, each slice or pane has clustered intervals. With a
    `RankingAccumulator`, all rows of a query must have one cluster, and an update must hold
    complete queries.

    Memory is that of up to `groups` accumulators: a curve may have as many cells in each. A row
    costs about 15 ns with counts and 160 ns with a curve, where the accumulator alone takes 1 and
    20 ns, and 200 ns more if ids are texts. It cannot cost much less: hashing an id takes 2.4 ns,
    and a curve in each group is exact up to its budget, for which its scores are sorted. A curve
    with ``budget=None``, which sorts too, alone takes half as long as in groups. An interval of a
    curve of 65,536 bins takes a second, and one of counts milliseconds.

    Examples
    --------
    >>> import numpy as np
    >>> import streameval as se
    >>> user = np.repeat(np.arange(200), 10)
    >>> hits = np.random.default_rng(0).beta(4, 1, 200)[user] > 0.7
    >>> acc = se.Clustered(se.ConfusionAccumulator(), by="user")
    >>> result = acc.update(hits * 0 + 1, hits, by=user).compute()
    >>> result.accuracy, [round(end, 3) for end in result.confidence("accuracy")]
    (0.73, [0.668, 0.784])
    >>> plain = acc.total().compute()
    >>> plain.accuracy, [round(end, 3) for end in plain.confidence("accuracy")]
    (0.73, [0.71, 0.749])
    """

    __slots__ = ()

    _depth = 2
    _within = (Collection,)

    def __init__(self, accumulator: Accumulator[Any, Any], by: str, groups: int = 64) -> None:
        self._configure(with_inner(locals()))

    def update(self, *arrays: Any, by: Any = None, partial: bool = False, **optional: Any) -> Self:
        """Count one batch.

        Parameters
        ----------
        *arrays
            A mapping, data frame or Arrow table with the column of the clusters and the columns
            that the accumulator reads; or the arrays of the accumulator.
        by : array of shape (n,), optional
            The clusters, unless the batch has a column of them. For rankings as dense blocks, a
            cluster for each query.
        partial : bool
            Must be False: the rows of a query cannot go on in other batches.
        **optional
            The optional arrays of the accumulator, such as `sample_weight`.

        Returns
        -------
        The accumulator itself.

        Raises
        ------
        InvalidInputError
            When a column is missing, or has the wrong shape, type or values, or a row has no
            cluster. Then nothing of the batch has been counted.
        CountOverflowError
            When the total would pass 2**63 - 1. Nothing has been counted then.
        """
        weights = optional.pop("sample_weight", None)
        if by is None and len(arrays) == 1 and not optional:
            return self._append_batch(arrays[0], weights, partial)
        given = {name: array for name, array in optional.items() if array is not None}
        batch = self._columns(arrays, by, given)
        return self._append_batch(batch, weights, partial)

    def _columns(
        self, arrays: Sequence[Any], by: Any, optional: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Name the arrays of a batch, and its clusters."""
        inner, name = self._config.accumulator, self._config.by
        names = inner.required
        unknown = [one for one in optional if one not in inner.optional]
        if unknown or not 1 <= len(arrays) <= len(names):
            raise InvalidInputError(
                f"takes {', '.join(names)} and by, and optionally {', '.join(inner.optional)}",
                argument="update",
            )
        rest = (*arrays[1:], *[None] * (len(names) - len(arrays)))
        table = TableBatch.of(arrays[0]) if len(arrays) == 1 else None
        if table is not None and table.holds(name):
            raise InvalidInputError("is in the batch and is also passed by keyword", argument=name)
        if by is None:
            raise InvalidInputError(
                f"is missing: pass the clusters, or a batch with a column {name!r}", argument="by"
            )
        given = dict.fromkeys(inner.optional) | dict(optional)
        named = arguments(arrays[0], *rest, names=names, optional=given)
        if named.get(name) is not None:
            raise InvalidInputError("is an array of its own", argument=name)
        return {key: array for key, array in named.items() if array is not None} | {name: by}

    def compute(self) -> Any:
        """Compute the result of all rows, with intervals for clusters.

        Returns
        -------
        result
            That of the accumulator. Its `confidence` and `stderr` are clustered, and so are the
            intervals of its tables, reports, JSON and gates.
        """
        from streameval.results.clusters import Clusters, clustered  # noqa: PLC0415 (rendering)

        held, options = self._held, self._config.accumulator.options
        result, table = self._all_rows(held).compute(), self._everything(held)
        if not isinstance(options, CollectionConfig):
            return clustered(result, Clusters(self._config.by, table))
        sources = [Clusters(self._config.by, table, member) for member in range(len(options.parts))]
        return result.with_member_clusters([sources[at] for at in options.part_indices])

    def add_missing(self, batch: Mapping[str, Any]) -> Self:
        """Count judged queries that are absent from the run of a `RankingAccumulator`.

        Parameters
        ----------
        batch : mapping
            Arrays of shape (n,): the ids as ``query``, the clusters, and ``query_weight`` if any.

        Returns
        -------
        The accumulator itself.

        Raises
        ------
        InvalidInputError
            When the accumulator counts no rankings, or an array is missing or of another length.
        """
        config, inner = self._config, self._config.accumulator
        if not hasattr(inner.cls, "add_missing"):
            raise InvalidInputError(
                f"is {inner.cls.__name__}, which has no queries", argument="accumulator"
            )
        table = TableBatch(batch, [*batch])
        queries = as_ids(table.column("query"), name="query")
        groups = groups_of_clusters(config, config.by, table, ValueCodes())
        weights = None
        if table.holds("query_weight"):
            weights = as_array(table.column("query_weight"), name="query_weight")
        for name, column in ((config.by, groups), ("query_weight", weights)):
            if column is not None and column.shape != queries.shape:
                raise InvalidInputError(
                    f"must have {len(queries)} rows, got {len(column)}", argument=name
                )
        if not len(queries):
            return self
        found = np.unique(groups)
        parts = []
        for group in found:
            own = groups == group
            part = inner.empty()
            of_group = None if weights is None else weights[own]
            part.add_missing(queries[own], query_weight=of_group)
            parts.append(part)
        lengths, leaves = np.array([len(found)]), FlatLeaves.of(inner, parts)
        outer = Inner(Clustered, config)
        state = FlatGroups(outer, config.values, lengths, found, leaves, merged(parts))
        return self.merge(self._make(config, state))

    @property
    def n_groups(self) -> int:
        """How many groups have rows: the number of clusters, if that is small."""
        n_groups: int = self._everything(self._held).n_groups
        return n_groups

    def _summary(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        state = self._everything(self._held)
        return self._config.settings, {
            "accumulator": (self._config.accumulator.empty(),),
            "groups": tuple(state.parts),
            "parts": tuple(part.copy() for part in state.parts.values()),
        }
