"""The options of `CalibrationAccumulator`, checked and in one canonical form."""

from __future__ import annotations

import json
from functools import partial
from typing import Annotated, Self

import attrs

from streameval.configs.options import OfScores, classes_of_scores, integer_from, option
from streameval.errors import InvalidInputError
from streameval.inputs.classes import (
    ClassSet,
    Label,
    optional_ignore_label,
)

MAX_BINS = 2**16
_HEADER_BYTES = 2**24  # what the byte format allows: the sums stand in the header
_SUM_BYTES = 303  # {"exact_sum":""} and a comma around 2**63 ones in hex, in units of 2**-1074
_OTHER_BYTES = 2048


number_of_bins = partial(integer_from, 1, maximum=MAX_BINS)
"""Accepts a number of bins from 1 to 65,536."""


@attrs.frozen(kw_only=True)
class CalibrationConfig(OfScores):
    """Every option that changes what a calibration state sums; equal ones can merge.

    Made by `of`. `classes` is None for two classes of which one probability is given.
    """

    SUMMARY = "Measure the quality and the calibration of probabilities, batch by batch."
    counts_items = True

    bins: Annotated[int, number_of_bins] = option(
        "How many bins of equal width predictions fall into for ece and "
        "reliability_curve: [i / bins, (i + 1) / bins), the last one closed; at most 2**16, "
        "fewer with many classes, since bins and classes together must leave a state below "
        "16 MiB (some 55,000).",
        default=15,
        help="the number of bins for probabilities",
    )
    classes: Annotated[ClassSet | None, classes_of_scores] = option(
        "For K classes, each with a probability: K stands for the labels 0..K-1, a "
        "sequence lists the labels (integers or strings) in the order of the columns",
        default=None,
    )
    intervals: bool = option(
        "Whether log loss and Brier score have sampling intervals, which need three more sums.",
        default=False,
        is_omitted=True,
    )

    ignore_label: Label | None = option(
        "Rows whose truth is this do not count, whatever their probabilities are.",
        default=None,
        is_omitted=True,
    )

    def completed(self) -> Self:
        """Check options together, and the label to ignore as one of the type of the classes."""
        self._check_size()
        ignored = optional_ignore_label(self.ignore_label, self.classes or 2, multilabel=False)
        return attrs.evolve(self, ignore_label=ignored)

    def _check_size(self) -> None:
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
