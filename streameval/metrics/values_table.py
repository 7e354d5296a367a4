"""The table of the metrics of values."""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import Any

import attrs

from streameval.configs.names import number_text
from streameval.configs.options import fraction
from streameval.configs.values import MeanConfig
from streameval.errors import Named
from streameval.exact.score_keys import scores_of
from streameval.metrics import values as metrics
from streameval.metrics.bounded import Bounded, Interval
from streameval.metrics.quantiles import bounded_quantile, quantile_interval
from streameval.metrics.shares import mean
from streameval.metrics.table import (
    NOT_NEGATIVE,
    UNLIMITED,
    Metric,
    Table,
    count_row,
    whole_weights,
)
from streameval.metrics.values import MeanLoss
from streameval.states.cells import Cells
from streameval.states.values import ValueSums


@attrs.frozen(slots=False, eq=False, repr=False)
class ColumnValues:
    """The sums of the values of one column, and their cells."""

    _state: ValueSums
    _config: MeanConfig
    _column: int = 0

    @property
    def n(self) -> int | float:
        """The sum of the weights of all values."""
        return self._state.counts[self._column].to_number()

    @property
    def _cells(self) -> Cells:
        return [*self._state.tables()][self._column][1]

    @property
    def _values(self) -> MeanLoss:
        """The sums of the values and of their squares."""
        state, at = self._state, self._column
        return MeanLoss.of(state.counts[at], state.total[at], state.squares[at])


@lru_cache(maxsize=1024)
def _rows_with(quantiles: tuple[float, ...]) -> Table:
    """List the rows of the class, and after the extremes those of the requested quantiles."""
    rows = list(TABLE.values())
    at = [row.name for row in rows].index("quantile")
    return Table(*rows[:at], *map(_requested, quantiles), *rows[at:])


def _requested(q: float) -> Metric:
    """Make the row of a requested quantile, under its own name."""
    row, text = TABLE["quantile"], number_text(q)
    return attrs.evolve(
        row,
        name=f"quantile({text})",
        heading=f"{text} quantile",
        value=partial(_quantile, q=q),
        sampling=partial(_interval_of_quantile, q=q),
        arguments=(),
        measured=True,
    )


def _extreme(result: ColumnValues, name: str) -> float:
    keys = getattr(result._state, name).values[[result._column]]
    return float(scores_of(keys, "real").item()) if result.n else math.nan


def _mean(result: ColumnValues) -> float:
    return mean(result._state.total[result._column], result._state.counts[result._column])


def _quantile(result: ColumnValues, q: float) -> Bounded:
    return bounded_quantile(result._cells, fraction(q, name="q"))


def _interval_of_mean(result: ColumnValues, value: float, z: float) -> Interval:  # noqa: ARG001
    state, at = result._state, result._column
    sizes = MeanLoss.of(state.counts[at], state.magnitude[at], state.squares[at])
    return result._values.signed_interval(z, sizes)


def _interval_of_exp_mean(result: ColumnValues, value: float, z: float) -> Interval:
    low, high = _interval_of_mean(result, value, z)
    return metrics.exp(low), metrics.exp(high)


def _interval_of_bits(result: ColumnValues, value: float, z: float) -> Interval:
    low, high = _interval_of_mean(result, value, z)
    return low / math.log(2.0), high / math.log(2.0)


def _interval_of_quantile(result: ColumnValues, value: float, z: float, q: float) -> Interval:  # noqa: ARG001
    return quantile_interval(result._cells, fraction(q, name="q"), z)


_check_draws = whole_weights(lambda result: result._state.n.is_whole, of="a value")


def _metric(name: str, **row: Any) -> Metric:
    defaults: dict[str, Any] = {"why_no_evidence": "nothing bounds the values that may come"}
    if "sampling" in row:
        defaults["why_none"] = "weights had fractions"
        defaults["check_draws"] = _check_draws
    return Metric(name=name, **defaults | row)


TABLE = Table(
    count_row("n", "Values", "The sum of the weights of all values."),
    count_row(
        "n_skipped",
        "Skipped",
        "The sum of the weights of the rows left out because the value is NaN.",
        is_rare=True,
        listed=lambda result: result._config.nan == "skip",
    ),
    _metric(
        "mean",
        value=_mean,
        aliases=("average", "avg", "mean_value"),
        heading="Mean",
        help="The weighted mean of the values.",
        formula=r"\frac{\sum_i w_i x_i}{\sum_i w_i}",
        sampling=_interval_of_mean,
        oracle="NumPy, average",
        headline=1,
    ),
    _metric(
        "sum",
        value=lambda result: float(result._state.total[result._column]),
        aliases=("total",),
        heading="Sum",
        help="The weighted sum of the values; 0 without values.",
        formula=r"\sum_i w_i x_i",
        limits=None,
        oracle="math.fsum",
    ),
    _metric(
        "std",
        value=lambda result: result._values.deviation,
        aliases=("standard_deviation", "stddev", "stdev"),
        heading="Standard deviation",
        help="The standard deviation of the values, at least 0.",
        notes="That of the values that were counted, divided by n, as numpy.std has it.",
        formula=r"\sqrt{\frac{\sum_i w_i (x_i - \bar x)^2}{\sum_i w_i}}",
        limits=NOT_NEGATIVE,
        oracle="NumPy, std",
    ),
    _metric(
        "min",
        value=partial(_extreme, name="lowest"),
        aliases=("minimum",),
        heading="Min",
        help="The smallest value.",
        formula=r"\min_i x_i",
        limits=None,
        oracle="NumPy, min",
    ),
    _metric(
        "max",
        value=partial(_extreme, name="highest"),
        aliases=("maximum",),
        heading="Max",
        help="The largest value.",
        formula=r"\max_i x_i",
        limits=None,
        oracle="NumPy, max",
    ),
    _metric(
        "quantile",
        value=_quantile,
        aliases=("percentile", "median", "p50", "p90", "p95", "p99"),
        heading="Quantile",
        help="A quantile of the values, such as quantile(0.99).",
        notes="It is that of numpy.quantile, with weights as repeats; if a weight has a fraction, "
        "the smallest value that a share q of the weight does not exceed, or the middle between "
        "that and the next where the share is met exactly.",
        formula=r"\inf \{x : \#\{i : x_i \le x\} \ge q n\}",
        certified=True,
        sampling=_interval_of_quantile,
        arguments=("q",),
        oracle="NumPy, quantile",
        listed=lambda result: result._config.has_sketch,
        absent=(
            "quantiles are not kept: count with ",
            Named("quantiles", "[0.5, 0.99]"),
            ".",
        ),
    ),
    _metric(
        "exp_mean",
        value=lambda result: metrics.exp_mean(result._values),
        aliases=("perplexity", "ppl", "exp"),
        heading="Exponential of the mean",
        help="The exponential of the mean: the perplexity, if values are losses in nats a token.",
        notes="Weigh a mean loss of several tokens by their number.",
        formula=r"\exp \bar x",
        limits=NOT_NEGATIVE,
        sampling=_interval_of_exp_mean,
        oracle="the definition, in decimals",
        on_request=True,
    ),
    _metric(
        "bits_per_byte",
        value=lambda result: _mean(result) / math.log(2.0),
        aliases=("bpb", "bits_per_character", "bits_per_token"),
        heading="Bits per byte",
        help="The mean over log 2: bits per byte, if values are losses in nats a byte.",
        notes="For a loss of a text, the value is the loss over the bytes, and the weight is their "
        "number.",
        formula=r"\bar x / \ln 2",
        limits=UNLIMITED,
        sampling=_interval_of_bits,
        oracle="the definition",
        on_request=True,
    ),
    of_result=lambda one: _rows_with(one._config.quantiles),
    task="values",
    made_by="MeanAccumulator",
)
