"""The result of `evidence`: whether a metric has passed a limit, pane by pane."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Self

import attrs
import numpy as np

from streameval.errors import UnknownMetricError
from streameval.exact.array_types import Floats, Mask
from streameval.metrics.evidence import Limit, Share, Statistic, accumulated
from streameval.render.sheets import Grid, Sheet, SheetColumn
from streameval.render.text import fixed, plural, time_text
from streameval.results.names import MetricName, parse_metric
from streameval.results.result import Reported, Result

TimedResult = tuple[Any, Any, Result | None]

_NOTHING = Share.of(0.0, 0.0)
_SHOWN = 10


@attrs.frozen(repr=False, eq=False)
class Evidence(Reported):
    """Whether a metric has passed a limit, checked after every pane.

    Made by `evidence`. The evidence is the mean of 32 Shiryaev-Roberts e-detectors. The alarm
    fires when it first reaches `n_series * mean_panes`, and stays on while the panes up to that
    point are kept: evidence is recomputed from the panes that the `Windowed` holds. Once these
    panes are rolled up or dropped, the alarm may disappear, so store `fired_at`.

    Parameters
    ----------
    metric : str
        The metric, as requested.
    limit : Limit
        The limit to keep; as text, ``">= 0.9"``.
    mean_panes : float
        The minimum mean number of panes between false alarms.
    n_series : int
        The number of series that share this promise.
    exact : bool
        Whether the promise holds without approximation. For the area under the ROC curve, the
        evidence assumes a normal distribution with DeLong's variance.
    """

    metric: str
    limit: Limit
    mean_panes: float
    n_series: int
    exact: bool
    _panes: Sequence[tuple[Any, Any]]
    _values: Floats
    _log_evidence: Floats

    @classmethod
    def of(
        cls,
        panes: Iterable[TimedResult],
        total: Result,
        metric: str,
        limit: Limit,
        *,
        mean_panes: float,
        n_series: int,
    ) -> Self:
        """Read closed panes in order of time; None stands for a pane without the series.

        The total is read first, to refuse a metric that cannot be tested.
        """
        name = parse_metric(metric)
        of_total = total.statistic(name)
        of_total.checked(limit)
        times: list[tuple[Any, Any]] = []
        values: list[float] = []
        statistics: list[Statistic] = []
        for start, end, result in panes:
            value, statistic = read_pane(result, name)
            values.append(value)
            times.append((start, end))
            statistics.append(statistic)
        return cls(
            str(name),
            limit,
            mean_panes,
            n_series,
            of_total.is_exact,
            times,
            np.array(values, dtype=np.float64),
            np.fromiter(accumulated(statistics, limit), np.float64, len(statistics)),
        )

    @property
    def firing(self) -> bool:
        """Whether the alarm has fired; it stays on while the panes up to that point are kept."""
        return bool(self._fired.any())

    @property
    def fired_at(self) -> Any:
        """The end of the pane in which the evidence first reached the threshold, or None."""
        return self._panes[int(self._fired.argmax())][1] if self.firing else None

    @property
    def log_evidence(self) -> float:
        """The logarithm of the evidence after the newest closed pane; -inf without panes."""
        return float(self._log_evidence[-1]) if len(self._log_evidence) else -math.inf

    @property
    def log_threshold(self) -> float:
        """The logarithm of the evidence at which the alarm fires."""
        return math.log(self.n_series * self.mean_panes)

    @property
    def n_panes(self) -> int:
        """The number of closed panes."""
        return len(self._panes)

    @property
    def n_empty(self) -> int:
        """The number of closed panes without the metric; they do not change the evidence."""
        return int(np.count_nonzero(np.isnan(self._values)))

    def per_pane(self) -> dict[str, list[Any]]:
        """List the closed panes in the order of time, as columns that a data frame takes.

        Returns
        -------
        dict of lists
            ``start`` and ``end`` of each pane, ``value`` of the metric in it (nan where it is
            undefined; the middle of a certified interval), and ``log_evidence`` after it.
        """
        starts, ends = zip(*self._panes, strict=True) if self._panes else ((), ())
        return {
            "start": list(starts),
            "end": list(ends),
            "value": self._values.tolist(),
            "log_evidence": self._log_evidence.tolist(),
        }

    def as_dict(self) -> dict[str, int | float]:
        """Flatten to plain numbers for a logger."""
        names = ("firing", "log_evidence", "log_threshold", "n_panes", "n_empty")
        return {name: getattr(self, name) for name in names}

    def line(self) -> str:
        """Report whether the alarm has fired, in one line."""
        return (
            f"{self.metric} {self.limit}: {self._alarm_text}, evidence {self.log_evidence:.2f} "
            f"(alarm from {self.log_threshold:.2f})"
        )

    def sheet(self) -> Sheet:
        """Return the content of the report: whether the alarm has fired, and the newest panes."""
        columns = self.per_pane()
        shown = slice(max(self.n_panes - _SHOWN, 0), None)
        grid = [
            SheetColumn.of_names("pane ends", map(time_text, columns["end"][shown])),
            SheetColumn(
                [str(self.metric), *(fixed(value, 4) for value in columns["value"][shown])]
            ),
            SheetColumn(
                ["evidence", *(f"{number:.2f}" for number in columns["log_evidence"][shown])]
            ),
        ]
        older = self.n_panes - _SHOWN
        more = [f"... after {plural(older, 'older pane')}"] if older > 0 else []
        how = "" if self.exact else "; areas treated as normal"
        every = "" if self.n_series == 1 else f" in any of {self.n_series:,} series"
        alarm = (
            f"alarm from {self.log_threshold:.2f} on: if the limit is kept, one{every} in "
            f"{self.mean_panes:,.6g} panes or more, on average{how}"
        )
        return [
            f"{self.metric} {self.limit}: {self._alarm_text}",
            Grid(grid, caption="\n".join([*more, alarm])),
        ]

    @property
    def _fired(self) -> Mask:
        return np.asarray(self._log_evidence >= self.log_threshold)

    @property
    def _alarm_text(self) -> str:
        return f"alarm at {time_text(self.fired_at)}" if self.firing else "no alarm"

    def __repr__(self) -> str:
        """Show metric, limit and evidence on one line."""
        return (
            f"Evidence({self.metric} {self.limit}: {self._alarm_text}, "
            f"log_evidence={self.log_evidence:.4g} of {self.log_threshold:.4g}, "
            f"n_panes={self.n_panes}{'' if self.exact else ', normal approximation'})"
        )


def read_pane(result: Result | None, metric: MetricName) -> tuple[float, Statistic]:
    """Read the value of a metric in a pane, nan where it is undefined, and what a test reads.

    A pane without rows, or without rows of the class, does not define the metric.
    """
    if result is None:
        return math.nan, _NOTHING
    try:
        statistic = result.statistic(metric)
    except UnknownMetricError:
        return math.nan, _NOTHING
    return math.nan if statistic.is_empty else statistic.value, statistic
