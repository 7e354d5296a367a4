"""The options of `Paired`, checked and in one canonical form."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import attrs

from streameval.configs.confusion import ConfusionConfig
from streameval.exact.score_keys import Scale
from streameval.inputs.labels import Classes, Label

__all__ = ["PairedConfig"]


@attrs.frozen(kw_only=True, slots=False)
class PairedConfig:
    """Every option that decides which rows are right; equal ones can merge. Made by `of`.

    They are those of `ConfusionConfig` that decide what a prediction is.
    """

    classes: Classes
    multilabel: bool
    threshold: float
    scores: Scale | None
    pos_label: Label | None
    from_scores: bool | None
    ignore_label: Label | None

    @classmethod
    def of(cls, **options: Any) -> Self:
        """Check the options as those of a confusion matrix."""
        read = ConfusionConfig.of(**options, top_k=1, include_unseen=False)
        return cls(**{field.name: getattr(read, field.name) for field in attrs.fields(cls)})

    @cached_property
    def labels(self) -> ConfusionConfig:
        """The options by which each model's predictions are read."""
        options = {field.name: getattr(self, field.name) for field in attrs.fields(type(self))}
        return ConfusionConfig(**options, top_k=1, include_unseen=False)
