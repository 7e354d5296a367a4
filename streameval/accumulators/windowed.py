"""One accumulator for each pane of event time."""

from __future__ import annotations

import bisect
import itertools
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, final

import numpy as np

from streameval.accumulators.base import Accumulator, merged
from streameval.accumulators.clustered import Clustered
from streameval.accumulators.collection import Collection
from streameval.accumulators.grouped_batches import Batch
from streameval.accumulators.grouped_rows import TIMES, WEIGHTS, GroupedRows, Key, count_flat
from streameval.accumulators.grouping import Grouping, Held, with_inner
from streameval.accumulators.panes import LIMIT, Pane, Panes, rows_of, slots_of, weight_of
from streameval.accumulators.sealed import Sealed, gathered
from streameval.accumulators.sliced import Sliced
from streameval.configs.inner import Inner
from streameval.configs.windowed import WindowedConfig
from streameval.errors import InvalidInputError
from streameval.exact.array_types import Array
from streameval.exact.fixed_point import FixedPoint, total_weight, weight_by_cell
from streameval.inputs.times import as_steps, as_times, read_step, read_time
from streameval.states.runs import quotients

if TYPE_CHECKING:
    from streameval.results.windowed import WindowedResult


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
    `newest`, and in the coverage of its slice, and nowhere else. A row of weight 0 leaves no trace.

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
    _takes_unlabelled = True
    _within = (Collection, Clustered, Sliced)

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
        self._configure(with_inner(locals()))

    def compute(self) -> Any:
        """Compute the result of `total`: of all rows with a label."""
        return self.total().compute()

    def view(self) -> Panes:
        """View the panes, so that later updates do not change what is read, without a copy.

        Returns
        -------
        Panes
            Its `newest`, `spans` and `total` are read only.
        """
        view: Panes = self._view()
        return view

    @property
    def newest(self) -> Any:
        """The time of the newest row, a datetime64[us] or an int; None before the first."""
        newest = self._everything(self._held).newest
        return None if newest is None else self._config.shown(newest)

    @property
    def before(self) -> Any:
        """A copy of the accumulator of the rows that are older than all panes."""
        before = self._everything(self._held).before
        return self._copy_of(None if before is None else before.part)

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
        for span in self._everything(self._held).spans():
            yield shown(span.start), shown(span.end), self._copy_of(span.part)

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
        state: Panes = self._everything(self._held)
        if start is None and end is None:
            return state.weight.to_number()
        low, high = self._edge(start, name="start"), self._edge(end, name="end")
        panes = self._between(state, low, high)
        if low is None and state.before is not None:
            panes.append(state.before)
        return weight_of(panes).to_number()

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
        high = self._edge(end, name="end")
        state = self._everything(self._held)
        if state.newest is None:
            return self._config.accumulator.empty()
        high = state.end if high is None else high
        spans = self._between(state, high - size, high, low_name="width")
        parts = [span.part for span in spans if span.part is not None]
        return gathered(self._config.accumulator, parts).merged()

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
        for end, window in self._sliding(state, state.spans(), size, step):
            yield self._config.shown(end), window.merged()

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
        from streameval.accumulators.pane_results import counted, pane_result  # noqa: PLC0415
        from streameval.results.windowed import PaneResult, WindowedResult  # noqa: PLC0415

        config, state = self._config, self._everything(self._held)
        shown, total = config.shown, self.total()
        kept = list(total) if isinstance(total, Sliced) else None

        def read(start: Any, end: Any, pane: Pane) -> PaneResult:
            part = pane.part
            return PaneResult(start, end, pane.n_rows, lambda: counted(self._copy_of(part), kept))

        before = None
        if width is None:
            panes = [read(shown(pane.start), shown(pane.end), pane) for pane in state.spans()]
            before = None if state.before is None else read(None, None, state.before)
        else:
            size = config.length(width, name="width")
            panes = [
                pane_result(
                    shown(end - size),
                    shown(end),
                    weight_of(window.spans).to_number(),
                    window.merged(),
                    kept,
                )
                for end, window in self._sliding(state, state.spans(), size, config.width)
                if window.spans
            ]
        whole = PaneResult(None, None, self.n_rows(), partial(counted, total, None))
        return WindowedResult.of(config, panes, before, whole)

    def _sliding(
        self, state: Panes, spans: Sequence[Pane], size: int, step: int
    ) -> Iterator[tuple[int, TwoStacks]]:
        """Yield the end of each window, and the stacks of its panes."""
        window, coming = TwoStacks(self._config.accumulator, size), deque(spans)
        for end in self._window_ends(state, spans, size, step) if spans else ():
            while coming and coming[0].end <= end:
                window.push(coming.popleft())
            window.slide(end)
            yield end, window

    def _summary(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        state = self._everything(self._held)
        every = [(pane, (pane.tier, pane.start)) for pane in state.spans()]
        every += [] if state.before is None else [(state.before, (-1, 0))]
        return self._config.settings, {
            "accumulator": (self._config.accumulator.empty(),),
            "newest": state.newest,
            "panes": tuple((*slot, pane.part is not None) for pane, slot in every),
            "rows": rows_of(pane for pane, _ in every),
            "parts": tuple(pane.part.copy() for pane, _ in every if pane.part is not None),
        }

    def _edge(self, value: Any, *, name: str) -> int | None:
        """Read a time that is the edge of a pane; None stays None."""
        if value is None:
            return None
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
    ) -> list[Pane]:
        """Return the panes between two times; a time within a pane, or among `before`, raises."""
        panes, oldest = state.spans(), self._oldest_edge(state)
        for time, name in ((high, "end"), (low, low_name)):
            if time is None:
                continue
            around = _around(panes, time)
            if around is not None:
                raise self._no_edge(time, around.start, around.end, name)
            if time < oldest:
                rule = "must not reach back" if name == "width" else "must not lie"
                raise InvalidInputError(
                    f"{rule} before {self._config.shown(oldest)}: older rows are counted together, "
                    f"got {self._config.shown(time)}",
                    argument=name,
                )
        return state.spans(low, high)

    def _oldest_edge(self, state: Panes) -> int:
        """Return the time before which rows are counted together: below all windows if none are."""
        return -4 * LIMIT if state.before is None else self._config.edges(state.end - 1)[-1]

    def _window_ends(
        self, state: Panes, panes: Sequence[Pane], size: int, step: int
    ) -> Sequence[int]:
        """Return the ends of readable windows: those after the last one that cuts a pane."""
        shift, newest = self._config.offset_size, (state.end - self._config.offset_size) // step
        first = (panes[0].start - shift) // step + 1
        first = max(first, -(-(self._oldest_edge(state) + size - shift) // step))
        for pane in panes:
            if pane.tier:
                for reach in (0, size):
                    last_cut = min((pane.end - 1 + reach - shift) // step, newest)
                    if pane.start < last_cut * step + shift - reach:
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
            low, high = int(times.argmin()), int(times.argmax())
            first, last = int(times[low]), int(times[high])
            is_early = first - config.offset_size < config.tiers[-1].width - LIMIT
            if is_early or config.end_of(last) >= LIMIT:
                raise InvalidInputError(
                    "must lie so that the ends of its panes fit 64 bits, got "
                    f"{first if is_early else last}",
                    argument=config.time,
                    position=low if is_early else high,
                )
        return times

    def _weighed(self, held: Held, rows: Sequence[GroupedRows]) -> FixedPoint:
        before = held.state.weight if held.weight is None else held.weight
        new = (total_weight(_fixed(part.columns.get(WEIGHTS)), part.size) for part in rows)
        return FixedPoint.total_of([before, *new])

    def _split(self, state: Any, held: Held, rows: GroupedRows | None) -> Any:
        new = [("unlabelled", part) for part in GroupedRows.together(held.blank)]
        new += [] if rows is None else [("part", rows)]
        times = [int(part.columns[TIMES].max()) for _, part in new]
        newest = max(times if state.newest is None else [state.newest, *times])
        return state.joined([state, *(self._counted(state, newest, *part) for part in new)])

    def _counted(self, state: Panes, newest: int, name: str, rows: GroupedRows) -> Panes:
        """Count rows into panes that hold accumulators of a name."""
        columns = dict(rows.columns)
        width, shift = self._config.width, self._config.offset_size
        numbers, pane_of = quotients(columns.pop(TIMES) - shift, width)
        slots, slot_of = slots_of(self._config, numbers * width + shift, newest)
        if len(slots) < len(numbers):  # several of the finest panes have moved into one
            pane_of = slot_of[pane_of]
        own = columns.pop(WEIGHTS, None)
        of_entries = pane_of if own is None else np.repeat(pane_of, own.size // rows.size)
        weights = weight_by_cell(_fixed(own), of_entries, len(slots))
        if name == "unlabelled":  # as counts of zeros
            columns |= dict.fromkeys(("y_true", "y_pred"), np.zeros(rows.size, dtype=np.int64))
            columns |= {} if own is None else {"sample_weight": own}
        parts: list[Sealed | None] = [None] * len(slots)
        if name in state.tables:
            left = GroupedRows(columns, rows.size, rows.codes)
            flat = count_flat(state.tables[name], left, pane_of, len(slots))
            parts = [Sealed(flat, at) for at in range(len(slots))]
        held = {"is_known": "unlabelled" in state.tables}
        panes = {
            slot[0]: Pane.of(slot, weights[at], **held, **{name: part})
            for at, (slot, part) in enumerate(zip(slots, parts, strict=True))
        }
        return Panes(state.inner, newest, panes, weight_of(panes.values()))


def _around(panes: Sequence[Pane], time: int) -> Pane | None:
    """Return the pane within which a time lies, if it is no edge."""
    at = bisect.bisect_left(panes, time, key=lambda pane: pane.start) - 1
    return panes[at] if at >= 0 and time < panes[at].end else None


def _fixed(weights: Array | None) -> FixedPoint | None:
    return None if weights is None else FixedPoint.of_numbers(weights.ravel())


class TwoStacks:
    """The panes of a window that slides: new ones enter at one end, old ones leave at the other.

    Parameters
    ----------
    inner : Inner
        The class and options of the accumulators.
    width : int
        The width of the window.

    Attributes
    ----------
    spans : deque of Pane
        The panes in it.
    """

    __slots__ = ("_back", "_coming", "_front", "_inner", "_width", "spans")

    def __init__(self, inner: Inner, width: int) -> None:
        self._inner = inner
        self._width = width
        self.spans: deque[Pane] = deque()
        self._front: list[Any] = []  # the last leaves next; each is merged with those below
        self._coming: list[Any] = []
        self._back: Any = None  # the merge of `_coming`

    def push(self, span: Pane) -> None:
        """Add the next pane."""
        held = None if span.part is None else span.part.copy()
        self.spans.append(span)
        self._coming.append(held)
        self._back = _joined(self._back, held)

    def slide(self, end: int) -> None:
        """Remove the panes that begin before a window with this end."""
        while self.spans and self.spans[0].start < end - self._width:
            self.spans.popleft()
            if not self._front:
                self._front = [*itertools.accumulate(reversed(self._coming), _joined)]
                self._coming, self._back = [], None
            self._front.pop()

    def merged(self) -> Any:
        """Merge all panes into a new accumulator."""
        found = _joined(self._front[-1] if self._front else None, self._back)
        return self._inner.empty() if found is None else found.copy()


def _joined(one: Any, other: Any) -> Any:
    if one is None or other is None:
        return other if one is None else one
    return merged([one, other])
