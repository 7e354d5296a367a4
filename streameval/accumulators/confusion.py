"""Accuracy, precision, recall, F and related metrics from counts of truth against prediction."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, cast, final

import numpy as np

from streameval.accumulators.base import BufferedAccumulator, fork
from streameval.accumulators.code_block import CodeBlock, FastReader, code_capacity
from streameval.accumulators.decisions import (
    as_items,
    image_pieces,
    read_codes,
    read_decided,
    read_observed,
)
from streameval.accumulators.pending import (
    BufferedState,
    LooseRows,
    RowBuffer,
    Rows,
    max_total,
    pending_rows,
)
from streameval.configs.confusion import ConfusionConfig
from streameval.errors import CountOverflowError, InvalidInputError, Named, StreamevalError
from streameval.exact.array_types import Array, Ints
from streameval.exact.fixed_point import MAX_TOTAL
from streameval.exact.weight_sums import WeightArray, are_whole
from streameval.inputs.arrays import (
    as_array,
    as_labels_or_scores,
    as_vector,
    labelled_matrix,
    lack_rows,
    read_weights,
)
from streameval.inputs.batches import all_have_weight
from streameval.inputs.classes import Classes, Label
from streameval.inputs.coded import CodedTexts, are_texts, coded_texts
from streameval.inputs.labels import Dictionary, distinct, in_class_order, observe
from streameval.inputs.row_scores import weights_of_items
from streameval.metrics.label_counts import ConfusionCounts, LabelCounts
from streameval.states.confusion import (
    ExampleCounts,
    MatrixCounts,
    MultilabelCounts,
    ObservedCounts,
    TopKCounts,
)
from streameval.states.stack import Stack

if TYPE_CHECKING:
    from streameval.results.confusion import Confusion

BufferedCounts = BufferedState[ConfusionCounts]


_MAX_OBSERVED = 2**13  # rows: more are counted at once
_MAX_CELLS = 2**22  # of the matrices of many groups
_LARGE_MATRIX = 2**18  # cells: half of the cache of a core
_FEW_LABELS = 256  # numbers: below this, a dictionary is faster than finding distinct numbers


def _state_of(config: ConfusionConfig) -> type[ConfusionCounts]:
    """Choose the class of the states."""
    if config.multilabel:
        return ExampleCounts if config.measures else MultilabelCounts
    if config.measures:
        return TopKCounts
    return ObservedCounts if config.is_open else MatrixCounts


def _read_rows(config: ConfusionConfig, arrays: Mapping[str, Any]) -> Rows | None:
    """Read the rows of many groups at once; None if each group has to be updated alone."""
    y_true, y_pred, weights = arrays["y_true"], arrays["y_pred"], arrays.get("sample_weight")
    if config.ignore_label is not None or np.ndim(cast("Any", weights)) > 1:
        return None
    if config.is_open:
        if y_true.ndim > 1 or y_pred.ndim > 1:
            return None
        observed, dictionary = read_observed(y_true, y_pred, weights, config), Dictionary(())
        columns = _encode(observed.columns, dictionary)
        fits = ObservedCounts.may_hold(len(dictionary), dictionary.n_characters)
        return Rows(columns, observed.weights, dictionary) if fits else None
    if not config.multilabel:
        if y_true.ndim > 1:
            return None
        y_pred = as_vector(y_pred)
    rows, _ = read_codes(y_true, y_pred, weights, config)
    return rows


def _count_groups(
    config: ConfusionConfig, rows: Rows, groups: Array, n_groups: int
) -> Mapping[str, Stack] | None:
    """Count the rows of many groups at once; None if each group has to be counted alone."""
    weights = rows.unequal_weights
    if weights is not None and not are_whole(weights):
        return None
    if rows.dictionary is not None:
        if n_groups * len(rows.dictionary) ** 2 > _MAX_CELLS:
            return None
        return ObservedCounts.of_groups(*_observed(rows), weights, groups, n_groups)
    if _state_of(config) is not MatrixCounts or n_groups * config.n_classes**2 > _MAX_CELLS:
        return None
    (truth, prediction, *_), credit = rows.columns, _credit_of(rows)
    return MatrixCounts.of_groups(truth, prediction, credit, weights, groups, n_groups, config)


@final
class ConfusionAccumulator(
    BufferedAccumulator[ConfusionConfig, ConfusionCounts],
    type_id=1,
    config=ConfusionConfig,
    state=_state_of,
):
    """Count truth against prediction, batch by batch.

    Binary, multiclass and multilabel classification from labels or scores; the state is the
    confusion matrix, so memory depends on the number of classes alone and any number of
    workers can merge.

    Parameters
    ----------
    classes : int, sequence of labels, mapping from label to name, or "auto"
        A number K stands for the labels 0..K-1; a sequence lists the labels (integers or
        strings) in the order of rows, columns and scores; ``"auto"`` collects labels from the
        data (at most 4096) and sorts them. A mapping such as ``{0: "neg", 1: "pos"}``, or an
        ``id2label`` of Hugging Face, names the labels: they are shown and found by their names.
        Its integers are in ascending order, as digits in text too; other text is as listed.
    multilabel : bool
        Whether each of the `classes` is present or absent on its own.
    threshold : float, or sequence of float
        A score of at least this is a positive prediction, for two classes and multilabel; for
        multilabel, it may be one for each label.
        Scores are widened to float64 before they are compared.
    scores : {"probability", "real"}, optional
        Whether the scores of two classes and multilabel lie in [0, 1]. ``"real"`` takes any
        number, such as logits. By default, they do if ``0 < threshold <= 1``.
        ``"probability"`` needs a threshold in [0, 1].
    pos_label : label, optional
        The positive one of two classes: by default 1, or the second of two listed.
    from_scores : bool, optional
        Whether `y_pred` holds scores. By default a floating dtype does and others do not; an
        integer array that could be either is refused.
    top_k : int
        Among how many of the best scores the true class must be for `top_k_accuracy`.
    ignore_label : label, optional
        Rows (for multilabel, entries) whose truth is this do not count.
    include_unseen : bool
        Whether macro means keep classes that occur in neither truth nor prediction, as zeros.
    measures : sequence of str
        Additional counts to keep: ``"samples"``, for means over examples with ``average="samples"``
        (multilabel); ``"top_k"``, for precision, recall and F of the best `top_k` scores. The name
        of such a metric asks for it too, as in ``"recall[samples]"``.

    Notes
    -----
    Counts are exact up to 2**63 - 1, and weights to 2**-63. An update of n rows costs O(n), or
    O(n * K) for scores, whatever `top_k` is: small batches are counted into the matrix together.
    The state holds K * K cells of 8 bytes and top_k * K more. ``measures=["samples"]`` adds
    16 bytes for each combination of hits, false positives, misses and correct rejections of an
    example.

    Examples
    --------
    >>> import streameval as se
    >>> acc = se.ConfusionAccumulator(classes=["ham", "spam"])
    >>> acc.update(["spam", "ham", "spam"], ["spam", "ham", "ham"]).compute().recall()
    0.5
    >>> other = se.ConfusionAccumulator(classes=["ham", "spam"])
    >>> other.update(["ham"], [0.9])  # a score: at least 0.5 is spam
    ConfusionAccumulator(classes=('ham', 'spam'), pos_label='spam', n=1)
    >>> (acc + other).compute().matrix
    array([[1, 1],
           [1, 1]])

    Means over examples are asked for, since they need more than the counts of labels:

    >>> acc = se.ConfusionAccumulator(3, multilabel=True, measures=["samples"])
    >>> result = acc.update([[1, 1, 0], [0, 1, 0]], [[1, 0, 0], [0, 1, 1]]).compute()
    >>> result.precision(average="samples"), result.recall(average="samples")
    (0.75, 0.75)
    """

    __slots__ = ()

    _arrays = ("y_true", "y_pred")
    _loose_rows = LooseRows(_read_rows, _count_groups)

    def __init__(
        self,
        classes: Classes | Any = 2,
        *,
        multilabel: bool = False,
        threshold: float | Sequence[float] = 0.5,
        scores: Literal["probability", "real"] | None = None,
        pos_label: Label | None = None,
        from_scores: bool | None = None,
        top_k: int = 1,
        ignore_label: Label | None = None,
        include_unseen: bool = False,
        measures: Sequence[str] | str = (),
    ) -> None:
        self._configure(locals())

    @classmethod
    def from_matrix(cls, matrix: Any, classes: Any = None, **options: Any) -> Self:
        """Take counts that were made elsewhere: on a device, by a database, by another library.

        The state is that of counting the rows one by one, byte for byte, so it merges like any
        other.

        Parameters
        ----------
        matrix : array of shape (K, K)
            Non-negative counts, or sums of weights: rows are the truth, columns the prediction. A
            data frame, such as ``pandas.crosstab`` returns, must have the same labels in the same
            order for both.
        classes : int, sequence of labels, or mapping from label to name, optional
            The classes in the order of rows and columns; integers of a mapping are in ascending
            order. By default the labels of a data frame, or the number of rows.
        **options
            Further options of the class, but for those of which a matrix does not tell:
            `multilabel`, `from_scores`, `top_k` and `measures`.

        Returns
        -------
        ConfusionAccumulator
            A new one.

        Raises
        ------
        InvalidInputError
            If the matrix is not square, does not have K rows, or holds a negative or missing
            count; or if an option cannot be told from a matrix.
        CountOverflowError
            If the total passes 2**63 - 1.

        Examples
        --------
        >>> import streameval as se
        >>> acc = se.ConfusionAccumulator.from_matrix([[50, 2], [7, 41]], ["ham", "spam"])
        >>> acc.update(["spam"], ["ham"]).compute().matrix
        array([[50,  2],
               [ 8, 41]])
        """
        for name in ("multilabel", "from_scores", "top_k", "measures"):
            if name in options:
                got = f"cannot be told from a matrix, got {options[name]!r}"
                raise InvalidInputError(got, argument=name)
        labels, counts = labelled_matrix(matrix, name="matrix")
        made = cls(labels if classes is None else classes, **options)
        if made._config.is_open:
            raise InvalidInputError('must list the labels, got "auto"', argument="classes")
        if len(counts) != made._config.n_classes:
            rule = f"must have one row for each of {made._config.n_classes} classes"
            raise InvalidInputError(f"{rule}, got {len(counts)}", argument="matrix")
        if made._config.ignore_label in made._config.labels:
            counts = counts.copy()
            counts[made._config.labels.index(made._config.ignore_label)] = 0
        truth, prediction = np.nonzero(counts)
        try:
            weights = read_weights(counts[truth, prediction], rows=len(truth))
            if weights is None:  # nothing was counted
                return made
            of_rows = MatrixCounts.of(truth, prediction, None, weights, made._config)
        except CountOverflowError as error:
            raise error.renamed("sample_weight", "matrix") from None
        return made._absorb(of_rows)

    def update(self, y_true: Any, y_pred: Any = None, *, sample_weight: Any = None) -> Self:
        """Count one batch: the truth first, then the prediction, as in scikit-learn.

        torchmetrics takes them the other way round. With integer labels, a swapped order cannot
        be detected: it silently exchanges precision and recall.

        Parameters
        ----------
        y_true : array of shape (n,), or (n, K) of 0 and 1 for multilabel
            The true labels. Alone, a batch: a tuple or list of the arrays in this order, or
            a mapping, data frame or Arrow table with columns of these names.
        y_pred : array of shape (n,) or (n, K)
            Labels of shape (n,); scores (n, K), or for two classes (n,); for multilabel (n, K)
            labels 0 and 1, or scores. (n, 1) is taken as (n,). Labels of more dimensions, such as
            tokens (B, T) and masks (N, H, W), are counted item by item, with labels of the same
            shape or scores of shape (B, T, K) or (N, K, H, W). Two numbers or texts are a row.
        sample_weight : array of shape (n,), or of the shape of the labels, optional
            Non-negative weights: 2 counts a row twice, 0 leaves it out, whatever it holds. For
            multilabel, (n, K) are weights of entries, and an example has the largest of its own.

        Returns
        -------
        The accumulator itself.

        Raises
        ------
        InvalidInputError
            When an array has the wrong shape, type or values; the message names it and says
            where. Nothing of the batch has been counted then.
        CountOverflowError
            When the total would pass 2**63 - 1. Nothing has been counted then.
        """
        held = self._held
        if sample_weight is None and held.block.put_one(held, y_true, y_pred):
            return self
        if all_have_weight(y_true, y_pred, sample_weight):
            return self._count_arrays(y_true, y_pred, sample_weight)
        return self._take_batch(
            *(y_true, y_pred), optional=(sample_weight,), may_weigh_entries=self._config.multilabel
        )

    def compute(self) -> Confusion:
        """Compute the matrix and everything that follows from it.

        Returns
        -------
        Confusion
            Frozen: later updates do not change it.
        """
        from streameval.results.confusion import Confusion  # noqa: PLC0415 (rendering too)

        return Confusion(LabelCounts.of(self._config, self._held.state_by(self._with_rows)))

    def _count_arrays(self, y_true: Any, y_pred: Any, sample_weight: Any) -> Self:
        """Count by the first way that takes the batch: into the block, beside it, in general.

        The general path takes every batch. The others give the same counts, or decline.
        """
        config, held = self._config, self._held
        are_arrays = type(y_true) is type(y_pred) is np.ndarray
        if not are_arrays:
            if config.is_open and are_texts(y_true, y_pred):
                return self._update_observed(y_true, y_pred, sample_weight)
            if not config.is_open:
                y_true = in_class_order(y_true, config, name="y_true")
                y_pred = in_class_order(y_pred, config, name="y_pred")
            y_true = _read_side(y_true, as_labels_or_scores, name="y_true")
            y_pred = _read_side(y_pred, as_labels_or_scores, name="y_pred")
        if sample_weight is None or np.ndim(sample_weight) != 2:
            block = held.block
            if type(block) is CodeBlock and block.put_batch(held, y_true, y_pred, sample_weight):
                return self  # most updates end here
            usual = self._with_usual(held, y_true, y_pred, sample_weight)
            if usual is not None:
                self._held = usual
                return self
        if are_arrays:  # their dtypes have not been checked so far
            y_true = _read_side(y_true, as_array, name="y_true")
            y_pred = _read_side(y_pred, as_array, name="y_pred")
        return self._update_general(y_true, y_pred, sample_weight)

    def _with_usual(
        self, held: BufferedCounts, y_true: Array, y_pred: Array, sample_weight: Any
    ) -> BufferedCounts | None:
        """Add a usual batch that the block has no space for; None on the general path."""
        block = held.block
        reader = block.reader if type(block) is CodeBlock else FastReader.under(self._config)
        if reader is None or not reader.fits(y_true, y_pred):
            return None
        try:
            weights = read_weights(sample_weight, rows=len(y_true))
        except StreamevalError:  # the general path knows which argument is refused first
            return None
        needed = len(y_true) if weights is None else max_total(weights)
        if held.used + len(y_true) <= block.capacity or needed > held.spare:
            return None  # with space, the block has found it unusual
        is_large, state = len(y_true) > reader.capacity // 2, held.state
        for rows in reader.rows(y_true, y_pred, weights, reader.piece if is_large else None):
            if rows is None:
                return None
            if not is_large:
                return self._appended(held, rows)
            state = self._with_rows(state, rows)  # beside the pending rows
        return BufferedState(state, block, held.used, held.spare - needed)

    def _update_general(self, y_true: Array, y_pred: Array, sample_weight: Any) -> Self:
        """Read a batch of any form and shape by the general path."""
        if lack_rows(y_true, y_pred, sample_weight=sample_weight):
            return self
        if not self._config.is_open:
            y_true, y_pred = np.asarray(y_true), np.asarray(y_pred)
        if not self._config.multilabel:
            pieces = image_pieces(y_true, y_pred, self._config)
            if len(pieces) > 1:
                return self._update_images(y_true, y_pred, sample_weight, pieces)
            items = as_items(y_true, y_pred, sample_weight, self._config)
            if items is not None:
                truth, prediction, weights = items
                return self.update(truth, prediction, sample_weight=weights)
        if self._config.is_open:
            return self._update_observed(y_true, y_pred, sample_weight)
        rows, known = read_decided(y_true, y_pred, sample_weight, self._config)
        if known is None:
            return self._append(rows)
        weights, (truth, prediction) = rows.unequal_weights, rows.columns
        counts = cast("type[MultilabelCounts]", self._state_type(self._config))
        return self._absorb(counts.of(truth, prediction, known, weights, self._config))

    def _update_images(
        self, y_true: Array, y_pred: Array, sample_weight: Any, pieces: list[slice]
    ) -> Self:
        """Count images a few at a time, all or none: their scores are copied, pixel by pixel."""
        counted, n_pixels = fork(self), y_true[0].size
        of_items = weights_of_items(sample_weight, y_true.shape)
        weights = read_weights(of_items, rows=y_true.size)
        for piece in pieces:
            of_piece = None if weights is None else weights.reshape(y_true.shape)[piece]
            try:
                counted._update_general(y_true[piece], y_pred[piece], of_piece)
            except InvalidInputError as error:
                rows = range(piece.start * n_pixels, y_true.size)
                raise (error if error.position is None else error.moved(rows)) from None
        self._held = counted._held
        return self

    def _update_observed(self, y_true: Array, y_pred: Array, sample_weight: Any) -> Self:
        """Count a batch of any labels."""
        rows = read_observed(y_true, y_pred, sample_weight, self._config)
        if not rows.size:
            return self
        held, is_text = self._held, rows.columns[0].dtype == object
        dictionary = held.block.dictionary or Dictionary(cast("ObservedCounts", held.state).labels)
        if len(dictionary) and dictionary.are_texts != is_text:
            raise InvalidInputError(
                "and ",
                Named("y_pred"),
                " must hold labels of the type before: all numbers or all strings",
                argument="y_true",
            )
        if is_text or rows.size <= _MAX_OBSERVED:
            columns = _encode(rows.columns, dictionary)
            if ObservedCounts.may_hold(len(dictionary), dictionary.n_characters):
                return self._append(Rows(columns, rows.weights, dictionary))
        # there are too many, or the dictionary holds those of failed updates: do without it
        self._held = BufferedState.of(held.state_by(self._with_rows))
        observed, codes = observe(np.concatenate(rows.columns))
        truth, prediction = np.split(codes, 2)
        return self._absorb(ObservedCounts.of(observed, truth, prediction, rows.weights))

    def _counts_of(self, rows: Rows) -> ConfusionCounts:
        config, (truth, prediction, *_) = self._config, rows.columns
        weights: WeightArray | None = rows.unequal_weights
        if rows.dictionary is not None:
            return ObservedCounts.of(*_observed(rows), weights)
        counts: Any = self._state_type(config)
        if config.multilabel:
            truth, prediction = truth.view(np.bool_), prediction.view(np.bool_)
        made: ConfusionCounts = counts.of(truth, prediction, _credit_of(rows), weights, config)
        return made

    def _with_rows(self, state: ConfusionCounts, rows: Rows) -> ConfusionCounts:
        if not state.has_counted:
            return self._counts_of(rows)
        if self._config.measures or not _may_be_tallied(state, rows):
            return self._sum(state, self._counts_of(rows))
        # the total fits, so there is no need to search a large matrix for overflows
        held, (truth, prediction) = cast("MatrixCounts | MultilabelCounts", state), rows.columns
        return held.with_tally(held.tally(truth, prediction, self._config), rows.size)

    def _fold(self, alike: Sequence[Any]) -> BufferedCounts:
        is_matrix = self._state_type(self._config) is MatrixCounts
        if not is_matrix or self._config.n_classes**2 < _LARGE_MATRIX:
            return super()._fold(alike)
        held = [one._held for one in alike]
        total = cast("MatrixCounts", self._sum(*(one.state for one in held)))
        is_own = all(total.matrix.whole is not one.state.matrix.whole for one in held)
        for rows in pending_rows(held):  # a matrix of a few rows would be as large as the total
            if is_own and rows.size < _LARGE_MATRIX and _may_be_tallied(total, rows):
                total = total.count_here(*rows.columns)
            else:
                total, is_own = cast("MatrixCounts", self._with_rows(total, rows)), True
        return BufferedState.of(total)

    def _block(self, state: ConfusionCounts, rows: Rows) -> RowBuffer:
        if isinstance(state, ObservedCounts):
            return RowBuffer.like(rows, code_capacity(len(state.labels) + 3, 1))
        config, has_credit = self._config, _credit_of(rows) is not None
        reader = FastReader.under(config, reads_credit=has_credit)
        if reader is not None:
            return CodeBlock.of(reader)
        codes, columns = (2, config.n_classes) if config.multilabel else (config.n_classes, 1)
        return RowBuffer.like(rows, code_capacity(codes, columns))


def _may_be_tallied(state: ConfusionCounts, rows: Rows) -> bool:
    """Tell whether rows of weight 1, whose hits have full credit, fit into a state."""
    return (
        _credit_of(rows) is None
        and rows.dictionary is None
        and rows.unequal_weights is None
        and state.n.whole.item() + rows.size <= MAX_TOTAL
    )


def _credit_of(rows: Rows) -> Array | None:
    """Return the codes of the credit of rows, if they are a third column."""
    return rows.columns[2] if len(rows.columns) > 2 else None


def _read_side(value: Any, read: Callable[..., Array], *, name: str) -> Any:
    """Read the truth or the predictions; texts that are coded already stay codes."""
    coded = coded_texts(value)
    return read(value, name=name) if coded is None else coded


def _encode(labels: tuple[Any, ...], dictionary: Dictionary) -> tuple[Array, ...]:
    """Code true and predicted labels by a dictionary, which learns those that are new."""
    code = functools.partial(dictionary.encode, name="y_true")
    sides = [side for side in map(_coded, labels) if side is not None]
    if len(sides) == 2:
        return tuple(side.recoded(code) for side in sides)
    codes = _codes_of(np.concatenate(labels), dictionary)
    return tuple(np.split(codes, 2))


def _coded(side: Any) -> CodedTexts | None:
    """Return the codes and texts of a column that has them."""
    return side if type(side) is CodedTexts else coded_texts(side)


def _codes_of(labels: Array, dictionary: Dictionary) -> Ints:
    """Code labels one by one, or many numbers through the distinct ones."""
    if labels.dtype == object or len(labels) < _FEW_LABELS:
        return dictionary.encode(labels.tolist(), name="y_true")
    numbers, codes = distinct(labels, name="y_true")
    return dictionary.encode(numbers.tolist(), name="y_true")[codes]


def _observed(rows: Rows) -> tuple[tuple[Label, ...], Array, Array]:
    """Return the labels that occur, sorted, and the index of each true and predicted one."""
    dictionary, (truth, prediction) = cast("Dictionary", rows.dictionary), rows.columns
    occurs = np.zeros(len(dictionary), dtype=bool)
    occurs[truth] = occurs[prediction] = True
    known = np.flatnonzero(occurs)
    labels = dictionary.decode(known)
    ordered = sorted(range(len(labels)), key=labels.__getitem__)
    rank = np.zeros(len(occurs), dtype=np.intp)
    rank[known[ordered]] = np.arange(len(labels))
    return tuple(labels[index] for index in ordered), rank[truth], rank[prediction]
