"""Batches of labels and scores, read for a curve or for many groups."""

from __future__ import annotations

import math
from typing import Any, Self, cast

import numpy as np

from streameval.accumulators.pending import Rows
from streameval.configs.curve import CurveConfig, GroupedConfig
from streameval.errors import InvalidInputError, Named
from streameval.exact.array_types import Array, Mask
from streameval.exact.fixed_point import FixedPoint
from streameval.inputs.arrays import (
    are_probabilities,
    as_array,
    as_comparable,
    as_labels,
    as_labels_or_scores,
    as_vector,
    check_matrix,
    check_probabilities,
    check_vector,
    first_index,
    lack_rows,
    read_entry_weights,
    read_weights,
)
from streameval.inputs.classes import Label, canonical_label, without_names
from streameval.inputs.labels import encode, equal, in_class_order, is_ignored, present
from streameval.inputs.row_scores import are_pairs, positive_scores, sum_tolerance

_LABEL_BITS = {
    np.dtype(f"{letter}{size}"): np.dtype(f"u{size}") for letter in "iu" for size in (1, 2, 4, 8)
} | {np.dtype(bool): np.dtype(np.uint8)}
"""The unsigned dtype in which to view labels: all labels but 0 and 1 exceed 1."""

_OTHER_LABELS = (
    "Pass ",
    Named("pos_label", ""),
    " to name the positive one of two other labels, or ",
    Named("classes", ""),
    " for a curve of each class.",
)
_ONE_HOT = (
    "Pass y_true.argmax(axis=1) for one-hot rows, or ",
    Named("multilabel", "True"),
    " for several labels a row.",
)
_REAL = ("Pass ", Named("scores", '"real"'), " for logits or margins.")
_REAL_OF_CLASSES = (
    "Apply a softmax to logits, whose areas are not those of probabilities. ",
    Named("scores", '"real"'),
    " takes margins of each class.",
)

_SCORES = frozenset(map(np.dtype, "efd"))


class ScoredBatch:
    """A batch that has been read for K curves.

    Parameters
    ----------
    rows : Rows
        Two columns of shape (n, K): the scores, and whether the row is a positive of each curve.
        Weights are above zero; those of entries are 0, and a score is NaN, where the row does not
        count for the curve.
    skipped : FixedPoint, shape (), optional
        The weight of the rows left out for a score that is NaN; None if there were none.
    negative_label : tuple of labels
        The label of the negatives where `pos_label` names the other; empty if none occurs.
    counted : bool array, optional
        Which rows of the batch these are; None if all.
    """

    __slots__ = ("counted", "negative_label", "rows", "skipped")

    def __init__(
        self,
        rows: Rows,
        skipped: FixedPoint | None = None,
        negative_label: tuple[Label, ...] = (),
        counted: Mask | None = None,
    ) -> None:
        self.rows, self.skipped, self.negative_label = rows, skipped, negative_label
        self.counted = counted

    @classmethod
    def none(cls, n_scores: int) -> Self:
        """Read an empty batch, whose arrays may have any shape and type."""
        scores = np.zeros((0, n_scores))
        return cls(Rows((scores, scores.astype(bool))))


def read_scored(y_true: Any, y_score: Any, sample_weight: Any, config: CurveConfig) -> ScoredBatch:
    """Read one batch, all of it or nothing.

    Raises
    ------
    InvalidInputError
        When an array has the wrong shape, type or values.
    """
    if config.classes is not None:
        y_true = in_class_order(y_true, config, name="y_true")
        y_score = in_class_order(y_score, config, name="y_score")
    labels = as_labels_or_scores(y_true, name="y_true")
    given = as_array(y_score, name="y_score", allow_missing=config.nan == "skip")
    if config.classes is None and are_pairs(given) and config.pos_label in (None, 1):
        given = score_of_each(y_score, given, config, nan=config.nan)
    return read_batch(labels, given, sample_weight, config, hint=_OTHER_LABELS)


def _has_fast_path(labels: Array, scores: Array, config: CurveConfig) -> bool:
    """Tell whether the fast path can read a batch: labels 0 and 1, and floats.

    A training step updates with a few rows at a time, where the general path spends its time on
    calls, not on rows. The check is one pass over each array and never raises: the general path
    reads, or refuses, what it turns down.
    """
    if not config.has_default_labels:
        return False
    if labels.ndim != 1 or labels.shape != scores.shape or not len(labels):
        return False
    if labels.dtype not in _LABEL_BITS or scores.dtype not in _SCORES:
        return False
    # the position of the maximum is a quarter of the fixed cost of the maximum itself
    codes = labels.view(_LABEL_BITS[labels.dtype])
    if codes.item(codes.argmax()) > 1:
        return False
    if config.scores == "real":
        return not math.isnan(scores.item(scores.argmax()))
    return are_probabilities(scores)


def read_batch(
    labels: Array, given: Array, sample_weight: Any, config: CurveConfig, hint: tuple[object, ...]
) -> ScoredBatch:
    """Read labels and scores that are arrays, on the fast path if they are usual."""
    if _has_fast_path(labels, given, config):
        weights = None
        if sample_weight is not None:
            weights = read_weights(sample_weight, rows=len(labels))
        columns = given[:, None], labels.astype(bool)[:, None]
        return ScoredBatch(Rows(columns, weights))
    if lack_rows(labels, given, sample_weight=sample_weight):
        return ScoredBatch.none(config.n_scores)
    return _read_general(labels, given, sample_weight, config, hint)


def _read_general(
    labels: Array, given: Array, sample_weight: Any, config: CurveConfig, hint: tuple[object, ...]
) -> ScoredBatch:
    weights, unweighted = None, None
    if not config.multilabel:
        labels = as_vector(labels)
    if config.classes is None:
        given = as_vector(given)
        scores = _score_vector(given, config)
    else:
        check_matrix(given, rows=None, columns=config.n_scores, name="y_score", option="classes")
        if config.multilabel:
            weights = read_entry_weights(sample_weight, rows=len(given), columns=config.n_scores)
        if weights is not None:  # entries without weight may hold anything
            unweighted = weights == 0
            given = np.where(unweighted, 0, given)
        scores = as_comparable(given, name="y_score", nan=config.nan)
    positive, negative, ignored = _classes(labels, len(scores), config, hint, unweighted)
    if weights is None:
        weights = read_weights(sample_weight, rows=len(scores))
    else:
        weights = np.where(cast("Mask", ignored), 0, weights)
    columns = scores.reshape(len(scores), config.n_scores)
    if config.scores == "probability":
        of_logits = _REAL if config.classes is None or config.multilabel else _REAL_OF_CLASSES
        check_probabilities(scores, name="y_score", remedy=of_logits)
    missing = np.isnan(columns)
    if ignored is None:
        kept: Mask = np.asarray(~missing.any(axis=1))
        lacks_score = ~kept
    else:
        columns = np.where(ignored, np.nan, columns)
        lacks_score = np.asarray((missing & ~ignored).any(axis=1))
        kept = np.asarray(~ignored.all(axis=1) & ~lacks_score)
    skipped = _weight_of(lacks_score, weights) if lacks_score.any() else None
    rows, counted = Rows((columns, positive), weights), None if kept.all() else kept
    rows = rows if counted is None else rows.taken(counted)
    if rows.columns[1].all():  # rows without a score have not been observed
        negative = ()
    return ScoredBatch(rows, skipped, negative, counted)


def score_of_each(
    y_score: Any, pairs: Array, config: CurveConfig | GroupedConfig, *, nan: str = ""
) -> Array:
    """Read the scores of two classes, 0 and 1, as one score a row."""
    tolerance = sum_tolerance(y_score, pairs)
    return positive_scores(pairs, tolerance, scale=config.scores, name="y_score", nan=nan)


def _score_vector(given: Array, config: CurveConfig) -> Array:
    """Read one score a row; of two for labels of any name, nothing says which is which."""
    remedy: tuple[object, ...] = ()
    if are_pairs(given):
        label = repr(config.pos_label)
        remedy = ("Pass the column of ", Named("pos_label", label), ".")
    check_vector(given, rows=None, name="y_score", remedy=remedy)
    return as_comparable(given, name="y_score", nan=config.nan)


def _positives(
    labels: Array, pos_label: Label | None, hint: tuple[object, ...], ignored: Mask | None
) -> tuple[Mask, tuple[Label, ...]]:
    """Tell which rows are positive, and what label the others have if one was asked for."""
    if pos_label is None:
        return _zeros_and_ones(labels, hint, ignored), ()
    if isinstance(pos_label, str) != (labels.dtype == object):
        held = "strings" if labels.dtype == object else "numbers"
        raise InvalidInputError(f"holds {held}, but pos_label is {pos_label!r}", argument="y_true")
    positive = equal(labels, pos_label)
    is_other = ~positive if ignored is None else ~positive & ~ignored
    others = labels[is_other]
    if not len(others):
        return positive, ()
    different = ~equal(labels, others[0]) & is_other
    negative = canonical_label(others[0], name="y_true")
    if different.any():
        third = canonical_label(labels[int(different.argmax())], name="y_true")
        raise InvalidInputError(
            f"must hold two labels, {pos_label!r} and {negative!r}, got {third!r}",
            argument="y_true",
            position=first_index(different),
        )
    return positive, (negative,)


def _classes(
    labels: Array, rows: int, config: CurveConfig, hint: tuple[object, ...], unweighted: Mask | None
) -> tuple[Mask, tuple[Label, ...], Mask | None]:
    """Tell for each row which curves it is a positive of, and where its truth is ignored.

    Returns
    -------
    positive : bool array, shape (n, K)
    negative : tuple of labels
        The label of the negatives where `pos_label` names the other; empty if none occurs.
    ignored : bool array, shape (n, K) or (n, 1), optional
        Which rows do not count, or for multilabel which entries; None if all count.
    """
    if config.multilabel:
        check_matrix(labels, rows=rows, columns=config.n_scores, name="y_true", option="classes")
        if unweighted is not None:
            labels = np.where(unweighted, 0, labels)
        read = as_labels(labels, name="y_true")
        ignored = is_ignored(read, config.ignore_label)
        if unweighted is not None:
            ignored = unweighted if ignored is None else ignored | unweighted
        return present(read, name="y_true", ignored=ignored), (), ignored
    read = as_labels(labels, name="y_true")
    check_vector(read, rows=rows, name="y_true", remedy=_ONE_HOT if config.classes else ())
    ignored = is_ignored(read, config.ignore_label)
    of_rows = None if ignored is None else ignored[:, None]
    if config.classes is None:
        positive, negative = _positives(read, config.pos_label, hint, ignored)
        return positive[:, None], negative, of_rows
    codes = encode(read, without_names(config.classes), name="y_true", ignored=ignored)
    return codes[:, None] == np.arange(config.n_scores), (), of_rows


def _zeros_and_ones(labels: Array, hint: tuple[object, ...], ignored: Mask | None) -> Mask:
    if labels.dtype == object:
        raise InvalidInputError(
            f"must hold 0 and 1, got {labels[0]!r}", argument="y_true", position=0, remedy=hint
        )
    return present(labels, name="y_true", ignored=ignored, hint=hint)


def _weight_of(rows: Mask, weights: Array | None) -> FixedPoint:
    if weights is None:
        return FixedPoint(np.array(np.count_nonzero(rows), dtype=np.int64))
    return FixedPoint.of_numbers(weights[rows]).by_row().total()
