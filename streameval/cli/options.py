"""The options of `streameval eval`, `watch` and `show`, each declared once.

The parser, `--help`, the checks of tasks and the names in messages read these declarations: the
name of an option is that of its field, and the type of the field says what reads its value.
"""

# annotations are values here: no `from __future__ import annotations`

import shlex
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, get_args, get_origin

import attrs

from streameval.cli import argument_values as values
from streameval.cli.argument_values import By
from streameval.cli.errors import UsageError
from streameval.cli.gates import Gate, Worsening, parse_condition, parse_gate, parse_limit
from streameval.configs import ApNorm, GroupWeight, Negative, TieRule, Unit, Unjudged
from streameval.errors import BadDataError, InvalidInputError, Named, StreamevalError
from streameval.exact import Scale
from streameval.io.formats import FORMATS
from streameval.io.notation import Dialect
from streameval.monitoring import ADDRESS
from streameval.results.names import PICTURES_BY_TASK, MetricName, parse_metric

if TYPE_CHECKING:
    from streameval.io.row_filters import Condition, RowFilter
    from streameval.results.result import Result
    from streameval.runs.counting import RowShare

TASKS = (
    *("classification", "paired", "regression", "binary", "grouped", "calibration"),
    *("catalog", "values", "preferences", "ranking"),
)
"""What can be evaluated; the first is the default."""
TOGETHER = ("classification", "binary", "calibration", "regression")
"""The tasks that one reading of a log can count together."""


class _Listed(tuple[str, ...]):
    """Choices, of which several may be given with commas between them."""

    __slots__ = ()

    def __contains__(self, given: object) -> bool:
        """Tell whether each part is one of the choices."""
        return all(map(super().__contains__, str(given).split(",")))


def tasks_text(tasks: Sequence[str]) -> str:
    """List tasks, the default one first."""
    return f"{tasks[0]} (default), {', '.join(tasks[1:])}"


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Option:
    """How an option is typed, and what the help says of it.

    Parameters
    ----------
    help : str
        What it does; empty if a configuration says it.
    group : str
        The heading in the help.
    names : tuple of str
        Its spellings, as in ``("-o", "--output")``; by default, that of its field.
    aliases : tuple of str
        Former spellings, which work, and which the help does not show.
    commands : sequence of str
        The commands that take it.
    tasks : sequence of str
        The tasks that take it, where others would ignore it. The configuration of the first one
        has its check, its default and its meaning, if that is not said here.
    rivals : str
        A name that it shares with the options that it excludes.
    settings : mapping
        What else `argparse` needs to know; what reads the value, and what the help writes for it,
        are those of the type.
    """

    help: str
    group: str = ""
    names: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    commands: Sequence[str]
    tasks: Sequence[str]
    rivals: str = ""
    settings: Mapping[str, Any]

    def told(self, name: str) -> str:
        """Say what it does as the configuration has it, for a help, which is formatted with %."""
        from streameval.configs.options import help_of

        other = "monitor" if self.commands == ["watch"] else "windows"
        task = self.tasks[0] if self.tasks else other
        text = help_of(_configuration(task), name).replace("%", "%%")
        return f"{text}; repeatable" if self.settings.get("action") == "append" else text


def option_text(name: str) -> str:
    """Write an option as it is typed.

    >>> option_text("top_k"), option_text("count_missing")
    ('--top-k', '--no-count-missing')
    """
    return _OPTIONS[name]


def _configuration(task: str) -> Any:
    """Import what declares the options of a task, of a monitor, or of windows."""
    config: Any
    match task:
        case "classification":
            from streameval.configs.confusion import ConfusionConfig as config
        case "regression":
            from streameval.configs.regression import RegressionConfig as config
        case "grouped":
            from streameval.configs.curve import GroupedConfig as config
        case "calibration":
            from streameval.configs.calibration import CalibrationConfig as config
        case "catalog":
            from streameval.configs.values import CatalogConfig as config
        case "values":
            from streameval.configs.values import MeanConfig as config
        case "ranking":
            from streameval.configs.ranking import RankingConfig as config
        case "monitor":
            from streameval.monitoring.options import MonitorOptions as config
        case _:
            from streameval.configs.windowed import WindowedConfig as config
    return config


_OF_OPTIONS = {field.name for field in attrs.fields(Option)}


def _option(
    text: str = "",
    *,
    default: Any = None,
    commands: str = "eval watch",
    tasks: str = "",
    **about: Any,
) -> Any:
    """Declare an option as a field: what `Option` has, and settings of `argparse`."""
    settings = {name: about.pop(name) for name in about.keys() - _OF_OPTIONS}
    made = Option(
        help=text, commands=commands.split(), tasks=tasks.split(), settings=settings, **about
    )
    return attrs.field(default=default, metadata={"option": made})


def _typed(_: type, fields: list[Any]) -> list[Any]:
    """Complete the declarations of a class by the types of its fields."""
    return [_read_by_type(field) if "option" in field.metadata else field for field in fields]


def _read_by_type(field: Any) -> Any:
    """Find in a type what reads a value: Python's own, choices, or what it is annotated with.

    A tuple of such types is an option that may be repeated.
    """
    option: Option = field.metadata["option"]
    parts = get_args(field.type)
    kind = parts[0] if NoneType in parts else field.type
    is_repeated = get_origin(kind) is tuple
    settings = _settings(get_args(kind)[0] if is_repeated else kind)
    settings |= {"action": "append"} if is_repeated else {}
    names = option.names or (f"--{field.name.replace('_', '-')}",)
    option = attrs.evolve(option, names=names, settings={**settings, **option.settings})
    is_listed = is_repeated or option.settings.get("nargs") == "+"
    return field.evolve(
        default=() if is_repeated else field.default,
        converter=_listed if is_listed else None,
        metadata={"option": option},
    )


def _listed(values: Iterable[Any] | None) -> tuple[Any, ...] | None:
    return None if values is None else tuple(values)


def _settings(kind: Any) -> dict[str, Any]:
    """Say what reads a value of a type, as `argparse` puts it."""
    if kind is bool:
        return {"action": "store_true"}
    if get_origin(kind) is Literal:
        return {"choices": get_args(kind)}
    if get_origin(kind) is not Annotated:
        return {}
    _, *read, metavar = get_args(kind)
    return {"type": read[0] if read else None, "metavar": metavar}


DIALECT = tuple(field.name for field in attrs.fields(Dialect))
"""The options about tables of text."""

JOIN = "labels in other files"
GROUPS = (
    *("input", JOIN, "columns", "windows of time", "classes and decisions"),
    *("curves, groups and calibration", "recommendations", "rankings", "state", "alerts"),
    *("live page", "output"),
)
"""The headings of the help, in order."""

_TRUTHS = "classification paired regression binary grouped calibration"

_input = partial(_option, group="input")
_followed = partial(_input, commands="watch")
_joined = partial(_option, group=JOIN, tasks=_TRUTHS)
_label = partial(_option, group=JOIN, commands="watch")
_column = partial(_option, group="columns")
_preference = partial(_column, tasks="preferences")
_window = partial(_option, group="windows of time")
_decision = partial(_option, group="classes and decisions")
_curve = partial(_option, group="curves, groups and calibration")
_item = partial(_option, group="recommendations", tasks="catalog")
_ranking = partial(_option, group="rankings", commands="eval", tasks="ranking")
_state = partial(_option, group="state", commands="watch")
_alert = partial(_option, group="alerts", commands="watch")
_page = partial(_option, group="live page", commands="watch")
_output = partial(_option, group="output", commands="eval show")
_of_queries = partial(_output, commands="eval", tasks="ranking")
_written = partial(_output, commands="watch")
_state_of = partial(_option, default=attrs.NOTHING)

SHELLS = ("bash", "zsh", "fish", "tcsh")
_FROM_EVAL = "a file that eval or merge wrote, or a checkpoint of watch"
_PICTURES = "; ".join(f"{', '.join(names)} ({task})" for task, names in PICTURES_BY_TASK.items())
_REPORTS = "eval show watch diff plot report"
_LABELS = "classification paired binary calibration"


@attrs.frozen(kw_only=True, eq=False, repr=False, field_transformer=_typed)
class Reporting:
    """How a result is reported."""

    json: bool = _output(
        "print one JSON object instead of the report",
        default=False,
        commands="eval show diff",
        rivals="layout",
    )
    markdown: bool = _output(
        "print tables in Markdown", default=False, commands="eval show diff", rivals="layout"
    )
    metrics: Annotated[tuple[MetricName, ...], values.metrics, "A,B,C"] = _output(
        "show only these metrics, such as 'accuracy,recall[macro]', with the names that --json "
        "uses",
        default=(),
        commands=_REPORTS,
        action="extend",
    )
    level: Annotated[float, values.level, "LEVEL"] = _output(
        "the probability of the intervals, default 0.95", default=0.95, commands=_REPORTS
    )
    quiet: bool = _output(
        "print only errors, gates that did not pass, and formats that you ask for",
        default=False,
        commands=f"{_REPORTS} merge",
    )
    bounds: bool = _output(
        "with --json, add bounds of the exact values also where all are exact", default=False
    )
    sort: Annotated[MetricName, values.metric, "METRIC"] | None = _output(
        "slices by this metric, the worst first"
    )
    worst: values.Count | None = _output(
        "only the K worst slices, by --sort or the first metric shown", metavar="K"
    )
    min_n: values.Count | None = _output(
        "leave out slices with fewer examples, also from gates over slices"
    )
    gates: tuple[Annotated[Gate, parse_gate, "GATE"], ...] = _output(
        "exit 1 unless the gate passes, such as 'accuracy>=0.9' or 'rmse<=60', or over slices "
        "'worst(recall)>=0.7' or 'gap(recall)<=0.1'; repeatable",
        names=("--require",),
        aliases=("--fail-under",),
    )
    limits: tuple[Annotated[Gate, parse_limit, "LIMIT"], ...] = _output(
        "for panes of time: exit 1 if there is evidence against the limit, such as "
        "'recall[1]>=0.8'; repeatable",
        names=("--evidence",),
    )
    false_alarms: Annotated[str | float, values.promise, "PROMISE"] | None = _output(
        "the rate of false alarms for all limits together, default '1 per 30d'; or the mean "
        "number of panes between two alarms"
    )
    conditions: tuple[Annotated[Worsening, parse_condition, "CONDITION"], ...] = _output(
        "exit 1 if the condition holds, such as 'accuracy drops 0.01'; repeatable",
        names=("--fail-on",),
        commands="diff",
    )
    has_measures: bool = False

    def chosen(self, result: "Result") -> tuple[MetricName, ...]:
        """Choose the metrics of a line: --metrics, or the headline and what --measures named."""
        more = result.measured() if self.has_measures else ()
        return self.metrics or tuple(map(parse_metric, dict.fromkeys((*result.headline(), *more))))


@attrs.frozen(kw_only=True, eq=False, repr=False, field_transformer=_typed)
class Options:
    """The options of input and counting; None if the user did not set one."""

    files: values.FilePaths = _input(
        'JSON lines, CSV, TSV or Parquet; a folder, pattern or URL; "-" is stdin',
        default=attrs.NOTHING,
        names=("files",),
        nargs="+",
    )
    task: str = _input(
        f"{tasks_text(TASKS)}; {TOGETHER[1]},{TOGETHER[0]} counts both in one reading",
        default=TASKS[0],
        choices=_Listed(TASKS),
        metavar="TASK",
    )
    where: tuple[Annotated["Condition", values.condition, "CONDITION"], ...] = _input(
        "only rows that match, such as 'country=DE,FR', 'age>=30' or 'split!='; repeatable"
    )
    max_bad: Annotated["int | RowShare", values.count_or_share, "N|P%"] = _input(
        "leave out up to this many bad rows, or this share of all rows; default 0", default=0
    )
    jobs: Annotated[int | Literal["auto"], values.jobs, "N|auto"] = _input(
        "how many processes to use; default auto, as many as there are CPUs, up to 8, where the "
        "files are large enough",
        default="auto",
        commands="eval",
    )
    format: str | None = _input("default: by name or content", choices=tuple(FORMATS))
    delimiter: Annotated[str, values.delimiter, "CHARACTER"] | None = _input(
        "the delimiter of CSV, tab for a tab; default: by the first row"
    )
    header: Annotated[tuple[str, ...], values.header, "A,B,C|none"] | None = _input(
        "for CSV without a header: its column names, or none to number them 1, 2, 3"
    )
    decimal: Literal[",", "."] | None = _input(
        "the decimal separator of text files, default a point", metavar="CHARACTER"
    )
    thousands: Annotated[str, "CHARACTER"] | None = _input(
        "the separator of thousands in text files: , . ' _ or a space"
    )
    percent: bool | None = _input("read 6.95%% in text files as 0.0695")
    na: values.NameList | None = _input(
        "the texts that are missing values, besides empty cells, such as NULL,N/A"
    )
    dates: Literal["dmy", "mdy"] | None = _input(
        "the order of dates in text files such as 01.05.2026: day or month first", metavar="ORDER"
    )
    encoding: Annotated[str, "NAME"] | None = _input(
        "the encoding of CSV, default UTF-8, such as cp1252"
    )
    labels: values.FilePaths | None = _joined(
        "the files with the labels, which eval holds in memory", nargs="+"
    )
    key: values.ColumnName | None = _joined(
        "the id of a prediction and its label", aliases=("--join",)
    )
    partial_last_line: Literal["count", "skip"] | None = _input(
        "count a last line without a newline (default), or skip it for now", commands="eval"
    )
    y_true: values.ColumnNames | None = _column(
        "the truth, default y_true",
        tasks=_TRUTHS,
        aliases=("--label",),
    )
    y_pred: values.ColumnNames | None = _column(
        "the predicted label or number, default y_pred",
        tasks="classification paired regression",
        rivals="predictions",
        aliases=("--pred",),
    )
    y_score: values.ColumnNames | None = _column(
        "a score, or one for each class: a list in their order, or columns A,B,C",
        tasks="classification paired binary grouped calibration ranking",
        rivals="predictions",
        aliases=("--score", "--y-prob"),
    )
    value: values.ColumnNames | None = _column(
        "the values, such as loss,latency, default value", tasks="values paired"
    )
    model_a: values.ColumnName | None = _preference("the first of two models, default model_a")
    model_b: values.ColumnName | None = _preference("the second one, default model_b")
    winner: values.ColumnName | None = _preference(
        "who was preferred, default winner: model_a, model_b, tie or tie (bothbad); left or right; "
        "the name of the winner; or 1, 0 and 0.5"
    )
    models: values.NameList | None = _preference(
        "the models that are compared; default: from the rows, which are read twice"
    )
    versus: values.ColumnNames | None = _column(
        "the columns of other models, compared with that of --y-pred, --y-score, --value or --rank",
        tasks="classification paired regression values ranking",
    )
    sample_weight: values.ColumnName | None = _column(
        "the weight of the row, or of its query; with --qrels, a file of queries and weights",
        aliases=("--weight",),
    )
    cluster: values.ColumnName | None = _column(
        "intervals for clusters of rows that depend on each other, such as those of a user"
    )
    by: Annotated[By, values.by, "COLUMN[=A,B]"] | None = _column(
        "one result for each of its most frequent values, or of the named values, and one for the "
        "rest; repeatable, for combinations of several columns",
        action="append",
    )
    each: bool | None = _column(
        "show the worst slices of each --by column; --by '*' does it for every column",
        commands="eval",
    )
    top: values.Count | None = _column("how many values --by shows, default 20", commands="eval")
    time: values.ColumnName | None = _window("one result for each pane of this time; needs --pane")
    pane: values.Width | None = _window()
    keep: values.Width | None = _window()
    unit: Unit | None = _window(metavar="UNIT", aliases=("--time-unit",))
    rollups: tuple[Annotated[tuple[Any, Any], values.rollup, "WIDTH:KEEP"], ...] = _window(
        aliases=("--rollup",)
    )
    classes: Annotated[values.ClassesOption, values.classes, "K|A,B,C|auto"] | None = _decision(
        "the number, the labels, or labels with names, 0=neg,1=pos; default: from the rows",
        tasks=_LABELS,
    )
    threshold: values.FiniteNumber | None = _decision(tasks="classification paired")
    pos_label: values.LabelText | None = _decision(tasks="classification paired binary")
    top_k: values.Count | None = _decision(metavar="K", tasks="classification")
    ignore_label: values.LabelText | None = _decision(tasks=_LABELS)
    outputs: values.NameList | None = _decision(metavar="A,B", tasks="regression")
    multilabel: bool | None = _decision(tasks="classification paired binary")
    budget: Annotated[int | Literal["none"], values.budget, "N|none"] | None = _curve(
        "bins to keep, default 65536 per curve or quantile, 4194304 for groups, or none",
        tasks="paired regression binary grouped values ranking",
    )
    quantiles: Annotated[tuple[float, ...], values.shares, "A,B,C"] | None = _curve(tasks="values")
    scores: Scale | None = _curve(tasks="classification paired binary grouped")
    nan: Literal["raise", "skip", "last"] | None = _curve(
        "a NaN score or value is an error (default), left out of curves and means, or ranked last; "
        "skip leaves out rows of regression",
        tasks="paired regression binary values ranking",
    )
    group: values.ColumnName | None = _curve(
        "the mean AUC within groups, such as users (GAUC)", tasks="binary grouped"
    )
    group_weight: GroupWeight | None = _curve(tasks="grouped")
    max_groups: values.Count | None = _curve(tasks="grouped")
    bins: values.Count | None = _curve(tasks="calibration")
    intervals: bool | None = _curve(
        "add sampling intervals for losses, RMSE, MAE, R2 and bias", tasks="regression calibration"
    )
    item: values.ColumnName | None = _item("the recommended item, default item")
    rank: values.ColumnName | None = _item(
        "its rank in the list, from 1, default rank; ranks beyond --k do not count; "
        "of rankings, the rank of the document in place of its score",
        tasks="catalog ranking",
    )
    popularity: values.ColumnName | None = _item(
        "add novelty, from the popularity of the item in (0, 1]"
    )
    k: values.Count | None = _item(metavar="K")
    n_items: values.Count | None = _item()
    qrels: Annotated[str, "FILE"] | None = _ranking(
        "TREC judgements; the files are parts of one TREC run"
    )
    queries: values.FilePath | None = _ranking(
        "with --qrels: a table with a row for each query, whose columns --by and --cluster name"
    )
    count_missing: bool | None = _ranking(
        "judged queries that the run lacks are in another part, and do not count as missing",
        names=("--no-count-missing",),
        action="store_false",
    )
    max_docs: values.Count | None = _ranking(
        "with --qrels: how many documents per query count as retrieved, default all"
    )
    like: Literal["trec_eval", "sklearn", "recsys", "ltr"] | None = _ranking(
        "the conventions of another tool: trec_eval, sklearn, recsys or ltr", metavar="WHAT"
    )
    ties: TieRule | None = _ranking()
    ap_norm: ApNorm | None = _ranking()
    unjudged: Unjudged | None = _ranking()
    negative: Negative | None = _ranking()
    relevance_level: values.FiniteNumber | None = _ranking(metavar="R")
    gain: Annotated[str | dict[float, float], values.gain, "GAIN"] | None = _ranking()
    empty: values.PolicyByMeasure | None = _ranking()
    missing: values.PolicyByMeasure | None = _ranking()
    track_queries: bool | None = _ranking()
    rows_per_query: values.Count | None = _ranking()
    max_open_queries: values.Count | None = _ranking()
    query: values.ColumnName | None = _ranking("the query of the row, default query")
    relevance: values.ColumnName | None = _ranking(
        "the relevance, default relevance; empty or null means not judged"
    )
    doc: values.ColumnName | None = _ranking("the document, default doc if present")
    retrieved: values.ColumnName | None = _ranking(
        "false for a judged document that was not returned, default retrieved if present"
    )
    num_relevant: values.ColumnName | None = _ranking(
        "how many relevant documents the query has, default num_relevant"
    )
    measures: Annotated[tuple[str, ...], values.measures, "A,B,C"] | None = _output(
        "metrics that are counted only if they are named, such as map,rbp(p=0.8) for rankings, "
        "mape for regression, recall[samples] for classes, log_loss with --versus; repeatable",
        tasks="classification paired regression binary ranking",
        action="extend",
        commands="eval watch",
    )
    per_query: bool | None = _of_queries(
        "add the values of each query, in the layout of trec_eval, or with --json as lines"
    )
    compare: bool | None = _of_queries(
        "compare the files query by query, each of them the run of a system"
    )
    trec: bool | None = _of_queries("print the layout of trec_eval instead of the report")
    output: values.FilePath | None = _output(
        "save the state to this file", metavar="STATE", names=("-o", "--output"), commands="eval"
    )
    reporting: Reporting = Reporting()

    @classmethod
    def of(cls, reporting: Reporting, *, by: Sequence[By] = (), **given: Any) -> Self:
        """Combine the columns of --by, and leave defaults to options that are not given.

        Judgements are of rankings, and a catalog had its --k by the name --top-k.
        """
        if given.get("qrels") is not None:
            given = {"task": "ranking", **given}
        if given.get("task") == "catalog":
            k, former = given.get("k"), given.pop("top_k", None)
            if None not in (k, former) and k != former:
                raise UsageError("--k and --top-k are one option of catalogs, with two numbers.")
            given["k"] = former if k is None else k
        return cls(reporting=reporting, by=By.every(by, each=given.get("each")), **given)

    def columns(self, name: str) -> tuple[str, ...]:
        """Return the columns that an option names, by default the one of its own name.

        >>> Options(files=()).columns("y_true")
        ('y_true',)
        """
        named: str | tuple[str, ...] = getattr(self, name) or name
        return (named,) if isinstance(named, str) else named

    def column(self, name: str) -> str:
        """Return the same of an option that names one column."""
        return self.columns(name)[0]

    @property
    def dialect(self) -> dict[str, Any]:
        """What was said of tables of text."""
        return {name: getattr(self, name) for name in DIALECT}

    @property
    def row_filter(self) -> "RowFilter | None":
        """The rows that are counted; values have decimal commas if the cells do."""
        if not self.where:
            return None
        from streameval.io.row_filters import RowFilter

        has_commas = self.decimal == ","
        return RowFilter(tuple(one.with_points() if has_commas else one for one in self.where))


@attrs.frozen(kw_only=True, eq=False, repr=False, field_transformer=_typed)
class Watching:
    """The options of `streameval watch` beside those of input and counting."""

    max_ahead: values.TimeSpan | None = _followed()
    out_of_order: values.TimeSpan | None = _followed()
    allowed_lateness: values.TimeSpan | None = _followed()
    idle_after: values.TimeSpan | None = _followed()
    kafka_config: values.FilePath | None = _followed("NAME=VALUE lines for the Kafka client")
    wait: values.TimeSpan | None = _label()
    unlabelled: Annotated[str, "drop|LABEL"] | None = _label()
    settle: values.TimeSpan | None = _label()
    shard: Annotated[str, "I/N"] | None = _label()
    label_time: values.ColumnName | None = _label()
    label_idle_after: values.TimeSpan | None = _label()
    max_pending: values.Count | None = _label()
    windows: tuple[values.Width, ...] = _window(
        "a window to show beside the newest pane; repeatable",
        commands="watch",
        aliases=("--window",),
    )
    config: values.FilePath | None = _followed(
        "a TOML file with options by name, such as pane = '1m'; those that are typed win"
    )
    check: bool | None = _followed(
        "rehearse: read what exists into a copy of the checkpoint, show panes and alerts, but "
        "write and send nothing"
    )
    init: bool | None = _followed(
        "print a file for --config, made from a first look at the columns"
    )
    checkpoint: values.FilePath | None = _state("an SQLite file, created if it does not exist")
    once: bool | None = _state("read what exists, and exit")
    migrate: bool | None = _state()
    commit_bytes: values.Count | None = _state()
    alerts: tuple[Annotated[Any, values.table, "RULE"], ...] = _alert(aliases=("--alert",))
    false_alarms: Annotated[str, "RATE"] | None = _alert()
    on_alert: tuple[Annotated[Any, values.table, "CMD|URL"], ...] = _alert()
    serve: Annotated[str, "ADDR"] | None = _page(
        f"serve a live page, and /metrics for Prometheus; default {ADDRESS}",
        nargs="?",
        const=ADDRESS,
    )
    title: values.FreeText | None = _page(
        "the heading of the page, default the name of the checkpoint"
    )
    allow_host: tuple[Annotated[str, "HOST"], ...] = _page(
        "another host name for the page, an IP address or a network; repeatable"
    )
    log_format: Literal["text", "json"] | None = _written(
        "what lines on standard error are: text, with times while files are followed (default), or "
        "JSON objects of time, level and message"
    )
    quarantine: values.FilePath | None = _written()
    output: values.FilePath | None = _written(
        "append a JSON line for each closed pane", names=("-o", "--output"), aliases=("--out",)
    )


@attrs.frozen(kw_only=True, eq=False, repr=False, field_transformer=_typed)
class StateOptions:
    """What commands on states read, and what they show of it."""

    states: Annotated[tuple[str, ...], "STATE"] = _state_of(
        _FROM_EVAL, names=("states",), nargs="+", commands="merge show plot report"
    )
    state: Annotated[str, "STATE"] = _state_of(_FROM_EVAL, names=("state",), commands="explain")
    before: Annotated[str, "A"] = _state_of(
        "the state before, or a folder of slices", names=("before",), commands="diff"
    )
    after: Annotated[tuple[str, ...], "B"] = _state_of(
        "the states after, each compared with A", names=("after",), nargs="+", commands="diff"
    )
    kind: Annotated[str, "KIND"] | None = _option(
        f"{_PICTURES}; default: the first of the task",
        commands="plot",
        aliases=("--curve",),
    )
    member: Annotated[str, "NAME"] | None = _option(
        "for a collection: the member to draw", commands="plot"
    )
    window: values.Width | None = _window(
        "compare a window of each state: 30m, 1h, or steps", commands="diff plot"
    )
    ends: Annotated[tuple[str, ...], values.texts, "T,T"] = _window(
        "the ends of the windows, default the newest ones", default=(), commands="diff"
    )
    title: values.FreeText | None = _option("the heading, default Evaluation", commands="report")
    confusions: Literal["count", "rate"] = _option(
        "with many classes: rank the most confused pairs by count (default) or rate",
        default="count",
        commands="report",
    )
    shell: str = _state_of("the shell", names=("shell",), choices=SHELLS, commands="completion")


@attrs.frozen(kw_only=True, eq=False, repr=False, field_transformer=_typed)
class Writing:
    """Where commands on states write to."""

    output: values.FilePath = _output(
        "the file",
        default=attrs.NOTHING,
        names=("-o", "--output"),
        commands="merge plot report",
        required=True,
    )


def declared(*classes: type) -> list[tuple[str, Option]]:
    """List the options that classes declare, by name."""
    fields: Iterable[Any] = chain.from_iterable(map(attrs.fields, classes))
    return [
        (field.name, field.metadata["option"]) for field in fields if "option" in field.metadata
    ]


def taken(arguments: dict[str, Any], cls: type) -> dict[str, Any]:
    """Take the arguments out that a class declares."""
    return {name: arguments.pop(name) for name, _ in declared(cls) if name in arguments}


def is_given(options: Any, name: str) -> bool:
    """Tell whether the user set an option, also one of `reporting`."""
    held = options if hasattr(options, name) else options.reporting
    return bool(getattr(held, name) != getattr(attrs.fields(type(held)), name).default)


def given_names(options: Options) -> set[str]:
    """Name the options that the user set, with those of `reporting`."""
    names = (*attrs.fields_dict(Options), *attrs.fields_dict(Reporting))
    return {name for name in names if is_given(options, name)}


def refuse(options: Any, names: Iterable[str], why: str) -> None:
    """Raise UsageError if one of these options was given; the reason follows its name."""
    for name in names:
        if is_given(options, name):
            raise UsageError(f"{option_text(name)} {why}.")


def option_words(named: Named) -> str | None:
    """Write an argument of the library as the option that sets it; None if there is none.

    >>> from streameval.errors import Named
    >>> option_words(Named("classes", '"auto"')), option_words(Named("multilabel", "True"))
    ('--classes auto', '--multilabel')
    >>> option_words(Named("ignore_label", "-100"))
    '--ignore-label=-100'
    """
    option = _OPTIONS.get(named.name)
    if option is None or named.value in (None, "", "True"):
        return option
    value = shlex.quote(named.value.strip(_QUOTES))
    return f"{option}{'=' if value.startswith('-') else ' '}{value}"


def error_text(error: StreamevalError) -> str:
    """Return the message, with arguments of the library named as options."""
    is_of_input = isinstance(error, (InvalidInputError, BadDataError))
    return error.told(option_words) if is_of_input else str(error)


OPTIONS_OF_TASKS = {name: option.tasks for name, option in declared(Options) if option.tasks}
"""The options that some tasks take and others do not, with the tasks that do."""

_OPTIONS = {
    **{name: option.names[-1] for name, option in declared(Reporting, Options, Watching)},
    "address": "--serve",
    "kind": "--kind",
    "columns": "--value",
    "at_least": "--evidence",
    "at_most": "--evidence",
}
"""The option that sets an argument of the library."""

_QUOTES = "[\"']"
