"""The options of `MeanAccumulator`, checked and in one canonical form."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, Self

import attrs

from streameval.configs.collection import SEPARATOR
from streameval.configs.names import as_names, check_distinct
from streameval.configs.options import Config, PositiveInt, fraction, option
from streameval.errors import InvalidInputError
from streameval.inputs.classes import canonical_label

USUAL_BUDGET = 65_536
MAX_COLUMNS = 1024


def _columns(value: Any, *, name: str) -> tuple[str, ...] | None:
    """Accept None, or the names of columns."""
    if value is None:
        return None
    names = as_names(value, name=name)
    for one in names:
        if not isinstance(one, str) or not one or one == "sample_weight" or SEPARATOR in one:
            raise InvalidInputError(
                f"must be names, none of them 'sample_weight' or with {SEPARATOR!r}, got {one!r}",
                argument=name,
            )
        canonical_label(one, name=name)
    if not 1 <= len(names) <= MAX_COLUMNS:
        raise InvalidInputError(
            f"must be from 1 to {MAX_COLUMNS} names, got {len(names)}", argument=name
        )
    check_distinct(names, name=name)
    return names


def _quantiles(value: Any, *, name: str) -> tuple[float, ...]:
    """Accept shares of the weight, or a single one; each counts once, in ascending order."""
    is_one = isinstance(value, str) or not isinstance(value, Iterable)
    given = [value] if is_one else as_names(value, name=name)
    return tuple(sorted({fraction(one, name=name) for one in given}))


@attrs.frozen(kw_only=True, slots=False)
class MeanConfig(Config):
    """What is summed, and kept for quantiles; equal ones can merge. Made by `of`."""

    SUMMARY = "Sum values of any kind, batch by batch, exactly."

    columns: tuple[str, ...] | None = option(
        "The names of several values that each row has, such as loss and latency, which a batch "
        "holds as columns; by default a row has one value.",
        _columns,
        default=None,
        is_omitted=True,
    )
    quantiles: tuple[float, ...] = option(
        "The quantiles to report, such as 0.5 and 0.99. With one or more, bins of the values are "
        "kept, from which any quantile can be read.",
        _quantiles,
        default=(),
        is_omitted=True,
    )
    budget: PositiveInt | None = option(
        "The number of bins kept for the quantiles of each column; None keeps every distinct "
        "value.",
        default=USUAL_BUDGET,
        is_omitted=True,
    )
    nan: Literal["raise", "skip"] = option(
        "Whether NaN is refused, or left out and counted as skipped.",
        default="raise",
        is_omitted=True,
    )

    def completed(self) -> Self:
        """Check options, alone and together."""
        if self.budget != USUAL_BUDGET and not self.has_sketch:
            raise InvalidInputError("is for quantiles, none of which was given", argument="budget")
        return self

    @property
    def has_sketch(self) -> bool:
        """Whether cells are kept for quantiles."""
        return bool(self.quantiles)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the arrays, in order."""
        return ("value",) if self.columns is None else self.columns

    @property
    def n_columns(self) -> int:
        """The number of values of a row."""
        return len(self.names)
