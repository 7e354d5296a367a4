"""Random classification data: what the accumulator is given, and what it means.

A case is drawn from its kind and seed alone. The two sides are kept apart: `given_*` and `options`
go to the library, the rest goes to the oracle. Rows of weight zero are given and not meant.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

BINARY_LABELS = "binary-labels"
BINARY_SCORES = "binary-scores"
MULTICLASS_LABELS = "multiclass-labels"
MULTICLASS_SCORES = "multiclass-scores"
AUTO = "labels-met-on-the-way"
MULTILABEL_LABELS = "multilabel-labels"
MULTILABEL_SCORES = "multilabel-scores"

BINARY = (BINARY_LABELS, BINARY_SCORES)
MULTICLASS = (MULTICLASS_LABELS, MULTICLASS_SCORES, AUTO)
MULTILABEL = (MULTILABEL_LABELS, MULTILABEL_SCORES)
KINDS = (*BINARY, *MULTICLASS, *MULTILABEL)

WORDS = ("ham", "Spam", "a long label", "", "égal", "10", "9", "z")
THRESHOLDS = (0.5, 0.1, 0.3, 0.9, 1.0)


@dataclass(frozen=True, eq=False)
class Case:
    """One set of predictions and the options under which it is counted."""

    kind: str
    seed: int
    options: dict[str, Any]
    given_true: np.ndarray
    given_pred: np.ndarray
    given_weight: np.ndarray | None
    gives_lists: bool

    classes: list[Any]
    pos_label: Any
    all_true: np.ndarray
    all_pred: np.ndarray

    @property
    def is_multilabel(self) -> bool:
        return self.kind in MULTILABEL

    @property
    def include_unseen(self) -> bool:
        return self.options.get("include_unseen", False)

    @cached_property
    def counted(self) -> np.ndarray:
        """Which rows weigh something."""
        if self.given_weight is None:
            return np.ones(len(self.all_true), dtype=bool)
        return self.given_weight > 0

    @cached_property
    def y_true(self) -> np.ndarray:
        """Labels of the rows that count; for multilabel the table of zeros and ones."""
        return self.all_true[self.counted]

    @cached_property
    def y_pred(self) -> np.ndarray:
        """Predictions as labels, whatever they were given as."""
        return self.all_pred[self.counted]

    @cached_property
    def weight(self) -> np.ndarray | None:
        return None if self.given_weight is None else self.given_weight[self.counted]

    @cached_property
    def labels(self) -> list[Any]:
        """All classes in the order of the results; those met, sorted, where none were declared."""
        if self.kind == AUTO:
            return sorted({*self.y_true.tolist(), *self.y_pred.tolist()})
        return list(range(len(self.classes))) if self.is_multilabel else self.classes

    @cached_property
    def averaged_labels(self) -> list[Any]:
        """The classes that a mean is over: those seen, unless all are asked for."""
        if self.include_unseen or self.is_multilabel:
            return self.labels
        met = {*self.y_true.tolist(), *self.y_pred.tolist()}
        return [label for label in self.labels if label in met]

    def batches(self) -> Iterator[tuple[Any, Any, Any]]:
        """One to four parts of what is given, cut at random."""
        rng = np.random.default_rng([self.seed, 1])
        n = len(self.given_true)
        n_cuts = min(int(rng.integers(0, 4)), n - 1)
        cuts = sorted(rng.choice(np.arange(1, n), n_cuts, replace=False).tolist())
        for start, stop in zip([0, *cuts], [*cuts, n], strict=True):
            parts = [
                None if given is None else given[start:stop]
                for given in (self.given_true, self.given_pred, self.given_weight)
            ]
            if self.gives_lists:
                parts = [None if part is None else part.tolist() for part in parts]
            yield tuple(parts)

    def __str__(self) -> str:
        return f"{self.kind}, seed {self.seed}, {self.options}"


@cache
def case(kind: str, seed: int) -> Case:
    """The case of that kind and number."""
    rng = np.random.default_rng([KINDS.index(kind), seed])
    return multilabel_case(rng, kind, seed) if kind in MULTILABEL else label_case(rng, kind, seed)


def label_case(rng: np.random.Generator, kind: str, seed: int) -> Case:
    """One label and one prediction a row."""
    n_classes = 2 if kind in BINARY else int(rng.integers(3, 7))
    classes, options = named_classes(rng, n_classes, kind)
    n = row_count(rng)
    true, predicted = codes(rng, n, n_classes), codes(rng, n, n_classes)
    if rng.random() < 0.5:
        predicted = np.where(rng.random(n) < 0.7, true, predicted)
    if rng.random() < 0.1:
        true[:] = predicted[:] = rng.integers(n_classes)
    positive = 1
    if kind in BINARY and rng.random() < 0.6:
        positive = int(rng.integers(2))
        options["pos_label"] = classes[positive]
    options["include_unseen"] = bool(rng.random() < 0.5)
    has_scores = kind in {BINARY_SCORES, MULTICLASS_SCORES}
    if rng.random() < 0.5:
        options["from_scores"] = has_scores

    given_pred = None
    if kind == BINARY_SCORES:
        given_pred, is_positive = threshold_scores(rng, predicted == positive, options)
        predicted = np.where(is_positive, positive, 1 - positive)
    if kind == MULTICLASS_SCORES:
        given_pred = winning_scores(rng, predicted, n_classes)

    names = np.array(classes)
    if names.dtype.kind == "U" and rng.random() < 0.3:
        names = names.astype(object)
    return Case(
        kind=kind,
        seed=seed,
        options=options,
        given_true=names[true],
        given_pred=names[predicted] if given_pred is None else given_pred,
        given_weight=silenced(rng, weights(rng, n), true, predicted),
        gives_lists=bool(rng.random() < 0.3),
        classes=classes,
        pos_label=classes[positive],
        all_true=names[true],
        all_pred=names[predicted],
    )


def multilabel_case(rng: np.random.Generator, kind: str, seed: int) -> Case:
    """Any number of labels a row, as a table of zeros and ones."""
    n_classes = int(rng.integers(2, 6))
    classes, options = named_classes(rng, n_classes, kind)
    options["multilabel"] = True
    options["include_unseen"] = bool(rng.random() < 0.5)
    if rng.random() < 0.5:
        options["from_scores"] = kind == MULTILABEL_SCORES

    n = row_count(rng)
    true, predicted = flags(rng, n, n_classes), flags(rng, n, n_classes)
    given_true = true.astype(rng.choice([np.int64, np.uint8, np.bool_]))
    given_pred = predicted.astype(rng.choice([np.int64, np.uint8, np.bool_]))
    if kind == MULTILABEL_SCORES:
        given_pred, predicted = threshold_scores(rng, predicted, options)
    return Case(
        kind=kind,
        seed=seed,
        options=options,
        given_true=given_true,
        given_pred=given_pred,
        given_weight=weights(rng, n),
        gives_lists=bool(rng.random() < 0.3),
        classes=classes,
        pos_label=None,
        all_true=true.astype(np.int64),
        all_pred=predicted.astype(np.int64),
    )


def named_classes(
    rng: np.random.Generator, n_classes: int, kind: str
) -> tuple[list[Any], dict[str, Any]]:
    """The classes in their order, and the option that declares them."""
    flavour = rng.choice(["number", "integers", "words"])
    if flavour == "number":
        classes = list(range(n_classes))
    elif flavour == "integers":
        classes = rng.choice(np.arange(-20, 300), n_classes, replace=False).tolist()
    else:
        classes = rng.choice(WORDS, n_classes, replace=False).tolist()

    if kind == AUTO:
        return classes, {"classes": "auto"}
    if flavour == "number":
        return classes, {"classes": n_classes}
    if rng.random() < 0.3:
        classes = sorted(classes)
    return classes, {"classes": classes}


def row_count(rng: np.random.Generator) -> int:
    return 1 if rng.random() < 0.1 else int(rng.integers(2, 60))


def codes(rng: np.random.Generator, n: int, n_classes: int) -> np.ndarray:
    """Class numbers drawn from all classes, or from some of them."""
    n_present = n_classes if rng.random() < 0.7 else int(rng.integers(1, n_classes + 1))
    return rng.choice(rng.permutation(n_classes)[:n_present], n)


def flags(rng: np.random.Generator, n: int, n_classes: int) -> np.ndarray:
    """A table of booleans in which some columns are all false or all true."""
    rate = rng.choice([0.0, 0.2, 0.5, 0.8, 1.0], n_classes)
    if rng.random() < 0.1:
        rate[:] = 0.0
    return rng.random((n, n_classes)) < rate


def weights(rng: np.random.Generator, n: int) -> np.ndarray | None:
    """No weights, whole ones, fractions; sometimes with zeros, never with nothing else."""
    flavour = rng.choice(["none", "whole", "whole floats", "fractions"])
    if flavour == "none":
        return None
    drawn = rng.uniform(0.05, 3.0, n) if flavour == "fractions" else rng.integers(1, 5, n)
    if flavour == "whole floats":
        drawn = drawn.astype(np.float64)
    if rng.random() < 0.5:
        drawn[rng.random(n) < 0.3] = 0
        drawn[rng.integers(n)] = 1
    return drawn


def silenced(
    rng: np.random.Generator, weight: np.ndarray | None, true: np.ndarray, predicted: np.ndarray
) -> np.ndarray | None:
    """Sometimes no weight for every row that names one of the classes."""
    silent = rng.choice(true)
    is_heard = (true != silent) & (predicted != silent)
    if weight is None or rng.random() < 0.7 or not weight[is_heard].any():
        return weight
    return np.where(is_heard, weight, 0).astype(weight.dtype)


def threshold_scores(
    rng: np.random.Generator, is_positive: np.ndarray, options: dict[str, Any]
) -> tuple[np.ndarray, np.ndarray]:
    """Scores about a threshold, many of them at it or next to it, and on which side they are.

    Float32 scores are compared after widening, so one that was rounded may change sides.
    """
    threshold = float(rng.choice(THRESHOLDS))
    if threshold != 0.5 or rng.random() < 0.5:
        options["threshold"] = threshold
    above = rng.uniform(threshold, 1.0, is_positive.shape)
    below = rng.uniform(0.0, threshold, is_positive.shape)
    is_close = rng.random(is_positive.shape) < 0.4
    above[is_close] = threshold
    below[is_close] = np.nextafter(threshold, 0.0)
    scores = np.where(is_positive, above, below).astype(rng.choice([np.float64, np.float32]))
    return scores, scores.astype(np.float64) >= threshold


def winning_scores(rng: np.random.Generator, predicted: np.ndarray, n_classes: int) -> np.ndarray:
    """One score a class, all different in float32 too, the greatest at the predicted class."""
    rows = np.arange(len(predicted))
    scores = distinct_scores(rng, len(predicted), n_classes)
    best = scores.argmax(axis=1)
    scores[rows, best], scores[rows, predicted] = scores[rows, predicted], scores[rows, best]
    return scores.astype(rng.choice([np.float64, np.float32]))


def distinct_scores(rng: np.random.Generator, n: int, n_classes: int) -> np.ndarray:
    """Scores without ties in a row: multiples of 1/1024 between 0 and 1."""
    grid = np.broadcast_to(np.arange(1, 1024), (n, 1023))
    return rng.permuted(grid, axis=1)[:, :n_classes] / 1024
