"""Rules about a metric of each pane, decided by its value or by the e-detector."""

from __future__ import annotations

import base64
import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import attrs
import numpy as np

from streameval.accumulators.evidence import slice_of
from streameval.accumulators.panes import Pane
from streameval.accumulators.parts import merge
from streameval.accumulators.sliced import Sliced
from streameval.accumulators.windowed import TwoStacks, Windowed
from streameval.configs.names import nearest
from streameval.configs.windowed import WindowedConfig
from streameval.errors import InvalidInputError, require
from streameval.inputs.durations import read_duration
from streameval.inputs.values import items_of
from streameval.metrics.evidence import TILTS, Detector, Limit
from streameval.metrics.intervals import normal_quantile
from streameval.metrics.table import NO_VALUE, Reading
from streameval.monitoring.rule_text import Length, RuleText, Selector
from streameval.monitoring.rules import AlertState, Event, Phase, Rule
from streameval.monitoring.status import SliceRows
from streameval.results.collection import found
from streameval.results.evidence import read_pane
from streameval.results.names import Inequality, MetricName, parse_metric
from streameval.results.result import Result
from streameval.results.sliced import slice_names

COVERAGE = "coverage"
"""The metric of rules about the share of rows with a label."""

_COVERAGE = parse_metric(COVERAGE)

LEVEL = 0.95
"""Of the sampling intervals that events show."""

N_PANES = 60
"""How many panes a page shows of a series, and the evidence of how many is kept."""

_NEAR = math.log(10.0)
_MIN_PANES = 3


@attrs.frozen
class _Value:
    """The value of a metric from `start` to `end`; `read` adds the sampling interval."""

    reading: Reading
    read: Callable[[], Reading]
    n: int | float
    start: int
    end: int

    @property
    def is_empty(self) -> bool:
        """Whether the metric is undefined there."""
        return math.isnan(self.reading.value)


class ReadPanes:
    """The panes of a `Windowed`, one after the other; each is read once for all rules.

    Parameters
    ----------
    windowed : Windowed
    """

    def __init__(self, windowed: Windowed) -> None:
        self._view = windowed.view()
        self._panes: dict[int, SliceRows] = {}
        self._results: dict[Any, Result | None] = {}
        self._windows: dict[int, TwoStacks] = {}
        self._merged: dict[int, tuple[Any, int]] = {}

    def between(self, low: int | None, high: int) -> Iterator[Pane]:
        """Yield the panes within two times, in order; what was read of one goes with it."""
        for span in self._view.spans(low, high):
            yield span
            self._results.clear()
            self._panes.clear()
            self._merged.clear()

    def result(self, span: Pane, value: Any) -> Result | None:
        """Compute the result of a slice in a pane; None without rows."""
        if value not in self._results:
            part = self._rows(span).part(value)
            self._results[value] = None if part is None else part.compute()
        return self._results[value]

    def window(self, span: Pane, width: int, value: Any) -> tuple[Result | None, int]:
        """Compute the result of a slice in the window that ends with a pane, and where it begins.

        Windows slide along: two or three merges a pane, for all slices.
        """
        if width not in self._merged:
            inner = self._view.config.accumulator
            window = self._windows.setdefault(width, TwoStacks(inner, width))
            low = window.spans[-1].end if window.spans else span.end - width
            for one in self._view.spans(low, span.end):
                window.push(one)
            window.slide(span.end)
            self._merged[width] = window.merged(), window.spans[0].start if window.spans else 0
        merged, start = self._merged[width]
        return slice_of(merged, value).compute(), start

    def over(self, start: int, end: int, value: Any) -> tuple[Result | None, int]:
        """Compute the result of a slice in all panes within two times, and where they begin."""
        spans = self._view.spans(start, end)
        parts = [self._rows(span).part(value) for span in spans]
        found = [part for part in parts if part is not None]
        return (merge(found).compute(), spans[0].start) if found else (None, start)

    def coverage(self, span: Pane, value: Any) -> _Value:
        """Divide the rows of a slice in a pane that have a label by all of them."""
        found = self._rows(span).of(value)
        if found is None or not found.rows:
            return _Value(NO_VALUE, lambda: NO_VALUE, 0, span.start, span.end)
        reading = Reading(found.coverage)
        return _Value(reading, lambda: reading, found.rows, span.start, span.end)

    def _rows(self, span: Pane) -> SliceRows:
        return self._panes.setdefault(span.end, SliceRows(span))


@attrs.define(slots=False)
class MetricRule(Rule):
    """A condition on the value of a metric in mature panes, each of which is looked at once.

    ``METRIC < NUMBER`` is decided by the e-detector of `evidence`. With any of the clauses
    ``over 1h``, ``for 3 panes`` (or ``for 15m``) and ``n >= 500`` the value is compared with the
    number. ``{country=DE}`` behind the metric restricts a rule to a slice, ``{all}`` to all rows.
    ``coverage`` is the share of rows with a label.

    Parameters
    ----------
    claim : Inequality
    selector : Selector, optional
        None means all rows together, and each named slice.
    """

    claim: Inequality
    selector: Selector | None = None

    @classmethod
    def read(cls, text: RuleText) -> MetricRule:
        """Read the metric, its slice, the sign and the number, and the clauses."""
        metric = text.metric()
        selector = text.selector() if text.take("{") else None
        claim = Inequality(metric, text.sign(), text.number())
        clauses = text.clauses()
        if not clauses and metric != _COVERAGE:
            return EvidenceRule(claim, selector)
        if "over" in clauses and metric == _COVERAGE:
            text.at = 0
            text.fail("coverage of a pane, without over")
        lengths = clauses.get("over"), clauses.get("for")
        return ValueRule(claim, selector, *lengths, clauses.get("n"))

    @property
    def text(self) -> str:
        """The rule in its canonical form, which identifies it."""
        claim = self.claim
        selector = "" if self.selector is None else str(self.selector)
        return f"{claim.metric}{selector} {claim.sign} {claim.number!r}".removesuffix(".0")

    @property
    def metric(self) -> MetricName:
        """The metric."""
        return self.claim.metric

    @property
    def result_metric(self) -> MetricName | None:
        """The metric, if it is not the coverage."""
        return None if self.metric == _COVERAGE else self.metric

    @property
    def number(self) -> float:
        """The limit."""
        return self.claim.number

    @property
    def limit(self) -> Limit:
        """What the metric keeps while there is no alarm."""
        return Limit(self.number, is_floor=self.claim.sign[0] == "<")

    def slices(self, config: WindowedConfig) -> Sequence[Any]:
        """List the slices that it names; without any, all rows and each named slice."""
        inner, selector = config.accumulator, self.selector
        if selector is not None and not selector.pairs:
            return [...]
        if inner.cls is not Sliced:
            if selector is None:
                return [...]
            raise InvalidInputError(
                f"{self.text!r} names a slice, but panes are not a Sliced; --by makes one"
            )
        options = inner.options
        if selector is None:
            return [..., *options.values]
        for column, _, _ in selector.pairs:
            if column not in options.column:
                raise InvalidInputError(
                    f"{self.text!r}: no slices by {column!r}: {nearest(column, options.column)}"
                )
        found = [value for value in options.values if selector.chooses(options.items(value))]
        if not found:
            known = [f"{{{name}}}" for name in slice_names(options, options.values)]
            hint = f"{nearest(str(selector), known)} Name others" if known else "name it"
            raise InvalidInputError(
                f"{self.text!r}: no named slice {selector}: {hint} in `values` of the "
                "`Sliced` (--by COLUMN=A,B)."
            )
        return [min(found, key=_n_texts)]  # quotes tell text from a number

    def overlooks(self, config: WindowedConfig) -> bool:
        """Whether there are slices, of which it sees none, because none has a name."""
        inner = config.accumulator
        return self.selector is None and inner.cls is Sliced and not inner.options.values

    def check(self, result: Any) -> None:
        """Refuse an unknown metric."""
        metric = self.result_metric
        if metric is None:
            return
        if not isinstance(result, Result):
            got = type(result).__name__
            raise InvalidInputError(
                f"{self.text!r} needs a result with a table of metrics, got a {got}"
            )
        try:
            result.check(metric)
        except InvalidInputError as error:
            raise error.within(repr(self.text)) from None

    @abstractmethod
    def look(self, span: Pane, panes: ReadPanes, now: int) -> Event | None:
        """Look at the next pane."""

    def calm(self, since: int) -> None:
        """Return from pending to inactive; keep any other state."""
        self.turn("inactive" if self.state == "pending" else self.state, since)

    def found(self, state: Phase, value: _Value, now: int, end: int) -> Event:
        """Make the event of a value."""
        self.turn(state, end)
        reading = value.read()
        low, high = (float(bound) for bound in reading.certified)
        return self.event(
            state,
            end,
            now,
            value=_finite(float(reading.value)),
            certified=(low, high) if reading.is_open else None,
            interval=reading.sampling,
            n=value.n,
            start=self.time(value.start),
            end=self.time(value.end),
        )


@attrs.define(slots=False)
class ValueRule(MetricRule):
    """A comparison of the value, which has to hold for some panes.

    Parameters
    ----------
    over : int or str, optional
        The width of the window whose value counts; by default a pane.
    lasting : int or str, optional
        How long the condition must hold.
    min_n : int, optional
        The min number of examples in a pane or window.
    """

    OWN = ("run",)

    over: Length | None = None
    lasting: Length | None = None
    min_n: int | None = None
    run: int = attrs.field(init=False, eq=False, default=0)
    needed: int = attrs.field(init=False, eq=False, default=1)
    width: int = attrs.field(init=False, eq=False, default=0)

    @property
    def text(self) -> str:
        """The rule in its canonical form, which identifies it."""
        text = super().text
        text += "" if self.over is None else f" over {_length_text(self.over)}"
        text += "" if self.lasting is None else f" for {_length_text(self.lasting)}"
        return text + ("" if self.min_n is None else f", n >= {self.min_n}")

    def follow(self, value: Any, config: WindowedConfig, about: dict[str, Any]) -> Self:
        """Return a copy that begins with the state of a slice."""
        made = super().follow(value, config, about)
        made.needed = made._panes_of(self.lasting) or 1
        made.width = (made._panes_of(self.over) or 0) * config.width
        return made

    def look(self, span: Pane, panes: ReadPanes, now: int) -> Event | None:
        """Compare; a pane without a value changes nothing."""
        value = self._read(span, panes)
        if value.is_empty or value.n < (self.min_n or 0):
            return None
        if not self.claim.holds_certainly(value.reading):
            self.run = 0
            if self.state == "firing":
                return self.found("resolved", value, now, span.end)
            self.calm(span.end)
            return None
        self.run = min(self.run + 1, self.needed)
        if self.state == "firing":
            return None
        if self.run == self.needed:
            return self.found("firing", value, now, span.end)
        self.turn("pending", span.end)
        return None

    def _read(self, span: Pane, panes: ReadPanes) -> _Value:
        if self.result_metric is None:
            return panes.coverage(span, self.value)
        if not self.width:
            return _read(panes.result(span, self.value), self.metric, span.start, span.end)
        result, start = panes.window(span, self.width, self.value)
        return _read(result, self.metric, start, span.end)

    def _panes_of(self, length: Length | None) -> int | None:
        """Return a length as a number of panes."""
        if length is None or isinstance(length, int):
            return length
        if self.config.is_step:
            raise InvalidInputError(
                f"{self.text!r}: must be in panes, because a pane is a number of steps"
            )
        size = read_duration(length, name="rule")
        if size % self.config.width:
            raise InvalidInputError(
                f"{self.text!r}: {length} must be a multiple of the pane, {self.config.pane}"
            )
        return int(size // self.config.width)


@attrs.define(slots=False)
class EvidenceRule(MetricRule):
    """The e-detector, which begins again after every alarm.

    While an alert fires, the detector goes on. The alert is resolved once as many panes as its
    last alarm rests on, three at least, have passed without a further alarm, if the value of
    the metric in all of them together keeps the limit.

    An alarm rests on the panes from the likeliest change on, see `Detector.age`. For shares and
    means, the value in them is beyond the limit; an area of all of them together need not be, since
    it ranks their rows against each other, and then the first of them are left out.
    """

    OWN = ("sums", "seen", "crossed", "rests_on")
    RARE = (*Rule.RARE, "looks")

    detector: Detector = attrs.field(init=False, eq=False, factory=Detector.zero)
    log_threshold: float = attrs.field(init=False, eq=False, default=math.inf)
    """Where an alarm is raised, by the number of detectors that share a promise."""
    seen: int | None = attrs.field(init=False, eq=False, default=None)
    crossed: int = attrs.field(init=False, eq=False, default=0)
    rests_on: int = attrs.field(init=False, eq=False, default=0)
    looks: list[list[int]] = attrs.field(init=False, eq=False, factory=list)
    """How many panes each look took, and percent of an alarm."""

    def check(self, result: Any) -> None:
        """Refuse a metric without evidence, too."""
        super().check(result)
        try:
            statistic = result.statistic(self.metric)
        except InvalidInputError as error:
            remedy = f"A comparison of the value takes any metric: '{self.text} for 3 panes'."
            raise InvalidInputError(f"{self.text!r}: {error} {remedy}") from None
        try:
            statistic.checked(self.limit)
        except InvalidInputError as error:
            raise InvalidInputError(f"{self.text!r}: the limit {error.reason}") from None

    @property
    def history(self) -> tuple[tuple[Any, float], ...]:
        """The ends of the last panes, and the evidence as a share of that of an alarm."""
        end, found = self.seen or 0, []
        for n_panes, percent in reversed(self.looks):
            found.append((self.config.shown(end), percent / 100))
            end -= n_panes * self.config.width
        return tuple(reversed(found))

    @property
    def sums(self) -> str:
        """The sums of the detector, as text."""
        sums = np.concatenate(attrs.astuple(self.detector))
        return base64.b64encode(sums.astype("<f8").tobytes()).decode("ascii")

    @sums.setter
    def sums(self, text: str) -> None:
        data = base64.b64decode(text)
        n_parts, rest = divmod(len(data), 8 * len(TILTS))
        require(n_parts in (2, 3) and not rest, "the sums of an alert")
        parts = np.split(np.frombuffer(data, dtype="<f8").astype(np.float64), n_parts)
        self.detector = Detector(*parts) if n_parts == 3 else Detector.of_means(*parts)

    def look(self, span: Pane, panes: ReadPanes, now: int) -> Event | None:
        """Go on by a pane, and decide."""
        _, statistic = read_pane(panes.result(span, self.value), self.metric)
        before = span.start if self.seen is None else self.seen
        n_empty = (span.start - before) // self.config.width
        self.detector = self.detector.after(statistic, self.limit, n_empty)
        self.seen = span.end
        log_evidence = self.detector.log_evidence
        look = [(span.end - before) // self.config.width, self._percent(log_evidence)]
        self.looks = [*self.looks, look][-N_PANES:]
        if log_evidence >= self.log_threshold:
            n_panes = self.detector.age
            self.rests_on = max(n_panes, _MIN_PANES)
            self.crossed = span.end
            self.detector = Detector.zero()
            if self.state == "firing":
                return None
            return self.found("firing", self._basis(span, panes, n_panes), now, span.end)
        if self.state == "firing":
            return self._resolved(span, panes, now)
        if log_evidence >= self.log_threshold - _NEAR:
            self.turn("pending", span.end)
        else:
            self.calm(span.end)
        return None

    def shown(self) -> AlertState:
        """Show the evidence too."""
        return attrs.evolve(
            super().shown(),
            log_evidence=_finite(self.detector.log_evidence),
            log_threshold=self.log_threshold,
            history=() if self.state == "inactive" else self.history,
        )

    def _percent(self, log_evidence: float) -> int:
        if log_evidence >= self.log_threshold:
            return 100
        return int(100 * log_evidence / self.log_threshold) if log_evidence > 0 else 0

    def _resolved(self, span: Pane, panes: ReadPanes, now: int) -> Event | None:
        if span.end - self.crossed < self.rests_on * self.config.width:
            return None
        value = self._recent(span, panes, self.rests_on)
        if value.is_empty or self.claim.holds_certainly(value.reading):
            return None
        return self.found("resolved", value, now, span.end)

    def _basis(self, span: Pane, panes: ReadPanes, n_panes: int) -> _Value:
        """Read the panes that an alarm rests on, whose value is beyond the limit."""
        value = self._recent(span, panes, n_panes)
        while not self.limit.is_broken(value.reading.value) and n_panes > 1:
            n_panes -= 1
            value = self._recent(span, panes, n_panes)
        return value

    def _recent(self, span: Pane, panes: ReadPanes, n_panes: int) -> _Value:
        """Read the last panes."""
        first = min(span.end - n_panes * self.config.width, span.start)
        result, start = panes.over(first, span.end, self.value)
        return _read(result, self.metric, start, span.end)


def _length_text(length: Length) -> str:
    if isinstance(length, str):
        return length
    return "1 pane" if length == 1 else f"{length} panes"


def _read(result: Result | None, metric: MetricName, start: int, end: int) -> _Value:
    """Read the value of a metric: nan where it is undefined."""
    asked = None if result is None else found(result, metric)
    reading = NO_VALUE if asked is None else asked.read(0.0)
    if asked is None or reading.is_substitute:
        return _Value(NO_VALUE, lambda: NO_VALUE, 0, start, end)
    n = asked.size
    return _Value(reading, lambda: asked.read(normal_quantile(LEVEL)), n, start, end)


def _n_texts(value: Any) -> int:
    return sum(isinstance(item, str) for item in items_of(value))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
