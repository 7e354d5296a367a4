"""Means, spreads and quantiles of values, and the options and rules of their accumulator."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
import pytest
from offenders import each

import streameval as se
from streameval.exact.exact_sum import ExactSum
from streameval.exact.fixed_point import FixedPoint
from streameval.metrics.intervals import normal_quantile
from streameval.metrics.quantiles import quantile_interval
from streameval.metrics.shares import mean
from streameval.reports import html_report
from streameval.states.cells import Cells
from streameval.states.column import Column

RANDOM = np.random.default_rng(7)
LOSS = RANDOM.normal(0.3, 2.0, size=2000)
LATENCY = RANDOM.lognormal(5.0, 1.0, size=2000)
TOKENS = RANDOM.integers(1, 200, size=2000)


def counted(values: Any, weights: Any = None, **options: Any) -> Any:
    return se.MeanAccumulator(**options).update(values, sample_weight=weights).compute()


def test_numbers_are_those_of_numpy_and_of_fractions() -> None:
    result = counted(LATENCY, TOKENS, quantiles=[0.5])
    repeated = np.repeat(LATENCY, TOKENS)
    exact = sum(Fraction(x) * int(w) for x, w in zip(LATENCY, TOKENS, strict=True))
    assert result.mean == float(exact / int(TOKENS.sum()))
    assert result.sum == float(exact)
    assert result.sum == math.fsum(repeated)
    assert result.std == pytest.approx(np.std(repeated), rel=1e-12)
    assert (result.min, result.max) == (LATENCY.min(), LATENCY.max())
    assert result.n == TOKENS.sum()
    for q in (0, 0.01, 0.5, 0.9, 0.999, 1):
        found = result.quantile(q)
        assert found.exact
        assert found == pytest.approx(np.quantile(repeated, q), rel=1e-12)


@each("seed", [*range(60)])
def test_deviations_are_rounded_once(seed: int) -> None:
    random = np.random.default_rng(seed)
    values = [int(value) for value in random.integers(-4, 4, size=50)]
    with localcontext() as context:
        context.prec = 60
        mean = Decimal(sum(values)) / 50
        exact = (sum((value - mean) ** 2 for value in values) / 50).sqrt()
    assert counted(values).std == float(exact)
    assert counted(np.array(values) * 2.0**-500).std == float(exact) * 2.0**-500


def test_values_that_do_not_vary_may_be_anything_elsewhere() -> None:
    for values, weights in (([0.5] * 5, None), ([2.0], [512]), ([0.0, 0.0], None)):
        result = counted(values, weights)
        assert result.confidence("mean") == (-math.inf, math.inf)
        assert result.confidence("exp_mean") == (0.0, math.inf)
        assert result.confidence("mean", level=0) == (result.mean, result.mean)
    constant = se.RegressionAccumulator(intervals=True).update([1.0, 2.0], [2.0, 3.0])
    assert constant.compute().confidence("bias") == (-math.inf, math.inf)


def test_weights_with_fractions_are_shares() -> None:
    result = counted([1.0, 2.0, 4.0], [0.5, 0.25, 0.25], quantiles=[0.5])
    assert (result.mean, result.sum, result.n) == (2.0, 2.0, 1.0)
    assert (result.quantile(0.5), result.quantile(0.6)) == (1.5, 2.0)
    assert result.read("mean").sampling is None
    with pytest.raises(se.InvalidInputError, match="a fraction of a value is not a draw"):
        result.confidence("mean")
    assert "a fraction of a value is not a draw" in " ".join(result.explain().split())


@each("size", [1, 7, 100, 2000])
def test_perplexity_is_the_same_bits_for_every_batch_size(size: int) -> None:
    acc = se.MeanAccumulator()
    for start in range(0, len(LOSS), size):
        rows = slice(start, start + size)
        acc.update(LOSS[rows], sample_weight=TOKENS[rows])
    result = acc.compute()
    total = sum(Fraction(x) * int(w) for x, w in zip(LOSS, TOKENS, strict=True))
    with localcontext() as context:
        context.prec = 60
        of_one = total / int(TOKENS.sum())
        exact = (Decimal(of_one.numerator) / Decimal(of_one.denominator)).exp()
    assert result.exp_mean == float(exact)
    assert result.bits_per_byte == result.mean / math.log(2)


def test_extremes_of_the_exponential() -> None:
    assert counted([800.0]).exp_mean == math.inf
    assert counted([-800.0]).exp_mean == 0.0
    assert counted([709.5, 709.9]).confidence("exp_mean")[1] == math.inf
    assert math.isnan(counted([]).exp_mean)


def test_nothing_has_no_mean() -> None:
    result = counted([], quantiles=[0.5])
    assert (result.n, result.sum) == (0, 0.0)
    numbers = (result.mean, result.std, result.min, result.max, result.quantile(0.5))
    numbers += result.confidence("exp_mean")
    assert all(map(math.isnan, (*numbers, *result.confidence("mean"))))
    assert all(map(math.isnan, result.confidence("quantile", 0.5)))
    assert "Nothing has been counted yet" in result.explain()
    assert math.isnan(mean(ExactSum(), FixedPoint.zeros(())))


def test_quantiles_of_more_values_than_floats_can_count() -> None:
    half = counted([1.0, 2.0], [2**62, 2**62 - 1], quantiles=[0.5])
    assert half.quantile(0.5) == 1.0
    assert (half.quantile(0.5).low, half.quantile(0.5).high) == (1.0, 1.0)
    even = counted([1.0, 2.0], [2**61, 2**61], quantiles=[0.5])
    assert even.quantile(0.5) == 1.5
    assert (even.quantile(0.25), even.quantile(0.75), even.quantile(1.0)) == (1.0, 2.0, 2.0)


def test_a_single_value_and_tensors_of_any_shape() -> None:
    torch = pytest.importorskip("torch")
    acc = se.MeanAccumulator()
    acc.update(2.0).update(np.float32(1.0)).update(torch.tensor(3.0), sample_weight=2)
    assert (acc.n, acc.compute().mean) == (4, 2.25)
    block = torch.tensor([[1.0, 2.0], [float("nan"), 5.0]])
    masked = se.MeanAccumulator().update(block, sample_weight=torch.tensor([[1, 1], [0, 1]]))
    assert masked == se.MeanAccumulator().update([1, 2, 5])
    assert se.MeanAccumulator().update([[1.0], [2.0]]) == se.MeanAccumulator().update([1, 2])
    both = se.MeanAccumulator(["a", "b"]).update({"a": 1.0, "b": [2.0]})
    assert both == se.MeanAccumulator(["a", "b"]).update([1.0], [2.0])


def test_single_numbers_of_any_type_are_values() -> None:
    acc = se.MeanAccumulator()
    acc.update(Decimal("0.25")).update(Fraction(1, 4)).update(2**70)
    assert acc == se.MeanAccumulator().update([0.25, 0.25, 2.0**70])


def test_gaps_are_skipped_column_by_column() -> None:
    nan = math.nan
    acc = se.MeanAccumulator(["a", "b"], nan="skip")
    acc.update([1.0, nan, 3.0, nan], [nan, 2.0, 4.0, nan], sample_weight=[1, 2, 1, 5])
    result = acc.compute()
    assert acc.n == 4
    assert [(one.n, one.n_skipped, one.mean) for one in result.values()] == [
        (2, 7, 2.0),
        (3, 6, 8 / 3),
    ]
    assert "Values left out because they are NaN: 7" in result["a"].explain()
    assert result.as_dict()["b/mean"] == 8 / 3
    assert result.read("a/mean").value == 2.0
    one = se.MeanAccumulator(nan="skip").update([nan, 1.0, None]).update([nan])
    assert (one.n, one.compute().n, one.compute().n_skipped) == (1, 1, 3)


def test_columns_in_a_collection_are_members_of_their_own() -> None:
    batch = {"y_true": [0, 1], "y_pred": [0, 0], "a": [1.0, 3.0], "b": [2.0, 5.0], "by": [0, 1]}
    values = se.MeanAccumulator(["a", "b"], quantiles=0.5)
    col = se.Collection({"m": values, "in": se.Collection({"m": values})})
    result = col.copy().update(batch).compute()
    assert result["m/a"] is result["m"]["a"]
    assert result["in"]["m/b"] is result["in/m"]["b"]
    for name in result.as_dict():
        member, _, metric = name.rpartition("/")
        assert result.read(name).value == result[member].read(metric).value
    assert result.read("in/m/b/quantile(0.25)").value == 2.75
    assert result.confidence("m/a/mean") == values.copy().update(batch).compute()["a"].confidence(
        "mean"
    )
    assert result.meaning("m/a/mean") == "The weighted mean of the values."
    assert "m/a, in/m/a" in result.report()
    table = result.table()
    assert table["member"][0] == "m/a"
    with pytest.raises(se.StreamevalError, match="no metric 'm/c/mean': did you mean"):
        result.read("m/c/mean")
    with pytest.raises(KeyError, match="'m/c' is not among the members"):
        _ = result["m/c"]
    clusters = se.Clustered(col, by="by").update(batch).compute()
    assert clusters.stderr("in/m/a/mean") == 1.0
    sliced = se.Sliced(col, "by").update(batch).compute()
    assert sliced.gap("m/a/mean") == 2.0
    assert "m/a" in html_report({"one": col.update(batch), "two": col})


def test_columns_are_read_from_tables_tuples_and_paths() -> None:
    names = ["loss", "ctx.ms"]
    of_table = se.MeanAccumulator(names).update(
        {"loss": [1.0, 2.0], "ctx": [{"ms": 5}, {"ms": 7}], "other": [0, 0]}
    )
    assert of_table == se.MeanAccumulator(names).update(([1.0, 2.0], [5, 7]))
    assert of_table == se.MeanAccumulator(names).update([1.0, 2.0], [5, 7])
    col = se.Collection(
        {"a": se.MeanAccumulator(["loss"]), "b": se.MeanAccumulator()},
        columns={"b": {"value": "other"}},
    )
    result = col.update({"loss": [1.0], "other": [3.0]}).compute()
    assert (result["a"]["loss"].mean, result["b"].mean) == (1.0, 3.0)


REFUSED: dict[str, tuple[Any, str]] = {
    "weights by position": (
        lambda: se.MeanAccumulator().update([1.0], [1.0]),
        "`update` takes value, and sample_weight by keyword; got 2 arrays",
    ),
    "a name that is a weight": (
        lambda: se.MeanAccumulator(["sample_weight"]),
        "`columns` must be names, none of them 'sample_weight' or with '/', got 'sample_weight'",
    ),
    "a name with a slash": (lambda: se.MeanAccumulator(["a/b"]), "got 'a/b'"),
    "a name twice": (lambda: se.MeanAccumulator(["a", "a"]), "must be distinct, got 'a' twice"),
    "no name": (lambda: se.MeanAccumulator([]), "must be from 1 to 1024 names, got 0"),
    "a share of 99": (
        lambda: se.MeanAccumulator(quantiles=[99]),
        "`quantiles` must lie in [0, 1], got 99",
    ),
    "no quantiles": (
        lambda: se.MeanAccumulator(quantiles=None),
        "`quantiles` must be a number, got None",
    ),
    "a budget for nothing": (
        lambda: se.MeanAccumulator(budget=10),
        "`budget` is for quantiles, none of which was given",
    ),
    "nan last": (lambda: se.MeanAccumulator(nan="last"), "`nan` must be"),
    "a q of 2": (lambda: counted([1.0], quantiles=[0.5]).quantile(2), "`q` must lie in [0, 1]"),
    "no value": (
        lambda: se.MeanAccumulator().update(None),
        "`value` must be an array, got NoneType",
    ),
    "a column without values": (
        lambda: se.MeanAccumulator(["a", "b"]).update({"a": None, "b": [1.0]}),
        "`a` must be an array, got NoneType",
    ),
    "a label that is too large": (
        lambda: se.ConfusionAccumulator().update(np.array(2**70), [1]),
        "must hold labels within 64 bits, got 1180591620717411303424.",
    ),
    "a single word": (
        lambda: se.MeanAccumulator().update(object()),
        "`value` must be an array, got object",
    ),
    "a quantile that is not kept": (
        lambda: counted([1.0]).read("quantile(0.9)"),
        "quantiles are not kept: count with quantiles=[0.5, 0.99].",
    ),
    "a column that is not there": (
        lambda: se.MeanAccumulator(["a", "b"]).update({"a": [1]}),
        "`b` is missing",
    ),
}


@each("claim", REFUSED)
def test_mistakes_are_named(claim: str) -> None:
    act, message = REFUSED[claim]
    with pytest.raises(se.StreamevalError) as caught:
        act()
    assert message in str(caught.value)


def test_quantiles_are_explained_where_none_are_kept() -> None:
    result = counted([1.0, 2.0])
    with pytest.raises(AttributeError, match="quantiles are not kept"):
        _ = result.quantile
    with pytest.raises(se.InvalidInputError, match=r"count with quantiles=\[0.5, 0.99\]"):
        result.confidence("quantile", 0.5)
    assert se.MeanAccumulator(quantiles=Fraction(1, 2)) == se.MeanAccumulator(quantiles=0.5)
    assert se.MeanAccumulator(quantiles=0.5) == se.MeanAccumulator(quantiles=[0.5, 0.5])


@each("budget", [1, 2, 16, 256])
def test_bounds_hold_past_the_budget(budget: int) -> None:
    every = counted(LATENCY, TOKENS, quantiles=[0.5], budget=None)
    few = counted(LATENCY, TOKENS, quantiles=[0.5], budget=budget)
    assert (every.exact, few.exact) == (True, False)
    for q in (0.0, 0.1, 0.5, 0.99, 1.0):
        exact, bounded = every.quantile(q), few.quantile(q)
        assert bounded.low <= exact <= bounded.high
        assert bounded.low <= bounded <= bounded.high
        low, high = few.confidence("quantile", q)
        inner = every.confidence("quantile", q)
        assert low <= inner[0]
        assert inner[1] <= high
    assert "Quantiles have bounds" in few.explain()
    assert [few.mean, few.std, few.max] == [every.mean, every.std, every.max]


def test_ranks_are_binomial() -> None:
    stats = pytest.importorskip("scipy.stats")
    z = normal_quantile(0.9)
    for n, q in ((5, 0.5), (40, 0.9), (1000, 0.01), (1000, 0.5), (200_000, 0.3), (200_000, 0.999)):
        low, high = quantile_interval(ranked(n), q, z)
        below = int(stats.binom.ppf(0.05, n, q))
        above = int(stats.binom.isf(0.05, n, q)) + 1
        assert low == (below or -math.inf)
        assert high == (above if above <= n else math.inf)


def ranked(n: int) -> Cells:
    """The numbers 1 to n, each once."""
    numbers = np.arange(1.0, n + 1)
    return Cells.none().with_rows_within(numbers, "real", np.ones(n, dtype=bool), None, 0, None)[1]


def coverage(name: str, args: tuple[Any, ...], truth: float, draws: Any, **options: Any) -> float:
    hits = 0
    for values in draws:
        low, high = counted(values, **options).confidence(name, *args)
        hits += low <= truth <= high
    return hits / len(draws)


@pytest.mark.slow
def test_intervals_cover() -> None:
    random = np.random.default_rng(3)
    normal, skewed = random.normal(size=(400, 50)), random.lognormal(size=(400, 100))
    assert coverage("mean", (), 0.0, normal) > 0.93
    assert coverage("exp_mean", (), 1.0, normal) > 0.93
    assert coverage("mean", (), math.exp(0.5), skewed) > 0.88
    assert coverage("quantile", (0.9,), math.exp(1.2815515655446004), skewed, quantiles=0.9) > 0.93


def test_intervals_stand_in_reports_and_json() -> None:
    result = counted(LOSS, quantiles=[0.5])
    entries = result.entries(0.95)
    assert entries["intervals"].keys() == {"mean", "quantile(0.5)"}
    assert entries["intervals"]["quantile(0.5)"] == result.confidence("quantile", 0.5)
    assert result.confidence("mean", level=0) == (result.mean, result.mean)
    low, high = result.confidence("bits_per_byte")
    assert (low * math.log(2), high * math.log(2)) == pytest.approx(result.confidence("mean"))
    assert "quantile(0.5)" in result.report()
    assert "Summary(n=2000, mean=" in repr(result)


def broken(**changes: Any) -> Any:
    options: dict[str, Any] = {"quantiles": [0.5], "nan": "skip", "columns": ["a", "b"]}
    options |= {key: changes.pop(key) for key in list(changes) if key in (*options, "budget")}
    acc = se.MeanAccumulator(**options)
    names = options["columns"] or ["value"]
    columns = [[1.0, 2.0, 2.0, 4.0], [1.0, math.nan, 0.5, 8.0]][: len(names)]
    acc.update(dict(zip(names, columns, strict=True)))
    return acc._make(acc._config, attrs.evolve(acc._state, **changes))


def numbers(*values: float) -> FixedPoint:
    return FixedPoint.of_numbers(np.array(values))


def scalar(value: float) -> FixedPoint:
    return numbers(value).reshape()


def keys(*values: int) -> Column:
    return Column(np.array(values, dtype=np.uint64))


def ints(*values: int) -> Column:
    return Column(np.array(values, dtype=np.int64))


def sums(*values: float) -> tuple[ExactSum, ...]:
    return tuple(ExactSum.of(np.array([value])) for value in values)


EDGE = 2**63
RULES: dict[str, tuple[dict[str, Any], str]] = {
    "skipped of another shape": ({"skipped": numbers(0, 0)}, "skipped has shape"),
    "skipped where NaN is refused": (
        {"nan": "raise", "columns": ["a"], "skipped": scalar(1)},
        "skipped rows",
    ),
    "skipped fractions of nothing": (
        {"skipped": FixedPoint(np.array(0), np.array(0))},
        "skipped has fractions of nothing",
    ),
    "counts of another shape": ({"counts": numbers(4)}, "counts has shape"),
    "counts with fractions": ({"counts": numbers(4, 2.5)}, "differ from n in their fractions"),
    "counts beyond n": ({"counts": numbers(5, 3)}, "counts of other rows"),
    "counts of no rows": ({"counts": numbers(1, 1)}, "counts of other rows"),
    "counts below n": ({"columns": ["a"], "counts": numbers(3)}, "counts of other rows"),
    "fractions of nothing": (
        {
            "n": FixedPoint(np.array(0), np.array(0)),
            "counts": FixedPoint(np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.int64)),
        },
        "n has fractions of nothing",
    ),
    "one total": ({"total": sums(9)}, "total of other columns"),
    "a total that is text": ({"total": ("a", "b")}, "total of other columns"),
    "extremes too few": ({"lowest": keys(0)}, "lowest"),
    "an extreme of no number": ({"lowest": keys(0, 0)}, "extremes that are no numbers"),
    "infinite extremes": (
        {"highest": keys(*[EDGE + int(np.float64(np.inf).view(np.int64))] * 2)},
        "extremes that are not finite",
    ),
    "extremes crossed": ({"highest": keys(EDGE, EDGE)}, "extremes that are no numbers"),
    "a total beyond the extremes": ({"total": sums(17, 9.5)}, "a total beyond the extremes"),
    "a total beyond the magnitudes": (
        {"magnitude": sums(8.5, 9.5)},
        "a total beyond the magnitudes",
    ),
    "squares too few": ({"squares": sums(20, 65.25)}, "magnitude passes its squares"),
    "levels too few": ({"levels": ints(0)}, "tables of other columns"),
    "sizes of other cells": ({"sizes": ints(3, 2)}, "sizes of other cells"),
    "sizes below 0": ({"sizes": ints(7, -1)}, "sizes of other cells"),
    "weights of other cells": ({"weight": numbers(1, 2, 2, 1, 1, 1)}, "the sums of the cells"),
    "weights with fractions": (
        {"weight": numbers(1, 2, 1, 1, 1, 0.5)},
        "differs from the cells in its fraction",
    ),
    "a higher min": (
        {"lowest": keys(EDGE + int(np.float64(0.9).view(np.int64)), EDGE)},
        "cells beyond the extremes",
    ),
}


@each("claim", RULES)
def test_states_that_no_values_give_are_refused(claim: str) -> None:
    changes, reason = RULES[claim]
    made = broken(**changes)
    with pytest.raises(se.CorruptStateError, match=reason):
        se.from_bytes(made.to_bytes())


def test_sums_of_nothing_are_nothing() -> None:
    acc = se.MeanAccumulator(["a", "b"], nan="skip").update([1.0], [math.nan])
    assert se.from_bytes(acc.to_bytes()) == acc
    for changes in ({"total": sums(1, 1)}, {"lowest": keys(EDGE, EDGE)}):
        state = attrs.evolve(acc._state, **changes)
        with pytest.raises(se.CorruptStateError, match=r"sums of nothing|beyond the extremes"):
            se.from_bytes(acc._make(acc._config, state).to_bytes())


def test_slices_panes_and_clusters_have_each_column() -> None:
    batch = {
        "loss": LOSS,
        "latency": LATENCY,
        "user": np.arange(2000) % 50,
        "time": np.arange(2000),
    }
    acc = se.MeanAccumulator(["loss", "latency"], quantiles=[0.9])
    sliced = se.Sliced(acc, "user").update(batch)
    own = sliced.compute()[3]["loss"]
    assert own.mean == counted(LOSS[3::50]).mean
    assert (
        own
        == se.MeanAccumulator(["loss", "latency"], quantiles=[0.9])
        .update(LOSS[3::50], LATENCY[3::50])
        .compute()["loss"]
    )
    windowed = se.Windowed(acc, pane=1000, time="time").update(batch)
    assert windowed.window(1000).compute()["latency"].max == LATENCY[1000:].max()
    clusters = se.Clustered(acc, by="user").update(batch).compute()
    low, high = clusters["loss"].confidence("mean")
    plain = acc.copy().update(batch).compute()["loss"].confidence("mean")
    assert low <= plain[0]
    assert plain[1] <= high
    assert clusters["latency"].stderr("quantile", 0.9) > 0


def test_values_of_weight_zero_may_be_anything() -> None:
    acc = se.MeanAccumulator().update([1.0, math.nan, 3.0], sample_weight=[1, 0, 2])
    assert acc == se.MeanAccumulator().update([1.0, 3.0], sample_weight=[1, 2])


def test_the_sum_of_states_is_the_state_of_all_values() -> None:
    first, second, whole = (
        se.MeanAccumulator(quantiles=[0.5]).update(part)._state
        for part in (LOSS[:900], LOSS[900:], LOSS)
    )
    assert first + second == whole


def test_columns_of_an_array_are_texts_of_python() -> None:
    assert (
        repr(se.MeanAccumulator(np.array(["a", "b"]))) == "MeanAccumulator(columns=('a', 'b'), n=0)"
    )
