"""The fields in the bytes of panes, and checked panes made from them.

``newest`` is the time of the newest row, in microseconds since 1970 UTC or in steps; it has no item
before the first row. ``tiers`` is the number of panes of each tier, the finest first. ``panes`` has
their numbers, ascending within a tier: pane i of width w holds
``i * w <= t - offset < (i + 1) * w``. ``rows`` is the weight of all rows in each pane, then that of
the rows before all panes, if there are any. ``labelled`` is 1 for panes that have labelled rows,
and so a state, or a `Sliced`.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from streameval.accumulators.sealed import flat_type
from streameval.configs.windowed import WindowedConfig
from streameval.errors import require
from streameval.exact.fixed_point import FixedPoint
from streameval.states.column import Column
from streameval.states.panes import Pane, Panes, Sealed, newest_end
from streameval.states.state import check_numbers

_LIMIT = 2**63
FIELDS = ("accumulator", "newest", "tiers", "panes", "rows", "labelled")
OPTIONS = ("pane", "time", "keep", "rollups", "offset", "unit")


def written_options(config: WindowedConfig) -> dict[str, Any]:
    """Return the options that the header holds; the accumulator is stored with the state."""
    return {name: getattr(config, name) for name in OPTIONS}


def read_panes(config: WindowedConfig, fields: Mapping[str, Any]) -> Panes:
    """Make and check the panes that bytes hold."""
    for name, letter in {"newest": "i", "tiers": "u", "panes": "i", "labelled": "u"}.items():
        column = fields[name]
        require(isinstance(column, Column) and column.values.dtype.kind == letter, name)
    newest, tiers, numbers, labelled = (
        fields[name].values.tolist() for name in ("newest", "tiers", "panes", "labelled")
    )
    require(isinstance(fields["rows"], FixedPoint) and len(fields["rows"].shape) == 1, "rows")
    rows: FixedPoint = fields["rows"]
    check_numbers(rows, rows.shape, "rows")
    require(bool(rows.is_positive().all()), "a pane without rows")
    require(rows.is_whole or bool(np.any(rows.fraction)), "fractions that no row has")
    rows.total()
    size = rows.shape[0]
    require(len(newest) == min(size, 1), "newest")
    require(len(tiers) == len(config.tiers) and sum(tiers) == len(numbers), "tiers")
    require(0 <= size - len(numbers) <= 1 and len(labelled) == size, "panes")
    require(set(labelled) <= {0, 1}, "labelled")

    inner = config.accumulator
    flat = flat_type(inner).read(inner, sum(labelled), fields)
    flat.check_filled()
    require(bool(inner.truths) or 0 not in labelled, "rows without labels that need none")
    total = flat.checked_total()
    owners = np.flatnonzero(labelled)
    for weights in flat.weights(owners, size):
        is_within = (rows - weights).whole >= 0
        require(bool(is_within.all()), "a pane with less weight than its rows with a label")
    made, index = [], 0
    for position, has_part in enumerate(labelled):
        made.append(Pane.of(rows[position], None))
        if has_part:
            made[-1] = Pane(made[-1].rows, Sealed(flat, index))
            index += 1
    held: list[dict[int, Pane]] = []
    start = 0
    for length in tiers:
        own = numbers[start : start + length]
        require(all(a < b for a, b in pairwise(own)), "panes are out of order")
        held.append(dict(zip(own, made[start : start + length], strict=True)))
        start += length
    before = made[-1] if size > len(numbers) else None
    state = Panes(newest[0] if newest else None, tuple(held), before, total)
    _check_tiers(state, config)
    return state


def _check_tiers(state: Panes, config: WindowedConfig) -> None:
    """Check that each pane lies in the tier that its time and the newest time give."""
    if state.newest is None:
        return
    require(state.newest - config.offset_size > -_LIMIT, "newest")
    end = newest_end(state.newest, config)
    require(end + config.offset_size < _LIMIT, "newest")
    newest = end // config.width - 1
    require(newest in state.tiers[0] and max(state.tiers[0]) == newest, "newest has no pane")
    upper: int | None = None
    for tier, panes in zip(config.tiers, state.tiers, strict=True):
        edge = tier.edge(end)
        for number in panes:
            is_old = upper is None or (number + 1) * tier.width <= upper
            is_new = edge is None or number * tier.width >= edge
            fits = number * tier.width + config.offset_size > -_LIMIT
            require(is_old and is_new and fits, "a pane that is not where its time puts it")
        upper = edge
    require(state.before is None or upper is not None, "rows before panes that are kept")
