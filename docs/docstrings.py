"""Derivations in explanations, from the docstrings of the functions that compute them."""

import importlib
import inspect
import re
import textwrap

MARK = re.compile(r"^<!-- docstrings of ([\w. ]+) -->$", re.MULTILINE)

SECTION = re.compile(r"^(Parameters|Returns|Raises|Examples|Notes)\n-+\n", re.MULTILINE)


def filled(text):
    """Replace each mark, of a module and perhaps names in it, with what docstrings explain."""
    return MARK.sub(lambda match: _block(*match[1].split()), text)


def _block(module, *names):
    """Write the docstring of a module, or a list of those of functions and classes in it."""
    code = importlib.import_module(f"streameval.{module}")
    found = {name: textwrap.indent(_explanation(getattr(code, name)), "    ") for name in names}
    listed = [f"``{name}``\n{text}" for name, text in found.items()] or [_explanation(code)]
    return "\n".join(["```{eval-rst}", "\n\n".join(listed), "```"])


def _explanation(thing):
    """Return what a docstring says before its sections, and its notes."""
    before, *sections = SECTION.split(inspect.getdoc(thing))
    notes = [
        text for name, text in zip(sections[::2], sections[1::2], strict=True) if name == "Notes"
    ]
    return "\n\n".join([before.strip(), *map(str.strip, notes)])
