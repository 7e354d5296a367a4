"""The classes by type id or name, except those that hold other accumulators.

A class is imported when it is used, or its bytes are read: most programs need one or two classes.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from streameval.accumulators.base import Accumulator
from streameval.accumulators.definition import open_class
from streameval.errors import require
from streameval.states.type_ids import FIRST_OPEN_ID, OWN_TYPES

if TYPE_CHECKING:
    from streameval.states.codec import EncodedParts

SINGLE_IDS = frozenset({1, 2, 3, 4, 5, 6, 10, 12, 16, 17})


def single_class(parts: EncodedParts) -> type[Accumulator[Any, Any]]:
    """Find the class of bytes without inner accumulators."""
    is_own = parts.type_id in SINGLE_IDS
    require(is_own or parts.type_id >= FIRST_OPEN_ID, f"a {parts.type_name} where it cannot be")
    return own_class(OWN_TYPES[parts.type_id]) if is_own else open_class(parts)


@cache
def own_class(name: str) -> type[Accumulator[Any, Any]]:
    """Import one of the classes of this library that hold no other accumulators."""
    home: Any
    match name:
        case "CalibrationAccumulator":
            import streameval.accumulators.calibration as home
        case "CatalogAccumulator":
            import streameval.accumulators.catalog as home
        case "ConfusionAccumulator":
            import streameval.accumulators.confusion as home
        case "GroupedAUC":
            import streameval.accumulators.grouped as home
        case "MeanAccumulator":
            import streameval.accumulators.mean as home
        case "PRCurveSketch":
            import streameval.accumulators.curve as home
        case "Paired":
            import streameval.accumulators.paired as home
        case "PreferencesAccumulator":
            import streameval.accumulators.preferences as home
        case "RankingAccumulator":
            import streameval.accumulators.ranking as home
        case _:
            import streameval.accumulators.regression as home
    own: type[Accumulator[Any, Any]] = getattr(home, name)
    return own
