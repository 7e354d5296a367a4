"""The table of the metrics of models that were compared in pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from streameval.metrics.bounded import Interval
from streameval.metrics.intervals import wilson
from streameval.metrics.preferences import win_rate_interval
from streameval.metrics.shares import quotient
from streameval.metrics.table import (
    EXAMPLES,
    NOT_NEGATIVE,
    SHARE,
    Metric,
    Table,
    count_row,
    whole_weights,
)

if TYPE_CHECKING:
    from streameval.results.preferences import Preferences


def _n_models(result: Preferences) -> int:
    wins, ties = result._tables
    return int(np.count_nonzero((wins + wins.T + ties > 0).any(axis=1)))


def _tie_rate(result: Preferences) -> float:
    return quotient(float(result._state.ties.total().to_floats()), result.n)


def _of_positions(function: Callable[..., Interval]) -> Callable[..., Interval]:
    """Compute an interval from the positions of models."""

    def sampling(
        result: Preferences, _value: float, z: float, *args: Any, **options: Any
    ) -> Interval:
        return function(result, z, *map(result._position, (*args, *options.values())))

    return sampling


def _metric(name: str, sampling: Callable[..., Interval], **row: Any) -> Metric:
    """Make the row of a metric, with the defaults of this table."""
    defaults: dict[str, Any] = {
        "limits": SHARE,
        "check_draws": whole_weights(lambda result: result._state.n.is_whole, of="a comparison"),
        "why_none": "weights had fractions",
        "why_no_evidence": "it depends on which models were compared",
        "oracle": "the definition, row by row",
    }
    return Metric(name=name, sampling=_of_positions(sampling), **defaults | row)


def _interval_of_rate(result: Preferences, z: float, at: int) -> Interval:
    return win_rate_interval(*result._record(at), z)


TABLE = Table(
    EXAMPLES,
    count_row(
        "n_models", "Models compared", "The number of models that were compared.", value=_n_models
    ),
    _metric(
        "tie_rate",
        value=_tie_rate,
        aliases=("ties", "draw_rate"),
        heading="Share of ties",
        help="The share of the comparisons that were ties, in [0, 1]; nan without comparisons.",
        formula=r"\frac{\text{ties}}{n}",
        sampling=lambda result, z: wilson(_tie_rate(result), float(result.n), z),
        headline=1,
    ),
    _metric(
        "win_rate",
        value=lambda result, model: result._rate(result._position(model)),
        aliases=("winrate", "preference_rate", "average_win_rate"),
        heading="Win rate",
        help="The share of the comparisons of a model that it won, in [0, 1]; a tie is half a win.",
        notes="nan for a model that was not compared.",
        formula=r"\frac{\text{wins} + \text{ties} / 2}{\text{comparisons}}",
        better="higher",
        sampling=_interval_of_rate,
        arguments=("model",),
    ),
    _metric(
        "bradley_terry",
        limits=NOT_NEGATIVE,
        value=lambda result, model: result._strengths.values[result._position(model)].item(),
        aliases=("elo", "arena_score", "bt", "rating", "strength"),
        heading="Bradley-Terry strength",
        help="The strength s of a model, at least 0: it beats another with s / (s + its strength).",
        notes="A tie is half a win of each. Strengths of comparable models have the geometric mean "
        "1. It is infinite or 0 for models that never lost or never won, and nan where no ratio to "
        "others follows.",
        formula=r"P(i \succ j) = \frac{s_i}{s_i + s_j}",
        better="higher",
        sampling=lambda result, z, at: result._strengths.interval(at, z),
        arguments=("model",),
        oracle="scikit-learn, LogisticRegression without penalty",
    ),
    task="preferences",
    made_by="PreferencesAccumulator",
)
