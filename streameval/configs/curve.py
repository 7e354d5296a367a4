"""The options of `PRCurveSketch`, checked and in one canonical form."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal, Self

import attrs

from streameval.configs.cached import Cached
from streameval.configs.names import chosen_names
from streameval.configs.options import flag, one_of, optional_positive_integer
from streameval.errors import InvalidInputError, Named
from streameval.exact.score_keys import Scale
from streameval.inputs.labels import (
    ClassSet,
    Label,
    canonical_classes,
    canonical_label,
    class_labels,
    class_names,
    optional_ignore_label,
)

CURVE_MEASURES = ("one_vs_one",)
"""What is kept only where it is asked for."""

MAX_PAIRED_CLASSES = 64
"""The max number of classes whose pairs have curves: 4,032 of them."""


_CELLS_OF_ONE, _CELLS_OF_ALL, _LEAST_CELLS = 2**16, 2**22, 2**10


@attrs.frozen(kw_only=True, slots=False, repr=False)
class CurveConfig(Cached):
    """Every option that changes what a score table keeps; equal ones can merge.

    Made by `of`. `classes` is None for one curve.
    """

    budget: int | None
    scores: Scale
    classes: ClassSet | None
    multilabel: bool
    pos_label: Label | None
    nan: Literal["raise", "skip"]
    ignore_label: Label | None = attrs.field(default=None, metadata={"omit_default": True})
    measures: tuple[str, ...] = attrs.field(default=(), metadata={"omit_default": True})

    @classmethod
    def of(
        cls,
        *,
        budget: Any,
        scores: Any,
        classes: Any,
        multilabel: Any,
        pos_label: Any,
        nan: Any,
        ignore_label: Any = None,
        measures: Any = (),
    ) -> Self:
        """Check the options, alone and together."""
        multilabel = flag(multilabel, name="multilabel")
        classes = _classes(classes, multilabel=multilabel)
        is_shared = isinstance(budget, str) and one_of(budget, ("auto",), name="budget") == "auto"
        config = cls(
            budget=None if is_shared else optional_positive_integer(budget, name="budget"),
            scores=one_of(scores, ("probability", "real"), name="scores"),
            classes=classes,
            multilabel=multilabel,
            pos_label=None if pos_label is None else canonical_label(pos_label, name="pos_label"),
            nan=one_of(nan, ("raise", "skip"), name="nan"),
            ignore_label=optional_ignore_label(ignore_label, classes, multilabel=multilabel),
            measures=chosen_names(measures, CURVE_MEASURES, name="measures"),
        )
        if config.has_pairs:
            config._check_pairs()
        if is_shared:
            config = attrs.evolve(config, budget=_shared_budget(config.n_curves))
        if config.multilabel and config.classes is None:
            raise InvalidInputError(
                "must be given with ", Named("multilabel", "True"), argument="classes"
            )
        if config.pos_label is not None and config.classes is not None:
            raise InvalidInputError(
                "names the positive one of two labels; with ",
                Named("classes"),
                " every class is the positive one of its own curve, got ",
                Named("pos_label", f"{config.pos_label!r}"),
                argument="pos_label",
            )
        if config.classes is None and config.ignore_label is not None:
            config._check_ignore_label()
        return config

    @cached_property
    def has_default_labels(self) -> bool:
        """Whether labels are 0 and 1, and all of them count for one curve."""
        return self.classes is None and self.pos_label is None and self.ignore_label is None

    @property
    def has_gaps(self) -> bool:
        """Whether a row may count for some curves only: its entries of the others are ignored."""
        return self.multilabel and self.ignore_label is not None

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels of the classes; there are none where there is one curve."""
        return () if self.classes is None else class_labels(self.classes)

    @property
    def class_names(self) -> tuple[Label, ...]:
        """What the classes are shown by; there are none where there is one curve."""
        return () if self.classes is None else class_names(self.classes)

    @cached_property
    def n_scores(self) -> int:
        """The number of scores a row, each with a curve against the rest."""
        if self.classes is None:
            return 1
        return self.classes if isinstance(self.classes, int) else len(self.classes)

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
        if type(self.ignore_label) is not type(positive):
            form = "a string" if isinstance(positive, str) else "an integer"
            raise InvalidInputError(
                f"must be {form} as the labels are, got {self.ignore_label!r}",
                argument="ignore_label",
            )
        if self.ignore_label == positive:
            raise InvalidInputError(
                f"must not be the positive label, got {positive!r}", argument="ignore_label"
            )


def _shared_budget(n_curves: int) -> int:
    """Divide cells among curves: no curve gets more than one alone would, or fewer than the least.

    A state holds the number of cells, so that another rule here would change none.
    """
    return max(min(_CELLS_OF_ONE, _CELLS_OF_ALL // n_curves), _LEAST_CELLS)


def _classes(value: Any, *, multilabel: bool) -> ClassSet | None:
    if value is None:
        return None
    classes = (
        value
        if isinstance(value, str)
        else canonical_classes(value, min_count=1 if multilabel else 2)
    )
    if isinstance(classes, str):
        raise InvalidInputError(
            "must be None, a number, or the labels in the order of the score columns, "
            f"got {classes!r}",
            argument="classes",
        )
    return classes
