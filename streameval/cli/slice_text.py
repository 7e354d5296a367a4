"""Several results side by side: a line, or a JSON object, for each slice or state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streameval.render.text import listed_few
from streameval.results.lines import line_sheet, value_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from streameval.cli.options import Reporting
    from streameval.render.sheets import Sheet
    from streameval.results.result import Result
    from streameval.runs.slices import Slices


def slice_sheet(result: Result, slices: Slices, reporting: Reporting) -> Sheet:
    """Lay out a line for each value, with the chosen metrics or the headline ones.

    Parameters
    ----------
    result : result
        The result of all rows.
    slices : Slices
        The results of each value.
    reporting : Reporting
        The metrics and the level.
    """
    names = [value_name(value) for value in slices.by_value]
    title = slices.column if isinstance(slices.column, str) else ", ".join(slices.column)
    if slices.is_each:
        title, names = "slice", [slice_name(slices, value) for value in slices.by_value]
    names = ["(all)", *names, *([] if slices.other is None else ["(other)"])]
    chosen = reporting.chosen(result)
    return line_sheet(title, names, [result, *slices], chosen, reporting.level)


def slice_entries(slices: Slices, describe: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    """Return the entries of the JSON object: the values in order, then the rest."""
    values = [
        {**_named(slices, value), **describe(held)} for value, held in slices.by_value.items()
    ]
    entries: dict[str, Any] = {"by": slices.column, "slices": values}
    if slices.chosen_by:
        entries["chosen_by"] = slices.chosen_by
    return entries if slices.other is None else entries | {"other": describe(slices.other)}


def _named(slices: Slices, value: Any) -> dict[str, Any]:
    if slices.is_each:
        column, item = value
        return {"column": column, "value": item}
    return {"value": value}


def slice_name(slices: Slices, value: Any) -> str:
    """Write a slice in a sentence, such as ``country=DE`` or ``country=DE,device=ios``."""
    return ",".join(f"{column}={value_name(item)}" for column, item in slices.pairs(value))


def slice_names(slices: Slices, values: Iterable[Any]) -> str:
    """List some slices in a sentence."""
    return listed_few(slice_name(slices, value) for value in values)
