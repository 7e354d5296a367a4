"""The options of `RegressionAccumulator`, checked and in one canonical form."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from numbers import Integral
from typing import Annotated, Any, Self

import attrs

from streameval.configs import USUAL_BUDGET
from streameval.configs.error_measures import (
    MOMENTS,
    ErrorMeasure,
    Term,
    canonical_error_measures,
    error_measure,
)
from streameval.configs.names import as_names, check_distinct
from streameval.configs.options import Config, PositiveInt, option, positive_integer
from streameval.errors import InvalidInputError
from streameval.inputs.classes import canonical_label

AVERAGES = ("uniform_average", "variance_weighted")
MAX_OUTPUTS = 1024
"""The max number of outputs: a batch is summed output by output, and 16 MiB hold all sums."""


def _outputs(value: Any, *, name: str) -> int | tuple[str, ...]:
    """Accept a number of outputs, or their names."""
    if isinstance(value, Integral) or not isinstance(value, Iterable):
        return positive_integer(value, name=name)
    names = as_names(value, name=name)
    for one in names:
        if not isinstance(one, str) or not one or one.isdecimal() or one in AVERAGES:
            raise InvalidInputError(
                f"must be a number or names, none of them a number or an average, got {one!r}",
                argument=name,
            )
        canonical_label(one, name=name)
    if not names:
        raise InvalidInputError("must hold at least one name", argument=name)
    check_distinct(names, name=name)
    return names


@attrs.frozen(kw_only=True, slots=False)
class RegressionConfig(Config):
    """What is counted beside the sums that every regression state has. Made by `of`.

    Options stand in bytes only where they differ from their defaults.
    """

    SUMMARY = "Sum the errors of predicted numbers, batch by batch, exactly."

    measures: Annotated[tuple[str, ...], canonical_error_measures] = option(
        'Metrics that need more than the sums that are always kept, such as "mape" '
        'or "huber(delta=1)"; Regression lists them all. With other measures accumulators do '
        "not merge.",
        default=(),
        is_omitted=True,
    )
    budget: PositiveInt | None = option(
        "The number of bins kept for the median and quantiles of the absolute "
        "error; None keeps every distinct error.",
        default=USUAL_BUDGET,
        is_omitted=True,
    )
    intervals: bool = option(
        "Whether RMSE, MSE and R2 have sampling intervals, which takes five more sums; those of "
        "MAE and bias take none.",
        default=False,
        is_omitted=True,
    )
    outputs: Annotated[int | tuple[str, ...], _outputs] | None = option(
        "The number of numbers that each row predicts, at most 1,024, or a name for "
        "each: arrays have shape (n, outputs), and compute returns the errors of each output "
        "and their averages.",
        default=None,
        is_omitted=True,
        help="the names of the outputs if each row predicts several numbers",
    )

    def completed(self) -> Self:
        """Check options, alone and together."""
        if self.n_outputs > MAX_OUTPUTS:
            raise InvalidInputError(
                f"must be at most {MAX_OUTPUTS}, got {self.n_outputs}", argument="outputs"
            )
        if self.budget != USUAL_BUDGET and not self.has_sketch:
            raise InvalidInputError(
                "is for quantiles of the errors, none of which is among the measures",
                argument="budget",
            )
        return self

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
