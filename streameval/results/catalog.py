"""The result of `CatalogAccumulator`."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np

from streameval.configs.values import CatalogConfig
from streameval.exact.array_types import Array
from streameval.metrics import catalog_table
from streameval.render.blocks import ByClass
from streameval.results import findings
from streameval.results.members import CatalogMembers, add_members
from streameval.results.result import Report, SumsResult
from streameval.results.tables import ItemAxis, PerItem, Readings
from streameval.states.catalog import Exposures

_MAX_ITEMS = 10


@attrs.frozen(repr=False, eq=False, slots=False)
class Catalog(CatalogMembers, SumsResult):
    """How evenly recommendations expose the items of a catalog, and how novel the items are.

    Made by `CatalogAccumulator.compute`. An exposure is a recommendation of an item within the
    first `k` ranks.

    Examples
    --------
    Every metric of four recommendations:

    >>> import streameval as se
    >>> acc = se.CatalogAccumulator(5, k=2, popularity=True)
    >>> popularity = [[0.5, 0.125], [0.5, 0.25]]
    >>> result = acc.update([["a", "b"], ["a", "c"]], popularity=popularity).compute()
    >>> for name in result.readable():
    ...     print(f"{name:20}{result.read(name).value:8.4f}")
    n                     4.0000
    n_items               5.0000
    n_recommended         3.0000
    coverage              0.6000
    gini                  0.5000
    entropy               1.5000
    novelty               1.7500
    average_popularity    0.3438
    """

    TABLE = catalog_table.TABLE
    _REPORT = Report(findings=findings.of_catalog)

    _state: Exposures
    _config: CatalogConfig

    def per_item(self) -> dict[str, Array]:
        """List the items that were recommended in order, as columns that a data frame takes.

        Returns
        -------
        dict of arrays, shape (n_recommended,)
            ``item`` and ``exposure``, the weight of its recommendations.
        """
        state = self._state
        return {"item": state.items.values.copy(), "exposure": state.exposures.to_numbers()}

    def __repr__(self) -> str:
        """Show size and headline on one line."""
        return (
            f"Catalog(n={self.n}, items={self.n_recommended} of {self.n_items}, "
            f"coverage={self.coverage:.6g}, gini={self.gini:.6g})"
        )

    def _items(self, level: float) -> ItemAxis:  # noqa: ARG002 - they have no sampling intervals
        return self._axis(self.per_item())

    def _axis(self, columns: dict[str, Array]) -> ItemAxis:
        """Read columns of items."""
        items, exposures = columns.values()

        def read(name: str) -> Readings:
            is_count = name == "exposure"
            column = exposures if is_count else exposures / self.n
            return Readings(column.tolist(), is_count=is_count)

        shown = {"exposure": "Exposure", "share": "Share"}
        return ItemAxis({"item": items.tolist()}, ["exposure"], read, shown)

    _PER_ITEM = PerItem("item", _items)

    def _most_exposed(self, _: float) -> ByClass:
        """List the items recommended most."""
        first = np.argsort(-self._state.exposures.to_floats(), kind="stable")[:_MAX_ITEMS]
        columns = {name: column[first] for name, column in self.per_item().items()}
        return self._axis(columns).block(
            title="Items recommended most",
            caption=f"Of each state the first {_MAX_ITEMS}, at most.",
            position="under",
        )

    _PAGE: ClassVar = {"heading": "Exposure of the catalog", "by_class": _most_exposed}


add_members(Catalog)
