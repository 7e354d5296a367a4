"""One accumulator for each pane of event time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self, final

import attrs
import numpy as np
import numpy.typing as npt

from streameval.accumulators.base import Accumulator
from streameval.accumulators.grouping import (
    CODES,
    TIMES,
    WEIGHTS,
    Batch,
    GroupedRows,
    Grouping,
    Held,
    Key,
    Take,
    count_rows,
    groups_of,
    merged,
    read_inner,
    weight_of,
)
from streameval.accumulators.sliced import Sliced, counted_slices
from streameval.configs.windowed import Length, WindowedConfig
from streameval.errors import InvalidInputError
from streameval.exact.fixed_point import FixedPoint
from streameval.inputs.labels import distinct
from streameval.inputs.times import as_steps, as_times, read_step, read_time
from streameval.states.panes import Pane, Panes, Span, newest_end

__all__ = ["Windowed"]

Array = npt.NDArray[Any]
PaneKey = tuple[int, int] | None
"""The tier and the number of a pane; None for what is before all of them."""

_LIMIT = 2**63


@final
class Windowed(Grouping[WindowedConfig], type_id=9, config=WindowedConfig, state=Panes):
    """Count the rows of each pane of event time apart: a metric over time, and of any window.

    A pane is the smallest window: that of ``floor((t - offset) / pane)``. (In Beam, a pane is
    something else: a firing.) Panes that are older than `keep`, as the newest row tells, are
    rolled up into wider ones and in the end into `before`; nothing is ever dropped. All of it
    depends on the rows alone, never on their order: the state is the same bytes however the
    data is cut, spread and merged, and however late rows come.

    Parameters
    ----------
    accumulator : accumulator
        What each pane is counted with: one that has counted nothing, which is copied. It may be
        a `Sliced` or a `Collection`.
    pane : str, timedelta or int
        The width of the finest panes: a duration such as ``"30s"``, ``"5m"``, ``"1h"``,
        ``"7d"``; or an integer, and then times are integers of any meaning, such as steps of a
        training or offsets in a log.
    time : str
        The column of the times.
    keep : duration or int, optional
        How long panes are kept. By default all are, for ever.
    rollups : sequence of (width, keep), optional
        Wider panes for what is older, each a multiple of the one before: ``[("1h", "7d"),
        ("1d", "400d")]``. The last may be kept for ever: None.
    offset : duration or int, optional
        By how much the edges of panes are shifted, such as "1h" for days in UTC+1.
    unit : {"s", "ms", "us", "ns"}, optional
        That of times that are numbers; it is never guessed.

    Notes
    -----
    With `end` the end of the newest pane, those of a tier are moved on that lie before
    ``floor((end - keep) / next width)`` in units of the next width: the width of the next
    tier, and of the last tier its own. So whole panes move.

    Times are ``datetime64``, ``datetime``, ISO 8601 text, timestamps of pandas, polars and
    Arrow, or numbers with a `unit`. Without a zone they are UTC, and for text and ``datetime``
    that is warned of once. They are kept as microseconds, rounded once and to even.

    A row whose truth (`y_true`) is None or NaN has no label yet: it counts in `n_rows` and
    `newest`, and nowhere else. A row of weight 0 leaves no trace.

    Windows and panes are handed out as copies, on which nothing of the accumulator depends;
    `n` is that of all rows with a label. All rows of a query, of a `RankingAccumulator`, must
    have one time, and an update must hold complete queries.

    Up to 131,072 rows are pending, and are split at once when there are more or when the state
    is read, which costs about 10 ns a row and 10 microseconds a pane (and slice) that has some.

    Examples
    --------
    >>> import streameval as se
    >>> w = se.Windowed(se.ConfusionAccumulator(), pane="1m", keep="1h", unit="s")
    >>> batch = {"y_true": [1, 0, 1, None], "y_pred": [1, 0, 0, 1], "time": [0, 30, 70, 80]}
    >>> w = w.update(batch)
    >>> for start, end, accumulator in w.panes():
    ...     print(start, accumulator.compute().accuracy, w.n_rows(start, end))
    1970-01-01T00:00:00.000000 1.0 2
    1970-01-01T00:01:00.000000 0.0 2
    >>> w.window("2m").n, w.total().n, str(w.newest)
    (3, 3, '1970-01-01T00:01:20.000000')
    """

    __slots__ = ()

    _depth = 3

    def __init__(
        self,
        accumulator: Accumulator[Any, Any],
        *,
        pane: Any,
        time: str = "time",
        keep: Any = None,
        rollups: Sequence[tuple[Any, Any]] = (),
        offset: Any = 0,
        unit: str | None = None,
    ) -> None:
        super().__init__(
            WindowedConfig.of(
                accumulator=read_inner(accumulator, outer="Windowed", depth=self._depth),
                pane=pane,
                time=time,
                keep=keep,
                rollups=rollups,
                offset=offset,
                unit=unit,
            )
        )

    def update(self, batch: Any, *, sample_weight: Any = None, partial: bool = False) -> Self:
        """Count one batch: each row in the pane of its time.

        Parameters
        ----------
        batch : mapping, data frame or Arrow table
            With the column of the times, and those that the accumulator reads.
        sample_weight : array of shape (n,), optional
            Non-negative weights, if they are no column: 2 counts a row twice, 0 leaves it out.
        partial : bool
            Must be False: the rows of a query cannot go on in other batches.

        Returns
        -------
        The accumulator itself.

        Raises
        ------
        InvalidInputError
            When a column is missing, or has the wrong shape, type or values; when a time is
            missing, or looks like one of another unit. Nothing of the batch has been counted
            then.
        CountOverflowError
            When the total would pass 2**63 - 1. Nothing has been counted then.
        """
        return self._counted_batch(batch, sample_weight, partial)

    def compute(self) -> Any:
        """Compute the result of all rows with a label: that of `total`."""
        return self.total().compute()

    def total(self) -> Any:
        """Give the accumulator of all rows with a label, as if there were no panes: a copy."""
        held = self._held
        if self._inner is self._config.accumulator.leaf:
            return self._all_rows(held).copy()
        return merged([self._inner.empty(), *self._everything(held).accumulators])

    @property
    def newest(self) -> Any:
        """The time of the newest row: datetime64[us] or int; None before the first."""
        newest = self._everything(self._held).newest
        return None if newest is None else self._config.shown(newest)

    @property
    def before(self) -> Any:
        """The accumulator of the rows that are older than all panes: a copy."""
        before = self._everything(self._held).before
        return self._part(before)

    def panes(self) -> Iterator[tuple[Any, Any, Any]]:
        """Give start, end and accumulator of each pane that has rows, in order of time.

        Yields
        ------
        start, end : datetime64[us] or int
            The rows with ``start <= t < end``.
        accumulator
            A copy.
        """
        shown = self._config.shown
        for span in self._everything(self._held).spans(self._config):
            yield shown(span.start), shown(span.end), self._part(span.pane)

    def n_rows(self, start: Any = None, end: Any = None) -> int | float:
        """Count the rows with ``start <= t < end``, those without a label too, by weight.

        Parameters
        ----------
        start, end : time, optional
            Edges of panes, in any form that the column of the times may have. By default
            everything counts, what is before all panes too.

        Raises
        ------
        InvalidInputError
            When one of them is no edge, or lies within a pane that has been rolled up.
        """
        state = self._everything(self._held)
        low = None if start is None else self._edge(start, name="start")
        high = None if end is None else self._edge(end, name="end")
        panes = [span.pane for span in self._between(state, low, high)]
        if low is None and state.before is not None:
            panes.append(state.before)
        total = FixedPoint.total_of([FixedPoint.zeros(()), *(pane.rows for pane in panes)])
        number: int | float = total.to_numbers().item()
        return number

    def window(self, width: Any, end: Any = None) -> Any:
        """Merge the panes of a window: the rows with ``end - width <= t < end``.

        Parameters
        ----------
        width : duration or int
            A multiple of the pane.
        end : time, optional
            The edge of a pane; by default the end of the newest.

        Returns
        -------
        accumulator
            What has counted these rows alone; nothing of this one depends on it.

        Raises
        ------
        InvalidInputError
            When the window begins or ends within a pane that has been rolled up, or within
            what is before all panes; the nearest edges are named.

        Notes
        -----
        It costs a merge of all panes. For many windows, one after the other, see `windows`.
        """
        size = self._config.length(width, name="width")
        state = self._everything(self._held)
        if state.newest is None:
            return self._inner.empty()
        high = self._newest_end(state) if end is None else self._edge(end, name="end")
        spans = self._between(state, high - size, high)
        parts = [span.pane.part for span in spans if span.pane.part is not None]
        return merged([self._inner.empty(), *parts])

    def windows(self, width: Any, every: Any = None) -> Iterator[tuple[Any, Any]]:
        """Slide a window over the panes.

        Parameters
        ----------
        width : duration or int
            That of the window, a multiple of the pane.
        every : duration or int, optional
            From the end of one window to that of the next, by default a pane. Ends are
            multiples of it (shifted by the offset).

        Yields
        ------
        end : datetime64[us] or int
            From the first pane on, up to the end of the newest. Windows that would begin or
            end within a pane that has been rolled up, or within what is before all panes, and
            all windows before such a one, are left out.
        accumulator
            What has counted the rows with ``end - width <= t < end`` alone.

        Notes
        -----
        Two stacks of merged panes make it two or three merges a step, however many panes a
        window has: those that will leave it next lie on a stack of which each item is merged
        with all below it, and those that came are merged into one. While it runs, as many
        merged panes are held as a window has panes.
        """
        size = self._config.length(width, name="width")
        step = self._config.length(self._config.pane if every is None else every, name="every")
        state = self._everything(self._held)
        if state.newest is None:
            return
        spans = state.spans(self._config)
        ends = self._window_ends(state, spans, size, step)
        stacks = _TwoStacks(self._inner.empty())
        first = after = 0
        for end in ends:
            while after < len(spans) and spans[after].end <= end:
                after += 1
                stacks.push(spans[after - 1])
            while first < after and spans[first].start < end - size:
                first += 1
                stacks.pop()
            yield self._config.shown(end), stacks.merged()

    @property
    def options(self) -> dict[str, Any]:
        """The options by name; `accumulator` is one that has counted nothing."""
        return super().options | {"accumulator": self._inner.empty()}

    @property
    def _inner(self) -> Any:
        return self._config.accumulator

    def _part(self, pane: Pane | None) -> Any:
        if pane is None or pane.part is None:
            return self._inner.empty()
        return pane.part.copy()

    def _newest_end(self, state: Panes) -> int:
        assert state.newest is not None
        return newest_end(state.newest, self._config) + self._config.offset_size

    def _edge(self, value: Any, *, name: str) -> int:
        """Read a time that is the edge of a pane."""
        config = self._config
        time = (
            read_step(value, name=name)
            if config.is_step
            else read_time(value, unit=config.unit, name=name)
        )
        below = (time - config.offset_size) // config.width * config.width + config.offset_size
        if below != time:
            raise self._no_edge(time, below, below + config.width, name)
        return time

    def _no_edge(self, time: int, below: int, above: int, name: str) -> InvalidInputError:
        shown = self._config.shown
        return InvalidInputError(
            f"must be an edge of panes, got {shown(time)}; the nearest are {shown(below)} and "
            f"{shown(above)}",
            argument=name,
        )

    def _between(self, state: Panes, low: int | None, high: int | None) -> list[Span]:
        """Give the panes between two times; one that would be cut raises."""
        kept = []
        for span in state.spans(self._config):
            for time, name in ((low, "start"), (high, "end")):
                if time is not None and span.start < time < span.end:
                    raise self._no_edge(time, span.start, span.end, name)
            is_late = low is None or span.start >= low
            if is_late and (high is None or span.end <= high):
                kept.append(span)
        oldest = self._oldest_edge(state)
        if state.before is not None and low is not None and low < oldest:
            raise InvalidInputError(
                f"must not lie before {self._config.shown(oldest)}: older rows are counted "
                f"together, got {self._config.shown(low)}",
                argument="start",
            )
        return kept

    def _oldest_edge(self, state: Panes) -> int:
        """Give the time before which rows are counted together, if there are some."""
        last = self._config.tiers[-1]
        if last.keep is None or state.newest is None:
            return -_LIMIT
        edge = last.edge(newest_end(state.newest, self._config))
        assert edge is not None
        return edge + self._config.offset_size

    def _window_ends(
        self, state: Panes, spans: Sequence[Span], size: int, step: int
    ) -> Sequence[int]:
        """Give the ends of the windows that can be had, from the first after the last that cuts."""
        shift = self._config.offset_size
        newest = (self._newest_end(state) - shift) // step
        oldest = min((span.start for span in spans), default=self._newest_end(state))
        first = (oldest - shift) // step + 1
        if state.before is not None:
            first = max(first, -(-(self._oldest_edge(state) + size - shift) // step))
        for span in spans:
            if span.tier:
                for reach in (0, size):
                    last_cut = (span.end - 1 + reach - shift) // step
                    cut = last_cut * step + shift - reach
                    if span.start < cut < span.end:
                        first = max(first, last_cut + 1)
        return [number * step + shift for number in range(first, newest + 1)]

    @property
    def _key_columns(self) -> tuple[str, ...]:
        inner = self._inner
        return (self._config.time, *(inner.options.column if inner.cls is Sliced else ()))

    def _name_of(self, key: Key) -> str:
        return self._config.time if key == TIMES else self._key_columns[1]

    def _read_keys(self, batch: Batch, held: Held) -> dict[Key, Any]:
        time, *columns = self._key_columns
        keys = {}
        if columns:
            keys[CODES] = held.codes.encode([batch.table.column(c) for c in columns], columns)
        keys[TIMES] = self._read_times(batch.table.column(time))
        return keys

    def _read_times(self, column: Any) -> Array:
        config = self._config
        if config.is_step:
            times = as_steps(column, name=config.time)
        else:
            times = as_times(column, unit=config.unit, name=config.time)
        if len(times):
            low, high = int(times.min()), int(times.max())
            first = low - config.offset_size
            end = newest_end(high, config)
            if first < -_LIMIT + config.tiers[-1].width or max(end, end + config.offset_size) >= _LIMIT:
                position = int(times.argmin() if first < -_LIMIT // 2 else times.argmax())
                raise InvalidInputError(
                    "must lie so that the ends of its panes fit 64 bits, got "
                    f"{int(times[position])}",
                    argument=config.time,
                    position=position,
                )
        return times

    def _labelled(
        self, batch: Batch, held: Held
    ) -> tuple[Batch, dict[Key, Any], tuple[Array, Array | None] | None]:
        keys = self._keys_of(batch, held)
        missing = batch.without_truth() if batch.size else None
        if missing is None:
            return batch, keys, None
        for key, column in keys.items():
            if len(column) != batch.size:
                raise InvalidInputError(
                    f"must have {batch.size} rows, got {len(column)}", argument=self._name_of(key)
                )
        weights = batch.weights()
        times = keys[TIMES][missing]
        if weights is not None:
            weights = weights[missing]
            times, weights = times[weights != 0], weights[weights != 0]
        labelled = {key: column[~missing] for key, column in keys.items()}
        blank = (times, weights) if len(times) else None
        return batch.without(missing), labelled, blank

    def _split(self, state: Any, held: Held, rows: GroupedRows | None, take: Take) -> Any:
        times = [blank[0] for blank in held.blank]
        if rows is not None:
            times.append(rows.columns[TIMES])
        newest = max(int(part.max()) for part in times)
        if state.newest is not None:
            newest = max(newest, state.newest)
        aged: Panes = state.aged(newest, self._config, merged)
        tiers, before = [dict(tier) for tier in aged.tiers], aged.before

        def changed(key: PaneKey, weight: FixedPoint, part: GroupedRows | None) -> None:
            nonlocal before
            pane = before if key is None else tiers[key[0]].get(key[1])
            rows_before, counted = (FixedPoint.zeros(()), None) if pane is None else (
                pane.rows, pane.part,
            )
            if part is not None:
                counted = self._counted_part(counted, part, take)
            pane = Pane(rows_before + weight, counted)
            if key is None:
                before = pane
            else:
                tiers[key[0]][key[1]] = pane

        if rows is not None:
            keys, places = self._places(rows.columns[TIMES], newest)
            for number, part in groups_of(rows, places, len(keys)):
                weight = weight_of(part.columns.get(WEIGHTS), part.size)
                columns = {k: c for k, c in part.columns.items() if k not in (TIMES, WEIGHTS)}
                changed(keys[number], weight, GroupedRows(columns, part.size, part.values))
        for blank_times, weights in held.blank:
            keys, places = self._places(blank_times, newest)
            for number, key in enumerate(keys):
                chosen = places == number
                some = None if weights is None else weights[chosen]
                changed(key, weight_of(some, int(np.count_nonzero(chosen))), None)
        return attrs.evolve(aged, tiers=tuple(tiers), before=before)

    def _counted_part(self, part: Any, rows: GroupedRows, take: Take) -> Any:
        """Count rows in the accumulator of a pane."""
        inner = self._inner
        if inner.cls is not Sliced:
            made = inner.empty() if part is None else take(part)
            count_rows(made, rows, inner)
            return made
        made = inner.empty() if part is None else part._fork()
        made._held = Held(counted_slices(made._held.state, rows, inner.options, take))
        return made

    def _places(self, times: Array, newest: int) -> tuple[list[PaneKey], Array]:
        """Find the pane of each row: the panes that have some, and the number of each row's."""
        config = self._config
        relative = times - config.offset_size if config.offset_size else times
        end = newest_end(newest, config)
        keys: list[PaneKey] = []
        places = np.empty(len(times), dtype=np.int64)
        rest: Any = slice(None)
        for number, tier in enumerate(config.tiers):
            left = relative[rest]
            edge = tier.edge(end)
            if edge is None or int(left.min()) >= edge:
                found, local = distinct(left // tier.width, name="time")
                places[rest] = local + len(keys)
                return [*keys, *((number, index) for index in found.tolist())], places
            inside = left >= max(edge, -_LIMIT)
            if inside.any():
                indices = np.arange(len(times))[rest]
                found, local = distinct(left[inside] // tier.width, name="time")
                places[indices[inside]] = local + len(keys)
                keys += [(number, index) for index in found.tolist()]
                rest = indices[~inside]
        places[rest] = len(keys)
        return [*keys, None], places

    def _merge_states(self, states: Sequence[Any]) -> Any:
        return Panes.sum_of(states, self._config, merged)


class _TwoStacks:
    """The merge of panes that come at one end and leave at the other.

    Parameters
    ----------
    empty : accumulator
        What the merge of none is.
    """

    __slots__ = ("_back", "_coming", "_empty", "_front")

    def __init__(self, empty: Any) -> None:
        self._empty = empty
        self._front: list[Any] = []  # the next to leave is the last: each merged with those below
        self._coming: list[Any] = []
        self._back: Any = None  # the merge of what is coming

    def push(self, span: Span) -> None:
        """Add the next pane."""
        part = span.pane.part
        self._coming.append(part)
        if part is not None:
            self._back = part if self._back is None else merged([self._back, part])

    def pop(self) -> None:
        """Leave the first pane out."""
        if not self._front:
            below = None
            for part in reversed(self._coming):
                below = _joined(below, part)
                self._front.append(below)
            self._coming, self._back = [], None
        self._front.pop()

    def merged(self) -> Any:
        """Merge all panes into a new accumulator."""
        front = self._front[-1] if self._front else None
        found = _joined(front, self._back)
        if found is None:
            return self._empty.copy()
        return found.copy() if found is front or found is self._back else found


def _joined(a: Any, b: Any) -> Any:
    if a is None or b is None:
        return b if a is None else a
    return merged([a, b])
