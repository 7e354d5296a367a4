"""The classes of the kinds whose numbers bytes carry, but for collections, which hold these."""

from typing import Any

from streameval.accumulator import Accumulator
from streameval.calibration import CalibrationAccumulator
from streameval.confusion import ConfusionAccumulator
from streameval.curve import PRCurveSketch
from streameval.grouped import GroupedAUC
from streameval.ranking import RankingAccumulator
from streameval.regression import RegressionAccumulator

__all__ = ["SINGLE_KINDS"]

SINGLE_KINDS: dict[int, type[Accumulator[Any, Any]]] = {
    kind.kind: kind
    for kind in (
        ConfusionAccumulator,
        RegressionAccumulator,
        PRCurveSketch,
        CalibrationAccumulator,
        GroupedAUC,
        RankingAccumulator,
    )
}
