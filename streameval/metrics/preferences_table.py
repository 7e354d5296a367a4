"""The table of the metrics of models that were compared in pairs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import attrs
import numpy as np

from streameval.configs.names import nearest
from streameval.configs.values import PreferencesConfig
from streameval.errors import UnknownMetricError
from streameval.exact.array_types import Floats
from streameval.inputs.classes import class_position
from streameval.metrics.bounded import Interval
from streameval.metrics.intervals import wilson
from streameval.metrics.preferences import Strengths, strengths, win_rate, win_rate_interval
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
from streameval.states.preferences import PreferenceCounts


@attrs.frozen(slots=False, eq=False, repr=False)
class ComparedModels:
    """The wins and ties of each pair of models."""

    _state: PreferenceCounts
    _config: PreferencesConfig

    @cached_property
    def _tables(self) -> tuple[Floats, Floats]:
        above = self._state.ties.to_floats()
        return self._state.wins.to_floats(), above + above.T

    @cached_property
    def _strengths(self) -> Strengths:
        return strengths(*self._tables)

    def _rate(self, at: int) -> float:
        return win_rate(*self._record(at))

    def _record(self, at: int) -> tuple[float, float, float]:
        """Return the weights of the wins, losses and ties of a model."""
        wins, ties = self._tables
        return float(wins[at].sum()), float(wins[:, at].sum()), float(ties[at].sum())

    def _position(self, model: Any) -> int:
        config = self._config
        at = class_position(model, config.class_names, config.labels)
        if at is None:
            known = nearest(str(model), map(str, config.class_names))
            raise UnknownMetricError(f"no model {model!r}: {known}")
        return at


def _n_models(result: ComparedModels) -> int:
    wins, ties = result._tables
    return int(np.count_nonzero((wins + wins.T + ties > 0).any(axis=1)))


def _tie_rate(result: ComparedModels) -> float:
    return quotient(float(result._state.ties.total().to_floats()), result._state.n.to_number())


def _of_positions(function: Callable[..., Interval]) -> Callable[..., Interval]:
    """Compute an interval from the positions of models."""

    def sampling(
        result: ComparedModels, _value: float, z: float, *args: Any, **options: Any
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


def _interval_of_rate(result: ComparedModels, z: float, at: int) -> Interval:
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
        sampling=lambda result, z: wilson(_tie_rate(result), float(result._state.n.to_number()), z),
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
