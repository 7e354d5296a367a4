"""A reliability diagram as arrays: what was predicted, and what happened."""

from __future__ import annotations

import attrs
import numpy as np
import numpy.typing as npt

from streameval.metrics.calibration import reliability_curve
from streameval.metrics.points import CellTable
from streameval.states.calibration import CalibrationSums, bin_places

__all__ = ["Reliability"]

Floats = npt.NDArray[np.float64]

_BINS = 15


@attrs.frozen(eq=False)
class Reliability:
    """Predictions and labels by bin of the prediction.

    Parameters
    ----------
    predicted, observed, weight : array, shape (occupied,)
        The mean prediction, the mean label and the examples of each bin that holds any.
    share : float64 array, shape (B,)
        How much of all examples each bin holds.
    """

    predicted: Floats
    observed: Floats
    weight: npt.NDArray[np.int64] | Floats
    share: Floats

    @property
    def edges(self) -> Floats:
        """The ends of the bins, shape (B + 1,)."""
        bins = len(self.share)
        return np.arange(bins + 1) / bins

    @classmethod
    def of_table(cls, table: CellTable) -> Reliability:
        """Read scores that are probabilities, a cell as its middle."""
        middle = (table.lo + table.hi) / 2
        pos = table.pos.near_floats()
        weight = pos + table.neg.near_floats()
        bins = bin_places(middle, _BINS)
        total, positive, score = (
            np.bincount(bins, weights=part, minlength=_BINS)
            for part in (weight, pos, weight * middle)
        )
        held = total > 0
        return cls(
            predicted=score[held] / total[held],
            observed=positive[held] / total[held],
            weight=total[held],
            share=total / (total.sum() or 1.0),
        )

    @classmethod
    def of_sums(cls, sums: CalibrationSums) -> Reliability:
        """Read the sums of each bin."""
        predicted, observed, weight = reliability_curve(sums.prediction, sums.hits, sums.weight)
        every = sums.weight.to_floats()
        return cls(predicted, observed, weight, every / max(every.sum(), 1e-300))
