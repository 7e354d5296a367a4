"""What limits the numbers of a result, in sentences: few examples, absent classes, bounds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from functools import singledispatch
from typing import Any

import numpy as np

from streameval.cli.states.phrases import listed
from streameval.errors import InvalidInputError
from streameval.results.calibration import Calibration
from streameval.results.catalog import Catalog
from streameval.results.class_curves import ClassCurves
from streameval.results.confusion import Confusion
from streameval.results.curve import Curve
from streameval.results.grouped import GroupedCurves
from streameval.results.paired import PairedResult
from streameval.results.ranking import Ranking
from streameval.results.regression import Regression
from streameval.results.regression_outputs import RegressionOutputs

Options = Mapping[str, Any]

_FEW = 30
_WORST = 3
_EXACT = "Every number is exact: nothing was approximated."
_NO_DRAWS = (
    "Weights had fractions, and a fraction of an example is not a draw: no sampling intervals."
)
_NOTHING = "Nothing has been counted yet."


@singledispatch
def limits(result: Any, options: Options) -> Iterator[str]:  # noqa: ARG001 - as every function has them
    """Yield the sentences one by one.

    Parameters
    ----------
    result : result
        Of any type.
    options : mapping
        The options of its accumulator.
    """
    yield from ()


@limits.register
def _of_confusion(result: Confusion, options: Options) -> Iterator[str]:
    if not result.n:
        yield _NOTHING
        return
    matrix = result.matrix
    true, predicted = (
        matrix.sum(axis=axis) if matrix.ndim == 2 else matrix.sum(axis=axis + 1)[:, 1]
        for axis in (1, 0)
    )
    labels = result.class_names
    yield from _few(result.n, "examples")
    yield from _never(labels, true, "in the truth", "if they are predicted, their recall is 0")
    yield from _never(labels, predicted, "as prediction", "if they are true, their precision is 0")
    yield from _small_classes(labels, true, "examples")
    try:
        result.confidence("accuracy")
    except InvalidInputError:
        yield _NO_DRAWS
    if options["ignore_label"] is not None:
        yield f"Rows whose truth is {options['ignore_label']!r} were left out."
    yield _EXACT


@limits.register
def _of_curve(result: Curve, options: Options) -> Iterator[str]:  # noqa: ARG001
    if result.n_skipped:
        yield f"Examples left out because their score is NaN: {result.n_skipped:,}."
    for count, noun in ((result.n_pos, "positives"), (result.n_neg, "negatives")):
        if result.n:
            yield from _few(count, noun)
    yield from result.findings()


@limits.register
def _of_classes(result: ClassCurves, options: Options) -> Iterator[str]:
    if not result.n:
        yield _NOTHING
        return
    labels, counts = result.class_names, [curve.n_pos for curve in result.values()]
    yield from _never(labels, counts, "in the truth", "means leave them out")
    yield from _small_classes(labels, counts, "positives")
    if result.exact:
        yield "Every number is exact: each distinct score of each class has its own cell."
    else:
        budget = options["budget"]
        yield f"The curves have cells of several scores: each curve has budget={budget} cells."
    widths = {label: curve.roc_auc.high - curve.roc_auc.low for label, curve in result.items()}
    seen = [label for label, curve in result.items() if curve.n_pos]
    worst = sorted(seen, key=lambda label: (-_wide(widths[label]), result[label].n_pos))[:_WORST]
    shown = dict(zip(result.labels, result.class_names, strict=True))
    for label in worst:
        for finding in result[label].findings(limits_only=True):
            yield f"Class {listed([str(shown[label])])}: {finding}"


@limits.register
def _of_catalog(result: Catalog, options: Options) -> Iterator[str]:  # noqa: ARG001
    if not result.n:
        yield _NOTHING
        return
    yield from _few(result.n, "recommendations")
    unseen = result.n_items - result.n_recommended
    if unseen:
        yield f"Items that were never recommended: {unseen:,} of {result.n_items:,}."
    yield _EXACT


@limits.register
def _of_groups(result: GroupedCurves, options: Options) -> Iterator[str]:
    if not result.n:
        yield _NOTHING
        return
    alone = result.n_groups - result.n_averaged
    if alone:
        yield (
            f"Groups of one class only, which have no AUC: {alone:,} of {result.n_groups:,}. The "
            f"mean is about {result.coverage:.1%} of the examples."
        )
    if result.n_averaged:
        yield from _few(result.n_averaged, "groups of both classes")
        columns = result.per_group()
        sizes = (columns["n_pos"] + columns["n_neg"])[~np.isnan(columns["roc_auc"])]
        yield (
            f"Half of the groups with an AUC hold at most {np.median(sizes):g} examples: if that "
            "is few, the AUC of one of them says little."
        )
    if result.exact:
        yield f"Every number is exact: each of {result.cells:,} scores of a group has its own cell."
    else:
        value = result.gauc
        yield (
            f"The interval of GAUC is {value.high - value.low:.2g} wide: "
            f"{result.n_groups:,} groups share budget={options['budget']} cells."
        )
    yield "GAUC has no sampling interval."


@limits.register
def _of_calibration(result: Calibration, options: Options) -> Iterator[str]:
    if not result.n:
        yield _NOTHING
        return
    yield from _few(result.n, "examples")
    shares = np.atleast_1d(result.mean_label)
    if result.labels:
        yield from _never(result.class_names, shares, "in the truth", "their PCOPC is undefined")
    elif shares[0] in (0, 1):
        yield f"Every label is {shares[0]:g}: one class only."
    if result.n_clipped:
        share = result.n_clipped / result.n
        yield (
            f"Examples whose true class has a probability of 0 or 1: {result.n_clipped:,} "
            f"({share:.1%}). Log loss clips probabilities to 2**-52 from 0 and 1, so each 0 costs "
            "36.04."
        )
    _, _, weight = result.reliability_curve()
    few = int(np.count_nonzero(weight < _FEW))
    if few:
        yield (
            f"Bins with fewer than {_FEW} examples: {few} of {len(weight)}. With few examples, "
            "ECE is too high."
        )
    others = "log loss and Brier score have" if options["intervals"] else "no metric has"
    yield f"ECE depends on the bins, here {options['bins']}; {others} a sampling interval."


@limits.register
def _of_regression(result: Regression, options: Options) -> Iterator[str]:
    if not result.n:
        yield _NOTHING
        return
    yield from _few(result.n, "examples")
    if math.isnan(result.r2):
        yield "The truth is constant: R2 is undefined."
    if not result.exact:
        yield (
            "Quantiles of the errors have bounds: there are more distinct errors than "
            f"budget={options['budget']} cells."
        )
    if not options["intervals"]:
        yield "Only sums are kept, so no metric has a sampling interval."
        return
    try:
        result.confidence("rmse")
    except InvalidInputError:
        yield _NO_DRAWS


@limits.register
def _of_outputs(result: RegressionOutputs, options: Options) -> Iterator[str]:
    said: dict[str, list[str]] = {}
    for index, one in result.items():
        for sentence in _of_regression(one, options):
            said.setdefault(sentence, []).append(str(index))
    for sentence, outputs in said.items():
        yield sentence if len(outputs) == len(result) else f"Output {listed(outputs)}: {sentence}"


@limits.register
def _of_paired(result: PairedResult, options: Options) -> Iterator[str]:  # noqa: ARG001
    if not result.n:
        yield _NOTHING
        return
    yield from _few(result.n_only_a + result.n_only_b, "examples that only one model gets right")
    if math.isnan(result.mcnemar_pvalue):
        yield "Weights had fractions, and a fraction of an example is not a draw: no tests."
    if result.exact:
        yield _EXACT
        return
    yield (
        "More pairs of scores than the budget: the areas and their difference have certified "
        "bounds, and the interval and p-value of the difference allow for them."
    )


@limits.register
def _of_ranking(result: Ranking, options: Options) -> Iterator[str]:
    if result.n_open:
        yield f"Queries that are open, and count only once they are closed: {result.n_open:,}."
    if not result.n_queries:
        yield "No query has been counted yet."
        return
    yield from _few(result.n_queries, "queries")
    for count, what, policy in (
        (result.n_empty, "with nothing to find", "empty"),
        (result.n_missing, "that were judged but are missing from the run", "missing"),
    ):
        if count:
            words = options[policy]
            chosen = words if isinstance(words, str) else ", ".join(words)
            yield f"Queries {what}: {count:,}. They count as {policy}={chosen} says."
    opened = {name: value.high - value.low for name, value in result.items() if not value.exact}
    if opened:
        widest = max(opened, key=lambda name: opened[name])
        yield (
            "Measures with an interval, because queries have more rows than rows_per_query="
            f"{options['rows_per_query']}: {listed(opened)}. The widest, of {widest}, is "
            f"{opened[widest]:.2g} wide."
        )
    else:
        yield _EXACT


def _few(count: float, noun: str) -> Iterator[str]:
    if 0 < count < _FEW:
        yield f"Few {noun}, {count:,}: another sample may give quite different numbers."


def _never(
    labels: Iterable[Any], counts: Iterable[Any], where: str, therefore: str
) -> Iterator[str]:
    """Name the classes that do not occur."""
    every = dict(zip(labels, counts, strict=True))
    never = [str(label) for label, count in every.items() if not count]
    if never:
        share = f"{len(never):,} of {len(every):,}"
        yield f"Classes that never occur {where}, {share}: {listed(never)}; {therefore}."


def _small_classes(labels: Iterable[Any], counts: Iterable[Any], noun: str) -> Iterator[str]:
    """Name the classes that occur only a few times, the rarest first."""
    rare = [
        (count, str(label)) for label, count in zip(labels, counts, strict=True) if 0 < count < _FEW
    ]
    if rare:
        names = listed(f"{label} ({count:,})" for count, label in sorted(rare))
        yield f"Classes with few {noun}, whose numbers say little: {names}."


def _wide(width: float) -> float:
    return 0.0 if math.isnan(width) else width
