"""The arguments of the commands that read states: compare, explain, draw."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streameval.cli import argument_values as values
from streameval.cli.states.conditions import parse_condition
from streameval.results.kinds import RESULTS

if TYPE_CHECKING:
    import argparse

__all__ = [
    "COMPLETION_EPILOG",
    "DIFF_EPILOG",
    "EXPLAIN_EPILOG",
    "PLOT_EPILOG",
    "REPORT_EPILOG",
    "add_completion",
    "add_diff",
    "add_explain",
    "add_numbers",
    "add_plot",
    "add_report",
]

SHELLS = ("bash", "zsh", "fish", "tcsh")

DIFF_EPILOG = """\
examples:
  streameval diff monday.state tuesday.state
  streameval diff monday.state tuesday.state --metrics 'accuracy,recall[macro]'
  streameval diff week.state all.state --fail-on 'accuracy drops 0.01'
  streameval diff week.state all.state --fail-on 'recall[macro] drops 1%' --json

A condition is METRIC drops X or METRIC rises X. It is about the numbers of the
two states: it fails if the metric changes by X or more, or by anything if X is
0; 1% is a share of the value of A. Where numbers have certified intervals it is
undecided, and fails, unless these leave no doubt.

The sampling intervals are those of two independent samples. Two models on the
same rows err together, and their interval is wider than need be: if it leaves 0
out, the difference is beyond chance all the more, but 0 in it says little. For
rankings, streameval.compare in Python pairs the queries.
"""
REPORT_EPILOG = """\
examples:
  streameval report week.state -o week.html
  streameval report monday.state tuesday.state -o days.html --title 'Two days'
"""
EXPLAIN_EPILOG = """\
example:
  streameval explain week.state
"""
PLOT_EPILOG = """\
examples:
  streameval plot all.state -o all.png
  streameval plot all.state --curve matrix -o matrix.svg
"""
COMPLETION_EPILOG = """\
examples:
  streameval completion bash > streameval.bash
  streameval completion zsh > _streameval

For bash, this line in ~/.bashrc does:

  eval "$(streameval completion bash)"

For zsh, the file _streameval goes into a folder of $fpath, for fish the file
streameval.fish into ~/.config/fish/completions.
"""


def add_numbers(group: argparse._ArgumentGroup) -> None:
    """Add the options that say which numbers are shown, and how."""
    group.add_argument("--json", action="store_true", help="one JSON object in place of the report")
    group.add_argument(
        "--metrics",
        action="extend",
        type=values.metrics,
        default=[],
        metavar="A,B,C",
        help="only these, as in 'accuracy,recall[macro]'; names are those of --json",
    )
    group.add_argument(
        "--level", type=values.level, default=0.95, help="of the intervals, default 0.95"
    )
    group.add_argument(
        "--quiet", action="store_true", help="only errors and gates that did not pass on stderr"
    )


def add_diff(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `diff`."""
    parser.description = "Compare two states of one kind, metric by metric."
    parser.add_argument("before", metavar="A", help="the state before")
    parser.add_argument("after", metavar="B", help="the state after")
    output = parser.add_argument_group("output")
    add_numbers(output)
    output.add_argument(
        "--fail-on",
        dest="conditions",
        action="append",
        type=parse_condition,
        default=[],
        metavar="CONDITION",
        help="exit 1 if it holds, as in 'accuracy drops 0.01'; repeatable",
    )


def add_completion(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `completion`."""
    parser.description = "Print what lets a shell complete; needs shtab, the extra `completion`."
    parser.add_argument("shell", choices=SHELLS, help="for which shell")


def add_explain(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `explain`."""
    parser.description = "Say what a state holds, what limits its numbers and what they mean."
    parser.add_argument("state", metavar="STATE", help="a file that eval or merge wrote")


def add_plot(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `plot`."""
    parser.description = "Draw what states hold; needs matplotlib, the extra `plot`."
    parser.add_argument(
        "states",
        nargs="+",
        metavar="STATE",
        help="a file that eval or merge wrote; several share the picture, but for a matrix and "
        "curves of classes",
    )
    by_task = {result.TASK: result.PICTURES for result in RESULTS if result.PICTURES}
    kinds = "; ".join(f"{', '.join(pictures)} ({task})" for task, pictures in by_task.items())
    parser.add_argument("--curve", metavar="KIND", help=f"{kinds}; default: the first of its task")
    parser.add_argument("--member", metavar="NAME", help="of a collection: what is drawn")
    parser.add_argument(
        "-o",
        dest="output",
        type=values.path,
        required=True,
        metavar="FILE",
        help="ends in .png, .svg or .pdf",
    )


def add_report(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `report`."""
    parser.description = "Lay out what states hold as one HTML file, side by side."
    parser.add_argument(
        "states", nargs="+", metavar="STATE", help="a file that eval or merge wrote"
    )
    parser.add_argument("--title", metavar="TEXT", help="the heading, by default the names")
    parser.add_argument(
        "--level", type=values.level, default=0.95, help="of the intervals, default 0.95"
    )
    parser.add_argument(
        "-o", dest="output", type=values.path, required=True, metavar="FILE", help="ends in .html"
    )
