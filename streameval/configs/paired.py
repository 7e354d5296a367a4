"""The options of `Paired`, checked and in one canonical form."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, Self

import attrs

from streameval.configs.confusion import ConfusionConfig
from streameval.configs.options import optional_positive_integer
from streameval.errors import InvalidInputError, Named
from streameval.exact.score_keys import Scale
from streameval.inputs.labels import Classes, Label

__all__ = ["LOSSES", "PAIRED_MEASURES", "PairedConfig"]

LOSSES = ("log_loss", "brier")
"""The measures that are means of a loss of each row."""

PAIRED_MEASURES = ("roc_auc", *LOSSES)
"""The measures that two models may be compared by, besides accuracy, in the order of reports."""

_BUDGET = 65_536
_OMITTED = {"omit_default": True}


@attrs.frozen(kw_only=True, slots=False)
class PairedConfig:
    """Every option that decides what is compared; equal ones can merge. Made by `of`.

    Most are those of `ConfusionConfig` that decide what a prediction is.
    """

    classes: Classes
    multilabel: bool
    threshold: float
    scores: Scale | None
    pos_label: Label | None
    from_scores: bool | None
    ignore_label: Label | None
    measures: tuple[str, ...] = attrs.field(default=(), metadata=_OMITTED)
    budget: int | None = attrs.field(default=_BUDGET, metadata=_OMITTED)

    @classmethod
    def of(cls, *, measures: Any = (), budget: Any = _BUDGET, **options: Any) -> Self:
        """Check the options as those of a confusion matrix, and then the measures."""
        read = ConfusionConfig.of(**options, top_k=1, include_unseen=False)
        config = cls(
            **{name: getattr(read, name) for name in options},
            measures=_measures(measures),
            budget=optional_positive_integer(budget, name="budget"),
        )
        config._check_together()
        return config

    @cached_property
    def labels(self) -> ConfusionConfig:
        """The options by which each model's predictions are read."""
        options = {field.name: getattr(self, field.name) for field in attrs.fields(type(self))}
        del options["measures"], options["budget"]
        if self.needs_scores:
            options["from_scores"] = True
        return ConfusionConfig(**options, top_k=1, include_unseen=False)

    @property
    def needs_scores(self) -> bool:
        """Whether a measure reads scores, so that labels are not enough."""
        return bool(self.measures)

    @property
    def losses(self) -> tuple[str, ...]:
        """The measures that are means of a loss."""
        return tuple(name for name in self.measures if name in LOSSES)

    @property
    def has_curve(self) -> bool:
        """Whether pairs of scores are kept."""
        return "roc_auc" in self.measures

    @property
    def scale(self) -> Scale:
        """What the scores are."""
        return "probability" if self.labels.takes_probabilities else "real"

    def _check_together(self) -> None:
        if self.budget != _BUDGET and not self.has_curve:
            raise InvalidInputError(
                'is for measures with "roc_auc", got ',
                Named("measures", repr(self.measures)),
                argument="budget",
            )
        if not self.measures:
            return
        name = self.measures[0]
        if not self.labels.is_binary:
            raise InvalidInputError(
                f'"{name}" compares the scores of two classes, got ',
                Named("classes", repr(self.classes)),
                argument="measures",
            )
        if self.from_scores is False:
            raise InvalidInputError(
                f'"{name}" needs scores, got ', Named("from_scores", "False"), argument="measures"
            )
        if self.losses and self.scale == "real":
            raise InvalidInputError(
                f'"{self.losses[0]}" needs probabilities, got scores of any size',
                argument="measures",
                remedy=("Apply a sigmoid first, or leave it out.",),
            )


def _measures(value: Any) -> tuple[str, ...]:
    """Accept names of measures, and list each once, in the order of reports."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidInputError(f"must be a sequence of names, got {value!r}", argument="measures")
    names = list(value)
    for name in names:
        if name not in PAIRED_MEASURES:
            raise InvalidInputError(
                f"must be among {', '.join(PAIRED_MEASURES)}, got {name!r}", argument="measures"
            )
    return tuple(name for name in PAIRED_MEASURES if name in names)
