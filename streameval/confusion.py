"""Where pickles of release 0.1 look for `ConfusionAccumulator`."""

from streameval.accumulators.confusion import ConfusionAccumulator

__all__ = ["ConfusionAccumulator"]
