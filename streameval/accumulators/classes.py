"""The class of each type id, except that of collections, which hold the others."""

from typing import Any

from streameval.accumulators.base import Accumulator
from streameval.accumulators.calibration import CalibrationAccumulator
from streameval.accumulators.confusion import ConfusionAccumulator
from streameval.accumulators.curve import PRCurveSketch
from streameval.accumulators.grouped import GroupedAUC
from streameval.accumulators.paired import Paired
from streameval.accumulators.ranking import RankingAccumulator
from streameval.accumulators.registry import open_class
from streameval.accumulators.regression import RegressionAccumulator
from streameval.errors import require
from streameval.states.codec import Parts
from streameval.states.type_ids import FIRST_OPEN_ID

__all__ = ["SINGLE_CLASSES", "single_class"]

SINGLE_CLASSES: dict[int, type[Accumulator[Any, Any]]] = {
    own.type_id: own
    for own in (
        ConfusionAccumulator,
        RegressionAccumulator,
        PRCurveSketch,
        CalibrationAccumulator,
        GroupedAUC,
        RankingAccumulator,
        Paired,
    )
}


def single_class(parts: Parts) -> type[Accumulator[Any, Any]]:
    """Find the class of bytes that hold no other accumulators."""
    is_single = parts.type_id in SINGLE_CLASSES or parts.type_id >= FIRST_OPEN_ID
    require(is_single, f"a {parts.type_name} where it cannot be")
    return SINGLE_CLASSES.get(parts.type_id) or open_class(parts)
