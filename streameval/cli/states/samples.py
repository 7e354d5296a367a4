"""Whether two states count the same rows, which decides what an interval of a change means."""

from __future__ import annotations

import math
from typing import Any, Self

import attrs
import numpy as np

from streameval.cli.terminal import Note
from streameval.errors import InvalidInputError
from streameval.metrics.bounded import Interval
from streameval.metrics.table import Samples
from streameval.results.calibration import Calibration
from streameval.results.class_curves import ClassCurves
from streameval.results.comparison import Comparison, compared
from streameval.results.confusion import Confusion
from streameval.results.curve import Curve
from streameval.results.names import MetricName
from streameval.results.ranking import Ranking


@attrs.frozen
class SamplePair:
    """The rows of two states, member by member.

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
            comparison = compared(result, other)
            if comparison is not None:
                pairs[member] = comparison
            elif (sample := _sample(result)) is not None and sample == _sample(other):
                alike.add(member)
        return cls(pairs, frozenset(alike))

    @classmethod
    def none(cls) -> Self:
        """Treat states as independent samples, or as equal."""
        return cls({}, frozenset())

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

    def notes(self, before: str, after: str) -> list[Note]:
        """Say what the intervals assume, where the numbers of rows make that doubtful."""
        notes = []
        for member, comparison in self.compared.items():
            of = f" of {member!r}" if member else ""
            n = next(iter(comparison.values())).n
            left = "" if not _left_out(comparison) else ", which are not all of either"
            notes.append(f"intervals{of} are paired by the {n:,} queries of both{left}.")
        if self.alike:
            notes.append(
                f"{before} and {after} count equally many rows of each class. If these are the "
                "same rows, the intervals are too wide: compare them with eval --versus, and "
                "rankings by states made with --per-query."
            )
        return [Note("note", text) for text in notes]


def _split(metric: MetricName) -> tuple[str, str]:
    member, _, name = metric.name.rpartition("/")
    return member, name


def _left_out(comparison: Comparison) -> int:
    return comparison.n_only_a + comparison.n_only_b


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
