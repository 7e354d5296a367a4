"""The arguments of the command line."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

import streameval
from streameval.cli import argument_values as values
from streameval.cli.counting.tasks import TASKS
from streameval.cli.errors import USAGE
from streameval.cli.gates import parse_gate
from streameval.cli.ranking_arguments import add_ranking, add_ranking_output
from streameval.cli.state_arguments import (
    COMPLETION_EPILOG,
    DIFF_EPILOG,
    EXPLAIN_EPILOG,
    PLOT_EPILOG,
    REPORT_EPILOG,
    add_completion,
    add_diff,
    add_explain,
    add_numbers,
    add_plot,
    add_report,
)
from streameval.io import FORMATS
from streameval.render.text import printable

__all__ = ["argument_parser"]

_DESCRIPTION = "Evaluate prediction logs of any size, in parts and on many processes."
_EPILOG = """\
examples:
  streameval eval predictions.jsonl.gz
  streameval eval part-*.csv --label truth --pred guess --jobs 4 -o all.state
  streameval merge monday.state tuesday.state -o week.state
  streameval show week.state --fail-under 'recall[macro]>=0.8'
  streameval diff monday.state tuesday.state --fail-on 'accuracy drops 0.01'
  streameval plot week.state -o week.png
  streameval report monday.state tuesday.state -o days.html
  streameval eval bm25.run --task ranking --qrels test.qrels

exit codes:
  0  fine                   3  bad data: the file and the line are named
  1  a gate did not pass    4  states that do not fit together
  2  wrong usage
"""
_EVAL_EPILOG = """\
examples:
  streameval eval predictions.jsonl.gz
  streameval eval log.csv --score p_cat,p_dog,p_owl --classes cat,dog,owl
  streameval eval log.jsonl --json --fail-under 'accuracy>=0.9'
  zcat log.gz | streameval eval - --score probability --threshold 0.8
  streameval eval prices.csv --task regression --pred estimate
  streameval eval clicks.csv --task binary --fail-under 'roc_auc>=0.7'
  streameval eval clicks.csv --task binary --group user --json
  streameval eval clicks.csv --task calibration --score p_click -o clicks.state
  streameval eval bm25.run --task ranking --qrels test.qrels --like trec_eval
  streameval eval bm25.run --task ranking --qrels test.qrels --per-query
  streameval eval searches.jsonl --task ranking --measures 'ndcg@10,rbp(p=0.8)'

A gate passes only if the whole interval of its metric keeps the bound, and is
undecided if a part of it does. That is the sampling interval, for metrics of
curves but the ROC AUC the certified one, and there is none for regression and
calibration; with --level 0 the value itself is compared. Metrics have the
names that --json gives them; where there are classes, they take an average or
a class in brackets: 'recall[macro]>=0.8', 'precision[spam]>0.95'.
"""
_MERGE_EPILOG = """\
example:
  streameval merge part-*.state -o all.state
"""
_SHOW_EPILOG = """\
examples:
  streameval show all.state
  streameval show all.state --json --level 0.99
"""


def argument_parser() -> argparse.ArgumentParser:
    """Build the parser of all commands."""
    parser = _parser(_Parser, prog="streameval", epilog=_EPILOG)
    parser.description = _DESCRIPTION
    version = f"streameval {streameval.__version__}"
    parser.add_argument("--version", action="version", version=version)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _add_eval(_parser(commands.add_parser, "eval", help="count files", epilog=_EVAL_EPILOG))
    make = commands.add_parser
    _add_merge(_parser(make, "merge", help="merge states into one", epilog=_MERGE_EPILOG))
    _add_show(_parser(make, "show", help="report what a state holds", epilog=_SHOW_EPILOG))
    add_diff(_parser(make, "diff", help="compare two states", epilog=DIFF_EPILOG))
    add_explain(
        _parser(make, "explain", help="say what a state holds in words", epilog=EXPLAIN_EPILOG)
    )
    add_plot(_parser(make, "plot", help="draw what states hold", epilog=PLOT_EPILOG))
    add_report(_parser(make, "report", help="lay states out as a page", epilog=REPORT_EPILOG))
    add_completion(
        _parser(make, "completion", help="let a shell complete", epilog=COMPLETION_EPILOG)
    )
    return parser


class _Parser(argparse.ArgumentParser):
    """A parser that answers a mistake with one line, not with pages."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and where to read on."""
        self.exit(USAGE, f"streameval: error: {printable(message)}; see {self.prog} --help.\n")


class _Once(argparse.Action):
    """Store a value, and refuse a second one."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Store it."""
        if getattr(namespace, self.dest) is not None:
            parser.error(f"argument {option_string}: given twice")
        setattr(namespace, self.dest, values)


def _parser(make: Any, *names: str, **options: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = make(
        *names,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,  # a new option must not change what an old script means
        **options,
    )
    return parser


def _add_eval(parser: argparse.ArgumentParser) -> None:
    parser.description = "Count the rows of files and report."
    files = parser.add_argument_group("input")
    files.add_argument(
        "files", nargs="+", metavar="FILE", help='JSON lines, CSV, TSV or Parquet; "-" is stdin'
    )
    files.add_argument("--format", choices=FORMATS, help="default: by name or content")
    files.add_argument(
        "--max-bad",
        type=values.count,
        default=0,
        metavar="N",
        help="bad rows to leave out, default 0",
    )
    files.add_argument(
        "--partial-last-line",
        choices=("count", "skip"),
        help="one without a newline counts (default), or is left for next time",
    )
    files.add_argument(
        "--jobs", type=values.positive, default=1, metavar="N", help="processes, default 1"
    )
    default, *others = TASKS
    files.add_argument(
        "--task",
        choices=list(TASKS),
        default=default,
        metavar="TASK",
        help=f"{default} (default), {', '.join(others)}",
    )
    _add_columns(parser.add_argument_group("columns"))
    _add_decisions(parser.add_argument_group("classes and decisions"))
    _add_curves(parser.add_argument_group("curves, groups and calibration"))
    add_ranking(parser.add_argument_group("rankings"))
    output = _add_reporting(parser)
    add_ranking_output(output)
    output.add_argument(
        "-o", dest="output", type=values.path, metavar="STATE", help="save the state to this file"
    )


def _add_columns(group: argparse._ArgumentGroup) -> None:
    names = values.columns
    group.add_argument(
        "--label",
        type=names,
        metavar="COLUMN",
        help="the truth, default y_true",
    )
    predictions = group.add_mutually_exclusive_group()
    predictions.add_argument(
        "--pred",
        type=names,
        metavar="COLUMN",
        help="the predicted label or number, default y_pred",
    )
    predictions.add_argument(
        "--score",
        type=names,
        metavar="COLUMN",
        help="a score, or a list of scores in the order of the classes; or several columns A,B,C",
    )
    group.add_argument("--weight", metavar="COLUMN", help="the weight of the row")
    group.add_argument(
        "--by",
        action=_Once,
        type=values.by,
        metavar="COLUMN[=A,B]",
        help="one result for each of its most frequent values, or for those named, and the rest",
    )
    group.add_argument(
        "--top", type=values.positive, metavar="N", help="how many values of --by, default 20"
    )


def _add_decisions(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--classes",
        type=values.classes,
        metavar="K|A,B,C|auto",
        help="their number, their labels, or (default) by what the rows hold",
    )
    group.add_argument(
        "--threshold",
        type=values.number,
        metavar="T",
        help="a score of at least T is positive, default 0.5",
    )
    group.add_argument(
        "--pos-label",
        metavar="LABEL",
        help="the positive one of two listed classes, default the second",
    )
    group.add_argument("--top-k", type=values.positive, metavar="K", help="report top-k accuracy")
    group.add_argument(
        "--ignore-label", metavar="LABEL", help="rows whose true label this is do not count"
    )
    group.add_argument(
        "--multilabel",
        action="store_true",
        default=None,
        help="labels are lists of 0 and 1, one for each class",
    )


def _add_curves(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--budget",
        type=values.budget,
        metavar="N|none",
        help="cells kept, default 65536 a curve or 4194304 for groups; none: every score",
    )
    group.add_argument(
        "--scores",
        choices=("probability", "real"),
        help="probabilities (default), or any numbers, as logits are",
    )
    group.add_argument(
        "--nan",
        choices=("raise", "skip", "last"),
        help="a score of NaN is bad (default), left out of curves, or ranked last",
    )
    group.add_argument(
        "--group", metavar="COLUMN", help="average the AUC within groups, such as users"
    )
    group.add_argument(
        "--group-weight",
        choices=("impressions", "uniform", "positives"),
        help="of a group: its examples (default), one, or its positives",
    )
    group.add_argument(
        "--max-groups", type=values.positive, metavar="N", help="more of them are refused"
    )
    group.add_argument(
        "--bins", type=values.positive, metavar="N", help="bins of probabilities, default 15"
    )


def _add_reporting(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    group = parser.add_argument_group("output")
    add_numbers(group)
    group.add_argument(
        "--fail-under",
        dest="gates",
        action="append",
        type=parse_gate,
        default=[],
        metavar="GATE",
        help="exit 1 unless it holds, as in 'accuracy>=0.9'; repeatable",
    )
    return group


def _add_merge(parser: argparse.ArgumentParser) -> None:
    parser.description = "Merge state files into one; the order does not matter."
    parser.add_argument(
        "states", nargs="+", metavar="STATE", help="a file that eval or merge wrote"
    )
    parser.add_argument(
        "-o",
        dest="output",
        type=values.path,
        required=True,
        metavar="OUT",
        help="where the sum goes",
    )


def _add_show(parser: argparse.ArgumentParser) -> None:
    parser.description = "Report what a state holds."
    parser.add_argument("state", metavar="STATE", help="a file that eval or merge wrote")
    _add_reporting(parser)
