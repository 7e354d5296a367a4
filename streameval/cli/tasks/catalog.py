"""Recommendations of a catalog: from options and the first rows to a plan."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from streameval.accumulators.catalog import CatalogAccumulator
from streameval.cli.errors import UsageError
from streameval.cli.tasks.columns import check_columns, given, has_column, weight_columns
from streameval.io.columns import Argument, Labels, Numbers, id_type
from streameval.runs.counting import Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streameval.cli.options import Options
    from streameval.runs.sources import RawRow


def plan(options: Options, rows: Sequence[RawRow]) -> Plan:
    """Choose the columns and the configuration.

    Raises
    ------
    UsageError
        If a column is not in the first rows, or the size of the catalog is not given.
    """
    if options.n_items is None:
        raise UsageError("--task catalog needs --n-items, the number of items in the catalog.")
    names = {"item": options.item or "item", "rank": options.rank or "rank"}
    if options.rank is None and options.k is None and not has_column("rank", rows):
        del names["rank"]  # the lists are cut already, so every row counts
    asked = names | given(popularity=options.popularity)
    check_columns(asked.values(), rows)
    cut = given(k=options.k) if "rank" in names else {"k": None}
    chosen = cut | given(popularity=options.popularity and True)
    make = partial(CatalogAccumulator, options.n_items, **chosen)
    items = [row[asked["item"]] for row in rows if row.get(asked["item"]) is not None]
    types = {"item": id_type(items), "rank": Labels(integers=True), "popularity": Numbers()}
    columns = (
        *(Argument(argument, (name,), types[argument]) for argument, name in asked.items()),
        *weight_columns(options, rows),
    )
    return Plan(make, columns, options.max_bad)
