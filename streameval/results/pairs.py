"""How the rows of two results are related, and what changed from one to the other."""

from __future__ import annotations

import math
from typing import Any, Self

import attrs
import numpy as np

from streameval.configs.collection import SEPARATOR
from streameval.errors import InvalidInputError
from streameval.metrics.bounded import Interval
from streameval.metrics.table import Change, Reading, Samples
from streameval.results.calibration import Calibration
from streameval.results.class_curves import ClassCurves
from streameval.results.comparison import Comparison, compare
from streameval.results.confusion import Confusion
from streameval.results.curve import Curve
from streameval.results.names import MetricName
from streameval.results.ranking import Ranking


@attrs.frozen
class SamplePair:
    """The rows of two results, member by member.

    Parameters
    ----------
    compared : dict from member to Comparison
        The rankings whose values of each query are known, and the same for both.
    alike : frozenset of member
        The members that count as many rows, of each class, on both sides.
    """

    compared: dict[str, Comparison]
    alike: frozenset[str]

    @classmethod
    def of(cls, before: Any, after: Any) -> Self:
        """Compare the rows of two results of one type."""
        mine, theirs = before.leaves(), after.leaves()
        pairs, alike = {}, set()
        for member, result in mine.items():
            other = theirs.get(member)
            comparison = _compared(result, other)
            if comparison is not None:
                pairs[member] = comparison
            elif (sample := _sample(result)) is not None and sample == _sample(other):
                alike.add(member)
        return cls(pairs, frozenset(alike))

    @classmethod
    def none(cls) -> Self:
        """Treat results as independent samples, or as equal."""
        return cls({}, frozenset())

    def change(self, metric: MetricName, before: Reading, after: Reading, level: float) -> Change:
        """Say how a metric changed, given its readings."""
        return Change(before, after, self.samples_of(metric), self.interval(metric, level))

    def samples_of(self, metric: MetricName) -> Samples:
        """Say how the samples of a metric are related."""
        member, _ = _split(metric)
        if member in self.compared:
            return "paired"
        return "alike" if member in self.alike else "independent"

    def interval(self, metric: MetricName, level: float) -> Interval | None:
        """Compute the interval of the paired difference of a metric, if it has one."""
        member, name = _split(metric)
        if member not in self.compared or not level:
            return None
        try:
            low, high = self.compared[member][name].confidence(level=level)
        except (KeyError, InvalidInputError):
            return None
        return None if math.isnan(low) else (low, high)


def _split(metric: MetricName) -> tuple[str, str]:
    member, _, name = metric.name.rpartition(SEPARATOR)
    return member, name


def _compared(before: Any, after: Any) -> Comparison | None:
    """Pair two rankings by query; None where the values of queries are not known, or weighted."""
    if not (isinstance(before, Ranking) and isinstance(after, Ranking)):
        return None
    try:
        return compare(after, before)
    except InvalidInputError:
        return None


def _sample(result: Any) -> Any:
    """Return what a result says about its rows apart from the predictions; None without rows."""
    if isinstance(result, Confusion):
        found: Any = (result.n, np.asarray(result.support).tolist())
    elif isinstance(result, Curve):
        found = (result.n, result.n_pos)
    elif isinstance(result, ClassCurves):
        found = (result.n, [curve.n_pos for curve in result.values()])
    elif isinstance(result, Calibration):
        found = (result.n, str(result.mean_label))
    elif isinstance(result, Ranking):
        found = (result.n_queries,)
    else:
        found = (getattr(result, "n", 0),)
    return found if found[0] else None
