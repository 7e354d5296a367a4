"""Streaming metric accumulators: exact, mergeable evaluation over unbounded data.

Every accumulator has ``update(batch)``, ``compute()`` and ``merge(*others)``. However the data
is cut into batches, spread over workers and merged, the state is the same bytes and the
numbers are the same floats.

>>> import streameval as se
>>> acc = se.ConfusionAccumulator()
>>> acc.update([1, 0, 1], [0.9, 0.4, 0.2])
ConfusionAccumulator(n=3)
>>> acc.compute().recall()
0.5
"""

from importlib.metadata import version

from streameval.accumulator import from_bytes, merge
from streameval.calibration import CalibrationAccumulator
from streameval.checkpoint import load, save
from streameval.confusion import ConfusionAccumulator
from streameval.curve import PRCurveSketch
from streameval.errors import (
    CorruptStateError,
    CountOverflowError,
    IncompatibleStateError,
    InvalidInputError,
    StreamevalError,
    UnsupportedVersionError,
)
from streameval.grouped import GroupedAUC
from streameval.metrics.bounded import Bounded
from streameval.regression import RegressionAccumulator
from streameval.results.calibration import Calibration
from streameval.results.class_curves import ClassCurves
from streameval.results.confusion import Confusion
from streameval.results.curve import Curve
from streameval.results.grouped import GroupedCurves
from streameval.results.regression import Regression

__all__ = [
    "Bounded",
    "Calibration",
    "CalibrationAccumulator",
    "ClassCurves",
    "Confusion",
    "ConfusionAccumulator",
    "CorruptStateError",
    "CountOverflowError",
    "Curve",
    "GroupedAUC",
    "GroupedCurves",
    "IncompatibleStateError",
    "InvalidInputError",
    "PRCurveSketch",
    "Regression",
    "RegressionAccumulator",
    "StreamevalError",
    "UnsupportedVersionError",
    "from_bytes",
    "load",
    "merge",
    "save",
]

__version__ = version("streameval")
