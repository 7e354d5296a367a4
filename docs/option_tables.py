"""Tables of options for the reference, made from the arguments that the commands read."""

import argparse
import re

from streameval.cli.arguments import argument_parser
from streameval.cli.options import OPTIONS_OF_TASKS

MARK = re.compile(r"^<!-- options of ([\w ]+?)(?:: (.+?))? -->$", re.MULTILINE)

CODE = re.compile(r"(?<!\w)'([^' ][^']*)'(?!\w)|(--[a-z][a-z-]*)")
"""What is quoted or is the name of an option in a help text."""


def filled(text):
    """Replace each mark, of commands and perhaps a heading of their help, with its table."""
    return MARK.sub(lambda match: table_of(match[1].split(), match[2]), text)


def table_of(commands, heading=None):
    """Describe each option that one of the commands has under a heading, or under any."""
    found = {}
    for command in commands:
        for group in _parser_of(command)._action_groups:
            for action in group._group_actions if heading in (None, group.title) else ():
                if action.option_strings and action.help != argparse.SUPPRESS:
                    found.setdefault(action.dest, {})[command] = action
    rows = (_row(actions, commands) for name, actions in found.items() if name != "help")
    return "\n".join(["| option | meaning |", "|---|---|", *rows])


def _row(actions, commands):
    action = next(iter(actions.values()))
    only = f"`{' '.join(actions)}` only: " * (len(actions) < len(commands))
    tasks = OPTIONS_OF_TASKS.get(action.dest, ())
    last = f" ({', '.join(tasks)})" if tasks else ""
    names = ", ".join(f"`{name}`" for name in action.option_strings[:-1])
    typed = f"`{action.option_strings[-1]}{_value(action)}`".replace("|", r"\|")
    text = _as_code((action.help or "").replace("%%", "%").replace("|", r"\|"))
    return f"| {', '.join(filter(None, [names, typed]))} | {only}{text}{last} |"


def _as_code(text):
    """Mark what is typed as code: what the help quotes, and names of options."""
    return CODE.sub(lambda match: f"`{match[1] or match[2]}`", text)


def _value(action):
    """Write what follows an option."""
    if action.nargs == 0:
        return ""
    value = action.metavar or "|".join(map(str, action.choices or [action.dest.upper()]))
    return f" [{value}]" if action.nargs == "?" else f" {value}" + "..." * (action.nargs == "+")


def _parser_of(command):
    parser = argument_parser()
    return next(one for one in parser._actions if isinstance(one.choices, dict)).choices[command]
