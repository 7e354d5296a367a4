"""Suggestions for misspelt names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

__all__ = ["closest", "listed", "nearest"]

# How many names a message lists.
_LISTED = 20


def nearest(name: str, known: Iterable[str], meant: Iterable[str] = ()) -> str:
    """Suggest the nearest known name, as the end of a sentence, and list them all.

    >>> nearest("y_tru", ["y_true", "y_pred"])
    "did you mean 'y_true'? There are y_true, y_pred."

    Parameters
    ----------
    name : str
        What is not among the known names.
    known : iterable of str
        All there are.
    meant : iterable of str
        What it stands for, if that is known; else the most similar name is suggested.
    """
    names = list(dict.fromkeys(known))
    close = list(meant) or closest(name, names)
    listing = listed(names)
    if not close:
        return listing[0].lower() + listing[1:]
    return f"did you mean {' or '.join(map(repr, close))}? {listing}"


def closest(name: str, names: Iterable[str]) -> list[str]:
    """Return the most similar name, whatever its case, if one is similar."""
    every = list(names)
    folded = {text.casefold(): text for text in reversed(every)}
    return difflib.get_close_matches(name, every, n=1) or [
        folded[text] for text in difflib.get_close_matches(name.casefold(), folded, n=1)
    ]


def listed(names: Sequence[str]) -> str:
    """List the first names in a sentence; they come from files, with anything in them."""
    printable = [text if _is_printable(text) else repr(text) for text in names[:_LISTED]]
    return f"There are {', '.join(printable)}{', ...' if len(names) > _LISTED else '.'}"


def _is_printable(name: str) -> bool:
    """Say whether a name can stand in a list without quotes."""
    return name.isprintable() and name.strip() == name != ""
