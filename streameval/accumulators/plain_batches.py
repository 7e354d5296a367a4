"""The short way in for the usual batch: labels or scores in a usual dtype, no weights.

A training step updates with a few rows at a time, where the full reading of a batch spends its
time on calls, not on rows. This reading takes a batch only if nothing about it is unusual, and
never raises: what it leaves gets the full reading. It writes down a code of a few bytes a row:
those of small batches one after the other, until there are enough of them to be worth counting,
those of a large batch piece by piece, in memory that is there and stays in the cache.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self, TypeAlias

import attrs
import numpy as np
import numpy.typing as npt

from streameval.accumulators.highest_scores import first_highest
from streameval.configs.confusion import ConfusionConfig
from streameval.states.confusion import MatrixCounts, MultilabelCounts

__all__ = ["PlainBatches", "PlainCodes"]

Array = npt.NDArray[Any]
Tally = npt.NDArray[np.int64]
DType: TypeAlias = np.dtype[Any]

_PIECE = 2**17  # codes of a large batch that are written before they are counted
_LEAST_ROOM, _MOST_ROOM = 2**13, 2**20  # codes that wait, of several classes


@attrs.frozen(eq=False)
class PlainBatches:
    """Which batches are plain under a configuration, and the codes of their rows.

    A code is the place of a class, or 0 or 1 for each label of a multilabel row.

    Parameters
    ----------
    config : ConfusionConfig
    columns : tuple of int
        The shape of the codes of one row.
    codes : int
        How many codes there are.
    labels : mapping of dtype to dtype
        How to look at integers so that no negative one is below `codes`.
    reads_labels : bool
        Whether integers are predicted labels without a doubt.
    reads_rows : bool
        Whether scores come one a class.
    thresholds : mapping of dtype to array of shape ()
        From where a score is a positive prediction, in its own dtype, unless `reads_rows`.
    at_least : bool
        Whether scores from the threshold on have code 1, or those below it.
    piece : int
        How many rows of a large batch are counted at a time.
    room : int
        How many rows may wait.
    """

    config: ConfusionConfig
    columns: tuple[int, ...]
    codes: int
    labels: Mapping[DType, DType]
    reads_labels: bool
    reads_rows: bool
    thresholds: Mapping[DType, Array]
    at_least: bool
    piece: int
    room: int

    @staticmethod
    @functools.lru_cache(maxsize=64)
    def under(config: ConfusionConfig) -> PlainBatches | None:
        """Read a configuration; None if no batch is plain under it."""
        is_numbered = config.multilabel or isinstance(config.classes, int)
        if not is_numbered or config.ignore_label is not None or config.top_k > 1:
            return None
        decides = config.multilabel or config.is_binary
        codes = 2 if decides else config.n_classes
        columns = config.n_classes if config.multilabel else 1
        takes_scores = config.from_scores is not False
        has_doubt = not config.multilabel and not 0 < config.threshold <= 1
        return PlainBatches(
            config=config,
            columns=(columns,) if config.multilabel else (),
            codes=codes,
            labels=_unsigned_views(codes),
            reads_labels=not has_doubt and not config.from_scores,
            reads_rows=takes_scores and not decides,
            thresholds=_thresholds(config.threshold) if takes_scores and decides else {},
            at_least=not config.is_binary or bool(config.positive_place),
            piece=max(_PIECE // columns, 1),
            room=_room(codes, columns),
        )

    def fit(self, y_true: Array, y_pred: Array) -> bool:
        """Tell whether there are rows, and as many predicted as true ones."""
        rows = y_true.shape[:1]
        return rows == y_pred.shape[:1] and rows not in ((), (0,))

    def read(self, y_true: Array, y_pred: Array, truth: Array, prediction: Array) -> bool:
        """Write down the codes of a batch; False if it is not plain, or of another shape."""
        if not self._read_labels(y_true, truth):
            return False
        threshold = self.thresholds.get(y_pred.dtype)
        if threshold is not None:
            return self._read_scores(y_pred, threshold, prediction)
        if y_pred.dtype.kind == "f":
            return self._read_rows(y_pred, prediction)
        return self.reads_labels and self._read_labels(y_pred, prediction)

    def tally(self, truth: Array, prediction: Array) -> Tally:
        """Count codes."""
        counts = MultilabelCounts if self.config.multilabel else MatrixCounts
        return counts.tally(truth, prediction, self.config)

    def tallies(self, parts: Iterable[tuple[PlainCodes, int]]) -> Iterator[tuple[Tally, int]]:
        """Count the codes of several, each up to an end, a piece or so of rows at a time.

        A few codes cost as much as thousands, so they are laid end to end.
        """
        together: list[tuple[Array, Array]] = []
        rows = 0
        for codes, end in parts:
            together.append((codes.truth[:end], codes.prediction[:end]))
            rows += end
            if rows >= self.piece:
                yield self.tally(*_end_to_end(together)), rows
                together, rows = [], 0
        if rows:
            yield self.tally(*_end_to_end(together)), rows

    def _read_labels(self, array: Array, codes: Array) -> bool:
        dtype = self.labels.get(array.dtype)
        if dtype is None or array.shape != codes.shape:
            return False
        labels = array.view(dtype)
        if labels.item(labels.argmax()) >= self.codes:  # on 32 rows, a third of the time of max
            return False
        codes[...] = labels
        return True

    def _read_scores(self, scores: Array, threshold: Array, codes: Array) -> bool:
        if scores.shape != codes.shape or _has_nan(scores):
            return False
        (np.greater_equal if self.at_least else np.less)(scores, threshold, codes)
        return True

    def _read_rows(self, scores: Array, codes: Array) -> bool:
        wanted = self.reads_rows and scores.shape == (len(codes), self.codes)
        if not wanted or scores.dtype not in (np.float32, np.float64) or _has_nan(scores):
            return False
        highest, has_ties = first_highest(scores)
        codes[...] = highest
        return not has_ties


@attrs.frozen(eq=False)
class PlainCodes:
    """Room for the codes of plain rows.

    The codes that are in use never change: those of later batches are written behind them.
    """

    plain: PlainBatches
    truth: Array
    prediction: Array

    @classmethod
    def of(cls, plain: PlainBatches, rows: int) -> Self:
        """Make room for some rows."""
        shape = (rows, *plain.columns)
        smallest = np.min_scalar_type(plain.codes - 1)
        decided = np.dtype(bool) if plain.codes == 2 else smallest
        return cls(plain, np.empty(shape, smallest), np.empty(shape, decided))

    def put(self, y_true: Array, y_pred: Array, start: int) -> int:
        """Write down the codes of a batch and say where they end.

        0 if there is no room for them, there are none, or the batch is not plain.
        """
        if y_true.size == 1 == y_pred.size and y_true.ndim == 1 == y_pred.ndim:
            return self._put_one(y_true, y_pred, start)
        if y_true.ndim != self.truth.ndim or not y_true.size:
            return 0
        end = start + len(y_true)
        if end > len(self.truth):
            return 0
        rows = self.truth[start:end], self.prediction[start:end]
        return end if self.plain.read(y_true, y_pred, *rows) else 0

    def _put_one(self, y_true: Array, y_pred: Array, start: int) -> int:
        """Write down the codes of one row as `put` does, in a fifth of the time."""
        plain, truth, prediction = self.plain, y_true.item(), y_pred.item()
        labels, codes = plain.labels, plain.codes
        if plain.columns or start >= len(self.truth):
            return 0
        if y_true.dtype not in labels or not 0 <= truth < codes:
            return 0
        if y_pred.dtype in plain.thresholds:
            if math.isnan(prediction):
                return 0
            prediction = (prediction >= plain.config.threshold) is plain.at_least
        elif not (plain.reads_labels and y_pred.dtype in labels and 0 <= prediction < codes):
            return 0
        self.truth[start], self.prediction[start] = truth, prediction
        return start + 1

    def pass_through(self, y_true: Array, y_pred: Array) -> Tally | None:
        """Count a batch that fits piece by piece; None if it is not plain."""
        size = len(self.truth)
        total: Tally | None = None
        for start in range(0, len(y_true), size):
            piece = slice(start, start + size)
            end = self.put(y_true[piece], y_pred[piece], 0)
            if not end:
                return None
            tally = self.tally(end)
            total = tally if total is None else total + tally
        return total

    def tally(self, end: int) -> Tally:
        """Count the codes up to an end."""
        return self.plain.tally(self.truth[:end], self.prediction[:end])


def _end_to_end(parts: Sequence[tuple[Array, Array]]) -> Iterator[Array]:
    return map(np.concatenate, zip(*parts, strict=True))


def _room(codes: int, columns: int) -> int:
    """Choose how many rows may wait.

    Adding a matrix to a state costs as much however few rows it counts, so the room grows
    with it, to an eighth of its bytes and at most 4 MB. Two codes are counted so fast that
    128 KB of them hardly delay a reader.
    """
    if codes == 2:
        return max(_PIECE // 2 // columns, 1)
    return min(max(_LEAST_ROOM, codes**2 // 4), _MOST_ROOM)


def _has_nan(scores: Array) -> bool:
    return math.isnan(scores.item(scores.argmax()))  # that of the first NaN, if there is one


@functools.cache
def _unsigned_views(codes: int) -> Mapping[DType, DType]:
    """Look at every integer as unsigned: a negative one is past all codes then."""
    integers = map(np.dtype, "?BHILQbhilq")
    return {
        dtype: np.dtype(f"u{dtype.itemsize}")
        for dtype in integers
        if dtype.kind != "i" or codes <= 2 ** (8 * dtype.itemsize - 1)
    }


def _thresholds(threshold: float) -> Mapping[DType, Array]:
    """Find the least number of each dtype that reaches the threshold.

    A score of that dtype reaches it if and only if, widened to float64, it reaches the
    threshold, so that it need not be widened.
    """
    return {dtype: _least_reaching(threshold, dtype) for dtype in map(np.dtype, "efd")}


def _least_reaching(threshold: float, dtype: DType) -> Array:
    with np.errstate(all="ignore"):
        nearest = np.array(threshold).astype(dtype)
        above = np.asarray(np.nextafter(nearest, dtype.type(np.inf)))
    return nearest if float(nearest) >= threshold else above
