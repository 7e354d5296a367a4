"""Type ids: the numbers by which bytes say what class of accumulator they hold."""

from __future__ import annotations

from typing import Any

__all__ = ["FIRST_OPEN_ID", "OWN_TYPES", "is_type_name"]

OWN_TYPES = {
    1: "ConfusionAccumulator",
    2: "RegressionAccumulator",
    3: "PRCurveSketch",
    4: "CalibrationAccumulator",
    5: "GroupedAUC",
    6: "RankingAccumulator",
    7: "Collection",
    8: "Sliced",
    9: "Windowed",
    10: "Paired",
    11: "Parts",
}
"""The class that each id of this library belongs to; an id is never given twice."""

FIRST_OPEN_ID = 0x8000
"""From here on, ids are for classes of others, whose bytes carry the name of the type too."""

_MAX_NAME = 128


def is_type_name(value: Any) -> bool:
    """Tell whether a value can be the name of a type: printable text, not too long to show."""
    return isinstance(value, str) and 0 < len(value) <= _MAX_NAME and value.isprintable()
