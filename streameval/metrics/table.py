"""The table of metrics: one row each, read by every text, page, message and test.

A new metric is a pure function and a row in the table of its result. `report`, `as_dict`, JSON,
pages, `explain`, gates, suggestions for misspelt names and the reference follow.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, Self

import attrs

from streameval.errors import InvalidInputError, Named
from streameval.metrics.bounded import Bounded, Interval
from streameval.metrics.evidence import Statistic
from streameval.metrics.intervals import UNDEFINED, or_limits

SHARE: Interval = (0.0, 1.0)
CORRELATION: Interval = (-1.0, 1.0)
NOT_NEGATIVE: Interval = (0.0, math.inf)
UP_TO_ONE: Interval = (-math.inf, 1.0)
UNLIMITED: Interval = (-math.inf, math.inf)
"""The ranges of the values of metrics."""

_CUTOFF = re.compile(r"@\d+$|\(.*\)$")
_MEAN = "macro|micro|weighted|samples"
_FORM = re.compile(
    r"(?:(?:binary|multiclass|multilabel|retrieval|neg)_)?"
    rf"(?:(?P<first>{_MEAN})_)?(?P<name>.+?)(?:_(?P<last>{_MEAN}))?"
)
"""What other libraries put before and after the name of a metric, as in ``binary_f1_score``."""


@attrs.frozen
class Reading:
    """The value of a metric, and its uncertainty.

    Parameters
    ----------
    value : float
        A `Bounded` if it has a certified interval.
    sampling : tuple of float, optional
        The sampling interval; None if there is none.
    why_none : str
        Why there is no sampling interval, for a metric that should have one.
    is_count : bool
        Whether it is a weight or a count, not a metric.
    is_substitute : bool
        Whether the value is a convention where rows do not define the metric.
    """

    value: float
    sampling: Interval | None = None
    why_none: str = ""
    is_count: bool = False
    is_substitute: bool = False

    @classmethod
    def sampled(
        cls,
        value: float,
        ends: Interval | None,
        why_none: str,
        *,
        is_substitute: bool = False,
    ) -> Self:
        """Combine a value with its sampling interval; None, or ends of nan, are none."""
        if why_none and math.isnan(value):
            why_none = "the value is nan"
        sampling = None if ends is None or math.isnan(ends[0]) else ends
        return cls(value, sampling, why_none, is_substitute=is_substitute)

    @property
    def is_defined(self) -> bool:
        """Whether rows define the metric."""
        return not (self.is_substitute or math.isnan(self.value))

    @property
    def defined(self) -> Reading:
        """What may be compared and drawn: nan where rows do not define the metric."""
        return NO_VALUE if self.is_substitute else self

    @property
    def certified(self) -> Interval:
        """The interval that contains the exact value on these rows: the value itself if exact."""
        if isinstance(self.value, Bounded):
            return self.value.low, self.value.high
        return self.value, self.value

    @property
    def is_open(self) -> bool:
        """Whether the certified interval is more than one point."""
        low, high = self.certified
        return low < high

    @property
    def deciding(self) -> Interval | None:
        """The interval that gates check; None if it is missing."""
        if self.sampling is None and self.why_none:
            return None
        return self.sampling or self.certified

    @property
    def ends(self) -> list[float]:
        """The value and the ends of its intervals, where they are finite."""
        every = (self.value, *self.certified, *(self.sampling or ()))
        return [end for end in every if math.isfinite(end)]


NO_VALUE = Reading(math.nan)
"""The reading of what is undefined."""

Samples = Literal["independent", "alike", "paired"]


@attrs.frozen
class Change:
    """A metric before and after.

    Parameters
    ----------
    before, after : Reading
        The readings of the two states.
    samples : {"independent", "alike", "paired"}
        What the states are of: samples that are assumed to be independent; the same, although they
        have equally many rows of each class, which two models on the same rows have too; or the
        same units, as the queries of two rankings.
    paired : (float, float), optional
        The sampling interval of the difference on the same units.
    """

    before: Reading
    after: Reading
    samples: Samples = "independent"
    paired: Interval | None = None

    @property
    def difference(self) -> float:
        """After minus before; nan if either is undefined."""
        return self.after.defined.value - self.before.defined.value

    @property
    def bounds(self) -> Interval:
        """The certified interval of the difference on the counted rows."""
        a, b = self.before.defined, self.after.defined
        (a_low, a_high), (b_low, b_high) = a.certified, b.certified
        return b_low - a_high, b_high - a_low

    @property
    def is_open(self) -> bool:
        """Whether the certified interval of the difference is more than one point."""
        low, high = self.bounds
        return low < high

    @property
    def reading(self) -> Reading:
        """The difference and its intervals, in the form of a metric."""
        value: float = self.difference
        if self.is_open and not math.isnan(value):
            low, high = self.bounds
            value = Bounded(min(max(value, low), high), low, high)
        return Reading(value, self.sampling, is_count=self.before.is_count)

    @property
    def sampling(self) -> Interval | None:
        """The sampling interval of the difference: paired, or of two independent samples.

        The latter is the method of variance estimates recovery: each end combines the distances
        to the relevant ends of both intervals (Newcombe, "Interval estimation for the
        difference between independent proportions", 1998; Zou and Donner, "Construction of
        confidence limits about effect measures", 2008). It starts at the certified bounds of the
        difference, which no sample moves. None if either has no interval.
        """
        a, b = self.before.defined, self.after.defined
        if self.samples == "paired":
            return None if math.isnan(self.difference) else self.paired
        if a.sampling is None or b.sampling is None:
            return None
        (a_low, a_high), (b_low, b_high) = a.sampling, b.sampling
        (a_first, a_last), (b_first, b_last) = a.certified, b.certified
        low, high = self.bounds
        down = math.hypot(b_first - b_low, a_high - a_last)
        up = math.hypot(b_high - b_last, a_first - a_low)
        return low - down, high + up


def whole_weights(
    are_whole: Callable[[Any], bool], *, of: str = "an example", argument: str = "sample_weight"
) -> Callable[..., None]:
    """Make the function that refuses weights with fractions; whole ones repeat what is drawn.

    Parameters
    ----------
    are_whole : callable
        From the source of a result: whether all weights are whole.
    of : str
        What is drawn.
    argument : str
        The argument that gives the weights.
    """

    def check(source: Any, *_: Any, **__: Any) -> None:
        if not are_whole(source):
            raise InvalidInputError(
                f"had fractions, and a fraction of {of} is not a draw: there is neither a sampling "
                "interval nor evidence",
                argument=argument,
            )

    return check


def _attribute(name: str) -> Callable[..., Any]:
    """Make a function that reads an attribute, or calls a method."""

    def value(source: Any, *args: Any, **options: Any) -> Any:
        found = getattr(source, name)
        return found(*args, **options) if callable(found) else found

    return value


def always(source: Any) -> bool:  # noqa: ARG001 - of any source
    """Apply to every result."""
    return True


def never(source: Any) -> bool:  # noqa: ARG001 - of any source
    """Apply to no result."""
    return False


def accept(source: Any, *args: Any, **options: Any) -> None:
    """Refuse nothing."""


def _nothing(result: Any) -> str:  # noqa: ARG001 - of any result
    return ""


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False)
class Metric:
    """The definition of one metric, and how it is shown.

    Parameters
    ----------
    name : str
        The name by which users ask for it.
    aliases : tuple of str
        Names in other tools, and names that people type: messages suggest the metric for them.
    help : str
        A sentence: what it is, its range, and where it is undefined.
    notes : str
        More sentences for `explain`.
    value : callable
        The pure function: from the source of a result, and the arguments, to the number. By
        default the attribute or the method of that name.
    formula : str
        As TeX.
    heading : str
        The title on pages, which leave out metrics without one.
    qualifier : callable
        From a result: by what the metric is weighted, which may differ between results.
    subtracts : str
        What is subtracted from what, which tables say behind the name of a difference.
    better : {"higher", "lower", ""}
        The better direction, if there is one.
    certified : bool
        Whether the value is a `Bounded`.
    sampling : callable, optional
        The function of the sampling interval: from the source of a result, the value, the number
        of deviations z, and the arguments of `value`, to low and high. The value is not nan. The
        ends are nan where rows do not say how far off it may be.
    check_draws : callable
        From the source of a result, and the arguments of `value`: raises InvalidInputError where
        there is neither an interval nor evidence, whatever the value.
    why_none : str
        Why there may be no sampling interval.
    evidence : callable, optional
        The function of the statistic of an anytime-valid test, with the arguments of `value`.
    why_no_evidence : str
        Why there is no such test.
    arguments : tuple of str
        As in a signature: those without a default are required, as in ``recall_at(0.5)``.
    averages : mapping of str to str
        The averages over classes, with descriptions.
    oracle : str
        The reference that tests compare it with.
    listed : callable
        From the source of a result: whether the metric applies to it.
    is_substitute : callable, optional
        From the source of a result, the value, and the arguments of `value`: whether the value is a
        convention where rows do not define the metric, such as `zero_division`, or the 0 of a query
        without a relevant document. Others are nan there. It is all that `Reading.is_substitute`
        says.
    limits : (low, high), optional
        The range of its values, which is the interval where rows do not say how far off it may be.
        Intervals for clusters choose their scale by it. None for those that have no such interval:
        they are not properties of the population, such as p-values, or not smooth, such as the best
        threshold and sums of absolute gaps, which the jackknife needs.
    is_count : bool
        Whether it is a weight or a count.
    is_rare : bool
        Whether pages leave it out if it is 0.
    on_request : bool
        Whether results show it only if it is requested by name.
    measured : bool
        Whether accumulators count it only if their `measures` name it.
    absent : tuple, or function of result and name
        Why results to which it does not apply lack it, in pieces of a message; a function returns
        none where it applies.
    by_class : bool
        Whether tables of classes have a column for it.
    headline : int
        Its rank, from 1, among the metrics of short summaries; 0 for the others.
    documentation : str
        The docstring of the attribute, if it says more than `meaning`.
    """

    name: str
    aliases: tuple[str, ...] = ()
    help: str
    notes: str = ""
    value: Callable[..., Any] = attrs.field(
        default=attrs.Factory(lambda self: _attribute(self.name), takes_self=True)
    )
    formula: str = ""
    heading: str = ""
    qualifier: Callable[[Any], str] = _nothing
    subtracts: str = ""
    better: Literal["higher", "lower", ""] = ""
    certified: bool = False
    sampling: Callable[..., Interval] | None = None
    check_draws: Callable[..., None] = accept
    why_none: str = ""
    evidence: Callable[..., Statistic] | None = None
    why_no_evidence: str = ""
    arguments: tuple[str, ...] = ()
    averages: Mapping[str, str] = attrs.field(factory=dict)
    oracle: str = ""
    listed: Callable[[Any], bool] = always
    is_substitute: Callable[..., bool] | None = None
    limits: Interval | None = UNLIMITED
    is_count: bool = False
    is_rare: bool = False
    on_request: bool = False
    measured: bool = False
    absent: tuple[object, ...] | Callable[[Any, str], tuple[object, ...]] = ()
    by_class: bool = False
    headline: int = 0
    documentation: str = ""

    @cached_property
    def needs_argument(self) -> bool:
        """Whether an argument has no default."""
        return any("=" not in one for one in self.arguments)

    @property
    def meaning(self) -> str:
        """Its meaning, in one or a few sentences."""
        return f"{self.help} {self.notes}".rstrip()

    @property
    def docstring(self) -> str:
        """The docstring of the attribute."""
        return inspect.cleandoc(self.documentation) or self.meaning

    @property
    def typed(self) -> str:
        """The name as typed: with k for a cutoff, and x for another required argument."""
        if not self.needs_argument:
            return self.name
        return f"{self.name}@k" if self.arguments == ("k",) else f"{self.name}(x)"

    def check_arguments(self, args: Sequence[Any], options: Mapping[str, Any]) -> None:
        """Refuse arguments that the metric does not take; one with averages looks itself."""
        names = [one.partition("=")[0] for one in self.arguments]
        needed = {one for one in self.arguments if "=" not in one}
        given = [*names[: len(args)], *options]
        is_good = len(args) <= len(names) and len({*given}) == len(given)
        is_good = is_good and needed <= {*given} <= {*names}
        if not (self.averages or is_good):
            taken = f"takes {' and '.join(names)} alone" if names else "takes no arguments"
            raise InvalidInputError(taken, argument=self.name)

    def interval(
        self, source: Any, value: Any, z: float, *args: Any, **options: Any
    ) -> tuple[Any, Any]:
        """Compute the sampling interval of a metric that has a function for it.

        It is nan where the value is, and the range of the metric where rows do not say how far off
        it may be.
        """
        assert self.sampling is not None  # noqa: S101 - tells the type checker
        self.check_draws(source, *args, **options)
        is_single = isinstance(value, float)  # not one of each class
        if is_single and math.isnan(value):
            return UNDEFINED
        ends = self.sampling(source, value, z, *args, **options)
        if is_single and not math.isnan(ends[0]):
            return ends
        return or_limits(ends, value, self.limits or UNLIMITED)

    def reading(self, source: Any, value: Any, z: float, *args: Any, **options: Any) -> Reading:
        """Combine a value with its sampling interval for independent rows, if there is one."""
        if self.is_count:
            return Reading(value, is_count=True)
        find = self.is_substitute
        is_substitute = find is not None and find(source, value, *args, **options)
        if not z:
            return Reading(value, is_substitute=is_substitute)
        ends = self.interval_or_none(source, value, z, *args, **options)
        return Reading.sampled(value, ends, self.why_none, is_substitute=is_substitute)

    def interval_or_none(
        self, source: Any, value: Any, z: float, *args: Any, **options: Any
    ) -> tuple[Any, Any] | None:
        """Compute the sampling interval; None without one, or if weights had fractions."""
        if self.sampling is None:
            return None
        try:
            return self.interval(source, value, z, *args, **options)
        except InvalidInputError:
            return None

    def statistic(self, source: Any, *args: Any, **options: Any) -> Statistic:
        """Return the statistic for a test, or raise InvalidInputError with the reason for none."""
        if self.evidence is None:
            why = "a count has no limit to keep" if self.is_count else self.why_no_evidence
            raise InvalidInputError(
                f"has no evidence that stays valid however often you look: {why}",
                argument=self.name,
            )
        self.check_draws(source, *args, **options)
        return self.evidence(source, *args, **options)


def count_row(name: str, heading: str, text: str, **row: Any) -> Metric:
    """Make the row of a weight or count."""
    return Metric(name=name, heading=heading, help=text, limits=NOT_NEGATIVE, is_count=True, **row)


EXAMPLES = count_row("n", "Examples", "The sum of the weights of all examples.")
"""The first row of every result of examples."""


def of_moments(function: Callable[[Any, float], Interval]) -> dict[str, Any]:
    """Make the fields of a row whose interval follows from the moments that `intervals` keeps."""

    def sampling(result: Any, value: float, z: float) -> Interval:  # noqa: ARG001
        return function(result, z)

    return {
        "sampling": sampling,
        "check_draws": whole_weights(lambda result: result._state.n.is_whole),
        "why_none": "it takes intervals=True and whole weights",
    }


def without_interval(row: Metric) -> Metric:
    """Refuse the interval of a metric whose moments are not kept."""
    return row if row.sampling is None else attrs.evolve(row, check_draws=_unasked, why_none="")


def _unasked(*_: Any) -> None:
    raise InvalidInputError("must be True when the accumulator is made", argument="intervals")


def not_measured(name: str) -> tuple[object, ...]:
    """Say how a metric is asked for, in pieces of a message."""
    return (
        f"{name!r} is not among the measures: count with ",
        Named("measures", f"[{name!r}]"),
        ".",
    )


def average_in(name: str) -> str:
    """Find the average in a name such as ``f1_macro``, as other libraries write it; "" if none.

    >>> average_in("f1_macro"), average_in("weighted_f1"), average_in("f1")
    ('macro', 'weighted', '')
    """
    return _parts(_word(name))[1]


def _word(name: str) -> str:
    """Write a name without a cutoff, as the tables do."""
    return _CUTOFF.sub("", name).casefold().replace("-", "_").replace(" ", "_")


def _parts(word: str) -> tuple[str, str]:
    """Split a name of another library into the metric and its average."""
    match = _FORM.fullmatch(word)
    return (match["name"], match["first"] or match["last"] or "") if match else (word, "")


class Table(dict[str, Metric]):
    """The metrics of one result class by name, in the order of reports.

    Parameters
    ----------
    *rows : Metric
    of_result : callable, optional
        Returns the table of a result, whose rows depend on what was requested.
    canonical : callable
        Returns the name of a row that is spelled otherwise, or the name itself.
    task : str
        The task of the command line that computes such results.
    is_task : bool
        Whether the command line counts files into such results.
    made_by : str
        The class of the accumulators that compute such results.
    """

    def __init__(
        self,
        *rows: Metric,
        of_result: Callable[[Any], Table] | None = None,
        canonical: Callable[[str], str] = str,
        task: str = "",
        is_task: bool = True,
        made_by: str = "",
    ) -> None:
        super().__init__({row.name: row for row in rows})
        self.of_result, self.canonical = of_result, canonical
        self.task, self.is_task, self.made_by = task, is_task, made_by
        without = [row for row in rows if not row.needs_argument]
        self.unconditional = {row.name: row for row in without if row.listed is always}
        """The rows that every result has, and that need no argument."""
        self._by_request = {
            asked: [row for row in without if row.on_request == asked] for asked in (False, True)
        }

    @property
    def by_class(self) -> list[Metric]:
        """The rows that are columns in tables of classes."""
        return [row for row in self.values() if row.by_class]

    @property
    def headline(self) -> list[Metric]:
        """The rows of short summaries, in order."""
        chosen = (row for row in self.values() if row.headline)
        return sorted(chosen, key=lambda row: row.headline)

    def called(self, name: str) -> list[Metric]:
        """Return the rows that match a name or an alias, ignoring case and cutoff."""
        word = _word(name)
        for asked in (word, _parts(word)[0]):
            rows = [row for row in self.values() if asked in (row.name, *row.aliases)]
            if rows:
                return rows
        return []

    def listed(self, source: Any, *, on_request: bool = False) -> list[Metric]:
        """List the rows that apply to the source of a result and need no argument.

        These are either the rows shown by default, or the rows shown on request.
        """
        rows = self._by_request[on_request]
        return [row for row in rows if row.listed is always or row.listed(source)]
