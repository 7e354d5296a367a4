"""Where pickles of release 0.1 look for `PRCurveSketch`."""

from streameval.accumulators.curve import PRCurveSketch

__all__ = ["PRCurveSketch"]
