"""The columns of `--by '*'`: those that may have slices, and why the others have none."""

from __future__ import annotations

import math
from itertools import chain
from typing import TYPE_CHECKING, Any

from streameval.io.columns import Texts
from streameval.io.times import Times

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from streameval.cli.options import Options
    from streameval.runs.counting import Plan
    from streameval.runs.sources import RawRow

_USUAL = {
    *("y_true", "y_pred", "y_score", "y_prob", "sample_weight"),
    *("label", "target", "truth", "pred", "prediction", "score", "prob", "probability", "weight"),
}
"""The usual names of columns that are evaluated, perhaps not by this command."""
_READ = (
    *(
        "y_true",
        "y_pred",
        "y_score",
        "versus",
        "sample_weight",
        "group",
        "group_weight",
        "outputs",
        "item",
    ),
    *("rank", "popularity"),
)
"""The options that name columns that are evaluated."""


def every_column(
    plan: Plan, options: Options, rows: Sequence[RawRow]
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Choose the columns by the values of the first rows; their number is known after counting.

    Returns
    -------
    columns : tuple of str
        The columns to try.
    left_out : dict of str to str
        The others, with the reason.
    """
    read = {*_USUAL, *(name for column in plan.columns for name in column.names)}
    read.update(chain.from_iterable(map(_names, (getattr(options, name) for name in _READ))))
    names = dict.fromkeys(chain.from_iterable(rows))
    why = {
        name: "labels, scores or weights"
        if name in read
        else _why_not([row.get(name) for row in rows])
        for name in names
    }
    columns = tuple(name for name, reason in why.items() if not reason)
    return columns, {name: reason for name, reason in why.items() if reason}


def _names(given: Any) -> Iterator[str]:
    yield from ((given,) if isinstance(given, str) else given or ())


def _why_not(values: Sequence[Any]) -> str:
    """Say why a column has no slices; empty if it may have some."""
    known = [value for value in values if value not in (None, "")]
    if not known:
        return "no values in the first rows"
    if any(Texts().fault(value) for value in known):
        return "lists, objects or long text"
    if all(map(_is_time, known)):
        return "times"
    return "numbers with fractions" if _has_fractions(known) else ""


def _is_time(value: Any) -> bool:
    return Times().fault(value) is None


def _has_fractions(values: Iterable[Any]) -> bool:
    """Tell whether all values are numbers, and some are not whole."""
    try:
        numbers = [float(value) for value in values]
    except ValueError:
        return False
    return any(math.isfinite(number) and not number.is_integer() for number in numbers)
