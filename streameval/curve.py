"""The module in which pickles of release 0.1.0 look for `PRCurveSketch`."""

from streameval.accumulators.curve import PRCurveSketch

__all__ = ["PRCurveSketch"]
