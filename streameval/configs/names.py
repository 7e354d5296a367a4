"""Names: lists of them, suggestions for misspelt ones, and the numbers in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from streameval.errors import InvalidInputError

# How many names a message lists.
_LISTED = 20


def nearest(name: str, known: Iterable[str], meant: Iterable[str] = ()) -> str:
    """Suggest the nearest known name, as the end of a sentence, and list them all.

    >>> nearest("y_tru", ["y_true", "y_pred"])
    "did you mean 'y_true'? Choose from y_true, y_pred."

    Parameters
    ----------
    name : str
        A name that is not known.
    known : iterable of str
        All known names.
    meant : iterable of str
        What the user probably meant; by default, the most similar known name.
    """
    names = list(dict.fromkeys(known))
    close = list(meant) or closest(name, names)
    listing = listed(names)
    if not close:
        return listing[0].lower() + listing[1:]
    return f"did you mean {' or '.join(map(repr, close))}? {listing}"


def closest(name: str, names: Iterable[str]) -> list[str]:
    """Return the most similar name, whatever its case, if one is similar.

    >>> closest("ngcd", ["map", "ndcg"]), closest("Map", ["map", "ndcg"])
    (['ndcg'], ['map'])
    """
    import difflib  # noqa: PLC0415 (for messages alone)

    every = list(names)
    if swapped := [text for text in every if sorted(text) == sorted(name)]:
        return swapped[:1]
    folded = {text.casefold(): text for text in reversed(every)}
    return difflib.get_close_matches(name, every, n=1) or [
        folded[text] for text in difflib.get_close_matches(name.casefold(), folded, n=1)
    ]


def listed(names: Sequence[str]) -> str:
    """List the first names in a sentence; they come from files, with anything in them."""
    printable = [text if _is_printable(text) else repr(text) for text in names[:_LISTED]]
    return f"Choose from {', '.join(printable)}{', ...' if len(names) > _LISTED else '.'}"


def as_names(value: Any, *, name: str) -> tuple[Any, ...]:
    """Accept a sequence of names for the argument `name`; a single one may stand alone."""
    if isinstance(value, str):
        return (value,)
    if isinstance(value, (bytes, set, frozenset, Mapping)) or not isinstance(value, Iterable):
        raise InvalidInputError(
            f"must be a sequence of names, whose order counts, got {type(value).__name__}",
            argument=name,
        )
    return tuple(value)


def chosen_names(value: Any, known: Mapping[str, Sequence[str]], *, name: str) -> tuple[str, ...]:
    """Accept some of the known names, or of the metrics that each of them is kept for.

    Each is given once; they are listed in the order of the known ones.
    """
    asked = as_names(value, name=name)
    for one in asked:
        if not any(one == kept or one in metrics for kept, metrics in known.items()):
            raise unknown_name(one, known, name=name)
    check_distinct(asked, name=name)
    return tuple(kept for kept, metrics in known.items() if {kept, *metrics}.intersection(asked))


def unknown_name(given: Any, known: Iterable[str], *, name: str) -> InvalidInputError:
    """Return the error for an unknown name, or for a value that is not a name."""
    if not isinstance(given, str):
        return InvalidInputError(f"must hold names, got {given!r}", argument=name)
    hint = nearest(given, known).removesuffix(".")
    return InvalidInputError(f"has no {given!r}: {hint}", argument=name)


def check_distinct(names: Sequence[str], *, name: str) -> None:
    """Raise InvalidInputError if a name occurs twice."""
    twice = next((one for index, one in enumerate(names) if one in names[:index]), None)
    if twice is not None:
        raise InvalidInputError(f"must be distinct, got {twice!r} twice", argument=name)


def number_text(value: float) -> str:
    """Write a number in a name: 2 for 2.0."""
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)


def _is_printable(name: str) -> bool:
    """Return whether a list can show a name without quotes."""
    return name.isprintable() and name.strip() == name != ""
