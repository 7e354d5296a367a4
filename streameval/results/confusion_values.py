"""The metrics of a `Confusion` by name; a new one is a function and an entry here."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from streameval.configs.options import real_number
from streameval.errors import InvalidInputError
from streameval.metrics import classification as metrics
from streameval.metrics.classification import Ratio
from streameval.results.confusion_reading import AverageOption, Reading
from streameval.states.confusion import MetCounts, MultilabelCounts

__all__ = ["PLAIN", "RATIOS", "WRONG", "bind", "metric_names", "ratio_value", "value"]

WRONG = Ratio((0, 1, 1, 0), (1, 1, 1, 1))
RATIOS: Mapping[str, Ratio | None] = {
    "precision": metrics.PRECISION,
    "recall": metrics.RECALL,
    "specificity": metrics.SPECIFICITY,
    "f_score": None,  # made from beta or alpha
    "jaccard": metrics.JACCARD,
}


def accuracy(reading: Reading) -> float:
    """Compute the share of examples with every label right."""
    if isinstance(reading.state, MultilabelCounts):
        right = reading.state.exact_match
    else:
        right = reading.outcomes.tp.sum()
    return _share(right.to_floats().item(), reading.n)


def hamming_loss(reading: Reading) -> float:
    """Compute the share of wrong labels."""
    if isinstance(reading.state, MultilabelCounts):
        everything = np.ones(len(reading.labels), dtype=bool)
        pooled = metrics.pool(reading.outcomes.to_floats(), everything)
        return float(WRONG.of(pooled, math.nan)[0])
    wrong = reading.state.n - reading.outcomes.tp.sum()
    return _share(wrong.to_floats().item(), reading.n)


def top_k_accuracy(reading: Reading) -> float:
    """Compute the mean credit of the true class."""
    state = reading.matrix_state("top_k_accuracy")
    if isinstance(state, MetCounts):
        return accuracy(reading)
    return metrics.top_k_accuracy(state.n, state.credit)


def balanced_accuracy(reading: Reading) -> float:
    """Compute the mean recall of the classes in the truth."""
    reading.matrix_state("balanced_accuracy")
    return metrics.average_ratio(
        metrics.RECALL,
        reading.outcomes,
        average="macro",
        averaged=reading.outcomes.support.is_positive(),
        zero_division=math.nan,
    )


def matthews_corrcoef(reading: Reading) -> float:
    """Compute the correlation of truth and prediction."""
    reading.matrix_state("matthews_corrcoef")
    return metrics.matthews_corrcoef(reading.outcomes)


def cohen_kappa(reading: Reading) -> float:
    """Compute the agreement beyond chance."""
    reading.matrix_state("cohen_kappa")
    return metrics.cohen_kappa(reading.outcomes)


PLAIN: Mapping[str, Callable[[Reading], float]] = {
    "accuracy": accuracy,
    "hamming_loss": hamming_loss,
    "top_k_accuracy": top_k_accuracy,
    "balanced_accuracy": balanced_accuracy,
    "matthews_corrcoef": matthews_corrcoef,
    "cohen_kappa": cohen_kappa,
}


def metric_names(reading: Reading) -> tuple[str, ...]:
    """List the metrics that say something about this kind of labels, in order of report."""
    if isinstance(reading.state, MultilabelCounts):
        return ("accuracy", "hamming_loss", *RATIOS)
    top = ("top_k_accuracy",) if reading.config.top_k > 1 else ()
    return ("accuracy", *top, "balanced_accuracy", *RATIOS, "matthews_corrcoef", "cohen_kappa")


def value(reading: Reading, name: str, *args: Any, **options: Any) -> Any:
    """Compute a metric by name, with the arguments of the method of that name."""
    if name in RATIOS:
        return ratio_value(reading, *bind(name, *args, **options))
    if name not in PLAIN:
        names = ", ".join((*PLAIN, *RATIOS))
        raise InvalidInputError(f"`name` must be one of {names}, got {name!r}.")
    if args or options:
        raise InvalidInputError(f"`{name}` takes no arguments.")
    return PLAIN[name](reading)


def ratio_value(
    reading: Reading, ratio: Ratio, average: AverageOption, zero_division: float
) -> Any:
    """Compute a ratio, averaged over the classes or for each of them."""
    zero_division = real_number(zero_division, name="zero_division")
    if not (zero_division in (0.0, 1.0) or math.isnan(zero_division)):
        raise InvalidInputError(f"`zero_division` must be 0.0, 1.0 or nan, got {zero_division!r}.")
    how = reading.resolve(average)
    if how is None:
        return ratio.of(reading.outcomes.to_floats(), zero_division)
    if how == "binary":
        outcomes = reading.outcomes.to_floats()[:, reading.config.positive_place]
        return ratio.of_one(outcomes, zero_division)
    return metrics.average_ratio(
        ratio,
        reading.outcomes,
        average=how,
        averaged=reading.averaged,
        zero_division=zero_division,
    )


def bind(name: str, *args: Any, **options: Any) -> tuple[Ratio, AverageOption, float]:
    """Read the arguments of a ratio as the method of that name does."""
    ratio = RATIOS[name]
    try:
        return _bind_f(*args, **options) if ratio is None else _bind(ratio, *args, **options)
    except TypeError as error:
        accepted = "average and zero_division"
        accepted = f"beta, alpha, {accepted}" if ratio is None else accepted
        raise InvalidInputError(f"`{name}` takes {accepted}.") from error


def _bind(
    ratio: Ratio, average: AverageOption = "default", *, zero_division: float = 0.0
) -> tuple[Ratio, AverageOption, float]:
    return ratio, average, zero_division


def _bind_f(
    beta: float = 1.0,
    alpha: float | None = None,
    average: AverageOption = "default",
    *,
    zero_division: float = 0.0,
) -> tuple[Ratio, AverageOption, float]:
    return metrics.f_ratio(beta, alpha), average, zero_division


def _share(part: float, whole: float) -> float:
    return part / whole if whole else math.nan
