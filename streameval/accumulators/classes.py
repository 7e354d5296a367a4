"""The class of each type id, except those that hold other accumulators.

A class is imported when its bytes are read: most programs read one or two classes.
"""

from functools import cache
from typing import Any

from streameval.accumulators.base import Accumulator
from streameval.accumulators.definition import open_class
from streameval.errors import require
from streameval.states.codec import EncodedParts
from streameval.states.type_ids import FIRST_OPEN_ID

SINGLE_IDS = frozenset({1, 2, 3, 4, 5, 6, 10, 12, 16, 17})


def single_class(parts: EncodedParts) -> type[Accumulator[Any, Any]]:
    """Find the class of bytes without inner accumulators."""
    is_own = parts.type_id in SINGLE_IDS
    require(is_own or parts.type_id >= FIRST_OPEN_ID, f"a {parts.type_name} where it cannot be")
    return own_class(parts.type_id) if is_own else open_class(parts)


@cache
def own_class(type_id: int) -> type[Accumulator[Any, Any]]:
    """Import one of the classes of this library that hold no other accumulators."""
    own: type[Accumulator[Any, Any]]
    match type_id:
        case 1:
            from streameval.accumulators.confusion import ConfusionAccumulator

            own = ConfusionAccumulator
        case 2:
            from streameval.accumulators.regression import RegressionAccumulator

            own = RegressionAccumulator
        case 3:
            from streameval.accumulators.curve import PRCurveSketch

            own = PRCurveSketch
        case 4:
            from streameval.accumulators.calibration import CalibrationAccumulator

            own = CalibrationAccumulator
        case 5:
            from streameval.accumulators.grouped import GroupedAUC

            own = GroupedAUC
        case 6:
            from streameval.accumulators.ranking import RankingAccumulator

            own = RankingAccumulator
        case 10:
            from streameval.accumulators.paired import Paired

            own = Paired
        case 16:
            from streameval.accumulators.mean import MeanAccumulator

            own = MeanAccumulator
        case 17:
            from streameval.accumulators.preferences import PreferencesAccumulator

            own = PreferencesAccumulator
        case _:
            from streameval.accumulators.catalog import CatalogAccumulator

            own = CatalogAccumulator
    return own
