"""The first bytes of a state, and type ids: the numbers of the classes of accumulators in bytes."""

from __future__ import annotations

from typing import Any

MAGIC = b"\x89SEVL\r\n\x1a"
"""What the bytes of every accumulator begin with."""

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
    12: "CatalogAccumulator",
    15: "Clustered",
    16: "MeanAccumulator",
    17: "PreferencesAccumulator",
}
"""The class of each id of this library; an id is never reused."""

FIRST_OPEN_ID = 0x8000
"""Ids from here on are for user-defined classes, whose bytes also hold the name of the type."""

_MAX_NAME = 128


def is_type_name(value: Any) -> bool:
    """Return whether a value can be the name of a type: printable text of limited length."""
    return isinstance(value, str) and 0 < len(value) <= _MAX_NAME and value.isprintable()
