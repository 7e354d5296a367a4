"""One accumulator for each pane of event time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Self, final

import attrs
import numpy as np
import numpy.typing as npt

from streameval.accumulators.base import Accumulator, merged
from streameval.accumulators.clustered import Clustered
from streameval.accumulators.collection import Collection
from streameval.accumulators.grouped_batches import Batch
from streameval.accumulators.grouped_rows import TIMES, WEIGHTS, GroupedRows, Key, count_flat
from streameval.accumulators.grouping import Grouping, Held, read_inner
from streameval.accumulators.pane_bytes import FIELDS, OPTIONS, read_panes, written_options
from streameval.accumulators.sealed import (
    decode_columns,
    encode_inner,
    flat_type,
    gathered,
    merged_all,
)
from streameval.accumulators.sliced import Sliced
from streameval.configs.inner import Inner
from streameval.configs.windowed import WindowedConfig
from streameval.errors import InvalidInputError, require
from streameval.exact.fixed_point import FixedPoint
from streameval.inputs.times import as_steps, as_times, read_step, read_time
from streameval.states import codec
from streameval.states.column import Column
from streameval.states.panes import Pane, Panes, Sealed, Span, newest_end
from streameval.states.runs import quotients

if TYPE_CHECKING:
    from streameval.configs.sliced import SlicedConfig
    from streameval.results.windowed import CountedPane, WindowedResult

Array = npt.NDArray[Any]
PaneKey = tuple[int, int] | None
"""The tier and the number of a pane; None for the rows before all panes."""

_LIMIT = 2**63


@final
class Windowed(Grouping[WindowedConfig], type_id=9, config=WindowedConfig, state=Panes):
    """Count each pane of event time separately: a metric over time, and of any window.

    A pane is the smallest window: the rows with equal ``floor((t - offset) / pane)``. (In Beam,
    a pane is something else: a firing.) Panes older than `keep`, measured from the newest row,
    are rolled up into wider panes and finally into `before`; nothing is ever dropped. The rows
    alone decide, never their order: the state is the same bytes however the data is cut, spread
    and merged, and however late rows come.

    Parameters
    ----------
    accumulator : accumulator
        What counts each pane. It must have counted nothing, and is copied. It may be a
        `Sliced` or a `Collection`.
    pane : str, timedelta or int
        The width of the finest panes. A duration such as ``"30s"``, ``"5m"``, ``"1h"``,
        ``"7d"``; or an integer: then times are integers too, such as training steps or log
        offsets.
    time : str
        The column of the times.
    keep : duration or int, optional
        How long panes are kept. The default keeps all of them forever.
    rollups : sequence of (width, keep), optional
        Wider panes for older rows, each width a multiple of the one before. For example
        ``[("1h", "7d"), ("1d", "400d")]``. A last `keep` of None keeps those panes forever.
    offset : duration or int, optional
        How far the edges of panes are shifted. ``"-1h"`` makes days those of UTC+1.
    unit : {"s", "ms", "us", "ns"}, optional
        The unit of times that are numbers; it is never guessed.

    Notes
    -----
    Let `end` be the end of the newest pane. A tier passes on its panes before
    ``floor((end - keep) / next width)``, in units of the next tier's width; the last tier uses
    its own width. So whole panes move.

    Times are ``datetime64``, ``datetime``, ``date``, ISO 8601 text, timestamps of pandas, polars
    and Arrow, or numbers with a `unit`. Times without a zone are read as UTC; for text, a warning
    says so once. Times are stored as microseconds, rounded once, half to even.

    A row whose truth (`y_true`) is None or NaN has no label yet: it counts in `n_rows` and
    `newest`, and nowhere else. A row of weight 0 leaves no trace.

    Windows and panes are independent copies. `n` counts all rows with a label. With a
    `RankingAccumulator`, all rows of a query must have one time, and an update must hold
    complete queries.

    Up to 262,144 rows are pending; they are split together once there are more, or when the
    state is read. The split costs about 10 ns a row and 10 microseconds a pane (and slice).

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

    _depth = 4

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
        given = locals()
        given["accumulator"] = read_inner(accumulator, outer="Windowed", depth=self._depth)
        self._configure(given)

    def update(
        self,
        batch: Any,
        *arrays: Any,
        sample_weight: Any = None,
        partial: bool = False,
        **columns: Any,
    ) -> Self:
        """Count one batch: each row in the pane of its time.

        Parameters
        ----------
        batch : mapping, data frame or Arrow table
            The column of the times, and the columns that the accumulator reads.
        sample_weight : array of shape (n,), optional
            Non-negative weights, unless a column holds them: 2 counts a row twice, 0 leaves it out.
        partial : bool
            Must be False: the rows of a query cannot go on in other batches.
        *arrays, **columns
            Refused: pass every array as a column of `batch`.

        Returns
        -------
        The accumulator itself.

        Raises
        ------
        InvalidInputError
            When a column is missing, or has the wrong shape, type or values; when a time is
            missing, or looks like another unit. Then nothing of the batch has been counted.
        CountOverflowError
            When the total would pass 2**63 - 1. Nothing has been counted then.
        """
        self._refuse_arrays(arrays, columns)
        return self._append_batch(batch, sample_weight, partial)

    def compute(self) -> Any:
        """Compute the result of `total`: of all rows with a label."""
        return self.total().compute()

    def view(self) -> PanesView:
        """View the panes, so that later updates do not change what is read, without a copy.

        Returns
        -------
        PanesView
            Its `newest`, `spans` and `total` are read only.
        """
        held = self._held
        return PanesView(self._config, self._everything(held), lambda: self._all_rows(held))

    def total(self) -> Any:
        """Copy the accumulator of all rows with a label, as if there were no panes."""
        held = self._held
        if self._inner is self._config.accumulator.leaf:
            return self._all_rows(held).copy()
        return self._merged(self._everything(held).accumulators)

    @property
    def newest(self) -> Any:
        """The time of the newest row, a datetime64[us] or an int; None before the first."""
        newest = self._everything(self._held).newest
        return None if newest is None else self._config.shown(newest)

    @property
    def before(self) -> Any:
        """A copy of the accumulator of the rows that are older than all panes."""
        before = self._everything(self._held).before
        return self._part(before)

    def panes(self) -> Iterator[tuple[Any, Any, Any]]:
        """Yield start, end and accumulator of each pane with rows, in order of time.

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
        """Add up the weights of the rows with ``start <= t < end``, labelled or not.

        Rows of rankings are queries, as in `n`.

        Parameters
        ----------
        start, end : time, optional
            Edges of panes, in any form that the column of the times may have. By default
            all rows count, also those before all panes.

        Raises
        ------
        InvalidInputError
            When one of them is not an edge, lies within a pane that has been rolled up, or lies
            before all panes among rows that are counted together.
        """
        state = self._everything(self._held)
        low = None if start is None else self._edge(start, name="start")
        high = None if end is None else self._edge(end, name="end")
        panes = [span.pane for span in self._between(state, low, high)]
        if low is None and state.before is not None:
            panes.append(state.before)
        return _weight_of(panes)

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
            An independent accumulator that has counted these rows alone.

        Raises
        ------
        InvalidInputError
            When the window begins or ends within a pane that has been rolled up, or before
            all panes; the message names the nearest edges.

        Notes
        -----
        The cost is a merge of all its panes. For many consecutive windows, see `windows`.
        """
        size = self._config.length(width, name="width")
        high = None if end is None else self._edge(end, name="end")
        state = self._everything(self._held)
        if state.newest is None:
            return self._inner.empty()
        if high is None:
            high = self._newest_end(state)
        spans = self._between(state, high - size, high, low_name="width")
        parts = [span.part for span in spans if span.part is not None]
        return self._merged(parts)

    def windows(self, width: Any, every: Any = None) -> Iterator[tuple[Any, Any]]:
        """Slide a window over the panes.

        Parameters
        ----------
        width : duration or int
            The width of each window, a multiple of the pane.
        every : duration or int, optional
            The distance between the ends of windows, by default a pane. Ends are multiples of
            it, shifted by the offset that `options` shows, which is less than the widest pane.
            For days of UTC+1 over panes of an hour, roll up into days.

        Yields
        ------
        end : datetime64[us] or int
            From the first pane on, up to the end of the newest. A window that would begin or
            end within a rolled-up pane, or before all panes, is left out, and so are all
            windows before it.
        accumulator
            An accumulator that has counted the rows with ``end - width <= t < end`` alone.

        Notes
        -----
        Two stacks of merged panes keep a step at two or three merges, however many panes a
        window has. One stack holds the panes that leave next, each merged with all below it;
        new panes are merged into one accumulator. Memory holds as many merged panes as a
        window has panes.
        """
        size = self._config.length(width, name="width")
        step = self._config.length(self._config.pane if every is None else every, name="every")
        state = self._everything(self._held)
        for end, _, stacks in self._sliding(state, state.spans(self._config), size, step):
            yield self._config.shown(end), stacks.merged()

    def over_time(self, width: Any = None) -> WindowedResult:
        """Compute a result for each pane with rows, or for each window that slides by one pane.

        Parameters
        ----------
        width : duration or int, optional
            The width of each window, a multiple of the pane. By default, each pane has a result.

        Returns
        -------
        WindowedResult
            A mapping from start to result, each computed when it is first read. With slices, panes
            have the slices of `total`.

        Examples
        --------
        >>> import streameval as se
        >>> w = se.Windowed(se.ConfusionAccumulator(), pane=10, time="step")
        >>> w = w.update({"y_true": [1, 1, 0], "y_pred": [1, 0, 0], "step": [3, 8, 11]})
        >>> {start: result.accuracy for start, result in w.over_time().items()}
        {0: 0.5, 10: 1.0}
        >>> [(pane.end, pane.n_rows) for pane in w.over_time(20).panes]
        [(10, 2), (20, 3)]
        """
        from streameval.accumulators import pane_results  # noqa: PLC0415 (rendering)
        from streameval.results.windowed import PaneResult, WindowedResult  # noqa: PLC0415

        config, state = self._config, self._everything(self._held)
        shown, total = config.shown, self.total()
        kept = list(total) if isinstance(total, Sliced) else None

        def read(start: Any, end: Any, pane: Pane) -> PaneResult:
            def count() -> CountedPane:
                return pane_results.counted(self._part(pane), kept)

            return PaneResult(start, end, _weight_of([pane]), count)

        before, spans = None, state.spans(config)
        if width is None:
            panes = [read(shown(span.start), shown(span.end), span.pane) for span in spans]
            before = None if state.before is None else read(None, None, state.before)
        else:
            size = config.length(width, name="width")
            panes = [
                pane_results.pane_result(
                    shown(end - size),
                    shown(end),
                    _weight_of([spans[at].pane for at in inside]),
                    stacks.merged(),
                    kept,
                )
                for end, inside, stacks in self._sliding(state, spans, size, config.width)
                if inside
            ]
        whole = PaneResult(None, None, self.n_rows(), partial(pane_results.counted, total, None))
        return WindowedResult.of(config, panes, before, whole)

    def _sliding(
        self, state: Panes, spans: Sequence[Span], size: int, step: int
    ) -> Iterator[tuple[int, range, TwoStacks]]:
        """Yield the end of each window, the positions of its spans, and the stacks of its panes."""
        if not spans:
            return
        ends = self._window_ends(state, spans, size, step)
        stacks = TwoStacks(self._inner)
        parts = [span.part for span in spans]
        first = after = 0
        for end in ends:
            while after < len(spans) and spans[after].end <= end:
                stacks.push(parts[after])
                after += 1
            while first < after and spans[first].start < end - size:
                first += 1
                stacks.pop()
            yield end, range(first, after), stacks

    def _take_in(self, other: Windowed) -> bytes:
        """Merge another one that has rows, at the cost of its own panes; return its bytes."""
        added = other._everything(other._held)
        added = self._moved(added, added.accumulators)
        state = self._everything(self._held).with_panes(added, self._config, self._merge_all)
        _check_weight(state)
        totals = [one._all_rows(one._held) for one in (self, other)]
        self._held, other._held = Held(state, merged(totals)), Held(added, totals[1])
        return other.to_bytes()

    def to_bytes(self) -> bytes:
        """Write options and panes as flat columns; equal accumulators give equal bytes."""
        config, inner = self._config, self._inner
        state = self._everything(self._held)
        panes = state.panes
        numbers = [number for tier in state.tiers for number in sorted(tier)]
        zeros = FixedPoint.zeros(0)
        times = [] if state.newest is None else [state.newest]
        fields = {
            "accumulator": encode_inner(inner),
            "newest": Column(np.array(times, dtype=np.int64)),
            "tiers": Column(np.array([len(tier) for tier in state.tiers], dtype=np.uint64)),
            "panes": Column(np.array(numbers, dtype=np.int64)),
            "rows": FixedPoint.concatenate([zeros, *(pane.rows.reshape(1) for pane in panes)]),
            "labelled": Column(np.array([p.part is not None for p in panes], dtype=np.uint64)),
        } | gathered(inner, state.accumulators).fields()
        settings = codec.settings_json(written_options(config))
        return codec.encode(self.type_id, self.type_name, settings, fields)

    def _summary(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        state = self._everything(self._held)
        spans = [(span.tier, span.start, span.pane) for span in state.spans(self._config)]
        spans += [] if state.before is None else [(-1, 0, state.before)]
        panes = [pane for _, _, pane in spans]
        return written_options(self._config), {
            "accumulator": (self._inner.empty(),),
            "newest": state.newest,
            "panes": tuple((tier, start, p.part is not None) for tier, start, p in spans),
            "rows": FixedPoint.concatenate(
                [FixedPoint.zeros(0), *(p.rows.reshape(1) for p in panes)]
            ),
            "parts": tuple(pane.part.copy() for pane in panes if pane.part is not None),
        }

    @classmethod
    def _decode_parts(cls, parts: codec.EncodedParts) -> tuple[WindowedConfig, Panes]:
        inner, fields = decode_columns(parts, FIELDS, [Collection, Clustered, Sliced])
        require(parts.header["config"].keys() == set(OPTIONS), "the options of panes")
        names = flat_type(inner).names(inner)
        require([*fields] == [*FIELDS, *names], "the fields are not those of its panes")
        config = WindowedConfig.of(accumulator=inner, **parts.options)
        parts.check_header(codec.settings_json(written_options(config)), fields)
        return config, read_panes(config, fields)

    def _with_slices(self, config: SlicedConfig) -> Self:
        """Choose the slices of every pane again: `FlatSlices.chosen_again`."""
        state = self._everything(self._held)
        parts = state.accumulators
        columns = gathered(self._inner, parts).chosen_again(config)
        chosen = state.with_parts({id(one): Sealed(columns, at) for at, one in enumerate(parts)})
        options = attrs.evolve(self._config, accumulator=Inner(self._inner.cls, config))
        return self._make(options, attrs.evolve(chosen, total=self._all_rows(self._held).copy()))

    @property
    def _inner(self) -> Any:
        return self._config.accumulator

    def _merged(self, parts: Sequence[Sealed]) -> Any:
        """Merge the accumulators of panes into a new one."""
        return self._merge_all([parts])[0].copy() if parts else self._inner.empty()

    def _merge_all(self, groups: Sequence[Sequence[Sealed]]) -> list[Sealed]:
        return merged_all(self._inner, groups)

    def _part(self, pane: Pane | None) -> Any:
        if pane is None or pane.part is None:
            return self._inner.empty()
        return pane.part.copy()

    def _newest_end(self, state: Panes) -> int:
        return state.end(self._config) + self._config.offset_size

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
        rule = "must reach back to" if name == "width" else "must be"
        return InvalidInputError(
            f"{rule} an edge of panes, got {shown(time)}; the nearest are {shown(below)} and "
            f"{shown(above)}",
            argument=name,
        )

    def _between(
        self, state: Panes, low: int | None, high: int | None, *, low_name: str = "start"
    ) -> list[Span]:
        """Return the panes between two times; a time within a pane, or among `before`, raises."""
        spans = state.spans(self._config)
        for time, name in ((high, "end"), (low, low_name)):
            if time is not None:
                self._check_edge(state, spans, time, name)
        return [
            span
            for span in spans
            if (low is None or span.start >= low) and (high is None or span.end <= high)
        ]

    def _check_edge(self, state: Panes, spans: Sequence[Span], time: int, name: str) -> None:
        for span in spans:
            if span.start < time < span.end:
                raise self._no_edge(time, span.start, span.end, name)
        if state.before is not None and time < (oldest := self._oldest_edge(state)):
            rule = "must not reach back" if name == "width" else "must not lie"
            raise InvalidInputError(
                f"{rule} before {self._config.shown(oldest)}: older rows are counted together, "
                f"got {self._config.shown(time)}",
                argument=name,
            )

    def _oldest_edge(self, state: Panes) -> int:
        """Return the time before which rows are counted together."""
        edge = self._config.tiers[-1].edge(state.end(self._config))
        return -_LIMIT if edge is None else edge + self._config.offset_size

    def _window_ends(
        self, state: Panes, spans: Sequence[Span], size: int, step: int
    ) -> Sequence[int]:
        """Return the ends of readable windows: those after the last one that cuts a pane."""
        shift = self._config.offset_size
        newest = (self._newest_end(state) - shift) // step
        oldest = min((span.start for span in spans), default=self._newest_end(state))
        first = (oldest - shift) // step + 1
        if state.before is not None:
            first = max(first, -(-(self._oldest_edge(state) + size - shift) // step))
        for span in spans:
            if span.tier:
                for reach in (0, size):
                    last_cut = min((span.end - 1 + reach - shift) // step, newest)
                    cut = last_cut * step + shift - reach
                    if span.start < cut < span.end:
                        first = max(first, last_cut + 1)
        return range(first * step + shift, newest * step + shift + 1, step)

    def _read_keys(self, batch: Batch, held: Held) -> dict[Key, Any]:
        keys = super()._read_keys(batch, held)
        return keys | {TIMES: self._read_times(batch.table.column(self._config.time))}

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
            if (
                first < -_LIMIT + config.tiers[-1].width
                or max(end, end + config.offset_size) >= _LIMIT
            ):
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

    def _weighed(
        self, held: Held, rows: GroupedRows, blank: tuple[Array, Array | None] | None
    ) -> Held:
        """Check the total of `n_rows`, exactly once it comes near its limit."""
        weight = self._held.weight
        if weight is None:
            panes = self._everything(self._held).panes
            weight = float(sum(pane.rows.to_floats().item() for pane in panes))
        weight += _about(rows.columns.get(WEIGHTS), rows.size)
        if blank is not None:
            weight += _about(blank[1], len(blank[0]))
        if weight > _LIMIT // 2:
            _check_weight(self._everything(held))
        held.weight = weight
        return held

    def _split(self, state: Any, held: Held, rows: GroupedRows | None) -> Any:
        times = [blank[0] for blank in held.blank]
        if rows is not None:
            times.append(rows.columns[TIMES])
        newest = max(int(part.max()) for part in times)
        if state.newest is not None:
            newest = max(newest, state.newest)
        aged: Panes = state.aged(newest, self._config, self._merge_all)
        tiers, before = [dict(tier) for tier in aged.tiers], [aged.before]

        def count(keys: Sequence[PaneKey], weights: FixedPoint, count_in: Any) -> None:
            """Add rows to the panes of some keys, and replace their parts."""
            homes: list[Any] = [before if key is None else tiers[key[0]] for key in keys]
            indices = [0 if key is None else key[1] for key in keys]
            pairs = list(zip(homes, indices, strict=True))
            held = [home[0] if home is before else home.get(index) for home, index in pairs]
            parts = count_in([None if pane is None else pane.part for pane in held])
            for at, (home, index) in enumerate(pairs):
                pane = held[at]
                weight = weights[at] if pane is None else pane.rows + weights[at]
                home[index] = Pane.of(weight, parts[at])

        if rows is not None:
            columns = dict(rows.columns)
            keys, pane_of = self._panes_of_rows(columns.pop(TIMES), newest)
            weights = _weights(columns.pop(WEIGHTS, None), pane_of, len(keys))
            left = GroupedRows(columns, rows.size, rows.codes)
            count(keys, weights, lambda parts: self._count_parts(parts, pane_of, left))
        for times_of_blank, own in held.blank:
            keys, pane_of = self._panes_of_rows(times_of_blank, newest)
            count(keys, _weights(own, pane_of, len(keys)), lambda parts: parts)
        return self._compact(attrs.evolve(aged, tiers=tuple(tiers), before=before[0]))

    def _compact(self, state: Panes) -> Panes:
        """Copy panes out of columns that mostly hold panes that have been replaced since."""
        n_used = Counter(id(part.columns) for part in state.accumulators)
        left = [one for one in state.accumulators if 2 * n_used[id(one.columns)] < len(one.columns)]
        return self._moved(state, left) if left else state

    def _moved(self, state: Panes, parts: Sequence[Sealed]) -> Panes:
        """Move the accumulators of some panes into columns of their own."""
        columns = gathered(self._inner, parts)
        return state.with_parts({id(one): Sealed(columns, at) for at, one in enumerate(parts)})

    def _count_parts(self, parts: list[Any], pane_of: Array, rows: GroupedRows) -> list[Any]:
        """Count rows into columns, and add these to the accumulators of their panes."""
        new = count_flat(self._inner, rows, pane_of, len(parts))
        added = [Sealed(new, index) for index in range(len(parts))]
        pairs = zip(parts, added, strict=True)
        return self._merge_all([[more] if part is None else [part, more] for part, more in pairs])

    def _panes_of_rows(self, times: Array, newest: int) -> tuple[list[PaneKey], Array]:
        """Find the panes of rows, and the index of each row's pane among them."""
        config = self._config
        relative = times - config.offset_size if config.offset_size else times
        end = newest_end(newest, config)
        keys: list[PaneKey] = []
        pane_of = np.empty(len(times), dtype=np.int64)
        rest: Any = slice(None)
        for number, tier in enumerate(config.tiers):
            left = relative[rest]
            edge = tier.edge(end)
            if edge is None or int(left.min()) >= edge:
                found, local = quotients(left, tier.width)
                new: list[PaneKey] = [(number, index) for index in found.tolist()]
                if not keys:
                    return new, local
                pane_of[rest] = local.astype(np.int64) + len(keys)
                return [*keys, *new], pane_of
            inside = left >= max(edge, -_LIMIT)
            if inside.any():
                indices = np.arange(len(times))[rest]
                found, local = quotients(left[inside], tier.width)
                pane_of[indices[inside]] = local.astype(np.int64) + len(keys)
                keys += [(number, index) for index in found.tolist()]
                rest = indices[~inside]
        pane_of[rest] = len(keys)
        return [*keys, None], pane_of

    def _merge_states(self, states: Sequence[Any]) -> Any:
        state = Panes.sum_of(states, self._config, self._merge_all)
        _check_weight(state)
        return state


def _about(weights: Array | None, size: int) -> float:
    """Add up weights in floating point."""
    return float(size if weights is None else weights.sum(dtype=np.float64))


def _weight_of(panes: Sequence[Pane]) -> int | float:
    """Add up the weights of all rows of some panes, labelled or not."""
    rows = [FixedPoint.zeros(()), *(pane.rows for pane in panes)]
    return FixedPoint.total_of(rows).to_number()


def _check_weight(state: Panes) -> None:
    FixedPoint.total_of([FixedPoint.zeros(()), *(pane.rows for pane in state.panes)])


def _weights(weights: Array | None, pane_of: Array, size: int) -> FixedPoint:
    """Return the weight of each pane's rows; without weights, each row counts once."""
    if weights is None:
        return FixedPoint(np.bincount(pane_of, minlength=size))
    numbers = FixedPoint.of_numbers(weights)
    numbers.total()
    return numbers.scatter(pane_of, size)


class TwoStacks:
    """The merge of a queue of panes: new ones enter at one end, old ones leave at the other.

    Parameters
    ----------
    inner : Inner
        The class and options of the accumulators.
    """

    __slots__ = ("_back", "_coming", "_front", "_inner")

    def __init__(self, inner: Inner) -> None:
        self._inner = inner
        self._front: list[Any] = []  # the last leaves next; each is merged with those below
        self._coming: list[Any] = []
        self._back: Any = None  # the merge of `_coming`

    def push(self, part: Sealed | None) -> None:
        """Add the accumulator of the next pane; None if it has none."""
        # columns pay off for accumulators with many states; single ones are merged as objects
        held = part if part is None or self._inner.cls is Sliced else part.copy()
        self._coming.append(held)
        if held is None:
            return
        if isinstance(held, Sealed):
            self._back = self._joined(self._back, held)
        elif self._back is None:
            self._back = held.copy()
        else:
            _absorb(self._back, held)

    def pop(self) -> None:
        """Remove the oldest pane."""
        if not self._front:
            below = None
            for part in reversed(self._coming):
                below = self._joined(below, part)
                self._front.append(below)
            self._coming, self._back = [], None
        self._front.pop()

    def merged(self) -> Any:
        """Merge all panes into a new accumulator."""
        front = self._front[-1] if self._front else None
        found = self._joined(front, self._back)
        if found is None:
            return self._inner.empty()
        is_held = front is None or self._back is None
        return found.copy() if is_held or isinstance(found, Sealed) else found

    def _joined(self, a: Any, b: Any) -> Any:
        if a is None or b is None:
            return b if a is None else a
        return merged_all(self._inner, [[a, b]])[0] if isinstance(a, Sealed) else merged([a, b])


def _absorb(target: Any, part: Any) -> None:
    """Merge in place into an accumulator that nothing else holds, without copying it."""
    if not isinstance(target, Collection):
        target.merge(part)
        return
    for mine, theirs in zip(target._held.accumulators, part._held.accumulators, strict=True):
        mine.merge(theirs)


@attrs.frozen(eq=False, repr=False)
class PanesView:
    """The panes of a `Windowed`, which keeps what had been counted when `Windowed.view` made it.

    Times are integers: microseconds, or steps. Nothing is copied, so accumulators must not be
    changed.
    """

    _config: WindowedConfig
    _state: Panes
    _total: Callable[[], Any]

    @property
    def newest(self) -> int | None:
        """The time of the newest row; None before the first."""
        return self._state.newest

    @property
    def end(self) -> int:
        """The end of the newest pane; there must be a row."""
        return self._state.end(self._config) + self._config.offset_size

    @property
    def total(self) -> Any:
        """The accumulator of all rows with a label."""
        return self._total()

    @property
    def parts(self) -> list[Sealed]:
        """The accumulators of all panes, and of the rows before them."""
        return self._state.accumulators

    def spans(self, start: int | None = None, end: int | None = None) -> list[Span]:
        """List the panes with rows within two times, which default to all time, in order."""
        return self._state.spans(self._config, start, end)
