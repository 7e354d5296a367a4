"""What numbers and options mean, in the words of their docstrings: there is no second list."""

from __future__ import annotations

import inspect
import re
from typing import Any

__all__ = ["bullets", "choice", "meaning", "parameter", "summary", "terms"]

_SENTENCE = re.compile(r"(?<=[.])\s+(?=[A-Z0-9`])")
_VERB = re.compile(r"(?:Compute|Find|Give) ")
_WORD = re.compile(r"[a-z]+ ")
_ITEMS = re.compile(r"(?:^|, )((?:``\w+``, )*``\w+``): ")


def meaning(result: Any, name: str) -> str:
    """Say what a metric means: what its docstring says first, and what comes next.

    >>> import streameval as se
    >>> meaning(se.RegressionAccumulator().compute(), "mae")
    'The mean absolute error, at least 0.'
    """
    head, *others = _paragraphs(getattr(type(result), name, None))
    more = [text for text in others[:1] if not text.startswith("Parameters")]
    return " ".join(_plain(part) for part in [head, *(_first(text) for text in more)])


def summary(thing: Any) -> str:
    """Give the first paragraph of a docstring.

    >>> summary(meaning)
    'Say what a metric means: what its docstring says first, and what comes next.'
    """
    return _plain(_paragraphs(thing)[0])


def parameter(thing: Any, name: str) -> str:
    """Give the first sentence on a parameter, nothing where there is none.

    >>> import streameval as se
    >>> parameter(se.ConfusionAccumulator, "top_k")
    'Among how many of the best scores the true class must be for top_k_accuracy.'
    """
    match = _parameter(thing, name)
    return "" if match is None else _plain(_first(_joined(match[2])))


def choice(thing: Any, name: str, chosen: str) -> str:
    """Give what a parameter says of one of its choices, which it lists in their order.

    >>> import streameval as se
    >>> choice(se.Confusion.precision, "average", "micro")
    'of the pooled counts'
    """
    match = _parameter(thing, name)
    if match is None:
        return ""
    place = re.findall(r'"(\w+)"', match[1]).index(chosen)
    said = _joined(match[2]).split("; ")[place]
    return said[:1].lower() + said[1:]


def terms(thing: Any) -> str:
    """Give the words that the list in a docstring uses: how its notes begin."""
    doc = inspect.getdoc(thing) or ""
    match = re.search(r"^Notes\n-+\n(.*?):\n\n\*", doc, re.MULTILINE | re.DOTALL)
    return "" if match is None else f"{_plain(_joined(match[1]))}."


def bullets(thing: Any) -> dict[str, str]:
    """Give what the list in a docstring says of each name."""
    doc = inspect.getdoc(thing) or ""
    found: dict[str, str] = {}
    for item in re.findall(r"^\* (.*(?:\n  .*)*)", doc, re.MULTILINE):
        _, *parts = _ITEMS.split(_joined(item))
        for names, text in zip(parts[::2], parts[1::2], strict=True):
            found |= dict.fromkeys(re.findall(r"\w+", names), f"{_plain(text)}.")
    return found


def _parameter(thing: Any, name: str) -> re.Match[str] | None:
    """Find the types of a parameter, and what is said of it."""
    doc = inspect.getdoc(thing) or ""
    return re.search(rf"^{name} : (.*)\n((?:    .*(?:\n|$))+)", doc, re.MULTILINE)


def _paragraphs(thing: Any) -> list[str]:
    """Take a docstring apart, up to its first section; there is always one."""
    doc = inspect.getdoc(thing) if thing is not None else None
    text, *_ = re.split(r"\n\n\w+\n---", doc or "")
    return list(map(_joined, text.split("\n\n")))


def _joined(text: str) -> str:
    return " ".join(text.split())


def _first(text: str) -> str:
    return _SENTENCE.split(text, maxsplit=1)[0]


def _plain(text: str) -> str:
    """Write a sentence for people: no verb that tells a programmer, no marks of code."""
    text = _VERB.sub("", text, count=1) if _VERB.match(text) else text
    text = text.replace("`", "")
    return text[:1].upper() + text[1:] if _WORD.match(text) else text
