"""The options of `RegressionAccumulator`, checked and in one canonical form."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, Self

import attrs
import numpy as np

from streameval.configs.cached import Cached
from streameval.configs.error_measures import (
    MOMENTS,
    ErrorMeasure,
    Term,
    canonical_error_measures,
    error_measure,
)
from streameval.configs.names import as_names, check_distinct
from streameval.configs.options import flag, optional_positive_integer
from streameval.errors import InvalidInputError
from streameval.inputs.labels import canonical_label

USUAL_BUDGET = 65_536
AVERAGES = ("uniform_average", "variance_weighted")
MAX_OUTPUTS = 1024
"""The max number of outputs: a batch is summed output by output, and 16 MiB hold all sums."""


@attrs.frozen(kw_only=True, slots=False)
class RegressionConfig(Cached):
    """What is counted beside the sums that every regression state has. Made by `of`.

    Options stand in bytes only where they differ from their defaults.
    """

    measures: tuple[str, ...] = attrs.field(default=(), metadata={"omit_default": True})
    budget: int | None = attrs.field(default=USUAL_BUDGET, metadata={"omit_default": True})
    intervals: bool = attrs.field(default=False, metadata={"omit_default": True})
    outputs: int | tuple[str, ...] | None = attrs.field(
        default=None, metadata={"omit_default": True}
    )

    @classmethod
    def of(
        cls,
        *,
        measures: Any = (),
        budget: Any = USUAL_BUDGET,
        intervals: Any = False,
        outputs: Any = None,
    ) -> Self:
        """Check the options, alone and together."""
        made = cls(
            measures=canonical_error_measures(measures),
            budget=optional_positive_integer(budget, name="budget"),
            intervals=flag(intervals, name="intervals"),
            outputs=_outputs(outputs),
        )
        if made.n_outputs > MAX_OUTPUTS:
            raise InvalidInputError(
                f"must be at most {MAX_OUTPUTS}, got {made.n_outputs}", argument="outputs"
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
        """What is summed for them and for intervals, each once."""
        terms = [term for one in self.parsed for term in one.terms]
        return tuple(dict.fromkeys([*terms, *(MOMENTS if self.intervals else ())]))

    @cached_property
    def has_default_sums(self) -> bool:
        """Whether only the sums are kept that every regression has, of one output."""
        return not (self.measures or self.intervals or self.outputs)

    @property
    def n_outputs(self) -> int:
        """The number of outputs of a row."""
        return len(self.outputs) if isinstance(self.outputs, tuple) else self.outputs or 1

    @property
    def output_names(self) -> tuple[str, ...]:
        """The names of the outputs; empty if they have none."""
        return self.outputs if isinstance(self.outputs, tuple) else ()

    @cached_property
    def extremes(self) -> tuple[str, ...]:
        """What the maximum is kept of, each once."""
        return tuple(dict.fromkeys(name for one in self.parsed for name in one.row.extremes))

    @cached_property
    def has_sketch(self) -> bool:
        """Whether one of them reads the sketch of the absolute errors."""
        return any(one.row.has_sketch for one in self.parsed)


def _outputs(value: Any) -> int | tuple[str, ...] | None:
    """Accept a number of outputs, or their names."""
    if value is None or isinstance(value, (int, np.integer)) or not isinstance(value, Iterable):
        return optional_positive_integer(value, name="outputs")
    names = as_names(value, name="outputs")
    for one in names:
        if not isinstance(one, str) or not one or one.isdecimal() or one in AVERAGES:
            raise InvalidInputError(
                f"must be a number or names, none of them a number or an average, got {one!r}",
                argument="outputs",
            )
        canonical_label(one, name="outputs")
    if not names:
        raise InvalidInputError("must hold at least one name", argument="outputs")
    check_distinct(names, name="outputs")
    return names
