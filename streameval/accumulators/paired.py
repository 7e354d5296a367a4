"""Two models on the same rows, and which of them is right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self, final

import numpy as np
import numpy.typing as npt

from streameval.accumulators.buffered import BufferedAccumulator
from streameval.accumulators.decisions import (
    FastReader,
    flattened,
    read_decided,
    read_observed,
)
from streameval.accumulators.pending import Rows
from streameval.configs.paired import PairedConfig
from streameval.errors import InvalidInputError
from streameval.inputs.arrays import are_empty, as_labels_or_scores, read_weights
from streameval.inputs.labels import Classes, Label
from streameval.states.paired import PairedCounts

if TYPE_CHECKING:
    from streameval.results.paired import PairedResult

__all__ = ["Paired"]

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]

_CAPACITY = 2**14  # rows of a byte


@final
class Paired(
    BufferedAccumulator[PairedConfig, PairedCounts],
    type_id=10,
    config=PairedConfig,
    state=PairedCounts,
):
    """Count which of two models is right on the same rows, batch by batch.

    The state is four counts: rows that both get right, model A alone, model B alone, or neither.
    These give both accuracies, McNemar's test, and a test that is valid at any time.

    Parameters
    ----------
    classes : int, sequence of labels, or "auto"
        A number K stands for the labels 0..K-1; a sequence lists the labels (integers or
        strings) in the order of scores; ``"auto"`` takes any labels.
    multilabel : bool
        Whether each of the `classes` is present or absent on its own; a row is right if all are.
    threshold : float
        A score of at least this is a positive prediction, for two classes and multilabel.
    scores : {"probability", "real"}, optional
        Whether the scores of two classes and multilabel lie in [0, 1]. ``"real"`` takes any
        number, such as logits. By default they do while ``0 < threshold <= 1``.
        ``"probability"`` needs a threshold in [0, 1].
    pos_label : label, optional
        The positive one of two classes: by default 1, or the second of two listed.
    from_scores : bool, optional
        Whether predictions are scores. By default a floating dtype is and others are not.
    ignore_label : label, optional
        Rows (for multilabel, entries) whose truth is this do not count.

    Notes
    -----
    Labels and scores are read as `ConfusionAccumulator` reads them. An update of n rows costs
    O(n).

    Examples
    --------
    >>> import streameval as se
    >>> acc = se.Paired(classes=["ham", "spam"])
    >>> acc.update(["spam", "ham", "spam"], ["spam", "ham", "ham"], [0.9, 0.8, 0.7])
    Paired(classes=('ham', 'spam'), pos_label='spam', n=3)
    >>> result = acc.compute()
    >>> result.n_only_a, result.n_only_b, result.difference
    (1, 1, 0.0)
    """

    __slots__ = ()

    _arrays = ("y_true", "y_pred_a", "y_pred_b")

    def __init__(
        self,
        classes: Classes | Any = 2,
        *,
        multilabel: bool = False,
        threshold: float = 0.5,
        scores: Literal["probability", "real"] | None = None,
        pos_label: Label | None = None,
        from_scores: bool | None = None,
        ignore_label: Label | None = None,
    ) -> None:
        super().__init__(
            PairedConfig.of(
                classes=classes,
                multilabel=multilabel,
                threshold=threshold,
                scores=scores,
                pos_label=pos_label,
                from_scores=from_scores,
                ignore_label=ignore_label,
            )
        )

    def update(
        self, y_true: Any, y_pred_a: Any = None, y_pred_b: Any = None, *, sample_weight: Any = None
    ) -> Self:
        """Count one batch.

        Parameters
        ----------
        y_true : array of shape (n,), or (n, K) of 0 and 1 for multilabel
            The true labels. Alone, a batch: a tuple or list of the arrays in this order, or
            a mapping, data frame or Arrow table with columns of these names.
        y_pred_a, y_pred_b : array of shape (n,) or (n, K)
            The predictions of each model, labels or scores, as `ConfusionAccumulator` takes them.
        sample_weight : array of shape (n,), optional
            Non-negative weights: 2 counts a row twice, 0 leaves it out.

        Returns
        -------
        The accumulator itself.

        Raises
        ------
        InvalidInputError
            When an array has the wrong shape, type or values; the message names the array and
            the position. Then nothing of the batch has been counted.
        CountOverflowError
            When the sum of the weights would pass 2**63 - 1. Then nothing has been counted.
        """
        given = self._named(y_true, y_pred_a, y_pred_b, optional=(sample_weight,))
        weights = given.pop("sample_weight")
        truth, a, b = (as_labels_or_scores(item, name=name) for name, item in given.items())
        if are_empty(truth, a, b):
            read_weights(weights, rows=0)
            return self
        right_a, kept_weights = self._read("y_pred_a", truth, a, weights)
        right_b, _ = self._read("y_pred_b", truth, b, weights)
        codes = 2 * right_a.view(np.uint8) + right_b.view(np.uint8)
        return self._append(Rows((codes,), kept_weights))

    def compute(self) -> PairedResult:
        """Compute the accuracies and tests.

        Returns
        -------
        PairedResult
            Frozen: later updates do not change it.
        """
        from streameval.results.paired import PairedResult  # noqa: PLC0415 (rendering too)

        return PairedResult(self._state)

    def _read(
        self, name: str, truth: Array, prediction: Array, sample_weight: Any
    ) -> tuple[Mask, Array | None]:
        """Tell which rows a model gets right; an error names its array."""
        try:
            return self._is_right(truth, prediction, sample_weight)
        except InvalidInputError as error:
            raise error.renamed("y_pred", name) from None

    def _is_right(
        self, truth: Array, prediction: Array, sample_weight: Any
    ) -> tuple[Mask, Array | None]:
        """Tell which rows a prediction gets right, and their weights, without ignored rows."""
        config = self._config.labels
        if not config.multilabel:
            truth, prediction = flattened(truth, prediction) or (truth, prediction)
        reader = FastReader.under(config)
        codes = None if reader is None else reader.codes_of(truth, prediction)
        if codes is not None:
            return _are_equal(*codes), read_weights(sample_weight, rows=len(truth))
        if config.is_open:
            *labels, weights = read_observed(truth, prediction, sample_weight, config)
            return _are_equal(*labels), weights
        decided = read_decided(truth, prediction, sample_weight, config)
        rows, known = decided.rows, decided.known
        if known is None:
            return _are_equal(*rows.columns), rows.weights
        kept = known.any(axis=1)
        right = ((rows.columns[0] == rows.columns[1]) | ~known).all(axis=1)
        return right[kept], None if rows.weights is None else rows.weights[kept]

    def _count(self, rows: Rows) -> PairedCounts:
        return PairedCounts.of(rows.columns[0], rows.fixed_weights)

    def _capacity(self, state: PairedCounts, rows: Rows) -> int:  # noqa: ARG002
        return _CAPACITY


def _are_equal(truth: Array, prediction: Array) -> Mask:
    """Compare row by row, one label or several."""
    equal = truth == prediction
    return np.asarray(equal if equal.ndim == 1 else equal.all(axis=1), dtype=np.bool_)
