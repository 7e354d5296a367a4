"""The module in which pickles of release 0.1.0 look for `RankingAccumulator`."""

from streameval.accumulators.ranking import RankingAccumulator

__all__ = ["RankingAccumulator"]
