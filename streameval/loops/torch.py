"""What is counted of each token, row or image in PyTorch: losses, confidences and overlaps."""

from __future__ import annotations

# The framework may be missing when types are checked.
# pyright: reportMissingImports=false
from typing import Any

from streameval.errors import InvalidInputError
from streameval.inputs.arrays import as_array

try:
    import torch
    from torch.nn.functional import log_softmax
except ImportError as error:
    raise ImportError('torch is missing: pip install "streameval[torch]".') from error

__all__ = ["image_values", "token_values"]

_ENTRIES = 2**24  # logits that are read at a time, which half precision widens


def token_values(
    logits: Any, labels: Any, *, ignore_label: int | None = -100, shift: bool = False
) -> dict[str, Any]:
    """Compute the loss of every token, whether the first choice is right, and its probability.

    It runs where the logits are, and only three numbers a token remain. Count them with
    ``MeanAccumulator(["nll", "correct"])``: the perplexity is ``result["nll"].exp_mean``, the token
    accuracy ``result["correct"].mean``. A `CalibrationAccumulator` of two classes, whose truth is
    ``"correct"`` and whose probability is ``"confidence"``, has the calibration error `ece` of the
    first choice. Classes of rows are counted as tokens are.

    Parameters
    ----------
    logits : tensor or array of shape (..., V), such as (B, T, V)
        Logits or log-probabilities of the V tokens, which give the same.
    labels : tensor or array of integers, shape (...), such as (B, T)
        The right token, from 0 to V - 1.
    ignore_label : int, optional
        The label of padding and other tokens that do not count; None counts all.
    shift : bool
        Whether the logits at a position are about the next token, as the causal models of Hugging
        Face return them beside unshifted labels. Then the first label and the last logits are left
        out; the last two dimensions of the logits must be positions and tokens.

    Returns
    -------
    dict of tensors of shape (n,)
        Of the n tokens that count: ``"nll"``, the negative log-likelihood in nats, as float32 or
        float64, which no loss is too large for; ``"correct"``, whether the highest logit is that of
        the label, the first one of equal ones; and ``"confidence"``, the probability of that one.

    Raises
    ------
    InvalidInputError
        When the shapes do not fit, or a label is no integer or not among the tokens.

    Notes
    -----
    Logits of half precision are widened to float32 first, so that losses keep their digits.

    Examples
    --------
    >>> import torch
    >>> import streameval as se
    >>> logits = torch.tensor([[[2.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 3.0]]])
    >>> labels = torch.tensor([[0, 2, -100]])
    >>> acc = se.MeanAccumulator(["nll", "correct"]).update(token_values(logits, labels))
    >>> result = acc.compute()
    >>> round(result["nll"].exp_mean, 4), result["correct"].mean
    (2.4485, 0.5)
    """
    logits, labels = _tensor(logits, "logits"), _tensor(labels, "labels")
    if logits.shape[:-1] != labels.shape:
        raise InvalidInputError(
            f"must have the shape of the logits without the last dimension, got "
            f"{tuple(labels.shape)} beside {tuple(logits.shape)}",
            argument="labels",
        )
    if shift:
        if labels.ndim < 1:
            raise InvalidInputError("needs logits of several positions", argument="shift")
        logits, labels = logits[..., :-1, :], labels[..., 1:]
    n_tokens = logits.shape[-1]
    rows = logits.detach().reshape(-1, n_tokens)
    truth, counts = _read_labels(labels, n_tokens, ignore_label)
    wide = rows.dtype if rows.dtype in (torch.float32, torch.float64) else torch.float32
    step = max(_ENTRIES // n_tokens, 1)
    parts = []
    for part, right in zip(rows.split(step), truth.split(step), strict=True):
        first = _first_highest(part)
        own, best = log_softmax(part, 1, dtype=wide).gather(1, torch.stack([right, first], 1)).T
        parts.append((-own, first == right, best.exp()))
    columns = map(torch.cat, zip(*parts, strict=True))
    names = ("nll", "correct", "confidence")
    return {name: column[counts] for name, column in zip(names, columns, strict=True)}


def image_values(logits: Any, labels: Any, *, ignore_label: int | None = None) -> dict[str, Any]:
    """Compute the mean IoU and the mean Dice coefficient of every image, over its classes.

    A class belongs to the means of an image if the truth or the prediction has a pixel of it. Count
    them with ``MeanAccumulator(["iou", "dice"])``, whose mean is that of the images, beside a
    `ConfusionAccumulator`, whose `jaccard` and `f_score` are those of all pixels.

    Parameters
    ----------
    logits : tensor or array of shape (N, K, ...), such as (N, K, H, W)
        Scores of the K classes of each pixel; the first one of the highest is predicted.
    labels : tensor or array of integers, shape (N, ...)
        The right class, from 0 to K - 1.
    ignore_label : int, optional
        The label of pixels that do not count.

    Returns
    -------
    dict of tensors of shape (n,)
        Of the n images with a pixel that counts: ``"iou"`` and ``"dice"``, from 0 to 1, float64.

    Raises
    ------
    InvalidInputError
        When the shapes do not fit, or a label is no integer or not among the classes.

    Examples
    --------
    >>> import torch
    >>> import streameval as se
    >>> logits = torch.tensor([[[3.0, 1.0, 1.0], [1.0, 2.0, 2.0]]])
    >>> values = image_values(logits, torch.tensor([[0, 0, 1]]))
    >>> values["iou"].tolist(), [round(dice, 4) for dice in values["dice"].tolist()]
    ([0.5], [0.6667])
    """
    logits, labels = _tensor(logits, "logits"), _tensor(labels, "labels")
    if logits.ndim < 2 or logits.shape[:1] + logits.shape[2:] != labels.shape:
        raise InvalidInputError(
            f"must have the shape of the logits without the second dimension, got "
            f"{tuple(labels.shape)} beside {tuple(logits.shape)}",
            argument="labels",
        )
    n_images, n_classes = logits.shape[:2]
    truth, counts = _read_labels(labels, n_classes, ignore_label)
    image = torch.arange(n_images, device=labels.device).repeat_interleave(labels[:1].numel())
    cell = (image * n_classes + truth) * n_classes + logits.argmax(dim=1).reshape(-1)
    cells = torch.bincount(cell[counts], minlength=n_images * n_classes**2)
    matrix = cells.reshape(n_images, n_classes, n_classes).double()
    both = matrix.diagonal(dim1=1, dim2=2)
    each = matrix.sum(1) + matrix.sum(2)
    values = torch.stack([both / (each - both), 2 * both / each])
    means = values.nanmean(dim=2)[:, matrix.any(2).any(1)]
    return dict(zip(("iou", "dice"), means, strict=True))


def _first_highest(rows: Any) -> Any:
    """Find the first highest entry of each row; NumPy takes a sixth of the time of torch."""
    if rows.device.type == "cpu" and rows.dtype in (torch.float32, torch.float64):
        return torch.from_numpy(rows.numpy().argmax(axis=1))
    return rows.argmax(dim=1)


def _tensor(value: Any, name: str) -> Any:
    """Keep tensors where they are; share other arrays with torch."""
    if isinstance(value, torch.Tensor):
        return value
    array = as_array(value, name=name)
    return torch.from_numpy(array if array.flags.writeable else array.copy())


def _read_labels(labels: Any, n_classes: int, ignore_label: int | None) -> tuple[Any, Any]:
    """Read labels as a vector, with 0 for those to ignore, and tell which count."""
    if labels.is_floating_point() or labels.dtype == torch.bool:
        raise InvalidInputError(f"must hold integers, got {labels.dtype}", argument="labels")
    truth = labels.reshape(-1).long()
    counts = torch.ones_like(truth, dtype=torch.bool)
    if ignore_label is not None:
        counts = truth != ignore_label
    outside = counts & ((truth < 0) | (truth >= n_classes))
    if outside.any():
        index = int(outside.nonzero()[0])
        raise InvalidInputError(
            f"must lie in 0..{n_classes - 1}, got {int(truth[index])}",
            argument="labels",
            position=index,
        )
    return truth.where(counts, 0), counts
