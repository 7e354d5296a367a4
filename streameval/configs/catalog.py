"""The options of `CatalogAccumulator`, checked and in one canonical form."""

from __future__ import annotations

import attrs

from streameval.configs.options import (
    Config,
    flag,
    option,
    optional_positive_integer,
    positive_integer,
)


@attrs.frozen(kw_only=True)
class CatalogConfig(Config):
    """The options of exposures of items; equal ones can merge. Made by `of`."""

    SUMMARY = "Count how often a recommender shows each item of a catalog, batch by batch."

    n_items: int = option(
        "The number of items of the catalog; more distinct ones raise an error.", positive_integer
    )
    k: int | None = option(
        "How many ranks of each list count; None counts every row.",
        optional_positive_integer,
        default=10,
    )
    popularity: bool = option(
        "Whether rows have the popularity of the item, for novelty and average_popularity.",
        flag,
        default=False,
    )
