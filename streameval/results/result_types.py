"""The types of results, in the order in which they are shown."""

from __future__ import annotations

from streameval.results.calibration import Calibration
from streameval.results.catalog import Catalog
from streameval.results.class_curves import ClassCurves
from streameval.results.collection import CollectionResult
from streameval.results.confusion import Confusion
from streameval.results.curve import Curve
from streameval.results.grouped import GroupedCurves
from streameval.results.paired import PairedResult
from streameval.results.preferences import Preferences
from streameval.results.ranking import Ranking
from streameval.results.regression import Regression
from streameval.results.regression_outputs import RegressionOutputs
from streameval.results.result import Result
from streameval.results.sliced import SlicedResult
from streameval.results.summary import Summary
from streameval.results.windowed import WindowedResult

RESULTS: tuple[type[Result], ...] = (
    Confusion,
    Curve,
    ClassCurves,
    GroupedCurves,
    Calibration,
    Ranking,
    Regression,
    RegressionOutputs,
    PairedResult,
    Catalog,
    Preferences,
    Summary,
    CollectionResult,
    SlicedResult,
    WindowedResult,
)

WITH_TABLES = tuple(result for result in RESULTS if result is not RegressionOutputs)
"""The types with their own table of metrics; outputs share the table of a single output."""
