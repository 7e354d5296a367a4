"""The options of `CalibrationAccumulator`, checked and in one canonical form."""

from __future__ import annotations

import json
from typing import Any, Self

import attrs

from streameval.configs.options import flag, positive_integer
from streameval.errors import InvalidInputError
from streameval.inputs.labels import (
    ClassSet,
    Label,
    canonical_classes,
    class_labels,
    class_names,
)

MAX_BINS = 2**16
_HEADER_BYTES = 2**24  # what the byte format allows: the sums stand in the header
_SUM_BYTES = 303  # {"exact_sum":""} and a comma around 2**63 ones in hex, in units of 2**-1074
_OTHER_BYTES = 2048


@attrs.frozen(kw_only=True)
class CalibrationConfig:
    """Every option that changes what a calibration state sums; equal ones can merge.

    Made by `of`. `classes` is None for two classes of which one probability is given.
    """

    bins: int
    classes: ClassSet | None
    intervals: bool = attrs.field(default=False, metadata={"omit_default": True})

    @classmethod
    def of(cls, *, bins: Any, classes: Any, intervals: Any = False) -> Self:
        """Check the options, alone and together."""
        config = cls(
            bins=number_of_bins(bins),
            classes=_classes(classes),
            intervals=flag(intervals, name="intervals"),
        )
        config._check_together()
        return config

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels of the K classes; none for two classes of one probability."""
        return () if self.classes is None else class_labels(self.classes)

    @property
    def class_names(self) -> tuple[Label, ...]:
        """What the K classes are shown by; none for two classes of one probability."""
        return () if self.classes is None else class_names(self.classes)

    @property
    def n_classes(self) -> int:
        """The number of classes with a probability each; 0 for two of one probability."""
        return len(self.classes) if isinstance(self.classes, tuple) else self.classes or 0

    def _check_together(self) -> None:
        """Refuse what would lead to a state that cannot be written and read again."""
        listed = self.classes if isinstance(self.classes, tuple) else ()
        needed = _SUM_BYTES * (self.bins + self.n_classes) + len(json.dumps(listed)) + _OTHER_BYTES
        if needed > _HEADER_BYTES:
            also = f" and {self.n_classes} classes" if self.n_classes else ""
            raise InvalidInputError(
                f"must keep the sums of a state within {_HEADER_BYTES} bytes, got {self.bins} "
                f"bins{also}, which may take {needed}",
                argument="bins",
            )


def number_of_bins(value: Any) -> int:
    """Accept a number of bins from 1 to 65,536."""
    bins = positive_integer(value, name="bins")
    if bins > MAX_BINS:
        raise InvalidInputError(f"must be at most {MAX_BINS}, got {bins}", argument="bins")
    return bins


def _classes(value: Any) -> ClassSet | None:
    if value is None:
        return None
    classes = value if isinstance(value, str) else canonical_classes(value, min_count=2)
    if isinstance(classes, str):
        raise InvalidInputError(
            f"must be None, a number or a sequence of labels, got {classes!r}", argument="classes"
        )
    return classes
