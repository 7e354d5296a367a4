"""Two models on the same rows: which of them is right, and which has the better scores."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, final

import attrs
import numpy as np

from streameval.accumulators.base import BufferedAccumulator
from streameval.accumulators.decisions import (
    as_items,
    read_codes,
    read_observed,
    score_of_pairs,
)
from streameval.accumulators.pending import RowBuffer, Rows
from streameval.configs import USUAL_BUDGET
from streameval.configs.paired import PairedConfig, pairs_of
from streameval.errors import InvalidInputError
from streameval.exact.array_types import Array, Mask
from streameval.exact.fixed_point import FixedPoint, weight_by_cell
from streameval.exact.score_keys import keys_of
from streameval.inputs.arrays import (
    as_labels,
    as_labels_or_scores,
    as_numbers,
    as_scores,
    as_values,
    as_vector,
    have_rows,
    lack_rows,
    read_weights,
    refuse_first,
)
from streameval.inputs.classes import Classes, Label
from streameval.inputs.labels import in_class_order, is_ignored
from streameval.inputs.row_scores import are_pairs
from streameval.states.paired import (
    LARGEST_NUMBER,
    LossSums,
    PairedCounts,
    PairedSums,
    errors_of,
    losses_of,
)
from streameval.states.score_pairs import ScorePairs

if TYPE_CHECKING:
    from streameval.accumulators.collection import Collection
    from streameval.results.paired import PairedResult

PairedState = PairedCounts | PairedSums
ReadT = TypeVar("ReadT")
Decided = tuple[Rows, Mask, Array]
"""The codes of truth and decisions, where these are right, and the scores if they are needed."""

_NO_SCORES = np.zeros(0)
_CAPACITY = 2**14  # rows of a byte
_MEASURED_CAPACITY = (
    2**15
)  # rows of 25 bytes or more: pairs of scores are sorted with the kept ones


@final
class Paired(
    BufferedAccumulator[PairedConfig, PairedState],
    type_id=10,
    config=PairedConfig,
    state=lambda config: PairedSums if config.measures else PairedCounts,
):
    """Count which of two models is right on the same rows, batch by batch.

    The state is four counts: rows that both get right, model A alone, model B alone, or neither.
    These give both accuracies, McNemar's test, and a test that is valid at any time. Request other
    measures by name: each is reported for A and for B, with the difference, its interval, and a
    test.

    Parameters
    ----------
    classes : int, sequence of labels, "auto", or None
        A number K stands for the labels 0..K-1; a sequence lists the labels (integers or
        strings) in the order of scores; ``"auto"`` takes any labels. None is for predicted
        numbers: a model is right where it is as close to the truth as the other, or closer, so
        that McNemar's test is the sign test.
    multilabel : bool
        Whether each of the `classes` is present or absent on its own; a row is right if all are.
    threshold : float, or sequence of float
        A score of at least this is a positive prediction, for two classes and multilabel; for
        multilabel, it may be one for each label.
    scores : {"probability", "real"}, optional
        Whether the scores of two classes and multilabel lie in [0, 1]. ``"real"`` takes any
        number, such as logits. By default, they do if ``0 < threshold <= 1``.
        ``"probability"`` needs a threshold in [0, 1].
    pos_label : label, optional
        The positive one of two classes: by default 1, or the second of two listed.
    from_scores : bool, optional
        Whether predictions are scores. By default a floating dtype is and others are not.
    ignore_label : label, optional
        Rows (for multilabel, entries) whose truth is this do not count.
    measures : sequence of str
        What else to compare. Of decisions between at most 64 listed classes: ``"precision"``,
        ``"recall"``, ``"specificity"``, ``"f_score"``, ``"balanced_accuracy"``,
        ``"matthews_corrcoef"`` and ``"cohen_kappa"``; of the scores of two classes:
        ``"roc_auc"``, and of probabilities ``"log_loss"`` and ``"brier"``. Of predicted numbers:
        ``"mse"`` and ``"mae"``. Of values without a truth, such as latencies or marks of a judge,
        with ``classes=None``: ``"loss"``, where lower ones are better, or ``"score"``, where
        higher ones are.
    budget : int, optional
        The number of pairs of scores kept for ``"roc_auc"``, and of the bins of each model
        beyond it; None keeps every pair.
    nan : {"raise", "skip"}
        Of values without a truth, whether NaN is refused, or a row with one for either model is
        left out and counted as skipped. SciPy's ``nan_policy="omit"`` does the same.

    Notes
    -----
    Labels and scores are read as `ConfusionAccumulator` reads them. An update of n rows costs
    O(n), and O(n log n) for ``"roc_auc"``. The areas and DeLong's test of them are exact while
    the distinct pairs of scores fit the budget, and then have certified bounds. Losses are
    rounded once, row by row; their sums, squares and products are exact.

    Examples
    --------
    >>> import streameval as se
    >>> acc = se.Paired(classes=["ham", "spam"])
    >>> acc.update(["spam", "ham", "spam"], ["spam", "ham", "ham"], [0.9, 0.8, 0.7])
    Paired(classes=('ham', 'spam'), pos_label='spam', n=3)
    >>> result = acc.compute()
    >>> result.n_only_a, result.n_only_b, result.difference
    (1, 1, 0.0)

    Is B better than A? By the areas under their ROC curves and by log loss:

    >>> y_true = [0, 0, 0, 0, 1, 1, 1, 1]
    >>> a = [0.1, 0.6, 0.3, 0.7, 0.4, 0.8, 0.5, 0.9]
    >>> b = [0.1, 0.2, 0.3, 0.6, 0.5, 0.8, 0.7, 0.9]
    >>> acc = se.Paired(measures=["roc_auc", "log_loss"]).update(y_true, a, b)
    >>> result = acc.compute()
    >>> result.roc_auc_a, result.roc_auc_b, result.roc_auc_difference
    (0.75, 0.9375, -0.1875)
    >>> f"{result.roc_auc_pvalue:.3f}"
    '0.313'
    >>> low, high = result.confidence("log_loss_difference")
    >>> f"{result.log_loss_difference:.3f} [{low:.3f}, {high:.3f}]"
    '0.193 [-0.041, 0.426]'

    Two models of numbers, by their squared errors:

    >>> acc = se.Paired(classes=None, measures=["mse"])
    >>> result = acc.update([3.0, -0.5, 2.0, 7.0], [2.5, 0.0, 2.0, 8.0], [2.0, 0.5, 2.5, 7.0])
    >>> result = result.compute()
    >>> result.mse_a, result.mse_b, result.n_only_a, result.n_only_b
    (0.375, 0.5625, 3, 1)
    >>> [round(end, 2) for end in result.confidence("mse_difference")]
    [-1.5, 1.13]

    The marks of a judge for the answers of two models, without a truth:

    >>> acc = se.Paired(None, measures=["score"]).update([4, 5, 3, 4], [3, 5, 2, 2])
    >>> result = acc.compute()
    >>> result.score_a, result.score_difference, round(result.score_pvalue, 3)
    (4.0, 1.0, 0.092)
    """

    __slots__ = ()

    _arrays = ("y_true", "y_pred_a", "y_pred_b")

    def __init__(
        self,
        classes: Classes | Any | None = 2,
        *,
        multilabel: bool = False,
        threshold: float | Sequence[float] = 0.5,
        scores: Literal["probability", "real"] | None = None,
        pos_label: Label | None = None,
        from_scores: bool | None = None,
        ignore_label: Label | None = None,
        measures: Sequence[str] | str = (),
        budget: int | None = USUAL_BUDGET,
        nan: Literal["raise", "skip"] = "raise",
    ) -> None:
        self._configure(locals())

    @classmethod
    def of_models(
        cls, models: Sequence[str], classes: Classes | Any | None = 2, **options: Any
    ) -> Collection:
        """Compare several models on the same rows: count each pair of them.

        Parameters
        ----------
        models : sequence of str
            Two to 64 names, which are those of the columns of their predictions.
        classes, **options
            As for `Paired`. Without classes, there must be `measures`.

        Returns
        -------
        Collection
            A `Paired` for each pair, such as ``"new vs old"``. An update takes a batch with a
            column of each model beside ``"y_true"``, if there is a truth.
            `CollectionResult.comparison` of its result names the best model, and those that cannot
            be distinguished from it.

        Raises
        ------
        InvalidInputError
            When there are fewer than two models or more than 64, a name occurs twice or cannot be
            that of a column, or the options do not fit.

        Notes
        -----
        K models cost K (K - 1) / 2 times as much as two. Beyond the `budget`, the area of a model
        is that of the first pair that has it. With ``nan="skip"``, each pair leaves out its own
        rows, and the mean of a model is that of its pair with most rows.

        Examples
        --------
        >>> import streameval as se
        >>> acc = se.Paired.of_models(["new", "old", "oldest"])
        >>> y_true = [0, 1] * 50
        >>> new = [0, 1] * 48 + [1, 0] * 2
        >>> old = [0, 1] * 47 + [1, 0] * 3
        >>> oldest = [0, 1] * 30 + [1, 0] * 20
        >>> batch = {"y_true": y_true, "new": new, "old": old, "oldest": oldest}
        >>> comparison = acc.update(batch).compute().comparison()
        >>> comparison["accuracy"].best, comparison["accuracy"].indistinguishable
        ('new', ('old',))
        >>> [round(one.holm_pvalue, 3) for one in comparison["accuracy"].differences]
        [0.5, 0.0, 0.0]
        """
        from streameval.accumulators.collection import Collection  # noqa: PLC0415 (for this alone)

        pairs = pairs_of(models)
        member = cls(classes, **options)
        if member._config.classes is None and not member._config.measures:
            raise InvalidInputError(
                'must name "mse" or "mae", or "loss" or "score" for values without a truth: models '
                "of numbers are compared by these",
                argument="measures",
            )
        return Collection(
            dict.fromkeys(pairs, member),
            columns={name: {"y_pred_a": a, "y_pred_b": b} for name, (a, b) in pairs.items()},
        )

    def update(
        self, y_true: Any, y_pred_a: Any = None, y_pred_b: Any = None, *, sample_weight: Any = None
    ) -> Self:
        """Count one batch.

        Parameters
        ----------
        y_true : array of shape (n,), or (n, K) of 0 and 1 for multilabel
            The true labels or numbers. Alone, a batch: a tuple or list of the arrays in this
            order, or a mapping, data frame or Arrow table with columns of these names. With
            ``measures=["loss"]`` or ``["score"]`` there is no truth: an update takes the values of
            both models.
        y_pred_a, y_pred_b : array of shape (n,) or (n, K)
            The predictions of each model, labels or scores, as `ConfusionAccumulator` takes them;
            numbers with ``classes=None``, all within 2**200 of 0.
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
        arrays: tuple[Any, ...] = (y_true, y_pred_a, y_pred_b)
        if self._config.is_of_values:
            if y_pred_b is not None:
                raise InvalidInputError(
                    "takes the values of two models, and no truth; got 3 arrays", argument="update"
                )
            arrays = arrays[:2]
        return self._take_batch(*arrays, optional=(sample_weight,), may_weigh_entries=False)

    def compute(self) -> PairedResult:
        """Compute the accuracies and tests.

        Returns
        -------
        PairedResult
            Frozen: later updates do not change it.
        """
        from streameval.results.paired import PairedResult  # noqa: PLC0415 (rendering too)

        return PairedResult(self._config, self._state)

    def _count_arrays(self, /, **given: Any) -> Self:
        weights = given.pop("sample_weight")
        if self._config.classes is None:
            return self._append_numbers(given, weights)
        labels = self._config.labels
        if not labels.is_open:
            given = {name: in_class_order(item, labels, name=name) for name, item in given.items()}
        truth, a, b = (as_labels_or_scores(item, name=name) for name, item in given.items())
        if lack_rows(truth, a, b, sample_weight=weights):
            return self
        has_items = max(truth.ndim, a.ndim, b.ndim) > 1
        if has_items and not labels.multilabel:
            items, a, weights_a = self._read("y_pred_a", self._flat, truth, a, weights)
            _, b, _ = self._read("y_pred_b", self._flat, truth, b, weights)
            if items is not truth:
                return self.update(items, a, b, sample_weight=weights_a)
        elif has_items:
            weights = read_weights(weights, rows=len(truth))  # an entry has none of its own
        of_a = self._read("y_pred_a", self._decided, truth, a, weights)
        of_b = self._read("y_pred_b", self._decided, truth, b, weights)
        return self._append(self._measured(of_a, of_b))

    def _read(
        self,
        name: str,
        read: Callable[[Array, Array, Any], ReadT],
        truth: Array,
        prediction: Array,
        sample_weight: Any,
    ) -> ReadT:
        """Read the predictions of a model; an error names its array."""
        try:
            return read(truth, prediction, sample_weight)
        except InvalidInputError as error:
            raise error.renamed("y_pred", name) from None

    def _flat(
        self, truth: Array, prediction: Array, sample_weight: Any
    ) -> tuple[Array, Array, Any]:
        """Read labels of more dimensions item by item."""
        config = self._config.labels
        given = truth, prediction, sample_weight
        return as_items(*given, config) or given

    def _decided(self, truth: Array, prediction: Array, sample_weight: Any) -> Decided:
        """Read the predictions of a model; rows that do not count are left out."""
        config, known = self._config.labels, None
        if config.is_open:
            rows = read_observed(truth, prediction, sample_weight, config)
        else:
            rows, known = read_codes(truth, prediction, sample_weight, config)
        right = rows.columns[0] == rows.columns[1]
        if known is not None:
            kept = known.any(axis=1)
            rows, right = rows.taken(kept), (right | ~known)[kept]
        if right.ndim > 1:
            right = right.all(axis=1)
        scores = self._scores(truth, prediction) if self._config.needs_scores else _NO_SCORES
        return rows, np.asarray(right, dtype=np.bool_), scores

    def _scores(self, truth: Array, prediction: Array) -> Array:
        """Read the scores of the positive class."""
        config = self._config.labels
        ignored = is_ignored(as_labels(truth, name="y_true"), config.ignore_label)
        if are_pairs(prediction):
            scores = score_of_pairs(prediction, config)
        else:
            scores = as_scores(prediction, name="y_pred")
        return scores if ignored is None else scores[~ignored]

    def _measured(self, of_a: Decided, of_b: Decided) -> Rows:
        """Lay out the outcome of each row, its class and decisions, scores, and losses."""
        (rows, right_a, score_a), (rows_b, right_b, score_b) = of_a, of_b
        config, (true_class, class_a) = self._config, rows.columns[:2]
        columns: list[Array] = [2 * right_a.view(np.uint8) + right_b.view(np.uint8)]
        if config.decisions:
            columns += [true_class, class_a, rows_b.columns[1]]
        if config.needs_scores:
            scores, positive = (score_a, score_b), true_class == config.labels.positive_position
            columns += [positive, *scores] if config.has_curve else []
            columns += [losses_of(name, positive, own) for name in config.losses for own in scores]
        return Rows(tuple(columns), rows.weights)

    def _append_numbers(self, given: Mapping[str, Any], sample_weight: Any) -> Self:
        """Count which model is closer to the truth in each row, and the measures of both errors.

        Without a truth, count which value is lower, and the values.
        """
        config, held = self._config, self._held
        read = partial(as_values, nan=config.nan) if config.is_of_values else as_numbers
        numbers = {name: as_vector(read(item, name=name)) for name, item in given.items()}
        arrays = list(numbers.values())
        if not have_rows(numbers, sample_weight):
            return self
        for name, one in numbers.items():
            outside = np.abs(one) > LARGEST_NUMBER
            refuse_first(outside, one, name, "must lie in [-2**200, 2**200]")
        weights = read_weights(sample_weight, rows=len(arrays[0]))
        if config.is_of_values:
            rows = Rows(tuple(arrays), weights)
            if config.nan == "skip":
                held, rows = held.skipping(rows, np.isnan(arrays[0]) | np.isnan(arrays[1]))
            weights = rows.weights
            errors = distance_a, distance_b = rows.columns
        else:
            truth, a, b = arrays
            errors = a - truth, b - truth
            distance_a, distance_b = np.abs(errors[0]), np.abs(errors[1])
        outcome = 2 * (distance_a <= distance_b).view(np.uint8) + (distance_b <= distance_a)
        measured = [errors_of(name, own) for name in config.losses for own in errors]
        self._held = self._appended(held, Rows((outcome, *measured), weights))
        return self

    def _with_rows(self, state: PairedState, rows: Rows) -> PairedState:
        return self._sum(state, self._counted(rows))

    def _counted(self, rows: Rows) -> PairedState:
        weights, config = rows.fixed_weights, self._config
        counts = PairedCounts.of(rows.columns[0], weights)
        if not config.measures:
            return counts
        columns = iter(rows.columns[1:])
        joint = FixedPoint.zeros(0)
        if config.decisions:
            k = config.labels.n_classes
            joint = _joint(next(columns), next(columns), next(columns), k, weights)
        pairs = None
        if config.has_curve:
            positive, a, b = next(columns), next(columns), next(columns)
            a, b = keys_of(a, config.scale), keys_of(b, config.scale)
            pairs = ScorePairs.of_rows(a, b, positive, weights, config.budget)
        sums = [
            attrs.astuple(LossSums.of(*pair, weights), recurse=False)
            for pair in zip(columns, columns, strict=True)
        ]
        skipped = PairedSums.zero(config).skipped
        return PairedSums.made(counts, joint, tuple(itertools.chain(*sums)), pairs, skipped)

    def _block(self, state: PairedState, rows: Rows) -> RowBuffer:  # noqa: ARG002
        return RowBuffer.like(rows, _MEASURED_CAPACITY if self._config.measures else _CAPACITY)


def _joint(truth: Array, a: Array, b: Array, k: int, weights: FixedPoint | None) -> FixedPoint:
    """Count rows by truth, decision of A, and decision of B."""
    index = (truth.astype(np.intp) * k + a) * k + b
    return weight_by_cell(weights, index, k**3).reshape(k, k, k)
