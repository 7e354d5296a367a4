"""What limits the numbers of a result, in sentences: few examples, absent classes, bounds."""

from __future__ import annotations

import math
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from streameval.render.text import listed_few

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from streameval.metrics.points import CellTable

    Findings = Callable[[Any], Iterator[str]]

_FEW = 30
_WORST = 3
_EXACT = "Every number is exact: nothing was approximated."
_NO_DRAWS = (
    "Weights had fractions, and a fraction of an example is not a draw: no sampling intervals."
)
_NOTHING = "Nothing has been counted yet."
_TIES_WORTH_SAYING = 0.001
_SATURATION_WORTH_SAYING = 0.01


def is_limit(sentence: str) -> bool:
    """Tell whether a sentence is about a limit, and not that every number is exact."""
    return not sentence.startswith("Every number is")


def _of_some(noun: str = "", *, left_out: str = "") -> Callable[[Findings], Findings]:
    """Let findings be about rows, of which there are some; few of them are the first to say.

    `left_out` says which rows were left out, if some may be.
    """

    def after(findings: Findings) -> Findings:
        @wraps(findings)
        def every(result: Any) -> Iterator[str]:
            if left_out and result.n_skipped:
                yield f"{left_out}: {result.n_skipped:,}."
            if not result.n:
                yield _NOTHING
                return
            yield from _few(result.n, noun) if noun else ()
            yield from findings(result)

        return every

    return after


@_of_some("examples")
def of_confusion(result: Any) -> Iterator[str]:
    """Say which classes are absent or rare, and what has no interval."""
    matrix = result.matrix
    true, predicted = (
        matrix.sum(axis=axis) if matrix.ndim == 2 else matrix.sum(axis=axis + 1)[:, 1]
        for axis in (1, 0)
    )
    labels = result.class_names
    yield from _never(labels, true, "in the truth", "if they are predicted, their recall is 0")
    yield from _never(labels, predicted, "as prediction", "if they are true, their precision is 0")
    yield from _small_classes(labels, true, "examples")
    if not result._source.has_whole_weights:
        yield _NO_DRAWS
    ignored = result._source.config.ignore_label
    if ignored is not None:
        yield f"Rows whose truth is {ignored!r} were left out."
    yield _EXACT


def of_curve(curve: Any) -> Iterator[str]:
    """Say which examples were left out, of which class there are few, and what limits the rest."""
    if curve.n_skipped:
        yield f"Examples left out because they have no score: {curve.n_skipped:,}."
    for count, noun in ((curve.n_pos, "positives"), (curve.n_neg, "negatives")):
        yield from _few(count, noun)
    yield from _of_cells(curve)


def _of_cells(curve: Any) -> Iterator[str]:
    """Say what limits the numbers of a curve: classes, ties, saturation, the budget."""
    table = curve._table
    if not table.n:
        yield _NOTHING
        return
    yield from _about_classes(table)
    yield from _about_scores(table)
    yield from _about_cells(table)


def _about_classes(table: CellTable) -> Iterator[str]:
    for count, absent, lost in (
        (table.n_pos, "positive", "Every metric but the losses"),
        (table.n_neg, "negative", "ROC AUC and KS"),
    ):
        if not count:
            yield f"No {absent} has been seen: one class only. {lost} cannot be computed."


def _about_scores(table: CellTable) -> Iterator[str]:
    low, high = float(table.lo[-1]), float(table.hi[0])
    if low == high:
        yield f"All scores are {low:.6g}: a constant ranks nothing."
    pos, neg = table.pos.near_floats(), table.neg.near_floats()
    if table.scale == "probability":
        ends = ~table.is_wide & ((table.lo == 0.0) | (table.lo == 1.0))
        share = math.fsum((pos + neg)[ends]) / table.n
        if share >= _SATURATION_WORTH_SAYING:
            yield (
                f"{share:.1%} of the scores are exactly 0 or 1: the model is saturated, or its "
                "scores were rounded, and their order is lost. Scores before the sigmoid keep it."
            )
    elif low < 0.0 or high > 1.0:
        yield (
            f"Scores reach from {low:.6g} to {high:.6g}: they look like logits or margins. "
            "Ranking metrics do not mind; log loss, Brier and ECE need probabilities."
        )
    else:
        yield (
            'All scores lie in [0, 1]: scores="probability" would give log loss, Brier and ECE '
            "too, and finer bins near 1."
        )
    pairs = _pairs(table)
    tied = math.fsum((pos * neg)[~table.is_wide]) / pairs if pairs else 0.0
    if tied >= _TIES_WORTH_SAYING and low < high:
        yield f"{tied:.1%} of the pairs of a positive and a negative tie: each counts half."


def _about_cells(table: CellTable) -> Iterator[str]:
    if table.is_exact:
        yield f"Every number is exact: each of {len(table.lo):,} distinct scores has its own bin."
        return
    wide = int(np.count_nonzero(table.is_wide))
    yield (
        f"{wide:,} of {len(table.lo):,} bins hold several scores; the widest spans "
        f"{table.resolution:.3g}."
    )
    if _pairs(table):
        from streameval.metrics import envelope  # noqa: PLC0415 (of curves)

        auc = envelope.roc_auc(table)
        yield (
            f"The interval of ROC AUC is {auc.high - auc.low:.2g} wide: in that share of the "
            "pairs, a positive and a negative are in one bin of several scores."
        )
    if table.level:
        finer = table.cells.n_cells_at(table.level - 1)
        yield (
            f"budget={finer:,} would have kept these data one bit finer, which halves the "
            "intervals if scores are spread evenly."
        )


def _pairs(table: CellTable) -> float:
    return float(table.n_pos) * float(table.n_neg)


@_of_some()
def of_classes(result: Any) -> Iterator[str]:
    """Say which classes are absent or rare, and what limits the curves of the widest intervals."""
    labels, counts = result.class_names, [curve.n_pos for curve in result.values()]
    yield from _never(labels, counts, "in the truth", "means leave them out")
    yield from _small_classes(labels, counts, "positives")
    if result.exact:
        yield "Every number is exact: each distinct score of each class has its own bin."
    else:
        held = "" if result._budget is None else f": each curve has budget={result._budget} bins"
        yield f"The curves have bins of several scores{held}."
    widths = {label: curve.roc_auc.high - curve.roc_auc.low for label, curve in result.items()}
    seen = [label for label, curve in result.items() if curve.n_pos]
    worst = sorted(seen, key=lambda label: (-_wide(widths[label]), result[label].n_pos))[:_WORST]
    shown = dict(zip(result.labels, result.class_names, strict=True))
    for label in worst:
        for finding in filter(is_limit, _of_cells(result[label])):
            yield f"Class {listed_few([str(shown[label])])}: {finding}"


@_of_some("recommendations")
def of_catalog(result: Any) -> Iterator[str]:
    """Say how many items were never recommended."""
    unseen = result.n_items - result.n_recommended
    if unseen:
        yield f"Items that were never recommended: {unseen:,} of {result.n_items:,}."
    yield _EXACT


@_of_some("comparisons")
def of_preferences(result: Any) -> Iterator[str]:
    """Say which models have no strength, or one that the comparisons do not limit."""
    found = result.bradley_terry
    unmet = [str(model) for model, rate in result.win_rate.items() if math.isnan(rate)]
    if unmet:
        yield f"Models that were never compared, which have no strength: {listed_few(unmet)}."
    for value, why in (
        (math.inf, "the others never beat, so that their strength is infinite"),
        (0.0, "never beat the others, so that their strength is 0"),
    ):
        extreme = [str(model) for model, strength in found.items() if strength == value]
        if extreme:
            yield f"Models that {why}: {listed_few(extreme)}."
    undefined = [str(model) for model, strength in found.items() if math.isnan(strength)]
    undefined = [model for model in undefined if model not in unmet]
    if undefined:
        yield (
            "Models whose strength is nan, because no chain of wins and losses links them to the "
            f"others: {listed_few(undefined)}. Compare them with more models."
        )
    if not result._state.n.is_whole:
        yield _NO_DRAWS.replace("an example", "a comparison")
    yield "Every count is exact."


@_of_some()
def of_groups(result: Any) -> Iterator[str]:
    """Say how many groups have no AUC, and how large the others are."""
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
        yield f"Every number is exact: each of {result.cells:,} scores of a group has its own bin."
    else:
        value = result.gauc
        yield (
            f"The interval of GAUC is {value.high - value.low:.2g} wide: "
            f"{result.n_groups:,} groups share budget={result._config.budget} bins."
        )
    yield "GAUC has no sampling interval."


@_of_some("examples")
def of_calibration(result: Any) -> Iterator[str]:
    """Say which classes are absent, and what clipping and bins do."""
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
    others = "log loss and Brier score have" if result._config.intervals else "no metric has"
    yield f"ECE depends on the bins, here {result._config.bins}; {others} a sampling interval."


@_of_some("examples")
def of_regression(result: Any) -> Iterator[str]:
    """Say where R2 is undefined, and which metrics have bounds or intervals."""
    if math.isnan(result.r2):
        yield "The truth is constant: R2 is undefined."
    if not result.exact:
        yield (
            "Quantiles of the errors have bounds: there are more distinct errors than "
            f"budget={result._config.budget} bins."
        )
    if not result._config.intervals:
        yield "Only sums are kept, so no metric has a sampling interval."
        return
    if not result._state.n.is_whole:
        yield _NO_DRAWS


@_of_some("values", left_out="Values left out because they are NaN")
def of_values(result: Any) -> Iterator[str]:
    """Say how many values there are and were left out, and which numbers have bounds."""
    if not result._state.n.is_whole:
        yield _NO_DRAWS.replace("an example", "a value")
    if result.exact:
        yield _EXACT
    else:
        yield (
            "Quantiles have bounds: there are more distinct values than "
            f"budget={result._config.budget} bins."
        )


def of_outputs(result: Any) -> Iterator[str]:
    """Say what limits each output, and what all of them."""
    said: dict[str, list[str]] = {}
    for index, one in result.items():
        for sentence in of_regression(one):
            said.setdefault(sentence, []).append(str(index))
    for sentence, outputs in said.items():
        of_all = len(outputs) == len(result)
        yield sentence if of_all else f"Output {listed_few(outputs)}: {sentence}"


@_of_some(left_out="Rows left out because the value of either model is NaN")
def of_paired(result: Any) -> Iterator[str]:
    """Say how many examples decide, and whether pairs of scores were merged."""
    if result._config.is_of_values:
        yield from _few(result.n, "rows")
    else:
        n_apart = result.n_only_a + result.n_only_b
        yield from _few(n_apart, "examples that only one model gets right")
    if result._clusters is None and not result._state.outcomes.is_whole:
        yield "Weights had fractions, and a fraction of an example is not a draw: no tests."
    if result.exact:
        yield _EXACT
        return
    yield (
        "More pairs of scores than the budget: the areas and their difference have "
        "bounds, and the interval and p-value of the difference allow for them."
    )


def of_ranking(result: Any) -> Iterator[str]:
    """Say which queries do not count, or count by convention, and which measures have bounds."""
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
            words = getattr(result._config, policy)
            chosen = words if isinstance(words, str) else ", ".join(words)
            yield f"Queries {what}: {count:,}. They count as {policy}={chosen} says."
    opened = {name: value.high - value.low for name, value in result.items() if not value.exact}
    if opened:
        widest = max(opened, key=lambda name: opened[name])
        yield (
            "Measures with an interval, because queries have more rows than rows_per_query="
            f"{result._config.rows_per_query}: {listed_few(opened)}. The widest, of {widest}, is "
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
        yield f"Classes that never occur {where}, {share}: {listed_few(never)}; {therefore}."


def _small_classes(labels: Iterable[Any], counts: Iterable[Any], noun: str) -> Iterator[str]:
    """Name the classes that occur only a few times, the rarest first."""
    rare = [
        (count, str(label)) for label, count in zip(labels, counts, strict=True) if 0 < count < _FEW
    ]
    if rare:
        names = listed_few(f"{label} ({count:,})" for count, label in sorted(rare))
        yield f"Classes with few {noun}, whose numbers say little: {names}."


def _wide(width: float) -> float:
    return 0.0 if math.isnan(width) else width
