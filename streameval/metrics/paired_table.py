"""The table of the metrics of two models on the same rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import attrs

from streameval.configs.paired import DECISIONS
from streameval.metrics.bounded import Interval
from streameval.metrics.confusion_table import TABLE as CONFUSION
from streameval.metrics.evidence import (
    Share,
    mcnemar_pvalue,
    paired_evidence,
)
from streameval.metrics.intervals import wilson
from streameval.metrics.paired import Model
from streameval.metrics.paired_decisions import Decisions, share_difference
from streameval.metrics.shares import quotient
from streameval.metrics.table import (
    CORRELATION,
    EXAMPLES,
    NOT_NEGATIVE,
    SHARE,
    UNLIMITED,
    Metric,
    Table,
    count_row,
    whole_weights,
)

if TYPE_CHECKING:
    from streameval.results.paired import PairedResult


_WHY_NONE = "fractional weights have none"


_IS_TEST = "it is a test itself"


_SUBTRACTS = " (A - B)"


_OF_ROWS = (
    "A normal mean, with the variance of the difference row by row, and more where few rows make "
    "up much of the losses."
)


_NO_TEST = "its test is for one look; accuracy has one that may be looked at any time"


def _of_accuracy(result: PairedResult, value: float, z: float) -> Interval:
    """Compute Wilson's interval of one model's accuracy."""
    return wilson(value, result.n, z)


def _of_difference(result: PairedResult, value: float, z: float) -> Interval:  # noqa: ARG001
    """Compute the interval that agrees with McNemar's test."""
    return share_difference(result.n_only_a, result.n_only_b, result.n, z)


_check_draws = whole_weights(lambda result: result._state.outcomes.is_whole)


def _number(measure: str, attribute: str) -> Callable[[PairedResult], float]:
    """Make the function that reads a number of a measure."""

    def value(result: PairedResult) -> float:
        found: float = getattr(result._compared[measure], attribute)
        return found

    return value


def _rows_of(result: PairedResult) -> Table:
    """List the rows of a result: tests are of independent rows, and clusters have none.

    Without a truth, no model is right.
    """
    rows = [*TABLE.values()]
    if result._config.is_of_values:
        (measure,) = result._config.measures
        names = ("n", "n_skipped")
        rows = [row for row in rows if row.name in names or row.name.startswith(f"{measure}_")]
    return Table(*(row for row in rows if result._clusters is None or not _is_test(row)))


def _why_no_test(result: PairedResult, name: str) -> tuple[object, ...]:
    """Explain why a test was not made, in pieces of a message."""
    if result._clusters is None:
        return ()
    measure = name.removesuffix("_pvalue")
    difference = f"{measure}_difference" if measure in result._config.measures else "difference"
    return (
        f"{name} is a test of rows that are independent, and these have clusters. ",
        f"The models differ if the interval of {difference} is on one side of 0.",
    )


def _is_test(row: Metric) -> bool:
    """Return whether a row is a test: it is about rows that are independent."""
    return row.limits is None and not row.is_count


def _mcnemar_pvalue(result: PairedResult) -> float:
    if not result._state.outcomes.is_whole:
        return math.nan
    return mcnemar_pvalue(int(result.n_only_a), int(result.n_only_b))


def _log_evidence(result: PairedResult) -> float:
    if not result._state.outcomes.is_whole:
        return math.nan
    return paired_evidence(result.n_only_a, result.n_only_b)


def _pvalue(measure: str) -> Callable[[PairedResult], float]:
    """Make the function that reads the p-value of a measure; nan for fractional weights."""
    number = _number(measure, "pvalue")
    return lambda result: number(result) if result._state.outcomes.is_whole else math.nan


def _interval(
    measure: str, model: Model | None = None
) -> Callable[[PairedResult, float, float], Interval]:
    """Make the function that computes the sampling interval of a model, or of the difference."""

    def sampling(result: PairedResult, value: float, z: float) -> Interval:  # noqa: ARG001
        compared = result._compared[measure]
        return compared.interval(z) if model is None else compared.interval_of(model, z)

    return sampling


_RANKED: tuple[tuple[int, Model], ...] = ((2, "a"), (3, "b"))
"""The ranks of the models' numbers among the metrics of short summaries."""


@attrs.frozen
class _Measure:
    """What the rows of a requested measure say: one for each model, the difference, and its test.

    Parameters
    ----------
    name, heading, what : str
        `what` explains the number of a model, which stands in braces.
    formula, oracle : str
        Of the number of a model.
    better : str
        Its better direction.
    headline : bool
        Whether a result of the measure has no other metrics.
    test, of_test : str
        How the test is made, by default of means over rows, and its oracle.
    limits : (low, high)
        The lowest and the highest number of a model.
    formula_of_test : str
        Of the p-value.
    is_substitute : callable, optional
        From what is compared, and a model: whether its number is a convention.
    """

    name: str
    heading: str
    what: str
    formula: str
    better: Literal["higher", "lower", ""]
    oracle: str
    headline: bool = False
    test: str = _OF_ROWS
    of_test: str = "the definition, with the deviation of NumPy"
    limits: Interval = SHARE
    formula_of_test: str = r"2 \Phi(-|d| / s)"
    is_substitute: Callable[[Any, Model], bool] | None = None

    def rows(self) -> list[Metric]:
        """Make the rows."""
        low, high = self.limits
        of_models = [
            self._row(
                model,
                heading=f"{self.heading} of {model.upper()}",
                help=self.what.format(model.upper()),
                value=_number(self.name, model),
                formula=self.formula,
                better=self.better,
                limits=self.limits,
                sampling=_interval(self.name, model),
                is_substitute=self._finder(model),
                oracle=self.oracle,
                headline=rank * self.headline,
            )
            for rank, model in _RANKED
        ]
        difference = self._row(
            "difference",
            heading=f"{self.heading}, A minus B",
            subtracts=_SUBTRACTS,
            help=f"{self.name}_a minus {self.name}_b; nan unless rows define both.",
            notes=self.test,
            value=_number(self.name, "difference"),
            formula=rf"{self.formula}\Big|_A - \Big|_B",
            limits=(low - high, high - low),
            sampling=_interval(self.name),
            oracle=self.of_test,
            headline=int(self.headline),
        )
        pvalue = self._row(
            "pvalue",
            heading=f"{self.heading}, p-value",
            help=f"The two-sided p-value of {self.name}_difference, for one look at a fixed n.",
            notes=self.test,
            value=_pvalue(self.name),
            formula=self.formula_of_test,
            limits=None,
            oracle=self.of_test,
        )
        return [*of_models, difference, pvalue]

    def _finder(self, model: Model) -> Callable[..., bool] | None:
        """Make the function that tells whether the number of a model is a convention."""
        find = self.is_substitute
        return find and (lambda result, _: find(result._compared[self.name], model))

    def _row(self, part: str, **row: Any) -> Metric:
        name, asked = f"{self.name}_{part}", f"Paired(measures=[{self.name!r}])"
        not_asked = f"{name} is counted only where it is asked for: {asked}."

        def absent(result: PairedResult, _: str) -> tuple[object, ...]:
            why = _why_no_test(result, name) if part == "pvalue" else ()
            return why or (() if self.name in result._config.measures else (not_asked,))

        return Metric(
            name=name,
            absent=absent,
            listed=lambda result: self.name in result._config.measures,
            why_no_evidence=_NO_TEST,
            check_draws=_check_draws,
            why_none=_WHY_NONE if "sampling" in row else "",
            **row,
        )


def _of_decisions(row: Metric) -> _Measure:
    """Compare a metric of a confusion matrix, given its row there."""
    averaged = ", with the average of a confusion matrix: of the positive class of two, else the"
    return _Measure(
        row.name,
        row.heading,
        f"The {row.name} of {{}}{averaged} macro mean."
        if row.averages
        else f"The {row.name} of {{}}, from its confusion matrix.",
        test="By the delta method, from the joint counts of truth and both decisions.",
        formula=row.formula,
        better=row.better,
        limits=row.limits or UNLIMITED,
        oracle=row.oracle,
        of_test="the delta method, with derivatives by finite differences",
        is_substitute=Decisions.is_substitute,
    )


def _of_values(measure: str, better: Literal["higher", "lower"]) -> _Measure:
    """Compare means of values without a truth."""
    return _Measure(
        measure,
        f"Mean {measure}",
        f"The mean of the values of {{}}; {better} ones are better.",
        test="By Student's paired t-test, from the differences row by row.",
        formula=r"\frac1n \sum_i v_i",
        better=better,
        headline=True,
        limits=UNLIMITED,
        oracle="NumPy, average",
        of_test="scipy, ttest_rel",
        formula_of_test=r"2 T_{n - 1}(-|d| / s)",
    )


_MEASURES = (
    *(_of_decisions(CONFUSION[name]) for name in DECISIONS),
    _Measure(
        "roc_auc",
        "ROC AUC",
        "The area under the ROC curve of {}, in [0, 1]; nan unless both classes occur.",
        test="By DeLong's method for areas of the same rows, from the differences of placements, "
        "with more variance for few examples of a class.",
        formula=r"P(s_+ > s_-) + \tfrac12 P(s_+ = s_-)",
        better="higher",
        oracle="scikit-learn, roc_auc_score",
        of_test="DeLong's formula with the added variance, pair by pair",
    ),
    _Measure(
        "log_loss",
        "Log loss",
        "The mean of -log(probability of the true class) of {}, natural, in [2.2e-16, 36.05].",
        formula=r"-\frac1n \sum_i \log p_i(y_i)",
        better="lower",
        limits=NOT_NEGATIVE,
        oracle="scikit-learn, log_loss",
    ),
    _Measure(
        "mse",
        "Mean squared error",
        "The mean squared error of the numbers that {} predicts, at least 0.",
        formula=r"\frac1n \sum_i (\hat y_i - y_i)^2",
        better="lower",
        limits=NOT_NEGATIVE,
        oracle="scikit-learn, mean_squared_error",
    ),
    _Measure(
        "mae",
        "Mean absolute error",
        "The mean absolute error of the numbers that {} predicts, at least 0.",
        formula=r"\frac1n \sum_i |\hat y_i - y_i|",
        better="lower",
        limits=NOT_NEGATIVE,
        oracle="scikit-learn, mean_absolute_error",
    ),
    _of_values("loss", "lower"),
    _of_values("score", "higher"),
    _Measure(
        "brier",
        "Brier score",
        "The mean squared error of the probabilities of {}, in [0, 1].",
        formula=r"\frac1n \sum_i (p_i - y_i)^2",
        better="lower",
        oracle="scikit-learn, brier_score_loss",
    ),
)


def _count(name: str, rights: tuple[int, int], heading: str, which: str) -> Metric:
    """Make the row of the weight of the examples by which of the two models are right."""
    return count_row(
        name,
        heading,
        f"The weight of the examples that {which}.",
        value=lambda result: result._state.outcomes.to_numbers()[rights].item(),
    )


def _accuracy(model: str, hits: Callable[[PairedResult], int | float], headline: int) -> Metric:
    """Make the row of the accuracy of a model."""
    named = model.upper()
    return Metric(
        name=f"accuracy_{model}",
        limits=SHARE,
        heading=f"Accuracy of {named}",
        help=f"The share of examples that model {named} gets right, in [0, 1]; nan without "
        "examples.",
        formula=rf"\frac{{n_{{AB}} + n_{named}}}{{n}}",
        better="higher",
        value=lambda result: quotient(hits(result), result.n),
        sampling=_of_accuracy,
        check_draws=_check_draws,
        why_none=_WHY_NONE,
        evidence=lambda result: Share.of(hits(result), result.n - hits(result)),
        oracle="scikit-learn, accuracy_score",
        headline=headline,
    )


def _test(name: str, **row: Any) -> Metric:
    """Make the row of a test."""
    return Metric(name=name, limits=None, why_no_evidence=_IS_TEST, absent=_why_no_test, **row)


TABLE = Table(
    EXAMPLES,
    count_row(
        "n_skipped",
        "Skipped",
        "The weight of the rows left out because the value of either model is NaN.",
        is_rare=True,
        listed=lambda result: result._config.nan == "skip",
    ),
    _count("n_both", (1, 1), "Both right", "both models get right"),
    _count("n_only_a", (1, 0), "Only A", "only model A gets right"),
    _count("n_only_b", (0, 1), "Only B", "only model B gets right"),
    _count("n_neither", (0, 0), "Neither", "both models get wrong"),
    _accuracy("a", lambda result: result.n_both + result.n_only_a, headline=2),
    _accuracy("b", lambda result: result.n_both + result.n_only_b, headline=3),
    Metric(
        name="difference",
        aliases=("accuracy_difference",),
        limits=CORRELATION,
        heading="Difference, A minus B",
        subtracts=_SUBTRACTS,
        help="The accuracy of A minus that of B, in [-1, 1]; nan without examples.",
        formula=r"\frac{n_A - n_B}{n}",
        value=lambda result: quotient(result.n_only_a - result.n_only_b, result.n),
        sampling=_of_difference,
        check_draws=_check_draws,
        why_none=_WHY_NONE,
        why_no_evidence="log_evidence is the test of it",
        oracle="the definition, from both accuracies",
        headline=1,
    ),
    _test(
        "mcnemar_pvalue",
        value=_mcnemar_pvalue,
        heading="p-value, one look",
        help="The two-sided p-value of McNemar's exact test, for one look at a fixed n.",
        notes="Twice the chance of a split at least this uneven of the rows that only one model "
        "gets right, at most 1.",
        formula=r"\min(1,\ 2 \sum_{i \le \min(n_A, n_B)} \tbinom{n_A + n_B}i 2^{-n_A - n_B})",
        oracle="scipy, binomtest",
    ),
    _test(
        "log_evidence",
        value=_log_evidence,
        heading="Log evidence",
        help="The logarithm of the evidence that the models differ, which may be looked at any "
        "time.",
        notes="If they are equally good it ever reaches log(1 / a) with a probability of at most "
        "a.",
        formula=r"\log \frac{2^{n_A + n_B}}{(n_A + n_B + 1) \binom{n_A + n_B}{n_A}}",
        oracle="the definition, in fractions",
    ),
    _test(
        "anytime_pvalue",
        value=lambda result: math.exp(-max(_log_evidence(result), 0.0)),
        heading="p-value, any time",
        help="The p-value that holds however often you look, 1 over the evidence and at most 1.",
        formula=r"\min(1,\ (n_A + n_B + 1) \tbinom{n_A + n_B}{n_A} 2^{-n_A - n_B})",
        oracle="the definition, in fractions",
    ),
    *(row for measure in _MEASURES for row in measure.rows()),
    of_result=_rows_of,
    task="paired",
    made_by="Paired",
    is_task=False,
)
