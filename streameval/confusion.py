"""The module in which pickles of release 0.1.0 look for `ConfusionAccumulator`."""

from streameval.accumulators.confusion import ConfusionAccumulator

__all__ = ["ConfusionAccumulator"]
