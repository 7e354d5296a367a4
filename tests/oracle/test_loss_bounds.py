"""Brier score, log loss and calibration error of coarse curves: held, and attained by some data.

All data sets that leave the same small cells are made, with scores at the ends of cells, next to
the edges of bins and between. The attainable range of the calibration error is found by sharing
out the examples of each cell among the bins in every way, as scores within a bin are free.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from offenders import each
from oracle.curve_oracles import (
    GENERATORS,
    PROBABILITY_METRICS,
    Cell,
    Table,
    brier,
    cells_of,
    ece,
    log_loss,
    sample,
)

import streameval as se
from streameval.metrics import loss_bounds

pytestmark = pytest.mark.slow  # by brute force: every data set of a few rows

CLOSE = 1e-11

Parts = tuple[int, ...]
Range = tuple[float, float]


@dataclass(frozen=True)
class Case:
    """A small coarse curve, its cells, and a number of bins for its calibration error."""

    curve: Any
    cells: list[Cell]
    bins: int


def drawn(seed: int, *, most_rows: int) -> Case | None:
    rng = np.random.default_rng([11, seed])
    n, bins, budget = int(rng.integers(3, most_rows + 1)), int(rng.integers(2, 5)), 1 + seed % 3
    scores = rng.random(n) ** rng.choice([0.5, 1, 2])
    y = rng.random(n) < rng.choice([0.2, 0.5, 0.8])
    curve: Any = se.PRCurveSketch(budget).update(y, scores).compute()
    table = Table.of(y.tolist(), scores.tolist())
    return None if curve.exact else Case(curve, cells_of(table, "probability", budget), bins)


@cache
def cases(n: int, most_rows: int) -> list[Case]:
    return [case for seed in range(n) if (case := drawn(seed, most_rows=most_rows))]


def edges_of(bins: int) -> list[float]:
    return [i / bins for i in range(1, bins)]


def some_scores(cell: Cell, bins: int) -> list[float]:
    """The ends of a cell, its middle, and the scores on either side of each edge within."""
    edges = [edge for edge in edges_of(bins) if cell.lo < edge <= cell.hi]
    below = [math.nextafter(edge, 0) for edge in edges]
    return sorted({cell.lo, (cell.lo + cell.hi) / 2, *edges, *below, cell.hi})


def shared_out(count: int, n_parts: int) -> Iterator[Parts]:
    """All ways to share out as many equal things."""
    for bars in itertools.combinations(range(count + n_parts - 1), n_parts - 1):
        ends = [-1, *bars, count + n_parts - 1]
        yield tuple(b - a - 1 for a, b in itertools.pairwise(ends))


def fillings(cell: Cell, bins: int) -> list[tuple[list[float], Parts, Parts]]:
    """All ways to put the examples of a cell at some scores, with one at either end."""
    scores = some_scores(cell, bins)
    ways = itertools.product(shared_out(cell.pos, len(scores)), shared_out(cell.neg, len(scores)))
    return [(scores, p, n) for p, n in ways if p[0] + n[0] and p[-1] + n[-1]]


def data_sets(case: Case) -> Iterator[Table]:
    """All data sets with the same cells and scores of a few."""
    for picked in itertools.product(*(fillings(cell, case.bins) for cell in case.cells)):
        scores, pos, neg = (
            [x for part in parts for x in part] for parts in zip(*picked, strict=True)
        )
        yield Table(scores, pos, neg)


def n_data_sets(case: Case) -> int:
    return math.prod(len(fillings(cell, case.bins)) for cell in case.cells)


@cache
def enumerated() -> list[tuple[str, Any, Range]]:
    """The losses of small curves, beside the range of each over all data sets."""
    found = []
    for case in cases(160, most_rows=6):
        if n_data_sets(case) > 1500:
            continue
        tables = list(data_sets(case))
        asked = {
            "brier": (case.curve.brier, brier),
            "log_loss": (case.curve.log_loss, log_loss),
            "ece": (case.curve.ece(case.bins), lambda table, b=case.bins: ece(table, b)),
        }
        for name, (ours, truth) in asked.items():
            values = [float(truth(table)) for table in tables]
            found.append((name, ours, (min(values), max(values))))
    return found


def test_intervals_hold_the_losses_of_all_data_sets_with_the_same_cells() -> None:
    assert len(enumerated()) > 200
    for name, ours, (least, most) in enumerated():
        assert ours.low <= least <= most <= ours.high, name


@each("name", ["brier", "log_loss"])
def test_both_ends_of_a_mean_loss_are_attained(name: str) -> None:
    for _, ours, (least, most) in filter(lambda one: one[0] == name, enumerated()):
        assert (ours.low, ours.high) == pytest.approx((least, most), rel=CLOSE, abs=CLOSE)


def test_upper_end_of_ece_is_attained_by_some_data_set() -> None:
    for _, ours, (_, most) in filter(lambda one: one[0] == "ece", enumerated()):
        assert ours.high == pytest.approx(most, abs=CLOSE)


def shares_by_bin(cell: Cell, bins: int) -> set[tuple[tuple[int, float, float], ...]]:
    """In every way to share a cell out: bins, and labels less scores there at least and most."""
    edges = [0.0, *edges_of(bins), 1.0]
    first, last = (bisect.bisect_right(edges[1:-1], end) for end in (cell.lo, cell.hi))
    if not cell.has_several_scores:
        excess = cell.pos - (cell.pos + cell.neg) * cell.lo
        return {((first, excess, excess),)}
    found = set()
    for at_lo, at_hi in itertools.product((0, 1), repeat=2):
        pos, neg = cell.pos - at_lo - at_hi, cell.neg - 2 + at_lo + at_hi
        if pos < 0 or neg < 0:
            continue
        spans = range(first, last + 1)
        for p, n in itertools.product(shared_out(pos, len(spans)), shared_out(neg, len(spans))):
            rows = []
            for k, at in enumerate(spans):
                start, end = max(cell.lo, edges[at]), min(cell.hi, edges[at + 1])
                fixed = (at == first) * (at_lo - cell.lo) + (at == last) * (at_hi - cell.hi)
                size = p[k] + n[k]
                rows.append((at, fixed + p[k] - size * end, fixed + p[k] - size * start))
            found.add(tuple(rows))
    return found


def attainable_ece(case: Case) -> Range:
    """The least and the greatest calibration error of all data sets with the same cells."""
    least, most = math.inf, 0.0
    for picked in itertools.product(*(shares_by_bin(cell, case.bins) for cell in case.cells)):
        low, high = [0.0] * case.bins, [0.0] * case.bins
        for at, a, b in itertools.chain(*picked):
            low[at] += a
            high[at] += b
        least = min(least, sum(max(a, -b, 0.0) for a, b in zip(low, high, strict=True)))
        most = max(most, sum(max(-a, b) for a, b in zip(low, high, strict=True)))
    n = sum(cell.pos + cell.neg for cell in case.cells)
    return least / n, most / n


@cache
def attained() -> list[tuple[Range, Range]]:
    """Our interval of the calibration error, and the attainable one."""
    found = []
    for case in cases(250, most_rows=8):
        if math.prod(len(shares_by_bin(cell, case.bins)) for cell in case.cells) <= 1500:
            ours = case.curve.ece(case.bins)
            found.append(((ours.low, ours.high), attainable_ece(case)))
    return found


def test_interval_of_ece_covers_the_attainable_one_and_shares_its_upper_end() -> None:
    assert len(attained()) > 120
    for (low, high), (least, most) in attained():
        assert low <= least + CLOSE
        assert high == pytest.approx(most, abs=CLOSE)


@each("bins", [5, 7])
@each(("pos", "neg"), [(1, 3), (3, 1), (2, 2), (0, 3), (3, 0)])
@each(("below", "above"), list(itertools.product((0, 1), repeat=2)))
def test_interval_of_ece_knows_what_else_is_in_the_outer_bins_of_a_cell(
    below: int, above: int, pos: int, neg: int, bins: int
) -> None:
    y = [below] * 6 + [above] * 6 + [1] * pos + [0] * neg
    scores = [0.1] * 6 + [0.5] * 6 + [0.13, 0.2, 0.3, 0.45][4 - pos - neg :]
    scores[12] = 0.13
    curve: Any = se.PRCurveSketch(3).update(y, scores).compute()
    case = Case(curve, cells_of(Table.of(y, scores), "probability", 3), bins)
    assert [cell.lo for cell in case.cells] == [0.5, 0.13, 0.1]
    ours, (least, most) = curve.ece(bins), attainable_ece(case)
    assert ours.low <= least + CLOSE
    assert ours.high == pytest.approx(most, abs=CLOSE)


def test_interval_of_ece_is_hardly_wider_than_attainable(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ours, best = (np.diff(np.array(part)).mean() for part in zip(*attained(), strict=True))
    is_attained = np.mean([low > least - CLOSE for (low, _), (least, _) in attained()])
    with capsys.disabled():
        print(f"\nmean width of ECE {ours:.3f}, attainable {best:.3f}; low end {is_attained:.0%}")
    assert ours < best + 0.02
    assert is_attained > 0.6


@each("bins", [3, 15])
@each("name", [name for name, (mode, _) in GENERATORS.items() if mode != "real"])
def test_intervals_hold_the_losses_of_weighted_data_on_few_cells(name: str, bins: int) -> None:
    n_coarse = 0
    for seed in range(60):
        one = sample(name, seed)
        curve: Any = se.PRCurveSketch(1 + seed % 4)
        curve = curve.update(one.y, one.scores, sample_weight=one.weights).compute()
        numbers = {
            metric: PROBABILITY_METRICS[metric].truth(one.table) for metric in ("brier", "log_loss")
        }
        found = {metric: getattr(curve, metric) for metric in numbers} | {"ece": curve.ece(bins)}
        n_coarse += not curve.exact
        for metric, truth in (numbers | {"ece": ece(one.table, bins)}).items():
            ours = found[metric]
            slack = 1e-12 * float(truth) if curve.exact else 0.0
            assert ours.low - slack <= float(truth) <= ours.high + slack, (metric, one)
    assert n_coarse > 25


def light_end(y: int, scores: list[float], light: float) -> tuple[Any, Table]:
    """A coarse curve of one class with next to no weight at one of two scores, and its data."""
    weights = [3.0 if score != light else 2.0**-12 for score in scores]
    labels = [y] * len(scores)
    curve: Any = se.PRCurveSketch(1).update(labels, scores, sample_weight=weights).compute()
    return curve, Table.of(labels, scores, weights)


@each("scores", [[0.26, 0.3], [0.26, 0.4]])
@each("end", [0, 1])
@each("y", [0, 1])
def test_end_of_a_cell_may_hold_hardly_any_weight_when_weights_have_fractions(
    y: int, end: int, scores: list[float]
) -> None:
    curve, table = light_end(y, scores, scores[end])
    for ours, truth in (
        (curve.brier, brier(table)),
        (curve.log_loss, log_loss(table)),
        (curve.ece(3), ece(table, 3)),
    ):
        assert not ours.exact
        assert ours.low <= float(truth) <= ours.high


def test_mass_on_an_edge_of_a_bin_leaves_no_more_open_than_its_classes_do() -> None:
    rng = np.random.default_rng(0)
    broad, crowd = rng.random(200_000), 0.2 + (rng.random(200_000) - 0.5) * 1e-7
    scores = np.concatenate([broad, crowd])
    y = rng.random(400_000) < np.concatenate([broad, np.full(200_000, 0.5)])
    found: Any = se.PRCurveSketch().update(y, scores).compute()
    ours = found.ece()
    assert not found.exact
    # apart, each class adds its own distance; together, the distance of their means
    apart, together = 0.5 * (0.5 * 0.8 + 0.5 * 0.2), 0.5 * (0.5 - 0.2)
    assert ours.low == pytest.approx(together, abs=0.002)
    assert ours.high == pytest.approx(apart, abs=0.002)


def test_cut_cells_may_be_more_than_a_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    scores = rng.random(30_000)
    y = rng.random(30_000) < scores
    curve: Any = se.PRCurveSketch(8_192).update(y, scores).compute()
    whole, sums = curve.ece(4_096), se.CalibrationAccumulator(4_096).update(y, scores)
    assert whole.low <= sums.compute().ece <= whole.high
    monkeypatch.setattr(loss_bounds, "_CHUNK", 7)
    assert repr(curve.ece(4_096)) == repr(whole)
