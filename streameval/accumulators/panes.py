"""Accumulators by pane of time, in tiers of growing width, and one for older rows.

``newest`` is the time of the newest row, in microseconds since 1970 UTC or in steps; it has no item
before the first row. ``tiers`` is the number of panes of each tier, the finest first. ``panes`` has
their numbers, ascending within a tier: pane i of width w holds
``i * w <= t - offset < (i + 1) * w``. ``rows`` is the weight of all rows in each pane, then that of
the rows before all panes, if there are any. ``labelled`` is 1 for panes that have labelled rows,
and so a state, or a `Sliced`. ``unlabelled`` is a block of the rows without a label by slice:
``known``, uint64, is 1 for panes of which it has all; ``held`` is 1 for panes that have some; then
follow their slices, of counts of zeros. It is omitted if there are no such rows, and the known
panes are those whose ``rows`` are the weight of what is counted.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import attrs
import numpy as np

from streameval.accumulators.confusion import ConfusionAccumulator
from streameval.accumulators.sealed import (
    FlatSlices,
    FlatTable,
    Sealed,
    flat_type,
    gathered,
    merged_all,
    read_unsigned,
    unsigned_column,
)
from streameval.configs.inner import Inner
from streameval.configs.sliced import SlicedConfig
from streameval.configs.windowed import WindowedConfig
from streameval.errors import require
from streameval.exact.array_types import Array, Ints, Mask
from streameval.exact.fixed_point import FixedPoint
from streameval.states import codec
from streameval.states.column import Column
from streameval.states.state import check_numbers

Slot = tuple[int, int, int]
"""The start, the end and the tier of a pane. The rows before all panes are one of the lowest time,
in the tier after the last.
"""

LIMIT = 2**63
"""Times and the ends of panes are below it."""

_BEFORE = -LIMIT


@attrs.frozen(eq=False)
class Pane:
    """The counts of one span of time.

    Parameters
    ----------
    start, end : int
        The rows with ``start <= t < end``.
    tier : int
        The position of its width among those of all tiers.
    rows : FixedPoint, shape ()
        The weight of all rows, labelled or not.
    part : Sealed or None
        The accumulator of the labelled rows; None until there is one.
    unlabelled : Sealed or None
        The rows without a label by slice; None until there is one, and without slices.
    is_known : bool
        Whether these are all of them: bytes of older releases have none. Never without slices.
    """

    start: int
    end: int
    tier: int
    rows: FixedPoint
    part: Sealed | None = None
    unlabelled: Sealed | None = None
    is_known: bool = True

    @classmethod
    def of(cls, slot: Slot, rows: FixedPoint, **held: Any) -> Pane:
        """Make a pane; a sum whose fractions are all zero is stored as whole."""
        return cls(*slot, rows.canonical(), **held)

    @property
    def slot(self) -> Slot:
        """Its start, end and tier."""
        return self.start, self.end, self.tier

    @property
    def n_rows(self) -> int | float:
        """The weight of all rows, labelled or not."""
        return self.rows.to_number()


@attrs.frozen(eq=False)
class Panes(FlatTable):
    """The panes of a `Windowed` when `Windowed.view` was called, without a copy: its state.

    Times are integers: microseconds, or steps. Accumulators must not be changed.

    A row's own time and the newest time decide its pane. The newest time only grows, so a pane
    that has moved on for some of the rows has moved on for all of them.

    Parameters
    ----------
    inner : Inner
        The class and options of the `Windowed`.
    newest : int or None
        The time of the newest row; None before the first.
    panes : dict from start to Pane
    weight : FixedPoint, shape ()
        The weight of all rows, labelled or not.
    total : accumulator or None
        The accumulator of all rows, if it has been counted.
    """

    NAMES = ("newest", "tiers", "panes", "rows", "labelled")
    OPTIONAL = ("unlabelled",)
    """It is omitted if each pane is known to have all its rows in its slices."""

    inner: Inner
    newest: int | None
    panes: dict[int, Pane]
    weight: FixedPoint
    _total: Any = None

    @classmethod
    def empty(cls, inner: Inner, size: int) -> Self:  # noqa: ARG003 - one signature for all
        """Hold no panes."""
        return cls(inner, None, {}, FixedPoint.zeros(()))

    @classmethod
    def joined(cls, states: Sequence[Self]) -> Self:
        """Merge panes of the same time, once those too old for their tier have moved on.

        Panes of the first state that do not change are shared.
        """
        first, *rest = states
        times = [state.newest for state in states if state.newest is not None]
        if not times:
            return first
        config, newest = first.config, max(times)
        held, edges = dict(first.panes), [*config.edges(newest), _BEFORE]
        old = [start for start, pane in first.panes.items() if start < edges[pane.tier]]
        coming = [*map(held.pop, old), *(pane for state in rest for pane in state.panes.values())]
        slots, slot_of = slots_of(config, [pane.start for pane in coming], newest)
        groups = {slot: [held[slot[0]]] if slot[0] in held else [] for slot in slots}
        for pane, at in zip(coming, slot_of.tolist(), strict=True):
            groups[slots[at]].append(pane)
        changed = {at: own for at, own in groups.items() if [one.slot for one in own] != [at]}
        held |= {at[0]: own[0] for at, own in groups.items() if at not in changed}
        held |= {pane.start: pane for pane in first.sums_of(changed)}
        weight = FixedPoint.total_of([state.weight for state in states])
        return cls(first.inner, newest, held, weight)._compact()

    @property
    def tables(self) -> dict[str, Inner]:
        """What panes hold: the class and options of accumulators, by their name in a pane."""
        inner = self.inner.options.accumulator
        if not isinstance(inner.options, SlicedConfig):
            return {"part": inner}
        return {"part": inner, "unlabelled": slices_of_unlabelled(inner)}

    def sums_of(self, groups: Mapping[Slot, Sequence[Pane]]) -> list[Pane]:
        """Merge the panes that come to each slot, one at least."""
        held: list[dict[str, Any]] = [
            {"is_known": all(pane.is_known for pane in panes)} for panes in groups.values()
        ]
        for name, inner in self.tables.items():
            parts = [[getattr(pane, name) for pane in panes] for panes in groups.values()]
            found = [[part for part in own if part is not None] for own in parts]
            sums = iter(merged_all(inner, [own for own in found if own]))
            for made, own in zip(held, found, strict=True):
                made[name] = next(sums) if own else None
        pairs = zip(groups.items(), held, strict=True)
        return [Pane.of(slot, weight_of(own), **made) for (slot, own), made in pairs]

    def _compact(self) -> Self:
        """Copy panes out of columns that mostly hold panes that have been replaced since."""
        new: dict[int, Sealed] = {}
        for name, inner in self.tables.items():
            found = [getattr(pane, name) for pane in self.panes.values()]
            parts = [part for part in found if part is not None]
            columns_of = {id(part.columns): part.columns for part in parts}
            n_held = Counter(id(part.columns) for part in parts)
            sparse = {key for key, one in columns_of.items() if 2 * n_held[key] < len(one)}
            left = [part for part in parts if id(part.columns) in sparse]
            new |= _sealed(left, gathered(inner, left))
        return self._with(new) if new else self

    def _with(self, new: Mapping[int, Sealed]) -> Self:
        """Replace accumulators, by their `id`; the panes count the same rows."""
        panes = {
            key: attrs.evolve(
                pane,
                part=new.get(id(pane.part), pane.part),
                unlabelled=new.get(id(pane.unlabelled), pane.unlabelled),
            )
            for key, pane in self.panes.items()
        }
        return attrs.evolve(self, panes=panes)

    def chosen_again(self, config: SlicedConfig) -> Self:
        """Choose the slices of every pane by other options: `FlatSlices.chosen_again`."""
        slices = attrs.evolve(self.config.accumulator, options=config)
        inner = attrs.evolve(self.inner, options=attrs.evolve(self.config, accumulator=slices))
        made, new = attrs.evolve(self, inner=inner), dict[int, Sealed]()
        for name, held in made.tables.items():
            parts = self.held(name)
            columns = gathered(self.tables[name], parts).chosen_again(held.options)
            new |= _sealed(parts, columns)
        return made._with(new)

    def with_unlabelled(self, beside: Self) -> Self:
        """Add the rows without a label by slice, which older checkpoints hold as panes of counts.

        A pane is known if those count all of its rows, the labelled ones outside of slices. They
        may lack the newest rows, and so hold panes that have moved on.
        """
        empty = self.empty(beside.inner, 1)
        beside = beside.joined([beside, attrs.evolve(empty, newest=self.newest)])
        counts = gathered(beside.config.accumulator, beside.parts)
        new = _sealed(beside.parts, attrs.evolve(counts, inner=self.tables["unlabelled"]))
        panes = dict(self.panes)
        for key, own in beside.panes.items():
            pane = panes[key]
            is_known = pane.is_known or own.rows.to_number() == pane.rows.to_number()
            panes[key] = attrs.evolve(pane, unlabelled=new.get(id(own.part)), is_known=is_known)
        return attrs.evolve(self, panes=panes)

    def held(self, name: str) -> list[Sealed]:
        """List the accumulators of one name in all panes, the finest first."""
        every = (getattr(pane, name) for pane in self._by_tier())
        return [part for part in every if part is not None]

    def _by_tier(self) -> list[Pane]:
        """List all panes, the finest first."""
        return sorted(self.panes.values(), key=lambda pane: (pane.tier, pane.start))

    @property
    def parts(self) -> list[Sealed]:
        """The accumulators of all panes, the finest first."""
        return self.held("part")

    @property
    def leaves(self) -> Any:
        """The same, in columns of their own."""
        return gathered(self.config.accumulator, self.parts)

    @property
    def end(self) -> int:
        """The end of the newest pane; there must be a row."""
        return int(self.config.end_of(self.newest))

    def within(self, start: int, end: int) -> Pane:
        """Merge the panes within two times, of which there must be one."""
        return self.sums_of({(start, end, 0): self.spans(start, end)})[0]

    @property
    def before(self) -> Pane | None:
        """The rows older than the last tier; None while there are none."""
        return self.panes.get(_BEFORE)

    @property
    def n_items(self) -> int:
        """The number of items of the states of the newest pane, to which most rows are added."""
        if self.newest is None:
            return 0
        part = self.panes[self.end - self.config.width].part
        return 0 if part is None else part.columns.n_items // len(part.columns)

    def spans(self, start: int | None = None, end: int | None = None) -> list[Pane]:
        """List the panes within two times, in order, by default all but the rows before them."""
        panes, config = self.panes, self.config
        starts: Iterable[int] = panes
        if start is not None and end is not None and (end - start) // config.width < len(panes):
            first = start + (config.offset_size - start) % config.width
            starts = range(first, end, config.width)
        low = _BEFORE + 1 if start is None else start
        found = [panes[at] for at in starts if at >= low and at in panes]
        found = found if end is None else [pane for pane in found if pane.end <= end]
        return sorted(found, key=lambda pane: pane.start)

    def written(self) -> dict[str, Any]:
        """Return the fields that bytes hold, by name."""
        panes, config = self._by_tier(), self.config
        times = [] if self.newest is None else [self.newest]
        kept = panes if self.before is None else panes[:-1]
        starts = [(pane.start - config.offset_size, config.tiers[pane.tier].width) for pane in kept]
        numbers = [start // width for start, width in starts]
        sizes = np.bincount([pane.tier for pane in kept], minlength=len(config.tiers))
        rows, labelled = rows_of(panes), np.array([pane.part is not None for pane in panes], bool)
        flat = self.leaves
        fields: dict[str, Any] = {
            "newest": Column(np.array(times, dtype=np.int64)),
            "tiers": unsigned_column(sizes),
            "panes": Column(np.array(numbers, dtype=np.int64)),
            "rows": rows,
            "labelled": unsigned_column(labelled),
        } | flat.written()
        known = np.array([pane.is_known for pane in panes])
        held = np.array([pane.unlabelled is not None for pane in panes])
        are_labelled = _are_labelled(rows, flat, labelled)
        if "unlabelled" in self.tables and not _is_default(known, held, are_labelled):
            counts = gathered(self.tables["unlabelled"], self.held("unlabelled"))
            flags = {"known": unsigned_column(known), "held": unsigned_column(held)}
            block = flags | counts.written()
            fields["unlabelled"] = codec.Nested((codec.encode_block(block),))
        return fields

    @classmethod
    def read(cls, inner: Inner, size: int, fields: Mapping[str, Any]) -> Self:  # noqa: ARG003
        """Make and check panes from what `written` returned."""
        for name, letter in {"newest": "i", "tiers": "u", "panes": "i"}.items():
            column = fields[name]
            require(isinstance(column, Column) and column.values.dtype.kind == letter, name)
        newest, tiers, numbers = (fields[name].values.tolist() for name in cls.NAMES[:3])
        rows, config = fields["rows"], inner.options
        require(isinstance(rows, FixedPoint) and len(rows.shape) == 1, "rows")
        check_numbers(rows, rows.shape, "rows")
        require(bool(rows.is_positive().all()), "a pane without rows")
        require(rows.is_whole or bool(np.any(rows.fraction)), "fractions that no row has")
        weight, n_panes = rows.total(), rows.shape[0]
        require(len(newest) == min(n_panes, 1), "newest")
        require(len(tiers) == len(config.tiers) and sum(tiers) == len(numbers), "tiers")
        require(0 <= n_panes - len(numbers) <= 1, "panes")
        labelled = _read_flags(fields["labelled"], n_panes, "labelled")
        pairs = [*zip(np.repeat(np.arange(len(tiers)), tiers).tolist(), numbers, strict=True)]
        require(all(a < b for a, b in itertools.pairwise(pairs)), "panes are out of order")
        held = config.accumulator
        flat = flat_type(held).read(held, int(labelled.sum()), fields)
        flat.check_filled()
        require(bool(held.truths) or bool(labelled.all()), "rows without labels that need none")
        empty = cls.empty(inner, 1)
        known, without = empty._read_unlabelled(rows, flat, labelled, fields)
        if not newest:
            return empty
        parts = zip(_spread(flat, labelled), without, known, strict=True)
        slots = _read_slots(config, newest[0], pairs, has_before=n_panes > len(pairs))
        panes = {
            slot[0]: Pane.of(slot, rows[at], part=part, unlabelled=unlabelled, is_known=is_known)
            for at, (slot, (part, unlabelled, is_known)) in enumerate(
                zip(slots, parts, strict=True)
            )
        }
        return cls(inner, newest[0], panes, weight)

    def _read_unlabelled(
        self, rows: FixedPoint, flat: Any, labelled: Mask, fields: Mapping[str, Any]
    ) -> tuple[list[bool], list[Sealed | None]]:
        """Read the rows without a label by slice, and whether they are known, of each pane."""
        size = len(labelled)
        are_labelled = _are_labelled(rows, flat, labelled)
        if "unlabelled" not in fields:
            known = are_labelled & ("unlabelled" in self.tables)
            return known.tolist(), [None] * size
        nested = fields["unlabelled"]
        require(isinstance(nested, codec.Nested) and len(nested.items) == 1, "unlabelled")
        require("unlabelled" in self.tables, "rows without a label by slice, without slices")
        inner = self.tables["unlabelled"]
        names = ["known", "held", *FlatSlices.names(inner)]
        block = codec.decode_block(names, nested.items[0])
        known, held = (_read_flags(block[name], size, name) for name in ("known", "held"))
        counts = FlatSlices.read(inner, int(held.sum()), block)
        counts.check_filled()
        require(not _is_default(known, held, are_labelled), "unlabelled holds nothing")
        require(bool((known | ~are_labelled).all()), "rows that all have a label and are unknown")
        (unlabelled,) = counts.weights(np.flatnonzero(held), size)
        for weights in flat.weights(np.flatnonzero(labelled), size):
            left = (rows - weights - unlabelled).whole
            require(bool((left >= 0).all()), "a pane with less weight than its rows")
        return known.tolist(), _spread(counts, held)


def slots_of(
    config: WindowedConfig, times: Sequence[int] | Ints, newest: int
) -> tuple[list[Slot], Array]:
    """Find where rows or panes of some times lie, given the newest time, in order of time.

    A pane begins with a pane of any finer tier, so its start tells where it moves.

    Parameters
    ----------
    config : WindowedConfig
    times : ints, shape (n,)
    newest : int

    Returns
    -------
    slots : list of Slot
        Each once.
    slot_of : int array, shape (n,)
        The index of the slot of each time.
    """
    given = np.asarray(times, dtype=np.int64)
    tiers = np.sum([given < edge for edge in config.edges(newest)], axis=0)
    widths = np.array([*(tier.width for tier in config.tiers), 1])[tiers]
    starts = given - (given - config.offset_size) % widths
    starts[tiers == len(config.tiers)] = _BEFORE
    starts, first, slot_of = np.unique(starts, return_index=True, return_inverse=True)
    columns = starts, starts + widths[first], tiers[first]
    return [*zip(*(column.tolist() for column in columns), strict=True)], slot_of


def _read_slots(
    config: WindowedConfig, newest: int, pairs: Sequence[tuple[int, int]], *, has_before: bool
) -> list[Slot]:
    """Check that panes, tier and number of each, lie where their times and the newest put them."""
    shift, wrong = config.offset_size, "a pane that is not where its time puts it"
    require(newest - shift > -LIMIT, "newest")
    end = config.end_of(newest)
    require(end < LIMIT, "newest")
    tiers = [(config.tiers[tier].width, tier, number) for tier, number in pairs]
    slots = [(n * width + shift, (n + 1) * width + shift, tier) for width, tier, n in tiers]
    finest = [own_end for _, own_end, tier in slots if not tier]
    require(bool(finest) and finest[-1] == end, "newest has no pane")
    require(all(-LIMIT < start < end for start, *_ in slots), wrong)
    if has_before:
        require(config.edges(newest)[-1] > _BEFORE, "rows before panes that are kept")
        slots.append((_BEFORE, _BEFORE + 1, len(config.tiers)))
    found, _ = slots_of(config, [start for start, *_ in slots], newest)
    require(sorted(slots) == found, wrong)
    return slots


@functools.lru_cache(maxsize=64)
def slices_of_unlabelled(slices: Inner) -> Inner:
    """Return what weighs the rows without a label: counts, in slices of the same options."""
    counts = Inner(ConfusionAccumulator, ConfusionAccumulator()._config)
    return Inner(slices.cls, attrs.evolve(slices.options, accumulator=counts))


def _are_labelled(rows: FixedPoint, flat: Any, labelled: Mask) -> Mask:
    """Return which panes have a label in each row; a pane with less weight than these raises."""
    found = np.zeros(len(labelled), dtype=bool)
    for weights in flat.weights(np.flatnonzero(labelled), len(labelled)):
        left = rows - weights
        require(bool((left.whole >= 0).all()), "a pane with less weight than its rows with a label")
        found |= ~left.is_positive()
    return found


def _is_default(known: Any, held: Any, are_labelled: Mask) -> bool:
    return not np.any(held) and np.array_equal(known, are_labelled)


def _read_flags(column: Any, size: int, name: str) -> Mask:
    flags = read_unsigned(column, name)
    require(len(flags) == size and bool((flags <= 1).all()), name)
    return flags.astype(bool)


def _spread(columns: Any, held: Mask) -> list[Sealed | None]:
    """Return what is in columns, in order, where panes hold it."""
    at = itertools.count()
    return [Sealed(columns, next(at)) if is_held else None for is_held in held.tolist()]


def _sealed(parts: Sequence[Sealed], columns: Any) -> dict[int, Sealed]:
    """Map the `id` of each accumulator to the one in columns at its index."""
    return {id(one): Sealed(columns, at) for at, one in enumerate(parts)}


def weight_of(panes: Iterable[Pane]) -> FixedPoint:
    """Add up the weights of all rows of some panes; a total above 2**63 - 1 raises."""
    return FixedPoint.total_of([pane.rows for pane in panes])


def rows_of(panes: Iterable[Pane]) -> FixedPoint:
    """List the weights of all rows of some panes, labelled or not."""
    parts = [pane.rows.reshape(1) for pane in panes]
    return FixedPoint.concatenate([FixedPoint.zeros(0), *parts])
