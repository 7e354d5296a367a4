"""What is read of a result: a metric by name, its value and its uncertainty."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial, wraps
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import attrs

from streameval.configs.cached import Cached, Comparable, OnDemand
from streameval.configs.collection import SEPARATOR
from streameval.configs.names import closest, listed, nearest, our_name
from streameval.errors import InvalidInputError, UnknownMetricError
from streameval.metrics.bounded import Bounded, Interval
from streameval.metrics.evidence import Statistic
from streameval.metrics.intervals import normal_quantile
from streameval.metrics.table import UNLIMITED, Metric, Reading, Table, average_in
from streameval.results.clusters import Clusters
from streameval.results.metric_values import MetricValue
from streameval.results.names import MetricName, metric_name, owners_of
from streameval.results.tables import Form, PerItem, TablePart

if TYPE_CHECKING:
    from streameval.render.blocks import Figure
    from streameval.results.result import Result


Number = int | float

_NO_OPTIONS: Mapping[str, Any] = {}


ResultT = TypeVar("ResultT", bound="Result")
CallableT = TypeVar("CallableT", bound=Callable[..., Any])


def over_leaves(make: type[Any]) -> Callable[[CallableT], CallableT]:
    """Let a method that lists or maps names do so for each leaf, as ``member/name``."""

    def over_own(own: Any) -> Any:
        @wraps(own)
        def over_all(self: ReadResult, *args: Any, **options: Any) -> Any:
            if self._MEMBERS is None:
                return own(self, *args, **options)
            found = [
                (leaf, getattr(one, own.__name__)(*args, **options))
                for leaf, one in self.leaves().items()
            ]
            if make is dict:
                return {f"{leaf}{SEPARATOR}{name}": of[name] for leaf, of in found for name in of}
            return make(f"{leaf}{SEPARATOR}{name}" for leaf, names in found for name in names)

        return over_all

    return over_own


@attrs.frozen(eq=False, repr=False)
class MemberAxis:
    """The results that a class of results consists of: members, slices or panes.

    Parameters
    ----------
    named : function of result
        Lists them by name, as names of metrics begin: ``member/recall``, ``country=DE/recall``.
    laid_out : function of result, items and form
        Lays out the table of the result.
    whole : function of result, optional
        Returns the result of all rows, whose headline is that of each; by default each has its own.
    picture : function of result and request, optional
        Shows a metric of each.
    """

    named: Callable[[Any], Iterable[tuple[str, Any]]]
    laid_out: Callable[[Any, str | None, Form], TablePart]
    whole: Callable[[Any], Any] | None = None
    picture: Callable[[Any, Any], Figure] | None = None


_MEMBER = re.compile(rf"(.+){SEPARATOR}(.+)")  # the name of a metric has no separator


def flattened(name: str, result: Any) -> list[tuple[str, Any]]:
    """List the results within one, by full names; the result itself if it has no members."""
    if not isinstance(result, ReadResult):  # of a user-defined class
        return [(name, result)]
    leaves = result.leaves().items()
    return [(f"{name}{SEPARATOR}{path}" if path else name, one) for path, one in leaves]


@attrs.frozen(repr=False, eq=False, slots=False)
class ReadResult(Cached, Comparable):
    """The base of results, as far as they are read.

    Everything here reads `TABLE`, which has a row for each metric. The row alone makes a metric an
    attribute if the class does not define one.
    """

    _clusters: Clusters | None = attrs.field(default=None, kw_only=True)

    TABLE: ClassVar[Table] = Table()
    SIZE: ClassVar[str] = "n"
    """The attribute with the number of examples or queries."""

    _PER_ITEM: ClassVar[PerItem | None] = None
    """The items that a result of this class consists of, if there are any."""
    _MEMBERS: ClassVar[MemberAxis | None] = None
    """The results that one of this class consists of, which have the metrics, if it does."""

    @property
    def _source(self) -> Any:
        """The object that the functions of the table read."""
        return self

    @property
    def _rows(self) -> Table:
        """The rows of this result: those of its class, and of what was requested."""
        table = self.TABLE
        return table if table.of_result is None else table.of_result(self)

    def leaves(self) -> dict[str, Any]:
        """Map full names to the results without members; that of such a result itself is ""."""
        if self._MEMBERS is None:
            return {"": self}
        return dict(leaf for pair in self._MEMBERS.named(self) for leaf in flattened(*pair))

    def titled(self) -> Iterator[tuple[str, Any]]:
        """Yield each leaf once, after the names that share it."""
        names: dict[int, list[str]] = {}
        leaves = self.leaves()
        for name, leaf in leaves.items():
            names.setdefault(id(leaf), []).append(name)
        distinct = {id(leaf): leaf for leaf in leaves.values()}
        for key, shared in names.items():
            yield ", ".join(shared), distinct[key]

    def read(self, metric: str | MetricName, *, level: float = 0.95) -> Reading:
        """Read a metric, or a class or an average of it: the value and its uncertainty.

        Parameters
        ----------
        metric : str
            As on the command line: ``"accuracy"``, ``"recall[macro]"``, ``"recall_at(0.5)"``,
            ``"member/roc_auc"``.
        level : float
            The level of the sampling interval, in [0, 1); 0 leaves it out.

        Raises
        ------
        InvalidInputError
            If the metric, class or average does not exist, or its argument or the level is out of
            range.
        """
        z = normal_quantile(level)  # refuses an invalid level even if there is no interval
        if isinstance(metric, str):
            rows = self.TABLE
            row = (rows if rows.of_result is None else self._rows).unconditional.get(metric)
            if row is not None and self._clusters is None:
                source = self._source
                return row.reading(source, row.value(source), z)
        return self.asked(metric).read(z)

    def value(self, name: str, *args: Any, **options: Any) -> Any:
        """Compute a metric by name, with arguments behind or within it: ``recall_at(0.5)``."""
        return self._named(name, args, options).value()

    @over_leaves(dict)
    def readings(self, level: float = 0.95) -> dict[str, Reading]:
        """Read every metric, each computed once."""
        z = normal_quantile(level)  # refuses an invalid level even if there is no interval
        return {
            name: self._reading(self._rows[name], number, z)
            for name, number in self._numbers().items()
        }

    @over_leaves(dict)
    def metrics(self) -> dict[str, Any]:
        """Compute every metric that is shown by default, by name; counts are none."""
        return {name: self._number(name) for name in self._metric_names()}

    def confidence(
        self, name: str, *args: Any, level: float = 0.95, **options: Any
    ) -> tuple[Any, Any]:
        """Compute the sampling interval of a metric, for its value in the population.

        Parameters
        ----------
        name : str
            A metric, named as for `read`.
        *args, **options
            Its arguments, if it takes some.
        level : float
            The coverage probability, in [0, 1); 0 gives the value itself, twice, or its certified
            bounds.

        Returns
        -------
        (low, high)
            The whole range of the metric where the rows do not say how far off it may be, such as
            a single one; nan only where the metric is. Two arrays where the arguments ask for
            several numbers.

        Raises
        ------
        InvalidInputError
            For an unknown metric, one without a sampling interval, a level outside [0, 1), or
            weights with fractions: whole weights are repeats of an example, but a fraction of an
            example is not a draw.
        """
        normal_quantile(level)  # refuses an invalid level, whatever the name
        return self._named(name, args, options).interval(level)

    def stderr(self, name: str, *args: Any, **options: Any) -> float:
        """Compute the standard error of a metric of clusters.

        Parameters
        ----------
        name : str
            A metric, named as for `read`.
        *args, **options
            Its arguments, if it takes some.

        Returns
        -------
        float
            nan where the metric is undefined, or with fewer than two groups of clusters.

        Raises
        ------
        InvalidInputError
            For an unknown metric, a count, or a result of independent rows.
        """
        asked = self._named(name, args, options)
        clusters = asked.result._clusters
        if clusters is None:
            raise InvalidInputError(
                "has a standard error only in a result for clusters",
                argument=name,
                remedy="Count with se.Clustered.",
            )
        if asked.row.is_count:
            raise InvalidInputError(
                "is a count of the sample and has no standard error", argument=name
            )
        return clusters.stderr(asked.value(), asked.defined)

    def confidence_sequence(self, metric: str, *, level: float = 0.95) -> Interval:
        """Compute the interval that covers a metric of the source at all times at once.

        If the source does not change, its value lies in all these intervals with the probability
        `level`, however often you look while the data grow. A sampling interval promises this for
        one look only, and is narrower.

        Parameters
        ----------
        metric : str
            A proportion, F1 or a mean of a ranking, named as for `read`.
        level : float
            The probability, in [0, 1).

        Returns
        -------
        (low, high)
            Robbins' uniform mixture, which depends on counts alone.

        Raises
        ------
        InvalidInputError
            If the metric has no such interval; the message says why.

        Examples
        --------
        >>> import streameval as se
        >>> acc = se.ConfusionAccumulator()
        >>> result = acc.update([0] * 100, [0] * 95 + [1] * 5).compute()
        >>> [round(end, 3) for end in result.confidence_sequence("accuracy")]
        [0.84, 0.993]
        """
        return self.statistic(metric).interval(level)

    def statistic(self, metric: str | MetricName) -> Statistic:
        """Return the statistic for an anytime-valid test of a metric; see `evidence`.

        Raises
        ------
        InvalidInputError
            If the metric, class or average does not exist or has no such test; the message says
            why.
        """
        asked = self.asked(metric)
        if asked.result._clusters is not None:
            raise InvalidInputError(
                "has no evidence for clusters: it is about rows that are independent",
                argument=str(metric),
                remedy="Its interval, for one look, is that of clusters.",
            )
        return asked.row.statistic(asked.result._source, *asked.args, **asked.options)

    def meaning(self, name: str) -> str:
        """Explain what a metric means."""
        if self._MEMBERS is None:
            return self._rows[name].meaning
        inner, own = self._member(MetricName(name))
        text: str = inner.meaning(own.name)
        return text

    @over_leaves(list)
    def readable(self) -> list[str]:
        """List the names that `read` accepts: metrics shown, on request, and with arguments.

        With classes, a class or an average may follow in brackets.
        """
        rows = (row for row in self._rows.values() if row.needs_argument)
        return [*self._applicable(), *(row.typed for row in rows if not self._why_absent(row.name))]

    def headline(self) -> tuple[str, ...]:
        """Choose the headline metrics, which panes share with all rows."""
        if self._MEMBERS is None or self._MEMBERS.whole is None:
            return self._headline()
        whole = self._MEMBERS.whole(self)
        return whole.headline() if isinstance(whole, ReadResult) else ()

    @over_leaves(tuple)
    def _headline(self) -> tuple[str, ...]:
        names = self._names()
        chosen = (row.name for row in self._rows.headline)
        return tuple(name for name in chosen if name in names) or tuple(names[:2])

    @over_leaves(tuple)
    def measured(self) -> tuple[str, ...]:
        """List the metrics that are counted because `measures` name them."""
        return tuple(name for name in self._names() if self._rows[name].measured)

    def asked(self, metric: str | MetricName) -> Asked:
        """Find what a name asks for if the metric applies to what was counted.

        Raises
        ------
        UnknownMetricError
            If there is no such metric, class or average here; new classes may still appear.
        """
        return self._lookups[metric] if isinstance(metric, str) else self._find(metric)

    @cached_property
    def _lookups(self) -> OnDemand[str, Asked]:
        """What names ask for, each looked up once."""
        return OnDemand(self._find)

    def _find(self, metric: str | MetricName) -> Asked:
        asked = self._asked(metric_name(metric), (), {})
        if not (asked.is_within or asked.row.listed(asked.result._source)):
            raise asked.result._unknown(asked.row.name)
        return asked

    def _named(self, name: Any, args: tuple[Any, ...], options: Mapping[str, Any]) -> Asked:
        """Find what a name asks for, with the arguments behind it."""
        is_whole = isinstance(name, str) and (name in self._rows or not name.endswith("]"))
        metric = MetricName(name) if is_whole else metric_name(name, "name")
        return self._asked(metric, args, options)

    def _asked(
        self, metric: MetricName, args: tuple[Any, ...], options: Mapping[str, Any]
    ) -> Asked:
        """Find what a name asks for: whose metric it is, its row, and its arguments."""
        if self._MEMBERS is not None:
            return self._asked_of_member(metric, args, options)
        axis = self._PER_ITEM
        of_item = axis and axis.asked(self, metric, args, options)
        return of_item or self._asked_of_all(metric, args, options)

    def _asked_of_all(
        self,
        metric: MetricName,
        args: tuple[Any, ...] = (),
        options: Mapping[str, Any] = _NO_OPTIONS,
    ) -> Asked:
        """Find a metric of the result itself."""
        name = metric.name if args or options else self._rows.canonical(metric.name)
        row, call = self._rows.get(name), None
        if row is None and metric.call is not None and not (args or options):
            row, call = self._rows.get(metric.call[0]), metric.call
        is_called = call is not None and row is not None and row.needs_argument
        if row is None or (call is not None and not is_called):
            raise self._unknown(metric.name)
        if self._why_absent(row.name):
            raise self._unknown(row.name)
        if metric.of is not None:
            raise UnknownMetricError(f"'{metric}': {metric.name} has no averages and no classes.")
        if call is None:
            if args or options:
                row.check_arguments(args, options)
            elif row.needs_argument:
                raise self._unknown(row.name)
            return Asked(self, row, args, options)
        try:
            return Asked(self, row, (float(call[1]),), is_within=True)
        except ValueError:
            raise UnknownMetricError(f"{metric.name!r}: {call[1]!r} is not a number.") from None

    def _asked_of_member(
        self, metric: MetricName, args: tuple[Any, ...], options: Mapping[str, Any]
    ) -> Asked:
        """Find a metric of a member, whose result must have a table."""
        inner, own = self._member(metric)
        if not isinstance(inner, ReadResult):  # of a user-defined class
            name = metric.name.removesuffix(f"{SEPARATOR}{own.name}")
            raise InvalidInputError("has a result without a table of metrics", argument=name)
        return inner._asked(own, args, options)

    def _member(self, metric: MetricName) -> tuple[Any, MetricName]:
        """Find the result of the member named by a metric, and the metric within it."""
        leaves, match = self.leaves(), _MEMBER.fullmatch(metric.name)
        if match is None or match[1] not in leaves:
            raise self._unknown(metric.name)
        return leaves[match[1]], attrs.evolve(metric, name=match[2])

    def check(self, metric: MetricName) -> None:
        """Raise UnknownMetricError for an unknown metric; new classes may still appear."""
        self.asked(metric)

    def _unknown(self, name: str) -> UnknownMetricError:
        """Make the error about an unknown metric: suggest its name, or the result that has it.

        A known one that was not requested is explained.
        """
        why = self._why_absent(name)
        if why:
            return UnknownMetricError(*why)
        known, meant = self.readable(), self._meant(name)
        called = [] if meant else self.TABLE.called(name)
        owners = [] if meant or name in self.TABLE else _owners(name, besides=self.TABLE)
        if called and not owners:
            return UnknownMetricError(f"{called[0].name} is not defined here. {called[0].meaning}")
        hint = f"{', '.join(owners)}. {listed(known)}" if owners else nearest(name, known, meant)
        return UnknownMetricError(f"no metric {name!r}: {hint}")

    @over_leaves(list)
    def _meant(self, name: str) -> list[str]:
        """Name the metrics here that match a name or an alias."""
        known, found, average = self.readable(), [], average_in(name)
        for row in self.TABLE.called(name):
            starts = tuple(f"{row.name}{mark}" for mark in "_@(")
            named = [each for each in known if each == row.name or each.startswith(starts)]
            if average in row.averages:  # as in f1_macro
                own = f"{row.name}_{average}"
                named = [own if own in known else f"{row.name}[{average}]", *named]
            found += named[:1]
        return found

    def _why_absent(self, name: str) -> tuple[object, ...]:
        """Explain why a metric was not asked for, in pieces of a message; none for others."""
        row = self.TABLE.get(name.partition("(")[0])
        if row is None or not row.absent:
            return ()
        if callable(row.absent):
            return row.absent(self, name)
        return () if row.listed(self._source) else row.absent

    if not TYPE_CHECKING:  # pragma: no branch (type checkers read `members.pyi`)

        def __getattr__(self, name: str) -> Any:
            """Compute a metric that has a row but no attribute."""
            table = type(self).TABLE
            if name in table:
                return self._attribute(name)
            message = f"{type(self).__name__!r} object has no attribute {name!r}"
            if name.startswith("_"):
                raise AttributeError(message)
            ours = our_name(name)
            called = [row.name for row in table.called(name)]
            called += [ours] if ours != name and hasattr(type(self), ours) else []
            owners = [] if called else _owners(name, with_tasks=False, besides=table)
            if owners:
                raise AttributeError(f"{message}: {', '.join(owners)}")
            meant = " or ".join(map(repr, called or closest(name, table)))
            raise AttributeError(f"{message}. Did you mean {meant}?" if meant else message)

    def _attribute(self, name: str) -> Any:
        """Make an attribute: a method if the metric takes arguments, else its value."""
        why = self._why_absent(name)
        if why:
            raise AttributeError("".join(map(str, why)))
        row = self.TABLE[name]
        if row.averages:
            return MetricValue(partial(row.value, self._source))
        if not row.arguments:
            return self.value(name)

        def method(*args: Any, **options: Any) -> Any:
            return self.value(name, *args, **options)

        method.__name__, method.__doc__ = name, row.meaning
        return method

    @over_leaves(list)
    def _names(self) -> list[str]:
        """List the metrics that this result shows by default."""
        return [row.name for row in self._rows.listed(self._source)]

    def _metric_names(self) -> list[str]:
        """List those that are metrics; counts are none."""
        return [name for name in self._names() if not self._rows[name].is_count]

    def _applicable(self) -> list[str]:
        """List the metrics that apply to this result and need no argument."""
        more = self._rows.listed(self._source, on_request=True)
        return [*self._names(), *(row.name for row in more)]

    def _number(self, name: str) -> Any:
        """Compute one of these metrics."""
        return self._rows[name].value(self._source)

    def _numbers(self) -> dict[str, Any]:
        """Compute all of these metrics."""
        return {name: self._number(name) for name in self._names()}

    def _prepare(self, results: Sequence[Any], metrics: Sequence[MetricName] | None = None) -> None:
        """Compute for results like this one what metrics need, where that is faster at once.

        By default, it is what reading this one has computed, or its members.
        """
        if self._MEMBERS is None or metrics is not None:
            return
        members = zip(
            self.leaves().values(), *(one.leaves().values() for one in results), strict=True
        )
        for own, *alike in members:
            if isinstance(own, ReadResult):
                own._prepare(alike)

    def with_clusters(self, clusters: Clusters | None) -> Self:
        """Give the result clustered intervals; None for those of independent rows."""
        return attrs.evolve(self, clusters=clusters)

    def _derived(self, result: ResultT, method: str, *args: Any) -> ResultT:
        """Give a result that a method has derived from this one the clusters of this one."""
        if self._clusters is None:
            return result
        return result.with_clusters(self._clusters.part(method, *args))

    def _reading(self, row: Metric, number: Any, z: float, *args: Any, **options: Any) -> Reading:
        """Combine a number with its sampling interval; at the level 0, whose z is 0, is none."""
        if self._clusters is None:
            return row.reading(self._source, number, z, *args, **options)
        plain = row.reading(self._source, number, 0.0, *args, **options)
        if not z or row.is_count or row.limits is None:
            return plain
        ends = self._sampling(row, number, z, *args, **options)
        return Reading.sampled(number, ends, row.why_none, is_substitute=plain.is_substitute)

    def _sampling(
        self, row: Metric, value: Any, z: float, *args: Any, **options: Any
    ) -> tuple[Any, Any] | None:
        """Compute the sampling interval of a value: of clusters, or of rows; None if without."""
        of_rows = row.interval_or_none(self._source, value, z, *args, **options)
        if self._clusters is None:
            return of_rows
        asked = Asked(self, row, args, options)
        return self._clustered(asked, value, z, of_rows)

    def _clustered(
        self, asked: Asked, value: Any, z: float, of_rows: tuple[Any, Any] | None
    ) -> tuple[Any, Any]:
        """Compute the sampling interval of a value for clusters."""
        clusters, limits = self._clusters, asked.row.limits or UNLIMITED
        assert clusters is not None  # noqa: S101 - tells the type checker
        return clusters.interval(value, asked.defined, limits, z, of_rows)


@attrs.frozen(eq=False, repr=False)
class Asked:
    """What a name asks for, which is all that reading it takes.

    Parameters
    ----------
    result : Result
        The result that has the metric: the one that was asked, or a part of it.
    row : Metric
        Its row there.
    args, options
        The arguments that its functions take.
    is_within : bool
        Whether the name has the argument, as ``recall_at(0.5)``.
    """

    result: ReadResult
    row: Metric
    args: tuple[Any, ...] = ()
    options: Mapping[str, Any] = attrs.field(factory=dict)
    is_within: bool = False

    @property
    def size(self) -> Number:
        """How many examples, or queries, the owner of the metric has counted."""
        size: Number = getattr(self.result, self.result.SIZE)
        return size

    def of(self, result: ReadResult) -> Any:
        """Compute the same of another result of the class."""
        try:
            return self.row.value(result._source, *self.args, **self.options)
        except InvalidInputError as error:  # raised by the metric itself
            if not self.is_within:
                raise
            name = f"{self.row.name}({self.args[0]:g})"
            raise UnknownMetricError(f"{name}: {error}") from None

    def defined(self, result: ReadResult) -> Any:
        """Compute the same where rows of another result define it, else nan."""
        value, find = self.of(result), self.row.is_substitute
        if find is None or not isinstance(value, float):  # several numbers are nan themselves
            return value
        is_substitute = find(result._source, value, *self.args, **self.options)
        return math.nan if is_substitute else value

    def value(self) -> Any:
        """Compute the value."""
        return self.of(self.result)

    def read(self, z: float) -> Reading:
        """Read the value and its uncertainty, whose z is 0 at the level 0."""
        return self.result._reading(self.row, self.value(), z, *self.args, **self.options)

    def interval(self, level: float) -> tuple[Any, Any]:
        """Compute the sampling interval; at the level 0 the ends of the value itself."""
        result, row, value, z = self.result, self.row, self.value(), normal_quantile(level)
        if not z:
            return (value.low, value.high) if isinstance(value, Bounded) else (value, value)
        if row.is_count or (row.sampling if result._clusters is None else row.limits) is None:
            raise self._without()
        if result._clusters is None:
            return row.interval(result._source, value, z, *self.args, **self.options)
        ends = result._sampling(row, value, z, *self.args, **self.options)
        assert ends is not None  # noqa: S101 - tells the type checker: clusters have intervals
        return ends

    def _without(self) -> InvalidInputError:
        """Make the error about a metric without a sampling interval: name those that have one."""
        result = self.result
        rows = [row for row in result._rows.values() if row.sampling is not None]
        known = [row.typed for row in rows if row.needs_argument or row.listed(result._source)]
        remedy = f"These have one: {', '.join(known)}." if known else ""
        return InvalidInputError("has no sampling interval", argument=self.row.name, remedy=remedy)


def _owners(name: str, *, with_tasks: bool = True, besides: Table | None = None) -> list[str]:
    """Say of which results, besides those of one table, a metric of that name is."""
    owners: dict[str, str] = {}
    for table, row in owners_of(name):
        if table is besides:
            continue
        of = table.made_by
        if besides is not None and of == besides.made_by:
            of = "all classes" if any(other.averages for other in table.values()) else "each class"
        elif with_tasks and table.is_task:
            of = f"--task {table.task} ({of})"
        owners.setdefault(table.task, f"{row.typed} is a metric of {of}")
    return list(owners.values())
