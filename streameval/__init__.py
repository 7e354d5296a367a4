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
from typing import TYPE_CHECKING, Any

from streameval.accumulator import from_bytes, merge
from streameval.calibration import CalibrationAccumulator
from streameval.checkpoint import load, save
from streameval.collection import Collection
from streameval.confusion import ConfusionAccumulator
from streameval.curve import PRCurveSketch
from streameval.errors import (
    BadDataError,
    CorruptStateError,
    CountOverflowError,
    IncompatibleStateError,
    InvalidInputError,
    StreamevalError,
    UnsupportedVersionError,
)
from streameval.grouped import GroupedAUC
from streameval.metrics.bounded import Bounded
from streameval.ranking import RankingAccumulator
from streameval.regression import RegressionAccumulator
from streameval.results.calibration import Calibration
from streameval.results.class_curves import ClassCurves
from streameval.results.collection import CollectionResult
from streameval.results.comparison import Comparison, Difference, compare
from streameval.results.confusion import Confusion
from streameval.results.curve import Curve
from streameval.results.grouped import GroupedCurves
from streameval.results.ranking import Ranking
from streameval.results.regression import Regression

if TYPE_CHECKING:
    from streameval import io as io
    from streameval import reports as reports

__all__ = [
    "BadDataError",
    "Bounded",
    "Calibration",
    "CalibrationAccumulator",
    "ClassCurves",
    "Collection",
    "CollectionResult",
    "Comparison",
    "Confusion",
    "ConfusionAccumulator",
    "CorruptStateError",
    "CountOverflowError",
    "Curve",
    "Difference",
    "GroupedAUC",
    "GroupedCurves",
    "IncompatibleStateError",
    "InvalidInputError",
    "PRCurveSketch",
    "Ranking",
    "RankingAccumulator",
    "Regression",
    "RegressionAccumulator",
    "StreamevalError",
    "UnsupportedVersionError",
    "compare",
    "from_bytes",
    "load",
    "merge",
    "save",
]

__version__ = version("streameval")

if not TYPE_CHECKING:  # pragma: no branch (to a type checker it would have any attribute)

    def __getattr__(name: str) -> Any:
        """Import what most programs do not use when it is first used."""
        if name == "io":
            import streameval.io  # noqa: PLC0415

            return streameval.io
        if name == "reports":
            import streameval.reports  # noqa: PLC0415

            return streameval.reports
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), "io", "reports"})
