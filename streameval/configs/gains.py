"""What a document of some relevance is worth."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from streameval.configs.ranking import RankingConfig

Floats = npt.NDArray[np.float64]


def gains_of(relevance: Floats, config: RankingConfig) -> Floats:
    """Look up the gain of each relevance that has been checked; 0 for -inf and NaN.

    ``2**relevance - 1`` is rounded once at most: relevances are whole and at most 62 then.
    """
    if isinstance(config.gain, tuple):
        levels, gains = np.array(config.gain).T
        index = np.minimum(np.searchsorted(levels, relevance), len(levels) - 1)
        return np.where(levels[index] == relevance, gains[index], 0.0)
    positive = np.where(relevance > 0.0, relevance, 0.0)
    if config.gain == "linear":
        return positive
    return np.ldexp(1.0, positive.astype(np.int64)) - 1.0
