"""The options of `streameval eval`, `watch` and `show`, each declared once.

The parser, `--help`, the checks of tasks and the names in messages read these declarations.
"""

from __future__ import annotations

import shlex
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self

import attrs
from attrs.converters import optional

from streameval.cli import argument_values as values
from streameval.cli.argument_values import By
from streameval.cli.errors import UsageError
from streameval.cli.gates import parse_gate, parse_limit
from streameval.errors import BadDataError, InvalidInputError
from streameval.io.notation import Dialect
from streameval.io.streams import FORMATS
from streameval.monitoring.addresses import ADDRESS
from streameval.results.names import parse_metric

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from streameval.cli.argument_values import ClassesOption
    from streameval.cli.gates import Gate
    from streameval.errors import Named, StreamevalError
    from streameval.io.row_filters import Condition, RowFilter
    from streameval.results.names import MetricName
    from streameval.results.result import Result
    from streameval.runs.counting import RowShare

TASKS = (
    *("classification", "paired", "regression", "binary", "grouped", "calibration", "catalog"),
    *("values", "preferences", "ranking"),
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


@attrs.frozen(kw_only=True)
class Option:
    """How an option is typed, and what the help says of it.

    Parameters
    ----------
    names : tuple of str
        Its spellings, as in ``("-o", "--output")``; by default, that of its field.
    aliases : tuple of str
        Former spellings, which work, and which the help does not show.
    help : str
        What it does.
    group : str
        The heading in the help.
    commands : sequence of str
        The commands that take it.
    tasks : sequence of str
        The tasks that take it, where others would ignore it.
    rivals : str
        A name that it shares with the options that it excludes.
    settings : mapping
        What else `argparse` needs to know.
    """

    names: tuple[str, ...]
    aliases: tuple[str, ...]
    help: str
    group: str
    commands: Sequence[str]
    tasks: Sequence[str]
    rivals: str
    settings: Mapping[str, Any]


_METAVARS = {
    None: "COLUMN",
    values.texts: "COLUMN",
    values.path: "FILE",
    values.positive: "N",
    values.span: "SPAN",
    values.width: "WIDTH",
}
"""What the help writes for a value, unless the option says otherwise."""


def _option(
    text: str,
    read: Any = None,
    metavar: str | None = None,
    *,
    group: str,
    default: Any = None,
    names: tuple[str, ...] = (),
    aliases: tuple[str, ...] = (),
    commands: str = "eval watch",
    tasks: str = "",
    rivals: str = "",
    is_repeated: bool = False,
    **settings: Any,
) -> Any:
    """Declare an option as a field; `read` reads its value, lists the choices, or is bool."""
    if read is bool:
        settings.setdefault("action", "store_true")
    elif isinstance(read, tuple):
        settings |= {"choices": read, "metavar": metavar}
    else:
        settings |= {"type": read, "metavar": metavar or _METAVARS.get(read)}
    if is_repeated:
        settings["action"] = "append"
    made = Option(
        names=names,
        aliases=aliases,
        help=text,
        group=group,
        commands=commands.split(),
        tasks=tasks.split(),
        rivals=rivals,
        settings=settings,
    )
    return attrs.field(
        default=() if is_repeated else default,
        converter=optional(tuple) if is_repeated or settings.get("nargs") == "+" else None,
        metadata={"option": made},
    )


DIALECT = tuple(field.name for field in attrs.fields(Dialect))
"""The options about tables of text."""

JOIN = "labels that arrive later"
GROUPS = (
    *("input", JOIN, "columns", "windows of time", "classes and decisions"),
    *("curves, groups and calibration", "recommendations", "rankings", "state", "alerts"),
    *("live page", "output"),
)
"""The headings of the help, in order."""

_input = partial(_option, group="input")
_label = partial(_option, group=JOIN, commands="watch")
_column = partial(_option, group="columns")
_window = partial(_option, group="windows of time")
_decision = partial(_option, group="classes and decisions")
_curve = partial(_option, group="curves, groups and calibration")
_item = partial(_option, group="recommendations", tasks="catalog")
_ranking = partial(_option, group="rankings", commands="eval", tasks="ranking")
_state = partial(_option, group="state", commands="watch")
_alert = partial(_option, group="alerts", commands="watch")
_page = partial(_option, group="live page", commands="watch")
_output = partial(_option, group="output", commands="eval show")


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Reporting:
    """How a result is reported."""

    json: bool = _output(
        "print one JSON object instead of the report",
        bool,
        default=False,
        commands="eval show diff",
        rivals="layout",
    )
    markdown: bool = _output(
        "print tables in Markdown", bool, default=False, commands="eval show diff", rivals="layout"
    )
    metrics: tuple[MetricName, ...] = _output(
        "show only these metrics, such as 'accuracy,recall[macro]', with the names that --json "
        "uses",
        values.metrics,
        "A,B,C",
        default=(),
        commands="eval show watch diff plot report",
        action="extend",
    )
    level: float = _output(
        "the probability of the intervals, default 0.95",
        values.level,
        default=0.95,
        commands="eval show watch diff plot report",
    )
    quiet: bool = _output(
        "print only errors, gates that did not pass, and formats that you ask for",
        bool,
        default=False,
        commands="eval show watch diff merge plot report",
    )
    bounds: bool = _output(
        "with --json, add bounds of the exact values also where all are exact", bool, default=False
    )
    sort: MetricName | None = _output(
        "slices by this metric, the worst first", values.metric, "METRIC"
    )
    worst: int | None = _output(
        "only the K worst slices, by --sort or the first metric shown", values.positive, "K"
    )
    min_n: int | None = _output(
        "leave out slices with fewer examples, also from gates over slices", values.positive
    )
    gates: tuple[Gate, ...] = _output(
        "exit 1 unless the gate passes, such as 'accuracy>=0.9' or 'rmse<=60', or over slices "
        "'worst(recall)>=0.7' or 'gap(recall)<=0.1'; repeatable",
        parse_gate,
        "GATE",
        names=("--require",),
        aliases=("--fail-under",),
        is_repeated=True,
    )
    limits: tuple[Gate, ...] = _output(
        "for panes of time: exit 1 if there is evidence against the limit, such as "
        "'recall[1]>=0.8'; repeatable",
        parse_limit,
        "LIMIT",
        names=("--evidence",),
        is_repeated=True,
    )
    false_alarms: str | float | None = _output(
        "the rate of false alarms for all limits together, default '1 per 30d'; or the mean "
        "number of panes between two alarms",
        values.promise,
        "PROMISE",
    )
    has_measures: bool = False

    def chosen(self, result: Result) -> tuple[MetricName, ...]:
        """Choose the metrics of a line: --metrics, or the headline and what --measures named."""
        more = result.measured() if self.has_measures else ()
        return self.metrics or tuple(map(parse_metric, dict.fromkeys((*result.headline(), *more))))


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Options:
    """The options of input and counting; None if the user did not set one."""

    files: tuple[str, ...] = _input(
        'JSON lines, CSV, TSV or Parquet; a folder, pattern or URL; "-" is stdin',
        None,
        "FILE",
        default=attrs.NOTHING,
        names=("files",),
        nargs="+",
    )
    task: str = _input(
        f"{tasks_text(TASKS)}; {TOGETHER[1]},{TOGETHER[0]} counts both in one reading",
        _Listed(TASKS),
        "TASK",
        default=TASKS[0],
    )
    where: tuple[Condition, ...] = _input(
        "only rows that match, such as 'country=DE,FR', 'age>=30' or 'split!='; repeatable",
        values.condition,
        "CONDITION",
        is_repeated=True,
    )
    max_bad: int | RowShare = _input(
        "leave out up to this many bad rows, or this share of all rows; default 0",
        values.count_or_share,
        "N|P%",
        default=0,
    )
    jobs: int | Literal["auto"] = _input(
        "how many processes to use; default auto, as many as there are CPUs, up to 8, where the "
        "files are large enough",
        values.jobs,
        "N|auto",
        default="auto",
        commands="eval",
    )
    format: str | None = _input("default: by name or content", FORMATS)
    delimiter: str | None = _input(
        "the delimiter of CSV, tab for a tab; default: by the first row",
        values.delimiter,
        "CHARACTER",
    )
    header: tuple[str, ...] | None = _input(
        "for CSV without a header: its column names, or none to number them 1, 2, 3",
        values.header,
        "A,B,C|none",
    )
    decimal: str | None = _input(
        "the decimal separator of CSV, default a point", (",", "."), "CHARACTER"
    )
    thousands: str | None = _input(
        "the separator of thousands in CSV: , . ' _ or a space", None, "CHARACTER"
    )
    percent: bool | None = _input("read 6.95%% in CSV as 0.0695", bool)
    na: tuple[str, ...] | None = _input(
        "the cells of CSV that are missing, besides empty ones, such as NULL,N/A",
        values.texts,
        "A,B,C",
    )
    dates: str | None = _input(
        "the order of dates in CSV such as 01.05.2026: day or month first", ("dmy", "mdy"), "ORDER"
    )
    encoding: str | None = _input(
        "the encoding of CSV, default UTF-8, such as cp1252", None, "NAME"
    )
    partial_last_line: str | None = _input(
        "count a last line without a newline (default), or skip it for now",
        ("count", "skip"),
        commands="eval",
    )
    y_true: tuple[str, ...] | None = _column(
        "the truth, default y_true",
        values.texts,
        tasks="classification paired regression binary grouped calibration",
        aliases=("--label",),
    )
    y_pred: tuple[str, ...] | None = _column(
        "the predicted label or number, default y_pred",
        values.texts,
        tasks="classification paired regression",
        rivals="predictions",
        aliases=("--pred",),
    )
    y_score: tuple[str, ...] | None = _column(
        "a score, or one for each class: a list in their order, or columns A,B,C",
        values.texts,
        tasks="classification paired binary grouped calibration ranking",
        rivals="predictions",
        aliases=("--score", "--y-prob"),
    )
    value: tuple[str, ...] | None = _column(
        "the values, such as loss,latency, default value", values.texts, tasks="values paired"
    )
    model_a: str | None = _column("the first of two models, default model_a", tasks="preferences")
    model_b: str | None = _column("the second one, default model_b", tasks="preferences")
    winner: str | None = _column(
        "who was preferred, default winner: model_a, model_b, tie or tie (bothbad); left or right; "
        "the name of the winner; or 1, 0 and 0.5",
        tasks="preferences",
    )
    models: tuple[str, ...] | None = _column(
        "the models that are compared; default: from the rows, which are read twice",
        values.texts,
        "A,B,C",
        tasks="preferences",
    )
    versus: tuple[str, ...] | None = _column(
        "the column of another model, B, or several: B,C,D; --y-pred, --y-score or --value is that "
        "of A (of rankings --y-score or --rank); differences are A - B",
        values.texts,
        tasks="classification paired regression values ranking",
    )
    sample_weight: str | None = _column(
        "the weight of the row, or of its query; with --qrels, a file of queries and weights",
        aliases=("--weight",),
    )
    cluster: str | None = _column(
        "intervals for clusters of rows that depend on each other, such as those of a user",
    )
    by: By | None = _column(
        "one result for each of its most frequent values (with --time, of up to 100 chosen by a "
        "hash), or of the named values, and one for the rest; repeatable, for combinations of "
        "several columns",
        values.by,
        "COLUMN[=A,B]",
        action="append",
    )
    each: bool | None = _column(
        "show the worst slices of each --by column; --by '*' does it for every column",
        bool,
        commands="eval",
    )
    top: int | None = _column(
        "how many values --by shows, default 20", values.positive, commands="eval"
    )
    time: str | None = _window("one result for each pane of this time; needs --pane")
    pane: str | int | None = _window(
        "the pane width: 30s, 5m, 1h, 7d, or a number of steps", values.width
    )
    keep: str | int | None = _window("how long panes are kept, default forever", values.width)
    unit: str | None = _window(
        "the unit of numeric times", ("s", "ms", "us", "ns"), "UNIT", aliases=("--time-unit",)
    )
    rollups: tuple[tuple[Any, Any], ...] = _window(
        "wider panes for data older than --keep, and how long to keep them; repeatable",
        values.rollup,
        "WIDTH:KEEP",
        is_repeated=True,
        aliases=("--rollup",),
    )
    classes: ClassesOption | None = _decision(
        "the number, the labels, or labels with names, 0=neg,1=pos; default: from the rows",
        values.classes,
        "K|A,B,C|auto",
        tasks="classification paired binary calibration",
    )
    threshold: float | None = _decision(
        "a score of at least T is positive, default 0.5",
        values.number,
        "T",
        tasks="classification paired",
    )
    pos_label: str | None = _decision(
        "the positive one of two listed classes, default the second",
        None,
        "LABEL",
        tasks="classification paired binary",
    )
    top_k: int | None = _decision(
        "report top-k accuracy; for catalog, how many ranks count, default 10",
        values.positive,
        "K",
        tasks="classification catalog",
    )
    ignore_label: str | None = _decision(
        "leave out rows with this true label",
        None,
        "LABEL",
        tasks="classification paired binary calibration",
    )
    outputs: tuple[str, ...] | None = _decision(
        "the names of the outputs if each row predicts several numbers",
        values.texts,
        "A,B",
        tasks="regression",
    )
    multilabel: bool | None = _decision(
        "labels are lists of 0 and 1, one for each class",
        bool,
        tasks="classification paired binary",
    )
    budget: int | Literal["none"] | None = _curve(
        "bins to keep, default 65536 per curve or quantile, 4194304 for groups, or none",
        values.budget,
        "N|none",
        tasks="paired regression binary grouped values ranking",
    )
    quantiles: tuple[float, ...] | None = _curve(
        "quantiles to add, such as 0.5,0.99", values.shares, "A,B,C", tasks="values"
    )
    scores: str | None = _curve(
        "probabilities (default), or any numbers, such as logits",
        ("probability", "real"),
        tasks="classification paired binary grouped",
    )
    nan: str | None = _curve(
        "a NaN score or value is an error (default), left out of curves and means, or ranked last; "
        "skip leaves out rows of regression",
        ("raise", "skip", "last"),
        tasks="paired regression binary values ranking",
    )
    group: str | None = _curve(
        "the mean AUC within groups, such as users (GAUC)", tasks="binary grouped"
    )
    group_weight: str | None = _curve(
        "the weight of a group: its number of examples (default), one, or its positives",
        ("impressions", "uniform", "positives"),
        tasks="grouped",
    )
    max_groups: int | None = _curve(
        "refuse more groups than this", values.positive, tasks="grouped"
    )
    bins: int | None = _curve(
        "the number of bins for probabilities, default 15", values.positive, tasks="calibration"
    )
    intervals: bool | None = _curve(
        "add sampling intervals for losses, RMSE, MAE, R2 and bias",
        bool,
        tasks="regression calibration",
    )
    item: str | None = _item("the recommended item, default item")
    rank: str | None = _item(
        "its rank in the list, from 1, default rank; ranks beyond --top-k do not count; "
        "of rankings, the rank of the document in place of its score",
        tasks="catalog ranking",
    )
    popularity: str | None = _item("add novelty, from the popularity of the item in (0, 1]")
    n_items: int | None = _item("the number of items in the catalog", values.positive)
    qrels: str | None = _ranking(
        "TREC judgements; the files are parts of one TREC run, read again and held in memory if "
        "the rows of a query are not together",
        None,
        "FILE",
    )
    queries: str | None = _ranking(
        "with --qrels: a table with a row for each query, whose columns --by and --cluster name",
        values.path,
        "FILE",
    )
    count_missing: bool | None = _ranking(
        "judged queries that the run lacks are in another part, and do not count as missing",
        bool,
        names=("--no-count-missing",),
        action="store_false",
    )
    max_docs: int | None = _ranking(
        "with --qrels: how many documents per query count as retrieved, default all",
        values.positive,
    )
    like: str | None = _ranking(
        "the conventions of another tool: trec_eval, sklearn, recsys or ltr",
        ("trec_eval", "sklearn", "recsys", "ltr"),
        "WHAT",
    )
    ties: str | None = _ranking(
        "how tied documents count: expected (default), docid_desc, pessimistic or optimistic",
        ("expected", "docid_desc", "pessimistic", "optimistic"),
        "WHAT",
    )
    ap_norm: str | None = _ranking(
        "map@k divides by R, the number of relevant documents (default), or by min(R, k)",
        ("R", "min"),
        "WHAT",
    )
    unjudged: str | None = _ranking(
        "unjudged documents: nonrelevant (default), or drop to leave them out",
        ("nonrelevant", "drop"),
        "WHAT",
    )
    negative: str | None = _ranking(
        "a negative relevance: raise an error (default), or zero to count it as not judged",
        ("raise", "zero"),
        "WHAT",
    )
    relevance_level: float | None = _ranking(
        "the lowest relevance of a relevant document, default 1", values.number, "R"
    )
    gain: str | dict[float, float] | None = _ranking(
        "linear (default), exp2, or a gain per relevance, 1=1,2=3", values.gain, "GAIN"
    )
    empty: str | dict[str, str] | None = _ranking(
        "queries with nothing to find: zero (default), skip, one or nan; or by measure, map=skip",
        values.policy,
        "WHAT",
    )
    missing: str | dict[str, str] | None = _ranking(
        "judged queries that the run lacks: zero (default) or skip; or by measure, map=skip",
        values.policy,
        "WHAT",
    )
    track_queries: bool | None = _ranking(
        "keep the query ids in the state, so that a merge refuses duplicates", bool
    )
    rows_per_query: int | None = _ranking(
        "with one row per document: rows kept per query for uncut measures, default 1000",
        values.positive,
    )
    max_open_queries: int | None = _ranking(
        "with one row per document: refuse more queries than this", values.positive
    )
    query: str | None = _ranking("the query of the row, default query")
    relevance: str | None = _ranking(
        "the relevance, default relevance; empty or null means not judged"
    )
    doc: str | None = _ranking("the document, default doc if present")
    retrieved: str | None = _ranking(
        "false for a judged document that was not returned, default retrieved if present"
    )
    num_relevant: str | None = _ranking(
        "how many relevant documents the query has, default num_relevant"
    )
    measures: tuple[str, ...] | None = _output(
        "metrics that are counted only if they are named, such as map,ndcg@10,rbp(p=0.8,rel=2) for "
        "rankings, mape,huber(delta=2) for regression, recall[samples],top_k_precision or "
        "roc_auc_ovo for classes, and with --versus roc_auc,log_loss, or loss or score of values; "
        "repeatable",
        values.measures,
        "A,B,C",
        tasks="classification paired regression binary ranking",
        action="extend",
        commands="eval watch",
    )
    per_query: bool | None = _output(
        "add the values of each query, in the layout of trec_eval, or with --json as lines",
        bool,
        commands="eval",
        tasks="ranking",
    )
    compare: bool | None = _output(
        "compare the files query by query, each of them the run of a system",
        bool,
        commands="eval",
        tasks="ranking",
    )
    trec: bool | None = _output(
        "print the layout of trec_eval instead of the report",
        bool,
        commands="eval",
        tasks="ranking",
    )
    output: str | None = _output(
        "save the state to this file",
        values.path,
        "STATE",
        names=("-o", "--output"),
        commands="eval",
    )
    reporting: Reporting = Reporting()

    @classmethod
    def of(cls, reporting: Reporting, *, by: Sequence[By] = (), **given: Any) -> Self:
        """Combine the columns of --by, and leave defaults to options that are not given.

        Judgements are of rankings.
        """
        if given.get("qrels") is not None:
            given = {"task": "ranking", **given}
        return cls(reporting=reporting, by=By.every(by, each=given.get("each")), **given)

    @property
    def dialect(self) -> dict[str, Any]:
        """What was said of tables of text."""
        return {name: getattr(self, name) for name in DIALECT}

    @property
    def row_filter(self) -> RowFilter | None:
        """The rows that are counted; values have decimal commas if the cells do."""
        if not self.where:
            return None
        from streameval.io.row_filters import RowFilter  # noqa: PLC0415 (loads NumPy)

        has_commas = self.decimal == ","
        return RowFilter(tuple(one.with_points() if has_commas else one for one in self.where))


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Watching:
    """The options of `streameval watch` beside those of input and counting."""

    max_ahead: str | int | None = _input(
        "rows further in the future are bad, default 1h", values.span, commands="watch"
    )
    out_of_order: str | int | None = _input(
        "how far back in time a row may be, default 0s", values.span, commands="watch"
    )
    allowed_lateness: str | int | None = _input(
        "how long a pane stays open after its end, default 0s", values.span, commands="watch"
    )
    idle_after: str | int | None = _input(
        "when a silent file no longer holds the others back, default 5m",
        values.span,
        commands="watch",
    )
    kafka_config: str | None = _input(
        "NAME=VALUE lines for the Kafka client", values.path, commands="watch"
    )
    labels: tuple[str, ...] | None = _label("the files with the labels", None, "FILE", nargs="+")
    key: str | None = _label("the id of a prediction and its label", aliases=("--join",))
    wait: str | int | None = _label("how long a prediction waits for its label", values.span)
    unlabelled: str | None = _label(
        "how a prediction without a label counts: drop, as unlabelled (default), or this label",
        None,
        "drop|LABEL",
    )
    settle: str | int | None = _label(
        "how long a label can be corrected; the last one counts", values.span
    )
    shard: str | None = _label(
        "join one of N parts of all ids, such as 1/4, each with its own checkpoint", None, "I/N"
    )
    label_time: str | None = _label("the time of a label, default that of --time")
    label_idle_after: str | int | None = _label(
        "when a silent file of labels no longer holds the others back, default never", values.span
    )
    max_pending: int | None = _label(
        "stop reading while this many predictions are pending, default 10000000", values.positive
    )
    windows: tuple[str | int, ...] = _window(
        "a window to show beside the newest pane; repeatable",
        values.width,
        commands="watch",
        is_repeated=True,
        aliases=("--window",),
    )
    config: str | None = _input(
        "a TOML file with options by name, such as pane = '1m'; those that are typed win",
        values.path,
        commands="watch",
    )
    check: bool | None = _input(
        "rehearse: read what exists into a copy of the checkpoint, show panes and alerts, but "
        "write and send nothing",
        bool,
        commands="watch",
    )
    init: bool | None = _input(
        "print a file for --config, made from a first look at the columns", bool, commands="watch"
    )
    checkpoint: str | None = _state(
        "an SQLite file, created if it does not exist", values.path, required=True
    )
    once: bool | None = _state("read what exists, and exit", bool)
    migrate: bool | None = _state(
        "continue a checkpoint of other slices or lateness, if it holds what they need", bool
    )
    commit_bytes: int | None = _state("read at most this many bytes per commit", values.positive)
    alerts: tuple[Any, ...] = _alert(
        "alert on a rule such as 'recall[1] < 0.8', or a table of rule, name, severity, labels and "
        "links; repeatable",
        values.table,
        "RULE",
        is_repeated=True,
        aliases=("--alert",),
    )
    false_alarms: str | None = _alert(
        "the false alarms of all alerts together, default '1 per 30d'", None, "RATE"
    )
    on_alert: tuple[Any, ...] = _alert(
        "run a command, post to a URL, or a table of to, format, key, severity, rules, slices, "
        "resolved and heartbeat; repeatable",
        values.table,
        "CMD|URL",
        is_repeated=True,
    )
    serve: str | None = _page(
        f"serve a live page, and /metrics for Prometheus; default {ADDRESS}",
        None,
        "ADDR",
        nargs="?",
        const=ADDRESS,
    )
    title: str | None = _page(
        "the heading of the page, default the name of the checkpoint", None, "TEXT"
    )
    allow_host: tuple[str, ...] = _page(
        "another host name for the page, an IP address or a network; repeatable",
        None,
        "HOST",
        is_repeated=True,
    )
    log_format: str | None = _output(
        "what lines on standard error are: text, with times while files are followed (default), or "
        "JSON objects of time, level and message",
        ("text", "json"),
        commands="watch",
    )
    quarantine: str | None = _output(
        "append a JSON line for each bad row, late label and label without a prediction; at most "
        "32 MiB, and as much in FILE.1",
        values.path,
        commands="watch",
    )
    output: str | None = _output(
        "append a JSON line for each closed pane",
        values.path,
        commands="watch",
        names=("-o", "--output"),
        aliases=("--out",),
    )


def taken(arguments: dict[str, Any], declared: type) -> dict[str, Any]:
    """Take the arguments out that a class declares."""
    names = {field.name for field in attrs.fields(declared)} & arguments.keys()
    return {name: arguments.pop(name) for name in names}


def refuse(options: Any, names: Iterable[str], why: str) -> None:
    """Raise UsageError if one of these options was given; the reason follows its name."""
    fields = attrs.fields_dict(type(options))
    for name in names:
        if getattr(options, name) != fields[name].default:
            raise UsageError(f"{option_text(name)} {why}.")


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


def error_text(error: StreamevalError) -> str:
    """Return the message, with arguments of the library named as options."""
    is_of_input = isinstance(error, (InvalidInputError, BadDataError))
    return error.told(option_words) if is_of_input else str(error)


_FIELDS = attrs.fields(Options)

OPTIONS_OF_TASKS = {
    field.name: field.metadata["option"].tasks
    for field in _FIELDS
    if "option" in field.metadata and field.metadata["option"].tasks
}
"""The options that some tasks take and others do not, with the tasks that do."""

_OPTIONS = {
    **{field.name: option_text(field.name) for field in (*_FIELDS, *attrs.fields(Watching))},
    "address": "--serve",
    "kind": "--kind",
    "columns": "--value",
    "min_n": "--min-n",
    "at_least": "--evidence",
    "at_most": "--evidence",
}
"""The option that sets an argument of the library."""

_QUOTES = "[\"']"
