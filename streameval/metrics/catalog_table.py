"""The table of the metrics of exposures."""

from __future__ import annotations

import math

import attrs

from streameval.configs.values import CatalogConfig
from streameval.errors import Named
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
from streameval.states.catalog import Exposures


@attrs.frozen(slots=False, eq=False, repr=False)
class CatalogExposures:
    """How often the items of a catalog were recommended."""

    _state: Exposures
    _config: CatalogConfig


_NO_TEST = "it depends on all recommendations together"


def _has_popularity(result: CatalogExposures) -> bool:
    return result._config.popularity


def _without_popularity(name: str) -> tuple[object, ...]:
    needed = Named("popularity", "True")
    return f"{name!r} needs the popularity of items: count with ", needed, "."


TABLE = Table(
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
        value=lambda result: coverage(len(result._state.items), result._config.n_items),
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
        value=lambda result: gini(result._state.exposures, result._config.n_items),
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
    task="catalog",
    made_by="CatalogAccumulator",
)
