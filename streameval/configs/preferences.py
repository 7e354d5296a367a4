"""The options of `PreferencesAccumulator`, checked and in one canonical form."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import attrs

from streameval.configs.options import Config, option
from streameval.errors import InvalidInputError
from streameval.inputs.classes import (
    ClassSet,
    Label,
    canonical_classes,
    class_labels,
    class_names,
    without_names,
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

    models: ClassSet = option(
        "The names of the models, integers or strings, as a sequence; a mapping gives them display "
        "names, and a number K stands for 0..K-1.",
        _models,
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
