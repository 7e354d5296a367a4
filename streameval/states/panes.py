"""Accumulators by pane of time, in tiers of growing width, and one for older rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

import attrs
import numpy as np

from streameval.exact.fixed_point import FixedPoint

MergeAll = Callable[[Sequence[Sequence[Any]]], Sequence[Any]]
"""Merges each group of one or more accumulators into one."""


@attrs.frozen
class Pane:
    """The counts of one span of time.

    Parameters
    ----------
    rows : FixedPoint, shape ()
        The weight of all rows, labelled or not.
    part : Sealed or None
        None until a row has a label.
    """

    rows: FixedPoint
    part: Sealed | None

    @classmethod
    def sums_of(cls, groups: Sequence[Sequence[Pane]], merge_all: MergeAll) -> list[Pane]:
        """Merge groups of panes, each with one at least."""
        parts = [[pane.part for pane in panes if pane.part is not None] for panes in groups]
        merged = iter(merge_all([group for group in parts if group]))
        rows = (FixedPoint.total_of([pane.rows for pane in panes]) for panes in groups)
        pairs = zip(rows, parts, strict=True)
        return [cls.of(total, next(merged) if group else None) for total, group in pairs]

    @classmethod
    def of(cls, rows: FixedPoint, part: Any) -> Pane:
        """Make a pane; a sum whose fractions are all zero is stored as whole."""
        return cls(FixedPoint(rows.whole) if not np.any(rows.fraction) else rows, part)


@attrs.frozen
class Span:
    """A pane and its ends: `start <= t < end`."""

    start: int
    end: int
    tier: int
    pane: Pane

    @property
    def n_rows(self) -> int | float:
        """The weight of all rows, labelled or not."""
        return self.pane.rows.to_number()

    @property
    def part(self) -> Sealed | None:
        """The accumulator of the labelled rows; None without any."""
        return self.pane.part


@attrs.frozen
class Panes:
    """Panes by tier and number, which depend only on the times of the rows.

    A row's own time and the newest time decide its pane. The newest time only grows, so a pane
    that has moved on for some of the rows has moved on for all of them.

    Parameters
    ----------
    newest : int or None
        The time of the newest row; None before the first.
    tiers : tuple of dict from number to Pane
        The finest first. Pane i of width w holds ``i * w <= t - offset < (i + 1) * w``.
    before : Pane or None
        The rows older than the last tier; None while there are none.
    total : accumulator or None
        The accumulator of all rows, if it is known.
    """

    newest: int | None
    tiers: tuple[dict[int, Pane], ...]
    before: Pane | None
    total: Any = attrs.field(default=None, eq=False)

    @classmethod
    def zero(cls, config: Any) -> Self:
        """Make an empty state."""
        return cls(None, tuple({} for _ in config.tiers), None, config.accumulator.leaf.empty())

    @property
    def panes(self) -> list[Pane]:
        """All panes, from the finest tier to the rows before all panes, each tier by time."""
        found = [pane for tier in self.tiers for _, pane in sorted(tier.items())]
        return found if self.before is None else [*found, self.before]

    @property
    def accumulators(self) -> list[Sealed]:
        """The accumulators of all panes."""
        return [pane.part for pane in self.panes if pane.part is not None]

    def with_parts(self, new: Mapping[int, Sealed]) -> Self:
        """Replace accumulators, by their `id`; the panes count the same rows."""

        def replaced(pane: Pane) -> Pane:
            part = new.get(id(pane.part))
            return pane if part is None else Pane(pane.rows, part)

        tiers = tuple({key: replaced(pane) for key, pane in tier.items()} for tier in self.tiers)
        before = None if self.before is None else replaced(self.before)
        return attrs.evolve(self, tiers=tiers, before=before)

    @property
    def n_items(self) -> int:
        """The number of items of the states of the newest pane, to which most rows are added."""
        newest = self.tiers[0][max(self.tiers[0])].part if self.tiers[0] else None
        return 0 if newest is None else newest.columns.n_items // len(newest.columns)

    def end(self, config: Any) -> int:
        """Return the end of the newest pane, which must exist, without the offset."""
        newest: Any = self.newest
        return newest_end(newest, config)

    def spans(self, config: Any, low: int | None = None, high: int | None = None) -> list[Span]:
        """Return the panes that lie within two times, in order, without the rows before them."""
        shift = config.offset_size
        found = []
        for number, (rule, tier) in enumerate(zip(config.tiers, self.tiers, strict=True)):
            first = -math.inf if low is None else -((shift - low) // rule.width)
            after = math.inf if high is None else (high - shift) // rule.width
            panes: Iterable[tuple[int, Pane]] = tier.items()
            if after - first < len(tier):
                inside = range(int(first), int(after))
                panes = [(index, tier[index]) for index in inside if index in tier]
            found += [
                Span(index * rule.width + shift, (index + 1) * rule.width + shift, number, pane)
                for index, pane in panes
                if first <= index < after
            ]
        return sorted(found, key=lambda span: span.start)

    def aged(self, newest: int, config: Any, merge_all: MergeAll) -> Self:
        """Move panes that are too old for their tier, given the time of the newest row."""
        end = newest_end(newest, config)
        tiers: list[dict[int, Pane]] = []
        coming: dict[int, list[Pane]] = {}
        rules = config.tiers
        for tier, rule, following in zip(self.tiers, rules, [*rules[1:], None], strict=True):
            held = _joined(tier, coming, merge_all) if coming else tier
            edge = rule.edge(end)
            coming = {}
            if edge is not None and held and min(held) * rule.width < edge:
                stay = {}
                for index, pane in held.items():
                    start = index * rule.width
                    if start >= edge:
                        stay[index] = pane
                    else:
                        to = 0 if following is None else start // following.width
                        coming.setdefault(to, []).append(pane)
                held = stay
            tiers.append(held)
        before = self.before
        if coming:
            older = [pane for panes in coming.values() for pane in panes]
            older += [] if before is None else [before]
            (before,) = Pane.sums_of([older], merge_all)
        return attrs.evolve(self, newest=newest, tiers=tuple(tiers), before=before)

    def with_panes(self, other: Self, config: Any, merge_all: MergeAll) -> Self:
        """Add the panes of another state, which is not empty; share all other panes."""
        newest = max(time for time in (self.newest, other.newest) if time is not None)
        mine, more = (one.aged(newest, config, merge_all) for one in (self, other))
        tiers = tuple(
            _joined(tier, {index: [pane] for index, pane in coming.items()}, merge_all)
            for tier, coming in zip(mine.tiers, more.tiers, strict=True)
        )
        older = [one.before for one in (mine, more) if one.before is not None]
        (before,) = Pane.sums_of([older], merge_all) if older else (None,)
        return attrs.evolve(mine, tiers=tiers, before=before)

    @classmethod
    def sum_of(cls, states: Sequence[Any], config: Any, merge_all: MergeAll) -> Self:
        """Merge panes of the same time, then move those that are too old for their tier."""
        tiers = tuple(
            _joined({}, _listed([state.tiers[number] for state in states]), merge_all)
            for number in range(len(config.tiers))
        )
        older = [state.before for state in states if state.before is not None]
        (before,) = Pane.sums_of([older], merge_all) if older else (None,)
        times = [state.newest for state in states if state.newest is not None]
        merged = cls(None, tiers, before)
        return merged.aged(max(times), config, merge_all) if times else merged


def newest_end(newest: int, config: Any) -> int:
    """Return the end of the newest pane, without the offset."""
    return ((newest - config.offset_size) // config.width + 1) * config.width


def _listed(tiers: Sequence[dict[int, Pane]]) -> dict[int, list[Pane]]:
    listed: dict[int, list[Pane]] = {}
    for tier in tiers:
        for index, pane in tier.items():
            listed.setdefault(index, []).append(pane)
    return listed


def _joined(
    tier: dict[int, Pane], coming: dict[int, list[Pane]], merge_all: MergeAll
) -> dict[int, Pane]:
    groups = [[tier[index], *panes] if index in tier else panes for index, panes in coming.items()]
    return tier | dict(zip(coming, Pane.sums_of(groups, merge_all), strict=True))


_AT_ONCE = 32  # accumulators that are not sealed


@attrs.frozen(eq=False)
class Sealed:
    """An accumulator stored in flat columns together with many others.

    Parameters
    ----------
    columns : object
        An object whose method `part` makes the accumulator at an index, and `weight` weighs it.
    index : int
    """

    columns: Any
    index: int

    def copy(self) -> Any:
        """Make the accumulator."""
        return self.columns.part(self.index)

    @property
    def weight(self) -> int | float:
        """The weight of its rows, read without making the accumulator."""
        return self.columns.weight(self.index)

    def __eq__(self, other: object) -> bool:
        """Return whether the accumulators are equal."""
        if isinstance(other, Sealed):
            is_same = self.columns is other.columns and self.index == other.index
            return is_same or self.copy() == other.copy()
        return bool(self.copy() == other)

    __hash__ = None  # type: ignore[assignment]


def live(part: Any) -> Any:
    """Return an accumulator as it is, or make one from a sealed one."""
    return part.copy() if isinstance(part, Sealed) else part


def live_in_turn(parts: Sequence[Any]) -> Iterator[list[Any]]:
    """Yield single accumulators as they are, or made from sealed ones; nobody may change them.

    Small ones are made together, which takes half of the time.
    """
    columns = {id(one.columns): one.columns for one in parts if isinstance(one, Sealed)}
    step = min([one.n_at_once for one in columns.values()], default=_AT_ONCE)
    for first in range(0, len(parts), step):
        yield _all_live(parts[first : first + step])


def _all_live(parts: Sequence[Any]) -> list[Any]:
    made = list(parts)
    positions: dict[int, list[int]] = {}
    for position, part in enumerate(parts):
        if isinstance(part, Sealed):
            positions.setdefault(id(part.columns), []).append(position)
    for some in positions.values():
        found = parts[some[0]].columns.several([parts[position].index for position in some])
        for position, part in zip(some, found, strict=True):
            made[position] = part
    return made
