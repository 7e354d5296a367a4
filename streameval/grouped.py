"""The module in which pickles of release 0.1.0 look for `GroupedAUC`."""

from streameval.accumulators.grouped import GroupedAUC

__all__ = ["GroupedAUC"]
