"""The table of all names, made from what the reference documents and from the docstrings."""

import ast
import importlib
import re
from pathlib import Path

import streameval

MARK = "<!-- names -->"
DIRECTIVE = re.compile(
    r"^\.\. auto(?P<type>class|function):: (?P<name>streameval[\w.]+)", re.MULTILINE
)
REFERENCE = Path(__file__).parent / "reference"
ROOT = Path(streameval.__file__).parents[1]


def filled(text):
    """Replace the mark with the table."""
    return text.replace(MARK, table()) if MARK in text else text


def table():
    """List every documented name with the first sentence of its docstring, and its page."""
    lines = ["| name | description | page |", "|---|---|---|"]
    for name, (role, page) in sorted(documented().items(), key=lambda item: _short(item[0])):
        link = f"{{py:{role}}}`{_short(name)} <{name}>`"
        lines.append(f"| {link} | {sentence(name)} | [{_title(page)}]({page.name}) |")
    return "\n".join(lines)


def documented():
    """Map every name of the reference to its role and its page."""
    return {
        found["name"]: ({"class": "class", "function": "func"}[found["type"]], page)
        for page in sorted(REFERENCE.glob("*.md"))
        for found in DIRECTIVE.finditer(page.read_text(encoding="utf-8"))
    }


def sentence(name):
    """Read the first sentence of a docstring; an adapter's is read without its framework."""
    module, _, last = name.rpartition(".")
    try:
        text = getattr(importlib.import_module(module), last).__doc__
    except ImportError:
        text = _read(ROOT.joinpath(*module.split(".")).with_suffix(".py"), last)
    first = " ".join(text.strip().partition("\n\n")[0].split())
    return first.replace("``", "`").replace("|", "\\|")


def _read(file, name):
    """Read a docstring from the text of a module."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    (found,) = {
        ast.get_docstring(node) for node in tree.body if getattr(node, "name", None) == name
    } - {None}
    return found


def _short(name):
    return name.removeprefix("streameval.")


def _title(page):
    return page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
