"""Batches of labels or scores, read as codes: the positions of true and predicted classes.

This is the general path: it reads every batch, or says what is wrong with it. Usual ones are read
by the fast path of `code_block`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from streameval.accumulators.best_scores import credit_dtype, first_highest, highest_scores
from streameval.accumulators.code_block import code_dtypes, read_usual
from streameval.accumulators.pending import (
    Rows,
)
from streameval.configs.confusion import ConfusionConfig
from streameval.errors import InvalidInputError, Named
from streameval.exact.array_types import Array, Ints, Mask, Scores
from streameval.inputs.arrays import (
    as_comparable,
    as_labels,
    as_scores,
    as_vector,
    check_matrix,
    check_probabilities,
    check_vector,
    read_entry_weights,
    read_weights,
)
from streameval.inputs.coded import CodedTexts
from streameval.inputs.labels import encode, is_ignored, present
from streameval.inputs.row_scores import (
    are_pairs,
    positive_scores,
    rows_of_items,
    sum_tolerance,
    weights_of_items,
)

_REAL = (
    "Pass ",
    Named("scores", '"real"'),
    " for logits or margins, and a threshold on their scale, such as ",
    Named("threshold", "0"),
    ".",
)
_IMAGE_ENTRIES = 2**20  # scores of the pixels of a few images, which are copied at a time


def read_codes(
    y_true: Array, y_pred: Array, sample_weight: Any, config: ConfusionConfig
) -> tuple[Rows, Mask | None]:
    """Read one batch as `read_decided` does, by the fast path if it is usual."""
    usual = read_usual(y_true, y_pred, sample_weight, config)
    if usual is not None:
        return usual, None
    return read_decided(y_true, y_pred, sample_weight, config)


def read_decided(
    y_true: Array, y_pred: Array, sample_weight: Any, config: ConfusionConfig
) -> tuple[Rows, Mask | None]:
    """Read one batch over a fixed set of classes by the general path, all of it or nothing.

    Returns
    -------
    rows : Rows
        The codes of true and predicted classes, and as a third column those of the credit for
        top-k accuracy, unless hits alone have credit, and full. Or for multilabel, what is present
        of (n, K).
    known : bool array, shape (n, K), optional
        Which labels of a multilabel batch count; None if all do.

    Raises
    ------
    InvalidInputError
        When an array has the wrong shape, type or values.
    """
    if config.multilabel:
        return _read_multilabel(y_true, y_pred, sample_weight, config)
    labels = as_labels(y_true, name="y_true")
    check_labels(labels)
    weights = read_weights(sample_weight, rows=len(labels))
    ignored = is_ignored(labels, config.ignore_label)
    truth = encode(labels, config.fixed_classes, name="y_true", ignored=ignored)
    decided = _decide(y_pred, truth, config)
    dtypes = *code_dtypes(config.n_classes), credit_dtype(config)
    pairs = zip((truth, *decided), dtypes, strict=False)  # there may be no credit
    rows = Rows(tuple(part.astype(dtype) for part, dtype in pairs), weights)
    return rows if ignored is None else rows.taken(~ignored), None


def _read_multilabel(
    y_true: Array, y_pred: Array, sample_weight: Any, config: ConfusionConfig
) -> tuple[Rows, Mask | None]:
    check_matrix(y_true, rows=None, columns=config.n_classes, name="y_true", option="classes")
    check_matrix(
        y_pred, rows=len(y_true), columns=config.n_classes, name="y_pred", option="classes"
    )
    weights = read_entry_weights(sample_weight, rows=len(y_true), columns=config.n_classes)
    if weights is None:
        weights = read_weights(sample_weight, rows=len(y_true))
    elif config.measures:
        raise InvalidInputError(
            "must be one for each example with ",
            Named("measures", str(list(config.measures))),
            f", got shape {weights.shape}",
            argument="sample_weight",
        )
    else:  # entries without weight may hold anything
        y_true, y_pred = (np.where(weights > 0, side, 0) for side in (y_true, y_pred))
    labels = as_labels(y_true, name="y_true")
    ignored = is_ignored(labels, config.ignore_label)
    truth = present(labels, name="y_true", ignored=ignored)
    prediction = _decide_multilabel(y_pred, config)
    known = None if ignored is None else ~ignored
    if weights is not None and weights.ndim == 2:
        known = weights > 0 if known is None else known & (weights > 0)
    return Rows((truth, prediction), weights), known


def read_observed(
    y_true: Array, y_pred: Array, sample_weight: Any, config: ConfusionConfig
) -> Rows:
    """Read true and predicted labels, and the weights; ignored rows are left out."""
    if config.ignore_label is not None:
        y_true = np.asarray(y_true)
    truth = y_true if isinstance(y_true, CodedTexts) else as_labels(y_true, name="y_true")
    check_labels(truth)
    weights = read_weights(sample_weight, rows=len(truth))
    ignored = is_ignored(truth, config.ignore_label)
    if y_pred.dtype.kind == "f" and config.from_scores is None:
        raise InvalidInputError(
            "holds floats, and ",
            Named("classes", '"auto"'),
            " takes labels",
            argument="y_pred",
            remedy="Make the accumulator with from_scores=False if these are labels, or list the "
            "classes in the order of the score columns.",
        )
    prediction = y_pred if isinstance(y_pred, CodedTexts) else as_labels(y_pred, name="y_pred")
    check_vector(prediction, rows=len(truth), name="y_pred")
    if (prediction.dtype == object) != (truth.dtype == object):
        raise InvalidInputError(
            "and ", Named("y_pred"), " must both be numbers or both be strings", argument="y_true"
        )
    rows = Rows((truth, prediction), weights)
    return rows if ignored is None else rows.taken(~ignored)


def check_labels(y_true: Array) -> None:
    """Refuse true labels that are not one per row, and suggest what the user may have meant."""
    remedy: tuple[object, ...] = ()
    if y_true.ndim == 2:
        remedy = (
            "Pass y_true.argmax(axis=1) for one-hot rows, ",
            Named("multilabel", "True"),
            " for several labels a row, or ravel() both arrays to count item by item.",
        )
    elif y_true.ndim > 2 and y_true.shape[1] == 1:
        remedy = ("Pass y_true.squeeze(1) with scores of each class.",)
    elif y_true.ndim > 2:
        remedy = (
            "Pass ",
            Named("y_pred"),
            f" of shape {y_true.shape} too, or with one dimension more, last or second, for the ",
            "scores of the classes.",
        )
    check_vector(y_true, rows=None, name="y_true", remedy=remedy)


def _decide(y_pred: Array, truth: Ints, config: ConfusionConfig) -> tuple[Array, ...]:
    """Decide the predicted class of each row over a fixed set of classes.

    Parameters
    ----------
    y_pred : array
        Labels ``(n,)``; scores ``(n,)`` for two classes; scores ``(n, K)`` for more.
    truth : int64 array, shape (n,)
        The code of each true class.

    Returns
    -------
    prediction : int64 array, shape (n,)
        The code of each predicted class.
    credit : int64 or bool array, shape (n,), optional
        The codes of the credit for top-k accuracy; None if hits alone have credit, and full.
    """
    if not _holds_scores(y_pred, config):
        return (_decide_by_label(y_pred, len(truth), config),)
    if config.is_binary:
        if config.has_default_threshold and are_pairs(y_pred):
            return (first_highest(_score_rows(y_pred, len(truth), config))[0],)
        return (_decide_by_threshold(y_pred, len(truth), config),)
    return highest_scores(_score_rows(y_pred, len(truth), config), truth, config.top_k)


def _decide_multilabel(y_pred: Array, config: ConfusionConfig) -> Mask:
    """Decide for each row and label of an (n, K) array whether it is predicted present."""
    if _holds_scores(y_pred, config):
        return _at_threshold(y_pred, config)
    hint = ("Pass from_scores=True if these are scores.",)
    return present(as_labels(y_pred, name="y_pred"), name="y_pred", hint=hint)


def _holds_scores(y_pred: Array, config: ConfusionConfig) -> bool:
    """Distinguish scores from labels by option, else by dtype; refuse ambiguous arrays."""
    if config.from_scores is not None:
        return config.from_scores
    if y_pred.dtype.kind == "f":
        return True
    ambiguous = (config.is_binary and not 0 < config.thresholds[0] <= 1) or (
        y_pred.ndim == 2 and not config.multilabel
    )
    if ambiguous and y_pred.dtype.kind in "biu":
        raise InvalidInputError(
            f"holds integers of shape {y_pred.shape}, which could be labels or scores",
            argument="y_pred",
            remedy="Pass from_scores=True or from_scores=False.",
        )
    return False


def _decide_by_label(y_pred: Array, rows: int, config: ConfusionConfig) -> Ints:
    check_vector(y_pred, rows=rows, name="y_pred")
    if config.top_k > 1:
        raise InvalidInputError(
            "must hold scores for ",
            Named("top_k", f"{config.top_k}"),
            ", got labels",
            argument="y_pred",
        )
    return encode(as_labels(y_pred, name="y_pred"), config.fixed_classes, name="y_pred")


def _decide_by_threshold(y_pred: Array, rows: int, config: ConfusionConfig) -> Ints:
    if are_pairs(y_pred):
        y_pred = score_of_pairs(y_pred, config)
    remedy: tuple[object, ...] = ()
    if y_pred.ndim == 2:
        remedy = (Named("classes", f"{y_pred.shape[1]}"), " takes a score of each class.")
    check_vector(y_pred, rows=rows, name="y_pred", remedy=remedy)
    positive = _at_threshold(y_pred, config)
    return np.asarray(positive == bool(config.positive_position), dtype=np.int64)


def score_of_pairs(y_pred: Array, config: ConfusionConfig) -> Array:
    """Read the scores of two classes as that of the positive one."""
    tolerance, positive = sum_tolerance(y_pred, y_pred), config.positive_position
    return positive_scores(y_pred, tolerance, scale=config.scale, name="y_pred", positive=positive)


def _at_threshold(y_pred: Array, config: ConfusionConfig) -> Mask:
    scores = as_scores(y_pred, name="y_pred")
    if config.takes_probabilities:
        check_probabilities(scores, name="y_pred", remedy=_REAL)
    return np.asarray(scores >= np.array(config.threshold))


def _score_rows(y_pred: Array, rows: int, config: ConfusionConfig) -> Scores:
    if y_pred.ndim == 1:
        raise InvalidInputError(
            f"must have shape (n, {config.n_classes}) as scores, got {y_pred.shape}",
            argument="y_pred",
            remedy="Make the accumulator with from_scores=False if these are labels.",
        )
    check_matrix(y_pred, rows=rows, columns=config.n_classes, name="y_pred", option="classes")
    return as_comparable(y_pred, name="y_pred")


def as_items(
    y_true: Array, y_pred: Array, sample_weight: Any, config: ConfusionConfig
) -> tuple[Array, Array, Any] | None:
    """Read (n, 1) as (n,), and labels of more dimensions item by item.

    Predictions have the shape of the truth, or one more dimension for the score of each class:
    the last one, (B, T, K), or the second, (B, K, H, W). Weights have the shape of the truth, or
    one dimension.

    Returns
    -------
    truth, prediction, weights : arrays of shape (n,), or (n, K) for scores
        None if that leaves the arrays as they are.

    Raises
    ------
    InvalidInputError
        If both dimensions may be that of the classes.
    """
    if y_true.ndim < 2:
        vector = as_vector(y_pred)
        return None if vector is y_pred else (y_true, vector, sample_weight)
    if y_true.shape == y_pred.shape:
        if _is_one_hot(y_true, config):
            return None
        items = y_pred.ravel()
    else:
        scores = None
        if not config.is_open:
            sizes = (config.n_classes, 1) if config.is_binary else (config.n_classes,)
            scores = rows_of_items(y_true.shape, y_pred, sizes, name="y_pred")
        if scores is None:
            vectors = as_vector(y_true), as_vector(y_pred)
            is_same = vectors[0] is y_true and vectors[1] is y_pred
            return None if is_same else (*vectors, sample_weight)
        items = scores
    return y_true.ravel(), items, weights_of_items(sample_weight, y_true.shape)


def image_pieces(y_true: Array, y_pred: Array, config: ConfusionConfig) -> list[slice]:
    """Cut images with scores (N, K, H, W), which are copied with those of a pixel side by side."""
    if config.is_open or y_true.ndim < 2:
        return []
    n_images, *of_image = y_true.shape
    may_be_last = y_pred.shape == (*y_true.shape, config.n_classes)
    if y_pred.shape != (n_images, config.n_classes, *of_image) or may_be_last:
        return []
    step = max(_IMAGE_ENTRIES * n_images // max(y_pred.size, 1), 1)
    return [slice(start, start + step) for start in range(0, n_images, step)]


def _is_one_hot(y_true: Array, config: ConfusionConfig) -> bool:
    """Tell whether rows mark the one class of each: no labels, but what remedies are for."""
    if config.is_open or y_true.ndim != 2 or y_true.shape[1] != config.n_classes:
        return False
    if y_true.dtype == object:
        return False
    marks = y_true == 1
    return bool(((y_true == 0) | marks).all() and (marks.sum(axis=1) == 1).all())
