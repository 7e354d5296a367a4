"""Names that were perhaps meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["nearest"]

# How many names a message lists.
_LISTED = 20


def nearest(name: str, known: Iterable[str]) -> str:
    """Suggest the nearest known name, as the end of a sentence, and list them all.

    >>> nearest("y_tru", ["y_true", "y_pred"])
    "did you mean 'y_true'? There are y_true, y_pred."
    """
    names = list(dict.fromkeys(known))
    folded = {text.casefold(): text for text in reversed(names)}
    close = difflib.get_close_matches(name, names, n=1) or [
        folded[text] for text in difflib.get_close_matches(name.casefold(), folded, n=1)
    ]
    # Names come from files: a table may have thousands, with anything in them.
    printable = [text if _is_printable(text) else repr(text) for text in names[:_LISTED]]
    listing = f"There are {', '.join(printable)}{', ...' if len(names) > _LISTED else '.'}"
    return f"did you mean {close[0]!r}? {listing}" if close else listing[0].lower() + listing[1:]


def _is_printable(name: str) -> bool:
    """Say whether a name can stand in a list without quotes."""
    return name.isprintable() and name.strip() == name != ""
