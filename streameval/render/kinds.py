"""Which section shows a result, and which results are shown side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from streameval.render import (
    calibration,
    class_curves,
    confusion,
    curve,
    grouped,
    ranking,
    regression,
)
from streameval.render.entries import Entry
from streameval.render.markup import Html
from streameval.results.calibration import Calibration
from streameval.results.class_curves import ClassCurves
from streameval.results.confusion import Confusion
from streameval.results.curve import Curve
from streameval.results.grouped import GroupedCurves
from streameval.results.ranking import Ranking
from streameval.results.regression import Regression

__all__ = ["KINDS", "Kind", "are_alike", "is_exact"]

_SHARED = 0.5  # so many of the classes of two results are the same ones


@attrs.frozen
class Kind:
    """How results of one kind are shown: a heading, and what stands below it."""

    heading: Callable[[Sequence[Any]], str]
    section: Callable[[Sequence[Entry], float], Html]


KINDS: dict[type, Kind] = {
    Confusion: Kind(confusion.heading, confusion.section),
    Curve: Kind(curve.heading, curve.section),
    ClassCurves: Kind(class_curves.heading, class_curves.section),
    GroupedCurves: Kind(grouped.heading, grouped.section),
    Calibration: Kind(calibration.heading, calibration.section),
    Ranking: Kind(ranking.heading, ranking.section),
    Regression: Kind(regression.heading, regression.section),
}
"""In the order of their sections."""


def are_alike(one: Any, other: Any) -> bool:
    """Tell whether two results are of one task, so that their numbers can be compared."""
    if type(one) is not type(other) or _form(one) != _form(other):
        return False
    classes = set(getattr(one, "labels", ())), set(getattr(other, "labels", ()))
    either, both = classes[0] | classes[1], classes[0] & classes[1]
    return len(both) >= _SHARED * len(either)


def is_exact(result: Any) -> bool:
    """Tell whether no number has a certified interval."""
    if isinstance(result, Ranking):
        return all(value.exact for value in result.values())
    return bool(getattr(result, "exact", True))


def _form(result: Any) -> object:
    """Give what else must be the same: how labels are given, what scores are."""
    if isinstance(result, Confusion):
        return result.matrix.ndim, isinstance(result.support, np.ndarray)
    if isinstance(result, Curve):
        return result._table.scale
    return bool(getattr(result, "labels", ()))
