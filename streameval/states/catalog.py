"""How often each item of a catalog was recommended."""

from __future__ import annotations

from typing import Self, final

import attrs
import numpy as np

from streameval.configs.values import CatalogConfig
from streameval.errors import IncompatibleStateError, InvalidInputError, Named, require
from streameval.exact.array_types import Array, Floats, Ints
from streameval.exact.cell_sums import single_sum
from streameval.exact.exact_sum import ExactSum
from streameval.exact.fixed_point import FixedPoint, total_weight, weight_by_cell
from streameval.exact.log import log
from streameval.inputs.labels import union
from streameval.states.column import Column
from streameval.states.state import LimitedState, check_numbers, check_total

_MAX_INFORMATION = 745  # -log of the smallest positive number is below


@final
@attrs.frozen
class Exposures(LimitedState):
    """The exposures of every item that was recommended.

    Parameters
    ----------
    n : FixedPoint, shape ()
        The sum of the weights of the recommendations.
    items : Column of int64 or text, shape (m,)
        The items with any weight, sorted.
    exposures : FixedPoint, shape (m,)
        The weight of the recommendations of each.
    information, popularity : ExactSum
        If requested: the sums of -log(p) and of p over the recommendations, where p is the
        popularity of the item.
    """

    items: Column
    exposures: FixedPoint
    information: ExactSum
    popularity: ExactSum

    @classmethod
    def zero(cls, config: CatalogConfig) -> Self:  # noqa: ARG003 - one signature for all
        """Hold no item."""
        none = np.zeros(0, dtype=np.int64)
        nothing = ExactSum()
        return cls(FixedPoint.zeros(()), Column(none), FixedPoint.zeros(0), nothing, nothing)

    @classmethod
    def of(
        cls, items: Array, index: Ints, weights: FixedPoint | None, popularity: Floats | None
    ) -> Self:
        """Count recommendations.

        Parameters
        ----------
        items : int64 or object array, shape (m,)
            Sorted.
        index : int64 array, shape (n,)
            The index among them of the item of each row.
        weights : FixedPoint, shape (n,), optional
            1 for every row by default.
        popularity : float64 array, shape (n,), optional
            In (0, 1].
        """
        n, exposures = total_weight(weights, len(index)), weight_by_cell(weights, index, len(items))
        sums = ExactSum(), ExactSum()
        if popularity is not None:
            sums = single_sum([-log(popularity)], weights), single_sum([popularity], weights)
        return cls(n, Column(items), exposures, *sums)

    def __add__(self, other: Self) -> Self:
        """Add the exposures of each item; `fitted` keeps the limit."""
        if not len(self.items):
            return other
        if not len(other.items):
            return self
        if self.items.kind != other.items.kind:
            raise IncompatibleStateError(
                "cannot merge: `item` holds strings in one and numbers in the other."
            )
        n = self.n + other.n
        items, mine, theirs = union(self.items.values, other.items.values)
        both = FixedPoint.concatenate([self.exposures, other.exposures])
        return type(self)(
            n,
            Column(items),
            both.scatter(np.concatenate([mine, theirs]), len(items)),
            self.information + other.information,
            self.popularity + other.popularity,
        )

    def fitted(self, config: CatalogConfig) -> Self:
        """Refuse more items than the catalog has."""
        if len(self.items) > config.n_items:
            raise InvalidInputError(
                f"would bring the number of items to {len(self.items)}, past ",
                Named("n_items", f"{config.n_items}"),
                argument="item",
            )
        return self

    def check(self, config: CatalogConfig) -> None:
        """Check the items, and that their exposures add up to the total."""
        check_total(self.n)
        items, exposures = self.items, self.exposures
        require(items.kind in ("int64", "text"), "items")
        is_usual = items.kind == "int64" and self.n.is_whole
        require(len(items) or is_usual, "no items have no text and no fraction")
        require((items.values[1:] > items.values[:-1]).all(), "items are out of order")
        require(len(items) <= config.n_items, "more items than there may be")
        check_numbers(exposures, (len(items),), "exposures")
        require(exposures.is_positive().all(), "items without exposure")
        require(exposures.is_whole == self.n.is_whole, "n differs from exposures in its fraction")
        total = self.n.to_fraction()
        require(exposures.total().to_fraction() == total, "n differs from the sum of exposures")
        self._check_popularity(config)

    def _check_popularity(self, config: CatalogConfig) -> None:
        information, popularity = self.information.units, self.popularity.units
        if not config.popularity or not len(self.items):
            require(not information and not popularity, "popularity that was not asked for")
            return
        total = self.n.to_fraction()  # a fraction of the smallest float may be 0
        require(0 <= self.popularity.to_fraction() <= total, "popularity is out of range")
        within = 0 <= self.information.to_fraction() <= _MAX_INFORMATION * total
        require(within, "information is out of range")
