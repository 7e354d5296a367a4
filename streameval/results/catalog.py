"""The result of `CatalogAccumulator`."""

from __future__ import annotations

import math
from typing import ClassVar

import attrs
import numpy as np

from streameval.configs.values import CatalogConfig
from streameval.errors import Named
from streameval.exact.array_types import Array
from streameval.metrics.shares import mean
from streameval.metrics.table import (
    EXAMPLES,
    NOT_NEGATIVE,
    SHARE,
    Metric,
    Table,
    count_row,
)
from streameval.metrics.values import coverage, entropy, gini
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

    TASK = "catalog"
    _REPORT = Report(findings=findings.of_catalog)
    MADE_BY = "CatalogAccumulator"

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


_NO_TEST = "it depends on all recommendations together"


def _has_popularity(result: Catalog) -> bool:
    return result._config.popularity


def _without_popularity(name: str) -> tuple[object, ...]:
    needed = Named("popularity", "True")
    return f"{name!r} needs the popularity of items: count with ", needed, "."


Catalog.TABLE = Table(
    EXAMPLES,
    count_row(
        "n_items",
        "Items",
        "The number of items of the catalog.",
        value=lambda result: result._config.n_items,
    ),
    count_row(
        "n_recommended",
        "Items recommended",
        "The number of distinct items that were recommended.",
        value=lambda result: len(result._state.items),
    ),
    Metric(
        name="coverage",
        limits=None,
        value=lambda result: coverage(result.n_recommended, result.n_items),
        aliases=("catalog_coverage", "catalog_coverage", "item_coverage", "itemcoverage"),
        heading="Coverage of the catalog",
        help="The share of the items of the catalog that were recommended, in [0, 1].",
        formula=r"\frac{\#\{i : c_i > 0\}}{|I|}",
        better="higher",
        why_no_evidence=_NO_TEST,
        oracle="the definition, item by item; RecBole, ItemCoverage",
        headline=1,
    ),
    Metric(
        name="gini",
        limits=SHARE,
        value=lambda result: gini(result._state.exposures, result.n_items),
        aliases=("gini_index", "giniindex", "exposure_gini", "gini_coefficient"),
        heading="Gini of the exposures",
        help="The Gini coefficient of the exposures of all items, in [0, 1); nan without examples.",
        notes="0 if all items have the same exposure, nearly 1 if one item has all of it.",
        formula=r"\frac{\sum_i (2i - |I| - 1)\, c_{(i)}}{|I| \sum_i c_i}",
        better="lower",
        why_no_evidence=_NO_TEST,
        oracle="the mean difference of all pairs of items; RecBole, GiniIndex",
        headline=2,
    ),
    Metric(
        name="entropy",
        limits=NOT_NEGATIVE,
        value=lambda result: entropy(result._state.exposures),
        aliases=("distributional_coverage", "shannon_entropy", "exposure_entropy"),
        heading="Entropy of the exposures",
        help="The entropy of the exposures in bits, in [0, log2(n_items)]; nan without examples.",
        notes="2 to its power is the number of items that, exposed equally, would have this "
        "entropy.",
        formula=r"-\sum_i \frac{c_i}{n} \log_2 \frac{c_i}{n}",
        better="higher",
        why_no_evidence=_NO_TEST,
        oracle="scipy, entropy",
        headline=3,
    ),
    Metric(
        name="novelty",
        limits=NOT_NEGATIVE,
        aliases=("self_information", "mean_self_information", "efd"),
        heading="Novelty",
        help="The mean of -log2(popularity) over the recommendations, at least 0; nan without any.",
        notes="In bits: an item that half of the users know has 1.",
        value=lambda one: mean(one._state.information, one._state.n) / math.log(2.0),
        formula=r"-\frac1n \sum \log_2 p_i",
        better="higher",
        why_no_evidence="the spread of its terms is not kept",
        oracle="the definition, row by row",
        absent=_without_popularity("novelty"),
        listed=_has_popularity,
        measured=True,
    ),
    Metric(
        name="average_popularity",
        limits=SHARE,
        aliases=("averagepopularity", "mean_popularity", "arp"),
        heading="Average popularity",
        help="The mean popularity of the recommendations, in (0, 1]; nan without any.",
        value=lambda one: mean(one._state.popularity, one._state.n),
        formula=r"\frac1n \sum p_i",
        better="lower",
        why_no_evidence="the spread of its terms is not kept",
        oracle="the definition, row by row; RecBole, AveragePopularity",
        absent=_without_popularity("average_popularity"),
        listed=_has_popularity,
        measured=True,
    ),
)

add_members(Catalog)
