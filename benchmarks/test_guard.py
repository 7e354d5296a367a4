"""The guard: what has been reached is not lost. Run it with ``pytest benchmarks -m speed``.

It compares ratios of one run, never times. A ratio may fall to half of its goal, or of what the
report found if that is less; CI does not run it.
"""

from __future__ import annotations

import pytest
from speed import results
from speed.contest import Contest
from speed.results import Row
from speed.timing import QUICK, race
from speed.verbs import CONTESTS

pytestmark = [
    pytest.mark.speed,
    pytest.mark.filterwarnings("ignore"),  # of peers about their own libraries
]

SLACK = 0.5
LARGEST = 1_000_000

AIMED = [
    contest
    for contest in CONTESTS
    if contest.measure == "time"
    and contest.size <= LARGEST
    and any(peer.goal is not None for peer in contest.peers)
]


def bars(contest: Contest) -> dict[str, float]:
    """Return the least ratio to each peer that has a goal and was measured."""
    rows = [row for row in results.load().rows if is_of(row, contest)]
    return {
        f"{row.library} {row.peer}": SLACK * min(row.goal, row.ratio.median)
        for row in rows
        if row.goal is not None and row.ratio is not None
    }


def is_of(row: Row, contest: Contest) -> bool:
    keys = ("verb", "accumulator", "work", "size", "measure")
    return all(getattr(row, key) == getattr(contest, key) for key in keys)


@pytest.mark.parametrize("contest", AIMED, ids=str)
def test_ratios_are_not_lost(contest: Contest) -> None:
    least = bars(contest)
    ready = contest.ready()
    found = {str(peer): ratio for peer, ratio in race(ready, QUICK).ratios.items()}
    assert {
        peer: ratio.median for peer, ratio in found.items() if ratio.high < least.get(peer, 0.0)
    } == {}
    if ready.missing:
        pytest.skip(f"not installed: {', '.join(peer.library for peer in ready.missing)}")
