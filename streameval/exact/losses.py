"""The losses of probabilities, row by row: the same bits on every CPU."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from streameval.exact.log import log, log1p

__all__ = ["EPSILON", "clip_probabilities", "log_losses"]

Floats = npt.NDArray[np.float64]

EPSILON = 2.0**-52


def clip_probabilities(probability: Floats) -> Floats:
    """Clip probabilities to [eps, 1 - eps], so that each has a finite log loss."""
    return np.clip(probability, EPSILON, 1.0 - EPSILON)


def log_losses(is_positive: npt.NDArray[np.bool_], kept: Floats) -> Floats:
    """Compute -log(probability of the true class) from clipped probabilities of the positive."""
    loss = np.empty(len(kept))
    loss[is_positive] = -log(kept[is_positive])
    loss[~is_positive] = -log1p(-kept[~is_positive])
    return loss
