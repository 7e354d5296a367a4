"""The options of `MeanAccumulator`, `CatalogAccumulator` and `PreferencesAccumulator`."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Annotated, Any, Literal, Self

import attrs

from streameval.configs import USUAL_BUDGET
from streameval.configs.collection import SEPARATOR
from streameval.configs.names import as_names, check_distinct
from streameval.configs.options import Arrays, Config, PositiveInt, fraction, option
from streameval.errors import InvalidInputError
from streameval.inputs.classes import (
    ClassSet,
    Label,
    canonical_classes,
    canonical_label,
    class_labels,
    class_names,
    without_names,
)

MAX_COLUMNS = 1024


def _columns(value: Any, *, name: str) -> tuple[str, ...]:
    """Accept the names of columns."""
    names = as_names(value, name=name)
    for one in names:
        if not isinstance(one, str) or not one or one == "sample_weight" or SEPARATOR in one:
            raise InvalidInputError(
                f"must be names, none of them 'sample_weight' or with {SEPARATOR!r}, got {one!r}",
                argument=name,
            )
    if not 1 <= len(names) <= MAX_COLUMNS:
        raise InvalidInputError(
            f"must be from 1 to {MAX_COLUMNS} names, got {len(names)}", argument=name
        )
    check_distinct(names, name=name)
    return tuple(str(canonical_label(one, name=name)) for one in names)


def _quantiles(value: Any, *, name: str) -> tuple[float, ...]:
    """Accept shares of the weight, or a single one; each counts once, in ascending order."""
    is_one = isinstance(value, str) or not isinstance(value, Iterable)
    given = [value] if is_one else as_names(value, name=name)
    return tuple(sorted({fraction(one, name=name) for one in given}))


@attrs.frozen(kw_only=True, slots=False)
class MeanConfig(Config):
    """What is summed, and kept for quantiles; equal ones can merge. Made by `of`."""

    SUMMARY = "Sum values of any kind, batch by batch, exactly."
    counts_items = True
    """Whether `n` counts each item of a row of more dimensions."""

    columns: Annotated[tuple[str, ...], _columns] | None = option(
        "The names of several values that each row has, such as loss and latency, which a batch "
        "holds as columns; by default a row has one value.",
        default=None,
        is_omitted=True,
    )
    quantiles: Annotated[tuple[float, ...], _quantiles] = option(
        "The quantiles to report, such as 0.5 and 0.99. With one or more, bins of the values are "
        "kept, from which any quantile can be read.",
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
    def arrays(self) -> Arrays:
        """The columns, and their weights."""
        return self.names, ("sample_weight",)

    @property
    def n_columns(self) -> int:
        """The number of values of a row."""
        return len(self.names)


@attrs.frozen(kw_only=True)
class CatalogConfig(Config):
    """The options of exposures of items; equal ones can merge. Made by `of`."""

    SUMMARY = "Count how often a recommender shows each item of a catalog, batch by batch."
    counts_items = True

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


_MAX_MODELS = 2**12  # two tables of 128 MiB


def _models(value: Any, *, name: str) -> ClassSet:
    """Accept a number of models, or their names."""
    if isinstance(value, str):
        raise InvalidInputError(
            f"must be a number or a sequence of names, got {value!r}", argument=name
        )
    try:
        models = canonical_classes(value, min_count=2, max_count=_MAX_MODELS)
    except InvalidInputError as error:
        raise error.renamed("classes", name) from None
    assert not isinstance(models, str)  # noqa: S101 - tells the type checker
    return models


@attrs.frozen(kw_only=True, slots=False)
class PreferencesConfig(Config):
    """The options of comparisons of models; equal ones can merge. Made by `of`."""

    SUMMARY = "Count which of two models was preferred, batch by batch."

    models: Annotated[ClassSet, _models] = option(
        "The names of the models, integers or strings, as a sequence; a mapping gives them display "
        "names, and a number K stands for 0..K-1.",
    )

    @cached_property
    def labels(self) -> tuple[Label, ...]:
        """The models."""
        return class_labels(self.models)

    @property
    def class_names(self) -> tuple[Label, ...]:
        """What the models are shown by."""
        return class_names(self.models)

    @cached_property
    def fixed_models(self) -> int | tuple[Label, ...]:
        """The models as their number or a tuple of labels."""
        return without_names(self.models)

    @cached_property
    def n_models(self) -> int:
        """The number of models."""
        return len(self.labels)
