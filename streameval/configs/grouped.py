"""The options of `GroupedAUC`, checked and in one canonical form."""

from __future__ import annotations

from typing import Any, Literal, Self

import attrs

from streameval.configs.options import one_of, optional_positive_integer, positive_integer
from streameval.exact.score_keys import Scale

GroupWeight = Literal["impressions", "uniform", "positives"]


@attrs.frozen(kw_only=True)
class GroupedConfig:
    """The options of grouped score tables; equal ones can merge. Made by `of`."""

    budget: int
    scores: Scale
    group_weight: GroupWeight
    max_groups: int | None

    @classmethod
    def of(cls, *, budget: Any, scores: Any, group_weight: Any, max_groups: Any) -> Self:
        """Check the options."""
        weights = ("impressions", "uniform", "positives")
        return cls(
            budget=positive_integer(budget, name="budget"),
            scores=one_of(scores, ("probability", "real"), name="scores"),
            group_weight=one_of(group_weight, weights, name="group_weight"),
            max_groups=optional_positive_integer(max_groups, name="max_groups"),
        )

    @property
    def group_limit(self) -> int:
        """The max number of groups: each needs a cell."""
        return self.budget if self.max_groups is None else min(self.budget, self.max_groups)
