"""How metrics differ between two states, and how sure that is."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import attrs

from streameval.render.sheets import Column, Grid
from streameval.render.text import chance_title, numbers, printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from streameval.metrics.table import Interval, Reading
    from streameval.render.sheets import Sheet

__all__ = ["Change", "change_sheet", "signed"]

_MANY = 10**12  # three such counts, with their commas, would not fit beside a name


@attrs.frozen
class Change:
    """A metric before and after.

    Parameters
    ----------
    before, after : Reading
        What the two states say of it.
    """

    before: Reading
    after: Reading

    @property
    def difference(self) -> float:
        """After minus before, nan where either is undefined."""
        return self.after.value - self.before.value

    @property
    def bounds(self) -> Interval:
        """The certified interval of the difference of what was counted."""
        (a_low, a_high), (b_low, b_high) = self.before.certified, self.after.certified
        return b_low - a_high, b_high - a_low

    @property
    def is_open(self) -> bool:
        """Whether what was counted leaves the difference open."""
        low, high = self.bounds
        return low < high

    @property
    def sampling(self) -> Interval | None:
        """The sampling interval of the difference of two independent samples.

        The method of variance estimates recovery: each end takes from both samples the distance
        to the end of their own interval that matters (Newcombe, "Interval estimation for the
        difference between independent proportions", 1998; Zou and Donner, "Construction of
        confidence limits about effect measures", 2008). None where either has no interval.
        """
        a, b = self.before, self.after
        if a.sampling is None or b.sampling is None:
            return None
        (a_low, a_high), (b_low, b_high) = a.sampling, b.sampling
        down = math.hypot(b.value - b_low, a_high - a.value)
        up = math.hypot(b_high - b.value, a.value - a_low)
        return self.difference - down, self.difference + up


def change_sheet(
    sides: Sequence[tuple[str, str]], changes: Mapping[str, Change], level: float
) -> Sheet:
    """Give each metric a line: both values, the difference, and the intervals that it has.

    Parameters
    ----------
    sides : sequence of (str, str)
        The path of each state, and how much it holds.
    changes : mapping of str to Change
        By metric.
    level : float
        That of the sampling intervals.
    """
    items = list(changes.values())
    values = [
        Column(["A", *_values([change.before.value for change in items])]),
        Column(["B", *_values([change.after.value for change in items])]),
        Column(["B - A", *signed([change.difference for change in items])]),
    ]
    certified = [change.bounds if change.is_open else None for change in items]
    groups = [
        values,
        [Column(["certified interval", *_intervals(certified)])],
        [Column([chance_title(level), *_intervals([change.sampling for change in items])])],
    ]
    heading = [f"{name}: {path}, {size}" for name, (path, size) in zip("AB", sides, strict=True)]
    return [
        "\n".join(map(printable, heading)),
        Grid([Column.of_names("metric", changes, by_end=True)], groups),
    ]


def _values(values: Sequence[float]) -> list[str]:
    """Write huge counts with six digits: three of them would not fit beside a name."""
    return [
        f"{value:.6g}" if isinstance(value, int) and abs(value) >= _MANY else text
        for value, text in zip(values, numbers(values), strict=True)
    ]


def signed(values: Sequence[float]) -> list[str]:
    """Write differences with their signs; 0 has none."""
    return [
        f"+{text}" if value > 0 else text
        for value, text in zip(values, _values(values), strict=True)
    ]


def _intervals(ends: Sequence[Interval | None]) -> list[str]:
    texts = iter(signed([float(end) for pair in ends if pair for end in pair]))
    return [f"[{next(texts)}, {next(texts)}]" if pair else "" for pair in ends]
