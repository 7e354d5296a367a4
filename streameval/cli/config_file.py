"""A file of configuration in TOML: options by name, as if they had been typed."""

from __future__ import annotations

import argparse
import json
import tomllib
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from streameval.cli.argument_values import table
from streameval.cli.errors import UsageError
from streameval.configs.names import nearest

_NOT_IN_FILES = frozenset({"config", "check", "init", "help", "help_all"})


def typed_options(
    path: str, actions: Iterable[argparse.Action], given: Collection[str]
) -> list[str]:
    """Return what a file of configuration says, as it would be typed.

    Parameters
    ----------
    path : str
        A TOML file: a key for each option, with its long name without the dashes, ``-`` or ``_``
        between words, and ``files`` for what is read. A list gives several values, true an
        option that takes none, and a table a value that has keys.
    actions : iterable of Action
        The options of the command.
    given : collection of str
        The destinations of the options that the command line gives: it wins.

    Raises
    ------
    UsageError
        If the file cannot be read, or has a key that is no option, or a value that no option takes;
        the message names file and key.
    """
    known = _actions_by_key(actions)
    words: list[str] = []
    for key, value in _table(path).items():
        name = key.replace("-", "_")
        if name not in known:
            raise UsageError(f"{path}: no option {key!r}; {nearest(name, known)}")
        action = known[name]
        if action.dest in given:
            continue
        try:
            typed = _typed(action, value)
        except TypeError as error:
            raise UsageError(f"{path}: {key} {error}.") from None
        # Files come first: after an option that takes several values they would be among these.
        words = [*words, *typed] if action.option_strings else [*typed, *words]
    return words


def _actions_by_key(actions: Iterable[argparse.Action]) -> dict[str, argparse.Action]:
    """Return the options that a file can set, by name; former names are not among them."""
    return {
        name: action
        for action in actions
        if action.help != argparse.SUPPRESS and action.dest not in _NOT_IN_FILES
        for name in [_long(action).removeprefix("--").replace("-", "_")]
    }


def _long(action: argparse.Action) -> str:
    return action.option_strings[-1] if action.option_strings else action.dest


def _table(path: str) -> Mapping[str, Any]:
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UsageError(f"{path}: {str(error.strerror).lower()}.") from None
    except (ValueError, RecursionError) as error:  # some numbers and depths are no TOMLDecodeError
        raise UsageError(f"{path}: is not TOML: {error}.") from None


def _typed(action: argparse.Action, value: Any) -> list[str]:
    """Write a value as the words that would be typed.

    Raises
    ------
    TypeError
        If it is of a type that the option does not take.
    """
    option, takes_none = _long(action), action.nargs in (0, "?")
    if isinstance(value, bool):
        if not takes_none:
            raise TypeError(f"takes a value, not {str(value).lower()}")
        return [option] * value
    if action.nargs == 0:
        raise TypeError(f"must be true or false, got {value!r}")
    write = _table_text if action.type is table else _text
    texts = [write(one) for one in (value if isinstance(value, list) else [value])]
    if action.nargs in ("*", "+"):
        for text in texts:
            if text.startswith("-") and text != "-":  # it would be taken for an option
                raise TypeError(f"must not begin with -, got {text!r}; write './{text}' for a path")
        return [option, *texts] if action.option_strings else texts
    if isinstance(action, argparse._AppendAction):  # those that extend are such too
        return [f"{option}={text}" for text in texts]
    if isinstance(value, list) and any("," in text for text in texts):
        raise TypeError(f"cannot be a list of texts with commas, got {value!r}")
    return [f"{option}={','.join(texts)}"]


def _table_text(value: Any) -> str:
    """Write a table as JSON, and anything else as `_text` does."""
    return json.dumps(value, default=str) if isinstance(value, dict) else _text(value)


def _text(value: Any) -> str:
    """Write a single value.

    Raises
    ------
    TypeError
        If it is neither text nor a number.
    """
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise TypeError(f"must be text, a number, or a list of them, got {value!r}")
    return str(value)
