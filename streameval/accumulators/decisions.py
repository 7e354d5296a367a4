"""From labels and scores to places among the classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from streameval.accumulators.highest_scores import highest_scores
from streameval.configs.confusion import ConfusionConfig
from streameval.errors import InvalidInputError, Named
from streameval.inputs.arrays import (
    as_comparable,
    as_labels,
    as_scores,
    check_matrix,
    check_vector,
    first_index,
)
from streameval.inputs.labels import encode
from streameval.states.confusion import TopKCredit

__all__ = ["decide", "decide_multilabel", "present"]

Array = npt.NDArray[Any]
Codes = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def decide(y_pred: Array, truth: Codes, config: ConfusionConfig) -> tuple[Codes, TopKCredit | None]:
    """Decide the predicted class of each row over a fixed set of classes.

    Parameters
    ----------
    y_pred : array
        Labels ``(n,)``; scores ``(n,)`` for two classes; scores ``(n, K)`` for more.
    truth : int64 array, shape (n,)
        The place of each true class.

    Returns
    -------
    prediction : int64 array, shape (n,)
        The place of each predicted class.
    credit : TopKCredit, optional
        What each row earns towards top-k accuracy; None where every hit earns it in full.
    """
    if not _holds_scores(y_pred, config):
        return _decide_by_label(y_pred, len(truth), config), None
    if config.is_binary:
        return _decide_by_threshold(y_pred, len(truth), config), None
    return highest_scores(_score_rows(y_pred, len(truth), config), truth, config.top_k)


def decide_multilabel(y_pred: Array, config: ConfusionConfig) -> Mask:
    """Decide for each row and label of an (n, K) array whether it is predicted present."""
    if _holds_scores(y_pred, config):
        return as_scores(y_pred, name="y_pred") >= config.threshold
    hint = ("Pass from_scores=True if these are scores.",)
    return present(as_labels(y_pred, name="y_pred"), name="y_pred", hint=hint)


def present(
    labels: Array, *, name: str, ignored: Mask | None = None, hint: tuple[object, ...] = ()
) -> Mask:
    """Read an (n, K) array of 0 and 1 as presence; ignored entries may hold anything."""
    wrong = (labels != 0) & (labels != 1)
    if ignored is not None:
        wrong &= ~ignored
    if wrong.any():
        first = labels[wrong].tolist()[0]
        raise InvalidInputError(
            f"must hold 0 and 1, got {first!r}",
            argument=name,
            position=first_index(wrong),
            remedy=hint,
        )
    return np.asarray(labels == 1)


def _holds_scores(y_pred: Array, config: ConfusionConfig) -> bool:
    """Tell scores from labels: by option, else by dtype, never where it could be a mistake."""
    if config.from_scores is not None:
        return config.from_scores
    if y_pred.dtype.kind == "f":
        return True
    ambiguous = (config.is_binary and not 0 < config.threshold <= 1) or (
        y_pred.ndim == 2 and not config.multilabel
    )
    if ambiguous and y_pred.dtype.kind in "biu":
        raise InvalidInputError(
            f"holds integers of shape {y_pred.shape}, which could be labels or scores",
            argument="y_pred",
            remedy="Pass from_scores=True or from_scores=False.",
        )
    return False


def _decide_by_label(y_pred: Array, rows: int, config: ConfusionConfig) -> Codes:
    check_vector(y_pred, rows=rows, name="y_pred")
    if config.top_k > 1:
        raise InvalidInputError(
            "must hold scores for ",
            Named("top_k", f"{config.top_k}"),
            ", got labels",
            argument="y_pred",
        )
    return encode(as_labels(y_pred, name="y_pred"), config.fixed_classes, name="y_pred")


def _decide_by_threshold(y_pred: Array, rows: int, config: ConfusionConfig) -> Codes:
    if y_pred.ndim == 2 and y_pred.shape[1] == 2:
        raise InvalidInputError(
            f"must have shape (n,) for two classes, got {y_pred.shape}",
            argument="y_pred",
            remedy="Pass y_pred[:, 1] for probabilities, or y_pred.argmax(axis=1) for the higher "
            "score.",
        )
    check_vector(y_pred, rows=rows, name="y_pred")
    positive = as_scores(y_pred, name="y_pred") >= config.threshold
    return np.asarray(positive == bool(config.positive_place), dtype=np.int64)


def _score_rows(y_pred: Array, rows: int, config: ConfusionConfig) -> npt.NDArray[np.floating[Any]]:
    if y_pred.ndim == 1:
        raise InvalidInputError(
            f"must have shape (n, {config.n_classes}) as scores, got {y_pred.shape}",
            argument="y_pred",
            remedy="Pass from_scores=False if these are labels.",
        )
    check_matrix(y_pred, rows=rows, columns=config.n_classes, name="y_pred")
    return as_comparable(y_pred, name="y_pred")
