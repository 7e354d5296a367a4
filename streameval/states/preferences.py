"""Wins and ties of models that were compared in pairs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, final

import attrs
import numpy as np

from streameval.configs.values import PreferencesConfig
from streameval.errors import require
from streameval.exact.array_types import Floats, Ints
from streameval.exact.fixed_point import FixedPoint
from streameval.exact.weight_sums import WeightArray, weights_by_cell
from streameval.states.stack import Stack, StackableState, SummableState, are_same


def cells_of(a: Ints, b: Ints, outcome: Floats, k: int) -> Ints:
    """Find the cell of each comparison: of the wins (winner, loser), or behind them of the ties.

    The models of a tie are in ascending order.
    """
    winner, loser = np.where(outcome == 0, b, a), np.where(outcome == 0, a, b)
    tied = k * k + np.minimum(a, b) * k + np.maximum(a, b)
    return np.where(outcome == 0.5, tied, winner * k + loser)


@final
@attrs.frozen
class PreferenceCounts(StackableState, SummableState):
    """Weights of comparisons by winner and loser, and of ties by pair.

    Parameters
    ----------
    n : FixedPoint, shape ()
        The sum of the weights.
    wins : FixedPoint, shape (K, K)
        Rows are winners, columns losers.
    ties : FixedPoint, shape (K, K)
        Above the diagonal.
    """

    wins: FixedPoint
    ties: FixedPoint

    @classmethod
    def zero(cls, config: PreferencesConfig) -> Self:
        """Return empty counts."""
        k = config.n_models
        return cls(FixedPoint.zeros(()), FixedPoint.zeros((k, k)), FixedPoint.zeros((k, k)))

    @classmethod
    def of(cls, cells: Ints, weights: WeightArray | None, config: PreferencesConfig) -> Self:
        """Count comparisons, given by their cells."""
        k = config.n_models
        if weights is None:
            counted = FixedPoint(np.bincount(cells, minlength=2 * k * k))
        else:
            counted = weights_by_cell(weights, cells, 2 * k * k)
        both = counted.reshape(2, k, k)
        return cls(counted.total(), both[0], both[1])

    @classmethod
    def check_all(cls, config: PreferencesConfig, fields: Mapping[str, Stack]) -> None:
        """Check shapes and ranges, that no model meets itself, and that the cells add up."""
        k = config.n_models
        n = fields["n"].checked_total()
        wins, of_wins = fields["wins"].rows((k, k), "wins")
        ties, of_ties = fields["ties"].rows((k, k), "ties")
        require(are_same(of_wins + of_ties, n), "wins and ties do not add up to n")
        for name in ("wins", "ties"):
            is_same = fields[name].fractions_are(np.equal, fields["n"])
            require(is_same, f"{name} differs from n in its fraction")
        pairs: Any = ~np.eye(k, dtype=bool)
        for cells, allowed in ((wins, pairs), (ties, np.triu(pairs))):
            elsewhere = cells.is_positive() & ~allowed.ravel()
            require(not elsewhere.any(), "a pair of models that cannot be")
