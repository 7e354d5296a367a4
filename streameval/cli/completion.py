"""`streameval completion`: a script that lets a shell complete commands, options and files."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from streameval.cli.arguments import described_parser
from streameval.cli.errors import UsageError
from streameval.cli.terminal import CommandOutput
from streameval.results.names import PICTURES_BY_TASK

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

_OF_FILES = ("FILE", "STATE", "OUT", "A", "B")
"""The words in the usage that stand for the name of a file."""


def completion(shell: str) -> CommandOutput:
    """Write the script of a shell.

    Raises
    ------
    UsageError
        If there is no shtab, or one that is too old for the shell.
    """
    try:
        import shtab  # noqa: PLC0415 (optional)
    except ImportError:
        message = "completion needs shtab: pip install 'streameval[completion]'."
        raise UsageError(message) from None
    if shell not in shtab.SUPPORTED_SHELLS:
        raise UsageError(f"this shtab is too old for {shell}: pip install --upgrade shtab.")
    parser = described_parser()
    for action in _actions(parser):
        if action.metavar in _OF_FILES:
            vars(action)["complete"] = shtab.FILE
        if action.dest == "kind":
            pictures = chain.from_iterable(PICTURES_BY_TASK.values())
            action.choices = list(dict.fromkeys(pictures))
    return CommandOutput(shtab.complete(parser, shell))


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """List the arguments of a parser and of its commands."""
    for action in parser._actions:
        yield action
        if isinstance(action.choices, dict):
            for command in action.choices.values():
                yield from _actions(command)
