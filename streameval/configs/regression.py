"""The options of `RegressionAccumulator`, checked and in one canonical form."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import attrs

from streameval.configs.error_measures import (
    ErrorMeasure,
    Term,
    canonical_error_measures,
    error_measure,
)
from streameval.configs.options import optional_positive_integer
from streameval.errors import InvalidInputError

__all__ = ["USUAL_BUDGET", "RegressionConfig"]

USUAL_BUDGET = 65_536


@attrs.frozen(kw_only=True, slots=False)
class RegressionConfig:
    """What is counted beside the sums that every regression state has. Made by `of`.

    Both options stand in bytes only where they were passed.
    """

    measures: tuple[str, ...] = attrs.field(default=(), metadata={"omit_default": True})
    budget: int | None = attrs.field(default=USUAL_BUDGET, metadata={"omit_default": True})

    @classmethod
    def of(cls, *, measures: Any = (), budget: Any = USUAL_BUDGET) -> Self:
        """Check the options, alone and together."""
        made = cls(
            measures=canonical_error_measures(measures),
            budget=optional_positive_integer(budget, name="budget"),
        )
        if made.budget != USUAL_BUDGET and not made.has_sketch:
            raise InvalidInputError(
                "is for quantiles of the errors, none of which is among the measures",
                argument="budget",
            )
        return made

    @cached_property
    def parsed(self) -> tuple[ErrorMeasure, ...]:
        """The measures, taken apart."""
        return tuple(map(error_measure, self.measures))

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """What is summed for them, each once."""
        return tuple(dict.fromkeys(term for one in self.parsed for term in one.terms))

    @cached_property
    def extremes(self) -> tuple[str, ...]:
        """What the maximum is kept of, each once."""
        return tuple(dict.fromkeys(name for one in self.parsed for name in one.row.extremes))

    @cached_property
    def has_sketch(self) -> bool:
        """Whether one of them reads the sketch of the absolute errors."""
        return any(one.row.has_sketch for one in self.parsed)
