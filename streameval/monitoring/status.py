"""The status of a monitor: its last commit, what a step has changed, and what it costs."""

from __future__ import annotations

import math
import operator
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import attrs

from streameval.accumulators.collection import heaviest
from streameval.accumulators.evidence import slice_of
from streameval.accumulators.sealed import live
from streameval.errors import InvalidInputError
from streameval.render.text import clock_text, count, duration, size
from streameval.results.names import MetricName, parse_metrics
from streameval.results.result import Result

if TYPE_CHECKING:
    from streameval.accumulators.panes import Pane
    from streameval.accumulators.sliced import Sliced

BAD = ("unreadable", "refused", "future")
"""The reasons why a row cannot be counted."""


@attrs.frozen(kw_only=True)
class Status:
    """The numbers of the last commit; by default, those before the first row.

    Parameters
    ----------
    number : int
        The number of the commit.
    n_rows : int
        The predictions that have been read, without the bad ones.
    n_counted : int or float
        The weight of those that have been counted, labelled or not.
    n_labelled : int or float
        The weight of those that have been counted with a label.
    n_pending : int
        The predictions that are waiting for a label.
    watermark, label_watermark : datetime64[us], int or None
        No row before it is expected any more; None before the first row.
    mature_until : datetime64[us], int or None
        The end of the newest mature pane: no label is expected any more either.
    last_event_time : datetime64[us], int or None
        The newest prediction.
    counters : mapping from str to int
        Numbers of rows, as below.
    positions : mapping from str to JSON
        How far each source has been read.
    waits_for : datetime64[us], int or None
        Rows up to this event time are ahead of the clock, and are read once the clock has come
        close enough; None if no rows wait for the clock.
    is_full : bool
        Whether predictions are not read because too many are waiting for a label.
    committed_at : float or None
        Seconds since 1970; None before the first commit.
    n_dropped : int
        The events that had not arrived when their receiver was removed, and went to no other.

    Notes
    -----
    The counters:

    - ``labels``: labels that could be read; ``joined``: predictions that have found theirs.
    - ``unlabelled``: predictions whose wait ended without a label.
    - ``duplicate_prediction``: predictions whose id appeared within one wait before; only the first
      one counts.
    - ``duplicate_label``: labels that repeat an earlier one; ``conflicting``: that contradict the
      one that was counted.
    - ``corrected``: labels that replaced an earlier one within `settle`; ``late_correction``: that
      contradict an earlier one after `settle`.
    - ``late_label``: labels within a second wait, after that of the prediction; ``orphan_expired``:
      without a prediction, earlier or later, or more than two waits late.
    - ``late``: predictions later than `out_of_order` and `allowed_lateness` permit; they count, and
      their pane is reported again.
    - ``left_out``: predictions that a filter does not select.
    - ``unreadable``, ``refused`` and ``future``: bad rows.
    - ``lost``: rows that a server has deleted before they were read; ``disconnected``: how often
      one went away.
    """

    number: int = 0
    n_rows: int = 0
    n_counted: int | float = 0
    n_labelled: int | float = 0
    n_pending: int = 0
    watermark: Any = None
    label_watermark: Any = None
    mature_until: Any = None
    last_event_time: Any = None
    waits_for: Any = None
    counters: Mapping[str, int] = attrs.field(factory=dict)
    positions: Mapping[str, Any]
    is_full: bool = False
    committed_at: float | None = None
    n_dropped: int = 0

    @property
    def rows_read(self) -> dict[str, int]:
        """The rows that have been read of each source, without the bad ones."""
        numbers = {"predictions": self.n_rows, "labels": self.counters.get("labels", 0)}
        return {role: numbers[role] for role in self.positions}

    @property
    def coverage(self) -> float | None:
        """The share of the counted rows that have a label; None before the first."""
        return self.n_labelled / self.n_counted if self.n_counted else None

    @property
    def n_bad(self) -> int:
        """How many rows could not be counted."""
        return sum(self.counters.get(reason, 0) for reason in BAD)


@attrs.frozen(kw_only=True)
class Snapshot:
    """The last commit: what may be shown and exported.

    Parameters
    ----------
    windowed : Windowed or None
        What has been counted; None if that is not known before the first rows.
    status : Status
        The numbers.
    alerts : tuple of AlertState
        One for each rule and slice.
    """

    windowed: Any
    status: Status
    alerts: tuple[Any, ...]


@attrs.frozen
class Weights:
    """The weight of the labelled rows of a slice, and of all its rows."""

    labelled: int | float
    rows: int | float

    @property
    def coverage(self) -> float:
        """The share of the rows with a label; NaN without rows."""
        return self.labelled / self.rows if self.rows else math.nan


@attrs.frozen(slots=False)
class SliceRows:
    """How many rows the slices of a pane, or of a window, have, labelled or not.

    Parameters
    ----------
    _pane : Pane
        A pane, or several merged ones. Its rows are known by slice unless there are no slices, or
        a state of an older release had some of them.
    """

    _pane: Pane = attrs.field(repr=False, eq=operator.attrgetter("part", "unlabelled"))

    @classmethod
    def of_pane(cls, pane: Pane) -> Self | None:
        """Find the rows of a pane; None if they are not known by slice."""
        return cls(pane) if pane.is_known else None

    @cached_property
    def labelled(self) -> Any:
        """What has counted the rows with a label; None while there are none."""
        return live(self._pane.part)

    @cached_property
    def unlabelled(self) -> Any:
        """The rows without a label by slice; None while there are none."""
        return live(self._pane.unlabelled)

    def part(self, value: Any) -> Any:
        """Return what has counted the labelled rows of a slice, or all for `...`; None without."""
        return slice_of(self.labelled, value)

    def of(self, value: Any, labelled: int | float | None = None) -> Weights | None:
        """Weigh a slice; None if rows of its value may be among the others.

        Parameters
        ----------
        value : value of the column, or tuple of them
            Or `...` for all rows.
        labelled : int or float, optional
            The weight of its labelled rows, if it has a slice of them and that is known.
        """
        if value is not ...:
            return self._weighed(lambda part: _weight_of(part, value), labelled)
        if labelled is None:
            labelled = 0 if self.labelled is None else heaviest(self.labelled.n)
        return Weights(labelled, self._pane.n_rows)

    def without(self, values: Collection[Any]) -> Weights | None:
        """Weigh all rows but those of some slices; None if that is not known."""
        return self._weighed(lambda part: _weight_without(part, values))

    def _weighed(
        self, weigh: Callable[[Any], int | float | None], labelled: int | float | None = None
    ) -> Weights | None:
        if not self._pane.is_known:
            return None
        if labelled is None:
            labelled = 0 if self.labelled is None else weigh(self.labelled)
        unlabelled = 0 if self.unlabelled is None else weigh(self.unlabelled)
        if labelled is None or unlabelled is None:
            return None
        return Weights(labelled, labelled + unlabelled)


@attrs.frozen(kw_only=True, slots=False)
class Closed:
    """A pane that is mature: every row and label that is expected has come.

    Parameters
    ----------
    start, end : datetime64[us] or int
        The rows with ``start <= t < end``.
    n_rows : int or float
        The weight of all rows.
    part : object
        Holds what was counted, and makes a copy.
    is_revised : bool
        Whether the pane has been closed before: these are the numbers with late rows.
    by_slice : SliceRows, optional
        How many rows the slices have, labelled or not; None without slices, and where rows
        were counted by a release that did not know it.
    """

    start: Any
    end: Any
    n_rows: int | float
    part: Any = attrs.field(repr=False)
    is_revised: bool = False
    by_slice: SliceRows | None = attrs.field(default=None, repr=False)

    @cached_property
    def accumulator(self) -> Any:
        """What was counted, in an accumulator of its own."""
        return self.part.copy()

    @cached_property
    def n_labelled(self) -> int | float:
        """The weight of the rows with a label."""
        return heaviest(self.accumulator.n)

    @property
    def coverage(self) -> float:
        """The share of the rows that have a label."""
        return self.n_labelled / self.n_rows


@attrs.frozen(kw_only=True)
class Step:
    """What one step has changed.

    Parameters
    ----------
    n_rows : int
        How many predictions were read.
    n_labels : int
        How many labels were read.
    closed : tuple of Closed
        The panes that are mature now, in order of time; revised ones first.
    events : tuple of Event
        The events of alerts.
    is_idle : bool
        Whether all available rows have been read.
    is_waiting : bool
        Whether a server has not answered, so that there may be more although the step is idle.
    notes : tuple of str
        Warnings: bad rows, files that were truncated.
    """

    n_rows: int = 0
    n_labels: int = 0
    closed: tuple[Closed, ...] = ()
    events: tuple[Any, ...] = ()
    is_idle: bool = True
    is_waiting: bool = False
    notes: tuple[str, ...] = ()


def time_number(time: Any) -> int:
    """Return a time in its public form as microseconds since 1970, or as the step that it is."""
    return time if isinstance(time, int) else int(time.astype("int64"))


class Recent:
    """What a number was some rows, or seconds, ago.

    Parameters
    ----------
    span : float
        How far to look back, if there has been so much.
    apart : float
        By how much two marks differ.
    marks : sequence of (float, object)
        What was noted, the oldest first: when, and the number.
    """

    def __init__(self, span: float, apart: float = 0, marks: Sequence[Sequence[Any]] = ()) -> None:
        self._span, self._apart = span, apart
        self.marks = [*map(list, marks)]

    def note(self, at: float, number: Any) -> list[Any]:
        """Note a number, and return the mark with which to compare it."""
        marks = self.marks
        while len(marks) > 1 and at - marks[1][0] >= self._span:
            marks.pop(0)
        if not marks or at - marks[-1][0] >= self._apart:
            marks.append([at, number])
        return marks[0]


def check_exported(
    snapshot: Snapshot, windows: Sequence[Any], metrics: Sequence[str | MetricName]
) -> None:
    """Refuse windows and metrics that the monitor cannot have.

    Raises
    ------
    InvalidInputError
        If a window is not a whole number of panes, or a metric does not exist.
    """
    held = snapshot.windowed
    if held is None:  # on the command line, first rows decide what is counted
        return
    for width in windows:
        held.view().config.length(width, name="windows")
    result = held.view().config.accumulator.leaf.empty().compute()  # classes may still come
    for metric in parse_metrics(metrics):
        if not isinstance(result, Result):
            got = type(result).__name__
            raise InvalidInputError(
                f"needs a result with a table of metrics, got a {got}", argument="metrics"
            )
        result.check(metric)


def _weight_of(part: Sliced, value: Any) -> int | float | None:
    view = part.view()
    if value in view.parts:
        return view.parts[value].weight
    return 0 if view.other is None or value in view.config.named else None


def _weight_without(part: Sliced, values: Collection[Any]) -> int | float | None:
    if any(_weight_of(part, value) is None for value in values):
        return None
    return sum(one.weight for value, one in part.view().every.items() if value not in values)


_STATM = Path("/proc/self/statm")
_SPAN = 60.0


@attrs.frozen
class _Vital:
    """How a number is presented.

    Parameters
    ----------
    family : str
        Its name in Prometheus, empty if it is not exported.
    text : str
        The help there.
    heading : str
        Its name on a page.
    write : callable
        Makes its text on a page.
    labels : sequence of str
        What the keys are, if it is a mapping.
    is_counter : bool
        Whether it never decreases while the process lives.
    """

    family: str
    text: str
    heading: str
    write: Callable[[Any], str]
    labels: Sequence[str] = ()
    is_counter: bool = False


def _vital(*presented: Any) -> Any:
    return attrs.field(metadata={"vital": _Vital(*presented)})


@attrs.frozen(kw_only=True)
class Vitals:
    """What a monitor costs, and how far it is behind, as of its last step.

    A number is missing, or None, where it is not known.
    """

    rows_per_second: Mapping[str, float] = _vital(
        "",  # in Prometheus, it is the rate of a counter
        "Rows read a second in the last minute.",
        "Rows a second",
        lambda pace: f"{pace:,.3g}" if pace < 100 else f"{pace:,.0f}",
        ("source",),
    )
    lag_bytes: Mapping[str, int] = _vital(
        "streameval_lag_bytes",
        "Bytes of files that have not been read.",
        "Unread",
        size,
        ("source",),
    )
    lag_seconds: Mapping[str, float] = _vital(
        "streameval_lag_seconds",
        "Clock minus the event time of the newest row.",
        "Newest row is older than the clock by",
        duration,
        ("source",),
    )
    commit_seconds: float | None = _vital(
        "streameval_commit_duration_seconds",
        "How long the last step took that committed.",
        "Last step with a commit",
        lambda seconds: f"{seconds:.3g} s",
    )
    checkpoint_bytes: int = _vital(
        "streameval_checkpoint_bytes",
        "Size of the checkpoint, with its write-ahead log.",
        "Checkpoint",
        size,
    )
    pending_bytes: int = _vital(
        "streameval_pending_bytes", "Memory of pending rows.", "Memory of pending rows", size
    )
    memory_bytes: int | None = _vital(
        "streameval_memory_bytes", "Resident memory of the process.", "Memory", size
    )
    undelivered: Mapping[str, int] = _vital(
        "streameval_undelivered",
        "Events that have not arrived.",
        "Events not delivered",
        count,
        ("receiver",),
    )
    refused: Mapping[str, int] = _vital(
        "streameval_refused",
        "Attempts that a receiver refused, since the start.",
        "Refused attempts",
        count,
        ("receiver",),
        True,
    )
    is_reloaded: bool = _vital(
        "streameval_config_last_reload_successful",
        "0 after a reload that was refused, 1 otherwise.",
        "Last reload",
        lambda is_done: "done" if is_done else "refused",
    )
    reloaded_at: float = _vital(
        "streameval_config_last_reload_success_time_seconds",
        "When rules and receivers were last read.",
        "Rules and receivers read",
        clock_text,
    )
    quarantined: Mapping[str, int] = _vital(
        "streameval_quarantined_rows",
        "Rows written to the quarantine.",
        "Rows in quarantine",
        count,
        ("reason",),
        True,
    )

    def numbers(self) -> Iterator[tuple[_Vital, str | None, float]]:
        """Yield each number that is known: how to present it, its key in a mapping, and itself."""
        for field in attrs.fields(type(self)):
            vital, found = field.metadata["vital"], getattr(self, field.name)
            for key, one in found.items() if vital.labels else [(None, found)]:
                if one is not None:
                    yield vital, key, one


VITALS: tuple[_Vital, ...] = tuple(one.metadata["vital"] for one in attrs.fields(Vitals))
"""How each of the numbers is presented."""


class Pace:
    """How many rows a second each source has had in the last minute."""

    def __init__(self) -> None:
        self._seen = Recent(_SPAN)

    def observe(self, now: float, n_rows: Mapping[str, int]) -> dict[str, float]:
        """Note the rows that have been read until now, and return the pace of each source."""
        began, before = self._seen.note(now, n_rows)
        if now <= began:
            return {}
        return {role: (n - before[role]) / (now - began) for role, n in n_rows.items()}


def memory_of_process() -> int | None:
    """Return the resident bytes of this process; None where the system does not say."""
    try:
        resident = _STATM.read_text(encoding="ascii").split()[1]
    except OSError:
        return None
    return int(resident) * os.sysconf("SC_PAGE_SIZE")


def size_of_files(paths: Iterable[str]) -> int:
    """Add up the sizes of the files that exist."""
    n_bytes = 0
    for path in paths:
        with suppress(OSError):
            n_bytes += Path(path).stat().st_size
    return n_bytes


def summed(pairs: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Add up numbers by name: two receivers of one host have one name."""
    total: Counter[str] = Counter()
    for name, n in pairs:
        total[name] += n
    return dict(total)
