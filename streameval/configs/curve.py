"""The options of `PRCurveSketch` and `GroupedAUC`, checked and in one canonical form."""

from __future__ import annotations

from functools import cached_property, partial
from typing import Annotated, Any, Literal, Self

import attrs

from streameval.configs import GroupWeight
from streameval.configs.names import chosen_names
from streameval.configs.options import (
    Config,
    OfScores,
    PositiveInt,
    classes_of_scores,
    one_of,
    option,
    positive_integer,
)
from streameval.errors import InvalidInputError, Named
from streameval.exact import Scale
from streameval.inputs.classes import (
    ClassSet,
    Label,
    optional_ignore_label,
    optional_label,
)

CURVE_MEASURES = {"one_vs_one": ("roc_auc_ovo", "roc_auc_ovo_weighted")}
"""What is kept only where it is asked for, and the metrics that it is for."""

MAX_PAIRED_CLASSES = 64
"""The max number of classes whose pairs have curves: 4,032 of them."""


_CELLS_OF_ONE, _CELLS_OF_ALL, _MIN_CELLS = 2**16, 2**22, 2**10


def _budget(value: Any, *, name: str) -> Any:
    """Accept a number of cells, None, or "auto", which depends on the number of curves."""
    if isinstance(value, str):
        return one_of(value, ("auto",), name=name)
    return None if value is None else positive_integer(value, name=name)


@attrs.frozen(kw_only=True, slots=False, repr=False)
class CurveConfig(OfScores):
    """Every option that changes what a score table keeps; equal ones can merge.

    Made by `of`. `classes` is None for one curve.
    """

    SUMMARY = "Keep a curve of scores against truth in bounded memory, batch by batch."

    budget: Annotated[int | None, _budget] = option(
        "The number of bins kept for each curve; None keeps every distinct score.",
        default="auto",
    )
    scores: Scale = option("Whether scores lie in [0, 1].", default="probability")
    classes: ClassSet | None = option(
        "One curve for each class, from a score for each: an integer K means the "
        "labels 0..K-1, a sequence lists the labels in the order of the score columns.",
        default=None,
    )
    multilabel: bool = option(
        "Whether each of the classes is present or absent independently.", default=False
    )
    pos_label: Annotated[Label | None, partial(optional_label, classes=None)] = option(
        "The positive one of any two labels; by default they are 0 and 1.",
        default=None,
    )
    nan: Literal["raise", "skip"] = option(
        "Whether a row with a score of NaN is refused, or left out and counted as skipped.",
        default="raise",
    )
    ignore_label: Label | None = option(
        "Rows (for multilabel, entries) whose truth is this do not count.",
        default=None,
        is_omitted=True,
    )
    measures: Annotated[tuple[str, ...], partial(chosen_names, known=CURVE_MEASURES)] = option(
        'Additional curves to keep: "roc_auc_ovo", or "one_vs_one", of at most 64 classes a curve '
        "of each against each other one. It takes K (K - 1) more curves, each of the budget.",
        default=(),
        is_omitted=True,
    )

    @classmethod
    def read(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Check each option, and those that are labels by the classes."""
        read = super().read(given)
        multilabel = read["multilabel"]
        classes = classes_of_scores(read["classes"], min_count=1 if multilabel else 2)
        ignored = optional_ignore_label(read["ignore_label"], classes, multilabel=multilabel)
        return read | {"classes": classes, "ignore_label": ignored}

    def completed(self) -> Self:
        """Check options together, and divide a budget that was not given."""
        if self.has_pairs:
            self._check_pairs()
        if self.multilabel and self.classes is None:
            raise InvalidInputError(
                "must be given with ", Named("multilabel", "True"), argument="classes"
            )
        if self.pos_label is not None and self.classes is not None:
            raise InvalidInputError(
                "names the positive one of two labels; with ",
                Named("classes"),
                " every class is the positive one of its own curve, got ",
                Named("pos_label", f"{self.pos_label!r}"),
                argument="pos_label",
            )
        if self.classes is None and self.ignore_label is not None:
            self._check_ignore_label()
        is_auto = isinstance(self.budget, str)
        return attrs.evolve(self, budget=_shared_budget(self.n_curves)) if is_auto else self

    @cached_property
    def has_default_labels(self) -> bool:
        """Whether labels are 0 and 1, and all of them count for one curve."""
        return self.classes is None and self.pos_label is None and self.ignore_label is None

    @property
    def has_gaps(self) -> bool:
        """Whether a row may count for some curves only: its entries of the others are ignored."""
        return self.multilabel and self.ignore_label is not None

    @cached_property
    def n_scores(self) -> int:
        """The number of scores a row, each with a curve against the rest."""
        return self.n_classes or 1

    @cached_property
    def n_curves(self) -> int:
        """The number of all curves: those of ordered pairs of classes come last."""
        return self.n_scores**2 if self.has_pairs else self.n_scores

    @property
    def has_pairs(self) -> bool:
        """Whether each class has a curve against each other one."""
        return "one_vs_one" in self.measures

    def _check_pairs(self) -> None:
        """Check that a row has one of a few classes."""
        if self.classes is None or self.multilabel:
            why = Named("multilabel", "True") if self.multilabel else Named("classes", "None")
            raise InvalidInputError(
                '"one_vs_one" needs one of several classes a row, got ', why, argument="measures"
            )
        if self.n_scores > MAX_PAIRED_CLASSES:
            raise InvalidInputError(
                f'"one_vs_one" takes at most {MAX_PAIRED_CLASSES} classes, got {self.n_scores}',
                argument="measures",
            )

    def _check_ignore_label(self) -> None:
        """Check that the label to ignore is of the type of the labels of one curve, and no other.

        Without `pos_label` they are 0 and 1.
        """
        positive = 1 if self.pos_label is None else self.pos_label
        optional_ignore_label(self.ignore_label, (positive,), multilabel=False)
        if self.ignore_label == positive:
            raise InvalidInputError(
                f"must not be the positive label, got {positive!r}", argument="ignore_label"
            )


def _shared_budget(n_curves: int) -> int:
    """Divide cells among curves: none gets more than one alone would, or fewer than the minimum.

    A state holds the number of cells, so that another rule here would change none.
    """
    return max(min(_CELLS_OF_ONE, _CELLS_OF_ALL // n_curves), _MIN_CELLS)


@attrs.frozen(kw_only=True)
class GroupedConfig(Config):
    """The options of grouped score tables; equal ones can merge. Made by `of`."""

    SUMMARY = "Keep the scores of each group separate, and average the AUC within groups."

    budget: PositiveInt = option("The number of bins over all groups.", default=2**22)
    scores: Scale = option("Whether scores lie in [0, 1].", default="probability")
    group_weight: GroupWeight = option(
        "The weight of a group in the mean: its examples, one, or its positives.",
        default="impressions",
    )
    max_groups: PositiveInt | None = option(
        "The max number of groups; more raise an error.", default=None
    )

    @property
    def group_limit(self) -> int:
        """The max number of groups: each needs a cell."""
        return self.budget if self.max_groups is None else min(self.budget, self.max_groups)
