"""How a metric differs between two states, and how certain the difference is."""

from __future__ import annotations

import math
from typing import Literal

import attrs

from streameval.metrics.bounded import Bounded, Interval
from streameval.metrics.table import Reading

Samples = Literal["independent", "alike", "paired"]


@attrs.frozen
class Change:
    """A metric before and after.

    Parameters
    ----------
    before, after : Reading
        The readings of the two states.
    samples : {"independent", "alike", "paired"}
        What the states are of: samples that are assumed to be independent; the same, although they
        have equally many rows of each class, which two models on the same rows have too; or the
        same units, as the queries of two rankings.
    paired : (float, float), optional
        The sampling interval of the difference on the same units.
    """

    before: Reading
    after: Reading
    samples: Samples = "independent"
    paired: Interval | None = None

    @property
    def difference(self) -> float:
        """After minus before; nan if either is undefined."""
        return self.after.value - self.before.value

    @property
    def bounds(self) -> Interval:
        """The certified interval of the difference on the counted rows."""
        (a_low, a_high), (b_low, b_high) = self.before.certified, self.after.certified
        return b_low - a_high, b_high - a_low

    @property
    def is_open(self) -> bool:
        """Whether the certified interval of the difference is more than one point."""
        low, high = self.bounds
        return low < high

    @property
    def reading(self) -> Reading:
        """The difference and its intervals, in the form of a metric."""
        value: float = self.difference
        if self.is_open and not math.isnan(value):
            low, high = self.bounds
            value = Bounded(min(max(value, low), high), low, high)
        return Reading(value, self.sampling, is_count=self.before.is_count)

    @property
    def sampling(self) -> Interval | None:
        """The sampling interval of the difference: paired, or of two independent samples.

        The latter is the method of variance estimates recovery: each end combines the distances
        to the relevant ends of both intervals (Newcombe, "Interval estimation for the
        difference between independent proportions", 1998; Zou and Donner, "Construction of
        confidence limits about effect measures", 2008). It starts at the certified bounds of the
        difference, which no sample moves. None if either has no interval.
        """
        a, b = self.before, self.after
        if self.samples == "paired":
            return self.paired
        if a.sampling is None or b.sampling is None:
            return None
        (a_low, a_high), (b_low, b_high) = a.sampling, b.sampling
        (a_first, a_last), (b_first, b_last) = a.certified, b.certified
        low, high = self.bounds
        down = math.hypot(b_first - b_low, a_high - a_last)
        up = math.hypot(b_high - b_last, a_first - a_low)
        return low - down, high + up
