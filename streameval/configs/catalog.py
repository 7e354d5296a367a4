"""The options of `CatalogAccumulator`, checked and in one canonical form."""

from __future__ import annotations

from typing import Any, Self

import attrs

from streameval.configs.options import flag, optional_positive_integer, positive_integer


@attrs.frozen(kw_only=True)
class CatalogConfig:
    """The options of exposures of items; equal ones can merge. Made by `of`."""

    n_items: int
    k: int | None
    popularity: bool

    @classmethod
    def of(cls, *, n_items: Any, k: Any, popularity: Any) -> Self:
        """Check the options."""
        return cls(
            n_items=positive_integer(n_items, name="n_items"),
            k=optional_positive_integer(k, name="k"),
            popularity=flag(popularity, name="popularity"),
        )
