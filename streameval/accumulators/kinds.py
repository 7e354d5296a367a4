"""The classes of the kinds whose numbers bytes carry, but for collections, which hold these."""

from typing import Any

from streameval.accumulators.base import Accumulator
from streameval.accumulators.calibration import CalibrationAccumulator
from streameval.accumulators.confusion import ConfusionAccumulator
from streameval.accumulators.curve import PRCurveSketch
from streameval.accumulators.grouped import GroupedAUC
from streameval.accumulators.ranking import RankingAccumulator
from streameval.accumulators.regression import RegressionAccumulator

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
