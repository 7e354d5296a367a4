"""The results of `MeanAccumulator` and of `CatalogAccumulator`: values, and exposures of items."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np

from streameval.configs.values import MeanConfig
from streameval.exact.array_types import Array
from streameval.metrics import catalog_table, values_table
from streameval.render.blocks import ByClass
from streameval.results import findings
from streameval.results.collection import CollectionResult
from streameval.results.members import CatalogMembers, SummaryMembers, add_members
from streameval.results.reading import Number
from streameval.results.result import Report, Result, SumsResult
from streameval.results.tables import ItemAxis, PerItem, Readings
from streameval.states.values import ValueSums

_MAX_ITEMS = 10


@attrs.frozen(repr=False, eq=False, slots=False)
class Summary(SummaryMembers, values_table.ColumnValues, Result):
    """The mean, spread and quantiles of values.

    Made by `MeanAccumulator.compute`; with columns, there is one for each. Every number is that of
    the exact sums, rounded once, and nan without values. Units are those of the values. Quantiles
    are those of `numpy.quantile`, with certified bounds if there were more distinct values than
    cells.

    Examples
    --------
    >>> import streameval as se
    >>> acc = se.MeanAccumulator(quantiles=[0.5, 0.75])
    >>> result = acc.update([0.5, 1.5, 1.0, 4.0]).compute()
    >>> for name in result.readable():
    ...     if not name.endswith("(x)"):
    ...         print(f"{name:16}{result.read(name).value:8.4f}")
    n                 4.0000
    mean              1.7500
    sum               7.0000
    std               1.3463
    min               0.5000
    max               4.0000
    quantile(0.5)     1.2500
    quantile(0.75)    2.1250
    exp_mean          5.7546
    bits_per_byte     2.5247

    >>> result.quantile(0.25)
    0.875
    """

    TABLE = values_table.TABLE
    _REPORT = Report(findings=findings.of_values)
    _PAGE: ClassVar = {"heading": "Values"}

    @property
    def n_skipped(self) -> Number:
        """The sum of the weights of the rows left out because the value is NaN."""
        state = self._state
        return (state.n + state.skipped - state.counts[self._column]).to_number()

    @property
    def exact(self) -> bool:
        """Whether no quantile has bounds, because each distinct value has its own bin."""
        return not self._config.has_sketch or bool((self._cells.lo == self._cells.hi).all())

    def __repr__(self) -> str:
        """Show the numbers on one line."""
        numbers = (f"{name}={number:.6g}" for name, number in self._numbers().items())
        return f"Summary({', '.join(numbers)})"


def values_of(state: ValueSums, config: MeanConfig) -> Summary | CollectionResult:
    """Make the result of a state: of each column, if it has several."""
    if config.columns is None:
        return Summary(state, config)
    every = tuple(Summary(state, config, column) for column in range(config.n_columns))
    return CollectionResult(config.columns, every, pairs=(None,) * len(every))


@attrs.frozen(repr=False, eq=False, slots=False)
class Catalog(CatalogMembers, catalog_table.CatalogExposures, SumsResult):
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
        items, exposures = self.per_item().values()

        def read(name: str) -> Readings:
            is_count = name == "exposure"
            column = exposures if is_count else exposures / self.n
            return Readings(column.tolist(), is_count=is_count)

        shown = {"exposure": "Exposure", "share": "Share"}
        return ItemAxis({"item": items.tolist()}, ["exposure"], read, shown)

    _PER_ITEM = PerItem("item", _items)

    def _most_exposed(self, level: float) -> ByClass:
        """List the items recommended most."""
        first = np.argsort(-self._state.exposures.to_floats(), kind="stable")[:_MAX_ITEMS]
        return self._items(level).block(
            first.tolist(),
            title="Items recommended most",
            caption=f"Of each state the first {_MAX_ITEMS}, at most.",
            position="under",
        )

    _PAGE: ClassVar = {"heading": "Exposure of the catalog", "by_class": _most_exposed}


add_members(Summary)
add_members(Catalog)
