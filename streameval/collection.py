"""The module in which pickles of release 0.1.0 look for `Collection`."""

from streameval.accumulators.collection import Collection

__all__ = ["Collection"]
