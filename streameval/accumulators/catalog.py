"""How recommendations use a catalog: coverage, Gini, entropy, novelty."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, final

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
from streameval.configs.values import CatalogConfig
from streameval.errors import InvalidInputError, Named
from streameval.exact.array_types import Array, Mask
from streameval.inputs.arrays import (
    are_empty,
    as_array,
    as_ids,
    as_labels,
    as_numbers,
    check_shape_of,
    read_weights,
    refuse_first,
    shape_text,
)
from streameval.inputs.labels import among
from streameval.states.catalog import Exposures

if TYPE_CHECKING:
    from streameval.results.values import Catalog


_CAPACITY = 2**16


@final
class CatalogAccumulator(
    BufferedAccumulator[CatalogConfig, Exposures],
    type_id=12,
    config=CatalogConfig,
    state=Exposures,
):
    """Count how often a recommender shows each item of a catalog, batch by batch.

    A row is a recommendation: an item and its rank in the list of a user. Rows may come in any
    batch and on any worker. Every number is exact.

    Parameters
    ----------
    n_items : int
        The number of items of the catalog; more distinct ones raise an error.
    k : int or None
        How many ranks of each list count; None counts every row.
    popularity : bool
        Whether rows have the popularity of the item, for novelty and average_popularity.

    Notes
    -----
    The state has an entry for each item that was recommended, so its size is at most proportional
    to `n_items`: some 16 bytes an item, and the text of its id.

    Examples
    --------
    The best two items for each of three users, of a catalog of five:

    >>> import streameval as se
    >>> acc = se.CatalogAccumulator(5, k=2)
    >>> result = acc.update([["a", "b"], ["a", "c"], ["a", "b"]]).compute()
    >>> result.coverage, round(result.gini, 4), round(result.entropy, 4)
    (0.6, 0.5333, 1.4591)

    Rows have a rank, and the share of users who know the item if novelty is asked for:

    >>> acc = se.CatalogAccumulator(5, k=2, popularity=True)
    >>> acc = acc.update([7, 8, 9], rank=[1, 2, 3], popularity=[0.5, 0.125, 0.25])
    >>> acc.n, acc.compute().novelty, acc.compute().average_popularity
    (2, 2.0, 0.3125)
    """

    __slots__ = ()

    _arrays = ("item",)
    _optional_arrays = ("rank", "popularity", "sample_weight")

    def __init__(self, n_items: int, k: int | None = 10, *, popularity: bool = False) -> None:
        self._configure(locals())

    def update(
        self,
        item: Any,
        *,
        rank: Any = None,
        popularity: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Count one batch of recommendations.

        Parameters
        ----------
        item : array of shape (n,), or (n, m) for lists of m items, the best first
            The items: integers or strings, not both. Alone, a batch: a mapping, data frame or
            Arrow table with columns of this name and those below.
        rank : array of the same shape, optional
            The rank in the list, from 1 on; rows past `k` do not count. Lists have ranks of their
            own.
        popularity : array of the same shape, optional
            The share of the users, or of the interactions, that each item has in the training
            data, in (0, 1]; required with ``popularity=True``, and refused without.
        sample_weight : array of shape (n,), optional
            Non-negative weights of rows or lists: 2 counts one twice, 0 leaves it out.

        Returns
        -------
        The accumulator itself.

        Raises
        ------
        InvalidInputError
            When an array has the wrong shape, type or values, or there would be too many items.
            Nothing of the batch has been counted then.
        CountOverflowError
            When the total would pass 2**63 - 1. Nothing has been counted then.
        """
        return self._take_batch(item, optional=(rank, popularity, sample_weight))

    def compute(self) -> Catalog:
        """Compute the metrics.

        Returns
        -------
        Catalog
            Frozen: later updates do not change it.
        """
        from streameval.results.values import Catalog  # noqa: PLC0415 (rendering too)

        return Catalog(self._state, self._config)

    def _count_arrays(self, /, **arrays: Any) -> Self:
        held = self._held
        rows = _read(**arrays, config=self._config, known=held)
        check_ids(held, held.state.items, rows, name="item")
        if held.block.capacity > self._left(held.state) and not _are_known(rows, held.state):
            self._state = self._with_rows(self._state, rows)
            return self
        return self._append(rows)

    def _with_rows(self, state: Exposures, rows: Rows) -> Exposures:
        codes, *popularity = rows.columns
        items, index = distinct_ids(codes, rows.dictionary, name="item")
        counted = Exposures.of(items, index, rows.fixed_weights, *(popularity or (None,)))
        return self._sum(state, counted)

    def _block(self, state: Exposures, rows: Rows) -> RowBuffer:
        # as if each row had an item of its own, so that counting them cannot exceed n_items; a
        # block that is larger takes known items alone
        left = self._left(state)
        fits = left >= _CAPACITY or _are_known(rows, state)
        return RowBuffer.like(rows, _CAPACITY if fits else left)

    def _left(self, state: Exposures) -> int:
        """Return how many more items there may be."""
        return self._config.n_items - len(state.items)


def _are_known(rows: Rows, state: Exposures) -> bool:
    """Tell whether all items of a batch have been counted."""
    items, _ = distinct_ids(rows.columns[0], rows.dictionary, name="item")
    return bool(among(items, state.items.values).all())


def _read(
    item: Any,
    rank: Any,
    popularity: Any,
    sample_weight: Any,
    config: CatalogConfig,
    known: BufferedState[Exposures],
) -> Rows:
    """Read one batch, all of it or nothing."""
    items = as_ids(item, name="item")
    if are_empty(items):
        for name, value in (("rank", rank), ("popularity", popularity)):
            array = items if value is None else as_array(value, name=name)
            if array.size:
                check_shape_of(array, items.shape, "item", name=name)
        read_weights(sample_weight, rows=0)
        return Rows((np.zeros(0, dtype=np.int64),))
    if items.ndim not in (1, 2):
        raise InvalidInputError(
            f"must have shape (n,) or (n, m), got {shape_text(items)}", argument="item"
        )
    weights: Array | None = read_weights(sample_weight, rows=len(items))
    counts = _in_the_top(items, rank, config)
    if weights is not None and items.ndim == 2:
        weights = np.repeat(weights, items.shape[1])
    rows = Rows((items.ravel(), *_popularities(popularity, items, config)), weights)
    rows = rows if counts.all() else rows.taken(counts)
    shown, *others = rows.columns
    codes, dictionary = coded_ids(shown, known, name="item")
    return Rows((codes, *others), rows.weights, dictionary)


def _in_the_top(items: Array, rank: Any, config: CatalogConfig) -> Mask:
    """Tell which rows have a rank that counts."""
    if rank is not None:
        ranks = as_labels(rank, name="rank")
        if ranks.dtype == object:
            raise InvalidInputError("must hold numbers, got strings", argument="rank")
        check_shape_of(ranks, items.shape, "item", name="rank")
        refuse_first(ranks < 1, ranks, "rank", "must be at least 1")
    elif items.ndim == 2:
        ranks = np.broadcast_to(np.arange(1, items.shape[1] + 1), items.shape)
    elif config.k is None:
        return np.ones(len(items), dtype=bool)
    else:
        raise InvalidInputError(
            "is missing: ",
            Named("k", f"{config.k}"),
            " needs the rank of each row",
            argument="rank",
            remedy=("Pass lists, or ", Named("k", "None"), " if every row counts."),
        )
    return np.ones(items.size, dtype=bool) if config.k is None else ranks.ravel() <= config.k


def _popularities(value: Any, items: Array, config: CatalogConfig) -> list[Array]:
    """Read the popularity of the items, if it is requested."""
    if not config.popularity:
        if value is not None:
            raise InvalidInputError(
                "is given, but not counted",
                argument="popularity",
                remedy=("Make the accumulator with ", Named("popularity", "True"), "."),
            )
        return []
    if value is None:
        raise InvalidInputError(
            "is missing: ", Named("popularity", "True"), " asks for it", argument="popularity"
        )
    shares = as_numbers(value, name="popularity")
    check_shape_of(shares, items.shape, "item", name="popularity")
    refuse_first((shares <= 0.0) | (shares > 1.0), shares, "popularity", "must lie in (0, 1]")
    return [shares.ravel()]
