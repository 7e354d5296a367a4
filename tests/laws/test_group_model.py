"""Slices and panes against a model of lists of rows, however the rows are cut and merged."""

from __future__ import annotations

import functools
import math
import pickle
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from offenders import each
from profiles import cases

import streameval as se

Row = dict[str, Any]
Rows = list[Row]
Make = Callable[[], Any]

VALUES = ["DE", "FR", "", "日本", None, 0, 1, -5, 2**62, "1", "a=b/c"]

SINGLE: dict[str, Make] = {
    "counts": se.ConfusionAccumulator,
    "observed labels": lambda: se.ConfusionAccumulator("auto"),
    "fit": se.RegressionAccumulator,
    "items": lambda: se.Collection(
        {"words": se.ConfusionAccumulator("auto"), "loss": se.MeanAccumulator()},
        columns={"loss": {"value": "y_pred"}},
    ),
    "many": lambda: se.Collection(
        {
            "cm": se.ConfusionAccumulator(),
            "curve": se.PRCurveSketch(3),
            "gauc": se.GroupedAUC(6),
        },
        columns={"curve": {"y_score": "p"}, "gauc": {"y_score": "p", "group": "g"}},
    ),
    "probabilities": lambda: se.Collection(
        {"calibration": se.CalibrationAccumulator(bins=4)},
        columns={"calibration": {"y_prob": "p"}},
    ),
    "ranking": lambda: se.Collection(
        {"run": se.RankingAccumulator()},
        columns={"run": {"relevance": "y_true", "score": "p", "query": "q"}},
    ),
}

TIERS: list[dict[str, Any]] = [
    {"pane": 10},
    {"pane": 10, "keep": 30},
    {"pane": 10, "keep": 20, "rollups": [(30, 60), (60, 90)], "offset": 7},
    {"pane": 5, "keep": 5, "rollups": [(20, None)], "offset": 17},
    {"pane": 1, "keep": 1, "rollups": [(7, 7), (14, 14), (28, 28)]},
    {"pane": 7, "keep": 10, "rollups": [(21, 22)]},
]

WEIGHTS: list[list[float] | None] = [None, [0, 0, 1], [0, 1, 3], [0.0, 0.1, 1.0, 2.25]]


@functools.cache
def order() -> dict[tuple[type, Any], int]:
    """Observe the fixed order of the values: the first of those that are left, time after time."""
    left = list(VALUES)
    found: dict[tuple[type, Any], int] = {}
    while left:
        alone = se.Sliced(se.ConfusionAccumulator(), "c", max_values=1)
        ones = [1] * len(left)
        (first,) = alone.update({"y_true": ones, "y_pred": ones, "c": left})
        found[type(first), first] = len(found)
        left.remove(first)
    return found


def drawn_rows(random: random.Random, chosen: str, *, has_blanks: bool) -> Rows:
    """Draw rows whose times lie close together, but for a few; queries have several."""
    is_ranking = chosen == "ranking"
    weights = None if is_ranking else random.choice(WEIGHTS)
    values = VALUES[: random.choice([2, 5, len(VALUES)])]
    scale, rows = random.choice([3, 30, 300]), Rows()
    for query in range(random.randrange(40)):
        late = int(random.expovariate(1 / scale)) + (random.random() < 0.05) * 3000
        shared = {"time": 1000 - late, "c": random.choice(values), "q": query}
        for _ in range(random.randint(1, 4) if is_ranking else 1):
            row: Row = {"y_true": random.randrange(2), "y_pred": random.randrange(2)}
            row |= {"p": random.randrange(9) / 8, "g": random.randrange(4)} | shared
            if has_blanks and random.random() < 0.3:
                row["y_true"] = None
            if weights is not None:
                row["sample_weight"] = random.choice(weights)
            if chosen == "items":  # two in each row
                row |= {name: [row[name], row["q"] % 2] for name in ("y_true", "y_pred")}
                row |= {} if weights is None else {"sample_weight": random.choices(weights, k=2)}
            rows.append(row)
    return rows


def of(make: Make, rows: Rows) -> Any:
    """Count rows at once."""
    if not rows:
        return make()
    return make().update({name: [row[name] for row in rows] for name in rows[0]})


def over_a_tree(make: Make, rows: Rows, random: random.Random) -> Any:
    """Count rows in pieces, on workers whose states travel and merge in any order."""
    parts = [make() for _ in range(random.randint(1, 4))]
    homes = {row["q"]: random.randrange(2 * len(parts)) for row in rows}
    for piece in random.sample(range(2 * len(parts)), 2 * len(parts)):
        at, own = piece % len(parts), [row for row in rows if homes[row["q"]] == piece]
        if own:
            parts[at].update({name: [row[name] for row in own] for name in own[0]})
        parts[at] = sent(parts[at], random)
    while len(parts) > 1:
        size = random.randint(2, len(parts))
        parts = [*parts[size:], sent(se.merge(parts[:size]), random)]
    return parts[0]


def sent(accumulator: Any, random: random.Random) -> Any:
    """Send an accumulator on in one of the ways there are, or read it."""
    ways: Sequence[Callable[[Any], Any]] = [
        lambda one: pickle.loads(pickle.dumps(one)),
        lambda one: se.from_bytes(one.to_bytes()),
        lambda one: one.copy(),
        lambda one: one if one.total() is not None else None,
        lambda one: one,
    ]
    return random.choice(ways)(accumulator)


def weight(rows: Rows) -> float:
    return math.fsum(
        np.sum(row.get("sample_weight", np.ones(np.shape(row["y_true"])))) for row in rows
    )


def labelled(rows: Rows) -> Rows:
    return [row for row in rows if row["y_true"] is not None]


def key(value: Any) -> tuple[type, Any]:
    return type(value), value


def check_slices(sliced: Any, make: Make, rows: Rows) -> None:
    """Count the rows of each value on their own: the named ones, then the first of the order."""
    named, size = sliced.options["values"], sliced.options["max_values"]
    seen = {key(row["c"]) for row in rows if weight([row])}
    others = sorted(seen - {key(value) for value in named}, key=order().__getitem__)
    kept = [*map(key, named), *others[: size - len(named)]]
    assert sorted(map(key, sliced), key=repr) == sorted(kept, key=repr)
    for chosen in kept:
        own = [row for row in rows if key(row["c"]) == chosen]
        assert sliced[chosen[1]].to_bytes() == of(make, own).to_bytes()
    rest = [row for row in rows if key(row["c"]) not in kept]
    assert sliced.other.to_bytes() == of(make, rest).to_bytes()
    assert sliced.total().to_bytes() == of(make, rows).to_bytes()


class Model:
    """Where the rows of a `Windowed` are, by the rule of its tiers."""

    def __init__(self, windowed: se.Windowed, rows: Rows) -> None:
        self.rows = [row for row in rows if weight([row])]
        options = windowed.options
        self.pane: int = options["pane"]
        self.offset: int = options["offset"]
        tiers = [(self.pane, options["keep"]), *options["rollups"]]
        newest = max(row["time"] for row in self.rows)
        self.end = (newest - self.offset) // self.pane * self.pane + self.pane + self.offset
        self.panes: dict[tuple[int, int] | None, Rows] = {}
        self.tiers = []
        for number, (width, keep) in enumerate(tiers):
            following = tiers[min(number + 1, len(tiers) - 1)][0]
            edge = -math.inf
            if keep is not None:
                edge = self.down(self.end - keep, following)
            self.tiers.append((width, edge))
        for row in self.rows:
            self.panes.setdefault(self.pane_of(row["time"]), []).append(row)

    def down(self, time: int, width: int) -> int:
        return (time - self.offset) // width * width + self.offset

    def pane_of(self, time: int) -> tuple[int, int] | None:
        for width, edge in self.tiers:
            if time >= edge:
                start = self.down(time, width)
                return start, start + width
        return None

    def between(self, start: int, end: int) -> Rows:
        return labelled([row for row in self.rows if start <= row["time"] < end])

    def cuts(self, start: int, end: int) -> bool:
        """Tell whether a window begins or ends within rows that are counted together."""
        spans = [span for span in self.panes if span is not None]
        is_cut = any(low < time < high for low, high in spans for time in (start, end))
        return is_cut or (None in self.panes and start < self.tiers[-1][1])

    def ends(self, width: int, every: int) -> list[int]:
        found: list[int] = []
        end, first = self.down(self.end, every), min((s for s in self.panes if s), default=None)
        while first is not None and end > first[0] and not self.cuts(end - width, end):
            found.insert(0, end)
            end -= every
        return found


def check_panes(windowed: se.Windowed, make: Make, rows: Rows, random: random.Random) -> None:
    """Count the rows of each pane and window on their own."""
    assert windowed.total().to_bytes() == of(make, labelled(rows)).to_bytes()
    if not weight(rows):
        assert (windowed.newest, list(windowed.panes()), windowed.n_rows()) == (None, [], 0)
        return
    model = Model(windowed, rows)
    before = model.panes.get(None, [])
    found = {(start, end): part for start, end, part in windowed.panes()}
    assert list(found) == sorted(span for span in model.panes if span)
    for span, part in found.items():
        assert part.to_bytes() == of(make, labelled(model.panes[span])).to_bytes()
    assert windowed.before.to_bytes() == of(make, labelled(before)).to_bytes()
    for _ in range(3):
        width = model.pane * random.randint(1, 12)
        end = model.end - model.pane * random.randint(-5, 30)
        if model.cuts(end - width, end):
            with pytest.raises(se.InvalidInputError, match=r"`(width|end)` must"):
                windowed.window(width, end)
        else:
            expected = of(make, model.between(end - width, end)).to_bytes()
            assert windowed.window(width, end).to_bytes() == expected
    width, every = (model.pane * random.randint(1, most) for most in (6, 4))
    slid = list(windowed.windows(width, every))
    assert [end for end, _ in slid] == model.ends(width, every)
    for end, part in slid:
        assert part.to_bytes() == of(make, model.between(end - width, end)).to_bytes()


NESTINGS = [("slices", None), ("panes", None), ("both", None), ("both", "many"), ("both", "items")]


def check_program(nesting: str, chosen: str | None, seed: int) -> None:
    """Count random rows, late ones too, in random pieces that travel and merge; read all of it."""
    draw = random.Random(f"{nesting} {chosen} {seed}")
    chosen = chosen or draw.choice(sorted(SINGLE))
    single = SINGLE[chosen]
    named = draw.sample(VALUES, draw.randrange(3))
    size, tiers = draw.randint(max(len(named), 1), 5), draw.choice(TIERS)

    def slices() -> se.Sliced:
        return se.Sliced(single(), "c", values=named, max_values=size)

    part = single if nesting == "panes" else slices

    def panes() -> se.Windowed:
        return se.Windowed(part(), **tiers)

    make: Make = slices if nesting == "slices" else panes
    is_ranking = chosen == "ranking"
    takes_blanks = nesting != "slices" and chosen not in ("ranking", "items")
    rows = drawn_rows(draw, chosen, has_blanks=takes_blanks and draw.random() < 0.5)
    whole = of(make, rows)
    for _ in range(3):
        assert over_a_tree(make, rows, draw).to_bytes() == whole.to_bytes()
    if nesting == "slices":
        check_slices(whole, single, rows)
        return
    check_panes(whole, part, rows, draw)
    if not is_ranking:
        assert whole.n_rows() == pytest.approx(weight(rows))
        for start, end, _ in whole.panes():
            own = [row for row in rows if start <= row["time"] < end]
            assert whole.n_rows(start, end) == pytest.approx(weight(own))
    if nesting == "both":
        for start, end, pane in whole.panes():
            own = [row for row in labelled(rows) if start <= row["time"] < end]
            check_slices(pane, single, own)


@pytest.mark.uncovered
@pytest.mark.slow
@each("seed", range(cases(1000)))
@each(("nesting", "chosen"), NESTINGS)
def test_groups_equal_a_model_of_lists_of_rows(nesting: str, chosen: str | None, seed: int) -> None:
    check_program(nesting, chosen, seed)


@pytest.mark.long
@each(("nesting", "chosen"), NESTINGS)
def test_4000_programs_of_groups_equal_a_model(nesting: str, chosen: str | None) -> None:
    for seed in range(1000, 2000):
        try:
            check_program(nesting, chosen, seed)
        except Exception as error:
            error.add_note(f"with seed={seed}")
            raise
