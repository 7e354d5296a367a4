"""Every contest under pytest-benchmark, one group each: for profiling and comparing commits.

Sides are timed one after another here; the ratios of the docs are those of `report.py`, where
they take turns.
"""

from __future__ import annotations

from typing import Any

import pytest
from speed.contest import Contest, Peer, Ready
from speed.verbs import CONTESTS

pytestmark = pytest.mark.filterwarnings("ignore")  # of peers about their own libraries

SIDES = [
    pytest.param(contest, peer, id=f"{contest}/{peer or 'streameval'}")
    for contest in CONTESTS
    if contest.measure == "time"
    for peer in (None, *contest.peers)
]


@pytest.fixture(scope="module")
def ready(request: pytest.FixtureRequest) -> Ready:
    """All sides of a contest, whose numbers have been compared."""
    contest: Contest = request.param
    return contest.ready()


@pytest.mark.parametrize(("ready", "peer"), SIDES, indirect=["ready"])
def test_side(benchmark: Any, request: Any, ready: Ready, peer: Peer | None) -> None:
    benchmark.group = request.node.callspec.id.rpartition("/")[0]
    if peer in ready.missing:
        pytest.skip(f"{peer.library} is not installed")
    benchmark(ready.ours.run if peer is None else ready.peers[peer].run)
