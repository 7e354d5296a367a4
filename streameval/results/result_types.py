"""The types of results, in the order in which they are shown."""

from __future__ import annotations

from streameval.results.calibration import Calibration
from streameval.results.class_curves import ClassCurves
from streameval.results.collection import CollectionResult
from streameval.results.confusion import Confusion
from streameval.results.curve import Curve
from streameval.results.grouped import GroupedCurves
from streameval.results.paired import PairedResult
from streameval.results.ranking import Ranking
from streameval.results.regression import Regression
from streameval.results.result import Result
from streameval.results.sliced import SlicedResult

__all__ = ["RESULTS"]

RESULTS: tuple[type[Result], ...] = (
    Confusion,
    Curve,
    ClassCurves,
    GroupedCurves,
    Calibration,
    Ranking,
    Regression,
    PairedResult,
    CollectionResult,
    SlicedResult,
)
