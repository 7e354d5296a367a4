"""The state of a curve is a function of the rows alone: the cells of `curve_oracles`.

What a result shows of the state is compared with a plain Python reference, the bytes with those of
the same rows in any other order, cut, tree and dtype.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from offenders import each
from oracle.curve_oracles import GENERATORS, Cell, Mode, Sample, Table, cells_of, key, sample
from profiles import quick_cases

import streameval as se

N_SAMPLES = quick_cases(49)
every_generator = pytest.mark.parametrize("name", GENERATORS)


def empty(one: Sample) -> Any:
    return se.PRCurveSketch(one.budget, scores=one.mode)


def counted(one: Sample, rows: Any = slice(None)) -> Any:
    """Count rows of a sample in one update."""
    weights = None if one.weights is None else one.weights[rows]
    return empty(one).update(one.y[rows], one.scores[rows], sample_weight=weights)


def expected_roc_curve(cells: Sequence[Cell]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The exact point of each cell's lowest score, after the origin."""
    n_pos, n_neg = sum(cell.pos for cell in cells), sum(cell.neg for cell in cells)
    fpr, tpr, thresholds, tp, fp = [0.0], [0.0], [math.inf], 0, 0
    for cell in cells:
        tp, fp = tp + cell.pos, fp + cell.neg
        fpr.append(fp / n_neg if n_neg else math.nan)
        tpr.append(tp / n_pos if n_pos else math.nan)
        thresholds.append(cell.lo)
    if not n_neg:
        fpr[0] = math.nan
    if not n_pos:
        tpr[0] = math.nan
    return np.array(fpr), np.array(tpr), np.array(thresholds)


def expected_precision_recall_curve(
    cells: Sequence[Cell],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The exact point of each cell's lowest score, the highest last, and then (1, 0)."""
    n_pos = sum(cell.pos for cell in cells)
    precision, recall, thresholds, tp, fp = [1.0], [0.0], [], 0, 0
    for cell in cells:
        tp, fp = tp + cell.pos, fp + cell.neg
        precision.append(tp / (tp + fp))
        recall.append(tp / n_pos if n_pos else 1.0)
        thresholds.append(cell.lo)
    return np.array(precision[::-1]), np.array(recall[::-1]), np.array(thresholds[::-1])


def resolution(cells: Sequence[Cell]) -> float:
    return max((cell.hi - cell.lo for cell in cells if cell.has_several_scores), default=0.0)


def assert_is_reference(
    curve: Any, cells: Sequence[Cell], *, unit: int | None, source: Any
) -> None:
    """Compare all that a result shows of its cells."""
    assert curve.cells == len(cells), source
    assert curve.exact is not any(cell.has_several_scores for cell in cells), source
    assert curve.resolution == resolution(cells), source

    weight = 2**62 if unit is None else unit
    n_pos, n_neg = sum(cell.pos for cell in cells), sum(cell.neg for cell in cells)
    shares = [Fraction(n, weight) for n in (n_pos, n_neg)]
    expected = [int(n) if n.denominator == 1 else float(n) for n in shares]
    assert [curve.n_pos, curve.n_neg] == expected, source

    is_rounded = unit is None or sum(shares) > 2**53
    tolerance = 1e-12 if is_rounded else 0
    for ours, array in zip(curve.roc_curve(), expected_roc_curve(cells), strict=True):
        np.testing.assert_allclose(ours, array, rtol=tolerance, err_msg=str(source))
    ours_and_expected = zip(
        curve.precision_recall_curve(), expected_precision_recall_curve(cells), strict=True
    )
    for ours, array in ours_and_expected:
        np.testing.assert_allclose(ours, array, rtol=tolerance, err_msg=str(source))


@every_generator
def test_state_is_the_reference(name: str) -> None:
    for seed in range(N_SAMPLES):
        one = sample(name, seed)
        assert_is_reference(counted(one).compute(), one.cells, unit=one.unit, source=one)


@pytest.mark.slow
@each("name", GENERATORS)
def test_state_is_the_reference_for_budgets_of_1_to_300(name: str) -> None:
    one = sample(name, 99)
    first = list(GENERATORS).index(name) % 5
    for budget in [*range(1, 30), *range(30 + first, 301, 5)]:
        acc = se.PRCurveSketch(budget, scores=one.mode)
        curve = acc.update(one.y, one.scores, sample_weight=one.weights).compute()
        cells = cells_of(one.table, one.mode, budget)
        source = f"{name}, seed 99, budget {budget}"
        assert_is_reference(curve, cells, unit=one.unit, source=source)


@each("name", GENERATORS)
def test_curve_without_a_budget_keeps_every_score(name: str) -> None:
    one = sample(name, 99)
    acc = se.PRCurveSketch(None, scores=one.mode)
    curve = acc.update(one.y, one.scores, sample_weight=one.weights).compute()

    cells = cells_of(one.table, one.mode, None)
    assert_is_reference(curve, cells, unit=one.unit, source=name)
    assert curve.exact


def cut(rng: np.random.Generator, rows: np.ndarray) -> list[np.ndarray]:
    """Cut rows into batches of random sizes, single rows and empty ones among them."""
    n_cuts = int(rng.integers(0, min(len(rows), 12) + 1))
    return np.split(rows, np.sort(rng.integers(0, len(rows) + 1, n_cuts)))


Orders = dict[str, Callable[[np.random.Generator, np.ndarray], np.ndarray]]
ORDERS: Orders = {
    "shuffled": lambda rng, scores: rng.permutation(len(scores)),
    "rising": lambda rng, scores: np.argsort(scores, kind="stable"),
    "falling": lambda rng, scores: np.argsort(-scores, kind="stable"),
    "ends first": lambda rng, scores: np.argsort(-np.abs(np.argsort(np.argsort(scores)) - 5)),
}


@each("name", GENERATORS)
@each("order", ORDERS)
def test_every_order_of_arrival_gives_the_same_bytes(name: str, order: str) -> None:
    for seed in range(quick_cases(30)):
        one = sample(name, seed)
        rng = np.random.default_rng([4, seed])
        rows = ORDERS[order](rng, one.scores.astype(np.float64))
        assert counted(one, rows).to_bytes() == counted(one).to_bytes(), one


@each("name", GENERATORS)
def test_every_cut_into_batches_gives_the_same_bytes(name: str) -> None:
    for seed in range(N_SAMPLES):
        one, rng = sample(name, seed), np.random.default_rng([5, seed])
        acc = empty(one)
        for rows in cut(rng, rng.permutation(len(one.y))):
            weights = None if one.weights is None else one.weights[rows]
            acc.update(one.y[rows], one.scores[rows], sample_weight=weights)
            if rng.random() < 0.3:
                acc.compute()
            if rng.random() < 0.2:
                acc = se.from_bytes(acc.to_bytes())
        assert acc.to_bytes() == counted(one).to_bytes(), one


@each("name", GENERATORS)
def test_every_tree_of_merges_gives_the_same_bytes(name: str) -> None:
    for seed in range(N_SAMPLES):
        one, rng = sample(name, seed), np.random.default_rng([6, seed])
        parts = [counted(one, rows) for rows in cut(rng, rng.permutation(len(one.y)))]
        while len(parts) > 1:
            n_merged = int(rng.integers(2, min(4, len(parts)) + 1))
            chosen = [parts.pop(int(rng.integers(len(parts)))) for _ in range(n_merged)]
            parts.append(se.merge(chosen) if rng.random() < 0.5 else sum(chosen[1:], chosen[0]))
        assert parts[0].to_bytes() == counted(one).to_bytes(), one


def narrow(rng: np.random.Generator, scores: np.ndarray) -> Any:
    """Write the same scores in any dtype and layout that holds them."""
    wide = scores.astype(np.float64)
    with np.errstate(over="ignore"):
        fitting = [
            wide.astype(dtype)
            for dtype in (np.float16, np.float32, np.float64)
            if np.array_equal(wide.astype(dtype).astype(np.float64), wide)
        ]
    found = fitting[rng.integers(len(fitting))]
    how = rng.integers(4)
    if how == 0:
        return found.tolist()
    if how == 1:
        return np.repeat(found, 2)[::2]
    return found.astype(found.dtype.newbyteorder()) if how == 2 else found


def relabelled(rng: np.random.Generator, y: np.ndarray) -> Any:
    dtypes = (np.bool_, np.uint8, np.int8, np.int64, np.uint64)
    found = y.astype(dtypes[rng.integers(len(dtypes))])
    return found.tolist() if rng.random() < 0.3 else found


@each("name", GENERATORS)
def test_every_dtype_gives_the_same_bytes(name: str) -> None:
    for seed in range(N_SAMPLES):
        one, rng = sample(name, seed), np.random.default_rng([7, seed])
        acc = empty(one)
        for rows in cut(rng, rng.permutation(len(one.y))):
            weights = None if one.weights is None else one.weights[rows].tolist()
            labels, scores = relabelled(rng, one.y[rows]), narrow(rng, one.scores[rows])
            acc.update(labels, scores, sample_weight=weights)
        assert acc.to_bytes() == counted(one).to_bytes(), one


FLOAT16 = np.arange(2**16, dtype=np.uint16).view(np.float16)


@pytest.mark.slow
@each("budget", [None, 1_000, 17])
@each("mode", ["probability", "real"])
def test_every_float16_counts_as_its_float64(mode: Mode, budget: int | None) -> None:
    narrow_scores = FLOAT16[~np.isnan(FLOAT16)]
    if mode == "probability":
        narrow_scores = narrow_scores[(narrow_scores >= 0) & (narrow_scores <= 1)]
    wide = narrow_scores.astype(np.float64)
    y = np.arange(len(wide)) % 3 == 0

    accs = [
        se.PRCurveSketch(budget, scores=mode).update(y, scores)
        for scores in (narrow_scores, wide.astype(np.float32), wide)
    ]

    table = Table.of(y.tolist(), wide.tolist())
    cells = cells_of(table, mode, budget)
    assert_is_reference(accs[0].compute(), cells, unit=1, source=(mode, budget))
    assert len({acc.to_bytes() for acc in accs}) == 1


def float32_edges(mode: Mode) -> np.ndarray:
    """Float32 scores about every place where their path to a key could change."""
    tiny = np.finfo(np.float32).tiny
    largest = np.finfo(np.float32).max
    centres = [0.0, tiny, 2 * tiny, 0.25, 0.5, 0.75, 1.0, 1 - 2.0**-24, 2.0**-24, 2.0**-126]
    centres += [-x for x in centres] + [largest, -largest, np.inf, -np.inf, 2.0, 1e30]
    patterns = np.array(centres, dtype=np.float32).view(np.int32)[:, None] + np.arange(-9, 10)
    found = np.unique(patterns.astype(np.int32).view(np.float32))
    found = found[~np.isnan(found)]
    return found[(found >= 0) & (found <= 1)] if mode == "probability" else found


@each("mode", ["probability", "real"])
def test_float32_at_the_edges_of_its_range_counts_as_its_float64(mode: Mode) -> None:
    scores = float32_edges(mode)
    y = np.arange(len(scores)) % 2
    table = Table.of(y.tolist(), scores.tolist())
    for budget in [None, *range(1, len(scores) + 1, 3)]:
        narrow_acc, wide_acc = (
            se.PRCurveSketch(budget, scores=mode).update(y, given)
            for given in (scores, scores.astype(np.float64))
        )
        assert narrow_acc.to_bytes() == wide_acc.to_bytes(), budget
        cells = cells_of(table, mode, budget)
        assert_is_reference(narrow_acc.compute(), cells, unit=1, source=(mode, budget))


def float64_edges(mode: Mode) -> list[float]:
    """Neighbours of zero, one half, one, powers of two and the ends of the range."""
    centres = [0.0, 0.25, 0.5, 0.75, 1.0, 2.0**-1022, 2.0**-53, 1 - 2.0**-52]
    if mode == "real":
        centres += [-x for x in centres] + [-0.0, 1.7976931348623157e308, math.inf, -math.inf]
    found = set(centres)
    for centre in centres:
        for towards in (-math.inf, math.inf):
            x = centre
            for _ in range(9):
                x = math.nextafter(x, towards)
                found.add(x)
    return sorted(x for x in found if mode == "real" or 0 <= x <= 1)


@each("mode", ["probability", "real"])
def test_float64_at_the_edges_of_its_range_is_the_reference(mode: Mode) -> None:
    scores = float64_edges(mode)
    y = [i % 2 for i in range(len(scores))]
    table = Table.of(y, scores)
    keys = [key(x, mode) for x in scores]
    assert keys == sorted(set(keys))
    for budget in [None, *range(1, len(scores) + 1)]:
        curve = se.PRCurveSketch(budget, scores=mode).update(y, scores).compute()
        cells = cells_of(table, mode, budget)
        assert_is_reference(curve, cells, unit=1, source=(mode, budget))


def test_zero_has_no_sign() -> None:
    plus, minus = (
        se.PRCurveSketch(scores="real").update([1, 0], [zero, 1.0]) for zero in (0.0, -0.0)
    )
    assert plus.to_bytes() == minus.to_bytes()
    probability = se.PRCurveSketch().update([1, 0], [-0.0, 1.0])
    assert probability.to_bytes() == se.PRCurveSketch().update([1, 0], [0.0, 1.0]).to_bytes()
    assert math.copysign(1, minus.compute().roc_curve()[2][-1]) == 1


@each("name", GENERATORS)
def test_rows_of_weight_zero_leave_no_trace(name: str) -> None:
    for seed in range(quick_cases(20)):
        one = sample(name, seed)
        ends = [0.0, 1.0] if one.mode == "probability" else [-math.inf, math.inf]
        weights = np.ones(len(one.y)) if one.weights is None else one.weights
        acc = empty(one).update(
            [*one.y.tolist(), True, False],
            [*one.scores.tolist(), *ends],
            sample_weight=[*weights.tolist(), 0, 0],
        )
        assert acc.to_bytes() == counted(one).to_bytes(), one


LARGE: dict[str, tuple[Mode, Callable[[np.random.Generator, int], np.ndarray]]] = {
    **{name: GENERATORS[name] for name in ("saturated sigmoids", "click rates", "infinities")},
    "narrowing drift": GENERATORS["narrowing drift"],
    "logits": ("real", lambda rng, n: rng.normal(-3, 2, n).astype(np.float32)),
    "uniform": ("probability", lambda rng, n: rng.random(n)),
}


@pytest.mark.slow
@each("budget", [1, 60, 300, 5_000])
@each("name", LARGE)
def test_long_stream_is_the_reference_in_any_order_and_tree(name: str, budget: int) -> None:
    mode, draw = LARGE[name]
    rng = np.random.default_rng([8, budget])
    n = 40_000
    scores, y = draw(rng, n), rng.random(n) < 0.05
    cells = cells_of(Table.of(y.tolist(), scores.tolist()), mode, budget)

    streams = {"as drawn": np.arange(n), "rising": np.argsort(scores), "falling": None}
    streams["falling"] = streams["rising"][::-1]
    found = {}
    for order, rows in streams.items():
        acc = se.PRCurveSketch(budget, scores=mode)
        for batch in np.split(rows, np.sort(rng.integers(0, n, 23))):
            acc.update(y[batch], scores[batch])
        found[order] = acc
    shards = np.array_split(rng.permutation(n), 7)
    workers = [se.PRCurveSketch(budget, scores=mode).update(y[s], scores[s]) for s in shards]
    found["merged"] = se.merge(workers)

    assert len({acc.to_bytes() for acc in found.values()}) == 1
    assert_is_reference(found["merged"].compute(), cells, unit=1, source=(name, budget))
