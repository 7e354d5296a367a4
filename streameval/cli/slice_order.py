"""Which slices are shown, and in which order: `--sort`, `--worst` and `--min-n`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from streameval.cli.errors import UsageError
from streameval.render.text import listed_few
from streameval.results.collection import line_sheet, value_name
from streameval.results.slice_search import Search, better_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from streameval.cli.options import Reporting
    from streameval.render.sheets import Sheet
    from streameval.results.names import MetricName
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


_WORST_OF_EACH = 3


@attrs.frozen
class Arrangement:
    """The slices to show, in order.

    Parameters
    ----------
    slices : Slices
        These slices, and the rest.
    remark : str
        A sentence below the table: the order, and what is left out.
    entries : dict
        The same in JSON.
    """

    slices: Slices
    remark: str = ""
    entries: dict[str, Any] = attrs.field(factory=dict)


def refuse_order(reporting: Reporting, why: str) -> None:
    """Raise UsageError if an option about the order of slices was given."""
    for option in ("sort", "worst", "min_n"):
        if getattr(reporting, option) is not None:
            raise UsageError(f"--{option.replace('_', '-')} {why}")


def check_order(result: Result, reporting: Reporting, *, is_each: bool = False) -> None:
    """Raise an error if slices cannot be sorted, even before there are any."""
    if reporting.sort is not None:
        result.check(reporting.sort)
    if (is_each or reporting.worst is not None) and not better_of(result, _key(result, reporting)):
        raise UsageError("--worst needs a metric with a better direction; name it with --sort.")


def arranged(result: Result, slices: Slices, reporting: Reporting) -> Arrangement:
    """Choose the slices to show, and their order."""
    is_each, sort, worst = slices.is_each, reporting.sort, reporting.worst
    if not is_each and (sort, worst, reporting.min_n) == (None, None, None):
        return Arrangement(slices)
    check_order(result, reporting, is_each=is_each)
    metric, n = _key(result, reporting), len(slices.by_value)
    search = Search.of(slices.by_value, metric, reporting.min_n or 0, result)
    in_order = [value for value, _ in search.worst()]
    said, entries = [], dict[str, Any](n_slices=n)
    if is_each:
        order = _worst_of_each(in_order, worst or _WORST_OF_EACH)
        said.append(f"the worst of each column by {metric}, {len(order):,} of {n:,} slices")
    elif worst is not None:
        order = in_order[:worst]
        said.append(f"the worst {len(order):,} of {n:,} slices by {metric}")
    elif sort is not None:
        order = [*in_order, *search.undefined]
        said.append(f"by {metric}, the {'worst' if search.better else 'lowest'} first")
    else:
        order = [*search.results]
    if is_each or worst is not None or sort is not None:
        entries["sorted_by"] = str(metric)
    if (is_each or worst is not None) and search.undefined:
        said.append(f"undefined in {slice_names(slices, search.undefined)}")
    if search.small:
        said.append(f"left out by --min-n: {slice_names(slices, search.small)}")
    if reporting.min_n is not None:
        entries["small"] = list(search.small)
    by_value = {value: slices.by_value[value] for value in order}
    return Arrangement(attrs.evolve(slices, by_value=by_value), "; ".join(said), entries)


def _worst_of_each(in_order: Sequence[tuple[str, Any]], k: int) -> list[tuple[str, Any]]:
    """Take the first k slices of each column; the columns with the worst ones come first."""
    by_column: dict[str, list[tuple[str, Any]]] = {}
    for column, value in in_order:
        by_column.setdefault(column, []).append((column, value))
    return [value for values in by_column.values() for value in values[:k]]


def _key(result: Result, reporting: Reporting) -> MetricName:
    """Choose the metric of the order: that of --sort, or the first one shown that has a worst."""
    if reporting.sort is not None:
        return reporting.sort
    chosen = reporting.chosen(result)
    return next((metric for metric in chosen if better_of(result, metric)), chosen[0])
