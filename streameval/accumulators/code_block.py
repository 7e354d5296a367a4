"""The fast path of codes: usual batches, written into a block as they are read.

A training step updates with a few rows at a time, where the general path of `decisions` spends its
time on calls, not on rows. The fast path takes a batch only if nothing about it is unusual, and
never raises: the general path reads all other batches.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping
from typing import Any, Self, TypeAlias

import numpy as np

from streameval.accumulators.best_scores import credit_dtype, first_highest, highest_scores
from streameval.accumulators.pending import (
    LABEL_TYPES,
    BufferedState,
    RowBuffer,
    Rows,
    max_total,
    row_of,
)
from streameval.configs.confusion import ConfusionConfig
from streameval.exact.array_types import Array
from streameval.inputs.arrays import SCORE_BITS, read_weights
from streameval.inputs.coded import MIN_ROWS, coded_texts
from streameval.inputs.labels import code_of

DType: TypeAlias = np.dtype[Any]
Cut: TypeAlias = tuple[np.ufunc, Array, DType | None, float]

_PIECE = 2**18  # codes of a large batch that are written before they are counted
_MIN_CAPACITY, _MAX_CAPACITY = 2**13, 2**20  # pending codes of several classes


def code_dtypes(n_codes: int) -> tuple[DType, DType]:
    """Choose the types of codes of the truth and of decisions."""
    smallest = np.min_scalar_type(n_codes - 1)
    return smallest, np.dtype(bool) if n_codes == 2 else smallest


def code_capacity(n_codes: int, columns: int) -> int:
    """Choose how many rows may be pending.

    Adding a matrix to a state costs as much however few rows it counts, so the capacity grows
    with it, to an eighth of its bytes and at most 4 MB. Two codes are counted so fast that
    128 KB of them hardly delay a reader.
    """
    if n_codes == 2:
        return max(_PIECE // 2 // columns, 1)
    return min(max(_MIN_CAPACITY, n_codes**2 // 4), _MAX_CAPACITY)


class FastReader:
    """The usual batches of a configuration, and how to read them.

    A code is the position of a class, or 0 or 1 for each label of a multilabel row.

    Parameters
    ----------
    config : ConfusionConfig
    reads_credit : bool
        Whether the credit of a row is a third code. If not, rows with tied scores are unusual.

    Attributes
    ----------
    columns : tuple of int
        The shape of the codes of one row.
    codes : int
        How many codes there are.
    dtypes : tuple of dtype
        The types of the codes of truth and prediction, and if it `reads_credit` of its codes.
    labels : mapping of dtype to dtype
        The dtype in which to view integers so that no negative integer is below `codes`.
    reads_labels : bool
        Whether integers are certainly predicted labels.
    reads_rows : bool
        Whether there is one score per class.
    reads_one : bool
        Whether the codes of a row are those of two numbers.
    cuts : mapping of dtype to tuple
        Unless `reads_rows`, how to compare a score with which number of its own dtype, to find
        its code; and the highest that may be: infinity, or where scores must lie in [0, 1], the
        bits of 1.0 after the dtype that shows bits, as `are_probabilities` finds it.
    lowest, highest, threshold : float
        The range of such scores, and the lowest positive one.
    at_least : bool
        Whether scores from the threshold on have code 1, or those below it.
    piece : int
        How many rows of a large batch are counted at a time.
    capacity : int
        How many rows may be pending.
    texts : mapping from text to code, optional
        The codes, if the classes are texts.
    """

    def __init__(self, config: ConfusionConfig, *, reads_credit: bool) -> None:
        decides = config.multilabel or config.is_binary
        columns = config.n_classes if config.multilabel else 1
        is_numbered = config.multilabel or isinstance(config.fixed_classes, int)
        takes_scores = config.from_scores is not False
        has_doubt = not config.multilabel and not 0 < config.thresholds[0] <= 1
        self.config = config
        self.columns = (columns,) if config.multilabel else ()
        self.codes = codes = 2 if decides else config.n_classes
        self.reads_credit = reads_credit
        self.dtypes: tuple[DType, ...] = code_dtypes(codes)
        if reads_credit:
            self.dtypes += (credit_dtype(config),)
        self.labels = _unsigned_views(codes) if is_numbered else {}
        self.reads_labels = not has_doubt and not config.from_scores and config.top_k == 1
        self.reads_rows = takes_scores and not decides
        self.reads_one = is_numbered and not config.multilabel and not reads_credit
        self.lowest, self.highest = config.score_range
        self.threshold = config.thresholds[0]
        self.at_least = not config.is_binary or bool(config.positive_position)
        self.cuts = _cuts(config, self.at_least) if takes_scores and decides else {}
        self.piece = max(_PIECE // columns, 1)
        self.capacity = code_capacity(codes, columns)
        are_texts = not is_numbered and isinstance(config.labels[0], str)
        self.texts = code_of(config.labels) if are_texts else None

    @staticmethod
    @functools.lru_cache(maxsize=64)
    def under(config: ConfusionConfig, *, reads_credit: bool = False) -> FastReader | None:
        """Read a configuration; None if every batch takes the general path under it.

        It always reads credit for several best scores, and else on demand.
        """
        if config.is_open or config.ignore_label is not None or "samples" in config.measures:
            return None
        made = FastReader(config, reads_credit=reads_credit or config.top_k > 1)
        return made if made.labels or made.texts else None

    def fits(self, y_true: Array, y_pred: Array) -> bool:
        """Return whether there are rows, and equally many predictions and labels."""
        rows = y_true.shape[:1]
        return rows == y_pred.shape[:1] and rows not in ((), (0,))

    def read(
        self,
        y_true: Array,
        y_pred: Array,
        truth: Array,
        prediction: Array,
        credit: Array | None = None,
    ) -> bool:
        """Write the codes of a batch; False if it is unusual, or of another shape."""
        if not self._read_labels(y_true, truth):
            return False
        cut = self.cuts.get(y_pred.dtype)
        if cut is not None:  # inlined: a call takes as long as the check of the range
            if y_pred.shape != prediction.shape:
                return False
            reaches, threshold, bits, highest = cut
            ordered = y_pred if bits is None else y_pred.view(bits)
            if not ordered.item(ordered.argmax()) <= highest:  # the argmax is the first NaN
                return False
            reaches(y_pred, threshold, prediction)
            return True
        if y_pred.dtype.kind == "f":
            return self._read_rows(y_pred, truth, prediction, credit)
        is_read = self.reads_labels and self._read_labels(y_pred, prediction)
        if is_read and credit is not None:
            credit[...] = truth == prediction
        return is_read

    def rows(
        self, y_true: Array, y_pred: Array, weights: Array | None, step: int | None = None
    ) -> Iterator[Rows | None]:
        """Yield the codes of a batch, all or some rows at a time in one memory; None if unusual."""
        n_rows = len(y_true)
        step = min(step or n_rows, n_rows)
        memory = self.memory(step)
        for start in range(0, n_rows, step):
            piece = slice(start, min(start + step, n_rows))
            codes = tuple([one[: piece.stop - start] for one in memory])
            is_read = self.read(y_true[piece], y_pred[piece], *codes)
            yield Rows(codes, None if weights is None else weights[piece]) if is_read else None

    def memory(self, rows: int) -> tuple[Array, ...]:
        """Make arrays for the codes of rows."""
        return tuple([np.empty((rows, *self.columns), dtype) for dtype in self.dtypes])

    def _read_labels(self, array: Array, codes: Array) -> bool:
        dtype = self.labels.get(array.dtype)
        if dtype is None:
            return self.texts is not None and self._read_texts(array, codes)
        if array.shape != codes.shape:
            return False
        labels = array.view(dtype)
        if labels.item(labels.argmax()) >= self.codes:  # on 32 rows, a third of the time of max
            return False
        codes[...] = labels
        return True

    def _read_texts(self, array: Array, codes: Array) -> bool:
        if array.dtype.kind not in "OU" or array.shape != codes.shape:
            return False
        coded = coded_texts(array) if len(codes) >= MIN_ROWS else None
        try:
            if coded is not None:
                codes[...] = coded.recoded(self._codes_of)
            else:
                codes[...] = self._codes_of(array.tolist())
        except (KeyError, TypeError):  # an unknown text, or not a text
            return False
        return True

    def _codes_of(self, texts: list[Any]) -> Array:
        known: Any = self.texts
        return np.fromiter(map(known.__getitem__, texts), np.intp, len(texts))

    def _read_rows(
        self, scores: Array, truth: Array, prediction: Array, credit: Array | None
    ) -> bool:
        wanted = self.reads_rows and scores.shape == (len(truth), self.codes)
        if not wanted or scores.dtype not in (np.float32, np.float64) or _has_nan(scores):
            return False
        if credit is not None:
            prediction[...], credit[...] = highest_scores(scores, truth, self.config.top_k)
            return True
        highest, has_ties = first_highest(scores)
        prediction[...] = highest
        return not has_ties


def read_usual(
    y_true: Array, y_pred: Array, sample_weight: Any, config: ConfusionConfig
) -> Rows | None:
    """Read a batch as codes of the truth and of decisions; None if it is unusual."""
    reader, are_arrays = FastReader.under(config), type(y_true) is type(y_pred) is np.ndarray
    if reader is None or not are_arrays or not reader.fits(y_true, y_pred):
        return None
    codes = reader.memory(len(y_true))
    if not reader.read(y_true, y_pred, *codes):
        return None
    return Rows(codes, read_weights(sample_weight, rows=len(y_true)))


class CodeBlock(RowBuffer):
    """A block of codes, into which usual batches are read without making arrays."""

    __slots__ = ("credit", "prediction", "reader", "truth")

    reader: FastReader
    truth: Array
    prediction: Array
    credit: Array | None

    @classmethod
    def of(cls, reader: FastReader) -> Self:
        """Make an empty block for what a reader writes."""
        block = cls(reader.memory(reader.capacity), reader.capacity)
        block.reader, (block.truth, block.prediction, *credit) = reader, block.columns
        block.credit = credit[0] if credit else None
        return block

    def put_one(self, owner: BufferedState[Any], first: Any, second: Any) -> bool:
        """Write a row of two numbers as `put_batch` does, in a fifth of the time."""
        reader, used = self.reader, owner.used
        if used >= self.capacity or self.weights is not None or not reader.reads_one:
            return False
        if type(first) not in LABEL_TYPES:
            first, second = row_of(first, second)
            if type(first) not in LABEL_TYPES:
                return False
        if not 0 <= first < reader.codes:
            return False
        if type(second) is float:
            if not (reader.cuts and reader.lowest <= second <= reader.highest):
                return False
            second = (second >= reader.threshold) is reader.at_least
        elif not (
            reader.reads_labels and type(second) in LABEL_TYPES and 0 <= second < reader.codes
        ):
            return False
        self.truth[used], self.prediction[used] = first, second
        owner.used = used + 1
        return True

    def put_batch(
        self, owner: BufferedState[Any], y_true: Array, y_pred: Array, sample_weight: Any
    ) -> bool:
        """Write a batch behind the rows in use; False if it is too large, empty or unusual."""
        size, start = y_true.size, owner.used
        if not size or y_true.ndim != self.truth.ndim:
            return False
        end = start + len(y_true)
        if end > self.capacity:
            return False
        rows, credit = slice(start, end), self.credit
        truth, prediction = self.truth[rows], self.prediction[rows]
        credit = None if credit is None else credit[rows]
        if not self.reader.read(y_true, y_pred, truth, prediction, credit):
            return False
        if sample_weight is not None or self.weights is not None:
            weights = read_weights(sample_weight, rows=end - start)
            needed = 0 if weights is None else max_total(weights)
            if needed > owner.spare:
                return False
            owner.spare -= needed
            self.put_weights(start, end, weights)
        owner.used, owner.counted = end, None
        return True


def _has_nan(scores: Array) -> bool:
    return math.isnan(scores.item(scores.argmax()))  # the argmax is the first NaN


@functools.cache
def _unsigned_views(codes: int) -> Mapping[DType, DType]:
    """View every integer as unsigned, so that negative integers exceed all codes."""
    integers = map(np.dtype, "?BHILQbhilq")
    return {
        dtype: np.dtype(f"u{dtype.itemsize}")
        for dtype in integers
        if dtype.kind != "i" or codes <= 2 ** (8 * dtype.itemsize - 1)
    }


def _cuts(config: ConfusionConfig, at_least: bool) -> Mapping[DType, Cut]:
    """Find the smallest number of each dtype that reaches the threshold, or each of several.

    A score of that dtype reaches it if and only if, widened to float64, it reaches the
    threshold, so that it need not be widened.
    """
    reaches: np.ufunc = np.greater_equal if at_least else np.less
    cuts: dict[DType, Cut] = {}
    for dtype in map(np.dtype, "efd"):
        bits, highest = SCORE_BITS[dtype] if config.takes_probabilities else (None, math.inf)
        cuts[dtype] = reaches, _min_reaching(config.threshold, dtype), bits, highest
    return cuts


def _min_reaching(threshold: float | tuple[float, ...], dtype: DType) -> Array:
    with np.errstate(all="ignore"):
        nearest = np.array(threshold).astype(dtype)
        above = np.asarray(np.nextafter(nearest, dtype.type(np.inf)))
    return np.where(nearest.astype(np.float64) >= threshold, nearest, above)
