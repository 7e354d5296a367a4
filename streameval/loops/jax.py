"""Counts of classes in JAX, inside functions that it compiles."""

from __future__ import annotations

# The framework may be missing when types are checked; pyright mistakes this file for it.
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false
from typing import Any

from streameval.errors import InvalidInputError

try:
    import jax
    from jax import numpy as jnp
except ImportError as error:
    raise ImportError('JAX is missing: pip install "streameval[jax]".') from error

__all__ = ["confusion_counts"]


def confusion_counts(
    y_true: Any, y_pred: Any, n_classes: int, *, ignore_label: int | None = None
) -> Any:
    """Count truth against prediction on the device, inside `jax.jit` or `scan` too.

    Add the counts of batches up, and hand the sum to `ConfusionAccumulator.from_matrix`.

    Parameters
    ----------
    y_true : integer array of any shape
        The true labels, from 0 on.
    y_pred : integer array of that shape, or floats with the scores of the classes as last dimension
        The predictions: labels, or the first class with the highest score.
    n_classes : int
        The number K of classes.
    ignore_label : int, optional
        Items whose truth is this do not count.

    Returns
    -------
    Integer array of shape (K, K): rows are truth, columns predictions. JAX has 32 bits by default.

    Raises
    ------
    InvalidInputError
        When shapes or types are wrong. Values are not known then: a label of no class or a score of
        NaN raises JAX's error with the message when the counts, or `jax.effects_barrier`, are read.

    Examples
    --------
    >>> import jax
    >>> import streameval as se
    >>> from jax import numpy as jnp
    >>> from streameval.loops.jax import confusion_counts
    >>> @jax.jit
    ... def evaluate(counts, labels, logits):
    ...     return counts + confusion_counts(labels, logits, 2)
    >>> counts = evaluate(jnp.zeros((2, 2), int), jnp.array([1, 0]), jnp.eye(2))
    >>> se.ConfusionAccumulator.from_matrix(counts).compute().accuracy
    0.0
    """
    truth, prediction = y_true.ravel(), y_pred.ravel()
    are_labels = y_pred.dtype.kind in "iub" and y_pred.shape == y_true.shape
    if not are_labels and y_pred.shape != (*y_true.shape, n_classes):
        raise InvalidInputError(
            f"must be labels of shape {y_true.shape}, or scores of {n_classes} classes beside "
            f"them, got {y_pred.dtype} of shape {y_pred.shape}",
            argument="y_pred",
        )
    if are_labels:
        is_wrong = (prediction < 0) | (prediction >= n_classes)
    else:
        scores = y_pred.reshape(-1, n_classes)
        prediction, is_wrong = scores.argmax(axis=1), jnp.isnan(scores).any(axis=1)
    is_class = (truth >= 0) & (truth < n_classes)
    counts = True if ignore_label is None else truth != ignore_label
    is_unknown = counts & ~is_class
    jax.lax.cond(
        (is_unknown | is_wrong).any(),
        lambda: jax.debug.callback(_refuse, is_unknown, truth, is_wrong, n_classes),
        lambda: None,
    )
    cells = truth.astype(int) * n_classes + prediction
    cells = jnp.where(is_class & counts, cells, n_classes**2)
    counted = jnp.zeros(n_classes**2, int).at[cells].add(1, mode="drop")
    return counted.reshape(n_classes, n_classes)


def _refuse(is_unknown: Any, truth: Any, is_wrong: Any, n_classes: Any) -> None:
    """Refuse values that only the device knew."""
    if is_unknown.any():
        position = int(is_unknown.argmax())
        raise InvalidInputError(
            f"must hold labels 0 to {n_classes - 1}, got {truth[position]}",
            argument="y_true",
            position=position,
        )
    if is_wrong.any():  # under vmap, there may be nothing wrong
        raise InvalidInputError(
            f"must hold labels 0 to {n_classes - 1}, or scores that are not NaN",
            argument="y_pred",
            position=int(is_wrong.argmax()),
        )
