"""Tables of options for the reference, made from the arguments that the commands read."""

import argparse
import re

from streameval.cli.arguments import described_parser
from streameval.cli.options import OPTIONS_OF_TASKS, TASKS
from streameval.results.names import tables

COMMANDS_MARK = "<!-- commands -->"
TASKS_MARK = "<!-- tasks -->"
NOTES = re.compile(r"^<!-- notes of (\w+) -->$", re.MULTILINE)
MARK = re.compile(r"^<!-- options of ([\w ]+?)(?:: (.+?))? -->$", re.MULTILINE)

CODE = re.compile(r"(?<!\w)'([^' ][^']*)'(?!\w)|(--[a-z][a-z-]*)")
"""What is quoted or is the name of an option in a help text."""


def filled(text):
    """Replace each mark, of commands and perhaps a heading of their help, with its table."""
    if COMMANDS_MARK in text:
        text = text.replace(COMMANDS_MARK, commands())
    if TASKS_MARK in text:
        text = text.replace(TASKS_MARK, tasks())
    text = NOTES.sub(lambda match: notes_of(match[1]), text)
    return MARK.sub(lambda match: table_of(match[1].split(), match[2]), text)


def commands():
    """List the commands with what each does."""
    found = _commands()
    texts = {one.dest: one.help for one in found._choices_actions}
    rows = (f"| `{_typed(parser)}` | {texts[name]} |" for name, parser in found.choices.items())
    return "\n".join(["| command | what it does |", "|---|---|", *rows])


def tasks():
    """List the tasks with what counts them, and the options that name their columns."""
    made = {table.task: table.made_by for table in tables()}
    options = [one for one in _commands().choices["eval"]._actions if _is_column(one)]
    lines = ["| task | counts with | columns |", "|---|---|---|"]
    for task in TASKS:
        own = (one for one in options if task in OPTIONS_OF_TASKS.get(one.dest, ()))
        names = dict.fromkeys(f"`--{one.dest.replace('_', '-')}`" for one in own)
        link = f"{{py:class}}`{made[task]} <streameval.{made[task]}>`"
        lines.append(f"| `{task}` | {link} | {', '.join(names)} |")
    return "\n".join(lines)


def _is_column(action):
    return action.metavar == "COLUMN" and action.help != argparse.SUPPRESS


def notes_of(command):
    """Write what the help of a command says below its examples."""
    _, *notes = _parser_of(command).epilog.rstrip().split("\n\n")
    return "\n\n".join(
        f"    {note.strip()}" if note.startswith(" ") else _as_code(" ".join(note.split()))
        for note in notes
    )


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
    if action.nargs == "?":
        return f" [{value}]"
    return f" {value}" + "..." * (action.nargs in ("+", "*"))


def _parser_of(command):
    return _commands().choices[command]


def _typed(parser):
    """Write a command with its arguments and the options that it requires."""
    needed = [one for one in parser._actions if one.required or not one.option_strings]
    words = (f"{''.join(one.option_strings[:1])}{_value(one)}".strip() for one in needed)
    return " ".join([parser.prog, *words]).replace("|", r"\|")


def _commands():
    parser = described_parser()
    return next(one for one in parser._actions if isinstance(one.choices, dict))
