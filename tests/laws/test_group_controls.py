"""Rules that look right and are not: each breaks the law that slices and panes keep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from offenders import each

MOST, PANE, KEEP = 3, 10, 30
Rows = list[tuple[str, int]]


def first_come(rows: Rows) -> Counter[str]:
    """Give the first values that come a slice."""
    counts: Counter[str] = Counter()
    for value, _ in rows:
        counts[value if value in counts or len(counts) < MOST else "other"] += 1
    return counts


def merged_first_come(a: Counter[str], b: Counter[str]) -> Counter[str]:
    return first_come([(value, 0) for side in (a, b) for value in side.elements()])


def most_frequent(rows: Rows) -> Counter[str]:
    """Give the most frequent values a slice."""
    return largest(Counter(value for value, _ in rows))


def largest(counts: Counter[str]) -> Counter[str]:
    ranked = sorted(counts, key=lambda value: (value == "other", -counts[value], value))
    kept = Counter({value: counts[value] for value in ranked[:MOST] if value != "other"})
    kept["other"] = counts.total() - kept.total()
    return +kept


def without_late(rows: Rows) -> Counter[int]:
    """Drop rows that are older than `KEEP` when they come, as stream engines do."""
    counts: Counter[int] = Counter()
    newest = 0
    for _, time in rows:
        newest = max(newest, time)
        if time > newest - KEEP:
            counts[time // PANE] += 1
    return counts


def by_sliced(rows: Rows) -> Any:
    import streameval as se

    fit = se.RegressionAccumulator()
    return counted(se.Sliced(fit, "value", max_values=MOST), rows)


def by_windowed(rows: Rows) -> Any:
    import streameval as se

    fit = se.RegressionAccumulator()
    return counted(se.Windowed(fit, pane=PANE, keep=KEEP, time="time"), rows)


def counted(accumulator: Any, rows: Rows) -> Any:
    batch = {
        "y_true": np.zeros(len(rows)),
        "y_pred": np.ones(len(rows)),
        "value": np.array([value for value, _ in rows], dtype=object),
        "time": np.array([time for _, time in rows], dtype=np.int64),
    }
    return accumulator.update(batch)


def plus(a: Any, b: Any) -> Any:
    return a + b


Rule = tuple[Callable[[Rows], Any], Callable[[Any, Any], Any]]

CONTROLS: dict[str, Rule] = {
    "first come": (first_come, merged_first_come),
    "most frequent": (most_frequent, lambda a, b: largest(a + b)),
    "late rows dropped": (without_late, plus),
}
OURS: dict[str, Rule] = {"Sliced": (by_sliced, plus), "Windowed": (by_windowed, plus)}


def answers(rule: Rule) -> int:
    """Count the answers that orders and cuts of the same rows give."""
    count, merge = rule
    random = np.random.default_rng(11)
    values = random.choice(list("abcdefgh"), 60, p=[0.3, 0.2, 0.1, 0.1, 0.1, 0.1, 0.05, 0.05])
    rows = list(zip(values.tolist(), random.integers(0, 200, 60).tolist(), strict=True))
    found: list[Any] = []
    for _ in range(12):
        order = random.permutation(len(rows))
        at = int(random.integers(1, len(rows)))
        parts = [[rows[index] for index in part] for part in (order[:at], order[at:])]
        answer = merge(*map(count, parts))
        if not any(answer == other for other in found):
            found.append(answer)
    return len(found)


@each("name", CONTROLS)
def test_a_control_rule_gives_many_answers(name: str) -> None:
    assert answers(CONTROLS[name]) > 1


@each("name", OURS)
def test_our_rules_give_one_answer(name: str) -> None:
    assert answers(OURS[name]) == 1
