"""The options of `CatalogAccumulator`, checked and in one canonical form."""

from __future__ import annotations

import attrs

from streameval.configs.options import Config, PositiveInt, option


@attrs.frozen(kw_only=True)
class CatalogConfig(Config):
    """The options of exposures of items; equal ones can merge. Made by `of`."""

    SUMMARY = "Count how often a recommender shows each item of a catalog, batch by batch."

    n_items: PositiveInt = option(
        "The number of items of the catalog; more distinct ones raise an error."
    )
    k: PositiveInt | None = option(
        "How many ranks of each list count; None counts every row.",
        default=10,
        help="how many ranks of each list count",
    )
    popularity: bool = option(
        "Whether rows have the popularity of the item, for novelty and average_popularity.",
        default=False,
    )
