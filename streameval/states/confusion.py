"""Counts of truth against prediction."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Mapping, Sequence
from typing import Any, Self, TypeAlias, final

import attrs
import numpy as np
import numpy.typing as npt

from streameval.configs.confusion import ConfusionConfig
from streameval.errors import IncompatibleStateError, InvalidInputError, Named, require
from streameval.exact.array_types import Array, Ints, Mask
from streameval.exact.fixed_point import FixedPoint
from streameval.exact.weight_sums import WeightArray, are_whole, weights_by_cell
from streameval.inputs.classes import MAX_LABEL_CHARACTERS, Label, canonical_label, check_lengths
from streameval.inputs.labels import MAX_OBSERVED_LABELS
from streameval.states.column import Column
from streameval.states.stack import Stack, StackableState, SummableState, are_same
from streameval.states.state import State, check_numbers, check_total

Count: TypeAlias = np.signedinteger[Any] | Ints

_FEW = 32  # numbers that Python adds up faster than NumPy
_SHORT_ROW = 64  # entries; for longer rows argmax is as fast


@attrs.frozen
class MatrixCounts(StackableState, SummableState):
    """Weights by (truth, prediction) over a fixed set of classes.

    Parameters
    ----------
    n : FixedPoint, shape ()
        The sum of the weights.
    matrix : FixedPoint, shape (K, K)
        Rows are truth, columns predictions.
    credit : FixedPoint, shape (k, K)
        Weights by (ranks within the first k, classes tied) of the true class. Counting both
        keeps fractional credit exact: it is divided only when it is read. Full credit is
        one rank of one.
    """

    matrix: FixedPoint
    credit: FixedPoint

    @classmethod
    def zero(cls, config: ConfusionConfig) -> Self:
        """Return empty counts."""
        k, top_k = config.n_classes, config.top_k
        return cls(FixedPoint.zeros(()), FixedPoint.zeros((k, k)), FixedPoint.zeros((top_k, k)))

    @classmethod
    def of(
        cls,
        truth: Array,
        prediction: Array,
        credit: Array | None,
        weights: WeightArray | None,
        config: ConfusionConfig,
    ) -> Self:
        """Count class indices; without codes of credit, hits have full credit."""
        return cls(*cls._counted(truth, prediction, credit, weights, config))

    @classmethod
    def of_outcomes(
        cls, tp: FixedPoint, fp: FixedPoint, fn: FixedPoint, tn: FixedPoint
    ) -> MatrixCounts:
        """Count two classes, of which the second is positive, from single outcomes."""
        cells, right = [cell.reshape(1) for cell in (tn, fp, fn, tp)], (tn + tp).reshape(1)
        matrix = FixedPoint.concatenate(cells).reshape(2, 2)
        credit = FixedPoint.concatenate([right, FixedPoint.zeros(1)]).reshape(1, 2)
        return MatrixCounts(matrix.sum(), matrix, credit)

    @classmethod
    def _counted(
        cls,
        truth: Array,
        prediction: Array,
        credit: Array | None,
        weights: WeightArray | None,
        config: ConfusionConfig,
    ) -> tuple[FixedPoint, FixedPoint, FixedPoint]:
        k, top_k = config.n_classes, config.top_k
        if weights is None:
            matrix = FixedPoint(cls.tally(truth, prediction, config))
        else:
            matrix = weights_by_cell(weights, _cells(truth, prediction, k), k * k)
        n = _number(len(truth)) if weights is None else matrix.total()
        if credit is None:
            hits = matrix[:: k + 1].total()
            if (
                weights is not None
                and hits.fraction == 0
                and are_whole(weights[truth == prediction])
            ):
                hits = FixedPoint(hits.whole)  # other rows have the fractions
            credited = hits.reshape(1).scatter(np.zeros(1, dtype=np.intp), top_k * k)
        else:
            some = credit > 0
            kept = None if weights is None else weights[some]
            credited = _tally(credit[some] >> 1, top_k * k, kept)
        return n, matrix.reshape(k, k), credited.reshape(top_k, k)

    @staticmethod
    def tally(truth: Array, prediction: Array, config: ConfusionConfig) -> Ints:
        """Count rows of weight 1 in the flat matrix; for two classes, indices may be bools."""
        k = config.n_classes
        if k == 2:
            hits = truth.view(np.bool_) & prediction.view(np.bool_)
            positive, predicted, both = map(np.count_nonzero, (truth, prediction, hits))
            wrong = predicted - both
            return np.array([len(truth) - positive - wrong, wrong, positive - both, both])
        return np.bincount(_cells(truth, prediction, k), minlength=k * k)

    @classmethod
    def of_groups(
        cls,
        truth: Array,
        prediction: Array,
        credit: Array | None,
        weights: WeightArray | None,
        groups: Array,
        n_groups: int,
        config: ConfusionConfig,
    ) -> dict[str, Stack]:
        """Count the rows of many groups, whose weights are whole, and return the fields.

        Without codes of credit, hits have full credit.
        """
        k, top_k = config.n_classes, config.top_k
        cells = (groups * k + truth) * k + prediction
        counted = _tally(cells, n_groups * k * k, weights).whole.reshape(n_groups, k * k)
        if credit is None:
            credited = np.zeros((n_groups, top_k * k), dtype=np.int64)
            credited[:, 0] = counted[:, :: k + 1].sum(axis=1)
        else:
            some = credit > 0
            cells = groups[some] * (top_k * k) + (credit[some] >> 1)
            kept = None if weights is None else weights[some]
            credited = _tally(cells, n_groups * top_k * k, kept).whole.reshape(n_groups, -1)
        return {
            "n": Stack.of_numbers(FixedPoint(counted.sum(axis=1)), ()),
            "matrix": Stack.of_numbers(FixedPoint(counted), (k, k)),
            "credit": Stack.of_numbers(FixedPoint(credited), (top_k, k)),
        }

    def with_tally(self, tally: Ints, rows: int) -> Self:
        """Add rows of weight 1, given as the flat matrix, which becomes the sum: it may be large.

        Hits have full credit. The caller ensures that the total stays within 2**63 - 1; no cell
        exceeds the total.
        """
        k, credit = len(self.matrix.whole), self.credit.whole.copy()
        credit[0, 0] += sum(tally[:: k + 1].tolist()) if k < _FEW else tally[:: k + 1].sum()
        counted = tally.reshape(k, k)
        counted += self.matrix.whole
        matrix = FixedPoint(counted, self.matrix.fraction)
        return type(self)(_plus(self.n, rows), matrix, FixedPoint(credit, self.credit.fraction))

    def count_here(self, truth: Array, prediction: Array) -> Self:
        """Add rows of weight 1 into the matrix itself, which nothing else may hold.

        Hits have full credit; the caller ensures that the total stays within 2**63 - 1.
        """
        np.add.at(self.matrix.whole, (truth, prediction), 1)
        credit = self.credit.whole.copy()
        credit[0, 0] += np.count_nonzero(truth == prediction)
        n = _plus(self.n, len(truth))
        return type(self)(n, self.matrix, FixedPoint(credit, self.credit.fraction))

    @classmethod
    def sum_of(cls, states: Sequence[Any], config: ConfusionConfig) -> Self:
        """Add up one or more states, skipping empty ones of many."""
        if len(states) < 3 or cls is not MatrixCounts:
            return super().sum_of(states, config)
        # `has_counted`, in a third of the time
        counted = [state for state in states if state.n.whole or state.n.fraction is not None]
        counted = counted or [states[0]]
        n = FixedPoint.total_of([state.n for state in counted])
        matrix = FixedPoint.sum_of([state.matrix for state in counted])
        return cls(n, matrix, FixedPoint.sum_of([state.credit for state in counted]))

    @classmethod
    def check_all(cls, config: ConfusionConfig, fields: Mapping[str, Stack]) -> None:
        """Check shapes, ranges and that the cells add up to the total."""
        k, top_k = config.n_classes, config.top_k
        n = fields["n"].checked_total()
        matrix, weights = fields["matrix"].rows((k, k), "matrix")
        credit, credited = fields["credit"].rows((top_k, k), "credit")
        fits = are_same(weights, n)
        fits = fits and fields["matrix"].fractions_are(operator.eq, fields["n"])
        require(fits, "matrix does not add up to n")
        hits = matrix[:, :: k + 1].sum(axis=1)
        require(not (n - credited).has_negative, "credit passes n")
        require(not (credited - hits).has_negative, "credit is less than the hits")
        fits = fields["credit"].fractions_are(operator.le, fields["n"])
        require(fits, "credit has fractions that n has not")
        has_ties = not are_same(credited, credit[:, 0])
        if config.is_binary or config.from_scores is False:
            is_full = not has_ties and are_same(credited, hits)
            require(is_full, "credit without a hit")
        if has_ties:
            _check_ties(credit.reshape(len(n.whole), top_k, k), config)


@final
@attrs.frozen
class TopKCounts(MatrixCounts):
    """The counts of a fixed set of classes, and those of the best k scores.

    If the true class is among the k best scores of an example, it is the prediction; otherwise the
    class of the highest score is. Tied classes are in the order of the columns.

    Parameters
    ----------
    top_hits : FixedPoint, shape (K,)
        The weight of the examples of each class that is among the k best scores.
    top_misses : FixedPoint, shape (K,)
        The weight of the other examples, by the class of their highest score.
    """

    top_hits: FixedPoint
    top_misses: FixedPoint

    @classmethod
    def zero(cls, config: ConfusionConfig) -> Self:
        """Return empty counts."""
        k, top_k = config.n_classes, config.top_k
        matrix, credit = FixedPoint.zeros((k, k)), FixedPoint.zeros((top_k, k))
        return cls(FixedPoint.zeros(()), matrix, credit, FixedPoint.zeros(k), FixedPoint.zeros(k))

    @classmethod
    def of(
        cls,
        truth: Array,
        prediction: Array,
        credit: Any,
        weights: WeightArray | None,
        config: ConfusionConfig,
    ) -> Self:
        """Count class indices and codes of credit."""
        counted = cls._counted(truth, prediction, credit, weights, config)
        first = (credit & 1).astype(bool)
        sides = (
            _tally(codes[rows], config.n_classes, None if weights is None else weights[rows])
            for codes, rows in ((truth, first), (prediction, ~first))
        )
        return cls(*counted, *sides)

    @classmethod
    def check_all(cls, config: ConfusionConfig, fields: Mapping[str, Stack]) -> None:
        """Check that the counts of the best scores are consistent with the matrix."""
        super().check_all(config, fields)
        k = config.n_classes
        matrix = fields["matrix"].numbers((k, k), "matrix")
        hits, misses = (fields[name].numbers((k,), name) for name in ("top_hits", "top_misses"))
        right = matrix.reshape(len(matrix.whole), k * k)[:, :: k + 1]
        spare = (
            (hits - right, "top_hits are fewer than the hits"),
            (matrix.totals() - hits, "top_hits pass the truth"),
            (matrix.sum(axis=1) - right - misses, "top_misses pass the errors"),
        )
        for numbers, reason in spare:
            require(not numbers.has_negative, reason)
        total = hits.totals() + misses.totals()
        require(are_same(total, fields["n"].items), "top_hits and top_misses do not add up to n")
        for name in ("top_hits", "top_misses"):
            fits = fields[name].fractions_are(operator.le, fields["n"])
            require(fits, f"{name} has fractions that n has not")


def _check_ties(credit: FixedPoint, config: ConfusionConfig) -> None:
    """Check that tied classes share fewer ranks than their number.

    Of m tied classes, w are within the first k ranks and m - w behind them. Together with the
    classes of the other k - w ranks, these are k + m - w classes, which must be at most K.
    """
    within = np.arange(1, config.top_k + 1)[:, None]
    tied = np.arange(1, config.n_classes + 1)
    possible = (within < tied) & (config.top_k - within + tied <= config.n_classes)
    possible[0, 0] = True  # full credit
    impossible = credit.is_positive() & ~possible
    require(not impossible.any(), "credit has impossible ties")


@final
@attrs.frozen
class ObservedCounts(State):
    """Weights by (truth, prediction) over the labels observed so far.

    Parameters
    ----------
    n : FixedPoint, shape ()
        The sum of the weights.
    matrix : FixedPoint, shape (L, L)
        Rows are truth, columns predictions.
    labels : tuple of int or of str
        The L labels with any weight, sorted.
    """

    matrix: FixedPoint
    labels: tuple[Label, ...]

    @classmethod
    def zero(cls, config: ConfusionConfig) -> Self:  # noqa: ARG003 - one signature for all states
        """Return counts without labels."""
        return cls(FixedPoint.zeros(()), FixedPoint.zeros((0, 0)), ())

    @classmethod
    def of(
        cls, labels: tuple[Label, ...], truth: Ints, prediction: Ints, weights: WeightArray | None
    ) -> Self:
        """Count a batch of indices of its labels."""
        size = _check_count(labels)
        matrix = _tally(_cells(truth, prediction, size), size * size, weights)
        return cls(matrix.total(), matrix.reshape(size, size), labels)

    @classmethod
    def of_groups(
        cls,
        labels: tuple[Label, ...],
        truth: Ints,
        prediction: Ints,
        weights: WeightArray | None,
        groups: Array,
        n_groups: int,
    ) -> dict[str, Stack]:
        """Count the rows of many groups, each with those of the labels that it has.

        Parameters
        ----------
        labels : tuple of labels
            Sorted.
        truth, prediction : int arrays, shape (n,)
            The indices of labels.
        weights : array of shape (n,), optional
            Whole numbers.
        groups : int array, shape (n,)
            The group of each row.
        n_groups : int
            How many groups there are; each has rows.
        """
        size = len(labels)
        cells = _cells(truth, prediction, size) + groups.astype(np.intp) * size**2
        matrix = _tally(cells, n_groups * size**2, weights).whole.reshape(n_groups, size, size)
        occurs = (matrix.any(axis=1) | matrix.any(axis=2)).astype(bool)
        found, codes = np.unique(occurs, axis=0, return_inverse=True)
        forms = tuple(tuple(itertools.compress(labels, own)) for own in found.tolist())
        shapes = tuple((False, (len(form), len(form))) for form in forms)
        codes = codes.reshape(-1)
        items = FixedPoint(matrix[occurs[:, :, None] & occurs[:, None, :]])
        return {
            "n": Stack.of_numbers(FixedPoint(matrix.sum(axis=(1, 2))), ()),
            "matrix": Stack.of_items(shapes, codes, items),
            "labels": Stack(forms, codes),
        }

    @staticmethod
    def may_hold(n_labels: int, n_characters: int) -> bool:
        """Return whether a state can hold this many labels and characters."""
        return n_labels <= MAX_OBSERVED_LABELS and n_characters <= MAX_LABEL_CHARACTERS

    def __add__(self, other: Self) -> Self:
        """Add over the union of the labels."""
        n = self.n + other.n
        if self.labels == other.labels:
            return type(self)(n, self.matrix + other.matrix, self.labels)
        if len({type(label) for label in self.labels + other.labels}) > 1:
            raise IncompatibleStateError(
                "cannot merge: the observed labels are numbers on one side and strings on the "
                "other."
            )
        labels = tuple(sorted({*self.labels, *other.labels}))
        _check_count(labels)
        return type(self)(n, self._spread(labels) + other._spread(labels), labels)

    def check(self, config: ConfusionConfig) -> None:  # noqa: ARG002 - one signature for all
        """Check labels, shapes, ranges, the total, and that every label was observed."""
        size = len(self.labels)
        types = {type(label) for label in self.labels}
        require(types <= {int} or types <= {str}, "labels mix types")
        require(list(self.labels) == sorted(set(self.labels)), "labels are not sorted")
        require(size <= MAX_OBSERVED_LABELS, f"more than {MAX_OBSERVED_LABELS} labels")
        for label in self.labels:
            canonical_label(label, name="labels")
        check_total(self.n)
        check_numbers(self.matrix, (size, size), "matrix")
        require(self.matrix.reshape(-1).total() == self.n, "matrix does not add up to n")
        is_positive = self.matrix.is_positive()
        is_observed = is_positive.any(axis=0) | is_positive.any(axis=1)
        require(is_observed.all(), "a label was never observed")

    def _spread(self, labels: tuple[Label, ...]) -> FixedPoint:
        """Lay the matrix out over a larger set of labels."""
        index_of = {label: index for index, label in enumerate(labels)}
        kept = np.fromiter(map(index_of.__getitem__, self.labels), np.intp, len(self.labels))
        cells = (kept[:, None] * len(labels) + kept).ravel()
        spread = self.matrix.reshape(-1).scatter(cells, len(labels) ** 2)
        return spread.reshape(len(labels), len(labels))


@attrs.frozen
class MultilabelCounts(StackableState, SummableState):
    """Weights by (truth, prediction) of each of K labels that are each present or not.

    Parameters
    ----------
    n : FixedPoint, shape ()
        The sum of the weights of the examples.
    outcomes : FixedPoint, shape (K, 2, 2)
        For each label, rows truth and columns prediction, absent first.
    exact_match : FixedPoint, shape ()
        The weight of the examples with every label right.
    """

    outcomes: FixedPoint
    exact_match: FixedPoint

    @classmethod
    def zero(cls, config: ConfusionConfig) -> Self:
        """Return empty counts."""
        nothing = FixedPoint.zeros(())
        return cls(nothing, FixedPoint.zeros((config.n_classes, 2, 2)), nothing)

    @classmethod
    def of(
        cls,
        truth: Mask,
        prediction: Mask,
        known: Mask | None,
        weights: WeightArray | None,
        config: ConfusionConfig,
    ) -> Self:
        """Count a batch of (n, K) decisions; entries that are not `known` do not count.

        Weights are of examples (n,), or with `known` of entries (n, K).
        """
        return cls(*cls._counted(truth, prediction, known, weights, config))

    @classmethod
    def _counted(
        cls,
        truth: Mask,
        prediction: Mask,
        known: Mask | None,
        weights: WeightArray | None,
        config: ConfusionConfig,
    ) -> tuple[FixedPoint, FixedPoint, FixedPoint]:
        size = config.n_classes
        if known is None and weights is None:
            tally = cls.tally(truth, prediction, config)
            outcomes = FixedPoint(tally[:-1].reshape(size, 2, 2))
            return _number(len(truth)), outcomes, _number(tally[-1])
        right = truth == prediction
        index = np.arange(size) * 4 + truth * 2 + prediction
        if weights is None:
            weights = np.ones(len(truth), dtype=np.int64)
        if known is None:
            n, exact = _total(weights), np.asarray(right.all(axis=1))
            of_entries, cells = weights.repeat(size), index.reshape(-1)
            outcomes = weights_by_cell(of_entries, cells, size * 4, checked=True)
            return n, outcomes.reshape(size, 2, 2), _total(weights[exact])
        rows = np.asarray(known.any(axis=1))
        exact = np.asarray(rows & (right | ~known).all(axis=1))
        of_rows: Any = weights
        if weights.ndim == 1:
            of_entries = weights[np.nonzero(known)[0]]
        else:  # the weight of an example is the largest of its entries
            of_entries, of_rows = weights[known], np.where(known, weights, 0).max(axis=1)
        n = _total(of_rows[rows])
        if n.is_whole and not are_whole(of_entries):
            n = FixedPoint(n.whole, np.zeros_like(n.whole))
        outcomes = weights_by_cell(of_entries, index[known], size * 4, checked=True)
        return n, outcomes.reshape(size, 2, 2), _total(of_rows[exact])

    @staticmethod
    def tally(
        truth: Array,
        prediction: Array,
        config: ConfusionConfig,  # noqa: ARG004 - one signature for both
    ) -> Ints:
        """Count rows of 0 and 1, all known and of weight 1: the outcomes, then exact matches."""
        truth, prediction = truth.view(np.bool_), prediction.view(np.bool_)
        wrong = truth ^ prediction
        positive, predicted, errors = _column_sums(truth, prediction, wrong)
        hits = (positive + predicted - errors) // 2
        outcomes = _outcomes(len(truth), positive, predicted, hits)
        return np.append(outcomes, len(truth) - np.count_nonzero(_any_in_row(wrong)))

    def with_tally(self, tally: Ints, rows: int) -> Self:
        """Add rows of weight 1, given by their outcomes and the number of exact matches.

        The caller ensures that the total stays within 2**63 - 1; no outcome exceeds the total.
        """
        outcomes = _plus(self.outcomes, tally[:-1].reshape(self.outcomes.shape))
        return type(self)(_plus(self.n, rows), outcomes, _plus(self.exact_match, tally[-1]))

    @classmethod
    def check_all(cls, config: ConfusionConfig, fields: Mapping[str, Stack]) -> None:
        """Check shapes, ranges and that no label counts more than the total."""
        size = config.n_classes
        n = fields["n"].checked_total()
        outcomes = fields["outcomes"].numbers((size, 2, 2), "outcomes")
        exact = fields["exact_match"].numbers((), "exact_match")
        require(((n - exact).whole >= 0).all(), "exact_match passes n")
        spare = n[:, None] - outcomes.reshape(len(n.whole), size, 4).totals()
        require((spare.whole >= 0).all(), "outcomes do not add up to n")
        wrong = outcomes[:, :, 0, 1] + outcomes[:, :, 1, 0]
        within = ((n - exact)[:, None] - wrong).whole >= 0
        require(within.all(), "exact_match passes the examples without an error")


@final
@attrs.frozen
class ExampleCounts(MultilabelCounts):
    """The counts of K labels, and of examples by how many labels have each outcome.

    Parameters
    ----------
    patterns : Column of uint64, shape (m,)
        The numbers of true and false positives, false and true negatives among the labels of an
        example, 16 bits each; distinct and sorted.
    examples : FixedPoint, shape (m,)
        The weight of the examples with each pattern.
    """

    patterns: Column
    examples: FixedPoint

    @classmethod
    def zero(cls, config: ConfusionConfig) -> Self:
        """Return empty counts."""
        nothing = FixedPoint.zeros(())
        outcomes = FixedPoint.zeros((config.n_classes, 2, 2))
        none = Column(np.zeros(0, dtype=np.uint64))
        return cls(nothing, outcomes, nothing, none, FixedPoint.zeros(0))

    @classmethod
    def of(
        cls,
        truth: Mask,
        prediction: Mask,
        known: Mask | None,
        weights: WeightArray | None,
        config: ConfusionConfig,
    ) -> Self:
        """Count a batch of (n, K) decisions; entries that are not `known` do not count."""
        counted = cls._counted(truth, prediction, known, weights, config)
        if weights is None:
            weights = np.ones(len(truth), dtype=np.int64)
        known = np.ones_like(truth) if known is None else known
        n_known, positive, predicted, hits = (
            np.count_nonzero(marks & known, axis=1)
            for marks in (known, truth, prediction, truth & prediction)
        )
        misses, false = positive - hits, predicted - hits
        patterns = _packed(hits, false, misses, n_known - hits - misses - false)
        is_counted = (weights > 0) & (n_known > 0)
        examples = FixedPoint.of_numbers(weights[is_counted])
        return cls(*counted, *_joined(patterns[is_counted], examples))

    @property
    def labels_of_patterns(self) -> Ints:
        """The numbers of true and false positives, false and true negatives, shape (4, m)."""
        return _unpacked(self.patterns.values)

    def __add__(self, other: Any) -> Self:
        """Add cell by cell, over the union of the patterns."""
        sums = self.n + other.n, self.outcomes + other.outcomes
        patterns = np.concatenate([self.patterns.values, other.patterns.values])
        examples = FixedPoint.concatenate([self.examples, other.examples])
        exact = self.exact_match + other.exact_match
        return type(self)(*sums, exact, *_joined(patterns, examples))

    @classmethod
    def sum_all(
        cls, config: ConfusionConfig, fields: Mapping[str, Stack], sizes: Ints
    ) -> dict[str, Stack]:
        """Add up runs of states, and return the fields of the sums."""
        usual = {name: fields[name] for name in ("n", "outcomes", "exact_match")}
        patterns, examples = fields["patterns"], fields["examples"]
        run_of = np.repeat(np.repeat(np.arange(len(sizes)), sizes), patterns.lengths)
        order = np.lexsort((patterns.items, run_of))
        ordered, runs = patterns.items[order], run_of[order]
        is_start = np.ones(len(order), dtype=bool)
        is_start[1:] = (ordered[1:] != ordered[:-1]) | (runs[1:] != runs[:-1])
        starts = np.flatnonzero(is_start)
        weights = examples.items[order].sum_runs(starts) if len(starts) else examples.items
        lengths = np.bincount(runs[starts], minlength=len(sizes))
        first = np.cumsum(sizes) - sizes
        has_fraction = np.logical_or.reduceat(examples.has_fraction, first)
        return super().sum_all(config, usual, sizes) | {
            "patterns": Stack.of_vectors(ordered[starts], lengths),
            "examples": Stack.of_vectors(weights, lengths, has_fraction),
        }

    @classmethod
    def check_all(cls, config: ConfusionConfig, fields: Mapping[str, Stack]) -> None:
        """Check the patterns, and that the examples add up to the counts of labels."""
        super().check_all(config, fields)
        patterns, examples, n = fields["patterns"], fields["examples"], fields["n"]
        lengths = patterns.lengths
        are_vectors = all(len(form[1]) == 1 for form in examples.forms)
        require(all(form[0] == "uint64" for form in patterns.forms) and are_vectors, "patterns")
        require(np.array_equal(examples.lengths, lengths), "examples of other patterns")
        check_numbers(examples.items, examples.items.shape, "examples")
        require(examples.items.is_positive().all(), "a pattern of no example")
        require(np.array_equal(examples.has_fraction, n.has_fraction), "examples in fractions")
        starts = np.cumsum(lengths) - lengths
        is_first = np.zeros(len(patterns.items) + 1, dtype=bool)
        is_first[starts] = True
        rises = patterns.items[1:] > patterns.items[:-1]
        require((rises | is_first[1:-1]).all(), "patterns are out of order")
        labels = _unpacked(patterns.items)
        known = labels.sum(axis=0)
        fewest = 1 if config.ignore_label is not None else config.n_classes
        within = (known >= fewest) & (known <= config.n_classes)
        require(within.all(), "a pattern of other labels")
        require(are_same(examples.items.run_totals(lengths), n.items), "examples do not add up")
        right = examples.items.where(labels[1] + labels[2] == 0).run_totals(lengths)
        require(are_same(right, fields["exact_match"].items), "examples differ from exact_match")


def _packed(*numbers: Ints) -> npt.NDArray[np.uint64]:
    """Pack four numbers below 2**16, of at most 2**15 labels, the first in the highest bits."""
    packed = np.zeros(len(numbers[0]), dtype=np.uint64)
    for number in numbers:
        packed = packed << np.uint64(16) | number.astype(np.uint64)
    return packed


def _unpacked(packed: npt.NDArray[np.uint64]) -> Ints:
    """Unpack four packed numbers, shape (4, m)."""
    shifts = np.arange(48, -16, -16).astype(np.uint64)[:, None]
    return ((packed >> shifts) & np.uint64(2**16 - 1)).astype(np.int64)


def _joined(patterns: npt.NDArray[np.uint64], examples: FixedPoint) -> tuple[Column, FixedPoint]:
    """Add up the examples of each distinct pattern."""
    distinct, index = np.unique(patterns, return_inverse=True)
    return Column(distinct), examples.scatter(index.reshape(-1), len(distinct))


def _total(weights: WeightArray) -> FixedPoint:
    return weights_by_cell(weights, np.zeros(len(weights), dtype=np.uint8), 1).reshape()


def _number(whole: int | np.int64) -> FixedPoint:
    return FixedPoint(np.array(whole, dtype=np.int64))


def _outcomes(rows: int, positive: Count, predicted: Count, hits: Count) -> Ints:
    """Lay out the cells (truth, prediction) of two classes, or of each of many labels."""
    correct_rejections = rows - positive - predicted + hits
    cells = [correct_rejections, predicted - hits, positive - hits, hits]
    return np.array(cells).T.ravel()


def _column_sums(*arrays: Mask) -> Ints:
    """Count the true entries of each column.

    Rows are laid side by side until at most 64 are left, whose sums fit a byte. This takes a
    seventh of the time of ``array.sum(axis=0)`` for 4096 rows of 20. Sums of 255 rows would fit
    too, but then fewer are added at a time.
    """
    rows, columns = arrays[0].shape
    beside = -(-rows // 64)
    laid = rows // beside * beside
    sums = np.empty((len(arrays), beside, columns), dtype=np.uint8)
    for array, sides in zip(arrays, sums, strict=True):
        tall = array[:laid].view(np.uint8).reshape(-1, beside * columns)
        np.add.reduce(tall, axis=0, dtype=np.uint8, out=sides.reshape(-1))
        sides[: rows - laid] += array[laid:]
    counts: Ints = np.add.reduce(sums, axis=1, dtype=np.int64)
    return counts


def _any_in_row(marks: Mask) -> Array:
    """Return a number for each row that is nonzero if and only if the row has a true entry.

    In short rows, each entry is combined with those behind it, in all rows at once. This takes as
    long as argmax for 20 columns that are half true, half as long if few are true, and a tenth for
    2 columns. argmax takes a fifth of the time of `any`.
    """
    columns = marks.shape[1]
    if columns > _SHORT_ROW:
        return np.asarray(marks.argmax(axis=1) + marks[:, 0])
    entries, taken = marks.reshape(-1), 1
    while taken < columns:
        step = min(taken, columns - taken)
        entries = entries[:-step] | entries[step:]
        taken += step
    return entries[::columns]


def _plus(numbers: FixedPoint, whole: int | np.int64 | Ints) -> FixedPoint:
    return FixedPoint(np.asarray(numbers.whole + whole), numbers.fraction)


def _cells(truth: Array, prediction: Array, k: int) -> Array:
    cells = np.multiply(truth, k, dtype=np.uint8 if k <= 16 and truth.itemsize == 1 else np.intp)
    cells += prediction
    return cells


def _tally(index: Array, size: int, weights: WeightArray | None) -> FixedPoint:
    if weights is None:
        return FixedPoint(np.bincount(index, minlength=size))
    return weights_by_cell(weights, index, size)


def _check_count(labels: tuple[Label, ...]) -> int:
    if len(labels) > MAX_OBSERVED_LABELS:
        raise InvalidInputError(
            f"allows at most {MAX_OBSERVED_LABELS} labels, got {len(labels)}",
            argument=Named("classes", '"auto"'),
            remedy=("List them in ", Named("classes"), " if there really are more."),
        )
    check_lengths(labels)
    return len(labels)
