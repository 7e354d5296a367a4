"""The arguments of every command, in the order of its help."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Container, Iterator, Mapping, Sequence, Set
from itertools import pairwise
from typing import Any, NoReturn, cast

import attrs

import streameval
from streameval.cli.errors import UsageError
from streameval.cli.options import (
    GROUPS,
    TASKS,
    Option,
    Options,
    Reporting,
    StateOptions,
    Watching,
    Writing,
    declared,
    tasks_text,
)
from streameval.cli.terminal import print_out
from streameval.configs.names import closest, nearest, our_name

_DESCRIPTION = "Evaluate prediction logs of any size, in parts and with many processes."
_EPILOG = """\
examples:
  streameval eval predictions.jsonl.gz
  streameval eval part-*.csv --y-true truth --y-pred guess --jobs 4 -o all.state
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
  2  wrong usage            5  something is in use or does not answer: try again
"""
_EVAL_EPILOG = """\
examples:
  streameval eval predictions.jsonl.gz
  streameval eval log.csv --y-score p_cat,p_dog,p_owl --classes cat,dog,owl
  streameval eval log.jsonl --json --require 'accuracy>=0.9'
  streameval eval both.csv --y-pred new --versus old
  zcat log.gz | streameval eval - --y-score probability --threshold 0.8
  streameval eval prices.csv --task regression --y-pred guess --require 'mse<=9'
  streameval eval clicks.csv --task binary --require 'roc_auc>=0.7'
  streameval eval clicks.csv --task binary --group user --json
  streameval eval clicks.csv --task calibration --y-score p_click -o p.state
  streameval eval bm25.run --task ranking --qrels test.qrels --like trec_eval
  streameval eval bm25.run --task ranking --qrels test.qrels --per-query
  streameval eval searches.jsonl --task ranking --measures 'ndcg@10,rbp(p=0.8)'

A gate passes only if the whole interval of its metric is on the right side of
the bound. If only a part of it is, the gate is undecided and fails. The
interval is the sampling interval, or for metrics of curves without one, the
bounds of the exact value. Other metrics are compared by value. --level 0 turns
sampling intervals off.

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
  streameval watch --init 'app-*.jsonl' > monitor.toml
  streameval watch stream.jsonl --config monitor.toml --check

However a run ends, the next run continues from the last commit. After Ctrl-C or
SIGTERM, watch finishes its step, commits, and exits with 0. With --once, the
exit code is 1 while an alert is firing, 3 if a path or pattern matches no file,
and 0 otherwise.

Otherwise, a run ends only with an error. A restart does not help after exit
code 2 (options), 3 (rows, a damaged checkpoint) and 4 (other options than those
of the checkpoint); it may help after 5: the port or the checkpoint is in use,
or a disk or a server does not answer.
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
by any amount if X is 0; 1% is a share of the value of A. If the bounds of a
metric cannot decide a condition, it is undecided and fails.

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
  streameval plot all.state --kind matrix -o matrix.svg
  streameval plot days.state --metrics accuracy --window 1d -o accuracy.png
"""
_COMPLETION_EPILOG = """\
examples:
  streameval completion bash > streameval.bash
  streameval completion zsh > _streameval

For bash, add this line to ~/.bashrc:

  eval "$(streameval completion bash)"

For zsh, put the file _streameval into a folder of $fpath. For fish, put the
file streameval.fish into ~/.config/fish/completions. For tcsh, let ~/.tcshrc
source the file.
"""
_DOCTOR_EPILOG = """\
example:
  streameval doctor
"""
_VERSION_HELP = "show program's version number and exit"


class _Version(argparse.Action):
    """Print the version. It is looked up only here: the lookup takes as long as all the rest."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        print_out([f"streameval {streameval.__version__}\n"])
        parser.exit()


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Subcommand:
    """A command, and the classes that declare its options.

    Parameters
    ----------
    summary : str
        What the help of all commands says of it.
    description, epilog : str
        What its own help begins and ends with.
    options : tuple of class
        In the order of the help.
    usage : str
        What follows its name, where `--help` shows the common options alone.
    common : str
        The options that `--help` shows then; `--help-all` shows the rest.
    changes : mapping
        By option, what differs from its declaration.
    """

    summary: str
    description: str
    epilog: str
    options: tuple[type, ...]
    usage: str = ""
    common: str = ""
    changes: Mapping[str, Mapping[str, Any]] = {}


_OF_WATCH = TASKS[:-1]  # rankings have no panes that close
COMMANDS = {
    "eval": Subcommand(
        summary="evaluate files",
        description="Evaluate files of predictions and print the metrics.",
        epilog=_EVAL_EPILOG,
        options=(Options, Reporting),
        usage="FILE...",
        common="files task where max_bad jobs y_true y_pred y_score versus sample_weight by time "
        "pane classes threshold pos_label group qrels measures output json metrics gates",
    ),
    "watch": Subcommand(
        summary="follow files that grow",
        description="Follow files of predictions, and count each pane of time.",
        epilog=_WATCH_EPILOG,
        options=(Options, Watching, Reporting),
        usage=f"FILE... --time COLUMN --pane WIDTH\n{' ' * 24}--checkpoint FILE",
        common="files task where labels key wait y_true y_pred y_score by time pane keep classes "
        "threshold checkpoint once alerts on_alert serve output metrics",
        changes={
            "files": {
                "nargs": "*",
                "help": "files, or globs in quotes, that grow and rotate; a folder of whole files; "
                '"-" is stdin, whose rows can be lost at a restart; kafka://HOST:PORT/TOPIC; '
                "redis://HOST:PORT/DB/STREAM[?field=NAME]",
            },
            "task": {"choices": _OF_WATCH, "help": tasks_text(_OF_WATCH)},
            "max_bad": {
                "help": "leave out up to this many bad rows, or this share of the newest 10,000; "
                "default 1%%"
            },
            "by": {
                "help": "one result for each of up to 100 values chosen by a hash, or of the named "
                "values, and one for the rest; repeatable, for combinations of several columns"
            },
            "metrics": {
                "help": "show only these metrics, such as 'accuracy,recall[macro]', with the names "
                "that eval --json uses"
            },
        },
    ),
    "merge": Subcommand(
        summary="merge states into one",
        description="Merge state files into one, in any order. Files of parts become their union.",
        epilog=_MERGE_EPILOG,
        options=(StateOptions, Reporting, Writing),
        changes={"output": {"metavar": "OUT", "help": "the file for the merged state"}},
    ),
    "show": Subcommand(
        summary="print the metrics of states",
        description="Print the metrics of a state, or one line for each of several states.",
        epilog=_SHOW_EPILOG,
        options=(StateOptions, Reporting),
    ),
    "diff": Subcommand(
        summary="compare states",
        description="Compare a state with others of its type, metric by metric.",
        epilog=_DIFF_EPILOG,
        options=(StateOptions, Reporting),
    ),
    "explain": Subcommand(
        summary="explain a state in words",
        description="Say what a state holds, what limits its numbers and what they mean.",
        epilog=_EXPLAIN_EPILOG,
        options=(StateOptions,),
    ),
    "plot": Subcommand(
        summary="draw curves and matrices",
        description="Draw curves and matrices of states. Needs matplotlib, the extra `plot`.",
        epilog=_PLOT_EPILOG,
        options=(StateOptions, Reporting, Writing),
        changes={
            "states": {
                "help": "a file that eval, merge or watch wrote; several states share one figure, "
                "except for matrices and curves of classes"
            },
            "window": {"help": "draw windows that slide by one pane, default panes"},
            "metrics": {
                "metavar": "NAME",
                "help": "the metric to draw over panes of time, default the first of the task",
                "aliases": ("--metric",),
            },
            "output": {"help": "the file, ending in .png, .svg or .pdf"},
        },
    ),
    "report": Subcommand(
        summary="write an HTML report",
        description="Show states side by side in one HTML file.",
        epilog=_REPORT_EPILOG,
        options=(StateOptions, Reporting, Writing),
        changes={
            "metrics": {
                "help": "add these metrics, such as 'accuracy,recall[macro]', with the names that "
                "explain uses"
            },
            "output": {"help": "the file, ending in .html"},
        },
    ),
    "completion": Subcommand(
        summary="set up completion in a shell",
        description="Print a completion script for a shell. Needs shtab, the extra `completion`.",
        epilog=_COMPLETION_EPILOG,
        options=(StateOptions,),
    ),
    "doctor": Subcommand(
        summary="print versions, and what is missing for what",
        description="Print versions, and what is missing for what.\n"
        "The exit code is 1 if a package is too old.",
        epilog=_DOCTOR_EPILOG,
        options=(),
    ),
}
"""Every command, in the order of the help."""


def argument_parser(words: Container[str] = COMMANDS) -> Parser:
    """Build the parser of all commands, with the options of those that the words name."""
    parser = _parser(Parser, prog="streameval", description=_DESCRIPTION, epilog=_EPILOG)
    unset = argparse.SUPPRESS
    parser.add_argument("--version", action=_Version, nargs=0, default=unset, help=_VERSION_HELP)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, command in COMMANDS.items():
        about = {"description": command.description, "epilog": command.epilog}
        made = _parser(commands.add_parser, name, help=command.summary, **about)
        if name in words:
            _add_options(made, name, command)
    for one in (parser, *commands.choices.values()):
        one.siblings = commands.choices
    return parser


def described_parser() -> Parser:
    """Build the parser of all commands, with the help of all options."""
    parser = argument_parser()
    for one in parser.siblings.values():
        one.describe()
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
        given = cast("Parser", parser).given
        if option_string is not None and self.dest in given:
            raise argparse.ArgumentError(self, "was given twice, and takes one value")
        given.add(self.dest)
        setattr(namespace, self.dest, values)


class _AllHelp(argparse.Action):
    """Print the help with all options."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        print_out([cast("Parser", parser).format_all_help()])
        parser.exit()


class Parser(argparse.ArgumentParser):
    """A parser that answers a mistake with one line instead of the whole usage."""

    siblings: Mapping[str, Parser] = {}
    """The parsers of all commands by name."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self.given: set[str] = set()
        self.origin = ""
        """What messages begin with while options of a file are parsed."""
        self.typed: Sequence[str] = ()
        self.rare: Set[str] = set()
        """The options that only ``--help-all`` shows, and the help of a task that has them."""
        self.options: dict[str, Option] = {}
        """The declarations of arguments."""
        super().__init__(*args, **options)
        self.register("action", None, _Once)  # what an argument gets that names no action

    def format_help(self) -> str:
        """Describe the arguments that people use, or those of the task that was typed."""
        words = [part for word in self.typed for part in word.split("=", 1)]
        named = ",".join(after for word, after in pairwise(words) if word == "--task")
        tasks = {*TASKS}.intersection(named.split(","))
        of_tasks = {name for name, option in self.options.items() if tasks and option.tasks}
        own = {name for name in of_tasks if tasks.intersection(self.options[name].tasks)}
        return self._help_without((self.rare | of_tasks) - own)

    def format_all_help(self) -> str:
        """Describe all arguments."""
        return self._help_without(set())

    def _help_without(self, rare: Set[str]) -> str:
        self.describe(rare)
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        for group in self._action_groups:
            formatter.start_section(group.title)
            formatter.add_arguments(one for one in group._group_actions if one.dest not in rare)
            formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help()

    def describe(self, rare: Set[str] = frozenset()) -> None:
        """Add what configurations say of options, which loads them, to their help."""
        for action in self._actions:
            if not action.help and action.dest in self.options.keys() - rare:
                action.help = self.options[action.dest].told(action.dest)

    def _print_message(self, message: str, file: Any = None) -> None:  # noqa: ARG002 - for help
        """Print help, quietly where nobody reads it, as newer Pythons do."""
        print_out([message])

    def parse_known_args(  # type: ignore[override] # of the overloads, the one that runs
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse, but report unknown arguments here: the help of this command says more."""
        given = sys.argv[1:] if args is None else args
        self.given, self.typed = set(), given
        for name in self._unknown(given):
            self.error(self._suggestion(name))
        found, left = super().parse_known_args(given, namespace or argparse.Namespace())
        if left:
            self.error(f"unrecognized arguments: {' '.join(left)}")
        if "config" in found and "--config" in self._option_string_actions:
            self._add_configured(found)
        return found, left

    def _add_configured(self, found: argparse.Namespace) -> None:
        """Add the options of a file of configuration that the command line does not give."""
        from streameval.cli.config_file import typed_options  # noqa: PLC0415 (few need it)

        given = {*vars(found)}
        for rivals in self._mutually_exclusive_groups:
            names = {action.dest for action in rivals._group_actions}
            given |= names if names & given else set()
        words = typed_options(found.config, self._actions, given)
        self.given, self.origin = set(), f"{found.config}: "
        try:
            super().parse_known_args(words, found)
        finally:
            self.origin = ""

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
        siblings = argument_parser().siblings
        others = [one for one in siblings if name in siblings[one]._option_string_actions]
        ours = f"--{our_name(name.removeprefix('--')).replace('_', '-')}"
        is_known = not others and ours in self._option_string_actions
        close = ours if is_known else next(iter(closest(name, self._option_string_actions)), "")
        hint = f"did you mean {self._shown(close)}?" if close else ""
        if others:
            elsewhere = f"no option {name} here: it is for {', '.join(others)}"
            return f"{elsewhere}; {hint}" if close.rstrip("s") == name.rstrip("s") else elsewhere
        return f"no option {name}: {hint}" if hint else f"no option {name}"

    def _shown(self, name: str) -> str:
        """Return the spelling of an option that the help shows."""
        dest = self._option_string_actions[name].dest
        shown = (one for one in self._actions if one.dest == dest and one.help != argparse.SUPPRESS)
        return next(shown).option_strings[-1]

    def _check_value(self, action: argparse.Action, value: object) -> None:
        """Suggest a similar choice for a name that does not exist, such as that of a command."""
        if action.choices is not None and value not in action.choices:
            choices = nearest(str(value), map(str, action.choices)).removesuffix(".")
            raise argparse.ArgumentError(action, f"invalid choice: {value!r}; {choices}")

    def error(self, message: str) -> NoReturn:
        """Report what is wrong, and where to read more."""
        link = " See" if message.endswith("?") else "; see"
        raise UsageError(f"{self.origin}{message}{link} {self.prog} --help.")


def with_former_names(message: str, parser: Parser, args: Sequence[str]) -> str:
    """Add to the name of an option the former one, if that was typed."""
    commands = parser.siblings
    command = next((commands[arg] for arg in args if arg in commands), parser)
    for typed in dict.fromkeys(arg.partition("=")[0] for arg in args):
        action = command._option_string_actions.get(typed)
        if action is not None and action.help == argparse.SUPPRESS:
            shown = rf"{command._shown(typed)}(?![\w-])"
            message = re.sub(shown, rf"\g<0> (typed as {typed})", message, count=1)
    return message


def _parser(make: Any, *names: str, **options: Any) -> Parser:
    parser: Parser = make(
        *names,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,  # a new option must not change the meaning of an old script
        **options,
    )
    return parser


def _add_options(parser: Parser, name: str, command: Subcommand) -> None:
    """Add the options of a command that its classes declare."""
    options = {
        dest: option for dest, option in declared(*command.options) if name in option.commands
    }
    if command.common:
        parser.usage = f"%(prog)s {command.usage} [options]"
        text = "show all options and exit; --task TASK --help shows those of a task"
        parser.add_argument(
            "--help-all", action=_AllHelp, nargs=0, default=argparse.SUPPRESS, help=text
        )
        parser.rare = options.keys() - command.common.split()
    parser.options = options
    groups: dict[str, Any] = {"": parser}
    groups |= {title: parser.add_argument_group(title) for title in GROUPS}
    rivals: dict[str, Any] = {}
    for dest, option in options.items():
        group = groups[option.group]
        if option.rivals:
            if option.rivals not in rivals:
                rivals[option.rivals] = group.add_mutually_exclusive_group()
            group = rivals[option.rivals]
        _add(group, dest, option, command.changes.get(dest, {}))


def _add(group: Any, dest: str, option: Option, changes: Mapping[str, Any]) -> None:
    """Add an option; if it is absent, its default applies."""
    unset = argparse.SUPPRESS
    settings = {"default": unset, "help": option.help, **option.settings, **changes}
    aliases = settings.pop("aliases", option.aliases)
    if option.names == (dest,):
        group.add_argument(dest, **settings)
        return
    group.add_argument(*option.names, dest=dest, **settings)
    for alias in aliases:
        group.add_argument(alias, dest=dest, **settings | {"help": unset})
