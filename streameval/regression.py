"""The module in which pickles of release 0.1.0 look for `RegressionAccumulator`."""

from streameval.accumulators.regression import RegressionAccumulator

__all__ = ["RegressionAccumulator"]
