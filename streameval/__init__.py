"""Streaming metric accumulators: exact, mergeable evaluation over unbounded data.

Every accumulator has ``update(batch)``, ``compute()`` and ``merge(*others)``. The state is the same
bytes, and the numbers are the same floats, however you split the data into batches, spread it over
workers and merge it.

>>> import streameval as se
>>> acc = se.ConfusionAccumulator()
>>> acc.update([1, 0, 1], [0.9, 0.4, 0.2])
ConfusionAccumulator(n=3)
>>> acc.compute().recall()
0.5
"""

import sys
from typing import TYPE_CHECKING, Any

from streameval.errors import (
    BadDataError,
    CorruptStateError,
    CountOverflowError,
    IncompatibleStateError,
    InvalidInputError,
    StreamevalError,
    UnavailableError,
    UnknownTypeError,
    UnsupportedVersionError,
)
from streameval.version import __version__ as __version__

if TYPE_CHECKING:
    from streameval import io as io
    from streameval import reports as reports
    from streameval.accumulators.base import Accumulator
    from streameval.accumulators.calibration import CalibrationAccumulator
    from streameval.accumulators.catalog import CatalogAccumulator
    from streameval.accumulators.clustered import Clustered
    from streameval.accumulators.collection import Collection
    from streameval.accumulators.confusion import ConfusionAccumulator
    from streameval.accumulators.curve import PRCurveSketch
    from streameval.accumulators.evidence import evidence
    from streameval.accumulators.grouped import GroupedAUC
    from streameval.accumulators.mean import MeanAccumulator
    from streameval.accumulators.paired import Paired
    from streameval.accumulators.parts import Parts, merge
    from streameval.accumulators.persistence import from_bytes, load, save
    from streameval.accumulators.preferences import PreferencesAccumulator
    from streameval.accumulators.ranking import RankingAccumulator
    from streameval.accumulators.regression import RegressionAccumulator
    from streameval.accumulators.sliced import Sliced
    from streameval.accumulators.windowed import Windowed
    from streameval.metrics.bounded import Bounded
    from streameval.monitoring.files import Tail
    from streameval.monitoring.folders import Folder
    from streameval.monitoring.kafka import Kafka
    from streameval.monitoring.monitor import Monitor
    from streameval.monitoring.redis_stream import RedisStream
    from streameval.results.calibration import Calibration
    from streameval.results.class_curves import ClassCurves
    from streameval.results.collection import CollectionResult
    from streameval.results.comparison import Comparison, Difference, compare
    from streameval.results.confusion import Confusion
    from streameval.results.curve import Curve
    from streameval.results.evidence import Evidence
    from streameval.results.grouped import GroupedCurves
    from streameval.results.models import MeasureComparison, ModelComparison, ModelDifference
    from streameval.results.paired import PairedResult
    from streameval.results.preferences import Preferences
    from streameval.results.ranking import Ranking
    from streameval.results.regression import Regression
    from streameval.results.regression_outputs import RegressionOutputs
    from streameval.results.sliced import SlicedResult
    from streameval.results.tables import table
    from streameval.results.values import Catalog, Summary
    from streameval.results.windowed import WindowedResult

__all__ = [
    "Accumulator",
    "BadDataError",
    "Bounded",
    "Calibration",
    "CalibrationAccumulator",
    "Catalog",
    "CatalogAccumulator",
    "ClassCurves",
    "Clustered",
    "Collection",
    "CollectionResult",
    "Comparison",
    "Confusion",
    "ConfusionAccumulator",
    "CorruptStateError",
    "CountOverflowError",
    "Curve",
    "Difference",
    "Evidence",
    "Folder",
    "GroupedAUC",
    "GroupedCurves",
    "IncompatibleStateError",
    "InvalidInputError",
    "Kafka",
    "MeanAccumulator",
    "MeasureComparison",
    "ModelComparison",
    "ModelDifference",
    "Monitor",
    "PRCurveSketch",
    "Paired",
    "PairedResult",
    "Parts",
    "Preferences",
    "PreferencesAccumulator",
    "Ranking",
    "RankingAccumulator",
    "RedisStream",
    "Regression",
    "RegressionAccumulator",
    "RegressionOutputs",
    "Sliced",
    "SlicedResult",
    "StreamevalError",
    "Summary",
    "Tail",
    "UnavailableError",
    "UnknownTypeError",
    "UnsupportedVersionError",
    "Windowed",
    "WindowedResult",
    "compare",
    "evidence",
    "from_bytes",
    "load",
    "merge",
    "save",
    "table",
]

# Pickles of version 0.1.0 look for the accumulators in these modules.
_FORMER = ("calibration", "collection", "confusion", "curve", "grouped", "ranking", "regression")
sys.modules.update(dict.fromkeys([f"{__name__}.{name}" for name in _FORMER], sys.modules[__name__]))

if not TYPE_CHECKING:  # pragma: no branch (hidden from type checkers)
    _SINGLE = (
        *("CalibrationAccumulator", "CatalogAccumulator", "ConfusionAccumulator", "GroupedAUC"),
        *("MeanAccumulator", "PRCurveSketch", "Paired", "PreferencesAccumulator"),
        *("RankingAccumulator", "RegressionAccumulator"),
    )

    def __getattr__(name: str) -> Any:
        """Import a name when it is first used, so that a program loads only what it needs."""
        if name in ("io", "reports"):
            return _home(name)
        if name in _SINGLE:
            from streameval.accumulators.classes import own_class

            value = own_class(name)
        elif name in __all__:
            value = getattr(_home(name), name)
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted([*__all__, "__version__", "io", "reports"])

    def _home(name: str) -> Any:
        """Import the module in which a public name is defined."""
        match name:
            case "io":
                import streameval.io as home
            case "reports":
                import streameval.reports as home
            case "Accumulator":
                import streameval.accumulators.base as home
            case "Parts" | "merge":
                import streameval.accumulators.parts as home
            case "from_bytes" | "load" | "save":
                import streameval.accumulators.persistence as home
            case "Clustered":
                import streameval.accumulators.clustered as home
            case "Collection":
                import streameval.accumulators.collection as home
            case "evidence":
                import streameval.accumulators.evidence as home
            case "Bounded":
                import streameval.metrics.bounded as home
            case "Sliced":
                import streameval.accumulators.sliced as home
            case "Windowed":
                import streameval.accumulators.windowed as home
            case "Folder" | "Kafka" | "Monitor" | "RedisStream" | "Tail":
                home = _home_in_monitoring(name)
            case _:
                home = _home_of_result(name)
        return home

    def _home_in_monitoring(name: str) -> Any:
        """Import the module in which the monitor or a source is defined."""
        match name:
            case "Kafka":
                import streameval.monitoring.kafka as home
            case "RedisStream":
                import streameval.monitoring.redis_stream as home
            case "Monitor":
                import streameval.monitoring.monitor as home
            case "Tail":
                import streameval.monitoring.files as home
            case _:
                import streameval.monitoring.folders as home
        return home

    def _home_of_result(name: str) -> Any:
        """Import the module in which the class of a result is defined."""
        match name:
            case "Calibration":
                import streameval.results.calibration as home
            case "ClassCurves":
                import streameval.results.class_curves as home
            case "CollectionResult":
                import streameval.results.collection as home
            case "Comparison" | "Difference" | "compare":
                import streameval.results.comparison as home
            case "Confusion":
                import streameval.results.confusion as home
            case "Curve":
                import streameval.results.curve as home
            case "Evidence":
                import streameval.results.evidence as home
            case "GroupedCurves":
                import streameval.results.grouped as home
            case "MeasureComparison" | "ModelComparison" | "ModelDifference":
                import streameval.results.models as home
            case "PairedResult":
                import streameval.results.paired as home
            case "Preferences":
                import streameval.results.preferences as home
            case "Ranking":
                import streameval.results.ranking as home
            case "Regression":
                import streameval.results.regression as home
            case "RegressionOutputs":
                import streameval.results.regression_outputs as home
            case "SlicedResult":
                import streameval.results.sliced as home
            case "Catalog" | "Summary":
                import streameval.results.values as home
            case "WindowedResult":
                import streameval.results.windowed as home
            case _:  # `table`, the last name
                import streameval.results.tables as home
        return home
