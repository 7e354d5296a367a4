"""Labels of more dimensions, such as masks and tokens, read item by item."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from streameval.configs.confusion import ConfusionConfig
from streameval.errors import InvalidInputError
from streameval.inputs.arrays import as_array, as_vector

Array = npt.NDArray[Any]


def flattened(
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
        scores = _scores_of_items(y_true.shape, y_pred, config)
        if scores is None:
            vectors = as_vector(y_true), as_vector(y_pred)
            is_same = vectors[0] is y_true and vectors[1] is y_pred
            return None if is_same else (*vectors, sample_weight)
        items = scores
    return y_true.ravel(), items, _weights_of_items(sample_weight, y_true.shape)


def _is_one_hot(y_true: Array, config: ConfusionConfig) -> bool:
    """Tell whether rows mark the one class of each: no labels, but what remedies are for."""
    if config.is_open or y_true.ndim != 2 or y_true.shape[1] != config.n_classes:
        return False
    if y_true.dtype == object:
        return False
    marks = y_true == 1
    return bool(((y_true == 0) | marks).all() and (marks.sum(axis=1) == 1).all())


def _scores_of_items(
    shape: tuple[int, ...], y_pred: Array, config: ConfusionConfig
) -> Array | None:
    """Move the scores of each item into a row; None if the shape is another."""
    if config.is_open or y_pred.ndim != len(shape) + 1:
        return None
    sizes = (config.n_classes, 1) if config.is_binary else (config.n_classes,)
    axes = [
        axis
        for axis in dict.fromkeys((len(shape), 1))
        if y_pred.shape[axis] in sizes and shape == y_pred.shape[:axis] + y_pred.shape[axis + 1 :]
    ]
    if not axes:
        raise InvalidInputError(
            f"must hold a score of each of {config.n_classes} classes in its last dimension or its "
            f"second, got {y_pred.shape}",
            argument="y_pred",
        )
    if len(axes) > 1:
        raise InvalidInputError(
            f"has shape {y_pred.shape}, where the classes may be the second dimension or the last",
            argument="y_pred",
            remedy="Pass rows: y_true.ravel(), and y_pred.reshape(-1, K) with the classes last.",
        )
    moved = np.moveaxis(y_pred, axes[0], -1)
    return as_vector(moved.reshape(-1, moved.shape[-1]))


def _weights_of_items(weights: Any, shape: tuple[int, ...]) -> Any:
    if weights is None:
        return None
    array = as_array(weights, name="sample_weight")
    return array.ravel() if array.shape == shape else weights
