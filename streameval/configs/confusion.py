"""The options of `ConfusionAccumulator`, checked and in one canonical form."""

from __future__ import annotations

import math
from functools import cached_property, partial
from typing import Annotated, Any, Self

import attrs

from streameval.configs.names import chosen_names
from streameval.configs.options import (
    Config,
    PositiveInt,
    finite_number,
    option,
    optional_flag,
)
from streameval.errors import InvalidInputError, Named
from streameval.exact import Scale
from streameval.inputs.classes import (
    Classes,
    Label,
    canonical_classes,
    class_labels,
    class_names,
    optional_ignore_label,
    optional_label,
    without_names,
)

_OF_EXAMPLES = (
    *("precision", "recall", "specificity", "f_score", "jaccard", "fowlkes_mallows"),
    *("negative_predictive_value", "false_positive_rate", "false_negative_rate"),
    *("false_discovery_rate", "false_omission_rate", "selection_rate"),
)
MEASURES = {
    "samples": tuple(f"{name}[samples]" for name in _OF_EXAMPLES),
    "top_k": ("top_k_precision", "top_k_recall", "top_k_f_score"),
}
"""What is kept only where it is asked for, and the metrics that it is for."""


def _thresholds(value: Any, *, name: str) -> float | tuple[float, ...]:
    """Accept a finite number, or several."""
    is_listed = isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) == 1
    if not (is_listed and len(value)):
        return finite_number(value, name=name)
    return tuple(finite_number(item, name=name) for item in value)


@attrs.frozen(kw_only=True, slots=False)
class ConfusionConfig(Config):
    """Every option that changes what a confusion state counts; equal ones can merge.

    Made by `of`. `pos_label` is None where there is no positive class, and `scores` where it is
    what the threshold implies.
    """

    SUMMARY = "Count truth against prediction, batch by batch."

    classes: Classes = option(
        "A number K stands for the labels 0..K-1; a sequence lists the labels "
        '(integers or strings) in the order of rows, columns and scores; "auto" collects '
        "labels from the data (at most 4096) and sorts them.",
        default=2,
    )
    multilabel: bool = option(
        "Whether each of the classes is present or absent on its own.",
        default=False,
        help="labels are lists of 0 and 1, one for each class",
    )
    threshold: Annotated[float | tuple[float, ...], _thresholds] = option(
        "A score of at least this is a positive prediction, for two classes and multilabel; "
        "for multilabel, it may be one for each label.",
        default=0.5,
        help="a score of at least T is positive",
    )
    scores: Scale | None = option(
        "Whether the scores of two classes and multilabel lie in [0, 1].",
        default=None,
        is_omitted=True,
        help="whether scores are probabilities, or any numbers, such as logits",
    )
    pos_label: Label | None = option(
        "The positive one of two classes: by default 1, or the second of two listed.", default=None
    )
    from_scores: Annotated[bool | None, optional_flag] = option(
        "Whether y_pred holds scores.", default=None
    )
    top_k: PositiveInt = option(
        "Among how many of the best scores the true class must be for top_k_accuracy.",
        default=1,
    )
    ignore_label: Label | None = option(
        "Rows (for multilabel, entries) whose truth is this do not count.", default=None
    )
    include_unseen: bool = option(
        "Whether macro means keep classes that occur in neither truth nor prediction, as zeros.",
        default=False,
    )
    measures: Annotated[tuple[str, ...], partial(chosen_names, known=MEASURES)] = option(
        'Additional counts to keep: "samples", for means over examples with '
        'average="samples" (multilabel); "top_k", for precision, recall and F of the best '
        'top_k scores. The name of such a metric asks for it too, as in "recall[samples]".',
        default=(),
        is_omitted=True,
    )

    @classmethod
    def read(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Check each option, and those that are labels by the classes."""
        read = super().read(given)
        multilabel = read["multilabel"]
        classes = canonical_classes(read["classes"], min_count=1 if multilabel else 2)
        pos_label = optional_label(read["pos_label"], classes, name="pos_label")
        ignored = optional_ignore_label(read["ignore_label"], classes, multilabel=multilabel)
        return read | {"classes": classes, "pos_label": pos_label, "ignore_label": ignored}

    def completed(self) -> Self:
        """Check options together, and fill in what was left open."""
        self._check_together()
        one, *others = set(self.thresholds)
        threshold = self.threshold if others else one  # equal ones are one
        scores = None if self.scores == self._implied_scale else self.scores
        return attrs.evolve(self, threshold=threshold, pos_label=self._positive(), scores=scores)

    @property
    def counts_items(self) -> bool:
        """Whether `n` counts each item of a row of more dimensions."""
        return not self.multilabel

    @property
    def is_open(self) -> bool:
        """Whether the labels are observed in the data."""
        return self.classes == "auto"

    @cached_property
    def is_binary(self) -> bool:
        """Whether there is one positive class among two."""
        return not self.multilabel and not self.is_open and self.n_classes == 2

    @property
    def has_default_threshold(self) -> bool:
        """Whether nothing is said of a threshold: the higher of two scores decides."""
        return self.scores is None and self.threshold == 0.5

    @property
    def scale(self) -> Scale:
        """What the scores to compare with the threshold are."""
        return self.scores or self._implied_scale

    @property
    def takes_probabilities(self) -> bool:
        """Whether these scores must lie in [0, 1]."""
        return self.scale == "probability"

    @property
    def score_range(self) -> tuple[float, float]:
        """The lowest and the highest score to compare with the threshold."""
        return (0.0, 1.0) if self.takes_probabilities else (-math.inf, math.inf)

    @cached_property
    def labels(self) -> tuple[Label, ...]:
        """The labels of a fixed set of classes."""
        return class_labels(self.fixed_classes)

    @property
    def class_names(self) -> tuple[Label, ...]:
        """What the classes of a fixed set are shown by."""
        return self.labels if self.classes == "auto" else class_names(self.classes)

    @cached_property
    def n_classes(self) -> int:
        """The number of a fixed set of classes."""
        classes = self.fixed_classes
        return classes if isinstance(classes, int) else len(classes)

    @cached_property
    def fixed_classes(self) -> int | tuple[Label, ...]:
        """The classes, where they do not grow, as their number or a tuple of labels."""
        assert not isinstance(self.classes, str)  # noqa: S101 - tells the type checker
        return without_names(self.classes)

    @property
    def positive_name(self) -> Label:
        """What the positive class of two is shown by."""
        return self.class_names[self.positive_position]

    @cached_property
    def positive_position(self) -> int:
        """The position of the positive class of two."""
        return self.labels.index(self.pos_label)

    @property
    def thresholds(self) -> tuple[float, ...]:
        """The threshold of all labels, or of each."""
        return self.threshold if isinstance(self.threshold, tuple) else (self.threshold,)

    @property
    def _implied_scale(self) -> Scale:
        within = all(0 < threshold <= 1 for threshold in self.thresholds)
        return "probability" if within else "real"

    def _check_together(self) -> None:
        if self.is_open:
            self._check_open()
        if self.pos_label is not None and not self.is_binary:
            raise InvalidInputError(
                "needs exactly two listed classes, got ",
                Named("pos_label", f"{self.pos_label!r}"),
                argument="pos_label",
            )
        if self.threshold != 0.5 and not (self.is_binary or self.multilabel):
            raise InvalidInputError(
                f"decides two classes or multilabel scores, got {self.threshold!r} for "
                "several classes, where the highest score decides",
                argument="threshold",
            )
        expected = self.n_classes if self.multilabel else 1
        if isinstance(self.threshold, tuple) and len(self.threshold) != expected:
            raise InvalidInputError(
                f"must be one number, or for multilabel one for each of the classes, got "
                f"{len(self.threshold)}",
                argument="threshold",
            )
        if self.scores is not None and not (self.is_binary or self.multilabel):
            raise InvalidInputError(
                f"is for scores of two classes or multilabel, got {self.scores!r}",
                argument="scores",
                remedy="Leave it out: among several classes the highest score decides, whatever "
                "its range.",
            )
        if (
            self.scores == "probability"
            and not 0 <= min(self.thresholds) <= max(self.thresholds) <= 1
        ):
            raise InvalidInputError(
                "must lie in [0, 1] with ",
                Named("scores", '"probability"'),
                f", got {self.threshold!r}",
                argument="threshold",
            )
        if self.top_k > 1:
            self._check_top_k()
        if self.measures:
            self._check_measures()

    def _check_open(self) -> None:
        if self.multilabel:
            raise InvalidInputError(
                "must be a number or a sequence of names with ",
                Named("multilabel", "True"),
                ', got "auto"',
                argument="classes",
            )
        for name, is_set in (("from_scores", self.from_scores), ("top_k", self.top_k > 1)):
            if is_set:
                raise InvalidInputError(
                    "needs the classes listed in the order of the score columns, got ",
                    Named("classes", '"auto"'),
                    argument=name,
                )

    def _check_top_k(self) -> None:
        if self.is_binary or self.multilabel or self.top_k > self.n_classes:
            raise InvalidInputError(
                f"must be 1, or at most the number of three or more classes, got {self.top_k}",
                argument="top_k",
            )
        if self.from_scores is False:
            raise InvalidInputError(
                "needs scores, got ",
                Named("top_k", f"{self.top_k}"),
                " with from_scores=False",
                argument="top_k",
            )

    def _check_measures(self) -> None:
        """Check that measures have what they need."""
        if "samples" in self.measures and not self.multilabel:
            raise InvalidInputError(
                'have "samples" of several labels an example only, with ',
                Named("multilabel", "True"),
                argument="measures",
            )
        if "top_k" in self.measures and self.top_k == 1:
            raise InvalidInputError(
                'have "top_k" only where several scores count, with ',
                Named("top_k", "2"),
                " or more",
                argument="measures",
            )

    def _positive(self) -> Label | None:
        if not self.is_binary:
            return None
        if self.pos_label is None:
            return self.labels[1]
        if self.pos_label not in self.labels:
            raise InvalidInputError(
                f"must be one of the two classes {self.labels}, got {self.pos_label!r}",
                argument="pos_label",
            )
        return self.pos_label
