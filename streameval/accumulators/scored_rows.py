"""From labels and scores to checked rows."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from streameval.accumulators.decisions import present
from streameval.configs.curve import CurveConfig
from streameval.configs.grouped import GroupedConfig
from streameval.errors import InvalidInputError, Named
from streameval.exact.fixed_point import FixedPoint
from streameval.exact.score_keys import Scale
from streameval.inputs.arrays import (
    are_empty,
    as_array,
    as_labels,
    as_labels_or_scores,
    as_scores,
    as_weights,
    check_matrix,
    check_vector,
    first_index,
)
from streameval.inputs.labels import Label, canonical_label, encode, equal
from streameval.states.curve import ScoredRows
from streameval.states.grouped import GroupedRows

__all__ = ["read_grouped", "read_rows"]

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

_LABEL_BITS = {
    np.dtype(f"{kind}{size}"): np.dtype(f"u{size}") for kind in "iu" for size in (1, 2, 4, 8)
} | {np.dtype(bool): np.dtype(np.uint8)}
"""What tells 0 and 1 from any other label at once."""

_SCORE_BITS = {
    np.dtype(f"f{size}"): (np.dtype(f"u{size}"), np.ones(1, f"f{size}").view(f"u{size}").item())
    for size in (2, 4, 8)
}
"""What tells probabilities from any other score at once, and that of 1.0."""


def read_rows(y_true: Any, y_score: Any, sample_weight: Any, config: CurveConfig) -> ScoredRows:
    """Read one batch, all of it or nothing.

    Raises
    ------
    InvalidInputError
        When an array has the wrong shape, type or values.
    """
    labels = as_labels_or_scores(y_true, name="y_true")
    given = as_array(y_score, name="y_score", allow_missing=config.nan == "skip")
    if sample_weight is None and _are_plain(labels, given, config):
        return ScoredRows(given[None], config.scores, labels.astype(bool)[None])
    if are_empty(labels, given):
        as_weights(sample_weight, rows=0)
        return _no_rows(config)
    hint = ("Pass ", Named("pos_label", ""), " to name the positive one of two other labels.")
    return _read(labels, given, sample_weight, config, hint)[0]


def read_grouped(
    y_true: Any, y_score: Any, group: Any, sample_weight: Any, config: GroupedConfig
) -> GroupedRows:
    """Read one batch of examples in groups, all of it or nothing.

    Raises
    ------
    InvalidInputError
        When an array has the wrong shape, type or values.
    """
    labels = as_labels_or_scores(y_true, name="y_true")
    given = as_array(y_score, name="y_score")
    groups = as_labels(group, name="group")
    if groups.dtype == object:  # rows wait to be counted: refuse now what is no text
        for text in set(groups.ravel().tolist()):
            canonical_label(text, name="group")
    if are_empty(labels, given, groups):
        as_weights(sample_weight, rows=0)
        return GroupedRows(_no_rows(_one_curve(config.scores)), groups)
    rows, counted = _read(labels, given, sample_weight, _one_curve(config.scores), hint=())
    check_vector(groups, rows=len(counted), name="group")
    return GroupedRows(rows, groups[counted])


def _are_plain(labels: Array, scores: Array, config: CurveConfig) -> bool:
    """Tell whether a batch without weights is the usual one: 0 and 1 against floats.

    A training step updates with a few rows at a time, where the full reading spends its time on
    calls, not on rows. This takes one pass over each array and never raises: what it leaves
    gets the full reading.
    """
    if config.classes is not None or config.pos_label is not None:
        return False
    if labels.ndim != 1 or labels.shape != scores.shape or not len(labels):
        return False
    if labels.dtype not in _LABEL_BITS or scores.dtype not in _SCORE_BITS:
        return False
    # the place of the maximum is a quarter of the fixed cost of the maximum itself
    codes = labels.view(_LABEL_BITS[labels.dtype])
    if codes.item(codes.argmax()) > 1:
        return False
    if config.scores == "real":
        return not math.isnan(scores.item(scores.argmax()))
    # numbers from 0.0 on are in the order of their bits; -0.0, negative ones and NaN come last
    view, one = _SCORE_BITS[scores.dtype]
    bits = scores.view(view)
    return bool(bits.item(bits.argmax()) <= one)


def _read(
    labels: Array, given: Array, sample_weight: Any, config: CurveConfig, hint: tuple[object, ...]
) -> tuple[ScoredRows, Mask]:
    """Read rows, and tell which of the batch they are: those with a weight and a score."""
    allow_nan = config.nan == "skip"
    if config.classes is None:
        scores = _score_vector(given, allow_nan=allow_nan)
    else:
        check_matrix(given, rows=None, columns=config.n_curves, name="y_score")
        scores = as_scores(given, name="y_score", allow_nan=allow_nan)
    positive, negative = _classes(labels, len(scores), config, hint)
    weights = as_weights(sample_weight, rows=len(scores))
    columns = scores.reshape(len(scores), config.n_curves)
    _check_probabilities(scores, config.scores)
    known: Mask = np.asarray(~np.isnan(columns).any(axis=1))
    counted = known if weights is None else np.asarray(known & weights.is_positive())
    skipped = None if known.all() else _weight_of(~known, weights)
    if not counted.all():
        columns, positive = columns[counted], positive[:, counted]
        weights = None if weights is None else weights.select(counted)
    if positive.all():  # what has no weight, or no score, has not been met
        negative = ()
    rows = columns.T.copy()  # pending rows outlive the batch: no view of the caller's array
    weights = _whole_ones(weights)
    return ScoredRows(rows, config.scores, positive, weights, skipped, negative), counted


def _score_vector(given: Array, *, allow_nan: bool) -> Floats:
    """Read one score a row; the two columns of a classifier are a common mistake."""
    if given.ndim == 2 and given.shape[1] == 2:
        raise InvalidInputError(
            f"must have shape (n,), got {given.shape}",
            argument="y_score",
            remedy="Pass y_score[:, 1], the score of the positive class.",
        )
    check_vector(given, rows=None, name="y_score")
    return as_scores(given, name="y_score", allow_nan=allow_nan)


def _check_probabilities(scores: Floats, scale: Scale) -> None:
    """Refuse scores outside [0, 1] where probabilities are expected; NaN passes."""
    if scale != "probability" or not scores.size:
        return
    if np.fmin.reduce(scores, axis=None) < 0.0 or np.fmax.reduce(scores, axis=None) > 1.0:
        outside = (scores < 0.0) | (scores > 1.0)
        worst = scores[outside].ravel()[0]
        raise InvalidInputError(
            f"must lie in [0, 1], got {float(worst)!r}",
            argument="y_score",
            position=first_index(outside),
            remedy=("Pass ", Named("scores", '"real"'), " for logits or margins."),
        )


def _positives(
    labels: Array, pos_label: Label | None, hint: tuple[object, ...]
) -> tuple[Mask, tuple[Label, ...]]:
    """Tell which rows are positive, and what label the others have if one was asked for."""
    if pos_label is None:
        return _zeros_and_ones(labels, hint), ()
    if isinstance(pos_label, str) != (labels.dtype == object):
        held = "strings" if labels.dtype == object else "numbers"
        raise InvalidInputError(f"holds {held}, but pos_label is {pos_label!r}", argument="y_true")
    positive = equal(labels, pos_label)
    others = labels[~positive]
    if not len(others):
        return positive, ()
    different = ~equal(labels, others[0]) & ~positive
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
    labels: Array, rows: int, config: CurveConfig, hint: tuple[object, ...]
) -> tuple[Mask, tuple[Label, ...]]:
    """Tell for each curve which rows are its positives, shape (K, n)."""
    if config.multilabel:
        check_matrix(labels, rows=rows, columns=config.n_curves, name="y_true")
        presence = present(as_labels(labels, name="y_true"), name="y_true")
        return np.ascontiguousarray(presence.T), ()
    plain = as_labels(labels, name="y_true")
    check_vector(plain, rows=rows, name="y_true")
    if config.classes is None:
        positive, negative = _positives(plain, config.pos_label, hint)
        return positive[None], negative
    places = encode(plain, config.classes, name="y_true")
    return places == np.arange(config.n_curves)[:, None], ()


@functools.cache
def _one_curve(scale: Scale) -> CurveConfig:
    """Give the options under which a row of a group is read."""
    return CurveConfig.of(
        budget=None, scores=scale, classes=None, multilabel=False, pos_label=None, nan="raise"
    )


def _no_rows(config: CurveConfig) -> ScoredRows:
    """Read an empty batch, whose arrays may have any shape and type."""
    scores = np.zeros((config.n_curves, 0))
    return ScoredRows(scores, config.scores, scores.astype(bool))


def _zeros_and_ones(labels: Array, hint: tuple[object, ...]) -> Mask:
    if labels.dtype == object:
        raise InvalidInputError(
            f"must hold 0 and 1, got {labels[0]!r}", argument="y_true", position=0, remedy=hint
        )
    return present(labels, name="y_true", hint=hint)


def _weight_of(rows: Mask, weights: FixedPoint | None) -> FixedPoint:
    if weights is None:
        return FixedPoint(np.array(np.count_nonzero(rows), dtype=np.int64))
    return weights.select(rows).total()


def _whole_ones(weights: FixedPoint | None) -> FixedPoint | None:
    """Take weights that are all 1 for none, which is the faster way to the same counts."""
    if weights is None or not weights.is_whole or (weights.whole != 1).any():
        return weights
    return None
