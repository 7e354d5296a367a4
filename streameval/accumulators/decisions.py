"""Batches of labels or scores, read as codes: the positions of true and predicted classes.

There are two ways in. A training step updates with a few rows at a time, where the general path
spends its time on calls, not on rows. The fast path takes a batch only if nothing about it is
unusual, writes its codes to the buffer, and never raises: the general path reads all other batches.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping
from typing import Any, Self, TypeAlias

import numpy as np

from streameval.accumulators.pending import (
    LABEL_TYPES,
    BufferedState,
    RowBuffer,
    Rows,
    max_total,
    row_of,
)
from streameval.configs.confusion import ConfusionConfig
from streameval.errors import InvalidInputError, Named
from streameval.exact.array_types import Array, Ints, Mask, Scores
from streameval.inputs.arrays import (
    SCORE_BITS,
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
from streameval.inputs.coded import MIN_ROWS, CodedTexts, coded_texts
from streameval.inputs.labels import code_of, encode, is_ignored, present
from streameval.inputs.row_scores import (
    are_pairs,
    positive_scores,
    rows_of_items,
    sum_tolerance,
    weights_of_items,
)
from streameval.states.confusion import credit_codes, credit_dtype

DType: TypeAlias = np.dtype[Any]
Cut: TypeAlias = tuple[np.ufunc, Array, DType | None, float]

_REAL = (
    "Pass ",
    Named("scores", '"real"'),
    " for logits or margins, and a threshold on their scale, such as ",
    Named("threshold", "0"),
    ".",
)
_IMAGE_ENTRIES = 2**20  # scores of the pixels of a few images, which are copied at a time
_PIECE = 2**18  # codes of a large batch that are written before they are counted
_MIN_CAPACITY, _MAX_CAPACITY = 2**13, 2**20  # pending codes of several classes
_FEW_CLASSES = 32
_MANY_ROWS = 512
_SHORT_ROW = 64  # scores
_BLOCK = 2**17  # scores in a block: with what is made from them they stay in the L2 cache


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
    elif y_true.ndim > 2:
        remedy = (
            "Pass ",
            Named("y_pred"),
            f" of shape {y_true.shape} too, or with one dimension more, last or second, for the ",
            "scores of the classes.",
        )
    check_vector(y_true, rows=None, name="y_true", remedy=remedy)


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
        self.texts = None if is_numbered else code_of(config.labels)

    @staticmethod
    @functools.lru_cache(maxsize=64)
    def under(config: ConfusionConfig, *, reads_credit: bool = False) -> FastReader | None:
        """Read a configuration; None if every batch takes the general path under it.

        It always reads credit for several best scores, and else on demand.
        """
        if config.is_open or config.ignore_label is not None or "samples" in config.measures:
            return None
        is_numbered = config.multilabel or isinstance(config.fixed_classes, int)
        if not is_numbered and not isinstance(config.labels[0], str):
            return None
        return FastReader(config, reads_credit=reads_credit or config.top_k > 1)

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
