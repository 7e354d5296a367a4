"""Rows of scores, one of each class: probabilities that sum to 1, and two scores as one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from streameval.errors import InvalidInputError
from streameval.exact.array_types import Array, Floats
from streameval.inputs.arrays import (
    as_array,
    as_scores,
    as_vector,
    check_probabilities,
    first_index,
)

LOGITS = "Logits are not probabilities: apply a sigmoid or softmax first."

_MAX_MISS = 0.01
_SUM_ERROR = 1e-6  # 0.33 + 0.33 + 0.33 misses 1 by a little more than 0.01, in float32 too


def sum_tolerance(given: Any, array: Array) -> float:
    """Choose how far rows may deviate from 1; for a coarse dtype, the root of its machine epsilon.

    Softmax over 1,000 classes, rounded to four digits in a log, misses 1 by up to 0.007.
    """
    if str(getattr(given, "dtype", "")).endswith("bfloat16"):
        return math.sqrt(2.0**-7)
    return math.sqrt(np.finfo(np.float16).eps) if array.dtype == np.float16 else _MAX_MISS


def check_row_sums(
    scores: Floats, tolerance: float, *, name: str, remedy: str | tuple[object, ...] = LOGITS
) -> Floats:
    """Return the sum of each row; refuse those that are not 1 within a tolerance. NaN passes."""
    # the order of adding depends on the layout in memory
    sums: Floats = np.ascontiguousarray(scores).sum(axis=1)
    wrong = np.abs(sums - 1.0) > tolerance + _SUM_ERROR
    if wrong.any():
        row = int(wrong.argmax())
        raise InvalidInputError(
            f"must have rows that sum to 1 within {tolerance:.2g}, got {float(sums[row])!r}",
            argument=name,
            position=row,
            at="in row",
            remedy=remedy,
        )
    return sums


def rows_of_items(
    shape: tuple[int, ...], scores: Array, sizes: tuple[int, ...], *, name: str
) -> Array | None:
    """Move the scores of each item, such as a token or pixel, into a row.

    Parameters
    ----------
    shape : tuple of int
        The shape of the labels: (B, T), or (N, H, W).
    scores : array
        With one dimension more, for the classes: the last one, (B, T, K), or the second,
        (N, K, H, W).
    sizes : tuple of int
        The sizes that this dimension may have, beginning with the number of classes.
    name : str
        The argument, for errors.

    Returns
    -------
    array, shape (n, K) or (n,)
        None if the scores have another number of dimensions.

    Raises
    ------
    InvalidInputError
        If no dimension may be that of the classes, or either may be.
    """
    if scores.ndim != len(shape) + 1:
        return None
    axes = [
        axis
        for axis in dict.fromkeys((len(shape), 1))
        if scores.shape[axis] in sizes and shape == scores.shape[:axis] + scores.shape[axis + 1 :]
    ]
    if not axes:
        raise InvalidInputError(
            f"must hold a score of each of {sizes[0]} classes in its last dimension or its "
            f"second, got {scores.shape}",
            argument=name,
        )
    if len(axes) > 1:
        raise InvalidInputError(
            f"has shape {scores.shape}, where the classes may be the second dimension or the last",
            argument=name,
            remedy=f"Pass rows: y_true.ravel(), and {name}.reshape(-1, K) with the classes last.",
        )
    moved = np.moveaxis(scores, axes[0], -1)
    return as_vector(moved.reshape(-1, moved.shape[-1]))


def weights_of_items(weights: Any, shape: tuple[int, ...]) -> Any:
    """Read weights of the shape of the labels as those of items; others are left as they are."""
    if weights is None:
        return None
    array = as_array(weights, name="sample_weight")
    return array.ravel() if array.shape == shape else weights


def as_rows_of_items(arrays: dict[str, Any], n_classes: int, *, name: str) -> dict[str, Any]:
    """Read labels (B, T) or (N, H, W), and a score of each class, item by item; leave rows."""
    y_true = arrays["y_true"]
    if getattr(y_true, "ndim", 1) < 2 or n_classes < 2:
        return arrays
    shape = tuple(y_true.shape)
    rows = rows_of_items(shape, as_array(arrays[name], name=name), (n_classes,), name=name)
    if rows is None:
        return arrays
    weights = weights_of_items(arrays["sample_weight"], shape)
    items = as_array(y_true, name="y_true").ravel()
    return {"y_true": items, name: rows, "sample_weight": weights}


def are_pairs(array: Array) -> bool:
    """Tell whether there are two scores a row."""
    return array.ndim == 2 and array.shape[1] == 2


def positive_scores(
    pairs: Array, tolerance: float, *, scale: str, name: str, positive: int = 1, nan: str = ""
) -> Array:
    """Make one score a row of the scores of two classes.

    Two probabilities say the same, so that of the positive class is the score. Of two real
    scores, such as logits, the difference is: it is the logit of that probability.

    Parameters
    ----------
    pairs : array, shape (n, 2)
        The scores of both classes.
    tolerance : float
        How far the sum of two probabilities may deviate from 1.
    scale : {"probability", "real"}
        What the scores are.
    name : str
        The argument, for errors.
    positive : int
        The column of the positive class.
    nan : str
        The option `nan`, as for `as_scores`; a row with one that passes has no score.

    Raises
    ------
    InvalidInputError
        If the columns are no scores of two classes.
    """
    scores = as_scores(pairs, name=name, nan=nan)
    if scale == "probability":
        column = f"{name}[:, {positive}]"
        remedy = f"Pass {column} if that is the score of the positive class."
        check_probabilities(scores, name=name, remedy=LOGITS)
        sums = check_row_sums(scores, tolerance, name=name, remedy=remedy)
        missing = np.isnan(sums)
        chosen = pairs[:, positive]
        return np.where(missing, np.nan, chosen) if missing.any() else chosen
    with np.errstate(invalid="ignore"):
        difference: Floats = scores[:, positive] - scores[:, 1 - positive]
    undefined = np.isnan(difference) & ~np.isnan(scores).any(axis=1)
    if undefined.any():
        raise InvalidInputError(
            "must not hold two infinite scores that are equal",
            argument=name,
            position=first_index(undefined),
            at="in row",
        )
    return difference
