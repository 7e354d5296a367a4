"""The options of `Paired`, checked and in one canonical form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from itertools import combinations
from typing import Annotated, Any, Literal, Self

import attrs

from streameval.configs import USUAL_BUDGET
from streameval.configs.collection import SEPARATOR, canonical_name
from streameval.configs.confusion import ConfusionConfig
from streameval.configs.names import chosen_names
from streameval.configs.options import Arrays, Config, PositiveInt, option, option_of, unchecked
from streameval.errors import InvalidInputError, Named
from streameval.exact import Scale
from streameval.inputs.classes import Classes, Label

LOSSES = ("log_loss", "brier")
"""The measures that are means of a loss of each row."""

ERRORS = ("mse", "mae")
"""The measures that are means of an error of predicted numbers."""

VALUES = ("loss", "score")
"""The measures that are means of values without a truth: lower, or higher ones are better."""

DECISIONS = (
    *("precision", "recall", "specificity", "f_score"),
    *("balanced_accuracy", "matthews_corrcoef", "cohen_kappa"),
)
"""The measures that are metrics of a confusion matrix."""

PAIRED_MEASURES = (*DECISIONS, "roc_auc", *LOSSES)
"""The measures that two classifiers may be compared by, besides accuracy, as in reports."""

MAX_JOINT_CLASSES = 64
"""The max number of classes of joint counts, which are 2 MB then."""

MAX_MODELS = 64
"""The max number of models that are compared in pairs."""

_measures = partial(chosen_names, known=dict.fromkeys((*PAIRED_MEASURES, *ERRORS, *VALUES), ()))
_ARRAYS = ("y_true", "sample_weight")
_OF_CLASSES = ("multilabel", "threshold", "scores", "pos_label", "from_scores", "ignore_label")


@attrs.frozen(kw_only=True, slots=False)
class PairedConfig(Config):
    """Every option that decides what is compared; equal ones can merge. Made by `of`.

    Most are those of `ConfusionConfig` that decide what a prediction is. `classes` is None for
    predicted numbers.
    """

    SUMMARY = "Count which of two models is right on the same rows, batch by batch."

    classes: Classes | None = option(
        "A number K stands for the labels 0..K-1; a sequence lists the labels "
        '(integers or strings) in the order of scores; "auto" takes any labels. None is for '
        "predicted numbers: a model is right where it is as close to the truth as the other, "
        "or closer, so that McNemar's test is the sign test.",
        default=2,
    )
    multilabel: Annotated[bool, unchecked] = option(
        "Whether each of the classes is present or absent on its own; a row is right if all are.",
        default=False,
    )
    threshold: float | tuple[float, ...] = option_of(ConfusionConfig, "threshold")
    scores: Annotated[Scale | None, unchecked] = option_of(ConfusionConfig, "scores")
    pos_label: Label | None = option_of(ConfusionConfig, "pos_label")
    from_scores: Annotated[bool | None, unchecked] = option(
        "Whether predictions are scores.", default=None
    )
    ignore_label: Label | None = option_of(ConfusionConfig, "ignore_label")
    measures: Annotated[tuple[str, ...], _measures] = option(
        "What else to compare. Of decisions between at most 64 listed classes: "
        '"precision", "recall", "specificity", "f_score", "balanced_accuracy", '
        '"matthews_corrcoef" and "cohen_kappa"; of the scores of two classes: "roc_auc", and '
        'of probabilities "log_loss" and "brier". Of predicted numbers: "mse" and "mae". Of '
        'values without a truth, such as latencies or marks of a judge, with classes=None: "loss", '
        'where lower ones are better, or "score", where higher ones are.',
        default=(),
        is_omitted=True,
    )
    budget: PositiveInt | None = option(
        'The number of pairs of scores kept for "roc_auc", and of the bins of each '
        "model beyond it; None keeps every pair.",
        default=USUAL_BUDGET,
        is_omitted=True,
    )
    nan: Literal["raise", "skip"] = option(
        "Of values without a truth, whether NaN is refused, or a row with one for either model is "
        "left out and counted as skipped.",
        default="raise",
        is_omitted=True,
    )

    @classmethod
    def read(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Check options as those of a confusion matrix."""
        read = super().read(given)
        options = {name: read[name] for name in ("classes", *_OF_CLASSES)}
        return read | (_of_numbers if options["classes"] is None else _of_classes)(options)

    @cached_property
    def labels(self) -> ConfusionConfig:
        """The options by which each model's predictions are read."""
        options = {name: getattr(self, name) for name in ("classes", *_OF_CLASSES)}
        if self.needs_scores:
            options["from_scores"] = True
        return ConfusionConfig(**options, top_k=1, include_unseen=False)

    @cached_property
    def needs_scores(self) -> bool:
        """Whether a measure reads scores, so that labels are not enough."""
        return any(name not in (*DECISIONS, *ERRORS, *VALUES) for name in self.measures)

    @property
    def counts_items(self) -> bool:
        """Whether `n` counts each item of a row of more dimensions."""
        return self.labels.counts_items

    @cached_property
    def is_of_values(self) -> bool:
        """Whether the models have values, and rows have no truth."""
        return any(name in VALUES for name in self.measures)

    @property
    def arrays(self) -> Arrays | None:
        """The values of both models, where there is no truth."""
        return (("y_pred_a", "y_pred_b"), ("sample_weight",)) if self.is_of_values else None

    @cached_property
    def decisions(self) -> tuple[str, ...]:
        """The measures that are metrics of a confusion matrix."""
        return tuple(name for name in self.measures if name in DECISIONS)

    @property
    def losses(self) -> tuple[str, ...]:
        """The measures that are means of a loss, an error or a value."""
        return tuple(name for name in self.measures if name in (*LOSSES, *ERRORS, *VALUES))

    @property
    def has_curve(self) -> bool:
        """Whether pairs of scores are kept."""
        return "roc_auc" in self.measures

    @property
    def scale(self) -> Scale:
        """What the scores are."""
        return self.labels.scale

    def completed(self) -> Self:
        """Check that the measures fit the other options."""
        if self.budget != USUAL_BUDGET and not self.has_curve:
            raise InvalidInputError(
                "is for ", Named("measures"), ' with "roc_auc"', argument="budget"
            )
        if self.nan == "skip" and not self.is_of_values:
            raise InvalidInputError(
                'is for values without a truth, of the measure "loss" or "score", got ',
                Named("measures", repr(self.measures)),
                argument="nan",
            )
        has_numbers = self.classes is None
        numbers = (*ERRORS, *VALUES)
        unfit = next((name for name in self.measures if (name in numbers) != has_numbers), None)
        if unfit is not None:
            needed = "numbers" if unfit in VALUES else "predicted numbers"
            needed = needed if unfit in numbers else "classes"
            raise InvalidInputError(
                f'"{unfit}" needs {needed}, got ',
                Named("classes", repr(self.classes)),
                argument="measures",
            )
        if self.is_of_values and len(self.measures) > 1:
            one = next(name for name in self.measures if name in VALUES)
            raise InvalidInputError(
                f'"{one}" is of values without a truth, and takes no other measure',
                argument="measures",
            )
        if self.decisions:
            self._check_classes(self.decisions[0])
        if self.needs_scores:
            self._check_scores(next(name for name in self.measures if name not in DECISIONS))
        return self

    def _check_classes(self, name: str) -> None:
        """Refuse measures of decisions where the joint counts of classes are not kept."""
        if self.multilabel or self.labels.is_open:
            needed, got = "a list of the classes", Named("classes", '"auto"')
            if self.multilabel:
                needed, got = "one class a row", Named("multilabel", "True")
            raise InvalidInputError(f'"{name}" needs {needed}, got ', got, argument="measures")
        if self.labels.n_classes > MAX_JOINT_CLASSES:
            raise InvalidInputError(
                f'"{name}" takes at most {MAX_JOINT_CLASSES} classes, got {self.labels.n_classes}',
                argument="measures",
            )

    def _check_scores(self, name: str) -> None:
        """Refuse measures of scores where there are none of two classes."""
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


def read_models(models: Any, *, name: str) -> tuple[str, ...]:
    """Check the names of two or more models."""
    if isinstance(models, str) or not isinstance(models, Sequence):
        raise InvalidInputError(f"must be a list of names, got {models!r}", argument=name)
    names = tuple(canonical_name(one, name=name) for one in models)
    if not 2 <= len(names) <= MAX_MODELS:
        raise InvalidInputError(
            f"must be from 2 to {MAX_MODELS} names, got {len(names)}", argument=name
        )
    twice = next((one for at, one in enumerate(names) if one in names[:at]), None)
    if twice is not None:
        raise InvalidInputError(f"must be different names, got {twice!r} twice", argument=name)
    return names


def pairs_of(models: Any) -> dict[str, tuple[str, str]]:
    """Name each pair of models, which are columns of predictions."""
    names = read_models(models, name="models")
    for one in names:
        if one in _ARRAYS or SEPARATOR in one:
            why = f"without {SEPARATOR!r}" if SEPARATOR in one else "of predictions"
            raise InvalidInputError(f"must be columns {why}, got {one!r}", argument="models")
    pairs = {f"{a} vs {b}": (a, b) for a, b in combinations(names, 2)}
    if len(pairs) < len(names) * (len(names) - 1) // 2:
        raise InvalidInputError('must be names without " vs "', argument="models")
    return pairs


def _of_classes(options: Mapping[str, Any]) -> dict[str, Any]:
    """Check the options that decide what a prediction of a class is."""
    read = ConfusionConfig.of(**options)
    return {name: getattr(read, name) for name in options}


def _of_numbers(options: Mapping[str, Any]) -> dict[str, Any]:
    """Refuse the options that are for classes alone."""
    import numpy as np  # noqa: PLC0415 (other configurations need none)

    fields = attrs.fields_dict(PairedConfig)
    usual: dict[str, Any] = {name: fields[name].default for name in _OF_CLASSES}
    for name in _OF_CLASSES:
        if not np.array_equal(options[name], usual[name]):
            raise InvalidInputError(
                "is for predicted classes, got ", Named("classes", "None"), argument=name
            )
    return {"classes": None, **usual}
