"""The best scores of rows: the predicted class, and whether the true one is among the first k."""

from __future__ import annotations

from typing import Any

import numpy as np

from streameval.configs.confusion import ConfusionConfig
from streameval.exact.array_types import Ints, Mask, Scores

_FEW_CLASSES = 32
_MANY_ROWS = 512
_SHORT_ROW = 64  # scores
_BLOCK = 2**17  # scores in a block: with what is made from them they stay in the L2 cache


def highest_scores(scores: Scores, truth: Ints, k: int) -> tuple[Ints, Ints | Mask]:
    """Find the first class with the highest score of each row, and the credit of the true one.

    Scores are compared in their own dtype: widening would keep their order and ties.

    Parameters
    ----------
    scores : float array, shape (n, K)
        Without NaN.
    truth : int array, shape (n,)
        The column of the true class.
    k : int
        The number of highest scores that earn credit.

    Returns
    -------
    prediction : int64 array, shape (n,)
    credit : int64 or bool array, shape (n,)
        The codes of `credit_codes`, or truth values if they are 0 and 1, as without ties.
    """
    if k > 1 and not _is_long(scores):  # whether the highest score is tied does not matter
        return scores.argmax(axis=1), top_k_credit(scores, truth, k)
    prediction, has_ties = first_highest(scores)
    if k == 1 and not has_ties:
        return prediction, prediction == truth
    return prediction, top_k_credit(scores, truth, k)


def first_highest(scores: Scores) -> tuple[Ints, bool]:
    """Find the first class with the highest score of each row, and whether any row has two."""
    return (_by_columns if _is_long(scores) else _by_rows)(scores)


def top_k_credit(scores: Scores, truth: Ints, k: int) -> Ints | Mask:
    """Code the ranks within the first k that the true class shares with its ties.

    No row is sorted: counting the scores that reach that of the true class takes a tenth of the
    time of a partition.
    """
    rows, classes = scores.shape
    own = scores[np.arange(rows), truth][:, None]
    reaching = _count_in_rows(scores >= own)
    is_tied = scores == own
    if np.count_nonzero(is_tied) == rows:
        return np.asarray(reaching <= k)
    tied = _count_in_rows(is_tied)
    within = np.clip(k - (reaching - tied), 0, tied)
    first = within > 0
    split = np.flatnonzero(first & (within < tied))
    before = _count_in_rows(is_tied[split] & (np.arange(classes) < truth[split, None]))
    first[split] = within[split] > before
    return credit_codes(within, tied, first, classes)


def credit_codes(within: Ints, tied: Ints, first: Mask, classes: int) -> Ints:
    """Code how many of the first k ranks ties leave to the true class, for each of n examples.

    Of the `tied` classes with the score of the true class, including itself, `within` are in the
    first k ranks, so the example counts ``within / tied`` on average over all orders. `first` tells
    whether the true class is among the first k if tied classes are in the order of the columns.

    The code is 0 without credit; else it is twice the cell of (within, tied) in the credit of
    `MatrixCounts`, plus `first`. Full credit is (1, 1), in cell 0 and first, so its code is 1.
    """
    cells = np.where(within == tied, 0, (within - 1) * classes + tied - 1)
    return np.where(within > 0, 2 * cells + first, 0)


def credit_dtype(config: ConfusionConfig) -> np.dtype[Any]:
    """Choose the type of codes of credit, a signed one, which any count of cells takes."""
    return np.min_scalar_type(-2 * config.top_k * config.n_classes)


def _is_long(scores: Scores) -> bool:
    return scores.shape[1] <= _FEW_CLASSES and len(scores) >= _MANY_ROWS


def _count_in_rows(marks: Mask) -> Ints:
    """Count the true entries of each row; in long ones, bits take half of the time of marks."""
    if marks.shape[1] <= _SHORT_ROW:
        return np.asarray(np.count_nonzero(marks, axis=1))
    bits = np.bitwise_count(np.packbits(marks, axis=1))
    return np.asarray(bits.sum(axis=1, dtype=np.int64))


def _by_rows(scores: Scores) -> tuple[Ints, bool]:
    prediction = scores.argmax(axis=1)
    best = scores[np.arange(len(scores)), prediction]  # a third of the time of max on short rows
    has_ties = int(np.count_nonzero(scores == best[:, None])) > len(scores)
    return prediction.astype(np.int64, copy=False), has_ties


def _by_columns(scores: Scores) -> tuple[Ints, bool]:
    """Work along many rows at once: for 10 classes three times as fast as short rows."""
    rows, classes = scores.shape
    prediction, has_ties = np.empty(rows, dtype=np.int64), False
    falling = np.arange(classes, 0, -1, dtype=np.uint8)[:, None]
    step = _BLOCK // classes
    for start in range(0, rows, step):
        block = np.ascontiguousarray(scores[start : start + step].T)
        is_best = block == block.max(axis=0)
        # the first true row of each column; argmax goes down columns one by one
        prediction[start : start + step] = classes - (is_best * falling).max(axis=0).astype(int)
        has_ties = has_ties or int(np.count_nonzero(is_best)) > is_best.shape[1]
    return prediction, has_ties
