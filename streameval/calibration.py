"""The module in which pickles of release 0.1.0 look for `CalibrationAccumulator`."""

from streameval.accumulators.calibration import CalibrationAccumulator

__all__ = ["CalibrationAccumulator"]
