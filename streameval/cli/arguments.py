"""The arguments of every command, in the order of its help."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, NoReturn, cast

import attrs

import streameval
from streameval.cli import argument_values as values
from streameval.cli.errors import USAGE
from streameval.cli.gates import parse_gate, parse_limit
from streameval.cli.states.conditions import parse_condition
from streameval.cli.tasks import TASKS
from streameval.configs.names import closest, nearest
from streameval.configs.other_names import our_name
from streameval.io import FORMATS
from streameval.monitoring.addresses import ADDRESS
from streameval.render.text import printable
from streameval.results.pictures import PICTURES_BY_TASK
from streameval.runs.counting import Share

_DESCRIPTION = "Evaluate prediction logs of any size, in parts and with many processes."
_EPILOG = """\
examples:
  streameval eval predictions.jsonl.gz
  streameval eval part-*.csv --label truth --pred guess --jobs 4 -o all.state
  streameval merge monday.state tuesday.state -o week.state
  streameval show week.state --require 'recall[macro]>=0.8'
  streameval diff monday.state tuesday.state --fail-on 'accuracy drops 0.01'
  streameval plot week.state -o week.png
  streameval report monday.state tuesday.state -o days.html
  streameval eval bm25.run --task ranking --qrels test.qrels
  streameval watch stream.jsonl --time ts --pane 1h --checkpoint ck.db --once

exit codes:
    0  success                3  bad data: the message names file and line
  1  a gate did not pass    4  states that cannot be merged or compared
  2  wrong usage
"""
_EVAL_EPILOG = """\
examples:
  streameval eval predictions.jsonl.gz
  streameval eval log.csv --score p_cat,p_dog,p_owl --classes cat,dog,owl
  streameval eval log.jsonl --json --require 'accuracy>=0.9'
  streameval eval both.csv --pred new --versus old
  zcat log.gz | streameval eval - --score probability --threshold 0.8
  streameval eval prices.csv --task regression --pred guess --require 'rmse<=60'
  streameval eval clicks.csv --task binary --require 'roc_auc>=0.7'
  streameval eval clicks.csv --task binary --group user --json
  streameval eval clicks.csv --task calibration --score p_click -o clicks.state
  streameval eval bm25.run --task ranking --qrels test.qrels --like trec_eval
  streameval eval bm25.run --task ranking --qrels test.qrels --per-query
  streameval eval searches.jsonl --task ranking --measures 'ndcg@10,rbp(p=0.8)'

A gate passes only if the whole interval of its metric is on the right side of
the bound. If only a part of it is, the gate is undecided and fails. The
interval is the sampling interval, or for metrics of curves without one, the
certified interval. Metrics without intervals are compared by value. --level 0
turns sampling intervals off.

worst(METRIC) is the worst slice of --by, so worst(recall)>=0.7 holds for each;
gap(METRIC) is the highest minus the lowest, gap(METRIC, ratio) the lowest over
the highest. Their intervals hold for all slices at once (Bonferroni), also for
one that was searched out among them. A slice that cannot be decided leaves the
gate undecided; --min-n leaves small ones out and names them. Other gates are
about all rows, and say so where there are slices.

Metrics have the names that --json uses. Per-class metrics take an average or a
class: 'recall[macro]>=0.8', 'precision[spam]>0.95'.
"""
_WATCH_EPILOG = """\
examples:
  streameval watch stream.jsonl --time ts --pane 1h --checkpoint ck.db --once
  streameval watch 'app-*.jsonl' --time ts --pane 1h --checkpoint ck.db --once

However a run ends, the next run continues from the last commit. After Ctrl-C or
SIGTERM, watch finishes its step, commits, and exits with 0. With --once, the
exit code is 1 while an alert is firing, 3 if a path or pattern matches no file,
and 0 otherwise.
"""
_MERGE_EPILOG = """\
example:
  streameval merge part-*.state -o all.state
"""
_SHOW_EPILOG = """\
examples:
  streameval show all.state
  streameval show all.state --json --level 0.99
  streameval show monday.state tuesday.state --metrics accuracy --markdown
"""

SHELLS = ("bash", "zsh", "fish", "tcsh")

_DIFF_EPILOG = """\
examples:
  streameval diff monday.state tuesday.state
  streameval diff monday.state tuesday.state --metrics 'accuracy,recall[macro]'
  streameval diff week.state all.state --fail-on 'accuracy drops 0.01'
  streameval diff week.state all.state --fail-on 'recall[macro] drops 1%' --json
  streameval diff days.state days.state --window 1d --ends 2026-11-20,2026-11-21
  streameval diff old.state new.state newer.state --markdown

A condition is METRIC drops X or METRIC rises X. It compares the numbers of the
two states and ignores chance. It fails if the metric changes by X or more, or
by any amount if X is 0; 1% is a share of the value of A. If certified intervals
cannot decide a condition, it is undecided and fails.

The sampling intervals assume two independent samples. Two models on the same
rows tend to err together, so their interval is wider than necessary. If it
excludes 0, the difference is beyond chance; if it contains 0, it says little.
For rankings, streameval.compare in Python pairs the queries.
"""
_REPORT_EPILOG = """\
examples:
  streameval report week.state -o week.html
  streameval report monday.state tuesday.state -o days.html --title 'Two days'
"""
_EXPLAIN_EPILOG = """\
example:
  streameval explain week.state
"""
_PLOT_EPILOG = """\
examples:
  streameval plot all.state -o all.png
  streameval plot all.state --curve matrix -o matrix.svg
  streameval plot days.state --metric accuracy --window 1d -o accuracy.png
"""
_COMPLETION_EPILOG = """\
examples:
  streameval completion bash > streameval.bash
  streameval completion zsh > _streameval

For bash, add this line to ~/.bashrc:

  eval "$(streameval completion bash)"

For zsh, put the file _streameval into a folder of $fpath. For fish, put the
file streameval.fish into ~/.config/fish/completions.
"""
_FROM_EVAL = "a file that eval or merge wrote, or a checkpoint of watch"


@attrs.frozen
class _Each:
    """Reads every value of an option that may be repeated."""

    read: Any


@attrs.frozen
class _Needed:
    """Reads the value of a required option."""

    read: Any


_Option = tuple[str, Any, str | None, str]
"""The name; bool for a flag, choices, or a function that reads the value; the metavar; the help."""

_RANKING: tuple[_Option, ...] = (
    (
        *("--like", ("trec_eval", "sklearn", "recsys", "ltr"), "WHAT"),
        "the conventions of another tool: trec_eval, sklearn, recsys or ltr",
    ),
    (
        *("--ties", ("expected", "docid_desc", "pessimistic", "optimistic"), "WHAT"),
        "how tied documents count: expected (default), docid_desc, pessimistic or optimistic",
    ),
    (
        *("--ap-norm", ("R", "min"), "WHAT"),
        "map@k divides by R, the number of relevant documents (default), or by min(R, k)",
    ),
    (
        *("--unjudged", ("nonrelevant", "drop"), "WHAT"),
        "unjudged documents: nonrelevant (default), or drop to leave them out",
    ),
    (
        *("--negative", ("raise", "zero"), "WHAT"),
        "a negative relevance: raise an error (default), or zero to count it as not judged",
    ),
    (
        *("--relevance-level", values.number, "R"),
        "the lowest relevance of a relevant document, default 1",
    ),
    ("--gain", values.gain, "GAIN", "linear (default), exp2, or a gain per relevance, 1=1,2=3"),
    (
        *("--empty", values.policy, "WHAT"),
        "queries with nothing to find: zero (default), skip, one or nan; or by measure, map=skip",
    ),
    (
        *("--missing", values.policy, "WHAT"),
        "judged queries that the run lacks: zero (default) or skip; or by measure, map=skip",
    ),
    (
        *("--track-queries", bool, None),
        "keep the query ids in the state, so that a merge refuses duplicates",
    ),
    (
        *("--rows-per-query", values.positive, "N"),
        "with one row per document: rows kept per query for uncut measures, default 1000",
    ),
    (
        *("--max-open-queries", values.positive, "N"),
        "with one row per document: refuse more queries than this",
    ),
    ("--query", None, "COLUMN", "the query of the row, default query"),
    (
        *("--relevance", None, "COLUMN"),
        "the relevance, default relevance; empty or null means not judged",
    ),
    ("--doc", None, "COLUMN", "the document, default doc if present"),
    (
        *("--retrieved", None, "COLUMN"),
        "false for a judged document that was not returned, default retrieved if present",
    ),
    (
        *("--num-relevant", None, "COLUMN"),
        "how many relevant documents the query has, default num_relevant",
    ),
)
"""How rankings are evaluated, and which columns hold them."""

_WATCH_INPUT: tuple[_Option, ...] = (
    ("--decimal", (",", "."), "CHARACTER", "the decimal separator of CSV, default a point"),
    ("--max-ahead", values.span, "SPAN", "rows further in the future are bad, default 1h"),
    ("--out-of-order", values.span, "SPAN", "how far back in time a row may be, default 0s"),
    (
        *("--allowed-lateness", values.span, "SPAN"),
        "how long a pane stays open after its end, default 0s",
    ),
    (
        *("--idle-after", values.span, "SPAN"),
        "when a silent file no longer holds the others back, default 5m",
    ),
    ("--kafka-config", values.path, "FILE", "NAME=VALUE lines for the Kafka client"),
)
"""Which rows of a followed file count, and when a pane is closed."""

_WATCH_LABELS: tuple[_Option, ...] = (
    ("--join", None, "COLUMN", "the id of a prediction and its label"),
    ("--wait", values.span, "SPAN", "how long a prediction waits for its label"),
    (
        *("--unlabelled", None, "drop|LABEL"),
        "how a prediction without a label counts: drop, as unlabelled (default), or this label",
    ),
    ("--settle", values.span, "SPAN", "how long a label can be corrected; the last one counts"),
    (
        *("--shard", None, "I/N"),
        "join one of N parts of all ids, such as 1/4, each with its own checkpoint",
    ),
    ("--label-time", None, "COLUMN", "the time of a label, default that of --time"),
    (
        *("--label-idle-after", values.span, "SPAN"),
        "when a silent file of labels no longer holds the others back, default never",
    ),
    (
        *("--max-pending", values.positive, "N"),
        "stop reading while this many predictions are pending, default 10000000",
    ),
)
"""How labels that arrive later are joined."""

_WATCH_STATE: tuple[_Option, ...] = (
    (
        *("--checkpoint", _Needed(values.path), "FILE"),
        "an SQLite file, created if it does not exist",
    ),
    ("--once", bool, None, "read what exists, and exit"),
    ("--commit-bytes", values.positive, "N", "read at most this many bytes per commit"),
)
"""Where a monitor keeps its state, and when it stops."""

_WATCH_ALERTS: tuple[_Option, ...] = (
    ("--alert", _Each(None), "RULE", "alert on a rule such as 'recall[1] < 0.8'; repeatable"),
    (
        "--false-alarms",
        None,
        "RATE",
        "the false alarms of all alerts together, default '1 per 30d'",
    ),
    ("--on-alert", _Each(None), "CMD|URL", "run a command, or post to a URL; repeatable"),
)
"""When an alert is sent."""

_WINDOW: _Option = (
    *("--window", _Each(values.width), "WIDTH"),
    "a window to show beside the newest pane; repeatable",
)


_VERSION_HELP = "show program's version number and exit"


class _Version(argparse.Action):
    """Print the version. It is looked up only here: the lookup takes as long as all the rest."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        sys.stdout.write(f"streameval {streameval.__version__}\n")
        parser.exit()


def argument_parser() -> argparse.ArgumentParser:
    """Build the parser of all commands."""
    parser = _parser(_Parser, prog="streameval", epilog=_EPILOG)
    parser.description = _DESCRIPTION
    unset = argparse.SUPPRESS
    parser.add_argument("--version", action=_Version, nargs=0, default=unset, help=_VERSION_HELP)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _add_eval(_parser(commands.add_parser, "eval", help="evaluate files", epilog=_EVAL_EPILOG))
    make = commands.add_parser
    _add_watch(_parser(make, "watch", help="follow files that grow", epilog=_WATCH_EPILOG))
    _add_merge(_parser(make, "merge", help="merge states into one", epilog=_MERGE_EPILOG))
    _add_show(_parser(make, "show", help="print the metrics of states", epilog=_SHOW_EPILOG))
    _add_diff(_parser(make, "diff", help="compare states", epilog=_DIFF_EPILOG))
    _add_explain(_parser(make, "explain", help="explain a state in words", epilog=_EXPLAIN_EPILOG))
    _add_plot(_parser(make, "plot", help="draw curves and matrices", epilog=_PLOT_EPILOG))
    _add_report(_parser(make, "report", help="write an HTML report", epilog=_REPORT_EPILOG))
    _add_completion(
        _parser(make, "completion", help="set up completion in a shell", epilog=_COMPLETION_EPILOG)
    )
    siblings = cast("dict[str, _Parser]", commands.choices)
    for one in (cast("_Parser", parser), *siblings.values()):
        one.siblings = siblings
    return parser


class _Once(argparse.Action):
    """Store the value of an option, which can be given once, under any of its names."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        """Refuse a second value: the first would be lost."""
        given = cast("_Parser", parser).given
        if option_string is not None and self.dest in given:
            raise argparse.ArgumentError(self, "was given twice, and takes one value")
        given.add(self.dest)
        setattr(namespace, self.dest, values)


class _Parser(argparse.ArgumentParser):
    """A parser that answers a mistake with one line instead of the whole usage."""

    siblings: Mapping[str, _Parser] = {}
    """The parsers of all commands by name."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self.given: set[str] = set()
        super().__init__(*args, **options)
        self.register("action", None, _Once)  # what an argument gets that names no action

    def parse_known_args(  # type: ignore[override] # of the overloads, the one that runs
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse, but report unknown arguments here: the help of this command says more."""
        given = sys.argv[1:] if args is None else args
        self.given = set()
        for name in self._unknown(given):
            self.error(self._suggestion(name))
        found, left = super().parse_known_args(given, namespace or argparse.Namespace())
        if left:
            self.error(f"unrecognized arguments: {' '.join(left)}")
        return found, left

    def _unknown(self, args: Sequence[str]) -> Iterator[str]:
        """Report unknown long options before missing ones."""
        for arg in args:
            if arg == "--" or (arg in self.siblings and self._subparsers):
                return
            name = arg.partition("=")[0]
            if name.startswith("--") and " " not in arg and name not in self._option_string_actions:
                yield name

    def _suggestion(self, name: str) -> str:
        """Suggest a similar option, or name the commands that have it."""
        others = [
            command
            for command, parser in self.siblings.items()
            if name in parser._option_string_actions
        ]
        ours = f"--{our_name(name.removeprefix('--')).replace('_', '-')}"
        is_known = not others and ours in self._option_string_actions
        close = [ours] if is_known else closest(name, self._option_string_actions)
        if others:
            elsewhere = f"no option {name} here: it is for {', '.join(others)}"
            is_form = bool(close) and close[0].rstrip("s") == name.rstrip("s")
            return f"{elsewhere}; did you mean {close[0]}?" if is_form else elsewhere
        return f"no option {name}: did you mean {close[0]}?" if close else f"no option {name}"

    def _check_value(self, action: argparse.Action, value: object) -> None:
        """Suggest a similar choice for a name that does not exist, such as that of a command."""
        if action.choices is not None and value not in action.choices:
            choices = nearest(str(value), map(str, action.choices)).removesuffix(".")
            raise argparse.ArgumentError(action, f"invalid choice: {value!r}; {choices}")

    def error(self, message: str) -> NoReturn:
        """Report what is wrong, and where to read more."""
        link = " See" if message.endswith("?") else "; see"
        self.exit(USAGE, f"streameval: error: {printable(message)}{link} {self.prog} --help.\n")


def _parser(make: Any, *names: str, **options: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = make(
        *names,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,  # a new option must not change the meaning of an old script
        **options,
    )
    return parser


def _add(group: Any, *options: _Option) -> None:
    for name, read, metavar, text in options:
        if read is bool:
            group.add_argument(name, action="store_true", default=None, help=text)
        elif isinstance(read, tuple):
            group.add_argument(name, choices=read, metavar=metavar, help=text)
        elif isinstance(read, _Each):
            group.add_argument(
                name, action="append", type=read.read, default=[], metavar=metavar, help=text
            )
        elif isinstance(read, _Needed):
            group.add_argument(name, type=read.read, required=True, metavar=metavar, help=text)
        else:
            group.add_argument(name, type=read, metavar=metavar, help=text)


def _add_eval(parser: argparse.ArgumentParser) -> None:
    parser.description = "Evaluate files of predictions and print the metrics."
    files = parser.add_argument_group("input")
    files.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help='JSON lines, CSV, TSV or Parquet; a folder, pattern or URL; "-" is stdin',
    )
    _add_formats(files, "or this share of all rows; default 0")
    _add(
        files,
        ("--decimal", (",", "."), "CHARACTER", "the decimal separator of CSV, default a point"),
        (
            *("--partial-last-line", ("count", "skip"), None),
            "count a last line without a newline (default), or skip it for now",
        ),
        ("--jobs", values.positive, "N", "how many processes to use, default 1"),
    )
    parser.set_defaults(jobs=1)
    _add_choice(parser, files, tuple(TASKS))
    columns = parser.add_argument_group("columns")
    _add_columns(columns, "its most frequent values (with --time, of up to 100 chosen by a hash)")
    _add(
        columns,
        (
            *("--each", bool, None),
            "show the worst slices of each --by column; --by '*' does it for every column",
        ),
        ("--top", values.positive, "N", "how many values --by shows, default 20"),
    )
    _add_windows(parser.add_argument_group("windows of time"))
    _add_decisions(parser.add_argument_group("classes and decisions"))
    _add_curves(parser.add_argument_group("curves, groups and calibration"))
    _add_catalog(parser.add_argument_group("recommendations"))
    _add_ranking(parser.add_argument_group("rankings"))
    output = _add_reporting(parser)
    _add(
        output,
        (
            *("--per-query", bool, None),
            "add the values of each query, in the layout of trec_eval, or with --json as lines",
        ),
        ("--trec", bool, None, "print the layout of trec_eval instead of the report"),
    )
    _add_output(output, "STATE", "save the state to this file", required=False)


def _add_formats(group: argparse._ArgumentGroup, share: str) -> None:
    _add(
        group,
        ("--format", FORMATS, None, "default: by name or content"),
        (
            *("--delimiter", values.delimiter, "CHARACTER"),
            "the delimiter of CSV, default a comma; tab for a tab",
        ),
        (
            *("--header", values.header, "A,B,C|none"),
            "for CSV without a header: its column names, or none to number them 1, 2, 3",
        ),
        (
            *("--max-bad", values.count_or_share, "N|P%"),
            f"leave out up to this many bad rows, {share}",
        ),
    )


def _add_choice(
    parser: argparse.ArgumentParser, group: argparse._ArgumentGroup, tasks: tuple[str, ...]
) -> None:
    """Add the task, and which rows count."""
    default, *others = tasks
    _add(group, ("--task", tasks, "TASK", f"{default} (default), {', '.join(others)}"))
    text = "only rows that match, such as 'country=DE,FR', 'age>=30' or 'split!='; repeatable"
    _add(group, ("--where", _Each(values.condition), "CONDITION", text))
    parser.set_defaults(max_bad=0, task=default)


def _add_watch(parser: argparse.ArgumentParser) -> None:
    parser.description = "Follow files of predictions, and count each pane of time."
    files = parser.add_argument_group("input")
    files.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help='files, or globs in quotes, that grow and rotate; a folder of whole files; "-" is '
        "stdin, whose rows can be lost at a restart; kafka://HOST:PORT/TOPIC; "
        "redis://HOST:PORT/DB/STREAM[?field=NAME]",
    )
    _add_formats(files, "or this share of the newest 10,000; default 1%%")
    _add_choice(parser, files, tuple(task for task in TASKS if task != "ranking"))
    parser.set_defaults(max_bad=Share(Decimal(1)))
    _add(files, *_WATCH_INPUT)
    labels = parser.add_argument_group("labels that arrive later")
    labels.add_argument("--labels", nargs="+", metavar="FILE", help="the files with the labels")
    _add(labels, *_WATCH_LABELS)
    _add_columns(parser.add_argument_group("columns"), "up to 100 values chosen by a hash")
    windows = parser.add_argument_group("windows of time")
    _add_windows(windows)
    _add(windows, _WINDOW)
    _add_decisions(parser.add_argument_group("classes and decisions"))
    _add_curves(parser.add_argument_group("curves, groups and calibration"))
    _add_catalog(parser.add_argument_group("recommendations"))
    _add(parser.add_argument_group("state"), *_WATCH_STATE)
    _add(parser.add_argument_group("alerts"), *_WATCH_ALERTS)
    _add_page(parser.add_argument_group("live page"))
    output = parser.add_argument_group("output")
    _add(output, ("--out", values.path, "FILE", "append a JSON line for each closed pane"))
    _add_metrics(output, "eval --json")
    _add_level(output)
    _add_quiet(output)


def _add_page(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--serve",
        nargs="?",
        const=ADDRESS,
        metavar="ADDR",
        help=f"serve a live page, and /metrics for Prometheus; default {ADDRESS}",
    )
    text = "another host name for the page, an IP address or a network; repeatable"
    _add(group, ("--allow-host", _Each(None), "HOST", text))


def _add_columns(group: argparse._ArgumentGroup, unnamed: str) -> None:
    _add(group, ("--label", values.columns, "COLUMN", "the truth, default y_true"))
    _add(
        group.add_mutually_exclusive_group(),
        ("--pred", values.columns, "COLUMN", "the predicted label or number, default y_pred"),
        (
            *("--score", values.columns, "COLUMN"),
            "a score, or one for each class: a list in their order, or columns A,B,C",
        ),
    )
    _add(
        group,
        (
            *("--versus", values.columns, "COLUMN"),
            "the column of another model, B; --pred or --score is that of A; differences are A - B",
        ),
        (
            *("--weight", None, "COLUMN"),
            "the weight of the row, or of its query; with --qrels, a file of queries and weights",
        ),
    )
    text = (
        f"one result for each of {unnamed}, or of the named values, and one for the rest; "
        "repeatable, for combinations of several columns"
    )
    _add(group, ("--by", _Each(values.by), "COLUMN[=A,B]", text))


def _add_windows(group: argparse._ArgumentGroup) -> None:
    _add(
        group,
        ("--time", None, "COLUMN", "one result for each pane of this time; needs --pane"),
        ("--pane", values.width, "WIDTH", "the pane width: 30s, 5m, 1h, 7d, or a number of steps"),
        ("--keep", values.width, "WIDTH", "how long panes are kept, default forever"),
        ("--time-unit", ("s", "ms", "us", "ns"), "UNIT", "the unit of numeric times"),
    )
    text = "wider panes for data older than --keep, and how long to keep them; repeatable"
    _add(group, ("--rollup", _Each(values.rollup), "WIDTH:KEEP", text))


def _add_decisions(group: argparse._ArgumentGroup) -> None:
    _add(
        group,
        (
            *("--classes", values.classes, "K|A,B,C|auto"),
            "the number, the labels, or labels with names, 0=neg,1=pos; default: from the rows",
        ),
        ("--threshold", values.number, "T", "a score of at least T is positive, default 0.5"),
        (
            *("--pos-label", None, "LABEL"),
            "the positive one of two listed classes, default the second",
        ),
        (
            "--top-k",
            values.positive,
            "K",
            "report top-k accuracy; for catalog, how many ranks count, default 10",
        ),
        ("--ignore-label", None, "LABEL", "leave out rows with this true label"),
        (
            "--outputs",
            values.columns,
            "A,B",
            "the names of the outputs if each row predicts several numbers",
        ),
        ("--multilabel", bool, None, "labels are lists of 0 and 1, one for each class"),
    )


def _add_curves(group: argparse._ArgumentGroup) -> None:
    weights = ("impressions", "uniform", "positives")
    _add(
        group,
        (
            *("--budget", values.budget, "N|none"),
            "cells to keep, default 65536 per curve or quantile, 4194304 for groups, or none",
        ),
        (
            *("--scores", ("probability", "real"), None),
            "probabilities (default), or any numbers, such as logits",
        ),
        (
            *("--nan", ("raise", "skip", "last"), None),
            "a NaN score is an error (default), left out of curves, or ranked last",
        ),
        ("--group", None, "COLUMN", "average the AUC within groups, such as users"),
        (
            *("--group-weight", weights, None),
            "the weight of a group: its number of examples (default), one, or its positives",
        ),
        ("--max-groups", values.positive, "N", "refuse more groups than this"),
        ("--bins", values.positive, "N", "the number of bins for probabilities, default 15"),
        ("--intervals", bool, None, "add sampling intervals for losses, RMSE, MAE, R2 and bias"),
    )


def _add_catalog(group: argparse._ArgumentGroup) -> None:
    _add(
        group,
        ("--item", None, "COLUMN", "the recommended item, default item"),
        (
            *("--rank", None, "COLUMN"),
            "its rank in the list, from 1, default rank; ranks beyond --top-k do not count",
        ),
        ("--popularity", None, "COLUMN", "add novelty, from the popularity of the item in (0, 1]"),
        ("--n-items", values.positive, "N", "the number of items in the catalog"),
    )


def _add_ranking(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--qrels",
        metavar="FILE",
        help="TREC judgements; the files are parts of one TREC run, read again and held in memory "
        "if the rows of a query are not together",
    )
    group.add_argument(
        "--no-count-missing",
        dest="count_missing",
        action="store_false",
        default=None,
        help="judged queries that the run lacks are in another part, and do not count as missing",
    )
    group.add_argument(
        "--max-docs",
        type=values.positive,
        metavar="N",
        help="with --qrels: how many documents per query count as retrieved, default all",
    )
    group.add_argument(
        "--measures",
        type=values.measures,
        action="extend",
        metavar="A,B,C",
        help="for rankings, such as map,ndcg@10,P_5,rbp(p=0.8,rel=2), or trec_eval's P.5,10 and "
        "sets official and all_trec; for regression, additional metrics such as "
        "mape,huber(delta=2); for classification, samples or top_k; for curves of classes, "
        "one_vs_one; with --versus, what else to compare, such as roc_auc,log_loss,recall; "
        "repeatable",
    )
    _add(group, *_RANKING)


def _add_reporting(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    group = parser.add_argument_group("output")
    _add_numbers(group)
    group.add_argument(
        "--bounds",
        action="store_true",
        help="with --json, add certified intervals also where all are exact",
    )
    _add(
        group,
        ("--sort", values.metric, "METRIC", "slices by this metric, the worst first"),
        (
            *("--worst", values.positive, "K"),
            "only the K worst slices, by --sort or the first metric shown",
        ),
        (
            *("--min-n", values.positive, "N"),
            "leave out slices with fewer examples, also from gates over slices",
        ),
    )
    text = (
        "exit 1 unless the gate passes, such as 'accuracy>=0.9' or 'rmse<=60', or over slices "
        "'worst(recall)>=0.7' or 'gap(recall)<=0.1'; repeatable"
    )
    _add_checks(group, ("--require", "--fail-under"), "gates", parse_gate, "GATE", text)
    text = (
        "for panes of time: exit 1 if there is evidence against the limit, such as "
        "'recall[1]>=0.8'; repeatable"
    )
    _add_checks(group, ("--evidence",), "limits", parse_limit, "LIMIT", text)
    group.add_argument(
        "--false-alarms",
        type=values.promise,
        metavar="PROMISE",
        help="the rate of false alarms for all limits together, default '1 per 30d'; or the mean "
        "number of panes between two alarms",
    )
    return group


def _add_checks(
    group: argparse._ArgumentGroup,
    names: tuple[str, ...],
    dest: str,
    read: Any,
    metavar: str,
    text: str,
) -> None:
    group.add_argument(
        *names, dest=dest, action="append", type=read, default=[], metavar=metavar, help=text
    )


def _add_output(group: Any, metavar: str, text: str, *, required: bool = True) -> None:
    read = values.path
    group.add_argument(
        *("-o", "--output"), dest="output", type=read, required=required, metavar=metavar, help=text
    )


def _add_merge(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Merge state files into one, in any order. Files of parts become their union."
    )
    parser.add_argument("states", nargs="+", metavar="STATE", help=_FROM_EVAL)
    _add_output(parser, "OUT", "the file for the merged state")
    _add_quiet(parser)


def _add_show(parser: argparse.ArgumentParser) -> None:
    parser.description = "Print the metrics of a state, or one line for each of several states."
    parser.add_argument("states", nargs="+", metavar="STATE", help=_FROM_EVAL)
    _add_reporting(parser)


def _add_level(group: Any) -> None:
    group.add_argument(
        "--level",
        type=values.level,
        default=0.95,
        help="the probability of the intervals, default 0.95",
    )


def _add_numbers(group: argparse._ArgumentGroup) -> None:
    """Add the options that say which numbers are shown, and how."""
    layout = group.add_mutually_exclusive_group()
    layout.add_argument(
        "--json", action="store_true", help="print one JSON object instead of the report"
    )
    layout.add_argument("--markdown", action="store_true", help="print tables in Markdown")
    _add_metrics(group, "--json")
    _add_level(group)
    _add_quiet(group)


def _add_metrics(group: Any, source: str, what: str = "show only these metrics") -> None:
    group.add_argument(
        "--metrics",
        action="extend",
        type=values.metrics,
        default=[],
        metavar="A,B,C",
        help=f"{what}, such as 'accuracy,recall[macro]', with the names that {source} uses",
    )


def _add_quiet(group: Any) -> None:
    text = "print only errors, gates that did not pass, and formats that you ask for"
    group.add_argument("--quiet", action="store_true", help=text)


def _add_diff(parser: argparse.ArgumentParser) -> None:
    parser.description = "Compare a state with others of its type, metric by metric."
    parser.add_argument("before", metavar="A", help="the state before")
    parser.add_argument(
        "after", nargs="+", metavar="B", help="the states after, each compared with A"
    )
    windows = parser.add_argument_group("windows of time")
    _add(
        windows,
        ("--window", values.width, "WIDTH", "compare a window of each state: 30m, 1h, or steps"),
        ("--ends", values.columns, "T,T", "the ends of the windows, default the newest ones"),
    )
    parser.set_defaults(ends=())
    output = parser.add_argument_group("output")
    _add_numbers(output)
    text = "exit 1 if the condition holds, such as 'accuracy drops 0.01'; repeatable"
    _add_checks(output, ("--fail-on",), "conditions", parse_condition, "CONDITION", text)


def _add_completion(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Print a completion script for a shell. Needs shtab, the extra `completion`."
    )
    parser.add_argument("shell", choices=SHELLS, help="the shell")


def _add_explain(parser: argparse.ArgumentParser) -> None:
    parser.description = "Say what a state holds, what limits its numbers and what they mean."
    parser.add_argument("state", metavar="STATE", help=_FROM_EVAL)


def _add_plot(parser: argparse.ArgumentParser) -> None:
    parser.description = "Draw curves and matrices of states. Needs matplotlib, the extra `plot`."
    parser.add_argument(
        "states",
        nargs="+",
        metavar="STATE",
        help="a file that eval, merge or watch wrote; several states share one figure, except for "
        "matrices and curves of classes",
    )
    pictures_by_task = "; ".join(
        f"{', '.join(pictures)} ({task})" for task, pictures in PICTURES_BY_TASK.items()
    )
    parser.add_argument(
        "--curve", metavar="CURVE", help=f"{pictures_by_task}; default: the first of the task"
    )
    parser.add_argument("--member", metavar="NAME", help="for a collection: the member to draw")
    _add(
        parser,
        (
            *("--metric", values.metric, "NAME"),
            "the metric to draw over panes of time, default the first of the task",
        ),
        ("--window", values.width, "WIDTH", "draw windows that slide by one pane, default panes"),
    )
    _add_level(parser)
    _add_output(parser, "FILE", "the file, ending in .png, .svg or .pdf")
    _add_quiet(parser)


def _add_report(parser: argparse.ArgumentParser) -> None:
    parser.description = "Show states side by side in one HTML file."
    parser.add_argument("states", nargs="+", metavar="STATE", help=_FROM_EVAL)
    parser.add_argument(
        "--title", metavar="TEXT", help="the heading, by default the names of the states"
    )
    parser.add_argument(
        "--confusions",
        choices=("count", "rate"),
        default="count",
        help="with many classes: rank the most confused pairs by count (default) or rate",
    )
    _add_metrics(parser, "explain", "add these metrics")
    _add_level(parser)
    _add_output(parser, "FILE", "the file, ending in .html")
    _add_quiet(parser)
