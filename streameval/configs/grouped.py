"""The options of `GroupedAUC`, checked and in one canonical form."""

from __future__ import annotations

from functools import partial
from typing import Literal

import attrs

from streameval.configs.options import (
    SCALE,
    Config,
    one_of,
    option,
    optional_positive_integer,
    positive_integer,
)
from streameval.exact.score_keys import Scale

GroupWeight = Literal["impressions", "uniform", "positives"]


@attrs.frozen(kw_only=True)
class GroupedConfig(Config):
    """The options of grouped score tables; equal ones can merge. Made by `of`."""

    SUMMARY = "Keep the scores of each group separate, and average the AUC within groups."

    budget: int = option("The number of cells over all groups.", positive_integer, default=2**22)
    scores: Scale = option("Whether scores lie in [0, 1].", SCALE, default="probability")
    group_weight: GroupWeight = option(
        "The weight of a group in the mean: its examples, one, or its positives.",
        partial(one_of, allowed=("impressions", "uniform", "positives")),
        default="impressions",
    )
    max_groups: int | None = option(
        "The max number of groups; more raise an error.", optional_positive_integer, default=None
    )

    @property
    def group_limit(self) -> int:
        """The max number of groups: each needs a cell."""
        return self.budget if self.max_groups is None else min(self.budget, self.max_groups)
