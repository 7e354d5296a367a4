"""The console script: arguments in, an exit code out.

A command is imported when it is run: most need modules that the others do not.
"""

from __future__ import annotations

import argparse
import functools
import io
import os
import signal
import sys
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, NoReturn, cast

from streameval.cli.arguments import COMMANDS, Parser, argument_parser, with_former_names
from streameval.cli.errors import (
    BAD_DATA,
    INTERRUPTED,
    OK,
    SIGNALLED,
    USAGE,
    Terminated,
    exit_code,
)
from streameval.cli.options import Options, Reporting, error_text, taken
from streameval.cli.terminal import (
    ENDS,
    CommandOutput,
    Note,
    line_of,
    log_format_of,
    print_out,
    put,
)
from streameval.errors import StreamevalError


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; by default those of the process.

    Returns
    -------
    int
        The exit code.
    """
    words = sys.argv[1:] if argv is None else argv
    parse = functools.partial(_parser(words).parse_args, words)
    given = log_format = None
    try:
        arguments = vars(parse())
        given, ends = arguments.get("log_format"), map(arguments.get, ENDS)
        log_format = log_format_of(arguments["command"], given, *ends)
        outcome = _outcome(parse, **arguments)
    except SystemExit:  # after the help or the version
        return OK
    except StreamevalError as error:
        text = with_former_names(error_text(error), _parser(words), words)
        outcome = CommandOutput("", (Note("error", text),), exit_code(error))
        if outcome.code == USAGE:  # before anything is followed
            log_format = given
    except MemoryError:
        outcome = CommandOutput("", (Note("error", "there is not enough memory."),), BAD_DATA)
    except KeyboardInterrupt:
        return INTERRUPTED
    notes, code = outcome.notes, outcome.code
    try:
        print_out(chain(outcome.before, [outcome.text]))
    except StreamevalError as error:
        notes, code = (*notes, Note("error", str(error))), exit_code(error)
    put(sys.stderr, (line_of(note, sys.stderr, log_format) for note in notes))
    return code


def _parser(words: Sequence[str]) -> Parser:
    """Return a parser with the options of the commands that the words may name."""
    return _parser_of(frozenset(COMMANDS.keys() & {*words}))


@functools.cache
def _parser_of(names: frozenset[str]) -> Parser:
    """Build a parser once per process: with all options, this takes longer than most commands."""
    return argument_parser(names)


def _outcome(
    parse: Callable[[], argparse.Namespace], command: str, **arguments: Any
) -> CommandOutput:
    """Run the command that the arguments name; one that runs long may parse them again."""
    run = _command(command)
    if command == "watch":
        return run(parse, **arguments)
    has_measures = bool(arguments.get("measures"))
    reporting = Reporting(has_measures=has_measures, **taken(arguments, Reporting))
    if command == "eval":
        arguments = {"options": Options.of(reporting, **arguments)}
    elif command in ("show", "diff", "plot", "report"):
        arguments["reporting"] = reporting
    outcome = run(**arguments)
    return outcome.quieted() if reporting.quiet else outcome


def _command(name: str) -> Callable[..., CommandOutput]:
    """Import what runs a command."""
    run: Callable[..., CommandOutput]
    match name:
        case "eval":
            from streameval.cli.eval import evaluate as run
        case "watch":
            from streameval.cli.watch import watch as run
        case "merge":
            from streameval.cli.states.merge import merge as run
        case "show":
            from streameval.cli.states.show import show as run
        case "diff":
            from streameval.cli.states.diff import diff as run
        case "explain":
            from streameval.cli.states.explain import explain as run
        case "plot":
            from streameval.cli.states.plot import plot as run
        case "report":
            from streameval.cli.states.show import report as run
        case "completion":
            from streameval.cli.installation import completion as run
        case _:
            from streameval.cli.installation import doctor as run
    return run


_ENDING = {signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}
"""The signals that ask a process to end; Windows has only one of them."""


def run() -> None:
    """Run the console script."""
    if sys.argv[1:2] == ["eval"]:
        # Workers are forked from a process of one thread; NumPy would start others.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for stream in (sys.stdout, sys.stderr):
        # Do not fail on a label that the terminal cannot show.
        cast("io.TextIOWrapper", stream).reconfigure(errors="backslashreplace")
    for number in _ENDING:
        if signal.getsignal(number) is signal.SIG_DFL:  # nohup ignores SIGHUP
            signal.signal(number, _terminate)
    try:
        code = main()
    except Terminated as ended:
        code = SIGNALLED + ended.number
    sys.exit(code)


def _terminate(number: int, _: object) -> NoReturn:
    """Unwind, so that temporary files and workers are removed; a second signal ends at once."""
    signal.signal(number, signal.SIG_DFL)
    raise Terminated(number)
