"""The options of `streameval eval`, as values."""

from __future__ import annotations

import shlex
from itertools import product
from typing import TYPE_CHECKING, Any, Literal, Self

import attrs

from streameval.cli.errors import UsageError
from streameval.io import RowFilter, Texts
from streameval.results.names import parse_metric

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from streameval.cli.gates import Gate
    from streameval.errors import Named
    from streameval.io import Condition
    from streameval.results.names import MetricName
    from streameval.results.result import Result
    from streameval.runs.counting import Share


class NamedTexts(tuple[str, ...]):
    """Labels as they were typed, each with its display name.

    Attributes
    ----------
    names : tuple of str
        The names.
    """

    names: tuple[str, ...]

    def __new__(cls, pairs: Iterable[tuple[str, str]]) -> Self:
        """Split the pairs into labels and names."""
        labels, names = zip(*pairs, strict=True)
        made = super().__new__(cls, labels)
        made.names = names
        return made


EVERY = "*"
"""Stands for every column in `--by`."""

# The number of classes, their labels as they were typed, or "auto" for the observed labels.
Classes = int | tuple[str, ...] | Literal["auto"]


@attrs.frozen
class By:
    """The column, or columns, whose values are evaluated one by one.

    Parameters
    ----------
    column : str or tuple of str
        Its name, or their names.
    values : tuple of str or of tuple of str, optional
        The values, tuples for several columns; None if the rows decide which.
    is_each : bool
        Whether the columns are compared one at a time, instead of their combinations; "*" stands
        for every column then.
    """

    column: str | tuple[str, ...]
    values: tuple[Any, ...] | None = None
    is_each: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns as a tuple, even of one column."""
        return (self.column,) if isinstance(self.column, str) else self.column

    def canonical(self) -> tuple[Any, ...]:
        """Write the named values in the form that values of files have."""
        values, texts = self.values or (), Texts()
        if isinstance(self.column, str):
            return tuple(texts.from_text(values))
        return tuple(tuple(texts.from_text(value)) for value in values)

    @classmethod
    def every(cls, parts: Sequence[By], *, each: bool | None = None) -> By | None:
        """Combine the columns: every value of one with every value of the others.

        With `each`, or if "*" stands for every column, they stay apart.

        Raises
        ------
        UsageError
            If a column comes twice, or some columns have values and others none; or if columns that
            stay apart have values.
        """
        columns = tuple(column for part in parts for column in part.columns)
        if len(set(columns)) < len(columns):
            raise UsageError("--by was given twice for one column.")
        if each or EVERY in columns:
            return cls._each(parts, columns)
        if len(parts) < 2:
            return next(iter(parts), None)
        lists = [part.values for part in parts if part.values is not None]
        if len(lists) not in (0, len(parts)):
            raise UsageError(
                "--by names values of every column or of none; --where COLUMN=A,B,C picks rows."
            )
        return cls(columns, tuple(product(*lists)) if lists else None)

    @classmethod
    def _each(cls, parts: Sequence[By], columns: tuple[str, ...]) -> By:
        if not parts:
            raise UsageError("--each needs --by.")
        if any(part.values is not None for part in parts):
            raise UsageError("--by cannot name values where columns are compared one at a time.")
        if len(columns) > 1 and EVERY in columns:
            raise UsageError("--by '*' is every column; it cannot be used with another --by.")
        return cls(columns, is_each=True)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Reporting:
    """How a result is reported."""

    json: bool = False
    markdown: bool = False
    bounds: bool = False
    gates: tuple[Gate, ...] = attrs.field(default=(), converter=tuple)
    metrics: tuple[MetricName, ...] = attrs.field(default=(), converter=tuple)
    level: float = 0.95
    sort: MetricName | None = None
    worst: int | None = None
    min_n: int | None = None
    limits: tuple[Gate, ...] = attrs.field(default=(), converter=tuple)
    false_alarms: str | float | None = None
    quiet: bool = False
    has_measures: bool = False

    def chosen(self, result: Result) -> tuple[MetricName, ...]:
        """Choose the metrics of a line: --metrics, or the headline and what --measures named."""
        more = result.measured() if self.has_measures else ()
        return self.metrics or tuple(map(parse_metric, dict.fromkeys((*result.headline(), *more))))


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Options:
    """The options of input and counting; None if the user did not set one."""

    files: tuple[str, ...] = attrs.field(converter=tuple)
    task: str = "classification"
    format: str | None = None
    delimiter: str | None = None
    header: tuple[str, ...] | None = None
    decimal: str | None = None
    jobs: int = 1
    output: str | None = None
    max_bad: int | Share = 0
    where: tuple[Condition, ...] = attrs.field(default=(), converter=tuple)
    partial_last_line: str | None = None
    reporting: Reporting = Reporting()
    by: By | None = None
    top: int | None = None
    time: str | None = None
    pane: str | int | None = None
    keep: str | int | None = None
    rollup: tuple[tuple[Any, Any], ...] = attrs.field(default=(), converter=tuple)
    time_unit: str | None = None
    label: tuple[str, ...] | None = None
    weight: str | None = None
    pred: tuple[str, ...] | None = None
    score: tuple[str, ...] | None = None
    versus: tuple[str, ...] | None = None
    classes: Classes | None = None
    multilabel: bool | None = None
    threshold: float | None = None
    pos_label: str | None = None
    top_k: int | None = None
    ignore_label: str | None = None
    budget: int | Literal["none"] | None = None
    scores: str | None = None
    nan: str | None = None
    group: str | None = None
    group_weight: str | None = None
    max_groups: int | None = None
    outputs: tuple[str, ...] | None = None
    item: str | None = None
    rank: str | None = None
    popularity: str | None = None
    n_items: int | None = None
    bins: int | None = None
    intervals: bool | None = None
    qrels: str | None = None
    count_missing: bool | None = None
    max_docs: int | None = None
    query: str | None = None
    relevance: str | None = None
    doc: str | None = None
    retrieved: str | None = None
    num_relevant: str | None = None
    like: str | None = None
    measures: tuple[str, ...] | None = attrs.field(
        default=None, converter=attrs.converters.optional(tuple)
    )
    relevance_level: float | None = None
    gain: str | dict[float, float] | None = None
    ties: str | None = None
    ap_norm: str | None = None
    unjudged: str | None = None
    negative: str | None = None
    empty: str | dict[str, str] | None = None
    missing: str | dict[str, str] | None = None
    track_queries: bool | None = None
    rows_per_query: int | None = None
    max_open_queries: int | None = None
    per_query: bool | None = None
    trec: bool | None = None

    @property
    def row_filter(self) -> RowFilter | None:
        """The rows that are counted; values have decimal commas if the cells do."""
        if not self.where:
            return None
        has_commas = self.decimal == ","
        return RowFilter(tuple(one.with_points() if has_commas else one for one in self.where))


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Watching:
    """The options of `streameval watch` beside those of input and counting."""

    checkpoint: str
    once: bool | None = None
    labels: list[str] | None = None
    join: str | None = None
    wait: str | int | None = None
    unlabelled: str | None = None
    settle: str | int | None = None
    shard: str | None = None
    label_time: str | None = None
    out_of_order: str | int | None = None
    allowed_lateness: str | int | None = None
    max_ahead: str | int | None = None
    max_pending: int | None = None
    idle_after: str | int | None = None
    label_idle_after: str | int | None = None
    kafka_config: str | None = None
    commit_bytes: int | None = None
    window: tuple[str | int, ...] = attrs.field(default=(), converter=tuple)
    alert: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    false_alarms: str | None = None
    on_alert: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    out: str | None = None
    serve: str | None = None
    allow_host: tuple[str, ...] = attrs.field(default=(), converter=tuple)


def option_text(name: str) -> str:
    """Write an option as it is typed.

    >>> option_text("top_k"), option_text("count_missing")
    ('--top-k', '--no-count-missing')
    """
    negated = "no_" if name == "count_missing" else ""
    return f"--{negated}{name}".replace("_", "-")


def option_words(named: Named) -> str | None:
    """Write an argument of the library as the option that sets it; None if there is none.

    >>> from streameval.errors import Named
    >>> option_words(Named("classes", '"auto"')), option_words(Named("multilabel", "True"))
    ('--classes auto', '--multilabel')
    """
    option = _OPTIONS.get(named.name)
    if option is None or named.value in (None, "", "True"):
        return option
    return f"{option} {shlex.quote(named.value.strip(_QUOTES))}"


_FIELDS = (*attrs.fields(Options), *attrs.fields(Watching))
_OPTIONS = {field.name: option_text(field.name) for field in _FIELDS}
_OPTIONS["address"] = option_text("serve")
_OPTIONS["key"] = option_text("join")
_OPTIONS["alerts"] = option_text("alert")
_OPTIONS["rollups"] = option_text("rollup")
_OPTIONS["min_n"] = option_text("min_n")
_OPTIONS["kind"] = option_text("curve")
_OPTIONS |= {"at_least": "--evidence", "at_most": "--evidence", "false_alarms": "--false-alarms"}
_QUOTES = "[\"']"
